/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_LAB_H
#define HR_TESTS_POLICIES_LAB_H

/* Small runs of the queue policy. Input: jobs, pools, quotas and parameters. Output: events and results of jobs. Errors
   that indicate a fault in the test itself end the program. */

#include "headroom/policies.h"
#include "headroom/sim.h"

#include <stdbool.h>

enum { LAB_JOBS = 256, LAB_POOLS = 4, LAB_NAMES = 8, LAB_QUOTAS = 16, LAB_SLICES = 8 };

/* Times are in microseconds. If a limit, estimate or deadline is 0, the job has none. If the fraction of a GPU is 0,
   the job uses whole GPUs. Tenants, users and models are numbers from 1 to LAB_NAMES - 1; 0: none. */
struct lab_job {
  int64_t submit_us, work_us;
  uint32_t gpus;
  int32_t priority;
  uint32_t tenant, user, model;
  int64_t limit_us, estimate_us, deadline_us;
  uint32_t cpu_milli;
  uint64_t mem_mib;
  uint16_t gpu_milli;
  uint8_t class_, flags;
};

struct lab {
  struct lab_job jobs[LAB_JOBS]; /* sorted by submit time */
  uint32_t n_jobs;
  struct hr_pool_spec pools[LAB_POOLS];
  uint32_t n_pools;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_quota_node nodes[LAB_QUOTAS];
  struct hr_quota_spec quotas; /* without nodes: no quotas */
  struct hr_policy_choice policy;
  int64_t horizon_us;
  struct hr_result *result; /* result of the last run */
};

/* Initializes an empty scenario. */
void lab_begin(struct lab *lab);
/* Frees the scenario and the result of the last run. */
void lab_finish(struct lab *lab);
/* Sets a parameter of the policy. */
void lab_set(struct lab *lab, const char *key, const char *value);
/* Adds a pool. */
void lab_add_pool(struct lab *lab, uint32_t nodes, uint32_t gpus_per_node);
/* Appends a job, and returns its index. Jobs must be added in order of submit time. */
uint32_t lab_add_job(struct lab *lab, struct lab_job job);
/* Adds a tenant or cohort; tenant 1 is named "t1". Limits and weight that are 0 mean no limit and the weight 1.
   `parent` must be set; HR_NONE: the root. Returns the index of the node. */
uint32_t lab_add_quota(struct lab *lab, struct hr_quota_node node);
/* Returns the name of a tenant, "t1" for tenant 1. */
const char *lab_tenant_name(uint32_t tenant);

/* Runs the scenario. `observer` may be NULL. False: the run failed, and its error was printed. */
bool lab_run(struct lab *lab, const struct hr_observer *observer);

/* Returns the time at which a job completed in the last run; HR_NEVER_US: it did not complete. */
int64_t lab_end_us(const struct lab *lab, uint32_t job);

/* Random numbers that are the same on all platforms. */
struct lab_dice {
  uint64_t state;
};
/* Returns a random number from 0 to `below` - 1. */
uint32_t lab_roll(struct lab_dice *dice, uint32_t below);
/* Returns true with a probability of `percent` percent. */
bool lab_chance(struct lab_dice *dice, uint32_t percent);

#endif
