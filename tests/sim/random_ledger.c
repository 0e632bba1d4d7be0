/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thousand random runs, reported to the ledger event by event, compared with accounts computed afterwards. All
   accounts, pools and jobs must agree to the last unit, and what tenants pay plus idle capacity must equal the cost
   of the pools. */

#include "base/random.h"
#include "brute_books.h"
#include "harness.h"
#include "ledger_tell.h"

#include <string.h>

#define S HR_SECOND_US
#define HOUR (3600 * S)
#define DAY (24 * HOUR)

enum { SCENARIOS = 1000, STEPS = 800, MAX_NODES = 5, MAX_STEPS = 9, NODES = BRUTE_POOLS * MAX_NODES };

/* What runs where: the slices of a job are consecutive stays in the log. */
struct place {
  bool running;
  uint32_t first_stay, n_stays;
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
  uint32_t first_node[BRUTE_POOLS], life[NODES], free_milli[NODES];
  bool counted[BRUTE_POOLS], closed[BRUTE_POOLS]; /* jobs have no nodes there; the reservation is over */
  struct place places[BRUTE_JOBS];
  int64_t now_us, grain_us; /* times are multiples of the grain, so that some coincide */
  struct brute_log log;
  struct hr_ledger *ledger;
} world;

static struct brute_books books;
static struct hr__stream draws;

/* Counts of what the scenarios contained, so that the test is not vacuous. */
static struct { uint64_t free_sessions, sessions, bounded, stepped, running_at_end, gangs, later_months; } seen;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static bool chance(uint32_t in) {
  return draw(in) == 0;
}

/* A duration: often zero or short, sometimes weeks. */
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
  return us / world.grain_us * world.grain_us;
}

/* ---- The cluster and the jobs ---- */

static void draw_prices(uint32_t pool) {
  struct hr_market_spec *market = &world.pools[pool].market;
  struct hr_price_step *steps = world.steps[pool];
  market->price_uusd_h = draw(5000000);
  if (chance(2)) return;
  market->prices = steps;
  market->n_prices = 1 + draw(MAX_STEPS);
  for (uint32_t i = 0; i < market->n_prices; i++) {
    int64_t at_us = i == 0 ? 0 : steps[i - 1].at_us + world.grain_us + draw_us();
    if (i > 0 && chance(10)) at_us = (at_us / HR_MONTH_US + 1) * HR_MONTH_US;
    steps[i] = (struct hr_price_step){at_us, draw(5000000)};
  }
  market->price_uusd_h = steps[0].uusd_h;
  seen.stepped++;
}

static void draw_pool(uint32_t pool) {
  static const int64_t granularities[] = {0, S, 60 * S, HOUR}, minimums[] = {0, 60 * S, HOUR};
  static char name[] = "";
  struct hr_pool_spec *spec = &world.pools[pool];
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
  world.counted[pool] = !hr_market_is_elastic(market->market) && market->to_us == HR_NEVER_US && chance(2);
}

static void draw_cluster(void) {
  uint32_t n_nodes = 0, n_pools = 1 + draw(BRUTE_POOLS);
  for (uint32_t i = 0; i < n_pools; i++) {
    draw_pool(i);
    world.first_node[i] = n_nodes;
    for (uint32_t j = 0; j < world.pools[i].nodes; j++, n_nodes++) {
      world.life[n_nodes] = HR_NONE;
      world.free_milli[n_nodes] =
          hr_market_is_elastic(world.pools[i].market.market) ? 0 : world.pools[i].gpus_per_node * 1000;
    }
  }
  world.cluster = (struct hr_cluster_spec){world.pools, n_pools};
}

static void draw_jobs(void) {
  for (uint32_t i = 0; i < BRUTE_JOBS; i++) {
    world.gpus[i] = chance(12) ? 0 : 1 + draw(chance(3) ? 12 : 3);
    world.tenant[i] = chance(6) ? HR_NONE : draw(BRUTE_TENANTS - 1);
    world.class_[i] = (uint8_t)draw(HR_N_CLASSES);
    world.state[i] = HR_JOB_WAITING;
  }
  world.trace = (struct hr_trace){.n_jobs = BRUTE_JOBS, .gpus = world.gpus};
  if (!chance(5)) world.trace.tenant = world.tenant;
  if (!chance(5)) world.trace.class_ = world.class_;
}

static void draw_world(uint32_t scenario) {
  static const int64_t grains[] = {1, S, 60 * S};
  hr__stream_init(&draws, 20, HR__PURPOSE_ARRIVAL, scenario, 0);
  memset(&world, 0, sizeof world);
  world.grain_us = grains[draw(3)];
  draw_cluster();
  draw_jobs();
  world.log.trace = &world.trace;
  world.log.cluster = &world.cluster;
  world.ledger = hr_ledger_create(&world.trace, &world.cluster, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world.ledger);
}

/* ---- Jobs start and stop ---- */

static bool is_open(uint32_t pool) {
  const struct hr_market_spec *market = &world.pools[pool].market;
  return market->market != HR_MARKET_RESERVED || (market->from_us <= world.now_us && world.now_us < market->to_us);
}

