/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks of one kind together: a share, 1 GPU, 2 GPUs, ... With u = 25 x GPUs taken / GPUs of the largest node (its idle
 * ones counting as the largest node's less what is left), truncated with the rest: 75 + u where only tasks of this kind
 * use GPUs, 50 + u where some of them do, 25 + u where no GPU is in use, u elsewhere. A task without GPUs takes the
 * first node, and does not count.
 */

#include "policies/pack.h"

static int32_t score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  if (request->gpus == 0) return 0;
  const uint32_t *tasks = packing->tasks_of_kind + (size_t)node.id * packing->n_kinds;
  uint32_t alike = tasks[hr_request_kind(request)], all = packing->tasks[node.id] - tasks[HR_KIND_NO_GPU];
  int32_t base = all == 0 ? 25 : alike == all ? 75 : alike ? 50 : 0;
  double most = (double)packing->most_gpu_milli;
  return (int32_t)(base + 25 * (most - (double)hr__left_milli(packing, node)) / most);
}

const struct hr_packing_rule hr__pack_gpu_clustering = {
    .name = "gpu-clustering", .summary = "a node with tasks of the same kind, by number of GPUs", .score = score};
