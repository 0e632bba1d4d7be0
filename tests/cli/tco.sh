#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom tco`: the shipped example, its files, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

example=$project/scenarios/private-or-cloud.json

case_answer_and_tables() {
  try 0 tco "$example" --replications 2
  says stdout 'answer'
  says stdout 'a useful GPU hour costs'
  for option in private colocated burst reserved on-demand; do matches stdout "^$option .* %"; done
  [ "$(width stdout)" -le 80 ] || fail "the tables are wider than 80 columns"
}

case_files_do_not_depend_on_threads() {
  for threads in 1 2; do
    try 0 tco "$example" --replications 3 --threads $threads --quiet --json $threads.json
    is_empty stdout
  done
  cmp 1.json 2.json || fail "the JSON depends on threads"
  try 0 tco "$example" --replications 3 --json -
  cmp 1.json stdout || fail "the JSON on standard output differs"
}

case_failures_are_stated() {
  try 0 tco "$example" --replications 2
  ! grep -q 'availability 1' stdout || fail "failures are known, but the output states an assumption"
  try 0 tco "$project/scenarios/plan-private-or-cloud.json"
  says stdout "availability 1, as no pool has 'faults'"
}

# Maintenance without failures: the column contains the planned downtime, and the text of the assumption agrees with it.
case_maintenance_is_no_availability_of_1() {
  cat >s.json <<'JSON'
{ "cluster": { "pools": [
  { "name": "own", "gpu": "H100", "nodes": 1, "gpus_per_node": 8, "market": "owned",
    "owned": { "capex_usd_per_node": 300000, "lifetime_years": 5 },
    "maintenance": [{ "start_s": 1000, "duration_s": 1000, "every_days": 1 }] },
  { "name": "od", "gpu": "H100", "nodes": 1, "gpus_per_node": 8, "market": "on-demand", "usd_per_gpu_hour": 3 }] },
  "policy": { "name": "queue", "market": "on-demand-only" }, "trace": { "file": "t.csv" }, "tco": { "years": 3 } }
JSON
  printf 'job_id,submit_s,duration_s,gpus\na,0,3600,8\nb,7200,3600,8\n' >t.csv
  try 0 tco s.json
  says stdout "planned downtime only, as no pool has 'faults': own"
  says stdout "availability 1, as no pool has 'faults': od"
}

# An option that is too small is not recommended, even if its GPU hours are the cheapest.
case_the_answer_serves_the_demand() {
  cat >s.json <<'JSON'
{ "cluster": { "pools": [
  { "name": "own", "gpu": "H100", "nodes": 1, "gpus_per_node": 8, "market": "owned",
    "owned": { "capex_usd_per_node": 1000, "lifetime_years": 5, "usd_per_kwh": 0.1 } },
  { "name": "od", "gpu": "H100", "nodes": 4, "gpus_per_node": 8, "market": "on-demand", "usd_per_gpu_hour": 3 }] },
  "policy": { "name": "queue" }, "trace": { "file": "t.csv" }, "tco": { "years": 3 } }
JSON
  printf 'job_id,submit_s,duration_s,gpus\na,0,7200,8\nb,0,7200,8\nc,0,7200,8\nd,7200,7200,8\n' >t.csv
  try 0 tco s.json --json t.json
  matches stdout 'answer +a useful GPU hour costs \$[0-9.]+ in option od\.'
  says stdout 'Option own, at $'
  says stdout 'does not serve the demand'
  [ "$(node -p "JSON.parse(fs.readFileSync('t.json')).options.map(o => o.serves).join()")" = false,true ] ||
    fail "the JSON differs"
  try 0 tco s.json --set 'tco.options=[{"name":"own","pools":["own"]}]'
  matches stdout 'answer +Option own, at .* does not serve'
  try 0 tco s.json --set cluster.pools.0.nodes=4
  matches stdout 'answer +a useful GPU hour costs .* in option own, '
}

# `validate` finds a demand that `tco` cannot draw; a demand at the bound is possible.
case_growth_is_validated() {
  try 2 validate "$example" --set tco.growth_per_year=10 --set tco.years=30
  says stderr 'the demand of year 5 is 1e+04 times that of the trace; a number from 0.001 to 1000 is expected'
  try 0 validate "$example" --set tco.growth_per_year=0.1 --set tco.years=4
  try 0 tco "$example" --set tco.growth_per_year=0.1 --set tco.years=4 --replications 1
}

case_bad_input() {
  try 2 tco "$project/scenarios/demo.json"
  says stderr "no pool has a 'market'"
  try 2 tco "$example" --set cluster.pools.0.nodes=0
  says stderr "pool 'private' of option 'private' has 0 nodes"
  try 2 tco "$example" --set cluster.pools.0.owned.lifetime_years=0
  says stderr "'cluster.pools.0.owned.lifetime_years' is the number 0"
  try 2 tco "$example" --set cluster.pools.0.owned.amortization=annuity
  says stderr 'straight-line, crf-annual, pmt-monthly'
  try 2 tco "$example" --set tco.options.0.pools.0=nowhere
  says stderr "no pool is named 'nowhere'"
}

run_case
