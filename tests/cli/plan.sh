#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom plan` and `headroom run --replications`: equal bytes for any number of threads, exit codes, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# scenario [VARIABLES [MEMBERS [GOALS]]]: writes p.json with reserved and spot nodes, and jobs.csv. VARIABLES: those of
# the plan; MEMBERS: further members of the scenario, each followed by a comma; GOALS: the same of the plan.
scenario() {
  head -n 200 "$project/traces/reference/demo.csv" >jobs.csv
  cat >p.json <<JSON
{
  "name": "p",
  "trace": { "file": "jobs.csv" },
  "cluster": { "pools": [
    { "name": "reserved", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "reserved",
      "usd_per_gpu_hour": 1, "on_demand_usd_per_gpu_hour": 2 },
    { "name": "spot", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 0.5,
      "on_demand_usd_per_gpu_hour": 2, "spot": { "model": "exponential", "rate_per_h": 0.1 } }
  ] },
  "policy": { "name": "queue", "backfill": "easy", "market": "spot-first" },
  ${2:-}
  "plan": { "variables": [ ${1:-$variables} ], ${3:-\"constraints\": [\"wait_s.p95 <= 8 h\"],} "max_replications": 5 },
  "seed": 7
}
JSON
}
variables='{ "pool": "reserved", "from": 8, "to": 40, "step": 8 }, { "pool": "spot", "values": [0, 16, 32] }'

without_perf() {
  awk '/^  "perf": \{/ { exit } { print }' "$1"
}

# refuses TEXT [ARGUMENT]...: the plan of p.json is rejected with exit code 2, and no file is written.
refuses() {
  local text=$1
  shift
  try 2 plan p.json --json out.json "$@"
  is_empty stdout
  says stderr "$text"
  [ ! -e out.json ] || fail "out.json remains"
}

# fits_80 FILE: no line is wider than 80 columns.
fits_80() {
  if grep -v '^  next       headroom ' "$1" | LC_ALL=C.UTF-8 grep -nE '^.{81,}$' >wide; then fail "$1 is wider than 80 columns: $(head -n 1 wide)"; fi
}

# ---- Answers -------------------------------------------------------------------------------------------------------

case_same_bytes_on_any_threads() {
  scenario
  try 0 plan p.json --json one.json --quiet --threads 1
  try 0 plan p.json --json four.json --quiet --threads 4
  [ "$(without_perf one.json)" = "$(without_perf four.json)" ] || fail "the result on four threads differs"
  says one.json '"feasible": true'
  # The choice has no spot nodes, so one run suffices. It has no probability, in JSON as in the terminal.
  says one.json '"probability_best": null'
  try 0 plan p.json --brief --threads 2
  says stdout 'probability'
  fits_80 stdout
}

case_exhaustive_is_as_good() {
  scenario
  try 0 plan p.json --json fast.json --quiet --brief
  try 0 plan p.json --json all.json --quiet --brief --exhaustive
  choice_of() { awk '/"choice": \{/ { inside = 1; next } inside && /\}/ { exit } inside' "$1"; }
  [ "$(choice_of fast.json)" = "$(choice_of all.json)" ] || fail "$(choice_of fast.json) is not $(choice_of all.json)"
  says all.json '"run": 15,'
}

# If no goal limits the waits, the cheapest candidate may need unlimited time. So no amount of work requires more
# capacity.
case_work_may_take_for_ever() {
  scenario '{ "pool": "reserved", "from": 0, "to": 10, "step": 1 }, { "pool": "spot", "from": 0, "to": 10, "step": 1 }' '' \
    '"constraints": ["completed >= 100 %"],'
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 300; i++) print 3600 * i "," 18000 ",1" }' >jobs.csv
  sed -i 's/"market": "spot", "usd_per_gpu_hour": 0.5/"market": "on-demand", "usd_per_gpu_hour": 4/;
          s/, "spot": { "model": "exponential", "rate_per_h": 0.1 }//; s/spot-first/on-demand-only/;
          s/"gpus_per_node": 8/"gpus_per_node": 1/' p.json
  try 0 plan p.json --brief --json fast.json
  says fast.json '"reserved": 1,'
  says stderr 'no goal limits the waits of all jobs'
  try 1 plan p.json --brief --json cut.json --set horizon_s=7200
  says stderr 'possibly no candidate can meet a goal on '\''completed'\'''
}

# The alternatives have as many replications as the choice, so the choice has the same cost in every table.
case_one_price_for_one_mix() {
  scenario
  try 0 plan p.json -q --json out.json
  says out.json '"replications": 5'
  awk '/^  "pareto": / { inside = 1 } /^  "pareto_of": / { exit } inside' out.json >pareto
  says pareto "$(grep -m 1 -o '"objective": [0-9.]*' out.json)"
  ! grep -q '"replications": [234]' out.json || fail "some mix has fewer runs than the choice"
}

