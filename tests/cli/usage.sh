#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Help, usage errors, options, lists, pipes, and the streams to which output is written.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

verbs='run report why compare diff check plan tco advise sweep merge fill forecast validate init list trace conform import fit serve help'
actions='generate check stats convert pack cut scale merge anonymise shuffle'
demo=$project/scenarios/demo.json

options_of() {
  # shellcheck disable=SC2086 # a verb, or a verb and its action
  "$headroom" help $1 | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

# ---- Help and usage ------------------------------------------------------------------------------------------------

case_help() {
  try 0 --help
  for verb in $verbs; do says stdout "  $verb"; done
  cp stdout overview
  try 0 help
  cmp -s overview stdout || fail "'help' and '--help' differ"
  for verb in $verbs; do
    try 0 help "$verb"
    says stdout "Usage: headroom $verb"
    [ "$(width stdout)" -le 80 ] || fail "help $verb is wider than 80 columns"
    cp stdout help
    try 0 "$verb" --help
    cmp -s help stdout || fail "'help $verb' and '$verb --help' differ"
    is_empty stderr
  done
}

case_version() {
  try 0 --version
  matches stdout '^headroom [0-9]+\.[0-9]+\.[0-9]+$'
  says "$project/CMakeLists.txt" "VERSION $(cut -d' ' -f2 stdout) "
}

case_no_arguments() {
  try 2
  is_empty stdout
  says stderr 'Usage: headroom VERB'
}

case_unknown_verb() {
  try 2 rum
  says stderr "headroom: unknown verb 'rum'; did you mean 'run'?"
  try 2 help lst
  says stderr "did you mean 'list'?"
  try 2 list polices
  says stderr "headroom: unknown list 'polices'; did you mean 'policies'?"
  try 2 trace generte
  says stderr "did you mean 'generate'?"
}

case_unknown_option() {
  try 2 run "$demo" --polcy queue
  says stderr "headroom: run: unknown option '--polcy'; did you mean '--policy'?"
  says stderr "Try 'headroom help run'."
  try 2 run "$demo" --jbos=x
  says stderr "did you mean '--jobs'?"
  try 2 list gpus -x
  says stderr "unknown option '-x'"
}

case_option_values() {
  try 2 run "$demo" --trace
  says stderr "option '--trace' needs a value: --trace FILE"
  try 2 run "$demo" --check=yes
  says stderr "option '--check' takes no value"
  try 2 run "$demo" --seed -1
  says stderr '--seed -1: expected a whole number from 0 to 18446744073709551615'
  try 2 trace generate --seed=-1
  says stderr '--seed -1: expected a whole number from 0 to 18446744073709551615'
  try 2 trace generate --count 0
  says stderr '--count 0: expected a whole number from 1 to'
  try 2 trace generate --load lots
  says stderr '--load lots: expected a number from'
  try 2 trace generate --gpu-counts 1:0.5,2
  says stderr '--gpu-counts 1:0.5,2: expected N:WEIGHT'
  says stderr "found '2'"
}

case_generate_like() {
  try 2 trace generate --like phily
  says stderr "unknown --like 'phily'; did you mean 'philly'?"
  try 2 trace generate --like jobs.cvs
  says stderr '--like jobs.cvs: cannot be read: No such file or directory'
  try 2 trace generate --like philly --sigma=2
  says stderr '--sigma cannot be used with --like'
  try 2 trace generate --like philly --nodes 4
  says stderr '--nodes has no effect without --load'
  try 2 trace generate --like philly --format csv
  says stderr "need a trace; 'philly' is a shipped model"
  try 2 trace generate --model-out model.json
  says stderr '--model-out has no effect without --like'
  try 2 trace generate --like philly --load nan
  says stderr '--load nan'
  echo '{ "headroom_workload": 1 }' >wrong.json
  try 2 trace generate --like wrong.json
  says stderr "wrong.json:1:24: workload models of version 1 are no longer read"
  echo '{ "headroom_workload": 2, ' >wrong.json
  try 2 trace generate --like wrong.json
  says stderr "wrong.json:"
  echo '{ "headroom_workload": 2 }' >wrong.json
  try 2 trace generate --like wrong.json
  says stderr "wrong.json:1:1"
  try 2 trace generate --like "$project/traces/reference/steady.csv" --output "$project/traces/reference/steady.csv"
  try 0 trace generate --like "$project/traces/reference/steady.csv" --count 50 --output one.csv --model-out model.json \
    --json -
  says stdout '"jobs": 50'
  try 0 trace generate --like model.json --count 50
  cmp stdout one.csv >&2 || fail 'a model that was written draws other jobs'
  try 2 trace generate --like model.json --lenient
  says stderr "--format, --map and --lenient need a trace; 'model.json' is a model file"
  try 0 trace generate --like=model.json --count 50 --users 3 --tenants 2
  says stdout 'tenant-2'
}

case_generate_like_notes() {
  try 0 trace generate --like acme-kalos --count 500 --load 0.7 --nodes 2 --output jobs.csv --json figures.json
  local large
  large=$(awk -F, 'NR > 1 && $4 > 16' jobs.csv | wc -l)
  [ "$large" -gt 10 ] || fail "$large jobs of more than 16 GPUs"
  says stderr "note: $large of 500 jobs do not fit on the cluster's 2 nodes of 8 GPUs; the largest needs "
  says figures.json "\"too_large\": $large"
  try 0 trace generate --like acme-kalos --count 500 --load 0.7 --nodes 2 --output jobs.csv --quiet
  is_empty stderr
  printf 'submit_s,duration_s,gpus\n0,10,1\n100,20,2\n' >two.csv
  try 0 trace generate --like two.csv --count 5
  says stderr 'note: two.csv: fitted to 2 jobs only, so the model overfits; use at least 30'
  try 0 trace generate --like two.csv --count 5 -q
  is_empty stderr
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 30; i++) print i * 60 ",10,1" }' >many.csv
  try 0 trace generate --like many.csv --count 5
  is_empty stderr
}

# Twelve days of ten jobs each. The run time of a job identifies its day and its number.
case_generate_resample() {
  awk 'BEGIN { print "submit_s,duration_s,gpus,user"
    for (i = 0; i < 120; i++) print int(i / 10) * 86400 + i % 10 * 8000 "," i + 1 ",2,u" i % 3 }' >days.csv
  try 0 trace generate --like days.csv --resample --seed 3 -o whole.csv
  try 0 trace generate --like days.csv --resample --seed 3 --count 300 -o long.csv
  try 0 trace generate --like days.csv --resample --seed 3 --count 300 -o again.csv
  cmp -s long.csv again.csv || fail 'the same seed draws other jobs'
  [ "$(wc -l <long.csv)" -eq 301 ] || fail "$(wc -l <long.csv) lines, not 300 jobs and a header"
  head -n "$(wc -l <whole.csv)" long.csv | cmp -s - whole.csv || fail 'more jobs do not begin with the same'
  awk -F, 'NR > 1 { day = int(($2 - 1) / 10); at = int($1 / 86400)
    if (at in drawn && drawn[at] != day) exit 1
    drawn[at] = day
    if ($1 % 86400 != ($2 - 1) % 10 * 8000 || $3 != 2 || $4 != "u" ($2 - 1) % 3) exit 1 }' long.csv || fail 'days are not whole'
  awk -F, 'NR > 1 { days[int(($2 - 1) / 10)]++ } END { for (day in days) n++; exit !(n > 3 && n < 12) }' whole.csv ||
    fail 'days are not drawn with replacement'
  try 0 trace generate --like days.csv --resample --blocks days --seed 4 -o other.csv
  ! cmp -s whole.csv other.csv || fail 'another seed draws the same jobs'
  try 2 trace generate --like days.csv --resample --blocks weeks
  says stderr 'days.csv: the trace has fewer than two whole weeks to draw from'
  head -n 5 days.csv >short.csv
  try 2 trace generate --like short.csv --resample
  says stderr 'short.csv: the trace has fewer than two whole days to draw from'
  try 2 trace generate --like days.csv --resample --blocks months
  says stderr "unknown --blocks 'months'"
  try 2 trace generate --like days.csv --blocks days
  says stderr '--blocks has no effect without --resample'
  try 2 trace generate --resample
  says stderr '--resample has no effect without --like'
  try 2 trace generate --like philly --resample
  says stderr "--resample needs a trace; 'philly' is a shipped model, which holds no jobs"
  try 0 trace generate --like days.csv --count 1 -o one.csv --model-out model.json
  try 2 trace generate --like model.json --resample
  says stderr "--resample needs a trace; 'model.json' is a model file, which holds no jobs"
  for words in '--model-out m.json' '--json j.json' '--users 3' '--tenants 3'; do
    # shellcheck disable=SC2086 # words
    try 2 trace generate --like days.csv --resample $words
    says stderr "${words% *} cannot be used with --resample, which draws from no model"
  done
  try 2 trace generate --like days.csv --resample --load 0.5
  says stderr '--load cannot be used with --resample'
  try 2 trace generate --like days.csv --resample -o days.csv
  says stderr 'days.csv'
  try 2 trace generate --like days.csv --resample -o days.swf
  says stderr 'SWF would lose'
}

case_operands() {
  try 2 run
  says stderr 'run: SCENARIO is missing'
  try 2 run "$demo" another.json
  says stderr "unexpected argument 'another.json'"
  try 2 list
  says stderr 'list: WHAT is missing'
}

# ---- Lists ---------------------------------------------------------------------------------------------------------

case_list_policies() {
  try 0 list policies
  matches stdout '^queue +'
  matches stdout '^sjf +alias for queue:order=sjf$'
  try 0 list policies -v
  matches stdout '^    order = fifo [|] .* [|] las'
  says stdout 'backfill = strict | skip | easy | conservative'
  says stdout 'placement = pool | first-fit | best-fit | worst-fit'
}

case_list_formats() {
  try 0 list formats
  for format in auto csv swf philly openb sacct kubernetes philly-log helios pai2020 spot2026 acme gavel azure-llm \
    batsim gaia lwa packed; do matches stdout "^$format +[^ ]"; done
}

# All findings of trace check, and all fields that --map accepts.
case_list_findings_and_fields() {
  try 0 list findings
  for code in bad-rows clamped-run-times recorded-over-capacity no-recorded-starts; do
    matches stdout "^$code( |\$)"
  done
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  sed -n 's/^\([a-z][^ ]*\).*/\1/p' stdout | paste -sd, >codes
  printf 'submit_s,duration_s,gpus\n0,1,1\n' >t.csv
  try 0 trace check t.csv --allow "$(cat codes)"
  says stdout '0 errors, 0 warnings, 0 notes'
  try 0 list fields
  matches stdout '^submit +column submit_s, required$'
  matches stdout '^start +column start_s$'
}

