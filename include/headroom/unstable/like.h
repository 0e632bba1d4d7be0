/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_LIKE_H
#define HEADROOM_UNSTABLE_LIKE_H

/*
 * Workload models: fitted to a trace, read from a file or shipped; and traces of any length drawn from them.
 * docs/researcher/generate.md defines what is fitted and how jobs are drawn.
 *
 * A model is a few hundred numbers and contains no job of the trace. Jobs come in campaigns: runs of similar jobs that
 * one user submits one after the other. Campaigns are divided by band (coarse number of GPUs: has its own development
 * over weeks), by size (fine number of GPUs: has its own run times) and by cell (number of jobs in the campaign).
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HR_LIKE_RUN_KNOTS = 44,
  HR_LIKE_KNOTS = 9, /* of numbers of jobs and of gaps */
  /* classes of gaps between submits, by which correlation is fitted: up to each of hr_like_pause_ends_s, and longer */
  HR_LIKE_PAUSES = 4,
  HR_LIKE_STRATA = 6, /* classes of run times, by which outcomes and limits are fitted */
  HR_LIKE_MOST_BANDS = 4,
  HR_LIKE_MOST_SIZES = 24, /* of all bands together */
  HR_LIKE_MOST_CELLS = 5,  /* per size */
  HR_LIKE_MOST_ASKS = 32,
  HR_LIKE_MOST_RANKS = 256,      /* of fitted users, or tenants */
  HR_LIKE_MOST_PEOPLE = 1000000, /* users, or tenants, of a model */
  HR_LIKE_MOST_WEEKS = 1000,
  HR_LIKE_LEVELS = 9 /* of demand */
};

/* The probabilities of the knots; strata end at those of hr_like_stratum_ends. */
HR_API extern const double hr_like_run_p[HR_LIKE_RUN_KNOTS];
HR_API extern const double hr_like_p[HR_LIKE_KNOTS];
HR_API extern const double hr_like_stratum_ends[HR_LIKE_STRATA];
HR_API extern const double hr_like_pause_ends_s[HR_LIKE_PAUSES - 1];

/* The request of each job of a campaign. */
struct hr_like_ask {
  double share; /* of the size's jobs; shares, here and below, are relative to their sum */
  uint32_t gpus, tasks;
  uint32_t gpu_milli; /* 1000: whole GPUs */
  uint32_t cpu_milli; /* per task; 0: unknown (here and below) */
  uint64_t mem_mib;
  char *gpu_type; /* NULL: any */
  uint8_t class_; /* enum hr_job_class */
};

/* Campaigns whose number of jobs is in a range. */
struct hr_like_cell {
  double share;    /* of the size's jobs */
  double together; /* share of the variance of run times (as normal scores) that is between campaigns */
  /* quantiles over campaigns of the standard deviation of these scores within a campaign; 1: as spread as all jobs */
  double spreads[HR_LIKE_KNOTS];
  /* repeat probability: by the gap before a job, the probability that it runs exactly as long as the previous job of
     its campaign */
  double alike[HR_LIKE_PAUSES];
  /* level share: share of the variance of scores within a campaign that belongs to a slowly changing level; the rest
     is individual */
  double steady;
  /* autocorrelation: by the gap before a job, the correlation of its level with the previous one */
  double holds[HR_LIKE_PAUSES];
  double gaps_together;            /* as `together`, for times between submits */
  double jobs[HR_LIKE_KNOTS];      /* quantiles of the number of jobs of a campaign */
  double gaps_s[HR_LIKE_KNOTS];    /* quantiles of the time between two submits of a campaign */
  double run_s[HR_LIKE_RUN_KNOTS]; /* quantiles of run times */
  /* from this probability on, the excess of the logarithm of the run time is generalised Pareto; 1: no tail */
  double tail_from;
  double tail_scale, tail_shape;
  double most_s; /* maximum run time */
};

/* Outcomes in a stratum of a size's run times; the rest is unknown. */
struct hr_like_outcomes {
  double completed, failed, cancelled;
};

struct hr_like_size {
  double share;      /* of the band's jobs */
  double repeats;    /* probability that a campaign has exactly the request of the previous one, beyond chance */
  double most_gpu_s; /* mean GPU time of all jobs of a campaign with several jobs is limited to this; 0: no limit */
  struct hr_like_ask *asks;
  struct hr_like_cell *cells;
  uint32_t n_asks, n_cells;
  struct hr_like_outcomes outcomes[HR_LIKE_STRATA];
};

struct hr_like_band {
  double jobs_per_day;    /* mean over the weeks */
  double day_variance;    /* of the daily factor, which is log-normal with mean 1 */
  double day_correlation; /* of the logarithms of consecutive days */
  double *weeks;          /* [n_weeks of the model]: factors of the rate */
  double *shifts;         /* [n_weeks]: added to the normal scores of run times */
  double *length_shifts;  /* [n_weeks]: added to the normal scores of the number of jobs of campaigns */
  struct hr_like_size *sizes;
  uint32_t n_sizes;
};

