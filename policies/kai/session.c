/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates a session: counts the pods on their nodes, sums the allocations and requests of queues, and divides the
 * cluster among the queues. Further parts are the checks of a session for checked mode, and the rules of queues.
 *
 * Invariant: the counts of pod sets and jobs agree with the statuses of the pods; a node counts its pods with a status
 * in HR__KAI_USED.
 *
 * Source: KAI-Scheduler, framework/session, plugins/proportion and api/podgroup_info.
 */

#include "policies/kai/session.h"

#include <math.h>

enum { FIRST_CHANGES = 1024, FIRST_OPERATIONS = 64 };

struct hr__kai_config hr__kai_default_config(void) {
  return (struct hr__kai_config){.proportion = true,
                                 .priority = true,
                                 .elastic = true,
                                 .predicates = true,
                                 .node_availability = true,
                                 .gpu_sharing_order = true,
                                 .gpu_pack = true,
                                 .resource_type = true,
                                 .pod_set_order = true,
                                 .task_order = true,
                                 .topology = true,
                                 .min_runtime = true,
                                 .allow_consolidating_reclaim = true,
                                 .gpu_placement = HR__KAI_BINPACK,
                                 .cpu_placement = HR__KAI_BINPACK,
                                 .reclaim_method = HR_KAI_RECLAIM_LCA,
                                 .max_consolidation_victims = -1,
                                 .min_gpu_mib = 100,
                                 .k_value = 1,
                                 .saturation_multiplier = 1};
}

struct hr__kai_amounts hr__kai_request_of(const struct hr__kai_cluster *cluster, uint32_t pod) {
  struct hr__kai_amounts amounts = cluster->pods[pod].quota;
  if (cluster->pods[pod].kind == HR__KAI_MEMORY && cluster->config.min_gpu_mib > 0)
    amounts.of[HR__KAI_GPU] +=
        cluster->pods[pod].n_devices * cluster->pods[pod].gpu_mib * HR__KAI_GPU_UNIT / cluster->config.min_gpu_mib;
  return amounts;
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* Allocates the lists of shared GPUs. Each pod has 1 + HR__KAI_ENTRIES lists, each with room for `n_devices` GPUs. */
static bool allocate_gpus(struct hr__kai_session *session, const struct hr__kai_start *start) {
  const struct hr__kai_cluster *cluster = session->cluster;
  uint32_t n = 0, n_shared = 0;
  if (!HR__ARENA_ARRAY(session->arena, session->first_gpu, cluster->n_pods)) return false;
  for (uint32_t p = 0; p < cluster->n_pods; p++) {
    session->first_gpu[p] = n;
    n += (1 + HR__KAI_ENTRIES) * cluster->pods[p].n_devices;
    n_shared += HR__KAI_ENTRIES * cluster->pods[p].n_devices;
    for (uint32_t i = 0; i < start[p].n_gpus; i++)
      if (start[p].gpus[i] >= session->max_shared) session->max_shared = start[p].gpus[i] + 1;
  }
  session->n_shared = session->max_shared;
  session->max_shared = larger(session->max_shared + n_shared, cluster->room_shared);
  session->n_devices = n;
  return HR__ARENA_ARRAY(session->arena, session->gpus, larger(n, (1 + HR__KAI_ENTRIES) * cluster->room_devices)) &&
         HR__ARENA_ARRAY(session->arena, session->shared, session->max_shared);
}

static bool allocate_state(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const size_t n_nodes = cluster->n_nodes, cells = n_nodes * cluster->n_dims;
  struct hr_arena *arena = session->arena;
  session->max_changes = FIRST_CHANGES;
  session->max_operations = FIRST_OPERATIONS;
  return HR__ARENA_ARRAY(arena, session->idle, cells) && HR__ARENA_ARRAY(arena, session->releasing, cells) &&
         HR__ARENA_ARRAY(arena, session->used_gpus, n_nodes) &&
         HR__ARENA_ARRAY(arena, session->first_shared, n_nodes) &&
         HR__ARENA_ARRAY(arena, session->pods, cluster->n_pods) &&
         HR__ARENA_ARRAY(arena, session->sets, cluster->n_sets) &&
         HR__ARENA_ARRAY(arena, session->jobs, cluster->n_jobs) &&
         HR__ARENA_ARRAY(arena, session->is_recounted, n_nodes) &&
         HR__ARENA_ARRAY(arena, session->hopeful, cluster->n_jobs) &&
         HR__ARENA_ARRAY(arena, session->ids, cluster->n_queues) &&
         HR__ARENA_ARRAY(arena, session->remainders, cluster->n_queues) &&
         HR__ARENA_ARRAY(arena, session->changes, FIRST_CHANGES) &&
         HR__ARENA_ARRAY(arena, session->operations, FIRST_OPERATIONS);
}

/* ---- Start ------------------------------------------------------------------------------------------ */

static void start_nodes(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    const int64_t *allocatable = cluster->nodes[n].allocatable;
    session->first_shared[n] = -1;
    for (uint32_t d = 0; d < cluster->n_dims; d++) hr__kai_add_capacity(session, n, d, allocatable[d]);
  }
}

