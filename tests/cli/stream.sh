#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares streamed runs with runs in memory. Starts and metrics are equal; quantiles differ slightly. Streamed runs use
# much less memory.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# figure FILE KEY: the first value of the key.
figure() {
  sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1" | head -n 1
}

# of FILE OBJECT KEY: a value within an object.
of() {
  sed -n "/^  \"$2\": {/,/}/p" "$1" | sed -n "s/^ *\"$3\": \([^,]*\),\{0,1\}\$/\1/p"
}

# same_run ARGUMENT...: compares runs of the scenario s.json and the packed trace t.hrt, streamed and in memory.
same_run() {
  try 0 run s.json --trace t.hrt --json memory.json -q "$@"
  try 0 run s.json --trace t.hrt --json stream.json -q --stream "$@"
  for key in digest makespan_s submit_window_s gpu_hours events passes; do
    [ "$(figure memory.json $key)" = "$(figure stream.json $key)" ] || fail "$key differs: $*"
  done
  for key in 'jobs submitted' 'jobs completed' 'jobs rejected' 'jobs unfinished' 'jobs backfilled' 'wait_s mean' \
    'wait_s max' 'jct_s mean' 'jct_s max' 'slowdown max' 'utilization submit_window' 'utilization makespan' 'jobs outcome_failed' 'queue mean' 'queue max'; do
    # shellcheck disable=SC2086 # two words
    [ "$(of memory.json $key)" = "$(of stream.json $key)" ] || fail "$key differs: $*"
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
  generated 9000
  same_run
  for order in sjf priority edf; do same_run --policy "queue:order=$order,backfill=skip,placement=best-fit"; done
  same_run --policy queue:backfill=easy
  same_run --policy queue:order=fair-share,backfill=conservative
}

# Some jobs never fit, and a horizon ends the run early.
case_rejected_and_unfinished() {
  small_scenario
  printf 'submit_s,duration_s,gpus\n0,5,1\n1,5,17\n2,50,16\n3,50,16\n4,1,1\n500,1,1\n' >t.csv
  try 0 trace pack t.csv -o t.hrt
  same_run
  same_run --set horizon_s=40
  [ "$(of stream.json jobs unfinished)" -gt 0 ] || fail "the horizon has no effect"
  try 0 run s.json --trace t.hrt --stream
  says stderr 'note: 1 job can never run and was rejected: 2 (too-large: '
  try 0 run s.json --trace t.hrt --stream --json stream.json -q
  grep -q '"1 job can never run and was rejected: 2 (too-large' stream.json || fail "the JSON has no reason"
}

# cost_of FILE: prints the metrics of costs, goodput and interruptions.
cost_of() {
  sed -n '/^  "cost": {/,/^  "events"/p' "$1" | sed '/^  "alerts": \[/,/^  \],/d; /"events"/d'
}

# Costs, the use of GPUs and of spot nodes, and their table.
case_prices() {
  cat >s.json <<'END'
{ "cluster": { "pools": [
    { "name": "o", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "market": "owned", "usd_per_gpu_hour": 1 },
    { "name": "s", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 1,
      "on_demand_usd_per_gpu_hour": 3, "spot": { "model": "exponential", "rate_per_h": 0.3, "notice_s": 30 } } ] },
  "policy": { "name": "queue", "placement": "best-fit", "backfill": "skip", "market": "static" } }
END
  generated 9000
  same_run --policy queue:backfill=easy,market=spot-first
  diff <(cost_of memory.json) <(cost_of stream.json) || fail "costs differ"
  [ -n "$(cost_of stream.json)" ] || fail "no costs are reported"
  try 0 run s.json --trace t.hrt
  grep -E '^  (cost|idle|goodput|spot)  |^(market|cost by tenant)  ' stdout >memory
  [ "$(wc -l <memory)" -ge 5 ] || fail "the table has no costs"
  try 0 run s.json --trace t.hrt --stream
  grep -E '^  (cost|idle|goodput|spot)  |^(market|cost by tenant)  ' stdout | diff memory - || fail "the costs differ"
  [ "$(awk 'length > 80' stdout | wc -l)" = 0 ] || fail "a line is longer than 80"
}

