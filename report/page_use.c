/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What GPUs were held for. Of an attempt it is known how long it restarted, saved, did work that was kept and work that
 * was lost, not when: here restarting comes first, then the work that was kept, then what was lost, and checkpoints are
 * written all along. What was lost is told at the moment at which it was.
 */

#include "report/page_split.h"

#include <math.h>
#include <stdlib.h>

/* ---- Busy, useful, lost ----------------------------------------------------------------------------- */

struct use {
  struct hr__page_sums busy, useful, lost;
};

static void add_use(struct use *use, const struct hr__page_grid *grid, const struct hr_attempt *attempt) {
  int64_t work_us = attempt->kept_us + attempt->lost_us, end_us = attempt->end_us;
  int64_t from_us = attempt->begin_us + attempt->restarting_us, kept_to_us = from_us;
  if (work_us > 0) kept_to_us += (int64_t)((hr_amount)(end_us - from_us) * attempt->kept_us / work_us);
  hr_amount milli = attempt->gpu_milli;
  if (attempt->lost_us) hr__page_put(&use->lost, grid, end_us, milli * attempt->lost_us);
  if (attempt->saving_us) {
    hr__page_spread(&use->busy, grid, from_us, end_us, milli * work_us);
    hr__page_spread(&use->useful, grid, from_us, kept_to_us, milli * attempt->kept_us);
  } else {
    hr__page_hold(&use->busy, grid, from_us, end_us, milli);
    hr__page_hold(&use->useful, grid, from_us, kept_to_us, milli);
  }
}

enum hr_status hr__page_use(const struct hr__page_view *view, struct hr__page_json *json) {
  struct use use = {0};
  struct hr__page_sums *const all[] = {&use.busy, &use.useful, &use.lost};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HR_OK; i++)
    status = hr__page_sums_init(all[i], &view->grid);
  if (status == HR_OK) {
    for (size_t i = 0; i < view->n_attempts; i++) add_use(&use, &view->grid, &view->attempts[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_close(all[i], &view->grid);
    hr__page_open(json, "busy", '{');
    hr__page_put_means(json, "mean", &use.busy, &view->grid, 1000);
    hr__page_close(json, '}');
    hr__page_open(json, "useful", '{');
    hr__page_put_means(json, "mean", &use.useful, &view->grid, 1000);
    hr__page_close(json, '}');
    if (view->run->summary->stoppable)
      hr__page_put_sums(json, "lost_gpu_hours", &use.lost, &view->grid, 1000 * 3600.0 * (double)HR_SECOND_US);
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_finish(all[i]);
  return status;
}

/* ---- Waits ------------------------------------------------------------------------------------------ */

struct waits {
  uint32_t *count;
  hr_amount *sum_us;
  int64_t *most_us;
};

static void put_waits(const struct hr__page_grid *grid, const struct waits *waits, struct hr__page_json *json) {
  hr__page_open(json, "wait_s", '{');
  hr__page_open(json, "mean", '[');
  for (uint32_t i = 0; i < grid->n; i++) {
    double seconds = (double)waits->sum_us[i] / (double)HR_SECOND_US;
    hr__page_number(json, NULL, waits->count[i] ? seconds / waits->count[i] : (double)NAN);
  }
  hr__page_close(json, ']');
  hr__page_open(json, "max", '[');
  for (uint32_t i = 0; i < grid->n; i++)
    hr__page_number(json, NULL, waits->count[i] ? (double)waits->most_us[i] / (double)HR_SECOND_US : (double)NAN);
  hr__page_close(json, ']');
  hr__page_close(json, '}');
}

/* Of the jobs that first started in the bucket. */
enum hr_status hr__page_waits(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr__page_grid *grid = &view->grid;
  const struct hr_result *result = view->run->result;
  size_t n = (size_t)grid->n + 1;
  struct waits waits = {calloc(n, sizeof *waits.count), calloc(n, sizeof *waits.sum_us),
                        calloc(n, sizeof *waits.most_us)};
  bool good = waits.count && waits.sum_us && waits.most_us;
  for (uint32_t job = 0; good && grid->n && job < result->n_jobs; job++) {
    if (result->start_us[job] == HR_NEVER_US) continue;
    int64_t wait_us = result->start_us[job] - view->run->trace->submit_us[job];
    uint32_t i = hr__page_bucket(grid, result->start_us[job]);
    waits.count[i]++;
    waits.sum_us[i] += wait_us;
    if (waits.most_us[i] < wait_us) waits.most_us[i] = wait_us;
  }
  if (good) put_waits(grid, &waits, json);
  free(waits.count);
  free(waits.sum_us);
  free(waits.most_us);
  return good ? HR_OK : HR_NO_MEMORY;
}
