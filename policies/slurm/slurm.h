/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_SLURM_H
#define HR_POLICIES_SLURM_SLURM_H

/* The rules of the model of Slurm: parameters, priority and billing of jobs, fair share, GPUs and their shards, the
   backfill scheduler, the choice of nodes, and the queue of waiting jobs. engine.h has the state of a run. */

#include "headroom/base.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Parameters (setup.c) --------------------------------------------------------------------------- */

/* The parameters of slurm.conf and of its SchedulerParameters that the model of Slurm knows, with units, defaults
   and bounds. Source: doc/man/man5/slurm.conf.5 and src/plugins/sched/backfill/backfill.c of SchedMD/slurm. */

#define HR__SLURM_NO_BOUND INT64_MIN

/* A parameter with a whole number as value. */
struct hr__slurm_parameter {
  const char *name, *unit;
  int64_t fallback, min, max;       /* HR__SLURM_NO_BOUND: none is documented */
  const char *fallback_of, *max_of; /* if the default or the bound is the value of another parameter, its name */
};

/* Returns the parameter with this name; NULL if it is unknown. Case is ignored. */
const struct hr__slurm_parameter *hr__slurm_parameter(const char *name);

/* ---- Priority (multifactor.c) ----------------------------------------------------------------------- */

/*
 * Slurm's multifactor priority of jobs, the billing of resources, and the order of jobs and of preemption candidates.
 *
 * Source: src/plugins/priority/multifactor/priority_multifactor.c, src/common/assoc_mgr.c,
 * src/slurmctld/job_scheduler.c, src/plugins/preempt/qos of SchedMD/slurm; doc/html/priority_multifactor.
 */

/* The factors of the priority, in the order in which they are summed. */
enum hr__slurm_factor {
  HR__SLURM_AGE,
  HR__SLURM_ASSOC,
  HR__SLURM_FAIR_SHARE,
  HR__SLURM_JOB_SIZE,
  HR__SLURM_PARTITION,
  HR__SLURM_QOS,
  HR__SLURM_N_FACTORS
};

/* The inputs of the priority of a job. Factors are between 0 and 1 unless normalization is disabled. */
struct hr__slurm_priority {
  double weights[HR__SLURM_N_FACTORS], factors[HR__SLURM_N_FACTORS];
  const double *tres_weights, *tres_factors; /* [n_tres] requests, as fractions of the partition's resources */
  uint32_t n_tres;
  double site; /* set by a site's own plug-in */
  int64_t nice;
};

/* The weighted sum of all factors, plus `site`, minus `nice`; truncated to a whole number from 1 to 2^32 - 1. */
uint32_t hr__slurm_priority(const struct hr__slurm_priority *priority);

/* The age factor: the time for which the job has been eligible, divided by PriorityMaxAge; at most 1. */
static inline double hr__slurm_age_factor(double wait_s, double max_age_s) {
  if (wait_s <= 0) return 0;
  return wait_s < max_age_s ? wait_s / max_age_s : 1;
}

/* The inputs of the size factor. */
struct hr__slurm_size {
  double nodes, cpus, limit_min; /* of the job; limit_min: its time limit in minutes */
  double all_nodes, all_cpus;    /* of the cluster */
  bool favors_small;             /* PriorityFavorSmall */
  bool is_relative_to_time;      /* PriorityFlags=SMALL_RELATIVE_TO_TIME */
};
double hr__slurm_size_factor(const struct hr__slurm_size *size);

/* The factor of a partition, QOS or association: its value divided by the highest value; 0 if the highest value is 0.
   With `is_raw`, the value itself (NO_NORMAL_PART, NO_NORMAL_QOS, NO_NORMAL_ASSOC). */
static inline double hr__slurm_relative_factor(double value, double highest, bool is_raw) {
  if (is_raw) return value;
  return highest > 0 ? value / highest : 0;
}

/* ---- Billing ---- */

