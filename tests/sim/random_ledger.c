/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thousand random runs, without an engine. Their events are reported to the ledger, and the accounts are compared
   with those that brute_books.c computes after the run. All accounts of tenants, pools and jobs must be exactly equal.
   The charges of all tenants plus the cost of idle capacity must equal the cost of the pools. */

#include "base/random.h"
#include "brute_books.h"
#include "harness.h"
#include "ledger_events.h"

#include <string.h>

#define S HR_SECOND_US
#define HOUR (3600 * S)
#define DAY (24 * HOUR)

enum { SCENARIOS = 1000, STEPS = 800, MAX_NODES = 5, MAX_STEPS = 9, NODES = BRUTE_POOLS * MAX_NODES };

/* The placement of a job. The uses of its slices are consecutive in the log. */
struct placed {
  bool running;
  uint32_t first_use, n_uses;
  struct hr_placement placement;
  struct hr_slice slices[MAX_NODES];
};

static struct {
  struct hr_pool_spec pools[BRUTE_POOLS];
  struct hr_price_step steps[BRUTE_POOLS][MAX_STEPS];
  struct hr_cluster_spec cluster;
  uint32_t gpus[BRUTE_JOBS], tenant[BRUTE_JOBS];
  uint8_t class_[BRUTE_JOBS], state[BRUTE_JOBS];
  struct hr_trace trace;
  uint32_t first_node[BRUTE_POOLS], session[NODES], free_milli[NODES];
  bool counted[BRUTE_POOLS], closed[BRUTE_POOLS]; /* by pool: placements have no nodes; the reservation is over */
  struct placed placed_jobs[BRUTE_JOBS];
  int64_t now_us, unit_us; /* times are multiples of unit_us, so that some of them coincide */
  struct brute_log log;
  struct hr_ledger *ledger;
} scenario;

static struct brute_books books;
static struct hr__stream draws;

/* The numbers of special situations in all runs. The test checks that each occurred often enough. */
static struct { uint64_t free_sessions, sessions, bounded, stepped, running_at_end, gangs, later_months; } seen;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static bool chance(uint32_t in) {
  return draw(in) == 0;
}

/* Draws a duration: zero (1 of 8), up to 100 s (3 of 8), up to two hours (3 of 8), or up to four days (1 of 8). */
static int64_t draw_us(void) {
  int64_t us = 0;
  switch (draw(8)) {
  case 0:
    return 0;
  case 1:
  case 2:
  case 3:
    us = (int64_t)draw(100) * S + draw(1000000);
    break;
  case 4:
  case 5:
  case 6:
    us = (int64_t)draw(7200) * S + draw(1000000);
    break;
  default:
    us = (int64_t)draw(40) * DAY / 10 + draw(1000000);
  }
  return us / scenario.unit_us * scenario.unit_us;
}

/* ---- The cluster and the jobs ---- */

static void draw_prices(uint32_t pool) {
  struct hr_market_spec *market = &scenario.pools[pool].market;
  struct hr_price_step *steps = scenario.steps[pool];
  market->price_uusd_h = draw(5000000);
  if (chance(2)) return;
  market->prices = steps;
  market->n_prices = 1 + draw(MAX_STEPS);
  for (uint32_t i = 0; i < market->n_prices; i++) {
    int64_t at_us = i == 0 ? 0 : steps[i - 1].at_us + scenario.unit_us + draw_us();
    if (i > 0 && chance(10)) at_us = (at_us / HR_MONTH_US + 1) * HR_MONTH_US;
    steps[i] = (struct hr_price_step){at_us, draw(5000000)};
  }
  market->price_uusd_h = steps[0].uusd_h;
  seen.stepped++;
}

