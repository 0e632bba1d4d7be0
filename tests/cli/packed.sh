#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Packed traces: a run equals the run of the original trace. A damaged or incomplete packed trace is rejected.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# same_run SCENARIO TRACE [OPTION...]: compares all jobs, in the order of the trace with their ids, and all metrics.
same_run() {
  local scenario=$1 trace=$2 what
  shift 2
  try 0 trace pack "$trace" -o t.hrt -q "$@"
  for what in "$trace" t.hrt; do
    try 0 run "$scenario" --trace "$what" --jobs "${what##*/}.jobs" --json "${what##*/}.json" -q
    sed -i -e '/"perf": {/,/}/d' -e '/"notes": \[\]/d' -e '/"notes": \[$/,/\]/d' -e '/^ *"file": /d' -e '/^ *"format": /d' "${what##*/}.json"
  done
  says t.hrt.json '"digest"'
  diff "${trace##*/}.json" t.hrt.json >stdout || fail "the packed trace of $trace gives different metrics"
  cmp -s "${trace##*/}.jobs" t.hrt.jobs || fail "the packed trace of $trace has different jobs"
}

# real_trace SCENARIO FILE [OPTION...]: the same comparison for a trace that is not part of the repository.
real_trace() {
  local scenario=$project/scenarios/$1 path=$project/../shared/traces/$2
  shift 2
  [ -e "$path" ] || {
    echo "*** SKIPPED: real trace $path is not there ***"
    exit 77
  }
  same_run "$scenario" "$path" "$@"
}

# The agency's jobs accept A100-40 or L4 GPUs in one region, so the cluster also has these.
case_reference_traces() {
  small_scenario
  local more='"region": "us-east-1", "nodes": 4, "gpus_per_node": 8 }'
  sed -i "s|\"pools\": \[|& { \"name\": \"a\", \"gpu\": \"A100-40\", $more, { \"name\": \"l\", \"gpu\": \"L4\", $more, |" s.json
  for trace in "$project"/traces/reference/*.csv; do
    [ "${trace##*/}" = llama-training.csv ] || same_run s.json "$trace" # its job does not fit into this cluster
  done
}

case_helios() { real_trace helios.json helios-venus/helios_trace.csv.gz \
  --map submit=arrival_s,duration=service_sec,gpus=gpu_count; }
case_philly() { real_trace philly.json philly/philly.csv.gz; }
case_ricc() { real_trace swf.json swf/RICC-2010-2.swf.gz; }
case_openb() { real_trace openb.json alibaba-openb2023/openb_pod_list_default.csv; }

# same_packed FILE: packing through files gives the bytes of packing in memory, which is used without a temporary
# folder.
same_packed() {
  TMPDIR=/nonexistent try 0 trace pack "$1" -o memory.hrt -q
  try 0 trace pack "$1" -o spooled.hrt -q
  cmp -s memory.hrt spooled.hrt || fail "$1: the bytes differ"
}

# Rows of a trace are stored in files until a row is out of order, or an id is a text or does not increase.
case_spooled_same_bytes() {
  "$headroom" trace generate --count 200000 -o sorted.csv
  same_packed sorted.csv
  awk -F, -v OFS=, 'NR == 150000 { $2 = 1 } { print }' sorted.csv >unsorted.csv
  same_packed unsorted.csv
  awk -F, -v OFS=, 'NR == 150000 { $1 = "x-1" } { print }' sorted.csv >texts.csv
  same_packed texts.csv
  awk -F, -v OFS=, 'NR > 1 { $1 = 400000 - NR } NR < 150000 && NR > 1 { $1 = NR } { print }' sorted.csv >falling.csv
  same_packed falling.csv
  awk -F, -v OFS=, 'NR > 1 { $1 = 2 * NR } { print }' sorted.csv >gaps.csv
  same_packed gaps.csv
}

# Data memory does not grow with the number of rows: 1,000,000 jobs in memory are 34 MiB.
case_memory_is_bounded() {
  if ! (ulimit -d 16000 && "$headroom" --version >/dev/null 2>&1); then
    echo "*** SKIPPED: this build needs more memory to start ***"
    exit 77
  fi
  "$headroom" trace generate --count 1000000 -o t.csv
  (ulimit -d 16000 && "$headroom" trace pack t.csv -o t.hrt -q) || fail "packing needs more than 16 MB"
  (ulimit -d 16000 && "$headroom" trace pack t.hrt -o again.hrt -q) || fail "packing again needs more than 16 MB"
  if (ulimit -d 16000 && TMPDIR=/nonexistent "$headroom" trace pack t.csv -o m.hrt -q 2>/dev/null); then
    fail "1,000,000 jobs fit into 16 MB, so this test has no effect"
  fi
}

