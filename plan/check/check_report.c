/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output of a check: the JSON files of the baseline and of the result, a table for a terminal, which lists changes
 * only, and three formats for CI systems: annotations of GitHub Actions, JUnit XML, and Markdown for the comment of a
 * pull request.
 *
 * The baseline is laid out for readable diffs: related metrics share a line, each class, tenant, pool and service has
 * its own line, and encoded columns are broken into lines. scenarios/build/suite.c reads it. The result follows
 * docs/reference/schemas/check-result.schema.json.
 *
 * GitHub's workflow commands have the form "::error file=F,title=T::MESSAGE", in which some characters are escaped as
 * %XX (docs.github.com, "Workflow commands for GitHub Actions"; actions/toolkit, packages/core/src/command.ts).
 * Jenkins, GitLab and GitHub Actions read JUnit XML. The XML contains no times, so equal runs give equal files.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/check/check.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODED_LINE = 100, SENTENCE_BYTES = 900 };

/* ---- Baseline: values ------------------------------------------------------------------------------- */

static void put_text(struct hr__console *page, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  fputc('"', page->out);
  for (const char *at = utf8; at && *at; at++) {
    if (*at == '"' || *at == '\\') fputc('\\', page->out);
    if ((unsigned char)*at < 0x20)
      fprintf(page->out, "\\u%04x", *at);
    else
      fputc(*at, page->out);
  }
  fputc('"', page->out);
  free(utf8);
}

static void put_value(FILE *out, const struct hr_baseline_metric *metric) {
  char buffer[HR__NUMBER_BYTES];
  fprintf(out, "\"%s\": %s", metric->path, hr__decimal_text(metric->value, buffer));
}

