/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that change places: a permutation of all of them, or of each run of jobs of one instant. */

#include "headroom/transform.h"
#include "sim/philox.h"
#include "workload/rebuild.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

const char *hr_shuffling_name(enum hr_shuffling what) {
  static const char *const names[] = {
#define SHUFFLING_TEXT(name, text) [name] = text,
      HR_SHUFFLING_TABLE(SHUFFLING_TEXT)
#undef SHUFFLING_TEXT
  };
  return (unsigned)what < HR_N_SHUFFLINGS ? names[what] : "";
}

/* Uniform in 0 .. bound - 1, to within 2^-32. */
static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  uint64_t high = hr__stream_next(stream), bits = high << 32 | hr__stream_next(stream);
  return (uint32_t)((wide)bits * bound >> 64);
}

static void permute(uint32_t *jobs, uint32_t n, struct hr__stream *stream) {
  for (uint32_t i = n; i > 1; i--) {
    uint32_t j = below(stream, i), job = jobs[j];
    jobs[j] = jobs[i - 1];
    jobs[i - 1] = job;
  }
}

/* `jobs[i]`: which job takes the place of job i. */
static void draw(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed, uint32_t *jobs) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SHUFFLE, 1 + (uint32_t)what, 0);
  for (uint32_t job = 0; job < trace->n_jobs; job++) jobs[job] = job;
  if (what != HR_SHUFFLE_ROWS) {
    permute(jobs, trace->n_jobs, &stream);
    return;
  }
  for (uint32_t begin = 0, end; begin < trace->n_jobs; begin = end) {
    for (end = begin + 1; end < trace->n_jobs && trace->submit_us[end] == trace->submit_us[begin];) end++;
    permute(jobs + begin, end - begin, &stream);
  }
}

static enum hr_status place_jobs(const struct hr_trace *trace, const uint32_t *jobs, struct hr_trace **made,
                                 struct hr_error *error) {
  struct hr__keyed_row *list = malloc(trace->n_jobs * sizeof *list);
  if (!list) return hr__no_memory_for(trace, error);
  for (uint32_t i = 0; i < trace->n_jobs; i++) list[i] = (struct hr__keyed_row){(uint64_t)trace->submit_us[i], jobs[i]};
  enum hr_status status = hr__rebuild_moved(trace, list, trace->n_jobs, made, error);
  free(list);
  return status;
}

static enum hr_status place_users(const struct hr_trace *trace, const uint32_t *jobs, struct hr_trace **made,
                                  struct hr_error *error) {
  struct hr__rebuild rebuild;
  enum hr_status status = hr__rebuild_begin(&rebuild, trace, error);
  for (uint32_t i = 0; status == HR_OK && i < trace->n_jobs; i++) {
    struct hr_job_record record, other;
    char id[HR_JOB_ID_BUFFER], unused[HR_JOB_ID_BUFFER];
    hr_trace_job_record(trace, (hr_job){i}, &record, id);
    hr_trace_job_record(trace, (hr_job){jobs[i]}, &other, unused);
    record.user = other.user;
    record.tenant = other.tenant;
    status = hr__rebuild_add(&rebuild, trace, (hr_job){i}, &record, error);
  }
  return hr__rebuild_end(&rebuild, status, trace->dated, made, error);
}

enum hr_status hr_transform_shuffle(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed,
                                    struct hr_trace **made, struct hr_error *error) {
  *made = NULL;
  uint32_t *jobs = malloc(trace->n_jobs * sizeof *jobs);
  if (!jobs) return hr__no_memory_for(trace, error);
  draw(trace, what, seed, jobs);
  enum hr_status status =
      what == HR_SHUFFLE_USERS ? place_users(trace, jobs, made, error) : place_jobs(trace, jobs, made, error);
  free(jobs);
  return status;
}
