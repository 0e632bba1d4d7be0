/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves of a policy. A move changes the state of the cluster as soon as the policy makes it, so the policy's view is
 * always up to date. The moves of a pass are stored in a list. The policy can undo the last moves of the list. After
 * the pass, the run loop completes the moves in the list (run.c). If a move breaks a rule, it is refused and the run
 * ends. The error names the time, the job, the policy and the rule.
 *
 * The last part of the file finds the reason why a waiting job does not start. The policy is asked first. If the policy
 * states no reason, the engine checks whether the free capacity suffices.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/policy.h"
#include "headroom/unstable/faults.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>

/* Refuses a move: writes the error, unless an earlier move was already refused. `job`: HR_NONE if the move has no job.
   `move`, `rule`: text for the error. Returns the status of the first refused move. */
static enum hr_status refuse(struct hr_moves *moves, hr_job job, const char *move, const char *rule) {
  const struct hr__engine *engine = moves->engine;
  if (moves->status != HR_OK) return moves->status;
  char buffer[HR_JOB_ID_BUFFER];
  const bool has_job = job.id < engine->trace->n_jobs;
  const char *id = has_job ? hr_trace_job_id(engine->trace, job, buffer) : job.id == HR_NONE ? "" : "?";
  moves->status =
      hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' at %" PRId64 ".%06d s, %s%s%s: %s",
              engine->config->policy->name, engine->view.now_us / HR_SECOND_US,
              (int)(engine->view.now_us % HR_SECOND_US), move, job.id == HR_NONE ? "" : " of job ", id, rule);
  return moves->status;
}

static enum hr_status no_memory(struct hr_moves *moves) {
  if (moves->status == HR_OK) moves->status = hr_fail(moves->engine->error, HR_NO_MEMORY, "out of memory");
  return moves->status;
}

static enum hr_status add_move(struct hr_moves *moves, struct hr__move move) {
  if (!HR__ARRAY_HAS_ROOM(moves->list, moves->count, moves->capacity)) return no_memory(moves);
  moves->list[moves->count++] = move;
  return HR_OK;
}

static bool is_in(const struct hr__engine *engine, hr_job job, enum hr_job_state state) {
  return job.id < engine->trace->n_jobs && engine->state[job.id] == state;
}

/* Changes the state of a job, and the numbers of waiting and running jobs in the view. */
static void set_state(struct hr__engine *engine, hr_job job, enum hr_job_state state, enum hr_reason reason) {
  engine->view.n_waiting += (state == HR_JOB_WAITING) - (uint32_t)(engine->state[job.id] == HR_JOB_WAITING);
  engine->view.n_running += (state == HR_JOB_RUNNING) - (uint32_t)(engine->state[job.id] == HR_JOB_RUNNING);
  engine->state[job.id] = (uint8_t)state;
  engine->reason[job.id] = (uint8_t)reason;
}

/* Returns a description of the locality rule that a placement would break. Returns NULL if it breaks no such rule. */
static const char *refuse_locality(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool needs_no_node = placement->n_slices == 0 && engine->trace->gpus[job.id] == 0;
  if (!cluster->tiers_within || needs_no_node || placement->pool.id >= cluster->n_pools) return NULL;
  struct hr_locality within = hr_cluster_locality(cluster, job);
  if (within.tier == HR_TIER_ANY || engine->view.now_us >= within.until_us) return NULL;
  return hr_cluster_span(cluster, placement) > within.tier
             ? "the placement is wider than the tier that the job requires"
             : NULL;
}

