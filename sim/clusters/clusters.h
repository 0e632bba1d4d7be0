/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_CLUSTERS_H
#define HR_SIM_CLUSTERS_CLUSTERS_H

/*
 * Rules for several clusters, as pure functions: the choice of a cluster for a job, the sharing of bandwidth among
 * transfers, and the speed of jobs that read data.
 */

#include "headroom/unstable/clusters.h"

#include "headroom/base.h"

#include <math.h>

/* ---- Choice of a cluster ---------------------------------------------------------------------------- */

/*
 * The choice of a cluster for a job depends on the loads of the clusters.
 *
 * The predicted wait of a job is computed as if the GPUs of a cluster were one pool, and the waiting jobs a queue
 * without backfill. A job starts at once if it fits into the GPUs that are neither allocated nor requested by waiting
 * jobs. Otherwise it starts when running jobs have released enough GPUs, at their expected ends, for this job and for
 * the jobs that already wait. If all running jobs together do not have enough GPUs, the job waits for the end of the
 * last of them. It then waits until the work of the waiting jobs, spread over all GPUs, is done. Fragmentation,
 * priorities and quotas are not considered.
 */

/* The running jobs of a cluster, sorted by their expected end. */
struct hr__expected_release {
  int64_t at_us;
  uint64_t milli; /* milli-GPUs of the job */
};
struct hr__expected_releases {
  struct hr__expected_release *at; /* from malloc */
  uint32_t count, capacity;
  uint64_t milli; /* of all jobs */
};

/* Adds or removes a job. hr__releases_add returns false if memory is exhausted. A job must be removed with the values
   with which it was added. */
bool hr__releases_add(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli);
void hr__releases_remove(struct hr__expected_releases *releases, int64_t at_us, uint64_t milli);

/* The load of a cluster when a job is submitted. */
struct hr__cluster_load {
  bool eligible;        /* the cluster could run the job if it were empty */
  uint32_t n_waiting;   /* jobs */
  uint64_t size_milli;  /* milli-GPUs of all nodes, including those that can be requested */
  uint64_t used_milli;  /* milli-GPUs that are allocated or that waiting jobs request */
  int64_t wait_us;      /* predicted wait of the job; HR_NEVER_US: the cluster has no GPUs */
  int64_t price_uusd_h; /* the lowest additional price of a GPU hour for the job: 0 for owned and reserved nodes */
};

/* Returns the predicted wait of a job that requests `milli`, at the time `now_us`. Reads only the members `size_milli`
   and `used_milli` of `load`. `waiting_work`: sum over waiting jobs of milli-GPUs * expected run time. If the wait is
   at least `limit_us`, the result is some time of at least `limit_us`, which need not be the wait. */
int64_t hr__predicted_wait_us(const struct hr__cluster_load *load, const struct hr__expected_releases *releases,
                              hr_amount waiting_work, uint64_t milli, int64_t now_us, int64_t limit_us);

/* The job for which a cluster is chosen. */
struct hr__routed_job {
  uint64_t milli;      /* milli-GPUs */
  int64_t expected_us; /* expected run time */
  int64_t slack_us;    /* from now to its deadline; HR_NEVER_US: none */
  uint32_t home;       /* index of its home cluster */
};

/* Returns the index of the cluster for the job. `*spent_uusd`: predicted cost of the jobs that were sent away from home
   so far; if this job is sent away, its cost is added. */
uint32_t hr__job_router_choose(const struct hr_job_router_spec *router, const struct hr__cluster_load *loads,
                               uint32_t n_clusters, const struct hr__routed_job *job, int64_t *spent_uusd);

/* Returns the index of the cluster for a job to which a rule of `affinity` applies. The bound is router->max_wait_us.
   The result is the first of the following clusters that exists:

   - the first cluster of the rule that could run the job, with a predicted wait within the bound;
   - unless rule->only: the best of all clusters with a predicted wait within the bound;
   - the first cluster of the rule that could run the job;
   - unless rule->only: the best of all clusters.

   HR_NONE: no such cluster could run the job. */
uint32_t hr__job_router_prefer(const struct hr_job_router_spec *router, const struct hr_job_router_rule *rule,
                               const struct hr__cluster_load *loads, uint32_t n_clusters);

/* ---- Choice of a cluster: MultiKueue ---------------------------------------------------------------- */

/* MultiKueue offers a workload to worker clusters, in rounds. In each round, further clusters are nominated. Nominated
   clusters remain nominated until the workload is admitted or queued again. Clusters are numbered from 0 in the order
   of the configuration. Times are microseconds of one clock. Invariant: no cluster is nominated twice.

   Source: kubernetes-sigs/kueue, pkg/controller/workloaddispatcher (incremental dispatcher), keps/693-multikueue. */

