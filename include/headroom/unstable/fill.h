/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FILL_H
#define HEADROOM_UNSTABLE_FILL_H

/*
 * Filling experiments: how much of a cluster the placement rules can allocate, as measured by Weng et al. ("Beware of
 * Fragmentation", ATC'23). Pods are drawn from a trace with replacement until all drawn pods together request `to`
 * times the GPUs of the cluster. They are shuffled and submitted one by one. Pods never leave, and a pod that does not
 * fit fails. For one seed, all rules get the same pods. docs/researcher/fill.md has the details.
 */

#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/unstable/capacity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits on the number of seeds and on `to`. */
#define HR_MAX_FILL_SEEDS 1000
#define HR_MAX_FILL_TO 10.0 /* times the cluster's GPUs */

/* The input. Everything is borrowed and must outlive the result. */
struct hr_fill_config {
  const struct hr_scenario *scenario; /* its policy is ignored; its seed is the first of n_seeds consecutive seeds */
  const struct hr_trace *trace;
  const struct hr_packing_rule *const *rules; /* [n_rules] */
  uint32_t n_rules, n_seeds;
  double to; /* requested GPUs / GPUs of the cluster at the end of the experiment, from 0.01 to HR_MAX_FILL_TO */
  uint32_t n_threads;
  /* reports the approximate number of submitted pods of all runs; called from any thread, but not concurrently */
  struct hr_progress progress;
};

/* The result when the submitted pods have requested p per cent of the cluster's GPUs, for a whole number p. It is the
   state after the first pod with which the sum of all requests so far is at least p per cent. */
struct hr_fill_row {
  double alloc_pct; /* GPUs allocated, in per cent of the cluster's GPUs */
  double frag_pct;  /* sum of F (headroom/unstable/fragmentation.h) over nodes, in per cent of the cluster's GPUs */
  uint64_t failed;  /* number of pods that have failed so far */
};

/* Executes all rules and seeds on `n_threads` threads. Results do not depend on the number of threads. The caller frees
   `*fill` with hr_fill_destroy. */
struct hr_fill;
HR_API enum hr_status hr_fill(const struct hr_fill_config *config, struct hr_fill **fill, struct hr_error *error);
HR_API void hr_fill_destroy(struct hr_fill *fill);

/* Returns one result. `rule`: index in `rules` of the configuration. `seed_index`: from 0 to n_seeds - 1. `pct`:
   requested GPUs in per cent of the cluster's GPUs, from 1 to 100 * config.to rounded down. */
HR_API struct hr_fill_row hr_fill_at(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index, uint32_t pct);

/* Means over seeds, and half widths of their 95 % confidence intervals (Student's t). The half widths are NAN if there
   is only one seed. */
struct hr_fill_mean {
  double alloc_pct, alloc_margin, frag_pct, frag_margin, failed, failed_margin;
};
HR_API struct hr_fill_mean hr_fill_mean_at(const struct hr_fill *fill, uint32_t rule, uint32_t pct);

/* Prints the results as a table, 80 columns wide. `perf` may be NULL; its sim_s is the sum over all runs. */
HR_API enum hr_status hr_fill_print(FILE *out, const struct hr_fill *fill, const struct hr_perf *perf, bool colour);
/* Write the results to a file; `path` "-" is standard output. CSV: one row per whole per cent, with the columns
   policy,seed,arrived_pct,alloc_pct,frag_pct,failed. */
HR_API enum hr_status hr_fill_write_csv(const char *path, const struct hr_fill *fill, struct hr_error *error);
HR_API enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                         struct hr_error *error);
HR_API enum hr_status hr_fill_write_markdown(const char *path, const struct hr_fill *fill, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
