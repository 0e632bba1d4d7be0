/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that Slurm stops or suspends: by preemption, according to QOS (preempt/qos) or to the tier of the partition
 * (preempt/partition_prio); and jobs that it stops after their time limits (OverTimeLimit).
 *
 * The candidates are the running jobs that a job may preempt. They are sorted by priority, the lowest first, and then
 * by nodes, the fewest first. With PreemptParameters=youngest_first, they are sorted by start, the latest first. They
 * are removed one by one until the job fits on the remaining resources. Nodes are then chosen for the job. After this
 * search, the candidates are sorted again: the last removed candidate is first. The others follow, sorted by how many
 * of the chosen nodes they use, the most first. Then the search is repeated, at most MAX_PASSES times. The removed
 * candidates that use chosen nodes are preempted. Jobs with PreemptMode=suspend are separate candidates, see below.
 *
 * Source: src/plugins/select/cons_tres/job_test.c (_run_now), src/plugins/preempt of SchedMD/slurm.
 */

#include "policies/slurm/engine.h"

#include <string.h>

/* The time that a requeued job must wait: Slurm waits until the job's old credentials have expired. */
#define REQUEUE_DELAY_US (121 * HR_SECOND_US)

/* The maximum number of times that the search is repeated: the default of reorder_count in PreemptParameters, plus
   1. */
enum { MAX_PASSES = 2, LAST = INT32_MAX };

/* QOS priorities above MAX_RANK count as MAX_RANK, because Slurm compares 16 bits. */
enum { MAX_RANK = 0xffff };

bool hr__slurm_create_preemption(struct hr__slurm_run *run) {
  const struct hr_slurm_config *config = run->config;
  if (!config || config->preempt_type == HR_SLURM_PREEMPT_NONE) return true;
  struct hr__slurm_preemption *state = &run->preemption;
  size_t n_qos = config->n_qos;
  if (!HR__ARENA_ARRAY(run->arena, state->may_preempt, n_qos * n_qos + 1)) return false;
  for (size_t q = 0; q < n_qos; q++)
    for (uint32_t i = 0; i < config->qos[q].n_preempt; i++)
      for (size_t other = 0; other < n_qos; other++)
        if (strcmp(config->qos[other].name, config->qos[q].preempt[i].text) == 0)
          state->may_preempt[q * n_qos + other] = true;
  size_t n_gpus = run->requests ? (size_t)run->trace->n_jobs + 1 : 1;
  for (uint32_t n = 0; n < run->nodes.n_nodes; n++) n_gpus += run->nodes.gpus[n];
  state->is_on = true;
  if (config->preempt_type == HR_SLURM_PREEMPT_QOS) {
    run->waiting.may_preempt = state->may_preempt;
    run->waiting.n_qos = config->n_qos;
  }
  return HR__ARENA_ARRAY(run->arena, state->candidates, n_gpus) && HR__ARENA_ARRAY(run->arena, state->hidden, n_gpus) &&
         HR__ARENA_ARRAY(run->arena, state->kept, n_gpus) &&
         HR__ARENA_ARRAY(run->arena, state->chosen, run->nodes.n_words + 1) &&
         HR__ARENA_ARRAY_BY_JOB(run->arena, state->leaving, run->trace->n_jobs);
}

/* ---- Candidates ------------------------------------------------------------------------------------- */

static const struct hr_slurm_partition *part_of(const struct hr__slurm_run *run, uint32_t job) {
  return run->parts[run->kinds[run->jobs[job].kind].partition].config;
}

static enum hr_slurm_preempt_mode mode_of(const struct hr__slurm_run *run, uint32_t job) {
  enum hr_slurm_preempt_mode mode = HR_SLURM_PREEMPT_DEFAULT;
  uint32_t qos = run->jobs[job].qos;
  if (run->config->preempt_type == HR_SLURM_PREEMPT_QOS && qos != HR_NONE)
    mode = run->config->qos[qos].preempt_mode;
  else if (part_of(run, job))
    mode = part_of(run, job)->preempt_mode;
  return mode == HR_SLURM_PREEMPT_DEFAULT ? run->config->preempt_mode : mode;
}

static int64_t exempt_us(const struct hr__slurm_run *run, uint32_t job) {
  uint32_t qos = run->jobs[job].qos;
  int64_t of_qos = qos == HR_NONE ? HR_UNKNOWN_US : run->config->qos[qos].exempt_us;
  return of_qos == HR_UNKNOWN_US ? run->config->preempt_exempt_us : of_qos;
}

