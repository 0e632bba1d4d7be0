/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plug-ins that divide the cluster among jobs and queues: drf (dominant resource fairness) and capacity (deserved,
 * guaranteed and maximum resources of queues). The section of each plug-in describes its data layout and names its
 * sources.
 */

#include "policies/volcano/volcano.h"

#include "base/containers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- drf -------------------------------------------------------------------------------------------- */

/* The plug-in drf: dominant resource fairness between jobs and, if its hierarchy is enabled, between queues in a
   weighted tree.

   The tree has a node for each part of the paths of the queues, and a leaf for each job. A parent has a smaller index
   than its children, so a loop from the last to the first node computes the tree bottom-up.
   Sources: Ghodsi et al., Dominant Resource Fairness (NSDI'11); Bhattacharya et al., Hierarchical Scheduling for
   Diverse Datacenter Workloads (SoCC'13); volcano-sh/volcano, pkg/scheduler/plugins/drf. */

#define SHARE_TOLERANCE 0.000001

/* ---- drf: tree -------------------------------------------------------------------------------------- */

/* Returns the child of a node that has this name. Creates it if necessary. */
static uint32_t child_named(struct hr__volcano_session *session, uint32_t parent, const char *name, uint32_t length,
                            double weight) {
  struct hr__volcano_drf_node *nodes = session->drf_nodes;
  uint32_t *link = &nodes[parent].first_child;
  for (; *link != HR__VOLCANO_NONE; link = &nodes[*link].next_sibling) {
    const struct hr__volcano_drf_node *child = &nodes[*link];
    if (child->name && child->name_length == length && memcmp(child->name, name, length) == 0) return *link;
  }
  uint32_t at = session->n_drf_nodes++;
  *link = at;
  nodes[at] = (struct hr__volcano_drf_node){.name = name,
                                            .name_length = length,
                                            .job = HR__VOLCANO_NONE,
                                            .parent = parent,
                                            .first_child = HR__VOLCANO_NONE,
                                            .next_sibling = HR__VOLCANO_NONE,
                                            .weight = weight < 1 ? 1 : weight};
  hr__volcano_clear(&nodes[at].allocated);
  return at;
}

/* Returns the part of the text after the next '/'; NULL: none. */
static const char *next_part(const char *text) {
  const char *slash = text ? strchr(text, '/') : NULL;
  return slash ? slash + 1 : NULL;
}

/* Returns the inner node of a queue. The first part of the path is the root. */
static uint32_t inner_node(struct hr__volcano_session *session, const struct hr__volcano_queue *queue) {
  uint32_t at = 0;
  const char *weight = next_part(queue->hierarchy_weights);
  for (const char *part = next_part(queue->hierarchy); part; part = next_part(part), weight = next_part(weight))
    at = child_named(session, at, part, (uint32_t)strcspn(part, "/"), weight ? strtod(weight, NULL) : 0);
  return at;
}

static void add_leaf(struct hr__volcano_session *session, uint32_t job) {
  struct hr__volcano_drf_node *nodes = session->drf_nodes;
  uint32_t at = session->n_drf_nodes++, parent = session->drf_inner[session->snapshot->jobs[job].queue];
  nodes[at] = (struct hr__volcano_drf_node){.job = job,
                                            .parent = parent,
                                            .first_child = HR__VOLCANO_NONE,
                                            .next_sibling = nodes[parent].first_child,
                                            .weight = 1};
  nodes[parent].first_child = at;
  session->drf_leaf[job] = at;
}

/* ---- drf: shares ------------------------------------------------------------------------------------ */

/* Whether a job is saturated: it has all that it requests of some resource, or a resource that it uses is exhausted. */
static bool is_saturated(const struct hr__volcano_session *session, const struct hr__volcano_drf_node *leaf,
                         const struct hr__volcano_vector *total_allocated) {
  const struct hr__volcano_job *job = &session->snapshot->jobs[leaf->job];
  for (uint32_t i = 0; i < leaf->allocated.width; i++) {
    if (!hr__volcano_is_positive(&leaf->allocated, i)) continue;
    double request = 0;
    for (uint32_t k = job->first_task; k < job->first_task + job->n_tasks; k++)
      request += session->snapshot->tasks[k].request->amount[i];
    if (request == 0) continue;
    if (leaf->allocated.amount[i] >= request) return true;
    bool is_available =
        hr__volcano_is_positive(&session->total, i) && total_allocated->amount[i] < session->total.amount[i];
    if (!is_available) return true;
  }
  return false;
}

