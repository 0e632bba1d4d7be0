#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Names of GPU types, MIG profiles, and jobs that can never run: the messages of run, plan, compare and validate.
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# scenario MORE POOLS: a scenario with these pools.
scenario() {
  echo "{ \"name\": \"s\", \"policy\": { \"name\": \"queue\" }, \"cluster\": { $1 \"pools\": [ $2 ] } }"
}

whole='{ "name": "whole", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8 }'
mig='{ "name": "mig", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "sharing": "mig", "mig": { "layout": "all-1g.10gb" } }'

case_gpu_types() {
  scenario '' "$whole, { \"name\": \"t4\", \"gpu\": \"nvidia-tesla-t4\", \"nodes\": 1, \"gpus_per_node\": 8 }" >s.json
  cat >t.csv <<'END'
job_id,submit_s,duration_s,gpus,gpu_type
a,0,10,1,a100
b,0,10,1,NVIDIA-A100-SXM4-80GB
c,0,10,1,gpu:a100
d,0,10,1,Tesla T4
e,0,10,1,A100-80
f,0,10,1,T4
END
  try 0 run s.json --trace t.csv --jobs jobs.csv
  says stdout '6 submitted, 6 completed, 0 rejected'
  [ "$(grep -c ",whole" jobs.csv)" -eq 4 ] || fail "not four jobs on A100"
  says stderr "pool 't4': GPU type 'nvidia-tesla-t4' is T4 of the catalogue"
  grep -q 'warning:' stderr && fail "a warning about known names"
  try 0 list gpu-names --gpu A100-80
  matches stdout '^A100  *A100-80  *quoted'
  # All names of a type list its prices; the name of a family lists those of all members.
  try 0 list prices --gpu A100-80
  cp stdout a100-80
  try 0 list prices --gpu NVIDIA-A100-SXM4-80GB
  cmp -s stdout a100-80 || fail 'other prices under another name'
  try 0 list prices --gpu gpu:a100
  says stdout xA100-80
  says stdout xA100-40
  try 0 list mig-profiles --gpu a100
  matches stdout '^A100-40 '
  try 2 list mig-profiles --gpu nvidia-tesla-t4
  says stderr "GPU type 'T4' does not support MIG"
  try 2 list prices --gpu A100-88
  says stderr "did you mean 'A100-80'?"
  # A file adds names.
  printf 'name,gpu,status,source\nbig-one,A100-80,stated,ours\n' >names.csv
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,BIG_ONE\n' >big.csv
  try 1 run s.json --trace big.csv
  try 0 run s.json --trace big.csv --set catalog.gpu_names_file=names.csv
  printf 'name,gpu,status,source\nbig-one,A100-88,stated,ours\n' >names.csv
  try 2 run s.json --trace big.csv --set catalog.gpu_names_file=names.csv
  says stderr "names.csv:2: GPU type 'A100-88' is unknown"
}

case_unknown_type() {
  scenario '' "$whole" >s.json
  { echo 'submit_s,duration_s,gpus,gpu_type'
    for _ in $(seq 97); do echo '0,10,1,A100-80'; done
    echo '0,10,1,A100-88'; } >t.csv
  try 0 run s.json --trace t.csv
  says stderr "warning: 1 job requests GPU type 'A100-88', which no pool has (pools: A100-80); did you mean 'A100-80'?"
  [ "$(grep -c 'note: warning' stderr)" = 0 ] || fail 'two prefixes'
  try 0 validate s.json --trace t.csv
  says stderr "warning: 1 job requests GPU type 'A100-88', which no pool has (pools: A100-80); did you mean 'A100-80'?"
}

