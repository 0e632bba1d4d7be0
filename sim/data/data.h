/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_DATA_H
#define HR_SIM_DATA_DATA_H

/* The data of a run, which is at storage systems: jobs that read data, flows of data in time, and the state of storage
   systems and caches. The other files of the engine use only the first part of this header. */

#include "base/containers.h"
#include "headroom/base.h"
#include "headroom/unstable/data.h"
#include "sim/clusters/clusters.h"
#include "sim/engine/engine.h"

/* ---- Jobs that read data (data.c) ------------------------------------------------------------------- */

/* The functions that other files of the engine call. All of them except hr__data_next_flow and hr__data_result may be
   called only if engine->data is not NULL. */

/* Returns whether a running job reads data. */
bool hr__data_reads(const struct hr__engine *engine, hr_job job);
/* Called when a job that reads data begins to work. `until_us`: how long the job works until its next event, at the
   speed of its GPUs. `kind`: the kind of this event. Begins a flow of the job. If the job reads nothing from storage
   until this event, schedules the event instead. */
enum hr_status hr__data_work(struct hr__engine *engine, hr_job job, int64_t until_us, enum hr__pending_kind kind);
/* Returns whether a working job has a flow. */
bool hr__data_flows(const struct hr__engine *engine, hr_job job);
/* Returns how long a working job has worked in its present phase, without the time for which it waited for data. */
int64_t hr__data_worked_us(const struct hr__engine *engine, hr_job job);
/* Called when a job that reads data stops working or changes its speed. Counts the bytes that it has read, and ends its
   flow. `from_us`: the completed work when the job began to work. `to_us`: the completed work now. */
void hr__data_pause(struct hr__engine *engine, hr_job job, int64_t from_us, int64_t to_us);

/* The weights that a replica of a service loads. */
struct hr__data_load {
  uint32_t set; /* the data set with the weights */
  /* keeps: the weights are stored in the caches of the nodes. are_there: the weights are already on the nodes */
  bool keeps, are_there;
};
/* Loads the weights of a replica onto the nodes of its job. If the load takes time, sets `*begun` to true; the hook
   `loaded` is then called at the end of the load, unless the job is stopped before. Sets `*begun` to false if all
   weights are available at once. */
enum hr_status hr__data_load(struct hr__engine *engine, hr_job job, struct hr__data_load load, bool *begun);

/* Checkpoints. Returns the index of the storage system for checkpoints of jobs in a pool; HR_NONE: no such storage
   system. */
uint32_t hr__data_storage_of(const struct hr__engine *engine, hr_pool pool);
/* Begins to write a checkpoint of a job. When the write is complete, the component `attempts` handles an event
   HR__PENDING_PHASE of the job. */
enum hr_status hr__data_write(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib);
/* Cancels the checkpoint that a job is writing. Has no effect if the job writes none. */
enum hr_status hr__data_cancel_write(struct hr__engine *engine, hr_job job);
/* Returns how long a checkpoint takes that begins now. `is_alone`: no other flow is active. Without `is_alone`, the
   result is an estimate: all active flows have the same rate. */
int64_t hr__data_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib, bool is_alone);

/* Returns whether a job in the pool would read its data set on a path that crosses no link (struct hr__data_path).
   Returns true if the job reads no data. */
bool hr__data_is_local(const struct hr__engine *engine, hr_job job, hr_pool pool);

/* Returns whether some flow of the run is active. */
bool hr__data_is_active(const struct hr__engine *engine);

/* Returns the first job with an id >= `from` that runs in this engine and has a flow, but no pending event of its own.
   Returns HR_NONE if no such job exists. For checked mode. */
uint32_t hr__data_next_flow(const struct hr__engine *engine, uint32_t from);

/* Moves the result of the run to `*result`. Sets `*result` to NULL if the run has no data. */
enum hr_status hr__data_result(struct hr__engine *engine, struct hr_data_result **result);

/* ---- Flows (storage.c) ------------------------------------------------------------------------------ */

