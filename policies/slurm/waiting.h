/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_WAITING_H
#define HR_POLICIES_SLURM_WAITING_H

/*
 * The waiting jobs of the policy `slurm`, in the order in which Slurm examines them: by descending key (the tier of the
 * partition, then the priority), of equal keys the job that was submitted first.
 *
 * The entries are a sorted array with room at both ends. Jobs start near the front, so their removal moves only the
 * entries before them; an insertion moves the shorter side. So a queue of 100,000 jobs costs little more than one of
 * ten.
 */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

struct hr__slurm_entry {
  uint64_t key;
  uint32_t job;
};

struct hr__slurm_waiting {
  struct hr_arena *arena;
  struct hr__slurm_entry *all; /* [capacity]; the entries are all[first] to all[first + count - 1] */
  uint32_t first, count, capacity;
};

/* Returns entry number `index`. */
static inline struct hr__slurm_entry *hr__slurm_waiting_at(const struct hr__slurm_waiting *waiting, uint32_t index) {
  return &waiting->all[waiting->first + index];
}

/* Inserts a job. Returns false if memory is exhausted. */
bool hr__slurm_waiting_add(struct hr__slurm_waiting *waiting, uint64_t key, uint32_t job);

/* Removes those of the first `n` entries whose job does not wait: state[job] is not `waits`. */
void hr__slurm_waiting_sweep(struct hr__slurm_waiting *waiting, uint32_t n, const uint8_t *state, uint8_t waits);

/* Sorts the entries again after their keys have changed. `scratch` has room for all entries. */
void hr__slurm_waiting_sort(struct hr__slurm_waiting *waiting, struct hr__slurm_entry *scratch);

#endif
