/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the world of Kueue for the policy: resources, flavors, the tree of quotas and the local queues from the
 * configuration, and the resources that the jobs of the trace request. Finds the queue of a job.
 *
 * Names of resources, flavors, queues and cohorts are sorted, so that decisions do not depend on the order of a file.
 * The resource that counts GPUs is counted in thousandths, so that shares of GPUs are exact; the rules of Kueue do not
 * depend on the unit. Without a configuration there is one queue and one flavor with all nodes, and quota for all GPUs.
 */

#include "policies/kueue/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIG_PREFIX "nvidia.com/mig-"
#define GPU_UNIT 1000 /* thousandths of a GPU */

/* ---- Destinations of jobs --------------------------------------------------------------------------- */

/*
 * The queue of a job in a configuration of Kueue.
 *
 * The field `queue` of a job names its queue; without this field, its tenant does. The name is looked up in this order:
 * "namespace/name" of a LocalQueue, name of a LocalQueue, namespace (tenants only), name of a ClusterQueue. If nothing
 * matches, the default queue is used.
 */

/* Returns whether a text is "namespace/name" of a local queue. */
static bool is_path_of(const struct hr_kueue_local_queue_config *queue, const char *text) {
  size_t length = strlen(queue->name_space);
  return strncmp(text, queue->name_space, length) == 0 && text[length] == '/' &&
         strcmp(text + length + 1, queue->name) == 0;
}

/* Finds a local queue by "namespace/name", or by its name. If several queues have this name, prefers the queue in the
   namespace `name_space`, then the first queue. HR_NONE: not found. */
static uint32_t find_local_queue(const struct hr_kueue_config *config, const char *text, const char *name_space) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < config->n_local_queues; i++) {
    const struct hr_kueue_local_queue_config *queue = &config->local_queues[i];
    if (is_path_of(queue, text)) return i;
    if (strcmp(queue->name, text) != 0) continue;
    if (found == HR_NONE || (name_space && strcmp(queue->name_space, name_space) == 0)) found = i;
  }
  return found;
}

/* The first local queue of a namespace; HR_NONE: none. */
static uint32_t find_namespace(const struct hr_kueue_config *config, const char *name_space) {
  for (uint32_t i = 0; i < config->n_local_queues; i++)
    if (strcmp(config->local_queues[i].name_space, name_space) == 0) return i;
  return HR_NONE;
}

static uint32_t find_cluster_queue(const struct hr_kueue_config *config, const char *name) {
  for (uint32_t i = 0; name && i < config->n_cluster_queues; i++)
    if (strcmp(config->cluster_queues[i].name, name) == 0) return i;
  return HR_NONE;
}

static struct hr__kueue_destination find(const struct hr_kueue_config *config, const char *text, const char *tenant) {
  uint32_t local = text ? find_local_queue(config, text, tenant) : HR_NONE;
  if (!text && tenant) {
    local = find_local_queue(config, tenant, NULL);
    if (local == HR_NONE) local = find_namespace(config, tenant);
  }
  const char *name = local != HR_NONE ? config->local_queues[local].cluster_queue : text ? text : tenant;
  return (struct hr__kueue_destination){local, find_cluster_queue(config, name)};
}

static const char *name_at(const struct hr_names *names, const uint32_t *column, uint32_t job) {
  uint32_t index = column ? column[job] : HR_NONE;
  return index == HR_NONE || index >= names->count ? NULL : names->text[index];
}

/* Finds the queue of a job. `queue` of the result is an index in the ClusterQueues of the configuration, or HR_NONE. */
static struct hr__kueue_destination find_destination(const struct hr_kueue_config *config, const struct hr_trace *jobs,
                                                     uint32_t job) {
  const char *text = name_at(&jobs->queues, jobs->queue, job);
  const char *tenant = name_at(&jobs->tenants, jobs->tenant, job);
  struct hr__kueue_destination found = find(config, text && *text ? text : NULL, tenant);
  return found.queue == HR_NONE && config->default_queue ? find(config, config->default_queue, NULL) : found;
}

