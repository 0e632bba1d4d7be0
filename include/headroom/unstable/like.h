/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_LIKE_H
#define HEADROOM_UNSTABLE_LIKE_H

/*
 * Workloads like another: a model of a workload, fitted to a trace, read from a file or shipped, and traces of any
 * length drawn from it. docs/researcher/generate.md defines what is fitted and how jobs are drawn.
 *
 * A model is a few hundred numbers: no job of the trace is in it. Jobs come in campaigns, runs of like jobs that one
 * user submits one after the other. Campaigns are kept by band (how many GPUs, coarsely: what has a course of its own
 * over the weeks), by size (finer: what has run times of its own) and by cell (how many jobs the campaign has).
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HR_LIKE_RUN_KNOTS = 44,
  HR_LIKE_KNOTS = 9,  /* of lengths and gaps */
  HR_LIKE_PAUSES = 4, /* between submits, for how alike jobs are: up to those of hr_like_pause_ends_s, and longer */
  HR_LIKE_STRATA = 6, /* of run times, for what goes with them */
  HR_LIKE_MOST_BANDS = 4,
  HR_LIKE_MOST_SIZES = 24, /* of all bands together */
  HR_LIKE_MOST_CELLS = 5,  /* of a size */
  HR_LIKE_MOST_ASKS = 32,
  HR_LIKE_MOST_RANKS = 256,      /* of users, or tenants, that are fitted */
  HR_LIKE_MOST_PEOPLE = 1000000, /* that a model may have */
  HR_LIKE_MOST_WEEKS = 1000,
  HR_LIKE_LEVELS = 9 /* of demand */
};

/* The probabilities of the knots; the strata end at those of hr_like_stratum_ends. */
HR_API extern const double hr_like_run_p[HR_LIKE_RUN_KNOTS];
HR_API extern const double hr_like_p[HR_LIKE_KNOTS];
HR_API extern const double hr_like_stratum_ends[HR_LIKE_STRATA];
HR_API extern const double hr_like_pause_ends_s[HR_LIKE_PAUSES - 1];

/* What each job of a campaign asks for. */
struct hr_like_ask {
  double share; /* of the size's jobs; shares are of their sum, here and below */
  uint32_t gpus, tasks;
  uint32_t gpu_milli; /* 1000: whole GPUs */
  uint32_t cpu_milli; /* per task; 0: unknown, as below */
  uint64_t mem_mib;
  char *gpu_type; /* NULL: any */
  uint8_t class_; /* enum hr_job_class */
};

/* Campaigns of a number of jobs that is in some range. */
struct hr_like_cell {
  double share;                    /* of the size's jobs */
  double together;                 /* share of the variance of run times, as normal scores, that is between campaigns */
  double spreads[HR_LIKE_KNOTS];   /* quantiles, over campaigns, of the standard deviation of these scores within
                                      one; 1: they are as far apart as those of any jobs */
  double alike[HR_LIKE_PAUSES];    /* by the pause before a job, the probability that it runs just as long as the one
                                      before it in its campaign */
  double steady;                   /* share of the variance of scores within a campaign that is a level's, which changes
                                      from job to job but little; the rest is each job's own */
  double holds[HR_LIKE_PAUSES];    /* by the pause before a job, the correlation of the level and that before */
  double gaps_together;            /* as `together` of the times between submits */
  double jobs[HR_LIKE_KNOTS];      /* quantiles of the jobs of a campaign */
  double gaps_s[HR_LIKE_KNOTS];    /* quantiles of the time between two submits of a campaign */
  double run_s[HR_LIKE_RUN_KNOTS]; /* quantiles of run times */
  double tail_from; /* from this probability on the logarithm of the run time, above what it is there, follows
                       a generalised Pareto law; 1: there is no tail */
  double tail_scale, tail_shape;
  double most_s; /* what no run time goes beyond */
};

/* Outcomes in a stratum of a size's run times; what is left of 1 is unknown. */
struct hr_like_outcomes {
  double completed, failed, cancelled;
};

struct hr_like_size {
  double share;      /* of the band's jobs */
  double repeats;    /* probability that a campaign asks for just what the one before it did, beyond chance */
  double most_gpu_s; /* of all jobs of a campaign together, on average, where it has more than one; 0: no bound */
  struct hr_like_ask *asks;
  struct hr_like_cell *cells;
  uint32_t n_asks, n_cells;
  struct hr_like_outcomes outcomes[HR_LIKE_STRATA];
};

