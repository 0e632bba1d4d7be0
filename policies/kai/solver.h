/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_SOLVER_H
#define HR_POLICIES_KAI_SOLVER_H

/* The actions of KAI and their parts: topologies, placements, the order of jobs, gangs, statements and the solver. The
   names of these parts are those of KAI. A pod is bound if it gets idle resources of a node; it is pipelined if it
   waits for resources of a node that other pods release. */

#include "policies/kai/session.h"

/* ---- Topologies (placement.c) ----------------------------------------------------------------------- */

/* Topology constraints: the domains in which the pods of a pod set or of a group may be placed, and the order in which
   these domains are tried. */

/* A domain of a topology. */
struct hr__kai_domain {
  uint32_t level;   /* 0: the root */
  uint32_t id_rank; /* position of the name among the sorted names of all domains of the topology */
  uint32_t *children, n_children;
  const uint32_t *nodes; /* [n_nodes] by id */
  uint32_t n_nodes;
  int64_t *free;  /* [n_dims] idle and releasing resources; shared GPUs count only if they are whole */
  int64_t n_fits; /* number of pods that fit; -1: not computed */
  double ratio;   /* largest ratio of a request to the free amount */
};

struct hr__kai_tree {
  struct hr__kai_domain *domains; /* the root comes first */
  uint32_t n_domains;
  uint32_t *order; /* [n_domains] scratch memory */
};

/* The node scores that follow from the preferred levels of the job that is being placed. */
struct hr__kai_topology_scores {
  double *of_sets, *of_groups; /* [n * n_nodes]; negative: outside the domain that is tried */
  bool *has_sets, *has_groups; /* whether a pod set or group of the job has scores */
};

struct hr__kai_topologies {
  struct hr__kai_session *session;
  struct hr__kai_tree *trees; /* [n_topologies] */
  uint8_t *valid;             /* [n_nodes] scratch memory */
  struct hr__kai_topology_scores scores;
};

/* Sets the range of levels that are tried, the innermost first: from `*from` down to `*to`. Returns NULL, or the part
   of the constraint that is invalid: "none" (no level is set), "required" or "preferred". */
const char *hr__kai_levels_tried(const struct hr__kai_constraint *constraint, uint32_t n_levels, int32_t *from,
                                 int32_t *to);

/* The score of the domain at index `i` of `n` domains. */
static inline double hr__kai_score_of_domain(uint32_t i, uint32_t n) {
  return floor((double)(i + 1) / (double)n * 10) * 10000;
}

/* Puts the domains of a level below `domain` into `found`, in the order of the tree, and returns their number. */
uint32_t hr__kai_domains_of_level(const struct hr__kai_tree *tree, uint32_t domain, uint32_t level, uint32_t *found);
/* The lowest domain that contains all allowed nodes of the topology. It is not below the level `lowest`; 0: no such
   limit. The root contains all nodes. Sets `*level` to the level of the domain. Sets `valid[n]` to 1 if node n is
   allowed and in the topology, else to 0. */
uint32_t hr__kai_common_domain(const struct hr__kai_topology *topology, uint32_t n_nodes, const uint8_t *allowed,
                               int32_t lowest, uint32_t *level, uint8_t *valid);

/* ---- Placements (placement.c) -------------------------------------------------------------------------- */

/* Places the next pods of a job on nodes: either all of them or none. */

struct hr__kai_placer {
  struct hr__kai_session *session;
  struct hr__kai_topologies topologies;
  double *scores;        /* [n_nodes] */
  uint32_t *fitting;     /* [n_nodes] */
  uint32_t *pods, *sets; /* next pods, and pod sets, of the job that is being placed */
  uint32_t *batch;       /* pods of groups and pod sets; each level of the recursion uses its own section */
  uint32_t *children;    /* groups and pod sets of a group; with sections, too */
  uint32_t *domains;     /* domains to try; with sections, too */
  uint8_t *node_sets;    /* allowed nodes; with sections, too */
  uint32_t n_batch, n_children, n_domains, n_node_sets; /* entries in use */
};

/* Allocates a placer for the jobs of the session. Returns false if memory is exhausted. */
bool hr__kai_placer_create(struct hr__kai_placer *placer, struct hr__kai_session *session);
/* Places the next pods of the job on the allowed nodes ([n_nodes]). With `wait_only` (in simulations), all pods are
   pipelined, also those for which resources are idle. Otherwise, a pod is bound if its resources are idle, and
   pipelined if they are being released. Returns whether all pods were bound or pipelined. If not, nothing has
   changed. */
