/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a check found, as words that all of its files share. */

#include "base/console.h"
#include "base/text.h"
#include "plan/check/checking.h"
#include "plan/compare/compare_table.h"
#include "report/tables/json_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_BYTES = 900 };

const char *hr__verdict_word(enum hr__tolerance_verdict verdict) {
  static const char *const words[] = {[HR__SAME] = "same",
                                      [HR__BETTER] = "better",
                                      [HR__ALLOWED] = "allowed",
                                      [HR__CHANCE] = "chance",
                                      [HR__WORSE] = "FAILED"};
  return words[verdict];
}

const char *hr__change_text(const struct hr__moved *moved, char *buffer) {
  char text[HR__NUMBER_BYTES];
  double difference = moved->now - moved->before;
  if (isnan(moved->before)) return strcpy(buffer, "new");
  if (isnan(moved->now)) return strcpy(buffer, "gone");
  double share = 100 * fabs(difference) / fabs(moved->before);
  unsigned decimals = share < 0.00995 ? 4 : share < 9.995 ? 2 : share < 999.95;
  if (moved->before == 0 || share >= 99999 || share < 0.00005)
    snprintf(buffer, HR__NUMBER_BYTES, "%s", difference > 0 ? "up" : "down");
  else
    snprintf(buffer, HR__NUMBER_BYTES, "%s%.20s %%", difference < 0 ? "-" : "+", hr__fixed_text(share, decimals, text));
  return buffer;
}

void hr__moved_texts(const struct hr__moved *moved, char *before, char *now) {
  hr__figure_text(moved->unit, moved->before, before);
  hr__figure_text(moved->unit, moved->now, now);
  if (strcmp(before, now) != 0) return;
  hr__decimal_text(moved->before, before);
  hr__decimal_text(moved->now, now);
}

void hr__case_summary(const struct hr__check_case *item, char *text, size_t size) {
  size_t worse = hr__case_worse(item);
  const char *what = item->verdict == HR__CASE_NEW    ? "not in the baseline"
                     : item->verdict == HR__CASE_GONE ? "not in the suite"
                     : item->other_trace              ? "another trace"
                     : item->other_digest             ? "other decisions"
                                                      : "the same figures";
  if (worse)
    snprintf(text, size, "%zu figure%s moved too far", worse, worse == 1 ? "" : "s");
  else if (item->n_moved)
    snprintf(text, size, "%zu figure%s moved, as allowed", item->n_moved, item->n_moved == 1 ? "" : "s");
  else
    snprintf(text, size, "%s", what);
}

void hr__check_headline(const struct hr_check *check, char *text, size_t size) {
  size_t failures = hr_check_failures(check), runs = hr_check_runs(check);
  if (failures)
    snprintf(text, size, "%zu of %zu run%s failed", failures, runs, runs == 1 ? "" : "s");
  else if (runs == 1)
    snprintf(text, size, "1 run passed");
  else
    snprintf(text, size, "%zu runs passed", runs);
}

/* ---- Sentences -------------------------------------------------------------------------------------- */

