#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom why` explains the same run as `headroom run`; its output and its errors.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

# refuses TEXT ARGUMENT...: the input is rejected with this text, and no file is written.
refuses() {
  local text=$1
  shift
  mkdir -p out
  try 2 why "$@" --json out/why.json
  is_empty stdout
  says stderr "$text"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

digest_of() {
  grep -oE '"digest": "[0-9a-f]+"' "$1"
}

# `why` explains the run that `run` makes with the same options.
case_same_run() {
  for options in '' '--policy las' '--policy queue:backfill=conservative,placement=pool' '--set cluster.pools.0.nodes=7'; do
    # shellcheck disable=SC2086
    "$headroom" run "$demo" $options -q --json run.json
    # shellcheck disable=SC2086
    try 0 why "$demo" $options -q --json why.json
    is_empty stdout
    is_empty stderr
    [ "$(digest_of run.json)" = "$(digest_of why.json)" ] || fail "another run under '$options'"
  done
}

# Jobs, timeline, explanation and alerts of a trace without dates are on its own clock.
case_one_clock() {
  {
    echo submit_s,duration_s,gpus
    echo 500000,7200,8
    echo 500010,7200,8
    echo 600000,7200,1
  } >jobs.csv
  cat >late.json <<'END'
{ "name": "late", "trace": { "file": "jobs.csv" }, "policy": { "name": "queue" },
  "cluster": { "pools": [ { "name": "a100", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8 } ] } }
END
  try 0 run late.json --jobs out.csv --timeline timeline.csv --json run.json
  matches out.csv '^2,500010,507200,514400,'
  matches timeline.csv '^507200,'
  matches run.json '"begin_s":\s*514400'
  matches stdout '^gpus-underused a100 .* 5 d 23 h '
  try 0 why late.json --job 2 --json why.json
  says stdout 'at 5 d 18:53:30'
  says stdout 'at 5 d 20:53:20'
  says stdout 'on the clock of the trace'
  matches why.json '"submit_s":\s*500010'
  matches why.json '"begin_s":\s*507200'
  matches why.json '"end_s":\s*514400'
}

# The wait of each job equals that of --jobs. Its parts are those of the wait before its first start.
case_waits_are_those_of_jobs() {
  "$headroom" run "$demo" -q --jobs jobs.csv
  try 0 why "$demo" -q --slowest 100000 --json why.json
  awk -F, 'NR > 1 && $5 > 0 { printf "%s %.6f\n", $1, $5 }' jobs.csv | sort >wanted
  awk '/"slowest"/ { inside = 1 } inside && /"job_id"/ { gsub(/[",]/, "", $2); id = $2 }
       inside && /^      "wait_s"/ { sub(/,/, "", $2); printf "%s %.6f\n", id, $2 }' why.json | sort >told
  head -n 1 jobs.csv >stdout
  cmp -s wanted told || fail "the waits differ: $(diff wanted told | head -n 5)"
  [ "$(wc -l <told)" -gt 500 ] || fail "few jobs waited"
}

case_tables() {
  for question in '' '--job 946' '--tenant tenant-2' '--slowest 20' '--tenant tenant-2 --slowest 3'; do
    # shellcheck disable=SC2086
    try 0 why "$demo" $question
    [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns: $question"
    is_empty stderr
  done
  [ "$(sed '1,/^longest waits/d; /^$/,$d' stdout | wc -l)" -eq 3 ] || fail "three were requested"
  try 0 why "$demo" -q
  is_empty stdout
  try 0 why "$demo" --job 946 --json -
  says stdout '"job_id": "946"'
}

# tells TEXT: fails unless the output contains these words, possibly across line breaks.
tells() {
  tr -s ' \n' ' ' <stdout >words
  says words "$1"
}

# A job was migrated if it is stopped and starts elsewhere at the same instant. Other jobs were suspended for the turn
# of other jobs.
case_moved() {
  local agency=$project/scenarios/agency.json
  try 0 why "$agency" --job retail-tune-17
  tells 'moved at 2 d 13:30:00, after 15 min: migrated by the policy to node 11 of pool aws-a100-spot, to cheaper spot nodes. completed at'
  try 0 why "$demo" --policy rounds --job 500
  tells 'at 1 d 11:57:31, after 2 min 10 s: suspended by the policy for the turn of other jobs. restarted at 1 d 11:57:31'
  try 0 why "$demo" --policy gang-slice --job 200
  tells 'suspended by the policy for the turn of other jobs. requeued 30.0 s for a turn.'
}

# A rejected job did not start and did not wait.
case_rejected() {
  printf 'job_id,submit_s,duration_s,gpus,tenant\na,0,10,1,x\nb,0,10,100000,x\nc,0,10,1,\n' >one.csv
  try 0 why "$demo" --trace one.csv
  tells 'no job: each job that can run started when it was submitted rejected 1 job was rejected, as it can never run'
  try 0 why "$demo" --trace one.csv --tenant x --json -
  says stdout '"rejected": 1'
  try 0 why "$demo" --trace one.csv --tenant ''
  tells 'where the waiting time of jobs without a tenant went waited no job: each job started when it was submitted'
  if grep -q 'rejected' stdout; then fail "a job of another tenant is in the output"; fi
  printf 'job_id,submit_s,duration_s,gpus\na,0,10,100000\nb,0,10,100000\nc,0,10,64\nd,0,10,64\n' >two.csv
  try 0 why "$demo" --trace two.csv --set horizon_s=5
  tells 'unfinished 1 job still waiting when the run ended rejected 2 jobs were rejected, as they can never run reason'
}

case_slowest() {
  try 0 why "$demo" --slowest 2
  tells 'demo the 2 jobs that waited longest longest waits GPUs'
  try 0 why "$demo" --slowest 1
  tells 'demo the job that waited longest longest waits GPUs'
  printf 'job_id,submit_s,duration_s,gpus\na,0,10,64\nb,0,10,64\nc,0,10,64\n' >few.csv
  try 0 why "$demo" --trace few.csv --slowest 9
  tells 'the 2 jobs that waited longest longest waits GPUs'
  printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\n' >nobody.csv
  try 0 why "$demo" --trace nobody.csv --slowest 3
  tells 'the jobs that waited longest waited no job: each job started when it was submitted'
}

case_times_are_rounded() {
  printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,59.5,10,1\nc,59.499999,10,1\n' >parts.csv
  try 0 why "$demo" --trace parts.csv --job b
  tells 'submitted at 0 d 00:01:00.'
  tells 'completed at 0 d 00:01:10,'
  try 0 why "$demo" --trace parts.csv --job c
  tells 'submitted at 0 d 00:00:59.'
}

# The explanation of the waits of all jobs is in the plural.
case_words_of_many() {
  try 0 why "$demo"
  says stdout 'reservation: behind reservations of other jobs'
  try 0 why "$demo" --policy queue:backfill=strict
  says stdout 'order: behind jobs that must start first'
  if grep -qw 'its\|it' stdout; then fail "printed for one job"; fi
}

case_what_is_refused() {
  refuses "--job selects one job and cannot be combined with --tenant" "$demo" --job 1 --tenant tenant-1
  refuses "--job selects one job and cannot be combined with --slowest" "$demo" --job 1 --slowest 3
  refuses "no job with this id; the nearest is 2000" "$demo" --job 90000
  refuses "no job with this id; ids are numbers; the first is 1" "$demo" --job x
  refuses "--job '': " "$demo" --job ''
  says stderr 'has no job with this id'
  refuses "have a tenant; the first one's is 'tenant-" "$demo" --tenant ''
  refuses "has no jobs of this tenant" "$demo" --tenant tenant-9
  says stderr "has no jobs of this tenant; did you mean 'tenant-"
  printf 'job_id,submit_s,duration_s,gpus\n10,0,5,1\n20,0,5,1\n' >numbers.csv
  refuses "no job with this id; the nearest are 10 and 20" "$demo" --trace numbers.csv --job 12
  refuses "numbers.csv has no jobs of this tenant; its jobs have no tenant" "$demo" --trace numbers.csv --tenant a
  printf 'job_id,submit_s,duration_s,gpus\nalpha,0,5,1\nbeta,0,5,1\n' >names.csv
  refuses "no job with this id; did you mean 'alpha'?" "$demo" --trace names.csv --job alpah
  try 2 why "$demo" --slowest 0
  try 2 why
  says stderr "why: SCENARIO is missing"
}

case_full_disk_and_closed_pipe() {
  [ -w /dev/full ] || exit 77
  try 4 why "$demo" -q --json /dev/full
  says stderr "/dev/full"
  code=0
  "$headroom" why "$demo" >/dev/full 2>stderr || code=$?
  [ "$code" -eq 4 ] || fail "exit code $code with a full disk"
  says stderr "cannot be"
  set +o pipefail
  "$headroom" why "$demo" --slowest 100000 2>stderr | head -n 1 >stdout
  is_empty stderr
}

# No jobs are submitted after the horizon. Jobs that wait at the horizon are reported as waiting.
case_horizon() {
  try 0 why "$demo" --set horizon_s=210000 --job 2000
  says stdout "the run ended at 2 d 10:29:31, before its submission."
  try 0 why "$demo" --set horizon_s=210000
  says stdout "still waiting when the run ended"
}

# `why` and `diff` support scenarios with services. A plan with a forecast does not, unless there are jobs.
case_scenarios_with_services() {
  local name
  for name in chatbot onprem-cloud night-training; do
    try 0 why "$project/scenarios/$name.json"
  done
  try 0 diff "$project/scenarios/night-training.json" "$project/scenarios/night-training.json"
  try 0 diff "$demo" "$project/scenarios/chatbot.json"
  try 2 plan "$project/scenarios/plan-chatbot.json" --forecast 3
  says stderr 'a forecast needs jobs'
}

# A job that is suspended because of carbon, one that is resized, and one that is submitted in the last instant of a
# run.
case_reasons_of_stops() {
  local pool='"name":"p","gpu":"H100","nodes":2,"gpus_per_node":8'
  printf 'job_id,submit_s,duration_s,gpus\na,0,7200,8\n' >carbon.csv
  printf 'time_utc,g\n2024-01-01T00:00Z,1\n2024-01-01T01:00Z,9\n2024-01-01T02:00Z,1\n2024-01-01T03:00Z,1\n' >g.csv
  echo '{"trace":{"file":"carbon.csv"},"cluster":{"carbon":{"file":"g.csv"},"pools":[{'"$pool"'}]},"policy":
    {"name":"queue","carbon":"wait-awhile","carbon_wait_s":3600}}' >carbon.json
  try 0 why carbon.json --job a
  tr -s ' \n' ' ' <stdout >line
  says line 'stopped at 0 d 01:00:00, after 1 h: suspended by the policy to wait for electricity with less carbon.'

  printf 'job_id,submit_s,duration_s,gpus,min_gpus,max_gpus\nb,0,60,8,,\na,1,9000,16,8,16\n' >elastic.csv
  echo '{"trace":{"file":"elastic.csv"},"cluster":{"pools":[{'"$pool"'}]},"policy":
    {"name":"queue","elastic":"shrink"}}' >elastic.json
  try 0 why elastic.json --job a
  tr -s ' \n' ' ' <stdout >line
  says line 'resized at 0 d 00:01:00, after 59.0 s: from 8 to 16 GPUs on nodes 1, 0 of pool p.'

  # the reservation has ended, so the run ends at the submission of the last job
  printf 'job_id,submit_s,duration_s,gpus\nz,0,1,8\na,6,100,16\nb,10,100,8\n' >late.csv
  echo '{"trace":{"file":"late.csv"},"cluster":{"pools":[{'"$pool"',"market":"reserved","usd_per_gpu_hour":1,
    "to_s":5}]},"policy":{"name":"queue"}}' >late.json
  try 0 why late.json --job b
  tr -s ' \n' ' ' <stdout >line
  says line 'waited 0 s for 8 free GPUs while none was free; still waiting when the run ended.'
}

run_case