# Each unknown name is reported with the known facts about it, and a known type with the right remedy.
case_names_and_remedies() {
  scenario '' "$whole" >s.json
  check() { # NAME NOTE DETAIL REMEDY
    printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,A100-80\n0,10,1,%s\n' "$1" >t.csv
    try 0 run s.json --trace t.csv
    says stderr "warning: 1 job requests GPU type '$1', which no pool has (pools: A100-80)$2"
    says stderr "requested: '$1' (1 job$3); pools have A100-80; remedy: $4"
  }
  local pool='add a pool of this type, or let these jobs accept other types' file="set the pool's 'gpu'"
  check 'NVIDIA A100-SXM4-40GB' "; this is A100-40; $pool" '; this is A100-40' "$pool"
  check 'Tesla V100-SXM2-32GB' "; this is V100-32; $pool" '; this is V100-32' "$pool"
  check gpu:v100 "; this is V100 or V100-32; $pool" '; this is V100 or V100-32' "$pool"
  check H100 "; $pool" '' "$pool"
  check A10O "; did you mean 'A100'?" "; did you mean 'A100'?" "$file"
  check rtx3090 "; the catalogue has no 'rtx3090'" "; the catalogue has no 'rtx3090'" "$file"
  check A40 "; the catalogue has no such type; nearest: 'A30'" "; the catalogue has no such type; nearest: 'A30'" "$file"
  check 'A40|H100' "; this is H100; $pool" '; this is H100' "$pool"
  # The 32 GB boards are a type of their own. A name without the memory accepts both.
  scenario '' '{ "name": "v", "gpu": "V100-32", "nodes": 1, "gpus_per_node": 8 }' >v.json
  printf 'submit_s,duration_s,gpus,gpu_type,gpu_mem_gb\n0,10,1,gpu:v100,\n0,10,1,V100,30\n0,10,1,Tesla V100-SXM2-32GB,\n' >t.csv
  try 0 run v.json --trace t.csv
  says stdout '3 submitted, 3 completed, 0 rejected'
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,Tesla V100-SXM2-16GB\n' >t.csv
  try 1 run v.json --trace t.csv
}

# A pool whose type is the name of a family: the type of its nodes must be written.
case_family_as_type() {
  scenario '' '{ "name": "p", "gpu": "a100", "nodes": 1, "gpus_per_node": 8 }' >s.json
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,NVIDIA-A100-SXM4-80GB\n0,10,1,a100\n' >t.csv
  try 0 run s.json --trace t.csv
  says stderr "GPU type 'a100' is a family; write A100-40 or A100-80"
  says stderr "this is A100-80; a pool has 'a100', which means several types: write A100-80"
  says stderr "remedy: set the pool's 'gpu' to the requested type"
  ! grep -q 'add a pool of this type' stderr || fail 'a pool of another type does not help'
}

# A superchip is named after its GPU. H100 NVL has 94 GB, so it is not the H100 of 80 GB.
case_types_that_are_others() {
  printf 'submit_s,duration_s,gpus\n0,10,1\n' >t.csv
  while read -r name nearest; do
    scenario '' "{ \"name\": \"p\", \"gpu\": \"$name\", \"nodes\": 1, \"gpus_per_node\": 8 }" >s.json
    try 0 validate s.json --trace t.csv
    says stderr "warning: GPU type '$name' is unknown; did you mean '$nearest'?"
  done <<'END'
GB200 B200
gh200 H200
nvidia-gb200 B200
h100_nvl H100
V100S V100
END
  for name in G2 GX100 GBX; do
    scenario '' "{ \"name\": \"p\", \"gpu\": \"$name\", \"nodes\": 1, \"gpus_per_node\": 8 }" >s.json
    try 0 validate s.json --trace t.csv
    is_empty stderr
  done
  scenario '' '{ "name": "p", "gpu": "h100_nvl", "nodes": 1, "gpus_per_node": 8 }' >s.json
  printf 'submit_s,duration_s,gpus,gpu_mem_gb\n0,10,1,90\n' >t.csv
  try 0 run s.json --trace t.csv
}

# A run that rejects all jobs fails, so validate does not suggest it.
case_validate_suggests_no_run_of_nothing() {
  scenario '' "$whole" >s.json
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,T4\n' >t.csv
  try 1 validate s.json --trace t.csv
  says stderr 'there are no results'
  ! grep -q 'headroom run' stdout || fail 'a next step that fails'
  try 1 run s.json --trace t.csv
  printf '0,10,1,A100-80\n' >>t.csv
  try 0 validate s.json --trace t.csv
  says stdout 'headroom run s.json --trace t.csv'
  says stdout '8 GPUs on 1 node in 1 pool'
}

# validate prints the notes of run that are known before the run.
case_validate_has_notes_of_run() {
  more='"quotas": { "tenants": [ { "tenant": "team-a", "guaranteed_gpus": 4 } ] },
    "costs": { "budgets": [ { "tenant": "team-c", "usd_per_month": 1 } ] },
    "models": { "reference": "A100-80", "speeds": { "big": { "T4": 0.2 } } },'
  t4='{ "name": "t4", "gpu": "T4", "nodes": 1, "gpus_per_node": 8 }'
  owned='{ "name": "o", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "market": "owned", "usd_per_gpu_hour": 1 }'
  echo "{ \"name\": \"s\", \"policy\": { \"name\": \"queue\" }, $more \"cluster\": { \"pools\": [ $owned, $t4 ] } }" >s.json
  { echo 'submit_s,duration_s,gpus,tenant,model,gpu_type'
    for _ in $(seq 200); do echo '0,10,1,team-b,big,'; done
    echo '0,10,1,team-b,small,'
    echo '0,10,1,team-b,big,B777'; } >t.csv
  try 0 run s.json --trace t.csv
  sed 's/ was rejected: 202 (/ will be rejected (/; s/ and were rejected: .* (/ and will be rejected (/' stderr | sort >run
  try 0 validate s.json --trace t.csv
  sort stderr >validate
  for words in "quota of tenant 'team-a'" "budget of tenant 'team-c'" 'models: 1 job uses' '1 job can never run' "GPU type 'B777'"; do
    says validate "$words"
  done
  diff run validate || fail 'validate and run have other notes'
}

