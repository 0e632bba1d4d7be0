#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares eight policies on three public traces. Prints a Markdown table for each trace and cluster, and the total
# time.
#
#   reference.sh BUILD [README]    BENCH_DATA=BUILD/bench-data and TRACES=../shared/traces unless set
#
# If README is set, it is the name of a file that must contain these tables. The column of seconds is not compared,
# because it differs between runs. The exit code is 1 if a table is missing or differs, or if the total time exceeds one
# minute.
set -eu

build=$1
readme=${2:-}
root=$(dirname "$0")/..
data=${BENCH_DATA:-$build/bench-data}
traces=${TRACES:-$root/../shared/traces}
most_s=60
mkdir -p "$data"

# On the smaller clusters jobs wait. There, all policies use the placement first-fit, because conservative backfilling
# can reuse its plan in the next pass only with the placements first-fit and pool.
all='fifo:backfill=strict,sjf:backfill=skip,easy,conservative,las:backfill=skip,srtf:backfill=skip,qssf:backfill=skip,fair-share:backfill=easy'

# table NAME TITLE SCENARIO TRACE POLICIES [OPTION...]: prints a table. One run is executed at a time, so that runs do
# not slow each other down.
table() {
  name=$1 title=$2 scenario=$3 trace=$4 policies=$5
  shift 5
  if [ ! -f "$traces/$trace" ]; then
    echo "SKIPPED: $title: no $traces/$trace" >&2
    missing=1
    return
  fi
  "$build/headroom" compare "$root/scenarios/$scenario.json" --trace "$traces/$trace" --policies "$policies" --threads 1 \
    --quiet --csv "$data/reference-$name.csv" --json "$data/reference-$name.json" "$@"
  {
    echo "**$title**"
    echo
    awk -f "$root/bench/reference.awk" "$data/reference-$name.json" "$data/reference-$name.csv"
    echo
  } >"$data/reference-$name.md"
  cat "$data/reference-$name.md"
}

# without_seconds FILE: prints the lines of tables without their last column.
without_seconds() {
  sed 's/ [^|]* |$//' "$1"
}

# in_readme NAME: succeeds if the README contains the lines of the table, one after the other.
in_readme() {
  [ -f "$data/reference-$1.md" ] || return 0
  without_seconds "$data/reference-$1.md" >"$data/reference-$1.lines"
  without_seconds "$readme" | awk -v lines="$data/reference-$1.lines" '
    BEGIN { while ((getline line < lines) > 0) wanted[++n] = line }
    { at = $0 == wanted[at + 1] ? at + 1 : $0 == wanted[1]; if (at == n) { found = 1; exit } }
    END { exit !found }' && return 0
  echo "FAILED: $readme does not contain the current table '$1'" >&2
  return 1
}

missing=0
failed=0
rm -f "$data"/reference-*
begun=$(date +%s)
helios_trace='helios-venus/helios_trace.csv.gz'
philly_trace='philly/philly.csv.gz'
ricc_trace='swf/RICC-2010-2.swf.gz'
table helios-133 'Helios Venus, 125,303 jobs, its 133 nodes x 8 GPUs, best-fit' helios "$helios_trace" "$all"
table helios-56 'Helios Venus on 56 nodes, first-fit' helios "$helios_trace" "$all" --set cluster.pools.0.nodes=56 \
  --set policy.placement=first-fit
table philly-352 'Philly, 82,247 jobs, its 352 nodes x 8 GPUs, best-fit' philly "$philly_trace" "$all"
table philly-60 'Philly on 60 nodes, first-fit' philly "$philly_trace" "$all" --set cluster.pools.0.nodes=60 \
  --set policy.placement=first-fit
table ricc 'RICC, 447,794 jobs, its 1,024 nodes x 8 processors, counted and not placed' swf "$ricc_trace" "$all"
took=$(($(date +%s) - begun))

if [ -n "$readme" ]; then
  for name in helios-133 helios-56 philly-352 philly-60 ricc; do
    in_readme "$name" || failed=1
  done
  [ "$failed" = 1 ] || echo "$readme contains these tables"
fi
echo "total time: $took s; the limit is $most_s s"
[ "$missing" = 0 ] || echo "SKIPPED: a trace is missing, see above" >&2
[ "$took" -le "$most_s" ] && [ "$failed" = 0 ]