static void draw_pool(uint32_t pool) {
  static const int64_t granularities[] = {0, S, 60 * S, HOUR}, minimums[] = {0, 60 * S, HOUR};
  static char name[] = "";
  struct hr_pool_spec *spec = &scenario.pools[pool];
  *spec = (struct hr_pool_spec){.name = name, .gpu = name, .nodes = 1 + draw(MAX_NODES), .gpus_per_node = 1 + draw(8)};
  struct hr_market_spec *market = &spec->market;
  market->market = (enum hr_market)draw(HR_N_MARKETS);
  if (market->market != HR_MARKET_NONE) draw_prices(pool);
  market->on_demand_uusd_h = chance(4) ? HR_UNKNOWN_UUSD_H : (int64_t)draw(9000000);
  market->billing = (struct hr_billing){granularities[draw(4)], minimums[draw(3)], chance(3) ? 0 : HOUR};
  market->to_us = HR_NEVER_US;
  if (market->market == HR_MARKET_RESERVED) {
    market->from_us = chance(2) ? 0 : draw_us() + draw_us();
    if (chance(2)) market->to_us = market->from_us + 1 + draw_us() + draw_us() + draw_us();
    seen.bounded += market->to_us != HR_NEVER_US;
  }
  scenario.counted[pool] = !hr_market_is_elastic(market->market) && market->to_us == HR_NEVER_US && chance(2);
}

static void draw_cluster(void) {
  uint32_t n_nodes = 0, n_pools = 1 + draw(BRUTE_POOLS);
  for (uint32_t i = 0; i < n_pools; i++) {
    draw_pool(i);
    scenario.first_node[i] = n_nodes;
    for (uint32_t j = 0; j < scenario.pools[i].nodes; j++, n_nodes++) {
      scenario.session[n_nodes] = HR_NONE;
      scenario.free_milli[n_nodes] =
          hr_market_is_elastic(scenario.pools[i].market.market) ? 0 : scenario.pools[i].gpus_per_node * 1000;
    }
  }
  scenario.cluster = (struct hr_cluster_spec){scenario.pools, n_pools};
}

static void draw_jobs(void) {
  for (uint32_t i = 0; i < BRUTE_JOBS; i++) {
    scenario.gpus[i] = chance(12) ? 0 : 1 + draw(chance(3) ? 12 : 3);
    scenario.tenant[i] = chance(6) ? HR_NONE : draw(BRUTE_TENANTS - 1);
    scenario.class_[i] = (uint8_t)draw(HR_N_CLASSES);
    scenario.state[i] = HR_JOB_WAITING;
  }
  scenario.trace = (struct hr_trace){.n_jobs = BRUTE_JOBS, .gpus = scenario.gpus};
  if (!chance(5)) scenario.trace.tenant = scenario.tenant;
  if (!chance(5)) scenario.trace.class_ = scenario.class_;
}

static void draw_scenario(uint32_t number) {
  static const int64_t units[] = {1, S, 60 * S};
  hr__stream_init(&draws, 20, HR__PURPOSE_ARRIVAL, number, 0);
  memset(&scenario, 0, sizeof scenario);
  scenario.unit_us = units[draw(3)];
  draw_cluster();
  draw_jobs();
  scenario.log.trace = &scenario.trace;
  scenario.log.cluster = &scenario.cluster;
  scenario.ledger = hr_ledger_create(&scenario.trace, &scenario.cluster, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario.ledger);
}

/* ---- Jobs start and stop ---- */

static bool is_open(uint32_t pool) {
  const struct hr_market_spec *market = &scenario.pools[pool].market;
  return market->market != HR_MARKET_RESERVED ||
         (market->from_us <= scenario.now_us && scenario.now_us < market->to_us);
}

static void log_placement(uint32_t job, uint32_t pool, uint32_t gpu_milli, uint32_t session) {
  CU_ASSERT_FATAL(scenario.log.n_uses < BRUTE_USES);
  scenario.log.uses[scenario.log.n_uses++] =
      (struct brute_use){job, pool, gpu_milli, session, scenario.now_us, HR_NEVER_US};
  scenario.placed_jobs[job].n_uses++;
}

