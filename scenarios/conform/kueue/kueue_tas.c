/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Kueue that place pod sets in a topology: tas.find and tas.replace.
 *
 * A case has one flavor. `priorFlavorUsage` is the usage of pods of another flavor on the same nodes; it counts if the
 * lowest level is the host name and flavors may overlap. Otherwise `priorOwnUsage` counts.
 */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/tas.h"

#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Reading ---- */

/* Amounts [resource] of the nodes; all 0 if `object` is NULL. */
static int64_t *dense(struct hr__kueue_case *self, const cJSON *object) {
  uint32_t n_resources, pods = hr__tas_pods_resource(&self->world, &n_resources);
  int64_t *amounts = ALLOC(self, n_resources, int64_t);
  const cJSON *item;
  if (amounts) cJSON_ArrayForEach(item, object) {
      uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
      if (resource == HR_NONE && !strcmp(item->string, "pods")) resource = pods;
      if (resource != HR_NONE) amounts[resource] = hr__case_value_whole(item, 0);
    }
  return amounts;
}

const char **hr__kueue_case_texts(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  const char **texts = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, const char *);
  *count = 0;
  const cJSON *item;
  if (texts) cJSON_ArrayForEach(item, list) texts[(*count)++] = cJSON_IsString(item) ? item->valuestring : "";
  return texts;
}

static void subtract_pods(struct hr__kueue_case *self, struct hr__tas_nodes *nodes) {
  const cJSON *pod;
  cJSON_ArrayForEach(pod, hr__case_get(self->input, "pods")) {
    const char *node = hr__case_text(pod, "node", ""), *phase = hr__case_text(pod, "phase", "");
    if (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")) continue;
    const int64_t *requests = dense(self, hr__case_get(pod, "requests"));
    if (!requests) return;
    for (uint32_t i = 0; i < nodes->count; i++) {
      if (strcmp(nodes->items[i].name, node) != 0) continue;
      for (uint32_t r = 0; r < nodes->n_resources; r++) nodes->items[i].free[r] -= requests[r];
      nodes->items[i].free[nodes->pods]--;
    }
  }
}

/* Reads the members "nodes" and "pods". Pods that have ended, or have no node, use nothing. */
static bool read_nodes(struct hr__kueue_case *self, struct hr__tas_nodes *nodes) {
  *nodes = (struct hr__tas_nodes){0};
  nodes->pods = hr__tas_pods_resource(&self->world, &nodes->n_resources);
  nodes->items = ALLOC(self, (size_t)hr__case_count(self->input, "nodes") + 1, struct hr__tas_node);
  if (!nodes->items) return false;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "nodes")) nodes->items[nodes->count++] = (struct hr__tas_node){
      .name = hr__case_text(item, "name", ""),
      .labels = hr__kueue_case_labels(self, hr__case_get(item, "labels")),
      .taints = hr__kueue_case_taints(self, hr__case_get(item, "taints")),
      .free = dense(self, hr__case_get(item, "allocatable")),
      .usable = hr__case_bool(item, "ready", false) && !hr__case_bool(item, "unschedulable", false)};
  if (!self->verdict->no_memory) subtract_pods(self, nodes);
  return !self->verdict->no_memory;
}

struct hr__tas_part *hr__kueue_case_parts(struct hr__kueue_case *self, const struct hr__tas_flavor *flavor,
                                          const struct hr__kueue_placement *placement) {
  struct hr__tas_part *parts = ALLOC(self, placement->n_domains, struct hr__tas_part);
  for (uint32_t i = 0; parts && i < placement->n_domains; i++)
    parts[i] = (struct hr__tas_part){hr__tas_flavor_leaf(flavor, placement, i), placement->domains[i].count};
  return parts;
}

/* ---- The flavor of a case ---- */

struct run {
  struct hr__kueue_case objects;
  struct hr__tas_nodes nodes;
  struct hr__tas_flavor flavor;
  struct hr__tas_search search;
  int64_t *assumed;
};

static void add_usage(struct run *run, const cJSON *list) {
  const struct hr__tas_snapshot *snapshot = &run->flavor.snapshot;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    uint32_t n_values;
    const char **values = hr__kueue_case_texts(&run->objects, hr__case_get(item, "values"), &n_values);
    const int64_t *pod = dense(&run->objects, hr__case_get(item, "singlePodRequests"));
    if (!values || !pod) return;
    uint32_t leaf = hr__tas_leaf_find(&run->flavor.tree, values, n_values);
    if (leaf != HR_NONE)
      hr__tas_add_pods(snapshot, snapshot->usage + (size_t)leaf * snapshot->n_resources, pod,
                       hr__case_whole(item, "count", 0));
  }
}

