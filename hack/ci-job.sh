#!/usr/bin/env bash
# What a job of .github/workflows/experiment.yml does, beyond one command:
#
#   hack/ci-job.sh run SCENARIO[,SCENARIO…] DIR    as root
#   hack/ci-job.sh report DIR
#   hack/ci-job.sh compare DIR
#
# run: DIR gets results/ and, in scratch/, the logs of failed runs. What this host
# can run and what came of it are appended to $GITHUB_STEP_SUMMARY; why
# something was not run is an annotation as well. The exit code is that of
# `runner run`, so that a job whose scenarios were all skipped is not green (4).
# One that was skipped beside others is a warning.
#
# report: the results as a step summary, and as DIR/junit.xml.
#
# compare: the results with those of the tree, with the exit code of `runner diff`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runner=${RUNNER:-bin/runner}
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}

# page TITLE FILE: a file as a folded block of the step summary, unless it is empty.
page() {
  [[ -s $2 ]] || return 0
  # shellcheck disable=SC2016 # the fence is no command
  printf '<details><summary>%s</summary>\n\n```text\n%s\n```\n\n</details>\n\n' "$1" "$(cat "$2")" >>"$summary"
}

run() {
  local scenarios=$1 dir=$2 code=0 level=warning why
  mkdir -p "$dir"
  "$runner" doctor >"$dir/doctor.txt" || true # the run says what it means
  page "What this host can run" "$dir/doctor.txt"

  "$runner" run --scenario "$scenarios" --results "$dir/results" --work-dir "$dir/scratch" \
    >"$dir/run.txt" 2> >(tee "$dir/run.log" >&2) || code=$?
  wait # for tee: its file is read below
  cat "$dir/run.txt"
  page "What the runner says" "$dir/run.txt"

  ((code != 4)) || level=error
  awk -v level="$level" 'sub(/: skip$/, "") {what = $0; getline; print "::" level " title=skipped " what "::" $0}' "$dir/run.txt"
  case $code in
  0) return ;;
  1) why="a check failed" ;;
  2) why="usage or configuration" ;;
  3) why="this host cannot run it" ;;
  4) why="interrupted or incomplete: skipped, or not decided" ;;
  *) why="the runner ended with exit code $code" ;;
  esac
  why+=$(sed -n 's/^error: /: /p' "$dir/run.log" | tail -n 1)
  echo "::error title=${scenarios//,/ }::$why"
  printf '**%s, exit code %d: %s**\n\n' "$scenarios" "$code" "$why" >>"$summary"
  exit "$code"
}

# ran lists the run.yaml of each run in DIR, by its path below results/.
ran() { [[ ! -d $1/results ]] || (cd "$1/results" && find . -mindepth 3 -maxdepth 3 -name run.yaml -not -path '*/.*/*'); }

report() {
  local dir=$1
  if [[ -z $(ran "$dir") ]]; then return; fi # why is in what run said
  "$runner" report "$dir/results" >>"$summary"
  echo >>"$summary" # or what comes next would be a row of its last table
  "$runner" report "$dir/results" -o junit >"$dir/junit.xml"
}

compare() {
  local dir=$1 file known=()
  while read -r file; do
    if [[ -e results/$file ]]; then known+=("$file"); fi
  done < <(ran "$dir")
  if ((${#known[@]} == 0)); then
    echo "::notice title=compare::none of these scenarios has a committed result"
    return
  fi
  "$runner" diff results "$dir/results" --allow-missing -o markdown >>"$summary"
}

case "${1:-} $#" in
"run 3") run "$2" "$3" ;;
"report 2") report "$2" ;;
"compare 2") compare "$2" ;;
*)
  echo "usage: hack/ci-job.sh run SCENARIO[,SCENARIO…] DIR | report DIR | compare DIR" >&2
  exit 2
  ;;
esac
