#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Conversion and transformation of traces: output files, reports and errors.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

actions='convert cut scale merge anonymise shuffle'
agency=$project/traces/reference/agency.csv
demo=$project/traces/reference/demo.csv

small_trace() {
  cat >t.csv <<'CSV'
job_id,submit_s,duration_s,gpus,user,tenant,model,start_s
a,0,3600,8,ann,ml,gpt,10
b,100.5,60,1,bob,ml,,
c,200,60,0,ann,ops,gpt,200
d,86400,7200,4,cat,ops,,90000
CSV
}

# ids FILE: the first column of its rows, on one line.
ids() {
  sed 1d "$1" | cut -d, -f1 | tr '\n' ' '
}

case_help() {
  for action in $actions; do
    try 0 help trace "$action"
    says stdout "Usage: headroom trace $action TRACE"
    says stdout "  headroom trace $action "
    [ "$(wc -L <stdout)" -le 80 ] || fail "help trace $action is wider than 80 columns"
  done
}

case_a_converted_trace_is_the_same_trace() {
  local name
  digest() {
    try 0 run "$project/scenarios/demo.json" --trace "$1" --json -
    grep -oE '"digest": *"[^"]*"' stdout
  }
  try 0 trace convert "$demo" -o first.csv --quiet
  for name in again.csv again.csv.gz again.csv.zst; do
    try 0 trace convert first.csv -o $name --quiet
    is_empty stdout
    is_empty stderr
    try 0 trace convert $name
    cmp -s stdout first.csv || fail "$name is a different trace"
  done
  [ "$(head -c 2 again.csv.gz | od -An -tx1)" = ' 1f 8b' ] || fail "not compressed"
  [ "$(digest "$demo")" = "$(digest again.csv.zst)" ] || fail "the runs differ"
}

case_losses_are_told() {
  small_trace
  try 0 trace convert t.csv -o t.swf --json done.json
  says stdout "written    t.swf"
  says stderr "note: 'model' of 1 job is dropped: swf cannot store it"
  says stderr "note: 'submit' of 1 job is rounded: swf stores whole seconds"
  says stderr "note: 'user' of 3 jobs is replaced by a number from 1: swf stores only numbers"
  says stderr "note: 1 job left out: swf cannot store the value of 'gpus'"
  says done.json '"jobs": 3,'
  tr -d ' \n' <done.json >packed
  says packed '{"field":"model","loss":"dropped","jobs":1}'
  says packed '{"field":"gpus","loss":"left-out","jobs":1}'
  matches t.swf '^1 0 10 3600 8 -1 -1 8 -1 -1 -1 1 1 -1 -1 -1 -1 -1$'
  try 0 trace convert t.csv --to swf --quiet
  cmp -s stdout t.swf || fail "--to swf writes a different file"
  is_empty stderr
  try 0 trace convert t.swf -o back.csv --quiet
  [ "$(head -n 1 back.csv)" = 'job_id,submit_s,duration_s,gpus,user,tenant,start_s' ] || fail "columns"
}

case_actions() {
  small_trace
  try 0 trace cut t.csv --from 1m --to 1d --tenant ops
  [ "$(ids stdout)" = 'c ' ] || fail "cut"
  try 0 trace cut t.csv --from @100 --user ann --user bob --jobs 1
  [ "$(ids stdout)" = 'b ' ] || fail "cut by users"
  try 0 trace cut t.csv --from 50 --keep-running
  says stdout 'a,50,3560,8,ann,ml,gpt,50'
  try 0 trace scale t.csv --load 2 --jitter 0
  [ "$(ids stdout)" = 'a a+1 b b+1 c c+1 d d+1 ' ] || fail "duplicate"
  try 0 trace scale t.csv --load 2 --by compress
  says stdout 'd,43200,7200,4,cat,ops,,46800'
  try 0 trace scale t.csv --load 0.5 --seed 3 --json done.json -o half.csv
  says done.json '"method": "thin"'
  says done.json '"seed": 3'
  try 0 trace merge t.csv "$agency" --labels x,y --tenant-prefix --merge-tenants x/ml+y/retail=both
  says stdout 'x/a,0,3600,8,x/ann,both,,,,gpt,,10'
  says stdout 'y/retail-serve-1,0,86400,1,,both,inference,1,'
  try 0 trace merge t.csv --keep-ids --merge-tenants ml+ops=all
  [ "$(sed 1d stdout | cut -d, -f6 | sort -u)" = all ] || fail "merged tenants"
  try 0 trace shuffle t.csv --what users
  [ "$(sed 1d stdout | cut -d, -f5 | sort | tr '\n' ' ')" = 'ann ann bob cat ' ] || fail "shuffled users"
  try 0 trace anonymise t.csv --key k --drop model,start --shift 1h
  [ "$(head -n 1 stdout)" = 'job_id,submit_s,duration_s,gpus,user,tenant' ] || fail "dropped columns"
  matches stdout '^j-[0-9a-f]{16},3600,3600,8,u-[0-9a-f]{16},t-[0-9a-f]{16}$'
  if grep -qE 'ann|bob|ml|ops' stdout; then fail "a name remains"; fi
}

