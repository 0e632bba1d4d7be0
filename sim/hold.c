/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job that waits does not start. The policy is asked; what it does not tell is told by what the engine sees
 * itself: that there is no room for the job, counted in GPUs of pools, or of nodes.
 */

#include "headroom/hold.h"

#include "sim/engine.h"

const char *hr_hold_name(enum hr_hold_reason reason) {
  static const char *const names[] = {
#define HOLD_NAME(name, text, words) text,
      HR_HOLD_TABLE(HOLD_NAME)
#undef HOLD_NAME
  };
  return (unsigned)reason < HR_N_HOLDS ? names[reason] : "";
}

const char *hr_hold_words(enum hr_hold_reason reason) {
  static const char *const all[] = {
#define HOLD_WORDS(name, text, words) words,
      HR_HOLD_TABLE(HOLD_WORDS)
#undef HOLD_WORDS
  };
  return (unsigned)reason < HR_N_HOLDS ? all[reason] : "";
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Whether some acceptable pool's nodes are large enough for the job, which then goes to one node. */
static bool is_single(const struct hr_cluster *cluster, uint32_t gpus, uint32_t accept_class) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].spec->gpus_per_node >= gpus && hr_cluster_accepts(cluster, accept_class, (hr_pool){i}))
      return true;
  return false;
}

/* Whether wholly free nodes hold the gang, its rest on one more. */
static bool holds_gang(const struct hr_free_index *index, uint32_t gpus) {
  uint32_t size = hr_free_index_gpus_per_node(index), whole = gpus / size, rest = gpus % size;
  uint32_t n_free = hr_free_index_count(index, size);
  if (n_free < whole) return false;
  return rest == 0 || n_free > whole || hr_free_index_lowest(index, rest) < size;
}

static bool has_nodes(const struct hr_cluster *cluster, uint32_t gpus, uint32_t accept_class) {
  bool single = is_single(cluster, gpus, accept_class);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_free_index *index = cluster->pools[i].index;
    if (!hr_cluster_accepts(cluster, accept_class, (hr_pool){i}) || hr_free_index_gpus_per_node(index) == 0) continue;
    if (single ? hr_free_index_lowest(index, gpus) != HR_NONE : holds_gang(index, gpus)) return true;
  }
  return gpus == 0;
}

/* Whether a task fits some node, where GPUs are told apart. */
static bool has_node(const struct hr_cluster *cluster, const struct hr_request *request) {
  for (uint32_t node = 0; node < cluster->n_nodes; node++)
    if (hr_cluster_accepts(cluster, request->accept_class, (hr_pool){cluster->stock->pool[node]}) &&
        hr_stock_fits(cluster->stock, request, (hr_node){node}))
      return true;
  return !hr_request_needs_node(request);
}

/* ---- Room ------------------------------------------------------------------------------------------- */

static void count_room(const struct hr_cluster *cluster, hr_job job, struct hr_hold *hold) {
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  hold->asked_milli = hr_cluster_asked_milli(cluster, job);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    if (pool->free_milli <= hold->free_milli || !hr_cluster_accepts(cluster, accept_class, (hr_pool){i})) continue;
    hold->free_milli = pool->free_milli;
  }
}

/* Whether the job would have room in the pool with the nodes that are booting there. */
static bool is_booting(const struct hr_cluster *cluster, hr_job job, hr_pool number, uint64_t asked_milli,
                       bool single) {
  const struct hr__pool *pool = &cluster->pools[number.id];
  if (!pool->comes_and_goes || pool->n_in[HR_NODE_BOOTING] == 0) return false;
  uint64_t size_milli = (uint64_t)pool->spec->gpus_per_node * 1000;
  if (single && asked_milli > size_milli) return false;
  if (pool->free_milli + pool->n_in[HR_NODE_BOOTING] * size_milli < asked_milli) return false;
  return hr_cluster_accepts(cluster, hr_cluster_accept_class(cluster, job), number);
}

void hr_view_lack(const struct hr_view *view, hr_job job, struct hr_hold *hold) {
  const struct hr_cluster *cluster = view->cluster;
  bool single = cluster->nodes && is_single(cluster, view->jobs->gpus[job.id], hr_cluster_accept_class(cluster, job));
  hold->reason = hold->free_milli < hold->asked_milli ? HR_HOLD_CAPACITY : HR_HOLD_FRAGMENTS;
  for (uint32_t i = 0; i < cluster->n_pools && cluster->nodes; i++)
    if (is_booting(cluster, job, (hr_pool){i}, hold->asked_milli, single)) hold->reason = HR_HOLD_BOOTING;
}

bool hr_view_lacks(const struct hr_view *view, hr_job job, struct hr_hold *hold) {
  const struct hr_cluster *cluster = view->cluster;
  bool enough = cluster->stock
                    ? has_node(cluster, &cluster->requests->request[cluster->requests->of_job[job.id]])
                    : hold->free_milli >= hold->asked_milli &&
                          has_nodes(cluster, view->jobs->gpus[job.id], hr_cluster_accept_class(cluster, job));
  if (!enough) hr_view_lack(view, job, hold);
  return !enough;
}

/* ---- Asking ----------------------------------------------------------------------------------------- */

void hr_view_hold(const struct hr_view *view, hr_job job, struct hr_hold *hold) {
  const struct hr__engine *engine = hr__engine_of(view);
  *hold = (struct hr_hold){.behind = {HR_NONE}, .quota = HR_NONE, .until_us = HR_NEVER_US};
  if (job.id >= engine->trace->n_jobs || engine->state[job.id] != HR_JOB_WAITING) return;
  hold->reason = HR_HOLD_POLICY;
  count_room(&engine->cluster, job, hold);
  if (engine->ops.explain) engine->ops.explain(engine->policy, view, job, hold);
  if (hold->reason == HR_HOLD_POLICY) hr_view_lacks(view, job, hold);
}

uint32_t hr_view_abilities(const struct hr_view *view) {
  return hr__engine_of(view)->abilities;
}