case_list_metrics() {
  try 0 list metrics
  matches stdout '^wait_s.p95 +s +lower +Wait, p95$'
  matches stdout '^utilization.makespan +share +higher +Utilization$'
  matches stdout '^gpu_hours +GPU-hours +- +GPU hours$'
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  try 0 list metrics --path cost. --verbose
  says stdout 'capacity and services'
  [ "$(grep -c '^[a-z]' stdout)" = "$(grep -c '^cost\.\|^metric' stdout)" ] || fail 'lists other metrics'
  try 2 list metrics --path waits
  says stderr "no metric begins with 'waits'"
  try 2 list policies --path wait_s
  says stderr "option '--path' cannot be used with 'list policies'"
}

case_list_scenarios() {
  HEADROOM_DATA=$project try 0 list scenarios
  for name in demo helios openb philly swf; do matches stdout "^$name +[^ ]"; done
  says stdout "$demo"
  HEADROOM_DATA=$work try 2 list scenarios
  matches stderr 'scenarios: no such folder; HEADROOM_DATA'
  mkdir scenarios
  echo '{"name":"mine","description":"A test. More."}' >scenarios/m.json
  HEADROOM_DATA=$work try 0 list scenarios
  matches stdout '^mine +A test$'
}

# Without HEADROOM_DATA, the program finds the scenarios of its build tree or of its installation.
case_list_scenarios_beside_the_program() {
  mkdir -p prefix/bin prefix/share/headroom tree/build/some tree/scenarios
  cp "$headroom" prefix/bin
  cp -r "$project/scenarios" prefix/share/headroom
  cp "$headroom" tree/build/some
  cp "$project/scenarios/swf.json" tree/scenarios
  headroom=$work/prefix/bin/headroom
  try 0 list scenarios
  says stdout "$work/prefix/share/headroom/scenarios/demo.json"
  headroom=$work/tree/build/some/headroom
  try 0 list scenarios
  says stdout "$work/tree/scenarios/swf.json"
  rm -r tree/scenarios
  try 2 list scenarios
  says stderr 'no shipped scenarios beside the program; set HEADROOM_DATA'
}

case_list_gpus() {
  try 0 list gpus
  for gpu in A100-40 A100-80 H100 L4 T4 A10G V100 P100 H200 B200 L40S; do matches stdout "^$gpu +[0-9]"; done
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  try 0 list gpus -v
  says stdout 'assumed'
  says stdout 'bf16_tflops   989  fp32_tflops    67  achievable   0.8  pcie  63  mig 7'
  try 0 list gpus --gpu h100
  [ "$(wc -l <stdout)" -eq 2 ] || fail "not one GPU type alone"
}

case_list_mig_profiles() {
  try 0 list mig-profiles
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^A30 +2g\.12gb\+me +2 +2 +11968 +28 +1 +0,2 +derived$'
  matches stdout '^A100-40 +1g\.10gb +1 +2 +9856 +14 +4 +0,2,4,6 +quoted$'
  matches stdout '^H100 +3g\.40gb +3 +4 +40448 +60 +2 +0,4 +mixed$'
  local n_types
  n_types=$(awk '$2 ~ /^[0-9]+g\./ { types[$1] = 1 } END { for (type in types) n++; print n }' stdout)
  [ "$n_types" -ge 6 ] || fail "profiles of $n_types GPU types only"
  try 0 list mig-profiles -v
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  [ "$(grep -c 'memory slice ' stdout)" -eq "$n_types" ] || fail "not a drawing for each GPU type"
  try 0 list mig-profiles -v --gpu a100-80
  if grep -qE '^(A30|H100|A100-40)' stdout; then fail "rows that the filter excludes"; fi
  says stdout 'mock/gpus'
  says stdout '    3g.40gb      |---------------|---------------|'
  says stdout '    2g.20gb      |-------|-------|-------|'
  says stdout '    all-balanced 2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4'
  says stdout '    group4       7g.80gb@0'
  try 2 list mig-profiles --gpu L40S
  says stderr "GPU type 'L40S' does not support MIG; these do: A30, A100-40, A100-80, H100, "
  is_empty stdout
  try 2 list mig-profiles --provider aws
  says stderr "option '--provider' cannot be used with 'list mig-profiles'"
}

case_list_network_speeds() {
  try 0 list network-speeds
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^BERT-large +infiniband +128 +0\.895  derived$'
  matches stdout '^Transformer +25gbe +8 +0\.413  derived$'
  try 0 list network-speeds -v
  says stdout 'DeepLearningExamples'
  try 2 list network-speeds --gpu A100-80
  says stderr "option '--gpu' cannot be used with 'list network-speeds'"
}

case_topology() {
  small_scenario
  sed -i 's/"gpus_per_node": 8/&, "topology": {"nodes_per_rack": 1, "network": {"rack": "infiniband", "pool": "25gbe"}}/' s.json
  printf 'job_id,submit_s,duration_s,gpus,model\n1,0,100,16,BERT-huge\n2,0,100,4,\n' >t.csv
  try 0 validate s.json
  says stdout 'topology: racks of 1 nodes; networks: rack infiniband, pool 25gbe'
  try 0 run s.json --trace t.csv --jobs jobs.csv
  says stderr 'note: network_speeds: 100.0 % of the GPU time of jobs that span a network'
  says stderr 'as fast as within a node: BERT-huge'
  try 0 run s.json --trace t.csv --jobs jobs.csv --set 'network_speeds=[{"network":"25gbe","speed":0.8}]'
  if grep -q network_speeds stderr; then fail "there is a note although the value exists"; fi
  says jobs.csv '1,0,0,125,0,16,2,completed'
}

case_list_instances() {
  try 0 list instances
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^aws +p5\.48xlarge +H100 +8 +192 +2048 +30400 quoted$'
  try 0 list instances --provider gcp --gpu L4
  matches stdout '^gcp +g2-standard-4 +L4 +1 +4 +16 +375 mixed$'
  if grep -qvE '^(provider|gcp +[^ ]+ +L4) ' stdout; then fail "rows other than L4 at gcp"; fi
  try 0 list instances -v --provider lambda
  says stdout 'network_gbit     -'
}

case_list_prices() {
  try 0 list prices
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  says stdout 'aws, us-east-1'
  says stdout 'runpod, all regions'
  matches stdout '^p5\.48xlarge +8xH100 +on-demand +55\.040 +6\.880 2026-07-20 quoted$'
  matches stdout '^p5\.48xlarge +8xH100 +block +39\.330 +4\.916 2024-10 +quoted$'
  try 0 list prices --provider aws --region eu-west-1 --gpu A100-40 --as-of 2025-05
  matches stdout '^p4d\.24xlarge +8xA100-40 on-demand +35\.397 +4\.425 2024-05-01 quoted$'
  try 0 list prices --provider aws --region eu-west-1 --gpu A100-40 --as-of 2025
  matches stdout '^p4d\.24xlarge +8xA100-40 on-demand +23\.716 +2\.964 2025-06 +derived$'
  try 0 list prices --provider aws --region eu-west-1 --gpu A100-40 -v
  says stdout "scaled by the change in us-east-1 since"
}

case_list_discounts() {
  try 0 list discounts --provider aws
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^aws +p4d +1y +all +42\.54 +2025-05-28 +derived$'
  matches stdout '^aws +p5 +spot +any +70 +2025-06 +derived$'
  try 0 list discounts --provider aws --as-of 2024
  if grep -q ' 2025' stdout; then fail "a discount of later"; fi
  matches stdout '^aws +p5 +spot +any +58 +2024-05-01 +derived$'
}

case_list_spot_presets() {
  try 0 list spot-presets
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^aws-v100-us-east-1 aws +V100 +us-east-1 +on-off +0\.643 +derived$'
  matches stdout '^advisor-over-20 +aws +\* +\* +advisor +0\.000394 +assumed$'
  try 0 list spot-presets --provider gcp --region us-east1 --gpu A100-40 -v
  matches stdout '^gcp-a100 '
  matches stdout '^gcp-preemptible '
  says stdout 'notice 30 s, about 47 % off on-demand, 4.28 nodes at once on average'
  if grep -qE '^(aws|advisor|gcp-v100)' stdout; then fail "rows that the filter excludes"; fi
}

case_list_what_is_not_there() {
  try 2 list prices --provider asw
  says stderr "provider 'asw' is unknown; did you mean 'aws'?"
  try 2 list prices --provider aws --region us-est-1
  says stderr "region of aws 'us-est-1' is unknown; did you mean 'us-east-1'?"
  try 2 list prices --region us-est-1
  says stderr "no provider has a region 'us-est-1'; did you mean 'us-east-1'?"
  try 2 list prices --gpu A100-60
  says stderr "GPU type 'A100-60' is unknown; did you mean 'A100-40'?"
  try 2 list prices --as-of yesterday
  says stderr '--as-of yesterday: expected a date such as 2026-07-20'
  try 2 list prices --provider aws --as-of 2023
  says stderr 'the catalogue has no price of this provider, region, GPU and date'
  is_empty stdout
  try 2 list formats --gpu H100
  says stderr "option '--gpu' cannot be used with 'list formats'"
}

# ---- Pipes, terminals and output streams ---------------------------------------------------------------------------

case_closed_pipe() {
  set +o pipefail
  "$headroom" trace generate --count 200000 2>stderr | head -n 1 >stdout
  local codes=("${PIPESTATUS[@]}")
  [ "${codes[0]}" -eq 141 ] || fail "exit code ${codes[0]}, not that of SIGPIPE"
  is_empty stderr
  [ "$(wc -l <stdout)" -eq 1 ] || fail "no first line"
}

case_table_only_without_dash() {
  try 0 run "$demo" --json -
  [ "$(head -c 1 stdout)" = '{' ] || fail "standard output is not JSON alone"
  try 0 run "$demo" --jobs -
  matches stdout '^job_id,submit_s,start_s,end_s,wait_s,gpus,nodes,state'
  [ "$(sed -n 2,\$p stdout | grep -cv ,)" -eq 0 ] || fail "more than CSV on standard output"
  try 0 run "$demo" --quiet
  is_empty stdout
  is_empty stderr
}

# Rejected jobs do not change the exit code. If all jobs are rejected, a warning is printed even with --quiet.
case_quiet_warns_if_all_are_rejected() {
  printf 'submit_s,duration_s,gpus\n0,10,999\n5,1,888\n' >large.csv
  for options in '' --stream '--replications 2' '--json s.json'; do
    # shellcheck disable=SC2086 # words
    try 1 run "$demo" --trace large.csv --quiet $options
    head -1 stderr | grep -q '^warning: 2 of 2 jobs (100.0 %) can never run' || fail 'no warning'
    says stderr 'large.csv: all 2 jobs were rejected'
    is_empty stdout
  done
  printf 'submit_s,duration_s,gpus\n0,10,999\n5,1,8\n' >mixed.csv
  for options in '' --stream '--replications 2'; do
    # shellcheck disable=SC2086 # words
    try 0 run "$demo" --trace mixed.csv --quiet $options
    head -1 stderr | grep -q '^warning: 1 of 2 jobs (50.0 %) can never run' || fail 'no warning'
    [ "$(wc -l <stderr)" -eq 2 ] || fail 'more than the warning and its reason'
  done
}

