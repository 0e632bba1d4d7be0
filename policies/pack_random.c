/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any node that has room, each as likely, and a share on any of its GPUs that have it. The packer draws the node from
   stream 0, this file the GPU from stream 1, by the number of the find. */

#include "policies/pack.h"

static uint64_t pick(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (!hr__is_share(packing, request, node)) return hr_stock_pick(packing->stock, request, node);
  uint64_t fitting = hr_stock_fitting_gpus(packing->stock, request, node);
  uint32_t count = (uint32_t)__builtin_popcountll(fitting);
  for (uint32_t skip = hr_random_below(packing->seed, 1, packing->finds, count); skip > 0; skip--)
    fitting &= fitting - 1;
  return fitting & -fitting;
}

const struct hr_packing_rule hr__pack_random = {
    .name = "random", .summary = "any node that has room; a share goes to any of its GPUs that have it", .pick = pick};
