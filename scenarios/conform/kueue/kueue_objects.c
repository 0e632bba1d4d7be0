/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the objects of a Kueue case into a world, which is the state of the model: names, flavors, ClusterQueues,
 * cohorts, local queues, settings, workloads with their pod sets, and requirements of pods on nodes. Writes placements
 * as JSON.
 *
 * Names of resources, flavors, queues, cohorts and UIDs are collected from the whole input and sorted, so that the
 * order of indices is the order of names. A pair is a flavor with a resource. Each queue and each cohort is a node of
 * the tree of quotas, and has one row with an entry for each pair. The derived columns of the tree are computed at the
 * end. A workload with quota is listed in its queue, and its usage is added to the tree of quotas and to the nodes.
 */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Names ------------------------------------------------------------------------------------------ */

static void add(struct hr__verdict *verdict, struct hr__kueue_names *names, const char *name) {
  if (!name) return;
  if (names->count == names->capacity) {
    uint32_t capacity = names->capacity ? 2 * names->capacity : 32;
    const char **grown = hr__verdict_alloc(verdict, capacity, sizeof *grown);
    if (!grown) return;
    if (names->count) memcpy(grown, names->items, names->count * sizeof *grown);
    names->items = grown;
    names->capacity = capacity;
  }
  names->items[names->count++] = name;
}

static int compare(const void *a, const void *b) {
  const char *const *left = a, *const *right = b;
  return strcmp(*left, *right);
}

static void sort(struct hr__kueue_names *names) {
  if (!names->count) return;
  qsort(names->items, names->count, sizeof *names->items, compare);
  uint32_t kept = 1;
  for (uint32_t i = 1; i < names->count; i++)
    if (strcmp(names->items[i], names->items[kept - 1]) != 0) names->items[kept++] = names->items[i];
  names->count = kept;
}

uint32_t hr__kueue_name_find(const struct hr__kueue_names *names, const char *name) {
  if (!name || !names->count) return HR_NONE;
  const char **found = bsearch(&name, names->items, names->count, sizeof *names->items, compare);
  return found ? (uint32_t)(found - names->items) : HR_NONE;
}

/* Adds the names of a pair "flavor/resource". */
static void add_pair(struct hr__kueue_case *self, const char *text) {
  const char *slash = text ? strchr(text, '/') : NULL;
  if (!slash) return;
  size_t length = (size_t)(slash - text);
  char *flavor = hr__verdict_alloc(self->verdict, length + 1, 1);
  if (!flavor) return;
  memcpy(flavor, text, length);
  add(self->verdict, &self->flavors, flavor);
  add(self->verdict, &self->resources, slash + 1);
}

static bool is(const cJSON *value, const char *name) {
  return value->string && strcmp(value->string, name) == 0;
}

/* Adds the names in {resource: amount}, {"flavor/resource": amount} or {name: {"flavor/resource": amount}}. `pairs`:
   the names are pairs. Names that no other object uses have no effect. */
static void add_amounts(struct hr__kueue_case *self, const cJSON *object, bool pairs) {
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    if (!item->string) continue; /* an item of a list */
    if (cJSON_IsObject(item))
      add_amounts(self, item, true);
    else if (pairs)
      add_pair(self, item->string);
    else if (strcmp(item->string, "pods") != 0 || !is(object, "allocatable"))
      add(self->verdict, &self->resources, item->string);
  }
}

/* Adds the names in "flavors": a list of flavors with their quotas, or an object {resource: flavor}. */
static void add_flavors(struct hr__kueue_case *self, const cJSON *value) {
  const cJSON *item;
  cJSON_ArrayForEach(item, value) {
    const char *flavor = cJSON_IsString(item) ? item->valuestring : hr__case_text(item, "flavor", NULL);
    if (!flavor) flavor = hr__case_text(item, "name", NULL);
    add(self->verdict, &self->flavors, flavor);
    if (cJSON_IsObject(value)) add(self->verdict, &self->resources, item->string);
  }
}

