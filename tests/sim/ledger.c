/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every rule of the cost accounts, in cases that are computed by hand. Results are exact. The unit of an amount is
   milli-GPUs x microseconds x price, and a node has 4,000 milli-GPUs. */

#include "harness.h"
#include "ledger_events.h"

#include <string.h>

#define S HR_SECOND_US
#define HOUR (INT64_C(3600) * S)

enum { MAX_JOBS = 4, PRICE = 7, ON_DEMAND = 11 };

/* A run without an engine: the test reports the events. The run has four jobs and two pools. Each pool has 2 nodes with
   4 GPUs. Nodes 0 and 1 are in the first pool. */
static struct {
  struct hr_pool_spec pools[2];
  struct hr_cluster_spec cluster;
  uint32_t gpus[MAX_JOBS], tenant[MAX_JOBS];
  uint8_t class_[MAX_JOBS], state[MAX_JOBS];
  struct hr_trace trace;
  struct hr_ledger *ledger;
} run;

static char no_name[] = "";

static struct hr_pool_spec pool_of(enum hr_market market) {
  return (struct hr_pool_spec){.name = no_name,
                               .gpu = no_name,
                               .nodes = 2,
                               .gpus_per_node = 4,
                               .market = {.market = market,
                                          .price_uusd_h = market == HR_MARKET_NONE ? 0 : PRICE,
                                          .on_demand_uusd_h = ON_DEMAND,
                                          .to_us = HR_NEVER_US}};
}

/* Jobs 0, 1, 2 and 3 request 1, 2, 3 and 4 GPUs. Jobs 0 and 2 belong to tenant 0, the others to tenant 1. Each job has
   a different class. */
static void prepare(enum hr_market market) {
  memset(&run, 0, sizeof run);
  run.pools[0] = pool_of(market);
  run.pools[1] = pool_of(HR_MARKET_OWNED);
  run.cluster = (struct hr_cluster_spec){run.pools, 2};
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    run.gpus[i] = i + 1;
    run.tenant[i] = i % 2;
    run.class_[i] = (uint8_t)(i + 1);
  }
  run.trace = (struct hr_trace){.n_jobs = MAX_JOBS, .gpus = run.gpus, .tenant = run.tenant, .class_ = run.class_};
}

static void begin(void) {
  run.ledger = hr_ledger_create(&run.trace, &run.cluster, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run.ledger);
}

/* Reports an event of a job that is on one node of the first pool. */
static void job_event(int64_t at_us, enum hr_event_kind kind, uint32_t job, uint32_t node) {
  struct hr_slice slice = {{node}, run.gpus[job] * 1000, 0};
  struct hr_placement placement = {{0}, 1, &slice};
  run.state[job] = kind == HR_EVENT_START ? HR_JOB_RUNNING : kind == HR_EVENT_END ? HR_JOB_COMPLETED : HR_JOB_WAITING;
  report_job_event(run.ledger, at_us, kind, job, &placement);
}

static void job_runs(int64_t from_us, int64_t to_us, uint32_t job, uint32_t node) {
  job_event(from_us, HR_EVENT_START, job, node);
  job_event(to_us, HR_EVENT_END, job, node);
}

static void node_event(int64_t at_us, enum hr_event_kind kind, enum hr_reason reason, uint32_t node) {
  report_node_event(run.ledger, at_us, kind, reason, 0, node);
}

static void acquire(int64_t at_us, uint32_t node) {
  node_event(at_us, HR_EVENT_ACQUIRE, HR_REASON_NONE, node);
}

static void release(int64_t at_us, uint32_t node) {
  node_event(at_us, HR_EVENT_RELEASE, HR_REASON_NONE, node);
}

static void reclaim(int64_t at_us, uint32_t node) {
  node_event(at_us, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED, node);
}

/* Ends the run and returns the account of the first pool. */
static struct hr_pool_account end_run(int64_t end_us) {
  struct hr_result result = {.n_jobs = MAX_JOBS, .state = run.state, .end_us = end_us};
  CU_ASSERT_EQUAL(hr_ledger_close(run.ledger, &result), HR_OK);
  struct hr_pool_account account = *hr_ledger_pool(run.ledger, (hr_pool){0});
  CU_ASSERT(account.cost >= account.used);
  CU_ASSERT(account.gpu_time >= account.used_time);
  return account;
}

static size_t charges(const struct hr_charge **list) {
  return hr_ledger_charges(run.ledger, list);
}

