/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_PLANNING_H
#define HEADROOM_UNSTABLE_PLANNING_H

/* Planning: forecasts of demand, plans of capacity, advice on a scenario, costs of ownership over years, and
   experiments that fill a cluster. */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/trace.h"
#include "headroom/unstable/capacity.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/replay.h"

#include <stdio.h>

struct hr_ranks;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Forecasts ----------------------------------------------------------------------------------------- */

/*
 * Forecasts of demand, fitted to a trace: GPU hours of submitted work per week, by tenant and class.
 *
 * A series is the demand of the jobs of one tenant and one class. Small series are merged. The forecast of a series is
 * computed by exponential smoothing of the logarithm of its weekly demand, with a damped drift. Prediction intervals
 * include the uncertainty of level, drift, smoothing and spread. Within a week, demand follows an hourly profile.
 * docs/planner/forecast.md defines the model, its sources and its accuracy on held-out weeks.
 *
 * Weeks of the trace are counted from its first submit. Future weeks, and months of 730 hours, are counted from the end
 * of the last whole week of the trace. Weeks, months and series are numbered from 0. As the index of a series, the
 * number of series n_series (hr_forecast_series) means the total of all series.
 */

#define HR_MAX_FORECAST_MONTHS 18
#define HR_MAX_FORECAST_WEEKS 79 /* number of weeks that cover 18 months */
#define HR_MAX_FORECAST_HOLDOUT 52
#define HR_MIN_FORECAST_GROWTH 0.01
#define HR_MAX_FORECAST_GROWTH 100.0

/* The options of a forecast. A member that is 0 means the default. */
struct hr_forecast_config {
  uint32_t months; /* number of months to forecast, 1 to 18; default 3 */
  /* demand after a year / demand today, which replaces the fitted trend; default: the fitted trend */
  double growth;
  double confidence; /* of the prediction intervals, 0.5 to 0.999; default 0.95 */
  /* number of weeks at the end of the trace with which the accuracy is measured; default: a fifth of the fitted weeks,
     at least 1 and at most 8 */
  uint32_t holdout_weeks;
};

/* Fits a forecast. `config` may be NULL: all defaults. The caller frees `*forecast` with hr_forecast_destroy. The trace
   must outlive the forecast. Returns HR_BAD_INPUT if an option is invalid, if the trace is too short, or if no job
   requests GPUs. */
struct hr_forecast;
HR_API enum hr_status hr_forecast_make(const struct hr_trace *trace, const struct hr_forecast_config *config,
                                       struct hr_forecast **forecast, struct hr_error *error);
HR_API void hr_forecast_destroy(struct hr_forecast *forecast);

/* ---- Workloads drawn from a forecast ---- */

/* Returns an array, [n_jobs], with the number of the series of each job, also for jobs that request no GPU. Sets
   `*n_series` to the number of series. The array belongs to the forecast. */
HR_API const uint32_t *hr_forecast_series(const struct hr_forecast *forecast, uint32_t *n_series);
/*
 * Computes demand factors: factors[series * n_weeks + i] is the demand of the series in the future week first_week + i,
 * divided by its mean weekly demand in the trace. If the series has no demand in the whole weeks of the trace, its
 * factors are 0. Factors are never negative. They can be used as `factors` of struct hr_workload_spec if its positions
 * are weeks.
 *
 * With `expected`, the factors are computed from the mean demand, and `seed` is not used. Without it, they are computed
 * from one random path of demand, which is drawn with `seed`. The mean over all paths is the mean demand; the quantiles
 * over all paths are the limits of the prediction intervals. The demand of a week of a path does not depend on which
 * other weeks are requested. Plans draw the path of replication r with hr_replication_seed(seed, r).
 *
 * Returns HR_BAD_INPUT if first_week + n_weeks exceeds HR_MAX_FORECAST_WEEKS.
 */
HR_API enum hr_status hr_forecast_factors(const struct hr_forecast *forecast, uint64_t seed, bool expected,
                                          uint32_t first_week, uint32_t n_weeks, double *factors,
                                          struct hr_error *error);

/* ---- Results ---- */