/* Adds the shared GPUs that pods use to the lists of their nodes. */
static void start_shared(struct hr__kai_session *session, const struct hr__kai_start *start) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (int64_t g = 0; g < session->n_shared; g++) session->shared[g] = (struct hr__kai_shared_gpu){.next = -2};
  for (uint32_t p = 0; p < cluster->n_pods; p++) {
    if (start[p].node == HR__KAI_NONE || !hr__kai_is(start[p].status, HR__KAI_USED)) continue;
    for (uint32_t i = 0; i < start[p].n_gpus; i++) {
      struct hr__kai_shared_gpu *shared = &session->shared[start[p].gpus[i]];
      if (shared->next != -2) continue;
      *shared = (struct hr__kai_shared_gpu){.next = -1, .reserved = true};
      int64_t *link = &session->first_shared[start[p].node];
      while (*link >= 0) link = &session->shared[*link].next;
      *link = start[p].gpus[i];
    }
  }
}

static void start_pod(struct hr__kai_session *session, uint32_t pod, const struct hr__kai_start *start) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  struct hr__kai_pod_state *state = &session->pods[pod];
  *state = (struct hr__kai_pod_state){.status = start->status,
                                      .node = start->node == HR__KAI_NONE ? -1 : (int64_t)start->node};
  for (int i = 0; i < HR__KAI_ENTRIES; i++) state->on_node[i] = -1;
  for (uint32_t i = 0; i < start->n_gpus && i < described->n_devices; i++)
    hr__kai_gpus_of(session, pod, 0)[state->n_gpus++] = start->gpus[i];
  if (start->node != HR__KAI_NONE && hr__kai_is(start->status, HR__KAI_USED))
    hr__kai_count_on(session, pod, start->node);

  if (described->job == HR__KAI_NONE) return;
  struct hr__kai_set_state *set = &session->sets[described->pod_set];
  struct hr__kai_job_state *job = &session->jobs[described->job];
  set->count[start->status]++;
  set->n_active += hr__kai_is(start->status, HR__KAI_ACTIVE);
  set->n_used += hr__kai_is(start->status, HR__KAI_USED);
  set->n_alive += hr__kai_is(start->status, HR__KAI_ALIVE);
  job->n_active += hr__kai_is(start->status, HR__KAI_ACTIVE);
  job->n_used += hr__kai_is(start->status, HR__KAI_USED);
  job->n_pending += start->status == HR__KAI_PENDING;
  job->n_succeeded += start->status == HR__KAI_SUCCEEDED;
  if (hr__kai_is(start->status, HR__KAI_HOLDING)) hr__kai_add(&job->allocated, &described->quota);
}

static void start_queues(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      share->fair = share->allocated = share->allocated_non_preemptible = share->request = 0;
    }
  for (uint32_t p = 0; p < cluster->n_pods; p++) {
    if (cluster->pods[p].job != HR__KAI_NONE) hr__kai_count_share(session, p, 1);
    session->n_changes = 0;
  }
  hr__kai_divide_tree(cluster->queues, cluster->n_queues, &session->total, cluster->config.k_value, session->ids,
                      session->remainders);
}

