/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the plug-ins in the order of their tiers, and combines their results. Orders: the first plug-in that finds a
   difference decides; if none does, age and name decide. Votes: see each function. Victims: within a tier, the lists of
   the plug-ins are intersected; the first tier with a victim in the intersection decides. Source: volcano-sh/volcano,
   pkg/scheduler/framework/session_plugins.go. */

#include "policies/volcano/volcano.h"

#include "base/containers.h"

#include <string.h>

/* Loops over the plug-ins that are enabled for a callback. */
#define FOR_EACH_ENABLED(plugin, callback)                                                                             \
  for (const struct hr__volcano_plugin *plugin = session->config->plugins, *end = plugin + session->config->n_plugins; \
       plugin < end; plugin++)                                                                                         \
    if (hr__volcano_enables(plugin, callback))

/* Whether the plug-in is the last of its tier. */
static bool ends_tier(const struct hr__volcano_session *session, const struct hr__volcano_plugin *plugin) {
  return plugin + 1 == session->config->plugins + session->config->n_plugins || plugin[1].tier != plugin->tier;
}

/* ---- Orders ---- */

static int compare_numbers(int64_t left, int64_t right) {
  return (left > right) - (left < right);
}

/* Compares jobs by the plug-ins only, without age and name. */
static int compare_jobs(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  const struct hr__volcano_job *jobs = session->snapshot->jobs;
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_JOB_ORDER) {
    int order = 0;
    if (plugin->id == HR__VOLCANO_PRIORITY) order = compare_numbers(jobs[right].priority, jobs[left].priority);
    if (plugin->id == HR__VOLCANO_GANG) order = hr__volcano_gang_compare_jobs(session, left, right);
    if (plugin->id == HR__VOLCANO_DRF)
      order = (session->job_share[left] > session->job_share[right]) -
              (session->job_share[left] < session->job_share[right]);
    if (plugin->id == HR__VOLCANO_SLA) order = hr__volcano_sla_compare(session, left, right);
    if (plugin->id == HR__VOLCANO_TDM) order = (int)jobs[left].preemptable - (int)jobs[right].preemptable;
    if (order) return order;
  }
  return 0;
}

bool hr__volcano_job_precedes(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  int order = compare_jobs(session, left, right);
  if (order) return order < 0;
  const struct hr__volcano_job *jobs = session->snapshot->jobs;
  if (jobs[left].created_us != jobs[right].created_us) return jobs[left].created_us < jobs[right].created_us;
  return strcmp(jobs[left].uid, jobs[right].uid) < 0;
}

bool hr__volcano_subjob_votes(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                              enum hr__volcano_callback callback) {
  FOR_EACH_ENABLED(plugin, callback)
  if (plugin->id == HR__VOLCANO_GANG &&
      !hr__volcano_subjob_is_ready(session, job, subjob, callback == HR__VOLCANO_SUBJOB_PIPELINED))
    return false;
  return true;
}

bool hr__volcano_subjob_precedes(const struct hr__volcano_session *session, uint32_t job, uint32_t left,
                                 uint32_t right) {
  const struct hr__volcano_subjob *subjobs = session->snapshot->jobs[job].subjobs;
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_SUBJOB_ORDER) {
    if (plugin->id != HR__VOLCANO_GANG) continue;
    bool a = hr__volcano_subjob_is_ready(session, job, left, false);
    bool b = hr__volcano_subjob_is_ready(session, job, right, false);
    if (a != b) return b;
  }
  return strcmp(subjobs[left].name, subjobs[right].name) < 0;
}

static int compare_proportion(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  const struct hr__volcano_queue *queues = session->snapshot->queues;
  if (queues[left].priority != queues[right].priority)
    return compare_numbers(queues[right].priority, queues[left].priority);
  double a = session->proportion[left].share, b = session->proportion[right].share;
  return (a > b) - (a < b);
}

