/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of nodes of select/cons_tres; see selector.h. */

#include "policies/slurm/selector.h"

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

/* Finds the run to use next for a job that still needs `wanted` nodes: the smallest that suffices, otherwise the
   largest. Nodes that are chosen already are not in the set any more. */
static struct node_run best_run(const struct hr__slurm_nodes *nodes, const uint32_t *used, uint32_t gpus,
                                uint32_t wanted, const uint64_t *set) {
  struct node_run best = {0, 0}, run = {0, 0};
  for (uint32_t n = 0; n <= nodes->n_nodes; n++) {
    bool usable = n < nodes->n_nodes && has(set, n) && nodes->gpus[n] >= used[n] && nodes->gpus[n] - used[n] >= gpus;
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

/* Chooses nodes among those of a set that have enough free GPUs; `used` are the GPUs in use. */
static bool choose(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint32_t *used,
                   uint64_t *set) {
  uint32_t n_chosen = 0;
  uint32_t n_full = shape->last_gpus < shape->gpus_per_node ? shape->nodes - 1 : shape->nodes;
  while (n_chosen < shape->nodes) {
    uint32_t wanted = n_chosen < n_full ? n_full - n_chosen : 1;
    uint32_t gpus = n_chosen < n_full ? shape->gpus_per_node : shape->last_gpus;
    struct node_run run = best_run(nodes, used, gpus, wanted, set);
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

bool hr__slurm_select_now(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set) {
  return choose(nodes, shape, nodes->used, set);
}

/* ---- Expected starts -------------------------------------------------------------------------------- */

static bool overlaps(const struct hr__slurm_running *running, const uint64_t *set) {
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

/* The end of the first batch, without its length: the next multiple of the length after the first job ends. */
static int64_t batch_base(const struct hr__slurm_nodes *nodes, int64_t end_us) {
  int64_t into_us = (end_us + nodes->origin_us) % FIRST_BATCH_US;
  return end_us + FIRST_BATCH_US - (into_us < 0 ? into_us + FIRST_BATCH_US : into_us);
}

bool hr__slurm_select(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                      int64_t *start_us) {
  *start_us = now_us;
  if (hr__slurm_select_now(nodes, shape, set)) return true;
  memcpy(nodes->future, nodes->used, nodes->n_nodes * sizeof *nodes->future);
  int64_t base_us = HR_NEVER_US, batch_us = FIRST_BATCH_US;
  uint32_t at = 0;
  while (at < nodes->n_running) {
    int64_t last_us = HR_NEVER_US;
    while (at < nodes->n_running) {
      const struct hr__slurm_running *running = &nodes->running[at++];
      if (!overlaps(running, set)) continue;
      if (base_us == HR_NEVER_US) base_us = batch_base(nodes, running->end_us);
      last_us = running->end_us;
      release(nodes->future, running);
      if (at < nodes->n_running && nodes->running[at].end_us > base_us + batch_us) break;
    }
    if (last_us == HR_NEVER_US) return false;
    do batch_us *= 2;
    while (at < nodes->n_running && nodes->running[at].end_us > base_us + batch_us);
    if (!choose(nodes, shape, nodes->future, set)) continue;
    *start_us = last_us > now_us ? last_us : now_us + HR_SECOND_US; // a job that is over its limit ends soon
    return true;
  }
  return false;
}

/* ---- Running jobs ----------------------------------------------------------------------------------- */

void hr__slurm_nodes_add(struct hr__slurm_nodes *nodes, uint32_t job, const struct hr__slurm_shape *shape,
                         int64_t end_us, uint32_t *at) {
  uint32_t place = nodes->n_running++;
  for (; place > 0 && nodes->running[place - 1].end_us > end_us; place--)
    nodes->running[place] = nodes->running[place - 1];
  nodes->running[place] = (struct hr__slurm_running){job, end_us, *shape, at};
  for (uint32_t i = 0; i < shape->nodes; i++) {
    at[i] = nodes->chosen[i];
    nodes->used[at[i]] += gpus_on(shape, i);
  }
}

uint32_t *hr__slurm_nodes_remove(struct hr__slurm_nodes *nodes, uint32_t job, uint32_t *n_nodes) {
  uint32_t place = 0;
  while (place < nodes->n_running && nodes->running[place].job != job) place++;
  if (place == nodes->n_running) return NULL;
  uint32_t *at = nodes->running[place].nodes;
  *n_nodes = nodes->running[place].shape.nodes;
  release(nodes->used, &nodes->running[place]);
  nodes->n_running--;
  memmove(&nodes->running[place], &nodes->running[place + 1], (nodes->n_running - place) * sizeof *nodes->running);
  return at;
}
