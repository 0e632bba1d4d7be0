#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Inference services on the command line: replicas on nodes in maintenance, in several clusters, and on parts of GPUs;
# configurations in which no request can complete.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# put_service AUTOSCALE [REPLICA [SERVICE]]: s.json, with a service on pools, whose members are in $pools.
pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8}'
cost='"engine": {"kv_blocks": 1000}, "cost": {"fixed_us": 5000, "per_prompt_token_us": 60, "per_sequence_us": 20}'
put_service() {
  cat >s.json <<END
{"cluster": {"pools": [$pools]},
 "services": [{"name": "s", "requests": {"rate_per_s": 1, "duration_s": 600, "prompt_tokens": {"mean": 500},
    "output_tokens": {"mean": 100}}, "autoscale": {$1},
  "replica": {${2-$cost}}${3:+, $3}}]}
END
}

# A maintenance does not delay the start of replicas, because they have no expected end. They start before the
# maintenance, even if a job must wait until it ends. The maintenance drains or stops them, as with the policy
# kubernetes, which does not look ahead.
case_start_before_a_maintenance() {
  pools='{"name": "p", "gpu": "L4", "nodes": 4, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1,
    "maintenance": [{"start_s": 300, "lead_s": 30, "duration_s": 60, "nodes_per_group": 4}]}'
  put_service '"policy": "fixed", "replicas": 3'
  printf '%s\n' job_id,submit_s,duration_s,gpus,class a,0,1000,1,training b,0,1,1,training >jobs.csv
  local policy drain one=services.0.autoscale.replicas=1
  for drain in wait deadline-kill checkpoint-kill migrate; do
    sed "s/\"lead_s\"/\"drain\": \"$drain\", &/" s.json >drain.json
    try 0 run drain.json -q --check --set $one --set policy.name=kubernetes --requests expected.csv
    for policy in '"queue", "backfill": "'{strict,skip,easy,conservative}'"' '"slurm"'; do
      policy="{\"name\": $policy}"
      try 0 run drain.json -q --check --set $one --set "policy=$policy" --requests requests.csv
      cmp expected.csv requests.csv || fail "$policy $drain: the result differs from that of kubernetes"
      try 0 run drain.json -q --check --set "policy=$policy" --set 'trace={"file": "jobs.csv"}' --jobs out.csv
      [ "$(awk -F, '$10 != "s" && $11 == "s" && $2 == 0 && $3 == 0' out.csv | wc -l)" -eq 3 ] ||
        fail "$policy $drain: replicas wait"
      # the job could run until the maintenance
      awk -F, '$1 == "a" && $3 < 360 { bad = 1 } END { exit bad }' out.csv || fail "$policy $drain: the job does not wait"
    done
  done
}

# put_carbon: s.json, with two replicas, and a job whose estimate is longer than its run time. Electricity has little
# carbon for three hours, then more.
put_carbon() {
  pools='{"name": "p", "gpu": "L4", "nodes": 2, "gpus_per_node": 2, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed", "replicas": 2'
  sed -i 's/^{"cluster": {/{"policy": {"name": "queue"}, "trace": {"file": "jobs.csv"}, &"carbon": {"file": "carbon.csv"}, /
    s/, {"cluster"/, "cluster"/' s.json
  printf '%s\n' datetime,g_per_kwh 2024-01-01T00:00Z,50 2024-01-01T01:00Z,50 2024-01-01T02:00Z,50 2024-01-01T03:00Z,500 \
    2024-01-01T04:00Z,500 2024-01-01T05:00Z,500 >carbon.csv
  printf '%s\n' job_id,submit_s,duration_s,gpus,estimate_s a,0,300,1,7000 >jobs.csv
}

# The run ends with its last job or request, although the policy had planned to pause the job later.
case_end_before_a_planned_pause() {
  put_carbon
  try 0 run s.json -q --check --set policy.carbon=no-wait --json no-wait.json
  try 0 run s.json -q --check --set policy.carbon=wait-awhile --json wait.json
  cmp <(grep '"total_usd"' no-wait.json) <(grep '"total_usd"' wait.json) || fail 'costs after the last request'
}

# No carbon rule delays replicas.
case_no_wait_for_carbon() {
  put_carbon
  sed -i 's/,50$/,900/' carbon.csv
  local rule early
  for rule in lowest-slot lowest-window carbon-time reserved-first all-wait wait-awhile-contiguous wait-awhile ecovisor; do
    for early in false true; do
      try 0 run s.json -q --check --set policy.carbon=$rule --set policy.carbon_reserved_first=$early --jobs jobs.out
      [ "$(awk -F, '$11 == "s" && $2 == 0 && $3 == 0' jobs.out | wc -l)" -eq 2 ] || fail "$rule, $early: replicas wait"
    done
  done
}

# Replicas that wait because of maintenance or excluded nodes can be withdrawn.
case_withdrawn_while_held() {
  pools='{"name": "p", "gpu": "L4", "nodes": 2, "gpus_per_node": 2, "market": "owned", "usd_per_gpu_hour": 1,
    "maintenance": [{"start_s": 700, "duration_s": 60}]}'
  put_service '"policy": "schedule", "max": 4, "period_s": 600,
    "steps": [{"at_s": 0, "replicas": 0}, {"at_s": 100, "replicas": 4}]'
  for backfill in strict skip easy conservative; do
    try 0 run s.json --check --set services.0.requests.duration_s=3600 \
      --set "policy={\"name\":\"queue\",\"backfill\":\"$backfill\"}"
    matches stdout '^  scaling +schedule: .* at most 4 replicas'
  done
  for backfill in strict skip easy; do
    try 0 run s.json --check --jobs jobs.csv --set services.0.requests.duration_s=3600 \
      --set 'cluster.pools.0.faults={"mtbf_h": 0.2, "repair_s": 10}' --set services.0.autoscale.steps.1.at_s=300 \
      --set "policy={\"name\":\"queue\",\"backfill\":\"$backfill\",\"exclude_nodes\":2,\"exclude_s\":300}"
    matches jobs.csv ',rejected,withdrawn,.*,inference,'
  done
}