int64_t hr__slurm_next_exempt_end(const struct hr__slurm_run *run, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t r = 0; run->preemption.is_on && r < run->nodes.n_running; r++) {
    uint32_t job = run->nodes.running[r].job;
    int64_t for_us = exempt_us(run, job), end_us = run->jobs[job].start_us + for_us;
    if (for_us != HR_UNKNOWN_US && end_us > now_us && end_us < next_us) next_us = end_us;
  }
  return next_us;
}

static bool outranks(const struct hr__slurm_run *run, uint32_t job, uint32_t victim) {
  if (run->config->preempt_type == HR_SLURM_PREEMPT_QOS) {
    uint32_t qos = run->jobs[job].qos, other = run->jobs[victim].qos;
    return qos != HR_NONE && other != HR_NONE && run->preemption.may_preempt[(size_t)qos * run->config->n_qos + other];
  }
  const struct hr_slurm_partition *part = part_of(run, job), *other = part_of(run, victim);
  return part && other && part->priority_tier > other->priority_tier;
}

static bool is_candidate(const struct hr__slurm_run *run, uint32_t job, const struct hr__slurm_running *running,
                         const uint64_t *set, bool suspends) {
  if (!outranks(run, job, running->job)) return false;
  enum hr_slurm_preempt_mode mode = mode_of(run, running->job);
  if (suspends && mode != HR_SLURM_PREEMPT_SUSPEND) return false;
  if (suspends && run->suspension.since_us[running->job] == -run->view->now_us - 1) return false; // resumed now
  if (!suspends && mode != HR_SLURM_PREEMPT_REQUEUE && mode != HR_SLURM_PREEMPT_CANCEL) return false;
  if (!hr__is_interruptible(run->trace, (hr_job){running->job})) return false;
  int64_t run_us = run->view->now_us - run->jobs[running->job].start_us;
  if (run_us <= 0 || !hr__slurm_may_be_preempted(run_us, exempt_us(run, running->job))) return false;
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (set[running->nodes[i] / 64] >> running->nodes[i] % 64 & 1) return true;
  return false;
}

/* The priority of a job as a victim: that of its QOS, or the tier of its partition. */
static uint32_t rank_of(const struct hr__slurm_run *run, uint32_t job) {
  if (run->config->preempt_type != HR_SLURM_PREEMPT_QOS) return part_of(run, job)->priority_tier;
  uint32_t priority = run->config->qos[run->jobs[job].qos].priority;
  return priority < MAX_RANK ? priority : MAX_RANK;
}

/* Returns whether candidate `a` is stopped before `b`. Equal candidates are ordered by submission. */
static bool is_first(const struct hr__slurm_run *run, const struct hr__slurm_candidate *a,
                     const struct hr__slurm_candidate *b) {
  if (a->is_leaving != b->is_leaving) return a->is_leaving;
  bool youngest_first = run->config->preempt_youngest_first;
  if (hr__slurm_victim_before(&a->victim, &b->victim, youngest_first)) return true;
  return !hr__slurm_victim_before(&b->victim, &a->victim, youngest_first) && a->victim.job < b->victim.job;
}

/* Lists the candidates in their order: those to suspend (`suspends`), or those to stop. Jobs that already have an
   eviction notice come first. Returns their number. */
static uint32_t list_candidates(struct hr__slurm_run *run, uint32_t job, const uint64_t *set, bool suspends) {
  struct hr__slurm_candidate *list = run->preemption.candidates;
  uint32_t n = 0;
  for (uint32_t r = 0; r < run->nodes.n_running; r++) {
    const struct hr__slurm_running *running = &run->nodes.running[r];
    if (!is_candidate(run, job, running, set, suspends)) continue;
    const struct hr__slurm_candidate entry = {
        .running = r,
        .is_leaving = run->preemption.leaving[running->job],
        .victim = {running->job, rank_of(run, running->job), running->shape.nodes, run->jobs[running->job].start_us}};
    uint32_t at = n++;
    for (; at > 0 && is_first(run, &entry, &list[at - 1]); at--) list[at] = list[at - 1];
    list[at] = entry;
  }
  return n;
}

/* ---- Search ----------------------------------------------------------------------------------------- */

static int32_t nodes_used(const struct hr__slurm_run *run, const struct hr__slurm_candidate *candidate) {
  const struct hr__slurm_running *running = &run->nodes.running[candidate->running];
  int32_t count = 0;
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    count += (int32_t)(run->preemption.chosen[running->nodes[i] / 64] >> running->nodes[i] % 64 & 1);
  return count;
}

/* Removes candidates one by one until the job fits, and stores the chosen nodes. Returns the number of removed
   candidates; UINT32_MAX if the job does not fit even without all candidates. All candidates are put back before the
   return. */
