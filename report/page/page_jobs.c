/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job table of the HTML report, and the table of attempts. Each table is stored as columns in a binary block. If a
   job has only one attempt, the row of the job also describes the attempt. The table of attempts contains the attempts
   of jobs with more than one attempt, as long as there is space for all attempts of a job. */

#include "report/page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct page_table {
  const struct hr__page_view *view;
  struct hr__page_json *json; /* the writer; its current array is the list of columns */
  struct hr__page_block *block;
  int64_t *values; /* [n]: values of the current column; -1: unknown */
  uint32_t n;
};

/* Assigns the numbers 0, 1, 2, ... to keys in the order of their first use, so that only the texts of used keys are
   written. */
struct page_numbering {
  uint32_t *number; /* [n_keys]: number + 1; 0: not used yet */
  uint32_t *keys;   /* key of each number */
  uint32_t count;
};

/* Returns HR_NO_MEMORY if out of memory; call page_table_finish() even on failure. */
static enum hr_status page_table_init(struct page_table *table, const struct hr__page_view *view,
                                      struct hr__page_json *json, struct hr__page_block *block, uint32_t n) {
  *table = (struct page_table){view, json, block, malloc(((size_t)n + 1) * sizeof *table->values), n};
  return table->values ? HR_OK : HR_NO_MEMORY;
}

static void page_table_finish(struct page_table *table) {
  free(table->values);
  table->values = NULL;
}

/* ---- Columns --------------------------------------------------------------------------------------- */

static void put_scaled(struct page_table *table, const char *name, double scale, bool delta) {
  const struct hr__page_column column = {name, table->values, scale, delta};
  hr__page_column_put(table->block, table->json, &column, table->n);
}

/* Writes the column in `values`. Set `delta` if consecutive values are close to each other: then differences are
   stored. */
static void page_table_column(struct page_table *table, const char *name, bool delta) {
  put_scaled(table, name, 1, delta);
}

static bool all_whole(const struct page_table *table, int64_t unit) {
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] != -1 && table->values[i] % unit != 0) return false;
  return true;
}

static int64_t max_of(const struct page_table *table) {
  int64_t max = 0;
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] > max) max = table->values[i];
  return max;
}

/* Writes values that are given in millionths. If all values are whole numbers, they are written as such. Otherwise they
   are written in millionths, or rounded to thousandths if millionths do not fit into 32 bits. `delta`: see
   page_table_column. */
static void put_millionths(struct page_table *table, const char *name, bool delta) {
  enum { MILLION = 1000000, THOUSAND = 1000 };
  int64_t unit = all_whole(table, MILLION) ? MILLION : max_of(table) <= INT32_MAX ? 1 : THOUSAND;
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] != -1) table->values[i] = (table->values[i] + unit / 2) / unit;
  put_scaled(table, name, (double)unit / 1e6, delta);
}

/* A column of numbers. */
struct number_column {
  const char *name;
  bool in_millionths; /* see put_millionths() */
  bool delta;
};

static void put_numbers(struct page_table *table, const struct number_column *column) {
  if (column->in_millionths)
    put_millionths(table, column->name, column->delta);
  else
    page_table_column(table, column->name, column->delta);
}

/* ---- Texts ----------------------------------------------------------------------------------------- */

/* Returns HR_NO_MEMORY if out of memory; call page_numbering_finish() even on failure. */
static enum hr_status page_numbering_init(struct page_numbering *numbering, size_t n_keys) {
  *numbering = (struct page_numbering){calloc(n_keys + 1, sizeof *numbering->number),
                                       calloc(n_keys + 1, sizeof *numbering->keys), 0};
  return numbering->number && numbering->keys ? HR_OK : HR_NO_MEMORY;
}

static void page_numbering_finish(struct page_numbering *numbering) {
  free(numbering->number);
  free(numbering->keys);
}

/* Returns the number that is assigned to a key. If the key is new, assigns the next number. */
static uint32_t page_number_of(struct page_numbering *numbering, uint32_t key) {
  if (!numbering->number[key]) {
    numbering->keys[numbering->count++] = key;
    numbering->number[key] = numbering->count;
  }
  return numbering->number[key] - 1;
}

