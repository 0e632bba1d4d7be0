/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_KUEUE_TAS_H
#define HR_SCENARIOS_CONFORM_KUEUE_TAS_H

/* Reads nodes and topologies of Kueue cases, for all kinds that need them. */

#include "policies/kueue/tas.h"
#include "scenarios/conform/kueue_objects.h"

/* Reads the members "nodes" and "pods". Pods that have ended, or have no node, use nothing. */
bool hr__kueue_case_nodes(struct hr__kueue_case *self, struct hr__tas_nodes *nodes);
/* Amounts [resource] of the nodes; all 0 if `object` is NULL. */
int64_t *hr__kueue_case_dense(struct hr__kueue_case *self, const cJSON *object);
/* Strings of a JSON list. */
const char **hr__kueue_case_texts(struct hr__kueue_case *self, const cJSON *list, uint32_t *count);
/* Parts of a placement {levels, domains}. */
struct hr__tas_part *hr__kueue_case_parts(struct hr__kueue_case *self, const struct hr__tas_flavor *flavor,
                                          const struct hr__kueue_placement *placement);
/* Kinds that test one step: see kueue_tas_steps.c. Returns false if the kind is unknown. */
bool hr__conform_kueue_tas_step(const cJSON *whole, const char *kind, struct hr__verdict *verdict);

#endif
