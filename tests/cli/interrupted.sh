#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# If a signal ends the program while it writes a file, no file remains, not even a temporary one.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
set -m # otherwise background processes ignore SIGINT
program=
trap '[ -z "$program" ] || kill -s KILL "$program" 2>/dev/null; rm -rf "$work"' EXIT

# has_begun FOLDER BEFORE: whether the program has begun to write a file in the folder. BEFORE: the files that existed
# before. The new file may have no name. Descriptors may disappear while they are read.
has_begun() {
  [ "$(ls -A "$1")" = "$2" ] || return 0
  local descriptor
  for descriptor in "/proc/$program/fd"/*; do
    case $(readlink "$descriptor" || :) in "$PWD/$1"/*) return 0 ;; esac
  done
  kill -0 "$program" 2>/dev/null || fail "it ended before it wrote a file"
  return 1
}

# ends_at "SIGNAL..." CODE ARGUMENT...: sends the signals when the program has begun to write a file in the folder out.
# The program must end with the exit code and print nothing.
ends_at() {
  local signals=$1 expected=$2 code=0 before
  shift 2
  mkdir -p out
  before=$(ls -A out)
  "$headroom" "$@" >stdout 2>stderr </dev/null &
  program=$!
  wait_until 100 has_begun out "$before"
  for signal in $signals; do kill -s "$signal" $program; done
  wait $program || code=$?
  program=
  [ "$code" -eq "$expected" ] || fail "$signals: exit code $code, not $expected: headroom $*"
  is_empty stdout
  is_empty stderr
  [ "$(ls -A out)" = "$before" ] || fail "$signals: files remain: $(ls -A out)"
}

# A trace whose replay with --check takes at least half a minute, since --check examines every node at every event.
long_run() {
  "$headroom" trace generate --count 300000 --nodes 4 -o long.csv
  small_scenario
  sed -i 's/"nodes": 2/"nodes": 2000/' s.json
}

case_run() {
  long_run
  for signal in 'INT 130' 'TERM 143' 'HUP 129'; do
    # shellcheck disable=SC2086 # two words
    ends_at $signal run s.json --trace long.csv --check --timeline out/timeline.csv --json out/summary.json
  done
}

case_generate() {
  ends_at INT 130 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
  ends_at TERM 143 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
}

# If the file system supports files without a name, an incomplete file has no name, so it is removed with the process.
case_killed() {
  local files
  mkdir probe
  "$headroom" trace generate --count 100000000 --nodes 10000 -o probe/jobs.csv &
  program=$!
  wait_until 100 has_begun probe ''
  files=$(ls -A probe)
  kill -s KILL $program
  wait $program || true
  program=
  [ -z "$files" ] || exit 77
  ends_at KILL 137 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
  "$headroom" trace generate --count 100000 --nodes 100 -o long.csv
  echo old >out/old.csv
  ends_at KILL 137 trace scale long.csv --load 20 -o out/old.csv
  [ "$(cat out/old.csv)" = old ] || fail "the old file differs"
  ends_at KILL 137 trace scale long.csv --load 20 -o out/jobs.csv.gz
}

# An existing output file remains unchanged.
case_old_files_stay() {
  mkdir out
  echo old >out/jobs.csv
  ends_at INT 130 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
  [ "$(cat out/jobs.csv)" = old ] || fail "the old file differs"
}

# A pipe is closed while a run writes to it.
case_closed_pipe() {
  small_scenario
  sed -i 's/"nodes": 2/"nodes": 2, "market": "reserved", "usd_per_gpu_hour": 2/' s.json
  mkdir out
  "$headroom" trace generate --count 20000 --nodes 4 -o long.csv
  for option in jobs timeline perfetto openmetrics; do
    { "$headroom" run s.json --trace long.csv --"$option" - 2>stderr || echo $? >code; } | head -n 1 >stdout
    [ "$(cat code)" = 4 ] || fail "--$option: exit code $(cat code)"
    says stderr 'headroom: standard output: cannot be written: Broken pipe'
  done
  # Small outputs fit into the buffer of the pipe, so they fail only if the pipe has no reader from the start.
  for option in json costs md; do
    { reader_is_gone; "$headroom" run s.json --trace long.csv --"$option" - 2>stderr || echo $? >code; } | close_reader
    [ "$(cat code)" = 4 ] || fail "--$option: exit code $(cat code)"
    says stderr 'headroom: standard output: cannot be written: Broken pipe'
  done
  { "$headroom" run s.json --trace long.csv --timeline out/timeline.csv --jobs - 2>stderr || echo $? >code; } |
    head -n 1 >stdout
  [ "$(cat code)" = 4 ] || fail "exit code $(cat code)"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

# The disk is full for one of the files. The error names that file, and no file is left incomplete.
case_full_disk() {
  local all='jobs timeline perfetto openmetrics json costs md' option other
  small_scenario
  sed -i 's/"nodes": 2/"nodes": 2, "market": "reserved", "usd_per_gpu_hour": 2/' s.json
  "$headroom" trace generate --count 2000 --nodes 2 -o jobs.csv
  mkdir whole
  # shellcheck disable=SC2046 # words
  try 0 run s.json --trace jobs.csv --quiet $(for option in $all; do echo "--$option whole/$option"; done)
  for option in $all; do
    mkdir out
    # shellcheck disable=SC2046 # words
    try 4 run s.json --trace jobs.csv --"$option" /dev/full \
      $(for other in $all; do [ "$other" = "$option" ] || echo "--$other out/$other"; done)
    says stderr 'headroom: /dev/full: cannot be written: No space left on device'
    is_empty stdout
    for other in $all; do
      [ ! -e "out/$other" ] || [ "$other" = json ] || cmp "out/$other" "whole/$other" >&2 || fail "$other is incomplete"
    done
    [ -z "$(find out -name '*.*')" ] || fail "files remain: $(ls -A out)"
    rm -r out
  done
}

# The signal is ignored, as with nohup.
case_ignored_signals_stay_ignored() {
  trap '' HUP
  ends_at 'HUP TERM' 143 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
}

run_case