static void finish(void) {
  hr_ledger_destroy(run.ledger);
}

static bool charge_is(const struct hr_charge *charge, uint32_t tenant, uint8_t class_, uint32_t month,
                      hr_amount amount) {
  const struct hr_account *account = &charge->account;
  return account->tenant == tenant && account->class_ == class_ && account->month == month && account->pool == 0 &&
         charge->amount == amount;
}

/* ---- Fixed pools ---- */

static void owned_pool_is_billed_for_whole_run(void) {
  const struct hr_charge *list;
  prepare(HR_MARKET_OWNED);
  begin();
  job_runs(10 * S, 40 * S, 1, 0);
  struct hr_pool_account account = end_run(100 * S);
  CU_ASSERT(account.cost == (hr_amount)8000 * 100 * S * PRICE);
  CU_ASSERT(account.gpu_time == (hr_amount)8000 * 100 * S);
  CU_ASSERT(account.used == (hr_amount)2000 * 30 * S * PRICE);
  CU_ASSERT(account.used_time == (hr_amount)2000 * 30 * S);
  CU_ASSERT(account.on_demand == (hr_amount)2000 * 30 * S * ON_DEMAND);
  CU_ASSERT_EQUAL_FATAL(charges(&list), 1);
  CU_ASSERT(charge_is(list, 1, HR_CLASS_FINE_TUNE, 0, account.used));
  CU_ASSERT(list->gpu_time == account.used_time);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){1}) == account.used);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){0}) == 0);
  CU_ASSERT(hr_ledger_pool(run.ledger, (hr_pool){1})->cost == account.cost);
  finish();
}

static void pool_without_price_counts_time(void) {
  const struct hr_charge *list;
  prepare(HR_MARKET_NONE);
  run.pools[0].market.on_demand_uusd_h = HR_UNKNOWN_UUSD_H;
  begin();
  job_runs(0, 5 * S, 3, 1);
  struct hr_pool_account account = end_run(5 * S);
  CU_ASSERT(account.cost == 0 && account.used == 0 && account.on_demand == 0);
  CU_ASSERT(account.gpu_time == (hr_amount)8000 * 5 * S);
  CU_ASSERT(account.used_time == (hr_amount)4000 * 5 * S);
  CU_ASSERT_EQUAL_FATAL(charges(&list), 1);
  CU_ASSERT(charge_is(list, 1, HR_CLASS_INFERENCE, 0, 0));
  finish();
}

/* Returns the cost of 8 GPUs in a run that ends at `end_us`. The GPUs are reserved from 20 s to `to_us`. */
static hr_amount reserved_cost(int64_t to_us, int64_t end_us) {
  prepare(HR_MARKET_RESERVED);
  run.pools[0].market.from_us = 20 * S;
  run.pools[0].market.to_us = to_us;
  begin();
  node_event(20 * S, HR_EVENT_NODE_UP, HR_REASON_NONE, 0);
  node_event(to_us, HR_EVENT_NODE_DOWN, HR_REASON_RESERVATION_END, 0);
  hr_amount cost = end_run(end_us).cost;
  finish();
  return cost;
}

static void reservation_is_billed_for_reserved_time(void) {
  const hr_amount second = (hr_amount)8000 * S * PRICE;
  CU_ASSERT(reserved_cost(HR_NEVER_US, 100 * S) == 80 * second);
  CU_ASSERT(reserved_cost(HR_NEVER_US, 10 * S) == 0);
  CU_ASSERT(reserved_cost(50 * S, 100 * S) == 30 * second);
  CU_ASSERT(reserved_cost(150 * S, 100 * S) == 130 * second);
  CU_ASSERT(reserved_cost(150 * S, 10 * S) == 130 * second);
}

/* ---- Nodes that come and go ---- */

/* Returns the billed time of a node that is up for `up_us` from 10 s on. Then the run ends. If `is_released` is set,
   the node is released immediately before the end of the run. */
static int64_t billed(struct hr_billing billing, int64_t up_us, bool is_released) {
  prepare(HR_MARKET_ON_DEMAND);
  run.pools[0].market.billing = billing;
  begin();
  acquire(10 * S, 1);
  if (is_released) release(10 * S + up_us, 1);
  struct hr_pool_account account = end_run(10 * S + up_us);
  CU_ASSERT(account.cost == account.gpu_time * PRICE);
  finish();
  return (int64_t)(account.gpu_time / 4000);
}