enum hr_status hr_moves_start(struct hr_moves *moves, hr_job job, const struct hr_placement *placement,
                              enum hr_reason reason) {
  struct hr__engine *engine = moves->engine;
  if (!is_in(engine, job, HR_JOB_WAITING)) return refuse(moves, job, "start", "the job is not waiting");
  const char *rule = refuse_locality(engine, job, placement);
  if (!rule) rule = hr__cluster_allocate(&engine->cluster, placement, job);
  if (rule) return refuse(moves, job, "start", rule);
  if (hr__allocation_store(engine, job, placement) != HR_OK) {
    hr__cluster_undo_allocate(&engine->cluster, placement, job);
    return no_memory(moves);
  }
  uint64_t gpu_milli = hr_placement_milli(placement, engine->trace, job);
  struct hr__move move = {.kind = HR__MOVE_START, .reason = reason, .job = job};
  if (engine->attempt_slot) {
    move.attempt_us = engine->attempt_us[job.id];
    engine->attempt_us[job.id] = engine->view.now_us;
  }
  if (engine->start_us[job.id] == HR_NEVER_US) engine->start_us[job.id] = engine->view.now_us;
  engine->view.allocated_milli += gpu_milli;
  set_state(engine, job, HR_JOB_RUNNING, reason);
  return add_move(moves, move);
}

enum hr_status hr_moves_reject(struct hr_moves *moves, hr_job job, enum hr_reason reason) {
  struct hr__engine *engine = moves->engine;
  if (engine->whole && reason == HR_REASON_WITHDRAWN && hr__dispatch_must_leave(engine, job)) {
    hr__dispatch_mark(engine, job, true);
    set_state(engine, job, HR_JOB_REJECTED, reason);
    return add_move(moves, (struct hr__move){.kind = HR__MOVE_LEAVE, .reason = reason, .job = job});
  }
  if (!is_in(engine, job, HR_JOB_WAITING)) return refuse(moves, job, "rejection", "the job is not waiting");
  set_state(engine, job, HR_JOB_REJECTED, reason);
  return add_move(moves, (struct hr__move){.kind = HR__MOVE_REJECT, .reason = reason, .job = job});
}

enum hr_status hr_moves_wake_at(struct hr_moves *moves, int64_t at_us) {
  if (at_us <= moves->engine->view.now_us)
    return refuse(moves, (hr_job){HR_NONE}, "wake-up", "the wake-up time is not in the future");
  return add_move(moves, (struct hr__move){.kind = HR__MOVE_WAKE, .job = {HR_NONE}, .at_us = at_us});
}

uint32_t hr_moves_mark(const struct hr_moves *moves) {
  return moves->count;
}

/* Returns the last move of this pass that starts or resizes a running job; NULL: no such move exists. */
static struct hr__move *last_begin(const struct hr_moves *moves, hr_job job) {
  if (moves->engine->attempt_us[job.id] != moves->engine->view.now_us) return NULL;
  for (uint32_t i = moves->count; i-- > 0;)
    if (moves->list[i].job.id == job.id &&
        (moves->list[i].kind == HR__MOVE_START || moves->list[i].kind == HR__MOVE_RESIZE))
      return &moves->list[i];
  return NULL;
}

/* Returns whether the policy has started or resized the job in this pass. The attempt of such a job has not begun,
   because attempts begin after the pass. */
static bool is_starting(const struct hr_moves *moves, hr_job job) {
  return last_begin(moves, job) != NULL;
}

/* Returns a description of the rule that a preemption or a notice breaks. Returns NULL if it is allowed. */
static const char *refuse_stop(const struct hr_moves *moves, hr_job job) {
  if (!(moves->engine->abilities & HR_POLICY_PREEMPTS)) return "the policy did not declare that it preempts";
  if (!is_in(moves->engine, job, HR_JOB_RUNNING)) return "the job does not run";
  return is_starting(moves, job) ? "the job was started in this pass; roll back" : NULL;
}