case_no_colour_in_files() {
  TERM=xterm try 0 run "$demo"
  if grep -q $'\033' stdout; then fail "terminal colours in a file"; fi
  is_empty stderr
}

# Charts use Unicode blocks if the terminal supports them, otherwise ASCII.
case_bars() {
  local environment
  for environment in LC_ALL=C.UTF-8 LC_CTYPE=en_US.utf8 LANG=de_DE.UTF-8@euro; do
    env "$environment" TERM=xterm "$headroom" run "$demo" >stdout
    LC_ALL=C.UTF-8 matches stdout '^ {13}[▁▂▃▄▅▆▇█]{60} 64$'
  done
  for environment in LC_ALL=C LANG= LC_ALL=de_DE.ISO-8859-1; do
    env LANG=C.UTF-8 "$environment" TERM=xterm "$headroom" run "$demo" >stdout
    matches stdout '^ {13}[_.:=+*#-]{60} 64$'
    if LC_ALL=C grep -q '[^ -~]' stdout; then fail "$environment: more than ASCII"; fi
  done
  LC_ALL=C.UTF-8 TERM=dumb try 0 run "$demo"
  if LC_ALL=C grep -q '[^ -~]' stdout; then fail "TERM=dumb: more than ASCII"; fi
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
}

# https://no-color.org, https://bixense.com/clicolors
case_colour_on_demand() {
  CLICOLOR_FORCE=1 try 0 run "$demo"
  says stdout $'\033[1m'
  for environment in CLICOLOR_FORCE=0 CLICOLOR_FORCE=; do
    env "$environment" TERM=xterm "$headroom" run "$demo" >stdout
    if grep -q $'\033' stdout; then fail "$environment: terminal colours in a file"; fi
  done
  NO_COLOR=1 CLICOLOR_FORCE=1 try 0 run "$demo"
  if grep -q $'\033' stdout; then fail "NO_COLOR does not have precedence"; fi
}

case_same_run_same_bytes() {
  mkdir a b
  try 0 run "$demo" --quiet --jobs a/jobs.csv --timeline a/timeline.csv
  try 0 run "$demo" --quiet --check --jobs b/jobs.csv --timeline b/timeline.csv
  diff -r a b >/dev/null || fail "--check changes results"
}

