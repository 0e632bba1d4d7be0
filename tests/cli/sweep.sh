#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom sweep` and `headroom merge`: the files are equal for each way to produce them; bad input.
# shellcheck source=tests/cli/sweep_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/sweep_common.sh"

# same A B: both files have equal bytes.
same() {
  cmp "$1" "$2" >stderr || fail "$1 and $2 differ"
}

# only FILE...: the folder `out` contains no other files.
only() {
  [ "$(cd out && echo *)" = "$*" ] || fail "in the folder: $(cd out && echo *), not $*"
}

# refuses TEXT: the grid g.json is rejected with this text, and no file is written.
refuses() {
  local text=$1
  shift
  mkdir -p out
  try 2 sweep g.json --db out/g.sqlite --csv out/g.csv "$@"
  is_empty stdout
  says stderr "$text"
  [ -z "$(ls -A out)" ] || fail "files remain: $(ls -A out)"
}

# ---- Equal files ---------------------------------------------------------------------------------------------------

case_threads_change_nothing() {
  small_grid
  try 0 sweep g.json --threads 1
  says stdout 'points     12'
  says stdout 'runs       36: 0 found, 36 new, none missing'
  [ "$(width stdout)" -le 80 ] || fail "wider than 80 columns"
  is_empty stderr
  mkdir out
  for threads in 2 4; do
    try 0 sweep g.json --threads $threads --db out/$threads.sqlite -q
    is_empty stdout
    same g.sqlite out/$threads.sqlite
  done
  only 2.sqlite 4.sqlite
}

case_gone_on_with() {
  small_grid
  try 0 sweep g.json --db once.sqlite -q
  for shard in 2 1; do try 0 sweep g.json --shard $shard/2; done
  says stdout '36: 18 found, 18 new, none missing'
  same once.sqlite g.sqlite
  try 0 sweep g.json
  says stdout '36: 36 found, 0 new, none missing'
  same once.sqlite g.sqlite
}

case_killed() {
  long_grid
  try 0 sweep g.json --db once.sqlite -q
  mkdir out
  # The sweep is killed once after it has completed some runs, and then at random times.
  "$headroom" sweep g.json --threads 2 --db out/g.sqlite -q &
  grown out/g.sqlite
  kill -9 $!
  wait $! 2>/dev/null && fail "it was not killed"
  for _ in 1 2 3; do
    timeout -s KILL "0.$((RANDOM % 4))$((RANDOM % 10))" "$headroom" sweep g.json --threads 2 --db out/g.sqlite -q || :
  done
  rm -f out/g.sqlite.??????{,-journal} # drafts of processes that could not remove them, and SQLite's journals of drafts
  try 0 sweep g.json --db out/g.sqlite
  matches stdout 'runs +240: [1-9][0-9]* found, [0-9]+ new, none missing'
  same once.sqlite out/g.sqlite
  only g.sqlite
}

case_interrupted() {
  long_grid
  sed -i 's/"replications": 4/"replications": 400/' g.json # does not end before the signal
  mkdir out
  "$headroom" sweep g.json --threads 2 --db out/g.sqlite >stdout 2>stderr &
  grown out/g.sqlite
  kill -TERM $!
  wait $! 2>/dev/null && fail "it was not ended"
  is_empty stdout
  for file in out/*; do
    case $file in out/g.sqlite | out/g.sqlite-wal) ;; *) fail "file remains: $file" ;; esac
  done
}

case_shards_merged() {
  small_grid
  try 0 sweep g.json --db once.sqlite -q --csv once.csv
  for shard in 1 2 3; do
    try 0 sweep g.json --shard $shard/3 --db $shard.sqlite
    says stdout 'missing    24, the first is run'
  done
  try 0 merge all.sqlite 3.sqlite 1.sqlite 2.sqlite --csv all.csv
  same once.sqlite all.sqlite
  same once.csv all.csv
  # A redundant file, or a file that is named twice, changes nothing. Missing runs are reported and can be added.
  try 0 merge all.sqlite 2.sqlite once.sqlite 2.sqlite -q
  same once.sqlite all.sqlite
  try 1 merge some.sqlite 3.sqlite 1.sqlite
  says stderr 'some.sqlite: 12 of 36 runs are missing, the first is run 1'
  says stdout 'missing    12, the first is run 1'
  try 0 sweep g.json --db some.sqlite -q
  same once.sqlite some.sqlite
  # The output file keeps the runs that it already contains.
  try 1 merge 1.sqlite 2.sqlite -q
  try 0 merge 1.sqlite 3.sqlite -q
  same once.sqlite 1.sqlite
}

case_other_folders_same_bytes() {
  small_grid
  try 0 sweep g.json -q
  mkdir away
  (cd away && "$headroom" sweep ../g.json -q) || fail "from another folder"
  same g.sqlite away/g.sqlite
}

# ---- Rows ----------------------------------------------------------------------------------------------------------

# The settings of a row can be run as they are printed.
case_rows_are_runs() {
  small_grid
  try 0 sweep g.json -q --csv runs.csv
  [ "$(head -n 1 runs.csv | cut -d, -f1-6)" = run,point,replication,seed,digest,scenario ] || fail "the columns"
  [ "$(wc -l <runs.csv)" -eq 37 ] || fail "rows"
  for run in 0 17 35; do
    row=$(grep "^$run," runs.csv)
    seed=$(cut -d, -f4 <<<"$row")
    digest=$(cut -d, -f5 <<<"$row")
    [ "$((run % 3))" -eq "$(cut -d, -f3 <<<"$row")" ] || fail "the replication of run $run"
    settings=$(sed 's/.*""set"":\[//; s/\].*//; s/""//g; s/,/ --set /g' <<<"$row")
    # shellcheck disable=SC2086 # words
    "$headroom" run s.json --seed "$seed" --set $settings --quiet --json run.json
    says run.json "\"digest\": \"$digest\""
  done
  # At every point, replications have the same seeds as in a comparison.
  "$headroom" compare s.json --policies fifo --replications 3 --quiet --json c.json
  awk '/"seeds"/ { inside = 1; next } inside && /]/ { exit } inside { gsub(/[ ,"]/, ""); print }' c.json >seeds
  for point in 0 11; do
    awk -F, -v point=$point '$2 == point { print $4 }' runs.csv | diff seeds - >stderr || fail "the seeds of point $point"
  done
  try 0 sweep g.json --csv -
  same stdout runs.csv
}

