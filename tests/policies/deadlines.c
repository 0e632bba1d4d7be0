/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of the policy `deadline` on small random records of spot capacity. If the time to the deadline is enough
   for the work and two changes of nodes, no rule misses the deadline. The omniscient rule pays the minimum cost; an
   exhaustive search over all ways to use each time step finds this minimum. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

enum { MAX_STEPS = 10, N_CASES = 600, NOWHERE = 0, SPOT = 1, ON_DEMAND = 2, N_PLACES = 3 };
enum { GREEDY, UNIFORM, OMNISCIENT }; /* indices in the list of rules */

#define STEP_US (INT64_C(60) * HR_SECOND_US)
#define NEVER_MET INT64_MAX

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

struct deadline_case {
  /* n_steps: length of the record; work: work of the job; change: change-over time; all in time steps */
  uint32_t n_steps, work, change;
  int64_t price[N_PLACES];
  bool available[MAX_STEPS];
};

/* ---- Exhaustive search ------------------------------------------------------------------------------ */

/* Returns the minimum cost from `time` on, given the work that has been done, the current place (pool), and the number
   of steps until the current change of nodes is complete. */
static int64_t min_cost(const struct deadline_case *c, uint32_t time, uint32_t place, uint32_t changing,
                        uint32_t done) {
  if (done == c->work) return 0;
  if (time == c->n_steps) return NEVER_MET;
  int64_t best = NEVER_MET;
  for (uint32_t next = 0; next < N_PLACES; next++) {
    if (next == SPOT && !c->available[time]) continue;
    uint32_t left = next == place ? changing : next == NOWHERE ? 0 : c->change;
    bool works = next != NOWHERE && left == 0;
    int64_t rest = min_cost(c, time + 1, next, left ? left - 1 : 0, done + works);
    if (rest != NEVER_MET && rest + c->price[next] < best) best = rest + c->price[next];
  }
  return best;
}

/* ---- The simulated run ------------------------------------------------------------------------------ */

struct bill {
  const struct deadline_case *c;
  int64_t since_us[2], cost_us[2];
};

static void count(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct bill *bill = self;
  (void)view;
  if (event->kind == HR_EVENT_ACQUIRE) bill->since_us[event->node.id] = event->at_us;
  if (event->kind == HR_EVENT_RELEASE || event->kind == HR_EVENT_NODE_DOWN)
    bill->cost_us[event->node.id] += event->at_us - bill->since_us[event->node.id];
}

/* Returns the cost of a simulated run with the rule, in the same unit as the exhaustive search; NEVER_MET if the
   deadline was missed. */
static int64_t cost_of_run(const struct deadline_case *c, int64_t rule) {
  char spot[] = "spot", on_demand[] = "on-demand", gpu[] = "V100";
  struct hr_level_step levels[MAX_STEPS];
  for (uint32_t i = 0; i < c->n_steps; i++) levels[i] = (struct hr_level_step){i * STEP_US, c->available[i]};
  struct hr_pool_spec pools[2] = {{.name = spot, .gpu = gpu, .nodes = 1, .gpus_per_node = 1},
                                  {.name = on_demand, .gpu = gpu, .nodes = 1, .gpus_per_node = 1}};
  struct hr_duration boot = {HR_DURATION_FIXED, 60.0 * c->change, 0};
  pools[0].market = (struct hr_market_spec){.market = HR_MARKET_SPOT, .price_uusd_h = c->price[SPOT], .boot = boot};
  pools[0].market.spot = (struct hr_spot_spec){
      .model = HR_SPOT_TRACE, .levels = levels, .n_levels = c->n_steps, .period_us = c->n_steps * STEP_US};
  pools[1].market =
      (struct hr_market_spec){.market = HR_MARKET_ON_DEMAND, .price_uusd_h = c->price[ON_DEMAND], .boot = boot};
  int64_t submit_us = 0, work_us = c->work * STEP_US, deadline_us = c->n_steps * STEP_US;
  uint32_t gpus = 1;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = 1,
                           .submit_us = &submit_us,
                           .work_us = &work_us,
                           .gpus = &gpus,
                           .deadline_us = &deadline_us};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_CONTINUOUS};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "deadline", NULL), HR_OK);
  queue_set_place(&choice, "rule", rule);
  queue_set_number(&choice, "changeover_s", 60.0 * c->change);
  struct bill bill = {.c = c};
  struct hr_observer observer = {&bill, count, NULL};
  struct hr_cluster_spec cluster = {pools, 2};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = 10 * c->n_steps * STEP_US,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  hr_policy_choice_finish(&choice);
  bool met = result->n_completed == 1 && hr_result_end_us(result, (hr_job){0}) <= deadline_us;
  hr_result_destroy(result);
  if (!met) return NEVER_MET;
  return (bill.cost_us[0] * c->price[SPOT] + bill.cost_us[1] * c->price[ON_DEMAND]) / STEP_US;
}

static struct deadline_case draw_case(void) {
  struct deadline_case c = {.n_steps = 4 + draw(MAX_STEPS - 3), .change = draw(3)};
  c.work = 1 + draw(c.n_steps - 1);
  c.price[SPOT] = 1 + draw(3);
  c.price[ON_DEMAND] = 3 + draw(6);
  for (uint32_t i = 0; i < c.n_steps; i++) c.available[i] = i && draw(3) ? c.available[i - 1] : draw(2);
  return c;
}

static void omniscient_cost_is_minimal_and_deadlines_are_met(void) {
  uint32_t n_more_expensive = 0, n_missed = 0, n_feasible = 0, n_below = 0;
  random_state = 7;
  for (uint32_t i = 0; i < N_CASES; i++) {
    struct deadline_case c = draw_case();
    int64_t minimum = min_cost(&c, 0, NOWHERE, 0, 0);
    if (minimum == NEVER_MET) continue;
    n_feasible++;
    int64_t omniscient = cost_of_run(&c, OMNISCIENT);
    if (omniscient != minimum && n_more_expensive++ == 0)
      fprintf(stderr, "\n    case %u: cost %lld, minimum %lld\n", i, (long long)omniscient, (long long)minimum);
    if (c.n_steps < c.work + 2 * c.change) continue;
    for (int64_t rule = GREEDY; rule <= UNIFORM; rule++) {
      int64_t cost = cost_of_run(&c, rule);
      if (cost == NEVER_MET && n_missed++ == 0) fprintf(stderr, "\n    case %u: rule %d misses\n", i, (int)rule);
      n_below += cost < minimum;
    }
  }
  CU_ASSERT(n_feasible > N_CASES / 3);
  CU_ASSERT_EQUAL(n_more_expensive, 0);
  CU_ASSERT_EQUAL(n_missed, 0);
  CU_ASSERT_EQUAL(n_below, 0);
}

TEST_MAIN("deadlines", TEST(omniscient_cost_is_minimal_and_deadlines_are_met))
