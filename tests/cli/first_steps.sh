#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Features for new users: messages for common mistakes, the progress bar, suggested next commands, drafted scenarios.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/scenarios/demo.json

# ---- Mistakes ------------------------------------------------------------------------------------------------------

case_a_trace_as_scenario() {
  for file in "$project/traces/reference/demo.csv" bars.txt pods.json; do
    printf 'JobID|User|Submit|Start|End\n1|a|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00\n' >bars.txt
    echo '{ "apiVersion": "v1", "items": [] }' >pods.json
    try 2 run "$file"
    says stderr "$file: looks like a trace: give a scenario, and this file with --trace"
    says stderr "'headroom init --from'"
  done
}

case_comments_that_are_none() {
  local place=0
  for text in '// c
{}' '{ // c
}' '{ "name": "a" // c
}' '{ "name": "a", /* c */ "seed": 1 }' '{ "a": [1, // c
2] }' '{} // c' '{ "name": # c
"a" }'; do
    printf '%s\n' "$text" >c.json
    try 2 run c.json
    says stderr 'comments are not allowed, except members such as "//": "text"'
    place=$((place + 1))
  done
  printf '{ "name": / }\n' >c.json
  try 2 run c.json
  says stderr 'not a JSON value'
}

case_commas_too_many() {
  printf '{ "a": [1, 2,] }\n' >c.json
  try 2 run c.json
  says stderr "c.json:1:14: trailing comma before ']'"
  printf '{ "a": 1, }\n' >c.json
  try 2 run c.json
  says stderr "c.json:1:11: trailing comma before '}'"
}

case_missing_parts() {
  try 2 run nosuch.json
  says stderr "'headroom list scenarios' shows those that ship"
  small_scenario
  for verb in run check; do
    try 2 "$verb" s.json
    says stderr 's.json: names no trace; set one with --trace FILE, or in the file: "trace": {"file": "jobs.csv"}'
  done
  try 2 plan "$demo"
  says stderr "has no 'plan'; see docs/planner/plan.md, or copy a scenario such as 'plan-reserved-share'"
}

case_misplaced_words() {
  try 2 run a.json b.json
  says stderr "unexpected argument 'b.json'"
  try 2 --json run a.json
  says stderr "unexpected option '--json': options follow the verb"
  try 2 run "$demo" --set 'cluster.pools[0].nodes=16'
  says stderr 'write cluster.pools.0.nodes'
  try 2 sweep "$demo"
  says stderr 'is a scenario, not a grid'
}

# ---- Progress ------------------------------------------------------------------------------------------------------

# on_terminal ARGUMENT...: prints the progress bars that the program draws on a terminal, one per line.
on_terminal() {
  command -v script >/dev/null || exit 77
  script -qec "$(printf '%q ' "$headroom" "$@")" /dev/null </dev/null | tr '\r' '\n' | grep '^\[' >bars || true
}

# The bar shows the remaining time once a run has taken a second. Checked mode makes the run slow; if it is still too
# fast, it is enlarged.
case_remaining_time() {
  local count=400000
  while :; do
    try 0 trace generate --count "$count" --nodes 8 --gpus-per-node 8 --load 0.9 --seed 1 --output jobs.csv
    on_terminal run "$demo" --trace jobs.csv --check
    grep -q left bars && break
    [ "$count" -lt 10000000 ] || fail 'no bar shows the remaining time'
    count=$((count * 3))
  done
  matches bars "[0-9]+ of $count jobs, ([0-9]+ min )?[0-9]+ s left"
  awk '/left/ { exit length($0) > 80 }' bars || fail 'the bar is wider than 80 columns'
  on_terminal run "$demo" --trace jobs.csv --check --quiet
  is_empty bars
}

# Several runs are counted as runs.
case_runs_as_unit() {
  try 0 trace generate --count 100000 --nodes 8 --gpus-per-node 8 --load 0.9 --seed 1 --output jobs.csv
  local runs=10
  while :; do
    on_terminal run "$demo" --trace jobs.csv --replications "$runs" --set 'replications.workload={"resample":"days"}'
    grep -q . bars && break
    [ "$runs" -lt 1000 ] || fail 'no bar'
    runs=$((runs * 3))
  done
  matches bars "[0-9]+ of $runs runs"
}

