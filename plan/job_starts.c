/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs follow in the order of the trace. Most start at once, and are counted; of the others each is the difference of
 * its wait to that of the last one before that waited, its sign and whether it was backfilled in the lowest bits.
 * Numbers are written five bits to a letter, the lowest first; the sixth bit says that more follow.
 *
 *   0 N      N + 1 jobs that began at once, in order
 *   1 N      N + 1 jobs that began at once, by backfill
 *   2        a job that never began
 *   3 + X    X: twice the difference, folded to be positive, plus one if it was backfilled
 */

#include "plan/job_starts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LETTERS = 1 << 12, LONGEST_NUMBER = 14, DIGIT_BITS = 5, MORE = 1 << DIGIT_BITS };
enum { TOKEN_AT_ONCE = 0, TOKEN_NEVER = 2, TOKEN_WAITED = 3 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char hr__letter_of(unsigned bits) {
  return letters[bits & 63];
}

unsigned hr__bits_of(char letter) {
  const char *at = letter ? strchr(letters, letter) : NULL;
  return at ? (unsigned)(at - letters) : 64;
}

struct hr__job_start hr__job_start_of(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return (struct hr__job_start){.wait_s = HR_NEVER_US};
  int64_t wait_us = result->start_us[job] - result->trace->submit_us[job];
  return (struct hr__job_start){(wait_us + HR_SECOND_US / 2) / HR_SECOND_US, result->reason[job] == HR_REASON_BACKFILL};
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

struct writer {
  char *text;
  size_t used;
  uint64_t at_once;    /* jobs that began at once and are not written yet */
  unsigned backfilled; /* whether these were */
  int64_t before_s;    /* the wait of the last job that waited */
};

static void put(struct writer *writer, uint64_t number) {
  do {
    unsigned digit = (unsigned)(number & (MORE - 1));
    number >>= DIGIT_BITS;
    writer->text[writer->used++] = hr__letter_of(number ? digit | MORE : digit);
  } while (number);
}

static void flush(struct writer *writer) {
  if (writer->at_once == 0) return;
  put(writer, TOKEN_AT_ONCE + writer->backfilled);
  put(writer, writer->at_once - 1);
  writer->at_once = 0;
}

static void put_job(struct writer *writer, struct hr__job_start start) {
  if (start.wait_s != 0 || start.backfilled != writer->backfilled) flush(writer);
  writer->backfilled = start.backfilled;
  if (start.wait_s == 0) {
    writer->at_once++;
  } else if (start.wait_s == HR_NEVER_US) {
    put(writer, TOKEN_NEVER);
  } else {
    int64_t difference = start.wait_s - writer->before_s;
    uint64_t folded = difference < 0 ? ((uint64_t)-difference << 1) - 1 : (uint64_t)difference << 1;
    put(writer, TOKEN_WAITED + (folded << 1 | start.backfilled));
    writer->before_s = start.wait_s;
  }
}

char *hr__job_starts_code(const struct hr_result *result) {
  struct writer writer = {.text = malloc(MOST_LETTERS + 1)};
  if (!writer.text) return NULL;
  for (uint32_t job = 0; job < result->n_jobs && writer.used + 3 * (size_t)LONGEST_NUMBER <= MOST_LETTERS; job++)
    put_job(&writer, hr__job_start_of(result, job));
  flush(&writer);
  writer.text[writer.used] = '\0';
  char *exact = realloc(writer.text, writer.used + 1);
  return exact ? exact : writer.text;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* False at the end, and where there is no number. */
static bool take(const char **at, uint64_t *number) {
  *number = 0;
  for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
    unsigned bits = hr__bits_of(**at);
    if (bits == 64) return false;
    (*at)++;
    *number |= (uint64_t)(bits & (MORE - 1)) << shift;
    if (!(bits & MORE)) return true;
  }
  return false;
}

static int64_t unfold(uint64_t folded) {
  return folded & 1 ? -(int64_t)((folded + 1) >> 1) : (int64_t)(folded >> 1);
}

/* Whether the text holds at most `n_jobs` jobs and nothing else. */
static bool decode(const char *at, uint32_t n_jobs, struct hr__job_start *starts, uint32_t *count) {
  uint64_t token, more;
  int64_t before_s = 0;
  for (*count = 0; *at;) {
    if (!take(&at, &token) || *count == n_jobs) return false;
    if (token < TOKEN_NEVER) {
      if (!take(&at, &more) || more >= n_jobs - *count) return false;
      for (uint64_t i = 0; i <= more; i++) starts[(*count)++] = (struct hr__job_start){0, token != TOKEN_AT_ONCE};
    } else if (token == TOKEN_NEVER) {
      starts[(*count)++] = (struct hr__job_start){.wait_s = HR_NEVER_US};
    } else {
      token -= TOKEN_WAITED;
      if (token >> 1 > (uint64_t)HR_MAX_INPUT_US) return false;
      before_s += unfold(token >> 1);
      starts[(*count)++] = (struct hr__job_start){before_s, token & 1};
    }
  }
  return true;
}

enum hr_status hr__job_starts_decode(const char *text, uint32_t n_jobs, struct hr__job_start **starts,
                                     uint32_t *count) {
  *starts = NULL;
  struct hr__job_start *fresh = calloc((size_t)n_jobs + 1, sizeof *fresh);
  if (!fresh) return HR_NO_MEMORY;
  if (decode(text, n_jobs, fresh, count)) {
    *starts = fresh;
    return HR_OK;
  }
  free(fresh);
  return HR_BAD_INPUT;
}