static void collect(struct hr__kueue_case *self, const cJSON *value, const cJSON *whole) {
  static const char *const pairs[] = {"simulation",    "simulationResult", "assignmentUsage", "cqUsage",
                                      "extraRequests", "siblingCQUsage",   "requested",       "wantReserved"};
  const cJSON *item;
  static const char *const amounts[] = {"requests", "singlePodRequests", "allocatable", "capacity",  "a",
                                        "b",        "consumed",          "penalty",     "resWeights"};
  for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
    if (is(value, amounts[i])) add_amounts(self, value, false);
  if (is(value, "usage") && hr__case_get(whole, "flavors"))
    add_amounts(self, value, false);
  else if (is(value, "usage"))
    add_amounts(self, value, true);
  else if (is(value, "flavors"))
    add_flavors(self, value);
  else if (is(value, "uid") && cJSON_IsString(value))
    add(self->verdict, &self->uids, value->valuestring);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (is(value, pairs[i])) add_amounts(self, value, true);
  if (is(value, "initConsumedResources") || is(value, "initialUsage"))
    cJSON_ArrayForEach(item, value) add_amounts(self, item, false);
  if (is(value, "simulation") || is(value, "simulationResult"))
    cJSON_ArrayForEach(item, value) add_pair(self, item->string);
  if (is(value, "resources") || is(value, "resourceFlavors"))
    cJSON_ArrayForEach(item, value) add(self->verdict, is(value, "resources") ? &self->resources : &self->flavors,
                                        hr__case_text(item, "name", NULL));
  if (cJSON_IsArray(value) || cJSON_IsObject(value)) cJSON_ArrayForEach(item, value) collect(self, item, value);
}

/* Collects all names of the input, and sorts them. */
static void collect_names(struct hr__kueue_case *self) {
  if (self->input) collect(self, self->input, NULL);
  add(self->verdict, &self->uids, "");
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "cohorts")) {
    add(self->verdict, &self->cohorts, hr__case_text(item, "name", NULL));
    add(self->verdict, &self->cohorts, hr__case_text(item, "parent", NULL));
  }
  for (uint32_t i = 0; i < self->n_queue_json; i++) {
    add(self->verdict, &self->queues, hr__case_text(self->queue_json[i], "name", NULL));
    add(self->verdict, &self->cohorts, hr__case_text(self->queue_json[i], "cohort", NULL));
  }
  sort(&self->resources);
  sort(&self->flavors);
  sort(&self->queues);
  sort(&self->cohorts);
  sort(&self->uids);
}

uint32_t hr__kueue_case_pair(const struct hr__kueue_case *self, const char *text) {
  const char *slash = text ? strchr(text, '/') : NULL;
  if (!slash) return HR_NONE;
  size_t length = (size_t)(slash - text);
  for (uint32_t i = 0; i < self->flavors.count; i++) {
    const char *flavor = self->flavors.items[i];
    if (strlen(flavor) != length || memcmp(flavor, text, length) != 0) continue;
    uint32_t resource = hr__kueue_name_find(&self->resources, slash + 1);
    return resource == HR_NONE ? HR_NONE : hr__kueue_pair(&self->world, i, resource);
  }
  return HR_NONE;
}

static const char *joined(const struct hr__kueue_case *self, const char *a, const char *b) {
  size_t length = strlen(a) + strlen(b) + 2;
  char *text = hr__verdict_alloc(self->verdict, length, 1);
  if (!text) return "";
  snprintf(text, length, "%s/%s", a, b);
  return text;
}

const char *hr__kueue_case_pair_name(const struct hr__kueue_case *self, uint32_t pair) {
  uint32_t n = self->world.n_resources;
  return joined(self, self->flavors.items[pair / n], self->resources.items[pair % n]);
}

const char *hr__kueue_case_key(const struct hr__kueue_case *self, const cJSON *object) {
  return joined(self, hr__case_text(object, "namespace", ""), hr__case_text(object, "name", ""));
}

/* ---- Labels ----------------------------------------------------------------------------------------- */

struct hr__kueue_labels hr__kueue_case_labels(struct hr__kueue_case *self, const cJSON *object) {
  struct hr__kueue_labels labels = {0};
  struct hr__kueue_label *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_label);
  if (!items) return labels;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    if (item->string)
      items[labels.count++] = (struct hr__kueue_label){item->string, cJSON_IsString(item) ? item->valuestring : ""};
  }
  labels.items = items;
  return labels;
}

