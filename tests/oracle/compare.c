/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Headroom with the naive scheduler of naive.h on small random clusters, under the combinations of order,
 * backfill and placement. Starts and placements must be equal. If they differ, the test removes jobs while the
 * difference persists, and prints the reduced case.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/trace_files.h"
#include "preemptive_case.h"
#include "replay.h"

#include <string.h>

enum { CASES = 400, MAX_JOBS = 60 }; /* CASES: of each test; the first argument replaces it */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return hr__stream_next(stream) % bound;
}

static bool chance(struct hr__stream *stream, uint32_t percent) {
  return below(stream, 100) < percent;
}

static uint32_t random_pools(struct hr__stream *stream, struct replay_pool *pools) {
  uint32_t n_pools = 1 + below(stream, 3);
  bool with_classes = chance(stream, 30);
  for (uint32_t p = 0; p < n_pools; p++) {
    pools[p] = (struct replay_pool){{below(stream, 7), 1 + below(stream, 8)}, below(stream, 3), below(stream, 3), 0};
    if (with_classes && chance(stream, 60)) pools[p].classes = 1 + below(stream, (1u << HR_N_CLASSES) - 1);
  }
  return n_pools;
}

/* Returns a number of GPUs: usually at most 4, sometimes enough for a gang on several nodes, rarely more than the
   cluster has, rarely 0. */
static uint32_t random_gpus(struct hr__stream *stream) {
  if (chance(stream, 8)) return 0;
  if (chance(stream, 60)) return 1 + below(stream, 4);
  if (chance(stream, 80)) return 1 + below(stream, 16);
  return 1 + below(stream, 50);
}

/* Returns a limit or an estimate: -1 (unknown), exactly `work`, at most `work`, or at least `work`. `unit`: the unit of
   `work`, in microseconds. */
static int64_t random_limit_or_estimate(struct hr__stream *stream, int64_t work, int64_t unit) {
  switch (below(stream, 4)) {
  case 0:
    return -1;
  case 1:
    return work;
  case 2:
    return work ? below(stream, (uint32_t)(work / unit) + 1) * unit : 0;
  default:
    return work + below(stream, 12) * unit;
  }
}

/* Creates a random workload on random pools. Returns the unit of its times in microseconds: 1 or HR_SECOND_US. */
static int64_t random_case(struct hr__stream *stream, struct replay_case *workload) {
  static const uint32_t spans[] = {1, 6, 30, 120};
  static const int64_t units[] = {1, HR_SECOND_US};
  uint32_t span = spans[below(stream, 4)];
  int64_t unit = units[below(stream, 2)], at = below(stream, 1000) * unit;
  bool with_types = chance(stream, 50), with_regions = chance(stream, 30);
  workload->n_pools = random_pools(stream, workload->pools);
  workload->n_jobs = 1 + below(stream, MAX_JOBS);
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    int64_t work = chance(stream, 10) ? 0 : (1 + below(stream, 20)) * unit;
    workload->jobs[i] = (struct replay_job){
        .submit = at,
        .work = work,
        .limit = random_limit_or_estimate(stream, work, unit),
        .estimate = random_limit_or_estimate(stream, work, unit),
        .priority = (int32_t)below(stream, 4) - 1,
        .gpus = random_gpus(stream),
        .types = with_types && chance(stream, 60) ? below(stream, 1u << REPLAY_TYPES) : 0,
        .regions = with_regions && chance(stream, 60) ? below(stream, 1u << REPLAY_REGIONS) : 0,
        .class_ = (uint8_t)below(stream, HR_N_CLASSES),
        .tenant = below(stream, REPLAY_TENANTS),
        .deadline = chance(stream, 70) ? at + (1 + below(stream, 60)) * unit : 0,
    };
    at += below(stream, 1 + 2 * span / workload->n_jobs) * unit;
  }
  return unit;
}

/* Creates random parameters. The half-life is short in relation to the length of a case, so that usages differ clearly.
   It is sometimes so short that usage becomes too small for a double. */
static struct naive_params random_params(struct hr__stream *stream, int64_t unit) {
  static const int64_t half_lives[] = {0, 1, 7, 50}, periods[] = {0, 1, 4, 30}, ages[] = {5, 40, 300};
  static const double similarities[] = {0, 0.3, 0.5, 0.7, 1}, decays[] = {0, 0.5, 0.8, 1}, weights[] = {0, 1, 1000};
  struct naive_params params = {.half_life = half_lives[below(stream, 4)] * unit,
                                .calc_period = periods[below(stream, 4)] * unit,
                                .max_age = ages[below(stream, 3)] * unit,
                                .weight_age = weights[below(stream, 3)],
                                .weight_fair_share = weights[below(stream, 3)],
                                .weight_size = weights[below(stream, 3)],
                                .weight_qos = weights[below(stream, 3)],
                                .favor_small = chance(stream, 50),
                                .decay = decays[below(stream, 4)],
                                .similarity = similarities[below(stream, 5)]};
  if (unit > 1 && chance(stream, 20)) params.half_life = unit / 3;
  bool with_weights = chance(stream, 40);
  for (uint32_t t = 0; t < REPLAY_TENANTS && with_weights; t++) params.tenant_weight[t] = 1 + below(stream, 3);
  return params;
}

