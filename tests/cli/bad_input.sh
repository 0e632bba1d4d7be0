#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad input, one case each: exit code 2, place and remedy on stderr, and no output file.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# refuses REGEX ARGUMENT...: a run with every output option fails with one line on stderr and writes no file.
refuses() {
  local regex=$1
  shift
  mkdir -p out
  try 2 run "$@" --jobs out/jobs.csv --timeline out/timeline.csv --json out/summary.json
  is_empty stdout
  matches stderr "^headroom: $regex"
  [ "$(wc -l <stderr)" -eq 1 ] || fail "more than one line on stderr"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

refuses_trace() {
  small_scenario
  refuses "$1" s.json --trace "$2"
}

# accepts ARGUMENT...: the run succeeds and writes all files.
accepts() {
  mkdir -p out
  try 0 run "$@" --jobs out/jobs.csv --timeline out/timeline.csv --json out/summary.json
  for file in jobs.csv timeline.csv summary.json; do
    [ -s "out/$file" ] || fail "$file is missing"
  done
}

header=job_id,submit_s,duration_s,gpus

# ---- Traces --------------------------------------------------------------------------------------------------------

case_missing_file() {
  refuses_trace 'absent\.csv: .*No such file' absent.csv
}

case_directory() {
  mkdir t.csv
  refuses_trace 't\.csv: .*directory' t.csv
}

case_empty_file() {
  : >t.csv
  refuses_trace 't\.csv: .*empty' t.csv
}

case_header_only() {
  echo $header >t.csv
  refuses_trace 't\.csv: .*no (job|row)' t.csv
}

case_missing_column() {
  printf 'job_id,submit_s,gpus\n1,0,1\n' >t.csv
  refuses_trace "t\.csv:1: .*duration" t.csv
}

case_unknown_column() {
  small_scenario
  printf '%s,flavour\n1,0,10,1,mint\n' $header >t.csv
  accepts s.json --trace t.csv
  matches stderr "^note: .*flavour"
}

case_negative_number() {
  printf '%s\n1,0,10,1\n2,5,-3,1\n' $header >t.csv
  refuses_trace "t\.csv:3: .*duration_s.*-3" t.csv
}

case_not_a_number() {
  printf '%s\n1,0,10,1\n2,nan,3,1\n' $header >t.csv
  refuses_trace "t\.csv:3: .*submit_s.*nan" t.csv
}

case_overflow() {
  printf '%s\n1,0,10,1\n2,5,3,99999999999999999999\n' $header >t.csv
  refuses_trace "t\.csv:3: .*gpus.*99999999999999999999" t.csv
  printf '%s\n1,1e300,10,1\n' $header >t.csv
  refuses_trace "t\.csv:2: .*submit_s.*1e300" t.csv
}

case_gang_larger_than_cluster() {
  small_scenario
  printf '%s\na,0,10,16\nb,1,10,17\nc,2,10,1\nd,3,5,1000\n' $header >t.csv
  accepts s.json --trace t.csv
  says stderr 'note: 2 jobs can never run and were rejected: b, d (too-large: '
  grep -q '^b,.*rejected' out/jobs.csv || fail "job b is not rejected in the jobs file"
  grep -q '^c,.*completed' out/jobs.csv || fail "job c did not complete"
}

case_binary_file() {
  head -c 5000 "$headroom" >t.csv
  refuses_trace 't\.csv:1: not a text file: it contains a NUL byte.*' t.csv
}

case_truncated_gzip() {
  { echo $header; seq 1 20000 | sed 's/.*/&,&,10,1/'; } | gzip >whole.gz
  head -c $(($(wc -c <whole.gz) / 2)) whole.gz >t.csv.gz
  refuses_trace 't\.csv\.gz(:[0-9]+)?: .*(cut|truncated|ends|damaged|incomplete)' t.csv.gz
}

case_line_of_200_mb() {
  { printf '%s\n1,0,10,' $header; head -c 200000000 /dev/zero | tr '\0' 1; echo; } >t.csv
  # The program must not store the whole line. Builds with a sanitizer cannot run under a memory limit, so none is set.
  if (ulimit -v 300000 && "$headroom" --version >/dev/null 2>&1); then ulimit -v 300000; fi
  ulimit -t 10 # processor time, which does not depend on the load of the machine
  refuses_trace 't\.csv:2: line 2 is longer than 1 MiB.*' t.csv
}

case_duplicate_ids() {
  printf '%s\n7,0,10,1\n8,1,10,1\n7,2,10,1\n' $header >t.csv
  refuses_trace "t\.csv:4: job id '7' is already used on line 2.*" t.csv
}

case_cut_off_last_line() {
  printf '%s\n1,0,10,1\n2,5,3' $header >t.csv
  refuses_trace "t\.csv:3: the last line is cut off: 3 fields where the header has 4" t.csv
}

case_lenient() {
  small_scenario
  printf '%s\n1,0,10,1\n2,1,-3,1\n3,2,x,1\n4,3,-1,1\n5,4,10,1\n1,5,10,1\n' $header >t.csv
  refuses 't\.csv:3: ' s.json --trace t.csv
  accepts s.json --trace t.csv --lenient
  matches stderr '^note: t\.csv: .*rows? left out'
  [ "$(wc -l <out/jobs.csv)" -eq 3 ] || fail "not 2 jobs"
  try 0 validate s.json --trace t.csv --lenient
  says stdout '2 jobs'
}

# ---- Scenarios -----------------------------------------------------------------------------------------------------

case_scenario_missing() {
  refuses 's\.json: .*No such file' s.json
}

case_scenario_misspelt_key() {
  small_scenario
  sed -i 's/"backfill"/"bakfill"/' s.json
  refuses "s\.json:4:49: unknown key 'policy\.bakfill'; did you mean 'policy\.backfill'\?" s.json
}

case_scenario_wrong_type() {
  small_scenario
  sed -i 's/"nodes": 2/"nodes": "2"/' s.json
  refuses "s\.json:3:68: 'cluster\.pools\.0\.nodes' is the text \"2\"; a whole number" s.json
}

case_scenario_nested_10000_deep() {
  { printf '{"name":'; head -c 10000 /dev/zero | tr '\0' '['; } >s.json
  refuses 's\.json:1:72: nested more than 64 levels deep' s.json
}

# An unknown GPU type is accepted. If it resembles a known type, a note suggests that type.
case_scenario_misspelt_gpu() {
  small_scenario
  printf 'submit_s,duration_s,gpus\n0,1,1\n' >t.csv
  try 0 run s.json --trace t.csv --set cluster.pools.0.gpu=H10
  says stderr "note: pool 'p': warning: GPU type 'H10' is unknown; did you mean 'H100'?"
  try 0 run s.json --trace t.csv --set cluster.pools.0.gpu=A100
  says stderr "note: pool 'p': warning: GPU type 'A100' is a family; write A100-40 or A100-80"
  try 0 run s.json --trace t.csv --set cluster.pools.0.gpu=abacus
  is_empty stderr
}

# No output may overwrite an input file, even if only the scenario names that file.
case_outputs_spare_all_inputs() {
  printf '{ "metadata": { "gap_seconds": 60 }, "data": [1, 0, 1] }\n' >record.json
  printf 'provider,instance,region,market,term,upfront,usd_per_hour,as_of\nAWS,P3.2XLARGE,US-EAST-1,on-demand,,,1.5,2026-08-01\n' >prices.csv
  cat >s.json <<'END'
{ "policy": { "name": "queue", "backfill": "skip" }, "catalog": { "prices_file": "prices.csv" }, "cluster": { "pools": [
  { "name": "o", "nodes": 1, "provider": "aws", "region": "us-east-1", "instance": "p3.2xlarge", "market": "on-demand", "boot_s": 0 },
  { "name": "s", "nodes": 1, "gpu": "V100", "gpus_per_node": 1, "market": "spot", "boot_s": 0, "usd_per_gpu_hour": 1,
    "spot": { "model": "trace", "notice_s": 0, "file": "record.json" } } ] } }
END
  printf 'submit_s,duration_s,gpus\n0,3600,1\n' >t.csv
  cp record.json kept.json
  cp prices.csv kept.csv
  try 2 run s.json --trace t.csv --json record.json
  says stderr '--json record.json: cannot be written: this run reads it'
  try 2 run s.json --trace t.csv --costs prices.csv
  says stderr '--costs prices.csv: cannot be written: this run reads it'
  cmp record.json kept.json || fail "a record was overwritten"
  cmp prices.csv kept.csv || fail "a table of prices was overwritten"
  # Names of the catalogue ignore case, so the row replaces the built-in price.
  try 0 validate s.json --trace t.csv
  says stdout '1.5 $ per GPU-hour'
}

case_dates_of_prices() {
  small_scenario
  sed -i 's/"gpu": "A100-80"/"gpu": "A100-40", "market": "on-demand", "provider": "aws", "region": "us-east-1", "as_of": "2025-05-01"/' s.json
  try 0 validate s.json
  says stdout '4.096575 $ per GPU-hour'
  for date in 2025-5-1 2025/05/01 20250501 foo 2025-13 2025-02-29; do
    sed "s,2025-05-01,$date," s.json >wrong.json
    try 2 validate wrong.json
    says stderr "'$date' is not a date like 2026-07-20, 2026-07 or 2026"
    try 2 list prices --as-of "$date"
    says stderr "--as-of $date: expected a date such as"
  done
}

case_instances_that_are_otherwise() {
  small_scenario
  sed -i 's/"gpu": "A100-80"/"gpu": "T4", "market": "on-demand", "provider": "aws", "region": "us-east-1", "instance": "p5.48xlarge"/' s.json
  refuses "s\\.json:3:.*a 'p5\\.48xlarge' has 8 x H100, not 'T4'" s.json
  sed -i 's/"T4"/"H100"/; s/"gpus_per_node": 8/"gpus_per_node": 4/' s.json
  refuses "s\\.json:3:.*a 'p5\\.48xlarge' has 8 x H100, not 4" s.json
}

case_misspelt_places() {
  small_scenario
  sed -i 's/"gpu": "A100-80"/"gpu": "A100-80", "market": "on-demand", "usd_per_gpu_hour": 1, "provider": "aws", "region": "us-wst-2"/' s.json
  try 0 validate s.json
  says stderr "warning: region of aws 'us-wst-2' is unknown; did you mean 'us-west-2'?"
  printf 'provider,family,term,upfront,off,as_of\naws,zzz,1y,all,0.3,2026-01-01\n' >discounts.csv
  sed -i 's/"name": "small",/"name": "small", "catalog": { "discounts_file": "discounts.csv" },/' s.json
  refuses "discounts\\.csv:2: family 'zzz' of aws: no instance type has this prefix" s.json
}

case_scenario_nodes() {
  small_scenario
  sed -i 's/"nodes": 2/"nodes": -1/' s.json
  refuses "s\.json:3:68: 'cluster\.pools\.0\.nodes' is the number -1; a whole number from 0" s.json
}

case_scenario_cut_off() {
  small_scenario
  head -n 3 s.json >cut.json
  refuses "cut\.json:4:1: unexpected end of the text inside an object" cut.json
}

case_scenario_without_trace() {
  small_scenario
  refuses 's\.json: names no trace; set one with --trace' s.json
}

case_override_misspelt() {
  small_scenario
  refuses "--set policy\.ordr=sjf: unknown key 'policy\.ordr'; did you mean 'policy\.order'\?" s.json \
    --set policy.ordr=sjf
}

case_policy_misspelt() {
  small_scenario
  refuses "--policy quue: unknown policy 'quue'; did you mean 'queue'\?" s.json --policy quue
  refuses "--policy queue:ordr=sjf: .*did you mean 'order'\?" s.json --policy queue:ordr=sjf
  refuses "--policy queue:order=sfj: .*did you mean 'sjf'\?" s.json --policy queue:order=sfj
  refuses "--policy queue:order: 'order': key=value expected" s.json --policy queue:order
}

case_parameter_twice() {
  small_scenario
  refuses "--policy queue:order=sjf,order=fifo: duplicate parameter 'order'; keep one" s.json \
    --policy queue:order=sjf,order=fifo
  refuses "--policy easy:order=sjf,aging_s=5,order=sjf: duplicate parameter 'order'" s.json \
    --policy easy:order=sjf,aging_s=5,order=sjf
  sed -i 's/"order": "fifo",/"order": "fifo", "order": "sjf",/' s.json
  refuses "s\.json:4:49: duplicate key 'order'" s.json --policy sjf
  # The same mistake in the scenario or in --set is reported at its place there.
  small_scenario
  printf '%s\n1,0,10,1\n' $header >t.csv
  accepts s.json --trace t.csv --set policy.order=largest --policy queue:order=sjf
  accepts s.json --trace t.csv --policy sjf:order=largest
}

case_format_misspelt() {
  small_scenario
  refuses "unknown trace format 'cvs'; did you mean 'csv'\?" s.json --format cvs
}

# The cost of this storage exceeds 128 bits within the 30 days that the job runs.
case_costs_beyond_all_bounds() {
  printf '%s\n' $header 1,0,2592000,1 >t.csv
  echo '{"cluster":{"pools":[{"name":"p","gpu":"A100-80","nodes":1,"gpus_per_node":8}]},"policy":{"name":"queue"},
    "costs":{"storage":{"usd_per_gb_month":1e9,"datasets":[{"gb":1e9}]}}}' >s.json
  refuses 't\.csv: costs exceed 4 trillion dollars' s.json --trace t.csv
}

