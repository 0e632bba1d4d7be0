/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_HISTORY_H
#define HR_TESTS_ORACLE_NAIVE_HISTORY_H

/*
 * Predictions from finished jobs for the naive schedulers (docs/reference/rules.md, `qssf` and `gittins`). Every query
 * reads all finished jobs.
 */

#include "naive.h"

/* Returns the GPU time that `qssf` predicts for a job, in GPUs x the unit of the jobs' times, rounded. `finished`: the
   finished jobs in the order of their ends. */
int64_t naive_predicted_gpu_time(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished,
                                 uint32_t job);

enum { NAIVE_LEVELS = 14 }; /* number of levels of service, for `gittins` */
/* Returns the service at which a level begins, in GPU-microseconds; INT64_MAX for level NAIVE_LEVELS. */
int64_t naive_level_begin(uint32_t level);
/* Returns the Gittins index of a level from the services of finished jobs; -1: no finished job reached the level. */
double naive_gittins_index(uint32_t level, const int64_t *service_us, uint32_t n_finished);
/* Returns the number of finished jobs at which the next update of the indices occurs. `n_finished`: the number at the
   last update; 0: no update so far. */
uint32_t naive_next_update(uint32_t n_finished);

#endif