bool hr__kueue_is_open(const struct hr_kueue_config *config, struct hr__kueue_destination destination) {
  if (destination.queue == HR_NONE) return false;
  const struct hr_kueue_cluster_queue *queue = &config->cluster_queues[destination.queue];
  if (queue->stop_policy != HR_KUEUE_STOP_NONE) return false;
  if (destination.local_queue == HR_NONE) return true;
  const struct hr_kueue_local_queue_config *local = &config->local_queues[destination.local_queue];
  bool selected = queue->n_namespaces == 0;
  for (uint32_t i = 0; i < queue->n_namespaces; i++) selected |= strcmp(queue->namespaces[i], local->name_space) == 0;
  return selected && local->stop_policy == HR_KUEUE_STOP_NONE;
}

bool hr__kueue_takes(const struct hr_kueue_config *config, const struct hr_trace *jobs, hr_job job) {
  return hr__kueue_is_open(config, find_destination(config, jobs, job.id));
}

/* ---- Names ------------------------------------------------------------------------------------------ */

/* Sorted names without repetition. */
struct engine_names {
  const char **items;
  uint32_t count;
};

static int compare_names(const void *a, const void *b) {
  const char *const *left = a, *const *right = b;
  return strcmp(*left, *right);
}

static void sort_names(struct engine_names *names) {
  uint32_t kept = 0;
  qsort(names->items, names->count, sizeof *names->items, compare_names);
  for (uint32_t i = 0; i < names->count; i++)
    if (!kept || strcmp(names->items[i], names->items[kept - 1]) != 0) names->items[kept++] = names->items[i];
  names->count = kept;
}

static uint32_t find_name(const struct engine_names *names, const char *name) {
  if (!name || !names->count) return HR_NONE;
  const char **found = bsearch(&name, names->items, names->count, sizeof *names->items, compare_names);
  return found ? (uint32_t)(found - names->items) : HR_NONE;
}

/* The names of a world while it is built. */
struct engine_builder {
  struct hr__kueue_engine *engine;
  const struct hr_kueue_config *config;
  struct engine_names resources, flavors, queues, cohorts;
};

/* The name of the resource of a MIG profile of the trace; NULL: memory is exhausted. */
static char *mig_resource(const struct hr__kueue_engine *self, uint32_t profile) {
  const char *name = self->jobs->mig_profiles.text[profile];
  size_t size = sizeof MIG_PREFIX + strlen(name);
  char *text = hr_arena_alloc(self->arena, size);
  if (text) snprintf(text, size, MIG_PREFIX "%s", name);
  return text;
}

/* Adds the names of the resources of quotas. If `names` has no memory yet, they are only counted. */
static void add_resources(struct engine_names *names, const struct hr_kueue_resource_group *groups, uint32_t n_groups) {
  for (uint32_t i = 0; i < n_groups; i++)
    for (uint32_t k = 0; k < groups[i].n_flavors; k++)
      for (uint32_t r = 0; r < groups[i].flavors[k].n_resources; r++, names->count++)
        if (names->items) names->items[names->count] = groups[i].flavors[k].resources[r].name;
}

static void add_quotas(struct engine_names *names, const struct hr_kueue_config *config) {
  for (uint32_t i = 0; i < config->n_cluster_queues; i++)
    add_resources(names, config->cluster_queues[i].resource_groups, config->cluster_queues[i].n_resource_groups);
  for (uint32_t i = 0; i < config->n_cohorts; i++)
    add_resources(names, config->cohorts[i].resource_groups, config->cohorts[i].n_resource_groups);
}

/* Collects the resources of all quotas and of the jobs. Returns false if memory is exhausted. */
static bool collect_resources(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  struct engine_names *names = &builder->resources;
  add_quotas(names, builder->config);
  if (!HR__ARENA_ARRAY(self->arena, names->items, names->count + 3 + self->jobs->mig_profiles.count)) return false;
  names->count = 0;
  add_quotas(names, builder->config);
  names->items[names->count++] = builder->config->gpu_resource;
  if (self->jobs->cpu_milli) names->items[names->count++] = "cpu";
  if (self->jobs->mem_mib) names->items[names->count++] = "memory";
  for (uint32_t i = 0; i < self->jobs->mig_profiles.count; i++)
    if (!(names->items[names->count++] = mig_resource(self, i))) return false;
  sort_names(names);
  return true;
}

