#!/usr/bin/env bash
# The wall time of one scenario's run, image present, against a bare
# `kind create cluster` + `kind delete cluster` of the same configuration and
# image. Both sides alternate ROUNDS times in the same minutes, and the ratio of
# their medians is the result: times of one machine mean nothing on another.
#
#   hack/bench.sh [SCENARIO]     default iptables; ROUNDS=3 NODE_IMAGE=auto
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scenario=${1:-iptables}
rounds=${ROUNDS:-3}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 go build -o "$scratch/kind" sigs.k8s.io/kind
image=$(bin/runner image --node-image "${NODE_IMAGE:-auto}" -o json | sed -n 's/.*"reference": "\(.*\)",/\1/p')

# The configuration a run records is the one its cluster was created from.
bin/runner run --scenario "$scenario" --results "$scratch/results" --node-image "$image" >/dev/null 2>&1
awk '/^kindConfig: \|/ {on = 1; next} /^[^ ]/ {on = 0} on {sub(/^  /, ""); print}' \
  "$scratch"/results/*/"$scenario"/run.yaml >"$scratch/kind.yaml"

bare() {
  "$scratch/kind" create cluster --name bench-bare --config "$scratch/kind.yaml" \
    --image "$image" --kubeconfig "$scratch/kubeconfig" >/dev/null 2>&1
  "$scratch/kind" delete cluster --name bench-bare --kubeconfig "$scratch/kubeconfig" >/dev/null 2>&1
}
run() {
  bin/runner run --scenario "$scenario" --results "$scratch/results" --node-image "$image" >/dev/null 2>&1
}
seconds() { # of a function
  local start=$EPOCHREALTIME
  "$1"
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f\n", b - a}'
}
median() { sort -n "$1" | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

echo "scenario $scenario, $rounds rounds, $(nproc) CPUs, kernel $(uname -r)"
for ((i = 1; i <= rounds; i++)); do
  b=$(seconds bare) r=$(seconds run)
  echo "$b" >>"$scratch/bare" && echo "$r" >>"$scratch/run"
  echo "round $i: bare $b s, run $r s"
done
awk -v b="$(median "$scratch/bare")" -v r="$(median "$scratch/run")" \
  'BEGIN {printf "median: bare %.1f s, run %.1f s, ratio %.2f\n", b, r, r / b}'
