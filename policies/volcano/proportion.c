/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug-in proportion: divides the cluster among queues by weight, and the sums over the jobs of a queue, which the
   plug-in capacity uses as well.

   Invariant: allocated is the sum over tasks that are bound, binding, running or allocated; changes of tasks during the
   session are added by hr__volcano_notify. Source: volcano-sh/volcano, pkg/scheduler/plugins/proportion. */

#include "policies/volcano/session.h"

/* ---- Sums over the jobs of a queue ---- */

/* Resources of tasks that external gates keep from being scheduled. */
static struct hr__volcano_vector gated_resources(const struct hr__volcano_session *session, uint32_t job) {
  struct hr__volcano_vector gated;
  hr__volcano_clear(&gated);
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->snapshot->tasks[i].gated) hr__volcano_add(&gated, session->snapshot->tasks[i].request);
  return gated;
}

static void deduct_gated(const struct hr__volcano_session *session, uint32_t job, struct hr__volcano_vector *vector) {
  struct hr__volcano_vector gated = gated_resources(session, job);
  if (hr__volcano_is_empty(&gated)) return;
  for (uint32_t i = 0; i < vector->width; i++) {
    if (!hr__volcano_has(&gated, i)) continue;
    vector->amount[i] = vector->amount[i] > gated.amount[i] ? vector->amount[i] - gated.amount[i] : 0;
  }
}

struct hr__volcano_vector hr__volcano_reserved(const struct hr__volcano_session *session, uint32_t job,
                                               const struct hr__volcano_vector *allocated) {
  struct hr__volcano_vector result = hr__volcano_exceeding(&session->snapshot->jobs[job].min_resources, allocated);
  deduct_gated(session, job, &result);
  return result;
}

struct hr__volcano_vector hr__volcano_minimum(const struct hr__volcano_session *session, uint32_t job) {
  struct hr__volcano_vector result = session->snapshot->jobs[job].min_resources;
  deduct_gated(session, job, &result);
  return result;
}

/* Adds `what` to a member of the queue and, in a hierarchy, of its ancestors. The root queue has depth 0, its parent is
   HR__VOLCANO_NONE. */
#define ADD_UPWARDS(queues, queue, member, what)                                                                       \
  for (uint32_t at = (queue); at != HR__VOLCANO_NONE; at = (queues)[at].parent)                                        \
  hr__volcano_add(&(queues)[at].member, (what))

void hr__volcano_queue_sums(struct hr__volcano_session *session, struct hr__volcano_queue_state *queues, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  const struct hr__volcano_vector *allocated = &session->job_allocated[job];
  struct hr__volcano_vector request = *allocated;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_PENDING) hr__volcano_add(&request, session->snapshot->tasks[i].request);
  ADD_UPWARDS(queues, info->queue, allocated, allocated);
  ADD_UPWARDS(queues, info->queue, request, &request);
  bool reserves = info->phase == HR__VOLCANO_PHASE_INQUEUE ||
                  (info->phase == HR__VOLCANO_PHASE_RUNNING &&
                   (int64_t)hr__volcano_allocated_tasks(session, job) >= info->min_available);
  if (reserves && info->has_min_resources) {
    struct hr__volcano_vector reserved = hr__volcano_reserved(session, job, allocated);
    ADD_UPWARDS(queues, info->queue, inqueue, &reserved);
  }
  struct hr__volcano_vector elastic = hr__volcano_exceeding(allocated, &info->min_resources);
  ADD_UPWARDS(queues, info->queue, elastic, &elastic);
}

struct hr__volcano_vector hr__volcano_queue_capability(const struct hr__volcano_queue *queue) {
  struct hr__volcano_vector result = queue->capability;
  for (uint32_t i = HR__VOLCANO_CPU; i <= HR__VOLCANO_MEMORY; i++)
    if (result.amount[i] <= 0) result.amount[i] = HR__VOLCANO_UNLIMITED;
  return result;
}

bool hr__volcano_has_room(const struct hr__volcano_queue_state *queue, const struct hr__volcano_vector *minimum) {
  struct hr__volcano_vector used = *minimum;
  hr__volcano_add(&used, &queue->allocated);
  hr__volcano_add(&used, &queue->inqueue);
  hr__volcano_subtract(&used, &queue->elastic);
  return hr__volcano_within(&used, &queue->real_capability, minimum);
}

/* ---- Division by weight ---- */

void hr__volcano_proportion_share(struct hr__volcano_queue_state *queue) {
  queue->share = hr__volcano_dominant_share(&queue->allocated, &queue->deserved);
}

