/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "report/exports/openmetrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace whose times are dates began at so many seconds after 1970, as Prometheus counts; any other keeps its clock.
 */
static void write_stamps(struct hr__metrics *metrics) {
  for (uint32_t k = 0; k < metrics->n_samples; k++) {
    char *stamp = metrics->stamps + (size_t)k * HR__NUMBER_BYTES;
    *hr__put_millionths(stamp, metrics->run->trace->origin_us + k * metrics->step_us) = '\0';
  }
}

/* What is needed before the file is opened. HR_NO_MEMORY on failure; may be finished then, too. */
static enum hr_status hr__metrics_init(struct hr__metrics *metrics, const struct hr_export *run,
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

static void hr__metrics_finish(struct hr__metrics *metrics) {
  free(metrics->stamps);
  metrics->stamps = NULL;
}

static void put_line(struct hr__metrics *metrics, const char *keyword, const char *text) {
  hr__out_text(&metrics->out, keyword);
  hr__out_text(&metrics->out, metrics->family);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, text);
  hr__out_byte(&metrics->out, '\n');
}

void hr__metrics_family(struct hr__metrics *metrics, const char *name, const char *type, const char *unit,
                        const char *help) {
  metrics->family = name;
  metrics->suffix = strcmp(type, "counter") == 0 ? "_total" : "";
  put_line(metrics, "# TYPE ", type);
  if (unit) put_line(metrics, "# UNIT ", unit);
  put_line(metrics, "# HELP ", help);
}

/* ---- Labels ----------------------------------------------------------------------------------------- */

void hr__metrics_no_labels(struct hr__metrics *metrics) {
  metrics->labels_used = 0;
}

static void put_label_byte(struct hr__metrics *metrics, char byte) {
  if (metrics->labels_used < HR__METRICS_LABEL_BYTES) metrics->labels[metrics->labels_used++] = byte;
}

static void put_label_text(struct hr__metrics *metrics, const char *text) {
  for (; *text; text++) put_label_byte(metrics, *text);
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

/* A label is to end with its quote: what is left for values is what the names of labels leave. */
static void put_label_value(struct hr__metrics *metrics, const char *value) {
  enum { MOST = 400 };
  char *copy = is_ascii(value) ? NULL : hr__utf8_copy(value);
  const char *text = copy ? copy : is_ascii(value) ? value : "";
  if (text != value && !copy) metrics->out.out_of_memory = true;
  size_t length = strlen(text);
  if (length > MOST)
    for (length = MOST; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '\n') put_label_byte(metrics, '\\');
    put_label_byte(metrics, (char)(text[i] == '\n' ? 'n' : text[i]));
  }
  free(copy);
}

/* Its names are few, so that all labels have room. */
void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value) {
  put_label_byte(metrics, metrics->labels_used ? ',' : '{');
  put_label_text(metrics, name);
  put_label_text(metrics, "=\"");
  put_label_value(metrics, value);
  put_label_byte(metrics, '"');
}

void hr__metrics_number_label(struct hr__metrics *metrics, const char *name, const char *prefix, uint32_t number) {
  char text[80];
  snprintf(text, sizeof text, "%.40s%u", prefix, (unsigned)number);
  hr__metrics_label(metrics, name, text);
}

/* ---- Samples ---------------------------------------------------------------------------------------- */

void hr__metrics_sample(struct hr__metrics *metrics, uint32_t k, int64_t millionths) {
  hr__out_text(&metrics->out, metrics->family);
  hr__out_text(&metrics->out, metrics->suffix);
  hr__out_bytes(&metrics->out, metrics->labels, metrics->labels_used);
  hr__out_text(&metrics->out, metrics->labels_used ? "} " : " ");
  hr__out_millionths(&metrics->out, millionths);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, metrics->stamps + (size_t)k * HR__NUMBER_BYTES);
  hr__out_byte(&metrics->out, '\n');
  metrics->n_written++;
}

/* The text format of OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec/), as `promtool tsdb
   create-blocks-from openmetrics` takes it: every sample with its time, those of a family together. */

enum { MOST_SAMPLES = 500000 };