enum hr__slurm_billing {
  HR__SLURM_BILL_SUM,     /* the sum over all resources */
  HR__SLURM_BILL_MAX,     /* MAX_TRES: the maximum over the resources of a node, plus the global ones */
  HR__SLURM_BILL_MAX_GRES /* MAX_TRES_GRES: the maximum over CPU, memory and nodes, plus GRES and global ones */
};
enum hr__slurm_tres_kind {
  HR__SLURM_TRES_NODE,  /* CPU, memory, nodes */
  HR__SLURM_TRES_GRES,  /* generic resources of a node, such as GPUs */
  HR__SLURM_TRES_GLOBAL /* not bound to a node, such as licenses */
};
/* A resource that a job uses. */
struct hr__slurm_tres {
  double weight, count;
  enum hr__slurm_tres_kind kind;
};
double hr__slurm_billing(const struct hr__slurm_tres *tres, uint32_t n_tres, enum hr__slurm_billing rule);

/* ---- Preemption ---- */

/* A running job that may be preempted. */
struct hr__slurm_victim {
  uint32_t job;
  uint32_t priority; /* preempt/qos: priority of its QOS; preempt/partition_prio: tier of its partition */
  uint32_t nodes;
  int64_t start_us;
};

/* Returns whether `a` is preempted before `b`. With `youngest_first`, only the start counts: the job that started last
   comes first. Without it, the job of lower priority comes first; of equal priorities, the job with fewer nodes.
   Returns false for equal jobs. */
static inline bool hr__slurm_victim_before(const struct hr__slurm_victim *a, const struct hr__slurm_victim *b,
                                           bool youngest_first) {
  if (youngest_first) return a->start_us > b->start_us;
  return a->priority != b->priority ? a->priority < b->priority : a->nodes < b->nodes;
}

/* Returns whether a job has run long enough to be preempted. `exempt_us` HR_UNKNOWN_US: no exempt time. */
static inline bool hr__slurm_may_be_preempted(int64_t run_us, int64_t exempt_us) {
  return exempt_us == HR_UNKNOWN_US || run_us >= exempt_us;
}

/* ---- Fair share (multifactor.c) --------------------------------------------------------------------- */

/*
 * Slurm's fair share: a tree of associations (accounts and their users) with shares and decayed usage, from which each
 * user gets a factor between 0 and 1. There are two algorithms, Fair Tree (the default) and the classic one.
 *
 * Source: src/plugins/priority/multifactor/{fair_tree,priority_multifactor}.c, doc/html/{fair_tree,classic_fair_share}
 * of SchedMD/slurm.
 */

/* An association. Accounts have children; users do not. */
struct hr__slurm_assoc {
  uint32_t parent; /* index of the parent account, less than the own index; HR_NONE: child of the root */
  int64_t shares;
  bool uses_parent; /* fairshare=parent: the association has no shares of its own */
  bool is_user;
  double usage; /* decayed usage: input for users; hr__slurm_usage_sum computes it for accounts */
};

/* Results for an association. Members that an algorithm does not use are 0. */
struct hr__slurm_share {
  double norm_shares;     /* classic: share of the whole cluster; Fair Tree: share among the siblings */
  double norm_usage;      /* share of all usage */
  double effective_usage; /* classic: usage plus a part of the siblings' usage; Fair Tree: share of the ancestor's
                             usage */
  double level_fs;        /* Fair Tree: norm_shares / effective_usage, may be INFINITY */
  double factor;          /* the fair-share factor of a user */
};

/* Adds the usage of each association to its ancestors, and returns the sum over all users. Before the call, the usage
   of accounts must be 0. */
double hr__slurm_usage_sum(struct hr__slurm_assoc *assocs, uint32_t n_assocs);

/* Scratch memory for a tree. */
struct hr__slurm_tree_scratch {
  double *sums;                                  /* [n_assocs + 1] */
  uint32_t *ancestors, *first, *members, *place; /* [n_assocs + 2] */
  uint32_t *order; /* [n_assocs]; after hr__slurm_fair_tree: the users, from the highest factor to the lowest */
};

/* The classic algorithm. hr__slurm_usage_sum must have been called for `assocs`; `total_usage` is its result.
   `dampening`: FairShareDampeningFactor. */
void hr__slurm_classic_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                              double dampening, struct hr__slurm_share *shares, struct hr__slurm_tree_scratch *scratch);