case_map_misspelt() {
  small_scenario
  printf '%s\n1,0,10,1\n' $header >t.csv
  refuses "--map submitt=x: .*submit" s.json --trace t.csv --map submitt=x
}

# ---- Outputs -------------------------------------------------------------------------------------------------------

# An output that cannot be written is reported before the trace is read.
case_unwritable_output() {
  small_scenario
  try 2 run s.json --trace absent.csv --jobs nowhere/jobs.csv
  says stderr '--jobs nowhere/jobs.csv: cannot be written: folder nowhere: No such file or directory'
  mkdir d
  try 2 run s.json --trace absent.csv --json d
  says stderr '--json d: cannot be written: it is a directory'
  : >f
  try 2 run s.json --trace absent.csv --timeline f/t.csv
  matches stderr '--timeline f/t.csv: cannot be written: '
}

case_two_outputs_in_one_file() {
  small_scenario
  try 2 run s.json --trace absent.csv --jobs x --json x
  says stderr '--jobs and --json both write to x'
  try 2 run s.json --trace absent.csv --jobs - --json -
  says stderr '--jobs and --json both write to standard output'
}

case_output_over_an_input() {
  small_scenario
  printf '%s\n1,0,10,1\n' $header >t.csv
  cp t.csv kept
  try 2 run s.json --trace t.csv --jobs ./t.csv
  says stderr '--jobs ./t.csv: cannot be written: this run reads it'
  try 2 run s.json --trace t.csv --json s.json
  says stderr '--json s.json: cannot be written: this run reads it'
  cmp -s t.csv kept || fail "the trace was changed"
  cp s.json kept.json
  try 2 plan s.json --trace t.csv --events s.json
  says stderr '--events s.json: cannot be written: this run reads it'
  cmp s.json kept.json || fail "the scenario was changed"
  try 2 conform kai ./t.csv --json t.csv
  says stderr '--json t.csv: cannot be written: this run reads it'
}

