#!/usr/bin/env bash
# Makes sure there is a C compiler: the race detector needs cgo.
set -euo pipefail
command -v gcc >/dev/null && exit 0
if ((EUID == 0)) && command -v apt-get >/dev/null; then
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive exec apt-get -qq install --yes --no-install-recommends gcc libc6-dev >&2
fi
echo "the race detector needs a C compiler: install gcc" >&2
exit 3
