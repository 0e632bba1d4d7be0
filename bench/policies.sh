#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the run time of the orders of the policy `queue` in three parts. million: runs of a million jobs with each
# order. length: the time of a pass with 10 to 1,000,000 waiting jobs. tenants: the time per job with quotas for 10 to
# 10,000 tenants.
#
#   policies.sh BUILD      ROUNDS=3, MOST_WAITING=1000000, PART=all (million, length, tenants) and
#                          BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
rounds=${ROUNDS:-3}
most=${MOST_WAITING:-1000000}
most_times=8
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
if [ ! -x "$build/bench/measure" ]; then
  echo "$build/bench/measure is missing; the target bench_policies builds it and runs this script" >&2
  exit 2
fi

orders='fifo sjf srtf las gittins edf f1 wfp3 qssf fair-share drf multifactor'

# ---- A million jobs -------------------------------------------------------------------------------------------------

# The load of run.sh: 90 % of the GPUs at a constant arrival rate.
workload='--seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 --diurnal 0 --count 1000000 --nodes 128 --load 0.9'

# generate NAME [OPTION...]: generates the trace NAME.csv, unless it exists with the same options.
generate() {
  name=$1
  shift
  made="$workload $*"
  [ -s "$data/$name.csv" ] && [ "$(cat "$data/$name.made" 2>/dev/null)" = "$made" ] && return
  echo "generating $name.csv"
  # shellcheck disable=SC2086
  "$build/headroom" trace generate $workload "$@" --output "$data/$name.csv"
  echo "$made" >"$data/$name.made"
}

scenario() {
  cat >"$data/$1.json" <<END
{ "name": "$1", "trace": { "file": "$1.csv" },
  "cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 128, "gpus_per_node": 8 } ] },
  "policy": { "name": "queue", "backfill": "skip" } }
END
}

# seconds NAME ORDER PLACEMENT: prints the median wall-clock seconds of whole processes.
seconds() {
  rm -f "$data/policies.times"
  round=0
  while [ "$round" -lt "$rounds" ]; do
    "$build/bench/measure" "$build/headroom" run "$data/$1.json" --quiet --set policy.order="$2" --set policy.placement="$3" \
      3>>"$data/policies.times" >/dev/null
    round=$((round + 1))
  done
  awk '{ print $1 }' "$data/policies.times" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# row ORDER POOL BEST-FIT BOUND: prints a row of the table. POOL and BEST-FIT are the seconds with these two placements.
# Also prints whether both are at most BOUND.
row() {
  awk -v order="$1" -v pool="$2" -v fit="$3" -v bound="$4" 'BEGIN {
    measured = pool > 0 && fit > 0
    verdict = !measured ? "FAIL" : bound == "" ? "" : pool <= bound && fit <= bound ? "PASS" : "FAIL"
    printf "%-12s %8.2f s %8.2f s  %8s  %s\n", order, pool, fit, bound == "" ? "" : "<= " bound " s", verdict
    exit verdict == "FAIL" }'
}

million() {
  generate policies-1m
  generate policies-1m-tenants --tenants 1000 --users 5000
  scenario policies-1m
  scenario policies-1m-tenants
  echo
  echo "1 M jobs, 128 x 8 GPUs, backfill skip; fair-share, drf and multifactor with 1,000 tenants and 5,000 users"
  printf '%-12s %10s %10s\n' order pool best-fit
  for order in $orders; do
    name=policies-1m bound=
    case $order in
      fair-share) name=policies-1m-tenants bound=3 ;;
      drf | multifactor) name=policies-1m-tenants ;;
      las | srtf) bound=4 ;;
    esac
    row "$order" "$(seconds "$name" "$order" pool)" "$(seconds "$name" "$order" best-fit)" "$bound" || failed=1
  done
}

# ---- A pass by the length of the queue ------------------------------------------------------------------------------

