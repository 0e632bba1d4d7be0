/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CSV_HEADROOM_CSV_H
#define HR_TRACES_CSV_HEADROOM_CSV_H

/* The fields of a job in a CSV file. Readers, writers and column maps use this table. */

#include "traces/csv/csv_rows.h"

/* Key in a column map, name of the column in Headroom's own CSV, kind, true if the column must exist, true if each
   row must have a value, member of struct hr_job_record. */
#define HR__FIELD_TABLE(X)                                                                                             \
  X("job_id", "job_id", HR__TEXT, false, true, id)                                                                     \
  X("submit", "submit_s", HR__INSTANT, true, true, submit_us)                                                          \
  X("duration", "duration_s", HR__DURATION, true, true, work_us)                                                       \
  X("gpus", "gpus", HR__GPUS, true, true, gpus)                                                                        \
  X("user", "user", HR__TEXT, false, false, user)                                                                      \
  X("tenant", "tenant", HR__TEXT, false, false, tenant)                                                                \
  X("class", "class", HR__CLASS, false, false, class_)                                                                 \
  X("priority", "priority", HR__PRIORITY, false, false, priority)                                                      \
  X("limit", "limit_s", HR__DURATION, false, false, limit_us)                                                          \
  X("estimate", "estimate_s", HR__DURATION, false, false, estimate_us)                                                 \
  X("deadline", "deadline_s", HR__INSTANT, false, false, deadline_us)                                                  \
  X("tasks", "tasks", HR__TASKS, false, false, tasks)                                                                  \
  X("cpu", "cpu", HR__CPUS, false, false, cpu_milli)                                                                   \
  X("mem", "mem_gb", HR__GIB, false, false, mem_mib)                                                                   \
  X("gpu_mem", "gpu_mem_gb", HR__GIB, false, false, gpu_mem_mib)                                                       \
  X("gpu_milli", "gpu_milli", HR__GPU_SHARE, false, false, gpu_milli)                                                  \
  X("gpu_type", "gpu_type", HR__LIST, false, false, gpu_types)                                                         \
  X("status", "status", HR__STATUS, false, false, outcome)                                                             \
  X("model", "model", HR__TEXT, false, false, model)                                                                   \
  X("regions", "regions", HR__LIST, false, false, regions)                                                             \
  X("mig_profile", "mig_profile", HR__TEXT, false, false, mig_profile)                                                 \
  X("dedicated", "dedicated", HR__DEDICATED, false, false, flags)                                                      \
  X("interruptible", "interruptible", HR__INTERRUPTIBLE, false, false, flags)                                          \
  X("checkpoint_interval", "checkpoint_interval_s", HR__DURATION, false, false, checkpoint_interval_us)                \
  X("checkpoint", "checkpoint_gb", HR__GIB, false, false, checkpoint_mib)                                              \
  X("fail_at", "fail_at", HR__FRACTION, false, false, fail_at_ppm)                                                     \
  X("min_gpus", "min_gpus", HR__GPUS, false, false, min_gpus)                                                          \
  X("max_gpus", "max_gpus", HR__GPUS, false, false, max_gpus)                                                          \
  X("within", "within", HR__TIER, false, false, within)                                                                \
  X("within_wait", "within_wait_s", HR__DURATION, false, false, within_wait_us)                                        \
  X("start", "start_s", HR__INSTANT, false, false, recorded_start_us)

enum {
#define HR__COUNT_FIELD(...) +1
  HR__N_FIELDS = HR__FIELD_TABLE(HR__COUNT_FIELD)
#undef HR__COUNT_FIELD
};

/* The columns of Headroom's own CSV, in the order of the field table. */
extern const struct hr__csv_column hr__fields[HR__N_FIELDS];

/* Reads jobs from a CSV file. `reader->map` says which column contains which field; for other fields the names of
   the field table apply. */
extern const struct hr__format_reader hr__csv_reader;

#endif
