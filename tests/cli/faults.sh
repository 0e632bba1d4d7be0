#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Failures and maintenance of nodes: results and notes of small scenarios, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# scenario NODES FAULTS [MEMBERS]: s.json, one pool of nodes with 8 GPUs, which runs t.csv. MEMBERS: of the policy.
scenario() {
  printf '{"trace":{"file":"t.csv"},"seed":1,"policy":{"name":"queue"%s},"cluster":{"pools":[{"name":"p","gpu":"H100",
    "nodes":%s,"gpus_per_node":8,"faults":%s}]}}\n' "${3:-}" "$1" "$2" >s.json
}

# jobs ROW...: t.csv; columns: job_id, submit_s, duration_s, gpus, and others that the variable `more` names.
jobs() {
  { echo "job_id,submit_s,duration_s,gpus${more:-}"; printf '%s\n' "$@"; } >t.csv
}

# is FILE KEY VALUE: the JSON file has this value at a path such as .faults.ettr.
is() {
  local found
  found=$(python3 -c '
import json, sys
at = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("/"): at = at[int(key) if isinstance(at, list) else key]
print(json.dumps(at))' "$1" "$2") || fail "$1 has no $2"
  [ "$found" = "$3" ] || fail "$2 is $found, not $3"
}

case_ettr_of_elastic_jobs() {
  more=,min_gpus,max_gpus jobs a,0,10000,4,2,8
  scenario 1 '{"mtbf_h":1000,"repair_s":60}' ',"elastic":"grow"'
  try 0 run s.json -q --json -
  is stdout faults/failures 0
  is stdout faults/ettr 1
  is stdout by_size/2-4/ettr 1
}

# Node 0 is down until 1 s, and from 1,001 s to 2,001 s; `a` needs both nodes: 1,000 s are lost and 1,000 s are a wait,
# of 5,000 s.
case_ettr_by_size() {
  jobs a,0,3000,16 b,6000,100,8
  printf 'node,start,end\nn,0,1\nn,1001,2001\n' >log.csv
  scenario 2 '{"log":{"file":"log.csv"}}'
  try 0 run s.json -q --json -
  is stdout faults/failures 2
  is stdout faults/jobs_stopped 1
  is stdout by_size/9-16/ettr 0.6
  is stdout by_size/5-8/ettr 1
  try 0 run s.json -q --json - --set cluster.pools.0.faults='{"per_1000_node_days":0}'
  ! grep -q ettr stdout || fail "an ETTR without failures"
}

# Jobs that were rejected after a failure do not count after their rejection.
case_ettr_of_rejected_jobs() {
  jobs a,0,1500,8 b,0,9000,1
  scenario 2 '{"between":{"distribution":"fixed","mean_s":1000},"repair_s":100,"start":"fresh"}'
  try 0 run s.json -q --json - --set classes='{"default":{"requeue":false}}'
  is stdout jobs/rejected 2
  is stdout faults/ettr null
}

case_preemptions_of_restarts() {
  more=,priority jobs b,0,9000,8,1 c,2,9000,8,1 a,10,4000,8,9
  printf 'node,start,end\nn,0,1\nn,100,20000\n' >log.csv
  scenario 2 '{"log":{"file":"log.csv"}}' ',"order":"priority","preemption":"priority"'
  try 0 run s.json -q --json -
  is stdout faults/jobs_stopped 1
  is stdout faults/restart_preemptions 1
  "$headroom" run s.json -q --jobs jobs.csv
  matches jobs.csv '^b,.*,2,100,0,0,4000,$' # the first preemption, by the submission of `a`
}

run_case
