/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures of nodes and of groups of nodes, as a component of the engine. The rules are in headroom/unstable/faults.h.
 *
 * A unit is in one of four states: it works; it has failed, but the failure is not detected yet; it waits for the
 * repair crew; it is being repaired. Each unit has at most one next change, at `due_us`. A pending event of a unit is
 * outdated, and ignored, if its time is not due_us.
 *
 * A node of an owned or reserved pool is off while at least one failed unit contains it (`down`), or while its
 * reservation is closed. In elastic pools, nodes are not repaired: a failed node does not return, and the provider
 * offers another one at once.
 *
 * Invariants: `down` of a node is the number of its units that wait for repair or are repaired, and a node that is up
 * has none. At most `crew` units of a pool are repaired at the same time.
 */

#include "sim/faults/faults.h"
#include "base/containers.h"
#include "sim/engine/engine.h"

static struct hr__fault_draws draws_of(const struct hr__engine *engine, uint32_t unit) {
  const struct hr__faults *faults = engine->faults;
  const struct hr__fault_group *process = &faults->processes[faults->units[unit].process];
  uint32_t number = faults->units[unit].process - faults->pools[process->pool.id].first_process;
  return (struct hr__fault_draws){engine->config->seed, process->pool.id * HR_FAULT_PROCESSES + number,
                                  unit - process->first_unit};
}

static struct hr__fault_pool *pool_state_of(const struct hr__engine *engine, uint32_t unit) {
  return &engine->faults->pools[engine->faults->processes[engine->faults->units[unit].process].pool.id];
}

/* ---- The time of the next failure ---- */

static enum hr_status schedule_unit(struct hr__engine *engine, uint32_t number, int64_t at_us,
                                    enum hr__pending_kind kind) {
  engine->faults->units[number].due_us = at_us;
  return hr__schedule(engine, at_us, kind, number);
}

static double factor_of(const struct hr__engine *engine, uint32_t number) {
  struct hr__fault_draws draws = draws_of(engine, number);
  const struct hr__faults *faults = engine->faults;
  return hr__fault_factor(&draws, faults->processes[faults->units[number].process].spec);
}

/* Sets the time until the next failure of a unit, on the clock of its process. */
static enum hr_status start_clock(struct hr__engine *engine, uint32_t number, int64_t left_us) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  int64_t now_us = engine->view.now_us;
  enum hr_fault_clock clock = engine->faults->processes[unit->process].spec->clock;
  if (clock == HR_FAULT_CLOCK_UP) return schedule_unit(engine, number, now_us + left_us, HR__PENDING_FAULT);
  if (clock == HR_FAULT_CLOCK_WALL) {
    unit->wall_us = now_us + left_us;
    return hr__schedule(engine, unit->wall_us, HR__PENDING_FAULT, number);
  }
  unit->left_us = left_us;
  unit->due_us = HR_NEVER_US;
  unit->busy_us = unit->n_jobs ? now_us : HR_NEVER_US;
  return unit->n_jobs ? schedule_unit(engine, number, now_us + left_us, HR__PENDING_FAULT) : HR_OK;
}

/* Returns the next recorded failure of a unit; NULL: no such failure exists. */
static const struct hr_fault_replay *next_replay(const struct hr__engine *engine, const struct hr__fault_unit *unit) {
  const struct hr_fault_process *spec = engine->faults->processes[unit->process].spec;
  return unit->failures <= unit->n_replays ? &spec->replays[unit->first_replay + unit->failures - 1] : NULL;
}

static enum hr_status draw_failure(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_draws draws = draws_of(engine, number);
  struct hr__fault_unit *unit = &engine->faults->units[number];
  const struct hr_fault_process *spec = engine->faults->processes[unit->process].spec;
  const struct hr_fault_replay *replay = next_replay(engine, unit);
  unit->is_drawn = true;
  unit->wall_us = HR_NEVER_US;
  if (spec->replays && !replay) return HR_OK;
  if (replay) return start_clock(engine, number, replay->at_us - engine->view.now_us);
  return start_clock(engine, number, hr__fault_between_us(&draws, spec, factor_of(engine, number), unit->failures));
}

/* ---- Repairs ---- */

static enum hr_status begin_repair(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  unit->state = HR__UNIT_REPAIRED;
  pool_state_of(engine, number)->in_repair++;
  return schedule_unit(engine, number, engine->view.now_us + unit->repair_us, HR__PENDING_REPAIR);
}

