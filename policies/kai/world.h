/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_WORLD_H
#define HR_POLICIES_KAI_WORLD_H

/*
 * The cluster of a run as KAI sees it: one session that lasts across cycles, to which jobs are added and from which
 * they are removed.
 *
 * Each waiting or running job of the run has a slot. A slot is a job of KAI with one group and one pod set; slot, group
 * and pod set have the same index. The slot of an elastic job (`min_gpus`, `max_gpus`) contains its maximum number of
 * pods; some may be pending while others run. A free slot is used again for a job with the same number of pods. If no
 * slot is left, the description is copied to arrays of twice the size. The session is then created again with the
 * present status and node of each pod.
 */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kai/solver.h"

/* The properties that all jobs of one kind share: their pods, and the nodes on which these may run. */
struct hr__kai_kind {
  uint32_t gpus, tasks, accept_class, request; /* request: HR_NONE without per-GPU allocation */
  enum hr_tier tier;                           /* the required locality; HR_TIER_ANY: none */
  bool preferred;                              /* the locality is only preferred */
  uint32_t min_gpus, max_gpus;                 /* equal to `gpus` unless jobs of the kind may have fewer or more */
  uint32_t n_pods, fewest;                     /* fewest: pods that a job needs to run */
  uint32_t pod_gpus, last_gpus;                /* whole GPUs of each pod; of the last pod */
  const int64_t *amounts, *last;               /* [n_dims] requests of each pod; of the last pod */
  const uint8_t *allowed_nodes;                /* [n_nodes] NULL: all */
  const uint8_t **in_pool; /* [n_pools] for an elastic kind: allowed nodes of one pool; NULL: not computed yet */
  struct hr__kai_pod pod;  /* all other members of each pod */
  struct hr__kai_constraint constraint;
  uint32_t first_class; /* HR_NONE: none */
  enum hr_reason never; /* why its jobs can never be placed; HR_REASON_NONE: they can */
};

struct hr__kai_world {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *simulated; /* the cluster of the engine */
  const struct hr_kai_config *config; /* NULL: none */
  struct hr__kai_cluster cluster;     /* its arrays are those below */
  /* The arena of the session, and an empty one for the next session. */
  struct hr_arena sessions[2];
  uint32_t used; /* index of the arena of the session */
  struct hr__kai_session *session;
  struct hr__kai_cycle *cycle;

  struct hr_gpu_inventory *inventory; /* of per-GPU allocation; else NULL */
  struct hr__kai_node *nodes;
  const char **profiles;        /* [n_dims - HR__KAI_DIM_MIG] names of MIG profiles */
  const int64_t **node_amounts; /* [n_pools * n_dims] the resources of a node of a pool that is up */
  const int64_t *no_amounts;    /* [n_dims] zeros */
  uint32_t *pool_of;            /* [n_nodes] */
  bool *is_up;                  /* [n_nodes] */
  uint32_t n_pools;
  bool counts_cpu; /* pods request CPU and memory */

  struct hr__kai_queue *queues;
  const char **queue_names;
  uint32_t default_queue; /* HR_NONE: none */
  uint32_t *jobs_in_queue;

  struct hr__kai_kind *kinds;
  uint32_t n_kinds, kinds_capacity;
  const uint8_t **class_nodes; /* [2 * accept class] all nodes, then only those with shared GPUs; NULL: not computed */
  uint32_t n_classes_known;

  /* Slots. */
  struct hr__kai_job *jobs;
  struct hr__kai_pod *pods;
  struct hr__kai_pod_set *sets;
  struct hr__kai_group *groups;
  uint32_t *pods_of_sets;
  uint32_t *kind_of;    /* [max_slots] */
  uint32_t *job_of;     /* [max_slots] the job of the run; HR_NONE: the slot is free */
  bool *is_leaving;     /* [max_slots] scratch memory */
  uint8_t *is_running;  /* [max_slots] in `running` */
  bool *is_frozen;      /* [max_slots] an elastic job that gets no pods until it has left its nodes */
  uint32_t *next_spare; /* [max_slots] the next free slot with the same number of pods */
  uint32_t n_slots, max_slots, n_pods, max_pods, n_devices, max_job_pods;
  uint32_t *spare_by_pods; /* [max_job_pods + 1] the first free slot with this number of pods; HR_NONE: none */
  uint32_t *slot_of;       /* by job */

