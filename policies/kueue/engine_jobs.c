/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs as workloads of Kueue, from the submission to the end: classes of equal requests, slots, timers, evictions and
 * requeuing.
 *
 * A job is a workload with one pod set, which has one pod per task. If a task requests more GPUs than any node that the
 * job accepts, it is split into equal parts, and each part is a pod. The arrays of slots and workloads double when they
 * are full; the memory to which slots point is allocated once per doubling and never moves.
 */

#include "policies/kueue/engine.h"

#include <string.h>

#define MIB INT64_C(1048576)

enum { FIRST_SLOTS = 256 };

/* ---- Classes ---------------------------------------------------------------------------------------- */

static uint32_t gcd(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* The largest number of GPUs of a node that the job accepts. */
static uint32_t largest_node(const struct hr__kueue_engine *self, uint32_t accept_class) {
  uint32_t most = 0;
  for (uint32_t p = 0; p < self->n_pools; p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(self->cluster, (hr_pool){p});
    if (spec->nodes && hr_cluster_accepts(self->cluster, accept_class, (hr_pool){p}) && spec->gpus_per_node > most)
      most = spec->gpus_per_node;
  }
  return most;
}

/* The tasks of a job as the engine places them. A task with more GPUs than any node that the job accepts is split into
   equal parts. */
static struct hr_request request_of(const struct hr__kueue_engine *self, uint32_t job, const struct hr_need *need) {
  const struct hr_trace *jobs = self->jobs;
  if (need->request != HR_NONE) return hr_cluster_requests(self->cluster)->request[need->request];
  uint32_t tasks = jobs->tasks && jobs->tasks[job] ? jobs->tasks[job] : 1, gpus = jobs->gpus[job] / tasks;
  uint32_t most = largest_node(self, need->accept_class);
  struct hr_request request = {.tasks = tasks,
                               .gpus = gpus,
                               .gpu_milli = HR_WHOLE_GPU_MILLI,
                               .cpu_milli = jobs->cpu_milli ? jobs->cpu_milli[job] : 0,
                               .mem_mib = jobs->mem_mib ? jobs->mem_mib[job] : 0};
  if (!most || gpus <= most) return request;
  request.gpus = gcd(gpus, most);
  uint32_t parts = gpus / request.gpus;
  request.tasks *= parts;
  request.cpu_milli = (request.cpu_milli + parts - 1) / parts;
  request.mem_mib = (request.mem_mib + parts - 1) / parts;
  return request;
}

static uint32_t profile_of(const struct hr__kueue_engine *self, uint32_t job) {
  return self->jobs->mig_profile ? self->jobs->mig_profile[job] : HR_NONE;
}

static void add_request(const struct hr__kueue_engine *self, struct hr__kueue_amount *items, uint32_t *count,
                        uint32_t resource, int64_t amount) {
  if (resource == HR_NONE || amount <= 0 || self->is_excluded[resource]) return;
  uint32_t at = (*count)++;
  for (; at > 0 && items[at - 1].resource > resource; at--) items[at] = items[at - 1];
  items[at] = (struct hr__kueue_amount){resource, amount};
}

/* The fewest pods with which a job may be admitted (Kueue's annotation job-min-parallelism); -1: it needs all. */
static int64_t fewest_pods(const struct hr__kueue_engine *self, uint32_t job, const struct hr__kueue_class *class_) {
  if (!self->reduces || class_->needs_no_node || class_->task_gpus == 0) return -1;
  struct hr_sizes sizes = hr_cluster_sizes(self->cluster, (hr_job){job});
  if (sizes.min >= self->jobs->gpus[job] || class_->task_gpus % sizes.step != 0) return -1;
  int64_t pods = (sizes.min + class_->task_gpus - 1) / class_->task_gpus;
  return pods < class_->pods ? pods : -1;
}

static bool set_requests(struct hr__kueue_engine *self, uint32_t job, struct hr__kueue_class *class_) {
  struct hr_request request = request_of(self, job, &class_->need);
  uint32_t profile = profile_of(self, job), count = 0;
  struct hr__kueue_amount *items;
  if (!HR__ARENA_ARRAY(self->arena, items, HR__KUEUE_MAX_REQUESTS)) return false;
  class_->pods = request.tasks ? request.tasks : 1;
  class_->task_gpus = request.gpus;
  class_->fewest = fewest_pods(self, job, class_);
  if (profile != HR_NONE)
    add_request(self, items, &count, self->mig[profile], request.gpus);
  else
    add_request(self, items, &count, self->gpu, (int64_t)request.gpus * request.gpu_milli);
  add_request(self, items, &count, self->cpu, request.cpu_milli);
  add_request(self, items, &count, self->memory, hr__kueue_times((int64_t)request.mem_mib, MIB));
  class_->requests = (struct hr__kueue_amounts){items, count};
  return true;
}

/* Returns the need of the fewest pods with which a job may be admitted. */
static struct hr_need fewest_need(const struct hr__kueue_class *class_) {
  struct hr_need need = class_->need;
  if (class_->fewest > 0) need.gpus = (uint32_t)class_->fewest * class_->task_gpus;
  return need;
}

/* Determines the pools and flavors in which the pods can run at all. Returns false if memory is exhausted. */
static bool set_suits(struct hr__kueue_engine *self, struct hr__kueue_class *class_) {
  bool *suits, *accepts;
  if (!HR__ARENA_ARRAY(self->arena, suits, self->world.n_flavors) ||
      !HR__ARENA_ARRAY(self->arena, accepts, self->n_pools))
    return false;
  struct hr_need need = fewest_need(class_);
  for (uint32_t p = 0; p < self->n_pools; p++)
    accepts[p] = class_->needs_no_node || hr_capacity_min_nodes(self->capacities, &need, (hr_pool){p}) != HR_NONE;
  for (uint32_t flavor = 0; flavor < self->world.n_flavors; flavor++) {
    suits[flavor] = class_->needs_no_node;
    for (uint32_t p = 0; p < self->n_pools && !suits[flavor]; p++)
      suits[flavor] = hr__kueue_flavor_has_pool(self, flavor, p) && accepts[p];
  }
  class_->suits = suits;
  class_->accepts = accepts;
  return true;
}

static bool make_room_for_class(struct hr__kueue_engine *self) {
  return HR__ARENA_HAS_ROOM(self->arena, self->classes, self->n_classes, self->classes_capacity) &&
         HR__ARENA_HAS_ROOM(self->arena, self->class_keys, self->n_classes, self->class_keys_capacity);
}

/* Adds the class of a job. Returns HR_NONE if memory is exhausted. */
static uint32_t add_class(struct hr__kueue_engine *self, uint32_t job, const struct hr_need *need, uint32_t hash,
                          const struct hr__kueue_class_key *key) {
  if (!make_room_for_class(self)) return HR_NONE;
  struct hr__kueue_class *class_ = &self->classes[self->n_classes];
  *class_ = (struct hr__kueue_class){.need = *need, .needs_no_node = hr_need_is_empty(self->cluster, need)};
  if (!set_requests(self, job, class_) || !set_suits(self, class_) ||
      !hr__hash_add(&self->class_at, self->arena, hash, self->n_classes))
    return HR_NONE;
  self->class_keys[self->n_classes] = *key;
  return self->n_classes++;
}

static uint32_t class_of(struct hr__kueue_engine *self, uint32_t job) {
  const struct hr_trace *jobs = self->jobs;
  struct hr_need need = hr_need_of(self->cluster, jobs, (hr_job){job});
  need.preferred = hr_cluster_locality(self->cluster, (hr_job){job}).until_us != HR_NEVER_US;
  const struct hr__kueue_class_key key = {{(uint64_t)jobs->gpus[job] << 32 | (jobs->tasks ? jobs->tasks[job] : 1),
                                           jobs->cpu_milli ? jobs->cpu_milli[job] : 0,
                                           jobs->mem_mib ? jobs->mem_mib[job] : 0, profile_of(self, job),
                                           need.accept_class, need.request, (uint64_t)need.tier << 1 | need.preferred,
                                           self->reduces ? hr_cluster_sizes(self->cluster, (hr_job){job}).min : 0}};
  uint64_t digest = HR__DIGEST_SEED;
  for (int i = 0; i < HR__KUEUE_CLASS_KEYS; i++) digest = hr__digest_add(digest, key.values[i]);
  uint32_t hash = hr__hash_u64(digest);
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&self->class_at, hash, &at); i != HR_NONE; i = hr__hash_next(&self->class_at, &at))
    if (memcmp(&self->class_keys[i], &key, sizeof key) == 0) return i;
  return add_class(self, job, &need, hash, &key);
}

