/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_NAIVE_VOLCANO_H
#define HR_TESTS_POLICIES_NAIVE_VOLCANO_H

/* A naive Volcano for small worlds with four resources: CPU, memory, pods and one other. It stores only the state of
   each task. All sums are computed again whenever they are needed. A statement is undone by restoring a copy of the
   whole state. It shares no code with policies/volcano; it only reads the same snapshot and configuration. */

#include "policies/volcano/volcano.h"

enum { NAIVE_TASKS = 40, NAIVE_JOBS = 12, NAIVE_QUEUES = 8, NAIVE_RESOURCES = 4 };

struct naive_volcano {
  const struct hr__volcano_snapshot *snapshot;
  const struct hr__volcano_config *config;
  /* The state. */
  enum hr__volcano_state state[NAIVE_TASKS];
  uint32_t node[NAIVE_TASKS];
  uint32_t arrival[NAIVE_TASKS], n_arrivals; /* order in which tasks were placed on their nodes */
  bool bound[NAIVE_TASKS], evicted[NAIVE_TASKS], placed[NAIVE_TASKS];
  bool failed[NAIVE_TASKS]; /* by task: its role is not tried again */
  enum hr__volcano_phase phase[NAIVE_JOBS];
  double inqueue[NAIVE_QUEUES][NAIVE_RESOURCES];
  /* Constant during a session. */
  double deserved[NAIVE_QUEUES][NAIVE_RESOURCES], limit[NAIVE_QUEUES][NAIVE_RESOURCES];
  double elastic[NAIVE_QUEUES][NAIVE_RESOURCES], guarantee[NAIVE_QUEUES][NAIVE_RESOURCES];
  double inner_share[NAIVE_QUEUES];
  bool is_broken;     /* the tree of queues is invalid, because jobs are in a queue that has children */
  uint32_t preemptor; /* the job for which victims are ordered */
};

void naive_volcano_run(struct naive_volcano *w, const struct hr__volcano_snapshot *snapshot,
                       const struct hr__volcano_config *config);

#endif