struct hr__kai_session *hr__kai_session_create(struct hr_arena *arena, const struct hr__kai_cluster *cluster,
                                               const struct hr__kai_start *start) {
  struct hr__kai_session *session = hr_arena_alloc(arena, sizeof *session);
  if (!session) return NULL;
  *session = (struct hr__kai_session){.arena = arena, .cluster = cluster, .part_job = HR__KAI_NONE, .free_shared = -1};
  if (!allocate_gpus(session, start) || !allocate_state(session)) return NULL;
  start_nodes(session);
  start_shared(session, start);
  for (uint32_t i = 0; i < cluster->n_pods; i++) {
    const uint32_t pod = cluster->start_order ? cluster->start_order[i] : i;
    start_pod(session, pod, &start[pod]);
  }
  start_queues(session);
  return session->no_memory ? NULL : session;
}

/* ---- Checked mode ----------------------------------------------------------------------------------- */

/*
 * Checks a session: the counts of pod sets and jobs, the sums of nodes and queues, and that gangs are complete.
 *
 * All sums are computed again from the states of the pods. A node counts the pods that have an entry for it; its GPUs
 * are compared only if it has no shared GPUs. A pod set with pods that were bound in the session has at least its
 * minimum of active pods. A node does not allocate more than its capacity. There are two exceptions. If the node counts
 * a pod that another node counts, too, KAI may have placed this pod back without a check. If the description of the
 * node allows no pods, the node has left the cluster, but its pods may still be on it.
 */

static const char *check_sets(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t s = 0; s < cluster->n_sets; s++) {
    const struct hr__kai_set_state *set = &session->sets[s];
    int64_t count[HR__KAI_N_STATUSES] = {0}, n_active = 0, n_used = 0;
    for (uint32_t i = 0; i < cluster->sets[s].n_pods; i++) {
      const int64_t status = session->pods[cluster->pods_of_sets[cluster->sets[s].first_pod + i]].status;
      count[status]++;
      n_active += hr__kai_is(status, HR__KAI_ACTIVE);
      n_used += hr__kai_is(status, HR__KAI_USED);
    }
    for (int i = 0; i < HR__KAI_N_STATUSES; i++)
      if (count[i] != set->count[i]) return "a pod set counts its pods by status";
    if (n_active != set->n_active || n_used != set->n_used) return "a pod set counts its active and used pods";
    if (count[HR__KAI_ALLOCATED] > 0) return "no pod is allocated without being bound";
    if (count[HR__KAI_BINDING] > 0 && n_active < cluster->sets[s].min_available) return "bound gangs are complete";
  }
  return NULL;
}

static const char *check_jobs(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t j = 0; j < cluster->n_jobs; j++) {
    struct hr__kai_amounts allocated = {{0}};
    int64_t n_pending = 0;
    const struct hr__kai_job *job = &cluster->jobs[j];
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
      n_pending += session->pods[p].status == HR__KAI_PENDING;
      if (hr__kai_is(session->pods[p].status, HR__KAI_HOLDING)) hr__kai_add(&allocated, &cluster->pods[p].quota);
    }
    if (n_pending != session->jobs[j].n_pending) return "a job counts its pending pods";
    for (int r = 0; r < HR__KAI_RESOURCES; r++)
      if (allocated.of[r] != session->jobs[j].allocated.of[r]) return "a job sums what its pods hold";
  }
  return NULL;
}

static const char *check_node(const struct hr__kai_session *session, uint32_t node, uint32_t dim) {
  const struct hr__kai_cluster *cluster = session->cluster;
  int64_t idle = cluster->nodes[node].allocatable[dim], releasing = 0;
  for (uint32_t p = 0; p < cluster->n_pods; p++)
    for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) {
      if (session->pods[p].on_node[entry] != (int64_t)node) continue;
      const int64_t status = session->pods[p].status_on_node[entry], request = cluster->pods[p].request[dim];
      if (status != HR__KAI_PIPELINED) idle -= request;
      if (status == HR__KAI_RELEASING) releasing += request;
      if (status == HR__KAI_PIPELINED) releasing -= request;
    }
  if (idle != session->idle[node * cluster->n_dims + dim]) return "a node has the idle resources that pods leave";
  if (releasing != session->releasing[node * cluster->n_dims + dim])
    return "a node has the resources that pods release";
  return NULL;
}

static int counts_moved_pods(const struct hr__kai_session *session, uint32_t node) {
  for (uint32_t p = 0; p < session->cluster->n_pods; p++) {
    int n_entries = 0, is_here = 0;
    for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) {
      n_entries += session->pods[p].on_node[entry] >= 0;
      is_here |= session->pods[p].on_node[entry] == (int64_t)node;
    }
    if (is_here && n_entries > 1) return 1;
  }
  return 0;
}

