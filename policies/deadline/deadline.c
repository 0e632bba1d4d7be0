/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy `deadline`: each job acquires its own nodes, spot if possible and on-demand if necessary (Wu et al.,
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
 *
 * If no node of the cluster comes or goes, jobs start in the order of their submission; a job that does not fit blocks
 * later jobs.
 */

#include "policies/deadline/deadline.h"

static const char *const rule_names[] = {
#define RULE_NAME(text, value) text,
    HR__DEADLINE_RULES(RULE_NAME) NULL};
static const char *const placement_names[] = {"first-fit", "best-fit", "worst-fit", NULL};
static const enum hr_placement_rule placements[] = {HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT, HR_PLACE_WORST_FIT};

enum { PARAM_RULE, PARAM_CHANGEOVER, PARAM_PLACEMENT };

static const struct hr_param params[] = {
    {.key = "rule",
     .type = HR_PARAM_CHOICE,
     .fallback = "deadline-greedy",
     .choices = rule_names,
     .help = "what a job uses before its deadline requires on-demand nodes: spot nodes only; spot nodes, and on-demand "
             "nodes if it is behind an even pace; the cheapest nodes if the future is known"},
    {.key = "changeover_s",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = 1e9,
     .help = "time to change nodes (boot and restart)"},
    {.key = "placement",
     .type = HR_PARAM_CHOICE,
     .fallback = "best-fit",
     .choices = placement_names,
     .help = "where a job is placed in owned and reserved pools"},
    {0}};

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

__extension__ typedef __int128 wide;

/* Returns whether the pool has the given market and the job accepts the pool. */
static bool may_use(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job, uint32_t pool,
                    enum hr_market market) {
  if (hr__deadline_spec(self, pool)->market.market != market) return false;
  return hr_cluster_accepts(self->cluster, hr_cluster_accept_class(self->cluster, deadline_job->job), (hr_pool){pool});
}

/* Returns whether the job would fit in some pool of the given market if all nodes of the pool were available. */
static bool has_room_in(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job,
                        enum hr_market market) {
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++)
    if (may_use(self, deadline_job, i, market) &&
        hr__deadline_nodes(self, deadline_job->job, i) <= hr__deadline_spec(self, i)->nodes)
      return true;
  return false;
}

/* ---- Creation and jobs ---------------------------------------------------------------------------- */

static enum hr_status create(const struct hr_policy_env *env, void **state, struct hr_error *error) {
  if (hr_cluster_gpu_inventory(env->cluster))
    return hr_fail(error, HR_BAD_INPUT, "policy 'deadline' does not support per-GPU allocation");
  struct hr__deadline *self = hr_arena_alloc(env->arena, sizeof *self);
  if (!(*state = self)) return HR_NO_MEMORY;
  hr_pool last = {hr_cluster_pools(env->cluster) - 1};
  uint32_t n_nodes = hr_cluster_first_node(env->cluster, last).id + hr_cluster_pool_spec(env->cluster, last)->nodes;
  *self =
      (struct hr__deadline){.arena = env->arena,
                            .trace = env->jobs,
                            .cluster = env->cluster,
                            .rule = (enum hr__deadline_rule)env->params[PARAM_RULE].integer,
                            .changeover_us = (int64_t)(env->params[PARAM_CHANGEOVER].real * (double)HR_SECOND_US + 0.5),
                            .is_fixed = !hr_cluster_changes(env->cluster),
                            .error = error};
  self->placer = hr_placer_create(env->arena, env->cluster, placements[env->params[PARAM_PLACEMENT].integer]);
  self->owned = hr_arena_alloc(env->arena, (n_nodes + 1) * sizeof *self->owned);
  return self->placer && self->owned ? HR_OK : HR_NO_MEMORY;
}

