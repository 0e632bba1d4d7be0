/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MARKET_H
#define HEADROOM_MARKET_H

/*
 * Markets: how the nodes of a pool are obtained, paid for and reclaimed. This header also defines when jobs write
 * checkpoints.
 *
 * Prices are integer micro-dollars per GPU-hour. Costs are sums of price x milli-GPU x microseconds in 128 bits. They
 * are converted to micro-dollars only for output (see the ledger in headroom/sim.h).
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sum of costs; the unit is (micro-dollars per GPU-hour) x milli-GPU x microsecond. Also used for sums of times over
   many GPUs or nodes. */
__extension__ typedef __int128 hr_amount;

/* The maximum price of a GPU or an instance, in dollars per hour. An hr_amount can represent the cost of HR_MAX_GPUS
   GPUs at this price for the maximum simulated time. */
#define HR_MAX_USD_H 100000

/* How capacity is obtained and paid for. The columns: enumerator, name in scenarios. */
#define HR_MARKET_TABLE(X)                                                                                             \
  X(HR_MARKET_NONE, "")               /* always present, without a price */                                            \
  X(HR_MARKET_OWNED, "owned")         /* always present; billed at the amortized cost per GPU-hour */                  \
  X(HR_MARKET_RESERVED, "reserved")   /* present and billed from `from_us` to `to_us`, even if not used */             \
  X(HR_MARKET_ON_DEMAND, "on-demand") /* boots after a request; billed while up */                                     \
  X(HR_MARKET_SPOT, "spot")           /* as on-demand, but may be unavailable and may be reclaimed */

enum hr_market {
#define HR_MARKET_NAME(name, text) name,
  HR_MARKET_TABLE(HR_MARKET_NAME)
#undef HR_MARKET_NAME
      HR_N_MARKETS
};

/* Returns the name in scenarios; "" for HR_MARKET_NONE. */
HR_API const char *hr_market_name(enum hr_market market);

/* Whether nodes are requested and released during a run. If not, the nodes of a pool in this market are present without
   a request. */
static inline bool hr_market_is_elastic(enum hr_market market) {
  return market >= HR_MARKET_ON_DEMAND;
}

/* A random duration. The comments define the parameters `a` and `b` for each distribution. */
enum hr_duration_kind {
  HR_DURATION_FIXED,       /* a: seconds */
  HR_DURATION_EXPONENTIAL, /* a: mean in seconds */
  HR_DURATION_LOG_NORMAL,  /* a: mean of the logarithm of seconds, b: its standard deviation */
  HR_DURATION_WEIBULL      /* a: shape, b: scale in seconds */
};
struct hr_duration {
  enum hr_duration_kind kind;
  double a, b;
};

/* A step of a price over time: the price from the time `at_us` until the next step. The last step never ends. */
struct hr_price_step {
  int64_t at_us;  /* ascending; 0 in the first step */
  int64_t uusd_h; /* micro-dollars per GPU-hour */
};

/* How the time in which a node was up is billed. */
struct hr_billing {
  int64_t granularity_us; /* billed time is rounded up to a multiple of this; 0: exact */
  int64_t minimum_us;     /* minimum billed time */
  /* a node that is reclaimed within this time after its launch costs nothing; 0: no such rule */
  int64_t free_if_reclaimed_us;
};

/* How the provider reclaims spot capacity. The columns: enumerator, name in scenarios. */
#define HR_SPOT_MODEL_TABLE(X)                                                                                         \
  X(HR_SPOT_NONE, "none")               /* spot nodes are never reclaimed */                                           \
  X(HR_SPOT_TRACE, "trace")             /* a record of the number of available nodes over time */                      \
  X(HR_SPOT_ON_OFF, "on-off")           /* periods with and without capacity alternate; their durations are random */  \
  X(HR_SPOT_EXPONENTIAL, "exponential") /* each node is reclaimed at a constant rate, alone or in groups */            \
  X(HR_SPOT_BATHTUB, "bathtub")         /* each node is reclaimed at a rate that depends on its age */                 \
  X(HR_SPOT_ADVISOR, "advisor") /* as exponential; the rate is derived from a share of nodes interrupted per month */

enum hr_spot_model {
#define HR_SPOT_MODEL_NAME(name, text) name,
  HR_SPOT_MODEL_TABLE(HR_SPOT_MODEL_NAME)
#undef HR_SPOT_MODEL_NAME
      HR_N_SPOT_MODELS
};

/* Returns the name in scenarios. */
HR_API const char *hr_spot_model_name(enum hr_spot_model model);

/* A step of a record of spot capacity: from the time `at_us` until the next step, the nodes 0 .. level - 1 of the pool
   are available. */
struct hr_level_step {
  int64_t at_us; /* ascending */
  uint32_t level;
};

/* The distribution of the lifetime of a node for model bathtub, with t in hours:
   F(t) = a (1 - exp(-t / tau1) + exp((t - b) / tau2)) for t < last_h, and F(t) = 1 from last_h on. */
struct hr_bathtub {
  double a, tau1_h, tau2_h, b_h, last_h;
};

