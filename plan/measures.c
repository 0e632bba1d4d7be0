/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/measures.h"

#include <string.h>

#define MEASURE_INFO(id, path, column, unit, kind, groups) [id] = {path, column, unit, kind, groups},
const struct hr__measure_info hr__measure_infos[HR__N_MEASURES] = {HR__MEASURE_TABLE(MEASURE_INFO)};

/* ---- Values ----------------------------------------------------------------------------------------- */

static double known_if(bool known, double value) {
  return known ? value : HR__UNKNOWN;
}

static double dollars(int64_t uusd) {
  return known_if(uusd != HR_UNKNOWN_UUSD, (double)uusd / 1e6);
}

static double part(uint64_t count, uint64_t all) {
  return known_if(all > 0, all ? (double)count / (double)all : 0);
}

/* The six from `first` on. */
static void put_distribution(const struct hr_distribution *distribution, double *first) {
  const double figures[] = {distribution->mean, distribution->p50, distribution->p90,
                            distribution->p95,  distribution->p99, distribution->max};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    first[i] = known_if(distribution->count > 0, figures[i]);
}

static void put_jobs(const struct hr_summary *summary, double *values) {
  values[HR__M_SUBMITTED] = (double)summary->jobs_submitted;
  values[HR__M_COMPLETED] = (double)summary->jobs_completed;
  values[HR__M_REJECTED] = (double)summary->jobs_rejected;
  values[HR__M_UNFINISHED] = (double)summary->jobs_unfinished;
  values[HR__M_BACKFILLED] = (double)summary->jobs_backfilled;
  values[HR__M_COMPLETED_SHARE] = part(summary->jobs_completed, summary->jobs_submitted);
  values[HR__M_DEADLINE_MISS] = part(summary->missed_deadlines, summary->deadlines);
  put_distribution(&summary->wait_s, &values[HR__M_WAIT_MEAN]);
  put_distribution(&summary->jct_s, &values[HR__M_JCT_MEAN]);
  put_distribution(&summary->slowdown, &values[HR__M_SLOWDOWN_MEAN]);
}

static void put_time(const struct hr_summary *summary, double *values) {
  bool spanned = summary->makespan_s > 0, ended = summary->jobs_completed + summary->jobs_unfinished > 0;
  values[HR__M_MAKESPAN] = known_if(ended, summary->makespan_s);
  values[HR__M_SUBMIT_WINDOW] = summary->submit_window_s;
  values[HR__M_BUSY_SUBMITS] = known_if(summary->submit_window_s > 0, summary->utilization_submit_window);
  values[HR__M_BUSY_MAKESPAN] = known_if(spanned, summary->utilization_makespan);
  values[HR__M_QUEUE_MEAN] = known_if(spanned, summary->queue_mean);
  values[HR__M_QUEUE_MAX] = (double)summary->queue_max;
  values[HR__M_GPU_HOURS] = summary->gpu_hours;
}

static void put_goodput(const struct hr_summary *summary, double *values) {
  const struct hr_goodput *goodput = &summary->goodput;
  values[HR__M_USEFUL] = goodput->useful_gpu_hours;
  values[HR__M_LOST] = goodput->lost_gpu_hours;
  values[HR__M_SAVING] = goodput->checkpoint_gpu_hours;
  values[HR__M_RESTARTING] = goodput->restart_gpu_hours;
  values[HR__M_GOODPUT] = known_if(summary->gpu_hours > 0, goodput->fraction);
}

static void put_spot(const struct hr_summary *summary, double *values) {
  const struct hr_spot_figures *spot = &summary->spot;
  bool any = spot->pools > 0;
  values[HR__M_RECLAIMS] = known_if(any, (double)spot->reclaims);
  values[HR__M_RECLAIM_RATE] = known_if(spot->node_hours > 0, spot->reclaims_per_node_hour);
  values[HR__M_INTERRUPTED] = known_if(any, (double)spot->jobs_interrupted);
  values[HR__M_SPOT_HOURS] = known_if(any, spot->gpu_hours);
  values[HR__M_SPOT_THERE] = known_if(any, spot->availability);
  values[HR__M_OOM_KILLS] = known_if(summary->oom.known, (double)summary->oom.kills);
}

static void put_fairness(const struct hr_fairness *fairness, double *values) {
  const struct hr_distribution *rho = &fairness->finish_time;
  values[HR__M_JAIN] = known_if(fairness->parties, fairness->jain);
  values[HR__M_RHO_MEAN] = known_if(rho->count, rho->mean);
  values[HR__M_RHO_P95] = known_if(rho->count, rho->p95);
  values[HR__M_RHO_MAX] = known_if(rho->count, rho->max);
  values[HR__M_RHO_ABOVE_1] = known_if(rho->count, fairness->share_above_1);
}

