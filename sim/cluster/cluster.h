/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The cluster of a run: names of GPU types, speeds of jobs, the pools that jobs may use, and the state: free
   capacity and states of nodes. */

#include "base/containers.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"

/* ---- Names of GPU types (requests.c) ---------------------------------------------------------------- */

/* Names of GPU types. The same type has different names in Slurm ("gpu:a100"), Kubernetes ("NVIDIA-A100-SXM4-80GB"),
   clouds ("nvidia-tesla-t4") and nvidia-smi ("Tesla V100-SXM2-16GB"). */

enum { HR__GPU_KEY_BYTES = 64 };

/* Writes the key of a name of `length` bytes to `key`, terminated by '\0', and returns its length. Two names mean the
   same type if their keys are equal. The key has the letters and digits of the name, in lower case, without the vendor
   and without what Slurm and the GPU operator add to the name. The key of a name that is too long is empty. */
size_t hr__gpu_name_key(const char *name, size_t length, char key[HR__GPU_KEY_BYTES]);

/* Writes to `set` the set of pools ([n_pools]) that a job accepts with a list of GPU types, separated by '|'. If some
   pool has exactly the requested type, ignoring case, the type selects the pools of this type only. Otherwise it
   selects the pools that have a type or another name (`gpu_names`) with the same key. */
void hr__gpu_names_select(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set);

/* Returns the name of the NULL-terminated list `known` that is most similar to an unknown name of `length` bytes; NULL
   if none is similar. Keys are compared, and "O" is equal to "0", "I" and "L" to "1". If several are equally similar,
   the first is returned. Sets `same_model` to false if the digits of the model differ ("A10" and "A10G" are one model,
   "A40" and "A30" are not), so that the name may be that of another product. */
const char *hr__gpu_name_nearest(const char *name, size_t length, const char *const *known, bool *same_model);

/* ---- Speeds (cluster_spec.c) ------------------------------------------------------------------------ */

/* The speeds of jobs in a run, from the tables of speeds by GPU type and by network, and the conversion between work
   and time. A speed is in ppm of the reference speed. */

enum { HR__FULL_SPEED_PPM = 1000000 };

#define HR__MAX_TIME_US (INT64_MAX / 2)
__extension__ typedef unsigned __int128 hr__wide_us;

struct hr__speed_table {
  const struct hr_speeds *table; /* if NULL, every speed is 1 */
  uint32_t *row_of; /* by job: its row of the table; in a streamed run valid only after the job is submitted; NULL if
                       `table` is NULL */
  struct hr__row_span {
    uint32_t first, count;
  } * spans;        /* by model of the trace: the range of rows of the model in the table */
  uint32_t min_ppm; /* the smallest speed above 0 that any row has in any pool that has nodes */
  /* power limits of GPUs (headroom/power.h): the trace and the classes that determine the power of a job, and by pool
     the power; NULL: no pool has a limit */
  const struct hr_power_spec **limited;
  /* level of the power limits (sim/power/power.h); above 0: the power budget of the cluster sets lower limits */
  uint32_t level;
  const struct hr_trace *trace;
  const struct hr_class_spec *classes;
};

/* Initializes the speeds, with memory from the arena. `table` may be NULL; otherwise it must have a column for each
   pool of the cluster. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace);
/* Adds the power limits of the pools, with memory from the arena. `classes` may be NULL. Returns HR_OK or HR_NO_MEMORY.
 */
enum hr_status hr__speeds_limit(struct hr__speed_table *speeds, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *classes);
/* Whether the speed of jobs depends on the pool. */
static inline bool hr__speeds_vary(const struct hr__speed_table *speeds) {
  return speeds->table || speeds->limited;
}

/* Finds the row of a job in the table of speeds. In a streamed run this is called when the job is submitted, otherwise
   for all jobs at the start of the run. */
void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job);

static inline uint32_t hr__speed_of_row(const struct hr_speeds *table, uint32_t row, uint32_t pool) {
  return table->ppm[(size_t)row * table->n_pools + pool];
}

/* Returns the speed of a job in a pool with a power limit. `ppm`: its speed without the limit. */
uint32_t hr__speed_limited_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool, uint32_t ppm);

