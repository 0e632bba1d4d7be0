/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/asks.h"

enum { WHOLE_MILLI = 1000 };

bool hr__ask_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded) {
  bool shared = milli_per_task > 0 && milli_per_task < WHOLE_MILLI;
  uint64_t whole = milli_per_task / WHOLE_MILLI + (milli_per_task % WHOLE_MILLI != 0);
  *rounded = !shared && milli_per_task % WHOLE_MILLI != 0;
  if (tasks == 0 || tasks > HR_MAX_GPUS || whole > HR_MAX_GPUS || whole * tasks > HR_MAX_GPUS) return false;
  job->tasks = (uint32_t)tasks;
  job->gpus = (uint32_t)(whole * tasks);
  job->gpu_milli = shared ? (uint32_t)milli_per_task : WHOLE_MILLI;
  return true;
}

bool hr__ask_nodes(struct hr_job_record *job, uint64_t nodes) {
  if (nodes == 0 || nodes > HR_MAX_GPUS || job->gpus % nodes) return false;
  job->tasks = (uint32_t)nodes;
  job->cpu_milli /= job->tasks;
  job->mem_mib /= job->tasks;
  return true;
}