# ---- Next steps ----------------------------------------------------------------------------------------------------

# next_is COMMAND: fails unless the last line of stdout suggests this command. Runs it as printed; it must succeed.
next_is() {
  [ "$(tail -n 1 stdout | sed 's/^  next       //; s/  # .*//')" = "headroom $1" ] ||
    fail "the next step is not: headroom $1"
}

case_next_steps_of_a_run() {
  small_scenario
  printf 'submit_s,duration_s,gpus\n0,36000,16\n1,1,1\n2,1,1\n' >waits.csv
  printf 'submit_s,duration_s,gpus\n0,60,1\n' >calm.csv
  printf 'submit_s,duration_s,gpus\n0,60,99\n1,60,1\n' >large.csv
  priced='cluster.pools.0={"name":"p","gpu":"A100-80","nodes":2,"gpus_per_node":8,"market":"owned","usd_per_gpu_hour":1}'
  try 0 run s.json --trace waits.csv
  next_is 'why s.json --trace waits.csv'
  try 0 run s.json --trace large.csv
  next_is 'trace check large.csv --cluster s.json'
  try 1 trace check large.csv --cluster s.json
  try 0 run s.json --trace calm.csv
  next_is 'init --from calm.csv --own 2x8xA100-80 --cloud aws -o priced.json'
  says stdout 'priced.json  # drafts a plan with cloud prices'
  try 0 run s.json --trace calm.csv --set "$priced"
  next_is "advise s.json --trace calm.csv --set '$priced'"
  try 0 run s.json --trace calm.csv --set "$priced" --set 'plan={"variables":[{"pool":"p","values":[8]}]}'
  matches stdout '^  next       headroom plan s.json '
  try 0 run s.json --trace calm.csv --stream
  next_is 'init --from calm.csv --own 2x8xA100-80 --cloud aws -o priced.json'
}

# The options of a run are repeated, quoted for the shell, so that the next command is about the same run.
case_next_step_can_be_pasted() {
  mkdir 'a b'
  cp "$demo" 'a b/it'\''s.json'
  try 0 run 'a b/it'\''s.json' --trace "$project/traces/reference/demo.csv" --set cluster.pools.0.nodes=9 --seed 4
  # shellcheck disable=SC2016 # expanded when the command is run
  tail -n 1 stdout | sed 's/^  next       headroom/"$headroom"/' >command.sh
  # shellcheck source=/dev/null
  . ./command.sh >stdout
  says stdout 'where the waiting time of all jobs went'
}

case_next_step_of_each_verb() {
  cd "$project"
  for command in "why $demo" "compare $demo --policies fifo,sjf" "validate $demo" \
    'trace check traces/reference/demo.csv' 'trace stats traces/reference/demo.csv' \
    "fill $demo --policies best-fit,spread --seeds 2 --to 1" 'forecast traces/reference/agency.csv --months 1' \
    'run scenarios/reserved-spot-mix.json --replications 2' \
    'advise scenarios/agency-before.json' 'tco scenarios/private-or-cloud.json' 'plan scenarios/plan-l4-or-t4.json --brief' \
    "sweep scenarios/sweeps/demo.json --db $work/demo.sqlite" \
    "check $demo --baseline $work/demo.base.json --update"; do
    # shellcheck disable=SC2086 # a verb and its words
    "$headroom" $command >"$work/stdout" 2>"$work/stderr" || fail "$command"
    tail -n 1 "$work/stdout" | grep -q '^  next       headroom ' || fail "no next step: $command"
    [ "$(grep -c '^  next ' "$work/stdout")" -eq 1 ] || fail "several next steps: $command"
  done
}

case_no_next_step_for_machines() {
  try 0 run "$demo" --quiet
  is_empty stdout
  try 0 run "$demo" --json -
  ! grep -q '^  next' stdout || fail 'a next step in JSON'
  try 0 compare "$demo" --policies fifo,sjf --csv -
  ! grep -q '^  next' stdout || fail 'a next step in CSV'
  try 0 trace stats "$project/traces/reference/demo.csv" --output stats.txt
  ! grep -q '^  next' stats.txt || fail 'a next step in a file'
}

