/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slow and simple model of one pass of Slurm: the choice of nodes and the backfill scheduler. Running jobs are
 * released one by one, nodes are scanned one by one, and the slots of the time line are a linked list.
 */

#include "naive_slurm.h"

#include <string.h>

/* The length of the first batch of running jobs. */
#define FIRST_BATCH_US (30 * HR_SECOND_US)

static bool has(const uint64_t *set, uint32_t node) {
  return set[node / 64] >> node % 64 & 1;
}

/* ---- Choosing nodes --------------------------------------------------------------------------------- */

/* A run of consecutive nodes that can be used. */
struct node_run {
  uint32_t first, count;
};

/* Returns whether a node has the CPUs and the memory that a job needs, after the first `n_ended` running jobs have
   ended. */
static bool has_rest(const struct naive_nodes *nodes, const struct hr__slurm_shape *shape, uint32_t n_ended,
                     uint32_t node) {
  if (!nodes->cpu_milli) return true;
  int64_t cpu_milli = nodes->cpu_milli[node], mem_mib = nodes->mem_mib[node];
  for (uint32_t r = n_ended; r < nodes->n_running; r++)
    for (uint32_t i = 0; i < nodes->running[r].shape.nodes; i++) {
      if (nodes->running[r].nodes[i] != node) continue;
      cpu_milli -= nodes->running[r].shape.cpu_milli;
      mem_mib -= (int64_t)nodes->running[r].shape.mem_mib;
    }
  return cpu_milli >= shape->cpu_milli && mem_mib >= (int64_t)shape->mem_mib;
}

/* Finds the run of nodes to use next for a job that still needs `wanted` nodes: the smallest run that is large enough,
   or the largest run if none is. Nodes that are already chosen do not count. */
static struct node_run best_run(const struct naive_nodes *nodes, const struct hr__slurm_shape *shape,
                                const uint32_t *used, uint32_t n_ended, uint32_t gpus, uint32_t wanted,
                                const uint64_t *set) {
  struct node_run best = {0, 0}, run = {0, 0};
  for (uint32_t n = 0; n <= nodes->n_nodes; n++) {
    bool usable = n < nodes->n_nodes && has(set, n) && nodes->gpus[n] >= used[n] && nodes->gpus[n] - used[n] >= gpus &&
                  has_rest(nodes, shape, n_ended, n);
    if (usable) {
      if (run.count++ == 0) run.first = n;
      continue;
    }
    if (run.count > 0) {
      bool suffices = run.count >= wanted, best_suffices = best.count >= wanted && best.count > 0;
      bool better = suffices ? !best_suffices || run.count < best.count : !best_suffices && run.count > best.count;
      if (better) best = run;
    }
    run.count = 0;
  }
  return best;
}

/* Chooses nodes among those of a set that have enough free GPUs; `used` are the GPUs in use after the first `n_ended`
   running jobs have ended. Returns false if the nodes do not suffice. */
static bool choose(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, const uint32_t *used,
                   uint32_t n_ended, uint64_t *set) {
  uint32_t n_chosen = 0;
  uint32_t n_full = shape->last_gpus < shape->gpus_per_node ? shape->nodes - 1 : shape->nodes;
  while (n_chosen < shape->nodes) {
    uint32_t wanted = n_chosen < n_full ? n_full - n_chosen : 1;
    uint32_t gpus = n_chosen < n_full ? shape->gpus_per_node : shape->last_gpus;
    struct node_run run = best_run(nodes, shape, used, n_ended, gpus, wanted, set);
    if (run.count == 0) break;
    for (uint32_t i = 0; i < run.count && i < wanted; i++) {
      uint32_t node = run.first + i;
      nodes->chosen[n_chosen++] = node;
      set[node / 64] &= ~(UINT64_C(1) << node % 64);
    }
  }
  if (n_chosen < shape->nodes) {
    for (uint32_t i = 0; i < n_chosen; i++) set[nodes->chosen[i] / 64] |= UINT64_C(1) << nodes->chosen[i] % 64;
    return false;
  }
  memset(set, 0, nodes->n_words * sizeof *set);
  for (uint32_t i = 0; i < n_chosen; i++) set[nodes->chosen[i] / 64] |= UINT64_C(1) << nodes->chosen[i] % 64;
  return true;
}