static enum hr_status ask_for_repair(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  struct hr__fault_pool *pool = pool_state_of(engine, number);
  uint32_t crew = engine->cluster.pools[engine->faults->processes[unit->process].pool.id].spec->faults->crew;
  bool is_recorded = engine->faults->processes[unit->process].spec->replays;
  if (crew == 0 || pool->in_repair < crew || is_recorded) return begin_repair(engine, number);
  unit->state = HR__UNIT_QUEUED;
  unit->due_us = HR_NEVER_US;
  return hr__fifo_push(&pool->queue, &number, sizeof number) ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status repair_next(struct hr__engine *engine, struct hr__fault_pool *pool) {
  pool->in_repair--;
  if (hr__fifo_count(&pool->queue) == 0) return HR_OK;
  uint32_t next = *(const uint32_t *)hr__fifo_front(&pool->queue, sizeof next);
  hr__fifo_pop(&pool->queue);
  return begin_repair(engine, next);
}

static enum hr_status finish_repair(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  const struct hr__fault_group *process = &faults->processes[unit->process];
  unit->state = HR__UNIT_WORKS;
  unit->due_us = HR_NEVER_US;
  hr__faults_count_outage(engine, unit, false);
  enum hr_status status = repair_next(engine, &faults->pools[process->pool.id]);
  bool draws = process->spec->clock == HR_FAULT_CLOCK_BUSY ||
               (process->spec->clock == HR_FAULT_CLOCK_UP && process->spec->unit != HR_TIER_NODE);
  if (status == HR_OK && draws) status = draw_failure(engine, number);
  for (uint32_t i = unit->first_node; status == HR_OK && i < unit->first_node + unit->n_nodes; i++)
    if (--faults->down[i] == 0 && faults->failed[i] == 0)
      status = hr__market_return(engine, process->pool, (hr_node){i}, HR_REASON_REPAIRED);
  return status;
}

/* ---- Failures ---- */

/* Notifies the jobs of a unit that it corrupts their results, or that the corruption was detected. */
static enum hr_status corrupt_jobs(struct hr__engine *engine, const struct hr__fault_unit *unit, bool found) {
  enum hr_status status = HR_OK;
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++)
    for (uint32_t link = engine->residents.first[i]; link && status == HR_OK;
         link = engine->residents.links[link - 1].next)
      HR__CALL_ACTIVE(engine, status, corrupt, engine->residents.links[link - 1].job, found);
  return status;
}

/* The failure of a unit is detected: its nodes go down. */
static enum hr_status detect(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  if (unit->corrupts) {
    enum hr_status found = corrupt_jobs(engine, unit, true);
    if (found != HR_OK) return found;
    hr__faults_count_outage(engine, unit, true);
    unit->corrupts = false;
  }
  const struct hr__fault_group *process = &faults->processes[unit->process];
  bool is_elastic = faults->pools[process->pool.id].is_elastic;
  if (is_elastic) {
    hr__faults_count_outage(engine, unit, false);
    unit->state = HR__UNIT_WORKS;
    unit->due_us = HR_NEVER_US;
  }
  enum hr_status status = HR_OK;
  engine->outage = &engine->outages[unit->class_];
  for (uint32_t i = unit->first_node; status == HR_OK && i < unit->first_node + unit->n_nodes; i++) {
    if (!is_elastic) faults->down[i]++;
    if (hr_cluster_node_state(&engine->cluster, (hr_node){i}) != HR_NODE_OFF && !engine->cluster.nodes[i].is_queued)
      status = hr__market_take_down(engine, process->pool, (hr_node){i}, HR_REASON_FAILED);
  }
  engine->outage = NULL;
  return status == HR_OK && !is_elastic ? ask_for_repair(engine, number) : status;
}

