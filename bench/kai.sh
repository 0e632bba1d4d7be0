#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures runs with KAI: the 125,303 jobs of SenseTime's Venus cluster in 194 days, on 133 nodes, in 50 queues of 4
# departments, and crowds of 10 to 100,000 waiting jobs. Prints the CPU seconds of whole processes, with bounds, and
# digests. A run is stopped after two minutes and fails.
#
# Crowds of more than 1,000 jobs are not run to their end: each reclaimed job loses its work, so evictions cause further
# evictions. The first 15 minutes of a run have the same number of cycles for each number of jobs, so they show how the
# time of a cycle grows.
#
#   kai.sh BUILD          SHARED=folder with traces/helios-venus (../shared), BENCH_DATA=BUILD/bench-data unless set
#                         CROWDS="10 100 1000 10000 100000": numbers of jobs of the crowds
set -eu

build=$1
shared=${SHARED:-../shared}
data=${BENCH_DATA:-$build/bench-data}
crowds=${CROWDS:-10 100 1000 10000 100000}
mkdir -p "$data"
failed=0

# config NAME DEPARTMENTS QUOTA CHECKPOINT SCHEDULER: writes kai-NAME.json with 50 queues of equal quotas. QUOTA: of
# each department. CHECKPOINT: the checkpoint policy of all jobs. SCHEDULER: members of the key `scheduler`.
config() {
  awk -v departments="$2" -v above="$3" -v checkpoint="$4" -v scheduler="$5" 'BEGIN {
    queues = 50; gpus = 1064; nodes = 133
    printf "{ \"name\": \"kai\", \"cluster\": { \"pools\": [ { \"name\": \"gpus\", \"gpu\": \"V100\", "
    printf "\"nodes\": %d, \"gpus_per_node\": 8 } ] },\n", nodes
    printf "  \"classes\": { \"default\": { \"checkpoint\": { \"policy\": \"%s\" } } },\n", checkpoint
    printf "  \"policy\": { \"name\": \"kai\" },\n  \"kai\": { \"scheduler\": { %s }, \"queues\": [\n", scheduler
    for (i = 0; i < departments; i++)
      printf "    { \"name\": \"d%d\", \"gpu\": { \"quota\": %d, \"limit\": -1, \"over_quota_weight\": 1 } },\n", i, above
    for (i = 0; i < queues; i++) {
      quota = int(gpus / queues) + (i < gpus % queues)
      printf "    { \"name\": \"q%02d\", \"parent\": \"d%d\", \"gpu\": { \"quota\": %d, \"limit\": -1, ", i,
        i % departments, quota
      printf "\"over_quota_weight\": 1 } }%s\n", i + 1 < queues ? "," : ""
    }
    print "  ] } }"
  }' >"$data/kai-$1.json"
}

# row NAME TRACE CONFIG BOUND [OPTION]...: runs and prints a row. BOUND: CPU seconds.
row() {
  name=$1 trace=$2 config=$3 bound=$4
  shift 4
  if ! timeout 120 "$build/bench/measure" "$build/headroom" run "$data/kai-$config.json" --quiet \
    --json "$data/kai.out" --trace "$data/$trace" "$@" 3>"$data/kai.times" >/dev/null 2>&1; then
    printf '%-52s  stopped  <= %4d s  FAIL\n' "$name" "$bound"
    failed=1
    return
  fi
  digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$data/kai.out")
  awk -v name="$name" -v digest="$digest" -v bound="$bound" '{
    printf "%-52s %8.2f s  <= %4d s  %s  %s\n", name, $2, bound, digest, $2 <= bound ? "PASS" : "FAIL"
    exit $2 > bound }' "$data/kai.times" || failed=1
}

config kept 4 266 continuous ''
config lost 4 266 none ''
config unlimited 4 -1 continuous ''
config protected 4 266 continuous '"reclaim_min_runtime_s": 86400, "preempt_min_runtime_s": 86400'
config tenants 1 -1 none ''

helios=$shared/traces/helios-venus/helios_trace.csv.gz
if [ -s "$helios" ]; then
  [ -s "$data/kai-helios.csv" ] || gzip -dc "$helios" | tr -d '\r' | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "job_id,submit_s,duration_s,gpus,queue,priority"; next }
    { hash = 0; text = $at["job_id"]
      for (i = 1; i <= length(text); i++) hash = (hash * 31 + index("0123456789", substr(text, i, 1))) % 65521
      printf "%s,%s,%s,%s,q%02d,%d\n", text, $at["arrival_s"], $at["service_sec"], $at["gpu_count"], hash % 50, hash % 3 }
  ' >"$data/kai-helios.csv"
  row '125303 jobs, 50 queues, work is kept' kai-helios.csv kept 30
  row '125303 jobs, 50 queues, work is lost' kai-helios.csv lost 30
  row '125303 jobs, 50 queues, departments without quota' kai-helios.csv unlimited 30
  row '125303 jobs, 50 queues, protected for a day' kai-helios.csv protected 30
  row '125303 jobs, 50 queues of one department' kai-helios.csv tenants 30
else
  echo "$helios is missing: the run of a year is skipped"
fi

# All jobs are submitted within a second, so nearly all of them wait. Sizes are 1 to 16 GPUs.
for jobs in $crowds; do
  awk -v jobs="$jobs" 'BEGIN { print "job_id,submit_s,duration_s,gpus,queue"
    for (i = 1; i <= jobs; i++) { seed = (seed * 1103515245 + 12345) % 2147483648
      printf "%d,%.6f,%d,%d,q%02d\n", i, i / (jobs + 1), 600 + seed % 3600, 2 ^ (int(seed / 4096) % 5),
        int(seed / 65536) % 50 }
  }' >"$data/kai-$jobs.csv"
  [ "$jobs" -gt 1000 ] || row "$jobs waiting jobs, until all are done" "kai-$jobs.csv" lost 30
  row "$jobs waiting jobs, the first 15 minutes" "kai-$jobs.csv" lost 30 --set horizon_s=900
  row "$jobs waiting jobs, protected for a day" "kai-$jobs.csv" protected 30
done
exit "$failed"