case_keys_are_never_told() {
  small_trace
  printf 'open sesame\n' >key
  try 0 trace anonymise t.csv --key-file key -o a.csv --json a.json
  if grep -rq sesame a.csv a.json stdout stderr; then fail "the key is printed"; fi
  try 0 trace anonymise t.csv --key 'open sesame' -o b.csv
  cmp -s a.csv b.csv || fail "the key of the file differs"
  printf 'open sesame\r\n' >key
  try 0 trace anonymise t.csv --key-file key -o b.csv
  cmp -s a.csv b.csv || fail "a line end is part of the key"
  try 2 trace anonymise t.csv --key-file key --key 'open sesame'
  says stderr 'expected one of --key-file FILE and --key TEXT'
  try 2 trace anonymise t.csv --key 'open sesame' --shift never
  if grep -q sesame stderr; then fail "the key is printed"; fi
  try 2 trace anonymise t.csv
  : >key
  try 2 trace anonymise t.csv --key-file key
  says stderr 'key: the file contains no key'
  head -c 5000 /dev/zero >key
  try 2 trace anonymise t.csv --key-file key
  says stderr 'key: the key has more than 4096 bytes'
  try 2 trace anonymise t.csv --key-file nowhere
  says stderr 'nowhere: cannot be read: No such file or directory'
  try 2 trace anonymise t.csv --key-file .
  says stderr '.: cannot be read'
  try 2 trace anonymise t.csv --key ''
}

# The output contains no name of the source, and the key file is unchanged.
case_anonymise_forgets_and_spares() {
  printf 'submit_s,duration_s,gpus,user,vip_customer\n0,1,1,ann,x\n9,1,1,bob,y\n' >secret-project.csv
  printf 'a key' >key
  for ending in hrt csv swf; do
    try 0 trace anonymise secret-project.csv --key-file key -o "out.$ending" -q
    ! grep -qaE 'secret|vip|ann|bob' "out.$ending" || fail "out.$ending contains names of its trace"
  done
  try 0 trace pack secret-project.csv -o first.hrt -q
  try 0 trace anonymise first.hrt --key-file key -o out.hrt -q
  ! grep -qaE 'secret|vip|ann|bob' out.hrt || fail "out.hrt contains names of its trace"
  try 2 trace anonymise secret-project.csv --key-file key -o key
  says stderr 'key'
  try 2 trace anonymise secret-project.csv --key-file key --json key -o out.csv
  [ "$(cat key)" = 'a key' ] || fail "the key was overwritten"
}

# Labels that would make two ids equal are rejected. Ids that are equal for another reason are an error too.
case_merge_loses_nothing() {
  printf 'job_id,submit_s,duration_s,gpus\nb/1,0,1,1\n' >one.csv
  printf 'job_id,submit_s,duration_s,gpus\n1,0,1,1\n' >two.csv
  try 2 trace merge one.csv two.csv --labels a,a/b -o out.csv
  says stderr "a/b"
  try 2 trace merge one.csv one.csv --keep-ids -o out.csv
  says stderr "job id 'b/1'"
  [ ! -e out.csv ] || fail "out.csv was written"
}

case_swf_numbers_the_jobs_that_it_holds() {
  printf 'job_id,submit_s,duration_s,gpus\na,0,5,0\nb,1,5,2\nc,2,5,2\n' >t.csv
  try 0 trace convert t.csv --to swf -q
  [ "$(grep -v '^;' stdout | cut -d ' ' -f 1 | tr '\n' ,)" = 1,2, ] || fail "numbered $(grep -v '^;' stdout)"
}

# The suffix of an output file determines its format in every verb. An unknown suffix is rejected.
case_names_of_outputs() {
  small_trace
  for action in convert cut merge shuffle 'anonymise --key k' 'scale --load 2'; do
    # shellcheck disable=SC2086 # words
    try 2 trace $action t.csv -o out.parquet
    says stderr "out.parquet: unknown suffix '.parquet'; suffixes: .csv .swf .hrt, .gz or .zst after .csv and .swf"
  done
  try 2 trace pack t.csv -o out.hrt.xz
  try 0 trace convert t.csv -o out.SWF -q
  grep -q '^; Version: 2.2' out.SWF || fail "out.SWF is not an SWF file"
  try 0 trace convert t.csv -o out.txt --to csv -q
  try 0 trace convert t.csv -o out -q
  cmp -s out t.csv || fail "a name without an ending is not CSV"
  [ "$(echo out*)" = 'out out.SWF out.txt' ] || fail "written: $(echo out*)"
}

