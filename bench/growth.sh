#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures how the time of a pass grows with the number of waiting jobs, for the models of real schedulers. The same 10
# to 100,000 jobs of 200 users in 20 queues, with three priorities, are submitted at once to 133 nodes x 8 GPUs. Each
# row has the CPU seconds of three processes, which simulate one second, two hours, and the time until all jobs have
# ended. The first process needs most of its time to start, to read the trace and to write the report. To compute the
# microseconds of a pass, its CPU seconds and passes are subtracted from those of the other two. The ratio compares a
# pass with a pass in the previous row of the system, by default with a tenth of the jobs.
#
#   growth.sh BUILD       CROWDS="10 100 1000 10000 100000": numbers of jobs
#                         SYSTEMS="kueue kai volcano kubernetes slurm multifactor": rows
#                         BASE=another headroom program, whose digests must be equal (unset: no comparison)
#                         WHOLE_MAX=10000: larger crowds are not run to their end
#                         SECONDS_MAX=120: a run is stopped after this many seconds
#                         BENCH_DATA=BUILD/bench-data unless set
set -eu

build=$1
data=${BENCH_DATA:-$build/bench-data}
crowds=${CROWDS:-10 100 1000 10000 100000}
systems=${SYSTEMS:-kueue kai volcano kubernetes slurm multifactor}
base=${BASE:-}
limit=${SECONDS_MAX:-120}
whole_max=${WHOLE_MAX:-10000}
mkdir -p "$data"
failed=0

# section SYSTEM: the section of a scenario with 20 equal queues. Slurm has accounts instead.
section() {
  awk -v who="$1" 'BEGIN {
    n = 20
    if (who == "kubernetes") exit
    if (who == "slurm") exit
    if (who == "multifactor") {
      printf ", \"slurm\": { \"priority\": { \"weight_age\": 1000, \"weight_fairshare\": 10000, "
      print "\"weight_job_size\": 500 } }"
      exit
    }
    printf ", \"%s\": { ", who
    if (who == "kai")
      printf "\"scheduler\": { \"reclaim_min_runtime_s\": 86400, \"preempt_min_runtime_s\": 86400 }, "
    if (who == "kueue") printf "\"flavors\": [ { \"name\": \"gpus\" } ], "
    printf "\"%s\": [ ", who == "kueue" ? "cluster_queues" : "queues"
    if (who == "kai") printf "{ \"name\": \"all\", \"gpu\": { \"quota\": -1, \"limit\": -1 } }, "
    for (i = 0; i < n; i++) {
      printf "%s{ \"name\": \"a%d\"", i ? ", " : "", i
      if (who == "kai")
        printf ", \"parent\": \"all\", \"gpu\": { \"quota\": 53, \"limit\": -1, \"over_quota_weight\": 1 }"
      if (who == "kueue") {
        printf ", \"cohort\": \"all\", \"preemption\": { \"within_cluster_queue\": \"LowerPriority\" }"
        printf ", \"resource_groups\": [ { \"flavors\": [ { \"name\": \"gpus\", \"resources\": [ "
        printf "{ \"name\": \"nvidia.com/gpu\", \"nominal_quota\": 53 } ] } ] } ]"
      }
      printf " }"
    }
    print " ] }"
  }'
}

# scenario SYSTEM: writes growth-SYSTEM.json. In KAI, running jobs are protected from reclaim. Otherwise reclaimed jobs
# would lose their work, and the time of evictions would dominate.
scenario() {
  policy=$1
  [ "$1" != multifactor ] || policy=slurm
  {
    echo '{ "name": "growth", "cluster": { "pools": ['
    echo '    { "name": "gpus", "gpu": "V100", "nodes": 133, "gpus_per_node": 8 } ] },'
    echo "  \"policy\": { \"name\": \"$policy\" }"
    section "$1"
    echo '}'
  } >"$data/growth-$1.json"
}

# value NAME: a number or a digest of growth.out.
value() {
  sed -n "s/^  \"$1\": *\"\{0,1\}\([0-9a-f]*\)\"\{0,1\},*\$/\1/p" "$data/growth.out" | head -n 1
}

# run PROGRAM SYSTEM JOBS [OPTION]...: prints CPU seconds, passes and the digest; "- - -" if it was stopped.
run() {
  program=$1 system=$2 jobs=$3
  shift 3
  if ! timeout "$limit" "$build/bench/measure" "$program" run "$data/growth-$system.json" --quiet \
    --json "$data/growth.out" --trace "$data/growth-$jobs.csv" "$@" 3>"$data/growth.times" >/dev/null 2>&1; then
    echo "- - -"
    return
  fi
  echo "$(awk '{ print $2 }' "$data/growth.times") $(value passes) $(value digest)"
}

# compare SYSTEM JOBS DIGEST [OPTION]...: records a failure if the digest of the base program differs.
compare() {
  [ -n "$base" ] || return 0
  system=$1 jobs=$2 digest=$3
  shift 3
  theirs=$(run "$base" "$system" "$jobs" "$@")
  [ "${theirs##* }" = "$digest" ] || {
    echo "$system, $jobs jobs: digest $digest, base ${theirs##* }" >&2
    failed=1
  }
}

for jobs in $crowds; do
  awk -v n="$jobs" 'BEGIN {
    srand(7)
    print "job_id,submit_s,duration_s,gpus,limit_s,user,tenant,priority"
    for (i = 1; i <= n; i++) {
      gpus = 2 ^ int(rand() * 5); seconds = int(60 + rand() * 7200); user = int(rand() * 200)
      printf "%d,0,%d,%d,%d,u%d,a%d,%d\n", i, seconds, gpus, seconds * (1 + rand()), user, user % 20, user % 3
    } }' >"$data/growth-$jobs.csv"
done

printf '%-12s %7s | %7s | %9s %7s %8s %6s | %9s %8s %8s %6s\n' system jobs \
  '1 s: s' '2 h: s' passes us/pass ratio 'all: s' passes us/pass ratio
for system in $systems; do
  scenario "$system"
  before='0 0'
  for jobs in $crowds; do
    first=$(run "$build/headroom" "$system" "$jobs" --set horizon_s=1)
    short=$(run "$build/headroom" "$system" "$jobs" --set horizon_s=7200)
    compare "$system" "$jobs" "${short##* }" --set horizon_s=7200
    all='- - -'
    [ "$jobs" -gt "$whole_max" ] || all=$(run "$build/headroom" "$system" "$jobs")
    row=$(echo "$first $short $all $before" | awk -v who="$system" -v jobs="$jobs" '
      function each(s, passes) { return passes > $2 && s > $1 ? 1e6 * (s - $1) / (passes - $2) : 0 }
      function number(value) { return value > 0 ? sprintf("%.0f", value) : "-" }
      function ratio(now, before) { return before > 0 && now > 0 ? sprintf("%.1f", now / before) : "-" }
      { a = each($4, $5); b = each($7, $8)
        printf "%-12s %7d | %7s | %9s %7s %8s %6s | %9s %8s %8s %6s;%s %s\n", who, jobs, $1, $4, $5, number(a),
          ratio(a, $10), $7, $8, number(b), ratio(b, $11), a, b }')
    echo "${row%;*}"
    before=${row#*;}
  done
done
exit "$failed"