/* Places the job on nodes of the pool. Returns false if it does not fit. */
static bool take_nodes(uint32_t job, uint32_t pool) {
  struct placed *placed = &scenario.placed_jobs[job];
  uint32_t left = scenario.gpus[job] * 1000, free_milli = 0, n_nodes = scenario.pools[pool].nodes;
  uint32_t *nodes = &scenario.free_milli[scenario.first_node[pool]];
  for (uint32_t i = 0; i < n_nodes; i++) free_milli += nodes[i];
  if (left > free_milli) return false;
  placed->placement.n_slices = 0;
  for (uint32_t i = 0; left > 0; i++) {
    uint32_t taken = nodes[i] < left ? nodes[i] : left;
    if (taken == 0) continue;
    uint32_t node = scenario.first_node[pool] + i;
    placed->slices[placed->placement.n_slices++] = (struct hr_slice){{node}, taken, 0};
    nodes[i] -= taken;
    left -= taken;
    log_placement(job, pool, taken, scenario.session[node]);
  }
  seen.gangs += placed->placement.n_slices > 1;
  return true;
}

/* Places the job in the pool without slices, and so without specific nodes. The free GPUs of the pool are computed from
   its running jobs. Returns false if the job does not fit. */
static bool take_count(uint32_t job, uint32_t pool) {
  uint32_t used = 0, gpu_milli = scenario.gpus[job] * 1000;
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (scenario.placed_jobs[i].running && scenario.placed_jobs[i].placement.pool.id == pool)
      used += scenario.gpus[i] * 1000;
  if (used + gpu_milli > scenario.pools[pool].nodes * scenario.pools[pool].gpus_per_node * 1000) return false;
  scenario.placed_jobs[job].placement.n_slices = 0;
  if (gpu_milli) log_placement(job, pool, gpu_milli, HR_NONE);
  return true;
}

static void start(uint32_t job) {
  struct placed *placed = &scenario.placed_jobs[job];
  uint32_t pool = draw(scenario.cluster.n_pools);
  if (placed->running || !is_open(pool)) return;
  placed->first_use = scenario.log.n_uses;
  placed->n_uses = 0;
  bool counts = scenario.counted[pool] || scenario.gpus[job] == 0;
  if (!(counts ? take_count(job, pool) : take_nodes(job, pool))) return;
  placed->placement.pool = (hr_pool){pool};
  placed->placement.slices = placed->slices;
  placed->running = true;
  scenario.state[job] = HR_JOB_RUNNING;
  report_job_event(scenario.ledger, scenario.now_us, HR_EVENT_START, job, &placed->placement);
}

static void stop(uint32_t job, enum hr_event_kind kind) {
  struct placed *placed = &scenario.placed_jobs[job];
  if (!placed->running) return;
  for (uint32_t i = 0; i < placed->n_uses; i++) scenario.log.uses[placed->first_use + i].to_us = scenario.now_us;
  for (uint32_t i = 0; i < placed->placement.n_slices; i++)
    scenario.free_milli[placed->slices[i].node.id] += placed->slices[i].gpu_milli;
  placed->running = false;
  scenario.state[job] = HR_JOB_WAITING;
  report_job_event(scenario.ledger, scenario.now_us, kind, job, &placed->placement);
}

static bool is_on_node(uint32_t job, uint32_t node) {
  const struct placed *placed = &scenario.placed_jobs[job];
  for (uint32_t i = 0; placed->running && i < placed->placement.n_slices; i++)
    if (placed->slices[i].node.id == node) return true;
  return false;
}

/* ---- Nodes come and go ---- */

static void launch(uint32_t pool, uint32_t node) {
  CU_ASSERT_FATAL(scenario.log.n_sessions < BRUTE_SESSIONS);
  scenario.session[node] = scenario.log.n_sessions;
  scenario.log.sessions[scenario.log.n_sessions++] = (struct brute_session){pool, scenario.now_us, HR_NEVER_US, false};
  scenario.free_milli[node] = scenario.pools[pool].gpus_per_node * 1000;
  report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_ACQUIRE, HR_REASON_NONE, pool, node);
  report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_NODE_UP, HR_REASON_NONE, pool, node);
}

static void end_session(uint32_t node, bool reclaimed) {
  struct brute_session *session = &scenario.log.sessions[scenario.session[node]];
  session->to_us = scenario.now_us;
  session->reclaimed = reclaimed;
  scenario.session[node] = HR_NONE;
  scenario.free_milli[node] = 0;
}