bool hr__kai_place_job(struct hr__kai_placer *placer, uint32_t job, const uint8_t *allowed, bool wait_only);

/* The score of a shared GPU, or of a whole one (`whole`), for packing or spreading. Negative: the GPU memory of the
   node is unknown. */
double hr__kai_gpu_score(int64_t used_mib, int64_t gpu_mib, bool whole, bool spread);

/* ---- The order of jobs (job_order.c) ------------------------------------------------------------------- */

/*
 * The order in which pending jobs, or victims, are removed from the tree of queues.
 *
 * A leaf queue has a heap of jobs; an inner queue has a heap of its children. The next job is found by a descent from
 * the top through the first queue of each level. Afterwards, the queues on this path are marked. A marked queue is
 * moved to its new position only when it is at the top of its heap. So the order is that of KAI even if the keys of
 * other queues changed in the meantime.
 */

/* The key of a queue in comparisons: the inputs of its computation, and its values. */
struct hr__kai_queue_key {
  struct hr__kai_amounts held, job, victims;
  uint64_t division; /* 1 + the number of the division of the session; 0: not computed */
  double share_with_job, share;
  bool over_utilised, over_quota, holds_without_share;
};

struct hr__kai_job_order {
  struct hr__kai_session *session;
  bool victims;                   /* victims are ordered, in reverse */
  const uint8_t *taken;           /* [n_pods] pods that no longer belong to their victim */
  uint32_t *heaps;                /* the heaps of the queues: jobs of leaf queues, children of the others */
  uint32_t *first;                /* [n_queues] start of a queue's heap in `heaps` */
  uint32_t *length;               /* [n_queues] */
  bool *is_linked, *is_marked;    /* [n_queues] in the heap of its parent; not yet moved to its new position */
  struct hr__kai_amounts *popped; /* [n_queues] held by the removed victims of a leaf queue */
  struct hr__kai_amounts *size;   /* [n_jobs] held by a victim in a heap */
  int8_t *elastic;                /* [n_jobs] elastic state of a job in a heap */
  uint32_t *top;                  /* [n_queues] the heap of the top queues */
  uint32_t n_top;
  /* Pending jobs in the lists of the queues are not in the heaps. The first one of a queue is at its `cursor`. */
  bool lists, only_preemptible, is_built;
  /* If a job had no effect, other jobs of its class need not be returned (`passes`). A class is skipped if its entry in
     `passed` equals `stamp`. `n_passed` is the number of skipped classes of a queue. */
  bool passes, is_clean;
  uint32_t depth;      /* maximum number of pending jobs of a queue in the order; 0: all */
  uint32_t *left;      /* [n_queues] how many jobs of its list may still be returned */
  uint64_t stamp;      /* incremented by each change */
  uint64_t *passed;    /* [room_classes] */
  uint64_t *passed_in; /* [n_queues] the stamp for which `n_passed` counts */
  uint32_t *n_passed;  /* [n_queues] */
  uint32_t last;       /* queue of the job that was removed last; maybe all its jobs are skipped; HR__KAI_NONE: none */
  uint32_t *deepest_first;        /* [n_queues] the queues, children before their parents */
  uint32_t *cursor;               /* [n_queues] */
  struct hr__kai_queue_key *keys; /* [n_queues] */
  uint32_t *n_asked;              /* [n_queues] scratch memory */
  uint64_t division;              /* 1 + the number of the division for which `is_total` was computed; 0: none */
  bool is_total;                  /* siblings have a total order, so the steps of the heaps do not matter */
  uint32_t *pods, *sets;          /* scratch memory for the pods and pod sets of a job */
};

/* Allocates an empty order. `pods` and `sets` are scratch memory of the caller, for the pods and pod sets of a job.
   Returns false if memory is exhausted. */
bool hr__kai_order_create(struct hr__kai_job_order *order, struct hr__kai_session *session, uint32_t *pods,
                          uint32_t *sets);
void hr__kai_order_clear(struct hr__kai_job_order *order, bool victims, const uint8_t *taken);
/* Adds the pending jobs in the lists of the queues (`leaves` of the cluster) to an empty order of pending jobs.
   `order->depth` limits their number in each queue. `only_preemptible`: adds only preemptible jobs. */
void hr__kai_order_add_lists(struct hr__kai_job_order *order, bool only_preemptible);
/* Adds the same jobs, but only from those lists that can influence the relative order of the jobs of the `n` queues
   `leaves`. */
void hr__kai_order_add_lists_of(struct hr__kai_job_order *order, const uint32_t *leaves, uint32_t n);
/* Records that the job that was just removed had no effect, and that the other jobs of its class will have none until
   something changes (hr__kai_order_changed). These jobs are skipped if this cannot change a decision. Does nothing in
   an order of hr__kai_order_add_lists_of. */
