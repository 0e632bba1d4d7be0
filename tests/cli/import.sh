#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `headroom import` of Kubernetes manifests: objects, notes on features that are not modelled, errors with places.
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# Writes kueue.yaml: a flavor, a ClusterQueue in a cohort and a LocalQueue.
queues() {
  cat >kueue.yaml <<'YAML'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: big}
spec:
  nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: team-a
spec:
  cohortName: lab
  namespaceSelector: {}
  queueingStrategy: StrictFIFO
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, memory]
    flavors:
    - name: big
      resources:
      - name: nvidia.com/gpu
        nominalQuota: 16
        borrowingLimit: "8"
      - name: memory
        nominalQuota: 2Ti
  preemption:
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
  fairSharing: {weight: 500m}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: lab}
spec: {clusterQueue: team-a}
YAML
}

# gpu_node NAME PRODUCT GPUS [LABEL]: prints a Node.
gpu_node() {
  cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: $1
  labels: {nvidia.com/gpu.product: $2, kubernetes.io/hostname: $1${4:+, $4}}
status:
  allocatable: {cpu: 95500m, memory: 1031212Mi, nvidia.com/gpu: "$3", pods: "110"}
  conditions:
  - {type: Ready, status: "True"}
YAML
}

# value FILE PATH: prints a value of a scenario as JSON, without spaces.
value() {
  node -e 'let at = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))
for (const key of process.argv[2].split(".")) at = at[key]
console.log(JSON.stringify(at))' "$1" "$2"
}

# is PATH JSON: fails unless s.json has this value.
is() {
  [ "$(value s.json "$1")" = "$(echo "$2" | sed 's/, /,/g; s/": /":/g')" ] || fail "$1 is $(value s.json "$1"), not $2"
}

# refuses TEXT: import of kueue.yaml fails with the message, and writes no file.
refuses() {
  rm -f s.json
  try 2 import kueue kueue.yaml -o s.json
  says stderr "headroom: $1"
  [ ! -e s.json ] || fail 'a partial file'
}

case_kueue() {
  queues
  for i in 1 2 3; do gpu_node "n$i" NVIDIA-A100-SXM4-80GB 8; done >nodes.yaml
  gpu_node m1 NVIDIA-L4 4 >>nodes.yaml
  try 0 import kueue kueue.yaml nodes.yaml -o s.json
  is_empty stderr
  says stdout '  next       headroom run s.json --trace FILE'
  is cluster.pools '[{"name": "a100-80", "gpu": "A100-80", "nodes": 3, "gpus_per_node": 8, "cpu_per_node": 95.5, "mem_gb_per_node": 1007.04296875}, {"name": "l4", "gpu": "L4", "nodes": 1, "gpus_per_node": 4, "cpu_per_node": 95.5, "mem_gb_per_node": 1007.04296875}]'
  is policy.name '"kueue"'
  is kueue.flavors.0.pools '["a100-80"]'
  is kueue.cluster_queues.0.cohort '"lab"'
  is kueue.cluster_queues.0.queueing_strategy '"StrictFIFO"'
  is kueue.cluster_queues.0.fair_weight 0.5
  is kueue.cluster_queues.0.resource_groups.0.flavors.0.resources '[{"name": "nvidia.com/gpu", "nominal_quota": 16, "borrowing_limit": 8}, {"name": "memory", "nominal_quota": "2Ti"}]'
  is kueue.cluster_queues.0.preemption '{"reclaim_within_cohort": "Any", "borrow_within_cohort": {"policy": "LowerPriority", "max_priority_threshold": 100}}'
  is kueue.local_queues '[{"name": "main", "namespace": "lab", "cluster_queue": "team-a"}]'
}

kube_config() {
  cat >kube.yaml <<'YAML'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
profiles:
- schedulerName: other
- schedulerName: default-scheduler
  percentageOfNodesToScore: 50
  plugins:
    score:
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: Own}]
      disabled: [{name: NodeResourcesBalancedAllocation}, {name: NodeResourcesFit}]
    postFilter: {disabled: [{name: "*"}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: nvidia.com/gpu, weight: 3}, {name: cpu}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
      colour: red
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: patient}
value: 100
preemptionPolicy: Never
YAML
}

