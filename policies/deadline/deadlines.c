/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Market rules by deadline: each job acquires its own nodes, spot if possible and on-demand if necessary (Wu et al.,
 * "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI'24). C is the remaining work, R the time to
 * the deadline, and d the change-over time, which a job needs to move to other nodes. Under all rules, when
 * R < C + 2 d, a job without spot capacity changes to on-demand capacity and stays there until its end. The rules
 * differ in what a job does before that time:
 *
 *   deadline-greedy   uses spot capacity while it is available, else no nodes;
 *   uniform-progress  spreads the work evenly over time. Done work is cp(t); expected work is
 *                     ep(t) = work x elapsed / (deadline - submit). A job without nodes and with cp(t) < ep(t) uses
 *                     on-demand until cp(t) >= ep(t + 2 d);
 *   omniscient        follows the cheapest itinerary, computed when the job is submitted (omniscient.c).
 *
 * A job on spot capacity stays there until the capacity is reclaimed. Owned and reserved capacity is paid for even if
 * it is idle, so it is used first: a job without nodes starts in an owned or reserved pool if it fits there, and stays
 * there. A job that may not use spot capacity uses on-demand from the beginning.
 */

#include "policies/deadline/deadlines.h"

#include "policies/queue/dispatch.h"

/* A job that has not ended. While a job uses an owned or reserved pool, its list `nodes` is empty. */
struct hr__deadline_job {
  hr_job job;
  int64_t from_us, deadline_us; /* deadline_us: HR_NEVER_US for a job without a deadline */
  uint32_t pool;                /* the pool that the job uses; HR_NONE: none */
  uint32_t n_nodes;
  hr_node *nodes;          /* [maximum number of nodes of the job in any pool] */
  struct hr_slice *slices; /* [maximum number of nodes of the job in any pool] */
  bool committed;          /* the job uses on-demand capacity until its end */
  bool has_on_demand;      /* the job would fit in some on-demand pool if all nodes of the pool were available */
  struct hr__itinerary itinerary;
  uint32_t next_step;
};

/* The state of the market rules by deadline. All memory is allocated in the arena of the run. */
struct hr__deadlines {
  enum hr__market_rule rule;
  int64_t changeover_us;
  struct hr__deadline_job *jobs; /* sorted by job id */
  uint32_t count, capacity;
  bool *owned; /* by node: the node belongs to a job */
  struct hr_error *error;
  int64_t wake_us;
};

/* Returns the cheapest pool of the market in which all nodes that the job needs are available now; HR_NONE: none. */
static uint32_t deadlines_offer(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job,
                                enum hr_market market, int64_t now_us);

__extension__ typedef __int128 wide;

static const struct hr_pool_spec *spec_of(const struct hr__queue *queue, uint32_t pool) {
  return hr_cluster_pool_spec(queue->cluster, (hr_pool){pool});
}

/* Returns the number of nodes that the job needs in the pool. */
static uint32_t nodes_for(const struct hr__queue *queue, hr_job job, uint32_t pool) {
  uint32_t gpus = hr__gpus(queue, job), size = spec_of(queue, pool)->gpus_per_node;
  return gpus / size + (gpus % size != 0);
}

/* Returns whether the pool has the given market and the job accepts the pool. */
static bool may_use(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job, uint32_t pool,
                    enum hr_market market) {
  if (spec_of(queue, pool)->market.market != market) return false;
  return hr_cluster_accepts(queue->cluster, hr_cluster_accept_class(queue->cluster, deadline_job->job),
                            (hr_pool){pool});
}

/* Returns whether the job would fit in some pool of the given market if all nodes of the pool were available. */
static bool has_room_in(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job,
                        enum hr_market market) {
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    if (may_use(queue, deadline_job, i, market) && nodes_for(queue, deadline_job->job, i) <= spec_of(queue, i)->nodes)
      return true;
  return false;
}

/* ---- Creation and jobs ---------------------------------------------------------------------------- */

enum hr_status hr__deadlines_create(struct hr__queue *queue, enum hr__market_rule rule, int64_t changeover_us,
                                    struct hr_error *error) {
  struct hr__deadlines *self = hr_arena_alloc(queue->arena, sizeof *self);
  hr_pool last = {hr_cluster_pools(queue->cluster) - 1};
  uint32_t n_nodes = hr_cluster_first_node(queue->cluster, last).id + hr_cluster_pool_spec(queue->cluster, last)->nodes;
  if (!self || !(self->owned = hr_arena_alloc(queue->arena, n_nodes * sizeof *self->owned))) return HR_NO_MEMORY;
  self->rule = rule;
  self->changeover_us = changeover_us;
  self->error = error;
  queue->deadlines = self;
  return HR_OK;
}

static bool make_room(struct hr__queue *queue) {
  struct hr__deadlines *self = queue->deadlines;
  if (self->count < self->capacity) return true;
  struct hr__deadline_job *jobs = hr_arena_grown(queue->arena, self->jobs, &self->capacity, sizeof *jobs);
  if (jobs) self->jobs = jobs;
  return jobs;
}

/* Adds a submitted job, and, under the rule omniscient, computes its itinerary. */
static enum hr_status add_job(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__deadlines *self = queue->deadlines;
  uint32_t max_nodes = 1;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    if (nodes_for(queue, job, i) > max_nodes) max_nodes = nodes_for(queue, job, i);
  if (!make_room(queue)) return HR_NO_MEMORY;
  const int64_t *deadline_us = queue->trace->deadline_us;
  struct hr__deadline_job deadline_job = {
      .job = job, .from_us = view->now_us, .deadline_us = HR_NEVER_US, .pool = HR_NONE};
  if (deadline_us && deadline_us[job.id] != HR_UNKNOWN_US) deadline_job.deadline_us = deadline_us[job.id];
  deadline_job.nodes = hr_arena_alloc(queue->arena, max_nodes * sizeof *deadline_job.nodes);
  deadline_job.slices = hr_arena_alloc(queue->arena, max_nodes * sizeof *deadline_job.slices);
  if (!deadline_job.nodes || !deadline_job.slices) return HR_NO_MEMORY;
  deadline_job.committed = !has_room_in(queue, &deadline_job, HR_MARKET_SPOT);
  deadline_job.has_on_demand = has_room_in(queue, &deadline_job, HR_MARKET_ON_DEMAND);
  if (self->rule == HR__MARKET_OMNISCIENT && deadline_job.deadline_us != HR_NEVER_US) {
    enum hr_status status =
        hr__itinerary_make(queue, job, view->now_us, self->changeover_us, &deadline_job.itinerary, self->error);
    if (status != HR_OK) return status;
  }
  self->jobs[self->count++] = deadline_job;
  return HR_OK;
}

static struct hr__deadline_job *find(struct hr__deadlines *self, hr_job job) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->jobs[i].job.id == job.id) return &self->jobs[i];
  return NULL;
}

