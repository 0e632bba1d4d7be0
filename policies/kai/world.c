/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates the cluster of a run as KAI sees it: settings, queues, nodes and the topology of the pools. Records the
 * allocations of queues over time.
 *
 * Nodes of the session are those of the engine, with equal ids. Invariant: a node that is not up has no resources.
 *
 * A kind of jobs describes the pods of a job, the nodes on which they may run, and whether the job can ever run. Jobs
 * of one kind have equal requests and may run on the same nodes. A kind is added when its first job is submitted, and
 * is never removed. Invariant: two kinds differ in a member that `is_kind` compares.
 */

#include "policies/kai/world.h"

#include <math.h>
#include <string.h>

enum { HR__KAI_MANY_PODS = 1000000, HR__KAI_MIB_BYTES = 1024 * 1024 };

/* The levels of the topology of the pools. */
enum { HR__KAI_LEVEL_POOL = 1, HR__KAI_LEVEL_ZONE, HR__KAI_LEVEL_RACK, HR__KAI_LEVEL_NODE };

enum { HR__KAI_N_LEVELS = HR__KAI_LEVEL_NODE };

static const struct hr_pool_spec *spec_of(const struct hr__kai_world *world, uint32_t pool) {
  return hr_cluster_pool_spec(world->simulated, (hr_pool){pool});
}

static const int64_t mb_bytes = 1000000, unknown_cpu = INT64_C(1000000000000), unknown_mem = INT64_C(100000000000000),
                     unknown_gpu_mib = 100000;

/* ---- Priorities and queues -------------------------------------------------------------------------- */

int32_t hr__kai_priority_of(const struct hr_kai_config *config, const struct hr_trace *trace, hr_job job) {
  if (trace->priority) return trace->priority[job.id];
  return config ? config->default_priority : 50;
}

bool hr__kai_is_preemptible(const struct hr_kai_config *config, const struct hr_trace *trace, hr_job job) {
  if (trace->flags && trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE) return false;
  const int32_t priority = hr__kai_priority_of(config, trace, job);
  for (uint32_t i = 0; config && i < config->n_classes; i++)
    if (config->classes[i].value == priority) return config->classes[i].preemptible;
  return priority < 100;
}

/* The leaf queue with this name, which can have jobs; HR_NONE: none. */
static uint32_t find_queue(const struct hr__kai_world *world, const char *name) {
  for (uint32_t i = 0; name && i < world->cluster.n_queues; i++)
    if (world->queues[i].n_children == 0 && strcmp(world->queue_names[i], name) == 0) return i;
  return HR_NONE;
}

static uint32_t queue_of(const struct hr__kai_world *world, hr_job job) {
  const struct hr_trace *trace = world->trace;
  const char *name = NULL;
  if (trace->queue && trace->queue[job.id] != HR_NONE)
    name = trace->queues.text[trace->queue[job.id]];
  else if (trace->tenant && trace->tenant[job.id] != HR_NONE)
    name = trace->tenants.text[trace->tenant[job.id]];
  const uint32_t found = find_queue(world, name);
  return found == HR_NONE ? world->default_queue : found;
}

/* ---- MIG profiles ----------------------------------------------------------------------------------- */

/* The number of static MIG instances of a profile on a node. */
static int64_t count_instances(const struct hr_pool_spec *spec, uint32_t profile) {
  int64_t n = 0;
  for (uint32_t g = 0; g < spec->gpus_per_node; g++)
    for (unsigned starts = spec->mig->layouts[spec->mig->layout_of_gpu[g]].starts[profile]; starts;
         starts &= starts - 1)
      n++;
  return n;
}

/* The dimension of a MIG profile; 0: no pool has it. */
static uint32_t dimension_of(const struct hr__kai_world *world, const char *profile) {
  for (uint32_t d = HR__KAI_DIM_MIG; d < world->cluster.n_dims; d++)
    if (strcmp(world->profiles[d - HR__KAI_DIM_MIG], profile) == 0) return d;
  return 0;
}

/* ---- Kinds of jobs ---------------------------------------------------------------------------------- */

/* Whether pods may share the GPUs of a pool. */
static bool shares_gpus(const struct hr__kai_world *world, uint32_t pool) {
  return spec_of(world, pool)->nodes > 0 && spec_of(world, pool)->sharing == HR_SHARING_FRACTION;
}

/* Finds the nodes that jobs of an accept class accept; with `shared`, only those with shared GPUs. False: out of
   memory. */
static bool find_class_nodes(struct hr__kai_world *world, uint32_t accept_class, bool shared, const uint8_t **allowed) {
  const uint32_t at = 2 * accept_class + shared;
  if (at >= world->n_classes_known) {
    const uint32_t n = 2 * at + 8;
    if (!HR__ARENA_RESIZE(world->arena, world->class_nodes, world->n_classes_known, n)) return false;
    world->n_classes_known = n;
  }
  if (!world->class_nodes[at]) {
    uint8_t *nodes;
    if (!HR__ARENA_ARRAY(world->arena, nodes, world->cluster.n_nodes)) return false;
    for (uint32_t n = 0; n < world->cluster.n_nodes; n++)
      nodes[n] = hr_cluster_accepts(world->simulated, accept_class, (hr_pool){world->pool_of[n]}) &&
                 (!shared || shares_gpus(world, world->pool_of[n]));
    world->class_nodes[at] = nodes;
  }
  *allowed = world->class_nodes[at];
  return true;
}

