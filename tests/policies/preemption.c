/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The times at which preemption occurs, and the work that is lost. All cases are computed by hand, exact to the
   microsecond. */

#include "harness.h"
#include "lab.h"

#define S HR_SECOND_US

/* One GPU. Job 0 has 1000 s of work; job 1 is submitted at 250.000001 s with 50 s of work. */
static void begin(struct lab *lab, const char *order) {
  lab_begin(lab);
  lab_add_pool(lab, 1, 1);
  lab_set(lab, "order", order);
  lab_set(lab, "backfill", "skip");
  lab_add_job(lab, (struct lab_job){.work_us = 1000 * S, .gpus = 1});
  lab_add_job(lab, (struct lab_job){.submit_us = 250 * S + 1, .work_us = 50 * S, .gpus = 1, .priority = 5});
  lab->classes[HR_CLASS_UNKNOWN].restart_us = 30 * S;
}

static void run(struct lab *lab) {
  CU_ASSERT_TRUE_FATAL(lab_run(lab, NULL));
}

static struct hr_job_accounting accounting(const struct lab *lab, uint32_t job) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(lab->result->account);
  return hr_result_accounting(lab->result, (hr_job){job});
}

#define STARTS(job, us) CU_ASSERT_EQUAL(lab.result->start_us[job], us)
#define ENDS(job, us) CU_ASSERT_EQUAL(lab_end_us(&lab, job), us)

static void work_after_the_last_checkpoint_is_lost(void) {
  struct lab lab;
  begin(&lab, "srtf");
  lab.classes[HR_CLASS_UNKNOWN].checkpoint = HR_CHECKPOINT_INTERVAL;
  lab.classes[HR_CLASS_UNKNOWN].interval_us = 100 * S;
  run(&lab);
  STARTS(1, 250 * S + 1);
  ENDS(1, 300 * S + 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, 50 * S + 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).restarting_us, 30 * S);
  CU_ASSERT_EQUAL(accounting(&lab, 0).attempts, 2);
  ENDS(0, 300 * S + 1 + 30 * S + 800 * S); /* checkpoints saved the first 200 s of work */
  CU_ASSERT_EQUAL(accounting(&lab, 0).held_us, 1000 * S + 50 * S + 1 + 30 * S);
  CU_ASSERT_EQUAL(accounting(&lab, 1).lost_us, 0);
  lab_finish(&lab);
}

/* Job 0 writes 30,000 checkpoints of 3 s, one after each 10 s of work. Job 1 preempts it at various times of a period,
   and runs for 62 s (50 s of work and four checkpoints). All sums follow from the number of complete periods of 13
   s. */
static void very_many_checkpoints_have_a_closed_form(void) {
  const int64_t work = 10 * S, period = 13 * S, all = 30001 * work;
  static const int64_t rests[] = {0, 1, 5 * S, 10 * S - 1, 10 * S, 10 * S + 1, 13 * S - 1};
  for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
    for (int64_t periods = 20; periods < 25000; periods += 4567) {
      struct lab lab;
      begin(&lab, "srtf");
      lab.jobs[0].work_us = all;
      lab.jobs[1].submit_us = periods * period + rests[i];
      lab.classes[HR_CLASS_UNKNOWN].checkpoint = HR_CHECKPOINT_INTERVAL;
      lab.classes[HR_CLASS_UNKNOWN].interval_us = work;
      lab.classes[HR_CLASS_UNKNOWN].write_us = 3 * S;
      run(&lab);
      int64_t lost = rests[i] < work ? rests[i] : work, left = all - periods * work;
      int64_t saved = 3 * S * periods + (rests[i] - lost) + 3 * S * (left / work - 1);
      STARTS(1, periods * period + rests[i]);
      CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, lost);
      CU_ASSERT_EQUAL(accounting(&lab, 0).kept_us, all);
      CU_ASSERT_EQUAL(accounting(&lab, 0).saving_us, saved);
      CU_ASSERT_EQUAL(accounting(&lab, 0).saved_us, period);
      ENDS(0, lab.result->start_us[1] + 62 * S + 30 * S + left + 3 * S * (left / work - 1));
      CU_ASSERT(lab.result->n_events < 30000);
      lab_finish(&lab);
    }
  }
}

