/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small scenarios with waits computed by hand: the reason of each wait, its begin and end, and the job ahead in the
   queue. Times in the comments are in minutes unless stated otherwise. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEGMENTS = 10, NOBODY = -1, MINUTE = 60 };

/* An expected segment of a wait; times are in minutes. Jobs are numbered from 0. */
struct expected {
  uint32_t job;
  double begin, end;
  enum hr_wait_reason_kind reason;
  int64_t behind;
};

struct waits_case {
  const char *scenario;                   /* all keys except the trace */
  const char *trace;                      /* as CSV */
  struct expected expected[MAX_SEGMENTS]; /* sorted by job and time; the last element has duration 0 */
};

/* ---- Running ---------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *begin, const char *text, const char *end) {
  FILE *file = fopen(files_path(name), "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file, "%s%s%s", begin, text, end);
  fclose(file);
}

struct run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
  struct hr_waits *waits;
};

static void run_case(struct run *run, const struct waits_case *waits_case) {
  hr_job all[16];
  struct hr_error error = {0};
  write_file("trace.csv", "", waits_case->trace, "");
  write_file("scenario.json", "{ \"trace\": { \"file\": \"trace.csv\" }, ", waits_case->scenario, " }");
  enum hr_status status = hr_scenario_load(files_path("scenario.json"), NULL, 0, &run->scenario, &error);
  if (status == HR_OK) status = hr_trace_read(run->scenario->trace_file, NULL, &run->trace, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  for (uint32_t i = 0; i < run->trace->n_jobs; i++) all[i] = (hr_job){i};
  struct hr_waits_config config = {.trace = run->trace, .watched = all, .n_watched = run->trace->n_jobs};
  struct hr_replay_config replay = {.scenario = run->scenario, .trace = run->trace, .seed = 1, .check = true};
  run->waits = hr_waits_create(&config);
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&run->replay, &replay, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&run->replay, hr_waits_observer(run->waits), &error), HR_OK);
  status = hr_replay_run(&run->replay, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_waits_close(run->waits, run->replay.result), HR_OK);
}

static void finish_case(struct run *run) {
  hr_waits_destroy(run->waits);
  hr_replay_finish(&run->replay);
  hr_trace_destroy(run->trace);
  hr_scenario_destroy(run->scenario);
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

static int64_t microseconds(double minutes) {
  return (int64_t)(minutes * MINUTE * (double)HR_SECOND_US + 0.5);
}

static bool is_expected(const struct hr_wait_segment *segment, const struct expected *expected) {
  int64_t behind = segment->hold.behind.id == HR_NONE ? NOBODY : (int64_t)segment->hold.behind.id;
  return segment->begin_us == microseconds(expected->begin) && segment->end_us == microseconds(expected->end) &&
         segment->hold.reason == expected->reason && behind == expected->behind;
}

static void print_segment(const struct hr_wait_segment *segment) {
  printf("\n  job %" PRIu32 " from %.3f to %.3f min: %s behind %" PRId64 "\n", segment->job.id,
         (double)segment->begin_us / 6e7, (double)segment->end_us / 6e7, hr_wait_reason_name(segment->hold.reason),
         segment->hold.behind.id == HR_NONE ? -1 : (int64_t)segment->hold.behind.id);
}

static void compare(const struct run *run, const struct expected *expected) {
  for (uint32_t job = 0; job < run->trace->n_jobs; job++) {
    const struct hr_wait_segment *segments;
    size_t count = hr_waits_segments(run->waits, (hr_job){job}, &segments);
    for (size_t i = 0; i < count; i++) {
      bool good = expected->end > 0 && expected->job == job && is_expected(&segments[i], expected);
      if (!good) print_segment(&segments[i]);
      CU_ASSERT_TRUE(good);
      expected += expected->end > 0;
    }
  }
  CU_ASSERT_TRUE(expected->end <= 0);
}

static void check(const struct waits_case *waits_case) {
  struct run run = {0};
  run_case(&run, waits_case);
  compare(&run, waits_case->expected);
  finish_case(&run);
}

#define POOL(nodes, gpus)                                                                                              \
  "\"cluster\": { \"pools\": [{ \"name\": \"p\", \"gpu\": \"A100-80\", \"nodes\": " #nodes                             \
  ", \"gpus_per_node\": " #gpus " }] }, "
#define POLICY(text) "\"policy\": { " text " }"
#define QUEUE(order, backfill)                                                                                         \
  POLICY("\"name\": \"queue\", \"order\": \"" order "\", \"backfill\": \"" backfill "\", \"placement\": \"best-fit\"")

/* ---- By hand ---------------------------------------------------------------------------------------- */