static bool begin(struct run *run, const cJSON *whole, struct hr__verdict *verdict) {
  *run = (struct run){0};
  struct hr__kueue_case *self = &run->objects;
  if (!hr__kueue_case_begin(self, whole, verdict) || !read_nodes(self, &run->nodes)) return false;
  const cJSON *names = hr__case_get(self->input, "levels");
  uint32_t n_levels;
  if (!names) names = hr__case_get(self->input, "defaultLevels");
  const char **levels = hr__kueue_case_texts(self, names, &n_levels);
  if (!n_levels || n_levels > HR__TAS_MAX_LEVELS) {
    verdict->malformed = "the member \"levels\" with 1 to 16 levels is missing";
    return false;
  }
  const struct hr__kueue_flavor flavor = {.labels =
                                              hr__kueue_case_labels(self, hr__case_get(self->input, "nodeLabels"))};
  if (!levels || !hr__tas_flavor_build(&run->flavor, verdict->arena, &run->nodes, levels, n_levels, &flavor, 0)) {
    verdict->no_memory = true;
    return false;
  }
  bool overlaps = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_OVERLAPPING_FLAVORS);
  bool shared = overlaps && run->flavor.tree.by_host;
  add_usage(run, hr__case_get(self->input, shared ? "priorFlavorUsage" : "priorOwnUsage"));
  run->search.gates = hr__tas_gates_of(self->world.gates);
  run->assumed = ALLOC(self, (size_t)run->flavor.tree.n_leaves * run->nodes.n_resources, int64_t);
  return !verdict->no_memory;
}

/* ---- Requests ---- */

/* The number of a group: the position of the first pod set with its name. */
static uint32_t group_of(const cJSON *list, const cJSON *pod_set) {
  const char *name = hr__case_text(pod_set, "podSetGroupName", NULL);
  uint32_t at = 0;
  const cJSON *item;
  if (name) cJSON_ArrayForEach(item, list) {
      if (!strcmp(hr__case_text(item, "podSetGroupName", ""), name)) return at;
      at++;
    }
  return HR_NONE;
}

static void read_previous(struct run *run, const cJSON *json, struct hr__tas_request *request) {
  const struct hr__kueue_placement *previous = hr__kueue_case_placement(&run->objects, json);
  if (!previous) return;
  request->previous = hr__kueue_case_parts(&run->objects, &run->flavor, previous);
  request->n_previous = previous->n_domains;
  request->has_previous = true;
}

/* Reads a pod set; `list` are all pod sets of the workload. */
static bool read_request(struct run *run, const cJSON *list, const cJSON *json, struct hr__tas_request *request) {
  struct hr__kueue_case *self = &run->objects;
  const cJSON *topology = hr__case_get(json, "topologyRequest");
  uint32_t n_leaves = run->flavor.tree.n_leaves;
  uint8_t *excluded = ALLOC(self, n_leaves, uint8_t);
  int64_t *affinity = ALLOC(self, n_leaves, int64_t);
  if (!excluded || !affinity) return false;
  *request = (struct hr__tas_request){.pod = dense(self, hr__case_get(json, "requests")),
                                      .count = hr__case_whole(json, "count", 0),
                                      .implied = !topology,
                                      .group = group_of(list, json),
                                      .excluded = excluded,
                                      .affinity = affinity};
  struct hr__kueue_topology_request wanted = hr__kueue_case_topology_request(self, topology);
  hr__tas_flavor_request(&run->flavor, &wanted, request);
  struct hr__kueue_selector selector = hr__kueue_case_selector(self, json);
  hr__tas_flavor_match(&run->flavor, &selector, excluded, affinity);
  read_previous(run, hr__case_get(json, "previousAssignment"), request);
  return !self->verdict->no_memory;
}

/* ---- Results ---- */

static const char *class_of(enum hr__tas_failure_kind kind) {
  static const char *const names[] = {
      [HR__TAS_FITS] = "",
      [HR__TAS_INSUFFICIENT] = "insufficient",
      [HR__TAS_NO_DOMAINS] = "noDomainsAtLevel",
      [HR__TAS_NO_LEVEL] = "levelMissing",
      [HR__TAS_LEVEL_UNKNOWN] = "levelUnknown",
      [HR__TAS_SLICE_SIZE] = "sliceSizeMissing",
      [HR__TAS_SLICE_LEVEL] = "sliceLevelUnknown",
      [HR__TAS_SLICE_ABOVE] = "sliceTopologyAboveRequired",
      [HR__TAS_INNER_SLICE_LEVEL] = "additionalSliceLevelUnknown",
      [HR__TAS_INNER_SLICE_ABOVE] = "additionalSliceTopologyNotBelow",
      [HR__TAS_INNER_SLICE_SIZE] = "additionalSliceSizeNotDivisor",
      [HR__TAS_STALE] = "staleAssignment",
      [HR__TAS_NO_REPLACEMENT] = "noReplacement",
  };
  return names[kind];
}

