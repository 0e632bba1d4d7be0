#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policy `kueue` in small scenarios whose starts can be computed by hand. All runs are in checked mode.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# queue NAME GPUS MEMBERS: a ClusterQueue of the cohort x with quota of the flavor `f`. MEMBERS: further members, each
# followed by a comma. limits NAME GPUS QUOTA_MEMBERS MEMBERS: the same with limits.
limits() {
  printf '{"name": "%s", "cohort": "x", %s "resource_groups": [{"flavors": [{"name": "f", "resources": [{"name":
    "nvidia.com/gpu", "nominal_quota": %s%s}]}]}]}' "$1" "${4:-}" "$2" "$3"
}

queue() {
  limits "$1" "$2" '' "${3:-}"
}

# world NODES QUEUES MEMBERS: writes k.json with NODES nodes of 8 GPUs. MEMBERS: further members of the section.
world() {
  cat >k.json <<JSON
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": $1, "gpus_per_node": 8}]}, "policy": {"name": "kueue"},
 "kueue": {"flavors": [{"name": "f"}], ${3:-} "cluster_queues": [$2]}}
JSON
}

# jobs ROW...: writes t.csv. A row is submit,duration,gpus,queue,priority.
jobs() {
  { echo submit_s,duration_s,gpus,queue,priority; printf '%s\n' "$@"; } >t.csv
}

# starts TIME...: runs the scenario and expects these first starts of the jobs; "-": the job does not run.
starts() {
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv
  local found
  found=$(awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($3 == "" ? "-" : $3) }' jobs.csv)
  [ "$found" = "$*" ] || fail "jobs start at $found, not at $*"
}

ends() {
  local found
  found=$(awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($4 == "" ? "-" : $4) }' jobs.csv)
  [ "$found" = "$*" ] || fail "jobs end at $found, not at $*"
}

case_borrowing() {
  jobs 0,100,8,a,0 0,100,8,a,0 0,100,8,a,0
  world 3 "$(queue a 8), $(queue b 16)"
  starts 0 0 0
  world 3 "$(limits a 8 ', "borrowing_limit": 8'), $(queue b 16)"
  starts 0 0 100
  world 3 "$(limits a 8 ', "borrowing_limit": 0'), $(queue b 16)"
  starts 0 100 200
  world 3 "$(queue a 8), $(limits b 16 ', "lending_limit": 8')"
  starts 0 0 100
}

# A queue reclaims its quota from the newest jobs of other queues. These jobs start again when quota is free.
case_reclaim() {
  jobs 0,100,8,a,0 1,100,8,a,0 10,50,8,b,0
  world 2 "$(queue a 8), $(queue b 8 '"preemption": {"reclaim_within_cohort": "Any"},')"
  starts 0 1 10
  ends 100 160 60
  world 2 "$(queue a 8), $(queue b 8 '"preemption": {"reclaim_within_cohort": "LowerPriority"},')"
  starts 0 1 100
  jobs 0,100,8,a,0 1,100,8,a,0 10,50,8,b,1
  starts 0 1 10
  ends 100 160 60
  # nominal quota is not taken away
  world 2 "$(queue a 16), $(queue b 0 '"preemption": {"reclaim_within_cohort": "Any"},')"
  starts 0 1 100
}

case_priority_within_a_queue() {
  jobs 0,100,8,a,1 0,100,8,a,0 10,50,8,a,2
  world 2 "$(queue a 16 '"preemption": {"within_cluster_queue": "LowerPriority"},')"
  starts 0 0 10
  ends 100 160 60
  world 2 "$(queue a 16)"
  starts 0 0 100
}

# The third job is first in its queue, but does not fit. The fourth job reclaims its quota from the second one. It must
# be tried before the third job is first again. Otherwise the second job would take the quota again, without end.
case_preemptor_has_its_turn() {
  jobs 0,100,16,c,0 0,50,16,q,0 1,5,24,x,1 1,10,8,x,0
  world 4 "$(queue c 16), $(queue q 8), $(queue x 8 '"preemption": {"reclaim_within_cohort": "Any"},')"
  starts 0 0 100 1
  ends 100 61 105 11
}

