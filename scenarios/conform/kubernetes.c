/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test vectors of kube-scheduler against its model: fit, scores and preemption. The resources of a case are
   numbered: first CPU, memory and ephemeral storage, then all others in the order in which they occur. */

#include "scenarios/conform/conform.h"

#include "policies/kubernetes/kubernetes.h"

#include <string.h>

enum { MAX_RESOURCES = 64 };

/* A case in memory. */
struct kube_case {
  struct hr__verdict *verdict;
  const cJSON *input;
  const char *resources[MAX_RESOURCES];
  uint32_t n_resources;
  const cJSON *node_list;
  struct hr__kube_node *nodes;
  uint32_t n_nodes;
  struct hr__kube_pod_state *pods; /* [n_pods] the pods that already exist, without the pod that is scheduled */
  const char **pod_names;
  uint32_t n_pods;
};

/* ---- Resources ---- */

static uint32_t resource_of(struct kube_case *kube, const char *name) {
  for (uint32_t r = 0; r < kube->n_resources; r++)
    if (strcmp(kube->resources[r], name) == 0) return r;
  if (kube->n_resources == MAX_RESOURCES) {
    kube->verdict->malformed = "more than 64 resources";
    return 0;
  }
  kube->resources[kube->n_resources] = name;
  return kube->n_resources++;
}

/* Numbers the resources of an object {RESOURCE: amount}, except "pods". */
static void number_amounts(struct kube_case *kube, const cJSON *amounts) {
  const cJSON *amount;
  cJSON_ArrayForEach(amount, amounts) if (strcmp(amount->string, "pods") != 0) resource_of(kube, amount->string);
}

static void number_pod(struct kube_case *kube, const cJSON *pod) {
  const cJSON *container;
  cJSON_ArrayForEach(container, hr__case_get(pod, "containers")) number_amounts(kube, container);
  cJSON_ArrayForEach(container, hr__case_get(pod, "initContainers")) number_amounts(kube, container);
  number_amounts(kube, hr__case_get(pod, "overhead"));
}

static void number_resources(struct kube_case *kube) {
  resource_of(kube, "cpu");
  resource_of(kube, "memory");
  resource_of(kube, "ephemeral-storage");
  const cJSON *item;
  number_amounts(kube, hr__case_get(kube->input, "allocatable"));
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "nodes")) number_amounts(kube, hr__case_get(item, "allocatable"));
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "existingPods")) number_pod(kube, item);
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "pods")) number_pod(kube, item);
  number_pod(kube, hr__case_get(kube->input, "pod"));
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "resources")) resource_of(kube, hr__case_text(item, "name", ""));
}

/* Returns the amount of each resource in an object: CPU in thousandths of a core, others in their units. A resource
   that the object does not have gets the amount `missing`. Returns NULL if memory is exhausted. */
static int64_t *read_amounts(struct kube_case *kube, const cJSON *object, int64_t missing) {
  int64_t *amounts = hr__verdict_alloc(kube->verdict, kube->n_resources, sizeof *amounts);
  if (!amounts) return NULL;
  for (uint32_t r = 0; r < kube->n_resources; r++)
    amounts[r] =
        (strcmp(kube->resources[r], "cpu") == 0 ? hr__case_milli : hr__case_whole)(object, kube->resources[r], missing);
  return amounts;
}

static const int64_t **read_containers(struct kube_case *kube, const cJSON *list, uint32_t *count) {
  *count = (uint32_t)cJSON_GetArraySize(list);
  const int64_t **containers = hr__verdict_alloc(kube->verdict, *count, sizeof *containers);
  if (!containers) return NULL;
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    containers[at] = read_amounts(kube, item, HR__KUBE_UNNAMED);
    if (!containers[at++]) return NULL;
  }
  return containers;
}

/* ---- Pods and nodes ---- */

