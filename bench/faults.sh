#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures how much time failures, power and carbon add to a run of a million jobs on 128 nodes x 8 GPUs (FIFO, strict,
# best-fit). There are four scenarios: plain; with 5 failures per 1,000 node-days; also with power; also with the carbon
# intensity of each hour. Each is run with the trace as CSV and as a packed trace. A packed trace needs no parsing, so
# the ratio to the plain run is larger. The processes are measured alternately, each from start to exit. Prints the
# medians of the processor time, and the ratio to the plain run.
#
#   faults.sh BUILD      ROUNDS=9 and BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
rounds=${ROUNDS:-9}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
if [ ! -x "$build/bench/measure" ]; then
  echo "$build/bench/measure is missing; the target bench_faults builds it and runs this script" >&2
  exit 2
fi

workload='--seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 --diurnal 0 --count 1000000 --nodes 128 --load 0.9'
faults='"faults": { "per_1000_node_days": 5, "repair_s": 14400 },'
power='"power": { "pue": 1.2, "utilization": 0.8 },'
carbon='"carbon": { "file": "faults-carbon.csv", "after": "repeat" },'

generate() {
  [ -s "$data/faults.hrt" ] && [ "$(cat "$data/faults.made" 2>/dev/null)" = "$workload" ] && return
  echo "generating faults.hrt"
  # shellcheck disable=SC2086
  "$build/headroom" trace generate $workload --output "$data/faults.csv"
  "$build/headroom" trace pack "$data/faults.csv" --output "$data/faults.hrt"
  echo "$workload" >"$data/faults.made"
}

# A month of hours between 100 and 400 g/kWh.
series() {
  awk 'BEGIN {
    print "datetime_utc,g_per_kwh"
    for (h = 0; h < 720; h++)
      printf "2024-06-%02dT%02d:00Z,%d\n", h / 24 + 1, h % 24, 250 - 150 * cos(h * 3.14159265 / 12)
  }' >"$data/faults-carbon.csv"
}

# scenario NAME KEYS: writes faults-NAME-TRACE.json; KEYS are additional JSON members of the cluster.
scenario() {
  for trace in csv hrt; do
    cat >"$data/faults-$1-$trace.json" <<END
{ "name": "$1", "trace": { "file": "faults.$trace" },
  "cluster": { $2 "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 128, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue", "order": "fifo", "backfill": "strict", "placement": "best-fit" } }
END
    : >"$data/faults-$1-$trace.times"
  done
}

# median NAME: prints the median of the processor times of a run.
median() {
  awk '{ print $2 }' "$data/faults-$1.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# row NAME TRACE BOUND: prints a row, and whether the run takes at most BOUND times the processor time of the plain run.
row() {
  awk -v name="$1" -v trace="$2" -v cpu="$(median "$1-$2")" -v plain="$(median "plain-$2")" -v bound="$3" 'BEGIN {
    verdict = cpu > 0 && plain > 0 && cpu <= bound * plain ? "met" : "MISSED"
    printf "%-10s %-4s %8.3f s %6.2f times  <= %s  %s\n", name, trace, cpu, cpu / plain, bound, verdict }'
}

generate
series
scenario plain ''
scenario failures "$faults"
scenario power "$faults $power"
scenario carbon "$faults $power $carbon"
round=1
while [ "$round" -le "$rounds" ]; do
  for name in plain-csv failures-csv power-csv carbon-csv plain-hrt failures-hrt power-hrt carbon-hrt; do
    "$build/bench/measure" "$build/headroom" run "$data/faults-$name.json" --quiet --json - \
      3>>"$data/faults-$name.times" >/dev/null
  done
  round=$((round + 1))
done
echo 'processor time of the whole process, median:'
for trace in csv hrt; do
  for name in plain failures power carbon; do row "$name" "$trace" 1.5; done
done
