#!/usr/bin/env bash
# What decoding a large node's kernel state costs beside merely reading the files:
# BenchmarkDecode of each decoder. ROUNDS=5; the output is hack/bench-decode.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${ROUNDS:-5}

cat <<EOF
$rounds rounds, $(nproc) CPUs, kernel $(uname -r), $(go env GOVERSION)

time: the least processor time of all rounds, user and kernel, of all threads,
  against a reader that looks for the end of every line of the same files and
  keeps none. A listing of nft -j is one line: there the line reader is a search
  for one byte at the speed of memory, which no decoder of JSON comes near;
  encoding/json into any is the comparison that says something. The files of
  iptables and IPVS are no JSON.
peak: VmHWM of a process that reads and decodes the files once, with Go's garbage
  collector as it is, less that of one that reads nothing; the files themselves
  are 1 of it.
goal: 4 x the line reader, 3 x the input. What keeps from it:
  The line reader keeps nothing and passes gigabytes a second. A decoder reads
  each word of a rule, looks two chains up among a hundred thousand, and keeps
  what it points at. Of the time for nft's JSON more than half is encoding/json's.
  A dump is in memory twice, as read and as the text that Lines are parts of;
  nft's JSON is there once, with the rules of every chain until all are read.
  The collector lets garbage grow until memory is twice what was alive: input and
  half as much would have to be all.
  IPVS has the smallest files, and 60 bytes of a row become 200 of a backend.

EOF
for encoding in iptables nftables ipvs; do
  go test -p 1 -run '^$' -bench '^BenchmarkDecode$' -benchtime "${rounds}x" "./pkg/collect/$encoding" |
    awk -v encoding="$encoding" '
      /^BenchmarkDecode/ {
        for (i = 3; i < NF; i += 2) m[$(i + 1)] = $i
        printf "%-9s %6.1f MB in %d lines\n", encoding, m["input-MB"], m["lines"]
        printf "%9s time %6.1f x line reader", "", m["x-lines"]
        if ("x-any" in m) printf ", %.2f x encoding/json into any", m["x-any"]
        printf "\n%9s peak %6.2f x input", "", m["peak-x-input"]
        if ("any-x-input" in m) printf ", encoding/json into any %.2f x", m["any-x-input"]
        printf "\n%9s %d allocations, %.0f MB\n", "", m["allocs/op"], m["B/op"] / 1e6
        done = 1
      }
      /^(---|FAIL|panic)/ {print}
      END {exit !done}'
done