static bool collect_names(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  const struct hr_kueue_config *config = builder->config;
  if (!HR__ARENA_ARRAY(self->arena, builder->flavors.items, config->n_flavors) ||
      !HR__ARENA_ARRAY(self->arena, builder->queues.items, config->n_cluster_queues) ||
      !HR__ARENA_ARRAY(self->arena, builder->cohorts.items, config->n_cluster_queues + 2 * config->n_cohorts))
    return false;
  for (uint32_t i = 0; i < config->n_flavors; i++)
    builder->flavors.items[builder->flavors.count++] = config->flavors[i].name;
  for (uint32_t i = 0; i < config->n_cluster_queues; i++) {
    builder->queues.items[builder->queues.count++] = config->cluster_queues[i].name;
    if (config->cluster_queues[i].cohort)
      builder->cohorts.items[builder->cohorts.count++] = config->cluster_queues[i].cohort;
  }
  for (uint32_t i = 0; i < config->n_cohorts; i++) {
    builder->cohorts.items[builder->cohorts.count++] = config->cohorts[i].name;
    if (config->cohorts[i].parent) builder->cohorts.items[builder->cohorts.count++] = config->cohorts[i].parent;
  }
  sort_names(&builder->flavors);
  sort_names(&builder->queues);
  sort_names(&builder->cohorts);
  return collect_resources(builder);
}

/* ---- Labels, taints and tolerations --------------------------------------------------------------------- */

static bool build_labels(struct hr__kueue_engine *self, const struct hr_kueue_node_label *from, uint32_t count,
                         struct hr__kueue_labels *out) {
  struct hr__kueue_label *items;
  if (!HR__ARENA_ARRAY(self->arena, items, count)) return false;
  for (uint32_t i = 0; i < count; i++) items[i] = (struct hr__kueue_label){from[i].key, from[i].value};
  *out = (struct hr__kueue_labels){items, count};
  return true;
}

static bool build_tolerations(struct hr__kueue_engine *self, const struct hr_kueue_pod_toleration *from, uint32_t count,
                              struct hr__kueue_tolerations *out) {
  struct hr__kueue_toleration *items;
  if (!HR__ARENA_ARRAY(self->arena, items, count)) return false;
  for (uint32_t i = 0; i < count; i++)
    items[i] = (struct hr__kueue_toleration){.key = from[i].key,
                                             .value = from[i].value,
                                             .exists = from[i].operation == HR_KUEUE_EXISTS,
                                             .effect = (enum hr__kueue_effect)from[i].effect};
  *out = (struct hr__kueue_tolerations){items, count};
  return true;
}

static bool build_taints(struct hr__kueue_engine *self, const struct hr_kueue_flavor_config *from,
                         struct hr__kueue_taints *out) {
  struct hr__kueue_taint *items;
  if (!HR__ARENA_ARRAY(self->arena, items, from->n_node_taints)) return false;
  for (uint32_t i = 0; i < from->n_node_taints; i++)
    items[i] = (struct hr__kueue_taint){from->node_taints[i].key, from->node_taints[i].value,
                                        (enum hr__kueue_effect)from->node_taints[i].effect};
  *out = (struct hr__kueue_taints){items, from->n_node_taints};
  return true;
}

/* ---- Flavors ---------------------------------------------------------------------------------------- */

static void set_pools(struct hr__kueue_engine *self, const struct hr_kueue_flavor_config *from, uint64_t *pools) {
  for (uint32_t p = 0; p < self->n_pools; p++) {
    bool has = from->n_pools == 0;
    for (uint32_t i = 0; i < from->n_pools; i++)
      has |= strcmp(from->pools[i], hr_cluster_pool_spec(self->cluster, (hr_pool){p})->name) == 0;
    if (has) pools[p / 64] |= UINT64_C(1) << p % 64;
  }
}

