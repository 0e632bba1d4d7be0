#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Failures and maintenance of nodes: results and notes of small scenarios, and bad input.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# scenario NODES FAULTS [MEMBERS]: s.json, one pool of nodes with 8 GPUs, which runs t.csv. MEMBERS: of the policy.
scenario() {
  printf '{"trace":{"file":"t.csv"},"seed":1,"policy":{"name":"queue"%s},"cluster":{"pools":[{"name":"p","gpu":"H100",
    "nodes":%s,"gpus_per_node":8,"faults":%s}]}}\n' "${3:-}" "$1" "$2" >s.json
}

# jobs ROW...: t.csv; columns: job_id, submit_s, duration_s, gpus, and others that the variable `more` names.
jobs() {
  { echo "job_id,submit_s,duration_s,gpus${more:-}"; printf '%s\n' "$@"; } >t.csv
}

# is FILE KEY VALUE: the JSON file has this value at a path such as .faults.ettr.
is() {
  local found
  found=$(python3 -c '
import json, sys
at = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("/"): at = at[int(key) if isinstance(at, list) else key]
print(json.dumps(at))' "$1" "$2") || fail "$1 has no $2"
  [ "$found" = "$3" ] || fail "$2 is $found, not $3"
}

case_ettr_of_elastic_jobs() {
  more=,min_gpus,max_gpus jobs a,0,10000,4,2,8
  scenario 1 '{"mtbf_h":1000,"repair_s":60}' ',"elastic":"grow"'
  try 0 run s.json -q --json -
  is stdout faults/failures 0
  is stdout faults/ettr 1
  is stdout by_size/2-4/ettr 1
}

# Node 0 is down until 1 s, and from 1,001 s to 2,001 s; `a` needs both nodes. Of the 5,000 s, 1,000 s are lost work and
# 1,000 s are a wait.
case_ettr_by_size() {
  jobs a,0,3000,16 b,6000,100,8
  printf 'node,start,end\nn,0,1\nn,1001,2001\n' >log.csv
  scenario 2 '{"log":{"file":"log.csv"}}'
  try 0 run s.json -q --json -
  is stdout faults/failures 2
  is stdout faults/jobs_stopped 1
  is stdout by_size/9-16/ettr 0.6
  is stdout by_size/5-8/ettr 1
  try 0 run s.json
  says stdout 'ETTR       by GPUs requested: 5-8: 100.0 %, 9-16: 60.0 %'
  try 0 run s.json -q --json - --set cluster.pools.0.faults='{"per_1000_node_days":0}'
  ! grep -q ettr stdout || fail "an ETTR without failures"
}

# Jobs that were rejected after a failure do not count after their rejection.
case_ettr_of_rejected_jobs() {
  jobs a,0,1500,8 b,0,9000,1
  scenario 2 '{"between":{"distribution":"fixed","mean_s":1000},"repair_s":100,"start":"fresh"}'
  try 0 run s.json -q --json - --set classes='{"default":{"requeue":false}}'
  is stdout jobs/rejected 2
  is stdout faults/ettr 0
  try 0 run s.json --set classes='{"default":{"requeue":false}}'
  says stderr '2 jobs were stopped and are not requeued: a, b (requeue-limit'
  says stdout 'a job is interrupted every'
}

case_preemptions_of_restarts() {
  more=,priority jobs b,0,9000,8,1 c,2,9000,8,1 a,10,4000,8,9
  printf 'node,start,end\nn,0,1\nn,100,20000\n' >log.csv
  scenario 2 '{"log":{"file":"log.csv"}}' ',"order":"priority","preemption":"priority"'
  try 0 run s.json -q --json -
  is stdout faults/jobs_stopped 1
  is stdout faults/restart_preemptions 1
  "$headroom" run s.json -q --jobs jobs.csv
  matches jobs.csv '^b,.*,2,100,0,0,4000,$' # the first preemption, by the submission of `a`
}

# The failures of OpenDC's tests: the interval before a failure begins at the end of the previous failure. A task of 10
# minutes needs 20 minutes and 165,000 J with one failure, 37 minutes and 288,000 J with two.
case_opendc_replays() {
  jobs a,0,600,1
  power='{"gpu_idle_w":100,"gpu_max_w":150,"host_idle_w":0,"host_max_w":0,"down_w":100}'
  scenario 1 '{"log":{"file":"log.csv"}}'
  printf 'failure_interval,failure_duration,failure_intensity\n300000,300000,1\n' >log.csv
  for run in '1 1200 0.045833' '2 2220 0.08'; do
    read -r failures seconds kwh <<<"$run"
    try 0 run s.json -q --json - --set cluster.pools.0.gpus_per_node=1 --set cluster.pools.0.power="$power"
    is stdout faults/failures "$failures"
    is stdout faults/jobs_stopped "$failures"
    is stdout makespan_s "$seconds"
    is stdout energy/it_kwh "$kwh"
    echo 420000,600000,1 >>log.csv
  done
  # ten times 5 minutes of work, with 5 minutes of repair between them, and no work lost
  jobs a,0,3000,1
  try 0 run s.json -q --json - --set cluster.pools.0.gpus_per_node=1 --set cluster.pools.0.power="$power" \
    --set classes.default.checkpoint.policy=continuous --set cluster.pools.0.faults='{"repair_s":300,"start":"fresh",
      "between":{"distribution":"fixed","mean_s":300}}'
  is stdout makespan_s 5700
  is stdout energy/it_kwh 0.2
}

