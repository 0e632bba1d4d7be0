/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads flavors, ClusterQueues, cohorts, local queues and settings of a Kueue case into a world. Every node of the tree
   of quotas gets its row of pairs; the cached columns of the tree are computed at the end. */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/kueue.h"

#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Flavors ---- */

static void read_flavor(struct hr__kueue_case *self, const cJSON *json) {
  uint32_t id = hr__kueue_name_find(&self->flavors, hr__case_text(json, "name", NULL));
  if (id == HR_NONE) return;
  struct hr__kueue_flavor *flavor = &self->world.flavors[id];
  flavor->exists = true;
  flavor->labels = hr__kueue_case_labels(self, hr__case_get(json, "nodeLabels"));
  flavor->taints = hr__kueue_case_taints(self, hr__case_get(json, "taints"));
  flavor->tolerations = hr__kueue_case_tolerations(self, hr__case_get(json, "tolerations"));
  flavor->topology = hr__case_text(json, "topology", NULL);
}

static bool read_flavors(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  world->flavors = ALLOC(self, world->n_flavors + 1, struct hr__kueue_flavor);
  if (!world->flavors) return false;
  for (uint32_t i = 0; i < world->n_flavors; i++) world->flavors[i].name = self->flavors.items[i];
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "resourceFlavors")) read_flavor(self, item);
  return true;
}

/* ---- Quotas ---- */

static void read_quota(struct hr__kueue_case *self, uint32_t node, uint32_t flavor, const cJSON *json) {
  struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t resource = hr__kueue_name_find(&self->resources, hr__case_text(json, "name", NULL));
  if (resource == HR_NONE) return;
  size_t at = (size_t)node * tree->n_pairs + hr__kueue_pair(&self->world, flavor, resource);
  tree->has_quota[at] = true;
  tree->nominal[at] = hr__case_whole(json, "nominal", 0);
  tree->borrowing[at] = hr__case_whole(json, "borrowingLimit", HR__KUEUE_UNLIMITED);
  tree->lending[at] = hr__case_whole(json, "lendingLimit", HR__KUEUE_UNLIMITED);
}

/* Reads a resource group. `out` may be NULL. */
static bool read_group(struct hr__kueue_case *self, uint32_t node, const cJSON *json, struct hr__kueue_group *out) {
  const cJSON *flavors = hr__case_get(json, "flavors"), *flavor, *resource;
  uint32_t *ids = ALLOC(self, hr__case_count(json, "flavors") + 1, uint32_t);
  bool *covered = ALLOC(self, self->resources.count + 1, bool);
  uint32_t *resources = ALLOC(self, self->resources.count + 1, uint32_t), n_flavors = 0, n_resources = 0;
  if (!ids || !covered || !resources) return false;
  cJSON_ArrayForEach(flavor, flavors) {
    uint32_t id = hr__kueue_name_find(&self->flavors, hr__case_text(flavor, "name", NULL));
    if (id == HR_NONE) continue;
    ids[n_flavors++] = id;
    cJSON_ArrayForEach(resource, hr__case_get(flavor, "resources")) {
      uint32_t at = hr__kueue_name_find(&self->resources, hr__case_text(resource, "name", NULL));
      if (at != HR_NONE) covered[at] = true;
      read_quota(self, node, id, resource);
    }
  }
  for (uint32_t i = 0; i < self->resources.count; i++)
    if (covered[i]) resources[n_resources++] = i;
  if (out)
    *out = (struct hr__kueue_group){
        .flavors = ids, .resources = resources, .n_flavors = n_flavors, .n_resources = n_resources};
  return true;
}

static enum hr__kueue_policy read_policy(const cJSON *block, const char *name) {
  static const char *const names[] = {"Never", "", "LowerPriority", "LowerOrNewerEqualPriority", "Any"};
  const char *text = hr__case_text(block, name, block ? "" : "Never");
  for (int i = 0; i < 5; i++)
    if (strcmp(names[i], text) == 0) return (enum hr__kueue_policy)i;
  return HR__KUEUE_POLICY_UNSET;
}

