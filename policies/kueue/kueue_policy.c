/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy `kueue`: runs scheduling cycles when something has changed, and carries out their decisions.
 *
 * Cycles take no time. They are repeated at an instant until a cycle neither admits nor preempts nor parks a workload.
 * After such a cycle, the next one would have the same heads and the same state, so nothing would change until the next
 * event. After the cycles, held jobs are placed on nodes.
 *
 * Source: pkg/scheduler/scheduler.go and pkg/controller/core/workload_controller.go of kubernetes-sigs/kueue.
 */

#include "headroom/unstable/clusters.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kueue/engine.h"

#include <string.h>

enum { PARAM_PLACEMENT, PARAM_PREEMPTED, PARAM_GRACE, PARAM_AUTOSCALE, PARAM_IDLE_RELEASE, PARAM_PLAIN };

static const char *const placement_names[] = {"worst-fit", "best-fit", "first-fit", NULL};
static const char *const preempted_names[] = {"requeue", "checkpoint", NULL};

#define MAX_PARAM_S 31536000.0

static const struct hr_param params[] = {
    {.key = "placement",
     .type = HR_PARAM_CHOICE,
     .fallback = "worst-fit",
     .choices = placement_names,
     .help = "placement rule for pods on the nodes of their flavor; worst-fit: as kube-scheduler by default"},
    {.key = "preempted",
     .type = HR_PARAM_CHOICE,
     .fallback = "requeue",
     .choices = preempted_names,
     .help = "what a preempted job loses. requeue: the work since its last checkpoint; checkpoint: nothing"},
    {.key = "grace_s",
     .type = HR_PARAM_REAL,
     .fallback = "0",
     .max = MAX_PARAM_S,
     .help = "time from a preemption until the pods of the job end",
     .advanced = true},
    {.key = "autoscale",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "true",
     .help = "whether nodes of elastic pools are requested only for admitted jobs; false: all available nodes are "
             "requested at all times",
     .advanced = true},
    {.key = "idle_release_s",
     .type = HR_PARAM_REAL,
     .fallback = "600",
     .min = 1,
     .max = MAX_PARAM_S,
     .help = "idle time after which the autoscaler releases a node",
     .advanced = true},
    {.key = "plain",
     .type = HR_PARAM_BOOLEAN,
     .fallback = "false",
     .help = "whether every job is examined in each cycle, even if it cannot be admitted; slow, for tests",
     .advanced = true},
    {0}};

/* ---- Prospects -------------------------------------------------------------------------------------- */

/*
 * Finds the queued workloads that certainly get no quota now, so that a cycle need not examine them.
 *
 * Whenever quota is freed, Kueue examines the first workload of each shape in each queue of the tree, and nearly all of
 * them are inadmissible again. Here a bound is checked first: a workload is hopeless if, for some resource, no flavor
 * has enough quota, even after all preemptions that its queue could make. The bound never calls an admissible workload
 * hopeless, and a hopeless workload has no effect on the other entries of a cycle; so decisions stay the same.
 *
 * Bounds of the preemptions in other queues:
 * - Classical preemption, cohort without a parent: a preemption in other queues leaves the preempting queue within its
 *   nominal quota, or it preempts only workloads of lower priority (borrowWithinCohort).
 * - Classical preemption, cohort with a parent: no bound is known. A workload is hopeless only if it requests more than
 *   its queue could ever use.
 * - Fair sharing: the bound follows from the shares (hr__kueue_fair_reaches).
 *
 * Layout: per queue, the usage of its workloads with quota, by priority and pair. Invariant: these sums are those of
 * the list of the queue.
 */

/* Creates the tables. Returns false if memory is exhausted. */
static bool prospects_create(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  if (!HR__ARENA_ARRAY(self->arena, self->root, tree->n_queues) ||
      !HR__ARENA_ARRAY(self->arena, self->is_freed, tree->n_nodes) ||
      !HR__ARENA_ARRAY(self->arena, self->is_filled, tree->n_nodes) ||
      !HR__ARENA_ARRAY(self->arena, self->priorities, tree->n_queues))
    return false;
  size_t cells = (size_t)HR__KUEUE_MAX_PRIORITIES * tree->n_pairs;
  for (uint32_t i = 0; i < tree->n_queues; i++) {
    self->root[i] = hr__kueue_root(tree, i);
    if (!HR__ARENA_ARRAY(self->arena, self->priorities[i].amounts, cells)) return false;
  }
  return true;
}