static bool build_flavors(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  uint32_t count = self->world.n_flavors = builder->flavors.count;
  self->n_pools = hr_cluster_pools(self->cluster);
  self->pool_words = (self->n_pools + 63) / 64;
  if (!HR__ARENA_ARRAY(self->arena, self->world.flavors, count) ||
      !HR__ARENA_ARRAY(self->arena, self->flavor_pools, (size_t)count * self->pool_words))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr_kueue_flavor_config *from = &builder->config->flavors[i];
    uint32_t at = find_name(&builder->flavors, from->name);
    struct hr__kueue_flavor *flavor = &self->world.flavors[at];
    *flavor = (struct hr__kueue_flavor){.name = from->name, .exists = true, .topology = from->topology};
    set_pools(self, from, self->flavor_pools + (size_t)at * self->pool_words);
    if (!build_labels(self, from->node_labels, from->n_node_labels, &flavor->labels) ||
        !build_tolerations(self, from->tolerations, from->n_tolerations, &flavor->tolerations) ||
        !build_taints(self, from, &flavor->taints))
      return false;
  }
  return true;
}

/* ---- Quotas ----------------------------------------------------------------------------------------- */

static int64_t scaled(const struct engine_builder *builder, uint32_t resource, int64_t amount) {
  if (amount == HR_KUEUE_NO_LIMIT) return HR__KUEUE_UNLIMITED;
  return resource == builder->engine->gpu ? hr__kueue_times(amount, GPU_UNIT) : amount;
}

/* Sets the quotas of a node of the tree. `out` receives the groups of a queue; NULL: the node is a cohort. Returns
   false if memory is exhausted. */
static bool build_groups(struct engine_builder *builder, uint32_t node, const struct hr_kueue_resource_group *groups,
                         uint32_t n_groups, struct hr__kueue_group *out) {
  struct hr__kueue_tree *tree = &builder->engine->world.tree;
  for (uint32_t i = 0; i < n_groups; i++) {
    const struct hr_kueue_resource_group *group = &groups[i];
    uint32_t n_resources = group->n_flavors ? group->flavors[0].n_resources : 0;
    uint32_t *flavors, *resources;
    if (!HR__ARENA_ARRAY(builder->engine->arena, flavors, group->n_flavors) ||
        !HR__ARENA_ARRAY(builder->engine->arena, resources, n_resources))
      return false;
    for (uint32_t r = 0; r < n_resources; r++)
      resources[r] = find_name(&builder->resources, group->flavors[0].resources[r].name);
    for (uint32_t k = 0; k < group->n_flavors; k++) {
      flavors[k] = find_name(&builder->flavors, group->flavors[k].name);
      for (uint32_t r = 0; r < group->flavors[k].n_resources; r++) {
        const struct hr_kueue_quota *quota = &group->flavors[k].resources[r];
        uint32_t resource = find_name(&builder->resources, quota->name);
        size_t at = hr__kueue_cell(tree, node, hr__kueue_pair(&builder->engine->world, flavors[k], resource));
        tree->has_quota[at] = true;
        tree->nominal[at] = scaled(builder, resource, quota->nominal);
        tree->borrowing[at] = scaled(builder, resource, quota->borrowing_limit);
        tree->lending[at] = scaled(builder, resource, quota->lending_limit);
      }
    }
    if (out) out[i] = (struct hr__kueue_group){flavors, resources, group->n_flavors, n_resources};
  }
  return true;
}

static bool allocate_tree(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  struct hr__kueue_tree *tree = &self->world.tree;
  tree->n_queues = builder->queues.count;
  tree->n_nodes = builder->queues.count + builder->cohorts.count;
  tree->n_pairs = self->world.n_pairs = self->world.n_flavors * self->world.n_resources;
  size_t cells = (size_t)tree->n_nodes * tree->n_pairs, n = tree->n_nodes;
  struct hr_arena *arena = self->arena;
  if (!HR__ARENA_ARRAY(arena, tree->parent, n) || !HR__ARENA_ARRAY(arena, tree->child_start, n) ||
      !HR__ARENA_ARRAY(arena, tree->children, n) || !HR__ARENA_ARRAY(arena, tree->height, n) ||
      !HR__ARENA_ARRAY(arena, tree->weight, n) || !HR__ARENA_ARRAY(arena, tree->has_quota, cells) ||
      !HR__ARENA_ARRAY(arena, tree->nominal, cells) || !HR__ARENA_ARRAY(arena, tree->borrowing, cells) ||
      !HR__ARENA_ARRAY(arena, tree->lending, cells) || !HR__ARENA_ARRAY(arena, tree->subtree, cells) ||
      !HR__ARENA_ARRAY(arena, tree->usage, cells) || !HR__ARENA_ARRAY(arena, self->world.queues, n) ||
      !HR__ARENA_ARRAY(arena, self->queue_configs, n))
    return false;
  for (uint32_t i = 0; i < tree->n_nodes; i++) {
    tree->parent[i] = HR_NONE;
    tree->weight[i] = 1;
  }
  for (size_t i = 0; i < cells; i++) tree->borrowing[i] = tree->lending[i] = HR__KUEUE_UNLIMITED;
  return true;
}

