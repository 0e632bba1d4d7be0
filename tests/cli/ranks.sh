#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans, comparisons and replications on the ranks of an MPI job: the output has the bytes of a single process.
# shellcheck source=tests/cli/sweep_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/sweep_common.sh"
# shellcheck source=tests/cli/mpi_common.sh
. "$here/mpi_common.sh"
demo=$project/traces/reference/demo.csv

# Removes the values that differ between runs: durations and the memory of the process.
timeless() {
  sed -e '/^  speed  /d; /^  memory  /d' -e '/"perf"/,/}/d' "$1"
}

# same_for_ranks FILE ARGUMENT...: runs the program without MPI and on 1 to 3 ranks. Standard output, standard error and
# FILE, which the arguments name, must be the same.
same_for_ranks() {
  local file=$1
  shift
  try 0 "$@"
  timeless stdout >once.stdout
  timeless "$file" >once.file
  mv stderr once.stderr
  for count in 1 2 3; do
    rm "$file"
    ranks 0 "$count" "$@"
    timeless stdout >ranks.stdout
    timeless "$file" >ranks.file
    cmp once.stdout ranks.stdout || fail "$count ranks: the table differs: $*"
    cmp once.file ranks.file || fail "$count ranks: the file differs: $*"
    cmp once.stderr stderr || fail "$count ranks: the notes differ: $*"
  done
}

case_replications() {
  sweep_scenario
  same_for_ranks r.json run s.json --replications 7 --json r.json
  same_for_ranks r.json run s.json --replications 7 --json r.json --threads 2 --trace "$demo" \
    --set 'replications.workload={"resample":"days","growth":1.3}'
  same_for_ranks r.json run s.json --json r.json \
    --replications '{"metric":"wait_s.mean","relative":0.2,"min":3,"max":24}'
}

case_compare() {
  sweep_scenario
  same_for_ranks c.json compare s.json --policies fifo,sjf,easy --replications 4 --json c.json
  same_for_ranks c.json compare s.json --policies fifo,sjf,easy --replications 4 --json c.json --trace "$demo" \
    --set 'replications.workload={"resample":"days"}'
}

# Whole summaries with costs, budgets and alerts come from other ranks.
case_compare_once() {
  sweep_scenario
  sed -i 's/"market": "spot".*/"market": "on-demand" }/; /"on_demand_usd/d; /"spot": {/d; /"price": {/d' s.json
  sed -i 's/"market": "on-demand" }/"market": "on-demand", "usd_per_gpu_hour": 3 }/' s.json
  local budget='costs.budgets=[{"tenant":"tenant-1","usd_per_month":10},{"tenant":"tenant-2","usd_per_month":1e6}]'
  same_for_ranks c.json compare s.json --policies fifo,sjf,easy,conservative,wfp3 --json c.json --trace "$demo" --set "$budget"
  says c.json '"over-budget"'
  says c.json '"queue-time"'
  mkdir once ranks
  try 0 compare s.json --policies fifo,sjf,easy --jobs once -q
  ranks 0 2 compare s.json --policies fifo,sjf,easy --jobs ranks -q
  diff -r once ranks || fail "the files of jobs differ"
}

case_random_plan() {
  cp -r "$project/scenarios" "$project/traces" .
  same_for_ranks p.json plan scenarios/plan-spot-share.json --json p.json --brief --set plan.max_replications=4
}

case_exact_plan() {
  cp -r "$project/scenarios" "$project/traces" .
  same_for_ranks p.json plan scenarios/plan-reserved-share.json --json p.json
}

# A single run cannot be distributed: rank 0 executes it.
case_single_run() {
  same_for_ranks r.json run "$project/scenarios/demo.json" --json r.json
}

case_errors_are_told_once() {
  sweep_scenario
  for verb in run "compare --policies fifo,sjf"; do
    # shellcheck disable=SC2086
    ranks 2 2 $verb s.json --threads 0
    [ "$(grep -c '^headroom:' stderr)" -eq 1 ] || fail "$verb: an option is not reported once"
    is_empty stdout
  done
  for verb in run plan; do
    ranks 2 2 "$verb" s.json --set cluster.pools.0.noods=3
    [ "$(grep -c "did you mean 'cluster.pools.0.nodes'" stderr)" -eq 1 ] || fail "$verb: not printed exactly once"
    [ "$(grep -c '^headroom:' stderr)" -eq 1 ] || fail "$verb: another rank printed a message"
    is_empty stdout
  done
  ranks 2 2 run s.json --replications 3 --trace -
  says stderr 'headroom: --trace -: under mpirun, only rank 0 has a standard input'
  ranks 2 2 run s.json --replications 3 --json no/such/folder/r.json
  [ "$(grep -c '^headroom:' stderr)" -eq 1 ] || fail "not printed exactly once"
}

# The first policy fails on rank 0, the second on another rank.
case_a_run_fails() {
  failing_grid
  local costs='costs.storage={"usd_per_gb_month": 1e9, "datasets": [{ "gb": 100000 }]}'
  ranks 2 3 run s.json --set "$costs" --replications 9 --json r.json
  is_empty stdout
  [ "$(grep -c '^headroom: ' stderr)" -eq 1 ] || fail "not printed exactly once"
  says stderr 'costs exceed 4 trillion dollars'
  [ ! -e r.json ] || fail "a file was written"
  ranks 2 3 compare s.json --set "$costs" --replications 3 --policies fifo,sjf
  says stderr 'headroom: policy fifo: '
}

case_ranks_differ() {
  sweep_scenario
  cp s.json other.json
  code=0
  mpirun -n 1 "$headroom" run s.json --replications 3 : -n 1 "$headroom" run other.json --replications 3 \
    >stdout 2>stderr || code=$?
  [ "$code" -eq 2 ] || fail "exit code $code"
  is_empty stdout
  says stderr 'the ranks of this job have different commands'
  mkdir a b
  cp s.json jobs.csv a
  cp s.json b
  sed 's/,3600,/,3601,/' jobs.csv >b/jobs.csv
  sed -i '2s/[0-9]*$/77/' b/jobs.csv
  code=0
  mpirun -n 1 --wdir a "$headroom" run s.json --replications 3 : -n 1 --wdir b "$headroom" run s.json \
    --replications 3 --quiet >stdout 2>stderr || code=$?
  [ "$code" -eq 2 ] || fail "exit code $code"
}

case_a_rank_is_killed() {
  sweep_scenario
  cat >rank.sh <<'SH'
echo $$ >"rank.$OMPI_COMM_WORLD_RANK"
exec "$@"
SH
  mpirun -n 2 sh rank.sh "$headroom" run s.json --replications 5000 --json r.json >stdout 2>stderr &
  wait_until 60 test -s rank.1
  sleep 0.5
  kill -9 "$(cat rank.1)"
  wait $! && fail "the job ended well"
  is_empty stdout
  [ ! -e r.json ] || fail "a file was written"
  says stderr 'signal 9 (Killed)'
}

run_case
