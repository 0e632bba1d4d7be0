/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about single rules: quotas and fair shares, and rules of workloads. */

#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Quotas -------------------------------------------------------------------------------------------- */

/* Runs the Kueue cases about the tree of quotas and about fair shares. The usage of a case is added queue by queue
   to the tree of the world. */

/* The queue or cohort of a name; HR_NONE if it is unknown. */
static uint32_t node_named(const struct hr__kueue_case *self, const char *name) {
  uint32_t queue = hr__kueue_name_find(&self->queues, name);
  if (queue != HR_NONE) return queue;
  uint32_t cohort = hr__kueue_name_find(&self->cohorts, name);
  return cohort == HR_NONE ? HR_NONE : self->world.tree.n_queues + cohort;
}

/* Adds {queue: {"flavor/resource": amount}} to the tree. */
static void add_usage(struct hr__kueue_case *self, const cJSON *usage) {
  const cJSON *item;
  cJSON_ArrayForEach(item, usage) {
    uint32_t node = node_named(self, item->string), count;
    struct hr__kueue_usage *list = hr__kueue_case_usage(self, item, &count);
    for (uint32_t i = 0; list && node != HR_NONE && i < count; i++)
      hr__kueue_add_usage(&self->world.tree, node, list[i].pair, list[i].amount);
  }
}

/* {node: {pair: value}} for the nodes and pairs of `expected`. */
static cJSON *table(struct hr__kueue_case *self, const cJSON *expected,
                    int64_t (*value)(const struct hr__kueue_tree *, uint32_t, uint32_t)) {
  cJSON *all = cJSON_CreateObject();
  const cJSON *row, *cell;
  cJSON_ArrayForEach(row, expected) {
    cJSON *values = cJSON_AddObjectToObject(all, row->string);
    uint32_t node = node_named(self, row->string);
    cJSON_ArrayForEach(cell, row) {
      uint32_t pair = hr__kueue_case_pair(self, cell->string);
      if (node == HR_NONE || pair == HR_NONE) continue;
      cJSON_AddNumberToObject(values, cell->string, (double)value(&self->world.tree, node, pair));
    }
  }
  return all;
}

