/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures as a component of the engine: their random times, the accounts of outages, and the states of units. A unit
 * is a node, a group of nodes, or a group of GPUs of a node, that fails as a whole. The rules are in
 * headroom/unstable/faults.h.
 *
 * A unit is in one of four states: it works; it has failed, but the failure is not detected yet; it waits for the
 * repair crew; it is being repaired. The time of the next change of a unit is `due_us`. There is one exception: with
 * the clock `wall`, the time of the next failure is `wall_us`, because such a failure does not depend on the state of
 * the unit. A pending event of a unit is outdated, and ignored, if its time differs from the member that has the time
 * of such a change.
 *
 * A node of an owned or reserved pool is off while at least one unit with a detected failure contains it (`down`). It
 * may also be off for reasons that do not concern this file. In elastic pools, nodes are not repaired: a failed node
 * does not return, and another node can be acquired in its place at once.
 *
 * Invariants: `down` of a node is the number of its units that wait for repair or are being repaired, and is 0 if the
 * node is up. At most `crew` units of a pool are repaired at the same time.
 */

#include "headroom/unstable/faults.h"
#include "base/containers.h"
#include "base/random.h"
#include "sim/engine/engine.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>

/* The state of a unit at the start of the run, if the run begins in the stationary state. */
struct hr__fault_start {
  bool is_down;
  int64_t rest_us; /* until the repair is complete, or until the first failure */
  /* class of the failure that is being repaired; NULL: the unit is not down, or the lengths of repairs are recorded */
  const struct hr_fault_class *class_;
};

/* Identifies the random draws of a unit. Failures of a unit are numbered from 1. Each failure has separate draws, so
   the number of draws for one failure does not affect the next failure. `process_id` is different for each process of a
   run; `unit` is the index of the unit in the process. */
struct hr__fault_draws {
  uint64_t seed;
  uint32_t process_id, unit;
};

enum hr__unit_state { HR__UNIT_WORKS, HR__UNIT_FAILED, HR__UNIT_QUEUED, HR__UNIT_REPAIRED };

struct hr__fault_unit {
  int64_t due_us; /* time of its next failure, detection or end of repair; HR_NEVER_US: unknown */
  /* remaining time on its clock until it fails. Clock `busy`: as of `busy_us` if jobs run on it. Clock `up`: set for a
     single node that goes down for another reason than the failure of this unit, and used when the node comes up */
  int64_t left_us;
  int64_t wall_us;   /* clock wall: time of its next failure, independent of its state */
  int64_t busy_us;   /* clock busy: time since which jobs run on it; HR_NEVER_US: no job runs */
  int64_t repair_us; /* how long the present repair takes */
  uint32_t failures; /* the number of the next failure, from 1 */
  uint32_t process;
  uint32_t first_node, n_nodes;
  uint32_t first_replay, n_replays; /* its recorded failures in spec->replays */
  /* clock `busy`: number of pairs (job, node of the unit) such that the job runs on the node */
  uint32_t n_jobs;
  uint8_t state;         /* enum hr__unit_state */
  bool corrupts;         /* its jobs continue, with corrupted results, until the failure is detected */
  bool is_drawn;         /* the time of the next failure was drawn */
  uint32_t class_;       /* index in engine->outages of the class of its last failure */
  int64_t down_since_us; /* when its nodes went down; HR_NEVER_US: they are not down because of it */
};

struct hr__fault_group {
  const struct hr_fault_process *spec;
  hr_pool pool;
  uint32_t first_unit;
  struct hr_fault_units units;
  uint32_t first_class; /* index of the accounts of its classes in engine->outages */
};

struct hr__fault_pool {
  uint32_t first_process, n_processes;
  uint32_t in_repair; /* units that are being repaired */
  bool is_elastic;
  bool counts_jobs;      /* some process has the clock `busy` */
  struct hr__fifo queue; /* uint32_t: units that wait for the repair crew */
  uint32_t n_down;       /* number of its nodes with hr__faults.failed above 0 */
  int64_t touched_us;    /* time until which the accounts of the pool are complete */
};

