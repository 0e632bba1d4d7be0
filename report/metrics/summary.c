/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metrics of a run: the summary, which is computed from the result and the usage, the metrics of a streamed run,
 * and summaries as bytes for another process.
 *
 * Summary. Jobs are grouped by size, by class and tenant if the trace has them, and by cluster if there are several.
 * The distributions of all jobs are computed from the samples of the grouping by size. Metrics over time are computed
 * from the integrals of the usage observer. The latency factor of a job is the time for which it held GPUs divided by
 * its run time. Latency factors are sorted by pool with a counting sort, as in groups.c, so that quantiles are selected
 * in place.
 *
 * Streamed run. A streamed run stores no results per job, so its observer needs memory that is independent of the
 * number of jobs. Waits, completion times and slowdowns are added to sketches. The numbers of waiting jobs and GPUs are
 * integrated over time. Copies of the integrals are stored at each end and each submit of a job, because utilization is
 * reported up to the last end and up to the last submit.
 *
 * If a result has no accounting, jobs could not be interrupted and all GPU time was useful.
 */

#include "base/containers.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/metrics.h"
#include "report/metrics/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Summaries as bytes ---------------------------------------------------------------------------- */

/* Each structure is copied as a whole. The arrays and texts to which it points follow in the order of its members.
   Reading replaces all pointers, so no pointer of the other process remains. */

/* Copies an array with `count` elements. Writing does not change the pointer `array`. An empty array need not be
   NULL. */
#define PARCEL_ARRAY(parcel, array, count)                                                                             \
  do {                                                                                                                 \
    void *copied = hr__parcel_array((parcel), (array), &(count), sizeof *(array));                                     \
    if ((parcel)->reading) (array) = copied;                                                                           \
  } while (0)

/* Copies an array of structures in which only `name` is a pointer. */
#define PARCEL_NAMED(parcel, array, count)                                                                             \
  do {                                                                                                                 \
    PARCEL_ARRAY(parcel, array, count);                                                                                \
    for (size_t n = 0; (array) && n < (count); n++) hr__parcel_text((parcel), &(array)[n].name);                       \
  } while (0)

static void put_pools(struct hr__parcel *parcel, struct hr_summary *summary) {
  PARCEL_ARRAY(parcel, summary->by_pool, summary->n_pools);
  for (size_t i = 0; i < summary->n_pools; i++) {
    hr__parcel_text(parcel, &summary->by_pool[i].name);
    hr__parcel_text(parcel, &summary->by_pool[i].gpu);
  }
}

static void put_costs(struct hr__parcel *parcel, struct hr_cost_summary **at) {
  size_t count = *at != NULL;
  *at = hr__parcel_array(parcel, *at, &count, sizeof **at);
  struct hr_cost_summary *costs = *at;
  if (!costs) return;
  PARCEL_NAMED(parcel, costs->by_market.line, costs->by_market.count);
  PARCEL_NAMED(parcel, costs->by_pool.line, costs->by_pool.count);
  PARCEL_NAMED(parcel, costs->by_tenant.line, costs->by_tenant.count);
  PARCEL_NAMED(parcel, costs->by_class.line, costs->by_class.count);
  PARCEL_NAMED(parcel, costs->by_gpu.line, costs->by_gpu.count);
  PARCEL_ARRAY(parcel, costs->statements, costs->n_statements);
  for (size_t i = 0; i < costs->n_statements; i++) hr__parcel_text(parcel, &costs->statements[i].tenant);
  PARCEL_ARRAY(parcel, costs->budgets, costs->n_budgets);
  for (size_t i = 0; i < costs->n_budgets; i++) hr__parcel_text(parcel, &costs->budgets[i].tenant);
  PARCEL_ARRAY(parcel, costs->rows, costs->n_rows);
  for (size_t i = 0; i < costs->n_rows; i++) {
    hr__parcel_text(parcel, &costs->rows[i].tenant);
    hr__parcel_text(parcel, &costs->rows[i].market);
    hr__parcel_text(parcel, &costs->rows[i].gpu);
  }
  PARCEL_ARRAY(parcel, costs->services, costs->n_services);
}

