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

# The figures of docs/reference/volcano.md. Jobs that the action enqueue does not admit do not hide those that it has
# admitted from the next session.
case_volcano_what_if() {
  times "$project/scenarios/volcano.json" 1 1 1 21602 3601 10802 21601 21601 21601 43202 10801 18002
  sed 's/, "capability": \[[^]]*\]//' "$project/scenarios/volcano.json" >free.json
  times free.json 1 1 1 1 21602 21602 21601 21601 21601 21601 28802 28802
}

# Pending jobs of KAI have the words of its pod groups.
case_kai_words() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]}, "policy": {"name": "kai"},
 "kai": {"queues": [{"name": "a", "gpu": {"quota": 8, "limit": 12, "over_quota_weight": 1}},
                    {"name": "b", "gpu": {"quota": 8, "limit": -1}}]}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,tasks,tenant,priority
1,0,900,8,1,a,50
limit,0,900,8,1,a,50
3,0,900,4,1,b,100
node,0,900,8,1,b,50
gang,0,900,16,2,b,50
quota,1,900,8,1,b,100
CSV
  words limit 'a quota has reached the allowable limit of GPUs. Limit is 12 GPUs, currently 8 GPUs allocated and workload requested 8 GPUs'
  words node "Resources were not found for the pod due to: no nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs."
  words gang "Resources were found for 0 pods while 2 are required for gang scheduling. Additional pods cannot be scheduled due to: no nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs."
  words quota 'Non-preemptible workload is over quota. Workload requested 8 GPUs, but b quota is 8 GPUs, while 4 GPUs are already allocated for non-preemptible pods. Use a preemptible workload to go over quota.'
}

# words JOB TEXT: `why` explains the wait of the job with the text.
words() {
  try 0 why s.json --trace t.csv --job "$1"
  tr -s ' \n' ' ' <stdout | grep -qF "(\"$2\")" || fail "job $1: not '$2'"
}

# The engine starts jobs as a whole, where KAI and Volcano would start them with their minimum.
case_elastic_jobs_are_noted() {
  printf 'submit_s,duration_s,gpus,tasks,min_gpus\n0,9,4,4,2\n0,9,4,4,4\n0,9,2,2,1\n' >t.csv
  for policy in kai volcano; do
    printf '{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8}]},
      "policy": {"name": "%s"}}' "$policy" >s.json
    try 0 run s.json --trace t.csv --check
    says stderr "note: $policy: 2 jobs with 'min_gpus' below 'gpus' run with all GPUs"
  done
}

run_case
