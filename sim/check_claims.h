/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CHECK_CLAIMS_H
#define HR_SIM_CHECK_CLAIMS_H

/* Memory of GPUs that is first come, first served, against the jobs that run and did not die: what they claim, added
   up. */

#include "sim/engine.h"

struct hr__claims_use {
  struct hr__claim_sum {
    uint64_t mib, tasks, milli;
  } * of_gpu; /* by node and GPU, as in the stock; NULL where no pool has such memory */
};

/* Nothing is claimed yet. HR_NO_MEMORY is the only failure. */
enum hr_status hr__claims_use_init(struct hr__claims_use *use, const struct hr__engine *engine);
void hr__claims_use_finish(struct hr__claims_use *use);
/* Of a running job. */
void hr__claims_use_add(struct hr__claims_use *use, const struct hr__engine *engine, hr_job job,
                        const struct hr_placement *placement);
/* What does not add up, and on which node; NULL when all does. */
const char *hr__claims_use_check(const struct hr__claims_use *use, const struct hr__engine *engine, uint32_t *node);

#endif
