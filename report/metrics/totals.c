/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums over the accounting of the pools and jobs of a run: the use of GPU time, and energy.
 *
 * GPU time: goodput, failures and spares, maintenance, autoscaling, kills for lack of memory, spot interruptions, and
 * waits for data.
 *
 * Energy, batteries, carbon, energy prices and water are sums over the meters of the pools, and over the energy of jobs
 * by tenant. Sums are whole numbers (headroom/power.h), which are converted last.
 */

#include "base/text.h"
#include "headroom/power.h"
#include "headroom/unstable/data.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/series.h"
#include "report/metrics/metrics.h"
#include "sim/power/power.h"

#include <gsl/gsl_cdf.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPU time -------------------------------------------------------------------------------------- */

static struct hr_gpu_times gpu_times_of_all(const struct hr_result *result) {
  struct hr_gpu_times sum = {0};
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    struct hr_gpu_times times = hr__gpu_times_of(result, job);
    hr__gpu_times_add(&sum, &times);
  }
  return sum;
}

static double hours_of(hr_amount us) {
  return (double)us / (3600.0 * (double)HR_SECOND_US);
}

static struct hr_goodput goodput_figures(const struct hr_gpu_times *times) {
  hr_amount held = hr__gpu_times_sum(times);
  return (struct hr_goodput){.useful_gpu_hours = hr__gpu_hours(times->kept),
                             .lost_gpu_hours = hr__gpu_hours(times->lost),
                             .checkpoint_gpu_hours = hr__gpu_hours(times->saving),
                             .restart_gpu_hours = hr__gpu_hours(times->restarting),
                             .fraction = hr__ratio((hr__wide)times->kept, (hr__wide)held)};
}

/* Sums over the pools with failures. */
struct fault_sums {
  uint64_t failures, jobs_stopped, fixed_failures;
  hr_amount node_us, down_us; /* of owned and reserved pools */
  uint64_t exclusions;
  hr_amount excluded_us;
  uint64_t restart_preemptions;
  bool known;
};

static struct fault_sums sum_faults(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct fault_sums sums = {0};
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = &cluster->pools[i];
    const struct hr_pool_accounting *accounting = &result->pools[i];
    if (!spec->faults || spec->faults->n_processes == 0 || spec->nodes == 0) continue;
    sums.known = true;
    sums.failures += accounting->failures;
    sums.jobs_stopped += accounting->failed_jobs;
    sums.exclusions += accounting->exclusions;
    sums.excluded_us += accounting->excluded_us;
    sums.restart_preemptions += accounting->restart_preemptions;
    if (hr_market_is_elastic(spec->market.market)) continue;
    sums.fixed_failures += accounting->failures;
    sums.node_us += (hr_amount)spec->nodes * result->end_us;
    sums.down_us += accounting->down_us;
  }
  return sums;
}

/* Returns the quantile of a chi-squared distribution with `freedom` degrees of freedom, at 0.025 or 0.975. GSL fails
   for some large numbers. For these, the approximation of Wilson and Hilferty (1931) has an error below 1e-7. */
static double chi_squared(bool is_upper, double freedom) {
  enum { MANY = 20000 };
  if (freedom <= MANY) return gsl_cdf_chisq_Pinv(is_upper ? 0.975 : 0.025, freedom);
  const double normal = 1.959963984540054, variance = 2 / (9 * freedom);
  const double root = 1 - variance + (is_upper ? normal : -normal) * sqrt(variance);
  return freedom * root * root * root;
}

/* Sets the mean time to interruption and its exact 95 % interval, if interruptions are a Poisson process. */
static void add_interval(struct hr_fault_metrics *figures, double time_s) {
  double n = (double)figures->jobs_stopped;
  if (n == 0 || time_s <= 0) return;
  figures->mtti_s = time_s / n;
  figures->mtti_low_s = 2 * time_s / chi_squared(true, 2 * n + 2);
  figures->mtti_high_s = 2 * time_s / chi_squared(false, 2 * n);
}

/* Returns the effective training time ratio of all jobs; -1 if it is unknown. */
static double ettr_of(const struct hr_result *result) {
  struct hr__totals totals = {0};
  for (uint32_t job = 0; result->account && job < result->n_jobs; job++) {
    struct hr_gpu_times times = hr__gpu_times_of(result, job);
    totals.useful_milli_us += times.kept;
    totals.training_milli_us += hr__training_milli_us(result, job, &times);
  }
  return hr__ettr_of(&totals);
}

