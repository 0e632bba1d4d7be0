/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Kueue against its model: selects the function for the kind of a case. This file contains the
 * cases of single rules, of steps of a scheduling cycle, and of several cycles. The other files of this folder contain
 * the cases of flavors, preemption, the life of workloads, single cycles, queues and topologies.
 *
 * Source of the cases: table tests of kubernetes-sigs/kueue.
 */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/kueue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Single rules ----------------------------------------------------------------------------------- */

/* ---- Single rules: quotas --------------------------------------------------------------------------- */

/* Runs the Kueue cases about the tree of quotas and about fair shares. The usage that a case states for each queue is
   added to the tree of the world. */

/* Returns the node of the tree of quotas for the queue or cohort with a name; HR_NONE if it is unknown. */
static uint32_t node_named(const struct hr__kueue_case *self, const char *name) {
  uint32_t queue = hr__kueue_name_find(&self->queues, name);
  if (queue != HR_NONE) return queue;
  uint32_t cohort = hr__kueue_name_find(&self->cohorts, name);
  return cohort == HR_NONE ? HR_NONE : self->world.tree.n_queues + cohort;
}

/* Adds {queue: {"flavor/resource": amount}} to the tree. */
static void add_usage(struct hr__kueue_case *self, const cJSON *usage) {
  const cJSON *item;
  cJSON_ArrayForEach(item, usage) hr__kueue_case_add_usage(self, node_named(self, item->string), item);
}

/* Compares {node: {pair: value}} for the nodes and pairs of the expected table `name`. */
static void compare_table(struct hr__kueue_case *self, const char *name,
                          int64_t (*value)(const struct hr__kueue_tree *, uint32_t, uint32_t)) {
  cJSON *all = cJSON_CreateObject();
  const cJSON *row, *cell;
  cJSON_ArrayForEach(row, hr__case_get(self->expect, name)) {
    cJSON *values = cJSON_AddObjectToObject(all, row->string);
    uint32_t node = node_named(self, row->string);
    cJSON_ArrayForEach(cell, row) {
      uint32_t pair = hr__kueue_case_pair(self, cell->string);
      if (node == HR_NONE || pair == HR_NONE) continue;
      cJSON_AddNumberToObject(values, cell->string, (double)value(&self->world.tree, node, pair));
    }
  }
  hr__compare_json(self->verdict, name, all, HR__COMPARE_EXACTLY);
}

static void case_quota_available(struct hr__kueue_case *self) {
  add_usage(self, hr__case_get(self->input, "usage"));
  compare_table(self, "available", hr__kueue_available);
  compare_table(self, "potentialAvailable", hr__kueue_potential);
}

static void case_quota_lendable(struct hr__kueue_case *self) {
  uint32_t node = node_named(self, hr__case_text(self->input, "node", NULL));
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; node != HR_NONE && i < self->world.n_resources; i++)
    cJSON_AddNumberToObject(actual, self->world.resources[i], (double)hr__kueue_lendable(&self->world, node, i));
  hr__compare_json(self->verdict, "lendable", actual, HR__COMPARE_EXACTLY);
}

static int64_t usage_of(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return tree->usage[hr__kueue_cell(tree, node, pair)];
}

static void apply(struct hr__kueue_case *self, const char *list, bool add) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, list)) {
    uint32_t id = cJSON_IsString(item) ? hr__kueue_case_find_workload(self, item->valuestring) : HR_NONE;
    if (id == HR_NONE || self->world.workloads[id].listed == add || self->world.workloads[id].queue == HR_NONE)
      continue;
    if (add)
      hr__kueue_list(&self->world, id);
    else
      hr__kueue_unlist(&self->world, id);
  }
}

static void case_quota_usage(struct hr__kueue_case *self) {
  const cJSON *admitted = hr__case_get(self->input, "admitted");
  if (!hr__kueue_case_workloads(self, &admitted, 1)) return;
  apply(self, "remove", false);
  apply(self, "add", true);
  compare_table(self, "usage", usage_of);
}

/* ---- Single rules: fair shares ---------------------------------------------------------------------- */

static cJSON *share_json(const struct hr__kueue_case *self, uint32_t node, const struct hr__kueue_share *share) {
  cJSON *row = cJSON_CreateObject();
  bool queue = node < self->world.tree.n_queues;
  const char *name = queue ? self->queues.items[node] : self->cohorts.items[node - self->world.tree.n_queues];
  cJSON_AddStringToObject(row, "node", name);
  cJSON_AddStringToObject(row, "type", queue ? "clusterQueue" : "cohort");
  cJSON_AddNumberToObject(row, "dominantShareRounded", (double)hr__kueue_share_rounded(share));
  cJSON_AddStringToObject(row, "dominantResource",
                          share->resource == HR_NONE ? "" : self->world.resources[share->resource]);
  cJSON_AddBoolToObject(row, "borrowing", share->borrowing);
  return row;
}

