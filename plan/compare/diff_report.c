/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints a diff for a terminal, 80 columns wide, and writes it as JSON (docs/reference/schemas/diff.schema.json). The
 * order is that of a reader who looks for the effect of a change: keys that differ, waits by queue, metrics, the first
 * decision that differs.
 */

#include "base/text.h"
#include "plan/compare/compare.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 21, STATISTIC_WIDTH = 8, CELL_WIDTH = 14, SHARE_WIDTH = 9 };
enum { MAX_KEYS = 30, KEY_WIDTH = 46, MAX_QUEUES = 24 };

static const char *const side_names[HR__DIFF_SIDES] = {"A", "B"};

/* The metrics of the table. JSON has all metrics. */
static const enum hr__metric listed[] = {
    HR__M_WAIT_MEAN, HR__M_WAIT_P95,      HR__M_WAIT_MAX,   HR__M_JCT_MEAN,
    HR__M_JCT_P95,   HR__M_SLOWDOWN_MEAN, HR__M_MAKESPAN,   HR__M_UTILIZATION_SUBMIT_WINDOW,
    HR__M_COMPLETED, HR__M_REJECTED,      HR__M_UNFINISHED, HR__M_PREEMPTIONS,
    HR__M_RESTARTS,  HR__M_LOST,          HR__M_JAIN,       HR__M_COST,
    HR__M_MONTHLY};
enum { N_LISTED = sizeof listed / sizeof *listed };

/* Writes the relative change, or "" if it is unknown or below 0.05 %. `buffer` has HR__METRIC_BYTES bytes. */
static const char *share_text(double a, double b, char *buffer) {
  char number[HR__NUMBER_BYTES];
  double share = 100 * (b - a) / fabs(a);
  buffer[0] = '\0';
  if (isnan(a) || isnan(b) || a == 0 || fabs(share) < 0.05) return buffer;
  if (fabs(share) >= 9999.5) return strcpy(buffer, share > 0 ? "> x100" : "");
  snprintf(buffer, HR__METRIC_BYTES, "%s%.20s %%", share < 0 ? "-" : "+",
           hr__fixed_text(fabs(share), fabs(share) < 99.95 ? 1 : 0, number));
  return buffer;
}

/* Prints both values and their difference, and ends the line. */
static void put_values(struct hr__console *console, enum hr_unit unit, double a, double b) {
  char text[HR__METRIC_BYTES];
  hr__put_right(console->out, hr__metric_text(unit, a, text), CELL_WIDTH);
  hr__put_right(console->out, hr__metric_text(unit, b, text), CELL_WIDTH);
  hr__put_right(console->out, hr__difference_text(unit, b - a, text), CELL_WIDTH);
  share_text(a, b, text);
  if (text[0]) hr__put_right(console->out, text, SHARE_WIDTH);
  fputc('\n', console->out);
}

static void put_heading(struct hr__console *console, const char *first, const char *second) {
  fprintf(console->out, "\n%s", hr__bold(console));
  hr__put_left(console->out, first, NAME_WIDTH);
  hr__put_left(console->out, second, STATISTIC_WIDTH);
  hr__put_right(console->out, "A", CELL_WIDTH);
  hr__put_right(console->out, "B", CELL_WIDTH);
  hr__put_right(console->out, "change", CELL_WIDTH);
  fprintf(console->out, "%s\n", hr__plain(console));
}

/* ---- Head ------------------------------------------------------------------------------------------- */

static void put_head(struct hr__console *console, const struct hr_diff *diff) {
  const struct hr_diff_config *config = &diff->config;
  fprintf(console->out, "%sHeadroom %s: diff%s\n\n", hr__bold(console), hr_version(), hr__plain(console));
  hr__put_field(console, "trace", "%s (%s)", config->sides[0].trace->source, config->sides[0].trace->format);
  hr__put_field(console, "seed", "%" PRIu64, config->seed);
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    const struct hr_diff_side *own = &config->sides[side];
    char *words = hr__policy_words(&own->scenario->policy);
    if (words) hr__put_field(console, side_names[side], "%s: %s", own->label, words);
    console->out_of_memory = console->out_of_memory || !words;
    free(words);
  }
}

/* ---- Keys ------------------------------------------------------------------------------------------- */

static const char *key_text(const cJSON *value, char *buffer) {
  return value ? hr__key_value_text(value, buffer) : "(not set)";
}

/* Returns a path that fits into a line. Of a long one, the middle is left out: its beginning has the name of the
   object, its end the key. The caller frees it; NULL when out of memory. */
