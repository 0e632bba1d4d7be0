#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policies `kai`, `volcano` and `kubernetes`: shipped scenarios with figures that are derived by hand, and notes
# beside the result. All runs are in checked mode.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# times SCENARIO TIME...: runs the scenario; the jobs start at these times, then end at these.
times() {
  try 0 run "$1" --trace "$project/traces/reference/two-teams.csv" --check --quiet --jobs jobs.csv
  local found
  found=$(awk -F, 'NR > 1 { start = start " " $3; end = end " " $4 } END { print substr(start end, 2) }' jobs.csv)
  shift
  [ "$found" = "$*" ] || fail "jobs start and end at $found, not at $*"
}

# The figures of docs/reference/kai.md.
case_kai_what_if() {
  times "$project/scenarios/kai.json" 0 0 0 0 3630 3630 21600 21600 32430 32430 10830 10830
  sed 's/"queues": \[/"scheduler": { "reclaim_min_runtime_s": 14400 },&/' "$project/scenarios/kai.json" >protected.json
  times protected.json 0 0 0 0 14430 14430 21600 21600 43200 43200 21630 21630
  sed 's/14400/28800/' protected.json >long.json
  times long.json 0 0 0 0 21600 21600 21600 21600 21600 21600 28800 28800
}

# The engine starts jobs as a whole, where KAI and Volcano would start them with their minimum.
case_elastic_jobs_are_noted() {
  printf 'submit_s,duration_s,gpus,tasks,min_gpus\n0,9,4,4,2\n0,9,4,4,4\n0,9,2,2,1\n' >t.csv
  for policy in kai volcano; do
    printf '{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8}]},
      "policy": {"name": "%s"}}' "$policy" >s.json
    try 0 run s.json --trace t.csv --check
    says stderr "note: $policy: 2 jobs with 'min_gpus' below 'gpus' start and run with all GPUs"
  done
}

run_case
