/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_DATA_H
#define HEADROOM_UNSTABLE_DATA_H

/*
 * Data with a location: storage systems, data sets, links, caches of nodes, and what jobs read.
 *
 * A job reads its data set from a storage system that has it, if necessary over a link. All flows share the bandwidth
 * of storage systems and links; the shares are max-min fair. A job works at the lower of two speeds: that of its GPUs,
 * and that at which its data arrives. Bytes are decimal: 1 GB is 10^9 bytes.
 *
 * Sources: SiloD (EuroSys 2023, DOI 10.1145/3552326.3567499) for speeds and uniform caching. The hit rate of LRU for
 * epochs in random order is derived in sim/clusters/bandwidth.c.
 */

#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_data_storage {
  char *name, *location;     /* location: name of a pool, cluster or region */
  int64_t bytes_s;           /* total bandwidth */
  int64_t client_bytes_s;    /* bandwidth of one client, which is a node; 0: no limit */
  int64_t uusd_per_gb_month; /* price of stored data */
  bool checkpoints;          /* jobs in its location write their checkpoints to it */
};

/* A price of the data that a link transfers in a month beyond an amount. */
struct hr_data_tier {
  int64_t above_bytes, uusd_per_gb;
};

struct hr_data_link {
  char *from, *to;            /* names of pools, clusters or regions */
  int64_t bytes_s;            /* 0: no limit */
  int64_t client_bytes_s;     /* 0: no limit */
  int64_t latency_us;         /* until the first byte of a copy arrives */
  int64_t uusd_per_gb;        /* price of transferred data, up to the first tier */
  struct hr_data_tier *tiers; /* [n_tiers], by increasing amount */
  uint32_t n_tiers;
};

/* When a data set is copied to further storage systems. */
enum hr_data_copy { HR_DATA_COPY_START, HR_DATA_COPY_ON_DEMAND };

struct hr_data_set {
  char *name;
  int64_t bytes;
  char **storage_names, **copy_names;
  uint32_t n_storage, n_copies;
  uint32_t *storage,
      *copies; /* indices of storage systems, set by the builder: those with the data set, and targets of copies */
  enum hr_data_copy when;
};

enum hr_data_caching { HR_DATA_CACHE_UNIFORM, HR_DATA_CACHE_LRU };

struct hr_data_cache {
  char *location;
  int64_t node_bytes;
  enum hr_data_caching caching;
  bool prefetch; /* a job fills the cache before it works */
};

/* A rule for what jobs read. For each job, the first rule that matches applies. Tenants and models that are NULL match
   all jobs. A job with a data set in the trace matches the rules of this set, and the rules without one. Other jobs
   match the rules with a set. */
struct hr_data_read {
  char *set_name, *tenant, *model;
  uint32_t set;        /* set by the builder; HR_NONE: the data set in the trace */
  uint32_t class_;     /* enum hr_job_class; HR_NONE: all */
  double epochs;       /* 0: from gpu_bytes_s */
  int64_t epoch_bytes; /* 0: the size of the data set */
  int64_t gpu_bytes_s; /* read per GPU at full speed */
};

/* The route by which a pool, or a storage system, reads from a storage system. */
struct hr_data_route {
  bool exists;
  uint32_t link; /* HR_NONE: it is local */
};

struct hr_data_spec {
  struct hr_data_storage *storage;
  struct hr_data_link *links;
  struct hr_data_set *sets;
  struct hr_data_cache *caches;
  struct hr_data_read *reads;
  uint32_t n_storage, n_links, n_sets, n_caches, n_reads;
  /* set by the builder for the pools of the run: [n_storage x n_pools] and [n_storage x n_storage] by source, then
     destination; [n_pools] the cache of the nodes, HR_NONE: none */
  struct hr_data_route *to_pool, *to_storage;
  uint32_t *cache_of;
  uint32_t n_pools;
};

/* ---- Results ------------------------------------------------------------------------------------------------ */

struct hr_data_storage_result {
  hr_amount read_bytes, written_bytes; /* written: copies and checkpoints */
  hr_amount stored_byte_us;            /* data sets, over the time of the run */
};

/* Bytes arrive when they are sent, so a link has delivered all bytes that it has sent. Bytes are counted when the
   transfer ends or changes its rate, and for running jobs and copies at the end of the run. */
struct hr_data_link_result {
  hr_amount bytes;
};

/* A data set at a storage system, from the given time to the end of the run. */
struct hr_data_replica {
  uint32_t set, storage;
  int64_t since_us;
};

struct hr_data_result {
  const struct hr_data_spec *spec;        /* borrowed from the configuration of the run */
  struct hr_data_storage_result *storage; /* [n_storage] */
  struct hr_data_link_result *links;      /* [n_links] */
  uint32_t n_storage, n_links;
  struct hr_data_replica *replicas; /* [n_replicas] */
  uint32_t n_replicas;
  /* [n_months x n_links]: bytes by month (HR_MONTH_US); a transfer counts in the month in which it ends */
  hr_amount *month_bytes;
  uint32_t n_months, month_capacity;
  hr_amount read_bytes;   /* by jobs, with hits of caches */
  hr_amount cached_bytes; /* hits of caches */
  hr_amount copied_bytes; /* to further storage systems, or into caches before a job works */
  hr_amount saved_bytes;  /* checkpoints */
  uint32_t n_copies;      /* complete copies of data sets */
};

/* Returns micro-dollars, rounded down: the price of stored data, and of transferred data. */
static inline int64_t hr_data_stored_uusd(const struct hr_data_storage *storage,
                                          const struct hr_data_storage_result *result, int64_t month_us) {
  return (int64_t)(result->stored_byte_us * storage->uusd_per_gb_month / 1000000000 / month_us);
}
/* Returns the price of what a link transfers in one month, in micro-dollars x bytes per GB. */
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
/* Returns the price of what link number `link` has transferred in all months, in micro-dollars, rounded down. */
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