/* Makes the move of hr_moves_preempt (`keeps`) or hr_moves_requeue. */
static enum hr_status stop(struct hr_moves *moves, hr_job job, enum hr_reason reason, bool keeps) {
  struct hr__engine *engine = moves->engine;
  const char *rule = refuse_stop(moves, job);
  if (rule) return refuse(moves, job, "preemption", rule);
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  /* a job with a failed node cannot save its work, even if the failure is not detected yet */
  bool hangs = hr__attempt(engine, job)->phase == HR__PHASE_HANGING;
  struct hr__move move = {.kind = HR__MOVE_PREEMPT,
                          .reason = reason,
                          .keeps = (keeps && !hangs) || hr__checkpoint_is_continuous(engine, job),
                          .job = job,
                          .attempt_us = engine->attempt_us[job.id],
                          .kept_us = engine->kept_us[job.id],
                          .allocation = hr__allocation_get(engine, job)};
  if (move.keeps) engine->kept_us[job.id] = hr_view_done_us(&engine->view, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  engine->view.allocated_milli -= gpu_milli;
  set_state(engine, job, HR_JOB_WAITING, reason);
  return add_move(moves, move);
}

enum hr_status hr_moves_preempt(struct hr_moves *moves, hr_job job, enum hr_reason reason) {
  return stop(moves, job, reason, true);
}

enum hr_status hr_moves_requeue(struct hr_moves *moves, hr_job job, enum hr_reason reason) {
  return stop(moves, job, reason, false);
}

enum hr_status hr_moves_notice(struct hr_moves *moves, hr_job job, int64_t at_us, bool keeps) {
  const char *rule = refuse_stop(moves, job);
  if (!rule && at_us <= moves->engine->view.now_us) rule = "the job's end is not in the future";
  if (rule) return refuse(moves, job, "notice", rule);
  return add_move(moves, (struct hr__move){.kind = HR__MOVE_NOTICE, .job = job, .at_us = at_us, .keeps = keeps});
}

/* Returns a description of the rule that a resize breaks. Returns NULL if the resize is allowed. */
static const char *refuse_resize(const struct hr_moves *moves, hr_job job, const struct hr_placement *placement) {
  const struct hr__engine *engine = moves->engine;
  if (!(engine->abilities & HR_POLICY_RESIZES)) return "the policy did not declare that it resizes jobs";
  if (!is_in(engine, job, HR_JOB_RUNNING)) return "the job does not run";
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  if (!engine->resized || sizes.min == sizes.max) return "the job is not elastic";
  if (placement->n_slices == 0) return "the placement has no slices";
  enum hr__phase phase = is_starting(moves, job) ? HR__PHASE_WORKING : hr__attempt(engine, job)->phase;
  if (phase == HR__PHASE_BACKING_OFF) return "the job waits for GPU memory";
  if (phase == HR__PHASE_LEAVING) return "the job leaves its nodes";
  return refuse_locality(engine, job, placement);
}

enum hr_status hr_moves_resize(struct hr_moves *moves, hr_job job, const struct hr_placement *placement) {
  struct hr__engine *engine = moves->engine;
  const char *rule = refuse_resize(moves, job, placement);
  if (rule) return refuse(moves, job, "resize", rule);
  struct hr_placement before = HR__PLACEMENT_OF(engine, job);
  uint64_t before_milli = hr_placement_milli(&before, engine->trace, job);
  struct hr__move *begin = last_begin(moves, job);
  struct hr__move move = {.kind = HR__MOVE_RESIZE,
                          .reason = begin ? begin->reason : HR_REASON_RESIZED,
                          .amends = begin != NULL,
                          .job = job,
                          .attempt_us = engine->attempt_us[job.id],
                          .kept_us = engine->kept_us[job.id],
                          .allocation = hr__allocation_get(engine, job)};
  /* the present work of a job with a failed node cannot be saved */
  bool saves = !begin && hr__attempt(engine, job)->phase != HR__PHASE_HANGING;
  int64_t kept_us = saves ? hr_view_done_us(&engine->view, job) : move.kept_us;
  hr__cluster_release(&engine->cluster, &before, job);
  rule = hr__cluster_allocate(&engine->cluster, placement, job);
  if (rule) return refuse(moves, job, "resize", rule);
  if (hr__allocation_store(engine, job, placement) != HR_OK) return no_memory(moves);
  if (begin) begin->is_amended = true;
  engine->kept_us[job.id] = kept_us;
  engine->attempt_us[job.id] = engine->view.now_us;
  engine->view.allocated_milli += hr_placement_milli(placement, engine->trace, job) - before_milli;
  return add_move(moves, move);
}

enum hr_status hr_moves_acquire(struct hr_moves *moves, hr_pool pool, uint32_t nodes) {
  struct hr__engine *engine = moves->engine;
  hr_job none = {HR_NONE};
  if (!(engine->abilities & HR_POLICY_MANAGES_CAPACITY))
    return refuse(moves, none, "acquisition", "the policy did not declare that it manages capacity");
  if (pool.id >= engine->cluster.n_pools) return refuse(moves, none, "acquisition", "there is no such pool");
  if (nodes > hr_cluster_offer(&engine->cluster, pool))
    return refuse(moves, none, "acquisition", "the pool does not have that many available nodes");
  enum hr_status status = HR_OK;
  while (nodes-- > 0 && status == HR_OK) {
    hr_node node = hr__market_request(engine, pool);
    status = add_move(moves, (struct hr__move){.kind = HR__MOVE_ACQUIRE, .job = none, .node = node});
  }
  return status;
}

static bool has_job(const struct hr_cluster *cluster, const struct hr__pool *pool, hr_node node) {
  if (cluster->inventory) return cluster->inventory->tasks[node.id] > 0; /* tasks may use no GPU */
  return cluster->node_free_milli[node.id] != pool->spec->gpus_per_node * 1000;
}

/* Returns a description of the rule that the release of a node breaks. Returns NULL if the release is allowed. */
static const char *why_not_released(const struct hr__engine *engine, hr_node node) {
  const struct hr_cluster *cluster = &engine->cluster;
  if (!cluster->nodes || node.id >= cluster->n_nodes) return "there is no such node, or it cannot be released";
  const struct hr__pool *pool = &cluster->pools[hr__cluster_pool_of(cluster, node).id];
  uint8_t state = cluster->nodes[node.id].state;
  if (!hr_market_is_elastic(pool->spec->market.market)) return "the node's pool is not elastic";
  if (state == HR_NODE_BOOTING) return NULL;
  if (state != HR_NODE_UP) return "the node is off, or has notice";
  return has_job(cluster, pool, node) ? "there is a job on the node" : NULL;
}

/* Returns whether the policy has requested the node in this pass. */
static bool is_booked(const struct hr_moves *moves, hr_node node) {
  for (uint32_t i = 0; i < moves->count; i++)
    if (moves->list[i].kind == HR__MOVE_ACQUIRE && moves->list[i].node.id == node.id) return true;
  return false;
}

enum hr_status hr_moves_release(struct hr_moves *moves, hr_node node) {
  struct hr__engine *engine = moves->engine;
  const char *rule = engine->abilities & HR_POLICY_MANAGES_CAPACITY
                         ? why_not_released(engine, node)
                         : "the policy did not declare that it manages capacity";
  if (rule) return refuse(moves, (hr_job){HR_NONE}, "release", rule);
  struct hr__move move = {
      .kind = HR__MOVE_RELEASE, .job = {HR_NONE}, .node = node, .was = engine->cluster.nodes[node.id]};
  if (is_booked(moves, node))
    return refuse(moves, move.job, "release", "the node was requested in this pass; roll back");
  hr__market_set_state(engine, node, HR_NODE_OFF);
  return add_move(moves, move);
}

/* ---- Rollback ---- */

/* Undoes the allocation of the present placement of a job. */
static void take_back(struct hr__engine *engine, hr_job job) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  engine->view.allocated_milli -= hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_undo_allocate(&engine->cluster, &placement, job);
  hr__allocation_free(engine, job);
}