case_kubernetes() {
  kube_config
  for i in 1 2 3; do gpu_node "n$i" NVIDIA-A100-SXM4-80GB 8; done |
    sed 's/^status:/spec: {taints: [{key: nvidia.com\/gpu, effect: NoSchedule}]}\n&/' >nodes.yaml
  gpu_node m1 NVIDIA-L4 4 | sed 's/^status:/spec: {taints: [{key: own, value: ml, effect: NoExecute}]}\n&/' >>nodes.yaml
  try 0 import kubernetes kube.yaml nodes.yaml -o s.json
  is cluster.pools '[{"name": "a100-80", "gpu": "A100-80", "nodes": 3, "gpus_per_node": 8, "cpu_per_node": 95.5, "mem_gb_per_node": 1007.04296875}]'
  is policy.name '"kubernetes"'
  is kubernetes '{"percentage_of_nodes_to_score": 50, "pod_initial_backoff_s": 2, "plugin_weights": {"fit": 5, "balanced_allocation": 0}, "preemption": false, "scoring": {"type": "requested_to_capacity_ratio", "resources": [{"name": "nvidia.com/gpu", "weight": 3}, {"name": "cpu"}], "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}, "priority_classes": [{"name": "patient", "value": 100, "preemption_policy": "Never"}]}'
  says stderr "kube.yaml:6:1: KubeSchedulerConfiguration: profiles: all jobs are scheduled with the profile 'default-scheduler'"
  says stderr "warning: kube.yaml:21:7: KubeSchedulerConfiguration: unknown field 'pluginConfig(NodeResourcesFit).args.colour'"
  says stderr "plug-in 'Own' is not modelled"
  says stderr '1 node is left out because of taints such as own=ml:NoExecute: jobs of a trace have no tolerations'
  says stderr 'jobs with GPUs are assumed to tolerate the taint nvidia.com/gpu'
  { echo 'apiVersion: v1
kind: ConfigMap
metadata: {name: kube-scheduler, namespace: kube-system}
data:
  scheduler-config.yaml: |'; sed -n '/^---/q; s/^/    /p' kube.yaml; sed -n '/^---/,$p' kube.yaml; } >map.yaml
  mv s.json direct.json
  try 0 import kubernetes map.yaml nodes.yaml -o s.json
  cmp s.json direct.json || fail 'the ConfigMap gives another scenario'
  sed -i 's/type: Requested/type: Asked/' kube.yaml
  try 2 import kubernetes kube.yaml nodes.yaml -o s.json
  says stderr "kube.yaml:18:15: KubeSchedulerConfiguration: pluginConfig(NodeResourcesFit).args.scoringStrategy.type: found 'AskedToCapacityRatio'"
}

# kubectl prints a list, as YAML or as JSON, with status and metadata. Both give the same scenario.
case_kueue_lists() {
  queues
  try 0 import kueue kueue.yaml -o s.json
  node - >list.json <<'JS'
const queue = name => ({ apiVersion: "kueue.x-k8s.io/v1beta2", kind: name })
const meta = (name, more) => ({ name, uid: "1", managedFields: [{ manager: "kubectl", fieldsV1: { "f:spec": {} } }], ...more })
const items = [
  { ...queue("ResourceFlavor"), metadata: meta("big"),
    spec: { nodeLabels: { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB" } } },
  { ...queue("ClusterQueue"), metadata: meta("team-a"), status: { pendingWorkloads: 3 },
    spec: { cohortName: "lab", namespaceSelector: {}, queueingStrategy: "StrictFIFO", stopPolicy: null,
      resourceGroups: [{ coveredResources: ["nvidia.com/gpu", "memory"], flavors: [{ name: "big", resources: [
        { name: "nvidia.com/gpu", nominalQuota: "16", borrowingLimit: "8" }, { name: "memory", nominalQuota: "2Ti" }] }] }],
      preemption: { reclaimWithinCohort: "Any", borrowWithinCohort: { policy: "LowerPriority", maxPriorityThreshold: 100 } },
      fairSharing: { weight: "500m" } } },
  { ...queue("LocalQueue"), metadata: meta("main", { namespace: "lab" }), spec: { clusterQueue: "team-a" } }]
console.log(JSON.stringify({ apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items }, null, 4))
JS
  try 0 import kueue list.json -o list-s.json
  cmp s.json list-s.json || fail 'the list gives another scenario'
}

# Without Nodes, pools are assumed from quotas.
case_no_nodes() {
  queues
  try 0 import kueue kueue.yaml -o s.json
  says stderr 'warning: no Nodes in these files'
  is cluster.pools '[{"name": "big", "gpu": "A100-80", "nodes": 2, "gpus_per_node": 8}]'
  is kueue.flavors.0.pools '["big"]'
  sed -i 's/nominalQuota: 16/nominalQuota: 0/' kueue.yaml
  refuses "kueue.yaml: no Nodes and no quotas of nvidia.com/gpu; add the output of 'kubectl get nodes -o yaml'"
}

# Shared GPUs and MIG; nodes that are ignored.
case_nodes() {
  queues
  {
    gpu_node a NVIDIA-A100-SXM4-80GB 8
    gpu_node b NVIDIA-A100-SXM4-80GB-SHARED 8 'nvidia.com/gpu.replicas: "4"'
    gpu_node c NVIDIA-A100-SXM4-80GB 0 'nvidia.com/gpu.count: "2"' |
      sed 's|nvidia.com/gpu: "0"|nvidia.com/mig-1g.10gb: "6", nvidia.com/mig-3g.40gb: "2"|'
    gpu_node d NVIDIA-A100-SXM4-80GB-MIG-1g.10gb 14
    gpu_node e NVIDIA-A100-SXM4-80GB 8 | sed 's/"True"/"False"/'
    gpu_node f NVIDIA-A100-SXM4-80GB 0
  } >nodes.yaml
  try 0 import kueue kueue.yaml nodes.yaml -o s.json
  says stderr '1 node is left out: not ready'
  says stderr '1 node without GPUs is left out'
  is cluster.pools.0.nodes 1
  is cluster.pools.1.sharing '"time-slice"'
  is cluster.pools.1.replicas 4
  is cluster.pools.1.gpus_per_node 2
  is cluster.pools.2.mig '{"layout": "3g.40gb,3x1g.10gb"}'
  is cluster.pools.2.gpus_per_node 2
  is cluster.pools.3.mig '{"layout": "7x1g.10gb"}'
  is cluster.pools.3.gpus_per_node 2
}

# Topologies: racks and zones of the pools.
case_topology() {
  queues
  sed -i 's|^  nodeLabels:.*|&\n  topologyName: tree|' kueue.yaml
  cat >>kueue.yaml <<'YAML'
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: tree}
spec:
  levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]
YAML
  for i in 0 1 2 3 4 5 6 7; do
    gpu_node "n$i" NVIDIA-A100-SXM4-80GB 8 "block: b$((i / 4)), rack: r$((i / 2 % 2))"
  done >nodes.yaml
  try 0 import kueue kueue.yaml nodes.yaml -o s.json
  is cluster.pools.0.topology '{"nodes_per_rack": 2, "racks_per_zone": 2}'
  is kueue.flavors.0.topology '"tree"'
  is kueue.topologies.0.levels '[{"node_label": "block"}, {"node_label": "rack"}, {"node_label": "kubernetes.io/hostname"}]'
  gpu_node n8 NVIDIA-A100-SXM4-80GB 8 'block: b1, rack: r1' >>nodes.yaml
  try 0 import kueue kueue.yaml nodes.yaml -o s.json
  says stderr "the groups of 'rack' have 2 to 3 members; all are modelled with 3"
}

# The configuration, also in a ConfigMap; both versions of the API.
case_configuration() {
  queues
  cat >config.yaml <<'YAML'
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady:
  timeout: 10m
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 5}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m, resourceWeights: {cpu: 0.5}}
resources: {excludeResourcePrefixes: [ephemeral-storage], transformations: [{input: a}]}
featureGates: {PartialAdmission: false, NoSuchGate: true}
health: {healthProbeBindAddress: ":8081"}
YAML
  try 0 import kueue kueue.yaml config.yaml -o s.json
  says stderr 'config.yaml:8:59: Configuration: resources.transformations is not modelled: requests of jobs'
  says stderr 'the feature gate NoSuchGate is not modelled'
  is kueue.fair_sharing '{"enable": true, "preemption_strategies": ["LessThanInitialShare"]}'
  is kueue.wait_for_pods_ready '{"timeout_s": 600, "recovery_timeout_s": 600, "requeuing_strategy": {"timestamp": "Creation", "backoff_limit_count": 5}}'
  is kueue.admission_fair_sharing '{"usage_half_life_s": 604800, "usage_sampling_interval_s": 300, "resource_weights": [{"name": "cpu", "weight": 0.5}]}'
  is kueue.excluded_resources '["ephemeral-storage"]'
  is kueue.feature_gates '{"PartialAdmission": false}'
  { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  controller_manager_config.yaml: |\n'
    sed 's/^/    /; s/v1beta2/v1beta1/; s/timeout: 10m/enable: true/; s/fairSharing: {/&enable: true, /' config.yaml; } >map.yaml
  cp s.json first.json
  try 0 import kueue kueue.yaml map.yaml -o s.json
  says stderr 'map.yaml:13:'
  is kueue.fair_sharing '{"enable": true, "preemption_strategies": ["LessThanInitialShare"]}'
  is kueue.wait_for_pods_ready '{"block_admission": true, "requeuing_strategy": {"timestamp": "Creation", "backoff_limit_count": 5}}'
  sed -i 's/backoffLimitCount: 5/backoffLimitCount: -5/' map.yaml
  try 2 import kueue kueue.yaml map.yaml -o s.json
  says stderr "map.yaml:10:"
  says stderr "waitForPodsReady.requeuingStrategy.backoffLimitCount: found '-5', expected a whole number of at least 0"
}

