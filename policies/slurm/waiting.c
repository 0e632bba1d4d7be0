/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The waiting jobs of the policy `slurm`; see waiting.h. */

#include "policies/slurm/waiting.h"

#include <string.h>

static bool may_preempt(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a,
                        const struct hr__slurm_entry *b) {
  if (a->qos == HR_NONE || b->qos == HR_NONE) return false;
  return waiting->may_preempt[(size_t)a->qos * waiting->n_qos + b->qos];
}

static bool goes_before(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a,
                        const struct hr__slurm_entry *b) {
  if (waiting->may_preempt && may_preempt(waiting, a, b)) return true;
  if (waiting->may_preempt && may_preempt(waiting, b, a)) return false;
  if (a->key != b->key) return a->key > b->key;
  return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->job < b->job;
}

/* Makes room for one entry before and after the others. */
static bool make_room(struct hr__slurm_waiting *waiting) {
  if (waiting->first > 0 && waiting->first + waiting->count < waiting->capacity) return true;
  if (waiting->count + 2 > waiting->capacity / 2) {
    struct hr__slurm_entry *all =
        hr_arena_grown(waiting->arena, waiting->all, &waiting->capacity, sizeof *waiting->all);
    if (!all) return false;
    waiting->all = all;
  }
  uint32_t first = (waiting->capacity - waiting->count) / 2;
  if (waiting->count)
    memmove(waiting->all + first, waiting->all + waiting->first, waiting->count * sizeof *waiting->all);
  waiting->first = first;
  return true;
}

bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *entry) {
  if (!make_room(waiting)) return false;
  uint32_t low = 0, high = waiting->count;
  if (high && goes_before(waiting, hr__slurm_waiting_at(waiting, high - 1), entry)) low = high;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (goes_before(waiting, hr__slurm_waiting_at(waiting, middle), entry))
      low = middle + 1;
    else
      high = middle;
  }
  struct hr__slurm_entry *front = waiting->all + waiting->first;
  if (low < waiting->count / 2) {
    memmove(front - 1, front, low * sizeof *entry);
    waiting->first--;
  } else {
    memmove(front + low + 1, front + low, (waiting->count - low) * sizeof *entry);
  }
  waiting->count++;
  *hr__slurm_waiting_at(waiting, low) = *entry;
  return true;
}

void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits) {
  uint32_t end = n < waiting->count ? n : waiting->count, kept = end;
  for (uint32_t i = end; i-- > 0;) {
    const struct hr__slurm_entry entry = *hr__slurm_waiting_at(waiting, i);
    if (state[entry.job] == waits) *hr__slurm_waiting_at(waiting, --kept) = entry;
  }
  waiting->first += kept;
  waiting->count -= kept;
}

/* Merges two sorted lists. */
static void merge(const struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *a, uint32_t n_a,
                  const struct hr__slurm_entry *b, uint32_t n_b, struct hr__slurm_entry *to) {
  while (n_a && n_b) {
    bool takes_b = goes_before(waiting, b, a);
    *to++ = takes_b ? *b++ : *a++;
    if (takes_b)
      n_b--;
    else
      n_a--;
  }
  if (n_a) memcpy(to, a, n_a * sizeof *to);
  if (n_b) memcpy(to, b, n_b * sizeof *to);
}

/* A merge sort that copies pairs of lists that are in order already: the order rarely changes much. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch) {
  struct hr__slurm_entry *from = waiting->all + waiting->first, *to = scratch;
  uint32_t n = waiting->count, n_swapped = 0;
  for (uint32_t i = 1; i < n && !n_swapped; i++) n_swapped += goes_before(waiting, &from[i], &from[i - 1]);
  if (!n_swapped) return;
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t at = 0; at < n; at += 2 * width) {
      uint32_t n_a = (uint32_t)(n - at < width ? n - at : width),
               n_b = (uint32_t)(n - at - n_a < width ? n - at - n_a : width);
      if (n_b == 0 || !goes_before(waiting, &from[at + n_a], &from[at + n_a - 1]))
        memcpy(to + at, from + at, (n_a + n_b) * sizeof *to);
      else
        merge(waiting, from + at, n_a, from + at + n_a, n_b, to + at);
    }
    struct hr__slurm_entry *swap = from;
    from = to;
    to = swap;
  }
  if (from == scratch) memcpy(to, from, n * sizeof *to);
}
