/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshot of the lasting session: a slot for each running job, and for waiting jobs that a session may start. The
   tasks of a slot are a block of consecutive tasks. A free block is used again for a job with the same number of tasks.
   If there is no room, the session is opened again with twice the size. Invariant: between two sessions, exactly the
   running jobs have slots. All their tasks run, except pending tasks of elastic jobs. */

#include "policies/volcano/volcano_policy.h"

#include "base/containers.h"

#include <stdio.h>
#include <string.h>

#define UNLIMITED_CPU_MILLI 1e9
#define UNLIMITED_MEMORY 1e15

/* ---- Nodes ---- */

void hr__volcano_update_node(struct hr__volcano_policy *volcano, uint32_t at) {
  const struct hr_pool_spec *spec =
      hr_cluster_pool_spec(volcano->pods.cluster, (hr_pool){volcano->pods.nodes[at].pool});
  struct hr__volcano_node *node = &volcano->nodes[at];
  *node = (struct hr__volcano_node){.group = HR__VOLCANO_NONE, .zone = HR__VOLCANO_NONE};
  hr__volcano_clear(&node->allocatable);
  if (hr_cluster_node_state(volcano->pods.cluster, (hr_node){at}) != HR_NODE_UP) return;
  double cpu = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : volcano->has_cpu ? UNLIMITED_CPU_MILLI : 0;
  double memory = spec->mem_mib_per_node ? (double)spec->mem_mib_per_node * 0x1p20
                  : volcano->has_mem     ? UNLIMITED_MEMORY
                                         : 0;
  hr__volcano_set(&node->allocatable, HR__VOLCANO_CPU, cpu);
  hr__volcano_set(&node->allocatable, HR__VOLCANO_MEMORY, memory);
  hr__volcano_set(&node->allocatable, HR__VOLCANO_PODS, volcano->pods.pods_per_node);
  hr__volcano_set(&node->allocatable, HR__VOLCANO_GPU, (double)spec->gpus_per_node * HR_WHOLE_GPU_MILLI);
}

/* ---- Room ---- */

static const struct hr__volcano_vector nothing = {.present = 3, .width = 2};
static const int32_t no_minimum[1] = {0};
static const bool has_name[1] = {true};

static void clear_job(struct hr__volcano_policy *volcano, uint32_t slot) {
  volcano->jobs[slot] = (struct hr__volcano_job){.uid = volcano->slots[slot].uid,
                                                 .queue = HR__VOLCANO_NONE,
                                                 .name_space = 0,
                                                 .role_min = no_minimum,
                                                 .role_has_name = has_name,
                                                 .n_roles = 1,
                                                 .phase = HR__VOLCANO_PHASE_OTHER};
}

static void clear_task(struct hr__volcano_policy *volcano, uint32_t task) {
  volcano->tasks[task] = (struct hr__volcano_task){.uid = "",
                                                   .request = &nothing,
                                                   .job = HR__VOLCANO_NONE,
                                                   .node = HR__VOLCANO_NONE,
                                                   .state = HR__VOLCANO_SUCCEEDED};
}