static const char *check_nodes(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t n = 0; n < cluster->n_nodes; n++)
    for (uint32_t d = 0; d < cluster->n_dims; d++) {
      if (d == HR__KAI_DIM_GPUS && session->first_shared[n] >= 0) continue;
      const char *broken = check_node(session, n, d);
      if (broken) return broken;
      const size_t cell = (size_t)n * cluster->n_dims + d;
      const bool is_up = cluster->nodes[n].allocatable[HR__KAI_DIM_PODS] > 0;
      if (is_up && session->idle[cell] + session->releasing[cell] < 0 && !counts_moved_pods(session, n))
        return "a node gives no more than it has";
    }
  return NULL;
}

static const char *check_queues(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    struct hr__kai_amounts all = {{0}}, fixed = {{0}};
    for (uint32_t p = 0; p < cluster->n_pods; p++) {
      if (cluster->pods[p].job == HR__KAI_NONE) continue;
      const struct hr__kai_job *job = &cluster->jobs[cluster->pods[p].job];
      uint32_t at = job->queue;
      while (at != HR__KAI_NONE && at != q) at = cluster->queues[at].parent;
      if (at != q || !hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE)) continue;
      const struct hr__kai_amounts amounts = hr__kai_accepted_of(session, p);
      hr__kai_add(&all, &amounts);
      if (!job->preemptible) hr__kai_add(&fixed, &amounts);
    }
    for (int r = 0; r < HR__KAI_RESOURCES; r++)
      if (all.of[r] != cluster->queues[q].share[r].allocated ||
          fixed.of[r] != cluster->queues[q].share[r].allocated_non_preemptible)
        return "a queue sums what its pods hold";
  }
  return NULL;
}

const char *hr__kai_check(const struct hr__kai_session *session) {
  if (session->n_operations > 0) return "no statement is open";
  const char *broken = check_sets(session);
  if (!broken) broken = check_jobs(session);
  if (!broken) broken = check_nodes(session);
  return broken ? broken : check_queues(session);
}

/* ---- Shares ----------------------------------------------------------------------------------------- */

/*
 * Divides the cluster among the queues of KAI.
 *
 * First, each queue gets its quota, at most its request. The rest is divided by priority, from high to low. Within a
 * priority, queues that request more than they have get whole units in proportion to their weights, which are reduced
 * by past usage. This is repeated while some queue requested less than its part. Units that are left by rounding are
 * assigned one by one to the queues with the largest remainders. Amounts are whole numbers. Only the parts are computed
 * as doubles, in the order of the queues.
 *
 * Source: KAI-Scheduler, plugins/proportion/resource_division and plugins/proportion/resource_share.
 */

static const double unit_of[HR__KAI_RESOURCES] = {1, 1, HR__KAI_GPU_UNIT};

/* ---- Shares: order ---------------------------------------------------------------------------------- */

double hr__kai_dominant_share(const struct hr__kai_queue *queue, const struct hr__kai_amounts *allocated,
                              const struct hr__kai_amounts *total) {
  double dominant = 0;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    int64_t allocatable = hr__kai_allocatable(&queue->share[r]);
    if (allocatable == HR__KAI_UNLIMITED) allocatable = total->of[r];
    const double held = (double)allocated->of[r] / unit_of[r];
    const double value = allocatable == 0 ? held * 1000 : held / ((double)allocatable / unit_of[r]);
    if (value > dominant) dominant = value;
  }
  return dominant;
}

/* ---- Shares: division ------------------------------------------------------------------------------- */

int64_t hr__kai_divide_quotas(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource,
                              int64_t total) {
  int64_t rest = total;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__kai_share *share = &queues[ids[i]].share[resource];
    int64_t amount = share->deserved == HR__KAI_UNLIMITED ? total : share->deserved;
    const int64_t requestable = hr__kai_requestable(share);
    if (requestable < amount) amount = requestable;
    share->fair += amount;
    rest -= amount;
  }
  return rest;
}

static bool satisfied(const struct hr__kai_share *share) {
  if (share->request <= share->fair) return true;
  return share->limit != HR__KAI_UNLIMITED && share->limit <= share->fair;
}

static int64_t still_requested(const struct hr__kai_share *share) {
  const int64_t requestable = hr__kai_requestable(share);
  return requestable < share->fair ? 0 : requestable - share->fair;
}

