/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rather GPUs that are shared already than idle ones, and idle ones of nodes in use than whole nodes: 33 - its GPUs for
 * a node of which all GPUs are idle; at least 33, 50 - the idle GPUs that are used, where some are; else at least 50,
 * 100 - a tenth of the per cent that the GPUs used have left, each of them and their tenth truncated. A task without
 * GPUs takes the first node.
 */

#include "policies/pack.h"

static int32_t at_least(int32_t least, int32_t value) {
  return value > least ? value : least;
}

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (request->gpus == 0) return 0;
  const uint16_t *left = hr_stock_gpus(packing->stock, node);
  uint64_t used = hr_stock_pick(packing->stock, request, node);
  int32_t idle = 0, idle_used = 0, n_gpus = packing->stock->n_gpus[node.id], left_pct = 0;
  for (int32_t gpu = 0; gpu < n_gpus; gpu++) {
    bool is_idle = left[gpu] == HR_WHOLE_GPU_MILLI, is_used = used >> gpu & 1;
    idle += is_idle;
    idle_used += is_idle && is_used;
    if (is_used) left_pct += left[gpu] * 100 / (int32_t)HR_WHOLE_GPU_MILLI;
  }
  if (idle == n_gpus) return at_least(0, 33 - idle);
  if (idle_used > 0) return at_least(33, 50 - idle_used);
  return at_least(50, 100 - left_pct / 10);
}

const struct hr_packing_rule hr__pack_gpu_packing = {
    .name = "gpu-packing",
    .summary = "GPUs shared already before idle ones of nodes in use before whole nodes",
    .score = score};