# Cases of Kueue without input fail; the program does not crash.
case_conformance_cases_without_input_fail() {
  local kind
  for kind in preemption preemption.policy quota.available quota.lendable fairSharing.share; do
    printf '[{ "id": "x", "kind": "%s", "cluster": { "queues": [] }, "expect": {} }]\n' "$kind" >cases.json
    try 1 conform kueue cases.json
    says stdout '0 passed, 1 failed'
  done
}

# Jobs that failed when the trace was recorded: a note if the scenario has `faults`, and the option to skip these jobs.
case_recorded_failures_are_kept_or_dropped() {
  cat >s.json <<'JSON'
{ "cluster": { "pools": [{ "name": "p", "gpu": "A100", "nodes": 2, "gpus_per_node": 1,
    "faults": { "mtbf_h": 1, "repair_s": 60 } }] },
  "trace": { "file": "t.csv" }, "policy": { "name": "queue" } }
JSON
  printf 'job_id,submit_s,duration_s,gpus,status\na,1,20000,1,completed\nb,2,30000,1,failed\nc,3,10,1,failed\n' >t.csv
  try 0 validate s.json
  says stderr '2 jobs had failed when the trace was recorded'
  try 0 run s.json --json kept.json
  says stderr "to omit the failed jobs, set 'trace.failed' to 'drop'"
  says kept.json '"submitted": 3'
  try 0 validate s.json --set trace.failed=drop
  ! grep -q '2 jobs had failed' stderr || fail 'a note on jobs that are left out'
  try 0 run s.json --set trace.failed=drop --json dropped.json
  says stderr '2 rows left out, the first in line 3: the job had failed when the trace was recorded'
  says dropped.json '"submitted": 1'
  try 0 run s.json --set cluster.pools.0.faults.mtbf_h=1e9
  ! grep -q 'count twice' stderr || fail 'a note on failures that do not happen'
  try 0 trace pack t.csv -o t.hrt
  try 0 run s.json --set trace.failed=drop --trace t.hrt --json packed.json
  says packed.json '"submitted": 1'
  try 2 run s.json --set trace.failed=drop --trace t.hrt --stream
  says stderr 'cannot be left out in a streamed run'
}

