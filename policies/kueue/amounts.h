/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_AMOUNTS_H
#define HR_POLICIES_KUEUE_AMOUNTS_H

/* Quantities as Kubernetes writes them, how often a request fits, and the usage of local queues. */

#include "policies/kueue/kueue.h"

/* Reads a quantity ("500m", "1.5Gi", "1e3") in thousandths (for cpu) or in whole units. Fractions are rounded away from
   0; values out of range become INT64_MAX or INT64_MIN. Returns false if the text is no quantity. */
bool hr__kueue_quantity(const char *text, bool thousandths, int64_t *value);

/* How often requests fit into a capacity, at most INT32_MAX; 0 if nothing is requested. A resource that the capacity
   does not name has the amount 0. `limiting` is the resource that limits it, the first in order of names; HR_NONE if
   nothing is requested. It may be NULL. */
int64_t hr__kueue_count_in(const struct hr__kueue_amounts *requests, const struct hr__kueue_amounts *capacity,
                           uint32_t *limiting);

/* ---- Admission fair sharing ---- */

/* The usage of a local queue: the weighted sum of what it consumed and of its entry penalties, in standard units (cpu
   in cores), divided by its weight. Infinite if the weight is not positive. `weights` are by resource; `cpu` is the
   resource in thousandths (HR_NONE: none). */
double hr__kueue_local_usage(const struct hr__kueue_amounts *consumed, const struct hr__kueue_amounts *penalty,
                             const double *weights, double queue_weight, uint32_t cpu);
/* The part of a new value in a decayed average after `elapsed`; 0 if the half life is 0. */
double hr__kueue_decay_part(int64_t elapsed_us, int64_t half_life_us);
/* The decayed average after the current value was added. */
double hr__kueue_decayed(double old, double current, double part);

#endif