static uint32_t node_of(const struct kube_case *kube, const char *name) {
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, kube->node_list) {
    if (name && strcmp(hr__case_text(item, "name", ""), name) == 0) return at;
    at++;
  }
  return HR_NONE;
}

/* Returns whether a disruption budget selects a pod. A budget without labels selects no pod. */
static bool selects(const cJSON *budget, const cJSON *pod) {
  const cJSON *wanted = hr__case_get(budget, "matchLabels");
  if (cJSON_GetArraySize(wanted) == 0) return false;
  if (!hr__case_text_is(budget, "namespace", hr__case_text(pod, "namespace", ""))) return false;
  return hr__case_has_labels(hr__case_get(pod, "labels"), wanted);
}

static void read_budgets(const struct kube_case *kube, const cJSON *object, struct hr__kube_pod_state *pod) {
  uint32_t bit = 1;
  const cJSON *budget;
  cJSON_ArrayForEach(budget, hr__case_get(kube->input, "pdbs")) {
    if (selects(budget, object)) pod->budgets |= bit;
    if (hr__case_list_has(hr__case_get(budget, "disruptedPods"), hr__case_text(object, "name", "")))
      pod->exempted |= bit;
    bit <<= 1;
  }
}

static bool read_pod(struct kube_case *kube, const cJSON *object, struct hr__kube_pod_state *pod) {
  uint32_t n_containers, n_init_containers;
  const int64_t **containers = read_containers(kube, hr__case_get(object, "containers"), &n_containers);
  const int64_t **init = read_containers(kube, hr__case_get(object, "initContainers"), &n_init_containers);
  const cJSON *overhead = hr__case_get(object, "overhead");
  const int64_t *extra = overhead ? read_amounts(kube, overhead, HR__KUBE_UNNAMED) : NULL;
  pod->request.amounts = hr__verdict_alloc(kube->verdict, kube->n_resources, sizeof *pod->request.amounts);
  if (!containers || !init || !pod->request.amounts || (overhead && !extra)) return false;
  hr__kube_request_sum(&pod->request, kube->n_resources, containers, n_containers, init, n_init_containers, extra);
  const char *nominated = hr__case_text(object, "nominatedNode", NULL);
  pod->node = node_of(kube, nominated ? nominated : hr__case_text(object, "node", NULL));
  pod->is_nominated = nominated != NULL;
  pod->priority = (int32_t)hr__case_whole(object, "priority", 0);
  pod->start = hr__case_whole(object, "startNs", 0);
  pod->is_terminating = hr__case_bool(object, "terminating", false);
  pod->never_preempts = hr__case_text_is(object, "preemptionPolicy", "Never");
  read_budgets(kube, object, pod);
  return true;
}

static bool read_node(struct kube_case *kube, const cJSON *allocatable, struct hr__kube_node *node) {
  node->allocatable = read_amounts(kube, allocatable, 0);
  node->used = hr__verdict_alloc(kube->verdict, kube->n_resources, sizeof *node->used);
  node->allowed_pods = hr__case_whole(allocatable, "pods", 0);
  return node->allocatable && node->used;
}

/* Reads the nodes, and the pods that run on them. Without a list of nodes, there is one node, and all pods run on it.
   Returns false if the case is malformed or memory is exhausted. */