static enum hr__kueue_effect read_effect(const cJSON *json) {
  const char *text = hr__case_text(json, "effect", "");
  if (strcmp(text, "NoSchedule") == 0) return HR__KUEUE_NO_SCHEDULE;
  if (strcmp(text, "NoExecute") == 0) return HR__KUEUE_NO_EXECUTE;
  return strcmp(text, "PreferNoSchedule") == 0 ? HR__KUEUE_PREFER_NO_SCHEDULE : HR__KUEUE_ANY_EFFECT;
}

struct hr__kueue_taints hr__kueue_case_taints(struct hr__kueue_case *self, const cJSON *list) {
  struct hr__kueue_taints taints = {0};
  struct hr__kueue_taint *items = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_taint);
  if (!items) return taints;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) items[taints.count++] =
      (struct hr__kueue_taint){hr__case_text(item, "key", ""), hr__case_text(item, "value", ""), read_effect(item)};
  taints.items = items;
  return taints;
}

static struct hr__kueue_tolerations case_tolerations(struct hr__kueue_case *self, const cJSON *list) {
  struct hr__kueue_tolerations tolerations = {0};
  struct hr__kueue_toleration *items = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_toleration);
  if (!items) return tolerations;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) items[tolerations.count++] =
      (struct hr__kueue_toleration){.key = hr__case_text(item, "key", ""),
                                    .value = hr__case_text(item, "value", ""),
                                    .exists = strcmp(hr__case_text(item, "operator", "Equal"), "Exists") == 0,
                                    .effect = read_effect(item)};
  tolerations.items = items;
  return tolerations;
}

static struct hr__kueue_expression read_expression(struct hr__kueue_case *self, const cJSON *json) {
  static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  struct hr__kueue_expression expression = {.key = hr__case_text(json, "key", "")};
  uint32_t operation = hr__case_find(names, sizeof names / sizeof *names, hr__case_text(json, "operator", "In"));
  if (operation != UINT32_MAX) expression.operation = (enum hr__kueue_operator)operation;
  const char **values = ALLOC(self, hr__case_count(json, "values") + 1, const char *);
  if (!values) return expression;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "values")) if (cJSON_IsString(item)) values[expression.n_values++] =
      item->valuestring;
  expression.values = values;
  return expression;
}

static const struct hr__kueue_term *read_terms(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  struct hr__kueue_term *terms = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_term);
  *count = 0;
  if (!terms) return NULL;
  const cJSON *item, *expression;
  cJSON_ArrayForEach(item, list) {
    const cJSON *body = hr__case_get(item, "preference") ? hr__case_get(item, "preference") : item;
    struct hr__kueue_term *term = &terms[(*count)++];
    struct hr__kueue_expression *expressions =
        ALLOC(self, hr__case_count(body, "matchExpressions") + 1, struct hr__kueue_expression);
    if (!expressions) return NULL;
    term->weight = (int32_t)hr__case_whole(item, "weight", 0);
    cJSON_ArrayForEach(expression, hr__case_get(body, "matchExpressions")) expressions[term->n_expressions++] =
        read_expression(self, expression);
    term->expressions = expressions;
  }
  return terms;
}

struct hr__kueue_selector hr__kueue_case_selector(struct hr__kueue_case *self, const cJSON *pod_set) {
  struct hr__kueue_selector selector = {.labels = hr__kueue_case_labels(self, hr__case_get(pod_set, "nodeSelector")),
                                        .tolerations = case_tolerations(self, hr__case_get(pod_set, "tolerations"))};
  const cJSON *affinity = hr__case_get(pod_set, "nodeAffinity");
  if (!affinity) affinity = pod_set;
  const cJSON *required = hr__case_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  if (cJSON_IsObject(required)) required = hr__case_get(required, "nodeSelectorTerms");
  selector.required = read_terms(self, required, &selector.n_required);
  selector.preferred = read_terms(self, hr__case_get(affinity, "preferredDuringSchedulingIgnoredDuringExecution"),
                                  &selector.n_preferred);
  return selector;
}

/* ---- Flavors ---------------------------------------------------------------------------------------- */

