#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the fast search of `headroom plan` with its exhaustive search on a real trace. There are 500 mixes of
# reserved, on-demand and spot V100s for SenseTime's Venus cluster. Prints the mix that each search chooses, its cost,
# the number of runs of each search, and the ratio of these numbers. Also prints the time of a plan with 200 candidates.
# The prices per GPU hour are assumed: $1.20 reserved, $2.00 on demand and $0.80 spot. A spot node is reclaimed every 50
# hours on average. The number of spot nodes is limited so that the best mix is not at the border of the grid.
#
#   plan_helios.sh BUILD      REPLICATIONS=4 of each mix, JOBS=0 (0: all jobs, otherwise the first JOBS jobs),
#                             BENCH_DATA=BUILD/bench-data and
#                             HELIOS_TRACE=../shared/traces/helios-venus/helios_trace.csv.gz unless set
set -eu

build=$1
here=$(cd -- "$(dirname -- "$0")" && pwd)
replications=${REPLICATIONS:-4}
jobs=${JOBS:-0}
data=${BENCH_DATA:-$build/bench-data}
source=${HELIOS_TRACE:-$here/../../shared/traces/helios-venus/helios_trace.csv.gz}
mkdir -p "$data"
if [ ! -f "$source" ]; then
  echo "*** SKIPPED: real trace $source is not there ***" >&2
  exit 0
fi
gzip -dc "$source" | awk -v jobs="$jobs" 'jobs == 0 || NR <= jobs + 1' >"$data/plan_helios.csv"

# scenario STEP SPOT_STEP: prints the scenario. The levels of the reserved and the on-demand axis are STEP GPUs apart,
# those of the spot axis SPOT_STEP GPUs.
scenario() {
  cat <<JSON
{
  "name": "plan-helios",
  "trace": { "file": "plan_helios.csv", "format": "csv",
             "columns": { "job_id": "job_id", "submit": "arrival_s", "duration": "service_sec", "gpus": "gpu_count" } },
  "cluster": { "pools": [
    { "name": "reserved", "gpu": "V100", "nodes": 133, "gpus_per_node": 8, "market": "reserved",
      "usd_per_gpu_hour": 1.2, "on_demand_usd_per_gpu_hour": 2 },
    { "name": "spot", "gpu": "V100", "nodes": 133, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 0.8,
      "on_demand_usd_per_gpu_hour": 2, "boot_s": 180, "spot": { "model": "exponential", "rate_per_h": 0.02 } },
    { "name": "on-demand", "gpu": "V100", "nodes": 133, "gpus_per_node": 8, "market": "on-demand",
      "usd_per_gpu_hour": 2, "boot_s": 180 }
  ] },
  "classes": { "default": { "checkpoint": { "policy": "young-daly", "gb": 10, "write_s": 30 }, "restart_s": 120 } },
  "policy": { "name": "queue", "order": "fifo", "backfill": "skip", "placement": "best-fit", "market": "spot-first" },
  "plan": {
    "variables": [
      { "pool": "reserved", "from": 0, "to": 1152, "step": $1 },
      { "pool": "on-demand", "from": 0, "to": 1152, "step": $1 },
      { "pool": "spot", "from": 0, "to": 512, "step": $2 }
    ],
    "constraints": ["wait_s.p95 <= 4 h"],
    "max_replications": $replications
  },
  "seed": 1
}
JSON
}

# field JSON KEY: prints the first value of the key KEY in the file JSON.
field() {
  sed -n "s/^ *\"$2\": \(.*[^,]\),\{0,1\}$/\1/p" "$1" | head -n 1
}

# plan NAME ARGUMENT...: computes a plan, writes it to NAME.json and prints how many seconds this took.
plan() {
  name=$1
  shift
  code=0
  "$build/headroom" plan "$data/$name.scenario.json" --json "$data/$name.json" --brief --quiet "$@" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  field "$data/$name.json" sim_s
}

# say TITLE JSON SECONDS: prints a row of the table: the plan in the file JSON, which took SECONDS.
say() {
  choice=$(awk '/"choice": \{/ { inside = 1; next } inside && /\}/ { exit } inside { printf "%s ", $0 }' "$2" | tr -s ' ')
  printf '%-11s %6d runs %7.1f s  objective %s  feasible %s  %s\n' "$1" "$(field "$2" runs)" "$3" \
    "$(field "$2" objective | grep -v '"' || sed -n 's/^ *"objective": \([0-9.]*\),$/\1/p' "$2" | head -n 1)" \
    "$(field "$2" feasible)" "$choice"
}

scenario 128 128 >"$data/plan_helios.scenario.json"
cp "$data/plan_helios.scenario.json" "$data/plan_helios_all.scenario.json"
seconds=$(plan plan_helios)
say search "$data/plan_helios.json" "$seconds"
seconds=$(plan plan_helios_all --exhaustive)
say exhaustive "$data/plan_helios_all.json" "$seconds"
awk -v few="$(field "$data/plan_helios.json" runs)" -v all="$(field "$data/plan_helios_all.json" runs)" \
  'BEGIN { printf "share of the exhaustive runs: %.1f %%\n", 100 * few / all }'

# A plan with 8 x 5 x 5 candidates and the sensitivity analysis.
scenario 128 128 | sed -e '/"reserved", "from"/s/"to": 1152/"to": 896/' \
  -e '/"on-demand", "from"/s/"to": 1152, "step": 128/"to": 1024, "step": 256/' >"$data/plan_helios_200.scenario.json"
code=0
"$build/headroom" plan "$data/plan_helios_200.scenario.json" --json "$data/plan_helios_200.json" --quiet || code=$?
[ "$code" -le 1 ] || exit "$code"
say '200 mixes' "$data/plan_helios_200.json" "$(field "$data/plan_helios_200.json" sim_s)"