struct hr__faults {
  struct hr__fault_group *processes;
  uint32_t n_processes, n_units;
  struct hr__fault_unit *units;
  struct hr__fault_pool *pools; /* by pool */
  uint16_t *down;               /* by node: number of its units with a detected failure */
  /* by node: number of its units that do not work. A unit that corrupts results counts only after the detection */
  uint16_t *failed;
};

/* ---- Random times ----------------------------------------------------------------------------------- */

/*
 * Each unit of a process has a stream of random numbers. The stream has a separate part for each failure
 * (base/random.h: lives); part 0 is for the start of the run.
 *
 * Stationary start: work and repair alternate. If MTTF is the mean time to a failure and MTTR the mean time of a
 * repair, a unit is down at a random time with the probability MTTR / (MTTF + MTTR). The rest of the present period of
 * work or repair then has the density (1 - F(t)) / mean, where F is the distribution of the length of such periods
 * (sim/market/supply.c).
 */

static struct hr__stream stream_at(const struct hr__fault_draws *draws, uint32_t number) {
  struct hr__stream stream;
  hr__stream_init(&stream, draws->seed, HR__PURPOSE_FAULT, draws->unit, draws->process_id);
  hr__stream_skip_to_life(&stream, number);
  return stream;
}

/* Returns the duration divided by `factor`. */
static struct hr_duration sooner(struct hr_duration duration, double factor) {
  if (factor == 1) return duration;
  if (duration.kind == HR_DURATION_LOG_NORMAL)
    duration.a -= log(factor);
  else if (duration.kind == HR_DURATION_WEIBULL)
    duration.b /= factor;
  else
    duration.a /= factor;
  return duration;
}

static int64_t draw_us(const struct hr_duration *duration, struct hr__stream *stream) {
  if (duration->kind == HR_DURATION_FIXED && duration->a <= 0) return 0;
  return hr__duration_draw(duration, stream);
}

static int64_t draw_recorded_us(const struct hr_recorded *recorded, struct hr__stream *stream) {
  uint32_t place = (uint32_t)(hr__stream_uniform(stream) * recorded->n_values);
  return (int64_t)llround(recorded->values[place].h * 3600 * (double)HR_SECOND_US);
}

/* Draws the rest of a recorded interval that is in progress at a random time. The probability of an interval is
   proportional to its length. */
static int64_t draw_recorded_rest_us(const struct hr_recorded *recorded, struct hr__stream *stream) {
  double left_h = hr__stream_uniform(stream) * recorded->mean_s / 3600 * recorded->n_values;
  uint32_t place = 0;
  while (place + 1 < recorded->n_values && left_h >= recorded->values[place].h) left_h -= recorded->values[place++].h;
  double part = hr__stream_uniform(stream);
  return (int64_t)llround(part * recorded->values[place].h * 3600 * (double)HR_SECOND_US);
}

/* Returns the time on the clock until failure `number`. `factor`: how often the unit fails, relative to a normal
   unit. */
static int64_t fault_between_us(const struct hr__fault_draws *draws, const struct hr_fault_process *process,
                                double factor, uint32_t number) {
  struct hr__stream stream = stream_at(draws, number);
  struct hr_duration between = sooner(process->between, factor);
  if (process->recorded_between.n_values)
    return (int64_t)((double)draw_recorded_us(&process->recorded_between, &stream) / factor);
  return hr__duration_draw(&between, &stream);
}

/* Returns the weight of a class among all failures or, with `in_repair`, among the repairs that are in progress at a
   random time. The latter is proportional to the share of the class and to the mean length of its repairs. */
static double weight_of(const struct hr_fault_class *class_, bool in_repair) {
  return in_repair ? class_->share * hr__duration_mean_s(&class_->repair) : class_->share;
}

static const struct hr_fault_class *class_at(const struct hr_fault_process *process, bool in_repair, double p) {
  if (process->n_classes == 0) return &process->only;
  double sum = 0, before = 0;
  for (uint32_t i = 0; i < process->n_classes; i++) sum += weight_of(&process->classes[i], in_repair);
  for (uint32_t i = 0; i + 1 < process->n_classes; i++) {
    before += weight_of(&process->classes[i], in_repair);
    if (p * sum < before) return &process->classes[i];
  }
  return &process->classes[process->n_classes - 1];
}