bool naive_select_now(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set) {
  return choose(nodes, shape, nodes->used, 0, set);
}

/* ---- Expected starts -------------------------------------------------------------------------------- */

static bool runs_on(const struct hr__slurm_running *running, const uint64_t *set) {
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (has(set, running->nodes[i])) return true;
  return false;
}

static uint32_t gpus_on(const struct hr__slurm_shape *shape, uint32_t index) {
  return index + 1 == shape->nodes ? shape->last_gpus : shape->gpus_per_node;
}

static void release(uint32_t *used, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < running->shape.nodes; i++) used[running->nodes[i]] -= gpus_on(&running->shape, i);
}

/* Returns the time to which the length of each batch is added: the first time after `end_us` that is a multiple of
   FIRST_BATCH_US since 1970. `end_us`: the end of the first running job. */
static int64_t batch_base(const struct naive_nodes *nodes, int64_t end_us) {
  int64_t into_us = (end_us + nodes->origin_us) % FIRST_BATCH_US;
  return end_us + FIRST_BATCH_US - (into_us < 0 ? into_us + FIRST_BATCH_US : into_us);
}

bool naive_select(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                  int64_t *start_us) {
  *start_us = now_us;
  if (naive_select_now(nodes, shape, set)) return true;
  memcpy(nodes->future, nodes->used, nodes->n_nodes * sizeof *nodes->future);
  int64_t base_us = HR_NEVER_US, batch_us = FIRST_BATCH_US;
  uint32_t at = 0;
  while (at < nodes->n_running) {
    int64_t last_us = HR_NEVER_US, over_us = 0, limit_us = 0;
    while (at < nodes->n_running) {
      const struct hr__slurm_running *running = &nodes->running[at++];
      if (!runs_on(running, set)) continue;
      if (base_us == HR_NEVER_US) base_us = batch_base(nodes, running->end_us);
      last_us = running->end_us;
      over_us = running->over_us;
      limit_us = running->limit_us;
      release(nodes->future, running);
      if (at < nodes->n_running && nodes->running[at].end_us > base_us + batch_us) break;
    }
    if (last_us == HR_NEVER_US) return false;
    do batch_us *= 2;
    while (at < nodes->n_running && nodes->running[at].end_us > base_us + batch_us);
    if (!choose(nodes, shape, nodes->future, at, set)) continue;
    *start_us = last_us;
    if (last_us > now_us) return true;
    *start_us =
        over_us == HR_NEVER_US ? now_us + limit_us : last_us + over_us; // the last released job has exceeded its limit
    if (*start_us <= now_us) *start_us = now_us + HR_SECOND_US;
    return true;
  }
  return false;
}

/* ---- Running jobs ----------------------------------------------------------------------------------- */

struct hr__slurm_running *naive_nodes_add(struct naive_nodes *nodes, uint32_t job, const struct hr__slurm_shape *shape,
                                          int64_t end_us, uint32_t *at) {
  uint32_t place = nodes->n_running++;
  for (; place > 0; place--) { // equal ends in the order of submission
    const struct hr__slurm_running *before = &nodes->running[place - 1];
    if (before->end_us < end_us || (before->end_us == end_us && before->job < job)) break;
    nodes->running[place] = *before;
  }
  nodes->running[place] = (struct hr__slurm_running){
      .job = job, .end_us = end_us, .over_us = 30 * HR_SECOND_US, .shape = *shape, .nodes = at};
  for (uint32_t i = 0; i < shape->nodes; i++) {
    at[i] = nodes->chosen[i];
    nodes->used[at[i]] += gpus_on(shape, i);
  }
  return &nodes->running[place];
}

/* ==== The backfill scheduler ========================================================================= */

