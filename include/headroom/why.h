/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_WHY_H
#define HEADROOM_WHY_H

/* Where waiting time went, and a job's life in sentences: for a person, and as JSON
 * (docs/reference/schemas/why.schema.json). */

#include "headroom/history.h"
#include "headroom/ledger.h"
#include "headroom/waits.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Why such jobs are rejected, for a sentence about several: "no pool has a GPU type they accept". */
HR_API const char *hr_rejection_words(enum hr_reason reason);

#ifdef __cplusplus
}
#endif
#endif
