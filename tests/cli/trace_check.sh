#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom trace check`: its output, its exit code, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

demo=$project/traces/reference/demo.csv
cluster=$project/scenarios/demo.json

bad_trace() {
  printf 'job_id,submit_s,duration_s,gpus\n1,0,-5,1\n2,1,5,1\n3,2,5,500\n2,3,5,1\n' >bad.csv
}

# The clusters have sizes that suit the traces, so there are no errors. Work after the last submit is not an overload.
case_reference_clusters() {
  for trace in steady bursty heavy-tailed gang-heavy multi-tenant; do
    "$headroom" trace check "$project/traces/reference/$trace.csv" --cluster "$project/traces/reference/$trace.json" >stdout 2>stderr
    if grep -q '^error' stdout; then fail "$trace: unexpected error"; fi
  done
  "$headroom" trace check "$project/traces/reference/agency.csv" --cluster "$project/scenarios/agency.json" >stdout 2>stderr
  if grep -q '^error' stdout; then fail "agency: unexpected error"; fi
}

case_nothing_but_notes() {
  try 0 trace check "$demo"
  is_empty stderr
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  says stdout '0 errors, 0 warnings, 6 notes'
  says stdout 'no-classes: no job has a known class'
  try 0 trace check "$demo" -q
  is_empty stdout
  is_empty stderr
}

# Bad rows do not hide other findings. The trace is read leniently without an option.
case_alarms() {
  bad_trace
  try 1 trace check bad.csv --cluster "$cluster"
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  says stderr 'bad.csv: 3 errors and 0 warnings'
  says stdout 'error: bad-rows'
  says stdout '1 of 4 rows (25 %), in line 2'
  says stdout 'error: duplicate-ids'
  says stdout 'error: never-fits'
  says stdout 'first      job 3, submitted 1.00 s after the first'
  try 1 trace check bad.csv -q --lenient
  is_empty stdout
  says stderr 'bad.csv: 2 errors'
}

case_allowed() {
  bad_trace
  try 0 trace check bad.csv --allow bad-rows,duplicate-ids --json out.json
  says out.json '"errors": 0,'
  says out.json '"bad-rows",'
  try 2 trace check bad.csv --allow bad-row
  says stderr "--allow bad-row: unknown kind of finding 'bad-row'; did you mean 'bad-rows'?"
  try 2 trace check bad.csv --allow ''
  says stderr "unknown kind of finding ''"
}

# The trace is read with the settings of the scenario.
case_columns_of_the_scenario() {
  printf 'job_id,arrival_s,service_sec,gpu_count\n1,0,5,1\n2,9,5,2000\n' >mine.csv
  try 1 trace check mine.csv --cluster "$project/scenarios/helios.json"
  says stdout 'never-fits'
  says stdout 'cluster    helios:'
  try 2 trace check mine.csv
  says stderr 'mine.csv:1: missing column'
  try 0 trace check mine.csv --map submit=arrival_s,duration=service_sec,gpus=gpu_count
}

case_outputs() {
  try 0 trace check "$demo" -o table --json all.json
  is_empty stdout
  says table 'check of'
  says all.json '"cluster": null,'
  try 0 trace check "$demo" --json -
  says stdout '"findings": ['
  cmp -s stdout all.json || fail "standard output and a file differ"
  try 0 trace check "$demo" --output - -q
  is_empty stdout
  try 2 trace check "$demo" -o x --json x
  says stderr '--output and --json both write to x'
  try 2 trace check "$demo" -o no/such/folder
  says stderr 'cannot be written'
  cp "$demo" mine.csv
  try 2 trace check mine.csv --json mine.csv
  cmp -s "$demo" mine.csv || fail "the trace was overwritten"
}