/* The jobs of a node make no progress from now on, and no job may start there. */
static enum hr_status hang_node(struct hr__engine *engine, hr_pool pool, hr_node node, int64_t until_us) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  enum hr_status status = HR_OK;
  if (self->state != HR_NODE_UP && self->state != HR_NODE_CLOSING) return HR_OK;
  if (engine->standby) hr__standby_node_fails(engine, node);
  if (self->state == HR_NODE_UP) {
    struct hr_event event = hr__node_event(engine, HR_EVENT_NOTICE, HR_REASON_FAILED, pool, node);
    hr__market_set_state(engine, node, HR_NODE_CLOSING);
    self->down_us = until_us;
    status = hr__emit(engine, &event);
  }
  for (uint32_t link = engine->residents.first[node.id]; link && status == HR_OK;) {
    struct hr__resident resident = engine->residents.links[link - 1];
    HR__CALL_ACTIVE(engine, status, hang, resident.job);
    link = resident.next;
  }
  return status;
}

static enum hr_status strike(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  const struct hr__fault_group *process = &faults->processes[unit->process];
  struct hr__fault_draws draws = draws_of(engine, number);
  const struct hr_fault_class *class_ = &process->spec->only;
  int64_t detect_us = 0;
  if (process->spec->replays)
    unit->repair_us = next_replay(engine, unit)->down_us;
  else
    class_ = hr__fault_class_draw(&draws, process->spec, unit->failures, &detect_us, &unit->repair_us);
  hr__faults_count_failure(engine, unit, class_);
  unit->corrupts = !process->spec->replays && class_->corrupts;
  unit->corrupts = unit->corrupts && detect_us > 0;
  unit->failures++;
  unit->is_drawn = false;
  unit->left_us = HR_NEVER_US;
  unit->state = HR__UNIT_FAILED;
  if (unit->corrupts) {
    enum hr_status begun = schedule_unit(engine, number, engine->view.now_us + detect_us, HR__PENDING_FAULT_FOUND);
    return begun == HR_OK ? corrupt_jobs(engine, unit, false) : begun;
  }
  hr__faults_count_outage(engine, unit, true);
  if (detect_us == 0) return detect(engine, number);
  enum hr_status status = schedule_unit(engine, number, engine->view.now_us + detect_us, HR__PENDING_FAULT_FOUND);
  for (uint32_t i = unit->first_node; status == HR_OK && i < unit->first_node + unit->n_nodes; i++)
    status = hang_node(engine, process->pool, (hr_node){i}, unit->due_us);
  return status;
}

/* Returns whether some node of the unit can fail now: it is up, or has notice. */
static bool is_there(const struct hr__engine *engine, const struct hr__fault_unit *unit) {
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++) {
    enum hr_node_state state = hr_cluster_node_state(&engine->cluster, (hr_node){i});
    if (state == HR_NODE_UP || state == HR_NODE_CLOSING) return true;
  }
  return false;
}

/* A failure strikes a unit, unless the pending event is outdated. */
static enum hr_status handle_fault(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  enum hr_fault_clock clock = engine->faults->processes[unit->process].spec->clock;
  int64_t due_us = clock == HR_FAULT_CLOCK_WALL ? unit->wall_us : unit->due_us;
  if (due_us != engine->view.now_us || (clock != HR_FAULT_CLOCK_WALL && unit->state != HR__UNIT_WORKS)) return HR_OK;
  if (unit->state == HR__UNIT_WORKS && is_there(engine, unit)) {
    enum hr_status status = strike(engine, number);
    return status == HR_OK && clock == HR_FAULT_CLOCK_WALL ? draw_failure(engine, number) : status;
  }
  /* A failure without effect. The clock of a single node starts again when the node comes up. */
  unit->failures++;
  unit->is_drawn = false;
  bool goes_on = clock == HR_FAULT_CLOCK_WALL || engine->faults->processes[unit->process].spec->unit != HR_TIER_NODE;
  return goes_on ? draw_failure(engine, number) : HR_OK;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  uint32_t number = hr__pending_entity(pending);
  const struct hr__fault_unit *unit = &engine->faults->units[number];
  bool is_due = unit->due_us == engine->view.now_us;
  switch (hr__pending_kind(pending)) {
  case HR__PENDING_FAULT:
    return handle_fault(engine, number);
  case HR__PENDING_FAULT_FOUND:
    return is_due && unit->state == HR__UNIT_FAILED ? detect(engine, number) : HR_OK;
  case HR__PENDING_REPAIR:
    return is_due && unit->state == HR__UNIT_REPAIRED ? finish_repair(engine, number) : HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- Nodes and jobs ---- */

/* Returns the first unit of the process that contains a node of its pool, or a part of it. */
static uint32_t unit_at(const struct hr__engine *engine, const struct hr__fault_group *process, hr_node node) {
  uint32_t place = node.id - engine->cluster.pools[process->pool.id].first_node.id;
  return process->first_unit + place / process->units.nodes * process->units.per_node;
}

/* Starts the clock of a single node: with a new draw after a repair or a launch, otherwise with the remaining time. */
static enum hr_status resume(struct hr__engine *engine, uint32_t number, bool is_elastic) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  int64_t left_us = unit->left_us;
  if (is_elastic && unit->is_drawn) unit->failures++; /* that draw was of the previous machine */
  if (is_elastic || !unit->is_drawn) return draw_failure(engine, number);
  unit->left_us = HR_NEVER_US;
  return schedule_unit(engine, number, engine->view.now_us + left_us, HR__PENDING_FAULT);
}

/* A node has come up: single nodes work from now on. */
static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  const struct hr__faults *faults = engine->faults;
  const struct hr__fault_pool *state = &faults->pools[pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t i = state->first_process; i < state->first_process + state->n_processes && status == HR_OK; i++) {
    const struct hr__fault_group *process = &faults->processes[i];
    bool renews =
        process->spec->clock == HR_FAULT_CLOCK_UP || (process->spec->clock == HR_FAULT_CLOCK_BUSY && state->is_elastic);
    if (process->spec->unit != HR_TIER_NODE || !renews) continue;
    uint32_t number = unit_at(engine, process, node);
    if (faults->units[number].state == HR__UNIT_WORKS) status = resume(engine, number, state->is_elastic);
  }
  return status;
}

