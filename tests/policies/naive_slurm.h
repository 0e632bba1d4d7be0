/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_POLICIES_NAIVE_SLURM_H
#define TESTS_POLICIES_NAIVE_SLURM_H

/* A slow model of one pass of Slurm, for comparison. It shares only descriptions of jobs with the product. */

#include "policies/slurm/selector.h"
#include "policies/slurm/slurm.h"

/* The nodes and the running jobs. The caller allocates the arrays. */
struct naive_nodes {
  uint32_t n_nodes, n_words;
  const uint32_t *gpus;
  uint32_t *used, *future, *chosen;  /* [n_nodes] */
  struct hr__slurm_running *running; /* [n_running] by increasing end */
  uint32_t n_running;
  int64_t origin_us;
};

bool naive_select_now(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set);
bool naive_select(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                  int64_t *start_us);
void naive_nodes_add(struct naive_nodes *nodes, uint32_t job, const struct hr__slurm_shape *shape, int64_t end_us,
                     uint32_t *at);

struct naive_slot {
  int64_t begin_us, end_us;
  uint32_t next; /* the slot that follows; HR_NONE: the last */
};

struct naive_timeline {
  struct naive_slot *slots; /* [max_slots] */
  uint64_t *nodes;          /* [max_slots * n_words] */
  uint32_t *licenses;       /* [max_slots * n_license_kinds] */
  uint64_t *set;            /* [n_words] */
  uint32_t n_slots, max_slots, n_nodes, n_words, n_license_kinds;
};

uint32_t naive_backfill(struct naive_timeline *line, const struct hr__slurm_backfill_limits *limits,
                        const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                        const struct hr__slurm_selector *selector, int64_t now_us, struct hr__slurm_planned *planned);

#endif
