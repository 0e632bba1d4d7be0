/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs with topology constraints: cases computed by hand, exact to the microsecond; and combinations with other
   features that are reported as errors. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

#include <string.h>

enum { MAX_JOBS = 5, MAX_PARAMS = 3 };

/* A few jobs on 6 nodes with 2 GPUs each. Rack 0 has nodes 0 and 1, rack 1 nodes 2 and 3, rack 2 nodes 4 and 5.
   The placement is first-fit. Times are in microseconds. */
struct within_case {
  uint32_t n_jobs;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], wait_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
  uint8_t within[MAX_JOBS], class_[MAX_JOBS];
  struct hr_class_spec training;
  const char *policy, *params[MAX_PARAMS][2];
  enum hr_market market;
  bool by_gpu;
  struct hr_error error;
  uint32_t first_node[MAX_JOBS], last_node[MAX_JOBS];
};

static void record_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct within_case *it = self;
  (void)view;
  if (event->kind != HR_EVENT_START || event->placement->n_slices == 0) return;
  it->first_node[event->job.id] = event->placement->slices[0].node.id;
  it->last_node[event->job.id] = event->placement->slices[event->placement->n_slices - 1].node.id;
}

/* Runs the case. NULL: the run failed. */
static struct hr_result *run_case(struct within_case *it) {
  char name[] = "p", gpu[] = "T4";
  struct hr_trace trace = {.source = "test",
                           .n_jobs = it->n_jobs,
                           .submit_us = it->submit_us,
                           .work_us = it->work_us,
                           .gpus = it->gpus,
                           .class_ = it->class_,
                           .within = it->within,
                           .within_wait_us = it->wait_us};
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 6, .gpus_per_node = 2, .topology.nodes_per_rack = 2};
  pool.market = (struct hr_market_spec){.market = it->market, .to_us = HR_NEVER_US};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1, .by_gpu = it->by_gpu};
  struct hr_class_spec classes[HR_N_CLASSES] = {[HR_CLASS_TRAINING] = it->training};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, it->policy ? it->policy : "queue", NULL), HR_OK);
  if (!it->policy) CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "placement", "first-fit", NULL), HR_OK);
  for (int i = 0; i < MAX_PARAMS && it->params[i][0]; i++)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, it->params[i][0], it->params[i][1], NULL), HR_OK);
  struct hr_observer observer = {.self = it, .on_event = record_event};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  enum hr_status status = hr_sim_run(&config, &result, &it->error);
  CU_ASSERT_EQUAL(status == HR_OK, result != NULL);
  CU_ASSERT(status == HR_OK || status == HR_BAD_INPUT);
  hr_policy_choice_finish(&choice);
  return result;
}

static void set_no_expiry(struct within_case *it) {
  for (int i = 0; i < MAX_JOBS; i++) it->wait_us[i] = HR_UNKNOWN_US;
}

/* First-fit places three jobs on node 0 until 100 us, on node 1 until 70 us, and on node 2 until 900 us. A job with 4
   GPUs is submitted at 10 us. */
static struct within_case three_jobs_on_three_racks(void) {
  struct within_case it = {.n_jobs = 4};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 10}, 4 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){100, 70, 900, 5}, 4 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 2, 2, 4}, 4 * sizeof(uint32_t));
  set_no_expiry(&it);
  return it;
}

/* First-fit places the first three jobs on nodes 0 to 2, so racks 0 and 1 are free from 100 us and 900 us on. */
static void job_waits_for_a_rack(void) {
  struct within_case it = three_jobs_on_three_racks();
  it.within[3] = HR_TIER_RACK;
  it.n_jobs = 4;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 10); /* rack 2 is free: nodes 4 and 5 */
  CU_ASSERT_EQUAL(it.first_node[3], 4);
  hr_result_destroy(result);
  it.n_jobs = 5; /* one more job, for which no rack is free before 15 */
  it.submit_us[4] = 11;
  it.work_us[4] = 5;
  it.gpus[4] = 4;
  it.within[4] = HR_TIER_RACK;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 15);
  CU_ASSERT_EQUAL(it.first_node[4], 4);
  it.work_us[3] = 200;
  hr_result_destroy(result);
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 100);
  CU_ASSERT_EQUAL(it.first_node[4], 0);
  CU_ASSERT_EQUAL(it.last_node[4], 1);
  hr_result_destroy(result);
}

