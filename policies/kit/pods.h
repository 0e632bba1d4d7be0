/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_PODS_H
#define HR_POLICIES_KIT_PODS_H

/*
 * Jobs as pods, for policies that model schedulers of Kubernetes: what the pods of a job request in each pool, which
 * pods are on which node, and a cluster autoscaler.
 *
 * Each task of a job is a pod. In counted allocation, if a task has more GPUs than any node that the job accepts, the
 * job is divided instead into pods of whole nodes and one pod for the rest. All pods of a job are on nodes of one pool,
 * because a placement of the engine is in one pool. Jobs that are equal in their requests, and in everything else that
 * a policy distinguishes, are of one kind; what fits for one job of a kind fits for all.
 *
 * A policy can let elastic jobs (`min_gpus`, `max_gpus`) have fewer pods. The pods of such a job are equal, and their
 * number is the same in each pool that the job accepts. Other jobs have all pods that they request.
 *
 * The ledger of nodes belongs to the policy: pods can be placed for a trial and removed again. In per-GPU allocation it
 * has an inventory of its own. Pods are numbered; numbers of removed pods are used again.
 */

#include "base/containers.h"
#include "policies/kit/jobs.h"

/* What the pods of a job request in a pool. */
struct hr__pod_shape {
  uint32_t n_pods;                /* 0: the job cannot run in the pool */
  uint32_t fewest;                /* minimum number of pods with which the job can run; n_pods if it is not elastic */
  uint32_t gpu_milli, last_milli; /* milli-GPUs of each pod but the last, and of the last */
  int64_t cpu_milli, mem_mib;     /* of each pod */
};

/* Jobs that are interchangeable, except for their age. */
struct hr__job_kind {
  uint32_t gpus, tasks, cpu_milli, accept_class, request, gpu_mem_mib;
  uint64_t mem_mib;
  uint32_t min_gpus, max_gpus; /* equal to `gpus` unless the policy lets elastic jobs have fewer pods */
  uint32_t model;              /* the model of the jobs if they cannot run in some pool because of it; else HR_NONE */
  uint32_t group;              /* a further distinction of the policy, such as queues */
  int32_t priority;
  bool is_fixed;                /* its jobs must not be interrupted */
  bool is_empty;                /* its jobs need no node */
  bool is_single;               /* one pod in each pool in which its jobs can run */
  bool never_fits;              /* not even on an empty cluster with all its nodes */
  struct hr__pod_shape *shapes; /* [n_pools] */
};

struct hr__pod {
  uint32_t job, kind;
  uint32_t next_of_job; /* the next pod of the same job; HR_NONE: none */
  uint32_t next_on_node, previous_on_node;
  int64_t cpu_milli, mem_mib;
  struct hr_slice slice;
};

/* The free resources of a node. */
struct hr__pod_node {
  int64_t gpu_milli, cpu_milli, mem_mib, pods;
  uint32_t n_without_cpu, n_without_mem; /* pods that request no CPU, or no memory */
  uint32_t pool, first_pod;              /* first_pod: HR_NONE: no pod */
  bool is_usable;                        /* pods may be placed on it */
  bool is_trial;                         /* usable only during a pass of the autoscaler */
};

/* A job that was placed for a trial, and its last pod before the trial; HR_NONE: it had none. */
struct hr__pods_trial {
  hr_job job;
  uint32_t last;
};

struct hr__pods {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_requests *requests; /* NULL: counted allocation */
  struct hr_gpu_inventory *inventory; /* NULL: counted allocation */
  struct hr__pod_node *nodes;
  uint32_t n_nodes, n_pools, pods_per_node;
  bool resizes; /* elastic jobs can have fewer pods; set by the policy */
  struct hr__job_kind *kinds;
  uint32_t n_kinds, kinds_capacity;
  struct hr__hash kind_at;
  struct hr__pod *pods;
  uint32_t pods_capacity, n_pods, free_pod; /* n_pods: numbers that were ever used; free_pod: first unused number */
  uint32_t *first_of_job, *last_of_job;     /* by job: number of the pod + 1; 0: none */
  int64_t *scratch;                         /* by pool, for the caller */
  struct hr__job_list idle_jobs, unfit, withdrawn; /* for the next pass; idle_jobs: need no node; unfit: fit on none */
  struct hr_slice *slices;                         /* buffer of hr__pods_placement */
  uint32_t slices_capacity;
  /* The autoscaler. */
  int64_t idle_release_us;
  int64_t *idle_us;              /* by node: since when it has had no pod; HR_NEVER_US while it has one */
  uint32_t *n_opened;            /* by pool: nodes to be requested */
  bool *is_needed;               /* by node: waiting jobs would use it */
  struct hr__pods_trial *trials; /* jobs that were placed for a trial */
  uint32_t n_trials, trials_capacity;
};

/* Returns false if memory is exhausted. */
bool hr__pods_init(struct hr__pods *pods, const struct hr_policy_env *env, uint32_t pods_per_node,
                   int64_t idle_release_us);
/* Returns the kind of a job; HR_NONE: out of memory. */
uint32_t hr__pods_kind(struct hr__pods *pods, const struct hr_view *view, hr_job job, uint32_t group, int32_t priority);

/* The milli-GPUs of a pod of a job. */
static inline uint32_t hr__pod_milli(const struct hr__pod_shape *shape, uint32_t number) {
  return number + 1 == shape->n_pods ? shape->last_milli : shape->gpu_milli;
}