/* Sets random users and names. Some cases have no users or names. In some cases, a user has more names than `qssf`
   compares. */
static void random_users(struct hr__stream *stream, struct replay_case *workload) {
  static const uint32_t max_users[] = {1, 2, 4, 9}, max_names[] = {1, 3, 8, REPLAY_NAMES};
  uint32_t users = max_users[below(stream, 4)], names = max_names[below(stream, 4)];
  bool with_estimates = chance(stream, 50);
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    workload->jobs[i].user = below(stream, users);
    workload->jobs[i].name = below(stream, names);
    if (!with_estimates) workload->jobs[i].estimate = -1;
  }
}

/* Changes a workload so that each node has one shared GPU. Most jobs request multiples of 1/20 of a GPU, so that jobs
   often fill a GPU exactly; the others request any number of thousandths. */
static void share_gpus(struct hr__stream *stream, struct replay_case *workload) {
  workload->shares = true;
  for (uint32_t p = 0; p < workload->n_pools; p++) workload->pools[p].shape.gpus_per_node = 1000;
  for (uint32_t i = 0; i < workload->n_jobs; i++)
    if (workload->jobs[i].gpus)
      workload->jobs[i].gpus = chance(stream, 80) ? 50 * (1 + below(stream, 20)) : 1 + below(stream, 1000);
}

/* Runs both schedulers and returns whether any outcome differs. `print`: also prints the case and both outcomes. */
static bool differs(const struct replay_case *workload, struct replay_rules rules, bool print) {
  struct hr_trace *trace = replay_trace(workload);
  struct replay_outcome naive = replay_naive(workload, rules), headroom = replay_headroom(trace, workload, rules, true);
  bool different = !naive.result.undecided && replay_first_difference(&naive, &headroom) != HR_NONE;
  if (print) replay_print(workload, rules, &naive, &headroom);
  replay_outcome_finish(&naive);
  replay_outcome_finish(&headroom);
  hr_trace_destroy(trace);
  return different;
}

static void remove_job(struct replay_case *workload, uint32_t job) {
  workload->n_jobs--;
  memmove(&workload->jobs[job], &workload->jobs[job + 1], (workload->n_jobs - job) * sizeof *workload->jobs);
}

/* Reduces a case in which the outcomes differ: removes jobs until the outcomes would be equal if any one of the
   remaining jobs were removed. */
static void shrink(struct replay_case *workload, struct replay_rules rules) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (uint32_t i = workload->n_jobs; i-- > 0 && workload->n_jobs > 1;) {
      struct replay_job jobs[MAX_JOBS];
      struct replay_case fewer = *workload;
      fewer.jobs = memcpy(jobs, workload->jobs, workload->n_jobs * sizeof *jobs);
      remove_job(&fewer, i);
      if (!differs(&fewer, rules, false)) continue;
      remove_job(workload, i);
      smaller = true;
    }
  }
}

/* Two counts: the runs that were compared, and the runs that were not compared because rounding errors may have decided
   which job was first. */
struct tally {
  uint32_t compared, undecided;
};

/* Returns whether the test compares a combination on a workload. Shared GPUs do not support placement `pool`. Backfills
   with reservations on shared GPUs are tested in tests/policies/sharing_runs.c. */
static bool applies_to(const struct replay_case *workload, struct replay_rules rules) {
  return !workload->shares || (rules.placement != NAIVE_POOL && rules.backfill <= NAIVE_SKIP);
}

/* Runs one case under the orders that depend on past usage or on finished jobs (`uses_history` true), or under all
   other orders (false). Combinations with a plain order (see REPLAY_PLAIN_RULES) run with every placement. Combinations
   with another order run with one placement, which depends on the case number. Returns whether any outcome differs; if
   so, `rules` is the combination. */
static bool case_differs(const struct replay_case *workload, uint32_t number, bool uses_history,
                         struct replay_rules *rules, struct tally *tally) {
  struct hr_trace *trace = replay_trace(workload);
  bool different = false;
  for (uint32_t r = 0; r < REPLAY_RULES && !different; r++) {
    *rules = replay_rules_at(r);
    if (replay_uses_history(*rules) != uses_history || !applies_to(workload, *rules)) continue;
    if (r >= REPLAY_PLAIN_RULES && rules->placement != number % NAIVE_PLACEMENTS) continue;
    struct replay_outcome naive = replay_naive(workload, *rules);
    struct replay_outcome headroom = replay_headroom(trace, workload, *rules, true);
    different = !naive.result.undecided && replay_first_difference(&naive, &headroom) != HR_NONE;
    tally->compared += !naive.result.undecided;
    tally->undecided += naive.result.undecided;
    replay_outcome_finish(&naive);
    replay_outcome_finish(&headroom);
  }
  hr_trace_destroy(trace);
  return different;
}

