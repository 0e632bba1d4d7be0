/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_MARKET_H
#define HEADROOM_MARKET_H

/*
 * Where a pool's nodes come from, what they cost, and how they are taken away.
 *
 * Money is counted in whole micro-dollars per GPU-hour; what accrues is price x milli-GPU x microseconds in 128 bits,
 * divided once, when it is shown (headroom/ledger.h).
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What accrues: micro-dollars per GPU-hour x milli-GPU x microseconds; also sums of times over many GPUs or nodes. */
__extension__ typedef __int128 hr_amount;

/* The most that a GPU, or an instance, may cost an hour, in dollars: HR_MAX_GPUS of them for all time are an amount. */
#define HR_MAX_USD_H 100000

#define HR_MARKET_TABLE(X)                                                                                             \
  X(HR_MARKET_NONE, "")               /* always there, costs nothing: no price was given */                            \
  X(HR_MARKET_OWNED, "owned")         /* always there and paid for, at what a GPU-hour amortises to */                 \
  X(HR_MARKET_RESERVED, "reserved")   /* there and paid for from `from_us` to `to_us`, used or not */                  \
  X(HR_MARKET_ON_DEMAND, "on-demand") /* paid for while it is up; comes some time after it is asked for */             \
  X(HR_MARKET_SPOT, "spot")           /* likewise, and may not be had, and may be reclaimed */

enum hr_market {
#define HR_MARKET_NAME(name, text) name,
  HR_MARKET_TABLE(HR_MARKET_NAME)
#undef HR_MARKET_NAME
      HR_N_MARKETS
};
HR_API const char *hr_market_name(enum hr_market market);

/* Whether nodes of such a pool come and go by request. */
static inline bool hr_market_is_elastic(enum hr_market market) {
  return market >= HR_MARKET_ON_DEMAND;
}

/* A length of time that is drawn. */
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

/* A price that changes: a step function of time, the last step standing for ever. */
struct hr_price_step {
  int64_t at_us;  /* the first one at 0; increasing */
  int64_t uusd_h; /* micro-dollars per GPU-hour */
};

/* What is charged for a node that was up from a to b. */
struct hr_billing {
  int64_t granularity_us;       /* b - a is rounded up to a multiple; 0: exact */
  int64_t minimum_us;           /* at least this much */
  int64_t free_if_reclaimed_us; /* a node that is reclaimed within this time of its launch costs nothing; 0: no such
                                   rule */
};

/* How spot capacity is taken away. */
#define HR_SPOT_MODEL_TABLE(X)                                                                                         \
  X(HR_SPOT_NONE, "none")               /* never */                                                                    \
  X(HR_SPOT_TRACE, "trace")             /* as recorded: how many nodes could be had, by time */                        \
  X(HR_SPOT_ON_OFF, "on-off")           /* the zone has capacity or has none, for drawn lengths of time */             \
  X(HR_SPOT_EXPONENTIAL, "exponential") /* each node at a constant rate, alone or in batches */                        \
  X(HR_SPOT_BATHTUB, "bathtub")         /* by a node's age, with a last hour at which it surely ends */                \
  X(HR_SPOT_ADVISOR, "advisor")         /* exponential, its rate from the share of nodes interrupted in a month */

enum hr_spot_model {
#define HR_SPOT_MODEL_NAME(name, text) name,
  HR_SPOT_MODEL_TABLE(HR_SPOT_MODEL_NAME)
#undef HR_SPOT_MODEL_NAME
      HR_N_SPOT_MODELS
};
HR_API const char *hr_spot_model_name(enum hr_spot_model model);

/* From `at_us` on, nodes number 0 .. level-1 of the pool can be had. */
struct hr_level_step {
  int64_t at_us; /* increasing */
  uint32_t level;
};

/* Lifetime of a bathtub node: F(t) = a (1 - exp(-t / tau1) + exp((t - b) / tau2)), made 1 at `last_h`; hours. */
struct hr_bathtub {
  double a, tau1_h, tau2_h, b_h, last_h;
};

struct hr_spot_spec {
  enum hr_spot_model model;
  uint32_t zone;     /* pools of one GPU type in one zone have the same number and so the same fate */
  int64_t notice_us; /* how long before a node is reclaimed it is told */
  /* trace: the record, which begins again after its period; 0 < period. levels[0].at_us is 0. */
  struct hr_level_step *levels;
  uint32_t n_levels;
  int64_t period_us, offset_us; /* the run begins at `offset_us` of the record */
  struct hr_duration up, down;  /* on-off */
  double rate_per_h;            /* exponential, advisor: of each node */
  double batch_mean;            /* exponential, advisor: nodes reclaimed together, on average; at least 1 */
  struct hr_bathtub bathtub;
};

struct hr_market_spec {
  enum hr_market market;
  int64_t price_uusd_h;         /* per GPU-hour; of a price that changes: its first step's */
  struct hr_price_step *prices; /* NULL: the price stands */
  uint32_t n_prices;
  int64_t on_demand_uusd_h; /* what the same GPU costs on demand; HR_UNKNOWN_UUSD_H where unknown */
  int64_t from_us, to_us;   /* of reserved capacity that is bounded; 0 and HR_NEVER_US otherwise */
  struct hr_billing billing;
  struct hr_duration boot; /* from the request for a node until jobs may start on it */
  struct hr_spot_spec spot;
};

/* The price of a pool's GPU-hour at a time, and its sum from time zero: micro-dollars per GPU-hour x microseconds. */
HR_API int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us);
HR_API hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us);

/* ---- What jobs save and lose ------------------------------------------------------------------------ */

#define HR_CHECKPOINT_TABLE(X)                                                                                         \
  X(HR_CHECKPOINT_NONE, "none")             /* an interrupted job begins anew */                                       \
  X(HR_CHECKPOINT_INTERVAL, "interval")     /* every so much work; and on notice, if the write fits */                 \
  X(HR_CHECKPOINT_YOUNG_DALY, "young-daly") /* likewise, the interval from the pool's reclaim rate */                  \
  X(HR_CHECKPOINT_ON_NOTICE, "on-notice")   /* only on notice, if the write fits */                                    \
  X(HR_CHECKPOINT_CONTINUOUS, "continuous") /* all work is kept at all times, at no cost */

enum hr_checkpoint {
#define HR_CHECKPOINT_NAME(name, text) name,
  HR_CHECKPOINT_TABLE(HR_CHECKPOINT_NAME)
#undef HR_CHECKPOINT_NAME
      HR_N_CHECKPOINTS
};
HR_API const char *hr_checkpoint_name(enum hr_checkpoint checkpoint);

/* How jobs of one class stand interruptions. A job's own interval and size in the trace go before these. */
struct hr_class_spec {
  bool no_spot; /* never placed on spot capacity */
  enum hr_checkpoint checkpoint;
  int64_t interval_us;     /* work between two checkpoints */
  uint64_t checkpoint_mib; /* size; written at the pool's storage bandwidth */
  int64_t write_us;        /* how long a checkpoint takes where the pool's storage bandwidth is not known */
  int64_t restart_us;      /* image and load, before work goes on after an interruption */
  uint8_t within;          /* enum hr_tier: as in a trace, for jobs of which it does not tell that */
  int64_t within_wait_us;  /* likewise */
};

#ifdef __cplusplus
}
#endif
#endif
