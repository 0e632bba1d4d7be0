#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Streamed runs: the same starts as in memory, the same figures but for quantiles, in far less memory.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# figure FILE KEY: the first value of that key.
figure() {
  sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | head -n 1
}

# of FILE OBJECT KEY: a value within an object.
of() {
  sed -n "/^  \"$2\": {/,/}/p" "$1" | sed -n "s/^ *\"$3\": \([^,]*\),\{0,1\}\$/\1/p"
}

# same_run ARGUMENT...: of the scenario s.json and the packed trace t.hrt.
same_run() {
  try 0 run s.json --trace t.hrt --json memory.json -q "$@"
  try 0 run s.json --trace t.hrt --json stream.json -q --stream "$@"
  for key in digest makespan_s events passes; do
    [ "$(figure memory.json $key)" = "$(figure stream.json $key)" ] || fail "$key is another: $*"
  done
  for key in 'jobs submitted' 'jobs completed' 'jobs rejected' 'jobs unfinished' 'jobs backfilled' 'wait_s mean' \
    'wait_s max' 'jct_s mean' 'jct_s max' 'utilization makespan' 'queue mean' 'queue max'; do
    # shellcheck disable=SC2086 # two words
    [ "$(of memory.json $key)" = "$(of stream.json $key)" ] || fail "$key is another: $*"
  done
  for key in 'wait_s p50' 'wait_s p90' 'wait_s p95' 'wait_s p99' 'jct_s p50' 'jct_s p99'; do
    # shellcheck disable=SC2086 # two words
    awk -v a="$(of memory.json $key)" -v b="$(of stream.json $key)" \
      'BEGIN { exit !(a != "" && b != "" && (a - b) * (a - b) <= (a / 256 * 1.000001) ^ 2) }' || fail "$key is too far off: $*"
  done
}

generated() {
  "$headroom" trace generate --count "$1" --load 0.97 --nodes 2 --seed 5 -o t.csv
  "$headroom" trace pack t.csv -o t.hrt -q
}

case_same_as_in_memory() {
  small_scenario
  generated 60000
  for order in fifo sjf smallest largest edf f1; do
    for backfill in strict skip; do same_run --policy "queue:order=$order,backfill=$backfill,placement=best-fit"; done
  done
}

# Jobs that can never run, and a horizon that cuts off the rest.
case_rejected_and_unfinished() {
  small_scenario
  printf 'submit_s,duration_s,gpus\n0,5,1\n1,5,17\n2,50,16\n3,50,16\n4,1,1\n500,1,1\n' >t.csv
  try 0 trace pack t.csv -o t.hrt
  same_run
  same_run --set horizon_s=40
  [ "$(of stream.json jobs unfinished)" -gt 0 ] || fail "the horizon cut nothing"
}

case_several_pools() {
  small_scenario
  sed -i 's/"nodes": 2, "gpus_per_node": 8 }/"nodes": 1, "gpus_per_node": 8 }, { "name": "q", "gpu": "T4", "nodes": 4, "gpus_per_node": 2 }/' s.json
  generated 20000
  same_run
}

# Memory is for the few that wait or run, and one that runs through all of it.
case_memory_is_bounded() {
  small_scenario
  { "$headroom" trace generate --count 600000 --load 0.3 --nodes 2 --median-s 60 --sigma 1 --max-s 600 --gpu-counts 1:1,2:1; } |
    awk -F, -v OFS=, 'NR == 2 { $3 = 1e9; $4 = 1 } { print }' >t.csv
  try 0 trace pack t.csv -o t.hrt
  same_run
  awk -v a="$(of memory.json perf peak_rss_mib)" -v b="$(of stream.json perf peak_rss_mib)" 'BEGIN { exit !(b > 0 && b < 25 && b < a / 2) }' ||
    fail "$(of stream.json perf peak_rss_mib) MiB, and $(of memory.json perf peak_rss_mib) in memory"
}

# refuses TEXT ARGUMENT...
refuses() {
  local text=$1
  shift
  try 2 run s.json --trace t.hrt --stream "$@"
  says stderr "$text"
  is_empty stdout
}

case_refused() {
  small_scenario
  generated 100
  try 2 run s.json --trace t.csv --stream
  says stderr "t.csv: only a packed trace can be streamed; 'headroom trace pack' makes one"
  for file in jobs timeline md perfetto openmetrics report; do refuses "and --$file tells of them" "--$file" out.x; done
  refuses "there are to be several replications" --replications 3
  refuses "backfill 'easy' remembers every job" --policy queue:backfill=easy
  refuses "order 'las' remembers every job" --policy queue:order=las,backfill=skip
  refuses "--check looks at all jobs" --check
  refuses 'a pool shares its GPUs' --set cluster.pools.0.sharing=fraction
}

run_case
