/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of demand, the model of one series, and random paths of future demand.
 *
 * The history determines which weeks of a trace are usable, which series each job belongs to, demand by week and by
 * hour, and the weekly profile.
 *
 * Series. The jobs of one tenant and class are a group. A group becomes a series if it is large enough for a fit
 * (is_large_enough). Smaller groups are merged into one group per class, unless the trace has only one group. If such a
 * merged group is still too small, it is merged into a last group, over all classes. Groups are numbered in this order:
 * groups of one tenant and class, the merged group of each class, the last group. Groups without jobs do not become
 * series.
 *
 * Demand by week counts work in the week in which it is submitted. Demand by hour counts work in the hours in which it
 * would run if no job waited. A job is stored as an increment and a decrement in a list of differences between hours,
 * in exact thousandths of a GPU. The computing time therefore does not depend on the length of a job. Partial hours are
 * added as doubles.
 *
 * Model. The model applies exponential smoothing with drift to the logarithm of weekly demand,
 *
 *   z(w) = log(y(w) / scale + offset) = l(w-1) + b + e(w),   l(w) = l(w-1) + b + alpha e(w),   e ~ N(0, sigma^2).
 *
 * y is the demand, l the level, b the drift. It is the model of the Theta method (Hyndman and Billah, "Unmasking the
 * Theta method", International Journal of Forecasting 19, 2003). With alpha 0 the model is a log-linear trend, with
 * alpha 1 a random walk with drift. Given alpha, the errors are linear in the unknowns: e(w) = z(w) - P(w) - A(w) l(0)
 * - B(w) b with
 *
 *   P(1) = 0, A(1) = B(1) = 1;  P(w+1) = (1 - alpha) P(w) + alpha z(w),  A(w+1) = (1 - alpha) A(w),
 *   B(w+1) = (1 - alpha) B(w) + 1.
 *
 * Given alpha, the posteriors of l, b and sigma are therefore those of a linear regression with conjugate priors: l(0)
 * has a flat prior, b ~ N(0, (drift_prior sigma / s)^2), where s is the root mean square of z(w) - z(w-1), but at least
 * drift_prior, and sigma^2 has a scaled inverse chi^2 prior with the weight of one week of data. The regression also
 * gives the posterior of alpha. The values of alpha are on a grid and have equal prior weights. The fit needs no
 * numerical search and no start values, so it succeeds for every series.
 *
 * Paths are drawn from the full posterior: alpha, then sigma, then the last level and the drift, then the weekly
 * errors. Each path has its own random streams, so it does not depend on which other paths are drawn.
 *
 * Mean of paths. A path is drawn in logarithms. The variance V(h) of a path grows with the horizon h. Without a
 * correction, the mean of its exponential would grow by exp(V / 2) even if no growth is expected. V(h) / 2 is therefore
 * subtracted, as in a martingale. The expected mean of all paths then equals hr__forecast_fit_mean, apart from the
 * limit that demand is not negative, while their median decreases.
 *
 * Total. The total has its own fit, because the sum of the forecasts of the series is less accurate: events that are
 * rare in each series are frequent in the sum. Paths of series are drawn in the same way and scaled to the path of the
 * total (top-down by forecast proportions: Athanasopoulos, Ahmed and Hyndman, International Journal of Forecasting 25,
 * 2009). If the user sets a growth, it applies to the total, and the series have no drift.
 */

#include "base/random.h"
#include "plan/forecast/forecasting.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Demand ----------------------------------------------------------------------------------------- */

enum { MIN_JOBS = 50, MAX_WEEKS = 1040, NEXT_WEEKS = 4 };
static const double min_share = 0.01, min_weeks = 0.75, low_demand = 0.5;
static const int64_t tolerated_gap_us = 12 * 3600 * HR_SECOND_US;

/* ---- Demand: jobs ----------------------------------------------------------------------------------- */

/* GPU hours that a job requests. */
static double job_gpu_hours(const struct hr_trace *trace, uint32_t job) {
  return (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 *
         ((double)trace->work_us[job] / (3600.0 * HR_SECOND_US));
}

/* ---- Demand: usable weeks --------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* The median of the demand in the weeks that follow week `place`. */
static double median_after(const double *week, uint32_t n, uint32_t place) {
  double next[NEXT_WEEKS];
  uint32_t count = 0;
  while (count < NEXT_WEEKS && place + 1 + count < n) {
    next[count] = week[place + 1 + count];
    count++;
  }
  qsort(next, count, sizeof *next, compare_doubles);
  return (next[(count - 1) / 2] + next[count / 2]) / 2;
}

/* Finds the first usable week. Recording often starts gradually, which would look like growth. Initial weeks are
   therefore skipped while their demand is less than half of the median of the next weeks. At least two weeks remain. */
static enum hr_status find_first_week(const struct hr_trace *trace, struct hr__demand_history *demand,
                                      struct hr_error *error) {
  uint32_t n = demand->n_weeks;
  double *week = calloc(n, sizeof *week), total = 0;
  if (!week) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < trace->n_jobs && trace->submit_us[i] / HR__WEEK_US < n; i++) {
    week[trace->submit_us[i] / HR__WEEK_US] += job_gpu_hours(trace, i);
    total += job_gpu_hours(trace, i);
  }
  while (demand->first_week + 2 < n &&
         week[demand->first_week] < low_demand * median_after(week, n, demand->first_week))
    demand->first_week++;
  free(week);
  if (total > 0) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: no job requests GPU time, so there is no demand to forecast", trace->source);
}

/* Counts the weeks of the trace. The last week counts as a whole week if at most half a day of it is missing, because
   the last submit rarely is at the very end of a week. */
static enum hr_status find_weeks(const struct hr_trace *trace, struct hr__demand_history *demand,
                                 struct hr_error *error) {
  int64_t last_us = trace->submit_us[trace->n_jobs - 1], weeks = (last_us + tolerated_gap_us) / HR__WEEK_US;
  if (weeks < 2)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: the trace covers %.1f days; a forecast needs at least 2 whole weeks, and 6 for a trend",
                   trace->source, (double)last_us / (86400.0 * HR_SECOND_US));
  if (weeks > MAX_WEEKS)
    return hr_fail(error, HR_BAD_INPUT, "%s: the trace covers %" PRId64 " weeks; at most %d can be fitted",
                   trace->source, weeks, MAX_WEEKS);
  demand->n_weeks = (uint32_t)weeks;
  return find_first_week(trace, demand, error);
}