# The policy 'deadline' does not know speeds.
case_deadlines_ignore_speeds() {
  t4='{ "name": "t4", "gpu": "T4", "nodes": 1, "gpus_per_node": 8 }'
  echo '{ "name": "s", "policy": { "name": "deadline" }, "cluster": { "pools": [ '"$whole, $t4"' ] } }' >s.json
  printf 'submit_s,duration_s,gpus,deadline_s\n0,10,1,100\n' >t.csv
  for verb in run validate; do
    try 0 $verb s.json --trace t.csv --set models=catalogue
    says stderr "note: the policy 'deadline' decides as if jobs had the same speed in all pools"
    try 0 $verb s.json --trace t.csv
    ! grep -q "decides as if" stderr || fail 'a note although speeds are equal'
  done
}

# A different product is not suggested, even if its name is similar.
case_no_other_product() {
  scenario '' "$whole" >s.json
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,H100\n0,10,1,A100-80\n' >t.csv
  try 0 run s.json --trace t.csv
  says stderr "requested: 'H100' (1 job)"
  if grep -q 'did you mean' stderr; then fail "a different product is suggested"; fi
}

# More than 1 % of the jobs are rejected: the warning is first, even with --quiet.
case_rejected() {
  scenario '' "$whole" >s.json
  { echo 'submit_s,duration_s,gpus,gpu_type,min_gpus'
    for _ in $(seq 97); do echo '0,10,1,,'; done
    for _ in 1 2; do echo '0,10,1,H20,'; done
    echo '0,10,9,,'; } >t.csv
  for verb in "run s.json" "run s.json --stream" "run s.json --replications 2" \
    "compare s.json --policies fifo,sjf"; do
    # shellcheck disable=SC2086 # several words
    try 0 $verb --trace t.csv --quiet
    is_empty stdout
    head -1 stderr | grep -qF 'warning: 3 of 100 jobs (3.0 %) can never run and are rejected; results cover' ||
      fail "$verb does not warn"
    says stderr "no-such-gpu-type, 2 jobs: no pool has an acceptable GPU type; requested: 'H20' (2 jobs; the catalogue has no such type; nearest: 'H200')"
    says stderr "pools have A100-80; remedy: set the pool's 'gpu'"
    says stderr 'too-large, 1 job: more GPUs requested than any acceptable pool has; remedy:'
  done
  for verb in "run s.json" "validate s.json" "compare s.json --policies fifo,sjf"; do
    # shellcheck disable=SC2086 # several words
    try 0 $verb --trace t.csv
    head -1 stderr | grep -qF 'warning: 3 of 100 jobs' || fail "$verb does not warn first"
  done
  # If at most 1 % of the jobs are rejected, --quiet prints no warning.
  { head -100 t.csv | grep -v H20; for _ in 1 2 3; do echo '0,10,1,,'; done; tail -1 t.csv; } >few.csv
  try 0 run s.json --trace few.csv --quiet
  is_empty stderr
}

# plan warns of the jobs that can never run on the recommended mix.
case_plan() {
  cat >p.json <<'END'
{ "name": "p", "policy": { "name": "queue" },
  "cluster": { "pools": [ { "name": "t4", "nodes": 1, "market": "reserved", "provider": "aws", "region": "us-east-1",
    "instance": "g4dn.xlarge", "term": "1y", "upfront": "all" } ] },
  "plan": { "variables": [ { "pool": "t4", "from": 0, "to": 3, "step": 1 } ], "constraints": [ "wait_s.p95 <= 1 h", "completed >= 90 %" ] } }
END
  { echo 'submit_s,duration_s,gpus,gpu_type'
    for i in $(seq 40); do echo "$i,10,1,T4"; done
    echo '50,10,1,H20'; } >t.csv
  try 0 plan p.json --trace t.csv --quiet
  head -1 stderr | grep -qF 'warning: 1 of 41 jobs (2.4 %) can never run and is rejected' || fail "plan does not warn"
  says stderr "requested: 'H20' (1 job; the catalogue has no such type; nearest: 'H200'); pools have T4; remedy:"
  sed -i 's/T4$/H20/' t.csv
  try 1 plan p.json --trace t.csv --quiet
  says stderr 'warning: 41 of 41 jobs (100.0 %) can never run'
}