# ---- Drafts --------------------------------------------------------------------------------------------------------

# 200 jobs in 20 days, with two classes, two tenants and recorded starts. A fifth of the jobs requests T4s, the others
# request A100-80s.
small_trace() {
  awk 'BEGIN {
    print "submit_s,duration_s,gpus,class,tenant,gpu_type,start_s,limit_s"
    for (i = 0; i < 200; i++) {
      t4 = i % 5 == 0
      printf "%d,%d,%d,%s,%s,%s,%d,%d\n", i * 8640, 7200 + i % 7 * 3600, t4 ? 1 : 1 + i % 8,
        i % 4 == 0 ? "interactive" : "training", i % 3 == 0 ? "ada" : "bob", t4 ? "T4" : "A100-80",
        i * 8640 + (i % 20 == 0 ? 600 : 0), 90000
    }
  }' >jobs.csv
}

# json FILE PATH...: prints values of a draft as a list. pools FILE KEY...: prints these keys of its pools.
json() {
  local file=$1
  shift
  sqlite3 :memory: "select json_extract(readfile('$file')$(printf ", '\$.%s'" "$@" nothing))" | sed 's/,null]$/]/'
}

pools() {
  local file=$1
  shift
  sqlite3 :memory: "select group_concat(json_extract(value$(printf ", '\$.%s'" "$@" nothing)), ' ')
    from json_each(readfile('$file'), '\$.cluster.pools')" | sed 's/,null]/]/g'
}

case_draft_of_a_cluster() {
  small_trace
  try 0 init --from jobs.csv --own 2x8xa100-80 --own 3x4xT4 -o mine.json
  says stdout 'wrote mine.json'
  [ "$(pools mine.json name gpu nodes gpus_per_node)" = '["own-a100-80","A100-80",2,8] ["own-t4","T4",3,4]' ] || fail 'other pools'
  [ "$(json mine.json name trace.file plan)" = '["mine","jobs.csv",null]' ] || fail 'other name, trace or plan'
  says mine.json 'csv: 200 jobs, submitted over 19 d'
  says mine.json 'T4 (40 jobs'
  says mine.json 'interactive (50 jobs'
  says mine.json 'bob (133 jobs'
  try 0 validate mine.json
  try 0 run mine.json
  says stdout '200 submitted, 200 completed, 0 rejected'
  try 2 init --from jobs.csv --own 2x8xA100-80 -o mine.json
  says stderr 'mine.json: the file exists; overwrite it with --force'
  try 0 init --from jobs.csv --own 1x8xA100-80 -o mine.json --force
  says mine.json 'No pool has T4: jobs that accept nothing else are rejected.'
}

# If no drafted GPU has MIG, the terminal output also states that jobs which need instances are rejected.
case_draft_warns_of_mig_jobs() {
  printf 'submit_s,duration_s,gpus,mig_profile\n0,3600,1,1g.10gb\n0,3600,1,\n' >jobs.csv
  try 0 init --from jobs.csv --own 1x8xT4 -o mine.json
  says stderr 'warning: 1 of 2 jobs (50.0 %) can never run and is rejected'
  says stderr 'mig_fallback'
  ! grep -q 'repeat --own' stderr || fail 'other nodes do not help'
  says mine.json 'no pool here has those of 1: they are rejected'
  try 0 run mine.json --set cluster.mig_fallback=true
  says stderr 'jobs that name a MIG profile (1)'
  says stdout '2 completed, 0 rejected'
}

# drafts_mig OWN POOLS: expects these pools in the draft, and that they can run all jobs of jobs.csv.
drafts_mig() {
  # shellcheck disable=SC2086 # several options
  try 0 init --from jobs.csv $1 -o mine.json --force
  is_empty stderr
  [ "$(pools mine.json gpu nodes gpus_per_node sharing mig.mode)" = "$2" ] || fail "$1: the pools differ: $(pools mine.json gpu nodes gpus_per_node sharing mig.mode)"
  try 0 run mine.json --check
  says stdout ', 0 rejected, 0 unfinished'
}

