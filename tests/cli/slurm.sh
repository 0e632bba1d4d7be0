#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policy `slurm`: a replay of recorded runs of a real Slurm, and small scenarios whose starts were computed by hand.
# `headroom import slurm`.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

records=$project/../shared/slurm-run

# The jobs of a recorded run are replayed. The record has a repetition of this run with the same jobs.
case_free_replay() {
  [ -f "$records/fifo.sacct" ] || { echo "skipped: $records is missing"; exit 77; }
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "bf_interval": 1, "bf_resolution": 1, "bf_max_job_test": 1000,
            "default_queue_depth": 1000}}
JSON
  try 0 run s.json --trace "$records/fifo.sacct" --jobs jobs.csv --quiet --check
  for record in fifo fifo-repeat; do
    awk -F'|' 'function seconds(at) { return (substr(at, 12, 2) * 60 + substr(at, 15, 2)) * 60 + substr(at, 18, 2) }
      NR > 1 { print seconds($9) - seconds($7) }' "$records/$record.sacct" >"$record"
  done
  # The mean wait is within 5 % of that of the two recorded runs. The wait of each job is compared with its mean over
  # the two runs. In sum, these differences are at most as large as the differences between the two runs.
  awk -F, 'NR > 1 { print $5 }' jobs.csv | paste - fifo fifo-repeat | awk '
    function distance(a, b) { return a > b ? a - b : b - a }
    { wait += $1; first += $2; second += $3
      error += distance($1, ($2 + $3) / 2); spread += distance($2, $3) }
    END { mean = (first + second) / 2
      printf "mean wait %.1f s, recorded %.1f s; error %.1f s, spread %.1f s\n", wait / NR, mean / NR, error / NR, spread / NR
      exit !(distance(wait, mean) <= 0.05 * mean && error <= spread) }' || fail "the replay is not close to the records"
}

# A node has 8 GPUs, 16 CPUs and 64 GiB. Job 1 takes 12 CPUs of node 0. Job 2 needs 8 CPUs, so it runs on node 1. Job 3
# needs 40 GiB and fits together with job 1. Job 4 needs 40 GiB and waits for job 3 until 51 s, although 13 GPUs are
# free. Job 5 has no GPUs and uses 3 CPUs on the node of jobs 1 and 3; it is backfilled at 10 s. Job 6 needs 10 CPUs of
# each node, but job 1 uses those of node 0 until 100 s. Job 7 would fit on node 1 at 10 s, but would delay job 6.
case_cpus_and_memory() {
  cat >s.json <<'JSON'
{"cluster": {"by_gpu": true, "pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8, "cpu_per_node": 16,
                        "mem_gb_per_node": 64}]},
 "policy": {"name": "slurm", "bf_interval": 10, "bf_resolution": 1, "batch_sched_delay": 0}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,tasks,cpu,mem_gb,limit_s
1,0,100,1,1,12,8,100
2,0,60,1,1,8,32,60
3,1,50,1,1,1,40,50
4,2,30,1,1,1,40,30
5,3,20,0,1,3,1,20
6,4,10,2,2,10,1,10
7,5,200,1,1,8,1,200
CSV
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3,15 jobs.csv | tr '\n' ' ' >actual
  echo 'job_id,start_s,placement 1,0,0:1 2,0,1:1 3,1,0:1 4,51,0:1 5,10,0:0 6,100,0:1|1:1 7,110,0:1 ' | tr -d '\n' >expected
  diff expected actual || fail "the decisions differ"
}

# A loop tests once per second for submitted jobs. By default, it starts the main scheduler at most every three seconds.
# The end of job 1 starts the main scheduler immediately.
case_background_loop() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 2}]},
 "policy": {"name": "slurm", "scheduler": "builtin"}}
JSON
  printf '%s\n' job_id,submit_s,duration_s,gpus 1,0,5.5,1 2,0.3,2,1 3,3.4,1,2 >t.csv
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3 jobs.csv | tr '\n' ' ' >actual
  echo 'job_id,start_s 1,0 2,3 3,5.5 ' | tr -d '\n' | diff - actual || fail "the starts differ"
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv --set policy.batch_sched_delay=0
  cut -d, -f1,3 jobs.csv | tr '\n' ' ' >actual
  echo 'job_id,start_s 1,0 2,1 3,5.5 ' | tr -d '\n' | diff - actual || fail "the starts without a delay differ"
}

# Two nodes have two GPUs each, and shards are shares of GPUs. Jobs 1 and 2 share the first GPU, and job 3 gets the
# second one whole. Job 4 does not fit on node 0, so it gets a GPU of node 1. Job 5 does not fit on the GPU of job 4,
# but job 6 does. Job 7 needs a whole GPU, and gets one at 100 s, when jobs 1 and 2 have ended. Job 8 is behind job 7.
# It is backfilled at 10 s on the other half of a GPU of node 1, because job 7 will get node 0. Job 9 would need node 0
# beyond 100 s, so it gets the rest of the GPU of job 8 at 20 s.
#
# In the second run, four jobs alternate on each of the four GPUs and take 40 s instead of 10 s; the last job waits for
# them. The main scheduler starts submitted jobs once in three seconds.
case_shards() {
  cat >s.json <<'JSON'
{"cluster": {"by_gpu": true, "pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 2,
                                        "sharing": "fraction"}]},
 "policy": {"name": "slurm", "bf_interval": 10, "bf_resolution": 1}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,gpu_milli,limit_s