static void log_stay(uint32_t job, uint32_t pool, uint32_t gpu_milli, uint32_t life) {
  CU_ASSERT_FATAL(world.log.n_stays < BRUTE_STAYS);
  world.log.stays[world.log.n_stays++] = (struct brute_stay){job, pool, gpu_milli, life, world.now_us, HR_NEVER_US};
  world.places[job].n_stays++;
}

/* Distributes the job over the pool's nodes; false if it does not fit. */
static bool take_nodes(uint32_t job, uint32_t pool) {
  struct place *place = &world.places[job];
  uint32_t left = world.gpus[job] * 1000, free_milli = 0, n_nodes = world.pools[pool].nodes;
  uint32_t *nodes = &world.free_milli[world.first_node[pool]];
  for (uint32_t i = 0; i < n_nodes; i++) free_milli += nodes[i];
  if (left > free_milli) return false;
  place->placement.n_slices = 0;
  for (uint32_t i = 0; left > 0; i++) {
    uint32_t taken = nodes[i] < left ? nodes[i] : left;
    if (taken == 0) continue;
    uint32_t node = world.first_node[pool] + i;
    place->slices[place->placement.n_slices++] = (struct hr_slice){{node}, taken, 0};
    nodes[i] -= taken;
    left -= taken;
    log_stay(job, pool, taken, world.life[node]);
  }
  seen.gangs += place->placement.n_slices > 1;
  return true;
}

/* If GPUs of a pool are only counted, its jobs determine what is free. */
static bool take_count(uint32_t job, uint32_t pool) {
  uint32_t used = 0, gpu_milli = world.gpus[job] * 1000;
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (world.places[i].running && world.places[i].placement.pool.id == pool) used += world.gpus[i] * 1000;
  if (used + gpu_milli > world.pools[pool].nodes * world.pools[pool].gpus_per_node * 1000) return false;
  world.places[job].placement.n_slices = 0;
  if (gpu_milli) log_stay(job, pool, gpu_milli, HR_NONE);
  return true;
}

static void start(uint32_t job) {
  struct place *place = &world.places[job];
  uint32_t pool = draw(world.cluster.n_pools);
  if (place->running || !is_open(pool)) return;
  place->first_stay = world.log.n_stays;
  place->n_stays = 0;
  bool counts = world.counted[pool] || world.gpus[job] == 0;
  if (!(counts ? take_count(job, pool) : take_nodes(job, pool))) return;
  place->placement.pool = (hr_pool){pool};
  place->placement.slices = place->slices;
  place->running = true;
  world.state[job] = HR_JOB_RUNNING;
  tell_job(world.ledger, world.now_us, HR_EVENT_START, job, &place->placement);
}

static void stop(uint32_t job, enum hr_event_kind kind) {
  struct place *place = &world.places[job];
  if (!place->running) return;
  for (uint32_t i = 0; i < place->n_stays; i++) world.log.stays[place->first_stay + i].to_us = world.now_us;
  for (uint32_t i = 0; i < place->placement.n_slices; i++)
    world.free_milli[place->slices[i].node.id] += place->slices[i].gpu_milli;
  place->running = false;
  world.state[job] = HR_JOB_WAITING;
  tell_job(world.ledger, world.now_us, kind, job, &place->placement);
}

static bool sits_on(uint32_t job, uint32_t node) {
  const struct place *place = &world.places[job];
  for (uint32_t i = 0; place->running && i < place->placement.n_slices; i++)
    if (place->slices[i].node.id == node) return true;
  return false;
}

/* ---- Nodes come and go ---- */

static void launch(uint32_t pool, uint32_t node) {
  CU_ASSERT_FATAL(world.log.n_lives < BRUTE_LIVES);
  world.life[node] = world.log.n_lives;
  world.log.lives[world.log.n_lives++] = (struct brute_life){pool, world.now_us, HR_NEVER_US, false};
  world.free_milli[node] = world.pools[pool].gpus_per_node * 1000;
  tell_node(world.ledger, world.now_us, HR_EVENT_ACQUIRE, HR_REASON_NONE, pool, node);
  tell_node(world.ledger, world.now_us, HR_EVENT_NODE_UP, HR_REASON_NONE, pool, node);
}

static void end_life(uint32_t node, bool reclaimed) {
  struct brute_life *life = &world.log.lives[world.life[node]];
  life->to_us = world.now_us;
  life->reclaimed = reclaimed;
  world.life[node] = HR_NONE;
  world.free_milli[node] = 0;
}

static void reclaim(uint32_t pool, uint32_t node) {
  tell_node(world.ledger, world.now_us, HR_EVENT_NOTICE, HR_REASON_RECLAIMED, pool, node);
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (sits_on(i, node)) stop(i, HR_EVENT_INTERRUPT);
  end_life(node, true);
  tell_node(world.ledger, world.now_us, HR_EVENT_NODE_DOWN, HR_REASON_RECLAIMED, pool, node);
}

static void give_back(uint32_t pool, uint32_t node) {
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (sits_on(i, node)) return;
  end_life(node, false);
  tell_node(world.ledger, world.now_us, HR_EVENT_RELEASE, HR_REASON_NONE, pool, node);
}