static bool read_cluster(struct kube_case *kube) {
  number_resources(kube);
  kube->node_list = hr__case_get(kube->input, "nodes");
  const cJSON *pods = hr__case_get(kube->input, "existingPods"), *item;
  kube->n_nodes = kube->node_list ? (uint32_t)cJSON_GetArraySize(kube->node_list) : 1;
  kube->nodes = hr__verdict_alloc(kube->verdict, kube->n_nodes, sizeof *kube->nodes);
  kube->pods = hr__verdict_alloc(kube->verdict, (size_t)cJSON_GetArraySize(pods), sizeof *kube->pods);
  kube->pod_names = hr__verdict_alloc(kube->verdict, (size_t)cJSON_GetArraySize(pods), sizeof *kube->pod_names);
  if (!kube->nodes || !kube->pods || !kube->pod_names) return false;
  uint32_t at = 0;
  if (!kube->node_list && !read_node(kube, hr__case_get(kube->input, "allocatable"), &kube->nodes[0])) return false;
  cJSON_ArrayForEach(
      item, kube->node_list) if (!read_node(kube, hr__case_get(item, "allocatable"), &kube->nodes[at++])) return false;
  cJSON_ArrayForEach(item, pods) {
    struct hr__kube_pod_state *pod = &kube->pods[kube->n_pods];
    kube->pod_names[kube->n_pods++] = hr__case_text(item, "name", "");
    if (!read_pod(kube, item, pod)) return false;
    if (!kube->node_list) pod->node = 0;
    if (pod->node != HR_NONE) hr__kube_node_add(&kube->nodes[pod->node], &pod->request, kube->n_resources, 1);
  }
  return !kube->verdict->malformed;
}

/* ---- Scores ---- */

static struct hr__kube_point *read_points(struct kube_case *kube, const cJSON *list, uint32_t *count) {
  *count = (uint32_t)cJSON_GetArraySize(list);
  struct hr__kube_point *points = hr__verdict_alloc(kube->verdict, *count, sizeof *points);
  uint32_t at = 0;
  const cJSON *item;
  if (points) cJSON_ArrayForEach(item, list) {
      points[at].utilization = hr__case_whole(item, "utilization", 0);
      points[at++].score = hr__case_whole(item, "score", 0);
    }
  return points;
}

static void run_shape(struct kube_case *kube) {
  uint32_t n_points;
  const struct hr__kube_point *points = read_points(kube, hr__case_get(kube->input, "points"), &n_points);
  cJSON *scores = cJSON_CreateArray();
  const cJSON *at;
  if (points)
    cJSON_ArrayForEach(at, hr__case_get(kube->input, "at")) cJSON_AddItemToArray(
        scores, cJSON_CreateNumber((double)hr__kube_shape(points, n_points, 1, hr__case_value_whole(at, 0))));
  hr__compare_json(kube->verdict, "score", scores, HR__COMPARE_EXACTLY);
}

static bool find_strategy(const char *name, enum hr__kube_strategy *strategy) {
  static const char *const names[] = {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio",
                                      "BalancedAllocation"};
  unsigned i = 0, n = sizeof names / sizeof *names;
  while (i < n && strcmp(name, names[i]) != 0) i++;
  *strategy = (enum hr__kube_strategy)i;
  return i < n;
}

static bool read_scoring(struct kube_case *kube, struct hr__kube_scoring *scoring) {
  const cJSON *list = hr__case_get(kube->input, "resources"), *item;
  uint32_t count = (uint32_t)cJSON_GetArraySize(list), at = 0;
  uint32_t *resources = hr__verdict_alloc(kube->verdict, count, sizeof *resources);
  int64_t *weights = hr__verdict_alloc(kube->verdict, count, sizeof *weights);
  *scoring = (struct hr__kube_scoring){.resources = resources, .weights = weights, .n_scored = count};
  if (!resources || !weights) return false;
  if (!find_strategy(hr__case_text(kube->input, "strategy", ""), &scoring->strategy)) {
    kube->verdict->malformed = "unknown \"strategy\"";
    return false;
  }
  cJSON_ArrayForEach(item, list) {
    resources[at] = resource_of(kube, hr__case_text(item, "name", ""));
    weights[at++] = hr__case_whole(item, "weight", 1);
  }
  scoring->points = read_points(kube, hr__case_get(kube->input, "shape"), &scoring->n_points);
  return scoring->points != NULL;
}

/* Returns a list of the fields with weights that are not allowed, such as "resources[0].weight"; NULL: none. The bounds
   of weights are the same for all strategies. */