/* A mean and its prediction interval. */
struct hr_forecast_band {
  double mean, low, high;
};

/* The number of GPUs in use in a month, if all jobs started at submission. */
struct hr_forecast_month {
  struct hr_forecast_band mean; /* mean over the month */
  double peak;                  /* 95th percentile of the number in the busiest hour of a week */
};

/* The accuracy of a forecast, measured on weeks of the trace that were not used for the fit. The model is fitted
   several times, each time without the weeks from a certain week (the origin) on, and forecasts the following weeks.
   All errors have equal weight. NAN: unknown. */
struct hr_forecast_score {
  double wape; /* sum of |forecast - actual| / sum of actual */
  double bias; /* sum of (forecast - actual) / sum of actual */
  double mase; /* (mean of |forecast - actual|) / (mean of |change from week to week| before the first origin) */
  /* wape and mase of the seasonal naive forecast, in which each hour equals the same hour of the last known week */
  double naive_wape;
  double naive_mase;
  double coverage; /* share of the weeks in which the actual demand is within the prediction interval */
};

/* A series and its forecast. */
struct hr_forecast_item {
  /* names. "": unknown; "(others)": merged series; "(all)": all classes. For the total, both are "(total)" */
  const char *tenant, *class_;
  uint64_t jobs;         /* number of jobs that request GPUs */
  double week_gpu_hours; /* GPU hours per week, mean over the whole weeks of the trace */
  /* now_gpus: mean number of GPUs in use at the end of the trace, according to the model; now_peak: 95th percentile of
     this number in the busiest hour of a week */
  double now_gpus, now_peak;
  double trend; /* fitted growth factor per year. 1.2: growth by a fifth; 1: no growth */
  /* smoothing: parameter alpha; spread: standard deviation of the logarithm of a week's demand */
  double smoothing, spread;
  struct hr_forecast_score score;
};

/* The extent and the options of a forecast. */
struct hr_forecast_span {
  uint32_t trace_weeks; /* number of whole weeks of the trace */
  /* number of the first fitted week; earlier weeks are omitted because they were recorded incompletely */
  uint32_t first_week;
  uint32_t months, weeks; /* number of future months and weeks */
  uint32_t holdout_weeks; /* as in struct hr_forecast_config; 0: the trace has too few weeks to measure the accuracy */
  /* number of different hours in the profile: 168; 48 (24 for weekdays, 24 for weekends); or 24 */
  uint32_t profile;
  double growth; /* growth that was requested, which replaces the fitted trend; NAN: the fitted trend is used */
  /* half_life_weeks: time in which the damped trend halves; NAN: no trend */
  double confidence, half_life_weeks;
};

/* hr_forecast_span returns the extent of a forecast. hr_forecast_item returns a series, or the total if `series` is
   n_series. Strings belong to the forecast. */
HR_API struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast);
HR_API struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series);
/* Returns the GPU hours of a week of the trace. */
HR_API double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Returns the GPU hours of a future week. */
HR_API struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Returns the forecast for a future month. */
HR_API struct hr_forecast_month hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month);
/* Returns the hourly profile of a series, [168]: for each hour of the week, the GPUs in that hour / the mean over the
   week. If the trace has dates, the first hour is Monday's first hour. If not, it is the first hour of the trace. The
   array belongs to the forecast. */
HR_API const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast);

/* Prints the forecast as tables, 80 columns wide. `colour`: use colours of the terminal. */
HR_API enum hr_status hr_forecast_print(FILE *out, const struct hr_forecast *forecast, bool colour);
/* The two functions below write the forecast to a file; `path` "-" is standard output. JSON: see
   docs/reference/schemas/forecast.schema.json. CSV: one row per series and week. */
HR_API enum hr_status hr_forecast_write_json(const char *path, const struct hr_forecast *forecast,
                                             struct hr_error *error);
HR_API enum hr_status hr_forecast_write_csv(const char *path, const struct hr_forecast *forecast,
                                            struct hr_error *error);

/* ---- Plans --------------------------------------------------------------------------------------------- */