void hr__kueue_prospects_count(struct hr__kueue_engine *self, uint32_t slot, int sign) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  struct hr__kueue_priorities *table = &self->priorities[workload->queue];
  uint32_t at = 0;
  if (table->count > HR__KUEUE_MAX_PRIORITIES) return;
  while (at < table->count && table->priority[at] != workload->priority) at++;
  if (at == table->count) {
    table->count++;
    if (at == HR__KUEUE_MAX_PRIORITIES) return;
    table->priority[at] = workload->priority;
  }
  int64_t *amounts = table->amounts + (size_t)at * self->world.n_pairs;
  for (uint32_t i = 0; i < workload->n_usage; i++) amounts[workload->usage[i].pair] += sign * workload->usage[i].amount;
}

/* Whether `priorities` suffices to compute the amounts that the workload could preempt in its own queue. */
static bool own_is_known(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload) {
  return self->priorities[workload->queue].count <= HR__KUEUE_MAX_PRIORITIES &&
         self->world.queues[workload->queue].preemption.within_queue != HR__KUEUE_POLICY_ANY;
}

/* An upper bound of the amount that the workload could preempt in its own queue. */
static int64_t own_victims(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                           uint32_t pair) {
  const struct hr__kueue_priorities *table = &self->priorities[workload->queue];
  enum hr__kueue_policy policy = self->world.queues[workload->queue].preemption.within_queue;
  int64_t sum = 0;
  if (policy == HR__KUEUE_POLICY_NEVER || policy == HR__KUEUE_POLICY_UNSET) return 0;
  if (!own_is_known(self, workload))
    return self->world.tree.usage[hr__kueue_cell(&self->world.tree, workload->queue, pair)];
  for (uint32_t i = 0; i < table->count; i++)
    if (table->priority[i] < workload->priority ||
        (policy == HR__KUEUE_POLICY_LOWER_OR_NEWER && table->priority[i] == workload->priority))
      sum = hr__kueue_plus(sum, table->amounts[(size_t)i * self->world.n_pairs + pair]);
  return sum;
}

/* Adds the amounts that the workload could preempt in its own queue to the tree, or removes them. */
static void change_own(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, bool add) {
  struct hr__kueue_tree tree = self->world.tree;
  for (uint32_t pair = 0; pair < tree.n_pairs; pair++) {
    int64_t amount = own_victims(self, workload, pair);
    if (amount > 0 && add) hr__kueue_add_usage(&tree, workload->queue, pair, amount);
    if (amount > 0 && !add) hr__kueue_remove_usage(&tree, workload->queue, pair, amount);
  }
}

/* Whether fair sharing may allow a preemption in another queue. An amount within the nominal quota can always be
   reclaimed. Otherwise hr__kueue_fair_reaches must return true, even after all preemptions in the queue itself. */
static bool may_take_by_share(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                              uint32_t pair, int64_t amount) {
  struct hr__kueue_tree tree = self->world.tree; /* its columns are those of the world */
  size_t at = hr__kueue_cell(&tree, workload->queue, pair);
  if (hr__kueue_plus(tree.usage[at], amount) <= tree.nominal[at] || !own_is_known(self, workload)) return true;
  change_own(self, workload, false);
  hr__kueue_add_usage(&tree, workload->queue, pair, amount);
  bool reaches = hr__kueue_fair_reaches(&self->world, workload->queue);
  hr__kueue_remove_usage(&tree, workload->queue, pair, amount);
  change_own(self, workload, true);
  return reaches;
}

/* An upper bound of the usage with a lower priority in the other queues of the workload's cohort. */
static int64_t lower_beside(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                            uint32_t pair) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t parent = tree->parent[workload->queue];
  int64_t sum = 0;
  for (uint32_t i = tree->child_start[parent]; i < tree->child_start[parent + 1]; i++) {
    uint32_t queue = tree->children[i];
    if (queue == workload->queue) continue;
    const struct hr__kueue_priorities *table = &self->priorities[queue];
    if (table->count > HR__KUEUE_MAX_PRIORITIES)
      sum = hr__kueue_plus(sum, tree->usage[hr__kueue_cell(tree, queue, pair)]);
    for (uint32_t k = 0; table->count <= HR__KUEUE_MAX_PRIORITIES && k < table->count; k++)
      if (table->priority[k] < workload->priority)
        sum = hr__kueue_plus(sum, table->amounts[(size_t)k * self->world.n_pairs + pair]);
  }
  return sum;
}

/* Whether classical preemption may preempt in other queues. One of these conditions must be true:
   - The cohort has a parent, so that no bound is known.
   - The queue is within its nominal quota after the preemption.
   - borrowWithinCohort is set, and the amount is available after the preemption of lower priorities.
   `own`: the amount that the workload could preempt in its own queue. `free`: the available amount, including `own`. */
static bool may_reclaim(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                        int64_t amount, int64_t own, int64_t free) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  size_t at = hr__kueue_cell(tree, workload->queue, pair);
  if (tree->parent[tree->parent[workload->queue]] != HR_NONE ||
      hr__kueue_plus(hr__kueue_minus(tree->usage[at], own), amount) <= tree->nominal[at])
    return true;
  return self->world.queues[workload->queue].preemption.borrow &&
         amount <= hr__kueue_plus(free, lower_beside(self, workload, pair));
}

