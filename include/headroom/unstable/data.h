/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_DATA_H
#define HEADROOM_UNSTABLE_DATA_H

/*
 * Data with a location: storage systems, data sets, links, caches of nodes, and what jobs read.
 *
 * A job reads its data set from a storage system that has the data set, if necessary over a link. All transfers (flows)
 * share the bandwidth of storage systems and links; the shares are max-min fair. A job works at the lower of two
 * speeds: the speed of its GPUs, and the speed at which its data arrives. 1 GB is 10^9 bytes.
 * docs/reference/data.md has the details. In this file, prices are in micro-dollars (`uusd`) per GB.
 *
 * Sources: SiloD (EuroSys 2023, DOI 10.1145/3552326.3567499) for speeds and uniform caching. The hit rate of LRU for
 * epochs in random order is derived in sim/clusters/bandwidth.c.
 */

#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A storage system. */
struct hr_data_storage {
  char *name, *location;     /* location: name of a pool, cluster or region */
  int64_t bytes_s;           /* total bandwidth */
  int64_t client_bytes_s;    /* maximum bandwidth of one client, which is a node; 0: no limit */
  int64_t uusd_per_gb_month; /* price of stored data */
  bool checkpoints;          /* jobs in its location may write their checkpoints to it */
};

/* The price of the data that a link transfers in a month in excess of `above_bytes`, up to the next tier. */
struct hr_data_tier {
  int64_t above_bytes, uusd_per_gb;
};

/* A link between two locations, in one direction. */
struct hr_data_link {
  char *from, *to;            /* names of pools, clusters or regions */
  int64_t bytes_s;            /* total bandwidth; 0: no limit */
  int64_t client_bytes_s;     /* maximum bandwidth of one client, which is a node; 0: no limit */
  int64_t latency_us;         /* time until the first byte of a copy arrives */
  int64_t uusd_per_gb;        /* price of transferred data, up to the first tier */
  struct hr_data_tier *tiers; /* [n_tiers], by increasing amount */
  uint32_t n_tiers;
};

/* When a data set is copied to further storage systems: at the start of the run, or when the first job that reads the
   data set starts in the location of the copy. */
enum hr_data_copy { HR_DATA_COPY_START, HR_DATA_COPY_ON_DEMAND };

/* A data set. */
struct hr_data_set {
  char *name;
  int64_t bytes; /* its size */
  /* names of the storage systems that have the data set before the run; names of the storage systems to which the data
     set is copied */
  char **storage_names, **copy_names;
  uint32_t n_storage, n_copies;
  /* the indices of these storage systems. Set by the function that builds the scenario (`the builder` below) */
  uint32_t *storage, *copies;
  enum hr_data_copy when;
};

/* The kind of a cache. HR_DATA_CACHE_UNIFORM: data in the cache is never evicted to make room for other parts of the
   same data set. HR_DATA_CACHE_LRU: the least recently used item is evicted. */
enum hr_data_caching { HR_DATA_CACHE_UNIFORM, HR_DATA_CACHE_LRU };

/* Caches of the nodes of a location. */
struct hr_data_cache {
  char *location;     /* name of a pool, cluster or region */
  int64_t node_bytes; /* size of the cache of each node */
  enum hr_data_caching caching;
  bool prefetch; /* a job fills the cache before it works */
};

/* A rule about the data that jobs read. A rule matches a job if all its conditions match: `tenant`, `model`, `class_`
   and the data set. For each job, the first rule that matches is used. A job without a matching rule reads nothing.

   A rule without a data set matches only jobs that name a data set in the trace. A rule with a data set matches jobs
   that name the same data set, and jobs that name none. */
struct hr_data_read {
  char *set_name, *tenant, *model; /* set_name NULL: no data set. tenant, model NULL: any */
  uint32_t set;                    /* index of the data set, set by the builder; HR_NONE: the data set in the trace */
  uint32_t class_;                 /* enum hr_job_class; HR_NONE: any */
  double epochs;                   /* how many times a job reads the data set; 0: computed from gpu_bytes_s */
  int64_t epoch_bytes;             /* bytes that a job reads each time; 0: the size of the data set */
  int64_t gpu_bytes_s;             /* if `epochs` is 0: bytes per second that each GPU reads at full speed */
};

