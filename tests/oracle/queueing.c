/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares simulated mean waits with queueing theory: the Erlang C formula (M/M/c), the Pollaczek-Khinchine formula
 * (M/G/1) and Cobham's formula (M/G/1 with priorities; "Priority assignment in waiting line problems", Operations
 * Research 2, 1954). Each case has several replications. The value of the formula must be inside the 99.9 % confidence
 * interval of the mean (Student's t over replications). The value of the same formula for run times that are 5 % longer
 * must be outside the interval; this verifies that the interval is narrow enough to detect errors.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/trace_files.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { REPLICATIONS = 20, JOBS = 40000, WARM_UP = JOBS / 5, CLASSES = 2 };

static const double mean_s = 1000; /* mean run time; rounding to microseconds is negligible */
static const double high_priority_share = 0.3;
static const double log_sigma = 1.0;

enum run_time { EXPONENTIAL, DETERMINISTIC, LOG_NORMAL };

struct queue {
  unsigned servers;
  double load;
  enum run_time run_time;
  const char *order; /* parameter `order` of the queue policy */
};

/* ---- Formulas for the mean wait -------------------------------------------------------------------------- */

/* In all formulas the mean run time is mean_s x `stretch`; the arrival rate does not depend on `stretch`. */

/* Returns the second moment of the run time. */
static double mean_square(const struct queue *queue, double mean) {
  double scv[] = {[EXPONENTIAL] = 1, [DETERMINISTIC] = 0, [LOG_NORMAL] = exp(log_sigma * log_sigma) - 1};
  return mean * mean * (1 + scv[queue->run_time]);
}

/* Returns the probability of waiting (Erlang C), from the recursion for Erlang B. `offered`: load x servers. */
static double erlang_c(unsigned servers, double offered) {
  double blocked = 1;
  for (unsigned c = 1; c <= servers; c++) blocked = offered * blocked / (c + offered * blocked);
  double load = offered / servers;
  return blocked / (1 - load + load * blocked);
}

static double wait_mmc(const struct queue *queue, double stretch) {
  double load = queue->load * stretch;
  return erlang_c(queue->servers, load * queue->servers) * mean_s * stretch / (queue->servers * (1 - load));
}

static double wait_mg1(const struct queue *queue, double stretch) {
  double rate = queue->load / mean_s;
  return rate * mean_square(queue, mean_s * stretch) / (2 * (1 - queue->load * stretch));
}

/* Returns the mean wait of class 0 (high priority) or 1 (low priority). Both have the same distribution of run times.
 */
static double wait_cobham(const struct queue *queue, double stretch, unsigned class_) {
  double load = queue->load * stretch, before = high_priority_share * load;
  double residual = queue->load / mean_s * mean_square(queue, mean_s * stretch) / 2;
  return class_ == 0 ? residual / (1 - before) : residual / ((1 - before) * (1 - load));
}

/* ---- Simulation ------------------------------------------------------------------------------------------ */

static int64_t draw_us(gsl_rng *rng, enum run_time run_time, double mean) {
  double seconds = mean;
  if (run_time == EXPONENTIAL) seconds = gsl_ran_exponential(rng, mean);
  if (run_time == LOG_NORMAL) seconds = gsl_ran_lognormal(rng, log(mean) - log_sigma * log_sigma / 2, log_sigma);
  return (int64_t)llround(seconds * (double)HR_SECOND_US);
}

static struct hr_trace *make_trace(const struct queue *queue, uint32_t replication) {
  struct hr__stream arrival, run_time, class_;
  /* so that each case has different random numbers */
  uint32_t entity = (uint32_t)(1000 * queue->load) + queue->servers;
  hr__stream_init(&arrival, 1, HR__PURPOSE_ARRIVAL, entity, replication);
  hr__stream_init(&run_time, 1, HR__PURPOSE_RUN_TIME, entity, replication);
  hr__stream_init(&class_, 1, HR__PURPOSE_USER, entity, replication);
  gsl_rng arrivals = hr__stream_rng(&arrival), run_times = hr__stream_rng(&run_time);
  struct hr_trace_builder *builder = hr_trace_builder_create("queue", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.gpus = 1;
  enum hr_status status = builder ? HR_OK : HR_NO_MEMORY;
  for (uint32_t i = 0; i < JOBS && status == HR_OK; i++) {
    record.submit_us += draw_us(&arrivals, EXPONENTIAL, mean_s / (queue->load * queue->servers));
    record.work_us = draw_us(&run_times, queue->run_time, mean_s);
    record.priority = hr__stream_uniform(&class_) < high_priority_share;
    status = hr_trace_builder_add(builder, &record, i + 1, &error);
  }
  if (status == HR_OK) status = hr_trace_builder_finish(builder, false, false, &trace, &error);
  hr_trace_builder_destroy(builder);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return trace;
}

/* Computes the mean waits by class, in seconds, without the first WARM_UP jobs. */
static void mean_waits(const struct hr_trace *trace, const struct hr_result *result, double waits[CLASSES]) {
  double sum[CLASSES] = {0}, count[CLASSES] = {0};
  for (uint32_t i = WARM_UP; i < trace->n_jobs; i++) {
    unsigned class_ = trace->priority && trace->priority[i] > 0 ? 0 : 1;
    sum[class_] += (double)(result->start_us[i] - trace->submit_us[i]) / (double)HR_SECOND_US;
    count[class_]++;
  }
  for (unsigned c = 0; c < CLASSES; c++) waits[c] = sum[c] / count[c];
}

static void replicate(const struct queue *queue, uint32_t replication, double waits[CLASSES]) {
  struct hr_trace *trace = make_trace(queue, replication);
  struct hr_pool_spec pool = {.name = (char[]){"gpus"}, .gpu = (char[]){"any"}, .nodes = 1};
  pool.gpus_per_node = queue->servers;
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_policy_choice policy;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&policy, "queue", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&policy, "order", queue->order, &error), HR_OK);
  struct hr_run_config config = {
      .trace = trace, .cluster = &cluster, .policy = policy.ops, .params = policy.params, .horizon_us = HR_NEVER_US};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  mean_waits(trace, result, waits);
  hr_result_destroy(result);
  hr_policy_choice_finish(&policy);
  hr_trace_destroy(trace);
}

