/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over jobs' and pools' fates. Without fates no job was interrupted, and all that jobs held was of use. */

#include "report/goodput.h"

static int64_t ran_us(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return 0;
  if (result->state[job] == HR_JOB_COMPLETED) return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
  return result->end_us - result->start_us[job];
}

struct hr__goodput hr__goodput_make(const struct hr_result *result) {
  struct hr__goodput goodput = {0};
  const uint32_t *gpus = result->trace->gpus;
  for (uint32_t job = 0; !result->fate && job < result->n_jobs; job++)
    goodput.useful_us += (hr_amount)gpus[job] * ran_us(result, job);
  for (uint32_t job = 0; result->fate && job < result->n_jobs; job++) {
    const struct hr_job_fate *fate = &result->fate[job];
    goodput.useful_us += (hr_amount)gpus[job] * fate->kept_us;
    goodput.lost_us += (hr_amount)gpus[job] * fate->lost_us;
    goodput.saving_us += (hr_amount)gpus[job] * fate->saving_us;
    goodput.restarting_us += (hr_amount)gpus[job] * fate->restarting_us;
  }
  return goodput;
}

static double hours_of(hr_amount us) {
  return (double)us / (3600.0 * (double)HR_SECOND_US);
}

static double ratio(hr_amount part, hr_amount whole) {
  return whole ? (double)part / (double)whole : 0;
}

struct hr_goodput hr__goodput_figures(const struct hr__goodput *goodput) {
  hr_amount held_us = goodput->useful_us + goodput->lost_us + goodput->saving_us + goodput->restarting_us;
  return (struct hr_goodput){.useful_gpu_hours = hours_of(goodput->useful_us),
                             .lost_gpu_hours = hours_of(goodput->lost_us),
                             .checkpoint_gpu_hours = hours_of(goodput->saving_us),
                             .restart_gpu_hours = hours_of(goodput->restarting_us),
                             .fraction = ratio(goodput->useful_us, held_us)};
}

struct hr_spot_figures hr__spot_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_spot_figures figures = {0};
  hr_amount node_us = 0, gpu_us = 0, offered_us = 0, all_us = 0;
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = &cluster->pools[i];
    const struct hr_pool_fate *fate = &result->pools[i];
    if (spec->market.market != HR_MARKET_SPOT || spec->nodes == 0) continue;
    figures.pools++;
    figures.reclaims += fate->reclaims;
    figures.jobs_interrupted += fate->interruptions;
    node_us += fate->up_us;
    gpu_us += fate->up_us * spec->gpus_per_node;
    offered_us += fate->offered_us;
    all_us += (hr_amount)spec->nodes * result->end_us;
  }
  figures.node_hours = hours_of(node_us);
  figures.gpu_hours = hours_of(gpu_us);
  figures.reclaims_per_node_hour = node_us ? (double)figures.reclaims / figures.node_hours : 0;
  figures.availability = ratio(offered_us, all_us);
  return figures;
}
