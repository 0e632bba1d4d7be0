/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_REQUESTS_H
#define HR_SIM_CLUSTER_REQUESTS_H

/* What the jobs of a run ask for, where GPUs are told apart. */

#include "headroom/policy.h"

/* As hr_requests_create, with the accept classes of the cluster, whose trace it is. In a streamed run jobs are counted,
   but which asks for what is written down as they come. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                        const struct hr_trace *trace, const uint32_t *max_gpus);
/* Writes down what a job asks for. */
void hr__requests_find(const struct hr_requests *requests, hr_job job);

#endif
