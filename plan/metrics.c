/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/metrics.h"

#define METRIC_INFO(id, name, block, title, unit) [id] = {name, block, title, unit},
const struct hr__metric_info hr__metric_infos[HR__N_METRICS] = {HR__METRIC_TABLE(METRIC_INFO)};
const struct hr__metric_info hr__group_metric_infos[HR__N_GROUP_METRICS] = {HR__GROUP_METRIC_TABLE(METRIC_INFO)};

static double known_if(bool known, double value) {
  return known ? value : HR__UNKNOWN;
}

static void put_distributions(const struct hr_summary *summary, double *values) {
  const struct hr_distribution *wait = &summary->wait_s, *jct = &summary->jct_s, *slowdown = &summary->slowdown;
  values[HR__WAIT_MEAN] = known_if(wait->count, wait->mean);
  values[HR__WAIT_P50] = known_if(wait->count, wait->p50);
  values[HR__WAIT_P95] = known_if(wait->count, wait->p95);
  values[HR__WAIT_P99] = known_if(wait->count, wait->p99);
  values[HR__WAIT_MAX] = known_if(wait->count, wait->max);
  values[HR__JCT_MEAN] = known_if(jct->count, jct->mean);
  values[HR__JCT_P95] = known_if(jct->count, jct->p95);
  values[HR__SLOWDOWN_MEAN] = known_if(slowdown->count, slowdown->mean);
  values[HR__SLOWDOWN_P95] = known_if(slowdown->count, slowdown->p95);
}

static void put_fairness(const struct hr_fairness *fairness, double *values) {
  const struct hr_distribution *rho = &fairness->finish_time;
  values[HR__JAIN] = known_if(fairness->parties, fairness->jain);
  values[HR__RHO_MEAN] = known_if(rho->count, rho->mean);
  values[HR__RHO_P95] = known_if(rho->count, rho->p95);
  values[HR__RHO_MAX] = known_if(rho->count, rho->max);
  values[HR__RHO_ABOVE_1] = known_if(rho->count, fairness->share_above_1);
}

static void put_fragmentation(const struct hr_summary *summary, double *values) {
  const struct hr_fragmentation_figures *figures = &summary->fragmentation;
  bool spanned = figures->known && summary->makespan_s > 0;
  values[HR__FRAGMENTS_SUBMITS] = known_if(figures->known && summary->submit_window_s > 0, figures->submit_window);
  values[HR__FRAGMENTS_MAKESPAN] = known_if(spanned, figures->makespan);
  values[HR__STRANDED] = known_if(spanned, figures->stranded);
  values[HR__GANG_MEAN] = known_if(spanned, figures->largest_gang_mean);
  values[HR__GANG_MIN] = known_if(figures->known, (double)figures->largest_gang_min);
}

void hr__metrics_of_run(const struct hr__one_run *run, double values[HR__N_METRICS]) {
  const struct hr_summary *summary = run->summary;
  put_distributions(summary, values);
  put_fairness(&summary->fairness, values);
  put_fragmentation(summary, values);
  values[HR__MAKESPAN] = known_if(summary->jobs_completed + summary->jobs_unfinished > 0, summary->makespan_s);
  values[HR__BUSY_SUBMITS] = known_if(summary->submit_window_s > 0, summary->utilization_submit_window);
  values[HR__BUSY_MAKESPAN] = known_if(summary->makespan_s > 0, summary->utilization_makespan);
  values[HR__COMPLETED] = (double)summary->jobs_completed;
  values[HR__UNFINISHED] = (double)summary->jobs_unfinished;
  values[HR__COST] = summary->costs ? (double)summary->costs->total_uusd / 1e6 : HR__UNKNOWN;
  values[HR__PREEMPTIONS] = (double)run->preemptions;
  values[HR__RESTARTS] = (double)run->restarts;
  values[HR__LOST] = summary->goodput.lost_gpu_hours;
}

void hr__metrics_of_group(const struct hr_group *group, double values[HR__N_GROUP_METRICS]) {
  values[HR__GROUP_WAIT_MEAN] = known_if(group->wait_s.count, group->wait_s.mean);
  values[HR__GROUP_WAIT_P95] = known_if(group->wait_s.count, group->wait_s.p95);
  values[HR__GROUP_JCT_MEAN] = known_if(group->jct_s.count, group->jct_s.mean);
  values[HR__GROUP_SLOWDOWN_MEAN] = known_if(group->slowdown.count, group->slowdown.mean);
}