# Additional demand is drawn at random, even if everything else is deterministic.
case_more_demand_of_an_exact_plan() {
  scenario '{ "pool": "reserved", "from": 8, "to": 64, "step": 8 }'
  sed -i '/"name": "spot"/,/rate_per_h/d; s/"on_demand_usd_per_gpu_hour": 2 },/"on_demand_usd_per_gpu_hour": 2 }/;
          s/, "market": "spot-first"//' p.json
  try 0 plan p.json -q --json out.json
  says out.json '"random": false'
  awk '/^  "sensitivity": / { inside = 1 } /^  "demand": / { exit } inside' out.json >worlds
  says worlds '"replications": 5'
}

# If no candidate meets the goals, the nearest one is not the candidate without capacity.
case_the_nearest_mix_serves() {
  scenario '{ "pool": "reserved", "from": 0, "to": 16, "step": 8 }, { "pool": "spot", "values": [0] }' '' \
    '"constraints": ["wait_s.p95 <= 1", "completed >= 20 %"],'
  try 1 plan p.json --brief -q --json out.json
  awk '/^  "nearest": / { inside = 1 } inside; inside && /"objective"/ { exit }' out.json >nearest
  says nearest '"reserved": 16,'
  awk '/^  "binding": / { inside = 1 } inside; inside && /\]/ { exit }' out.json >binding
  says binding 'wait_s.p95 <= 1'
}

# Of candidates that serve jobs equally well, the cheapest is chosen.
case_ties_go_to_the_cheaper() {
  scenario '{ "pool": "spot", "values": [0, 1] }, { "pool": "reserved", "values": [0, 1] }' '' \
    '"constraints": ["completed >= 100 %"], "objective": "wait_s.mean",'
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 50; i++) print 3600 * i "," 3600 ",1" }' >jobs.csv
  sed -i 's/"market": "spot", "usd_per_gpu_hour": 0.5/"market": "on-demand", "usd_per_gpu_hour": 0.1/;
          s/, "spot": { "model": "exponential", "rate_per_h": 0.1 }//; s/spot-first/on-demand-only/;
          s/"gpus_per_node": 8/"gpus_per_node": 1/' p.json
  try 0 plan p.json --brief -q --json out.json
  awk '/^  "recommendation": / { inside = 1 } inside; inside && /"objective"/ { exit }' out.json >choice
  says choice '"spot": 1,'
  says choice '"reserved": 0'
}

case_goals_that_no_mix_meets() {
  scenario '{ "pool": "reserved", "values": [8, 16] }' '' '"constraints": ["wait_s.mean <= 1 s", "completed >= 10 %"],'
  try 1 plan p.json --json out.json
  says stderr 'no mix that was evaluated meets the goals'
  says out.json '"feasible": false'
  says out.json '"recommendation": null'
  says out.json '"nearest": {'
  [ "$(grep -c '"binding": true' out.json)" -eq 1 ] || fail "not just one goal binds"
  says out.json '"probability_best": 0,'
}

case_closed_pipe() {
  scenario
  set +o pipefail
  { reader_is_gone; "$headroom" plan p.json --brief --json - --quiet 2>stderr; } | close_reader
  local codes=("${PIPESTATUS[@]}")
  [ "${codes[0]}" -eq 141 ] || fail "exit code ${codes[0]}, not that of SIGPIPE"
  is_empty stderr
}

case_needs_a_plan_and_a_trace() {
  small_scenario
  cp s.json p.json
  refuses 'names no trace'
  head -n 20 "$project/traces/reference/demo.csv" >jobs.csv
  refuses "has no 'plan'" --trace jobs.csv
}

# ---- Variables -----------------------------------------------------------------------------------------------------