# waiting_trace WAITING ARRIVALS: prints a trace with which WAITING jobs wait during the whole run, under any order.
# There are eight GPU types. Each type has one pool with room for eight jobs, and jobs of one size, so there are eight
# distinct requests. Each job runs for 640 s. A job arrives every 10 s, and a job ends 5 s later; then the first waiting
# job starts. Estimates, deadlines and priorities differ. There are 1,000 tenants. The waiting jobs are submitted at
# 1 s.
waiting_trace() {
  awk -v waiting="$1" -v come="$2" 'function job(submit, run, type) {
      seed = (seed * 16807) % 2147483647
      estimate = 640 + seed % 100000 / 10
      printf "%d,%.3f,%.3f,%d,tenant-%d,%.3f,%.3f,%d,T%d\n", ++id, submit, run, size[type], seed % 1000, estimate,
        submit + 1000 + seed % 1000003, seed % 4, type
    }
    BEGIN {
      seed = 1
      for (type = 0; type < 8; type++) size[type] = 2 ^ (type % 4)
      print "job_id,submit_s,duration_s,gpus,tenant,estimate_s,deadline_s,priority,gpu_type"
      for (i = 0; i < 64; i++) job(0, 10 * (i + 1) + 5, i % 8)
      for (i = 0; i < waiting; i++) job(1, 640, i % 8)
      for (i = 0; i < come; i++) job(10 * (i + 1), 640, i % 8)
    }'
}

# waiting_scenario NAME QUOTAS: writes NAME.json; QUOTAS are its JSON members for quotas.
waiting_scenario() {
  {
    echo "{ \"name\": \"$1\", \"trace\": { \"file\": \"${1%-quotas}.csv\" }, \"cluster\": { \"pools\": ["
    for type in 0 1 2 3 4 5 6 7; do
      [ "$type" = 0 ] || echo ,
      nodes=$((1 << type % 4))
      printf '{ "name": "t%d", "gpu": "T%d", "nodes": %d, "gpus_per_node": 8 }' "$type" "$type" "$nodes"
    done
    echo "] }, $2"
    echo '"policy": { "name": "queue", "placement": "pool" } }'
  } >"$data/$1.json"
}

# sim_s NAME HORIZON OPTION...: runs NAME.json until HORIZON several times. Prints the minimum time of the simulation in
# seconds; the time to load the trace is not included.
sim_s() {
  name=$1 horizon=$2
  shift 2
  round=0
  while [ "$round" -lt "$rounds" ]; do
    "$build/headroom" run "$data/$name.json" --quiet --json "$data/policies.out" --set "horizon_s=$horizon" "$@" >/dev/null
    sed -n 's/.*"sim_s": *\([0-9.e-]*\).*/\1/p' "$data/policies.out"
    round=$((round + 1))
  done | sort -g | head -n 1
}

# pass_us NAME OPTION...: prints the mean time of a pass in microseconds. There are two passes per arrival: one for the
# arrival and one for the end of a job. The time is computed from the difference of two runs with different horizons, so
# the first 1,000 s, in which the queue is filled, are not included.
pass_us() {
  name=$1
  shift
  short=$(sim_s "$name" 1000 "$@")
  long=$(sim_s "$name" "$((10 * come))" "$@")
  awk -v short="$short" -v long="$long" -v passes="$((2 * (come - 100)))" 'BEGIN { print 1e6 * (long - short) / passes }'
}

# curve LABEL NAME-SUFFIX OPTION...: prints a row of the table, with one column for each number of waiting jobs.
curve() {
  label=$1 suffix=$2
  shift 2
  values=
  for waiting in $lengths; do
    values="$values $(pass_us "waiting-$waiting$suffix" "$@")"
  done
  verdict "$label" "$values"
}

# verdict LABEL VALUES: prints a row, and whether the time is constant or grows at most logarithmically. The test is
# that the last value is at most $most_times times the first value, or times 0.25 if the first value is smaller. This
# bound allows for cache misses.
verdict() {
  echo "$1 $2" | awk -v most="$most_times" '{
    printf "%-14s", $1
    for (i = 2; i <= NF; i++) printf " %9.2f", $i
    base = $2 > 0.25 ? $2 : 0.25
    times = $NF / base
    verdict = $2 <= 0 || $NF <= 0 ? "TOO NOISY" : times <= most ? "PASS" : "FAIL"
    printf "  %7.1f  %s\n", times, verdict
    exit verdict != "PASS" }' || failed=1
}