# Jobs that request MIG instances get a pool with partitioned GPUs. Its share of the GPUs is about the share of these
# jobs in the GPU time.
case_draft_has_mig_pools() {
  printf 'submit_s,duration_s,gpus,mig_profile\n0,3600,1,1g.10gb\n0,3600,1,3g.40gb\n' >jobs.csv
  drafts_mig '--own 2x8xA100-80' '["A100-80",2,8,"mig","on-demand"]'
  drafts_mig '--own 2x8xNVIDIA-A100-SXM4-80GB' '["NVIDIA-A100-SXM4-80GB",2,8,"mig","on-demand"]'
  drafts_mig '' '["A100-80",1,8,"mig","on-demand"]'
  drafts_mig '--own 1x4xT4 --own 2x8xA100-80' '["T4",1,4,null,null] ["A100-80",2,8,"mig","on-demand"]'
  printf 'submit_s,duration_s,gpus,mig_profile\n0,3600,1,1g.5gb\n' >jobs.csv
  drafts_mig '' '["A100-40",1,8,"mig","on-demand"]'
  # whole GPUs and instances: the nodes are divided between two pools; a single node is divided by GPUs
  printf 'submit_s,duration_s,gpus,mig_profile\n0,3600,1,1g.10gb\n0,3600,3,\n' >jobs.csv
  drafts_mig '--own 4x8xA100-80' '["A100-80",3,8,null,null] ["A100-80",1,8,"mig","on-demand"]'
  drafts_mig '--own 1x8xA100-80' '["A100-80",1,7,null,null] ["A100-80",1,1,"mig","on-demand"]'
  drafts_mig '' '["A100-80",1,8,null,null] ["A100-80",1,8,"mig","on-demand"]'
  # a job on all GPUs: the nodes cannot be divided
  printf '0,3600,8,\n' >>jobs.csv
  drafts_mig '--own 1x8xA100-80' '["A100-80",1,8,"fraction",null]'
  says mine.json '"mig_fallback": true'
  # rented nodes
  try 0 init --from jobs.csv --own 1x8xT4 --cloud aws -o mine.json --force
  says mine.json '"on-demand-mig"'
  try 0 run mine.json
  says stdout '3 completed, 0 rejected'
}

case_draft_warns_of_rejected_jobs() {
  printf 'submit_s,duration_s,gpus,gpu_type\n0,60,1,H100\n0,60,1,H100\n0,60,1,T4\n' >jobs.csv
  try 0 init --from jobs.csv --own 1x8xA100-80 --own 1x4xT4 -o mine.json
  says stderr 'warning: 2 of 3 jobs (66.7 %) can never run and are rejected'
  says stderr "'H100' (2 jobs"
  says stderr 'repeat --own NODESxGPUSxTYPE for each type'
  try 0 init --from jobs.csv --own 1x8xA100-80 --own 1x4xT4 --own 1x1xH100 -o mine.json --force
  is_empty stderr
  # If all jobs are rejected, a run has no results, so it is not suggested as the next command.
  try 0 init --from jobs.csv --own 1x8xA100-80 -o mine.json --force
  says stdout 'next       headroom trace check jobs.csv --cluster mine.json'
  try 1 trace check jobs.csv --cluster mine.json
}