/* Undoes the release of the placement that a job had before a move. All later moves have already been undone, so the
   capacity of this placement is free. */
static void give_back(struct hr__engine *engine, const struct hr__move *move) {
  hr__allocation_set(engine, move->job, move->allocation);
  engine->attempt_us[move->job.id] = move->attempt_us;
  engine->kept_us[move->job.id] = move->kept_us;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, move->job);
  engine->view.allocated_milli += hr_placement_milli(&placement, engine->trace, move->job);
  hr__cluster_undo_release(&engine->cluster, &placement, move->job);
}

static void undo_start(struct hr__engine *engine, const struct hr__move *move) {
  hr_job job = move->job;
  take_back(engine, job);
  if (engine->attempt_slot) engine->attempt_us[job.id] = move->attempt_us;
  if (!engine->attempt_slot || !hr__has_attempts(engine, job)) engine->start_us[job.id] = HR_NEVER_US;
  set_state(engine, job, HR_JOB_WAITING, HR_REASON_NONE);
}

static void undo_preemption(struct hr__engine *engine, const struct hr__move *move) {
  give_back(engine, move);
  set_state(engine, move->job, HR_JOB_RUNNING, HR_REASON_NONE);
}

static void undo_resize(struct hr__engine *engine, const struct hr__move *move) {
  if (move->amends) last_begin(&engine->moves, move->job)->is_amended = false;
  take_back(engine, move->job);
  give_back(engine, move);
}