# The notes of a run are those of its replications, too.
case_notes_of_replications() {
  local note='note: horizon_s: 4 of 12 jobs are submitted after the horizon and are left out'
  printf 'job_id,submit_s,duration_s,gpus\n' >jobs.csv
  for i in $(seq 12); do echo "$i,$i,60,1"; done >>jobs.csv
  echo '{ "trace": { "file": "jobs.csv" }, "horizon_s": 7, "policy": { "name": "queue" },
    "cluster": { "pools": [ { "name": "a", "gpu": "L4", "nodes": 1, "gpus_per_node": 4 } ] } }' >horizon.json
  try 0 run horizon.json
  says stderr "$note"
  try 0 run horizon.json --replications 3 --json runs.json
  says stderr "$note"
  [ "$(grep -c "${note#note: }" runs.json)" = 1 ] || fail 'the note is not once in the JSON file'
}

case_options_change_the_run() {
  digest() {
    try 0 run "$demo" --json - "$@"
    grep -oE '"digest": *"[^"]*"' stdout
  }
  local plain set_ policy
  plain=$(digest)
  set_=$(digest --set policy.order=largest --set policy.backfill=skip)
  policy=$(digest --policy queue:order=largest,backfill=skip)
  [ "$set_" != "$plain" ] || fail "--set has no effect"
  [ "$set_" = "$policy" ] || fail "--set and --policy differ"
  [ "$(digest --policy=queue:order=fifo,backfill=easy,placement=best-fit)" = "$plain" ] || fail "--policy differs"
}

case_column_map() {
  small_scenario
  printf 'when,long,n\n100.5,10,16\n101,10,1\n' >t.csv
  try 0 run s.json --trace t.csv --map submit=when,duration=long,gpus=n --jobs jobs.csv
  matches jobs.csv '^1,100\.5,100\.5,110\.5,0,16,'
  matches jobs.csv '^2,101,110\.5,120\.5,9\.5,1,'
}

case_regions() {
  cat >s.json <<'END'
{ "policy": { "name": "queue", "backfill": "skip" }, "cluster": { "pools": [
  { "name": "nowhere", "gpu": "A100-40", "nodes": 1, "gpus_per_node": 8 },
  { "name": "west", "gpu": "A100-40", "region": "us-west-2", "nodes": 1, "gpus_per_node": 8 },
  { "name": "east", "gpu": "L4", "region": "us-east-1", "nodes": 1, "gpus_per_node": 4 } ] } }
END
  cat >t.csv <<'END'
job_id,submit_s,duration_s,gpus,gpu_type,regions
any,0,9,1,,
west,0,9,1,,eu-west-1|US-WEST-2
east,0,9,1,A100-40|L4,us-east-1
wrong-region,0,9,1,A100-40,us-east-1
wrong-gpu,0,9,1,H100,us-east-1
large,0,9,5,,us-east-1
END
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^any,.*,completed,'
  matches jobs.csv '^west,.*,completed,.*,west,'
  matches jobs.csv '^east,.*,completed,.*,east,'
  says stderr 'rejected: wrong-region (no-such-region: '
  says stderr 'rejected: wrong-gpu (no-such-gpu-type'
  says stderr 'rejected: large (too-large'
}

case_memory_of_gpus() {
  cat >s.json <<'END'
{ "policy": { "name": "queue", "placement": "first-fit" }, "cluster": { "pools": [
  { "name": "small", "gpu": "T4", "nodes": 1, "gpus_per_node": 8 },
  { "name": "own", "gpu": "X1", "nodes": 1, "gpus_per_node": 4, "gpu_mem_gb": 20.5 },
  { "name": "large", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 4 } ] } }
END
  cat >t.csv <<'END'
job_id,submit_s,duration_s,gpus,gpu_mem_gb,gpu_type
a,0,9,1,20.5,
b,0,9,1,20.6,
c,0,9,1,81,
d,0,9,1,17,T4
END
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^a,0,0,9,.*,own,'
  matches jobs.csv '^b,0,0,9,.*,large,'
  says stderr 'rejected: c, d (gpu-memory: '
}

# One node of one GPU, which is shared with these settings.
sharing_scenario() {
  echo "{ \"policy\": { \"name\": \"queue\", \"backfill\": \"skip\" }, \"cluster\": { \"pools\": [
    { \"name\": \"p\", \"gpu\": \"L4\", \"nodes\": 1, \"gpus_per_node\": 1, $1 } ] } }"
}

case_sharing() {
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli\na,0,100,1,400\nb,0,100,1,400\nc,50,50,1,200\n' >t.csv
  sharing_scenario '"sharing": "fraction"' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --quiet
  matches jobs.csv '^a,0,0,100,'
  matches jobs.csv '^c,50,50,100,'
  sharing_scenario '"sharing": "time-slice", "replicas": 2' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --quiet
  matches jobs.csv '^b,0,0,200,'
  matches jobs.csv '^c,50,200,250,'
  sharing_scenario '"sharing": "mps", "interference": [ { "up_to": 0.9, "speed": 0.5 }, { "up_to": 1, "speed": 0.25 } ]' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --quiet
  matches jobs.csv '^c,50,50,250,' # with three jobs each has a quarter of the speed, until c ends
  matches jobs.csv '^a,0,0,300,'   # 25 s of work until 50 s, 75 s until 250 s, the rest at half speed
  sharing_scenario '"sharing": "time-slice"' >s.json
  try 2 run s.json --trace t.csv
  says stderr "s.json:2:"
  says stderr "'time-slice' needs 'replicas'"
  sharing_scenario '"sharing": "fraction", "replicas": 2' >s.json
  try 2 run s.json --trace t.csv
  says stderr "only GPUs shared by 'mps' or 'time-slice' have replicas"
  sharing_scenario '"sharing": "mps", "interference": [ { "up_to": 1, "speed": 0.5 }, { "up_to": 1, "speed": 0.4 } ]' >s.json
  try 2 run s.json --trace t.csv
  says stderr "'up_to' must increase"
  sharing_scenario '"sharing": "mps", "interference_pairs": [ { "model": "x", "with": "y", "speed": 0.5 } ]' >s.json
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli,model\na,0,100,1,400,x\nb,0,100,1,400,y\n' >t.csv
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --quiet
  matches jobs.csv '^a,0,0,150,' # half the speed while b runs
  matches jobs.csv '^b,0,0,100,'
  sharing_scenario '"sharing": "mps", "interference_pairs": [ { "model": "x", "with": "z", "speed": 0.5 } ]' >s.json
  try 0 run s.json --trace t.csv
  says stderr "interference_pairs has model 'z'"
  # A quarter of an L4 of 24 GB has 6 GB.
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli,gpu_mem_gb\na,0,100,1,100,9\n' >m.csv
  sharing_scenario '"sharing": "mps", "replicas": 4' >p.json
  try 1 run p.json --trace m.csv
  says stderr 'rejected: a (gpu-memory'
  sharing_scenario '"sharing": "mps", "interference_pairs": [ { "model": "x", "with": "y", "speed": 0.5 },
    { "model": "x", "with": "y", "speed": 1 } ]' >s.json
  try 2 run s.json --trace t.csv
  says stderr "duplicate pair 'x' with 'y'"
  sharing_scenario '"sharing": "turns"' >s.json
  try 2 run s.json --trace t.csv
  says stderr "time-slice"
}

# Per-GPU allocation of whole GPUs gives the same schedule. 'within' a rack has no effect in a pool without racks.
case_by_gpu_changes_nothing() {
  # Limits are 0 to 3 times the run times, so many jobs are overdue at the same time.
  try 0 trace generate --count 3000 --seed 7 --load 1.1 --nodes 8 --limit-max 3 --output made.csv
  awk -F, 'NR == 1 { print $0 ",within"; next } { print $0 "," (NR % 3 ? "" : "rack") }' made.csv >near_made.csv
  for backfill in strict skip easy; do
    set -- --quiet --set "policy.backfill=$backfill"
    try 0 run "$demo" "$@" --trace made.csv --jobs whole.csv
    try 0 run "$demo" "$@" --trace made.csv --jobs told_apart.csv --set cluster.by_gpu=true
    try 0 run "$demo" "$@" --trace near_made.csv --jobs near.csv --set cluster.by_gpu=true
    for jobs in whole told_apart near; do cut -d, -f1-9 "$jobs.csv" >"$jobs.starts"; done
    cmp -s whole.starts told_apart.starts || fail "$backfill: jobs start at other times with per-GPU allocation"
    cmp -s whole.starts near.starts || fail "$backfill: jobs start at other times if they name racks"
  done
}

# One node of one GPU, which is partitioned in this way.
split_scenario() {
  echo "{ \"policy\": { \"name\": \"queue\", \"backfill\": \"skip\" }, \"cluster\": { \"pools\": [
    { \"name\": \"p\", \"gpu\": \"$1\", \"nodes\": 1, \"gpus_per_node\": 1, \"sharing\": \"mig\", \"mig\": { $2 } } ] } }"
}

case_mig() {
  # Two instances 3g use all memory, so no 1g fits. 2g, 2g, 2g leave the last slice free.
  printf 'job_id,submit_s,duration_s,gpus,mig_profile\na,0,100,1,3g.40gb\nb,0,100,1,3g.40gb\nc,0,100,1,1g.10gb\n' >t.csv
  split_scenario A100-80 '"mode": "on-demand"' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^a,0,0,100,.*,0.0:3g.40gb@4$'
  matches jobs.csv '^b,0,0,100,.*,0.0:3g.40gb@0$'
  matches jobs.csv '^c,0,100,200,'
  printf 'job_id,submit_s,duration_s,gpus,mig_profile\na,0,100,1,2g\nb,0,100,1,2g\nc,0,100,1,2g\nd,0,100,1,1g\n' >t.csv
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^d,0,0,100,.*,0.0:1g.10gb@6$'
  # Static layouts: shares and memory select the smallest instance that is large enough.
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli,gpu_mem_gb\na,0,100,1,100,5\nb,0,100,1,100,15\nc,0,100,1,400,5\nd,0,100,1,1000,5\n' >t.csv
  split_scenario A100-80 '"layout": "all-balanced"' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --set cluster.mig_fallback=true
  matches jobs.csv '^a,0,0,100,.*:1g.10gb@'
  matches jobs.csv '^b,0,0,100,.*:2g.20gb@'
  matches jobs.csv '^c,0,0,100,.*:3g.40gb@'
  matches jobs.csv '^d,0,,,,1,,rejected,no-such-mig-profile,'
  says stderr 'rejected: d (no-such-mig-profile: '
  try 0 validate s.json
  says stdout 'all-balanced: 2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4; GPU 0'
  # A GPU without jobs is reconfigured. Jobs that arrive meanwhile wait for the reconfiguration too.
  printf 'job_id,submit_s,duration_s,gpus,mig_profile\na,0,100,1,2g\nb,5,10,1,2g\nc,6,10,1,7g\n' >t.csv
  split_scenario A100-80 '"mode": "dynamic", "repartition_s": 30' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^a,0,0,130,'
  matches jobs.csv '^b,5,5,40,'
  matches jobs.csv '^c,6,130,170,.*:7g.80gb@0$'
  if grep -q 'given up' stderr; then fail "a completed run was stopped"; fi
}

# In mode dynamic, a GPU has its initial layout after a failure or maintenance, and the layout that it had before if its
# node only opens again. The policies and the engine agree on it.
case_mig_after_repairs() {
  awk 'BEGIN { print "job_id,submit_s,duration_s,gpus,mig_profile"; seed = 1; split("1g.10gb 2g.20gb 3g.40gb 7g.80gb", profile, " ")
    for (i = 1; i <= 400; i++) {
      seed = seed * 16807 % 2147483647
      printf "%d,%d,%d,1,%s\n", i, i * 60, 100 + seed % 1500, profile[1 + int(seed / 1500) % 4]
    } }' >mig.csv
  mig_nodes() {
    echo "{ \"trace\": { \"file\": \"mig.csv\" }, \"cluster\": { \"pools\": [ { \"name\": \"m\", \"gpu\": \"A100-80\",
      \"nodes\": 4, \"gpus_per_node\": 2, \"sharing\": \"mig\", \"mig\": { \"mode\": \"dynamic\" }$2 } ]$3 },
      \"policy\": { \"name\": \"queue\", \"backfill\": \"skip\" } }" >"$1.json"
  }
  mig_nodes faults '' ', "faults": { "mtbf_h": 0.5, "repair_s": 600 }'
  mig_nodes maintenance ', "maintenance": [ { "start_s": 2000, "duration_s": 900, "nodes_per_group": 1 } ]' ''
  for world in faults maintenance; do
    for policy in queue:backfill=skip queue:backfill=easy queue:backfill=conservative kueue kubernetes volcano rounds \
      gang-slice; do
      try 0 run $world.json --policy $policy --check --quiet --json out.json
      says out.json '"completed": 400'
    done
  done
}

# A node that has come up has its initial layout at once, even if its GPUs were being reconfigured when it went down.
case_mig_reconfiguration_ends_with_the_node() {
  printf 'job_id,submit_s,duration_s,gpus,mig_profile\n0,0,90,1,7g.80gb\n1,105,50,1,1g.10gb\n' >mig.csv
  cat >mig.json <<'END'
{ "trace": { "file": "mig.csv" }, "horizon_s": 3000, "cluster": { "pools": [ { "name": "m", "gpu": "A100-80", "nodes": 1,
    "gpus_per_node": 1, "sharing": "mig",
    "mig": { "mode": "dynamic", "layout": "all-1g.10gb", "repartition_s": 1000 },
    "maintenance": [ { "start_s": 100, "duration_s": 10, "drain": "deadline-kill" } ] } ] },
  "policy": { "name": "queue", "order": "smallest", "backfill": "skip" } }
END
  try 0 run mig.json --check --quiet --jobs jobs.csv
  matches jobs.csv '^1,105,110,160,'
}

# An autoscaler assumes the initial layout for nodes that it requests, whatever their layout was before they were
# released.
case_mig_of_requested_nodes() {
  for first in 1g.10gb 3g.40gb; do
    { printf 'job_id,submit_s,duration_s,gpus,mig_profile\n0,0,100,1,%s\n' $first
      for i in 1 2 3 4 5 6 7; do echo "$i,5000,1000,1,1g.10gb"; done; } >mig.csv
    cat >mig.json <<'END'
{ "trace": { "file": "mig.csv" }, "cluster": { "pools": [ { "name": "m", "gpu": "A100-80", "nodes": 6, "gpus_per_node": 1,
    "market": "on-demand", "usd_per_gpu_hour": 1, "boot_s": 60, "sharing": "mig",
    "mig": { "mode": "dynamic", "layouts": ["group1", "all-balanced"] } } ] }, "policy": { "name": "kubernetes" } }
END
    try 0 run mig.json --check --quiet --json $first.json
    matches $first.json '"total_usd": 0.505556'
  done
}

case_mig_mistakes() {
  printf 'job_id,submit_s,duration_s,gpus\na,0,100,1\n' >t.csv
  split_scenario T4 '"layout": "all-balanced"' >s.json
  try 2 run s.json --trace t.csv
  says stderr "GPU type 'T4' does not support MIG; these do: A30"
  split_scenario A100-40 '"layout": "all-1g.11gb"' >s.json
  try 2 run s.json --trace t.csv
  says stderr "did you mean 'all-1g.10gb'"
  printf 'job_id,submit_s,duration_s,gpus,gpu_mem_gb,mig_profile\na,0,100,1,20,1g.10gb\n' >m.csv
  split_scenario A100-80 '"layout": "all-1g.10gb"' >s.json
  try 1 run s.json --trace m.csv
  says stderr 'rejected: a (no-such-mig-profile'
  split_scenario A100-40 '"layout": "4g,4g"' >s.json
  try 2 run s.json --trace t.csv
  says stderr "s.json:2:"
  split_scenario A100-40 '' >s.json
  try 2 run s.json --trace t.csv
  says stderr "'mig' needs 'layout'"
  split_scenario A100-40 '"mode": "dynamic", "create_s": 1' >s.json
  try 2 run s.json --trace t.csv
  says stderr "'create_s' needs mode 'on-demand'"
  split_scenario A100-40 '"layout_of_gpus": [ "7g", "7g" ]' >s.json
  try 2 run s.json --trace t.csv
  says stderr "a node has 1 GPUs"
  sed 's|"sharing": "mig"|"sharing": "fraction"|' s.json >t.json
  try 2 run t.json --trace t.csv
  says stderr "'mig' needs 'sharing' 'mig'"
}

# Two jobs of 9 GB on a GPU of 16 GB: the second runs out of memory at 0, 10, 30 and 70 s, and runs from 150 s.
case_memory_first_come() {
  printf 'job_id,submit_s,duration_s,gpus,gpu_mem_gb\na,0,100,1,9\nb,0,50,1,9\n' >t.csv
  sharing_scenario '"sharing": "time-slice", "replicas": 2, "gpu_mem_gb": 16' >s.json
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json run.json
  matches jobs.csv '^job_id,.*,requeue_wait_s,cost_usd,oom_kills,seats$'
  matches jobs.csv '^a,0,0,100,.*,0,0\.0$'
  matches jobs.csv '^b,0,0,200,0,.*,1,0,0,150,0,,4,0\.0$'
  matches run.json '"count": 4,'
  matches run.json '"back_off_gpu_hours": 0.020833'
  matches run.json '"restart_gpu_hours": 0.020833'
  says stdout 'out of mem 4 kills of 1 job'
  if grep -q 'given up' stderr; then fail 'given up, but it was over'; fi
  try 0 validate s.json
  says stdout 'shared: time-slice in 2, memory: first-come'
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json run.json --set cluster.pools.0.memory=reserved
  matches jobs.csv '^b,0,100,150,'
  if grep -q 'oom_kills' jobs.csv run.json; then fail 'kills where memory is reserved'; fi
  for sharing in whole fraction mps; do
    sharing_scenario "\"sharing\": \"$sharing\", \"memory\": \"reserved\"" >s.json
    try 0 run s.json --trace t.csv --check
    sharing_scenario "\"sharing\": \"$sharing\", \"memory\": \"first-come\"" >s.json
    try 2 run s.json --trace t.csv
    says stderr 's.json:2:'
    says stderr "'first-come' memory needs 'sharing' 'time-slice'; with '$sharing' memory is 'reserved'"
  done
  sharing_scenario '"sharing": "time-slice", "replicas": 2, "memory": "mine"' >s.json
  try 2 run s.json --trace t.csv
  says stderr 'first-come'
}

# Job 3 (10 s) needs the A100, where job 1 has 4 s left at 6 s, so job 3 does not start. Job 4 (9 s) may preempt job 2
# on the L4, which has 12 s left. Job 3 may preempt the same jobs and was refused, but this does not prevent the start
# of job 4, because job 3 is behind job 4 in the queue.
case_refusals_depend_on_the_type() {
  printf 'submit_s,gpus,duration_s,gpu_type\n3,1,7,\n3,1,16,\n6,1,10,A100-80\n7,1,9,\n' >jobs.csv
  printf '%s' '{"cluster": {"pools": [{"name": "a", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1},
    {"name": "l", "gpu": "L4", "nodes": 1, "gpus_per_node": 1}]},
    "policy": {"name": "queue", "order": "srtf", "preemption": "order", "backfill": "strict"}}' >s.json
  try 0 run s.json --trace jobs.csv --jobs jobs.out --check
  [ "$(cut -d, -f3,4 jobs.out | tail -n +2 | tr '\n' ' ')" = '3,10 3,28 10,20 7,16 ' ] || fail 'other times'
}

