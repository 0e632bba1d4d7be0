#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Markets in whole runs: small scenarios whose costs and times were computed by hand.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

on_demand='"nodes": 4, "gpus_per_node": 1, "gpu": "A100-40", "market": "on-demand", "usd_per_gpu_hour": 7.2'
spot='"gpus_per_node": 1, "gpu": "A100-40", "market": "spot", "usd_per_gpu_hour": 3.6, "on_demand_usd_per_gpu_hour": 7.2'
continuous='"classes": { "default": { "checkpoint": { "policy": "continuous" } } }'

# scenario POLICY MEMBERS POOL...: writes s.json. POLICY: members of the policy; MEMBERS: members of the scenario.
scenario() {
  local policy=$1 members=$2 pools
  shift 2
  printf -v pools '{ %s },' "$@"
  printf '{ "policy": { "name": "queue", "placement": "first-fit", "backfill": "skip", %s }%s, "cluster": { "pools": [%s] } }\n' \
    "$policy" "${members:+, $members}" "${pools%,}" >s.json
}

# record NAME GAP LEVEL...: writes a record of spot capacity.
record() {
  local name=$1 gap=$2 levels
  shift 2
  printf -v levels '%s,' "$@"
  printf '{ "metadata": { "gap_seconds": %s }, "data": [%s] }\n' "$gap" "${levels%,}" >"$name"
}

repeat() {
  local i
  for ((i = 0; i < $1; i++)); do printf '%s ' "${@:2}"; done
}

trace() {
  printf '%s\n' "$@" >t.csv
}

replay() {
  try 0 run s.json --trace t.csv --check --jobs jobs.csv --json summary.json "$@"
}

costs_in_all() {
  matches summary.json "^    \"total_usd\": $1,\$"
}

# fate JOB START END: fails unless the job has this start and end in the table of jobs.
fate() {
  matches jobs.csv "^$1,[^,]*,$2,$3,"
}

# Without 'market', an on-demand node is paid from its request to its release. For the first job, a node is paid for an
# hour and 300 s (idle_release_s); for the second job, for an hour: 7,200 s + 300 s at $7.2 an hour.
case_on_demand_is_paid_while_used_by_default() {
  scenario '"order": "fifo"' '' "\"name\": \"o\", $on_demand"
  trace submit_s,duration_s,gpus 0,3600,1 36000,3600,1
  replay
  costs_in_all 15.000000
  matches summary.json '^    "market": "spot-first",$'
  replay --set policy.market=on-demand-only
  costs_in_all 15.000000
  replay --set policy.market=static
  costs_in_all 316.800000
  try 0 run s.json --trace t.csv --policy rounds
  matches stderr "^note: policy 'rounds' keeps all on-demand and spot nodes, used or not, so they are paid for all the time"
  try 0 run s.json --trace t.csv --policy rounds:objective=cost-slo
  ! grep -q 'keeps all on-demand' stderr || fail "a note on nodes that the policy releases"
}

# Under `static`, on-demand nodes are paid from the start to the end of the run, which is twice the submit window here.
# A month costs the price of 8 GPUs for 730 hours. Nodes that are paid only while they are used cost as much as the
# demand: 16 GPU-hours in the submit window of one hour.
case_a_month_of_kept_nodes() {
  printf 'job_id,submit_s,duration_s,gpus\na,0,3600,8\nb,3600,3600,8\n' >t.csv
  cat >s.json <<'EOF'
{"cluster": {"pools": [{"name": "od", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "market": "on-demand",
  "usd_per_gpu_hour": 1, "boot_s": 0}]}, "trace": {"file": "t.csv"}, "policy": {"name": "queue", "market": "static"}}
EOF
  try 0 run s.json -q --json -
  matches stdout '"total_usd": 16\.000000,'
  matches stdout '"monthly_usd": 5840\.000000,'
  try 0 run s.json -q --json - --set policy.market=on-demand-only
  matches stdout '"monthly_usd": 11680\.000000,'
}

