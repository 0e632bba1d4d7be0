/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plug-ins of Volcano, and the callbacks that call all plug-ins.
 *
 * Plug-ins: for the admission of jobs (overcommit, resourcequota, sla), for gangs (gang, priority, conformance), and
 * for proportional shares of queues (proportion). Others are in nodes.c and shares.c.
 *
 * Callbacks call the plug-ins in the order of their tiers, and combine their results:
 * - Orders: the first plug-in that does not treat both items as equal decides. If all do, age and name decide.
 * - Votes: each function has its own rule, see there.
 * - Victims: within a tier, the lists of the plug-ins are intersected. The first tier with a victim in the intersection
 *   decides. (hr__volcano_choose_victims has an exception.)
 *
 * Source: volcano-sh/volcano, pkg/scheduler/framework/session_plugins.go and pkg/scheduler/plugins.
 */

#include "policies/volcano/volcano.h"

#include "base/containers.h"

#include <string.h>

/* ---- Plug-ins --------------------------------------------------------------------------------------- */

/* ---- Plug-ins: resources of jobs -------------------------------------------------------------------- */

static uint32_t allocated_tasks(const struct hr__volcano_session *session, uint32_t job) {
  const uint32_t *count = session->job_count[job];
  return count[HR__VOLCANO_ALLOCATED] + count[HR__VOLCANO_BINDING] + count[HR__VOLCANO_BOUND] +
         count[HR__VOLCANO_RUNNING];
}

/* Subtracts the requests of gated tasks, which must not be scheduled yet. The amounts stay at least 0. */
static void deduct_gated(const struct hr__volcano_session *session, uint32_t job, struct hr__volcano_vector *vector) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  struct hr__volcano_vector gated;
  hr__volcano_clear(&gated);
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->snapshot->tasks[i].gated) hr__volcano_add(&gated, session->snapshot->tasks[i].request);
  if (hr__volcano_is_empty(&gated)) return;
  for (uint32_t i = 0; i < vector->width; i++) {
    if (!hr__volcano_has(&gated, i)) continue;
    vector->amount[i] = vector->amount[i] > gated.amount[i] ? vector->amount[i] - gated.amount[i] : 0;
  }
}

/* The minimum resources of the job minus `allocated`, at least 0, without those of gated tasks. */
static struct hr__volcano_vector reserved_of(const struct hr__volcano_session *session, uint32_t job,
                                             const struct hr__volcano_vector *allocated) {
  struct hr__volcano_vector result = hr__volcano_exceeding(&session->snapshot->jobs[job].min_resources, allocated);
  deduct_gated(session, job, &result);
  return result;
}

/* ---- Plug-ins: admission ---------------------------------------------------------------------------- */

/* The plug-ins that vote on the action enqueue and do not check limits of queues: overcommit (of the cluster),
   resourcequota (of a namespace) and sla (a maximum wait). Source: volcano-sh/volcano,
   pkg/scheduler/plugins/{overcommit,resourcequota,sla}. */

#define DEFAULT_FACTOR 1.2

/* ---- Plug-ins: overcommit --------------------------------------------------------------------------- */

void hr__volcano_admission_open(struct hr__volcano_session *session) {
  const struct hr__volcano_plugin *plugin = session->plugin[HR__VOLCANO_OVERCOMMIT];
  if (!plugin) return;
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  double factor = plugin->arguments.overcommit_factor;
  session->overcommit_idle = session->total;
  hr__volcano_multiply(&session->overcommit_idle, factor < 1 ? DEFAULT_FACTOR : factor);
  for (uint32_t i = 0; i < snapshot->n_nodes; i++)
    hr__volcano_subtract(&session->overcommit_idle, &session->nodes[i].used);
  hr__volcano_clear(&session->overcommit_inqueue);
  if (session->owner) {
    for (uint32_t i = 0; i < snapshot->n_queues; i++)
      hr__volcano_add(&session->overcommit_inqueue, &session->owner->sums[i].inqueue);
    return;
  }
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    const struct hr__volcano_job *job = &snapshot->jobs[i];
    if (!job->has_min_resources || job->queue == HR__VOLCANO_NONE) continue;
    struct hr__volcano_vector more;
    if (job->phase == HR__VOLCANO_PHASE_INQUEUE)
      more = hr__volcano_minimum(session, i);
    else if (job->phase == HR__VOLCANO_PHASE_RUNNING && (int64_t)allocated_tasks(session, i) >= job->min_available)
      more = reserved_of(session, i, &session->job_allocated[i]);
    else
      continue;
    hr__volcano_add(&session->overcommit_inqueue, &more);
  }
}

