#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the cost of the rules of the policy `deadline`, on recorded spot capacity. The job has 48 hours of work, a
# deadline after 60 hours and a changeover time of 12 minutes. It starts at 100 different times of the record of each zone.
# Prints the mean costs by zone. Of the savings of the rule omniscient over the rule deadline-greedy, it also prints the
# share that the rule uniform-progress achieves.
#
#   spot_deadlines.sh HEADROOM [STARTS]     about 4 minutes on 2 cores with 100 starts, most of it for omniscient
set -eu

headroom=$1
starts=${2:-100}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
records=$here/../../shared/traces/spot-skypilot/availability/1-node/aws-02-15-2023
if [ ! -d "$records" ]; then
  echo "SKIPPED: $records is not there" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf 'job_id,submit_s,duration_s,gpus,deadline_s\n1,0,172800,1,216000\n' >"$work/job.csv"

# scenario ZONE: writes a scenario with spot capacity of one zone and on-demand capacity.
scenario() {
  cat >"$work/$1.json" <<END
{ "name": "$1", "trace": { "file": "job.csv" },
  "cluster": { "pools": [
    { "name": "spot", "gpu": "V100", "nodes": 1, "gpus_per_node": 1, "market": "spot", "usd_per_gpu_hour": 0.918,
      "on_demand_usd_per_gpu_hour": 3.06, "boot_s": 720,
      "spot": { "model": "trace", "notice_s": 0, "offset_s": 0, "file": "$records/$1_v100_1.json" } },
    { "name": "on-demand", "gpu": "V100", "nodes": 1, "gpus_per_node": 1, "market": "on-demand",
      "usd_per_gpu_hour": 3.06, "boot_s": 720 } ] },
  "classes": { "default": { "checkpoint": { "policy": "continuous" } } },
  "policy": { "name": "deadline", "placement": "first-fit", "changeover_s": 720 } }
END
}

# one HEADROOM FOLDER ZONE RULE START: runs the scenario of a zone and prints "ZONE RULE START COST COMPLETION".
cat >"$work/one" <<'SCRIPT'
#!/bin/sh
"$1" run "$2/$3.json" --quiet --set "policy.rule=$4" --set "cluster.pools.0.spot.offset_s=$(($5 * 201 * 195))" --json - |
  awk -v head="$3 $4 $5" '
    /"total_usd"/ && cost == "" { gsub(/[^0-9.]/, "", $2); cost = $2 }
    /"makespan_s"/ { gsub(/[^0-9.]/, "", $2); took = $2 }
    END { print head, cost, took }'
SCRIPT

zones=
for record in "$records"/*_v100_1.json; do
  zone=$(basename "$record" _v100_1.json)
  zones="$zones $zone"
  scenario "$zone"
done
for zone in $zones; do
  for rule in deadline-greedy uniform-progress omniscient; do
    start=0
    while [ "$start" -lt "$starts" ]; do
      echo "$headroom $work $zone $rule $start"
      start=$((start + 1))
    done
  done
done | xargs -P "$(nproc)" -L 1 sh "$work/one" >"$work/results"

sort "$work/results" | awk '
  { cost[$1, $2] += $4; late[$2] += $5 > 216000; zone[$1]; sum[$2] += $4; n[$2]++ }
  END {
    printf "%-12s %10s %10s %10s %10s %8s\n", "zone", "on-demand", "greedy", "uniform", "omnisc.", "closed"
    od = 48.2 * 3.06
    for (z in zone) order[++k] = z
    for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (order[j] < order[i]) { t = order[i]; order[i] = order[j]; order[j] = t }
    per = n["omniscient"] / k
    for (i = 1; i <= k; i++) {
      z = order[i]; g = cost[z, "deadline-greedy"] / per; u = cost[z, "uniform-progress"] / per; o = cost[z, "omniscient"] / per
      printf "%-12s %10.2f %10.2f %10.2f %10.2f %7.0f%%\n", z, od, g, u, o, (g > o ? 100 * (g - u) / (g - o) : 0)
    }
    g = sum["deadline-greedy"] / n["omniscient"]; u = sum["uniform-progress"] / n["omniscient"]; o = sum["omniscient"] / n["omniscient"]
    printf "%-12s %10.2f %10.2f %10.2f %10.2f %7.0f%%\n", "all", od, g, u, o, 100 * (g - u) / (g - o)
    printf "deadlines missed: greedy %d, uniform %d, omniscient %d of %d each\n", late["deadline-greedy"], late["uniform-progress"], late["omniscient"], n["omniscient"]
  }'
