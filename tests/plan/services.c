/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas of inference services as jobs: training that is preempted, spot capacity, scaling to zero, autoscalers,
   spill-over, costs, parts of the latency, and replicas over time. The results are compared with values computed by
   hand and with a closed form. Most runs are in checked mode. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "same_trace.h"
#include "trace_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4000 };

/* An iteration takes one second; a request with one output token is served in one iteration. */
#define REPLICA                                                                                                        \
  "\"replica\":{\"engine\":{\"name\":\"vllm-v1\",\"max_sequences\":1,\"kv_blocks\":1000},"                             \
  "\"cost\":{\"fixed_us\":1000000,\"integer\":true}}"
#define COLD_START "\"cold_start\":{\"image_s\":10,\"weights_s\":20,\"engine_s\":50}"
#define TO_ZERO "\"slo\":{\"e2e_ms\":1000000000},\"autoscale\":{\"policy\":\"slo\",\"max\":1,\"idle_to_zero_s\":100}"
#define POOL "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1}]}"

struct run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
};

static const struct hr_service_result *result_of(const struct run *run) {
  return run->replay.served[0].result;
}

static void finish(struct run *run) {
  hr_replay_finish(&run->replay);
  hr_trace_destroy(run->trace);
  hr_scenario_destroy(run->scenario);
}

/* Runs a scenario with the file of requests or jobs that it names. `sections`: members of the scenario. `check`:
   checked mode. */
static struct run make_run(const char *sections, bool check) {
  struct run run = {0};
  struct hr_error error = {0};
  char text[TEXT];
  snprintf(text, sizeof text, "{\"name\":\"t\",%s}", sections);
  const enum hr_status loaded =
      hr_scenario_load(file_write_text("services.json", text), NULL, 0, &run.scenario, &error);
  if (loaded != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(loaded, HR_OK);
  if (run.scenario->trace_file)
    CU_ASSERT_EQUAL_FATAL(hr_trace_read(run.scenario->trace_file, &(struct hr_trace_options){0}, &run.trace, &error),
                          HR_OK);
  if (!run.trace) CU_ASSERT_EQUAL_FATAL(hr_trace_empty("t", &run.trace, &error), HR_OK);
  const struct hr_replay_config config = {
      .scenario = run.scenario, .trace = run.trace, .seed = run.scenario->seed, .check = check, .costs_by_job = true};
  enum hr_status status = hr_replay_init(&run.replay, &config, &error);
  if (status == HR_OK) status = hr_replay_run(&run.replay, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n%s\n", error.text, text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return run;
}

static int64_t gpu_s(hr_amount milli_us) {
  return (int64_t)(milli_us / 1000 / HR_SECOND_US);
}

static void check_times(const struct run *run, int64_t held_s, int64_t starting_s, int64_t busy_s, int64_t idle_s) {
  const struct hr_replica_times *times = &result_of(run)->gpu_time;
  CU_ASSERT_EQUAL(gpu_s(times->held), held_s);
  CU_ASSERT_EQUAL(gpu_s(times->starting), starting_s);
  CU_ASSERT_EQUAL(gpu_s(times->busy), busy_s);
  CU_ASSERT_EQUAL(gpu_s(times->idle), idle_s);
}

static void check_decision(const struct run *run, uint32_t at, int64_t at_s, uint32_t to, enum hr_scale_reason reason) {
  CU_ASSERT_TRUE_FATAL(at < result_of(run)->n_decisions);
  const struct hr_scale_decision *decision = &result_of(run)->decisions[at];
  CU_ASSERT_EQUAL(decision->at_us, at_s * HR_SECOND_US);
  CU_ASSERT_EQUAL(decision->to, to);
  CU_ASSERT_EQUAL(decision->reason, reason);
}

/* The first request waits for the whole cold start, 80 s. The replica is idle from 81 to 181 s, and ends. The second
   request, at 500 s, waits only 50 s for the engine, because the image and the weights are on the node. */
static void to_zero_and_back(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n500,1,1\n");
  struct run run = make_run(POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"}," TO_ZERO
                                 "," COLD_START "," REPLICA "}]",
                            true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->scheduled_us[0], 80 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->end_us[0], 81 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->scheduled_us[1], 550 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->end_us[1], 551 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->cold_starts, 2);
  CU_ASSERT_EQUAL(result->met_cold_start, 2);
  CU_ASSERT_EQUAL(result->n_decisions, 3);
  check_decision(&run, 0, 0, 1, HR_SCALE_ACTIVATION);
  check_decision(&run, 1, 181, 0, HR_SCALE_IDLE);
  check_decision(&run, 2, 500, 1, HR_SCALE_ACTIVATION);
  check_times(&run, 181 + 51, 80 + 50, 2, 100);
  CU_ASSERT_EQUAL(run.replay.result->n_jobs, 2);
  CU_ASSERT_EQUAL(run.replay.result->n_completed, 2);
  CU_ASSERT_EQUAL(hr_result_end_us(run.replay.result, (hr_job){0}), 181 * HR_SECOND_US);
  finish(&run);
}

/* Training has the only GPU. For a request at 200 s, a replica of higher priority starts, which is ready at 280 s. The
   service ends with its last request at 301 s; then the training starts again. */
static void training_yields(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n200,1,1\n300,1,1\n");
  file_write_text("jobs.csv", "submit_s,duration_s,gpus,class\n0,1000,1,training\n");
  struct run run =
      make_run(POOL ",\"trace\":{\"file\":\"jobs.csv\"},\"policy\":{\"name\":\"queue\",\"order\":\"priority\","
                    "\"preemption\":\"priority\"},\"services\":[{\"name\":\"s\",\"priority\":10,\"tenant\":\"web\","
                    "\"requests\":{\"trace\":\"requests.csv\"}," TO_ZERO "," COLD_START "," REPLICA "}]",
               true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->end_us[0], 281 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->end_us[1], 301 * HR_SECOND_US);
  const struct hr_result *jobs = run.replay.result;
  CU_ASSERT_EQUAL_FATAL(jobs->n_jobs, 2);
  CU_ASSERT_EQUAL(hr_result_accounting(jobs, (hr_job){0}).attempts, 2);
  CU_ASSERT_EQUAL(hr_result_end_us(jobs, (hr_job){0}), 1301 * HR_SECOND_US);
  CU_ASSERT_EQUAL(jobs->start_us[1], 200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(hr_result_end_us(jobs, (hr_job){1}), 301 * HR_SECOND_US);
  CU_ASSERT_EQUAL(jobs->trace->class_[1], HR_CLASS_INFERENCE);
  CU_ASSERT_STRING_EQUAL(jobs->trace->tenants.text[jobs->trace->tenant[1]], "web");
  check_times(&run, 101, 80, 2, 19);
  finish(&run);
}

/* The spot node is reclaimed at 200 s, when the request has 50 of its 100 tokens. Capacity returns at 300 s, and the
   policy uses it when it has been available for 600 s (`spot_hold_s`), so the next node is up at 900 s. It has no image
   and no weights, so the replica is ready at 980 s. It processes the 1 + 50 tokens again, which produces the next
   token, and then produces 49 more. */
static void spot_interruption(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n150,1,100\n");
  file_write_text("spot.json", "{\"metadata\":{\"gap_seconds\":100},\"data\":[1,1,0,1,1,1,1,1,1,1,1,1,1,1,1]}");
  struct run run = make_run(
      "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"spot\","
      "\"usd_per_gpu_hour\":0.3,\"boot_s\":0,\"spot\":{\"model\":\"trace\",\"notice_s\":0,\"file\":\"spot.json\"}}]},"
      "\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"}," COLD_START "," REPLICA "}]",
      true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->end_us[0], HR_SECOND_US);
  CU_ASSERT_EQUAL(result->first_token_us[1], 151 * HR_SECOND_US);

  CU_ASSERT_EQUAL(result->end_us[1], 1030 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->restarts[1], 1);
  CU_ASSERT_EQUAL(result->interruptions, 1);
  CU_ASSERT_EQUAL(result->lost_tokens, 51);
  CU_ASSERT_EQUAL(result->cold_starts, 1);
  check_times(&run, 200 + 130, 80, 1 + 50 + 50, 149);
  CU_ASSERT_EQUAL(run.replay.result->pools[0].interruptions, 1);
  finish(&run);
}

