/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MARKET_H
#define HEADROOM_MARKET_H

/*
 * Markets: how the nodes of a pool are obtained, paid for and reclaimed. This header also has the settings of job
 * classes (struct hr_class_spec), such as when jobs write checkpoints.
 *
 * Prices are integer micro-dollars per GPU-hour. Costs are 128-bit sums of price * milli-GPUs * microseconds. They are
 * converted to micro-dollars only for output (see the ledger in headroom/sim.h).
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sum of costs; the unit is (micro-dollars per GPU-hour) * milli-GPU * microsecond. The type is also used for sums of
   times over many GPUs or nodes, and for energy. */
__extension__ typedef __int128 hr_amount;

/* The maximum price of a GPU or an instance, in dollars per hour. An hr_amount can represent the cost of HR_MAX_GPUS
   GPUs at this price for the maximum simulated time. */
#define HR_MAX_USD_H 100000

/* How capacity is obtained and paid for. The columns: enumerator, name in scenarios. */
#define HR_MARKET_TABLE(X)                                                                                             \
  X(HR_MARKET_NONE, "")               /* always present, without a price */                                            \
  X(HR_MARKET_OWNED, "owned")         /* present from `from_us` on; billed at the amortized cost per GPU-hour */       \
  X(HR_MARKET_RESERVED, "reserved")   /* present and billed from `from_us` to `to_us`, even if not used */             \
  X(HR_MARKET_ON_DEMAND, "on-demand") /* boots after a request; billed from the begin of the boot to the release */    \
  X(HR_MARKET_SPOT, "spot")           /* as on-demand, but may be unavailable and may be reclaimed */

enum hr_market {
#define HR_MARKET_NAME(name, text) name,
  HR_MARKET_TABLE(HR_MARKET_NAME)
#undef HR_MARKET_NAME
      HR_N_MARKETS
};

/* Returns the name in scenarios; "" for HR_MARKET_NONE. */
HR_API const char *hr_market_name(enum hr_market market);

/* Returns whether a pool in this market is elastic: its nodes are requested and released during a run. In all other
   markets, nodes are present without a request. */
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

/* A step of a price over time: the price from the time `at_us` until the next step. The last price applies forever. */
struct hr_price_step {
  int64_t at_us;  /* ascending; 0 in the first step */
  int64_t uusd_h; /* micro-dollars per GPU-hour */
};

/* How the time from the delivery of a node by the provider until its release or reclaim is billed. */
struct hr_billing {
  int64_t granularity_us; /* billed time is rounded up to a multiple of this; 0: exact */
  int64_t minimum_us;     /* minimum billed time */
  /* a spot node that is reclaimed within this time after its delivery costs nothing; 0: no such rule */
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

/* A step of a record of spot capacity: from the time `at_us` until the next step, the first `level` nodes of the pool
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
  /* number of a group of pools with the same GPU type, provider, region and zone; pools of a group have the same random
     events */
  uint32_t zone;
  int64_t notice_us; /* time between the notice and the reclaim of a node */
  /* model trace: the record of available nodes. levels[0].at_us is 0. The record is repeated every `period_us`
     microseconds; `period_us` is above 0 */
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
  /* `from_us`: begin of a reservation, or delivery of owned nodes; 0: present from the begin of the run. `to_us`: end
     of a reservation; HR_NEVER_US: no end */
  int64_t from_us, to_us;
  /* for a reservation with an end: its nodes are stopped `stop_before_us` before the end, and get notice
     `stop_notice_us` before they are stopped */
  int64_t stop_before_us, stop_notice_us;
  struct hr_billing billing;
  struct hr_duration boot; /* time from the delivery of a node until jobs may start on the node */
  /* queued provisioning: the time from a request until the provider delivers the nodes. Delivered nodes boot and are
     billed. {0}: nodes are delivered at once */
  struct hr_duration queue;
  int64_t max_run_us; /* a node is stopped this long after its delivery; 0: it is not stopped */
  struct hr_spot_spec spot;
};

/* Returns whether the nodes of an owned or reserved pool are absent for a part of the time: before `from_us`, or after
   `to_us`. */
static inline bool hr_market_is_bounded(const struct hr_market_spec *market) {
  if (market->market != HR_MARKET_RESERVED && market->market != HR_MARKET_OWNED) return false;
  return market->from_us > 0 || (market->to_us > 0 && market->to_us != HR_NEVER_US);
}

/* Returns whether the market has queued provisioning: the provider does not deliver requested nodes at once. */
static inline bool hr_market_is_queued(const struct hr_market_spec *market) {
  return market->queue.kind != HR_DURATION_FIXED || market->queue.a > 0;
}

/* hr_market_price_at returns the price at the time `at_us`, in micro-dollars per GPU-hour. hr_market_price_sum returns
   the integral of the price from time 0 to `to_us`, in (micro-dollars per GPU-hour) * microseconds. */
HR_API int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us);
HR_API hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us);

/* ---- Checkpoints and restarts ---- */

/* When a job writes checkpoints. The columns: enumerator, name in scenarios. */
#define HR_CHECKPOINT_TABLE(X)                                                                                         \
  X(HR_CHECKPOINT_NONE, "none")             /* no checkpoints: an interrupted job starts over */                       \
  X(HR_CHECKPOINT_INTERVAL, "interval")     /* after each interval of work, and on notice if there is enough time */   \
  X(HR_CHECKPOINT_YOUNG_DALY, "young-daly") /* as interval; derived from the rates of spot reclaims and failures */    \
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

/* The settings of a job class. If the trace has a checkpoint size for a job, it overrides the size of the class. If the
   trace has a checkpoint interval for a job, the job writes checkpoints at this interval, except with
   HR_CHECKPOINT_ON_NOTICE and HR_CHECKPOINT_CONTINUOUS. */
struct hr_class_spec {
  bool no_spot; /* jobs of the class must not be placed on spot capacity */
  enum hr_checkpoint checkpoint;
  int64_t interval_us; /* HR_CHECKPOINT_INTERVAL: work between two checkpoints */
  /* size of a checkpoint; writing uses the storage bandwidth of the pool */
  uint64_t checkpoint_mib;
  int64_t write_us; /* time to write a checkpoint if the storage bandwidth of the pool is unknown */
  /* asynchronous checkpoints: the job stops for `stall_us` only, and then works while the checkpoint is written */
  bool async;
  int64_t stall_us;
  bool no_requeue; /* a job that a failure has stopped does not run again */
  /* a job that a failure has stopped does not run again if it was already restarted this number of times; 0: no limit
   */
  uint32_t max_requeues;
  /* time to load the image and the checkpoint when a job starts again after it was stopped */
  int64_t restart_us;
  uint32_t gpu_power_ppm; /* power of the GPUs of the class, relative to their maximum; 0: that of the pool */
  /* enum hr_tier: all GPUs of a job must be in one group of this tier, if the trace has no such requirement for the
     job; HR_TIER_ANY: no requirement */
  uint8_t within;
  /* the time after submission for which `within` applies; HR_UNKNOWN_US: it always applies */
  int64_t within_wait_us;
};

#ifdef __cplusplus
}
#endif
#endif
