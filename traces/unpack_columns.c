/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checks of hr_job_record_fault, column by column: millions of jobs in milliseconds. What a column may hold is one
 * range of numbers that may wrap round ("HR_NONE or below 7" is the range of eight that begins at HR_NONE), so that a
 * value is checked by one subtraction and one comparison, many at a time.
 */

#include "traces/unpack_columns.h"

#include <stdlib.h>

struct range {
  uint64_t first, span; /* modulo 2^(8 x width); the last value is first + span */
};

/* Times count from the first submit, which may be as early as the last is late. */
#define TIME_SPAN ((uint64_t)(2 * HR_MAX_INPUT_US))
#define DURATION_SPAN ((uint64_t)HR_MAX_INPUT_US)
#define UNKNOWN ((uint64_t)HR_UNKNOWN_US)
#define ANY                                                                                                            \
  { 0, UINT64_MAX }

/* Of names the span is not known here: it is their count. */
static const struct range ranges[HR__N_COLUMNS] = {
    [HR__COLUMN_SUBMIT] = {0, TIME_SPAN},
    [HR__COLUMN_WORK] = {0, DURATION_SPAN},
    [HR__COLUMN_GPUS] = {0, HR_MAX_GPUS},
    [HR__COLUMN_TASKS] = {1, UINT32_MAX - 1},
    [HR__COLUMN_LIMIT] = {UNKNOWN, DURATION_SPAN + 1},
    [HR__COLUMN_ESTIMATE] = {UNKNOWN, DURATION_SPAN + 1},
    [HR__COLUMN_DEADLINE] = {UNKNOWN, TIME_SPAN + 1},
    [HR__COLUMN_PRIORITY] = ANY,
    [HR__COLUMN_CPU] = ANY,
    [HR__COLUMN_MEM] = ANY,
    [HR__COLUMN_GPU_MEM] = ANY,
    [HR__COLUMN_GPU_MILLI] = {1, 999},
    [HR__COLUMN_CLASS] = {0, HR_N_CLASSES - 1},
    [HR__COLUMN_OUTCOME] = {0, HR_N_OUTCOMES - 1},
    [HR__COLUMN_FLAGS] = {0, HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE},
    [HR__COLUMN_FAIL_AT] = {HR_NONE, 1000001},
    [HR__COLUMN_CHECKPOINT_INTERVAL] = {UNKNOWN, DURATION_SPAN + 1},
    [HR__COLUMN_CHECKPOINT] = ANY,
    [HR__COLUMN_MIN_GPUS] = {0, HR_MAX_GPUS},
    [HR__COLUMN_MAX_GPUS] = {0, UINT32_MAX - 1},
    [HR__COLUMN_WITHIN] = {0, HR_TIER_POOL - 1},
    [HR__COLUMN_WITHIN_WAIT] = {UNKNOWN, DURATION_SPAN + 1},
    [HR__COLUMN_RECORDED_START] = {UNKNOWN, TIME_SPAN + 1},
    [HR__COLUMN_ID] = ANY,
};

static struct range range_of(const struct hr_trace *trace, enum hr__column_id id) {
  switch (id) {
  case HR__COLUMN_TENANT:
    return (struct range){HR_NONE, trace->tenants.count};
  case HR__COLUMN_USER:
    return (struct range){HR_NONE, trace->users.count};
  case HR__COLUMN_MODEL:
    return (struct range){HR_NONE, trace->models.count};
  case HR__COLUMN_GPU_TYPES:
    return (struct range){HR_NONE, trace->gpu_type_lists.count};
  case HR__COLUMN_REGIONS:
    return (struct range){HR_NONE, trace->region_lists.count};
  case HR__COLUMN_MIG_PROFILE:
    return (struct range){HR_NONE, trace->mig_profiles.count};
  default:
    return ranges[id];
  }
}

/* Without a jump in the loop, so that the compiler takes many at once. */
#define DEFINE_ALL_WITHIN(name, type)                                                                                  \
  static bool name(const type *value, uint32_t count, struct range range) {                                            \
    const type first = (type)range.first, span = (type)range.span;                                                     \
    type outside = 0;                                                                                                  \
    for (uint32_t i = 0; i < count; i++) outside |= (type)((type)(value[i] - first) > span);                           \
    return !outside;                                                                                                   \
  }