static enum hr__kueue_policy policy_of(enum hr_kueue_preemption_policy policy) {
  static const enum hr__kueue_policy policies[] = {[HR_KUEUE_NEVER] = HR__KUEUE_POLICY_NEVER,
                                                   [HR_KUEUE_LOWER_PRIORITY] = HR__KUEUE_POLICY_LOWER,
                                                   [HR_KUEUE_LOWER_OR_NEWER] = HR__KUEUE_POLICY_LOWER_OR_NEWER,
                                                   [HR_KUEUE_ANY] = HR__KUEUE_POLICY_ANY};
  return policies[policy];
}

static void set_rules(const struct hr_kueue_cluster_queue *from, struct hr__kueue_queue *queue) {
  const struct hr_kueue_borrow_within_cohort *borrow = &from->preemption.borrow_within_cohort;
  queue->preemption.within_queue = policy_of(from->preemption.within_cluster_queue);
  queue->preemption.reclaim = policy_of(from->preemption.reclaim_within_cohort);
  queue->preemption.borrow = borrow->policy != HR_KUEUE_NEVER;
  queue->preemption.has_threshold = borrow->max_priority_threshold != HR_KUEUE_NO_LIMIT;
  queue->preemption.threshold = queue->preemption.has_threshold ? borrow->max_priority_threshold : 0;
  queue->fungibility.borrow_next = from->flavor_fungibility.when_can_borrow == HR_KUEUE_TRY_NEXT_FLAVOR;
  queue->fungibility.preempt_next = from->flavor_fungibility.when_can_preempt == HR_KUEUE_TRY_NEXT_FLAVOR;
  queue->fungibility.preemption_first = from->flavor_fungibility.preference == HR_KUEUE_PREEMPTION_FIRST;
  queue->strict = from->queueing_strategy == HR_KUEUE_STRICT_FIFO;
  queue->inactive = from->stop_policy != HR_KUEUE_STOP_NONE;
  queue->usage_based = from->admission_mode == HR_KUEUE_USAGE_BASED;
}

static bool build_queues(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  struct hr__kueue_tree *tree = &self->world.tree;
  for (uint32_t i = 0; i < builder->config->n_cluster_queues; i++) {
    const struct hr_kueue_cluster_queue *from = &builder->config->cluster_queues[i];
    uint32_t node = find_name(&builder->queues, from->name), cohort = find_name(&builder->cohorts, from->cohort);
    struct hr__kueue_group *groups;
    struct hr__kueue_queue *queue = &self->world.queues[node];
    if (!HR__ARENA_ARRAY(self->arena, groups, from->n_resource_groups)) return false;
    *queue = (struct hr__kueue_queue){.name = from->name,
                                      .groups = groups,
                                      .n_groups = from->n_resource_groups,
                                      .first_admitted = HR_NONE,
                                      .least_preferred = HR_NONE};
    set_rules(from, queue);
    self->queue_configs[node] = from;
    tree->weight[node] = from->fair_weight;
    tree->parent[node] = cohort == HR_NONE ? HR_NONE : tree->n_queues + cohort;
    if (!build_groups(builder, node, from->resource_groups, from->n_resource_groups, groups)) return false;
  }
  return true;
}