static void granularity_and_minimum_of_sessions(void) {
  const struct hr_billing exact = {0}, seconds = {S, 60 * S, 0}, hours = {HOUR, 0, 0}, odd = {40 * S, 60 * S, 0};
  for (int is_released = 0; is_released < 2; is_released++) {
    CU_ASSERT_EQUAL(billed(exact, 61 * S + 1, is_released), 61 * S + 1);
    CU_ASSERT_EQUAL(billed(exact, 0, is_released), 0);
    CU_ASSERT_EQUAL(billed(seconds, 0, is_released), 60 * S);
    CU_ASSERT_EQUAL(billed(seconds, 59 * S + 1, is_released), 60 * S);
    CU_ASSERT_EQUAL(billed(seconds, 60 * S, is_released), 60 * S);
    CU_ASSERT_EQUAL(billed(seconds, 60 * S + 1, is_released), 61 * S);
    CU_ASSERT_EQUAL(billed(seconds, 61 * S, is_released), 61 * S);
    CU_ASSERT_EQUAL(billed(hours, 1, is_released), HOUR);
    CU_ASSERT_EQUAL(billed(hours, HOUR + 1, is_released), 2 * HOUR);
    CU_ASSERT_EQUAL(billed(odd, 30 * S, is_released), 60 * S);
    CU_ASSERT_EQUAL(billed(odd, 50 * S, is_released), 80 * S);
  }
}

static void each_launch_is_billed_separately(void) {
  prepare(HR_MARKET_SPOT);
  run.pools[0].market.billing = (struct hr_billing){S, 60 * S, 0};
  begin();
  acquire(0, 0);
  release(5 * S, 0);
  acquire(5 * S, 0);
  reclaim(100 * S, 0);
  struct hr_pool_account account = end_run(200 * S);
  CU_ASSERT(account.cost == (hr_amount)4000 * (60 + 95) * S * PRICE);
  CU_ASSERT(account.waived_time == 0);
  finish();
}

static void rounding_is_billed_at_last_price(void) {
  struct hr_price_step steps[] = {{0, 10}, {30 * S, 20}, {45 * S, 1000}};
  prepare(HR_MARKET_SPOT);
  run.pools[0].market.prices = steps;
  run.pools[0].market.n_prices = 3;
  run.pools[0].market.billing = (struct hr_billing){S, 60 * S, 0};
  begin();
  acquire(10 * S, 0);
  acquire(10 * S, 1);
  job_runs(10 * S, 30 * S, 0, 0);
  /* At least 60 s are billed: 20 s at price 10, and 40 s at price 20, which is valid at the release. */
  release(30 * S, 0);
  reclaim(30 * S - 1000, 1); /* one millisecond before 30 s the price is still 10 */
  struct hr_pool_account account = end_run(200 * S);
  CU_ASSERT(account.cost == (hr_amount)4000 * S * (20 * 10 + 40 * 20 + 60 * 10));
  CU_ASSERT(account.used == (hr_amount)1000 * S * 20 * 10);
  finish();
}

/* ---- Nodes that are not billed because they are reclaimed early ---- */

static void prepare_free_hour(void) {
  prepare(HR_MARKET_SPOT);
  run.pools[0].market.billing = (struct hr_billing){S, 60 * S, HOUR};
  begin();
}

/* Returns the account of a pool in which a node is launched at 10 s and runs a job for a minute. The event `kind` ends
   the session of the node after `up_us`. HR_EVENT_TIMER means that no event ends the session, and that the run ends at
   this time. */
static struct hr_pool_account run_young_node(int64_t up_us, enum hr_event_kind kind, enum hr_reason reason) {
  prepare_free_hour();
  acquire(10 * S, 0);
  job_runs(20 * S, 80 * S, 0, 0);
  if (kind != HR_EVENT_TIMER) node_event(10 * S + up_us, kind, reason, 0);
  struct hr_pool_account account = end_run(10 * S + up_us);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){0}) == account.used);
  finish();
  return account;
}

static void node_reclaimed_in_first_hour_is_not_billed(void) {
  const hr_amount minute = (hr_amount)1000 * 60 * S * PRICE;
  struct hr_pool_account account = run_young_node(HOUR, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED);
  CU_ASSERT(account.cost == 0 && account.used == 0 && account.gpu_time == 0 && account.used_time == 0);
  CU_ASSERT(account.on_demand == 0);
  CU_ASSERT(account.waived_time == (hr_amount)4000 * HOUR);
  account = run_young_node(HOUR + 1, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED);
  CU_ASSERT(account.cost == (hr_amount)4000 * (HOUR + S) * PRICE);
  CU_ASSERT(account.used == minute && account.waived_time == 0);
}