static void read_flavor(struct hr__kueue_case *self, const cJSON *json) {
  uint32_t id = hr__kueue_name_find(&self->flavors, hr__case_text(json, "name", NULL));
  if (id == HR_NONE) return;
  struct hr__kueue_flavor *flavor = &self->world.flavors[id];
  flavor->exists = true;
  flavor->labels = hr__kueue_case_labels(self, hr__case_get(json, "nodeLabels"));
  flavor->taints = hr__kueue_case_taints(self, hr__case_get(json, "taints"));
  flavor->tolerations = case_tolerations(self, hr__case_get(json, "tolerations"));
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

/* ---- Quotas ----------------------------------------------------------------------------------------- */

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

/* Reads a resource group of a queue or cohort, and its quotas into the tree. `out` may be NULL. Returns false if memory
   is exhausted. */
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

enum hr__kueue_policy hr__kueue_policy_named(const char *name) {
  static const char *const names[] = {"Never", "", "LowerPriority", "LowerOrNewerEqualPriority", "Any"};
  uint32_t policy = hr__case_find(names, sizeof names / sizeof *names, name);
  return policy == UINT32_MAX ? HR__KUEUE_POLICY_UNSET : (enum hr__kueue_policy)policy;
}

static void read_rules(const cJSON *json, struct hr__kueue_queue *queue) {
  const cJSON *block = hr__case_get(json, "preemption"), *borrow = hr__case_get(block, "borrowWithinCohort"),
              *fungibility = hr__case_get(json, "flavorFungibility");
  const char *fallback = block ? "" : "Never";
  queue->preemption.within_queue = hr__kueue_policy_named(hr__case_text(block, "withinClusterQueue", fallback));
  queue->preemption.reclaim = hr__kueue_policy_named(hr__case_text(block, "reclaimWithinCohort", fallback));
  queue->preemption.borrow = borrow && !hr__case_text_is(borrow, "policy", "Never");
  queue->preemption.has_threshold = hr__case_get(borrow, "maxPriorityThreshold") != NULL;
  queue->preemption.threshold = hr__case_whole(borrow, "maxPriorityThreshold", 0);
  queue->fungibility.borrow_next = hr__case_text_is(fungibility, "whenCanBorrow", "TryNextFlavor");
  queue->fungibility.preempt_next =
      strcmp(hr__case_text(fungibility, "whenCanPreempt", "TryNextFlavor"), "TryNextFlavor") == 0;
  queue->fungibility.preemption_first = hr__case_text_is(fungibility, "preference", "PreemptionOverBorrowing");
  queue->strict = hr__case_text_is(json, "queueingStrategy", "StrictFIFO");
  queue->usage_based = hr__case_text_is(json, "admissionMode", "UsageBasedAdmissionFairSharing");
  queue->inactive = strcmp(hr__case_text(json, "stopPolicy", "None"), "None") != 0;
}

/* Returns whether an admission check of a queue provisions nodes. `check` is a name, or an object {name, onFlavors}. */
static bool provisions(const struct hr__kueue_case *self, const cJSON *check) {
  const char *name = cJSON_IsString(check) ? check->valuestring : hr__case_text(check, "name", "");
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "admissionChecks")) if (
      hr__case_text_is(item, "name", name)) return hr__case_text_is(item, "controller",
                                                                    "kueue.x-k8s.io/provisioning-request");
  return false;
}

static bool read_checks(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_queue *queue) {
  const cJSON *check;
  cJSON_ArrayForEach(check, hr__case_get(json, "admissionChecks")) {
    if (!provisions(self, check)) continue;
    bool *delays = ALLOC(self, self->flavors.count + 1, bool);
    if (!delays) return false;
    const cJSON *flavors = hr__case_get(check, "onFlavors");
    for (uint32_t i = 0; i < self->flavors.count; i++) {
      bool applies = !cJSON_GetArraySize(flavors) || hr__case_list_has(flavors, self->flavors.items[i]);
      delays[i] = applies || (queue->delays && queue->delays[i]);
    }
    queue->delays = delays;
  }
  return true;
}

/* Returns the name of the least preferred flavor: the member "minPreferredFlavorName", or the argument of the function
   MinPreferredFlavorName, with which the original test builds the queue. NULL: none. */
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