/* Copies the name of the kind of party in `fairness`. Such a name is a constant text, so only its index is copied. */
static void put_party(struct hr__parcel *parcel, const char **over) {
  static const char *const words[] = {"tenants", "users", "jobs"};
  enum { N_WORDS = sizeof words / sizeof *words };
  uint32_t number = 0;
  while (!parcel->reading && *over && number < N_WORDS && strcmp(words[number], *over) != 0) number++;
  hr__parcel_bytes(parcel, &number, sizeof number);
  *over = words[number < N_WORDS ? number : 0];
}

static void put_services(struct hr__parcel *parcel, struct hr_service_summary **services, size_t *count) {
  PARCEL_ARRAY(parcel, *services, *count);
  for (size_t i = 0; *services && i < *count; i++) {
    struct hr_service_summary *service = &(*services)[i];
    size_t n_hours = service->n_hours;
    hr__parcel_text(parcel, &service->name);
    PARCEL_ARRAY(parcel, service->hours, n_hours);
    service->n_hours = (uint32_t)n_hours;
    size_t n_decisions = service->n_listed, n_levels = service->n_levels;
    PARCEL_ARRAY(parcel, service->decisions, n_decisions);
    PARCEL_ARRAY(parcel, service->levels, n_levels);
    service->n_listed = (uint32_t)n_decisions;
    service->n_levels = (uint32_t)n_levels;
  }
}

void hr__parcel_summary(struct hr__parcel *parcel, struct hr_summary **summary) {
  size_t one = 1;
  *summary = hr__parcel_array(parcel, *summary, &one, sizeof **summary);
  struct hr_summary *self = *summary;
  if (!self) return;
  PARCEL_NAMED(parcel, self->by_tenant, self->n_tenants);
  PARCEL_NAMED(parcel, self->by_class, self->n_classes);
  PARCEL_NAMED(parcel, self->by_size, self->n_sizes);
  PARCEL_NAMED(parcel, self->by_cluster, self->n_clusters);
  PARCEL_NAMED(parcel, self->routing, self->n_routing);
  put_pools(parcel, self);
  put_costs(parcel, &self->costs);
  put_party(parcel, &self->fairness.over);
  PARCEL_NAMED(parcel, self->energy.by_pool, self->energy.n_pools);
  PARCEL_NAMED(parcel, self->energy.by_tenant, self->energy.n_tenants);
  PARCEL_NAMED(parcel, self->carbon.by_pool, self->carbon.n_pools);
  PARCEL_NAMED(parcel, self->carbon.by_tenant, self->carbon.n_tenants);
  PARCEL_NAMED(parcel, self->faults.by_failure_class, self->faults.n_failure_classes);
  PARCEL_NAMED(parcel, self->data.by_storage, self->data.n_storage);
  PARCEL_NAMED(parcel, self->data.by_link, self->data.n_links);
  size_t n_all = self->all_services != NULL;
  put_services(parcel, &self->services, &self->n_services);
  put_services(parcel, &self->all_services, &n_all);
}

/* ---- Pools ----------------------------------------------------------------------------------------- */

/* The latency factors of the jobs of a pool. A latency factor is the time for which a job held GPUs divided by its run
   time. */
struct factors {
  size_t next, count;
  double sum;
};

/* Returns whether a job has a latency factor. Jobs that are not completed, or that have a run time of 0, have none. */
static bool has_factor(const struct hr_result *result, uint32_t job) {
  return result->state[job] == HR_JOB_COMPLETED && result->trace->work_us[job] > 0;
}

static void count_jobs(const struct hr_result *result, const struct hr__by_pool *by_pool, struct hr_summary *summary,
                       struct factors *factors) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    uint32_t pool = by_pool->last[job];
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
    struct factors *of_pool = &factors[by_pool->last[job]];
    double factor = (double)hr__held_us(result, job) / (double)result->trace->work_us[job];
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

/* Copies a name, which may be NULL. Returns false if out of memory. */
static bool copy_name(char **copy, const char *name) {
  *copy = name ? strdup(name) : NULL;
  return *copy || !name;
}