/* Capacity planning. A candidate is one mix of capacity, with a policy. The object `plan` of a scenario defines
   candidates, goals and an objective, usually cost. The planner finds the candidate with the lowest objective among
   those that meet the goals. It also reports the confidence in this choice, alternatives and sensitivities.
   docs/planner/plan.md has the details. */

/* ---- Plans ---- */

struct hr_scenario;

/* The search for the best candidate. */
enum hr_plan_search {
  /* exhaustive search if there are few candidates and nothing is random; fast search in all other cases */
  HR_PLAN_SEARCH_AUTO,
  HR_PLAN_SEARCH_FAST,      /* few runs: uses bounds, bisection and successive halving */
  HR_PLAN_SEARCH_EXHAUSTIVE /* every candidate is run as many times as a finalist */
};

/* A listener. During the search, it is notified of each candidate that was run, in the order of the runs. */
struct hr_plan_listener {
  void *self;
  /* `json`: a line of JSON, {"event":"candidate",...}, with the members of an option of the plan
     (docs/reference/schemas/plan.schema.json). The function may be NULL */
  void (*candidate)(void *self, const char *json);
};

/* The input of a plan. Everything is borrowed and must outlive the plan. */
struct hr_plan_config {
  const struct hr_scenario *scenario; /* must have the key `plan` */
  const char *const *overrides;       /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  enum hr_plan_search search;
  bool no_sensitivity;      /* skip the sensitivity analysis */
  uint32_t forecast_months; /* number of future months to forecast and to plan for; 0: plan for the trace */
  /* growth factor per year that replaces the fitted trend of the forecast; 0: the fitted trend */
  double forecast_growth;
  uint32_t n_threads;
  struct hr_ranks *ranks; /* ranks of an MPI job that share the runs (headroom/unstable/replay.h); NULL: none */
  struct hr_progress progress;
  struct hr_plan_listener listener;
};

/* ---- Goals of one run ---- */

struct hr_trace;
struct hr_summary;

/* A goal of a scenario's plan, evaluated for a run. */
struct hr_goal_result {
  char *text;        /* the goal as written in the scenario */
  double value;      /* value of the metric in the run, in the metric's unit; NAN: unknown */
  bool met, assumed; /* met: the run meets the goal. assumed: the goal is not in the scenario, but added by default */
};

/* Evaluates the goals of the scenario's plan for a run with the summary `summary`. Sets `*results` to an array of
   `*count` goals, in their order, which the caller frees with hr_goal_results_free. If the scenario has no plan,
   `*count` is 0. Returns HR_BAD_INPUT if a goal cannot be parsed. */
HR_API enum hr_status hr_goals_of_run(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                      const struct hr_summary *summary, struct hr_goal_result **results, size_t *count,
                                      struct hr_error *error);
HR_API void hr_goal_results_free(struct hr_goal_result *results, size_t count);

struct hr_plan;
/* Computes a plan. The caller frees `*plan` with hr_plan_destroy. Returns HR_OK even if no candidate meets the goals,
   see hr_plan_feasible. Returns HR_BAD_INPUT if the plan of the scenario is invalid. If ranks share the runs, all ranks
   make the same call. */
HR_API enum hr_status hr_plan(const struct hr_plan_config *config, struct hr_plan **plan, struct hr_error *error);
HR_API void hr_plan_destroy(struct hr_plan *plan);
/* Checks the text of one goal, such as "wait_s.p95 of inference <= 60", for a trace. Returns HR_BAD_INPUT if the goal
   is invalid; `error` begins with "--goal: ". */
HR_API enum hr_status hr_plan_goal_check(const char *goal, const struct hr_trace *trace, struct hr_error *error);
/* Checks the plan of a scenario without a run: the names in goals and objective, and the keys and values that the
   variables set. `overrides`: the overrides with which the scenario was loaded. If `trace` is NULL, goals and objective
   are not checked. If the scenario was not read from a regular file, variables are not checked. Returns HR_OK if the
   scenario has no plan, and HR_BAD_INPUT if a check fails. */
HR_API enum hr_status hr_plan_check(const struct hr_scenario *scenario, const char *const *overrides,
                                    size_t n_overrides, const struct hr_trace *trace, struct hr_error *error);