/* Ends the job's ownership of its nodes. Nodes that still exist are released in the next pass. */
static void drop_nodes(struct hr__deadlines *self, struct hr__deadline_job *deadline_job) {
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) self->owned[deadline_job->nodes[i].id] = false;
  deadline_job->n_nodes = 0;
  deadline_job->pool = HR_NONE;
}

/* Handles the loss of a node, even if the node was still booting: the job that owns the node loses all its nodes. */
static void lose_node(struct hr__deadlines *self, hr_node node) {
  if (!self->owned[node.id]) return;
  for (uint32_t i = 0; i < self->count; i++)
    for (uint32_t k = 0; k < self->jobs[i].n_nodes; k++)
      if (self->jobs[i].nodes[k].id == node.id) drop_nodes(self, &self->jobs[i]);
}

enum hr_status hr__deadlines_observe(struct hr__queue *queue, const struct hr_view *view,
                                     const struct hr_event *event) {
  struct hr__deadlines *self = queue->deadlines;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return add_job(queue, view, event->job);
  case HR_EVENT_END: {
    struct hr__deadline_job *deadline_job = find(self, event->job);
    drop_nodes(self, deadline_job);
    for (; deadline_job + 1 < self->jobs + self->count; deadline_job++) deadline_job[0] = deadline_job[1];
    self->count--;
    return HR_OK;
  }
  case HR_EVENT_INTERRUPT:
    drop_nodes(self, find(self, event->job));
    return HR_OK;
  case HR_EVENT_NODE_DOWN:
    lose_node(self, event->node);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- Conditions ----------------------------------------------------------------------------------- */

static uint32_t deadlines_offer(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job,
                                enum hr_market market, int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    if (!may_use(queue, deadline_job, i, market)) continue;
    if (hr_cluster_offer(queue->cluster, (hr_pool){i}) < nodes_for(queue, deadline_job->job, i)) continue;
    int64_t price = hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us);
    if (best != HR_NONE && price >= best_price) continue;
    best = i;
    best_price = price;
  }
  return best;
}

