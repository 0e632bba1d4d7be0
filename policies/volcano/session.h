/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_VOLCANO_SESSION_H
#define HR_POLICIES_VOLCANO_SESSION_H

/*
 * The state of a session, and the interface between its modules:
 *   session.c     states of tasks, resources of nodes, the log of changes
 *   callbacks.c   calls the plug-ins in the order of their tiers and combines their votes
 *   gang.c        plug-ins gang, priority, conformance; counts of a job's tasks
 *   gang.c (proportion), capacity.c, drf.c, gang.c (overcommit, sla, resourcequota), nodes.c (predicates, nodegroup,
 *                 tdm, usage), scores.c: the other plug-ins
 *   allocate.c    actions enqueue, allocate, backfill;  evict.c: preempt, reclaim, shuffle
 *
 * Changes are logged. A statement of Volcano is the part of the log that follows a mark: it is committed, undone, or
 * forgotten (which keeps its effect on the session without binding or evicting).
 */

#include "policies/volcano/volcano.h"

/* The resources of a node. future idle = idle + releasing - pipelined. */
struct hr__volcano_node_state {
  struct hr__volcano_vector idle, used, releasing, pipelined;
  uint32_t first_task; /* list of the tasks on the node, newest last */
  uint32_t last_task;
  uint32_t n_pods;     /* tasks on the node that are not being released */
  uint32_t n_changing; /* tasks that are being released or wait for resources */
};

/* The sums over the jobs of a queue, which the owner of a lasting session keeps. */
struct hr__volcano_queue_sums {
  /* request: of all with pods; inqueue: of enqueued ones; elastic: above the minimum of each job */
  struct hr__volcano_vector allocated, request, inqueue, elastic;
  uint32_t n_jobs;
};

/* What a lasting session (see hr__volcano_refresh) calls in its owner. Members may be NULL. */
struct hr__volcano_owner {
  void *self;
  const struct hr__volcano_queue_sums *sums; /* by queue */
  /* Whether the task can be placed on the node, on which its request fits. */
  bool (*accepts)(void *self, uint32_t task, uint32_t node);
  /* A task was placed, or was withdrawn from its node. */
  void (*placed)(void *self, uint32_t task, uint32_t node);
  void (*withdrawn)(void *self, uint32_t task);
  /* A task was evicted, or restored. */
  void (*evicted)(void *self, uint32_t task);
  void (*restored)(void *self, uint32_t task);
  /* A waiting job like `job`, which was just served; HR__VOLCANO_NONE: there is none. */
  uint32_t (*successor)(void *self, uint32_t job);
};

/* The data of a queue in the plug-ins proportion and capacity. */
struct hr__volcano_queue_state {
  bool takes_part; /* proportion and flat capacity: the queue has a job */
  struct hr__volcano_vector deserved, allocated, request, elastic, inqueue, capability, real_capability, guarantee;
  double share;
  /* Hierarchical capacity. `depth`: number of ancestors; 0 for the root queue. */
  uint32_t parent, depth, n_children;
};

/* A node of the tree of hierarchical DRF. Leaves are jobs. */
struct hr__volcano_drf_node {
  const char *name; /* [name_length], not terminated; NULL for a job */
  uint32_t name_length, job;
  uint32_t parent, first_child, next_sibling;
  double weight, share;
  bool is_saturated;
  struct hr__volcano_vector allocated;
};

enum hr__volcano_operation_kind { HR__VOLCANO_EVICTED, HR__VOLCANO_PLACED, HR__VOLCANO_WAITS };

struct hr__volcano_operation {
  enum hr__volcano_operation_kind kind;
  uint32_t task;
};

/* A heap of ids, see heap.h. The memory of the session has room for all items at once. */
struct hr__volcano_heap {
  uint32_t *items;
  uint32_t count, capacity; /* capacity: of a heap from the pool */
};

