/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_DATA_H
#define HR_SIM_DATA_DATA_H

/* Data with a location: jobs that read data during a run, flows of data in time, and the state of storage systems and
   caches. The other files of the engine use the first part only. */

#include "base/containers.h"
#include "headroom/base.h"
#include "headroom/unstable/data.h"
#include "sim/clusters/clusters.h"
#include "sim/engine/engine.h"

/* ---- Jobs that read data (data.c) ------------------------------------------------------------------- */

/* What the other files of the engine call. All functions but hr__data_next_flow and hr__data_result need
   engine->data. */

/* Returns whether a running job reads data. */
bool hr__data_reads(const struct hr__engine *engine, hr_job job);
/* A job works from now on, until `until_us` from now at the speed of its GPUs. Begins its flow, or schedules `kind` if
   the job reads nothing now. */
enum hr_status hr__data_work(struct hr__engine *engine, hr_job job, int64_t until_us, enum hr__pending_kind kind);
/* Returns whether a working job has a flow. */
bool hr__data_flows(const struct hr__engine *engine, hr_job job);
/* Returns how long a job has worked since it began to work, without the time in which it waited for data. */
int64_t hr__data_worked_us(const struct hr__engine *engine, hr_job job);
/* A job stops to work, or changes its speed. `from_us`, `to_us`: its progress when it began to work, and now. */
void hr__data_pause(struct hr__engine *engine, hr_job job, int64_t from_us, int64_t to_us);

/* A replica of a service loads the data set with its weights onto its nodes. `keeps`: the nodes keep them in their
   caches. `are_there`: they are on the nodes already. Sets `*begun` if the load takes time: the hook `loaded` is called
   at its end, unless the job is stopped before. */
struct hr__data_load {
  uint32_t set;
  bool keeps, are_there;
};
enum hr_status hr__data_load(struct hr__engine *engine, hr_job job, struct hr__data_load load, bool *begun);

/* Checkpoints. Returns the index of the storage system for the pool; HR_NONE: none. */
uint32_t hr__data_storage_of(const struct hr__engine *engine, hr_pool pool);
enum hr_status hr__data_write(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib);
enum hr_status hr__data_cancel_write(struct hr__engine *engine, hr_job job);
/* Returns how long a write takes that begins now: alone, or if all active flows had the same rate. */
int64_t hr__data_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib, bool is_alone);

/* Returns whether a job would read its data set without a link in a pool. Jobs that read nothing are local everywhere.
 */
bool hr__data_is_local(const struct hr__engine *engine, hr_job job, hr_pool pool);

/* Returns whether some flow of the run is active. */
bool hr__data_is_active(const struct hr__engine *engine);

/* Returns the first job from `from` on that runs in this engine and has a flow, but no pending event of its own;
   HR_NONE: none. For checked mode. */
uint32_t hr__data_next_flow(const struct hr__engine *engine, uint32_t from);

/* Moves the result to `*result`; NULL if the run has no data. */
enum hr_status hr__data_result(struct hr__engine *engine, struct hr_data_result **result);

/* ---- Flows (storage.c) ------------------------------------------------------------------------------ */

/*
 * Flows of data in time. Each flow has a length, and ends when it has received its service. Bandwidth is shared max-min
 * fair among the active flows, so each begin or end of a flow changes the rates of others. Paths, caps and levels are
 * defined in sim/clusters/clusters.h.
 *
 * The demand of a flow is the rate at which its reader never waits for data. The length of a flow is the time that it
 * takes at this rate. The cap of a flow is its demand, or less if its path only allows a lower rate, also because of a
 * limit per client (node). A reader that never waits for data takes exactly the length of its flow, to the microsecond.
 *
 * Layout: flows with the same path and cap are one flow class. A class has one clock, which advances by rate / cap. The
 * rate of a class is its cap (the class is capped, and its clock advances with the time) or the level of its path (its
 * clock advances with the service of the path). If a level changes, only the classes that become capped, or stop being
 * capped, are updated; their flows are not. Three kinds of pairing heaps find the next end: one heap per class, of its
 * flows, by the clock at which they end; one heap per path, of the classes that are not capped, by the service at which
 * their first flow ends; and one heap of all capped classes, by the time at which their first flow ends. A begin or end
 * takes O(log n), plus O(log n) for each class that becomes capped or stops being capped.
 *
 * Rates are in 2^-10 bytes a second, clocks in 2^-20 us, services in rate x us.
 */

/* Units of a rate per byte a second. Rates are at most HR__MAX_BYTES_S, so that products fit into 128 bits. */
#define HR__RATE_UNITS UINT64_C(1024)
enum { HR__CLOCK_BITS = 20 };