/* Whether an amount of a pair may be available, after preemptions. */
static bool may_get(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                    int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  if (amount > hr__kueue_potential(tree, workload->queue, pair)) return false;
  int64_t available = hr__kueue_available(tree, workload->queue, pair);
  if (amount <= available) return true;
  int64_t own = own_victims(self, workload, pair);
  int64_t free = hr__kueue_plus(available, own);
  if (amount <= free) return true;
  if (self->world.queues[workload->queue].preemption.reclaim == HR__KUEUE_POLICY_NEVER ||
      tree->parent[workload->queue] == HR_NONE)
    return false;
  return self->world.fair_sharing ? may_take_by_share(self, workload, pair, amount)
                                  : may_reclaim(self, workload, pair, amount, own, free);
}

/* Whether a cycle may hold quota or nodes for an inadmissible workload. This is impossible if the queue can always
   reclaim its quota. It is possible with fair sharing, with borrowWithinCohort, or if the request is within the nominal
   quota of the queue or of a cohort below the root. */
static bool may_hold(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                     int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  const struct hr__kueue_queue *queue = &self->world.queues[workload->queue];
  bool may_reclaim;
  if (hr__kueue_can_always_reclaim(queue)) return false;
  if (self->world.fair_sharing || queue->preemption.borrow ||
      tree->nominal[hr__kueue_cell(tree, workload->queue, pair)] >= amount)
    return true;
  hr__kueue_borrow_level(tree, workload->queue, pair, amount, &may_reclaim);
  return may_reclaim;
}

/* Whether it is certain that a cycle would find a queued workload inadmissible, and would hold no quota for it. */
static bool is_hopeless(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  for (uint32_t i = 0; i < pod_set->requests.count; i++) {
    uint32_t resource = pod_set->requests.items[i].resource;
    int64_t amount = hr__kueue_times(pod_set->requests.items[i].amount, hr__kueue_fewest(pod_set));
    int64_t full = hr__kueue_times(pod_set->requests.items[i].amount, pod_set->count);
    const struct hr__kueue_group *group = hr__kueue_group_of(&self->world.queues[workload->queue], resource);
    bool hopeless = group != NULL;
    for (uint32_t k = 0; hopeless && k < group->n_flavors; k++) {
      uint32_t pair = hr__kueue_pair(&self->world, group->flavors[k], resource);
      hopeless = !may_get(self, workload, pair, amount) && !may_hold(self, workload, pair, full);
    }
    if (hopeless) return true;
  }
  return false;
}

/* ---- Prospects: trees with freed quota -------------------------------------------------------------- */

/* The number of hopeless shapes that are remembered per queue. A shape with a lower priority or a larger request than
   one of these is hopeless, too. */
enum { MAX_KNOWN = 4 };
struct verdicts {
  const struct hr__kueue_engine *engine;
  struct hr__kueue_shape known[MAX_KNOWN];
  uint32_t n_known, next;
};

static bool stays_parked(void *argument, uint32_t queue, uint32_t shape, uint32_t workload) {
  struct verdicts *self = argument;
  const struct hr__kueue_shape *own = &self->engine->shape_of[shape];
  (void)queue;
  if (self->engine->plain) return false;
  for (uint32_t i = 0; own->resource != HR_NONE && i < self->n_known; i++)
    if (own->resource == self->known[i].resource && own->priority <= self->known[i].priority &&
        own->amount >= self->known[i].amount && own->full >= self->known[i].full)
      return true;
  if (!is_hopeless(self->engine, workload)) return false;
  if (own->resource != HR_NONE) {
    self->known[self->next] = *own;
    self->next = (self->next + 1) % MAX_KNOWN;
    if (self->n_known < MAX_KNOWN) self->n_known++;
  }
  return true;
}

/* In trees in which quota was freed, returns the parked workloads to their queues. Hopeless workloads stay parked. */
static void return_freed(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  self->some_freed = false;
  for (uint32_t i = 0; i < tree->n_queues; i++) {
    if (!self->is_freed[self->root[i]]) continue;
    struct verdicts verdicts = {.engine = self};
    hr__kueue_pending_return_some(&self->pending, i, stays_parked, &verdicts);
  }
  for (uint32_t i = 0; i < tree->n_queues; i++) self->is_freed[self->root[i]] = false;
}

/* With fair sharing, an admission raises the share of its queue, so workloads of other queues may no longer be
   hopeless. Such workloads return to their queues if they stayed parked and have not had their turn. */
static void recheck_stayed(struct hr__kueue_engine *self) {
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) {
    if (!self->is_filled[self->root[i]]) continue;
    struct verdicts verdicts = {.engine = self};
    hr__kueue_pending_recheck(&self->pending, i, stays_parked, &verdicts);
  }
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) self->is_filled[self->root[i]] = false;
  self->some_filled = false;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

