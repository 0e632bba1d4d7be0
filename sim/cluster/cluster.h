/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The internal interface of sim/cluster: names of GPU types, speeds of jobs, the pools that jobs accept, the requests
   of jobs, and the state of a cluster. The state consists of the free capacity and the states of nodes. */

#include "base/containers.h"
#include "headroom/cluster.h"
#include "headroom/policy.h"
#include "headroom/trace.h"

/* ---- Names of GPU types (requests.c) ---------------------------------------------------------------- */

/* The same GPU type has different names in Slurm ("gpu:a100"), Kubernetes ("NVIDIA-A100-SXM4-80GB"), clouds
   ("nvidia-tesla-t4") and nvidia-smi ("Tesla V100-SXM2-16GB"). */

enum { HR__GPU_KEY_BYTES = 64 };

/* Writes the key of a name of `length` bytes to `key`, terminated by '\0', and returns the length of the key. Two names
   mean the same type if their keys are equal and not empty. The key consists of the letters and digits of the name in
   lower case. The vendor, and the parts that Slurm and the GPU operator add to a name, are omitted. A key that would
   not fit in HR__GPU_KEY_BYTES is empty. */
size_t hr__gpu_name_key(const char *name, size_t length, char key[HR__GPU_KEY_BYTES]);

/* Writes to `set` ([n_pools], 1 or 0) the pools that a job accepts if it requests the GPU types in `list`. The names in
   the list are separated by '|'. Each name selects pools as follows:
   - If the type of some pool equals the name, ignoring case, the name selects the pools of this type only.
   - Otherwise the name selects the pools that have the same key as the name: the key of their type or of another name
     (`gpu_names`). */
void hr__gpu_names_select(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set);

/* Returns the name of the NULL-terminated list `known` that is most similar to an unknown name of `length` bytes.
   Returns NULL if no name is similar. The keys of the names are compared; the letter O equals the digit 0, and the
   letters I and L equal 1. Of equally similar names, the first is returned. Sets `*same_model` to false if the unknown
   name may belong to another product because its model differs: "A10" and "A10G" are one model, "A40" and "A30" are
   two. Otherwise sets it to true. */
const char *hr__gpu_name_nearest(const char *name, size_t length, const char *const *known, bool *same_model);

/* ---- Speeds (cluster_spec.c) ------------------------------------------------------------------------ */

/* The speeds of jobs in a run, and the conversion between work and time. The speed of a job depends on the GPU type and
   the power limit of its pool, and on the network that joins its GPUs. A speed is in ppm of the reference speed. */

enum { HR__FULL_SPEED_PPM = 1000000 };

#define HR__MAX_TIME_US (INT64_MAX / 2)
__extension__ typedef unsigned __int128 hr__wide_us;

struct hr__speed_table {
  const struct hr_speeds *table; /* NULL: speeds do not depend on the GPU type */
  uint32_t *row_of; /* [n_jobs]: the job's row of the table; HR_NONE for a job without GPUs. In a streamed run, valid
                       only after the job is submitted. NULL if `table` is NULL */
  struct hr__row_span {
    uint32_t first, count;
  } * spans;        /* [models]: for each model of the trace, the range of its rows in the table */
  uint32_t min_ppm; /* a lower bound of all speeds above 0 in pools with nodes, including power limits */
  /* [n_pools]: the power settings of each pool with a power limit for GPUs (headroom/power.h); NULL for other pools.
     The array is NULL if no pool has a limit */
  const struct hr_power_spec **limited;
  /* level of the power limits, 0 .. HR__CAP_LEVELS (sim/power/power.h). Level 0: the limits of the pools. Above 0: the
     power budget of the cluster lowers these limits */
  uint32_t level;
  const struct hr_trace *trace;
  const struct hr_class_spec *classes;
};

/* Initializes the speeds, with memory from the arena. If `table` is not NULL, it must have a column for each pool of
   the cluster, and it must exist as long as the speeds are used. Except in a streamed run, the function also finds the
   rows of all jobs. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace);
/* Adds the power limits of the pools, with memory from the arena. `classes` may be NULL. `trace` and `classes`
   determine the power of a job. Must be called after hr__speeds_init. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__speeds_limit(struct hr__speed_table *speeds, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *classes);
/* Returns whether the speed of jobs depends on the pool. */
static inline bool hr__speeds_vary(const struct hr__speed_table *speeds) {
  return speeds->table || speeds->limited;
}