/* The minimum and the maximum number of GPUs of the nodes that the class accepts. */
static void node_sizes(const struct hr__kai_world *world, uint32_t accept_class, uint32_t *fewest, uint32_t *most) {
  *fewest = UINT32_MAX;
  *most = 1;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const struct hr_pool_spec *spec = spec_of(world, p);
    if (spec->nodes == 0 || spec->gpus_per_node == 0 ||
        !hr_cluster_accepts(world->simulated, accept_class, (hr_pool){p}))
      continue;
    if (spec->gpus_per_node < *fewest) *fewest = spec->gpus_per_node;
    if (spec->gpus_per_node > *most) *most = spec->gpus_per_node;
  }
  if (*fewest > *most) *fewest = *most;
}

int64_t hr__kai_whole_pods_in(const struct hr__kai_world *world, const struct hr__kai_kind *kind,
                              const int64_t *amounts) {
  int64_t most = INT64_MAX;
  for (uint32_t d = 0; d < world->cluster.n_dims; d++)
    if (kind->amounts[d] > 0 && amounts[d] / kind->amounts[d] < most) most = amounts[d] / kind->amounts[d];
  return most > 0 ? most : 0;
}

int64_t hr__kai_pods_in(const struct hr__kai_world *world, const struct hr__kai_kind *kind, const int64_t *amounts) {
  const int64_t most = hr__kai_whole_pods_in(world, kind, amounts);
  if (kind->pod.kind != HR__KAI_FRACTION) return most;
  const int64_t part = llround(kind->pod.portion * 100), on_each = part > 0 ? 100 / part : 0;
  const int64_t shared = on_each * (amounts[HR__KAI_DIM_GPUS] / kind->pod.n_devices);
  if (shared >= most) return most;
  return shared > 0 ? shared : 0;
}

/* Why no group of nodes is large enough for the kind; HR_REASON_NONE: some group is. */
static enum hr_reason never_fits(const struct hr__kai_world *world, const struct hr__kai_kind *kind) {
  const enum hr_tier tier = kind->preferred || kind->tier == HR_TIER_ANY ? HR_TIER_POOL : kind->tier;
  bool fits_node = false;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const struct hr_pool_spec *spec = spec_of(world, p);
    if (spec->nodes == 0 || !kind->allowed_nodes[hr_cluster_first_node(world->simulated, (hr_pool){p}).id]) continue;
    const int64_t on_each = hr__kai_pods_in(world, kind, world->node_amounts[p]);
    const int64_t nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
    fits_node = fits_node || on_each > 0;
    if (on_each > kind->fewest || on_each * nodes >= kind->fewest) return HR_REASON_NONE;
  }
  return fits_node ? HR_REASON_TOO_LARGE : HR_REASON_NODE_TOO_SMALL;
}

static struct hr__kai_constraint constraint_of(const struct hr__kai_world *world, const struct hr__kai_kind *kind) {
  uint32_t n_pools = 0;
  for (uint32_t p = 0; p < world->n_pools; p++) n_pools += spec_of(world, p)->nodes > 0;
  int32_t level = 0;
  if (kind->tier != HR_TIER_ANY)
    level = kind->tier <= HR_TIER_NODE   ? HR__KAI_LEVEL_NODE
            : kind->tier == HR_TIER_RACK ? HR__KAI_LEVEL_RACK
            : kind->tier == HR_TIER_ZONE ? HR__KAI_LEVEL_ZONE
                                         : HR__KAI_LEVEL_POOL;
  const int32_t any = n_pools > 1 ? HR__KAI_LEVEL_POOL : 0;
  struct hr__kai_constraint constraint = {.topology = HR__KAI_NONE};
  if (kind->n_pods < 2 || (level == 0 && any == 0)) return constraint;
  constraint.topology = 0;
  constraint.required = kind->preferred || level < any ? any : level;
  constraint.preferred = kind->preferred ? level : 0;
  return constraint;
}

/* The part of each GPU that a pod requests, in thousandths. It is also large enough for the requested memory. It is a
   whole GPU if no pool that the job accepts has shared GPUs. */
static int64_t shared_milli(const struct hr__kai_world *world, const struct hr_request *request) {
  int64_t milli = HR_WHOLE_GPU_MILLI;
  bool first = true;
  if (request->gpu_milli >= HR_WHOLE_GPU_MILLI) return milli;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    if (!shares_gpus(world, p) || !hr_cluster_accepts(world->simulated, request->accept_class, (hr_pool){p})) continue;
    const int64_t mib = spec_of(world, p)->gpu_mem_mib;
    int64_t needed = request->gpu_milli;
    if (mib > 0 && (int64_t)request->gpu_mem_mib * HR_WHOLE_GPU_MILLI > needed * mib)
      needed = ((int64_t)request->gpu_mem_mib * HR_WHOLE_GPU_MILLI + mib - 1) / mib;
    if (first || needed > milli) milli = needed;
    first = false;
  }
  return milli < HR_WHOLE_GPU_MILLI ? milli : HR_WHOLE_GPU_MILLI;
}

