/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_JOB_FACTS_H
#define HR_TRACES_FORMATS_JOB_FACTS_H

#include "headroom/trace_files.h"

/* Sets a request of `tasks` tasks with `milli_per_task` thousandths of a GPU each. Up to 1000 is a share of one GPU;
   more are whole GPUs, rounded up, which sets `*rounded`. Returns false if there are more than HR_MAX_GPUS GPUs or no
   task. */
bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded);

/* Divides a job's GPUs, and its totals in `cpu_milli` and `mem_mib`, among nodes: one task per node if the GPUs
   divide evenly. Otherwise the whole job is one task and the result is false. */
bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes);

/* Slurm job states, as printed by sacct and used in published logs of Slurm clusters. */

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__slurm_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Parses "COMPLETED" or "CANCELLED by 1000"; false if the text is not a state. */
bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state);

#endif
