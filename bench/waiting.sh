#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures how the time of whole runs grows with the number of waiting jobs, for policies that model real schedulers. N
# jobs of 1 to 16 GPUs are submitted within N milliseconds to 133 nodes x 8 GPUs, so almost all of them wait at first.
# Prints the CPU seconds of the process, and microseconds per job and per pass of the policy. Short runs mostly measure
# the start of the process.
#
#   waiting.sh BUILD      BENCH_DATA=BUILD/bench-data unless set; POLICIES="kueue kai volcano slurm"
#                         CROWDS="10 100 1000 10000 100000": numbers of jobs; LIMIT=300: seconds after which a run is stopped
set -eu

build=$1
data=${BENCH_DATA:-$build/bench-data}
mkdir -p "$data"
printf '%-8s %8s %9s %11s %9s %12s  %s\n' policy jobs 'CPU s' 'us per job' passes 'us per pass' digest
for jobs in ${CROWDS:-10 100 1000 10000 100000}; do
  awk -v n="$jobs" -f "$(dirname -- "$0")/crowd.awk" >"$data/waiting-$jobs.csv"
  for policy in ${POLICIES:-kueue kai volcano slurm}; do
    cat >"$data/waiting.json" <<END
{ "name": "waiting", "cluster": { "pools": [ { "name": "p", "gpu": "V100", "nodes": 133, "gpus_per_node": 8 } ] },
  "policy": { "name": "$policy" } }
END
    if ! timeout "${LIMIT:-300}" "$build/bench/measure" "$build/headroom" run "$data/waiting.json" --quiet \
      --json "$data/waiting.out" --trace "$data/waiting-$jobs.csv" 3>"$data/waiting.times" >/dev/null; then
      printf '%-8s %8d stopped\n' "$policy" "$jobs"
      continue
    fi
    passes=$(sed -n 's/^  "passes": *\([0-9]*\).*/\1/p' "$data/waiting.out")
    digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' "$data/waiting.out")
    awk -v policy="$policy" -v jobs="$jobs" -v passes="$passes" -v digest="$digest" '{
      printf "%-8s %8d %9.2f %11.1f %9d %12.1f  %s\n", policy, jobs, $2, 1e6 * $2 / jobs, passes, 1e6 * $2 / passes, digest
    }' "$data/waiting.times"
  done
done