bool hr__volcano_overcommit_allows(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->has_min_resources) return true;
  struct hr__volcano_vector used = session->overcommit_inqueue;
  hr__volcano_add(&used, &info->min_resources);
  return hr__volcano_within(&used, &session->overcommit_idle, &info->min_resources);
}

/* ---- Plug-ins: resourcequota ------------------------------------------------------------------------ */

static bool quota_limits(const struct hr__volcano_namespace_quota *quota, uint32_t dimension) {
  if (dimension == HR__VOLCANO_CPU) return quota->limits_cpu;
  if (dimension == HR__VOLCANO_MEMORY) return quota->limits_memory;
  return hr__volcano_has(&quota->hard, dimension);
}

bool hr__volcano_quota_allows(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->has_min_resources) return true;
  const struct hr__volcano_vector *pending = &session->namespace_pending[info->name_space];
  for (uint32_t i = 0; i < session->snapshot->n_quotas; i++) {
    const struct hr__volcano_namespace_quota *quota = &session->snapshot->quotas[i];
    if (quota->name_space != info->name_space) continue;
    for (uint32_t k = 0; k < info->min_resources.width; k++)
      if (info->min_resources.amount[k] > 0 && quota_limits(quota, k) &&
          quota->used.amount[k] + pending->amount[k] + info->min_resources.amount[k] > quota->hard.amount[k])
        return false;
  }
  return true;
}

/* ---- Plug-ins: sla ---------------------------------------------------------------------------------- */

/* The maximum wait of a job: its own, or that of the plug-in; 0: none. */
static int64_t waiting_us(const struct hr__volcano_session *session, uint32_t job) {
  int64_t own = session->snapshot->jobs[job].waiting_us;
  return own > 0 ? own : session->plugin[HR__VOLCANO_SLA]->arguments.waiting_us;
}

bool hr__volcano_sla_is_over(const struct hr__volcano_session *session, uint32_t job) {
  int64_t limit = waiting_us(session, job);
  return limit > 0 && session->config->now_us - session->snapshot->jobs[job].created_us >= limit;
}

int hr__volcano_sla_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  int64_t a = waiting_us(session, left), b = waiting_us(session, right);
  if (a <= 0 || b <= 0) return (a <= 0) - (b <= 0);
  a += session->snapshot->jobs[left].created_us;
  b += session->snapshot->jobs[right].created_us;
  return (a > b) - (a < b);
}

/* ---- Plug-ins: gangs -------------------------------------------------------------------------------- */

/*
 * The plug-ins gang, priority and conformance. They decide which jobs are complete, ready or starving, and which tasks
 * a job may lose.
 *
 * session.c updates the counts of a job by state. Counts by role are computed when they are needed, for jobs with
 * minimum numbers by role. Source: volcano-sh/volcano, pkg/scheduler/plugins/{gang,priority,conformance} and
 * pkg/scheduler/api/job_info.go.
 */

/* ---- Plug-ins: counts ------------------------------------------------------------------------------- */

uint32_t hr__volcano_ready_tasks(const struct hr__volcano_session *session, uint32_t job) {
  return allocated_tasks(session, job) + session->job_count[job][HR__VOLCANO_SUCCEEDED];
}

/* Sets of states, for counts by role. */
enum {
  READY = 1 << HR__VOLCANO_ALLOCATED | 1 << HR__VOLCANO_BINDING | 1 << HR__VOLCANO_BOUND | 1 << HR__VOLCANO_RUNNING |
          1 << HR__VOLCANO_SUCCEEDED,
  PIPELINED = 1 << HR__VOLCANO_PIPELINED,
  PENDING = 1 << HR__VOLCANO_PENDING
};

/* The number of tasks of a role and a sub-job (HR__VOLCANO_NONE: any) in one of the states. Pending best-effort tasks
   can be counted, too. */
static int64_t count_tasks(const struct hr__volcano_session *session, uint32_t job, uint32_t role, uint32_t subjob,
                           unsigned states, bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  int64_t count = 0;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    const struct hr__volcano_task *task = &session->snapshot->tasks[i];
    if (role != HR__VOLCANO_NONE && task->role != role) continue;
    if (subjob != HR__VOLCANO_NONE && task->subjob != subjob) continue;
    enum hr__volcano_state state = session->task_state[i];
    count += (states >> state & 1) || (with_best_effort && state == HR__VOLCANO_PENDING && session->is_best_effort[i]);
  }
  return count;
}

