#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom forecast`: its output, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

agency=$project/traces/reference/agency.csv

# refuses TEXT ARGUMENT...: the input is rejected with this text, and no file is written.
refuses() {
  local text=$1
  shift
  mkdir -p out
  try 2 forecast "$@" --json out/f.json --csv out/f.csv
  is_empty stdout
  says stderr "$text"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

case_table() {
  try 0 forecast "$agency"
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  matches stdout '^month 3  '
  matches stdout '^retail +training  '
  matches stdout '^total  '
  says stderr 'note: 4 weeks are too few for a trend'
  try 0 forecast "$agency" --quiet
  is_empty stdout
  is_empty stderr
}

case_rows() {
  try 0 forecast "$agency" --months 1mo --csv rows.csv --json all.json -q
  [ "$(head -n 1 rows.csv)" = tenant,class,week,low_gpu_hours,mean_gpu_hours,high_gpu_hours ] || fail "the column names differ"
  [ "$(wc -l <rows.csv)" -eq $((1 + 5 * 5)) ] || fail "a row for each series and week"
  awk -F, 'NR > 1 && !($4 <= $5 && $5 <= $6 && $4 >= 0)' rows.csv >wrong
  is_empty wrong
  says all.json '"holdout_weeks": 1'
}

# Repeated runs write equal bytes. Three months are the default, and may be written as 3 or 3mo.
case_same_bytes() {
  try 0 forecast "$agency" -q --json 1.json --csv 1.csv
  try 0 forecast "$agency" -q --json 2.json --csv 2.csv --months 3
  try 0 forecast "$agency" -q --json 3.json --months 3mo --confidence 0.95 --holdout 1
  if ! { cmp 1.json 2.json && cmp 1.csv 2.csv && cmp 1.json 3.json; }; then fail "the outputs differ"; fi
}

case_standard_output() {
  try 0 forecast "$agency" --csv -
  [ "$(grep -c '^(total),(total),' stdout)" -eq 14 ] || fail "three months are 14 weeks"
  try 0 forecast "$agency" --json - --months 1
  says stdout '"growth_per_year": null,'
}

# In a year the demand is exactly 1.5 times the demand of today, in all digits that are printed.
case_growth() {
  for growth in 1 1.5; do try 0 forecast "$agency" --months 12 --growth $growth -q --csv $growth.csv; done
  paste -d, 1.csv 1.5.csv | awk -F, 'NR > 1 { factor = exp(log(1.5) * $3 * 7 / 365.25)
    if ($11 / $5 < factor * (1 - 1e-6) || $11 / $5 > factor * (1 + 1e-6)) print }' >wrong
  is_empty wrong
  try 0 forecast "$agency" --growth 1.5
  says stdout 'a factor of 1.5 per year'
}

case_columns_are_mapped() {
  awk -F, 'NR == 1 { print "when,how_long,many"; next } { print $2 "," $3 "," $4 }' "$agency" >mine.csv
  try 2 forecast mine.csv
  try 0 forecast mine.csv --map submit=when,duration=how_long,gpus=many --format csv
  matches stdout '^total  '
  echo 'a,b,c' >>mine.csv
  try 2 forecast mine.csv --map submit_s=when,duration_s=how_long,gpus=many
  try 0 forecast mine.csv --map submit=when,duration=how_long,gpus=many --lenient
  says stderr 'mine.csv: 1 row left out'
}

case_what_is_refused() {
  refuses "the trace covers 5.7 days; a forecast needs at least 2 whole weeks, and 6 for a trend" \
    "$project/traces/reference/demo.csv"
  refuses "--months 19: expected a whole number of months from 1 to 18" "$agency" --months 19
  refuses "--months 2w: expected a whole number" "$agency" --months 2w
  refuses "--months mo: expected a whole number" "$agency" --months mo
  refuses "--months 0mo: expected a whole number" "$agency" --months 0mo
  refuses "--growth 0: expected a number from 0.01 to 100" "$agency" --growth 0
  refuses "--confidence 1: expected a number from 0.5 to 0.999" "$agency" --confidence 1
  refuses "cannot hold back 3 weeks: of 4 usable weeks at most 2" "$agency" --holdout 3
  refuses "unknown trace format 'cvs'; did you mean 'csv'?" "$agency" --format cvs
  refuses "--map gpu=x: " "$agency" --map gpu=x
  refuses "no.csv" no.csv
  refuses "unknown option '--month'; did you mean '--months'?" "$agency" --month 3
  cp "$agency" trace.csv
  try 2 forecast trace.csv --csv trace.csv
  says stderr 'this run reads it'
  try 2 forecast "$agency" --csv same --json same
  [ ! -e same ] || fail "a file remains: same"
  try 2 forecast
  says stderr 'forecast: TRACE is missing'
  printf 'submit_s,duration_s,gpus\n0,3600,0\n2000000,3600,0\n' >none.csv
  refuses "none.csv: no job requests GPU time" none.csv
  refuses 'demo.json: this is a scenario; expected a trace, such as the file that its "trace" names' \
    "$project/scenarios/demo.json"
}

run_case
