/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_TCO_TCO_H
#define HR_PLAN_TCO_TCO_H

/*
 * Cost of ownership of alternatives over years. An option is a set of pools that have nodes. Its runs show how much
 * of the capacity works, and how much of the work is useful. A model extends the runs to years (tco.c). The report
 * prints the results (tco_report.c).
 *
 * Amounts are whole micro-dollars, each rounded once from a double, so that years, parts and totals add up exactly.
 */

#include "base/text.h"
#include "headroom/unstable/ownership.h"
#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"

#include <math.h>
#include <stdlib.h>

/* ---- Runs -------------------------------------------------------------------------------------------- */

/* A pool with nodes in a run. */
struct hr__tco_pool_use {
  double billed_gpu_hours, used_gpu_hours;
  double down_share; /* share of its node time; 0 if its nodes are replaced when they fail */
  double usd;        /* its cost in the run */
};

/* The figures of a run of an option. */
struct hr__tco_run {
  double useful_gpu_hours, held_gpu_hours; /* held: allocated to jobs */
  double other_usd;                        /* cost other than that of the pools: storage, egress, savings plans */
  double scale;                            /* a year / the time in which jobs are submitted */
  double other_scale;                      /* a year / the length of the run */
  double wait_p95_s;
  uint64_t submitted, completed;  /* numbers of jobs */
  struct hr__tco_pool_use *pools; /* [n_pools of the option] */
};

/* ---- The model --------------------------------------------------------------------------------------- */

enum hr__tco_kind {
  HR__TCO_PRIVATE,
  HR__TCO_COLOCATED,
  HR__TCO_RESERVED,
  HR__TCO_ON_DEMAND,
  HR__TCO_SPOT,
  HR__TCO_MIXED
};

/* The figures of an option that have an interval. */
enum hr__tco_figure {
  HR__TCO_AVAILABILITY,
  HR__TCO_ETTR,
  HR__TCO_UTILIZATION,
  HR__TCO_GPU_HOUR,        /* dollars per GPU hour of capacity */
  HR__TCO_USEFUL_GPU_HOUR, /* dollars per useful GPU hour */
  HR__TCO_TOTAL,           /* dollars, nominal; purchases count when they are paid */
  HR__TCO_NPV,
  HR__TCO_AFTER_TAX_NPV,
  HR__TCO_WAIT, /* 95th percentile of the waits of jobs, in seconds */
  HR__TCO_N_FIGURES
};

/* The years of an option, from one run. Year 0 is the first one. */
struct hr__tco_path {
  uint32_t years;
  int64_t uusd[HR_MAX_TCO_YEARS][HR_N_COST_PARTS]; /* amortized cost of a year, by part */
  int64_t bought_uusd[HR_MAX_TCO_YEARS];           /* purchases at the start of a year */
  int64_t sold_uusd[HR_MAX_TCO_YEARS];             /* residual values at the end of a year */
  double depreciated_usd[HR_MAX_TCO_YEARS];        /* for income tax, during a year */
  double book_usd[HR_MAX_TCO_YEARS];               /* value for income tax of the sales at the end of a year */
  double capacity_gpu_hours[HR_MAX_TCO_YEARS], available_gpu_hours[HR_MAX_TCO_YEARS];
  double held_gpu_hours[HR_MAX_TCO_YEARS], useful_gpu_hours[HR_MAX_TCO_YEARS];
  double load_usd[HR_MAX_TCO_YEARS]; /* the part of the energy that is proportional to the use */
  double gpus[HR_MAX_TCO_YEARS];     /* owned and reserved GPUs */
  /* sum over all years of the GPU hours that the jobs need, but the option does not have */
  double unserved_gpu_hours;
  bool too_large; /* an amount exceeds 10^12 dollars */
  double figures[HR__TCO_N_FIGURES];
};