/* ---- Demand: series --------------------------------------------------------------------------------- */

struct demand_group {
  uint64_t jobs;
  double gpu_hours;
  uint32_t weeks; /* number of weeks with jobs of the group */
  int64_t last_week;
  bool used;       /* the group has a job; even a job without GPUs counts */
  uint32_t series; /* index of the series + 1; 0: none */
};

struct demand_groups {
  struct demand_group *at;
  uint32_t n_tenants, first_class,
      last; /* n_tenants: including the unknown tenant; first_class, last: indexes of the merged groups */
  double gpu_hours;
};

static void count_job(struct demand_groups *groups, const struct hr__demand_history *demand,
                      const struct hr_trace *trace, uint32_t place, uint32_t job) {
  struct demand_group *group = &groups->at[place];
  int64_t week = trace->submit_us[job] / HR__WEEK_US;
  group->used = true;
  if (week >= demand->n_weeks || hr_trace_gpus_milli(trace, (hr_job){job}) == 0) return;
  group->jobs++;
  group->gpu_hours += job_gpu_hours(trace, job);
  if (week < demand->first_week || (group->weeks > 0 && group->last_week == week)) return;
  group->weeks++;
  group->last_week = week;
}

static bool is_large_enough(const struct demand_groups *groups, const struct hr__demand_history *demand,
                            const struct demand_group *group) {
  return group->jobs >= MIN_JOBS && group->gpu_hours >= min_share * groups->gpu_hours &&
         group->weeks >= min_weeks * (demand->n_weeks - demand->first_week);
}

static uint32_t class_of(const struct hr_trace *trace, uint32_t job) {
  return trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN;
}

static uint32_t place_of(const struct demand_groups *groups, const struct hr_trace *trace, uint32_t job) {
  uint32_t tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  return (tenant == HR_NONE ? groups->n_tenants - 1 : tenant) * HR_N_CLASSES + class_of(trace, job);
}

/* Whether there is only one group. A single group cannot be merged with another, so it becomes a series even if it is
   too small. */
static bool is_alone(const struct demand_groups *groups) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < groups->first_class; i++) used += groups->at[i].used;
  return used == 1;
}

/* The group in which a job's demand is counted. `settled`: the merged groups of the classes are complete, so their size
   is known. */
