/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_ADVISE_H
#define HEADROOM_UNSTABLE_ADVISE_H

/*
 * What a scenario could do otherwise, and what that saves: other GPU types, fewer reserved nodes, spot capacity, other
 * checkpoint intervals. Each piece of advice is the scenario under some overrides, run beside it over the same random
 * events: its dollars are a paired difference, not a rule of thumb. docs/planner/advise.md says it at length.
 */

#include "headroom/base.h"
#include "headroom/unstable/replications.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_ADVICE_TABLE(X)                                                                                             \
  X(HR_ADVICE_GPU_TYPE, "gpu-type")                 /* a pool, or a class of it, on GPUs of another type */            \
  X(HR_ADVICE_IDLE_RESERVATION, "idle-reservation") /* fewer nodes that are paid for whether they are used or not */   \
  X(HR_ADVICE_SPOT, "spot")                         /* a class on spot nodes, where there are any */                   \
  X(HR_ADVICE_CHECKPOINT, "checkpoint")             /* another time between checkpoints */

enum hr_advice_kind {
#define HR_ADVICE_NAME(name, text) name,
  HR_ADVICE_TABLE(HR_ADVICE_NAME)
#undef HR_ADVICE_NAME
      HR_N_ADVICE_KINDS
};
HR_API const char *hr_advice_kind_name(enum hr_advice_kind kind);

struct hr_scenario;
struct hr_trace;

/* How much longer the 95th percentile of a wait may become: by this share of it, or so many seconds, whichever is
   more. */
#define HR_ADVISE_WAIT_SHARE 0.1
#define HR_ADVISE_WAIT_S 60

/* All of it is borrowed, and must live as long as the advice. */
struct hr_advise_config {
  const struct hr_scenario *scenario; /* something in it has a price */
  const char *const *overrides;       /* that it was loaded with */
  size_t n_overrides;
  const struct hr_trace *trace;
  uint32_t n_replications; /* 0: the scenario's own number, or HR_LEAST_REPLICATIONS */
  uint32_t n_threads;
  struct hr_progress progress;
};

/* A figure without the change and with it, over the replications: a mean, or of quantiles the median. NaN: unknown. */
struct hr_advice_figure {
  double before, after;
};

struct hr_advice_item {
  enum hr_advice_kind kind;
  bool advised;
  const char *tenant;     /* whose GPU time it is about; NULL: several tenants', or no tenant's */
  const char *class_;     /* likewise; NULL: all jobs of the pool */
  const char *pool;       /* NULL: several */
  const char *from, *to;  /* in words */
  const char *reason;     /* why it is not advised; NULL if it is */
  const char *const *set; /* overrides that make the change */
  size_t n_set;
  const struct hr_notes *assumed;                /* what it takes for granted */
  struct hr_replicated monthly_usd;              /* with the change less without it: below 0 is saved */
  struct hr_advice_figure wait_p95_s, completed; /* of the class, or of all jobs; the latter a share */
};

/* HR_OK also where there is nothing to advise. HR_BAD_INPUT where nothing has a price. */
struct hr_advice;
HR_API enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice,
                                struct hr_error *error);
HR_API void hr_advice_destroy(struct hr_advice *advice);

/* What is advised, most dollars first, then what was looked at and is not. Texts are the advice's. */
HR_API size_t hr_advice_count(const struct hr_advice *advice);
HR_API void hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item);
HR_API const struct hr_notes *hr_advice_notes(const struct hr_advice *advice);

/* The table for a person, 80 columns wide; the same as JSON (docs/reference/schemas/advise.schema.json). */
HR_API enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf,
                                      bool colour);
HR_API enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                           struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