static uint32_t abilities(void *state) {
  const struct hr__deadline *self = state;
  uint32_t by_kind = self->is_fixed ? HR_POLICY_STARVES_NOBODY : HR_POLICY_MANAGES_CAPACITY | HR_POLICY_PREEMPTS;
  return HR_POLICY_REASONS_BY_JOB | by_kind;
}

static bool make_room(struct hr__deadline *self) {
  if (self->count < self->capacity) return true;
  struct hr__deadline_job *jobs = hr_arena_grown(self->arena, self->jobs, &self->capacity, sizeof *jobs);
  if (jobs) self->jobs = jobs;
  return jobs;
}

/* Adds a submitted job, and, under the rule omniscient, computes its itinerary. */
static enum hr_status add_job(struct hr__deadline *self, const struct hr_view *view, hr_job job) {
  uint32_t max_nodes = 1;
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++)
    if (hr__deadline_nodes(self, job, i) > max_nodes) max_nodes = hr__deadline_nodes(self, job, i);
  if (!make_room(self)) return HR_NO_MEMORY;
  const int64_t *deadline_us = self->trace->deadline_us;
  struct hr__deadline_job deadline_job = {
      .job = job, .from_us = view->now_us, .deadline_us = HR_NEVER_US, .pool = HR_NONE};
  if (deadline_us && deadline_us[job.id] != HR_UNKNOWN_US) deadline_job.deadline_us = deadline_us[job.id];
  deadline_job.nodes = hr_arena_alloc(self->arena, max_nodes * sizeof *deadline_job.nodes);
  deadline_job.slices = hr_arena_alloc(self->arena, max_nodes * sizeof *deadline_job.slices);
  if (!deadline_job.nodes || !deadline_job.slices) return HR_NO_MEMORY;
  deadline_job.committed = !has_room_in(self, &deadline_job, HR_MARKET_SPOT);
  deadline_job.has_on_demand = has_room_in(self, &deadline_job, HR_MARKET_ON_DEMAND);
  if (self->rule == HR__DEADLINE_OMNISCIENT && !self->is_fixed && deadline_job.deadline_us != HR_NEVER_US) {
    enum hr_status status = hr__itinerary_make(self, job, view->now_us, &deadline_job.itinerary);
    if (status != HR_OK) return status;
  }
  self->jobs[self->count++] = deadline_job;
  return HR_OK;
}

/* Returns NULL if the job has ended. */
static struct hr__deadline_job *find(const struct hr__deadline *self, hr_job job) {
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

/* Ends the job's ownership of its nodes. Nodes that still exist are released in the next pass. */
static void drop_nodes(struct hr__deadline *self, struct hr__deadline_job *deadline_job) {
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) self->owned[deadline_job->nodes[i].id] = false;
  deadline_job->n_nodes = 0;
  deadline_job->pool = HR_NONE;
}

/* Handles the loss of a node, even if the node was still booting: the job that owns the node loses all its nodes. */
static void lose_node(struct hr__deadline *self, hr_node node) {
  if (!self->owned[node.id]) return;
  for (uint32_t i = 0; i < self->count; i++)
    for (uint32_t k = 0; k < self->jobs[i].n_nodes; k++)
      if (self->jobs[i].nodes[k].id == node.id) drop_nodes(self, &self->jobs[i]);
}

static enum hr_status observe(void *state, const struct hr_view *view, const struct hr_event *event) {
  struct hr__deadline *self = state;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return add_job(self, view, event->job);
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

static uint32_t deadlines_offer(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job,
                                enum hr_market market, int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++) {
    if (!may_use(self, deadline_job, i, market)) continue;
    if (hr_cluster_offer(self->cluster, (hr_pool){i}) < hr__deadline_nodes(self, deadline_job->job, i)) continue;
    int64_t price = hr_cluster_price_uusd_h(self->cluster, (hr_pool){i}, now_us);
    if (best != HR_NONE && price >= best_price) continue;
    best = i;
    best_price = price;
  }
  return best;
}