/* The queues of one priority, among which a resource is divided. */
struct division_level {
  struct hr__kai_queue *queues;
  const uint32_t *ids;
  uint32_t n;
  int resource;
  int32_t priority;
  double k, total_weight;
};

/* The share of a queue in this level, or NULL if the queue is not of this priority. */
static struct hr__kai_share *share_in(const struct division_level *level, uint32_t i) {
  struct hr__kai_queue *queue = &level->queues[level->ids[i]];
  return queue->priority == level->priority ? &queue->share[level->resource] : NULL;
}

static double weight_in_round(const struct division_level *level, const struct hr__kai_share *share) {
  const double part = share->weight / level->total_weight;
  const double weight = part + level->k * (part - share->usage);
  return weight > 0 ? weight : 0;
}

/* Sets the total weight: the sum over the queues that request more. Returns the sum of the weights in this round, which
   consider past usage. */
static double sum_of_weights(struct division_level *level) {
  level->total_weight = 0;
  for (uint32_t i = 0; i < level->n; i++) {
    const struct hr__kai_share *share = share_in(level, i);
    if (share && still_requested(share) > 0) level->total_weight += share->weight;
  }
  if (level->total_weight == 0) return 0;
  double sum = 0;
  for (uint32_t i = 0; i < level->n; i++) {
    const struct hr__kai_share *share = share_in(level, i);
    if (share && !satisfied(share)) sum += weight_in_round(level, share);
  }
  return sum;
}

/* Performs one round of the division. Returns whether another round is necessary. */
static bool divide_round(struct division_level *level, int64_t *total, double *remainders) {
  const double sum = sum_of_weights(level), unit = unit_of[level->resource];
  if (sum == 0) return false;
  const double amount = (double)*total / unit;
  bool took_less = false;
  for (uint32_t i = 0; i < level->n && *total != 0; i++) {
    struct hr__kai_share *share = share_in(level, i);
    if (!share || satisfied(share) || share->weight == 0) continue;
    const int64_t requested = still_requested(share);
    const double part = amount * (weight_in_round(level, share) / sum);
    int64_t given = requested;
    if ((double)requested / unit <= part) {
      remainders[i] = 0;
    } else {
      const double whole = floor(part) > 0 ? floor(part) : 0;
      given = (int64_t)(whole * unit);
      if (part - whole > 0) remainders[i] = part - whole;
    }
    if (given == 0) continue;
    share->fair += given;
    *total -= given;
    took_less = took_less || (double)requested / unit < part;
  }
  return took_less && *total != 0;
}

/* The queue of the level with the largest remainder; `n`: none. Ties are broken by age (the older queue), then by
   name. */
static uint32_t largest_remainder(const struct division_level *level, const double *remainders) {
  uint32_t best = level->n;
  for (uint32_t i = 0; i < level->n; i++) {
    if (!share_in(level, i) || !(remainders[i] > 0)) continue;
    if (best < level->n) {
      const struct hr__kai_queue *a = &level->queues[level->ids[i]], *b = &level->queues[level->ids[best]];
      if (remainders[i] < remainders[best]) continue;
      if (remainders[i] == remainders[best] &&
          (a->created > b->created || (a->created == b->created && a->name_rank > b->name_rank)))
        continue;
    }
    best = i;
  }
  return best;
}

/* The highest priority below `limit` among the queues; INT64_MIN: none. */
static int64_t next_priority(const struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int64_t limit) {
  int64_t best = INT64_MIN;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t priority = queues[ids[i]].priority;
    if (priority < limit && priority > best) best = priority;
  }
  return best;
}

int64_t hr__kai_divide_rest(struct hr__kai_queue *queues, const uint32_t *ids, uint32_t n, int resource, int64_t total,
                            double k, double *remainders) {
  struct division_level level = {.queues = queues, .ids = ids, .n = n, .resource = resource, .k = k};
  for (uint32_t i = 0; i < n; i++) remainders[i] = 0;
  for (int64_t at = INT64_MAX; (at = next_priority(queues, ids, n, at)) != INT64_MIN;) {
    level.priority = (int32_t)at;
    while (divide_round(&level, &total, remainders)) {
    }
  }
  const int64_t unit = (int64_t)unit_of[resource];
  for (int64_t at = INT64_MAX; total > 0 && (at = next_priority(queues, ids, n, at)) != INT64_MIN;) {
    level.priority = (int32_t)at;
    for (uint32_t i; total != 0 && (i = largest_remainder(&level, remainders)) < n;) {
      const int64_t given = total < unit ? total : unit;
      queues[ids[i]].share[resource].fair += given;
      remainders[i] = 0;
      total -= given;
    }
  }
  return total;
}

