/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of the naive scheduler of the preemptive orders: cases computed by hand, and a second implementation, in which
   time advances by one microsecond at a time. Times are in any unit here, thresholds in GPUs x that unit. */

#include "harness.h"
#include "preemptive_case.h"

#include <inttypes.h>
#include <string.h>

/* ---- By hand -------------------------------------------------------------------------------------------- */

enum { MOST = 10 };

/* Jobs: submit, work, GPUs. */
struct by_hand {
  struct naive_preemptive_input in; /* but for the columns */
  struct {
    int64_t submit, work;
    uint32_t gpus;
  } job[MOST];
  struct naive_fate want[MOST]; /* start, end, starts, preemptions */
};

static void check_by_hand(const struct by_hand *hand) {
  int64_t submit[MOST], work[MOST];
  uint32_t gpus[MOST];
  struct naive_preemptive_input in = hand->in;
  for (uint32_t i = 0; i < in.n_jobs; i++) {
    submit[i] = hand->job[i].submit;
    work[i] = hand->job[i].work;
    gpus[i] = hand->job[i].gpus;
  }
  in.submit = submit;
  in.work = work;
  in.gpus = gpus;
  struct naive_fate *got = naive_preemptive_run(&in);
  for (uint32_t i = 0; i < in.n_jobs; i++) {
    CU_ASSERT_EQUAL(got[i].start, hand->want[i].start);
    CU_ASSERT_EQUAL(got[i].end, hand->want[i].end);
    CU_ASSERT_EQUAL(got[i].starts, hand->want[i].starts);
    CU_ASSERT_EQUAL(got[i].preemptions, hand->want[i].preemptions);
  }
  free(got);
}

#define SRTF(jobs, gpus)                                                                                               \
  { .n_jobs = jobs, .capacity = gpus, .order = NAIVE_SRTF, .preempts = true }
#define LAS(jobs, gpus, first, second)                                                                                 \
  {                                                                                                                    \
    .n_jobs = jobs, .capacity = gpus, .order = NAIVE_LAS, .preempts = true, .thresholds = { first, second }            \
  }

/* One GPU. At 2, job 0 has 10 - 2 = 8 left and job 1 has 3: it runs from 2 to 5; job 0 goes on and ends at 5 + 8. */
static void srtf_the_shorter_rest_goes_first(void) {
  check_by_hand(&(struct by_hand){SRTF(2, 1), {{0, 10, 1}, {2, 3, 1}}, {{0, 13, 2, 1}, {2, 5, 1, 0}}});
}

/* Two GPUs. At 0, in order: job 0 (3 left) takes one; job 1 (5 left) wants 2 of 1; job 2 (8 left) takes the other. At 3
   job 0 ends; job 2 has 8 - 3 = 5 left, as job 1 has, which is of the earlier row: but job 2 runs, and stays, to 8. */
static void srtf_of_equals_the_running_one_stays(void) {
  check_by_hand(
      &(struct by_hand){SRTF(3, 2), {{0, 3, 1}, {0, 5, 2}, {0, 8, 1}}, {{0, 3, 1, 0}, {8, 13, 1, 0}, {0, 8, 1, 0}}});
}

/* One GPU. At 2, job 0 has 6 - 2 = 4 left; job 1, with 1, stops it. At 3, job 0 and job 2 both wait with 4 left: job 0
   was submitted first and runs to 7. Jobs 2 and 3 have 4 and the same submit: by row, 7 to 11 and 11 to 15. */
static void srtf_waiting_equals_go_by_submit_then_row(void) {
  check_by_hand(&(struct by_hand){SRTF(4, 1),
                                  {{0, 6, 1}, {2, 1, 1}, {2, 4, 1}, {2, 4, 1}},
                                  {{0, 7, 2, 1}, {2, 3, 1, 0}, {7, 11, 1, 0}, {11, 15, 1, 0}}});
}

/* Four GPUs.
   At 0, in order: job 1 (8 left) takes 3; job 0 (10 left) wants 2 of the last one: it waits.
   At 1: job 2 (4) takes 2; job 1 (7) wants 3 of 2 and is stopped; job 0 (10), though behind it, fits.
   At 5, job 2 ends; job 0 has 10 - 4 = 6, job 1 still 7: job 0 keeps its 2, job 1 wants 3 of 2.
   At 11, job 0 ends; job 1 runs its 7 to 18. */
static void srtf_who_is_passed_over_is_stopped_and_others_fill_in(void) {
  check_by_hand(
      &(struct by_hand){SRTF(3, 4), {{0, 10, 2}, {0, 8, 3}, {1, 4, 2}}, {{1, 11, 1, 0}, {0, 18, 2, 1}, {1, 5, 1, 0}}});
}

