/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statements: changes of a session that can be undone.
 *
 * Each change of a cell of the state is recorded with its former value (hr__kai_set); to undo a statement restores the
 * values in reverse order. Beside these changes, a statement has a list of operations on pods, which a commit carries
 * out. Invariant: at a commit the recorded changes since the last one are exactly those of the statement.
 *
 * Source: KAI-Scheduler, framework/statement.
 */

#include "policies/kai/solver.h"

#include "policies/kai/node_usage.h"

static void add(struct hr__kai_session *session, int64_t *cell, int64_t amount) {
  hr__kai_set(session, cell, *cell + amount);
}

/* What is cached of a job is no longer valid, also after the change is undone. */
static void forget_cache(struct hr__kai_session *session, struct hr__kai_job_state *job) {
  job->is_cached = 1;
  hr__kai_set(session, &job->is_cached, 0);
  if (session->n_changes > 0) session->changes[session->n_changes - 1].before = 0;
}

static void set_status(struct hr__kai_session *session, uint32_t pod, int64_t status) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  struct hr__kai_set_state *set = &session->sets[described->pod_set];
  struct hr__kai_job_state *job = &session->jobs[described->job];
  const int64_t before = session->pods[pod].status;
  const int active = hr__kai_is(status, HR__KAI_ACTIVE) - hr__kai_is(before, HR__KAI_ACTIVE);
  const int used = hr__kai_is(status, HR__KAI_USED) - hr__kai_is(before, HR__KAI_USED);
  const int holds = hr__kai_is(status, HR__KAI_HOLDING) - hr__kai_is(before, HR__KAI_HOLDING);
  add(session, &set->count[before], -1);
  add(session, &set->count[status], 1);
  add(session, &set->n_active, active);
  add(session, &set->n_used, used);
  add(session, &set->n_alive, hr__kai_is(status, HR__KAI_ALIVE) - hr__kai_is(before, HR__KAI_ALIVE));
  add(session, &job->n_active, active);
  add(session, &job->n_used, used);
  add(session, &job->n_pending, (status == HR__KAI_PENDING) - (before == HR__KAI_PENDING));
  for (int r = 0; r < HR__KAI_RESOURCES; r++) add(session, &job->allocated.of[r], holds * described->quota.of[r]);
  hr__kai_set(session, &session->pods[pod].status, status);
  forget_cache(session, job);
}

/* Adds what the pod counts to its queue and all queues above it (`sign` 1), or takes it away (`sign` -1). */
static void account(struct hr__kai_session *session, uint32_t pod, int64_t sign) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[cluster->pods[pod].job];
  const struct hr__kai_amounts amounts = hr__kai_accepted_of(session, pod);
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = cluster->queues[q].parent)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      add(session, &share->allocated, sign * amounts.of[r]);
      if (!job->preemptible) add(session, &share->allocated_non_preemptible, sign * amounts.of[r]);
    }
}

static void recount_on(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  if (hr__kai_entry_on(session, pod, node) >= 0) hr__kai_uncount_on(session, pod, node);
  hr__kai_count_on(session, pod, node);
}

/* ---- Operations ---- */

static struct hr__kai_operation *append(struct hr__kai_session *session, enum hr__kai_operation_kind kind, uint32_t pod,
                                        uint32_t node) {
  if (session->n_operations == (int64_t)session->max_operations) {
    struct hr__kai_operation *grown = hr_arena_alloc(session->arena, 2 * session->max_operations * sizeof *grown);
    if (!grown) {
      session->no_memory = true;
      return &session->operations[session->n_operations - 1];
    }
    for (size_t i = 0; i < session->max_operations; i++) grown[i] = session->operations[i];
    /* Recorded changes of `valid` point into the old list, which stays; they are only undone together with it. */
    for (size_t i = 0; i < session->n_changes; i++)
      for (size_t j = 0; j < session->max_operations; j++)
        if (session->changes[i].cell == &session->operations[j].valid) session->changes[i].cell = &grown[j].valid;
    session->operations = grown;
    session->max_operations *= 2;
  }
  struct hr__kai_operation *operation = &session->operations[session->n_operations];
  *operation = (struct hr__kai_operation){kind, pod, node, session->pods[pod].status, session->pods[pod].is_virtual, 1};
  hr__kai_set(session, &session->n_operations, session->n_operations + 1);
  return operation;
}