/* Returns the class of failure `number`. `*detect_us`: the delay from the failure to its detection. `*repair_us`: the
   length of the repair. */
static const struct hr_fault_class *fault_class_draw(const struct hr__fault_draws *draws,
                                                     const struct hr_fault_process *process, uint32_t number,
                                                     int64_t *detect_us, int64_t *repair_us) {
  /* The draws are from the second half of the part of the stream; the first half is for the time until the failure. */
  struct hr__stream stream = stream_at(draws, number);
  stream.counter[0] += 1u << 7;
  const struct hr_fault_class *class_ = class_at(process, false, hr__stream_uniform(&stream));
  *detect_us = draw_us(&class_->detect, &stream);
  *repair_us = process->recorded_repair.n_values ? draw_recorded_us(&process->recorded_repair, &stream)
                                                 : draw_us(&class_->repair, &stream);
  return class_;
}

/* Returns the mean time of a repair over all classes, in seconds. */
static double mean_repair_s(const struct hr_fault_process *process) {
  double sum = 0, sum_s = 0;
  if (process->recorded_repair.n_values) return process->recorded_repair.mean_s;
  if (process->n_classes == 0) return hr__duration_mean_s(&process->only.repair);
  for (uint32_t i = 0; i < process->n_classes; i++) {
    sum += weight_of(&process->classes[i], false);
    sum_s += weight_of(&process->classes[i], true);
  }
  return sum > 0 ? sum_s / sum : 0;
}

/* Draws whether the unit is down at the start of the run, and the remaining time until it is repaired or fails. The
   start of the run is a random time in an endless alternation of work and repair. Units can be down at the start only
   with the clock `up`. */
static struct hr__fault_start fault_start_draw(const struct hr__fault_draws *draws,
                                               const struct hr_fault_process *process, double factor) {
  struct hr__stream stream = stream_at(draws, 0);
  struct hr_duration between = sooner(process->between, factor);
  double up_s = hr__duration_mean_s(&between), down_s = mean_repair_s(process);
  bool is_down = process->clock == HR_FAULT_CLOCK_UP && hr__stream_uniform(&stream) * (up_s + down_s) < down_s;
  const struct hr_recorded *recorded = is_down ? &process->recorded_repair : &process->recorded_between;
  if (recorded->n_values) {
    int64_t rest_us = draw_recorded_rest_us(recorded, &stream);
    return (struct hr__fault_start){is_down, is_down ? rest_us : (int64_t)((double)rest_us / factor), NULL};
  }
  if (!is_down) return (struct hr__fault_start){false, hr__duration_draw_rest(&between, &stream), NULL};
  const struct hr_fault_class *class_ = class_at(process, true, hr__stream_uniform(&stream));
  return (struct hr__fault_start){true, hr__duration_draw_rest(&class_->repair, &stream), class_};
}

/* Draws how often the unit fails, relative to a normal unit. The result is bad_factor with the probability bad_share,
   and 1 otherwise. */
static double fault_factor(const struct hr__fault_draws *draws, const struct hr_fault_process *process) {
  if (!(process->bad_share > 0)) return 1;
  struct hr__stream stream = stream_at(draws, 0);
  stream.counter[0] += 1u << 7;
  return hr__stream_uniform(&stream) < process->bad_share ? process->bad_factor : 1;
}

static int by_node_and_time(const void *a, const void *b) {
  const struct hr_fault_replay *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
  return (x->down_us > y->down_us) - (x->down_us < y->down_us);
}

void hr_fault_replays_sort(struct hr_fault_process *process, uint32_t nodes) {
  struct hr_fault_replay *replays = process->replays;
  uint32_t n = 0;
  if (process->n_replays) qsort(replays, process->n_replays, sizeof *replays, by_node_and_time);
  for (uint32_t i = 0; i < process->n_replays && replays[i].node < nodes; i++) {
    struct hr_fault_replay *last = n ? &replays[n - 1] : NULL, next = replays[i];
    int64_t end_us = next.at_us + next.down_us;
    if (!last || last->node != next.node || next.at_us > last->at_us + last->down_us)
      replays[n++] = next;
    else if (end_us > last->at_us + last->down_us)
      last->down_us = end_us - last->at_us;
  }
  process->n_replays = n;
}