/* One GPU. Job 1 has no work: at 2 it stops job 0, starts, ends, and job 0 goes on, all at 2. Job 2 has no GPUs: it
   always fits, however long it is. Job 3 wants 2 GPUs of 1: rejected. */
static void srtf_no_work_no_gpus_too_many_gpus(void) {
  check_by_hand(&(struct by_hand){SRTF(4, 1),
                                  {{0, 5, 1}, {2, 0, 1}, {2, 70, 0}, {2, 1, 2}},
                                  {{0, 5, 2, 1}, {2, 2, 1, 0}, {2, 72, 1, 0}, {-1, -1, 0, 0}}});
}

/* One GPU; the second queue from 4, the third from 10. Job 1 comes at 3; job 0, with 3, is in the same queue and stays.
   At 4 job 0 enters the second queue: job 1 runs. At 8 job 1 has had 4 as well: both in the second queue, job 1
   running, though it entered later: it stays and ends at 9. Job 0 goes on with 4 had: at 9 + 6 = 15 it enters the third
   queue, alone, and ends at 9 + 8 = 17. */
static void las_a_crossing_lets_others_go_first(void) {
  check_by_hand(&(struct by_hand){LAS(2, 1, 4, 10), {{0, 12, 1}, {3, 5, 1}}, {{0, 17, 2, 1}, {4, 9, 1, 0}}});
}

/* One GPU; the second queue from 2. Each has its 2 in turn: job 0 enters the second queue at 2, job 1 at 4, job 2 at 6,
   when all are there: job 2 runs and stays, to 10. Then by the moment of entering: job 0 from 10 to 14, job 1 to 18. */
static void las_in_a_queue_by_the_moment_of_entering(void) {
  check_by_hand(&(struct by_hand){
      LAS(3, 1, 2, 100), {{0, 6, 1}, {0, 6, 1}, {0, 6, 1}}, {{0, 14, 2, 1}, {2, 18, 2, 1}, {4, 10, 1, 0}}});
}

/* Three GPUs; the second queue from 10. Job 0, on all three, has had 3 x 3 = 9 at 3 and 12 at 4: there it crosses. Job
   1 then takes 1 of 3, and job 0 wants 3 of 2. At 6 job 0 goes on with its 10 - 4 = 6. */
static void las_gangs_cross_at_the_first_whole_instant(void) {
  check_by_hand(&(struct by_hand){LAS(2, 3, 10, 1000), {{0, 10, 3}, {1, 2, 1}}, {{0, 12, 2, 1}, {4, 6, 1, 0}}});
}

/* One GPU; the second queue from 4. At 4 job 0 crosses in the very instant in which jobs 1 and 2 come: they go first,
   by row, from 4 to 7 and from 7 to 8. */
static void las_crossing_and_arrival_at_one_instant(void) {
  check_by_hand(&(struct by_hand){
      LAS(3, 1, 4, 100), {{0, 8, 1}, {4, 3, 1}, {4, 1, 1}}, {{0, 12, 2, 1}, {4, 7, 1, 0}, {7, 8, 1, 0}}});
}

/* Four GPUs; queues from 3 and 4. Job 0, on four, has had 4 at 1: the third queue at once. Job 1, with 1 GPU, runs from
   1, enters the second queue at 4 (3 had), and is there when job 2 comes at 4: job 2 (first queue, 4 GPUs) stops it.
   Job 2 has had 4 at 5: third queue, entered at 5, running. Job 1 (second queue) goes before it: at 5 it runs its last
   1 to 6, and neither job 0 nor job 2 fits beside it. At 6 both wait in the third queue: job 0 entered at 1, job 2
   at 5. Job 0 runs its 4 - 1 = 3 to 9, job 2 its 2 - 1 = 1 to 10. */
static void las_two_thresholds_at_once(void) {
  check_by_hand(&(struct by_hand){
      LAS(3, 4, 3, 4), {{0, 4, 4}, {0, 4, 1}, {4, 2, 4}}, {{0, 9, 2, 1}, {1, 6, 2, 1}, {4, 10, 2, 1}}});
}

/* One GPU; the second queue from 3. Job 1 has no work, but job 0 runs and is in its queue: it waits until job 0
   crosses. At 3 it starts and ends, and job 0, stopped, goes on, all at 3. */
static void las_no_work(void) {
  check_by_hand(&(struct by_hand){LAS(2, 1, 3, 9), {{0, 5, 1}, {2, 0, 1}}, {{0, 5, 2, 1}, {3, 3, 1, 0}}});
}

/* One GPU, no preemption: job 0 runs to 10 whatever comes. Then, by work, job 2 (1) and job 1 (3); by the moment of
   coming, job 1 and job 2. */