# put_service: writes s.json, a service with a replica on one of two pools.
put_service() {
  cat >s.json <<'END'
{"cluster": {"pools": [{"name": "a", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "region": "eu"},
    {"name": "l", "gpu": "L4", "nodes": 1, "gpus_per_node": 4}]},
 "services": [{"name": "chat", "requests": {"rate_per_s": 1, "count": 5, "prompt_tokens": {"mean": 9},
    "output_tokens": {"mean": 9}},
  "autoscale": {"policy": "knative", "max": 2},
  "slo": {"e2e_ms": 60000},
  "replica": {"gpus": 1,
    "engine": {"name": "single"}, "cost": {"fixed_us": 1000}}}]}
END
}

# refuses MEMBER MESSAGE: with this member of the replica, validate and run fail with this message at line 7.
refuses() {
  put_service
  sed -i "s/\"gpus\": 1,/\"gpus\": 1, $1,/" s.json
  for verb in validate run; do
    try 2 $verb s.json
    matches stderr 's.json:7:[0-9]+: '
    says stderr "$2"
  done
}

# Replicas that no pool can hold are errors at the key that excludes the pools. Those that some pool can hold are not.
case_service_without_a_gpu() {
  refuses '"gpu_type": "A1000"' "no pool has GPUs of the type 'A1000'; did you mean 'A100-80'? (types: A100-80, L4)"
  refuses '"gpu_type": "l4x"' "did you mean 'L4'?"
  refuses '"gpu_type": "H100"' "no pool has GPUs of the type 'H100' (types: A100-80, L4)"
  refuses '"region": "eux"' "is in the region 'eux'; did you mean 'eu'? (regions: eu)"
  refuses '"mig": "9g.99gb"' "no pool has the MIG profile '9g.99gb'"
  refuses '"gpu_mem_gb": 100' 'has 100 GiB for each GPU; the largest GPU has 80'
  refuses '"tensor_parallel": 1, "gpu_type": "L4", "gpu_mem_gb": 60' 'has 60 GiB for each GPU'
  put_service
  sed -i 's/"gpus": 1,/"gpus": 9,/' s.json
  for verb in validate run; do
    try 2 $verb s.json
    says stderr 's.json:7:23: no pool that the replica accepts has 9 GPUs; the largest such pool has 8'
  done
  put_service
  for set in gpu_type=L4 'gpu_type=H100|l4' region=EU gpu_mem_gb=60 gpus=8; do
    try 0 validate s.json --set "services.0.replica.$set"
    try 0 run s.json -q --set "services.0.replica.$set"
  done
  sed -i 's/"gpu": "L4", "nodes": 1/&00, "market": "spot", "usd_per_gpu_hour": 1, "spot": {"model": "none"}, "boot_s": 60/; s/"gpus": 1,/"gpus": 1, "gpu_type": "L4",/' s.json
  try 0 validate s.json
  try 2 validate s.json --set services.0.replica.interruptible=false
  says stderr 'a replica can never start in a pool: '
  # the variables of a sweep and a plan decide which pools have nodes
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "services.0.replica.gpu_type", "values": ["L4", "A100-80"]}]}' >g.json
  put_service
  try 0 sweep g.json --csv g.csv
  # a point that cannot run is infeasible
  sed -i 's/"A100-80"\]/"A100-80", "H100"]/' g.json
  try 0 sweep g.json --csv g.csv --db other.sqlite
  says stderr "note: 1 point is infeasible: --set services.0.replica.gpu_type=H100: no pool has GPUs of the type 'H100'"
  [ "$(wc -l <g.csv)" -eq 4 ] || fail 'not three points'
}

# Misspelled names in the plan cause the same error in each verb.
case_names_in_a_plan() {
  for plan in '"constraints": ["chatt.attainment >= 90 %"]|unknown service .chatt.; did you mean .chat.' \
    '"constraints": ["chat.atainment >= 90 %"]|did you mean .attainment.' \
    '"constraints": ["wait_s.p96 <= 5"]|did you mean .wait_s.p90.' \
    '"objective": "wait_s.meen"|did you mean .wait_s.mean.' \
    '"variables": [{"path": "services.0.autoscale.maxx", "values": [1]}]|did you mean .services.0.autoscale.max.' \
    '"variables": [{"path": "services.0.router", "values": ["random", "randm"]}]|did you mean .random.'; do
    put_service
    sed -i "s/^{/{\"plan\": {${plan%%|*}},\n/" s.json
    grep -q '"constraints"' s.json || sed -i '1s/{"plan": {/&"constraints": ["wait_s.p95 <= 9"], /' s.json
    grep -q '"variables"' s.json ||
      sed -i '1s/{"plan": {/&"variables": [{"path": "services.0.autoscale.max", "values": [1, 2]}], /' s.json
    grep -q '"objective"' s.json || sed -i '1s/{"plan": {/&"objective": "wait_s.mean", /' s.json
    for verb in validate run plan; do
      try 2 $verb s.json
      matches stderr "s.json:1:[0-9]+: .*${plan#*|}"
    done
  done
}

# put_objective MEMBER: the service above with a plan; MEMBER states the objective.
put_objective() {
  put_service
  sed -i "1s/{/{\"plan\": {\"constraints\": [\"chat.requests.completed >= 1\"], $1, \"variables\": [{\"path\": \"services.0.autoscale.max\", \"values\": [1, 2]}]},\n/" s.json
}

# A metric for which higher is better cannot be an objective, unless its weight is negative.
case_objective_with_wrong_direction() {
  for metric in chat.attainment chat.goodput_per_gpu completed; do
    for member in "\"objective\": \"$metric\"" "\"weights\": {\"$metric\": 2}"; do
      put_objective "$member"
      try 2 plan s.json
      matches stderr "s.json:1:[0-9]+: the objective is minimized, but higher values of '$metric' are better"
      says stderr "$metric >= ..."
    done
  done
  put_objective '"weights": {"chat.attainment": -1}'
  try 0 plan s.json --brief
  says stdout '-1 x chat.attainment'
}

# An objective without a value in any run: a request of one token has no time per further token.
case_unknown_objective() {
  put_objective '"objective": "chat.tpot_ms.mean"'
  try 0 plan s.json --brief
  sed -i 's/"output_tokens": {"mean": 9}/"output_tokens": {"mean": 1}/' s.json
  try 2 plan s.json --brief
  matches stderr "s.json:1:[0-9]+: the objective 'chat.tpot_ms.mean' is unknown for every candidate"
  [ ! -s stdout ] || fail 'a recommendation without an objective'
}

# put_fixed REPLICAS: a service with a fixed number of replicas of 1 GPU without prices; requests of 2 s every 4 s.
put_fixed() {
  cat >s.json <<END
{"policy": {"name": "queue"},
 "cluster": {"pools": [{"name": "a", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 4},
   {"name": "l", "gpu": "L4", "nodes": 1, "gpus_per_node": 2}]},
 "services": [{"name": "chat", "requests": {"rate_per_s": 0.25, "count": 400, "prompt_tokens": {"mean": 1},
    "output_tokens": {"mean": 1}},
  "autoscale": {"policy": "fixed", "replicas": $1},
  "replica": {"gpus": 1,
    "engine": {"name": "single"}, "cost": {"fixed_us": 2000000}}}]}
END
}

# Fixed replicas without prices are simulated without the job engine only if all fit and the cluster never changes.
case_fixed_replicas_need_gpus() {
  put_fixed 3
  try 0 run s.json -q --requests all.csv
  # a pool that the replicas cannot use, or one without a part of the GPUs
  try 0 run s.json -q --set services.0.replica.gpu_type=L4 --requests two.csv
  [ "$(cut -d, -f6 all.csv | sort -u | wc -l)" -eq 4 ] || fail 'not three replicas'
  [ "$(cut -d, -f6 two.csv | sort -u | wc -l)" -eq 3 ] || fail 'more replicas than GPUs'
  set -- --set services.0.replica.gpu_type=L4 --set cluster.pools.1.nodes=0
  try 1 run s.json -q "$@"
  says stderr "service 'chat': 400 requests did not complete: no replica was ready for them"
  try 0 validate s.json "$@"
  says stderr "warning: service 'chat': its replicas can never run and will be rejected (no-such-gpu-type:"
  # replicas of 3 GPUs: one on each node, although 10 GPUs are enough for three
  try 0 run s.json -q --set services.0.replica.gpus=3 --requests wide.csv
  [ "$(cut -d, -f6 wide.csv | sort -u | wc -l)" -eq 3 ] || fail 'a replica on parts of nodes'
  # the same with the job engine, which is used if there is a price
  put_fixed 9
  try 0 run s.json -q --requests alone.csv
  sed -i 's/"nodes"/"market": "owned", "usd_per_gpu_hour": 1, &/' s.json
  try 0 run s.json -q --requests jobs.csv
  cmp alone.csv jobs.csv || fail 'other results without the engine of jobs'
}

# Failures, maintenance and the horizon change the replicas.
case_fixed_replicas_can_fail() {
  put_fixed 1
  try 0 run s.json -q --requests all.csv
  try 0 run s.json -q --set horizon_s=400 --requests cut.csv
  [ "$(grep -c completed cut.csv)" -lt 200 ] || fail 'requests after the horizon'
  sed -i 's/"nodes": 2/"nodes": 1/; s/"nodes": 1, "gpus_per_node": 2/"nodes": 0, "gpus_per_node": 2/' s.json
  local works='cluster.pools.0.maintenance=[{"start_s":100,"duration_s":300,"drain":"deadline-kill"}]'
  try 0 run s.json -q --set "$works" --requests work.csv
  # the run begins with the first request
  awk -F, 'NR == 2 { begin = $3 } NR > 1 { at = $7 - begin } NR > 1 && at >= 100 && at < 400 { bad = 1 }
    END { exit bad }' work.csv || fail 'requests during maintenance'
  try 0 run s.json --set 'cluster.faults={"mtbf_h":0.1,"repair_s":60}'
  matches stdout '^  stopped +[2-9] replicas interrupted'
}