static void undo_release(struct hr__engine *engine, const struct hr__move *move) {
  hr__market_set_state(engine, move->node, (enum hr_node_state)move->was.state);
  engine->cluster.nodes[move->node.id] = move->was;
}

static void undo(struct hr__engine *engine, const struct hr__move *move) {
  switch (move->kind) {
  case HR__MOVE_START:
    undo_start(engine, move);
    return;
  case HR__MOVE_REJECT:
    set_state(engine, move->job, HR_JOB_WAITING, HR_REASON_NONE);
    return;
  case HR__MOVE_LEAVE:
    hr__dispatch_mark(engine, move->job, false);
    set_state(engine, move->job, HR_JOB_WAITING, HR_REASON_NONE);
    return;
  case HR__MOVE_PREEMPT:
    undo_preemption(engine, move);
    return;
  case HR__MOVE_RESIZE:
    undo_resize(engine, move);
    return;
  case HR__MOVE_ACQUIRE:
    hr__market_cancel(engine, move->node);
    return;
  case HR__MOVE_RELEASE:
    undo_release(engine, move);
    return;
  case HR__MOVE_WAKE:
  case HR__MOVE_NOTICE:
    return;
  }
}

void hr_moves_rollback(struct hr_moves *moves, uint32_t mark) {
  while (moves->count > mark) undo(moves->engine, &moves->list[--moves->count]);
}

/* ---- Reasons for waiting ---- */

HR__NAME_FUNCTION(hr_wait_reason_name, enum hr_wait_reason_kind, HR_WAIT_REASON_TABLE)

const char *hr_wait_reason_words(enum hr_wait_reason_kind reason) {
  static const char *const all[] = {
#define REASON_WORDS(name, text, words) words,
      HR_WAIT_REASON_TABLE(REASON_WORDS)
#undef REASON_WORDS
  };
  return (unsigned)reason < HR_N_WAIT_REASONS ? all[reason] : "";
}

/* Returns whether a gang fits. It fits if enough nodes are empty for its full nodes, and one more node has room for its
   remaining GPUs. */
static bool fits_gang(const struct hr_free_index *index, uint32_t gpus) {
  uint32_t size = hr_free_index_gpus_per_node(index), whole = gpus / size, rest = gpus % size;
  uint32_t n_free = hr_free_index_count(index, size);
  if (n_free < whole) return false;
  return rest == 0 || n_free > whole || hr_free_index_lowest(index, rest) < size;
}

/* Returns whether a job fits into the free capacity of any acceptable pool, in counted allocation. */
static bool has_nodes(const struct hr_cluster *cluster, uint32_t gpus, uint32_t accept_class) {
  bool single = hr__cluster_has_node_for(cluster, accept_class, gpus);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_free_index *index = cluster->pools[i].index;
    if (!hr_cluster_accepts(cluster, accept_class, (hr_pool){i}) || hr_free_index_gpus_per_node(index) == 0) continue;
    if (single ? hr_free_index_lowest(index, gpus) != HR_NONE : fits_gang(index, gpus)) return true;
  }
  return gpus == 0;
}