/* ---- Attempts -------------------------------------------------------------------------------------- */

/* Returns how many nodes an attempt used; 0 if it was assigned a pool but no particular nodes. */
static uint32_t page_nodes_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  const struct hr_slice *slices = hr_history_slices(view->run->history, attempt);
  uint32_t count = 0;
  for (uint32_t i = 0; i < attempt->n_slices; i++) count += i == 0 || slices[i].node.id != slices[i - 1].node.id;
  return count;
}

/* Returns the index of the first node of an attempt; -1 if it was assigned no particular nodes. */
static int64_t page_node_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  return attempt->n_slices ? (int64_t)hr_history_slices(view->run->history, attempt)->node.id : -1;
}

/* Returns the last attempt of a job; NULL if it has none. */
static const struct hr_attempt *page_last_attempt(const struct hr__page_view *view, uint32_t job) {
  uint32_t last = hr_history_last(view->run->history, (hr_job){job});
  return last == HR_NONE ? NULL : &view->attempts[last];
}

/* ---- Selection of jobs ----------------------------------------------------------------------------- */

struct page_jobs_choice {
  const struct hr_result *result;
  bool *shown;
  uint64_t *keys; /* capacity: the number of jobs */
};

typedef uint64_t job_key(const struct hr_result *result, uint32_t job);

/* Returns the wait of a job until its first start. The wait of a job that is still waiting ends with the run. */
static uint64_t wait_of(const struct hr_result *result, uint32_t job) {
  int64_t start_us = result->start_us[job];
  if (start_us == HR_NEVER_US) start_us = result->state[job] == HR_JOB_WAITING ? result->end_us : 0;
  int64_t wait_us = start_us - result->trace->submit_us[job];
  return wait_us > 0 ? (uint64_t)wait_us : 0;
}