static bool grow(struct hr__volcano_policy *volcano, uint32_t n_jobs, uint32_t n_tasks) {
  uint32_t jobs_before = volcano->snapshot.n_jobs, tasks_before = volcano->snapshot.n_tasks;
  struct hr_arena *arena = volcano->arena;
  if (!HR__ARENA_RESIZE(arena, volcano->jobs, jobs_before, n_jobs) ||
      !HR__ARENA_RESIZE(arena, volcano->slots, jobs_before, n_jobs) ||
      !HR__ARENA_ARRAY(arena, volcano->fresh, n_jobs) ||
      !HR__ARENA_RESIZE(arena, volcano->tasks, tasks_before, n_tasks) ||
      !HR__ARENA_RESIZE(arena, volcano->block_next, tasks_before, n_tasks) ||
      !HR__ARENA_RESIZE(arena, volcano->free_block, tasks_before, n_tasks))
    return false;
  for (uint32_t i = tasks_before; i < n_tasks; i++) clear_task(volcano, i);
  for (uint32_t i = tasks_before; i <= n_tasks; i++) volcano->free_block[i] = HR_NONE;
  for (uint32_t i = jobs_before; i < n_jobs; i++) {
    volcano->slots[i] = (struct hr__volcano_slot){.job = {HR_NONE}};
    clear_job(volcano, i);
  }
  for (uint32_t i = 0; i < jobs_before; i++) volcano->jobs[i].uid = volcano->slots[i].uid;
  for (uint32_t i = 0; i < volcano->n_used_tasks; i++)
    if (volcano->tasks[i].job != HR__VOLCANO_NONE) volcano->tasks[i].uid = volcano->slots[volcano->tasks[i].job].uid;
  volcano->snapshot.jobs = volcano->jobs;
  volcano->snapshot.tasks = volcano->tasks;
  volcano->snapshot.n_jobs = n_jobs;
  volcano->snapshot.n_tasks = n_tasks;
  return true;
}

bool hr__volcano_make_room(struct hr__volcano_policy *volcano, uint32_t n_jobs, uint32_t n_tasks) {
  for (uint32_t i = 0; i < volcano->n_used_tasks; i++) {
    volcano->tasks[i].state = volcano->session->task_state[i];
    volcano->tasks[i].node = volcano->session->task_node[i];
  }
  for (uint32_t i = 0; i < volcano->n_slots && volcano->session; i++)
    volcano->jobs[i].phase = volcano->session->job_phase[i];
  if (!grow(volcano, n_jobs, n_tasks)) return false;
  volcano->session = hr__volcano_open(volcano->arena, &volcano->snapshot, &volcano->rules);
  if (!volcano->session) return false;
  volcano->session->owner = &volcano->owner;
  volcano->is_full = false;
  return true;
}

/* ---- Slots ---- */

/* Takes a block of `n` tasks; HR_NONE: no room. */
static uint32_t take_block(struct hr__volcano_policy *volcano, uint32_t n) {
  uint32_t first = n <= volcano->snapshot.n_tasks ? volcano->free_block[n] : HR_NONE;
  if (first != HR_NONE) {
    volcano->free_block[n] = volcano->block_next[first];
    return first;
  }
  if (n > volcano->snapshot.n_tasks - volcano->n_used_tasks) return HR_NONE;
  first = volcano->n_used_tasks;
  volcano->n_used_tasks += n;
  return first;
}

static uint32_t take_slot(struct hr__volcano_policy *volcano) {
  uint32_t slot = volcano->free_slot;
  if (slot != HR_NONE) {
    volcano->free_slot = volcano->slots[slot].next_free;
    return slot;
  }
  return volcano->n_slots < volcano->snapshot.n_jobs ? volcano->n_slots++ : HR_NONE;
}

void hr__volcano_free_slot(struct hr__volcano_policy *volcano, uint32_t slot) {
  struct hr__volcano_job *info = &volcano->jobs[slot];
  uint32_t first = info->first_task, n = info->n_tasks;
  hr__volcano_part(volcano->session, slot);
  for (uint32_t i = first; i < first + n; i++) clear_task(volcano, i);
  volcano->block_next[first] = volcano->free_block[n];
  volcano->free_block[n] = first;
  volcano->slot_of[volcano->slots[slot].job.id] = 0;
  volcano->slots[slot].job.id = HR_NONE;
  volcano->slots[slot].next_free = volcano->free_slot;
  volcano->free_slot = slot;
  clear_job(volcano, slot);
}