static void put_member(struct hr__console *page, const char *key, const char *text) {
  fprintf(page->out, "      \"%s\": ", key);
  put_text(page, text);
  fputs(",\n", page->out);
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

/* Prints the metrics of one part (classes, tenants, pools or services), which starts at index `i`. Returns the index at
   which the next part starts. */
static size_t put_part(struct hr__console *page, const struct hr_baseline_run *run, size_t i) {
#define WORD(name, text) text,
  static const char *const parts[] = {HR_METRIC_OF_TABLE(WORD)};
#undef WORD
  enum hr_metric_of of = run->metrics[i].of;
  fprintf(page->out, ",\n      \"%s\": {", parts[of]);
  for (size_t first = i; i < run->n_metrics && run->metrics[i].of == of; i++) {
    if (i > first && strcmp(run->metrics[i - 1].group, run->metrics[i].group) == 0) {
      fputs(", ", page->out);
    } else {
      fputs(i == first ? "\n        " : " },\n        ", page->out);
      put_text(page, run->metrics[i].group);
      fputs(": { ", page->out);
    }
    put_value(page->out, &run->metrics[i]);
  }
  fputs(" }\n      }", page->out);
  return i;
}

/* ---- Baseline: runs --------------------------------------------------------------------------------- */

static void put_encoded(FILE *out, const char *key, const char *text) {
  fprintf(out, ",\n      \"%s\": [", key);
  for (size_t at = 0, length = strlen(text); at < length; at += ENCODED_LINE)
    fprintf(out, "%s\n        \"%.*s\"", at ? "," : "", ENCODED_LINE, text + at);
  fputs(text[0] ? "\n      ]" : "]", out);
}

static void put_inputs(struct hr__console *page, const struct hr_baseline_run *run) {
  fputs("      \"inputs\": {", page->out);
  for (size_t i = 0; i < run->n_inputs; i++) {
    fputs(i ? ", " : " ", page->out);
    put_text(page, run->inputs[i].name);
    fprintf(page->out, ": \"%016" PRIx64 "\"", run->inputs[i].digest);
  }
  fputs(" },\n", page->out);
}

/* Writes seeds above 2^53 as text, since many JSON readers represent numbers as doubles. */
static void put_seed(FILE *out, uint64_t seed) {
  const char *quote = seed > UINT64_C(1) << 53 ? "\"" : "";
  fprintf(out, "      \"seed\": %s%" PRIu64 "%s,\n", quote, seed, quote);
}

static void put_samples(struct hr__console *page, const struct hr_baseline_run *run) {
  const char *separator = "\n        ";
  fputs(",\n      \"samples\": {", page->out);
  for (size_t i = 0; i < run->n_metrics; i++) {
    const struct hr_baseline_metric *metric = &run->metrics[i];
    char label[HR__LABEL_BYTES], number[HR__NUMBER_BYTES];
    if (!metric->samples) continue;
    fputs(separator, page->out);
    put_text(page, hr__baseline_label(metric, label));
    for (uint32_t r = 0; r < metric->n_samples; r++)
      fprintf(page->out, "%s%s", r ? ", " : ": [", hr__decimal_text(metric->samples[r], number));
    fputc(']', page->out);
    separator = ",\n        ";
  }
  fputs("\n      }", page->out);
}

static void put_run(struct hr__console *page, const struct hr_baseline_run *run) {
  fputs("    {\n", page->out);
  put_member(page, "name", run->name);
  put_member(page, "policy", run->policy);
  put_seed(page->out, run->seed);
  put_member(page, "trace", run->trace);
  fprintf(page->out, "      \"trace_digest\": \"%016" PRIx64 "\",\n", run->trace_digest);
  put_inputs(page, run);
  if (run->scenario) put_member(page, "scenario", run->scenario);
  if (run->replications) fprintf(page->out, "      \"replications\": %" PRIu32 ",\n", run->replications);
  fprintf(page->out, "      \"digest\": \"%016" PRIx64 "\",\n", run->digest);
  for (size_t i = put_run_metrics(page->out, run); i < run->n_metrics;) i = put_part(page, run, i);
  if (!run->replications) {
    fprintf(page->out, ",\n      \"jobs\": %" PRIu32 ", \"decisions\": %" PRIu64 ", \"spacing\": %" PRIu64, run->n_jobs,
            run->decisions, run->spacing);
    put_encoded(page->out, "chain", run->chain);
    if (run->starts) put_encoded(page->out, "starts", run->starts);
  } else {
    put_samples(page, run);
  }
  fputs("\n    }", page->out);
}

enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct hr__console page = {.out = file.stream};
  const char *separator = "\n";
  fprintf(page.out, "{\n  \"format\": %d,\n  \"version\": \"%s\",\n  \"runs\": [", HR_BASELINE_FORMAT, hr_version());
  for (size_t i = 0; i < check->n_cases; i++) {
    if (!check->cases[i].run) continue;
    fputs(separator, page.out);
    put_run(&page, &check->cases[i].now);
    separator = ",\n";
  }
  fputs("\n  ]\n}\n", page.out);
  bool readable = ftell(page.out) <= HR_MAX_BASELINE_BYTES; /* ftell() returns -1 for a pipe */
  if (readable || page.out_of_memory) return hr__output_finish(&file, path, page.out_of_memory, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_BAD_INPUT, "%s: the baseline of %zu runs would exceed 16 MiB; split the suite", path,
                 check->n_cases);
}

/* ---- Result as JSON --------------------------------------------------------------------------------- */

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
  cJSON *object = hr__json_object_if(json, run, "first_start", start->found);
  if (!object) return;
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
  cJSON *object = hr__json_object_if(json, run, "first_decisions", decisions->found);
  if (!object) return;
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
  hr__json_notes(json, hr__json_array(json, run, "notes"), &item->causes);
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
  hr__json_notes(&json, hr__json_array(&json, root, "notes"), &check->notes);
  return hr__json_write(&json, root, path, error);
}

/* ---- Words ------------------------------------------------------------------------------------------ */

static const char *verdict_word(enum hr__tolerance_verdict verdict) {
  static const char *const words[] = {[HR__SAME] = "same",
                                      [HR__BETTER] = "better",
                                      [HR__ALLOWED] = "allowed",
                                      [HR__CHANCE] = "chance",
                                      [HR__WORSE] = "FAILED"};
  return words[verdict];
}

/* Writes how a metric changed ("-3.20 %", "up", "down", "new" or "gone") to `buffer`, which has HR__METRIC_BYTES bytes.
   Returns the buffer. */
