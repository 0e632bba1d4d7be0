/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_DIFF_KEYS_H
#define HR_PLAN_DIFF_KEYS_H

/*
 * The keys in which two scenarios differ. Both scenarios are JSON trees after overrides and are compared key by key.
 * Entries of lists that have names, such as pools, are matched by name, so that an inserted entry is one difference. If
 * other lists have different lengths, each list as a whole is one difference.
 */

#include "report/tables/json_tree.h"

enum { HR__KEY_VALUE_BYTES = 80 };

/* A difference. The texts are valid only during the call. */
struct hr__key_difference {
  const char *path;          /* in the notation of --set: "cluster.pools.0.nodes" */
  const char *shown;         /* the same with the names of entries: "cluster.pools[a100].nodes" */
  const cJSON *before, *now; /* NULL: the scenario lacks the key */
};

typedef void hr__key_visit(void *self, const struct hr__key_difference *difference);

/* Calls `visit` for each difference, in the order of `now`; keys that only `before` has follow those of their object.
   The keys "$schema" and "description" of the scenario are ignored, since they have no effect on runs. */
void hr__keys_compare(const cJSON *before, const cJSON *now, hr__key_visit *visit, void *self);

/* Writes a value: a text without quotes, other values as JSON. Long values are cut. Returns `buffer`, which has
   HR__KEY_VALUE_BYTES bytes. */
const char *hr__key_value_text(const cJSON *value, char *buffer);

#endif
