/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_PAI2020_JOBS_H
#define HR_TRACES_PAI2020_JOBS_H

/* What two further tables of PAI's trace tell of the jobs that tasks are of: `pai_job_table`, who submitted one and
   when, and `pai_group_tag_table`, which GPU type was asked for and what workload it is. */

#include "sim/names.h"
#include "traces/reader.h"

struct hr__pai_job {
  int64_t submit_us;       /* INT64_MIN: not told */
  uint32_t user, instance; /* among the users and the instances; HR_NONE: not told */
};

struct hr__pai_jobs {
  struct hr__names names; /* of jobs, as `at` is indexed */
  struct hr__names users, instances;
  struct hr__names words; /* GPU types and workloads */
  struct hr__pai_job *at; /* [names.count] */
  uint32_t capacity;
  struct hr__pai_tag {
    uint32_t gpu_type, workload; /* among the words; HR_NONE: not told */
  } * tags;                      /* [instances.count]; NULL: they were not read */
};

/* Reads both tables; `tags_path` may be NULL. Errors are those of `reader`, a bad row one also where it is lenient. To
   be finished also on failure. */
enum hr_status hr__pai_jobs_read(const struct hr__reader *reader, const char *jobs_path, const char *tags_path,
                                 struct hr__pai_jobs *jobs);
/* NULL: no such job. */
const struct hr__pai_job *hr__pai_jobs_find(const struct hr__pai_jobs *jobs, struct hr_text name);
/* Of a job; empty where nothing is told. */
struct hr_text hr__pai_job_user(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job);
struct hr_text hr__pai_job_gpu_type(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job);
struct hr_text hr__pai_job_workload(const struct hr__pai_jobs *jobs, const struct hr__pai_job *job);
void hr__pai_jobs_finish(struct hr__pai_jobs *jobs);

#endif