/* The smallest MIG profile of a pool that suffices for the request; NULL: none. */
static const char *smallest_profile(const struct hr__kai_world *world, const struct hr_request *request,
                                    uint32_t pool) {
  const struct hr_pool_spec *spec = spec_of(world, pool);
  if (!spec->mig || !request->mig_profiles || spec->nodes == 0 ||
      !hr_cluster_accepts(world->simulated, request->accept_class, (hr_pool){pool}))
    return NULL;
  for (uint32_t i = spec->mig->type.n_profiles; i-- > 0;)
    if (request->mig_profiles[pool] >> i & 1 && count_instances(spec, i) > 0) return spec->mig->type.profiles[i].name;
  return NULL;
}

/* Whether jobs with the request run on MIG instances. They do if they request a profile, or if no other pool can run
   them. */
static bool uses_instances(const struct hr__kai_world *world, const struct hr_request *request, const char **profile) {
  bool others = false;
  *profile = NULL;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const char *found = smallest_profile(world, request, p);
    if (!*profile) *profile = found;
    others = others || (!spec_of(world, p)->mig && spec_of(world, p)->nodes > 0 &&
                        hr_cluster_accepts(world->simulated, request->accept_class, (hr_pool){p}));
  }
  return *profile && (request->prefers_mig || !others);
}

/* Sets the request of the pods of a kind to instances of a profile, on the nodes where this is the smallest sufficient
   profile. False: out of memory. */
static bool request_instances(struct hr__kai_world *world, struct hr__kai_kind *kind, const struct hr_request *request,
                              const char *profile, int64_t *amounts) {
  uint8_t *nodes;
  if (!HR__ARENA_ARRAY(world->arena, nodes, world->cluster.n_nodes)) return false;
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    const char *smallest = smallest_profile(world, request, world->pool_of[n]);
    nodes[n] = smallest && strcmp(smallest, profile) == 0;
  }
  const uint32_t dim = dimension_of(world, profile);
  kind->allowed_nodes = nodes;
  kind->pod.kind = HR__KAI_INSTANCE;
  kind->pod_gpus = kind->last_gpus = 0;
  amounts[dim] = request->gpus;
  kind->pod.quota.of[HR__KAI_GPU] = request->gpus * world->cluster.mig_slices[dim] * HR__KAI_GPU_UNIT;
  return true;
}

/* Sets the maximum and the minimum number of pods of an elastic kind. All its pods are equal. */
static void describe_sizes(struct hr__kai_kind *kind) {
  const uint32_t each = kind->pod_gpus;
  kind->fewest = kind->n_pods;
  if (kind->min_gpus == kind->max_gpus || each == 0 || kind->max_gpus % each != 0) return;
  const uint32_t most = kind->max_gpus / each, fewest = (kind->min_gpus + each - 1) / each;
  if (fewest >= most) return;
  kind->n_pods = most;
  kind->fewest = fewest;
  kind->last_gpus = each;
}

/* Sets the pods of a kind. Each task is a pod, with one exception: in counted allocation, a task may need more GPUs
   than the largest node has. Then the GPUs of the whole job are divided into pods as large as the smallest node, and
   the last pod has the rest. In per-GPU allocation, the request describes the pods. False: out of memory. */
static bool describe_pods(struct hr__kai_world *world, struct hr__kai_kind *kind) {
  const uint32_t n_dims = world->cluster.n_dims;
  int64_t *amounts, *last;
  if (!HR__ARENA_ARRAY(world->arena, amounts, n_dims) || !HR__ARENA_ARRAY(world->arena, last, n_dims)) return false;
  struct hr__kai_pod *pod = &kind->pod;
  if (kind->request != HR_NONE) {
    const struct hr_request *request = &hr_cluster_requests(world->simulated)->request[kind->request];
    kind->n_pods = request->tasks;
    kind->pod_gpus = kind->last_gpus = request->gpus;
    amounts[HR__KAI_DIM_CPU] = request->cpu_milli;
    amounts[HR__KAI_DIM_MEM] = (int64_t)request->mem_mib * HR__KAI_MIB_BYTES;
    const int64_t milli = shared_milli(world, request);
    const char *profile;
    if (request->gpus > 0 && uses_instances(world, request, &profile)) {
      if (!request_instances(world, kind, request, profile, amounts)) return false;
    } else if (milli < HR_WHOLE_GPU_MILLI && request->gpus > 0) {
      pod->kind = HR__KAI_FRACTION;
      pod->portion = (double)milli / HR_WHOLE_GPU_MILLI;
      pod->n_devices = request->gpus;
      pod->gpus = request->gpus * milli * (HR__KAI_GPU_UNIT / HR_WHOLE_GPU_MILLI);
    }
  } else {
    uint32_t fewest, most;
    node_sizes(world, kind->accept_class, &fewest, &most);
    kind->n_pods = kind->tasks;
    kind->pod_gpus = kind->last_gpus = kind->gpus / kind->tasks;
    if (kind->pod_gpus > most) {
      kind->n_pods = (kind->gpus + fewest - 1) / fewest;
      kind->pod_gpus = fewest;
      kind->last_gpus = kind->gpus - (kind->n_pods - 1) * fewest;
    }
  }
  describe_sizes(kind);
  amounts[HR__KAI_DIM_PODS] = 1;
  if (kind->request != HR_NONE && hr_cluster_requests(world->simulated)->request[kind->request].dedicated)
    amounts[HR__KAI_DIM_PODS] = HR__KAI_MANY_PODS;
  if (pod->kind == HR__KAI_WHOLE) pod->gpus = (int64_t)kind->pod_gpus * HR__KAI_GPU_UNIT;
  amounts[HR__KAI_DIM_GPUS] = pod->kind == HR__KAI_WHOLE ? kind->pod_gpus : 0;
  memcpy(last, amounts, n_dims * sizeof *last);
  if (pod->kind == HR__KAI_WHOLE) last[HR__KAI_DIM_GPUS] = kind->last_gpus;
  pod->quota.of[HR__KAI_CPU] = amounts[HR__KAI_DIM_CPU];
  pod->quota.of[HR__KAI_MEM] = amounts[HR__KAI_DIM_MEM];
  if (pod->kind != HR__KAI_INSTANCE) pod->quota.of[HR__KAI_GPU] = pod->gpus;
  kind->amounts = amounts;
  kind->last = last;
  return true;
}

