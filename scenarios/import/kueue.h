/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_KUEUE_H
#define HR_SCENARIOS_IMPORT_KUEUE_H

/* The import of Kueue: the kinds of objects that are read, with their fields, and functions about quotas
   (kueue_objects.c). */

#include "scenarios/import/import.h"

enum hr__kueue_kind {
  HR__KUEUE_CLUSTER_QUEUE,
  HR__KUEUE_COHORT,
  HR__KUEUE_LOCAL_QUEUE,
  HR__KUEUE_FLAVOR,
  HR__KUEUE_TOPOLOGY,
  HR__KUEUE_CHECK,
  HR__KUEUE_WORKLOAD_CLASS,
  HR__KUEUE_CONFIGURATION,
  HR__KUEUE_CLASS,
  HR__KUEUE_NAMESPACE,
  HR__N_KUEUE_KINDS
};
extern const struct hr__object_kind hr__kueue_kinds[HR__N_KUEUE_KINDS];

struct hr__kueue_import {
  struct hr__objects objects;
  struct hr__convert convert;
  struct hr__node_pools pools;
  bool has_nodes;
  const char *gpu_resource; /* that quotas name */
};

/* The next object of a kind after `last` (NULL: the first one); NULL: not found. */
static inline const struct hr__object *hr__kueue_next(const struct hr__kueue_import *import, enum hr__kueue_kind kind,
                                                      const struct hr__object *last) {
  return hr__objects_next(&import->objects, &hr__kueue_kinds[kind], last);
}

/* The names of the cohort of a ClusterQueue and of the parent of a cohort; NULL: none. */
const struct hr__yaml *hr__kueue_cohort(const struct hr__object *queue);
const struct hr__yaml *hr__kueue_parent(const struct hr__object *cohort);

/* Checks that a text (NULL: none) names an object of a kind. */
enum hr_status hr__kueue_check_reference(const struct hr__kueue_import *import, const struct hr__object *object,
                                         const struct hr__yaml *name, enum hr__kueue_kind kind);
/* Checks that the parents of a cohort do not lead back to it. A parent need not exist. */
enum hr_status hr__kueue_check_acyclic(const struct hr__kueue_import *import, const struct hr__object *cohort);
/* Checks the resource groups of a ClusterQueue or cohort. `in_tree`: it can borrow and lend. */
enum hr_status hr__kueue_check_groups(const struct hr__kueue_import *import, const struct hr__object *owner,
                                      bool in_tree);
/* Writes the resource groups. */
void hr__kueue_put_groups(struct hr__kueue_import *import, cJSON *to, const struct hr__object *owner);
/* The GPUs of all quotas of a flavor, in thousandths. */
int64_t hr__kueue_gpus_of(const struct hr__kueue_import *import, const char *name);

#endif