# Every verb that reads a trace can read it from a pipe, in any format and compression.
case_standard_input() {
  small_trace
  small_scenario
  through() {
    local from=$1
    shift
    "$headroom" "$@" <"$from" >stdout 2>stderr || fail "$* <$from"
  }
  "$headroom" trace convert t.csv -o t.swf -q
  "$headroom" trace pack t.csv -o t.hrt -q
  gzip -k t.csv
  zstd -q t.csv -o t.csv.zst
  for file in t.csv t.csv.gz t.csv.zst; do
    cat $file | "$headroom" trace convert - >stdout || fail "$file through a pipe"
    cmp -s stdout t.csv || fail "$file through a pipe is a different trace"
    through $file trace convert -
    cmp -s stdout t.csv || fail "$file is a different trace"
  done
  through t.hrt trace convert -
  cmp -s stdout t.csv || fail "a packed file is a different trace"
  through t.swf trace stats -
  says stdout '3 jobs (swf)'
  for verb in 'trace stats -' 'trace check -' 'trace pack - -o x.hrt' 'trace cut - --jobs 1' 'trace scale - --load 2' \
    'trace shuffle -' 'trace anonymise - --key k' 'run s.json --trace -' 'validate s.json --trace -'; do
    # shellcheck disable=SC2086 # words
    "$headroom" $verb <t.csv >stdout 2>stderr || [ $? -eq 1 ] || fail "$verb"
  done
  "$headroom" trace merge t.csv - <t.csv.gz >stdout || fail "merge"
  says stdout stdin/a
  code=0
  "$headroom" trace merge - - --labels a,b <t.csv 2>stderr || code=$?
  [ $code -eq 2 ] || fail "standard input twice: $code"
  says stderr '-: standard input is named 2 times'
  code=0
  printf 'submit_s,duration_s,gpus\n0,1,x\n' | "$headroom" trace stats - 2>stderr || code=$?
  [ $code -eq 2 ] || fail "a bad row: $code"
  says stderr "standard input:2: column 'gpus': 'x' is not"
  code=0
  # shellcheck disable=SC2002 # the test needs a pipe
  cat t.hrt | "$headroom" trace stats - 2>stderr || code=$?
  [ $code -eq 2 ] || fail "a packed trace through a pipe: $code"
  says stderr 'standard input: is a packed trace'
  code=0
  "$headroom" trace stats - <&- 2>stderr || code=$?
  [ $code -eq 2 ] || fail "no standard input: $code"
  says stderr 'standard input: cannot be read'
}

case_packed_names_are_of_packed_files() {
  printf 'submit_s,duration_s,gpus\n0,1,1\n' >t.csv
  try 2 trace pack t.csv -o t.hrt.gz
  says stderr "format 'packed' cannot be compressed"
  [ ! -e t.hrt.gz ] || fail "t.hrt.gz was written"
}

# The error names the job that exceeds a bound, and its file.
case_times_beyond_all_bounds() {
  printf 'job_id,submit_s,duration_s,gpus\nnear,90000000000,1,1\n' >near.csv
  printf 'job_id,submit_s,duration_s,gpus\na,0,1,1\nb,99999999999,1,1\n' >far.csv
  try 2 trace merge near.csv far.csv --align start -o out.csv
  says stderr 'far.csv: job b: the submit time is out of range'
  try 2 trace anonymise far.csv --key k --shift 10d -o out.csv
  says stderr 'far.csv: job b: the submit time is out of range'
  [ ! -e out.csv ] || fail "out.csv was written"
}

# A file that a parameter of the format names is an input file too.
case_side_tables_are_spared() {
  printf 'j1,w,1,Terminated,1000,1600,600,29.3,50,T4\n' >task.csv
  printf 'j1,i1,ann,Terminated,990,1600\n' >job.csv
  cp job.csv before.csv
  for words in 'pack task.csv' 'convert task.csv' 'cut task.csv --from 0' 'generate --like task.csv --count 10'; do
    # shellcheck disable=SC2086 # words
    try 2 trace $words --format pai2020:jobs=job.csv -o job.csv --quiet
    [ "${words%% *}" = pack ] || says stderr 'job.csv: cannot be written: this run reads it'
    cmp -s job.csv before.csv || fail "$words: the table of jobs was overwritten"
  done
  for verb in stats check; do
    try 2 trace $verb task.csv --format pai2020:jobs=job.csv --json job.csv
    says stderr '--json job.csv: cannot be written: this run reads it'
    cmp -s job.csv before.csv || fail "$verb: the table of jobs was overwritten"
  done
  try 2 run "$project/scenarios/demo.json" --trace task.csv --format pai2020:jobs=job.csv --json job.csv
  says stderr '--json job.csv: cannot be written: this run reads it'
}

