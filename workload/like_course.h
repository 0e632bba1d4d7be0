/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_COURSE_H
#define HR_WORKLOAD_LIKE_COURSE_H

/* What campaigns of a band have, on average, along their normal scores: jobs, or GPU-time. And so in a week whose
   scores are shifted. */

#include "workload/like_scores.h"

struct hr__course {
  double at[HR__QUANTILE_STEPS];     /* at the quantiles (i + 1/2) / HR__QUANTILE_STEPS */
  double scores[HR__QUANTILE_STEPS]; /* of these */
  double mean;
};
/* Jobs of a campaign. */
void hr__course_of_lengths(struct hr__course *course, const struct hr_like_band *band);
/* GPU-seconds of a campaign whose jobs' run times are at that quantile of their cell, in a week whose campaigns'
   lengths are shifted by `shift`. `runs`: hr__run_times_of the band. */
void hr__course_of_work(struct hr__course *course, const struct hr_like_band *band, const struct hr__run_times *runs,
                        const struct hr__score_map *lengths, double shift);
/* Jobs of a campaign of that size, on average, by its cell, in a week whose lengths are shifted by `shift`. `scores`:
   of the quantiles (i + 1/2) / HR__QUANTILE_STEPS. */
void hr__jobs_by_cell(const struct hr_like_size *size, const struct hr__score_map *lengths, const double *scores,
                      double shift, double jobs[HR_LIKE_MOST_CELLS]);
/* The scores of these quantiles. */
void hr__quantile_scores(double scores[HR__QUANTILE_STEPS]);
/* The mean where scores are shifted. */
double hr__course_mean(const struct hr__course *course, const struct hr__score_map *map, double shift);

#endif
