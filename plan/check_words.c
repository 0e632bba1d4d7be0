/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a check found, as words that all of its files share. */

#include "plan/checking.h"
#include "plan/figures.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_BYTES = 900 };

const char *hr__verdict_word(enum hr__verdict verdict) {
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
