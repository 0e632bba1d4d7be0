/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_STORAGE_H
#define HR_SIM_DATA_STORAGE_H

/* The state of all data of a run: data sets at storage systems, paths and copies. See storage.c. */

#include "headroom/unstable/data.h"
#include "sim/data/flows.h"
#include "sim/engine/engine.h"

/* ---- Caches of nodes ---------------------------------------------------------------------------- */

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

/* ---- The state of a run ------------------------------------------------------------------------------------ */

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
