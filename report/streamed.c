/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fold that sees each job once when it starts and once when it ends, and forgets it: waits and completion times go
 * into sketches, the state between passes into integrals. These are kept as they stood at the last end, up to which
 * utilization is asked for.
 */

#include "headroom/streamed.h"

#include "report/json_tree.h"
#include "report/sketch.h"

#include <inttypes.h>
#include <stdlib.h>

/* Over time, up to `until_us`. */
struct integrals {
  int64_t until_us;
  hr__wide waiting, allocated_milli, total_milli;
};

struct hr_streamed {
  const struct hr_trace *trace;
  struct hr__sketch wait, jct;
  uint64_t waiting, allocated_milli, total_milli, queue_max;
  struct integrals now, at_last_end;
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
  struct integrals *now = &streamed->now;
  uint64_t passed_us = (uint64_t)(now_us - now->until_us);
  now->waiting += (hr__wide)streamed->waiting * passed_us;
  now->allocated_milli += (hr__wide)streamed->allocated_milli * passed_us;
  now->total_milli += (hr__wide)streamed->total_milli * passed_us;
  now->until_us = now_us;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_streamed *streamed = self;
  (void)view;
  advance(streamed, event->at_us);
  if (event->kind == HR_EVENT_START)
    hr__sketch_add(&streamed->wait, event->at_us - streamed->trace->submit_us[event->job.id]);
  if (event->kind != HR_EVENT_END) return;
  hr__sketch_add(&streamed->jct, event->at_us - streamed->trace->submit_us[event->job.id]);
  streamed->at_last_end = streamed->now;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_streamed *streamed = self;
  advance(streamed, view->now_us);
  streamed->waiting = view->n_waiting;
  streamed->allocated_milli = view->allocated_milli;
  streamed->total_milli = view->total_milli;
  if (streamed->waiting > streamed->queue_max) streamed->queue_max = streamed->waiting;
}

struct hr_fold hr_streamed_fold(struct hr_streamed *streamed) {
  return (struct hr_fold){.self = streamed, .on_event = on_event, .on_instant = on_instant};
}