/* ---- Comparison ------------------------------------------------------------------------------------------ */

struct interval {
  double mean, half_width;
};

static struct interval confidence(const double *value, unsigned n) {
  double sum = 0, squares = 0;
  for (unsigned i = 0; i < n; i++) sum += value[i];
  double mean = sum / n;
  for (unsigned i = 0; i < n; i++) squares += (value[i] - mean) * (value[i] - mean);
  return (struct interval){mean, gsl_cdf_tdist_Pinv(0.9995, n - 1.0) * sqrt(squares / (n - 1.0) / n)};
}

static void check_mean_wait(const char *what, const double *value, double expected, double wrong) {
  struct interval found = confidence(value, REPLICATIONS);
  printf("\n    %-28s formula %9.2f s  simulated %9.2f +- %.2f s  (5 %% longer: %.2f s)", what, expected, found.mean,
         found.half_width, wrong);
  CU_ASSERT(fabs(found.mean - expected) <= found.half_width);
  CU_ASSERT(fabs(found.mean - wrong) > found.half_width);
}

/* Runs all replications. `waits`: mean waits by class and replication; `all`: mean waits over both classes. */
static void simulate(const struct queue *queue, double waits[CLASSES][REPLICATIONS], double all[REPLICATIONS]) {
  for (uint32_t r = 0; r < REPLICATIONS; r++) {
    double one[CLASSES];
    replicate(queue, r, one);
    for (unsigned c = 0; c < CLASSES; c++) waits[c][r] = one[c];
    all[r] = high_priority_share * one[0] + (1 - high_priority_share) * one[1];
  }
}

static void mmc_waits_agree_with_erlang_c(void) {
  static const struct queue queues[] = {{1, 0.5, EXPONENTIAL, "fifo"},  {1, 0.8, EXPONENTIAL, "fifo"},
                                        {1, 0.9, EXPONENTIAL, "fifo"},  {4, 0.6, EXPONENTIAL, "fifo"},
                                        {4, 0.85, EXPONENTIAL, "fifo"}, {16, 0.8, EXPONENTIAL, "fifo"},
                                        {16, 0.9, EXPONENTIAL, "fifo"}};
  for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
    double waits[CLASSES][REPLICATIONS], all[REPLICATIONS];
    char what[64];
    snprintf(what, sizeof what, "M/M/%u at load %.2f", queues[i].servers, queues[i].load);
    simulate(&queues[i], waits, all);
    check_mean_wait(what, all, wait_mmc(&queues[i], 1), wait_mmc(&queues[i], 1.05));
  }
}

static void mg1_waits_agree_with_pollaczek_khinchine(void) {
  static const char *const names[] = {"M/M/1", "M/D/1", "M/LogNormal/1"};
  static const struct queue queues[] = {{1, 0.6, DETERMINISTIC, "fifo"},
                                        {1, 0.85, DETERMINISTIC, "fifo"},
                                        {1, 0.5, LOG_NORMAL, "fifo"},
                                        {1, 0.8, LOG_NORMAL, "fifo"}};
  for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
    double waits[CLASSES][REPLICATIONS], all[REPLICATIONS];
    char what[64];
    snprintf(what, sizeof what, "%s at load %.2f", names[queues[i].run_time], queues[i].load);
    simulate(&queues[i], waits, all);
    check_mean_wait(what, all, wait_mg1(&queues[i], 1), wait_mg1(&queues[i], 1.05));
  }
}

static void priority_waits_agree_with_cobham(void) {
  static const struct queue queue = {1, 0.8, EXPONENTIAL, "priority"};
  double waits[CLASSES][REPLICATIONS], all[REPLICATIONS];
  simulate(&queue, waits, all);
  check_mean_wait("M/M/1 at 0.80, high priority", waits[0], wait_cobham(&queue, 1, 0), wait_cobham(&queue, 1.05, 0));
  check_mean_wait("M/M/1 at 0.80, low priority", waits[1], wait_cobham(&queue, 1, 1), wait_cobham(&queue, 1.05, 1));
}

/* C(c, a): c servers, offered load a. C(1, rho) = rho and C(2, 1) = 1/3 are exact; C(10, 8) = 0.4092 is from published
   tables. */
static void erlang_c_agrees_with_tables(void) {
  CU_ASSERT_DOUBLE_EQUAL(erlang_c(1, 0.7), 0.7, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(erlang_c(2, 1), 1.0 / 3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(erlang_c(10, 8), 0.4092, 5e-5);
}

TEST_MAIN("oracle queueing", TEST(erlang_c_agrees_with_tables), TEST(mmc_waits_agree_with_erlang_c),
          TEST(mg1_waits_agree_with_pollaczek_khinchine), TEST(priority_waits_agree_with_cobham))
