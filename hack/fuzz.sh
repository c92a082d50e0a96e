#!/usr/bin/env bash
# Fuzzes every fuzz target of the tree, one after another, for a time each
# (first argument, default 5s). Go runs one target a call.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-5s}
grep -rlE '^func Fuzz' --include '*_test.go' . | xargs -n 1 dirname | sort -u |
  while read -r package; do
    grep -hoE '^func Fuzz[A-Za-z0-9]*' "$package"/*_test.go | sed 's/^func //' | sort |
      while read -r target; do
        # Minimizing an interesting input may outlast a short run.
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" |
          awk -v what="$package $target" '/^(---|panic|FAIL)/ {bad = 1} bad; /elapsed/ {last = $0}
            END {if (!bad) print "ok  " what ": " last; exit bad}'
      done
  done