static bool is_kind(const struct hr__kai_kind *a, const struct hr__kai_kind *b) {
  return a->gpus == b->gpus && a->tasks == b->tasks && a->accept_class == b->accept_class && a->request == b->request &&
         a->tier == b->tier && a->preferred == b->preferred && a->min_gpus == b->min_gpus && a->max_gpus == b->max_gpus;
}

/* Finds or adds a kind. False: out of memory. */
static bool find_kind(struct hr__kai_world *world, const struct hr__kai_kind *wanted, uint32_t *number) {
  for (*number = 0; *number < world->n_kinds; ++*number)
    if (is_kind(&world->kinds[*number], wanted)) return true;
  struct hr__kai_kind kind = *wanted;
  if (!HR__ARENA_HAS_ROOM(world->arena, world->kinds, world->n_kinds, world->kinds_capacity) ||
      !describe_pods(world, &kind))
    return false;
  if (!kind.allowed_nodes &&
      !find_class_nodes(world, kind.accept_class, kind.pod.kind == HR__KAI_FRACTION, &kind.allowed_nodes))
    return false;
  kind.first_class = HR_NONE;
  kind.constraint = constraint_of(world, &kind);
  kind.never = never_fits(world, &kind);
  if (kind.fewest < kind.n_pods && !HR__ARENA_ARRAY(world->arena, kind.in_pool, world->n_pools)) return false;
  world->kinds[world->n_kinds++] = kind;
  return true;
}

/* Whether the minimum number of pods of a job of the kind is within the limits of the queue while no other job runs.
   `preemptible`: quotas do not limit the job, only limits. */
static bool fits_queue(const struct hr__kai_world *world, const struct hr__kai_kind *kind, uint32_t queue,
                       bool preemptible) {
  struct hr__kai_amounts request = kind->pod.quota;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) request.of[r] *= kind->fewest;
  request.of[HR__KAI_GPU] -= (int64_t)(kind->pod_gpus - kind->last_gpus) * HR__KAI_GPU_UNIT;
  for (uint32_t q = queue; q != HR__KAI_NONE; q = world->queues[q].parent)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      const struct hr__kai_share *share = &world->queues[q].share[r];
      if (request.of[r] == 0) continue;
      if (share->limit != HR__KAI_UNLIMITED && request.of[r] > share->limit) return false;
      if (!preemptible && share->deserved != HR__KAI_UNLIMITED && request.of[r] > share->deserved) return false;
    }
  return true;
}

bool hr__kai_admit(struct hr__kai_world *world, hr_job job, int64_t now_us, struct hr__kai_admission *admission) {
  const struct hr_trace *trace = world->trace;
  const struct hr_requests *requests = hr_cluster_requests(world->simulated);
  const struct hr_locality locality = hr_cluster_locality(world->simulated, job);
  struct hr__kai_kind wanted = {.gpus = trace->gpus[job.id],
                                .tasks = trace->tasks ? trace->tasks[job.id] : 1,
                                .accept_class = hr_cluster_accept_class(world->simulated, job),
                                .request = requests ? requests->of_job[job.id] : HR_NONE,
                                .tier = locality.tier,
                                .preferred = locality.tier != HR_TIER_ANY && now_us >= locality.until_us};
  wanted.min_gpus = wanted.max_gpus = wanted.gpus;
  if (world->resizes && locality.tier == HR_TIER_ANY) {
    const struct hr_sizes sizes = hr_cluster_sizes(world->simulated, job);
    wanted.min_gpus = sizes.min;
    wanted.max_gpus = sizes.max;
  }
  *admission = (struct hr__kai_admission){.queue = queue_of(world, job)};
  admission->needs_no_node = requests ? !hr_request_needs_node(&requests->request[wanted.request]) : wanted.gpus == 0;
  if (admission->needs_no_node) return true;
  if (!find_kind(world, &wanted, &admission->kind)) return false;
  admission->reject = world->kinds[admission->kind].never;
  if (locality.until_us != HR_NEVER_US) admission->reject = HR_REASON_NONE;
  if (admission->queue == HR_NONE)
    admission->reject = HR_REASON_POLICY;
  else if (!fits_queue(world, &world->kinds[admission->kind], admission->queue,
                       hr__kai_is_preemptible(world->config, trace, job)))
    admission->reject = HR_REASON_OVER_QUOTA;
  return true;
}