# Nodes of one GPU in one cluster and of four in another, with GPUs shared by fraction: a replica or a job of two GPUs
# has two tasks in the first and one in the second.
case_tasks_differ_by_cluster() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 1, "sharing": "fraction"}'
  put_service '"policy": "fixed", "replicas": 1' "\"gpus\": 2, $cost"
  printf '%s\n' job_id,submit_s,duration_s,gpus a,0,100,2 b,10,100,2 >two.csv
  printf '%s\n' job_id,submit_s,duration_s,gpus,mig_profile a,0,100,2,1g.10gb >mig.csv
  local rest='"clusters": [{"name": "a", "pools": [\1]}, {"name": "b", "pools": [{"name": "q", "gpu": "A100-80",
    "nodes": 4, "gpus_per_node": 4, "sharing": "fraction"}]}],'
  sed -i "s/\"cluster\": {\"pools\": \[\(.*\)\]},\$/${rest//$'\n'/}/" s.json
  try 0 run s.json --check
  matches stdout '^  requests .* 0 refused|^  requests .* completed'
  for trace in two mig; do
    sed "s/ \"services\".*/\"policy\": {\"name\": \"queue\"}, \"trace\": {\"file\": \"$trace.csv\"}}/; /^ *\"output_tokens/,\$d" s.json >jobs.json
    [ $trace = two ] || sed -i 's/"sharing": "fraction"/"sharing": "mig", "mig": {"layout": "all-1g.10gb"}/g' jobs.json
    for router in cheapest least-loaded home; do
      try 0 run jobs.json --check --quiet --set router.name=$router --json out.json
      matches out.json '"completed": [12],'
    done
  done
}
# The default memory and speed of replicas on parts of GPUs are those of the parts. A MIG instance has its memory in the
# catalogue, 4 of 8 memory slices and 3 of 7 compute slices.
case_defaults_for_parts_of_gpus() {
  local model='"model": "Qwen2.5-7B"' mig='"sharing": "mig", "mig": {"mode": "on-demand"}' part='"sharing": "fraction"'
  local -a whole half
  put_service '"policy": "fixed"' '"engine": {}' "$model"
  try 0 validate s.json
  read -ra whole < <(sed -n 's/.*fixed_us \([0-9]*\), per_prompt_token_us \([0-9.]*\),.*/\1 \2/p' stderr)
  pools=${pools/%\}/, $mig\}}
  put_service '"policy": "fixed"' '"engine": {}, "mig": "1g.10gb"' "$model"
  try 2 validate s.json
  says stderr 'Qwen2.5-7B does not fit on 1 x 1g.10gb of A100-80; request a larger part of a GPU'
  put_service '"policy": "fixed"' '"engine": {}, "mig": "3g.40gb"' "$model"
  try 0 validate s.json
  says stderr 'with 42.9 % of the compute and 50 % of the memory bandwidth of the GPU is used'
  read -ra half < <(sed -n 's/.*fixed_us \([0-9]*\), per_prompt_token_us \([0-9.]*\),.*/\1 \2/p' stderr)
  awk "BEGIN { a = ${half[0]} / ${whole[0]} - 2; b = ${half[1]} / ${whole[1]} * 3 / 7 - 1
    exit !(a * a < 1e-6 && b * b < 1e-6) }" || fail 'not the speed of the instance'
  # 90 % of 40192 MiB, without 15.23 GB and 4 GB, at 57344 bytes a token
  says stderr 'kv_tokens 326100: 90 % of the memory of 1 x 3g.40gb of A100-80'
  pools=${pools/$mig/$part}
  put_service '"policy": "fixed"' '"engine": {}, "gpu_milli": 250' "$model"
  try 2 validate s.json
  says stderr 'Qwen2.5-7B does not fit on 1 x 0.25 of A100-80; request a larger part of a GPU'
  put_service '"policy": "fixed"' '"engine": {}, "gpu_milli": 500' "$model"
  try 0 validate s.json
  # 90 % of 40 GB
  says stderr 'kv_tokens 292445: 90 % of the memory of 1 x 0.5 of A100-80'
  says stderr 'with 50 % of the compute and 50 % of the memory bandwidth of the GPU is used'
  put_service '"policy": "fixed"' '"engine": {}, "gpu_milli": 500, "gpu_mem_gb": 24' "$model"
  try 0 validate s.json
  # 90 % of 24 GiB
  says stderr 'kv_tokens 69106: 90 % of the memory of 1 x 24 GiB and 0.5 of A100-80'
}
# A model that is divided among more GPUs than a replica has is an error, and a point of a sweep with it is infeasible.
# Without a model, `tensor_parallel` has no effect.
case_tensor_parallel() {
  put_service '"policy": "fixed"' '"gpus": 1, "tensor_parallel": 2, "engine": {}' '"model": "Qwen2.5-7B"'
  for verb in validate run; do
    try 2 $verb s.json
    matches stderr "s.json:4:[0-9]+: expected at most 'gpus', which is 1, found 2"
  done
  try 0 validate s.json --set services.0.replica.gpus=2
  says stderr 'Qwen2.5-7B on A100-80 x 2;'
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "services.0.replica.gpus", "values": [1, 2]}]}' >g.json
  try 0 sweep g.json --csv g.csv
  matches stderr "^note: 1 point is infeasible: s.json:4:[0-9]+: expected at most 'gpus', which is 1, found 2"
  put_service '"policy": "fixed"' "\"tensor_parallel\": 3, $cost"
  try 0 validate s.json
  says stderr "note: service 's': 'tensor_parallel' has no effect without 'model'"
}