/* Adds a warning if the scenario has a plan with more candidates than its limit. hr_plan refuses such a plan, but the
   scenario can be run. */
HR_API enum hr_status hr_plan_size_note(const struct hr_scenario *scenario, struct hr_notes *notes,
                                        struct hr_error *error);
/* Returns whether any candidate meets the goals. */
HR_API bool hr_plan_feasible(const struct hr_plan *plan);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_plan_notes(const struct hr_plan *plan);

/* hr_plan_print prints the plan, 80 columns wide. hr_plan_write_json writes it as JSON
   (docs/reference/schemas/plan.schema.json); `path` "-" is standard output. `perf`: time and memory of the program; may
   be NULL. */
HR_API enum hr_status hr_plan_print(FILE *out, const struct hr_plan *plan, const struct hr_perf *perf, bool colour);
HR_API enum hr_status hr_plan_write_json(const char *path, const struct hr_plan *plan, const struct hr_perf *perf,
                                         struct hr_error *error);
/* Returns the plan as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_plan_json(const struct hr_plan *plan, const struct hr_perf *perf);

/* The input of one run of a candidate. Everything belongs to the plan. */
struct hr_plan_case {
  const struct hr_scenario *scenario; /* the scenario of the candidate */
  const struct hr_trace *trace;       /* the workload: recorded, redrawn or drawn from a forecast */
  uint64_t seed;
  const char *const *set; /* [n_set]: overrides "PATH=VALUE" that change the scenario of the plan into the candidate */
  size_t n_set;
};
/* Sets `*choice` to the input of replication 0 of the chosen candidate. If no candidate meets the goals, this is the
   candidate that is nearest to the goals. */
HR_API enum hr_status hr_plan_choice_case(const struct hr_plan *plan, struct hr_plan_case *choice,
                                          struct hr_error *error);

/* ---- Advice -------------------------------------------------------------------------------------------- */

/* Advice: changes of a scenario that reduce cost without harm to service, and the savings of each change. A change is a
   list of overrides of the scenario. The changed scenario is run with the same random events as the original scenario,
   so the savings are computed as a paired difference. docs/planner/advise.md has the details. */

/* Kinds of changes. The columns: enumerator, name in files. */
#define HR_ADVICE_TABLE(X)                                                                                             \
  X(HR_ADVICE_GPU_TYPE, "gpu-type")                 /* a pool, or a job class in a pool, on another GPU type */        \
  X(HR_ADVICE_IDLE_RESERVATION, "idle-reservation") /* fewer nodes that are billed even if not used */                 \
  X(HR_ADVICE_SPOT, "spot")                         /* a job class on spot nodes, if the scenario has spot nodes */    \
  X(HR_ADVICE_CHECKPOINT, "checkpoint")             /* another checkpoint interval */                                  \
  X(HR_ADVICE_SPARES, "spares")                     /* another number of spare nodes */                                \
  X(HR_ADVICE_BAD_NODES, "bad-nodes") /* nodes that failed while a job ran on them are excluded for this job */        \
  X(HR_ADVICE_POWER_CAP, "power-cap") /* a power limit of the GPUs */

enum hr_advice_kind {
#define HR_ADVICE_NAME(name, text) name,
  HR_ADVICE_TABLE(HR_ADVICE_NAME)
#undef HR_ADVICE_NAME
      HR_N_ADVICE_KINDS
};
/* Returns the name in files. */
HR_API const char *hr_advice_kind_name(enum hr_advice_kind kind);

struct hr_scenario;
struct hr_trace;

/* If the plan of the scenario has goals, a change must not miss a goal by more than the scenario misses it today.
   Without goals, the 95th percentile of the waits of each class, and of all jobs, may increase by at most the maximum
   of two values: HR_ADVISE_WAIT_SHARE x the present 95th percentile, and HR_ADVISE_WAIT_S seconds. */
#define HR_ADVISE_WAIT_SHARE 0.1
#define HR_ADVISE_WAIT_S 60

