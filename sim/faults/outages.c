/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts of outages: the time for which nodes are down, by pool and by class of failure; jobs that are preempted
 * because of restarts; and the checks of the state of units in checked mode.
 *
 * The downtime of a class is the time of its outages times the nodes of their units, from a failure to its repair. A
 * node that is down for two reasons counts for both classes, but once for its pool.
 */

#include "sim/engine/engine.h"
#include "sim/faults/faults.h"

bool hr__faults_repaired(const struct hr__engine *engine, hr_node node) {
  return engine->faults->failed[node.id] == 0;
}

uint32_t hr__faults_nodes_down(const struct hr__engine *engine, hr_pool pool) {
  return engine->faults->pools[pool.id].n_down;
}

/* ---- Classes ---- */

void hr__faults_set_class(const struct hr__engine *engine, struct hr__fault_unit *unit,
                          const struct hr_fault_class *class_) {
  const struct hr__fault_group *group = &engine->faults->processes[unit->process];
  const bool is_listed = class_ && group->spec->n_classes > 0;
  unit->class_ = group->first_class + (is_listed ? (uint32_t)(class_ - group->spec->classes) : 0);
}

void hr__faults_count_failure(struct hr__engine *engine, struct hr__fault_unit *unit,
                              const struct hr_fault_class *class_) {
  hr__faults_set_class(engine, unit, class_);
  engine->pool_accounting[engine->faults->processes[unit->process].pool.id].failures++;
  engine->outages[unit->class_].failures++;
}

/* Adds the time since the nodes of a unit went down to the account of its class. */
static void add_downtime(struct hr__engine *engine, struct hr__fault_unit *unit) {
  const int64_t passed_us = engine->view.now_us - unit->down_since_us;
  engine->outages[unit->class_].down_us += (hr_amount)passed_us * unit->n_nodes;
  unit->down_since_us = HR_NEVER_US;
}

/* ---- Pools ---- */

static void settle_pool(struct hr__engine *engine, hr_pool pool) {
  struct hr__fault_pool *state = &engine->faults->pools[pool.id];
  engine->pool_accounting[pool.id].down_us += (hr_amount)state->n_down * (engine->view.now_us - state->touched_us);
  state->touched_us = engine->view.now_us;
}

void hr__faults_settle(struct hr__engine *engine) {
  struct hr__faults *faults = engine->faults;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) settle_pool(engine, (hr_pool){i});
  for (uint32_t i = 0; i < faults->n_units; i++)
    if (faults->units[i].down_since_us != HR_NEVER_US) add_downtime(engine, &faults->units[i]);
}

void hr__faults_count_outage(struct hr__engine *engine, struct hr__fault_unit *unit, bool begins) {
  struct hr__faults *faults = engine->faults;
  hr_pool pool = faults->processes[unit->process].pool;
  settle_pool(engine, pool);
  if (begins)
    unit->down_since_us = engine->view.now_us;
  else
    add_downtime(engine, unit);
  for (uint32_t i = unit->first_node; i < unit->first_node + unit->n_nodes; i++) {
    if (faults->failed[i] == (begins ? 0 : 1)) {
      faults->pools[pool.id].n_down += begins ? 1 : (uint32_t)-1;
      if (engine->maintenance) hr__maintenance_node_fails(engine, (hr_node){i}, begins);
    }
    faults->failed[i] = (uint16_t)(faults->failed[i] + (begins ? 1 : -1));
  }
}

/* ---- Checked mode ---- */

static enum hr_status check_node(const struct hr__engine *engine, uint32_t node, const uint16_t *down) {
  const struct hr__faults *faults = engine->faults;
  if (faults->down[node] != down[node])
    return hr__broken(engine, "node %" PRIu32 ": %u failed units are counted, %u contain it", node,
                      (unsigned)faults->down[node], (unsigned)down[node]);
  if (down[node] > 0 && engine->cluster.nodes[node].state != HR_NODE_OFF)
    return hr__broken(engine, "node %" PRIu32 " is present although it is not repaired", node);
  return HR_OK;
}

enum hr_status hr__faults_check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__faults *faults = engine->faults;
  uint16_t *down = calloc(engine->cluster.n_nodes + (size_t)1, sizeof *down);
  uint32_t *in_repair = calloc(engine->cluster.n_pools + (size_t)1, sizeof *in_repair);
  enum hr_status status = down && in_repair ? HR_OK : hr__out_of_memory(engine);
  (void)running;
  for (uint32_t i = 0; i < faults->n_units && status == HR_OK; i++) {
    const struct hr__fault_unit *unit = &faults->units[i];
    in_repair[faults->processes[unit->process].pool.id] += unit->state == HR__UNIT_REPAIRED;
    for (uint32_t k = 0; unit->state >= HR__UNIT_QUEUED && k < unit->n_nodes; k++) down[unit->first_node + k]++;
  }
  for (uint32_t i = 0; i < engine->cluster.n_nodes && status == HR_OK; i++) status = check_node(engine, i, down);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_fault_spec *spec = engine->cluster.pools[i].spec->faults;
    if (in_repair[i] != faults->pools[i].in_repair || (spec && spec->crew && in_repair[i] > spec->crew))
      status = hr__broken(engine, "pool %" PRIu32 ": %" PRIu32 " units are repaired at the same time", i, in_repair[i]);
  }
  free(down);
  free(in_repair);
  return status;
}

/* ---- Preemptions that restarts cause ------------------------------------------------------------ */

/*
 * Preemptions that restarts cause: a job that a failure has stopped starts again, and another job was preempted for it.
 * (Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", HPCA 2025, section on
 * second-order preemptions.)
 *
 * The engine does not know why a policy preempts a job, so the rule is: at the instant at which the job was preempted,
 * a job that a failure had stopped starts on one of its nodes. A preempted job counts once. Jobs that leave after a
 * grace period count in the same way.
 */

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
