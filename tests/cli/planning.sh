#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plans of docs/planner/planning-examples.md: they meet their goals for several seeds, and `headroom plan` finds
# them.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# figure PATH: prints a number in summary.json. PATH: its keys, separated by dots; indices of list items count from 0.
figure() {
  awk -v wanted="$1" '
    { match($0, /[^ ]/); depth = (RSTART - 1) / 2 }
    /\[$/ { items[depth + 1] = 0 }
    /^ *\{$/ { key[depth] = items[depth]++ }
    match($0, /"[^"]*": /) {
      key[depth] = substr($0, RSTART + 1, RLENGTH - 4)
      path = key[1]
      for (i = 2; i <= depth; i++) path = path "." key[i]
      value = substr($0, RSTART + RLENGTH)
      if (path == wanted && value !~ /[{[]$/) { sub(/,$/, "", value); print value; found = 1 }
    }
    END { exit !found }' summary.json || fail "summary.json has no $1"
}

# holds CONDITION: fails unless a condition on numbers, written as an awk expression, is true.
holds() {
  awk "BEGIN { exit !($1) }" || fail "the condition is false: $1"
}

# equals A B: equal to five digits.
equals() {
  holds "($1) - ($2) < 1e-5 * ($2) && ($2) - ($1) < 1e-5 * ($2)"
}

# replay SCENARIO SEED [OPTION]...
replay() {
  try 0 run "$project/scenarios/$1.json" --seed "$2" --quiet --check --json summary.json "${@:3}"
}

case_traces_can_be_made_again() {
  cd "$project/traces/reference"
  awk -f reserved-spot-mix.awk | cmp - reserved-spot-mix.csv || fail "reserved-spot-mix.csv differs"
  awk -v moved=0 -f agency.awk | cmp - agency-before.csv || fail "agency-before.csv differs"
  awk -v moved=1 -f agency.awk | cmp - agency.csv || fail "agency.csv differs"
  awk -f shared-inference.awk | cmp - shared-inference.csv || fail "shared-inference.csv differs"
  for name in plan-reserved-share plan-spot-share plan-l4-or-t4 plan-private-or-cloud; do
    awk -f $name.awk | cmp - $name.csv || fail "$name.csv differs"
  done
}

case_reserved_spot_mix() {
  for seed in 1 2 3 4 5 6 7 8; do
    replay reserved-spot-mix "$seed"
    holds "0.45 <= $(figure cost.saving_vs_on_demand) && $(figure cost.saving_vs_on_demand) <= 0.55"
    holds "$(figure cost.by_market.on-demand) <= 0.05 * $(figure cost.total_usd)"
    holds "$(figure spot.reclaims) > 100"
    holds "$(figure by_class.inference.wait_s.max) == 0"
  done
}

case_agency() {
  replay agency-before 1
  before=$(figure by_class.training.useful_gpu_hours)
  holds "0.225 < $(figure utilization.submit_window) && $(figure utilization.submit_window) < 0.235"
  holds "46500 < $(figure cost.usd_per_month) && $(figure cost.usd_per_month) < 47500"
  for seed in 1 2 3 4 5 6 7 8; do
    replay agency "$seed"
    holds "$(figure cost.usd_per_month) <= 18000"
    holds "$(figure by_class.training.useful_gpu_hours) >= 1.4 * $before"
    holds "$(figure by_class.inference.wait_s.max) == 0"
    holds "$(figure spot.reclaims) > 20"
    if grep -q '"over": true' summary.json; then fail "a budget is exceeded"; fi
  done
}

# Computed by hand: nodes x price x hours / jobs, with the speeds that the scenario states.
case_shared_inference() {
  t4=38.29 l4=76.58 part="(182.13 / 7)"
  work_h=$(awk -F, '$6 == "t4-whole" { sum += $2 } END { print sum / 3600 }' "$project/traces/reference/shared-inference.csv")
  replay shared-inference 1
  makespan_h="($(figure makespan_s) / 3600)"
  billed_h=$(awk "BEGIN { print int($(figure makespan_s) + 0.999999) / 3600 }")
  for pool in 0 1 2 3; do
    holds "$(figure by_pool.$pool.completed) == 1200"
    holds "$(figure by_pool.$pool.usd_per_completed_job) == int(1e6 * $(figure by_pool.$pool.cost_usd) / 1200 + 0.5) / 1e6"
  done
  equals "$(figure by_pool.0.cost_usd)" "38 * 0.526 * $billed_h"
  equals "$(figure by_pool.1.cost_usd)" "19 * 0.8048 * $billed_h"
  equals "$(figure by_pool.2.cost_usd)" "27.44705 * $billed_h"
  equals "$(figure by_pool.3.cost_usd)" "27.44705 * $billed_h"
  equals "$(figure by_pool.0.utilization)" "$work_h / (38 * $makespan_h)"
  equals "$(figure by_pool.0.gpu_hours)" "$work_h"
  sum_h=$(for pool in 0 1 2 3; do figure by_pool.$pool.gpu_hours; done | paste -sd+)
  equals "$sum_h" "$(figure gpu_hours)"
  holds "$(figure by_pool.0.latency_factor.max) == 1"
  holds "1.8 < $(figure by_pool.1.latency_factor.mean) && $(figure by_pool.1.latency_factor.max) <= 2.00001"
  equals "$(figure by_pool.2.latency_factor.mean)" "$t4 / $part"
  equals "$(figure by_pool.2.latency_factor.max)" "$t4 / $part"
  holds "1.02 * $t4 / $part < $(figure by_pool.3.latency_factor.mean)"
  equals "$(figure by_pool.3.latency_factor.max)" "$t4 / $part / 0.925"
  holds "0.65 < $(figure by_pool.2.utilization) && $(figure by_pool.2.utilization) < $(figure by_pool.3.utilization)"
  replay shared-inference 1 --set policy.placement=worst-fit
  holds "$t4 / $l4 <= $(figure by_pool.1.latency_factor.mean) && $(figure by_pool.1.latency_factor.mean) < 0.55"
  holds "0.99 * 0.0539 < $(figure by_pool.1.usd_per_completed_job) && $(figure by_pool.1.usd_per_completed_job) < 0.0539"
}

# ---- Plans -----------------------------------------------------------------------------------------------------------

# plan CODE SCENARIO [OPTION]...
plan() {
  try "$1" plan "$project/scenarios/$2.json" --quiet --brief --json summary.json "${@:3}"
}

chosen() {
  figure "recommendation.choice.$1"
}

# paper NODES STANDING ELASTIC BOOT TRACE: monthly cost in dollars. NODES nodes of 8 GPUs are fixed capacity at the
# price STANDING per GPU-hour. A job takes free fixed nodes when it is submitted, or else the same number of on-demand
# nodes at the price ELASTIC, which boot first. No job waits for another, and no job moves.
paper() {
  awk -F, -v nodes="$1" -v standing="$2" -v elastic="$3" -v boot="$4" '
    NR > 1 {
      if (NR == 2) first = $2
      wanted = $4 / 8; free = 0; last = $2
      for (i = 1; i <= nodes; i++) free += until[i] <= $2
      if (free < wanted) { on_demand_s += wanted * (boot + $3); next }
      for (i = 1; i <= nodes && wanted; i++) if (until[i] <= $2) { until[i] = $2 + $3; wanted-- }
    }
    END { printf "%.2f\n", 730 * 8 * (nodes * standing + elastic * on_demand_s / (last - first)) }' \
    "$project/traces/reference/$5.csv"
}

# near A B: equal to 2 %.
near() {
  holds "($1) - ($2) < 0.02 * ($2) && ($2) - ($1) < 0.02 * ($2)"
}

# Four nodes are never idle: three are reserved for three years, the fourth for one year. A fifth would be idle too
# often.
case_plan_reserved_share() {
  plan 0 plan-reserved-share
  [ "$(chosen 3-years) $(chosen 1-year) $(chosen on-demand)" = '24 8 144' ] || fail "the choice differs"
  three_years=$(awk 'BEGIN { print 21.957642 * 0.4 / 8 }') on_demand=$(awk 'BEGIN { print 21.957642 / 8 }')
  one_year=$(awk "BEGIN { print $on_demand * (1 - 0.4254) }")
  four="(730 * 8 * (3 * $three_years + $one_year) + $(paper 4 0 "$on_demand" 120 plan-reserved-share))"
  five="(730 * 8 * (3 * $three_years + 2 * $one_year) + $(paper 5 0 "$on_demand" 120 plan-reserved-share))"
  three="(730 * 8 * 3 * $three_years + $(paper 3 0 "$on_demand" 120 plan-reserved-share))"
  holds "$four < $three && $four < $five"
  near "$(figure recommendation.objective)" "$four"
  holds "$(figure all_on_demand.objective) > 1.4 * $four"
  plan 0 plan-reserved-share --set replications.workload.resample=weeks
  [ "$(chosen 3-years) $(chosen 1-year)" = '24 8' ] || fail "the choice for drawn weeks differs"
  holds "$(figure probability_best) > 0.9"
}

# With three zones the choice has no on-demand nodes, with one zone it has.
case_plan_spot_share() {
  plan 0 plan-spot-share
  [ "$(chosen spot) $(chosen on-demand) $(chosen policy)" = '15 0 "deadline"' ] || fail "the choice differs"
  # A lower bound: all work at the spot price. The actual cost is slightly higher: boots, restarts, lost work.
  least=$(awk -F, 'NR == 2 { first = $2 } NR > 1 { sum += $3; last = $2 }
    END { print 730 * 3.06 * 0.27 * sum / (last - first) }' \
    "$project/traces/reference/plan-spot-share.csv")
  holds "$least < $(figure recommendation.objective) && $(figure recommendation.objective) < 1.05 * $least"
  holds "$least / 0.27 < $(figure all_on_demand.objective) && $(figure all_on_demand.objective) < 1.05 * $least / 0.27"
  plan 0 plan-spot-share --set 'plan.variables.0={"name":"spot","pools":["spot-a"],"from":0,"to":24,"step":3}' \
    --set cluster.pools.1.nodes=0 --set cluster.pools.2.nodes=0
  holds "$(chosen on-demand) > 0"
}

# The command for the mix on the page has all its settings, not only numbers of nodes. It gives the cost of the plan.
case_page_has_the_command_of_the_mix() {
  plan 0 plan-spill-over --report plan.html
  grep -o '"command":"headroom run[^"]*"' plan.html | head -n 1 >mix.txt
  says mix.txt "--set router.max_wait_s=$(chosen router.max_wait_s)"
  # shellcheck disable=SC2046 # settings have no blanks
  try 0 run "$project/scenarios/plan-spill-over.json" $(grep -o -- '--set [^ "]*' mix.txt) --quiet --json run.json
  cost=$(sed -n 's/^ *"monthly_usd": \([0-9.]*\),*$/\1/p' run.json | head -n 1)
  equals "$cost" "$(figure recommendation.objective)"
}

# The fast search equals the exhaustive search. With one GPU type alone, the number of GPUs is that of the document.
case_plan_l4_or_t4() {
  plan 0 plan-l4-or-t4
  [ "$(chosen t4) $(chosen l4)" = '2 9' ] || fail "the choice differs"
  cost=$(figure recommendation.objective)
  equals "$cost" "730 * (2 * 0.309247 + 9 * 0.8048 * 0.6)"
  plan 0 plan-l4-or-t4 --exhaustive --set plan.variables.0.step=2
  equals "$cost" "$(figure recommendation.objective)"
  holds "$(figure candidates.run) == $(figure candidates.total)"
  plan 0 plan-l4-or-t4 --set plan.variables.0.to=0
  [ "$(chosen l4)" = 11 ] || fail "the number of L4s differs"
  plan 0 plan-l4-or-t4 --set plan.variables.1.to=0
  [ "$(chosen t4)" = 20 ] || fail "the number of T4s differs"
  # No number of T4s is fast enough for this goal.
  plan 1 plan-l4-or-t4 --set plan.variables.1.to=0 --set 'plan.constraints.0=jct_s.p95 <= 5 min'
  says stderr 'no mix that was evaluated meets the goals'
  # An L4 that is 1.5 times as fast as a T4 costs more than its work is worth.
  plan 0 plan-l4-or-t4 --set models.speeds.bert-large-inference.L4=57.435
  holds "$(chosen t4) == 20 && $(chosen l4) == 0"
}

# The result equals that of the function `paper`. If demand is very small, an owned node would be idle too long.
case_plan_private_or_cloud() {
  plan 0 plan-private-or-cloud
  [ "$(chosen own)" = 72 ] || fail "the choice differs"
  own=$(awk 'BEGIN { print (293750 / (4 * 8760) + 10.2 * 180 / 730) * 1.25 / 8 }')
  near "$(figure recommendation.objective)" "$(paper 9 "$own" 6.88 300 plan-private-or-cloud)"
  for nodes in 0 4 7 8 10 11 14 20; do
    holds "$(paper 9 "$own" 6.88 300 plan-private-or-cloud) < $(paper $nodes "$own" 6.88 300 plan-private-or-cloud)"
  done
  plan 0 plan-private-or-cloud --set replications.workload.growth=0.1
  [ "$(chosen own)" = 8 ] || fail "the choice for a tenth of the demand differs"
  plan 0 plan-private-or-cloud --set replications.workload.growth=0.05
  [ "$(chosen own)" = 0 ] || fail "the choice for a twentieth of the demand differs"
}

case_own_or_rent_is_as_the_page_says() {
  "$project/docs/planner/examples/own_or_rent.sh" "$headroom" >table 2>stderr
  [ "$(wc -l <table)" -eq 7 ] || fail "not seven lines"
  while read -r line; do
    tr -s ' ' <"$project/docs/planner/planning-examples.md" >page
    says page "$(tr -s ' ' <<<"$line")"
  done <table
}

run_case