static bool queue_precedes(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_QUEUE_ORDER) {
    int order = 0;
    if (plugin->id == HR__VOLCANO_PROPORTION) order = compare_proportion(session, left, right);
    if (plugin->id == HR__VOLCANO_CAPACITY && session->capacity_is_ready)
      order = hr__volcano_capacity_compare(session, left, right);
    if (plugin->id == HR__VOLCANO_DRF && session->drf_nodes)
      order = hr__volcano_drf_compare_queues(session, session->drf_nodes, left, right);
    if (order) return order < 0;
  }
  const struct hr__volcano_queue *queues = session->snapshot->queues;
  if (queues[left].created_us != queues[right].created_us) return queues[left].created_us < queues[right].created_us;
  return strcmp(queues[left].name, queues[right].name) < 0;
}

static bool task_precedes(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  const struct hr__volcano_task *a = &session->snapshot->tasks[left], *b = &session->snapshot->tasks[right];
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_TASK_ORDER)
  if (plugin->id == HR__VOLCANO_PRIORITY && a->priority != b->priority) return a->priority > b->priority;
  if (a->index >= 0 && b->index >= 0 && a->index != b->index) return a->index < b->index;
  if (a->created_us != b->created_us) return a->created_us < b->created_us;
  return strcmp(a->uid, b->uid) < 0;
}

/* Whether `left` is evicted before `right`. */
static bool victim_precedes(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t a = snapshot->tasks[left].job, b = snapshot->tasks[right].job;
  if (a == b || a == HR__VOLCANO_NONE || b == HR__VOLCANO_NONE) return !task_precedes(session, left, right);
  uint32_t left_queue = snapshot->jobs[a].queue, right_queue = snapshot->jobs[b].queue;
  uint32_t preemptor = session->victim_heap_preemptor;
  if (left_queue != right_queue && preemptor != HR__VOLCANO_NONE) {
    if (session->capacity && session->capacity_is_hierarchical && session->capacity_is_ready) {
      uint32_t own = snapshot->jobs[snapshot->tasks[preemptor].job].queue;
      int order = hr__volcano_capacity_compare_victims(session, left_queue, right_queue, own);
      if (order) return order < 0;
    }
    return !queue_precedes(session, left_queue, right_queue);
  }
  int order = compare_jobs(session, a, b);
  return order ? order > 0 : !task_precedes(session, left, right);
}

/* ---- Heaps ---- */

static bool queue_before(const void *self, uint32_t a, uint32_t b) {
  return queue_precedes(self, a, b);
}
static bool job_before(const void *self, uint32_t a, uint32_t b) {
  return hr__volcano_job_precedes(self, a, b);
}
static bool task_before(const void *self, uint32_t a, uint32_t b) {
  return task_precedes(self, a, b);
}
static bool victim_before(const void *self, uint32_t a, uint32_t b) {
  return victim_precedes(self, a, b);
}

HR__HEAP(queue_order, uint32_t, queue_before)
HR__HEAP(job_order, uint32_t, job_before)
HR__HEAP(task_order, uint32_t, task_before)
HR__HEAP(victim_order, uint32_t, victim_before)

/* Defines how to push to, and to pop from, a heap in one of the orders. */
#define DEFINE_HEAP(name, order)                                                                                       \
  void hr__volcano_push_##name(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item) {    \
    order##_rise(heap->items, heap->count++, item, session);                                                           \
  }                                                                                                                    \
  uint32_t hr__volcano_pop_##name(struct hr__volcano_session *session, struct hr__volcano_heap *heap) {                \
    uint32_t first = heap->items[0];                                                                                   \
    heap->count--;                                                                                                     \
    if (heap->count) order##_sink(heap->items, heap->count, heap->items[heap->count], session);                        \
    return first;                                                                                                      \
  }
DEFINE_HEAP(queue, queue_order)
DEFINE_HEAP(job, job_order)
DEFINE_HEAP(task, task_order)

void hr__volcano_victims_begin(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *victims,
                               uint32_t n_victims) {
  session->victim_heap.count = 0;
  session->victim_heap_preemptor = preemptor;
  for (uint32_t i = 0; i < n_victims; i++)
    victim_order_rise(session->victim_heap.items, session->victim_heap.count++, victims[i], session);
}

uint32_t hr__volcano_victims_pop(struct hr__volcano_session *session) {
  struct hr__volcano_heap *heap = &session->victim_heap;
  uint32_t first = heap->items[0];
  heap->count--;
  if (heap->count) victim_order_sink(heap->items, heap->count, heap->items[heap->count], session);
  return first;
}