static cJSON *invalid_weights(const struct hr__kube_scoring *scoring) {
  cJSON *invalid = NULL;
  for (uint32_t i = 0; i < scoring->n_scored; i++) {
    if (hr__kube_weight_is_valid(scoring->weights[i])) continue;
    char field[60];
    snprintf(field, sizeof field, "resources[%u].weight", i);
    if (!invalid) invalid = cJSON_CreateArray();
    cJSON_AddItemToArray(invalid, cJSON_CreateString(field));
  }
  return invalid;
}

static void run_score(struct kube_case *kube) {
  struct hr__kube_scoring scoring;
  struct hr__kube_pod_state pod = {0};
  if (!read_cluster(kube) || !read_pod(kube, hr__case_get(kube->input, "pod"), &pod) || !read_scoring(kube, &scoring))
    return;
  cJSON *actual = cJSON_CreateObject(), *invalid = invalid_weights(&scoring);
  if (invalid) {
    cJSON_AddItemToObject(actual, "invalid", invalid);
  } else {
    cJSON *scores = cJSON_AddObjectToObject(actual, "scores");
    const cJSON *item;
    uint32_t at = 0;
    cJSON_ArrayForEach(item, kube->node_list) cJSON_AddNumberToObject(
        scores, hr__case_text(item, "name", ""), (double)hr__kube_score(&scoring, &kube->nodes[at++], &pod.request));
  }
  hr__verdict_compare(kube->verdict, "", kube->verdict->expect, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* ---- Fit ---- */

/* Returns whether a resource is an extended resource: its name has a domain that does not belong to Kubernetes. */
static bool is_extended(const char *name) {
  return strchr(name, '/') && !strstr(name, "kubernetes.io/") && strncmp(name, "requests.", 9) != 0;
}

static bool *read_ignored(struct kube_case *kube) {
  bool *ignored = hr__verdict_alloc(kube->verdict, kube->n_resources, sizeof *ignored);
  const cJSON *names = hr__case_get(kube->input, "ignoredResources");
  const cJSON *groups = hr__case_get(kube->input, "ignoredResourceGroups"), *group;
  for (uint32_t r = 0; ignored && r < kube->n_resources; r++) {
    const char *name = kube->resources[r];
    if (!is_extended(name)) continue;
    ignored[r] = hr__case_list_has(names, name);
    cJSON_ArrayForEach(group, groups) {
      size_t length = cJSON_IsString(group) ? strlen(group->valuestring) : 0;
      ignored[r] |= length && strncmp(name, group->valuestring, length) == 0 && name[length] == '/';
    }
  }
  const cJSON *gates = hr__case_get(kube->input, "featureGates");
  if (ignored) ignored[HR__KUBE_STORAGE] = !hr__case_bool(gates, "LocalStorageCapacityIsolation", true);
  return ignored;
}

static void run_fit(struct kube_case *kube) {
  struct hr__kube_pod_state pod = {0};
  if (!read_cluster(kube) || !read_pod(kube, hr__case_get(kube->input, "pod"), &pod)) return;
  const bool *ignored = read_ignored(kube);
  struct hr__kube_shortage shortages[MAX_RESOURCES + 1];
  if (!ignored) return;
  uint32_t count = hr__kube_fit(&kube->nodes[0], &pod.request, kube->n_resources, ignored, shortages);
  hr__compare_bool(kube->verdict, "fits", count == 0);
  if (!hr__case_get(kube->verdict->expect, "insufficient")) return;
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < count; i++) {
    cJSON *item = cJSON_CreateObject();
    uint32_t r = shortages[i].resource;
    cJSON_AddStringToObject(item, "resource", r == kube->n_resources ? "pods" : kube->resources[r]);
    cJSON_AddNumberToObject(item, "requested", (double)shortages[i].requested);
    cJSON_AddNumberToObject(item, "used", (double)shortages[i].used);
    cJSON_AddNumberToObject(item, "capacity", (double)shortages[i].capacity);
    cJSON_AddItemToArray(list, item);
  }
  hr__compare_json(kube->verdict, "insufficient", list, HR__COMPARE_SETS);
}

/* ---- Preemption ---- */

static bool read_preemption(struct kube_case *kube, struct hr__kube_preemption *preemption) {
  const cJSON *list = hr__case_get(kube->input, "pdbs"), *item;
  uint32_t count = (uint32_t)cJSON_GetArraySize(list), at = 0;
  int64_t *allowance = hr__verdict_alloc(kube->verdict, count, sizeof *allowance);
  if (!allowance) return false;
  if (count > 32) {
    kube->verdict->malformed = "more than 32 disruption budgets";
    return false;
  }
  cJSON_ArrayForEach(item, list) allowance[at++] = hr__case_whole(item, "disruptionsAllowed", 0);
  *preemption = (struct hr__kube_preemption){kube->pods, kube->n_resources, NULL, allowance, count};
  return true;
}

/* Finds the victims on a node if `pod` preempts there. Returns false if the node is not a candidate for preemption, or
   if memory is exhausted. */
static bool find_candidate(struct kube_case *kube, const struct hr__kube_preemption *preemption,
                           const struct hr__kube_pod_state *pod, uint32_t node, struct hr__kube_candidate *candidate) {
  uint32_t *on_node = hr__verdict_alloc(kube->verdict, kube->n_pods, sizeof *on_node), n_on_node = 0;
  candidate->victims = hr__verdict_alloc(kube->verdict, kube->n_pods, sizeof *candidate->victims);
  if (!on_node || !candidate->victims) return false;
  for (uint32_t i = 0; i < kube->n_pods; i++)
    if (kube->pods[i].node == node) on_node[n_on_node++] = i;
  candidate->node = node;
  return hr__kube_find_victims(preemption, pod, &kube->nodes[node], on_node, n_on_node, candidate);
}

static cJSON *candidate_json(const struct kube_case *kube, const struct hr__kube_candidate *candidate) {
  cJSON *item = cJSON_CreateObject(), *victims = cJSON_AddArrayToObject(item, "victims");
  for (uint32_t i = 0; i < candidate->n_victims; i++)
    cJSON_AddItemToArray(victims, cJSON_CreateString(kube->pod_names[candidate->victims[i]]));
  cJSON_AddNumberToObject(item, "pdbViolations", candidate->n_violations);
  return item;
}

static const char *node_name(const struct kube_case *kube, uint32_t node) {
  return hr__case_text(cJSON_GetArrayItem(kube->node_list, (int)node), "name", "");
}

/* Returns the candidates for preemption if the search begins at the node `offset`:
   {NODE: {"victims": [..], "pdbViolations": n}}. */
static cJSON *search(struct kube_case *kube, const struct hr__kube_preemption *preemption,
                     const struct hr__kube_pod_state *pod, uint32_t offset) {
  const cJSON *args = hr__case_get(kube->input, "args");
  struct hr__kube_search search = {.wanted = hr__kube_candidates_wanted(
                                       kube->n_nodes, (uint32_t)hr__case_whole(args, "minCandidateNodesPercentage", 10),
                                       (uint32_t)hr__case_whole(args, "minCandidateNodesAbsolute", 100))};
  cJSON *found = cJSON_CreateObject();
  for (uint32_t i = 0; i < kube->n_nodes && !hr__kube_search_is_done(&search); i++) {
    struct hr__kube_candidate candidate;
    uint32_t node = (offset + i) % kube->n_nodes;
    if (!find_candidate(kube, preemption, pod, node, &candidate)) continue;
    if (hr__kube_search_keeps(&search, &candidate))
      cJSON_AddItemToObject(found, node_name(kube, node), candidate_json(kube, &candidate));
  }
  return found;
}

/* Compares the candidates of one pod. kube-scheduler draws the offset of the search at random. The case passes if the
   expected candidates are those of any offset. */
static void compare_candidates(struct kube_case *kube, const struct hr__kube_preemption *preemption,
                               const struct hr__kube_pod_state *pod, const cJSON *expected) {
  bool is_equal = false;
  for (uint32_t offset = 0; (offset == 0 || offset < kube->n_nodes) && !is_equal; offset++) {
    cJSON *found = search(kube, preemption, pod, offset);
    is_equal = hr__json_is_equal(expected, found, HR__COMPARE_SETS, 0);
    if (!is_equal && offset + 1 >= kube->n_nodes)
      hr__verdict_compare(kube->verdict, "candidates", expected, found, HR__COMPARE_SETS, 0);
    cJSON_Delete(found);
  }
}

static void run_dry_run(struct kube_case *kube) {
  struct hr__kube_preemption preemption;
  if (!read_cluster(kube) || !read_preemption(kube, &preemption)) return;
  const cJSON *item;
  int at = 0;
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "pods")) {
    struct hr__kube_pod_state pod = {0};
    if (!read_pod(kube, item, &pod)) return;
    compare_candidates(kube, &preemption, &pod,
                       cJSON_GetArrayItem(hr__case_get(kube->verdict->expect, "candidates"), at++));
  }
}

