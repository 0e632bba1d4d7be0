/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that are to be within a group, worked out by hand to the microsecond; and what cannot be kept together with
 * that. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

#include <string.h>

enum { MOST_JOBS = 5, MOST_PARAMS = 3 };

/* Jobs on 6 nodes of 2 GPUs in racks of 2, under first fit. */
struct within_case {
  uint32_t n_jobs;
  int64_t submit_us[MOST_JOBS], work_us[MOST_JOBS], wait_us[MOST_JOBS];
  uint32_t gpus[MOST_JOBS];
  uint8_t within[MOST_JOBS], class_[MOST_JOBS];
  struct hr_class_spec training;
  const char *policy, *params[MOST_PARAMS][2];
  enum hr_market market;
  bool by_gpu, is_split;
  struct hr_error error;
  uint32_t first_node[MOST_JOBS], last_node[MOST_JOBS];
};

static void remember(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct within_case *it = self;
  (void)view;
  if (event->kind != HR_EVENT_START || event->placement->n_slices == 0) return;
  it->first_node[event->job.id] = event->placement->slices[0].node.id;
  it->last_node[event->job.id] = event->placement->slices[event->placement->n_slices - 1].node.id;
}

/* NULL: it was refused. */
static struct hr_result *run_case(struct within_case *it) {
  char name[] = "p", gpu[] = "T4";
  struct hr_mig_spec mig = {0};
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
  if (it->is_split) pool.mig = &mig;
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1, .by_gpu = it->by_gpu};
  struct hr_class_spec classes[HR_N_CLASSES] = {[HR_CLASS_TRAINING] = it->training};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, it->policy ? it->policy : "queue", NULL), HR_OK);
  if (!it->policy) CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "placement", "first-fit", NULL), HR_OK);
  for (int i = 0; i < MOST_PARAMS && it->params[i][0]; i++)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, it->params[i][0], it->params[i][1], NULL), HR_OK);
  struct hr_observer observer = {.self = it, .on_event = remember};
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

static void never_waits(struct within_case *it) {
  for (int i = 0; i < MOST_JOBS; i++) it->wait_us[i] = HR_UNKNOWN_US;
}

/* A job on node 1 until 100 us, one on node 2 until 70, one on node 4 until 900; then one of 4 GPUs comes at 10. */
static struct within_case scattered(void) {
  struct within_case it = {.n_jobs = 4};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 10}, 4 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){100, 70, 900, 5}, 4 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 2, 2, 4}, 4 * sizeof(uint32_t));
  never_waits(&it);
  return it;
}

/* First fit would put the first three on nodes 0 to 2: racks 0 and 1 come free at 100 and 900. */
static void a_job_waits_for_its_rack(void) {
  struct within_case it = scattered();
  it.within[3] = HR_TIER_RACK;
  it.n_jobs = 4;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 10); /* rack 2 is free: nodes 4 and 5 */
  CU_ASSERT_EQUAL(it.first_node[3], 4);
  hr_result_destroy(result);
  it.n_jobs = 5; /* and one more, for whom there is none until 15 */
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

/* Nodes 0, 2 and 4 taken: each rack has one free. */
static struct within_case one_free_in_each(void) {
  struct within_case it = {.n_jobs = 5};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 0, 1}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){50, 50, 1000, 1000, 5}, 5 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 2, 2, 4, 4}, 5 * sizeof(uint32_t));
  it.within[4] = HR_TIER_RACK; /* nodes 0, 1, 2 and 3, 4; then 5 is free until 50, and from then on 0 and 1 */
  never_waits(&it);
  return it;
}

static void a_wait_lapses_to_the_microsecond(void) {
  struct within_case it = one_free_in_each();
  it.work_us[1] = 1000; /* node 0 from 50 on, and 5: never a rack before 1000 */
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 1000);
  hr_result_destroy(result);
  it.wait_us[4] = 400;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 401);
  CU_ASSERT_EQUAL(it.first_node[4], 0);
  CU_ASSERT_EQUAL(it.last_node[4], 5);
  hr_result_destroy(result);
  it.wait_us[4] = 0; /* preferred: as soon as there is room */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.wait_us[4] = 10; /* over before there is room anywhere */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
}