# A point of a sweep in which a replica fits into no pool is not simulated: its row contains the reason instead of
# metrics. The other points are run.
case_infeasible_points_of_a_sweep() {
  put_service '"policy": "fixed"'
  printf '%s' '{"scenario": "s.json", "replications": 2,
    "axes": [{"name": "reason", "path": "services.0.replica.gpus", "values": [1, 16, 2]}]}' >g.json
  local reason='--set services.0.replica.gpus=16: no pool that the replica accepts has 16 GPUs; the largest such pool has 8'
  try 0 sweep g.json --csv g.csv
  says stderr "note: 1 point is infeasible: $reason"
  says stdout 'runs       5: 0 found, 5 new, none missing'
  matches stdout '^  infeasible point 1 \(reason=16\): --set'
  [ "$(width stdout)" -le 80 ] || fail 'wider than 80 columns'
  [[ $(sed -n 1p g.csv) = *,infeasible ]] || fail 'no column for the reason'
  matches g.csv "^2,1,0,1,,\"[^,]*,[^,]*\",16,,+'$reason\$"
  [ "$(grep -c -- "$reason\$" g.csv)" -eq 1 ] || fail 'not one infeasible row'
  [ "$(grep -cE '^[0134],[02],[01],[0-9]+,[0-9a-f]{16},.*,$' g.csv)" -eq 4 ] || fail 'not four other rows'
  for shard in 1 2; do try 0 sweep g.json --shard $shard/2 --db $shard.sqlite -q; done
  try 0 merge whole.sqlite 1.sqlite 2.sqlite -q
  cmp g.sqlite whole.sqlite || fail 'merged shards differ'
  sed -i 's/"reason"/"infeasible"/' g.json
  try 2 sweep g.json --db other.sqlite
  says stderr "axis 'infeasible': the name is reserved for a column of the results"
  # without infeasible points, the results have no such column
  sed -i 's/"infeasible"/"reason"/; s/, 16//' g.json
  try 0 sweep g.json --csv g.csv --db other.sqlite
  [[ $(sed -n 1p g.csv) != *infeasible* ]] || fail 'a column without values'
}

# More fixed replicas than the pools hold: a run has a note, a candidate or a point is infeasible.
case_more_replicas_than_fit() {
  pools='{"name": "p", "gpu": "L4", "nodes": 2, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed"'
  local reason="service 's': 1 of 3 replicas never start: the pool 'p' holds at most 2; add nodes, or lower 'replicas'"
  local set='--set services.0.autoscale.replicas=3'
  for verb in validate run; do
    # shellcheck disable=SC2086 # an option and its value
    try 0 $verb s.json $set
    says stderr "note: $reason"
  done
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "services.0.autoscale.replicas", "values": [1, 3]}]}' >g.json
  try 0 sweep g.json --csv g.csv
  says stderr "note: 1 point is infeasible: $set: $reason"
  local plan='plan={"variables":[{"name":"n","path":"services.0.autoscale.replicas","values":[3,2]}],'
  try 0 plan s.json --brief --set "$plan\"constraints\":[\"s.ttft_ms.p95 <= 500\"],\"objective\":\"s.serving_usd\"}"
  says stderr "note: 1 candidate is infeasible: $set: $reason"
  matches stdout '^  n +2$'
  try 1 plan s.json --brief --set "${plan/3,2/3}\"constraints\":[\"s.ttft_ms.p95 <= 500\"],\"objective\":\"s.serving_usd\"}"
}