static uint32_t group_of(const struct demand_groups *groups, const struct hr__demand_history *demand,
                         const struct hr_trace *trace, uint32_t job, bool settled) {
  uint32_t own = place_of(groups, trace, job), pooled = groups->first_class + class_of(trace, job);
  if (is_large_enough(groups, demand, &groups->at[own])) return own;
  return !settled || is_large_enough(groups, demand, &groups->at[pooled]) ? pooled : groups->last;
}

/* Stores the group of each job in series_of. */
static void fill_groups(struct demand_groups *groups, const struct hr_trace *trace, struct hr__demand_history *demand) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    count_job(groups, demand, trace, place_of(groups, trace, i), i);
    if (trace->submit_us[i] / HR__WEEK_US < demand->n_weeks) groups->gpu_hours += job_gpu_hours(trace, i);
  }
  bool alone = is_alone(groups);
  for (uint32_t i = 0; i < trace->n_jobs && !alone; i++) {
    uint32_t place = group_of(groups, demand, trace, i, false);
    if (place >= groups->first_class) count_job(groups, demand, trace, place, i);
  }
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t place = alone ? place_of(groups, trace, i) : group_of(groups, demand, trace, i, true);
    demand->series_of[i] = place;
    if (place == groups->last) count_job(groups, demand, trace, place, i);
  }
}

static struct hr__forecast_series describe(const struct demand_groups *groups, const struct hr_trace *trace,
                                           uint32_t place) {
  struct hr__forecast_series series = {.tenant = "(others)", .class_ = "(all)", .jobs = groups->at[place].jobs};
  if (place < groups->last) series.class_ = hr_job_class_name((enum hr_job_class)(place % HR_N_CLASSES));
  if (place < groups->first_class) {
    uint32_t tenant = place / HR_N_CLASSES;
    series.tenant = tenant < trace->tenants.count ? trace->tenants.text[tenant] : "";
  }
  return series;
}

/* Numbers the groups that have jobs as series, and replaces groups in series_of by these numbers. */
static enum hr_status number_series(struct demand_groups *groups, const struct hr_trace *trace,
                                    struct hr__demand_history *demand) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) groups->at[demand->series_of[i]].series = 1;
  for (uint32_t i = 0; i <= groups->last; i++)
    if (groups->at[i].series) groups->at[i].series = ++demand->n_series;
  demand->series = calloc(demand->n_series, sizeof *demand->series);
  if (!demand->series) return HR_NO_MEMORY;
  for (uint32_t i = 0; i <= groups->last; i++)
    if (groups->at[i].series) demand->series[groups->at[i].series - 1] = describe(groups, trace, i);
  for (uint32_t i = 0; i < trace->n_jobs; i++) demand->series_of[i] = groups->at[demand->series_of[i]].series - 1;
  return HR_OK;
}