# The second job needs spot nodes, but the market rule uses none or too few of them. The job would wait forever, so
# `validate` reports it and a run rejects it.
case_jobs_that_only_unused_spot_nodes_can_hold() {
  local rule
  # the second job is rejected, the first one runs
  never_runs() {
    try 0 validate s.json --trace t.csv
    matches stderr '^warning: only-spot, 1 job: only spot capacity would suffice, which they or the policy do not use; remedy'
    replay
    matches jobs.csv '^2,.*,rejected,.*only-spot'
    matches summary.json '"completed": 1,$'
    try 0 compare s.json --trace t.csv --policies fifo,sjf
    matches stderr '^warning: only-spot, 1 job: '
  }
  local month='"horizon_s": 2592000' a100="$spot, \"spot\": { \"model\": \"none\" }"
  local h100=${a100/A100-40/H100}
  scenario '"market": "on-demand-only"' "$month" "\"name\": \"s\", \"nodes\": 2, $h100" "\"name\": \"o\", $on_demand"
  trace submit_s,duration_s,gpus,gpu_type 0,60,1,A100-40 60,60,1,H100
  never_runs
  scenario '"market": "on-demand-only"' "$month" "\"name\": \"s\", \"nodes\": 8, $a100" "\"name\": \"o\", $on_demand"
  trace submit_s,duration_s,gpus 0,60,4 60,60,5
  never_runs
  scenario '"market": "on-demand-only"' "$month" "\"name\": \"o\", $on_demand" \
    "\"name\": \"s\", \"nodes\": 2, \"sharing\": \"mig\", \"mig\": { \"layout\": \"7x1g.5gb\" }, $a100"
  trace submit_s,duration_s,gpus,mig_profile 0,60,1, 60,60,1,1g.5gb
  never_runs
  for rule in spot-first price-capacity; do
    scenario "\"market\": \"$rule\", \"max_spot_share\": 0.5" "$month" "\"name\": \"s\", \"nodes\": 8, $h100" \
      "\"name\": \"o\", $on_demand"
    trace submit_s,duration_s,gpus,gpu_type 0,60,1,A100-40 60,60,5,H100
    never_runs
    try 0 run s.json --trace t.csv --set policy.max_spot_share=1 --json summary.json
    matches summary.json '"completed": 2,$'
    try 0 run s.json --trace t.csv --set policy.market=static --json summary.json
    matches summary.json '"completed": 2,$'
  done
}

# A spot pool is used first by default, and released when it is idle.
case_spot_is_paid_while_used_by_default() {
  scenario '"order": "fifo"' "$continuous" "\"name\": \"s\", \"nodes\": 2, $spot, \"spot\": { \"model\": \"none\" }" \
    "\"name\": \"o\", $on_demand"
  trace submit_s,duration_s,gpus 0,3600,1 36000,3600,1
  replay
  costs_in_all 7.500000
}

# The nodes of a gang boot at different times. Nodes that are up are kept until the last one is up.
case_gang_waits_for_its_nodes() {
  scenario '"market": "on-demand-only", "idle_release_s": 60' '"horizon_s": 2592000' \
    "\"name\": \"o\", \"boot\": { \"distribution\": \"exponential\", \"mean_s\": 600 }, ${on_demand/4/8}"
  trace submit_s,duration_s,gpus 0,3600,8
  replay
  matches jobs.csv '^1,0,[0-9.]+,[0-9.]+,.*,completed,'
  awk -F, 'NR == 2 && $3 > 6000 { exit 1 }' jobs.csv || fail "the gang started at $(cut -d, -f3 jobs.csv | tail -1) s"
}

# A spot node is up for 10 minutes and down for 10 minutes. The job has no checkpoint and needs a microsecond longer, so
# it never completes.
case_what_never_ends_is_given_up() {
  scenario '"market": "static"' '' "\"name\": \"s\", \"nodes\": 1, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"on-off\",
    \"notice_s\": 0, \"up\": { \"distribution\": \"fixed\", \"mean_s\": 600 }, \"down\": { \"distribution\": \"fixed\", \"mean_s\": 600 } }"
  trace submit_s,duration_s,gpus 0,600.000001,1
  replay
  says stderr 'the run was stopped after 365 days with 1 unfinished job'
  says summary.json 'the run was stopped after 365 days with 1 unfinished job'
  # With a horizon the run continues to the horizon, so two years of a reserved GPU are paid for.
  scenario '"market": "static"' '"horizon_s": 63072000' \
    "\"name\": \"s\", \"nodes\": 1, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"on-off\",
    \"notice_s\": 0, \"up\": { \"distribution\": \"fixed\", \"mean_s\": 600 }, \"down\": { \"distribution\": \"fixed\", \"mean_s\": 600 } }" \
    '"name": "r", "nodes": 1, "gpus_per_node": 1, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1'
  trace submit_s,duration_s,gpus,gpu_type 0,600.000001,1,A100-40
  replay
  matches summary.json '^      "reserved": 17520\.000000,$'
  if grep -q 'given up' stderr; then fail "the run was stopped before its horizon"; fi
}

