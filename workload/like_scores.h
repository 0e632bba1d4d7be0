/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_SCORES_H
#define HR_WORKLOAD_LIKE_SCORES_H

/*
 * From normal scores to probabilities. A band's run times are longer in some weeks than in others: a week's shift is
 * added to the score. What becomes of it is looked up in the mixture of all weeks, so that over all of them the
 * probabilities are uniform, and run times are as the quantiles have them.
 */

#include "headroom/unstable/like.h"

enum { HR__SCORE_STEPS = 320 /* from -8 to 8 */, HR__QUANTILE_STEPS = 200 };

struct hr__score_map {
  double p[HR__SCORE_STEPS + 1];
};
/* The mixture of normal laws of variance 1 about `shifts`, with `weights` of which one at least is above 0. */
void hr__score_map_init(struct hr__score_map *map, const double *shifts, const double *weights, uint32_t n);
/* So many of them, of other `weights` [n_maps][n] each; where all of these are 0 they are taken as equal. */
void hr__score_maps_init(struct hr__score_map *maps, uint32_t n_maps, const double *shifts, const double *weights,
                         uint32_t n);
double hr__score_map_p(const struct hr__score_map *map, double score);

/* Run times of a cell. */
struct hr__run_times {
  double log_s[HR_LIKE_RUN_KNOTS], tail_log_s, most_log_s;
  double at[HR__QUANTILE_STEPS]; /* seconds, on average, of each of HR__QUANTILE_STEPS steps of probability */
  const struct hr_like_cell *cell;
};
/* Those of all cells of a band: [n_sizes][HR_LIKE_MOST_CELLS]. NULL when out of memory. The caller frees them. */
struct hr__run_times *hr__run_times_of(const struct hr_like_band *band);
/* The quantile at `p`, above 0 and below 1, in seconds. */
double hr__run_times_quantile(const struct hr__run_times *runs, double p);
double hr__run_times_mean(const struct hr__run_times *runs);

/* The place among `n_weights` intervals of those widths that `p` of them all together is at; `*part` of the way. */
uint32_t hr__place_in(const double *weights, uint32_t n_weights, double p, double *part);
/* The jobs of a campaign, at `p` of its cell's quantiles. */
double hr__jobs_at(const struct hr_like_cell *cell, double p);
/* The mean number of jobs of a cell's campaigns, and of GPUs of a size's jobs. */
double hr__mean_jobs(const struct hr_like_cell *cell);
double hr__mean_gpus(const struct hr_like_size *size);

#endif