/* Computes an inner node from its children. The allocations of unsaturated children are scaled down to the smallest
   share of an unsaturated child. */
static void combine_children(const struct hr__volcano_session *session, struct hr__volcano_drf_node *nodes,
                             uint32_t at) {
  double smallest = 1;
  for (uint32_t i = nodes[at].first_child; i != HR__VOLCANO_NONE; i = nodes[i].next_sibling)
    if (nodes[i].share != 0 && !nodes[i].is_saturated && nodes[i].share < smallest) smallest = nodes[i].share;
  nodes[at].is_saturated = true;
  hr__volcano_clear(&nodes[at].allocated);
  for (uint32_t i = nodes[at].first_child; i != HR__VOLCANO_NONE; i = nodes[i].next_sibling) {
    if (!nodes[i].is_saturated) nodes[at].is_saturated = false;
    if (nodes[i].share == 0) continue;
    struct hr__volcano_vector part = nodes[i].allocated;
    if (!nodes[i].is_saturated) hr__volcano_multiply(&part, smallest / nodes[i].share);
    hr__volcano_add(&nodes[at].allocated, &part);
  }
  nodes[at].share = hr__volcano_dominant_share(&nodes[at].allocated, &session->total);
}

static void compute_tree(const struct hr__volcano_session *session, struct hr__volcano_drf_node *nodes,
                         const struct hr__volcano_vector *total_allocated) {
  for (uint32_t i = session->n_drf_nodes; i-- > 0;)
    if (nodes[i].job != HR__VOLCANO_NONE)
      nodes[i].is_saturated = is_saturated(session, &nodes[i], total_allocated);
    else
      combine_children(session, nodes, i);
}

static void set_leaf(const struct hr__volcano_session *session, struct hr__volcano_drf_node *nodes, uint32_t job,
                     const struct hr__volcano_vector *allocated) {
  struct hr__volcano_drf_node *leaf = &nodes[session->drf_leaf[job]];
  leaf->allocated = *allocated;
  leaf->share = hr__volcano_dominant_share(allocated, &session->total);
}

/* ---- drf: opening, events --------------------------------------------------------------------------- */

static bool open_tree(struct hr__volcano_session *session, struct hr_arena *arena) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  size_t n_nodes = (size_t)snapshot->n_jobs + 1;
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    for (const char *part = next_part(snapshot->queues[i].hierarchy); part; part = next_part(part)) n_nodes++;
  if (!HR__ARENA_ARRAY(arena, session->drf_nodes, n_nodes) || !HR__ARENA_ARRAY(arena, session->drf_copy, n_nodes) ||
      !HR__ARENA_ARRAY(arena, session->drf_leaf, snapshot->n_jobs) ||
      !HR__ARENA_ARRAY(arena, session->drf_inner, snapshot->n_queues))
    return false;
  session->drf_nodes[0] = (struct hr__volcano_drf_node){.job = HR__VOLCANO_NONE,
                                                        .parent = HR__VOLCANO_NONE,
                                                        .first_child = HR__VOLCANO_NONE,
                                                        .next_sibling = HR__VOLCANO_NONE,
                                                        .weight = 1};
  session->n_drf_nodes = 1;
  hr__volcano_clear(&session->drf_total_allocated);
  /* Queues without jobs are not in the tree. */
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    uint32_t queue = snapshot->jobs[i].queue;
    if (queue != HR__VOLCANO_NONE) session->drf_inner[queue] = inner_node(session, &snapshot->queues[queue]);
  }
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    if (snapshot->jobs[i].queue == HR__VOLCANO_NONE) continue;
    add_leaf(session, i);
    set_leaf(session, session->drf_nodes, i, &session->drf_allocated[i]);
    hr__volcano_add(&session->drf_total_allocated, &session->drf_allocated[i]);
  }
  compute_tree(session, session->drf_nodes, &session->drf_total_allocated);
  return true;
}

