/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of jobs. One that had a single attempt has it in its row. */

#include "report/page_shown.h"
#include "report/page_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------------------------------------ */

/* A column of texts: for each of `jobs` a key, and its name. The list of texts is written by `put_texts`. */
struct text_column {
  const char *name;
  size_t n_keys; /* 0: there is no such column */
  uint32_t (*key_of)(const struct hr__page_view *view, uint32_t job);
  const char *(*text_of)(const struct hr__page_view *view, uint32_t key);
  struct hr__page_numbering numbering;
};

static uint32_t tenant_key(const struct hr__page_view *view, uint32_t job) {
  const struct hr_trace *trace = view->run->trace;
  return trace->tenant[job] == HR_NONE ? trace->tenants.count : trace->tenant[job];
}
static const char *tenant_text(const struct hr__page_view *view, uint32_t key) {
  const struct hr_names *names = &view->run->trace->tenants;
  return key < names->count ? names->text[key] : "";
}
static uint32_t user_key(const struct hr__page_view *view, uint32_t job) {
  const struct hr_trace *trace = view->run->trace;
  return trace->user[job] == HR_NONE ? trace->users.count : trace->user[job];
}
static const char *user_text(const struct hr__page_view *view, uint32_t key) {
  const struct hr_names *names = &view->run->trace->users;
  return key < names->count ? names->text[key] : "";
}
static uint32_t class_key(const struct hr__page_view *view, uint32_t job) {
  return view->run->trace->class_[job];
}
static const char *class_text(const struct hr__page_view *view, uint32_t key) {
  (void)view;
  return hr_job_class_name((enum hr_job_class)key);
}

/* The engine's states, told as the table of jobs tells them. */
static const char *state_text(const struct hr__page_view *view, uint32_t key) {
  static const char *const names[] = {[HR_JOB_FUTURE] = "unsubmitted",
                                      [HR_JOB_WAITING] = "unfinished",
                                      [HR_JOB_RUNNING] = "unfinished",
                                      [HR_JOB_COMPLETED] = "completed",
                                      [HR_JOB_REJECTED] = "rejected"};
  (void)view;
  return names[key];
}
static uint32_t state_key(const struct hr__page_view *view, uint32_t job) {
  uint32_t state = view->run->result->state[job];
  return state == HR_JOB_RUNNING ? (uint32_t)HR_JOB_WAITING : state;
}

static uint32_t pool_key(const struct hr__page_view *view, uint32_t job) {
  const struct hr_attempt *attempt = hr__page_last_attempt(view, job);
  return attempt ? attempt->pool.id : view->run->cluster->n_pools;
}
static const char *pool_text(const struct hr__page_view *view, uint32_t key) {
  const struct hr_cluster_spec *cluster = view->run->cluster;
  return key < cluster->n_pools && cluster->pools[key].name ? cluster->pools[key].name : "";
}

enum { N_TEXTS = 5 };

static void text_columns_init(struct text_column *columns, const struct hr__page_view *view) {
  const struct hr_trace *trace = view->run->trace;
  const struct text_column all[N_TEXTS] = {
      {"tenant", trace->tenant ? trace->tenants.count + 1 : 0, tenant_key, tenant_text, {0}},
      {"user", trace->user ? trace->users.count + 1 : 0, user_key, user_text, {0}},
      {"class", trace->class_ ? HR_N_CLASSES : 0, class_key, class_text, {0}},
      {"state", HR_JOB_REJECTED + 1, state_key, state_text, {0}},
      {"pool", view->run->cluster->n_pools + 1, pool_key, pool_text, {0}}};
  memcpy(columns, all, sizeof all);
}

static enum hr_status put_text_columns(struct hr__page_table *table, const uint32_t *jobs,
                                       struct text_column *columns) {
  for (size_t c = 0; c < N_TEXTS; c++) {
    struct text_column *column = &columns[c];
    if (column->n_keys == 0) continue;
    if (hr__page_numbering_init(&column->numbering, column->n_keys) != HR_OK) return HR_NO_MEMORY;
    for (uint32_t i = 0; i < table->n; i++)
      table->values[i] = hr__page_number_of(&column->numbering, column->key_of(table->view, jobs[i]));
    hr__page_table_column(table, column->name, false);
  }
  return HR_OK;
}