static const char schedule[] = "\"policy\":\"schedule\",\"max\":4,\"steps\":[{\"at_s\":0,\"replicas\":1},"
                               "{\"at_s\":100,\"replicas\":4},{\"at_s\":400,\"replicas\":2}]";

/* With every autoscaler all requests are served, and the state is consistent at all times. */
static void all_autoscalers(void) {
  static const char *const policies[] = {"\"policy\":\"fixed\",\"replicas\":3",
                                         schedule,
                                         "\"policy\":\"knative\",\"max\":4,\"target\":2",
                                         "\"policy\":\"hpa\",\"max\":4,\"target\":2,\"metric_delay_s\":30",
                                         "\"policy\":\"hpa\",\"max\":4,\"metric\":\"utilization\"",
                                         "\"policy\":\"keda\",\"max\":4,\"target\":2,\"cooldown_s\":60",
                                         "\"policy\":\"ray-serve\",\"max\":4,\"target\":2,\"downscale_delay_s\":60",
                                         "\"policy\":\"nvcf\",\"max\":4,\"idle_to_zero_s\":120",
                                         "\"policy\":\"slo\",\"max\":4,\"idle_to_zero_s\":60"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    char text[TEXT];
    snprintf(text, sizeof text,
             "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":2,\"gpus_per_node\":3}]},"
             "\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":1.2,\"count\":600,"
             "\"prompt_tokens\":{\"mean\":5},\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":2}},"
             "\"router\":\"least-outstanding\",\"slo\":{\"e2e_ms\":8000},\"drain_s\":5,"
             "\"autoscale\":{%s},\"cold_start\":{\"image_s\":5,\"engine_s\":3}," REPLICA "}]",
             policies[i]);
    struct run run = make_run(text, true);
    const struct hr_service_result *result = result_of(&run);
    uint32_t n_completed = 0;
    for (uint32_t k = 0; k < result->count; k++) n_completed += result->state[k] == HR_REQUEST_COMPLETED;
    CU_ASSERT_EQUAL(n_completed, 600);
    if (i > 0) CU_ASSERT_TRUE(result->n_decisions > 1);
    CU_ASSERT_EQUAL(run.replay.result->n_completed, run.replay.result->n_jobs);
    const struct hr_replica_times *times = &result->gpu_time;
    CU_ASSERT_TRUE(times->held == times->starting + times->busy + times->idle);
    const uint64_t digest = run.replay.result->digest;
    finish(&run);
    run = make_run(text, false); /* the result is the same if several iterations are computed together */
    CU_ASSERT_EQUAL(run.replay.result->digest, digest);
    finish(&run);
  }
}

/* One replica with setup time D that is switched off after an idle time T, Poisson arrivals of rate lambda, service
   time S: M/D/1 with delayed off. The mean wait is W = lambda S^2 / (2 (1 - rho)) + p (2 D + lambda D^2) / (2 (1 + p
   lambda D)) with rho = lambda S and p = e^(-lambda T). The cold starts per request are p (1 - rho) / (1 + p lambda D).
   This is also the share of the time without a GPU. */
static void setup_and_delayed_off(void) {
  static const struct {
    double rate, service_s, setup_s, idle_s, wait_s, cold_starts, held;
  } rows[] = {{0.01, 2, 60, 0, 48.77040816326531, 0.6125, 0.3875},
              {0.01, 2, 60, 300, 3.791158726310401, 0.047376096817746065, 0.952623903182254},
              {0.1, 2, 60, 30, 9.450500672334709, 0.03066833557444903, 0.969331664425551},
              {0.002, 5, 180, 600, 57.740810063043654, 0.2690131919134332, 0.7309868080865668}};
  const uint32_t n_requests = test_argument(1, 100000);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TEXT];
    snprintf(text, sizeof text,
             POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":%g,\"count\":%u,"
                  "\"prompt_tokens\":{\"mean\":1},\"output_tokens\":{\"mean\":1}},\"slo\":{\"e2e_ms\":1000000000},"
                  "\"autoscale\":{\"policy\":\"slo\",\"max\":1,\"idle_to_zero_s\":%g,\"interval_s\":86400},"
                  "\"cold_start\":{\"engine_s\":%g},\"replica\":{\"engine\":{\"name\":\"vllm-v1\",\"max_sequences\":1,"
                  "\"kv_blocks\":1000},\"cost\":{\"fixed_us\":%g}}}]",
             rows[i].rate, (unsigned)n_requests, rows[i].idle_s, rows[i].setup_s, 1e6 * rows[i].service_s);
    struct run run = make_run(text, false);
    const struct hr_service_result *result = result_of(&run);
    const struct hr_service_requests *requests = run.replay.served[0].requests;
    double wait_s = 0;
    for (uint32_t k = 0; k < result->count; k++)
      wait_s += (double)(result->scheduled_us[k] - requests->arrival_us[k]) / (double)HR_SECOND_US;
    const double span_s = (double)(run.replay.result->end_us) / (double)HR_SECOND_US;
    wait_s /= result->count;
    CU_ASSERT_DOUBLE_EQUAL(wait_s, rows[i].wait_s, 0.02 * rows[i].wait_s);
    CU_ASSERT_DOUBLE_EQUAL((double)result->cold_starts / result->count, rows[i].cold_starts,
                           0.02 * rows[i].cold_starts);
    CU_ASSERT_DOUBLE_EQUAL((double)gpu_s(result->gpu_time.held) / span_s, rows[i].held, 0.02 * rows[i].held);
    finish(&run);
  }
}

/* Settings of the autoscaler that are missing, unknown or contradict each other are rejected. */
static void bad_settings(void) {
  static const struct {
    const char *autoscale, *message;
  } rows[] = {{"\"policy\":\"knative\",\"min\":3,\"max\":2", "above 'max'"},
              {"\"policy\":\"knative\"", "needs 'max'"},
              {"\"policy\":\"fixed\",\"max\":2", "not a parameter"},
              {"\"policy\":\"hpa\",\"min\":0,\"max\":2", "keda can scale to zero"},
              {"\"policy\":\"slo\",\"max\":2", "slo needs a goal"},
              {"\"policy\":\"knativ\",\"max\":2", "knative"},
              {"\"policy\":\"schedule\",\"max\":2,\"steps\":[{\"at_s\":9,\"replicas\":1},{\"at_s\":3,\"replicas\":1}]",
               "not in order"}};
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TEXT];
    struct hr_scenario *scenario = NULL;
    struct hr_error error = {0};
    snprintf(text, sizeof text,
             "{\"name\":\"t\"," POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},"
             "\"autoscale\":{%s}," REPLICA "}]}",
             rows[i].autoscale);
    CU_ASSERT_EQUAL(hr_scenario_load(file_write_text("services.json", text), NULL, 0, &scenario, &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rows[i].message));
    if (!strstr(error.text, rows[i].message)) fprintf(stderr, "%s\n", error.text);
    hr_scenario_destroy(scenario);
  }
}

/* After requests with uneven times, the averages of the windows of `knative` return to zero, and so does the number of
   replicas. The last request arrives long after the others, when the service has no replica. */
static void knative_returns_to_zero(void) {
  char rows[200 * 30] = "arrival_timestamp,prompt_size,token_size\n";
  size_t used = strlen(rows);
  for (int i = 0; i < 150; i++)
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%.6f,1,%d\n", i * 1.371, 1 + i % 5);
  snprintf(rows + used, sizeof rows - used, "4000,1,1\n");
  file_write_text("requests.csv", rows);
  struct run run = make_run(POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},"
                                 "\"autoscale\":{\"policy\":\"knative\",\"max\":1,\"target\":3},\"cold_start\":"
                                 "{\"engine_s\":7},\"replica\":{\"engine\":{\"max_sequences\":4,\"kv_blocks\":1000},"
                                 "\"cost\":{\"fixed_us\":333333.3}}}]",
                            true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->scheduled_us[150], 4007 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->cold_starts, 2);
  finish(&run);
}

/* Training has the only GPU until 1000 s. A replica waits for it from 100 s. Its only request times out after 50 s.
   After another 100 s the replica is no longer wanted, and its job is withdrawn from the queue. So the training job
   that waits behind it is next.
 */