struct hr__volcano_session {
  const struct hr__volcano_snapshot *snapshot;
  const struct hr__volcano_config *config;
  const struct hr__volcano_owner *owner;                          /* NULL: the session is not a lasting one */
  const struct hr__volcano_plugin *plugin[HR__VOLCANO_N_PLUGINS]; /* NULL: not configured */
  struct hr__volcano_vector total;                                /* allocatable, of all nodes */
  /* Tasks. */
  enum hr__volcano_state *task_state;
  uint32_t *task_node, *task_next, *task_previous; /* lists of a node */
  bool *is_best_effort;                            /* requests nothing but one pod */
  uint32_t *task_epoch;                            /* by equivalence: 1 + the epoch in which no node fit */
  /* Jobs. */
  uint32_t (*job_count)[HR__VOLCANO_N_STATES]; /* tasks by state */
  uint32_t *job_pending_best_effort;
  struct hr__volcano_vector *job_allocated;
  enum hr__volcano_phase *job_phase;
  struct hr__volcano_vector *drf_allocated; /* plug-in drf: includes pipelined tasks, unlike job_allocated */
  double *job_share;
  bool **role_failed; /* [n_jobs][n_roles]: no node accepted a task of the role */
  /* Nodes and queues. */
  struct hr__volcano_node_state *nodes;
  struct hr__volcano_queue_state *proportion, *capacity; /* NULL: the plug-in is not configured */
  bool capacity_is_ready, capacity_is_hierarchical;
  /* Plug-ins. */
  struct hr__volcano_drf_node *drf_nodes;      /* [0] is the root; NULL: no hierarchical DRF */
  uint32_t n_drf_nodes, *drf_leaf, *drf_inner; /* of a job: its leaf; of a queue: its inner node */
  struct hr__volcano_drf_node *drf_copy;
  struct hr__volcano_vector drf_total_allocated;
  struct hr__volcano_vector overcommit_idle, overcommit_inqueue;
  struct hr__volcano_vector *namespace_pending; /* plug-in resourcequota */
  struct hr__volcano_vector *group_allocated;   /* [n_queues][n_groups], plug-in nodegroup */
  /* The log, and the decisions. */
  struct hr__volcano_operation *log;
  uint32_t n_log;
  uint32_t *binds, n_binds, *evictions, n_evictions;
  uint32_t epoch; /* increases whenever resources become free */
  /* Scratch memory of the actions. */
  struct hr__volcano_heap queue_heap, *job_heaps, *task_heaps; /* by queue, by job */
  struct hr__volcano_heap victim_heap;
  uint32_t victim_heap_preemptor;
  uint32_t *candidates, *victims, *filtered; /* [n_tasks] */
  struct hr__volcano_heap pool;              /* the next unused memory for heaps of an action */
  uint32_t *pool_start;
  uint32_t *node_list;                /* [n_nodes] */
  double *node_scores;                /* [n_nodes] */
  double *spread_scores;              /* [n_nodes] see hr__volcano_spread_prepare */
  uint32_t *spread_counts;            /* [n_nodes] pods by domain */
  struct hr__volcano_vector *scratch; /* [max(n_queues, n_jobs)] allocations during the choice of victims */
  uint32_t *scratch_stamp, stamp;     /* scratch[i] is valid if scratch_stamp[i] == stamp */
};

static inline bool hr__volcano_enables(const struct hr__volcano_plugin *plugin, enum hr__volcano_callback callback) {
  return plugin->enabled >> callback & 1;
}

/* Bound, binding, running, or allocated in this session. */
static inline bool hr__volcano_is_allocated(enum hr__volcano_state state) {
  return state == HR__VOLCANO_ALLOCATED || state == HR__VOLCANO_BINDING || state == HR__VOLCANO_BOUND ||
         state == HR__VOLCANO_RUNNING;
}

static inline const struct hr__volcano_vector *hr__volcano_request(const struct hr__volcano_session *session,
                                                                   uint32_t task) {
  return session->snapshot->tasks[task].request;
}

/* ---- session.c ---- */

struct hr__volcano_vector hr__volcano_future_idle(const struct hr__volcano_session *session, uint32_t node);

/* Whether the request of the task fits the resources that are idle, or will be. */
static inline bool hr__volcano_fits_idle(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  return hr__volcano_less_equal(hr__volcano_request(session, task), &session->nodes[node].idle);
}

/* Whether the owner of a lasting session accepts the task on the node. */
static inline bool hr__volcano_owner_accepts(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  return !session->owner || !session->owner->accepts || session->owner->accepts(session->owner->self, task, node);
}

static inline bool hr__volcano_fits_future(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  if (session->nodes[node].n_changing == 0) return hr__volcano_fits_idle(session, task, node);
  struct hr__volcano_vector future = hr__volcano_future_idle(session, node);
  return hr__volcano_less_equal(hr__volcano_request(session, task), &future);
}

/*
 * A lasting session is used again and again. Its snapshot has room for jobs and tasks that come later: a job without a
 * queue (HR__VOLCANO_NONE), and a task without a job, are unused. Between two runs its owner changes the snapshot:
 * hr__volcano_join adds the tasks of a job, hr__volcano_part removes them, hr__volcano_settle makes bound tasks running
 * and tasks that wait for resources pending, hr__volcano_drop makes an evicted task pending, and hr__volcano_set_node
 * sets what a node without tasks has. hr__volcano_refresh then prepares the next run: it does what opening a session
 * does, with the sums of the owner.
 */