# Without --own, each requested GPU type has a pool that is large enough for its jobs, even if the type is not in the
# catalogue. A list of types needs one pool.
case_draft_has_each_type() {
  printf 'submit_s,duration_s,gpus,gpu_type,tasks\n0,9000,1,T4,\n0,9000,2,A10,\n10,9000,8,V100-SXM2-32GB,\n20,9000,15,A100,3\n%b' \
    '30,9000,1,,\n40,9000,1,H100|T4,\n50,9000,9,T4,\n60,9000,1,V100M16,\n' >jobs.csv
  try 0 init --from jobs.csv -o mine.json
  is_empty stderr
  [ "$(pools mine.json name gpu nodes gpus_per_node)" = '["own-a100-80","A100-80",3,8] ["own-t4","T4",2,8] ["own-v100-32","V100-32",1,8] ["own-a10","A10",1,8] ["own-v100","V100",1,8]' ] || fail "the pools differ: $(pools mine.json name gpu nodes gpus_per_node)"
  says mine.json "GPU type 'A10' is unknown"
  try 0 run mine.json
  says stdout '8 submitted, 8 completed, 0 rejected'
  # types of owned nodes are not guessed; a provider adds pools of the types that it offers
  try 0 init --from jobs.csv --own 1x8xA100-80 -o mine.json --force
  says stderr 'repeat --own NODESxGPUSxTYPE for each type, or leave it out'
  [ "$(pools mine.json gpu)" = '["A100-80"]' ] || fail 'other types than the owned one'
  try 0 init --from jobs.csv --own 2x8xA100-80 --cloud aws -o mine.json --force
  says stderr "requested: 'A10' (1 job"
  says stderr 'repeat --own NODESxGPUSxTYPE for each type'
  ! grep -q 'or leave it out' stderr || fail 'without --own, the provider still lacks the type'
  try 0 init --from jobs.csv --cloud aws -o mine.json --force
  says stderr 'to draft nodes for these jobs, add --own NODESxGPUSxTYPE for each type'
}

# Four types at a provider: each has a pool.
case_draft_buys_each_type() {
  printf 'submit_s,duration_s,gpus,gpu_type\n0,60,1,%s\n' T4 >jobs.csv
  printf '0,60,1,%s\n' V100 A100-80 H100 A10G L4 >>jobs.csv
  try 0 init --from jobs.csv --own 1x8xT4 --cloud aws -o mine.json
  is_empty stderr
  try 0 run mine.json
  says stdout '6 completed, 0 rejected'
}

# Jobs that request fractions share GPUs, as the sizes of the pools assume.
case_draft_shares_gpus() {
  { echo 'submit_s,duration_s,gpus,gpu_milli'
    for _ in $(seq 32); do echo 0,600,1,250; done; } >jobs.csv
  try 0 init --from jobs.csv -o mine.json
  [ "$(pools mine.json nodes gpus_per_node sharing)" = '[1,8,"fraction"]' ] || fail 'other pools'
  says mine.json 'Jobs that request shares of GPUs share them.'
  try 0 run mine.json
  matches stdout '^wait +0 s +0 s'
  try 0 init --from jobs.csv --own 1x1xT4 --cloud aws -o mine.json --force
  [ "$(pools mine.json sharing | tr ' ' '\n' | sort -u)" = '["fraction"]' ] || fail 'pools that do not share'
  try 0 run mine.json
}

# The last submit ends the window of 100 s. 4 GPUs are in use all the time, and 8 more in the last seconds, whose number
# is the first column.
case_draft_knows_the_demand() {
  while read -r seconds mean p95 p99; do
    printf 'submit_s,duration_s,gpus\n0,100,4\n%d,1000,8\n100,1,1\n' $((100 - seconds)) >jobs.csv
    try 0 init --from jobs.csv --own 2x8xA100-80 -o mine.json --force
    says mine.json "if no job had to wait: $mean on average; at most $p95 for 95 % and $p99 for 99 % of the time"
  done <<'END'
50 8 12 12
10 5 12 12
4 4 4 12
1 4 4 4
END
}

# The nodes of a draft without --own and --cloud are sufficient for every job.
case_draft_of_a_guess() {
  try 0 init --from "$project/traces/reference/demo.csv" -o mine.json
  says mine.json 'Guessed from the demand'
  try 0 run mine.json
  says stdout '2,000 completed, 0 rejected'
  try 0 init --own 8x8xA100-80 -o shipped.json
  try 0 run shipped.json
  says stdout '2,000 completed, 0 rejected'
}