/* Finds the usable weeks and the series of each job. */
static enum hr_status assign_series(const struct hr_trace *trace, struct hr__demand_history *demand,
                                    struct hr_error *error) {
  enum hr_status status = find_weeks(trace, demand, error);
  if (status != HR_OK) return status;
  struct demand_groups groups = {.n_tenants = trace->tenants.count + 1};
  groups.first_class = groups.n_tenants * HR_N_CLASSES;
  groups.last = groups.first_class + HR_N_CLASSES;
  groups.at = calloc(groups.last + 1, sizeof *groups.at);
  demand->series_of = calloc(trace->n_jobs, sizeof *demand->series_of);
  if (groups.at && demand->series_of) {
    fill_groups(&groups, trace, demand);
    status = number_series(&groups, trace, demand);
  } else {
    status = HR_NO_MEMORY;
  }
  free(groups.at);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

enum { DAY_HOURS = 24, WORKDAYS = 5, PROFILE_WEEKS = 6 };
static const int64_t hour_us = 3600 * HR_SECOND_US;

/* ---- Demand: demand by hour ------------------------------------------------------------------------- */

struct hour_sums {
  double *part;   /* GPUs of jobs that start or end within the hour */
  int64_t *steps; /* milli-GPUs of jobs that run through the whole hour, stored as differences between hours */
};

static void add_part(const struct hr__demand_history *demand, const struct hour_sums *hours, int64_t hour,
                     double gpus) {
  if (hour < demand->n_hours) hours->part[hour] += gpus;
}

static void add_step(const struct hr__demand_history *demand, const struct hour_sums *hours, int64_t hour,
                     int64_t milli) {
  if (hour < demand->n_hours) hours->steps[hour] += milli;
}

static void add_job(const struct hr__demand_history *demand, const struct hour_sums *hours, int64_t begin_us,
                    int64_t end_us, uint64_t milli) {
  int64_t first = begin_us / hour_us, last = end_us / hour_us;
  double gpus = (double)milli / 1000;
  if (first == last) {
    add_part(demand, hours, first, gpus * (double)(end_us - begin_us) / (double)hour_us);
    return;
  }
  add_part(demand, hours, first, gpus * (double)((first + 1) * hour_us - begin_us) / (double)hour_us);
  add_part(demand, hours, last, gpus * (double)(end_us - last * hour_us) / (double)hour_us);
  add_step(demand, hours, first + 1, (int64_t)milli);
  add_step(demand, hours, last, -(int64_t)milli);
}

/* Offset of hour 0 of the trace from the start of a week. With calendar dates the week starts on Monday, and hours are
   those of the clock; 1970-01-01 was a Thursday. 0 without calendar dates. */
static int64_t clock_offset_us(const struct hr_trace *trace) {
  const int64_t day_us = DAY_HOURS * hour_us;
  int64_t offset_us = trace->dated ? (trace->origin_us + 3 * day_us) % HR__WEEK_US : 0;
  return offset_us < 0 ? offset_us + HR__WEEK_US : offset_us;
}

static void sum_steps(struct hr__demand_history *demand, const int64_t *steps, uint32_t series) {
  double *row = demand->hour + (size_t)series * demand->n_hours;
  double *total = demand->hour + (size_t)demand->n_series * demand->n_hours;
  int64_t milli = 0;
  for (uint32_t i = 0; i < demand->n_hours; i++) {
    milli += steps[i];
    row[i] += (double)milli / 1000;
    total[i] += row[i];
  }
}

static void add_jobs(const struct hr_trace *trace, struct hr__demand_history *demand, int64_t *steps) {
  int64_t offset_us = clock_offset_us(trace) % hour_us;
  demand->first_hour = (uint32_t)(clock_offset_us(trace) / hour_us);
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    size_t row = (size_t)demand->series_of[i] * demand->n_hours;
    struct hour_sums hours = {demand->hour + row, steps + row};
    int64_t begin_us = trace->submit_us[i] + offset_us;
    add_job(demand, &hours, begin_us, begin_us + trace->work_us[i], hr_trace_gpus_milli(trace, (hr_job){i}));
  }
  for (uint32_t i = 0; i < demand->n_series; i++) sum_steps(demand, steps + (size_t)i * demand->n_hours, i);
}

/* ---- Demand: demand by week ------------------------------------------------------------------------- */

static void add_weeks(const struct hr_trace *trace, struct hr__demand_history *demand) {
  double *total = demand->week + (size_t)demand->n_series * demand->n_weeks;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t week = trace->submit_us[i] / HR__WEEK_US;
    if (week < demand->n_weeks)
      demand->week[(size_t)demand->series_of[i] * demand->n_weeks + (size_t)week] += job_gpu_hours(trace, i);
  }
  for (uint32_t i = 0; i < demand->n_series; i++)
    for (uint32_t week = 0; week < demand->n_weeks; week++)
      total[week] += demand->week[(size_t)i * demand->n_weeks + week];
}