/* ---- Jobs with fewer pods --------------------------------------------------------------------------- */

/* Adds the class of jobs of the class `full` that are admitted with only `pods` pods. Returns false if memory is
   exhausted. */
static bool add_reduced(struct hr__kueue_engine *self, uint32_t full, int64_t pods) {
  if (!make_room_for_class(self)) return false;
  struct hr__kueue_class *class_ = &self->classes[self->n_classes];
  *class_ = self->classes[full];
  class_->pods = pods;
  class_->fewest = -1;
  class_->need.gpus = (uint32_t)pods * class_->task_gpus;
  self->class_keys[self->n_classes++] = (struct hr__kueue_class_key){{0}};
  return set_suits(self, class_);
}

bool hr__kueue_set_admitted_class(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  int64_t pods = self->world.workloads[slot].pod_sets[0].admitted_count;
  at->class_ = at->full_class;
  if (self->classes[at->full_class].fewest < 0 || pods == self->classes[at->full_class].pods) return true;
  struct hr__pair pair = {at->full_class, (uint64_t)pods};
  at->class_ = hr__pair_map_find(&self->reduced, pair);
  if (at->class_ != HR_NONE) return true;
  at->class_ = self->n_classes;
  return hr__pair_map_add(&self->reduced, self->arena, pair, at->class_) && add_reduced(self, at->full_class, pods);
}