static bool build_cohorts(struct engine_builder *builder) {
  struct hr__kueue_tree *tree = &builder->engine->world.tree;
  builder->engine->world.cohorts = builder->cohorts.items;
  for (uint32_t i = 0; i < builder->config->n_cohorts; i++) {
    const struct hr_kueue_cohort *from = &builder->config->cohorts[i];
    uint32_t node = tree->n_queues + find_name(&builder->cohorts, from->name);
    uint32_t parent = find_name(&builder->cohorts, from->parent);
    tree->weight[node] = from->fair_weight;
    tree->parent[node] = parent == HR_NONE ? HR_NONE : tree->n_queues + parent;
    if (!build_groups(builder, node, from->resource_groups, from->n_resource_groups, NULL)) return false;
  }
  return true;
}

/* ---- Local queues ----------------------------------------------------------------------------------- */

static bool build_local_queues(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  const struct hr_kueue_config *config = builder->config;
  uint32_t count = self->world.n_local_queues = config->n_local_queues;
  if (!HR__ARENA_ARRAY(self->arena, self->world.local_queues, count) ||
      !HR__ARENA_ARRAY(self->arena, self->local_configs, count) ||
      !HR__ARENA_ARRAY(self->arena, self->selectors, count))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr_kueue_local_queue_config *from = &config->local_queues[i];
    self->local_configs[i] = from;
    self->world.local_queues[i] = (struct hr__kueue_local_queue){
        .name = from->name, .queue = find_name(&builder->queues, from->cluster_queue), .weight = from->fair_weight};
    if (!build_labels(self, from->node_selector, from->n_node_selector, &self->selectors[i].labels) ||
        !build_tolerations(self, from->tolerations, from->n_tolerations, &self->selectors[i].tolerations))
      return false;
  }
  return true;
}

/* The queue that a job names, as indices of the world's queues; both HR_NONE: no such queue. */
static struct hr__kueue_destination look_up(const struct hr__kueue_engine *self, uint32_t job) {
  struct hr__kueue_destination found = find_destination(self->config, self->jobs, job);
  for (uint32_t node = 0; found.queue != HR_NONE && node < self->world.tree.n_queues; node++)
    if (self->queue_configs[node] == &self->config->cluster_queues[found.queue])
      return (struct hr__kueue_destination){found.local_queue, node};
  return (struct hr__kueue_destination){HR_NONE, HR_NONE};
}

bool hr__kueue_destination_of(struct hr__kueue_engine *self, uint32_t job, struct hr__kueue_destination *destination) {
  const struct hr_trace *jobs = self->jobs;
  *destination = (struct hr__kueue_destination){HR_NONE, 0};
  if (!self->config) return true;
  struct hr__pair names = {jobs->queue ? jobs->queue[job] : HR_NONE, jobs->tenant ? jobs->tenant[job] : HR_NONE};
  uint32_t at = hr__pair_map_find(&self->destination_at, names);
  if (at != HR_NONE) {
    *destination = self->destinations[at];
    return true;
  }
  *destination = look_up(self, job);
  if (!HR__ARENA_HAS_ROOM(self->arena, self->destinations, self->n_destinations, self->destinations_capacity))
    return false;
  self->destinations[self->n_destinations] = *destination;
  return hr__pair_map_add(&self->destination_at, self->arena, names, self->n_destinations++);
}

int64_t hr__kueue_priority_of(const struct hr__kueue_engine *self, uint32_t job) {
  const uint32_t index = self->jobs->qos ? self->jobs->qos[job] : HR_NONE;
  const char *qos = index < self->jobs->qos_names.count ? self->jobs->qos_names.text[index] : NULL;
  for (uint32_t i = 0; qos && self->config && i < self->config->n_priority_classes; i++)
    if (strcmp(self->config->priority_classes[i].name, qos) == 0) return self->config->priority_classes[i].value;
  return self->jobs->priority ? self->jobs->priority[job] : 0;
}

/* ---- Settings --------------------------------------------------------------------------------------- */