/* ---- Settings --------------------------------------------------------------------------------------- */

struct hr_kai_scheduler hr__kai_default_scheduler(void) {
  return (struct hr_kai_scheduler){.period_us = HR_SECOND_US,
                                   .k_value = 1,
                                   .saturation_multiplier = 1,
                                   .gpu_placement = HR_KAI_BINPACK,
                                   .cpu_placement = HR_KAI_BINPACK,
                                   .allow_consolidating_reclaim = true,
                                   .max_consolidation_victims = 16,
                                   .stale_grace_us = 60 * HR_SECOND_US,
                                   .reclaim_method = HR_KAI_RECLAIM_LCA,
                                   .termination_grace_us = 30 * HR_SECOND_US,
                                   .signatures = true};
}

static struct hr__kai_config settings_of(const struct hr_kai_scheduler *scheduler) {
  struct hr__kai_config settings = hr__kai_default_config();
  settings.gpu_pack = !scheduler->gpu_spread;
  settings.gpu_spread = scheduler->gpu_spread;
  settings.allow_consolidating_reclaim = scheduler->allow_consolidating_reclaim;
  settings.gpu_placement = scheduler->gpu_placement == HR_KAI_SPREAD ? HR__KAI_SPREAD : HR__KAI_BINPACK;
  settings.cpu_placement = scheduler->cpu_placement == HR_KAI_SPREAD ? HR__KAI_SPREAD : HR__KAI_BINPACK;
  settings.reclaim_method = scheduler->reclaim_method;
  settings.preempt_min_runtime_us = scheduler->preempt_min_runtime_us;
  settings.reclaim_min_runtime_us = scheduler->reclaim_min_runtime_us;
  settings.max_consolidation_victims = scheduler->max_consolidation_victims;
  settings.stale_grace_us = scheduler->stale_grace_us;
  settings.k_value = scheduler->k_value;
  settings.saturation_multiplier = scheduler->saturation_multiplier;
  settings.signatures = scheduler->signatures;
  settings.depth[HR__KAI_ALLOCATE] = (uint32_t)scheduler->allocate_depth;
  settings.depth[HR__KAI_CONSOLIDATE] = (uint32_t)scheduler->consolidation_depth;
  settings.depth[HR__KAI_RECLAIM_ACTION] = (uint32_t)scheduler->reclaim_depth;
  settings.depth[HR__KAI_PREEMPT] = (uint32_t)scheduler->preempt_depth;
  return settings;
}

/* ---- Queues ----------------------------------------------------------------------------------------- */

static void set_share(struct hr__kai_share *share, const struct hr_kai_resource *resource, double unit) {
  share->deserved = resource->quota < 0 ? HR__KAI_UNLIMITED : llround(resource->quota * unit);
  share->limit = resource->limit < 0 ? HR__KAI_UNLIMITED : llround(resource->limit * unit);
  share->weight = resource->over_quota_weight;
}

static bool create_queues(struct hr__kai_world *world, const struct hr_kai_config *config) {
  static const struct hr_kai_resource unlimited = {-1, -1, 1};
  const uint32_t n = config && config->n_queues ? config->n_queues : 1;
  if (!HR__ARENA_ARRAY(world->arena, world->queues, n) || !HR__ARENA_ARRAY(world->arena, world->queue_names, n) ||
      !HR__ARENA_ARRAY(world->arena, world->jobs_in_queue, n) ||
      !HR__ARENA_ARRAY(world->arena, world->classes_in_queue, n) || !HR__ARENA_ARRAY(world->arena, world->leaves, n))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__kai_queue *queue = &world->queues[i];
    const struct hr_kai_queue *described = config && config->n_queues ? &config->queues[i] : NULL;
    world->queue_names[i] = described ? described->name : "default-queue";
    *queue = (struct hr__kai_queue){.parent = described ? described->above : HR__KAI_NONE,
                                    .n_children = described ? described->n_below : 0,
                                    .name_rank = i,
                                    .priority = described ? described->priority : 100,
                                    .created = i,
                                    .preempt_min_runtime_us = described ? described->preempt_min_runtime_us : -1,
                                    .reclaim_min_runtime_us = described ? described->reclaim_min_runtime_us : -1};
    if (queue->preempt_min_runtime_us < 0) queue->preempt_min_runtime_us = -1;
    if (queue->reclaim_min_runtime_us < 0) queue->reclaim_min_runtime_us = -1;
    set_share(&queue->share[HR__KAI_GPU], described ? &described->gpu : &unlimited, HR__KAI_GPU_UNIT);
    set_share(&queue->share[HR__KAI_CPU], described ? &described->cpu : &unlimited, 1);
    set_share(&queue->share[HR__KAI_MEM], described ? &described->memory : &unlimited, (double)mb_bytes);
  }
  world->cluster.queues = world->queues;
  world->cluster.n_queues = n;
  world->cluster.jobs_in_queue = world->jobs_in_queue;
  world->cluster.classes_in_queue = world->classes_in_queue;
  return true;
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Adds a dimension for each MIG profile of the pools. False: out of memory. */
static bool create_dimensions(struct hr__kai_world *world) {
  uint32_t most = 0;
  world->cluster.n_dims = HR__KAI_DIM_MIG;
  for (uint32_t p = 0; p < world->n_pools; p++) most += spec_of(world, p)->mig ? HR_MIG_PROFILES : 0;
  int64_t *slices;
  if (!HR__ARENA_ARRAY(world->arena, slices, HR__KAI_DIM_MIG + most) ||
      !HR__ARENA_ARRAY(world->arena, world->profiles, most))
    return false;
  world->cluster.mig_slices = slices;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const struct hr_mig_spec *mig = spec_of(world, p)->mig;
    for (uint32_t i = 0; mig && i < mig->type.n_profiles; i++) {
      if (dimension_of(world, mig->type.profiles[i].name)) continue;
      world->profiles[world->cluster.n_dims - HR__KAI_DIM_MIG] = mig->type.profiles[i].name;
      slices[world->cluster.n_dims++] = mig->type.profiles[i].compute_slices;
    }
  }
  return true;
}

