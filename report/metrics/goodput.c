/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the GPU time of a run went: goodput, failures and spares, maintenance, autoscaling, kills for lack of memory,
 * spot interruptions, and waits for data. All are sums over the accounting of the pools and jobs.
 */

#include "base/text.h"
#include "headroom/unstable/data.h"
#include "headroom/unstable/faults.h"
#include "report/metrics/summary.h"

#include <gsl/gsl_cdf.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sums ------------------------------------------------------------------------------------------ */

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
  hr_amount held = times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
  return (struct hr_goodput){.useful_gpu_hours = hr__gpu_hours(times->kept),
                             .lost_gpu_hours = hr__gpu_hours(times->lost),
                             .checkpoint_gpu_hours = hr__gpu_hours(times->saving),
                             .restart_gpu_hours = hr__gpu_hours(times->restarting),
                             .fraction = hr__ratio((hr__wide)times->kept, (hr__wide)held)};
}

/* The pools with failures, summed. */
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

/* Returns the exact 95 % interval of the mean time between the events of a Poisson process. */
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

/* Adds the figures of spare and slow nodes. A spare that does not wait has replaced a node. */
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
    /* in a run of several clusters, an autoscaler is known by these counts */
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

/* ---- Failures by class: classes with the same name are one line, also in several pools ---------------- */

/* Returns the name of a class of a process: that of the class, of the groups, or of both; NULL if memory is exhausted.
 */
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

/* Adds an account to the line of this name, which becomes the property of the list. */
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

/* ---- Data with a location: bytes are exact sums of the engine; dollars are those of the cost items ---- */

#define BYTES_PER_GB 1e9

static double gb(hr_amount bytes) {
  return (double)bytes / BYTES_PER_GB;
}

/* Returns (bytes of a resource) / (bytes that it could transfer during the run); 0: it has no limit, or the run took no
   time. */
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
  const hr_amount held = times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
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

/* ---- Parts of the summary ---------------------------------------------------------------------------- */

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

static void free_data_lines(struct hr_data_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) free(lines[i].name);
  free(lines);
}

void hr__goodput_finish(struct hr_summary *summary) {
  for (size_t i = 0; i < summary->faults.n_failure_classes; i++) free(summary->faults.by_failure_class[i].name);
  free(summary->faults.by_failure_class);
  free_data_lines(summary->data.by_storage, summary->data.n_storage);
  free_data_lines(summary->data.by_link, summary->data.n_links);
}