static bool set_resources(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  const struct hr_kueue_config *config = builder->config;
  self->world.resources = builder->resources.items;
  self->world.n_resources = builder->resources.count;
  self->world.pods = find_name(&builder->resources, "pods");
  self->gpu = find_name(&builder->resources, config->gpu_resource);
  self->cpu = find_name(&builder->resources, "cpu");
  self->memory = find_name(&builder->resources, "memory");
  if (!HR__ARENA_ARRAY(self->arena, self->mig, self->jobs->mig_profiles.count) ||
      !HR__ARENA_ARRAY(self->arena, self->is_excluded, self->world.n_resources))
    return false;
  for (uint32_t i = 0; i < self->jobs->mig_profiles.count; i++) {
    const char *text = mig_resource(self, i);
    if (!text) return false;
    self->mig[i] = find_name(&builder->resources, text);
  }
  for (uint32_t i = 0; i < self->world.n_resources; i++)
    for (uint32_t k = 0; k < config->n_excluded_resources; k++)
      self->is_excluded[i] |=
          strncmp(self->world.resources[i], config->excluded_resources[k], strlen(config->excluded_resources[k])) == 0;
  return true;
}

static void set_settings(struct engine_builder *builder) {
  struct hr__kueue_engine *self = builder->engine;
  const struct hr_kueue_config *config = builder->config;
  const struct hr_kueue_wait_for_pods_ready *ready = &config->wait_for_pods_ready;
  struct hr__kueue_world *world = &self->world;
  world->gates = config->gates;
  world->fair_sharing = config->fair_sharing.enable;
  world->n_strategies = config->fair_sharing.n_preemption_strategies;
  for (uint32_t i = 0; i < world->n_strategies; i++)
    world->strategies[i] = (enum hr__kueue_fair_strategy)config->fair_sharing.preemption_strategies[i];
  if (!world->n_strategies) {
    world->n_strategies = 2;
    world->strategies[0] = HR__KUEUE_FINAL_SHARE;
    world->strategies[1] = HR__KUEUE_INITIAL_SHARE;
  }
  world->admission_fair_sharing =
      config->admission_fair_sharing.enable && hr__kueue_has_gate(world, HR__KUEUE_BIT_ADMISSION_FAIR_SHARING);
  world->max_pod_sets = 1;
  int64_t limit = ready->requeuing_strategy.backoff_limit_count, recovery_us = ready->recovery_timeout_us;
  self->ready = (struct hr__kueue_ready_rules){
      .timeout_us = ready->enable ? ready->timeout_us : HR__KUEUE_NO_TIME,
      .recovery_timeout_us = ready->enable && recovery_us != HR_KUEUE_NO_LIMIT ? recovery_us : HR__KUEUE_NO_TIME,
      .backoff_limit = limit == HR_KUEUE_NO_LIMIT ? -1 : limit,
      .backoff_base_us = ready->requeuing_strategy.backoff_base_us,
      .backoff_max_us = ready->requeuing_strategy.backoff_max_us};
}

static bool create_usage(struct hr__kueue_engine *self, const struct hr_kueue_config *config) {
  size_t cells = (size_t)self->world.n_local_queues * self->world.n_resources;
  if (!HR__ARENA_ARRAY(self->arena, self->consumed, cells) || !HR__ARENA_ARRAY(self->arena, self->penalty, cells) ||
      !HR__ARENA_ARRAY(self->arena, self->weights, self->world.n_resources))
    return false;
  for (uint32_t i = 0; i < self->world.n_resources; i++) {
    self->weights[i] = 1;
    for (uint32_t k = 0; k < config->admission_fair_sharing.n_resource_weights; k++)
      if (strcmp(config->admission_fair_sharing.resource_weights[k].name, self->world.resources[i]) == 0)
        self->weights[i] = config->admission_fair_sharing.resource_weights[k].weight;
  }
  return true;
}

/* ---- Without configuration -------------------------------------------------------------------------- */

static uint64_t count_gpus(const struct hr_cluster *cluster) {
  uint64_t sum = 0;
  for (uint32_t p = 0; p < hr_cluster_pools(cluster); p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster, (hr_pool){p});
    sum += (uint64_t)spec->nodes * spec->gpus_per_node;
  }
  return sum;
}

/* Creates a configuration with one queue and one flavor. All resources except GPUs have no limit. NULL: memory is
   exhausted. */
