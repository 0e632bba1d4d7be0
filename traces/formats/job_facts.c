/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests and states of jobs, in notations that several trace formats use.
 *
 * Job states are those of sacct(1). If the system ended a job (PREEMPTED, REQUEUED), its outcome is unknown: the job
 * did not fail, and its user did not cancel it.
 */

#include "traces/formats/formats.h"

#include <string.h>

enum { WHOLE_MILLI = 1000 };

bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded) {
  bool shared = milli_per_task > 0 && milli_per_task < WHOLE_MILLI;
  uint64_t whole = milli_per_task / WHOLE_MILLI + (milli_per_task % WHOLE_MILLI != 0);
  *rounded = !shared && milli_per_task % WHOLE_MILLI != 0;
  if (tasks == 0 || tasks > HR_MAX_GPUS || whole > HR_MAX_GPUS || whole * tasks > HR_MAX_GPUS) return false;
  job->tasks = (uint32_t)tasks;
  job->gpus = (uint32_t)(whole * tasks);
  job->gpu_milli = shared ? (uint32_t)milli_per_task : WHOLE_MILLI;
  return true;
}

bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes) {
  if (nodes == 0 || nodes > HR_MAX_GPUS || job->gpus % nodes) return false;
  job->tasks = (uint32_t)nodes;
  job->cpu_milli /= job->tasks;
  job->mem_mib /= job->tasks;
  return true;
}

#define ENDED(word, outcome)                                                                                           \
  {                                                                                                                    \
    word, {                                                                                                            \
      HR__STAGE_ENDED, outcome                                                                                         \
    }                                                                                                                  \
  }
#define LIVE(word, stage)                                                                                              \
  {                                                                                                                    \
    word, {                                                                                                            \
      stage, HR_OUTCOME_UNKNOWN                                                                                        \
    }                                                                                                                  \
  }
static const struct {
  const char *word;
  struct hr__slurm_state state;
} states[] = {ENDED("COMPLETED", HR_OUTCOME_COMPLETED),  ENDED("FAILED", HR_OUTCOME_FAILED),
              ENDED("CANCELLED", HR_OUTCOME_CANCELLED),  ENDED("TIMEOUT", HR_OUTCOME_FAILED),
              ENDED("NODE_FAIL", HR_OUTCOME_FAILED),     ENDED("OUT_OF_MEMORY", HR_OUTCOME_FAILED),
              ENDED("BOOT_FAIL", HR_OUTCOME_FAILED),     ENDED("DEADLINE", HR_OUTCOME_FAILED),
              ENDED("LAUNCH_FAILED", HR_OUTCOME_FAILED), ENDED("RECONFIG_FAIL", HR_OUTCOME_FAILED),
              ENDED("SPECIAL_EXIT", HR_OUTCOME_FAILED),  ENDED("REVOKED", HR_OUTCOME_CANCELLED),
              ENDED("PREEMPTED", HR_OUTCOME_UNKNOWN),    ENDED("REQUEUED", HR_OUTCOME_UNKNOWN),
              LIVE("PENDING", HR__STAGE_WAITING),        LIVE("REQUEUE_FED", HR__STAGE_WAITING),
              LIVE("REQUEUE_HOLD", HR__STAGE_WAITING),   LIVE("RESV_DEL_HOLD", HR__STAGE_WAITING),
              LIVE("CONFIGURING", HR__STAGE_RUNNING),    LIVE("RUNNING", HR__STAGE_RUNNING),
              LIVE("COMPLETING", HR__STAGE_RUNNING),     LIVE("RESIZING", HR__STAGE_RUNNING),
              LIVE("SIGNALING", HR__STAGE_RUNNING),      LIVE("STAGE_OUT", HR__STAGE_RUNNING),
              LIVE("STOPPED", HR__STAGE_RUNNING),        LIVE("SUSPENDED", HR__STAGE_RUNNING)};

bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state) {
  const char *space = memchr(text.at, ' ', text.length);
  size_t length = space ? (size_t)(space - text.at) : text.length;
  if (length && text.at[length - 1] == '+') length--; /* sacct truncated the state to the column width */
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    if (strlen(states[i].word) != length || memcmp(states[i].word, text.at, length) != 0) continue;
    *state = states[i].state;
    return true;
  }
  return false;
}