void hr__kai_order_pass(struct hr__kai_job_order *order, uint32_t job);

/* Records that the allocation of the last job's queue, or of a queue above it, has changed. If the allocation of other
   queues changes, the caller must set `passes` to false: the heaps are then out of order until they are cleared, and
   all jobs must be returned. */
static inline void hr__kai_order_changed(struct hr__kai_job_order *order) {
  order->stamp++;
}

/* Puts the queues into the heaps of their parents. Must be called once, after the initial jobs were added. */
void hr__kai_order_build(struct hr__kai_job_order *order);
/* Adds a job. A job whose queue does not exist or is not a leaf is ignored. */
void hr__kai_order_push(struct hr__kai_job_order *order, uint32_t job);

bool hr__kai_order_is_empty(struct hr__kai_job_order *order);

/* Removes the first job and returns its id; HR__KAI_NONE: none. */
uint32_t hr__kai_order_pop(struct hr__kai_job_order *order);

/* Removes the first job from the heap of a leaf queue, which has the jobs that were added by hr__kai_order_push, and
   returns it. HR__KAI_NONE: none. Afterwards, the only valid calls are this function for the same queue, and
   hr__kai_order_clear. */
uint32_t hr__kai_order_pop_pushed(struct hr__kai_job_order *order, uint32_t leaf);

/* ---- Gangs (actions.c) --------------------------------------------------------------------------------- */

/* Jobs as gangs of pods: which pods are placed next, which are evicted first, and the order of pod sets. */

/* Whether each pod set has at least its minimum of pods in use (HR__KAI_USED). */
static inline bool hr__kai_gang_runs(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (session->sets[s].n_used < session->cluster->sets[s].min_available) return false;
  return true;
}

/* Sorts pod sets of one job by the order in which their pods are placed. */
void hr__kai_sort_sets(const struct hr__kai_session *session, uint32_t *sets, uint32_t n);
/* Writes the pods that are to be placed next to `pods` and returns their number. In a simulation (`real` false), these
   include pods that the statement evicted. `sets` is scratch memory for the pod sets of the job. */
uint32_t hr__kai_next_pods(const struct hr__kai_session *session, uint32_t job, bool real, uint32_t *pods,
                           uint32_t *sets);
/* Writes the pods of a victim that are evicted next to `pods` and returns their number. Pods that are `taken` no longer
   belong to the job. `sets` is scratch memory. */
uint32_t hr__kai_next_victims(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken, uint32_t *pods,
                              uint32_t *sets);

/* The elastic state of a job without its `taken` pods (NULL: none): -1 below its minimum, 0 at it, 1 above it. */
int hr__kai_elastic_state(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken);
/* Fills the cached members of a job's state. The arrays are scratch memory for the pods and pod sets of the job. */
void hr__kai_cache_job(struct hr__kai_session *session, uint32_t job, uint32_t *pods, uint32_t *sets);

/* ---- Statements (statement.c) -------------------------------------------------------------------------- */

/* A statement is a set of changes that is either committed or undone: pods are bound, pipelined or evicted. */

/* A point in a statement; later changes can be undone. */
struct hr__kai_mark {
  size_t n_changes;
};

static inline struct hr__kai_mark hr__kai_mark(const struct hr__kai_session *session) {
  return (struct hr__kai_mark){session->n_changes};
}

/* Undoes all changes since the mark. */
static inline void hr__kai_undo(struct hr__kai_session *session, struct hr__kai_mark mark) {
  while (session->n_changes > mark.n_changes) {
    const struct hr__kai_change *change = &session->changes[--session->n_changes];
    *change->cell = change->before;
  }
}

/* Commits the operations since the last commit. */
void hr__kai_commit(struct hr__kai_session *session);

