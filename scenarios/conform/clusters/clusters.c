/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs test vectors of rules for several clusters, elastic capacity and data: cluster autoscaler, Karpenter,
 * MultiKueue, bandwidth and data loading. This file finds the adapter of a kind, and contains the functions that
 * adapters share.
 */

#include "scenarios/conform/clusters/clusters.h"

#include <math.h>

/* ---- Comparing ------------------------------------------------------------------------------------------- */

const cJSON *hr__expected(struct hr__cluster_case *self, const char *name, bool *is_there) {
  uint32_t at = 0;
  const cJSON *member;
  if (is_there) *is_there = false;
  cJSON_ArrayForEach(member, self->expect) {
    if (strcmp(member->string, name) == 0) {
      if (at < 64) self->compared |= UINT64_C(1) << at;
      if (is_there) *is_there = true;
      return cJSON_IsNull(member) ? NULL : member;
    }
    at++;
  }
  return NULL;
}

void hr__check_json(struct hr__cluster_case *self, const char *name, cJSON *actual, unsigned flags, double tolerance) {
  bool is_there;
  const cJSON *expected = hr__expected(self, name, &is_there);
  if (!actual)
    self->verdict->no_memory = true;
  else if (is_there)
    hr__verdict_compare(self->verdict, name, expected, actual, flags, tolerance);
  cJSON_Delete(actual);
}

void hr__check_number(struct hr__cluster_case *self, const char *name, double actual, double tolerance) {
  const cJSON *expected = hr__expected(self, name, NULL);
  cJSON *value = !isinf(actual)             ? cJSON_CreateNumber(actual)
                 : cJSON_IsString(expected) ? cJSON_CreateString("inf")
                                            : cJSON_CreateNull();
  hr__check_json(self, name, value, HR__COMPARE_EXACTLY, tolerance);
}

void hr__check_bool(struct hr__cluster_case *self, const char *name, bool actual) {
  hr__check_json(self, name, cJSON_CreateBool(actual), HR__COMPARE_EXACTLY, 0);
}

void hr__check_text(struct hr__cluster_case *self, const char *name, const char *actual) {
  hr__check_json(self, name, actual ? cJSON_CreateString(actual) : cJSON_CreateNull(), HR__COMPARE_EXACTLY, 0);
}

/* ---- Reading --------------------------------------------------------------------------------------------- */

struct hr__node_amounts hr__read_amounts(const cJSON *object) {
  int64_t cpu_m = hr__case_whole(object, "cpu_m", -1), memory = hr__case_whole(object, "mem_bytes", -1);
  if (cpu_m < 0) cpu_m = hr__scaled(hr__case_whole(object, "cpu", 0), 1000);
  if (memory < 0) memory = hr__case_whole(object, "mem", -1);
  if (memory < 0) memory = hr__scaled(hr__case_whole(object, "mem_MiB", 0), 1048576);
  return (struct hr__node_amounts){
      {hr__scaled(cpu_m, 1), hr__scaled(memory, 1), hr__scaled(hr__case_whole(object, "gpus", 0), 1)}};
}

uint32_t hr__position_of(const cJSON *list, const char *name) {
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *text = cJSON_IsArray(list) ? cJSON_GetStringValue(item) : item->string;
    if (text && name && strcmp(text, name) == 0) return at;
    at++;
  }
  return UINT32_MAX;
}

/* ---- Kinds ----------------------------------------------------------------------------------------------- */

static hr__run_cluster_case *find_kind(const char *kind) {
  const struct hr__cluster_kind *const tables[] = {hr__scale_up_kinds, hr__scale_down_kinds, hr__karpenter_kinds,
                                                   hr__data_kinds};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (const struct hr__cluster_kind *row = tables[i]; row->kind; row++)
      if (strcmp(row->kind, kind) == 0) return row->run;
  return NULL;
}

void hr__conform_clusters(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct hr__cluster_case self = {hr__case_get(whole, "input"), hr__case_get(whole, "expect"), verdict, 0};
  hr__run_cluster_case *run = find_kind(kind);
  if (!run) {
    hr__verdict_unknown_kind(verdict, kind);
    return;
  }
  run(&self);
  if (verdict->malformed || verdict->no_memory) return;
  char text[200];
  uint32_t at = 0;
  const cJSON *member;
  cJSON_ArrayForEach(member, self.expect) {
    if (at >= 64 || !(self.compared >> at & 1)) {
      snprintf(text, sizeof text, "expected value %.100s", member->string);
      hr__verdict_unsupported(verdict, text);
    }
    at++;
  }
}