1,0,100,1,500,100
2,1,59,1,500,59
3,2,198,1,1000,198
4,3,197,1,600,197
5,4,196,1,500,196
6,5,195,1,400,195
7,6,50,1,1000,50
8,7,50,1,300,50
9,15,100,1,200,100
CSV
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { print $at["job_id"], $at["start_s"], $at["seats"] }' jobs.csv >actual
  printf '%s\n' '1 0 0.0' '2 3 0.0' '3 3 0.1' '4 3 1.0' '5 6 1.1' '6 6 1.0' '7 100 0.0' '8 10 1.1' '9 20 1.1' >expected
  diff expected actual || fail "the decisions differ"
  sed -i 's/"fraction"/"time-slice", "replicas": 4/' s.json
  awk 'BEGIN { print "job_id,submit_s,duration_s,gpus"; for (i = 1; i <= 17; i++) print i ",0,10,1" }' >t.csv
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f3 jobs.csv | sort | uniq -c | tr -s ' \n' ' ' >actual
  echo ' 16 0 1 40 1 start_s ' | tr -d '\n' | diff - actual || fail "more or fewer than four jobs on each GPU"
}

case_shared_pools_are_refused() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "sharing": "mps"}]},
 "policy": {"name": "slurm"}}
JSON
  printf 'submit_s,duration_s,gpus\n0,10,1\n' >t.csv
  for verb in run validate; do
    try 2 "$verb" s.json --trace t.csv
    says stderr "policy 'slurm': pools whose GPUs are shared must have 'replicas', or the sharing 'fraction'"
  done
  sed -i 's/"mps"/"fraction"/' s.json
  printf 'submit_s,duration_s,gpus,gpu_milli,gpu_mem_gb\n0,10,1,500,10\n' >t.csv
  try 2 run s.json --trace t.csv
  says stderr "policy 'slurm': jobs must not request GPU memory if GPUs are shared"
}

# json PATH VALUE: a member of s.json, without white space.
json() {
  # shellcheck disable=SC2016 # the program is not for the shell
  node -e 'const fs = require("fs")
    const found = String(JSON.stringify(eval(`JSON.parse(fs.readFileSync("s.json"))${process.argv[1]}`)))
    if (found !== process.argv[2]) { console.error(`s.json${process.argv[1]} is ${found}`); process.exit(1) }' "$1" "$2" ||
    fail "$1 is not $2"
}

# Jobs 1 and 2 of QOS low run on both nodes until job 4 of QOS high stops them at 100 s. They may start again from 221 s
# on. Job 3 waits, because a user may run at most two jobs. When job 4 ends at 400 s, job 5 starts first, because its
# partition has a higher tier. Job 3 is next: it was submitted at 10 s, and jobs 1 and 2 were submitted again at 100 s.
# Job 6 must avoid node 1, which is reserved from 5000 s on for the user of job 7. Jobs 8 and 9 name a partition and a
# QOS that do not exist.
case_section() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "priority": "multifactor"},
 "slurm": {"priority": {"weight_qos": 1000, "weight_age": 10}, "preempt_type": "qos", "preempt_mode": "requeue",
  "partitions": [{"name": "gpu", "default": true}, {"name": "hi", "priority_tier": 2, "nodes": ["p:0-0"]}],
  "qos": [{"name": "low", "limits": {"max_jobs_per_user": 2}}, {"name": "high", "priority": 10, "preempt": ["low"]}],
  "reservations": [{"name": "r", "start_s": 5000, "duration_s": 1000, "nodes": ["p:1-1"], "users": ["x"]}]}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,user,tenant,qos,queue,limit_s
1,0,1000,8,u,a,low,,2000
2,0,1000,8,u,a,low,,2000
3,10,500,8,u,a,low,,2000
4,100,300,16,v,a,high,,400
5,200,100,8,w,b,low,hi,200
6,4000,600,8,w,b,low,gpu,1500
7,4000,600,8,x,b,low,gpu,1500
8,4000,600,8,x,b,low,none,1500
9,4000,600,8,x,b,none,gpu,1500
CSV
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3,4,8,15 jobs.csv >actual
  cat >expected <<'CSV'
job_id,start_s,end_s,state,placement
1,0,1500,completed,0:8
2,0,1900,completed,1:8
3,400,900,completed,1:8
4,100,400,completed,0:8|1:8
5,400,500,completed,0:8
6,4000,4600,completed,0:8
7,4000,4600,completed,1:8
8,,,rejected,
9,,,rejected,
CSV
  diff expected actual || fail "the decisions differ"
  sed 's/"multifactor"},/"multifactor"}}/; /"slurm": {/,$d' s.json >bare.json
  try 2 run bare.json --trace t.csv
  says stderr "priority=multifactor needs the section 'slurm'"
}

# Users u (account a) and v (account b) have one share each. Until 300 s, job 1 uses 8 GPUs with one CPU each: 2400 CPU
# seconds, which decay while they are used. Job 2 of u and job 3 of v wait. At 300 s, their ages are 290 s and 280 s of
# 1000 s. User v has no usage and is the first of two users in the ranking; u is the second. Job 4 is submitted at 310 s
# and gets the fair share of 300 s.
case_priorities_and_shares() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "priority": "multifactor"},
 "slurm": {"priority": {"weight_age": 1000, "weight_fairshare": 10000, "weight_job_size": 100, "max_age_s": 1000}}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,user,tenant,limit_s
one,0,350,8,u,a,400
two,10,100,8,u,a,400
"three, or so",20,100,8,v,b,400
four,310,100,4,u,a,400
CSV
  try 0 run s.json --trace t.csv --quiet --check --priorities p.csv --shares f.csv
  usage=$(awk 'BEGIN { printf "%.0f", 300 * 8 * (1 - 0.693 / 604800) ^ 300 }')
  cat >expected <<CSV