/*
 * The cluster has four GPUs. Job 0 uses three of them from 0 to 60. Job 1 is submitted at 10 and requests four GPUs.
 * Only one is free, so job 1 waits for capacity for 50 min, with a reservation at 60. Job 2 is submitted at 20 and
 * requests one GPU for 50 min. One GPU is free, but job 2 would run until 70, so it waits behind the reservation of job
 * 1 for 40 min, until 60. From 60 to 90 job 1 uses all four GPUs, and job 2 waits for capacity for 30 min. Job 2 waits
 * for 40 + 30 = 70 min in total.
 */
static void reservation(void) {
  static const struct waits_case waits_case = {POOL(1, 4) QUEUE("fifo", "easy"),
                                               "submit_s,duration_s,gpus\n0,3600,3\n600,1800,4\n1200,3000,1\n",
                                               {{1, 10, 60, HR_WAIT_REASON_CAPACITY, NOBODY},
                                                {2, 20, 60, HR_WAIT_REASON_RESERVATION, 1},
                                                {2, 60, 90, HR_WAIT_REASON_CAPACITY, NOBODY}}};
  struct run run = {0};
  run_case(&run, &waits_case);
  compare(&run, waits_case.expected);
  const struct hr_wait_segment *segments;
  CU_ASSERT_EQUAL(hr_waits_segments(run.waits, (hr_job){2}, &segments), 2);
  CU_ASSERT_EQUAL(segments[0].hold.until_us, microseconds(60));
  CU_ASSERT_EQUAL(segments[0].hold.free_milli, 1000);
  CU_ASSERT_EQUAL(segments[1].max_free_milli, 0);
  const struct hr_wait *waits;
  CU_ASSERT_EQUAL_FATAL(hr_waits_of(run.waits, (hr_job){2}, &waits), 1);
  const struct hr_wait_part *parts = hr_waits_parts(run.waits, waits);
  CU_ASSERT_EQUAL(waits[0].end_us - waits[0].begin_us, microseconds(70));
  CU_ASSERT_EQUAL_FATAL(waits[0].n_parts, 2);
  CU_ASSERT(parts[0].reason == HR_WAIT_REASON_RESERVATION && parts[0].us == microseconds(40));
  CU_ASSERT(parts[1].reason == HR_WAIT_REASON_CAPACITY && parts[1].us == microseconds(30));
  finish_case(&run);
}

static void conservative(void) {
  static const struct waits_case waits_case = {POOL(1, 4) QUEUE("fifo", "conservative"),
                                               "submit_s,duration_s,gpus\n0,3600,3\n600,1800,4\n1200,3000,1\n",
                                               {{1, 10, 60, HR_WAIT_REASON_CAPACITY, NOBODY},
                                                {2, 20, 60, HR_WAIT_REASON_RESERVATION, 1},
                                                {2, 60, 90, HR_WAIT_REASON_CAPACITY, NOBODY}}};
  check(&waits_case);
}

/*
 * The cluster has four GPUs, and tenant a has a quota of two. Job 0 of tenant a uses two GPUs from 0 to 60. Job 1 of
 * tenant a is submitted at 10 and waits for the quota for 50 min, until 60. Job 2 of tenant b uses the other two GPUs
 * from 20 to 90. Job 3 of tenant b is submitted at 55 and has a higher priority. At 60, two GPUs are released, and job
 * 3 uses them until 80. Job 1 therefore waits for capacity for 20 min, and for 70 min in total.
 */
