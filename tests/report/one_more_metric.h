/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A further row of the catalogue of metrics (report/metrics/catalog.h). This is all that a new metric needs. */
#define HR__MORE_METRICS(X)                                                                                            \
  X(HR__M_PASSES_PER_JOB, "passes_per_job", "passes_per_job", FACTOR, RATIO, LOWER, NULLABLE | LISTED,                 \
    "Passes per job", "passes of the policy / submitted jobs",                                                         \
    number(s->jobs_submitted > 0, (double)s->n_passes / (double)s->jobs_submitted), UNKNOWN)