enum hr_status hr__forecast_history_make(const struct hr_trace *trace, struct hr__demand_history *demand,
                                         struct hr_error *error) {
  *demand = (struct hr__demand_history){.dated = trace->dated};
  enum hr_status status = assign_series(trace, demand, error);
  if (status != HR_OK) return status;
  demand->n_hours = demand->n_weeks * HR__WEEK_HOURS;
  size_t rows = (size_t)demand->n_series + 1;
  demand->week = calloc(rows * demand->n_weeks, sizeof *demand->week);
  demand->hour = calloc(rows * demand->n_hours, sizeof *demand->hour);
  int64_t *steps = calloc(rows * demand->n_hours, sizeof *steps);
  if (demand->week && demand->hour && steps) {
    add_weeks(trace, demand);
    add_jobs(trace, demand, steps);
  } else {
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  free(steps);
  return status;
}

/* ---- Demand: the weekly profile --------------------------------------------------------------------- */

/* The slot of the profile that an hour of the week belongs to. */
static uint32_t profile_slot(uint32_t hours, uint32_t hour) {
  if (hours == HR__WEEK_HOURS) return hour;
  bool weekend = hours == 2 * DAY_HOURS && hour / DAY_HOURS >= WORKDAYS;
  return hour % DAY_HOURS + (weekend ? DAY_HOURS : 0);
}

static uint32_t count_slots(const struct hr__demand_history *demand) {
  if (demand->n_weeks - demand->first_week >= PROFILE_WEEKS) return HR__WEEK_HOURS;
  return demand->dated ? 2 * DAY_HOURS : DAY_HOURS;
}

/* Averages the weeks to a profile. All weeks have equal weight: each hour is divided by the mean of its week. A series
   without demand has a flat profile. */
static void average_week(const struct hr__demand_history *demand, const double *hour,
                         struct hr__forecast_shape *profile) {
  double sum[HR__WEEK_HOURS] = {0}, all = 0;
  uint32_t count[HR__WEEK_HOURS] = {0};
  for (uint32_t week = demand->first_week; week < demand->n_weeks; week++) {
    const double *row = hour + (size_t)week * HR__WEEK_HOURS;
    double mean = gsl_stats_mean(row, 1, HR__WEEK_HOURS);
    for (uint32_t i = 0; i < HR__WEEK_HOURS && mean > 0; i++) {
      uint32_t place = profile_slot(profile->hours, (demand->first_hour + i) % HR__WEEK_HOURS);
      sum[place] += row[i] / mean;
      count[place]++;
    }
  }
  for (uint32_t i = 0; i < HR__WEEK_HOURS; i++) {
    uint32_t place = profile_slot(profile->hours, i);
    profile->at[i] = count[place] ? sum[place] / count[place] : 1;
    all += profile->at[i];
  }
  for (uint32_t i = 0; i < HR__WEEK_HOURS; i++) {
    profile->at[i] *= HR__WEEK_HOURS / all;
    if (profile->at[i] > profile->at[profile->peak]) profile->peak = i;
  }
}

/* Collects the ratios: demand of an hour / (mean of its week x profile of the hour). Returns their number. */
static size_t collect_ratios(const struct hr__demand_history *demand, const double *hour,
                             const struct hr__forecast_shape *profile, double *ratios) {
  size_t count = 0;
  for (uint32_t week = demand->first_week; week < demand->n_weeks; week++) {
    const double *row = hour + (size_t)week * HR__WEEK_HOURS;
    double mean = gsl_stats_mean(row, 1, HR__WEEK_HOURS);
    for (uint32_t i = 0; i < HR__WEEK_HOURS && mean > 0; i++) {
      double expected = mean * profile->at[(demand->first_hour + i) % HR__WEEK_HOURS];
      if (expected > 0) ratios[count++] = row[i] / expected;
    }
  }
  return count;
}

enum hr_status hr__forecast_shape_make(const struct hr__demand_history *demand, uint32_t series,
                                       struct hr__forecast_shape *profile) {
  const double *hour = demand->hour + (size_t)series * demand->n_hours;
  *profile = (struct hr__forecast_shape){.hours = count_slots(demand)};
  average_week(demand, hour, profile);
  double *ratios = malloc(demand->n_hours * sizeof *ratios);
  if (!ratios) return HR_NO_MEMORY;
  size_t count = collect_ratios(demand, hour, profile, ratios);
  gsl_sort(ratios, 1, count);
  for (uint32_t i = 0; i < HR__RATIO_POINTS; i++)
    profile->ratio[i] = count ? gsl_stats_quantile_from_sorted_data(ratios, 1, count, i / (HR__RATIO_POINTS - 1.0)) : 1;
  free(ratios);
  return HR_OK;
}

/* ---- Model ------------------------------------------------------------------------------------------ */

/* added to each week, as a share of the mean week, because the logarithm of a week without demand would be infinite */
static const double offset = 0.1;
/* standard deviation of the drift per week; a factor of 2.8 or 1 / 2.8 per year is then plausible */
static const double drift_prior = 0.02;
static const double sigma_prior = 0.1, prior_weeks = 1;
static const double longest_half_life = 26;

/* ---- Model: the regression under one alpha ---------------------------------------------------------- */

struct filter_state {
  double past, level, drift; /* the P, A and B of the recursion */
};

static struct filter_state filter_next(const struct filter_state *now, double alpha, double z) {
  return (struct filter_state){(1 - alpha) * now->past + alpha * z, (1 - alpha) * now->level,
                               (1 - alpha) * now->drift + 1};
}

/* Sums of the normal equations for the regression of z - P on A and B. Without a drift, the sums over B are not used.
 */
struct equations {
  double aa, ab, bb, az, bz, zz;
  struct filter_state end;
};

static struct equations gather(const double *z, uint32_t n, double alpha) {
  struct equations error_sums = {.end = {0, 1, 1}};
  for (uint32_t i = 0; i < n; i++) {
    const struct filter_state *now = &error_sums.end;
    double rest = z[i] - now->past;
    error_sums.aa += now->level * now->level;
    error_sums.ab += now->level * now->drift;
    error_sums.bb += now->drift * now->drift;
    error_sums.az += now->level * rest;
    error_sums.bz += now->drift * rest;
    error_sums.zz += rest * rest;
    error_sums.end = filter_next(now, alpha, z[i]);
  }
  return error_sums;
}

/* The estimated first level and drift, and what their covariance would be if the errors had variance 1. */
struct solution {
  double level, drift, var_level, covariance, var_drift, log_determinant, squares;
};

/* Solves the normal equations. `precision`: precision of the prior of the drift if the errors have variance 1; 0: the
   model has no drift. */
static struct solution solve(const struct equations *error_sums, double precision) {
  struct solution found = {0};
  if (precision <= 0) {
    found.level = error_sums->az / error_sums->aa;
    found.var_level = 1 / error_sums->aa;
    found.log_determinant = log(error_sums->aa);
    found.squares = error_sums->zz - found.level * error_sums->az;
    return found;
  }
  double bb = error_sums->bb + precision, determinant = error_sums->aa * bb - error_sums->ab * error_sums->ab;
  found.level = (bb * error_sums->az - error_sums->ab * error_sums->bz) / determinant;
  found.drift = (error_sums->aa * error_sums->bz - error_sums->ab * error_sums->az) / determinant;
  found.var_level = bb / determinant;
  found.covariance = -error_sums->ab / determinant;
  found.var_drift = error_sums->aa / determinant;
  found.log_determinant = log(determinant);
  found.squares = error_sums->zz - found.level * error_sums->az - found.drift * error_sums->bz;
  return found;
}

/* Computes the posterior of the level after the last week, P + A l(0) + (B - 1) b, and of the drift. */
static void carry(const struct solution *found, const struct filter_state *end, bool has_drift,
                  struct hr__forecast_posterior *at) {
  double a = end->level, b = has_drift ? end->drift - 1 : 0;
  at->level = end->past + a * found->level + b * found->drift;
  at->drift = found->drift;
  at->var_level = a * a * found->var_level + 2 * a * b * found->covariance + b * b * found->var_drift;
  at->covariance = a * found->covariance + b * found->var_drift;
  at->var_drift = found->var_drift;
}

/* The ratio of the mean of exp(mean + residual) to exp(mean) (Duan, "Smearing estimate", JASA 78, 1983). It does not
   assume a distribution of the residuals. */
static double smear_of(const double *z, uint32_t n, double alpha, const struct solution *found) {
  struct filter_state now = {0, 1, 1};
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum += exp(z[i] - now.past - now.level * found->level - now.drift * found->drift);
    now = filter_next(&now, alpha, z[i]);
  }
  return sum / n;
}