void hr__volcano_join(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_part(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_settle(struct hr__volcano_session *session, uint32_t job);
void hr__volcano_drop(struct hr__volcano_session *session, uint32_t task);
void hr__volcano_set_node(struct hr__volcano_session *session, uint32_t node);
void hr__volcano_refresh(struct hr__volcano_session *session);

/* Each of these changes the session, notifies the plug-ins and is logged. */
void hr__volcano_evict(struct hr__volcano_session *session, uint32_t task);
void hr__volcano_place(struct hr__volcano_session *session, uint32_t task, uint32_t node);
void hr__volcano_pipeline(struct hr__volcano_session *session, uint32_t task, uint32_t node);
/* Undoes an eviction or pipelining that has left the log, or will leave it. */
void hr__volcano_restore(struct hr__volcano_session *session, uint32_t task);
/* Removes a pipelined or placed task from its node; it is pending again. */
void hr__volcano_withdraw(struct hr__volcano_session *session, uint32_t task);
/* Carries out, undoes or forgets the operations after the mark. */
void hr__volcano_commit(struct hr__volcano_session *session, uint32_t mark);
void hr__volcano_undo(struct hr__volcano_session *session, uint32_t mark);
static inline void hr__volcano_forget(struct hr__volcano_session *session, uint32_t mark) {
  session->n_log = mark;
}
/* Binds a task that was placed. */
void hr__volcano_bind(struct hr__volcano_session *session, uint32_t task);

/* Takes memory for `capacity` ids from the pool. Each action frees all of it at its begin. */
static inline struct hr__volcano_heap hr__volcano_pool_heap(struct hr__volcano_session *session, uint32_t capacity) {
  struct hr__volcano_heap heap = {session->pool.items, 0, capacity};
  session->pool.items += capacity;
  return heap;
}

/* ---- callbacks.c ---- */

bool hr__volcano_overused(const struct hr__volcano_session *session, uint32_t queue);
bool hr__volcano_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_job_is_valid(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_job_is_ready(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_job_is_pipelined(const struct hr__volcano_session *session, uint32_t job);
/* Whether the enabled plug-ins find the sub-job complete; true without such plug-ins. */
bool hr__volcano_subjob_votes(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                              enum hr__volcano_callback callback);
/* Which of two sub-jobs of a job is served first. */
bool hr__volcano_subjob_precedes(const struct hr__volcano_session *session, uint32_t job, uint32_t left,
                                 uint32_t right);
bool hr__volcano_job_is_starving(const struct hr__volcano_session *session, uint32_t job);
/* Notifies the plug-ins that the job was enqueued. */
void hr__volcano_job_enqueued(struct hr__volcano_session *session, uint32_t job);
/* Filters the candidates in session->candidates [n]; the victims are in session->victims. Returns their number. */
uint32_t hr__volcano_choose_victims(struct hr__volcano_session *session, enum hr__volcano_callback callback,
                                    uint32_t preemptor, uint32_t n);
/* A task was allocated (true), or its resources were released. */
void hr__volcano_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);

/* Heaps in the order of the callbacks. The first item is at index 0. */
void hr__volcano_push_queue(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
void hr__volcano_push_job(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
void hr__volcano_push_task(struct hr__volcano_session *session, struct hr__volcano_heap *heap, uint32_t item);
uint32_t hr__volcano_pop_queue(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
uint32_t hr__volcano_pop_job(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
uint32_t hr__volcano_pop_task(struct hr__volcano_session *session, struct hr__volcano_heap *heap);
/* The heap of victims: which of them is evicted first for the preemptor. */
void hr__volcano_victims_begin(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *victims,
                               uint32_t n_victims);
uint32_t hr__volcano_victims_pop(struct hr__volcano_session *session);

/* ---- gang.c ---- */

uint32_t hr__volcano_ready_tasks(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_gang_is_valid(const struct hr__volcano_session *session, uint32_t job);
/* Ready without, pipelined with the tasks that wait for resources. */
bool hr__volcano_gang_is_ready(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined);

/* Whether a sub-job is complete with the tasks that are ready, or with those that wait for resources as well. */
bool hr__volcano_subjob_is_ready(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob,
                                 bool with_pipelined);

int hr__volcano_gang_compare_jobs(const struct hr__volcano_session *session, uint32_t left, uint32_t right);
uint32_t hr__volcano_gang_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                  uint32_t *victims);

uint32_t hr__volcano_priority_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims);
uint32_t hr__volcano_conformance_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                         uint32_t *victims);
/* Whether it is worth trying later tasks of the job after one that no node accepted. */
bool hr__volcano_may_continue(const struct hr__volcano_session *session, uint32_t job);

/* ---- Proportional shares: gang.c ---- */

static inline struct hr__volcano_vector hr__volcano_queue_capability(const struct hr__volcano_queue *queue) {
  struct hr__volcano_vector result = queue->capability;
  for (uint32_t i = HR__VOLCANO_CPU; i <= HR__VOLCANO_MEMORY; i++)
    if (result.amount[i] <= 0) result.amount[i] = HR__VOLCANO_UNLIMITED;
  return result;
}

/* Minimum resources of the job without its gated tasks. */
struct hr__volcano_vector hr__volcano_minimum(const struct hr__volcano_session *session, uint32_t job);
/* Whether the queue has room for the minimum resources of the job. */
bool hr__volcano_has_room(const struct hr__volcano_queue_state *queue, const struct hr__volcano_vector *minimum);
/* Adds the sums over the jobs of each queue, and of its descendants, to what both plug-ins know of it. */
void hr__volcano_sum_queues(struct hr__volcano_session *session, struct hr__volcano_queue_state *queues);
void hr__volcano_proportion_open(struct hr__volcano_session *session);

static inline void hr__volcano_proportion_share(struct hr__volcano_queue_state *queue) {
  queue->share = hr__volcano_dominant_share(&queue->allocated, &queue->deserved);
}

uint32_t hr__volcano_proportion_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                        uint32_t *victims);

/* ---- capacity.c ---- */

bool hr__volcano_capacity_open(struct hr__volcano_session *session);
int hr__volcano_capacity_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right);
/* Which queue loses tasks first for the preemptor's queue; 0: no difference. */
int hr__volcano_capacity_compare_victims(const struct hr__volcano_session *session, uint32_t left, uint32_t right,
                                         uint32_t preemptor);
bool hr__volcano_capacity_allocatable(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_capacity_preemptive(const struct hr__volcano_session *session, uint32_t queue, uint32_t task);
bool hr__volcano_capacity_enqueueable(const struct hr__volcano_session *session, uint32_t job);

void hr__volcano_capacity_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);
uint32_t hr__volcano_capacity_victims(struct hr__volcano_session *session, uint32_t reclaimer,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims);

/* ---- drf.c ---- */

/* Returns false if memory is exhausted. */
bool hr__volcano_drf_open(struct hr__volcano_session *session, struct hr_arena *arena);
void hr__volcano_drf_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);
int hr__volcano_drf_compare_queues(const struct hr__volcano_session *session, const struct hr__volcano_drf_node *nodes,
                                   uint32_t left, uint32_t right);
uint32_t hr__volcano_drf_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                 uint32_t n, uint32_t *victims);
uint32_t hr__volcano_hdrf_victims(struct hr__volcano_session *session, uint32_t reclaimer, const uint32_t *candidates,
                                  uint32_t n, uint32_t *victims);

/* ---- Admission: gang.c ---- */

void hr__volcano_admission_open(struct hr__volcano_session *session);
bool hr__volcano_overcommit_allows(const struct hr__volcano_session *session, uint32_t job);
bool hr__volcano_quota_allows(const struct hr__volcano_session *session, uint32_t job);

bool hr__volcano_sla_is_over(const struct hr__volcano_session *session, uint32_t job);
int hr__volcano_sla_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right);