case_strategies() {
  jobs 0,100,8,a,0 1,100,16,a,0 2,100,8,a,0
  world 2 "$(queue a 16 '"queueing_strategy": "StrictFIFO",')"
  starts 0 100 200
  world 2 "$(queue a 16)"
  starts 0 102 2
}

# shared_at TIME NUMBER WEIGHT: queue a has this weight and runs 16 jobs. Expects that NUMBER of the 16 jobs of queue b
# start at TIME.
shared_at() {
  world 2 "$(queue a 0 "\"fair_weight\": $3,"), $(queue b 0 '"preemption": {"reclaim_within_cohort": "Any"},')" \
    '"cohorts": [{"name": "x", "resource_groups": [{"flavors": [{"name": "f", "resources": [{"name": "nvidia.com/gpu",
    "nominal_quota": 16}]}]}]}], "fair_sharing": {},'
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv
  local found
  found=$(awk -F, -v at="$1" 'NR > 17 && $3 == at { n++ } END { print n + 0 }' jobs.csv)
  [ "$found" = "$2" ] || fail "$found jobs of b start, not $2"
}

# Two queues without own quota share the quota of their cohort: equally, or by their weights.
case_fair_sharing() {
  local rows=() _
  for _ in $(seq 16); do rows+=("0,100,1,a,0"); done
  for _ in $(seq 16); do rows+=("10,100,1,b,0"); done
  jobs "${rows[@]}"
  shared_at 10 8 1
  shared_at 10 4 3
}

# Fair sharing with many waiting jobs and many evictions. Nearly all heads find no targets, which follows from the
# shares alone. A search among all candidates for each head would take ten times the CPU time.
case_fair_crowd() {
  local queues='' i
  for i in $(seq 10 59); do
    queues+="$(queue "q$i" 21 '"preemption": {"within_cluster_queue": "LowerPriority", "reclaim_within_cohort": "Any"},')"
    [ "$i" -eq 59 ] || queues+=', '
  done
  world 133 "$queues" '"fair_sharing": {},'
  sed -i 's/"name": "kueue"}/"name": "kueue", "preempted": "checkpoint"}/' k.json
  awk 'BEGIN { print "submit_s,duration_s,gpus,queue,priority"
    for (i = 1; i <= 700; i++) { seed = (seed * 1103515245 + 12345) % 2147483648
      printf "%d,%d,%d,q%d,%d\n", i * 20, 600 + seed % 30000, 2 ^ (int(seed / 4096) % 5), 10 + int(seed / 65536) % 50,
        int(seed / 1024) % 3 } }' >t.csv
  local most=5
  if has_sanitizer; then most=25; fi
  (ulimit -t $most && try 0 run k.json --trace t.csv --quiet) || fail "more than $most CPU seconds"
}

case_flavors() {
  cat >k.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8},
                       {"name": "q", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8}]},
 "policy": {"name": "kueue"},
 "kueue": {"flavors": [{"name": "h", "pools": ["p"]}, {"name": "a", "pools": ["q"], "node_taints": [
   {"key": "old", "effect": "NoSchedule"}]}],
  "cluster_queues": [{"name": "c", "resource_groups": [{"flavors": [
   {"name": "h", "resources": [{"name": "nvidia.com/gpu", "nominal_quota": 8}]},
   {"name": "a", "resources": [{"name": "nvidia.com/gpu", "nominal_quota": 8}]}]}]}],
  "local_queues": [{"name": "l", "cluster_queue": "c", "tolerations": [{"key": "old", "operator": "Exists"}]},
                   {"name": "m", "cluster_queue": "c"}]}}
JSON
  jobs 0,100,8,l,0 0,100,8,l,0 0,100,8,m,0
  starts 0 0 100
}

case_admission_checks() {
  jobs 0,100,8,a,0 0,100,8,a,0
  world 1 "$(queue a 8 '"admission_checks": [{"name": "c"}],')" '"admission_checks": [{"name": "c", "delay_s": 30}],'
  starts 30 160
}