static void waiting_replica_is_withdrawn(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n100,1,1\n1500,1,1\n");
  file_write_text("jobs.csv", "submit_s,duration_s,gpus,class\n0,1000,1,training\n200,300,1,training\n");
  struct run run =
      make_run(POOL ",\"trace\":{\"file\":\"jobs.csv\"},\"policy\":{\"name\":\"fifo\"},\"services\":"
                    "[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},\"queue\":{\"timeout_s\":50}," TO_ZERO
                    ",\"cold_start\":{\"engine_s\":7}"
                    "," REPLICA "}]",
               true);
  const struct hr_service_result *result = result_of(&run);
  const struct hr_result *jobs = run.replay.result;
  CU_ASSERT_EQUAL(result->state[0], HR_REQUEST_TIMED_OUT);
  CU_ASSERT_EQUAL(result->end_us[0], 150 * HR_SECOND_US);
  check_decision(&run, 1, 250, 0, HR_SCALE_IDLE);
  CU_ASSERT_EQUAL_FATAL(jobs->n_jobs, 4);
  CU_ASSERT_EQUAL(jobs->state[2], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(jobs->reason[2], HR_REASON_WITHDRAWN);
  CU_ASSERT_EQUAL(jobs->start_us[1], 1000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->state[1], HR_REQUEST_COMPLETED);
  CU_ASSERT_EQUAL(result->end_us[1], 1508 * HR_SECOND_US);
  CU_ASSERT_EQUAL(jobs->n_completed, 3);
  finish(&run);
}

/* There are two GPUs and four replicas, so two replicas wait. At 100 s only one replica is wanted. Under every policy,
   the jobs of the waiting replicas are withdrawn, and one running replica ends. So the training job that is submitted
   at 150 s starts within 30 s. */
static void withdrawn_under_every_policy(void) {
  uint32_t n = 0;
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n5000,1,1\n");
  file_write_text("jobs.csv", "submit_s,duration_s,gpus,class\n150,50,1,training\n");
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++, n++) {
    char text[TEXT];
    uint32_t n_withdrawn = 0;
    snprintf(
        text, sizeof text,
        "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":2}]},\"trace\":"
        "{\"file\":\"jobs.csv\"},\"policy\":{\"name\":\"%s\"},\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":"
        "\"requests.csv\"},\"autoscale\":{\"policy\":\"schedule\",\"max\":4,\"interval_s\":10,\"period_s\":100000,"
        "\"steps\":[{\"at_s\":0,\"replicas\":4},{\"at_s\":100,\"replicas\":1}]}," REPLICA "}]",
        (*at)->name);
    struct run run = make_run(text, true);
    const struct hr_result *jobs = run.replay.result;
    for (uint32_t i = 0; i < jobs->n_jobs; i++) n_withdrawn += jobs->reason[i] == HR_REASON_WITHDRAWN;
    CU_ASSERT_EQUAL(n_withdrawn, 2);
    CU_ASSERT_TRUE(jobs->start_us[0] >= 150 * HR_SECOND_US && jobs->start_us[0] <= 180 * HR_SECOND_US);
    if (n_withdrawn != 2 || jobs->start_us[0] > 180 * HR_SECOND_US)
      fprintf(stderr, "%s: %" PRIu32 " withdrawn, training from %" PRId64 "\n", (*at)->name, n_withdrawn,
              jobs->start_us[0]);
    CU_ASSERT_EQUAL(result_of(&run)->state[1], HR_REQUEST_COMPLETED);
    finish(&run);
  }
  CU_ASSERT_TRUE(n >= 9);
}

/* Requests that are not complete at the horizon of 50 s are unfinished, including the one that arrives at 50 s.
   Requests that arrive later are not part of the results. */
static void horizon(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n40,1,20\n50,1,1\n3700,1,1\n");
  struct run run = make_run("\"horizon_s\":50," POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":"
                            "\"requests.csv\"}," TO_ZERO ",\"cold_start\":{\"engine_s\":7}," REPLICA "}]",
                            true);
  const struct hr_service_result *result = result_of(&run);
  const struct hr_service_summary *summary = &run.replay.summary->services[0];
  CU_ASSERT_EQUAL(result->end_us[0], 8 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->first_token_us[1], 41 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->state[1], HR_REQUEST_UNFINISHED);
  CU_ASSERT_EQUAL(result->state[2], HR_REQUEST_UNFINISHED);
  CU_ASSERT_EQUAL(run.replay.served[0].requests->count, 3);
  CU_ASSERT_EQUAL(summary->offered, 3);
  CU_ASSERT_EQUAL(summary->unfinished, 2);
  CU_ASSERT_EQUAL(summary->n_hours, 1);
  CU_ASSERT_DOUBLE_EQUAL(summary->e2e_ms.mean, 8000, 1e-9);
  finish(&run);
}

/* A horizon for a service that gets requests from another service. At 0 s, service a accepts one of three requests
   (`limit`), and the other two go to service b. Both services have requests of their own before and after the horizon.
   */
static void horizon_of_received_requests(void) {
  file_write_text("from.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n0,1,1\n0,1,1\n60,1,1\n60,1,1\n");
  file_write_text("to.csv", "arrival_timestamp,prompt_size,token_size\n20,1,1\n70,1,1\n80,1,1\n");
  struct run run = make_run(
      "\"horizon_s\":50,\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":2,\"gpus_per_node\":1}]},"
      "\"services\":[{\"name\":\"a\",\"requests\":{\"trace\":\"from.csv\"},\"queue\":{\"limit\":1,\"when_full\":"
      "\"spill\"},\"router\":{\"spill\":{\"to\":\"b\",\"predicted_wait_s\":1000}}," REPLICA "},"
      "{\"name\":\"b\",\"requests\":{\"trace\":\"to.csv\"}," REPLICA "}]",
      true);
  const struct hr_service_summary *from = &run.replay.summary->services[0], *to = &run.replay.summary->services[1];
  CU_ASSERT_EQUAL(from->offered, 3);
  CU_ASSERT_EQUAL(from->spilled, 2);
  CU_ASSERT_EQUAL(from->completed, 1);
  CU_ASSERT_EQUAL(to->offered, 3);
  CU_ASSERT_EQUAL(to->completed, 3);
  CU_ASSERT_EQUAL(run.replay.summary->all_services->offered, 4);
  CU_ASSERT_EQUAL(run.replay.summary->all_services->unfinished, 0);
  finish(&run);
}

/* Poisson arrivals (cv 1) and bursts (cv 4): `slo` meets its goal. On average it uses at most a third more replicas
   than the smallest fixed number that meets the goal; one replica fewer misses it. */
static void slo_meets_its_goal(void) {
  static const struct {
    const char *cv;
    uint32_t fixed;
  } rows[] = {{"\"poisson\"", 5}, {"\"gamma\",\"cv\":4", 5}};
  for (size_t row = 0; row < 2; row++) {
    double gpu_hours[3];
    for (uint32_t kind = 0; kind < 3; kind++) {
      char scale[100], text[TEXT];
      snprintf(scale, sizeof scale, "\"policy\":\"fixed\",\"replicas\":%" PRIu32, rows[row].fixed - (kind == 2));
      if (kind == 0)
        snprintf(scale, sizeof scale, "\"policy\":\"slo\",\"max\":40,\"min\":1,\"initial\":%" PRIu32, rows[row].fixed);
      snprintf(text, sizeof text,
               "\"seed\":3,\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A\",\"nodes\":40,\"gpus_per_node\":1}]},"
               "\"services\":[{\"name\":\"s\",\"requests\":{\"arrivals\":%s,\"rate_per_s\":40,\"duration_s\":1800,"
               "\"prompt_tokens\":{\"mean\":1000},\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":200}},"
               "\"router\":\"least-outstanding\",\"slo\":{\"ttft_ms\":2000,\"tpot_ms\":100,\"attainment\":0.95},"
               "\"cold_start\":{\"engine_s\":60},\"autoscale\":{%s},\"replica\":{\"engine\":{\"name\":\"vllm-v1\","
               "\"max_sequences\":256,\"kv_tokens\":400000},\"cost\":{\"fixed_us\":5000,\"per_prompt_token_us\":60,"
               "\"per_sequence_us\":20,\"per_context_ktoken_us\":150}}}]",
               rows[row].cv, scale);
      struct run run = make_run(text, false);
      const struct hr_service_summary *summary = &run.replay.summary->services[0];
      const double attained = (double)summary->attained / (double)summary->offered;
      gpu_hours[kind] = summary->gpu_hours;
      CU_ASSERT_EQUAL(attained >= 0.95, kind < 2);
      finish(&run);
    }
    CU_ASSERT_TRUE(gpu_hours[0] < rows[row].fixed * 0.5 * 4 / 3);
  }
}