/* An option with its runs and results. */
struct hr__tco_option {
  const char *name;
  uint32_t *pools; /* [n_pools] indexes of the pools of the scenario */
  uint32_t n_pools;
  double staff_usd_per_year;
  uint32_t contract_years;
  enum hr__tco_kind kind;
  uint32_t candidates[HR_MAX_TCO_YEARS]; /* index in the runner, by simulated year */
  bool random;
  bool knows_failures;  /* a pool has failures */
  bool has_maintenance; /* a pool has planned downtime */
  /* [n_simulated][n_replications]; if the option is not random, only the first replication of each year */
  struct hr__tco_run *runs;
  struct hr__interval figures[HR__TCO_N_FIGURES];
  struct hr__tco_path mean; /* amounts are means over the replications */
};

/* An owned or reserved option compared with one in a cloud. */
struct hr__tco_pair {
  uint32_t option, other;
  /* utilization of `option` above which its useful GPU hours cost less; unknown if no such utilization exists */
  struct hr__interval utilization;
  /* hours of operation after which `option` has cost less; unknown if it takes more than the years of the
     comparison, or if nothing was bought */
  struct hr__interval hours;
};

struct hr_tco {
  struct hr_tco_config config;
  struct hr_tco_spec spec; /* its list of options is not used; `options` below replaces it */
  const struct hr_scenario *scenario;
  struct hr__runner *runner;
  struct hr__tco_option *options; /* [n_options] */
  uint32_t n_options;
  struct hr__tco_pair *pairs; /* [n_pairs] */
  uint32_t n_pairs;
  uint32_t n_replications;
  uint32_t n_simulated; /* years that are simulated: all of them if the demand grows or falls, else the first one */
  double confidence;
  struct hr_notes notes;
};

/* Returns the share of the GPU hours that the jobs need, but the option does not have. */
double hr__tco_missing(const struct hr__tco_option *option);
/* Whether an option serves the demand. Less than 1 % of the GPU hours may be missing. In its first run, the option must
   complete at least 99 % of the maximum number of jobs that an option completes. */
bool hr__tco_serves(const struct hr_tco *tco, const struct hr__tco_option *option);

/* Returns the run of a year in a replication. */
static inline const struct hr__tco_run *hr__tco_run_of(const struct hr_tco *tco, const struct hr__tco_option *option,
                                                       uint32_t year, uint32_t replication) {
  uint32_t simulated = year < tco->n_simulated ? year : 0;
  return &option->runs[(size_t)simulated * tco->n_replications + (option->random ? replication : 0)];
}
/* Makes the years of an option from the runs of a replication. */
void hr__tco_path_make(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t replication,
                       struct hr__tco_path *path);

/* Returns pool number `i` of an option. hr__tco_source() returns the source of its data. */
static inline const struct hr_pool_spec *hr__tco_pool(const struct hr_tco *tco, const struct hr__tco_option *option,
                                                      uint32_t i) {
  return &tco->scenario->cluster.pools[option->pools[i]];
}
static inline const struct hr_pool_source *hr__tco_source(const struct hr_tco *tco, const struct hr__tco_option *option,
                                                          uint32_t i) {
  return &tco->scenario->pool_sources[option->pools[i]];
}
/* The cost of a year, with amortized purchases. */
static inline int64_t hr__tco_year_uusd(const struct hr__tco_path *path, uint32_t year) {
  int64_t sum = 0;
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++) sum += path->uusd[year][part];
  return sum;
}
/* The cost of all years. */
static inline int64_t hr__tco_total_uusd(const struct hr__tco_path *path) {
  int64_t sum = 0;
  for (uint32_t year = 0; year < path->years; year++) sum += hr__tco_year_uusd(path, year);
  return sum;
}
/* The payments of a year, without purchases and residual values. */
static inline int64_t hr__tco_running_uusd(const struct hr__tco_path *path, uint32_t year) {
  return hr__tco_year_uusd(path, year) - path->uusd[year][HR_PART_CAPITAL];
}
/* The payments of a year: purchases and running costs, minus residual values. */
static inline int64_t hr__tco_paid_uusd(const struct hr__tco_path *path, uint32_t year) {
  return path->bought_uusd[year] + hr__tco_running_uusd(path, year) - path->sold_uusd[year];
}

const char *hr__tco_kind_name(enum hr__tco_kind kind);

#endif