/*
 * Flows of data in time. A flow ends when all its data are transferred. Bandwidth is shared max-min fair among the
 * active flows. When a flow begins or ends, the rates of other flows may therefore change. Paths, caps and levels are
 * defined in sim/clusters/clusters.h.
 *
 * The demand of a flow is the lowest rate at which its reader never waits for data. The length of a flow is the time
 * that the flow takes at this rate. The cap of a flow is its demand, or the highest rate that its path allows if this
 * rate is lower. The path may have a limit per client; each node of the job is a client. A flow with a reader that
 * never waits for data takes exactly the length of the flow, to the microsecond.
 *
 * Layout: flows with the same path and cap are one flow class. A class has one clock, which advances at the speed
 * rate / cap. A class is capped if its rate is its cap. The clock of a capped class advances with the time. The rate of
 * all other classes is the level of their path. Their clocks advance with the service of the path, which is the
 * integral of the level over time. If a level changes, only the classes for which `is_capped` changes are updated.
 * Their flows are not updated.
 *
 * Three kinds of pairing heaps find the flow that ends next:
 *   - Each class has a heap of its flows, ordered by the clock at which a flow ends.
 *   - Each path has a heap of its classes that are not capped, ordered by the service at which their first flow ends.
 *   - One heap contains all capped classes, ordered by the time at which their first flow ends.
 *
 * The start or end of a flow computes all levels (hr__shares_solve). The heaps then need O(log n) time, plus O(log n)
 * for each class for which `is_capped` changes, and O(1) for each path.
 *
 * The unit of rates is 2^-10 bytes per second. The unit of clocks is 2^-20 us. The unit of services is the product of
 * the unit of rates and 1 us.
 */

/* The number of units in a rate of 1 byte per second. Rates are at most HR__MAX_BYTES_S (data.c), so that products fit
   into 128 bits. */
#define HR__RATE_UNITS UINT64_C(1024)
enum { HR__CLOCK_BITS = 20 };

/* A node of a pairing heap. Links are indices + 1; 0: none. */
struct hr__heap_node {
  hr__wide key;
  /* child: the first child. next: the next child of the same parent. before: of a first child, the parent; of other
     children, the previous child of the same parent */
  uint32_t child, next, before;
};

/* A flow. */
struct hr__data_flow {
  struct hr__heap_node node; /* key: the clock of the class at which the flow ends */
  hr__wide begin;            /* the clock of the class when the flow began */
  hr__wide demand;           /* demand >= cap of its class */
  uint32_t class_;           /* index in hr__flows.classes; HR_NONE: the flow is not active */
};

/* A flow class. */
struct hr__flow_class {
  struct hr__heap_node node; /* in the heap of capped classes or in the heap of its path */
  /* clock: the value of the clock at `from`. from: a time if the class is capped; a service of the path if not */
  hr__wide clock, from;
  uint32_t flows; /* heap of its flows: index of the first flow + 1 */
  uint32_t count; /* the number of its flows */
  bool is_capped;
};

/* A path. */
struct hr__flow_path {
  hr__wide service; /* the integral of the level from the start of the run to `from_us` */
  int64_t from_us;  /* when `service` was computed */
  uint32_t level;   /* heap of the classes that are not capped: index of the first class + 1; 0: none */
  hr__wide was;     /* the level since `from_us` */
};

/* All flows of a run. */
struct hr__flows {
  struct hr__bandwidth shares;
  struct hr__flow_path *paths;
  struct hr__flow_class *classes; /* with the same indices as shares.classes */
  struct hr__data_flow *flows;
  /* unused: linked list of unused classes: index of the first class + 1; 0: none */
  uint32_t n_flows, n_classes, class_capacity, share_capacity, unused;
  uint32_t capped;   /* heap of the capped classes: index of the first class + 1; 0: none */
  uint32_t n_active; /* the number of active flows */
};

/* Before hr__flows_open, the caller must allocate all arrays of `flows` and `flows->shares` except the arrays of
   classes. The caller must set the paths and capacities of `flows->shares`; all other values must be 0. The arrays of
   classes grow when needed, and hr__flows_close frees them. */
void hr__flows_open(struct hr__flows *flows);
void hr__flows_close(struct hr__flows *flows);

/* Begins the flow with index `id` on a path. `length_us`: the length of the flow, >= 0. `carry`: the part of the length
   that has already passed, in 2^-20 us. `cap`: 1 <= cap <= demand. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__flows_begin(struct hr__flows *flows, uint32_t id, uint32_t path, hr__wide demand, hr__wide cap,
                               int64_t length_us, uint32_t carry, int64_t now_us);
/* Ends a flow, which must be active. */
void hr__flows_end(struct hr__flows *flows, uint32_t id, int64_t now_us);
/* Returns whether a flow is active. */
static inline bool hr__flows_has(const struct hr__flows *flows, uint32_t id) {
  return flows->flows[id].class_ != HR_NONE;
}
/* Returns the part of the length of an active flow that has passed, in 2^-20 us, without `carry`. */
hr__wide hr__flows_passed(const struct hr__flows *flows, uint32_t id, int64_t now_us);
/* Returns the flow that ends first, and sets `*at_us` to the time of its end. If several flows end at this time,
   returns the flow with the lowest index. If no flow makes progress, sets `*at_us` to HR_NEVER_US, and returns
   HR_NONE. */
