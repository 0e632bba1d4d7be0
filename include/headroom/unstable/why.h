/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WHY_H
#define HEADROOM_UNSTABLE_WHY_H

/*
 * Explanations of waits. At each instant, an observer determines the reason for which each job waits
 * (hr_view_wait_reason), and adds the time until the next instant to the part of the wait with that reason. Jobs that
 * always wait for the same reason are evaluated together. Watched jobs are evaluated one by one, so that the job ahead
 * of each of them is known. The parts of a wait sum exactly to the wait.
 */

#include "headroom/policy.h"
#include "headroom/sim.h"
#include "headroom/unstable/exports.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a wait that is due to one reason. */
struct hr_wait_part {
  uint32_t reason; /* enum hr_wait_reason_kind */
  uint32_t quota;  /* as in struct hr_wait_reason */
  int64_t us;
};

/* A wait of a job: from submission to the first start, or from a stop to the next start. Waits of length 0 are
   omitted. */
struct hr_wait {
  hr_job job;
  uint32_t n_parts;  /* number of parts; hr_waits_parts returns the longest part first */
  size_t first_part; /* internal; used by hr_waits_parts */
  int64_t begin_us, end_us;
  bool is_first; /* the job had not started before this wait */
  bool is_open;  /* the wait had not ended at the end of the run, which is `end_us` */
};

/* A period in which a watched job waited for one reason. */
struct hr_wait_segment {
  hr_job job;
  int64_t begin_us, end_us;
  struct hr_wait_reason hold;              /* the reason; its members free_milli and until_us are those at begin_us */
  uint64_t min_free_milli, max_free_milli; /* minimum and maximum of free_milli during the period */
};

/* The input of hr_waits_create. The list of jobs is copied. */
struct hr_waits_config {
  const struct hr_trace *trace;
  const hr_job *watched; /* [n_watched] */
  uint32_t n_watched;
  bool each; /* evaluate each job separately, for tests */
};

struct hr_waits;
/* Creates an observer for one run. The trace must outlive the observer. Returns NULL if memory is exhausted. */
HR_API struct hr_waits *hr_waits_create(const struct hr_waits_config *config);
HR_API void hr_waits_destroy(struct hr_waits *waits);
/* Returns the observer of the waits. Pass it to one run. */
HR_API struct hr_observer hr_waits_observer(struct hr_waits *waits);
/* Ends the waits that have not ended at the end of the run. Call it once, before the functions below. Returns
   HR_NO_MEMORY if a wait was lost during the run. */
HR_API enum hr_status hr_waits_close(struct hr_waits *waits, const struct hr_result *result);

/* The results, which belong to `waits`. hr_waits_all sets `*all` to all waits, sorted by (job, time), and returns their
   number. hr_waits_of sets `*all` to the waits of one job, sorted by time, and returns their number. hr_waits_parts
   returns the n_parts parts of a wait. */
HR_API size_t hr_waits_all(const struct hr_waits *waits, const struct hr_wait **all);
HR_API size_t hr_waits_of(const struct hr_waits *waits, hr_job job, const struct hr_wait **all);
HR_API const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait);
/* Sets `*segments` to the segments of a watched job, sorted by time, and returns their number; 0 for other jobs. */
HR_API size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments);

/* ---- Explanations of waits and of the life of a job ---- */

/* A finished run. Everything is borrowed. Waits, history and ledger are closed. */
struct hr_why {
  const char *scenario; /* name of the scenario */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_quota_spec *quotas; /* NULL: none */
  const struct hr_policy_choice *policy;
  uint64_t seed; /* seed of the run */
  const struct hr_result *result;
  const struct hr_waits *waits;
  const struct hr_history *history; /* needed for questions about single jobs; for other questions it may be NULL */
  const struct hr_ledger *ledger;   /* created with `by_job`; NULL: the run has no prices */
};

/* A question: about one watched job, about all jobs, or about the jobs of a tenant. */
struct hr_why_question {
  hr_job job;           /* the job; HR_NONE: the question is not about a single job */
  bool of_tenant;       /* the question is about the jobs of one tenant */
  uint32_t tenant;      /* the tenant, if of_tenant */
  uint32_t slowest;     /* how many of the jobs with the longest waits are listed */
  bool only_slowest;    /* print only the list of these jobs */
  uint32_t max_tenants; /* the maximum number of tenants in the JSON text, those with the longest waits; 0: all */
};

/* Prints the answer, at most 80 columns wide. Returns HR_NO_MEMORY or HR_IO_ERROR on failure. */
HR_API enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question,
                                   bool colour);
/* Returns the answer as JSON text (docs/reference/schemas/why.schema.json), which the caller frees with free(); NULL if
   memory is exhausted. */
HR_API char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question);
/* Writes the answer as JSON. `path` "-" is standard output. */
HR_API enum hr_status hr_why_write_json(const char *path, const struct hr_why *why,
                                        const struct hr_why_question *question, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