uint32_t hr_outages_count(const struct hr_pool_spec *pools, uint32_t n_pools) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n_pools; i++)
    for (uint32_t k = 0; hr_pool_fails(&pools[i]) && k < pools[i].faults->n_processes; k++)
      count += hr_fault_classes_of(&pools[i].faults->processes[k]);
  return count;
}

void hr_fault_process_finish(struct hr_fault_process *process) {
  for (uint32_t k = 0; k < process->n_classes; k++) free(process->classes[k].name);
  free(process->classes);
  free(process->recorded_between.values);
  free(process->recorded_repair.values);
  free(process->replays);
  free(process->name);
}

void hr_fault_spec_destroy(struct hr_fault_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_processes; i++) hr_fault_process_finish(&spec->processes[i]);
  free(spec->processes);
  free(spec);
}

/* ---- Accounts of outages ---------------------------------------------------------------------------- */

/*
 * This part counts the time for which nodes are down, by pool and by class of failure. It also has the checks of units
 * in checked mode.
 *
 * An outage of a unit begins with the failure, and ends with the end of the repair. If the unit corrupts results, the
 * outage begins when the failure is detected. In elastic pools, it ends when the failure is detected or when the node
 * goes down earlier for another reason. The downtime of a class is the sum over its outages: the length of the outage
 * times the number of nodes of the unit. A node that is down because of two failures counts for the classes of both
 * failures, but only once for its pool.
 */

/* Returns the process that makes a unit fail. */
static const struct hr__fault_group *group_of(const struct hr__engine *engine, const struct hr__fault_unit *unit) {
  return &engine->faults->processes[unit->process];
}

bool hr__faults_repaired(const struct hr__engine *engine, hr_node node) {
  return engine->faults->failed[node.id] == 0;
}

uint32_t hr__faults_nodes_down(const struct hr__engine *engine, hr_pool pool) {
  return engine->faults->pools[pool.id].n_down;
}

/* ---- Accounts of outages: classes ------------------------------------------------------------------- */

/* Sets the class of the outage of a unit that is down at the start of the run. */
static void faults_set_class(const struct hr__engine *engine, struct hr__fault_unit *unit,
                             const struct hr_fault_class *class_) {
  const struct hr__fault_group *group = group_of(engine, unit);
  const bool is_listed = class_ && group->spec->n_classes > 0;
  unit->class_ = group->first_class + (is_listed ? (uint32_t)(class_ - group->spec->classes) : 0);
}

/* Counts a failure of the class `class_`. */
static void faults_count_failure(struct hr__engine *engine, struct hr__fault_unit *unit,
                                 const struct hr_fault_class *class_) {
  faults_set_class(engine, unit, class_);
  engine->pool_accounting[group_of(engine, unit)->pool.id].failures++;
  engine->outages[unit->class_].failures++;
}

/* Adds the time since the nodes of a unit went down to the account of its class. */
static void add_downtime(struct hr__engine *engine, struct hr__fault_unit *unit) {
  const int64_t passed_us = engine->view.now_us - unit->down_since_us;
  engine->outages[unit->class_].down_us += (hr_amount)passed_us * unit->n_nodes;
  unit->down_since_us = HR_NEVER_US;
}

/* ---- Accounts of outages: pools --------------------------------------------------------------------- */

static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct hr__fault_pool *state = &engine->faults->pools[pool.id];
  engine->pool_accounting[pool.id].down_us += (hr_amount)state->n_down * (engine->view.now_us - state->touched_us);
  state->touched_us = engine->view.now_us;
}

/* Closes the accounts at the end of the run. */
static void faults_settle(struct hr__engine *engine) {
  struct hr__faults *faults = engine->faults;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) settle_pool(engine, (hr_pool){i});
  for (uint32_t i = 0; i < faults->n_units; i++)
    if (faults->units[i].down_since_us != HR_NEVER_US) add_downtime(engine, &faults->units[i]);
}

