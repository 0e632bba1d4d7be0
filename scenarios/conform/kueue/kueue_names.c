/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names in a Kueue case. Resources, flavors, queues, cohorts and UIDs are collected from the whole input and
   sorted, so that the order of indices is the order of names. */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* {resource: amount}, {"flavor/resource": amount} or {name: {"flavor/resource": amount}}. Names that are not used have
   no effect. */
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

/* "flavors" is a list of flavors with their quotas, or an object {resource: flavor}. */
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

void hr__kueue_case_collect(struct hr__kueue_case *self) {
  collect(self, self->input, NULL);
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

/* ---- Entries ------------------------------------------------------------------------------------------- */

/* Runs the Kueue cases about single steps of a cycle: the order of entries, what is reserved, and the bookmarks of
   the last attempt; and cases of several cycles. */

/* ---- Order ---- */

static bool read_entry(struct hr__kueue_case *self, const cJSON *entry, struct hr__kueue_workload *workload) {
  if (!hr__kueue_case_workload(self, hr__case_get(entry, "workload"), workload)) return false;
  workload->preemptor = hr__case_bool(entry, "isPreemptor", false);
  return true;
}

static void case_entry_order(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  size_t n = hr__case_count(self.input, "entries");
  struct hr__kueue_workload *workloads = hr__verdict_alloc(verdict, n + 1, sizeof *workloads);
  const cJSON **order = hr__verdict_alloc(verdict, n + 1, sizeof *order), *item;
  struct hr__kueue_workload **sorted = hr__verdict_alloc(verdict, n + 1, sizeof *sorted);
  if (!workloads || !order || !sorted) return;
  size_t count = 0;
  cJSON_ArrayForEach(item, hr__case_get(self.input, "entries")) {
    if (!read_entry(&self, item, &workloads[count])) return;
    int32_t borrowing = (int32_t)hr__case_whole(item, "borrowing", 0);
    size_t at = count;
    for (; at > 0; at--) {
      int32_t other = (int32_t)hr__case_whole(order[at - 1], "borrowing", 0);
      if (hr__kueue_entry_order(&self.world, sorted[at - 1], other, &workloads[count], borrowing) <= 0) break;
      order[at] = order[at - 1];
      sorted[at] = sorted[at - 1];
    }
    order[at] = item;
    sorted[at] = &workloads[count++];
  }
  cJSON *actual = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++)
    cJSON_AddItemToArray(actual, cJSON_CreateString(hr__case_text(hr__case_get(order[i], "workload"), "name", "")));
  hr__verdict_compare(verdict, "order", hr__case_get(hr__case_get(whole, "expect"), "order"), actual,
                      HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* The share of a workload's side: the entry "cohort|namespace/name" of the case. */
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

static void case_fair_less(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  struct hr__kueue_workload a, b;
  if (!hr__kueue_case_begin(&self, whole, verdict) || !read_entry(&self, hr__case_get(self.input, "a"), &a) ||
      !read_entry(&self, hr__case_get(self.input, "b"), &b))
    return;
  bool a_borrows = false, b_borrows = false;
  struct hr__kueue_share a_share = read_share(&self, a.name, &a_borrows),
                         b_share = read_share(&self, b.name, &b_borrows);
  bool before = hr__kueue_fair_before(&self.world, &a, &a_share, a_borrows, &b, &b_share, b_borrows);
  hr__verdict_compare_bool(verdict, "aBeforeB", hr__case_get(hr__case_get(whole, "expect"), "aBeforeB"), before);
}

/* ---- Reservation ---- */

static void case_reserve(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  struct hr__kueue_assignment assignment = {
      .mode = hr__case_text_is(self.input, "assignmentMode", "Preempt") ? HR__KUEUE_PREEMPT : HR__KUEUE_FIT,
      .borrowing = (int32_t)hr__case_whole(self.input, "borrowing", 0)};
  assignment.usage = hr__kueue_case_usage(&self, hr__case_get(self.input, "assignmentUsage"), &assignment.n_usage);
  uint32_t n_usage;
  struct hr__kueue_usage *usage = hr__kueue_case_usage(&self, hr__case_get(self.input, "cqUsage"), &n_usage);
  struct hr__kueue_usage *reserved = hr__verdict_alloc(verdict, (size_t)assignment.n_usage + 1, sizeof *reserved);
  if (!self.world.tree.n_queues) verdict->malformed = "expected a ClusterQueue \"cq\"";
  if (!assignment.usage || !usage || !reserved || verdict->malformed) return;
  for (uint32_t i = 0; i < n_usage; i++) hr__kueue_add_usage(&self.world.tree, 0, usage[i].pair, usage[i].amount);
  uint32_t n = hr__kueue_reserve(&self.world, 0, &assignment, reserved);
  cJSON *actual = cJSON_CreateObject();
  for (uint32_t i = 0; i < n; i++)
    cJSON_AddNumberToObject(actual, hr__kueue_case_pair_name(&self, reserved[i].pair), (double)reserved[i].amount);
  hr__verdict_compare(verdict, "wantReserved", hr__case_get(hr__case_get(whole, "expect"), "wantReserved"), actual,
                      HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* ---- Bookmarks ---- */

static void case_outdated(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *input = hr__case_get(whole, "input"), *args = hr__case_get(input, "args"),
              *last = hr__case_get(args, "last");
  hr__kueue_gates gates = hr__kueue_gates_of_version(HR__KUEUE_NEWEST_VERSION);
  hr__kueue_gates_set(&gates, "FlavorFungibilityPreserveScanProgress", hr__case_bool(input, "preserveProgress", false));
  const char *old = hr__case_text(last, "schedulingHash", ""), *now = hr__case_text(args, "currentSchedulingHash", "");
  bool known = *old && *now && strcmp(old, "unknown") != 0 && strcmp(now, "unknown") != 0;
  bool outdated = hr__kueue_bookmark_is_outdated(
      gates, hr__case_whole(last, "clusterQueueGeneration", 0), hr__case_whole(args, "currentCQGeneration", 0),
      hr__case_whole(last, "schedulingCycle", 0), hr__case_whole(args, "currentSchedulingCycle", 0), known,
      strcmp(old, now) == 0);
  hr__verdict_compare_bool(verdict, "want", hr__case_get(hr__case_get(whole, "expect"), "want"), outdated);
}

static void case_bookmarks(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *list = hr__case_get(hr__case_get(hr__case_get(whole, "input"), "state"), "lastTriedFlavorIdx"), *row,
              *tried;
  bool pending = false;
  cJSON_ArrayForEach(row, list) cJSON_ArrayForEach(tried, row) pending |= hr__case_value_whole(tried, -1) != -1;
  hr__verdict_compare_bool(verdict, "wantPendingFlavors",
                           hr__case_get(hr__case_get(whole, "expect"), "wantPendingFlavors"), pending);
}

const struct hr__kueue_case_kind hr__kueue_names_kinds[] = {{"cycle.entryOrder", case_entry_order},
                                                            {"cycle.fairEntryLess", case_fair_less},
                                                            {"cycle.reserve", case_reserve},
                                                            {"cycle.lastAssignment", case_outdated},
                                                            {"cycle.lastAssignmentState", case_bookmarks},
                                                            {NULL, NULL}};