static void quota(void) {
  static const struct waits_case waits_case = {
      POOL(1, 4) "\"quotas\": { \"tenants\": [{ \"tenant\": \"b\" }, { \"tenant\": \"a\", \"max_gpus\": 2 }] }, " QUEUE(
          "priority", "skip"),
      "submit_s,duration_s,gpus,tenant,priority\n0,3600,2,a,0\n600,600,2,a,0\n1200,4200,2,b,0\n3300,1200,2,b,1\n",
      {{1, 10, 60, HR_WAIT_REASON_QUOTA, NOBODY},
       {1, 60, 80, HR_WAIT_REASON_CAPACITY, NOBODY},
       {3, 55, 60, HR_WAIT_REASON_CAPACITY, NOBODY}}};
  struct run run = {0};
  run_case(&run, &waits_case);
  compare(&run, waits_case.expected);
  const struct hr_wait_segment *segments;
  CU_ASSERT_EQUAL_FATAL(hr_waits_segments(run.waits, (hr_job){1}, &segments), 2);
  CU_ASSERT_STRING_EQUAL(run.scenario->quotas->nodes[segments[0].hold.quota].name, "a");
  CU_ASSERT_EQUAL(segments[1].hold.quota, HR_NONE);
  finish_case(&run);
}

/*
 * The cluster has two nodes of four GPUs, and jobs start strictly in order. Job 0 uses three GPUs of one node until 60,
 * job 1 three GPUs of the other node until 100. Job 2 is submitted at 10 and requests two GPUs on one node. Two GPUs
 * are free, but one on each node, so job 2 waits for fragments for 50 min, until 60. Job 3 is submitted at 20 and
 * requests one GPU. It would fit, but it may not overtake job 2, so it waits for 40 min.
 */
static void fragments(void) {
  static const struct waits_case waits_case = {
      POOL(2, 4) QUEUE("fifo", "strict"),
      "submit_s,duration_s,gpus\n0,3600,3\n0,6000,3\n600,600,2\n1200,600,1\n",
      {{2, 10, 60, HR_WAIT_REASON_FRAGMENTS, NOBODY}, {3, 20, 60, HR_WAIT_REASON_ORDER, 2}}};
  check(&waits_case);
}

/* ---- Other reasons ---------------------------------------------------------------------------------- */

/* The cluster has two racks with two nodes of two GPUs each. At 20, nodes 1 and 3 are free, one in each rack. A job of
   four GPUs that must run within one rack waits until node 0 is free at 60. */
static void topology(void) {
  static const struct waits_case waits_case = {
      "\"cluster\": { \"pools\": [{ \"name\": \"p\", \"gpu\": \"A100-80\", \"nodes\": 4, \"gpus_per_node\": 2, "
      "\"topology\": { "
      "\"nodes_per_rack\": 2 } }] }, " QUEUE("fifo", "skip"),
      "submit_s,duration_s,gpus,within\n0,3600,2,\n0,600,2,\n0,4200,2,\n1200,600,4,rack\n",
      {{3, 20, 60, HR_WAIT_REASON_TOPOLOGY, NOBODY}}};
  check(&waits_case);
}

/* Job 0 uses six of eight CPUs and one of four GPUs. Job 1 requests four CPUs, so it waits for node resources. Job 2
   requests all four GPUs, so it waits for capacity until both jobs have ended, at 90. */
static void node_resources(void) {
  static const struct waits_case waits_case = {
      "\"cluster\": { \"by_gpu\": true, \"pools\": [{ \"name\": \"p\", \"gpu\": \"A100-80\", \"nodes\": 1, "
      "\"gpus_per_node\": 4, "
      "\"cpu_per_node\": 8 }] }, " QUEUE("fifo", "skip"),
      "submit_s,duration_s,gpus,cpu\n0,3600,1,6\n600,1800,1,4\n660,600,4,4\n",
      {{1, 10, 60, HR_WAIT_REASON_NODE_RESOURCES, NOBODY}, {2, 11, 90, HR_WAIT_REASON_CAPACITY, NOBODY}}};
  check(&waits_case);
}