static uint32_t removals(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, uint32_t n,
                         const uint64_t *set) {
  uint32_t n_removed = 0;
  bool fits = false;
  while (!fits && n_removed < n) {
    hr__slurm_nodes_lend(&run->nodes, run->preemption.candidates[n_removed++].running, true);
    fits = hr__slurm_find_now(run, kind, set);
  }
  if (fits) {
    memset(run->preemption.chosen, 0, run->nodes.n_words * sizeof *run->preemption.chosen);
    for (uint32_t i = 0; i < run->found.nodes; i++)
      run->preemption.chosen[run->nodes.chosen[i] / 64] |= UINT64_C(1) << run->nodes.chosen[i] % 64;
  }
  for (uint32_t i = 0; i < n_removed; i++)
    hr__slurm_nodes_lend(&run->nodes, run->preemption.candidates[i].running, false);
  return fits ? n_removed : UINT32_MAX;
}

bool hr__slurm_find_without_victims(struct hr__slurm_run *run, uint32_t job, uint64_t *set, int64_t *start_us) {
  struct hr__slurm_preemption *state = &run->preemption;
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  int64_t now_us = run->view->now_us;
  uint32_t n = 0;
  bool fits_now = hr__slurm_kind_fits(run, kind, set);
  for (uint32_t r = 0; !fits_now && r < run->nodes.n_running; r++)
    if (is_candidate(run, job, &run->nodes.running[r], set, false)) state->hidden[n++] = r;
  if (n == 0) return hr__slurm_find_start(run, kind, now_us, set, start_us);
  hr__slurm_nodes_hide(&run->nodes, state->hidden, n, state->kept);
  bool found = hr__slurm_find_start(run, kind, now_us, set, start_us);
  hr__slurm_nodes_show(&run->nodes, state->hidden, n, state->kept);
  return found;
}

/* Moves the last removed candidate to the front. Sorts the other removed candidates by the number of chosen nodes that
   they use, the most first; candidates that were not removed count as 0. */
static void sort_again(struct hr__slurm_run *run, uint32_t n_removed, uint32_t n) {
  struct hr__slurm_candidate *list = run->preemption.candidates;
  for (uint32_t i = 0; i < n; i++)
    list[i].usable = i + 1 < n_removed ? nodes_used(run, &list[i]) : i + 1 == n_removed ? LAST : 0;
  for (uint32_t i = 1; i < n; i++) { // stable
    const struct hr__slurm_candidate entry = list[i];
    uint32_t at = i;
    for (; at > 0 && list[at - 1].usable < entry.usable; at--) list[at] = list[at - 1];
    list[at] = entry;
  }
}

/* ---- Jobs that stop ---------------------------------------------------------------------------------- */

enum hr_status hr__slurm_list_job(struct hr__slurm_run *run, struct hr__job_list *list, uint32_t job) {
  return hr__job_list_add(list, run->arena, (hr_job){job}) ? HR_OK : HR_NO_MEMORY;
}

/* If the scenario has a section `slurm`, the job may start again only after REQUEUE_DELAY_US, as in Slurm. The job is
   added to the queue later, because the present pass still reads the queue. */
enum hr_status hr__slurm_requeue(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  run->jobs[job].queued_us = now_us;
  run->jobs[job].submit_us = run->config ? now_us + REQUEUE_DELAY_US : now_us;
  hr__slurm_note_submission(run, job);
  if (run->preemption.is_on) run->preemption.leaving[job] = false;
  enum hr_status status = run->config ? hr__slurm_list_job(run, &run->delayed, job) : HR_OK;
  return status == HR_OK ? hr__slurm_list_job(run, &run->requeued, job) : status;
}

/* ---- Time limits ------------------------------------------------------------------------------------ */

/* The longest time from OverTimeLimit to the forced end: Slurm checks for such jobs every 30 s, and then waits for
   KillWait. The model uses this longest time, so it never stops a job earlier than Slurm did: a job that Slurm stopped
   at its limit runs until its recorded end. */
#define STOP_US (30 * HR_SECOND_US + HR__SLURM_KILL_WAIT_US)

/* OverTimeLimit of the partition of a job, else that of the cluster; HR_UNKNOWN_US: not set. */
static int64_t over_time_of(const struct hr__slurm_run *run, uint32_t job) {
  if (!run->config) return HR_UNKNOWN_US;
  int64_t of_part = part_of(run, job) ? part_of(run, job)->over_time_limit_us : HR_UNKNOWN_US;
  return of_part == HR_UNKNOWN_US ? run->config->over_time_limit_us : of_part;
}