/* The route on which a pool or a storage system reads from a storage system. */
struct hr_data_route {
  bool exists;
  uint32_t link; /* index of the link; HR_NONE: both are in the same location, so no link is needed */
};

/* All data of a scenario. Arrays and strings are from malloc. */
struct hr_data_spec {
  struct hr_data_storage *storage;
  struct hr_data_link *links;
  struct hr_data_set *sets;
  struct hr_data_cache *caches;
  struct hr_data_read *reads;
  uint32_t n_storage, n_links, n_sets, n_caches, n_reads;
  /* Set by the builder. Routes from the storage system `from` to a pool or to another storage system: to_pool[from *
     n_pools + pool], to_storage[from * n_storage + to] */
  struct hr_data_route *to_pool, *to_storage;
  uint32_t *cache_of; /* [n_pools], set by the builder: index of the cache of the pool's nodes; HR_NONE: no cache */
  uint32_t n_pools;   /* number of pools of the run */
};

/* ---- Results ------------------------------------------------------------------------------------------------ */

/* The totals of a storage system. */
struct hr_data_storage_result {
  hr_amount read_bytes, written_bytes; /* written: copies and checkpoints */
  hr_amount stored_byte_us; /* sum over data sets of (size in bytes) x (microseconds for which it is stored) */
};

/* The bytes that a link has transferred. The bytes of a transfer are counted when it ends, when its job is stopped or
   changes its speed, and at the end of the run. */
struct hr_data_link_result {
  hr_amount bytes;
};

/* A data set at a storage system, from the time `since_us` to the end of the run. `set` and `storage` are indices. */
struct hr_data_replica {
  uint32_t set, storage;
  int64_t since_us;
};

/* The results of a run. */
struct hr_data_result {
  const struct hr_data_spec *spec;        /* borrowed from the configuration of the run */
  struct hr_data_storage_result *storage; /* [n_storage] */
  struct hr_data_link_result *links;      /* [n_links] */
  uint32_t n_storage, n_links;
  struct hr_data_replica *replicas; /* [n_replicas] */
  uint32_t n_replicas;
  /* month_bytes[month * n_links + link]: bytes by month (HR_MONTH_US). Bytes belong to the month in which they are
     counted (struct hr_data_link_result) */
  hr_amount *month_bytes;
  uint32_t n_months, month_capacity; /* month_capacity: allocated elements of month_bytes */
  hr_amount read_bytes;              /* bytes that jobs and replicas of services read, including hits of caches */
  hr_amount cached_bytes;            /* part of read_bytes that was in caches */
  hr_amount copied_bytes;            /* bytes copied to further storage systems, or into caches before a job works */
  hr_amount saved_bytes;             /* bytes of checkpoints */
  uint32_t n_copies;                 /* number of complete copies of data sets */
};

/* Returns the price of the data that a storage system has stored, in micro-dollars, rounded down. `month_us`: length of
   a month (HR_MONTH_US). */
static inline int64_t hr_data_stored_uusd(const struct hr_data_storage *storage,
                                          const struct hr_data_storage_result *result, int64_t month_us) {
  return (int64_t)(result->stored_byte_us * storage->uusd_per_gb_month / 1000000000 / month_us);
}
/* Returns the price of the `bytes` that a link transfers in one month, in units of 10^-9 micro-dollars. */
static inline hr_amount hr_data_month_price(const struct hr_data_link *link, hr_amount bytes) {
  hr_amount price = 0, from = 0;
  int64_t uusd_per_gb = link->uusd_per_gb;
  for (uint32_t i = 0; i < link->n_tiers && link->tiers[i].above_bytes < bytes; i++) {
    price += (link->tiers[i].above_bytes - from) * uusd_per_gb;
    from = link->tiers[i].above_bytes;
    uusd_per_gb = link->tiers[i].uusd_per_gb;
  }
  return price + (bytes - from) * uusd_per_gb;
}
/* Returns the price of the data that the link with the index `link` has transferred in all months, in micro-dollars,
   rounded down. */
static inline int64_t hr_data_egress_uusd(const struct hr_data_result *result, uint32_t link) {
  hr_amount price = 0;
  for (uint32_t month = 0; month < result->n_months; month++)
    price += hr_data_month_price(&result->spec->links[link], result->month_bytes[month * result->n_links + link]);
  return (int64_t)(price / 1000000000);
}

#ifdef __cplusplus
}
#endif

#endif