# Spot capacity starts at 3000 s; a change takes 60 s. An on-demand node is requested at 1 us, when the job is behind
# the pace. From 240 s on the job is ahead of the pace, but it keeps the node until spot capacity is available.
case_uniform_progress_by_hand() {
  # shellcheck disable=SC2046 # many words
  record r.json 60 $(repeat 50 0) $(repeat 100 2)
  scenario '"market": "uniform-progress", "changeover_s": 60' "$continuous" "\"name\": \"o\", \"boot_s\": 60, $on_demand" \
    "\"name\": \"s\", \"nodes\": 2, \"boot_s\": 60, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 0, \"file\": \"r.json\" }"
  trace submit_s,duration_s,gpus,deadline_s 0,3600,1,7200
  rule=deadline:rule=uniform-progress,changeover_s=60
  replay --policy "$rule,wait_below=0"
  costs_in_all 6.720000
  matches jobs.csv '^1,0,60\.000001,3720\.000001'
  # The work is half of the time to the deadline, so the job first waits until the rest is 0.7 of the time: 7200 s -
  # 3600 s / 0.7, rounded to 2057.142858 s. From that time on the pace applies, and the job is behind it a microsecond
  # later.
  replay --policy "$rule"
  costs_in_all 4.662857
  matches jobs.csv '^1,0,2117\.142859,5777\.142859'
  # The job may leave the on-demand node at t = 3120 s, because then 0.5 (t + 50 x 60) = t - 60. Spot capacity is
  # already available.
  replay --policy "$rule,wait_below=0,hysteresis=50"
  costs_in_all 6.840000
  matches jobs.csv '^1,0,60\.000001,3720\.00000'
  # With ticks: idle at 0, on-demand from 60 s, spot from 3000 s. The work ends at 3770 s, and 3780 s are paid for.
  trace submit_s,duration_s,gpus,deadline_s 0,3590,1,7200
  replay --policy "$rule,wait_below=0,tick_s=60"
  costs_in_all 6.660000
  matches jobs.csv '^1,0,120,3770,'
  for verb in validate run; do
    try 2 "$verb" s.json --trace t.csv --policy "$rule,tick_s=0.5"
    says stderr "'tick_s' is 0.5, expected 0 or at least 1"
  done
}

# Spot capacity never lasts longer than its notice, so no spot node starts. On-demand nodes meet the deadline.
case_omniscience_falls_back() {
  # shellcheck disable=SC2046 # many words
  record r.json 60 $(repeat 40 1 1 0)
  scenario '"market": "omniscient"' "$continuous" "\"name\": \"o\", \"boot_s\": 0, $on_demand" \
    "\"name\": \"s\", \"nodes\": 1, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 120, \"file\": \"r.json\" }"
  trace submit_s,duration_s,gpus,deadline_s 0,600,1,1200
  replay
  costs_in_all 1.200000
  # Two jobs plan to use the only spot node. The second job cannot follow its plan.
  trace submit_s,duration_s,gpus,deadline_s 0,600,1,1200 0,600,1,1200
  replay --set cluster.pools.1.spot.notice_s=0
  says summary.json '"unfinished": 0'
}

# Deadline policies first use capacity that is paid for whether it is used or not. Jobs that must not be interrupted do
# not wait for spot capacity.
case_deadlines_use_what_is_there() {
  for rule in deadline-greedy uniform-progress omniscient; do
    scenario "\"market\": \"$rule\"" '' "\"name\": \"o\", \"boot_s\": 0, $on_demand" \
      '"name": "r", "nodes": 1, "gpus_per_node": 4, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1' \
      "\"name\": \"s\", \"nodes\": 1, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"none\", \"notice_s\": 0 }"
    trace job_id,submit_s,duration_s,gpus,deadline_s,gpu_type,interruptible l4,0,600,3,1200,L4,true barred,0,600,1,,A100-40,false \
      any,0,600,1,1200,,true none,0,600,0,,,true
    replay
    matches jobs.csv '^l4,0,0,600,.*,r,'
    matches jobs.csv '^barred,0,0,600,.*,o,'
    matches jobs.csv '^any,0,0,600,.*,r,'
    costs_in_all 1.866667 # 4 GPUs x 600 s at $1, 1 GPU x 600 s at $7.2
  done
}