/* A node has gone down for whatever reason: a single node cannot fail until it comes up again. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__faults *faults = engine->faults;
  const struct hr__fault_pool *state = &faults->pools[pool.id];
  for (uint32_t i = state->first_process; i < state->first_process + state->n_processes; i++) {
    const struct hr__fault_group *process = &faults->processes[i];
    struct hr__fault_unit *unit = &faults->units[unit_at(engine, process, node)];
    if (process->spec->unit != HR_TIER_NODE) continue;
    if (unit->state == HR__UNIT_FAILED && state->is_elastic) {
      if (!unit->corrupts) hr__faults_count_outage(engine, unit, false);
      unit->corrupts = false;
      unit->state = HR__UNIT_WORKS;
    }
    if (unit->state != HR__UNIT_WORKS || process->spec->clock != HR_FAULT_CLOCK_UP || unit->due_us == HR_NEVER_US)
      continue;
    unit->left_us = unit->due_us - engine->view.now_us;
    unit->due_us = HR_NEVER_US;
  }
}

/* Starts or stops the clock of a unit when its first job starts or its last job leaves. */
static enum hr_status count_job(struct hr__engine *engine, uint32_t number, bool starts) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  uint32_t before = unit->n_jobs;
  int64_t now_us = engine->view.now_us;
  unit->n_jobs += starts ? 1 : (uint32_t)-1;
  if (unit->state != HR__UNIT_WORKS || (before > 0) == (unit->n_jobs > 0)) return HR_OK;
  if (starts) {
    unit->busy_us = now_us;
    return schedule_unit(engine, number, now_us + unit->left_us, HR__PENDING_FAULT);
  }
  unit->left_us -= now_us - unit->busy_us;
  unit->busy_us = unit->due_us = HR_NEVER_US;
  return HR_OK;
}

/* Counts a job on a node for the units of the node. */
static enum hr_status count_on_node(struct hr__engine *engine, const struct hr__fault_group *process, hr_node node,
                                    bool starts) {
  const uint32_t first = unit_at(engine, process, node);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < process->units.per_node && status == HR_OK; i++)
    status = count_job(engine, first + i, starts);
  return status;
}

static enum hr_status count_placement(struct hr__engine *engine, const struct hr_placement *placement, bool starts) {
  const struct hr__faults *faults = engine->faults;
  const struct hr__fault_pool *pool = &faults->pools[placement->pool.id];
  enum hr_status status = HR_OK;
  for (uint32_t i = pool->first_process; pool->counts_jobs && i < pool->first_process + pool->n_processes; i++) {
    if (faults->processes[i].spec->clock != HR_FAULT_CLOCK_BUSY) continue;
    for (uint32_t k = 0; k < placement->n_slices && status == HR_OK; k++)
      status = count_on_node(engine, &faults->processes[i], placement->slices[k].node, starts);
  }
  return status;
}