/* The input of the advice. Everything is borrowed and must outlive the advice. */
struct hr_advise_config {
  const struct hr_scenario *scenario; /* must have prices, failures or a known power, and a single cluster */
  const char *const *overrides;       /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  /* 0: as specified in the scenario; if the scenario does not specify it, HR_DEFAULT_MIN_REPLICATIONS */
  uint32_t n_replications;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* A metric without and with the change: its mean over replications or, for quantiles, its median. NAN: unknown. */
struct hr_advice_metric {
  double before, after;
};

/* A change and its effects. All pointers belong to the advice. */
struct hr_advice_item {
  enum hr_advice_kind kind;
  bool advised; /* the change reduces cost without harm to service */
  /* the affected tenant; NULL: the jobs of several tenants, or only jobs without a tenant, are affected */
  const char *tenant;
  /* the affected class; NULL: all jobs of the pool are affected */
  const char *class_;
  const char *pool;       /* the affected pool; NULL: several pools */
  const char *from, *to;  /* short descriptions of the present and the new setting */
  const char *reason;     /* why the change is not advised; NULL if it is advised */
  const char *const *set; /* [n_set]: overrides that make the change */
  size_t n_set;
  const struct hr_notes *assumed; /* the assumptions of the change */
  /* cost per month with the change minus cost without it; a saving is negative */
  struct hr_replicated monthly_usd;
  /* metrics of the affected class, or of all jobs if `class_` is NULL. completed: share of the jobs that completed */
  struct hr_advice_metric wait_p95_s, completed;
  /* path of the metric that decides whether the change is advised, such as "faults.ettr"; NULL: the cost decides. The
     next two members are the values of this metric, and its change with the interval over the replications */
  const char *figure;
  struct hr_advice_metric figure_value;
  struct hr_replicated figure_change;
};

/* Evaluates possible changes. The caller frees `*advice` with hr_advice_destroy. Returns HR_OK even if no change is
   advised. Returns HR_BAD_INPUT if the scenario has several clusters, or if it has no prices, no failures and no known
   power. */
struct hr_advice;
HR_API enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice,
                                struct hr_error *error);
HR_API void hr_advice_destroy(struct hr_advice *advice);

/* hr_advice_item sets `*item` to an evaluated change. `place`: its position, from 0. Advised changes are first, sorted
   by descending savings; the other changes follow. If no change has this position, hr_advice_item returns false and
   does not change `*item`. Strings belong to the advice. hr_advice_notes returns notes for the user. */
HR_API bool hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item);
HR_API const struct hr_notes *hr_advice_notes(const struct hr_advice *advice);

/* hr_advice_print prints the advice as a table, 80 columns wide. hr_advice_write_json writes it as JSON
   (docs/reference/schemas/advise.schema.json); `path` "-" is standard output. */
HR_API enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf,
                                      bool colour);
HR_API enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                           struct hr_error *error);

/* ---- Cost of ownership --------------------------------------------------------------------------------- */

/* The total cost of ownership (TCO): the cost of alternatives over years, such as private, colocated, reserved and
   on-demand capacity for the same jobs. An option is a set of pools of the scenario. Its availability, ETTR and
   utilization are computed by runs. Its costs are computed from the keys `owned` of its pools and `tco` of the
   scenario. docs/reference/tco.md has the definitions. */

/* The input. Everything is borrowed and must outlive the result. */
struct hr_tco_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  /* number of runs of each option if any option is random. If no option is random, each option is run once. 0:
     `replications.count` of the scenario, or HR_DEFAULT_MIN_REPLICATIONS if the scenario does not specify it */
  uint32_t n_replications;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* Runs all options on `n_threads` threads. Results do not depend on the number of threads. The caller frees `*tco` with
   hr_tco_destroy. */
struct hr_tco;
HR_API enum hr_status hr_tco(const struct hr_tco_config *config, struct hr_tco **tco, struct hr_error *error);
HR_API void hr_tco_destroy(struct hr_tco *tco);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_tco_notes(const struct hr_tco *tco);
/* Prints the tables, 80 columns wide. */
HR_API enum hr_status hr_tco_print(FILE *out, const struct hr_tco *tco, bool colour);
/* Writes the result as JSON (docs/reference/schemas/tco.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_tco_write_json(const char *path, const struct hr_tco *tco, struct hr_error *error);
/* Returns the result as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_tco_json(const struct hr_tco *tco);

/* ---- Fill experiments ---------------------------------------------------------------------------------- */