struct hr_like_band {
  double jobs_per_day;    /* mean over the weeks */
  double day_variance;    /* of the day's factor, whose mean is 1; it is log-normal */
  double day_correlation; /* of the logarithms of one day's and the next */
  double *weeks;          /* [n_weeks of the model] factors of the rate */
  double *shifts;         /* [n_weeks] what is added to the normal scores of run times */
  double *length_shifts;  /* [n_weeks] to those of the numbers of jobs of campaigns */
  struct hr_like_size *sizes;
  uint32_t n_sizes;
};

/* What demand, which is the GPUs that would be in use if every job ran at once, is measured by when users hold back. */
enum hr_like_measure {
  HR_LIKE_BY_MEAN,  /* over all weeks */
  HR_LIKE_BY_TREND, /* what is usual at the time, too: that mean times the trend */
  HR_LIKE_MEASURES
};

/* How users hold back when much runs. */
struct hr_like_holding {
  double levels[HR_LIKE_LEVELS]; /* of demand so measured; they rise. All 0: nobody holds back */
  double admits[HR_LIKE_LEVELS]; /* probability that a campaign begins where demand, with its first job, is above the
                                    level; else it is put off by a day. They fall; all 1 where there are no levels */
};

struct hr_like_model {
  char *name, *source;
  double hours[24], weekdays[7]; /* factors of the rate; the first day is a Monday where the trace was dated */
  uint32_t n_weeks;              /* which come over and over again */
  double *trend;                 /* [n_weeks] mean demand of each week by that of all; NULL: there is none */
  struct hr_like_holding holding[HR_LIKE_MEASURES];
  struct hr_like_band bands[HR_LIKE_MOST_BANDS];
  uint32_t n_bands;
  double *users; /* [n_users] shares of the campaigns, by rank; [0]: no user is told */
  double *tenants;
  uint32_t n_users, n_tenants;
  double user_together;                               /* share of the variance of normal scores that is between users */
  double limit_share;                                 /* of the jobs that have a limit; 0: there is no column */
  double limit_ratios[HR_LIKE_STRATA][HR_LIKE_KNOTS]; /* quantiles of limit / run time */
};

/* Fits a model to a trace of at least one job. `*model` is to be destroyed; NULL on failure. */
HR_API enum hr_status hr_like_fit(const struct hr_trace *trace, struct hr_like_model **model, struct hr_error *error);
HR_API void hr_like_destroy(struct hr_like_model *model);

/* The names of the models that ship, ended by NULL. */
HR_API const char *const *hr_like_names(void);
/* Reads a shipped model by its name, or a file's (docs/reference/schemas/like.schema.json). */
HR_API enum hr_status hr_like_shipped(const char *name, struct hr_like_model **model, struct hr_error *error);
HR_API enum hr_status hr_like_load(const char *path, struct hr_like_model **model, struct hr_error *error);
/* Whether the file is a model: JSON whose outermost object has the key "headroom_workload", wherever it stands. False
   for what cannot be read twice. */
HR_API bool hr_like_is_model(const char *path);
/* Writes a model that hr_like_load reads; "-": standard output. */
HR_API enum hr_status hr_like_write(const struct hr_like_model *model, const char *path, struct hr_error *error);

/* Other users and tenants than the model has: `n_users` who submit by Zipf's law, tenants who have as many users each.
   0: those of the model stay. At most HR_LIKE_MOST_PEOPLE each. */
HR_API enum hr_status hr_like_set_people(struct hr_like_model *model, uint32_t n_users, uint32_t n_tenants,
                                         struct hr_error *error);

struct hr_like_spec {
  uint64_t count, seed;
  double load; /* GPUs asked for, from the first submit to the last, over those of the cluster; 0: the model's rate */
  uint32_t nodes, gpus_per_node; /* the cluster that the load is for */
};
HR_API void hr_like_spec_init(struct hr_like_spec *spec);

/* What was written. */
struct hr_like_figures {
  uint64_t jobs, users, tenants;
  double span_s, gpu_hours;
  double mean_gpus;   /* GPU-time over the span */
  double stretch;     /* what times were multiplied with so that the load is the one asked for; 1 without one */
  uint64_t too_large; /* jobs of more GPUs than the cluster that the load is for has; 0 without a load */
  uint32_t most_gpus; /* of a job */
};
/* Draws jobs and writes them as Headroom's CSV to `path` ("-": standard output), whole or not at all, as they are
   drawn: memory does not grow with their number, but where hr_generated_file says that they are gathered. The same
   model and spec give the same bytes; without a load, a greater count begins with the same jobs. `figures` may be
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