/* Steps that a person would choose, in minutes, and then weeks. */
static int64_t chosen_step_us(int64_t end_us, uint64_t n_series) {
  static const uint16_t minutes[] = {5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440, 2880, 4320, 10080};
  const int64_t minute_us = 60 * HR_SECOND_US;
  int64_t most = (int64_t)(MOST_SAMPLES / (n_series ? n_series : 1));
  if (most < 1) most = 1;
  for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++)
    if (end_us / (minutes[i] * minute_us) <= most) return minutes[i] * minute_us;
  const int64_t week_us = 7 * 24 * 60 * minute_us;
  return (end_us / week_us / most + 1) * week_us;
}

static enum hr_status check_step(const char *path, int64_t step_us, int64_t end_us, struct hr_error *error) {
  enum { MOST_STEPS = 100000000 };
  if (end_us / step_us < MOST_STEPS) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: a sample every %.6g s would be more than %d of each series; a longer step is wanted", path,
                 (double)step_us / 1e6, MOST_STEPS);
}

static void hr__metrics_of_cluster(struct hr__metrics *metrics);

static enum hr_status write_all(struct hr__metrics *metrics, const char *path, struct hr_error *error) {
  enum hr_status status = hr__out_open(&metrics->out, path, error);
  if (status != HR_OK) return status;
  status = hr__metrics_of_gpus(metrics);
  if (status == HR_OK) status = hr__metrics_of_jobs(metrics);
  if (status != HR_OK) {
    hr__out_abandon(&metrics->out);
    return hr_fail(error, status, "%s: out of memory", path);
  }
  hr__metrics_of_cluster(metrics);
  hr__out_text(&metrics->out, "# EOF\n");
  return hr__out_commit(&metrics->out, error);
}

static uint64_t hr__metrics_cluster_series(const struct hr_export *run);

enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                    const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                    struct hr_error *error) {
  int64_t end_us = hr_history_end_us(run->history), step_us = config->step_us;
  uint64_t n_series =
      hr__metrics_gpu_series(run, config) + hr__metrics_job_series(run) + hr__metrics_cluster_series(run);
  if (step_us == 0) step_us = chosen_step_us(end_us, n_series);
  enum hr_status status = check_step(path, step_us, end_us, error);
  if (status != HR_OK) return status;
  struct hr__metrics metrics = {0};
  status = hr_counts_complete(run->counts) ? hr__metrics_init(&metrics, run, config, step_us) : HR_NO_MEMORY;
  if (status == HR_OK)
    status = write_all(&metrics, path, error);
  else
    hr_fail(error, status, "%s: out of memory", path);
  if (size) *size = (struct hr_openmetrics_size){step_us, metrics.n_samples, metrics.n_written};
  hr__metrics_finish(&metrics);
  return status;
}

/* The cluster as a whole, under the names of the exporter for Slurm that most use (slurm_gpus_..., slurm_queue_...),
   and what the spot market took back. */

enum { WHOLE = 1000000 };

/* ---- Counts ----------------------------------------------------------------------------------------- */

enum count { QUEUE_PENDING, QUEUE_RUNNING, GPUS_ALLOC, GPUS_IDLE, GPUS_TOTAL, GPUS_UTILIZATION, N_COUNTS };

static int64_t count_millionths(const struct hr_count_change *change, enum count count) {
  switch (count) {
  case QUEUE_PENDING:
    return (int64_t)change->waiting * WHOLE;
  case QUEUE_RUNNING:
    return (int64_t)change->running * WHOLE;
  case GPUS_ALLOC:
    return (int64_t)change->allocated_milli * 1000;
  case GPUS_IDLE:
    return ((int64_t)change->total_milli - (int64_t)change->allocated_milli) * 1000;
  case GPUS_TOTAL:
    return (int64_t)change->total_milli * 1000;
  default:
    return change->total_milli ? (int64_t)((hr_amount)change->allocated_milli * WHOLE / change->total_milli) : 0;
  }
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

/* ---- Reclaims --------------------------------------------------------------------------------------- */

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
                         "The total number of nodes that the spot market took back, per 'pool'.");
    any = true;
    put_reclaims_of(metrics, pool);
  }
}

static void hr__metrics_of_cluster(struct hr__metrics *metrics) {
  put_counts(metrics);
  put_reclaims(metrics);
}

static uint64_t hr__metrics_cluster_series(const struct hr_export *run) {
  return N_COUNTS + (uint64_t)run->cluster->n_pools;
}
