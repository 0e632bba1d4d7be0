#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A service of three replicas on spot capacity, by the rules of SpotHedge (Mao et al., EuroSys'25) and on spot capacity
# alone: cost relative to on-demand replicas, and the share of time with three replicas. For three sets of records,
# prints the published figures, those of the published rules applied tick by tick (the awk program below, without
# Headroom), and those of Headroom (scenarios/spothedge.json with other records). Each figure is the mean over ten days.
# The days are those of the authors: the first ten numbers that their program draws. Exits with 1 if the rules tick by
# tick do not reproduce the published figures of the nine zones, or if Headroom is not close to the rules tick by tick.
#
#   spothedge.sh HEADROOM [SET]     about ten seconds; SET: only the records 4-node, 16-node or nine-zones
set -eu

headroom=$1
sets=${2:-4-node 16-node nine-zones}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
records=$here/../../shared/traces/spot-skypilot
if [ ! -d "$records" ]; then
  echo "SKIPPED: $records is not there" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The rules tick by tick. Input: first line the starts of the days; then one line per zone with its levels. A tick is 30
# s. A replica is ready 4 ticks after its start.
cat >"$work/ticks.awk" <<'AWK'
# least(z, t): the replicas in a zone that exist since t - 4
function least(z, t,   i, low) {
  if (t < cold) return 0
  low = plan[z, t]
  for (i = t - cold; i < t; i++) if (plan[z, i] < low) low = plan[z, i]
  return low
}
function ready_spot(t,   z, sum) { for (z = 1; z <= zones; z++) sum += least(z, t); return sum + 0 }
function ready_on_demand(t,   i, low) {
  if (t < cold) return 0
  low = demand[t]
  for (i = t - cold; i < t; i++) if (demand[i] < low) low = demand[i]
  return low
}
# a random zone among the zones that are not avoided, and that have no replica unless all have one
function choose(t,   z, n, list, any) {
  for (any = 0; any < 2; any++) {
    n = 0
    for (z = 1; z <= zones; z++) if (!avoided[z] && (any || plan[z, t] == 0)) list[++n] = z
    if (n) return list[1 + int(rand() * n)]
  }
}
function spread(t, want,   z, sum, n_used) {
  for (z = 1; z <= zones; z++) {
    if (t > 0 && wished[z] > plan[z, t - 1]) avoided[z] = 1
    else if (t > 0 && wished[z] > 0) avoided[z] = 0
    plan[z, t] = t > 0 ? plan[z, t - 1] : 0
    sum += plan[z, t]
    n_used += !avoided[z]
  }
  if (n_used <= (zones > 3 ? 1 : zones - 3)) for (z = 1; z <= zones; z++) avoided[z] = 0
  for (; sum < want; sum++) plan[choose(t), t]++
  for (z = 1; z <= zones; z++) wished[z] = plan[z, t]
}
function in_turn(t, want,   z, sum) {
  for (z = 1; z <= zones; z++) sum += plan[z, t] = t > 0 ? plan[z, t - 1] : 0
  for (; sum < want; sum++) { plan[turn + 1, t]++; turn = (turn + 1) % zones }
}
function day(start,   t, z, want, missing, cap) {
  for (z = 1; z <= zones; z++) avoided[z] = wished[z] = 0
  turn = 0
  want = hedge ? target + 1 : target
  for (t = 0; t < ticks; t++) {
    missing = hedge ? want - (t > 0 ? ready_spot(t - 1) : 0) : 0
    demand[t] = missing > target ? target : missing
    if (hedge) spread(t, want); else in_turn(t, want)
    for (z = 1; z <= zones; z++) {
      cap = level[z, int((t + start) / gap) % steps[z]]
      if (plan[z, t] > cap) plan[z, t] = cap
      if (t >= cold) cost += plan[z, t]
    }
    if (t < cold) continue
    cost += 3 * demand[t]
    met += ready_spot(t) + ready_on_demand(t) >= target
  }
}
NR == 1 { n_days = NF; for (i = 1; i <= NF; i++) starts[i] = $i; next }
NF > 0 { zones++; steps[zones] = NF; for (i = 1; i <= NF; i++) level[zones, i - 1] = $i }
END {
  target = 3; cold = 4; ticks = 2880; gap = 10
  srand(1)
  for (d = 1; d <= n_days; d++) day(starts[d])
  n = n_days * (ticks - cold)
  printf "%.3f %.3f\n", cost / (3 * target * n), met / n
}
AWK

# headroom_day SCENARIO START: runs one day and prints its relative cost and its availability.
headroom_day() {
  sed "s/OFFSET/$(($2 * 30))/g" "$1" >"$work/day.json"
  "$headroom" run "$work/day.json" --quiet --timeline "$work/timeline.csv" --json "$work/day.out"
  awk '/"total_usd"/ && cost == "" { gsub(/[^0-9.]/, "", $2); cost = $2 } END { printf "%s ", cost / (9 * 24) }' "$work/day.out"
  awk -F, '
    function add(until) { if (until > 120 && running >= 3) met += until - (since > 120 ? since : 120) }
    NR > 1 { add($1); since = $1; running = $3 }
    END { add(86400); print met / (86400 - 120) }' "$work/timeline.csv"
}