/* Returns the integrals of a pool up to `until_us`. `until_us` must be the time of the last end of a job, or a time at
   or after the last event. */
static struct hr__pool_time pool_time_until(const struct hr__by_pool *by_pool, hr_pool pool, int64_t until_us) {
  const struct hr__usage_pool *self = &by_pool->pools[pool.id];
  return self->until_us <= until_us ? hr__pool_time_at(self, until_us) : self->at_last_end;
}

static enum hr_status fill_pool(const struct hr_pool_spec *spec, const struct hr_usage *usage, hr_pool pool,
                                int64_t makespan_us, struct hr_pool_metrics *figures) {
  struct hr__pool_time makespan = pool_time_until(usage->by_pool, pool, makespan_us);
  struct hr__pool_time all = pool_time_until(usage->by_pool, pool, usage->now.until_us);
  figures->sharing = spec->sharing;
  figures->gpu_hours = hr__gpu_hours((hr_amount)all.allocated_milli);
  figures->utilization =
      makespan.total_milli ? (double)makespan.allocated_milli / (double)makespan.total_milli : (double)NAN;
  figures->cost_uusd = figures->per_completed_job_uusd = HR_UNKNOWN_UUSD;
  return copy_name(&figures->name, spec->name) && copy_name(&figures->gpu, spec->gpu) ? HR_OK : HR_NO_MEMORY;
}

/* Computes the metrics by pool, if the cluster has several pools. `makespan_us` is the time at which the makespan ends.
   Uses `samples` as scratch space. Sets n_pools and by_pool of the summary; pool_figures_free() frees them. Returns
   HR_NO_MEMORY if out of memory. */
static enum hr_status pool_figures_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
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

/* Adds the costs of the pools to their metrics. Cost lines have the order of the pools; pools without a price have no
   line. */
static void pool_figures_price(const struct hr_cluster_spec *cluster, struct hr_summary *summary) {
  const struct hr_cost_lines *lines = &summary->costs->by_pool;
  size_t at = 0;
  for (size_t i = 0; i < summary->n_pools; i++) {
    struct hr_pool_metrics *figures = &summary->by_pool[i];
    if (cluster->pools[i].market.market == HR_MARKET_NONE) continue;
    figures->cost_uusd = lines->line[at++].uusd;
    if (figures->completed)
      figures->per_completed_job_uusd =
          (int64_t)hr__divided((hr_amount)figures->cost_uusd, (hr_amount)figures->completed);
  }
}

static void pool_figures_free(struct hr_pool_metrics *figures, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(figures[i].name);
    free(figures[i].gpu);
  }
  free(figures);
}

/* ---- Summary --------------------------------------------------------------------------------------- */

/* Returns the integrals up to the end of the makespan. If jobs are unfinished at the horizon, this is the end of the
   run. */
static struct hr__integrals over_makespan(const struct hr_result *result, const struct hr_usage *usage) {
  bool finished = result->n_completed + result->n_rejected == result->n_jobs;
  return finished ? usage->at_last_end : usage->now;
}

static void fill_usage(struct hr_summary *summary, const struct hr_result *result, const struct hr_usage *usage) {
  struct hr__integrals makespan = over_makespan(result, usage);
  struct hr__integrals submits = usage->submits_over ? usage->at_last_submit : usage->now;
  summary->makespan_s = hr__seconds(makespan.until_us);
  summary->submit_window_s = hr__seconds(submits.until_us);
  summary->utilization_makespan = hr__ratio(makespan.allocated_milli, makespan.total_milli);
  summary->utilization_submit_window = hr__ratio(submits.allocated_milli, submits.total_milli);
  summary->queue_mean = hr__ratio(makespan.waiting, (uint64_t)makespan.until_us);
  summary->queue_max = usage->max_waiting;
  summary->preemptions = usage->preemptions;
  summary->elastic = (struct hr_elastic_metrics){result->resized != NULL, usage->grows, usage->shrinks};
}

/* Returns the fragmentation F (usage.c) as a share of the GPUs. `fragment` is the sum of F over the typical pods, so it
   is divided by their number. */
