#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures runs with Kueue: the 125,303 jobs of SenseTime's Venus cluster in 194 days, on 133 nodes, in 50 ClusterQueues
# of 4 cohorts, and crowds of 10 to 100,000 waiting jobs. Prints the CPU seconds of whole processes, with bounds. A run
# is stopped after two minutes and fails. With fair sharing and borrowWithinCohort, most rows let preempted jobs keep
# their work; in the rows "work is lost" they start again.
#
#   kueue.sh BUILD      SHARED=folder with traces/helios-venus (../shared), BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
shared=${SHARED:-../shared}
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
failed=0

# config NAME STRATEGY PREEMPTED SETTINGS RECLAIM PREEMPTION: writes a scenario with 50 ClusterQueues of equal quotas.
# PREEMPTED: parameter of the policy. SETTINGS, PREEMPTION: further members of the section and of the preemption rules.
config() {
  awk -v strategy="$2" -v preempted="$3" -v settings="$4" -v reclaim="$5" -v preemption="$6" 'BEGIN {
    queues = 50; cohorts = 4; gpus = 1064; nodes = 133
    printf "{ \"name\": \"kueue\", \"cluster\": { \"pools\": [ { \"name\": \"gpus\", \"gpu\": \"V100\", "
    printf "\"nodes\": %d, \"gpus_per_node\": 8 } ] },\n", nodes
    printf "  \"policy\": { \"name\": \"kueue\", \"preempted\": \"%s\" },\n", preempted
    printf "  \"kueue\": { %s\"flavors\": [ { \"name\": \"gpus\" } ], \"cluster_queues\": [\n", settings
    for (i = 0; i < queues; i++) {
      quota = int(gpus / queues) + (i < gpus % queues)
      printf "    { \"name\": \"q%02d\", \"cohort\": \"c%d\", \"queueing_strategy\": \"%s\",\n", i, i % cohorts, strategy
      printf "      \"preemption\": { \"within_cluster_queue\": \"LowerPriority\", "
      printf "\"reclaim_within_cohort\": \"%s\"%s },\n", reclaim, preemption
      printf "      \"resource_groups\": [ { \"flavors\": [ { \"name\": \"gpus\", \"resources\": [ "
      printf "{ \"name\": \"nvidia.com/gpu\", \"nominal_quota\": %d } ] } ] } ] }%s\n", quota, i + 1 < queues ? "," : ""
    }
    print "  ] } }"
  }' >"$data/kueue-$1.json"
}

# row NAME TRACE CONFIG BOUND: runs and prints a row. BOUND: CPU seconds.
row() {
  if ! timeout 120 "$build/bench/measure" "$build/headroom" run "$data/kueue-$3.json" --quiet \
    --json "$data/kueue.out" --trace "$data/$2" 3>"$data/kueue.times" >/dev/null 2>&1; then
    printf '%-52s  stopped  <= %5.1f s  FAIL\n' "$1" "$4"
    failed=1
    return
  fi
  digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$data/kueue.out")
  awk -v name="$1" -v digest="$digest" -v bound="$4" '{
    printf "%-52s %8.2f s  <= %5.1f s  %s  %s\n", name, $2, bound, digest, $2 <= bound ? "PASS" : "FAIL"
    exit $2 > bound }' "$data/kueue.times" || failed=1
}

# year NAME CONFIG: the jobs of Venus with one of the configurations.
year() {
  row "125303 jobs, 50 queues, $1" kueue-helios.csv "$2" 5
}

parents='"cohorts": [ { "name": "c0", "parent": "r" }, { "name": "c1", "parent": "r" }, { "name": "c2", "parent": "r" },
  { "name": "c3", "parent": "r" } ], '
borrow=', "borrow_within_cohort": { "policy": "LowerPriority" }'
fair='"fair_sharing": {}, '
config fifo BestEffortFIFO requeue '' Any ''
config strict StrictFIFO requeue '' Any ''
config lower BestEffortFIFO requeue '' LowerPriority ''
config borrow BestEffortFIFO checkpoint '' Any "$borrow"
config tree BestEffortFIFO requeue "$parents" Any ''
config tree-borrow BestEffortFIFO checkpoint "$parents" Any "$borrow"
config fair BestEffortFIFO checkpoint "$fair" Any ''
config fair-lower BestEffortFIFO checkpoint "$fair" LowerPriority ''
config borrow-lost BestEffortFIFO requeue '' Any "$borrow"
config fair-lost BestEffortFIFO requeue "$fair" Any ''
config fair-tree BestEffortFIFO checkpoint "$fair$parents" Any ''

helios=$shared/traces/helios-venus/helios_trace.csv.gz
if [ -s "$helios" ]; then
  [ -s "$data/kueue-helios.csv" ] || gzip -dc "$helios" | tr -d '\r' | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "job_id,submit_s,duration_s,gpus,queue,priority"; next }
    { hash = 0; text = $at["job_id"]
      for (i = 1; i <= length(text); i++) hash = (hash * 31 + index("0123456789", substr(text, i, 1))) % 65521
      printf "%s,%s,%s,%s,q%02d,%d\n", text, $at["arrival_s"], $at["service_sec"], $at["gpu_count"], hash % 50, hash % 3 }
  ' >"$data/kueue-helios.csv"
  year BestEffortFIFO fifo
  year StrictFIFO strict
  year 'reclaim LowerPriority' lower
  year borrowWithinCohort borrow
  year 'tree of cohorts' tree
  year 'tree, borrowWithinCohort' tree-borrow
  year 'fair sharing' fair
  year 'fair sharing, LowerPriority' fair-lower
  year 'fair sharing, tree' fair-tree
  year 'borrowWithinCohort, work is lost' borrow-lost
  year 'fair sharing, work is lost' fair-lost
else
  echo "$helios is missing: the run of a year is skipped"
fi

# All jobs are submitted within a second, so nearly all of them wait. Sizes are 1 to 16 GPUs.
for jobs in 10 100 1000 10000 100000; do
  awk -v jobs="$jobs" 'BEGIN { print "job_id,submit_s,duration_s,gpus,queue"
    for (i = 1; i <= jobs; i++) { seed = (seed * 1103515245 + 12345) % 2147483648
      printf "%d,%.6f,%d,%d,q%02d\n", i, i / (jobs + 1), 600 + seed % 3600, 2 ^ (int(seed / 4096) % 5),
        int(seed / 65536) % 50 }
  }' >"$data/kueue-$jobs.csv"
  for mode in fifo strict borrow fair; do row "$jobs waiting jobs, $mode" "kueue-$jobs.csv" "$mode" 5; done
done
exit "$failed"