/* Where it is only preferred, the rack still comes first: nodes 0 and 1 together before 0 and 5. */
static void a_preference_is_kept_where_it_can_be(void) {
  struct within_case it = one_free_in_each();
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

static void who_fits_no_group_is_rejected(void) {
  for (int by_gpu = 0; by_gpu < 2; by_gpu++) {
    struct within_case it = {.n_jobs = 4, .by_gpu = by_gpu};
    memcpy(it.gpus, (uint32_t[]){6, 6, 6, 4}, 4 * sizeof(uint32_t));
    memcpy(it.within, (uint8_t[]){HR_TIER_RACK, HR_TIER_RACK, HR_TIER_ZONE, HR_TIER_NODE}, 4);
    memcpy(it.work_us, (int64_t[]){1, 1, 1, 1}, 4 * sizeof(int64_t));
    never_waits(&it);
    it.wait_us[1] = 30; /* there is no such rack, but then it goes anywhere */
    struct hr_result *result = run_case(&it);
    CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
    CU_ASSERT_EQUAL(result->reason[0], HR_REASON_NO_GROUP);
    CU_ASSERT_EQUAL(result->start_us[1], 30);
    CU_ASSERT_EQUAL(result->state[2], HR_JOB_COMPLETED); /* the pool is one zone */
    CU_ASSERT_EQUAL(result->state[3], HR_JOB_REJECTED);
    hr_result_destroy(result);
  }
}

static void a_class_asks_for_its_jobs(void) {
  struct within_case it = one_free_in_each();
  it.work_us[1] = 1000;
  it.within[4] = HR_TIER_ANY;
  it.class_[4] = HR_CLASS_TRAINING;
  it.training = (struct hr_class_spec){.within = HR_TIER_RACK, .within_wait_us = 200};
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 201);
  hr_result_destroy(result);
  it.within[4] = HR_TIER_ZONE; /* its own goes before, with its own wait */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.within[4] = HR_TIER_ANY;
  it.training.within_wait_us = HR_UNKNOWN_US;
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[4], 1000);
  hr_result_destroy(result);
}

/* The head wants a rack: 0 comes free at 100. Who would keep a node of it beyond that does not start before it. */
static void backfilled_jobs_do_not_delay_a_rack(void) {
  struct within_case it = {.n_jobs = 5, .params = {{"backfill", "easy"}}};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 1, 2}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){50, 100, 300, 10, 60}, 5 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 4, 4, 4, 2}, 5 * sizeof(uint32_t)); /* node 0; 1 and 2; 3 and 4; a rack; one node */
  it.within[3] = HR_TIER_RACK;
  never_waits(&it);
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100); /* rack 0, from when node 1 is free too */
  CU_ASSERT_EQUAL(result->start_us[4], 2);   /* node 5, until 62 */
  hr_result_destroy(result);
  it.work_us[4] = 400; /* beyond: on node 5 it is in nobody's way */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(result->start_us[4], 2);
  hr_result_destroy(result);
  it.gpus[4] = 1; /* node 0 alone has room for it from 50 on: not there */
  it.submit_us[4] = 60;
  it.gpus[2] = 6; /* nodes 3 to 5 */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(result->start_us[4], 100); /* on node 2 then */
  it.wait_us[3] = 20;                        /* the head may go anywhere from 21 on: nodes 1 and 2 will do at 100 */
  hr_result_destroy(result);
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 100);
  CU_ASSERT_EQUAL(it.first_node[3], 1);
  CU_ASSERT_EQUAL(result->start_us[4], 60);
  hr_result_destroy(result);
}

