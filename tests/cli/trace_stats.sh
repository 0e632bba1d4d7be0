#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom trace stats`: its files, its errors, and a full device.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

reference=$project/traces/reference

case_tables_and_json() {
  try 0 trace stats "$reference/multi-tenant.csv" --json stats.json
  says stdout 'GPUs requested'
  says stdout 'log-normal'
  matches stats.json '"gpu_hours_by_tenant"'
  try 0 trace stats "$reference/multi-tenant.csv" --json - -o table.txt
  matches stdout '^{'
  says table.txt 'statistics of'
  try 0 trace stats "$reference/multi-tenant.csv" -q
  is_empty stdout
}

# Columns are separated by at least two spaces, within 80 columns. Hours without jobs are blank. Values equal those of
# the JSON.
case_tables_are_clear() {
  { echo job_id,submit_s,duration_s,gpus,user,start_s
    for job in $(seq 2000); do
      echo "$job,$((job % 20 * 3600 + job)),$((job % 7 * 86399 + 3599)).3,$((job % 9)),a-user-with-a-long-name-$((job % 3)),$((job * 90000))"
    done; } >t.csv
  try 0 trace stats t.csv --json stats.json -o table.txt
  [ "$(width table.txt)" -le 80 ] || fail "wider than 80 columns"
  awk '/^run time +[0-9]/ || /^wait / || /^gap +[0-9<]/ { if (split($0, columns, "  +") != 7) exit 1; n++ } END { exit n != 3 }' table.txt ||
    fail "columns of spreads are too close"
  awk '/^a-user/ { if (split($0, columns, "  +") != 7) exit 1; n++ } END { exit n != 3 }' table.txt ||
    fail "columns of groups are too close"
  matches table.txt '█    '
  ! grep -qE '[0-9]\.[0-9]{7,}' stats.json || fail "noise behind the point"
  says stats.json 3599.3
}

case_same_bytes_again() {
  "$headroom" trace stats "$reference/bursty.csv" --json first.json -q
  "$headroom" trace stats "$reference/bursty.csv" --json again.json -q
  cmp first.json again.json || fail "the same trace gave different bytes"
}

case_bad_input() {
  try 2 trace stats
  says stderr 'TRACE'
  try 2 trace stats absent.csv
  matches stderr 'absent\.csv: .*No such file'
  : >empty.csv
  try 2 trace stats empty.csv --json stats.json
  matches stderr 'empty\.csv: .*empty'
  [ ! -e stats.json ] || fail "a file remains"
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