# SWF omits jobs without processors. The report states the number of jobs that were written.
case_swf_counts_what_it_holds() {
  printf 'submit_s,duration_s,gpus\n0,5,1\n1,5,0\n2,5,2\n' >t.csv
  try 0 trace convert t.csv -o t.swf
  tr -s ' \n' ' ' <stdout >line
  says line 'written t.swf 2 jobs'
}

case_mistakes() {
  small_trace
  echo kept >out.csv
  refused() {
    local text=$1
    shift
    try 2 trace "$@"
    says stderr "$text"
    is_empty stdout
    [ "$(cat out.csv)" = kept ] || fail "out.csv was written: $*"
  }
  refused "unknown output format 'swif'; did you mean 'swf'?; formats: csv swf packed" convert t.csv --to swif -o out.csv
  refused "--from 2026-01-01: the times of t.csv are seconds without dates" cut t.csv --from 2026-01-01 -o out.csv
  refused "--to soon: expected a duration" cut t.csv --to soon -o out.csv
  refused "t.csv: no job is left" cut t.csv --from 2d -o out.csv
  refused "t.csv: no job has the tenant 'nobody'" cut t.csv --tenant nobody -o out.csv
  refused "--keep-running needs --from TIME" cut t.csv --keep-running -o out.csv
  refused "--load X is missing" scale t.csv -o out.csv
  refused "unknown method 'thn'; did you mean 'thin'?" scale t.csv --load 0.5 --by thn -o out.csv
  refused "headroom: scale: load 2 is not from 0.001 to 1, the range of 'thin'" scale t.csv --load 2 --by thin -o out.csv
  refused "--jitter x: expected a duration" scale t.csv --load 2 --jitter x -o out.csv
  refused "--jitter 5m has no effect with 'thin'" scale t.csv --load 0.5 --jitter 5m -o out.csv
  refused "--jitter 1 has no effect with 'compress'" scale t.csv --load 2 --by compress --jitter 1 -o out.csv
  refused "--seed 3 has no effect with 'compress'" scale t.csv --load 2 --by compress --seed 3 -o out.csv
  refused "--seed -1: expected a whole number from 0 to 18446744073709551615" scale t.csv --load 2 --seed -1 -o out.csv
  refused "--keep-ids cannot be combined with --labels" merge t.csv --keep-ids --labels x -o out.csv
  refused "unknown shuffle 'row'; did you mean 'rows'?" shuffle t.csv --what row -o out.csv
  refused "unknown alignment 'begin'" merge t.csv --align begin -o out.csv
  refused "t.csv: its label 't' is also the label of t.csv" merge t.csv t.csv -o out.csv
  refused "--labels a,: expected 2 words" merge t.csv t.csv --labels a, -o out.csv
  refused "t.csv: job id 'a' is also in an earlier trace; use labels for ids" merge t.csv t.csv --keep-ids -o out.csv
  refused "no job has the tenant 'sales', which is to be merged" merge t.csv --merge-tenants sales=x -o out.csv
  refused "--merge-tenants ml+=x: expected A+B=NAME" merge t.csv --merge-tenants ml+=x -o out.csv
  refused "--keep-ids cannot be combined with --tenant-prefix" merge t.csv --keep-ids --tenant-prefix -o out.csv
  refused "'modle' is not a job field; did you mean 'model'?" anonymise t.csv --key k --drop modle -o out.csv
  refused "--undated cannot be combined with --shift" anonymise t.csv --key k --shift 1d --undated -o out.csv
  refused "a time shift of -86400 s gives times before 0 s" anonymise t.csv --key k --shift -1d -o out.csv
  refused "t.csv" convert t.csv -o t.csv
  refused "'': cannot be read: the file name is empty" convert '' -o out.csv
  refused "" convert t.csv -o out.csv --json out.csv
}