/* ---- Jobs that can never be admitted ---------------------------------------------------------------- */

/* Whether some flavor of a group could provide all amounts that a workload requests of the group. */
static bool group_suffices(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                           const struct hr__kueue_group *group) {
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  for (uint32_t i = 0; i < group->n_flavors; i++) {
    uint32_t flavor = group->flavors[i];
    bool fits = workload->suits[flavor] && hr__kueue_flavor_matches(&self->world, workload->queue, pod_set, flavor);
    for (uint32_t k = 0; k < pod_set->requests.count && fits; k++) {
      uint32_t resource = pod_set->requests.items[k].resource, pair = hr__kueue_pair(&self->world, flavor, resource);
      if (hr__kueue_group_of(&self->world.queues[workload->queue], resource) != group) continue;
      fits = hr__kueue_times(pod_set->requests.items[k].amount, hr__kueue_fewest(pod_set)) <=
             hr__kueue_potential(&self->world.tree, workload->queue, pair);
    }
    if (fits) return true;
  }
  return false;
}

static bool may_ever_fit(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload) {
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  for (uint32_t k = 0; k < pod_set->requests.count; k++) {
    const struct hr__kueue_group *group =
        hr__kueue_group_of(&self->world.queues[workload->queue], pod_set->requests.items[k].resource);
    if (!group || !group_suffices(self, workload, group)) return false;
  }
  return true;
}

/* Whether the queue of a job admits jobs at all. */
static bool is_open(const struct hr__kueue_engine *self, struct hr__kueue_destination destination) {
  if (destination.queue == HR_NONE) return false;
  if (!self->config) return true;
  const struct hr_kueue_cluster_queue *queue = self->queue_configs[destination.queue];
  destination.queue = (uint32_t)(queue - self->config->cluster_queues);
  return hr__kueue_is_open(self->config, destination);
}

/* ---- Timers ----------------------------------------------------------------------------------------- */

bool hr__kueue_timer_set(struct hr__kueue_engine *self, uint32_t slot, int64_t at_us) {
  struct hr__kueue_slot *at = &self->slots[slot];
  if (at->timer_us == at_us) return true;
  if (at->timer_us != HR_NEVER_US) hr_job_tree_remove(&self->timers, at->timer_us, (hr_job){slot});
  at->timer_us = at_us;
  return at_us == HR_NEVER_US || hr_job_tree_insert(&self->timers, (struct hr_job_entry){.key = at_us, .job = {slot}});
}