/* Adds the metrics of spare nodes and slow nodes. A spare node that is not waiting is in use as a replacement. */
static void add_spares(struct hr_fault_metrics *figures, const struct hr_cluster_spec *cluster,
                       const struct hr_result *result) {
  hr_amount held_us = 0, all_us = 0, slow_lost = 0;
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = &cluster->pools[i];
    const struct hr_pool_accounting *accounting = &result->pools[i];
    if (!spec->faults || spec->nodes == 0) continue;
    uint32_t spares = spec->faults->spares < spec->nodes ? spec->faults->spares : 0;
    figures->has_spares = figures->has_spares || spares > 0;
    figures->has_slow = figures->has_slow || spec->faults->slow.speed_ppm > 0;
    figures->spare_swaps += accounting->spare_activations;
    figures->slow_episodes += accounting->slow_episodes;
    held_us += accounting->spare_us * spec->gpus_per_node;
    all_us += (hr_amount)spares * spec->gpus_per_node * result->end_us;
    slow_lost += accounting->slow_lost;
  }
  figures->spare_gpu_hours = hours_of(held_us);
  figures->spare_used_gpu_hours = hours_of(all_us > held_us ? all_us - held_us : 0);
  figures->slow_gpu_hours = hr__gpu_hours(slow_lost / 1000000);
}

static struct hr_fault_metrics fault_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                             const struct hr_gpu_times *times) {
  struct fault_sums sums = sum_faults(cluster, result);
  struct hr_fault_metrics figures = {.known = sums.known, .failures = sums.failures, .jobs_stopped = sums.jobs_stopped};
  add_spares(&figures, cluster, result);
  if (!sums.known) return figures;
  double held_s = 0;
  for (uint32_t job = 0; result->account && job < result->n_jobs; job++)
    held_s += hr__seconds(hr__held_us(result, job));
  add_interval(&figures, held_s);
  figures.availability = sums.node_us ? 1 - hr__ratio((hr__wide)sums.down_us, (hr__wide)sums.node_us) : -1;
  if (sums.fixed_failures) figures.mtbf_s = 3600 * hours_of(sums.node_us - sums.down_us) / (double)sums.fixed_failures;
  figures.ettr = ettr_of(result);
  figures.exclusions = sums.exclusions;
  figures.restart_preemptions = sums.restart_preemptions;
  figures.excluded_s = hr__seconds((int64_t)sums.excluded_us);
  figures.hanging_gpu_hours = hr__gpu_hours(times->hanging);
  return figures;
}

static struct hr_scaling_metrics scaling_figures(const struct hr_cluster_spec *cluster,
                                                 const struct hr_result *result) {
  struct hr_scaling_metrics figures = {.known = cluster->autoscaler != NULL};
  hr_amount provision_us = 0, up_us = 0, empty_us = 0;
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_accounting *pool = &result->pools[i];
    /* in a run of several clusters, these counts show whether a cluster has an autoscaler */
    if (pool->provisioned + pool->removals + pool->scale_failures > 0) figures.known = true;
    if (!hr_market_is_elastic(cluster->pools[i].market.market)) continue;
    figures.added += pool->launches;
    figures.removed += pool->removals;
    figures.failures += pool->scale_failures;
    figures.booted += pool->provisioned;
    provision_us += pool->provision_us;
    up_us += pool->up_us * cluster->pools[i].gpus_per_node;
    empty_us += pool->empty_us * cluster->pools[i].gpus_per_node;
  }
  if (figures.booted) figures.provision_s = 3600 * hours_of(provision_us) / (double)figures.booted;
  figures.gpu_hours = hours_of(up_us);
  figures.empty_gpu_hours = hours_of(empty_us);
  return figures.known ? figures : (struct hr_scaling_metrics){0};
}