/* ---- Votes on queues ---- */

bool hr__volcano_overused(const struct hr__volcano_session *session, uint32_t queue) {
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_OVERUSED)
  if (plugin->id == HR__VOLCANO_PROPORTION &&
      hr__volcano_less_equal(&session->proportion[queue].deserved, &session->proportion[queue].allocated))
    return true;
  return false;
}

static bool proportion_within(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  if (!session->snapshot->queues[queue].is_open) return false;
  struct hr__volcano_vector used = session->proportion[queue].allocated;
  hr__volcano_add(&used, hr__volcano_request(session, task));
  return hr__volcano_within(&used, &session->proportion[queue].deserved, hr__volcano_request(session, task));
}

bool hr__volcano_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_ALLOCATABLE) {
    if (plugin->id == HR__VOLCANO_PROPORTION && !proportion_within(session, queue, task)) return false;
    if (plugin->id == HR__VOLCANO_CAPACITY && !hr__volcano_capacity_allocatable(session, queue, task)) return false;
  }
  return true;
}

bool hr__volcano_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_PREEMPTIVE) {
    if (plugin->id == HR__VOLCANO_PROPORTION && !proportion_within(session, queue, task)) return false;
    if (plugin->id == HR__VOLCANO_CAPACITY && !hr__volcano_capacity_preemptive(session, queue, task)) return false;
  }
  return true;
}

/* ---- Votes on jobs ---- */

bool hr__volcano_job_is_valid(const struct hr__volcano_session *session, uint32_t job) {
  return !session->plugin[HR__VOLCANO_GANG] || hr__volcano_gang_is_valid(session, job);
}

bool hr__volcano_job_is_ready(const struct hr__volcano_session *session, uint32_t job) {
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_JOB_READY)
  if (plugin->id == HR__VOLCANO_GANG && !hr__volcano_gang_is_ready(session, job, false)) return false;
  return true;
}

enum vote { REJECT = -1, ABSTAIN, PERMIT };

static enum vote vote_of(bool permits) {
  return permits ? PERMIT : REJECT;
}

static bool gang_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  uint32_t count = hr__volcano_ready_tasks(session, job) + session->job_count[job][HR__VOLCANO_PIPELINED];
  return (int64_t)count < session->snapshot->jobs[job].min_available;
}

static enum vote pipelined_vote(const struct hr__volcano_session *session, enum hr__volcano_plugin_id plugin,
                                uint32_t job) {
  switch (plugin) {
  case HR__VOLCANO_GANG:
    return vote_of(hr__volcano_gang_is_ready(session, job, true));
  case HR__VOLCANO_TDM:
    return vote_of(!gang_is_starving(session, job));
  case HR__VOLCANO_SLA:
    return hr__volcano_sla_is_over(session, job) ? PERMIT : ABSTAIN;
  default:
    return ABSTAIN;
  }
}

static enum vote enqueue_vote(const struct hr__volcano_session *session, enum hr__volcano_plugin_id plugin,
                              uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  switch (plugin) {
  case HR__VOLCANO_PROPORTION:
    return vote_of(
        session->snapshot->queues[info->queue].is_open &&
        (!info->has_min_resources || hr__volcano_has_room(&session->proportion[info->queue], &info->min_resources)));
  case HR__VOLCANO_CAPACITY:
    return vote_of(hr__volcano_capacity_enqueueable(session, job));
  case HR__VOLCANO_OVERCOMMIT:
    return vote_of(hr__volcano_overcommit_allows(session, job));
  case HR__VOLCANO_RESOURCEQUOTA:
    return vote_of(hr__volcano_quota_allows(session, job));
  case HR__VOLCANO_SLA:
    return hr__volcano_sla_is_over(session, job) ? PERMIT : ABSTAIN;
  default:
    return ABSTAIN;
  }
}

/* A rejection by any plug-in decides. Otherwise, a tier with a permission decides, and later tiers are not asked.
   hr__volcano_is_enqueueable follows the same rule. */