static void case_quota_available(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  add_usage(&self, hr__case_get(self.input, "usage"));
  const cJSON *expect = hr__case_get(whole, "expect");
  const cJSON *available = hr__case_get(expect, "available"), *potential = hr__case_get(expect, "potentialAvailable");
  cJSON *actual = table(&self, available, hr__kueue_available);
  hr__verdict_compare(verdict, "available", available, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
  actual = table(&self, potential, hr__kueue_potential);
  hr__verdict_compare(verdict, "potentialAvailable", potential, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_quota_lendable(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  uint32_t node = node_named(&self, hr__case_text(self.input, "node", NULL));
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; node != HR_NONE && i < self.world.n_resources; i++)
    cJSON_AddNumberToObject(actual, self.world.resources[i], (double)hr__kueue_lendable(&self.world, node, i));
  const cJSON *expected = hr__case_get(hr__case_get(whole, "expect"), "lendable");
  hr__verdict_compare(verdict, "lendable", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
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

static void case_quota_usage(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  const cJSON *admitted = hr__case_get(self.input, "admitted");
  if (!hr__kueue_case_workloads(&self, &admitted, 1)) return;
  apply(&self, "remove", false);
  apply(&self, "add", true);
  const cJSON *expected = hr__case_get(hr__case_get(whole, "expect"), "usage");
  cJSON *actual = table(&self, expected, usage_of);
  hr__verdict_compare(verdict, "usage", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* ---- Fair shares ---- */

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

/* Extra requests are {pair: amount} for all nodes, or {node: {pair: amount}}. */
static struct hr__kueue_usage *extra_of(struct hr__kueue_case *self, const char *node, uint32_t *count) {
  const cJSON *extra = hr__case_get(self->input, "extraRequests");
  const cJSON *own = hr__case_get(extra, node);
  return hr__kueue_case_usage(self, cJSON_IsObject(own) ? own : extra, count);
}

static void case_share(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  add_usage(&self, hr__case_get(self.input, "usage"));
  const cJSON *expected = hr__case_get(hr__case_get(whole, "expect"), "shares"), *item;
  cJSON *actual = cJSON_CreateArray();
  cJSON_ArrayForEach(item, expected) {
    const char *name = hr__case_text(item, "node", "");
    uint32_t node = hr__kueue_name_find(&self.queues, name), count;
    if (hr__case_text_is(item, "type", "cohort")) {
      node = hr__kueue_name_find(&self.cohorts, name);
      if (node != HR_NONE) node += self.world.tree.n_queues;
    }
    struct hr__kueue_usage *extra = extra_of(&self, name, &count);
    if (!extra || node >= self.world.tree.n_nodes) break;
    struct hr__kueue_share share = hr__kueue_share_of(&self.world, node, extra, count);
    cJSON_AddItemToArray(actual, share_json(&self, node, &share));
  }
  hr__verdict_compare(verdict, "shares", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_borrowing_on(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  add_usage(&self, hr__case_get(self.input, "usage"));
  uint32_t node = node_named(&self, hr__case_text(self.input, "node", NULL)), count;
  struct hr__kueue_usage *requested = hr__kueue_case_usage(&self, hr__case_get(self.input, "requested"), &count);
  if (node == HR_NONE) verdict->malformed = "expected the name of a node";
  if (!requested || verdict->malformed) return;
  struct hr__kueue_share share = hr__kueue_share_of(&self.world, node, NULL, 0);
  bool on_requested = hr__kueue_borrows_on(&self.world, node, requested, count);
  const cJSON *expect = hr__case_get(whole, "expect");
  hr__verdict_compare_bool(verdict, "borrowing", hr__case_get(expect, "borrowing"), share.borrowing);
  hr__verdict_compare_bool(verdict, "borrowingOnRequested", hr__case_get(expect, "borrowingOnRequested"), on_requested);
}

static void case_precise_share(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *input = hr__case_get(whole, "input");
  double ratio = hr__case_real(input, "unweightedRatio", 0);
  struct hr__kueue_share share = {.weight = hr__case_real(input, "weight", 1),
                                  .ratio = ratio,
                                  .borrowing = hr__case_bool(input, "borrowing", ratio > 0),
                                  .resource = HR_NONE};
  double value = hr__kueue_share_value(&share);
  char text[40] = "+Inf";
  /* The shortest digits that read back as the same number. */
  for (int digits = 1; isfinite(value) && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value)) break;
  }
  if (isfinite(value) && strchr(text, 'e')) snprintf(text, sizeof text, "%.0f", value);
  const cJSON *expect = hr__case_get(whole, "expect");
  hr__verdict_compare_text(verdict, "preciseShare", hr__case_get(expect, "preciseShare"), text);
}

/* ---- Other rules --------------------------------------------------------------------------------------- */

/* Runs the Kueue cases about arithmetic and small rules: requests, quantities, priorities, usage of workloads and of
   local queues. */

/* Collects the names of resources in an object. */
static bool begin(struct hr__kueue_case *self, const cJSON *whole, struct hr__verdict *verdict) {
  return hr__kueue_case_begin(self, whole, verdict);
}

/* ---- Requests ---- */

static void case_requests(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  struct hr__kueue_amounts requests = hr__kueue_case_amounts(&self, hr__case_get(self.input, "requests"));
  struct hr__kueue_amounts capacity = hr__kueue_case_amounts(&self, hr__case_get(self.input, "capacity"));
  uint32_t limiting;
  double count = (double)hr__kueue_count_in(&requests, &capacity, &limiting);
  const cJSON *expect = hr__case_get(whole, "expect"), *result = hr__case_get(expect, "wantResult");
  hr__verdict_compare_number(verdict, "count", result ? result : hr__case_get(expect, "wantCount"), count);
  if (result) return;
  const char *name = limiting == HR_NONE ? "" : self.world.resources[limiting];
  hr__verdict_compare_text(verdict, "limiting", hr__case_get(expect, "wantLimitingResource"), name);
}

static void case_greater_keys(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  struct hr__kueue_amounts a = hr__kueue_case_amounts(&self, hr__case_get(self.input, "a"));
  struct hr__kueue_amounts b = hr__kueue_case_amounts(&self, hr__case_get(self.input, "b"));
  cJSON *keys = cJSON_CreateArray();
  for (uint32_t i = 0; i < a.count; i++)
    for (uint32_t k = 0; k < b.count; k++)
      if (a.items[i].resource == b.items[k].resource && a.items[i].amount > b.items[k].amount)
        cJSON_AddItemToArray(keys, cJSON_CreateString(self.world.resources[a.items[i].resource]));
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "want");
  bool none = !cJSON_GetArraySize(keys) && !want;
  hr__verdict_compare(verdict, "want", want, none ? NULL : keys, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(keys);
}

static void case_quantity(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *input = hr__case_get(whole, "input"), *expect = hr__case_get(whole, "expect");
  int64_t value = 0;
  bool cpu = hr__case_text_is(input, "resource", "cpu");
  if (!hr__kueue_quantity(hr__case_text(input, "quantity", ""), cpu, &value)) {
    verdict->malformed = "expected a quantity";
    return;
  }
  const cJSON *unlimited = hr__case_get(expect, "wantUnlimited"), *want = hr__case_get(expect, "want");
  if (unlimited) hr__verdict_compare_bool(verdict, "unlimited", unlimited, value == HR__KUEUE_UNLIMITED);
  if (!want) want = hr__case_get(expect, "wantValue");
  if (want || !unlimited) hr__verdict_compare_number(verdict, "value", want, (double)value);
}

static void case_floor(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  struct hr__kueue_amounts requests = hr__kueue_case_amounts(&self, hr__case_get(self.input, "requests"));
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; i < requests.count; i++) {
    int64_t amount = requests.items[i].amount;
    cJSON_AddNumberToObject(actual, self.world.resources[requests.items[i].resource], amount > 0 ? (double)amount : 0);
  }
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "want");
  hr__verdict_compare(verdict, "want", want, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* ---- Local queues ---- */

static double *read_weights(struct hr__kueue_case *self, const cJSON *object) {
  double *weights = hr__verdict_alloc(self->verdict, self->world.n_resources + 1, sizeof *weights);
  for (uint32_t i = 0; weights && i < self->world.n_resources; i++)
    weights[i] = hr__case_real(object, self->world.resources[i], 1);
  return weights;
}

static void case_local_usage(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  struct hr__kueue_amounts consumed = hr__kueue_case_amounts(&self, hr__case_get(self.input, "consumed"));
  struct hr__kueue_amounts penalty = hr__kueue_case_amounts(&self, hr__case_get(self.input, "penalty"));
  double *weights = read_weights(&self, hr__case_get(self.input, "resWeights"));
  if (!weights) return;
  uint32_t cpu = hr__kueue_name_find(&self.resources, "cpu");
  double usage = hr__kueue_local_usage(&consumed, &penalty, weights, hr__case_real(self.input, "lqWeight", 1), cpu);
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "wantUsage");
  if (want) {
    cJSON *actual = cJSON_CreateNumber(usage);
    hr__verdict_compare(verdict, "usage", want, actual, HR__COMPARE_EXACTLY, 1e-9);
    cJSON_Delete(actual);
  } else if (strcmp(kind, "afs.usageZeroWeight") == 0) { /* the case says only that the usage is infinite */
    cJSON *infinite = cJSON_CreateTrue();
    hr__verdict_compare_bool(verdict, "infinite", infinite, isinf(usage));
    cJSON_Delete(infinite);
  }
}

static void case_local_weight(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *queue = hr__case_get(hr__case_get(whole, "input"), "localQueue");
  double weight = hr__case_real(hr__case_get(queue, "fairSharing"), "weight", 1);
  hr__verdict_compare_number(verdict, "weight", hr__case_get(hr__case_get(whole, "expect"), "wantWeight"), weight);
}

/* ---- Workloads ---- */

/* Adds an amount to a member of an object. */
static void add_to(cJSON *object, const char *name, int64_t amount) {
  cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (item)
    cJSON_SetNumberValue(item, item->valuedouble + (double)amount);
  else
    cJSON_AddNumberToObject(object, name, (double)amount);
}

static void case_workload_usage(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  cJSON *actual = cJSON_CreateObject(), *assigned = cJSON_AddObjectToObject(actual, "assigned");
  cJSON *unassigned = cJSON_AddObjectToObject(actual, "unassigned");
  const cJSON *row;
  cJSON_ArrayForEach(row, hr__case_get(hr__case_get(self.input, "info"), "totalRequests")) {
    struct hr__kueue_amounts requests = hr__kueue_case_amounts(&self, hr__case_get(row, "requests"));
    for (uint32_t i = 0; i < requests.count; i++) {
      const char *resource = self.world.resources[requests.items[i].resource];
      const char *flavor = hr__case_text(hr__case_get(row, "flavors"), resource, NULL);
      uint32_t id = hr__kueue_name_find(&self.flavors, flavor);
      if (id == HR_NONE)
        add_to(unassigned, resource, requests.items[i].amount);
      else
        add_to(assigned, hr__kueue_case_pair_name(&self, hr__kueue_pair(&self.world, id, requests.items[i].resource)),
               requests.items[i].amount);
    }
  }
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "want");
  hr__verdict_compare(verdict, "want", want, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_execution_time(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *workload = hr__case_get(hr__case_get(whole, "input"), "wl");
  const cJSON *admitted = hr__kueue_case_condition(workload, "Admitted"),
              *finished = hr__kueue_case_condition(workload, "Finished");
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "want");
  if (!admitted || !finished) {
    hr__verdict_compare(verdict, "want", want, NULL, HR__COMPARE_EXACTLY, 0);
    return;
  }
  const cJSON *other = hr__case_get(hr__case_get(workload, "other"), "PastAdmittedTime");
  if (cJSON_IsArray(other)) other = cJSON_GetArrayItem(other, 0);
  double past =
      cJSON_IsNumber(other) ? other->valuedouble : hr__case_real(workload, "accumulatedPastExecutionTimeSeconds", 0);
  double time = hr__case_real(finished, "at", 0) - hr__case_real(admitted, "at", 0) + past;
  hr__verdict_compare_number(verdict, "want", want, time);
}

static void case_reclaimable(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  /* The workload of the cases has these pod sets; only their sizes matter. */
  static const struct {
    const char *name;
    int64_t count;
  } pod_sets[] = {{"ps1", 3}, {"ps2", 5}};
  const cJSON *list = hr__case_get(hr__case_get(whole, "input"), "reclaimablePods"), *item;
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
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "want");
  hr__verdict_compare(verdict, "want", want, want || list ? actual : NULL, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_priority(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct hr__kueue_case self;
  if (!begin(&self, whole, verdict)) return;
  const cJSON *json = hr__case_get(self.input, "workload"), *expect = hr__case_get(whole, "expect");
  const char *annotation = hr__case_text(hr__case_get(json, "annotations"), "kueue.x-k8s.io/priority-boost", NULL);
  if (!hr__kueue_has_gate(&self.world, HR__KUEUE_BIT_PRIORITY_BOOST)) annotation = NULL;
  int64_t priority = hr__case_whole(json, "priority", 0);
  int64_t boosted = hr__kueue_boosted_priority(priority, annotation);
  const cJSON *error = hr__case_get(expect, "wantErr");
  if (cJSON_IsBool(error)) {
    int64_t unused;
    bool wrong = annotation && *annotation && !hr__kueue_boost_of(annotation, &unused);
    hr__verdict_compare_bool(verdict, "error", error, wrong);
  }
  if (strcmp(kind, "priority.boost") == 0)
    hr__verdict_compare_number(verdict, "boost", hr__case_get(expect, "wantBoost"), (double)(boosted - priority));
  else if (strcmp(kind, "priority") != 0)
    hr__verdict_compare_number(verdict, "priority", hr__case_get(expect, "wantPriority"), (double)boosted);
  else if (cJSON_IsString(hr__case_get(expect, "want"))) /* the name of Kueue's constant for the priority 0 */
    hr__verdict_compare_text(verdict, "priority", hr__case_get(expect, "want"), priority ? "" : "DefaultPriority");
  else
    hr__verdict_compare_number(verdict, "priority", hr__case_get(expect, "want"), (double)priority);
}

const struct hr__kueue_case_kind hr__kueue_rules_kinds[] = {{"quota.available", case_quota_available},
                                                            {"quota.lendable", case_quota_lendable},
                                                            {"quota.usageAfterOps", case_quota_usage},
                                                            {"fairSharing.share", case_share},
                                                            {"fairSharing.borrowingOn", case_borrowing_on},
                                                            {"fairSharing.preciseShare", case_precise_share},
                                                            {"requests.countIn", case_requests},
                                                            {"requests.countInLimiting", case_requests},
                                                            {"requests.greaterKeys", case_greater_keys},
                                                            {"resources.amountFromQuantity", case_quantity},
                                                            {"resources.clamp", case_quantity},
                                                            {"resources.floorToZero", case_floor},
                                                            {"afs.usage", case_local_usage},
                                                            {"afs.usageZeroWeight", case_local_usage},
                                                            {"afs.weight", case_local_weight},
                                                            {"workload.usage", case_workload_usage},
                                                            {"workload.executionTime", case_execution_time},
                                                            {"workload.reclaimable", case_reclaimable},
                                                            {"priority", case_priority},
                                                            {"priority.boost", case_priority},
                                                            {"priority.effective", case_priority},
                                                            {"priority.parseEffective", case_priority},
                                                            {NULL, NULL}};