/* Writes the children of `parent` to `ids` and returns their number. */
static uint32_t children_of(const struct hr__kai_queue *queues, uint32_t n, uint32_t parent, uint32_t *ids) {
  uint32_t count = 0;
  for (uint32_t q = 0; q < n; q++)
    if (queues[q].parent == parent) ids[count++] = q;
  return count;
}

/* The number of queues above a queue. If its ancestors form a cycle, the result is larger than any depth. */
static uint32_t depth_of(const struct hr__kai_queue *queues, uint32_t n, uint32_t queue) {
  uint32_t depth = 0;
  for (uint32_t q = queues[queue].parent; q != HR__KAI_NONE && depth <= n; q = queues[q].parent) depth++;
  return depth;
}

void hr__kai_divide_tree(struct hr__kai_queue *queues, uint32_t n, const struct hr__kai_amounts *total, double k,
                         uint32_t *ids, double *remainders) {
  const uint32_t n_top = children_of(queues, n, HR__KAI_NONE, ids);
  for (int r = 0; r < HR__KAI_RESOURCES; r++) hr__kai_divide(queues, ids, n_top, r, total->of[r], k, remainders);
  bool deeper = n_top > 0;
  for (uint32_t depth = 0; deeper; depth++) {
    deeper = false;
    for (uint32_t q = 0; q < n; q++) {
      if (depth_of(queues, n, q) != depth) continue;
      const uint32_t n_children = children_of(queues, n, q, ids);
      for (int r = 0; r < HR__KAI_RESOURCES; r++)
        hr__kai_divide(queues, ids, n_children, r, queues[q].share[r].fair, k, remainders);
      deeper = deeper || n_children > 0;
    }
  }
}

/* ---- Shares: rules of queues ------------------------------------------------------------------------ */

/*
 * Limits, and what may be reclaimed.
 *
 * A victim may be evicted in two cases:
 * - Its queue holds more than its allocatable amount (hr__kai_allocatable) of a resource.
 * - Its queue exceeds its quota, and the reclaiming queue stays within its own quota with the request.
 *
 * The two queues are compared at the level at which their paths from the top split. After all evictions, each queue on
 * the path of the reclaimer must be within its fair share, or be less saturated than every sibling that lost pods. The
 * scratch array `remaining` has one entry per queue; only the entries of queues that lost pods are used.
 *
 * Source: KAI-Scheduler, plugins/proportion/capacity_policy and reclaimable, and plugins/minruntime.
 */

/* ---- Shares: limits --------------------------------------------------------------------------------- */

bool hr__kai_over_limit(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &queue->share[r];
    if (share->limit != HR__KAI_UNLIMITED && request->of[r] != 0 && share->limit < share->allocated + request->of[r])
      return true;
  }
  return false;
}

bool hr__kai_over_quota(const struct hr__kai_queue *queue, const struct hr__kai_amounts *request) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const struct hr__kai_share *share = &queue->share[r];
    if (share->deserved != HR__KAI_UNLIMITED && request->of[r] != 0 &&
        share->deserved < share->allocated_non_preemptible + request->of[r])
      return true;
  }
  return false;
}

/* ---- Shares: reclaim -------------------------------------------------------------------------------- */

/* Whether the non-preemptible jobs of the queue stay within its quota. Always true for a preemptible reclaimer. */
static bool fits_quota(const struct hr__kai_queue *queue, const struct hr__kai_reclaimer *reclaimer) {
  if (reclaimer->preemptible) return true;
  struct hr__kai_amounts sum = hr__kai_non_preemptible_of(queue);
  const struct hr__kai_amounts deserved = hr__kai_deserved_of(queue);
  hr__kai_add(&sum, &reclaimer->request);
  return hr__kai_at_most(&sum, &deserved);
}

bool hr__kai_may_reclaim(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer) {
  const struct hr__kai_queue *queue = &queues[reclaimer->queue];
  struct hr__kai_amounts sum = hr__kai_allocated_of(queue);
  const struct hr__kai_amounts fair = hr__kai_fair_of(queue);
  hr__kai_add(&sum, &reclaimer->request);
  return hr__kai_at_most(&sum, &fair) && fits_quota(queue, reclaimer);
}