/* The job that loses the least work is stopped, even if lost work x GPUs exceeds 64 bits. */
static void least_lost_beyond_64_bits(void) {
  enum { GPUS = 2000000 };
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 2, GPUS);
  lab_set(&lab, "order", "fifo");
  lab_set(&lab, "preemption", "priority");
  lab_set(&lab, "preempted", "requeue");
  lab_set(&lab, "victims", "least-lost");
  lab_add_job(&lab, (struct lab_job){.work_us = 9000000 * S, .gpus = GPUS});
  lab_add_job(&lab, (struct lab_job){.submit_us = 4900000 * S, .work_us = 5000000 * S, .gpus = GPUS});
  lab_add_job(&lab, (struct lab_job){.submit_us = 5000000 * S, .work_us = 100 * S, .gpus = GPUS, .priority = 5});
  run(&lab);
  CU_ASSERT_EQUAL(accounting(&lab, 0).attempts, 1);
  CU_ASSERT_EQUAL(accounting(&lab, 1).attempts, 2);
  CU_ASSERT_EQUAL(accounting(&lab, 1).lost_us, 100000 * S);
  lab_finish(&lab);
}

static void without_checkpoints_all_work_is_kept(void) {
  struct lab lab;
  begin(&lab, "srtf");
  run(&lab);
  CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, 0);
  ENDS(0, 300 * S + 1 + 30 * S + 1000 * S - (250 * S + 1));
  lab_finish(&lab);
}

static void requeue_loses_all_work_without_checkpoints(void) {
  struct lab lab;
  begin(&lab, "srtf");
  lab_set(&lab, "preempted", "requeue");
  run(&lab);
  CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, 250 * S + 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).restarting_us, 30 * S);
  ENDS(0, 300 * S + 1 + 30 * S + 1000 * S);
  lab_finish(&lab);
}

/* The parameter preempted=checkpoint keeps all work, even if the class has checkpoints. */
static void preempted_checkpoint_keeps_all_work(void) {
  struct lab lab;
  begin(&lab, "srtf");
  lab.classes[HR_CLASS_UNKNOWN].checkpoint = HR_CHECKPOINT_INTERVAL;
  lab.classes[HR_CLASS_UNKNOWN].interval_us = 100 * S;
  lab_set(&lab, "preempted", "checkpoint");
  run(&lab);
  CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, 0);
  ENDS(0, 300 * S + 1 + 30 * S + 1000 * S - (250 * S + 1));
  lab_finish(&lab);
}

/* A new job has 900 s of work. A stopped job that keeps its work has less remaining work, and precedes the new job. If
   it loses its work, it does not precede the new job. */
static void lost_work_counts_as_remaining_work(void) {
  struct lab lab;
  begin(&lab, "srtf");
  lab_set(&lab, "preempted", "requeue");
  lab_add_job(&lab, (struct lab_job){.submit_us = 260 * S, .work_us = 900 * S, .gpus = 1});
  run(&lab);
  STARTS(2, 300 * S + 1);
  ENDS(2, 1200 * S + 1);
  ENDS(0, 1200 * S + 1 + 30 * S + 1000 * S);
  lab_finish(&lab);
}

static void killed_job_is_rejected_and_frees_its_gpus(void) {
  struct lab lab;
  begin(&lab, "fifo");
  lab_set(&lab, "preemption", "priority");
  lab_set(&lab, "preempted", "kill");
  lab_add_job(&lab, (struct lab_job){.submit_us = 260 * S, .work_us = 7 * S, .gpus = 1});
  run(&lab);
  CU_ASSERT_EQUAL(lab.result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(lab.result->reason[0], HR_REASON_KILLED);
  CU_ASSERT_EQUAL(lab.result->n_rejected, 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).attempts, 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, 250 * S + 1);
  CU_ASSERT_EQUAL(accounting(&lab, 0).held_us, 250 * S + 1);
  STARTS(1, 250 * S + 1);
  STARTS(2, 300 * S + 1);
  ENDS(2, 307 * S + 1);
  CU_ASSERT_EQUAL(lab.result->end_us, 307 * S + 1);
  lab_finish(&lab);
}