/* The spot model of a pool with its parameters. */
struct hr_spot_spec {
  enum hr_spot_model model;
  /* identifies the zone of the pool; pools with the same GPU type and the same `zone` have the same random events */
  uint32_t zone;
  int64_t notice_us; /* time between the notice and the reclaim of a node */
  /* Model trace: the record of available nodes. levels[0].at_us is 0. The record is repeated every period_us, which is
     above 0. */
  struct hr_level_step *levels;
  uint32_t n_levels;
  int64_t period_us, offset_us; /* offset_us: time in the record at which the run begins */
  struct hr_duration up, down;  /* model on-off: durations of periods with and without capacity */
  double rate_per_h;            /* models exponential, advisor: reclaims per hour of each node */
  double batch_mean;            /* models exponential, advisor: mean number of nodes reclaimed together; at least 1 */
  struct hr_bathtub bathtub;    /* model bathtub */
};

/* The market of a pool: prices, billing and, for spot, reclaims. */
struct hr_market_spec {
  enum hr_market market;
  /* in micro-dollars per GPU-hour; if the price changes, the price of the first step */
  int64_t price_uusd_h;
  struct hr_price_step *prices; /* [n_prices], from malloc; NULL: the price is constant */
  uint32_t n_prices;
  /* on-demand price of the same GPU type, in micro-dollars per GPU-hour; HR_UNKNOWN_UUSD_H: unknown */
  int64_t on_demand_uusd_h;
  /* begin and end of a reservation, or the delivery of owned nodes; 0 and HR_NEVER_US if not limited */
  int64_t from_us, to_us;
  /* Of a reservation with an end: how long before the end its nodes are stopped, and how long before this stop they get
     notice. */
  int64_t stop_before_us, stop_notice_us;
  struct hr_billing billing;
  struct hr_duration boot; /* time from the request for a node until jobs may start on the node */
  /* Queued provisioning: the time from a request until the provider delivers the nodes, which then boot and are billed;
     {0} if nodes are delivered at once. `max_run_us`: the nodes are stopped this long after their delivery; 0: they are
     not stopped. */
  struct hr_duration queue;
  int64_t max_run_us;
  struct hr_spot_spec spot;
};

/* Whether the nodes of an owned or reserved pool exist for a limited time only. */
static inline bool hr_market_is_bounded(const struct hr_market_spec *market) {
  if (market->market != HR_MARKET_RESERVED && market->market != HR_MARKET_OWNED) return false;
  return market->from_us > 0 || (market->to_us > 0 && market->to_us != HR_NEVER_US);
}

/* Whether a request for nodes waits until the provider delivers the nodes. */
static inline bool hr_market_is_queued(const struct hr_market_spec *market) {
  return market->queue.kind != HR_DURATION_FIXED || market->queue.a > 0;
}

/* hr_market_price_at returns the price at the time `at_us`, in micro-dollars per GPU-hour. hr_market_price_sum returns
   the integral of the price from time zero to `to_us`, in micro-dollars per GPU-hour x microseconds. */
HR_API int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us);
HR_API hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us);

/* ---- Checkpoints and restarts ---- */

/* When a job writes checkpoints. The columns: enumerator, name in scenarios. */
#define HR_CHECKPOINT_TABLE(X)                                                                                         \
  X(HR_CHECKPOINT_NONE, "none")             /* no checkpoints: an interrupted job starts over */                       \
  X(HR_CHECKPOINT_INTERVAL, "interval")     /* after each interval of work, and on notice if there is enough time */   \
  X(HR_CHECKPOINT_YOUNG_DALY, "young-daly") /* as interval; the interval is derived from the pool's reclaim rate */    \
  X(HR_CHECKPOINT_ON_NOTICE, "on-notice")   /* only on notice, if there is enough time */                              \
  X(HR_CHECKPOINT_CONTINUOUS, "continuous") /* all work is saved at all times, at no cost */

enum hr_checkpoint {
#define HR_CHECKPOINT_NAME(name, text) name,
  HR_CHECKPOINT_TABLE(HR_CHECKPOINT_NAME)
#undef HR_CHECKPOINT_NAME
      HR_N_CHECKPOINTS
};

/* Returns the name in scenarios. */
HR_API const char *hr_checkpoint_name(enum hr_checkpoint checkpoint);

/* The settings of a job class. If the trace has a checkpoint interval or a checkpoint size for a job, it overrides the
   setting of the class. */
struct hr_class_spec {
  bool no_spot; /* jobs of the class must not be placed on spot capacity */
  enum hr_checkpoint checkpoint;
  int64_t interval_us; /* work between two checkpoints */
  /* size of a checkpoint; writing uses the storage bandwidth of the pool */
  uint64_t checkpoint_mib;
  int64_t write_us; /* time to write a checkpoint if the storage bandwidth of the pool is unknown */
  /* asynchronous checkpoints: the job stops for stall_us only and works on while the checkpoint is written */
  bool async;
  int64_t stall_us;
  /* a job that is stopped by a failure does not run again: always (no_requeue), or after max_requeues restarts; 0: no
     limit */
  bool no_requeue;
  uint32_t max_requeues;
  /* time to load the image and the checkpoint after an interruption */
  int64_t restart_us;
  uint32_t gpu_power_ppm; /* power of the GPUs of the class, relative to their maximum; 0: that of the pool */
  /* enum hr_tier: required locality of jobs without a requirement in the trace */
  uint8_t within;
  /* time after submission for which jobs with this requirement wait for such a placement; HR_UNKNOWN_US: without
     limit */
  int64_t within_wait_us;
};

#ifdef __cplusplus
}
#endif
#endif