static void without_preemption_what_runs_stays(void) {
  struct by_hand srtf = {
      SRTF(3, 1), {{0, 10, 1}, {2, 3, 1}, {3, 1, 1}}, {{0, 10, 1, 0}, {11, 14, 1, 0}, {10, 11, 1, 0}}};
  struct by_hand las = {
      LAS(3, 1, 4, 8), {{0, 10, 1}, {2, 3, 1}, {3, 1, 1}}, {{0, 10, 1, 0}, {10, 13, 1, 0}, {13, 14, 1, 0}}};
  srtf.in.preempts = las.in.preempts = false;
  check_by_hand(&srtf);
  check_by_hand(&las);
}

/* One GPU, in seconds. Jobs 0 to 7 come at 0 with 100 each; less service goes first, in levels that begin at 0 and 64.
   Each has its 64 in turn, to 512, when all are in the second level: job 7 runs and stays, to 548; then by the moment
   of entering jobs 0, 1, 2 and 3, to 692, and job 4. At 700 job 8 comes with 200 and stops job 4, which has 28 left. At
   764 it enters the second level, running, and stays, to 900. Then jobs 4, to 928, and 5, to 964. There eight have
   finished: seven with 100, one with 200. In the first level the index is 8 / (7 x 100 + 200), by the end of the
   second; in the second it is 8 / (7 x 36 + 136), which is more: whoever has had 64 is likely to be done soon. So job
   9, which comes at 980 with 50, waits for job 6 to end, at 1000. */
static void gittins_learns_that_a_long_one_is_nearly_done(void) {
  struct by_hand hand = {{.n_jobs = 10, .capacity = 1, .order = NAIVE_INDEX, .preempts = true},
                         {{0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {0, 100, 1},
                          {700, 200, 1},
                          {980, 50, 1}},
                         {{0, 584, 2, 1},
                          {64, 620, 2, 1},
                          {128, 656, 2, 1},
                          {192, 692, 2, 1},
                          {256, 928, 3, 2},
                          {320, 964, 2, 1},
                          {384, 1000, 2, 1},
                          {448, 548, 1, 0},
                          {700, 900, 1, 0},
                          {1000, 1050, 1, 0}}};
  for (uint32_t i = 0; i < hand.in.n_jobs; i++) {
    hand.job[i].submit *= HR_SECOND_US;
    hand.job[i].work *= HR_SECOND_US;
    hand.want[i].start *= HR_SECOND_US;
    hand.want[i].end *= HR_SECOND_US;
  }
  check_by_hand(&hand);
}

/* ---- Tick by tick --------------------------------------------------------------------------------------- */

struct tick_job {
  enum { TO_COME, THERE, GONE } state;
  bool runs, seen; /* seen: the pass has been at it */
  int64_t left, had, entered, queue;
};

struct ticks {
  const struct replay_case *workload;
  const struct preemptive_rules *rules;
  struct tick_job job[PREEMPTIVE_MAX_JOBS];
  struct naive_fate *accounting;
  int64_t now;
};

/* The job with the least key goes first. */
static void key_of(const struct ticks *t, uint32_t i, int64_t key[5]) {
  const struct tick_job *job = &t->job[i];
  bool srtf = t->rules->order == NAIVE_SRTF;
  key[0] = !t->rules->preempts && job->runs ? 0 : 1;
  key[1] = srtf ? job->left : job->queue;
  key[2] = job->runs ? 0 : 1;
  key[3] = srtf ? t->workload->jobs[i].submit : job->entered;
  key[4] = i;
}

static bool is_less(const int64_t a[5], const int64_t b[5]) {
  uint32_t k = 0;
  while (k < 4 && a[k] == b[k]) k++;
  return a[k] < b[k];
}

/* The first of those that the pass has not been at, HR_NONE when there is none. */
static uint32_t first_unseen(const struct ticks *t) {
  uint32_t first = HR_NONE;
  int64_t least[5] = {0}, key[5];
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    if (t->job[i].state != THERE || t->job[i].seen) continue;
    key_of(t, i, key);
    if (first != HR_NONE && !is_less(key, least)) continue;
    first = i;
    memcpy(least, key, sizeof least);
  }
  return first;
}

static void tick_pass(struct ticks *t) {
  uint32_t free_gpus = t->workload->pools[0].shape.nodes * t->workload->pools[0].shape.gpus_per_node, i;
  for (i = 0; i < t->workload->n_jobs; i++) t->job[i].seen = false;
  while ((i = first_unseen(t)) != HR_NONE) {
    struct tick_job *job = &t->job[i];
    uint32_t gpus = t->workload->jobs[i].gpus;
    job->seen = true;
    if (gpus > free_gpus) {
      t->accounting[i].preemptions += job->runs;
      job->runs = false;
      continue;
    }
    free_gpus -= gpus;
    if (job->runs) continue;
    job->runs = true;
    if (t->accounting[i].start < 0) t->accounting[i].start = t->now;
    t->accounting[i].starts++;
  }
}