# The table of a sweep without jobs has no waits and completion times, which would be those of replicas.
case_sweep_without_jobs() {
  pools='{"name": "p", "gpu": "L4", "nodes": 2, "gpus_per_node": 1}'
  put_service '"policy": "fixed"'
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "services.0.autoscale.replicas", "values": [1, 2]}]}' >g.json
  try 0 sweep g.json
  matches stdout '^p95 TTFT +best '
  ! grep -E '^(mean wait|p95 wait|mean jct|unfinished) ' stdout || fail 'metrics of jobs'
  printf '%s\n' job_id,submit_s,duration_s,gpus a,0,9,1 >one.csv
  sed -i '1s/{/{"trace": {"file": "one.csv"}, /' s.json
  try 0 sweep g.json --db jobs.sqlite
  matches stdout '^p95 TTFT +best '
  [ "$(grep -cE '^(mean wait|p95 wait|mean jct|unfinished) ' stdout)" -eq 4 ] || fail 'no metrics of jobs'
}

# A replica counts for the utilization from the time at which it is ready, 20 s after the decision: all are always busy.
case_utilization_of_new_replicas() {
  pools='{"name": "p", "gpu": "L4", "nodes": 8, "gpus_per_node": 1}'
  put_service '"policy": "nvcf", "min": 1, "max": 4' "$cost" '"router": "least-outstanding", "cold_start": {"engine_s": 20}'
  awk 'BEGIN { print "arrival_timestamp,prompt_size,token_size"; for (i = 0; i < 6000; i++) print i / 20 ",100,200" }' >r.csv
  try 0 run s.json --set 'services.0.requests={"trace":"r.csv"}' --json out.json
  [ "$(awk '$1 == "\"time_s\":" { time = $2 } $1 == "\"to\":" { print time + 0 ":" $2 + 0 }' out.json | paste -sd ' ')" = \
    '0:1 30:2 60:3 90:4' ] || fail 'not one more replica every 30 s'
}

# put_disaggregated AUTOSCALE: a service with a replica for prompts and one that decodes.
put_disaggregated() {
  put_service "$1" '"engine": {"name": "disaggregated"},
    "cost": {"distserve": {"prefill_ms": [18.1, 0.102, 7.1e-06], "decode_ms": [19.9, 0.00063, 0.0385]}}'
}

# The GPUs are sufficient for only one of the two kinds of replicas, so no request can complete. The replica keeps its
# GPU until the last request.
case_one_kind_of_replica() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1}'
  put_disaggregated '"policy": "fixed"'
  for verb in validate run; do
    try 2 $verb s.json
    matches stderr 's.json:4:[0-9]+: the GPUs suffice for one replica, but .* so none can complete; add nodes'
  done
  printf '%s' '{"scenario": "s.json", "axes": [{"path": "cluster.pools.0.nodes", "values": [1, 2]}]}' >g.json
  try 0 sweep g.json --csv g.csv
  matches stderr '^note: 1 point is infeasible: .* none can complete'
  put_disaggregated '"policy": "keda", "max": 5'
  try 0 validate s.json
  says stderr "warning: service 's': the GPUs suffice for one replica, but"
  try 1 run s.json --check
  # the last of 605 requests arrives after 600 s
  matches stdout '^  GPU hours  0.1[67] held, 0.01 busy \([0-9]\.[0-9] %\)'
  matches stderr '^warning: the run was stopped after [56][0-9][0-9] s with [0-9] unfinished jobs'
}

# The autoscaler of a service that can make no progress decides every 0.1 s. These decisions must end after its delays,
# not after a year.
case_decisions_without_effect() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1}'
  put_disaggregated '"policy": "ray-serve", "max": 5'
  ulimit -t 5
  try 1 run s.json
  says stderr 'no request of a service was completed'
}