static struct hr_maintenance_metrics maintenance_figures(const struct hr_cluster_spec *cluster,
                                                         const struct hr_result *result) {
  struct hr_maintenance_metrics figures = {0};
  hr_amount node_us = 0, planned_us = 0, down_us = 0, draining_us = 0; /* x GPUs per node */
  for (uint32_t i = 0; result->pools && i < cluster->n_pools; i++) {
    const struct hr_pool_accounting *accounting = &result->pools[i];
    if (cluster->pools[i].n_maintenance == 0 || cluster->pools[i].nodes == 0) continue;
    figures.known = true;
    figures.groups += accounting->maintenances;
    figures.jobs_stopped += accounting->maintained_jobs;
    uint32_t size = cluster->pools[i].gpus_per_node;
    node_us += (hr_amount)cluster->pools[i].nodes * size * result->end_us;
    planned_us += accounting->planned_us * size;
    down_us += accounting->down_us * size;
    draining_us += accounting->draining_us * size;
  }
  if (!figures.known) return figures;
  figures.planned_gpu_hours = hours_of(planned_us);
  figures.unplanned_gpu_hours = hours_of(down_us);
  figures.draining_gpu_hours = hours_of(draining_us);
  figures.availability = node_us ? 1 - hr__ratio((hr__wide)(planned_us + down_us), (hr__wide)node_us) : 1;
  return figures;
}

static struct hr_spot_metrics spot_figures(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_spot_metrics figures = {0};
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
  figures.availability = hr__ratio((hr__wide)offered_us, (hr__wide)all_us);
  return figures;
}

/* ---- GPU time: failures by class ------------------------------------------------------------------- */

/* Classes with the same name share one line, even if they are in different pools. */

/* Returns the name for a class of a failure process. It consists of the name of the groups of nodes, the name of the
   class, or both. Returns NULL if memory is exhausted. The caller frees the name. */
static char *class_name(const struct hr_fault_process *process, uint32_t class_) {
  const char *name = process->n_classes ? process->classes[class_].name : NULL;
  char number[32];
  const char *groups = process->name ? process->name : hr_tier_name(process->unit);
  if (process->group_nodes && !process->name) {
    snprintf(number, sizeof number, "%" PRIu32 " nodes", process->group_nodes);
    groups = number;
  }
  const bool is_node = process->unit == HR_TIER_NODE && !process->name;
  if (!name || is_node) return strdup(name ? name : groups);
  const size_t size = strlen(groups) + strlen(name) + 3;
  char *both = malloc(size);
  if (both) snprintf(both, size, "%s: %s", groups, name);
  return both;
}

/* Adds the accounting of a class to the line with this name. The list takes ownership of `name`. */
static void add_class(struct hr_fault_metrics *figures, char *name, const struct hr_outage_accounting *account) {
  struct hr_outage_line *line = figures->by_failure_class, *end = line + figures->n_failure_classes;
  while (line < end && strcmp(line->name, name) != 0) line++;
  if (line < end) {
    free(name);
  } else {
    *line = (struct hr_outage_line){.name = name};
    figures->n_failure_classes++;
  }
  line->failures += account->failures;
  line->jobs_stopped += account->jobs_stopped;
  line->lost_gpu_hours += hr__gpu_hours(account->lost_milli_us);
  line->down_node_hours += hr__gpu_hours(account->down_us * 1000);
}

static enum hr_status make_failure_classes(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                           struct hr_fault_metrics *figures) {
  const struct hr_outage_accounting *account = result->outages;
  const uint32_t count = account ? hr_outages_count(cluster->pools, cluster->n_pools) : 0;
  if (count == 0) return HR_OK;
  figures->n_failure_classes = 0;
  figures->by_failure_class = calloc(count, sizeof *figures->by_failure_class);
  if (!figures->by_failure_class) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_fault_spec *spec = hr_pool_fails(&cluster->pools[i]) ? cluster->pools[i].faults : NULL;
    for (uint32_t k = 0; spec && k < spec->n_processes; k++)
      for (uint32_t c = 0; c < hr_fault_classes_of(&spec->processes[k]); c++) {
        char *name = class_name(&spec->processes[k], c);
        if (!name) return HR_NO_MEMORY;
        add_class(figures, name, account++);
      }
  }
  return HR_OK;
}

/* ---- GPU time: data with a location ---------------------------------------------------------------- */

/* Numbers of bytes are exact sums from the engine. Costs are those of the cost items. */

#define BYTES_PER_GB 1e9

static double gb(hr_amount bytes) {
  return (double)bytes / BYTES_PER_GB;
}

/* Returns the utilization of the bandwidth of a resource: bytes / (bytes that it could transfer during the run).
   Returns 0 if the bandwidth has no limit or the run has no duration. */
static double utilization(hr_amount bytes, int64_t bytes_s, int64_t end_us) {
  if (bytes_s == 0 || end_us <= 0) return 0;
  return (double)bytes / ((double)bytes_s * (double)end_us / (double)HR_SECOND_US);
}