bool hr__volcano_drf_open(struct hr__volcano_session *session, struct hr_arena *arena) {
  uint32_t n_jobs = session->snapshot->n_jobs;
  if (!HR__ARENA_ARRAY(arena, session->drf_allocated, n_jobs)) return false;
  for (uint32_t i = 0; i < n_jobs; i++) {
    session->drf_allocated[i] = session->job_allocated[i];
    session->job_share[i] = hr__volcano_dominant_share(&session->drf_allocated[i], &session->total);
  }
  return !hr__volcano_enables(session->plugin[HR__VOLCANO_DRF], HR__VOLCANO_HIERARCHY) || open_tree(session, arena);
}

void hr__volcano_drf_notify(struct hr__volcano_session *session, uint32_t task, bool allocated) {
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  uint32_t job = session->snapshot->tasks[task].job;
  struct hr__volcano_vector *of_job = &session->drf_allocated[job], *of_all = &session->drf_total_allocated;
  hr__volcano_change(of_job, request, allocated);
  session->job_share[job] = hr__volcano_dominant_share(of_job, &session->total);
  if (!session->drf_nodes) return;
  hr__volcano_change(of_all, request, allocated);
  set_leaf(session, session->drf_nodes, job, of_job);
  compute_tree(session, session->drf_nodes, of_all);
}

/* ---- drf: orders ------------------------------------------------------------------------------------ */

/* The child of `ancestor` on the path to `node`. */
static uint32_t step_towards(const struct hr__volcano_drf_node *nodes, uint32_t ancestor, uint32_t node) {
  while (nodes[node].parent != ancestor) node = nodes[node].parent;
  return node;
}

int hr__volcano_drf_compare_queues(const struct hr__volcano_session *session, const struct hr__volcano_drf_node *nodes,
                                   uint32_t left, uint32_t right) {
  uint32_t a = 0, b = 0, left_end = session->drf_inner[left], right_end = session->drf_inner[right];
  for (;;) {
    if (nodes[a].is_saturated != nodes[b].is_saturated) return nodes[a].is_saturated ? 1 : -1;
    double left_share = nodes[a].share / nodes[a].weight, right_share = nodes[b].share / nodes[b].weight;
    if (left_share != right_share) return left_share < right_share ? -1 : 1;
    if (a == left_end || b == right_end) return 0;
    a = step_towards(nodes, a, left_end);
    b = step_towards(nodes, b, right_end);
  }
}

/* ---- drf: victims ----------------------------------------------------------------------------------- */

uint32_t hr__volcano_drf_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                 uint32_t n, uint32_t *victims) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  struct hr__volcano_vector with_task = session->drf_allocated[tasks[preemptor].job];
  hr__volcano_add(&with_task, tasks[preemptor].request);
  double own = hr__volcano_dominant_share(&with_task, &session->total);
  uint32_t n_victims = 0;
  session->stamp++;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t job = tasks[candidates[i]].job;
    if (job == HR__VOLCANO_NONE) continue;
    if (session->scratch_stamp[job] != session->stamp) {
      session->scratch_stamp[job] = session->stamp;
      session->scratch[job] = session->drf_allocated[job];
    }
    /* The task is subtracted even if it does not become a victim. */
    hr__volcano_subtract(&session->scratch[job], tasks[candidates[i]].request);
    double other = hr__volcano_dominant_share(&session->scratch[job], &session->total);
    if (own < other || fabs(own - other) <= SHARE_TOLERANCE) victims[n_victims++] = candidates[i];
  }
  return n_victims;
}

uint32_t hr__volcano_hdrf_victims(struct hr__volcano_session *session, uint32_t reclaimer, const uint32_t *candidates,
                                  uint32_t n, uint32_t *victims) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  struct hr__volcano_drf_node *nodes = session->drf_copy;
  memcpy(nodes, session->drf_nodes, session->n_drf_nodes * sizeof *nodes);
  uint32_t own_job = snapshot->tasks[reclaimer].job, n_victims = 0;
  struct hr__volcano_vector own = session->drf_allocated[own_job], total = session->drf_total_allocated;
  hr__volcano_add(&own, snapshot->tasks[reclaimer].request);
  hr__volcano_add(&total, snapshot->tasks[reclaimer].request);
  set_leaf(session, nodes, own_job, &own);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t task = candidates[i], job = snapshot->tasks[task].job;
    if (job == HR__VOLCANO_NONE) continue;
    struct hr__volcano_vector rest = session->drf_allocated[job], rest_total = total;
    hr__volcano_subtract(&rest, snapshot->tasks[task].request);
    hr__volcano_subtract(&rest_total, snapshot->tasks[task].request);
    set_leaf(session, nodes, job, &rest);
    compute_tree(session, nodes, &rest_total);
    if (hr__volcano_drf_compare_queues(session, nodes, snapshot->jobs[own_job].queue, snapshot->jobs[job].queue) < 0)
      victims[n_victims++] = task;
    set_leaf(session, nodes, job, &session->drf_allocated[job]);
  }
  return n_victims;
}