case_unreadable() {
  try 2 trace check nowhere.csv
  says stderr 'nowhere.csv: cannot be read'
  : >empty.csv
  try 2 trace check empty.csv
  printf 'submit_s,duration_s,gpus\n1,x,1\n' >all_bad.csv
  mkdir out
  try 2 trace check all_bad.csv -o out/table --json out/json
  says stderr 'no valid job'
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
  try 2 trace check "$demo" --cluster nowhere.json
  try 2 trace check
  says stderr 'trace check: TRACE is missing'
  printf 'submit_s,duration_s,gpus\n1700000000000,5,1\n' >ms.csv
  try 2 trace check ms.csv
  says stderr 'submit=COLUMN(ms)'
  try 0 trace check ms.csv --map 'submit=submit_s(ms)'
}

# Fields that a format does not offer for a map.
case_fields_of_a_map() {
  printf 'JobID|User|QOS|State|Submit|Start|End|NNodes|AllocTRES\n1|a|high|COMPLETED|2026-07-01T00:00:00|2026-07-01T00:00:05|2026-07-01T01:00:00|1|gres/gpu=1\n' >sacct.txt
  try 0 trace check sacct.txt --map tenant=QOS
  try 2 trace check sacct.txt --map priority=QOS
  says stderr "sacct.txt: 'priority' cannot be mapped in format 'sacct': --map accepts class, tenant, queue, user and model"
  try 2 trace check sacct.txt --map submit=Submit,duration=End,gpus=NNodes
  says stderr "sacct.txt: 'submit' cannot be mapped in format 'sacct'"
  printf '; MaxNodes: 4\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n' >jobs.swf
  try 2 trace check jobs.swf --map priority=x
  says stderr "jobs.swf: column maps and patterns need named columns, which format 'swf' does not have"
  printf 'timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n' >philly.csv
  try 2 trace check philly.csv --map priority=gpu_time
  says stderr "philly.csv: 'priority' cannot be mapped in format 'philly'"
  try 2 trace check philly.csv --map submit=timestamp
  says stderr 'name the column with --map duration=COLUMN,gpus=COLUMN'
  try 0 trace check philly.csv --map submit=timestamp,duration=duration,gpus=num_gpus,priority=num_gpus
}

case_full_disk_and_closed_pipe() {
  [ -w /dev/full ] || exit 77
  try 4 trace check "$demo" -o /dev/full
  try 4 trace check "$demo" --json /dev/full
  # The reader may be gone before the last line is written; the program then ends by a signal, without a message.
  { "$headroom" trace check "$demo" 2>stderr || [ $? -eq 141 ]; } | head -n 1 >stdout
  is_empty stderr
  says stdout 'check of'
}

# The text names only columns that the trace has. A single row is printed in the singular.
case_words_fit_what_is_told() {
  { echo submit_s,duration_s,gpus; for i in $(seq 30); do printf '5,1200,2\n%d,%d,2\n' $((i * 131)) $((i * 97 + 600)); done; } >t.csv
  try 1 trace check t.csv
  tr -s '\n ' '  ' <stdout >line
  says line 'have the submit time, run time and GPUs of another job under a different id'
  sed 's/$/,ann/; 1s/ann/user/' t.csv >u.csv
  try 1 trace check u.csv
  tr -s '\n ' '  ' <stdout >line
  says line 'have the submit time, run time, GPUs and user of another job under a different id'
  printf 'submit_s,duration_s,gpus,status\n0,5,1,pending\n0,5,x,done\n' >v.csv
  try 0 trace stats v.csv --lenient
  says stderr 'note: v.csv: 1 row left out, in line 3: '
  try 2 trace stats v.csv
  printf 'submit_s,duration_s,gpus,status\n0,5,1,done\n' >w.csv
  try 2 trace stats w.csv
  says stderr "'done' is not one of completed, failed, cancelled, running, pending, unknown"
}

# A trace of a hundred thousand jobs is read from a pipe.
case_pipe_in() {
  "$headroom" trace generate --count 100000 --nodes 50 | "$headroom" trace check /dev/stdin >stdout 2>stderr ||
    [ $? -eq 1 ] || fail "a pipe"
  says stdout '100,000 jobs'
}

run_case