bool hr__volcano_job_is_pipelined(const struct hr__volcano_session *session, uint32_t job) {
  bool permitted = false;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (hr__volcano_enables(plugin, HR__VOLCANO_JOB_PIPELINED)) {
      enum vote vote = pipelined_vote(session, plugin->id, job);
      if (vote == REJECT) return false;
      permitted = permitted || vote == PERMIT;
    }
    if (permitted && ends_tier(session, plugin)) return true;
  }
  return true;
}

bool hr__volcano_is_enqueueable(struct hr__volcano_session *session, uint32_t job) {
  bool permitted = false;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (hr__volcano_enables(plugin, HR__VOLCANO_JOB_ENQUEUED)) {
      enum vote vote = enqueue_vote(session, plugin->id, job);
      if (vote == REJECT) return false;
      permitted = permitted || vote == PERMIT;
    }
    if (permitted && ends_tier(session, plugin)) return true;
  }
  return true;
}

static bool priority_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  return hr__volcano_ready_tasks(session, job) + session->job_count[job][HR__VOLCANO_PIPELINED] <
         session->snapshot->jobs[job].n_tasks;
}

/* All plug-ins of the first tier with a plug-in for this callback must agree. */
bool hr__volcano_job_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  bool found = false;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (hr__volcano_enables(plugin, HR__VOLCANO_JOB_STARVING)) {
      bool starving = true, knows = true;
      if (plugin->id == HR__VOLCANO_GANG)
        starving = gang_is_starving(session, job);
      else if (plugin->id == HR__VOLCANO_PRIORITY)
        starving = priority_is_starving(session, job);
      else if (plugin->id == HR__VOLCANO_TDM)
        starving = !session->snapshot->jobs[job].preemptable && session->job_count[job][HR__VOLCANO_PENDING] > 0;
      else
        knows = false;
      if (!starving) return false;
      found = found || knows;
    }
    if (found && ends_tier(session, plugin)) return true;
  }
  return false;
}

static void capacity_enqueued(struct hr__volcano_session *session, uint32_t job) {
  if (!session->snapshot->jobs[job].has_min_resources) return;
  struct hr__volcano_vector minimum = hr__volcano_minimum(session, job);
  for (uint32_t at = session->snapshot->jobs[job].queue; at != HR__VOLCANO_NONE; at = session->capacity[at].parent)
    hr__volcano_add(&session->capacity[at].inqueue, &minimum);
}

static void quota_enqueued(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (info->has_min_resources) hr__volcano_add(&session->namespace_pending[info->name_space], &info->min_resources);
}

void hr__volcano_job_enqueued(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_JOB_ENQUEUED) {
    struct hr__volcano_vector minimum = hr__volcano_minimum(session, job);
    if (plugin->id == HR__VOLCANO_CAPACITY) capacity_enqueued(session, job);
    if (plugin->id == HR__VOLCANO_RESOURCEQUOTA) quota_enqueued(session, job);
    if (!info->has_min_resources) continue;
    if (plugin->id == HR__VOLCANO_PROPORTION) hr__volcano_add(&session->proportion[info->queue].inqueue, &minimum);
    if (plugin->id == HR__VOLCANO_OVERCOMMIT) hr__volcano_add(&session->overcommit_inqueue, &minimum);
  }
}

/* ---- Victims ---- */

/* Whether a plug-in can choose victims for the callback. */
static bool chooses(const struct hr__volcano_session *session, enum hr__volcano_callback callback,
                    enum hr__volcano_plugin_id plugin) {
  switch (plugin) {
  case HR__VOLCANO_GANG:
  case HR__VOLCANO_CONFORMANCE:
    return true;
  case HR__VOLCANO_PRIORITY:
  case HR__VOLCANO_TDM:
    return callback == HR__VOLCANO_PREEMPTABLE;
  case HR__VOLCANO_DRF:
    return callback == HR__VOLCANO_PREEMPTABLE || session->drf_nodes;
  case HR__VOLCANO_PROPORTION:
  case HR__VOLCANO_CAPACITY:
    return callback == HR__VOLCANO_RECLAIMABLE;
  default:
    return false;
  }
}

