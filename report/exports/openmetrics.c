/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metrics of a run as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/), in the form that
 * `promtool tsdb create-blocks-from openmetrics` accepts: every sample has a timestamp, and the samples of a family are
 * contiguous.
 *
 * Metrics of the scheduler have the names of Kueue (pkg/metrics/metrics.go): a tenant is reported as a ClusterQueue, a
 * pool as a flavor. Metrics of the cluster have the names of the most common Slurm exporter (slurm_gpus_...,
 * slurm_queue_...).
 *
 * Series are computed one at a time. Each event of a job changes the value of the series by a constant. For example,
 * the number of pending jobs changes by +1 at a submit and by -1 at a start. The change is added to the first sample at
 * or after the event, and the samples are prefix sums of the changes.
 *
 * The metrics of GPUs are in openmetrics_gpus.c.
 */

#include "report/exports/exports.h"

#include "report/metrics/catalog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = 1000000 };

/* Events of a job that can change a series. */
enum job_event { SUBMITTED, STARTED, COMPLETED, INTERRUPTED, PREEMPTED, REJECTED, N_JOB_EVENTS };

struct jobs {
  struct hr__metrics *metrics;
  const struct hr_attempt *attempts;
  uint32_t n_tenants;
  uint32_t *first_job; /* [n_tenants + 1]: index in `job` of the first job of each tenant */
  uint32_t *job;       /* [n_jobs]: jobs sorted by tenant */
  int64_t *reject_us;  /* [n_jobs]: time of rejection; HR_NEVER_US: not rejected */
  int64_t *sum;        /* [n_samples]: changes of the current series */
  int64_t *counts;     /* [n_samples][N_BOUNDS + 1]: the current histogram */
};

/* Returns the index of the first sample at or after a time. */
static uint32_t sample_at(const struct jobs *jobs, int64_t at_us) {
  return (uint32_t)((at_us + jobs->metrics->step_us - 1) / jobs->metrics->step_us);
}

static void clear(struct jobs *jobs) {
  memset(jobs->sum, 0, jobs->metrics->n_samples * sizeof *jobs->sum);
}

/* Writes the prefix sums of `sum` as the samples of a series. Samples are in millionths; `unit` converts a sum into
   them. */
static void put_series(struct jobs *jobs, int64_t unit) {
  int64_t value = 0;
  for (uint32_t k = 0; k < jobs->metrics->n_samples; k++) {
    value += jobs->sum[k];
    hr__metrics_sample(jobs->metrics, k, value * unit);
  }
}

/* ---- Tenants --------------------------------------------------------------------------------------- */

static uint32_t tenant_of(const struct jobs *jobs, uint32_t job) {
  const struct hr_trace *trace = jobs->metrics->run->trace;
  return trace->tenant && trace->tenant[job] != HR_NONE ? trace->tenant[job] : trace->tenants.count;
}

static const char *tenant_name(const struct jobs *jobs, uint32_t tenant) {
  const struct hr_trace *trace = jobs->metrics->run->trace;
  return tenant < trace->tenants.count ? trace->tenants.text[tenant] : "default";
}

/* Begins a series of a tenant. */
static void begin_series(struct jobs *jobs, uint32_t tenant) {
  hr__metrics_no_labels(jobs->metrics);
  hr__metrics_label(jobs->metrics, "cluster_queue", tenant_name(jobs, tenant));
}

static bool has_jobs(const struct jobs *jobs, uint32_t tenant) {
  return jobs->first_job[tenant] < jobs->first_job[tenant + 1];
}

static enum hr_status sort_by_tenant(struct jobs *jobs) {
  const struct hr_trace *trace = jobs->metrics->run->trace;
  jobs->n_tenants = trace->tenants.count + 1;
  jobs->first_job = calloc((size_t)jobs->n_tenants + 2, sizeof *jobs->first_job);
  jobs->job = calloc((size_t)trace->n_jobs + 1, sizeof *jobs->job);
  if (!jobs->first_job || !jobs->job) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < trace->n_jobs; i++) jobs->first_job[tenant_of(jobs, i) + 2]++;
  for (uint32_t i = 1; i <= jobs->n_tenants; i++) jobs->first_job[i + 1] += jobs->first_job[i];
  for (uint32_t i = 0; i < trace->n_jobs; i++) jobs->job[jobs->first_job[tenant_of(jobs, i) + 1]++] = i;
  return HR_OK;
}

