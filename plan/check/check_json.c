/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the JSON files of a check: the baseline and the result.
 *
 * The baseline is laid out for readable diffs: related metrics share a line, each class, tenant and pool has its own
 * line, and encoded columns are broken into lines. scenarios/build/suite.c reads it. The result follows
 * docs/reference/schemas/check-result.schema.json.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/check/check.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODED_LINE = 100 };

/* ---- Baseline: values ------------------------------------------------------------------------------- */

/* The functions of this section return false when out of memory. */

static bool put_text(FILE *out, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) return false;
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)utf8; *at; at++) {
    if (*at == '"' || *at == '\\')
      fprintf(out, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(out, "\\u%04x", *at);
    else
      fputc(*at, out);
  }
  fputc('"', out);
  free(utf8);
  return true;
}

static void put_value(FILE *out, const struct hr_baseline_metric *metric) {
  char buffer[HR__NUMBER_BYTES];
  fprintf(out, "\"%s\": %s", metric->path, hr__decimal_text(metric->value, buffer));
}

static bool put_member(FILE *out, const char *key, const char *text) {
  fprintf(out, "      \"%s\": ", key);
  bool complete = put_text(out, text);
  fputs(",\n", out);
  return complete;
}

/* ---- Baseline: metrics ------------------------------------------------------------------------------ */

static bool same_kind(const char *a, const char *b) {
  size_t length = strcspn(a, ".");
  return strcspn(b, ".") == length && strncmp(a, b, length) == 0;
}

/* Prints the metrics of all jobs, which are the first of the list. Returns their number. */
static size_t put_run_metrics(FILE *out, const struct hr_baseline_run *run) {
  size_t i = 0;
  fputs("      \"metrics\": {", out);
  for (; i < run->n_metrics && run->metrics[i].of == HR_METRIC_OF_RUN; i++) {
    bool same_line = i > 0 && same_kind(run->metrics[i - 1].path, run->metrics[i].path);
    fputs(i == 0 ? "\n        " : same_line ? ", " : ",\n        ", out);
    put_value(out, &run->metrics[i]);
  }
  fputs("\n      }", out);
  return i;
}

static bool same_group(const struct hr_baseline_metric *a, const struct hr_baseline_metric *b) {
  return a->of == b->of && strcmp(a->group, b->group) == 0;
}

/* Prints the metrics of one part (classes, tenants or pools), which starts at index `i`. Returns the index at which the
   next part starts. */
static size_t put_part(FILE *out, const struct hr_baseline_run *run, size_t i, bool *complete) {
#define WORD(name, text) text,
  static const char *const parts[] = {HR_METRIC_OF_TABLE(WORD)};
#undef WORD
  enum hr_metric_of of = run->metrics[i].of;
  fprintf(out, ",\n      \"%s\": {", parts[of]);
  for (size_t first = i; i < run->n_metrics && run->metrics[i].of == of; i++) {
    bool same_line = i > first && same_group(&run->metrics[i - 1], &run->metrics[i]);
    if (same_line) {
      fputs(", ", out);
    } else {
      fputs(i == first ? "\n        " : " },\n        ", out);
      *complete = put_text(out, run->metrics[i].group) && *complete;
      fputs(": { ", out);
    }
    put_value(out, &run->metrics[i]);
  }
  fputs(" }\n      }", out);
  return i;
}

static bool put_metrics(FILE *out, const struct hr_baseline_run *run) {
  bool complete = true;
  size_t i = put_run_metrics(out, run);
  while (i < run->n_metrics) i = put_part(out, run, i, &complete);
  return complete;
}

/* ---- Baseline: runs --------------------------------------------------------------------------------- */

static void put_encoded(FILE *out, const char *key, const char *text) {
  fprintf(out, ",\n      \"%s\": [", key);
  for (size_t at = 0, length = strlen(text); at < length; at += ENCODED_LINE)
    fprintf(out, "%s\n        \"%.*s\"", at ? "," : "", ENCODED_LINE, text + at);
  fputs(text[0] ? "\n      ]" : "]", out);
}

static bool put_inputs(FILE *out, const struct hr_baseline_run *run) {
  bool complete = true;
  fputs("      \"inputs\": {", out);
  for (size_t i = 0; i < run->n_inputs; i++) {
    fputs(i ? ", " : " ", out);
    complete = put_text(out, run->inputs[i].name) && complete;
    fprintf(out, ": \"%016" PRIx64 "\"", run->inputs[i].digest);
  }
  fputs(" },\n", out);
  return complete;
}

