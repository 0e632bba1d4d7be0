#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures runs of a million jobs in one cluster of 120 nodes and in ten clusters of 12 nodes. The processes are
# measured alternately, each from start to exit. Prints the medians of their CPU seconds, which depend little on the
# load of the machine, and compares the ratios with the target.
#
# There are three loads. At 0.7, all jobs start at once in both cases. At 1.2, the queue grows until the last job in
# both cases. At 0.9, all jobs start at once only in the single cluster: in the small clusters, strict order keeps a
# quarter of the GPUs idle, so 157,000 jobs wait. This queue makes the times differ, so the row has no target.
#
#   clusters.sh BUILD [JOBS]      ROUNDS=5 and BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
jobs=${2:-1000000}
rounds=${ROUNDS:-5}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"

policy='"policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" }'

# pool NAME NODES
pool() {
  echo "\"pools\": [ { \"name\": \"$1\", \"gpu\": \"A100-80\", \"nodes\": $2, \"gpus_per_node\": 8 } ]"
}

# scenario NAME LOAD CLUSTERS: writes NAME-LOAD.json.
scenario() {
  echo "{ \"name\": \"$1\", \"trace\": { \"file\": \"clusters-$jobs-$2.csv\" }, $3, $policy }" >"$data/$1-$2.json"
}

ten=
for i in 0 1 2 3 4 5 6 7 8 9; do
  ten="$ten${ten:+, }{ \"name\": \"cluster-$i\", $(pool gpus 12) }"
done
loads='0.7 0.9 1.2'
runs=
for load in $loads; do
  trace=$data/clusters-$jobs-$load.csv
  [ -s "$trace" ] || "$build/headroom" trace generate --seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 \
    --diurnal 0 --count "$jobs" --nodes 120 --load "$load" --quiet --output "$trace"
  scenario clusters-single "$load" "\"cluster\": { $(pool gpus 120) }"
  scenario clusters-10 "$load" "\"clusters\": [ $ten ], \"router\": { \"name\": \"least-loaded\" }"
  runs="$runs clusters-single-$load clusters-10-$load"
done
scenario clusters-1 0.7 "\"clusters\": [ { \"name\": \"cluster\", $(pool gpus 120) } ]"
scenario clusters-10-wait 0.7 "\"clusters\": [ $ten ], \"router\": { \"name\": \"shortest-predicted-wait\" }"
runs="$runs clusters-1-0.7 clusters-10-wait-0.7"

for name in $runs; do rm -f "$data/$name.times"; done
round=1
while [ "$round" -le "$rounds" ]; do
  for name in $runs; do
    "$build/bench/measure" "$build/headroom" run "$data/$name.json" --quiet --json - 3>>"$data/$name.times" >"$data/$name.out"
  done
  round=$((round + 1))
done

# median NAME: prints the median of the CPU seconds.
median() {
  awk '{ print $2 }' "$data/$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# row NAME LOAD TITLE TARGET: the run, and its time as a multiple of that of the single cluster. TARGET: none or a
# number.
failed=0
row() {
  awk -v what="$3" -v at="$2" -v value="$(median "$1-$2")" -v single="$(median "clusters-single-$2")" -v digest="$(
    sed -n 's/^  "digest": "\(.*\)",$/\1/p' "$data/$1-$2.out"
  )" -v target="$4" 'BEGIN {
    ratio = value / single
    verdict = target == "none" ? "" : ratio <= target ? "<= " target "  PASS" : "<= " target "  FAIL"
    printf "%-30s %5s %9.3f %9.2f  %s  %s\n", what, at, value, ratio, digest, verdict
    exit verdict ~ /FAIL/ }' || failed=1
}

printf '%-30s %5s %9s %9s  %s\n' '' load 'CPU, s' times digest
for load in $loads; do
  target=1.3
  [ "$load" != 0.9 ] || target=none
  row clusters-single "$load" 'one cluster' none
  row clusters-10 "$load" 'ten, least-loaded' "$target"
done
row clusters-1 0.7 'one, in the list of clusters' none
row clusters-10-wait 0.7 'ten, shortest-predicted-wait' none
exit "$failed"