/* Writes the victims that one plug-in chooses. Returns their number. */
static uint32_t victims_of(struct hr__volcano_session *session, enum hr__volcano_callback callback,
                           enum hr__volcano_plugin_id plugin, uint32_t preemptor, uint32_t n, uint32_t *victims) {
  const uint32_t *candidates = session->candidates;
  switch (plugin) {
  case HR__VOLCANO_GANG:
    return hr__volcano_gang_victims(session, candidates, n, victims);
  case HR__VOLCANO_CONFORMANCE:
    return hr__volcano_conformance_victims(session, candidates, n, victims);
  case HR__VOLCANO_PRIORITY:
    return hr__volcano_priority_victims(session, preemptor, candidates, n, victims);
  case HR__VOLCANO_TDM:
    return hr__volcano_tdm_victims(session, preemptor, candidates, n, victims);
  case HR__VOLCANO_PROPORTION:
    return hr__volcano_proportion_victims(session, candidates, n, victims);
  case HR__VOLCANO_CAPACITY:
    return hr__volcano_capacity_victims(session, preemptor, candidates, n, victims);
  default:
    if (callback == HR__VOLCANO_RECLAIMABLE)
      return hr__volcano_hdrf_victims(session, preemptor, candidates, n, victims);
    return hr__volcano_drf_victims(session, preemptor, candidates, n, victims);
  }
}

/* Reduces the first list to the items that are also in the second list, in their order. Returns their number. */
static uint32_t intersect(uint32_t *items, uint32_t n, const uint32_t *others, uint32_t n_others) {
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < n_others; k++)
      if (items[i] == others[k]) {
        items[n_kept++] = items[i];
        break;
      }
  return n_kept;
}

uint32_t hr__volcano_choose_victims(struct hr__volcano_session *session, enum hr__volcano_callback callback,
                                    uint32_t preemptor, uint32_t n) {
  uint32_t n_victims = 0, *of_plugin = session->filtered + session->snapshot->n_tasks;
  bool tier_is_decided = false;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (!tier_is_decided && hr__volcano_enables(plugin, callback) && chooses(session, callback, plugin->id)) {
      uint32_t found = victims_of(session, callback, plugin->id, preemptor, n, of_plugin);
      if (!found) {
        n_victims = 0;
        tier_is_decided = true;
      } else if (!n_victims) {
        /* The first list of the tier; or, as in Volcano, the list after an empty intersection, which starts again. */
        memcpy(session->victims, of_plugin, found * sizeof *of_plugin);
        n_victims = found;
      } else {
        n_victims = intersect(session->victims, n_victims, of_plugin, found);
      }
    }
    if (!ends_tier(session, plugin)) continue;
    if (n_victims) return n_victims;
    tier_is_decided = false;
  }
  return 0;
}

uint32_t hr__volcano_preemptable(struct hr__volcano_session *session, uint32_t preemptor, uint32_t *tasks,
                                 uint32_t n_tasks) {
  memcpy(session->candidates, tasks, n_tasks * sizeof *tasks);
  uint32_t n_victims = hr__volcano_choose_victims(session, HR__VOLCANO_PREEMPTABLE, preemptor, n_tasks);
  memcpy(tasks, session->victims, n_victims * sizeof *tasks);
  return n_victims;
}

/* ---- Events ---- */

void hr__volcano_notify(struct hr__volcano_session *session, uint32_t task, bool allocated) {
  uint32_t job = session->snapshot->tasks[task].job;
  if (job == HR__VOLCANO_NONE || session->snapshot->jobs[job].queue == HR__VOLCANO_NONE) return;
  if (session->proportion) {
    struct hr__volcano_queue_state *queue = &session->proportion[session->snapshot->jobs[job].queue];
    (allocated ? hr__volcano_add : hr__volcano_subtract)(&queue->allocated, hr__volcano_request(session, task));
    hr__volcano_proportion_share(queue);
  }
  if (session->capacity) hr__volcano_capacity_notify(session, task, allocated);
  if (session->plugin[HR__VOLCANO_DRF]) hr__volcano_drf_notify(session, task, allocated);
  if (session->plugin[HR__VOLCANO_NODEGROUP]) hr__volcano_nodegroup_notify(session, task, allocated);
}