/* Fill experiments measure how much of a cluster each placement rule can allocate, as in Weng et al. ("Beware of
   Fragmentation", ATC'23). A pod is a job of the trace with all its tasks. Pods are drawn from the trace with
   replacement until all drawn pods together request `to` times the GPUs of the cluster. The pods are shuffled and
   submitted one by one. They never leave. If a task of a pod does not fit, the pod fails, and none of its tasks is
   placed. For one seed, all rules get the same pods. docs/researcher/fill.md has the details. */

/* Limits on the number of seeds and on `to`. */
#define HR_MAX_FILL_SEEDS 1000
#define HR_MAX_FILL_TO 10.0 /* times the cluster's GPUs */

/* The input. Everything is borrowed and must outlive the result. */
struct hr_fill_config {
  const struct hr_scenario *scenario; /* its policy is ignored; its seed is the first of n_seeds consecutive seeds */
  const struct hr_trace *trace;
  const struct hr_packing_rule *const *rules; /* [n_rules] */
  uint32_t n_rules, n_seeds;                  /* at least 1; n_seeds: at most HR_MAX_FILL_SEEDS */
  double to; /* requested GPUs / GPUs of the cluster at the end of the experiment, from 0.01 to HR_MAX_FILL_TO */
  uint32_t n_threads;
  /* reports the approximate number of submitted pods of all runs; called from any thread, but not concurrently */
  struct hr_progress progress;
};

/* The state of an experiment when the submitted pods have requested p per cent of the cluster's GPUs, for a whole
   number p: after the first pod for which the sum of all requests so far is at least p per cent. */
struct hr_fill_row {
  double alloc_pct; /* GPUs allocated, in per cent of the cluster's GPUs */
  double frag_pct;  /* sum of F (headroom/unstable/fragmentation.h) over nodes, in per cent of the cluster's GPUs */
  uint64_t failed;  /* number of pods that have failed so far */
};

/* Executes all rules and seeds on `n_threads` threads. Results do not depend on the number of threads. The caller frees
   `*fill` with hr_fill_destroy. Returns HR_BAD_INPUT in these cases: a number of the configuration is out of range; the
   cluster has no GPU; a node has more than HR_MAX_INVENTORY_GPUS GPUs; no job requests a GPU; the trace has the field
   `within`; or more than 200 million pods would be needed. */
struct hr_fill;
HR_API enum hr_status hr_fill(const struct hr_fill_config *config, struct hr_fill **fill, struct hr_error *error);
HR_API void hr_fill_destroy(struct hr_fill *fill);

/* Returns one result. `rule`: index in `rules` of the configuration. `seed_index`: from 0 to n_seeds - 1. `pct`:
   requested GPUs in per cent of the cluster's GPUs, from 1 to 100 * config.to rounded down. */
HR_API struct hr_fill_row hr_fill_at(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index, uint32_t pct);

/* Means over seeds. The members *_margin are the half widths of the 95 % confidence intervals of these means (Student's
   t). With only one seed, they are NAN. */
struct hr_fill_mean {
  double alloc_pct, alloc_margin, frag_pct, frag_margin, failed, failed_margin;
};
HR_API struct hr_fill_mean hr_fill_mean_at(const struct hr_fill *fill, uint32_t rule, uint32_t pct);

/* Prints the results as a table, 80 columns wide. `perf`: time and memory of the program; its sim_s is the sum over all
   runs. NULL: not printed. */
HR_API enum hr_status hr_fill_print(FILE *out, const struct hr_fill *fill, const struct hr_perf *perf, bool colour);
/* The three functions below write the results to a file; `path` "-" is standard output. CSV: one row per rule, seed and
   whole per cent, with the columns policy,seed,arrived_pct,alloc_pct,frag_pct,failed. */
HR_API enum hr_status hr_fill_write_csv(const char *path, const struct hr_fill *fill, struct hr_error *error);
HR_API enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                         struct hr_error *error);
HR_API enum hr_status hr_fill_write_markdown(const char *path, const struct hr_fill *fill, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
