/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every stay on GPUs of the jobs that had more than one. */

#include "report/page_table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ATTEMPTS = 300000 };

/* How an attempt ended and why, as one number. */
static uint32_t end_key(const struct hr_attempt *attempt) {
  return (uint32_t)attempt->end << 8 | attempt->end_reason;
}

static void put_ends(struct hr__page_json *json, const struct hr__page_numbering *ends) {
  static const char *const names[] = {[HR_ATTEMPT_RUNNING] = "running",
                                      [HR_ATTEMPT_COMPLETED] = "completed",
                                      [HR_ATTEMPT_INTERRUPTED] = "interrupted",
                                      [HR_ATTEMPT_PREEMPTED] = "preempted"};
  hr__page_open(json, "end", '[');
  for (uint32_t i = 0; i < ends->count; i++) {
    char text[80];
    const char *name = names[ends->keys[i] >> 8], *reason = hr_reason_name((enum hr_reason)(ends->keys[i] & 255));
    bool told = reason[0] && strcmp(reason, name) != 0;
    snprintf(text, sizeof text, told ? "%s: %s" : "%s", name, reason);
    hr__page_text(json, NULL, text);
  }
  hr__page_close(json, ']');
}

static void put_pools(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cluster_spec *cluster = view->run->cluster;
  hr__page_open(json, "pool", '[');
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    hr__page_text(json, NULL, cluster->pools[i].name ? cluster->pools[i].name : "");
  hr__page_close(json, ']');
}

typedef int64_t attempt_value(const struct hr__page_view *view, const struct hr_attempt *attempt);

static int64_t begin_us_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  (void)view;
  return attempt->begin_us;
}
static int64_t end_us_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  (void)view;
  return attempt->end_us;
}
static int64_t pool_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  (void)view;
  return attempt->pool.id;
}
static int64_t n_nodes_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  return hr__page_nodes_of(view, attempt);
}
static int64_t lost_us_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  (void)view;
  return attempt->lost_us;
}

static void gather(struct hr__page_table *table, const uint32_t *places, attempt_value *value) {
  for (uint32_t i = 0; i < table->n; i++) table->values[i] = value(table->view, &table->view->attempts[places[i]]);
}

static void put_attempt_columns(struct hr__page_table *table, const uint32_t *places, struct hr__page_numbering *ends) {
  gather(table, places, begin_us_of);
  hr__page_table_times(table, "begin_s", true);
  gather(table, places, end_us_of);
  hr__page_table_times(table, "end_s", true);
  gather(table, places, pool_of);
  hr__page_table_column(table, "pool", false);
  gather(table, places, hr__page_node_of);
  hr__page_table_column(table, "node", false);
  gather(table, places, n_nodes_of);
  hr__page_table_column(table, "n_nodes", false);
  for (uint32_t i = 0; i < table->n; i++)
    table->values[i] = hr__page_number_of(ends, end_key(&table->view->attempts[places[i]]));
  hr__page_table_column(table, "end", false);
  gather(table, places, lost_us_of);
  hr__page_table_times(table, "lost_s", false);
}

/* ---- Which --------------------------------------------------------------------------------------------- */

/* Job by job, as long as there is room for all of a job's. */
struct list {
  uint32_t *places; /* of attempts */
  uint32_t *rows;   /* of the jobs' table */
  uint32_t count;   /* of those listed */
  uint64_t all;     /* that there are */
};

static void list_job(struct list *list, const struct hr__page_view *view, const struct hr_attempt *last, uint32_t row) {
  uint32_t n = last->number + 1;
  list->all += n;
  if (n > MOST_ATTEMPTS - list->count) return;
  const struct hr_attempt *attempt = last;
  for (uint32_t i = n; i-- > 0;) {
    list->places[list->count + i] = (uint32_t)(attempt - view->attempts);
    list->rows[list->count + i] = row;
    if (i) attempt = &view->attempts[attempt->previous];
  }
  list->count += n;
}

static void list_attempts(struct list *list, const struct hr__page_view *view, const uint32_t *jobs, uint32_t n_jobs) {
  for (uint32_t row = 0; row < n_jobs; row++) {
    const struct hr_attempt *last = hr__page_last_attempt(view, jobs[row]);
    if (last && last->number) list_job(list, view, last, row);
  }
}

static enum hr_status put_list(const struct hr__page_view *view, const struct list *list, struct hr__page_json *json,
                               struct hr__page_block *block) {
  struct hr__page_numbering ends = {0};
  struct hr__page_table table;
  enum hr_status status = hr__page_table_init(&table, view, json, block, list->count);
  if (status == HR_OK) status = hr__page_numbering_init(&ends, 1 << 16);
  if (status == HR_OK) {
    hr__page_open(json, "attempts", '{');
    hr__page_count(json, "count", list->all);
    hr__page_count(json, "shown", list->count);
    hr__page_text(json, "block", "attempts");
    hr__page_open(json, "columns", '[');
    for (uint32_t i = 0; i < list->count; i++) table.values[i] = list->rows[i];
    hr__page_table_column(&table, "job", true);
    put_attempt_columns(&table, list->places, &ends);
    hr__page_close(json, ']');
    hr__page_open(json, "text", '{');
    put_ends(json, &ends);
    put_pools(view, json);
    hr__page_close(json, '}');
    hr__page_close(json, '}');
  }
  hr__page_numbering_finish(&ends);
  hr__page_table_finish(&table);
  return status;
}

enum hr_status hr__page_attempts(const struct hr__page_view *view, const uint32_t *jobs, uint32_t n_jobs,
                                 struct hr__page_json *json, struct hr__page_block *block) {
  struct list list = {malloc(MOST_ATTEMPTS * sizeof *list.places), malloc(MOST_ATTEMPTS * sizeof *list.rows), 0, 0};
  enum hr_status status = list.places && list.rows ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK) {
    list_attempts(&list, view, jobs, n_jobs);
    if (list.count) status = put_list(view, &list, json, block);
  }
  free(list.places);
  free(list.rows);
  return status;
}