case_notes() {
  queues
  sed -i 's/^  cohortName: lab/&\n  concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}\n  cohort: x\n  nonsense: {a: 1}\n  queuingStrategy: x/' kueue.yaml
  printf -- '---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n' >>kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  says stderr "note: kueue.yaml:13:3: ClusterQueue 'team-a': spec.concurrentAdmissionPolicy is not modelled: a job tries one"
  says stderr "warning: kueue.yaml:14:3: ClusterQueue 'team-a': unknown field 'spec.cohort' is ignored, which is a field of v1beta1 only"
  says stderr "warning: kueue.yaml:15:3: ClusterQueue 'team-a': unknown field 'spec.nonsense' is ignored"
  says stderr "warning: kueue.yaml:16:3: ClusterQueue 'team-a': unknown field 'spec.queuingStrategy' is ignored; did you mean 'queueingStrategy'?"
  says stderr 'note: 1 object of kind Deployment is not used'
}

# The commands of the documentation: two imported configurations are compared on a trace of Workloads.
case_kueue_diff() {
  queues
  sed -i -e 's/^  nodeLabels:.*/&\n  topologyName: tree/' -e '/borrowingLimit/d' -e 's/nominalQuota: 16/nominalQuota: 8/' \
    -e 's/, memory\]/]/' -e '/name: memory/,+1d' kueue.yaml
  cat >>kueue.yaml <<'YAML'
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: tree}
spec:
  levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]