static void read_rules(const cJSON *json, struct hr__kueue_queue *queue) {
  const cJSON *block = hr__case_get(json, "preemption"), *borrow = hr__case_get(block, "borrowWithinCohort"),
              *fungibility = hr__case_get(json, "flavorFungibility");
  queue->preemption.within_queue = read_policy(block, "withinClusterQueue");
  queue->preemption.reclaim = read_policy(block, "reclaimWithinCohort");
  queue->preemption.borrow = borrow && !hr__case_text_is(borrow, "policy", "Never");
  queue->preemption.has_threshold = hr__case_get(borrow, "maxPriorityThreshold") != NULL;
  queue->preemption.threshold = hr__case_whole(borrow, "maxPriorityThreshold", 0);
  queue->fungibility.borrow_next = hr__case_text_is(fungibility, "whenCanBorrow", "TryNextFlavor");
  queue->fungibility.preempt_next =
      strcmp(hr__case_text(fungibility, "whenCanPreempt", "TryNextFlavor"), "TryNextFlavor") == 0;
  queue->fungibility.preemption_first = hr__case_text_is(fungibility, "preference", "PreemptionOverBorrowing");
  queue->strict = hr__case_text_is(json, "queueingStrategy", "StrictFIFO");
  queue->usage_based = hr__case_text_is(json, "admissionMode", "UsageBasedAdmissionFairSharing");
  queue->inactive = !strcmp(hr__case_text(json, "stopPolicy", "None"), "None") ? false : true;
}

/* Whether the admission check of a queue provisions nodes. `check` is its name, or an object {name, onFlavors}. */
static bool provisions(const struct hr__kueue_case *self, const cJSON *check) {
  const char *name = cJSON_IsString(check) ? check->valuestring : hr__case_text(check, "name", "");
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "admissionChecks")) if (
      hr__case_text_is(item, "name", name)) return hr__case_text_is(item, "controller",
                                                                    "kueue.x-k8s.io/provisioning-request");
  return false;
}

static bool read_checks(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_queue *queue) {
  const cJSON *check, *flavor;
  cJSON_ArrayForEach(check, hr__case_get(json, "admissionChecks")) {
    if (!provisions(self, check)) continue;
    bool *delays = ALLOC(self, self->flavors.count + 1, bool);
    if (!delays) return false;
    const cJSON *flavors = hr__case_get(check, "onFlavors");
    for (uint32_t i = 0; i < self->flavors.count; i++) {
      bool applies = !cJSON_GetArraySize(flavors);
      cJSON_ArrayForEach(flavor, flavors) applies |=
          cJSON_IsString(flavor) && strcmp(flavor->valuestring, self->flavors.items[i]) == 0;
      delays[i] = applies || (queue->delays && queue->delays[i]);
    }
    queue->delays = delays;
  }
  return true;
}

/* The member minPreferredFlavorName, or what the test's builder of the same name was given. */
static const char *least_preferred(const cJSON *json) {
  const cJSON *other = hr__case_get(hr__case_get(json, "other"), "MinPreferredFlavorName");
  if (cJSON_IsArray(other)) other = cJSON_GetArrayItem(other, 0);
  return cJSON_IsString(other) ? other->valuestring : hr__case_text(json, "minPreferredFlavorName", NULL);
}

static bool read_queue(struct hr__kueue_case *self, const cJSON *json) {
  uint32_t node = hr__kueue_name_find(&self->queues, hr__case_text(json, "name", NULL)), at = 0;
  if (node == HR_NONE) return true;
  struct hr__kueue_queue *queue = &self->world.queues[node];
  struct hr__kueue_group *groups = ALLOC(self, hr__case_count(json, "resourceGroups") + 1, struct hr__kueue_group);
  if (!groups) return false;
  const cJSON *group;
  cJSON_ArrayForEach(
      group, hr__case_get(json, "resourceGroups")) if (!read_group(self, node, group, &groups[at++])) return false;
  *queue = (struct hr__kueue_queue){.name = self->queues.items[node], .first_admitted = HR_NONE};
  queue->groups = groups;
  queue->n_groups = at;
  read_rules(json, queue);
  if (!read_checks(self, json, queue)) return false;
  queue->least_preferred = hr__kueue_name_find(&self->flavors, least_preferred(json));
  for (uint32_t i = 0; i < at; i++)
    for (uint32_t k = 0; k < groups[i].n_flavors; k++)
      if (!self->world.flavors[groups[i].flavors[k]].exists) queue->inactive = true;
  self->world.tree.weight[node] = hr__case_real(json, "fairWeight", 1);
  uint32_t cohort = hr__kueue_name_find(&self->cohorts, hr__case_text(json, "cohort", NULL));
  self->world.tree.parent[node] = cohort == HR_NONE ? HR_NONE : self->world.tree.n_queues + cohort;
  return true;
}

