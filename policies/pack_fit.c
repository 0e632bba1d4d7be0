/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules that look at one thing: the order of nodes, what their GPUs have left, how many tasks are there. */

#include "policies/pack.h"

static int32_t first(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)packing;
  (void)request;
  (void)node;
  return 0;
}

static int32_t most_left(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)request;
  return (int32_t)hr__left_milli(packing, node);
}

static int32_t least_left(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  return (int32_t)packing->most_gpu_milli - most_left(packing, request, node);
}

static int32_t fewest_tasks(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  (void)request;
  uint32_t tasks = packing->tasks[node.id];
  return INT32_MAX - 1 - (int32_t)(tasks < INT32_MAX ? tasks : INT32_MAX - 1);
}

uint64_t hr__pick_widest(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  const uint16_t *left = hr_stock_gpus(packing->stock, node);
  uint64_t fitting = hr_stock_fitting_gpus(packing->stock, request, node), picked = 0;
  for (uint32_t i = 0; i < request->gpus && fitting; i++) {
    uint32_t widest = (uint32_t)__builtin_ctzll(fitting);
    for (uint64_t rest = fitting; rest; rest &= rest - 1) {
      uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
      if (left[gpu] > left[widest]) widest = gpu;
    }
    picked |= UINT64_C(1) << widest;
    fitting &= ~(UINT64_C(1) << widest);
  }
  return picked;
}

const struct hr_packing_rule hr__pack_first_fit = {
    .name = "first-fit", .summary = "the first node that has room", .score = first, .scores_nodes = true};
const struct hr_packing_rule hr__pack_best_fit = {.name = "best-fit",
                                                  .summary = "the node whose GPUs have the least left, all together",
                                                  .score = least_left,
                                                  .scores_nodes = true};
const struct hr_packing_rule hr__pack_worst_fit = {
    .name = "worst-fit",
    .summary = "the node whose GPUs have the most left; a share goes to its GPU with the most left",
    .score = most_left,
    .pick = hr__pick_widest,
    .scores_nodes = true};
const struct hr_packing_rule hr__pack_spread = {
    .name = "spread",
    .summary = "the node with the fewest tasks; a share goes to its GPU with the most left",
    .score = fewest_tasks,
    .pick = hr__pick_widest,
    .scores_nodes = true};