/* Whether each role has its minimum number of tasks in the given states. The minimums by role apply only if the minimum
   of the job is at least their sum. `with_best_effort`: pending best-effort tasks are counted, too. */
static bool roles_are_met(const struct hr__volcano_session *session, uint32_t job, unsigned states,
                          bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->role_min_total || info->min_available < info->role_min_total) return true;
  for (uint32_t role = 0; role < info->n_roles; role++)
    if (info->role_min[role] &&
        count_tasks(session, job, role, HR__VOLCANO_NONE, states, with_best_effort) < info->role_min[role])
      return false;
  return true;
}

/* ---- Plug-ins: sub-jobs ----------------------------------------------------------------------------- */

bool hr__volcano_subjob_is_ready(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                                 bool with_pipelined) {
  unsigned states = READY | (with_pipelined ? PIPELINED : 0);
  return count_tasks(session, job, HR__VOLCANO_NONE, subjob, states, true) >=
         session->snapshot->jobs[job].subjobs[subjob].min_tasks;
}

/* Whether enough sub-jobs of each policy have their minimum number of tasks in the given states. `with_best_effort`:
   pending best-effort tasks are counted, too. */
static bool subjobs_are_met(const struct hr__volcano_session *session, uint32_t job, unsigned states,
                            bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  for (uint32_t policy = 0; policy < info->n_policies; policy++) {
    int64_t n_complete = 0;
    for (uint32_t i = 0; i < info->n_subjobs; i++)
      n_complete += info->subjobs[i].policy == policy && count_tasks(session, job, HR__VOLCANO_NONE, i, states,
                                                                     with_best_effort) >= info->subjobs[i].min_tasks;
    if (n_complete < info->policy_min[policy]) return false;
  }
  return true;
}

/* ---- Plug-ins: gang --------------------------------------------------------------------------------- */

bool hr__volcano_gang_is_valid(const struct hr__volcano_session *session, uint32_t job) {
  const uint32_t *count = session->job_count[job];
  uint32_t valid = hr__volcano_ready_tasks(session, job) + count[HR__VOLCANO_PIPELINED] + count[HR__VOLCANO_PENDING];
  return roles_are_met(session, job, READY | PIPELINED | PENDING, false) &&
         subjobs_are_met(session, job, READY | PIPELINED | PENDING, false) &&
         (int64_t)valid >= session->snapshot->jobs[job].min_available;
}

/* Whether enough tasks are ready (`with_pipelined`: or pipelined), without regard to roles. */
static bool has_minimum(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined) {
  uint32_t count = hr__volcano_ready_tasks(session, job) + session->job_pending_best_effort[job];
  if (with_pipelined) count += session->job_count[job][HR__VOLCANO_PIPELINED];
  return (int64_t)count >= session->snapshot->jobs[job].min_available;
}

bool hr__volcano_gang_is_ready(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined) {
  return has_minimum(session, job, with_pipelined) &&
         roles_are_met(session, job, READY | (with_pipelined ? PIPELINED : 0), true) &&
         subjobs_are_met(session, job, READY | (with_pipelined ? PIPELINED : 0), true);
}

int hr__volcano_gang_compare_jobs(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  return (int)has_minimum(session, left, false) - (int)has_minimum(session, right, false);
}

uint32_t hr__volcano_gang_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                  uint32_t n, uint32_t *victims) {
  (void)preemptor;
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t job = session->snapshot->tasks[candidates[i]].job, taken = 0;
    if (job == HR__VOLCANO_NONE) continue;
    for (uint32_t k = 0; k < n_victims; k++) taken += session->snapshot->tasks[victims[k]].job == job;
    int64_t left = (int64_t)hr__volcano_ready_tasks(session, job) - taken;
    if (left > session->snapshot->jobs[job].min_available) victims[n_victims++] = candidates[i];
  }
  return n_victims;
}

bool hr__volcano_may_continue(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (info->min_available >= (int64_t)info->n_tasks) return false;
  const bool *failed = session->role_failed[job];
  if (info->min_available < info->role_min_total) {
    int64_t left = hr__volcano_ready_tasks(session, job);
    for (uint32_t role = 0; role < info->n_roles; role++)
      if (!failed[role]) left += count_tasks(session, job, role, HR__VOLCANO_NONE, PENDING, false);
    return left >= info->min_available;
  }
  for (uint32_t role = 0; role < info->n_roles; role++)
    if (failed[role] && info->role_min[role] &&
        count_tasks(session, job, role, HR__VOLCANO_NONE, READY, true) < info->role_min[role])
      return false;
  return true;
}