/* ---- Model: all alphas ------------------------------------------------------------------------------ */

static void weigh(struct hr__forecast_fit *fit, double *log_weight) {
  double sum = 0;
  for (uint32_t i = 1; i < HR__ALPHAS; i++)
    if (log_weight[i] > log_weight[fit->best]) fit->best = i;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) sum += fit->at[i].weight = exp(log_weight[i] - log_weight[fit->best]);
  for (uint32_t i = 0; i < HR__ALPHAS; i++) fit->at[i].weight /= sum;
}

/* The precision of the drift's prior. A series may have hardly any variation, so sigma is taken to be at least
   drift_prior. */
static double precision_of(const double *z, uint32_t n) {
  double squares = 0;
  for (uint32_t i = 1; i < n; i++) squares += (z[i] - z[i - 1]) * (z[i] - z[i - 1]);
  return fmax(squares / (n - 1) / (drift_prior * drift_prior), 1);
}

static void fit_all(struct hr__forecast_fit *fit, const double *z) {
  double log_weight[HR__ALPHAS];
  bool has_drift = fit->damping > 0;
  uint32_t n = fit->n_weeks;
  double precision = has_drift ? precision_of(z, n) : 0;
  fit->freedom = n - 1 + prior_weeks;
  for (uint32_t i = 0; i < HR__ALPHAS; i++) {
    struct equations error_sums = gather(z, n, hr__forecast_alpha(i));
    struct solution found = solve(&error_sums, precision);
    carry(&found, &error_sums.end, has_drift, &fit->at[i]);
    fit->at[i].squares = fmax(found.squares, 0) + prior_weeks * sigma_prior * sigma_prior;
    fit->at[i].smear = smear_of(z, n, hr__forecast_alpha(i), &found);
    log_weight[i] = -0.5 * found.log_determinant - 0.5 * fit->freedom * log(fit->at[i].squares);
  }
  weigh(fit, log_weight);
}

