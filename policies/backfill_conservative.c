/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, TPDS 2001): every waiting job gets a reservation, in order, and one
 * whose reservation is now starts. Reservations are made anew at each pass, from what runs and the limits, so they
 * move forward when a job ends early; nothing is remembered between passes.
 *
 * A reservation is the earliest time t at which the placement rule can place the job on the least free GPUs of each
 * bin (node, or pool under `pool`) over [t, t + limit), with all earlier reservations taken out. A pass stops where no
 * job further down asks for so little that it could fit now.
 */

#include "policies/profile.h"
#include "policies/queue.h"

struct planner {
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the state that the placement rule is asked on */
  uint64_t *free_gpus;          /* likewise, for placement by count */
  struct hr_capacity capacity;
  int64_t *starts; /* room for the bins of a pool */
};

static int64_t gpus_value(const struct hr_trace *trace, hr_job job) {
  return trace->gpus[job.id];
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct planner *planner = hr_arena_alloc(env->arena, sizeof *planner);
  if (!planner) return HR_NO_MEMORY;
  planner->n_bins = hr_releases_bins(queue->releases);
  planner->n_pools = hr_cluster_pools(queue->cluster);
  planner->profiles = hr_arena_alloc(env->arena, planner->n_bins * sizeof *planner->profiles);
  planner->starts = hr_arena_alloc(env->arena, planner->n_bins * sizeof *planner->starts);
  planner->index = hr_arena_alloc(env->arena, planner->n_pools * sizeof(*planner->index));
  planner->free_gpus = hr_arena_alloc(env->arena, planner->n_pools * sizeof *planner->free_gpus);
  if (!planner->profiles || !planner->starts || !planner->index || !planner->free_gpus) return HR_NO_MEMORY;
  for (uint32_t i = 0; queue->rule != HR_PLACE_POOL && i < planner->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){i});
    planner->index[i] = hr_free_index_create(env->arena, spec->nodes, spec->gpus_per_node);
    if (!planner->index[i]) return HR_NO_MEMORY;
  }
  planner->capacity =
      (struct hr_capacity){planner->n_pools, (const struct hr_free_index *const *)planner->index, planner->free_gpus};
  queue->backfill_state = planner;
  return HR_OK;
}

/* ---- The future from what runs ---------------------------------------------------------------------- */

struct filling {
  struct hr__profile *profile;
  struct hr_arena *arena;
  int64_t now_us;
};

static bool add_end(void *self, struct hr_job_entry entry) {
  struct filling *filling = self;
  int64_t end_us = entry.key > filling->now_us ? entry.key : filling->now_us + 1;
  return hr__profile_release(filling->profile, filling->arena, end_us, (uint32_t)entry.value);
}

static bool begin_bin(const struct hr__queue *queue, struct planner *planner, uint32_t bin, int64_t now_us) {
  struct filling filling = {&planner->profiles[bin], queue->arena, now_us};
  uint32_t free = hr_releases_bin_free(queue->releases, bin);
  return hr__profile_begin(filling.profile, queue->arena, now_us, free) &&
         hr_job_tree_each(hr_releases_bin_ends(queue->releases, bin), add_end, &filling);
}

static enum hr_status begin_plan(const struct hr__queue *queue, struct planner *planner, int64_t now_us) {
  for (uint32_t bin = 0; bin < planner->n_bins; bin++)
    if (!begin_bin(queue, planner, bin, now_us)) return HR_NO_MEMORY;
  return HR_OK;
}

/* ---- One reservation -------------------------------------------------------------------------------- */

struct request {
  uint32_t gpus, accept_class;
  int64_t length_us;
};

/* The k-th smallest, k from 1; the array is reordered (Hoare's selection). */
static int64_t select_kth(int64_t *values, uint32_t count, uint32_t k) {
  uint32_t low = 0, high = count - 1, target = k - 1;
  while (low < high) {
    int64_t pivot = values[low + (high - low) / 2];
    uint32_t i = low, j = high;
    for (;;) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i >= j) break;
      int64_t swapped = values[i];
      values[i++] = values[j];
      values[j--] = swapped;
    }
    if (target <= j)
      high = j;
    else
      low = j + 1;
  }
  return values[target];
}

/* The time by which k bins of the pool, each on its own, could begin a window with `gpus` GPUs. */
static int64_t bins_start(const struct hr__queue *queue, struct planner *planner, hr_pool pool, uint32_t gpus,
                          uint32_t k, int64_t from_us, int64_t length_us) {
  uint32_t first = hr_releases_first_bin(queue->releases, pool);
  uint32_t n_bins = queue->rule == HR_PLACE_POOL ? 1 : hr_cluster_pool_spec(queue->cluster, pool)->nodes;
  if (k > n_bins) return HR_NEVER_US;
  for (uint32_t i = 0; i < n_bins; i++)
    planner->starts[i] = hr__profile_earliest(&planner->profiles[first + i], from_us, length_us, gpus);
  return select_kth(planner->starts, n_bins, k);
}

/* A gang over nodes needs `whole` wholly free ones and whole + 1 with the remainder in the same window: step to the
   time by which each count could be there, until both are at one time. */