# Values of the parameter 'market' of 'queue' that are now rules of the policy 'deadline': they have the same results,
# in any order of the keys, and print a note.
case_former_market_rules() {
  # shellcheck disable=SC2046 # many words
  record r.json 60 $(repeat 30 0) $(repeat 300 8)
  trace submit_s,duration_s,gpus,deadline_s 0,600,1,3600 0,3600,8,9000
  former() {
    scenario "$1" "$continuous" "\"name\": \"o\", \"boot_s\": 0, $on_demand" \
      "\"name\": \"s\", \"nodes\": 8, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 0, \"file\": \"r.json\" }"
    shift
    try 0 run s.json --trace t.csv --json - "$@"
    grep '"digest"' stdout
  }
  by_market=$(former '"market": "uniform-progress", "order": "sjf", "changeover_s": 60')
  says stderr "this value of 'market' belongs to the policy 'deadline' now; the old name still works"
  changed=$(former '"changeover_s": 60, "market": "spot-first"' --set policy.market=uniform-progress)
  by_name=$(former '"market": "static"' --policy deadline:rule=uniform-progress,changeover_s=60)
  if grep -q 'the old name' stderr; then fail "a note without an old name"; fi
  [ "$by_market" = "$by_name" ] || fail "the results with the old name differ"
  [ "$changed" = "$by_name" ] || fail "the results with the old name and --set differ"
  back=$(former '"market": "uniform-progress", "changeover_s": 60' --set policy.market=spot-first)
  [ "$back" = "$(former '"market": "spot-first"')" ] || fail "the results of spot-first differ"
  [ "$back" != "$by_name" ] || fail "spot-first and uniform-progress have the same results"
}

# A job without work is never behind the pace. A job that fits into no on-demand pool waits for spot capacity.
case_deadlines_of_odd_jobs() {
  # shellcheck disable=SC2046 # many words
  record r.json 60 $(repeat 30 0) $(repeat 300 8)
  for rule in deadline-greedy uniform-progress; do
    scenario "\"market\": \"$rule\"" "$continuous" "\"name\": \"o\", \"boot_s\": 0, $on_demand" \
      "\"name\": \"s\", \"nodes\": 8, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 0, \"file\": \"r.json\" }"
    trace submit_s,duration_s,gpus,deadline_s 0,0,1,3600 0,3600,8,1200
    replay
    says summary.json '"unfinished": 0'
    fate 2 1800 5400
  done
}

# At most two of four nodes may be spot nodes, so two jobs stay on demand.
case_share_of_spot_is_kept_on_return() {
  record r.json 600 0 4 4 4 4 4 4 4
  scenario '"market": "spot-first", "max_spot_share": 0.5, "spot_wait_s": 0, "spot_hold_s": 60' "$continuous" \
    "\"name\": \"o\", \"boot_s\": 0, $on_demand" \
    "\"name\": \"s\", \"nodes\": 4, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 0, \"file\": \"r.json\" }"
  trace submit_s,duration_s,gpus 0,4000,1 0,4000,1 0,4000,1 0,4000,1
  replay
  [ "$(grep -c ',s,' jobs.csv)" -eq 2 ] || fail "not two of four went to spot nodes: $(cat jobs.csv)"
}

# The job gets notice at 480 s, while it writes the checkpoint of 475 s. It continues if it can complete by 600 s: 475 s
# of work, 10 s to write, 50 s of work.
case_notice_while_writing() {
  record r.json 600 1 0 0 1
  scenario '"market": "static"' '"classes": { "default": { "checkpoint": { "policy": "interval", "interval_s": 475, "write_s": 10 } } }' \
    "\"name\": \"s\", \"nodes\": 1, \"boot_s\": 0, $spot, \"spot\": { \"model\": \"trace\", \"notice_s\": 120, \"file\": \"r.json\" }"
  trace submit_s,duration_s,gpus 0,525,1
  replay
  fate 1 0 535
  trace submit_s,duration_s,gpus 0,595,1 # cannot complete by 600 s: it stops at 485 s with 475 s saved, and runs for 120 s from 1800 s
  replay
  fate 1 0 1920
}

# Storage is paid only for existing checkpoints: from 100 + 10 s until the end at 1 h and 35 times 10 s.
case_storage_of_checkpoints() {
  local class='"classes": { "default": { "checkpoint": { "policy": "interval", "interval_s": 36000, "write_s": 10, "gb": 1000 } } }'
  scenario '"market": "static"' "$class, \"costs\": { \"storage\": { \"usd_per_gb_month\": 730 } }" \
    "\"name\": \"o\", \"boot_s\": 0, $on_demand"
  trace submit_s,duration_s,gpus 0,3600,1
  replay
  costs_in_all 28.800000 # four nodes for an hour, no storage
  replay --set classes.default.checkpoint.interval_s=100
  # 3,840 s x 1,000 x 2^30 bytes at $1 for 10^9 bytes and one hour.
  matches summary.json '^    "shared_usd": 1145\.324612,$'
}