static bool read_cohort(struct hr__kueue_case *self, const cJSON *json) {
  struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t node = hr__kueue_name_find(&self->cohorts, hr__case_text(json, "name", NULL));
  if (node == HR_NONE) return true;
  node += tree->n_queues;
  uint32_t parent = hr__kueue_name_find(&self->cohorts, hr__case_text(json, "parent", NULL));
  tree->parent[node] = parent == HR_NONE ? HR_NONE : tree->n_queues + parent;
  tree->weight[node] = hr__case_real(json, "fairWeight", 1);
  const cJSON *group;
  cJSON_ArrayForEach(group,
                     hr__case_get(json, "resourceGroups")) if (!read_group(self, node, group, NULL)) return false;
  return true;
}

static bool allocate_tree(struct hr__kueue_case *self) {
  struct hr__kueue_tree *tree = &self->world.tree;
  tree->n_queues = self->queues.count;
  tree->n_nodes = self->queues.count + self->cohorts.count;
  tree->n_pairs = self->world.n_pairs;
  size_t cells = (size_t)tree->n_nodes * tree->n_pairs + 1, n = tree->n_nodes + 2;
  tree->parent = ALLOC(self, n, uint32_t);
  tree->child_start = ALLOC(self, n, uint32_t);
  tree->children = ALLOC(self, n, uint32_t);
  tree->height = ALLOC(self, n, uint32_t);
  tree->weight = ALLOC(self, n, double);
  tree->has_quota = ALLOC(self, cells, bool);
  tree->nominal = ALLOC(self, cells, int64_t);
  tree->borrowing = ALLOC(self, cells, int64_t);
  tree->lending = ALLOC(self, cells, int64_t);
  tree->subtree = ALLOC(self, cells, int64_t);
  tree->usage = ALLOC(self, cells, int64_t);
  self->world.queues = ALLOC(self, n, struct hr__kueue_queue);
  if (self->verdict->no_memory) return false;
  for (uint32_t i = 0; i < tree->n_nodes; i++) {
    tree->parent[i] = HR_NONE;
    tree->weight[i] = 1;
  }
  for (size_t i = 0; i < cells; i++) tree->borrowing[i] = tree->lending[i] = HR__KUEUE_UNLIMITED;
  return true;
}

/* Queues below a cycle of cohorts are inactive and have no parent. */
static void cut_cycles(struct hr__kueue_world *world) {
  struct hr__kueue_tree *tree = &world->tree;
  for (uint32_t node = 0; node < tree->n_nodes; node++) {
    uint32_t at = node, steps = 0;
    while (at != HR_NONE && steps++ <= tree->n_nodes) at = tree->parent[at];
    if (at == HR_NONE) continue;
    tree->parent[node] = HR_NONE;
    if (node < tree->n_queues) world->queues[node].inactive = true;
  }
}

static bool read_tree(struct hr__kueue_case *self) {
  if (!allocate_tree(self)) return false;
  self->world.cohorts = self->cohorts.items;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "cohorts")) if (!read_cohort(self, item)) return false;
  for (uint32_t i = 0; i < self->n_queue_json; i++)
    if (!read_queue(self, self->queue_json[i])) return false;
  cut_cycles(&self->world);
  hr__kueue_tree_prepare(&self->world.tree);
  return true;
}

/* ---- Settings ---- */