/* Sets the timer of a queued job to the end of its back-off. If the back-off is over and topologies are used, the timer
   is the end of its locality requirement. Returns false if memory is exhausted. */
static bool set_queued_timer(struct hr__kueue_engine *self, uint32_t slot) {
  int64_t at_us = self->slots[slot].requeue.at_us;
  if (at_us <= self->world.now_us) {
    at_us = hr_cluster_locality(self->cluster, (hr_job){self->slots[slot].job}).until_us;
    if (!self->topologies || at_us <= self->world.now_us) at_us = HR_NEVER_US;
  }
  return hr__kueue_timer_set(self, slot, at_us);
}

/* ---- Slots ------------------------------------------------------------------------------------------ */

static bool grow(struct hr__kueue_engine *self) {
  uint32_t before = self->n_slots, after = before ? 2 * before : (uint32_t)FIRST_SLOTS;
  size_t count = after - before;
  /* The memory to which the new slots point. */
  struct hr__kueue_pod_set *pod_sets;
  struct hr__kueue_usage *usage;
  struct hr__kueue_assigned *room;
  int32_t *bookmarks;
  if (!HR__ARENA_RESIZE(self->arena, self->world.workloads, before, after) ||
      !HR__ARENA_RESIZE(self->arena, self->slots, before, after) || !HR__ARENA_ARRAY(self->arena, pod_sets, count) ||
      !HR__ARENA_ARRAY(self->arena, usage, count * HR__KUEUE_MAX_REQUESTS) ||
      !HR__ARENA_ARRAY(self->arena, room, count * HR__KUEUE_MAX_REQUESTS) ||
      !HR__ARENA_ARRAY(self->arena, bookmarks, count * self->world.n_resources))
    return false;
  for (uint32_t i = after; i-- > before; self->first_free = i) {
    size_t k = i - before;
    self->world.workloads[i] = (struct hr__kueue_workload){
        .pod_sets = &pod_sets[k], .n_pod_sets = 1, .usage = &usage[k * HR__KUEUE_MAX_REQUESTS]};
    self->slots[i] = (struct hr__kueue_slot){.next = self->first_free,
                                             .room = &room[k * HR__KUEUE_MAX_REQUESTS],
                                             .bookmarks = &bookmarks[k * self->world.n_resources]};
  }
  self->n_slots = self->world.n_workloads = after;
  if (self->topologies && !hr__tas_world_grow(self->topologies->world, self->arena, &self->world)) return false;
  bool ok = before ? hr__kueue_pending_grow(&self->pending, before)
                   : hr__kueue_pending_begin(&self->pending, self->arena, &self->world);
  return ok && hr__kueue_cycle_begin(&self->cycle, self->arena, &self->world, self->world.tree.n_queues);
}

static void fill_workload(struct hr__kueue_engine *self, uint32_t slot, uint32_t job, uint32_t class_id,
                          struct hr__kueue_destination destination) {
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_class *class_ = &self->classes[class_id];
  struct hr__kueue_pod_set *pod_set = workload->pod_sets;
  struct hr__kueue_usage *usage = workload->usage;
  *pod_set = (struct hr__kueue_pod_set){.name = "main",
                                        .count = class_->pods,
                                        .min_count = class_->fewest,
                                        .requests = class_->requests,
                                        .group = HR_NONE};
  if (destination.local_queue != HR_NONE) pod_set->selector = self->selectors[destination.local_queue];
  *workload =
      (struct hr__kueue_workload){.queue = destination.queue,
                                  .local_queue = destination.local_queue,
                                  .priority = hr__kueue_priority_of(self, job),
                                  .created_us = self->world.now_us,
                                  .queue_us = self->world.now_us,
                                  .reserved_us = HR__KUEUE_NO_TIME,
                                  .uid_rank = job,
                                  .variant_of = HR_NONE,
                                  .keeps_quota = self->jobs->flags && self->jobs->flags[job] & HR_JOB_NOT_INTERRUPTIBLE,
                                  .pod_sets = pod_set,
                                  .n_pod_sets = 1,
                                  .usage = usage,
                                  .suits = class_->suits};
}