static void reclaim(uint32_t pool, uint32_t node) {
  report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_NOTICE, HR_REASON_RECLAIMED, pool, node);
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (is_on_node(i, node)) stop(i, HR_EVENT_INTERRUPT);
  end_session(node, true);
  report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED, pool, node);
}

static void release(uint32_t pool, uint32_t node) {
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (is_on_node(i, node)) return;
  end_session(node, false);
  report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_RELEASE, HR_REASON_NONE, pool, node);
}

static void change_node(void) {
  uint32_t pool = draw(scenario.cluster.n_pools), node = scenario.first_node[pool] + draw(scenario.pools[pool].nodes);
  enum hr_market market = scenario.pools[pool].market.market;
  if (!hr_market_is_elastic(market)) return;
  if (scenario.session[node] == HR_NONE)
    launch(pool, node);
  else if (market == HR_MARKET_SPOT && chance(3))
    reclaim(pool, node);
  else if (chance(3))
    release(pool, node);
}

static void close_reservation(uint32_t pool) {
  scenario.closed[pool] = true;
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (scenario.placed_jobs[i].running && scenario.placed_jobs[i].placement.pool.id == pool)
      stop(i, HR_EVENT_INTERRUPT);
  for (uint32_t i = 0; i < scenario.pools[pool].nodes; i++)
    report_node_event(scenario.ledger, scenario.now_us, HR_EVENT_NODE_DOWN, HR_REASON_RESERVATION_END, pool,
                      scenario.first_node[pool] + i);
}

/* ---- A run ---- */

/* Advances the time to `until_us`. Reservations that end by then are closed in the order of their ends. */
static void advance_time(int64_t until_us) {
  for (;;) {
    uint32_t next = HR_NONE;
    for (uint32_t i = 0; i < scenario.cluster.n_pools; i++) {
      int64_t to_us = scenario.pools[i].market.to_us;
      if (!scenario.closed[i] && to_us <= until_us && (next == HR_NONE || to_us < scenario.pools[next].market.to_us))
        next = i;
    }
    if (next == HR_NONE) break;
    scenario.now_us = scenario.pools[next].market.to_us;
    close_reservation(next);
  }
  scenario.now_us = until_us;
}

static void step(void) {
  uint32_t job = draw(BRUTE_JOBS);
  switch (draw(8)) {
  case 0:
  case 1:
  case 2:
    start(job);
    break;
  case 3:
    stop(job, chance(2) ? HR_EVENT_END : HR_EVENT_PREEMPT);
    break;
  case 4:
  case 5:
    change_node();
    break;
  default:
    advance_time(scenario.now_us + draw_us());
  }
}

/* Ends all open uses and sessions at the end of the run. */
static void close_log(void) {
  scenario.log.end_us = scenario.now_us;
  for (uint32_t i = 0; i < scenario.log.n_uses; i++)
    if (scenario.log.uses[i].to_us == HR_NEVER_US) {
      scenario.log.uses[i].to_us = scenario.now_us;
      seen.running_at_end++;
    }
  for (uint32_t i = 0; i < scenario.log.n_sessions; i++)
    if (scenario.log.sessions[i].to_us == HR_NEVER_US) scenario.log.sessions[i].to_us = scenario.now_us;
}

/* Runs random steps until the end of the run. */
static void run_scenario(void) {
  /* short runs often end within reservations and between steps of prices */
  uint32_t n_steps = chance(3) ? draw(100) : STEPS;
  for (uint32_t i = 0; i < n_steps && scenario.now_us < (BRUTE_MONTHS - 1) * HR_MONTH_US; i++) step();
  if (chance(2)) advance_time(scenario.now_us + draw_us()); /* as if the run had a horizon after its last event */
  CU_ASSERT_FATAL(scenario.now_us < BRUTE_MONTHS * HR_MONTH_US);
  close_log();
  struct hr_result result = {.n_jobs = BRUTE_JOBS, .state = scenario.state, .end_us = scenario.now_us};
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(scenario.ledger, &result), HR_OK);
}