/* ---- Plug-ins: priority ----------------------------------------------------------------------------- */

uint32_t hr__volcano_priority_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  const struct hr__volcano_job *jobs = session->snapshot->jobs;
  uint32_t n_victims = 0, preemptor_job = tasks[preemptor].job;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t task = candidates[i], job = tasks[task].job;
    if (job == HR__VOLCANO_NONE) continue;
    bool lower = job == preemptor_job ? tasks[task].priority < tasks[preemptor].priority
                                      : jobs[job].priority < jobs[preemptor_job].priority;
    if (lower) victims[n_victims++] = task;
  }
  return n_victims;
}

/* ---- Plug-ins: conformance -------------------------------------------------------------------------- */

uint32_t hr__volcano_conformance_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                         const uint32_t *candidates, uint32_t n, uint32_t *victims) {
  (void)preemptor;
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!session->snapshot->tasks[candidates[i]].is_critical) victims[n_victims++] = candidates[i];
  return n_victims;
}

/* ---- Plug-ins: proportional shares ------------------------------------------------------------------ */

/*
 * The plug-in proportion, which divides the cluster among queues by weight; and the sums over the jobs of a queue,
 * which the plug-in capacity also uses.
 *
 * Invariant: `allocated` is the sum over the tasks that are bound, binding, running or allocated; hr__volcano_notify
 * adds changes of tasks during the session. Source: volcano-sh/volcano, pkg/scheduler/plugins/proportion.
 */

/* ---- Plug-ins: sums over the jobs of a queue -------------------------------------------------------- */

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

static void add_job(struct hr__volcano_session *session, struct hr__volcano_queue_state *queues, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  const struct hr__volcano_vector *allocated = &session->job_allocated[job];
  struct hr__volcano_vector request = *allocated;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_PENDING) hr__volcano_add(&request, session->snapshot->tasks[i].request);
  ADD_UPWARDS(queues, info->queue, allocated, allocated);
  ADD_UPWARDS(queues, info->queue, request, &request);
  bool reserves =
      info->phase == HR__VOLCANO_PHASE_INQUEUE ||
      (info->phase == HR__VOLCANO_PHASE_RUNNING && (int64_t)allocated_tasks(session, job) >= info->min_available);
  if (reserves && info->has_min_resources) {
    struct hr__volcano_vector reserved = reserved_of(session, job, allocated);
    ADD_UPWARDS(queues, info->queue, inqueue, &reserved);
  }
  struct hr__volcano_vector elastic = hr__volcano_exceeding(allocated, &info->min_resources);
  ADD_UPWARDS(queues, info->queue, elastic, &elastic);
}

void hr__volcano_sum_queues(struct hr__volcano_session *session, struct hr__volcano_queue_state *queues) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  for (uint32_t i = 0; i < snapshot->n_queues && session->owner; i++) {
    const struct hr__volcano_queue_sums *sums = &session->owner->sums[i];
    queues[i].takes_part = sums->n_jobs > 0;
    if (!sums->n_jobs) continue;
    ADD_UPWARDS(queues, i, allocated, &sums->allocated);
    ADD_UPWARDS(queues, i, request, &sums->request);
    ADD_UPWARDS(queues, i, inqueue, &sums->inqueue);
    ADD_UPWARDS(queues, i, elastic, &sums->elastic);
  }
  for (uint32_t i = 0; i < snapshot->n_jobs && !session->owner; i++) {
    if (snapshot->jobs[i].queue == HR__VOLCANO_NONE) continue;
    queues[snapshot->jobs[i].queue].takes_part = true;
    add_job(session, queues, i);
  }
}

bool hr__volcano_has_room(const struct hr__volcano_queue_state *queue, const struct hr__volcano_vector *minimum) {
  struct hr__volcano_vector used = *minimum;
  hr__volcano_add(&used, &queue->allocated);
  hr__volcano_add(&used, &queue->inqueue);
  hr__volcano_subtract(&used, &queue->elastic);
  return hr__volcano_within(&used, &queue->real_capability, minimum);
}

/* ---- Plug-ins: division by weight ------------------------------------------------------------------- */