static char *fitted_path(struct hr__console *console, const char *path) {
  enum { WIDTH = HR__LINE_WIDTH - 2, HEAD = 42 };
  if (hr__width_of(path, strlen(path)) <= WIDTH) return hr__presentable(console, path);
  return hr__cut_middle(console, path, HEAD, WIDTH - HEAD);
}

static void put_key(struct hr__console *console, const struct hr__diff_key *key) {
  char values[HR__DIFF_SIDES][HR__KEY_VALUE_BYTES], change[2 * HR__KEY_VALUE_BYTES + 8];
  snprintf(change, sizeof change, "%s -> %s", key_text(key->values[0], values[0]), key_text(key->values[1], values[1]));
  char *shown = fitted_path(console, key->shown);
  size_t width = shown ? hr__width_of(shown, strlen(shown)) : 0;
  bool fits = width < KEY_WIDTH && hr__width_of(change, strlen(change)) <= HR__LINE_WIDTH - 2 - KEY_WIDTH;
  char *text = hr__fitted(console, change, HR__LINE_WIDTH - 6, false);
  if (shown && text) {
    fputs("  ", console->out);
    hr__put_left(console->out, shown, fits ? KEY_WIDTH : 0);
    fprintf(console->out, "%s%s\n", fits ? "" : "\n      ", text);
  }
  free(text);
  free(shown);
}

static void put_keys(struct hr__console *console, const struct hr_diff *diff) {
  if (diff->n_keys == 0) {
    fputs("\nThe scenarios have the same keys and values.\n", console->out);
    return;
  }
  fprintf(console->out, "\n%skeys that differ: A -> B%s\n", hr__bold(console), hr__plain(console));
  for (size_t i = 0; i < diff->n_keys && i < MAX_KEYS; i++) put_key(console, &diff->keys[i]);
  if (diff->n_keys > MAX_KEYS) fprintf(console->out, "  and %zu more (see --json)\n", diff->n_keys - MAX_KEYS);
}

/* ---- Waits by queue --------------------------------------------------------------------------------- */

/* Prints a line of a queue: a statistic of both sides. The first column of the first line has the name. */
static void put_statistic(struct hr__console *console, const char *name, const char *statistic, enum hr_unit unit,
                          double a, double b) {
  hr__put_fitted(console, name, NAME_WIDTH);
  hr__put_left(console->out, statistic, STATISTIC_WIDTH);
  put_values(console, unit, a, b);
}

/* Returns the value, or NaN if no job of the queue started. */
static double known(const struct hr_distribution *wait_s, double value) {
  return wait_s->count ? value : HR__UNKNOWN;
}

static void put_queue(struct hr__console *console, const struct hr__diff_queue *queue) {
  const struct hr_distribution *a = &queue->wait_s[0], *b = &queue->wait_s[1];
  char jobs[HR__NUMBER_BYTES], count[HR__NUMBER_BYTES + 8];
  uint64_t n_jobs = queue->jobs[0] > queue->jobs[1] ? queue->jobs[0] : queue->jobs[1];
  snprintf(count, sizeof count, "  %s %s", hr__count_text(n_jobs, jobs), n_jobs == 1 ? "job" : "jobs");
  put_statistic(console, queue->name[0] ? queue->name : "(none)", "mean", HR_UNIT_SECONDS, known(a, a->mean),
                known(b, b->mean));
  put_statistic(console, count, "p50", HR_UNIT_SECONDS, known(a, a->p50), known(b, b->p50));
  put_statistic(console, "", "p95", HR_UNIT_SECONDS, known(a, a->p95), known(b, b->p95));
  if (a->count != b->count || a->count != n_jobs)
    put_statistic(console, "", "started", HR_UNIT_COUNT, (double)a->count, (double)b->count);
}

static void put_queues(struct hr__console *console, const struct hr_diff *diff) {
  put_heading(console, diff->by_queue ? "wait by queue" : "wait by tenant", "");
  for (size_t i = 0; i < diff->n_queues && i < MAX_QUEUES; i++) put_queue(console, &diff->queues[i]);
  if (diff->n_queues > MAX_QUEUES) fprintf(console->out, "and %zu more (see --json)\n", diff->n_queues - MAX_QUEUES);
}

/* ---- Metrics ---------------------------------------------------------------------------------------- */

