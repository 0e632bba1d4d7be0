/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_WHY_H
#define HEADROOM_UNSTABLE_WHY_H

/*
 * Where waiting time goes. A fold asks at each instant what holds waiting jobs back (hr_view_wait_reason), and adds the
 * time up to the next instant. Jobs that are held back for the same reason are asked about once; those that are
 * watched, each by itself, with who was before them. The parts of a wait sum to it, to the microsecond.
 */

#include "headroom/policy.h"
#include "headroom/sim.h"
#include "headroom/unstable/exports.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Time of a wait for one reason. */
struct hr_wait_part {
  uint32_t reason; /* enum hr_wait_reason_kind */
  uint32_t quota;  /* as of struct hr_wait_reason */
  int64_t us;
};

/* One wait of a job: until its first start, or after something stopped it. Those that take no time are left out. */
struct hr_wait {
  hr_job job;
  uint32_t n_parts; /* the longest first */
  size_t first_part;
  int64_t begin_us, end_us;
  bool is_first; /* it had not started before */
  bool is_open;  /* it had no end yet when the run ended, at `end_us` */
};

/* Of a watched job: from when until when the same held it back. */
struct hr_wait_segment {
  hr_job job;
  int64_t begin_us, end_us;
  struct hr_wait_reason hold; /* free GPUs and until_us as at its begin */
  uint64_t min_free_milli, max_free_milli;
};

struct hr_waits_config {
  const struct hr_trace *trace;
  const hr_job *watched;
  uint32_t n_watched;
  bool each; /* each job is asked about by itself, as tests do */
};

struct hr_waits;
/* NULL when out of memory. The trace must outlive it; the list is copied. */
HR_API struct hr_waits *hr_waits_create(const struct hr_waits_config *config);
HR_API void hr_waits_destroy(struct hr_waits *waits);
/* To be given to a run, once. */
HR_API struct hr_observer hr_waits_observer(struct hr_waits *waits);
/* Ends what still waits at the run's end. HR_NO_MEMORY if something was lost. To be done once, before anything is
   asked. */
HR_API enum hr_status hr_waits_close(struct hr_waits *waits, const struct hr_result *result);

/* After the close; owned by the waits. Those of a job stand together in order of time, jobs in order of their ids. */
HR_API size_t hr_waits_all(const struct hr_waits *waits, const struct hr_wait **all);
HR_API size_t hr_waits_of(const struct hr_waits *waits, hr_job job, const struct hr_wait **all);
HR_API const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait);
/* Of a watched job, in order of time; none for others. */
HR_API size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments);

/* Where waiting time went, and a job's life in sentences: for a person, and as JSON
 * (docs/reference/schemas/why.schema.json). */

/* What is known of a run that is over; all of it is borrowed. Waits, history and ledger are closed. */
struct hr_why {
  const char *scenario; /* its name */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_quota_spec *quotas; /* NULL: none */
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_result *result;
  const struct hr_waits *waits;
  const struct hr_history *history; /* NULL: only for a job is it wanted */
  const struct hr_ledger *ledger;   /* that kept each job's cost; NULL: nothing has a price */
};

/* What is asked: of one job, which the waits watched; or of all, or those of one tenant. */
struct hr_why_question {
  hr_job job;        /* HR_NONE: of none in particular */
  bool of_tenant;    /* of one tenant alone, */
  uint32_t tenant;   /* this one */
  uint32_t slowest;  /* how many of those that waited longest are told one by one */
  bool only_slowest; /* and nothing else is */
};

/* At most 80 columns wide. `colour`: use terminal colours. HR_NO_MEMORY, HR_IO_ERROR. */
HR_API enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question,
                                   bool colour);
/* The answer as JSON, which the caller frees; NULL when out of memory. */
HR_API char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question);
/* `path` "-" is standard output. */
HR_API enum hr_status hr_why_write_json(const char *path, const struct hr_why *why,
                                        const struct hr_why_question *question, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