/* ---- capacity --------------------------------------------------------------------------------------- */

/* The plug-in capacity: queues with deserved, guaranteed and maximum resources, flat or as a tree. In a hierarchy the
   amounts of a queue include those of its descendants. If the tree is invalid (a missing parent, a cycle, or a job in
   an inner queue), the plug-in is not ready: it admits, allocates and reclaims nothing. Source: volcano-sh/volcano,
   pkg/scheduler/plugins/capacity/capacity.go. */

/* ---- capacity: limits ------------------------------------------------------------------------------- */

static void share_of(struct hr__volcano_queue_state *queue) {
  /* A queue without deserved resources comes after all queues that have less than their deserved resources. */
  queue->share =
      hr__volcano_is_empty(&queue->deserved) ? 1 : hr__volcano_dominant_share(&queue->allocated, &queue->deserved);
}

static void set_up_queue(const struct hr__volcano_queue *queue, struct hr__volcano_queue_state *state) {
  hr__volcano_clear(&state->allocated);
  state->request = state->elastic = state->inqueue = state->real_capability = state->allocated;
  state->deserved = queue->deserved;
  state->guarantee = queue->guarantee;
  state->capability = queue->capability;
  state->parent = HR__VOLCANO_NONE;
  state->depth = state->n_children = 0;
  state->takes_part = false;
}

static bool open_flat(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  struct hr__volcano_vector guarantees;
  hr__volcano_clear(&guarantees);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) hr__volcano_add(&guarantees, &snapshot->queues[i].guarantee);
  hr__volcano_sum_queues(session, session->capacity);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    struct hr__volcano_queue_state *queue = &session->capacity[i];
    queue->real_capability = hr__volcano_exceeding(&session->total, &guarantees);
    hr__volcano_add(&queue->real_capability, &queue->guarantee);
    if (snapshot->queues[i].has_capability) {
      queue->capability = hr__volcano_queue_capability(&snapshot->queues[i]);
      hr__volcano_limit(&queue->real_capability, &queue->capability, true);
    }
    hr__volcano_limit(&queue->deserved, &queue->real_capability, true);
    hr__volcano_raise(&queue->deserved, &queue->guarantee);
    share_of(queue);
  }
  return true;
}

/* ---- capacity: tree --------------------------------------------------------------------------------- */

/* Sets the parent of each queue. Returns false if a parent is missing. */
static bool link_parents(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t root = snapshot->root_queue;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    if (i == root) continue;
    uint32_t parent = snapshot->queues[i].parent;
    if (parent == HR__VOLCANO_NONE) parent = root;
    if (parent == HR__VOLCANO_MISSING || parent == HR__VOLCANO_NONE) return false;
    session->capacity[i].parent = parent;
    session->capacity[parent].n_children++;
  }
  return true;
}

/* Sets the depth of each queue. Returns false if there is a cycle. */
static bool measure_depths(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    uint32_t depth = 0;
    for (uint32_t at = session->capacity[i].parent; at != HR__VOLCANO_NONE; at = session->capacity[at].parent)
      if (++depth > snapshot->n_queues) return false;
    session->capacity[i].depth = depth;
  }
  return true;
}

/* A child inherits the limits that it does not set. */
static void inherit_capability(struct hr__volcano_queue_state *child, const struct hr__volcano_queue_state *parent) {
  for (uint32_t k = HR__VOLCANO_CPU; k <= HR__VOLCANO_MEMORY; k++)
    if (child->capability.amount[k] <= 0) child->capability.amount[k] = parent->capability.amount[k];
  for (uint32_t k = HR__VOLCANO_PODS; k < parent->capability.width; k++)
    if (hr__volcano_has(&parent->capability, k) && !hr__volcano_has(&child->capability, k))
      hr__volcano_set(&child->capability, k, parent->capability.amount[k]);
}

