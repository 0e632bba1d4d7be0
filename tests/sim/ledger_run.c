/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger in runs of the engine with markets, with and without a horizon. The ledger computes its accounts from
   events. They must agree with the held times of jobs and the up times of nodes that the engine computes. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

enum { RUNS = 40, JOBS = 150, POOLS = 3, PRICE = 1234567 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS], tenant[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_ledger *ledger;
  struct hr_result *result;
  uint64_t interruptions;
  hr_amount waived_time;
} run;

static void draw_jobs(uint32_t seed) {
  struct hr__stream draws;
  hr__stream_init(&draws, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t i = 0; i < JOBS; i++) {
    run.submit_us[i] = (i ? run.submit_us[i - 1] : 0) + hr__stream_next(&draws) % (60 * HR_SECOND_US);
    run.work_us[i] = hr__stream_next(&draws) % (2400 * HR_SECOND_US);
    run.gpus[i] = hr__stream_next(&draws) % 7;
    run.tenant[i] = hr__stream_next(&draws) % 5;
  }
  run.trace = (struct hr_trace){.source = "test",
                                .n_jobs = JOBS,
                                .submit_us = run.submit_us,
                                .work_us = run.work_us,
                                .gpus = run.gpus,
                                .tenant = run.tenant};
}

static struct hr_pool_spec pool_of(enum hr_market market, struct hr_billing billing) {
  static char name[] = "pool", gpu[] = "T4";
  return (struct hr_pool_spec){
      .name = name,
      .gpu = gpu,
      .nodes = 3,
      .gpus_per_node = 4,
      .market = {
          .market = market,
          .price_uusd_h = PRICE,
          .on_demand_uusd_h = 2 * PRICE,
          .to_us = HR_NEVER_US,
          .billing = billing,
          .boot = {HR_DURATION_FIXED, 90, 0},
          .spot = {.model = HR_SPOT_EXPONENTIAL, .notice_us = 30 * HR_SECOND_US, .rate_per_h = 2, .batch_mean = 2}}};
}

/* All pools have the same price, so a job's cost does not depend on the pools in which it ran. */
static void run_once(uint32_t seed, struct hr_billing billing) {
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  draw_jobs(seed);
  run.pools[0] = pool_of(HR_MARKET_SPOT, billing);
  run.pools[1] = pool_of(HR_MARKET_RESERVED, billing);
  run.pools[2] = pool_of(HR_MARKET_ON_DEMAND, billing);
  run.cluster = (struct hr_cluster_spec){run.pools, POOLS};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    run.classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 600 * HR_SECOND_US};
  run.ledger = hr_ledger_create(&run.trace, &run.cluster, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run.ledger);
  struct hr_observer observer = hr_ledger_observer(run.ledger);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", &error), HR_OK);
  struct hr_run_config config = {.trace = &run.trace,
                                 .cluster = &run.cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = seed,
                                 .horizon_us = seed % 2 ? HR_NEVER_US : 3600 * HR_SECOND_US,
                                 .classes = run.classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &run.result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(run.ledger, run.result), HR_OK);
  hr_policy_choice_finish(&choice);
}

static void finish(void) {
  hr_ledger_destroy(run.ledger);
  hr_result_destroy(run.result);
}

static hr_amount paid(uint32_t pool) {
  const struct hr_charge *charges;
  size_t n_charges = hr_ledger_charges(run.ledger, &charges);
  hr_amount sum = 0;
  for (size_t i = 0; i < n_charges; i++) sum += charges[i].account.pool == pool ? charges[i].amount : 0;
  return sum;
}

static void check_balance(void) {
  for (uint32_t i = 0; i < POOLS; i++) {
    const struct hr_pool_account *account = hr_ledger_pool(run.ledger, (hr_pool){i});
    CU_ASSERT(paid(i) == account->used);
    CU_ASSERT(account->used <= account->cost);
    CU_ASSERT(account->used_time <= account->gpu_time);
    run.waived_time += account->waived_time;
  }
}

static void accounts_equal_engine_times(void) {
  for (uint32_t seed = 0; seed < RUNS; seed++) {
    bool equal = true;
    run_once(seed, (struct hr_billing){0});
    check_balance();
    for (uint32_t i = 0; i < JOBS; i++) {
      hr_amount gpu_time = (hr_amount)hr_result_accounting(run.result, (hr_job){i}).held_us * run.gpus[i] * 1000;
      equal &= hr_ledger_job(run.ledger, (hr_job){i}) == gpu_time * PRICE;
    }
    CU_ASSERT(equal);
    for (uint32_t i = 0; i < POOLS; i += 2) {
      hr_amount cost = run.result->pools[i].up_us * 4000 * PRICE;
      CU_ASSERT(hr_ledger_pool(run.ledger, (hr_pool){i})->cost == cost);
      run.interruptions += run.result->pools[i].interruptions;
    }
    finish();
  }
  CU_ASSERT(run.interruptions > RUNS);
}

static void accounts_balance_with_billing_rules(void) {
  for (uint32_t seed = 0; seed < RUNS; seed++) {
    run_once(seed, (struct hr_billing){HR_SECOND_US, 60 * HR_SECOND_US, 3600 * HR_SECOND_US});
    check_balance();
    finish();
  }
  CU_ASSERT(run.waived_time > 0);
}

TEST_MAIN("ledger of runs", TEST(accounts_equal_engine_times), TEST(accounts_balance_with_billing_rules))