static enum hr_status note_rejections(struct jobs *jobs) {
  const struct hr_rejection *rejections;
  size_t count = hr_counts_rejections(jobs->metrics->run->counts, &rejections);
  uint32_t n_jobs = jobs->metrics->run->trace->n_jobs;
  jobs->reject_us = malloc(((size_t)n_jobs + 1) * sizeof *jobs->reject_us);
  if (!jobs->reject_us) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_jobs; i++) jobs->reject_us[i] = HR_NEVER_US;
  for (size_t i = 0; i < count; i++) jobs->reject_us[rejections[i].job.id] = rejections[i].at_us;
  return HR_OK;
}

/* ---- Events of jobs -------------------------------------------------------------------------------- */

static void add(struct jobs *jobs, int64_t at_us, int64_t amount) {
  if (amount) jobs->sum[sample_at(jobs, at_us)] += amount;
}

static enum job_event end_of(const struct hr_attempt *attempt) {
  if (attempt->end == HR_ATTEMPT_INTERRUPTED) return INTERRUPTED;
  if (attempt->end == HR_ATTEMPT_PREEMPTED) return PREEMPTED;
  return attempt->end == HR_ATTEMPT_COMPLETED ? COMPLETED : N_JOB_EVENTS;
}

static void add_job(struct jobs *jobs, uint32_t job, const int8_t weight[N_JOB_EVENTS]) {
  const struct hr_export *run = jobs->metrics->run;
  if (run->result->state[job] == HR_JOB_FUTURE) return;
  add(jobs, run->trace->submit_us[job], weight[SUBMITTED]);
  if (jobs->reject_us[job] != HR_NEVER_US) add(jobs, jobs->reject_us[job], weight[REJECTED]);
  for (uint32_t at = hr_history_last(run->history, (hr_job){job}); at != HR_NONE; at = jobs->attempts[at].previous) {
    enum job_event end = end_of(&jobs->attempts[at]);
    add(jobs, jobs->attempts[at].begin_us, weight[STARTED]);
    if (end != N_JOB_EVENTS) add(jobs, jobs->attempts[at].end_us, weight[end]);
  }
}

struct family {
  const char *name, *type, *help;
  int8_t weight[N_JOB_EVENTS];
  const char *label, *value; /* label in addition to cluster_queue; NULL: none */
};

