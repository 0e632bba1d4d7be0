/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers as JSON, times in seconds (docs/reference/schemas/why.schema.json). */

#include "headroom/unstable/why.h"
#include "report/costs/apportion.h"
#include "report/tables/json_tree.h"
#include "report/why/why.h"

#include <stdlib.h>

static double seconds(hr_amount us) {
  return (double)us / (double)HR_SECOND_US;
}

static void put_hold(struct hr__json *json, cJSON *object, const struct hr_why *why, uint32_t reason, uint32_t quota,
                     hr_job job) {
  char *text = NULL;
  size_t size = 0;
  hr__json_text(json, object, "reason", hr_wait_reason_name((enum hr_wait_reason_kind)reason));
  if (quota == HR_NONE) {
    hr__json_null(json, object, "quota");
    return;
  }
  FILE *out = open_memstream(&text, &size);
  if (out) hr__why_put_quota(out, why, quota, job);
  if (out && fclose(out) == 0)
    hr__json_text(json, object, "quota", text);
  else
    json->failed = true;
  free(text);
}

/* ---- Sums ---------------------------------------------------------------------------------------- */

static void put_reasons(struct hr__json *json, cJSON *object, const struct hr__why_row *row, const uint64_t *jobs_of) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = hr__why_order(row, order);
  cJSON *array = hr__json_array(json, object, "reasons");
  for (uint32_t i = 0; i < count; i++) {
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, item, "reason", hr_wait_reason_name(order[i]));
    if (jobs_of) hr__json_count(json, item, "jobs", jobs_of[order[i]]);
    hr__json_number(json, item, "wait_s", seconds(row->us[order[i]]));
    hr__json_number(json, item, "gpu_hours", seconds(row->milli_us[order[i]]) / 3.6e6);
  }
}

static void put_row(struct hr__json *json, cJSON *object, const struct hr__why_row *row, const uint64_t *jobs_of) {
  hr__json_count(json, object, "jobs", row->jobs);
  hr__json_number(json, object, "wait_s", seconds(row->all_us));
  hr__json_number(json, object, "gpu_hours", seconds(row->all_milli_us) / 3.6e6);
  put_reasons(json, object, row, jobs_of);
}

static void put_rows(struct hr__json *json, cJSON *root, const char *key, const char *name,
                     const struct hr__why_row *rows, size_t count) {
  cJSON *array = hr__json_array(json, root, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, item, name, rows[i].name);
    put_row(json, item, &rows[i], NULL);
  }
}

static void put_slowest(struct hr__json *json, cJSON *root, const struct hr_why *why, const struct hr__why_sums *sums,
                        uint32_t max_rows) {
  cJSON *array = hr__json_array(json, root, "slowest");
  for (size_t i = 0; i < sums->n_jobs && i < max_rows; i++) {
    char id[HR_JOB_ID_BUFFER];
    struct hr__why_row row;
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__why_job_row(why, sums->jobs[i].job, &row);
    hr__json_text(json, item, "job_id", hr_trace_job_id(why->trace, sums->jobs[i].job, id));
    hr__json_number(json, item, "gpus", (double)hr__why_request_milli(why, sums->jobs[i].job) / 1000);
    hr__json_number(json, item, "wait_s", seconds(row.all_us));
    put_reasons(json, item, &row, NULL);
  }
}

static void put_sums(struct hr__json *json, cJSON *root, const struct hr_why *why,
                     const struct hr_why_question *question, const struct hr__why_sums *sums) {
  if (question->of_tenant)
    hr__json_text(json, root, "tenant", question->tenant == HR_NONE ? "" : why->trace->tenants.text[question->tenant]);
  cJSON *waited = hr__json_object(json, root, "waited");
  put_row(json, waited, &sums->all, sums->jobs_of);
  hr__json_number(json, waited, "again_s", seconds(sums->later_us));
  hr__json_count(json, waited, "unfinished", sums->open);
  hr__json_count(json, waited, "rejected", sums->rejected);
  if (!question->of_tenant) put_rows(json, root, "by_tenant", "tenant", sums->tenants, sums->n_tenants);
  put_rows(json, root, "by_size", "gpus", sums->sizes, sums->n_sizes);
  if (question->slowest) put_slowest(json, root, why, sums, question->slowest);
}

/* ---- A job --------------------------------------------------------------------------------------- */

static void put_parts(struct hr__json *json, cJSON *object, const struct hr_why *why, const struct hr_wait *wait) {
  const struct hr_wait_part *parts = hr_waits_parts(why->waits, wait);
  cJSON *array = hr__json_array(json, object, "parts");
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    put_hold(json, item, why, parts[i].reason, parts[i].quota, wait->job);
    hr__json_number(json, item, "wait_s", seconds(parts[i].us));
  }
}

/* Adds the segments of a wait in time order. */
static void put_segments(struct hr__json *json, cJSON *object, const struct hr_why *why, const struct hr_wait *wait) {
  const struct hr_wait_segment *segments;
  size_t count = hr_waits_segments(why->waits, wait->job, &segments);
  cJSON *array = hr__json_array(json, object, "segments");
  for (size_t i = 0; i < count; i++) {
    const struct hr_wait_segment *segment = &segments[i];
    char id[HR_JOB_ID_BUFFER];
    bool has_other = segment->hold.behind.id != HR_NONE;
    if (segment->begin_us < wait->begin_us || segment->begin_us >= wait->end_us) continue;
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_number(json, item, "begin_s", seconds(segment->begin_us));
    hr__json_number(json, item, "end_s", seconds(segment->end_us));
    put_hold(json, item, why, segment->hold.reason, segment->hold.quota, wait->job);
    hr__json_text(json, item, "behind", has_other ? hr_trace_job_id(why->trace, segment->hold.behind, id) : NULL);
    hr__json_number(json, item, "asked_gpus", (double)segment->hold.asked_milli / 1000);
    hr__json_number(json, item, "least_free_gpus", (double)segment->min_free_milli / 1000);
    hr__json_number(json, item, "most_free_gpus", (double)segment->max_free_milli / 1000);
  }
}