time_s,job_id,partition,user,account,priority,site,age,assoc,fairshare,jobsize,part_prio,qosname,qos,nice,tres
0,one,,u,a,10100,0,0,0,10000,100,0,,0,0,0
10,two,,u,a,10100,0,0,0,10000,100,0,,0,0,0
20,"three, or so",,v,b,10100,0,0,0,10000,100,0,,0,0,0
300,two,,u,a,5390,0,290,0,5000,100,0,,0,0,0
300,"three, or so",,v,b,10380,0,280,0,10000,100,0,,0,0,0
310,four,,u,a,5075,0,0,0,5000,75,0,,0,0,0
CSV
  diff expected p.csv || fail "the priorities differ"
  cat >expected <<CSV
time_s,account,user,rawshares,normshares,rawusage,normusage,effectvusage,fairshare,levelfs
300,a,,1,0.500000,$usage,1.000000,1.000000,,0.500000
300,a,u,1,1.000000,$usage,1.000000,1.000000,0.500000,1.000000
300,b,,1,0.500000,0,0.000000,0.000000,,inf
300,b,v,1,1.000000,0,0.000000,0.000000,1.000000,inf
CSV
  head -n 5 f.csv | diff expected - || fail "the shares differ"
  try 2 run s.json --trace t.csv --quiet --priorities other.csv --set policy.priority=basic
  says stderr "--priorities: the policy computes no priorities; expected the policy 'slurm' with priority=multifactor"
  [ ! -e other.csv ] || fail "other.csv exists"
  try 2 run s.json --trace t.csv --quiet --shares - --policy fifo
  says stderr "--shares: the policy computes no shares"
}

# A node has 16 CPUs. Job 3 has a higher tier and needs 8 CPUs at 10 s. So job 1, which has 12 CPUs, is suspended until
# job 3 ends at 40 s, and ends at 130 s. Job 2 is not suspended, because this is not necessary. Job 4 does not have a
# higher tier, so it cannot use the CPUs of job 1 and waits for those of job 2. Job 5 needs the GPU of job 1, which job
# 1 keeps while it is suspended. Job 6 has an even higher tier, and suspends job 5 for 2 s.
case_suspend() {
  cat >s.json <<'JSON'
{"cluster": {"by_gpu": true, "pools": [{"name": "p", "gpu": "H100", "nodes": 1, "gpus_per_node": 8, "cpu_per_node": 16,
                                        "mem_gb_per_node": 64}]},
 "policy": {"name": "slurm", "bf_interval": 1, "bf_resolution": 1},
 "slurm": {"preempt_type": "partition_prio", "preempt_mode": "suspend",
  "partitions": [{"name": "low", "default": true}, {"name": "high", "priority_tier": 2},
                 {"name": "top", "priority_tier": 3}]}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,cpu,mem_gb,queue,limit_s
1,0,100,1,12,8,low,150
2,0,50,0,4,1,low,60
3,10,30,0,8,8,high,40
4,15,10,0,2,1,low,20
5,20,5,8,1,1,high,10
6,131,2,0,16,1,top,5
CSV
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { print $at["job_id"], $at["start_s"], $at["end_s"] }' jobs.csv >actual
  printf '%s\n' '1 0 130' '2 0 50' '3 10 40' '4 50 60' '5 130 137' '6 131 133' >expected
  diff expected actual || fail "the decisions differ"
  try 0 why s.json --trace t.csv --job 1
  says stdout SUSPENDED
}

# Job 1 may run 300 s; it exceeds this limit at 300 s. It is stopped at the latest after OverTimeLimit (120 s), 30 s
# until the next check of the jobs, and 30 s of KillWait. Job 2 ends within this time. Job 4 is in a partition without
# this limit.
case_over_time_limit() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm"},
 "slurm": {"over_time_limit_s": 120, "partitions": [{"name": "a", "nodes": ["p:0-0"], "default": true},
  {"name": "b", "nodes": ["p:1-1"], "over_time_limit_s": 3932100}]}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,queue,limit_s\n1,0,1000,8,a,300\n2,0,460,8,a,300\n' >t.csv
  printf '3,0,10,8,a,300\n4,0,1000,8,b,300\n' >>t.csv
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3,4,8 jobs.csv >actual
  printf 'job_id,start_s,end_s,state\n1,0,,rejected\n2,480,940,completed\n3,940,950,completed\n4,0,1000,completed\n' >expected
  diff expected actual || fail "the decisions differ"
}

# Job 1 is exempt from preemption for 60 s; then job 2, of a higher tier, stops it. It may start again 121 s later.
case_exempt_time() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "bf_interval": 1, "bf_resolution": 1},
 "slurm": {"partitions": [{"name": "low", "default": true}, {"name": "high", "priority_tier": 2}],
           "preempt_type": "partition_prio", "preempt_mode": "requeue", "preempt_exempt_time_s": 60}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,limit_s,queue\n1,0,300,8,1000,low\n2,10,50,8,100,high\n' >t.csv
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  [ "$(cut -d, -f1,3,4 jobs.csv | tr '\n' ' ')" = 'job_id,start_s,end_s 1,0,481 2,60,110 ' ] || fail "the decisions differ: $(cat jobs.csv)"
}

# GrpTRES: the jobs of the QOS normal have at most 12 GPUs in total. MaxTRESPerUser: those of a user have at most 8. Job
# 2 waits for job 1 of the same user. Job 4 waits because of GrpTRES. Job 5 exceeds MaxTRESPerJob of a QOS with
# DenyOnLimit.
case_limits_of_gpus() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "n", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "bf_interval": 1, "bf_resolution": 1},
 "slurm": {"enforce_limits": true,
   "qos": [{"name": "normal", "limits": {"grp_tres": {"gpu": 12}, "max_tres_per_user": {"gpu": 8}}},
           {"name": "deny", "flags": ["DenyOnLimit"], "limits": {"max_tres_per_job": {"gpu": 10}}}]}}
