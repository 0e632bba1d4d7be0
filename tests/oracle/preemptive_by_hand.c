/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of the naive scheduler of the preemptive orders: cases computed by hand, and a comparison with a third
 * implementation, in which time advances by one microsecond at a time. In the cases computed by hand, times have no
 * unit, unless a comment states one. Thresholds are in GPUs x that unit.
 *
 * In the comments of the cases, numbers in parentheses after a job are its remaining work.
 */

#include "harness.h"
#include "preemptive_case.h"

#include <inttypes.h>
#include <string.h>

/* ---- By hand -------------------------------------------------------------------------------------------- */

enum { MAX_JOBS = 10 };

/* Initializers list a job as {submit, work, GPUs} and its expected outcome as {start, end, starts, preemptions}. */
struct hand_case {
  struct naive_preemptive_input in; /* without submit, work and gpus */
  struct {
    int64_t submit, work;
    uint32_t gpus;
  } job[MAX_JOBS];
  struct naive_outcome expected[MAX_JOBS];
};

static void check_hand_case(const struct hand_case *hand) {
  int64_t submit[MAX_JOBS], work[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
  struct naive_preemptive_input in = hand->in;
  for (uint32_t i = 0; i < in.n_jobs; i++) {
    submit[i] = hand->job[i].submit;
    work[i] = hand->job[i].work;
    gpus[i] = hand->job[i].gpus;
  }
  in.submit = submit;
  in.work = work;
  in.gpus = gpus;
  struct naive_outcome *actual = naive_preemptive_run(&in);
  for (uint32_t i = 0; i < in.n_jobs; i++) {
    CU_ASSERT_EQUAL(actual[i].start, hand->expected[i].start);
    CU_ASSERT_EQUAL(actual[i].end, hand->expected[i].end);
    CU_ASSERT_EQUAL(actual[i].starts, hand->expected[i].starts);
    CU_ASSERT_EQUAL(actual[i].preemptions, hand->expected[i].preemptions);
  }
  free(actual);
}

#define SRTF(jobs, gpus)                                                                                               \
  { .n_jobs = jobs, .capacity = gpus, .order = NAIVE_SRTF, .preempts = true }
#define LAS(jobs, gpus, first, second)                                                                                 \
  {                                                                                                                    \
    .n_jobs = jobs, .capacity = gpus, .order = NAIVE_LAS, .preempts = true, .thresholds = { first, second }            \
  }

/* One GPU.
   At 2, job 0 has 10 - 2 = 8 of work remaining, and job 1 has 3. Job 1 runs from 2 to 5.
   At 5, job 0 starts again. It ends at 5 + 8 = 13. */
static void srtf_least_remaining_work_first(void) {
  check_hand_case(&(struct hand_case){SRTF(2, 1), {{0, 10, 1}, {2, 3, 1}}, {{0, 13, 2, 1}, {2, 5, 1, 0}}});
}

/* Two GPUs.
   At 0, in order: job 0 (3) takes one GPU; job 1 (5) needs two and waits; job 2 (8) takes the other GPU.
   At 3, job 0 ends. Jobs 1 and 2 both have 5 remaining. Job 1 has the earlier row, but job 2 is running, so job 2
   continues and ends at 8. Job 1 runs from 8 to 13. */
static void srtf_running_job_wins_tie(void) {
  check_hand_case(
      &(struct hand_case){SRTF(3, 2), {{0, 3, 1}, {0, 5, 2}, {0, 8, 1}}, {{0, 3, 1, 0}, {8, 13, 1, 0}, {0, 8, 1, 0}}});
}

/* One GPU.
   At 2, job 0 has 6 - 2 = 4 remaining. Job 1 (1) preempts it.
   At 3, jobs 0, 2 and 3 wait, each with 4 remaining. Job 0 was submitted first and runs from 3 to 7.
   Jobs 2 and 3 have the same submit, so the earlier row is first: job 2 runs from 7 to 11, job 3 from 11 to 15. */
static void srtf_waiting_ties_by_submit_then_row(void) {
  check_hand_case(&(struct hand_case){SRTF(4, 1),
                                      {{0, 6, 1}, {2, 1, 1}, {2, 4, 1}, {2, 4, 1}},
                                      {{0, 7, 2, 1}, {2, 3, 1, 0}, {7, 11, 1, 0}, {11, 15, 1, 0}}});
}

/* Four GPUs.
   At 0, in order: job 1 (8) takes 3 GPUs; job 0 (10) needs 2, but 1 is free, so it waits.
   At 1, in order: job 2 (4) takes 2 GPUs; job 1 (7) needs 3, but 2 are free, so it is preempted; job 0 (10) takes 2.
   At 5, job 2 ends. In order: job 0 has 10 - 4 = 6 remaining and continues on 2 GPUs; job 1 (7) does not fit.
   At 11, job 0 ends. Job 1 runs from 11 to 18. */
static void srtf_stops_job_that_does_not_fit_and_starts_later_job(void) {
  check_hand_case(&(struct hand_case){
      SRTF(3, 4), {{0, 10, 2}, {0, 8, 3}, {1, 4, 2}}, {{1, 11, 1, 0}, {0, 18, 2, 1}, {1, 5, 1, 0}}});
}

/* One GPU.
   Job 1 has no work. At 2 it preempts job 0, starts and ends; then job 0 starts again, also at 2.
   Job 2 needs no GPU, so it fits at its submit, 2, and ends at 72.
   Job 3 needs 2 GPUs, but the pool has 1, so it is rejected. */
static void srtf_jobs_without_work_without_gpus_and_too_large(void) {
  check_hand_case(&(struct hand_case){SRTF(4, 1),
                                      {{0, 5, 1}, {2, 0, 1}, {2, 70, 0}, {2, 1, 2}},
                                      {{0, 5, 2, 1}, {2, 2, 1, 0}, {2, 72, 1, 0}, {-1, -1, 0, 0}}});
}

/* One GPU. The second queue begins at a service of 4, the third at 10.
   At 3, job 1 is submitted. Job 0 has a service of 3 and is in the first queue too. It is running, so it continues.
   At 4, job 0 enters the second queue. Job 1, in the first queue, preempts it.
   At 8, job 1 has a service of 4 and enters the second queue too. It is running, so it continues and ends at 9.
   At 9, job 0 starts again with a service of 4. It enters the third queue at 9 + 6 = 15 and ends at 9 + 8 = 17. */
static void las_crossing_job_yields_to_first_queue(void) {
  check_hand_case(&(struct hand_case){LAS(2, 1, 4, 10), {{0, 12, 1}, {3, 5, 1}}, {{0, 17, 2, 1}, {4, 9, 1, 0}}});
}

/* One GPU. The second queue begins at a service of 2.
   Jobs 0, 1 and 2 run for 2 each, one after the other. They enter the second queue at 2, 4 and 6.
   At 6, all jobs are in the second queue. Job 2 is running, so it continues and ends at 10.
   The other jobs follow by the time at which they entered: job 0 from 10 to 14, job 1 from 14 to 18. */
static void las_queue_is_sorted_by_entry_time(void) {
  check_hand_case(&(struct hand_case){
      LAS(3, 1, 2, 100), {{0, 6, 1}, {0, 6, 1}, {0, 6, 1}}, {{0, 14, 2, 1}, {2, 18, 2, 1}, {4, 10, 1, 0}}});
}

/* Three GPUs. The second queue begins at a service of 10.
   Job 0 runs on three GPUs. Its service is 9 at 3 and 12 at 4, so it enters the second queue at 4.
   At 4, job 1 takes one GPU. Job 0 needs three, so it is preempted.
   At 6, job 1 ends. Job 0 has 10 - 4 = 6 remaining and ends at 12. */
static void las_crossing_time_of_gang_is_rounded_up(void) {
  check_hand_case(&(struct hand_case){LAS(2, 3, 10, 1000), {{0, 10, 3}, {1, 2, 1}}, {{0, 12, 2, 1}, {4, 6, 1, 0}}});
}

/* One GPU. The second queue begins at a service of 4.
   At 4, job 0 enters the second queue, and jobs 1 and 2 are submitted into the first queue. Job 1 has the earlier row.
   It preempts job 0 and runs from 4 to 7. Job 2 runs from 7 to 8, then job 0 from 8 to 12. */
static void las_crossing_and_submit_at_same_instant(void) {
  check_hand_case(&(struct hand_case){
      LAS(3, 1, 4, 100), {{0, 8, 1}, {4, 3, 1}, {4, 1, 1}}, {{0, 12, 2, 1}, {4, 7, 1, 0}, {7, 8, 1, 0}}});
}

/* Four GPUs. The second queue begins at a service of 3, the third at 4.
   At 1, job 0 has run on four GPUs for 1. Its service is 4, so it enters the third queue directly. Job 1, in the first
   queue, preempts it and runs on one GPU.
   At 4, job 1 has a service of 3 and enters the second queue. Job 2 is submitted into the first queue, needs four GPUs
   and preempts job 1.
   At 5, job 2 has a service of 4 and enters the third queue. Job 1, in the second queue, preempts it. Job 1 has 1
   remaining and ends at 6. Jobs 0 and 2 need four GPUs and do not fit beside it.
   At 6, jobs 0 and 2 wait in the third queue. Job 0 entered it at 1, job 2 at 5. Job 0 has 4 - 1 = 3 remaining and ends
   at 9. Job 2 has 2 - 1 = 1 remaining and ends at 10. */
static void las_crossing_two_thresholds_at_once(void) {
  check_hand_case(&(struct hand_case){
      LAS(3, 4, 3, 4), {{0, 4, 4}, {0, 4, 1}, {4, 2, 4}}, {{0, 9, 2, 1}, {1, 6, 2, 1}, {4, 10, 2, 1}}});
}

/* One GPU. The second queue begins at a service of 3.
   At 2, job 1 is submitted. It has no work, but it waits, because job 0 is running in the same queue.
   At 3, job 0 enters the second queue. Job 1 preempts it, starts and ends; then job 0 starts again, also at 3. */
static void las_job_without_work(void) {
  check_hand_case(&(struct hand_case){LAS(2, 1, 3, 9), {{0, 5, 1}, {2, 0, 1}}, {{0, 5, 2, 1}, {3, 3, 1, 0}}});
}

/* One GPU, no preemption. Job 0 runs from 0 to 10.
   With srtf, jobs 2 (1) and 1 (3) follow, by remaining work. With las, jobs 1 and 2 follow, by submit. */
static void without_preemption_running_jobs_stay(void) {
  struct hand_case srtf = {
      SRTF(3, 1), {{0, 10, 1}, {2, 3, 1}, {3, 1, 1}}, {{0, 10, 1, 0}, {11, 14, 1, 0}, {10, 11, 1, 0}}};
  struct hand_case las = {
      LAS(3, 1, 4, 8), {{0, 10, 1}, {2, 3, 1}, {3, 1, 1}}, {{0, 10, 1, 0}, {10, 13, 1, 0}, {13, 14, 1, 0}}};
  srtf.in.preempts = las.in.preempts = false;
  check_hand_case(&srtf);
  check_hand_case(&las);
}

/* One GPU, times in seconds. The first two levels begin at a service of 0 and 64. Until eight jobs have finished, lower
   levels are first.
   At 0, jobs 0 to 7 are submitted, each with work 100. Each runs for 64 and enters the second level, job 7 at 512.
   At 512, all are in the second level. Job 7 is running, so it continues and ends at 548. The others follow by the time
   at which they entered the level: jobs 0 to 3 end by 692, and job 4 starts.
   At 700, job 8 is submitted with work 200, in the first level. It preempts job 4 (28).
   At 764, job 8 enters the second level. It is running, so it continues and ends at 900.
   Job 4 ends at 928 and job 5 at 964. Then eight jobs have finished, seven with service 100 and one with 200, and the
   indices are computed. All eight finished within the second level. In the first level the index is
   8 / (7 x 100 + 200). In the second level it is 8 / (7 x 36 + 136), which is greater.
   At 980, job 9 is submitted with work 50, in the first level. It waits until job 6, in the second level, ends at
   1000. */
static void gittins_index_rises_with_service(void) {
  struct hand_case hand = {{.n_jobs = 10, .capacity = 1, .order = NAIVE_PREEMPTIVE_GITTINS, .preempts = true},
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
    hand.expected[i].start *= HR_SECOND_US;
    hand.expected[i].end *= HR_SECOND_US;
  }
  check_hand_case(&hand);
}

/* ---- The tick scheduler --------------------------------------------------------------------------------- */

/* A scheduler for srtf and las that does not compute any future instant: it advances time by one microsecond at a time
   and detects changes. */
struct tick_job {
  enum { FUTURE, ACTIVE, FINISHED } state;
  bool running, visited; /* visited: the current pass has visited the job */
  int64_t remaining;     /* work in microseconds */
  int64_t service;       /* GPU-microseconds */
  int64_t entered;       /* when the job entered its queue */
  int64_t queue;         /* number of thresholds that the service has reached */
};

/* now: microseconds since the first submit. */
struct ticks {
  const struct replay_case *workload;
  const struct preemptive_rules *rules;
  struct tick_job job[PREEMPTIVE_MAX_JOBS];
  struct naive_outcome *outcome;
  int64_t now;
};

/* Computes the sort key of a job. The job with the smallest key is first. */
static void make_key(const struct ticks *t, uint32_t i, int64_t key[5]) {
  const struct tick_job *job = &t->job[i];
  bool srtf = t->rules->order == NAIVE_SRTF;
  key[0] = !t->rules->preempts && job->running ? 0 : 1;
  key[1] = srtf ? job->remaining : job->queue;
  key[2] = job->running ? 0 : 1;
  key[3] = srtf ? t->workload->jobs[i].submit : job->entered;
  key[4] = i;
}

static bool is_less(const int64_t a[5], const int64_t b[5]) {
  uint32_t k = 0;
  while (k < 4 && a[k] == b[k]) k++;
  return a[k] < b[k];
}

/* Returns the first active job that the current pass has not visited; HR_NONE: none. */
static uint32_t first_unvisited(const struct ticks *t) {
  uint32_t first = HR_NONE;
  int64_t min[5] = {0}, key[5];
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    if (t->job[i].state != ACTIVE || t->job[i].visited) continue;
    make_key(t, i, key);
    if (first != HR_NONE && !is_less(key, min)) continue;
    first = i;
    memcpy(min, key, sizeof min);
  }
  return first;
}

