/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_KAI_CLUSTER_H
#define HR_SCENARIOS_CONFORM_KAI_CLUSTER_H

/* Reads the cluster, the queues and the jobs of a case of KAI. */

#include "policies/kai/solver.h"
#include "scenarios/conform/conform.h"

#include <string.h>

struct hr__kai_case {
  struct hr__verdict *verdict;
  struct hr__kai_cluster cluster;
  struct hr__kai_start *start; /* [n_pods] */
  uint32_t n_gpus;             /* ids of shared GPUs in `start` */
  const char **node_names, **queue_names, **job_names, **pod_names;
  const cJSON **jobs;    /* [n_jobs] */
  int64_t *stale_s;      /* [n_jobs] -1: not stale */
  bool *keeps_releasing; /* [n_jobs] */
};

/* Reads a case. Returns false if it is not supported or malformed, or if memory is exhausted. */
bool hr__kai_case_read(struct hr__kai_case *read, const cJSON *whole, struct hr__verdict *verdict);

/* The position of each name among the sorted names. Equal names have the same position. */
static inline void hr__kai_rank_names(const char *const *names, uint32_t n, uint32_t *ranks) {
  for (uint32_t i = 0; i < n; i++) {
    ranks[i] = 0;
    for (uint32_t j = 0; j < n; j++) ranks[i] += strcmp(names[j], names[i]) < 0;
  }
}

/* Returns whether a queue is its own ancestor. */
bool hr__kai_has_cycle(const struct hr__kai_queue *queues, uint32_t n_queues);

/* The index of a name; HR__KAI_NONE: not found. */
static inline uint32_t hr__kai_find_name(const char *const *names, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return i;
  return HR__KAI_NONE;
}

/* Runs a case that tests one rule. */
void hr__kai_run_rule(const cJSON *whole, const char *kind, struct hr__verdict *verdict);

#endif