case_figures() {
  printf 'submit_s,duration_s,gpus\n5,1,1\n7,2,1\n' >t.csv
  try 0 trace pack t.csv -o t.hrt --json -
  is_empty stderr
  says stdout '"jobs": 2,'
  says stdout "\"bytes\": $(stat -c %s t.hrt),"
  says stdout '{ "name": "submit_us", "entries": 2, "bytes": 16, "xxh3": "'
  try 0 trace pack t.csv -o again.hrt
  cmp -s t.hrt again.hrt || fail "the same trace gives different bytes"
  try 0 trace pack t.csv -o -
  cmp -s t.hrt stdout || fail "standard output gets different bytes"
}

case_options_of_traces() {
  printf 'at,run,n\n5,1,1\n7,x,1\n' >t.csv
  try 2 trace pack t.csv -o t.hrt --map submit=at,duration=run,gpus=n
  says stderr "t.csv:3: column 'run': 'x' is"
  [ ! -e t.hrt ] || fail "a packed trace was written"
  try 0 trace pack t.csv -o t.hrt --map submit=at,duration=run,gpus=n --lenient
  says stderr '1 row left out'
  small_scenario
  try 0 run s.json --trace t.hrt -q --json out.json
  says out.json '"packed from t.csv (csv)"'
  says out.json "column 'run': "
}

case_misuse() {
  printf 'submit_s,duration_s,gpus\n5,1,1\n' >t.csv
  try 2 trace pack t.csv
  says stderr '-o FILE is missing'
  try 2 trace pack -o t.hrt
  try 2 trace pack t.csv -o t.csv
  says stderr 't.csv'
  try 2 trace pack absent.csv -o t.hrt
  [ ! -e t.hrt ] || fail "a packed trace was written"
}

# If the packed trace cannot be written, the error states the reason, and no file remains.
case_unwritable() {
  printf 'submit_s,duration_s,gpus\n5,1,1\n' >t.csv
  try 4 trace pack t.csv -o /dev/full
  says stderr '/dev/full: cannot be written: No space left on device'
  try 4 trace pack t.csv -o t.hrt --json /dev/full
  try 2 trace pack t.csv -o absent/t.hrt
  code=0
  { reader_is_gone; "$headroom" trace pack t.csv -o - 2>stderr || echo $? >code; } | close_reader
  [ "$(cat code)" = 141 ] || fail "exit code $(cat code), not that of SIGPIPE, as of all verbs of traces"
  is_empty stderr
}

case_damaged() {
  small_scenario
  "$headroom" trace generate --count 1000 | "$headroom" trace pack /dev/stdin -o t.hrt
  head -c 5000 t.hrt >short.hrt
  try 2 run s.json --trace short.hrt
  says stderr 'short.hrt: damaged packed trace: expected'
  { head -c 5000 t.hrt; printf '\377'; tail -c +5002 t.hrt; } >other.hrt
  try 2 validate s.json --trace other.hrt
  says stderr "other.hrt: damaged packed trace: its section 'submit_us' has a wrong checksum"
  gzip -k t.hrt
  try 2 run s.json --trace t.hrt.gz
  says stderr 't.hrt.gz: is a packed trace; packed traces must be plain files'
}

# The program is killed while it writes: the output does not exist, and the incomplete temporary file is rejected.
case_killed() {
  small_scenario
  "$headroom" trace generate --count 400000 -o t.csv
  mkdir out
  for _ in 1 2 3; do
    "$headroom" trace pack t.csv -o out/t.hrt &
    while [ -z "$(ls -A out)" ] && kill -0 $! 2>/dev/null; do :; done
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    for file in out/*; do
      [ "$file" != 'out/*' ] || continue
      code=0
      "$headroom" validate s.json --trace "$file" >stdout 2>stderr || code=$?
      [ $code -eq 2 ] || { [ $code -eq 0 ] && [ "$(stat -c %s "$file")" -gt 11200000 ]; } ||
        fail "$file is accepted as complete"
      rm "$file"
    done
  done
}

run_case
