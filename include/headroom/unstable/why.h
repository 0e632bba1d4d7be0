/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WHY_H
#define HEADROOM_UNSTABLE_WHY_H

/*
 * Where waiting time goes. An observer asks at each instant why waiting jobs do not start (hr_view_wait_reason) and
 * adds the time until the next instant. Jobs that wait for the same reason are asked for once; watched jobs are asked
 * for one by one, with the job ahead. The parts of a wait sum to it, to the microsecond.
 */

#include "headroom/policy.h"
#include "headroom/sim.h"
#include "headroom/unstable/exports.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The time of a wait for one reason. */
struct hr_wait_part {
  uint32_t reason; /* enum hr_wait_reason_kind */
  uint32_t quota;  /* as in struct hr_wait_reason */
  int64_t us;
};

/* A wait of a job: until its first start, or after it was stopped. Waits of no duration are left out. */
struct hr_wait {
  hr_job job;
  uint32_t n_parts; /* the longest first */
  size_t first_part;
  int64_t begin_us, end_us;
  bool is_first; /* the job had not started before */
  bool is_open;  /* the wait had not ended when the run ended, at `end_us` */
};

/* Of a watched job: a period with the same reason. */
struct hr_wait_segment {
  hr_job job;
  int64_t begin_us, end_us;
  struct hr_wait_reason hold; /* free GPUs and until_us are those at its beginning */
  uint64_t min_free_milli, max_free_milli;
};

struct hr_waits_config {
  const struct hr_trace *trace;
  const hr_job *watched;
  uint32_t n_watched;
  bool each; /* ask for each job by itself, for tests */
};

struct hr_waits;
/* Creates an observer for one run. The trace must outlive it; the list is copied. NULL if memory is exhausted. */
HR_API struct hr_waits *hr_waits_create(const struct hr_waits_config *config);
HR_API void hr_waits_destroy(struct hr_waits *waits);
/* The observer, to be passed to one run. */
HR_API struct hr_observer hr_waits_observer(struct hr_waits *waits);
/* Closes waits that are open at the end of the run. Must be called once, before the functions below. HR_NO_MEMORY if
   a wait was lost. */
HR_API enum hr_status hr_waits_close(struct hr_waits *waits, const struct hr_result *result);

/* The results belong to the waits. They are sorted by job and time. */
HR_API size_t hr_waits_all(const struct hr_waits *waits, const struct hr_wait **all);
HR_API size_t hr_waits_of(const struct hr_waits *waits, hr_job job, const struct hr_wait **all);
HR_API const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait);
/* Of a watched job, by time; none for other jobs. */
HR_API size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments);

/* ---- Explanations of waits and of a job's life ---- */

/* A finished run; borrowed. Waits, history and ledger are closed. */
struct hr_why {
  const char *scenario; /* its name */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_quota_spec *quotas; /* NULL: none */
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_result *result;
  const struct hr_waits *waits;
  const struct hr_history *history; /* only needed for single jobs; NULL otherwise */
  const struct hr_ledger *ledger;   /* with the cost of each job; NULL: nothing has a price */
};

/* The question: about one watched job, about all jobs, or about those of a tenant. */
struct hr_why_question {
  hr_job job;        /* HR_NONE: no single job */
  bool of_tenant;    /* jobs of one tenant only */
  uint32_t tenant;   /* that tenant */
  uint32_t slowest;  /* number of jobs with the longest waits to list */
  bool only_slowest; /* list only those */
};

/* Prints the answer, at most 80 columns wide. HR_NO_MEMORY, HR_IO_ERROR. */
HR_API enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question,
                                   bool colour);
/* The answer as JSON (docs/reference/schemas/why.schema.json), which the caller frees; NULL if memory is exhausted. */
HR_API char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question);
/* Writes the answer as JSON. `path` "-" is standard output. */
HR_API enum hr_status hr_why_write_json(const char *path, const struct hr_why *why,
                                        const struct hr_why_question *question, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
