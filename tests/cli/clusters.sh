#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Several clusters on the command line: all schedulers in one run, and commands that must support several clusters or
# reject them.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

hybrid=$project/scenarios/hybrid.json

# Five schedulers side by side, with failures, requeue limits, maintenance and spot nodes.
write_five() {
  cat >five.json <<'END'
{ "trace": { "file": "t.csv" }, "policy": { "name": "queue", "backfill": "easy" },
  "classes": { "default": { "max_requeues": 1 } }, "router": { "name": "least-loaded" },
  "clusters": [
    { "name": "a", "pools": [ { "name": "g", "gpu": "A100-80", "nodes": 4, "gpus_per_node": 8 } ],
      "faults": { "mtbf_h": 10, "repair_s": 3600 } },
    { "name": "b", "policy": { "name": "kueue" }, "maintenance": [ { "start_s": 100000, "duration_s": 3600 } ],
      "pools": [ { "name": "g", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8 } ] },
    { "name": "c", "policy": { "name": "slurm" },
      "pools": [ { "name": "g", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8 } ] },
    { "name": "d", "policy": { "name": "volcano" },
      "pools": [ { "name": "g", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8, "market": "spot", "usd_per_gpu_hour": 1,
                   "spot": { "model": "exponential", "rate_per_h": 0.1 } } ] },
    { "name": "e", "policy": { "name": "kai" },
      "pools": [ { "name": "g", "gpu": "A100-80", "nodes": 8, "gpus_per_node": 8 } ] } ] }
END
  try 0 trace generate --seed 1 --count 1000 --nodes 6 --load 1 --quiet --output t.csv
}

case_schedulers_side_by_side() {
  write_five
  for router in home cheapest shortest-predicted-wait least-loaded local-first multikueue slurm-federation skypilot; do
    try 0 run five.json --check --set router.name=$router --quiet --json $router.json
    matches $router.json '"completed": 9[0-9][0-9]'
  done
  for router in cheapest shortest-predicted-wait least-loaded local-first; do
    try 0 run five.json --check --set router.name=$router --set router.reroute_s=300 --quiet --json again.json
    matches again.json '"completed": 9[0-9][0-9]'
    cmp -s $router.json again.json && fail "reroute_s has no effect with $router"
  done
  try 0 run five.json
  says stderr "cluster 'e' has its own policy, 'kai'"
  for cluster in a b c d e; do matches stdout "^$cluster  .* %"; done
  [ "$(width stdout)" -le 80 ] || fail "the table is wider than 80 columns"
}

# A job that waits in several clusters at the horizon is one job.
case_copies_at_the_horizon() {
  local pool='"gpu": "L4", "nodes": 1, "gpus_per_node": 4, "market": "on-demand", "usd_per_gpu_hour": 1'
  printf 'job_id,submit_s,duration_s,gpus\n1,0,5000,4\n2,1,5000,4\n3,2,5000,4\n4,3,5000,4\n5,100,5000,4\n' >t.csv
  cat >horizon.json <<END
{ "horizon_s": 1000, "trace": { "file": "t.csv" }, "router": { "name": "multikueue" }, "policy": { "name": "queue" },
  "clusters": [ { "name": "a", "pools": [ { "name": "p", $pool } ] }, { "name": "b", "pools": [ { "name": "q", $pool } ] } ] }
END
  try 0 run horizon.json --check --json out.json
  matches stdout '^  jobs  *5 submitted, 0 completed, 0 rejected, 5 unfinished'
  # 8 GPUs for 1,000 s, less 1 s of 4 GPUs before the second job; divided by the 100 s until the last submit
  matches out.json '"monthly_usd": 58399.99'
}

# A cluster does not wake nodes for copies of jobs that have left it.
case_copies_leave_clusters_whose_nodes_sleep() {
  local pool='"nodes": 3, "gpus_per_node": 8, "gpu": "A100-80"' sleep router
  sleep='"host_idle_w": 300, "host_max_w": 600, "sleep": { "idle_s": 60, "sleep_w": 10, "suspend_s": 5, "boot_s": 120 }'
  cat >sleep.json <<END
{ "name": "sleep", "trace": { "file": "t.csv" }, "router": { "name": "skypilot" }, "clusters": [
  { "name": "a", "policy": { "name": "fifo" }, "pools": [ { "name": "p", $pool, "power": { $sleep } } ] },
  { "name": "b", "policy": { "name": "fifo" }, "pools": [ { "name": "p", $pool, "power": { $sleep } } ] } ] }
END
  try 0 trace generate --seed 1 --count 500 --nodes 6 --load 0.7 --quiet --output t.csv
  for router in skypilot multikueue slurm-federation; do
    try 0 run sleep.json --check --quiet --set router.name=$router
  done
}