static void put(const struct hr__sentences *to, const char *format, ...) HR_PRINTF(2, 3);
static void put(const struct hr__sentences *to, const char *format, ...) {
  char text[SENTENCE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  to->put(to->self, text);
}

/* "after 3 h 2 min" */
static const char *wait_words(int64_t wait_s, char *buffer) {
  char text[HR__NUMBER_BYTES];
  if (wait_s == HR_NEVER_US) return strcpy(buffer, "never");
  if (wait_s == 0) return strcpy(buffer, "at once");
  snprintf(buffer, 2 * HR__NUMBER_BYTES, "after %.40s", hr__duration_text((double)wait_s, text));
  return buffer;
}

static const char *reason_words(enum hr_reason reason) {
  if (reason == HR_REASON_BACKFILL) return " by backfill";
  return reason == HR_REASON_IN_ORDER ? " in its turn" : "";
}

static void tell_start(const struct hr__other_start *start, const struct hr__sentences *to) {
  char submit[HR__NUMBER_BYTES], now[2 * HR__NUMBER_BYTES], before[2 * HR__NUMBER_BYTES];
  bool starts = start->now_s != HR_NEVER_US, started = start->before_s != HR_NEVER_US;
  put(to,
      "The first job whose start differs: %.100s%s%.100s (%" PRIu32 " GPU%s, submitted at %s). It starts %s%s; before, "
      "%s%s.",
      start->job, start->tenant ? " of " : "", start->tenant ? start->tenant : "", start->gpus,
      start->gpus == 1 ? "" : "s", hr__duration_text((double)start->submit_s, submit), wait_words(start->now_s, now),
      starts ? reason_words(start->reason) : "", wait_words(start->before_s, before),
      !started                ? ""
      : start->was_backfilled ? " by backfill"
                              : " in its turn");
  if (!starts && start->reason != HR_REASON_NONE) put(to, "It is rejected: %s.", hr_reason_name(start->reason));
  if (start->held) put(to, "%s", start->held);
}

static void tell_decisions(const struct hr__other_decisions *decisions, bool same_starts,
                           const struct hr__sentences *to) {
  char first[HR__NUMBER_BYTES], last[HR__NUMBER_BYTES], count[HR__NUMBER_BYTES];
  put(to, "%sdecision that differs is one of %s to %s, of %s%s%s.%s",
      same_starts ? "Every job starts when it did, but a " : "The first ", hr__count_text(decisions->first, first),
      hr__count_text(decisions->last, last), hr__count_text(decisions->count, count),
      decisions->begins ? "; they begin with the " : "", decisions->begins ? decisions->begins : "",
      decisions->begins ? "" : " Now there are fewer.");
}

static void tell_digest(const struct hr__check_case *item, const struct hr__sentences *to) {
  if (item->other_trace)
    put(to, "The trace %.200s is another than the baseline's%s.", item->now.trace,
        item->wants_digest ? "" : ", so jobs are not compared");
  if (!item->other_digest) return;
  put(to, "The digest is %016" PRIx64 ", not %016" PRIx64 ": what happened is not the same%s.", item->now.digest,
      item->before->digest, item->wants_digest ? "" : ", which is allowed here");
}

void hr__case_tell(const struct hr__check_case *item, const struct hr__sentences *to) {
  if (item->verdict == HR__CASE_NEW) put(to, "It is not in the baseline; --update puts it there.");
  if (item->verdict == HR__CASE_GONE) put(to, "It is in the baseline and not in the suite; --update drops it.");
  if (!item->before || !item->run) return;
  tell_digest(item, to);
  if (item->start.found) tell_start(&item->start, to);
  if (item->decisions.found) tell_decisions(&item->decisions, item->start.same, to);
  for (size_t i = 0; i < item->told.count; i++) put(to, "%s.", item->told.text[i]);
}

/* A check for a person at a terminal: only what moved. */

enum { LABEL = 33, VALUE = 13, CHANGE = 9, MOST_ROWS = 24, MOST_TABLES = 6 };

/* Words broken into lines, two columns in. */
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

static void put_sentence(void *self, const char *sentence) {
  put_wrapped(self, sentence);
}

/* Right-aligned in columns, not bytes. */
static void put_right(FILE *out, const char *text, int width) {
  int has = (int)hr__width_of(text, strlen(text));
  fprintf(out, " %*s%s", has < width ? width - has : 0, "", text);
}

/* What does not fit has a line of its own: names tell figures apart by their ends and their begins. */
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

static void put_moved(struct hr__console *console, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  bool failed = moved->verdict == HR__WORSE;
  put_label(console, moved->label);
  hr__moved_texts(moved, before, now);
  put_right(console->out, before, VALUE);
  put_right(console->out, now, VALUE);
  put_right(console->out, hr__change_text(moved, change), CHANGE);
  fprintf(console->out, " %s%s%s\n", failed ? hr__bold(console) : hr__dim(console), hr__verdict_word(moved->verdict),
          hr__plain(console));
}

static void put_table(struct hr__console *console, const struct hr__check_case *item) {
  size_t shown = 0;
  if (item->n_moved == 0) return;
  fprintf(console->out, "  %s%-*s %*s %*s %*s%s\n", hr__dim(console), LABEL, "figure", VALUE, "baseline", VALUE, "now",
          CHANGE, "change", hr__plain(console));
  for (int failing = 1; failing >= 0; failing--)
    for (size_t i = 0; i < item->n_moved && shown < MOST_ROWS; i++) {
      if ((item->moved[i].verdict == HR__WORSE) != failing) continue;
      put_moved(console, &item->moved[i]);
      shown++;
    }
  if (shown < item->n_moved)
    fprintf(console->out, "  and %zu more figures, which --json holds\n", item->n_moved - shown);
}

static void put_head(struct hr__console *console, const struct hr__check_case *item, bool updating,
                     const char *summary) {
  static const char *const words[] = {[HR__CASE_TOLD] = "passed, and yet",
                                      [HR__CASE_NEW] = "NEW",
                                      [HR__CASE_GONE] = "GONE",
                                      [HR__CASE_FAILED] = "FAILED"};
  char *name = hr__fitted(console, item->name, HR__LINE_WIDTH - 18 - strlen(summary), true);
  fprintf(console->out, "%s%s %s%s%s%s\n", hr__bold(console), updating ? "updated" : words[item->verdict],
          name ? name : "", hr__plain(console), summary[0] ? ": " : "", summary);
  free(name);
}

static void put_case(struct hr__console *console, const struct hr__check_case *item, bool updating) {
  const struct hr__sentences to = {.self = console, .put = put_sentence};
  put_head(console, item, updating, "");
  put_table(console, item);
  hr__case_tell(item, &to);
  fputc('\n', console->out);
}

/* Those that failed, or those that passed and are not the same; of many, the first whole and the others in a line. */
static size_t put_cases(struct hr__console *console, const struct hr_check *check, bool failed, bool updating) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    char summary[100];
    if (item->verdict == HR__CASE_SAME || hr__case_failed(item) != failed) continue;
    if (count++ < MOST_TABLES) {
      put_case(console, item, updating);
    } else {
      hr__case_summary(item, summary, sizeof summary);
      put_head(console, item, updating, summary);
    }
  }
  if (count > MOST_TABLES) fputc('\n', console->out);
  return count;
}

enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool updating, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  char headline[100];
  hr__check_headline(check, headline, sizeof headline);
  size_t others = put_cases(&console, check, true, updating);
  others += put_cases(&console, check, false, updating);
  if (updating)
    fprintf(out, "%zu run%s in the baseline, %zu of them other than before\n", check->n_cases,
            check->n_cases == 1 ? "" : "s", others);
  else
    fprintf(out, "%s%s%s\n", hr__bold(&console), headline, hr__plain(&console));
  return console.out_of_memory ? HR_NO_MEMORY : HR_OK;
}

/* A check as JSON (docs/reference/schemas/check-result.schema.json). */

static void put_known(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}

static void json_put_moved(struct hr__json *json, cJSON *array, const struct hr__moved *moved) {
  static const char *const verdicts[] = {
      [HR__BETTER] = "better", [HR__ALLOWED] = "allowed", [HR__CHANCE] = "chance", [HR__WORSE] = "failed"};
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "figure", moved->label);
  put_known(json, object, "baseline", moved->before);
  put_known(json, object, "now", moved->now);
  put_known(json, object, "low", moved->low);
  put_known(json, object, "high", moved->high);
  put_known(json, object, "chance", moved->chance);
  hr__json_text(json, object, "verdict", verdicts[moved->verdict]);
}

static void put_wait(struct hr__json *json, cJSON *object, const char *key, int64_t wait_s) {
  hr__json_number_if(json, object, key, wait_s != HR_NEVER_US, (double)wait_s);
}

static void put_start(struct hr__json *json, cJSON *run, const struct hr__other_start *start) {
  if (!start->found) {
    hr__json_null(json, run, "first_start");
    return;
  }
  cJSON *object = hr__json_object(json, run, "first_start");
  hr__json_text(json, object, "job", start->job);
  hr__json_text(json, object, "tenant", start->tenant);
  hr__json_count(json, object, "gpus", start->gpus);
  hr__json_count(json, object, "submit_s", (uint64_t)start->submit_s);
  put_wait(json, object, "baseline_wait_s", start->before_s);
  put_wait(json, object, "wait_s", start->now_s);
  hr__json_bool(json, object, "baseline_backfilled", start->was_backfilled);
  hr__json_text(json, object, "reason", hr_reason_name(start->reason));
  hr__json_text(json, object, "held", start->held);
}

static void put_decisions(struct hr__json *json, cJSON *run, const struct hr__other_decisions *decisions) {
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

static void put_digest(struct hr__json *json, cJSON *run, const char *key, bool known, uint64_t digest) {
  char text[20];
  snprintf(text, sizeof text, "%016" PRIx64, digest);
  hr__json_text(json, run, key, known ? text : NULL);
}

static void put_run(struct hr__json *json, cJSON *array, const struct hr__check_case *item) {
  static const char *const verdicts[] = {[HR__CASE_SAME] = "same",
                                         [HR__CASE_TOLD] = "passed",
                                         [HR__CASE_NEW] = "new",
                                         [HR__CASE_GONE] = "gone",
                                         [HR__CASE_FAILED] = "failed"};
  cJSON *run = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, run, "name", item->name);
  hr__json_text(json, run, "verdict", verdicts[item->verdict]);
  hr__json_text(json, run, "scenario", item->run ? item->run->scenario : NULL);
  put_digest(json, run, "baseline_digest", item->before != NULL, item->before ? item->before->digest : 0);
  put_digest(json, run, "digest", item->run != NULL, item->now.digest);
  cJSON *moved = hr__json_array(json, run, "moved");
  for (size_t i = 0; i < item->n_moved; i++) json_put_moved(json, moved, &item->moved[i]);
  put_start(json, run, &item->start);
  put_decisions(json, run, &item->decisions);
  cJSON *notes = hr__json_array(json, run, "notes");
  hr__json_notes(json, notes, &item->told);
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
  for (size_t i = 0; i < check->n_cases; i++) put_run(&json, runs, &check->cases[i]);
  cJSON *notes = hr__json_array(&json, root, "notes");
  hr__json_notes(&json, notes, &check->notes);
  return hr__json_write(&json, root, path, error);
}