JSON
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,tasks,limit_s,user,qos
1,0,100,8,1,100,u,
2,1,50,4,1,50,u,
3,2,200,4,1,200,v,
4,3,10,1,1,10,w,
5,4,10,12,2,10,w,deny
6,5,10,4,1,10,w,deny
CSV
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  [ "$(cut -d, -f3 jobs.csv | tr '\n' ' ')" = 'start_s 0 100 2 100  5 ' ] || fail "the decisions differ: $(cat jobs.csv)"
}

# Job 2 needs both nodes. Nodes are reserved for it from 1000 s on, so job 3 may not start before it, except with the
# flag NoReserve.
case_no_reserve() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm"}, "slurm": {"qos": [{"name": "wide", "flags": ["NoReserve"]}, {"name": "normal"}]}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,qos,limit_s\n1,0,1000,8,normal,1000\n2,10,100,16,wide,500\n' >t.csv
  printf '3,20,2000,8,normal,5000\n' >>t.csv
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3 jobs.csv | tr '\n' ' ' >actual
  echo 'job_id,start_s 1,0 2,2030 3,30 ' | tr -d '\n' | diff - actual || fail "the decisions with NoReserve differ"
  sed -i 's/"NoReserve"//' s.json
  try 0 run s.json --trace t.csv --quiet --check --jobs jobs.csv
  cut -d, -f1,3 jobs.csv | tr '\n' ' ' >actual
  echo 'job_id,start_s 1,0 2,1000 3,1100 ' | tr -d '\n' | diff - actual || fail "the decisions with reservations differ"
}

# Job 2 waits for the limit of one job per user until job 1 ends at 4500 s; job 3 would overlap a reservation until 6000
# s.
case_why() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm"},
 "slurm": {"qos": [{"name": "low", "limits": {"max_jobs_per_user": 1}}, {"name": "other"}],
  "reservations": [{"name": "r", "start_s": 5000, "duration_s": 1000, "nodes": ["p:0-0"]}]}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,user,tenant,qos,limit_s\n' >t.csv
  printf '1,0,4500,8,u,a,low,4500\n2,0,100,8,u,a,low,200\n3,4800,100,16,v,a,other,300\n' >>t.csv
  try 0 why s.json --trace t.csv
  matches stdout '^quota +1 +1 h 15 min'
  matches stdout '^reservation +1 +20 min'
  try 0 why s.json --trace t.csv --job 2 --json -
  says stdout '"QOSMaxJobsPerUserLimit"'
  try 0 why s.json --trace t.csv --job 3 --json -
  says stdout '"ReqNodeNotAvail, May be reserved for other job"'
}