/* Returns whether the job uses a pool of the market. */
static bool holds(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job, enum hr_market market) {
  return deadline_job->pool != HR_NONE && hr__deadline_spec(self, deadline_job->pool)->market.market == market;
}

/* Returns the remaining work of the job. Change-over time is not included. */
static int64_t left_us(const struct hr_view *view, const struct hr__deadline_job *deadline_job) {
  return view->jobs->work_us[deadline_job->job.id] - hr_view_done_us(view, deadline_job->job);
}

/* Returns 2 d, with a minimum of one microsecond. The minimum is for d = 0: a job must then change to on-demand when
   R = C, because the deadline can no longer be met when R < C. */
static int64_t reserve_us(const struct hr__deadline *self) {
  return self->changeover_us > 0 ? 2 * self->changeover_us : 1;
}

/* Returns how far a job must be ahead of even progress before it leaves on-demand capacity: 2 d, with a minimum of one
   minute. The minimum is for d = 0, because the job would otherwise be behind again after a microsecond. */
static int64_t lead_us(const struct hr__deadline *self) {
  const int64_t min_us = 60 * HR_SECOND_US;
  return 2 * self->changeover_us > min_us ? 2 * self->changeover_us : min_us;
}

/* Returns whether R < C + 2 d. */
static bool must_use_on_demand(const struct hr__deadline *self, const struct hr_view *view,
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

/* Returns whether the job fits on the free capacity of any pool. */
static bool fits(const struct hr__deadline *self, hr_job job, struct hr_placement *placement) {
  return hr_placer_find(self->placer, self->trace->gpus[job.id], hr_cluster_accept_class(self->cluster, job),
                        placement);
}

/* ---- Fixed capacity ------------------------------------------------------------------------------- */

static bool is_fixed(const struct hr__deadline *self, uint32_t pool) {
  return pool != HR_NONE && !hr_market_is_elastic(hr__deadline_spec(self, pool)->market.market);
}

/* Starts a job without nodes in the first owned or reserved pool in which it fits. */
static enum hr_status start_on_fixed(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                                     struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool != HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  uint32_t accept_class = hr_cluster_accept_class(self->cluster, deadline_job->job);
  for (uint32_t i = 0; i < hr_cluster_pools(self->cluster); i++) {
    struct hr_placement placement;
    if (!is_fixed(self, i) || !hr_cluster_accepts(self->cluster, accept_class, (hr_pool){i})) continue;
    if (!hr_placer_find_on(self->placer, (hr_pool){i}, self->trace->gpus[deadline_job->job.id], &placement)) continue;
    deadline_job->pool = i;
    deadline_job->itinerary.n_steps = 0;
    return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
  }
  return HR_OK;
}

/* ---- Rules ---------------------------------------------------------------------------------------- */

/* Returns the pool that the job should use by the rule deadline-greedy; HR_NONE: none. */
static uint32_t greedy_pool(const struct hr__deadline *self, const struct hr_view *view,
                            struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool != HR_NONE) return deadline_job->pool;
  deadline_job->committed = deadline_job->committed || must_use_on_demand(self, view, deadline_job);
  return deadlines_offer(self, deadline_job, deadline_job->committed ? HR_MARKET_ON_DEMAND : HR_MARKET_SPOT,
                         view->now_us);
}

/* Returns the pool that the job should use by the rule uniform-progress; HR_NONE: none. */
static uint32_t by_uniform_progress(const struct hr__deadline *self, const struct hr_view *view,
                                    struct hr__deadline_job *deadline_job) {
  int64_t done_us = hr_view_done_us(view, deadline_job->job);
  if (holds(self, deadline_job, HR_MARKET_SPOT)) return deadline_job->pool;
  deadline_job->committed = deadline_job->committed || must_use_on_demand(self, view, deadline_job);
  bool on_demand = holds(self, deadline_job, HR_MARKET_ON_DEMAND);
  if (on_demand && (deadline_job->committed || is_behind(view, deadline_job, done_us, view->now_us + lead_us(self))))
    return deadline_job->pool;
  uint32_t spot = deadline_job->committed ? HR_NONE : deadlines_offer(self, deadline_job, HR_MARKET_SPOT, view->now_us);
  if (spot != HR_NONE) return spot;
  if (!on_demand && (deadline_job->committed || is_behind(view, deadline_job, done_us, view->now_us)))
    return deadlines_offer(self, deadline_job, HR_MARKET_ON_DEMAND, view->now_us);
  return HR_NONE;
}