# Work that is stopped by the end of a reservation is reported as lost: 1,000 s of a GPU.
case_losses_at_a_reservations_end() {
  scenario '"market": "static"' '"horizon_s": 3600' \
    '"name": "r", "nodes": 1, "gpus_per_node": 1, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1, "to_s": 1000'
  trace submit_s,duration_s,gpus,interruptible 0,3600,1,false
  replay
  matches summary.json '^    "lost_gpu_hours": 0\.27777'
}

# Owned nodes exist, and are paid for, from their delivery on. A plan buys them although they are delivered later.
case_purchases_have_a_lead_time() {
  old='"name": "old", "nodes": 1, "gpus_per_node": 1, "gpu": "L4", "market": "owned", "usd_per_gpu_hour": 1'
  new='"name": "new", "nodes": 1, "gpus_per_node": 1, "gpu": "L4", "market": "owned", "usd_per_gpu_hour": 2'
  scenario '"market": "static"' '' "$old }, { $new, \"from_s\": 7200"
  trace submit_s,duration_s,gpus 0,36000,1 0,3600,1
  replay
  costs_in_all 26.000000 # ten hours of one node, eight hours of the other
  try 0 why s.json --trace t.csv --job 2
  says stdout "started    at 0 d 02:00:00 on node 1 of pool new"
  scenario '"market": "static"' \
    '"plan": {"variables": [{"pool": "new", "from": 0, "to": 1, "step": 1}], "constraints": ["wait_s.p95 <= 2 h"]}' \
    "$old }, { $new, \"from_s\": 7200"
  try 0 plan s.json --trace t.csv --json plan.json
  matches plan.json '"new": 1'
  try 1 plan s.json --trace t.csv --set 'plan.constraints=["wait_s.p95 <= 1 h"]'
}

# A capacity block is paid until its end, although its nodes are stopped earlier. Jobs get notice.
case_capacity_blocks() {
  block='"name": "b", "nodes": 2, "gpus_per_node": 1, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1'
  scenario '"market": "static"' \
    '"horizon_s": 90000, "classes": {"default": {"checkpoint": {"policy": "on-notice", "write_s": 60}}}' \
    "$block, \"to_s\": 86400, \"stop_before_s\": 1800, \"stop_notice_s\": 600"
  trace submit_s,duration_s,gpus,interruptible 0,90000,1,true 0,80000,1,true 83500,10,1,true 84100,10,1,true
  replay
  costs_in_all 48.000000 # two GPUs for 24 hours
  try 0 why s.json --trace t.csv --job 1
  says stdout "stopped    at 0 d 23:21:00"
  try 0 why s.json --trace t.csv --job 4
  says stdout "still waiting when"
  scenario '"market": "static"' '' "$block, \"stop_before_s\": 1800"
  try 2 run s.json --trace t.csv
  says stderr "'stop_before_s' has no effect without 'to_s'"
  scenario '"market": "static"' '' "$block, \"to_s\": 3600, \"stop_before_s\": 1800, \"stop_notice_s\": 1801"
  try 2 validate s.json --trace t.csv
  says stderr "closed before the reservation starts"
}

# With queued provisioning, all nodes arrive later and at the same time, and are billed from that time on. 30 s until
# the scan, 1 h in the queue, 60 s of boot; both nodes are removed by the scan after 10 min without a job.
case_queued_provisioning() {
  flex='"name": "flex", "nodes": 4, "gpus_per_node": 1, "gpu": "L4", "market": "on-demand", "usd_per_gpu_hour": 1, "boot_s": 60'
  scaled() {
    printf '{ "policy": { "name": "queue" }, "horizon_s": 20000, "cluster": { "pools": [{ %s, %s }]%s } }\n' \
      "$flex" "$1" "$2" >s.json
  }
  scaled '"queued": { "wait_s": 3600 }' ', "autoscaler": { "name": "cluster-autoscaler" }'
  trace submit_s,duration_s,gpus 0,1000,2 19000,1,1
  replay
  matches jobs.csv '^1,0,3690,4690,3690,'
  costs_in_all 0.927778 # 2 x (60 + 1000 + 610) s; the last request is not billed
  try 0 why s.json --trace t.csv --job 1
  says stdout "1 h for the provider to give nodes"
  scaled '"queued": { "wait_s": 3600 }' ''
  try 2 validate s.json --trace t.csv
  says stderr "the cluster has none"
  scaled '"queued": { "wait_s": 3600, "wait": { "distribution": "fixed", "mean_s": 1 } }' \
    ', "autoscaler": { "name": "cluster-autoscaler" }'
  try 2 run s.json --trace t.csv
  says stderr "'wait_s' and 'wait' exclude each other"
}