/* Returns the extra requests of a node. The member "extraRequests" is {pair: amount} for all nodes, or
   {node: {pair: amount}}. */
static struct hr__kueue_usage *extra_of(struct hr__kueue_case *self, const char *node, uint32_t *count) {
  const cJSON *extra = hr__case_get(self->input, "extraRequests");
  const cJSON *own = hr__case_get(extra, node);
  return hr__kueue_case_usage(self, cJSON_IsObject(own) ? own : extra, count);
}

static void case_share(struct hr__kueue_case *self) {
  add_usage(self, hr__case_get(self->input, "usage"));
  const cJSON *expected = hr__case_get(self->expect, "shares"), *item;
  cJSON *actual = cJSON_CreateArray();
  cJSON_ArrayForEach(item, expected) {
    const char *name = hr__case_text(item, "node", "");
    uint32_t node = hr__kueue_name_find(&self->queues, name), count;
    if (hr__case_text_is(item, "type", "cohort")) {
      node = hr__kueue_name_find(&self->cohorts, name);
      if (node != HR_NONE) node += self->world.tree.n_queues;
    }
    struct hr__kueue_usage *extra = extra_of(self, name, &count);
    if (!extra || node >= self->world.tree.n_nodes) break;
    struct hr__kueue_share share = hr__kueue_share_of(&self->world, node, extra, count);
    cJSON_AddItemToArray(actual, share_json(self, node, &share));
  }
  hr__verdict_compare(self->verdict, "shares", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_borrowing_on(struct hr__kueue_case *self) {
  add_usage(self, hr__case_get(self->input, "usage"));
  uint32_t node = node_named(self, hr__case_text(self->input, "node", NULL)), count;
  struct hr__kueue_usage *requested = hr__kueue_case_usage(self, hr__case_get(self->input, "requested"), &count);
  if (node == HR_NONE) self->verdict->malformed = "expected the name of a node";
  if (!requested || self->verdict->malformed) return;
  struct hr__kueue_share share = hr__kueue_share_of(&self->world, node, NULL, 0);
  bool on_requested = hr__kueue_borrows_on(&self->world, node, requested, count);
  hr__compare_bool(self->verdict, "borrowing", share.borrowing);
  hr__compare_bool(self->verdict, "borrowingOnRequested", on_requested);
}

static void case_precise_share(struct hr__kueue_case *self) {
  const cJSON *input = self->input;
  double ratio = hr__case_real(input, "unweightedRatio", 0);
  struct hr__kueue_share share = {.weight = hr__case_real(input, "weight", 1),
                                  .ratio = ratio,
                                  .borrowing = hr__case_bool(input, "borrowing", ratio > 0),
                                  .resource = HR_NONE};
  double value = hr__kueue_share_value(&share);
  char text[40] = "+Inf";
  /* The shortest text that converts back to the same number. */
  for (int digits = 1; isfinite(value) && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value)) break;
  }
  if (isfinite(value) && strchr(text, 'e')) snprintf(text, sizeof text, "%.0f", value);
  hr__compare_text(self->verdict, "preciseShare", text);
}

/* ---- Single rules: other rules ---------------------------------------------------------------------- */

/* Runs the Kueue cases about arithmetic and small rules: requests, quantities, priorities, usage of workloads and of
   local queues. */

/* ---- Single rules: requests ------------------------------------------------------------------------- */

static void case_requests(struct hr__kueue_case *self) {
  struct hr__kueue_amounts requests = hr__kueue_case_amounts(self, hr__case_get(self->input, "requests"));
  struct hr__kueue_amounts capacity = hr__kueue_case_amounts(self, hr__case_get(self->input, "capacity"));
  uint32_t limiting;
  double count = (double)hr__kueue_count_in(&requests, &capacity, &limiting);
  const cJSON *expect = self->expect, *result = hr__case_get(expect, "wantResult");
  hr__verdict_compare_number(self->verdict, "count", result ? result : hr__case_get(expect, "wantCount"), count);
  if (result) return;
  const char *name = limiting == HR_NONE ? "" : self->world.resources[limiting];
  hr__verdict_compare_text(self->verdict, "limiting", hr__case_get(expect, "wantLimitingResource"), name);
}

static void case_greater_keys(struct hr__kueue_case *self) {
  struct hr__kueue_amounts a = hr__kueue_case_amounts(self, hr__case_get(self->input, "a"));
  struct hr__kueue_amounts b = hr__kueue_case_amounts(self, hr__case_get(self->input, "b"));
  cJSON *keys = cJSON_CreateArray();
  for (uint32_t i = 0; i < a.count; i++)
    for (uint32_t k = 0; k < b.count; k++)
      if (a.items[i].resource == b.items[k].resource && a.items[i].amount > b.items[k].amount)
        cJSON_AddItemToArray(keys, cJSON_CreateString(self->world.resources[a.items[i].resource]));
  hr__kueue_compare_list(self, "want", keys, HR__COMPARE_EXACTLY);
}