YAML
  for i in 1 2; do gpu_node "n$i" NVIDIA-A100-SXM4-80GB 8 'rack: r1'; done >>kueue.yaml
  try 0 import kueue kueue.yaml -o k.json
  sed 's/nominalQuota: 8/nominalQuota: 16/' kueue.yaml >more.yaml
  try 0 import kueue more.yaml -o k2.json
  node -e 'const at = s => new Date(Date.UTC(2026, 0, 1, 0, 0, s)).toISOString().replace(".000", "")
const item = (name, s) => ({ apiVersion: "kueue.x-k8s.io/v1beta2", kind: "Workload",
  metadata: { name, namespace: "lab", uid: name, creationTimestamp: at(s) },
  spec: { queueName: "main", podSets: [{ name: "main", count: 1, template: { spec: { containers: [{ name: "c",
    resources: { requests: { "nvidia.com/gpu": "8" } } }] } } }] },
  status: { conditions: [["Admitted", s], ["Finished", s + 600]].map(([type, end]) => ({ type, status: "True",
    lastTransitionTime: at(end) })) } })
console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items: [item("a", 0), item("b", 60)] }))' >workloads.json
  try 0 diff k.json k2.json --trace workloads.json
  says stdout 'kueue.cluster_queues[team-a].resource_g...ources[nvidia.com/gpu].nominal_quota'
  says stdout 'lab/main'
  matches stdout 'A +does not do this. Job lab/b starts 9 min later'
}

case_namespaces() {
  queues
  sed -i 's/namespaceSelector: {}/namespaceSelector: {matchLabels: {team: red}}/' kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  says stderr 'spec.namespaceSelector selects none of the Namespaces in these files'
  for space in one two; do
    printf -- '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {team: red}}\n' $space >>kueue.yaml
  done
  printf -- '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: three}\n' >>kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  is kueue.cluster_queues.0.namespaces '["one", "two"]'
  sed -i 's/matchLabels: {team: red}/matchExpressions: [{key: team, operator: DoesNotExist}]/' kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  is kueue.cluster_queues.0.namespaces '["three"]'
  sed -i 's/namespaceSelector: .*/namespaceSelector: {matchLabels: {kubernetes.io\/metadata.name: four}}/' kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  is kueue.cluster_queues.0.namespaces '["four"]'
}

# spoils EXPRESSION TEXT: applies a change to the manifest; the import must fail with the message.
spoils() {
  queues
  sed -i "$1" kueue.yaml
  refuses "$2"
}

