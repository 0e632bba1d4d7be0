/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Latency factors are sorted by pool as groups.c does it: one walk counts each pool's, another puts them where the
 * pool's begin, so that quantiles are selected in place.
 */

#include "report/pool_figures.h"

#include "report/apportion.h"
#include "report/goodput.h"
#include "report/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The latency factors of a pool's jobs. */
struct factors {
  size_t next, count;
  double sum;
};

static int64_t held_us(const struct hr_result *result, uint32_t job) {
  if (result->fate) return result->fate[job].held_us;
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

enum hr_status hr__pool_figures_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                     const struct hr_usage *usage, int64_t makespan_us, struct hr__samples *samples,
                                     struct hr_summary *summary) {
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
void hr__pool_figures_price(const struct hr_cluster_spec *cluster, struct hr_summary *summary) {
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

void hr__pool_figures_free(struct hr_pool_figures *figures, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(figures[i].name);
    free(figures[i].gpu);
  }
  free(figures);
}