/* Cohorts may form a cycle. Makes the queues below a cycle inactive, and removes their parents. Then removes the
   parents of cohorts until no cycle is left. */
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

/* ---- Settings --------------------------------------------------------------------------------------- */

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

bool hr__kueue_case_begin(struct hr__kueue_case *self, const cJSON *input, struct hr__verdict *verdict) {
  *self = (struct hr__kueue_case){.verdict = verdict, .input = input, .expect = verdict->expect};
  if (!find_queues(self)) return false;
  collect_names(self);
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

/* ---- Workloads: amounts ----------------------------------------------------------------------------- */

static int by_resource(const void *a, const void *b) {
  const struct hr__kueue_amount *left = a, *right = b;
  return (left->resource > right->resource) - (left->resource < right->resource);
}

struct hr__kueue_amounts hr__kueue_case_amounts(struct hr__kueue_case *self, const cJSON *object) {
  struct hr__kueue_amounts amounts = {0};
  struct hr__kueue_amount *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_amount);
  if (!items) return amounts;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
    if (resource != HR_NONE)
      items[amounts.count++] = (struct hr__kueue_amount){resource, hr__case_value_whole(item, 0)};
  }
  qsort(items, amounts.count, sizeof *items, by_resource);
  amounts.items = items;
  return amounts;
}

struct hr__kueue_usage *hr__kueue_case_usage(struct hr__kueue_case *self, const cJSON *object, uint32_t *count) {
  struct hr__kueue_usage *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_usage);
  *count = 0;
  if (!items) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    uint32_t pair = hr__kueue_case_pair(self, item->string);
    if (pair != HR_NONE) items[(*count)++] = (struct hr__kueue_usage){pair, hr__case_value_whole(item, 0)};
  }
  return items;
}

void hr__kueue_case_add_usage(struct hr__kueue_case *self, uint32_t node, const cJSON *object) {
  uint32_t count;
  const struct hr__kueue_usage *usage = hr__kueue_case_usage(self, object, &count);
  for (uint32_t i = 0; usage && node != HR_NONE && i < count; i++)
    hr__kueue_add_usage(&self->world.tree, node, usage[i].pair, usage[i].amount);
}

/* ---- Workloads: topology ---------------------------------------------------------------------------- */

static void read_slices(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_topology_request *request) {
  const cJSON *list = hr__case_get(json, "sliceConstraints"), *item;
  if (!list) list = hr__case_get(json, "podsetSliceRequiredTopologyConstraints");
  struct hr__kueue_slice *slices = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 2, struct hr__kueue_slice);
  if (!slices) return;
  const char *level = hr__case_text(json, "sliceRequired", hr__case_text(json, "podSetSliceRequiredTopology", NULL));
  if (level && !cJSON_GetArraySize(list))
    slices[request->n_slices++] =
        (struct hr__kueue_slice){level, hr__case_whole(json, "sliceSize", hr__case_whole(json, "podSetSliceSize", 0))};
  cJSON_ArrayForEach(item, list) slices[request->n_slices++] =
      (struct hr__kueue_slice){hr__case_text(item, "topology", ""), hr__case_whole(item, "size", 0)};
  request->slices = slices;
}

struct hr__kueue_topology_request hr__kueue_case_topology_request(struct hr__kueue_case *self, const cJSON *json) {
  struct hr__kueue_topology_request request = {0};
  if (!cJSON_IsObject(json)) return request;
  read_slices(self, json, &request);
  if ((request.level = hr__case_text(json, "required", NULL)) != NULL)
    request.mode = HR__KUEUE_REQUIRED;
  else if ((request.level = hr__case_text(json, "preferred", NULL)) != NULL)
    request.mode = HR__KUEUE_PREFERRED;
  else if (hr__case_bool(json, "unconstrained", false))
    request.mode = HR__KUEUE_UNCONSTRAINED;
  else if (request.n_slices)
    request.mode = HR__KUEUE_SLICES_ONLY;
  return request;
}

static const char **read_texts(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  const char **texts = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, const char *);
  *count = 0;
  if (!texts) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) texts[(*count)++] =
      cJSON_IsString(item) ? item->valuestring : hr__case_text(item, "name", "");
  return texts;
}