/* Returns whether the job can no longer follow its itinerary. Either the nodes are not available because other jobs
   acquired them, or work was lost, so the job still has work to do after the last step. */
static bool has_failed(const struct hr__deadline *self, const struct hr__deadline_job *deadline_job, uint32_t pool) {
  if (pool == HR_NONE) return deadline_job->next_step == deadline_job->itinerary.n_steps;
  return pool != deadline_job->pool &&
         hr_cluster_offer(self->cluster, (hr_pool){pool}) < hr__deadline_nodes(self, deadline_job->job, pool);
}

/* Returns the pool of the current itinerary step. A job without a deadline, or without an itinerary that it can follow,
   uses the rule deadline-greedy instead. */
static uint32_t itinerary_pool(const struct hr__deadline *self, const struct hr_view *view,
                               struct hr__deadline_job *deadline_job) {
  struct hr__itinerary *itinerary = &deadline_job->itinerary;
  if (itinerary->n_steps == 0) return greedy_pool(self, view, deadline_job);
  while (deadline_job->next_step < itinerary->n_steps &&
         itinerary->steps[deadline_job->next_step].at_us <= view->now_us)
    deadline_job->next_step++;
  uint32_t pool = deadline_job->next_step ? itinerary->steps[deadline_job->next_step - 1].pool : HR_NONE;
  if (!has_failed(self, deadline_job, pool)) return pool;
  itinerary->n_steps = deadline_job->next_step = 0;
  return greedy_pool(self, view, deadline_job);
}

static uint32_t wanted_pool(const struct hr__deadline *self, const struct hr_view *view,
                            struct hr__deadline_job *deadline_job) {
  if (self->rule == HR__DEADLINE_GREEDY) return greedy_pool(self, view, deadline_job);
  if (self->rule == HR__DEADLINE_UNIFORM_PROGRESS) return by_uniform_progress(self, view, deadline_job);
  return itinerary_pool(self, view, deadline_job);
}

/* ---- Wake-ups ------------------------------------------------------------------------------------- */

/* Returns the first time after now at which the passage of time alone changes the decision of the rule; HR_NEVER_US:
   never. Conditions that are true now are ignored, because this pass has already acted on them. */
static int64_t next_change_us(const struct hr__deadline *self, const struct hr_view *view,
                              const struct hr__deadline_job *deadline_job) {
  int64_t now_us = view->now_us, next_us = HR_NEVER_US;
  if (deadline_job->next_step < deadline_job->itinerary.n_steps)
    return deadline_job->itinerary.steps[deadline_job->next_step].at_us;
  if (deadline_job->deadline_us == HR_NEVER_US || deadline_job->itinerary.n_steps || deadline_job->committed)
    return HR_NEVER_US;
  int64_t done_us = hr_view_done_us(view, deadline_job->job), work_us = view->jobs->work_us[deadline_job->job.id];
  wide span_us = deadline_job->deadline_us - deadline_job->from_us;
  bool works = view->state[deadline_job->job.id] == HR_JOB_RUNNING;
  if (deadline_job->pool == HR_NONE) next_us = deadline_job->deadline_us - (work_us - done_us) - reserve_us(self) + 1;
  if (self->rule == HR__DEADLINE_UNIFORM_PROGRESS && deadline_job->pool == HR_NONE && work_us > 0) {
    int64_t behind_us = deadline_job->from_us + (int64_t)(done_us * span_us / work_us) + 1;
    if (behind_us > now_us && (behind_us < next_us || next_us <= now_us)) next_us = behind_us;
  }
  if (self->rule == HR__DEADLINE_UNIFORM_PROGRESS && works && holds(self, deadline_job, HR_MARKET_ON_DEMAND) &&
      span_us > work_us) {
    wide short_us = (wide)(now_us + lead_us(self) - deadline_job->from_us) * work_us - done_us * span_us;
    next_us = now_us + (int64_t)((short_us + (span_us - work_us) - 1) / (span_us - work_us));
  }
  return next_us > now_us ? next_us : HR_NEVER_US;
}