/* A node of a pairing heap: links are indices + 1. */
struct hr__heap_node {
  hr__wide key;
  uint32_t child, next, before; /* before: the parent of a first child, otherwise the previous child */
};

struct hr__data_flow {
  struct hr__heap_node node; /* key: the clock of the class at which the flow ends */
  hr__wide begin;            /* the clock of the class when the flow began */
  hr__wide demand;           /* at least the cap of its class */
  uint32_t class_;           /* HR_NONE: not active */
};

struct hr__flow_class {
  struct hr__heap_node node; /* in the heap of its path, or of capped classes */
  hr__wide clock, from;      /* `clock`: the clock at `from`, a time if capped, otherwise a service of the path */
  uint32_t flows;            /* heap of its flows: index + 1 */
  uint32_t count;
  bool is_capped;
};

struct hr__flow_path {
  hr__wide service; /* that a flow at the level would have received since the begin of the run */
  int64_t from_us;  /* when `service` was computed */
  uint32_t level;   /* heap of the classes at the level: index + 1 */
  hr__wide was;     /* the level since `from_us` */
};

struct hr__flows {
  struct hr__bandwidth shares;
  struct hr__flow_path *paths;
  struct hr__flow_class *classes; /* numbered as those of `shares` */
  struct hr__data_flow *flows;
  uint32_t n_flows, n_classes, class_capacity, share_capacity, unused; /* unused: list of classes, index + 1 */
  uint32_t capped;                                                     /* heap of classes: index + 1 */
  uint32_t n_active;
};

/* Before hr__flows_open(), the caller allocates all arrays of `flows` and `shares` except those of classes. They are
   zero except the paths and capacities of `shares`. The arrays of classes grow, and hr__flows_close() frees them. */
void hr__flows_open(struct hr__flows *flows);
void hr__flows_close(struct hr__flows *flows);

/* Begins flow `id` on a path. `length_us`: the length of the flow, at least 0. `carry`: the part of the length that
   has already passed, in 2^-20 us. `cap`: from 1 to `demand`. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__flows_begin(struct hr__flows *flows, uint32_t id, uint32_t path, hr__wide demand, hr__wide cap,
                               int64_t length_us, uint32_t carry, int64_t now_us);
/* Ends flow `id`, which must be active. */
void hr__flows_end(struct hr__flows *flows, uint32_t id, int64_t now_us);
static inline bool hr__flows_has(const struct hr__flows *flows, uint32_t id) {
  return flows->flows[id].class_ != HR_NONE;
}
/* Returns the part of the length of an active flow that has passed, in 2^-20 us, without `carry`. */
hr__wide hr__flows_passed(const struct hr__flows *flows, uint32_t id, int64_t now_us);
/* Returns the flow that ends first, and sets `*at_us` to its end. If several flows end first, it is the one with the
   lowest number. Returns HR_NONE if no flow is active or makes progress. */
uint32_t hr__flows_first(const struct hr__flows *flows, int64_t *at_us);
/* Returns the rate of an active flow. */
hr__wide hr__flows_rate(const struct hr__flows *flows, uint32_t id);

/* ---- Storage (storage.c) ---------------------------------------------------------------------------- */

/* The state of all data of a run: data sets at storage systems, paths and copies. */

/* ---- Storage: caches of nodes ----------------------------------------------------------------------- */

/*
 * Caches of nodes. A job on k nodes keeps the k-th part of its data set in the cache of each; the nodes read from each
 * other's caches. Room is taken when a job starts, first from data sets that no running job on the node reads. Data in
 * the cache become valid when the job has read the whole data set once, and remain for later jobs.
 *
 * Layout: a matrix of nodes x data sets. Source: CoorDL (VLDB 2021), partitioned caching; Hoard (2018).
 */

struct hr__caches;

struct hr__cached {
  int64_t taken, valid; /* bytes of the data set: with room, and already there */
};

/* A job with this placement begins to read a data set of `bytes`. `first_node`: number of node 0 of the placement's
   cluster. `node_bytes`: size of the cache of each node. */
struct hr__cached hr__caches_take(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                                  uint32_t set, int64_t bytes, int64_t node_bytes);
/* The job has read the whole data set: all room is valid. */
void hr__caches_fill(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                     uint32_t set);
/* A node is gone, with its cache. No job may be on it. */
void hr__caches_clear(struct hr__caches *caches, hr_node node, uint32_t first_node);
/* The job leaves. */
void hr__caches_leave(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                      uint32_t set);
/* Returns how many bytes of a data set are in the cache of a node. */
int64_t hr__caches_valid(const struct hr__caches *caches, hr_node node, uint32_t first_node, uint32_t set);
/* Returns a number that changes when results of hr__caches_valid may have changed. */
uint64_t hr__caches_changes(const struct hr__caches *caches);