static void put_metrics(struct hr__console *console, const struct hr_diff *diff) {
  put_heading(console, "all jobs", "");
  for (size_t i = 0; i < N_LISTED; i++) {
    double a = hr__metric_of_run(listed[i], diff->runs[0].run.summary).value;
    double b = hr__metric_of_run(listed[i], diff->runs[1].run.summary).value;
    if ((isnan(a) && isnan(b)) || (a == 0 && b == 0)) continue;
    hr__put_fitted(console, hr__metric_rows[listed[i]].title, NAME_WIDTH + STATISTIC_WIDTH);
    put_values(console, hr__metric_rows[listed[i]].unit, a, b);
  }
}

/* ---- The first decision that differs ---------------------------------------------------------------- */

static const char *time_text(const struct hr_trace *trace, int64_t at_us, char *buffer) {
  return hr__duration_text(hr__seconds(at_us + hr_trace_clock_us(trace)), buffer);
}

/* The name of the queue of a job; NULL: it has none. */
static const char *queue_name(const struct hr_trace *trace, uint32_t job) {
  const uint32_t *column = hr__diff_queue_column(trace);
  return column && column[job] != HR_NONE ? hr__diff_queue_names(trace)->text[column[job]] : NULL;
}

/* Writes "job 12 of team-a (8 GPUs, submitted at 1 h 2 min)". */
static void put_job(FILE *out, const struct hr_diff *diff, uint32_t job) {
  const struct hr_trace *trace = diff->config.sides[0].trace;
  char id[HR_JOB_ID_BUFFER], gpus[HR__NUMBER_BYTES], submit[HR__NUMBER_BYTES];
  const char *queue = queue_name(trace, job);
  fprintf(out, "job %s%s%s (%s GPU%s, submitted at %s)", hr_trace_job_id(trace, (hr_job){job}, id), queue ? " of " : "",
          queue ? queue : "", hr__count_text(trace->gpus[job], gpus), hr__plural(trace->gpus[job]),
          time_text(trace, trace->submit_us[job], submit));
}

static void put_decision(FILE *out, const struct hr_diff *diff, const struct hr__diff_event *event) {
  enum hr_reason reason = (enum hr_reason)event->reason;
  fputs(event->kind == HR_EVENT_START ? "starts " : event->kind == HR_EVENT_REJECT ? "rejects " : "stops ", out);
  put_job(out, diff, event->job);
  if (event->kind == HR_EVENT_REJECT)
    fprintf(out, ": %s", hr_rejection_words(reason));
  else if (event->kind == HR_EVENT_START && reason == HR_REASON_BACKFILL)
    fputs(" by backfill", out);
  else if (event->kind != HR_EVENT_START && reason != HR_REASON_NONE)
    fprintf(out, " (%s)", hr_reason_name(reason));
}

/* Writes what this side does with the first job that the other side starts. */
static void put_answer(FILE *out, const struct hr_diff *diff, const struct hr__diff_decisions *other) {
  const struct hr_trace *trace = diff->config.sides[0].trace;
  const struct hr__diff_event *start = hr__diff_first_start(other);
  char id[HR_JOB_ID_BUFFER], at[HR__NUMBER_BYTES], later[HR__NUMBER_BYTES];
  if (!start) return;
  fprintf(out, " Job %s %s", hr_trace_job_id(trace, (hr_job){start->job}, id), "");
  if (other->other_rejects)
    fputs("is rejected.", out);
  else if (other->other_start_us == HR_NEVER_US)
    fputs("does not start any more.", out);
  else
    fprintf(out, "starts %s later, at %s.",
            hr__duration_text(hr__seconds(other->other_start_us - diff->first.at_us), later),
            time_text(trace, other->other_start_us, at));
  if (other->wait) fprintf(out, " %s", other->wait);
}

static void put_side(struct hr__console *console, const struct hr_diff *diff, unsigned side) {
  const struct hr__diff_decisions *own = &diff->first.sides[side], *other = &diff->first.sides[1 - side];
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) {
    console->out_of_memory = true;
    return;
  }
  for (uint64_t i = 0; i < own->count && i < HR__DIFF_SHOWN_DECISIONS; i++) {
    if (i) fputs("; ", out);
    put_decision(out, diff, &own->shown[i]);
  }
  if (own->count > HR__DIFF_SHOWN_DECISIONS)
    fprintf(out, "; and %" PRIu64 " more", own->count - HR__DIFF_SHOWN_DECISIONS);
  fputs(own->count ? "." : "does not do this.", out);
  put_answer(out, diff, other);
  bool complete = fclose(out) == 0;
  if (complete) hr__put_field(console, side_names[side], "%s", text);
  console->out_of_memory = console->out_of_memory || !complete;
  free(text);
}