/* A service with two replicas of each engine. `%s`: prices, engine and its memory. */
static const char each_engine[] =
    "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":2%s}]},\"services\":[{"
    "\"name\":\"s\","
    "\"requests\":{\"rate_per_s\":1.5,\"count\":400,\"prompt_tokens\":{\"distribution\":\"exponential\",\"mean\":20},"
    "\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":6}},\"autoscale\":{\"policy\":\"fixed\",\"replicas\":"
    "2},"
    "\"replica\":{\"engine\":{\"name\":\"%s\",\"max_sequences\":4%s},\"cost\":{\"fixed_us\":100000.3,"
    "\"per_prompt_token_us\":5000.7,\"per_sequence_us\":10000,\"per_context_ktoken_us\":30000}}}]";

/* Without prices, fixed replicas are not jobs of the run. The requests have the same results as with jobs, for every
   engine. */
static void same_without_jobs(void) {
  for (enum hr_service_engine engine = 0; engine < HR_N_SERVICE_ENGINES; engine++) {
    const bool phases = engine == HR_SERVICE_DISAGGREGATED || engine == HR_SERVICE_COLOCATED;
    const char *memory = phases ? "" : ",\"kv_tokens\":2000,\"max_batch_tokens\":500";
    char alone_text[TEXT], jobs_text[TEXT];
    snprintf(alone_text, sizeof alone_text, each_engine, "", hr_service_engine_name(engine), memory);
    snprintf(jobs_text, sizeof jobs_text, each_engine, ",\"market\":\"owned\",\"usd_per_gpu_hour\":1",
             hr_service_engine_name(engine), memory);
    struct run alone = make_run(alone_text, false), jobs = make_run(jobs_text, true);
    const struct hr_service_result *a = result_of(&alone), *b = result_of(&jobs);
    CU_ASSERT_PTR_NULL(alone.replay.fleet);
    CU_ASSERT_PTR_NOT_NULL(jobs.replay.fleet);
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
      CU_ASSERT_EQUAL(a->state[i], HR_REQUEST_COMPLETED);
      CU_ASSERT_EQUAL(a->replica[i], b->replica[i]);
      CU_ASSERT_EQUAL(a->scheduled_us[i], b->scheduled_us[i]);
      CU_ASSERT_EQUAL(a->first_token_us[i], b->first_token_us[i]);
      CU_ASSERT_EQUAL(a->end_us[i], b->end_us[i]);
    }
    CU_ASSERT_EQUAL(a->iterations == b->iterations, true);
    finish(&alone);
    finish(&jobs);
  }
}

/* A prompt takes 1 s, a decode 1 s per output token, and the transfer of the memory takes no time. One replica of each
 * kind is wanted. Of four GPUs, training has three until 10 s, so only the replica for prompts starts at once. The
 * prompt is complete at 1 s and waits for the replica that decodes, which starts at 10 s and is ready at 15 s. From 20
 * s on, two more of each kind are wanted, and there are GPUs for one of each kind.
 */
static void phases_are_jobs(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,2\n30,1,1\n30,1,1\n");
  file_write_text("jobs.csv", "submit_s,duration_s,gpus,class\n0,10,3,training\n");
  struct run run = make_run(
      "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":4}]},\"trace\":{\"file\":"
      "\"jobs.csv\"},\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},\"cold_start\":{\"engine_"
      "s\":5},"
      "\"autoscale\":{\"policy\":\"schedule\",\"max\":6,\"interval_s\":10,\"period_s\":1000,\"steps\":[{\"at_s\":0,"
      "\"replicas\":2},{\"at_s\":20,\"replicas\":6}]},\"replica\":{\"engine\":{\"name\":\"disaggregated\"},\"cost\":"
      "{\"fixed_us\":1000000,\"integer\":true}}}]",
      true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->first_token_us[0], HR_SECOND_US);
  CU_ASSERT_EQUAL(result->transfer_us[0], 14 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->end_us[0], 17 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->replica[0], 0);
  CU_ASSERT_EQUAL(result->decode_replica[0], 6);
  CU_ASSERT_EQUAL(result->replica[1], 0);
  CU_ASSERT_EQUAL(result->replica[2], 1);
  CU_ASSERT_EQUAL(result->decode_replica[2], 7);
  CU_ASSERT_EQUAL(result->end_us[2], 32 * HR_SECOND_US);
  finish(&run);
}

/* ---- Queues and spill-over ---- */

/* Two services. The first one has two owned GPUs. Requests that would wait too long there go to the second one, which
   scales to zero. `%s`: arrivals per second of the first service. */
static const char two_services[] =
    "\"cluster\":{\"pools\":[{\"name\":\"home\",\"gpu\":\"A\",\"nodes\":1,\"gpus_per_node\":2,\"market\":\"owned\","
    "\"usd_per_gpu_hour\":1},{\"name\":\"cloud\",\"gpu\":\"B\",\"nodes\":3,\"gpus_per_node\":1,\"market\":\"on-"
    "demand\","
    "\"boot_s\":20,\"usd_per_gpu_hour\":2}]},\"services\":[{\"name\":\"home\",\"requests\":{\"rate_per_s\":%s,"
    "\"duration_s\":3000,\"prompt_tokens\":{\"mean\":5},\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":2}"
    "},"
    "\"router\":{\"name\":\"least-outstanding\",\"spill\":{\"to\":\"cloud\",\"predicted_wait_s\":6}},\"queue\":{"
    "\"limit\":9,"
    "\"timeout_s\":5,\"when_full\":\"spill\"},\"autoscale\":{\"replicas\":2},\"replica\":{\"gpu_type\":\"A\","
    "\"engine\":"
    "{\"max_sequences\":2,\"kv_blocks\":1000},\"cost\":{\"fixed_us\":1000000,\"integer\":true}}},{\"name\":\"cloud\","
    "\"requests\":{\"rate_per_s\":0.005,\"duration_s\":3000,\"prompt_tokens\":{\"mean\":5},\"output_tokens\":{\"mean\":"
    "2}},"
    "\"slo\":{\"e2e_ms\":60000},\"autoscale\":{\"policy\":\"slo\",\"max\":3,\"idle_to_zero_s\":60},\"cold_start\":"
    "{\"weights_s\":5},\"queue\":{\"limit\":30},\"replica\":{\"gpu_type\":\"B\",\"engine\":{\"max_sequences\":2,"
    "\"kv_blocks\":1000},\"cost\":{\"fixed_us\":1000000,\"integer\":true}}}]";

/* Every request has exactly one end. The other service receives the requests that a service spills, at the same times
   and with the same tokens. The result is the same in checked mode. */
