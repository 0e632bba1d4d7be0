#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests .ci/check_includes. A tree that follows the rules must pass. The same tree with any one violation must fail.
#
#   includes_caught.sh SOURCE
#
# SOURCE: root of the source tree.
set -eu

check=$1/.ci/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# write_include FILE INCLUDE: writes a file of one line, "#include INCLUDE".
write_include() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '#include %s\n' "$2" >"$tree/$1"
}

# expect_violation FILE INCLUDE: adds the file and runs the check, which must fail and print the file and line. Then
# removes the file.
expect_violation() {
  write_include "$1" "$2"
  if "$check" "$tree" >"$tree/log" || ! grep -q "^$1:1: " "$tree/log"; then
    echo "FAILED: not reported: $1 includes $2"
    cat "$tree/log"
    failures=$((failures + 1))
  fi
  rm "$tree/$1"
}

write_include include/headroom/base.h '<stddef.h>'
write_include include/headroom/scenario.h '"headroom/base.h"'
write_include cli/main.c '"headroom/headroom.h"'
write_include policies/queue/queue.c '"headroom/policy.h"'
write_include policies/registry.c '"headroom/policies.h"'
write_include policies/rounds/round_shares.c '<glpk.h>'
write_include traces/csv/csv.c '<csv.h>'
write_include traces/tools/transform.c '<nettle/hmac.h>'
write_include base/random.c '<gsl/gsl_rng.h>'
write_include report/metrics/summary.c '"headroom/report.h"'
write_include report/tables/stats.c '"traces/tools/stats.h"'
write_include scenarios/build/sections.c '"headroom/report.h"'
write_include plan/sweep/sweep_store.c '<sqlite3.h>'
write_include plan/runner/batches.c '<mpi.h>'
write_include tests/report/json.c '<CUnit/CUnit.h>'
"$check" "$tree" || failures=$((failures + 1))

expect_violation base/bad.c '"headroom/policy.h"'
expect_violation base/bad.c '"sim/engine/engine.h"'
expect_violation cli/bad.c '"sim/engine/engine.h"'
expect_violation cli/bad.c '<cjson/cJSON.h>'
expect_violation cli/bad.c '<sqlite3.h>'
expect_violation policies/bad.c '"sim/engine/engine.h"'
expect_violation policies/queue/bad.c '"headroom/policies.h"'
expect_violation policies/bad.c '"headroom/report.h"'
expect_violation policies/bad.c '<gsl/gsl_rng.h>'
expect_violation traces/bad.c '"policies/queue/dispatch.h"'
expect_violation traces/bad.c '"report/tables/tables.h"'
expect_violation traces/bad.c '"scenarios/schema/keys.h"'
expect_violation traces/bad.c '"headroom/scenario.h"'
expect_violation traces/bad.c '<glpk.h>'
expect_violation traces/bad.c '<curl/curl.h>'
expect_violation report/metrics/bad.c '"report/tables/tables.h"'
expect_violation report/metrics/bad.c '"headroom/trace_files.h"'
expect_violation report/tables/bad.c '"scenarios/schema/keys.h"'
expect_violation report/bad.c '<csv.h>'
expect_violation report/bad.c '<sqlite3.h>'
expect_violation sim/bad.c '"headroom/trace_files.h"'
expect_violation sim/bad.c '"headroom/scenario.h"'
expect_violation sim/bad.c '"traces/core/builder.h"'
expect_violation sim/bad.c '<CUnit/CUnit.h>'
expect_violation scenarios/bad.c '"report/tables/tables.h"'
expect_violation scenarios/bad.c '"headroom/unstable/compare.h"'
expect_violation scenarios/bad.c '<gsl/gsl_rng.h>'
expect_violation scenarios/bad.c '<mpi.h>'
expect_violation include/headroom/base.h '"base/containers.h"'

# Two headers that include each other.
write_include sim/a.h '"sim/b.h"'
write_include sim/b.h '"sim/a.h"'
if "$check" "$tree" >"$tree/log" || ! grep -q 'cycle' "$tree/log"; then
  echo "FAILED: not reported: a cycle of headers"
  failures=$((failures + 1))
fi

echo "$failures failed"
[ "$failures" -eq 0 ]
