#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom trace stats` from outside: its files, its errors, a device that is full.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

reference=$project/traces/reference

case_tables_and_json() {
  try 0 trace stats "$reference/multi-tenant.csv" --json stats.json
  says stdout 'GPUs asked for'
  says stdout 'log-normal'
  matches stats.json '"gpu_hours_by_tenant"'
  try 0 trace stats "$reference/multi-tenant.csv" --json - -o table.txt
  matches stdout '^{'
  says table.txt 'what is in'
  try 0 trace stats "$reference/multi-tenant.csv" -q
  is_empty stdout
}

case_same_bytes_again() {
  "$headroom" trace stats "$reference/bursty.csv" --json first.json -q
  "$headroom" trace stats "$reference/bursty.csv" --json again.json -q
  cmp first.json again.json || fail "the same trace gave other bytes"
}

case_bad_input() {
  try 2 trace stats
  says stderr 'TRACE'
  try 2 trace stats absent.csv
  matches stderr 'absent\.csv: .*No such file'
  : >empty.csv
  try 2 trace stats empty.csv --json stats.json
  matches stderr 'empty\.csv: .*empty'
  [ ! -e stats.json ] || fail "a file was left behind"
  printf 'submit_s,duration_s,gpus\n0,5,1\nx,5,1\n' >bad.csv
  try 2 trace stats bad.csv
  matches stderr 'bad\.csv:3'
  try 0 trace stats bad.csv --lenient
  says stdout '1 row'
  try 2 trace stats bad.csv --lenient --json bad.csv
  try 2 trace stats bad.csv --jsn x
  says stderr "did you mean '--json'?"
}

case_full_device() {
  [ -w /dev/full ] || exit 77
  try 4 trace stats "$reference/steady.csv" --json /dev/full
  try 4 trace stats "$reference/steady.csv" -o /dev/full
}

run_case