bool hr__kai_guarantees_quota(const struct hr__kai_queue *reclaimer, const struct hr__kai_amounts *request,
                              const struct hr__kai_queue *reclaimee, const struct hr__kai_amounts *remaining) {
  struct hr__kai_amounts sum = hr__kai_allocated_of(reclaimer);
  const struct hr__kai_amounts mine = hr__kai_deserved_of(reclaimer), others = hr__kai_deserved_of(reclaimee);
  hr__kai_add(&sum, request);
  return hr__kai_at_most(&sum, &mine) && !hr__kai_at_most(remaining, &others);
}

/* Replaces two queues by their ancestors (or themselves) at the level at which their paths from the top split. If one
   queue is an ancestor of the other, both become that ancestor. */
static void level_queues(const struct hr__kai_queue *queues, uint32_t *a, uint32_t *b) {
  uint32_t depth_a = hr__kai_depth_of(queues, *a), depth_b = hr__kai_depth_of(queues, *b);
  for (; depth_a > depth_b; depth_a--) *a = queues[*a].parent;
  for (; depth_b > depth_a; depth_b--) *b = queues[*b].parent;
  while (*a != *b && queues[*a].parent != queues[*b].parent) {
    *a = queues[*a].parent;
    *b = queues[*b].parent;
  }
}

static struct hr__kai_remaining *touch(const struct hr__kai_queue *queues, struct hr__kai_remaining *remaining,
                                       uint32_t queue) {
  if (!remaining[queue].touched)
    remaining[queue] =
        (struct hr__kai_remaining){.amounts = hr__kai_allocated_of(&queues[queue]), .involved = 0, .touched = true};
  return &remaining[queue];
}

/* Whether the queue `other`, which still holds `left`, may lose a victim. `mine` is the queue on the path of the
   reclaimer with which it is compared. */
static bool may_take(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer, uint32_t mine,
                     uint32_t other, const struct hr__kai_amounts *left) {
  return hr__kai_maintains_fair_share(&queues[other], left) ||
         hr__kai_guarantees_quota(&queues[mine], &reclaimer->request, &queues[other], left);
}

bool hr__kai_may_lose(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer, uint32_t queue) {
  if (reclaimer->queue == HR__KAI_NONE || queue == HR__KAI_NONE) return false;
  uint32_t mine = reclaimer->queue, other = queue;
  level_queues(queues, &mine, &other);
  const struct hr__kai_amounts held = hr__kai_allocated_of(&queues[other]);
  return may_take(queues, reclaimer, mine, other, &held);
}

/* Subtracts all victims of one queue from `remaining`. Returns false if one of them may not be evicted. */
static bool take_from_queue(const struct hr__kai_queue *queues, const struct hr__kai_reclaimer *reclaimer,
                            const struct hr__kai_taken *victims, uint32_t n_victims, uint32_t queue,
                            struct hr__kai_remaining *remaining) {
  if (reclaimer->queue == HR__KAI_NONE || queue == HR__KAI_NONE) return false;
  uint32_t mine = reclaimer->queue, other = queue;
  level_queues(queues, &mine, &other);
  unsigned involved = 0;
  for (uint32_t i = 0; i < n_victims; i++)
    if (victims[i].queue == queue) involved |= victims[i].involved;
  for (uint32_t i = 0; i < n_victims; i++) {
    if (victims[i].queue != queue) continue;
    const struct hr__kai_amounts *left = &touch(queues, remaining, other)->amounts;
    if (!may_take(queues, reclaimer, mine, other, left)) return false;
    for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent) {
      struct hr__kai_remaining *entry = touch(queues, remaining, q);
      hr__kai_subtract(&entry->amounts, &victims[i].amounts);
      entry->involved |= involved;
    }
  }
  return true;
}

static double saturation_ratio(int64_t allocated, int64_t fair) {
  if (fair == 0) return allocated > 0 ? (double)INFINITY : 0;
  return fair == HR__KAI_UNLIMITED ? 0 : (double)allocated / (double)fair;
}

