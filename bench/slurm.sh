#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the policy `slurm`: the 125,303 jobs of SenseTime's Venus cluster in 194 days, on 133 nodes, and crowds of N
# jobs, 10 to 100,000, that are submitted within N milliseconds. Prints the CPU seconds of whole processes, with bounds,
# and digests.
#
#   slurm.sh BUILD        SHARED=folder with traces/helios-venus (../shared), BENCH_DATA=BUILD/bench-data unless set
#                         CROWDS="10 1000 10000 100000": numbers of jobs of the crowds
set -eu

build=$1
shared=${SHARED:-../shared}
data=${BENCH_DATA:-$build/bench-data}
crowds=${CROWDS:-10 1000 10000 100000}
mkdir -p "$data"
failed=0

cat >"$data/slurm.json" <<END
{ "name": "slurm", "cluster": { "pools": [ { "name": "p", "gpu": "V100", "nodes": 133, "gpus_per_node": 8 } ] },
  "policy": { "name": "slurm" },
  "slurm": { "priority": { "weight_age": 1000, "weight_fairshare": 10000, "weight_job_size": 500 } } }
END

# row NAME TRACE PRIORITY BOUND: runs and prints a row. BOUND: CPU seconds.
row() {
  "$build/bench/measure" "$build/headroom" run "$data/slurm.json" --quiet --json "$data/slurm.out" --trace "$data/$2" \
    --set policy.priority="$3" 3>"$data/slurm.times" >/dev/null
  digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$data/slurm.out")
  awk -v name="$1, $3" -v digest="$digest" -v bound="$4" '{
    printf "%-36s %8.2f s  <= %5.1f s  %s  %s\n", name, $2, bound, digest, $2 <= bound ? "PASS" : "FAIL"
    exit $2 > bound }' "$data/slurm.times" || failed=1
}

# 1,000 users in 50 accounts; limits are one and a half times the run time, plus a minute.
helios=$shared/traces/helios-venus/helios_trace.csv.gz
if [ -s "$helios" ]; then
  gzip -dc "$helios" | tr -d '\r' | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "job_id,submit_s,duration_s,gpus,limit_s,user,tenant"; next }
    { hash = 0; text = $at["job_id"]
      for (i = 1; i <= length(text); i++) hash = (hash * 31 + index("0123456789", substr(text, i, 1))) % 65521
      printf "%s,%s,%s,%s,%.0f,u%d,a%d\n", text, $at["arrival_s"], $at["service_sec"], $at["gpu_count"],
        60 + 1.5 * $at["service_sec"], hash % 1000, hash % 50 }' >"$data/slurm-helios.csv"
  for priority in basic multifactor; do row "125303 jobs of a year" slurm-helios.csv "$priority" 10; done
else
  echo "$helios is missing: the run of a year is skipped"
fi

for jobs in $crowds; do
  awk -v n="$jobs" -f "$(dirname -- "$0")/crowd.awk" >"$data/slurm-$jobs.csv"
  for priority in basic multifactor; do row "$jobs waiting jobs" "slurm-$jobs.csv" "$priority" $((5 + jobs / 1000)); done
done
exit "$failed"