static uint64_t size_of(const struct hr_result *result, uint32_t job) {
  uint64_t gpus = result->trace->gpus[job], seconds = (uint64_t)(result->trace->work_us[job] / HR_SECOND_US);
  return gpus * (seconds + 1);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

/* Selects the `count` jobs with the largest keys among jobs that are not selected yet. Ties are broken by index. */
static void show_largest(struct page_jobs_choice *choice, job_key *key, uint32_t count) {
  uint32_t n_jobs = choice->result->n_jobs, n_keys = 0, above = 0;
  for (uint32_t job = 0; job < n_jobs; job++)
    if (!choice->shown[job]) choice->keys[n_keys++] = key(choice->result, job);
  if (n_keys < count || count == 0) return;
  qsort(choice->keys, n_keys, sizeof *choice->keys, compare);
  uint64_t min = choice->keys[count - 1];
  while (choice->keys[above] > min) above++;
  for (uint32_t job = 0, equal = 0; job < n_jobs; job++) {
    if (choice->shown[job]) continue;
    uint64_t own = key(choice->result, job);
    if (own > min || (own == min && above + equal++ < count)) choice->shown[job] = true;
  }
}

/* Selects `count` of the jobs that are not selected yet, at regular distances. `of` is the number of these jobs. The
   distance may be a fraction; it is rounded as in Bresenham's algorithm. */
static void show_sample(struct page_jobs_choice *choice, uint32_t count, uint32_t of) {
  uint64_t error = 0;
  for (uint32_t job = 0; job < choice->result->n_jobs; job++) {
    if (choice->shown[job]) continue;
    error += count;
    if (error < of) continue;
    error -= of;
    choice->shown[job] = true;
  }
}

static uint32_t *list(const struct page_jobs_choice *choice, uint32_t *n_shown) {
  uint32_t *jobs = malloc(((size_t)choice->result->n_jobs + 1) * sizeof *jobs);
  *n_shown = 0;
  for (uint32_t job = 0; jobs && job < choice->result->n_jobs; job++)
    if (choice->shown[job]) jobs[(*n_shown)++] = job;
  return jobs;
}

uint32_t *hr__page_shown(const struct hr_result *result, uint32_t max, uint32_t *n_shown) {
  uint32_t n_jobs = result->n_jobs, third = max / 3;
  struct page_jobs_choice choice = {result, calloc((size_t)n_jobs + 1, sizeof *choice.shown),
                                    n_jobs > max ? malloc(n_jobs * sizeof *choice.keys) : NULL};
  uint32_t *jobs = NULL;
  if (choice.shown && n_jobs <= max) {
    for (uint32_t job = 0; job < n_jobs; job++) choice.shown[job] = true;
    jobs = list(&choice, n_shown);
  } else if (choice.shown && choice.keys) {
    show_largest(&choice, wait_of, third);
    show_largest(&choice, size_of, third);
    show_sample(&choice, max - 2 * third, n_jobs - 2 * third);
    jobs = list(&choice, n_shown);
  }
  free(choice.shown);
  free(choice.keys);
  return jobs;
}

/* ---- Table of attempts ----------------------------------------------------------------------------- */

enum { MAX_ATTEMPTS = 300000 };

/* Returns a key that combines how an attempt ended and the reason for it. */
static uint32_t end_key(const struct hr_attempt *attempt) {
  return (uint32_t)attempt->end << 8 | attempt->end_reason;
}

static void put_ends(struct hr__page_json *json, const struct page_numbering *ends) {
  static const char *const names[] = {[HR_ATTEMPT_RUNNING] = "running",
                                      [HR_ATTEMPT_COMPLETED] = "completed",
                                      [HR_ATTEMPT_INTERRUPTED] = "interrupted",
                                      [HR_ATTEMPT_PREEMPTED] = "preempted"};
  hr__page_open(json, "end", '[');
  for (uint32_t i = 0; i < ends->count; i++) {
    char text[80];
    const char *name = names[ends->keys[i] >> 8], *reason = hr_reason_name((enum hr_reason)(ends->keys[i] & 255));
    bool has_reason = reason[0] && strcmp(reason, name) != 0;
    snprintf(text, sizeof text, has_reason ? "%s: %s" : "%s", name, reason);
    hr__page_text(json, NULL, text);
  }
  hr__page_close(json, ']');
}

static void put_pools(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cluster_spec *cluster = view->run->cluster;
  hr__page_open(json, "pool", '[');
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    hr__page_name(json, NULL, cluster->pools[i].name ? cluster->pools[i].name : "");
  hr__page_close(json, ']');
}

enum { BEGIN_US, END_US, POOL, NODE, N_NODES, END, LOST_US, N_ATTEMPT_COLUMNS };

static const struct number_column attempt_columns[N_ATTEMPT_COLUMNS] = {
    [BEGIN_US] = {"begin_s", true, true}, [END_US] = {"end_s", true, true},      [POOL] = {"pool", false, false},
    [NODE] = {"node", false, false},      [N_NODES] = {"n_nodes", false, false}, [END] = {"end", false, false},
    [LOST_US] = {"lost_s", true, false}};

static int64_t attempt_value(const struct hr__page_view *view, const struct hr_attempt *attempt, unsigned column,
                             struct page_numbering *ends) {
  if (column == BEGIN_US) return attempt->begin_us;
  if (column == END_US) return attempt->end_us;
  if (column == POOL) return attempt->pool.id;
  if (column == NODE) return page_node_of(view, attempt);
  if (column == N_NODES) return page_nodes_of(view, attempt);
  return column == END ? page_number_of(ends, end_key(attempt)) : attempt->lost_us;
}

static void put_attempt_columns(struct page_table *table, const uint32_t *places, struct page_numbering *ends) {
  for (unsigned column = 0; column < N_ATTEMPT_COLUMNS; column++) {
    for (uint32_t i = 0; i < table->n; i++)
      table->values[i] = attempt_value(table->view, &table->view->attempts[places[i]], column, ends);
    put_numbers(table, &attempt_columns[column]);
  }
}

/* ---- List of attempts ------------------------------------------------------------------------------ */

/* The attempts of the jobs in the table, grouped by job. A job is omitted if not all of its attempts fit into the
   list. */
struct page_jobs_list {
  uint32_t *places; /* [count]: indices in the history */
  uint32_t *rows;   /* [count]: rows of the job table */
  uint32_t count;   /* number of listed attempts */
  uint64_t all;     /* number of attempts, also those of omitted jobs */
};

static void list_job(struct page_jobs_list *list, const struct hr__page_view *view, const struct hr_attempt *last,
                     uint32_t row) {
  uint32_t n = last->number + 1;
  list->all += n;
  if (n > MAX_ATTEMPTS - list->count) return;
  const struct hr_attempt *attempt = last;
  for (uint32_t i = n; i-- > 0;) {
    list->places[list->count + i] = (uint32_t)(attempt - view->attempts);
    list->rows[list->count + i] = row;
    if (i) attempt = &view->attempts[attempt->previous];
  }
  list->count += n;
}

static void list_attempts(struct page_jobs_list *list, const struct hr__page_view *view, const uint32_t *jobs,
                          uint32_t n_jobs) {
  for (uint32_t row = 0; row < n_jobs; row++) {
    const struct hr_attempt *last = page_last_attempt(view, jobs[row]);
    if (last && last->number) list_job(list, view, last, row);
  }
}

static enum hr_status put_list(const struct hr__page_view *view, const struct page_jobs_list *list,
                               struct hr__page_json *json, struct hr__page_block *block) {
  struct page_numbering ends = {0};
  struct page_table table;
  enum hr_status status = page_table_init(&table, view, json, block, list->count);
  if (status == HR_OK) status = page_numbering_init(&ends, 1 << 16);
  if (status == HR_OK) {
    hr__page_open(json, "attempts", '{');
    hr__page_count(json, "count", list->all);
    hr__page_count(json, "shown", list->count);
    hr__page_text(json, "block", "attempts");
    hr__page_open(json, "columns", '[');
    for (uint32_t i = 0; i < list->count; i++) table.values[i] = list->rows[i];
    page_table_column(&table, "job", true);
    put_attempt_columns(&table, list->places, &ends);
    hr__page_close(json, ']');
    hr__page_open(json, "text", '{');
    put_ends(json, &ends);
    put_pools(view, json);
    hr__page_close(json, '}');
    hr__page_close(json, '}');
  }
  page_numbering_finish(&ends);
  page_table_finish(&table);
  return status;
}

/* Writes "attempts": the attempts of the jobs of `jobs` with more than one attempt. Writes nothing if no attempts are
   listed. */
static enum hr_status page_attempts(const struct hr__page_view *view, const uint32_t *jobs, uint32_t n_jobs,
                                    struct hr__page_json *json, struct hr__page_block *block) {
  struct page_jobs_list list = {malloc(MAX_ATTEMPTS * sizeof *list.places), malloc(MAX_ATTEMPTS * sizeof *list.rows), 0,
                                0};
  enum hr_status status = list.places && list.rows ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK) {
    list_attempts(&list, view, jobs, n_jobs);
    if (list.count) status = put_list(view, &list, json, block);
  }
  free(list.places);
  free(list.rows);
  return status;
}

