/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The product against the naive scheduler on small random clusters, under every order x backfill x placement: equal
   starts and placements. A difference is reduced before it is printed: jobs are removed while it persists. */

#include "base/random.h"
#include "harness.h"
#include "headroom/trace_files.h"
#include "preemptive_case.h"
#include "replay.h"

#include <string.h>

enum { CASES = 1000, SHARED_CASES = 300, MAX_JOBS = 60 };

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return hr__stream_next(stream) % bound;
}

static bool chance(struct hr__stream *stream, uint32_t percent) {
  return below(stream, 100) < percent;
}

static uint32_t random_pools(struct hr__stream *stream, struct replay_pool *pools) {
  uint32_t n_pools = 1 + below(stream, 3);
  bool classed = chance(stream, 30);
  for (uint32_t p = 0; p < n_pools; p++) {
    pools[p] = (struct replay_pool){{below(stream, 7), 1 + below(stream, 8)}, below(stream, 3), below(stream, 3), 0};
    if (classed && chance(stream, 60)) pools[p].classes = 1 + below(stream, (1u << HR_N_CLASSES) - 1);
  }
  return n_pools;
}

/* Mostly small, sometimes a gang over several nodes, sometimes more than there is, sometimes none. */
static uint32_t random_gpus(struct hr__stream *stream) {
  if (chance(stream, 8)) return 0;
  if (chance(stream, 60)) return 1 + below(stream, 4);
  if (chance(stream, 80)) return 1 + below(stream, 16);
  return 1 + below(stream, 50);
}

/* The limit that a user requests: none, the run time, too little or too much. */
static int64_t random_claim(struct hr__stream *stream, int64_t work, int64_t unit) {
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

/* Returns what times are made of. */
static int64_t random_case(struct hr__stream *stream, struct replay_case *workload) {
  static const uint32_t spans[] = {1, 6, 30, 120};
  static const int64_t units[] = {1, HR_SECOND_US};
  uint32_t span = spans[below(stream, 4)];
  int64_t unit = units[below(stream, 2)], at = below(stream, 1000) * unit;
  bool typed = chance(stream, 50), placed = chance(stream, 30);
  workload->n_pools = random_pools(stream, workload->pools);
  workload->n_jobs = 1 + below(stream, MAX_JOBS);
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    int64_t work = chance(stream, 10) ? 0 : (1 + below(stream, 20)) * unit;
    workload->jobs[i] = (struct replay_job){
        .submit = at,
        .work = work,
        .limit = random_claim(stream, work, unit),
        .estimate = random_claim(stream, work, unit),
        .priority = (int32_t)below(stream, 4) - 1,
        .gpus = random_gpus(stream),
        .types = typed && chance(stream, 60) ? below(stream, 1u << REPLAY_TYPES) : 0,
        .regions = placed && chance(stream, 60) ? below(stream, 1u << REPLAY_REGIONS) : 0,
        .class_ = (uint8_t)below(stream, HR_N_CLASSES),
        .tenant = below(stream, REPLAY_TENANTS),
        .deadline = chance(stream, 70) ? at + (1 + below(stream, 60)) * unit : 0,
    };
    at += below(stream, 1 + 2 * span / workload->n_jobs) * unit;
  }
  return unit;
}

/* Half-lives are short relative to a case, so that usages differ clearly, and sometimes so short that usage
   vanishes. */
static struct naive_terms random_terms(struct hr__stream *stream, int64_t unit) {
  static const int64_t half_lives[] = {0, 1, 7, 50}, periods[] = {0, 1, 4, 30}, ages[] = {5, 40, 300};
  static const double similarities[] = {0, 0.3, 0.5, 0.7, 1}, decays[] = {0, 0.5, 0.8, 1}, weights[] = {0, 1, 1000};
  struct naive_terms terms = {.half_life = half_lives[below(stream, 4)] * unit,
                              .calc_period = periods[below(stream, 4)] * unit,
                              .max_age = ages[below(stream, 3)] * unit,
                              .weight_age = weights[below(stream, 3)],
                              .weight_fair_share = weights[below(stream, 3)],
                              .weight_size = weights[below(stream, 3)],
                              .weight_qos = weights[below(stream, 3)],
                              .favor_small = chance(stream, 50),
                              .decay = decays[below(stream, 4)],
                              .similarity = similarities[below(stream, 5)]};
  if (unit > 1 && chance(stream, 20)) terms.half_life = unit / 3;
  bool weighted = chance(stream, 40);
  for (uint32_t t = 0; t < REPLAY_TENANTS && weighted; t++) terms.tenant_weight[t] = 1 + below(stream, 3);
  return terms;
}