static void put_fragmentation(const struct hr_summary *summary, double *values) {
  const struct hr_fragmentation_figures *figures = &summary->fragmentation;
  bool spanned = figures->known && summary->makespan_s > 0;
  values[HR__M_FRAGMENTS_SUBMITS] = known_if(figures->known && summary->submit_window_s > 0, figures->submit_window);
  values[HR__M_FRAGMENTS_MAKESPAN] = known_if(spanned, figures->makespan);
  values[HR__M_STRANDED] = known_if(spanned, figures->stranded);
  values[HR__M_GANG_MEAN] = known_if(spanned, figures->largest_gang_mean);
  values[HR__M_GANG_MIN] = known_if(figures->known, (double)figures->largest_gang_min);
}

static void put_costs(const struct hr_cost_summary *costs, double *values) {
  if (!costs) return;
  values[HR__M_COST] = dollars(costs->total_uusd);
  values[HR__M_COST_CAPACITY] = dollars(costs->capacity_uusd);
  values[HR__M_COST_IDLE] = dollars(costs->idle_uusd);
  values[HR__M_ALL_ON_DEMAND] = dollars(costs->all_on_demand_uusd);
  values[HR__M_PER_JOB] = dollars(costs->per_completed_job_uusd);
  values[HR__M_PER_GOODPUT] = dollars(costs->per_goodput_gpu_hour_uusd);
  values[HR__M_PER_MONTH] = dollars(costs->per_month_uusd);
  values[HR__M_MONTHLY] = dollars(costs->monthly_uusd);
}

static void forget_all(double *values) {
  for (size_t i = 0; i < HR__N_MEASURES; i++) values[i] = HR__UNKNOWN;
}

void hr__measures_of_run(const struct hr__one_run *run, double values[HR__N_MEASURES]) {
  const struct hr_summary *summary = run->summary;
  forget_all(values);
  put_jobs(summary, values);
  put_time(summary, values);
  put_goodput(summary, values);
  put_spot(summary, values);
  put_fairness(&summary->fairness, values);
  put_fragmentation(summary, values);
  put_costs(summary->costs, values);
  values[HR__M_PREEMPTIONS] = (double)run->preemptions;
  values[HR__M_RESTARTS] = (double)run->restarts;
}

void hr__measures_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                           double values[HR__N_MEASURES]) {
  forget_all(values);
  values[HR__M_SUBMITTED] = (double)group->jobs;
  values[HR__M_COMPLETED] = (double)group->completed;
  values[HR__M_COMPLETED_SHARE] = part(group->completed, group->jobs);
  values[HR__M_DEADLINE_MISS] = part(group->missed_deadlines, group->deadlines);
  values[HR__M_GPU_HOURS] = group->gpu_hours;
  values[HR__M_USEFUL] = group->useful_gpu_hours;
  put_distribution(&group->wait_s, &values[HR__M_WAIT_MEAN]);
  put_distribution(&group->jct_s, &values[HR__M_JCT_MEAN]);
  put_distribution(&group->slowdown, &values[HR__M_SLOWDOWN_MEAN]);
  for (size_t i = 0; lines && i < lines->count; i++)
    if (strcmp(lines->line[i].name, group->name) == 0) values[HR__M_COST] = dollars(lines->line[i].uusd);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

static bool is_word(const char *word, const char *name, size_t length) {
  return strlen(word) == length && strncmp(word, name, length) == 0;
}

enum hr__measure hr__measure_find(const char *name, size_t length) {
  static const struct {
    const char *name;
    enum hr__measure measure;
  } shorts[] = {{"cost_usd", HR__M_COST}, {"usd_per_job", HR__M_PER_JOB}, {"utilization", HR__M_BUSY_SUBMITS}};
  for (unsigned i = 0; i < HR__N_MEASURES; i++)
    if (is_word(hr__measure_infos[i].path, name, length) || is_word(hr__measure_infos[i].column, name, length))
      return (enum hr__measure)i;
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    if (is_word(shorts[i].name, name, length)) return shorts[i].measure;
  return HR__N_MEASURES;
}

void hr__measure_names(bool of_groups, const char *names[HR__N_MEASURES + 1]) {
  size_t count = 0;
  for (size_t i = 0; i < HR__N_MEASURES; i++)
    if (hr__measure_infos[i].of_groups || !of_groups) names[count++] = hr__measure_infos[i].path;
  names[count] = NULL;
}