static void case_quantity(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *expect = self->expect;
  int64_t value = 0;
  bool cpu = hr__case_text_is(input, "resource", "cpu");
  if (!hr__kueue_quantity(hr__case_text(input, "quantity", ""), cpu, &value)) {
    self->verdict->malformed = "expected a quantity";
    return;
  }
  const cJSON *unlimited = hr__case_get(expect, "wantUnlimited"), *want = hr__case_get(expect, "want");
  if (unlimited) hr__verdict_compare_bool(self->verdict, "unlimited", unlimited, value == HR__KUEUE_UNLIMITED);
  if (!want) want = hr__case_get(expect, "wantValue");
  if (want || !unlimited) hr__verdict_compare_number(self->verdict, "value", want, (double)value);
}

static void case_floor(struct hr__kueue_case *self) {
  struct hr__kueue_amounts requests = hr__kueue_case_amounts(self, hr__case_get(self->input, "requests"));
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; i < requests.count; i++) {
    int64_t amount = requests.items[i].amount;
    cJSON_AddNumberToObject(actual, self->world.resources[requests.items[i].resource], amount > 0 ? (double)amount : 0);
  }
  hr__compare_json(self->verdict, "want", actual, HR__COMPARE_EXACTLY);
}

/* ---- Single rules: local queues --------------------------------------------------------------------- */

static double *read_weights(struct hr__kueue_case *self, const cJSON *object) {
  double *weights = hr__verdict_alloc(self->verdict, self->world.n_resources + 1, sizeof *weights);
  for (uint32_t i = 0; weights && i < self->world.n_resources; i++)
    weights[i] = hr__case_real(object, self->world.resources[i], 1);
  return weights;
}

static void case_local_usage(struct hr__kueue_case *self) {
  struct hr__kueue_amounts consumed = hr__kueue_case_amounts(self, hr__case_get(self->input, "consumed"));
  struct hr__kueue_amounts penalty = hr__kueue_case_amounts(self, hr__case_get(self->input, "penalty"));
  double *weights = read_weights(self, hr__case_get(self->input, "resWeights"));
  if (!weights) return;
  uint32_t cpu = hr__kueue_name_find(&self->resources, "cpu");
  double usage = hr__kueue_local_usage(&consumed, &penalty, weights, hr__case_real(self->input, "lqWeight", 1), cpu);
  const cJSON *want = hr__case_get(self->expect, "wantUsage");
  if (want) {
    cJSON *actual = cJSON_CreateNumber(usage);
    hr__verdict_compare(self->verdict, "usage", want, actual, HR__COMPARE_EXACTLY, 1e-9);
    cJSON_Delete(actual);
  } else if (strcmp(self->verdict->kind, "afs.usageZeroWeight") == 0) {
    const cJSON infinite = {.type = cJSON_True}; /* the case only expects that the usage is infinite */
    hr__verdict_compare_bool(self->verdict, "infinite", &infinite, isinf(usage));
  }
}

static void case_local_weight(struct hr__kueue_case *self) {
  const cJSON *queue = hr__case_get(self->input, "localQueue");
  double weight = hr__case_real(hr__case_get(queue, "fairSharing"), "weight", 1);
  hr__verdict_compare_number(self->verdict, "weight", hr__case_get(self->expect, "wantWeight"), weight);
}

/* ---- Single rules: workloads ------------------------------------------------------------------------ */

static void case_workload_usage(struct hr__kueue_case *self) {
  cJSON *actual = cJSON_CreateObject(), *assigned = cJSON_AddObjectToObject(actual, "assigned");
  cJSON *unassigned = cJSON_AddObjectToObject(actual, "unassigned");
  const cJSON *row;
  cJSON_ArrayForEach(row, hr__case_get(hr__case_get(self->input, "info"), "totalRequests")) {
    struct hr__kueue_amounts requests = hr__kueue_case_amounts(self, hr__case_get(row, "requests"));
    for (uint32_t i = 0; i < requests.count; i++) {
      const char *resource = self->world.resources[requests.items[i].resource];
      const char *flavor = hr__case_text(hr__case_get(row, "flavors"), resource, NULL);
      uint32_t id = hr__kueue_name_find(&self->flavors, flavor);
      if (id == HR_NONE)
        hr__kueue_case_add_to(unassigned, resource, requests.items[i].amount);
      else
        hr__kueue_case_add_to(
            assigned, hr__kueue_case_pair_name(self, hr__kueue_pair(&self->world, id, requests.items[i].resource)),
            requests.items[i].amount);
    }
  }
  hr__compare_json(self->verdict, "want", actual, HR__COMPARE_EXACTLY);
}