static void run_pass(struct ticks *t) {
  uint32_t free_gpus = t->workload->pools[0].shape.nodes * t->workload->pools[0].shape.gpus_per_node, i;
  for (i = 0; i < t->workload->n_jobs; i++) t->job[i].visited = false;
  while ((i = first_unvisited(t)) != HR_NONE) {
    struct tick_job *job = &t->job[i];
    uint32_t gpus = t->workload->jobs[i].gpus;
    job->visited = true;
    if (gpus > free_gpus) {
      t->outcome[i].preemptions += job->running;
      job->running = false;
      continue;
    }
    free_gpus -= gpus;
    if (job->running) continue;
    job->running = true;
    if (t->outcome[i].start < 0) t->outcome[i].start = t->now;
    t->outcome[i].starts++;
  }
}

/* Applies the ends, threshold crossings and submissions of the current microsecond. */
static void apply_events(struct ticks *t) {
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    struct tick_job *job = &t->job[i];
    int64_t queue = (job->service >= t->rules->thresholds_us[0]) + (job->service >= t->rules->thresholds_us[1]);
    if (job->running && job->remaining == 0) {
      t->outcome[i].end = t->now;
      *job = (struct tick_job){.state = FINISHED};
    } else if (job->state == ACTIVE && queue > job->queue) {
      job->queue = queue;
      job->entered = t->now;
    } else if (job->state == FUTURE && t->workload->jobs[i].submit - t->workload->jobs[0].submit == t->now) {
      job->state = ACTIVE;
      job->entered = t->now;
    }
  }
}