/* Users and names, in some cases none, in others more than prediction looks back on. */
static void random_people(struct hr__stream *stream, struct replay_case *workload) {
  static const uint32_t max_users[] = {1, 2, 4, 9}, max_names[] = {1, 3, 8, REPLAY_NAMES};
  uint32_t users = max_users[below(stream, 4)], names = max_names[below(stream, 4)];
  bool estimated = chance(stream, 50);
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    workload->jobs[i].user = below(stream, users);
    workload->jobs[i].name = below(stream, names);
    if (!estimated) workload->jobs[i].estimate = -1;
  }
}

/* Nodes of a GPU each; shares from a thousandth on, most of them in twentieths, so that they add up. */
static void share_gpus(struct hr__stream *stream, struct replay_case *workload) {
  workload->shares = true;
  for (uint32_t p = 0; p < workload->n_pools; p++) workload->pools[p].shape.gpus_per_node = 1000;
  for (uint32_t i = 0; i < workload->n_jobs; i++)
    if (workload->jobs[i].gpus)
      workload->jobs[i].gpus = chance(stream, 80) ? 50 * (1 + below(stream, 20)) : 1 + below(stream, 1000);
}

static bool differs(const struct replay_case *workload, struct replay_rules rules, bool print) {
  struct hr_trace *trace = replay_trace(workload);
  struct replay_outcome naive = replay_naive(workload, rules), product = replay_product(trace, workload, rules, true);
  bool different = !naive.result.unsure && replay_first_difference(&naive, &product) != HR_NONE;
  if (print) replay_print(workload, rules, &naive, &product);
  replay_outcome_finish(&naive);
  replay_outcome_finish(&product);
  hr_trace_destroy(trace);
  return different;
}

static void drop_job(struct replay_case *workload, uint32_t job) {
  workload->n_jobs--;
  memmove(&workload->jobs[job], &workload->jobs[job + 1], (workload->n_jobs - job) * sizeof *workload->jobs);
}

/* Drops jobs until each that is left is needed for the difference. */
static void shrink(struct replay_case *workload, struct replay_rules rules) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (uint32_t i = workload->n_jobs; i-- > 0 && workload->n_jobs > 1;) {
      struct replay_job jobs[MAX_JOBS];
      struct replay_case fewer = *workload;
      fewer.jobs = memcpy(jobs, workload->jobs, workload->n_jobs * sizeof *jobs);
      drop_job(&fewer, i);
      if (!differs(&fewer, rules, false)) continue;
      drop_job(workload, i);
      smaller = true;
    }
  }
}

/* How many runs were compared, and how many were not, as a choice hung on what rounding says. */
struct tally {
  uint32_t sure, unsure;
};

/* With shared GPUs there is no other placement, and backfills that reserve are tested elsewhere
   (tests/policies/sharing_runs.c). */
static bool is_for(const struct replay_case *workload, struct replay_rules rules) {
  return !workload->shares || (rules.placement != NAIVE_POOL && rules.backfill <= NAIVE_SKIP);
}

/* All plain rules on one case, and each other order and backfill with one placement; or those that look back. The trace
   is built once: it is immutable. */
static bool case_differs(const struct replay_case *workload, uint32_t number, bool looking_back,
                         struct replay_rules *rules, struct tally *tally) {
  struct hr_trace *trace = replay_trace(workload);
  bool different = false;
  for (uint32_t r = 0; r < REPLAY_RULES && !different; r++) {
    *rules = replay_rules_numbered(r);
    if (replay_looks_back(*rules) != looking_back || !is_for(workload, *rules)) continue;
    if (r >= REPLAY_PLAIN_RULES && rules->placement != number % NAIVE_PLACEMENTS) continue;
    struct replay_outcome naive = replay_naive(workload, *rules);
    struct replay_outcome product = replay_product(trace, workload, *rules, true);
    different = !naive.result.unsure && replay_first_difference(&naive, &product) != HR_NONE;
    tally->sure += !naive.result.unsure;
    tally->unsure += naive.result.unsure;
    replay_outcome_finish(&naive);
    replay_outcome_finish(&product);
  }
  hr_trace_destroy(trace);
  return different;
}

