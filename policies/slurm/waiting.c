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

/* Inserts an entry into the sorted part. The first unsorted entry moves to the end. */
static void insert_among_sorted(struct hr__slurm_waiting *waiting, uint32_t at, const struct hr__slurm_entry *entry) {
  struct hr__slurm_entry *front = waiting->all + waiting->first, *end = front + waiting->n_sorted;
  if (waiting->n_sorted < waiting->count) front[waiting->count] = *end;
  memmove(front + at + 1, front + at, (waiting->n_sorted - at) * sizeof *entry);
  front[at] = *entry;
  waiting->n_sorted++;
  waiting->count++;
}

bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *entry) {
  if (!make_room(waiting)) return false;
  uint32_t low = 0, high = waiting->n_sorted;
  bool is_last = high && goes_before(waiting, hr__slurm_waiting_at(waiting, high - 1), entry);
  if (is_last && high < waiting->count) {
    waiting->count++;
    *hr__slurm_waiting_at(waiting, waiting->count - 1) = *entry;
    return true;
  }
  if (is_last) low = high;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (goes_before(waiting, hr__slurm_waiting_at(waiting, middle), entry))
      low = middle + 1;
    else
      high = middle;
  }
  if (low >= waiting->n_sorted / 2) {
    insert_among_sorted(waiting, low, entry);
    return true;
  }
  struct hr__slurm_entry *front = waiting->all + waiting->first;
  memmove(front - 1, front, low * sizeof *entry);
  waiting->first--;
  waiting->count++;
  waiting->n_sorted++;
  *hr__slurm_waiting_at(waiting, low) = *entry;
  return true;
}

void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits) {
  uint32_t end = n < waiting->count ? n : waiting->count, kept = end;
  uint32_t n_sorted = waiting->n_sorted > end ? waiting->n_sorted - end : 0;
  for (uint32_t i = end; i-- > 0;) {
    const struct hr__slurm_entry entry = *hr__slurm_waiting_at(waiting, i);
    if (state[entry.job] != waits) continue;
    *hr__slurm_waiting_at(waiting, --kept) = entry;
    n_sorted += i < waiting->n_sorted;
  }
  waiting->first += kept;
  waiting->count -= kept;
  waiting->n_sorted = n_sorted;
  if (waiting->count) hr__slurm_waiting_order(waiting, 1);
}

/* ---- Sorting the front ------------------------------------------------------------------------------ */

/* Ranges of at most SMALL entries are sorted by insertion; CHUNK entries are sorted at once. A range that is put aside
   is at least as long as the one that is divided next, so there are at most MAX_RANGES of them. */
enum { SMALL = 16, CHUNK = 1024, MAX_RANGES = 33 };

static void sort_by_insertion(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    const struct hr__slurm_entry entry = entries[i];
    uint32_t at = i;
    for (; at && goes_before(waiting, &entry, &entries[at - 1]); at--) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

static void swap(struct hr__slurm_entry *a, struct hr__slurm_entry *b) {
  const struct hr__slurm_entry kept = *a;
  *a = *b;
  *b = kept;
}

/* Divides the entries from `from` to before `end` by one of them, the median of three. Returns its place. */
static uint32_t divide(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t from,
                       uint32_t end) {
  struct hr__slurm_entry *first = &entries[from], *middle = &entries[from + (end - from) / 2],
                         *last = &entries[end - 1];
  if (goes_before(waiting, middle, first)) swap(middle, first);
  if (goes_before(waiting, last, middle)) swap(last, middle);
  if (goes_before(waiting, middle, first)) swap(middle, first);
  swap(middle, last);
  uint32_t at = from;
  for (uint32_t i = from; i + 1 < end; i++)
    if (goes_before(waiting, &entries[i], last)) swap(&entries[i], &entries[at++]);
  swap(&entries[at], last);
  return at;
}

/* Sorts so that the first `wanted` of `n` entries are those of the sorted list: a quicksort that leaves out the ranges
   behind them. */
static void sort_front(const struct hr__slurm_waiting *waiting, struct hr__slurm_entry *entries, uint32_t n,
                       uint32_t wanted) {
  struct {
    uint32_t from, end;
  } ranges[MAX_RANGES] = {{0, n}};
  for (uint32_t n_ranges = 1; n_ranges;) {
    uint32_t from = ranges[n_ranges - 1].from, end = ranges[n_ranges - 1].end;
    n_ranges--;
    while (end - from > SMALL) {
      uint32_t at = divide(waiting, entries, from, end);
      if (at + 1 >= wanted) {
        end = at;
      } else if (at - from > end - at - 1) {
        ranges[n_ranges].from = from;
        ranges[n_ranges++].end = at;
        from = at + 1;
      } else {
        ranges[n_ranges].from = at + 1;
        ranges[n_ranges++].end = end;
        end = at;
      }
    }
    sort_by_insertion(waiting, entries + from, end - from);
  }
}

void hr__slurm_waiting_sort_first(struct hr__slurm_waiting *waiting, uint32_t n) {
  uint32_t sorted = waiting->n_sorted, end = n > 2 * sorted ? n : 2 * sorted;
  if (end < CHUNK) end = CHUNK;
  if (end > waiting->count) end = waiting->count;
  sort_front(waiting, hr__slurm_waiting_at(waiting, sorted), waiting->count - sorted, end - sorted);
  waiting->n_sorted = end;
}

/* ---- Sorting all ------------------------------------------------------------------------------------ */

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
static void sort_all(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch) {
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

/* With preemption the result depends on the steps of the sort, because the order may contradict itself. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch) {
  if (waiting->may_preempt) {
    sort_all(waiting, scratch);
    return;
  }
  waiting->n_sorted = 0;
  if (waiting->count) hr__slurm_waiting_sort_first(waiting, 1);
}