/* Returns whether the job uses a pool of the market. */
static bool holds(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job, enum hr_market market) {
  return deadline_job->pool != HR_NONE && spec_of(queue, deadline_job->pool)->market.market == market;
}

/* Returns the remaining work of the job. Change-over time is not included. */
static int64_t left_us(const struct hr_view *view, const struct hr__deadline_job *deadline_job) {
  return view->jobs->work_us[deadline_job->job.id] - hr_view_done_us(view, deadline_job->job);
}

/* Returns 2 d, with a minimum of one microsecond. The minimum is for d = 0: a job must then change to on-demand when
   R = C, because the deadline can no longer be met when R < C. */
static int64_t reserve_us(const struct hr__deadlines *self) {
  return self->changeover_us > 0 ? 2 * self->changeover_us : 1;
}

/* Returns how far a job must be ahead of even progress before it leaves on-demand capacity: 2 d, with a minimum of one
   minute. The minimum is for d = 0, because the job would otherwise be behind again after a microsecond. */
static int64_t lead_us(const struct hr__deadlines *self) {
  const int64_t min_us = 60 * HR_SECOND_US;
  return 2 * self->changeover_us > min_us ? 2 * self->changeover_us : min_us;
}

/* Returns whether R < C + 2 d. */
static bool must_use_on_demand(const struct hr__deadlines *self, const struct hr_view *view,
                               const struct hr__deadline_job *deadline_job) {
  if (deadline_job->deadline_us == HR_NEVER_US || !deadline_job->has_on_demand) return false;
  return deadline_job->deadline_us - view->now_us < left_us(view, deadline_job) + reserve_us(self);
}

/* Returns whether `done_us` is less than the work that even progress requires by `at_us`: done / work < elapsed /
   (deadline - submit). */
static bool is_behind(const struct hr_view *view, const struct hr__deadline_job *deadline_job, int64_t done_us,
                      int64_t at_us) {
  if (deadline_job->deadline_us == HR_NEVER_US) return false;
  return (wide)done_us * (deadline_job->deadline_us - deadline_job->from_us) <
         (wide)view->jobs->work_us[deadline_job->job.id] * (at_us - deadline_job->from_us);
}

/* ---- Fixed capacity ------------------------------------------------------------------------------- */

static bool is_fixed(const struct hr__queue *queue, uint32_t pool) {
  return pool != HR_NONE && !hr_market_is_elastic(spec_of(queue, pool)->market.market);
}

/* Starts a job without nodes in the first owned or reserved pool in which it fits. */
static enum hr_status start_on_fixed(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                     struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool != HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  uint32_t accept_class = hr_cluster_accept_class(queue->cluster, deadline_job->job);
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    struct hr_placement placement;
    if (!is_fixed(queue, i) || !hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!hr_placer_find_on(queue->placer, (hr_pool){i}, hr__gpus(queue, deadline_job->job), &placement)) continue;
    deadline_job->pool = i;
    deadline_job->itinerary.n_steps = 0;
    return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
  }
  return HR_OK;
}