# Misspelled names of services and of their metrics in goals.
case_misspelt_goals() {
  put_service
  sed -i '1s/{/{"plan": {"constraints": ["chta.ttft_ms.p95 <= 2000"], "objective": "gpu_hours.held", "variables": [{"path": "services.0.autoscale.max", "values": [1, 2]}]},\n/' s.json
  try 2 plan s.json
  matches stderr 's.json:1:[0-9]+: '
  says stderr "unknown service 'chta'; did you mean 'chat'?"
  sed -i 's/chta.ttft_ms/chat.tfft_ms/' s.json
  try 2 plan s.json
  says stderr "'tfft_ms.p95' is no metric of the service 'chat'; did you mean 'ttft_ms.p95'?"
}

# The numbers of samples and the thresholds of nvcf contradict each other.
case_impossible_thresholds() {
  put_service
  for rule in '"up_required": 2|2 samples of '"'up_window'"', which has 1' '"down_required": 3, "down_window": 2|never falls' \
    '"up_threshold": 20|is below '"'down_threshold' (30)" '"down_threshold": 90|'"'up_threshold' (70) is below"; do
    put_service
    sed -i "s/\"policy\": \"knative\"/\"policy\": \"nvcf\", ${rule%|*}/" s.json
    for verb in validate run; do
      try 2 $verb s.json
      matches stderr 's.json:5:[0-9]+: '
      says stderr "${rule##*|}"
    done
  done
  put_service
  sed -i 's/"policy": "knative"/"policy": "nvcf", "up_window": 3, "up_required": 3, "up_threshold": 30/' s.json
  try 0 validate s.json
}

# Settings of autoscalers with which a rule never applies, or that contradict each other.
case_contradictory_autoscalers() {
  for rule in '"knative", "metric": "utilization", "target": 101|at most 100 percent, found 101' \
    '"hpa", "metric": "utilization", "target": 100.5|at most 100 percent' '"hpa", "tolerance": 1|never falls' \
    '"knative", "activation_scale": 3|3 is above '"'max', which is 2" '"keda", "idle": 1|1 is not below '"'min', which is 0" \
    '"keda", "min": 1, "idle": 1|1 is not below' '"nvcf", "up_factor": 1|never grows' '"nvcf", "down_factor": 1|never falls' \
    '"schedule", "min": 1, "steps": [{"at_s": 0, "replicas": 0}]|fewer replicas than '"'min', which is 1" \
    '"schedule", "steps": []|an empty list' '"knative", "panic_window_share": 1.5|from 0.01 to 1 is expected' \
    '"schedule", "steps": [{"at_s": 9, "replicas": 0}, {"at_s": 9, "replicas": 1}]|not in order of time'; do
    put_service
    sed -i "s/\"policy\": \"knative\"/\"policy\": ${rule%|*}/" s.json
    for verb in validate run; do
      try 2 $verb s.json
      matches stderr 's.json:5:[0-9]+: '
      says stderr "${rule##*|}"
    done
  done
  for rule in '"keda", "min": 2, "idle": 1|' '"knative", "metric": "utilization", "target": 100|' \
    '"slo", "min": 1, "idle_to_zero_s": 5|'"'idle_to_zero_s' has no effect, because 'min' is 1" \
    '"hpa", "up": {"select": "disabled"}, "down": {"select": "disabled"}|both directions are disabled'; do
    put_service
    sed -i "s/\"policy\": \"knative\"/\"policy\": ${rule%|*}/" s.json
    for verb in validate run; do
      try 0 $verb s.json
      says stderr "${rule##*|}"
    done
  done
}

# Pools without sharing allocate a whole GPU for a fraction.
case_fraction_of_a_gpu_for_a_replica() {
  put_service
  for verb in validate run; do
    try 0 $verb s.json --set services.0.replica.gpu_milli=500
    says stderr "'gpu_milli' 500): pools that share GPUs allocate the fraction, others, such as 'a', a whole GPU"
    try 0 $verb s.json
    ! grep -q gpu_milli stderr || fail 'a note without a fraction'
  done
}

# Columns of a request trace are unique, as those of a job trace.
case_request_columns() {
  put_service
  printf 'arrival_timestamp,prompt_size,token_size,x,x\n0,1,2,3,4\n' >r.csv
  try 0 validate s.json --set 'services.0.requests={"trace": "r.csv"}'
  printf 'arrival_timestamp,prompt_size,token_size,prompt_size\n0,1,2,3\n' >r.csv
  for verb in validate run; do
    try 2 $verb s.json --set 'services.0.requests={"trace": "r.csv"}'
    says stderr "r.csv:1: column 'prompt_size' is in the header twice"
  done
}

# The sums over hours are the totals, also of spilled requests.
case_hours_of_services() {
  cat >s.json <<'END'
{"cluster": {"pools": [{"name": "a", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "region": "eu"},
    {"name": "l", "gpu": "L4", "nodes": 1, "gpus_per_node": 4}]},
 "services": [{"name": "b", "requests": {"rate_per_s": 0.01, "count": 9, "prompt_tokens": {"mean": 9},
    "output_tokens": {"mean": 9}}, "slo": {"e2e_ms": 60000},
    "replica": {"gpus": 1, "engine": {"name": "single"}, "cost": {"fixed_us": 9}}},
  {"name": "chat", "requests": {"rate_per_s": 0.01, "count": 500, "prompt_tokens": {"mean": 9},
    "output_tokens": {"mean": 9}}, "slo": {"e2e_ms": 60000},
   "router": {"spill": {"to": "b", "predicted_wait_s": 100}},
   "replica": {"gpus": 1, "engine": {"name": "single"}, "cost": {"fixed_us": 20000000}}}]}
END
  try 0 run s.json -q --json a.json
  # the first number of each service is that of its requests, the others are those of its hours
  awk '/"services":/ { inside = 1 }
    inside && /"requests": \{/ { if (n++ && sum != total) bad = 1; sum = 0; total = -1 }
    inside && /"spilled":/ { spilled += $2 }
    inside && /"offered":/ { if (total < 0) total = $2 + 0; else sum += $2 }
    END { exit bad || n != 2 || sum != total || spilled < 100 }' a.json || fail "the hours do not add up"
}

# The first request waits 80 s for the cold start, and its prompt takes 1 s. The parts of the JSON file add up exactly.
case_why_of_a_service() {
  printf 'arrival_timestamp,prompt_size,token_size\n0,1,1\n30,1,3\n' >r.csv
  printf '%s' '{"cluster": {"pools": [{"name": "a", "gpu": "L4", "nodes": 1, "gpus_per_node": 1}]},
    "services": [{"name": "chat", "requests": {"trace": "r.csv"}, "slo": {"e2e_ms": 60000},
      "autoscale": {"policy": "slo", "max": 1, "idle_to_zero_s": 100}, "cold_start": {"engine_s": 80},
      "replica": {"engine": {"max_sequences": 1, "kv_blocks": 100}, "cost": {"fixed_us": 1000000}}}]}' >s.json
  try 0 why s.json --service chat --request 0
  matches stdout '^  cold start +80\.000000 s +98\.8 %'
  matches stdout '^  E2E +81\.000000 s +100\.0 %'
  try 0 why s.json --service chat
  matches stdout '^service chat: 2 completed requests, and 1 that missed the goals$'
  sed 's/"slo": {[^}]*},//; s/"autoscale": {[^}]*},//' s.json >plain.json
  try 0 why plain.json --service chat
  matches stdout '^service chat: 2 completed requests$'
  try 0 why s.json --service chat --json why.json
  tr -d ' \n' <why.json >flat
  says flat '"sums_us":{"queue":1000000,"cold_start":130000000,"prompt":2000000,"transfer":0,"batch":2000000,"preemption":0,"e2e":135000000}'
  try 2 why s.json --service chat --request 2
  says stderr "service 'chat' has the requests 0 to 1"
  try 2 why s.json --service chatt
  says stderr "did you mean 'chat'"
}

# Goals and baselines of services; comparisons and sweeps have a row for each.
case_figures_by_service() {
  printf '%s' '{"cluster": {"pools": [{"name": "a", "gpu": "L4", "nodes": 1, "gpus_per_node": 8, "market": "owned",
      "usd_per_gpu_hour": 1}]},
    "services": [{"name": "chat", "requests": {"rate_per_s": 2, "duration_s": 600, "prompt_tokens": {"mean": 100},
      "output_tokens": {"mean": 20}}, "slo": {"ttft_ms": 60}, "autoscale": {"replicas": 2},
      "replica": {"engine": {"kv_blocks": 1000}, "cost": {"fixed_us": 9000, "per_prompt_token_us": 300}}}]}' >s.json
  printf '%s' '{"runs": [{"name": "r", "scenario": "s.json", "goals": ["chat.ttft_ms.p95 <= 1000"]}]}' >suite.json
  try 0 check suite.json --baseline b.json --update
  try 0 check suite.json --baseline b.json
  sed -i 's/"replicas": 2/"replicas": 1/' s.json
  try 1 check suite.json --baseline b.json --tolerance 'ttft_ms.p95 of service chat=1%'
  matches stdout '^  ttft_ms.p95 of service chat .* FAILED'
  sed -i 's/<= 1000/<= 1/' suite.json
  try 1 check suite.json --baseline b.json
  says stdout 'Goal missed: chat.ttft_ms.p95 <= 1'
  try 0 compare s.json --policies fifo,sjf --replications 2 --csv c.csv
  matches stdout '^service +policy +in goals +p95 TTFT'
  matches c.csv '^sjf,service,chat,attainment,0\.'
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "services.0.autoscale.replicas", "values": [1, 2]}]}' >g.json
  try 0 sweep g.json --db g.sqlite
  matches stdout '^p95 TTFT +best'
}

# The job runs out of memory because of its own tasks, not because of other jobs.
case_gang_dies_of_itself() {
  sharing_scenario '"sharing": "time-slice", "replicas": 2, "gpu_mem_gb": 16' >s.json
  printf 'job_id,submit_s,duration_s,gpus,tasks,gpu_mem_gb\na,0,50,2,2,9\n' >t.csv
  try 1 run s.json --trace t.csv --check
  says stderr 'gpu-memory'
  try 1 run s.json --trace t.csv --check --policy gang-slice
  says stderr 'gpu-memory'
}

# A gang with all tasks on one node is notified of an interruption once.
case_shared_spot() {
  cat >s.json <<'END'
{ "cluster": { "pools": [ { "name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 2, "sharing": "fraction",
    "market": "spot", "usd_per_gpu_hour": 1, "spot": { "model": "on-off", "notice_s": 30,
    "up": { "distribution": "fixed", "mean_s": 600 }, "down": { "distribution": "fixed", "mean_s": 100 } } } ] },
  "classes": { "default": { "checkpoint": { "policy": "interval", "interval_s": 100, "write_s": 1 }, "restart_s": 10000 } },
  "policy": { "name": "queue", "placement": "best-fit", "backfill": "skip" }, "horizon_s": 100000 }
END
  printf 'submit_s,duration_s,gpus,tasks\n0,5000,2,2\n' >t.csv
  try 0 run s.json --trace t.csv --check
}