enum { HR__MULTIKUEUE_STEP = 3 /* clusters per round */ };

struct hr__multikueue_spec {
  bool is_incremental; /* otherwise all clusters are nominated at once */
  uint32_t step;       /* clusters per round; 0: HR__MULTIKUEUE_STEP */
  int64_t round_us;    /* a round ends when more than this time has passed; default: 5 min */
};

extern const struct hr__multikueue_spec hr__multikueue_defaults;

/* The offer of one workload. */
struct hr__multikueue_offer {
  uint32_t *nominated; /* [n_clusters], in order; nominated clusters remain nominated */
  uint32_t n_nominated;
  int64_t round_us; /* start of the round; undefined before the first round */
};

/* Starts the next round if the present round is over. `preference`: all connected clusters, in the order of the
   configuration or, in older releases of MultiKueue, sorted by name. Returns false if a round should start, but all
   clusters are already nominated. */
bool hr__multikueue_nominate(const struct hr__multikueue_spec *spec, struct hr__multikueue_offer *offer,
                             const uint32_t *preference, uint32_t n_clusters, int64_t now_us);

/* ---- Bandwidth -------------------------------------------------------------------------------------- */

/*
 * Max-min fair sharing of bandwidth. Flows cross resources: storage systems and links. A sharing is max-min fair if no
 * rate per weight can be increased without decreasing a rate per weight that is not larger. Each flow may have a cap,
 * which is a limit of its own rate. Flows over the same resources have the same path. All flows of a path that are not
 * limited by their cap have the same rate per weight: the level of the path. So the result of sharing is one number per
 * path.
 *
 * Layout: flows with the same path and cap are one share class. The classes of a path are a treap ordered by cap. Each
 * node has the sums of its subtree, so the use of a path at any level takes O(log classes).
 *
 * Rates are integers in units of the caller; sums have 128 bits. The sum of the rates of a full resource is at most its
 * capacity; the unused rest of the capacity is smaller than the sum of the weights. The result depends only on the
 * flows, not on their history.
 *
 * Source: progressive filling, Bertsekas and Gallager, Data Networks, section 6.5; Keshav, max-min weighted fair share.
 * Level of a resource: Newton's method on the use as a function of the level, which is piecewise linear and concave.
 */

__extension__ typedef unsigned __int128 hr__wide;

/* The value that represents "no limit". The sum of caps below this value, over a total weight of 2^24, does not
   overflow. */
#define HR__NO_LIMIT ((hr__wide)1 << 102)

enum { HR__PATH_RESOURCES = 8 };

struct hr__share_path {
  uint32_t resources[HR__PATH_RESOURCES], n_resources; /* all different */
  uint32_t root;                                       /* of the treap: index of a class + 1; 0: no flows */
  hr__wide level;                                      /* HR__NO_LIMIT: all flows have their cap */
  bool is_set;                                         /* scratch */
};

struct hr__share_class {
  hr__wide cap;    /* per weight */
  uint64_t weight; /* sum over its flows */
  uint32_t path, left, right, priority;
  uint64_t tree_weight; /* sums over the subtree */
  hr__wide tree_caps;   /* of cap * weight */
};

struct hr__bandwidth {
  struct hr__share_path *paths;
  struct hr__share_class *classes;
  uint32_t n_paths;
  /* by resource: capacity, the rest of it (scratch), and the level at which it was last full */
  hr__wide *capacity, *left, *level;
  uint32_t n_resources;
};

/* Adds a class to its path, or removes it. The caller has set the members path, cap, weight and priority of the
   class. */
void hr__shares_insert(struct hr__bandwidth *shares, uint32_t class_);
void hr__shares_remove(struct hr__bandwidth *shares, uint32_t class_);
/* Adds `weight`, which may be negative, to the weight of a class in the treap. */
void hr__shares_add(struct hr__bandwidth *shares, uint32_t class_, int64_t weight);
/* Returns the class of a path with exactly this cap; HR_NONE: none. */
uint32_t hr__shares_find(const struct hr__bandwidth *shares, const struct hr__share_path *path, hr__wide cap);
/* Sets the level of all paths. Time: O(r^2 * p * log c) for r resources with p paths of at most c classes each,
   multiplied by the number of steps of Newton's method, which is usually small. */
void hr__shares_solve(struct hr__bandwidth *shares);

