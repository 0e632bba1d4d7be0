/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_MULTIKUEUE_H
#define HR_SIM_CLUSTERS_MULTIKUEUE_H

/*
 * MultiKueue: to which worker clusters a workload is offered, which of them gets it, and what happens if a worker is
 * lost. Clusters are dense indices in the order of the configuration. Times are microseconds of one clock.
 *
 * Source: kubernetes-sigs/kueue, pkg/controller/workloaddispatcher and pkg/controller/admissionchecks/multikueue.
 */

#include "headroom/base.h"

enum { HR__MULTIKUEUE_STEP = 3 /* clusters per round */ };

struct hr__multikueue_spec {
  bool is_incremental;    /* otherwise all clusters at once */
  uint32_t step;          /* clusters per round; 0: HR__MULTIKUEUE_STEP */
  int64_t round_us;       /* a round is over after more than this: 5 min */
  int64_t worker_lost_us; /* a workload stays with a lost worker for this time: 15 min */
};

extern const struct hr__multikueue_spec hr__multikueue_defaults;

/* The offer of one workload. */
struct hr__multikueue_offer {
  uint32_t *nominated; /* [n_clusters], in order; earlier nominations stay */
  uint32_t n_nominated;
  int64_t round_us; /* start of the round; without meaning before the first one */
};

/* Starts the next round if the present one is over. `preference` has all connected clusters: in the order of the
   configuration, or by name in older releases. Returns false if no cluster is left to nominate. */
bool hr__multikueue_nominate(const struct hr__multikueue_spec *spec, struct hr__multikueue_offer *offer,
                             const uint32_t *preference, uint32_t n_clusters, int64_t now_us);

/* Returns the first cluster that admitted the workload: the earliest time wins, then the order of nomination. -1 in
   `admitted_us`: not admitted. UINT32_MAX: none. */
uint32_t hr__multikueue_winner(const struct hr__multikueue_offer *offer, const int64_t *admitted_us);

enum hr__multikueue_fate {
  HR__MULTIKUEUE_STAYS,
  HR__MULTIKUEUE_RETRIES /* it is offered again from the start */
};
/* Returns what happens to a workload after its worker may have been lost. `lost_us`: the time since which its worker is
   not reachable; -1: the worker is reachable. `has_copy`: the copy of the workload in the worker exists; this is known
   only if the worker is reachable. */
enum hr__multikueue_fate hr__multikueue_after_loss(const struct hr__multikueue_spec *spec, int64_t lost_us,
                                                   bool has_copy, int64_t now_us);
/* The wait before attempt number `attempt` (from 0) to connect again: 5 s, doubled up to 320 s. */
int64_t hr__multikueue_reconnect_us(uint32_t attempt);

#endif