/* ---- Rules ---------------------------------------------------------------------------------------- */

/* Returns the pool that the job should use by the rule deadline-greedy; HR_NONE: none. */
static uint32_t greedy_pool(const struct hr__queue *queue, const struct hr_view *view,
                            struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool != HR_NONE) return deadline_job->pool;
  deadline_job->committed = deadline_job->committed || must_use_on_demand(queue->deadlines, view, deadline_job);
  return deadlines_offer(queue, deadline_job, deadline_job->committed ? HR_MARKET_ON_DEMAND : HR_MARKET_SPOT,
                         view->now_us);
}

/* Returns the pool that the job should use by the rule uniform-progress; HR_NONE: none. */
static uint32_t by_uniform_progress(const struct hr__queue *queue, const struct hr_view *view,
                                    struct hr__deadline_job *deadline_job) {
  const struct hr__deadlines *self = queue->deadlines;
  int64_t done_us = hr_view_done_us(view, deadline_job->job);
  if (holds(queue, deadline_job, HR_MARKET_SPOT)) return deadline_job->pool;
  deadline_job->committed = deadline_job->committed || must_use_on_demand(self, view, deadline_job);
  bool on_demand = holds(queue, deadline_job, HR_MARKET_ON_DEMAND);
  if (on_demand && (deadline_job->committed || is_behind(view, deadline_job, done_us, view->now_us + lead_us(self))))
    return deadline_job->pool;
  uint32_t spot =
      deadline_job->committed ? HR_NONE : deadlines_offer(queue, deadline_job, HR_MARKET_SPOT, view->now_us);
  if (spot != HR_NONE) return spot;
  if (!on_demand && (deadline_job->committed || is_behind(view, deadline_job, done_us, view->now_us)))
    return deadlines_offer(queue, deadline_job, HR_MARKET_ON_DEMAND, view->now_us);
  return HR_NONE;
}

/* Returns whether the job can no longer follow its itinerary. Either the nodes are not available because other jobs
   acquired them, or work was lost, so the job still has work to do after the last step. */
static bool has_failed(const struct hr__queue *queue, const struct hr__deadline_job *deadline_job, uint32_t pool) {
  if (pool == HR_NONE) return deadline_job->next_step == deadline_job->itinerary.n_steps;
  return pool != deadline_job->pool &&
         hr_cluster_offer(queue->cluster, (hr_pool){pool}) < nodes_for(queue, deadline_job->job, pool);
}

/* Returns the pool of the current itinerary step. A job without a deadline, or without an itinerary that it can follow,
   uses the rule deadline-greedy instead. */
static uint32_t itinerary_pool(const struct hr__queue *queue, const struct hr_view *view,
                               struct hr__deadline_job *deadline_job) {
  struct hr__itinerary *itinerary = &deadline_job->itinerary;
  if (itinerary->n_steps == 0) return greedy_pool(queue, view, deadline_job);
  while (deadline_job->next_step < itinerary->n_steps &&
         itinerary->steps[deadline_job->next_step].at_us <= view->now_us)
    deadline_job->next_step++;
  uint32_t pool = deadline_job->next_step ? itinerary->steps[deadline_job->next_step - 1].pool : HR_NONE;
  if (!has_failed(queue, deadline_job, pool)) return pool;
  itinerary->n_steps = deadline_job->next_step = 0;
  return greedy_pool(queue, view, deadline_job);
}

static uint32_t wanted_pool(const struct hr__queue *queue, const struct hr_view *view,
                            struct hr__deadline_job *deadline_job) {
  if (queue->deadlines->rule == HR__MARKET_DEADLINE_GREEDY) return greedy_pool(queue, view, deadline_job);
  if (queue->deadlines->rule == HR__MARKET_UNIFORM_PROGRESS) return by_uniform_progress(queue, view, deadline_job);
  return itinerary_pool(queue, view, deadline_job);
}

