#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plans that docs/planning-examples.md works out: what they promise holds, and not for one seed alone.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# figure PATH: a number of summary.json, named by its keys with dots between them; the items of a list count from 0.
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

# holds CONDITION: of numbers, as awk has it.
holds() {
  awk "BEGIN { exit !($1) }" || fail "it does not hold that $1"
}

# equals A B: to five digits.
equals() {
  holds "($1) - ($2) < 1e-5 * ($2) && ($2) - ($1) < 1e-5 * ($2)"
}

# replay SCENARIO SEED [OPTION]...
replay() {
  try 0 run "$project/scenarios/$1.json" --seed "$2" --quiet --check --json summary.json "${@:3}"
}

case_traces_can_be_made_again() {
  cd "$project/traces/reference"
  awk -f reserved-spot-mix.awk | cmp - reserved-spot-mix.csv || fail "reserved-spot-mix.csv is made otherwise"
  awk -v moved=0 -f agency.awk | cmp - agency-before.csv || fail "agency-before.csv is made otherwise"
  awk -v moved=1 -f agency.awk | cmp - agency.csv || fail "agency.csv is made otherwise"
  awk -f shared-inference.awk | cmp - shared-inference.csv || fail "shared-inference.csv is made otherwise"
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

# What can be told by hand: nodes x price x hours / jobs, speeds from the figures that the scenario quotes.
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

run_case
