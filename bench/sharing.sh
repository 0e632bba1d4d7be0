#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the run time of per-GPU allocation. The first workload is a million jobs that request one whole GPU each, on
# 1,000 nodes x 8 GPUs at a load of 0.9. The second workload is the same jobs, but each requests a share of a GPU. They
# arrive at a higher rate, so that the load is equal. The second workload is run with the placements `best-fit` and
# `fgd`. The processes are measured alternately, each from start to exit. Prints the medians.
#
#   sharing.sh BUILD      ROUNDS=5 and BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
rounds=${ROUNDS:-5}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
if [ ! -x "$build/bench/measure" ]; then
  echo "$build/bench/measure is missing; the target bench_sharing builds it and runs this script" >&2
  exit 2
fi

workload='--seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 --diurnal 0 --count 1000000 --nodes 1000 --load 0.9
  --gpu-counts 1:1'
shares='100 200 250 300 500 700 1000'

# share_out TRACE: adds a column of shares, all equally likely, and multiplies the times between submits by the mean
# share.
share_out() {
  awk -F, -v OFS=, -v shares="$shares" 'BEGIN {
      n = split(shares, share, " ")
      for (i = 1; i <= n; i++) mean += share[i] / n / 1000
      seed = 1
    }
    NR == 1 { print $0, "gpu_milli"; next }
    {
      seed = (seed * 16807) % 2147483647
      $2 = sprintf("%.3f", $2 * mean)
      print $0, share[seed % n + 1]
    }' "$1"
}

generate() {
  made="$workload $shares"
  [ -s "$data/sharing.csv" ] && [ "$(cat "$data/sharing.made" 2>/dev/null)" = "$made" ] && return
  echo "generating sharing-whole.csv and sharing.csv"
  # shellcheck disable=SC2086
  "$build/headroom" trace generate $workload --output "$data/sharing-whole.csv"
  share_out "$data/sharing-whole.csv" >"$data/sharing.csv"
  echo "$made" >"$data/sharing.made"
}

# scenario NAME TRACE PLACEMENT POOL: writes NAME.json; POOL are additional JSON members of the pool.
scenario() {
  cat >"$data/$1.json" <<END
{ "name": "$1", "trace": { "file": "$2.csv" },
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 1000, "gpus_per_node": 8$4 } ] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "skip", "placement": "$3" } }
END
}

# median NAME FIELD: prints the median of a field of NAME.times.
median() {
  awk -v field="$2" '{ print $field }' "$data/$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# row WHAT NAME BOUND: prints a row, and whether the run NAME takes at most BOUND times as long as the run with whole
# GPUs. If BOUND is 0, there is no bound.
row() {
  awk -v what="$1" -v wall="$(median "$2" 1)" -v cpu="$(median "$2" 2)" -v kib="$(median "$2" 3)" \
    -v whole="$(median sharing-whole 1)" -v bound="$3" 'BEGIN {
    measured = wall > 0 && whole > 0
    times = measured ? wall / whole : 0
    verdict = !measured ? "FAIL" : !bound ? "" : times <= bound ? "PASS" : "FAIL"
    printf "%-22s %8.2f s %8.2f s %8.1f MiB %6.2f  %6s  %s\n", what, wall, cpu, kib / 1024, times,
      bound ? "<= " bound : "", verdict
    exit verdict == "FAIL" }' || failed=1
}

generate
scenario sharing-whole sharing-whole best-fit ''
scenario sharing-best-fit sharing best-fit ', "sharing": "fraction"'
scenario sharing-fgd sharing fgd ', "sharing": "fraction"'

names='sharing-whole sharing-best-fit sharing-fgd'
for name in $names; do rm -f "$data/$name.times"; done
round=1
while [ "$round" -le "$rounds" ]; do
  for name in $names; do
    "$build/bench/measure" "$build/headroom" run "$data/$name.json" --quiet 3>>"$data/$name.times" >/dev/null
  done
  round=$((round + 1))
done

failed=0
echo "1 M jobs of one GPU, 1,000 x 8 GPUs, fifo, skip"
printf '%-22s %10s %10s %12s %6s\n' GPUs wall cpu peak times
row 'whole, best-fit' sharing-whole 0
row 'shares, best-fit' sharing-best-fit 1.8
row 'shares, fgd' sharing-fgd 10
exit "$failed"