case_several_pools() {
  small_scenario
  sed -i 's/"nodes": 2, "gpus_per_node": 8 }/"nodes": 1, "gpus_per_node": 8 }, { "name": "q", "gpu": "T4", "nodes": 4, "gpus_per_node": 2 }/' s.json
  generated 20000
  same_run
}

# No line of the table is wider than 80 columns.
case_table() {
  small_scenario
  generated 5000
  try 0 run s.json --trace t.hrt --stream
  says stdout 'Streamed: quantiles come from a sketch with a relative error of at most 1/256.'
  [ "$(awk 'length > 80' stdout | wc -l)" = 0 ] || fail "a line is longer than 80"
  sed -e '1,/^jct:/!d' stdout >table
  try 0 run s.json --trace t.hrt
  head -n 5 stdout | diff - <(head -n 5 table) || fail "the head differs"
  for label in jobs 'GPU hours' queue; do
    [ "$(grep "^  $label  " stdout)" = "$(grep "^  $label  " table)" ] || fail "$label differs"
  done
}

# The trace is read as text, as compressed text and from a pipe. A run of such a trace writes the columns of the trace to
# temporary files. It must remove these files.
case_text() {
  small_scenario
  generated 20000
  gzip -k t.csv
  mkdir columns
  try 0 run s.json --trace t.hrt --json packed.json -q --stream
  mkfifo pipe
  cat t.csv >pipe &
  for trace in t.csv t.csv.gz pipe; do
    TMPDIR=$work/columns try 0 run s.json --trace "$trace" --json text.json -q --stream
    [ "$(figure packed.json digest)" = "$(figure text.json digest)" ] || fail "$trace: the runs differ"
  done
  [ -z "$(ls -A columns)" ] || fail "files of columns remain"
}

# Memory is needed only for jobs that wait or run. One job runs during the whole trace.
case_memory_is_bounded() {
  if grep -q __tsan_init "$headroom"; then
    echo "*** SKIPPED: the thread sanitizer needs memory of its own for freed memory, so peaks cannot be compared ***"
    exit 77
  fi
  small_scenario
  { "$headroom" trace generate --count 600000 --load 0.3 --nodes 2 --median-s 60 --sigma 1 --max-s 600 --gpu-counts 1:1,2:1; } |
    awk -F, -v OFS=, 'NR == 2 { $3 = 1e9; $4 = 1 } { print }' >t.csv
  try 0 trace pack t.csv -o t.hrt
  most=60
  if (ulimit -v 300000 && "$headroom" --version >/dev/null 2>&1); then most=25; fi # a build without sanitizer
  for policy in queue:backfill=strict queue:backfill=easy queue:order=fair-share,backfill=skip; do
    same_run --policy "$policy"
    awk -v a="$(of memory.json perf peak_rss_mib)" -v b="$(of stream.json perf peak_rss_mib)" -v most=$most \
      'BEGIN { exit !(b > 0 && b < most && b < a / 2) }' ||
      fail "$(of stream.json perf peak_rss_mib) MiB if streamed, $(of memory.json perf peak_rss_mib) MiB otherwise: $policy"
  done
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
  printf 'submit_s,duration_s,gpus\n5,1,1\n7,2,1\n6,1,1\n' >unsorted.csv
  try 2 run s.json --trace unsorted.csv --stream
  says stderr 'unsorted.csv:4: submitted before the previous row; rows of a streamed trace must be in order'
  is_empty stdout
  TMPDIR=$work/absent try 4 run s.json --trace t.csv --stream
  says stderr "cannot create a file for its columns in '$work/absent'"
  for file in jobs timeline md perfetto openmetrics report; do refuses "--stream discards finished jobs, which --$file needs" "--$file" out.x; done
  refuses "needs a single run" --replications 3
  refuses "order 'wfp3' keeps a queue for each distinct run time" --policy queue:order=wfp3
  refuses "policy 'deadline' may keep a record of every job" --policy queue:market=omniscient
  refuses "policy 'gang-slice' may keep a record of every job" --policy gang-slice
  refuses "'costs.storage.usd_per_gb_month' is summed over all jobs" --set 'costs={"storage":{"usd_per_gb_month":1}}'
  refuses "--check cannot be combined with a streamed run" --check
}

run_case
