#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plans that docs/planning-examples.md works out: what they promise holds, and not for one seed alone.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# figure PATH: a number of summary.json, named by its keys with dots between them.
figure() {
  awk -v wanted="$1" '
    match($0, /"[^"]*": /) {
      depth = (RSTART - 1) / 2
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

replay() {
  try 0 run "$project/scenarios/$1.json" --seed "$2" --quiet --check --json summary.json
}

case_traces_can_be_made_again() {
  cd "$project/traces/reference"
  awk -f reserved-spot-mix.awk | cmp - reserved-spot-mix.csv || fail "reserved-spot-mix.csv is made otherwise"
  awk -v moved=0 -f agency.awk | cmp - agency-before.csv || fail "agency-before.csv is made otherwise"
  awk -v moved=1 -f agency.awk | cmp - agency.csv || fail "agency.csv is made otherwise"
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

run_case