/* ---- Table of jobs: texts -------------------------------------------------------------------------- */

/* The columns of texts. Such a column contains a number for each job, and put_texts() writes the list of texts to which
   the numbers refer. */
enum { N_TEXTS = 5 };
static const struct {
  const char *name;
  enum hr__page_dimension dimension;
} text_columns[N_TEXTS] = {{"tenant", HR__PAGE_TENANT},
                           {"user", HR__PAGE_USER},
                           {"class", HR__PAGE_CLASS},
                           {"state", HR__PAGE_STATE},
                           {"pool", HR__PAGE_POOL}};

static enum hr_status put_text_columns(struct page_table *table, const uint32_t *jobs,
                                       struct page_numbering numberings[N_TEXTS]) {
  for (size_t c = 0; c < N_TEXTS; c++) {
    uint32_t n_keys = hr__page_keys(table->view, text_columns[c].dimension);
    if (n_keys == 0) continue;
    if (page_numbering_init(&numberings[c], (size_t)n_keys + 1) != HR_OK) return HR_NO_MEMORY;
    for (uint32_t i = 0; i < table->n; i++) {
      const struct hr_attempt *attempt = page_last_attempt(table->view, jobs[i]);
      uint32_t pool = attempt ? attempt->pool.id : table->view->run->cluster->n_pools;
      uint32_t key = hr__page_key(table->view, text_columns[c].dimension, jobs[i], pool);
      table->values[i] = page_number_of(&numberings[c], key);
    }
    page_table_column(table, text_columns[c].name, false);
  }
  return HR_OK;
}