/* Evicts a pod. It stays on its node until it is released. */
void hr__kai_evict(struct hr__kai_session *session, uint32_t pod);
/* Places a pod on idle resources of a node. */
void hr__kai_bind(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Pipelines a pod: it waits for resources of a node. If the pod was evicted from this node and would get the same
   shared GPUs again, its eviction is undone instead. */
void hr__kai_pipeline(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Pipelines the pods of the job that were bound since the last commit, on the same nodes. */
void hr__kai_pipeline_all(struct hr__kai_session *session, uint32_t job);
/* Evicts a pod at once, outside a statement. */
void hr__kai_evict_now(struct hr__kai_session *session, uint32_t pod);

/* ---- The solver (solver.c) ----------------------------------------------------------------------------- */

/* Searches for victims that make room for a pending job: for consolidation, reclaim and preemption. A part of a pending
   job is its first k next pods. Victims are searched for k = 1, 2, ...; each search begins with the victims that were
   found for the smaller part. */

enum hr__kai_purpose { HR__KAI_CONSOLIDATION, HR__KAI_RECLAIM, HR__KAI_PREEMPTION };

/* Pods of one victim job that are evicted together. */
struct hr__kai_victims {
  uint32_t job, first, n; /* in `pods` of their list */
  bool recorded;          /* found for a smaller part of the pending job */
};

struct hr__kai_victim_list {
  struct hr__kai_victims *groups;
  uint32_t n_groups, n_pods;
  uint32_t *pods;
};

struct hr__kai_solver {
  struct hr__kai_session *session;
  struct hr__kai_placer *placer;
  struct hr__kai_job_order victims, simulated;
  struct hr__kai_victim_list scenario, recorded;
  uint32_t *evicted, n_evicted;         /* pods that the simulation has evicted */
  uint8_t *is_evicted;                  /* [n_pods] in that list */
  uint8_t *taken, *is_recorded;         /* [n_pods] removed from the order of victims; found for a smaller part */
  uint8_t *is_victim;                   /* [n_jobs] in the simulation */
  uint8_t *is_on_node;                  /* [n_jobs] scratch memory: has a new victim on the node that is tried */
  uint32_t *on_node;                    /* [n_pods] the node of a pod when it was added to the scenario */
  uint8_t *free, *lost;                 /* [n_nodes] has free GPUs; recorded victims lost their place there */
  uint8_t *feasible;                    /* [n_nodes] on which jobs may be placed */
  uint32_t *feasible_nodes, n_feasible; /* list of these nodes */
  /* New victims of the scenario by node: a list of positions in `scenario.pods`. */
  uint32_t *first_on_node, *last_on_node; /* [n_nodes] HR__KAI_NONE: none */
  uint32_t *next_on_node, *group_of;      /* [n_pods] by position */
  uint32_t *groups_of_job;                /* [n_jobs] groups of the scenario */
  bool some_split;                        /* some job has several groups in the scenario */
  uint32_t *leaves;                       /* [n_pods + 1] scratch memory: queues of the victims and the pending job */
  uint32_t *part, *pods, *sets;           /* the pods of the pending job; scratch memory */
  struct hr__kai_taken *losses;           /* [n_pods] */
  struct hr__kai_remaining *remaining;    /* [n_queues] */
  uint8_t *is_losable;                    /* [n_queues] the queue may lose victims for the part of the pending job */
  uint32_t *n_left;                       /* [n_queues] victims in a leaf queue that the simulation has not tried yet */
  struct hr__kai_amounts *allocated; /* [n_queues * 2] before the search: of all jobs, and of non-preemptible ones */
};

/* Allocates a solver. Returns false if memory is exhausted. */
bool hr__kai_solver_create(struct hr__kai_solver *solver, struct hr__kai_session *session,
                           struct hr__kai_placer *placer);
/* Evicts victims and pipelines the next pods of the job on the resources that the victims release. Returns whether that
   is possible; if not, nothing has changed. The caller commits. */
bool hr__kai_solve(struct hr__kai_solver *solver, uint32_t job, enum hr__kai_purpose purpose);

/* ---- Actions (actions.c) ------------------------------------------------------------------------------- */

struct hr__kai_cycle {
  struct hr__kai_session *session;
  struct hr__kai_placer placer;
  struct hr__kai_solver solver;
  struct hr__kai_job_order order;
  uint32_t *pods, *sets; /* scratch memory */
  uint8_t *all_nodes;    /* [n_nodes] 1 */
  struct hr__kai_failed {
    uint32_t job, before; /* before: the previous failed job of its queue in the list; HR__KAI_NONE: none */
  } * failed;             /* [n_failed] jobs that have failed in this action */
  uint32_t *last_failed;  /* [n_queues] the last failed job of each queue in the list; HR__KAI_NONE: none */
  uint32_t n_failed;
  uint8_t *dead; /* [room_classes] jobs of the class fail: 1 until another job got a place, 2 for the whole action */
  uint32_t n_live;
};

/* Allocates the memory for the actions of a session. Returns NULL if memory is exhausted. */
struct hr__kai_cycle *hr__kai_cycle_create(struct hr__kai_session *session);
/* Runs an action. It changes the statuses of pods, the shares of queues and the start times of jobs. */
void hr__kai_run_action(struct hr__kai_cycle *cycle, enum hr__kai_action action);

#endif
