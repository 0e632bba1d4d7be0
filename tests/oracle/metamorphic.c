/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metamorphic tests: each test changes a random workload in a way that must not change the outcome, or must change it
 * in a known way. All tests but the last one run under all combinations of REPLAY_PLAIN_RULES (see replay.h). In the
 * workloads every job has a run time above 0 and a limit of at least its run time. Otherwise the rules would not be
 * invariant under scaling: a job that has exceeded its limit is expected to end one microsecond from now, and a limit
 * of 0 counts as one microsecond.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/trace_files.h"
#include "replay.h"

#include <string.h>

enum { CASES = 60, MAX_JOBS = 40 };

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return hr__stream_next(stream) % bound;
}

static void random_case(uint32_t number, struct replay_case *workload) {
  struct hr__stream stream;
  hr__stream_init(&stream, 2, HR__PURPOSE_ARRIVAL, number, 0);
  workload->n_pools = 1 + below(&stream, 2);
  for (uint32_t p = 0; p < workload->n_pools; p++)
    workload->pools[p] = (struct replay_pool){{1 + below(&stream, 4), 1 + below(&stream, 8)}, below(&stream, 2), 0, 0};
  workload->n_jobs = 2 + below(&stream, MAX_JOBS - 1);
  int64_t at = 0;
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    int64_t work = 1 + below(&stream, 20);
    workload->jobs[i] = (struct replay_job){
        .submit = at,
        .work = work,
        .limit = work + below(&stream, 2) * below(&stream, 20),
        .estimate = 1 + below(&stream, 20),
        .priority = (int32_t)below(&stream, 3),
        .gpus = 1 + (below(&stream, 4) ? below(&stream, 4) : below(&stream, 16)),
        .types = 1 + below(&stream, 3),
    };
    at += 1 + below(&stream, 4);
  }
}

/* A change of a workload and its expected effect: every start time is multiplied by `scale`. Two flags state whether
   the placements and the digest must also be unchanged. `apply` changes the workload, and may add one job. */
struct change {
  void (*apply)(struct replay_case *workload);
  int64_t scale;
  bool same_placements, same_digest;
};

static void expect_same(const struct replay_outcome *original, const struct replay_outcome *changed,
                        const struct change *change) {
  struct replay_outcome scaled = *original;
  int64_t start[MAX_JOBS];
  for (uint32_t i = 0; i < original->n_jobs; i++)
    start[i] = original->result.start[i] < 0 ? -1 : original->result.start[i] * change->scale;
  scaled.result.start = start;
  CU_ASSERT_FALSE_FATAL(original->failed || changed->failed);
  if (change->same_placements) CU_ASSERT_EQUAL_FATAL(replay_first_difference(&scaled, changed), HR_NONE);
  if (change->same_digest) CU_ASSERT_EQUAL_FATAL(original->digest, changed->digest);
  CU_ASSERT_FATAL(memcmp(start, changed->result.start, original->n_jobs * sizeof *start) == 0);
}

static void check_change(const struct change *change) {
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[MAX_JOBS + 1], changed_jobs[MAX_JOBS + 1];
    struct replay_case workload = {.jobs = jobs};
    random_case(number, &workload);
    struct replay_case changed_workload = workload;
    changed_workload.jobs = memcpy(changed_jobs, jobs, sizeof jobs);
    change->apply(&changed_workload);
    struct hr_trace *trace = replay_trace(&workload), *changed_trace = replay_trace(&changed_workload);
    for (uint32_t r = 0; r < REPLAY_PLAIN_RULES; r++) {
      struct replay_rules rules = replay_rules_at(r);
      struct replay_outcome original = replay_headroom(trace, &workload, rules, true);
      struct replay_outcome changed = replay_headroom(changed_trace, &changed_workload, rules, true);
      expect_same(&original, &changed, change);
      replay_outcome_finish(&original);
      replay_outcome_finish(&changed);
    }
    hr_trace_destroy(trace);
    hr_trace_destroy(changed_trace);
  }
}

static void stretch_time(struct replay_case *workload) {
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    struct replay_job *job = &workload->jobs[i];
    job->submit *= 3600 * HR_SECOND_US;
    job->work *= 3600 * HR_SECOND_US;
    job->limit *= 3600 * HR_SECOND_US;
    job->estimate *= 3600 * HR_SECOND_US;
  }
}

static void scaling_all_times_scales_starts(void) {
  check_change(&(struct change){stretch_time, 3600 * HR_SECOND_US, true, false});
}

static void delay_submits(struct replay_case *workload) {
  for (uint32_t i = 0; i < workload->n_jobs; i++) workload->jobs[i].submit += 86400 * HR_SECOND_US;
}

static void shifting_submits_keeps_outcome(void) {
  check_change(&(struct change){delay_submits, 1, true, true});
}

static void triple_gpus(struct replay_case *workload) {
  for (uint32_t p = 0; p < workload->n_pools; p++) workload->pools[p].shape.gpus_per_node *= 3;
  for (uint32_t i = 0; i < workload->n_jobs; i++) workload->jobs[i].gpus *= 3;
}

static void scaling_all_gpu_counts_keeps_starts(void) {
  check_change(&(struct change){triple_gpus, 1, false, false});
}

static void append_idle_pool(struct replay_case *workload) {
  workload->pools[workload->n_pools++] = (struct replay_pool){{3, 8}, REPLAY_TYPES - 1, 0, 0};
}

static void unaccepted_last_pool_keeps_outcome(void) {
  check_change(&(struct change){append_idle_pool, 1, true, true});
}

