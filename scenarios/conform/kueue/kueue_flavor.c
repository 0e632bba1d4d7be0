/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about flavor assignment and partial admission. To assign flavors, Kueue simulates preemptions. A
   case contains the results of the simulations: {pair: {possibility, borrowAfter}} or {pair: [possibility, level]}. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

const char *hr__kueue_mode_name(enum hr__kueue_mode mode) {
  static const char *const names[] = {"NoFit", "Preempt", "DeferredFit", "Fit"};
  return names[mode];
}

const char *hr__kueue_reason_name(enum hr__kueue_reason reason) {
  static const char *const names[] = {"",
                                      "TopologyPlacementFailed",
                                      "WaitingForQuota",
                                      "ExceedsMaxQuota",
                                      "NoMatchingFlavor",
                                      "WaitingForPreemptedWorkloads",
                                      "PendingEvaluation",
                                      "Misconfigured",
                                      "Suspended",
                                      "AdmissionGated",
                                      "WaitingForPodsReady"};
  return names[reason];
}

static enum hr__kueue_fit read_fit(const char *text) {
  static const char *const names[] = {"noFit", "noPreemptionCandidates", "preempt", "reclaim", "fit"};
  if (strcmp(text, "NoCandidates") == 0) return HR__KUEUE_FIT_NO_CANDIDATES;
  if (strcmp(text, "Reclaim") == 0) return HR__KUEUE_FIT_RECLAIM;
  if (strcmp(text, "Preempt") == 0) return HR__KUEUE_FIT_PREEMPT;
  for (int i = 0; i < 5; i++)
    if (strcmp(names[i], text) == 0) return (enum hr__kueue_fit)i;
  return HR__KUEUE_FIT_NONE;
}

/* ---- Assignment ---- */

struct simulation {
  struct hr__kueue_case *self;
  const cJSON *table, *fallback;
};

static enum hr__kueue_fit simulate(void *argument, struct hr__kueue_world *world,
                                   const struct hr__kueue_workload *workload, uint32_t pair, int64_t amount,
                                   int32_t *level) {
  (void)world, (void)workload, (void)amount;
  const struct simulation *simulation = argument;
  const cJSON *row = hr__case_get(simulation->table, hr__kueue_case_pair_name(simulation->self, pair));
  if (!row) row = simulation->fallback;
  if (cJSON_IsArray(row)) {
    *level = (int32_t)hr__case_value_whole(cJSON_GetArrayItem(row, 1), 0);
    const cJSON *text = cJSON_GetArrayItem(row, 0);
    return read_fit(cJSON_IsString(text) ? text->valuestring : "Preempt");
  }
  *level = (int32_t)hr__case_whole(row, "borrowAfter", hr__case_whole(row, "borrowingAfterSimulation", 0));
  return read_fit(hr__case_text(row, "possibility", hr__case_text(row, "preemptionPossiblity", "Preempt")));
}

static cJSON *row_json(const struct hr__kueue_case *self, const struct hr__kueue_workload *workload,
                       const struct hr__kueue_pod_set_assignment *row) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "name", workload->pod_sets[row->pod_set].name);
  cJSON_AddNumberToObject(json, "count", (double)row->count);
  cJSON *flavors = cJSON_AddObjectToObject(json, "flavors"), *requests = cJSON_AddObjectToObject(json, "requests");
  for (uint32_t i = 0; i < row->n_choices; i++) {
    cJSON *choice = cJSON_AddObjectToObject(flavors, self->world.resources[row->choices[i].resource]);
    cJSON_AddStringToObject(choice, "flavor", self->world.flavors[row->choices[i].flavor].name);
    cJSON_AddStringToObject(choice, "mode", hr__kueue_mode_name(row->choices[i].mode));
    cJSON_AddNumberToObject(choice, "triedFlavorIdx", row->choices[i].tried);
  }
  for (uint32_t i = 0; i < row->n_requests; i++)
    cJSON_AddNumberToObject(requests, self->world.resources[row->requests[i].resource],
                            (double)row->requests[i].amount);
  return json;
}