# Both nodes are busy until 1000 s, and the other jobs wait. Job 2 has the priority 1000 for its QOS, and half of 600,
# because it needs half of the nodes and GPUs. Before the first computation at 300 s, the usage is 0. Then u has used 16
# CPUs for 300 s.
case_why_in_words_of_slurm() {
  cat >s.json <<'JSON'
{"cluster": {"pools": [{"name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8}]},
 "policy": {"name": "slurm", "priority": "multifactor"},
 "slurm": {"priority": {"weight_qos": 1000, "weight_job_size": 600, "weight_fairshare": 100, "decay_half_life_s": 0},
  "qos": [{"name": "low"}, {"name": "high", "priority": 10}]}}
JSON
  printf 'job_id,submit_s,duration_s,gpus,user,tenant,qos,limit_s\n1,0,1000,16,u,a,low,1000\n' >t.csv
  printf '2,10,100,8,v,b,high,200\n3,20,100,8,u,a,low,300\n4,400,10,16,u,a,low,300\n' >>t.csv
  try 0 why s.json --trace t.csv --job 2 --json -
  says stdout 'Resources; sprio: PRIORITY 1400 = FAIRSHARE 100 + JOBSIZE 300 + QOS 1000; sshare: RawUsage 0, EffectvUsage'
  try 0 why s.json --trace t.csv --job 3 --json -
  says stdout 'Priority; sprio: PRIORITY 400 = FAIRSHARE 100 + JOBSIZE 300 + QOS 0; sshare: RawUsage 0,'
  try 0 why s.json --trace t.csv --job 4 --json -
  says stdout 'Priority; sprio: PRIORITY 650 = FAIRSHARE 50 + JOBSIZE 600 + QOS 0; sshare: RawUsage 4800, EffectvUsage 1.000'
}

case_import() {
  cat >slurm.conf <<'CONF'
# a comment
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_resolution=1,bf_continue,bf_max_job_test=1000,\
default_queue_depth=1000
PreemptType=preempt/qos
SchedulrType=x
NodeName=DEFAULT Gres=gpu:h100:4
NodeName=n[1-8] CPUs=64 Gres=gpu:a100:8
NodeName=m1
PartitionName=gpu Nodes=ALL OverSubscribe=NO PriorityTier=2 LLN=YES
CONF
  printf 'NodeName=n[1-8] Name=gpu Type=a100 File=/dev/nvidia[0-7]\n' >gres.conf
  try 0 import slurm slurm.conf gres.conf -o s.json
  says stderr "slurm.conf:6: unknown parameter 'SchedulrType'"
  says stderr "slurm.conf:8: 'a100' may be several GPU types"
  says stderr "slurm.conf:10: partition 'gpu': LLN is not modelled: the least loaded node is not preferred"
  json '.slurm.preempt_type' '"qos"'
  json '.slurm.partitions' '[{"name":"gpu","priority_tier":2}]'
  try 0 validate s.json --trace "$project/traces/reference/steady.csv"
  says stdout "n[1-8]: 8 nodes x 8 A100"
  says stdout "m1: 1 node x 4 H100"
  says stdout "bf_interval=1"
}

# All keys of the section `slurm`, from slurm.conf and the output of commands, in any order of files.
case_import_all() {
  cat >slurm.conf <<'CONF'
SchedulerType=sched/builtin
PriorityWeightAge=1000
PriorityWeightTRES=cpu=10,gres/gpu=300
PriorityDecayHalfLife=7-0
PriorityMaxAge=1-12:00:00
PriorityCalcPeriod=5
PriorityFlags=MAX_TRES,CALCULATE_RUNNING
PriorityFavorSmall=YES
PreemptType=preempt/qos
PreemptMode=SUSPEND,GANG
PreemptParameters=youngest_first,reorder_count=3
PreemptExemptTime=00:10:00
OverTimeLimit=2
AccountingStorageEnforce=associations,limits
NodeName=n[01-04] Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 Gres=gpu:h100:8
NodeName=n[05-08],big Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 Gres=gpu:h100:8
NodeName=cpu1 CPUs=64
PartitionName=DEFAULT MaxTime=2-00:00:00 GraceTime=30 State=UP
PartitionName=day Nodes=n[03-06] Default=YES TRESBillingWeights=CPU=1,Mem=0.25G,GRES/gpu=8 AllowQos=high,low
PartitionName=night Nodes=ALL MaxTime=UNLIMITED PriorityTier=2 OverTimeLimit=UNLIMITED QOS=part
PartitionName=cpu Nodes=cpu1
CONF
  cat >accounts.cfg <<'DUMP'
# comments: Cluster - 'cluster_name'
Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=3
Account - 'vision':Description='a: b':Organization='x':Fairshare=50:GrpTRES=gres/gpu=16,mem=2T:MaxWallDurationPerJob=90
Parent - 'vision'
Account - 'video':Fairshare=parent:GrpTRESMins=cpu=5
Parent - 'video'
User - 'ann':DefaultAccount='video':Fairshare=7:MaxJobs=4:DefaultQOS='low'
DUMP
  cat >qos.txt <<'TABLE'
Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageFactor|GrpTRES|GrpTRESMins|MaxWall|MaxTRESPU
low|1|00:00:00|||cluster||1.000000||||
high|100|00:01:00|low,other|00:00:30|requeue|DenyOnLimit,Relative|2.000000|gres/gpu=32|cpu=7|1-00:00:00|gres/gpu=8
TABLE
  cat >resv.txt <<'SHOWN'
ReservationName=a StartTime=2026-03-02T08:00:00 EndTime=2026-03-02T10:00:00 Duration=02:00:00 Nodes=n[01-04] NodeCnt=4 Flags=MAINT,SPEC_NODES Users=ann Accounts=(null) State=INACTIVE
ReservationName=b StartTime=2026-03-01T08:00:00 Duration=1-00:00:00 Nodes=big Flags=DAILY Users=(null) Accounts=vision
ReservationName=c StartTime=2026-03-01T09:00:00 Duration=01:00:00 Nodes=n01 Flags=WEEKEND Users=-ann Accounts=(null)
ReservationName=d StartTime=2026-03-07T08:00:00 Duration=01:00:00 Nodes=n02 Flags=WEEKDAY Users=ann Accounts=(null)
SHOWN
  try 0 import slurm resv.txt accounts.cfg qos.txt slurm.conf -o s.json
  json '.cluster.pools' '[{"name":"n01..big","gpu":"H100","nodes":9,"gpus_per_node":8}]'
  json '.policy.scheduler' '"builtin"'
  json '.slurm.priority' '{"weight_age":1000,"weight_tres":{"cpu":10,"gpu":300},"decay_half_life_s":604800,"max_age_s":129600,"calc_period_s":300,"flags":["MAX_TRES"],"favor_small":true}'
  json '.slurm.preempt_mode' '"suspend"'
  json '.slurm.preempt_youngest_first' 'true'
  json '.slurm.preempt_exempt_time_s' '600'
  json '.slurm.over_time_limit_s' '120'
  json '.slurm.cpus_per_gpu' '8'
  json '.slurm.partitions.map(p => p.name)' '["day","night"]'
  json '.slurm.partitions[0].nodes' '["n01..big:2-5"]'
  json '.slurm.partitions[0].tres_billing_weights' '{"cpu":1,"mem_gb":0.25,"gpu":8}'
  json '.slurm.partitions[0].max_time_s' '172800'
  json '.slurm.partitions[1].nodes' undefined
  json '.slurm.partitions[1].grace_time_s' '30'
  json '.slurm.associations[0]' '{"account":"root","fairshare":3}'
  json '.slurm.associations[2]' '{"account":"vision","fairshare":50,"limits":{"grp_tres":{"gpu":16,"mem_gb":2048},"max_wall_s":5400}}'
  json '.slurm.associations[3]' '{"account":"video","parent":"vision","fairshare":-1}'
  json '.slurm.associations[4]' '{"account":"video","user":"ann","fairshare":7,"limits":{"max_jobs":4},"default_qos":"low"}'
  json '.slurm.qos[1]' '{"name":"high","priority":100,"grace_time_s":60,"preempt":["low","other"],"preempt_exempt_time_s":30,"preempt_mode":"requeue","flags":["DenyOnLimit"],"usage_factor":2,"limits":{"grp_tres":{"gpu":32},"max_wall_s":86400,"max_tres_per_user":{"gpu":8}}}'
  json '.slurm.qos.map(q => q.name)' '["low","high","part","other"]'
  json '.slurm.reservations[0]' '{"name":"a","start_s":86400,"users":["ann"],"duration_s":7200,"flags":["MAINT"],"nodes":["n01..big:0-3"]}'
  json '.slurm.reservations[1]' '{"name":"b","start_s":0,"accounts":["vision"],"duration_s":86400,"repeat_s":86400,"nodes":["n01..big:8-8"]}'
  json '.slurm.reservations.slice(2).map(r => [r.name, r.start_s, r.repeat_s])' '[["c",3600,604800],["c, 6 days later",522000,604800],["d",518400,null],["d, 2 days later",691200,604800],["d, 3 days later",777600,604800],["d, 4 days later",864000,604800],["d, 5 days later",950400,604800],["d, 6 days later",1036800,604800]]'
  json '.slurm.reservations[2].users' '["-ann"]'
  for note in "slurm.conf:7: PriorityFlags: 'CALCULATE_RUNNING' is not modelled" \
    "slurm.conf:10: PreemptMode=SUSPEND,GANG: jobs are suspended only with 'by_gpu' in 'cluster'" "slurm.conf:11: PreemptParameters: 'reorder_count=3'" \
    "slurm.conf:17: nodes 'cpu1' are left out: they have no GPUs" "partitions: 'cpu' is left out" \
    "accounts.cfg:7: GrpTRESMins is not modelled" "qos.txt:3: QOS 'high': GrpTRESMins is not modelled" \
    "qos.txt:3: Flags: 'Relative' is not modelled" "QOS 'part' is named, but not defined" \
    "reservations: 'start_s' counts from the start of the first reservation"; do
    says stderr "$note"
  done
  ! grep -q "SPEC_NODES\|DAILY\|WEEK" stderr || fail "flags without an effect are reported"
  printf 'Configuration data as of 2026-11-26T12:31:08\nAccountingStorageHost = x\nBOOT_TIME               = 2026-11-26T12:21:30\n' >config.txt
  try 0 import slurm slurm.conf config.txt -o s.json
  json '.slurm.priority.calc_start_s' 1795695691
  sed -i 's/BOOT_TIME .*/BOOT_TIME = soon/' config.txt
  try 2 import slurm slurm.conf config.txt -o s.json
  says stderr "config.txt:3: BOOT_TIME is 'soon', expected a date such as"
  try 0 import slurm resv.txt accounts.cfg qos.txt slurm.conf -o s.json
  sed -i '/weight_\|decay\|PriorityType/d' s.json
  try 0 import slurm slurm.conf accounts.cfg qos.txt resv.txt -o s.json
  try 0 validate s.json --trace "$project/traces/reference/steady.csv"
  sed -i 's/,limits$//' slurm.conf
  try 0 import slurm slurm.conf accounts.cfg qos.txt -o s.json
  says stderr "limits of QOS and associations have no effect"
  json '.slurm.enforce_limits' false
}

# Nodes are sorted by weight. Values of NodeName=DEFAULT apply to the lines after it.
case_import_weights() {
  cat >slurm.conf <<'CONF'
NodeName=DEFAULT Sockets=2 CoresPerSocket=32 Gres=gpu:a100:8 Weight=5
NodeName=a[1-2]
NodeName=b[1-2] Gres=gpu:h100:8 Weight=9
NodeName=c[1-2] Weight=1
NodeName=d1 Gres=gpu:h100:8
PartitionName=p Nodes=a1,b[1-2],c2
CONF
  try 0 import slurm slurm.conf -o s.json
  says stderr "slurm.conf:2: Weight only sorts the nodes"
  json '.cluster.pools.map(p => [p.name, p.gpu, p.nodes])' '[["c1..a2","A100-80",4],["d1..b2","H100",3]]'
  json '.slurm.cpus_per_gpu' 8
  json '.slurm.partitions[0].nodes' '["c1..a2:1-2","d1..b2:1-2"]'
  printf 'NodeName=%s CPUTot=64 Gres=gpu:a100:8 State=IDLE Weight=%s\n' n1 3 n2 1 n3 2 n4 1 >nodes.txt
  echo 'PartitionName=p Nodes=n[1,4] TotalNodes=2' >partitions.txt
  try 0 import slurm nodes.txt partitions.txt -o s.json
  json '.cluster.pools.map(p => [p.name, p.nodes])' '[["n2..n1",4]]'
  json '.slurm.partitions[0].nodes' '["n2..n1:1-1","n2..n1:3-3"]'
  try 0 import slurm nodes.txt slurm.conf -o s.json
  json '.cluster.pools.map(p => p.nodes)' '[4,3,4]'
  printf 'NodeName=n[1-4] Gres=gpu:a100:8\n' >slurm.conf # the same nodes, in any order of files
  try 0 import slurm nodes.txt slurm.conf -o s.json
  json '.cluster.pools.map(p => [p.name, p.nodes])' '[["n[1-4]",4]]'
}

# Partitions may name sets of nodes: lists, and all nodes with a feature.
case_import_node_sets() {
  cat >slurm.conf <<'CONF'
PartitionName=all Nodes=every
PartitionName=old Nodes=slow,h1
PartitionName=none Nodes=empty,x1
NodeSet=every Nodes=ALL
NodeSet=slow Nodes=a[2-3] Feature=ib
NodeSet=empty Feature=nobody
NodeName=a[1-4] Gres=gpu:a100:8 Features=nvlink
NodeName=h[1-2] Gres=gpu:h100:8 Features=nvlink,fast
NodeName=h[3-4] Gres=gpu:h100:8 Features=ib,fast
CONF
  try 0 import slurm slurm.conf -o s.json
  json '.slurm.partitions' '[{"name":"all"},{"name":"old","nodes":["a[1-4]:1-2","h1..h4:0-0","h1..h4:2-3"]}]'
  says stderr "partitions: 'none' is left out: it has no nodes with GPUs"
  sed -i 's/ Nodes=ALL//' slurm.conf
  try 2 import slurm slurm.conf -o s.json
  says stderr "slurm.conf:4: NodeSet is 'every', expected Nodes or Feature as well"
}

# A node of two GPUs with four shards each, and one whose GPUs have 100 shares for MPS. Jobs 1 to 3 fill the first GPU,
# job 4 gets the second one whole. Job 5 requests one shard on each of two nodes, job 6 half of a GPU under MPS.
case_import_shards() {
  cat >slurm.conf <<'CONF'
NodeName=n1 Gres=gpu:a100-80:2,shard:8
NodeName=n2 Gres=gpu:a100-80:2,mps:200
CONF
  printf '%s\n' 'NodeName=n1 Name=gpu File=/dev/nvidia[0-1]' 'NodeName=n1 Name=shard Count=8' 'Name=mps Count=200' >gres.conf
  try 0 import slurm slurm.conf gres.conf -o s.json
  json '.cluster.pools.map(p => [p.name, p.gpus_per_node, p.sharing])' '[["n1",2,"fraction"],["n2",2,"fraction"]]'
  says stderr "slurm.conf:1: each GPU has 4 shares. It is assumed that the number of its shares does not change the speed of a job. Read traces with --format sacct:shards=4"
  says stderr "Read traces with --format sacct:mps=100"
  ! grep -q "is not modelled" stderr || fail "a note that shares are not modelled"
  cat >t.txt <<'SACCT'
JobID|State|Submit|Start|End|Timelimit|AllocTRES|NNodes
1|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=1,gres/shard=2,gres/shard:a100=2|1
2|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=1,gres/shard=1|1
3|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=1,gres/shard=1|1
4|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=1,gres/gpu=1|1
5|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=2,gres/shard=2|2
6|COMPLETED|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|01:00:00|cpu=1,gres/mps=50|1
SACCT
  try 0 trace convert t.txt --format sacct:shards=4,mps=100 -o t.csv
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["job_id"], $at["gpus"], $at["gpu_milli"] }' \
    t.csv >actual
  printf '%s\n' '1 1 500' '2 1 250' '3 1 250' '4 1 ' '5 2 250' '6 1 500' | diff - actual || fail "the shares differ"
  head -5 t.txt >one.txt
  try 0 run s.json --trace one.txt --format sacct:shards=4 --quiet --check --jobs jobs.csv
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["job_id"], $at["seats"] }' jobs.csv >actual
  printf '%s\n' '1 0.0' '2 0.0' '3 0.0' '4 0.1' | diff - actual || fail "the GPUs differ"
  try 0 trace convert t.txt -o t.csv
  says stderr "5 rows have shares of GPUs (gres/shard, gres/mps), which are ignored: rows without whole GPUs have no GPUs, unless"
  try 2 trace convert t.txt --format sacct:shards=1 -o t.csv
  says stderr "t.txt:2: the job requests more shards on a node than one GPU has (--format sacct:shards=COUNT)"
  try 2 trace convert t.txt --format sacct:shares=4 -o t.csv
  echo 'NodeName=n1 Gres=gpu:a100-80:2,shard:8,mps:200' >slurm.conf
  try 0 import slurm slurm.conf -o s.json
  says stderr "slurm.conf:1: 'mps' is not modelled beside 'shard': no job waits for it"
  sed -i 's/shard:8/shard:7/' slurm.conf
  try 2 import slurm slurm.conf -o s.json
  says stderr "slurm.conf:1: Gres is 'gpu:2,shard:7', expected the same number for each GPU of a node"
}

# Features that are not modelled are listed with their effects.
case_import_effects() {
  cat >slurm.conf <<'CONF'
SchedulerParameters=preempt_youngest_first,defer,own_item=1
PriorityFlags=FAIR_TREE,ACCRUE_ALWAYS
JobRequeue=0
CompleteWait=0
DownNodes=n2 State=DOWN
AccountingStorageEnforce=limits,qos
NodeName=n[1-8] Gres=gpu:a100-80:8,nic:8
CONF
  echo 'NodeName=n[1-8] Name=nic Count=8' >gres.conf
  printf "Cluster - 'c':QOS='normal'\nParent - 'root'\nAccount - 'x':Fairshare=1:QOS='+high'\n" >accounts.cfg
  try 0 import slurm slurm.conf gres.conf accounts.cfg -o s.json
  json '.slurm.preempt_youngest_first' true
  for note in "slurm.conf:1: SchedulerParameters: 'defer' is not modelled: the end of a job starts the main scheduler at once" \
    "slurm.conf:1: SchedulerParameters: 'own_item' is not modelled: it has no effect" \
    "slurm.conf:2: PriorityFlags: 'ACCRUE_ALWAYS' is not modelled: it has no effect" \
    "slurm.conf:3: JobRequeue is not modelled: preempted jobs are requeued and not cancelled" \
    "slurm.conf:5: DownNodes is not modelled: these nodes are up" \
    "gres.conf:1: GRES 'nic' is not modelled: no job waits for it" \
    "the QOS that accounts and users may use are not modelled: jobs may use all QOS"; do
    says stderr "$note"
  done
  ! grep -q "FAIR_TREE\|CompleteWait\|preempt_youngest_first\|not modelled *$" stderr || fail "a note without an effect"
  sed -i 's/limits,qos/limits/' slurm.conf
  printf "Cluster - 'c':Fairshare=1:DefaultQOS='low'\nParent - 'root'\nAccount - 'x':Fairshare=1\n" >accounts.cfg
  printf "Account - 'y':DefaultQOS='high'\nParent - 'x'\nAccount - 'z':Fairshare=2\n" >>accounts.cfg
  try 0 import slurm slurm.conf accounts.cfg -o s.json
  json '.slurm.associations.map(a => [a.account, a.default_qos])' '[["x","low"],["y","high"],["z",null]]'
  says stderr "QOS 'low' is named, but not defined"
  try 0 import slurm slurm.conf accounts.cfg -o s.json
  ! grep -q "the QOS that accounts" stderr || fail "QOS of associations are not enforced"
}

# Nodes in the output of commands, one per line.
case_import_shown_nodes() {
  for i in 1 2 3; do
    echo "NodeName=n$i Arch=x86_64 CPUAlloc=0 CPUTot=32 Gres=gpu:a100:4(S:0-1) OS=Linux 6.1 #1 SMP x State=IDLE Weight=1"
  done >nodes.txt
  echo "NodeName=n4 CPUTot=32 Gres=gpu:a100:4 State=IDLE+DRAIN" >>nodes.txt
  echo "NodeName=n5 CPUTot=32 Gres=gpu:h100:8 State=MIXED" >>nodes.txt
  echo "PartitionName=a AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A MaxNodes=UNLIMITED Nodes=n[1-2] PreemptMode=OFF" \
    "PriorityTier=3 State=UP TotalNodes=2 OverTimeLimit=NONE TRES=cpu=64" >partitions.txt
  try 0 import slurm partitions.txt nodes.txt -o s.json
  says stderr "nodes.txt:4: node 'n4' is left out: it is IDLE+DRAIN"
  json '.cluster.pools.map(p => [p.name, p.nodes, p.gpus_per_node])' '[["n1..n3",3,4],["n5",1,8]]'
  json '.slurm.partitions' '[{"name":"a","default":true,"preempt_mode":"off","priority_tier":3,"state":"up","nodes":["n1..n3:0-1"]}]'
  printf 'NODELIST PARTITION STATE GRES\nn1 a* idle gpu:a100:4\nn1 b idle gpu:a100:4\nn2 b mixed gpu:a100:4\n' >sinfo.txt
  try 0 import slurm sinfo.txt -o s.json
  json '.cluster.pools.map(p => [p.name, p.nodes])' '[["n1..n2",2]]'
  json '.slurm.partitions' '[{"name":"a","default":true,"nodes":["n1..n2:0-0"]},{"name":"b"}]'
  try 0 validate s.json --trace "$project/traces/reference/steady.csv"
}

case_import_mistakes() {
  printf 'Include other.conf\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: 'Include' is not followed"
  printf 'SchedulerType=sched/backfill\nSchedulerParameters=bf_window=0\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:2: bf_window is '0', expected a whole number from 1 to 43200"
  printf 'NodeName=n[1- Gres=gpu:8\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: NodeName is 'n[1-', expected a list of hosts"
  printf 'ClusterName x\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "bad.conf:1: found 'ClusterName x', expected PARAMETER=VALUE"
  printf 'ClusterName=x\n' >bad.conf
  try 2 import slurm bad.conf -o s.json
  says stderr "no node has GPUs"
  while IFS='~' read -r text message; do
    printf '%b' "$text" >bad.conf
    try 2 import slurm bad.conf -o s.json
    says stderr "bad.conf:$message"
  done <<'LIST'
PriorityWeightAge=-5~1: PriorityWeightAge is '-5', expected a whole number of at least 0
x=1\nPriorityDecayHalfLife=soon~2: PriorityDecayHalfLife is 'soon', expected a time such as
PriorityFavorSmall=MAYBE~1: PriorityFavorSmall is 'MAYBE', expected YES or NO
PriorityType=priority/fast~1: PriorityType is 'priority/fast', expected priority/basic or
PreemptType=preempt/x~1: PreemptType is 'preempt/x', expected preempt/none,
PriorityWeightTRES=gpu~1: PriorityWeightTRES is 'gpu', expected resources such as
PartitionName=a MaxTime=1:2:3:4~1: MaxTime is '1:2:3:4', expected a time
NodeName=n1 Gres=gpu:8 Weight=low~1: Weight is 'low', expected a whole number of at least 0
NodeSet=s Nodes=n[1-~1: Nodes is 'n[1-', expected a list of hosts
NodeName=n[1-2] Gres=gpu:8\nNodeName=n2 Gres=gpu:8~2: NodeName is 'n2', expected nodes that are not listed before
Cluster - 'c'\nFriend - 'x'~2: the line is 'Friend', expected Cluster, Parent, Account or User
Cluster - 'c'\nAccount - 'x':Fairshare~2: an option is 'Fairshare', expected NAME=VALUE
ReservationName=r StartTime=now Duration=1~1: StartTime is 'now', expected a date such as
NODELIST STATE\nn1 idle~1: the table has no column NODELIST or GRES
JobID|State\n1|COMPLETED~1: the file is output of sacct
LIST
  gzip -k bad.conf
  try 2 import slurm bad.conf.gz -o s.json
  says stderr 'headroom: bad.conf.gz: is compressed; expected a plain text file'
  try 2 import slurn bad.conf -o s.json
  says stderr "did you mean 'slurm'"
  [ ! -e s.json ] || fail "a scenario was written"
}

run_case