# Each of the three tasks needs half of two GPUs. Two tasks fill the same two of the three GPUs. So the third task,
# which needs two GPUs, never fits.
case_shared_gang_without_a_place() {
  sharing_scenario '"sharing": "fraction"' | sed 's/"gpus_per_node": 1/"gpus_per_node": 3/; s/"skip"/"strict"/' >s.json
  printf 'job_id,submit_s,duration_s,gpus,gpu_milli,tasks\n1,0,100,6,500,3\n2,0,100,2,500,1\n' >t.csv
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^1,0,,,,6,,rejected,too-large,'
  matches jobs.csv '^2,0,0,100,'
}

# Quotas, fairness, nodes and downtime count shares of GPUs.
case_shares_count_as_shares() {
  sharing_scenario '"sharing": "fraction"' | sed 's/"cluster"/"quotas": { "default": { "max_gpus": 0.6 } }, "cluster"/' >s.json
  {
    echo submit_s,duration_s,gpus,gpu_milli,tenant,tasks
    for i in 1 2 3 4 5; do echo "0,1000,1,100,t$i,1"; done
    echo 0,1000,4,100,t6,4
    echo 0,1000,1,700,t7,1
  } >t.csv
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json run.json
  matches jobs.csv '^6,0,0,1000,0,4,1,completed,.*,p,0:0.4,'
  matches jobs.csv '^7,0,,,,1,,rejected,over-quota,'
  matches run.json '"mean": 0.902778,' # finish-time fairness: 1 for five jobs, 1 / 2.4 for t6
  try 0 compare s.json --trace t.csv --policies queue:placement=random,queue:placement=best-fit --replications 2
  says stdout 'runs       2 of each policy'
}

case_classes_of_pools() {
  cat >s.json <<'END'
{ "policy": { "name": "queue", "backfill": "skip" }, "cluster": { "pools": [
  { "name": "serving", "gpu": "L4", "nodes": 1, "gpus_per_node": 8, "classes": ["inference", "interactive"] },
  { "name": "batch", "gpu": "H100", "nodes": 1, "gpus_per_node": 4, "classes": ["training"] } ] } }
END
  cat >t.csv <<'END'
job_id,submit_s,duration_s,gpus,class
served,0,9,4,inference
asked,0,9,4,interactive
first,0,9,4,training
second,0,9,4,training
large,0,9,8,training
unnamed,0,9,1,
huge,0,9,16,training
END
  try 0 run s.json --trace t.csv --check --jobs jobs.csv
  matches jobs.csv '^served,0,0,9,.*,completed,.*,serving,'
  matches jobs.csv '^asked,0,0,9,.*,completed,.*,serving,'
  matches jobs.csv '^second,0,9,18,.*,completed,.*,batch,'
  says stderr 'rejected: large, unnamed (no-pool-for-class: '
  says stderr 'rejected: huge (too-large'
  try 0 validate s.json --trace t.csv
  says stdout 'serving: 1 node x 8 L4 of 24 GB, only for inference, interactive'
  try 2 validate s.json --set 'cluster.pools.0.classes=["infernce"]'
  says stderr "did you mean 'inference'?"
  try 2 validate s.json --set 'cluster.pools.0.classes=[]'
}

case_quotas() {
  cat >s.json <<'END'
{ "policy": { "name": "queue" }, "cluster": { "pools": [
  { "name": "p", "gpu": "A100-40", "nodes": 4, "gpus_per_node": 8 } ] },
  "quotas": { "cohorts": [{ "name": "lab", "parent": "org", "lend_gpus": 4 }, { "name": "org", "max_share": 0.75 }],
    "tenants": [{ "tenant": "a", "cohort": "lab", "guaranteed_gpus": 8, "borrow_gpus": 0.5 },
      { "tenant": "b", "guaranteed_share": 0.25, "weight": 2 }] } }
END
  printf 'submit_s,duration_s,gpus,tenant\n0,9,1,a\n0,9,1,c\n' >t.csv
  try 0 validate s.json --trace t.csv
  says stdout 'quotas    2 cohorts, 2 tenants'
  says stdout 'cohort org: 0 GPUs guaranteed, maximum 24'
  says stdout 'cohort lab in org: 0 GPUs guaranteed, lends 4'
  says stdout 'tenant a in lab: 8 GPUs guaranteed, borrows 0.5'
  says stdout 'tenant b: 8 GPUs guaranteed, weight 2'
  says stdout 'all other tenants: 0 GPUs guaranteed'
  try 0 run s.json --trace t.csv
  says stderr "quota of tenant 'b': "
  if grep -q "quota of tenant 'a'" stderr; then fail "tenant a has a job"; fi
}

# A pool without nodes has no effect.
case_pool_of_no_nodes() {
  cat >s.json <<'END'
{ "policy": { "name": "queue", "backfill": "skip", "market": "spot-first" }, "cluster": { "pools": [
  { "name": "none", "gpu": "A100-40", "nodes": 0, "gpus_per_node": 16, "market": "spot", "boot_s": 0,
    "usd_per_gpu_hour": 1, "spot": { "model": "exponential", "rate_per_h": 9 } },
  { "name": "p", "gpu": "A100-40", "nodes": 2, "gpus_per_node": 4, "market": "on-demand", "boot_s": 0,
    "usd_per_gpu_hour": 3 } ] } }
END
  printf 'submit_s,duration_s,gpus,gpu_type\n0,3600,8,\n0,3600,9,\n0,9,1,A100-40\n' >t.csv
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json summary.json
  matches jobs.csv '^1,.*,completed,'
  matches jobs.csv '^3,.*,completed,'
  says stderr 'rejected: 2 (too-large'
  matches summary.json '^ {4}"availability": null$'
  sed '2,3d' s.json >without.json
  try 0 run without.json --trace t.csv --check --jobs without.csv --quiet
  cmp jobs.csv without.csv || fail "an empty pool changed the result of a job"
}

# Requirements for the nodes of such a pool do not apply to other pools: counted allocation, CPUs, few GPUs per node.
case_pools_of_no_nodes_of_any_kind() {
  cat >s.json <<'END'
{ "policy": { "name": "queue", "backfill": "conservative", "placement": "pool" }, "cluster": { "pools": [
  { "name": "p", "gpu": "A100-40", "nodes": 2, "gpus_per_node": 4, "market": "reserved", "usd_per_gpu_hour": 1 },
  { "name": "spot", "gpu": "A100-40", "nodes": 0, "gpus_per_node": 100, "market": "spot", "boot_s": 0,
    "usd_per_gpu_hour": 1, "spot": { "model": "trace", "file": "record.json", "notice_s": 0 } },
  { "name": "sliced", "gpu": "T4", "nodes": 0, "gpus_per_node": 4, "sharing": "time-slice", "replicas": 2,
    "cpu_per_node": 16, "cpu_per_gpu": 4, "market": "on-demand", "boot_s": 0, "usd_per_gpu_hour": 2 } ] },
  "models": { "reference": "A100-40", "default": "same", "speeds": { "bert": { "T4": 0.2, "spot": 2 } } },
  "quotas": { "tenants": [{ "tenant": "a", "max_gpus": 4 }] },
  "costs": { "savings_plans": [{ "usd_per_hour": 0.1, "discount": 0.2, "pools": ["sliced"] }] } }
END
  echo '{"metadata": {"gap_seconds": 600}, "data": [3, 0, 2]}' >record.json
  printf 'submit_s,duration_s,gpus,gpu_type,tenant,model\n0,60,4,,a,bert\n0,60,2,T4,b,\n0,60,8,,b,\n0,9,1,,a,\n' >t.csv
  try 0 validate s.json --trace t.csv
  says stdout 'sliced: 0 nodes x 4 T4'
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json summary.json
  says stderr 'rejected: 2 (no-such-gpu-type'
  matches jobs.csv '^2,.*,rejected,no-such-gpu-type,'
  matches summary.json '^ {6}"utilization": null,$'
  sed -e '3,6d' -e 's/"T4": 0.2, "spot": 2/"T4": 0.2/' -e 's/, "pools": \["sliced"\]//' \
    -e 's/\("usd_per_gpu_hour": 1 }\),$/\1 ] },/' s.json >without.json
  try 0 run without.json --trace t.csv --check --jobs without.csv --json without-summary.json
  cmp jobs.csv without.csv || fail "empty pools changed the result of a job"
  [ "$(grep '"digest"' summary.json)" = "$(grep '"digest"' without-summary.json)" ] || fail "the digests differ"
}

case_no_nodes_at_all() {
  small_scenario
  printf 'submit_s,duration_s,gpus,gpu_type\n0,10,1,\n1,10,4,A100-80\n2,10,1,T4\n3,10,0,\n' >t.csv
  try 0 validate s.json --trace t.csv --set cluster.pools.0.nodes=0
  says stdout '0 GPUs on 0 nodes in 1 pool'
  says stdout 'p: 0 nodes x 8 A100-80'
  says stderr 'warning: no pool has a node; every job that requests GPUs is rejected'
  for policy in $("$headroom" list policies | grep -o '^[a-z][^ ]*'); do
    try 0 run s.json --trace t.csv --set cluster.pools.0.nodes=0 --policy "$policy" --check --jobs jobs.csv \
      --timeline timeline.csv --json summary.json
    matches jobs.csv '^1,.*,rejected,too-large,'
    matches jobs.csv '^2,.*,rejected,too-large,'
    matches jobs.csv '^3,.*,rejected,no-such-gpu-type,'
    matches jobs.csv '^4,3,3,13,.*,completed,'
    says stdout '0 GPUs on 0 nodes'
    if grep -qE ': -?(nan|inf)' summary.json; then fail "$policy: the summary has a value that is not a number"; fi
  done
  try 0 compare s.json --trace t.csv --set cluster.pools.0.nodes=0 --policies fifo,easy
  try 2 fill s.json --trace t.csv --set cluster.pools.0.nodes=0 --policies best-fit,fgd
  says stderr 's.json: no pool has a node; at least one is needed'
}

case_horizon() {
  small_scenario
  printf 'submit_s,duration_s,gpus\n0,10,16\n1,10,1\n50,1,1\n' >t.csv
  try 0 run s.json --trace t.csv --set horizon_s=5 --jobs jobs.csv
  matches jobs.csv '^1,.*,unfinished'
  matches jobs.csv '^2,1,,,.*,unfinished'
  matches jobs.csv '^3,.*,unsubmitted'
}

case_validate() {
  try 0 validate "$demo"
  says stdout '64 GPUs on 8 nodes in 1 pool'
  says stdout 'policy    queue: order=fifo, backfill=easy, placement=best-fit'
  tr -s ' \n' ' ' <stdout >line # a long path breaks the line
  matches line ' trace .*demo\.csv.* jobs? submitted'
  is_empty stderr
  try 0 validate "$project/scenarios/helios.json"
  says stdout 'trace     none; set one with --trace'
  small_scenario
  try 0 validate s.json --set trace.file=elsewhere.csv
  says stdout 'trace     elsewhere.csv not found; a run needs it'
  try 2 validate s.json --trace elsewhere.csv
  matches stderr 'elsewhere\.csv: .*No such file'
  try 2 validate s.json --set cluster.pools.0.nodes=-1
  is_empty stdout
}