static int64_t us_of(const struct hr_policy_env *env, int param) {
  return (int64_t)(env->params[param].real * (double)HR_SECOND_US + 0.5);
}

static bool has_elastic_pool(const struct hr_cluster *cluster) {
  if (hr_cluster_is_autoscaled(cluster)) return false;
  for (uint32_t p = 0; p < hr_cluster_pools(cluster); p++)
    if (hr_market_is_elastic(hr_cluster_pool_spec(cluster, (hr_pool){p})->market.market)) return true;
  return false;
}

static bool allocate(struct hr__kueue_engine *self, const struct hr_policy_env *env) {
  self->slot_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *self->slot_of);
  self->timers.store = hr_tree_store_create(env->arena);
  return self->slot_of && self->timers.store &&
         HR__ARENA_ARRAY(env->arena, self->idle_us, hr__kueue_count_nodes(self)) &&
         HR__ARENA_ARRAY(env->arena, self->wanted, self->n_pools) &&
         HR__ARENA_ARRAY(env->arena, self->heads, self->world.tree.n_queues) && prospects_create(self);
}

static enum hr_status create(const struct hr_policy_env *env, void **state, struct hr_error *error) {
  struct hr__kueue_engine *self = hr_arena_alloc(env->arena, sizeof *self);
  if (!(*state = self)) return HR_NO_MEMORY;
  *self = (struct hr__kueue_engine){.arena = env->arena,
                                    .jobs = env->jobs,
                                    .cluster = env->cluster,
                                    .config = env->systems ? env->systems->kueue : NULL,
                                    .keeps_work = env->params[PARAM_PREEMPTED].integer == 1,
                                    .plain = env->params[PARAM_PLAIN].integer == 1,
                                    .grace_us = us_of(env, PARAM_GRACE),
                                    .idle_release_us = us_of(env, PARAM_IDLE_RELEASE),
                                    .first_free = HR_NONE,
                                    .first_leaving = HR_NONE,
                                    .wake_us = HR_NEVER_US};
  self->manages = env->params[PARAM_AUTOSCALE].integer == 1 && has_elastic_pool(env->cluster);
  const struct hr_capacity_config capacity = {.arena = env->arena,
                                              .cluster = env->cluster,
                                              .rule = placement_names[env->params[PARAM_PLACEMENT].integer],
                                              .seed = env->seed};
  enum hr_status status = hr_capacity_set_create(&capacity, &self->capacities, error);
  if (status == HR_OK) status = hr__kueue_world_build(self);
  if (status != HR_OK) return status;
  self->capacity = hr_capacity_present(self->capacities);
  self->reduces = env->jobs->min_gpus && !hr_cluster_gpu_inventory(env->cluster) &&
                  hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PARTIAL_ADMISSION);
  /* The bounds do not consider the effect of topologies on shares. */
  self->plain |= self->topologies && self->world.fair_sharing;
  return allocate(self, env) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t abilities(void *state) {
  const struct hr__kueue_engine *self = state;
  return HR_POLICY_PREEMPTS | HR_POLICY_KEEPS_WITHIN | HR_POLICY_REASONS_BY_JOB |
         (self->manages ? (uint32_t)HR_POLICY_MANAGES_CAPACITY : 0) | (self->reduces ? (uint32_t)HR_POLICY_RESIZES : 0);
}

/* ---- Admission -------------------------------------------------------------------------------------- */

/* The time by which the pods of an admitted job must be ready; HR_NEVER_US: no limit. */
static int64_t ready_deadline(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_slot *at = &self->slots[slot];
  int64_t limit_us = at->was_ready ? self->ready.recovery_timeout_us : self->ready.timeout_us;
  return limit_us == HR__KUEUE_NO_TIME ? HR_NEVER_US : at->since_us + limit_us;
}

/* Sets the timer of a held job to the time by which its pods must be ready or, if it is earlier, to the end of its
   locality requirement. Returns false if memory is exhausted. */
static bool set_held_timer(struct hr__kueue_engine *self, uint32_t slot) {
  int64_t at_us = ready_deadline(self, slot);
  int64_t until_us = hr_cluster_locality(self->cluster, (hr_job){self->slots[slot].job}).until_us;
  if (until_us > self->world.now_us && until_us < at_us) at_us = until_us;
  return hr__kueue_timer_set(self, slot, at_us);
}

/* Admits a workload that has quota: its pods are created, and wait for nodes. */
static void create_pods(struct hr__kueue_engine *self, uint32_t slot) {
  self->world.workloads[slot].admitted = true;
  self->slots[slot].since_us = self->world.now_us;
  self->slots[slot].was_ready = false;
  if (!hr__kueue_hold(self, slot, false) || !set_held_timer(self, slot)) self->status = HR_NO_MEMORY;
}