  /* The waiting slots of each queue, by priority and then by job, and classes of jobs (see struct hr__kai_cluster).
     Jobs of a class have the same kind and queue, and are all preemptible or all non-preemptible. */
  struct hr__kai_leaf_list *leaves; /* [n_queues] */
  struct hr__kai_class {
    uint32_t kind, queue, next; /* next: the next class of the kind; HR_NONE: none */
    bool preemptible;
  } * classes;
  uint32_t *class_of, *jobs_of_class; /* [max_slots], [classes_capacity] */
  uint32_t *classes_in_queue;         /* [n_queues] */
  uint32_t n_classes, classes_capacity;
  uint32_t *by_queue; /* [max_slots] the waiting slots, queue by queue, if `is_plain` */
  bool is_plain;      /* a new session for each cycle, without lists and classes */
  bool resizes;       /* elastic jobs may be resized; then `is_plain` is set */

  /* The lists of the session: waiting slots by the id of their job, running slots by their start. */
  uint32_t *waiting, *running;
  uint32_t n_waiting, n_running;
};

/* Sets whether a node is up, which means that pods may be placed on it. */
void hr__kai_set_up(struct hr__kai_world *world, uint32_t node, bool is_up);
/* Creates the world. `config` NULL: one queue without limits, and default settings. If it fails, writes `error`.
   `is_plain`: see struct hr__kai_world. */
enum hr_status hr__kai_world_create(struct hr__kai_world *world, const struct hr_policy_env *env,
                                    const struct hr_kai_config *config, bool is_plain, struct hr_error *error);

/* ---- Kinds of jobs (world.c) ---- */

int32_t hr__kai_priority_of(const struct hr_kai_config *config, const struct hr_trace *trace, hr_job job);
bool hr__kai_is_preemptible(const struct hr_kai_config *config, const struct hr_trace *trace, hr_job job);

/* The number of pods of the kind that fit into `amounts` [n_dims]. hr__kai_whole_pods_in ignores fractions of GPUs;
   hr__kai_pods_in counts them as if pods shared GPUs only with pods of the same kind. */
int64_t hr__kai_whole_pods_in(const struct hr__kai_world *world, const struct hr__kai_kind *kind,
                              const int64_t *amounts);
int64_t hr__kai_pods_in(const struct hr__kai_world *world, const struct hr__kai_kind *kind, const int64_t *amounts);

/* The result of hr__kai_admit: the kind and the queue of a job, and whether it may wait. */
struct hr__kai_admission {
  uint32_t kind, queue;  /* queue HR_NONE: the queue does not exist */
  enum hr_reason reject; /* HR_REASON_NONE: the job may wait */
  bool needs_no_node;
};

/* Finds the kind and the queue of a job at `now_us`. False: out of memory. */
bool hr__kai_admit(struct hr__kai_world *world, hr_job job, int64_t now_us, struct hr__kai_admission *admission);

/* ---- Slots (slots.c) ---- */

/* Makes room for a job with `n_pods` pods. False: out of memory. */
bool hr__kai_make_room(struct hr__kai_world *world, uint32_t n_pods, uint32_t n_devices);
/* Adds a waiting job. False: out of memory. */
bool hr__kai_add_job(struct hr__kai_world *world, hr_job job, const struct hr__kai_admission *admission);
/* Finds the kind of a waiting job again, because its required locality may have expired. False: out of memory. */
bool hr__kai_renew_kind(struct hr__kai_world *world, uint32_t slot, int64_t now_us);
/* Removes a job. */
void hr__kai_remove_job(struct hr__kai_world *world, hr_job job);
/* Lists a job that has left its nodes as waiting again. False: out of memory. */
bool hr__kai_wait_again(struct hr__kai_world *world, uint32_t slot);
/* Fills `by_queue`, so that a session without lists of queues examines waiting jobs queue by queue. */
void hr__kai_list_by_queue(struct hr__kai_world *world);
/* Lists a slot as running after some of its pods were bound. It stays in the waiting list if some pods are pending. */
void hr__kai_list_running(struct hr__kai_world *world, uint32_t slot);

/* Elastic jobs. The functions that return a bool return false if memory is exhausted. */

static inline bool hr__kai_resizes(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  return kind->fewest < kind->n_pods;
}

/* The number of pods of a job that run. */
uint32_t hr__kai_count_running(const struct hr__kai_world *world, uint32_t slot);
/* Restricts a job that has started to the nodes of its pool. False: out of memory. */
bool hr__kai_confine(struct hr__kai_world *world, uint32_t slot, uint32_t pool);
/* Removes the evicted pods of a job from their nodes and makes them pending. False: out of memory. */
bool hr__kai_drop_evicted(struct hr__kai_world *world, uint32_t slot);
/* Lists a job as waiting if some of its pods are pending. False: out of memory. */
bool hr__kai_list_pending(struct hr__kai_world *world, uint32_t slot);
/* Freezes a job that will leave its nodes: it gets no pods until it has left. */
void hr__kai_freeze(struct hr__kai_world *world, uint32_t slot);
/* Freezes the elastic jobs on a node. */
void hr__kai_freeze_node(struct hr__kai_world *world, uint32_t node);
/* Creates the session again with the present status and node of each pod. False: out of memory. */
bool hr__kai_renew_session(struct hr__kai_world *world);