static void spills_over(void) {
  char text[TEXT];
  snprintf(text, sizeof text, two_services, "1.7");
  struct run run = make_run(text, true);
  const struct hr_served *home = &run.replay.served[0], *cloud = &run.replay.served[1];
  const struct hr_service_summary *of_home = &run.replay.summary->services[0],
                                  *of_cloud = &run.replay.summary->services[1], *all = run.replay.summary->all_services;
  CU_ASSERT_TRUE(of_home->spilled > 50 && of_home->timed_out > 10 && of_home->refused == 0);
  CU_ASSERT_EQUAL(of_home->offered, of_home->completed + of_home->timed_out + of_home->spilled);
  CU_ASSERT_EQUAL(cloud->result->received, of_home->spilled);
  CU_ASSERT_EQUAL(of_cloud->offered, of_cloud->completed + of_cloud->refused);
  CU_ASSERT_EQUAL(all->offered, of_home->offered + of_cloud->offered - of_home->spilled);
  CU_ASSERT_EQUAL(all->offered, all->completed + all->refused + all->timed_out);
  uint32_t at = 0;
  for (uint32_t i = 0; i < home->requests->count; i++) {
    if (home->result->state[i] != HR_REQUEST_SPILLED) continue;
    while (at < cloud->requests->count && (cloud->requests->arrival_us[at] != home->requests->arrival_us[i] ||
                                           cloud->requests->output_tokens[at] != home->requests->output_tokens[i]))
      at++;
    CU_ASSERT_TRUE_FATAL(at < cloud->requests->count);
    at++;
  }
  CU_ASSERT_TRUE(cloud->result->n_decisions > 10);
  CU_ASSERT_TRUE(of_cloud->cost_uusd > 0);
  const uint64_t digest = run.replay.result->digest;
  finish(&run);
  run = make_run(text, false);
  CU_ASSERT_EQUAL(run.replay.result->digest, digest);
  finish(&run);
  /* with little load, nothing is spilled */
  snprintf(text, sizeof text, two_services, "0.05");
  run = make_run(text, true);
  CU_ASSERT_EQUAL(run.replay.summary->services[0].spilled, 0);
  CU_ASSERT_EQUAL(run.replay.served[1].result->received, 0);
  finish(&run);
}

/* Three services that spill over in a circle. Each has one replica that takes 1 s for a request, and accepts one
   request at a time (`limit`). Of four requests for the first service at 0 s, one remains, one goes to the second
   service and one to the third service. All services are full for the last request. It does not return to the first
   service, so the third service refuses it. The second request for the third service at 10 s goes to the first
   service. */
static void spills_in_a_circle(void) {
  static const char each[] =
      "%s{\"name\":\"%s\",\"requests\":{\"trace\":\"%s.csv\"},\"router\":{\"spill\":{\"to\":\"%s\"}},"
      "\"queue\":{\"limit\":1,\"when_full\":\"spill\"}," REPLICA "}";
  file_write_text("a.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n0,1,1\n0,1,1\n0,1,1\n");
  file_write_text("b.csv", "arrival_timestamp,prompt_size,token_size\n20,1,1\n");
  file_write_text("c.csv", "arrival_timestamp,prompt_size,token_size\n10,1,1\n10,1,1\n");
  char text[TEXT];
  size_t used = (size_t)snprintf(text, sizeof text,
                                 "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,"
                                 "\"gpus_per_node\":3}]},\"services\":[");
  for (int i = 0; i < 3; i++) {
    static const char *const names[] = {"a", "b", "c"};
    used +=
        (size_t)snprintf(text + used, sizeof text - used, each, i ? "," : "", names[i], names[i], names[(i + 1) % 3]);
  }
  snprintf(text + used, sizeof text - used, "]");
  struct run run = make_run(text, true);
  const struct hr_service_result *a = run.replay.served[0].result, *b = run.replay.served[1].result,
                                 *c = run.replay.served[2].result;
  CU_ASSERT_EQUAL_FATAL(a->count, 5);
  CU_ASSERT_EQUAL_FATAL(b->count, 4);
  CU_ASSERT_EQUAL_FATAL(c->count, 4);
  static const enum hr_request_state of_a[] = {HR_REQUEST_COMPLETED, HR_REQUEST_SPILLED, HR_REQUEST_SPILLED,
                                               HR_REQUEST_SPILLED, HR_REQUEST_COMPLETED},
                                     of_b[] = {HR_REQUEST_COMPLETED, HR_REQUEST_SPILLED, HR_REQUEST_SPILLED,
                                               HR_REQUEST_COMPLETED},
                                     of_c[] = {HR_REQUEST_COMPLETED, HR_REQUEST_REFUSED, HR_REQUEST_COMPLETED,
                                               HR_REQUEST_SPILLED};
  for (uint32_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(a->state[i], of_a[i]);
  for (uint32_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(b->state[i], of_b[i]);
  for (uint32_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(c->state[i], of_c[i]);
  CU_ASSERT_EQUAL(c->end_us[0], HR_SECOND_US);
  CU_ASSERT_EQUAL(a->end_us[4], 11 * HR_SECOND_US);
  CU_ASSERT_EQUAL(run.replay.summary->all_services->offered, 7);
  CU_ASSERT_EQUAL(run.replay.summary->all_services->completed, 6);
  CU_ASSERT_EQUAL(run.replay.summary->all_services->refused, 1);
  finish(&run);
}

/* While a replica starts, requests go to the other service. These requests also count as demand for the replica. The
   replica is therefore kept for the idle time after the last of these requests, and serves the next request. */
static void spilled_requests_keep_replica(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n30,1,1\n65,1,1\n");
  file_write_text("none.csv", "arrival_timestamp,prompt_size,token_size\n500,1,1\n");
  struct run run =
      make_run("\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":2}]},\"services\":"
               "[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},\"router\":{\"spill\":{\"to\":\"other\","
               "\"predicted_wait_s\":2}},\"slo\":{\"e2e_ms\":100000},\"autoscale\":{\"policy\":\"slo\",\"max\":1,"
               "\"idle_to_zero_s\":50},\"cold_start\":{\"engine_s\":60}," REPLICA "},{\"name\":\"other\",\"requests\":"
               "{\"trace\":\"none.csv\"}," REPLICA "}]",
               true);
  const struct hr_service_result *result = result_of(&run);
  CU_ASSERT_EQUAL(result->state[0], HR_REQUEST_SPILLED);
  CU_ASSERT_EQUAL(result->state[1], HR_REQUEST_SPILLED);
  CU_ASSERT_EQUAL(result->state[2], HR_REQUEST_COMPLETED);
  CU_ASSERT_EQUAL(result->end_us[2], 66 * HR_SECOND_US);
  check_decision(&run, 0, 0, 1, HR_SCALE_ACTIVATION);
  CU_ASSERT_EQUAL(result->n_decisions, 1);
  finish(&run);
}

/* ---- Random runs ---- */

static uint32_t below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

static const char *one_of(uint64_t *state, const char *const *words, uint32_t count) {
  return words[below(state, count)];
}

/* Writes a service whose requests may spill over to another service or to spot capacity. */
static size_t put_service(uint64_t *state, char *text, size_t size, uint32_t at, uint32_t count) {
  static const char *const routers[] = {"round-robin", "least-outstanding", "token-jsq", "power-of-two",
                                        "first-available"};
  static const char *const engines[] = {"vllm-v1", "vllm-v0",       "sarathi",  "static",
                                        "single",  "disaggregated", "colocated"};
  static const char *const scalers[] = {
      "\"policy\":\"fixed\",\"replicas\":2",
      "\"policy\":\"knative\",\"max\":3,\"target\":2,\"stable_window_s\":20,\"scale_to_zero_grace_s\":5",
      "\"policy\":\"slo\",\"max\":3,\"idle_to_zero_s\":20",
      "\"policy\":\"keda\",\"max\":3,\"target\":2,\"cooldown_s\":20,\"interval_s\":5",
      ("\"policy\":\"schedule\",\"max\":3,\"period_s\":200,\"steps\":[{\"at_s\":0,\"replicas\":2},{\"at_s\":90,"
       "\"replicas\":0},{\"at_s\":140,\"replicas\":3}]")};
  static const char *const queues[] = {"", "\"queue\":{\"limit\":3},", "\"queue\":{\"timeout_s\":4.5},",
                                       "\"queue\":{\"limit\":6,\"timeout_s\":9},"};
  static const char *const spills[] = {"", "", "\"spill\":{\"to\":\"spot\",\"predicted_wait_s\":1}"};
  char spill[100] = "";
  const uint32_t kind = below(state, 3);
  if (kind != 1) snprintf(spill, sizeof spill, "%s", spills[kind]);
  if (kind == 1 && count > 1) /* chains, trees and circles */
    snprintf(spill, sizeof spill, "\"spill\":{\"to\":\"s%u\",\"predicted_wait_s\":2}",
             (at + 1 + below(state, count - 1)) % count);
  const char *engine = one_of(state, engines, 7), *scaler = one_of(state, scalers, 5),
             *queue = one_of(state, queues, 4);
  const char *prefix_hit = below(state, 2) ? "0.4" : "0", *router = one_of(state, routers, 5);
  const bool phases = strcmp(engine, "disaggregated") == 0 || strcmp(engine, "colocated") == 0;
  const char *memory = phases ? "" : ",\"kv_blocks\":40";
  char named[100] = "";
  if (!phases) snprintf(named, sizeof named, "\"name\":\"%s\"%s", router, spill[0] ? "," : "");
  if (phases && kind != 1) spill[0] = 0;
  const uint32_t priority = below(state, 3), rate = below(state, 2), requests = 40 + below(state, 120);
  const uint32_t drain_s = 1 + below(state, 10), image_s = below(state, 20), context_us = below(state, 2) * 30000;
  return (size_t)snprintf(
      text, size,
      "%s{\"name\":\"s%u\",\"priority\":%u,\"prefix_hit\":%s,\"requests\":{\"rate_per_s\":%u.5,\"count\":%u,"
      "\"prompt_tokens\":{\"distribution\":\"exponential\",\"mean\":20},\"output_tokens\":{\"distribution\":"
      "\"exponential\",\"mean\":6}},\"router\":{%s%s},%s\"slo\":{\"e2e_ms\":4000},\"drain_s\":%u,"
      "\"autoscale\":{%s},\"cold_start\":{\"image_s\":%u,\"engine_s\":3},\"replica\":{\"engine\":{\"name\":\"%s\","
      "\"max_sequences\":3%s},\"cost\":{\"fixed_us\":200000,\"per_prompt_token_us\":5000.7,"
      "\"per_sequence_us\":10000,\"per_context_ktoken_us\":%u}}}",
      at ? "," : "", at, priority, prefix_hit, rate, requests, named, spill, queue, drain_s, scaler, image_s, engine,
      memory, context_us);
}