/* Stores the row of a job in `row_of`. Has no effect if `table` is NULL. In a streamed run, and for replicas of
   services, this must be called before the speed or the accept class of the job is used. For other jobs,
   hr__speeds_init calls it. */
void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job);

static inline uint32_t hr__speed_of_row(const struct hr_speeds *table, uint32_t row, uint32_t pool) {
  return table->ppm[(size_t)row * table->n_pools + pool];
}

/* Returns the speed of a job in a pool with a power limit. `ppm`: the speed of the job without the limit. */
uint32_t hr__speed_limited_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool, uint32_t ppm);

/* Returns the speed of a job in a pool, as determined by the GPU type of the pool and its power limit. Jobs without
   GPUs have no row in the table and run at full speed. */
static inline uint32_t hr__speed_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool) {
  uint32_t ppm = HR__FULL_SPEED_PPM;
  if (speeds->table && speeds->row_of[job.id] != HR_NONE)
    ppm = hr__speed_of_row(speeds->table, speeds->row_of[job.id], pool.id);
  return speeds->limited ? hr__speed_limited_ppm(speeds, job, pool, ppm) : ppm;
}

/* The speed of a job: ppm * num / den, in ppm of the reference speed. For an elastic job, num / den is the speed with
   the present number of GPUs, relative to the speed with the requested number. For other jobs, num / den is 1. */
struct hr__rate {
  uint32_t ppm, num, den;
};

/* hr__time_left_us returns the time that work takes, rounded up. hr__work_done_us returns the work that is completed in
   a given time, rounded down. Because of this rounding, work is always complete after the time that hr__time_left_us
   returns. `part` is the fraction of the next microsecond of work that is already completed, in units of
   1 / (1,000,000 * den). hr__work_done_us updates `part`, so no work is lost if the speed changes within a microsecond
   of work. All calls with the same `part` must have the same `den`. Both functions compute in 128 bits. Unless the
   speed is the reference speed, they limit the result to INT64_MAX / 2. */
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

/* Returns the time that work takes at a speed in ppm, rounded up. */
static inline int64_t hr__time_for_us(int64_t work_us, uint32_t speed_ppm) {
  return hr__time_left_us(work_us, 0, (struct hr__rate){speed_ppm, 1, 1});
}

/* Returns the work that is completed in a given time at a speed in ppm, rounded down. */
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
  uint32_t min_ppm;                      /* the minimum speed of the table, at most 1,000,000 */
};

/* Initializes the speeds by network, with memory from the arena. `table` may be NULL. The table is ignored if no pool
   with nodes specifies a network. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace);

/* ---- Accept classes (requests.c) -------------------------------------------------------------------- */

/* The pools that a job accepts. Jobs that accept the same pools have the same accept class, which is a number. Jobs of
   the same accept class can share a queue. The accepted pools depend on:
   - the GPU types, the GPU memory, the regions and the MIG profile that the job requests,
   - the job classes that a pool serves,
   - whether the job's model runs in the pool (its speed there is above 0),
   - whether the job may use spot capacity. */

/* Distinct sets of pools. Each set is a row of flags, one per pool. */
struct hr__pool_sets {
  uint8_t *row; /* [count][n_pools] */
  uint32_t count, n_pools;
};

/* The properties of a job that determine which pools it accepts. Each value of a property selects a set of pools. */
enum hr__accept_kind {
  HR__ACCEPT_CLASS,  /* the job class */
  HR__ACCEPT_REGION, /* the list of regions: its number in the trace */
  HR__ACCEPT_GPU,    /* the list of GPU types: its number in the trace */
  HR__ACCEPT_SPEED,  /* the row of the table of speeds */
  HR__ACCEPT_PART,   /* 1 + the number of the MIG profile in the trace; 0: the job has GPUs and names no profile */
  HR__ACCEPT_MEMORY, /* the number of elements of `memory_mib` that the requested GPU memory exceeds */
  HR__ACCEPT_KINDS
};

struct hr__accepts {
  struct hr__pool_sets by[HR__ACCEPT_KINDS]; /* in each of these, set 0 contains all pools */
  /* the index of a set, by value of the property + 1; element 0 is for HR_NONE and is 0 */
  uint32_t *set_of[HR__ACCEPT_KINDS];
  uint32_t *memory_mib; /* [n_memories]: the distinct GPU memory sizes of the pools in MiB, ascending */
  uint32_t n_memories;
  const struct hr_trace *trace;
  const struct hr_class_spec *job_classes; /* may be NULL */
  bool has_spot;
  const struct hr__speed_table *speeds;
  struct hr__pool_sets classes; /* the accept classes; class 0 contains all pools that have nodes */
  /* the accept class for each combination of the indices of six sets: [2][by[0].count] .. [by[5].count]. The second
     half is for jobs that must not use spot capacity */
  uint32_t *class_of;
  /* plain[0] is the accept class of all jobs without GPUs, plain[1] that of all jobs with GPUs. Used only for runs
     without a table of speeds if the trace has no column that affects accept classes */
  uint32_t plain[2];
};