/* Returns the rate per weight of a flow with this cap. */
static inline hr__wide hr__share_rate(const struct hr__share_path *path, hr__wide cap) {
  return cap < path->level ? cap : path->level;
}

/* ---- Bandwidth: sharing among given flows ----------------------------------------------------------- */

struct hr__flow {
  double demand;     /* at least 0; INFINITY: no limit */
  double weight;     /* above 0 */
  uint32_t first, n; /* its resources: crossed[first], ..., crossed[first + n - 1], all different */
};

/* Writes the max-min fair rate of each flow; INFINITY if nothing limits it. A flow crosses at most HR__PATH_RESOURCES
   resources. A capacity may be 0 or INFINITY. Rates have an error of at most 1e-12 of the largest rate, if weights
   differ by a factor of at most 1,000. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__share_max_min(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                                 const double *capacities, uint32_t n_resources, double *rates);

/* ---- Data loading ----------------------------------------------------------------------------------- */

/*
 * Functions for jobs that read training data: their speed, the share of reads that caches serve, and the sizes of the
 * MLPerf Storage benchmark. Bytes and bytes a second are double, because sizes of samples are averages. "Full speed" is
 * the speed at which the GPUs never wait for data.
 *
 * Sources: SiloD (EuroSys'23) for uniform caching; CoorDL (VLDB'21) for caches that evict nothing; mlcommons/storage,
 * Submission_guidelines.md, for the benchmark. The formula for LRU is derived in bandwidth.c.
 */

/* ---- Data loading: need and speed ------------------------------------------------------------------- */

/* Returns the number of bytes a second that one accelerator reads at full speed. `batch`: samples per step. */
static inline double hr__io_need(double batch, double sample_bytes, double step_s) {
  return batch * sample_bytes / step_s;
}

/* A job that reads its data set once in each epoch, in a new random order. All speeds are in bytes a second. */
struct hr__io_job {
  double full_speed;
  double remote;       /* bandwidth that it gets from remote storage */
  double cached;       /* bytes of its data set in the cache */
  double dataset;      /* bytes */
  bool is_first_epoch; /* nothing is in the cache yet */
};

/* Returns the speed with a cache that never evicts an item (uniform caching): min(full speed, remote / (1 - cached /
   dataset)). */
double hr__io_speed(const struct hr__io_job *job);
/* Returns the bandwidth that the job needs from remote storage at full speed. */
double hr__io_remote_need(const struct hr__io_job *job);

/* ---- Data loading: caches --------------------------------------------------------------------------- */

enum hr__cache_policy { HR__CACHE_UNIFORM, HR__CACHE_LRU };

/* Returns the share of reads in an epoch after the first that hit the cache, with many items of equal size. `share`:
   the share of the data set that fits into the cache. `same_order`: all epochs have the same order. */
double hr__cache_hits(enum hr__cache_policy policy, double share, bool same_order);

struct hr__cache_misses {
  double mean;
  int64_t least, most;
};
/* Returns the misses in an epoch after the first, with few items: the exact mean, minimum and maximum over all orders
   of two successive epochs. Time for LRU with n items, c of which fit into the cache: O(n^2 c). */
struct hr__cache_misses hr__cache_misses(enum hr__cache_policy policy, int64_t n_items, int64_t n_cached,
                                         bool same_order);

/* ---- Data loading: MLPerf Storage ------------------------------------------------------------------- */

struct hr__mlperf {
  int64_t accelerators, clients;
  double client_bytes; /* memory of a client */
  double batch;        /* samples per accelerator and step */
  double sample_bytes; /* mean */
  double samples_per_file;
  double min_steps;     /* minimum number of steps per epoch; 500 in the benchmark */
  double memory_factor; /* minimum of (size of the data set / memory of all clients); 5 in the benchmark */
  double step_s;        /* compute time of a step */
};

/* Returns the number of files of the smallest data set that the rules allow. */
int64_t hr__mlperf_files(const struct hr__mlperf *run);
/* hr__mlperf_full_rate returns the number of samples a second at full speed. hr__mlperf_rate returns this number if the
   storage provides at most `storage_bytes_s` bytes and `storage_samples_s` samples a second; these limits may be
   INFINITY. */
static inline double hr__mlperf_full_rate(const struct hr__mlperf *run) {
  return (double)run->accelerators * run->batch / run->step_s;
}
static inline double hr__mlperf_rate(const struct hr__mlperf *run, double storage_bytes_s, double storage_samples_s) {
  return fmin(hr__mlperf_full_rate(run), fmin(storage_bytes_s / run->sample_bytes, storage_samples_s));
}

#endif