/* Returns the speed of a job in a pool, as determined by the GPU type of the pool and its power limit. Jobs without
   GPUs have no row in the table and run at full speed. */
static inline uint32_t hr__speed_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool) {
  uint32_t ppm = HR__FULL_SPEED_PPM;
  if (speeds->table && speeds->row_of[job.id] != HR_NONE)
    ppm = hr__speed_of_row(speeds->table, speeds->row_of[job.id], pool.id);
  return speeds->limited ? hr__speed_limited_ppm(speeds, job, pool, ppm) : ppm;
}

/* The speed of a job: ppm of the reference speed, times num / den for an elastic job with another number of GPUs than
   it requests. */
struct hr__rate {
  uint32_t ppm, num, den;
};

/* hr__time_left_us returns the time that work takes, rounded up. hr__work_done_us returns the work that is completed in
   a given time, rounded down. Because of this rounding, work is always complete after the time that hr__time_left_us
   returns. `part` is the fraction of the next microsecond of work that is already completed, in millionths of 1 / den.
   hr__work_done_us updates `part`, so no work is lost if the speed changes within a microsecond of work. `den` is the
   same whenever `part` is used again. Both functions compute in 128 bits and limit the result to INT64_MAX / 2. */
static inline int64_t hr__time_left_us(int64_t work_us, uint64_t part, struct hr__rate rate) {
  if ((rate.ppm == HR__FULL_SPEED_PPM && rate.num == rate.den) || work_us == 0) return work_us;
  hr__wide_us speed = (hr__wide_us)rate.ppm * rate.num, full = (hr__wide_us)HR__FULL_SPEED_PPM * rate.den;
  hr__wide_us time_us = ((hr__wide_us)(uint64_t)work_us * full - part + speed - 1) / speed;
  return time_us < HR__MAX_TIME_US ? (int64_t)time_us : HR__MAX_TIME_US;
}

static inline int64_t hr__work_done_us(int64_t time_us, struct hr__rate rate, uint64_t *part) {
  if ((rate.ppm == HR__FULL_SPEED_PPM && rate.num == rate.den) || time_us == 0) return time_us;
  hr__wide_us speed = (hr__wide_us)rate.ppm * rate.num, full = (hr__wide_us)HR__FULL_SPEED_PPM * rate.den;
  hr__wide_us work = (hr__wide_us)(uint64_t)time_us * speed + *part, work_us = work / full;
  *part = (uint64_t)(work % full);
  return work_us < HR__MAX_TIME_US ? (int64_t)work_us : HR__MAX_TIME_US;
}

/* Returns the time that work takes, rounded up; at most INT64_MAX / 2. */
static inline int64_t hr__time_for_us(int64_t work_us, uint32_t speed_ppm) {
  return hr__time_left_us(work_us, 0, (struct hr__rate){speed_ppm, 1, 1});
}

/* Returns the work that is completed in a given time, rounded down; at most INT64_MAX / 2. */
static inline int64_t hr__work_in_us(int64_t time_us, uint32_t speed_ppm) {
  uint64_t part = 0;
  return hr__work_done_us(time_us, (struct hr__rate){speed_ppm, 1, 1}, &part);
}

/* ---- Speeds by network ---- */

/* The speeds by network. For each model of the trace and each kind of link, `spans` has the range of rows in the
   table. */
struct hr__network_speeds {
  const struct hr_network_speeds *table; /* if NULL, links do not affect speeds */
  struct hr_network_span *spans;         /* [models + 1][HR_N_NETWORKS]; spans[models] is for jobs without a model */
  uint32_t min_ppm;                      /* the minimum speed */
};

/* Initializes the speeds by network, with memory from the arena. `table` may be NULL. It is ignored if no pool
   specifies its networks. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace);

/* ---- Accept classes (requests.c) -------------------------------------------------------------------- */

/* The pools that a job accepts. They depend on GPU type, GPU memory, region and MIG profile, on the job classes that
   a pool serves, on whether the job's model runs in the pool, and on whether the job may use spot capacity. Jobs
   that accept the same pools have the same accept class, which is a number. Jobs of the same accept class can share
   a queue. */

/* Distinct sets of pools. Each set is a row of flags, one per pool. */
struct hr__pool_sets {
  uint8_t *row; /* [count][n_pools] */
  uint32_t count, n_pools;
};