static bool any_job_ends_now(const struct ticks *t) {
  bool any = false;
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) any = any || (t->job[i].running && t->job[i].remaining == 0);
  return any;
}

/* Lets the running jobs work for one microsecond. Returns false if all jobs had finished before. */
static bool work_one_tick(struct ticks *t) {
  bool any = false;
  for (uint32_t i = 0; i < t->workload->n_jobs; i++) {
    any = any || t->job[i].state != FINISHED;
    if (!t->job[i].running) continue;
    t->job[i].remaining--;
    t->job[i].service += t->workload->jobs[i].gpus;
  }
  t->now++;
  return any;
}

static struct preemptive_outcome run_by_ticks(const struct replay_case *workload,
                                              const struct preemptive_rules *rules) {
  struct preemptive_outcome outcome = {.n_jobs = workload->n_jobs,
                                       .job = calloc(workload->n_jobs, sizeof *outcome.job)};
  struct ticks t = {.workload = workload, .rules = rules, .outcome = outcome.job};
  if (!outcome.job) abort();
  uint32_t capacity = workload->pools[0].shape.nodes * workload->pools[0].shape.gpus_per_node;
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    t.outcome[i].start = t.outcome[i].end = -1;
    t.job[i].remaining = workload->jobs[i].work;
    if (workload->jobs[i].gpus > capacity) t.job[i].state = FINISHED;
  }
  do {
    do {
      apply_events(&t);
      run_pass(&t);
    } while (any_job_ends_now(&t));
  } while (work_one_tick(&t));
  return outcome;
}

