#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Topology-aware scheduling with the policy `kueue`: small scenarios whose starts can be computed by hand. All runs are
# in checked mode.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# world NODES [LOCAL_QUEUES [RULES [POOL [POLICY]]]]: writes k.json: racks of two nodes with 8 GPUs, and a ClusterQueue
# `a` with more than enough quota. LOCAL_QUEUES, RULES, POOL, POLICY: further members, each followed by a comma.
world() {
  cat >k.json <<JSON
{"cluster": {"pools": [{${4:-} "name": "p", "gpu": "H100", "nodes": $1, "gpus_per_node": 8,
   "topology": {"nodes_per_rack": 2}}]},
 "policy": {${5:-} "name": "kueue"},
 "kueue": {"topologies": [{"name": "t", "levels": [{"node_label": "rack"}, {"node_label": "kubernetes.io/hostname"}]}],
  "flavors": [{"name": "f", "topology": "t"}], "local_queues": [${2:-}],
  "cluster_queues": [{${3:-} "name": "a", "resource_groups": [{"flavors": [{"name": "f",
    "resources": [{"name": "nvidia.com/gpu", "nominal_quota": 800}]}]}]}]}}
JSON
}

# jobs COLUMNS ROW...: writes t.csv.
jobs() {
  printf '%s\n' "$@" >t.csv
}

# starts TIME...: runs the scenario and expects these first starts of the jobs; "-": the job does not run.
starts() {
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv
  local found
  found=$(awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($3 == "" ? "-" : $3) }' jobs.csv)
  [ "$found" = "$*" ] || fail "jobs start at $found, not at $*"
}

# Nodes 0 and 2 are busy until 100 s and 50 s, node 1 until 20 s. From 20 s on there are two free nodes, but in
# different racks: a gang that requires one rack waits until 50 s, although it has quota; a gang that only prefers a
# rack starts.
case_fragmentation() {
  world 4
  jobs submit_s,duration_s,gpus,tasks,queue,within 0,100,8,1,a, 0,20,8,1,a, 0,50,8,1,a, 1,100,16,2,a,rack
  starts 0 0 0 50
  try 0 why k.json --trace t.csv --job 4 --json why.json
  says why.json "couldn't assign flavors to pod set main: topology \\\"t\\\" allows to fit only 1 out of 2 pod(s). Total nodes: 4; excluded: resource \\\"nvidia.com/gpu\\\": 3"
  says why.json '"reason": "topology"'
  jobs submit_s,duration_s,gpus,tasks,queue,within,within_wait_s 0,100,8,1,a,, 0,20,8,1,a,, 0,50,8,1,a,, 1,100,16,2,a,rack,0
  starts 0 0 0 20
  # the requirement ends at 30 s
  jobs submit_s,duration_s,gpus,tasks,queue,within,within_wait_s 0,100,8,1,a,, 0,20,8,1,a,, 0,50,8,1,a,, 1,100,16,2,a,rack,29
  starts 0 0 0 30
  # other jobs of the queue do not wait for the gang
  jobs submit_s,duration_s,gpus,tasks,queue,within 0,100,8,1,a, 0,20,8,1,a, 0,50,8,1,a, 1,100,16,2,a,rack 30,5,8,1,a,
  starts 0 0 0 50 30
  sed -i 's/"name": "a"/"queueing_strategy": "StrictFIFO", &/' k.json
  starts 0 0 0 50 50
}

# There is enough quota, but no rack is free: the newest job is evicted from its node.
case_preemption() {
  world 4 '' '"preemption": {"within_cluster_queue": "LowerPriority"},'
  jobs submit_s,duration_s,gpus,tasks,queue,within,priority 0,100,8,1,a,,0 1,100,8,1,a,,0 2,100,8,1,a,,0 10,50,16,2,a,rack,1
  starts 0 1 2 10
  matches jobs.csv '^3,2,2,160,'
  matches jobs.csv '^1,0,0,100,'
  # a rack for itself does not help: two jobs of the same priority
  jobs submit_s,duration_s,gpus,tasks,queue,within,priority 0,100,8,1,a,,1 1,100,8,1,a,,1 2,100,8,1,a,,1 10,50,16,2,a,rack,1
  starts 0 1 2 101
}

