/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* Readers of trace formats, and what they share. formats.c lists the readers and detects formats; each reader is a
   file of its own. */

#include "traces/core/reader.h"

extern const struct hr__format_reader hr__swf_reader, hr__philly_reader, hr__philly_log_reader, hr__openb_reader,
    hr__sacct_reader, hr__kubernetes_reader, hr__helios_reader, hr__acme_reader, hr__pai2020_reader,
    hr__spot2026_reader, hr__gavel_reader, hr__azure_llm_reader, hr__batsim_reader;

/* ---- Requests and states of jobs (job_facts.c) ------------------------------------------------------- */

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
