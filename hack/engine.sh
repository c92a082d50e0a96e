#!/usr/bin/env bash
# Brings a Docker engine to a bare Debian or Ubuntu machine, or does nothing
# where one answers already.
#
#   hack/engine.sh start    (default) install and start what is missing
#   hack/engine.sh stop     end the engine that `start` started, and only that
#
# Exit codes: 0 an engine answers · 3 this host cannot have one this way, the
# message says what to install.
set -euo pipefail

state=/run/service-dataplane-engine
config=$state/daemon.json
pidfile=$state/docker.pid
log=/var/log/service-dataplane-engine.log
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'engine: %s\n' "$*" >&2; }
cannot() {
  say "$1"
  say "install a Docker engine (20.10 or newer), start it, and check with: docker info"
  exit 3
}

answers() { command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1; }

# The pid of the engine we started, empty when it is gone. A pid may be reused,
# so the command line has to name our configuration file.
our_pid() {
  local pid
  pid=$(cat "$pidfile" 2>/dev/null) || return 0
  if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "--config-file=$config"; then
    echo "$pid"
  fi
}

# CAP_SYS_RESOURCE is bit 24 of the capability sets (capability.h).
has_sys_resource() {
  local bounding
  bounding=$(awk '/^CapBnd:/ {print $2}' /proc/self/status)
  (((16#$bounding >> 24) & 1))
}

install_packages() {
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io)
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  command -v iptables >/dev/null || missing+=(iptables)
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || cannot "no engine answers, and there is no apt-get to install ${missing[*]} with"
  say "installing ${missing[*]} from this host's apt sources"
  # An old package list names versions the mirror no longer has.
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "${missing[@]}" >&2 ||
    cannot "apt-get could not install ${missing[*]}"
}

# Engine 20.10 asks for every capability the kernel knows when a container is
# privileged. Where the bounding set lacks one, the container cannot start;
# this runtime asks for those the host holds.
write_config() {
  if has_sys_resource; then
    printf '{}\n' >"$config"
    return
  fi
  command -v go >/dev/null || cannot "this host lacks CAP_SYS_RESOURCE; building the runtime that copes needs Go"
  say "this host lacks CAP_SYS_RESOURCE: privileged containers run through hack/runc-bounded"
  (cd "$repo" && CGO_ENABLED=0 go build -trimpath -o "$state/runc-bounded" ./hack/runc-bounded)
  cat >"$config" <<JSON
{
  "default-runtime": "bounded",
  "runtimes": {"bounded": {"path": "$state/runc-bounded"}}
}
JSON
}

start() {
  if answers; then
    say "an engine answers: nothing to do"
    return
  fi
  [[ -z "$(our_pid)" ]] || cannot "the engine started before (pid $(our_pid)) does not answer; see $log"
  ((EUID == 0)) || cannot "no engine answers, and only root can start one"
  install_packages
  # Where a service manager runs, the package starts the engine by itself.
  if [[ -d /run/systemd/system ]]; then
    for _ in {1..15}; do
      answers && return
      sleep 1
    done
  fi
  mkdir -p "$state"
  write_config
  say "starting dockerd, log in $log"
  setsid dockerd --config-file="$config" --pidfile="$pidfile" >"$log" 2>&1 </dev/null &
  local pid=$!
  for _ in {1..60}; do
    if answers; then
      say "ready, $(docker info --format '{{.ServerVersion}}, storage driver {{.Driver}}')"
      return
    fi
    if ! kill -0 "$pid" 2>/dev/null; then
      tail -n 5 "$log" >&2
      cannot "dockerd ended; its last lines are above"
    fi
    sleep 1
  done
  tail -n 5 "$log" >&2
  cannot "dockerd did not answer within 60 s; its last lines are above"
}

stop() {
  local pid
  pid=$(our_pid)
  if [[ -z "$pid" ]]; then
    say "no engine started by this script is running"
    return
  fi
  kill "$pid"
  for _ in {1..30}; do
    if ! kill -0 "$pid" 2>/dev/null; then
      rm -rf "$state"
      say "stopped"
      return
    fi
    sleep 1
  done
  say "pid $pid did not end within 30 s"
  exit 1
}

case ${1:-start} in
start) start ;;
stop) stop ;;
*)
  echo "usage: hack/engine.sh [start|stop]" >&2
  exit 2
  ;;
esac