/* Jobs 0 to 3 use nodes 0 to 4. Job 4 needs two nodes of one rack. */
static struct within_case one_free_node_per_rack(void) {
  struct within_case it = {.n_jobs = 5};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 0, 1}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){50, 50, 1000, 1000, 5}, 5 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 2, 2, 4, 4}, 5 * sizeof(uint32_t));
  /* jobs 0, 1 and 2 use nodes 0, 1 and 2, job 3 uses nodes 3 and 4; node 5 is free now, and nodes 0 and 1 are free from
     50 on */
  it.within[4] = HR_TIER_RACK;
  set_no_expiry(&it);
  return it;
}

static void constraint_expires_at_the_exact_time(void) {
  struct within_case it = one_free_node_per_rack();
  it.work_us[1] = 1000; /* node 0 is free from 50 on, and node 5 is free now, but no whole rack is free before 1000 */
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 1000);
  hr_result_destroy(result);
  it.wait_us[4] = 400;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 401);
  CU_ASSERT_EQUAL(it.first_node[4], 0);
  CU_ASSERT_EQUAL(it.last_node[4], 5);
  hr_result_destroy(result);
  it.wait_us[4] = 0; /* preferred: starts as soon as it fits anywhere */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.wait_us[4] = 10; /* expires before the job fits anywhere */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
}

/* If a rack is only preferred, it is used if it is free: here nodes 4 and 5 are used, although first-fit would select
   nodes 3 and 4. */
static void preferred_rack_is_used_if_free(void) {
  struct within_case it = one_free_node_per_rack();
  memcpy(it.gpus, (uint32_t[]){2, 2, 2, 0, 4}, 5 * sizeof(uint32_t));
  it.submit_us[4] = it.wait_us[4] = 0;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 0);
  CU_ASSERT_EQUAL(it.first_node[4], 4);
  hr_result_destroy(result);
  it.within[4] = HR_TIER_ANY;
  result = run_case(&it);
  CU_ASSERT_EQUAL(it.first_node[4], 3);
  hr_result_destroy(result);
}

static void job_larger_than_any_group_is_rejected(void) {
  for (int by_gpu = 0; by_gpu < 2; by_gpu++) {
    struct within_case it = {.n_jobs = 4, .by_gpu = by_gpu};
    memcpy(it.gpus, (uint32_t[]){6, 6, 6, 4}, 4 * sizeof(uint32_t));
    memcpy(it.within, (uint8_t[]){HR_TIER_RACK, HR_TIER_RACK, HR_TIER_ZONE, HR_TIER_NODE}, 4);
    memcpy(it.work_us, (int64_t[]){1, 1, 1, 1}, 4 * sizeof(int64_t));
    set_no_expiry(&it);
    it.wait_us[1] = 30; /* no rack is large enough, but the constraint expires */
    struct hr_result *result = run_case(&it);
    CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
    CU_ASSERT_EQUAL(result->reason[0], HR_REASON_NO_GROUP);
    CU_ASSERT_EQUAL(result->start_us[1], 30);
    CU_ASSERT_EQUAL(result->state[2], HR_JOB_COMPLETED); /* the pool is one zone */
    CU_ASSERT_EQUAL(result->state[3], HR_JOB_REJECTED);
    hr_result_destroy(result);
  }
}

static void constraint_of_a_class(void) {
  struct within_case it = one_free_node_per_rack();
  it.work_us[1] = 1000;
  it.within[4] = HR_TIER_ANY;
  it.class_[4] = HR_CLASS_TRAINING;
  it.training = (struct hr_class_spec){.within = HR_TIER_RACK, .within_wait_us = 200};
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 201);
  hr_result_destroy(result);
  it.within[4] = HR_TIER_ZONE; /* the job's own constraint, with its own expiry, replaces that of the class */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.within[4] = HR_TIER_ANY;
  it.training.within_wait_us = HR_UNKNOWN_US;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 1000);
  hr_result_destroy(result);
}

/* The head needs a rack, and rack 0 is free from 100 on. A job that would still use a node of rack 0 after 100 does not
   start before the head. */