static void put_texts(struct page_table *table, const struct page_numbering numberings[N_TEXTS]) {
  hr__page_open(table->json, "text", '{');
  for (size_t c = 0; c < N_TEXTS; c++) {
    if (!numberings[c].keys) continue;
    hr__page_open(table->json, text_columns[c].name, '[');
    for (uint32_t i = 0; i < numberings[c].count; i++)
      hr__page_name(table->json, NULL,
                    hr__page_key_name(table->view, text_columns[c].dimension, numberings[c].keys[i]));
    hr__page_close(table->json, ']');
  }
  hr__page_close(table->json, '}');
}

/* ---- Table of jobs: numbers ------------------------------------------------------------------------ */

enum { GPUS, SUBMITTED, WAITED, STARTED, ENDED, FIRST_NODE, NODES, ATTEMPTS, LOST, COST, N_JOB_COLUMNS };

static const struct number_column job_columns[N_JOB_COLUMNS] = {
    [GPUS] = {"gpus", false, false},     [SUBMITTED] = {"submit_s", true, true},  [WAITED] = {"wait_s", true, false},
    [STARTED] = {"start_s", true, true}, [ENDED] = {"end_s", true, true},         [FIRST_NODE] = {"node", false, false},
    [NODES] = {"nodes", false, false},   [ATTEMPTS] = {"attempts", false, false}, [LOST] = {"lost_s", true, false},
    [COST] = {"cost_usd", true, false}};

static int64_t job_value(const struct hr__page_view *view, uint32_t job, unsigned column) {
  const struct hr_page_run *run = view->run;
  const struct hr_attempt *attempt = page_last_attempt(view, job);
  int64_t start_us = run->result->start_us[job], end_us = hr_result_end_us(run->result, (hr_job){job});
  if (column == GPUS) return run->trace->gpus[job];
  if (column == SUBMITTED) return run->trace->submit_us[job];
  if (column == WAITED) return start_us == HR_NEVER_US ? -1 : start_us - run->trace->submit_us[job];
  if (column == STARTED) return start_us == HR_NEVER_US ? -1 : start_us;
  if (column == ENDED) return end_us == HR_NEVER_US ? -1 : end_us;
  if (column == FIRST_NODE) return attempt ? page_node_of(view, attempt) : -1;
  if (column == NODES) return attempt ? page_nodes_of(view, attempt) : 0;
  if (column == ATTEMPTS) return attempt ? attempt->number + 1 : 0;
  if (column == LOST) return hr_result_accounting(run->result, (hr_job){job}).lost_us;
  return (int64_t)(hr_ledger_job(run->ledger, (hr_job){job}) / HR_LEDGER_UNITS_PER_UUSD);
}

static void put_job_columns(struct page_table *table, const uint32_t *jobs) {
  const struct hr_page_run *run = table->view->run;
  for (unsigned column = 0; column < N_JOB_COLUMNS; column++) {
    if ((column == LOST && !run->result->account) || (column == COST && !run->ledger)) continue;
    for (uint32_t i = 0; i < table->n; i++) table->values[i] = job_value(table->view, jobs[i], column);
    put_numbers(table, &job_columns[column]);
  }
}