static cJSON *assignment_json(const struct hr__kueue_case *self, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment) {
  cJSON *json = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(json, "podSets");
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++)
    cJSON_AddItemToArray(rows, row_json(self, workload, &assignment->pod_sets[i]));
  cJSON *usage = cJSON_AddObjectToObject(json, "usage");
  for (uint32_t i = 0; i < assignment->n_usage; i++)
    cJSON_AddNumberToObject(usage, hr__kueue_case_pair_name(self, assignment->usage[i].pair),
                            (double)assignment->usage[i].amount);
  if (assignment->borrowing) cJSON_AddNumberToObject(json, "borrowing", assignment->borrowing);
  if (assignment->reason) cJSON_AddStringToObject(json, "noFitReason", hr__kueue_reason_name(assignment->reason));
  return json;
}

static void add_usages(struct hr__kueue_case *self, const char *member) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, member))
      hr__kueue_case_add_usage(self, hr__kueue_name_find(&self->queues, item->string), item);
}

/* Reads the slice (an earlier workload of the same job) that the workload replaces. It is the workload "replaceWl", or
   {totalRequests} in "replacedSlice". Returns false if memory is exhausted. */
static bool read_replaced(struct hr__kueue_case *self, struct hr__kueue_workload *workload) {
  const cJSON *json = hr__case_get(self->input, "replaceWl"), *slice = hr__case_get(self->input, "replacedSlice");
  if (!json && !slice) return true;
  struct hr__kueue_workload *replaced = hr__verdict_alloc(self->verdict, 1, sizeof *replaced);
  if (!replaced) return false;
  workload->replaced = replaced;
  if (json) return hr__kueue_case_workload(self, json, replaced);
  const cJSON *list = hr__case_get(slice, "totalRequests"), *item, *flavor;
  replaced->pod_sets = hr__kueue_case_pod_sets(self, list, &replaced->n_pod_sets);
  size_t room = (size_t)replaced->n_pod_sets * self->world.n_resources + 1;
  struct hr__kueue_assigned *assigned = hr__verdict_alloc(self->verdict, room, sizeof *assigned);
  replaced->usage = hr__verdict_alloc(self->verdict, room, sizeof *replaced->usage);
  if (!replaced->pod_sets || !assigned || !replaced->usage) return false;
  uint32_t at = 0;
  cJSON_ArrayForEach(item, list) {
    struct hr__kueue_pod_set *pod_set = &replaced->pod_sets[at++];
    pod_set->assigned = assigned;
    cJSON_ArrayForEach(flavor, hr__case_get(item, "flavors")) {
      *assigned++ = (struct hr__kueue_assigned){
          hr__kueue_name_find(&self->resources, flavor->string),
          hr__kueue_name_find(&self->flavors, cJSON_IsString(flavor) ? flavor->valuestring : NULL),
          hr__case_whole(hr__case_get(item, "requests"), flavor->string, 0)};
      pod_set->n_assigned++;
    }
    pod_set->admitted_count = pod_set->count;
  }
  hr__kueue_workload_sum_usage(&self->world, replaced);
  return true;
}

/* Builds the workload of a case from its pod sets. `queue` is the name of its ClusterQueue. Returns false if the queue
   is unknown, or if memory is exhausted. */
static bool read_subject(struct hr__kueue_case *self, const char *queue, struct hr__kueue_workload *out) {
  *out = (struct hr__kueue_workload){.name = "subject", .local_queue = HR_NONE};
  out->queue = hr__kueue_name_find(&self->queues, queue);
  if (out->queue == HR_NONE) {
    self->verdict->malformed = "expected the ClusterQueue of the workload";
    return false;
  }
  out->pod_sets = hr__kueue_case_pod_sets(self, hr__case_get(self->input, "podSets"), &out->n_pod_sets);
  if (!out->pod_sets) return false;
  self->world.max_pod_sets = out->n_pod_sets;
  hr__kueue_case_reclaimable(self, hr__case_get(self->input, "reclaimablePods"), out);
  return hr__kueue_read_allowed(self, hr__case_get(self->input, "allowedFlavors"), out) && read_replaced(self, out) &&
         hr__kueue_case_workloads(self, NULL, 0);
}

static bool run(struct hr__kueue_case *self, const struct hr__kueue_workload *workload,
                struct hr__kueue_assignment *assignment) {
  struct simulation simulation = {.self = self,
                                  .table = hr__case_get(self->input, "simulation"),
                                  .fallback = hr__case_get(self->input, "simulationDefault")};
  if (!simulation.table) simulation.table = hr__case_get(self->input, "simulationResult");
  struct hr__kueue_assigner assigner;
  if (!hr__kueue_assigner_begin(&assigner, self->verdict->arena, &self->world) ||
      !hr__kueue_assignment_begin(assignment, self->verdict->arena, &self->world)) {
    self->verdict->no_memory = true;
    return false;
  }
  assigner.simulate = simulate;
  assigner.simulation = &simulation;
  hr__kueue_assign(&assigner, workload, NULL, assignment);
  return true;
}