against_length() {
  lengths=
  waiting=10
  while [ "$waiting" -le "$most" ]; do
    lengths="$lengths $waiting"
    waiting=$((waiting * 10))
  done
  come=200000
  quotas='"quotas": { "default": { "guaranteed_gpus": 0.1, "max_gpus": 64 } },'
  for waiting in $lengths; do
    if [ "$(cat "$data/waiting-$waiting.made" 2>/dev/null)" != "$come" ]; then
      waiting_trace "$waiting" "$come" >"$data/waiting-$waiting.csv"
      echo "$come" >"$data/waiting-$waiting.made"
    fi
    waiting_scenario "waiting-$waiting" ''
    waiting_scenario "waiting-$waiting-quotas" "$quotas"
  done
  echo
  echo "microseconds per pass, by the number of waiting jobs; 8 distinct requests, 1,000 tenants"
  printf '%-14s' order
  # shellcheck disable=SC2086
  printf ' %9d' $lengths
  printf '  %7s\n' times
  for order in $orders; do
    curve "$order" '' --set policy.order="$order" --set policy.backfill=skip
  done
  curve easy '' --set policy.backfill=easy
  curve fifo-quotas -quotas --set policy.backfill=skip
}

# ---- A job by the number of tenants ---------------------------------------------------------------------------------

# quotas KIND TENANTS: prints the quotas of a scenario. The part of a tenant is 1,000 GPUs / TENANTS. KIND no-limits:
# there are no quotas. KIND caps: the maximum of each tenant is its part, or 16 GPUs if the part is smaller. KIND
# guarantees: each tenant is guaranteed its part. KIND cohorts: each tenant is guaranteed half of its part, and tenants
# are in nested cohorts with maxima.
quotas() {
  part=$(awk -v tenants="$2" 'BEGIN { printf "%.3f", 1000 / tenants }')
  case $1 in
    caps) echo "\"default\": { \"max_gpus\": $(awk -v part="$part" 'BEGIN { print part < 16 ? 16 : part }') }" ;;
    guarantees) echo "\"default\": { \"guaranteed_gpus\": $part }" ;;
    cohorts)
      echo '"cohorts": [ { "name": "all", "max_share": 0.8 }, { "name": "most", "parent": "all", "max_share": 0.7 } ],'
      echo "\"default\": { \"cohort\": \"most\", \"guaranteed_gpus\": $(awk -v part="$part" 'BEGIN { print part / 2 }') }"
      ;;
  esac
}

against_tenants() {
  workload='--seed 1 --gpus-per-node 8 --median-s 1800 --sigma 1.2 --diurnal 0 --count 200000 --nodes 128 --load 1.05'
  numbers='10 100 1000 10000'
  for tenants in $numbers; do
    generate "tenants-$tenants" --tenants "$tenants" --users "$tenants"
  done
  echo
  echo "microseconds per job, by the number of tenants; 200,000 jobs, 128 x 8 GPUs, a load of 1.05, backfill skip"
  printf '%-14s' quotas
  # shellcheck disable=SC2086
  printf ' %9d' $numbers
  printf '  %7s\n' times
  for kind in no-limits caps guarantees cohorts; do
    values=
    for tenants in $numbers; do
      name=tenants-$tenants
      echo "{ \"name\": \"$name\", \"trace\": { \"file\": \"$name.csv\" }, \"quotas\": { $(quotas "$kind" "$tenants") }," \
        '"cluster": { "pools": [ { "name": "gpus", "gpu": "A100-80", "nodes": 128, "gpus_per_node": 8 } ] },' \
        '"policy": { "name": "queue", "backfill": "skip", "placement": "pool" } }' >"$data/$name.json"
      values="$values $(sim_s "$name" 1e10 | awk '{ print 5 * $1 }')"
    done
    verdict "$kind" "$values"
  done
}

failed=0
case ${PART:-all} in
  million) million ;;
  length) against_length ;;
  tenants) against_tenants ;;
  *) million && against_length && against_tenants ;;
esac
exit "$failed"