struct hr_streamed_figures hr_streamed_close(const struct hr_streamed *streamed, const struct hr_result *result) {
  bool finished = result->n_completed + result->n_rejected == streamed->trace->n_jobs;
  const struct integrals *span = finished ? &streamed->at_last_end : &streamed->now;
  struct hr_streamed_figures figures = {.jobs_submitted = result->n_submitted,
                                        .jobs_completed = result->n_completed,
                                        .jobs_rejected = result->n_rejected,
                                        .jobs_unfinished = result->n_waiting + result->n_running,
                                        .jobs_backfilled = result->n_backfilled,
                                        .wait_s = hr__sketch_distribution(&streamed->wait),
                                        .jct_s = hr__sketch_distribution(&streamed->jct),
                                        .makespan_s = (double)span->until_us / (double)HR_SECOND_US,
                                        .queue_max = streamed->queue_max,
                                        .n_events = result->n_events,
                                        .n_passes = result->n_passes,
                                        .digest = result->digest};
  if (span->until_us) figures.queue_mean = (double)span->waiting / (double)span->until_us;
  if (span->total_milli) figures.utilization_makespan = (double)span->allocated_milli / (double)span->total_milli;
  return figures;
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

static void print_distribution(FILE *out, const char *name, const struct hr_distribution *of) {
  fprintf(out, "  %-10s mean %.6g s, median %.6g s, 90 %% %.6g s, 95 %% %.6g s, 99 %% %.6g s, max %.6g s\n", name,
          of->mean, of->p50, of->p90, of->p95, of->p99, of->max);
}

enum hr_status hr_streamed_print(FILE *out, const struct hr_streamed_figures *figures, const struct hr_run_label *label,
                                 const struct hr_perf *perf) {
  fprintf(out, "%s, streamed\n  trace      %s (%s)\n", label->scenario, label->trace, label->format);
  fprintf(out,
          "  jobs       %" PRIu64 " submitted, %" PRIu64 " completed, %" PRIu64 " rejected, %" PRIu64 " unfinished\n",
          figures->jobs_submitted, figures->jobs_completed, figures->jobs_rejected, figures->jobs_unfinished);
  print_distribution(out, "wait", &figures->wait_s);
  print_distribution(out, "jct", &figures->jct_s);
  fprintf(out, "  makespan   %.6g s; utilization %.4f; queue: mean %.6g, max %" PRIu64 "\n", figures->makespan_s,
          figures->utilization_makespan, figures->queue_mean, figures->queue_max);
  fprintf(out, "  digest     %016" PRIx64 "\n", figures->digest);
  fprintf(out, "  speed      %.3g s; trace read in %.2f s; %.0f MiB at most\n", perf->sim_s, perf->load_s,
          perf->peak_rss_mib);
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

static void put_distribution(struct hr__json *json, cJSON *root, const char *key, const struct hr_distribution *of) {
  const struct {
    const char *key;
    double value;
  } figures[] = {{"mean", of->mean}, {"p50", of->p50}, {"p90", of->p90},
                 {"p95", of->p95},   {"p99", of->p99}, {"max", of->max}};
  cJSON *inner = hr__json_object(json, root, key);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    hr__json_number_if(json, inner, figures[i].key, of->count > 0, figures[i].value);
}

static void put_label(struct hr__json *json, cJSON *root, const struct hr_run_label *label) {
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", label->scenario);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", label->trace);
  hr__json_text(json, trace, "format", label->format);
  cJSON *policy = hr__json_object(json, root, "policy");
  hr__json_text(json, policy, "name", label->policy->ops->name);
  hr__json_params(json, policy, label->policy);
  hr__json_seed(json, root, "seed", label->seed);
}

static void put_figures(struct hr__json *json, cJSON *root, const struct hr_streamed_figures *figures) {
  cJSON *jobs = hr__json_object(json, root, "jobs");
  hr__json_count(json, jobs, "submitted", figures->jobs_submitted);
  hr__json_count(json, jobs, "completed", figures->jobs_completed);
  hr__json_count(json, jobs, "rejected", figures->jobs_rejected);
  hr__json_count(json, jobs, "unfinished", figures->jobs_unfinished);
  hr__json_count(json, jobs, "backfilled", figures->jobs_backfilled);
  put_distribution(json, root, "wait_s", &figures->wait_s);
  put_distribution(json, root, "jct_s", &figures->jct_s);
  hr__json_number(json, root, "quantile_error", 1.0 / 256);
  hr__json_number(json, root, "makespan_s", figures->makespan_s);
  cJSON *utilization = hr__json_object(json, root, "utilization");
  hr__json_number_if(json, utilization, "makespan", figures->makespan_s > 0, figures->utilization_makespan);
  cJSON *queue = hr__json_object(json, root, "queue");
  hr__json_number_if(json, queue, "mean", figures->makespan_s > 0, figures->queue_mean);
  hr__json_count(json, queue, "max", figures->queue_max);
  hr__json_count(json, root, "events", figures->n_events);
  hr__json_count(json, root, "passes", figures->n_passes);
  char digest[24];
  snprintf(digest, sizeof digest, "%016" PRIx64, figures->digest);
  hr__json_text(json, root, "digest", digest);
}

enum hr_status hr_streamed_write_json(const char *path, const struct hr_streamed_figures *figures,
                                      const struct hr_run_label *label, const struct hr_perf *perf,
                                      struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_label(&json, root, label);
  put_figures(&json, root, figures);
  cJSON *inner = hr__json_object(&json, root, "perf");
  hr__json_number(&json, inner, "load_s", perf->load_s);
  hr__json_number(&json, inner, "sim_s", perf->sim_s);
  hr__json_number(&json, inner, "peak_rss_mib", perf->peak_rss_mib);
  return hr__json_write(&json, root, path, error);
}
