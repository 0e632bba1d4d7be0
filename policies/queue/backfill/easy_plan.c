/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reservation of `easy` in clusters with planned maintenance. A capacity profile without the times of maintenance
 * gives T, the earliest time at which the head fits for its whole limit. Afterwards, `profile.index` contains the
 * minimum number of free GPUs of each node in [T, T + limit). Apart from maintenance, nodes only become free in that
 * time, so this is the number at T, or 0 for a node with maintenance. A job that starts now and ends after T reduces
 * it by its GPUs.
 */

#include "policies/queue/backfill/backfill.h"

struct hr__easy_plan {
  struct hr__cluster_profile profile;
  int64_t reserved_us;         /* T; HR_NEVER_US: in this pass, the head has no reservation */
  uint32_t gpus, accept_class; /* of the head */
};

/* Subtracts the GPUs of a job from the capacity at T. Writes the numbers before to profile.per_bin, by slice. */
static void subtract(struct hr__easy_plan *plan, const struct hr_placement *placement) {
  struct hr_free_index *index = plan->profile.index[placement->pool.id];
  uint32_t first = hr_cluster_first_node(plan->profile.cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t node = placement->slices[i].node.id - first, gpus = placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
    uint32_t free = hr_free_index_get(index, node);
    plan->profile.per_bin[i] = free;
    hr_free_index_set(index, node, free > gpus ? free - gpus : 0);
  }
}

bool hr__easy_plan_allows(const struct hr__queue *queue, const struct hr_placement *placement) {
  struct hr__easy_plan *plan = queue->easy_plan;
  struct hr_placement unused;
  subtract(plan, placement);
  bool still_fits = hr_placer_find_in(plan->profile.placer, &plan->profile.capacity, HR_TIER_ANY, plan->gpus,
                                      plan->accept_class, &unused);
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    hr_free_index_set(plan->profile.index[placement->pool.id], placement->slices[i].node.id - first,
                      (uint32_t)plan->profile.per_bin[i]);
  return still_fits;
}

bool hr__easy_plan_permits(const struct hr__queue *queue, int64_t end_us, const struct hr_placement *placement) {
  return end_us <= queue->easy_plan->reserved_us || hr__easy_plan_allows(queue, placement);
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__easy_plan *plan = queue->easy_plan;
  if (hr__expected_end_us(queue, view, job) > plan->reserved_us) subtract(plan, placement);
  return HR_OK;
}

static const struct hr__listener listener = {.job_starts = job_starts};

enum hr_status hr__easy_plan_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  bool any = false;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    any = any || hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->n_maintenance > 0;
  if (!any || queue->by_gpu || queue->locality || queue->rule == HR_PLACE_POOL) return HR_OK;
  struct hr__easy_plan *plan = hr_arena_alloc(env->arena, sizeof *plan);
  if (!plan) return HR_NO_MEMORY;
  /* A placer for this module only, because placements of the queue's placer must remain valid. */
  *plan = (struct hr__easy_plan){.profile = {.arena = env->arena,
                                             .cluster = queue->cluster,
                                             .placer = hr_placer_create(env->arena, queue->cluster, queue->rule),
                                             .calendar = queue->calendar,
                                             .rule = queue->rule},
                                 .reserved_us = HR_NEVER_US};
  if (!plan->profile.placer) return HR_NO_MEMORY;
  queue->easy_plan = plan;
  hr__queue_add_listener(queue, &listener);
  return hr__cluster_profile_init(&plan->profile);
}

enum hr_status hr__easy_plan_begin(struct hr__queue *queue, const struct hr_view *view, hr_job head) {
  struct hr__easy_plan *plan = queue->easy_plan;
  int64_t left_us = hr__holds_left_us(queue, view, head);
  struct hr__profile_demand demand = {hr__gpus(queue, head), hr__kind(queue, head), left_us > 0 ? left_us : 1};
  struct hr_placement unused;
  plan->profile.longest_us = left_us; /* the maintenance that the head avoids, if it is the only job of the plan */
  if (hr__cluster_profile_begin(&plan->profile, view->now_us) != HR_OK) return HR_NO_MEMORY;
  plan->gpus = demand.gpus;
  plan->accept_class = demand.accept_class;
  plan->reserved_us = hr__cluster_profile_earliest(&plan->profile, &demand, view->now_us);
  queue->reserved_us = plan->reserved_us;
  if (plan->reserved_us != HR_NEVER_US) hr__cluster_profile_place(&plan->profile, &demand, plan->reserved_us, &unused);
  return HR_OK;
}

void hr__easy_plan_end(struct hr__queue *queue) {
  queue->easy_plan->reserved_us = HR_NEVER_US;
}
