#!/usr/bin/env bash
# Fuzzes every fuzz target of the tree, one after another, each for a time
# or a number of inputs (first argument, default 1000x). Go runs one target a
# call, and one that ends by the clock may fail for the clock alone on a slow
# machine: a number of inputs does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
amount=${1:-1000x}
grep -rlE '^func Fuzz' --include '*_test.go' . | xargs -n 1 dirname | sort -u |
  while read -r package; do
    grep -hoE '^func Fuzz[A-Za-z0-9]*' "$package"/*_test.go | sed 's/^func //' | sort |
      while read -r target; do
        # Minimizing an interesting input may outlast a short run.
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$amount" -fuzzminimizetime 1x "$package" |
          awk -v what="$package $target" '/^(---|panic|FAIL)/ {bad = 1} bad; /elapsed/ {last = $0}
            END {if (!bad) print "ok  " what ": " last; exit bad}'
      done
  done
