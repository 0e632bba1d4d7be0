/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_LEDGER_H
#define HEADROOM_LEDGER_H

/*
 * Who pays for what. A fold that follows a run and books every dollar that a pool costs to a tenant or to idleness:
 * what tenants pay plus what is idle equals what the pools cost, to the last unit.
 *
 * Amounts are micro-dollars per GPU-hour x milli-GPU x microseconds, in 128 bits; HR_LEDGER_UNITS_PER_UUSD of them
 * make a micro-dollar. Nothing is rounded before it is shown.
 */

#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* milli-GPUs in a GPU x microseconds in an hour */
#define HR_LEDGER_UNITS_PER_UUSD (INT64_C(1000) * 3600 * 1000000)

/* Months of accounts: a twelfth of 365 days, from time zero. */
#define HR_MONTH_US (INT64_C(730) * 3600 * 1000000)

/* What a charge is for. */
struct hr_account {
  uint32_t tenant; /* HR_NONE: jobs without a tenant */
  uint8_t class_;  /* enum hr_job_class */
  uint32_t pool;
  uint32_t month;
};

struct hr_charge {
  struct hr_account account;
  hr_amount amount;
  hr_amount gpu_time; /* milli-GPU x microseconds */
};

/* What a pool came to. */
struct hr_pool_account {
  hr_amount cost;                /* used + idle */
  hr_amount used;                /* charged to jobs */
  hr_amount on_demand;           /* what the GPU time that jobs used would have cost on demand; 0 where unknown */
  hr_amount gpu_time, used_time; /* milli-GPU x microseconds that were paid for, and that jobs used of them */
  hr_amount waived_time;         /* that were not billed, as the node was reclaimed early */
};

struct hr_ledger;
/* `trace` and `cluster` must outlive it. NULL when out of memory. `by_job`: also keep each job's cost. */
HR_API struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                          bool by_job);
HR_API void hr_ledger_destroy(struct hr_ledger *ledger);
/* To be given to a run, once. */
HR_API struct hr_observer hr_ledger_observer(struct hr_ledger *ledger);
/* Ends the accounts at the run's end: what still runs is charged up to it. HR_NO_MEMORY if an account was lost. */
HR_API enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result);

/* After the close. Charges are sorted by (pool, tenant, class, month). */
HR_API size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges);
HR_API const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool);
HR_API hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job);

#ifdef __cplusplus
}
#endif
#endif
