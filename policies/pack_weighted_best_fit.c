/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * 100 x (1 - (CPU left / most CPU + GPU left / most GPU) / 2), left after the task, truncated; most: of any node. Weng
 * et al. ("Beware of Fragmentation", ATC'23) scale the scores of the nodes that fit to 0 .. 100 afterwards. That keeps
 * their order: with all of them whole and within 100 of each other, (score - least) x 100 / (greatest - least) is
 * multiplied by at least 1, and scores that differ by at least 1 still do when it is truncated. So it is left out.
 */

#include "policies/pack.h"

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  uint64_t cpu_milli = hr__left_cpu_milli(packing, node), gpu_milli = hr__left_milli(packing, node);
  double cpu = cpu_milli ? (double)(cpu_milli - hr_stock_cpu_milli(packing->stock, request, node)) /
                               (double)packing->most_cpu_milli
                         : 0;
  double gpu = (double)(gpu_milli - hr__asked_milli(packing, request, node)) / (double)packing->most_gpu_milli;
  return (int32_t)(100 * (1 - (0.5 * cpu + 0.5 * gpu)));
}

const struct hr_packing_rule hr__pack_weighted_best_fit = {
    .name = "weighted-best-fit",
    .summary = "the node with the least left of CPU and GPU, each as a share of the largest node's",
    .score = score};