# The requested load is reached exactly. The trace may be read from a pipe.
case_generate_meets_the_load() {
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 3000; i++) print i * 10 "," 5 + i * 7919 % 1000 ",1" }' >even.csv
  for seed in 2 3 5 6; do
    "$headroom" trace generate --like - --count 3000 --load 0.7 --nodes 2 --seed $seed --json j.json -o g.csv <even.csv 2>stderr ||
      fail "a trace on standard input is rejected"
    awk -F'[:,]' '/"load":/ { load = $2 } /"load_asked":/ { asked = $2 } END { exit !(asked == 0.7 && load > 0.69999 && load < 0.70001) }' \
      j.json || fail "seed $seed: the reported load differs"
    awk -F, 'NR == 2 { first = $2 } NR > 1 { last = $2; s += $3 * $4 }
      END { load = s / (last - first) / 16; exit !(load > 0.69999 && load < 0.70001) }' g.csv ||
      fail "seed $seed: the load of the jobs differs"
    is_empty stderr
  done
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 40; i++) print i * 10 ",1e10,4000000" }' >huge.csv
  try 0 trace generate --like huge.csv --count 10 --model-out huge.json -o g.csv
  try 0 trace generate --like huge.json --count 10 -o again.csv
  cmp -s g.csv again.csv || fail "a model of huge jobs differs after writing and reading"
  try 0 trace generate --like helios --count 20000 --load 0.7 --nodes 100 -o g.csv
  is_empty stderr
}

# The compressed, packed and plain files contain the same workload. A file name with another ending is rejected.
case_generate_files() {
  local file like
  for like in '' '--like philly'; do
    for file in plain.csv small.CSV.GZ small.csv.zst packed.hrt without_ending; do
      # shellcheck disable=SC2086 # words
      try 0 trace generate $like --count 300 --seed 5 -o "$file"
      try 0 trace convert "$file" -q
      [ "$file" != plain.csv ] || mv stdout "same$like"
      [ "$file" = plain.csv ] || cmp -s stdout "same$like" || fail "$file contains different jobs $like"
    done
    [ "$(head -c 2 small.CSV.GZ | od -An -tx1)" = ' 1f 8b' ] || fail "small.CSV.GZ is not compressed"
    for file in jobs.swf jobs.parquet jobs.hrt.gz; do
      # shellcheck disable=SC2086 # words
      try 2 trace generate $like --count 300 -o "$file"
      says stderr "headroom: $file: "
      [ ! -e "$file" ] || fail "$file exists"
    done
  done
  try 0 trace generate --count 300 --limit-min 1 --limit-max 3 -o limits.csv
  try 0 trace generate --count 300 --limit-min 1 --limit-max 3 -o limits.hrt
  try 0 trace convert limits.csv -o a.csv -q
  try 0 trace convert limits.hrt -o b.csv -q
  cmp -s a.csv b.csv || fail "limits differ when packed"
}

case_generate() {
  try 0 trace generate --count 100 --seed 3
  cp stdout first
  [ "$(wc -l <first)" -eq 101 ] || fail "not 100 rows"
  try 0 trace generate --count 100 --seed 3 --output second
  is_empty stdout
  cmp -s first second || fail "the same seed gives different bytes"
  try 0 trace generate --count 100 --seed 4
  if cmp -s first stdout; then fail "another seed gives the same bytes"; fi
  try 0 trace generate --count 50 --gpu-counts 3:1
  small_scenario
  mv stdout threes.csv
  try 0 run s.json --trace threes.csv --jobs jobs.csv
  [ "$(cut -d, -f6 jobs.csv | sort -u | tr '\n' ' ')" = '3 gpus ' ] || fail "not 3 GPUs each"
}

# ---- Documents -----------------------------------------------------------------------------------------------------

case_init() {
  try 0 init
  says stdout 'headroom validate scenario.json'
  try 0 validate scenario.json
  try 0 run scenario.json --quiet
  try 2 init
  says stderr 'scenario.json: the file exists; overwrite it with --force'
  try 0 init --force --trace jobs.csv
  says scenario.json '"file": "jobs.csv"'
  try 0 init --all all.json
  says all.json '"//plan.indifference": "number from 0 to 1, in share; default: 0.01.'
  try 0 validate all.json
  is_empty stderr
  try 0 init --all - --trace "$project/traces/reference/demo.csv"
  sed -i 's/"nodes": 8/"nodse": 8/' all.json
  line=$(grep -n '"nodse"' all.json | cut -d: -f1)
  try 2 validate all.json
  says stderr "all.json:$line:"
  says stderr "did you mean 'cluster.pools.0.nodes'?"
}

# Comments are removed in all places; the order of the other members is unchanged.
case_comments() {
  cat >commented.json <<'END'
{ "//": "first", "trace": { "//a": "b" }, "cluster": { "pools": [
    { "name": "a", "gpu": "T4", "nodes": 2, "gpus_per_node": 1, "//last": "a \" quote" } ] },
  "policy": { "//order": "a parameter", "name": "queue", "//": "x" } , "classes": { "//training": "none" } }
END
  try 0 validate commented.json
  sed -i 's/"gpu": "T4"/"gpu": 4/' commented.json
  try 2 validate commented.json
  says stderr "commented.json:2:27: 'cluster.pools.0.gpu' is the number 4"
  echo '{ "//": 1 }' >number.json
  try 2 validate number.json
  says stderr "unknown key '//'"
  echo '{ "//": "a", }' >comma.json
  try 2 validate comma.json
  says stderr 'comma.json:1:'
}

case_list_keys() {
  try 0 list keys
  [ "$(width stdout)" -le 80 ] || fail "the list is wider than 80 columns"
  grep -v '^ ' stdout | sort | uniq -d >twice
  try 0 list keys cluster.pools.0.mig
  says stdout 'cluster.pools.*.mig.mode'
  says stdout '    one of static, dynamic, on-demand; default: static'
  ! grep -q '^cluster.pools.\*.name' stdout || fail "other keys are listed"
  try 0 list keys policy.order
  says stdout 'one of fifo, sjf'
  tail -n 1 stdout | grep -q ' time$' || fail "a long sentence is cut"
  try 2 list keys cluster.pols
  says stderr "did you mean 'cluster.pools'?"
  try 2 list keys policy.ordr
  says stderr "unknown key 'policy.ordr'; did you mean 'policy.order'?"
  try 2 list keys cluster.by_gpu.x
  says stderr "'cluster.by_gpu' has no keys inside"
  try 2 list gpus cluster
  try 2 list gpus --schema
}

# The target reference_of_keys updates the files.
case_generated_documents() {
  try 0 list keys --schema
  cmp -s stdout "$project/docs/reference/schemas/scenario.schema.json" ||
    fail "scenario.schema.json differs; update it: cmake --build BUILD --target reference_of_keys"
  try 0 list keys --markdown
  sed -n '/^<!-- keys -->$/,/^<!-- end of keys -->$/p' "$project/docs/reference/scenario.md" | sed '1d;$d' >tables
  diff -u tables stdout >&2 || fail "scenario.md differs; update it: cmake --build BUILD --target reference_of_keys"
}

case_manual_has_every_option() {
  sed 's/\\-/-/g' "$project/docs/reference/headroom.1" >manual
  [ "$(options_of run | wc -l)" -ge 10 ] || fail "the options of run are not found"
  for verb in $verbs; do
    for option in $(options_of "$verb"); do
      says manual "$option"
    done
  done
  for action in $actions; do
    for option in $(options_of "trace $action"); do
      says manual "$option"
    done
  done
}

case_completion() {
  PATH=$(dirname "$headroom"):$PATH
  # shellcheck source=/dev/null
  . "$project/docs/reference/completion/headroom.bash"
  complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _headroom
    printf '%s\n' "${COMPREPLY[@]}"
  }
  [ "$(complete_words "$headroom" va)" = validate ] || fail "verbs"
  [ "$(complete_words "$headroom" list sc)" = scenarios ] || fail "lists"
  [ "$(complete_words "$headroom" list keys cluster.by)" = cluster.by_gpu ] || fail "keys"
  [ "$(complete_words "$headroom" ini)" = init ] || fail "the verb init"
  [ "$(complete_words "$headroom" list spot)" = spot-presets ] || fail "lists of the catalogue"
  [ "$(complete_words "$headroom" list prices --gpu P)" = P100 ] || fail "GPU types"
  [ "$(complete_words "$headroom" list prices --provider h)" = hyperstack ] || fail "providers"
  [ "$(complete_words "$headroom" init --cloud h)" = hyperstack ] || fail "providers of init"
  [ "$(complete_words "$headroom" run x --pol)" = --policy ] || fail "options"
  [ "$(complete_words "$headroom" run x --policy qu)" = queue ] || fail "policies"
  [ "$(complete_words "$headroom" compare x --policies fifo,sj)" = fifo,sjf ] || fail "lists of policies"
  [ "$(complete_words "$headroom" fill x --policies fgd,ran)" = fgd,random ] || fail "lists of placement rules"
  [ "$(complete_words "$headroom" plan x --br)" = --brief ] || fail "options of plan"
  [ "$(complete_words "$headroom" run x --format sw)" = swf ] || fail "formats"
  [ "$(complete_words "$headroom" help tr)" = trace ] || fail "help"
  [ "$(complete_words "$headroom" help trace ch)" = check ] || fail "help of actions"
  [ -z "$(complete_words "$headroom" help run tr)" ] || fail "help of nothing"
  [ "$(complete_words "$headroom" trace ch)" = check ] || fail "actions"
  [ "$(complete_words "$headroom" trace check --al)" = --allow ] || fail "options of an action"
  [ "$(complete_words "$headroom" trace check t.csv --allow gap,bur)" = gap,burst ] || fail "kinds of findings"
  [ "$(complete_words "$headroom" trace anonymise t.csv --drop user,mod)" = user,model ] || fail "fields"
  [ -z "$(complete_words "$headroom" trace anonymise t.csv --drop subm)" ] || fail "a field that cannot be dropped"
  touch here.csv
  [ "$(complete_words "$headroom" trace check her)" = here.csv ] || fail "the file of an action"
  [ "$(complete_words "$headroom" serve --token-file her)" = here.csv ] || fail "the file of an option"
  for verb in $verbs; do
    complete_words "$headroom" "$verb" -- | grep -- '^--' | sort >completed
    { options_of "$verb"; echo --help; } | sort | diff - completed >stderr || fail "options of $verb"
  done
}

run_case