static void fill_slot(struct hr__kueue_engine *self, uint32_t slot, uint32_t job, uint32_t class_id) {
  struct hr__kueue_slot *at = &self->slots[slot];
  *at = (struct hr__kueue_slot){
      .job = job,
      .class_ = class_id,
      .full_class = class_id,
      .group = HR_NONE,
      .phase = HR__KUEUE_QUEUED,
      .timer_us = HR_NEVER_US,
      .history = {.created_us = self->world.now_us, .evicted_us = HR__KUEUE_NO_TIME, .preempted_us = HR__KUEUE_NO_TIME},
      .requeue = {-1, HR__KUEUE_NO_TIME},
      .bookmarks = at->bookmarks,
      .room = at->room,
      .memory = at->memory};
}

static bool add_shape(struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t shape) {
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  if (!HR__ARENA_HAS_ROOM(self->arena, self->shape_of, shape, self->shapes_capacity)) return false;
  struct hr__kueue_shape *at = &self->shape_of[shape];
  *at = (struct hr__kueue_shape){.priority = workload->priority, .resource = HR_NONE};
  if (pod_set->requests.count != 1) return true;
  at->resource = pod_set->requests.items[0].resource;
  at->amount = hr__kueue_times(pod_set->requests.items[0].amount, hr__kueue_fewest(pod_set));
  at->full = hr__kueue_times(pod_set->requests.items[0].amount, pod_set->count);
  return true;
}

/* Sets the shape of the workload of a slot. Workloads with the same pods, priority and requirements on nodes have the
   same shape. Returns false if memory is exhausted. */
static bool set_shape(struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  uint32_t local = workload->local_queue;
  bool by_local = local != HR_NONE && (self->world.queues[workload->queue].usage_based ||
                                       self->selectors[local].labels.count || self->selectors[local].tolerations.count);
  const struct hr__kueue_topology_request *topology = &workload->pod_sets[0].topology;
  by_local |= local != HR_NONE && self->topologies && self->topologies->of_queue[workload->queue];
  struct hr__pair pair = {(uint64_t)(uint32_t)workload->priority << 32 | self->slots[slot].class_,
                          (by_local ? (uint64_t)local + 1 : 0) << 8 | (uint64_t)topology->mode};
  uint32_t shape = hr__pair_map_find(&self->shapes, pair);
  if (shape == HR_NONE) {
    shape = self->shapes.count;
    if (!add_shape(self, workload, shape) || !hr__pair_map_add(&self->shapes, self->arena, pair, shape)) return false;
  }
  self->pending.shape[slot] = shape;
  return true;
}

bool hr__kueue_job_add(struct hr__kueue_engine *self, uint32_t job, enum hr_reason *reason) {
  struct hr__kueue_destination destination;
  if (!hr__kueue_destination_of(self, job, &destination)) return false;
  if (!is_open(self, destination)) {
    *reason = HR_REASON_NO_QUEUE;
    return true;
  }
  uint32_t class_id = class_of(self, job);
  if (class_id == HR_NONE) return false;
  struct hr_need need = fewest_need(&self->classes[class_id]);
  *reason = hr_capacity_never_fits(self->capacities, &need);
  if (*reason != HR_REASON_NONE) return true;
  if (self->first_free == HR_NONE && !grow(self)) return false;
  uint32_t slot = self->first_free;
  uint32_t next = self->slots[slot].next;
  fill_workload(self, slot, job, class_id, destination);
  fill_slot(self, slot, job, class_id);
  if (!hr__kueue_topology_request(self, slot))
    *reason = HR_REASON_NO_GROUP;
  else if (!may_ever_fit(self, &self->world.workloads[slot]))
    *reason = HR_REASON_OVER_QUOTA;
  if (*reason != HR_REASON_NONE) {
    self->slots[slot].phase = HR__KUEUE_NO_JOB;
    self->slots[slot].next = next;
    return true;
  }
  self->first_free = next;
  self->slot_of[job] = slot + 1;
  self->pending.requeue_us[slot] = HR__KUEUE_NO_TIME;
  self->changed = true;
  return set_queued_timer(self, slot) && set_shape(self, slot) && hr__kueue_pending_add(&self->pending, slot);
}