/* The factor of the drift per week; 0 if there are too few weeks for a drift. The half-life of the drift is half of the
   fitted time, up to a limit. */
static double damping_of(uint32_t n_weeks) {
  return n_weeks < HR__TREND_WEEKS ? 0 : exp2(-1 / fmin(n_weeks / 2.0, longest_half_life));
}

enum hr_status hr__forecast_fit_make(const double *week, uint32_t n_weeks, struct hr__forecast_fit *fit) {
  double sum = 0;
  *fit = (struct hr__forecast_fit){.n_weeks = n_weeks, .damping = damping_of(n_weeks)};
  for (uint32_t i = 0; i < n_weeks; i++) sum += week[i];
  fit->scale = sum / n_weeks;
  double *z = calloc(n_weeks + 1, sizeof *z);
  if (!z) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_weeks; i++) z[i] = log((sum > 0 ? week[i] / fit->scale : 0) + offset);
  fit_all(fit, z);
  free(z);
  return HR_OK;
}

/* ---- Model: estimates ------------------------------------------------------------------------------- */

double hr__forecast_fit_mean(const struct hr__forecast_fit *fit, double growth, uint32_t ahead) {
  double drifts = 0, damping = 1, sum = 0;
  for (uint32_t i = 0; i < ahead && growth <= 0; i++) drifts += damping *= fit->damping;
  for (uint32_t i = 0; i < HR__ALPHAS; i++)
    sum += fit->at[i].weight * fit->at[i].smear * exp(fit->at[i].level + fit->at[i].drift * drifts);
  double mean = fmax(sum - offset, 0) * fit->scale;
  return growth > 0 ? mean * pow(growth, ahead / HR__YEAR_WEEKS) : mean;
}

/* GPU hours of a week, from the logarithm of demand; the offset is subtracted. */
static double demand_of_log(const struct hr__forecast_fit *fit, uint32_t place, double log_demand) {
  return fmax(fit->at[place].smear * exp(log_demand) - offset, 0) * fit->scale;
}

static const uint64_t ensemble_seed = 1;

/* ---- Paths: one path -------------------------------------------------------------------------------- */

/* The parameters with which one path is drawn. */
struct path_start {
  uint32_t place; /* index of alpha */
  double sigma, level, drift;
};

static uint32_t draw_place(const struct hr__forecast_fit *fit, struct hr__stream *stream) {
  double left = hr__stream_uniform(stream);
  for (uint32_t i = 0; i + 1 < HR__ALPHAS; i++) {
    left -= fit->at[i].weight;
    if (left < 0) return i;
  }
  return fit->best; /* reached by rounding only: the weights sum to 1 */
}

static struct path_start draw_path_start(const struct hr__forecast_fit *fit, struct hr__stream *stream,
                                         const gsl_rng *rng) {
  struct path_start path_start = {.place = draw_place(fit, stream)};
  const struct hr__forecast_posterior *at = &fit->at[path_start.place];
  path_start.sigma = sqrt(at->squares / gsl_ran_chisq(rng, fit->freedom));
  double first = gsl_ran_ugaussian(rng), second = gsl_ran_ugaussian(rng);
  double of_level = sqrt(at->var_level), of_both = of_level > 0 ? at->covariance / of_level : 0;
  double of_drift = sqrt(fmax(at->var_drift - of_both * of_both, 0));
  path_start.level = at->level + path_start.sigma * of_level * first;
  path_start.drift = at->drift + path_start.sigma * (of_both * first + of_drift * second);
  return path_start;
}

/* The variance V of a path in a week (see the head of this file), divided by sigma^2. */
static double variance_of(const struct hr__forecast_posterior *at, double alpha, double drifts, uint32_t week) {
  return at->var_level + 2 * drifts * at->covariance + drifts * drifts * at->var_drift + alpha * alpha * week + 1;
}

/* Draws a path of the total, or of a series, which is not yet scaled to the total. If a growth is given, it replaces
   the drift of the total, and the series have no drift. */