/* Returns whether one task of a request fits on any acceptable node, in per-GPU allocation. */
static bool has_node(const struct hr_cluster *cluster, const struct hr_request *request) {
  for (uint32_t node = 0; node < cluster->n_nodes; node++)
    if (hr_cluster_accepts(cluster, request->accept_class, (hr_pool){cluster->inventory->pool[node]}) &&
        hr_gpu_inventory_fits(cluster->inventory, request, (hr_node){node}))
      return true;
  return !hr_request_needs_node(request);
}

/* Sets the milli-GPUs that a job requests, and the maximum of the free milli-GPUs of the acceptable pools. */
static void count_room(const struct hr_cluster *cluster, hr_job job, struct hr_wait_reason *hold) {
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  hold->asked_milli = hr_cluster_asked_milli(cluster, job);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    if (pool->free_milli <= hold->free_milli || !hr_cluster_accepts(cluster, accept_class, (hr_pool){i})) continue;
    hold->free_milli = pool->free_milli;
  }
}

/* Returns whether the job would fit into the pool if the nodes that are booting were already up. `single`: the job must
   be on one node. `with_queued`: nodes that the provider has not delivered yet also count as booting. */
static bool is_booting(const struct hr_cluster *cluster, hr_job job, hr_pool number, uint64_t asked_milli, bool single,
                       bool with_queued) {
  const struct hr__pool *pool = &cluster->pools[number.id];
  const uint32_t n_booting = pool->n_in[HR_NODE_BOOTING] - (with_queued ? 0 : pool->n_queued);
  if (!pool->comes_and_goes || n_booting == 0) return false;
  const struct hr_request *request = hr__cluster_request(cluster, job);
  if (request && hr_pool_max_tasks(cluster->spec, number, request) == 0) return false;
  uint64_t size_milli = (uint64_t)pool->spec->gpus_per_node * 1000;
  if (single && asked_milli > size_milli) return false;
  if (pool->free_milli + n_booting * size_milli < asked_milli) return false;
  return hr_cluster_accepts(cluster, hr_cluster_accept_class(cluster, job), number);
}

/* Sets the reason to power, repair or maintenance if a pool would have enough free GPUs for the job with its held
   nodes, after the repair of its failed nodes, or after the maintenance of its nodes. */
static void find_absence(const struct hr__engine *engine, hr_job job, struct hr_wait_reason *hold, bool single) {
  const struct hr_cluster *cluster = &engine->cluster;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    uint64_t size_milli = (uint64_t)pool->spec->gpus_per_node * 1000;
    if (single && hold->asked_milli > size_milli) continue;
    if (pool->free_milli >= hold->asked_milli || !hr_cluster_accepts(cluster, accept_class, (hr_pool){i})) continue;
    uint64_t lacks = (hold->asked_milli - pool->free_milli + size_milli - 1) / size_milli;
    if (engine->standby && hr__standby_held(engine, (hr_pool){i}) >= lacks) hold->reason = HR_WAIT_REASON_POWER;
    if (engine->faults && hr__faults_nodes_down(engine, (hr_pool){i}) >= lacks) hold->reason = HR_WAIT_REASON_REPAIR;
    uint32_t window;
    if (!engine->maintenance || hr__maintenance_nodes(engine, (hr_pool){i}, &window) < lacks) continue;
    hold->reason = HR_WAIT_REASON_MAINTENANCE;
    hold->quota = i * HR_MAINTENANCE_WINDOWS + window;
    return;
  }
}