/* Ends, crossings and arrivals of this microsecond. */
static void tick_events(struct ticks *t) {
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    struct tick_job *job = &t->job[i];
    int64_t queue = (job->had >= t->rules->thresholds_us[0]) + (job->had >= t->rules->thresholds_us[1]);
    if (job->runs && job->left == 0) {
      t->accounting[i].end = t->now;
      *job = (struct tick_job){.state = GONE};
    } else if (job->state == THERE && queue > job->queue) {
      job->queue = queue;
      job->entered = t->now;
    } else if (job->state == TO_COME && t->workload->jobs[i].submit - t->workload->jobs[0].submit == t->now) {
      job->state = THERE;
      job->entered = t->now;
    }
  }
}

static bool some_end_now(const struct ticks *t) {
  bool some = false;
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) some = some || (t->job[i].runs && t->job[i].left == 0);
  return some;
}

/* One microsecond of work; false when all are gone. */
static bool tick(struct ticks *t) {
  bool any = false;
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    any = any || t->job[i].state != GONE;
    if (!t->job[i].runs) continue;
    t->job[i].left--;
    t->job[i].had += t->workload->jobs[i].gpus;
  }
  t->now++;
  return any;
}

static struct preemptive_outcome by_ticks(const struct replay_case *workload, const struct preemptive_rules *rules) {
  struct preemptive_outcome outcome = {.n_jobs = workload->n_jobs,
                                       .accounting = calloc(workload->n_jobs, sizeof *outcome.accounting)};
  struct ticks t = {.workload = workload, .rules = rules, .accounting = outcome.accounting};
  if (!outcome.accounting) abort();
  uint32_t capacity = workload->pools[0].shape.nodes * workload->pools[0].shape.gpus_per_node;
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    t.accounting[i].start = t.accounting[i].end = -1;
    t.job[i].left = workload->jobs[i].work;
    if (workload->jobs[i].gpus > capacity) t.job[i].state = GONE;
  }
  do {
    do {
      tick_events(&t);
      tick_pass(&t);
    } while (some_end_now(&t));
  } while (tick(&t));
  return outcome;
}

static void same_fates_tick_by_tick(void) {
  enum {
    CASES = 1000,
    ORDERS = NAIVE_LAS + 1,
    RULES = 2 * ORDERS
  }; /* no level of gittins ends within a case of ticks */
  uint32_t preemptions[RULES] = {0};
  for (uint32_t number = 0; number < CASES * RULES; number++) {
    struct replay_job jobs[PREEMPTIVE_MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    uint32_t r = number % RULES;
    struct preemptive_rules rules = {.order = r % ORDERS, .preempts = r < ORDERS};
    preemptive_random(number / RULES, PREEMPTIVE_TICKS, &workload, &rules);
    struct preemptive_outcome naive = preemptive_naive(&workload, &rules), ticks = by_ticks(&workload, &rules);
    bool different = preemptive_first_difference(&naive, &ticks) != HR_NONE;
    if (different) preemptive_print(&workload, &rules, &naive, &ticks);
    for (uint32_t i = 0; i < naive.n_jobs; i++) preemptions[r] += naive.accounting[i].preemptions;
    preemptive_outcome_finish(&naive);
    preemptive_outcome_finish(&ticks);
    if (different) CU_FAIL_FATAL("the two naive schedulers differ");
  }
  printf("\n    %" PRIu32 " preemptions by srtf, %" PRIu32 " by las", preemptions[NAIVE_SRTF], preemptions[NAIVE_LAS]);
  CU_ASSERT(preemptions[NAIVE_SRTF] > CASES && preemptions[NAIVE_LAS] > CASES);
  CU_ASSERT(preemptions[ORDERS] + preemptions[ORDERS + 1] == 0);
}

TEST_MAIN("naive preemptive", TEST(srtf_the_shorter_rest_goes_first), TEST(srtf_of_equals_the_running_one_stays),
          TEST(srtf_waiting_equals_go_by_submit_then_row), TEST(srtf_who_is_passed_over_is_stopped_and_others_fill_in),
          TEST(srtf_no_work_no_gpus_too_many_gpus), TEST(las_a_crossing_lets_others_go_first),
          TEST(las_in_a_queue_by_the_moment_of_entering), TEST(las_gangs_cross_at_the_first_whole_instant),
          TEST(las_crossing_and_arrival_at_one_instant), TEST(las_two_thresholds_at_once), TEST(las_no_work),
          TEST(gittins_learns_that_a_long_one_is_nearly_done), TEST(without_preemption_what_runs_stays),
          TEST(same_fates_tick_by_tick))