/* A pass that is running. */
struct pass {
  struct naive_timeline *line;
  const struct hr__slurm_backfill_limits *limits;
  const struct hr__slurm_selector *selector;
  int64_t now_us;
  uint32_t part_reserves[NAIVE_NAMES]; /* reservations by partition */
};

static uint64_t *nodes_of(const struct naive_timeline *line, uint32_t slot) {
  return line->nodes + (size_t)slot * line->n_words;
}

static uint32_t *licenses_of(const struct naive_timeline *line, uint32_t slot) {
  return line->licenses + (size_t)slot * line->n_license_kinds;
}

static uint32_t count_of(const uint64_t *set, uint32_t n_words) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < n_words; w++)
    for (uint64_t rest = set[w]; rest; rest &= rest - 1) count++;
  return count;
}

static void begin_line(struct naive_timeline *line, const uint32_t *licenses, int64_t from_us, int64_t to_us) {
  line->n_slots = 1;
  line->slots[0] = (struct naive_slot){from_us, to_us, HR_NONE};
  for (uint32_t w = 0; w < line->n_words; w++) line->nodes[w] = UINT64_MAX;
  if (line->n_nodes % 64) line->nodes[line->n_words - 1] = (UINT64_C(1) << line->n_nodes % 64) - 1;
  if (line->n_license_kinds) memcpy(line->licenses, licenses, line->n_license_kinds * sizeof *licenses);
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

/* If a time is inside a slot, splits the slot, so that a slot begins at this time. */
static void split_at(struct naive_timeline *line, int64_t time_us) {
  uint32_t at = 0;
  while (at != HR_NONE && line->slots[at].end_us <= time_us) at = line->slots[at].next;
  if (at == HR_NONE || line->slots[at].begin_us >= time_us || line->n_slots == line->max_slots) return;
  uint32_t new = line->n_slots++;
  line->slots[new] = (struct naive_slot){time_us, line->slots[at].end_us, line->slots[at].next};
  line->slots[at].end_us = time_us;
  line->slots[at].next = new;
  memcpy(nodes_of(line, new), nodes_of(line, at), line->n_words * sizeof(uint64_t));
  if (line->n_license_kinds)
    memcpy(licenses_of(line, new), licenses_of(line, at), line->n_license_kinds * sizeof(uint32_t));
}

/* Merges the first pair of equal neighbouring slots. Pairs are examined from the second slot before `from_us` on, up to
   the last slot that begins before `to_us` and its successor. */
static void join_equal(struct naive_timeline *line, int64_t from_us, int64_t to_us) {
  uint32_t before = 0, before_that = 0;
  for (uint32_t at = 0; line->slots[at].begin_us < from_us; at = line->slots[at].next) {
    before_that = before;
    before = at;
    if (line->slots[at].next == HR_NONE) break;
  }
  for (uint32_t at = before_that; at != HR_NONE && line->slots[at].begin_us < to_us; at = line->slots[at].next) {
    uint32_t next = line->slots[at].next;
    if (next == HR_NONE) return;
    bool equal = true;
    for (uint32_t n = 0; n < line->n_nodes; n++)
      equal = equal && has(nodes_of(line, at), n) == has(nodes_of(line, next), n);
    for (uint32_t l = 0; l < line->n_license_kinds; l++)
      equal = equal && licenses_of(line, at)[l] == licenses_of(line, next)[l];
    if (!equal) continue;
    line->slots[at].end_us = line->slots[next].end_us;
    line->slots[at].next = line->slots[next].next;
    return;
  }
}

/* Removes nodes and licences of a job from all slots from `from_us` to `to_us`. */
static void reserve(struct naive_timeline *line, const struct hr__slurm_queued *job, const uint64_t *set,
                    int64_t from_us, int64_t to_us) {
  split_at(line, from_us);
  split_at(line, to_us);
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    if (line->slots[at].begin_us < from_us || line->slots[at].begin_us >= to_us) continue;
    for (uint32_t w = 0; w < line->n_words; w++) nodes_of(line, at)[w] &= ~set[w];
    if (!job->n_licenses) continue;
    uint32_t *left = &licenses_of(line, at)[job->license];
    *left = *left > job->n_licenses ? *left - job->n_licenses : 0;
  }
  join_equal(line, from_us, to_us);
}

