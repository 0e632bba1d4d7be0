/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_AGAINST_H
#define HR_WORKLOAD_AGAINST_H

/* A trace held against a cluster. */

#include "sim/cluster.h"
#include "workload/checking.h"

struct hr__against {
  struct hr_arena arena;
  struct hr__speeds speeds;
  struct hr_cluster cluster;
  uint8_t *refusal; /* [n], enum hr_reason why a job can never run; HR_REASON_NONE: it can */
};

void hr__check_fit(struct hr__checker *checker, const struct hr__against *against);
void hr__check_load(struct hr__checker *checker, const struct hr__against *against);

#endif