/* The head's wait is over at 40, when nodes 0 and 5 are free: who would keep one of them beyond does not start. */
static void backfilled_jobs_do_not_delay_whose_wait_is_over(void) {
  struct within_case it = {.n_jobs = 5, .params = {{"backfill", "easy"}}};
  memcpy(it.submit_us, (int64_t[]){0, 0, 0, 0, 1}, 5 * sizeof(int64_t));
  memcpy(it.work_us, (int64_t[]){30, 900, 900, 10, 60}, 5 * sizeof(int64_t));
  memcpy(it.gpus, (uint32_t[]){2, 4, 4, 4, 2}, 5 * sizeof(uint32_t));
  it.within[3] = HR_TIER_RACK;
  never_waits(&it);
  it.wait_us[3] = 40;
  struct hr_result *result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 40);
  CU_ASSERT_EQUAL(result->start_us[4], 50);
  hr_result_destroy(result);
  it.work_us[4] = 39; /* done by then */
  result = run_case(&it);
  CU_ASSERT_EQUAL(result->start_us[3], 40);
  CU_ASSERT_EQUAL(result->start_us[4], 1);
  hr_result_destroy(result);
}

/* ---- What does not go together ---------------------------------------------------------------------- */

static void refuse(struct within_case it, const char *words) {
  it.n_jobs = 1;
  it.gpus[0] = 4;
  it.work_us[0] = 1;
  it.within[0] = HR_TIER_RACK;
  it.wait_us[0] = HR_UNKNOWN_US;
  CU_ASSERT_PTR_NULL(run_case(&it));
  if (strcmp(it.error.text, words) != 0) printf("\n  got: %s\n", it.error.text);
  CU_ASSERT_STRING_EQUAL(it.error.text, words);
}

static void what_cannot_keep_to_it_is_refused(void) {
  refuse((struct within_case){.params = {{"backfill", "conservative"}}},
         "parameter 'backfill': where jobs are to be 'within' a group it is 'strict', 'skip' or 'easy'");
  refuse((struct within_case){.params = {{"placement", "pool"}}},
         "parameter 'placement': 'pool' counts GPUs, and jobs are to be 'within' a group");
  refuse((struct within_case){.params = {{"preemption", "priority"}}},
         "parameter 'preemption': where jobs are to be 'within' a group it is 'none'");
  refuse((struct within_case){.params = {{"market", "on-demand-only"}}, .market = HR_MARKET_ON_DEMAND},
         "parameter 'market': where jobs are to be 'within' a group it is 'static'");
  refuse((struct within_case){.by_gpu = true, .is_split = true},
         "policy 'queue' does not keep jobs 'within' a group where MIG splits the GPUs of a pool");
  static const char *const others[] = {"rounds", "gang-slice"};
  for (size_t i = 0; i < 2; i++) {
    char words[200];
    snprintf(words, sizeof words,
             "policy '%s' does not support locality requirements ('within', in the trace or of a class); use 'queue'",
             others[i]);
    refuse((struct within_case){.policy = others[i]}, words);
  }
}

/* Orders that stop jobs by themselves do not here. */
static void nobody_is_stopped_for_another(void) {
  struct within_case it = scattered();
  it.within[3] = HR_TIER_RACK;
  it.params[0][0] = "order";
  it.params[0][1] = "srtf";
  struct hr_result *result = run_case(&it);
  CU_ASSERT_PTR_NULL(result->accounting);
  hr_result_destroy(result);
}

TEST_MAIN("within groups", TEST(a_job_waits_for_its_rack), TEST(a_wait_lapses_to_the_microsecond),
          TEST(a_preference_is_kept_where_it_can_be), TEST(who_fits_no_group_is_rejected),
          TEST(a_class_asks_for_its_jobs), TEST(backfilled_jobs_do_not_delay_a_rack),
          TEST(backfilled_jobs_do_not_delay_whose_wait_is_over), TEST(what_cannot_keep_to_it_is_refused),
          TEST(nobody_is_stopped_for_another))
