/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of demand: which weeks of a trace are usable, which series each job belongs to, demand by week and by
 * hour, and the weekly profile.
 *
 * Series. The jobs of one tenant and class are a group. A group becomes a series if it is large enough for a fit
 * (is_large_enough). Smaller groups are merged into one group per class. If such a merged group is still too small, it
 * is merged into a last group, over all classes. Groups are numbered in this order: groups of one tenant and class, the
 * merged group of each class, the last group. Groups without jobs do not become series.
 *
 * Demand by week counts work in the week in which it is submitted. Demand by hour counts work in the hours in which it
 * would run if no job waited. A job is stored as an increment and a decrement in a list of differences between hours,
 * in exact thousandths of a GPU. So long jobs take no more computing time than short ones. Partial hours are added as
 * doubles.
 */

#include "plan/forecast/forecasting.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_JOBS = 50, MAX_WEEKS = 1040, NEXT_WEEKS = 4 };
static const double min_share = 0.01, min_weeks = 0.75, low_demand = 0.5;
static const int64_t tolerated_gap_us = 12 * 3600 * HR_SECOND_US;

/* ---- Jobs ------------------------------------------------------------------------------------------ */

/* GPU hours that a job requests. */
static double job_gpu_hours(const struct hr_trace *trace, uint32_t job) {
  return (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 *
         ((double)trace->work_us[job] / (3600.0 * HR_SECOND_US));
}

/* ---- Usable weeks ---------------------------------------------------------------------------------- */

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

/* Counts the weeks of the trace. The last submit rarely is at the very end of a week, so the last week counts as a
   whole week if at most half a day of it is missing. */
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

/* ---- Series ---------------------------------------------------------------------------------------- */

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

/* ---- Demand by hour -------------------------------------------------------------------------------- */

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

/* ---- Demand by week -------------------------------------------------------------------------------- */

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

/* ---- The weekly profile ---------------------------------------------------------------------------- */

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