static enum hr_status make_storage(const struct hr_result *result, struct hr_data_metrics *figures) {
  const struct hr_data_result *data = result->data;
  figures->by_storage = calloc((size_t)data->n_storage + 1, sizeof *figures->by_storage);
  if (!figures->by_storage) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < data->n_storage; i++) {
    const struct hr_data_storage *spec = &data->spec->storage[i];
    const struct hr_data_storage_result *own = &data->storage[i];
    figures->by_storage[i] = (struct hr_data_line){
        .name = strdup(spec->name),
        .sent_gb = gb(own->read_bytes),
        .received_gb = gb(own->written_bytes),
        .utilization = utilization(own->read_bytes + own->written_bytes, spec->bytes_s, result->end_us),
        .uusd = hr_data_stored_uusd(spec, own, HR_MONTH_US)};
    if (!figures->by_storage[i].name) return HR_NO_MEMORY;
    figures->n_storage++;
    figures->storage_uusd += figures->by_storage[i].uusd;
  }
  return HR_OK;
}

static enum hr_status make_links(const struct hr_result *result, struct hr_data_metrics *figures) {
  const struct hr_data_result *data = result->data;
  figures->by_link = calloc((size_t)data->n_links + 1, sizeof *figures->by_link);
  if (!figures->by_link) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < data->n_links; i++) {
    const struct hr_data_link *spec = &data->spec->links[i];
    const size_t bytes = strlen(spec->from) + strlen(spec->to) + sizeof " to ";
    char *name = malloc(bytes);
    if (!name) return HR_NO_MEMORY;
    snprintf(name, bytes, "%s to %s", spec->from, spec->to);
    figures->by_link[figures->n_links++] =
        (struct hr_data_line){.name = name,
                              .sent_gb = gb(data->links[i].bytes),
                              .received_gb = gb(data->links[i].bytes),
                              .utilization = utilization(data->links[i].bytes, spec->bytes_s, result->end_us),
                              .uusd = hr_data_egress_uusd(data, i)};
    figures->moved_gb += gb(data->links[i].bytes);
    figures->egress_uusd += figures->by_link[i].uusd;
  }
  return HR_OK;
}

static enum hr_status make_data(const struct hr_result *result, const struct hr_gpu_times *times,
                                struct hr_data_metrics *figures) {
  if (!result->data) return HR_OK;
  const struct hr_data_result *data = result->data;
  const hr_amount held = hr__gpu_times_sum(times);
  figures->known = true;
  figures->waiting_gpu_hours = hr__gpu_hours(times->data);
  figures->waiting_share = held > 0 ? (double)times->data / (double)held : 0;
  figures->read_gb = gb(data->read_bytes);
  figures->cached_share = data->read_bytes > 0 ? (double)data->cached_bytes / (double)data->read_bytes : 0;
  figures->copied_gb = gb(data->copied_bytes);
  figures->saved_gb = gb(data->saved_bytes);
  const enum hr_status status = make_storage(result, figures);
  return status == HR_OK ? make_links(result, figures) : status;
}

/* ---- GPU time: parts of the summary ---------------------------------------------------------------- */

void hr__goodput_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                        const struct hr_gpu_times *times, struct hr_summary *summary) {
  hr_amount back_off_milli_us = 0;
  summary->goodput = goodput_figures(times);
  summary->spot = spot_figures(cluster, result);
  summary->faults = fault_figures(cluster, result, times);
  summary->maintenance = maintenance_figures(cluster, result);
  summary->scaling = scaling_figures(cluster, result);
  if (!summary->oom.known) return;
  for (uint32_t i = 0; i < cluster->n_pools; i++) back_off_milli_us += result->pools[i].back_off_milli_us;
  summary->oom.back_off_gpu_hours = hr__gpu_hours(back_off_milli_us);
}

enum hr_status hr__goodput_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                struct hr_gpu_times *times, struct hr_summary *summary) {
  *times = gpu_times_of_all(result);
  summary->oom.known = result->account && hr__can_kill(cluster);
  for (uint32_t job = 0; summary->oom.known && job < result->n_jobs; job++) {
    uint32_t kills = hr_result_accounting(result, (hr_job){job}).oom_kills;
    summary->oom.kills += kills;
    summary->oom.jobs += kills > 0;
  }
  hr__goodput_totals(cluster, result, times, summary);
  enum hr_status status = make_failure_classes(cluster, result, &summary->faults);
  return status == HR_OK ? make_data(result, times, &summary->data) : status;
}