# A schedule changes the number of replicas forever. Decisions end after a period without progress, also with several
# services.
case_schedules_without_effect() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1}'
  put_disaggregated '"policy": "schedule", "max": 5, "interval_s": 15, "period_s": 604800,
    "steps": [{"at_s": 0, "replicas": 2}, {"at_s": 300, "replicas": 4}]'
  ulimit -t 5
  for _ in one two; do
    try 1 run s.json --check
    says stderr 'no request of a service was completed'
    matches stderr '^warning: the run was stopped after 7 days with [0-9]+ unfinished jobs'
    sed -zi 's/"services": \[\(.*\)\]}\n*$/"services": [\1, \1]}/; s/"name": "s"/"name": "r"/' s.json
  done
  # a job uses the second GPU for three periods; then all requests complete
  pools=${pools/\"nodes\": 1/\"nodes\": 2}
  put_disaggregated '"policy": "schedule", "max": 5, "interval_s": 15, "period_s": 86400,
    "steps": [{"at_s": 0, "replicas": 2}, {"at_s": 300, "replicas": 4}]'
  printf '%s\n' job_id,submit_s,duration_s,gpus a,0,259200,1 >one.csv
  try 0 run s.json --check --trace one.csv
  matches stdout '^  requests .*605 completed'
}
# Times that 'integer' rounds to 0.
case_iterations_without_time() {
  put_service '"policy": "fixed"' '"engine": {"kv_blocks": 1000}, "cost": {"fixed_us": 0.4, "integer": true}'
  try 2 validate s.json
  matches stderr "s.json:[0-9:]+ an iteration takes no time in whole microseconds \('integer'\)"
  try 0 validate s.json --set services.0.replica.cost.fixed_us=0.5
  try 0 validate s.json --set services.0.replica.cost.integer=false
  for knots in '{"tokens": 1, "prompt_us": 0.4, "token_us": 5}' '{"tokens": 1, "prompt_us": 5, "token_us": 0.4}'; do
    put_service '"policy": "fixed"' "\"engine\": {\"kv_blocks\": 1000}, \"cost\": {\"integer\": true,
      \"table\": [$knots, {\"tokens\": 9, \"prompt_us\": 50, \"token_us\": 50}]}"
    try 2 validate s.json
    says stderr 'an iteration takes no time; expected at least 0.5 us'
  done
}

# The reason why requests are incomplete, and a cost without completed requests.
case_requests_cut_by_the_horizon() {
  printf '%s\n' job_id,submit_s,duration_s,gpus a,0,9,1 >one.csv
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed"' '"engine": {"kv_blocks": 1000}, "cost": {"fixed_us": 30000000}'
  try 1 run s.json --set horizon_s=100
  matches stderr "^warning: service 's': [0-9]+ requests did not complete: the run ended before$"
  matches stdout "^  cost       [$]0\.02[0-9]*\$"
  # requests that arrive later are not part of any output; those of the second hour are in none
  try 0 run s.json --set horizon_s=100 --set services.0.replica.cost.fixed_us=10000 --set services.0.slo.ttft_ms=100 \
    --set services.0.requests.duration_s=4000 --requests r.csv --json r.json
  local n=$(($(wc -l <r.csv) - 1))
  matches stdout "^  requests   $n offered, "
  matches stdout '^  goals      (9[0-9]|100)\.'
  [ "$(grep -c '"hour":' r.json)" -eq 1 ] || fail 'not one hour'
  [ "$(tail -n 1 r.csv | cut -d, -f3 | cut -d. -f1)" -lt 101 ] || fail 'a request after the horizon'
  try 1 run s.json --set horizon_s=0.001 --set services.0.requests.rate_per_s=0.01 --trace one.csv
  says stderr "warning: service 's': no request arrived before the end of the run; raise 'horizon_s'"
  put_service '"policy": "fixed"'
  try 0 run s.json
  matches stdout '^  cost       \$[0-9.]+; \$[0-9.]+ per million tokens$'
}

# ends REPLICA: runs a replica with the requests of few.csv, and prints when they end.
ends() {
  put_service '"policy": "fixed"' "$1"
  try 0 run s.json --check --set 'services.0.requests={"trace":"few.csv"}' --requests out.csv
  tail -n +2 out.csv | cut -d, -f9 | paste -sd ' '
}