/* Half of the worlds have the policy `queue` with priorities. The others have each policy in rotation. */
static void put_policy(uint64_t *state, uint32_t world, char *text, size_t size) {
  const struct hr_policy_ops *const *all = hr_policies();
  uint32_t n = 0;
  while (all[n]) n++;
  if (world % 2)
    snprintf(text, size, "{\"name\":\"%s\"}", all[world / 2 % n]->name);
  else
    snprintf(text, size, "{\"name\":\"queue\",\"order\":\"priority\",\"preemption\":\"%s\"}",
             below(state, 2) ? "priority" : "none");
}

/* Services with any routers, queues, autoscalers and spill-over on owned and spot GPUs, next to training. In checked
   mode the run is the same, and every request has exactly one end. */
static void random_runs(void) {
  uint64_t state = 5;
  uint32_t n_of[HR_REQUEST_SPILLED + 1] = {0}, n_interruptions = 0, n_withdrawn = 0;
  file_write_text("jobs.csv", "submit_s,duration_s,gpus,class\n0,30,2,training\n20,50,1,training\n60,40,3,training\n"
                              "61,20,1,training\n120,100,2,training\n");
  for (uint32_t w = 0; w < test_argument(2, 200); w++) {
    char text[TEXT * 2];
    const uint32_t count = 1 + below(&state, 3), horizon_s = below(&state, 3) ? 900 : 100;
    const uint32_t notice_s = below(&state, 2) * 3;
    const char *trace = below(&state, 2) ? "\"trace\":{\"file\":\"jobs.csv\"}," : "";
    char policy[100];
    put_policy(&state, w, policy, sizeof policy);
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "\"seed\":%u,\"horizon_s\":%u,\"cluster\":{\"pools\":[{\"name\":\"own\",\"gpu\":\"L4\",\"nodes\":2,"
        "\"gpus_per_node\":2,\"market\":\"owned\",\"usd_per_gpu_hour\":0.2},{\"name\":\"spot\",\"gpu\":\"L4\","
        "\"nodes\":3,"
        "\"gpus_per_node\":1,\"market\":\"spot\",\"boot_s\":5,\"usd_per_gpu_hour\":0.1,\"spot\":{\"model\":"
        "\"exponential\",\"rate_per_h\":60,\"notice_s\":%u}}]},%s\"policy\":%s,\"services\":[",
        w, horizon_s, notice_s, trace, policy);
    for (uint32_t i = 0; i < count; i++) used += put_service(&state, text + used, sizeof text - used, i, count);
    snprintf(text + used, sizeof text - used, "]");
    struct run run = make_run(text, true);
    uint64_t ends = 0;
    for (uint32_t i = 0; i < count; i++) {
      const struct hr_served *served = &run.replay.served[i];
      for (uint32_t k = 0; k < served->result->count; k++) n_of[served->result->state[k]]++;
      n_interruptions += (uint32_t)served->result->interruptions;
      ends += run.replay.summary->services[i].offered - served->result->received;
    }
    const struct hr_service_summary *all = run.replay.summary->all_services;
    CU_ASSERT_EQUAL(all->offered, ends);
    CU_ASSERT_EQUAL(all->offered, all->completed + all->refused + all->timed_out + all->unfinished);
    for (uint32_t i = 0; i < run.replay.result->n_jobs; i++)
      n_withdrawn += run.replay.result->reason[i] == HR_REASON_WITHDRAWN;
    const uint64_t digest = run.replay.result->digest;
    finish(&run);
    run = make_run(text, false);
    CU_ASSERT_EQUAL(run.replay.result->digest, digest);
    finish(&run);
  }
  for (size_t i = 0; i <= HR_REQUEST_SPILLED; i++) CU_ASSERT_TRUE(n_of[i] > 100);
  CU_ASSERT_TRUE(n_interruptions > 20 && n_withdrawn > 50);
}

static void bad_queues(void) {
  static const struct {
    const char *first, *second, *message;
  } rows[] = {
      {"\"queue\":{\"limit\":-1}", "", ":1:"},
      {"\"queue\":{\"limit\":-1}", "", "'services.0.queue.limit' is the number -1; a whole number from 1"},
      {"\"queue\":{\"limit\":0}", "", "a whole number from 1"},
      {"\"queue\":{\"timeout_s\":-5}", "", "'services.0.queue.timeout_s' is the number -5"},
      {"\"queue\":{\"timeout_s\":0}", "", "'services.0.queue.timeout_s' is the number 0"},
      {"\"queue\":{\"limt\":3}", "", "did you mean 'services.0.queue.limit'?"},
      {"\"queue\":{\"limit\":3,\"when_full\":\"drop\"}", "", "one of refuse, spill"},
      {"\"queue\":{\"when_full\":\"refuse\"}", "", "'when_full' needs 'limit'"},
      {"\"queue\":{\"limit\":3,\"when_full\":\"spill\"}", "", "'spill' needs 'router.spill.to'"},
      {"\"router\":\"least-outstandin\"", "", "did you mean 'least-outstanding'?"},
      {"\"router\":{\"name\":\"randm\"}", "", "did you mean 'random'?"},
      {"\"router\":{\"spill\":{\"to\":\"c\",\"predicted_wait_s\":1}}", "", "'c' is not a service, a pool or a market"},
      {"\"router\":{\"spill\":{\"to\":\"spot\",\"predicted_wait_s\":1}}", "", "'spot' is not a service"},
      {"\"router\":{\"spill\":{\"to\":\"a\",\"predicted_wait_s\":1}}", "", "'a' cannot spill over to itself"},
      {"\"router\":{\"spill\":{\"to\":\"b\",\"predicted_wait_s\":-1}}", "", "is the number -1; a number from 0"},
      {"\"router\":{\"spill\":{\"to\":\"b\"}}", "", "'spill' needs 'predicted_wait_s'"},
      {"\"router\":{\"spill\":{\"to\":\"p\"}},\"queue\":{\"limit\":3}", "", "'spill' needs 'predicted_wait_s'"},
      {"\"router\":\"weighted\"", "", "the router 'weighted' needs 'weights'"},
      {"\"router\":{\"name\":\"random\",\"room\":3}", "", "'room' is not a parameter of the router 'random'"},
      {"\"router\":{\"name\":\"weighted\",\"weights\":[{\"pool\":\"p\",\"weight\":0}]}", "", "all weights are 0"},
      {"\"router\":{\"name\":\"weighted\",\"weights\":[{\"pool\":\"p\",\"weight\":-1}]}", "", "is the number -1"},
      {"\"router\":{\"name\":\"weighted\",\"weights\":[{\"pool\":\"q\",\"weight\":1}]}", "", "has no pool 'q'"},
      {"\"router\":{\"name\":\"weighted\",\"weights\":[{\"weight\":1}]}", "", "either 'pool' or 'gpu_type'"},
      {"\"router\":{\"name\":\"first-available\",\"order\":[\"q\"]}", "", "no pool and no GPU type 'q'"}};
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TEXT];
    struct hr_scenario *scenario = NULL;
    struct hr_error error = {0};
    snprintf(
        text, sizeof text,
        "{\"name\":\"t\"," POOL ",\"services\":[{\"name\":\"a\",\"requests\":{\"trace\":\"requests.csv\"},%s," REPLICA
        "},{\"name\":\"b\",\"requests\":{\"trace\":\"requests.csv\"},\"autoscale\":{\"policy\":\"knative\",\"max\":1},"
        "%s" REPLICA "}]}",
        rows[i].first, rows[i].second);
    CU_ASSERT_EQUAL(hr_scenario_load(file_write_text("services.json", text), NULL, 0, &scenario, &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rows[i].message));
    if (!strstr(error.text, rows[i].message)) fprintf(stderr, "%s\n", error.text);
    hr_scenario_destroy(scenario);
  }
}