# `validate` rejects the same scenarios as `run`, with the same message.
case_validate_agrees_with_run() {
  small_scenario
  printf '%s\n1,0,10,1\n' $header >t.csv
  local setting
  for setting in policy.placement=fgd policy.market=omniscient "policy.preemption=order policy.order=drf" \
    "policy.placement=pool cluster.by_gpu=true"; do
    local options=() each run validate
    for each in $setting; do options+=(--set "$each"); done
    run=0
    "$headroom" run s.json --trace t.csv "${options[@]}" >run.out 2>run.err || run=$?
    validate=0
    "$headroom" validate s.json --trace t.csv "${options[@]}" >validate.out 2>validate.err || validate=$?
    [ "$run" -eq "$validate" ] || fail "$setting: exit code $run of run, $validate of validate"
    [ "$run" -eq 0 ] || cmp run.err validate.err || fail "$setting: different messages"
    validate=0
    "$headroom" validate s.json "${options[@]}" >validate.out 2>validate.err || validate=$?
    [ "$run" -eq "$validate" ] || fail "$setting: exit code $run of run, $validate of validate without a trace"
  done
  [ "$run" -eq 2 ] || fail "exit code $run"
}

case_full_device() {
  [ -w /dev/full ] || exit 77
  small_scenario
  printf '%s\n1,0,10,1\n' $header >t.csv
  try 4 run s.json --trace t.csv --jobs /dev/full
  matches stderr 'cannot be written: No space left'
  local code=0
  "$headroom" list gpus >/dev/full 2>stderr || code=$?
  [ "$code" -eq 4 ] || fail "exit code $code"
  says stderr 'standard output: cannot be written: No space left on device'
}

run_case
