#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures runs of a crowded cluster: 16 nodes x 8 GPUs at a load of 1.5, so that the queue grows to a third of all
# jobs, and limits of 1 to 3 times the run time. Prints the CPU seconds of whole processes and microseconds per job,
# with bounds.
#
#   crowded.sh BUILD      BASE=another headroom program, whose digests must be equal (unset: no comparison), and
#                         BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
base=${BASE:-}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
failed=0

# trace JOBS: generates crowded-JOBS.hrt, unless it exists.
trace() {
  [ -s "$data/crowded-$1.hrt" ] || "$build/headroom" trace generate --seed 1 --count "$1" --nodes 16 --load 1.5 \
    --limit-min 1 --limit-max 3 --quiet --output "$data/crowded-$1.hrt"
}

# digest PROGRAM JOBS ORDER BACKFILL PLACEMENT: prints the digest of a run, and writes its CPU seconds to crowded.times.
digest() {
  "$build/bench/measure" "$1" run "$data/crowded.json" --quiet --json "$data/crowded.out" --trace "$data/crowded-$2.hrt" \
    --set policy.order="$3" --set policy.backfill="$4" --set policy.placement="$5" 3>"$data/crowded.times" >/dev/null
  sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$data/crowded.out"
}

# row JOBS ORDER BACKFILL PLACEMENT BOUND: runs and prints a row. BOUND: CPU seconds.
row() {
  trace "$1"
  ours=$(digest "$build/headroom" "$1" "$2" "$3" "$4")
  seconds=$(awk '{ print $2 }' "$data/crowded.times")
  theirs=$ours
  [ -z "$base" ] || theirs=$(digest "$base" "$1" "$2" "$3" "$4")
  awk -v name="$2/$3/$4" -v jobs="$1" -v s="$seconds" -v bound="$5" -v same="$([ "$ours" = "$theirs" ] && echo 1)" 'BEGIN {
    verdict = !same ? "DIGEST DIFFERS" : s <= bound ? "PASS" : "FAIL"
    printf "%-28s %8d jobs %8.2f s %7.2f us/job  <= %5.1f s  %s\n", name, jobs, s, 1e6 * s / jobs, bound, verdict
    exit verdict != "PASS" }' || failed=1
}

cat >"$data/crowded.json" <<END
{ "name": "crowded", "trace": { "file": "crowded-10000.hrt" },
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 16, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue" } }
END

for placement in pool best-fit; do
  row 10000 fifo conservative "$placement" 0.5
  row 100000 fifo conservative "$placement" 25
done
row 1000000 wfp3 easy pool 6
for order in las gittins; do
  row 1000000 "$order" skip best-fit 5
  row 1000000 "$order" easy best-fit 5
done
exit "$failed"