case_nothing_random() {
  cat >g.json <<JSON
{ "scenario": "$project/scenarios/demo.json", "axes": [{ "path": "policy.order", "values": ["fifo", "sjf"] }],
  "replications": 3 }
JSON
  try 0 sweep g.json
  says stderr 'note: the sweep is deterministic: one run of each point suffices'
  says stdout 'runs       2: 0 found, 2 new, none missing'
  says stdout 'policy.order=sjf'
}

case_shipped_grids() {
  for grid in "$project"/scenarios/sweeps/*.json; do
    try 0 sweep "$grid"
    says stdout 'none missing'
  done
  try 0 list scenarios
  if grep -q sweeps stdout; then fail "a grid is listed as a scenario"; fi
}

# ---- Files that must not change ------------------------------------------------------------------------------------

untouched() {
  local file=$1 text=$2
  cp "$file" before
  try 2 sweep g.json --db "$file"
  says stderr "$text"
  is_empty stdout
  same before "$file"
  try 2 merge new.sqlite "$file" "$file"
  try 2 merge "$file" g.sqlite
  same before "$file"
}

case_foreign_files() {
  small_grid
  try 0 sweep g.json -q
  echo 'my notes' >notes.sqlite
  untouched notes.sqlite "notes.sqlite: not the file of a sweep; it was not changed"
  : >empty.sqlite
  untouched empty.sqlite "empty.sqlite: not the file of a sweep"
  # A database of another program: a copy of the file without the mark of a sweep.
  { head -c 68 g.sqlite; head -c 4 /dev/zero; tail -c +73 g.sqlite; } >other.sqlite
  untouched other.sqlite "other.sqlite: not the file of a sweep"
}

case_other_sweeps() {
  small_grid
  try 0 sweep g.json -q
  cp g.sqlite before
  sed -i 's/\[4, 6, 8\]/[4, 6]/' g.json
  try 2 sweep g.json
  says stderr 'g.sqlite: the file belongs to another sweep: the grid differs; name another file with --db'
  small_grid
  sed -i 's/"boot_s": 60/"boot_s": 61/' s.json
  try 2 sweep g.json
  says stderr 'the file belongs to another sweep: the scenario differs'
  small_grid
  try 0 sweep g.json -q
  head -n 299 "$project/traces/reference/demo.csv" >jobs.csv
  try 2 sweep g.json
  says stderr 'the file belongs to another sweep: a file named by the scenario differs'
  same before g.sqlite
  try 0 sweep g.json --db other.sqlite -q
  try 2 merge new.sqlite g.sqlite other.sqlite
  says stderr 'other.sqlite: not of the same sweep as g.sqlite'
  [ ! -e new.sqlite ] || fail "new.sqlite was written"
  try 2 merge g.sqlite g.sqlite other.sqlite
  says stderr 'g.sqlite: is also an input file'
  same before g.sqlite
  # An existing sweep is not replaced by another one.
  try 2 merge g.sqlite other.sqlite
  says stderr 'other.sqlite: not of the same sweep as g.sqlite'
  same before g.sqlite
}

# Runs made before a failure are kept and not repeated.
case_a_run_fails() {
  failing_grid
  try 2 sweep g.json --threads 1 --csv g.csv
  is_empty stdout
  says stderr 'headroom: run 2, point 2 (gb=100000): '
  [ ! -e g.csv ] || fail "g.csv was written"
  try 2 sweep g.json --threads 4
  says stderr 'headroom: run 2, point 2 (gb=100000): '
  try 0 sweep g.json --shard 4/4
  matches stdout 'runs +4: [23] found, [01] new'
  says stdout 'missing    1, the first is run 2'
}

case_in_use() {
  long_grid
  sed -i 's/"replications": 4/"replications": 400/' g.json # does not end before the second process begins
  "$headroom" sweep g.json --threads 1 -q &
  grown g.sqlite
  try 2 sweep g.json
  says stderr 'g.sqlite: in use by another process'
  kill -9 $!
  wait $! 2>/dev/null || :
}

# ---- Bad input -----------------------------------------------------------------------------------------------------

case_bad_paths() {
  small_grid
  sed -i 's/pools.0.nodes/pools.0.noods/' g.json
  refuses "g.json: axis 'nodes': cluster.pools.0.noods=4: unknown key 'cluster.pools.0.noods'; did you mean 'cluster.pools.0.nodes'?"
  small_grid
  sed -i 's/pools.0.nodes/pools.7.nodes/' g.json
  refuses "axis 'nodes': cluster.pools.7.nodes=4: '7' is not an entry of 'cluster.pools', which has 2, counted from 0"
  small_grid
  sed -i 's/policy.backfill=skip/policy.backfil=skip/' g.json
  refuses "axis 'order': policy.backfil=skip: unknown key 'policy.backfil'; did you mean 'policy.backfill'?"
  small_grid
  sed -i 's/"scenario": "s.json"/"scenario": "s.json", "set": ["polcy.name=fifo"]/' g.json
  refuses "g.json: polcy.name=fifo: unknown key 'polcy'; did you mean 'policy'?"
  # The last of many values is one that a scenario rejects. It is reported before the first run.
  small_grid
  sed -i 's/\[4, 6, 8\]/[4, 6, -8]/' g.json
  refuses "axis 'nodes': cluster.pools.0.nodes=-8: 'cluster.pools.0.nodes' is the number -8"
  small_grid
  sed -i 's/"s.json"/"absent.json"/' g.json
  refuses 'absent.json: cannot be read'
  small_grid
  rm jobs.csv
  refuses 'jobs.csv: '
}

case_bad_axes() {
  small_grid
  sed -i 's/\[4, 6, 8\]/[]/' g.json
  refuses "g.json:4:67: 'axes.0.values' is an empty list; a list of 1 to 10000 entries is expected"
  small_grid
  sed -i 's/\[4, 6, 8\]/[4, 6, 4]/' g.json
  refuses "duplicate level '4'; keep one"
  small_grid
  sed -i 's/"from": 0.1/"from": 0.3/' g.json
  refuses "'from' (0.3) is larger than 'to' (0.2)"
  small_grid
  sed -i 's/"step": 0.1/"step": 0/' g.json
  refuses "'axes.1.step' is the number 0; a number from 1e-12 to"
  small_grid
  sed -i 's/, "step": 0.1//' g.json
  refuses "set 'step' or 'points'"
  small_grid
  sed -i 's/"name": "rate"/"name": "NODES"/' g.json
  refuses "duplicate axis name 'NODES'"
  small_grid
  sed -i 's/"name": "rate"/"name": "wait_mean_s"/' g.json
  refuses "axis 'wait_mean_s': the name is reserved"
  small_grid
  sed -i 's/"values"/"valeus"/' g.json
  refuses "unknown key 'axes.0.valeus'; did you mean 'axes.0.values'?"
}

case_bad_designs() {
  small_grid
  sed -i 's/"replications": 3/"design": "sobl"/' g.json
  refuses "unknown design 'sobl'; did you mean 'sobol'? (known: full, sobol, latin-hypercube)"
  small_grid
  sed -i 's/"replications": 3/"design": {"kind": "sobl"}/' g.json
  refuses "'design.kind' is the text \"sobl\""
  small_grid
  sed -i 's/"replications": 3/"design": "sobol"/' g.json
  refuses "a sobol design needs 'points'"
  small_grid
  refuses "g.json: the grid has more than 11 points" --max-runs 11
  refuses "g.json: 36 runs of 12 points exceed the limit 'max_runs' (--max-runs) of 35" --max-runs 35
  sed -i 's/"replications": 3/"replications": 3, "max_runs": 35/' g.json
  refuses "(--max-runs) of 35"
  try 0 sweep g.json --max-runs 36 -q
}

case_bad_options() {
  small_grid
  for shard in 0/3 4/3 3 1/ /2 a/b 1/3/5; do
    refuses "--shard $shard: expected I/N with I from 1 to N" --shard $shard
  done
  try 2 sweep g.json --db g.json
  says stderr '--db g.json: cannot be written: this run reads it'
  try 2 sweep g.json --csv nowhere/x.csv
  says stderr '--csv nowhere/x.csv: cannot be written'
  try 2 sweep absent.json
  says stderr 'absent.json: cannot be read'
  try 2 merge one.sqlite
  try 2 merge one.sqlite absent.sqlite
  says stderr 'absent.sqlite: cannot be read'
  [ ! -e one.sqlite ] || fail "one.sqlite was written"
}

run_case
