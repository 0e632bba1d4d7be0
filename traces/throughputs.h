/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_THROUGHPUTS_H
#define HR_TRACES_THROUGHPUTS_H

/* Steps per second of kinds of jobs on one type of GPU, from the table that is published with Gavel. */

#include "traces/json_file.h"

#include "headroom/trace.h"

struct hr__throughputs {
  struct hr__json_file file;
  const cJSON *gpu; /* of the type that was asked for */
};

/* Reads `simulation_throughputs.json`: by GPU type, then by "('JOB TYPE', GPUS)", "null" being the job alone. */
enum hr_status hr__throughputs_read(const char *path, const char *gpu, struct hr__throughputs *throughputs,
                                    struct hr_error *error);
/* Steps per second of the job alone, on `gpus` GPUs; 0 where the table has none. */
double hr__throughputs_of(const struct hr__throughputs *throughputs, struct hr_text job_type, uint32_t gpus);
void hr__throughputs_finish(struct hr__throughputs *throughputs);

#endif