/* ---- Testing a job ---------------------------------------------------------------------------------- */

/* Returns whether the next slot has a node for the job that the scratch set (line->set) or slot `slot` lacks. */
static bool gains_nodes(const struct naive_timeline *line, const struct hr__slurm_queued *job, uint32_t slot) {
  for (uint32_t n = 0; n < line->n_nodes; n++) {
    bool later = has(nodes_of(line, line->slots[slot].next), n) && (!job->usable || has(job->usable, n));
    if (later && !(has(line->set, n) && has(nodes_of(line, slot), n))) return true;
  }
  return false;
}

/* Sets the scratch set to the usable nodes that are not reserved at any time from `from_us` to `to_us`. Returns whether
   the licences suffice. Sets `*later_us` to the time at which the job is tried again. If the licences suffice, this is
   the end of the first slot after which the job can use more nodes (gains_nodes); unchanged if no such slot exists. If
   the licences do not suffice, it is the end of the last slot without enough licences; HR_NEVER_US if this is the last
   slot of the time line. */
static bool usable_nodes(const struct naive_timeline *line, const struct hr__slurm_queued *job, int64_t from_us,
                         int64_t to_us, int64_t *later_us) {
  for (uint32_t w = 0; w < line->n_words; w++) line->set[w] = job->usable ? job->usable[w] : UINT64_MAX;
  bool licensed = true, found_later = false;
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    const struct naive_slot *slot = &line->slots[at];
    if (slot->end_us <= from_us) continue;
    if (!found_later && slot->next != HR_NONE && gains_nodes(line, job, at)) {
      *later_us = slot->end_us;
      found_later = true;
    }
    if (slot->begin_us > to_us) continue; // a reservation must not begin exactly at the end
    for (uint32_t w = 0; w < line->n_words; w++) line->set[w] &= nodes_of(line, at)[w];
    if (!job->n_licenses || licenses_of(line, at)[job->license] >= job->n_licenses) continue;
    licensed = false;
    found_later = true;
    *later_us = slot->next == HR_NONE ? HR_NEVER_US : slot->end_us;
  }
  return licensed;
}

/* Returns whether a reservation uses one of the chosen nodes, or the licences do not suffice, from `from_us` to
   `to_us`. */
static bool overlaps(const struct naive_timeline *line, const struct hr__slurm_queued *job, int64_t from_us,
                     int64_t to_us) {
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    const struct naive_slot *slot = &line->slots[at];
    if (slot->end_us <= from_us || slot->begin_us >= to_us) continue;
    for (uint32_t w = 0; w < line->n_words; w++)
      if (line->set[w] & ~nodes_of(line, at)[w]) return true;
    if (job->n_licenses && licenses_of(line, at)[job->license] < job->n_licenses) return true;
  }
  return false;
}

static int64_t round_down(const struct pass *pass, int64_t time_us) {
  int64_t resolution_us = pass->limits->resolution_us, date_us = time_us + pass->limits->origin_us;
  return date_us / resolution_us * resolution_us - pass->limits->origin_us;
}

/* Finds the first start of a job that no reservation prevents. The chosen nodes are in the scratch set. Returns
   HR_NEVER_US if not found within the window. */