# The rules of docs/reference/services.md on batches and their times, computed by hand, and its limits.
case_documented_rules() {
  pools='{"name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1}'
  local head=arrival_timestamp,prompt_size,token_size
  # the context of the three decodes is 101 + 102 + 103 tokens of 1 ms
  printf '%s\n' $head 0,100,4 >few.csv
  [ "$(ends '"engine": {"kv_blocks": 100}, "cost": {"fixed_us": 1, "per_context_ktoken_us": 1e6}')" = 0.306004 ] ||
    fail 'another context'
  # two prompts of at most 30 tokens are 60 padded tokens; they take the time of 10 + 30
  printf '%s\n' $head 0,10,1 0,30,1 >few.csv
  for engine in static vllm-v0; do
    for limit in 60 59; do
      ends "\"engine\": {\"name\": \"$engine\", \"kv_blocks\": 100, \"max_batch_tokens\": $limit},
        \"cost\": {\"per_prompt_token_us\": 1000, \"per_sequence_us\": 1}"
    done
  done >both.txt
  [ "$(cat both.txt)" = $'0.040000 0.040000\n0.010000 0.040000\n0.040000 0.040000\n0.010000 0.040000' ] ||
    fail 'other batches'
  # the first request starts after the delay of 1 s and ends at 3 s. Then the second one has waited for more than 1 s,
  # so all three start, not the preferred two
  printf '%s\n' $head 0,1,1 1.5,1,1 1.6,1,1 1.7,1,1 >few.csv
  local dynamic='"engine": {"name": "dynamic-batch", "max_sequences": 8, "preferred_batch_size": [2],
    "max_queue_delay_us": DELAY}, "cost": {"fixed_us": 2000000}'
  [ "$(ends "${dynamic/DELAY/1000000}")" = '3.000000 5.000000 5.000000 5.000000' ] || fail 'not all that wait'
  [ "$(ends "${dynamic/DELAY/1500001}")" = '3.500000 3.500000 5.500000 5.500000' ] || fail 'not the preferred size'
  # they arrive later, so at 3 s none has waited for the delay: the preferred two start
  printf '%s\n' $head 0,1,1 2.5,1,1 2.6,1,1 2.7,1,1 >few.csv
  [ "$(ends "${dynamic/DELAY/1000000}")" = '3.000000 5.000000 5.000000 7.000000' ] || fail 'not the preferred size'
  pools=${pools/\"nodes\": 1/\"nodes\": 2}
  put_disaggregated '"policy": "fixed"'
  for engine in disaggregated colocated; do
    try 0 validate s.json --set services.0.router=random --set services.0.replica.engine.name=$engine
    try 2 validate s.json --set services.0.router.name=random --set services.0.replica.engine.name=$engine
    says stderr "the engine '$engine' has a router of its own"
  done
  for verb in advise tco 'fill --policies best-fit'; do
    # shellcheck disable=SC2086 # options
    try 2 ${verb%% *} s.json ${verb#"${verb%% *}"}
    says stderr "names no trace"
  done
  try 2 diff s.json s.json
  says stderr "names no trace"
}

# Costs below a cent are printed with their significant digits in all tables.
case_costs_below_a_cent() {
  pools='{"name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed"' "$cost" '"slo": {"e2e_ms": 60000}'
  try 0 run s.json --md out.md
  local each
  each=$(sed -n 's/^  cost .*; \([^ ]*\) per request within the goals$/\1/p' stdout)
  [[ $each = \$0.000[1-9]* ]] || fail 'no cost per request'
  says out.md "| Cost per request within the goals | $each |"
}

# Replicas that are larger than a node, and replicas that no single session of Volcano starts completely.
case_notes_on_replicas() {
  pools='{"name": "p", "gpu": "L4", "nodes": 4, "gpus_per_node": 1}, {"name": "q", "gpu": "L4", "nodes": 1,
    "gpus_per_node": 2}'
  put_service '"policy": "fixed"' "\"gpus\": 2, $cost" '"cold_start": {"engine_s": 30}'
  for verb in validate run; do
    try 0 $verb s.json
    says stderr "note: service 's': a replica of 2 GPUs spans 2 nodes in the pool 'p', which has 1 GPU per node; it"
    try 0 $verb s.json --set services.0.replica.gpus=1
    is_empty stderr
    try 0 $verb s.json --set cluster.pools.0.nodes=0
    ! grep -F 'spans' stderr || fail 'a pool without nodes'
  done
  put_service '"policy": "keda", "min": 1, "max": 2' "$cost" '"cold_start": {"engine_s": 30}'
  local words="note: service 's': its initial replicas need a cold start, because volcano binds pods in the session"
  try 0 run s.json --policy volcano --check
  says stderr "$words"
  try 0 run s.json --policy volcano --set services.0.cold_start.engine_s=0
  ! grep -qF "$words" stderr || fail 'no stage of a cold start'
  try 0 run s.json
  ! grep -qF "$words" stderr || fail 'another policy'
}

# The table counts the decisions after the initial number of replicas. The JSON file also counts the initial number,
# unless it is 0.
case_numbers_of_decisions() {
  pools='{"name": "p", "gpu": "L4", "nodes": 2, "gpus_per_node": 1}'
  # put_steps NUMBER...: a schedule with these numbers of replicas, 100 s apart
  put_steps() {
    local steps='' at=0
    for n; do steps+="${steps:+, }{\"at_s\": $at, \"replicas\": $n}" at=$((at + 100)); done
    put_service "\"policy\": \"schedule\", \"max\": 2, \"period_s\": 86400, \"steps\": [$steps]"
    try 0 run s.json --json out.json
  }
  put_steps 0 1 0 1
  matches stdout '^  scaling    schedule: 3 decisions, at most 1 replica$'
  grep -A1 '"scaling"' out.json | grep -qF '"count": 3' || fail 'not three decisions in the file'
  put_steps 1 2
  matches stdout '^  scaling    schedule: 1 decision, at most 2 replicas$'
  grep -A1 '"scaling"' out.json | grep -qF '"count": 2' || fail 'not two numbers in the file'
  put_steps 0 2
  matches stdout '^  scaling    schedule: 1 decision, at most 2 replicas$'
  put_steps 2
  ! grep -q '^  scaling' stdout || fail 'a decision without a change'
}

# Two requests whose prompts leave no memory for their outputs wait forever. Checked mode accepts that their service
# ends, with replicas as jobs and without.
case_requests_that_wait_for_ever() {
  pools='{"name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed"' '"engine": {"name": "orca-splitwise", "kv_tokens": 100},
    "cost": {"per_prompt_token_us": 10, "per_sequence_us": 50}'
  printf '%s\n' arrival_timestamp,prompt_size,token_size 1,9,9 5,40,50 5,40,50 >two.csv
  for _ in priced unpriced; do
    try 0 run s.json --check --set 'services.0.requests={"trace":"two.csv"}'
    matches stdout '^  requests   3 offered, 1 completed, 0 refused, 2 unfinished$'
    says stderr "warning: service 's': 2 requests did not complete: with orca-splitwise, sequences"
    sed -i 's/, "market": "owned", "usd_per_gpu_hour": 1//' s.json
  done
}