static int64_t delay_of(const struct hr__kueue_engine *self, const char *check) {
  for (uint32_t i = 0; i < self->config->n_admission_checks; i++)
    if (strcmp(self->config->admission_checks[i].name, check) == 0) return self->config->admission_checks[i].delay_us;
  return 0;
}

static bool check_applies(const struct hr__kueue_engine *self, const struct hr_kueue_check_use *use, uint32_t slot) {
  const struct hr__kueue_pod_set *pod_set = &self->world.workloads[slot].pod_sets[0];
  for (uint32_t i = 0; i < use->n_on_flavors; i++)
    for (uint32_t k = 0; k < pod_set->n_assigned; k++)
      if (strcmp(self->world.flavors[pod_set->assigned[k].flavor].name, use->on_flavors[i]) == 0) return true;
  return use->n_on_flavors == 0;
}

/* The time that the admission checks of a workload with quota take. */
static int64_t check_delay(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr_kueue_cluster_queue *queue =
      self->config ? self->queue_configs[self->world.workloads[slot].queue] : NULL;
  int64_t longest = 0;
  for (uint32_t i = 0; queue && i < queue->n_admission_checks; i++) {
    if (!check_applies(self, &queue->admission_checks[i], slot)) continue;
    int64_t delay_us = delay_of(self, queue->admission_checks[i].name);
    if (delay_us > longest) longest = delay_us;
  }
  return longest;
}

/* Charges the local queue of a workload for its admission until the next sample of usage. */
static void charge(struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  if (!self->world.admission_fair_sharing || workload->local_queue == HR_NONE) return;
  const struct hr_kueue_admission_fair_sharing *rules = &self->config->admission_fair_sharing;
  double part = hr__kueue_decay_part(rules->usage_sampling_interval_us, rules->usage_half_life_us);
  for (uint32_t i = 0; i < workload->n_usage; i++) {
    uint32_t resource = workload->usage[i].pair % self->world.n_resources;
    self->penalty[(size_t)workload->local_queue * self->world.n_resources + resource] +=
        part * (double)workload->usage[i].amount;
  }
  hr__kueue_usage_refresh(self, workload->local_queue);
  hr__kueue_pending_reorder(&self->pending, workload->queue);
}

static void admit(struct hr__kueue_engine *self, struct hr__kueue_entry *entry) {
  uint32_t slot = entry->workload;
  struct hr__kueue_slot *at = &self->slots[slot];
  hr__kueue_pending_remove(&self->pending, slot);
  if (!hr__kueue_topology_keep(self, slot, &entry->assignment)) {
    self->status = HR_NO_MEMORY;
    return;
  }
  hr__kueue_give_quota(&self->world, slot, &entry->assignment, at->room);
  if (!hr__kueue_set_admitted_class(self, slot)) self->status = HR_NO_MEMORY;
  hr__kueue_prospects_count(self, slot, 1);
  self->is_filled[self->root[self->world.workloads[slot].queue]] = self->some_filled = true;
  at->has_bookmarks = false;
  at->reason = HR__KUEUE_NO_REASON;
  charge(self, slot);
  int64_t delay_us = check_delay(self, slot);
  if (delay_us == 0) {
    create_pods(self, slot);
    return;
  }
  at->phase = HR__KUEUE_CHECKING;
  if (!hr__kueue_timer_set(self, slot, self->world.now_us + delay_us)) self->status = HR_NO_MEMORY;
}

/* ---- Cycles ----------------------------------------------------------------------------------------- */

/* Sets the bookmarks of the last attempt if they are still valid. */
static void use_bookmarks(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  struct hr__kueue_workload *workload = &self->world.workloads[slot];
  if (at->has_bookmarks && hr__kueue_bookmark_is_outdated(self->world.gates, at->bookmark_generation,
                                                          self->world.queues[workload->queue].generation,
                                                          at->bookmark_cycle, self->n_cycles, true, true))
    at->has_bookmarks = false;
  workload->tried = at->has_bookmarks ? at->bookmarks : NULL;
}

/* Takes the heads of all queues into `heads`. A hopeless head uses up its turn, but gets no entry: it is parked with
   its shape, or remains the head if its queue is strict. Only a hopeless head without a shape gets an entry. Sets
   `*parked` if some head was parked or a turn was used up. Returns the number of entries. */