/* ---- Money ------------------------------------------------------------------------------------------ */

static const char *const random_autoscalers[] = {"\"policy\":\"fixed\",\"replicas\":2",
                                                 "\"policy\":\"knative\",\"max\":4,\"target\":2",
                                                 "\"policy\":\"keda\",\"max\":3,\"target\":2,\"cooldown_s\":60",
                                                 "\"policy\":\"slo\",\"max\":3,\"idle_to_zero_s\":60"};

/* A world with pools of all markets, training jobs, and two services with random settings. */
static struct run random_world(uint32_t number) {
  char text[TEXT], jobs[600] = "submit_s,duration_s,gpus,class\n";
  random_start(number);
  /* Each draw is a statement: the order in which arguments are computed depends on the compiler. */
  for (uint32_t i = 0, at = 0; i < 12; i++) {
    at += (uint32_t)random_below(60);
    const unsigned work_s = 1 + (unsigned)random_below(900), gpus = 1 + (unsigned)random_below(3);
    snprintf(jobs + strlen(jobs), sizeof jobs - strlen(jobs), "%u,%u,%u,training\n", (unsigned)at, work_s, gpus);
  }
  const unsigned owned = 1 + (unsigned)random_below(99), spot = (unsigned)random_below(99);
  file_write_text("jobs.csv", jobs);
  file_write_text("spot.json", "{\"metadata\":{\"gap_seconds\":100},\"data\":[2,1,0,1,2,1,0,2,2,1,0,1,2,1,1,2,2]}");
  int length = snprintf(
      text, sizeof text,
      "\"seed\":%u,\"cluster\":{\"pools\":["
      "{\"name\":\"o\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":2,\"market\":\"owned\",\"usd_per_gpu_hour\":0.%u},"
      "{\"name\":\"r\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\",\"usd_per_gpu_hour\":0."
      "33},"
      "{\"name\":\"s\",\"gpu\":\"L4\",\"nodes\":2,\"gpus_per_node\":2,\"market\":\"spot\",\"usd_per_gpu_hour\":0.2%u,"
      "\"boot_s\":7,\"spot\":{\"model\":\"trace\",\"notice_s\":0,\"file\":\"spot.json\"}},"
      "{\"name\":\"d\",\"gpu\":\"L4\",\"nodes\":2,\"gpus_per_node\":2,\"market\":\"on-demand\",\"usd_per_gpu_hour\":0."
      "8,"
      "\"boot_s\":30}]},\"trace\":{\"file\":\"jobs.csv\"},\"policy\":{\"name\":\"queue\",\"order\":\"priority\","
      "\"preemption\":\"priority\"},\"services\":[",
      (unsigned)number, owned, spot);
  for (unsigned i = 0; i < 2; i++) {
    const unsigned priority = (unsigned)random_below(3), rate = 1 + (unsigned)random_below(9);
    const unsigned count = 1 + (unsigned)random_below(150);
    const char *scaler = random_autoscalers[random_below(4)];
    length +=
        snprintf(text + length, sizeof text - (size_t)length,
                 "%s{\"name\":\"s%u\",\"priority\":%u,\"requests\":{\"rate_per_s\":0.%u,\"count\":%u,"
                 "\"prompt_tokens\":{\"mean\":5},\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":2}},"
                 "\"slo\":{\"e2e_ms\":8000},\"drain_s\":5,\"autoscale\":{%s}," COLD_START "," REPLICA "}",
                 i ? "," : "", i, priority, rate, count, scaler);
  }
  snprintf(text + length, sizeof text - (size_t)length, "]");
  return make_run(text, number % 4 == 0);
}

/* In units of the ledger: the costs of services, training jobs and idle capacity add up to the cost of the pools. */
static void check_units(const struct run *run, uint32_t n_services) {
  const struct hr_charge *charges;
  const struct hr_ledger *ledger = run->replay.ledger;
  const size_t n_charges = hr_ledger_charges(ledger, &charges);
  hr_amount cost = 0, idle = 0, used = 0;
  for (uint32_t p = 0; p < run->scenario->cluster.n_pools; p++) {
    const struct hr_pool_account *account = hr_ledger_pool(ledger, (hr_pool){p});
    cost += account->cost;
    idle += account->cost - account->used;
  }
  for (uint32_t k = 0; k <= n_services; k++) {
    const uint32_t service = k < n_services ? k : HR_NONE;
    hr_amount charged = 0, by_job = 0;
    for (size_t i = 0; i < n_charges; i++)
      if (charges[i].account.service == service) charged += charges[i].amount;
    for (uint32_t job = 0; job < run->replay.result->n_jobs; job++)
      if (hr_fleet_service_of(run->replay.fleet, (hr_job){job}) == service)
        by_job += hr_ledger_job(ledger, (hr_job){job});
    CU_ASSERT_TRUE(charged == by_job);
    used += by_job;
  }
  CU_ASSERT_TRUE(cost == idle + used);
}

static int64_t line_named(const struct hr_cost_lines *lines, const char *name) {
  for (size_t i = 0; i < lines->count; i++)
    if (strcmp(lines->line[i].name, name) == 0) return lines->line[i].uusd;
  return 0;
}

/* The sums are exact, in units of the ledger and in micro-dollars of the metrics. */
static void dollars_are_conserved(void) {
  const uint32_t n_worlds = test_argument(1, 120);
  uint32_t n_of_market[HR_N_MARKETS] = {0};
  for (uint32_t world = 0; world < n_worlds; world++) {
    struct run run = random_world(world);
    const struct hr_summary *summary = run.replay.summary;
    const struct hr_cost_summary *costs = summary->costs;
    int64_t served = 0;
    check_units(&run, 2);
    for (size_t i = 0; i < summary->n_services; i++) {
      const struct hr_service_summary *service = &summary->services[i];
      int64_t by_market = 0;
      for (unsigned m = 0; m < HR_N_MARKETS; m++) {
        by_market += service->market_uusd[m];
        n_of_market[m] += service->market_uusd[m] > 0;
      }
      CU_ASSERT_EQUAL(service->cost_uusd, by_market);
      served += service->cost_uusd;
    }
    CU_ASSERT_EQUAL(served, line_named(&costs->by_class, "inference"));
    CU_ASSERT_EQUAL(served, summary->all_services->cost_uusd);
    CU_ASSERT_EQUAL(costs->total_uusd, costs->idle_uusd + served + line_named(&costs->by_class, "training"));
    finish(&run);
  }
  for (unsigned m = HR_MARKET_OWNED; m < HR_N_MARKETS && n_worlds >= 120; m++) CU_ASSERT_TRUE(n_of_market[m] > 10);
}

/* ---- Parts of the latency --------------------------------------------------------------------------- */

