/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_GPU_NAMES_H
#define HR_SIM_CLUSTER_GPU_NAMES_H

/* Names of GPU types. The same type has different names in Slurm ("gpu:a100"), Kubernetes ("NVIDIA-A100-SXM4-80GB"),
   clouds ("nvidia-tesla-t4") and nvidia-smi ("Tesla V100-SXM2-16GB"). */

#include "headroom/cluster.h"

enum { HR__GPU_KEY_BYTES = 64 };

/* Writes the key of a name of `length` bytes to `key`, terminated by '\0', and returns its length. Two names mean the
   same type if their keys are equal. The key has the letters and digits of the name, in lower case, without the vendor
   and without what Slurm and the GPU operator add to the name. The key of a name that is too long is empty. */
size_t hr__gpu_name_key(const char *name, size_t length, char key[HR__GPU_KEY_BYTES]);

/* Writes to `set` the set of pools ([n_pools]) that a job accepts with a list of GPU types, separated by '|'. If some
   pool has exactly the requested type, ignoring case, the type selects the pools of this type only. Otherwise it
   selects the pools that have a type or another name (`gpu_names`) with the same key. */
void hr__gpu_names_select(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set);

#endif