/* Returns whether some unit of a node corrupts results. */
static bool node_corrupts(const struct hr__engine *engine, const struct hr__fault_group *process, hr_node node) {
  const struct hr__fault_unit *first = &engine->faults->units[unit_at(engine, process, node)];
  for (uint32_t i = 0; i < process->units.per_node; i++)
    if (first[i].corrupts) return true;
  return false;
}

/* Returns whether some node of a placement corrupts results. */
static bool is_corrupting(const struct hr__engine *engine, const struct hr_placement *placement) {
  const struct hr__faults *faults = engine->faults;
  const struct hr__fault_pool *pool = &faults->pools[placement->pool.id];
  for (uint32_t i = pool->first_process; i < pool->first_process + pool->n_processes; i++)
    for (uint32_t k = 0; k < placement->n_slices; k++)
      if (node_corrupts(engine, &faults->processes[i], placement->slices[k].node)) return true;
  return false;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  enum hr_status status = count_placement(engine, placement, true);
  if (engine->corrupts && is_corrupting(engine, placement)) HR__CALL_ACTIVE(engine, status, corrupt, job, false);
  return status;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  (void)job, (void)how;
  return count_placement(engine, placement, false);
}

/* ---- Start and end of a run ---- */

static enum hr_status allocate(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  struct hr__faults *faults = hr_arena_alloc(&engine->arena, sizeof *faults);
  if (!faults) return hr__out_of_memory(engine);
  engine->faults = faults;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (uint32_t k = 0; hr_pool_fails(spec) && k < spec->faults->n_processes; k++) {
      faults->n_processes++;
      faults->n_units += hr_fault_units_of(&spec->faults->processes[k], spec).count;
    }
  }
  faults->processes = hr_arena_alloc(&engine->arena, faults->n_processes * sizeof *faults->processes);
  faults->units = hr_arena_alloc(&engine->arena, faults->n_units * sizeof *faults->units);
  faults->pools = hr_arena_alloc(&engine->arena, cluster->n_pools * sizeof *faults->pools);
  faults->down = hr_arena_alloc(&engine->arena, cluster->n_nodes * sizeof *faults->down);
  faults->failed = hr_arena_alloc(&engine->arena, cluster->n_nodes * sizeof *faults->failed);
  bool made = faults->processes && faults->units && faults->pools && faults->down && faults->failed;
  return made ? HR_OK : hr__out_of_memory(engine);
}

/* Initializes a unit: it works until its first failure, or it is down for the rest of its repair. In an elastic pool
   all nodes are off at first. */
static enum hr_status begin_unit(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  const struct hr__fault_group *process = &faults->processes[unit->process];
  const struct hr__fault_pool *pool = &faults->pools[process->pool.id];
  struct hr__fault_draws draws = draws_of(engine, number);
  bool waits = process->spec->clock == HR_FAULT_CLOCK_UP && process->spec->unit == HR_TIER_NODE &&
               (pool->is_elastic || engine->cluster.pools[process->pool.id].spec->market.from_us > 0);
  if (waits) return HR_OK; /* node_up will start the clock */
  if (process->spec->fresh || process->spec->replays) return draw_failure(engine, number);
  struct hr__fault_start begin = hr__fault_start_draw(&draws, process->spec, factor_of(engine, number));
  unit->is_drawn = !begin.is_down;
  if (!begin.is_down) return start_clock(engine, number, begin.rest_us);
  unit->repair_us = begin.rest_us;
  hr__faults_set_class(engine, unit, begin.class_);
  hr__faults_count_outage(engine, unit, true);
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++)
    if (faults->down[i]++ == 0 && engine->cluster.nodes[i].state == HR_NODE_UP)
      hr__market_set_state(engine, (hr_node){i}, HR_NODE_OFF);
  return ask_for_repair(engine, number);
}

/* Finds the recorded failures of a node, which are sorted by node. */
static void find_replays(struct hr__fault_unit *unit, const struct hr_fault_process *spec, uint32_t node) {
  uint32_t low = 0, high = spec->n_replays;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (spec->replays[middle].node < node)
      low = middle + 1;
    else
      high = middle;
  }
  unit->first_replay = low;
  while (low < spec->n_replays && spec->replays[low].node == node) low++;
  unit->n_replays = low - unit->first_replay;
}