static const char *change_text(const struct hr__check_change *change, char *buffer) {
  char text[HR__NUMBER_BYTES];
  double difference = change->now - change->before;
  if (isnan(change->before)) return strcpy(buffer, "new");
  if (isnan(change->now)) return strcpy(buffer, "gone");
  double share = 100 * fabs(difference) / fabs(change->before);
  unsigned decimals = share < 0.00995 ? 4 : share < 9.995 ? 2 : share < 999.95;
  if (change->before == 0 || share >= 99999 || share < 0.00005)
    snprintf(buffer, HR__NUMBER_BYTES, "%s", difference > 0 ? "up" : "down");
  else
    snprintf(buffer, HR__NUMBER_BYTES, "%s%.20s %%", difference < 0 ? "-" : "+", hr__fixed_text(share, decimals, text));
  return buffer;
}

/* Writes a duration with `units` units: "8 h 0 min", "8 h 0 min 3 s". Seconds are the smallest unit; each unit that
   would follow adds one decimal to the seconds. */
static void long_duration(double seconds, unsigned units, char *buffer) {
  static const struct {
    const char *name;
    int64_t us;
  } parts[] = {{"d", INT64_C(86400000000)}, {"h", INT64_C(3600000000)}, {"min", 60000000}, {"s", 1000000}};
  int64_t us = llround(fabs(seconds) * 1e6);
  size_t first = 0, used = 0;
  while (first < 3 && us < parts[first].us) first++;
  size_t last = first + units - 1 < 3 ? first + units - 1 : 3;
  unsigned decimals = first + units > 4 ? (unsigned)(first + units - 4) : 0;
  if (decimals > 6) decimals = 6;
  if (seconds < 0) used = (size_t)snprintf(buffer, HR__METRIC_BYTES, "-");
  for (size_t i = first; i <= last && used < HR__METRIC_BYTES; i++) {
    double part = i < 3 ? (double)(us / parts[i].us) : (double)us / 1e6;
    used += (size_t)snprintf(buffer + used, HR__METRIC_BYTES - used, "%s%.*f %s", i > first ? " " : "",
                             i == 3 ? (int)decimals : 0, part, parts[i].name);
    if (i < 3) us %= parts[i].us;
  }
}

/* Writes a value with more digits than usual, in the unit of the metric. */
static void precise_text(enum hr_unit unit, double value, unsigned digits, char *buffer) {
  char number[HR__NUMBER_BYTES];
  if (unit == HR_UNIT_SECONDS) {
    long_duration(value, digits, buffer);
    return;
  }
  bool share = unit == HR_UNIT_SHARE, dollars = unit == HR_UNIT_DOLLARS;
  hr__fixed_text(share ? 100 * fabs(value) : fabs(value), digits < 6 ? digits : 6, number);
  snprintf(buffer, HR__METRIC_BYTES, "%s%s%s%s", value < 0 ? "-" : "", dollars ? "$" : "", number, share ? " %" : "");
}

/* Writes both values, each to a buffer of HR__METRIC_BYTES bytes. If the rounded texts are equal, more digits or units
   are written until they differ. */
static void value_texts(const struct hr__check_change *change, char *before, char *now) {
  hr__metric_text(change->unit, change->before, before);
  hr__metric_text(change->unit, change->now, now);
  for (unsigned digits = 2; digits <= 10 && strcmp(before, now) == 0; digits++) {
    precise_text(change->unit, change->before, digits, before);
    precise_text(change->unit, change->now, digits, now);
  }
  if (strcmp(before, now) != 0) return;
  hr__decimal_text(change->before, before);
  hr__decimal_text(change->now, now);
}

/* Writes counts such as "12 figures outside tolerance, 1 goal missed", without those that are 0. */
static void failures_text(size_t worse, size_t missed, char *text, size_t size) {
  char figures[60] = "", goals[60] = "";
  if (worse) snprintf(figures, sizeof figures, "%zu figure%s outside tolerance", worse, worse == 1 ? "" : "s");
  if (missed) snprintf(goals, sizeof goals, "%zu goal%s missed", missed, missed == 1 ? "" : "s");
  snprintf(text, size, "%s%s%s", figures, worse && missed ? ", " : "", goals);
}