case_variables_that_are_none() {
  scenario ' '
  refuses "p.json:"
  says stderr 'plan.variables'
  scenario '{ "pool": "reserved", "from": 40, "to": 8, "step": 8 }'
  refuses "'from' (40) is larger than 'to' (8)"
  scenario '{ "pool": "reserved", "from": 8, "to": 40 }'
  refuses "'reserved' has no levels"
  scenario '{ "pool": "resreved", "values": [8] }'
  refuses "unknown pool 'resreved'; did you mean 'reserved'?"
  scenario '{ "pools": ["reserved", "spto"], "values": [16] }'
  refuses "did you mean 'spot'?"
  scenario '{ "pool": "reserved", "values": [8, 12] }'
  refuses "'reserved' counts GPUs, 8 per node; 12 is not a multiple of that: use 8 or 16"
  scenario '{ "pools": ["reserved", "spot"], "values": [8] }'
  refuses "16 per node of each of its pools"
  scenario '{ "pool": "reserved", "values": ["many"] }'
  refuses "'many' is not a number"
  scenario '{ "path": "policy.ordre", "values": ["fifo", "sjf"] }'
  refuses "order"
  scenario '{ "path": "policy.order", "values": ["fifo", "sfj"] }'
  refuses "sjf"
  scenario '{ "pool": "spot", "values": [8] }, { "pool": "spot", "values": [16] }'
  refuses "duplicate variable 'spot'"
  scenario '{ "pool": "spot", "values": [8] }, { "name": "more", "pools": ["reserved", "spot"], "values": [16] }'
  refuses "'spot' and 'more' both count the GPUs of pool 'spot'; keep one"
  scenario '{ "pool": "spot", "values": [8, 8] }'
  refuses "duplicate level '8'"
  scenario '{ "pool": "spot", "path": "cluster.pools.0.nodes", "values": [8] }'
  refuses "exactly one of"
}

case_too_many_candidates() {
  scenario
  refuses "the variables span 15 candidates, but 'max_candidates' is 9" \
    --set plan.max_candidates=9
  try 0 validate p.json --set plan.max_candidates=9
  says stderr "'headroom plan' refuses this scenario"
  says stderr "the variables span 15 candidates"
}

# Each replication draws days with replacement. In one of them, the cheapest mix that meets the goal on average misses
# it. That is due to the days, not to spot availability, which this mix does not use, and not to prices.
case_chance_is_no_condition() {
  scenario '{ "pool": "reserved", "values": [8, 16] }, { "pool": "spot", "values": [0] }' \
    '"replications": { "workload": { "resample": "days" } },' '"constraints": ["wait_s.mean <= 1 h"],'
  awk 'BEGIN { print "submit_s,duration_s,gpus"
    for (d = 0; d < 6; d++) for (i = 0; i < 4 * (d + 1); i++) print d * 86400 + i * 60 ",7200,1" }' >jobs.csv
  try 0 plan p.json --json out.json
  says stdout 'depends on chance: 1 of 5 runs as planned miss a goal'
  says stdout 'demand: misses a goal under'
  ! grep -Eq '(prices|spot availability): misses' stdout || fail 'a condition without effect is named'
}

case_baselines() {
  scenario "$variables" '' '"baseline": { "reservde": 8 }, "constraints": ["wait_s.p95 <= 8 h"],'
  refuses "unknown variable 'reservde'; did you mean 'reserved'?"
  scenario "$variables" '' '"baseline": { "reserved": 9 }, "constraints": ["wait_s.p95 <= 8 h"],'
  refuses "9 is not a multiple of that: use 8 or 16"
  scenario "$variables" '' '"baseline": { "reserved": 64, "spot": 0 }, "constraints": ["wait_s.p95 <= 8 h"],'
  try 0 plan p.json --brief --json -
  matches stdout '"reserved": 64'
}

# ---- Goals ---------------------------------------------------------------------------------------------------------

# goal TEXT REASON: the goal is rejected with this reason.
goal() {
  scenario "$variables" '' "\"constraints\": [$1],"
  refuses "$2"
}

case_goals_that_are_none() {
  goal '' 'the objective is unbounded'
  goal '"wait_s.p95 <= 1 h", "wait_s.p95 >= 2 h"' "contradictory goals: 'wait_s.p95 <= 1 h' and 'wait_s.p95 >= 2 h'"
  goal '"wait_s.p96 <= 1 h"' "unknown metric 'wait_s.p96'; did you mean 'wait_s.p9"
  goal '"wait_s.p95 of inferense <= 1 h"' "'inferense' is neither a class nor a tenant of"
  goal '"wait_s.p95 of tenant nobody <= 1 h"' "'nobody' is no tenant of"
  goal '"wait_s.p95 <= 1 weeks"' "invalid bound '1 weeks'"
  goal '"wait_s.p95 <= 1 %"' "unit '%' does not match the metric"
  goal '"wait_s.p95 < 1 h"' 'invalid goal'
  goal '"completed >= 99"' 'did you mean 99 %?'
  goal '"wait_s.p95 <= 0x10"' "invalid bound '0x10'"
  goal '"wait_s.p95 <= -1"' 'the bound must not be negative'
  scenario '' '' '"constraints": ["completed >= 99 %"], "weights": { "monthly_usd": 0 },'
  refuses 'all weights are 0'
  says stderr 'p.json:'
}

case_no_prices() {
  small_scenario
  head -n 20 "$project/traces/reference/demo.csv" >jobs.csv
  sed 's/^  "policy"/  "plan": { "variables": [{ "pool": "p", "values": [8, 16] }], "constraints": ["wait_s.p95 <= 60"] },\n&/' \
    s.json >p.json
  refuses "the objective 'monthly_usd' needs prices, but the scenario has none" --trace jobs.csv
}

