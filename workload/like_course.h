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
/* The mean where scores are shifted. */
double hr__course_mean(const struct hr__course *course, const struct hr__score_map *map, double shift);

#endif