/* Returns {resource: flavor} for all pod sets; empty if the workload does not fit. */
static cJSON *flavors_json(const struct hr__kueue_case *self, const struct hr__kueue_assignment *assignment) {
  cJSON *flavors = cJSON_CreateObject();
  for (uint32_t i = 0; assignment->mode != HR__KUEUE_NO_FIT && i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    for (uint32_t k = 0; k < row->n_choices; k++) {
      const char *resource = self->world.resources[row->choices[k].resource];
      if (!hr__case_get(flavors, resource))
        cJSON_AddStringToObject(flavors, resource, self->world.flavors[row->choices[k].flavor].name);
    }
  }
  return flavors;
}

static void case_assign(struct hr__kueue_case *self) {
  struct hr__kueue_workload workload;
  struct hr__kueue_assignment assignment;
  const cJSON *expect = self->expect;
  if (!read_subject(self, hr__case_text(self->input, "targetCQ", NULL), &workload)) return;
  add_usages(self, "usage");
  if (!run(self, &workload, &assignment)) return;
  hr__compare_text(self->verdict, "mode", hr__kueue_mode_name(assignment.mode));
  const cJSON *want = hr__case_get(expect, "assignment");
  if (hr__case_get(expect, "flavors"))
    hr__compare_json(self->verdict, "flavors", flavors_json(self, &assignment), HR__COMPARE_EXACTLY);
  if (!want) return;
  /* The attempts for each flavor are not part of the result. */
  cJSON *expected = cJSON_Duplicate(want, true), *actual = assignment_json(self, &workload, &assignment), *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(expected, "podSets"))
      cJSON_DeleteItemFromObjectCaseSensitive(row, "attempts");
  if (!hr__case_get(want, "noFitReason")) cJSON_DeleteItemFromObjectCaseSensitive(actual, "noFitReason");
  hr__verdict_compare(self->verdict, "assignment", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(expected);
  cJSON_Delete(actual);
}

/* ---- Reasons ---- */

/* The queue of cases of the kind "flavor.noFitReason" that do not contain one. */
static const char default_queue[] =
    "{\"name\":\"cq\",\"resourceGroups\":[{\"flavors\":["
    "{\"name\":\"flavor-a\",\"resources\":[{\"name\":\"cpu\",\"nominal\":2000,\"borrowingLimit\":4000}]},"
    "{\"name\":\"flavor-b\",\"resources\":[{\"name\":\"cpu\",\"nominal\":2000,\"borrowingLimit\":4000}]}]}]}";

static void compare_reasons(struct hr__kueue_case *self, const struct hr__kueue_assignment *assignment) {
  const cJSON *want = hr__case_get(self->expect, "wantFlavorAttempts");
  hr__verdict_compare_text(self->verdict, "noFitReason", hr__case_get(self->expect, "wantNoFitReason"),
                           hr__kueue_reason_name(assignment->reason));
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    for (uint32_t k = 0; k < row->n_attempts; k++) {
      const char *flavor = self->world.flavors[row->attempts[k].flavor].name;
      if (hr__case_get(want, flavor))
        hr__verdict_compare_text(self->verdict, flavor, hr__case_get(want, flavor),
                                 hr__kueue_reason_name(row->attempts[k].reason));
    }
  }
}

static void prepare_reason(cJSON *input) {
  if (!hr__case_get(input, "cq")) cJSON_AddItemToObject(input, "cq", cJSON_Parse(default_queue));
  cJSON *list = cJSON_AddArrayToObject(input, "podSets");
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "podSet"), true));
}

static void case_no_fit_reason(struct hr__kueue_case *self) {
  struct hr__kueue_workload workload;
  struct hr__kueue_assignment assignment;
  if (!read_subject(self, hr__case_text(hr__case_get(self->input, "cq"), "name", NULL), &workload)) return;
  hr__kueue_case_add_usage(self, workload.queue, hr__case_get(self->input, "cqUsage"));
  add_usages(self, "siblingCQUsage");
  if (run(self, &workload, &assignment)) compare_reasons(self, &assignment);
}

