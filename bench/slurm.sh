#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the policy `slurm` with many waiting jobs: N jobs that are submitted at once, on 133 nodes x 8 GPUs. Prints
# the CPU seconds of whole processes and microseconds per job, with bounds.
#
#   slurm.sh BUILD        BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
failed=0

cat >"$data/slurm.json" <<END
{ "name": "slurm", "cluster": { "pools": [ { "name": "p", "gpu": "H100", "nodes": 133, "gpus_per_node": 8 } ] },
  "policy": { "name": "slurm" },
  "slurm": { "priority": { "weight_age": 1000, "weight_fairshare": 10000, "weight_job_size": 500 } } }
END

# trace JOBS: generates slurm-JOBS.csv.
trace() {
  awk -v n="$1" 'BEGIN {
    srand(7)
    print "job_id,submit_s,duration_s,gpus,limit_s,user,tenant"
    for (i = 1; i <= n; i++) {
      gpus = 2 ^ int(rand() * 5); seconds = int(60 + rand() * 7200)
      printf "%d,%.3f,%d,%d,%d,u%d,a%d\n", i, i / 1000, seconds, gpus, seconds * (1 + rand()), rand() * 200, rand() * 20
    } }' >"$data/slurm-$1.csv"
}

# row JOBS PRIORITY BOUND: runs and prints a row. BOUND: CPU seconds.
row() {
  "$build/bench/measure" "$build/headroom" run "$data/slurm.json" --quiet --trace "$data/slurm-$1.csv" --set policy.priority="$2" \
    3>"$data/slurm.times" >/dev/null
  awk -v name="$2" -v jobs="$1" -v bound="$3" '{ s = $2 } END {
    verdict = s <= bound ? "PASS" : "FAIL"
    printf "%-12s %7d waiting jobs %8.2f s %8.1f us/job  <= %5.1f s  %s\n", name, jobs, s, 1e6 * s / jobs, bound, verdict
    exit verdict != "PASS" }' "$data/slurm.times" || failed=1
}

for jobs in 10 1000 10000 100000; do trace "$jobs"; done
for priority in basic multifactor; do
  row 10 "$priority" 0.5
  row 1000 "$priority" 0.5
  row 10000 "$priority" 4
done
row 100000 basic 30
exit "$failed"