const struct hr__kueue_placement *hr__kueue_case_placement(struct hr__kueue_case *self, const cJSON *json) {
  if (!cJSON_IsObject(json)) return NULL;
  struct hr__kueue_placement *placement = ALLOC(self, 1, struct hr__kueue_placement);
  struct hr__kueue_domain *domains = ALLOC(self, hr__case_count(json, "domains") + 1, struct hr__kueue_domain);
  if (!placement || !domains) return NULL;
  placement->levels = read_texts(self, hr__case_get(json, "levels"), &placement->n_levels);
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "domains")) {
    uint32_t count;
    domains[placement->n_domains++] = (struct hr__kueue_domain){read_texts(self, hr__case_get(item, "values"), &count),
                                                                hr__case_whole(item, "count", 0)};
    if (count == placement->n_levels) continue;
    self->verdict->malformed = "a domain of a placement does not have one value for each level";
    return NULL;
  }
  placement->domains = domains;
  return placement;
}

void hr__kueue_add_condition(cJSON *list, const char *type, bool status, const char *reason) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddStringToObject(item, "type", type);
  cJSON_AddStringToObject(item, "status", status ? "True" : "False");
  cJSON_AddStringToObject(item, "reason", reason);
  cJSON_AddItemToArray(list, item);
}

void hr__kueue_case_add_to(cJSON *object, const char *name, int64_t amount) {
  cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (item)
    cJSON_SetNumberValue(item, item->valuedouble + (double)amount);
  else
    cJSON_AddNumberToObject(object, name, (double)amount);
}

static cJSON *text_list(const char *const *texts, uint32_t count) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < count; i++) cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
  return list;
}

cJSON *hr__kueue_placement_json(const struct hr__kueue_placement *placement) {
  cJSON *json = cJSON_CreateObject(), *domains = cJSON_CreateArray();
  cJSON_AddItemToObject(json, "levels", text_list(placement->levels, placement->n_levels));
  for (uint32_t i = 0; i < placement->n_domains; i++) {
    cJSON *domain = cJSON_CreateObject();
    cJSON_AddItemToObject(domain, "values", text_list(placement->domains[i].values, placement->n_levels));
    cJSON_AddNumberToObject(domain, "count", (double)placement->domains[i].count);
    cJSON_AddItemToArray(domains, domain);
  }
  cJSON_AddItemToObject(json, "domains", domains);
  return json;
}

/* ---- Workloads: pod sets ---------------------------------------------------------------------------- */

/* Returns the name of the group of a pod set; NULL: none. */
static const char *group_name(const cJSON *pod_set) {
  const cJSON *request = hr__case_get(pod_set, "topologyRequest");
  return hr__case_text(request, "podSetGroup", hr__case_text(request, "podSetGroupName", NULL));
}

/* Returns the number of the group of a pod set: the position of the first pod set in this group; HR_NONE: no group. */
static uint32_t group_of(const cJSON *list, const cJSON *pod_set) {
  const char *name = group_name(pod_set);
  if (!name) return HR_NONE;
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *other = group_name(item);
    if (other && strcmp(other, name) == 0) return at;
    at++;
  }
  return HR_NONE;
}

struct hr__kueue_pod_set *hr__kueue_case_pod_sets(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  struct hr__kueue_pod_set *pod_sets = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_pod_set);
  *count = 0;
  if (!pod_sets) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const cJSON *request = hr__case_get(item, "topologyRequest");
    pod_sets[(*count)++] =
        (struct hr__kueue_pod_set){.name = hr__case_text(item, "name", ""),
                                   .count = hr__case_whole(item, "count", 1),
                                   .min_count = hr__case_whole(item, "minCount", -1),
                                   .requests = hr__kueue_case_amounts(self, hr__case_get(item, "requests")),
                                   .selector = hr__kueue_case_selector(self, item),
                                   .topology = hr__kueue_case_topology_request(self, request),
                                   .group = group_of(list, item)};
  }
  return pod_sets;
}

