/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Campaigns: jobs of one submitter and one number of GPUs follow each other as long as the time between two submits is
 * at most a quarter of the mean such time over the trace, but no more than four hours, and no less than half an hour
 * where the submitter is told: what somebody submits at a sitting belongs together (sessions by their submits: Zakay
 * and Feitelson, Concurrency and Computation 26, 2014). Where it is not, two minutes, as any two jobs may be of two
 * people. So a rare kind of job is joined over longer pauses than one of which a new job comes every minute.
 */

#include "workload/like_fit.h"

#include <stdlib.h>

static const int64_t sitting_us = 1800 * HR_SECOND_US, least_pause_us = 120 * HR_SECOND_US;
static const int64_t most_pause_us = 4 * 3600 * HR_SECOND_US;

struct keyed {
  uint64_t key; /* who and GPUs */
  uint32_t job;
};

static int by_key(const void *a, const void *b) {
  const struct keyed *first = a, *second = b;
  if (first->key != second->key) return first->key < second->key ? -1 : 1;
  return first->job < second->job ? -1 : first->job > second->job;
}

static uint32_t who_of(const struct hr__like_fit *fit, uint32_t job) {
  const uint32_t *column = fit->has_users ? fit->trace->user : fit->trace->tenant;
  return column ? column[job] : HR_NONE;
}

/* The longest within a campaign, of `n_jobs` jobs of that submitter and number of GPUs. */
static int64_t pause_of(const struct hr__like_fit *fit, uint32_t who, uint32_t n_jobs) {
  const struct hr_trace *trace = fit->trace;
  int64_t pause_us = trace->submit_us[trace->n_jobs - 1] / n_jobs / 4;
  int64_t least_us = who == HR_NONE ? least_pause_us : sitting_us;
  return pause_us < least_us ? least_us : pause_us > most_pause_us ? most_pause_us : pause_us;
}

/* Cuts the jobs rows[first .. end), which have one key. */
static void cut(struct hr__like_fit *fit, const struct keyed *rows, uint32_t first, uint32_t end) {
  const int64_t *submit_us = fit->trace->submit_us;
  uint32_t who = who_of(fit, rows[first].job);
  int64_t pause_us = pause_of(fit, who, end - first), last_us = 0;
  struct hr__like_fit_campaign *campaign = NULL;
  for (uint32_t i = first; i < end; i++) {
    uint32_t job = rows[i].job;
    fit->order[i] = job;
    if (!campaign || submit_us[job] - last_us > pause_us) {
      campaign = &fit->campaigns[fit->n_campaigns++];
      *campaign = (struct hr__like_fit_campaign){.start_us = submit_us[job], .first = i, .who = who};
    }
    campaign->n_jobs++;
    last_us = submit_us[job];
  }
}

enum hr_status hr__like_fit_campaigns(struct hr__like_fit *fit) {
  const struct hr_trace *trace = fit->trace;
  uint32_t n = trace->n_jobs;
  fit->has_users = trace->user != NULL;
  struct keyed *rows = malloc(n * sizeof *rows);
  fit->order = malloc(n * sizeof *fit->order);
  fit->campaigns = malloc(n * sizeof *fit->campaigns);
  if (!rows || !fit->order || !fit->campaigns) {
    free(rows);
    return HR_NO_MEMORY;
  }
  for (uint32_t i = 0; i < n; i++) rows[i] = (struct keyed){(uint64_t)who_of(fit, i) << 32 | trace->gpus[i], i};
  qsort(rows, n, sizeof *rows, by_key);
  for (uint32_t first = 0, end = 0; first < n; first = end) {
    while (end < n && rows[end].key == rows[first].key) end++;
    cut(fit, rows, first, end);
  }
  free(rows);
  return HR_OK;
}