static void case_execution_time(struct hr__kueue_case *self) {
  const cJSON *workload = hr__case_get(self->input, "wl");
  const cJSON *admitted = hr__kueue_case_condition(workload, "Admitted"),
              *finished = hr__kueue_case_condition(workload, "Finished");
  const cJSON *want = hr__case_get(self->expect, "want");
  if (!admitted || !finished) {
    hr__verdict_compare(self->verdict, "want", want, NULL, HR__COMPARE_EXACTLY, 0);
    return;
  }
  const cJSON *other = hr__case_get(hr__case_get(workload, "other"), "PastAdmittedTime");
  if (cJSON_IsArray(other)) other = cJSON_GetArrayItem(other, 0);
  double past =
      cJSON_IsNumber(other) ? other->valuedouble : hr__case_real(workload, "accumulatedPastExecutionTimeSeconds", 0);
  double time = hr__case_real(finished, "at", 0) - hr__case_real(admitted, "at", 0) + past;
  hr__verdict_compare_number(self->verdict, "want", want, time);
}

static void case_reclaimable(struct hr__kueue_case *self) {
  /* The workload of the cases has these pod sets; only their sizes matter. */
  static const struct {
    const char *name;
    int64_t count;
  } pod_sets[] = {{"ps1", 3}, {"ps2", 5}};
  const cJSON *list = hr__case_get(self->input, "reclaimablePods"), *item;
  cJSON *actual = cJSON_CreateArray();
  cJSON_ArrayForEach(item, list) {
    const char *name = hr__case_text(item, "name", "");
    int64_t count = hr__case_whole(item, "count", 0);
    for (size_t i = 0; i < 2; i++)
      if (strcmp(pod_sets[i].name, name) == 0 && count > pod_sets[i].count) count = pod_sets[i].count;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", name);
    cJSON_AddNumberToObject(row, "count", (double)count);
    cJSON_AddItemToArray(actual, row);
  }
  const cJSON *want = hr__case_get(self->expect, "want");
  hr__verdict_compare(self->verdict, "want", want, want || list ? actual : NULL, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_priority(struct hr__kueue_case *self) {
  const cJSON *json = hr__case_get(self->input, "workload"), *expect = self->expect;
  const char *annotation = hr__case_text(hr__case_get(json, "annotations"), "kueue.x-k8s.io/priority-boost", NULL);
  if (!hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_BOOST)) annotation = NULL;
  int64_t priority = hr__case_whole(json, "priority", 0);
  int64_t boosted = hr__kueue_boosted_priority(priority, annotation);
  const cJSON *error = hr__case_get(expect, "wantErr");
  if (cJSON_IsBool(error)) {
    int64_t unused;
    bool wrong = annotation && *annotation && !hr__kueue_boost_of(annotation, &unused);
    hr__verdict_compare_bool(self->verdict, "error", error, wrong);
  }
  if (strcmp(self->verdict->kind, "priority.boost") == 0)
    hr__verdict_compare_number(self->verdict, "boost", hr__case_get(expect, "wantBoost"), (double)(boosted - priority));
  else if (strcmp(self->verdict->kind, "priority") != 0)
    hr__verdict_compare_number(self->verdict, "priority", hr__case_get(expect, "wantPriority"), (double)boosted);
  else if (cJSON_IsString(hr__case_get(expect, "want"))) /* the name of Kueue's constant for the priority 0 */
    hr__verdict_compare_text(self->verdict, "priority", hr__case_get(expect, "want"),
                             priority ? "" : "DefaultPriority");
  else
    hr__verdict_compare_number(self->verdict, "priority", hr__case_get(expect, "want"), (double)priority);
}

/* ---- Steps of a cycle: order ------------------------------------------------------------------------ */

static bool read_entry(struct hr__kueue_case *self, const cJSON *entry, struct hr__kueue_workload *workload) {
  if (!hr__kueue_case_workload(self, hr__case_get(entry, "workload"), workload)) return false;
  workload->preemptor = hr__case_bool(entry, "isPreemptor", false);
  return true;
}

static void case_entry_order(struct hr__kueue_case *self) {
  size_t n = hr__case_count(self->input, "entries");
  struct hr__kueue_workload *workloads = hr__verdict_alloc(self->verdict, n + 1, sizeof *workloads);
  const cJSON **order = hr__verdict_alloc(self->verdict, n + 1, sizeof *order), *item;
  struct hr__kueue_workload **sorted = hr__verdict_alloc(self->verdict, n + 1, sizeof *sorted);
  if (!workloads || !order || !sorted) return;
  size_t count = 0;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "entries")) {
    if (!read_entry(self, item, &workloads[count])) return;
    int32_t borrowing = (int32_t)hr__case_whole(item, "borrowing", 0);
    size_t at = count;
    for (; at > 0; at--) {
      int32_t other = (int32_t)hr__case_whole(order[at - 1], "borrowing", 0);
      if (hr__kueue_entry_order(&self->world, sorted[at - 1], other, &workloads[count], borrowing) <= 0) break;
      order[at] = order[at - 1];
      sorted[at] = sorted[at - 1];
    }
    order[at] = item;
    sorted[at] = &workloads[count++];
  }
  cJSON *actual = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++)
    cJSON_AddItemToArray(actual, cJSON_CreateString(hr__case_text(hr__case_get(order[i], "workload"), "name", "")));
  hr__compare_json(self->verdict, "order", actual, HR__COMPARE_EXACTLY);
}