/* ---- Wake-ups ------------------------------------------------------------------------------------- */

/* Returns the first time after now at which the passage of time alone changes the decision of the rule; HR_NEVER_US:
   never. Conditions that are true now are ignored, because this pass has already acted on them. */
static int64_t next_change_us(const struct hr__queue *queue, const struct hr_view *view,
                              const struct hr__deadline_job *deadline_job) {
  const struct hr__deadlines *self = queue->deadlines;
  int64_t now_us = view->now_us, next_us = HR_NEVER_US;
  if (deadline_job->next_step < deadline_job->itinerary.n_steps)
    return deadline_job->itinerary.steps[deadline_job->next_step].at_us;
  if (deadline_job->deadline_us == HR_NEVER_US || deadline_job->itinerary.n_steps || deadline_job->committed)
    return HR_NEVER_US;
  int64_t done_us = hr_view_done_us(view, deadline_job->job), work_us = view->jobs->work_us[deadline_job->job.id];
  wide span_us = deadline_job->deadline_us - deadline_job->from_us;
  bool works = view->state[deadline_job->job.id] == HR_JOB_RUNNING;
  if (deadline_job->pool == HR_NONE) next_us = deadline_job->deadline_us - (work_us - done_us) - reserve_us(self) + 1;
  if (self->rule == HR__MARKET_UNIFORM_PROGRESS && deadline_job->pool == HR_NONE && work_us > 0) {
    int64_t behind_us = deadline_job->from_us + (int64_t)(done_us * span_us / work_us) + 1;
    if (behind_us > now_us && (behind_us < next_us || next_us <= now_us)) next_us = behind_us;
  }
  if (self->rule == HR__MARKET_UNIFORM_PROGRESS && works && holds(queue, deadline_job, HR_MARKET_ON_DEMAND) &&
      span_us > work_us) {
    wide short_us = (wide)(now_us + lead_us(self) - deadline_job->from_us) * work_us - done_us * span_us;
    next_us = now_us + (int64_t)((short_us + (span_us - work_us) - 1) / (span_us - work_us));
  }
  return next_us > now_us ? next_us : HR_NEVER_US;
}

/* ---- Moves ---------------------------------------------------------------------------------------- */

/* Preempts the job if it runs, and ends its ownership of its nodes. */
static enum hr_status leave(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  enum hr_status status = HR_OK;
  if (view->state[deadline_job->job.id] == HR_JOB_RUNNING)
    status = hr_moves_preempt(moves, deadline_job->job, HR_REASON_POLICY);
  drop_nodes(queue->deadlines, deadline_job);
  return status;
}

/* Acquires nodes for the job. The move that requests nodes does not return them; they are the nodes of the pool that
   began to boot now and have no owner yet. */
static enum hr_status acquire(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                              struct hr__deadline_job *deadline_job, uint32_t pool) {
  uint32_t wanted = nodes_for(queue, deadline_job->job, pool),
           first = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id;
  if (hr_cluster_offer(queue->cluster, (hr_pool){pool}) < wanted) return HR_OK;
  enum hr_status status = hr_moves_acquire(moves, (hr_pool){pool}, wanted);
  for (uint32_t i = first; i < first + spec_of(queue, pool)->nodes && deadline_job->n_nodes < wanted; i++) {
    hr_node node = {i};
    if (queue->deadlines->owned[i] || hr_cluster_node_state(queue->cluster, node) != HR_NODE_BOOTING ||
        hr_cluster_node_since_us(queue->cluster, node) != view->now_us)
      continue;
    queue->deadlines->owned[i] = true;
    deadline_job->nodes[deadline_job->n_nodes++] = node;
  }
  deadline_job->pool = pool;
  return status;
}