/* Initializes the accept classes, with memory from the arena. `job_classes` may be NULL. `trace`, `job_classes` and
   `speeds` must exist as long as `accepts` is used. Returns false if memory is exhausted. */
bool hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                      const struct hr_trace *trace, const struct hr_class_spec *job_classes,
                      const struct hr__speed_table *speeds);

/* Returns the accept class of a job. In a streamed run, hr__speeds_find_row must have been called for the job. */
uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job);

static inline bool hr__accepts_pool(const struct hr__accepts *accepts, uint32_t class_, uint32_t pool) {
  return accepts->classes.row[(size_t)class_ * accepts->classes.n_pools + pool];
}

/* Returns the reason why a job does not accept the pool, or HR_REASON_NONE if it accepts the pool. `class_` is the
   accept class of the job. The properties are checked in this order: GPU type, memory, region, MIG profile, job class,
   spot. The first property that does not match is the reason. A pool in which the job's model has speed 0 counts as a
   pool with the wrong GPU type. */
enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool);

/* ---- The state of a cluster ------------------------------------------------------------------------- */

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* The state of a node. The state is stored only in clusters with nodes that come and go. Such nodes are not always
   present. */
struct hr__node {
  int64_t since_us;  /* when the node was last requested; with queued provisioning, when the provider delivers it */
  int64_t queued_us; /* queued provisioning: time from the request to the delivery; otherwise 0 */
  int64_t down_us;   /* when the node goes down; HR_NEVER_US: unknown */
  int64_t dies_us;   /* when the provider reclaims the node because of its age; HR_NEVER_US: never */
  uint32_t launches; /* number of requests for the node so far; each launch has separate random numbers */
  uint8_t state;     /* enum hr_node_state */
  bool is_queued;    /* the cluster counts the node as booting, but the provider has not delivered it yet */
};

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint32_t usable_nodes; /* maximum number of nodes that the policy lets jobs use at the same time */
  uint64_t size_milli;   /* the capacity of all nodes of the pool, in all states */
  /* total_milli: the capacity of the nodes that are present (up or closing). free_milli: the free capacity of the nodes
     on which jobs may start */
  uint64_t total_milli, free_milli;
  struct hr_free_index *index; /* how many whole GPUs are free on each node; 0 for nodes on which no job may start */
  /* The following members, except `n_in`, are 0 unless nodes of the pool come and go. */
  bool comes_and_goes;   /* nodes of the pool are not always present: the pool is elastic or exists for a limited time,
                            its nodes may fail, have maintenance or sleep, or it has spares or a power budget */
  double reclaims_per_h; /* spot: mean number of reclaims per hour in which a node is up */
  uint32_t n_in[HR__NODE_STATES]; /* for each state, the number of nodes in this state */
  uint32_t obtainable;            /* nodes 0 .. obtainable - 1 are available or in use (see market.c) */
  uint32_t n_queued;              /* number of booting nodes that the provider has not delivered yet */
  uint32_t n_offered;             /* number of nodes below `obtainable` that are off, so they can be requested */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  /* the first pool that has nodes, or pool 0 if no pool has nodes; jobs that need no node are recorded in this pool */
  hr_pool first_pool;
  uint64_t total_milli, free_milli; /* sums over the pools */
  uint32_t *node_free_milli;        /* [n_nodes]; 0 for nodes that are not present */
  struct hr__node *nodes;           /* [n_nodes]; NULL if no node comes and goes */
  const struct hr_trace *trace;
  const struct hr_class_spec *classes; /* may be NULL */
  struct hr__accepts accepts;
  struct hr_gpu_inventory *inventory; /* NULL in counted allocation */
  struct hr_requests *requests;       /* NULL in counted allocation */
  uint32_t tiers_within;              /* the tiers that jobs require, as a set of bits 1 << enum hr_tier */
  bool resizes;                       /* elastic jobs may have fewer or more GPUs than they request */
  /* this object is a copy of the state of all clusters of a run. Its free indices are not updated. In counted
     allocation it shares `node_free_milli` with these clusters, and only they change this array */
  bool is_copy;
};