/* Updates the accounts when an outage of a unit begins or ends. */
static void faults_count_outage(struct hr__engine *engine, struct hr__fault_unit *unit, bool begins) {
  struct hr__faults *faults = engine->faults;
  hr_pool pool = group_of(engine, unit)->pool;
  settle_pool(engine, pool);
  if (begins)
    unit->down_since_us = engine->view.now_us;
  else
    add_downtime(engine, unit);
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++) {
    if (faults->failed[i] == (begins ? 0 : 1)) {
      faults->pools[pool.id].n_down += begins ? 1 : (uint32_t)-1;
      if (engine->maintenance) hr__maintenance_node_fails(engine, (hr_node){i}, begins);
    }
    faults->failed[i] = (uint16_t)(faults->failed[i] + (begins ? 1 : -1));
  }
}

/* ---- Accounts of outages: checked mode -------------------------------------------------------------- */

static enum hr_status check_node(const struct hr__engine *engine, uint32_t node, const uint16_t *down) {
  const struct hr__faults *faults = engine->faults;
  if (faults->down[node] != down[node])
    return hr__broken(engine, "node %" PRIu32 ": %u failed units are counted, %u contain it", node,
                      (unsigned)faults->down[node], (unsigned)down[node]);
  if (down[node] > 0 && engine->cluster.nodes[node].state != HR_NODE_OFF)
    return hr__broken(engine, "node %" PRIu32 " is present although it is not repaired", node);
  return HR_OK;
}

/* Checks the invariants. */
static enum hr_status faults_check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__faults *faults = engine->faults;
  uint16_t *down = calloc(engine->cluster.n_nodes + (size_t)1, sizeof *down);
  uint32_t *in_repair = calloc(engine->cluster.n_pools + (size_t)1, sizeof *in_repair);
  enum hr_status status = down && in_repair ? HR_OK : hr__out_of_memory(engine);
  (void)running;
  for (uint32_t i = 0; i < faults->n_units && status == HR_OK; i++) {
    const struct hr__fault_unit *unit = &faults->units[i];
    in_repair[group_of(engine, unit)->pool.id] += unit->state == HR__UNIT_REPAIRED;
    for (uint32_t k = 0; unit->state >= HR__UNIT_QUEUED && k < unit->n_nodes; k++) down[unit->first_node + k]++;
  }
  for (uint32_t i = 0; i < engine->cluster.n_nodes && status == HR_OK; i++) status = check_node(engine, i, down);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_fault_spec *spec = engine->cluster.pools[i].spec->faults;
    if (in_repair[i] != faults->pools[i].in_repair || (spec && spec->crew && in_repair[i] > spec->crew))
      status = hr__broken(engine, "pool %" PRIu32 ": %" PRIu32 " units are repaired at the same time", i, in_repair[i]);
  }
  free(down);
  free(in_repair);
  return status;
}

/* ---- Failures --------------------------------------------------------------------------------------- */

static struct hr__fault_draws draws_of(const struct hr__engine *engine, uint32_t unit) {
  const struct hr__faults *faults = engine->faults;
  const struct hr__fault_group *process = group_of(engine, &faults->units[unit]);
  uint32_t number = faults->units[unit].process - faults->pools[process->pool.id].first_process;
  return (struct hr__fault_draws){engine->config->seed, process->pool.id * HR_FAULT_PROCESSES + number,
                                  unit - process->first_unit};
}

static struct hr__fault_pool *pool_state_of(const struct hr__engine *engine, uint32_t unit) {
  return &engine->faults->pools[group_of(engine, &engine->faults->units[unit])->pool.id];
}

/* ---- Failures: the time of the next failure --------------------------------------------------------- */

static enum hr_status schedule_unit(struct hr__engine *engine, uint32_t number, int64_t at_us,
                                    enum hr__pending_kind kind) {
  engine->faults->units[number].due_us = at_us;
  return hr__schedule(engine, at_us, kind, number);
}

static double factor_of(const struct hr__engine *engine, uint32_t number) {
  struct hr__fault_draws draws = draws_of(engine, number);
  const struct hr__faults *faults = engine->faults;
  return fault_factor(&draws, group_of(engine, &faults->units[number])->spec);
}