/* No event occurs at the end of the minimum run time, so the policy must request a wake-up. */
static void preempted_at_the_end_of_its_minimum_run_time(void) {
  struct lab lab;
  static const char *const placements[] = {"pool", "best-fit"};
  for (int i = 0; i < 2; i++) {
    begin(&lab, "fifo");
    lab_set(&lab, "preemption", "priority");
    lab_set(&lab, "placement", placements[i]);
    lab_set(&lab, "min_run_s", "400.5");
    run(&lab);
    STARTS(1, 400 * S + S / 2);
    ENDS(1, 450 * S + S / 2);
    lab_finish(&lab);
    begin(&lab, "srtf");
    lab_set(&lab, "placement", placements[i]);
    lab_set(&lab, "min_run_s", "400.5");
    run(&lab);
    STARTS(1, 400 * S + S / 2);
    ENDS(0, 450 * S + S / 2 + 30 * S + 1000 * S - (400 * S + S / 2));
    lab_finish(&lab);
  }
}

/* The minimum run time of 100 s applies to each attempt. Job 0 runs again from 300.000001 s, so job 2, which is
   submitted at 310 s, preempts it only at 400.000001 s. */
static void minimum_run_time_applies_to_each_attempt(void) {
  struct lab lab;
  begin(&lab, "fifo");
  lab_set(&lab, "preemption", "priority");
  lab_set(&lab, "preempted", "checkpoint");
  lab_set(&lab, "min_run_s", "100");
  lab_add_job(&lab, (struct lab_job){.submit_us = 310 * S, .work_us = 5 * S, .gpus = 1, .priority = 1});
  run(&lab);
  STARTS(1, 250 * S + 1);
  STARTS(2, 400 * S + 1);
  lab_finish(&lab);
}

/* ---- With a grace period ---------------------------------------------------------------------------- */

static void begin_eviction(struct lab *lab, const char *preempted) {
  begin(lab, "fifo");
  lab_set(lab, "preemption", "priority");
  lab_set(lab, "preempted", preempted);
  lab_set(lab, "grace_s", "60");
}

static void evicted_after_the_grace_period(void) {
  struct lab lab;
  for (int k = 0; k < 8; k++) {
    static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
    int i = k % 2;
    begin_eviction(&lab, i ? "requeue" : "checkpoint");
    lab_set(&lab, "backfill", backfills[k / 2]);
    run(&lab);
    STARTS(1, 310 * S + 1);
    ENDS(1, 360 * S + 1);
    CU_ASSERT_EQUAL(accounting(&lab, 0).lost_us, i ? 310 * S + 1 : 0);
    ENDS(0, 360 * S + 1 + 30 * S + 1000 * S - (i ? 0 : 310 * S + 1));
    lab_finish(&lab);
  }
}