void hr__kueue_case_reclaimable(const struct hr__kueue_case *self, const cJSON *list,
                                struct hr__kueue_workload *workload) {
  const cJSON *item;
  if (!hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_RECLAIMABLE_PODS)) return;
  cJSON_ArrayForEach(item, list) for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    if (hr__case_text_is(item, "name", workload->pod_sets[i].name))
      workload->pod_sets[i].reclaimable = hr__case_whole(item, "count", 0);
  }
}

static int by_assigned_resource(const void *a, const void *b) {
  const struct hr__kueue_assigned *left = a, *right = b;
  return (left->resource > right->resource) - (left->resource < right->resource);
}

static bool read_admitted_pod_set(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_pod_set *pod_set) {
  const cJSON *flavors = hr__case_get(json, "flavors"), *item;
  struct hr__kueue_assigned *assigned = ALLOC(self, hr__case_count(json, "flavors") + 1, struct hr__kueue_assigned);
  if (!assigned) return false;
  pod_set->n_assigned = 0;
  cJSON_ArrayForEach(item, flavors) {
    uint32_t flavor = hr__kueue_name_find(&self->flavors, cJSON_IsString(item) ? item->valuestring : NULL);
    uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
    if (flavor == HR_NONE || resource == HR_NONE) continue;
    assigned[pod_set->n_assigned++] =
        (struct hr__kueue_assigned){resource, flavor, hr__case_whole(hr__case_get(json, "usage"), item->string, 0)};
  }
  qsort(assigned, pod_set->n_assigned, sizeof *assigned, by_assigned_resource);
  pod_set->assigned = assigned;
  pod_set->admitted_count = hr__case_whole(json, "count", pod_set->count);
  pod_set->placement = hr__kueue_case_placement(self, hr__case_get(json, "topologyAssignment"));
  pod_set->placement_pending = hr__case_text_is(json, "delayedTopologyRequest", "Pending");
  return true;
}

static bool read_admission(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *workload) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "podSets")) {
    for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
      if (strcmp(workload->pod_sets[i].name, hr__case_text(item, "name", "")) == 0 &&
          !read_admitted_pod_set(self, item, &workload->pod_sets[i]))
        return false;
    }
  }
  workload->queue = hr__kueue_name_find(&self->queues, hr__case_text(json, "clusterQueue", NULL));
  return true;
}

/* ---- Workloads: the workload ------------------------------------------------------------------------ */

const cJSON *hr__kueue_case_condition(const cJSON *workload, const char *type) {
  const cJSON *item;
  cJSON_ArrayForEach(item,
                     hr__case_get(workload, "conditions")) if (hr__case_text_is(item, "type", type) &&
                                                               hr__case_text_is(item, "status", "True")) return item;
  return NULL;
}

static int64_t read_queue_time(const struct hr__kueue_case *self, const cJSON *json, int64_t created_us) {
  const cJSON *evicted = hr__kueue_case_condition(json, "Evicted"),
              *preempted = hr__kueue_case_condition(json, "Preempted");
  struct hr__kueue_history history = {
      .created_us = created_us,
      .evicted_us = hr__kueue_case_time(evicted, "at", HR__KUEUE_NO_TIME),
      .evicted_by_timeout = evicted && hr__case_text_is(evicted, "reason", "PodsReadyTimeout"),
      .evicted_by_check = evicted && hr__case_text_is(evicted, "reason", "AdmissionCheck"),
      .preempted_us = hr__kueue_case_time(preempted, "at", HR__KUEUE_NO_TIME),
      .reclaimed_while_borrowing = preempted && hr__case_text_is(preempted, "reason", "InCohortReclaimWhileBorrowing")};
  bool sorting = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_SORTING);
  return hr__kueue_queue_time(&history, strcmp(self->requeuing, "Creation") == 0, sorting);
}

static void read_queue_of(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out) {
  const char *namespace = hr__case_text(json, "namespace", ""), *name = hr__case_text(json, "queue", "");
  size_t length = strlen(namespace);
  for (uint32_t i = 0; i < self->world.n_local_queues; i++) {
    const char *key = self->world.local_queues[i].name;
    if (strncmp(key, namespace, length) != 0 || key[length] != '/' || strcmp(key + length + 1, name) != 0) continue;
    out->local_queue = i;
    if (out->queue == HR_NONE) out->queue = self->world.local_queues[i].queue;
    return;
  }
}

