/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priority, billing and preemption order as Slurm computes them; see priority.h. */

#include "policies/slurm/priority.h"

#include "headroom/base.h"

#include <math.h>

uint32_t hr__slurm_priority(const struct hr__slurm_priority *priority) {
  double sum = 0;
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) sum += priority->weights[f] * priority->factors[f];
  sum += priority->site;
  for (uint32_t i = 0; i < priority->n_tres; i++) sum += priority->tres_weights[i] * priority->tres_factors[i];
  sum -= (double)priority->nice;
  if (sum < 1) return 1;
  return sum >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

double hr__slurm_age_factor(double wait_s, double max_age_s) {
  if (wait_s <= 0) return 0;
  return wait_s < max_age_s ? wait_s / max_age_s : 1;
}

double hr__slurm_size_factor(const struct hr__slurm_size *size) {
  if (size->all_nodes <= 0 || size->all_cpus <= 0) return 0;
  if (size->is_relative_to_time) {
    double limit_min = size->limit_min > 1 ? size->limit_min : 1;
    double factor = fmax(size->nodes * size->all_cpus / size->all_nodes, size->cpus) / limit_min / size->all_cpus;
    if (size->favors_small) factor = 1 - factor;
    return fmin(1, fmax(0, factor));
  }
  double nodes = size->nodes / size->all_nodes, cpus = size->cpus / size->all_cpus;
  if (size->favors_small) {
    nodes = (size->all_nodes - size->nodes) / size->all_nodes;
    cpus = (size->all_cpus - size->cpus) / size->all_cpus;
  }
  return fmin(1, fmax(0, (nodes + cpus) / 2));
}

double hr__slurm_relative_factor(double value, double highest, bool is_raw) {
  if (is_raw) return value;
  return highest > 0 ? value / highest : 0;
}

double hr__slurm_billing(const struct hr__slurm_tres *tres, uint32_t n_tres, enum hr__slurm_billing rule) {
  double sum = 0, highest = 0;
  for (uint32_t i = 0; i < n_tres; i++) {
    double value = tres[i].weight * tres[i].count;
    bool compares = (rule != HR__SLURM_BILL_SUM && tres[i].kind == HR__SLURM_TRES_NODE) ||
                    (rule == HR__SLURM_BILL_MAX && tres[i].kind == HR__SLURM_TRES_GRES);
    if (compares)
      highest = fmax(highest, value);
    else
      sum += value;
  }
  return highest + sum;
}

bool hr__slurm_victim_before(const struct hr__slurm_victim *a, const struct hr__slurm_victim *b, bool youngest_first) {
  if (youngest_first) return a->start_us > b->start_us;
  return a->priority != b->priority ? a->priority < b->priority : a->nodes < b->nodes;
}

bool hr__slurm_may_be_preempted(int64_t run_us, int64_t exempt_us) {
  return exempt_us == HR_UNKNOWN_US || run_us >= exempt_us;
}