static double share_of(const struct hr_usage *usage, hr__wide fragment, hr__wide total_milli) {
  return hr__ratio(fragment, total_milli) / (double)usage->fragment_pods;
}

static void fill_fragmentation(struct hr_summary *summary, const struct hr_result *result,
                               const struct hr_usage *usage) {
  struct hr_fragmentation_metrics *figures = &summary->fragmentation;
  if (!usage->fragments) return;
  struct hr__integrals makespan = over_makespan(result, usage);
  struct hr__integrals submits = usage->submits_over ? usage->at_last_submit : usage->now;
  figures->known = true;
  figures->submit_window = share_of(usage, submits.fragment, submits.total_milli);
  figures->makespan = share_of(usage, makespan.fragment, makespan.total_milli);
  figures->max = share_of(usage, usage->max_share.fragment, usage->max_share.total_milli);
  figures->stranded = hr__ratio(makespan.stranded_milli, makespan.total_milli);
  figures->largest_gang_mean = hr__ratio(makespan.largest_gang, (uint64_t)makespan.until_us);
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
  for (uint32_t job = 0; result->account && job < result->n_jobs; job++) {
    uint32_t attempts = result->account[job] ? result->accounts[result->account[job]].attempts : 0;
    if (attempts > 1) summary->restarts += attempts - 1;
  }
  summary->gpus = hr_cluster_spec_gpus(cluster);
  for (uint32_t i = 0; i < cluster->n_pools; i++) summary->nodes += cluster->pools[i].nodes;
}

static enum hr_status fill_routing(struct hr_summary *summary, const struct hr_result *result) {
  if (!result->n_clusters) return HR_OK;
  summary->routing = calloc(result->n_clusters, sizeof *summary->routing);
  if (!summary->routing) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < result->n_clusters; i++) {
    const struct hr_cluster_result *cluster = &result->clusters[i];
    summary->routing[i] = (struct hr_cluster_routing){.name = strdup(cluster->name),
                                                      .jobs = cluster->n_submitted,
                                                      .rejected = cluster->n_rejected,
                                                      .spilled_in = cluster->n_spilled_in,
                                                      .spilled_out = cluster->n_spilled_out,
                                                      .digest = cluster->digest};
    summary->n_routing++;
    uint64_t *from = calloc(result->n_clusters, sizeof *from);
    summary->routing[i].from = from;
    if (!summary->routing[i].name || !from) return HR_NO_MEMORY;
    memcpy(from, cluster->n_from, result->n_clusters * sizeof *from);
  }
  return HR_OK;
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
  const struct {
    enum hr__grouping grouping;
    struct hr_group **group;
    size_t *count;
  } others[] = {{HR__BY_CLASS, &summary->by_class, &summary->n_classes},
                {HR__BY_TENANT, &summary->by_tenant, &summary->n_tenants},
                {HR__BY_CLUSTER, &summary->by_cluster, &summary->n_clusters}};
  for (size_t i = 0; i < sizeof others / sizeof *others && status == HR_OK; i++) {
    status = hr__groups_make(result, others[i].grouping, samples, &groups);
    *others[i].group = groups.group;
    *others[i].count = groups.count;
  }
  return status == HR_OK ? fill_routing(summary, result) : status;
}

static enum hr_status fill_costs(struct hr_summary *summary, const struct hr_trace *trace,
                                 const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 const struct hr_cost_basis *basis) {
  struct hr_gpu_times times;
  summary->stoppable = result->account != NULL;
  if (hr__goodput_make(cluster, result, &times, summary) != HR_OK) return HR_NO_MEMORY;
  if (hr__energy_make(cluster, result, summary) != HR_OK) return HR_NO_MEMORY;
  if (!basis) return HR_OK;
  enum hr_status status = hr__costs_make(trace, cluster, result, basis, times.kept, &summary->costs);
  if (status == HR_OK) pool_figures_price(cluster, summary);
  return status;
}

