#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the scripts that run MPI jobs, after common.sh.
# shellcheck disable=SC2154 # variables of common.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
export NO_COLOR=1 # mpirun may give the ranks a terminal
export ASAN_OPTIONS=detect_leaks=0 # the MPI library leaks memory
command -v mpirun >/dev/null || {
  echo "*** SKIPPED: mpirun is not there ***"
  exit 77
}

# ranks CODE N ARGUMENT...: like try, on N ranks.
ranks() {
  local expected=$1 count=$2 code=0
  shift 2
  mpirun -n "$count" "$headroom" "$@" >stdout 2>stderr </dev/null || code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected: $count ranks of headroom $*"
}