static enum hr_status begin_process(struct hr__engine *engine, hr_pool pool, const struct hr_fault_process *spec,
                                    uint32_t index, uint32_t first_unit, uint32_t first_class) {
  struct hr__faults *faults = engine->faults;
  const struct hr__pool *self = &engine->cluster.pools[pool.id];
  const struct hr_fault_units units = hr_fault_units_of(spec, self->spec);
  struct hr__fault_group *process = &faults->processes[index];
  for (uint32_t k = 0; k < spec->n_classes; k++) engine->corrupts = engine->corrupts || spec->classes[k].corrupts;
  if (spec->clock == HR_FAULT_CLOCK_BUSY) faults->pools[pool.id].counts_jobs = true;
  *process = (struct hr__fault_group){spec, pool, first_unit, units, first_class};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < units.count && status == HR_OK; i++) {
    uint32_t first = i / units.per_node * units.nodes, left = self->spec->nodes - first;
    faults->units[first_unit + i] = (struct hr__fault_unit){.due_us = HR_NEVER_US,
                                                            .wall_us = HR_NEVER_US,
                                                            .left_us = HR_NEVER_US,
                                                            .busy_us = HR_NEVER_US,
                                                            .down_since_us = HR_NEVER_US,
                                                            .class_ = first_class,
                                                            .failures = 1,
                                                            .process = index,
                                                            .first_node = self->first_node.id + first,
                                                            .n_nodes = left < units.nodes ? left : units.nodes};
    find_replays(&faults->units[first_unit + i], spec, i);
    status = begin_unit(engine, first_unit + i);
  }
  return status;
}

/* Initialized after the markets and before the policy, because some nodes are down at the start. */
static enum hr_status init(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) any = any || hr_pool_fails(cluster->pools[i].spec);
  if (!any) return HR_OK;
  enum hr_status status = allocate(engine);
  uint32_t n_processes = 0, n_units = 0, n_classes = 0;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    struct hr__fault_pool *state = &engine->faults->pools[i];
    *state = (struct hr__fault_pool){.first_process = n_processes,
                                     .n_processes = hr_pool_fails(spec) ? spec->faults->n_processes : 0,
                                     .is_elastic = hr_market_is_elastic(spec->market.market)};
    for (uint32_t k = 0; k < state->n_processes && status == HR_OK; k++) {
      const struct hr_fault_process *process = &spec->faults->processes[k];
      status = begin_process(engine, (hr_pool){i}, process, n_processes++, n_units, n_classes);
      n_units += hr_fault_units_of(process, spec).count;
      n_classes += hr_fault_classes_of(process);
    }
    uint32_t first = cluster->pools[i].first_node.id;
    for (uint32_t n = first; n < first + spec->nodes && status == HR_OK; n++)
      if (engine->faults->down[n] > 0 || (engine->spares && hr__spares_keep(engine, (hr_node){n})))
        node_down(engine, (hr_pool){i}, (hr_node){n});
  }
  return status;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->faults;
}

static void close_queues(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->faults && engine->faults->pools && i < engine->cluster.n_pools; i++)
    hr__fifo_finish(&engine->faults->pools[i].queue);
}

const struct hr__component hr__component_faults = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .is_needed = is_needed,
    .begin = hr__restarts_init,
    .start = start,
    .stop = stop,
    .node_up = node_up,
    .node_down = node_down,
    .kinds = 1u << HR__PENDING_FAULT | 1u << HR__PENDING_FAULT_FOUND | 1u << HR__PENDING_REPAIR,
    .advance = advance,
    .settle = hr__faults_settle,
    .close = close_queues,
    .check = hr__faults_check,
};

void hr_view_count_exclusion(const struct hr_view *view, hr_node node, bool begins, int64_t time_us) {
  const struct hr__engine *engine = hr__engine_of(view);
  struct hr_pool_accounting *accounting = &engine->pool_accounting[hr__cluster_pool_of(&engine->cluster, node).id];
  accounting->exclusions += begins;
  accounting->excluded_us += begins ? 0 : time_us;
}

bool hr_view_node_failed(const struct hr_view *view, hr_node node) {
  const struct hr__engine *engine = hr__engine_of(view);
  return engine->faults && !hr__faults_repaired(engine, node);
}