static void put_texts(struct hr__page_table *table, const struct text_column *columns) {
  hr__page_open(table->json, "text", '{');
  for (size_t c = 0; c < N_TEXTS; c++) {
    const struct text_column *column = &columns[c];
    if (column->n_keys == 0) continue;
    hr__page_open(table->json, column->name, '[');
    for (uint32_t i = 0; i < column->numbering.count; i++)
      hr__page_text(table->json, NULL, column->text_of(table->view, column->numbering.keys[i]));
    hr__page_close(table->json, ']');
  }
  hr__page_close(table->json, '}');
}

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static void put_job_times(struct hr__page_table *table, const uint32_t *jobs) {
  const struct hr_result *result = table->view->run->result;
  const struct hr_trace *trace = table->view->run->trace;
  for (uint32_t i = 0; i < table->n; i++) table->values[i] = trace->submit_us[jobs[i]];
  hr__page_table_times(table, "submit_s", true);
  for (uint32_t i = 0; i < table->n; i++) {
    int64_t start_us = result->start_us[jobs[i]];
    table->values[i] = start_us == HR_NEVER_US ? -1 : start_us - trace->submit_us[jobs[i]];
  }
  hr__page_table_times(table, "wait_s", false);
  for (uint32_t i = 0; i < table->n; i++) {
    int64_t start_us = result->start_us[jobs[i]];
    table->values[i] = start_us == HR_NEVER_US ? -1 : start_us;
  }
  hr__page_table_times(table, "start_s", true);
  for (uint32_t i = 0; i < table->n; i++) {
    int64_t end_us = hr_result_end_us(result, (hr_job){jobs[i]});
    table->values[i] = end_us == HR_NEVER_US ? -1 : end_us;
  }
  hr__page_table_times(table, "end_s", true);
}

static void put_places(struct hr__page_table *table, const uint32_t *jobs) {
  const struct hr__page_view *view = table->view;
  for (uint32_t i = 0; i < table->n; i++) {
    const struct hr_attempt *attempt = hr__page_last_attempt(view, jobs[i]);
    table->values[i] = attempt ? hr__page_node_of(view, attempt) : -1;
  }
  hr__page_table_column(table, "node", false);
  for (uint32_t i = 0; i < table->n; i++) {
    const struct hr_attempt *attempt = hr__page_last_attempt(view, jobs[i]);
    table->values[i] = attempt ? hr__page_nodes_of(view, attempt) : 0;
  }
  hr__page_table_column(table, "nodes", false);
}

static void put_fates(struct hr__page_table *table, const uint32_t *jobs) {
  const struct hr_page_run *run = table->view->run;
  for (uint32_t i = 0; i < table->n; i++) {
    const struct hr_attempt *attempt = hr__page_last_attempt(table->view, jobs[i]);
    table->values[i] = attempt ? attempt->number + 1 : 0;
  }
  hr__page_table_column(table, "attempts", false);
  if (run->result->fate) {
    for (uint32_t i = 0; i < table->n; i++) table->values[i] = run->result->fate[jobs[i]].lost_us;
    hr__page_table_times(table, "lost_s", false);
  }
  if (!run->ledger) return;
  for (uint32_t i = 0; i < table->n; i++)
    table->values[i] = (int64_t)(hr_ledger_job(run->ledger, (hr_job){jobs[i]}) / HR_LEDGER_UNITS_PER_UUSD);
  hr__page_table_usd(table, "cost_usd");
}

/* ---- Ids -------------------------------------------------------------------------------------------- */

static int64_t number_id(const struct hr_trace *trace, uint32_t job) {
  return trace->id_number ? trace->id_number[job] : (trace->row ? trace->row[job] : job) + INT64_C(1);
}