bool hr__kueue_case_is_one_pod(const cJSON *workload) {
  const cJSON *owners = hr__case_get(workload, "owners"), *annotations = hr__case_get(workload, "annotations");
  if (cJSON_GetArraySize(owners) != 1) return false;
  const cJSON *kind = hr__case_get(cJSON_GetArrayItem(owners, 0), "kind");
  const char *name = cJSON_IsString(kind) ? kind->valuestring : hr__case_text(kind, "kind", "");
  const char *group = hr__case_text(annotations, "kueue.x-k8s.io/is-group-workload", "");
  return strcmp(name, "Pod") == 0 && strcmp(group, "true") != 0;
}

bool hr__kueue_case_workload(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out) {
  const cJSON *admission = hr__case_get(json, "admission");
  bool boost = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_BOOST);
  const char *annotation = hr__case_text(hr__case_get(json, "annotations"), "kueue.x-k8s.io/priority-boost", NULL);
  *out = (struct hr__kueue_workload){.name = hr__kueue_case_key(self, json),
                                     .queue = HR_NONE,
                                     .local_queue = HR_NONE,
                                     .created_us = hr__kueue_case_time(json, "creation", HR__KUEUE_NO_TIME),
                                     .reserved_us = hr__kueue_case_time(json, "quotaReservedAt", HR__KUEUE_NO_TIME),
                                     .uid_rank = hr__kueue_name_find(&self->uids, hr__case_text(json, "uid", "")),
                                     .reserved = hr__kueue_case_condition(json, "QuotaReserved") != NULL,
                                     .admitted = hr__kueue_case_condition(json, "Admitted") != NULL,
                                     .evicted = hr__kueue_case_condition(json, "Evicted") != NULL,
                                     .is_one_pod = hr__kueue_case_is_one_pod(json),
                                     .previous_admitted = HR_NONE,
                                     .next_admitted = HR_NONE};
  out->priority = hr__kueue_boosted_priority(hr__case_whole(json, "priority", 0), boost ? annotation : NULL);
  out->queue_us = read_queue_time(self, json, out->created_us);
  out->pod_sets = hr__kueue_case_pod_sets(self, hr__case_get(json, "podSets"), &out->n_pod_sets);
  out->unhealthy_nodes = read_texts(self, hr__case_get(json, "unhealthyNodes"), &out->n_unhealthy_nodes);
  if (!out->pod_sets) return false;
  hr__kueue_case_reclaimable(self, hr__case_get(json, "reclaimablePods"), out);
  if (admission && !read_admission(self, admission, out)) return false;
  read_queue_of(self, json, out);
  out->usage = ALLOC(self, (size_t)out->n_pod_sets * self->world.n_resources + 1, struct hr__kueue_usage);
  if (!out->usage) return false;
  if (admission) hr__kueue_workload_sum_usage(&self->world, out);
  return true;
}

bool hr__kueue_case_workloads(struct hr__kueue_case *self, const cJSON *const *lists, uint32_t n_lists) {
  struct hr__kueue_world *world = &self->world;
  size_t bound = 1;
  for (uint32_t i = 0; i < n_lists; i++) bound += (size_t)cJSON_GetArraySize(lists[i]);
  world->workloads = ALLOC(self, bound, struct hr__kueue_workload);
  self->workload_json = ALLOC(self, bound, const cJSON *);
  if (!world->workloads || !self->workload_json) return false;
  const cJSON *item;
  for (uint32_t i = 0; i < n_lists; i++) cJSON_ArrayForEach(item, lists[i]) {
      self->workload_json[world->n_workloads] = item;
      struct hr__kueue_workload *workload = &world->workloads[world->n_workloads++];
      if (!hr__kueue_case_workload(self, item, workload)) return false;
      if (workload->n_pod_sets > world->max_pod_sets) world->max_pod_sets = workload->n_pod_sets;
    }
  if (!hr__kueue_case_topology(self)) return false;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    if (workload->reserved && workload->queue != HR_NONE && hr__case_get(self->workload_json[i], "admission"))
      hr__kueue_list(world, i);
  }
  return true;
}