/* Writes a summary such as "12 figures outside tolerance", or "same figures". */
static void case_summary(const struct hr__check_case *item, char *text, size_t size) {
  size_t worse = item->n_worse, missed = item->n_missed;
  const char *what = item->verdict == HR__CASE_NEW    ? "not in the baseline"
                     : item->verdict == HR__CASE_GONE ? "not in the suite"
                     : item->other_trace              ? "different trace"
                     : item->other_digest             ? "different decisions"
                                                      : "same figures";
  if (missed && item->verdict == HR__CASE_FAILED)
    failures_text(worse, missed, text, size);
  else if (worse)
    failures_text(worse, 0, text, size);
  else if (item->n_changes)
    snprintf(text, size, "%zu figure%s changed within tolerance", item->n_changes, item->n_changes == 1 ? "" : "s");
  else
    snprintf(text, size, "%s", what);
}

void hr_check_failure_text(const struct hr_check *check, char *text, size_t size) {
  size_t worse = 0;
  for (size_t i = 0; i < check->n_cases; i++) worse += check->cases[i].n_worse;
  failures_text(worse, hr_check_missed_goals(check), text, size);
}

/* Writes a headline such as "2 of 12 runs failed". */
static void headline_text(const struct hr_check *check, char *text, size_t size) {
  size_t failures = hr_check_failures(check), runs = hr_check_runs(check);
  if (failures)
    snprintf(text, size, "%zu of %zu run%s failed", failures, runs, runs == 1 ? "" : "s");
  else if (runs == 1)
    snprintf(text, size, "1 run passed");
  else
    snprintf(text, size, "%zu runs passed", runs);
}

/* ---- Sentences about differences that are not metrics ----------------------------------------------- */

struct check_sentences {
  bool updating; /* the baseline is updated */
  struct hr__console *page;
  void (*put)(struct hr__console *page, const char *sentence);
};

