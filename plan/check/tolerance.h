/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_TOLERANCE_H
#define HR_PLAN_CHECK_TOLERANCE_H

/* Whether a figure may have moved as it has. */

#include "headroom/unstable/check.h"
#include "plan/runner/measures.h"

/* What is allowed in a run: its own tolerances, and those of its suite. */
struct hr__allowance {
  const struct hr_tolerances *own, *common;
  bool replicated;
  bool paired; /* its replications have the seeds that those of the baseline had */
};

enum hr__tolerance_verdict {
  HR__SAME,
  HR__BETTER,  /* for the better, where only what is worse counts */
  HR__ALLOWED, /* within the tolerance */
  HR__CHANCE,  /* no more than replications differ by themselves */
  HR__WORSE    /* all else: it fails */
};

/* Never HR__CHANCE: `chance` is how probable such a difference is by chance alone, of a figure that would fail and that
   replications tell it of; NaN of others. What is too much depends on how many figures were looked at. */
enum hr__tolerance_verdict hr__evaluator_moved(const struct hr__allowance *allowance,
                                               const struct hr_baseline_figure *before,
                                               const struct hr_baseline_figure *now, double *chance);
/* Whether the digests of the run and of its trace have to be the same. */
bool hr__wants_digest(const struct hr__allowance *allowance);

/* "wait_s.p95 of inference" into `buffer`, of HR__LABEL_BYTES, which it returns. */
enum { HR__LABEL_BYTES = 320 };
const char *hr__baseline_label(const struct hr_baseline_figure *figure, char *buffer);

/* Whether a tolerance speaks of the figure: by its whole name, or, `broadly`, by its path or "*". */
bool hr__tolerance_names(const struct hr_tolerance *tolerance, const struct hr_baseline_figure *figure, bool broadly);
/* Fails where a name is of no figure. Which classes and tenants there are is not asked. */
enum hr_status hr__tolerances_check(const struct hr_tolerances *tolerances, struct hr_error *error);

#endif