/* Fair Tree. `assocs` and `total_usage` as for the classic algorithm. Takes O(n log n). Returns the number of users
   that have a rank. */
uint32_t hr__slurm_fair_tree(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                             struct hr__slurm_share *shares, struct hr__slurm_tree_scratch *scratch);

/* The factor by which usage decays within `elapsed_s`. As in Slurm, the half-life is approximate: 0.693 instead of ln
   2, and a linear decay within each second. `half_life_s` 0: no decay. */
static inline double hr__slurm_decay(double half_life_s, double elapsed_s) {
  return half_life_s > 0 ? pow(1 - 0.693 / half_life_s, elapsed_s) : 1;
}

/* ---- GPUs and shards (selector.c) ------------------------------------------------------------------- */

/*
 * The GPUs of a node and their shards. A GPU is either allocated whole to one job, or shared by jobs that have shards
 * of it. A job's shards on a node come from one GPU unless OPT_MULTIPLE_SHARING_GRES_PJ is set.
 *
 * Source: doc/html/gres of SchedMD/slurm.
 */

/* A GPU of a node. */
struct hr__slurm_gpu {
  bool is_whole;   /* allocated whole to a job */
  uint32_t shards; /* number of shards of the GPU */
  uint32_t shards_used;
};

/* The number of free shards of a GPU; 0 if it is allocated whole. */
static inline uint32_t hr__slurm_shards_free(const struct hr__slurm_gpu *gpu) {
  return gpu->is_whole || gpu->shards_used > gpu->shards ? 0 : gpu->shards - gpu->shards_used;
}

/* Returns whether a GPU can be allocated whole. */
static inline bool hr__slurm_gpu_is_free(const struct hr__slurm_gpu *gpu) {
  return !gpu->is_whole && gpu->shards_used == 0;
}

/* Returns whether a request of whole GPUs and shards fits on a node. `several`: the shards may come from several
   GPUs. */
bool hr__slurm_gres_fit(const struct hr__slurm_gpu *gpus, uint32_t n_gpus, uint32_t whole, uint32_t shards,
                        bool several);

/* The number of shards of GPU number `gpu` if gres.conf does not assign the `count` shards of a node to its `n_gpus`
   GPUs. They are spread evenly; each of the first `count % n_gpus` GPUs gets one more. */
static inline uint32_t hr__slurm_shared_count(uint32_t count, uint32_t n_gpus, uint32_t gpu) {
  return count / n_gpus + (gpu < count % n_gpus);
}

/* ---- Backfill (backfill.c) ----------------------------------------------------------------------------- */

/*
 * One pass of Slurm's backfill scheduler (sched/backfill). Jobs are tested in the order of the queue. A job that can
 * run now is started. A job that cannot run now gets a reservation of whole nodes, from its expected start for its time
 * limit. Later jobs must not use these nodes during that time.
 *
 * The time line is a list of slots, from now to the end of the window. A slot has the set of nodes, and the licences,
 * that no reservation uses during it. The selector, which the caller provides, knows the running jobs: it returns when
 * a job could start on a set of nodes if there were no reservations.
 *
 * Source: src/plugins/sched/backfill/backfill.c of SchedMD/slurm.
 */

/* The limits bf_max_job_user, bf_max_job_part, bf_max_job_user_part and bf_max_job_assoc count tested jobs per user,
   per partition, per user and partition, or per association. */
enum hr__slurm_scope {
  HR__SLURM_OF_USER,
  HR__SLURM_OF_PARTITION,
  HR__SLURM_OF_USER_PARTITION,
  HR__SLURM_OF_ASSOC,
  HR__SLURM_N_SCOPES
};

/* The parameters of SchedulerParameters that a pass uses. */
struct hr__slurm_backfill_limits {
  int64_t resolution_us, window_us;
  int64_t origin_us; /* the date of time 0: reservations begin and end at multiples of the resolution on the clock */
  uint32_t max_job_test, max_job_start;   /* max_job_start 0: no limit */
  uint32_t max_tests[HR__SLURM_N_SCOPES]; /* by scope: maximum number of tested jobs of one user etc.; 0: no limit */
  uint32_t job_part_count_reserve;        /* maximum number of reservations per partition; 0: no limit */
  int64_t min_age_reserve_us;             /* younger jobs get no reservation */
  uint32_t min_prio_reserve;              /* jobs of lower priority get no reservation */
};