case_bad_objects() {
  spoils '0,/v1beta2/s//v1alpha9/' "kueue.yaml:1:13: ResourceFlavor 'big': apiVersion: found 'kueue.x-k8s.io/v1alpha9', expected kueue.x-k8s.io/v1beta1 or"
  spoils '0,/kueue.x-k8s.io/s//example.com/' "kueue.yaml:1:13: ResourceFlavor 'big': apiVersion: found 'example.com/v1beta2'"
  spoils 's/nominalQuota: 16/nominalQuota: -16/' "kueue.yaml:21:23: ClusterQueue 'team-a': spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: found '-16', expected a quantity of at least 0"
  spoils 's/nominalQuota: 2Ti/nominalQuota: 2Tx/' "kueue.yaml:24:23: ClusterQueue 'team-a': spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: found '2Tx', expected a quantity"
  spoils 's/StrictFIFO/FIFO/' "kueue.yaml:14:21: ClusterQueue 'team-a': spec.queueingStrategy: found 'FIFO', expected BestEffortFIFO or StrictFIFO"
  spoils 's/name: team-a/name: [a]/' "kueue.yaml:7:1: ClusterQueue: metadata.name is missing"
  spoils 's/cohortName: lab/cohortName: 5/' "kueue.yaml:12:15: ClusterQueue 'team-a': spec.cohortName: found '5', expected a text"
  spoils 's/- name: big/- nam: big/' "kueue.yaml:18:7: ClusterQueue 'team-a': spec.resourceGroups[0].flavors[0].name is missing"
  spoils 's/{clusterQueue: team-a}/{clusterQueue: team-b}/' "kueue.yaml:33:22: LocalQueue 'lab/main': found 'team-b', expected the name of a ClusterQueue in these files; did you mean 'team-a'?"
  spoils 's/    - name: big/    - name: bigger/' "kueue.yaml:18:13: ClusterQueue 'team-a': found 'bigger', expected the name of a ResourceFlavor in these files"
  spoils 's/nvidia.com\/gpu, memory/nvidia.com\/gpu/' "kueue.yaml:23:9: ClusterQueue 'team-a': resource 'memory' is not in coveredResources"
  spoils 's/nvidia.com\/gpu, memory/&, cpu/' "kueue.yaml:18:7: ClusterQueue 'team-a': flavor 'big' has no quota of 'cpu', which its group covers"
  spoils 's/borrowingLimit: "8"/lendingLimit: 17/' "kueue.yaml:22:23: ClusterQueue 'team-a': lendingLimit of nvidia.com/gpu: found 17, expected at most the nominal quota, 16"
  spoils '/cohortName: lab/d' "kueue.yaml:21:25: ClusterQueue 'team-a': borrowingLimit of nvidia.com/gpu: found a limit, expected none"
  spoils 's/reclaimWithinCohort: Any/reclaimWithinCohort: Never/' "kueue.yaml:27:34: ClusterQueue 'team-a': borrowWithinCohort.policy: found LowerPriority, expected Never"
  spoils 's/spec: {clusterQueue: team-a}/sepc: {}/' "kueue.yaml:30:1: LocalQueue 'lab/main': spec is missing"
  spoils 's/nvidia.com\/gpu, memory//' "kueue.yaml:16:23: ClusterQueue 'team-a': spec.resourceGroups[0].coveredResources: found a list, expected at least one entry"
  spoils 's/weight: 500m/weight: -1/' "kueue.yaml:28:25: ClusterQueue 'team-a': spec.fairSharing.weight: found '-1', expected a quantity of at least 0"
  spoils 's/maxPriorityThreshold: 100/maxPriorityThreshold: high/' "kueue.yaml:27:71: ClusterQueue 'team-a': spec.preemption.borrowWithinCohort.maxPriorityThreshold: found 'high', expected a whole number"
  spoils 's/kind: LocalQueue/kind: Topology/; s/{clusterQueue: team-a}/{levels: []}/' "kueue.yaml:33:16: Topology 'lab/main': spec.levels: found a list, expected at least one entry"
  spoils 's/kind: LocalQueue/kind: WorkloadPriorityClass/; s/spec: {clusterQueue: team-a}/valu: 1/' "kueue.yaml:30:1: WorkloadPriorityClass 'lab/main': value is missing"
  spoils 's/kind: LocalQueue/kind: Cohort/; s/{name: main, namespace: lab}/{name: lab}/; s/{clusterQueue: team-a}/{parentName: lab}/' "kueue.yaml:33:20: Cohort 'lab': its parents form a cycle"
  spoils 's/kind: LocalQueue/kind: ClusterQueue/; s/{name: main, namespace: lab}/{name: team-a}/; s/{clusterQueue: team-a}/{}/' "kueue.yaml:30:1: ClusterQueue 'team-a': is defined twice; first at kueue.yaml:7"
}

case_cohorts() {
  queues
  for pair in 'a b' 'b c' 'c a'; do
    # shellcheck disable=SC2086 # two words
    printf -- '---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: %s}\nspec: {parentName: %s}\n' $pair
  done >>kueue.yaml
  refuses "kueue.yaml:38:20: Cohort 'a': its parents form a cycle"
  sed -i 's/parentName: a/parentName: root/' kueue.yaml
  try 0 import kueue kueue.yaml -o s.json
  is kueue.cohorts '[{"name": "a", "parent": "b"}, {"name": "b", "parent": "c"}, {"name": "c", "parent": "root"}]'
}

case_bad_files() {
  try 2 import kueue missing.yaml -o s.json
  says stderr 'headroom: missing.yaml: No such file or directory'
  try 2 import kueue . -o s.json
  says stderr 'it is a folder, expected a file'
  printf 'a: [1, 2\nb: 3\n' >kueue.yaml
  refuses 'kueue.yaml:2:2: not valid YAML'
  printf 'a: 1\na: 2\n' >kueue.yaml
  refuses "kueue.yaml:2:1: the key 'a' occurs twice"
  printf 'a: *b\n' >kueue.yaml
  refuses "kueue.yaml:1:4: the alias '*b' has no anchor"
  printf 'a: &b [*b]\n' >kueue.yaml
  refuses "kueue.yaml:1:8: the alias '*b' is within its own anchor"
  { echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
    for i in 1 2 3 4 5 6 7 8 9; do
      echo "a$i: &a$i [$(for _ in 1 2 3 4 5 6 7 8 9 10; do printf '*a%d, ' $((i - 1)); done | sed 's/, $//')]"
    done; } >kueue.yaml
  refuses 'kueue.yaml:7:'
  says stderr 'aliases expand the document to more than 4,000,000 values'
  { for _ in $(seq 80); do printf '['; done; } >kueue.yaml
  refuses 'kueue.yaml:1:'
  says stderr 'values are nested more than 64 levels deep'
  printf 'just a text\n' >kueue.yaml
  refuses 'kueue.yaml:1:1: found a text, expected a Kubernetes object'
  printf 'kind: ClusterQueue\n' >kueue.yaml
  refuses 'kueue.yaml:1:1: apiVersion is missing: expected a Kubernetes object with apiVersion and kind'
  printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n' >kueue.yaml
  refuses 'kueue.yaml: no ClusterQueue in these files'
  : >kueue.yaml
  refuses 'kueue.yaml: no ClusterQueue in these files'
  queues
  gzip -k kueue.yaml
  for system in kueue kai volcano kubernetes; do
    try 2 import $system kueue.yaml.gz -o s.json
    says stderr 'headroom: kueue.yaml.gz: is compressed; expected a plain YAML or JSON file'
  done
  printf '\x28\xb5\x2f\xfd\x24\x00' >kueue.yaml.zst
  try 2 import kueue kueue.yaml.zst -o s.json
  says stderr 'headroom: kueue.yaml.zst: is compressed; expected a plain YAML or JSON file'
  rm kueue.yaml
  ! "$headroom" import kueue - -o s.json <kueue.yaml.gz 2>stderr || fail 'compressed standard input is accepted'
  says stderr 'headroom: standard input: is compressed; expected a plain YAML or JSON file'
  try 2 import kueu kueue.yaml -o s.json
  says stderr "unknown system 'kueu'; did you mean 'kueue'?"
  try 2 import kueue kueue.yaml
  says stderr "option '-o' is missing"
}

