/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_WAITING_H
#define HR_POLICIES_SLURM_WAITING_H

/*
 * The waiting jobs of the policy `slurm`, in the order in which Slurm examines them: a job before those that it may
 * preempt; then by descending key (the tier of the partition, then the priority), then by the second of the submission,
 * which a requeue resets, then by id.
 *
 * The first rule can contradict the others: A goes before B, B before C, and C, which may preempt A, before A. Then the
 * order depends on the order of insertions and sorts. In Slurm it depends on the sort of the C library.
 *
 * The entries are a sorted array with room at both ends. Jobs start near the front, so their removal moves only the
 * entries before them; an insertion moves the shorter side. So a queue of 100,000 jobs costs little more than one of
 * ten. When priorities have changed, only the front of the array is sorted, as far as a pass reads it, unless jobs may
 * preempt others.
 */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

struct hr__slurm_entry {
  uint64_t key;
  int64_t submit_s;  /* the second of the clock at which it was submitted or requeued */
  uint32_t job, qos; /* qos HR_NONE: none */
};

struct hr__slurm_waiting {
  struct hr_arena *arena;
  const bool *may_preempt; /* [n_qos * n_qos] whether jobs of a QOS may preempt those of another; NULL: none may */
  uint32_t n_qos;
  struct hr__slurm_entry *all; /* [capacity]; the entries are all[first] to all[first + count - 1] */
  uint32_t first, count, capacity;
  uint32_t n_sorted; /* these first entries are in order, and precede all others; at least one if there is any */
};

/* Puts the first `n` entries in order. To be called before an entry is read by its number, except for the first one. */
void hr__slurm_waiting_sort_first(struct hr__slurm_waiting *waiting, uint32_t n);
static inline void hr__slurm_waiting_order(struct hr__slurm_waiting *waiting, uint32_t n) {
  if (n > waiting->n_sorted) hr__slurm_waiting_sort_first(waiting, n);
}

/* Returns entry number `index`. */
static inline struct hr__slurm_entry *hr__slurm_waiting_at(const struct hr__slurm_waiting *waiting, uint32_t index) {
  return &waiting->all[waiting->first + index];
}

/* Inserts an entry. Returns false if memory is exhausted. */
bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, const struct hr__slurm_entry *entry);

/* Removes those of the first `n` entries whose job does not wait: state[job] is not `waits`. */
void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits);

/* Sorts the entries again after their keys have changed. `scratch` has room for all entries if jobs may preempt others,
   else it is not used. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch);

#endif
