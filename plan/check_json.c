/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A check as JSON (docs/reference/schemas/check-result.schema.json). */

#include "plan/checking.h"
#include "report/json_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_known(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}

static void put_moved(struct hr__json *json, cJSON *array, const struct hr__moved *moved) {
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
  for (size_t i = 0; i < item->n_moved; i++) put_moved(json, moved, &item->moved[i]);
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