static void change_node(void) {
  uint32_t pool = draw(world.cluster.n_pools), node = world.first_node[pool] + draw(world.pools[pool].nodes);
  enum hr_market market = world.pools[pool].market.market;
  if (!hr_market_is_elastic(market)) return;
  if (world.life[node] == HR_NONE)
    launch(pool, node);
  else if (market == HR_MARKET_SPOT && chance(3))
    reclaim(pool, node);
  else if (chance(3))
    give_back(pool, node);
}

static void close_reservation(uint32_t pool) {
  world.closed[pool] = true;
  for (uint32_t i = 0; i < BRUTE_JOBS; i++)
    if (world.places[i].running && world.places[i].placement.pool.id == pool) stop(i, HR_EVENT_INTERRUPT);
  for (uint32_t i = 0; i < world.pools[pool].nodes; i++)
    tell_node(world.ledger, world.now_us, HR_EVENT_NODE_DOWN, HR_REASON_RESERVATION_END, pool,
              world.first_node[pool] + i);
}

/* ---- A run ---- */

/* Reservations that end until then are closed one after the other. */
static void pass_time(int64_t until_us) {
  for (;;) {
    uint32_t next = HR_NONE;
    for (uint32_t i = 0; i < world.cluster.n_pools; i++) {
      int64_t to_us = world.pools[i].market.to_us;
      if (!world.closed[i] && to_us <= until_us && (next == HR_NONE || to_us < world.pools[next].market.to_us))
        next = i;
    }
    if (next == HR_NONE) break;
    world.now_us = world.pools[next].market.to_us;
    close_reservation(next);
  }
  world.now_us = until_us;
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
    pass_time(world.now_us + draw_us());
  }
}

/* What is still open ends with the run. */
static void cut_log(void) {
  world.log.end_us = world.now_us;
  for (uint32_t i = 0; i < world.log.n_stays; i++)
    if (world.log.stays[i].to_us == HR_NEVER_US) {
      world.log.stays[i].to_us = world.now_us;
      seen.running_at_end++;
    }
  for (uint32_t i = 0; i < world.log.n_lives; i++)
    if (world.log.lives[i].to_us == HR_NEVER_US) world.log.lives[i].to_us = world.now_us;
}

/* Until the run ends, possibly in the middle of things. */
static void live(void) {
  uint32_t n_steps = chance(3) ? draw(100) : STEPS; /* short runs end within reservations and steps of prices */
  for (uint32_t i = 0; i < n_steps && world.now_us < (BRUTE_MONTHS - 1) * HR_MONTH_US; i++) step();
  if (chance(2)) pass_time(world.now_us + draw_us()); /* a horizon that comes later than the last event */
  CU_ASSERT_FATAL(world.now_us < BRUTE_MONTHS * HR_MONTH_US);
  cut_log();
  struct hr_result result = {.n_jobs = BRUTE_JOBS, .state = world.state, .end_us = world.now_us};
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(world.ledger, &result), HR_OK);
}

/* ---- The comparison ---- */

static bool is_before(const struct hr_account *a, const struct hr_account *b) {
  if (a->pool != b->pool) return a->pool < b->pool;
  if (a->tenant != b->tenant) return a->tenant < b->tenant;
  return a->class_ != b->class_ ? a->class_ < b->class_ : a->month < b->month;
}

/* Each charge corresponds to an expected account, and none is left over. */
static void compare_charges(hr_amount paid[BRUTE_POOLS]) {
  const struct hr_charge *charges;
  size_t n_charges = hr_ledger_charges(world.ledger, &charges);
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
  const struct hr_pool_account *mine = hr_ledger_pool(world.ledger, (hr_pool){pool}), *other = &books.pools[pool];
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
  brute_count(&world.log, &books);
  compare_charges(paid);
  for (uint32_t i = 0; i < world.cluster.n_pools; i++) compare_pool(i, paid[i]);
  for (uint32_t i = 0; i < BRUTE_JOBS; i++) equal &= hr_ledger_job(world.ledger, (hr_job){i}) == books.jobs[i];
  CU_ASSERT(equal);
  seen.sessions += world.log.n_lives;
}

static void the_ledger_agrees_with_the_whole_story(void) {
  for (uint32_t i = 0; i < SCENARIOS; i++) {
    unsigned failures = CU_get_number_of_failures();
    draw_world(i);
    live();
    compare();
    hr_ledger_destroy(world.ledger);
    if (CU_get_number_of_failures() != failures) fprintf(stderr, "\nscenario %u disagrees\n", i);
  }
}

static void the_scenarios_were_rich(void) {
  CU_ASSERT(seen.sessions > 10000);
  CU_ASSERT(seen.free_sessions > 100);
  CU_ASSERT(seen.bounded > 100);
  CU_ASSERT(seen.stepped > 100);
  CU_ASSERT(seen.running_at_end > 1000);
  CU_ASSERT(seen.gangs > 1000);
  CU_ASSERT(seen.later_months > 1000);
}

TEST_MAIN("sim random ledger", TEST(the_ledger_agrees_with_the_whole_story), TEST(the_scenarios_were_rich))
