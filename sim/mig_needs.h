/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MIG_NEEDS_H
#define HR_SIM_MIG_NEEDS_H

/* Which profiles of MIG will do for a request, in each pool whose GPUs are split. */

#include "headroom/policy.h"

struct hr__mig_needs {
  struct hr_arena *arena;
  const struct hr_cluster_spec *cluster; /* NULL where no GPU is split */
  const uint16_t **need;                 /* [count], distinct; [n_pools] each */
  uint32_t count, capacity;
  uint16_t *scratch;         /* [n_pools] */
  struct hr__mig_name *name; /* of the trace's names of profiles */
};

/* `cluster` may be NULL. HR_NO_MEMORY. */
enum hr_status hr__mig_needs_init(struct hr__mig_needs *needs, struct hr_arena *arena,
                                  const struct hr_cluster_spec *cluster, const struct hr_trace *trace);
/* Says in a job's request which profiles will do: the one that it names, if it has as much memory as the job tells that
   it wants; else those with as much memory and as many compute slices as it asks for, without media engines. A share or
   memory that it does not tell is its profile's in the first pool that knows it. None will do for a task on several
   GPUs: instances do not reach each other. false: out of memory. */
bool hr__mig_needs_add(struct hr__mig_needs *needs, const struct hr_trace *trace, hr_job job,
                       struct hr_request *request);

#endif
