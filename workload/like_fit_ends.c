/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which numbers of GPUs are one size: those up to a power of two, but one that many jobs ask for is a size of its own,
 * as 24 GPUs are seldom asked for what 32 are.
 */

#include "workload/like_fit.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_JOBS_OF_OWN = 500, N_USUAL = 9 };
static const uint32_t usual[N_USUAL] = {0, 1, 2, 4, 8, 16, 32, 64, HR_NONE};

/* A number of GPUs, and how many jobs ask for it. */
struct asked {
  uint32_t gpus, jobs;
};

static int by_gpus(const void *a, const void *b) {
  uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
  return (first > second) - (first < second);
}

/* The most frequent first. */
static int by_jobs(const void *a, const void *b) {
  const struct asked *first = a, *second = b;
  if (first->jobs != second->jobs) return first->jobs > second->jobs ? -1 : 1;
  return (first->gpus > second->gpus) - (first->gpus < second->gpus);
}

static uint32_t end_of(const struct hr__like_fit *fit, uint32_t gpus) {
  uint32_t i = 0;
  while (gpus > fit->size_ends[i]) i++;
  return i;
}

/* Whether it is an end by now, or no room is left for it. */
static bool add_end(struct hr__like_fit *fit, uint32_t gpus) {
  uint32_t at = end_of(fit, gpus);
  if (fit->size_ends[at] == gpus) return true;
  if (fit->n_size_ends == HR_LIKE_MOST_SIZES) return false;
  memmove(&fit->size_ends[at + 1], &fit->size_ends[at], (fit->n_size_ends - at) * sizeof *fit->size_ends);
  fit->size_ends[at] = gpus;
  fit->n_size_ends++;
  return true;
}

/* Counts in place: `gpus` of `n` jobs, rising, to the distinct ones. */
static uint32_t count(const uint32_t *gpus, uint32_t n, struct asked *asked) {
  uint32_t n_asked = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (i == 0 || gpus[i] != gpus[i - 1]) asked[n_asked++] = (struct asked){gpus[i], 0};
    asked[n_asked - 1].jobs++;
  }
  return n_asked;
}

/* Both its own end and that of what is below, as far as there is room for both. */
static void add_own(struct hr__like_fit *fit, const struct asked *asked) {
  bool has_one = fit->size_ends[end_of(fit, asked->gpus)] == asked->gpus ||
                 fit->size_ends[end_of(fit, asked->gpus - 1)] == asked->gpus - 1;
  if (fit->n_size_ends + (has_one ? 1 : 2) > HR_LIKE_MOST_SIZES) return;
  (void)(add_end(fit, asked->gpus) && add_end(fit, asked->gpus - 1));
}

enum hr_status hr__like_fit_size_ends(struct hr__like_fit *fit) {
  uint32_t n = fit->trace->n_jobs;
  uint32_t *gpus = malloc(n * sizeof *gpus);
  struct asked *asked = malloc(n * sizeof *asked);
  fit->n_size_ends = N_USUAL;
  memcpy(fit->size_ends, usual, sizeof usual);
  if (gpus && asked) {
    memcpy(gpus, fit->trace->gpus, n * sizeof *gpus);
    qsort(gpus, n, sizeof *gpus, by_gpus);
    uint32_t n_asked = count(gpus, n, asked);
    qsort(asked, n_asked, sizeof *asked, by_jobs);
    for (uint32_t i = 0; i < n_asked && asked[i].jobs >= LEAST_JOBS_OF_OWN; i++)
      if (asked[i].gpus > 0) add_own(fit, &asked[i]);
  }
  bool room = gpus && asked;
  free(gpus);
  free(asked);
  return room ? HR_OK : HR_NO_MEMORY;
}
