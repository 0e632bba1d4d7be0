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
  ! grep -q 'availability 1' stdout || fail "failures are known, but assumed"
  try 0 tco "$project/scenarios/plan-private-or-cloud.json"
  says stdout "availability 1, as no pool has 'faults'"
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