void hr__goodput_finish(struct hr_summary *summary) {
  hr__lines_free(summary->faults.by_failure_class, summary->faults.n_failure_classes, sizeof(struct hr_outage_line));
  hr__lines_free(summary->data.by_storage, summary->data.n_storage, sizeof(struct hr_data_line));
  hr__lines_free(summary->data.by_link, summary->data.n_links, sizeof(struct hr_data_line));
}

/* ---- Energy ---------------------------------------------------------------------------------------- */

/*
 * The baseline of carbon savings is the carbon of the same jobs without waits: each job starts at its submission and
 * runs without interruption, with the same power and for the same time. The time of restarts after stops by the policy
 * is excluded.
 */

#define NW_PER_KW 1e12
#define UL_PER_L 1e6
#define UUSD_PER_USD 1e6

static double kwh(hr_amount energy) {
  return (double)energy / HR_KWH_UNITS;
}

/* Adds all members except `loss`. */
static void add_parts(struct hr_energy *sum, const struct hr_energy *part) {
  sum->it += part->it;
  sum->facility += part->facility;
  sum->carbon += part->carbon;
  sum->price += part->price;
  sum->embodied += part->embodied;
}

/* ---- Energy: energy of jobs ------------------------------------------------------------------------ */

struct energy_jobs {
  struct hr_energy *by_tenant; /* [number of tenants + 1]: the last one for jobs without a tenant; NULL: none */
  double of_no_wait;           /* carbon of completed jobs / their carbon without a wait; 0: unknown */
};

/* Returns the electricity of the cluster if all pools with nodes have the same known series of carbon intensities.
   Otherwise returns NULL. */
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

/* Computes both members of `sums` in one loop, because the energy of a job is not stored but computed from its start
   and end. */
static enum hr_status energy_jobs_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                       struct energy_jobs *sums) {
  const struct hr_trace *trace = result->trace;
  const struct hr_electricity *known = common_electricity(cluster);
  struct hr__energy_cursor starts = {0};
  struct hr_series_cursor submits = {0};
  double with = 0, without = 0;
  *sums = (struct energy_jobs){0};
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
      add_parts(&sums->by_tenant[tenant == HR_NONE ? trace->tenants.count : tenant], &energy);
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

/* ---- Energy: pools and tenants --------------------------------------------------------------------- */

static bool is_metered(const struct hr_cluster_spec *cluster, uint32_t pool) {
  return cluster->pools[pool].power && cluster->pools[pool].nodes > 0;
}

static struct hr_energy_metrics energy_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                              double gpu_hours) {
  struct hr_energy_metrics figures = {0};
  struct hr_energy meter = {0}, uses[HR_N_ENERGY_USES] = {{0}};
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!is_metered(cluster, i)) continue;
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    figures.known = true;
    meter.it += energy->meter.it;
    meter.loss += energy->meter.loss;
    meter.facility += energy->meter.facility;
    for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) uses[use].it += energy->use[use].it;
    figures.sleep_known = figures.sleep_known || cluster->pools[i].power->sleep.idle_us > 0;
    figures.sleeps += result->pools[i].sleeps;
    figures.wakes += result->pools[i].wakes;
  }
  double hours = (double)result->end_us / (3600.0 * (double)HR_SECOND_US);
  figures.it_kwh = kwh(meter.it);
  figures.site_kwh = kwh(meter.it + meter.facility);
  figures.loss_kwh = kwh(meter.loss);
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) figures.use_kwh[use] = kwh(uses[use].it);
  if (meter.it > 0) figures.pue = (double)(meter.it + meter.facility) / (double)meter.it;
  if (hours > 0) figures.mean_kw = figures.it_kwh / hours;
  if (gpu_hours > 0) figures.kwh_per_gpu_hour = figures.site_kwh / gpu_hours;
  figures.peak_kw = (double)result->peaks.it_nw / NW_PER_KW;
  figures.site_peak_kw = (double)result->peaks.site_nw / NW_PER_KW;
  figures.budget_kw = (double)result->peaks.budget_nw / NW_PER_KW;
  figures.budget_s = (double)result->peaks.bound_us / (double)HR_SECOND_US;
  figures.budget_caps = result->peaks.budget_caps;
  figures.capped_s = (double)result->peaks.capped_us / (double)HR_SECOND_US;
  figures.budget_job_s = (double)result->peaks.bound_job_us / (double)HR_SECOND_US;
  return figures;
}