/* The first request waits 80 s for the cold start. The second one arrives after 30 s, and waits for the other 50 s. */
static void cold_start_is_a_part(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n30,1,1\n");
  struct run run = make_run(POOL ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"}," TO_ZERO
                                 "," COLD_START "," REPLICA "}]",
                            true);
  const struct hr_request_parts first = hr_request_parts_of(&run.replay.served[0], 0);
  const struct hr_request_parts second = hr_request_parts_of(&run.replay.served[0], 1);
  CU_ASSERT_EQUAL(first.cold_start_us, 80 * HR_SECOND_US);
  CU_ASSERT_EQUAL(first.queue_us, 0);
  CU_ASSERT_EQUAL(first.prompt_us, HR_SECOND_US);
  /* it also waits for the iteration of the first request */
  CU_ASSERT_EQUAL(second.cold_start_us, 50 * HR_SECOND_US);
  CU_ASSERT_EQUAL(second.queue_us, HR_SECOND_US);
  finish(&run);
}

/* Decodes begin 3 ms after the prompt: 1 ms, and 100 x 20,000 bytes at 1 GB/s. */
static void transfer_is_a_part(void) {
  file_write_text("requests.csv", "arrival_timestamp,prompt_size,token_size\n0,100,4\n");
  struct run run = make_run(
      "\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":2}]},\"services\":["
      "{\"name\":\"s\",\"requests\":{\"trace\":\"requests.csv\"},\"replica\":{\"engine\":{\"name\":"
      "\"disaggregated\",\"prefill_replicas\":1,\"decode_replicas\":1,\"transfer\":{\"gb_per_s\":1,\"setup_ms\":1,"
      "\"kv_bytes_per_token\":20000}},\"cost\":{\"fixed_us\":10000,\"integer\":true}}}]",
      true);
  const struct hr_request_parts parts = hr_request_parts_of(&run.replay.served[0], 0);
  CU_ASSERT_EQUAL(parts.prompt_us, 10000);
  CU_ASSERT_EQUAL(parts.transfer_us, 3000);
  CU_ASSERT_EQUAL(parts.batch_us, 40000);
  finish(&run);
}

/* In random worlds, no part is negative, and the parts add up. While some replica is ready, no time counts as cold
   start. */
static void parts_add_up(void) {
  uint64_t n_cold = 0;
  for (uint32_t world = 0; world < 12; world++) {
    struct run run = random_world(world);
    for (uint32_t i = 0; i < run.scenario->services->count; i++) {
      const struct hr_served *served = &run.replay.served[i];
      for (uint32_t id = 0; id < served->requests->count; id++) {
        if (served->result->state[id] != HR_REQUEST_COMPLETED) continue;
        const struct hr_request_parts parts = hr_request_parts_of(served, id);
        const int64_t us[] = {parts.queue_us,    parts.cold_start_us, parts.prompt_us,
                              parts.transfer_us, parts.batch_us,      parts.preemption_us};
        int64_t sum_us = 0;
        for (size_t k = 0; k < sizeof us / sizeof *us; k++) {
          CU_ASSERT_TRUE(us[k] >= 0);
          sum_us += us[k];
        }
        CU_ASSERT_EQUAL(sum_us, served->result->end_us[id] - served->requests->arrival_us[id]);
        n_cold += parts.cold_start_us > 0;
      }
    }
    finish(&run);
  }
  CU_ASSERT_TRUE(n_cold > 50);
}

/* ---- Replicas over time ----------------------------------------------------------------------------- */

/* The GPU time of starting replicas is computed from the number of starting replicas over time, and equals that of the
   accounts. The wanted number changes at most once per decision, and once at the end. */
static void levels_are_the_accounts(void) {
  for (uint32_t world = 0; world < 24; world++) {
    struct run run = random_world(world);
    for (uint32_t i = 0; i < run.scenario->services->count; i++) {
      const struct hr_service_result *result = run.replay.served[i].result;
      if (run.scenario->services->at[i].drain_us == 0 || !result->n_levels) continue;
      hr_amount starting = 0;
      uint32_t n_changes = 0;
      for (uint32_t k = 1; k < result->n_levels; k++) {
        const struct hr_replica_level *level = &result->levels[k - 1];
        CU_ASSERT_TRUE(level->at_us < result->levels[k].at_us);
        starting += (hr_amount)level->starting * 1000 * (result->levels[k].at_us - level->at_us);
        n_changes += level->wanted != result->levels[k].wanted;
      }
      CU_ASSERT_TRUE(starting == result->gpu_time.starting);
      CU_ASSERT_EQUAL(result->levels[result->n_levels - 1].ready, 0);
      CU_ASSERT_TRUE(n_changes <= result->n_decisions + 1);
    }
    finish(&run);
  }
}

/* If there are more changes than a summary lists, the changes are combined into HR_MAX_LISTED intervals, each with the
   maxima of its changes. All decisions are counted, and at most HR_MAX_LISTED are listed. */
static void many_changes_are_thinned(void) {
  struct run run = make_run(
      POOL
      ",\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":0.004,\"count\":900,\"prompt_tokens\":{\"mean\":1},"
      "\"output_tokens\":{\"mean\":1}}," TO_ZERO "," COLD_START "," REPLICA "}]",
      false);
  const struct hr_service_result *result = result_of(&run);
  const struct hr_service_summary *summary = &run.replay.summary->services[0];
  CU_ASSERT_TRUE_FATAL(result->n_levels > HR_MAX_LISTED);
  CU_ASSERT_EQUAL(summary->n_levels, HR_MAX_LISTED);
  CU_ASSERT_EQUAL(summary->n_decisions, result->n_decisions);
  CU_ASSERT_EQUAL(summary->n_listed, result->n_decisions < HR_MAX_LISTED ? result->n_decisions : HR_MAX_LISTED);
  for (uint32_t k = 0; k < HR_MAX_LISTED; k++) {
    const struct hr_replica_level *slot = &summary->levels[k];
    const int64_t end_us = k + 1 < HR_MAX_LISTED ? slot[1].at_us : INT64_MAX;
    uint32_t ready = 0;
    for (uint32_t i = 0; i < result->n_levels; i++) {
      const int64_t until_us = i + 1 < result->n_levels ? result->levels[i + 1].at_us : INT64_MAX;
      const bool overlaps = result->levels[i].at_us < end_us && until_us > slot->at_us;
      if (overlaps && result->levels[i].ready > ready) ready = result->levels[i].ready;
    }
    CU_ASSERT_EQUAL(slot->ready, ready);
  }
  finish(&run);
}

/* A service without requests has no metrics, and there is no division by zero. */
static void no_requests(void) {
  struct run run = make_run("\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1,"
                            "\"market\":\"owned\",\"usd_per_gpu_hour\":1}]},\"services\":[{\"name\":\"s\",\"requests\":"
                            "{\"rate_per_s\":0.000001,\"duration_s\":10,\"prompt_tokens\":{\"mean\":1},\"output_"
                            "tokens\":{\"mean\":1}},\"slo\":{\"ttft_ms\":1}," REPLICA "}]",
                            true);
  const struct hr_service_summary *summary = &run.replay.summary->services[0];
  CU_ASSERT_EQUAL(summary->offered, 0);
  CU_ASSERT_EQUAL(summary->n_hours, 0);
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  hr_service_print(out, &run.replay.served[0], summary);
  CU_ASSERT_EQUAL(hr_service_why(out, NULL, &run.replay.served[0], HR_NONE, NULL), HR_OK);
  fclose(out);
  CU_ASSERT_PTR_NULL(strstr(text, "nan"));
  CU_ASSERT_PTR_NULL(strstr(text, "inf"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "no request was completed"));
  free(text);
  finish(&run);
}

TEST_MAIN("services on a cluster", TEST(to_zero_and_back), TEST(training_yields), TEST(spot_interruption),
          TEST(all_autoscalers), TEST(setup_and_delayed_off), TEST(bad_settings), TEST(knative_returns_to_zero),
          TEST(horizon), TEST(horizon_of_received_requests), TEST(waiting_replica_is_withdrawn),
          TEST(withdrawn_under_every_policy), TEST(slo_meets_its_goal), TEST(same_without_jobs), TEST(phases_are_jobs),
          TEST(spills_over), TEST(spills_in_a_circle), TEST(spilled_requests_keep_replica), TEST(random_runs),
          TEST(bad_queues), TEST(dollars_are_conserved), TEST(cold_start_is_a_part), TEST(transfer_is_a_part),
          TEST(parts_add_up), TEST(levels_are_the_accounts), TEST(many_changes_are_thinned), TEST(no_requests))