# Anchors and merge keys within a document; standard input.
case_anchors() {
  cat >kueue.yaml <<'YAML'
apiVersion: v1
kind: List
items:
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}
- &queue
  apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: a}
  spec: &spec
    namespaceSelector: {}
    resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
- <<: *queue
  metadata: {name: b}
  spec:
    <<: *spec
    queueingStrategy: StrictFIFO
YAML
  "$headroom" import kueue - -o s.json <kueue.yaml 2>stderr
  is kueue.cluster_queues.0.name '"a"'
  is kueue.cluster_queues.1.name '"b"'
  is kueue.cluster_queues.1.queueing_strategy '"StrictFIFO"'
  is kueue.cluster_queues.1.resource_groups "$(value s.json kueue.cluster_queues.0.resource_groups)"
  is cluster.pools.0.nodes 2
}

# ---- KAI ---------------------------------------------------------------------------------------------------------

kai_queues() {
  cat >kai.yaml <<'YAML'
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: dept}
spec:
  resources:
    gpu: {quota: 32, limit: -1, overQuotaWeight: 1}
    cpu: {quota: -1, limit: -1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team-a}
spec:
  displayName: A
  parentQueue: dept
  priority: 200
  preemptMinRuntime: 10m
  resources:
    gpu: {quota: 24.5, limit: 32, overQuotaWeight: 2.5, lendingLimit: 4}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: default-queue}
spec: {parentQueue: dept, resources: {gpu: {quota: 0, limit: -1}}}
YAML
}

case_kai() {
  kai_queues
  try 0 import kai kai.yaml -o s.json
  says stderr "note: kai.yaml:18:57: Queue 'team-a': spec.resources.gpu.lendingLimit is not modelled: all of an unused quota is lent"
  says stderr 'warning: no Nodes in these files: one pool is assumed'
  is policy.name '"kai"'
  is cluster.pools '[{"name": "gpu", "gpu": "gpu", "nodes": 4, "gpus_per_node": 8}]'
  is kai.queues.0 '{"name": "dept", "gpu": {"quota": 32, "limit": -1, "over_quota_weight": 1}, "cpu": {"quota": -1, "limit": -1}}'
  is kai.queues.1 '{"name": "team-a", "parent": "dept", "priority": 200, "gpu": {"quota": 24.5, "limit": 32, "over_quota_weight": 2.5}, "preempt_min_runtime_s": 600}'
  is kai.default_queue '"default-queue"'
}

case_kai_runs() {
  kai_queues
  gpu_node n1 NVIDIA-A100-SXM4-80GB 8 >>kai.yaml
  printf 'submit_s,duration_s,gpus,queue\n0,100,8,team-a\n10,50,4,team-a\n20,50,1,\n' >jobs.csv
  try 0 import kai kai.yaml -o s.json
  try 0 run s.json --trace jobs.csv --check --json out.json -q
  says out.json '"completed": 3'
}

case_kai_scheduler() {
  kai_queues
  cat >shard.yaml <<'YAML'
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec:
  placementStrategy: {gpu: spread, cpu: binpack}
  kValue: 0.5
  minRuntime: {reclaimMinRuntime: 1h}
  args: {schedule-period: 2s, default-staleness-grace-period: "-1s", v: "5", nonsense: x}
  usageDBConfig: {clientType: prometheus, usageParams: {halfLifePeriod: 10m, windowSize: 1w, windowType: sliding}}
  partitionLabelValue: blue
  queueDepthPerAction: {allocate: 10, reclaim: 5, preempt: 0}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler-config, namespace: kai-scheduler}
data:
  config.yaml: |
    actions: "allocate, reclaim"
    tiers:
    - plugins:
      - name: proportion
        arguments: {kValue: "2"}
      - name: minruntime
        arguments: {reclaimResolveMethod: queue, defaultPreemptMinRuntime: 5m}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: train}