/* ---- Moves ---------------------------------------------------------------------------------------- */

/* Preempts the job if it runs, and ends its ownership of its nodes. */
static enum hr_status leave(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  enum hr_status status = HR_OK;
  if (view->state[deadline_job->job.id] == HR_JOB_RUNNING)
    status = hr_moves_preempt(moves, deadline_job->job, HR_REASON_POLICY);
  drop_nodes(self, deadline_job);
  return status;
}

/* Acquires nodes for the job. The move that requests nodes does not return them; they are the nodes of the pool that
   began to boot now and have no owner yet. */
static enum hr_status acquire(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                              struct hr__deadline_job *deadline_job, uint32_t pool) {
  uint32_t wanted = hr__deadline_nodes(self, deadline_job->job, pool),
           first = hr_cluster_first_node(self->cluster, (hr_pool){pool}).id;
  if (hr_cluster_offer(self->cluster, (hr_pool){pool}) < wanted) return HR_OK;
  enum hr_status status = hr_moves_acquire(moves, (hr_pool){pool}, wanted);
  for (uint32_t i = first; i < first + hr__deadline_spec(self, pool)->nodes && deadline_job->n_nodes < wanted; i++) {
    hr_node node = {i};
    if (self->owned[i] || hr_cluster_node_state(self->cluster, node) != HR_NODE_BOOTING ||
        hr_cluster_node_since_us(self->cluster, node) != view->now_us)
      continue;
    self->owned[i] = true;
    deadline_job->nodes[deadline_job->n_nodes++] = node;
  }
  deadline_job->pool = pool;
  return status;
}

/* Starts the job when all its nodes are up. */
static enum hr_status start(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__deadline_job *deadline_job) {
  if (deadline_job->pool == HR_NONE || view->state[deadline_job->job.id] != HR_JOB_WAITING) return HR_OK;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++)
    if (hr_cluster_node_state(self->cluster, deadline_job->nodes[i]) != HR_NODE_UP) return HR_OK;
  uint32_t left = self->trace->gpus[deadline_job->job.id],
           size = hr__deadline_spec(self, deadline_job->pool)->gpus_per_node;
  for (uint32_t i = 0; i < deadline_job->n_nodes; i++) {
    uint32_t gpus = left < size ? left : size;
    deadline_job->slices[i] = (struct hr_slice){deadline_job->nodes[i], gpus * 1000, 0};
    left -= gpus;
  }
  struct hr_placement placement = {{deadline_job->pool}, deadline_job->n_nodes, deadline_job->slices};
  return hr_moves_start(moves, deadline_job->job, &placement, HR_REASON_IN_ORDER);
}

/* Releases nodes that belong to no job. */
static enum hr_status release_unowned(struct hr__deadline *self, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t pool = 0; pool < hr_cluster_pools(self->cluster); pool++) {
    uint32_t first = hr_cluster_first_node(self->cluster, (hr_pool){pool}).id;
    const struct hr_pool_spec *spec = hr__deadline_spec(self, pool);
    if (!hr_market_is_elastic(spec->market.market)) continue;
    for (uint32_t i = first; i < first + spec->nodes && status == HR_OK; i++) {
      enum hr_node_state state = hr_cluster_node_state(self->cluster, (hr_node){i});
      if (!self->owned[i] && (state == HR_NODE_UP || state == HR_NODE_BOOTING))
        status = hr_moves_release(moves, (hr_node){i});
    }
  }
  return status;
}

