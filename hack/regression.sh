#!/usr/bin/env bash
# hack/regression.sh [FLAG…]: `runner run FLAG…` into a directory of its own, then
# `runner diff` with results/, whose exit code it has: 1 for a regression. A check
# that fails is one, unless it fails in results/ too.
#
# RESULTS=DIR keeps the results of this run there; without it they are removed if
# nothing differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=${RESULTS:-}
[[ -n $dir ]] || dir=$(mktemp --directory --tmpdir service-dataplane-regression-XXXXXX)
echo "results of this run: $dir"

code=0
bin/runner run --results "$dir" "$@" || code=$?
((code <= 1)) || exit "$code"
bin/runner diff results "$dir" --allow-missing
[[ -n ${RESULTS:-} ]] || rm -r "$dir"