void hr__kueue_job_remove(struct hr__kueue_engine *self, uint32_t slot) {
  hr__kueue_timer_set(self, slot, HR_NEVER_US);
  hr__kueue_pending_remove(&self->pending, slot);
  self->slot_of[self->slots[slot].job] = 0;
  self->slots[slot].phase = HR__KUEUE_NO_JOB;
  self->slots[slot].next = self->first_free;
  self->first_free = slot;
}

/* ---- Quota ------------------------------------------------------------------------------------------ */

void hr__kueue_release(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  hr__kueue_prospects_count(self, slot, -1);
  hr__kueue_unlist(&self->world, slot);
  workload->reserved = workload->admitted = workload->evicted = false;
  workload->reserved_us = HR__KUEUE_NO_TIME;
  if (workload->pod_sets[0].placement) hr__kueue_topology_freed(self);
  workload->pod_sets[0].n_assigned = 0;
  workload->pod_sets[0].placement = NULL;
  workload->pod_sets[0].placement_pending = false;
  self->world.queues[workload->queue].generation++;
  hr__kueue_pending_freed(&self->pending, workload->queue);
  self->is_freed[self->root[workload->queue]] = self->some_freed = true;
  self->changed = true;
}

/* Updates the topology request of a job, because its locality requirement may have ended. Returns false if memory is
   exhausted. */
static bool renew_request(struct hr__kueue_engine *self, uint32_t slot) {
  if (!self->topologies) return true;
  hr__kueue_topology_request(self, slot);
  return set_shape(self, slot);
}

/* Queues a workload without quota again. Returns false if memory is exhausted. */
static bool queue_again(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  bool by_creation =
      self->config && self->config->wait_for_pods_ready.requeuing_strategy.timestamp == HR_KUEUE_BY_CREATION;
  at->phase = HR__KUEUE_QUEUED;
  at->class_ = at->full_class;
  at->was_ready = at->has_bookmarks = false;
  at->reason = HR__KUEUE_NO_REASON;
  workload->queue_us =
      hr__kueue_queue_time(&at->history, by_creation, hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_SORTING));
  self->pending.requeue_us[slot] = at->requeue.at_us;
  self->changed = true;
  return renew_request(self, slot) && set_queued_timer(self, slot) && hr__kueue_pending_add(&self->pending, slot);
}

bool hr__kueue_wait_over(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  at->requeue.at_us = self->pending.requeue_us[slot] = HR__KUEUE_NO_TIME;
  self->changed = true;
  hr__kueue_pending_remove(&self->pending, slot);
  return renew_request(self, slot) && set_queued_timer(self, slot) && hr__kueue_pending_add(&self->pending, slot);
}

/* ---- Usage of local queues -------------------------------------------------------------------------- */

void hr__kueue_usage_refresh(struct hr__kueue_engine *self, uint32_t local_queue) {
  struct hr__kueue_local_queue *queue = &self->world.local_queues[local_queue];
  const struct hr__kueue_world *world = &self->world;
  double sum = 0;
  for (uint32_t i = 0; i < world->n_resources; i++) {
    size_t at = (size_t)local_queue * world->n_resources + i;
    sum +=
        self->weights[i] * (self->consumed[at] + self->penalty[at]) / (i == self->cpu || i == self->gpu ? 1000.0 : 1.0);
  }
  queue->usage = queue->weight > 0 ? sum / queue->weight : (double)INFINITY;
}

/* Adds the usage of the workloads with quota, multiplied by `part`, the weight of a sample. */
static void add_present_usage(struct hr__kueue_engine *self, double part) {
  for (uint32_t slot = 0; slot < self->n_slots; slot++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[slot];
    if (self->slots[slot].phase <= HR__KUEUE_QUEUED || workload->local_queue == HR_NONE) continue;
    for (uint32_t i = 0; i < workload->n_usage; i++)
      self->consumed[(size_t)workload->local_queue * self->world.n_resources +
                     workload->usage[i].pair % self->world.n_resources] += part * (double)workload->usage[i].amount;
  }
}