case_policies_reach_the_clusters() {
  try 0 compare "$hybrid" --policies fifo,sjf --json compared.json --quiet
  try 0 run "$hybrid" --policy sjf --json sjf.json --quiet
  try 0 run "$hybrid" --policy fifo --json fifo.json --quiet
  for policy in fifo sjf; do grep -qF "$(grep '"digest"' $policy.json | head -1 | tr -d ' ,')" <(tr -d ' ,' <compared.json) ||
    fail "compare and run --policy $policy run different policies"; done
  cmp -s <(grep '"digest"' sjf.json) <(grep '"digest"' fifo.json) && fail "the policy has no effect"
  sed 's/"tenants": *\[[^]]*\],/& "policy": { "name": "fifo" },/' "$project/scenarios/three-providers.json" >own.json
  try 2 compare own.json --policies fifo,sjf --trace "$project/traces/reference/agency-clusters.csv"
  says stderr 'every cluster has its own policy'
}

case_commands_that_refuse() {
  try 2 run "$hybrid" --stream
  says stderr '--stream cannot be combined with several clusters'
  try 2 advise "$hybrid"
  says stderr 'use plan'
}

case_router_without_expected_times() {
  cut -d, -f1-6 "$project/traces/reference/demo.csv" >no-limits.csv
  try 0 run "$hybrid" --trace no-limits.csv
  says stderr 'neither estimates nor limits'
  try 0 run "$hybrid"
  ! grep -q 'neither estimates' stderr || fail "the trace has limits"
}

case_ownership() {
  try 0 tco "$hybrid"
  matches stdout '^own/a100 .* %'
  matches stdout '^cloud/a100 .* %'
}