# Replicas without requests allocate GPUs and cost as much as others. Here they are in a cluster that gets requests only
# by spill-over.
case_standby_replicas() {
  pools='{"name": "p", "gpu": "L4", "nodes": 4, "gpus_per_node": 1, "market": "reserved", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed", "replicas": 2' "$cost" '"price": {"input": 1},
    "router": {"spill": {"to": "clusters", "predicted_wait_s": 10}},
    "clusters": [{"name": "a", "share": 1}, {"name": "b", "share": 0}]'
  sed -i 's/"cluster": \({.*}\),$/"clusters": [{"name": "a", \1, {"name": "b", \1],/; s/, {"pools"/, "pools"/g' s.json
  try 0 run s.json --check --json out.json
  matches stderr "^warning: service 'b/s': no request came from other services\$"
  [ "$(grep -c '^  GPU hours  0.33 held' stdout)" -eq 2 ] || fail 'not the same GPU hours in both clusters'
  [ "$(grep -c '^  cost       [$]0.33[0-9]*' stdout)" -eq 2 ] || fail 'not the same cost in both clusters'
  matches stdout '^  revenue    [$]0.000000$'
  [ "$(grep -cE '"(held|serving_usd|reserved)": 0.33[0-9]*,' out.json)" -eq 6 ] || fail 'GPU hours or costs are missing'
  try 0 compare s.json --policies fifo,queue
  matches stdout '^b/s +fifo( +-){3} +[$]0.33$'
  # the same without a price of tokens, and if no replica ever gets a GPU
  try 0 run s.json --set services.0.price.input=0
  ! grep -q '^  revenue' stdout || fail 'a revenue without a price'
  put_service '"policy": "keda", "max": 2' "$cost" '"price": {"output": 1}'
  printf 'job_id,submit_s,duration_s,gpus\na,0,9,1\n' >one.csv
  try 1 run s.json --trace one.csv --set services.0.requests.rate_per_s=0.01 --set horizon_s=5
  matches stdout '^  GPU hours  0.00 held, 0.00 busy$'
  matches stdout '^  cost       [$]0.000000$'
}

# A goal below the time of a prompt alone: all commands print the same text. A plan prints it first, with the number of
# candidates if other candidates can meet the goal.
case_goals_that_no_number_of_replicas_meets() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 8, "market": "owned", "usd_per_gpu_hour": 1}'
  put_service '"policy": "fixed"' "$cost" '"slo": {"ttft_ms": 10}'
  local warning="warning: service 's': no number of replicas meets its goals. Alone on a replica, at most 0.00 %"
  for verb in validate run; do
    try 0 $verb s.json
    says stderr "$warning"
    grep -F "$warning" stderr >$verb.txt
    try 0 $verb s.json --set services.0.slo.ttft_ms=1000
    ! grep -qF 'no number of replicas' stderr || fail 'a goal that can be met'
  done
  cmp validate.txt run.txt || fail 'validate and run differ'
  # put_plan PATH VALUES: a plan that varies a key of the service
  put_plan() {
    plan="plan={\"variables\":[{\"name\":\"n\",\"path\":\"services.0.$1\",\"values\":$2}],"
    plan+='"constraints":["s.ttft_ms.p95 <= 12"],"objective":"s.serving_usd"}'
  }
  put_plan autoscale.replicas '[1,2]'
  try 1 plan s.json --brief --set "$plan"
  [ "$(head -n 1 stderr)" = "$(cat run.txt)" ] || fail 'the plan does not state it first'
  put_plan replica.cost.per_prompt_token_us '[1,2,60]'
  try 0 plan s.json --brief --set "$plan"
  [[ $(head -n 1 stderr) = "warning: 1 of the 3 candidates that were run: ${warning#warning: }"* ]] ||
    fail 'the plan does not state the number of candidates'
}

