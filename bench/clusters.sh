#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures runs of a million jobs in one cluster of 120 nodes and in ten clusters of 12 nodes. The processes are measured
# alternately, each from start to exit. Prints the medians of their CPU seconds, which depend little on the load of the
# machine, and compares the ratios with the target.
#
#   clusters.sh BUILD [JOBS]      ROUNDS=5 and BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
jobs=${2:-1000000}
rounds=${ROUNDS:-5}
data=${BENCH_DATA:-$build/bench-data}
trace=clusters-$jobs.csv
mkdir -p "$data"

[ -s "$data/$trace" ] || "$build/headroom" trace generate --seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 \
  --diurnal 0 --count "$jobs" --nodes 120 --load 0.9 --output "$data/$trace"

policy='"policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" }'

# pool NAME NODES
pool() {
  echo "\"pools\": [ { \"name\": \"$1\", \"gpu\": \"A100-80\", \"nodes\": $2, \"gpus_per_node\": 8 } ]"
}

# scenario NAME CLUSTERS: writes NAME.json.
scenario() {
  echo "{ \"name\": \"$1\", \"trace\": { \"file\": \"$trace\" }, $2, $policy }" >"$data/$1.json"
}

ten=
for i in 0 1 2 3 4 5 6 7 8 9; do
  ten="$ten${ten:+, }{ \"name\": \"cluster-$i\", $(pool gpus 12) }"
done
scenario clusters-single "\"cluster\": { $(pool gpus 120) }"
scenario clusters-1 "\"clusters\": [ { \"name\": \"cluster\", $(pool gpus 120) } ]"
scenario clusters-10 "\"clusters\": [ $ten ], \"router\": { \"name\": \"least-loaded\" }"
scenario clusters-10-wait "\"clusters\": [ $ten ], \"router\": { \"name\": \"shortest-predicted-wait\" }"

names='clusters-single clusters-1 clusters-10 clusters-10-wait'
for name in $names; do rm -f "$data/$name.times"; done
round=1
while [ "$round" -le "$rounds" ]; do
  for name in $names; do
    "$build/bench/measure" "$build/headroom" run "$data/$name.json" --quiet --json - 3>>"$data/$name.times" >"$data/$name.out"
  done
  round=$((round + 1))
done

# median NAME: prints the median of the CPU seconds.
median() {
  awk '{ print $2 }' "$data/$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

printf '%-30s %9s %9s  %s\n' '' 'CPU, s' times digest
row() {
  awk -v what="$2" -v value="$(median "$1")" -v single="$(median clusters-single)" -v digest="$(
    sed -n 's/^  "digest": "\(.*\)",$/\1/p' "$data/$1.out"
  )" 'BEGIN { printf "%-30s %9.3f %9.2f  %s\n", what, value, value / single, digest }'
}
row clusters-single 'cluster'
row clusters-1 'clusters, one'
row clusters-10 'ten, least-loaded'
row clusters-10-wait 'ten, shortest-predicted-wait'
awk -v ten="$(median clusters-10)" -v single="$(median clusters-single)" 'BEGIN {
  printf "ten clusters / one: %.2f, target 1.3: %s\n", ten / single, ten / single <= 1.3 ? "met" : "MISSED" }'
