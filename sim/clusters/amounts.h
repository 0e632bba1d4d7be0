/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_AMOUNTS_H
#define HR_SIM_CLUSTERS_AMOUNTS_H

/* Amounts of the resources that node autoscalers count: of a node, or requested by a pod. */

#include "headroom/base.h"

enum hr__amount { HR__CPU_M, HR__MEMORY_BYTES, HR__GPUS, HR__N_AMOUNTS };

struct hr__node_amounts {
  int64_t of[HR__N_AMOUNTS]; /* thousandths of a core, bytes, GPUs */
};

static inline void hr__amounts_add(struct hr__node_amounts *sum, const struct hr__node_amounts *more, int64_t times) {
  for (int i = 0; i < HR__N_AMOUNTS; i++) sum->of[i] += times * more->of[i];
}

/* Returns whether a request fits. A resource that is not requested does not matter. */
static inline bool hr__amounts_fit(const struct hr__node_amounts *request, const struct hr__node_amounts *room) {
  for (int i = 0; i < HR__N_AMOUNTS; i++)
    if (request->of[i] > 0 && request->of[i] > room->of[i]) return false;
  return true;
}

#endif
