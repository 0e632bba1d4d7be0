/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_HISTORY_H
#define HR_TESTS_ORACLE_NAIVE_HISTORY_H

/* Predictions from finished jobs for the naive schedulers: read from the first to the last of them for every query. */

#include "naive.h"

/* GPUs x time that `qssf` expects of a job, rounded; `finished`: jobs in the order in which they ended. */
int64_t naive_prediction(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished, uint32_t job);

enum { NAIVE_LEVELS = 14 };
/* The service at which a level begins, in GPUs x microseconds. */
int64_t naive_begin_of_level(uint32_t level);
/* The Gittins index in that level, from the services of jobs that have finished; -1 where none had so much. */
double naive_index(uint32_t level, const int64_t *service_us, uint32_t n_finished);
/* How many have finished when indices are next worked out, after they were with so many (0: never yet). */
uint32_t naive_next_indices(uint32_t n_finished);

#endif