static void fail_on(struct replay_case *workload, uint32_t number, struct replay_rules rules) {
  shrink(workload, rules);
  printf("\nrandom case %u:", number);
  differs(workload, rules, true);
  CU_FAIL_FATAL("the product and the naive scheduler differ");
}

static void same_starts_and_seats_on_random_clusters(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 0);
    random_case(&stream, &workload);
    if (case_differs(&workload, number, false, &rules, &tally)) fail_on(&workload, number, rules);
  }
  CU_ASSERT_EQUAL(tally.unsure, 0);
}

/* Under orders that go by what has been used, or has finished. */
static void likewise_where_the_past_counts(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 1);
    int64_t unit = random_case(&stream, &workload);
    random_people(&stream, &workload);
    workload.terms = random_terms(&stream, unit);
    if (case_differs(&workload, number, true, &rules, &tally)) fail_on(&workload, number, rules);
  }
  printf("\n    %u runs compared, %u left out", tally.sure, tally.unsure);
  CU_ASSERT(tally.unsure < tally.sure / 20);
}

/* And where a job asks for less than a GPU: all orders count in thousandths. */
static void likewise_where_gpus_are_shared(void) {
  struct tally tally = {0};
  for (uint32_t number = 0; number < SHARED_CASES; number++) {
    struct replay_job jobs[MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    struct replay_rules rules;
    struct hr__stream stream;
    hr__stream_init(&stream, 1, HR__PURPOSE_ARRIVAL, number, 2);
    int64_t unit = random_case(&stream, &workload);
    random_people(&stream, &workload);
    workload.terms = random_terms(&stream, unit);
    share_gpus(&stream, &workload);
    for (int looking_back = 0; looking_back < 2; looking_back++)
      if (case_differs(&workload, number, looking_back, &rules, &tally)) fail_on(&workload, number, rules);
  }
  printf("\n    %u runs compared, %u left out", tally.sure, tally.unsure);
  CU_ASSERT(tally.unsure < tally.sure / 20);
}

/* The comparison must be able to fail: two rules that treat one workload differently are told apart. */
static void a_difference_is_seen(void) {
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
  struct replay_outcome same = replay_product(trace, &workload, easy, true);
  struct replay_outcome other = replay_product(trace, &workload, strict, true);
  CU_ASSERT_EQUAL(naive.result.start[2], 0);
  CU_ASSERT_EQUAL(replay_first_difference(&naive, &same), HR_NONE);
  CU_ASSERT_EQUAL(replay_first_difference(&naive, &other), 2);
  replay_outcome_finish(&naive);
  replay_outcome_finish(&same);
  replay_outcome_finish(&other);
  hr_trace_destroy(trace);
}

/* An order that no naive scheduler implements would be compared with nothing. */
static void every_order_has_a_naive_scheduler(void) {
  struct hr_policy_choice queue;
  size_t orders = 0;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&queue, "queue", NULL), HR_OK);
  while (orders < queue.n_params && strcmp(queue.ops->params[orders].key, "order") != 0) orders++;
  CU_ASSERT_FATAL(orders < queue.n_params);
  for (const char *const *order = queue.ops->params[orders].choices; *order; order++) {
    bool known = replay_has_order(*order) || preemptive_has_order(*order);
    if (!known) printf("\n    order '%s' is in no naive scheduler (tests/oracle/naive.h)", *order);
    CU_ASSERT(known);
  }
  hr_policy_choice_finish(&queue);
}

TEST_MAIN("oracle compare", TEST(every_order_has_a_naive_scheduler), TEST(a_difference_is_seen),
          TEST(same_starts_and_seats_on_random_clusters), TEST(likewise_where_the_past_counts),
          TEST(likewise_where_gpus_are_shared))