/* Starts the job when all its nodes are up. */
static enum hr_status start(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool == HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++)
    if (hr_cluster_node_state(queue->cluster, deadline_job->nodes[i]) != HR_NODE_UP) return HR_OK;
  uint32_t left = hr__gpus(queue, deadline_job->job), size = spec_of(queue, deadline_job->pool)->gpus_per_node;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) {
    uint32_t gpus = left < size ? left : size;
    deadline_job->slices[i] = (struct hr_slice){deadline_job->nodes[i], gpus * 1000, 0};
    left -= gpus;
  }
  struct hr_placement placement = {{deadline_job->pool}, deadline_job->n_nodes, deadline_job->slices};
  return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
}

/* Releases nodes that belong to no job. */
static enum hr_status release_unowned(struct hr__queue *queue, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t pool = 0; pool < hr_cluster_pools(queue->cluster); pool++) {
    uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id;
    const struct hr_pool_spec *spec = spec_of(queue, pool);
    if (!hr_market_is_elastic(spec->market.market)) continue;
    for (uint32_t i = first; i < first + spec->nodes && status == HR_OK; i++) {
      enum hr_node_state state = hr_cluster_node_state(queue->cluster, (hr_node){i});
      if (!queue->deadlines->owned[i] && (state == HR_NODE_UP || state == HR_NODE_BOOTING))
        status = hr_moves_release(moves, (hr_node){i});
    }
  }
  return status;
}

/* Requests a wake-up for the first change of a decision of any job. */
static enum hr_status wake(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__deadlines *self = queue->deadlines;
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < self->count; i++) {
    int64_t change_us = next_change_us(queue, view, &self->jobs[i]);
    if (change_us < next_us) next_us = change_us;
  }
  bool pending = self->wake_us > view->now_us && self->wake_us <= next_us;
  if (next_us == HR_NEVER_US || pending) return HR_OK;
  self->wake_us = next_us;
  return hr_moves_wake_at(moves, next_us);
}

enum hr_status hr__deadlines_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__deadlines *self = queue->deadlines;
  /* released first, so that other jobs can acquire the released nodes in this pass */
  enum hr_status status = release_unowned(queue, moves);
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) {
    struct hr__deadline_job *deadline_job = &self->jobs[i];
    status = start_on_fixed(queue, view, moves, deadline_job);
    if (status != HR_OK || is_fixed(queue, deadline_job->pool)) continue;
    uint32_t pool = wanted_pool(queue, view, deadline_job);
    if (pool != deadline_job->pool && deadline_job->pool != HR_NONE) status = leave(queue, view, moves, deadline_job);
    if (status == HR_OK && pool != deadline_job->pool) status = acquire(queue, view, moves, deadline_job, pool);
    if (status == HR_OK) status = start(queue, view, moves, deadline_job);
  }
  if (status == HR_OK) status = release_unowned(queue, moves);
  return status == HR_OK ? wake(queue, view, moves) : status;
}

/* Wait reasons: the job's own nodes are booting; the rule waits for spot capacity although on-demand nodes are
   available; or the cluster has no nodes for the job. */

static const struct hr__deadline_job *explain_find(const struct hr__deadlines *self, hr_job job) {
  uint32_t from = 0, to = self->count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (self->jobs[middle].job.id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < self->count && self->jobs[from].job.id == job.id ? &self->jobs[from] : NULL;
}

void hr__deadlines_explain(const struct hr__queue *queue, const struct hr_view *view, hr_job job,
                           struct hr_wait_reason *wait) {
  const struct hr__deadline_job *deadline_job = explain_find(queue->deadlines, job);
  hr_view_lack(view, job, wait);
  if (!deadline_job) return;
  bool on_demand_available = deadlines_offer(queue, deadline_job, HR_MARKET_ON_DEMAND, view->now_us) != HR_NONE;
  if (deadline_job->pool != HR_NONE)
    wait->reason = HR_WAIT_REASON_BOOTING;
  else if (on_demand_available || wait->reason != HR_WAIT_REASON_CAPACITY)
    wait->reason = HR_WAIT_REASON_MARKET;
}
