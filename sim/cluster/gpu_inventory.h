/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_GPU_INVENTORY_H
#define HR_SIM_CLUSTER_GPU_INVENTORY_H

/* Instances of MIG in a stock, all of them on nodes whose GPUs are split. `gpu`: where it stands in the stock. */

#include "headroom/gpu_inventory.h"

/* The profiles of which a task may have an instance of the slice's GPU once the slice is taken, a set. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);

#endif