DEFINE_ALL_WITHIN(all_within_8, uint8_t)
DEFINE_ALL_WITHIN(all_within_16, uint16_t)
DEFINE_ALL_WITHIN(all_within_32, uint32_t)
DEFINE_ALL_WITHIN(all_within_64, uint64_t)
#undef DEFINE_ALL_WITHIN

static const uint8_t widths[HR__N_COLUMNS] = {
#define WIDTH(id, member, width, ...) [HR__COLUMN_##id] = width,
    HR__COLUMN_TABLE(WIDTH)
#undef WIDTH
        [HR__COLUMN_ID] = 8};

bool hr__column_is_fine(const struct hr_trace *trace, enum hr__column_id id, const void *at, uint32_t count) {
  struct range range = range_of(trace, id);
  switch (widths[id]) {
  case 1:
    return all_within_8(at, count, range);
  case 2:
    return all_within_16(at, count, range);
  case 4:
    return all_within_32(at, count, range);
  default:
    return all_within_64(at, count, range);
  }
}

bool hr__submits_are_fine(const int64_t *submit_us, uint32_t count, int64_t *last_us) {
  if (!count) return true;
  uint64_t falls = submit_us[0] < *last_us;
  for (uint32_t i = 1; i < count; i++) falls |= (uint64_t)(submit_us[i] < submit_us[i - 1]);
  *last_us = submit_us[count - 1];
  return !falls;
}

enum hr_status hr__rows_are_fine(const uint32_t *row, uint32_t n_jobs, bool *fine) {
  uint64_t *seen = calloc((size_t)n_jobs / 64 + 1, sizeof *seen);
  if (!seen) return HR_NO_MEMORY;
  *fine = true;
  for (uint32_t job = 0; job < n_jobs && *fine; job++) {
    uint64_t bit = UINT64_C(1) << row[job] % 64;
    *fine = row[job] < n_jobs && !(seen[row[job] / 64] & bit);
    if (*fine) seen[row[job] / 64] |= bit;
  }
  free(seen);
  return HR_OK;
}

/* ---- Columns together ------------------------------------------------------------------------------- */

static bool tasks_divide(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  uint32_t rests = 0;
  for (uint32_t job = from; job < to; job++) rests |= trace->gpus[job] % trace->tasks[job];
  return !rests;
}

static bool bounds_hold(const uint32_t *low, const uint32_t *high, uint32_t from, uint32_t to) {
  uint32_t crossed = 0;
  for (uint32_t job = from; job < to; job++) crossed |= (uint32_t)(low[job] > high[job]);
  return !crossed;
}

static bool all_follow(const int64_t *time_us, const int64_t *submit_us, uint32_t from, uint32_t to) {
  bool fine = true;
  for (uint32_t job = from; job < to; job++) fine &= time_us[job] == HR_UNKNOWN_US || time_us[job] >= submit_us[job];
  return fine;
}

static bool waits_are_for_tiers(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  bool fine = true;
  for (uint32_t job = from; job < to; job++)
    fine &= trace->within_wait_us[job] == HR_UNKNOWN_US || (trace->within && trace->within[job] != HR_TIER_ANY);
  return fine;
}

const char *hr__columns_fault(const struct hr_trace *trace, uint32_t from, uint32_t to) {
  if (trace->tasks && !tasks_divide(trace, from, to)) return "'gpus' is not a multiple of 'tasks' everywhere";
  if (trace->min_gpus && !bounds_hold(trace->min_gpus, trace->gpus, from, to))
    return "'min_gpus' is somewhere more than 'gpus'";
  if (trace->max_gpus && !bounds_hold(trace->gpus, trace->max_gpus, from, to))
    return "'max_gpus' is somewhere less than 'gpus'";
  if (trace->deadline_us && !all_follow(trace->deadline_us, trace->submit_us, from, to))
    return "a deadline is before the submit time";
  if (trace->recorded_start_us && !all_follow(trace->recorded_start_us, trace->submit_us, from, to))
    return "a recorded start is before the submit time";
  if (trace->within_wait_us && !waits_are_for_tiers(trace, from, to))
    return "'within_wait_us' says something without 'within'";
  return NULL;
}
