#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Creates report pages and tests them in Chromium.
#
#   web_page.sh HEADROOM NODE_MODULES [PART]
#
# PART: kinds (all kinds of pages), looks (appearance and operation of the pages), paint (the time until a page is
# painted); without PART: the content of the page of a run.
what='the report page'
# shellcheck source=tests/web/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
"$headroom" help report >/dev/null 2>&1 || skip 'this program was built without report'

part=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$project"

for name in agency demo; do
  "$headroom" report "scenarios/$name.json" --quiet -o "$work/$name.html"
  "$headroom" run "scenarios/$name.json" --json "$work/$name.json" --jobs "$work/$name.jobs.csv" >"$work/$name.txt" 2>/dev/null
done
"$headroom" advise scenarios/agency.json --quiet --json "$work/agency.advice.json"
# Two traces that differ only in the time zone of their dates.
printf 'submit_s,duration_s,gpus\n2026-01-01T00:00:00Z,3600,1\n2026-01-03T00:00:00Z,3600,1\n' >"$work/zoned.csv"
sed 's/Z,/,/' "$work/zoned.csv" >"$work/local.csv"
for name in zoned local; do
  "$headroom" report scenarios/demo.json --trace "$work/$name.csv" --quiet -o "$work/$name.html" \
    --set 'plan={"variables":[{"pool":"a100","from":0,"to":64,"step":8}],"constraints":["wait_s.mean <= 1 h","jct_s.mean <= 1 min"]}'
done
"$headroom" trace stats traces/reference/agency.csv --json "$work/agency.stats.json" -o "$work/agency.stats.txt" 2>/dev/null
"$node" "$here/edit.mjs" "$work/agency.html" "$work/edited.html"
if [ "$part" = paint ]; then
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 125000; i++) print i * 130 "," 60 + i * 7919 % 9000 "," 1 + i * 31 % 8 }' >"$work/large.csv"
  "$headroom" report scenarios/demo.json --trace "$work/large.csv" --quiet -o "$work/large.html"
elif [ -n "$part" ]; then
  # A trace without dates: two jobs a day for 100 days.
  awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 200; i++) print i * 43200 "," 7200 + i * 400 "," 8 + i % 57 }' >"$work/long.csv"
  "$headroom" report scenarios/demo.json --trace "$work/long.csv" --quiet -o "$work/long.html"
  "$headroom" compare scenarios/demo.json --policies fifo,sjf,conservative --quiet \
    --report "$work/compare.html" --json "$work/compare.json"
  # plan NAME SCENARIO [OPTION]...: writes the page, the JSON and the terminal output of a plan.
  plan() {
    "$headroom" plan "${@:2}" --report "$work/$1.html" --json "$work/$1.json" >"$work/$1.txt" 2>/dev/null
  }
  plan plan scenarios/plan-l4-or-t4.json
  plan grown scenarios/plan-reserved-share.json --set replications.workload.growth=1.25
  # Spot capacity is cheap, and a goal in dollars excludes mixes without it.
  plan certain scenarios/plan-spot-share.json --set policy.name=deadline --set plan.max_replications=2 \
    --set 'plan.variables=[{"name":"spot","pools":["spot-a","spot-b","spot-c"],"from":0,"to":15,"step":3},{"pool":"on-demand","from":0,"to":12,"step":6}]' \
    --set 'plan.constraints=["deadline_miss <= 2 %","monthly_usd <= 3.6 k$"]' --set 'plan.baseline={"spot":0,"on-demand":12}'
  "$headroom" tco scenarios/private-or-cloud.json --replications 2 --quiet --report "$work/tco.html" --json "$work/tco.json"
  "$headroom" report scenarios/three-regions.json --quiet -o "$work/regions.html"
  "$headroom" report scenarios/hybrid.json --quiet -o "$work/hybrid.html"
  "$headroom" sweep scenarios/sweeps/demo.json --quiet --db "$work/sweep.sqlite" --report "$work/sweep.html"
fi

run_in_chromium "web_page${part:+_$part}.mjs"