# A replica that waits for GPUs is explained like a job, by the id in the file of --jobs or by its number.
case_why_of_a_replica() {
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 1}'
  put_service '"policy": "ray-serve", "min": 2, "max": 2'
  try 0 why s.json
  says stdout "the run has no jobs; --service NAME explains"
  matches stdout '^  replicas   1 of 2 replicas of services waited for GPUs, 1?[0-9] min [0-9]+ s in total:'
  matches stdout '^ +capacity 100 %$'
  try 0 why s.json --service s
  says stdout '  its replicas waited for GPUs: capacity 100.0 %'
  try 0 why s.json --service s --set services.0.autoscale.min=1 --set services.0.autoscale.max=1 --set \
    'cluster.pools.0.maintenance=[{"start_s": 100, "duration_s": 60, "drain": "deadline-kill"}]'
  says stdout '  its replicas waited for GPUs: maintenance 100.0 %'
  printf '%s\n' job_id,submit_s,duration_s,gpus,class a,0,1,1,training >jobs.csv
  try 0 why s.json --set 'trace={"file": "jobs.csv"}' --json why.json
  says stdout 'no job: each job started when it was submitted'
  says stdout '2 of 2 replicas of services waited for GPUs, 10 min in total'
  # one replica for the second of the job, the other to the end of the service
  awk '/"replicas": {/ { inside = 1 } inside && /"wait_s"/ { sub(/,/, ""); print $2; exit }' why.json >sum
  try 0 run s.json --set 'trace={"file": "jobs.csv"}' --jobs all.csv
  awk -F, 'NR > 1 && $4 > end { end = $4 } END { printf "%.6f\n", 1 + end }' all.csv >expected
  cmp sum expected || fail 'another sum of waits'
  try 0 why s.json --set services.0.autoscale.max=1 --set services.0.autoscale.min=1
  says stdout 'the only replica of services did not wait for GPUs'
  try 0 run s.json --jobs jobs.csv
  matches jobs.csv '^2,0,,,,1,,[a-z-]+,[a-z-]*,,s,inference,'
  for id in 2 replica-2; do
    try 0 why s.json --job $id
    says stdout 'Job 2'
    matches stdout 'submitted +at 0 d 00:00:00 by service s. It requests 1 GPU'
    says stdout 'it is a replica.'
    matches stdout 'waited +1?[0-9] min [0-9]+ s for a free GPU while none was free'
  done
  for id in replica-3 replica-0 replica--1 replica-2x 3; do
    try 2 why s.json --job $id
    says stderr "--job $id: s.json has no job with this id"
  done
  # with a trace of jobs: its ids continue
  printf '%s\n' job_id,submit_s,duration_s,gpus first,0,100,1 >first.csv
  try 0 why s.json --trace first.csv --job first
  says stdout 'It requests 1 GPU; its run time is 1 min'
  try 0 why s.json --trace first.csv --job replica-1
  says stdout 'Job replica-1'
  # if all fixed replicas fit, they are not listed as jobs
  put_service '"policy": "fixed"'
  try 2 why s.json --job 1
  says stderr 'the replicas of its services do not wait for GPUs; --service NAME explains their requests'
}

# Keys that have no effect alone cause a note, in validate and in run.
case_keys_without_effect() {
  local share="service 's': 'slo.attainment' has no effect without 'ttft_ms', 'tpot_ms' or 'e2e_ms'"
  local bytes="service 's': 'transfer.kv_bytes_per_token' has no effect without 'gb_per_s'"
  pools='{"name": "p", "gpu": "A100-80", "nodes": 1, "gpus_per_node": 2}'
  put_disaggregated '"policy": "fixed"'
  for verb in validate run; do
    try 0 $verb s.json --set services.0.slo.attainment=0.9 --set services.0.replica.engine.transfer.kv_bytes_per_token=9
    says stderr "note: $share"
    says stderr "note: $bytes"
    for goal in ttft_ms tpot_ms e2e_ms; do
      try 0 $verb s.json --set services.0.slo.attainment=0.9 --set services.0.slo.$goal=1000000
      ! grep -F 'has no effect' stderr || fail 'a key with an effect'
    done
    try 0 $verb s.json --set services.0.replica.engine.transfer.gb_per_s=100 \
      --set services.0.replica.engine.transfer.kv_bytes_per_token=9
    ! grep -F 'has no effect' stderr || fail 'a key with an effect'
  done
}

# Distributions of tokens that cannot have the stated mean are rejected or cause a note.
case_means_of_tokens() {
  local law=services.0.requests.prompt_tokens
  put_service '"policy": "fixed"'
  for verb in validate run; do
    try 2 $verb s.json --set $law.mean=10.6
    says stderr "all numbers of the distribution 'fixed' are the mean, so a whole number is expected, found 10.6"
    try 0 $verb s.json --set $law.mean=10.6 --set $law.distribution=exponential
    is_empty stderr
    try 0 $verb s.json --set "$law={\"distribution\":\"log-normal\",\"mean\":1.5,\"sigma\":1}"
    says stderr "note: 'prompt_tokens': the mean of the drawn numbers is $(log_normal 1.5 1), not 1.5"
    try 0 $verb s.json --set "$law={\"distribution\":\"log-normal\",\"mean\":1.5,\"sigma\":1,\"min\":1}"
    is_empty stderr
  done
}

# log_normal MEAN SIGMA: the mean of max(1, round(X)) of a log-normal X, by numerical integration.
log_normal() {
  awk -v mean="$1" -v s="$2" 'function f(z) { return exp(-z * z / 2) / sqrt(2 * atan2(0, -1)) }
    BEGIN { mu = log(mean) - s * s / 2; h = 0.0001
      for (z = -8; z < 8; z += h) { n = int(exp(mu + s * (z + h / 2)) + 0.5); sum += (n < 1 ? 1 : n) * f(z + h / 2) * h }
      printf "%.4g", sum }'
}

run_case
