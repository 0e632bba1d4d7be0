/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about the tree of quotas and about fair shares. The usage of a case is added queue by queue to
   the tree of the world. */

#include "policies/kueue/quota.h"
#include "policies/kueue/share.h"
#include "policies/kueue/workload.h"
#include "scenarios/conform/kueue_objects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hr__conform_run_case hr__kueue_case_quota_available, hr__kueue_case_quota_lendable, hr__kueue_case_quota_usage;
hr__conform_run_case hr__kueue_case_share, hr__kueue_case_borrowing_on, hr__kueue_case_precise_share;

/* Adds {queue: {"flavor/resource": amount}} to the tree. */
static void add_usage(struct hr__kueue_case *self, const cJSON *usage) {
  const cJSON *item;
  cJSON_ArrayForEach(item, usage) {
    uint32_t node = hr__kueue_case_node(self, item->string), count;
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
    uint32_t node = hr__kueue_case_node(self, row->string);
    cJSON_ArrayForEach(cell, row) {
      uint32_t pair = hr__kueue_case_pair(self, cell->string);
      if (node == HR_NONE || pair == HR_NONE) continue;
      cJSON_AddNumberToObject(values, cell->string, (double)value(&self->world.tree, node, pair));
    }
  }
  return all;
}

void hr__kueue_case_quota_available(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
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

void hr__kueue_case_quota_lendable(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  uint32_t node = hr__kueue_case_node(&self, hr__case_text(self.input, "node", NULL));
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
    if (id == HR_NONE || self->world.workloads[id].listed == add) continue;
    if (add)
      hr__kueue_list(&self->world, id);
    else
      hr__kueue_unlist(&self->world, id);
  }
}

void hr__kueue_case_quota_usage(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
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

void hr__kueue_case_share(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  add_usage(&self, hr__case_get(self.input, "usage"));
  const cJSON *expected = hr__case_get(hr__case_get(whole, "expect"), "shares"), *item;
  cJSON *actual = cJSON_CreateArray();
  cJSON_ArrayForEach(item, expected) {
    const char *name = hr__case_text(item, "node", "");
    uint32_t node = strcmp(hr__case_text(item, "type", ""), "cohort") == 0
                        ? self.world.tree.n_queues + hr__kueue_name_find(&self.cohorts, name)
                        : hr__kueue_name_find(&self.queues, name);
    uint32_t count;
    struct hr__kueue_usage *extra = extra_of(&self, name, &count);
    if (!extra || node >= self.world.tree.n_nodes) break;
    struct hr__kueue_share share = hr__kueue_share_of(&self.world, node, extra, count);
    cJSON_AddItemToArray(actual, share_json(&self, node, &share));
  }
  hr__verdict_compare(verdict, "shares", expected, actual, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

void hr__kueue_case_borrowing_on(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  add_usage(&self, hr__case_get(self.input, "usage"));
  uint32_t node = hr__kueue_case_node(&self, hr__case_text(self.input, "node", NULL)), count;
  struct hr__kueue_usage *requested = hr__kueue_case_usage(&self, hr__case_get(self.input, "requested"), &count);
  if (!requested || node == HR_NONE) return;
  struct hr__kueue_share share = hr__kueue_share_of(&self.world, node, NULL, 0);
  bool on_requested = hr__kueue_borrows_on(&self.world, node, requested, count);
  const cJSON *expect = hr__case_get(whole, "expect");
  hr__verdict_compare_bool(verdict, "borrowing", hr__case_get(expect, "borrowing"), share.borrowing);
  hr__verdict_compare_bool(verdict, "borrowingOnRequested", hr__case_get(expect, "borrowingOnRequested"), on_requested);
}

void hr__kueue_case_precise_share(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
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