void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold) {
  const struct hr_cluster *cluster = view->cluster;
  bool single = cluster->nodes &&
                hr__cluster_has_node_for(cluster, hr_cluster_accept_class(cluster, job), view->jobs->gpus[job.id]);
  hold->reason = hold->free_milli < hold->asked_milli ? HR_WAIT_REASON_CAPACITY : HR_WAIT_REASON_FRAGMENTS;
  for (int with_queued = 1; with_queued >= 0; with_queued--)
    for (uint32_t i = 0; i < cluster->n_pools && cluster->nodes; i++)
      if (is_booting(cluster, job, (hr_pool){i}, hold->asked_milli, single, with_queued))
        hold->reason = with_queued ? HR_WAIT_REASON_PROVIDER : HR_WAIT_REASON_BOOTING;
  const struct hr__engine *engine = hr__engine_of(view);
  bool lacks_nodes = hold->reason == HR_WAIT_REASON_CAPACITY || hold->reason == HR_WAIT_REASON_FRAGMENTS;
  if (engine->autoscaler && lacks_nodes && hr__autoscaler_may_grow(engine, job)) hold->reason = HR_WAIT_REASON_SCALE_UP;
  bool absent = engine->faults || engine->maintenance || engine->standby;
  if (absent && hold->reason == HR_WAIT_REASON_CAPACITY) find_absence(engine, job, hold, single);
}

/* If the job does not fit into the free capacity, sets the reason according to the missing capacity. In counted
   allocation, the check takes a few bit scans per pool. In per-GPU allocation, it examines each node, but only for one
   task of the job. */
static void find_lack(const struct hr_view *view, hr_job job, struct hr_wait_reason *hold) {
  const struct hr_cluster *cluster = view->cluster;
  bool enough = cluster->inventory
                    ? has_node(cluster, hr__cluster_request(cluster, job))
                    : hold->free_milli >= hold->asked_milli &&
                          has_nodes(cluster, view->jobs->gpus[job.id], hr_cluster_accept_class(cluster, job));
  if (!enough) hr_view_lack(view, job, hold);
}

/* Returns the view in which the job waits. In a run with several clusters, this is the view of the job's cluster. */
static const struct hr_view *view_of(const struct hr_view *view, hr_job job) {
  const struct hr__engine *engine = hr__engine_of(view);
  const struct hr_view *own =
      engine->clusters && job.id < engine->trace->n_jobs ? hr__clusters_view(engine, job) : NULL;
  return own ? own : view;
}

void hr_view_wait_reason(const struct hr_view *whole, hr_job job, struct hr_wait_reason *hold) {
  const struct hr_view *view = view_of(whole, job);
  const struct hr__engine *engine = hr__engine_of(view);
  *hold = (struct hr_wait_reason){.behind = {HR_NONE}, .quota = HR_NONE, .until_us = HR_NEVER_US};
  if (job.id >= engine->trace->n_jobs || engine->state[job.id] != HR_JOB_WAITING) return;
  hold->reason = HR_WAIT_REASON_POLICY;
  count_room(&engine->cluster, job, hold);
  hr__policy_enter(engine->call, "explain");
  if (engine->ops.explain) engine->ops.explain(engine->policy, view, job, hold);
  hr__policy_leave(engine->call);
  if (hold->reason == HR_WAIT_REASON_POLICY) find_lack(view, job, hold);
}

void hr_view_wait_description(const struct hr_view *whole, hr_job job, char text[HR_WAIT_DESCRIPTION_BYTES]) {
  const struct hr_view *view = view_of(whole, job);
  const struct hr__engine *engine = hr__engine_of(view);
  text[0] = '\0';
  if (job.id >= engine->trace->n_jobs || engine->state[job.id] != HR_JOB_WAITING || !engine->ops.describe) return;
  hr__policy_enter(engine->call, "describe");
  engine->ops.describe(engine->policy, view, job, text, HR_WAIT_DESCRIPTION_BYTES);
  hr__policy_leave(engine->call);
}

uint32_t hr_view_abilities(const struct hr_view *view) {
  return hr__engine_of(view)->abilities;
}

int64_t hr_view_time_for_us(const struct hr_view *view, hr_job job, int64_t work_us) {
  const struct hr__engine *engine = hr__engine_of(view);
  if (!engine->resized) return work_us;
  return hr__time_left_us(work_us, 0, hr__job_rate(engine, job, engine->gpu_milli[job.id], HR__FULL_SPEED_PPM));
}

uint32_t hr_view_speed_ppm(const struct hr_view *view, hr_job job, hr_pool pool) {
  return hr__speed_ppm(&hr__engine_of(view)->speeds, job, pool);
}