static bool create_pool(struct hr__kai_world *world, uint32_t pool) {
  const struct hr_pool_spec *spec = spec_of(world, pool);
  int64_t *amounts;
  if (!HR__ARENA_ARRAY(world->arena, amounts, world->cluster.n_dims)) return false;
  if (world->counts_cpu) {
    amounts[HR__KAI_DIM_CPU] = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : unknown_cpu;
    amounts[HR__KAI_DIM_MEM] =
        spec->mem_mib_per_node ? (int64_t)spec->mem_mib_per_node * HR__KAI_MIB_BYTES : unknown_mem;
  }
  amounts[HR__KAI_DIM_PODS] = HR__KAI_MANY_PODS;
  amounts[HR__KAI_DIM_GPUS] = spec->mig ? 0 : spec->gpus_per_node;
  for (uint32_t i = 0; spec->mig && i < spec->mig->type.n_profiles; i++)
    amounts[dimension_of(world, spec->mig->type.profiles[i].name)] = count_instances(spec, i);
  world->node_amounts[pool] = amounts;
  const uint32_t first = hr_cluster_first_node(world->simulated, (hr_pool){pool}).id;
  for (uint32_t n = first; n < first + spec->nodes; n++) {
    struct hr__kai_node *node = &world->nodes[n];
    const uint32_t *order = hr_cluster_spec_of(world->simulated)->node_order;
    const int64_t mib = spec->gpu_mem_mib >= 100 ? spec->gpu_mem_mib - spec->gpu_mem_mib % 100 : unknown_gpu_mib;
    *node = (struct hr__kai_node){.allocatable = world->no_amounts,
                                  .gpu_mib = mib,
                                  .n_gpus = spec->gpus_per_node,
                                  .name_rank = order ? order[n] : n,
                                  .mig = spec->mig ? HR__KAI_MIG_MIXED : HR__KAI_MIG_NONE};
    world->pool_of[n] = pool;
  }
  return true;
}

