/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes the starts of jobs, and the marks of scheduling decisions, as text for baselines.
 *
 * Starts. Jobs have the order of the trace. Most jobs start immediately; consecutive jobs of this kind are counted. For
 * any other job the text contains d, the wait in seconds minus the wait of the previous job that waited. d is folded to
 * a natural number: f = 2 d if d >= 0, otherwise f = -2 d - 1. A number is written with five bits per character, lowest
 * bits first. The sixth bit is set if more characters follow.
 *
 *   0 N      N + 1 consecutive jobs that started immediately
 *   1 N      N + 1 consecutive jobs that started immediately by backfill
 *   2        a job that never started
 *   3 + X    a job that waited: X = 2 f, plus one if the job was backfilled
 *
 * Decisions. At first a block contains sixteen decisions. If there are too many blocks, pairs of blocks are merged,
 * which doubles the block size. Memory is therefore bounded, and the blocks depend only on the number of decisions.
 */

#include "plan/check/check.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LETTERS = 1 << 12, LONGEST_NUMBER = 14, DIGIT_BITS = 5, MORE = 1 << DIGIT_BITS };
enum { TOKEN_IMMEDIATE = 0, TOKEN_NEVER = 2, TOKEN_WAITED = 3 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char letter_of(unsigned bits) {
  return letters[bits & 63];
}

/* The six bits of a character; 64 if it is not one of the 64 characters. */
static unsigned bits_of(char letter) {
  const char *at = letter ? strchr(letters, letter) : NULL;
  return at ? (unsigned)(at - letters) : 64;
}

/* ---- Encoding of starts ----------------------------------------------------------------------------- */

struct starts_writer {
  char *text;
  size_t used;
  uint64_t immediate;  /* jobs that started immediately and are not written yet */
  unsigned backfilled; /* the jobs in `immediate` were backfilled */
  int64_t before_s;    /* wait of the previous job that waited */
};

static void put_number(struct starts_writer *writer, uint64_t number) {
  do {
    unsigned digit = (unsigned)(number & (MORE - 1));
    number >>= DIGIT_BITS;
    writer->text[writer->used++] = letter_of(number ? digit | MORE : digit);
  } while (number);
}

static void flush(struct starts_writer *writer) {
  if (writer->immediate == 0) return;
  put_number(writer, TOKEN_IMMEDIATE + writer->backfilled);
  put_number(writer, writer->immediate - 1);
  writer->immediate = 0;
}

static void put_job(struct starts_writer *writer, struct hr__job_start start) {
  if (start.wait_s != 0 || start.backfilled != writer->backfilled) flush(writer);
  writer->backfilled = start.backfilled;
  if (start.wait_s == 0) {
    writer->immediate++;
  } else if (start.wait_s == HR_NEVER_US) {
    put_number(writer, TOKEN_NEVER);
  } else {
    int64_t difference = start.wait_s - writer->before_s;
    uint64_t folded = difference < 0 ? ((uint64_t)-difference << 1) - 1 : (uint64_t)difference << 1;
    put_number(writer, TOKEN_WAITED + (folded << 1 | start.backfilled));
    writer->before_s = start.wait_s;
  }
}

char *hr__job_starts_encode(const struct hr_result *result) {
  struct starts_writer writer = {.text = malloc(MAX_LETTERS + 1)};
  if (!writer.text) return NULL;
  for (uint32_t job = 0; job < result->n_jobs && writer.used + 3 * (size_t)LONGEST_NUMBER <= MAX_LETTERS; job++)
    put_job(&writer, hr__job_start_of(result, job));
  flush(&writer);
  writer.text[writer.used] = '\0';
  (void)HR__ARRAY_RESIZE(writer.text, writer.used + 1);
  return writer.text;
}

/* ---- Decoding of starts ----------------------------------------------------------------------------- */

/* Decodes a number and advances *at. Returns false at the end of the text and at an invalid character. */
static bool get_number(const char **at, uint64_t *number) {
  *number = 0;
  for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
    unsigned bits = bits_of(**at);
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

/* Decodes all of the text. Returns false if it is damaged or contains more than `n_jobs` jobs. */
static bool decode(const char *at, uint32_t n_jobs, struct hr__job_start *starts, uint32_t *count) {
  uint64_t token, more;
  int64_t before_s = 0;
  for (*count = 0; *at;) {
    if (!get_number(&at, &token) || *count == n_jobs) return false;
    if (token < TOKEN_NEVER) {
      if (!get_number(&at, &more) || more >= n_jobs - *count) return false;
      for (uint64_t i = 0; i <= more; i++) starts[(*count)++] = (struct hr__job_start){0, token != TOKEN_IMMEDIATE};
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

/* ---- Decisions -------------------------------------------------------------------------------------- */

enum { FIRST_SPACING = 16, MAX_BLOCKS = 1 << 10, MARK_LETTERS = 2, MARK_BITS = 12, HALF_BITS = 6 };

/* Merges pairs of blocks and doubles the spacing. */
static void merge_blocks(struct hr__decisions *decisions) {
  for (size_t i = 0; i < MAX_BLOCKS / 2; i++) {
    uint16_t mark = decisions->blocks[2 * i + 1].mark;
    decisions->blocks[i] = decisions->blocks[2 * i];
    decisions->blocks[i].mark = mark;
  }
  decisions->n_blocks = MAX_BLOCKS / 2;
  decisions->spacing *= 2;
}

static void count_decision(struct hr__decisions *decisions, const struct hr_event *event) {
  if (decisions->count % decisions->spacing == 0 && decisions->n_blocks == MAX_BLOCKS) merge_blocks(decisions);
  if (decisions->count % decisions->spacing == 0)
    decisions->blocks[decisions->n_blocks++] =
        (struct hr__decision_block){.at_us = event->at_us, .job = event->job, .kind = (uint8_t)event->kind};
  decisions->count++;
}

static void add_word(struct hr__decisions *decisions, uint64_t word) {
  decisions->digest = hr__digest_add(decisions->digest, word);
}

static void add_placement(struct hr__decisions *decisions, const struct hr_placement *placement) {
  add_word(decisions, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    add_word(decisions, (uint64_t)slice->node.id << 32 | slice->gpu_milli);
    if (slice->gpus) add_word(decisions, slice->gpus);
  }
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__decisions *decisions = self;
  (void)view;
  if (event->kind >= HR_EVENT_START) count_decision(decisions, event);
  add_word(decisions, (uint64_t)event->at_us);
  add_word(decisions, (uint64_t)event->kind << 32 | event->job.id);
  if (event->kind == HR_EVENT_START) add_placement(decisions, event->placement);
  if (event->pool.id != HR_NONE) add_word(decisions, (uint64_t)event->pool.id << 32 | event->node.id);
  if (decisions->n_blocks)
    decisions->blocks[decisions->n_blocks - 1].mark = decisions->digest & ((1u << MARK_BITS) - 1);
}

bool hr__decisions_init(struct hr__decisions *decisions, struct hr_observer *observer) {
  *observer = (struct hr_observer){.self = decisions, .on_event = on_event};
  *decisions = (struct hr__decisions){
      .digest = HR__DIGEST_SEED, .spacing = FIRST_SPACING, .blocks = calloc(MAX_BLOCKS, sizeof *decisions->blocks)};
  return decisions->blocks != NULL;
}

/* ---- Marks ------------------------------------------------------------------------------------------ */

char *hr__decisions_chain(const struct hr__decisions *decisions) {
  char *chain = malloc(MARK_LETTERS * decisions->n_blocks + 1), *at = chain;
  if (!chain) return NULL;
  for (size_t i = 0; i < decisions->n_blocks; i++) {
    *at++ = letter_of(decisions->blocks[i].mark >> HALF_BITS);
    *at++ = letter_of(decisions->blocks[i].mark);
  }
  *at = '\0';
  return chain;
}

static uint16_t mark_at(const char *chain, size_t i) {
  return (uint16_t)(bits_of(chain[MARK_LETTERS * i]) << HALF_BITS | bits_of(chain[MARK_LETTERS * i + 1]));
}

/* A wide block consists of `ratio` blocks. Returns the index of the last existing block in wide block `i`. */
static size_t last_of(size_t i, uint64_t ratio, size_t n_blocks) {
  size_t last = (size_t)((i + 1) * ratio - 1);
  return last < n_blocks ? last : n_blocks - 1;
}

bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from) {
  size_t n_other = strlen(chain) / MARK_LETTERS;
  uint64_t wide = spacing > decisions->spacing ? spacing : decisions->spacing;
  uint64_t own_ratio = wide / decisions->spacing, other_ratio = wide / spacing;
  for (size_t i = 0;; i++) {
    bool has_own = i * own_ratio < decisions->n_blocks, has_other = i * other_ratio < n_other;
    *from = i * wide;
    if (!has_own && !has_other) return false;
    if (has_own != has_other) return true;
    uint16_t own_mark = decisions->blocks[last_of(i, own_ratio, decisions->n_blocks)].mark;
    if (own_mark != mark_at(chain, last_of(i, other_ratio, n_other))) return true;
  }
}