void hr__slurm_set_over_time(struct hr__slurm_run *run, struct hr__slurm_running *running) {
  int64_t over_us = over_time_of(run, running->job);
  running->limit_us = run->jobs[running->job].limit_us;
  if (over_us == HR_UNKNOWN_US) return;
  bool is_unlimited = over_us >= HR_SLURM_OVER_TIME_UNLIMITED_US;
  running->over_us = is_unlimited ? HR_NEVER_US : over_us + HR__SLURM_KILL_WAIT_US;
  if (!is_unlimited && run->status == HR_OK)
    run->status = hr_moves_wake_at(run->moves, running->end_us + over_us + STOP_US);
}

static bool is_over_time(const struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  int64_t over_us = over_time_of(run, running->job);
  if (over_us == HR_UNKNOWN_US || over_us >= HR_SLURM_OVER_TIME_UNLIMITED_US) return false;
  if (hr__slurm_is_suspended(run, running->job)) return false;
  if (!hr__is_interruptible(run->trace, (hr_job){running->job})) return false;
  return running->end_us + over_us + STOP_US <= run->view->now_us;
}

/* Rejects a job that was stopped. */
static void cancel(struct hr__slurm_run *run, uint32_t job) {
  if (!hr__slurm_count(run, job, -1, false)) run->status = HR_NO_MEMORY;
  if (run->status == HR_OK) run->status = hr_moves_reject(run->moves, (hr_job){job}, HR_REASON_KILLED);
}

static void end_over_time(struct hr__slurm_run *run, uint32_t job) {
  run->status = hr_moves_requeue(run->moves, (hr_job){job}, HR_REASON_KILLED);
  if (run->status != HR_OK) return;
  hr__slurm_leave(run, job, run->view->now_us);
  if (run->preemption.is_on) run->preemption.leaving[job] = false;
  cancel(run, job);
}

void hr__slurm_stop_over_time(struct hr__slurm_run *run) {
  if (!run->stops_over_time) return;
  for (uint32_t r = 0; r < run->nodes.n_running && run->status == HR_OK;) {
    const struct hr__slurm_running *running = &run->nodes.running[r];
    if (running->end_us > run->view->now_us) break; // all others end later
    if (!is_over_time(run, running)) {
      r++;
      continue;
    }
    end_over_time(run, running->job);
    hr__slurm_note_change(run, run->view->now_us);
  }
}

/* ---- Suspended jobs ----------------------------------------------------------------------------- */

/*
 * PreemptMode=SUSPEND: a job gets the CPUs of jobs that it may preempt, which are suspended until there are enough CPUs
 * again. A suspended job keeps its GPUs and its memory, so only its CPUs become available. Only jobs that may preempt
 * it can use its CPUs. The time for which it is suspended does not count toward its limit.
 *
 * Slurm suspends the jobs that have the cores that the new job uses. The model only counts CPUs, so it suspends jobs in
 * the order of preemption until the CPUs suffice. They are resumed in the order in which they were suspended.
 *
 * For the engine, a suspended job is stopped and waits, and keeps all its work. Invariant: it remains one of the
 * running jobs of `nodes`, so that its GPUs and its memory stay allocated. Jobs share CPUs only if the jobs of a node,
 * including suspended ones, together request more CPUs than the node has.
 *
 * Source: src/plugins/select/cons_tres/job_test.c and src/slurmctld/gang.c of SchedMD/slurm, doc/html/preempt.
 */

static bool uses_node(const struct hr__slurm_running *running, uint32_t node) {
  for (uint32_t i = 0; i < running->shape.nodes; i++)
    if (running->nodes[i] == node) return true;
  return false;
}

/* The CPUs of a node that are used by jobs that are not suspended. */
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
  size_t n = run->nodes.n_nodes;
  if (!HR__ARENA_ARRAY_BY_JOB(run->arena, state->since_us, run->trace->n_jobs) ||
      !HR__ARENA_ARRAY(run->arena, state->cpu_milli, n + 1) || !HR__ARENA_ARRAY(run->arena, state->kept_milli, n + 1))
    return false;
  memcpy(state->cpu_milli, run->nodes.cpu_milli, n * sizeof *state->cpu_milli);
  return true;
}

/* ---- Suspending ------------------------------------------------------------------------------------- */

/* Chooses nodes as if the CPUs of the candidates, but not their memory and GPUs, were free. */
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

/* Returns whether a running job uses a chosen node on which the jobs that are not suspended and the new job together
   request more CPUs than the node has. */