/* The nodes that jobs of a kind accept, in one pool or in all (HR_NONE). NULL: all nodes, or out of memory. */
static const uint64_t *nodes_of(struct hr__volcano_policy *volcano, struct hr__volcano_kind *kind, uint32_t pool) {
  const struct hr__job_kind *of = &volcano->pods.kinds[kind->kind];
  uint32_t at = pool == HR_NONE ? volcano->pods.n_pools : pool, n_nodes = volcano->pods.n_nodes;
  if (volcano->pods.n_pools == 1) return NULL;
  if (kind->nodes[at]) return kind->nodes[at];
  uint64_t *set;
  if (!HR__ARENA_ARRAY(volcano->arena, set, n_nodes / 64)) {
    volcano->status = HR_NO_MEMORY;
    return NULL;
  }
  for (uint32_t i = 0; i < n_nodes; i++) {
    uint32_t of_node = volcano->pods.nodes[i].pool;
    if ((pool == HR_NONE || pool == of_node) && of->shapes[of_node].n_pods) set[i / 64] |= UINT64_C(1) << i % 64;
  }
  kind->nodes[at] = set;
  return set;
}

/* Makes a slot for a waiting job. Returns HR_NONE if too little room is left. */
static uint32_t make_slot(struct hr__volcano_policy *volcano, struct hr__volcano_kind *kind, hr_job job) {
  const struct hr__job_kind *of = &volcano->pods.kinds[kind->kind];
  uint32_t pool = kind->pool;
  for (uint32_t i = 0; pool == HR_NONE && i < volcano->pods.n_pools; i++)
    if (of->shapes[i].n_pods) pool = i;
  uint32_t n = of->shapes[pool].n_pods, first = take_block(volcano, n);
  uint32_t slot = first == HR_NONE ? HR_NONE : take_slot(volcano);
  if (slot == HR_NONE) {
    volcano->is_full = true;
    return HR_NONE;
  }
  const uint64_t *nodes = nodes_of(volcano, kind, kind->pool);
  struct hr__volcano_slot *own = &volcano->slots[slot];
  *own = (struct hr__volcano_slot){.job = job, .kind = kind->kind};
  snprintf(own->uid, sizeof own->uid, "%010u", job.id);
  int64_t created_us = volcano->pods.jobs->submit_us[job.id];
  bool preemptable = !volcano->config->not_preemptable && !of->is_fixed;
  volcano->jobs[slot] = (struct hr__volcano_job){.uid = own->uid,
                                                 .created_us = created_us,
                                                 .queue = kind->queue,
                                                 .priority = of->priority,
                                                 .min_available = (int32_t)of->shapes[pool].fewest,
                                                 .role_min = no_minimum,
                                                 .role_has_name = has_name,
                                                 .n_roles = 1,
                                                 .has_min_resources = true,
                                                 .preemptable = preemptable,
                                                 .min_resources = kind->minimum,
                                                 .phase = HR__VOLCANO_PHASE_INQUEUE,
                                                 .first_task = first,
                                                 .n_tasks = n};
  if (kind->equivalence == 0) kind->equivalence = first + 1;
  bool is_even = of->shapes[pool].gpu_milli == of->shapes[pool].last_milli;
  for (uint32_t i = 0; i < n; i++)
    volcano->tasks[first + i] =
        (struct hr__volcano_task){.uid = own->uid,
                                  .created_us = created_us,
                                  .request = i + 1 == n ? &kind->last[pool] : &kind->requests[pool],
                                  .job = slot,
                                  .node = HR__VOLCANO_NONE,
                                  .priority = of->priority,
                                  .pod_priority = of->priority,
                                  .index = i,
                                  .nodes = nodes,
                                  .preemptable = preemptable,
                                  .equivalence = is_even ? kind->equivalence : 0};
  hr__volcano_join(volcano->session, slot);
  volcano->slot_of[job.id] = slot + 1;
  volcano->fresh[volcano->n_fresh++] = slot;
  return slot;
}

/* ---- Filling ---- */

/* Chooses the pool for the jobs of a kind: the first in which the job fits, else the first that it accepts. HR_NONE:
   any pool. */