/* Returns the fair share of the workload `key` ("namespace/name"), from the member "COHORT|KEY" of "drs". Sets
   `*borrows` if the workload requests a resource of which its queue borrows quota. */
static struct hr__kueue_share read_share(const struct hr__kueue_case *self, const char *key, bool *borrows) {
  struct hr__kueue_share share = {.weight = 1, .resource = HR_NONE};
  const cJSON *row, *pair, *requested = hr__case_get(hr__case_get(self->input, "requested"), key);
  cJSON_ArrayForEach(row, hr__case_get(self->input, "drs")) {
    const char *bar = strchr(row->string, '|');
    if (strcmp(bar ? bar + 1 : row->string, key) != 0) continue;
    if (hr__case_bool(row, "negative", false)) share = hr__kueue_share_lowest();
    share.ratio = hr__case_real(row, "unweightedRatio", share.ratio);
    share.weight = hr__case_real(row, "fairWeight", share.weight);
    cJSON_ArrayForEach(pair, hr__case_get(row, "borrowingOn")) {
      share.borrowing = true;
      if (cJSON_IsString(pair) && hr__case_whole(requested, pair->valuestring, 0) > 0) *borrows = true;
    }
  }
  return share;
}

static void case_fair_less(struct hr__kueue_case *self) {
  struct hr__kueue_workload a, b;
  if (!read_entry(self, hr__case_get(self->input, "a"), &a) || !read_entry(self, hr__case_get(self->input, "b"), &b))
    return;
  bool a_borrows = false, b_borrows = false;
  struct hr__kueue_share a_share = read_share(self, a.name, &a_borrows), b_share = read_share(self, b.name, &b_borrows);
  bool before = hr__kueue_fair_before(&self->world, &a, &a_share, a_borrows, &b, &b_share, b_borrows);
  hr__compare_bool(self->verdict, "aBeforeB", before);
}

/* ---- Steps of a cycle: reservation ------------------------------------------------------------------ */

static void case_reserve(struct hr__kueue_case *self) {
  struct hr__kueue_assignment assignment = {
      .mode = hr__case_text_is(self->input, "assignmentMode", "Preempt") ? HR__KUEUE_PREEMPT : HR__KUEUE_FIT,
      .borrowing = (int32_t)hr__case_whole(self->input, "borrowing", 0)};
  assignment.usage = hr__kueue_case_usage(self, hr__case_get(self->input, "assignmentUsage"), &assignment.n_usage);
  struct hr__kueue_usage *reserved = hr__verdict_alloc(self->verdict, (size_t)assignment.n_usage + 1, sizeof *reserved);
  if (!self->world.tree.n_queues) self->verdict->malformed = "expected a ClusterQueue \"cq\"";
  if (!assignment.usage || !reserved || self->verdict->malformed) return;
  hr__kueue_case_add_usage(self, 0, hr__case_get(self->input, "cqUsage"));
  uint32_t n = hr__kueue_reserve(&self->world, 0, &assignment, reserved);
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; i < n; i++)
    cJSON_AddNumberToObject(actual, hr__kueue_case_pair_name(self, reserved[i].pair), (double)reserved[i].amount);
  hr__compare_json(self->verdict, "wantReserved", actual, HR__COMPARE_EXACTLY);
}

/* ---- Steps of a cycle: bookmarks -------------------------------------------------------------------- */

/* A bookmark is the position of the flavor that the last attempt tried last for a resource of a pod set; -1: none. The
   next attempt continues after it. */

static void case_outdated(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *args = hr__case_get(input, "args"), *last = hr__case_get(args, "last");
  hr__kueue_gates gates = hr__kueue_gates_of_version(HR__KUEUE_NEWEST_VERSION);
  hr__kueue_gates_set(&gates, "FlavorFungibilityPreserveScanProgress", hr__case_bool(input, "preserveProgress", false));
  const char *old = hr__case_text(last, "schedulingHash", ""), *now = hr__case_text(args, "currentSchedulingHash", "");
  bool known = *old && *now && strcmp(old, "unknown") != 0 && strcmp(now, "unknown") != 0;
  bool outdated = hr__kueue_bookmark_is_outdated(
      gates, hr__case_whole(last, "clusterQueueGeneration", 0), hr__case_whole(args, "currentCQGeneration", 0),
      hr__case_whole(last, "schedulingCycle", 0), hr__case_whole(args, "currentSchedulingCycle", 0), known,
      strcmp(old, now) == 0);
  hr__compare_bool(self->verdict, "want", outdated);
}

