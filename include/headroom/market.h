/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MARKET_H
#define HEADROOM_MARKET_H

/*
 * Markets: how a pool's nodes are obtained, what they cost, and how they are reclaimed; and how jobs checkpoint.
 *
 * Prices are integer micro-dollars per GPU-hour. Accrued amounts are price x milli-GPU x microseconds in 128 bits,
 * divided once, for output (see the ledger in headroom/sim.h).
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An accrued amount: micro-dollars per GPU-hour x milli-GPU x microseconds. Also used for sums of times over many
   GPUs or nodes. */
__extension__ typedef __int128 hr_amount;

/* The maximum price of a GPU or instance, in dollars per hour: HR_MAX_GPUS of them for all time fit into an
   hr_amount. */
#define HR_MAX_USD_H 100000

#define HR_MARKET_TABLE(X)                                                                                             \
  X(HR_MARKET_NONE, "")               /* always there; without a price */                                              \
  X(HR_MARKET_OWNED, "owned")         /* always there and billed, at the amortized cost per GPU-hour */                \
  X(HR_MARKET_RESERVED, "reserved")   /* there and billed from `from_us` to `to_us`, used or not */                    \
  X(HR_MARKET_ON_DEMAND, "on-demand") /* billed while up; boots after it is requested */                               \
  X(HR_MARKET_SPOT, "spot")           /* as on-demand, but may be unavailable and may be reclaimed */

enum hr_market {
#define HR_MARKET_NAME(name, text) name,
  HR_MARKET_TABLE(HR_MARKET_NAME)
#undef HR_MARKET_NAME
      HR_N_MARKETS
};

/* The name as in scenarios; "" for HR_MARKET_NONE. */
HR_API const char *hr_market_name(enum hr_market market);

/* Whether nodes of such a pool are added and removed on request. */
static inline bool hr_market_is_elastic(enum hr_market market) {
  return market >= HR_MARKET_ON_DEMAND;
}

/* The distribution of a duration. */
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

/* A step of a price that changes over time; the last one lasts forever. */
struct hr_price_step {
  int64_t at_us;  /* ascending; the first one is 0 */
  int64_t uusd_h; /* micro-dollars per GPU-hour */
};

/* The billing rules for a node that was up for some time. */
struct hr_billing {
  int64_t granularity_us;       /* the time is rounded up to a multiple; 0: exact */
  int64_t minimum_us;           /* minimum time billed */
  int64_t free_if_reclaimed_us; /* a node that is reclaimed within this time of its launch is free; 0: no such rule */
};

/* How spot capacity is reclaimed. */
#define HR_SPOT_MODEL_TABLE(X)                                                                                         \
  X(HR_SPOT_NONE, "none")               /* never */                                                                    \
  X(HR_SPOT_TRACE, "trace")             /* as recorded: the number of available nodes over time */                     \
  X(HR_SPOT_ON_OFF, "on-off")           /* the zone alternately has and lacks capacity, for random durations */        \
  X(HR_SPOT_EXPONENTIAL, "exponential") /* each node at a constant rate, alone or in groups */                         \
  X(HR_SPOT_BATHTUB, "bathtub")         /* by a node's age, up to a maximum */                                         \
  X(HR_SPOT_ADVISOR, "advisor")         /* exponential, with the rate from the share of nodes interrupted per month */

enum hr_spot_model {
#define HR_SPOT_MODEL_NAME(name, text) name,
  HR_SPOT_MODEL_TABLE(HR_SPOT_MODEL_NAME)
#undef HR_SPOT_MODEL_NAME
      HR_N_SPOT_MODELS
};

/* The name as in scenarios. */
HR_API const char *hr_spot_model_name(enum hr_spot_model model);

/* From `at_us` on, nodes 0 .. level - 1 of the pool are available. */
struct hr_level_step {
  int64_t at_us; /* ascending */
  uint32_t level;
};

/* The lifetime distribution of model bathtub, in hours: F(t) = a (1 - exp(-t / tau1) + exp((t - b) / tau2)), set to
   1 at `last_h`. */
struct hr_bathtub {
  double a, tau1_h, tau2_h, b_h, last_h;
};

struct hr_spot_spec {
  enum hr_spot_model model;
  uint32_t zone;     /* pools of one GPU type in one zone have the same number, and so the same random events */
  int64_t notice_us; /* time between notice and reclaim of a node */
  /* trace: the record, repeated with period period_us > 0. levels[0].at_us is 0. */
  struct hr_level_step *levels;
  uint32_t n_levels;
  int64_t period_us, offset_us; /* offset_us: the time in the record at which the run begins */
  struct hr_duration up, down;  /* on-off */
  double rate_per_h;            /* exponential, advisor: per node */
  double batch_mean;            /* exponential, advisor: mean number of nodes reclaimed together, at least 1 */
  struct hr_bathtub bathtub;
};

struct hr_market_spec {
  enum hr_market market;
  int64_t price_uusd_h;         /* per GPU-hour; the first step of a price that changes */
  struct hr_price_step *prices; /* NULL: the price is constant */
  uint32_t n_prices;
  int64_t on_demand_uusd_h; /* price of the same GPU on demand; HR_UNKNOWN_UUSD_H if unknown */
  int64_t from_us, to_us;   /* of a limited reservation; else 0 and HR_NEVER_US */
  struct hr_billing billing;
  struct hr_duration boot; /* time from the request for a node until jobs may start on it */
  struct hr_spot_spec spot;
};

/* The price of a GPU-hour at a time, in micro-dollars; and the price sum from time zero, in micro-dollars per
   GPU-hour x microseconds. */
HR_API int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us);
HR_API hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us);

/* ---- Checkpoints and restarts ---- */

#define HR_CHECKPOINT_TABLE(X)                                                                                         \
  X(HR_CHECKPOINT_NONE, "none")         /* an interrupted job starts over */                                           \
  X(HR_CHECKPOINT_INTERVAL, "interval") /* after each interval of work; and on notice, if there is time to write */    \
  X(HR_CHECKPOINT_YOUNG_DALY, "young-daly") /* as interval, which is derived from the pool's reclaim rate */           \
  X(HR_CHECKPOINT_ON_NOTICE, "on-notice")   /* only on notice, if there is time to write */                            \
  X(HR_CHECKPOINT_CONTINUOUS, "continuous") /* all work is kept at all times, at no cost */

enum hr_checkpoint {
#define HR_CHECKPOINT_NAME(name, text) name,
  HR_CHECKPOINT_TABLE(HR_CHECKPOINT_NAME)
#undef HR_CHECKPOINT_NAME
      HR_N_CHECKPOINTS
};

/* The name as in scenarios. */
HR_API const char *hr_checkpoint_name(enum hr_checkpoint checkpoint);

/* Settings of a job class. A job's own checkpoint interval and size in the trace have precedence. */
struct hr_class_spec {
  bool no_spot; /* must not be placed on spot capacity */
  enum hr_checkpoint checkpoint;
  int64_t interval_us;     /* work between two checkpoints */
  uint64_t checkpoint_mib; /* size of a checkpoint, written at the storage bandwidth of the pool */
  int64_t write_us;        /* time to write a checkpoint if the pool's storage bandwidth is unknown */
  int64_t restart_us;      /* time to load image and checkpoint after an interruption */
  uint8_t within;          /* enum hr_tier: required locality of jobs for which the trace has none */
  int64_t within_wait_us;  /* how long after submission a job waits for it, in microseconds; HR_UNKNOWN_US: forever */
};

#ifdef __cplusplus
}
#endif
#endif
