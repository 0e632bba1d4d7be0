/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_course.h"

#include <gsl/gsl_cdf.h>
#include <string.h>

void hr__quantile_scores(double scores[HR__QUANTILE_STEPS]) {
  for (uint32_t i = 0; i < HR__QUANTILE_STEPS; i++) scores[i] = gsl_cdf_ugaussian_Pinv((i + 0.5) / HR__QUANTILE_STEPS);
}

static void begin_course(struct hr__course *course) {
  memset(course, 0, sizeof *course);
  hr__quantile_scores(course->scores);
}

/* What was summed over `campaigns`. */
static void end_course(struct hr__course *course, double campaigns) {
  for (uint32_t i = 0; i < HR__QUANTILE_STEPS; i++) course->mean += (course->at[i] /= campaigns) / HR__QUANTILE_STEPS;
}

/* Of campaigns of a size, by cell; their sum. */
static double weigh_cells(const struct hr_like_size *size, double weights[HR_LIKE_MOST_CELLS]) {
  double sum = 0;
  for (uint32_t k = 0; k < size->n_cells; k++)
    sum += weights[k] = size->share * size->cells[k].share / hr__mean_jobs(&size->cells[k]);
  return sum;
}

void hr__course_of_lengths(struct hr__course *course, const struct hr_like_band *band) {
  double sum = 0;
  begin_course(course);
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    const struct hr_like_size *size = &band->sizes[i];
    double weights[HR_LIKE_MOST_CELLS], campaigns = weigh_cells(size, weights), part;
    for (uint32_t at = 0; at < HR__QUANTILE_STEPS; at++) {
      uint32_t cell = hr__place_in(weights, size->n_cells, (at + 0.5) / HR__QUANTILE_STEPS, &part);
      course->at[at] += campaigns * hr__jobs_at(&size->cells[cell], part);
    }
    sum += campaigns;
  }
  end_course(course, sum);
}

void hr__jobs_by_cell(const struct hr_like_size *size, const struct hr__score_map *lengths, const double *scores,
                      double shift, double jobs[HR_LIKE_MOST_CELLS]) {
  double weights[HR_LIKE_MOST_CELLS], part;
  weigh_cells(size, weights);
  for (uint32_t k = 0; k < HR_LIKE_MOST_CELLS; k++) jobs[k] = 0;
  for (uint32_t at = 0; at < HR__QUANTILE_STEPS; at++) {
    double p = hr__score_map_p(lengths, scores[at] + shift);
    uint32_t cell = hr__place_in(weights, size->n_cells, p, &part);
    jobs[cell] += hr__jobs_at(&size->cells[cell], part) / HR__QUANTILE_STEPS;
  }
}

void hr__course_of_work(struct hr__course *course, const struct hr_like_band *band, const struct hr__run_times *runs,
                        const struct hr__score_map *lengths, double shift) {
  double sum = 0;
  begin_course(course);
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    const struct hr_like_size *size = &band->sizes[i];
    double weights[HR_LIKE_MOST_CELLS], jobs[HR_LIKE_MOST_CELLS];
    double campaigns = weigh_cells(size, weights), gpus = hr__mean_gpus(size);
    hr__jobs_by_cell(size, lengths, course->scores, shift, jobs);
    for (uint32_t k = 0; k < size->n_cells; k++)
      for (uint32_t at = 0; at < HR__QUANTILE_STEPS; at++)
        course->at[at] += campaigns * jobs[k] * gpus * runs[i * HR_LIKE_MOST_CELLS + k].at[at];
    sum += campaigns;
  }
  end_course(course, sum);
}

static uint32_t step_of(double p) {
  uint32_t step = (uint32_t)(p * HR__QUANTILE_STEPS);
  return step < HR__QUANTILE_STEPS ? step : HR__QUANTILE_STEPS - 1;
}

double hr__course_mean(const struct hr__course *course, const struct hr__score_map *map, double shift) {
  double sum = 0;
  for (uint32_t i = 0; i < HR__QUANTILE_STEPS; i++)
    sum += course->at[step_of(hr__score_map_p(map, course->scores[i] + shift))];
  return sum / HR__QUANTILE_STEPS;
}
