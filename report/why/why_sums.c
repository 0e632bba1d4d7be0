/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of waiting time. Waits are sorted by job, so each job is summed first and then added to its rows. */

#include "report/why/why.h"

#include "base/text.h"

#include "report/metrics/groups.h"

#include <stdlib.h>
#include <string.h>

static void add_wait(const struct hr_why *why, const struct hr_wait *wait, struct hr__why_row *row) {
  const struct hr_wait_part *parts = hr_waits_parts(why->waits, wait);
  uint64_t asked_milli = hr__why_request_milli(why, wait->job);
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    hr_amount milli_us = (hr_amount)parts[i].us * asked_milli;
    row->us[parts[i].reason] += parts[i].us;
    row->milli_us[parts[i].reason] += milli_us;
    row->all_us += parts[i].us;
    row->all_milli_us += milli_us;
  }
}

void hr__why_job_row(const struct hr_why *why, hr_job job, struct hr__why_row *row) {
  const struct hr_wait *waits;
  size_t count = hr_waits_of(why->waits, job, &waits);
  *row = (struct hr__why_row){.jobs = 1};
  for (size_t i = 0; i < count; i++) add_wait(why, &waits[i], row);
}

static void add_row(struct hr__why_row *to, const struct hr__why_row *row) {
  to->jobs += row->jobs;
  to->all_us += row->all_us;
  to->all_milli_us += row->all_milli_us;
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) {
    to->us[i] += row->us[i];
    to->milli_us[i] += row->milli_us[i];
  }
}

uint32_t hr__why_order(const struct hr__why_row *row, enum hr_wait_reason_kind order[HR_N_WAIT_REASONS]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) {
    uint32_t at = count;
    if (row->us[i] == 0) continue;
    for (; at > 0 && row->us[order[at - 1]] < row->us[i]; at--) order[at] = order[at - 1];
    order[at] = (enum hr_wait_reason_kind)i;
    count++;
  }
  return count;
}

/* ---- Summation ----------------------------------------------------------------------------------- */

/* Jobs without a tenant have the last row. */
static uint32_t tenant_of(const struct hr_why *why, hr_job job) {
  uint32_t tenant = why->trace->tenant ? why->trace->tenant[job.id] : HR_NONE;
  return tenant == HR_NONE ? why->trace->tenants.count : tenant;
}

static bool is_selected(const struct hr_why *why, const struct hr_why_question *question, hr_job job) {
  if (question->job.id != HR_NONE) return job.id == question->job.id;
  uint32_t tenant = question->tenant == HR_NONE ? why->trace->tenants.count : question->tenant;
  return !question->of_tenant || tenant_of(why, job) == tenant;
}

static void add_job(const struct hr_why *why, struct hr__why_sums *sums, const struct hr_wait *waits, size_t count) {
  struct hr__why_row row = {.jobs = 1};
  hr_job job = waits[0].job;
  for (size_t i = 0; i < count; i++) {
    add_wait(why, &waits[i], &row);
    if (!waits[i].is_first) sums->later_us += waits[i].end_us - waits[i].begin_us;
    sums->open += waits[i].is_open;
  }
  for (uint32_t i = 0; i < HR_N_WAIT_REASONS; i++) sums->jobs_of[i] += row.us[i] > 0;
  add_row(&sums->all, &row);
  add_row(&sums->tenants[tenant_of(why, job)], &row);
  add_row(&sums->sizes[hr__size_of(why->trace->gpus[job.id])], &row);
  sums->jobs[sums->n_jobs++] = (struct hr__why_job){job, (int64_t)row.all_us};
}

/* ---- Order --------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
  const struct hr__why_job *one = a, *other = b;
  if (one->us != other->us) return one->us > other->us ? -1 : 1;
  return one->job.id < other->job.id ? -1 : 1;
}

static int rows_by_time(const void *a, const void *b) {
  const struct hr__why_row *one = a, *other = b;
  if (one->all_us != other->all_us) return one->all_us > other->all_us ? -1 : 1;
  return strcmp(one->name, other->name);
}

/* Removes rows without waits; returns how many are left. */
static size_t drop_empty_rows(struct hr__why_row *rows, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (rows[i].all_us > 0) rows[kept++] = rows[i];
  return kept;
}

static void sort_rows(const struct hr_why *why, struct hr__why_sums *sums) {
  for (uint32_t i = 0; i <= why->trace->tenants.count; i++)
    sums->tenants[i].name = i < why->trace->tenants.count ? why->trace->tenants.text[i] : "";
  for (uint32_t i = 0; i < HR__SIZES; i++) sums->sizes[i].name = hr__size_name(i);
  sums->n_tenants = drop_empty_rows(sums->tenants, (size_t)why->trace->tenants.count + 1);
  sums->n_sizes = drop_empty_rows(sums->sizes, HR__SIZES);
  if (sums->n_tenants > 1) qsort(sums->tenants, sums->n_tenants, sizeof *sums->tenants, rows_by_time);
  if (sums->n_jobs > 1) qsort(sums->jobs, sums->n_jobs, sizeof *sums->jobs, by_time);
}

enum hr_status hr__why_add_up(const struct hr_why *why, const struct hr_why_question *question,
                              struct hr__why_sums *sums) {
  const struct hr_wait *waits;
  size_t count = hr_waits_all(why->waits, &waits), of_job = 0;
  *sums = (struct hr__why_sums){.all.name = ""};
  sums->tenants = calloc((size_t)why->trace->tenants.count + 1, sizeof *sums->tenants);
  sums->sizes = calloc(HR__SIZES, sizeof *sums->sizes);
  sums->jobs = malloc((count + 1) * sizeof *sums->jobs);
  if (!sums->tenants || !sums->sizes || !sums->jobs) return HR_NO_MEMORY;
  for (size_t i = 0; i < count; i += of_job) {
    for (of_job = 1; i + of_job < count && waits[i + of_job].job.id == waits[i].job.id;) of_job++;
    if (is_selected(why, question, waits[i].job)) add_job(why, sums, waits + i, of_job);
  }
  for (uint32_t i = 0; i < why->trace->n_jobs; i++)
    sums->rejected += why->result->state[i] == HR_JOB_REJECTED && is_selected(why, question, (hr_job){i});
  sort_rows(why, sums);
  return HR_OK;
}
