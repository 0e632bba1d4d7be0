/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Guesses the owned nodes of a draft from the demand: a pool for each GPU type that jobs request, large enough for its
 * jobs for 95 % of the time if none had to wait, and for the largest of them.
 *
 * Types are visited in the order of their demand. A list of types gets a pool unless an earlier pool has one of them.
 * The jobs of a list are then counted in the first pool that would accept them; jobs without a type, which any pool
 * accepts, in the first pool.
 */

#include "scenarios/draft/draft.h"

#include "sim/cluster/cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POOLS = 16, MAX_TYPE_BYTES = 100 };

/* ---- Types ------------------------------------------------------------------------------------------ */

/* Returns the type of the pool for a list of types, as the catalogue spells it if it knows one. If jobs request MIG
   instances, prefers the acceptable type that has the instances of most jobs. */
static const char *guess_type(const struct hr__draft *draft, const char *list) {
  const char *best = NULL;
  uint32_t most = 0;
  for (size_t i = 0; draft->facts.n_mig && i < draft->catalog->n_gpus; i++) {
    const char *gpu = draft->catalog->gpus[i].name;
    uint32_t n_jobs = hr__draft_list_has(draft, list, gpu) ? hr__draft_mig_jobs(draft, gpu) : 0;
    if (n_jobs > most || (n_jobs == most && n_jobs && strcmp(gpu, "A100-80") == 0)) best = gpu;
    if (n_jobs > most) most = n_jobs;
  }
  if (best) return best;
  for (size_t i = draft->catalog->n_gpus; list[0] && i-- > 0;)
    if (hr__draft_list_has(draft, list, draft->catalog->gpus[i].name)) return draft->catalog->gpus[i].name;
  return list[0] ? list : "A100-80";
}

static void add_pool(struct hr__draft *draft, const char *list) {
  struct hr__draft_owned *own = &draft->own[draft->n_own++];
  const char *gpu = guess_type(draft, list);
  size_t length = strcspn(gpu, "|");
  *own = (struct hr__draft_owned){.gpus = HR__DRAFT_NODE_GPUS};
  snprintf(own->gpu, sizeof own->gpu, "%.*s", (int)(length < MAX_TYPE_BYTES ? length : MAX_TYPE_BYTES), gpu);
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

/* Finds the pool of each list of types, and of jobs without a type. HR_NONE: no pool. */
static enum hr_status assign(const struct hr__draft *draft, uint32_t *pool_of) {
  const struct hr_names *lists = &draft->config->trace->gpu_type_lists;
  struct hr_pool_spec pools[MAX_POOLS] = {0};
  const struct hr_cluster_spec cluster = {.pools = pools, .n_pools = (uint32_t)draft->n_own};
  uint8_t accepts[MAX_POOLS];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster.n_pools; i++) {
    pools[i] = (struct hr_pool_spec){.gpu = draft->own[i].gpu,
                                     .gpu_names = hr_catalog_gpu_names(draft->catalog, draft->own[i].gpu)};
    if (!pools[i].gpu_names) status = HR_NO_MEMORY;
  }
  for (uint32_t list = 0; list < lists->count && status == HR_OK; list++) {
    hr__gpu_names_select(&cluster, lists->text[list], accepts);
    pool_of[list] = HR_NONE;
    for (uint32_t i = cluster.n_pools; i-- > 0;)
      if (accepts[i]) pool_of[list] = i;
  }
  pool_of[lists->count] = 0;
  for (uint32_t i = 0; i < cluster.n_pools; i++) free(pools[i].gpu_names);
  return status;
}

/* Returns the nodes that the largest job needs among those of a pool: each task stays on one node if it fits. */
static uint32_t nodes_of_largest(const struct hr_trace *trace, const uint32_t *pool_of, uint32_t pool) {
  uint32_t most = 1;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    bool is_typed = trace->gpu_types && trace->gpu_types[job] != HR_NONE;
    uint32_t gpus = trace->gpus[job], tasks = trace->tasks ? trace->tasks[job] : 1, of_node = HR__DRAFT_NODE_GPUS;
    if (!gpus || !tasks || pool_of[is_typed ? trace->gpu_types[job] : trace->gpu_type_lists.count] != pool) continue;
    uint32_t of_task = (gpus + tasks - 1) / tasks;
    if (of_task <= of_node) of_node = of_node / of_task * of_task;
    uint32_t nodes = hr__draft_nodes_for(gpus, of_node, 1);
    if (nodes > most) most = nodes;
  }
  return most;
}

enum hr_status hr__draft_guess_own(struct hr__draft *draft) {
  const struct hr_trace *trace = draft->config->trace;
  const struct hr__draft_facts *facts = &draft->facts;
  struct hr__draft_owned *own = calloc((size_t)2 * MAX_POOLS + 2, sizeof *own); /* each pool may be divided */
  uint32_t *pool_of = malloc(((size_t)trace->gpu_type_lists.count + 1) * sizeof *pool_of);
  enum hr_status status = own && pool_of ? HR_OK : HR_NO_MEMORY;
  if (own) {
    free(draft->own);
    draft->own = own;
  }
  for (uint32_t i = 0; i < facts->n_types && draft->n_own < MAX_POOLS && status == HR_OK; i++)
    if (facts->types[i].name[0] && !hr__draft_own_has(draft, facts->types[i].name))
      add_pool(draft, facts->types[i].name);
  if (draft->n_own == 0 && status == HR_OK) add_pool(draft, "");
  if (status == HR_OK) status = assign(draft, pool_of);
  for (uint32_t i = 0; i < draft->n_own && status == HR_OK; i++) {
    struct hr__draft_facts of_pool = {0};
    status = hr__draft_demand(trace, draft->n_own > 1 ? pool_of : NULL, i, &of_pool);
    draft->own[i].nodes =
        hr__draft_nodes_for(of_pool.p95_gpus, HR__DRAFT_NODE_GPUS, nodes_of_largest(trace, pool_of, i));
    hr__draft_name_own(draft, i, draft->n_own);
  }
  free(pool_of);
  return status == HR_OK ? HR_OK : hr_fail(draft->error, status, "out of memory");
}
