#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A program that is ended by a signal while it writes leaves no file behind, not even a temporary one.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
set -m # what is started in the background hears SIGINT
program=
trap '[ -z "$program" ] || kill -s KILL "$program" 2>/dev/null; rm -rf "$work"' EXIT

# has_begun FOLDER BEFORE: whether the program has begun a file in the folder, which had the files BEFORE: under a name, or
# without one. Its descriptors come and go while they are read.
has_begun() {
  [ "$(ls -A "$1")" = "$2" ] || return 0
  local descriptor
  for descriptor in "/proc/$program/fd"/*; do
    case $(readlink "$descriptor" || :) in "$PWD/$1"/*) return 0 ;; esac
  done
  kill -0 "$program" 2>/dev/null || fail "it ended before it wrote a file"
  return 1
}

# ends_at "SIGNAL..." CODE ARGUMENT...: the program is sent the signals once it has begun a file in the folder out, and
# ends with that exit code, without a word.
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
  [ "$(ls -A out)" = "$before" ] || fail "$signals left behind: $(ls -A out)"
}

# A trace whose replay under --check, which looks at each node all the time, takes half a minute at least.
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

# Nothing of a file that is not whole has a name, where the system has such files, so that nothing can be left.
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

# What was there before stays as it was.
case_old_files_stay() {
  mkdir out
  echo old >out/jobs.csv
  ends_at INT 130 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
  [ "$(cat out/jobs.csv)" = old ] || fail "the old file differs"
}

# A pipe that is closed while a run writes to it.
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
  # Small outputs are lost only if there is no reader at all.
  for option in json costs md; do
    { reader_is_gone; "$headroom" run s.json --trace long.csv --"$option" - 2>stderr || echo $? >code; } | close_reader
    [ "$(cat code)" = 4 ] || fail "--$option: exit code $(cat code)"
    says stderr 'headroom: standard output: cannot be written: Broken pipe'
  done
  { "$headroom" run s.json --trace long.csv --timeline out/timeline.csv --jobs - 2>stderr || echo $? >code; } |
    head -n 1 >stdout
  [ "$(cat code)" = 4 ] || fail "exit code $(cat code)"
  [ -z "$(ls -A out)" ] || fail "left behind: $(ls -A out)"
}

# A disk that is full for one of the files: that one is named, and none is left half-written.
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
      [ ! -e "out/$other" ] || [ "$other" = json ] || cmp "out/$other" "whole/$other" >&2 || fail "$other is not whole"
    done
    [ -z "$(find out -name '*.*')" ] || fail "left behind: $(ls -A out)"
    rm -r out
  done
}

# As under nohup.
case_ignored_signals_stay_ignored() {
  trap '' HUP
  ends_at 'HUP TERM' 143 trace generate --count 100000000 --nodes 10000 -o out/jobs.csv
}

run_case