# The quota is larger than the cluster: the second job has quota without nodes. It is evicted by the timeout at 10, 10 +
# 20 + 10 and 40 + 40 + 10 s. After the next back-off of 80 s it is admitted at 170 s. With a limit of two requeues it
# is deactivated.
case_pods_ready() {
  jobs 0,150,8,a,0 0,100,8,a,0
  local ready='"wait_for_pods_ready": {"timeout_s": 10, "requeuing_strategy": {"backoff_base_s": 20'
  world 1 "$(queue a 16)" "$ready}},"
  starts 0 170
  world 1 "$(queue a 16)" "$ready, \"backoff_limit_count\": 2}},"
  starts 0 -
  world 1 "$(queue a 16)"
  starts 0 150
}

case_blocked_admission() {
  jobs 0,100,8,a,0 0,100,8,a,0 0,10,8,b,0
  world 1 "$(queue a 16), $(queue b 8)" '"wait_for_pods_ready": {"timeout_s": 1000, "block_admission": true},'
  starts 0 100 200
}

case_rejections() {
  jobs 0,100,8,a,0 0,100,8,z,0 0,100,16,a,0
  world 4 "$(limits a 8 ', "borrowing_limit": 0')"
  starts 0 - -
  matches jobs.csv '^2,.*,rejected,no-such-queue'
  matches jobs.csv '^3,.*,rejected,over-quota'
  world 4 "$(limits a 8 ', "borrowing_limit": 0')" '"default_queue": "a",'
  starts 0 100 -
}

# `run`, `validate` and `diff` warn of jobs without a queue in the same way, and fail if no job has one.
case_jobs_without_queue() {
  jobs 0,100,8,a,0 0,100,8,z,0 0,100,8,y,0
  world 4 "$(queue a 8)"
  try 0 run k.json --trace t.csv --quiet
  grep '^warning' stderr >run
  grep -qF 'warning: 2 of 3 jobs (66.7 %) can never run' run || fail 'run does not warn'
  grep -qF 'warning: no-such-queue, 2 jobs' run || fail 'run does not give the reason'
  try 0 validate k.json --trace t.csv
  grep '^warning' stderr | cmp -s - run || fail 'the warnings of validate differ from those of run'
  world 3 "$(queue a 8)"
  cp k.json other.json
  world 4 "$(queue a 8)"
  try 0 diff other.json k.json --trace t.csv --quiet
  sed 's/^warning: both scenarios: /warning: /' stderr | cmp -s - run || fail 'the warnings of diff differ from those of run'
  jobs 0,100,8,z,0
  try 1 diff other.json k.json --trace t.csv --quiet
  says stderr 'its only job was rejected'
}

# Nodes are requested when a job is admitted, boot for a minute, and are released when they are idle.
case_autoscaling() {
  jobs 0,100,8,a,0 0,100,8,a,0 0,100,8,a,0
  world 2 "$(queue a 16)"
  sed 's/"gpus_per_node": 8/&, "market": "on-demand", "boot_s": 60, "usd_per_gpu_hour": 1/' k.json >spot.json
  mv spot.json k.json
  starts 60 60 160
}

case_grace() {
  jobs 0,100,8,a,0 10,50,8,a,1
  world 1 "$(queue a 8 '"preemption": {"within_cluster_queue": "LowerPriority"},')"
  sed 's/"name": "kueue"}/"name": "kueue", "grace_s": 5}/' k.json >grace.json
  mv grace.json k.json
  starts 0 15
  ends 165 65
}

# The job of priority 0 loses its work every 10 s. After the ninth loss it waits for a second, and twice as long after
# each further loss. It starts again at 95, 105, 115, 128, 146, 185 and 254 s. After that it is not preempted again.
case_losses() {
  local rows=("0,100,8,a,0") i
  for ((i = 10; i <= 200; i += 10)); do rows+=("$i,5,8,a,1"); done
  jobs "${rows[@]}"
  world 1 "$(queue a 8 '"preemption": {"within_cluster_queue": "LowerPriority"},')"
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,0,0,354,'
  sed 's/"name": "kueue"}/"name": "kueue", "preempted": "checkpoint"}/' k.json >keep.json
  mv keep.json k.json
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,0,0,190,'
}