# Two services load weights of 60 and 100 GB from one storage system of 1 GB/s. Both begin at 110 s and share the
# bandwidth, so the transfers take 120 and 160 s. Then the engines start, which takes 5 s. At the second start, the
# weights are in the caches, or they are loaded again.
case_weights_of_services() {
  services() {
    cat >s.json <<EOF
{"name": "w", "horizon_s": 40000, "cluster": {"pools": [{"name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 1}]},
 "data": {"storage": [{"name": "nas", "location": "p", "gb_s": 1}], $1
  "sets": [{"name": "a", "gb": 100, "storage": ["nas"]}, {"name": "b", "gb": 60, "storage": ["nas"]}]},
 "services": [
  {"name": "a", "requests": {"trace": "r.csv"}, "autoscale": {"policy": "knative", "min": 0, "max": 1},
   "cold_start": {"image_s": 10, "weights": "a", "engine_s": 5},
   "replica": {"engine": {"name": "single"}, "cost": {"fixed_us": 1000000}}},
  {"name": "b", "requests": {"trace": "r.csv"}, "autoscale": {"policy": "knative", "min": 0, "max": 1},
   "cold_start": {"image_s": 10, "weights": "$2", "engine_s": 5},
   "replica": {"engine": {"name": "single"}, "cost": {"fixed_us": 1000000}}}]}
EOF
  }
  printf 'arrival_timestamp,prompt_size,token_size\n100,10,1\n2000,10,1\n' >r.csv
  services '"caches": [{"location": "p", "gb_per_node": 1000}],' b
  try 0 run s.json --check --requests out.csv --json summary.json
  matches out.csv '^a,0,100.000000,10,1,0,275.000000,'
  matches out.csv '^b,0,100.000000,10,1,0,235.000000,'
  matches out.csv '^a,1,2000.000000,10,1,0,2005.000000,'
  matches summary.json '"read_gb": 320'
  matches summary.json '"sent_gb": 160'
  services '' b
  try 0 run s.json --check --requests out.csv
  says stderr "loads the weights again"
  matches out.csv '^a,1,2000.000000,10,1,0,2165.000000,'
  services '"caches": [{"location": "p", "gb_per_node": 130}],' b # too small for both on one node
  try 0 run s.json --check --requests out.csv
  services '' c
  try 2 validate s.json
  says stderr "'data.sets' has no 'c'"
}

# A node that is requested again is a new machine, with an empty cache.
case_caches_of_rented_nodes() {
  cat >s.json <<'EOF'
{"policy": {"name": "fifo"}, "cluster": {"pools": [{"name": "p", "gpu": "L4", "nodes": 1, "gpus_per_node": 1, "market": "on-demand",
  "usd_per_gpu_hour": 1, "boot_s": 60}], "autoscaler": {"name": "cluster-autoscaler"}},
 "data": {"storage": [{"name": "nas", "location": "p", "gb_s": 1}], "caches": [{"location": "p", "gb_per_node": 500}],
  "sets": [{"name": "a", "gb": 100, "storage": ["nas"]}], "reads": [{"set": "a", "epochs": 1}]}}
EOF
  printf 'submit_s,duration_s,gpus\n0,200,1\n300,200,1\n50000,200,1\n' >t.csv
  try 0 run s.json --trace t.csv --check --json summary.json
  matches summary.json '"sent_gb": 200' # the second job is on the same node as the first
}

# Job b is planned for 2:00, when the carbon intensity is lower, but starts at 600 s on capacity that has become free.
# The run and the billing of the nodes end with it at 1,200 s.
case_billing_ends_with_the_last_job() {
  printf 'time,g\n2024-01-01T00:00Z,300\n2024-01-01T01:00Z,200\n2024-01-01T02:00Z,100\n' >carbon.csv
  printf 'job_id,submit_s,duration_s,gpus\na,0,600,2\nb,10,600,2\n' >t.csv
  local head='{"trace":{"file":"t.csv"},"policy":{"name":"queue","carbon":"reserved-first","carbon_short_wait_s":10000}'
  local cluster='"carbon":{"file":"carbon.csv"},"pools":[{"name":"p","gpu":"A100-80","nodes":1,"gpus_per_node":2,
    "market":"owned","usd_per_gpu_hour":1}]'
  echo "$head,\"cluster\":{$cluster}}" >one.json
  echo "$head,\"clusters\":[{\"name\":\"a\",$cluster},{\"name\":\"b\",$cluster}]}" >two.json
  try 0 run one.json -q --json -
  matches stdout '"total_usd": 0\.666667,'
  try 0 run two.json -q --json -
  matches stdout '"total_usd": 1\.333333,'
}

# Cluster a resizes jobs, cluster b does not. The GPU hours of an elastic job in b are also counted.
case_only_one_cluster_resizes() {
  printf 'job_id,submit_s,duration_s,gpus,min_gpus,max_gpus,tenant\na,0,3600,2,1,4,x\nb,0,3600,2,1,4,y\n' >t.csv
  local pools='"pools":[{"name":"p","gpu":"A100-80","nodes":1,"gpus_per_node":4,"power":{"gpu_max_w":400}}]'
  echo '{"trace":{"file":"t.csv"},"policy":{"name":"queue"},"clusters":[{"name":"b","tenants":["y"],'"$pools"'},
    {"name":"a","tenants":["x"],"policy":{"name":"queue","elastic":"grow"},'"$pools"'}]}' >s.json
  try 0 run s.json -q --check --json - --jobs jobs.csv
  matches stdout '"gpu_hours": 4,'
  matches jobs.csv '^a,.*,0,7200$'
  matches jobs.csv '^b,.*,0,7200$'
}