/* One row per series of a tenant. Consecutive rows with the same name form one family. */
static const struct family families[] = {
    {"kueue_pending_workloads",
     "gauge",
     "The number of pending workloads, per 'cluster_queue' and 'status'.",
     {[SUBMITTED] = 1, [STARTED] = -1, [INTERRUPTED] = 1, [PREEMPTED] = 1, [REJECTED] = -1},
     "status",
     "active"},
    {"kueue_admitted_active_workloads",
     "gauge",
     "The number of admitted workloads that are active, per 'cluster_queue'.",
     {[STARTED] = 1, [COMPLETED] = -1, [INTERRUPTED] = -1, [PREEMPTED] = -1}},
    {"kueue_admitted_workloads",
     "counter",
     "The total number of admitted workloads per 'cluster_queue'.",
     {[STARTED] = 1}},
    {"kueue_finished_workloads",
     "counter",
     "The total number of finished workloads per 'cluster_queue'.",
     {[COMPLETED] = 1}},
    {"kueue_evicted_workloads",
     "counter",
     "The number of evicted workloads per 'cluster_queue' and 'reason'.",
     {[PREEMPTED] = 1},
     "reason",
     "Preempted"},
    {"kueue_evicted_workloads", "counter", "", {[INTERRUPTED] = 1}, "reason", "NodeFailures"},
    {"headroom_rejected_workloads",
     "counter",
     "The total number of workloads that were rejected, per 'cluster_queue'.",
     {[REJECTED] = 1}},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static void put_family(struct jobs *jobs, const struct family *family) {
  for (uint32_t tenant = 0; tenant < jobs->n_tenants; tenant++) {
    if (!has_jobs(jobs, tenant)) continue;
    clear(jobs);
    for (uint32_t i = jobs->first_job[tenant]; i < jobs->first_job[tenant + 1]; i++)
      add_job(jobs, jobs->job[i], family->weight);
    begin_series(jobs, tenant);
    if (family->label) hr__metrics_label(jobs->metrics, family->label, family->value);
    put_series(jobs, WHOLE);
  }
}

static void put_families(struct jobs *jobs) {
  for (size_t i = 0; i < N_FAMILIES; i++) {
    if (i == 0 || strcmp(families[i].name, families[i - 1].name) != 0)
      hr__metrics_family(jobs->metrics, families[i].name, families[i].type, NULL, families[i].help);
    put_family(jobs, &families[i]);
  }
}

/* ---- Waiting times --------------------------------------------------------------------------------- */

/* The histogram bounds of Kueue in seconds: 1 and 2.5; each further bound is twice the previous one. */
static const char *const bounds[] = {"1.0",   "2.5",   "5.0",   "10.0",   "20.0",   "40.0",   "80.0",
                                     "160.0", "320.0", "640.0", "1280.0", "2560.0", "5120.0", "10240.0"};
enum { N_BOUNDS = sizeof bounds / sizeof *bounds };

static unsigned bucket_of(int64_t wait_us) {
  int64_t bound_us = 2500000;
  if (wait_us <= HR_SECOND_US) return 0;
  for (unsigned i = 1; i < N_BOUNDS; i++, bound_us *= 2)
    if (wait_us <= bound_us) return i;
  return N_BOUNDS;
}

static int64_t *counts_at(const struct jobs *jobs, uint32_t k) {
  return jobs->counts + (size_t)k * (N_BOUNDS + 1);
}

static void add_waits(struct jobs *jobs, uint32_t job) {
  const struct hr_export *run = jobs->metrics->run;
  for (uint32_t at = hr_history_last(run->history, (hr_job){job}); at != HR_NONE; at = jobs->attempts[at].previous) {
    const struct hr_attempt *attempt = &jobs->attempts[at];
    int64_t wait_us = hr__attempt_wait_us(run, jobs->attempts, attempt);
    uint32_t k = sample_at(jobs, attempt->begin_us);
    counts_at(jobs, k)[bucket_of(wait_us)]++;
    jobs->sum[k] += wait_us;
  }
}

static void put_bucket(struct jobs *jobs, uint32_t tenant, uint32_t k, const char *bound, int64_t count) {
  begin_series(jobs, tenant);
  if (bound) hr__metrics_label(jobs->metrics, "le", bound);
  hr__metrics_sample(jobs->metrics, k, count);
}

static void put_histogram(struct jobs *jobs, uint32_t tenant) {
  int64_t total[N_BOUNDS + 1] = {0}, sum_us = 0;
  for (uint32_t k = 0; k < jobs->metrics->n_samples; k++) {
    int64_t below = 0;
    sum_us += jobs->sum[k];
    jobs->metrics->suffix = "_bucket";
    for (unsigned i = 0; i <= N_BOUNDS; i++) {
      total[i] += counts_at(jobs, k)[i];
      below += total[i];
      put_bucket(jobs, tenant, k, i < N_BOUNDS ? bounds[i] : "+Inf", below * WHOLE);
    }
    jobs->metrics->suffix = "_count";
    put_bucket(jobs, tenant, k, NULL, below * WHOLE);
    jobs->metrics->suffix = "_sum";
    put_bucket(jobs, tenant, k, NULL, sum_us);
  }
}

static void put_waits(struct jobs *jobs) {
  hr__metrics_family(jobs->metrics, "kueue_admission_wait_time_seconds", "histogram", "seconds",
                     "The time between a workload was created or requeued until admission, per 'cluster_queue'.");
  for (uint32_t tenant = 0; tenant < jobs->n_tenants; tenant++) {
    if (!has_jobs(jobs, tenant)) continue;
    clear(jobs);
    memset(jobs->counts, 0, (size_t)jobs->metrics->n_samples * (N_BOUNDS + 1) * sizeof *jobs->counts);
    for (uint32_t i = jobs->first_job[tenant]; i < jobs->first_job[tenant + 1]; i++) add_waits(jobs, jobs->job[i]);
    put_histogram(jobs, tenant);
  }
}

/* ---- GPUs by tenant and pool ----------------------------------------------------------------------- */

static bool add_usage(struct jobs *jobs, uint32_t tenant, uint32_t pool) {
  bool any = false;
  clear(jobs);
  for (uint32_t i = jobs->first_job[tenant]; i < jobs->first_job[tenant + 1]; i++) {
    uint32_t at = hr_history_last(jobs->metrics->run->history, (hr_job){jobs->job[i]});
    for (; at != HR_NONE; at = jobs->attempts[at].previous) {
      const struct hr_attempt *attempt = &jobs->attempts[at];
      if (attempt->pool.id != pool) continue;
      add(jobs, attempt->begin_us, attempt->gpu_milli);
      if (attempt->end != HR_ATTEMPT_RUNNING) add(jobs, attempt->end_us, -(int64_t)attempt->gpu_milli);
      any = true;
    }
  }
  return any;
}

static void put_usage(struct jobs *jobs) {
  const struct hr_cluster_spec *cluster = jobs->metrics->run->cluster;
  hr__metrics_family(jobs->metrics, "kueue_cluster_queue_resource_usage", "gauge", NULL,
                     "Reports the cluster_queue's total resource usage within all the flavors.");
  for (uint32_t tenant = 0; tenant < jobs->n_tenants; tenant++)
    for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
      if (!add_usage(jobs, tenant, pool)) continue;
      hr__metrics_no_labels(jobs->metrics);
      hr__metrics_label(jobs->metrics, "cohort", "");
      hr__metrics_label(jobs->metrics, "cluster_queue", tenant_name(jobs, tenant));
      hr__metrics_label(jobs->metrics, "flavor", cluster->pools[pool].name ? cluster->pools[pool].name : "pool");
      hr__metrics_label(jobs->metrics, "resource", "nvidia.com/gpu");
      put_series(jobs, WHOLE / 1000);
    }
}

