#!/usr/bin/env bash
# Installs QEMU where the kernel lacks IPVS, so that `runner` can run those
# scenarios in a guest. Does nothing where the kernel has it, where QEMU is
# there, or where this is no Debian or Ubuntu machine of root's: the runner then
# skips them and says what is missing.
set -euo pipefail

say() { printf 'guest: %s\n' "$*" >&2; }

if [[ -e /proc/net/ip_vs ]] || modprobe --dry-run --quiet ip_vs 2>/dev/null; then
  exit 0
fi
command -v qemu-system-x86_64 >/dev/null && exit 0
if ! command -v apt-get >/dev/null || ((EUID != 0)) || [[ "$(uname -m)" != x86_64 ]]; then
  say "kernel $(uname -r) has no ip_vs, and QEMU cannot be installed here"
  exit 0
fi
say "kernel $(uname -r) has no ip_vs: installing QEMU from this host's apt sources"
apt-get -qq update >&2
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends qemu-system-x86 >&2 ||
  say "apt-get could not install qemu-system-x86"