# Failures of a log affect the nodes in turn: with two nodes, the third failure is on the first node again.
case_replays_in_turn() {
  jobs a,0,9000,8 b,0,9000,8
  { echo failure_interval,failure_duration; for _ in 1 2 3 4 5; do echo 1000000,100000; done; } >log.csv
  scenario 2 '{"log":{"file":"log.csv"}}'
  try 0 run s.json -q --json -
  is stdout faults/failures 5
  is stdout faults/jobs_stopped 5
}

case_replays_count_what_they_drop() {
  jobs a,0,9000,8
  scenario 2 '{"log":{"file":"log.csv"}}'
  printf 'node,start,end\nn1,0,100\nn2,500,\nn2,600\n,600,700\nn1,900,800\n' >log.csv
  try 0 run s.json --json s.out
  is s.out faults/failures 1
  says stderr 'rows of the log that are not replayed, as they have no end: 2'
  says stderr 'rows of the log that are not replayed, as they have no node: 1'
  says stderr 'rows of the log that are not replayed, as they end before their start: 1'
  printf 'failure_interval,failure_duration\n5000,1\n-5,1\n' >log.csv
  try 0 validate s.json
  says stderr 'rows of the log that are not replayed, as they have a negative interval: 1'
}

# Spare nodes run no jobs: a job that needs them is rejected, even if the failure rate is 0.
case_spares_are_no_capacity() {
  jobs a,0,100,32 b,10,100,8
  scenario 4 '{"per_1000_node_days":0,"repair_s":60,"spares":1,"activation_s":100}'
  for rate in 0 0.001; do
    try 0 run s.json --json s.out --set cluster.pools.0.faults.per_1000_node_days=$rate
    is s.out jobs/rejected 1
    is s.out jobs/completed 1
    says stdout '32 GPUs on 4 nodes: 4 x 8 H100 (8 GPUs are spares)'
    says stderr '1 job can never run and was rejected: a (too-large'
    [ $rate != 0 ] || says stderr "no node fails, but 1 of the 4 nodes are spares, which run no jobs"
  done
}