/* ---- Bookmarks ---- */

/* Cases of the kind "flavor.lastTried" run in this world: two flavors with one node of 4 cores each. */
static const char bookmark_world[] =
    "{\"resourceFlavors\":[{\"name\":\"flavor-1\",\"nodeLabels\":{\"flavor\":\"one\"},\"topology\":\"topology-1\"},"
    "{\"name\":\"flavor-2\",\"nodeLabels\":{\"flavor\":\"two\"},\"topology\":\"topology-2\"}],"
    "\"topologies\":[{\"name\":\"topology-1\",\"levels\":[\"kubernetes.io/hostname\"]},"
    "{\"name\":\"topology-2\",\"levels\":[\"kubernetes.io/hostname\"]}],"
    "\"nodes\":[{\"name\":\"node-1\",\"labels\":{\"flavor\":\"one\",\"kubernetes.io/hostname\":\"node-1\"},"
    "\"allocatable\":{\"cpu\":4000,\"pods\":32},\"ready\":true},"
    "{\"name\":\"node-2\",\"labels\":{\"flavor\":\"two\",\"kubernetes.io/hostname\":\"node-2\"},"
    "\"allocatable\":{\"cpu\":4000,\"pods\":32},\"ready\":true}]}";

static cJSON *bookmark_queue(const char *name, int64_t nominal) {
  cJSON *queue = cJSON_CreateObject();
  cJSON_AddStringToObject(queue, "name", name);
  cJSON_AddStringToObject(queue, "cohort", "cohort");
  cJSON *group = cJSON_CreateObject(), *flavors = cJSON_AddArrayToObject(group, "flavors");
  for (int i = 1; i <= 2; i++) {
    cJSON *flavor = cJSON_CreateObject(), *resource = cJSON_CreateObject();
    cJSON_AddStringToObject(flavor, "name", i == 1 ? "flavor-1" : "flavor-2");
    cJSON_AddStringToObject(resource, "name", "cpu");
    cJSON_AddNumberToObject(resource, "nominal", (double)nominal);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(flavor, "resources"), resource);
    cJSON_AddItemToArray(flavors, flavor);
  }
  cJSON_AddItemToArray(cJSON_AddArrayToObject(queue, "resourceGroups"), group);
  return queue;
}

static int64_t cores(const cJSON *input, const char *name) {
  int64_t value = 0;
  hr__kueue_quantity(hr__case_text(input, name, "0"), true, &value);
  return value;
}

/* Adds the world of the case. */
static void prepare_bookmark(cJSON *input) {
  cJSON *world = cJSON_Parse(bookmark_world), *queues = cJSON_AddArrayToObject(input, "clusterQueues"), *item;
  cJSON_ArrayForEach(item, world) cJSON_AddItemToObject(input, item->string, cJSON_Duplicate(item, true));
  cJSON_Delete(world);
  cJSON *queue = bookmark_queue("cq", cores(input, "nominalPerFlavor"));
  cJSON_AddItemToObject(queue, "flavorFungibility", cJSON_Duplicate(hr__case_get(input, "fungibility"), true));
  cJSON_AddItemToArray(queues, queue);
  cJSON_AddItemToArray(queues, bookmark_queue("sibling", cores(input, "cohortSpare")));
  cJSON *pod_set = cJSON_CreateObject();
  cJSON_AddStringToObject(pod_set, "name", "main");
  cJSON_AddNumberToObject(pod_set, "count", 1);
  cJSON_AddNumberToObject(cJSON_AddObjectToObject(pod_set, "requests"), "cpu", (double)cores(input, "request"));
  cJSON_AddStringToObject(cJSON_AddObjectToObject(pod_set, "topologyRequest"), "required", "kubernetes.io/hostname");
  cJSON_AddItemToArray(cJSON_AddArrayToObject(input, "podSets"), pod_set);
}

static void case_last_tried(struct hr__kueue_case *self) {
  struct hr__kueue_workload workload;
  struct hr__kueue_assignment assignment;
  if (!read_subject(self, "cq", &workload)) return;
  hr__kueue_case_add_usage(self, workload.queue, hr__case_get(self->input, "clusterQueueUsage"));
  if (!run(self, &workload, &assignment)) return;
  const cJSON *expect = self->expect, *plan = hr__case_get(expect, "wantPlan");
  const struct hr__kueue_pod_set_assignment *row = &assignment.pod_sets[0];
  hr__verdict_compare_text(self->verdict, "mode", hr__case_get(expect, "wantMode"),
                           hr__kueue_mode_name(assignment.mode));
  hr__verdict_compare_number(self->verdict, "tried", hr__case_get(expect, "wantTriedFlavorIdx"),
                             row->n_choices ? row->choices[0].tried : -2);
  if (plan) hr__verdict_compare_bool(self->verdict, "plan", plan, row->placement != NULL);
}