/* A waiting job, in the order of the queue. */
struct hr__slurm_queued {
  uint32_t job;                        /* passed to the selector */
  uint32_t scopes[HR__SLURM_N_SCOPES]; /* by scope: number of its user etc., from 0; HR_NONE: not counted */
  uint32_t priority;
  int64_t limit_us; /* its time limit */
  int64_t submit_us;
  uint32_t min_nodes;           /* that it needs; if fewer are available, the selector is not called */
  bool no_reserve;              /* no nodes are reserved for it */
  const uint64_t *usable;       /* set of nodes that it may use; NULL: all */
  uint32_t license, n_licenses; /* licences that it needs; n_licenses 0: none */
};

/* The decision on a waiting job. */
struct hr__slurm_planned {
  /* the expected start; HR_NEVER_US: none within the window, or the job was not tested. If it is now, the job was
     started, or waits only for jobs with an eviction notice */
  int64_t start_us;
  bool was_tested;
};

struct hr__slurm_selector {
  /* Finds when and where a job could start on the nodes of a set if there were no reservations and if the jobs that it
     may preempt had ended. Reduces the set to the chosen nodes and returns true. Returns false if the job can never run
     there. */
  bool (*find)(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us);
  /* Starts a job on the nodes that `find` chose. Returns false if the job cannot start. */
  bool (*start)(void *self, uint32_t job, const uint64_t *nodes);
  void *self;
  /* Returns whether the job of entry `next` of the queue, or of a later entry, may start now. If none may, the pass
     ends, and these jobs get no expected start. NULL: every job is tested. */
  bool (*any_may_start)(void *self, uint32_t next);
  /* Stops running jobs if necessary, so that a job can start now on nodes of a set. Reduces the set to these nodes and
     returns true. If the job cannot start, returns false, and the set is unchanged. NULL: no job is preempted. */
  bool (*make_room)(void *self, uint32_t job, uint64_t *nodes);
  /* Removes those nodes from a set that a job must not use at some time from `from_us` to `to_us` because of advance
     reservations. Returns the earliest end of these reservations after `from_us`; HR_NEVER_US: no such reservation.
     NULL: there are no advance reservations. */
  int64_t (*restrict_nodes)(void *self, uint32_t job, int64_t from_us, int64_t to_us, uint64_t *nodes);
  /* For a job that cannot start now, returns a time before which it cannot start on the set `nodes` (NULL: all nodes
     that it may use). If the member is NULL, such times are unknown. */
  int64_t (*earliest)(void *self, uint32_t job, const uint64_t *nodes);
  /* Returns whether a job is tested in this pass. NULL: all jobs are. */
  bool (*may_be_tested)(void *self, uint32_t job);
};

/* A slot of the time line. Its set of nodes and its licences follow in separate arrays. */
struct hr__slurm_slot {
  int64_t begin_us, end_us;
};

/* The memory of a pass. The caller allocates the arrays once; a pass allocates nothing. */
struct hr__slurm_timeline {
  struct hr__slurm_slot *slots; /* [max_slots] by time; slot 0 begins now */
  uint64_t *nodes;              /* [max_slots * n_words] per slot: the set of nodes that are not reserved */
  uint32_t *licenses;           /* [max_slots * n_license_kinds] per slot: licences that are not reserved */
  uint64_t *set;                /* [n_words] scratch */
  /* `tests[scope]` [n_scopes[scope]]: numbers of tested jobs of each user etc.; `part_reserves`
     [n_scopes[HR__SLURM_OF_PARTITION]]: numbers of reservations of each partition; NULL: not limited */
  uint32_t *tests[HR__SLURM_N_SCOPES], *part_reserves;
  uint32_t n_scopes[HR__SLURM_N_SCOPES];
  uint32_t n_slots, max_slots;
  uint32_t n_nodes, n_words; /* n_words = (n_nodes + 63) / 64 */
  uint32_t n_license_kinds;
};