/* ---- All metrics of jobs --------------------------------------------------------------------------- */

static uint64_t job_series(const struct hr_export *run) {
  uint64_t n_tenants = run->trace->tenants.count ? run->trace->tenants.count : 1;
  return n_tenants * (N_FAMILIES + N_BOUNDS + 3 + run->cluster->n_pools);
}

static enum hr_status put_all_jobs(struct hr__metrics *metrics) {
  struct jobs jobs = {.metrics = metrics};
  hr_history_attempts(metrics->run->history, &jobs.attempts);
  jobs.sum = calloc(metrics->n_samples, sizeof *jobs.sum);
  jobs.counts = calloc((size_t)metrics->n_samples * (N_BOUNDS + 1), sizeof *jobs.counts);
  enum hr_status status = jobs.sum && jobs.counts ? sort_by_tenant(&jobs) : HR_NO_MEMORY;
  if (status == HR_OK) status = note_rejections(&jobs);
  if (status == HR_OK) {
    put_families(&jobs);
    put_waits(&jobs);
    put_usage(&jobs);
  }
  free(jobs.first_job);
  free(jobs.job);
  free(jobs.reject_us);
  free(jobs.sum);
  free(jobs.counts);
  return status;
}

/* ---- Cluster: counts ------------------------------------------------------------------------------- */

enum count { QUEUE_PENDING, QUEUE_RUNNING, GPUS_ALLOC, GPUS_IDLE, GPUS_TOTAL, GPUS_UTILIZATION, N_COUNTS };

static int64_t count_millionths(const struct hr_count_change *change, enum count count) {
  const int64_t allocated_milli = (int64_t)change->allocated_milli, total_milli = (int64_t)change->total_milli;
  if (count == QUEUE_PENDING) return (int64_t)change->waiting * WHOLE;
  if (count == QUEUE_RUNNING) return (int64_t)change->running * WHOLE;
  if (count == GPUS_ALLOC) return allocated_milli * 1000;
  if (count == GPUS_IDLE) return (total_milli - allocated_milli) * 1000;
  if (count == GPUS_TOTAL) return total_milli * 1000;
  return total_milli ? (int64_t)((hr_amount)allocated_milli * WHOLE / total_milli) : 0;
}

static void put_count(struct hr__metrics *metrics, enum count count) {
  const struct hr_count_change *changes, now_none = {0}, *now = &now_none;
  size_t n_changes = hr_counts_changes(metrics->run->counts, &changes), next = 0;
  hr__metrics_no_labels(metrics);
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    while (next < n_changes && changes[next].at_us <= k * metrics->step_us) now = &changes[next++];
    hr__metrics_sample(metrics, k, count_millionths(now, count));
  }
}

