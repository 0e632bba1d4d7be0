/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_ADVISE_H
#define HEADROOM_UNSTABLE_ADVISE_H

/*
 * Advice: changes of a scenario that reduce cost without harm to service, and the savings of each change. Changes are
 * other GPU types, fewer reserved nodes, spot capacity and other checkpoint intervals. A change is a list of overrides
 * of the scenario. The changed scenario is run with the same random events as the original scenario, so the savings are
 * computed as a paired difference. docs/planner/advise.md has the details.
 */

#include "headroom/base.h"
#include "headroom/unstable/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of changes. The columns: enumerator, name in files. */
#define HR_ADVICE_TABLE(X)                                                                                             \
  X(HR_ADVICE_GPU_TYPE, "gpu-type")                 /* a pool, or a job class in a pool, on another GPU type */        \
  X(HR_ADVICE_IDLE_RESERVATION, "idle-reservation") /* fewer nodes that are billed even if not used */                 \
  X(HR_ADVICE_SPOT, "spot")                         /* a job class on spot nodes, if the scenario has spot nodes */    \
  X(HR_ADVICE_CHECKPOINT, "checkpoint")             /* another checkpoint interval */

enum hr_advice_kind {
#define HR_ADVICE_NAME(name, text) name,
  HR_ADVICE_TABLE(HR_ADVICE_NAME)
#undef HR_ADVICE_NAME
      HR_N_ADVICE_KINDS
};
/* Returns the name in files. */
HR_API const char *hr_advice_kind_name(enum hr_advice_kind kind);

struct hr_scenario;
struct hr_trace;

/* An increase of the 95th percentile of waits counts as harmless up to this share of its present value, or up to this
   number of seconds, whichever is greater. */
#define HR_ADVISE_WAIT_SHARE 0.1
#define HR_ADVISE_WAIT_S 60

/* The input. Everything is borrowed and must outlive the advice. */
struct hr_advise_config {
  const struct hr_scenario *scenario; /* the scenario must have a price */
  const char *const *overrides;       /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  /* 0: as specified in the scenario; if the scenario does not specify it, HR_DEFAULT_MIN_REPLICATIONS */
  uint32_t n_replications;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* A metric without and with the change: its mean over replications or, for quantiles, its median. NAN: unknown. */
struct hr_advice_metric {
  double before, after;
};

/* A change and its effects. All pointers belong to the advice. */
struct hr_advice_item {
  enum hr_advice_kind kind;
  bool advised; /* the change reduces cost without harm to service */
  /* the affected tenant; NULL: the jobs of several tenants, or only jobs without a tenant, are affected */
  const char *tenant;
  /* the affected class; NULL: all jobs of the pool are affected */
  const char *class_;
  const char *pool;       /* the affected pool; NULL: several pools */
  const char *from, *to;  /* short descriptions of the present and the new setting */
  const char *reason;     /* why the change is not advised; NULL if it is advised */
  const char *const *set; /* [n_set]: overrides that make the change */
  size_t n_set;
  const struct hr_notes *assumed; /* the assumptions of the change */
  /* cost per month with the change minus cost without it; a saving is negative */
  struct hr_replicated monthly_usd;
  /* metrics of the affected class, or of all jobs if `class_` is NULL. completed: share of the jobs that completed */
  struct hr_advice_metric wait_p95_s, completed;
};

/* Evaluates possible changes. The caller frees `*advice` with hr_advice_destroy. Returns HR_OK even if nothing is
   advised, and HR_BAD_INPUT if the scenario has no price. */
struct hr_advice;
HR_API enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice,
                                struct hr_error *error);
HR_API void hr_advice_destroy(struct hr_advice *advice);

/* The evaluated changes: advised changes in the order of descending savings, then the other changes. hr_advice_item
   sets `*item` to the change at position `place`, from 0. After the last change it returns false and leaves `*item`
   unchanged. Strings belong to the advice. hr_advice_notes returns notes for the user. */
HR_API bool hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item);
HR_API const struct hr_notes *hr_advice_notes(const struct hr_advice *advice);

/* Prints the advice as a table, 80 columns wide, or writes it as JSON (docs/reference/schemas/advise.schema.json).
   `path` "-" is standard output. */
HR_API enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf,
                                      bool colour);
HR_API enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                           struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