static uint32_t take_heads(struct hr__kueue_engine *self, bool *parked) {
  uint32_t n = 0;
  *parked = false;
  if (self->some_filled && self->world.fair_sharing && !self->plain) recheck_stayed(self);
  for (uint32_t queue = 0; queue < self->world.tree.n_queues; queue++) {
    if (self->world.queues[queue].inactive) continue;
    if (hr__kueue_pending_skip(&self->pending, queue)) {
      *parked = true;
      continue;
    }
    uint32_t head = hr__kueue_pending_head(&self->pending, queue);
    if (head == HR_NONE) continue;
    if (!self->plain && is_hopeless(self, head)) {
      self->slots[head].reason = HR__KUEUE_WAITING_FOR_QUOTA;
      self->slots[head].has_bookmarks = false;
      if (hr__kueue_pending_park_head(&self->pending, queue)) {
        *parked = true;
        continue;
      }
      if (self->world.queues[queue].strict) continue;
    }
    hr__kueue_pending_pop(&self->pending, queue);
    use_bookmarks(self, head);
    self->heads[n++] = head;
  }
  return n;
}

/* Stores the bookmarks of an entry. Returns whether they have changed. */
static bool save_bookmarks(struct hr__kueue_engine *self, const struct hr__kueue_entry *entry) {
  struct hr__kueue_slot *at = &self->slots[entry->workload];
  const struct hr__kueue_workload *workload = &self->world.workloads[entry->workload];
  bool had = at->has_bookmarks, moved = false;
  at->has_bookmarks = entry->nominated && entry->keeps_bookmark && hr__kueue_has_bookmark(&entry->assignment);
  if (!at->has_bookmarks) return had;
  for (uint32_t i = 0; i < entry->assignment.pod_sets[0].n_choices; i++) {
    const struct hr__kueue_choice *choice = &entry->assignment.pod_sets[0].choices[i];
    moved |= !had || at->bookmarks[choice->resource] != choice->tried;
  }
  hr__kueue_bookmarks_save(&self->world, workload, &entry->assignment, at->bookmarks);
  at->bookmark_generation = self->world.queues[workload->queue].generation;
  at->bookmark_cycle = self->n_cycles;
  return moved;
}

/* The state that the next cycle will find, compared with the state that the last cycle found. */
enum cycle_effect {
  EFFECT_NONE, /* the same */
  EFFECT_SCAN, /* the same, but the search for a flavor continues */
  EFFECT_REAL
};

/* Queues an entry again that was not admitted. Returns how this changes the state that the next cycle finds. */
static enum cycle_effect requeue(struct hr__kueue_engine *self, const struct hr__kueue_entry *entry) {
  bool moved = save_bookmarks(self, entry);
  self->slots[entry->workload].reason = entry->reason;
  self->slots[entry->workload].n_targets = entry->preempts ? entry->n_targets : 0;
  hr__kueue_pending_requeue(&self->pending, entry->workload, entry->requeue,
                            self->slots[entry->workload].has_bookmarks);
  if (hr__kueue_pending_place(&self->pending, entry->workload) == HR__KUEUE_PARKED) return EFFECT_REAL;
  return moved ? EFFECT_SCAN : EFFECT_NONE;
}

static bool blocks_admission(const struct hr__kueue_engine *self) {
  return self->config && self->config->wait_for_pods_ready.enable && self->config->wait_for_pods_ready.block_admission;
}

/* Admits workloads in the order of the cycle. If admissions are blocked until pods are ready, admits only the first
   one; the others wait. Returns the number of workloads that the cycle admitted, including the others. */
static uint32_t admit_all(struct hr__kueue_engine *self) {
  uint32_t n_admitted = 0;
  for (uint32_t i = 0; i < self->cycle.n_order && self->status == HR_OK; i++) {
    struct hr__kueue_entry *entry = &self->cycle.entries[self->cycle.order[i]];
    if (entry->status != HR__KUEUE_ADMITTED) continue;
    if (n_admitted++ == 0 || !blocks_admission(self)) {
      admit(self, entry);
      continue;
    }
    entry->status = HR__KUEUE_NOT_NOMINATED;
    entry->requeue = HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION;
    entry->reason = HR__KUEUE_WAITING_FOR_PODS_READY;
    entry->waits_for_pods_ready = true;
  }
  return n_admitted;
}

/* Evicts the targets of an entry. Returns false if all of them were already being evicted. */
static bool preempt_targets(struct hr__kueue_engine *self, const struct hr__kueue_entry *entry) {
  bool some = false;
  for (uint32_t k = 0; k < entry->n_targets && self->status == HR_OK; k++)
    some |= hr__kueue_evict(self, &self->cycle.targets[entry->first_target + k]);
  return some;
}

/* Carries out the decisions of a cycle. Returns how this changes the state that the next cycle finds. */
static enum cycle_effect carry_out(struct hr__kueue_engine *self) {
  enum cycle_effect effect = admit_all(self) > 0 ? EFFECT_REAL : EFFECT_NONE;
  for (uint32_t i = 0; i < self->cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &self->cycle.entries[i];
    if (entry->status == HR__KUEUE_ADMITTED) continue;
    enum cycle_effect own = requeue(self, entry);
    self->blocked |= entry->waits_for_pods_ready;
    if (own > effect) effect = own;
  }
  for (uint32_t i = 0; i < self->cycle.n_entries; i++)
    if (self->cycle.entries[i].preempts && preempt_targets(self, &self->cycle.entries[i])) effect = EFFECT_REAL;
  return effect;
}