/* One round of the division. `meet`: the queues that get no more. Returns whether another round may change anything. */
static bool divide_once(struct hr__volcano_session *session, bool *meet, struct hr__volcano_vector *remaining) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  int64_t weights = 0;
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    if (session->proportion[i].takes_part && !meet[i]) weights += snapshot->queues[i].weight;
  if (!weights) return false;
  struct hr__volcano_vector old_remaining = *remaining, increased, decreased;
  hr__volcano_clear(&increased);
  hr__volcano_clear(&decreased);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    struct hr__volcano_queue_state *queue = &session->proportion[i];
    if (!queue->takes_part || meet[i]) continue;
    struct hr__volcano_vector old = queue->deserved, part = old_remaining;
    hr__volcano_multiply(&part, (double)snapshot->queues[i].weight / (double)weights);
    hr__volcano_add(&queue->deserved, &part);
    hr__volcano_limit(&queue->deserved, &queue->real_capability, true);
    hr__volcano_limit(&queue->deserved, &queue->request, false);
    hr__volcano_raise(&queue->deserved, &queue->guarantee);
    meet[i] = hr__volcano_less_equal(&queue->request, &queue->deserved) || hr__volcano_same(&queue->deserved, &old);
    struct hr__volcano_vector more = hr__volcano_exceeding(&queue->deserved, &old);
    struct hr__volcano_vector less = hr__volcano_exceeding(&old, &queue->deserved);
    hr__volcano_add(&increased, &more);
    hr__volcano_add(&decreased, &less);
  }
  hr__volcano_add(remaining, &decreased);
  for (uint32_t i = 0; i < remaining->width; i++)
    remaining->amount[i] = remaining->amount[i] > increased.amount[i] ? remaining->amount[i] - increased.amount[i] : 0;
  return !hr__volcano_is_empty(remaining) && !hr__volcano_same(remaining, &old_remaining);
}

static void set_limits(struct hr__volcano_session *session, const struct hr__volcano_vector *guarantees) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    struct hr__volcano_queue_state *queue = &session->proportion[i];
    queue->real_capability = hr__volcano_exceeding(&session->total, guarantees);
    hr__volcano_add(&queue->real_capability, &queue->guarantee);
    if (!snapshot->queues[i].has_capability) continue;
    queue->capability = hr__volcano_queue_capability(&snapshot->queues[i]);
    hr__volcano_limit(&queue->real_capability, &queue->capability, true);
  }
}

void hr__volcano_proportion_open(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  struct hr__volcano_vector guarantees, remaining = session->total;
  hr__volcano_clear(&guarantees);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    struct hr__volcano_queue_state *queue = &session->proportion[i];
    hr__volcano_clear(&queue->deserved);
    queue->allocated = queue->request = queue->elastic = queue->inqueue = queue->capability = queue->deserved;
    queue->guarantee = snapshot->queues[i].guarantee;
    queue->parent = HR__VOLCANO_NONE;
    hr__volcano_add(&guarantees, &queue->guarantee);
  }
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    if (snapshot->jobs[i].queue == HR__VOLCANO_NONE) continue;
    session->proportion[snapshot->jobs[i].queue].takes_part = true;
    hr__volcano_queue_sums(session, session->proportion, i);
  }
  set_limits(session, &guarantees);
  /* The heap of queues is not in use yet: its memory holds which queues get no more. */
  bool *meet = (bool *)session->queue_heap.items;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) meet[i] = false;
  while (divide_once(session, meet, &remaining)) {
  }
  for (uint32_t i = 0; i < snapshot->n_queues; i++) hr__volcano_proportion_share(&session->proportion[i]);
}

/* ---- Votes ---- */

bool hr__volcano_proportion_within(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  if (!session->snapshot->queues[queue].is_open) return false;
  struct hr__volcano_vector used = session->proportion[queue].allocated;
  hr__volcano_add(&used, hr__volcano_request(session, task));
  return hr__volcano_within(&used, &session->proportion[queue].deserved, hr__volcano_request(session, task));
}

uint32_t hr__volcano_proportion_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                        uint32_t *victims) {
  uint32_t n_victims = 0;
  session->stamp++;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t job = session->snapshot->tasks[candidates[i]].job;
    if (job == HR__VOLCANO_NONE) continue;
    uint32_t queue = session->snapshot->jobs[job].queue;
    struct hr__volcano_vector *allocated = &session->scratch[queue];
    if (session->scratch_stamp[queue] != session->stamp) {
      session->scratch_stamp[queue] = session->stamp;
      *allocated = session->proportion[queue].allocated;
    }
    if (hr__volcano_less_equal(allocated, &session->proportion[queue].deserved)) continue;
    hr__volcano_subtract(allocated, hr__volcano_request(session, candidates[i]));
    victims[n_victims++] = candidates[i];
  }
  return n_victims;
}