# The quota of an evicted job is for the job that evicted it. The second job of d has a higher priority, but it was
# tried after the first one, before the quota was free. At 60 s the evicted job of c precedes it in the same way.
case_preemptor_first() {
  jobs 0,100,8,c,0 0,100,8,c,0 10,50,16,d,2 10,50,8,d,1 10,50,8,b,0
  world 2 "$(queue b 8 '"preemption": {"reclaim_within_cohort": "Any"},'), $(queue c 0), $(queue d 8)"
  starts 0 0 160 100 10
}

# The second job is admitted with the 8 pods for which there is quota, so it needs twice the time. The third one waits
# for quota for all its pods. If the second job is preempted, it is admitted again with 8 pods when the first job ends.
case_partial_admission() {
  printf '%s\n' submit_s,duration_s,gpus,tasks,min_gpus,queue,priority 0,100,8,8,8,a,0 0,100,16,8,4,a,0 \
    0,100,16,8,16,a,0 >t.csv
  world 3 "$(queue a 16)"
  starts 0 0 200
  ends 100 200 300
  world 3 "$(queue a 16)" '"feature_gates": {"PartialAdmission": false},'
  starts 0 100 200
  printf '%s\n' submit_s,duration_s,gpus,tasks,min_gpus,queue,priority 0,100,8,8,8,a,0 1,100,16,8,4,a,0 \
    50,100,8,8,8,a,1 >t.csv
  world 3 "$(queue a 16 '"preemption": {"within_cluster_queue": "LowerPriority"},')"
  starts 0 1 50
  ends 100 300 150
  # one task is one pod
  printf '%s\n' submit_s,duration_s,gpus,min_gpus,queue 0,100,8,8,a 0,100,8,4,a >t.csv
  world 2 "$(queue a 12)"
  starts 0 100
  try 0 run k.json --trace t.csv --check
  says stderr "note: kueue: 1 job with 'min_gpus' below 'gpus' runs with all GPUs"
}

# The messages of Kueue. The third job needs 8 GPUs, and 4 are free. The job of b preempts the second job, which stops
# after its grace period.
case_why() {
  jobs 0,100,8,a,0 1,100,4,a,0 2,50,8,a,0 10,50,8,b,0
  world 2 "$(limits a 8 ', "borrowing_limit": 8'), $(queue b 8 '"preemption": {"reclaim_within_cohort": "Any"},')"
  sed 's/"name": "kueue"}/"name": "kueue", "grace_s": 5}/' k.json >grace.json
  local quota="couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor f"
  try 0 why grace.json --trace t.csv --job 3 --json why.json
  says why.json "\"$quota, 4 more needed\""
  try 0 why grace.json --trace t.csv --job 4 --json why.json
  says why.json "\"$quota, 4 more needed. Pending the preemption of 1 workload(s)\""
}

# refuses TEXT MEMBERS [QUEUES]: expects that the section with these members is rejected with this text.
refuses() {
  world 1 "${3:-$(queue a 8)}" "$2"
  try 2 validate k.json
  matches stderr '^headroom: k.json:[0-9]+:[0-9]+: '
  says stderr "$1"
}

case_errors() {
  refuses "the parents of cohort 'x' form a cycle" '"cohorts": [{"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}],'
  refuses "duplicate cohort 'y'" '"cohorts": [{"name": "y"}, {"name": "y"}],'
  refuses "a quota must not be negative, found -8" '' "$(queue a -8)"
  refuses "duplicate ClusterQueue 'a'" '' "$(queue a 8), $(queue a 8)"
  refuses "expected a quantity" '' "$(queue a '"8x"')"
  refuses "unknown ClusterQueue 'b'; did you mean 'a'?" '"local_queues": [{"name": "l", "cluster_queue": "b"}],'
  refuses "unknown version '0.99'" '"version": "0.99",'
  refuses "unknown feature gate 'Foo'" '"feature_gates": {"Foo": true},'
  refuses "unknown admission check 'c'" '' "$(queue a 8 '"admission_checks": [{"name": "c"}],')"
  refuses "the lending limit is larger than the nominal quota" '' "$(limits a 8 ', "lending_limit": 9')"
  refuses "unknown key 'kueue.cluster_queue'" '"cluster_queue": [],'
  refuses "unknown queue 'z'" '"default_queue": "z",'
}

run_case
