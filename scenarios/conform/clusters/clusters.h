/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_CLUSTERS_CLUSTERS_H
#define HR_SCENARIOS_CONFORM_CLUSTERS_CLUSTERS_H

/*
 * Functions and types that the adapters of the rules for several clusters share. A case has an input and an object of
 * expected values. Each expected value must be compared: a case with a value that no adapter knows is not supported.
 */

#include "scenarios/conform/conform.h"
#include "sim/clusters/node_autoscalers.h"

struct hr__cluster_case {
  const cJSON *input, *expect;
  struct hr__verdict *verdict;
  uint64_t compared; /* bit of each member of `expect`, by position */
};

typedef void hr__run_cluster_case(struct hr__cluster_case *self);

struct hr__cluster_kind {
  const char *kind;
  hr__run_cluster_case *run;
};

/* The kinds of the other adapters; the last row has no name. */
extern const struct hr__cluster_kind hr__scale_up_kinds[], hr__scale_down_kinds[], hr__karpenter_kinds[];

/* Marks an expected value as compared. Returns it, or NULL if it is missing or null; `is_there` may be NULL. */
const cJSON *hr__expected(struct hr__cluster_case *self, const char *name, bool *is_there);

/* Compare a value if it is expected. A number may be INFINITY: it equals null and "inf". hr__check_json frees `actual`.
   `flags` are those of hr__verdict_compare. */
void hr__check_json(struct hr__cluster_case *self, const char *name, cJSON *actual, unsigned flags, double tolerance);
void hr__check_number(struct hr__cluster_case *self, const char *name, double actual, double tolerance);
void hr__check_bool(struct hr__cluster_case *self, const char *name, bool actual);
void hr__check_text(struct hr__cluster_case *self, const char *name, const char *actual);

/* A number times a factor above 0, within a range that sums of many such numbers do not leave. */
static inline int64_t hr__scaled(int64_t number, int64_t factor) {
  const int64_t most = INT64_C(1) << 52;
  if (number > most / factor) return most;
  return number < -most / factor ? -most : number * factor;
}

/* Reads cpu_m or cpu (cores), mem, mem_bytes or mem_MiB, and gpus. */
struct hr__node_amounts hr__read_amounts(const cJSON *object);
/* Returns the position of a text in a list of texts, or of a member in an object; UINT32_MAX: none. */
uint32_t hr__position_of(const cJSON *list, const char *name);

#endif