/* Computes the limits of the children of a queue from the limits of the queue. */
static void limit_children(struct hr__volcano_session *session, uint32_t parent) {
  struct hr__volcano_queue_state *queues = session->capacity, *top = &queues[parent];
  struct hr__volcano_vector guarantees, deserved;
  hr__volcano_clear(&guarantees);
  deserved = guarantees;
  for (uint32_t i = 0; i < session->snapshot->n_queues; i++) {
    if (queues[i].parent != parent) continue;
    hr__volcano_raise(&queues[i].deserved, &queues[i].guarantee);
    hr__volcano_add(&deserved, &queues[i].deserved);
    hr__volcano_add(&guarantees, &queues[i].guarantee);
    inherit_capability(&queues[i], top);
  }
  if (parent == session->snapshot->root_queue) {
    top->guarantee = guarantees;
    top->deserved = deserved;
  }
  for (uint32_t i = 0; i < session->snapshot->n_queues; i++) {
    if (queues[i].parent != parent) continue;
    queues[i].real_capability = hr__volcano_exceeding(&top->real_capability, &guarantees);
    hr__volcano_add(&queues[i].real_capability, &queues[i].guarantee);
    hr__volcano_limit(&queues[i].real_capability, &queues[i].capability, true);
  }
}

static void limit_root(struct hr__volcano_session *session) {
  struct hr__volcano_queue_state *root = &session->capacity[session->snapshot->root_queue];
  if (hr__volcano_is_empty(&root->capability)) {
    hr__volcano_clear(&root->capability);
    for (uint32_t k = 0; k < session->total.width; k++)
      if (hr__volcano_has(&session->total, k)) hr__volcano_set(&root->capability, k, HR__VOLCANO_UNLIMITED);
  }
  root->real_capability = root->capability;
}

static bool open_hierarchy(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  if (!link_parents(session) || !measure_depths(session)) return false;
  hr__volcano_sum_queues(session, session->capacity);
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    if (session->capacity[i].takes_part && session->capacity[i].n_children) return false;
  if (snapshot->root_queue == HR__VOLCANO_NONE) return false;
  limit_root(session);
  uint32_t max_depth = 0;
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    if (session->capacity[i].depth > max_depth) max_depth = session->capacity[i].depth;
  for (uint32_t depth = 0; depth <= max_depth; depth++)
    for (uint32_t i = 0; i < snapshot->n_queues; i++)
      if (session->capacity[i].depth == depth && session->capacity[i].n_children) limit_children(session, i);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) share_of(&session->capacity[i]);
  return true;
}

bool hr__volcano_capacity_open(struct hr__volcano_session *session) {
  session->capacity_is_hierarchical = hr__volcano_enables(session->plugin[HR__VOLCANO_CAPACITY], HR__VOLCANO_HIERARCHY);
  for (uint32_t i = 0; i < session->snapshot->n_queues; i++)
    set_up_queue(&session->snapshot->queues[i], &session->capacity[i]);
  if (!session->capacity_is_hierarchical) return open_flat(session);
  bool is_ready = open_hierarchy(session);
  for (uint32_t i = 0; i < session->snapshot->n_queues && !is_ready; i++)
    session->capacity[i].parent = HR__VOLCANO_NONE;
  return is_ready;
}

/* ---- capacity: orders ------------------------------------------------------------------------------- */

/* The ancestor of a queue at a depth that is at most its own. */
static uint32_t ancestor_at(const struct hr__volcano_session *session, uint32_t queue, uint32_t depth) {
  while (session->capacity[queue].depth > depth) queue = session->capacity[queue].parent;
  return queue;
}

/* The depth of the lowest common ancestor that is neither of the two queues; 0 also if no such ancestor exists. */
static uint32_t common_depth(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  uint32_t a = session->capacity[left].depth, b = session->capacity[right].depth, limit = a < b ? a : b, depth = 0;
  for (uint32_t i = 0; i < limit; i++) {
    if (ancestor_at(session, left, i) != ancestor_at(session, right, i)) return depth;
    depth = i;
  }
  return depth;
}

static int compare_shares(const struct hr__volcano_queue_state *left, const struct hr__volcano_queue_state *right) {
  if (left->share != right->share) return left->share < right->share ? -1 : 1;
  return (int)hr__volcano_is_empty(&left->deserved) - (int)hr__volcano_is_empty(&right->deserved);
}