/* Performs one round of the division. `meet`: whether a queue has all that it can get. Returns whether another round
   may change something. */
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
    queue->takes_part = false;
    hr__volcano_add(&guarantees, &queue->guarantee);
  }
  hr__volcano_sum_queues(session, session->proportion);
  set_limits(session, &guarantees);
  /* The heap of queues is not in use yet, so its memory is used for `meet`. */
  bool *meet = (bool *)session->queue_heap.items;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) meet[i] = false;
  while (divide_once(session, meet, &remaining)) {
  }
  for (uint32_t i = 0; i < snapshot->n_queues; i++) hr__volcano_proportion_share(&session->proportion[i]);
}

/* ---- Plug-ins: votes -------------------------------------------------------------------------------- */

uint32_t hr__volcano_proportion_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                        const uint32_t *candidates, uint32_t n, uint32_t *victims) {
  (void)preemptor;
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

/* ---- Callbacks -------------------------------------------------------------------------------------- */

/* Loops over the plug-ins that are enabled for a callback. */
#define FOR_EACH_ENABLED(plugin, callback)                                                                             \
  for (const struct hr__volcano_plugin *plugin = session->config->plugins, *end = plugin + session->config->n_plugins; \
       plugin < end; plugin++)                                                                                         \
    if (hr__volcano_enables(plugin, callback))

/* Whether the plug-in is the last of its tier. */
static bool ends_tier(const struct hr__volcano_session *session, const struct hr__volcano_plugin *plugin) {
  return plugin + 1 == session->config->plugins + session->config->n_plugins || plugin[1].tier != plugin->tier;
}

/* ---- Orders ----------------------------------------------------------------------------------------- */

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

static bool queue_precedes(const void *self, uint32_t left, uint32_t right) {
  const struct hr__volcano_session *session = self;
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

static bool task_precedes(const void *self, uint32_t left, uint32_t right) {
  const struct hr__volcano_session *session = self;
  const struct hr__volcano_task *a = &session->snapshot->tasks[left], *b = &session->snapshot->tasks[right];
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_TASK_ORDER)
  if (plugin->id == HR__VOLCANO_PRIORITY && a->priority != b->priority) return a->priority > b->priority;
  if (a->index >= 0 && b->index >= 0 && a->index != b->index) return a->index < b->index;
  if (a->created_us != b->created_us) return a->created_us < b->created_us;
  return strcmp(a->uid, b->uid) < 0;
}

/* Whether `left` is evicted before `right`. */
static bool victim_precedes(const void *self, uint32_t left, uint32_t right) {
  const struct hr__volcano_session *session = self;
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

/* ---- Heaps ------------------------------------------------------------------------------------------ */

static bool job_precedes(const void *self, uint32_t left, uint32_t right) {
  return hr__volcano_job_precedes(self, left, right);
}

HR__HEAP(queue_order, uint32_t, queue_precedes)
HR__HEAP(job_order, uint32_t, job_precedes)
HR__HEAP(task_order, uint32_t, task_precedes)
HR__HEAP(victim_order, uint32_t, victim_precedes)

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
DEFINE_HEAP(victim, victim_order)

void hr__volcano_victims_begin(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *victims,
                               uint32_t n_victims) {
  session->victim_heap.count = 0;
  session->victim_heap_preemptor = preemptor;
  for (uint32_t i = 0; i < n_victims; i++) hr__volcano_push_victim(session, &session->victim_heap, victims[i]);
}

/* ---- Votes on queues -------------------------------------------------------------------------------- */

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

/* ---- Votes on jobs ---------------------------------------------------------------------------------- */

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

static inline enum vote pipelined_vote(const struct hr__volcano_session *session, enum hr__volcano_plugin_id plugin,
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

static inline enum vote enqueue_vote(const struct hr__volcano_session *session, enum hr__volcano_plugin_id plugin,
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

/* The plug-ins are asked in order, and a rejection ends the vote with the result false. At the end of the first tier in
   which a plug-in permits, the vote ends with the result true. The result is also true if no plug-in rejects or
   permits. */
static inline bool
permits(const struct hr__volcano_session *session, enum hr__volcano_callback callback,
        enum vote (*vote_on)(const struct hr__volcano_session *, enum hr__volcano_plugin_id, uint32_t), uint32_t job) {
  bool permitted = false;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (hr__volcano_enables(plugin, callback)) {
      enum vote vote = vote_on(session, plugin->id, job);
      if (vote == REJECT) return false;
      permitted = permitted || vote == PERMIT;
    }
    if (permitted && ends_tier(session, plugin)) return true;
  }
  return true;
}

bool hr__volcano_job_is_pipelined(const struct hr__volcano_session *session, uint32_t job) {
  return permits(session, HR__VOLCANO_JOB_PIPELINED, pipelined_vote, job);
}

bool hr__volcano_is_enqueueable(struct hr__volcano_session *session, uint32_t job) {
  return permits(session, HR__VOLCANO_JOB_ENQUEUED, enqueue_vote, job);
}

static bool priority_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  return hr__volcano_ready_tasks(session, job) + session->job_count[job][HR__VOLCANO_PIPELINED] <
         session->snapshot->jobs[job].n_tasks;
}

/* Whether a job is starving: all plug-ins of the first tier with a plug-in for this callback must agree. False if no
   tier has such a plug-in. */
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

void hr__volcano_job_enqueued(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->has_min_resources) return;
  struct hr__volcano_vector minimum = hr__volcano_minimum(session, job);
  FOR_EACH_ENABLED(plugin, HR__VOLCANO_JOB_ENQUEUED) {
    if (plugin->id == HR__VOLCANO_CAPACITY) ADD_UPWARDS(session->capacity, info->queue, inqueue, &minimum);
    if (plugin->id == HR__VOLCANO_RESOURCEQUOTA)
      hr__volcano_add(&session->namespace_pending[info->name_space], &info->min_resources);
    if (plugin->id == HR__VOLCANO_PROPORTION) hr__volcano_add(&session->proportion[info->queue].inqueue, &minimum);
    if (plugin->id == HR__VOLCANO_OVERCOMMIT) hr__volcano_add(&session->overcommit_inqueue, &minimum);
  }
}

/* ---- Victims ---------------------------------------------------------------------------------------- */

/* Chooses victims among candidates [n] and writes them to `victims`. Returns their number. */
typedef uint32_t choice(struct hr__volcano_session *, uint32_t preemptor, const uint32_t *candidates, uint32_t n,
                        uint32_t *victims);

/* How a plug-in chooses victims for the callback; NULL: it does not. */
static choice *choice_of(const struct hr__volcano_session *session, enum hr__volcano_callback callback,
                         enum hr__volcano_plugin_id plugin) {
  bool reclaims = callback == HR__VOLCANO_RECLAIMABLE;
  switch (plugin) {
  case HR__VOLCANO_GANG:
    return hr__volcano_gang_victims;
  case HR__VOLCANO_CONFORMANCE:
    return hr__volcano_conformance_victims;
  case HR__VOLCANO_PRIORITY:
    return reclaims ? NULL : hr__volcano_priority_victims;
  case HR__VOLCANO_TDM:
    return reclaims ? NULL : hr__volcano_tdm_victims;
  case HR__VOLCANO_DRF:
    if (!reclaims) return hr__volcano_drf_victims;
    return session->drf_nodes ? hr__volcano_hdrf_victims : NULL;
  case HR__VOLCANO_PROPORTION:
    return reclaims ? hr__volcano_proportion_victims : NULL;
  case HR__VOLCANO_CAPACITY:
    return reclaims ? hr__volcano_capacity_victims : NULL;
  default:
    return NULL;
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
    choice *choose = choice_of(session, callback, plugin->id);
    if (!tier_is_decided && hr__volcano_enables(plugin, callback) && choose) {
      uint32_t found = choose(session, preemptor, session->candidates, n, of_plugin);
      if (!found) {
        n_victims = 0;
        tier_is_decided = true;
      } else if (!n_victims) {
        /* This is the first list of the tier, or the intersection became empty. As in Volcano, an empty intersection is
           replaced by the next list. */
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

/* ---- Events ----------------------------------------------------------------------------------------- */

void hr__volcano_notify(struct hr__volcano_session *session, uint32_t task, bool allocated) {
  uint32_t job = session->snapshot->tasks[task].job;
  if (job == HR__VOLCANO_NONE || session->snapshot->jobs[job].queue == HR__VOLCANO_NONE) return;
  if (session->proportion) {
    struct hr__volcano_queue_state *queue = &session->proportion[session->snapshot->jobs[job].queue];
    hr__volcano_change(&queue->allocated, hr__volcano_request(session, task), allocated);
    hr__volcano_proportion_share(queue);
  }
  if (session->capacity) hr__volcano_capacity_notify(session, task, allocated);
  if (session->plugin[HR__VOLCANO_DRF]) hr__volcano_drf_notify(session, task, allocated);
  if (session->plugin[HR__VOLCANO_NODEGROUP]) hr__volcano_nodegroup_notify(session, task, allocated);
}