static enum hr_status make_energy_pools(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                        struct hr_energy_metrics *figures) {
  figures->by_pool = calloc((size_t)cluster->n_pools + 1, sizeof *figures->by_pool);
  if (!figures->by_pool) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    if (!is_metered(cluster, i)) continue;
    struct hr_energy_line line = {.name = strdup(cluster->pools[i].name ? cluster->pools[i].name : ""),
                                  .it_kwh = kwh(energy->meter.it),
                                  .site_kwh = kwh(energy->meter.it + energy->meter.facility),
                                  .jobs_kwh = kwh(energy->use[HR_ENERGY_JOBS].it),
                                  .peak_kw = (double)energy->peak_nw / NW_PER_KW};
    if (!line.name) return HR_NO_MEMORY;
    figures->by_pool[figures->n_pools++] = line;
  }
  return HR_OK;
}

/* Makes the list of energy by tenant. `sums`: the energy of the jobs of each tenant; the last entry is the energy of
   jobs without a tenant. */
static enum hr_status make_energy_tenants(const struct hr_trace *trace, const struct hr_energy *sums,
                                          struct hr_energy_metrics *figures) {
  size_t count = (size_t)trace->tenants.count + 1;
  enum hr_status status = HR_OK;
  if (!sums) return HR_OK;
  figures->by_tenant = calloc(count, sizeof *figures->by_tenant);
  if (!figures->by_tenant) return HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) {
    if (sums[i].it == 0) continue;
    struct hr_energy_line line = {.name = strdup(i + 1 < count ? trace->tenants.text[i] : ""),
                                  .it_kwh = kwh(sums[i].it),
                                  .site_kwh = kwh(sums[i].it + sums[i].facility)};
    if (line.name)
      figures->by_tenant[figures->n_tenants++] = line;
    else
      status = HR_NO_MEMORY;
  }
  return status;
}

static enum hr_status make_energy(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                  double gpu_hours, const struct energy_jobs *jobs, struct hr_energy_metrics *figures) {
  *figures = energy_totals(cluster, result, gpu_hours);
  if (!figures->known) return HR_OK;
  enum hr_status status = make_energy_pools(cluster, result, figures);
  return status == HR_OK ? make_energy_tenants(result->trace, jobs->by_tenant, figures) : status;
}

/* ---- Energy: batteries ----------------------------------------------------------------------------- */

static void add_battery(struct hr_battery_energy *sum, const struct hr_battery_energy *part) {
  sum->charged += part->charged;
  sum->discharged += part->discharged;
  sum->loss += part->loss;
  sum->stored += part->stored;
  sum->carbon += part->carbon;
  sum->price += part->price;
}

static struct hr_battery_metrics battery_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result) {
  struct hr_battery_metrics figures = {0};
  struct hr_battery_energy sum = {0};
  hr_amount site = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->power || pool->nodes == 0) continue;
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    site += energy->meter.it + energy->meter.facility;
    if (!hr_pool_emits(pool) || !(pool->power->battery.capacity_kwh > 0)) continue;
    figures.known = true;
    figures.price_known = figures.price_known || pool->electricity->price;
    add_battery(&sum, &energy->battery);
  }
  if (!figures.known) return figures;
  figures.grid_kwh = kwh(site + sum.charged - sum.discharged);
  figures.charged_kwh = kwh(sum.charged);
  figures.discharged_kwh = kwh(sum.discharged);
  figures.loss_kwh = kwh(sum.loss);
  figures.stored_kwh = kwh(sum.stored);
  figures.carbon_kg = (double)sum.carbon / HR_CARBON_UNITS_PER_KG;
  figures.energy_usd = (double)sum.price / HR_KWH_UNITS / UUSD_PER_USD;
  return figures;
}

/* ---- Energy: carbon, energy prices and water ------------------------------------------------------- */

static const struct hr_electricity *known_of(const struct hr_cluster_spec *cluster, uint32_t pool) {
  const struct hr_pool_spec *spec = &cluster->pools[pool];
  return spec->power && spec->nodes > 0 ? spec->electricity : NULL;
}

static struct hr_carbon_line carbon_line(const struct hr_energy *energy) {
  return (struct hr_carbon_line){.operational_kg = (double)energy->carbon / HR_CARBON_UNITS_PER_KG,
                                 .embodied_kg = (double)energy->embodied / HR_ATTOGRAMS_PER_KG,
                                 .energy_usd = (double)energy->price / HR_KWH_UNITS / UUSD_PER_USD};
}