/* The ancestor of the queue at `depth` + 1; the queue itself if it is not deeper. */
static uint32_t below(const struct hr__volcano_session *session, uint32_t queue, uint32_t depth) {
  return depth + 1 < session->capacity[queue].depth ? ancestor_at(session, queue, depth + 1) : queue;
}

int hr__volcano_capacity_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  const struct hr__volcano_queue_state *queues = session->capacity;
  int32_t a = session->snapshot->queues[left].priority, b = session->snapshot->queues[right].priority;
  if (a != b) return a > b ? -1 : 1;
  if (!session->capacity_is_hierarchical) return compare_shares(&queues[left], &queues[right]);
  if (!queues[left].n_children != !queues[right].n_children) return queues[left].n_children ? 1 : -1;
  if (queues[left].n_children) return compare_shares(&queues[left], &queues[right]);
  uint32_t depth = common_depth(session, left, right);
  return compare_shares(&queues[below(session, left, depth)], &queues[below(session, right, depth)]);
}

int hr__volcano_capacity_compare_victims(const struct hr__volcano_session *session, uint32_t left, uint32_t right,
                                         uint32_t preemptor) {
  uint32_t a = common_depth(session, left, preemptor), b = common_depth(session, right, preemptor);
  return a == b ? 0 : a > b ? -1 : 1;
}

/* ---- capacity: votes -------------------------------------------------------------------------------- */

bool hr__volcano_capacity_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  if (!session->snapshot->queues[queue].is_open || !session->capacity_is_ready) return false;
  if (session->capacity_is_hierarchical && session->capacity[queue].n_children) return false;
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  for (uint32_t at = queue; at != HR__VOLCANO_NONE; at = session->capacity[at].parent) {
    struct hr__volcano_vector used = session->capacity[at].allocated;
    hr__volcano_add(&used, request);
    if (!hr__volcano_within(&used, &session->capacity[at].real_capability, request)) return false;
  }
  return true;
}

/* The number of levels of ancestors that reclaim examines; 0 without a hierarchy. */
static uint32_t reclaim_level(const struct hr__volcano_session *session) {
  int32_t level = session->plugin[HR__VOLCANO_CAPACITY]->arguments.ancestor_reclaim_level;
  return session->capacity_is_hierarchical && level > 0 ? (uint32_t)level : 0;
}

/* The `level`-th ancestor of a queue; HR__VOLCANO_NONE if it has fewer ancestors or if the ancestor is the root. */
static uint32_t inner_ancestor(const struct hr__volcano_session *session, uint32_t queue, uint32_t level) {
  uint32_t depth = session->capacity[queue].depth;
  return level < depth ? ancestor_at(session, queue, depth - level) : HR__VOLCANO_NONE;
}

bool hr__volcano_capacity_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  if (!session->capacity_is_ready || !session->snapshot->queues[queue].is_open) return false;
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  struct hr__volcano_vector used = session->capacity[queue].allocated;
  hr__volcano_add(&used, request);
  if (!hr__volcano_within(&used, &session->capacity[queue].real_capability, request)) return false;
  if (hr__volcano_within_partly(&used, &session->capacity[queue].deserved, request)) return true;
  for (uint32_t level = 1; level <= reclaim_level(session); level++) {
    uint32_t ancestor = inner_ancestor(session, queue, level);
    if (ancestor == HR__VOLCANO_NONE) break;
    used = session->capacity[ancestor].allocated;
    hr__volcano_add(&used, request);
    if (hr__volcano_within_partly(&used, &session->capacity[ancestor].deserved, request)) return true;
  }
  return false;
}

bool hr__volcano_capacity_enqueueable(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!session->capacity_is_ready) return false;
  if (session->capacity_is_hierarchical && session->capacity[info->queue].n_children) return false;
  if (!session->snapshot->queues[info->queue].is_open) return false;
  if (!info->has_min_resources) return true;
  for (uint32_t at = info->queue; at != HR__VOLCANO_NONE; at = session->capacity[at].parent)
    if (!hr__volcano_has_room(&session->capacity[at], &info->min_resources)) return false;
  return true;
}

void hr__volcano_capacity_notify(struct hr__volcano_session *session, uint32_t task, bool allocated) {
  uint32_t queue = session->snapshot->jobs[session->snapshot->tasks[task].job].queue;
  for (uint32_t at = queue; at != HR__VOLCANO_NONE; at = session->capacity[at].parent)
    hr__volcano_change(&session->capacity[at].allocated, hr__volcano_request(session, task), allocated);
  /* As in Volcano, the shares of ancestors do not change after the session was opened. */
  share_of(&session->capacity[queue]);
}