/* Runs a pass at `now_us`. `licenses` [n_license_kinds]: the licences that are free now. Writes a decision for each job
   of the queue to `planned` [n_queued]. Returns the number of jobs that were started. */
uint32_t hr__slurm_backfill(struct hr__slurm_timeline *line, const struct hr__slurm_backfill_limits *limits,
                            const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                            const struct hr__slurm_selector *selector, int64_t now_us,
                            struct hr__slurm_planned *planned);

/* Removes those nodes from a set that are reserved at some time from now, the beginning of the time line, to
   `to_us`. */
void hr__slurm_unreserved(const struct hr__slurm_timeline *line, int64_t to_us, uint64_t *set);

/* ---- Selector (selector.c) -------------------------------------------------------------------------- */

/*
 * The choice of nodes by select/cons_tres: where a job can run now, and when and where it could run after running jobs
 * have reached their time limits.
 *
 * The nodes with enough free GPUs form runs of consecutive nodes. The smallest run that has enough nodes is used. If no
 * run has enough, the largest run is used first. Within a run, nodes are chosen in their order.
 *
 * The expected start is not exact, because Slurm examines running jobs in batches. The batches end 30, 60, 120, ...
 * seconds after a certain multiple of 30 seconds (batch_base in selector.c). A job is expected to start when the last
 * job of a batch ends: of the first batch after which enough nodes are free. Its nodes are chosen among all nodes that
 * are free then.
 *
 * To find this batch without releasing the running jobs one by one, the nodes are listed in the order in which they get
 * at least 1, 2, 3 ... free GPUs. The lists are built again after running jobs have changed.
 *
 * If CPUs and memory of the nodes are limited (CR_Core_Memory), nodes that have too little of them are skipped, and
 * running jobs are released one by one. Running jobs are also released one by one if GPUs are shared: then a GPU is
 * allocated whole to one job, or its shards are allocated to several jobs. A job gets its shards from the first GPU
 * that has enough.
 *
 * Source: src/plugins/select/cons_tres/job_test.c and src/common/gres_select of SchedMD/slurm.
 */

/* The request of a job: the same number of GPUs on each of its nodes, except the last node, where it may need fewer;
   and CPUs and memory on each node. `gpu_milli`: the fraction of each GPU, in thousandths; 0: whole GPUs. */
struct hr__slurm_shape {
  uint32_t nodes, gpus_per_node, last_gpus, cpu_milli;
  uint64_t mem_mib;
  uint32_t gpu_milli;
};

/* A running job. */
struct hr__slurm_running {
  uint32_t job;
  int64_t end_us; /* when it reaches its time limit */
  /* if the job still runs at `end_us`: the expected time from `end_us` to its end; HR_NEVER_US: unknown, so it is
     expected to run for `limit_us` from now */
  int64_t over_us;
  int64_t limit_us;
  struct hr__slurm_shape shape;
  uint32_t *nodes; /* [shape.nodes] its nodes; the last one has `last_gpus` GPUs */
};

/* A node has enough free GPUs once the first `rank` running jobs have ended, but not earlier. */
struct hr__slurm_release {
  uint32_t node, rank;
};

/* The nodes and the running jobs. Created by hr__slurm_nodes_create. */
struct hr__slurm_nodes {
  uint32_t n_nodes, n_words; /* n_words = (n_nodes + 63) / 64 */
  uint32_t max_gpus;         /* the maximum number of GPUs of a node */
  const uint32_t *gpus;      /* [n_nodes] GPUs of each node */
  uint32_t *used;            /* [n_nodes] GPUs in use, including partly used ones */
  /* [n_nodes * max_gpus] the free thousandths of each GPU, now and in an expected state (scratch); NULL: all jobs get
     whole GPUs */
  uint16_t *gpu_milli, *future_milli;
  uint64_t *chosen_gpus; /* [n_nodes] if GPUs are shared: the sets of GPUs on the nodes `chosen` */
  /* [n_nodes] free CPUs and memory of each node, now and in an expected state (scratch); `cpu_milli` NULL: they are not
     limited. Free CPUs are negative if jobs of a node overlap because some of them are suspended */
  int64_t *cpu_milli, *mem_mib, *future_cpu, *future_mem;
  uint32_t *chosen;   /* [n_nodes] the result of the last choice; the last node gets `last_gpus` GPUs */
  uint64_t *at_least; /* [(max_gpus + 1) * n_words] per number: the set of nodes with at least as many free GPUs */
  struct hr__slurm_running *running; /* [n_running] by increasing end, then by job */
  uint32_t n_running;
  int64_t origin_us; /* the date of time 0: batches begin at multiples of 30 seconds of the clock */
  /* for each number of GPUs: the nodes that have fewer free GPUs now, in the order in which they get this number */
  struct hr__slurm_release *releases; /* [(max_gpus + 1) * n_nodes] */
  uint32_t *n_releases;               /* [max_gpus + 1] */
  bool has_releases;                  /* `releases` are up to date */
  uint32_t *future;                   /* [n_nodes] scratch */
  uint64_t *full, *last;              /* [n_words] scratch sets */
};