case_draft_with_a_cloud() {
  small_trace
  for cloud in aws:us-east-1 aws gcp azure; do
    for own in '' '--own 1x8xA100-80'; do
      # shellcheck disable=SC2086 # an option and its value
      try 0 init --from jobs.csv $own --cloud "$cloud" --goal 'wait_s.p95 <= 1 h' -o mine.json --force
      for verb in validate run advise 'plan --brief'; do
        # shellcheck disable=SC2086 # a verb and its option
        try 0 $verb mine.json
      done
      says stdout 'wait_s.p95 <= 1 h'
      try 0 run mine.json
      says stdout ' 0 rejected'
    done
  done
  [ "$(json mine.json plan.constraints)" = '[["wait_s.p95 <= 1 h","completed >= 99 %"]]' ] || fail 'other goals'
}

# The price of each pool is that of the catalogue at the pinned date, and the comment names both.
case_draft_has_dated_prices() {
  small_trace
  try 0 init --from jobs.csv --cloud aws:us-east-1 -o mine.json
  [ "$(pools mine.json name)" = '["3-years"] ["1-year"] ["spot"] ["on-demand"] ["on-demand-t4"]' ] || fail 'other pools'
  try 0 list prices --provider aws --region us-east-1 --gpu A100-80
  price=$(awk '/p4de.24xlarge.*on-demand/ { print $4 }' stdout)
  date=$(awk '/p4de.24xlarge.*on-demand/ { print $6 }' stdout)
  says mine.json "\"//price\": \"On demand: $price \$ per node-hour"
  says mine.json "price of $date"
  [ "$(json mine.json 'cluster.pools[3].as_of')" = "[\"$date\"]" ] || fail 'the price is not pinned to its date'
  try 0 validate mine.json
  cp stdout dated
  sed '/"as_of"/d' mine.json >undated.json
  try 0 validate undated.json
  diff <(grep 'per GPU-hour' dated) <(grep 'per GPU-hour' stdout) || fail 'the date changes a price'
}

# Without --goal, the goals are the recorded waits of each class.
case_draft_keeps_recorded_waits() {
  small_trace
  try 0 init --from jobs.csv --own 2x8xA100-80 --cloud aws -o mine.json
  [ "$(json mine.json 'plan.constraints[0]' 'plan.constraints[1]')" = \
    '["wait_s.p95 of training <= 1 min","wait_s.p95 of interactive <= 10 min"]' ] || fail 'other goals'
  cut -d, -f1-6 jobs.csv >unstarted.csv
  try 0 init --from unstarted.csv --own 2x8xA100-80 --cloud aws -o mine.json --force
  says mine.json 'The trace records no starts'
  [ "$(json mine.json 'plan.constraints[0]')" = '["wait_s.p95 <= 60 min"]' ] || fail 'other goal'
}

# A type that jobs request may be owned, even if the catalogue does not have it.
case_draft_of_another_type() {
  printf 'submit_s,duration_s,gpus,gpu_type\n0,60,8,B777\n' >jobs.csv
  try 0 init --from jobs.csv --own 1x8xB777 -o mine.json
  try 0 run mine.json
  says stdout '1 completed, 0 rejected'
}

# Owned nodes have no price in a draft. Their cost is unknown, not zero.
case_draft_without_prices() {
  small_trace
  try 0 init --from jobs.csv --own 16x8xA100-80 --own 2x4xT4 --cloud aws:us-east-1 -o mine.json
  ! grep -q '"usd_per_gpu_hour": 0' mine.json || fail 'the draft has a price of zero'
  try 0 run mine.json --md run.md
  says stdout 'cost       unknown: pool own-a100-80 has no price'
  for file in stderr run.md; do
    says $file "pool 'own-a100-80' has no 'market' and no price; costs do not contain it"
  done
  ! grep -q '[$]0[.]00' stdout run.md || fail 'the run costs nothing'
  matches run.md '^| Cost | unknown |$'
  try 0 advise mine.json
  says stdout 'today      unknown cost, as pool own-a100-80 has no price, p95 wait'
  try 0 plan mine.json --brief
  says stdout 'own-t4     8 T4, no price'
  says stdout 'without own-t4, which has no price'
  matches stdout 'today  *no price'
}