/* Returns whether, for each resource in `involved`, the queue is within its fair share or less saturated than
   `sibling`, which has lost pods. `mine`: the amounts that the queue holds with the request. `others`: the amounts that
   the sibling still holds. `multiplier`: the saturation of the queue is multiplied by it. A sibling whose fair share is
   0 or unlimited is not compared. */
static bool less_saturated(const struct hr__kai_queue *queue, const struct hr__kai_amounts *mine,
                           const struct hr__kai_queue *sibling, const struct hr__kai_amounts *others, unsigned involved,
                           double multiplier) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const int64_t fair = queue->share[r].fair, fair_of_sibling = sibling->share[r].fair;
    if (!(involved >> r & 1) || (fair == HR__KAI_UNLIMITED && fair_of_sibling == HR__KAI_UNLIMITED)) continue;
    const double ratio = saturation_ratio(mine->of[r], fair);
    if (ratio > 1 && fair_of_sibling > 0 && ratio * multiplier >= saturation_ratio(others->of[r], fair_of_sibling))
      return false;
  }
  return true;
}

/* Whether all queues on the path of the reclaimer satisfy the rules on saturation and quotas. */
static bool stays_within_bounds(const struct hr__kai_queue *queues, uint32_t n_queues,
                                const struct hr__kai_reclaimer *reclaimer, double saturation,
                                struct hr__kai_remaining *remaining) {
  for (uint32_t q = reclaimer->queue; q != HR__KAI_NONE; q = queues[q].parent) {
    struct hr__kai_amounts mine = remaining[q].touched ? remaining[q].amounts : hr__kai_allocated_of(&queues[q]);
    hr__kai_add(&mine, &reclaimer->request);
    for (uint32_t s = 0; s < n_queues; s++) {
      if (!remaining[s].touched || s == q || queues[s].parent != queues[q].parent) continue;
      if (!less_saturated(&queues[q], &mine, &queues[s], &remaining[s].amounts,
                          remaining[s].involved | reclaimer->involved, saturation))
        return false;
    }
    if (!fits_quota(&queues[q], reclaimer)) return false;
  }
  return true;
}

bool hr__kai_reclaimable(const struct hr__kai_queue *queues, uint32_t n_queues,
                         const struct hr__kai_reclaimer *reclaimer, const struct hr__kai_taken *victims,
                         uint32_t n_victims, double saturation, struct hr__kai_remaining *remaining) {
  for (uint32_t q = 0; q < n_queues; q++) remaining[q].touched = false;
  for (uint32_t i = 0; i < n_victims; i++) {
    bool first = true;
    for (uint32_t j = 0; j < i && first; j++) first = victims[j].queue != victims[i].queue;
    if (first && !take_from_queue(queues, reclaimer, victims, n_victims, victims[i].queue, remaining)) return false;
  }
  return stays_within_bounds(queues, n_queues, reclaimer, saturation, remaining);
}

/* ---- Shares: minimum run time ----------------------------------------------------------------------- */

/* The minimum run time of the first queue, from `queue` upwards, that has one. */
static int64_t first_reclaim_value(const struct hr__kai_queue *queues, uint32_t queue, int64_t fallback_us) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = queues[q].parent)
    if (queues[q].reclaim_min_runtime_us >= 0) return queues[q].reclaim_min_runtime_us;
  return fallback_us;
}

int64_t hr__kai_reclaim_min_runtime(const struct hr__kai_queue *queues, uint32_t reclaimer, uint32_t victim,
                                    enum hr_kai_reclaim_method method, int64_t fallback_us) {
  if (method == HR_KAI_RECLAIM_QUEUE) return first_reclaim_value(queues, victim, fallback_us);
  if (reclaimer == HR__KAI_NONE || victim == HR__KAI_NONE) return fallback_us; // the queue of a job does not exist
  uint32_t mine = reclaimer, other = victim;
  level_queues(queues, &mine, &other);
  if (mine == other) {
    /* One queue is an ancestor of the other: use the child of the ancestor on the path to the victim. */
    for (uint32_t q = victim; q != other; q = queues[q].parent)
      if (queues[q].parent == other) return first_reclaim_value(queues, q, fallback_us);
    return first_reclaim_value(queues, other, fallback_us);
  }
  if (queues[other].parent == HR__KAI_NONE)
    return queues[other].reclaim_min_runtime_us >= 0 ? queues[other].reclaim_min_runtime_us : fallback_us;
  return first_reclaim_value(queues, other, fallback_us);
}