# A job that waits for its data ends later than expected. The backfill `easy` must remove it from its plan, which
# contains the end that was expected at its start.
case_backfill_of_jobs_that_wait_for_data() {
  cat >s.json <<'EOF'
{"policy": {"name": "fifo", "backfill": "easy"},
 "cluster": {"pools": [{"name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8}]},
 "data": {"storage": [{"name": "nas", "location": "p", "gb_s": 0.1}], "sets": [{"name": "d", "gb": 100, "storage": ["nas"]}],
  "reads": [{"set": "d", "gb_s_per_gpu": 0.1}]}}
EOF
  printf 'job_id,submit_s,duration_s,gpus,limit_s\na,0,159,1,159\nb,10,495,16,600\nc,20,72,1,72\nd,70,184,16,184\n' >t.csv
  try 0 run s.json --trace t.csv --check --json summary.json
  matches summary.json '"completed": 4'
}

case_one_link_in_each_direction() {
  sed 's|"links": *\[ *\({[^}]*}\) *\]|"links": [\1, \1]|; s|"../|"'"$project"'/|g' "$project/scenarios/data-far.json" >twice.json
  try 2 validate twice.json
  says stderr "two links lead from 'us-east-1' to 'eu-west-1'"
}

# The published values in docs/validation/data.md: elastic capacity, sizes of data sets, and two downloads.
case_published_figures() {
  local scaler pool='"name": "p", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8' row
  scaled() {
    printf '{"policy": {"name": "fifo"}, "cluster": {"autoscaler": {"name": "%s"}, "pools": [{%s, "market": "on-demand",
      "usd_per_gpu_hour": 1, "boot_s": %s}]}}' "$1" "$pool" "$2" >s.json
  }
  printf 'job_id,submit_s,duration_s,gpus\na,0,100,8\n' >t.csv
  for scaler in cluster-autoscaler,330 karpenter,301; do
    scaled "${scaler%,*}" 300
    try 0 run s.json --trace t.csv --check --jobs jobs.csv
    matches jobs.csv "^a,0,${scaler#*,},"
  done
  scaled cluster-autoscaler 2000 # longer than the autoscaler waits for a node
  for row in '939 1 0' '941 1 1' '1249 1 1' '1251 2 1'; do
    # shellcheck disable=SC2086 # three words
    set -- $row
    "$headroom" run s.json --trace t.csv --check --quiet --set horizon_s="$1" --json late.json 2>/dev/null || true
    tr -d ' \n' <late.json | grep -q "\"nodes_added\":$2,\"nodes_removed\":0,\"failures\":$3," || fail "not as in row $row"
  done
  sizes() {
    printf '%s{"id": "%s", "kind": "mlperf-files", "input": {"accelerators": %s, "clients": %s, "client_memory_GiB": 251,
      "batch": %s, "sample_bytes": %s, "samples_per_file": %s, "min_steps": 500, "memory_factor": 5},
      "expect": {"files": %s, "size_GiB": %s}}\n' "$@"
  }
  {
    sizes '[' a 36 1 7 146600628 1 126000 17203
    sizes , b 48 1 7 146600628 1 168000 22937
    sizes , c 66 3 7 146600628 1 231000 31539
    sizes , d 256 1 400 114660.07 1251 40927 5467
    sizes , e 600 3 400 114660.07 1251 95923 12814
    sizes , f 60 1 1 2828486 1 476419 1254
    sizes , g 180 3 1 2828486 1 1429258 3764
    echo ', {"id": "h", "kind": "ca-binpacking", "input": {"node": {"cpu_m": 1000, "mem_MiB": 5000, "max_pods": 100},
      "groups": [{"cpu_m": 50, "count": 50000}, {"cpu_m": 95, "count": 1000}], "max_new_nodes": 3000},
      "expect": {"nodes": 2595, "pods_placed": 51000}}]'
  } >cases.json
  try 0 conform clusters cases.json
  says stdout '8 passed'
  for row in '10000 0.0325 307692' '220000 0.3754266212 586000'; do
    # shellcheck disable=SC2086 # three words
    set -- $row
    printf '{"policy": {"name": "fifo"}, "cluster": {"pools": [{%s}]}, "data": {"reads": [{"set": "d", "epochs": 1}],
      "storage": [{"name": "n", "location": "p", "gb_s": %s}], "sets": [{"name": "d", "gb": %s, "storage": ["n"]}]}}' \
      "$pool" "$2" "$1" >s.json
    try 0 run s.json --trace t.csv --check --jobs jobs.csv
    matches jobs.csv "^a,0,0,$3\b"
  done
}

case_page() {
  "$headroom" run "$project/scenarios/data-far.json" --quiet --report page.html 2>stderr || {
    grep -q 'no HTML report' stderr && exit 77
    fail "$(cat stderr)"
  }
  matches page.html '"waiting_gpu_hours"'
  matches page.html '"name": *"us-east-1 to eu-west-1"'
}

run_case
