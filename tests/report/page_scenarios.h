/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PAGE_SCENARIOS_H
#define HR_TESTS_REPORT_PAGE_SCENARIOS_H

/* Small random scenarios that are simulated with all observers of the HTML report. An additional observer records the
   counts after every pass. */

#include "headroom/policies.h"
#include "headroom/unstable/exports.h"

enum { SCENARIO_JOBS = 60, SCENARIO_POOLS = 4 };

struct page_instant {
  int64_t at_us;
  uint64_t waiting, running, allocated_milli, total_milli, waiting_milli;
  uint32_t up[SCENARIO_POOLS],
      offered[SCENARIO_POOLS]; /* by elastic pool; up: acquired nodes; offered: acquired plus available nodes */
};

struct page_scenario {
  uint64_t state; /* state of the random number generator */
  int64_t submit_us[SCENARIO_JOBS], work_us[SCENARIO_JOBS];
  uint32_t gpus[SCENARIO_JOBS], tenant[SCENARIO_JOBS], user[SCENARIO_JOBS];
  int64_t id[SCENARIO_JOBS];
  uint8_t class_[SCENARIO_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[SCENARIO_POOLS];
  struct hr_price_step prices[3];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_cost_spec costs;
  struct hr_policy_choice policy;
  int64_t horizon_us;
  /* Results of page_scenario_run(). */
  struct hr_usage *usage;
  struct hr_ledger *ledger;
  struct hr_meter *meter;
  struct hr_history *history;
  struct hr_page_watch *watch;
  struct hr_alerts *alerts;
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_run_label label;
  struct hr_page_run run;
  struct page_instant *instants;
  size_t n_instants, capacity;
};

/* Returns a random scenario with markets. Some scenarios have no tenants or no classes. Free it with
   page_scenario_destroy(). */
struct page_scenario *page_scenario_draw(uint64_t seed);
/* Returns a scenario with one pool, which has no price, and with `n_jobs` jobs, which are submitted at time 0. The
   caller may change it before the run. Free it with page_scenario_destroy(). */
struct page_scenario *page_scenario_plain(uint32_t n_jobs);
/* Returns a random number below `below`. */
uint64_t page_scenario_random(struct page_scenario *scenario, uint64_t below);
/* Runs the scenario. A failure ends the program. */
void page_scenario_run(struct page_scenario *scenario);
void page_scenario_destroy(struct page_scenario *scenario);

#endif
