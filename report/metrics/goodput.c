/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over jobs' and pools' fates. Without fates no job was interrupted, and all that jobs held was of use. */

#include "report/metrics/goodput.h"

static int64_t ran_us(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return 0;
  if (result->state[job] == HR_JOB_COMPLETED) return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
  return result->end_us - result->start_us[job];
}

struct hr_gpu_times hr__gpu_times_of(const struct hr_result *result, uint32_t job) {
  if (result->accounting) return result->accounting[job].milli_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  return (struct hr_gpu_times){.kept = (hr_amount)milli * ran_us(result, job)};
}

void hr__add_gpu_times(struct hr_gpu_times *sum, const struct hr_gpu_times *part) {
  sum->kept += part->kept;
  sum->lost += part->lost;
  sum->saving += part->saving;
  sum->restarting += part->restarting;
}

struct hr_gpu_times hr__gpu_times_of_all(const struct hr_result *result) {
  struct hr_gpu_times sum = {0};
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    struct hr_gpu_times times = hr__gpu_times_of(result, job);
    hr__add_gpu_times(&sum, &times);
  }
  return sum;
}

double hr__gpu_hours(hr_amount milli_us) {
  return (double)milli_us / (3600.0 * 1000 * (double)HR_SECOND_US);
}

static double hours_of(hr_amount us) {
  return (double)us / (3600.0 * (double)HR_SECOND_US);
}

static double ratio(hr_amount part, hr_amount whole) {
  return whole ? (double)part / (double)whole : 0;
}

struct hr_goodput hr__goodput_figures(const struct hr_gpu_times *times) {
  hr_amount held = times->kept + times->lost + times->saving + times->restarting;
  return (struct hr_goodput){.useful_gpu_hours = hr__gpu_hours(times->kept),
                             .lost_gpu_hours = hr__gpu_hours(times->lost),
                             .checkpoint_gpu_hours = hr__gpu_hours(times->saving),
                             .restart_gpu_hours = hr__gpu_hours(times->restarting),
                             .fraction = ratio(times->kept, held)};
}

bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

double hr__back_off_gpu_hours(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  hr_amount back_off_milli_us = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) back_off_milli_us += result->pools[i].back_off_milli_us;
  return hr__gpu_hours(back_off_milli_us);
}

struct hr_oom_figures hr__oom_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_oom_figures figures = {.known = result->accounting && hr__can_kill(cluster)};
  if (!figures.known) return figures;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    figures.kills += result->accounting[job].oom_kills;
    figures.jobs += result->accounting[job].oom_kills > 0;
  }
  figures.back_off_gpu_hours = hr__back_off_gpu_hours(cluster, result);
  return figures;
}

struct hr_spot_figures hr__spot_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_spot_figures figures = {0};
  hr_amount node_us = 0, gpu_us = 0, offered_us = 0, all_us = 0;
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = &cluster->pools[i];
    const struct hr_pool_accounting *accounting = &result->pools[i];
    if (spec->market.market != HR_MARKET_SPOT || spec->nodes == 0) continue;
    figures.pools++;
    figures.reclaims += accounting->reclaims;
    figures.jobs_interrupted += accounting->interruptions;
    node_us += accounting->up_us;
    gpu_us += accounting->up_us * spec->gpus_per_node;
    offered_us += accounting->offered_us;
    all_us += (hr_amount)spec->nodes * result->end_us;
  }
  figures.node_hours = hours_of(node_us);
  figures.gpu_hours = hours_of(gpu_us);
  figures.reclaims_per_node_hour = node_us ? (double)figures.reclaims / figures.node_hours : 0;
  figures.availability = ratio(offered_us, all_us);
  return figures;
}