/* Returns the energy of a pool, with the carbon and price of its energy from the grid. */
static struct hr_energy grid_of(const struct hr_pool_energy *pool) {
  struct hr_energy energy = pool->meter;
  energy.carbon += pool->battery.carbon;
  energy.price += pool->battery.price;
  return energy;
}

static struct hr_carbon_line pool_line(const struct hr_electricity *known, const struct hr_pool_energy *pool) {
  const struct hr_energy grid = grid_of(pool);
  struct hr_carbon_line line = carbon_line(&grid);
  line.known = known->carbon != NULL;
  line.price_known = known->price != NULL;
  line.water_known = known->water_ul_kwh > 0;
  line.embodied_known = known->embodied_ug > 0;
  line.water_l = (double)pool->meter.it / HR_KWH_UNITS * (double)known->water_ul_kwh / UL_PER_L;
  return line;
}

static void set_ratios(const struct hr_energy *meter, hr_amount battery, struct hr_carbon_metrics *figures) {
  double grid_kwh = (double)(meter->it + meter->facility + battery) / HR_KWH_UNITS;
  figures->any_energy = grid_kwh > 0;
  if (grid_kwh > 0 && figures->known) figures->g_per_kwh = figures->all.operational_kg * 1000 / grid_kwh;
  if (grid_kwh > 0 && figures->price_known) figures->usd_per_kwh = figures->all.energy_usd / grid_kwh;
}

static struct hr_carbon_metrics carbon_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                              double of_no_wait) {
  struct hr_carbon_metrics figures = {0};
  struct hr_energy meter = {0}, jobs = {0};
  hr_amount battery = 0;
  double water_l = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_electricity *known = known_of(cluster, i);
    if (!known) continue;
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    const struct hr_carbon_line line = pool_line(known, energy);
    const struct hr_energy grid = grid_of(energy);
    figures.known |= line.known;
    figures.price_known |= line.price_known;
    figures.water_known |= line.water_known;
    figures.embodied_known |= line.embodied_known;
    water_l += line.water_l;
    battery += energy->battery.charged - energy->battery.discharged;
    add_parts(&meter, &grid);
    add_parts(&jobs, &energy->use[HR_ENERGY_JOBS]);
  }
  figures.all = carbon_line(&meter);
  figures.all.water_l = water_l;
  figures.jobs = carbon_line(&jobs);
  figures.of_no_wait = figures.known ? of_no_wait : 0;
  set_ratios(&meter, battery, &figures);
  return figures;
}

static enum hr_status append_line(struct hr_carbon_line *lines, size_t *count, const char *name,
                                  struct hr_carbon_line line) {
  line.name = strdup(name ? name : "");
  if (!line.name) return HR_NO_MEMORY;
  lines[(*count)++] = line;
  return HR_OK;
}

static enum hr_status make_carbon_pools(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                        struct hr_carbon_metrics *figures) {
  enum hr_status status = HR_OK;
  figures->by_pool = calloc((size_t)cluster->n_pools + 1, sizeof *figures->by_pool);
  if (!figures->by_pool) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct hr_electricity *known = known_of(cluster, i);
    if (!known) continue;
    status = append_line(figures->by_pool, &figures->n_pools, cluster->pools[i].name,
                         pool_line(known, &result->pools[i].energy));
  }
  return status;
}

static enum hr_status make_carbon_tenants(const struct hr_trace *trace, const struct hr_energy *sums,
                                          struct hr_carbon_metrics *figures) {
  size_t count = (size_t)trace->tenants.count + 1;
  enum hr_status status = HR_OK;
  if (!sums) return HR_OK;
  figures->by_tenant = calloc(count, sizeof *figures->by_tenant);
  if (!figures->by_tenant) return HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) {
    if (sums[i].it == 0 && sums[i].embodied == 0) continue;
    struct hr_carbon_line line = carbon_line(&sums[i]);
    line.known = figures->known;
    line.price_known = figures->price_known;
    line.embodied_known = figures->embodied_known;
    status = append_line(figures->by_tenant, &figures->n_tenants, i + 1 < count ? trace->tenants.text[i] : "", line);
  }
  return status;
}

