/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules about single workloads: priority, order in the queue, requests and usage. The workloads with quota of a queue
   are a doubly linked list; a workload is in the list if `listed` is set. Source: pkg/workload/workload.go and
   pkg/util/priority of kubernetes-sigs/kueue. */

#include "policies/kueue/workload.h"

#include "policies/kueue/quota.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Order and priority ---- */

int64_t hr__kueue_queue_time(const struct hr__kueue_history *history, bool by_creation, bool priority_sorting) {
  if (history->evicted_us != HR__KUEUE_NO_TIME) {
    if (history->evicted_by_timeout && !by_creation) return history->evicted_us;
    if (history->evicted_by_check) return history->evicted_us;
  }
  if (!priority_sorting && history->preempted_us != HR__KUEUE_NO_TIME && history->reclaimed_while_borrowing)
    return history->preempted_us + 1000; /* behind a workload that is preempted at the same time */
  return history->created_us;
}

bool hr__kueue_boost_of(const char *annotation, int64_t *boost) {
  char *end;
  errno = 0;
  long long value = strtoll(annotation, &end, 10);
  bool digits = *annotation == '-' || *annotation == '+' || (*annotation >= '0' && *annotation <= '9');
  *boost = value;
  return digits && end != annotation && !*end && !errno && value >= INT32_MIN && value <= INT32_MAX;
}

int64_t hr__kueue_boosted_priority(int64_t priority, const char *annotation) {
  int64_t boost;
  return annotation && hr__kueue_boost_of(annotation, &boost) ? priority + boost : priority;
}

/* ---- Usage ---- */

int64_t hr__kueue_pods_needed(const struct hr__kueue_pod_set *pod_set) {
  return pod_set->reclaimable < pod_set->count ? pod_set->count - pod_set->reclaimable : 0;
}

int64_t hr__kueue_assigned_amount(const struct hr__kueue_pod_set *pod_set, const struct hr__kueue_assigned *assigned) {
  int64_t count = pod_set->admitted_count, needed = hr__kueue_pods_needed(pod_set);
  if (needed >= count || count <= 0) return assigned->amount;
  return hr__kueue_times(assigned->amount / count, needed);
}

void hr__kueue_usage_add(struct hr__kueue_usage *list, uint32_t *count, uint32_t pair, int64_t amount) {
  for (uint32_t i = 0; i < *count; i++) {
    if (list[i].pair != pair) continue;
    list[i].amount = hr__kueue_plus(list[i].amount, amount);
    return;
  }
  list[(*count)++] = (struct hr__kueue_usage){pair, amount};
}

void hr__kueue_workload_sum_usage(const struct hr__kueue_world *world, struct hr__kueue_workload *workload) {
  workload->n_usage = 0;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[i];
    for (uint32_t k = 0; k < pod_set->n_assigned; k++) {
      const struct hr__kueue_assigned *assigned = &pod_set->assigned[k];
      hr__kueue_usage_add(workload->usage, &workload->n_usage,
                          hr__kueue_pair(world, assigned->flavor, assigned->resource),
                          hr__kueue_assigned_amount(pod_set, assigned));
    }
  }
}

/* ---- Workloads with quota ---- */

void hr__kueue_change_usage(struct hr__kueue_world *world, uint32_t id, int sign) {
  const struct hr__kueue_workload *workload = &world->workloads[id];
  for (uint32_t i = 0; i < workload->n_usage; i++) {
    const struct hr__kueue_usage *usage = &workload->usage[i];
    if (sign > 0)
      hr__kueue_add_usage(&world->tree, workload->queue, usage->pair, usage->amount);
    else
      hr__kueue_remove_usage(&world->tree, workload->queue, usage->pair, usage->amount);
  }
  if (world->topology.change) world->topology.change(world->topology.self, world, workload, sign);
}

void hr__kueue_list(struct hr__kueue_world *world, uint32_t id) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  struct hr__kueue_queue *queue = &world->queues[workload->queue];
  workload->listed = true;
  workload->previous_admitted = HR_NONE;
  workload->next_admitted = queue->first_admitted;
  if (queue->first_admitted != HR_NONE) world->workloads[queue->first_admitted].previous_admitted = id;
  queue->first_admitted = id;
  hr__kueue_change_usage(world, id, 1);
}

void hr__kueue_give_quota(struct hr__kueue_world *world, uint32_t id, const struct hr__kueue_assignment *assignment,
                          struct hr__kueue_assigned *room) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    struct hr__kueue_pod_set *pod_set = &workload->pod_sets[row->pod_set];
    pod_set->assigned = room;
    pod_set->n_assigned = 0;
    pod_set->admitted_count = row->count;
    pod_set->placement = row->placement;
    pod_set->placement_pending = row->placement_pending;
    for (uint32_t k = 0; k < row->n_choices; k++) {
      int64_t amount = 0;
      for (uint32_t m = 0; m < row->n_requests; m++)
        if (row->requests[m].resource == row->choices[k].resource) amount = row->requests[m].amount;
      *room++ = (struct hr__kueue_assigned){row->choices[k].resource, row->choices[k].flavor, amount};
      pod_set->n_assigned++;
    }
  }
  workload->reserved = true;
  workload->reserved_us = world->now_us;
  hr__kueue_workload_sum_usage(world, workload);
  hr__kueue_list(world, id);
}

void hr__kueue_unlist(struct hr__kueue_world *world, uint32_t id) {
  struct hr__kueue_workload *workload = &world->workloads[id];
  uint32_t previous = workload->previous_admitted, next = workload->next_admitted;
  if (previous != HR_NONE)
    world->workloads[previous].next_admitted = next;
  else
    world->queues[workload->queue].first_admitted = next;
  if (next != HR_NONE) world->workloads[next].previous_admitted = previous;
  workload->listed = false;
  hr__kueue_change_usage(world, id, -1);
}