static void put_first(struct hr__console *console, const struct hr_diff *diff) {
  const struct hr__diff_first *first = &diff->first;
  const struct hr_trace *trace = diff->config.sides[0].trace;
  char at[HR__NUMBER_BYTES], id[HR_JOB_ID_BUFFER];
  fputc('\n', console->out);
  if (!first->found) {
    fputs("All decisions are the same: the same starts and stops, at the same times, on the\nsame nodes.\n",
          console->out);
  } else if (first->only_nodes) {
    char *job = hr__presentable(console, hr_trace_job_id(trace, (hr_job){first->sides[0].shown[0].job}, id));
    fprintf(console->out, "All jobs start and stop at the same times. The first job on other nodes is %s,\nat %s.\n",
            job ? job : "", time_text(trace, first->at_us, at));
    free(job);
  } else {
    fprintf(console->out, "%sfirst decision that differs: at %s%s\n", hr__bold(console),
            time_text(trace, first->at_us, at), hr__plain(console));
    for (unsigned side = 0; side < HR__DIFF_SIDES; side++) put_side(console, diff, side);
  }
}

enum hr_status hr_diff_print(FILE *out, const struct hr_diff *diff, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  put_head(&console, diff);
  put_keys(&console, diff);
  put_queues(&console, diff);
  put_metrics(&console, diff);
  put_first(&console, diff);
  return hr__console_status(&console);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static const char *const side_keys[HR__DIFF_SIDES] = {"a", "b"};

static void json_put_keys(struct hr__json *json, cJSON *root, const struct hr_diff *diff) {
  cJSON *list = hr__json_array(json, root, "keys");
  for (size_t i = 0; i < diff->n_keys; i++) {
    cJSON *entry = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, entry, "path", diff->keys[i].path);
    hr__json_text(json, entry, "name", diff->keys[i].shown);
    for (unsigned side = 0; side < HR__DIFF_SIDES; side++)
      if (diff->keys[i].values[side])
        hr__json_add(json, entry, side_keys[side], cJSON_Duplicate(diff->keys[i].values[side], true));
  }
}

static void json_put_statistics(struct hr__json *json, cJSON *object, const struct hr_distribution *wait_s) {
  hr__json_finite(json, object, "mean", known(wait_s, wait_s->mean));
  hr__json_finite(json, object, "p50", known(wait_s, wait_s->p50));
  hr__json_finite(json, object, "p95", known(wait_s, wait_s->p95));
}

static void json_put_change(struct hr__json *json, cJSON *object, const struct hr_distribution *a,
                            const struct hr_distribution *b) {
  hr__json_finite(json, object, "mean", known(a, known(b, b->mean - a->mean)));
  hr__json_finite(json, object, "p50", known(a, known(b, b->p50 - a->p50)));
  hr__json_finite(json, object, "p95", known(a, known(b, b->p95 - a->p95)));
}

static void json_put_queues(struct hr__json *json, cJSON *root, const struct hr_diff *diff) {
  hr__json_text(json, root, "queues_are", diff->by_queue ? "queue" : "tenant");
  cJSON *list = hr__json_array(json, root, "queues");
  for (size_t i = 0; i < diff->n_queues; i++) {
    const struct hr__diff_queue *queue = &diff->queues[i];
    cJSON *entry = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, entry, "name", queue->name);
    for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
      cJSON *object = hr__json_object(json, entry, side_keys[side]);
      hr__json_count(json, object, "jobs", queue->jobs[side]);
      hr__json_count(json, object, "started", queue->wait_s[side].count);
      json_put_statistics(json, hr__json_object(json, object, "wait_s"), &queue->wait_s[side]);
    }
    json_put_change(json, hr__json_object(json, entry, "wait_s_change"), &queue->wait_s[0], &queue->wait_s[1]);
  }
}

static void json_put_metrics(struct hr__json *json, cJSON *root, const struct hr_diff *diff) {
  cJSON *object = hr__json_object(json, root, "metrics");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    double a = hr__metric_of_run((enum hr__metric)i, diff->runs[0].run.summary).value;
    double b = hr__metric_of_run((enum hr__metric)i, diff->runs[1].run.summary).value;
    cJSON *entry = hr__json_object(json, object, hr__metric_rows[i].column);
    hr__json_finite(json, entry, "a", a);
    hr__json_finite(json, entry, "b", b);
    hr__json_finite(json, entry, "change", b - a);
  }
}