static cJSON *reason_json(const struct hr__tas_failure *failure) {
  if (failure->kind == HR__TAS_FITS) return cJSON_CreateNull();
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "class", class_of(failure->kind));
  if (failure->kind != HR__TAS_INSUFFICIENT) return json;
  cJSON_AddNumberToObject(json, "fitOnly", (double)failure->fits);
  cJSON_AddNumberToObject(json, "of", (double)failure->of);
  cJSON_AddStringToObject(json, "unit", failure->slices ? "slice" : "pod");
  return json;
}

static cJSON *assignment_json(struct run *run, const struct hr__tas_result *result) {
  if (result->failure.kind != HR__TAS_FITS || !result->placed) return cJSON_CreateNull();
  const struct hr__kueue_placement *placement = hr__tas_flavor_placement(
      &run->flavor, run->objects.verdict->arena, run->search.parts + result->first, result->count);
  if (placement) return hr__kueue_placement_json(placement);
  run->objects.verdict->no_memory = true;
  return cJSON_CreateNull();
}

static cJSON *pod_set_json(struct run *run, const char *name, const struct hr__tas_result *result) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "name", name);
  cJSON_AddItemToObject(json, "assignment", assignment_json(run, result));
  cJSON_AddBoolToObject(json, "fits", result->failure.kind == HR__TAS_FITS);
  cJSON_AddItemToObject(json, "reason", reason_json(&result->failure));
  return json;
}

/* ---- tas.find ---- */

static cJSON *find_all(struct run *run) {
  struct hr__kueue_case *self = &run->objects;
  const cJSON *list = hr__case_get(self->input, "podSets"), *item;
  uint32_t count = hr__case_count(self->input, "podSets"), n_requests = 0, i = 0;
  struct hr__tas_request *requests = ALLOC(self, count, struct hr__tas_request);
  struct hr__tas_result *results = ALLOC(self, count, struct hr__tas_result);
  cJSON *json = cJSON_CreateArray();
  if (!requests || !results) return json;
  cJSON_ArrayForEach(item, list) if (!read_request(run, list, item, &requests[n_requests++])) return json;
  if (!hr__tas_place(&run->search, &run->flavor.snapshot, requests, count, false, run->assumed, results))
    self->verdict->no_memory = true;
  else
    cJSON_ArrayForEach(item, list)
        cJSON_AddItemToArray(json, pod_set_json(run, hr__case_text(item, "name", ""), &results[i++]));
  return json;
}

/* The part of a node in a placement; HR_NONE if not found. */
static uint32_t part_of_node(const struct hr__kueue_placement *placement, const char *node) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < placement->n_domains; i++)
    if (!strcmp(placement->domains[i].values[placement->n_levels - 1], node)) found = i;
  return found;
}

/* Replaces a node in the placement of a pod set. Returns false if memory is exhausted. */
static bool replace(struct run *run, const struct hr__tas_request *request, const cJSON *existing, const char *node,
                    struct hr__tas_result *result) {
  const struct hr__kueue_placement *placement = hr__kueue_case_placement(&run->objects, existing);
  if (!cJSON_IsObject(existing) || (placement && !placement->n_levels))
    run->objects.verdict->malformed = "expected a placement with levels";
  if (!placement || !placement->n_levels) return false;
  const struct hr__tas_part *parts = hr__kueue_case_parts(&run->objects, &run->flavor, placement);
  return parts && hr__tas_replace(&run->search, &run->flavor.snapshot, request, parts, placement->n_domains,
                                  part_of_node(placement, node), run->assumed, result);
}

/* Replaces the first unhealthy node of a workload in all its pod sets. */
static cJSON *replace_all(struct run *run, const cJSON *workload, const char *node) {
  struct hr__kueue_case *self = &run->objects;
  bool keeps =
      hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_KEEP_POD_OWNED) && hr__kueue_case_is_one_pod(workload);
  const cJSON *list = hr__case_get(self->input, "podSets"), *item, *admitted;
  cJSON *json = cJSON_CreateArray();
  cJSON_ArrayForEach(item, list) {
    const char *name = hr__case_text(item, "name", "");
    const cJSON *existing = NULL;
    cJSON_ArrayForEach(admitted, hr__case_get(hr__case_get(workload, "admission"),
                                              "podSets")) if (!strcmp(hr__case_text(admitted, "name", ""), name))
        existing = hr__case_get(admitted, "topologyAssignment");
    if (!existing) continue;
    struct hr__tas_request request;
    struct hr__tas_result result = {0};
    if (!read_request(run, list, item, &request)) return json;
    if (!keeps && !replace(run, &request, existing, node, &result)) {
      self->verdict->no_memory = true;
      return json;
    }
    cJSON *row = pod_set_json(run, name, &result);
    if (keeps) cJSON_ReplaceItemInObjectCaseSensitive(row, "assignment", cJSON_Duplicate(existing, true));
    cJSON_AddItemToArray(json, row);
    if (result.failure.kind != HR__TAS_FITS) return json;
  }
  return json;
}

