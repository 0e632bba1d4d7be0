/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_SLURM_BACKFILL_H
#define HR_SCENARIOS_CONFORM_SLURM_BACKFILL_H

#include "scenarios/conform/conform.h"

/* Runs a backfill case of Slurm. */
void hr__conform_slurm_backfill(const cJSON *input, const cJSON *expect, struct hr__verdict *verdict);

#endif