static bool create_nodes(struct hr__kai_world *world) {
  struct hr__kai_cluster *cluster = &world->cluster;
  world->n_pools = hr_cluster_pools(world->simulated);
  for (uint32_t p = 0; p < world->n_pools; p++) cluster->n_nodes += spec_of(world, p)->nodes;
  if (!create_dimensions(world)) return false;
  world->counts_cpu = hr_cluster_gpu_inventory(world->simulated) != NULL;
  if (!HR__ARENA_ARRAY(world->arena, world->nodes, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(world->arena, world->pool_of, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(world->arena, world->is_up, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(world->arena, world->node_amounts, world->n_pools) ||
      !HR__ARENA_ARRAY(world->arena, world->no_amounts, cluster->n_dims))
    return false;
  for (uint32_t p = 0; p < world->n_pools; p++)
    if (!create_pool(world, p)) return false;
  cluster->nodes = world->nodes;
  return true;
}

static uint32_t group_of(const struct hr__kai_world *world, uint32_t node, enum hr_tier tier) {
  const struct hr_pool_spec *spec = spec_of(world, world->pool_of[node]);
  const uint32_t number = node - hr_cluster_first_node(world->simulated, (hr_pool){world->pool_of[node]}).id;
  return hr_topology_group(&spec->topology, tier, spec->nodes, number);
}

static bool create_topology(struct hr__kai_world *world) {
  static const enum hr_tier tiers[] = {HR_TIER_ANY, HR_TIER_POOL, HR_TIER_ZONE, HR_TIER_RACK, HR_TIER_NODE};
  const uint32_t n_nodes = world->cluster.n_nodes;
  uint32_t *domain_of, *ranks, n_domains = 1;
  struct hr__kai_topology *topology = hr_arena_alloc(world->arena, sizeof *topology);
  if (!topology || !HR__ARENA_ARRAY(world->arena, domain_of, (size_t)(HR__KAI_N_LEVELS + 1) * n_nodes) ||
      !HR__ARENA_ARRAY(world->arena, ranks, (size_t)HR__KAI_N_LEVELS * n_nodes + 1))
    return false;
  for (uint32_t level = 1; level <= HR__KAI_N_LEVELS; level++)
    for (uint32_t n = 0; n < n_nodes; n++) {
      const bool same = n > 0 && world->pool_of[n] == world->pool_of[n - 1] &&
                        group_of(world, n, tiers[level]) == group_of(world, n - 1, tiers[level]);
      domain_of[level * n_nodes + n] = same ? n_domains - 1 : n_domains++;
    }
  for (uint32_t d = 0; d < n_domains; d++) ranks[d] = d;
  *topology = (struct hr__kai_topology){
      .n_levels = HR__KAI_N_LEVELS, .domain_of = domain_of, .n_domains = n_domains, .id_ranks = ranks};
  world->cluster.topologies = topology;
  world->cluster.n_topologies = 1;
  return true;
}

void hr__kai_set_up(struct hr__kai_world *world, uint32_t node, bool is_up) {
  if (world->is_up[node] == is_up) return;
  world->is_up[node] = is_up;
  hr__kai_set_allocatable(world->session, &world->nodes[node],
                          is_up ? world->node_amounts[world->pool_of[node]] : world->no_amounts);
}

/* ---- Creation --------------------------------------------------------------------------------------- */

/* Whether elastic jobs may be resized: allocation is counted, and no pool is elastic. */
static bool may_resize(const struct hr_policy_env *env) {
  bool rents = false, some = false;
  for (uint32_t p = 0; p < hr_cluster_pools(env->cluster); p++)
    rents = rents || hr_market_is_elastic(hr_cluster_pool_spec(env->cluster, (hr_pool){p})->market.market);
  if (rents || hr_cluster_requests(env->cluster) || (!env->jobs->min_gpus && !env->jobs->max_gpus)) return false;
  for (uint32_t j = 0; j < env->jobs->n_jobs && !some; j++) {
    const struct hr_sizes sizes = hr_cluster_sizes(env->cluster, (hr_job){j});
    some = sizes.min != sizes.max;
  }
  return some;
}

enum hr_status hr__kai_world_create(struct hr__kai_world *world, const struct hr_policy_env *env,
                                    const struct hr_kai_config *config, bool is_plain, struct hr_error *error) {
  const struct hr_kai_scheduler scheduler = config ? config->scheduler : hr__kai_default_scheduler();
  *world = (struct hr__kai_world){.arena = env->arena, .trace = env->jobs, .simulated = env->cluster, .config = config};
  world->resizes = may_resize(env);
  world->is_plain = is_plain || world->resizes;
  for (uint32_t p = 0; p < hr_cluster_pools(env->cluster); p++) {
    const struct hr_pool_spec *spec = spec_of(world, p);
    if (spec->nodes == 0 || spec->sharing == HR_SHARING_WHOLE || spec->sharing == HR_SHARING_FRACTION) continue;
    if (spec->mig && spec->mig->mode == HR_MIG_STATIC) continue;
    return hr_fail(error, HR_BAD_INPUT,
                   "policy 'kai': pool '%.60s' has the sharing '%s'; expected whole, fraction, or mig in mode static",
                   spec->name, hr_sharing_name(spec->sharing));
  }
  world->cluster.config = settings_of(&scheduler);
  world->slot_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *world->slot_of);
  if (!world->slot_of || !create_queues(world, config) || !create_nodes(world) || !create_topology(world) ||
      !hr__kai_gpus_create(world))
    return HR_NO_MEMORY;
  const bool has_queues = config && config->n_queues > 0;
  world->default_queue = has_queues ? find_queue(world, config->default_queue) : 0;
  int64_t least = INT64_MAX;
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++)
    if (world->nodes[n].gpu_mib < least) least = world->nodes[n].gpu_mib;
  if (world->cluster.n_nodes > 0) world->cluster.config.min_gpu_mib = least;
  return hr__kai_make_room(world, 1, 0) ? HR_OK : HR_NO_MEMORY;
}

/* ---- Past usage ------------------------------------------------------------------------------------- */

/*
 * Records the allocations of queues over time, and computes their past usage.
 *
 * An amount is constant between two events, so a history is a list of pieces; each piece stores the integral up to its
 * start. The integral over a window is the integral at its end minus the decayed integral at its start. Pieces before
 * the window are dropped. Invariant: the last piece of a history has the amount that was valid up to `recorded_us`.
 *
 * KAI queries Prometheus for sums of samples, one per minute. Integrals are the limit of these sums for short
 * intervals.
 *
 * Source: KAI-Scheduler, cache/usagedb.
 */

static const double ln2 = 0.69314718055994530942;

/* ---- Past usage: histories -------------------------------------------------------------------------- */

/* The factor by which an integral decays within some time. */
static double kept_after(const struct hr_kai_usage *rules, int64_t time_us) {
  return rules->half_life_us > 0 ? exp2(-(double)time_us / (double)rules->half_life_us) : 1;
}

/* The integral up to a time within the piece, decayed to that time. */
static double integral_at(const struct hr_kai_usage *rules, const struct hr__kai_piece *piece, int64_t at_us) {
  const int64_t time_us = at_us - piece->from_us;
  if (rules->half_life_us == 0) return piece->integral + piece->amount * (double)time_us;
  const double kept = kept_after(rules, time_us);
  return piece->integral * kept + piece->amount * ((double)rules->half_life_us / ln2) * (1 - kept);
}

/* Makes room for one more piece. False: out of memory. */
static bool make_room(struct hr_arena *arena, struct hr__kai_history *history) {
  struct hr__kai_piece *old = history->pieces;
  const uint32_t n = history->end - history->first;
  if (old && history->end < history->capacity) return true;
  if (old && 2 * n <= history->capacity) {
    memmove(old, old + history->first, n * sizeof *old);
  } else {
    const uint32_t capacity = 2 * n + 8;
    history->pieces = hr_arena_alloc(arena, capacity * sizeof *history->pieces);
    if (!history->pieces) return false;
    if (old) memcpy(history->pieces, old + history->first, n * sizeof *old);
    history->capacity = capacity;
  }
  history->first = 0;
  history->end = n;
  return true;
}

/* Records an amount that is valid from `from_us` on. False: out of memory. */
static bool record(struct hr__kai_past *past, struct hr__kai_history *history, double amount, int64_t from_us) {
  struct hr__kai_piece *last = history->end > history->first ? &history->pieces[history->end - 1] : NULL;
  if (last ? last->amount == amount : amount == 0) return true;
  const double integral = last ? integral_at(&past->rules, last, from_us) : 0;
  if (last && last->from_us == from_us) {
    last->amount = amount;
    return true;
  }
  if (!make_room(past->world->arena, history)) return false;
  history->pieces[history->end++] = (struct hr__kai_piece){from_us, integral, amount};
  return true;
}

/* The integral over a window. A later call must not have an earlier `from_us`, because older pieces are dropped. */
static double integral_over(const struct hr_kai_usage *rules, struct hr__kai_history *history, int64_t from_us,
                            int64_t to_us) {
  if (history->end == history->first) return 0;
  while (history->first + 1 < history->end && history->pieces[history->first + 1].from_us <= from_us) history->first++;
  const struct hr__kai_piece *first = &history->pieces[history->first], *last = &history->pieces[history->end - 1];
  if (last->amount == 0 && last->from_us <= from_us) return 0;
  const double all = integral_at(rules, last, to_us);
  if (first->from_us >= from_us) return all - first->integral * kept_after(rules, to_us - first->from_us);
  return all - integral_at(rules, first, from_us) * kept_after(rules, to_us - from_us);
}

/* ---- Past usage: windows ---------------------------------------------------------------------------- */

/* Records the present amounts, which are valid since `recorded_us`. False: out of memory. */
static bool record_all(struct hr__kai_past *past) {
  const struct hr__kai_cluster *cluster = &past->world->cluster;
  bool done = true;
  for (int r = 0; r < HR__KAI_RESOURCES && done; r++)
    done = record(past, &past->capacity[r], (double)past->world->session->total.of[r], past->recorded_us);
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES && done; r++)
      done = record(past, &past->queues[q * HR__KAI_RESOURCES + (uint32_t)r],
                    (double)cluster->queues[q].share[r].allocated, past->recorded_us);
  return done;
}