/* Sets `error` if a summary could not be computed; returns `status`. */
static enum hr_status cannot_sum(const struct hr_trace *trace, enum hr_status status, struct hr_error *error) {
  if (status == HR_BAD_INPUT)
    return hr_fail(error, status, "%s: costs exceed 4 trillion dollars; prices or times are too large", trace->source);
  return hr_fail(error, status, "%s: out of memory for the metrics of %" PRIu32 " jobs", trace->source, trace->n_jobs);
}

static enum hr_status summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                const struct hr_result *result, const struct hr_usage *usage,
                                const struct hr_cost_basis *basis, bool with_fairness, struct hr_summary **summary,
                                struct hr_error *error) {
  struct hr_summary *created = calloc(1, sizeof *created);
  struct hr__samples samples = {0};
  enum hr_status status = created && !usage->out_of_memory ? hr__samples_init(&samples, result) : HR_NO_MEMORY;
  if (status == HR_OK) {
    fill_counts(created, cluster, result);
    fill_usage(created, result, usage);
    fill_fragmentation(created, result, usage);
    status = fill_groups(created, result, &samples);
  }
  if (status == HR_OK)
    status = pool_figures_make(cluster, result, usage, over_makespan(result, usage).until_us, &samples, created);
  hr__samples_finish(&samples);
  if (status == HR_OK && with_fairness) status = hr__fairness_make(cluster, result, &created->fairness);
  if (status == HR_OK) status = fill_costs(created, trace, cluster, result, basis);
  if (status == HR_OK) {
    *summary = created;
    return HR_OK;
  }
  hr_summary_destroy(created);
  return cannot_sum(trace, status, error);
}

enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                            const struct hr_result *result, const struct hr_usage *usage,
                            const struct hr_cost_basis *basis, struct hr_summary **summary, struct hr_error *error) {
  return summarize(trace, cluster, result, usage, basis, true, summary, error);
}

enum hr_status hr_summarize_without_fairness(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                             const struct hr_result *result, const struct hr_usage *usage,
                                             const struct hr_cost_basis *basis, struct hr_summary **summary,
                                             struct hr_error *error) {
  return summarize(trace, cluster, result, usage, basis, false, summary, error);
}

static void services_free(struct hr_service_summary *services, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(services[i].name);
    free(services[i].hours);
    free(services[i].decisions);
    free(services[i].levels);
  }
  free(services);
}

void hr_summary_destroy(struct hr_summary *summary) {
  if (!summary) return;
  pool_figures_free(summary->by_pool, summary->n_pools);
  hr__lines_free(summary->by_tenant, summary->n_tenants, sizeof(struct hr_group));
  hr__lines_free(summary->by_class, summary->n_classes, sizeof(struct hr_group));
  hr__lines_free(summary->by_size, summary->n_sizes, sizeof(struct hr_group));
  hr__lines_free(summary->by_cluster, summary->n_clusters, sizeof(struct hr_group));
  for (size_t i = 0; i < summary->n_routing; i++) {
    free(summary->routing[i].name);
    free(summary->routing[i].from);
  }
  free(summary->routing);
  hr__costs_destroy(summary->costs);
  hr__energy_finish(summary);
  hr__goodput_finish(summary);
  services_free(summary->services, summary->n_services);
  services_free(summary->all_services, summary->all_services != NULL);
  free(summary);
}

/* ---- Streamed runs --------------------------------------------------------------------------------- */

struct hr_streamed {
  const struct hr_trace *trace;
  struct hr__sketch wait, jct, slowdown; /* slowdown in millionths */
  uint64_t waiting, allocated_milli, total_milli, queue_max;
  uint64_t ended_with[HR_N_OUTCOMES], deadlines, missed_deadlines, oom_kills, oom_jobs;
  bool stoppable;
  struct hr_gpu_times milli_us; /* GPU time of jobs that ended or were rejected; 0 if jobs cannot be interrupted */
  struct hr__rejections rejections;
  struct hr__integrals now, at_last_end, at_last_submit;
};

struct hr_streamed *hr_streamed_create(const struct hr_trace *trace) {
  struct hr_streamed *streamed = calloc(1, sizeof *streamed);
  if (streamed) streamed->trace = trace;
  return streamed;
}

void hr_streamed_destroy(struct hr_streamed *streamed) {
  free(streamed);
}