static void draw_alone(const struct hr__forecast_model *model, uint32_t series, uint64_t seed, uint32_t replication,
                       uint32_t n_weeks, double *path) {
  const struct hr__forecast_fit *fit = &model->fits[series];
  bool is_total = series == model->n_series;
  double growth = is_total || model->growth <= 0 ? model->growth : 1;
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_FORECAST, is_total ? HR_NONE : series, replication);
  gsl_rng rng = hr__stream_rng(&stream);
  struct path_start path_start = draw_path_start(fit, &stream, &rng);
  double alpha = hr__forecast_alpha(path_start.place), drifts = 0, damping = 1, walk = 0;
  for (uint32_t week = 0; week < n_weeks; week++) {
    double error = path_start.sigma * gsl_ran_ugaussian(&rng);
    if (growth <= 0) drifts += damping *= fit->damping;
    double variance =
        path_start.sigma * path_start.sigma * variance_of(&fit->at[path_start.place], alpha, drifts, week);
    path[week] = demand_of_log(fit, path_start.place,
                               path_start.level + path_start.drift * drifts + walk + error - variance / 2);
    if (growth > 0) path[week] *= pow(growth, (week + 1) / HR__YEAR_WEEKS);
    walk += alpha * error;
  }
}

/* The share of `part` in `sum`; if the sum is 0, every series has the same share. */
static double part_of(const struct hr__forecast_model *model, double part, double sum) {
  return sum > 0 ? part / sum : 1.0 / model->n_series;
}

void hr__forecast_draw_path(const struct hr__forecast_model *model, uint64_t seed, uint32_t n_weeks, double *series,
                            double *total) {
  draw_alone(model, model->n_series, seed, 0, n_weeks, total);
  for (uint32_t i = 0; i < model->n_series; i++) draw_alone(model, i, seed, 0, n_weeks, series + (size_t)i * n_weeks);
  for (uint32_t week = 0; week < n_weeks; week++) {
    double sum = 0;
    for (uint32_t i = 0; i < model->n_series; i++) sum += series[(size_t)i * n_weeks + week];
    for (uint32_t i = 0; i < model->n_series; i++) {
      double *part = &series[(size_t)i * n_weeks + week];
      *part = total[week] * part_of(model, *part, sum);
    }
  }
}

/* ---- Paths: all paths ------------------------------------------------------------------------------- */

struct ensemble {
  const struct hr__forecast_model *model;
  uint32_t n_weeks;
  double *total, *sum, *paths; /* [n_weeks][paths]; sum: of all series before scaling */
  double *path;                /* [n_weeks] */
};

static void add_paths(const struct ensemble *all, uint32_t series, double *sum) {
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    draw_alone(all->model, series, ensemble_seed, i, all->n_weeks, all->path);
    for (uint32_t week = 0; week < all->n_weeks; week++) sum[(size_t)week * HR__FORECAST_PATHS + i] += all->path[week];
  }
}

/* Draws the paths of a series a second time and scales them to the total. Drawing is cheaper than storing them. */
static void scale_parts(const struct ensemble *all, uint32_t series, double *share) {
  for (uint32_t week = 0; week < all->n_weeks; week++) share[week] = 0;
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    draw_alone(all->model, series, ensemble_seed, i, all->n_weeks, all->path);
    for (uint32_t week = 0; week < all->n_weeks; week++) {
      size_t cell = (size_t)week * HR__FORECAST_PATHS + i;
      double part = part_of(all->model, all->path[week], all->sum[cell]);
      share[week] += part;
      all->paths[cell] = all->total[cell] * part;
    }
  }
  for (uint32_t week = 0; week < all->n_weeks; week++) share[week] /= HR__FORECAST_PATHS;
}

enum hr_status hr__forecast_draw_paths(const struct hr__forecast_model *model, uint32_t n_weeks, double *share,
                                       hr__forecast_paths_receiver *receive, void *self) {
  size_t cells = (size_t)n_weeks * HR__FORECAST_PATHS;
  double *memory = calloc(3 * cells + n_weeks, sizeof *memory);
  if (!memory) return HR_NO_MEMORY;
  struct ensemble all = {model, n_weeks, memory, memory + cells, memory + 2 * cells, memory + 3 * cells};
  add_paths(&all, model->n_series, all.total);
  receive(self, model->n_series, all.total);
  for (uint32_t i = 0; i < model->n_series; i++) add_paths(&all, i, all.sum);
  for (uint32_t i = 0; i < model->n_series; i++) {
    scale_parts(&all, i, share + (size_t)i * n_weeks);
    receive(self, i, all.paths);
  }
  free(memory);
  return HR_OK;
}
