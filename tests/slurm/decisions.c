/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares decisions of the model with recorded ones. For each recorded start, the input of the model is the recorded
 * state at most 2 seconds before or after it: the running jobs with their nodes, the waiting jobs, and the priorities.
 * Counted are the starts that the model reproduces from one of these states, and those on the same nodes.
 */

#include "recorded.h"

#include "base/containers.h"

#include <string.h>

enum { MAX_SLOTS = 2 * MAX_ATTEMPTS + 2, WINDOW_S = 86400 };

struct model {
  const struct recorded *run;
  struct hr__slurm_nodes nodes;
  struct hr_arena arena;
  uint32_t gpus[RECORDED_NODES];
  uint32_t memory[MAX_ATTEMPTS][RECORDED_NODES];
  struct hr__slurm_timeline line;
  struct hr__slurm_slot slots[MAX_SLOTS];
  uint64_t slot_nodes[MAX_SLOTS], set;
  struct hr__slurm_queued queue[MAX_ATTEMPTS];
  uint32_t n_queued;
  int64_t now_s;
  uint64_t started[MAX_ATTEMPTS]; /* by attempt: the nodes on which the model starts it; 0: not started */
};

/* Exits the program if `succeeded` is false, which means that memory is exhausted. */
static void must(bool succeeded) {
  if (succeeded) return;
  fputs("out of memory\n", stderr);
  exit(1);
}

static void occupy(struct model *model, uint32_t number, int64_t end_s) {
  hr__slurm_nodes_add(&model->nodes, number, &model->run->attempts[number].shape, end_s * HR_SECOND_US,
                      model->memory[number]);
}

/* ---- Preemption ------------------------------------------------------------------------------------- */

/* Lists the running attempts that an attempt may preempt, in the order in which they are preempted. Returns their
   number. */
static uint32_t list_victims(const struct model *model, uint32_t number, struct hr__slurm_victim *victims) {
  const struct recorded *run = model->run;
  const bool *may_preempt = run->may_preempt[run->attempts[number].qos];
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->nodes.n_running; i++) {
    uint32_t other = model->nodes.running[i].job;
    const struct attempt *attempt = &run->attempts[other];
    if (!may_preempt[attempt->qos] || model->started[other]) continue;
    struct hr__slurm_victim victim = {.job = other,
                                      .priority = (uint32_t)run->qos_priority[attempt->qos],
                                      .nodes = attempt->shape.nodes,
                                      .start_us = attempt->start_s * HR_SECOND_US};
    uint32_t at = count++;
    for (; at > 0 && hr__slurm_victim_before(&victim, &victims[at - 1], false); at--) victims[at] = victims[at - 1];
    victims[at] = victim;
  }
  return count;
}

/* Removes an attempt from its nodes. Sets `end_us` to its expected end, which put_back needs to add it again. */
static void take_off(struct model *model, uint32_t number, int64_t *end_us) {
  uint32_t n_nodes;
  for (uint32_t i = 0; i < model->nodes.n_running; i++)
    if (model->nodes.running[i].job == number) *end_us = model->nodes.running[i].end_us;
  hr__slurm_nodes_remove(&model->nodes, number, &n_nodes);
}

static void put_back(struct model *model, uint32_t number, int64_t end_us) {
  const struct attempt *attempt = &model->run->attempts[number];
  uint32_t count = 0;
  for (uint32_t n = 0; n < RECORDED_NODES; n++)
    if (attempt->nodes >> n & 1) model->nodes.chosen[count++] = n;
  occupy(model, number, end_us / HR_SECOND_US);
}

/* Preempts attempts in order until the attempt `number` fits on the nodes in `*set`, and sets `*set` to its nodes.
   Preempted attempts that do not use these nodes continue. Returns false if the attempt does not fit even after all
   preemptions; then all attempts continue. */