static void put_counts(struct hr__metrics *metrics) {
  static const struct {
    const char *name, *help;
  } families_of[N_COUNTS] = {{"slurm_queue_pending", "Pending jobs in queue"},
                             {"slurm_queue_running", "Running jobs in the cluster"},
                             {"slurm_gpus_alloc", "Allocated GPUs"},
                             {"slurm_gpus_idle", "Idle GPUs"},
                             {"slurm_gpus_total", "Total GPUs"},
                             {"slurm_gpus_utilization", "Total GPU utilization"}};
  for (unsigned i = 0; i < N_COUNTS; i++) {
    hr__metrics_family(metrics, families_of[i].name, "gauge", NULL, families_of[i].help);
    put_count(metrics, (enum count)i);
  }
}

/* ---- Cluster: reclaims ----------------------------------------------------------------------------- */

static bool is_reclaim(const struct hr_node_change *change, uint32_t pool) {
  return change->pool.id == pool && change->kind == HR_EVENT_NODE_DOWN && change->reason == HR_REASON_RECLAIMED;
}

static void put_reclaims_of(struct hr__metrics *metrics, uint32_t pool) {
  const struct hr_node_change *changes;
  const char *name = metrics->run->cluster->pools[pool].name;
  size_t count = hr_history_changes(metrics->run->history, &changes), next = 0;
  int64_t reclaims = 0;
  hr__metrics_no_labels(metrics);
  hr__metrics_label(metrics, "pool", name ? name : "pool");
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    for (; next < count && changes[next].at_us <= k * metrics->step_us; next++)
      reclaims += is_reclaim(&changes[next], pool);
    hr__metrics_sample(metrics, k, reclaims * WHOLE);
  }
}

static void put_reclaims(struct hr__metrics *metrics) {
  const struct hr_cluster_spec *cluster = metrics->run->cluster;
  bool any = false;
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
    if (cluster->pools[pool].market.market != HR_MARKET_SPOT) continue;
    if (!any)
      hr__metrics_family(metrics, "headroom_node_reclaims", "counter", NULL,
                         "The total number of nodes that the spot market reclaimed, per 'pool'.");
    any = true;
    put_reclaims_of(metrics, pool);
  }
}

static void put_cluster(struct hr__metrics *metrics) {
  put_counts(metrics);
  put_reclaims(metrics);
}

/* ---- The whole run --------------------------------------------------------------------------------- */

/* Writes the metrics of the catalogue that are known, with one sample at the end of the run. */
static void put_summary(struct hr__metrics *metrics) {
  const struct hr_summary *summary = metrics->run->summary;
  hr__metrics_no_labels(metrics);
  for (unsigned i = 0; summary && i < HR__N_METRICS; i++) {
    char name[2 * HR__METRIC_BYTES];
    double value = hr__metric_of_run((enum hr__metric)i, summary).value;
    if (isnan(value)) continue;
    snprintf(name, sizeof name, "headroom_run_%s", hr__metric_rows[i].column);
    hr__metrics_family(metrics, name, "gauge", NULL, hr__metric_rows[i].help);
    hr__metrics_sample(metrics, metrics->n_samples - 1, llround(value * WHOLE));
  }
}

/* Writes the known metrics of each service, with one sample at the end of the run. */
static void put_services(struct hr__metrics *metrics) {
  const struct hr_summary *summary = metrics->run->summary;
  for (unsigned i = 0; summary && summary->n_services && i < HR__N_METRICS; i++) {
    char name[2 * HR__METRIC_BYTES];
    if (!(hr__metric_rows[i].flags & HR_METRIC_OF_REQUESTS)) continue;
    snprintf(name, sizeof name, "headroom_service_%s", hr__metric_rows[i].column);
    hr__metrics_family(metrics, name, "gauge", NULL, hr__metric_rows[i].help);
    for (size_t k = 0; k < summary->n_services; k++) {
      const double value = hr__metric_of_service((enum hr__metric)i, &summary->services[k]).value;
      hr__metrics_no_labels(metrics);
      hr__metrics_label(metrics, "service", summary->services[k].name);
      if (!isnan(value)) hr__metrics_sample(metrics, metrics->n_samples - 1, llround(value * WHOLE));
    }
  }
}

static uint64_t cluster_series(const struct hr_export *run) {
  return N_COUNTS + (uint64_t)run->cluster->n_pools;
}