static void put(const struct check_sentences *to, const char *format, ...) HR_PRINTF(2, 3);
static void put(const struct check_sentences *to, const char *format, ...) {
  char text[SENTENCE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  to->put(to->page, text);
}

/* Writes a wait such as "3 h 2 min after submission". */
static const char *wait_text(int64_t wait_s, char *buffer) {
  char text[HR__NUMBER_BYTES];
  if (wait_s == HR_NEVER_US) return strcpy(buffer, "never");
  if (wait_s == 0) return strcpy(buffer, "immediately");
  snprintf(buffer, 2 * HR__NUMBER_BYTES, "%.40s after submission", hr__duration_text((double)wait_s, text));
  return buffer;
}

static void put_start(const struct hr__check_start *start, const struct check_sentences *to) {
  char submit[HR__NUMBER_BYTES], now[2 * HR__NUMBER_BYTES], before[2 * HR__NUMBER_BYTES];
  bool starts = start->now_s != HR_NEVER_US, started = start->before_s != HR_NEVER_US;
  put(to,
      "First job whose start differs: %.100s%s%.100s (%" PRIu32 " GPU%s, submitted at %s). Start: %s%s; in the "
      "baseline: %s%s.",
      start->job, start->tenant ? " of " : "", start->tenant ? start->tenant : "", start->gpus,
      start->gpus == 1 ? "" : "s", hr__duration_text((double)start->submit_s, submit), wait_text(start->now_s, now),
      starts && start->reason == HR_REASON_BACKFILL ? " by backfill" : "", wait_text(start->before_s, before),
      started && start->was_backfilled ? " by backfill" : "");
  if (!starts && start->reason != HR_REASON_NONE) put(to, "It is rejected: %s.", hr_reason_name(start->reason));
  if (start->wait) put(to, "%s", start->wait);
}

static void put_decisions(const struct hr__check_decisions *decisions, bool same_starts,
                          const struct check_sentences *to) {
  char first[HR__NUMBER_BYTES], last[HR__NUMBER_BYTES], count[HR__NUMBER_BYTES];
  put(to, "%sdecision that differs is between %s and %s of %s%s%s.%s",
      same_starts ? "All jobs start at the same times. The first " : "The first ",
      hr__count_text(decisions->first, first), hr__count_text(decisions->last, last),
      hr__count_text(decisions->count, count), decisions->begins ? "; this range begins with the " : "",
      decisions->begins ? decisions->begins : "", decisions->begins ? "" : " The run now has fewer decisions.");
}

static void put_digest(const struct hr__check_case *item, const struct check_sentences *to) {
  if (!item->other_digest) return;
  put(to, "The event digest differs: %016" PRIx64 ", before %016" PRIx64 "%s.", item->now.digest, item->before->digest,
      item->wants_digest ? "" : " (not counted as a failure)");
}

/* Sentences that precede the metrics: which inputs changed, and which goals are missed. */
static void put_causes(const struct hr__check_case *item, const struct check_sentences *to) {
  for (size_t i = 0; i < item->causes.count; i++) put(to, "Changed: %s.", item->causes.text[i]);
  for (size_t i = 0; i < item->goals.n_goals; i++) {
    char value[HR__METRIC_BYTES];
    const struct hr__goal *goal = &item->goals.goals[i];
    if (!hr__check_misses(item, i)) continue;
    enum hr_unit unit = hr__metric_rows[item->goals.metrics[goal->metric].id].unit;
    put(to, "Goal missed: %s: it is %s.", goal->text, hr__metric_text(unit, item->goal_values[goal->metric], value));
  }
}

static void put_sentences(const struct hr__check_case *item, const struct check_sentences *to) {
  if (item->verdict == HR__CASE_NEW)
    put(to, to->updating ? "Added to the baseline." : "Not in the baseline; --update adds it.");
  if (item->verdict == HR__CASE_GONE)
    put(to, to->updating ? "Not in the suite; removed from the baseline."
                         : "Only in the baseline, not in the suite; --update removes it.");
  if (!item->before || !item->run) return;
  put_digest(item, to);
  if (item->start.found) put_start(&item->start, to);
  if (item->decisions.found) put_decisions(&item->decisions, item->start.same, to);
}

/* ---- Terminal --------------------------------------------------------------------------------------- */

enum { LABEL = 33, VALUE = 13, CHANGE = 9, MAX_ROWS = 24, MAX_TABLES = 6 };

/* Prints text in lines that are indented by two columns. */
static void put_wrapped(struct hr__console *console, const char *text) {
  char *clean = hr__presentable(console, text);
  size_t column = 0;
  for (const char *at = clean; at && *at;) {
    size_t bytes = strcspn(at, " "), width = hr__width_of(at, bytes);
    bool breaks = column > 0 && column + 1 + width > HR__LINE_WIDTH;
    if (column == 0 || breaks) {
      fputs(breaks ? "\n    " : "  ", console->out);
      column = breaks ? 4 : 2;
    } else {
      fputc(' ', console->out);
      column++;
    }
    fwrite(at, 1, bytes, console->out);
    column += width;
    at += bytes + strspn(at + bytes, " ");
  }
  fputc('\n', console->out);
  free(clean);
}

/* Prints a label. A long label gets its own line. It is not shortened, since labels may differ at either end. */
static void put_label(struct hr__console *console, const char *text) {
  char *label = hr__fitted(console, text, HR__LINE_WIDTH - 2, false);
  size_t width = label ? hr__width_of(label, strlen(label)) : 0;
  fprintf(console->out, "  %s", label ? label : "");
  if (width > LABEL)
    fprintf(console->out, "\n  %*s", LABEL, "");
  else
    fprintf(console->out, "%*s", LABEL - (int)width, "");
  free(label);
}

static void put_change(struct hr__console *console, const struct hr__check_change *change) {
  char before[HR__METRIC_BYTES], now[HR__METRIC_BYTES], text[HR__METRIC_BYTES];
  bool failed = change->verdict == HR__WORSE;
  put_label(console, change->label);
  value_texts(change, before, now);
  fputc(' ', console->out);
  hr__put_right(console->out, before, VALUE);
  fputc(' ', console->out);
  hr__put_right(console->out, now, VALUE);
  fputc(' ', console->out);
  hr__put_right(console->out, change_text(change, text), CHANGE);
  fprintf(console->out, " %s%s%s\n", failed ? hr__bold(console) : hr__dim(console), verdict_word(change->verdict),
          hr__plain(console));
}

static void put_table(struct hr__console *console, const struct hr__check_case *item) {
  size_t shown = 0;
  if (item->n_changes == 0) return;
  fprintf(console->out, "  %s%-*s %*s %*s %*s%s\n", hr__dim(console), LABEL, "figure", VALUE, "baseline", VALUE, "now",
          CHANGE, "change", hr__plain(console));
  for (; shown < item->n_changes && shown < MAX_ROWS; shown++) put_change(console, &item->changes[shown]);
  if (shown < item->n_changes)
    fprintf(console->out, "  and %zu more figure%s (see --json)\n", item->n_changes - shown,
            item->n_changes - shown == 1 ? "" : "s");
}

static void put_head(struct hr__console *console, const struct hr__check_case *item, bool updating,
                     const char *summary) {
  static const char *const words[] = {[HR__CASE_CHANGED] = "passed, changed",
                                      [HR__CASE_NEW] = "NEW",
                                      [HR__CASE_GONE] = "GONE",
                                      [HR__CASE_FAILED] = "FAILED"};
  char *name = hr__fitted(console, item->name, HR__LINE_WIDTH - 18 - strlen(summary), true);
  fprintf(console->out, "%s%s %s%s%s%s\n", hr__bold(console), updating ? "updated" : words[item->verdict],
          name ? name : "", hr__plain(console), summary[0] ? ": " : "", summary);
  free(name);
}

static void put_case(struct hr__console *console, const struct hr__check_case *item, bool updating) {
  const struct check_sentences to = {updating, console, put_wrapped};
  put_head(console, item, updating, "");
  put_causes(item, &to);
  put_table(console, item);
  put_sentences(item, &to);
  fputc('\n', console->out);
}

/* If `failed`, prints the cases that failed; otherwise prints the cases that passed with changes. The first cases are
   printed in full, the others in one line each. `updating`: the baseline is updated. */
static size_t put_cases(struct hr__console *console, const struct hr_check *check, bool failed, bool updating) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    char summary[100];
    if (item->verdict == HR__CASE_SAME || hr__check_case_failed(item) != failed) continue;
    if (count++ < MAX_TABLES) {
      put_case(console, item, updating);
    } else {
      case_summary(item, summary, sizeof summary);
      put_head(console, item, updating, summary);
    }
  }
  if (count > MAX_TABLES) fputc('\n', console->out);
  return count;
}

enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  char headline[100];
  headline_text(check, headline, sizeof headline);
  const bool updating = check->config.updating;
  size_t n_changed = put_cases(&console, check, true, updating);
  n_changed += put_cases(&console, check, false, updating);
  size_t n_new = 0;
  for (size_t i = 0; i < check->n_cases; i++) n_new += check->cases[i].verdict == HR__CASE_NEW;
  if (updating)
    fprintf(out, "%zu run%s in the baseline, %zu new, %zu changed\n", check->n_cases, check->n_cases == 1 ? "" : "s",
            n_new, n_changed - n_new);
  else
    fprintf(out, "%s%s%s\n", hr__bold(&console), headline, hr__plain(&console));
  return console.out_of_memory ? HR_NO_MEMORY : HR_OK;
}

/* ---- Annotations of GitHub Actions ------------------------------------------------------------------ */

enum { MAX_FIGURES = 3 };

/* Prints a text of the message or, if `property`, of a property of the command. */
static void annotation_put_text(struct hr__console *page, const char *text, bool property) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  for (const char *at = utf8; at && *at; at++) {
    bool escaped = *at == '%' || *at == '\r' || *at == '\n' || (property && (*at == ':' || *at == ','));
    fprintf(page->out, escaped ? "%%%02X" : "%c", (unsigned char)*at);
  }
  free(utf8);
}

static void annotation_put_sentence(struct hr__console *page, const char *sentence) {
  annotation_put_text(page, sentence, false);
  annotation_put_text(page, "\n", false);
}

/* The failures are the first changes of the list. */
static void annotation_put_metrics(struct hr__console *page, const struct hr__check_case *item) {
  size_t shown = 0, worse = item->n_worse;
  for (; shown < worse && shown < MAX_FIGURES; shown++) {
    char before[HR__METRIC_BYTES], now[HR__METRIC_BYTES], line[HR__LABEL_BYTES + 3 * HR__METRIC_BYTES];
    value_texts(&item->changes[shown], before, now);
    snprintf(line, sizeof line, "%s: %s, was %s\n", item->changes[shown].label, now, before);
    annotation_put_text(page, line, false);
  }
  char more[60];
  snprintf(more, sizeof more, "and %zu more figure%s\n", worse - shown, worse - shown == 1 ? "" : "s");
  if (worse > shown) annotation_put_text(page, more, false);
}

enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check) {
  struct hr__console page = {.out = out};
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    const struct check_sentences to = {check->config.updating, &page, annotation_put_sentence};
    if (!hr__check_case_failed(item)) continue;
    fputs("::error file=", out);
    annotation_put_text(&page, item->run ? item->run->scenario : check->config.baseline_path, true);
    fputs(",title=", out);
    annotation_put_text(&page, "headroom check: ", true);
    annotation_put_text(&page, item->name, true);
    fputs("::", out);
    put_causes(item, &to);
    annotation_put_metrics(&page, item);
    put_sentences(item, &to);
    fputc('\n', out);
  }
  return page.out_of_memory ? HR_NO_MEMORY : HR_OK;
}

/* ---- JUnit XML: a test case per run ----------------------------------------------------------------- */

/* Escapes text for elements and attributes. XML 1.0 cannot represent most control characters, so '?' replaces them. */
static void junit_put_text(struct hr__console *page, const char *text) {
  static const struct {
    char byte;
    const char *entity;
  } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  for (const char *at = utf8; at && *at; at++) {
    const char *entity = NULL;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
      if (*at == entities[i].byte) entity = entities[i].entity;
    if (entity)
      fputs(entity, page->out);
    else
      fputc((unsigned char)*at < 0x20 && *at != '\n' ? '?' : *at, page->out);
  }
  free(utf8);
}

static void junit_put_sentence(struct hr__console *page, const char *sentence) {
  junit_put_text(page, sentence);
  fputc('\n', page->out);
}

static void junit_put_change(struct hr__console *page, const struct hr__check_change *change) {
  char before[HR__METRIC_BYTES], now[HR__METRIC_BYTES], text[HR__METRIC_BYTES];
  junit_put_text(page, change->label);
  value_texts(change, before, now);
  fprintf(page->out, ": %s, was %s (%s) %s\n", now, before, change_text(change, text), verdict_word(change->verdict));
}

static void junit_put_case(struct hr__console *page, const struct hr__check_case *item, bool updating) {
  const struct check_sentences to = {updating, page, junit_put_sentence};
  char summary[100];
  fputs("    <testcase classname=\"headroom.check\" name=\"", page->out);
  junit_put_text(page, item->name);
  if (!hr__check_case_failed(item)) {
    fputs("\"/>\n", page->out);
    return;
  }
  fputs("\">\n      <failure type=\"", page->out);
  fputs(item->verdict == HR__CASE_FAILED ? "changed" : item->verdict == HR__CASE_NEW ? "new" : "gone", page->out);
  fputs("\" message=\"", page->out);
  case_summary(item, summary, sizeof summary);
  junit_put_text(page, summary);
  fputs("\">", page->out);
  put_causes(item, &to);
  for (size_t i = 0; i < item->n_changes; i++) junit_put_change(page, &item->changes[i]);
  put_sentences(item, &to);
  fputs("</failure>\n    </testcase>\n", page->out);
}

enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct hr__console page = {.out = file.stream};
  size_t failures = hr_check_failures(check);
  fprintf(page.out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
          check->n_cases, failures);
  fputs("  <testsuite name=\"", page.out);
  junit_put_text(&page, hr__check_base_name(check->config.suite->path));
  fprintf(page.out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", check->n_cases, failures);
  for (size_t i = 0; i < check->n_cases; i++) junit_put_case(&page, &check->cases[i], check->config.updating);
  fputs("  </testsuite>\n</testsuites>\n", page.out);
  return hr__output_finish(&file, path, page.out_of_memory, error);
}

/* ---- Markdown: failures as tables, the rest folded -------------------------------------------------- */

/* These limits keep a comment below GitHub's maximum of 65,536 characters. */
enum { MAX_CASES = 8, MAX_LINES = 200 };

/* Escapes all characters that Markdown interprets. */
static void markdown_put_text(struct hr__console *console, const char *text) {
  char *clean = hr__presentable(console, text);
  for (const char *at = clean; at && *at; at++) {
    if (strchr("\\`*_|<>[]#~@", *at)) fputc('\\', console->out);
    fputc(*at, console->out);
  }
  free(clean);
}

static void markdown_put_sentence(struct hr__console *console, const char *sentence) {
  fputs("- ", console->out);
  markdown_put_text(console, sentence);
  fputc('\n', console->out);
}

