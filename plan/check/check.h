/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_CHECK_H
#define HR_PLAN_CHECK_CHECK_H

/*
 * A check: the runs of a suite compared with a baseline. Each run of the suite is a case; runs that only the baseline
 * has are cases too. The owner of a structure below releases the texts in it (hr_check_destroy) unless noted otherwise.
 */

#include "headroom/scenario.h"
#include "headroom/unstable/check.h"
#include "plan/check/decisions.h"
#include "plan/runner/runner.h"

#include <stdio.h>

/* ---- Tolerances ------------------------------------------------------------------------------------- */

/* The tolerances that apply to a run: its own, and those of its suite. */
struct hr__allowance {
  const struct hr_tolerances *own, *common;
  bool replicated;
  bool paired; /* its replications have the same seeds as those of the baseline */
};

enum hr__tolerance_verdict {
  HR__SAME,
  HR__BETTER,  /* improved, and only regressions count */
  HR__ALLOWED, /* within the tolerance */
  HR__CHANCE,  /* not significant: within the variation of the replications */
  HR__WORSE    /* anything else: the check fails */
};

/* Never HR__CHANCE. *p_value is that of the difference, if the figure would fail and both sides have replications; else
   NaN. Which p-values are significant depends on the number of figures, so the caller decides. */
enum hr__tolerance_verdict hr__tolerance_evaluate(const struct hr__allowance *allowance,
                                                  const struct hr_baseline_figure *before,
                                                  const struct hr_baseline_figure *now, double *p_value);
/* Whether improvements never fail. */
static inline bool hr__tolerance_only_worse(const struct hr__allowance *allowance) {
  return allowance->own->said_only_worse ? allowance->own->only_worse : allowance->common->only_worse;
}

/* Whether the digests of the run and of its trace must equal those of the baseline. */
static inline bool hr__tolerance_wants_digest(const struct hr__allowance *allowance) {
  const struct hr_tolerances *own = allowance->own, *common = allowance->common;
  if (own->exact_digest || own->loose_digest) return own->exact_digest;
  if (common->exact_digest || common->loose_digest) return common->exact_digest;
  bool tolerant = own->count || common->count || hr__tolerance_only_worse(allowance);
  return !tolerant && !allowance->replicated;
}

/* Whether a tolerance applies to the figure: by its full name or, if `broadly`, also by its path or "*". */
bool hr__tolerance_names(const struct hr_tolerance *tolerance, const struct hr_baseline_figure *figure, bool broadly);
/* HR_BAD_INPUT with a location if a tolerance names an unknown metric. Classes and tenants are not checked. */
enum hr_status hr__tolerance_check_names(const struct hr_tolerances *tolerances, struct hr_error *error);

enum { HR__LABEL_BYTES = 320 };
/* Writes "wait_s.p95 of class inference" to `buffer`, of HR__LABEL_BYTES, and returns it. */
static inline const char *hr__baseline_label(const struct hr_baseline_figure *figure, char *buffer) {
  static const char *const kinds[HR_N_FIGURE_OF] = {
      [HR_FIGURE_OF_CLASS] = "class", [HR_FIGURE_OF_TENANT] = "tenant", [HR_FIGURE_OF_POOL] = "pool"};
  if (figure->of == HR_FIGURE_OF_RUN)
    snprintf(buffer, HR__LABEL_BYTES, "%.100s", figure->path);
  else
    snprintf(buffer, HR__LABEL_BYTES, "%.100s of %s %.200s", figure->path, kinds[figure->of], figure->group);
  return buffer;
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

/* A figure that differs from the baseline. NaN: unknown in that run. */
struct hr__check_change {
  char *label;
  enum hr__unit unit;
  double before, now, low, high;
  double p_value; /* of the difference; NaN without replications */
  enum hr__tolerance_verdict verdict;
};

/* The first job, by time, with a different start. */
struct hr__check_start {
  bool found;
  bool same; /* not found, and the baseline has the starts of all jobs */
  hr_job id;
  char *job;    /* its id as text */
  char *tenant; /* NULL: none */
  uint32_t gpus;
  int64_t submit_s;
  int64_t before_s, now_s; /* waits; HR_NEVER_US if it never started */
  bool was_backfilled;
  enum hr_reason reason; /* of its start now */
  char *wait;            /* sentence on what it waited for; NULL if unknown or if it did not wait */
};

/* A range of decisions that contains the first one that differs. */
struct hr__check_decisions {
  bool found;
  uint64_t first, last, count; /* numbers count from 1; `count` is the total */
  char *begins;                /* description of the first one; NULL if the run now has fewer decisions */
};

/* Verdicts from HR__CASE_NEW on are failures. */
enum hr__case_verdict { HR__CASE_SAME, HR__CASE_CHANGED, HR__CASE_NEW, HR__CASE_GONE, HR__CASE_FAILED };

struct hr__check_case {
  const struct hr_suite_run *run;       /* NULL: only in the baseline */
  const struct hr_baseline_run *before; /* NULL: not in the baseline */
  char *name, *policy;                  /* policy: as written in the suite; NULL: the scenario's */
  const char **overrides;               /* of the run, then of the policy; borrowed */
  size_t n_overrides;
  char **policy_overrides;
  size_t n_policy_overrides;
  struct hr_scenario *scenario;
  uint32_t trace; /* index in hr_check.traces */
  struct hr_baseline_run now;
  struct hr__check_change *changes;
  size_t n_changes, n_worse; /* n_worse: those that fail the case */
  bool wants_digest, other_digest, other_trace;
  struct hr__check_start start;
  struct hr__check_decisions decisions;
  struct hr_notes differences; /* in policy, seed, replications and files */
  enum hr__case_verdict verdict;
};

static inline bool hr__check_case_failed(const struct hr__check_case *item) {
  return item->verdict >= HR__CASE_NEW;
}

/* ---- Check ------------------------------------------------------------------------------------------ */

/* A trace that several cases may share. */
struct hr__check_trace {
  char *key, *path; /* key: hr__input_trace_key */
  uint64_t digest;
  struct hr_trace *trace;
};

struct hr_check {
  struct hr_check_config config;
  struct hr__check_case *cases;
  size_t n_cases;
  struct hr__check_trace *traces;
  size_t n_traces;
  struct hr_notes notes;
};

/* The results of a case: of one run, or of replications. Borrowed. */
struct hr__check_results {
  const struct hr_trace *trace;
  const struct hr_replicates *replicates; /* NULL: one run, of which the following are known */
  const struct hr__one_run *run;
  const struct hr_result *result;
  const struct hr__decisions *decisions;
};

/* Fills the figures of item->now, compares it with item->before and sets the verdict. HR_NO_MEMORY is the only failure.
 */
enum hr_status hr__check_compare(const struct hr_check_config *config, struct hr__check_case *item,
                                 const struct hr__check_results *results);

#endif