static bool has_text_ids(const struct hr_trace *trace) {
  const int64_t exact = INT64_C(1) << 53;
  if (trace->id_text) return true;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] >= exact || trace->id_number[job] <= -exact) return true;
  return false;
}

/* A line each; what would end one is a space. */
static void put_text_ids(struct hr__page_table *table, const uint32_t *jobs, struct hr__page_block *ids) {
  char buffer[HR_JOB_ID_BUFFER];
  for (uint32_t i = 0; i < table->n; i++) {
    char *utf8 = hr__utf8_copy(hr_trace_job_id(table->view->run->trace, (hr_job){jobs[i]}, buffer));
    if (!utf8) ids->failed = true;
    for (char *at = utf8; at && *at; at++)
      if (*at == '\n') *at = ' ';
    if (i) hr__page_block_add(ids, "\n", 1);
    if (utf8) hr__page_block_add(ids, utf8, strlen(utf8));
    free(utf8);
  }
}

static void put_ids(struct hr__page_table *table, const uint32_t *jobs, struct hr__page_block *ids) {
  const struct hr_trace *trace = table->view->run->trace;
  if (has_text_ids(trace)) {
    put_text_ids(table, jobs, ids);
    return;
  }
  for (uint32_t i = 0; i < table->n; i++) table->values[i] = number_id(trace, jobs[i]);
  hr__page_table_column(table, "id", true);
}

/* ---- The table -------------------------------------------------------------------------------------- */

static void put_head(struct hr__page_json *json, uint32_t count, uint32_t shown) {
  char words[200];
  hr__page_count(json, "count", count);
  hr__page_count(json, "shown", shown);
  if (shown == count) return;
  snprintf(words, sizeof words,
           "%" PRIu32 " of %" PRIu32
           " jobs: the third of them that waited longest, the third that is largest, and every "
           "so-many-th of the others",
           shown, count);
  hr__page_text(json, "why_not_all", words);
}

static enum hr_status put_columns(struct hr__page_table *table, const uint32_t *jobs, struct text_column *texts,
                                  struct hr__page_block *ids) {
  hr__page_open(table->json, "columns", '[');
  put_ids(table, jobs, ids);
  enum hr_status status = put_text_columns(table, jobs, texts);
  if (status == HR_OK) {
    for (uint32_t i = 0; i < table->n; i++) table->values[i] = table->view->run->trace->gpus[jobs[i]];
    hr__page_table_column(table, "gpus", false);
    put_job_times(table, jobs);
    put_places(table, jobs);
    put_fates(table, jobs);
  }
  hr__page_close(table->json, ']');
  return status;
}

static enum hr_status put_jobs(const struct hr__page_view *view, struct hr__page_json *json, const uint32_t *jobs,
                               uint32_t n_jobs, struct hr__page_job_blocks *blocks) {
  struct text_column texts[N_TEXTS];
  struct hr__page_table table;
  text_columns_init(texts, view);
  enum hr_status status = hr__page_table_init(&table, view, json, &blocks->jobs, n_jobs);
  hr__page_open(json, "jobs", '{');
  put_head(json, view->run->result->n_jobs, n_jobs);
  hr__page_text(json, "block", "jobs");
  if (status == HR_OK) status = put_columns(&table, jobs, texts, &blocks->ids);
  if (status == HR_OK) put_texts(&table, texts);
  hr__page_close(json, '}');
  for (size_t i = 0; i < N_TEXTS; i++) hr__page_numbering_finish(&texts[i].numbering);
  hr__page_table_finish(&table);
  return status;
}

enum hr_status hr__page_jobs(const struct hr__page_view *view, struct hr__page_json *json,
                             struct hr__page_job_blocks *blocks) {
  uint32_t n_jobs;
  uint32_t *jobs = hr__page_shown(view->run->result, HR__PAGE_MOST_JOBS, &n_jobs);
  enum hr_status status = jobs ? put_jobs(view, json, jobs, n_jobs, blocks) : HR_NO_MEMORY;
  if (status == HR_OK) status = hr__page_attempts(view, jobs, n_jobs, json, &blocks->attempts);
  free(jobs);
  return status;
}
