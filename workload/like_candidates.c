/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the jobs of a campaign run. Of eight draws of what they have in common, 24 where they are many, that is
 * taken which brings the scores of the cell's jobs nearest to the normal law, by the distance of Anderson and Darling,
 * with those of the campaign as they are to be expected. A sample of few campaigns strays far from its law; this one
 * nears it faster, and the law stays what it is (of the kind of herding: Chen, Welling, Smola, UAI 2010).
 */

#include "workload/like_draw.h"
#include "workload/like_numbers.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { CANDIDATES = 8, CANDIDATES_OF_LONG = 24, LONG_CAMPAIGN = 50, MOST_TRIES = 48 };
static const double least_own = 1e-6, least_p = 1e-12;

/* Of scores that are counted: every 1/20, and finer where most of the time is. */
static const double edge_p[HR__LIKE_EDGES] = {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4,   0.45, 0.5,   0.55, 0.6,
                                              0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999};

void hr__candidates_init(struct hr__draws *draws) {
  for (uint32_t i = 0; i < HR__LIKE_EDGES; i++) draws->edges[i] = gsl_cdf_ugaussian_Pinv(edge_p[i]);
}

/* ---- How far off ------------------------------------------------------------------------------------ */

/* Jobs of the campaign at or below an edge, beyond what the law has of as many. */
static double added(const struct hr__draws *draws, const struct hr__campaign *campaign, double common, uint32_t edge) {
  double below = campaign->own > least_own
                     ? hr__score_map_p(&draws->plain, (draws->edges[edge] - common) / campaign->own)
                     : common <= draws->edges[edge];
  return campaign->left * (below - edge_p[edge]);
}

/* How far off the cell's jobs would be. */
static double cost_of(const struct hr__draws *draws, const struct hr__cell_draws *cell,
                      const struct hr__campaign *campaign, double common) {
  double sum = 0, last_p = 0;
  for (uint32_t i = 0; i < HR__LIKE_EDGES; i++) {
    double excess = cell->excess[i] + added(draws, campaign, common, i);
    sum += (edge_p[i] - last_p) / (edge_p[i] * (1 - edge_p[i])) * excess * excess;
    last_p = edge_p[i];
  }
  return sum;
}

/* ---- Candidates ------------------------------------------------------------------------------------- */

/* Whether what all jobs take together, as a long one of them has it, is no more than a campaign may. */
static bool is_within(const struct hr__cell_draws *cell, double most_gpu_s, const struct hr__campaign *campaign,
                      double common) {
  if (campaign->left == 1 || !(most_gpu_s > 0)) return true;
  double score = common + campaign->own + campaign->shift;
  double p = fmin(1 - least_p, fmax(least_p, hr__score_map_p(cell->scores, score)));
  double gpus = (double)campaign->ask->gpus * campaign->ask->gpu_milli / 1000;
  return campaign->left * gpus * hr__run_times_quantile(cell->runs, p) <= most_gpu_s;
}

/* The share of the variance of scores that is between campaigns, of this one, of whose user's `of_user` is: a campaign
   of one job has nothing else. */
static double share_between(const struct hr_like_cell *cell, double of_user, uint32_t n_jobs,
                            struct hr__stream *stream) {
  double part, p = hr__stream_uniform(stream);
  if (n_jobs == 1) return 1;
  uint32_t low = hr__knot_below(hr_like_p, HR_LIKE_KNOTS, p, &part);
  double spread = cell->spreads[low] + (cell->spreads[low + 1] - cell->spreads[low]) * part;
  return fmax(of_user, 1 - spread * spread);
}

void hr__candidates_draw(struct hr__draws *draws, double user, struct hr__stream *stream,
                         struct hr__campaign *campaign) {
  struct hr__size_draws *size = &draws->bands[campaign->band].sizes[campaign->size];
  struct hr__cell_draws *cell = &size->cells[campaign->cell];
  double of_user = draws->model->user_together, smallest = HUGE_VAL, least = HUGE_VAL;
  double of_campaign = share_between(cell->cell, of_user, campaign->left, stream);
  uint32_t n = 0, most = campaign->left > LONG_CAMPAIGN ? CANDIDATES_OF_LONG : CANDIDATES;
  campaign->own = sqrt(1 - of_campaign);
  for (uint32_t i = 0; i < MOST_TRIES && n < most; i++) {
    double z = gsl_cdf_ugaussian_Pinv(hr__stream_uniform(stream));
    double common = sqrt(of_user) * user + sqrt(of_campaign - of_user) * z;
    bool within = is_within(cell, size->size->most_gpu_s, campaign, common);
    double cost = within ? cost_of(draws, cell, campaign, common) : HUGE_VAL;
    n += within;
    if (within ? cost >= least : n > 0 || common >= smallest) continue;
    least = cost;
    smallest = common;
    campaign->common = common;
  }
  for (uint32_t i = 0; i < HR__LIKE_EDGES; i++) cell->excess[i] += added(draws, campaign, campaign->common, i);
}