static void markdown_put_change(struct hr__console *console, const struct hr__check_change *change) {
  char before[HR__METRIC_BYTES], now[HR__METRIC_BYTES], text[HR__METRIC_BYTES];
  const char *strong = change->verdict == HR__WORSE ? "**" : "";
  fputs("| ", console->out);
  markdown_put_text(console, change->label);
  value_texts(change, before, now);
  fprintf(console->out, " | %s | %s%s%s | %s", before, strong, now, strong, change_text(change, text));
  fprintf(console->out, " | %s |\n", change->verdict == HR__WORSE ? ":x: failed" : verdict_word(change->verdict));
}

static void markdown_put_table(struct hr__console *console, const struct hr__check_case *item) {
  size_t shown = 0;
  if (item->n_changes == 0) return;
  fputs("| figure | baseline | now | change | |\n|---|---:|---:|---:|---|\n", console->out);
  for (; shown < item->n_changes && shown < MAX_ROWS; shown++) markdown_put_change(console, &item->changes[shown]);
  if (shown < item->n_changes)
    fprintf(console->out, "\nand %zu more figure%s\n", item->n_changes - shown,
            item->n_changes - shown == 1 ? "" : "s");
  fputc('\n', console->out);
}

static void markdown_put_case(struct hr__console *console, const struct hr__check_case *item, bool updating) {
  static const char *const words[] = {[HR__CASE_CHANGED] = "passed, changed",
                                      [HR__CASE_NEW] = "new",
                                      [HR__CASE_GONE] = "gone",
                                      [HR__CASE_FAILED] = "failed"};
  const struct check_sentences to = {updating, console, markdown_put_sentence};
  fputs("\n### ", console->out);
  markdown_put_text(console, item->name);
  fprintf(console->out, ": %s\n\n", words[item->verdict]);
  put_causes(item, &to);
  if (item->causes.count || item->n_missed) fputc('\n', console->out);
  markdown_put_table(console, item);
  put_sentences(item, &to);
}

static void markdown_put_line(struct hr__console *console, const struct hr__check_case *item) {
  char summary[100];
  case_summary(item, summary, sizeof summary);
  fputs("- ", console->out);
  markdown_put_text(console, item->name);
  fprintf(console->out, ": %s\n", summary);
}

/* Prints cases in Markdown. If `failed`: the cases that failed; otherwise: the cases that passed with changes. */
static void markdown_put_cases(struct hr__console *console, const struct hr_check *check, bool failed) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    if (item->verdict == HR__CASE_SAME || hr__check_case_failed(item) != failed) continue;
    if (count == MAX_CASES) fputs("\n### Others\n\n", console->out);
    if (count < MAX_CASES)
      markdown_put_case(console, item, check->config.updating);
    else if (count < MAX_LINES)
      markdown_put_line(console, item);
    count++;
  }
  if (count > MAX_LINES) fprintf(console->out, "\nand %zu more\n", count - MAX_LINES);
}

static bool any_changed(const struct hr_check *check) {
  for (size_t i = 0; i < check->n_cases; i++)
    if (check->cases[i].verdict == HR__CASE_CHANGED) return true;
  return false;
}

static void markdown_put_page(struct hr__console *console, const struct hr_check *check) {
  char headline[100];
  headline_text(check, headline, sizeof headline);
  fprintf(console->out, "## %s headroom check: %s\n\nSuite ",
          hr_check_passed(check) ? ":white_check_mark:" : ":x:", headline);
  markdown_put_text(console, check->config.suite->path);
  fputs(", baseline ", console->out);
  markdown_put_text(console, check->config.baseline_path);
  fputs(".\n", console->out);
  for (size_t i = 0; i < check->notes.count; i++) {
    fputc('\n', console->out);
    markdown_put_text(console, check->notes.text[i]);
    fputs(".\n", console->out);
  }
  markdown_put_cases(console, check, true);
  if (!any_changed(check)) return;
  fputs("\n<details><summary>Runs that passed with changes</summary>\n", console->out);
  markdown_put_cases(console, check, false);
  fputs("\n</details>\n", console->out);
}

enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct hr__console console = {.out = file.stream};
  markdown_put_page(&console, check);
  return hr__output_finish(&file, path, console.out_of_memory, error);
}