/* GPUs are shared. Half of each of two GPUs is free, and a job requests more than half of a GPU. */
static void shares(void) {
  static const struct waits_case waits_case = {
      "\"cluster\": { \"pools\": [{ \"name\": \"p\", \"gpu\": \"A100-80\", \"nodes\": 1, \"gpus_per_node\": 2, "
      "\"sharing\": "
      "\"fraction\" }] }, " POLICY("\"name\": \"queue\", \"backfill\": \"easy\", \"placement\": \"spread\""),
      "submit_s,duration_s,gpus,gpu_milli\n0,3600,1,600\n0,3600,1,600\n600,600,1,700\n",
      {{2, 10, 60, HR_WAIT_REASON_FRAGMENTS, NOBODY}}};
  check(&waits_case);
}

/*
 * The cluster has six GPUs. Job 0 uses four of them. Job 1 is submitted at 10, has a higher priority and requests four
 * GPUs, so job 0 is preempted and must vacate its GPUs by 15. Job 2 is submitted at 12. It would fit on the free GPUs,
 * but they are reserved for job 1. At 15, job 1 starts on four GPUs and job 2 on one. Job 0 waits for capacity until
 * job 1 has ended at 25.
 */
static void preemption(void) {
  static const struct waits_case waits_case = {
      POOL(1, 6) POLICY("\"name\": \"queue\", \"order\": \"priority\", \"backfill\": \"skip\", \"preemption\": "
                        "\"priority\", \"grace_s\": 300"),
      "submit_s,duration_s,gpus,priority\n0,6000,4,0\n600,600,4,1\n720,6000,1,0\n",
      {{0, 15, 25, HR_WAIT_REASON_CAPACITY, NOBODY},
       {1, 10, 15, HR_WAIT_REASON_PREEMPTION, NOBODY},
       {2, 12, 15, HR_WAIT_REASON_PREEMPTION, 1}}};
  check(&waits_case);
}

/* A cluster with one on-demand node that boots in 2 min, and a spot pool that is available only in the first second. */
#define ELASTIC                                                                                                        \
  "\"cluster\": { \"pools\": [{ \"name\": \"p\", \"gpu\": \"A100-80\", \"nodes\": 1, \"gpus_per_node\": 4, "           \
  "\"market\": \"spot\", "                                                                                             \
  "\"usd_per_gpu_hour\": 1, \"spot\": { \"model\": \"on-off\", \"up\": { \"distribution\": \"fixed\", \"mean_s\": 1 "  \
  "}, "                                                                                                                \
  "\"down\": { \"distribution\": \"fixed\", \"mean_s\": 1000000 }, \"notice_s\": 0 } }, { \"name\": \"q\", \"gpu\": "  \
  "\"A100-80\", \"nodes\": 1, \"gpus_per_node\": 4, \"market\": \"on-demand\", \"usd_per_gpu_hour\": 2, \"boot_s\": "  \
  "120 }] }, "

/* Job 1 is submitted at 1, and its node boots until 3. Job 2 is submitted at 20 and waits for that node until job 1 has
   ended, at 63. */
static void booting(void) {
  static const struct waits_case waits_case = {
      ELASTIC POLICY("\"name\": \"queue\", \"backfill\": \"skip\", \"market\": \"on-demand-only\""),
      "submit_s,duration_s,gpus\n0,60,0\n60,3600,4\n1200,600,4\n",
      {{1, 1, 3, HR_WAIT_REASON_BOOTING, NOBODY}, {2, 20, 63, HR_WAIT_REASON_CAPACITY, NOBODY}}};
  check(&waits_case);
}

/* Job 1 waits ten minutes for spot capacity before it acquires the available on-demand node. */
static void market(void) {
  static const struct waits_case waits_case = {
      ELASTIC POLICY("\"name\": \"queue\", \"backfill\": \"skip\", \"market\": \"spot-first\", \"spot_wait_s\": 600"),
      "submit_s,duration_s,gpus\n0,60,0\n60,3600,4\n",
      {{1, 1, 11, HR_WAIT_REASON_MARKET, NOBODY}, {1, 11, 13, HR_WAIT_REASON_BOOTING, NOBODY}}};
  struct run run = {0};
  run_case(&run, &waits_case);
  compare(&run, waits_case.expected);
  const struct hr_wait_segment *segments;
  CU_ASSERT_EQUAL_FATAL(hr_waits_segments(run.waits, (hr_job){1}, &segments), 2);
  CU_ASSERT_EQUAL(segments[0].hold.until_us, microseconds(11));
  finish_case(&run);
}

