/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FILL_H
#define HEADROOM_UNSTABLE_FILL_H

/*
 * How much of a cluster placement rules can fill: the experiment of Weng et al. ("Beware of Fragmentation", ATC'23).
 * Pods are drawn from a trace with replacement until they request `to` times the cluster's GPUs, shuffled, and
 * submitted one by one; none leaves, and pods that do not fit fail. All rules see the same pods for a seed.
 * docs/researcher/fill.md has the details.
 */

#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/unstable/placement.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_MAX_FILL_SEEDS 1000
#define HR_MAX_FILL_TO 10.0 /* times the cluster's GPUs */

/* Borrowed, and must outlive the result. */
struct hr_fill_config {
  const struct hr_scenario *scenario; /* its policy is not used; its seed is the first seed, and the others follow */
  const struct hr_trace *trace;
  const struct hr_packing_rule *const *rules;
  uint32_t n_rules, n_seeds;
  double to; /* at least 0.01 */
  uint32_t n_threads;
  struct hr_progress progress; /* pods of all runs, approximately; called from any thread, one at a time */
};

/* The state when pods have requested a whole per cent of the cluster's GPUs, or slightly more. */
struct hr_fill_row {
  double alloc_pct; /* GPUs allocated, in per cent of the cluster's GPUs */
  double frag_pct;  /* sum of F (headroom/unstable/fragmentation.h) over nodes, in per cent of the cluster's GPUs */
  uint64_t failed;  /* pods that failed so far */
};

/* Runs all rules and seeds on threads; results do not depend on their number. The caller destroys `*fill`. */
struct hr_fill;
HR_API enum hr_status hr_fill(const struct hr_fill_config *config, struct hr_fill **fill, struct hr_error *error);
HR_API void hr_fill_destroy(struct hr_fill *fill);

/* The state of a run. `pct`: per cents requested, 1 to 100 * config.to, rounded down. `seed_index`: 0 to n_seeds - 1.
 */
HR_API struct hr_fill_row hr_fill_at(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index, uint32_t pct);

/* Means over seeds, and half widths of their 95 % confidence intervals (Student's t), which are NAN for one seed. */
struct hr_fill_mean {
  double alloc_pct, alloc_margin, frag_pct, frag_margin, failed, failed_margin;
};
HR_API struct hr_fill_mean hr_fill_mean_at(const struct hr_fill *fill, uint32_t rule, uint32_t pct);

/* Prints the table, 80 columns wide. `perf` (may be NULL): sim_s is the time of all runs together. */
HR_API enum hr_status hr_fill_print(FILE *out, const struct hr_fill *fill, const struct hr_perf *perf, bool colour);
/* Writes files; `path` "-" is standard output. CSV: policy,seed,arrived_pct,alloc_pct,frag_pct,failed, one row per
   whole per cent. */
HR_API enum hr_status hr_fill_write_csv(const char *path, const struct hr_fill *fill, struct hr_error *error);
HR_API enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                         struct hr_error *error);
HR_API enum hr_status hr_fill_write_markdown(const char *path, const struct hr_fill *fill, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
