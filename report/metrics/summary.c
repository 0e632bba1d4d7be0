/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "report/costs/apportion.h"
#include "report/costs/costs.h"
#include "report/metrics/fairness.h"
#include "report/metrics/goodput.h"
#include "report/metrics/groups.h"
#include "report/metrics/quantiles.h"
#include "report/metrics/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run's figures by pool, `usage` with pools told apart; `makespan_us` is the end of the makespan. Overwrites samples.
   Sets n_pools and by_pool, which hr__pool_figures_free frees, of the summary. HR_NO_MEMORY is the only failure. */
static enum hr_status hr__pool_figures_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                            const struct hr_usage *usage, int64_t makespan_us,
                                            struct hr__samples *samples, struct hr_summary *summary);
/* What the pools cost, when that is known. */
static void hr__pool_figures_price(const struct hr_cluster_spec *cluster, struct hr_summary *summary);
static void hr__pool_figures_free(struct hr_pool_figures *figures, size_t count);

/*
 * Latency factors are sorted by pool as groups.c does it: one walk counts each pool's, another puts them where the
 * pool's begin, so that quantiles are selected in place.
 */

/* The latency factors of a pool's jobs. */
struct factors {
  size_t next, count;
  double sum;
};

static int64_t held_us(const struct hr_result *result, uint32_t job) {
  if (result->accounting) return result->accounting[job].held_us;
  return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
}

/* Of a run time of nothing there is no factor. */
static bool has_factor(const struct hr_result *result, uint32_t job) {
  return result->state[job] == HR_JOB_COMPLETED && result->trace->work_us[job] > 0;
}

static void count_jobs(const struct hr_result *result, const struct hr__by_pool *by_pool, struct hr_summary *summary,
                       struct factors *factors) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    uint32_t pool = hr__by_pool_of(by_pool, (hr_job){job});
    summary->by_pool[pool].completed++;
    factors[pool].count += has_factor(result, job);
  }
  for (size_t pool = 1; pool < summary->n_pools; pool++)
    factors[pool].next = factors[pool - 1].next + factors[pool - 1].count;
}

static void place_factors(const struct hr_result *result, const struct hr__by_pool *by_pool, struct factors *factors,
                          int64_t *keys) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (!has_factor(result, job)) continue;
    struct factors *of_pool = &factors[hr__by_pool_of(by_pool, (hr_job){job})];
    double factor = (double)held_us(result, job) / (double)result->trace->work_us[job];
    keys[of_pool->next++] = hr__slowdown_key(factor);
    of_pool->sum += factor;
  }
}

static enum hr_status fill_factors(const struct hr_result *result, const struct hr__by_pool *by_pool,
                                   struct hr__samples *samples, struct hr_summary *summary) {
  struct factors *factors = calloc(summary->n_pools, sizeof *factors);
  int64_t *keys = samples->slowdown_key;
  if (!factors) return HR_NO_MEMORY;
  count_jobs(result, by_pool, summary, factors);
  place_factors(result, by_pool, factors, keys);
  for (size_t pool = 0; pool < summary->n_pools; pool++) {
    const struct factors *of_pool = &factors[pool];
    summary->by_pool[pool].latency_factor =
        hr__distribution_of_slowdowns(keys + of_pool->next - of_pool->count, of_pool->count, of_pool->sum);
  }
  free(factors);
  return HR_OK;
}

/* A copy of a name that may be missing. */
static bool copy_name(char **copy, const char *name) {
  *copy = name ? strdup(name) : NULL;
  return *copy || !name;
}

static enum hr_status fill_pool(const struct hr_pool_spec *spec, const struct hr_usage *usage, hr_pool pool,
                                int64_t makespan_us, struct hr_pool_figures *figures) {
  struct hr__pool_time makespan = hr__by_pool_until(usage->by_pool, pool, makespan_us);
  struct hr__pool_time all = hr__by_pool_until(usage->by_pool, pool, usage->now.until_us);
  figures->sharing = spec->sharing;
  figures->gpu_hours = hr__gpu_hours((hr_amount)all.allocated_milli);
  figures->utilization =
      makespan.total_milli ? (double)makespan.allocated_milli / (double)makespan.total_milli : (double)NAN;
  figures->cost_uusd = figures->per_completed_job_uusd = HR_UNKNOWN_UUSD;
  return copy_name(&figures->name, spec->name) && copy_name(&figures->gpu, spec->gpu) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status hr__pool_figures_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                            const struct hr_usage *usage, int64_t makespan_us,
                                            struct hr__samples *samples, struct hr_summary *summary) {
  if (!usage->by_pool) return HR_OK;
  summary->by_pool = calloc(cluster->n_pools, sizeof *summary->by_pool);
  if (!summary->by_pool) return HR_NO_MEMORY;
  summary->n_pools = cluster->n_pools;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++)
    status = fill_pool(&cluster->pools[i], usage, (hr_pool){i}, makespan_us, &summary->by_pool[i]);
  return status == HR_OK ? fill_factors(result, usage->by_pool, samples, summary) : status;
}

/* The lines are in the order of the pools; of one without a price there is none. */
static void hr__pool_figures_price(const struct hr_cluster_spec *cluster, struct hr_summary *summary) {
  const struct hr_cost_lines *lines = &summary->costs->by_pool;
  size_t at = 0;
  for (size_t i = 0; i < summary->n_pools; i++) {
    struct hr_pool_figures *figures = &summary->by_pool[i];
    if (cluster->pools[i].market.market == HR_MARKET_NONE) continue;
    figures->cost_uusd = lines->line[at++].uusd;
    if (figures->completed)
      figures->per_completed_job_uusd =
          (int64_t)hr__divided((hr_amount)figures->cost_uusd, (hr_amount)figures->completed);
  }
}

static void hr__pool_figures_free(struct hr_pool_figures *figures, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(figures[i].name);
    free(figures[i].gpu);
  }
  free(figures);
}

/*
 * A run's figures. Groupings walk the jobs: by size, whose samples taken together also give the figures of all jobs,
 * and by class and by tenant where the trace has them. What happened over time comes from the usage fold.
 */

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
  figures->largest_gang_min = usage->min_gang;
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
  struct hr__job_groups groups;
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
  summary->stoppable = result->accounting != NULL;
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