# A rejected job misses its deadline, even if the deadline is after the end of the run.
case_rejected_jobs_miss_their_deadlines() {
  scenario '"market": "static"' '"costs": { "downtime": { "usd_per_missed_deadline": 5 } }' \
    '"name": "r", "nodes": 1, "gpus_per_node": 1, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1'
  trace submit_s,duration_s,gpus,deadline_s 0,3600,1, 0,60,2,100 0,60,2,100000
  replay
  costs_in_all 11.000000
}

# Goodput and reclaims are reported with costs, with and without elastic markets.
case_goodput_stands_beside_costs() {
  scenario '"market": "static"' '' '"name": "r", "nodes": 1, "gpus_per_node": 2, "gpu": "L4", "market": "reserved", "usd_per_gpu_hour": 1'
  trace submit_s,duration_s,gpus 0,3600,1
  replay
  matches summary.json '^    "useful_gpu_hours": 1,$'
  matches summary.json '^    "fraction": 1$'
  matches summary.json '^    "reclaims": 0,$'
  matches summary.json '^  "budgets": \[\],?$'
}

case_names_of_lines_are_taken() {
  scenario '"market": "static"' '' '"name": "(idle)", "nodes": 1, "gpus_per_node": 1, "gpu": "L4"'
  trace submit_s,duration_s,gpus,tenant '0,60,1,(idle)'
  try 2 run s.json --trace t.csv
  says stderr "the name of a pool must not begin with '('"
  try 2 run s.json --trace t.csv --set cluster.pools.0.name=p
  matches stderr '^headroom: t\.csv:2.*reserved for cost lines'
  trace submit_s,duration_s,gpus,user '0,60,1,ada'
  try 2 run s.json --trace t.csv --set cluster.pools.0.name=p --tenant-by '(idle)=user~ada'
  matches stderr '^headroom: t\.csv:2.*reserved for cost lines'
}

# The autoscaler requests a node when a job has waited for 30 s. A scan finds it idle at 3,630 s. The first scan more
# than 600 s later, at 4,240 s, removes it: it is paid for 4,210 s. The second node is paid for 3,600 s. 7,810 s at $7.2
# an hour.
case_autoscaled_nodes_are_paid_while_they_are_there() {
  local scaler='"autoscaler": { "name": "cluster-autoscaler" }' name
  trace submit_s,duration_s,gpus 0,3600,1 36000,3600,1
  printf '{ "policy": { "name": "fifo", "placement": "first-fit" }, "cluster": { %s, "pools": [ { "name": "o", %s } ] } }\n' \
    "$scaler" "$on_demand" >s.json
  replay
  costs_in_all 15.620000
  matches summary.json '"nodes_added": 2,$'
  matches summary.json '"nodes_removed": 1,$'
  fate 1 30 3630
  try 0 why s.json --trace t.csv --job 1
  matches stdout '30\.0 s for the autoscaler to request nodes'
  try 2 run s.json --trace t.csv --set policy.market=on-demand-only
  matches stderr "'market' lets the policy request nodes, as does 'autoscaler' of the cluster"
  # under the models of schedulers, too, the autoscaler requests the nodes
  for name in kubernetes volcano kueue kai; do
    printf '{ "policy": { "name": "%s" }, "cluster": { %s, "pools": [ { "name": "o", %s } ] } }\n' \
      "$name" "$scaler" "$on_demand" >s.json
    replay
    matches summary.json '"nodes_added": 2,$'
    matches summary.json '"nodes_removed": 1,$'
  done
  # in one of two clusters: the other one has no nodes
  printf '{ "policy": { "name": "fifo", "placement": "first-fit" }, "clusters": [
    { "name": "own", "pools": [ { "name": "a", "gpu": "A100-40", "nodes": 0, "gpus_per_node": 1 } ] },
    { "name": "cloud", %s, "pools": [ { "name": "o", %s } ] } ], "router": { "name": "cheapest" } }\n' "$scaler" "$on_demand" >s.json
  replay
  costs_in_all 15.620000
}

run_case
