/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_VOLCANO_POLICY_H
#define HR_POLICIES_VOLCANO_POLICY_H

/*
 * The state of the policy `volcano`, shared by its modules:
 *   volcano_policy.c   configuration, waiting jobs, the action enqueue, events, sessions and their decisions, reasons
 *   volcano_slots.c    the snapshot of the session: running jobs, and waiting jobs that it may start
 *
 * Volcano builds a snapshot of all jobs for each session. This policy has one lasting session (hr__volcano_refresh),
 * and a slot of the snapshot for each running job. Of the waiting jobs of a kind, only the first one gets a slot; after
 * it was served, the next one gets a slot (`successor`). The decisions are those of the whole snapshot: in a queue,
 * jobs of one kind are served in the order of their age, and if one of them does not fit, the others do not fit either.
 *
 * The ledger of pods (policies/kit/pods.h) has the same pods on the same nodes as the session.
 */

#include "headroom/policy_kit.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kit/pods.h"
#include "policies/volcano/volcano.h"

/* The dimension of GPUs, in thousandths. */
enum { HR__VOLCANO_GPU = HR__VOLCANO_FIRST_OTHER };

/* The phase of the PodGroup of a waiting job. */
enum hr__volcano_waiting { HR__VOLCANO_WAITS_PENDING, HR__VOLCANO_WAITS_INQUEUE, HR__VOLCANO_N_WAITING };

/* The waiting jobs of a kind (policies/kit/pods.h). All jobs of a kind are in one queue of Volcano. */
struct hr__volcano_kind {
  struct hr_job_tree waiting[HR__VOLCANO_N_WAITING]; /* by time of submission */
  uint32_t kind, queue;
  uint32_t listed_at; /* index in `listed`; HR_NONE: no job waits */
  uint32_t next;      /* the next kind of the same queue, during the action enqueue */
  uint32_t pool;      /* the pool for which its jobs have slots in this session; HR_NONE: any pool */
  uint32_t equivalence;
  bool is_uniform; /* its jobs have one pod, with the same request in all pools */
  bool is_elastic;
  uint32_t n_pods, fewest;                    /* of a job: all pods; pods that it needs to run */
  struct hr__volcano_vector *requests, *last; /* by pool: of each pod; of the last pod */
  /* Sums of requests, without the dimension of pods: of the pods that a job needs to run, of all its pods, and of one
     pod of an elastic job. */
  struct hr__volcano_vector minimum, whole, each;
  struct hr_job_entry head, pending; /* the last job that got a slot; the first job in the phase Pending */
  uint64_t **nodes; /* by pool, then for all pools: the nodes that jobs accept; NULL: not computed yet */
};

struct hr__volcano_slot {
  hr_job job; /* HR_NONE: unused */
  uint32_t kind, next_free;
  uint32_t n_evicted; /* number of tasks that were evicted in this session */
  bool is_running, has_successor;
  bool is_changed;     /* elastic: it lost or got pods in this session */
  bool is_leaving;     /* elastic: one of its nodes will go down, so it is not resized any more */
  uint32_t held;       /* elastic, running: number of its pods */
  uint32_t elastic_at; /* index in `elastic`, while it runs */
  char uid[12];
};

struct hr__volcano_policy {
  struct hr_arena *arena;
  struct hr__pods pods;
  const struct hr_volcano_config *config;
  struct hr_tree_store *store;
  /* The session and its snapshot, which has room for snapshot.n_jobs slots and snapshot.n_tasks tasks. */
  struct hr__volcano_session *session;
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config rules;
  struct hr__volcano_owner owner;
  struct hr__volcano_node *nodes;
  struct hr__volcano_queue *queues;
  struct hr__volcano_job *jobs;
  struct hr__volcano_task *tasks;
  struct hr__volcano_slot *slots;    /* [snapshot.n_jobs]; slot 0 is used by the action enqueue */
  uint32_t *block_next, *free_block; /* free_block: by number of tasks: first unused block; block_next: by first task */
  uint32_t n_slots, n_used_tasks, free_slot;
  bool is_full;                                   /* some job got no slot */
  uint32_t *fresh, n_fresh;                       /* slots of waiting jobs that were made in this session */
  uint32_t *elastic, n_elastic, elastic_capacity; /* slots of running elastic jobs */
  uint32_t n_missing;                             /* number of pods that these jobs may still get */
  /* Waiting jobs. */
  struct hr__volcano_kind *kinds; /* [pods.n_kinds] */
  uint32_t kinds_capacity, *listed, n_listed;
  struct hr__volcano_queue_sums *sums; /* by queue */
  uint32_t *first_kind;                /* by queue: its first kind, during the action enqueue */
  double *asked;                       /* by queue: GPUs that were requested from the autoscaler, in thousandths */
  uint32_t *kind_of;                   /* by job */
  uint8_t *phase_of;                   /* by job: enum hr__volcano_waiting */
  uint32_t *slot_of;                   /* by job: slot + 1; 0: none */
  uint32_t *queue_of_name;             /* by name of a queue: queue + 1 */
  uint32_t names_capacity, default_queue;
  bool enqueues, evicts, by_priority, changed, scales, has_cpu, has_mem;
  int64_t wake_us, release_wake_us;
  struct hr__job_list admitted; /* by the action enqueue of this session */
  /* The present pass. */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status;
  uint32_t scale_at, scale_phase, scale_seen, scale_elastic;
  struct hr_job_entry scale_entry;
};

/* ---- volcano_slots.c ---- */

/* Makes room for at least `n_jobs` slots and `n_tasks` tasks, and opens the session. False: out of memory. */
bool hr__volcano_make_room(struct hr__volcano_policy *volcano, uint32_t n_jobs, uint32_t n_tasks);
/* Makes a slot for the first waiting job of each kind that this session may start. */
void hr__volcano_fill(struct hr__volcano_policy *volcano);
/* Frees a slot. Its tasks leave the session. */
void hr__volcano_free_slot(struct hr__volcano_policy *volcano, uint32_t slot);
/* Sets the capacity of a node in the snapshot after it came up or went down. */
void hr__volcano_update_node(struct hr__volcano_policy *volcano, uint32_t at);

/* ---- Elastic jobs (volcano_slots.c) ---- */

/* Adds an elastic job that starts: counts its pods. False: out of memory. */
bool hr__volcano_elastic_begin(struct hr__volcano_policy *volcano, uint32_t slot);
/* Removes an elastic job that stops or ends. */
void hr__volcano_elastic_end(struct hr__volcano_policy *volcano, uint32_t slot);
/* Handles an evicted task. Returns whether its job can continue without it. If so, the task is removed from its
   node. */
bool hr__volcano_elastic_shrink(struct hr__volcano_policy *volcano, uint32_t task);
/* Resizes the jobs that lost or got pods in the session. */
void hr__volcano_elastic_settle(struct hr__volcano_policy *volcano);
/* Removes the pods that a job has lost with their node; the job continues with the others. */
void hr__volcano_elastic_lose(struct hr__volcano_policy *volcano, hr_job job);
/* Handles the notice that a node will go down: its elastic jobs are not resized any more. */
void hr__volcano_elastic_notice(struct hr__volcano_policy *volcano, hr_node node);

/* The functions of struct hr__volcano_owner for this policy. */
extern const struct hr__volcano_owner hr__volcano_owner_of_policy;

static inline uint32_t hr__volcano_slot_of(const struct hr__volcano_policy *volcano, hr_job job) {
  return volcano->slot_of[job.id] - 1; /* HR_NONE: none */
}

#endif