/* Sets the time until the next failure of a unit, on the clock of its process. */
static enum hr_status start_clock(struct hr__engine *engine, uint32_t number, int64_t left_us) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  int64_t now_us = engine->view.now_us;
  enum hr_fault_clock clock = group_of(engine, unit)->spec->clock;
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
  const struct hr_fault_process *spec = group_of(engine, unit)->spec;
  return unit->failures <= unit->n_replays ? &spec->replays[unit->first_replay + unit->failures - 1] : NULL;
}

static enum hr_status draw_failure(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_draws draws = draws_of(engine, number);
  struct hr__fault_unit *unit = &engine->faults->units[number];
  const struct hr_fault_process *spec = group_of(engine, unit)->spec;
  const struct hr_fault_replay *replay = next_replay(engine, unit);
  unit->is_drawn = true;
  unit->wall_us = HR_NEVER_US;
  if (spec->replays && !replay) return HR_OK;
  if (replay) return start_clock(engine, number, replay->at_us - engine->view.now_us);
  return start_clock(engine, number, fault_between_us(&draws, spec, factor_of(engine, number), unit->failures));
}

/* ---- Failures: repairs ------------------------------------------------------------------------------ */

static enum hr_status begin_repair(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  unit->state = HR__UNIT_REPAIRED;
  pool_state_of(engine, number)->in_repair++;
  return schedule_unit(engine, number, engine->view.now_us + unit->repair_us, HR__PENDING_REPAIR);
}

static enum hr_status ask_for_repair(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  struct hr__fault_pool *pool = pool_state_of(engine, number);
  uint32_t crew = engine->cluster.pools[group_of(engine, unit)->pool.id].spec->faults->crew;
  bool is_recorded = group_of(engine, unit)->spec->replays;
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
  const struct hr__fault_group *process = group_of(engine, unit);
  unit->state = HR__UNIT_WORKS;
  unit->due_us = HR_NEVER_US;
  faults_count_outage(engine, unit, false);
  enum hr_status status = repair_next(engine, &faults->pools[process->pool.id]);
  bool draws = process->spec->clock == HR_FAULT_CLOCK_BUSY ||
               (process->spec->clock == HR_FAULT_CLOCK_UP && process->spec->unit != HR_TIER_NODE);
  if (status == HR_OK && draws) status = draw_failure(engine, number);
  for (uint32_t i = unit->first_node; status == HR_OK && i < unit->first_node + unit->n_nodes; i++)
    if (--faults->down[i] == 0 && faults->failed[i] == 0)
      status = hr__market_return(engine, process->pool, (hr_node){i}, HR_REASON_REPAIRED);
  return status;
}

/* ---- Failures: units that fail ---------------------------------------------------------------------- */

/* Notifies the jobs on the nodes of a unit that their results are corrupted from now on. With `found`, notifies them
   that the corruption was detected. */
static enum hr_status corrupt_jobs(struct hr__engine *engine, const struct hr__fault_unit *unit, bool found) {
  enum hr_status status = HR_OK;
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++)
    HR__EACH_RESIDENT(engine, i, link) HR__CALL_ACTIVE(engine, status, corrupt, hr__resident(engine, link), found);
  return status;
}

/* Handles the detection of a failure. The nodes of the unit go down. In elastic pools, the unit works again at once,
   because its nodes are replaced by others. In other pools, the unit is repaired, or waits for the repair crew. */
