/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elastic jobs that run: those with a minAvailable below the number of their pods.  Such a job keeps its slot with all
   its tasks, of which some may be pending. A session binds pending tasks, and evicts running ones. The job loses
   evicted pods, and continues with the others if these are at least minAvailable; otherwise it stops. After the
   session, each job with changed pods is resized once. The same holds for pods that are lost with their node, unless
   the configuration says that the job then starts again.  Invariant: between two sessions `held` is the number of
   running tasks of a job, `n_missing` the sum of the pending tasks of jobs that can still be resized, and the sums of
   each queue contain `held` pods of each job. Source: volcano-sh/volcano, pkg/scheduler/plugins/gang,
   pkg/controllers/job. */

#include "policies/volcano/volcano_policy.h"

static struct hr__volcano_kind *kind_of(const struct hr__volcano_policy *volcano, uint32_t slot) {
  return &volcano->kinds[volcano->slots[slot].kind];
}

/* The pods that the job could still get. */
static uint32_t missing(const struct hr__volcano_policy *volcano, uint32_t slot) {
  const struct hr__volcano_slot *own = &volcano->slots[slot];
  return own->is_leaving ? 0 : kind_of(volcano, slot)->n_pods - own->held;
}

/* Changes the number of pods of a job that are counted in the sums of its queue. */
static void count(struct hr__volcano_policy *volcano, uint32_t slot, uint32_t held) {
  struct hr__volcano_slot *own = &volcano->slots[slot];
  const struct hr__volcano_kind *kind = kind_of(volcano, slot);
  struct hr__volcano_queue_sums *sums = &volcano->sums[kind->queue];
  uint32_t above_before = own->held > kind->fewest ? own->held - kind->fewest : 0;
  uint32_t above = held > kind->fewest ? held - kind->fewest : 0;
  for (uint32_t i = own->held; i < held; i++) hr__volcano_add(&sums->allocated, &kind->each);
  for (uint32_t i = held; i < own->held; i++) hr__volcano_subtract(&sums->allocated, &kind->each);
  for (uint32_t i = above_before; i < above; i++) hr__volcano_add(&sums->elastic, &kind->each);
  for (uint32_t i = above; i < above_before; i++) hr__volcano_subtract(&sums->elastic, &kind->each);
  own->held = held;
}

bool hr__volcano_elastic_begin(struct hr__volcano_policy *volcano, uint32_t slot) {
  struct hr__volcano_slot *own = &volcano->slots[slot];
  if (volcano->n_elastic == volcano->elastic_capacity) {
    uint32_t *grown = hr_arena_grown(volcano->arena, volcano->elastic, &volcano->elastic_capacity, sizeof *grown);
    if (!grown) return false;
    volcano->elastic = grown;
  }
  own->held = 0;
  own->elastic_at = volcano->n_elastic;
  volcano->elastic[volcano->n_elastic++] = slot;
  count(volcano, slot, volcano->session->job_count[slot][HR__VOLCANO_RUNNING]);
  volcano->n_missing += missing(volcano, slot);
  /* The number of the first task of the block is not used by any other kind while the job runs. */
  const struct hr__volcano_job *info = &volcano->jobs[slot];
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    volcano->tasks[i].equivalence = info->first_task + 1;
  return true;
}

void hr__volcano_elastic_end(struct hr__volcano_policy *volcano, uint32_t slot) {
  uint32_t at = volcano->slots[slot].elastic_at, last = volcano->elastic[--volcano->n_elastic];
  volcano->n_missing -= missing(volcano, slot);
  count(volcano, slot, 0);
  volcano->elastic[at] = last;
  volcano->slots[last].elastic_at = at;
}

bool hr__volcano_elastic_shrink(struct hr__volcano_policy *volcano, uint32_t task) {
  uint32_t slot = volcano->tasks[task].job;
  struct hr__volcano_slot *own = &volcano->slots[slot];
  const uint32_t *counts = volcano->session->job_count[slot];
  uint32_t left = counts[HR__VOLCANO_RUNNING] + counts[HR__VOLCANO_BINDING];
  if (!kind_of(volcano, slot)->is_elastic || own->is_leaving || (int64_t)left < volcano->jobs[slot].min_available)
    return false;
  hr__pods_remove(&volcano->pods, own->job, volcano->session->task_node[task]);
  hr__volcano_drop(volcano->session, task);
  own->is_changed = true;
  return true;
}