static void advance(struct hr_streamed *streamed, int64_t now_us) {
  struct hr__integrals *now = &streamed->now;
  uint64_t passed_us = (uint64_t)(now_us - now->until_us);
  now->waiting += (hr__wide)streamed->waiting * passed_us;
  now->allocated_milli += (hr__wide)streamed->allocated_milli * passed_us;
  now->total_milli += (hr__wide)streamed->total_milli * passed_us;
  now->until_us = now_us;
}

/* Returns the slowdown in millionths, as defined by slowdown_of_job() in groups.c. */
static int64_t slowdown_ppm(int64_t jct_us, int64_t work_us) {
  uint64_t run_us = (uint64_t)(work_us > HR__SHORT_RUN_US ? work_us : HR__SHORT_RUN_US);
  hr__wide slowdown = ((hr__wide)jct_us * 1000000 + run_us / 2) / run_us;
  return slowdown > 1000000 ? (int64_t)slowdown : 1000000;
}

static bool has_deadline(const struct hr_trace *trace, hr_job job) {
  return trace->deadline_us && trace->deadline_us[job.id] != HR_UNKNOWN_US;
}

/* Adds the final accounting of a job that ended or was rejected. */
static void note_finished(struct hr_streamed *streamed, const struct hr_view *view, const struct hr_event *event) {
  const struct hr_trace *trace = streamed->trace;
  bool rejected = event->kind == HR_EVENT_REJECT;
  if (has_deadline(trace, event->job))
    streamed->missed_deadlines += rejected || event->at_us > trace->deadline_us[event->job.id];
  if (rejected) hr__rejections_add(&streamed->rejections, trace, event->job, event->reason);
  if (!view->accounts) return;
  const struct hr_job_accounting copy = hr_view_accounting(view, event->job), *accounting = &copy;
  streamed->oom_kills += accounting->oom_kills;
  streamed->oom_jobs += accounting->oom_kills > 0;
  hr__gpu_times_add(&streamed->milli_us, &accounting->milli_us);
}

static void note_end(struct hr_streamed *streamed, hr_job job, int64_t jct_us) {
  const struct hr_trace *trace = streamed->trace;
  hr__sketch_add(&streamed->jct, jct_us);
  hr__sketch_add(&streamed->slowdown, slowdown_ppm(jct_us, trace->work_us[job.id]));
  if (trace->outcome) streamed->ended_with[trace->outcome[job.id]]++;
  streamed->at_last_end = streamed->now;
}

static void note_submit(struct hr_streamed *streamed, hr_job job) {
  streamed->at_last_submit = streamed->now;
  streamed->deadlines += has_deadline(streamed->trace, job);
}

/* Adds the wait of a job at its first start. Waits before later starts are ignored. */
static void note_start(struct hr_streamed *streamed, const struct hr_view *view, const struct hr_event *event) {
  if (view->accounts && hr_view_accounting(view, event->job).attempts) return;
  hr__sketch_add(&streamed->wait, event->at_us - streamed->trace->submit_us[event->job.id]);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_streamed *streamed = self;
  advance(streamed, event->at_us);
  if (event->kind == HR_EVENT_SUBMIT) note_submit(streamed, event->job);
  if (event->kind == HR_EVENT_START) note_start(streamed, view, event);
  if (event->kind == HR_EVENT_END)
    note_end(streamed, event->job, event->at_us - streamed->trace->submit_us[event->job.id]);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_REJECT) note_finished(streamed, view, event);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_streamed *streamed = self;
  streamed->stoppable = view->accounts != NULL;
  advance(streamed, view->now_us);
  streamed->waiting = view->n_waiting;
  streamed->allocated_milli = view->allocated_milli;
  streamed->total_milli = view->total_milli;
  if (streamed->waiting > streamed->queue_max) streamed->queue_max = streamed->waiting;
}

struct hr_observer hr_streamed_observer(struct hr_streamed *streamed) {
  return (struct hr_observer){.self = streamed, .on_event = on_event, .on_instant = on_instant};
}

enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes) {
  return hr__rejections_note(&streamed->rejections, notes);
}

