/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug-in drf: dominant resource fairness between jobs and, if its hierarchy is enabled, between queues in a
   weighted tree.

   The tree has a node for each part of the paths of the queues, and a leaf for each job. A parent has a smaller index
   than its children, so a loop from the last to the first node computes the tree bottom-up.
   Sources: Ghodsi et al., Dominant Resource Fairness (NSDI'11); Bhattacharya et al., Hierarchical Scheduling for
   Diverse Datacenter Workloads (SoCC'13); volcano-sh/volcano, pkg/scheduler/plugins/drf. */

#include "policies/volcano/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_TOLERANCE 0.000001

/* ---- Tree ---- */

/* Returns the child of a node with the name, and creates it if needed. */
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

/* Returns the part of the text after the next '/', NULL at the end. */
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

/* ---- Shares ---- */

/* A job is saturated if it has all that it requests of a resource, or if a resource that it uses is exhausted. */
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
   share among them. */
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

/* ---- Opening, events ---- */

#define ALLOCATE(variable, count)                                                                                      \
  (((variable) = hr_arena_alloc(arena, ((size_t)(count) + 1) * sizeof *(variable))) != NULL)

static bool open_tree(struct hr__volcano_session *session, struct hr_arena *arena) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  size_t n_nodes = (size_t)snapshot->n_jobs + 1;
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    for (const char *part = next_part(snapshot->queues[i].hierarchy); part; part = next_part(part)) n_nodes++;
  if (!ALLOCATE(session->drf_nodes, n_nodes) || !ALLOCATE(session->drf_copy, n_nodes) ||
      !ALLOCATE(session->drf_leaf, snapshot->n_jobs) || !ALLOCATE(session->drf_inner, snapshot->n_queues))
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
  if (!ALLOCATE(session->drf_allocated, n_jobs)) return false;
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
  (allocated ? hr__volcano_add : hr__volcano_subtract)(of_job, request);
  session->job_share[job] = hr__volcano_dominant_share(of_job, &session->total);
  if (!session->drf_nodes) return;
  (allocated ? hr__volcano_add : hr__volcano_subtract)(of_all, request);
  set_leaf(session, session->drf_nodes, job, of_job);
  compute_tree(session, session->drf_nodes, of_all);
}

/* ---- Orders ---- */

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

/* ---- Victims ---- */

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
    /* The task is subtracted even if it is not taken. */
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