static bool is_in_the_way(const struct hr__slurm_run *run, const struct hr__slurm_running *running) {
  for (uint32_t i = 0; i < run->found.nodes; i++) {
    uint32_t node = run->nodes.chosen[i];
    if (uses_node(running, node) &&
        active_cpu(run, node) + (int64_t)run->found.cpu_milli > run->suspension.cpu_milli[node])
      return true;
  }
  return false;
}

/* Marks the candidates to suspend: sets `usable`, and `since_us` of the job. The first loop marks candidates in their
   order until the CPUs suffice. The second loop removes the marks that are not necessary. */
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

/* Suspends as many of the first `n` candidates as necessary so that a job can start on nodes of a set, and chooses its
   nodes. Returns false if the job would not fit even if the CPUs of all candidates were free. */
static bool suspend(struct hr__slurm_run *run, uint32_t job, uint32_t n, const uint64_t *set) {
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

/* Requeues a job that was suspended on a node that is not up any more. */
static void requeue(struct hr__slurm_run *run, uint32_t job) {
  run->suspension.since_us[job] = 0;
  hr__slurm_leave(run, job, run->view->now_us);
  run->status = hr__slurm_requeue(run, job, run->view->now_us);
}

void hr__slurm_resume(struct hr__slurm_run *run) {
  struct hr__job_list *list = &run->suspension.jobs;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    hr_job job = list->jobs[i];
    const struct hr__slurm_running *running = running_of(run, job.id);
    bool done = run->status == HR_OK && running && (is_on_lost_node(run, running) || may_resume(run, running));
    if (!done)
      list->jobs[n_kept++] = job;
    else if (is_on_lost_node(run, running))
      requeue(run, job.id);
    else
      resume(run, running);
  }
  list->count = n_kept;
}

/* ---- Moves ------------------------------------------------------------------------------------------ */

static int64_t grace_us(const struct hr__slurm_run *run, uint32_t job) {
  uint32_t qos = run->jobs[job].qos;
  if (run->config->preempt_type == HR_SLURM_PREEMPT_QOS) return qos == HR_NONE ? 0 : run->config->qos[qos].grace_us;
  return part_of(run, job) ? part_of(run, job)->grace_us : 0;
}

bool hr__slurm_is_cancelled(const struct hr__slurm_run *run, uint32_t job) {
  return run->preemption.is_on && run->preemption.leaving[job] && mode_of(run, job) == HR_SLURM_PREEMPT_CANCEL;
}

/* Stops a job, or sends it an eviction notice if it has a grace time. Returns whether its nodes are free now. */
static bool stop(struct hr__slurm_run *run, uint32_t job) {
  int64_t now_us = run->view->now_us, wait_us = grace_us(run, job);
  if (run->preemption.leaving[job]) return false;
  if (wait_us > 0) {
    run->preemption.leaving[job] = true;
    run->status = hr_moves_notice(run->moves, (hr_job){job}, now_us + wait_us, false);
    return false;
  }
  bool is_cancelled = mode_of(run, job) == HR_SLURM_PREEMPT_CANCEL;
  run->status = hr_moves_requeue(run->moves, (hr_job){job}, HR_REASON_PREEMPTED);
  if (run->status != HR_OK) return false;
  hr__slurm_leave(run, job, now_us);
  if (is_cancelled)
    cancel(run, job);
  else
    run->status = hr__slurm_requeue(run, job, now_us);
  return run->status == HR_OK;
}

bool hr__slurm_preempt(struct hr__slurm_run *run, uint32_t job, const uint64_t *set) {
  if (!run->preemption.is_on) return false;
  struct hr__slurm_candidate *list = run->preemption.candidates;
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  if (run->suspension.since_us && suspend(run, job, list_candidates(run, job, set, true), set)) return true;
  uint32_t n = list_candidates(run, job, set, false), n_removed = removals(run, kind, n, set);
  for (uint32_t pass = 1; n_removed != UINT32_MAX && n > pass && pass <= MAX_PASSES; pass++) {
    sort_again(run, n_removed, n);
    n_removed = removals(run, kind, n, set);
  }
  if (n_removed == UINT32_MAX) return false;
  for (uint32_t i = 0; i < n_removed; i++) list[i].job = run->nodes.running[list[i].running].job;
  bool all_free = true;
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n_removed; i++)
    if (nodes_used(run, &list[i])) list[n_victims++].job = list[i].job;
  for (uint32_t i = 0; i < n_victims && run->status == HR_OK; i++) all_free = stop(run, list[i].job) && all_free;
  return run->status == HR_OK && all_free && hr__slurm_find_now(run, kind, set);
}
