/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_GPU_INVENTORY_H
#define HR_SIM_CLUSTER_GPU_INVENTORY_H

/* Instances of MIG in a stock, all of them on nodes whose GPUs are split. `gpu`: where it stands in the stock. */

#include "headroom/gpu_inventory.h"

/* Columns for instances, where some pool's GPUs are split; `requests` may be NULL. */
enum hr_status hr__stock_mig_init(struct hr_stock *stock, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                  const struct hr_requests *requests);
/* A node's GPUs are split as at first, and no task has any of it. */
void hr__stock_mig_renew(struct hr_stock *stock, hr_node node);

/* The node's GPUs that have, or may be given, an instance that will do. */
uint64_t hr__stock_mig_fitting(const struct hr_stock *stock, const struct hr_request *request, hr_node node);
/* hr_stock_pick and hr_stock_slice, the node fitting the task. */
uint64_t hr__stock_mig_pick(const struct hr_stock *stock, const struct hr_request *request, hr_node node);
struct hr_slice hr__stock_mig_slice(const struct hr_stock *stock, const struct hr_request *request, hr_node node,
                                    uint64_t gpus);
/* What is wrong with an instance on a GPU that fits the task, or NULL. */
const char *hr__stock_mig_refuse(const struct hr_stock *stock, const struct hr_request *request,
                                 const struct hr_slice *slice);
/* An instance is taken, or given back. */
void hr__stock_mig_change(struct hr_stock *stock, const struct hr_slice *slice, bool taken);
/* The profiles of which a task may have an instance of the slice's GPU once the slice is taken, a set. */
uint32_t hr__stock_mig_profiles_after(const struct hr_stock *stock, const struct hr_slice *slice);
/* The GPU has the layout again that it had before it was taken. */
void hr__stock_mig_undo(struct hr_stock *stock, const struct hr_slice *slice);

/* How many tasks an empty GPU has room for, of whichever kind of instance that will do. */
uint32_t hr__mig_most_tasks(const struct hr_mig_spec *mig, uint32_t wanted, uint32_t gpu);

#endif
