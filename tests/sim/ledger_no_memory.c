/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For each allocation of the ledger there are two runs. In one, only this allocation fails; in the other, this and all
   later allocations fail. The ledger must report the failure, at the latest when it is closed. It must not crash or
   leak memory. */

#include "harness.h"
#include "ledger_events.h"
#include "scarce_memory.h"

enum { JOBS = 600, NODES = 4 };

static struct hr_price_step steps[] = {{0, 5}, {1000, 6}, {5000, 7}};
static char name[] = "";

static const struct hr_market_spec spot = {.market = HR_MARKET_SPOT,
                                           .price_uusd_h = 5,
                                           .prices = steps,
                                           .n_prices = 3,
                                           .to_us = HR_NEVER_US,
                                           .billing = {0, 0, 100000}};

/* Reports jobs of many tenants on a new node. Their charges are deferred until it is known whether the node's session
   is free of charge. It is not, because the node is reclaimed after more than 100,000 us. */
static void report_all(struct hr_ledger *ledger) {
  report_node_event(ledger, 0, HR_EVENT_ACQUIRE, HR_REASON_NONE, 0, 0);
  for (uint32_t i = 0; i < JOBS; i++) {
    struct hr_slice slice = {{0}, 1000, 0};
    struct hr_placement placement = {{0}, 1, &slice};
    report_job_event(ledger, 10 * i, HR_EVENT_START, i, &placement);
    report_job_event(ledger, 10 * i + 10, HR_EVENT_END, i, &placement);
  }
  report_node_event(ledger, 200000, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED, 0, 0);
}

static enum hr_status run_ledger(void) {
  static uint32_t gpus[JOBS], tenant[JOBS];
  static uint8_t state[JOBS];
  for (uint32_t i = 0; i < JOBS; i++) {
    gpus[i] = 1;
    tenant[i] = i;
  }
  struct hr_trace trace = {.n_jobs = JOBS, .gpus = gpus, .tenant = tenant};
  struct hr_pool_spec pool = {.name = name, .gpu = name, .nodes = NODES, .gpus_per_node = 8, .market = spot};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_result result = {.n_jobs = JOBS, .state = state, .end_us = 200000};
  struct hr_ledger *ledger = hr_ledger_create(&trace, &cluster, true);
  if (!ledger) return HR_NO_MEMORY;
  report_all(ledger);
  enum hr_status status = hr_ledger_close(ledger, &result);
  const struct hr_charge *charges;
  if (status == HR_OK) CU_ASSERT_EQUAL(hr_ledger_charges(ledger, &charges), JOBS);
  hr_ledger_destroy(ledger);
  return status;
}

static void permanent_failures_are_reported(void) {
  CU_ASSERT(starve(run_ledger) > 12);
}

static void single_failures_are_reported(void) {
  bool failed = true;
  for (long allowed = 0; failed; allowed++) {
    memory_ends_after(allowed, false);
    enum hr_status status = run_ledger();
    failed = memory_is_ample();
    CU_ASSERT_EQUAL(status, failed ? HR_NO_MEMORY : HR_OK);
  }
}

TEST_MAIN("sim ledger no memory", TEST(permanent_failures_are_reported), TEST(single_failures_are_reported))