/* Creates nodes without running jobs. `gpus` must stay valid. Returns false if memory is exhausted. */
bool hr__slurm_nodes_create(struct hr__slurm_nodes *nodes, struct hr_arena *arena, const uint32_t *gpus,
                            uint32_t n_nodes, int64_t origin_us);

/* Limits the CPUs and the memory of nodes. Then jobs without GPUs are allowed, too; at most `n_jobs` jobs may run at a
   time. The caller must set `cpu_milli` and `mem_mib` afterwards. Returns false if memory is exhausted. */
bool hr__slurm_nodes_limit(struct hr__slurm_nodes *nodes, struct hr_arena *arena, uint32_t n_jobs);

/* Allows jobs to share GPUs. hr__slurm_nodes_limit must have been called, and no job may run. Returns false if memory
   is exhausted. */
bool hr__slurm_nodes_share(struct hr__slurm_nodes *nodes, struct hr_arena *arena);

/* Returns the set of the first `gpus` GPUs of a node that have room for a job of this shape, or fewer if fewer have
   room. `milli`: the free thousandths of the GPUs, as in `gpu_milli`. */
uint64_t hr__slurm_first_gpus(const struct hr__slurm_nodes *nodes, const uint16_t *milli,
                              const struct hr__slurm_shape *shape, uint32_t node, uint32_t gpus);

/* The size of the memory for the nodes of a running job, in words of 32 bits: the number of each node and, if GPUs are
   shared, the set of its GPUs. */
static inline size_t hr__slurm_words(const struct hr__slurm_nodes *nodes, uint32_t n_nodes) {
  return (size_t)n_nodes * (nodes->gpu_milli ? 3u : 1u);
}

/* Chooses nodes of a set on which a job fits now. Reduces the set to these nodes, and writes them to `chosen`. If the
   job does not fit, returns false, and the set is unchanged. */
bool hr__slurm_select_now(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set);

/* Returns whether hr__slurm_select_now would find nodes for the job. */
bool hr__slurm_fits_now(const struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set);

/* Finds when and where a job could start on nodes of a set. Reduces the set to the chosen nodes. Returns false if it
   could not start even without the running jobs. */
bool hr__slurm_select(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                      int64_t *start_us);

/* Returns the earliest time at which a job fits on nodes of the set if running jobs end at their limits. INT64_MIN: the
   job fits now; HR_NEVER_US: it never fits. If the job cannot start now on a subset of the set, it cannot start there
   before this time. */
int64_t hr__slurm_earliest(struct hr__slurm_nodes *nodes, const struct hr__slurm_shape *shape, const uint64_t *set);

/* Marks the resources of running job number `index` as free (`free` true), or as used again. */
void hr__slurm_nodes_lend(struct hr__slurm_nodes *nodes, uint32_t index, bool free);

/* Hides `n` running jobs, as if they had ended. `hidden` [n]: their indices, ascending. `copy` [n_running] receives the
   list of running jobs. hr__slurm_nodes_show restores the list; no job may be added or removed before. */
void hr__slurm_nodes_hide(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          struct hr__slurm_running *copy);
void hr__slurm_nodes_show(struct hr__slurm_nodes *nodes, const uint32_t *hidden, uint32_t n,
                          const struct hr__slurm_running *copy);

