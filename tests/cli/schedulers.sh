#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policies `kai`, `volcano` and `kubernetes`: shipped scenarios with values that are derived by hand, and the notes
# on the result. All runs are in checked mode.
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

# The values in docs/reference/kai.md.
case_kai_what_if() {
  times "$project/scenarios/kai.json" 0 0 0 0 3630 3630 21600 21600 32430 32430 10830 10830
  sed 's/"queues": \[/"scheduler": { "reclaim_min_runtime_s": 14400 },&/' "$project/scenarios/kai.json" >protected.json
  times protected.json 0 0 0 0 14430 14430 21600 21600 43200 43200 21630 21630
  sed 's/14400/28800/' protected.json >long.json
  times long.json 0 0 0 0 21600 21600 21600 21600 21600 21600 28800 28800
}

# The values in docs/reference/volcano.md. Jobs that the action enqueue does not admit do not prevent the next session
# from scheduling admitted jobs.
case_volcano_what_if() {
  times "$project/scenarios/volcano.json" 1 1 1 21602 3601 10802 21601 21601 21601 43202 10801 18002
  sed 's/, "capability": \[[^]]*\]//' "$project/scenarios/volcano.json" >free.json
  times free.json 1 1 1 1 21602 21602 21601 21601 21601 21601 28802 28802
}

# Pending jobs of KAI have the messages of its pod groups.
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

# words JOB TEXT: fails unless `why` explains the wait of the job with the text.
words() {
  try 0 why s.json --trace t.csv --job "$1"
  tr -s ' \n' ' ' <stdout | grep -qF "(\"$2\")" || fail "job $1: not '$2'"
}

# Jobs that are not enqueued because of the capability of their queue wait for quota, even while GPUs are free.
case_volcano_words() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8}]}, "policy": {"name": "volcano"},
 "volcano": {"queues": [{"name": "a", "capability": [{"resource": "nvidia.com/gpu", "amount": 4}]}]}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,queue\n1,0,1000,4,a\n2,10,100,2,a\n3,10,100,4,default\n' >t.csv
  try 0 why s.json --trace t.csv --job 2 --json -
  says stdout 'PodGroup is Pending: queue resource quota insufficient'
  says stdout '"reason": "quota"'
  ! grep -q '"reason": "policy"' stdout || fail "a wait for an unknown reason"
}

# Job 1 has the pods of both nodes from 1 s on. The queue of job 2 deserves half of them: it is admitted at 20 s,
# reclaims 8 pods at 21 s, and has them from 22 s to 72 s. Job 1 works with 8 pods for 51 s, and then with 16 again. If
# it needs all pods, it stops, and starts again at 72 s.
case_volcano_elastic() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]}, "policy": {"name": "volcano"},
 "volcano": {"actions": ["enqueue", "allocate", "reclaim"],
   "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"}]},
             {"plugins": [{"name": "predicates"}, {"name": "proportion"}, {"name": "nodeorder"}]}],
   "queues": [{"name": "a", "weight": 1}, {"name": "b", "weight": 1}]}}
JSON
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,max_gpus,queue\n0,100,16,16,4,16,a\n20,50,8,8,8,8,b\n' >t.csv
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,0,1,126.5,1,16,.*,2,1600$'
  matches jobs.csv '^2,20,22,72,2,8,.*,0,400$'
  sed 's/,4,16,a/,16,16,a/' t.csv >all.csv
  try 0 run s.json --trace all.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,0,1,172,1,16,'
  matches jobs.csv '^2,20,22,72,2,8,'
  # 4 of 16 pods are enough to start, and the others follow when job 1 ends
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,queue\n0,100,10,10,10,a\n0,100,16,16,4,a\n' >t.csv
  sed -i 's/"reclaim"/"backfill"/' s.json
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^2,0,1,163.5,1,16,.*,1,1600$'
  printf 'submit_s,duration_s,gpus,tasks,min_gpus\n0,100,12,2,12\n0,100,16,4,4\n' >t.csv
  printf '{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
    "policy": {"name": "volcano"}}' >s.json
  words 2 '1/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 1 minAvailable; 0/2 nodes are available: 2 Insufficient nvidia.com/gpu'
}