static enum hr_status make_carbon(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                  const struct energy_jobs *jobs, struct hr_carbon_metrics *figures) {
  *figures = carbon_totals(cluster, result, jobs->of_no_wait);
  if (!figures->known && !figures->price_known && !figures->water_known && !figures->embodied_known) return HR_OK;
  enum hr_status status = make_carbon_pools(cluster, result, figures);
  return status == HR_OK ? make_carbon_tenants(result->trace, jobs->by_tenant, figures) : status;
}

/* ---- Energy: parts of the summary ------------------------------------------------------------------ */

void hr__energy_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                       struct hr_summary *summary) {
  summary->battery = battery_totals(cluster, result);
  summary->energy = energy_totals(cluster, result, summary->gpu_hours);
  summary->carbon = carbon_totals(cluster, result, 0); /* the energy of single jobs is not known */
}

enum hr_status hr__energy_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                               struct hr_summary *summary) {
  struct energy_jobs jobs;
  enum hr_status status = energy_jobs_make(cluster, result, &jobs);
  summary->battery = battery_totals(cluster, result);
  if (status == HR_OK) status = make_energy(cluster, result, summary->gpu_hours, &jobs, &summary->energy);
  if (status == HR_OK) status = make_carbon(cluster, result, &jobs, &summary->carbon);
  free(jobs.by_tenant);
  return status;
}

void hr__energy_finish(struct hr_summary *summary) {
  hr__lines_free(summary->energy.by_pool, summary->energy.n_pools, sizeof(struct hr_energy_line));
  hr__lines_free(summary->energy.by_tenant, summary->energy.n_tenants, sizeof(struct hr_energy_line));
  hr__lines_free(summary->carbon.by_pool, summary->carbon.n_pools, sizeof(struct hr_carbon_line));
  hr__lines_free(summary->carbon.by_tenant, summary->carbon.n_tenants, sizeof(struct hr_carbon_line));
}

/* ---- Energy: jobs that a power budget never permits ------------------------------------------------ */

/* Returns the maximum number of GPUs of one pool that can work at the same time within the power budget, in whole
   nodes. Returns HR_NONE if a pool has no budget, or if the number is unknown because nodes may sleep. `*size` is set
   to the number of GPUs of the largest pool. */
static uint64_t most_gpus(const struct hr_cluster_spec *cluster, uint64_t *size) {
  double left_w = 0, most = 0;
  *size = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0) continue;
    if (!pool->power || !(pool->power->budget_w > 0) || pool->power->sleep.idle_us > 0) return HR_NONE;
    double idle_w = 1e-6 * (double)hr__idle_rate(pool->power, pool->gpus_per_node).it * pool->gpus_per_node;
    if (*size == 0) left_w = pool->power->budget_w;
    left_w -= pool->nodes * idle_w + 1e-9 * (double)hr__other_rate(pool->power).it;
    uint64_t gpus = (uint64_t)pool->nodes * pool->gpus_per_node;
    if (gpus > *size) *size = gpus;
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0) continue;
    uint32_t level = pool->power->budget_caps ? HR__CAP_LEVELS : 0;
    double more_w = 1e-6 * pool->gpus_per_node *
                    (double)(hr__busy_rate_at(pool->power, pool->gpus_per_node, level, HR__NO_FRACTION).it -
                             hr__idle_rate(pool->power, pool->gpus_per_node).it);
    double nodes = more_w > 0 ? floor(left_w / more_w + 1e-9) : pool->nodes;
    most = fmax(most, fmin(nodes, pool->nodes) * pool->gpus_per_node);
  }
  return *size ? (uint64_t)most : HR_NONE;
}

enum hr_status hr__power_budget_note(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     struct hr_notes *notes) {
  uint64_t size, most = most_gpus(cluster, &size);
  uint32_t count = 0, first = 0;
  char id[HR_JOB_ID_BUFFER];
  if (most == HR_NONE || most >= size) return HR_OK;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint32_t gpus =
        trace->min_gpus && trace->min_gpus[job] < trace->gpus[job] ? trace->min_gpus[job] : trace->gpus[job];
    if (gpus > most && gpus <= size && count++ == 0) first = job;
  }
  if (count == 0) return HR_OK;
  return hr_notes_add(notes,
                      "%" PRIu32 " job%s never start%s: 'power_budget_w' permits at most %" PRIu64
                      " GPUs of a pool to work at once; the first is %s",
                      count, hr__plural(count), count == 1 ? "s" : "", most,
                      hr_trace_job_id(trace, (hr_job){first}, id));
}