static void early_released_node_is_billed(void) {
  const hr_amount cost = (hr_amount)4000 * 100 * S * PRICE, minute = (hr_amount)1000 * 60 * S * PRICE;
  struct hr_pool_account account = run_young_node(100 * S, HR_EVENT_RELEASE, HR_REASON_NONE);
  CU_ASSERT(account.cost == cost && account.used == minute && account.waived_time == 0);
  account = run_young_node(100 * S, HR_EVENT_TIMER, HR_REASON_NONE); /* the run ends, but not the session of the node */
  CU_ASSERT(account.cost == cost && account.used == minute && account.waived_time == 0);
}

static void gang_is_charged_for_billed_nodes_only(void) {
  struct hr_slice slices[] = {{{0}, 3000, 0}, {{1}, 1000, 0}};
  struct hr_placement placement = {{0}, 2, slices};
  prepare_free_hour();
  acquire(0, 0);
  acquire(HOUR, 1);
  report_job_event(run.ledger, HOUR, HR_EVENT_START, 3, &placement);
  report_job_event(run.ledger, HOUR + 60 * S, HR_EVENT_INTERRUPT, 3, &placement);
  reclaim(HOUR + 60 * S, 1);
  struct hr_pool_account account = end_run(HOUR + 60 * S);
  CU_ASSERT(account.used == (hr_amount)3000 * 60 * S * PRICE);
  CU_ASSERT(account.cost == (hr_amount)4000 * (HOUR + 60 * S) * PRICE);
  CU_ASSERT(account.waived_time == (hr_amount)4000 * 60 * S);
  finish();
}

/* The sessions of two launches of one node are independent of each other. */
static void launches_of_a_node_are_independent(void) {
  prepare_free_hour();
  acquire(0, 0);
  job_runs(0, 60 * S, 0, 0);
  job_runs(0, 2 * HOUR, 1, 0); /* this session is too long to be free, so its deferred uses are charged */
  release(2 * HOUR, 0);
  acquire(2 * HOUR, 0);
  job_runs(2 * HOUR, 2 * HOUR + 7 * S, 2, 0);
  reclaim(2 * HOUR + 10 * S, 0);
  struct hr_pool_account account = end_run(3 * HOUR);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){0}) == (hr_amount)1000 * 60 * S * PRICE);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){1}) == (hr_amount)2000 * 2 * HOUR * PRICE);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){2}) == 0);
  CU_ASSERT(account.cost == (hr_amount)4000 * 2 * HOUR * PRICE);
  CU_ASSERT(account.waived_time == (hr_amount)4000 * 10 * S);
  finish();
}

/* ---- Jobs ---- */

static void job_is_charged_for_all_attempts(void) {
  const struct hr_charge *list;
  prepare(HR_MARKET_OWNED);
  begin();
  job_event(10 * S, HR_EVENT_START, 0, 0);
  job_event(20 * S, HR_EVENT_INTERRUPT, 0, 0);
  job_event(20 * S, HR_EVENT_START, 0, 1);
  job_event(25 * S, HR_EVENT_SAVED, 0, 1);
  job_event(30 * S, HR_EVENT_PREEMPT, 0, 1);
  job_event(50 * S, HR_EVENT_START, 0, 0); /* the job still runs at the end of the run */
  struct hr_pool_account account = end_run(60 * S);
  CU_ASSERT(account.used == (hr_amount)1000 * 30 * S * PRICE);
  CU_ASSERT_EQUAL(charges(&list), 1);
  finish();
}

static void jobs_without_gpus_or_tenants(void) {
  const struct hr_charge *list;
  struct hr_placement no_slices = {{0}, 0, NULL};
  prepare(HR_MARKET_OWNED);
  run.gpus[0] = 0;
  run.trace.tenant = NULL;
  run.trace.class_ = NULL;
  begin();
  report_job_event(run.ledger, 0, HR_EVENT_START, 0, &no_slices);
  report_job_event(run.ledger, 9 * S, HR_EVENT_END, 0, &no_slices);
  report_job_event(run.ledger, 0, HR_EVENT_START, 2, &no_slices); /* a placement without slices, and so without specific
                                                                     nodes */
  report_job_event(run.ledger, 9 * S, HR_EVENT_END, 2, &no_slices);
  end_run(9 * S);
  CU_ASSERT_EQUAL_FATAL(charges(&list), 1);
  CU_ASSERT(charge_is(list, HR_NONE, HR_CLASS_UNKNOWN, 0, (hr_amount)3000 * 9 * S * PRICE));
  finish();
}