static double clock_s(const struct hr_diff *diff, int64_t at_us) {
  return hr__seconds(at_us + hr_trace_clock_us(diff->config.sides[0].trace));
}

static void json_put_decisions(struct hr__json *json, cJSON *object, const struct hr_diff *diff,
                               const struct hr__diff_decisions *own) {
  const struct hr_trace *trace = diff->config.sides[0].trace;
  cJSON *list = hr__json_array(json, object, "decisions");
  for (uint64_t i = 0; i < own->count && i < HR__DIFF_SHOWN_DECISIONS; i++) {
    const struct hr__diff_event *event = &own->shown[i];
    char id[HR_JOB_ID_BUFFER];
    cJSON *entry = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, entry, "event", hr_event_name((enum hr_event_kind)event->kind));
    hr__json_text(json, entry, "job", hr_trace_job_id(trace, (hr_job){event->job}, id));
    hr__json_text(json, entry, "queue", queue_name(trace, event->job));
    hr__json_count(json, entry, "gpus", trace->gpus[event->job]);
    hr__json_text(json, entry, "reason", hr_reason_name((enum hr_reason)event->reason));
  }
  hr__json_count(json, object, "count", own->count);
}

/* Writes what this side does with the first job that the other side starts. */
static void json_put_answer(struct hr__json *json, cJSON *object, const struct hr_diff *diff,
                            const struct hr__diff_decisions *other) {
  const struct hr__diff_event *start = hr__diff_first_start(other);
  char id[HR_JOB_ID_BUFFER];
  if (!start || diff->first.only_nodes) return;
  cJSON *entry = hr__json_object(json, object, "instead");
  hr__json_text(json, entry, "job", hr_trace_job_id(diff->config.sides[0].trace, (hr_job){start->job}, id));
  bool starts = !other->other_rejects && other->other_start_us != HR_NEVER_US;
  hr__json_number_if(json, entry, "start_s", starts, starts ? clock_s(diff, other->other_start_us) : 0);
  hr__json_bool(json, entry, "rejected", other->other_rejects);
  hr__json_text(json, entry, "why", other->wait);
}

static void json_put_first(struct hr__json *json, cJSON *root, const struct hr_diff *diff) {
  cJSON *object = hr__json_object_if(json, root, "first_difference", diff->first.found);
  if (!object) return;
  hr__json_number(json, object, "at_s", clock_s(diff, diff->first.at_us));
  hr__json_bool(json, object, "only_nodes", diff->first.only_nodes);
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    cJSON *own = hr__json_object(json, object, side_keys[side]);
    json_put_decisions(json, own, diff, &diff->first.sides[side]);
    json_put_answer(json, own, diff, &diff->first.sides[1 - side]);
  }
}

static void json_put_side(struct hr__json *json, cJSON *root, const struct hr_diff *diff, unsigned side) {
  const struct hr_diff_side *own = &diff->config.sides[side];
  char digest[17];
  cJSON *object = hr__json_object(json, root, side_keys[side]);
  snprintf(digest, sizeof digest, "%016" PRIx64, diff->runs[side].run.summary->digest);
  hr__json_text(json, object, "file", own->label);
  hr__json_text(json, object, "scenario", own->scenario->name);
  hr__json_text(json, object, "policy", own->scenario->policy.ops->name);
  hr__json_params(json, hr__json_object(json, object, "params"), &own->scenario->policy);
  hr__json_text(json, object, "digest", digest);
}

enum hr_status hr_diff_write_json(const char *path, const struct hr_diff *diff, const struct hr_perf *perf,
                                  struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject(), *trace;
  hr__json_text(&json, root, "headroom", hr_version());
  trace = hr__json_object(&json, root, "trace");
  hr__json_text(&json, trace, "file", diff->config.sides[0].trace->source);
  hr__json_text(&json, trace, "format", diff->config.sides[0].trace->format);
  hr__json_seed(&json, root, "seed", diff->config.seed);
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) json_put_side(&json, root, diff, side);
  json_put_keys(&json, root, diff);
  json_put_queues(&json, root, diff);
  json_put_metrics(&json, root, diff);
  json_put_first(&json, root, diff);
  hr__json_notes(&json, hr__json_array(&json, root, "notes"), &diff->notes);
  cJSON *inner = hr__json_object(&json, root, "perf");
  hr__json_number(&json, inner, "load_s", perf->load_s);
  hr__json_number(&json, inner, "sim_s", perf->sim_s);
  hr__json_number(&json, inner, "peak_rss_mib", perf->peak_rss_mib);
  return hr__json_write(&json, root, path, error);
}