void hr_streamed_rejections(const struct hr_streamed *streamed, const struct hr_result *result,
                            struct hr_rejections *rejections) {
  *rejections = (struct hr_rejections){.n_jobs = result->n_submitted, .n_rejected = result->n_rejected};
  for (unsigned reason = 0; reason <= HR_REASON_REQUEUES; reason++)
    rejections->by_reason[reason] = streamed->rejections.of[reason].count;
}

static struct hr_gpu_times gpu_times(const struct hr_streamed *streamed, const struct hr_result *result) {
  if (!streamed->stoppable) return (struct hr_gpu_times){.kept = (hr_amount)streamed->now.allocated_milli};
  struct hr_gpu_times times = streamed->milli_us;
  hr__gpu_times_add(&times, &result->left.milli_us);
  return times;
}

static void fill_accounting(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                            const struct hr_result *result, struct hr_summary *summary) {
  struct hr_gpu_times times = gpu_times(streamed, result);
  summary->stoppable = streamed->stoppable;
  summary->oom = (struct hr_oom_metrics){.known = streamed->stoppable && hr__can_kill(cluster),
                                         .kills = streamed->oom_kills + result->left.oom_kills,
                                         .jobs = streamed->oom_jobs + result->left.oom_jobs};
  hr__goodput_totals(cluster, result, &times, summary);
  hr__energy_totals(cluster, result, summary);
}

struct hr_summary hr_streamed_close(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                    const struct hr_result *result) {
  bool finished = result->n_completed + result->n_rejected == streamed->trace->n_jobs;
  bool all_submitted = result->n_submitted == streamed->trace->n_jobs;
  const struct hr__integrals *span = finished ? &streamed->at_last_end : &streamed->now;
  const struct hr__integrals *submits = all_submitted ? &streamed->at_last_submit : &streamed->now;
  struct hr_summary summary = {.gpus = hr_cluster_spec_gpus(cluster),
                               .jobs_submitted = result->n_submitted,
                               .jobs_completed = result->n_completed,
                               .jobs_rejected = result->n_rejected,
                               .jobs_unfinished = result->n_waiting + result->n_running,
                               .jobs_backfilled = result->n_backfilled,
                               .outcome_failed = streamed->ended_with[HR_OUTCOME_FAILED],
                               .outcome_cancelled = streamed->ended_with[HR_OUTCOME_CANCELLED],
                               .deadlines = streamed->deadlines,
                               .missed_deadlines = streamed->missed_deadlines + result->left.missed_deadlines,
                               .wait_s = hr__sketch_distribution(&streamed->wait),
                               .jct_s = hr__sketch_distribution(&streamed->jct),
                               .slowdown = hr__sketch_distribution(&streamed->slowdown),
                               .makespan_s = hr__seconds(span->until_us),
                               .submit_window_s = hr__seconds(submits->until_us),
                               .utilization_makespan = hr__ratio(span->allocated_milli, span->total_milli),
                               .utilization_submit_window = hr__ratio(submits->allocated_milli, submits->total_milli),
                               .gpu_hours = hr__gpu_hours((hr_amount)streamed->now.allocated_milli),
                               .queue_max = streamed->queue_max,
                               .queue_mean = hr__ratio(span->waiting, (uint64_t)span->until_us),
                               .n_events = result->n_events,
                               .n_passes = result->n_passes,
                               .digest = result->digest};
  for (uint32_t i = 0; i < cluster->n_pools; i++) summary.nodes += cluster->pools[i].nodes;
  fill_accounting(streamed, cluster, result, &summary);
  return summary;
}

enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                const struct hr_result *result, const struct hr_cost_basis *basis,
                                struct hr_summary *summary, struct hr_error *error) {
  struct hr_gpu_times times = gpu_times(streamed, result);
  enum hr_status status = hr__costs_make(streamed->trace, cluster, result, basis, times.kept, &summary->costs);
  return status == HR_OK ? HR_OK : cannot_sum(streamed->trace, status, error);
}

void hr_streamed_summary_finish(struct hr_summary *summary) {
  hr__costs_destroy(summary->costs);
  summary->costs = NULL;
}