/* ---- Storage: the state of a run -------------------------------------------------------------------- */

/* The state of a job that runs. */
struct hr__data_reader {
  struct hr__engine *engine;
  uint32_t set; /* HR_NONE: it reads nothing */
  uint32_t path, n_nodes;
  uint32_t first_ppb, later_ppb; /* the share that is read from storage, in the first epoch at a placement and after */
  int64_t cold_until_us;         /* progress at which the first epoch there ends */
  int64_t bytes, epoch_us;       /* read in all, and the work of an epoch */
  int64_t fill_bytes;            /* to be copied into the cache before the job works */
  int64_t length_us;             /* of its flow; of a write, at the rate of a single one */
  uint64_t write_bytes;
  uint32_t carry, began_with; /* parts of a microsecond of work, in 2^-20 us: now, and when its flow began */
  /* continues: its flow ends before the job's next event; ends: that event is the end of the job */
  bool continues, ends, writes, fills;
  /* The job of a replica: its weights, of which `cached_bytes` are on its nodes and `load_bytes` are not. has_room: it
     uses the caches of its nodes */
  uint32_t weights;
  int64_t load_bytes, cached_bytes;
  bool loads, has_room;
};

/* A way of data: from a storage system, maybe over a link, to a client or to another storage system. */
struct hr__data_path {
  uint32_t storage, link, to; /* link, to: HR_NONE: none */
};

/* A data set at a storage system. */
struct hr__data_copy {
  bool is_there, is_coming;
  int64_t since_us;
};

struct hr__data {
  const struct hr_data_spec *spec;
  struct hr__engine *first; /* the engine that created the state, and owns copies */
  struct hr__flows flows;   /* by job, then by data set and storage system */
  struct hr__data_path *paths;
  struct hr__data_reader *readers; /* by job */
  struct hr__data_copy *replicas;  /* [sets x storage] */
  uint32_t *route;                 /* [sets x pools]: the path; HR_NONE: not known */
  uint32_t *set_of_name;           /* by name of a data set in the trace: its index */
  struct hr__caches *caches;
  struct hr_data_result result;
  int64_t next_us; /* of the pending event that counts */
  uint32_t n_jobs;
  enum hr_status status; /* of a call that has no result of its own */
  hr_amount lost_bytes;  /* counted while memory is exhausted */
  uint64_t n_changes;    /* copies that became complete */
};

static inline hr__wide hr__rate_units(int64_t bytes_s) {
  return (hr__wide)(uint64_t)bytes_s * HR__RATE_UNITS;
}

/* Returns the time that bytes take at a rate, rounded up. */
static inline int64_t hr__transfer_us(uint64_t bytes, hr__wide rate) {
  return (int64_t)(((hr__wide)bytes * 1000000 * HR__RATE_UNITS + rate - 1) / rate);
}

/* The path of an active flow. */
static inline uint32_t hr__data_path_of_flow(const struct hr__data *data, uint32_t flow) {
  return data->flows.shares.classes[data->flows.flows[flow].class_].path;
}

/* Creates the state in the engine that owns it, with the copies of data sets that the scenario has; on behalf of the
   first cluster, `engine`. */
enum hr_status hr__data_open(struct hr__engine *engine, struct hr__engine *owner);
/* Begins the copies that begin with the run. */
enum hr_status hr__data_begin_copies(struct hr__engine *engine);
/* Counts the bytes that incomplete copies have transferred, and the storage that was used until the end of the run. */
void hr__data_settle(struct hr__data *data, int64_t end_us);
void hr__data_close(struct hr__data *data);

/* Schedules the first end of all flows, in the engine of this flow. */
enum hr_status hr__data_schedule(struct hr__engine *engine);
/* Returns the number of a path; it is added if it is new. The arrays have room for all. */
uint32_t hr__data_add_path(struct hr__data *data, struct hr__data_path path);
/* Returns the lowest capacity on a path, and the highest rate of `clients` on it. */
hr__wide hr__data_narrowest(const struct hr__data *data, uint32_t path);
hr__wide hr__data_cap(const struct hr__data *data, uint32_t path, uint32_t clients);
/* Copies a data set to a further storage system, unless it is there or on its way. */
enum hr_status hr__data_begin_copy(struct hr__engine *engine, uint32_t set, uint32_t to);
enum hr_status hr__data_finish_copy(struct hr__engine *engine, uint32_t flow);
/* Adds the bytes of a flow to its storage system and link, and to where it is written. */
void hr__data_count_bytes(struct hr__data *data, uint32_t path, hr_amount bytes, int64_t now_us);

#endif