/* ---- nodes.c ---- */

void hr__volcano_nodegroup_notify(struct hr__volcano_session *session, uint32_t task, bool allocated);

double hr__volcano_nodegroup_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node);
double hr__volcano_usage_score(const struct hr__volcano_session *session, uint32_t node);
double hr__volcano_tdm_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node);
uint32_t hr__volcano_tdm_victims(const struct hr__volcano_session *session, uint32_t preemptor,
                                 const uint32_t *candidates, uint32_t n, uint32_t *victims);

/* ---- spread.c ---- */

/* Whether the required topology spread constraints permit the node. */
enum hr__volcano_verdict hr__volcano_spread_verdict(const struct hr__volcano_session *session, uint32_t task,
                                                    uint32_t node, const char **reason);
/* Computes session->spread_scores of the nodes among which one is chosen for the task. */
void hr__volcano_spread_prepare(struct hr__volcano_session *session, uint32_t task, const uint32_t *nodes, uint32_t n);

/* ---- allocate.c, evict.c ---- */

void hr__volcano_run_enqueue(struct hr__volcano_session *session);
void hr__volcano_run_allocate(struct hr__volcano_session *session);
void hr__volcano_run_backfill(struct hr__volcano_session *session);
void hr__volcano_run_preempt(struct hr__volcano_session *session);
void hr__volcano_run_reclaim(struct hr__volcano_session *session);
void hr__volcano_run_shuffle(struct hr__volcano_session *session);

#endif