/* ---- Table of jobs: ids ---------------------------------------------------------------------------- */

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

static void put_id(struct hr__page_block *ids, const char *id) {
  size_t length = hr__page_cut(id, HR__PAGE_NAME_BYTES);
  hr__page_block_add(ids, id, length);
  if (id[length]) hr__page_block_add(ids, "...", 3);
}

/* Writes one id per line to the block. Line ends within an id are replaced by spaces. Long ids are cut. */
static void put_text_ids(struct page_table *table, const uint32_t *jobs, struct hr__page_block *ids) {
  char buffer[HR_JOB_ID_BUFFER];
  for (uint32_t i = 0; i < table->n; i++) {
    char *utf8 = hr__utf8_copy(hr_trace_job_id(table->view->run->trace, (hr_job){jobs[i]}, buffer));
    if (!utf8) ids->failed = true;
    for (char *at = utf8; at && *at; at++)
      if (*at == '\n') *at = ' ';
    if (i) hr__page_block_add(ids, "\n", 1);
    if (utf8) put_id(ids, utf8);
    free(utf8);
  }
}

static void put_ids(struct page_table *table, const uint32_t *jobs, struct hr__page_block *ids) {
  const struct hr_trace *trace = table->view->run->trace;
  if (has_text_ids(trace)) {
    put_text_ids(table, jobs, ids);
    return;
  }
  for (uint32_t i = 0; i < table->n; i++) table->values[i] = number_id(trace, jobs[i]);
  page_table_column(table, "id", true);
}

/* ---- Table of jobs --------------------------------------------------------------------------------- */

static void put_head(struct hr__page_json *json, uint32_t count, uint32_t shown) {
  char words[200];
  hr__page_count(json, "count", count);
  hr__page_count(json, "shown", shown);
  if (shown == count) return;
  snprintf(words, sizeof words,
           "%" PRIu32 " of %" PRIu32
           " jobs: a third are those that waited longest, a third are the largest, and the rest are "
           "a regular sample of the others",
           shown, count);
  hr__page_text(json, "why_not_all", words);
}

static enum hr_status put_columns(struct page_table *table, const uint32_t *jobs,
                                  struct page_numbering numberings[N_TEXTS], struct hr__page_block *ids) {
  hr__page_open(table->json, "columns", '[');
  put_ids(table, jobs, ids);
  enum hr_status status = put_text_columns(table, jobs, numberings);
  if (status == HR_OK) put_job_columns(table, jobs);
  hr__page_close(table->json, ']');
  return status;
}

static enum hr_status put_jobs(const struct hr__page_view *view, struct hr__page_json *json, const uint32_t *jobs,
                               uint32_t n_jobs, struct hr__page_job_blocks *blocks) {
  struct page_numbering numberings[N_TEXTS] = {{0}};
  struct page_table table;
  enum hr_status status = page_table_init(&table, view, json, &blocks->jobs, n_jobs);
  hr__page_open(json, "jobs", '{');
  put_head(json, view->run->result->n_jobs, n_jobs);
  hr__page_text(json, "block", "jobs");
  if (status == HR_OK) status = put_columns(&table, jobs, numberings, &blocks->ids);
  if (status == HR_OK) put_texts(&table, numberings);
  hr__page_close(json, '}');
  for (size_t i = 0; i < N_TEXTS; i++) page_numbering_finish(&numberings[i]);
  page_table_finish(&table);
  return status;
}

enum hr_status hr__page_jobs(const struct hr__page_view *view, struct hr__page_json *json,
                             struct hr__page_job_blocks *blocks) {
  uint32_t n_jobs;
  uint32_t *jobs = hr__page_shown(view->run->result, HR__PAGE_MAX_JOBS, &n_jobs);
  enum hr_status status = jobs ? put_jobs(view, json, jobs, n_jobs, blocks) : HR_NO_MEMORY;
  if (status == HR_OK) status = page_attempts(view, jobs, n_jobs, json, &blocks->attempts);
  free(jobs);
  return status;
}