static bool preempt(struct model *model, uint32_t number, uint64_t *set) {
  struct hr__slurm_victim victims[RECORDED_NODES * RECORDED_GPUS];
  int64_t ends_us[RECORDED_NODES * RECORDED_GPUS];
  uint32_t count = list_victims(model, number, victims), removed = 0;
  bool fits = false;
  const uint64_t allowed = *set;
  while (!fits && removed < count) {
    take_off(model, victims[removed].job, &ends_us[removed]);
    removed++;
    *set = allowed;
    fits = hr__slurm_select_now(&model->nodes, &model->run->attempts[number].shape, set);
  }
  for (uint32_t i = 0; i < removed; i++)
    if (!fits || !(model->run->attempts[victims[i].job].nodes & *set)) put_back(model, victims[i].job, ends_us[i]);
  uint64_t chosen = *set;
  return fits && hr__slurm_select_now(&model->nodes, &model->run->attempts[number].shape, &chosen);
}

/* ---- The selector of a backfill pass ---------------------------------------------------------------- */

static bool start_now(void *self, uint32_t number, const uint64_t *nodes) {
  struct model *model = self;
  uint64_t set = *nodes;
  if (!hr__slurm_select_now(&model->nodes, &model->run->attempts[number].shape, &set) && !preempt(model, number, &set))
    return false;
  model->started[number] = set;
  occupy(model, number, model->now_s + model->run->attempts[number].limit_s);
  return true;
}

/* Finds the earliest start of an attempt. If it cannot start now, it is assumed that all attempts that it may preempt
   have been preempted. Returns false if it can never start. */
static bool find_start(void *self, uint32_t number, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct model *model = self;
  struct hr__slurm_victim victims[RECORDED_NODES * RECORDED_GPUS];
  int64_t ends_us[RECORDED_NODES * RECORDED_GPUS];
  const struct hr__slurm_shape *shape = &model->run->attempts[number].shape;
  uint64_t set = *nodes;
  if (hr__slurm_select_now(&model->nodes, shape, &set))
    return hr__slurm_select(&model->nodes, shape, now_us, nodes, start_us);
  uint32_t count = list_victims(model, number, victims);
  for (uint32_t i = 0; i < count; i++) take_off(model, victims[i].job, &ends_us[i]);
  bool found = hr__slurm_select(&model->nodes, shape, now_us, nodes, start_us);
  for (uint32_t i = 0; i < count; i++) put_back(model, victims[i].job, ends_us[i]);
  return found;
}

/* Returns whether an attempt started before another one. Attempts that started in the same millisecond are ordered by
   job id. */
static bool started_before(const struct attempt *a, const struct attempt *b) {
  if (a->start_s != b->start_s) return a->start_s < b->start_s;
  return a->start_ms != b->start_ms ? a->start_ms < b->start_ms : a->job < b->job;
}

/* Compares jobs of the queue: by priority, then by the time of submission, then by id. */
static int by_priority(const void *left, const void *right) {
  const struct hr__slurm_queued *a = left, *b = right;
  if (a->priority != b->priority) return a->priority < b->priority ? 1 : -1;
  if (a->submit_us != b->submit_us) return a->submit_us < b->submit_us ? -1 : 1;
  uint32_t left_id = a->scopes[HR__SLURM_OF_USER], right_id = b->scopes[HR__SLURM_OF_USER]; // job ids here
  return left_id < right_id ? -1 : left_id > right_id;
}

static void enqueue(struct model *model, uint32_t number, const struct shares *shares) {
  const struct attempt *attempt = &model->run->attempts[number];
  struct priority_parts parts;
  model->queue[model->n_queued++] = (struct hr__slurm_queued){
      .job = number,
      .scopes = {attempt->job},
      .submit_us = attempt->submit_s * HR_SECOND_US,
      .priority = model->run->is_basic ? 1 : priority_at(model->run, shares, attempt, model->now_s, &parts),
      .limit_us = attempt->limit_s * HR_SECOND_US,
      .min_nodes = attempt->shape.nodes};
}

