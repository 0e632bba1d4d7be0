/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of the policy `deadline` on small random records of spot capacity. The omniscient rule pays the minimum
   cost; an exhaustive search over all ways to use each time step finds this minimum. If decisions can be made in each
   step, and the time to the deadline is enough for the work and two changes of nodes, no rule misses the deadline. */

#include "spot_job.h"

enum { MAX_STEPS = 10, N_CASES = 600, NOWHERE = 0, SPOT = 1, ON_DEMAND = 2, N_PLACES = 3 };

#define STEP_US (INT64_C(60) * HR_SECOND_US)
#define NEVER_MET INT64_MAX

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

struct deadline_case {
  /* In time steps: length of the record, work of the job, change-over time, time between decisions. `tick` is 0 if
     decisions are made at any time. */
  uint32_t n_steps, work, change, tick;
  int64_t price[N_PLACES];
  bool available[MAX_STEPS];
};

/* ---- Exhaustive search ------------------------------------------------------------------------------ */

/* Returns the cost of the nodes from the end of the job at `time` to the next tick. */
static int64_t cost_to_tick(const struct deadline_case *c, uint32_t time, uint32_t place) {
  int64_t cost = 0;
  if (c->tick == 0) return 0;
  for (; time % c->tick && (place != SPOT || c->available[time % c->n_steps]); time++) cost += c->price[place];
  return cost;
}

/* Returns whether the job may change from `place` to `next` at `time`, or stay if these are equal. Between ticks, the
   only change is the loss of a spot node: from SPOT to NOWHERE. */
static bool may_move(const struct deadline_case *c, uint32_t time, uint32_t place, uint32_t next) {
  if (next == SPOT && !c->available[time]) return false;
  if (next == place || c->tick == 0 || time % c->tick == 0) return true;
  return place == SPOT && !c->available[time] && next == NOWHERE;
}

/* Returns the minimum cost from `time` until the work is done, at the latest at `due`; NEVER_MET: impossible. `done`:
   the work that has been done. `place`: the current pool. `changing`: the number of steps until the current change of
   nodes is complete. */
static int64_t min_cost(const struct deadline_case *c, uint32_t due, uint32_t time, uint32_t place, uint32_t changing,
                        uint32_t done) {
  if (done == c->work) return cost_to_tick(c, time, place);
  if (time == due) return NEVER_MET;
  int64_t best = NEVER_MET;
  for (uint32_t next = 0; next < N_PLACES; next++) {
    if (!may_move(c, time, place, next)) continue;
    uint32_t left = next == place ? changing : next == NOWHERE ? 0 : c->change;
    bool works = next != NOWHERE && left == 0;
    int64_t rest = min_cost(c, due, time + 1, next, left ? left - 1 : 0, done + works);
    if (rest != NEVER_MET && rest + c->price[next] < best) best = rest + c->price[next];
  }
  return best;
}

/* Returns the cost of a simulated run with the rule, in the same unit as the exhaustive search; NEVER_MET if the
   deadline was missed. */
static int64_t cost_of_run(struct deadline_case *c, enum spot_rule rule) {
  struct spot_record record = {STEP_US, c->n_steps, c->available};
  struct spot_job job = {.record = &record,
                         .rule = rule,
                         .work_us = c->work * STEP_US,
                         .deadline_us = c->n_steps * STEP_US,
                         .changeover_us = c->change * STEP_US,
                         .tick_us = c->tick * STEP_US,
                         .price_uusd_h = {c->price[SPOT], c->price[ON_DEMAND]},
                         .hysteresis = -1,
                         .wait_below = -1,
                         .wait_until = -1};
  struct spot_bill bill = spot_job_run(&job);
  if (bill.end_us > job.deadline_us) return NEVER_MET;
  return (bill.paid_us[0] * c->price[SPOT] + bill.paid_us[1] * c->price[ON_DEMAND]) / STEP_US;
}

static struct deadline_case draw_case(void) {
  struct deadline_case c = {.n_steps = 4 + draw(MAX_STEPS - 3), .change = draw(3)};
  c.work = 1 + draw(c.n_steps - 1);
  c.price[SPOT] = 1 + draw(3);
  c.price[ON_DEMAND] = 3 + draw(6);
  for (uint32_t i = 0; i < c.n_steps; i++) c.available[i] = i && draw(3) ? c.available[i - 1] : draw(2);
  return c;
}

/* Checks random cases with 1 to `max_tick` steps between decisions; 0: without ticks. If spot capacity is lost between
   ticks, the job waits for the next tick, which may be too late for its deadline. The omniscient rule ends at the last
   tick that is not after the deadline; the other rules may end later, up to the deadline. */
static void check_cases(uint32_t max_tick) {
  uint32_t n_more_expensive = 0, n_missed = 0, n_feasible = 0, n_below = 0;
  random_state = 7 + max_tick;
  for (uint32_t i = 0; i < N_CASES; i++) {
    struct deadline_case c = draw_case();
    if (max_tick) c.tick = 1 + draw(max_tick);
    int64_t minimum = min_cost(&c, c.n_steps, 0, NOWHERE, 0, 0),
            by_tick = max_tick ? min_cost(&c, c.n_steps / c.tick * c.tick, 0, NOWHERE, 0, 0) : minimum;
    if (by_tick == NEVER_MET) continue;
    n_feasible++;
    int64_t omniscient = cost_of_run(&c, SPOT_OMNISCIENT);
    if (omniscient != by_tick && n_more_expensive++ == 0)
      fprintf(stderr, "\n    case %u: cost %lld, minimum %lld\n", i, (long long)omniscient, (long long)by_tick);
    if (c.n_steps < c.work + 2 * c.change) continue;
    for (enum spot_rule rule = SPOT_GREEDY; rule <= SPOT_UNIFORM; rule++) {
      int64_t cost = cost_of_run(&c, rule);
      if (cost == NEVER_MET && c.tick <= 1 && n_missed++ == 0)
        fprintf(stderr, "\n    case %u: rule %d misses\n", i, (int)rule);
      n_below += cost < minimum;
    }
  }
  CU_ASSERT(n_feasible > N_CASES / 3);
  CU_ASSERT_EQUAL(n_more_expensive, 0);
  CU_ASSERT_EQUAL(n_missed, 0);
  CU_ASSERT_EQUAL(n_below, 0);
}

static void omniscient_cost_is_minimal_and_deadlines_are_met(void) {
  check_cases(0);
}

static void omniscient_cost_is_minimal_with_ticks(void) {
  check_cases(1);
  check_cases(3);
}

TEST_MAIN("deadlines", TEST(omniscient_cost_is_minimal_and_deadlines_are_met),
          TEST(omniscient_cost_is_minimal_with_ticks))