value: 60
globalDefault: true
YAML
  try 0 import kai kai.yaml shard.yaml -o s.json
  says stderr "shard.yaml:8:88: SchedulingShard 'default': 'nonsense' of the scheduler is not modelled"
  says stderr "shard.yaml:10:3: SchedulingShard 'default': spec.partitionLabelValue is not modelled: the shard has all nodes"
  says stderr "queueDepthPerAction.preempt 0 is not modelled: all jobs of a queue are tried"
  says stderr "shard.yaml:18:10: configuration of the scheduler: actions 'allocate, reclaim' are not modelled"
  is kai.scheduler '{"reclaim_min_runtime_method": "queue", "preempt_min_runtime_s": 300, "schedule_period_s": 2, "stale_gang_grace_s": -1, "gpu_placement": "spread", "cpu_placement": "binpack", "k_value": 0.5, "reclaim_min_runtime_s": 3600, "allocate_depth": 10, "reclaim_depth": 5, "usage": {"half_life_s": 600, "window_s": 604800, "window": "sliding"}}'
  is kai.default_priority 60
  is kai.priority_classes '[{"name": "train", "value": 60}]'
  try 0 validate s.json --policy kai
}

# refuses_kai EXPRESSION TEXT: with the change, the import fails with the message.
refuses_kai() {
  kai_queues
  sed -i "$1" kai.yaml
  rm -f s.json
  try 2 import kai kai.yaml -o s.json
  says stderr "headroom: $2"
  [ ! -e s.json ] || fail 'a partial file'
}

case_kai_bad_objects() {
  refuses_kai 's/parentQueue: dept$/parentQueue: nobody/' "kai.yaml:14:16: Queue 'team-a': spec.parentQueue: found 'nobody', expected the name of a Queue in these files"
  refuses_kai '0,/^  resources:$/s//  parentQueue: team-a\n&/' "kai.yaml:15:16: Queue 'team-a': spec.parentQueue: the parents of queue 'dept' form a cycle"
  refuses_kai 's/quota: 24.5/quota: -2/' "kai.yaml:18:18: Queue 'team-a': spec.resources.gpu.quota: found '-2', expected -1 (no limit) or a number of at least 0"
  refuses_kai 's/quota: 24.5/quota: many/' "kai.yaml:18:18: Queue 'team-a': spec.resources.gpu.quota: found 'many', expected a number"
  refuses_kai 's/overQuotaWeight: 2.5/overQuotaWeight: -1/' "kai.yaml:18:52: Queue 'team-a': spec.resources.gpu.overQuotaWeight: found '-1', expected a number of at least 0"
  refuses_kai 's/preemptMinRuntime: 10m/preemptMinRuntime: 10/' "kai.yaml:16:22: Queue 'team-a': spec.preemptMinRuntime: found '10', expected a duration"
  refuses_kai '0,/run.ai\/v2/s//run.ai\/v1/' "kai.yaml:1:13: Queue 'dept': apiVersion: found 'scheduling.run.ai/v1', expected scheduling.run.ai/v2"
  refuses_kai '0,/scheduling.run.ai\/v2/s//scheduling.volcano.sh\/v1beta1/' "kai.yaml:1:13: Queue 'dept': apiVersion: found 'scheduling.volcano.sh/v1beta1'"
  refuses_kai 's/name: team-a/name: dept/' "kai.yaml:9:1: Queue 'dept': is defined twice; first at kai.yaml:1"
  refuses_kai 's/quota: 32/quota: -1/' 'kai.yaml: no Nodes, and the top Queues have no quotas of GPUs'
  echo 'apiVersion: v1' >kai.yaml
  try 2 import kai kai.yaml -o s.json
  says stderr 'kai.yaml:1:1: kind is missing'
  printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n' >kai.yaml
  try 2 import kai kai.yaml -o s.json
  says stderr 'kai.yaml: no Queue of scheduling.run.ai in these files'
}

# ---- Volcano -----------------------------------------------------------------------------------------------------