static bool read_local_queues(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  const cJSON *item, *list = hr__case_get(self->input, "localQueues");
  world->local_queues = ALLOC(self, hr__case_count(self->input, "localQueues") + 1, struct hr__kueue_local_queue);
  if (!world->local_queues) return false;
  cJSON_ArrayForEach(item, list) {
    world->local_queues[world->n_local_queues++] = (struct hr__kueue_local_queue){
        .name = hr__kueue_case_key(self, item),
        .queue = hr__kueue_name_find(&self->queues, hr__case_text(item, "clusterQueue", NULL)),
        .weight = hr__case_real(hr__case_get(item, "fairSharing"), "weight", 1)};
  }
  return true;
}

static void read_settings(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  world->gates = hr__kueue_gates_of_version((int)hr__case_whole(self->input, "version", HR__KUEUE_NEWEST_VERSION));
  const cJSON *gate, *fair = hr__case_get(self->input, "fairSharing"), *item;
  cJSON_ArrayForEach(gate, hr__case_get(self->input, "featureGates"))
      hr__kueue_gates_set(&world->gates, gate->string, cJSON_IsTrue(gate));
  world->fair_sharing = fair && !cJSON_IsFalse(fair);
  cJSON_ArrayForEach(item, hr__case_get(fair, "strategies")) {
    if (!cJSON_IsString(item) || world->n_strategies == 2) continue;
    world->strategies[world->n_strategies++] =
        strcmp(item->valuestring, "LessThanInitialShare") == 0 ? HR__KUEUE_INITIAL_SHARE : HR__KUEUE_FINAL_SHARE;
  }
  if (!world->n_strategies) {
    world->n_strategies = 2;
    world->strategies[0] = HR__KUEUE_FINAL_SHARE;
    world->strategies[1] = HR__KUEUE_INITIAL_SHARE;
  }
  world->now_us = hr__kueue_case_time(self->input, "now", 0);
  world->ignore_undeclared = hr__case_text_is(self->input, "quotaCheckStrategy", "IgnoreUndeclared");
  self->requeuing = hr__case_text(self->input, "requeuingTimestamp", "Eviction");
}

static bool find_queues(struct hr__kueue_case *self) {
  const cJSON *list = hr__case_get(self->input, "clusterQueues"), *one = hr__case_get(self->input, "cq"), *item;
  if (!one) one = hr__case_get(self->input, "clusterQueue");
  const cJSON *siblings = hr__case_get(self->input, "siblingCQs");
  uint32_t bound = (uint32_t)(cJSON_GetArraySize(list) + cJSON_GetArraySize(siblings)) + 2;
  self->queue_json = ALLOC(self, bound, const cJSON *);
  if (!self->queue_json) return false;
  if (cJSON_IsObject(one)) self->queue_json[self->n_queue_json++] = one;
  cJSON_ArrayForEach(item, list) self->queue_json[self->n_queue_json++] = item;
  cJSON_ArrayForEach(item, siblings) self->queue_json[self->n_queue_json++] = item;
  return true;
}

bool hr__kueue_case_begin(struct hr__kueue_case *self, const cJSON *whole, struct hr__verdict *verdict) {
  *self = (struct hr__kueue_case){.verdict = verdict, .input = hr__case_get(whole, "input")};
  if (!find_queues(self)) return false;
  hr__kueue_case_collect(self);
  if (verdict->no_memory) return false;
  struct hr__kueue_world *world = &self->world;
  world->n_resources = self->resources.count;
  world->resources = self->resources.items;
  world->n_flavors = self->flavors.count;
  world->n_pairs = world->n_resources * world->n_flavors;
  world->pods = hr__kueue_name_find(&self->resources, "pods");
  read_settings(self);
  return read_flavors(self) && read_tree(self) && read_local_queues(self);
}

bool hr__kueue_read_allowed(struct hr__kueue_case *self, const cJSON *list, struct hr__kueue_workload *workload) {
  if (!list) return true;
  uint32_t *allowed = hr__verdict_alloc(self->verdict, (size_t)cJSON_GetArraySize(list) + 1, sizeof *allowed);
  if (!allowed) return false;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    uint32_t flavor = hr__kueue_name_find(&self->flavors, cJSON_IsString(item) ? item->valuestring : NULL);
    if (flavor != HR_NONE) allowed[workload->n_allowed++] = flavor;
  }
  workload->allowed = allowed;
  return true;
}
