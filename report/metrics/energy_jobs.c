/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums over the energy of jobs: by tenant, and the carbon of jobs compared with a start without a wait. Both are
 * computed in one loop, because the energy of a job is computed from its start and end.
 *
 * The carbon without a wait is the carbon of the same jobs if each job had started at its submission and had run
 * without a pause, with the same power and for the same time, without the restarts after stops by the policy. It is the
 * baseline of savings.
 */

#include "headroom/power.h"
#include "headroom/unstable/series.h"
#include "report/metrics/summary.h"
#include "sim/power/job_energy.h"

#include <stdlib.h>

/* Returns the electricity if all pools with a known intensity have the same series; else NULL. */
static const struct hr_electricity *common_electricity(const struct hr_cluster_spec *cluster) {
  const struct hr_electricity *common = NULL;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0) continue;
    if (!pool->power || !pool->electricity || !pool->electricity->carbon) return NULL;
    if (!common) common = pool->electricity;
    if (pool->electricity->carbon != common->carbon || pool->electricity->carbon_start_us != common->carbon_start_us)
      return NULL;
  }
  return common;
}

void hr__energy_add_parts(struct hr_energy *sum, const struct hr_energy *part) {
  sum->it += part->it;
  sum->facility += part->facility;
  sum->carbon += part->carbon;
  sum->price += part->price;
  sum->embodied += part->embodied;
}

enum hr_status hr__energy_jobs_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                    struct hr__energy_jobs *sums) {
  const struct hr_trace *trace = result->trace;
  const struct hr_electricity *known = common_electricity(cluster);
  struct hr__energy_cursor starts = {0};
  struct hr_series_cursor submits = {0};
  double with = 0, without = 0;
  *sums = (struct hr__energy_jobs){0};
  if (!result->energy) return HR_OK;
  if (trace->tenant) {
    sums->by_tenant = calloc((size_t)trace->tenants.count + 1, sizeof *sums->by_tenant);
    if (!sums->by_tenant) return HR_NO_MEMORY;
  }
  if (!sums->by_tenant && !known) return HR_OK;
  int64_t begin_us = known ? hr_series_begin_us(known->carbon, known->carbon_start_us, trace) : 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    struct hr_energy energy = hr__result_energy_near(result, &starts, (hr_job){job});
    if (sums->by_tenant && trace->tenant) {
      uint32_t tenant = trace->tenant[job];
      hr__energy_add_parts(&sums->by_tenant[tenant == HR_NONE ? trace->tenants.count : tenant], &energy);
    }
    int64_t held_us = known && result->state[job] == HR_JOB_COMPLETED ? hr__held_us(result, job) : 0;
    if (held_us <= 0) continue;
    int64_t submit_us = begin_us + trace->submit_us[job];
    double nw = (double)(energy.it + energy.facility) / (double)held_us;
    const uint32_t account = result->account ? result->account[job] : 0; /* 0: the job was not stopped */
    int64_t alone_us = held_us - (account ? result->accounts[account].resuming_us : 0);
    with += (double)energy.carbon;
    hr_amount until = hr_series_between_near(known->carbon, &submits, submit_us, submit_us + alone_us);
    without += nw * (double)until / 1000;
  }
  if (without > 0) sums->of_no_wait = with / without;
  return HR_OK;
}

void hr__energy_jobs_finish(struct hr__energy_jobs *sums) {
  free(sums->by_tenant);
}
