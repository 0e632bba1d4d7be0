#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures the cost of each market rule and deadline rule for the job of scenarios/spot-v100.json, which can use any of
# nine recorded zones. The job starts at 100 different times of the records. For each rule, prints the mean cost, the
# savings relative to a run on on-demand capacity only, the longest completion time and the number of missed deadlines.
#
#   spot_policies.sh HEADROOM [STARTS]     about 2 minutes on 2 cores with 100 starts, most of it for omniscient
set -eu

headroom=$1
starts=${2:-100}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scenario=$here/../scenarios/spot-v100.json
if [ ! -d "$here/../../shared/traces/spot-skypilot" ]; then
  echo "SKIPPED: $here/../../shared/traces/spot-skypilot is not there" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one HEADROOM SCENARIO RULE START: runs the scenario and prints "RULE COST COMPLETION". All zones start at the same
# time of their records.
cat >"$work/one" <<'SCRIPT'
#!/bin/sh
set -eu
offsets=
for pool in 0 1 2 3 4 5 6 7 8; do
  offsets="$offsets --set cluster.pools.$pool.spot.offset_s=$(($4 * 201 * 195))"
done
case $3 in
deadline-greedy | uniform-progress | omniscient) policy=deadline:rule=$3 ;;
*) policy=queue:market=$3 ;;
esac
# shellcheck disable=SC2086 # many words
"$1" run "$2" --quiet --policy "$policy" $offsets --json - |
  awk -v head="$3" '
    /"total_usd"/ && cost == "" { gsub(/[^0-9.]/, "", $2); cost = $2 }
    /"makespan_s"/ { gsub(/[^0-9.]/, "", $2); took = $2 }
    END { print head, cost, took }'
SCRIPT

for rule in on-demand-only spot-first price-capacity deadline-greedy uniform-progress omniscient; do
  start=0
  while [ "$start" -lt "$starts" ]; do
    echo "$headroom $scenario $rule $start"
    start=$((start + 1))
  done
done | xargs -P "$(nproc)" -L 1 sh "$work/one" >"$work/results"

awk '
  { cost[$1] += $2; late[$1] += $3 > 216000; n[$1]++; if ($3 > longest[$1]) longest[$1] = $3 }
  END {
    printf "%-18s %10s %10s %10s %8s\n", "rule", "$ a job", "saved", "longest", "missed"
    n_rules = split("on-demand-only spot-first price-capacity deadline-greedy uniform-progress omniscient", rule, " ")
    all = 48 * 3.06
    for (i = 1; i <= n_rules; i++) {
      r = rule[i]
      printf "%-18s %10.2f %8.1f %% %8.1f h %8d\n", r, cost[r] / n[r], 100 - 100 * cost[r] / n[r] / all, longest[r] / 3600, late[r]
    }
  }' "$work/results"