# Tenants of quotas that the trace does not have.
case_tenants() {
  scenario '' "$whole" | sed 's/.$//' >q.json
  echo ', "quotas": { "tenants": [ { "tenant": "team-a", "guaranteed_gpus": 1 } ] } }' >>q.json
  printf 'submit_s,duration_s,gpus,tenant\n0,10,2,team-a-cq\n' >q.csv
  try 0 run q.json --trace q.csv
  says stderr "quota of tenant 'team-a': the trace has no job of this tenant; did you mean 'team-a-cq'?"
  # A tenant with a quota of its own is not suggested.
  scenario '' "$whole" | sed 's/.$//' >q.json
  echo ', "quotas": { "tenants": [ { "tenant": "a", "guaranteed_gpus": 1 }, { "tenant": "b", "guaranteed_gpus": 1 } ] } }' >>q.json
  printf 'submit_s,duration_s,gpus,tenant\n0,10,2,a\n' >q.csv
  try 0 run q.json --trace q.csv
  matches stderr "quota of tenant 'b': the trace has no job of this tenant$"
  printf 'submit_s,duration_s,gpus,tenant\n0,10,2,a\n0,10,2,c\n' >q.csv
  try 0 run q.json --trace q.csv
  says stderr "quota of tenant 'b': the trace has no job of this tenant; did you mean 'c'?"
}

case_all_rejected() {
  scenario '' "$whole" >s.json
  printf 'submit_s,duration_s,gpus\n0,10,9\n0,10,10\n' >t.csv
  for verb in "run s.json" "run s.json --stream" "run s.json --replications 2" "report s.json -o r.html" \
    "compare s.json --policies fifo,sjf"; do
    # shellcheck disable=SC2086 # several words
    try 1 $verb --trace t.csv --quiet
    says stderr 'warning: 2 of 2 jobs (100.0 %) can never run and are rejected; there are no results'
    says stderr 'headroom: t.csv: all 2 jobs were rejected'
  done
  try 1 run s.json --trace t.csv --json out.json
  says out.json '"rejected": 2'
  scenario '"by_gpu": false,' "$whole" | sed 's/.$//' >p.json
  echo ', "quotas": { "tenants": [ { "tenant": "a", "max_gpus": 1 } ] } }' >>p.json
  printf 'submit_s,duration_s,gpus,tenant\n0,10,2,a\n' >q.csv
  for verb in "run p.json" "compare p.json --policies queue:order=fifo,queue:order=sjf"; do
    # shellcheck disable=SC2086 # several words
    try 1 $verb --trace q.csv --quiet
    says stderr "over-quota, 1 job: more GPUs requested than their tenant may ever use; remedy: raise the tenant's quota ('quotas', or"
  done
}

# MIG jobs and whole GPUs in one pool.
case_mig() {
  scenario '' "$whole, $mig" >s.json
  printf 'job_id,submit_s,duration_s,gpus,mig_profile\n' >t.csv
  for i in $(seq 57); do echo "$i,0,3600,1,1g.10gb" >>t.csv; done
  try 0 run s.json --trace t.csv --jobs jobs.csv --check
  [ "$(grep -c ':1g.10gb@' jobs.csv)" -eq 57 ] || fail "a MIG job has no instance"
  matches jobs.csv '^57,0,3600,7200,' # 56 instances: the last job waits although whole GPUs are idle
  # The profile as GPU type, as Slurm and Kubernetes name it.
  printf 'job_id,submit_s,duration_s,gpus,gpu_type\na,0,10,1,1g.10gb\nb,0,10,1,nvidia.com/mig-1g.10gb\n' >u.csv
  printf 'c,0,10,1,NVIDIA-A100-SXM4-80GB-MIG-1g.10gb\nd,0,10,1,a100_1g.10gb\n' >>u.csv
  try 0 run s.json --trace u.csv --jobs jobs.csv
  says stderr "note: 4 jobs have a MIG profile as GPU type"
  [ "$(grep -c ':1g.10gb@' jobs.csv)" -eq 4 ] || fail "a MIG job has no instance"
  # Without such instances, the jobs are rejected with the reason.
  scenario '' "$whole" >w.json
  try 1 run w.json --trace t.csv --jobs jobs.csv
  matches jobs.csv '^1,0,.*,rejected,no-such-mig-profile,'
  says stderr "remedy: add a pool with 'sharing' 'mig'"
  try 0 run w.json --trace t.csv --set cluster.mig_fallback=true
  says stdout '57 completed, 0 rejected'
  # Whole GPUs and shares of GPUs are not instances.
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli\na,0,10,1,1000\nb,0,10,1,140\n' >v.csv
  scenario '' "$mig" >m.json
  try 1 run m.json --trace v.csv --jobs jobs.csv
  matches jobs.csv '^a,.*,rejected,only-mig,'
  matches jobs.csv '^b,.*,rejected,only-mig,'
  try 0 run s.json --trace v.csv --jobs jobs.csv
  says stdout '2 completed, 0 rejected'
  if grep -q '1g.10gb@' jobs.csv; then fail "a job without a profile has an instance"; fi
}