# A goal on the cost: nodes without a price make it unknown if their number is a variable, and a note names the pool.
# Nodes of a constant pool are part of all candidates, so the note only states that their cost is missing.
case_goals_on_an_unknown_cost() {
  head -n 40 "$project/traces/reference/demo.csv" >jobs.csv
  cat >p.json <<'JSON'
{"cluster": {"pools": [{"name": "own", "gpu": "V100", "nodes": 2, "gpus_per_node": 8},
   {"name": "cloud", "gpu": "V100", "nodes": 2, "gpus_per_node": 8, "market": "on-demand", "usd_per_gpu_hour": 3}]},
 "policy": {"name": "queue"},
 "plan": {"variables": [{"pool": "own", "values": [0, 64]}, {"pool": "cloud", "values": [0, 64]}],
   "constraints": ["completed >= 99 %", "monthly_usd <= $100,000"], "objective": "wait_s.mean"}}
JSON
  local head="note: pool 'own' has no price: " tail="; set its 'market' and 'usd_per_gpu_hour'"
  try 1 plan p.json --trace jobs.csv --brief --json p.out
  says stderr "$head""with its nodes, it is unknown whether a candidate meets 'monthly_usd <= \$100,000'"
  says stderr "so the goal counts as missed$tail"
  # with 64 own GPUs no cloud node would be needed
  try 1 plan p.json --trace jobs.csv --brief --set 'plan.variables.0.values=[64]' --json -
  matches stdout '"value":[[:space:]]+null,'
  ! grep -qE '"feasible":[[:space:]]+true' stdout || fail 'a plan at an unknown cost'
  try 1 plan p.json --trace jobs.csv --brief --set 'plan.variables.0.values=[64]'
  matches stdout '^  monthly_usd <= [$]100,000 +unknown, as a pool has no price$'
  fits_80 stdout
  try 0 plan p.json --trace jobs.csv --brief --set 'plan.variables.0.values=[64]' \
    --set cluster.pools.0.market=owned --set cluster.pools.0.usd_per_gpu_hour=1
  ! grep -q 'has no price' stderr || fail 'all pools have prices'
  try 0 plan p.json --trace jobs.csv --brief --set 'plan.variables=[{"pool": "cloud", "values": [0, 64]}]' --json -
  says stderr "$head""the goal 'monthly_usd <= \$100,000' does not contain its cost$tail"
  # without any price
  try 1 plan p.json --trace jobs.csv --brief --set 'cluster.pools.1={"name":"cloud","gpu":"V100","gpus_per_node":8,"nodes":2}'
  matches stdout '^  monthly_usd <= [$]100,000 +unknown, as a pool has no price$'
}

# ---- Replications --------------------------------------------------------------------------------------------------

case_replications() {
  scenario
  try 0 run p.json --replications 12 --json one.json --quiet --threads 1
  try 0 run p.json --replications 12 --json four.json --quiet --threads 4
  [ "$(without_perf one.json)" = "$(without_perf four.json)" ] || fail "the replications on four threads differ"
  says one.json '"count": 12,'
  try 0 run p.json --replications '{"metric":"wait_s.mean","relative":0.9,"min":3,"max":9}' --json - --quiet
  says stdout '"metric": "wait_s.mean",'
  try 0 run p.json --replications 3
  fits_80 stdout
  # A variance cannot be estimated from equal values.
  matches stdout '^  jobs.completed  *199  *-  *-$'
  says stdout 'no interval: all runs have the same value'
}

case_replications_that_are_none() {
  scenario
  for value in 0 -3 many 1.5 1e9; do
    try 2 run p.json --replications "$value"
    says stderr "a whole number from 1 to"
  done
  try 2 run p.json --replications '{"count":3,"metric":"wait_s.p95","relative":0.1}'
  says stderr "'replications' has both 'count' and 'metric'; keep one"
  try 2 run p.json --replications '{"metric":"wait_s.p95"}'
  says stderr "'metric' needs 'relative'"
  try 2 run p.json --replications '{"relative":0.1}'
  says stderr "'relative' needs 'metric'"
  try 2 run p.json --replications '{"metric":"wait_s.p96","relative":0.1}'
  says stderr "unknown metric 'wait_s.p96'"
  try 2 run p.json --replications '{"metric":"wait_s.p95","relative":0.1,"min":20,"max":5}'
  says stderr "'min' (20) is larger than 'max' (5)"
  try 2 run p.json --replications '{"metric'
  try 2 run p.json --replications 3 --jobs out.csv
  says stderr '--jobs needs a single run'
  [ ! -e out.csv ] || fail "out.csv remains"
}

run_case