static void prepend_idle_pool(struct replay_case *workload) {
  memmove(&workload->pools[1], &workload->pools[0], workload->n_pools * sizeof *workload->pools);
  workload->n_pools++;
  workload->pools[0] = (struct replay_pool){{3, 8}, REPLAY_TYPES - 1, 0, 0};
}

static void unaccepted_first_pool_keeps_starts(void) {
  check_change(&(struct change){prepend_idle_pool, 1, false, false});
}

static void shift_priorities(struct replay_case *workload) {
  for (uint32_t i = 0; i < workload->n_jobs; i++) workload->jobs[i].priority = 7 * workload->jobs[i].priority - 1000;
}

static void order_preserving_priorities_keep_outcome(void) {
  check_change(&(struct change){shift_priorities, 1, true, true});
}

static void add_job_without_gpus(struct replay_case *workload) {
  struct replay_job last = workload->jobs[workload->n_jobs - 1];
  workload->jobs[workload->n_jobs++] =
      (struct replay_job){.submit = last.submit, .work = 7, .limit = 9, .estimate = 3, .priority = 9};
}

static void job_without_gpus_keeps_starts(void) {
  check_change(&(struct change){add_job_without_gpus, 1, false, false});
}

/* ---- Changes to the trace's labels and to the order of its rows ------------------------------------------ */

static struct hr_trace *relabelled_trace(const struct replay_case *workload, bool reversed) {
  struct hr_trace_builder *builder = hr_trace_builder_create("oracle", "memory");
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
  struct hr_trace *trace = NULL;
  struct hr_error error;
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    uint32_t row = reversed ? workload->n_jobs - 1 - i : i;
    const struct replay_job *job = &workload->jobs[row];
    char id[16], tenant[16];
    struct hr_job_record record;
    hr_job_record_init(&record);
    record.id = (struct hr_text){id, (size_t)snprintf(id, sizeof id, "job-%u", 7919 * row % 1009)};
    record.tenant = (struct hr_text){tenant, (size_t)snprintf(tenant, sizeof tenant, "team%u", row % 3)};
    record.user = record.tenant;
    record.submit_us = job->submit;
    record.work_us = job->work;
    record.limit_us = job->limit;
    record.estimate_us = job->estimate;
    record.priority = job->priority;
    record.gpus = job->gpus;
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 2, &error), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, &error), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* All submit times differ in these cases, so the order of the rows has no effect. */
static void labels_and_row_order_keep_outcome(void) {
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[MAX_JOBS + 1];
    struct replay_case workload = {.jobs = jobs};
    random_case(number, &workload);
    for (uint32_t i = 0; i < workload.n_jobs; i++) jobs[i].types = 0;
    struct hr_trace *traces[] = {replay_trace(&workload), relabelled_trace(&workload, false),
                                 relabelled_trace(&workload, true)};
    for (uint32_t r = 0; r < REPLAY_PLAIN_RULES; r++) {
      struct replay_outcome outcome[3];
      for (int t = 0; t < 3; t++) outcome[t] = replay_headroom(traces[t], &workload, replay_rules_at(r), true);
      for (int t = 1; t < 3; t++) {
        CU_ASSERT_EQUAL_FATAL(replay_first_difference(&outcome[0], &outcome[t]), HR_NONE);
        CU_ASSERT_EQUAL_FATAL(outcome[0].digest, outcome[t].digest);
      }
      for (int t = 0; t < 3; t++) replay_outcome_finish(&outcome[t]);
    }
    for (int t = 0; t < 3; t++) hr_trace_destroy(traces[t]);
  }
}

/* With order `fifo`, backfill `strict` and placement `pool`, more capacity never delays a job. Proof by induction:
   assume that no earlier job starts later than in the original run. Then, at the original start of a job, the number of
   allocated GPUs is not larger than in the original run, so the job fits. With another backfill or placement, more
   capacity can delay jobs (Graham's anomalies). */
static void additional_node_delays_no_job_in_strict_fifo(void) {
  const struct replay_rules rules = {NAIVE_FIFO, NAIVE_STRICT, NAIVE_POOL};
  uint32_t n_earlier = 0;
  for (uint32_t number = 0; number < CASES; number++) {
    struct replay_job jobs[MAX_JOBS + 1];
    struct replay_case workload = {.jobs = jobs};
    random_case(number, &workload);
    workload.n_pools = 1;
    uint32_t gpus = workload.pools[0].shape.nodes * workload.pools[0].shape.gpus_per_node;
    for (uint32_t i = 0; i < workload.n_jobs; i++) {
      jobs[i].types = 0;
      jobs[i].gpus = 1 + (jobs[i].gpus - 1) % gpus;
    }
    struct hr_trace *trace = replay_trace(&workload);
    struct replay_outcome original = replay_headroom(trace, &workload, rules, true);
    workload.pools[0].shape.nodes++;
    struct replay_outcome with_node = replay_headroom(trace, &workload, rules, true);
    for (uint32_t i = 0; i < workload.n_jobs; i++) {
      CU_ASSERT_FATAL(with_node.result.start[i] <= original.result.start[i]);
      n_earlier += with_node.result.start[i] < original.result.start[i];
    }
    replay_outcome_finish(&original);
    replay_outcome_finish(&with_node);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(n_earlier > 0);
}

TEST_MAIN("oracle metamorphic", TEST(scaling_all_times_scales_starts), TEST(shifting_submits_keeps_outcome),
          TEST(scaling_all_gpu_counts_keeps_starts), TEST(unaccepted_last_pool_keeps_outcome),
          TEST(unaccepted_first_pool_keeps_starts), TEST(order_preserving_priorities_keep_outcome),
          TEST(job_without_gpus_keeps_starts), TEST(labels_and_row_order_keep_outcome),
          TEST(additional_node_delays_no_job_in_strict_fifo))