case_results_that_cannot_be_written() {
  small_trace
  [ -w /dev/full ] || exit 77
  try 4 trace convert t.csv -o /dev/full
  says stderr '/dev/full: cannot be written'
  try 4 trace convert t.csv -o out.csv --json /dev/full
  try 2 trace convert t.csv -o no/such/folder/out.csv
  "$headroom" trace generate --count 60000 -o long.csv
  set +o pipefail
  "$headroom" trace scale long.csv --load 3 2>stderr | head -n 1 >stdout
  local codes=("${PIPESTATUS[@]}")
  [ "${codes[0]}" -eq 141 ] || fail "exit code ${codes[0]}, not that of SIGPIPE"
  is_empty stderr
}

case_the_same_bytes_every_time() {
  twice() {
    local action=$1
    shift
    try 0 trace "$action" "$demo" "$@" -o a.csv
    try 0 trace "$action" "$demo" "$@" -o b.csv
    cmp -s a.csv b.csv || fail "$action $*"
  }
  twice scale --load 0.7
  twice scale --load 1.7
  twice shuffle
  twice shuffle --what users
  twice anonymise --key k
}

# same_scaled OUTPUT FILE OPTION...: scaling through files gives the bytes of scaling in memory, which is used without a
# temporary folder.
same_scaled() {
  output=$1
  shift
  TMPDIR=/nonexistent try 0 trace scale "$@" -o "memory-$output" -q
  try 0 trace scale "$@" -o "spooled-$output" -q
  cmp -s "memory-$output" "spooled-$output" || fail "$*: the bytes differ"
}

# Ids are consecutive numbers, numbers with gaps, texts or missing; ids of copies are texts. With a jitter above the
# length of the trace, all jobs are in the heap at once. A block of a spooled trace has 65,536 jobs.
case_scale_through_files() {
  "$headroom" trace generate --count 70000 -o counted.csv
  awk -F, -v OFS=, 'NR > 1 { $1 = 2 * NR } { print }' counted.csv >gaps.csv
  awk -F, -v OFS=, 'NR > 1 { $1 = "j" NR } { print }' counted.csv >texts.csv
  cut -d, -f2- counted.csv >none.csv
  "$headroom" trace pack gaps.csv -o gaps.hrt -q
  for trace in counted.csv gaps.hrt texts.csv none.csv; do
    same_scaled s.csv "$trace" --load 1.7 --seed 3 --jitter 2d
  done
  same_scaled s.hrt gaps.csv --load 1.7 --jitter 1000000d
  same_scaled s.csv gaps.csv --load 0.4 --seed 3
  same_scaled s.hrt counted.csv --load 0.4 --seed 3
  same_scaled s.csv counted.csv --load 1.3 --by compress
}

# Data memory does not grow with the number of jobs: in memory, 1,000,000 jobs are 34 MiB.
case_scale_memory_is_bounded() {
  if ! (ulimit -d 16000 && "$headroom" --version >/dev/null 2>&1); then
    echo "*** SKIPPED: this build needs more memory to start ***"
    exit 77
  fi
  "$headroom" trace generate --count 1000000 -o t.csv
  for options in '--load 0.4' '--load 1.2 --by compress' '--load 1.2'; do
    # shellcheck disable=SC2086 # options and their values
    (ulimit -d 16000 && "$headroom" trace scale t.csv $options -o s.csv -q) || fail "$options needs more than 16 MB"
  done
  if (ulimit -d 16000 && TMPDIR=/nonexistent "$headroom" trace scale t.csv --load 0.4 -o m.csv -q 2>/dev/null); then
    fail "1,000,000 jobs fit into 16 MB, so this test has no effect"
  fi
}

# Traces outside the repository: 447,794 jobs of RICC are converted to SWF and back. The run of the Philly trace is the
# same after the trace is converted to CSV.
case_real_traces() {
  local ricc=$project/../shared/traces/swf/RICC-2010-2.swf.gz philly=$project/../shared/traces/philly/philly.csv.gz
  digest() {
    try 0 run "$project/scenarios/philly.json" --json - "$@"
    grep -oE '"digest": *"[^"]*"' stdout
  }
  if [ ! -r "$ricc" ] || [ ! -r "$philly" ]; then
    echo "*** SKIPPED: real traces $ricc and $philly are not there ***" >&2
    exit 77
  fi
  try 0 trace convert "$ricc" -o ricc.csv --quiet
  try 0 trace convert ricc.csv -o ricc.swf --json done.json
  says done.json '"lost": []'
  try 0 trace convert ricc.swf -o again.csv --quiet
  cmp -s ricc.csv again.csv || fail "the converted RICC trace differs"
  try 0 trace convert "$philly" -o philly.csv.zst --quiet
  [ "$(digest --trace "$philly")" = "$(digest --trace philly.csv.zst --format csv)" ] || fail "Philly: the runs differ"
}

run_case