static void fail_with_case(struct replay_case *workload, uint32_t number, struct replay_rules rules) {
  shrink(workload, rules);
  printf("\nrandom case %u:", number);
  differs(workload, rules, true);
  CU_FAIL_FATAL("Headroom and the naive scheduler differ");
}

static void equal_starts_and_placements_on_random_clusters(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < test_argument(1, CASES); number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 0);
    random_case(&stream, &workload);
    if (case_differs(&workload, number, false, &rules, &tally)) fail_with_case(&workload, number, rules);
  }
  CU_ASSERT_EQUAL(tally.undecided, 0);
}

/* Orders that depend on past usage or on finished jobs. */
static void equal_starts_and_placements_with_history(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < test_argument(1, CASES); number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 1);
    int64_t unit = random_case(&stream, &workload);
    random_users(&stream, &workload);
    workload.params = random_params(&stream, unit);
    if (case_differs(&workload, number, true, &rules, &tally)) fail_with_case(&workload, number, rules);
  }
  printf("\n    %u runs compared, %u not compared", tally.compared, tally.undecided);
  CU_ASSERT(tally.undecided < tally.compared / 20);
}

/* Jobs that request fractions of a GPU. All orders count in thousandths of a GPU. */
static void equal_starts_and_placements_with_shared_gpus(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < 3 * test_argument(1, CASES) / 10; number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 2);
    int64_t unit = random_case(&stream, &workload);
    random_users(&stream, &workload);
    workload.params = random_params(&stream, unit);
    share_gpus(&stream, &workload);
    for (int uses_history = 0; uses_history < 2; uses_history++)
      if (case_differs(&workload, number, uses_history, &rules, &tally)) fail_with_case(&workload, number, rules);
  }
  printf("\n    %u runs compared, %u not compared", tally.compared, tally.undecided);
  CU_ASSERT(tally.undecided < tally.compared / 20);
}

/* Verifies that the comparison can fail: `easy` starts job 2 before job 1, `strict` does not. */
static void different_outcomes_are_found(void) {
  struct replay_job jobs[] = {
      {.submit = 0, .work = 10, .limit = -1, .estimate = -1, .gpus = 1},
      {.submit = 0, .work = 10, .limit = -1, .estimate = -1, .gpus = 2},
      {.submit = 0, .work = 5, .limit = -1, .estimate = -1, .gpus = 1},
  };
  struct replay_case workload = {.jobs = jobs, .n_jobs = 3, .pools = {{.shape = {1, 2}}}, .n_pools = 1};
  struct hr_trace *trace = replay_trace(&workload);
  struct replay_rules easy = {NAIVE_FIFO, NAIVE_EASY, NAIVE_BEST_FIT},
                      strict = {NAIVE_FIFO, NAIVE_STRICT, NAIVE_BEST_FIT};
  struct replay_outcome naive = replay_naive(&workload, easy);
  struct replay_outcome same = replay_headroom(trace, &workload, easy, true);
  struct replay_outcome other = replay_headroom(trace, &workload, strict, true);
  CU_ASSERT_EQUAL(naive.result.start[2], 0);
  CU_ASSERT_EQUAL(replay_first_difference(&naive, &same), HR_NONE);
  CU_ASSERT_EQUAL(replay_first_difference(&naive, &other), 2);
  replay_outcome_finish(&naive);
  replay_outcome_finish(&same);
  replay_outcome_finish(&other);
  hr_trace_destroy(trace);
}

/* Checks that every order of the queue policy is compared, so that a new order is not forgotten. */
static void every_order_has_a_naive_scheduler(void) {
  struct hr_policy_choice queue;
  size_t orders = 0;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&queue, "queue", NULL), HR_OK);
  while (orders < queue.n_params && strcmp(queue.ops->params[orders].key, "order") != 0) orders++;
  CU_ASSERT_FATAL(orders < queue.n_params);
  for (const char *const *order = queue.ops->params[orders].choices; *order; order++) {
    bool known = replay_has_order(*order) || preemptive_has_order(*order);
    if (!known) printf("\n    no naive scheduler implements order '%s' (tests/oracle/naive.h)", *order);
    CU_ASSERT(known);
  }
  hr_policy_choice_finish(&queue);
}

TEST_MAIN("oracle compare", TEST(every_order_has_a_naive_scheduler), TEST(different_outcomes_are_found),
          TEST(equal_starts_and_placements_on_random_clusters), TEST(equal_starts_and_placements_with_history),
          TEST(equal_starts_and_placements_with_shared_gpus))
