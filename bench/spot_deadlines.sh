#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the cost of the rules of the policy `deadline`, on recorded spot capacity. The job has 48 hours of work, a
# deadline after 60 hours and a changeover time of 12 minutes. It starts at 100 different times of the record of each
# zone. Prints the mean costs by zone, in continuous time and with ticks as in the simulator of Wu et al. (NSDI'24). Of
# the savings of the rule omniscient over the rule deadline-greedy, it also prints the share that the rule
# uniform-progress achieves. Exits with 1 if a mean over all zones differs from the published value, if a deadline is
# missed or a run failed.
#
#   spot_deadlines.sh HEADROOM [STARTS]     about 6 minutes on 2 cores with 100 starts, most of it for omniscient.
#                                           With fewer starts, the means are not compared.
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

# one HEADROOM FOLDER ZONE MODE RULE START: runs the scenario of a zone; prints "ZONE MODE RULE START COST COMPLETION".
# In the mode "ticks", the job decides once in each gap of the record. RULE can be followed by further settings.
cat >"$work/one" <<'SCRIPT'
#!/bin/sh
case $4 in ticks) tick=195 ;; *) tick=0 ;; esac
case $5 in *:*) lead=${5#*:} ;; *) lead=2 ;; esac
"$1" run "$2/$3.json" --quiet --set "policy.rule=${5%:*}" --set "policy.tick_s=$tick" --set "policy.hysteresis=$lead" \
  --set "cluster.pools.0.spot.offset_s=$(($6 * 201 * 195))" --json - |
  awk -v head="$3 $4 $5 $6" '
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
for mode in continuous ticks; do
  for zone in $zones; do
    for rule in deadline-greedy uniform-progress uniform-progress:0 omniscient; do
      start=0
      while [ "$start" -lt "$starts" ]; do
        echo "$headroom $work $zone $mode $rule $start"
        start=$((start + 1))
      done
    done
  done
done | xargs -P "$(nproc)" -L 1 sh "$work/one" >"$work/results"

sort "$work/results" | awk -v starts="$starts" '
  NF == 6 { zone[$1]; n++; mode = $2; cost[mode, $1, $3] += $5 / starts; late += $6 > 216000 }
  function show(mode, name, g, u, o, lead) {
    printf "%-12s %10.2f %10.2f %10.2f %10.2f %7.0f%% %12.2f\n", name, 48.2 * 3.06, g, u, o, (g > o ? 100 * (g - u) / (g - o) : 0), lead
  }
  function table(mode, title,   i, z, g, u, o, l) {
    printf "%s\n%-12s %10s %10s %10s %10s %8s %12s\n", title, "zone", "on-demand", "greedy", "uniform", "omnisc.", "closed", "hysteresis 0"
    for (i = 1; i <= k; i++) {
      z = order[i]
      show(mode, z, cost[mode, z, "deadline-greedy"], cost[mode, z, "uniform-progress"], cost[mode, z, "omniscient"], cost[mode, z, "uniform-progress:0"])
      g += cost[mode, z, "deadline-greedy"] / k; u += cost[mode, z, "uniform-progress"] / k
      o += cost[mode, z, "omniscient"] / k; l += cost[mode, z, "uniform-progress:0"] / k
    }
    show(mode, "all", g, u, o, l)
    mean[mode] = sprintf("%.2f %.2f %.2f", g, u, o)
  }
  function compare(mode, published) {
    printf "%s: %s; published: %s\n", mode, mean[mode], published
    if (starts == 100 && mean[mode] != published) failed = 1
  }
  END {
    for (z in zone) order[++k] = z
    for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (order[j] < order[i]) { t = order[i]; order[i] = order[j]; order[j] = t }
    table("continuous", "continuous time")
    table("ticks", "ticks of 195 s")
    compare("continuous", "93.99 85.55 77.80")
    compare("ticks", "94.15 85.66 77.88")
    printf "deadlines missed: %d\n", late
    exit failed || late > 0 || n != 8 * k * starts
  }'
