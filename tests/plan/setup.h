/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_SETUP_H
#define HR_TESTS_PLAN_SETUP_H

/* Comparisons with four jobs of 8 GPUs, on one node of 8 GPUs without a market or on four spot nodes. */

#include "headroom/headroom.h"
#include "headroom/unstable/compare.h"

#define POOL "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":8}"
#define SPOT "{" SPOT_KEYS
#define SHARED_SPOT "{\"sharing\":\"fraction\"," SPOT_KEYS
#define SPOT_KEYS                                                                                                      \
  "\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":4,\"gpus_per_node\":8,\"market\":\"spot\",\"usd_per_gpu_hour\":1,"        \
  "\"on_demand_usd_per_gpu_hour\":3,\"boot_s\":5,"                                                                     \
  "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":20%s}}"
#define DRAWN ",\"price\":{\"model\":\"ou\",\"volatility\":0.3,\"reversion_h\":1,\"interval_s\":3600}"

enum { MAX_POLICIES = 3 };

/* A scenario, its trace and the policies to compare. */
struct setup {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_policy_choice choices[MAX_POLICIES];
  struct hr_contender contenders[MAX_POLICIES];
  struct hr_compare_config config;
};

/* Makes a comparison. `pool` is POOL, SPOT or SHARED_SPOT; `more` is inserted into the last two. `names` are policies,
   and end with NULL or have MAX_POLICIES entries. */
void setup_make(struct setup *setup, const char *pool, const char *more, const char *const *names,
                uint32_t replications);
void setup_finish(struct setup *setup);

#endif
