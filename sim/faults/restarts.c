/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemptions that restarts cause: a job that a failure has stopped starts again, and another job was preempted for it.
 * (Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", HPCA 2025, section on
 * second-order preemptions.)
 *
 * The engine does not know why a policy preempts a job, so the rule is: at the instant at which the job was preempted,
 * a job that a failure had stopped starts on one of its nodes. A preempted job counts once. Jobs that leave after a
 * grace period count in the same way.
 */

#include "sim/engine/engine.h"

/* Marks of a job. */
enum { STOPPED_BY_FAILURE = 1, PREEMPTED = 2 };

/* The job that was last preempted on a node. */
struct hr__node_victim {
  int64_t at_us;
  uint32_t job;
};

enum hr_status hr__restarts_init(struct hr__engine *engine) {
  if (!(engine->abilities & HR_POLICY_PREEMPTS)) return HR_OK;
  engine->restart_marks = HR__JOB_COLUMN(engine, restart_marks);
  engine->node_victims = hr_arena_alloc(&engine->arena, engine->cluster.n_nodes * sizeof *engine->node_victims);
  if (!engine->restart_marks || !engine->node_victims) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) engine->node_victims[i].at_us = HR_NEVER_US;
  return HR_OK;
}

void hr__restarts_job_stops(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            enum hr_reason reason) {
  if (!engine->node_victims) return;
  if (reason == HR_REASON_FAILED) engine->restart_marks[job.id] |= STOPPED_BY_FAILURE;
  if (reason != HR_REASON_PREEMPTED) return;
  engine->restart_marks[job.id] |= PREEMPTED;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    engine->node_victims[placement->slices[i].node.id] = (struct hr__node_victim){engine->view.now_us, job.id};
}

void hr__restarts_job_starts(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (!engine->node_victims) return;
  bool restarts = engine->restart_marks[job.id] & STOPPED_BY_FAILURE;
  engine->restart_marks[job.id] = 0;
  for (uint32_t i = 0; restarts && i < placement->n_slices; i++) {
    const struct hr__node_victim *victim = &engine->node_victims[placement->slices[i].node.id];
    if (victim->at_us != engine->view.now_us || !(engine->restart_marks[victim->job] & PREEMPTED)) continue;
    engine->restart_marks[victim->job] &= (uint8_t)~PREEMPTED;
    engine->pool_accounting[placement->pool.id].restart_preemptions++;
  }
}
