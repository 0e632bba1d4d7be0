/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PreemptMode=SUSPEND: a job gets CPUs of jobs that it may preempt. These are suspended until there are enough CPUs
 * again. A suspended job keeps its GPUs, its memory and its CPUs: only jobs that may preempt it can use them. So it
 * makes no room for jobs that need GPUs or memory. Time for which it is suspended does not count for its limit.
 *
 * Slurm suspends the jobs with cores that the new job uses. Here CPUs have no numbers: jobs are suspended in the order
 * of preemption until the CPUs suffice. They are resumed in the order in which they were suspended.
 *
 * In the engine a suspended job is stopped and waits, with all its work. Invariant: it stays among the running jobs of
 * `nodes`, so that no other job gets what it keeps. Jobs overlap as little as possible: they overlap only if the jobs
 * of a node, including suspended ones, request more CPUs than the node has.
 *
 * Source: src/plugins/select/cons_tres/job_test.c and src/slurmctld/gang.c of SchedMD/slurm, doc/html/preempt.
 */

#include "policies/slurm/engine.h"

#include <string.h>

static bool uses_node(const struct hr__slurm_running *running, uint32_t node) {
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (running->nodes[i] == node) return true;
  return false;
}

/* The CPUs of a node that jobs which are not suspended use. */
static int64_t active_cpu(const struct hr__slurm_run *run, uint32_t node) {
  int64_t sum = 0;
  for (uint32_t r = 0; r < run->nodes.n_running; r++) {
    const struct hr__slurm_running *running = &run->nodes.running[r];
    if (!hr__slurm_is_suspended(run, running->job) && uses_node(running, node)) sum += running->shape.cpu_milli;
  }
  return sum;
}

static struct hr__slurm_running *running_of(const struct hr__slurm_run *run, uint32_t job) {
  for (uint32_t r = 0; r < run->nodes.n_running; r++)
    if (run->nodes.running[r].job == job) return &run->nodes.running[r];
  return NULL;
}

bool hr__slurm_create_suspension(struct hr__slurm_run *run) {
  struct hr__slurm_suspension *state = &run->suspension;
  if (!run->preemption.is_on || !run->nodes.cpu_milli) return true;
  size_t bytes = ((size_t)run->nodes.n_nodes + 1) * sizeof *state->cpu_milli;
  state->cpu_milli = hr_arena_alloc(run->arena, bytes);
  state->kept_milli = hr_arena_alloc(run->arena, bytes);
  state->since_us = hr_arena_alloc_by_job(run->arena, run->trace->n_jobs, sizeof *state->since_us);
  if (!state->cpu_milli || !state->kept_milli || !state->since_us) return false;
  memcpy(state->cpu_milli, run->nodes.cpu_milli, bytes - sizeof *state->cpu_milli);
  return true;
}

/* ---- Suspending ------------------------------------------------------------------------------------- */

/* Chooses nodes as if the CPUs of the candidates were free. Their memory and GPUs are not. */
static bool find_overlapping(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, uint32_t n,
                             const uint64_t *set) {
  int64_t *cpu_milli = run->nodes.cpu_milli, *kept = run->suspension.kept_milli;
  size_t bytes = run->nodes.n_nodes * sizeof *kept;
  memcpy(kept, cpu_milli, bytes);
  memcpy(cpu_milli, run->suspension.cpu_milli, bytes);
  for (uint32_t r = 0; r < run->nodes.n_running; r++) {
    const struct hr__slurm_running *running = &run->nodes.running[r];
    bool is_candidate = false;
    for (uint32_t i = 0; i < n; i++) is_candidate = is_candidate || run->preemption.candidates[i].running == r;
    for (uint32_t i = 0; !is_candidate && i < running->shape.nodes; i++)
      cpu_milli[running->nodes[i]] -= (int64_t)running->shape.cpu_milli;
  }
  bool found = hr__slurm_find_now(run, kind, set);
  memcpy(cpu_milli, kept, bytes);
  return found;
}

