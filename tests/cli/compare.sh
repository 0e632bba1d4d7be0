#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom compare`: the list of policies, random and deterministic scenarios, output files, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

# Owned nodes, and spot nodes with random interruptions and a random price.
random_scenario() {
  cat >random.json <<'JSON'
{
  "name": "random",
  "trace": { "file": "jobs.csv" },
  "cluster": { "pools": [
    { "name": "own", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "owned", "usd_per_gpu_hour": 2 },
    { "name": "spot", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 1,
      "on_demand_usd_per_gpu_hour": 4, "boot_s": 60,
      "spot": { "model": "exponential", "rate_per_h": 0.1, "notice_s": 30,
                "price": { "model": "ou", "volatility": 0.2, "reversion_h": 5 } } }
  ] },
  "policy": { "name": "queue", "backfill": "easy" },
  "seed": 7,
  "horizon_s": 1000000
}
JSON
  head -n 500 "$project/traces/reference/demo.csv" >jobs.csv
}

# without_perf FILE: prints the JSON without the run times.
without_perf() {
  awk '/^  "perf": \{/ { exit } { print }' "$1"
}

digests_of() {
  grep -oE '"digest": "[0-9a-f]+"' "$1"
}

refuses() {
  local text=$1
  shift
  mkdir -p out
  try 2 compare "$@" --json out/c.json --csv out/c.csv --md out/c.md
  is_empty stdout
  says stderr "$text"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

# ---- The list ------------------------------------------------------------------------------------------------------

case_items_and_their_parameters() {
  try 0 compare "$demo" --policies queue:order=sjf,backfill=skip,fifo,easy:order=largest --csv -
  cut -d, -f1 stdout | sort -u >labels
  says stdout '"queue:order=sjf,backfill=skip",all,,wait_mean_s,'
  says stdout 'fifo,all,,wait_mean_s,'
  says stdout 'easy:order=largest,all,,wait_mean_s,'
  try 0 compare "$demo" --policies queue:order=sjf,backfill=skip,fifo -q --json c.json
  says c.json '"name": "queue",'
  says c.json '"label": "queue:order=sjf,backfill=skip",'
  says c.json '"backfill": "skip",'
}

# A policy of the list keeps those parameters of the scenario's policy that it does not set, as with `run --policy`.
case_items_start_from_the_scenario() {
  for item in sjf queue queue:order=sjf easy conservative:order=largest; do
    "$headroom" run "$demo" --set policy.placement=worst-fit --policy "$item" -q --json run.json
    "$headroom" compare "$demo" --set policy.placement=worst-fit --policies "$item" -q --json c.json
    digests_of run.json >expected
    digests_of c.json | diff expected - >stderr || fail "$item differs from run"
    says c.json '"placement": "worst-fit"'
  done
}

# The summary of replication 0 equals the summary that `run` writes, except for run times.
case_summaries_are_those_of_run() {
  random_scenario
  try 0 compare random.json --policies fifo,sjf:placement=worst-fit,queue:market=spot-first --replications 3 -q --json c.json
  for item in fifo sjf:placement=worst-fit queue:market=spot-first; do
    "$headroom" run random.json --policy "$item" -q --json run.json
    without_perf run.json | sed '1d; s/,$//; s/^/      /' >expected
    sed 's/,$//' c.json >found
    # The lines of the summary are one block of the comparison.
    awk 'NR == FNR { want[NR] = $0; n = NR; next }
         { have[FNR] = $0; m = FNR }
         END {
           for (at = 1; at <= m; at++) {
             for (i = 1; i <= n && have[at + i - 1] == want[i]; i++);
             if (i > n) exit 0
           }
           exit 1
         }' expected found || fail "the summary of $item differs"
  done
}

case_a_seed_of_a_replication_makes_its_run() {
  random_scenario
  try 0 compare random.json --policies fifo --replications 2 -q --json c.json
  seed=$(awk '/"seeds"/ { getline; getline; print $1; exit }' c.json)
  "$headroom" run random.json --seed "$seed" --policy fifo -q --json run.json
  # The mean of the costs of both runs.
  one=$(awk '/"summary"/ { inside = 1 } inside && /"total_usd"/ { printf "%.6f", $2; exit }' c.json)
  two=$(awk '/"total_usd"/ { printf "%.6f", $2; exit }' run.json)
  awk -v a="$one" -v b="$two" '/"cost_total_usd"/ { d = $2 - (a + b) / 2; exit (d > 1e-5 || d < -1e-5) }' c.json ||
    fail "not the mean of $one and $two"
}

# ---- Random and deterministic scenarios ----------------------------------------------------------------------------

case_nothing_random() {
  try 0 compare "$demo" --policies fifo,sjf --json c.json
  says stdout 'the scenario is deterministic'
  says c.json '"random": false,'
  says c.json '"replications": 1,'
  if grep -q '\*' stdout; then fail "marks of significance although every difference is exact"; fi
  # Replications without randomness are rejected.
  refuses '20 replications would be identical: nothing is random in' "$demo" --policies fifo,sjf --replications 20
  says stderr "--set 'replications.workload={\"resample\":\"days\"}'"
}

# With replications.workload, each replication has its own workload: that of `run --replications`.
case_workload_of_the_scenario() {
  local set='replications.workload={"resample":"days"}'
  try 0 compare "$demo" --set "$set" --replications 5 --policies fifo,sjf --json c.json
  says stdout '5 of each policy, each with its own workload'
  # The workload is already random, so the suggested command does not make it random, but writes a report.
  try 0 compare "$demo" --set "$set" --policies fifo,sjf
  says stdout '--report compare.html'
  try 0 compare "$demo" --set "$set" --replications 5 --policies fifo,sjf --json c.json
  says stdout '95 % margin'
  says stdout '* significant'
  says c.json '"resample": "days",'
  says c.json '"replications": 5,'
  for policy in fifo sjf; do
    try 0 run "$demo" --set "$set" --replications 5 --policy $policy -q --json $policy.json
    node - $policy <<'JS' || fail "the means of $policy differ from those of run --replications"
const fs = require('fs');
const name = process.argv[2];
const run = JSON.parse(fs.readFileSync(`${name}.json`)).replications.metrics;
const policy = JSON.parse(fs.readFileSync('c.json')).policies.find((p) => p.label === name);
for (const [mine, theirs] of [['wait_mean_s', 'wait_s.mean'], ['wait_p95_s', 'wait_s.p95'], ['jct_mean_s', 'jct_s.mean']])
  if (Math.abs(policy.mean[mine] - run[theirs].mean) > 2e-6) process.exit(1);
JS
  done
}

# The titles of rows contain the differences, even if the texts of the policies are long. No line is longer than 80
# columns.
case_titles_of_long_policies() {
  try 0 compare "$demo" --policies \
    queue:order=sjf,backfill=easy,placement=best-fit,queue:order=sjf,backfill=conservative,placement=best-fit,fifo
  for title in easy conservative fifo; do matches stdout "^$title  *[0-9]"; done
  ! grep -q '^1 queue' stdout || fail 'a title is a number and the begin of the policy'
  [ "$(sed '/^  next/,$d' stdout | awk 'length > 80' | wc -l)" = 0 ] || fail 'a line has more than 80 columns'
}

case_labels() {
  try 0 compare "$demo" --policies fifo:label=base,queue:order=sjf,label=short,backfill=easy --csv c.csv --json c.json
  matches stdout '^base +53 min'
  matches stdout '^short +21 min'
  cut -d, -f1 c.csv | sort -u | tr '\n' ' ' >labels
  [ "$(cat labels)" = 'base policy short ' ] || fail "labels: $(cat labels)"
  says c.json '"order": "sjf",'
  try 0 compare "$demo" --policies queue:order=sjf,placement=first-fit,queue:order=sjf,placement=worst-fit
  matches stdout '^first-fit +20 min'
  matches stdout '^worst-fit +57 min'
  refuses 'short is listed twice' "$demo" --policies fifo:label=short,sjf:label=short
  refuses 'a policy has two labels' "$demo" --policies fifo:label=a,label=b
  refuses 'empty label' "$demo" --policies fifo:label=
}

# --jobs writes the file that `run --jobs` writes with each policy, and nothing after an error.
case_jobs_of_each_policy() {
  try 0 compare "$demo" --policies fifo:label=my/base,sjf:backfill=easy --jobs jobs -q
  (cd jobs && printf '%s ' *) >files
  says files 'base.csv sjf_backfill=easy.csv '
  [ "$(wc -w <files)" -eq 2 ] || fail "files: $(cat files)"
  try 0 run "$demo" --policy fifo --jobs fifo.csv -q
  cmp fifo.csv jobs/base.csv >stderr || fail "the jobs differ"
  try 0 run "$demo" --policy sjf:backfill=easy --jobs sjf.csv -q
  cmp sjf.csv 'jobs/sjf_backfill=easy.csv' >stderr || fail "the jobs differ"
  mkdir clean
  try 2 compare "$demo" --policies fifo,sjf --jobs clean --replications 3
  try 4 compare "$demo" --policies fifo,sjf --jobs clean --md /dev/full -q
  [ -z "$(ls -A clean)" ] || fail "files remain: $(ls -A clean)"
  try 2 compare "$demo" --policies fifo --jobs "$demo"
  says stderr '--jobs'
  cp "$project/traces/reference/demo.csv" jobs/fifo.csv
  try 2 compare "$demo" --trace jobs/fifo.csv --policies fifo --jobs jobs
  says stderr 'this run reads it'
}

case_random() {
  random_scenario
  try 0 compare random.json --policies fifo,sjf --json c.json
  says c.json '"replications": 10,'
  says stdout '95 % margin'
  says stdout '* significant'
  grep -q '[a-z%0-9]\*' stdout || fail "nothing is significant"
  try 0 compare random.json --policies fifo,sjf --replications 1 --json c.json
  says stdout 'significance is unknown'
  says stderr '--replications 2 or more'
  says c.json '"significant": null'
  if grep -q '"significant": true' c.json; then fail "a difference is significant with a single run"; fi
}

case_threads_change_nothing() {
  random_scenario
  for threads in 1 2 4; do
    try 0 compare random.json --policies fifo,sjf,conservative --replications 5 --threads $threads \
      --json $threads.json --csv $threads.csv --md $threads.md
    sed '/^  speed/d' stdout >$threads.txt
    without_perf $threads.json >$threads.less
  done
  for threads in 2 4; do
    for end in less csv md txt; do
      cmp 1.$end $threads.$end >stderr || fail "$threads threads: $end differs"
    done
  done
}

# ---- The table -----------------------------------------------------------------------------------------------------

case_table_fits_the_screen() {
  random_scenario
  for list in fifo fifo,sjf fifo,sjf,queue:placement=worst-fit,market=spot-first \
    fifo,sjf,smallest,largest,priority,easy:order=sjf,conservative:order=sjf,queue:market=on-demand-only; do
    try 0 compare random.json --policies $list --replications 2
    [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
    if grep -q ' $' stdout; then fail "a line ends in a space"; fi
  done
  matches stdout '^queue:mark... '
}

# ---- Files ---------------------------------------------------------------------------------------------------------

case_standard_output() {
  for kind in json csv md; do
    try 0 compare "$demo" --policies fifo,sjf --$kind -
    cp stdout piped
    try 0 compare "$demo" --policies fifo,sjf --$kind file
    [ "$kind" != json ] || { without_perf piped >a && without_perf file >b && mv a piped && mv b file; }
    cmp piped file >stderr || fail "$kind: the text on standard output differs"
    [ -s stdout ] || fail "no table in addition to the file"
  done
  try 0 compare "$demo" --policies fifo,sjf -q --json file
  is_empty stdout
  is_empty stderr
}

case_files_spare_the_inputs() {
  random_scenario
  cp jobs.csv before
  try 2 compare random.json --policies fifo --csv jobs.csv
  says stderr '--csv jobs.csv: cannot be written: this run reads it'
  try 2 compare random.json --policies fifo --csv same --md same
  says stderr 'both write to'
  try 2 compare random.json --policies fifo --json nowhere/c.json
  says stderr '--json nowhere/c.json: cannot be written'
  cmp before jobs.csv || fail "the trace was changed"
}

case_interrupted() {
  random_scenario
  mkdir out
  code=0
  timeout -s INT 0.3 "$headroom" compare random.json --policies fifo,sjf --replications 9999 --json out/c.json \
    >stdout 2>stderr || code=$?
  [ "$code" -eq 124 ] || fail "exit code $code: it was not interrupted"
  is_empty stdout
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

# ---- Bad input -----------------------------------------------------------------------------------------------------

case_bad_lists() {
  try 2 compare "$demo"
  says stderr '--policies A,B,... is missing'
  refuses "--policies fifo,,sjf: empty policy name" "$demo" --policies fifo,,sjf
  refuses "--policies fifo,: empty policy name" "$demo" --policies fifo,
  refuses '--policies is given twice; write all policies in one list' "$demo" --policies fifo --policies sjf
  refuses "empty policy name" "$demo" --policies ''
  refuses "'order=sjf' has no policy before it" "$demo" --policies order=sjf,fifo
  refuses "--policies fifo,sjf,fifo: fifo is listed twice" "$demo" --policies fifo,sjf,fifo
  refuses "--policies sjff: unknown policy 'sjff'; did you mean 'sjf'?" "$demo" --policies fifo,sjff
  refuses "has no parameter 'ordr'; did you mean 'order'?" "$demo" --policies fifo,queue:ordr=sjf
  refuses "did you mean 'sjf'?" "$demo" --policies queue:order=sfj
  refuses "--policies queue:order=sjf,order=fifo: duplicate parameter 'order'; keep one" "$demo" \
    --policies fifo,queue:order=sjf,order=fifo,easy
  refuses 'cannot open shared object file' "$demo" --policies fifo,./nowhere.so
}

case_bad_numbers() {
  refuses '--replications 0: expected a whole number from 1 to 10000' "$demo" --policies fifo --replications 0
  refuses '--replications two: expected a whole number' "$demo" --policies fifo --replications two
  refuses '--threads 0: expected a whole number from 1 to 1024' "$demo" --policies fifo --threads 0
  refuses '--threads 1025: expected a whole number' "$demo" --policies fifo --threads 1025
}

# A policy that `run` rejects is rejected by a comparison too.
case_policies_that_the_scenario_refuses() {
  random_scenario
  refuses "--policies sjf:placement=pool: --set policy.placement=pool: the placement" random.json --policies fifo,sjf:placement=pool
  small_scenario
  refuses 's.json: names no trace; set one with --trace FILE' s.json --policies fifo
  refuses 'absent.csv: ' s.json --trace absent.csv --policies fifo
}

case_two_names_for_one_policy() {
  try 0 compare "$demo" --policies queue,easy,sjf
  says stderr 'note: queue and easy are the same policy with the same parameters'
}

case_one_policy() {
  try 0 compare "$demo" --policies fifo
  matches stdout '^fifo +53 min 55 s'
  if grep -q '^  difference' stdout; then fail "a difference of one policy"; fi
}

run_case