/* ---- The comparison ---- */

static bool is_before(const struct hr_account *a, const struct hr_account *b) {
  if (a->pool != b->pool) return a->pool < b->pool;
  if (a->tenant != b->tenant) return a->tenant < b->tenant;
  return a->class_ != b->class_ ? a->class_ < b->class_ : a->month < b->month;
}

/* Checks that each charge has an equal account in `books`, and that no account of `books` is missing. */
static void compare_charges(hr_amount paid[BRUTE_POOLS]) {
  const struct hr_charge *charges;
  size_t n_charges = hr_ledger_charges(scenario.ledger, &charges);
  bool in_order = true, equal = true, empty = true;
  for (size_t i = 0; i < n_charges; i++) {
    const struct hr_account *account = &charges[i].account;
    uint32_t tenant = account->tenant == HR_NONE ? BRUTE_TENANTS - 1 : account->tenant;
    struct brute_account *other = &books.accounts[account->pool][tenant][account->class_][account->month];
    in_order &= i == 0 || is_before(&charges[i - 1].account, account);
    equal &= charges[i].amount == other->amount && charges[i].gpu_time == other->gpu_time && other->gpu_time > 0;
    paid[account->pool] += charges[i].amount;
    *other = (struct brute_account){0, 0};
    seen.later_months += account->month > 0;
  }
  const struct brute_account *rest = (const struct brute_account *)books.accounts;
  for (size_t i = 0; i < sizeof books.accounts / sizeof *rest; i++) empty &= rest[i].gpu_time == 0;
  CU_ASSERT(in_order);
  CU_ASSERT(equal);
  CU_ASSERT(empty);
}

static void compare_pool(uint32_t pool, hr_amount paid) {
  const struct hr_pool_account *mine = hr_ledger_pool(scenario.ledger, (hr_pool){pool}), *other = &books.pools[pool];
  hr_amount idle = mine->cost - mine->used, idle_time = mine->gpu_time - mine->used_time;
  CU_ASSERT(mine->cost == other->cost);
  CU_ASSERT(mine->used == other->used);
  CU_ASSERT(mine->on_demand == other->on_demand);
  CU_ASSERT(mine->gpu_time == other->gpu_time);
  CU_ASSERT(mine->used_time == other->used_time);
  CU_ASSERT(mine->waived_time == other->waived_time);
  CU_ASSERT(idle >= 0);
  CU_ASSERT(idle_time >= 0);
  CU_ASSERT(paid + idle == mine->cost);
  seen.free_sessions += mine->waived_time > 0;
}

static void compare(void) {
  hr_amount paid[BRUTE_POOLS] = {0};
  bool equal = true;
  brute_count(&scenario.log, &books);
  compare_charges(paid);
  for (uint32_t i = 0; i < scenario.cluster.n_pools; i++) compare_pool(i, paid[i]);
  for (uint32_t i = 0; i < BRUTE_JOBS; i++) equal &= hr_ledger_job(scenario.ledger, (hr_job){i}) == books.jobs[i];
  CU_ASSERT(equal);
  seen.sessions += scenario.log.n_sessions;
}

static void ledger_equals_reference_accounts(void) {
  for (uint32_t i = 0; i < SCENARIOS; i++) {
    unsigned failures = CU_get_number_of_failures();
    draw_scenario(i);
    run_scenario();
    compare();
    hr_ledger_destroy(scenario.ledger);
    if (CU_get_number_of_failures() != failures) fprintf(stderr, "\nscenario %u disagrees\n", i);
  }
}

static void scenarios_contain_special_situations(void) {
  CU_ASSERT(seen.sessions > 10000);
  CU_ASSERT(seen.free_sessions > 100);
  CU_ASSERT(seen.bounded > 100);
  CU_ASSERT(seen.stepped > 100);
  CU_ASSERT(seen.running_at_end > 1000);
  CU_ASSERT(seen.gangs > 1000);
  CU_ASSERT(seen.later_months > 1000);
}

TEST_MAIN("sim random ledger", TEST(ledger_equals_reference_accounts), TEST(scenarios_contain_special_situations))
