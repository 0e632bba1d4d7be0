/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JOB_STATES_H
#define HR_TRACES_JOB_STATES_H

/* States of Slurm jobs, as sacct prints them and as published logs of Slurm clusters have them. */

#include "headroom/trace.h"

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__job_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Reads "COMPLETED", "CANCELLED by 1000"; false for what is no state. */
bool hr__job_state_parse(struct hr_text text, struct hr__job_state *state);

#endif