uint32_t hr__flows_first(const struct hr__flows *flows, int64_t *at_us);
/* Returns the rate of an active flow. */
hr__wide hr__flows_rate(const struct hr__flows *flows, uint32_t id);

/* ---- Storage (storage.c) ---------------------------------------------------------------------------- */

/* The state of all data of a run: caches, data sets at storage systems, paths and copies. */

/* ---- Storage: caches of nodes ----------------------------------------------------------------------- */

/*
 * Caches of nodes. If a job runs on k nodes, the cache of each of these nodes stores 1/k of its data set. Each node
 * also reads from the caches of the other nodes. Space in the caches is reserved when a job starts. Free space is used
 * first, and then the space of data sets that no running job on the node reads. The data in the reserved space become
 * valid when the job has read the whole data set once. They remain valid for later jobs.
 *
 * Layout: a matrix of nodes x data sets. Sources: CoorDL (VLDB 2021), partitioned caching; Hoard (2018).
 */

struct hr__caches;

/* The bytes of a data set in the caches of all nodes of a job. taken: bytes with reserved space. valid: bytes that are
   already in the caches. */
struct hr__cached {
  int64_t taken, valid;
};

/* Reserves space for a job that starts. `set`, `bytes`: the data set of the job, and its size. `first_node`: the number
   of the first node of the placement's cluster in the whole run. `node_bytes`: the size of the cache of each node. */
struct hr__cached hr__caches_take(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                                  uint32_t set, int64_t bytes, int64_t node_bytes);
/* Must be called when a job has read its whole data set. The data in all reserved space are then valid. */
void hr__caches_fill(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                     uint32_t set);
/* Removes all data from the cache of a node, because another machine replaces the node. No job may be on the node. */
void hr__caches_clear(struct hr__caches *caches, hr_node node, uint32_t first_node);
/* Must be called when a job leaves its nodes. If no other job on a node reads the data set, the reserved space without
   valid data becomes free. */
void hr__caches_leave(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                      uint32_t set);
/* Returns how many bytes of a data set are in the cache of a node. */
int64_t hr__caches_valid(const struct hr__caches *caches, hr_node node, uint32_t first_node, uint32_t set);
/* Returns a number that changes when results of hr__caches_valid may have changed. */
uint64_t hr__caches_changes(const struct hr__caches *caches);

/* ---- Storage: the state of a run -------------------------------------------------------------------- */

/* The data that a running job reads and writes. */
struct hr__data_reader {
  struct hr__engine *engine;
  uint32_t set;           /* the data set that the job reads; HR_NONE: the job reads nothing */
  uint32_t path, n_nodes; /* the path of its flow; the number of its nodes */
  /* the share of its data that the job reads from storage, in 10^-9. first_ppb: in its first epoch at the present
     placement. later_ppb: in later epochs */
  uint32_t first_ppb, later_ppb;
  int64_t cold_until_us;   /* the completed work at the end of this first epoch */
  int64_t bytes, epoch_us; /* the bytes that the job reads in all its epochs; the work of an epoch */
  int64_t fill_bytes;      /* the bytes that must still be copied into the caches before the job works */
  int64_t length_us;       /* the length of its flow; for a checkpoint, the time at the cap */
  uint64_t write_bytes;    /* the size of the checkpoint that the job writes */
  /* carry: the completed part of the next microsecond of work, in 2^-20 us. began_with: `carry` when the flow began */
  uint32_t carry, began_with;
  /* continues: the flow ends before the job's next event. ends: this event is the end of the job. writes: the flow is a
     checkpoint. fills: the flow copies data into the caches */
  bool continues, ends, writes, fills;
  /* for the job of a replica: the data set with its weights. When the job started, `cached_bytes` of the weights were
     in the caches of its nodes and `load_bytes` were not. loads: the flow loads weights. has_room: the job has reserved
     space in the caches of its nodes */
  uint32_t weights;
  int64_t load_bytes, cached_bytes;
  bool loads, has_room;
};