/* Writes seeds above 2^53 as text, since many JSON readers represent numbers as doubles. */
static void put_seed(FILE *out, uint64_t seed) {
  const char *quote = seed > UINT64_C(1) << 53 ? "\"" : "";
  fprintf(out, "      \"seed\": %s%" PRIu64 "%s,\n", quote, seed, quote);
}

static bool put_samples(FILE *out, const struct hr_baseline_run *run) {
  bool complete = true, first = true;
  fputs(",\n      \"samples\": {", out);
  for (size_t i = 0; i < run->n_metrics; i++) {
    const struct hr_baseline_metric *metric = &run->metrics[i];
    char label[HR__LABEL_BYTES], number[HR__NUMBER_BYTES];
    if (!metric->samples) continue;
    fputs(first ? "\n        " : ",\n        ", out);
    complete = put_text(out, hr__baseline_label(metric, label)) && complete;
    for (uint32_t r = 0; r < metric->n_samples; r++)
      fprintf(out, "%s%s", r ? ", " : ": [", hr__decimal_text(metric->samples[r], number));
    fputc(']', out);
    first = false;
  }
  fputs("\n      }", out);
  return complete;
}

static bool put_run(FILE *out, const struct hr_baseline_run *run) {
  fputs("    {\n", out);
  bool complete = put_member(out, "name", run->name);
  complete = put_member(out, "policy", run->policy) && complete;
  put_seed(out, run->seed);
  complete = put_member(out, "trace", run->trace) && complete;
  fprintf(out, "      \"trace_digest\": \"%016" PRIx64 "\",\n", run->trace_digest);
  complete = put_inputs(out, run) && complete;
  if (run->scenario) complete = put_member(out, "scenario", run->scenario) && complete;
  if (run->replications) fprintf(out, "      \"replications\": %" PRIu32 ",\n", run->replications);
  fprintf(out, "      \"digest\": \"%016" PRIx64 "\",\n", run->digest);
  complete = put_metrics(out, run) && complete;
  if (!run->replications) {
    fprintf(out, ",\n      \"jobs\": %" PRIu32 ", \"decisions\": %" PRIu64 ", \"spacing\": %" PRIu64, run->n_jobs,
            run->decisions, run->spacing);
    put_encoded(out, "chain", run->chain);
    if (run->starts) put_encoded(out, "starts", run->starts);
  } else {
    complete = put_samples(out, run) && complete;
  }
  fputs("\n    }", out);
  return complete;
}

enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  bool complete = true, first = true;
  fprintf(file.stream, "{\n  \"format\": %d,\n  \"version\": \"%s\",\n  \"runs\": [", HR_BASELINE_FORMAT, hr_version());
  for (size_t i = 0; i < check->n_cases && complete; i++) {
    if (!check->cases[i].run) continue;
    fputs(first ? "\n" : ",\n", file.stream);
    complete = put_run(file.stream, &check->cases[i].now);
    first = false;
  }
  fputs("\n  ]\n}\n", file.stream);
  bool readable = ftell(file.stream) <= HR_MAX_BASELINE_BYTES; /* ftell() returns -1 for a pipe */
  if (complete && readable) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  if (!complete) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  return hr_fail(error, HR_BAD_INPUT, "%s: the baseline of %zu runs would exceed 16 MiB; split the suite", path,
                 check->n_cases);
}

/* ---- Result ----------------------------------------------------------------------------------------- */

static void json_put_change(struct hr__json *json, cJSON *array, const struct hr__check_change *change) {
  static const char *const verdicts[] = {
      [HR__BETTER] = "better", [HR__ALLOWED] = "allowed", [HR__CHANCE] = "chance", [HR__WORSE] = "failed"};
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "figure", change->label);
  hr__json_finite(json, object, "baseline", change->before);
  hr__json_finite(json, object, "now", change->now);
  hr__json_finite(json, object, "low", change->low);
  hr__json_finite(json, object, "high", change->high);
  hr__json_finite(json, object, "chance", change->p_value);
  hr__json_text(json, object, "verdict", verdicts[change->verdict]);
}