# Empty queues change nothing. The plug-in `drf` stores sums by job where other actions store counts by queue.
case_volcano_empty_queues() {
  local seed queues='{"name": "q0"}, {"name": "q1", "weight": 2}, {"name": "q2", "weight": 3}'
  for seed in 8 15 18; do
    awk -v seed="$seed" '
      function draw(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) % n }
      BEGIN { print "submit_s,duration_s,gpus,tasks,min_gpus,queue,priority"
        for (i = 0; i < 40; i++) { at += draw(200); gpus = 1 + draw(12)
          print at "," 10 + draw(900) "," gpus "," gpus "," 1 + draw(gpus) ",q" draw(3) "," draw(4) } }' >t.csv
    for more in '' "$(printf ', {"name": "x%s"}' $(seq 60))"; do
      cat >s.json <<JSON
{"cluster": {"pools": [{"name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8}]}, "policy": {"name": "volcano"},
 "volcano": {"actions": ["enqueue", "allocate", "preempt", "reclaim"], "queues": [$queues$more],
   "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"}]},
             {"plugins": [{"name": "proportion"}, {"name": "predicates"}, {"name": "nodeorder"}, {"name": "drf"}]}]}}
JSON
      try 0 run s.json --trace t.csv --quiet --jobs "jobs${more:+.more}.csv"
    done
    cmp -s jobs.csv jobs.more.csv || fail "seed $seed: empty queues change the run"
  done
}

# An elastic job can have nodes that are rented for its further pods: one node of 8 GPUs is up, the other two boot for a
# minute after the session at 1 s.
case_volcano_elastic_nodes() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 3, "gpus_per_node": 8, "market": "on-demand", "boot_s": 60,
                        "usd_per_gpu_hour": 1}]}, "policy": {"name": "volcano"}}
JSON
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,max_gpus\n0,200,8,8,4,32\n' >t.csv
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  says jobs.csv '0:8|1:8|2:8'
}

# Job 1 has the pods of both nodes. The queue of job 2 has a quota of 8 GPUs: it reclaims 8 pods at 20 s, one by one,
# and has them from 21 s to 71 s. Job 1 works with 8 pods for 51 s, and then with 16 again.
case_kai_elastic() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]}, "policy": {"name": "kai"},
 "kai": {"queues": [{"name": "a", "gpu": {"quota": 8, "limit": -1, "over_quota_weight": 1}},
                    {"name": "b", "gpu": {"quota": 8, "limit": -1, "over_quota_weight": 1}}]}}
JSON
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,max_gpus,tenant\n0,100,16,16,4,16,a\n20,50,8,8,8,8,b\n' >t.csv
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,0,0,125.5,0,16,.*,2,1600$'
  matches jobs.csv '^2,20,21,71,1,8,.*,0,400$'
  # 4 of 16 pods are enough to start, and the others follow when job 1 ends
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,tenant\n0,100,10,10,10,a\n0,100,16,16,4,a\n' >t.csv
  try 0 run s.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^2,0,0,162.5,0,16,.*,1,1600$'
  printf 'submit_s,duration_s,gpus,tasks,min_gpus,tenant\n0,100,14,14,14,a\n0,100,16,16,4,a\n' >t.csv
  words 2 "Resources were found for 2 pods while 4 are required for gang scheduling. Additional pods cannot be scheduled due to: no nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs."
}

# A job with one task is one pod, which has all GPUs.
case_elastic_jobs_are_noted() {
  printf 'submit_s,duration_s,gpus,tasks,min_gpus\n0,9,4,1,2\n0,9,4,4,4\n0,9,2,1,1\n' >t.csv
  for policy in kai volcano; do
    printf '{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8}]},
      "policy": {"name": "%s"}}' "$policy" >s.json
    try 0 run s.json --trace t.csv --check
    says stderr "note: $policy: 2 jobs with 'min_gpus' below 'gpus' run with all GPUs"
  done
}

run_case
