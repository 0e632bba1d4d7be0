/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MultiKueue's dispatch. In each round, further clusters are nominated for a workload. A nominated cluster remains
 * nominated until the workload is admitted or queued again. Invariant: no cluster is nominated twice. Source:
 * kubernetes-sigs/kueue, pkg/controller/workloaddispatcher (incremental dispatcher), keps/693-multikueue.
 */

#include "sim/clusters/multikueue.h"

static const int64_t second_us = 1000000;

const struct hr__multikueue_spec hr__multikueue_defaults = {
    .step = HR__MULTIKUEUE_STEP, .round_us = INT64_C(300000000), .worker_lost_us = INT64_C(900000000)};

static bool is_nominated(const struct hr__multikueue_offer *offer, uint32_t cluster) {
  for (uint32_t i = 0; i < offer->n_nominated; i++)
    if (offer->nominated[i] == cluster) return true;
  return false;
}

bool hr__multikueue_nominate(const struct hr__multikueue_spec *spec, struct hr__multikueue_offer *offer,
                             const uint32_t *preference, uint32_t n_clusters, int64_t now_us) {
  if (spec->is_incremental && offer->n_nominated > 0 && now_us - offer->round_us <= spec->round_us) return true;
  const uint32_t step = spec->step ? spec->step : HR__MULTIKUEUE_STEP;
  uint32_t n_new = 0;
  for (uint32_t i = 0; i < n_clusters && (!spec->is_incremental || n_new < step); i++) {
    if (is_nominated(offer, preference[i])) continue;
    offer->nominated[offer->n_nominated++] = preference[i];
    n_new++;
  }
  if (n_new == 0) return false;
  offer->round_us = now_us;
  return true;
}

uint32_t hr__multikueue_winner(const struct hr__multikueue_offer *offer, const int64_t *admitted_us) {
  uint32_t winner = UINT32_MAX;
  for (uint32_t i = 0; i < offer->n_nominated; i++) {
    const uint32_t cluster = offer->nominated[i];
    if (admitted_us[cluster] < 0) continue;
    if (winner == UINT32_MAX || admitted_us[cluster] < admitted_us[winner]) winner = cluster;
  }
  return winner;
}

enum hr__multikueue_fate hr__multikueue_after_loss(const struct hr__multikueue_spec *spec, int64_t lost_us,
                                                   bool has_copy, int64_t now_us) {
  if (lost_us < 0) return has_copy ? HR__MULTIKUEUE_STAYS : HR__MULTIKUEUE_RETRIES;
  return now_us - lost_us < spec->worker_lost_us ? HR__MULTIKUEUE_STAYS : HR__MULTIKUEUE_RETRIES;
}

int64_t hr__multikueue_reconnect_us(uint32_t attempt) {
  return 5 * second_us << (attempt < 6 ? attempt : 6);
}