struct hr__accepts {
  struct hr__pool_sets by_gpu, by_region, by_class, by_memory, by_part; /* in each of these, set 0 contains all pools */
  /* [lists + 1]: the index of a set. Element 0 is for jobs without a list, element i + 1 for list i of the trace */
  uint32_t *set_of_gpus, *set_of_regions;
  uint32_t set_of_class[HR_N_CLASSES];
  /* [profiles + 1]: the index of a set. Element 0 is for jobs that name no MIG profile, element i + 1 for profile i of
     the trace */
  uint32_t *set_of_profile;
  uint32_t *memory_mib; /* [n_memories]: the distinct GPU memory sizes of the pools in MiB, ascending */
  /* [n_memories + 1]: element k is the set for jobs with a requested memory that exceeds exactly k of these sizes */
  uint32_t *set_of_memory;
  uint32_t n_memories;
  const struct hr_trace *trace;
  const struct hr_class_spec *job_classes; /* may be NULL */
  bool has_spot;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets by_speed; /* set 0 contains all pools */
  uint32_t *set_of_rows;         /* [rows + 1]: the index of a set, by row of the table of speeds */
  struct hr__pool_sets classes;  /* the accept classes; class 0 contains all pools that have nodes */
  /* the accept class, by the indices of the six sets:
     [2][by_class.count][by_region.count][by_gpu.count][by_speed.count][by_part.count][by_memory.count]; the second half
     is for jobs that must not use spot capacity */
  uint32_t *class_of;
  /* the classes of jobs without GPUs and with GPUs, if the trace has no column that affects accept classes */
  uint32_t plain[2];
};

/* Initializes the accept classes, with memory from the arena. `job_classes` may be NULL. `trace`, `job_classes` and
   `speeds` must exist as long as `accepts` is used. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *job_classes, const struct hr__speed_table *speeds);

/* Returns the accept class of a job. In a streamed run, hr__speeds_find_row must have been called for the job. */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Returns the reason why a job of accept class `class_` does not accept the pool. The properties are checked in this
   order: GPU type, memory, region, MIG profile, job class, spot. The first property that does not match is the reason.
   Returns HR_REASON_NONE if the job accepts the pool. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool);

/* ---- The state of a cluster ------------------------------------------------------------------------- */

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* The state of a node, in clusters in which nodes come and go (are requested, boot, and go down again). */
struct hr__node {
  int64_t since_us;  /* when the node was requested; with queued provisioning, when the provider delivers the node */
  int64_t queued_us; /* how long the provider let the request wait before that */
  int64_t down_us;   /* when the node will go down; HR_NEVER_US if unknown */
  int64_t dies_us;   /* when the node will be reclaimed because of its age; HR_NEVER_US if never */
  uint32_t launches;
  uint8_t state;  /* enum hr_node_state */
  bool is_queued; /* the cluster counts the node as booting, but the provider has not delivered it yet */
};

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint32_t usable_nodes; /* how many nodes the policy lets jobs use at the same time */
  uint64_t size_milli;   /* the capacity of all nodes of the pool, in whatever state they are */
  /* total_milli: the capacity of the nodes that are present; free_milli: the free capacity of the nodes on which jobs
     may start */
  uint64_t total_milli, free_milli;
  struct hr_free_index *index; /* how many whole GPUs are free on each node; 0 for nodes on which no job may start */
  /* The following members are 0 unless nodes of the pool come and go. */
  bool comes_and_goes;            /* the pool is elastic, reserved for a limited time, or its nodes may fail or
                                     have maintenance */
  double reclaims_per_h;          /* mean number of reclaims per hour of a node that is up */
  uint32_t n_in[HR__NODE_STATES]; /* for each state, how many nodes are in it */
  uint32_t obtainable;            /* nodes 0 .. obtainable - 1 are available or in use */
  uint32_t n_queued;              /* how many of the booting nodes the provider has not delivered yet */
  uint32_t n_offered;             /* how many of the nodes 0 .. obtainable - 1 are off and so can be requested */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  /* the first pool that has nodes, or pool 0 if no pool has nodes; jobs that need no node are recorded in this pool */
  hr_pool first_pool;
  uint64_t total_milli, free_milli;
  uint32_t *node_free_milli; /* [n_nodes]; 0 for nodes that are not present */
  struct hr__node *nodes;    /* [n_nodes]; NULL if no node comes and goes */
  const struct hr_trace *trace;
  const struct hr_class_spec *classes; /* may be NULL */
  struct hr__accepts accepts;
  struct hr_gpu_inventory *inventory; /* NULL in counted allocation */
  struct hr_requests *requests;       /* NULL in counted allocation */
  uint32_t tiers_within;              /* a set of bits 1 << enum hr_tier: the tiers that jobs require */
  bool resizes;                       /* elastic jobs may have fewer or more GPUs than they request */
  /* this is a copy of the state of other clusters; in counted allocation it has no valid free index, and the free
     capacity of its nodes belongs to these clusters */
  bool is_copy;
};