/* What demand (the GPUs in use if every job ran at once) is compared with for admission feedback. */
enum hr_like_measure {
  HR_LIKE_BY_MEAN,  /* mean over all weeks */
  HR_LIKE_BY_TREND, /* that mean times the trend at the time */
  HR_LIKE_MEASURES
};

/* Admission feedback: users submit less when demand is high. */
struct hr_like_holding {
  double levels[HR_LIKE_LEVELS]; /* demand levels, ascending. All 0: no feedback */
  /* probability that a campaign begins if demand, including its first job, exceeds the level; otherwise it is
     postponed by a day. Descending; all 1 without levels */
  double admits[HR_LIKE_LEVELS];
};

struct hr_like_model {
  char *name, *source;
  double hours[24], weekdays[7]; /* factors of the rate; the first day is Monday if the trace was dated */
  uint32_t n_weeks;              /* repeated cyclically */
  double *trend;                 /* [n_weeks]: mean demand of each week relative to the overall mean; NULL: none */
  struct hr_like_holding holding[HR_LIKE_MEASURES];
  struct hr_like_band bands[HR_LIKE_MOST_BANDS];
  uint32_t n_bands;
  double *users; /* [n_users]: shares of campaigns, by rank; [0]: no users */
  double *tenants;
  uint32_t n_users, n_tenants;
  double user_together;                               /* share of the variance of normal scores that is between users */
  double limit_share;                                 /* share of the jobs that have a limit; 0: no limit column */
  double limit_ratios[HR_LIKE_STRATA][HR_LIKE_KNOTS]; /* quantiles of limit / run time */
};

/* Fits a model to a trace with at least one job. The caller destroys `*model`; NULL on failure. */
HR_API enum hr_status hr_like_fit(const struct hr_trace *trace, struct hr_like_model **model, struct hr_error *error);
HR_API void hr_like_destroy(struct hr_like_model *model);

/* The names of the shipped models, terminated by NULL. */
HR_API const char *const *hr_like_names(void);
/* Reads a shipped model by name, or a file (docs/reference/schemas/like.schema.json). The caller destroys it. */
HR_API enum hr_status hr_like_shipped(const char *name, struct hr_like_model **model, struct hr_error *error);
HR_API enum hr_status hr_like_load(const char *path, struct hr_like_model **model, struct hr_error *error);
/* Whether the file is a model: JSON whose outermost object has the key "headroom_workload". False for files that
   cannot be read twice. */
HR_API bool hr_like_is_model(const char *path);
/* Writes a model that hr_like_load reads; "-": standard output. */
HR_API enum hr_status hr_like_write(const struct hr_like_model *model, const char *path, struct hr_error *error);

/* Replaces the users and tenants of a model: `n_users` users with Zipf popularity, tenants with equally many users
   each. 0: unchanged. At most HR_LIKE_MOST_PEOPLE each. */
HR_API enum hr_status hr_like_set_people(struct hr_like_model *model, uint32_t n_users, uint32_t n_tenants,
                                         struct hr_error *error);

struct hr_like_spec {
  uint64_t count, seed;
  /* GPUs requested between the first and the last submit, relative to the cluster; 0: the rate of the model */
  double load;
  uint32_t nodes, gpus_per_node; /* the cluster of the load */
};
HR_API void hr_like_spec_init(struct hr_like_spec *spec);

/* What was generated. */
struct hr_like_figures {
  uint64_t jobs, users, tenants;
  double span_s, gpu_hours;
  double mean_gpus;   /* GPU time / span */
  double stretch;     /* factor applied to times to reach the requested load; 1 without one */
  uint64_t too_large; /* jobs with more GPUs than the cluster of the load; 0 without a load */
  uint32_t most_gpus; /* maximum of a job */
};
/* Draws jobs and writes them as Headroom's CSV to `path` ("-": standard output), completely or not at all. Memory
   does not grow with their number, except for formats that gather all jobs (hr_generated_file). The same model and
   specification give the same bytes; without a load, a larger count begins with the same jobs. `figures` may be
   NULL. */
HR_API enum hr_status hr_like_generate(const struct hr_like_model *model, const struct hr_like_spec *spec,
                                       const char *path, struct hr_like_figures *figures, struct hr_error *error);

/* Writes the figures as JSON (docs/reference/schemas/like-result.schema.json); "-": standard output. */
HR_API enum hr_status hr_like_figures_write(const struct hr_like_model *model, const struct hr_like_spec *spec,
                                            const struct hr_like_figures *figures, const char *path,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
