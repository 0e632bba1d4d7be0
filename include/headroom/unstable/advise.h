/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_ADVISE_H
#define HEADROOM_UNSTABLE_ADVISE_H

/*
 * Advice: changes of a scenario that cut cost without hurting service, with the savings of each: other GPU types, fewer
 * reserved nodes, spot capacity, other checkpoint intervals. Each piece of advice is the scenario with overrides, run
 * with the same random events as the original, so its savings are a paired difference. docs/planner/advise.md has the
 * details.
 */

#include "headroom/base.h"
#include "headroom/unstable/replications.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_ADVICE_TABLE(X)                                                                                             \
  X(HR_ADVICE_GPU_TYPE, "gpu-type")                 /* a pool, or a job class in it, on another GPU type */            \
  X(HR_ADVICE_IDLE_RESERVATION, "idle-reservation") /* fewer nodes that are billed whether used or not */              \
  X(HR_ADVICE_SPOT, "spot")                         /* a job class on spot nodes, if the scenario has any */           \
  X(HR_ADVICE_CHECKPOINT, "checkpoint")             /* another checkpoint interval */

enum hr_advice_kind {
#define HR_ADVICE_NAME(name, text) name,
  HR_ADVICE_TABLE(HR_ADVICE_NAME)
#undef HR_ADVICE_NAME
      HR_N_ADVICE_KINDS
};
HR_API const char *hr_advice_kind_name(enum hr_advice_kind kind);

struct hr_scenario;
struct hr_trace;

/* How much the 95th percentile of waits may increase: by this share of it or by this many seconds, whichever is
   more. */
#define HR_ADVISE_WAIT_SHARE 0.1
#define HR_ADVISE_WAIT_S 60

/* Borrowed, and must outlive the advice. */
struct hr_advise_config {
  const struct hr_scenario *scenario; /* something in it must have a price */
  const char *const *overrides;       /* with which it was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  uint32_t n_replications; /* 0: the scenario's own number, or HR_DEFAULT_MIN_REPLICATIONS */
  uint32_t n_threads;
  struct hr_progress progress;
};

/* A metric without and with the change, over replications: the mean or, for quantiles, the median. NAN: unknown. */
struct hr_advice_figure {
  double before, after;
};

struct hr_advice_item {
  enum hr_advice_kind kind;
  bool advised;
  const char *tenant;     /* tenant with affected GPU time; NULL: several, or none */
  const char *class_;     /* class with affected GPU time; NULL: all jobs of the pool */
  const char *pool;       /* NULL: several */
  const char *from, *to;  /* descriptions */
  const char *reason;     /* why it is not advised; NULL if it is */
  const char *const *set; /* overrides that make the change */
  size_t n_set;
  const struct hr_notes *assumed;                /* its assumptions */
  struct hr_replicated monthly_usd;              /* cost with the change less cost without it: negative is a saving */
  struct hr_advice_figure wait_p95_s, completed; /* of the class, or of all jobs; completed: a share */
};

/* Evaluates possible changes; the caller destroys `*advice`. HR_OK also if nothing is advised. HR_BAD_INPUT if
   nothing has a price. */
struct hr_advice;
HR_API enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice,
                                struct hr_error *error);
HR_API void hr_advice_destroy(struct hr_advice *advice);

/* Advised changes by savings, highest first, then changes that were evaluated and are not advised. Strings belong to
   the advice. `place` counts from 0; returns false behind the last item, and leaves `*item` unchanged. */
HR_API bool hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item);
HR_API const struct hr_notes *hr_advice_notes(const struct hr_advice *advice);

/* Prints the table, 80 columns wide; writes it as JSON (docs/reference/schemas/advise.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf,
                                      bool colour);
HR_API enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                           struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