/* Initializes the cluster, with memory from the arena. `classes` may be NULL. `spec`, `trace`, `classes` and `speeds`
   must exist as long as the cluster is used. Nodes of elastic pools and of pools that exist for a limited time are off
   at first. All other nodes are up. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* Allocates a placement to a job. Returns NULL on success. If the placement breaks a rule, the function allocates
   nothing and returns a description of the rule. */
const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* Updates a copy with per-GPU allocation (`is_copy`): allocates a placement that another cluster has checked (`starts`
   is true), or releases it. `request` is the job's request in that other cluster. The job's request in the copy can
   differ from it, because the size of the largest node determines how a job is divided into tasks. */
void hr__cluster_follow(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                        const struct hr_request *request, bool starts);
/* Returns whether a pool that jobs of the class accept has nodes with at least `gpus` GPUs. */
bool hr__cluster_has_node_for(const struct hr_cluster *cluster, uint32_t accept_class, uint32_t gpus);
/* Returns the entry of a job in the table of requests, or NULL in counted allocation. */
static inline const struct hr_request *hr__cluster_request(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_requests *requests = cluster->requests;
  return requests ? &requests->request[requests->of_job[job.id]] : NULL;
}
/* Finds the tiers that jobs require (cluster_spec.c). In counted allocation, also makes an index of the node groups of
   each required tier. Returns false if memory is exhausted. */
bool hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena);
/* Returns whether the job can never be placed in the pool because of the tier that it requires: no group of this tier
   has room for the job, even if the pool is empty. Returns false if the requirement ends at some time. The caller has
   checked that the whole empty pool has room for the job. `request` is NULL in counted allocation. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* hr__cluster_release releases a placement. hr__cluster_undo_allocate undoes an allocation that was made at the present
   instant, including changes of MIG layouts. */
void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Undoes a release that was made at the present instant. Nodes of the placement may have notice, although no new job
   may start on such nodes. */
void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Changes the state of a node. `cluster->nodes` must not be NULL. A node that changes to HR_NODE_OFF must have no
   jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Changes the state of a node to HR_NODE_UP. Its GPUs get their initial MIG layouts, unless the node is HR_NODE_CLOSING
   and only opens again. */
void hr__cluster_put_up(struct hr_cluster *cluster, hr_node node);
/* Sets the nodes that are available from now on: nodes 0 .. obtainable - 1 of the pool. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Returns the reason why a job could not run even if the cluster were empty. Returns HR_REASON_NONE if it could run. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);
/* Returns an upper bound of the number of copies of a job that can run in the empty pool at once. Locality, quotas and
   failures are ignored. Returns 0 if the job does not accept the pool. The job must request GPUs. */
uint64_t hr__cluster_max_copies(const struct hr_cluster *cluster, hr_pool pool, hr_job job);

/* Returns the pool of a node. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

/* ---- Requests (requests.c) ---- */

/* Creates the table of requests as hr_requests_create does, for the jobs of accepts->trace. `accepts` must exist as
   long as the table is used. In a streamed run, this function collects the requests and counts the jobs of each
   request; hr__requests_submit later records the request of each job. Returns NULL if memory is exhausted. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster);
/* Records the request of a job. This function is called when a job is submitted in a streamed run, and when a replica
   of a service is submitted. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job);

/* ---- MIG instances (gpu_inventory.c) ---- */

/* Returns the set of MIG profiles of which the GPU of the slice could provide an instance after the slice is
   allocated. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);
/* Returns the number of tasks for which the GPUs `first` to `first` + `n_gpus` - 1 of an empty node have instances. The
   pool must use MIG. Tasks are counted as by hr_gpu_inventory_mig_room. */
uint64_t hr__gpu_inventory_mig_empty_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_pool pool, uint32_t first, uint32_t n_gpus);

/* ---- Free index (cluster.c) ---- */

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at; /* [gpus_per_node + 1]: for each number of free GPUs, the set of nodes with this number */
  uint64_t *levels;   /* the numbers of free GPUs that at least one node has, as a set */
  uint32_t *count_at; /* [gpus_per_node + 1]: for each number of free GPUs, the number of nodes that have it */
  uint32_t *free;     /* [n_nodes]: the number of free GPUs of each node */
  struct hr_group_index *groups; /* linked list of the group indices that are updated with this index */
};

/* Returns whether the group indices agree with the free GPUs of the nodes. Used in checked mode. */
bool hr__group_index_is_consistent(const struct hr_free_index *index);

#endif
