#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sweeps on the ranks of an MPI job: the file has the bytes of a single process, even if a rank is killed and the sweep
# resumes.
# shellcheck source=tests/cli/sweep_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/sweep_common.sh"
# shellcheck source=tests/cli/mpi_common.sh
. "$here/mpi_common.sh"

case_ranks_change_nothing() {
  small_grid
  try 0 sweep g.json --db once.sqlite -q
  for count in 1 2 3; do
    ranks 0 $count sweep g.json --db $count.sqlite
    [ "$(grep -c '36: 0 found, 36 new, none missing' stdout)" -eq 1 ] || fail "$count ranks do not print it exactly once"
    cmp once.sqlite $count.sqlite >stderr || fail "$count ranks: the bytes differ"
  done
  ranks 0 3 sweep g.json --threads 2 --db threads.sqlite --csv ranks.csv -q
  cmp once.sqlite threads.sqlite >stderr || fail "ranks with threads: the bytes differ"
  try 0 sweep g.json --db once.sqlite --csv once.csv -q
  cmp once.csv ranks.csv >stderr || fail "the CSV differs"
}

case_a_rank_is_killed() {
  long_grid
  try 0 sweep g.json --db once.sqlite -q
  cat >rank.sh <<'SH'
echo $$ >"rank.$OMPI_COMM_WORLD_RANK"
exec "$@"
SH
  mpirun -n 3 sh rank.sh "$headroom" sweep g.json --db g.sqlite >stdout 2>stderr &
  grown g.sqlite
  kill -9 "$(cat rank.2)"
  wait $! && fail "the job ended well"
  is_empty stdout
  ranks 0 3 sweep g.json --db g.sqlite
  matches stdout 'runs +240: [1-9][0-9]* found, [1-9][0-9]* new, none missing'
  cmp once.sqlite g.sqlite >stderr || fail "the bytes differ"
}

case_errors_are_told_once() {
  small_grid
  sed -i 's/pools.0.nodes/pools.0.noods/' g.json
  ranks 2 3 sweep g.json
  [ "$(grep -c "did you mean 'cluster.pools.0.nodes'" stderr)" -eq 1 ] || fail "not printed exactly once"
  [ "$(grep -c '^headroom:' stderr)" -eq 1 ] || fail "another rank printed a message"
  [ ! -e g.sqlite ] || fail "a file was written"
  ranks 2 3 sweep g.json --shard 9/3
  [ "$(grep -c '^headroom:' stderr)" -eq 1 ] || fail "an option is not reported once"
}

case_a_run_fails() {
  failing_grid
  ranks 2 3 sweep g.json
  is_empty stdout
  [ "$(grep -c '^headroom: ' stderr)" -eq 1 ] || fail "not printed exactly once"
  says stderr 'headroom: run 2, point 2 (gb=100000): '
}

# Only rank 0 finds that the file belongs to another sweep, but all ranks must end.
case_the_first_rank_fails_alone() {
  small_grid
  echo 'my notes' >g.sqlite
  ranks 2 3 sweep g.json
  [ "$(grep -c "g.sqlite: not the file of a sweep" stderr)" -eq 1 ] || fail "not printed exactly once"
  [ "$(cat g.sqlite)" = 'my notes' ] || fail "the file was changed"
}

run_case