# scenario JOBS WAIT: writes a scenario with the pools of $work/pools.
scenario() {
  awk -v n="$1" 'BEGIN { print "job_id,submit_s,duration_s,gpus"; for (i = 1; i <= n; i++) print i ",0,8640000,1" }' >"$work/jobs.csv"
  cat <<END
{ "name": "replicas", "trace": { "file": "jobs.csv" }, "horizon_s": 86400,
  "cluster": { "pools": [ $(cat "$work/pools")
    { "name": "on-demand", "gpu": "V100", "nodes": 3, "gpus_per_node": 1, "market": "on-demand", "usd_per_gpu_hour": 3, "boot_s": 120 } ] },
  "classes": { "default": { "checkpoint": { "policy": "continuous" } } },
  "policy": { "name": "queue", "market": "spot-first", "spot_wait_s": $2, "spot_hold_s": 0, "idle_release_s": 1,
              "backfill": "skip", "placement": "first-fit" } }
END
}

# add_zone RECORD NODES ONE: adds the levels of a record, with ONE in place of 1, and its pool. All records get 300 s
# between entries, as in the artifact of the paper.
add_zone() {
  name=$(basename "$1" .json)
  sed -e 's/.*"data": *\[//' -e 's/\].*//' -e 's/,/ /g' -e "s/1/$3/g" "$1" >>"$work/levels"
  echo >>"$work/levels"
  sed 's/"gap_seconds": *195/"gap_seconds": 300/' "$1" >"$work/$name.json"
  cat >>"$work/pools" <<END
{ "name": "$name", "zone": "$name", "gpu": "V100", "nodes": $2, "gpus_per_node": 1, "market": "spot",
  "usd_per_gpu_hour": 1, "on_demand_usd_per_gpu_hour": 3, "boot_s": 120,
  "spot": { "model": "trace", "notice_s": 0, "offset_s": OFFSET, "file": "$name.json" } },
END
}

# compare TITLE NODES ONE STARTS PUBLISHED_HEDGE PUBLISHED_ALONE RECORD...: prints the two lines of a set of records.
compare() {
  title=$1 nodes=$2 one=$3 starts=$4 hedge=$5 alone=$6
  shift 6
  echo "$starts" >"$work/levels"
  : >"$work/pools"
  for record in "$@"; do add_zone "$record" "$nodes" "$one"; done
  for rule in SpotHedge spot-alone; do
    case $rule in
    SpotHedge) published=$hedge is_hedge=1 jobs=4 wait_s=0 ;;
    *) published=$alone is_hedge=0 jobs=3 wait_s=1000000000 ;;
    esac
    ticks=$(awk -v hedge=$is_hedge -f "$work/ticks.awk" "$work/levels")
    scenario $jobs $wait_s >"$work/all.json"
    for start in $starts; do headroom_day "$work/all.json" "$start"; done |
      awk -v head="$title $rule $published $ticks" '{ cost += $1; met += $2 } END { printf "%s %.3f %.3f\n", head, cost / NR, met / NR }'
  done
}

# The authors assume that a zone with one recorded node has any number of nodes. Four nodes are enough.
for set in $sets; do
  case $set in
  4-node) compare "$set" 4 1 "2732 21243 30403 32103 20757 14935 15430 14650 17089 32230" "0.514 0.993" "0.300 0.880" \
    "$records"/preemption/4-node/*/*.json ;;
  16-node) compare "$set" 16 1 "2732 10799 9845 19648 13123 21243 9225 24275 20757 22258" "0.573 0.976" "0.270 0.774" \
    "$records"/availability/16-node/*/*.json ;;
  nine-zones) compare "$set" 4 4 "43567 173685 117952 176963 152315 95939 97639 41993 122579 86293" "0.456 0.997" \
    "0.330 0.982" "$records"/availability/1-node/aws-02-15-2023/*_v100_1.json ;;
  esac
done >"$work/table"

awk '
  function far(a, b, by) { return a - b > by || b - a > by }
  BEGIN { printf "%-12s %-11s %16s %16s %16s\n", "records", "rule", "published", "tick by tick", "Headroom" }
  {
    printf "%-12s %-11s %8s %7s %8s %7s %8s %7s\n", $1, $2, $3, $4, $5, $6, $7, $8
    if ($1 == "nine-zones" && (far($3, $5, 0.003) || far($4, $6, 0.003))) failed = 1
    if (far($5, $7, 0.03) || far($6, $8, 0.03)) failed = 1
    n++
  }
  END { exit failed || n == 0 || n % 2 }' "$work/table"