/* Runs one cycle. Returns the state that the next one will find. */
static enum cycle_effect run_cycle(struct hr__kueue_engine *self) {
  bool parked;
  uint32_t n = take_heads(self, &parked);
  if (n) self->n_cycles++;
  self->cycle.not_all_ready = blocks_admission(self) && self->n_held > 0;
  if (self->topologies) hr__tas_world_forget(self->topologies->world);
  if (!hr__kueue_cycle_run(&self->cycle, self->heads, n) ||
      (self->topologies && hr__tas_world_failed(self->topologies->world)))
    self->status = HR_NO_MEMORY;
  enum cycle_effect effect = n && self->status == HR_OK ? carry_out(self) : EFFECT_NONE;
  return parked ? EFFECT_REAL : effect;
}

/* Runs cycles until they have no more effect, then ends the evictions, and repeats both until nothing changes.

   In Kueue an eviction takes longer than the cycles that follow it. When the quota of the evicted workload becomes
   free, the other workloads have had their turns and are parked. Kueue returns parked workloads with a delay, so the
   preemptor, which stays in its queue, has its turn first. Here, evictions therefore end only when the cycles have no
   more effect.

   A StrictFIFO queue whose head fits nowhere would try its flavors forever. After all flavors were tried without
   effect, the cycles therefore stop until the next event. */
static void run_cycles(struct hr__kueue_engine *self) {
  uint32_t n_scans = 0;
  while (self->changed && self->status == HR_OK) {
    self->changed = false;
    if (self->some_freed && !self->evicted) return_freed(self);
    self->evicted = false;
    enum cycle_effect effect = run_cycle(self);
    n_scans = effect == EFFECT_SCAN ? n_scans + 1 : 0;
    self->changed |=
        effect == EFFECT_REAL || self->some_freed || (effect == EFFECT_SCAN && n_scans <= self->world.n_flavors + 1);
    if (self->pending.no_memory) self->status = HR_NO_MEMORY;
    if (self->changed) continue;
    hr__kueue_pending_settled(&self->pending); /* further cycles would only use up the turns */
    hr__kueue_finish_evictions(self);
  }
  hr__kueue_pending_settled(&self->pending);
}

/* ---- Timers ----------------------------------------------------------------------------------------- */

static void fire(struct hr__kueue_engine *self, uint32_t slot) {
  struct hr__kueue_slot *at = &self->slots[slot];
  hr__kueue_timer_set(self, slot, HR_NEVER_US);
  switch ((enum hr__kueue_phase)at->phase) {
  case HR__KUEUE_QUEUED:
    if (!hr__kueue_wait_over(self, slot)) self->status = HR_NO_MEMORY;
    return;
  case HR__KUEUE_CHECKING:
    create_pods(self, slot);
    return;
  case HR__KUEUE_HELD:
    self->freed = true;
    if (ready_deadline(self, slot) <= self->world.now_us)
      hr__kueue_time_out(self, slot);
    else if (!set_held_timer(self, slot))
      self->status = HR_NO_MEMORY;
    return;
  case HR__KUEUE_LEAVING:
    hr__kueue_stop(self, slot);
    return;
  case HR__KUEUE_STARTED:
  case HR__KUEUE_NO_JOB:
    return;
  }
}

static void fire_timers(struct hr__kueue_engine *self) {
  struct hr_job_entry entry;
  while (self->status == HR_OK && hr_job_tree_first(&self->timers, &entry) && entry.key <= self->world.now_us)
    fire(self, entry.job.id);
}

/* Requests a pass at the time of the next event. */
static void wake(struct hr__kueue_engine *self) {
  struct hr_job_entry entry;
  int64_t next_us = hr__deadline_fifo_first_us(&self->idle);
  if (hr_job_tree_first(&self->timers, &entry) && entry.key < next_us) next_us = entry.key;
  int64_t sample_us = hr__kueue_next_sample(self);
  if (sample_us < next_us) next_us = sample_us;
  if (next_us == HR_NEVER_US || (self->wake_us <= next_us && self->wake_us > self->world.now_us)) return;
  self->wake_us = next_us;
  self->status = hr_moves_wake_at(self->moves, next_us);
}

/* ---- Events and passes ------------------------------------------------------------------------------ */

/* The next pass rejects the job. False: out of memory. */
static bool reject_later(struct hr__kueue_engine *self, hr_job job, enum hr_reason reason) {
  if (!HR__ARENA_HAS_ROOM(self->arena, self->rejects, self->n_rejects, self->rejects_capacity)) return false;
  self->rejects[self->n_rejects++] = (struct hr__kueue_reject){job.id, reason};
  return true;
}

