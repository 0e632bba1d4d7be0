/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUBERNETES_POLICY_H
#define HR_POLICIES_KUBERNETES_POLICY_H

/*
 * The state of the policy `kubernetes`, shared by its modules:
 *   kubernetes_policy.c   parameters, events, passes, reasons for waiting
 *   pod_nodes.c           choice of a node, and preemption
 *
 * Waiting jobs of one kind (policies/kit/pods.h) are in one tree, ordered by the time at which they entered the queue.
 * If a job of a kind does not fit, the others of its kind are not tried in the same pass, because they would not fit
 * either. These jobs count as tried.
 */

#include "headroom/policy_kit.h"
#include "headroom/unstable/systems/kubernetes.h"
#include "policies/kit/pods.h"
#include "policies/kubernetes/kubernetes.h"

/* Resources of the model. GPUs are counted in thousandths. */
enum { HR__KUBE_GPU = HR__KUBE_N_NATIVE, HR__KUBE_N_RESOURCES };
enum { HR__KUBE_MARKS = 32, HR__KUBE_FREED = 1024 };

/* The waiting jobs of a kind. Failures are numbered from 1. `marks` has for each of the last failures the last job that
   waited then, so that the number of tries of a job is the number of failures since it entered. */
struct hr__kube_queue {
  struct hr_job_tree jobs; /* by time of entry */
  uint32_t kind;
  uint32_t listed_at;              /* index in `listed`; HR_NONE: no job waits */
  uint64_t n_failures, freed_seen; /* freed_seen: position in the log of freed nodes at the last failure */
  int64_t failed_us;
  bool never_preempts, retries; /* retries: it is tried again although no node was freed */
  struct hr__kube_head {
    int64_t entered_us;
    hr_job job;
  } marks[HR__KUBE_MARKS], head;
};

struct hr__kube_priority {
  int32_t priority;
  uint32_t n_pods; /* bound pods that may be evicted */
};

/* A candidate of preemption, with its victims as numbers of pods. */
struct hr__kube_trial {
  struct hr__kube_candidate *candidates;
  struct hr__kube_pod_state *states; /* by number of the pod */
  int64_t (*amounts)[HR__KUBE_N_RESOURCES];
  uint32_t *victims, *on_node;
  uint32_t n_candidates, n_victims, pods_capacity, candidates_capacity;
};

struct hr__kube_policy {
  struct hr_arena *arena;
  struct hr__pods pods;
  const struct hr_kubernetes_config *config;
  struct hr__kube_scoring fit, balanced;
  struct hr_tree_store *store;
  struct hr__kube_queue *queues; /* [pods.n_kinds] */
  uint32_t queues_capacity;
  uint32_t *listed; /* kinds with waiting jobs, in no order */
  uint32_t *heap;   /* kinds, by their head */
  uint32_t n_listed, n_heap;
  uint64_t n_freed;                 /* nodes that were freed since the begin, which is the length of the log */
  uint32_t freed[HR__KUBE_FREED];   /* the last entries of the log: ids of nodes */
  uint32_t *kind_of;                /* by job */
  int64_t *entered_us, *started_us; /* by job */
  struct hr__kube_priority *priorities;
  uint32_t n_priorities, priorities_capacity;
  uint32_t next_node; /* where the next search for nodes begins */
  uint64_t seed, n_draws;
  struct hr__kube_trial trial;
  struct hr__job_list evicted; /* those of the present try */
  int64_t wake_us;
  bool scales, was_blocked; /* was_blocked: preemption passed over jobs that started in this instant */
  /* The present pass. */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status;
  uint32_t scale_at; /* index in `listed` of the autoscaler */
  struct hr_job_entry scale_entry;
};

/* ---- pod_nodes.c ---- */

/* Prepares the scores. False: out of memory. */
bool hr__kube_init_scores(struct hr__kube_policy *kube);
/* Places all pods of a job, and evicts others for it if allowed. The evicted jobs are in kube->evicted; they are set
   aside. On failure the state is as before, except for pods that are held (see struct hr_kubernetes_config). */
bool hr__kube_place(struct hr__kube_policy *kube, hr_job job, uint32_t kind);
/* Counts the bound pods of a job (sign 1), or removes them from the counts (sign -1). False: out of memory. */
bool hr__kube_count_priority(struct hr__kube_policy *kube, uint32_t kind, uint32_t n_pods, int sign);
/* The number of pods of a job. */
uint32_t hr__kube_n_pods(const struct hr__kube_policy *kube, hr_job job);

#endif