static void set_state(struct model *model, const struct recorded *run, uint32_t number, int64_t now_s) {
  static struct shares shares;
  const struct attempt *own = &run->attempts[number];
  hr__arena_finish(&model->arena);
  *model = (struct model){.run = run, .now_s = now_s};
  for (uint32_t n = 0; n < RECORDED_NODES; n++) model->gpus[n] = RECORDED_GPUS;
  must(hr__slurm_nodes_create(&model->nodes, &model->arena, model->gpus, RECORDED_NODES, 0));
  model->line = (struct hr__slurm_timeline){.slots = model->slots,
                                            .nodes = model->slot_nodes,
                                            .set = &model->set,
                                            .max_slots = MAX_SLOTS,
                                            .n_nodes = RECORDED_NODES,
                                            .n_words = 1};
  if (!run->is_basic) shares_at(run, now_s, &shares);
  for (uint32_t i = 0; i < run->n_attempts; i++) {
    const struct attempt *other = &run->attempts[i];
    if (i == number || !started_before(other, own)) {
      if (other->eligible_s <= now_s) enqueue(model, i, &shares);
      continue;
    }
    if (other->end_s <= now_s) continue;
    uint32_t count = 0;
    for (uint32_t n = 0; n < RECORDED_NODES; n++)
      if (other->nodes >> n & 1) model->nodes.chosen[count++] = n;
    int64_t end_s = other->start_s + other->limit_s;
    occupy(model, i, end_s > now_s ? end_s : now_s + 1);
  }
  qsort(model->queue, model->n_queued, sizeof *model->queue, by_priority);
}

/* Runs the main scheduler and a backfill pass. */
static void run_model(struct model *model) {
  static struct hr__slurm_planned planned[MAX_ATTEMPTS];
  const struct hr__slurm_backfill_limits limits = {
      .resolution_us = HR_SECOND_US, .window_us = WINDOW_S * HR_SECOND_US, .max_job_test = 1000};
  const struct hr__slurm_selector selector = {.find = find_start, .start = start_now, .self = model};
  uint32_t first = 0;
  for (uint64_t all; all = (1 << RECORDED_NODES) - 1, first < model->n_queued; first++)
    if (!start_now(model, model->queue[first].job, &all)) break;
  hr__slurm_backfill(&model->line, &limits, model->queue + first, model->n_queued - first, NULL, &selector,
                     model->now_s * HR_SECOND_US, planned);
}

/* Returns the nodes on which the model starts an attempt within 2 seconds of its recorded start; 0: it does not. */
static uint64_t start_of(struct model *model, const struct recorded *run, uint32_t number) {
  static const int offsets[] = {0, 1, 2, -1, -2};
  uint64_t nodes = 0;
  for (unsigned i = 0; i < sizeof offsets / sizeof *offsets && !nodes; i++) {
    int64_t now_s = run->attempts[number].start_s + offsets[i];
    if (now_s < run->attempts[number].eligible_s) continue;
    set_state(model, run, number, now_s);
    run_model(model);
    nodes = model->started[number];
  }
  return nodes;
}

/* Returns whether a job was preempted on the nodes of an attempt when it started. */
static bool preempted_others(const struct recorded *run, const struct attempt *attempt) {
  for (uint32_t i = 0; i < run->n_attempts; i++) {
    const struct attempt *other = &run->attempts[i];
    int64_t gap_s = attempt->start_s - other->end_s;
    if (other->is_preempted && gap_s >= -1 && gap_s <= 3 && (other->nodes & attempt->nodes)) return true;
  }
  return false;
}

struct decisions compare_decisions(const struct recorded *run) {
  struct decisions decisions = {0};
  struct model *model = calloc(1, sizeof *model);
  must(model != NULL);
  for (uint32_t i = 0; i < run->n_attempts; i++) {
    if (preempted_others(run, &run->attempts[i])) {
      decisions.n_preempting++;
      continue;
    }
    uint64_t nodes = start_of(model, run, i);
    decisions.n_starts++;
    decisions.n_started += nodes != 0;
    decisions.n_same_nodes += nodes == run->attempts[i].nodes;
  }
  hr__arena_finish(&model->arena);
  free(model);
  return decisions;
}
