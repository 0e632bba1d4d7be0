#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# For a build without MPI: rank 0 rejects a job of several ranks.
# shellcheck source=tests/cli/sweep_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/sweep_common.sh"

case_ranks_are_refused() {
  small_grid
  export OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0
  try 2 sweep g.json
  says stderr 'this is one rank of 3, but Headroom was built without MPI'
  export OMPI_COMM_WORLD_RANK=1
  try 0 sweep g.json
  is_empty stderr
  is_empty stdout
  [ ! -e g.sqlite ] || fail "a file was written"
  export OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0
  try 0 sweep g.json
  says stdout 'none missing'
}

run_case