static void json_put_wait(struct hr__json *json, cJSON *object, const char *key, int64_t wait_s) {
  hr__json_number_if(json, object, key, wait_s != HR_NEVER_US, (double)wait_s);
}

static void json_put_start(struct hr__json *json, cJSON *run, const struct hr__check_start *start) {
  if (!start->found) {
    hr__json_null(json, run, "first_start");
    return;
  }
  cJSON *object = hr__json_object(json, run, "first_start");
  hr__json_text(json, object, "job", start->job);
  hr__json_text(json, object, "tenant", start->tenant);
  hr__json_count(json, object, "gpus", start->gpus);
  hr__json_count(json, object, "submit_s", (uint64_t)start->submit_s);
  json_put_wait(json, object, "baseline_wait_s", start->before_s);
  json_put_wait(json, object, "wait_s", start->now_s);
  hr__json_bool(json, object, "baseline_backfilled", start->was_backfilled);
  hr__json_text(json, object, "reason", hr_reason_name(start->reason));
  hr__json_text(json, object, "held", start->wait);
}

static void json_put_decisions(struct hr__json *json, cJSON *run, const struct hr__check_decisions *decisions) {
  if (!decisions->found) {
    hr__json_null(json, run, "first_decisions");
    return;
  }
  cJSON *object = hr__json_object(json, run, "first_decisions");
  hr__json_count(json, object, "from", decisions->first);
  hr__json_count(json, object, "to", decisions->last);
  hr__json_count(json, object, "of", decisions->count);
  hr__json_text(json, object, "begins", decisions->begins);
}

static void json_put_digest(struct hr__json *json, cJSON *run, const char *key, bool known, uint64_t digest) {
  char text[20];
  snprintf(text, sizeof text, "%016" PRIx64, digest);
  hr__json_text(json, run, key, known ? text : NULL);
}

static void json_put_goals(struct hr__json *json, cJSON *run, const struct hr__check_case *item) {
  cJSON *list = hr__json_array(json, run, "goals");
  for (size_t i = 0; i < item->goals.n_goals; i++) {
    cJSON *goal = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, goal, "goal", item->goals.goals[i].text);
    hr__json_finite(json, goal, "value",
                    item->goal_values ? item->goal_values[item->goals.goals[i].metric] : HR__UNKNOWN);
    hr__json_bool(json, goal, "met", !hr__check_misses(item, i));
  }
}

static void json_put_run(struct hr__json *json, cJSON *array, const struct hr__check_case *item) {
  static const char *const verdicts[] = {[HR__CASE_SAME] = "same",
                                         [HR__CASE_CHANGED] = "passed",
                                         [HR__CASE_NEW] = "new",
                                         [HR__CASE_GONE] = "gone",
                                         [HR__CASE_FAILED] = "failed"};
  cJSON *run = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, run, "name", item->name);
  hr__json_text(json, run, "verdict", verdicts[item->verdict]);
  hr__json_text(json, run, "scenario", item->run ? item->run->scenario : NULL);
  json_put_digest(json, run, "baseline_digest", item->before != NULL, item->before ? item->before->digest : 0);
  json_put_digest(json, run, "digest", item->run != NULL, item->now.digest);
  cJSON *changes = hr__json_array(json, run, "moved");
  for (size_t i = 0; i < item->n_changes; i++) json_put_change(json, changes, &item->changes[i]);
  json_put_goals(json, run, item);
  json_put_start(json, run, &item->start);
  json_put_decisions(json, run, &item->decisions);
  cJSON *notes = hr__json_array(json, run, "notes");
  hr__json_notes(json, notes, &item->causes);
}

enum hr_status hr_check_write_json(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "version", hr_version());
  hr__json_text(&json, root, "suite", check->config.suite->path);
  hr__json_text(&json, root, "baseline", check->config.baseline_path);
  hr__json_bool(&json, root, "passed", hr_check_passed(check));
  hr__json_count(&json, root, "failures", hr_check_failures(check));
  cJSON *runs = hr__json_array(&json, root, "runs");
  for (size_t i = 0; i < check->n_cases; i++) json_put_run(&json, runs, &check->cases[i]);
  cJSON *notes = hr__json_array(&json, root, "notes");
  hr__json_notes(&json, notes, &check->notes);
  return hr__json_write(&json, root, path, error);
}
