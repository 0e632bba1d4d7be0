#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures how long it takes to write the exports of a run, without the averages and the HTML report. The run has the
# 125,303 jobs of Helios Venus, 133 nodes, and prices. Processes with exports and processes without exports are measured
# alternately, each from start to exit. Prints the medians and the sizes of the files.
#
#   exports.sh BUILD      ROUNDS=5, BENCH_DATA=BUILD/bench-data and
#                         HELIOS_TRACE=../shared/traces/helios-venus/helios_trace.csv.gz unless set
set -eu

build=$1
here=$(cd -- "$(dirname -- "$0")" && pwd)
rounds=${ROUNDS:-5}
data=${BENCH_DATA:-$build/bench-data}/exports
source=${HELIOS_TRACE:-$here/../../shared/traces/helios-venus/helios_trace.csv.gz}
mkdir -p "$data"
rm -f "$data"/*
if [ ! -f "$source" ]; then
  echo "*** SKIPPED: real trace $source is not there ***" >&2
  exit 0
fi

# run NAME OPTION...: runs the scenario and appends the times to NAME.times.
run() {
  name=$1
  shift
  "$build/bench/measure" "$build/headroom" run "$here/../scenarios/helios.json" --trace "$source" --quiet \
    --set 'cluster.pools.0.market="reserved"' --set cluster.pools.0.usd_per_gpu_hour=1.2 "$@" 3>>"$data/$name.times"
}

# median NAME: prints the median of the wall-clock seconds in NAME.times.
median() {
  awk '{ print $1 }' "$data/$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

i=0
while [ $i -lt "$rounds" ]; do
  run without
  run with --json "$data/summary.json" --jobs "$data/jobs.csv" --timeline "$data/timeline.csv" --costs "$data/costs.csv" \
    --perfetto "$data/trace.json" --openmetrics "$data/metrics.txt" --md "$data/summary.md"
  i=$((i + 1))
done
for file in summary.json jobs.csv timeline.csv costs.csv trace.json metrics.txt summary.md; do
  printf '%-14s %11d bytes\n' "$file" "$(wc -c <"$data/$file")"
done
awk -v with="$(median with)" -v without="$(median without)" 'BEGIN {
  printf "without exports %.2f s, with all of them %.2f s: %.2f s for writing them\n", without, with, with - without
}'