/* Formats the timestamps of all samples: seconds since 1970 if the trace has dates, otherwise seconds on the clock of
   the trace. */
static void write_stamps(struct hr__metrics *metrics) {
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    char *stamp = metrics->stamps + (size_t)k * HR__NUMBER_BYTES;
    *hr__put_millionths(stamp, metrics->run->trace->origin_us + k * metrics->step_us) = '\0';
  }
}

/* Allocates the memory that is needed before the file is opened. Returns HR_NO_MEMORY if out of memory; call
   metrics_finish() even on failure. */
static enum hr_status metrics_init(struct hr__metrics *metrics, const struct hr_export *run,
                                   const struct hr_openmetrics_config *config, int64_t step_us) {
  int64_t end_us = hr_history_end_us(run->history);
  uint32_t n_samples = (uint32_t)((end_us + step_us - 1) / step_us + 1);
  metrics->run = run;
  metrics->config = config;
  metrics->step_us = step_us;
  metrics->end_us = end_us;
  metrics->n_samples = n_samples;
  metrics->stamps = calloc(n_samples, HR__NUMBER_BYTES);
  if (!metrics->stamps) return HR_NO_MEMORY;
  write_stamps(metrics);
  return HR_OK;
}

static void metrics_finish(struct hr__metrics *metrics) {
  free(metrics->stamps);
  metrics->stamps = NULL;
}

/* ---- File ------------------------------------------------------------------------------------------ */

enum { MAX_SAMPLES = 500000 };

/* Returns the step, which is the time between two samples. It is one of the listed numbers of minutes, or a multiple of
   a week. Of these, it is the shortest one with which all `n_series` series together have at most about MAX_SAMPLES
   samples. */
static int64_t round_step_us(int64_t end_us, uint64_t n_series) {
  static const uint16_t minutes[] = {5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440, 2880, 4320, 10080};
  const int64_t minute_us = 60 * HR_SECOND_US;
  int64_t max_samples = (int64_t)(MAX_SAMPLES / (n_series ? n_series : 1));
  if (max_samples < 1) max_samples = 1;
  for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++)
    if (end_us / (minutes[i] * minute_us) <= max_samples) return minutes[i] * minute_us;
  const int64_t week_us = 7 * 24 * 60 * minute_us;
  return (end_us / week_us / max_samples + 1) * week_us;
}

static enum hr_status check_step(const char *path, int64_t step_us, int64_t end_us, struct hr_error *error) {
  enum { MAX_STEPS = 100000000 };
  if (end_us / step_us < MAX_STEPS) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: a step of %.6g s gives more than %d samples per series; use a longer step",
                 path, (double)step_us / 1e6, MAX_STEPS);
}

static enum hr_status write_all(struct hr__metrics *metrics, const char *path, struct hr_error *error) {
  enum hr_status status = hr__out_open(&metrics->out, path, error);
  if (status != HR_OK) return status;
  status = hr__metrics_of_gpus(metrics);
  if (status == HR_OK) status = put_all_jobs(metrics);
  if (status != HR_OK) {
    hr__out_abandon(&metrics->out);
    return hr_fail(error, status, "%s: out of memory", path);
  }
  put_cluster(metrics);
  put_summary(metrics);
  put_services(metrics);
  hr__out_text(&metrics->out, "# EOF\n");
  return hr__out_commit(&metrics->out, error);
}

enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                    const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                    struct hr_error *error) {
  int64_t end_us = hr_history_end_us(run->history), step_us = config->step_us;
  uint64_t n_series = hr__metrics_gpu_series(run, config) + job_series(run) + cluster_series(run);
  if (step_us == 0) step_us = round_step_us(end_us, n_series);
  enum hr_status status = check_step(path, step_us, end_us, error);
  if (status != HR_OK) return status;
  struct hr__metrics metrics = {0};
  status = hr_counts_complete(run->counts) ? metrics_init(&metrics, run, config, step_us) : HR_NO_MEMORY;
  if (status == HR_OK)
    status = write_all(&metrics, path, error);
  else
    hr_fail(error, status, "%s: out of memory", path);
  if (size) *size = (struct hr_openmetrics_size){step_us, metrics.n_samples, metrics.n_written};
  metrics_finish(&metrics);
  return status;
}