static enum hr_status detect(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  if (unit->corrupts) {
    enum hr_status found = corrupt_jobs(engine, unit, true);
    if (found != HR_OK) return found;
    faults_count_outage(engine, unit, true);
    unit->corrupts = false;
  }
  const struct hr__fault_group *process = group_of(engine, unit);
  bool is_elastic = faults->pools[process->pool.id].is_elastic;
  if (is_elastic) {
    faults_count_outage(engine, unit, false);
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

/* Handles an undetected failure of a node. The jobs of the node make no progress from now on, and no job may start on
   the node. `until_us`: when the failure will be detected. */
static enum hr_status hang_node(struct hr__engine *engine, hr_pool pool, hr_node node, int64_t until_us) {
  struct hr__node *self = &engine->cluster.nodes[node.id];
  enum hr_status status = HR_OK;
  if (self->state != HR_NODE_UP && self->state != HR_NODE_CLOSING) return HR_OK;
  if (engine->standby) hr__standby_node_fails(engine, node);
  if (self->state == HR_NODE_UP) status = hr__market_close(engine, pool, node, HR_REASON_FAILED, until_us);
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
  const struct hr__fault_group *process = group_of(engine, unit);
  struct hr__fault_draws draws = draws_of(engine, number);
  const struct hr_fault_class *class_ = &process->spec->only;
  int64_t detect_us = 0;
  if (process->spec->replays)
    unit->repair_us = next_replay(engine, unit)->down_us;
  else
    class_ = fault_class_draw(&draws, process->spec, unit->failures, &detect_us, &unit->repair_us);
  faults_count_failure(engine, unit, class_);
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
  faults_count_outage(engine, unit, true);
  if (detect_us == 0) return detect(engine, number);
  enum hr_status status = schedule_unit(engine, number, engine->view.now_us + detect_us, HR__PENDING_FAULT_FOUND);
  for (uint32_t i = unit->first_node; status == HR_OK && i < unit->first_node + unit->n_nodes; i++)
    status = hang_node(engine, process->pool, (hr_node){i}, unit->due_us);
  return status;
}

/* Returns whether some node of the unit can fail now, that is, whether it is up or has received notice. */
static bool is_there(const struct hr__engine *engine, const struct hr__fault_unit *unit) {
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++) {
    enum hr_node_state state = hr_cluster_node_state(&engine->cluster, (hr_node){i});
    if (state == HR_NODE_UP || state == HR_NODE_CLOSING) return true;
  }
  return false;
}

/* Handles a pending failure of a unit. The event is ignored if it is outdated. The failure has no effect if the unit
   does not work, or if no node of the unit is up or closing. */
static enum hr_status handle_fault(struct hr__engine *engine, uint32_t number) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  enum hr_fault_clock clock = group_of(engine, unit)->spec->clock;
  int64_t due_us = clock == HR_FAULT_CLOCK_WALL ? unit->wall_us : unit->due_us;
  if (due_us != engine->view.now_us || (clock != HR_FAULT_CLOCK_WALL && unit->state != HR__UNIT_WORKS)) return HR_OK;
  if (unit->state == HR__UNIT_WORKS && is_there(engine, unit)) {
    enum hr_status status = strike(engine, number);
    return status == HR_OK && clock == HR_FAULT_CLOCK_WALL ? draw_failure(engine, number) : status;
  }
  /* The failure has no effect. The clock of a single node starts again when the node comes up. */
  unit->failures++;
  unit->is_drawn = false;
  bool goes_on = clock == HR_FAULT_CLOCK_WALL || group_of(engine, unit)->spec->unit != HR_TIER_NODE;
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

/* ---- Failures: nodes and jobs ----------------------------------------------------------------------- */

/* Returns the first unit of the process that contains the node or a part of it. */
static uint32_t unit_at(const struct hr__engine *engine, const struct hr__fault_group *process, hr_node node) {
  uint32_t place = node.id - engine->cluster.pools[process->pool.id].first_node.id;
  return process->first_unit + place / process->units.nodes * process->units.per_node;
}

/* Starts the clock of a single node that has come up. After a repair or a launch, the time until the failure is drawn.
   Otherwise the clock continues with the remaining time. */
static enum hr_status resume(struct hr__engine *engine, uint32_t number, bool is_elastic) {
  struct hr__fault_unit *unit = &engine->faults->units[number];
  int64_t left_us = unit->left_us;
  if (is_elastic && unit->is_drawn) unit->failures++; /* the time of this failure was drawn for the previous machine */
  if (is_elastic || !unit->is_drawn) return draw_failure(engine, number);
  unit->left_us = HR_NEVER_US;
  return schedule_unit(engine, number, engine->view.now_us + left_us, HR__PENDING_FAULT);
}

/* A node has come up: starts the clocks of the units that consist of this node. */
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

/* A node has gone down, for any reason. Stops the clocks `up` of the units that consist of this node, because these
   units cannot fail until the node comes up again. In elastic pools, also ends undetected failures of these units. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__faults *faults = engine->faults;
  const struct hr__fault_pool *state = &faults->pools[pool.id];
  for (uint32_t i = state->first_process; i < state->first_process + state->n_processes; i++) {
    const struct hr__fault_group *process = &faults->processes[i];
    struct hr__fault_unit *unit = &faults->units[unit_at(engine, process, node)];
    if (process->spec->unit != HR_TIER_NODE) continue;
    if (unit->state == HR__UNIT_FAILED && state->is_elastic) {
      if (!unit->corrupts) faults_count_outage(engine, unit, false);
      unit->corrupts = false;
      unit->state = HR__UNIT_WORKS;
    }
    if (unit->state != HR__UNIT_WORKS || process->spec->clock != HR_FAULT_CLOCK_UP || unit->due_us == HR_NEVER_US)
      continue;
    unit->left_us = unit->due_us - engine->view.now_us;
    unit->due_us = HR_NEVER_US;
  }
}

/* Counts a job that starts on, or leaves, a node of a unit. Starts the clock `busy` of the unit with the first job, and
   stops it when the last job has left. */
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

/* Calls count_job for the units of a process that contain the node. */
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

/* ---- Failures: start and end of a run --------------------------------------------------------------- */

static enum hr_status allocate(struct hr__engine *engine) {
  const struct hr_cluster *cluster = &engine->cluster;
  struct hr__faults *faults;
  if (!HR__ARENA_ARRAY(&engine->arena, faults, 1)) return hr__out_of_memory(engine);
  engine->faults = faults;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (uint32_t k = 0; hr_pool_fails(spec) && k < spec->faults->n_processes; k++) {
      faults->n_processes++;
      faults->n_units += hr_fault_units_of(&spec->faults->processes[k], spec).count;
    }
  }
  bool made = HR__ARENA_ARRAY(&engine->arena, faults->processes, faults->n_processes) &&
              HR__ARENA_ARRAY(&engine->arena, faults->units, faults->n_units) &&
              HR__ARENA_ARRAY(&engine->arena, faults->pools, cluster->n_pools) &&
              HR__ARENA_ARRAY(&engine->arena, faults->down, cluster->n_nodes) &&
              HR__ARENA_ARRAY(&engine->arena, faults->failed, cluster->n_nodes);
  return made ? HR_OK : hr__out_of_memory(engine);
}

