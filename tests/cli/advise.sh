#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom advise`: options that it prints can be copied, output does not depend on threads, bad input is rejected.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# A name with blanks, commas and quotes. An option that is copied from the output must contain it unchanged.
odd_scenario() {
  cat >odd.json <<'JSON'
{
  "trace": { "file": "jobs.csv" },
  "cluster": { "pools": [
    { "name": "it's, \"so\" to say, the pool of all that we have", "gpu": "V100", "nodes": 8, "gpus_per_node": 1,
      "market": "reserved", "usd_per_gpu_hour": 1, "on_demand_usd_per_gpu_hour": 3 }
  ] },
  "policy": { "name": "queue" }
}
JSON
  printf 'job_id,submit_s,gpus,duration_s\n1,0,5,360000\n2,1,1,1\n' >jobs.csv
}

month() {
  sed -n 's/.*"monthly_usd": \([0-9.]*\).*/\1/p' "$1"
}

case_options_can_be_copied() {
  odd_scenario
  try 0 advise odd.json
  says stdout 'idle-reservation  -$'
  [ "$(width stdout)" -le 80 ] || fail "the advice is wider than 80 columns"
  sed -n '/^Advised/,/^Looked/p' stdout | sed -n "/^    --set/,\$p" | sed '/^$/,$d' >options
  [ "$(wc -l <options)" -gt 3 ] || fail "the option is not broken into lines"
  try 0 run odd.json --quiet --json before.json
  eval "try 0 run odd.json --quiet --json after.json $(tr '\n' ' ' <options)"
  try 0 advise odd.json --quiet --json advice.json
  told=$(grep -A1 '"monthly_usd": {' advice.json | sed -n 's/.*"mean": \(.*\),/\1/p')
  awk "BEGIN { d = $(month after.json) - $(month before.json) - ($told); exit !(d > -0.01 && d < 0.01) }" ||
    fail "copied options do not save the printed amount"
}

case_threads_do_not_matter() {
  for threads in 1 2 5; do
    try 0 advise "$project/scenarios/agency.json" --replications 4 --threads $threads --json $threads.json
    sed '/"perf": {/,$d' $threads.json >$threads.rest
    sed '/^  speed/d' stdout >$threads.txt
  done
  for threads in 2 5; do
    cmp 1.rest $threads.rest || fail "the JSON differs with $threads threads"
    cmp 1.txt $threads.txt || fail "the table differs with $threads threads"
  done
}

case_nothing_to_advise() {
  try 0 advise "$project/scenarios/reserved-spot-mix.json" --replications 3
  says stdout 'Nothing found that saves anything'
  says stdout 'Examined, not advised'
}

case_quiet_and_json() {
  try 0 advise "$project/scenarios/agency-before.json" --quiet --json a.json
  is_empty stdout
  is_empty stderr
  says a.json '"policy.market=on-demand-only"'
  try 0 advise "$project/scenarios/agency-before.json" --quiet --json -
  says stdout '"kind": "idle-reservation"'
}

# Advice that was followed is not printed again.
case_advice_that_is_taken() {
  try 0 advise "$project/scenarios/agency-before.json" --set policy.market=on-demand-only
  says stdout 'Nothing found that saves anything'
}

case_gpus_that_are_told_apart() {
  try 0 advise "$project/scenarios/shared-inference.json"
  says stdout 'advice on shared-inference'
}

case_what_is_refused() {
  try 2 advise "$project/scenarios/demo.json" --set cluster.pools.9.nodes=1
  says stderr "'9' is not an entry of 'cluster.pools'"
  try 2 advise "$project/scenarios/demo.json"
  says stderr 'nothing has a price, so nothing can be saved'
  try 2 advise
  try 2 advise "$project/scenarios/agency.json" --replications 0
  says stderr '--replications'
  try 2 advise "$project/scenarios/helios.json"
  says stderr 'names no trace'
  try 2 advise "$project/scenarios/agency.json" --jsn x
  says stderr "did you mean '--json'?"
  odd_scenario
  try 2 advise odd.json --json jobs.csv
}

# From 1,000 hours on, numbers of hours have separators and no exponent.
case_hours_between_interruptions() {
  cat >spot.json <<'JSON'
{ "trace": { "file": "long.csv" },
  "cluster": { "pools": [ { "name": "spot", "gpu": "V100", "nodes": 50, "gpus_per_node": 1, "market": "spot",
    "usd_per_gpu_hour": 1, "spot": { "model": "exponential", "rate_per_h": 0.0002 } } ] },
  "classes": { "training": { "checkpoint": { "policy": "interval", "interval_s": 3600, "write_s": 60 } } },
  "policy": { "name": "queue", "market": "spot-first" } }
JSON
  { echo 'submit_s,duration_s,gpus,class'
    for i in $(seq 30); do echo "$i,2000000,1,training"; done; } >long.csv
  try 0 advise spot.json
  says stdout 'jobs of the class are interrupted every 5,000 h on average'
}

# The note is also a complete sentence for jobs without a class.
case_spot_nodes_that_are_not_tried() {
  cat >s.json <<JSON
{ "trace": { "file": "$project/traces/reference/demo.csv" },
  "cluster": { "pools": [{ "name": "od", "nodes": 8, "market": "on-demand", "provider": "aws", "instance": "p4de.24xlarge" }] },
  "policy": { "name": "queue", "backfill": "easy" } }
JSON
  try 0 advise s.json
  says stderr 'note: spot nodes were not tried for jobs without a class: jobs of more than an hour have no checkpoints'
}

run_case