static void resize(struct hr__volcano_policy *volcano, uint32_t slot) {
  struct hr__volcano_slot *own = &volcano->slots[slot];
  struct hr_placement placement;
  own->is_changed = false;
  volcano->changed = true; /* the queue holds more or less */
  if (hr__pods_placement(&volcano->pods, own->job, &placement))
    volcano->status = hr_moves_resize(volcano->moves, own->job, &placement);
  else
    volcano->status = HR_NO_MEMORY;
}

void hr__volcano_elastic_settle(struct hr__volcano_policy *volcano) {
  for (uint32_t i = 0; i < volcano->n_elastic && volcano->status == HR_OK; i++) {
    uint32_t slot = volcano->elastic[i];
    struct hr__volcano_slot *own = &volcano->slots[slot];
    const uint32_t *counts = volcano->session->job_count[slot];
    own->n_evicted = 0;
    own->is_changed = own->is_changed || counts[HR__VOLCANO_BINDING] > 0;
    hr__volcano_settle(volcano->session, slot);
    volcano->n_missing -= missing(volcano, slot);
    count(volcano, slot, counts[HR__VOLCANO_RUNNING]);
    volcano->n_missing += missing(volcano, slot);
    if (own->is_changed) resize(volcano, slot);
  }
}

void hr__volcano_elastic_notice(struct hr__volcano_policy *volcano, hr_node node) {
  for (uint32_t at = volcano->pods.nodes[node.id].first_pod; at != HR_NONE; at = volcano->pods.pods[at].next_on_node) {
    uint32_t slot = hr__volcano_slot_of(volcano, (hr_job){volcano->pods.pods[at].job});
    if (slot == HR_NONE || !kind_of(volcano, slot)->is_elastic || volcano->slots[slot].is_leaving) continue;
    volcano->n_missing -= missing(volcano, slot);
    volcano->slots[slot].is_leaving = true;
    const struct hr__volcano_job *info = &volcano->jobs[slot];
    for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
      volcano->tasks[i].gated = volcano->session->task_state[i] == HR__VOLCANO_PENDING;
  }
}

static bool has_node(const struct hr_placement *placement, uint32_t node) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (placement->slices[i].node.id == node) return true;
  return false;
}

/* Removes the pods that are not in a placement from the session and the ledger. Returns the number of the others, and
   in `*is_leaving` whether one of them is on a node with notice. */
static uint32_t remove_lost(struct hr__volcano_policy *volcano, uint32_t slot, const struct hr_placement *placement,
                            bool *is_leaving) {
  const struct hr__volcano_job *info = &volcano->jobs[slot];
  uint32_t n_left = 0;
  *is_leaving = false;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    if (volcano->session->task_state[i] != HR__VOLCANO_RUNNING) continue;
    uint32_t node = volcano->session->task_node[i];
    if (has_node(placement, node)) {
      n_left++;
      *is_leaving = *is_leaving || !volcano->pods.nodes[node].is_usable;
      continue;
    }
    hr__volcano_notify(volcano->session, i, false);
    hr__pods_remove(&volcano->pods, volcano->slots[slot].job, node);
    hr__volcano_drop(volcano->session, i);
  }
  return n_left;
}

void hr__volcano_elastic_lose(struct hr__volcano_policy *volcano, hr_job job) {
  uint32_t slot = hr__volcano_slot_of(volcano, job);
  struct hr__volcano_slot *own = &volcano->slots[slot];
  const struct hr__volcano_job *info = &volcano->jobs[slot];
  struct hr_slice one;
  const struct hr_placement placement = hr_view_placement(volcano->view, job, &one);
  volcano->n_missing -= missing(volcano, slot);
  uint32_t n_left = remove_lost(volcano, slot, &placement, &own->is_leaving);
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    volcano->tasks[i].gated = own->is_leaving && volcano->session->task_state[i] == HR__VOLCANO_PENDING;
  count(volcano, slot, n_left);
  volcano->n_missing += missing(volcano, slot);
}