static struct hr_kueue_config *create_default(struct hr__kueue_engine *self) {
  static char name[] = "default", gpus[] = "nvidia.com/gpu", cpu[] = "cpu", memory[] = "memory";
  uint32_t n_mig = self->jobs->mig_profiles.count, n = 0;
  struct {
    struct hr_kueue_config config;
    struct hr_kueue_flavor_config flavor;
    struct hr_kueue_cluster_queue queue;
    struct hr_kueue_resource_group group;
    struct hr_kueue_flavor_quotas quotas;
  } *all = hr_arena_alloc(self->arena, sizeof *all);
  struct hr_kueue_quota *quota;
  if (!all || !HR__ARENA_ARRAY(self->arena, quota, n_mig + 3)) return NULL;
  quota[n++] = (struct hr_kueue_quota){gpus, (int64_t)count_gpus(self->cluster), HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT};
  if (self->jobs->cpu_milli)
    quota[n++] = (struct hr_kueue_quota){cpu, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT};
  if (self->jobs->mem_mib)
    quota[n++] = (struct hr_kueue_quota){memory, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT};
  for (uint32_t i = 0; i < n_mig; i++) {
    char *text = mig_resource(self, i);
    if (!text) return NULL;
    quota[n++] = (struct hr_kueue_quota){text, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT};
  }
  all->quotas = (struct hr_kueue_flavor_quotas){name, quota, n};
  all->group = (struct hr_kueue_resource_group){.flavors = &all->quotas, .n_flavors = 1};
  all->flavor.name = name;
  all->queue = (struct hr_kueue_cluster_queue){
      .name = name, .resource_groups = &all->group, .n_resource_groups = 1, .fair_weight = 1};
  all->queue.preemption.borrow_within_cohort.max_priority_threshold = HR_KUEUE_NO_LIMIT;
  all->queue.flavor_fungibility.when_can_preempt = HR_KUEUE_TRY_NEXT_FLAVOR;
  all->config = (struct hr_kueue_config){.gates = hr__kueue_gates_of_version(HR__KUEUE_NEWEST_VERSION),
                                         .gpu_resource = gpus,
                                         .flavors = &all->flavor,
                                         .cluster_queues = &all->queue,
                                         .n_flavors = 1,
                                         .n_cluster_queues = 1};
  return &all->config;
}

/* Stores the values of hr__kueue_lendable, which do not change, and allocates the memory for known shares. */
static bool note_shares(struct hr__kueue_engine *self) {
  struct hr__kueue_world *world = &self->world;
  int64_t *lendable;
  if (!HR__ARENA_ARRAY(self->arena, lendable, (size_t)world->tree.n_nodes * world->n_resources) ||
      !HR__ARENA_ARRAY(self->arena, world->known_shares, world->tree.n_nodes) ||
      !HR__ARENA_ARRAY(self->arena, world->tree.version, world->tree.n_nodes))
    return false;
  for (uint32_t node = 0; node < world->tree.n_nodes; node++) {
    world->tree.version[node] = ++world->tree.version[world->tree.n_nodes];
    for (uint32_t resource = 0; resource < world->n_resources; resource++)
      lendable[(size_t)node * world->n_resources + resource] = hr__kueue_lendable(world, node, resource);
  }
  world->lendable = lendable;
  return true;
}

enum hr_status hr__kueue_world_build(struct hr__kueue_engine *self) {
  const struct hr_kueue_config *config = self->config ? self->config : create_default(self);
  if (!config) return HR_NO_MEMORY;
  struct engine_builder builder = {.engine = self, .config = config};
  if (!collect_names(&builder) || !set_resources(&builder) || !build_flavors(&builder) || !allocate_tree(&builder) ||
      !build_queues(&builder) || !build_cohorts(&builder) || !build_local_queues(&builder) ||
      !create_usage(self, config))
    return HR_NO_MEMORY;
  set_settings(&builder);
  hr__kueue_tree_prepare(&self->world.tree);
  if (!note_shares(self) || !hr__kueue_topology_build(self, config)) return HR_NO_MEMORY;
  return HR_OK;
}