static void equal_outcomes_with_tick_scheduler(void) {
  /* gittins is not compared, because in cases with times of a few microseconds no job reaches its second level. */
  enum { CASES = 1000, ORDERS = NAIVE_LAS + 1, RULES = 2 * ORDERS };
  uint32_t preemptions[RULES] = {0};
  for (uint32_t number = 0; number < CASES * RULES; number++) {
    struct replay_job jobs[PREEMPTIVE_MAX_JOBS];
    struct replay_case workload = {.jobs = jobs};
    uint32_t r = number % RULES;
    struct preemptive_rules rules = {.order = r % ORDERS, .preempts = r < ORDERS};
    preemptive_random(number / RULES, PREEMPTIVE_TICKS, &workload, &rules);
    struct preemptive_outcome naive = preemptive_naive(&workload, &rules), ticks = run_by_ticks(&workload, &rules);
    bool different = preemptive_first_difference(&naive, &ticks) != HR_NONE;
    if (different) preemptive_print(&workload, &rules, &naive, &ticks);
    for (uint32_t i = 0; i < naive.n_jobs; i++) preemptions[r] += naive.job[i].preemptions;
    preemptive_outcome_finish(&naive);
    preemptive_outcome_finish(&ticks);
    if (different) CU_FAIL_FATAL("the two naive schedulers differ");
  }
  printf("\n    %" PRIu32 " preemptions by srtf, %" PRIu32 " by las", preemptions[NAIVE_SRTF], preemptions[NAIVE_LAS]);
  CU_ASSERT(preemptions[NAIVE_SRTF] > CASES && preemptions[NAIVE_LAS] > CASES);
  CU_ASSERT(preemptions[ORDERS] + preemptions[ORDERS + 1] == 0);
}

TEST_MAIN("naive preemptive", TEST(srtf_least_remaining_work_first), TEST(srtf_running_job_wins_tie),
          TEST(srtf_waiting_ties_by_submit_then_row), TEST(srtf_stops_job_that_does_not_fit_and_starts_later_job),
          TEST(srtf_jobs_without_work_without_gpus_and_too_large), TEST(las_crossing_job_yields_to_first_queue),
          TEST(las_queue_is_sorted_by_entry_time), TEST(las_crossing_time_of_gang_is_rounded_up),
          TEST(las_crossing_and_submit_at_same_instant), TEST(las_crossing_two_thresholds_at_once),
          TEST(las_job_without_work), TEST(gittins_index_rises_with_service),
          TEST(without_preemption_running_jobs_stay), TEST(equal_outcomes_with_tick_scheduler))
