/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A third are the jobs that waited longest, a third the largest of the others, and what is left is every n-th of the
   jobs that are not there yet. */

#include "report/page_shown.h"

#include <stdlib.h>

struct choice {
  const struct hr_result *result;
  bool *shown;
  uint64_t *keys; /* room for all jobs */
};

typedef uint64_t job_key(const struct hr_result *result, uint32_t job);

/* A job that never started has waited until the end. */
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

/* Shows `count` more, those with the largest keys, the first of equal ones. */
static void show_largest(struct choice *choice, job_key *key, uint32_t count) {
  uint32_t n_jobs = choice->result->n_jobs, n_keys = 0, above = 0;
  for (uint32_t job = 0; job < n_jobs; job++)
    if (!choice->shown[job]) choice->keys[n_keys++] = key(choice->result, job);
  if (n_keys < count || count == 0) return;
  qsort(choice->keys, n_keys, sizeof *choice->keys, compare);
  uint64_t least = choice->keys[count - 1];
  while (choice->keys[above] > least) above++;
  for (uint32_t job = 0, equal = 0; job < n_jobs; job++) {
    if (choice->shown[job]) continue;
    uint64_t own = key(choice->result, job);
    if (own > least || (own == least && above + equal++ < count)) choice->shown[job] = true;
  }
}

/* Every n-th, n being no whole number: as Bresenham draws a line. */
static void show_sample(struct choice *choice, uint32_t count, uint32_t of) {
  uint64_t error = 0;
  for (uint32_t job = 0; job < choice->result->n_jobs; job++) {
    if (choice->shown[job]) continue;
    error += count;
    if (error < of) continue;
    error -= of;
    choice->shown[job] = true;
  }
}

static uint32_t *list(const struct choice *choice, uint32_t *n_shown) {
  uint32_t *jobs = malloc(((size_t)choice->result->n_jobs + 1) * sizeof *jobs);
  *n_shown = 0;
  for (uint32_t job = 0; jobs && job < choice->result->n_jobs; job++)
    if (choice->shown[job]) jobs[(*n_shown)++] = job;
  return jobs;
}

uint32_t *hr__page_shown(const struct hr_result *result, uint32_t most, uint32_t *n_shown) {
  uint32_t n_jobs = result->n_jobs, third = most / 3;
  struct choice choice = {result, calloc((size_t)n_jobs + 1, sizeof *choice.shown),
                          n_jobs > most ? malloc(n_jobs * sizeof *choice.keys) : NULL};
  uint32_t *jobs = NULL;
  if (choice.shown && n_jobs <= most) {
    for (uint32_t job = 0; job < n_jobs; job++) choice.shown[job] = true;
    jobs = list(&choice, n_shown);
  } else if (choice.shown && choice.keys) {
    show_largest(&choice, wait_of, third);
    show_largest(&choice, size_of, third);
    show_sample(&choice, most - 2 * third, n_jobs - 2 * third);
    jobs = list(&choice, n_shown);
  }
  free(choice.shown);
  free(choice.keys);
  return jobs;
}