/* A path of data from a storage system. link: the link that the data cross; HR_NONE: no link. to: the storage system to
   which the data are copied; HR_NONE: clients read the data. */
struct hr__data_path {
  uint32_t storage, link, to;
};

/* The state of a data set at a storage system. */
struct hr__data_copy {
  bool is_there, is_coming; /* is_there: the data set is complete. is_coming: it is being copied there */
  int64_t since_us;         /* since when the data set is complete */
};

/* The data of a run. All clusters share them. */
struct hr__data {
  const struct hr_data_spec *spec;
  struct hr__engine *first; /* the engine that created the state; it handles the ends of copies of data sets */
  struct hr__flows flows;   /* the flows of jobs by job id, then the copies by data set and storage system */
  struct hr__data_path *paths;
  struct hr__data_reader *readers; /* by job */
  struct hr__data_copy *replicas;  /* [sets x storage] */
  uint32_t *route;                 /* [sets x pools]: the path on which the pool reads the data set; HR_NONE: none */
  uint32_t *set_of_name;           /* by name of a data set in the trace: its index */
  struct hr__caches *caches;       /* NULL if no pool has caches */
  struct hr_data_result result;
  int64_t next_us; /* the time of the valid pending event HR__PENDING_DATA; other such events are outdated */
  uint32_t n_jobs;
  enum hr_status status; /* the status of functions that return no status */
  hr_amount lost_bytes;  /* counts bytes that have no other counter because memory is exhausted */
  uint64_t n_changes;    /* the number of copies of data sets that became complete */
};

/* Converts a rate from bytes per second to the unit of rates. */
static inline hr__wide hr__rate_units(int64_t bytes_s) {
  return (hr__wide)(uint64_t)bytes_s * HR__RATE_UNITS;
}

/* Returns the time in microseconds that a transfer takes at a rate, rounded up. */
static inline int64_t hr__transfer_us(uint64_t bytes, hr__wide rate) {
  return (int64_t)(((hr__wide)bytes * 1000000 * HR__RATE_UNITS + rate - 1) / rate);
}

/* Returns the path of an active flow. */
static inline uint32_t hr__data_path_of_flow(const struct hr__data *data, uint32_t flow) {
  return data->flows.shares.classes[data->flows.flows[flow].class_].path;
}

/* Creates the state of all data. `engine`: the engine of the first cluster. `owner`: the engine that owns the memory,
   which is the engine of the whole run. Both are the same if the run has only one cluster. */
enum hr_status hr__data_open(struct hr__engine *engine, struct hr__engine *owner);
/* Begins the copies of data sets that must begin at the start of the run. */
enum hr_status hr__data_begin_copies(struct hr__engine *engine);
/* Counts the bytes that incomplete copies have transferred, and the storage that was used until the end of the run. */
void hr__data_settle(struct hr__data *data, int64_t end_us);
/* Frees the memory that is not in the arena. */
void hr__data_close(struct hr__data *data);

/* Schedules the end of the flow that ends first, in the engine to which this flow belongs. */
enum hr_status hr__data_schedule(struct hr__engine *engine);
/* Returns the index of a path in `paths`. If the path is new, it is added first. The arrays have room for all possible
   paths. */
uint32_t hr__data_add_path(struct hr__data *data, struct hr__data_path path);
/* hr__data_narrowest returns the minimum of the capacities on a path. hr__data_cap returns the maximum rate of a flow
   with this number of clients on the path. */
hr__wide hr__data_narrowest(const struct hr__data *data, uint32_t path);
hr__wide hr__data_cap(const struct hr__data *data, uint32_t path, uint32_t clients);
/* Begins to copy a data set to another storage system. Has no effect if the data set is already there, is being copied
   there, or no path exists. */
enum hr_status hr__data_begin_copy(struct hr__engine *engine, uint32_t set, uint32_t to);
/* Completes the copy of a data set. Jobs that would now read the data set on a better path use this path. */
enum hr_status hr__data_finish_copy(struct hr__engine *engine, uint32_t flow);
/* Adds transferred bytes to the counters of the path: of its storage system, its link, and the storage system to which
   the data are copied. */
void hr__data_count_bytes(struct hr__data *data, uint32_t path, hr_amount bytes, int64_t now_us);

#endif