/* Initializes the cluster, with memory from the arena. `classes` may be NULL. `spec`, `trace`, `classes` and `speeds`
   must exist as long as the cluster is used. Nodes that come and go are initially off. Returns HR_OK or
   HR_NO_MEMORY. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* Allocates a placement to a job. Returns NULL on success. If the placement breaks a rule, the function allocates
   nothing and returns a description of the rule. */
const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* In a copy with per-GPU allocation: allocates or releases a placement that another cluster has checked. `request` is
   the job's request in that cluster, because nodes of another size can split the job into other tasks. */
void hr__cluster_follow(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                        const struct hr_request *request, bool starts);
/* Finds the tiers that jobs require and, for each of these tiers, makes an index of its node groups (cluster_spec.c).
   Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena);
/* Returns true if the job requires a tier and no group of this tier in the pool has room for the job, even if the pool
   is empty. The caller has checked that the whole empty pool has room for the job. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* hr__cluster_release releases a placement. hr__cluster_undo_allocate undoes an allocation that was made at the present
   instant, including changes of MIG layouts. */
void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Undoes a release that was made at the present instant. It works even if the nodes of the placement have got notice,
   so that no new job may start on them. */
void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Changes the state of a node that comes and goes. A node that goes off must have no jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Makes nodes 0 .. obtainable - 1 of the pool available from now on, and no others. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Returns the reason why a job could not run even if the cluster were empty, or HR_REASON_NONE if it could. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);
/* Returns how many copies of a job with GPUs the empty pool can hold at once: an upper bound, as restrictions of the
   locality, quotas and failures are ignored. 0 if the job does not accept the pool. */
uint64_t hr__cluster_max_copies(const struct hr_cluster *cluster, hr_pool pool, hr_job job);

/* Returns the pool of a node. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

/* ---- Requests (requests.c) ---- */

/* Creates the table of requests as hr_requests_create does, for the jobs of accepts->trace. `accepts` must exist as
   long as the table is used. In a streamed run this function only counts the jobs of each request. The request of each
   job is recorded later by hr__requests_submit. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster);
/* Records the request of a job. This function is called when the job is submitted, and only in streamed runs. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job);

/* ---- MIG instances (gpu_inventory.c) ---- */

/* Returns a set of MIG profiles: those of which the GPU of the slice could still provide an instance after the slice
   was allocated. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);
/* Returns for how many tasks the GPUs `first` to `first` + `n_gpus` - 1 of an empty node have instances. The pool must
   use MIG. See hr_gpu_inventory_mig_room. */
uint64_t hr__gpu_inventory_mig_empty_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_pool pool, uint32_t first, uint32_t n_gpus);

/* ---- Free index (cluster.c) ---- */

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at; /* [gpus_per_node + 1]: for each number of free GPUs, the set of nodes with this number */
  uint64_t *levels;   /* the set of those numbers of free GPUs that at least one node has */
  uint32_t *count_at; /* [gpus_per_node + 1]: for each number of free GPUs, how many nodes have it */
  uint32_t *free;     /* [n_nodes]: how many GPUs of each node are free */
  struct hr_group_index *groups; /* linked list of the group indices that are updated with this index */
};

/* Returns whether the group indices agree with the free GPUs of the nodes. Used in checked mode. */
bool hr__group_index_is_consistent(const struct hr_free_index *index);

#endif