/* ---- Other kinds ---- */

static void case_is_preferred(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *a = hr__case_get(input, "a"), *b = hr__case_get(input, "b");
  struct hr__kueue_outcome left = {read_fit(hr__case_text(a, "mode", "")),
                                   (int32_t)hr__case_whole(a, "borrowingLevel", 0)};
  struct hr__kueue_outcome right = {read_fit(hr__case_text(b, "mode", "")),
                                    (int32_t)hr__case_whole(b, "borrowingLevel", 0)};
  bool preemption_first = hr__case_text_is(hr__case_get(input, "fungibility"), "preference", "PreemptionOverBorrowing");
  hr__compare_bool(self->verdict, "aPreferred", hr__kueue_is_preferred(left, right, preemption_first));
}

static void case_total_requests(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *fields = hr__case_get(input, "fields"), *item, *request;
  const cJSON *pod_sets = hr__case_get(hr__case_get(hr__case_get(input, "args"), "wl"), "podSets");
  const cJSON *old = hr__case_get(hr__case_get(fields, "replaceWorkloadSlice"), "podSets");
  cJSON *actual = cJSON_CreateObject();
  int at = 0;
  cJSON_ArrayForEach(item, pod_sets) {
    const cJSON *row = cJSON_GetArrayItem(hr__case_get(fields, "podSets"), at);
    int64_t count = hr__case_whole(row, "count", 0) - hr__case_whole(cJSON_GetArrayItem(old, at), "count", 0);
    at++;
    cJSON_ArrayForEach(request, hr__case_get(item, "requests")) {
      int64_t amount = hr__kueue_times(hr__case_value_whole(request, 0), count);
      const char *flavor = hr__case_text(hr__case_get(hr__case_get(row, "flavors"), request->string), "name", NULL);
      char pair[300];
      if (!amount || !flavor) continue;
      snprintf(pair, sizeof pair, "%.100s/%.190s", flavor, request->string);
      hr__kueue_case_add_to(actual, pair, amount);
    }
  }
  hr__compare_json(self->verdict, "want", actual, HR__COMPARE_EXACTLY);
}

struct limit {
  uint32_t n;
  int64_t total;
};

static bool within_limit(void *argument, const int64_t *counts) {
  const struct limit *limit = argument;
  int64_t sum = 0;
  for (uint32_t i = 0; i < limit->n; i++) sum += counts[i];
  return sum <= limit->total;
}

static void case_reduce(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *item;
  size_t n = hr__case_count(input, "podSets");
  int64_t *full = hr__verdict_alloc(self->verdict, 3 * (n + 1), sizeof *full), sum = 0;
  if (!full) return;
  int64_t *minimum = full + n + 1, *counts = minimum + n + 1;
  struct limit limit = {.total = hr__case_whole(input, "countLimit", 0)};
  cJSON_ArrayForEach(item, hr__case_get(input, "podSets")) {
    full[limit.n] = hr__case_whole(item, "count", 0);
    minimum[limit.n++] = hr__case_whole(item, "minCount", -1);
  }
  bool found = hr__kueue_reduce(full, minimum, limit.n, counts, within_limit, &limit);
  for (uint32_t i = 0; found && i < limit.n; i++) sum += counts[i];
  hr__compare_bool(self->verdict, "found", found);
  hr__compare_number(self->verdict, "count", (double)sum);
}

const struct hr__kueue_case_kind hr__kueue_flavor_kinds[] = {{"flavor.assign", case_assign, NULL},
                                                             {"flavor.isPreferred", case_is_preferred, NULL},
                                                             {"flavor.noFitReason", case_no_fit_reason, prepare_reason},
                                                             {"flavor.totalRequests", case_total_requests, NULL},
                                                             {"flavor.lastTried", case_last_tried, prepare_bookmark},
                                                             {"partialAdmission.search", case_reduce, NULL},
                                                             {NULL, NULL, NULL}};
