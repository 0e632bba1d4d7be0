#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The include check catches what it is there for: a tree that keeps the rules passes, and each breach alone fails.
#
#   includes_caught.sh SOURCE
set -eu

check=$1/.ci/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# put FILE INCLUDE: a file of one line.
put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '#include %s\n' "$2" >"$tree/$1"
}

# caught FILE INCLUDE: adding the file must fail the check, with the file and line named.
caught() {
  put "$1" "$2"
  if "$check" "$tree" >"$tree/log" || ! grep -q "^$1:1: " "$tree/log"; then
    echo "FAILED: not caught: $1 includes $2"
    cat "$tree/log"
    failures=$((failures + 1))
  fi
  rm "$tree/$1"
}

put include/headroom/base.h '<stddef.h>'
put cli/main.c '"headroom/headroom.h"'
put policies/queue.c '"headroom/policy.h"'
put policies/registry.c '"headroom/policies.h"'
put traces/csv.c '<csv.h>'
put sim/philox.c '<gsl/gsl_rng.h>'
put policies/gavel_lp.c '<glpk.h>'
put workload/pseudonym.h '<nettle/hmac.h>'
put plan/sweep_store.c '<sqlite3.h>'
put plan/sweep_mpi.c '<mpi.h>'
put workload/check.c '"report/text.h"'
put tests/report/json.c '<CUnit/CUnit.h>'
"$check" "$tree" || failures=$((failures + 1))

caught cli/bad.c '"sim/engine.h"'
caught cli/bad.c '<cjson/cJSON.h>'
caught policies/bad.c '"sim/engine.h"'
caught policies/bad.c '"headroom/sim.h"'
caught policies/bad.c '"headroom/policies.h"'
caught policies/bad.c '<gsl/gsl_rng.h>'
caught workload/bad.c '"traces/reader.h"'
caught workload/bad.c '"plan/metrics.h"'
caught workload/bad.c '<cjson/cJSON.h>'
caught plan/bad.c '"workload/pairs.h"'
caught traces/bad.c '<glpk.h>'
caught traces/bad.c '<nettle/hmac.h>'
caught workload/bad.c '"traces/builder.h"'
caught workload/bad.c '"plan/filling.h"'
caught traces/bad.c '"report/table.h"'
caught traces/bad.c '"policies/dispatch.h"'
caught report/bad.c '"traces/csv_table.h"'
caught report/bad.c '<csv.h>'
caught report/bad.c '"policies/dispatch.h"'
caught sim/bad.c '"headroom/scenario.h"'
caught sim/bad.c '"scenarios/keys.h"'
caught traces/bad.c '"scenarios/keys.h"'
caught scenarios/bad.c '<gsl/gsl_rng.h>'
caught sim/bad.c '<CUnit/CUnit.h>'
caught traces/bad.c '<curl/curl.h>'
caught cli/bad.c '<sqlite3.h>'
caught report/bad.c '<sqlite3.h>'
caught scenarios/bad.c '<mpi.h>'
caught include/headroom/bad.h '"sim/arena.h"'

echo "$failures failed"
[ "$failures" -eq 0 ]
