/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run's figures. Groupings walk the jobs: by size, whose samples taken together also give the figures of all jobs,
 * and by class and by tenant where the trace has them. What happened over time comes from the usage fold.
 */

#include "report/costs.h"
#include "report/fairness.h"
#include "report/goodput.h"
#include "report/groups.h"
#include "report/pool_figures.h"
#include "report/quantiles.h"
#include "report/usage.h"

#include <stdlib.h>

static double seconds_of(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

static double ratio(hr__wide part, hr__wide whole) {
  return whole ? (double)part / (double)whole : 0;
}

/* Where jobs were left over at a horizon there is no last end, and the makespan is the time that was simulated. */
static struct hr__integrals over_makespan(const struct hr_result *result, const struct hr_usage *usage) {
  bool finished = result->n_completed + result->n_rejected == result->n_jobs;
  return finished ? usage->at_last_end : usage->now;
}

static void fill_usage(struct hr_summary *summary, const struct hr_result *result, const struct hr_usage *usage) {
  struct hr__integrals makespan = over_makespan(result, usage);
  struct hr__integrals submits = usage->submits_over ? usage->at_last_submit : usage->now;
  summary->makespan_s = seconds_of(makespan.until_us);
  summary->submit_window_s = seconds_of(submits.until_us);
  summary->utilization_makespan = ratio(makespan.allocated_milli, makespan.total_milli);
  summary->utilization_submit_window = ratio(submits.allocated_milli, submits.total_milli);
  summary->queue_mean = ratio(makespan.waiting, (uint64_t)makespan.until_us);
  summary->queue_max = usage->max_waiting;
}

/* F is counted in pods. */
static double share_of(const struct hr_usage *usage, hr__wide fragment, hr__wide total_milli) {
  return ratio(fragment, total_milli) / (double)hr__fragments_pods(usage->fragments);
}

static void fill_fragmentation(struct hr_summary *summary, const struct hr_result *result,
                               const struct hr_usage *usage) {
  struct hr_fragmentation_figures *figures = &summary->fragmentation;
  if (!usage->fragments) return;
  struct hr__integrals makespan = over_makespan(result, usage);
  struct hr__integrals submits = usage->submits_over ? usage->at_last_submit : usage->now;
  figures->known = true;
  figures->submit_window = share_of(usage, submits.fragment, submits.total_milli);
  figures->makespan = share_of(usage, makespan.fragment, makespan.total_milli);
  figures->max = share_of(usage, usage->most.fragment, usage->most.total_milli);
  figures->stranded = ratio(makespan.stranded_milli, makespan.total_milli);
  figures->largest_gang_mean = ratio(makespan.largest_gang, (uint64_t)makespan.until_us);
  figures->largest_gang_min = usage->least_gang;
}

static void fill_counts(struct hr_summary *summary, const struct hr_cluster_spec *cluster,
                        const struct hr_result *result) {
  summary->jobs_submitted = result->n_submitted;
  summary->jobs_completed = result->n_completed;
  summary->jobs_rejected = result->n_rejected;
  summary->jobs_unfinished = result->n_waiting + result->n_running;
  summary->jobs_backfilled = result->n_backfilled;
  summary->digest = result->digest;
  summary->n_events = result->n_events;
  summary->n_passes = result->n_passes;
  summary->gpus = hr_cluster_spec_gpus(cluster);
  for (uint32_t i = 0; i < cluster->n_pools; i++) summary->nodes += cluster->pools[i].nodes;
}

static enum hr_status fill_groups(struct hr_summary *summary, const struct hr_result *result,
                                  struct hr__samples *samples) {
  struct hr__groups groups;
  enum hr_status status = hr__groups_make(result, HR__BY_SIZE, samples, &groups);
  if (status != HR_OK) return status;
  summary->by_size = groups.group;
  summary->n_sizes = groups.count;
  const struct hr__totals *all = &groups.all;
  summary->gpu_hours = hr__gpu_hours(all->held_milli_us);
  summary->deadlines = all->deadlines;
  summary->missed_deadlines = all->missed_deadlines;
  summary->outcome_failed = all->outcome_failed;
  summary->outcome_cancelled = all->outcome_cancelled;
  summary->wait_s = hr__distribution_of_us(samples->wait_us, all->started, all->wait_us);
  summary->jct_s = hr__distribution_of_us(samples->jct_us, all->completed, all->jct_us);
  summary->slowdown = hr__distribution_of_slowdowns(samples->slowdown_key, all->completed, all->slowdown);
  status = hr__groups_make(result, HR__BY_CLASS, samples, &groups);
  summary->by_class = groups.group;
  summary->n_classes = groups.count;
  if (status != HR_OK) return status;
  status = hr__groups_make(result, HR__BY_TENANT, samples, &groups);
  summary->by_tenant = groups.group;
  summary->n_tenants = groups.count;
  return status;
}

static enum hr_status fill_costs(struct hr_summary *summary, const struct hr_trace *trace,
                                 const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 const struct hr_cost_basis *basis) {
  struct hr_gpu_times times = hr__gpu_times_of_all(result);
  summary->goodput = hr__goodput_figures(&times);
  summary->spot = hr__spot_figures(cluster, result);
  summary->stoppable = result->fate != NULL;
  summary->oom = hr__oom_figures(cluster, result);
  if (!basis) return HR_OK;
  enum hr_status status = hr__costs_make(trace, cluster, result, basis, times.kept, &summary->costs);
  if (status == HR_OK) hr__pool_figures_price(cluster, summary);
  return status;
}

enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                            const struct hr_result *result, const struct hr_usage *usage,
                            const struct hr_cost_basis *basis, struct hr_summary **summary, struct hr_error *error) {
  struct hr_summary *fresh = calloc(1, sizeof *fresh);
  struct hr__samples samples = {0};
  enum hr_status status = fresh && !usage->out_of_memory ? hr__samples_init(&samples, result) : HR_NO_MEMORY;
  if (status == HR_OK) {
    fill_counts(fresh, cluster, result);
    fill_usage(fresh, result, usage);
    fill_fragmentation(fresh, result, usage);
    status = fill_groups(fresh, result, &samples);
  }
  if (status == HR_OK)
    status = hr__pool_figures_make(cluster, result, usage, over_makespan(result, usage).until_us, &samples, fresh);
  hr__samples_finish(&samples);
  if (status == HR_OK) status = hr__fairness_make(cluster, result, &fresh->fairness);
  if (status == HR_OK) status = fill_costs(fresh, trace, cluster, result, basis);
  if (status == HR_OK) {
    *summary = fresh;
    return HR_OK;
  }
  hr_summary_destroy(fresh);
  return hr__cannot_sum(trace, status, error);
}

void hr_summary_destroy(struct hr_summary *summary) {
  if (!summary) return;
  hr__pool_figures_free(summary->by_pool, summary->n_pools);
  hr__groups_free(summary->by_tenant, summary->n_tenants);
  hr__groups_free(summary->by_class, summary->n_classes);
  hr__groups_free(summary->by_size, summary->n_sizes);
  hr__costs_destroy(summary->costs);
  free(summary);
}
