/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* Readers of trace formats, functions that several readers use, and the detection of formats. formats.c lists the
   readers. Each reader is a file of its own. */

#include "traces/core/reader.h"

#include <stdbool.h>

/* The readers. */
extern const struct hr__format_reader hr__swf_reader, hr__philly_reader, hr__philly_log_reader, hr__openb_reader,
    hr__sacct_reader, hr__kubernetes_reader, hr__helios_reader, hr__acme_reader, hr__pai2020_reader,
    hr__spot2026_reader, hr__gavel_reader, hr__azure_llm_reader, hr__batsim_reader, hr__gaia_reader, hr__lwa_reader;

/* ---- Requests and states of jobs -------------------------------------------------------------------- */

/* Sets a request of `tasks` tasks with `milli_per_task` thousandths of a GPU each. Up to 1000 thousandths are a
   share of one GPU. More than 1000 are rounded up to whole GPUs; `*rounded` is set to true if that changes the
   request. Returns false if no tasks exist, or more than HR_MAX_GPUS GPUs. */
bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded);

/* Divides a job into one task for each of `nodes` nodes: its GPUs, and its totals in `cpu_milli` and `mem_mib`. If
   the number of GPUs is not a multiple of `nodes`, or if `nodes` is 0 or above HR_MAX_GPUS, the job is not changed,
   and false is returned. */
bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes);

/* States of Slurm jobs, as sacct prints them and as published logs of Slurm clusters contain them. */

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__slurm_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Parses a state such as "COMPLETED" or "CANCELLED by 1000". Returns false if the text is not a state. */
bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state);

#endif