int64_t hr__kueue_next_sample(const struct hr__kueue_engine *self) {
  if (!self->world.admission_fair_sharing || self->view->n_waiting + self->view->n_running == 0) return HR_NEVER_US;
  return self->sampled_us + self->config->admission_fair_sharing.usage_sampling_interval_us;
}

void hr__kueue_sample(struct hr__kueue_engine *self) {
  if (hr__kueue_next_sample(self) > self->world.now_us) return;
  const struct hr_kueue_admission_fair_sharing *rules = &self->config->admission_fair_sharing;
  int64_t elapsed_us = self->world.now_us - self->sampled_us;
  double part = rules->usage_half_life_us > 0 ? hr__kueue_decay_part(elapsed_us, rules->usage_half_life_us) : 1;
  size_t cells = (size_t)self->world.n_local_queues * self->world.n_resources;
  for (size_t i = 0; i < cells; i++) {
    self->consumed[i] *= 1 - part;
    self->penalty[i] = 0;
  }
  add_present_usage(self, part);
  for (uint32_t i = 0; i < self->world.n_local_queues; i++) hr__kueue_usage_refresh(self, i);
  self->sampled_us = self->world.now_us;
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) hr__kueue_pending_reorder(&self->pending, i);
  self->changed = true;
}

/* ---- Evictions -------------------------------------------------------------------------------------- */

/*
 * The end of admissions: preemption with its delays, and pods that are not ready in time.
 *
 * An evicted workload is in the phase HR__KUEUE_LEAVING and keeps its quota until it has left. Without a grace period
 * it leaves when the cycles of the instant have settled (hr__kueue_finish_evictions); until then it is in a list,
 * linked by `next`. Invariant: the list is empty between passes.
 *
 * Source: pkg/scheduler/preemption/preemption.go and pkg/controller/core/workload_controller.go of
 * kubernetes-sigs/kueue.
 */

/* The minimum time between evictions of the same workload. Kueue queues inadmissible workloads again in batches of this
   period. */
#define EVICTION_US HR_SECOND_US
enum { MAX_REPEATED = 12 }; /* maximum number of doublings of EVICTION_US */
/* MAX_LOSSES: how often a workload may lose its work without a delay. MAX_LOSS_DOUBLINGS: the maximum number of
   doublings of the delay after further losses. */
enum { MAX_LOSSES = 8, MAX_LOSS_DOUBLINGS = 20 };

/* ---- Evictions: preemption -------------------------------------------------------------------------- */

void hr__kueue_queue_evicted(struct hr__kueue_engine *self, uint32_t slot) {
  hr__kueue_release(self, slot);
  if (!queue_again(self, slot)) self->status = HR_NO_MEMORY;
}

void hr__kueue_stop(struct hr__kueue_engine *self, uint32_t slot) {
  hr_job job = {self->slots[slot].job};
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(self->view, job, &one);
  self->status = self->keeps_work ? hr_moves_preempt(self->moves, job, HR_REASON_PREEMPTED)
                                  : hr_moves_requeue(self->moves, job, HR_REASON_PREEMPTED);
  if (self->status != HR_OK) return;
  if (!hr__kueue_pods_left(self, job, &placement)) self->status = HR_NO_MEMORY;
  if (self->status == HR_OK) hr__kueue_queue_evicted(self, slot);
}

/* Stops a started job at once, or after its grace period. For a job that was started at this instant, this happens one
   microsecond later. */
static void leave(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  bool is_new = at->since_us == self->world.now_us;
  if (self->grace_us == 0 && !is_new) {
    hr__kueue_stop(self, slot);
    return;
  }
  at->phase = HR__KUEUE_LEAVING;
  self->world.workloads[slot].evicted = true;
  if (is_new)
    self->status = hr__kueue_timer_set(self, slot, self->world.now_us + 1) ? HR_OK : HR_NO_MEMORY;
  else
    self->status =
        hr_moves_notice(self->moves, (hr_job){at->job}, self->world.now_us + self->grace_us, self->keeps_work);
}