static uint32_t choose_pool(struct hr__volcano_policy *volcano, const struct hr__volcano_kind *kind, hr_job job) {
  if (kind->is_uniform) return HR_NONE;
  uint32_t pool = hr__pods_pool_that_fits(&volcano->pods, job, kind->kind);
  if (pool != HR_NONE) return pool;
  for (pool = 0; volcano->pods.kinds[kind->kind].shapes[pool].n_pods == 0;) pool++;
  return pool;
}

/* Whether some node has enough free GPUs for a pod of the kind. `most_milli`: by pool, the maximum of free GPUs over
   its nodes, in thousandths. */
static bool may_fit(const struct hr__volcano_policy *volcano, const struct hr__volcano_kind *kind,
                    const int64_t *most_milli) {
  const struct hr__job_kind *of = &volcano->pods.kinds[kind->kind];
  for (uint32_t i = 0; i < volcano->pods.n_pools; i++)
    if (of->shapes[i].n_pods && most_milli[i] >= (int64_t)of->shapes[i].gpu_milli) return true;
  return false;
}

void hr__volcano_fill(struct hr__volcano_policy *volcano) {
  int64_t *most_milli = volcano->pods.scratch;
  for (uint32_t i = 0; i < volcano->pods.n_pools; i++) most_milli[i] = -1;
  for (uint32_t i = 0; i < volcano->pods.n_nodes; i++) {
    const struct hr__pod_node *node = &volcano->pods.nodes[i];
    if (node->is_usable && node->gpu_milli > most_milli[node->pool]) most_milli[node->pool] = node->gpu_milli;
  }
  for (uint32_t i = 0; i < volcano->n_listed && volcano->status == HR_OK; i++) {
    struct hr__volcano_kind *kind = &volcano->kinds[volcano->listed[i]];
    if (!hr_job_tree_first(&kind->waiting[HR__VOLCANO_WAITS_INQUEUE], &kind->head)) continue;
    if (!volcano->evicts && !may_fit(volcano, kind, most_milli)) continue;
    kind->pool = choose_pool(volcano, kind, kind->head.job);
    kind->equivalence = 0;
    make_slot(volcano, kind, kind->head.job);
  }
}

/* ---- Functions of the owner ---- */

static uint32_t number_of(const struct hr__volcano_policy *volcano, uint32_t task) {
  return task - volcano->jobs[volcano->tasks[task].job].first_task;
}

static bool accepts(void *self, uint32_t task, uint32_t node) {
  const struct hr__volcano_policy *volcano = self;
  if (!volcano->pods.nodes[node].is_usable) return false;
  if (!volcano->pods.inventory || volcano->session->nodes[node].n_changing) return true;
  return hr__pods_fit(&volcano->pods, volcano->slots[volcano->tasks[task].job].kind, number_of(volcano, task), node);
}

static void placed(void *self, uint32_t task, uint32_t node) {
  struct hr__volcano_policy *volcano = self;
  const struct hr__volcano_slot *slot = &volcano->slots[volcano->tasks[task].job];
  if (hr__pods_place(&volcano->pods, slot->job, slot->kind, number_of(volcano, task), node) == HR_NONE)
    volcano->status = HR_NO_MEMORY;
}

/* Removes the pod that was placed last. */
static void withdrawn(void *self, uint32_t task) {
  struct hr__volcano_policy *volcano = self;
  hr_job job = volcano->slots[volcano->tasks[task].job].job;
  uint32_t last = HR_NONE;
  if (volcano->status != HR_OK) return;
  for (uint32_t at = hr__pods_first(&volcano->pods, job); volcano->pods.pods[at].next_of_job != HR_NONE;
       at = volcano->pods.pods[at].next_of_job)
    last = at;
  hr__pods_cut(&volcano->pods, job, last, true);
}

/* If a pod of a job is evicted, the job will stop, so all its pods are set aside in the ledger. Whether an elastic job
   stops is decided after the session. */