/* Initializes a unit. The unit works until its first failure, or it is down for the rest of its repair. If its node
   comes up later, as in elastic pools, a unit with the clock `up` has no time of its first failure yet. */
static enum hr_status begin_unit(struct hr__engine *engine, uint32_t number) {
  struct hr__faults *faults = engine->faults;
  struct hr__fault_unit *unit = &faults->units[number];
  const struct hr__fault_group *process = group_of(engine, unit);
  const struct hr__fault_pool *pool = &faults->pools[process->pool.id];
  struct hr__fault_draws draws = draws_of(engine, number);
  bool waits = process->spec->clock == HR_FAULT_CLOCK_UP && process->spec->unit == HR_TIER_NODE &&
               (pool->is_elastic || engine->cluster.pools[process->pool.id].spec->market.from_us > 0);
  if (waits) return HR_OK; /* node_up will start the clock */
  if (process->spec->fresh || process->spec->replays) return draw_failure(engine, number);
  struct hr__fault_start begin = fault_start_draw(&draws, process->spec, factor_of(engine, number));
  unit->is_drawn = !begin.is_down;
  if (!begin.is_down) return start_clock(engine, number, begin.rest_us);
  unit->repair_us = begin.rest_us;
  faults_set_class(engine, unit, begin.class_);
  faults_count_outage(engine, unit, true);
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

/* Called after the markets have been initialized and before the policy is, because some nodes are down at the start of
   the run. */
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

static void close_queues(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->faults && engine->faults->pools && i < engine->cluster.n_pools; i++)
    hr__fifo_finish(&engine->faults->pools[i].queue);
}

const struct hr__component hr__component_faults = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .part = offsetof(struct hr__engine, faults),
    .begin = hr__restarts_init,
    .start = start,
    .stop = stop,
    .node_up = node_up,
    .node_down = node_down,
    .kinds = 1u << HR__PENDING_FAULT | 1u << HR__PENDING_FAULT_FOUND | 1u << HR__PENDING_REPAIR,
    .advance = advance,
    .settle = faults_settle,
    .close = close_queues,
    .check = faults_check,
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