# Topology requests of LocalQueues. Each of two nodes has two free GPUs until 50 s.
case_local_queues() {
  local host='kubernetes.io/hostname' rows=('0,100,6,1,a' '0,50,6,1,a')
  for row in "\"required_topology\": \"$host\" 50" "\"preferred_topology\": \"$host\" 0" '"unconstrained_topology": true 0' \
    "\"slice_required_topology\": \"$host\", \"slice_size\": 2 50"; do
    world 2 "{\"name\": \"l\", \"cluster_queue\": \"a\", ${row% *}}"
    jobs submit_s,duration_s,gpus,tasks,queue "${rows[@]}" 0,100,4,2,l
    starts 0 0 "${row##* }"
  done
}

# A queue in which only some flavors have a topology. Jobs without a topology request do not get the flavor with the
# topology; jobs with a request get only this flavor. The second pool has one node.
case_mixed_flavors() {
  world 2
  sed -i -e 's/"pools": \[/&{"name": "q", "gpu": "A100", "nodes": 1, "gpus_per_node": 8}, /' \
    -e 's/"flavors": \[{"name": "f",* *"topology": "t"}/"flavors": [{"name": "f", "pools": ["p"], "topology": "t"}, {"name": "g", "pools": ["q"]}/' \
    -e 's/"resource_groups": \[{"flavors": \[/&{"name": "g", "resources": [{"name": "nvidia.com\/gpu", "nominal_quota": 800}]}, /' k.json
  jobs submit_s,duration_s,gpus,tasks,queue,within 0,100,8,1,a, 0,100,8,1,a, 0,100,16,2,a,rack 5,100,16,2,a,rack
  starts 0 100 0 100
}

# All pods of a job are in one pool, which the job must accept.
case_pools() {
  world 2
  sed -i 's/"pools": \[/&{"name": "q", "gpu": "A100", "nodes": 1, "gpus_per_node": 8}, /' k.json
  jobs submit_s,duration_s,gpus,tasks,queue,gpu_type 0,100,8,1,a,H100 0,50,16,2,a, 0,50,8,1,a,A100
  starts 0 100 0
}

# A job whose tier is not a level of the topology never gets a flavor.
case_unknown_level() {
  world 4
  jobs submit_s,duration_s,gpus,tasks,queue,within 0,100,16,2,a,zone 0,100,16,2,a,rack
  starts - 0
}

# The pods are placed when their nodes are provisioned: a job of two nodes starts on a rack of new nodes.
case_elastic() {
  world 4 '' '' '"market": "on-demand", "boot_s": 60, "usd_per_gpu_hour": 1,'
  jobs submit_s,duration_s,gpus,tasks,queue,within 0,100,16,2,a,rack 0,100,8,1,a, 0,100,8,1,a,
  starts 60 60 60
}

# Nodes fail all the time. Failed nodes are replaced within the rack, or the job waits for another rack.
case_failures() {
  local rows=() i
  world 6 '' '' '"faults": {"per_1000_node_days": 30000, "repair_s": 7200},'
  for ((i = 0; i < 60; i++)); do rows+=("$((i * 600)),$((2000 + i * 37)),$((8 << i % 2)),$((1 + i % 2)),a,$([ $((i % 2)) -eq 0 ] || echo rack)"); done
  jobs submit_s,duration_s,gpus,tasks,queue,within "${rows[@]}"
  try 0 run k.json --trace t.csv --check --quiet --jobs jobs.csv --json run.json
  [ "$(grep -c ',completed' jobs.csv)" -eq 60 ] || fail 'some jobs did not complete'
  awk -F'[:,]' '/"failures"/ && $2 > 0 { found = 1 } /"interruptions"/ && $2 > 0 { found = 1 } END { exit !found }' run.json ||
    fail 'no node failed'
}

# refuses TEXT LOCAL_QUEUE: expects that this LocalQueue is rejected with this text.
refuses() {
  world 1 "{\"name\": \"l\", \"cluster_queue\": \"a\", $2}"
  try 2 validate k.json
  matches stderr '^headroom: k.json:[0-9]+:[0-9]+: '
  says stderr "$1"
}

case_errors() {
  refuses "no topology has the level 'zone'" '"required_topology": "zone"'
  refuses "state one of 'required_topology'" '"required_topology": "rack", "preferred_topology": "rack"'
  refuses "'slice_required_topology' is missing" '"slice_size": 2'
}

run_case