static void case_bookmarks(struct hr__kueue_case *self) {
  const cJSON *list = hr__case_get(hr__case_get(self->input, "state"), "lastTriedFlavorIdx"), *row, *tried;
  bool pending = false;
  cJSON_ArrayForEach(row, list) cJSON_ArrayForEach(tried, row) pending |= hr__case_value_whole(tried, -1) != -1;
  hr__compare_bool(self->verdict, "wantPendingFlavors", pending);
}

/* ---- Several cycles --------------------------------------------------------------------------------- */

/* Runs the Kueue cases of several scheduling cycles: which quota is reserved after workloads are deleted, and which
   flavors are tried in later cycles. The bookmarks of a workload become invalid when the allocatable quota of its queue
   rises; the queue counts these events in `generation`. */

struct multi_run {
  struct hr__kueue_cycle_run cycles;
  int32_t **rows;             /* by workload: bookmarks of the last attempt; NULL: none */
  int64_t *generation, *when; /* by workload: generation of its queue, and cycle, of the last attempt */
  int64_t cycle;              /* number of the current cycle, from 1 */
};

static bool begin(struct multi_run *run, struct hr__kueue_case *self) {
  if (!hr__kueue_cycle_start(&run->cycles, self)) return false;
  size_t n = (size_t)self->world.n_workloads + 1;
  run->rows = hr__verdict_alloc(self->verdict, n, sizeof *run->rows);
  run->generation = hr__verdict_alloc(self->verdict, n, sizeof *run->generation);
  run->when = hr__verdict_alloc(self->verdict, n, sizeof *run->when);
  return run->rows && run->generation && run->when;
}

/* Gives each workload its bookmarks, unless they have become invalid. */
static void check_bookmarks(struct multi_run *run) {
  struct hr__kueue_world *world = &run->cycles.self->world;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    workload->tried = run->rows[i];
    if (!run->rows[i] || workload->queue == HR_NONE) continue;
    int64_t now = world->queues[workload->queue].generation;
    if (hr__kueue_bookmark_is_outdated(world->gates, run->generation[i], now, run->when[i], run->cycle, true, true))
      workload->tried = NULL;
  }
}

static bool save_bookmarks(struct multi_run *run) {
  struct hr__kueue_world *world = &run->cycles.self->world;
  for (uint32_t i = 0; i < run->cycles.cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &run->cycles.cycle.entries[i];
    const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
    run->rows[entry->workload] = NULL;
    if (!entry->nominated || !entry->keeps_bookmark) continue;
    size_t room = (size_t)workload->n_pod_sets * world->n_resources + 1;
    int32_t *row = hr__verdict_alloc(run->cycles.self->verdict, room, sizeof *row);
    if (!row) return false;
    hr__kueue_bookmarks_save(world, workload, &entry->assignment, row);
    run->rows[entry->workload] = row;
    run->generation[entry->workload] = world->queues[workload->queue].generation;
    run->when[entry->workload] = run->cycle;
  }
  return true;
}

static bool step(struct multi_run *run) {
  run->cycle++;
  check_bookmarks(run);
  return hr__kueue_cycle_step(&run->cycles) && save_bookmarks(run) && hr__kueue_cycle_take_effect(&run->cycles);
}

/* ---- Cases with two cycles -------------------------------------------------------------------------- */

/* Compares the expected workloads after the first cycle: whether quota is reserved, why it is not (the reason of the
   condition QuotaReserved), and why the workload was preempted (the reason of the condition Preempted). */
static void compare_first_cycle(struct multi_run *run) {
  struct hr__kueue_cycle_run *cycles = &run->cycles;
  const cJSON *item, *condition, *target;
  cJSON_ArrayForEach(item, hr__case_get(cycles->self->expect, "wantWorkloads")) {
    const char *key = hr__kueue_case_key(cycles->self, item), *evicted = "";
    cJSON_ArrayForEach(target, cycles->preempted) if (hr__case_text_is(target, "workload", key)) evicted =
        hr__case_text(target, "reason", "");
    const cJSON *reason = hr__case_get(cycles->reasons, key);
    cJSON_ArrayForEach(condition, hr__case_get(item, "conditions")) {
      if (hr__case_text_is(condition, "type", "QuotaReserved") && hr__case_text_is(condition, "status", "False"))
        hr__verdict_compare(cycles->self->verdict, key, hr__case_get(condition, "reason"), reason, HR__COMPARE_EXACTLY,
                            0);
      if (hr__case_text_is(condition, "type", "Preempted"))
        hr__verdict_compare_text(cycles->self->verdict, key, hr__case_get(condition, "reason"), evicted);
    }
    uint32_t id = hr__kueue_case_find_workload(cycles->self, key);
    const cJSON want = {.type = hr__case_get(item, "admission") ? cJSON_True : cJSON_False};
    hr__verdict_compare_bool(cycles->self->verdict, key, &want,
                             id != HR_NONE && cycles->self->world.workloads[id].reserved);
  }
}