static void backfill_does_not_delay_rack_reservation(void) {
  struct within_case it = {.n_jobs = 5, .params = {{"backfill", "easy"}}};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 1, 2}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){50, 100, 300, 10, 60}, 5 * sizeof(int64_t));
  /* by job: 0 uses node 0; 1 uses nodes 1 and 2; 2 uses nodes 3 and 4; 3 is the head and needs a rack; 4 needs one node
   */
  memcpy(it.gpus, (uint32_t[]){2, 4, 4, 4, 2}, 5 * sizeof(uint32_t));
  it.within[3] = HR_TIER_RACK;
  set_no_expiry(&it);
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100); /* the head starts on rack 0, when node 1 becomes free */
  CU_ASSERT_EQUAL(result->start_us[4], 2);   /* runs on node 5 until 62 */
  hr_result_destroy(result);
  it.work_us[4] = 400; /* ends after 100, but node 5 does not belong to rack 0 */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(result->start_us[4], 2);
  hr_result_destroy(result);
  it.gpus[4] = 1; /* from 50 on, job 4 fits only on node 0, but node 0 is reserved */
  it.submit_us[4] = 60;
  it.gpus[2] = 6; /* job 2 uses nodes 3 to 5 */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(result->start_us[4], 100); /* starts on node 2 */
  /* the constraint of the head expires at 21; then nodes 1 and 2 are reserved from 100 on */
  it.wait_us[3] = 20;
  hr_result_destroy(result);
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(it.first_node[3], 1);
  CU_ASSERT_EQUAL(result->start_us[4], 60);
  hr_result_destroy(result);
}

/* The head's constraint expires at 40, when nodes 0 and 5 are free. A job that would use one of these nodes after that
   time does not start. */
static void backfill_does_not_delay_expired_constraint(void) {
  struct within_case it = {.n_jobs = 5, .params = {{"backfill", "easy"}}};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 0, 1}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){30, 900, 900, 10, 60}, 5 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 4, 4, 4, 2}, 5 * sizeof(uint32_t));
  it.within[3] = HR_TIER_RACK;
  set_no_expiry(&it);
  it.wait_us[3] = 40;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 40);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.work_us[4] = 39; /* ends by 40 */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 40);
  CU_ASSERT_EQUAL(result->start_us[4], 1);
  hr_result_destroy(result);
}

/* ---- Unsupported combinations ------------------------------------------------------------------------ */

/* The run fails with an error that contains the name of the parameter or policy, and the unsupported feature. */
static void check_rejected(struct within_case it, const char *subject, const char *unsupported) {
  it.n_jobs = 1;
  it.gpus[0] = 4;
  it.work_us[0] = 1;
  it.within[0] = HR_TIER_RACK;
  it.wait_us[0] = HR_UNKNOWN_US;
  CU_ASSERT_PTR_NULL(run_case(&it));
  bool named = strstr(it.error.text, subject) && strstr(it.error.text, unsupported);
  if (!named) printf("\n  got: %s\n", it.error.text);
  CU_ASSERT_EQUAL(it.error.status, HR_BAD_INPUT);
  CU_ASSERT_TRUE(named);
}

static void unsupported_combinations_are_rejected(void) {
  check_rejected((struct within_case){.params = {{"placement", "pool"}}}, "'placement'", "'within'");
  check_rejected((struct within_case){.policy = "rounds"}, "'rounds'", "'within'");
  check_rejected((struct within_case){.policy = "gang-slice"}, "'gang-slice'", "'within'");
}

/* If jobs have topology constraints, orders that preempt by default do not preempt. */
static void no_preemption_with_constraints(void) {
  struct within_case it = three_jobs_on_three_racks();
  it.within[3] = HR_TIER_RACK;
  it.params[0][0] = "order";
  it.params[0][1] = "srtf";
  struct hr_result *result = run_case(&it);
  CU_ASSERT_PTR_NULL(result->account);
  hr_result_destroy(result);
}

TEST_MAIN("within groups", TEST(job_waits_for_a_rack), TEST(constraint_expires_at_the_exact_time),
          TEST(preferred_rack_is_used_if_free), TEST(job_larger_than_any_group_is_rejected),
          TEST(constraint_of_a_class), TEST(backfill_does_not_delay_rack_reservation),
          TEST(backfill_does_not_delay_expired_constraint), TEST(unsupported_combinations_are_rejected),
          TEST(no_preemption_with_constraints))