# Node 0 is the spare node from 1 s on, because the log begins with its failure. Node 1 fails at 100 s, so node 0 is up
# at 200 s. The failure of the group from 150 s to 160 s does not change this.
case_a_group_fails_while_a_spare_is_activated() {
  jobs a,0,1,8 b,120,50,16
  printf 'node,start,end\nn0,0,1\nn1,100,2000\n' >log.csv
  scenario 3 '{"log":{"file":"log.csv"},"spares":1,"activation_s":100,"groups":[{"nodes":3,"start":"fresh",
    "repair_s":10,"between":{"distribution":"fixed","mean_s":150}}]}'
  try 0 run s.json -q --json - --check
  is stdout faults/failures 3
  is stdout faults/spare_swaps 2
  is stdout makespan_s 250
}

# GSL has no quantile for 100,002 degrees of freedom.
case_interval_of_many_interruptions() {
  jobs a,0,9000000,8
  scenario 1 '{"between":{"distribution":"fixed","mean_s":10},"repair_s":0,"start":"fresh"}'
  try 0 run s.json -q --json - --set horizon_s=500005
  is stdout faults/jobs_stopped 50000
  is stdout faults/mtti_s 10.0001
  is stdout faults/mtti_low_s 9.912825
  is stdout faults/mtti_high_s 10.088335
}

# The budget closes idle nodes until maintenance closes all nodes. Job b starts at the end of the maintenance.
case_maintenance_of_nodes_that_a_budget_closes() {
  jobs a,4905,9000,2 b,6308,9000,8
  cat >s.json <<'END'
{ "trace": { "file": "t.csv" }, "policy": { "name": "kueue" }, "cluster": { "power_budget_w": 8700, "pools": [
    { "name": "p", "gpu": "A100-80", "nodes": 3, "gpus_per_node": 8,
      "maintenance": [ { "start_s": 95, "duration_s": 60 } ],
      "power": { "gpu_idle_w": 72, "gpu_max_w": 400, "host_idle_w": 928, "host_max_w": 1376 } } ] } }
END
  for policy in kueue kubernetes volcano; do
    try 0 run s.json -q --check --json - --policy $policy
    is stdout makespan_s 18060
    is stdout maintenance/groups 1
  done
}

# Job a draws 3.2 kW of a budget of 3.3 kW. Job b wakes the other node, which draws 0.4 kW for its boot of 600 s. So the
# power of the GPUs of job a is limited immediately.
case_a_budget_limits_power_while_a_node_boots() {
  jobs a,0,3000,8 b,1000,3000,8
  cat >s.json <<'END'
{ "trace": { "file": "t.csv" }, "policy": { "name": "queue" }, "cluster": { "power_budget_w": 3300,
    "power_budget_mode": "cap", "pools": [ { "name": "p", "gpu": "H100", "nodes": 2, "gpus_per_node": 8, "power": {
      "gpu_idle_w": 50, "gpu_max_w": 400, "host_idle_w": 0, "host_max_w": 0, "sleep": { "idle_s": 1, "boot_s": 600 },
      "caps": [ { "limit_w": 200, "time_ratio": 2, "power_ratio": 0.5 } ] } } ] } }
END
  try 0 run s.json -q --check --json -
  is stdout energy/sleeps 2
  is stdout energy/peak_kw 3.2
  is stdout energy/capped_s 4003
}

# Nodes of elastic pools are replaced, so their availability is unknown.
case_availability_of_elastic_pools() {
  jobs a,0,9000,8
  scenario 2 '{"mtbf_h":1,"repair_s":60},"market":"on-demand","usd_per_gpu_hour":3' ',"market":"on-demand-only"'
  try 0 run s.json -q --json -
  is stdout faults/availability null
}

# Checkpoints cost time only if something can stop a job.
case_checkpoints_without_effect() {
  jobs a,0,6000,8
  scenario 1 '{"per_1000_node_days":0}'
  checkpoint='{"default":{"checkpoint":{"policy":"interval","interval_s":600,"write_s":60}}}'
  try 0 run s.json -q --json s.out --set classes="$checkpoint"
  is s.out makespan_s 6000
  says s.out 'checkpoints have no effect and take no time, as nothing in this scenario can stop a job'
  try 0 run s.json -q --json s.out --set classes="$checkpoint" \
    --set cluster.pools.0.faults='{"mtbf_h":1e8,"repair_s":60}'
  is s.out makespan_s 6540
  ! grep -q 'checkpoints have no effect' s.out || fail "checkpoints have an effect"
}

