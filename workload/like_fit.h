/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_FIT_H
#define HR_WORKLOAD_LIKE_FIT_H

/* Fitting a model of a workload to a trace, step by step, in this order. */

#include "headroom/unstable/like.h"

/* Of a week's normal scores, either way. What more would give a week of demand is what the next one gets too much of,
   by jobs that go on into it. */
#define HR__LIKE_MOST_SHIFT 1.2

/* Jobs of one user (or tenant, or unknown) and one number of GPUs, each soon after the one before. */
struct hr__like_fit_campaign {
  int64_t start_us;
  uint32_t first, n_jobs; /* places in `order` */
  uint32_t who;           /* HR_NONE: unknown */
  uint8_t size, bin;      /* among the fit's size_ends, and the bins of the table in like_fit_sizes.c */
};

struct hr__like_fit {
  const struct hr_trace *trace;
  struct hr_like_model *model;
  uint32_t *order; /* [n_jobs] jobs, campaign by campaign */
  double *score;   /* [n_jobs, by `order`] normal scores of run times, within their cells */
  struct hr__like_fit_campaign *campaigns;
  uint32_t n_campaigns;
  uint32_t size_ends[HR_LIKE_MOST_SIZES]; /* rising: the most GPUs of a job of each size; the last is HR_NONE */
  uint32_t n_size_ends;
  uint8_t band_of_size[HR_LIKE_MOST_SIZES];  /* among those of the model */
  uint8_t index_of_size[HR_LIKE_MOST_SIZES]; /* among those of its band */
  bool has_users;                            /* `who` are users; else tenants */
  /* Weeks, from a Monday's midnight on where the trace is dated. */
  int64_t start_us;  /* of the first week that is kept, on the trace's clock */
  uint32_t n_weeks;  /* kept; 1 for a trace shorter than two weeks */
  double *week_days; /* [n_weeks] how much of each the trace covers */
};

/* Each returns HR_NO_MEMORY or HR_OK. */
enum hr_status hr__like_fit_campaigns(struct hr__like_fit *fit);
enum hr_status hr__like_fit_size_ends(struct hr__like_fit *fit);
enum hr_status hr__like_fit_sizes(struct hr__like_fit *fit);
enum hr_status hr__like_fit_asks(struct hr__like_fit *fit);
enum hr_status hr__like_fit_users(struct hr__like_fit *fit);
enum hr_status hr__like_fit_clock(struct hr__like_fit *fit);
enum hr_status hr__like_fit_weeks(struct hr__like_fit *fit);
enum hr_status hr__like_fit_feedback(struct hr__like_fit *fit);

/* How often campaigns begin, or jobs come, by hour and weekday: factors whose mean is 1. After the clock was fitted. */
void hr__like_fit_profile(const struct hr__like_fit *fit, bool of_jobs, double hours[24], double weekdays[7]);
/* The week that a time is in, among those kept; HR_NONE where it is not kept. */
uint32_t hr__like_fit_week(const struct hr__like_fit *fit, int64_t at_us);
/* The band of a campaign. */
static inline uint32_t hr__like_fit_band(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign) {
  return fit->band_of_size[campaign->size];
}
static inline struct hr_like_size *hr__like_fit_size(const struct hr__like_fit *fit,
                                                     const struct hr__like_fit_campaign *campaign) {
  return &fit->model->bands[hr__like_fit_band(fit, campaign)].sizes[fit->index_of_size[campaign->size]];
}
static inline bool hr__like_fit_is_of(const struct hr__like_fit_campaign *campaign, uint32_t size, uint32_t bin) {
  return campaign->size == size && campaign->bin == bin;
}
/* Sets `alike`, `steady` and `holds` of a cell, after the scores. `room`: two numbers for each job of the trace. */
void hr__like_fit_alike(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, struct hr_like_cell *cell,
                        double *room);
/* The stratum of a run time by its normal score. */
uint32_t hr__like_stratum(double score);

#endif