/* The greedy deadline rule waits for spot capacity until the latest possible start, which is the deadline minus the run
   time: 100 - 60 = 40. Then it acquires the on-demand node, which must boot. */
static void deadlines(void) {
  static const struct waits_case waits_case = {
      ELASTIC POLICY("\"name\": \"queue\", \"market\": \"deadline-greedy\", \"changeover_s\": 0"),
      "submit_s,duration_s,gpus,deadline_s\n0,60,0,\n60,3600,4,6000\n",
      {{1, 1, 40, HR_WAIT_REASON_MARKET, NOBODY}, {1, 40, 42, HR_WAIT_REASON_BOOTING, NOBODY}}};
  check(&waits_case);
}

/* One GPU and rounds of six minutes: jobs 0 and 1 run in alternate rounds. */
static void rounds(void) {
  static const struct waits_case waits_case = {
      POOL(1, 1) POLICY("\"name\": \"rounds\", \"round_s\": 360, \"objective\": \"fair\""),
      "submit_s,duration_s,gpus\n0,720,1\n0,360,1\n",
      {{0, 6, 12, HR_WAIT_REASON_TURN, NOBODY}, {1, 0, 6, HR_WAIT_REASON_TURN, NOBODY}}};
  check(&waits_case);
}

/*
 * Gang slicing with two GPUs, two rows and time slices of half a minute. Job 0 is in row 0 and job 1 uses half of row
 * 1; the rows run alternately. Job 2 is submitted at 1 s and fits into neither row. Job 3 is submitted at 2 s and would
 * fit next to job 1, but it is behind job 2. At 1 min job 1 has ended and job 2 is assigned its row. Job 3 is now the
 * first job without a row, until job 0 has ended at 1.5 min. Then jobs 2 and 3 run alternately.
 */
static void slices(void) {
  static const struct waits_case waits_case = {
      POOL(1, 2) POLICY("\"name\": \"gang-slice\", \"slice_s\": 30, \"rows\": 2, \"placement\": \"pool\""),
      "submit_s,duration_s,gpus\n0,60,2\n0,30,1\n1,60,2\n2,60,1\n",
      {{0, 0.5, 1, HR_WAIT_REASON_TURN, NOBODY},
       {1, 0, 0.5, HR_WAIT_REASON_TURN, NOBODY},
       {2, 1.0 / 60, 1, HR_WAIT_REASON_CAPACITY, NOBODY},
       {2, 1, 1.5, HR_WAIT_REASON_TURN, NOBODY},
       {2, 2, 2.5, HR_WAIT_REASON_TURN, NOBODY},
       {3, 2.0 / 60, 1, HR_WAIT_REASON_ORDER, 2},
       {3, 1, 1.5, HR_WAIT_REASON_CAPACITY, NOBODY},
       {3, 1.5, 2, HR_WAIT_REASON_TURN, NOBODY},
       {3, 2.5, 3, HR_WAIT_REASON_TURN, NOBODY}}};
  check(&waits_case);
}

static void names(void) {
  CU_ASSERT_STRING_EQUAL(hr_wait_reason_name(HR_WAIT_REASON_NODE_RESOURCES), "node-resources");
  CU_ASSERT_STRING_EQUAL(hr_wait_reason_words(HR_WAIT_REASON_TURN), "for a turn");
  CU_ASSERT_STRING_EQUAL(hr_wait_reason_name(HR_N_WAIT_REASONS), "");
  CU_ASSERT_STRING_EQUAL(hr_wait_reason_words(HR_N_WAIT_REASONS), "");
}

TEST_MAIN("report: waits", TEST(reservation), TEST(conservative), TEST(quota), TEST(fragments), TEST(topology),
          TEST(node_resources), TEST(shares), TEST(preemption), TEST(booting), TEST(market), TEST(deadlines),
          TEST(rounds), TEST(slices), TEST(names))