volcano_queues() {
  cat >volcano.yaml <<'YAML'
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec:
  parent: root
  weight: 4
  reclaimable: false
  capability: {cpu: "64", memory: 256Gi, nvidia.com/gpu: 32}
  deserved: {cpu: 32500m, nvidia.com/gpu: "16"}
  guarantee: {resource: {nvidia.com/gpu: 2}}
status: {state: Open, allocated: {cpu: 5}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {parent: research, priority: 10, deserved: {nvidia.com/gpu: 8}, affinity: {nodeGroupAffinity: {}}}
status: {state: Closed}
YAML
  cat >volcano-scheduler.conf <<'YAML'
actions: "enqueue, allocate, preempt, reclaim, backfill, elect"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enabledOverused: true
  - name: conformance
- plugins:
  - name: overcommit
    arguments: {overcommit-factor: "1.5"}
  - name: predicates
    arguments: {predicate.GPUSharingEnable: true}
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
    arguments: {leastrequested.weight: 2, nodeaffinity.weight: 3}
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.cpu: 5
      binpack.resources: nvidia.com/gpu, example.com/foo
      binpack.resources.nvidia.com/gpu: 2
  - name: sla
    arguments: {sla-waiting-time: 1h30m}
  - name: deviceshare
YAML
}

case_volcano() {
  volcano_queues
  try 0 import volcano volcano.yaml volcano-scheduler.conf -o s.json
  says stderr "volcano-scheduler.conf:1:10: configuration of the scheduler: the action 'elect' is not modelled: it is left out"
  says stderr "the argument 'predicate.GPUSharingEnable' of plug-in predicates is not modelled"
  says stderr "volcano-scheduler.conf:26:11: configuration of the scheduler: plug-in 'deviceshare' is not modelled"
  is policy.name '"volcano"'
  is cluster.pools '[{"name": "gpu", "gpu": "gpu", "nodes": 2, "gpus_per_node": 8}]'
  is volcano.queues.0 '{"name": "research", "parent": "root", "weight": 4, "reclaimable": false, "capability": [{"resource": "cpu", "amount": 64}, {"resource": "memory", "amount": 256}, {"resource": "nvidia.com/gpu", "amount": 32}], "deserved": [{"resource": "cpu", "amount": 32.5}, {"resource": "nvidia.com/gpu", "amount": 16}], "guarantee": [{"resource": "nvidia.com/gpu", "amount": 2}]}'
  is volcano.queues.1 '{"name": "team", "parent": "research", "priority": 10, "closed": true, "deserved": [{"resource": "nvidia.com/gpu", "amount": 8}]}'
  is volcano.actions '["enqueue", "allocate", "preempt", "reclaim", "backfill"]'
  is volcano.tiers.0.plugins '[{"name": "priority"}, {"name": "gang", "disable": ["preemptable"]}, {"name": "conformance"}]'
  is volcano.tiers.1.plugins '[{"name": "overcommit", "overcommit_factor": 1.5}, {"name": "predicates"}, {"name": "capacity", "enable_hierarchy": true}, {"name": "nodeorder", "least_requested_weight": 2}, {"name": "binpack", "weight": 10, "resources": [{"resource": "cpu", "weight": 5}, {"resource": "nvidia.com/gpu", "weight": 2}, {"resource": "example.com/foo", "weight": 1}]}, {"name": "sla", "sla_waiting_time_s": 5400}]'
  cp s.json first.json
  { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  volcano-scheduler.conf: |\n'
    sed 's/^/    /' volcano-scheduler.conf; } >map.yaml
  try 0 import volcano volcano.yaml map.yaml -o s.json
  says stderr "map.yaml:31:11: configuration of the scheduler: plug-in 'deviceshare' is not modelled"
  cmp s.json first.json || fail 'the ConfigMap gives another scenario'
}

# refuses_volcano FILE EXPRESSION TEXT: with the change, the import fails with the message.
refuses_volcano() {
  volcano_queues
  sed -i "$2" "$1"
  rm -f s.json
  try 2 import volcano volcano.yaml volcano-scheduler.conf -o s.json
  says stderr "headroom: $3"
  [ ! -e s.json ] || fail 'a partial file'
}

case_volcano_bad_objects() {
  refuses_volcano volcano.yaml 's/parent: research/parent: nobody/' "volcano.yaml:16:16: Queue 'team': spec.parent: found 'nobody', expected root or the name of a Queue"
  refuses_volcano volcano.yaml 's/parent: root/parent: team/' "volcano.yaml:16:16: Queue 'team': spec.parent: the parents of queue 'research' form a cycle"
  refuses_volcano volcano.yaml 's/nvidia.com\/gpu: "16"/nvidia.com\/gpu: 40/' "volcano.yaml:9:43: Queue 'research': deserved of nvidia.com/gpu: found 40, expected at most the capability, 32"
  refuses_volcano volcano.yaml 's/cpu: "64"/cpu: "-64"/' "volcano.yaml:8:21: Queue 'research': spec.capability.cpu: found \"-64\", expected a quantity of at least 0"
  refuses_volcano volcano.yaml 's/reclaimable: false/reclaimable: 0/' "volcano.yaml:7:16: Queue 'research': spec.reclaimable: found '0', expected true or false"
  refuses_volcano volcano-scheduler.conf 's/name: conformance/nam: x/' "volcano-scheduler.conf:8:5: configuration of the scheduler: a plug-in without 'name'"
  refuses_volcano volcano-scheduler.conf 's/name: conformance/name: gang/' "volcano-scheduler.conf:8:11: configuration of the scheduler: plug-in 'gang' is listed twice"
  refuses_volcano volcano-scheduler.conf 's/enablePreemptable: false/enablePreemptable: maybe/' "volcano-scheduler.conf:6:24: configuration of the scheduler: enablePreemptable of plug-in gang: found 'maybe', expected true or false"
  refuses_volcano volcano-scheduler.conf 's/"1.5"/lots/' "volcano-scheduler.conf:11:36: configuration of the scheduler: overcommit-factor: found 'lots', expected a number of at least 0"
  refuses_volcano volcano-scheduler.conf 's/1h30m/soon/' "volcano-scheduler.conf:25:35: configuration of the scheduler: sla-waiting-time: found 'soon', expected a duration"
}

run_case
