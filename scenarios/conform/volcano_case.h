/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_VOLCANO_CASE_H
#define HR_SCENARIOS_CONFORM_VOLCANO_CASE_H

/* A case of Volcano: the snapshot and the configuration that are read from its JSON. */

#include "policies/volcano/volcano.h"
#include "scenarios/conform/conform.h"

#include <string.h>

struct hr__volcano_names {
  const char **items;
  uint32_t n_items, capacity;
};

struct hr__volcano_case {
  struct hr__verdict *verdict;
  const cJSON *whole;
  struct hr__volcano_names dimensions; /* "cpu", "memory", "pods", then the others */
  struct hr__volcano_names groups, zones, namespaces;
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config config;
  const cJSON **node_json, **task_json; /* by index */
  const char **node_names, **job_names, **task_names;
  bool *task_waits_for_volume; /* the pod is bound only after its volume */
};

/* Returns the index of a name, and adds the name if it is new. */
uint32_t hr__volcano_intern(struct hr__volcano_case *world, struct hr__volcano_names *names, const char *name);

/* Returns the index of the name, HR__VOLCANO_NONE if it is unknown. */
static inline uint32_t hr__volcano_find(const char *const *names, uint32_t n_names, const char *name) {
  for (uint32_t i = 0; i < n_names && name; i++)
    if (strcmp(names[i], name) == 0) return i;
  return HR__VOLCANO_NONE;
}

/* Reads a resource vector, such as {"cpu_milli": 1000, "nvidia.com/gpu": 2}. NULL: zeros. */
struct hr__volcano_vector hr__volcano_read_vector(struct hr__volcano_case *world, const cJSON *object);
/* Reads a Kubernetes quantity such as "3", "500m" or "8Gi". */
double hr__volcano_quantity(const char *text);
/* Reads a duration such as "1h2m3s" in microseconds; 0 if it is malformed or NULL. */
int64_t hr__volcano_duration_us(const char *text);

/* ---- volcano_case.c, volcano_config.c ---- */

/* Reads the whole case. Returns false if the case cannot run: it is not supported, malformed, or memory is exhausted.
 */
bool hr__volcano_read_case(struct hr__volcano_case *world, const cJSON *whole, struct hr__verdict *verdict);
/* Reads "run". */
void hr__volcano_read_config(struct hr__volcano_case *world);
/* Reads the nodes; the groups of queues; and which nodes a pod accepts and prefers. */
void hr__volcano_read_nodes(struct hr__volcano_case *world);
void hr__volcano_read_groups(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_queue *queue);
/* Reads the topology spread constraints of a pod, after all pods were read. */
void hr__volcano_read_spread(struct hr__volcano_case *world, uint32_t task_index, struct hr__volcano_task *task);
void hr__volcano_read_selectors(struct hr__volcano_case *world, const cJSON *json, uint32_t task_index,
                                struct hr__volcano_task *task);

#endif
