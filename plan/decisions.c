/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks are of sixteen decisions until there are too many, and then of twice as many each time: what is kept has a
   bound, and which blocks there are depends on the number of decisions alone. */

#include "plan/decisions.h"

#include "plan/job_starts.h"
#include "sim/digest.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SPACING = 16, MOST_BLOCKS = 1 << 10, MARK_LETTERS = 2, MARK_BITS = 12, HALF_BITS = 6 };

bool hr__decisions_init(struct hr__decisions *decisions) {
  *decisions = (struct hr__decisions){
      .digest = HR__DIGEST_SEED, .spacing = FIRST_SPACING, .blocks = calloc(MOST_BLOCKS, sizeof *decisions->blocks)};
  return decisions->blocks != NULL;
}

void hr__decisions_finish(struct hr__decisions *decisions) {
  free(decisions->blocks);
  *decisions = (struct hr__decisions){0};
}

/* Two blocks become one. */
static void thin_out(struct hr__decisions *decisions) {
  for (size_t i = 0; i < MOST_BLOCKS / 2; i++) {
    uint16_t mark = decisions->blocks[2 * i + 1].mark;
    decisions->blocks[i] = decisions->blocks[2 * i];
    decisions->blocks[i].mark = mark;
  }
  decisions->n_blocks = MOST_BLOCKS / 2;
  decisions->spacing *= 2;
}

static void count_move(struct hr__decisions *decisions, const struct hr_event *event) {
  if (decisions->count % decisions->spacing == 0 && decisions->n_blocks == MOST_BLOCKS) thin_out(decisions);
  if (decisions->count % decisions->spacing == 0)
    decisions->blocks[decisions->n_blocks++] =
        (struct hr__decision_block){.at_us = event->at_us, .job = event->job, .kind = (uint8_t)event->kind};
  decisions->count++;
}

static void add(struct hr__decisions *decisions, uint64_t word) {
  decisions->digest = hr__digest_add(decisions->digest, word);
}

static void add_placement(struct hr__decisions *decisions, const struct hr_placement *placement) {
  add(decisions, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    add(decisions, (uint64_t)slice->node.id << 32 | slice->gpu_milli);
    if (slice->gpus) add(decisions, slice->gpus);
  }
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__decisions *decisions = self;
  (void)view;
  if (event->kind >= HR_EVENT_START) count_move(decisions, event);
  add(decisions, (uint64_t)event->at_us);
  add(decisions, (uint64_t)event->kind << 32 | event->job.id);
  if (event->kind == HR_EVENT_START) add_placement(decisions, event->placement);
  if (event->pool.id != HR_NONE) add(decisions, (uint64_t)event->pool.id << 32 | event->node.id);
  if (decisions->n_blocks)
    decisions->blocks[decisions->n_blocks - 1].mark = decisions->digest & ((1u << MARK_BITS) - 1);
}

struct hr_fold hr__decisions_fold(struct hr__decisions *decisions) {
  return (struct hr_fold){.self = decisions, .on_event = on_event};
}

/* ---- Marks ------------------------------------------------------------------------------------------ */

char *hr__decisions_chain(const struct hr__decisions *decisions) {
  char *chain = malloc(MARK_LETTERS * decisions->n_blocks + 1), *at = chain;
  if (!chain) return NULL;
  for (size_t i = 0; i < decisions->n_blocks; i++) {
    *at++ = hr__letter_of(decisions->blocks[i].mark >> HALF_BITS);
    *at++ = hr__letter_of(decisions->blocks[i].mark);
  }
  *at = '\0';
  return chain;
}

static uint16_t mark_at(const char *chain, size_t i) {
  return (uint16_t)(hr__bits_of(chain[MARK_LETTERS * i]) << HALF_BITS | hr__bits_of(chain[MARK_LETTERS * i + 1]));
}

/* The last of the blocks that make block `i` of `ratio` times as many decisions. */
static size_t last_of(size_t i, uint64_t ratio, size_t n_blocks) {
  size_t last = (size_t)((i + 1) * ratio - 1);
  return last < n_blocks ? last : n_blocks - 1;
}

bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from) {
  size_t n_theirs = strlen(chain) / MARK_LETTERS;
  uint64_t wide = spacing > decisions->spacing ? spacing : decisions->spacing;
  uint64_t our_ratio = wide / decisions->spacing, their_ratio = wide / spacing;
  for (size_t i = 0;; i++) {
    bool ours = i * our_ratio < decisions->n_blocks, theirs = i * their_ratio < n_theirs;
    *from = i * wide;
    if (!ours && !theirs) return false;
    if (ours != theirs) return true;
    uint16_t our_mark = decisions->blocks[last_of(i, our_ratio, decisions->n_blocks)].mark;
    if (our_mark != mark_at(chain, last_of(i, their_ratio, n_theirs))) return true;
  }
}

const struct hr__decision_block *hr__decisions_block(const struct hr__decisions *decisions, uint64_t decision) {
  size_t block = (size_t)(decision / decisions->spacing);
  return block < decisions->n_blocks ? &decisions->blocks[block] : NULL;
}