void hr__kai_evict(struct hr__kai_session *session, uint32_t pod) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const uint32_t node = (uint32_t)state->node;
  append(session, HR__KAI_EVICT, pod, node);
  set_status(session, pod, HR__KAI_RELEASING);
  recount_on(session, pod, node);
  account(session, pod, -1);
  hr__kai_set(session, &state->is_virtual, 1);
}

void hr__kai_bind(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  append(session, HR__KAI_BIND, pod, node);
  set_status(session, pod, HR__KAI_ALLOCATED);
  hr__kai_set(session, &state->node, node);
  hr__kai_count_on(session, pod, node);
  account(session, pod, 1);
  hr__kai_set(session, &state->is_virtual, 1);
}

/* Undoes the first eviction of the pod in this statement. Its shared GPUs are those of its entry on the node. */
static void undo_eviction(struct hr__kai_session *session, uint32_t pod) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  for (int64_t i = 0; i < session->n_operations; i++) {
    struct hr__kai_operation *operation = &session->operations[i];
    if (operation->pod != pod || operation->kind != HR__KAI_EVICT || !operation->valid) continue;
    hr__kai_set(session, &operation->valid, 0);
    set_status(session, pod, operation->status_before);
    hr__kai_set(session, &state->is_virtual, operation->virtual_before);
    recount_on(session, pod, operation->node);
    account(session, pod, 1);
    return;
  }
}

/* Whether the pod gets other shared GPUs of the node than its entry there has. */
static bool gets_other_gpus(const struct hr__kai_session *session, uint32_t pod, int entry) {
  const struct hr__kai_pod_state *state = &session->pods[pod];
  const enum hr__kai_request kind = session->cluster->pods[pod].kind;
  if ((kind != HR__KAI_FRACTION && kind != HR__KAI_MEMORY) || state->n_gpus == 0) return false;
  if (state->n_gpus != state->n_gpus_on_node[entry]) return true;
  for (int64_t i = 0; i < state->n_gpus; i++)
    if (hr__kai_gpus_of(session, pod, 0)[i] != hr__kai_gpus_of(session, pod, 1 + entry)[i]) return true;
  return false;
}

void hr__kai_pipeline(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const int entry = hr__kai_entry_on(session, pod, node);
  const bool moves = entry >= 0 && gets_other_gpus(session, pod, entry);
  if (entry >= 0 && !moves) {
    hr__kai_copy_gpus(session, pod, 0, 1 + entry);
    undo_eviction(session, pod);
    return;
  }
  append(session, HR__KAI_PIPELINE, pod, node);
  set_status(session, pod, HR__KAI_PIPELINED);
  hr__kai_set(session, &state->node, node);
  if (moves)
    hr__kai_count_moved(session, pod, node);
  else
    hr__kai_count_on(session, pod, node);
  account(session, pod, 1);
  hr__kai_set(session, &state->is_virtual, 1);
}

void hr__kai_pipeline_all(struct hr__kai_session *session, uint32_t job) {
  const int64_t n = session->n_operations;
  for (int64_t i = 0; i < n; i++) {
    struct hr__kai_operation *operation = &session->operations[i];
    const uint32_t pod = operation->pod, node = operation->node;
    if (operation->kind != HR__KAI_BIND || !operation->valid || session->cluster->pods[pod].job != job) continue;
    hr__kai_set(session, &operation->valid, 0);
    set_status(session, pod, HR__KAI_PENDING);
    hr__kai_uncount_on(session, pod, node);
    account(session, pod, -1);
    hr__kai_pipeline(session, pod, node);
  }
}

void hr__kai_commit(struct hr__kai_session *session) {
  for (int64_t i = 0; i < session->n_operations; i++) {
    const struct hr__kai_operation *operation = &session->operations[i];
    if (!operation->valid) continue;
    if (operation->kind == HR__KAI_EVICT) {
      session->pods[operation->pod].is_virtual = 0;
      session->jobs[session->cluster->pods[operation->pod].job].is_cached = 0;
      session->n_evicted++;
    } else if (operation->kind == HR__KAI_PIPELINE) {
      session->n_pipelined++;
    } else {
      set_status(session, operation->pod, HR__KAI_BINDING);
      session->n_bound++;
    }
  }
  session->n_operations = 0;
  session->n_changes = 0;
}

void hr__kai_evict_now(struct hr__kai_session *session, uint32_t pod) {
  set_status(session, pod, HR__KAI_RELEASING);
  recount_on(session, pod, (uint32_t)session->pods[pod].node);
  account(session, pod, -1);
  session->n_evicted++;
  session->n_changes = 0;
}