# Goals without a provider: the plan finds the smallest cluster.
case_draft_finds_the_size() {
  small_trace
  try 0 init --from jobs.csv --own 16x8xA100-80 --own 1x4xT4 --goal 'wait_s.p95 <= 30 min' -o mine.json
  try 0 plan mine.json --brief
  says stdout 'meets goals'
}

# The scenario names the trace relative to its own folder.
case_draft_in_another_folder() {
  small_trace
  mkdir -p a/b c
  mv jobs.csv a
  try 0 init --from a/jobs.csv --own 2x8xA100-80 --own 1x1xT4 -o a/b/mine.json
  [ "$(json a/b/mine.json trace.file)" = '["../jobs.csv"]' ] || fail 'other path'
  try 0 validate a/b/mine.json
  says stdout '200 jobs'
  try 0 init --from a/jobs.csv --own 2x8xA100-80 -o c/mine.json
  [ "$(json c/mine.json trace.file)" = '["../a/jobs.csv"]' ] || fail 'other path'
  try 0 init --from "$PWD/a/jobs.csv" --own 2x8xA100-80 -o c/mine.json --force
  [ "$(json c/mine.json trace.file)" = "[\"$PWD/a/jobs.csv\"]" ] || fail 'other path'
  try 0 init --from a/jobs.csv --own 2x8xA100-80 -o -
  says stdout '"file": "a/jobs.csv"'
}

# The draft contains the settings with which the trace is read.
case_draft_keeps_the_columns() {
  printf 'start,runtime,n\n0,3600,8\n60,600,1\nx,1,1\n' >jobs.csv
  try 2 init --from jobs.csv --own 1x8xA100-80 -o mine.json
  [ ! -e mine.json ] || fail 'a file was written'
  try 0 init --from jobs.csv --map submit=start,duration=runtime,gpus=n --format csv --lenient --own 1x8xA100-80 -o mine.json
  [ "$(json mine.json trace)" = \
    '[{"file":"jobs.csv","format":"csv","columns":{"submit":"start","duration":"runtime","gpus":"n"},"lenient":true}]' ] ||
    fail 'other trace'
  try 0 run mine.json
  says stdout '2 submitted, 2 completed'
}

case_draft_of_slurm() {
  trace=$project/../shared/slurm-run/fifo.sacct
  [ -e "$trace" ] || { echo "skipped: $trace is missing"; exit 77; }
  try 0 init --from "$trace" --own 8x8xA100-80 -o mine.json
  says mine.json 'a100 (180 jobs, 100.0 % of the GPU hours)'
  ! grep -q 'are rejected' mine.json || fail 'the GPU type is not recognised'
  try 0 run mine.json
  says stdout '180 submitted, 180 completed, 0 rejected'
}

# In output of sacct, interactive jobs are recognized by the QOS, or else by the partition or the name. The draft
# contains the pattern.
slurm_trace() {
  awk -v qos="$1" -v partition="$2" -v name="$3" 'BEGIN {
    print "JobID|JobName|User|Partition|QOS|State|Submit|Start|End|ReqTRES|NNodes"
    for (i = 1; i <= 9; i++) {
      odd = i % 3 == 0
      day = "2026-01-0" i
      printf "%d|%s|u|%s|%s|COMPLETED|%sT00:00:00|%sT00:00:00|%sT05:00:00|gres/gpu:a100=1|1\n",
        i, odd ? name : "train", odd ? partition : "gpu", odd ? qos : "normal", day, day, day
    }
  }' >jobs.txt
}

case_draft_finds_interactive_jobs() {
  while read -r qos partition name column; do
    slurm_trace "$qos" "$partition" "$name"
    try 0 init --from jobs.txt --own 1x8xA100-80 --cloud aws --goal 'wait_s.p95 of interactive <= 10 min' -o mine.json --force
    matches mine.json "\"interactive\": \"$column~"
    says mine.json 'interactive (3 jobs'
    try 0 run mine.json
    matches stdout '^interactive +3 '
    try 0 plan mine.json --brief
  done <<'END'
interactive interactive jupyter QOS
normal interactive train Partition
normal gpu spawner-jupyterhub JobName
normal gpu bash JobName
END
}