/* ---- capacity: reclaim ------------------------------------------------------------------------------ */

/* The amounts that a queue has left after the victims that were chosen so far. */
static struct hr__volcano_vector *left_to(struct hr__volcano_session *session, uint32_t queue) {
  if (session->scratch_stamp[queue] != session->stamp) {
    session->scratch_stamp[queue] = session->stamp;
    session->scratch[queue] = session->capacity[queue].allocated;
  }
  return &session->scratch[queue];
}

static bool shares_ancestor(const struct hr__volcano_session *session, uint32_t left, uint32_t right, uint32_t level) {
  for (uint32_t i = 1; i <= level; i++) {
    uint32_t a = inner_ancestor(session, left, i);
    if (a == HR__VOLCANO_NONE) break;
    for (uint32_t k = 1; k <= level; k++)
      if (inner_ancestor(session, right, k) == a) return true;
  }
  return false;
}

/* Whether a queue exceeds its deserved resources in some requested dimension, or has no deserved resources in any of
   these. */
static bool exceeds(struct hr__volcano_session *session, uint32_t queue, const struct hr__volcano_vector *request) {
  const struct hr__volcano_vector *deserved = &session->capacity[queue].deserved;
  return !hr__volcano_intersects(request, deserved, false) ||
         hr__volcano_exceeds_partly(left_to(session, queue), deserved, request);
}

/* Whether the ancestors of the victim's queue allow its eviction. With `mark`, subtracts the victim from these
   ancestors instead, and returns true. */
static bool ancestors_allow(struct hr__volcano_session *session, uint32_t reclaimer_queue, uint32_t queue,
                            const struct hr__volcano_vector *request, bool mark) {
  for (uint32_t level = 1; level <= reclaim_level(session); level++) {
    uint32_t ancestor = inner_ancestor(session, queue, level);
    if (ancestor == HR__VOLCANO_NONE || ancestor == inner_ancestor(session, reclaimer_queue, level)) continue;
    if (mark)
      hr__volcano_subtract(left_to(session, ancestor), request);
    else if (!exceeds(session, ancestor, request))
      return false;
  }
  return true;
}

static bool may_reclaim(struct hr__volcano_session *session, uint32_t reclaimer, uint32_t candidate) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  uint32_t own = session->snapshot->jobs[tasks[reclaimer].job].queue;
  uint32_t queue = session->snapshot->jobs[tasks[candidate].job].queue;
  const struct hr__volcano_vector *request = tasks[candidate].request;
  if (!hr__volcano_intersects(request, tasks[reclaimer].request, true)) return false;
  struct hr__volcano_vector rest = *left_to(session, queue);
  hr__volcano_subtract(&rest, request);
  if (!hr__volcano_less_equal(&session->capacity[queue].guarantee, &rest)) return false;
  if (!exceeds(session, queue, request)) return false;
  if (!hr__volcano_intersects(request, &session->capacity[queue].deserved, false) && reclaim_level(session) &&
      shares_ancestor(session, own, queue, reclaim_level(session)) &&
      !hr__volcano_intersects(tasks[reclaimer].request, &session->capacity[own].deserved, false))
    return false;
  return ancestors_allow(session, own, queue, request, false);
}

uint32_t hr__volcano_capacity_victims(struct hr__volcano_session *session, uint32_t reclaimer,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims) {
  if (!session->capacity_is_ready) return 0;
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t own = snapshot->jobs[snapshot->tasks[reclaimer].job].queue, n_victims = 0;
  session->stamp++;
  hr__volcano_victims_begin(session, reclaimer, candidates, n);
  while (session->victim_heap.count) {
    uint32_t task = hr__volcano_pop_victim(session, &session->victim_heap);
    uint32_t job = snapshot->tasks[task].job;
    if (job == HR__VOLCANO_NONE || !may_reclaim(session, reclaimer, task)) continue;
    uint32_t queue = snapshot->jobs[job].queue;
    hr__volcano_subtract(left_to(session, queue), snapshot->tasks[task].request);
    ancestors_allow(session, own, queue, snapshot->tasks[task].request, true);
    victims[n_victims++] = task;
  }
  return n_victims;
}