static int64_t find_start(const struct pass *pass, const struct hr__slurm_queued *job) {
  struct naive_timeline *line = pass->line;
  int64_t from_us = pass->now_us;
  for (;;) {
    int64_t later_us = HR_NEVER_US, start_us = 0;
    line->from_us = from_us;
    bool licensed = usable_nodes(line, job, from_us, from_us + job->limit_us, &later_us);
    bool found = licensed && count_of(line->set, line->n_words) >= job->min_nodes &&
                 pass->selector->find(pass->selector->self, job->job, pass->now_us, line->set, &start_us);
    if (found) {
      if (start_us < from_us) start_us = from_us;
      if (start_us == from_us) return start_us;
      bool tries_again = start_us > later_us;
      if (!tries_again && start_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
      if (!tries_again && !overlaps(line, job, round_down(pass, start_us), round_down(pass, start_us + job->limit_us)))
        return start_us;
      if (!tries_again) later_us = start_us; // reservations that the selector does not consider prevent this start
    }
    if (later_us == HR_NEVER_US || later_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
    from_us = later_us;
  }
}

/* Returns whether a job that cannot start now gets a reservation, and counts it. */
static bool gets_reservation(struct pass *pass, const struct hr__slurm_queued *job) {
  const struct hr__slurm_backfill_limits *limits = pass->limits;
  uint32_t part = job->scopes[HR__SLURM_OF_PARTITION];
  if (pass->now_us - job->submit_us < limits->min_age_reserve_us) return false;
  if (job->no_reserve || job->priority < limits->min_prio_reserve) return false;
  if (limits->job_part_count_reserve && pass->part_reserves[part] == limits->job_part_count_reserve) return false;
  pass->part_reserves[part]++;
  return true;
}

/* Returns whether the number of tested jobs before job `i`, of the same user, partition or association, has reached a
   limit. */
static bool is_over_limit(const struct pass *pass, const struct hr__slurm_queued *queue,
                          const struct hr__slurm_planned *planned, uint32_t i) {
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) {
    uint32_t limit = pass->limits->max_tests[s], n_tested = 0;
    for (uint32_t k = 0; k < i; k++) n_tested += planned[k].was_tested && queue[k].scopes[s] == queue[i].scopes[s];
    if (limit && queue[i].scopes[s] != HR_NONE && n_tested >= limit) return true;
  }
  return false;
}

/* Tests one job: starts it, or reserves nodes for it. Returns whether it was started. */
static bool test_job(struct pass *pass, const struct hr__slurm_queued *job, struct hr__slurm_planned *planned) {
  int64_t start_us = find_start(pass, job), resolution_us = pass->limits->resolution_us;
  planned->start_us = start_us;
  if (start_us == HR_NEVER_US) return false;
  bool is_now = start_us <= pass->now_us && pass->selector->start(pass->selector->self, job->job, pass->line->set);
  if (!is_now && !gets_reservation(pass, job)) return false;
  if (is_now) { // the selector now considers the job, and its nodes may be shared
    for (uint32_t w = 0; w < pass->line->n_words; w++) pass->line->set[w] = 0;
    if (job->n_licenses) reserve(pass->line, job, pass->line->set, start_us, start_us + job->limit_us);
    return true;
  }
  int64_t end_us = round_down(pass, start_us + job->limit_us);
  start_us = round_down(pass, start_us);
  if (start_us < pass->now_us) start_us = pass->now_us;
  if (end_us < start_us + resolution_us) end_us = start_us + resolution_us;
  reserve(pass->line, job, pass->line->set, start_us, end_us);
  return false;
}

uint32_t naive_backfill(struct naive_timeline *line, const struct hr__slurm_backfill_limits *limits,
                        const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                        const struct hr__slurm_selector *selector, int64_t now_us, struct hr__slurm_planned *planned) {
  struct pass pass = {line, limits, selector, now_us, {0}};
  begin_line(line, licenses, now_us, now_us + limits->window_us);
  uint32_t n_tested = 0, n_started = 0;
  for (uint32_t i = 0; i < n_queued; i++) {
    planned[i] = (struct hr__slurm_planned){HR_NEVER_US, false};
    if (n_tested == limits->max_job_test || (limits->max_job_start && n_started == limits->max_job_start)) continue;
    if (selector->may_be_tested && !selector->may_be_tested(selector->self, queue[i].job)) continue;
    if (is_over_limit(&pass, queue, planned, i)) continue;
    n_tested++;
    planned[i].was_tested = true;
    n_started += test_job(&pass, &queue[i], &planned[i]);
  }
  return n_started;
}
