/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_KUEUE_CYCLE_H
#define HR_SCENARIOS_CONFORM_KUEUE_CYCLE_H

/* Scheduling cycles over the workloads of a Kueue case, for cases of one and of several cycles. */

#include "policies/kueue/cycle.h"
#include "scenarios/conform/kueue_objects.h"

struct hr__kueue_cycle_run {
  struct hr__kueue_case self;
  struct hr__kueue_cycle cycle;
  struct hr__kueue_pending pending;
  uint32_t *heads;
  cJSON *actual; /* what the last cycle did; owned by whoever starts the run */
  cJSON *reasons, *events, *preempted, *skipped, *recomputed, *reserved, *admitted;
  const cJSON *expected_events; /* NULL: none */
};

/* Reads a case and queues its waiting workloads. Returns false if memory is exhausted or the case is malformed. */
bool hr__kueue_cycle_start(struct hr__kueue_cycle_run *run, const cJSON *whole, struct hr__verdict *verdict);
/* Runs a cycle with the heads of all active queues. Returns false if memory is exhausted. */
bool hr__kueue_cycle_step(struct hr__kueue_cycle_run *run);
/* Gives the workloads that the last cycle admitted their quota. Returns false if memory is exhausted. */
bool hr__kueue_cycle_take_effect(struct hr__kueue_cycle_run *run);

#endif
