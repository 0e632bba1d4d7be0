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
put include/headroom/scenario.h '"headroom/base.h"'
put cli/main.c '"headroom/headroom.h"'
put policies/queue/queue.c '"headroom/policy.h"'
put policies/registry.c '"headroom/policies.h"'
put policies/rounds/round_shares.c '<glpk.h>'
put traces/csv/csv_rows.c '<csv.h>'
put traces/tools/anonymise.c '<nettle/hmac.h>'
put base/random.c '<gsl/gsl_rng.h>'
put report/metrics/summary.c '"headroom/report.h"'
put report/tables/stats.c '"traces/tools/stats.h"'
put scenarios/build/costs.c '"headroom/report.h"'
put plan/sweep/sweep_store.c '<sqlite3.h>'
put plan/sweep/sweep_mpi.c '<mpi.h>'
put tests/report/json.c '<CUnit/CUnit.h>'
"$check" "$tree" || failures=$((failures + 1))

caught base/bad.c '"headroom/policy.h"'
caught base/bad.c '"sim/engine/engine.h"'
caught cli/bad.c '"sim/engine/engine.h"'
caught cli/bad.c '<cjson/cJSON.h>'
caught cli/bad.c '<sqlite3.h>'
caught policies/bad.c '"sim/engine/engine.h"'
caught policies/queue/bad.c '"headroom/policies.h"'
caught policies/bad.c '"headroom/report.h"'
caught policies/bad.c '<gsl/gsl_rng.h>'
caught traces/bad.c '"policies/queue/dispatch.h"'
caught traces/bad.c '"report/tables/json_tree.h"'
caught traces/bad.c '"scenarios/schema/keys.h"'
caught traces/bad.c '"headroom/scenario.h"'
caught traces/bad.c '<glpk.h>'
caught traces/bad.c '<curl/curl.h>'
caught report/metrics/bad.c '"report/tables/json_tree.h"'
caught report/metrics/bad.c '"headroom/trace_files.h"'
caught report/tables/bad.c '"scenarios/schema/keys.h"'
caught report/bad.c '<csv.h>'
caught report/bad.c '<sqlite3.h>'
caught sim/bad.c '"headroom/trace_files.h"'
caught sim/bad.c '"headroom/scenario.h"'
caught sim/bad.c '"traces/core/builder.h"'
caught sim/bad.c '<CUnit/CUnit.h>'
caught scenarios/bad.c '"report/tables/json_tree.h"'
caught scenarios/bad.c '"headroom/unstable/compare.h"'
caught scenarios/bad.c '<gsl/gsl_rng.h>'
caught scenarios/bad.c '<mpi.h>'
caught include/headroom/base.h '"base/arena.h"'

# A cycle of headers.
put sim/a.h '"sim/b.h"'
put sim/b.h '"sim/a.h"'
if "$check" "$tree" >"$tree/log" || ! grep -q 'cycle' "$tree/log"; then
  echo "FAILED: not caught: a cycle of headers"
  failures=$((failures + 1))
fi

echo "$failures failed"
[ "$failures" -eq 0 ]
