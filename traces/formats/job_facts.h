/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_JOB_FACTS_H
#define HR_TRACES_FORMATS_JOB_FACTS_H

/* What a job asks for, from the ways in which traces write it down. */

#include "headroom/trace_files.h"

/* `tasks` tasks of `milli_per_task` thousandths of a GPU each. Up to one GPU that is a share of it; more are whole
   GPUs, the last one rounded up, which `*rounded` says. False: more GPUs than there can be, or no task. */
bool hr__ask_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded);

/* Spreads a job that has its GPUs, and in `cpu_milli` and `mem_mib` what all of it asks for, over nodes: a task on
   each, if the GPUs divide evenly, else all of it is one task and the answer is false. */
bool hr__ask_nodes(struct hr_job_record *job, uint64_t nodes);

/* States of Slurm jobs, as sacct prints them and as published logs of Slurm clusters have them. */

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__slurm_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Reads "COMPLETED", "CANCELLED by 1000"; false for what is no state. */
bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state);

#endif
