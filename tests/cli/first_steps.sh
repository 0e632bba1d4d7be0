#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What a new user meets: typical mistakes and their messages, and the progress bar.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

# ---- Mistakes ------------------------------------------------------------------------------------------------------

case_a_trace_as_scenario() {
  for file in "$project/traces/reference/demo.csv" bars.txt pods.json; do
    printf 'JobID|User|Submit|Start|End\n1|a|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00\n' >bars.txt
    echo '{ "apiVersion": "v1", "items": [] }' >pods.json
    try 2 run "$file"
    says stderr "$file: looks like a trace: give a scenario, and this file with --trace"
    says stderr "'headroom init --from'"
  done
}

case_comments_that_are_none() {
  local place=0
  for text in '// c
{}' '{ // c
}' '{ "name": "a" // c
}' '{ "name": "a", /* c */ "seed": 1 }' '{ "a": [1, // c
2] }' '{} // c' '{ "name": # c
"a" }'; do
    printf '%s\n' "$text" >c.json
    try 2 run c.json
    says stderr 'comments are not allowed, except members such as "//": "text"'
    place=$((place + 1))
  done
  printf '{ "name": / }\n' >c.json
  try 2 run c.json
  says stderr 'not a JSON value'
}

case_commas_too_many() {
  printf '{ "a": [1, 2,] }\n' >c.json
  try 2 run c.json
  says stderr "c.json:1:14: trailing comma before ']'"
  printf '{ "a": 1, }\n' >c.json
  try 2 run c.json
  says stderr "c.json:1:11: trailing comma before '}'"
}

case_missing_parts() {
  try 2 run nosuch.json
  says stderr "'headroom list scenarios' shows those that ship"
  small_scenario
  for verb in run check; do
    try 2 "$verb" s.json
    says stderr 's.json: names no trace; set one with --trace FILE, or in the file: "trace": {"file": "jobs.csv"}'
  done
  try 2 plan "$demo"
  says stderr "has no 'plan'; see docs/planner/plan.md, or copy a scenario such as 'plan-reserved-share'"
}

case_misplaced_words() {
  try 2 run a.json b.json
  says stderr "unexpected argument 'b.json'"
  try 2 --json run a.json
  says stderr "unexpected option '--json': options follow the verb"
  try 2 run "$demo" --set 'cluster.pools[0].nodes=16'
  says stderr 'write cluster.pools.0.nodes'
  try 2 sweep "$demo"
  says stderr 'is a scenario, not a grid'
}

# ---- Progress ------------------------------------------------------------------------------------------------------

# on_terminal ARGUMENT...: the bars that the program draws on a terminal, one a line.
on_terminal() {
  command -v script >/dev/null || exit 77
  script -qec "$(printf '%q ' "$headroom" "$@")" /dev/null </dev/null | tr '\r' '\n' | grep '^\[' >bars || true
}

# The bar shows the remaining time once a run has taken a second. The run is enlarged until it takes that long.
case_remaining_time() {
  local count=200000
  while :; do
    try 0 trace generate --count "$count" --nodes 8 --gpus-per-node 8 --load 0.9 --seed 1 --output jobs.csv
    on_terminal run "$demo" --trace jobs.csv
    matches bars '^\[[#.]{24}\] +[0-9]+ %' 2>/dev/null && grep -q left bars && break
    [ "$count" -lt 10000000 ] || fail 'no bar shows the remaining time'
    count=$((count * 3))
  done
  matches bars "[0-9]+ of $count jobs, ([0-9]+ min )?[0-9]+ s left"
  awk '/left/ { exit length($0) > 80 }' bars || fail 'the bar is wider than 80 columns'
  on_terminal run "$demo" --trace jobs.csv --quiet
  is_empty bars
}

# Several runs are counted as runs.
case_runs_as_unit() {
  try 0 trace generate --count 100000 --nodes 8 --gpus-per-node 8 --load 0.9 --seed 1 --output jobs.csv
  local runs=10
  while :; do
    on_terminal run "$demo" --trace jobs.csv --replications "$runs" --set 'replications.workload={"resample":"days"}'
    grep -q . bars && break
    [ "$runs" -lt 1000 ] || fail 'no bar'
    runs=$((runs * 3))
  done
  matches bars "[0-9]+ of $runs runs"
}

run_case