static void delete_workload(struct multi_run *run, uint32_t id) {
  struct hr__kueue_world *world = &run->cycles.self->world;
  struct hr__kueue_workload *workload = &world->workloads[id];
  if (workload->queue == HR_NONE) return;
  if (workload->listed) {
    hr__kueue_unlist(world, id);
    uint32_t queue = workload->queue;
    world->queues[queue].generation++;
    hr__kueue_pending_return(&run->cycles.pending, queue);
  } else {
    hr__kueue_pending_remove(&run->cycles.pending, id);
  }
  workload->reserved = false;
}

/* Returns {workload: admission} of all workloads with quota. */
static cJSON *admissions_json(const struct multi_run *run) {
  const struct hr__kueue_case *self = run->cycles.self;
  cJSON *all = cJSON_CreateObject();
  for (uint32_t i = 0; i < self->world.n_workloads; i++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[i];
    if (!workload->listed) continue;
    cJSON *admission = cJSON_AddObjectToObject(all, workload->name);
    cJSON_AddStringToObject(admission, "clusterQueue", self->queues.items[workload->queue]);
    cJSON *rows = cJSON_AddArrayToObject(admission, "podSets");
    for (uint32_t k = 0; k < workload->n_pod_sets; k++) {
      const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[k];
      cJSON *row = cJSON_CreateObject(), *flavors, *usage;
      cJSON_AddStringToObject(row, "name", pod_set->name);
      cJSON_AddNumberToObject(row, "count", (double)pod_set->admitted_count);
      flavors = cJSON_AddObjectToObject(row, "flavors");
      usage = cJSON_AddObjectToObject(row, "usage");
      for (uint32_t m = 0; m < pod_set->n_assigned; m++) {
        const char *resource = self->world.resources[pod_set->assigned[m].resource];
        cJSON_AddStringToObject(flavors, resource, self->world.flavors[pod_set->assigned[m].flavor].name);
        cJSON_AddNumberToObject(usage, resource, (double)pod_set->assigned[m].amount);
      }
      cJSON_AddItemToArray(rows, row);
    }
  }
  return all;
}

/* Returns the namespace of an object. The cases may have the name of the tests' constant instead of "default". */
static const char *namespace_of(const cJSON *object) {
  const char *name = hr__case_text(object, "namespace", "");
  return strcmp(name, "NamespaceDefault") == 0 ? "default" : name;
}

static void delete_workloads(struct multi_run *run) {
  struct hr__kueue_case *self = run->cycles.self;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "deleteWorkloads")) for (uint32_t i = 0;
                                                                              i < self->world.n_workloads; i++) {
    if (hr__case_text_is(self->workload_json[i], "name", hr__case_text(item, "name", "")) &&
        hr__case_text_is(self->workload_json[i], "namespace", namespace_of(item)))
      delete_workload(run, i);
  }
}

static void run_two_cycles(struct multi_run *run) {
  if (!step(run)) return;
  compare_first_cycle(run);
  delete_workloads(run);
  if (!step(run)) return;
  hr__compare_json(run->cycles.self->verdict, "wantAdmissionsOnSecondSchedule", admissions_json(run), HR__COMPARE_SETS);
}

/* ---- Cases about the flavor that several cycles reach ----------------------------------------------- */

/* Returns the flavor of the first resource of a workload; "" if the workload has no quota. */
static const char *flavor_of(const struct multi_run *run, const char *name) {
  const struct hr__kueue_case *self = run->cycles.self;
  for (uint32_t i = 0; i < self->world.n_workloads; i++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[i];
    if (!hr__case_text_is(self->workload_json[i], "name", name) || !workload->listed ||
        !workload->pod_sets[0].n_assigned)
      continue;
    return self->world.flavors[workload->pod_sets[0].assigned[0].flavor].name;
  }
  return "";
}

static void run_flavor_cycles(struct multi_run *run) {
  struct hr__kueue_case *self = run->cycles.self;
  int64_t cycles = hr__case_whole(self->input, "preserveProgressCycles", 4);
  bool churn = !hr__case_bool(self->input, "noChurn", false);
  for (int64_t i = 0; i < cycles; i++) {
    if (!step(run)) return;
    for (uint32_t queue = 0; queue < self->world.tree.n_queues; queue++) {
      self->world.queues[queue].generation += churn;
      hr__kueue_pending_return(&run->cycles.pending, queue);
    }
  }
  hr__compare_text(self->verdict, "wantPendingFlavor", flavor_of(run, "pending"));
  static char blocked[] = "tas-flavor-1";
  const cJSON blocker = {.type = cJSON_String, .valuestring = blocked};
  hr__verdict_compare_text(self->verdict, "blocker", &blocker, flavor_of(run, "blocker"));
}