/* Whether the next pod of a job fits on the node, and the node is usable. `number`: how many pods the job already
   has. */
bool hr__pods_fit(const struct hr__pods *pods, uint32_t kind, uint32_t number, uint32_t node);
/* Places the next pod of a job on a node on which it fits. `number`: how many pods the job already has. Returns the
   number of the pod in the ledger; HR_NONE: out of memory. */
uint32_t hr__pods_place(struct hr__pods *pods, hr_job job, uint32_t kind, uint32_t number, uint32_t node);
/* Removes the pods of a job that follow the pod `last` from their nodes; HR_NONE: all. `undo`: these pods were placed
   last, for a trial. */
void hr__pods_cut(struct hr__pods *pods, hr_job job, uint32_t last, bool undo);
/* Removes one pod of a job from a node on which it has pods. Must not be called in per-GPU allocation. */
void hr__pods_remove(struct hr__pods *pods, hr_job job, uint32_t node);
/* Sets aside the pods of a job for a trial: their resources are free, but the pods keep their numbers.
   hr__pods_put_back undoes this; hr__pods_drop frees the numbers. The job that was set aside last is put back first. */
void hr__pods_set_aside(struct hr__pods *pods, hr_job job);
void hr__pods_put_back(struct hr__pods *pods, hr_job job);
void hr__pods_drop(struct hr__pods *pods, hr_job job);
/* Makes the placement of a job from its pods. Returns false if memory is exhausted. Valid until the next call. */
bool hr__pods_placement(struct hr__pods *pods, hr_job job, struct hr_placement *placement);
/* Whether the GPU memory suffices for all tasks of a job in the placement (see hr__tasks_have_memory). */
static inline bool hr__pods_have_memory(const struct hr__pods *pods, hr_job job, const struct hr_placement *placement) {
  return hr__tasks_have_memory(pods->cluster, pods->jobs, job, placement);
}

/* Whether a job is listed for the next pass: it starts, or is rejected. */
static inline bool hr__pods_lists(const struct hr__pods *pods, hr_job job) {
  return hr__job_list_has(&pods->idle_jobs, job) || hr__job_list_has(&pods->unfit, job);
}
/* Rejects jobs that are withdrawn, and starts or rejects the listed ones. Called at the beginning of a pass. */
enum hr_status hr__pods_settle_lists(struct hr__pods *pods, struct hr_moves *moves);

/* Handles an event of a node: it came up, got an interruption notice, or is gone. The caller removes its pods before it
   is gone. */
void hr__pods_node_event(struct hr__pods *pods, const struct hr_event *event);

/* The last pod of a job; HR_NONE: it has none. */
static inline uint32_t hr__pods_last(const struct hr__pods *pods, hr_job job) {
  return pods->last_of_job[job.id] - 1;
}

static inline uint32_t hr__pods_first(const struct hr__pods *pods, hr_job job) {
  return pods->first_of_job[job.id] - 1; /* HR_NONE: none */
}

/* Returns the first pool in which all further pods of a job would fit now. If no such pool exists, returns the first
   pool in which an elastic job could run with fewer pods, or HR_NONE. Nothing changes. */
uint32_t hr__pods_pool_that_fits(struct hr__pods *pods, hr_job job, uint32_t kind);

/* Of the usable nodes, how many cannot run the next pod of a job, by the resource that they lack. A node can lack
   several resources. `number`: how many pods the job already has. `n_nodes`: all usable nodes. `other`: nodes that the
   job does not accept. `fits`: nodes that can run the pod. */
struct hr__pod_lacks {
  uint32_t n_nodes, cpu, gpu, mem, pods, other, fits;
};
struct hr__pod_lacks hr__pods_lacks(const struct hr__pods *pods, uint32_t kind, uint32_t number);
/* Appends these counts to a text that has `used` bytes: " 5 Insufficient cpu, 3 Insufficient nvidia.com/gpu". `gpu`:
   name of the resource of GPUs; NULL: nvidia.com/gpu. */
void hr__pods_put_lacks(const struct hr__pods *pods, hr_job job, const struct hr__pod_lacks *lacks, const char *gpu,
                        char *text, size_t size, size_t used);

/* ---- The cluster autoscaler ---------------------------------------------------------------------------- */

/* The parameter `elastic_nodes`, for a policy that has no other parameters. */
extern const struct hr_param hr__pod_params[];
/* Whether the policy requests nodes: its parameter says so, some pool is elastic, and no autoscaler of the cluster
   manages the elastic pools. */
bool hr__pods_are_scaled(const struct hr__pods *pods, const struct hr_policy_env *env);
/* Returns the next waiting job in the order of the policy, and writes its kind; HR_NONE: no further job. `fits`:
   whether the previous job would be placed after the nodes are added. If it is false, other jobs of its kind need not
   be tried. */
typedef hr_job hr__pods_next(void *self, bool fits, uint32_t *kind);
/* Requests nodes for the waiting jobs (`next`) that do not fit; the cheapest suitable pool is preferred. Releases nodes
   that have been idle for a long time and that no waiting job would use. `*wake_us`: the earliest time at which the
   next node may be released; HR_NEVER_US: none. */
enum hr_status hr__pods_scale(struct hr__pods *pods, const struct hr_view *view, struct hr_moves *moves,
                              hr__pods_next *next, void *self, int64_t *wake_us);

#endif
