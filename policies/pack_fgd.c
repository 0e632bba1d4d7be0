/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", ATC'23): where F grows the least.
 * 100 x sigmoid((F before - F after) / 1000), truncated. A share tries each GPU that has it and keeps the first of the
 * best; GPUs with the same left are tried once, unless MIG splits them.
 */

#include "policies/pack.h"

#include <math.h>

static int32_t score_of(const struct hr_packing *packing, uint64_t before, uint64_t after) {
  double less = (double)((int64_t)before - (int64_t)after) / (double)packing->typical->total / HR_WHOLE_GPU_MILLI;
  return (int32_t)(100 / (1 + exp(-less)));
}

static uint64_t pick_share(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                           int32_t *score) {
  const uint16_t *left = hr_stock_gpus(packing->stock, node);
  uint64_t before = hr_fragmentation_of(packing->fragmentation, node), picked = 0;
  uint64_t rest = hr_stock_fitting_gpus(packing->stock, request, node);
  *score = -1;
  while (rest) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
    uint64_t one = UINT64_C(1) << gpu;
    int32_t found = score_of(packing, before, hr_fragmentation_after(packing->fragmentation, request, node, one));
    if (found > *score) picked = one;
    if (found > *score) *score = found;
    rest &= rest - 1;
    if (hr_stock_mig(packing->stock, node)) continue;
    for (uint64_t others = rest; others; others &= others - 1)
      if (left[__builtin_ctzll(others)] == left[gpu]) rest &= ~(others & -others);
  }
  return picked;
}

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  int32_t best;
  if (hr__is_share(packing, request, node)) {
    (void)pick_share(packing, request, node, &best);
    return best;
  }
  uint64_t gpus = hr_stock_pick(packing->stock, request, node);
  return score_of(packing, hr_fragmentation_of(packing->fragmentation, node),
                  hr_fragmentation_after(packing->fragmentation, request, node, gpus));
}

static uint64_t pick(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  int32_t best;
  if (!hr__is_share(packing, request, node)) return hr_stock_pick(packing->stock, request, node);
  return pick_share(packing, request, node, &best);
}

const struct hr_packing_rule hr__pack_fgd = {
    .name = "fgd",
    .summary = "where idle GPUs become the least useless to typical pods (fragmentation gradient descent)",
    .score = score,
    .pick = pick,
    .wants_fragmentation = true};