/* Gives the input the members of a case of a single cycle. */
static void prepare_multi(cJSON *input) {
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "queues"), true));
  if (hr__case_get(input, "cqs"))
    cJSON_AddItemToObject(input, "clusterQueues", cJSON_Duplicate(hr__case_get(input, "cqs"), true));
  if (!hr__case_get(input, "blocker")) return;
  cJSON *list = cJSON_AddArrayToObject(input, "workloads");
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "blocker"), true));
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "pending"), true));
  cJSON_AddItemToArray(cJSON_AddArrayToObject(input, "topologies"),
                       cJSON_Duplicate(hr__case_get(input, "singleLevelTopology"), true));
  cJSON_AddItemToObject(input, "fairSharing", cJSON_CreateObject());
  cJSON_AddBoolToObject(cJSON_AddObjectToObject(input, "featureGates"), "FlavorFungibilityPreserveScanProgress",
                        hr__case_bool(input, "gateEnabled", false));
}

static void case_multi(struct hr__kueue_case *self) {
  struct multi_run run = {0};
  if (begin(&run, self)) (hr__case_get(self->input, "blocker") ? run_flavor_cycles : run_two_cycles)(&run);
  cJSON_Delete(run.cycles.actual);
}

/* ---- All kinds -------------------------------------------------------------------------------------- */

static const struct hr__kueue_case_kind own_kinds[] = {{"quota.available", case_quota_available, NULL},
                                                       {"quota.lendable", case_quota_lendable, NULL},
                                                       {"quota.usageAfterOps", case_quota_usage, NULL},
                                                       {"fairSharing.share", case_share, NULL},
                                                       {"fairSharing.borrowingOn", case_borrowing_on, NULL},
                                                       {"fairSharing.preciseShare", case_precise_share, NULL},
                                                       {"requests.countIn", case_requests, NULL},
                                                       {"requests.countInLimiting", case_requests, NULL},
                                                       {"requests.greaterKeys", case_greater_keys, NULL},
                                                       {"resources.amountFromQuantity", case_quantity, NULL},
                                                       {"resources.clamp", case_quantity, NULL},
                                                       {"resources.floorToZero", case_floor, NULL},
                                                       {"afs.usage", case_local_usage, NULL},
                                                       {"afs.usageZeroWeight", case_local_usage, NULL},
                                                       {"afs.weight", case_local_weight, NULL},
                                                       {"workload.usage", case_workload_usage, NULL},
                                                       {"workload.executionTime", case_execution_time, NULL},
                                                       {"workload.reclaimable", case_reclaimable, NULL},
                                                       {"priority", case_priority, NULL},
                                                       {"priority.boost", case_priority, NULL},
                                                       {"priority.effective", case_priority, NULL},
                                                       {"priority.parseEffective", case_priority, NULL},
                                                       {"cycle.entryOrder", case_entry_order, NULL},
                                                       {"cycle.fairEntryLess", case_fair_less, NULL},
                                                       {"cycle.reserve", case_reserve, NULL},
                                                       {"cycle.lastAssignment", case_outdated, NULL},
                                                       {"cycle.lastAssignmentState", case_bookmarks, NULL},
                                                       {"cycle.multi", case_multi, prepare_multi},
                                                       {NULL, NULL, NULL}};

static const struct hr__kueue_case_kind *find_kind(const char *kind) {
  static const struct hr__kueue_case_kind *const tables[] = {
      own_kinds,          hr__kueue_flavor_kinds, hr__kueue_life_kinds, hr__kueue_cycle_kinds, hr__kueue_queue_kinds,
      hr__kueue_tas_kinds};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (const struct hr__kueue_case_kind *row = tables[i]; row->kind; row++)
      if (strcmp(row->kind, kind) == 0) return row;
  return NULL;
}

void hr__conform_kueue(struct hr__verdict *verdict) {
  const struct hr__kueue_case_kind *row = find_kind(verdict->kind);
  struct hr__kueue_case self;
  if (!row) {
    hr__verdict_unknown_kind(verdict);
    return;
  }
  cJSON *copy = NULL;
  if (row->prepare) copy = verdict->input ? cJSON_Duplicate(verdict->input, true) : cJSON_CreateObject();
  if (copy) row->prepare(copy);
  if (row->prepare && !copy)
    verdict->no_memory = true;
  else if (hr__kueue_case_begin(&self, copy ? copy : verdict->input, verdict))
    row->run(&self);
  cJSON_Delete(copy);
}
