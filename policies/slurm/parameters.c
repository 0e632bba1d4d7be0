/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of Slurm's parameters; see parameters.h. */

#include "policies/slurm/parameters.h"

#include <stddef.h>
#include <strings.h>

#define NONE HR__SLURM_NO_BOUND

static const struct hr__slurm_parameter parameters[] = {
    {"bf_interval", "s", 30, -1, 10800, NULL, NULL},
    {"bf_resolution", "s", 60, 1, 3600, NULL, NULL},
    {"bf_window", "min", 1440, 1, 43200, NULL, NULL},
    {"bf_max_job_test", "jobs", 500, 1, 1000000, NULL, NULL},
    {"bf_max_job_start", "jobs", 0, 0, 10000, NULL, NULL},
    {"bf_max_job_user", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_assoc", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_user_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_array_resv", "jobs", 20, 0, 1000, NULL, NULL},
    {"bf_max_time", "s", NONE, 1, 3600, "bf_interval", NULL},
    {"bf_yield_interval", "us", 2000000, 1, 10000000, NULL, NULL},
    {"bf_yield_sleep", "us", 500000, 1, 10000000, NULL, NULL},
    {"bf_min_age_reserve", "s", 0, NONE, NONE, NULL, NULL},
    {"bf_min_prio_reserve", "priority", 0, NONE, NONE, NULL, NULL},
    {"bf_job_part_count_reserve", "jobs", 0, 0, 100000, NULL, NULL},
    {"bf_node_space_size", "records", NONE, 2, 2000000, "bf_max_job_test", NULL},
    {"default_queue_depth", "jobs", 100, NONE, NONE, NULL, NULL},
    {"partition_job_depth", "jobs", 0, NONE, NONE, NULL, NULL},
    {"sched_interval", "s", 60, NONE, NONE, NULL, NULL},
    {"sched_min_interval", "us", 2, NONE, NONE, NULL, NULL},
    {"sched_max_job_start", "jobs", 0, NONE, NONE, NULL, NULL},
    {"batch_sched_delay", "s", 3, NONE, NONE, NULL, NULL},
    {"build_queue_timeout", "us", 2000000, NONE, NONE, NULL, NULL},
    {"max_rpc_cnt", "requests", 0, 0, 1000, NULL, NULL},
    {"max_depend_depth", "jobs", 10, NONE, NONE, NULL, NULL},
    {"max_switch_wait", "s", 300, NONE, NONE, NULL, NULL},
    {"preempt_reorder_count", "times", 1, NONE, NONE, NULL, NULL},
    {"PriorityMaxAge", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityDecayHalfLife", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityCalcPeriod", "min", 5, NONE, NONE, NULL, NULL},
    {"PriorityWeightAge", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightAssoc", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightFairshare", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightJobSize", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightPartition", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightQOS", "weight", 0, NONE, NONE, NULL, NULL},
    {"FairShareDampeningFactor", "factor", 1, NONE, NONE, NULL, NULL},
    {"PreemptExemptTime", "s", -1, NONE, NONE, NULL, NULL},
    {"SchedulerTimeSlice", "s", 30, 5, 65533, NULL, NULL},
    {"OverTimeLimit", "min", 0, 0, 65533, NULL, NULL},
    {"KillWait", "s", 30, 0, 65533, NULL, NULL},
    {"CompleteWait", "s", 0, 0, 65533, NULL, NULL},
    {"MaxArraySize", "tasks", 1001, 0, 4000001, NULL, NULL},
    {"MaxJobCount", "jobs", 10000, NONE, NONE, NULL, NULL},
};

const struct hr__slurm_parameter *hr__slurm_parameter(const char *name) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
    if (strcasecmp(parameters[i].name, name) == 0) return &parameters[i];
  return NULL;
}