static void run_find(struct run *run, const cJSON *expect) {
  const cJSON *workload = hr__case_get(run->objects.input, "workload");
  const cJSON *node = cJSON_GetArrayItem(hr__case_get(workload, "unhealthyNodes"), 0);
  bool is_replaced = cJSON_IsString(node) && hr__case_get(workload, "admission");
  cJSON *rows = is_replaced ? replace_all(run, workload, node->valuestring) : find_all(run);
  if (!run->objects.verdict->malformed)
    hr__verdict_compare(run->objects.verdict, "podSets", hr__case_get(expect, "podSets"), rows, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(rows);
}

/* ---- tas.replace ---- */

/* The pods of these cases request one core each, unless the case names the requests. */
enum { POD_MILLICORES = 1000 };

static void run_replace(struct run *run, const cJSON *expect) {
  struct hr__kueue_case *self = &run->objects;
  const cJSON *input = self->input;
  struct hr__tas_request request;
  struct hr__tas_result result;
  if (!read_request(run, NULL, input, &request)) return;
  uint32_t cpu = hr__kueue_name_find(&self->resources, "cpu");
  int64_t *pod = dense(self, hr__case_get(input, "requests"));
  if (!pod) return;
  if (!hr__case_get(input, "requests") && cpu != HR_NONE) pod[cpu] = POD_MILLICORES;
  request.pod = pod;
  if (!replace(run, &request, hr__case_get(input, "existingTA"), hr__case_text(input, "unhealthyNode", ""), &result)) {
    self->verdict->no_memory = true;
    return;
  }
  cJSON *assignment = assignment_json(run, &result), *reason = reason_json(&result.failure);
  hr__verdict_compare(self->verdict, "wantAssignment", hr__case_get(expect, "wantAssignment"), assignment,
                      HR__COMPARE_EXACTLY, 0);
  hr__verdict_compare(self->verdict, "wantReason", hr__case_get(expect, "wantReason"), reason, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(assignment);
  cJSON_Delete(reason);
}

bool hr__conform_kueue_tas(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  bool finds = !strcmp(kind, "tas.find");
  if (!finds && strcmp(kind, "tas.replace") != 0) return hr__conform_kueue_tas_step(whole, kind, verdict);
  struct run run;
  if (begin(&run, whole, verdict)) (finds ? run_find : run_replace)(&run, hr__case_get(whole, "expect"));
  hr__tas_search_finish(&run.search);
  return true;
}

/* ---- Topologies of a world ---- */

static void release_topologies(void *data) {
  hr__tas_world_finish(data);
}

/* The levels of a topology; NULL if the case does not have it. */
static const char *const *levels_of(struct hr__kueue_case *self, const char *topology, uint32_t *count) {
  const cJSON *item;
  *count = 0;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "topologies")) {
    if (strcmp(hr__case_text(item, "name", ""), topology) != 0) continue;
    const char **levels = hr__kueue_case_texts(self, hr__case_get(item, "levels"), count);
    if (*count > HR__TAS_MAX_LEVELS) *count = 0;
    return levels;
  }
  return NULL;
}

bool hr__kueue_case_topology(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  struct hr__tas_nodes *nodes = ALLOC(self, 1, struct hr__tas_nodes);
  const char *const **levels = ALLOC(self, world->n_flavors, const char *const *);
  uint32_t *n_levels = ALLOC(self, world->n_flavors, uint32_t), used = 0;
  if (!nodes || !levels || !n_levels) return false;
  for (uint32_t i = 0; i < world->n_flavors; i++) {
    if (!world->flavors[i].topology) continue;
    levels[i] = levels_of(self, world->flavors[i].topology, &n_levels[i]);
    used++;
  }
  if (!used) return true;
  if (!read_nodes(self, nodes)) return false;
  struct hr__tas_world *topologies = hr__tas_world_create(self->verdict->arena, world, nodes, levels, n_levels);
  self->verdict->released = topologies;
  self->verdict->release = release_topologies;
  if (!topologies) self->verdict->no_memory = true;
  return topologies != NULL;
}