static void put_waits(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_wait *waits;
  size_t count = hr_waits_of(why->waits, job, &waits);
  cJSON *array = hr__json_array(json, root, "waits");
  for (size_t i = 0; i < count; i++) {
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_number(json, item, "begin_s", seconds(waits[i].begin_us));
    hr__json_number(json, item, "end_s", seconds(waits[i].end_us));
    hr__json_number(json, item, "wait_s", seconds(waits[i].end_us - waits[i].begin_us));
    hr__json_bool(json, item, "first", waits[i].is_first);
    hr__json_bool(json, item, "unfinished", waits[i].is_open);
    put_parts(json, item, why, &waits[i]);
    put_segments(json, item, why, &waits[i]);
  }
}

static void put_attempt(struct hr__json *json, cJSON *item, const struct hr_why *why,
                        const struct hr_attempt *attempt) {
  static const char *const ends[] = {"running", "completed", "interrupted", "preempted"};
  bool stopped = attempt->end == HR_ATTEMPT_INTERRUPTED || attempt->end == HR_ATTEMPT_PREEMPTED;
  hr__json_number(json, item, "begin_s", seconds(attempt->begin_us));
  hr__json_number(json, item, "end_s", seconds(attempt->end_us));
  hr__json_text(json, item, "pool", why->cluster->pools[attempt->pool.id].name);
  hr__json_number(json, item, "gpus", (double)attempt->gpu_milli / 1000);
  hr__json_text(json, item, "start_reason", hr_reason_name((enum hr_reason)attempt->start_reason));
  hr__json_text(json, item, "end", ends[attempt->end]);
  hr__json_text(json, item, "end_reason", stopped ? hr_reason_name((enum hr_reason)attempt->end_reason) : NULL);
  hr__json_number(json, item, "kept_s", seconds(attempt->kept_us));
  hr__json_number(json, item, "lost_s", seconds(attempt->lost_us));
  hr__json_number(json, item, "saving_s", seconds(attempt->saving_us));
  hr__json_number(json, item, "restarting_s", seconds(attempt->restarting_us));
}

static void put_attempts(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_attempt *attempts;
  size_t count = hr_history_attempts(why->history, &attempts);
  cJSON *array = hr__json_array(json, root, "attempts");
  for (size_t i = 0; i < count; i++)
    if (attempts[i].job.id == job.id)
      put_attempt(json, hr__json_append(json, array, cJSON_CreateObject()), why, &attempts[i]);
}

static void put_job(struct hr__json *json, cJSON *root, const struct hr_why *why, hr_job job) {
  const struct hr_trace *trace = why->trace;
  char id[HR_JOB_ID_BUFFER];
  bool rejected = why->result->state[job.id] == HR_JOB_REJECTED;
  uint32_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE;
  cJSON *object = hr__json_object(json, root, "job");
  hr__json_text(json, object, "job_id", hr_trace_job_id(trace, job, id));
  hr__json_text(json, object, "tenant", tenant == HR_NONE ? NULL : trace->tenants.text[tenant]);
  hr__json_number(json, object, "submit_s", seconds(trace->submit_us[job.id]));
  hr__json_number(json, object, "gpus", (double)hr__why_request_milli(why, job) / 1000);
  hr__json_number(json, object, "run_time_s", seconds(trace->work_us[job.id]));
  hr__json_text(json, object, "state", hr_result_state_name(why->result, job));
  hr__json_text(json, object, "rejected",
                rejected ? hr_reason_name((enum hr_reason)why->result->reason[job.id]) : NULL);
  put_waits(json, object, why, job);
  put_attempts(json, object, why, job);
  bool has_cost = why->ledger && why->result->start_us[job.id] != HR_NEVER_US;
  int64_t uusd =
      has_cost ? (int64_t)hr__divided(hr_ledger_job(why->ledger, job), HR_LEDGER_UNITS_PER_UUSD) : HR_UNKNOWN_UUSD;
  hr__json_usd(json, object, "cost_usd", uusd);
}

/* ---- File ---------------------------------------------------------------------------------------- */

static void put_run(struct hr__json *json, cJSON *root, const struct hr_why *why) {
  char digest[17];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)why->result->digest);
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", why->scenario);
  hr__json_text(json, root, "trace", why->trace->source);
  hr__json_text(json, root, "policy", why->policy->ops->name);
  hr__json_seed(json, root, "seed", why->seed);
  hr__json_text(json, root, "digest", digest);
}

/* Returns NULL if out of memory. */
static cJSON *make_tree(struct hr__json *json, const struct hr_why *why, const struct hr_why_question *question) {
  struct hr__why_sums sums = {0};
  cJSON *root = cJSON_CreateObject();
  if (!root) return NULL;
  put_run(json, root, why);
  if (question->job.id != HR_NONE)
    put_job(json, root, why, question->job);
  else if (hr__why_add_up(why, question, &sums) == HR_OK)
    put_sums(json, root, why, question, &sums);
  else
    json->failed = true;
  hr__why_sums_finish(&sums);
  return root;
}

char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question) {
  struct hr__json json = {0};
  cJSON *root = make_tree(&json, why, question);
  return root ? hr__json_print(&json, root) : NULL;
}

enum hr_status hr_why_write_json(const char *path, const struct hr_why *why, const struct hr_why_question *question,
                                 struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = make_tree(&json, why, question);
  if (!root) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  return hr__json_write(&json, root, path, error);
}