/* The set of GPUs of a running job on its node number `index`; 0 if GPUs are not shared. */
uint64_t hr__slurm_gpus_of(const struct hr__slurm_nodes *nodes, const struct hr__slurm_running *running,
                           uint32_t index);

/* Moves the end of a running job by `by_us`. */
void hr__slurm_nodes_postpone(struct hr__slurm_nodes *nodes, uint32_t job, int64_t by_us);

/* The time between the limit of a job and its forced end: KillWait. */
#define HR__SLURM_KILL_WAIT_US (30 * HR_SECOND_US)

/* hr__slurm_nodes_add adds a job that starts on the nodes `chosen`, with the GPUs `chosen_gpus` if they are shared.
   `at` is memory for a copy of both; hr__slurm_words returns its size. The function returns the entry of the job, which
   is valid until the next change. The member `over_us` of the entry is KillWait.

   hr__slurm_nodes_remove removes a job. It returns the memory `at` of the job, and sets `*n_nodes` to the number of its
   nodes. It returns NULL if the job does not run. */
struct hr__slurm_running *hr__slurm_nodes_add(struct hr__slurm_nodes *nodes, uint32_t job,
                                              const struct hr__slurm_shape *shape, int64_t end_us, uint32_t *at);
uint32_t *hr__slurm_nodes_remove(struct hr__slurm_nodes *nodes, uint32_t job, uint32_t *n_nodes);

/* ---- Waiting jobs (slurm_policy.c) ------------------------------------------------------------------ */

/*
 * The waiting jobs of the policy `slurm`, in the order in which Slurm examines them: a job comes before those that it
 * may preempt. Other jobs are ordered by descending key (the tier of the partition, then the priority), then by the
 * second of the submission or of the last requeue, then by id.
 *
 * The first rule can contradict the others: A may come before B, B before C, and C before A, because C may preempt A.
 * Then the result depends on the order of insertions and on the steps of sorts. In Slurm, it depends on the sort of the
 * C library.
 *
 * The entries are an array with room at both ends. Jobs that start are near the front, so their removal moves only the
 * entries before them. An insertion moves only the sorted entries before it, or only those after it. After priorities
 * have changed, only the front of the array that a pass reads is sorted. If jobs may preempt others, the whole array is
 * sorted.
 */

struct hr__slurm_entry {
  uint64_t key;
  int64_t submit_s;  /* the second of the clock at which it was submitted or requeued */
  uint32_t job, qos; /* qos HR_NONE: none */
};

struct hr__slurm_waiting {
  struct hr_arena *arena;
  const bool *may_preempt; /* [n_qos * n_qos] whether jobs of a QOS may preempt those of another; NULL: none may */
  uint32_t n_qos;
  struct hr__slurm_entry *all; /* [capacity]; the entries are all[first] to all[first + count - 1] */
  uint32_t first, count, capacity;
  /* number of entries at the front that are sorted and precede all other entries; at least 1 if `count` is not 0 */
  uint32_t n_sorted;
};

/* hr__slurm_waiting_order sorts at least the first `n` entries, if they are not sorted yet. It must be called before an
   entry other than the first is read by its index. It calls hr__slurm_waiting_sort_first. */
void hr__slurm_waiting_sort_first(struct hr__slurm_waiting *waiting, uint32_t n);
static inline void hr__slurm_waiting_order(struct hr__slurm_waiting *waiting, uint32_t n) {
  if (n > waiting->n_sorted) hr__slurm_waiting_sort_first(waiting, n);
}

/* Returns entry number `index`. */
static inline struct hr__slurm_entry *hr__slurm_waiting_at(const struct hr__slurm_waiting *waiting, uint32_t index) {
  return &waiting->all[waiting->first + index];
}

/* Inserts an entry. Returns false if memory is exhausted. */
bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *entry);

/* Removes the jobs that do not wait from the first `n` entries: those for which state[job] is not `waits`. */
void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits);

/* Sorts the entries again after their keys have changed. If jobs may preempt others, `scratch` must have room for all
   entries. Otherwise, `scratch` is not used. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch);

#endif