/* The start of the window that ends at a time. */
static int64_t window_start(const struct hr_kai_usage *rules, int64_t at_us) {
  if (rules->window == HR_KAI_TUMBLING) return at_us / rules->window_us * rules->window_us;
  return at_us > rules->window_us ? at_us - rules->window_us : 0;
}

/* Computes the usage at the time `at_us`. No amount may have changed since then. */
static void fetch(struct hr__kai_past *past, int64_t at_us) {
  const int64_t from_us = window_start(&past->rules, at_us);
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const double total = integral_over(&past->rules, &past->capacity[r], from_us, at_us);
    for (uint32_t q = 0; q < past->world->cluster.n_queues; q++) {
      struct hr__kai_share *share = &past->world->queues[q].share[r];
      const double held =
          integral_over(&past->rules, &past->queues[q * HR__KAI_RESOURCES + (uint32_t)r], from_us, at_us);
      const double usage = total > 0 && held > 0 ? held / total : 0;
      past->changed = past->changed || usage != share->usage;
      share->usage = usage;
    }
  }
  past->fetched_us = at_us;
}

bool hr__kai_past_create(struct hr__kai_past *past, struct hr__kai_world *world, const struct hr_kai_usage *rules) {
  *past = (struct hr__kai_past){.world = world, .rules = *rules};
  return HR__ARENA_ARRAY(world->arena, past->queues, (size_t)world->cluster.n_queues * HR__KAI_RESOURCES);
}

bool hr__kai_past_advance(struct hr__kai_past *past, int64_t now_us) {
  if (now_us == past->recorded_us) return true;
  if (!record_all(past)) return false;
  const int64_t due_us = now_us / past->rules.fetch_interval_us * past->rules.fetch_interval_us;
  if (due_us > past->fetched_us) fetch(past, due_us);
  past->recorded_us = now_us;
  return true;
}