static void charges_are_split_by_month(void) {
  const struct hr_charge *list;
  struct hr_price_step steps[] = {{0, 10}, {HR_MONTH_US, 20}, {2 * HR_MONTH_US + S, 30}};
  prepare(HR_MARKET_OWNED);
  run.pools[0].market.prices = steps;
  run.pools[0].market.n_prices = 3;
  begin();
  job_runs(HR_MONTH_US - 2 * S, 2 * HR_MONTH_US + 5 * S, 0, 0);
  job_runs(HR_MONTH_US, 2 * HR_MONTH_US, 2, 0); /* exactly one month: one charge */
  end_run(2 * HR_MONTH_US + 5 * S);
  CU_ASSERT_EQUAL_FATAL(charges(&list), 4);
  CU_ASSERT(charge_is(&list[0], 0, HR_CLASS_TRAINING, 0, (hr_amount)1000 * 2 * S * 10));
  CU_ASSERT(charge_is(&list[1], 0, HR_CLASS_TRAINING, 1, (hr_amount)1000 * HR_MONTH_US * 20));
  CU_ASSERT(charge_is(&list[2], 0, HR_CLASS_TRAINING, 2, (hr_amount)1000 * S * (1 * 20 + 4 * 30)));
  CU_ASSERT(charge_is(&list[3], 0, HR_CLASS_BATCH_INFERENCE, 1, (hr_amount)3000 * HR_MONTH_US * 20));
  finish();
}

static void job_costs_are_optional(void) {
  prepare(HR_MARKET_OWNED);
  run.ledger = hr_ledger_create(&run.trace, &run.cluster, false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run.ledger);
  job_runs(0, S, 0, 0);
  CU_ASSERT(end_run(S).used == (hr_amount)1000 * S * PRICE);
  CU_ASSERT(hr_ledger_job(run.ledger, (hr_job){0}) == 0);
  finish();
}

static void run_without_jobs(void) {
  const struct hr_charge *list;
  prepare(HR_MARKET_SPOT);
  begin();
  struct hr_pool_account account = end_run(0);
  CU_ASSERT(account.cost == 0 && account.gpu_time == 0);
  CU_ASSERT_EQUAL(charges(&list), 0);
  finish();
  hr_ledger_destroy(NULL);
}

/* ---- Prices ---- */

static void price_and_price_sum_at_each_time(void) {
  struct hr_price_step steps[] = {{0, 5}, {10, 0}, {11, 7}, {40, 3}, {1000, 2}};
  struct hr_market_spec market = {.prices = steps};
  for (market.n_prices = 1; market.n_prices <= 5; market.n_prices++) {
    hr_amount sum = 0;
    for (int64_t at_us = 0; at_us < 1100; at_us++) {
      int64_t price = 0;
      for (uint32_t i = 0; i < market.n_prices; i++)
        if (steps[i].at_us <= at_us) price = steps[i].uusd_h;
      CU_ASSERT_EQUAL(hr_market_price_at(&market, at_us), price);
      CU_ASSERT(hr_market_price_sum(&market, at_us) == sum);
      sum += price;
    }
  }
  struct hr_market_spec fixed = {.price_uusd_h = INT64_C(1) << 40};
  CU_ASSERT_EQUAL(hr_market_price_at(&fixed, 123), INT64_C(1) << 40);
  CU_ASSERT(hr_market_price_sum(&fixed, INT64_C(1) << 50) >> 80 == 1024); /* the sum exceeds 64 bits */
}

TEST_MAIN("sim ledger", TEST(owned_pool_is_billed_for_whole_run), TEST(pool_without_price_counts_time),
          TEST(reservation_is_billed_for_reserved_time), TEST(granularity_and_minimum_of_sessions),
          TEST(each_launch_is_billed_separately), TEST(rounding_is_billed_at_last_price),
          TEST(node_reclaimed_in_first_hour_is_not_billed), TEST(early_released_node_is_billed),
          TEST(gang_is_charged_for_billed_nodes_only), TEST(launches_of_a_node_are_independent),
          TEST(job_is_charged_for_all_attempts), TEST(jobs_without_gpus_or_tenants), TEST(charges_are_split_by_month),
          TEST(job_costs_are_optional), TEST(run_without_jobs), TEST(price_and_price_sum_at_each_time))