/* A third job, without priority, does not start on the GPU that the victim frees. */
static void killed_after_the_grace_period(void) {
  struct lab lab;
  begin_eviction(&lab, "kill");
  lab_add_job(&lab, (struct lab_job){.submit_us = 260 * S, .work_us = 7 * S, .gpus = 1});
  run(&lab);
  CU_ASSERT_EQUAL(lab.result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(lab.result->reason[0], HR_REASON_KILLED);
  STARTS(1, 310 * S + 1);
  STARTS(2, 360 * S + 1);
  lab_finish(&lab);
}

static void job_ends_within_the_grace_period(void) {
  struct lab lab;
  begin_eviction(&lab, "requeue");
  lab.jobs[0].work_us = 300 * S;
  run(&lab);
  ENDS(0, 300 * S);
  CU_ASSERT_EQUAL(accounting(&lab, 0).attempts, 1);
  STARTS(1, 300 * S);
  lab_finish(&lab);
}

/* ---- With quotas ------------------------------------------------------------------------------------ */

static char first_tenant[] = "t1", second_tenant[] = "t2";

/* Two tenants are guaranteed four GPUs each. Tenant 1 borrows the four GPUs of tenant 2. */
static void reclaimed_at_the_end_of_its_minimum_run_time(void) {
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 2, 4);
  for (uint32_t t = 1; t <= 2; t++)
    lab_add_quota(&lab, (struct hr_quota_node){.name = t == 1 ? first_tenant : second_tenant,
                                               .parent = HR_NONE,
                                               .is_tenant = true,
                                               .guaranteed_milli = 4000});
  for (int i = 0; i < 2; i++) lab_add_job(&lab, (struct lab_job){.work_us = 1000 * S, .gpus = 4, .tenant = 1});
  lab_add_job(&lab, (struct lab_job){.submit_us = 10 * S, .work_us = 50 * S, .gpus = 4, .tenant = 2});
  lab_set(&lab, "preemption", "reclaim");
  lab_set(&lab, "min_run_s", "100");
  run(&lab);
  STARTS(0, 0);
  STARTS(1, 0);
  STARTS(2, 100 * S);
  CU_ASSERT_EQUAL(accounting(&lab, 0).attempts + accounting(&lab, 1).attempts, 3);
  lab_finish(&lab);
}

/* A job of the same tenant waits, because the quota blocks it. At 300 s, the running job enters the second service
   queue, and the waiting job preempts it. */
static void rank_change_starts_job_blocked_by_quota(void) {
  struct lab lab;
  begin(&lab, "las");
  lab.pools[0].gpus_per_node = 2;
  lab.jobs[0].tenant = lab.jobs[1].tenant = 1;
  lab_add_quota(&lab,
                (struct hr_quota_node){.name = first_tenant, .parent = HR_NONE, .is_tenant = true, .max_milli = 1000});
  lab_set(&lab, "las_threshold_1_s", "300");
  run(&lab);
  STARTS(1, 300 * S);
  ENDS(1, 350 * S);
  lab_finish(&lab);
}

/* After each promotion, one of the two jobs preempts the other. The restart overhead is longer than the attempts, so
   neither job makes progress. */
static void run_without_progress_is_stalled(void) {
  struct lab lab;
  lab_begin(&lab);
  lab_add_pool(&lab, 8, 8);
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) lab.classes[i].restart_us = 60 * S;
  for (uint32_t i = 0; i < 2; i++)
    lab_add_job(&lab, (struct lab_job){.submit_us = 10 * S * i, .work_us = 36000 * S, .gpus = 64});
  lab_set(&lab, "order", "las");
  lab_set(&lab, "backfill", "skip");
  lab_set(&lab, "placement", "pool");
  lab_set(&lab, "las_promote", "1");
  lab.horizon_us = HR_NEVER_US;
  run(&lab);
  CU_ASSERT_TRUE(lab.result->stalled);
  CU_ASSERT_EQUAL(lab.result->n_completed, 0);
  lab_finish(&lab);
}

TEST_MAIN("preemption", TEST(run_without_progress_is_stalled), TEST(work_after_the_last_checkpoint_is_lost),
          TEST(very_many_checkpoints_have_a_closed_form), TEST(least_lost_beyond_64_bits),
          TEST(without_checkpoints_all_work_is_kept), TEST(requeue_loses_all_work_without_checkpoints),
          TEST(preempted_checkpoint_keeps_all_work), TEST(lost_work_counts_as_remaining_work),
          TEST(killed_job_is_rejected_and_frees_its_gpus), TEST(preempted_at_the_end_of_its_minimum_run_time),
          TEST(minimum_run_time_applies_to_each_attempt), TEST(evicted_after_the_grace_period),
          TEST(killed_after_the_grace_period), TEST(job_ends_within_the_grace_period),
          TEST(reclaimed_at_the_end_of_its_minimum_run_time), TEST(rank_change_starts_job_blocked_by_quota))