# A fraction of a GPU in a pool that does not share GPUs is reported.
case_fractions() {
  scenario '' "$whole" >s.json
  printf 'submit_s,duration_s,gpus,gpu_milli\n0,10,1,500\n0,10,1,1000\n' >t.csv
  try 0 run s.json --trace t.csv
  says stderr "note: 1 job requests a fraction of a GPU: pools that share GPUs allocate the fraction, others a whole GPU"
}

case_elastic() {
  scenario '' "$whole" >s.json
  printf 'submit_s,duration_s,gpus,min_gpus,max_gpus\n0,100,8,1,8\n0,100,8,8,8\n0,100,4,,8\n' >t.csv
  try 0 run s.json --trace t.csv
  says stderr "note: 2 jobs are elastic ('min_gpus', 'max_gpus'): they have 'gpus' GPUs unless a policy resizes jobs"
}

case_columns_and_patterns() {
  scenario '' "$whole" >s.json
  cat >t.txt <<'END'
JobID|JobName|Account|Partition|QOS|State|Submit|Start|End|AllocTRES
1|jupyter-1|acc|gpu|high|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|gres/gpu=1
2|train|acc|interactive|low|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|gres/gpu=1
3|train|acc|gpu|low|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|gres/gpu=1
END
  try 0 run s.json --trace t.txt --map class=Partition --class 'interactive=JobName~^(jupyter|vscode)' --jobs jobs.csv
  [ "$(grep -c ',interactive,' jobs.csv)" -eq 2 ] || fail "not two interactive jobs"
  says stderr "a 'Partition' that is not a class and gets no class from it: 'gpu'; name the class with --class"
  try 0 run s.json --trace t.txt --map queue=QOS --tenant-by 'tools=JobName~^jup' --jobs jobs.csv
  [ "$(grep -c ',low,' jobs.csv)" -eq 2 ] || fail "not two jobs of tenant low"
  [ "$(grep -c ',tools,' jobs.csv)" -eq 1 ] || fail "not one job of tenant tools"
  # The same in a scenario.
  sed 's|"name": "s",|"name": "s", "trace": { "file": "t.txt", "columns": { "class": "Partition" }, "classes": { "interactive": "JobName~^jup" } },|' \
    s.json >u.json
  try 0 run u.json --jobs jobs.csv
  [ "$(grep -c ',interactive,' jobs.csv)" -eq 2 ] || fail "not two interactive jobs"
  try 2 run s.json --trace t.txt --class 'interactive=JobName~('
  says stderr "--class: class 'interactive=JobName~(': the pattern is not a regular expression"
  try 2 run s.json --trace t.txt --class 'notebooks=JobName~x'
  says stderr "'notebooks' is not one of training"
  try 2 run s.json --trace t.txt --map class=Partitoin
  says stderr "t.txt:1: missing column 'Partitoin', which the column map names (did you mean 'Partition'?)"
  sed -i 's/JobName~^jup/JobName~[/' u.json
  try 2 run u.json
  says stderr 'u.json:1:'
  # CSV
  printf 'submit_s,duration_s,gpus,kind\n0,10,1,nb-1\n0,10,1,fit\n' >t.csv
  try 0 run s.json --trace t.csv --class 'interactive=kind~^nb' --class 'training=kind~.' --jobs jobs.csv
  [ "$(grep -c ',interactive,' jobs.csv)" -eq 1 ] || fail "not one interactive job"
  [ "$(grep -c ',training,' jobs.csv)" -eq 1 ] || fail "not one training job"
  try 0 trace pack t.csv -o t.hrt
  try 2 run s.json --trace t.hrt --class 'interactive=kind~^nb'
  says stderr 'a packed trace has no columns for the patterns'
}

run_case
