/* SPDX-License-Identifier: GPL-3.0-or-later */
/* 100 x (1 - (CPU left x CPU asked / most CPU^2 + GPU left x GPU asked / most GPU^2) / 2), truncated: the worse the
   node's rest goes along with what is asked for, the better. Most: of any node. */

#include "policies/pack.h"

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  double most_cpu = (double)packing->most_cpu_milli, most_gpu = (double)packing->most_gpu_milli;
  double cpu = (double)hr__left_cpu_milli(packing, node) * hr_stock_cpu_milli(packing->stock, request, node) /
               (most_cpu * most_cpu);
  double gpu =
      (double)hr__left_milli(packing, node) * (double)hr__asked_milli(packing, request, node) / (most_gpu * most_gpu);
  return (int32_t)(100 * (1 - (cpu + gpu) / 2));
}

const struct hr_packing_rule hr__pack_dot_product = {
    .name = "dot-product",
    .summary = "the node whose rest of CPU and GPU has the least product with what is asked for",
    .score = score};