static int64_t gang_start(const struct hr__queue *queue, struct planner *planner, hr_pool pool,
                          const struct request *request, int64_t now_us) {
  uint32_t size = hr_cluster_pool_spec(queue->cluster, pool)->gpus_per_node;
  uint32_t whole = request->gpus / size, rest = request->gpus % size;
  int64_t start_us = now_us, step_us;
  for (;; start_us = step_us) {
    step_us = bins_start(queue, planner, pool, size, whole, start_us, request->length_us);
    if (step_us == HR_NEVER_US) return HR_NEVER_US;
    if (rest > 0) {
      int64_t rest_us = bins_start(queue, planner, pool, rest, whole + 1, start_us, request->length_us);
      if (rest_us == HR_NEVER_US) return HR_NEVER_US;
      if (rest_us > step_us) step_us = rest_us;
    }
    if (step_us == start_us) return start_us;
  }
}

static int64_t earliest_start(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                              int64_t now_us) {
  bool single = hr_placer_is_single(queue->placer, request->gpus, request->accept_class);
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t i = 0; i < planner->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr_cluster_accepts(queue->cluster, request->accept_class, pool)) continue;
    int64_t start_us = single ? bins_start(queue, planner, pool, request->gpus, 1, now_us, request->length_us)
                              : gang_start(queue, planner, pool, request, now_us);
    if (start_us < earliest_us) earliest_us = start_us;
  }
  return earliest_us;
}

/* Asks the placement rule on the least free GPUs of each bin over the window. */
static bool place_at(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                     int64_t start_us, struct hr_placement *placement) {
  for (uint32_t i = 0; i < planner->n_pools; i++) {
    const struct hr__profile *profiles = planner->profiles + hr_releases_first_bin(queue->releases, (hr_pool){i});
    if (queue->rule == HR_PLACE_POOL) {
      planner->free_gpus[i] = hr__profile_least(profiles, start_us, request->length_us);
      continue;
    }
    uint32_t n_nodes = hr_free_index_nodes(planner->index[i]);
    for (uint32_t node = 0; node < n_nodes; node++)
      hr_free_index_set(planner->index[i], node, hr__profile_least(&profiles[node], start_us, request->length_us));
  }
  return hr_placer_find_in(queue->placer, &planner->capacity, request->gpus, request->accept_class, placement);
}

static bool take_window(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                        int64_t start_us, const struct hr_placement *placement) {
  struct hr__profile *profiles = planner->profiles + hr_releases_first_bin(queue->releases, placement->pool);
  uint32_t first_node = hr_cluster_first_node(queue->cluster, placement->pool).id;
  int64_t end_us = start_us + request->length_us;
  if (placement->n_slices == 0) return hr__profile_take(profiles, queue->arena, start_us, end_us, request->gpus);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    if (!hr__profile_take(&profiles[slice.node.id - first_node], queue->arena, start_us, end_us,
                          slice.gpu_milli / 1000))
      return false;
  }
  return true;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* The most GPUs that a job which fits now can have. */
static int64_t most_gpus_now(const struct hr__queue *queue) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    hr_pool pool = {i};
    uint64_t here = hr_cluster_free_milli(queue->cluster, pool) / 1000;
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
    uint32_t highest = hr_free_index_highest(index);
    if (queue->rule != HR_PLACE_POOL && highest < hr_free_index_gpus_per_node(index)) here = highest;
    if (here > most) most = here;
  }
  return (int64_t)most;
}

static bool some_may_fit(const struct hr__queue *queue, const struct hr__shape *all, struct hr_job_entry entry) {
  struct hr_job_entry unused;
  int64_t most = most_gpus_now(queue);
  return entry.value <= most || hr_job_tree_next(&all->jobs, entry.key, entry.job, most, &unused);
}

/* Reserves for one job, and starts it when its time is now. */
static enum hr_status reserve(struct hr__queue *queue, struct hr__shape *all, const struct hr_view *view,
                              struct hr_plan *plan, struct hr_job_entry entry, enum hr_reason reason, bool *started) {
  struct planner *planner = queue->backfill_state;
  int64_t limit_us = hr_trace_limit_us(queue->trace, entry.job);
  struct request request = {hr__gpus(queue, entry.job), hr_cluster_accept_class(queue->cluster, entry.job),
                            limit_us > 0 ? limit_us : 1};
  struct hr_placement placement = {0};
  int64_t start_us = view->now_us;
  *started = request.gpus == 0;
  if (request.gpus > 0) {
    start_us = earliest_start(queue, planner, &request, view->now_us);
    if (start_us == HR_NEVER_US || !place_at(queue, planner, &request, start_us, &placement)) return HR_INTERNAL;
    if (!take_window(queue, planner, &request, start_us, &placement)) return HR_NO_MEMORY;
    *started = start_us == view->now_us;
  }
  return *started ? hr__queue_start(queue, view, plan, all, entry, &placement, reason) : HR_OK;
}

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__shape *all = hr__active_shape(queue, 0);
  struct hr_job_entry entry = all->head;
  if (!some_may_fit(queue, all, entry)) return HR_OK;
  enum hr_status status = begin_plan(queue, queue->backfill_state, view->now_us);
  enum hr_reason reason = HR_REASON_IN_ORDER;
  for (bool more = true; status == HR_OK && more;
       more =
           hr_job_tree_next(&all->jobs, entry.key, entry.job, INT64_MAX, &entry) && some_may_fit(queue, all, entry)) {
    bool started;
    status = reserve(queue, all, view, plan, entry, reason, &started);
    if (!started) reason = HR_REASON_BACKFILL;
  }
  return status;
}

const struct hr__backfill hr__backfill_conservative = {
    .needs_releases = true, .value = gpus_value, .create = create, .pass = pass};