/* ---- Per-GPU allocation (slots.c) ---- */

/* Creates the inventory if there is per-GPU allocation. False: out of memory. */
bool hr__kai_gpus_create(struct hr__kai_world *world);
/* Chooses and allocates the GPUs of a job whose pods have nodes: one slice for each pod. False: the nodes have too few
   free GPUs; nothing has changed. */
bool hr__kai_gpus_place(struct hr__kai_world *world, uint32_t slot, struct hr_slice *slices);
/* Releases the GPUs of a job. */
void hr__kai_gpus_leave(struct hr__kai_world *world, hr_job job, const struct hr_placement *placement);

/* The slot of a job; HR_NONE: none. */
static inline uint32_t hr__kai_slot_of(const struct hr__kai_world *world, hr_job job) {
  return world->slot_of[job.id] == 0 ? HR_NONE : world->slot_of[job.id] - 1;
}

/* The default settings of a KAI installation. */
struct hr_kai_scheduler hr__kai_default_scheduler(void);

/* ---- Nodes of elastic pools (autoscaler.c) --------------------------------------------------------------- */

struct hr__kai_autoscaler {
  struct hr__kai_world *world;
  int64_t idle_release_us;
  int64_t *idle_us; /* [n_nodes] since when a node has had no pods; HR_NEVER_US: it has pods, or is not up */
  /* Scratch memory of a pass. */
  uint32_t *pools; /* [n_virtual] pool of each virtual node, which will come up later */
  int64_t *left;   /* [n_virtual * n_dims] resources that are left on it */
  uint32_t n_virtual;
  bool *idle_used;              /* [n_pools] a gang of this pass uses the idle nodes */
  struct hr__kai_amounts *held; /* [n_queues] requests of jobs that will get capacity */
};

/* Whether any pool is elastic. */
bool hr__kai_has_elastic(const struct hr__kai_world *world);
/* False: out of memory. */
bool hr__kai_autoscaler_create(struct hr__kai_autoscaler *scaler, struct hr__kai_world *world, int64_t idle_release_us);
/* Requests nodes for the jobs that still wait after a cycle. Sets `some_up` if some of these nodes boot in no time. */
enum hr_status hr__kai_request_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, bool *some_up);
/* Releases nodes that have been empty for `idle_release_us`. Sets `*next_us` to the time at which the next empty node
   is to be released; HR_NEVER_US: no node waits for its release. */
enum hr_status hr__kai_release_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, int64_t *next_us);

/* ---- Past usage (world.c) --------------------------------------------------------------------------- */

/*
 * Past usage of queues, for KAI's time-based fair share.
 *
 * The usage of a queue is the integral of its allocated resources over the window, divided by the integral of the
 * cluster's capacity. With a half-life, older parts of both integrals have less weight. KAI reads the usage from a
 * database of metrics once per `fetch_interval`, so it changes only at multiples of this interval.
 */

/* A period during which an amount is constant. */
struct hr__kai_piece {
  int64_t from_us;
  double integral; /* of the earlier amounts, decayed up to `from_us`; amount times us */
  double amount;
};

/* The pieces of one amount that the window still covers, the oldest first. */
struct hr__kai_history {
  struct hr__kai_piece *pieces;
  uint32_t first, end, capacity;
};

struct hr__kai_past {
  struct hr__kai_world *world;
  struct hr_kai_usage rules;
  struct hr__kai_history *queues;                     /* [n_queues * HR__KAI_RESOURCES] */
  struct hr__kai_history capacity[HR__KAI_RESOURCES]; /* of the cluster */
  int64_t recorded_us;                                /* histories are complete up to this time */
  int64_t fetched_us;                                 /* when usage was last read */
  bool changed;                                       /* usage has changed since the caller set this member to false */
};

/* Prepares the histories. False: out of memory. */
bool hr__kai_past_create(struct hr__kai_past *past, struct hr__kai_world *world, const struct hr_kai_usage *rules);
/* Advances the histories to `now_us`. Must be called before any amount changes at this time. Reads the usage if an
   interval has passed. False: out of memory. */
bool hr__kai_past_advance(struct hr__kai_past *past, int64_t now_us);

#endif