/* Evictions take no time in the model. Two workloads can evict each other again and again, for example with Kueue's
   fair sharing; without a delay, this would never end at one instant. If a workload was evicted before and has now had
   quota for less than a second, it waits for a second until it is queued. Both times double with each repetition. They
   are reset to a second when the workload has had quota for longer. */
static void delay_repeated(const struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  int64_t period_us = EVICTION_US << at->n_repeated, now_us = self->world.now_us;
  if (at->history.preempted_us == HR__KUEUE_NO_TIME || now_us - self->world.workloads[slot].reserved_us >= period_us) {
    at->n_repeated = 0;
    return;
  }
  hr__kueue_requeue_delay(&at->requeue, now_us + period_us, false);
  if (at->n_repeated < MAX_REPEATED) at->n_repeated++;
}

/* If preempted jobs lose their work, preemptions cause further preemptions in a crowded cluster: a job that starts
   again needs quota for longer, and preempts other jobs. Kueue has no back-off for such a series. Here, after
   MAX_LOSSES preemptions, a workload waits for a second after the next preemption. The time doubles with each further
   preemption, up to MAX_LOSS_DOUBLINGS times. The number of preemptions therefore grows slowly, and every run ends. */
static void delay_losing(const struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  if (self->keeps_work) return;
  if (at->n_losses >= MAX_LOSSES)
    hr__kueue_requeue_delay(&at->requeue, self->world.now_us + (EVICTION_US << (at->n_losses - MAX_LOSSES)), false);
  if (at->n_losses < MAX_LOSSES + MAX_LOSS_DOUBLINGS) at->n_losses++;
}

bool hr__kueue_evict(struct hr__kueue_engine *self, const struct hr__kueue_target *target) {
  uint32_t slot = target->workload;
  struct hr__kueue_slot *at = &self->slots[slot];
  if (at->phase == HR__KUEUE_LEAVING) return false;
  delay_repeated(self, slot);
  delay_losing(self, slot);
  at->history.preempted_us = at->history.evicted_us = self->world.now_us;
  at->history.evicted_by_timeout = false;
  at->history.reclaimed_while_borrowing = target->cause == HR__KUEUE_RECLAIM_WHILE_BORROWING;
  at->has_started = at->phase == HR__KUEUE_STARTED;
  if (at->has_started && self->grace_us > 0) {
    leave(self, slot);
    return true;
  }
  if (at->phase == HR__KUEUE_HELD) hr__kueue_unhold(self, slot);
  at->phase = HR__KUEUE_LEAVING;
  self->world.workloads[slot].evicted = true;
  at->next = HR_NONE;
  *(self->first_leaving == HR_NONE ? &self->first_leaving : &self->slots[self->last_leaving].next) = slot;
  self->last_leaving = slot;
  return true;
}

void hr__kueue_finish_evictions(struct hr__kueue_engine *self) {
  if (self->first_leaving == HR_NONE) return;
  for (uint32_t slot = self->first_leaving, next; slot != HR_NONE && self->status == HR_OK; slot = next) {
    next = self->slots[slot].next;
    if (self->slots[slot].has_started)
      leave(self, slot);
    else
      hr__kueue_queue_evicted(self, slot);
  }
  self->first_leaving = HR_NONE;
  self->evicted = self->changed = true;
}

/* ---- Evictions: timeouts ---------------------------------------------------------------------------- */

void hr__kueue_time_out(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  struct hr__kueue_life life = {.active = true,
                                .reserved = true,
                                .readiness = {.admitted = true,
                                              .was_ready = at->was_ready,
                                              .admitted_us = at->since_us,
                                              .changed_us = at->since_us},
                                .requeue = at->requeue};
  struct hr__kueue_step step = hr__kueue_life_step(&self->ready, &life, self->world.now_us);
  at->requeue = life.requeue;
  hr__kueue_unhold(self, slot);
  at->history.evicted_us = self->world.now_us;
  at->history.evicted_by_timeout = true;
  if (step.kind == HR__KUEUE_STEP_EVICT) {
    hr__kueue_queue_evicted(self, slot);
    return;
  }
  hr__kueue_release(self, slot);
  self->status = hr_moves_reject(self->moves, (hr_job){at->job}, HR_REASON_POLICY);
  hr__kueue_job_remove(self, slot);
}