/* Requests a wake-up for the first change of a decision of any job. */
static enum hr_status wake(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < self->count; i++) {
    int64_t change_us = next_change_us(self, view, &self->jobs[i]);
    if (change_us < next_us) next_us = change_us;
  }
  bool pending = self->wake_us > view->now_us && self->wake_us <= next_us;
  if (next_us == HR_NEVER_US || pending) return HR_OK;
  self->wake_us = next_us;
  return hr_moves_wake_at(moves, next_us);
}

/* Starts jobs in the order of their submission until a job does not fit. */
static enum hr_status start_in_order(struct hr__deadline *self, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) {
    hr_job job = self->jobs[i].job;
    struct hr_placement placement;
    if (view->state[job.id] != HR_JOB_WAITING) continue;
    if (!fits(self, job, &placement)) return HR_OK;
    status = hr_moves_start(moves, job, &placement, HR_REASON_IN_ORDER);
  }
  return status;
}

static enum hr_status decide(void *state, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__deadline *self = state;
  if (self->is_fixed) return start_in_order(self, view, moves);
  /* released first, so that other jobs can acquire the released nodes in this pass */
  enum hr_status status = release_unowned(self, moves);
  for (uint32_t i = 0; i < self->count && status == HR_OK; i++) {
    struct hr__deadline_job *deadline_job = &self->jobs[i];
    status = start_on_fixed(self, view, moves, deadline_job);
    if (status != HR_OK || is_fixed(self, deadline_job->pool)) continue;
    uint32_t pool = wanted_pool(self, view, deadline_job);
    if (pool != deadline_job->pool && deadline_job->pool != HR_NONE) status = leave(self, view, moves, deadline_job);
    if (status == HR_OK && pool != deadline_job->pool) status = acquire(self, view, moves, deadline_job, pool);
    if (status == HR_OK) status = start(self, view, moves, deadline_job);
  }
  if (status == HR_OK) status = release_unowned(self, moves);
  return status == HR_OK ? wake(self, view, moves) : status;
}

/* Wait reasons: the job's own nodes are booting; the rule waits for spot capacity although on-demand nodes are
   available; or the cluster has no nodes for the job. */

static void explain_order(const struct hr__deadline *self, const struct hr_view *view, hr_job job,
                          struct hr_wait_reason *wait) {
  struct hr_placement unused;
  uint32_t first = 0;
  while (view->state[self->jobs[first].job.id] != HR_JOB_WAITING) first++; /* at least `job` waits */
  if (self->jobs[first].job.id == job.id || !fits(self, job, &unused)) return;
  wait->reason = HR_WAIT_REASON_ORDER;
  wait->behind = self->jobs[first].job;
}

static void explain(void *state, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__deadline *self = state;
  const struct hr__deadline_job *deadline_job = find(self, job);
  hr_view_lack(view, job, wait);
  if (!deadline_job) return;
  if (self->is_fixed) {
    explain_order(self, view, job, wait);
    return;
  }
  bool on_demand_available = deadlines_offer(self, deadline_job, HR_MARKET_ON_DEMAND, view->now_us) != HR_NONE;
  if (deadline_job->pool != HR_NONE)
    wait->reason = HR_WAIT_REASON_BOOTING;
  else if (on_demand_available || wait->reason != HR_WAIT_REASON_CAPACITY)
    wait->reason = HR_WAIT_REASON_MARKET;
}

HR_POLICY(deadline) = {HR_POLICY_HEAD,
                       .name = "deadline",
                       .summary = "each job acquires its own nodes: spot if possible, on-demand if its deadline "
                                  "requires it",
                       .params = params,
                       .create = create,
                       .observe = observe,
                       .decide = decide,
                       .abilities = abilities,
                       .explain = explain};