static void run_node_choice(struct kube_case *kube) {
  struct hr__kube_preemption preemption;
  struct hr__kube_pod_state pod = {0};
  if (!read_cluster(kube) || !read_preemption(kube, &preemption) ||
      !read_pod(kube, hr__case_get(kube->input, "pod"), &pod))
    return;
  struct hr__kube_candidate *candidates = hr__verdict_alloc(kube->verdict, kube->n_nodes, sizeof *candidates);
  uint32_t count = 0;
  for (uint32_t n = 0; candidates && n < kube->n_nodes; n++)
    count += find_candidate(kube, &preemption, &pod, n, &candidates[count]);
  if (!candidates) return;
  const char *best =
      count ? node_name(kube, candidates[hr__kube_best_candidate(candidates, count, kube->pods)].node) : "";
  if (!hr__case_list_has(hr__case_get(kube->verdict->expect, "anyOf"), best))
    hr__compare_text(kube->verdict, "anyOf", best);
}

static void run_eligible(struct kube_case *kube) {
  struct hr__kube_pod_state pod = {0};
  if (!read_cluster(kube) || !read_pod(kube, hr__case_get(kube->input, "pod"), &pod)) return;
  const char *nominated = hr__case_text(hr__case_get(kube->input, "pod"), "nominatedNode", "");
  uint32_t *on_node = hr__verdict_alloc(kube->verdict, kube->n_pods, sizeof *on_node), count = 0, at = 0;
  const cJSON *item;
  if (!on_node) return;
  cJSON_ArrayForEach(item, hr__case_get(kube->input, "existingPods")) {
    if (strcmp(hr__case_text(item, "node", ""), nominated) == 0) on_node[count++] = at;
    at++;
  }
  bool unsuitable = hr__case_bool(kube->input, "nominatedNodeUnresolvable", false);
  hr__compare_bool(kube->verdict, "eligible", hr__kube_may_preempt(&pod, kube->pods, on_node, count, unsuitable));
}

/* ---- Kinds ---- */

void hr__conform_kubernetes(struct hr__verdict *verdict) {
  static const struct {
    const char *kind;
    void (*run)(struct kube_case *kube);
  } kinds[] = {{"score", run_score},
               {"shape", run_shape},
               {"fit", run_fit},
               {"preemption.dryRun", run_dry_run},
               {"preemption.node", run_node_choice},
               {"preemption.eligible", run_eligible}};
  struct kube_case kube = {.verdict = verdict, .input = verdict->input};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(verdict->kind, kinds[i].kind) != 0) continue;
    kinds[i].run(&kube);
    return;
  }
  hr__verdict_unknown_kind(verdict);
}