# fails PATH VALUE MESSAGE: sets a key to a value and expects that the scenario is rejected with the message.
fails() {
  try 2 validate s.json --set "$1=$2"
  says stderr "$3"
}

case_keys_without_effect() {
  jobs a,0,6000,8
  printf 'node,start,end\nn,0,1\n' >log.csv
  scenario 2 '{"mtbf_h":9,"repair_s":60}'
  local faults=cluster.pools.0.faults power=cluster.pools.0.power class=classes.default
  fails $faults.activation_s 5 "'activation_s' has no effect without 'spares'"
  fails $faults '{"log":{"file":"log.csv"},"clock":"up"}' "'clock' has no effect beside 'log'"
  fails $faults '{"log":{"file":"log.csv"},"start":"fresh"}' "'start' has no effect beside 'log'"
  fails $faults '{"log":{"file":"log.csv"},"detect_s":5}' "'detect_s' has no effect beside 'log'"
  fails $faults '{"repair_s":60}' "'per_1000_node_days', 'mtbf_h' or 'between' is missing"
  boot='"boot":{"distribution":"fixed","mean_s":5}'
  fails $power '{"sleep":{"idle_s":9,"boot_s":5,'"$boot"'}}' "'boot_s' has no effect beside 'boot'"
  fails cluster.carbon '{"g_per_kwh":9,"zone":"DE"}' "'zone' has no effect beside 'g_per_kwh'"
  fails cluster.energy_price '{"usd_per_kwh":9,"gaps":"hold"}' "'gaps' has no effect beside 'usd_per_kwh'"
  fails $class '{"requeue":false,"max_requeues":2}' "'max_requeues' has no effect if 'requeue' is false"
  fails $class.checkpoint '{"policy":"none","async":true}' "'async' has no effect with the checkpoint policy 'none'"
  local rule='"policy":"interval","interval_s":9,"write_s":5'
  fails $class.checkpoint "{$rule,\"stall_s\":1}" "'stall_s' has no effect without 'async'"
  fails $class.checkpoint "{$rule,\"async\":true,\"stall_s\":5}" "the stall of 5 s must be shorter than the 'write_s'"
  fails policy.carbon wait-awhile "with 'carbon' wait-awhile, jobs wait for electricity with less carbon, but no pool"
}

case_keys_without_effect_are_noted() {
  jobs a,0,6000,8
  scenario 2 '{"mtbf_h":9,"repair_s":60}'
  try 0 validate s.json --set cluster.carbon.g_per_kwh=9
  says stderr "pool 'p': carbon, cost and water of electricity are not computed without 'power'"
  try 0 validate s.json --set cluster.pools.0.power='{"gpu_max_w":400,"sleep":{"idle_s":9,"min_awake":3}}'
  says stderr "pool 'p': no node sleeps, as 'min_awake' keeps 3 awake and the pool has 2"
}

# The budget is sufficient for two of four nodes, so a job of three nodes never starts.
case_power_budget_permits_no_large_job() {
  jobs a,0,100,24 b,0,100,16
  scenario 4 '{"per_1000_node_days":0}'
  local power='{"gpu_idle_w":100,"gpu_max_w":600,"host_idle_w":0,"host_max_w":0}'
  for verb in validate run; do
    try 0 $verb s.json --set cluster.pools.0.power="$power" --set cluster.power_budget_w=11200
    says stderr "1 job never starts: 'power_budget_w' permits at most 16 GPUs of a pool to work at once; the first is a"
    try 0 $verb s.json --set cluster.pools.0.power="$power" --set cluster.power_budget_w=15200
    ! grep -q 'never start' stderr || fail "the budget permits three nodes"
  done
  fails cluster.pools.0.faults '{"mtbf_h":1e-5,"repair_s":1}' 'a number from 0.000278 to'
}

run_case