/* Returns whether, on one of the chosen nodes, the active jobs and the new one request more CPUs than the node has. */
static bool is_in_the_way(const struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < run->found.nodes; i++) {
    uint32_t node = run->nodes.chosen[i];
    if (uses_node(running, node) &&
        active_cpu(run, node) + (int64_t)run->found.cpu_milli > run->suspension.cpu_milli[node])
      return true;
  }
  return false;
}

/* Marks the candidates to suspend: in order until the CPUs suffice, then without those that need not be. */
static void mark(struct hr__slurm_run *run, uint32_t n) {
  struct hr__slurm_candidate *list = run->preemption.candidates;
  int64_t *since_us = run->suspension.since_us;
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__slurm_running *running = &run->nodes.running[list[i].running];
    list[i].usable = !hr__slurm_is_suspended(run, running->job) && is_in_the_way(run, running);
    if (list[i].usable) since_us[running->job] = run->view->now_us + 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__slurm_running *running = &run->nodes.running[list[i].running];
    if (!list[i].usable) continue;
    since_us[running->job] = 0;
    list[i].usable = is_in_the_way(run, running);
    if (list[i].usable) since_us[running->job] = run->view->now_us + 1;
  }
}

bool hr__slurm_suspend(struct hr__slurm_run *run, uint32_t job, uint32_t n, const uint64_t *set) {
  if (n == 0 || !find_overlapping(run, &run->kinds[run->jobs[job].kind], n, set)) return false;
  mark(run, n);
  for (uint32_t i = 0; i < n && run->status == HR_OK; i++) {
    const struct hr__slurm_candidate *candidate = &run->preemption.candidates[i];
    if (!candidate->usable) continue;
    run->status = hr_moves_preempt(run->moves, (hr_job){candidate->victim.job}, HR_REASON_PREEMPTED);
    if (run->status == HR_OK) run->status = hr__slurm_list_job(run, &run->suspension.jobs, candidate->victim.job);
  }
  run->suspension.has_chosen = true;
  return run->status == HR_OK;
}

/* ---- Resuming --------------------------------------------------------------------------------------- */

static bool is_on_lost_node(const struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (hr_cluster_node_state(run->cluster, (hr_node){running->nodes[i]}) != HR_NODE_UP) return true;
  return false;
}

static bool may_resume(const struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < running->shape.nodes; i++) {
    uint32_t node = running->nodes[i];
    if (active_cpu(run, node) + (int64_t)running->shape.cpu_milli > run->suspension.cpu_milli[node]) return false;
  }
  return true;
}

static void resume(struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  uint32_t job = running->job;
  int64_t since_us = run->suspension.since_us[job] - 1;
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    run->slices[i] = hr__slurm_slice(run, job, running->nodes[i], hr__slurm_gpus_of(&run->nodes, running, i));
  const struct hr_placement placement = {hr__slurm_pool_of(run, running->nodes[0]), running->shape.nodes, run->slices};
  run->status = hr_moves_start(run->moves, (hr_job){job}, &placement, HR_REASON_IN_ORDER);
  run->suspension.since_us[job] = -run->view->now_us - 1;
  hr__slurm_nodes_postpone(&run->nodes, job, run->view->now_us - since_us);
  hr__slurm_note_change(run, run->view->now_us);
}

/* A job that is suspended on a node that is lost is requeued. */
static void requeue(struct hr__slurm_run *run, uint32_t job) {
  run->suspension.since_us[job] = 0;
  hr__slurm_leave(run, job, run->view->now_us);
  run->status = hr__slurm_requeue(run, job, run->view->now_us);
}

void hr__slurm_resume(struct hr__slurm_run *run) {
  struct hr__slurm_list *list = &run->suspension.jobs;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    uint32_t job = list->jobs[i];
    const struct hr__slurm_running *running = running_of(run, job);
    bool done = run->status == HR_OK && running && (is_on_lost_node(run, running) || may_resume(run, running));
    if (!done)
      list->jobs[n_kept++] = job;
    else if (is_on_lost_node(run, running))
      requeue(run, job);
    else
      resume(run, running);
  }
  list->count = n_kept;
}