static void evicted(void *self, uint32_t task) {
  struct hr__volcano_policy *volcano = self;
  struct hr__volcano_slot *slot = &volcano->slots[volcano->tasks[task].job];
  if (slot->n_evicted++ == 0 && !volcano->kinds[slot->kind].is_elastic) hr__pods_set_aside(&volcano->pods, slot->job);
}

static void restored(void *self, uint32_t task) {
  struct hr__volcano_policy *volcano = self;
  struct hr__volcano_slot *slot = &volcano->slots[volcano->tasks[task].job];
  if (--slot->n_evicted == 0 && !volcano->kinds[slot->kind].is_elastic) hr__pods_put_back(&volcano->pods, slot->job);
}

static uint32_t successor(void *self, uint32_t slot) {
  struct hr__volcano_policy *volcano = self;
  struct hr__volcano_slot *served = &volcano->slots[slot];
  struct hr__volcano_kind *kind = &volcano->kinds[served->kind];
  if (served->is_running || (kind->is_elastic && served->has_successor)) return HR__VOLCANO_NONE;
  served->has_successor = true;
  if (volcano->status != HR_OK || !hr_job_tree_next(&kind->waiting[HR__VOLCANO_WAITS_INQUEUE], kind->head.key,
                                                    kind->head.job, INT64_MAX, &kind->head))
    return HR__VOLCANO_NONE;
  uint32_t pool = choose_pool(volcano, kind, kind->head.job);
  if (pool != kind->pool) kind->equivalence = 0;
  kind->pool = pool;
  return make_slot(volcano, kind, kind->head.job);
}

const struct hr__volcano_owner hr__volcano_owner_of_policy = {.accepts = accepts,
                                                              .placed = placed,
                                                              .withdrawn = withdrawn,
                                                              .evicted = evicted,
                                                              .restored = restored,
                                                              .successor = successor};

/* ---- Elastic jobs ------------------------------------------------------------------------------------------- */

/* Running elastic jobs: those with a minAvailable below the number of their pods. The slot of such a job has all its
   tasks; some may be pending. A session may bind pending tasks and evict running ones. If at least minAvailable pods
   are left, the job continues with these; otherwise it stops. After the session, each job with changed pods is resized
   once. Pods that are lost with their node are handled in the same way, unless the configuration requires that the job
   starts again. Invariant, between two sessions: `held` is the number of running tasks of a job. `n_missing` is the
   number of pending tasks of all jobs that can still be resized. The sums of each queue contain `held` pods of each
   job. Source: volcano-sh/volcano, pkg/scheduler/plugins/gang, pkg/controllers/job. */

static struct hr__volcano_kind *kind_of(const struct hr__volcano_policy *volcano, uint32_t slot) {
  return &volcano->kinds[volcano->slots[slot].kind];
}

/* The number of pods that the job may still get. */
static uint32_t missing(const struct hr__volcano_policy *volcano, uint32_t slot) {
  const struct hr__volcano_slot *own = &volcano->slots[slot];
  return own->is_leaving ? 0 : kind_of(volcano, slot)->n_pods - own->held;
}

/* Sets the number of pods of a job that are counted in the sums of its queue. */
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
  if (!HR__ARENA_HAS_ROOM(volcano->arena, volcano->elastic, volcano->n_elastic, volcano->elastic_capacity))
    return false;
  own->held = 0;
  own->elastic_at = volcano->n_elastic;
  volcano->elastic[volcano->n_elastic++] = slot;
  count(volcano, slot, volcano->session->job_count[slot][HR__VOLCANO_RUNNING]);
  volcano->n_missing += missing(volcano, slot);
  /* The id of the first task of the block is unique, because no other job has this task while the job runs. */
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
  volcano->changed = true; /* the allocation of the queue has changed */
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

/* Removes the pods on nodes that are not in a placement from the session and the ledger. Returns the number of the
   remaining pods. Sets `*is_leaving` to whether one of them is on a node that will go down. */
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