case_draft_has_patterns() {
  slurm_trace normal gpu train
  try 0 init --from jobs.txt --own 1x8xA100-80 -o mine.json
  says mine.json 'No job has a class.'
  try 0 init --from jobs.txt --class 'training=JobName~train' --tenant-by 'us=User~.' --own 1x8xA100-80 -o mine.json --force
  [ "$(json mine.json trace.classes trace.tenants)" = '[{"training":"JobName~train"},{"us":"User~."}]' ] ||
    fail 'other patterns'
  try 0 run mine.json
  try 2 init --from jobs.txt --class 'training=JobName~a' --class 'training=QOS~b' -o mine.json --force
  says stderr "two patterns for class 'training'"
}

# The draft explains how jobs that request parts of GPUs are treated, and the remedy that it suggests works.
case_draft_tells_of_parts_of_gpus() {
  printf 'submit_s,duration_s,gpus,mig_profile,gpu_milli\n0,60,1,1g.10gb,\n1,60,1,,500\n2,60,1,,\n' >jobs.csv
  try 0 init --from jobs.csv --own 1x8xA100-80 -o mine.json
  says mine.json '1 job requests MIG instances.'
  says mine.json '1 job requests shares of GPUs: pools have '
  try 0 run mine.json
  says stdout '3 completed, 0 rejected'
}

# The names of GPU types in Slurm, Kubernetes and nvidia-smi are accepted for owned nodes and for instances of a
# provider.
case_draft_knows_names_of_gpus() {
  for name in a100 NVIDIA-A100-SXM4-80GB gpu:a100 A100-80; do
    printf 'submit_s,duration_s,gpus,gpu_type\n0,60,8,%s\n1,60,1,%s\n' "$name" "$name" >jobs.csv
    for options in '--own 1x8xA100-80' '--cloud aws' '--cloud gcp --own 1x8xA100-80' ''; do
      # shellcheck disable=SC2086 # options and their values
      try 0 init --from jobs.csv $options -o mine.json --force
      ! grep -q 'are rejected' mine.json || fail 'the name is not known'
      try 0 run mine.json
      says stdout '2 completed, 0 rejected'
    done
  done
}

case_draft_mistakes() {
  small_trace
  for own in 8 8x8 8xA100 0x8xA100-80 8x0xA100-80 x8xA100-80 8x8x -1x8xT4 '8 x 8 x T4'; do
    try 2 init --from jobs.csv --own "$own" -o mine.json
    says stderr "--own $own: expected NODESxGPUSxTYPE"
  done
  try 2 init --from jobs.csv --own 8x8xB777 -o mine.json
  says stderr "--own 8x8xB777: GPU type 'B777' is unknown; known: "
  try 2 init --from jobs.csv --own 8x8xA100-88 -o mine.json
  says stderr "did you mean 'A100-80'?"
  try 2 init --from jobs.csv --cloud asw -o mine.json
  says stderr "--cloud asw: "
  says stderr "did you mean 'aws'?"
  try 2 init --from jobs.csv --cloud aws:us-est-1 -o mine.json
  says stderr "did you mean 'us-east-1'?"
  try 2 init --from jobs.csv --cloud aws --goal 'wait_s.p95 = 1' -o mine.json
  says stderr "--goal: invalid goal 'wait_s.p95 = 1'"
  try 2 init --from jobs.csv --cloud aws --goal 'wait_s.p59 <= 1 h' -o mine.json
  says stderr "unknown metric 'wait_s.p59'; did you mean"
  try 2 init --from nosuch.csv -o mine.json
  says stderr 'nosuch.csv'
  try 2 init --from - -o mine.json
  says stderr '--from -: expected a file'
  try 2 init --from jobs.csv --all mine.json
  says stderr '--all and --from exclude each other'
  try 2 init --lenient mine.json
  says stderr 'options for reading a trace need --from TRACE'
  try 2 init a.json -o b.json
  says stderr 'two files to write'
  [ -z "$(ls -- *.json 2>/dev/null)" ] || fail 'a file was written'
}

run_case