static enum hr_status submit(struct hr__kueue_engine *self, hr_job job) {
  enum hr_reason reason = HR_REASON_NONE;
  if (!hr__kueue_job_add(self, job.id, &reason)) return HR_NO_MEMORY;
  return reason == HR_REASON_NONE || reject_later(self, job, reason) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status end(struct hr__kueue_engine *self, const struct hr_event *event) {
  uint32_t slot = hr__kueue_slot_of(self, event->job);
  if (slot == HR_NONE) return HR_OK;
  if (!hr__kueue_pods_left(self, event->job, event->placement)) return HR_NO_MEMORY;
  hr__kueue_release(self, slot);
  hr__kueue_job_remove(self, slot);
  return HR_OK;
}

/* Handles a job that has lost its nodes. If the job was not evicted, its workload still has its quota, and its pods
   wait for other nodes. */
static enum hr_status interrupt(struct hr__kueue_engine *self, const struct hr_event *event) {
  uint32_t slot = hr__kueue_slot_of(self, event->job);
  if (slot == HR_NONE) return HR_OK;
  if (!hr__kueue_pods_left(self, event->job, event->placement)) return HR_NO_MEMORY;
  if (self->slots[slot].phase == HR__KUEUE_LEAVING) {
    hr__kueue_queue_evicted(self, slot);
    return self->status;
  }
  self->slots[slot].since_us = self->world.now_us;
  enum hr__kueue_nodes nodes = hr__kueue_topology_prepare(self, slot);
  if (self->status != HR_OK) return self->status;
  if (nodes == HR__KUEUE_NODES_LOST) {
    hr__kueue_queue_evicted(self, slot);
    return self->status;
  }
  return hr__kueue_hold(self, slot, true) && set_held_timer(self, slot) ? HR_OK : HR_NO_MEMORY;
}

/* Removes a waiting job that was withdrawn, and frees its quota. A job that is being evicted stays until it has
   left. */
static enum hr_status withdraw(struct hr__kueue_engine *self, hr_job job) {
  const uint32_t slot = hr__kueue_slot_of(self, job);
  if (slot == HR_NONE || self->slots[slot].phase == HR__KUEUE_LEAVING) return HR_OK;
  if (self->slots[slot].phase == HR__KUEUE_HELD) hr__kueue_unhold(self, slot);
  if (self->slots[slot].phase != HR__KUEUE_QUEUED) hr__kueue_release(self, slot);
  hr__kueue_job_remove(self, slot);
  self->changed = true;
  return reject_later(self, job, HR_REASON_WITHDRAWN) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status observe(void *state, const struct hr_view *view, const struct hr_event *event) {
  struct hr__kueue_engine *self = state;
  self->world.now_us = view->now_us;
  self->status = HR_OK;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(self, event->job);
  case HR_EVENT_END:
    return end(self, event);
  case HR_EVENT_INTERRUPT:
    return interrupt(self, event);
  case HR_EVENT_WITHDRAW:
    return withdraw(self, event->job);
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_UP:
  case HR_EVENT_OFFER:
    self->freed = true;
    return hr__kueue_node_changed(self, event) ? HR_OK : HR_NO_MEMORY;
  default:
    return HR_OK;
  }
}

static void reject_all(struct hr__kueue_engine *self) {
  for (uint32_t i = 0; i < self->n_rejects && self->status == HR_OK; i++)
    self->status = hr_moves_reject(self->moves, (hr_job){self->rejects[i].job}, self->rejects[i].reason);
  self->n_rejects = 0;
}

static enum hr_status decide(void *state, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__kueue_engine *self = state;
  self->world.now_us = view->now_us;
  self->view = view;
  self->moves = moves;
  self->status = HR_OK;
  reject_all(self);
  fire_timers(self);
  hr__kueue_sample(self);
  do {
    run_cycles(self);
    hr__kueue_place_all(self);
    if (self->blocked && self->n_held == 0) {
      self->changed = true;
      self->blocked = false;
    }
  } while (self->changed && self->status == HR_OK);
  hr__kueue_scale(self);
  if (self->status == HR_OK) wake(self);
  return self->status;
}

static void destroy(void *state) {
  struct hr__kueue_engine *self = state;
  if (self && self->topologies) hr__tas_world_finish(self->topologies->world);
}

HR_POLICY(kueue) = {HR_POLICY_HEAD,
                    .name = "kueue",
                    .summary = "Kueue: quotas in a tree of cohorts, flavors, borrowing, preemption and fair sharing",
                    .params = params,
                    .create = create,
                    .destroy = destroy,
                    .observe = observe,
                    .decide = decide,
                    .abilities = abilities,
                    .explain = hr__kueue_explain,
                    .describe = hr__kueue_describe};
