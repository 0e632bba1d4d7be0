/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redrawn workloads with results that were computed by hand: unchanged fields, positions of blocks, weekdays,
   midnights, the first and the last block, rotation, errors. */
#include "harness.h"

#include "headroom/policies.h"
#include "headroom/sim.h"
#include "recorded.h"
#include "trace_files.h"
#include "traces/core/builder.h"

#include <math.h>
#include <string.h>

static struct recorded recorded;

static struct hr_workload_spec spec_of(enum hr_blocks blocks, double growth) {
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  spec.blocks = blocks;
  spec.growth = growth;
  return spec;
}

/* ---- No blocks and no growth ------------------------------------------------------------------------ */

/* A trace with all columns, all kinds of names, ids, and rows that are not sorted. */
#define ALL_FIELDS                                                                                                     \
  "job_id,submit_s,duration_s,gpus,user,tenant,tasks,limit_s,estimate_s,deadline_s,priority,cpu,mem_gb,gpu_mem_gb,"    \
  "gpu_milli,model,gpu_type,regions,mig_profile,class,status,dedicated,interruptible,fail_at,checkpoint_interval_s,"   \
  "checkpoint_gb,min_gpus,max_gpus,within,within_wait_s,start_s,queue,qos,gpu_power_fraction,data_set\n"               \
  "a,90,5,4,ann,x,2,9,7,200,3,4,16,10,,m,T4,eu,,training,failed,yes,no,0.5,60,2,2,8,rack,30,95,batch,high,0.5,"        \
  "images\n"                                                                                                           \
  "b,10,6,1,bob,y,1,8,,,,,,,500,n,T4|H100,,,inference,completed,no,yes,,,,,,,,,,,,\n"                                  \
  "c,10,7,1,ann,,1,,,11,1,1,1,,,,,us,1g.5gb,,,,,,,,,,,,10,,,,texts\n"

static uint64_t digest_of(const struct hr_trace *trace) {
  char name[] = "main", gpu[] = "T4";
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 4};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", &error), HR_OK);
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  uint64_t digest = result->digest;
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return digest;
}

static bool same_column(const void *a, const void *b, size_t bytes) {
  return !a == !b && (!a || memcmp(a, b, bytes) == 0);
}

static void expect_same(const struct hr_trace *trace, const struct hr_trace *drawn) {
  CU_ASSERT_EQUAL_FATAL(drawn->n_jobs, trace->n_jobs);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    CU_ASSERT(same_column(hr__trace_column(trace, id), hr__trace_column(drawn, id),
                          (size_t)trace->n_jobs * hr__columns[id].width));
  for (enum hr__names_id id = 0; id < HR__N_NAMES; id++) {
    const struct hr_names *names = hr__trace_names(trace, id), *drawn_names = hr__trace_names(drawn, id);
    CU_ASSERT(drawn_names->count == names->count && drawn_names->text == names->text);
  }
  CU_ASSERT_EQUAL(drawn->origin_us, trace->origin_us);
  CU_ASSERT_EQUAL(drawn->dated, trace->dated);
  CU_ASSERT_STRING_EQUAL(drawn->source, trace->source);
  CU_ASSERT_STRING_EQUAL(drawn->format, trace->format);
}

static void without_blocks_and_growth_the_trace_is_unchanged(void) {
  struct hr_trace *trace = trace_of(ALL_FIELDS, NULL);
  if (!trace) fprintf(stderr, "\n    %s\n", trace_error());
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++) CU_ASSERT_PTR_NOT_NULL(hr__trace_column(trace, id));
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  struct hr_trace *drawn = redraw(trace, &spec, 7);
  expect_same(trace, drawn);
  char buffer[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){2}, buffer), "a");
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(drawn, (hr_job){2}, buffer), "3");
  hr_trace_destroy(drawn);
  hr_trace_destroy(trace);
}

static void an_unchanged_trace_has_the_same_digest(void) {
  recorded_add_days(&recorded, 20, 50);
  for (uint32_t i = 0; i < recorded.trace.n_jobs; i++) recorded.work_us[i] = (1 + i * 7919 % 13) * HOUR_US / 2;
  for (uint32_t i = 0; i < recorded.trace.n_jobs; i++) recorded.gpus[i] = 1 + i % 4;
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  struct hr_trace *drawn = redraw(&recorded.trace, &spec, 1);
  uint64_t digest = digest_of(&recorded.trace);
  CU_ASSERT_EQUAL(digest_of(drawn), digest);
  hr_trace_destroy(drawn);
  spec.blocks = HR_BLOCKS_DAYS;
  drawn = redraw(&recorded.trace, &spec, 1);
  CU_ASSERT_NOT_EQUAL(digest_of(drawn), digest);
  hr_trace_destroy(drawn);
}

/* ---- Blocks ----------------------------------------------------------------------------------------- */

/* Jobs 0 to 2 are submitted on day 0, jobs 3 and 4 on day 1, and job 5 in the half day after them. */
static int64_t deadlines_us[6], starts_us[6];

static void record_two_days_and_a_half(void) {
  static const int hours[] = {0, 11, 13, 25, 47, 60};
  recorded_begin(&recorded);
  for (uint32_t i = 0; i < 6; i++) {
    recorded_add(&recorded, hours[i] * HOUR_US);
    deadlines_us[i] = i % 2 ? HR_UNKNOWN_US : recorded.submit_us[i] + 5 * HOUR_US;
    starts_us[i] = i % 2 ? recorded.submit_us[i] + HOUR_US : HR_UNKNOWN_US;
  }
  recorded.trace.deadline_us = deadlines_us;
  recorded.trace.recorded_start_us = starts_us;
}

/* If the drawn jobs from index `at` on are the jobs of the day `block`, moved to the day `position`, returns the index
   after them; else 0. Jobs at or after `end_us` are not drawn. */
static uint32_t is_block(const struct hr_trace *drawn, uint32_t at, uint32_t block, uint32_t position, int64_t end_us) {
  int64_t shift_us = ((int64_t)position - block) * DAY_US;
  for (uint32_t job = 0; job < 6; job++) {
    if (recorded.submit_us[job] / DAY_US != block || recorded.submit_us[job] + shift_us >= end_us) continue;
    if (at >= drawn->n_jobs || recorded_job(drawn, at) != job) return 0;
    int64_t deadline_us = deadlines_us[job] == HR_UNKNOWN_US ? HR_UNKNOWN_US : deadlines_us[job] + shift_us;
    int64_t start_us = starts_us[job] == HR_UNKNOWN_US ? HR_UNKNOWN_US : starts_us[job] + shift_us;
    if (drawn->recorded_start_us[at] != start_us) return 0;
    if (drawn->submit_us[at] != recorded.submit_us[job] + shift_us || drawn->deadline_us[at] != deadline_us) return 0;
    if (drawn->gpus[at++] != recorded.gpus[job]) return 0;
  }
  return at;
}

/* The length is two whole positions and the first half of a third one. Each position is filled with day 0 or day 1.
   With 100 seeds, all eight combinations occur. */
static void positions_are_filled_with_whole_blocks(void) {
  record_two_days_and_a_half();
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 1);
  uint32_t seen = 0;
  for (uint64_t seed = 0; seed < 100; seed++) {
    struct hr_trace *drawn = redraw(&recorded.trace, &spec, seed);
    uint32_t at = 0, choice = 0;
    for (uint32_t position = 0; position < 3; position++) {
      const int64_t end_us = 60 * HOUR_US + 1;
      uint32_t first = is_block(drawn, at, 0, position, end_us), second = is_block(drawn, at, 1, position, end_us);
      CU_ASSERT_FATAL(!first != !second);
      choice |= (uint32_t)(second != 0) << position;
      at = first ? first : second;
    }
    CU_ASSERT_EQUAL(at, drawn->n_jobs);
    seen |= 1u << choice;
    hr_trace_destroy(drawn);
  }
  CU_ASSERT_EQUAL(seen, 0xFF);
}

static void workloads_can_be_longer_or_shorter_than_the_trace(void) {
  recorded_add_days(&recorded, 3, 4);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 1);
  spec.length_us = 10 * DAY_US;
  struct hr_trace *drawn = redraw(&recorded.trace, &spec, 3);
  CU_ASSERT_EQUAL(drawn->n_jobs, 40);
  for (uint32_t i = 0; i < drawn->n_jobs; i++) CU_ASSERT_EQUAL(drawn->submit_us[i], i * (DAY_US / 4));
  hr_trace_destroy(drawn);
  spec = spec_of(HR_BLOCKS_NONE, 1);
  spec.length_us = 30 * HOUR_US;
  drawn = redraw(&recorded.trace, &spec, 3);
  CU_ASSERT_EQUAL(drawn->n_jobs, 5); /* the sixth job is submitted at the end of the workload, so it is not in it */
  hr_trace_destroy(drawn);
}

/* Redraws a trace of `n_days` days and returns the share of drawn days whose recorded day has the same number modulo
   7. */
static double share_on_same_weekday(uint32_t n_days) {
  recorded_add_days(&recorded, n_days, 1);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 1);
  spec.length_us = 700 * DAY_US;
  struct hr_trace *drawn = redraw(&recorded.trace, &spec, 5);
  CU_ASSERT_EQUAL(drawn->n_jobs, 700);
  uint32_t n = 0, max = 0;
  for (uint32_t i = 0; i < drawn->n_jobs; i++) {
    n += recorded_job(drawn, i) % 7 == i % 7;
    if (recorded_job(drawn, i) > max) max = recorded_job(drawn, i);
  }
  CU_ASSERT_EQUAL(max, n_days - 1); /* the job after the last whole day is never drawn */
  hr_trace_destroy(drawn);
  return n / 700.0;
}

static void days_keep_their_weekday_if_each_occurs_twice(void) {
  CU_ASSERT_EQUAL(share_on_same_weekday(14), 1);
  CU_ASSERT_EQUAL(share_on_same_weekday(17), 1);
  CU_ASSERT_DOUBLE_EQUAL(share_on_same_weekday(13), 1 / 7.0, 0.06);
}

static void weeks_are_not_divided(void) {
  recorded_add_days(&recorded, 23, 1);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_WEEKS, 1);
  spec.length_us = 210 * DAY_US;
  struct hr_trace *drawn = redraw(&recorded.trace, &spec, 5);
  uint32_t n_of[3] = {0};
  for (uint32_t i = 0; i < drawn->n_jobs; i++) {
    CU_ASSERT_EQUAL_FATAL(recorded_job(drawn, i), recorded_job(drawn, i - i % 7) + i % 7);
    CU_ASSERT_EQUAL_FATAL(recorded_job(drawn, i - i % 7) % 7, 0);
    n_of[recorded_job(drawn, i) / 7]++;
  }
  CU_ASSERT_EQUAL(n_of[0] + n_of[1] + n_of[2], 210);
  CU_ASSERT(n_of[0] && n_of[1] && n_of[2]);
  hr_trace_destroy(drawn);
}

/* ---- Midnights -------------------------------------------------------------------------------------- */

static struct hr_workload_cut cut_of(enum hr_blocks blocks) {
  struct hr_workload_spec spec = spec_of(blocks, 1);
  struct hr_workload_cut cut = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_trace_cut(&recorded.trace, &spec, &cut, &error), HR_OK);
  return cut;
}

/* One job per hour. The first one is submitted at 10:30 on a day long before 1970. */
static void dated_traces_are_cut_at_midnight(void) {
  recorded_add_days(&recorded, 16, 24);
  recorded.trace.dated = true;
  recorded.trace.origin_us = -2000 * DAY_US + 21 * HOUR_US / 2;
  struct hr_workload_cut cut = cut_of(HR_BLOCKS_DAYS);
  CU_ASSERT_EQUAL(cut.start_us, -21 * HOUR_US / 2);
  CU_ASSERT_EQUAL(cut.first_whole, 1);
  CU_ASSERT_EQUAL(cut.n_whole, 15);
  CU_ASSERT_EQUAL(cut.n_positions, 17);
  CU_ASSERT(cut.keeps_weekdays);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 1);
  uint32_t n_moved = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct hr_trace *drawn = redraw(&recorded.trace, &spec, seed);
    CU_ASSERT_EQUAL(drawn->n_jobs, recorded.trace.n_jobs);
    CU_ASSERT(drawn->dated && drawn->origin_us == recorded.trace.origin_us);
    for (uint32_t i = 0; i < drawn->n_jobs; i++) {
      /* The first 14 jobs belong to day 0. */
      uint32_t block = (recorded_job(drawn, i) + 10) / 24, position = (i + 10) / 24;
      CU_ASSERT_FATAL(drawn->submit_us[i] == recorded.submit_us[i]);
      CU_ASSERT_FATAL(block >= 1 && block <= 15 && block % 7 == position % 7);
      CU_ASSERT_FATAL((recorded_job(drawn, i) + 10) % 24 == (i + 10) % 24);
      n_moved += block != position;
    }
    hr_trace_destroy(drawn);
  }
  CU_ASSERT(n_moved > 100);
}

static void weeks_begin_at_the_first_midnight_of_a_whole_day(void) {
  recorded_add_days(&recorded, 16, 24);
  recorded.trace.dated = true;
  recorded.trace.origin_us = 21 * HOUR_US / 2;
  struct hr_workload_cut cut = cut_of(HR_BLOCKS_WEEKS);
  CU_ASSERT_EQUAL(cut.start_us, 27 * HOUR_US / 2 - 7 * DAY_US);
  CU_ASSERT_EQUAL(cut.first_whole, 1);
  CU_ASSERT_EQUAL(cut.n_whole, 2);
  CU_ASSERT_EQUAL(cut.n_positions, 4);
  recorded.trace.origin_us = HOUR_US / 2; /* within the tolerance: the first day is whole */
  cut = cut_of(HR_BLOCKS_WEEKS);
  CU_ASSERT_EQUAL(cut.start_us, -HOUR_US / 2);
  CU_ASSERT_EQUAL(cut.first_whole, 0);
  CU_ASSERT_EQUAL(cut.n_whole, 2);
  CU_ASSERT_EQUAL(cut.n_positions, 3);
  recorded.trace.dated = false;
  cut = cut_of(HR_BLOCKS_WEEKS);
  CU_ASSERT_EQUAL(cut.start_us, 0);
}

/* ---- Growth above 1 without blocks ------------------------------------------------------------------ */

static void short_traces_are_rotated(void) {
  recorded_begin(&recorded);
  for (uint32_t i = 0; i < 10; i++) recorded_add(&recorded, i * i * HOUR_US / 9);
  const int64_t length_us = 9 * HOUR_US + 1;
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).n_whole, 1);
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).block_us, length_us);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_NONE, 2);
  int64_t rotation_us = -1, previous_us = -1;
  for (uint64_t seed = 0; seed < 5; seed++, previous_us = rotation_us) {
    struct hr_trace *drawn = redraw(&recorded.trace, &spec, seed);
    uint32_t n_as_recorded = 0;
    CU_ASSERT_EQUAL(drawn->n_jobs, 20);
    rotation_us = -1;
    for (uint32_t i = 0; i < drawn->n_jobs; i++) {
      int64_t moved_us = drawn->submit_us[i] - recorded.submit_us[recorded_job(drawn, i)];
      n_as_recorded += moved_us == 0;
      if (moved_us && rotation_us < 0) rotation_us = (moved_us + length_us) % length_us;
      CU_ASSERT(moved_us == 0 || (moved_us + length_us) % length_us == rotation_us);
      CU_ASSERT(drawn->submit_us[i] >= 0 && drawn->submit_us[i] < length_us);
      CU_ASSERT(i == 0 || drawn->submit_us[i] >= drawn->submit_us[i - 1]);
    }
    CU_ASSERT_EQUAL(n_as_recorded, 10);
    CU_ASSERT_NOT_EQUAL(rotation_us, previous_us);
    hr_trace_destroy(drawn);
  }
}

static void growth_adds_the_longest_blocks_that_occur_twice(void) {
  recorded_add_days(&recorded, 14, 1);
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).block_us, 7 * DAY_US);
  recorded_add_days(&recorded, 13, 1);
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).block_us, DAY_US);
  recorded_add_days(&recorded, 2, 1);
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).block_us, DAY_US);
  recorded_add_days(&recorded, 1, 1);
  CU_ASSERT_EQUAL(cut_of(HR_BLOCKS_NONE).block_us, DAY_US + 1);
}

/* ---- Growth by series and position ------------------------------------------------------------------ */

static void growth_factors_by_series_and_position(void) {
  recorded_add_days(&recorded, 3, 20);
  /* By series, then position. The workload has three positions, so the factors of a fourth one are not used. Each day
     has 10 jobs of series 0, 5 of series 1, and 5 without a series, whose factor is 1. */
  static const double factors[] = {2, 1, 0, 9, 0, 3, 1, 9};
  static uint32_t series[MAX_RECORDED];
  for (uint32_t i = 0; i < recorded.trace.n_jobs; i++) series[i] = i % 4 == 3 ? HR_NONE : i % 2;
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 1);
  spec.factors = factors;
  spec.series = series;
  spec.n_series = 2;
  spec.n_positions = 4;
  spec.length_us = 3 * DAY_US;
  struct hr_trace *drawn = redraw(&recorded.trace, &spec, 1);
  uint32_t n[3][3] = {{0}};
  for (uint32_t i = 0; i < drawn->n_jobs; i++) {
    uint32_t of = series[recorded_job(drawn, i)];
    n[drawn->submit_us[i] / DAY_US][of == HR_NONE ? 2 : of]++;
  }
  static const uint32_t wanted[3][3] = {{20, 0, 5}, {10, 15, 5}, {0, 5, 5}};
  CU_ASSERT_EQUAL(memcmp(n, wanted, sizeof n), 0);
  hr_trace_destroy(drawn);
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

static void expect_rejected(const struct hr_workload_spec *spec, const char *text) {
  struct hr_error error = {0};
  struct hr_trace *drawn = &recorded.trace;
  CU_ASSERT_EQUAL(hr_trace_redraw(&recorded.trace, spec, 1, &drawn, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(drawn);
  if (strcmp(error.text, text) != 0) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_STRING_EQUAL(error.text, text);
}

static void too_few_blocks_are_rejected(void) {
  struct hr_workload_spec days = spec_of(HR_BLOCKS_DAYS, 1), weeks = spec_of(HR_BLOCKS_WEEKS, 1);
  recorded_begin(&recorded);
  recorded_add(&recorded, 0);
  recorded_add(&recorded, 14 * DAY_US - HOUR_US - 1);
  hr_trace_destroy(redraw(&recorded.trace, &weeks, 1)); /* up to one hour of the two weeks may be missing */
  recorded.submit_us[1]--;
  expect_rejected(&weeks,
                  "test: its 13.96 days do not contain two whole weeks, as needed to draw weeks: draw days instead");
  recorded.submit_us[1] = 2 * DAY_US - HOUR_US - 2;
  expect_rejected(&weeks,
                  "test: its 1.96 days do not contain two whole weeks, as needed to draw weeks: use it without blocks "
                  "('none')");
  expect_rejected(&days,
                  "test: its 1.96 days do not contain two whole days, as needed to draw days: use it without blocks "
                  "('none')");
  recorded.submit_us[1] += 12 * HOUR_US;
  recorded.trace.dated = true;
  recorded.trace.origin_us = 12 * HOUR_US;
  expect_rejected(&days,
                  "test: its 2.46 days do not contain two whole days from midnight to midnight, as needed to draw "
                  "days: use it without blocks ('none')");
}

static void lengths_and_kinds_are_checked(void) {
  recorded_add_days(&recorded, 2, 1);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_NONE, 1);
  spec.length_us = 3 * DAY_US;
  expect_rejected(
      &spec, "test: without blocks, a drawn workload of 3.00 days cannot be longer than the trace, which has 2.00; "
             "draw 'days' or 'weeks'");
  spec.length_us = -HR_SECOND_US;
  expect_rejected(&spec, "test: invalid length -1 s of a drawn workload; expected 0 to 1e+11 s");
  spec.length_us = HR_MAX_INPUT_US + 1;
  expect_rejected(&spec, "test: invalid length 1e+11 s of a drawn workload; expected 0 to 1e+11 s");
  spec.length_us = 0;
  spec.blocks = HR_N_BLOCKS;
  expect_rejected(&spec, "test: invalid kind of blocks 3");
  spec = spec_of(HR_BLOCKS_DAYS, 1e-9);
  expect_rejected(&spec, "test: no job is left in a drawn workload of 172800 s with growth 1e-09");
  recorded_begin(&recorded);
  expect_rejected(&spec, "test: the trace has no jobs");
}

static void growth_is_checked(void) {
  recorded_add_days(&recorded, 2, 1);
  struct hr_workload_spec spec = spec_of(HR_BLOCKS_DAYS, 0);
  expect_rejected(&spec, "test: growth 0 must be above 0 and at most 1000");
  spec.growth = 1001;
  expect_rejected(&spec, "test: growth 1001 must be above 0 and at most 1000");
  spec.growth = nan("");
  CU_ASSERT_EQUAL(hr_trace_redraw(&recorded.trace, &spec, 1, &(struct hr_trace *){0}, NULL), HR_BAD_INPUT);
  double factors[] = {1, 1, 1, 1, -1, 1};
  static const uint32_t series[] = {0, 1, 2};
  spec = spec_of(HR_BLOCKS_DAYS, 2);
  spec.factors = factors;
  spec.series = series;
  spec.n_series = 2;
  spec.n_positions = 3;
  expect_rejected(&spec,
                  "test: growth of series 1 at block 1: factor -1 must be at least 0 and, times 2, at most 1000");
  factors[4] = 501;
  expect_rejected(&spec,
                  "test: growth of series 1 at block 1: factor 501 must be at least 0 and, times 2, at most 1000");
  factors[4] = 1;
  expect_rejected(&spec, "test: job 3 has series 2; there are 2, counted from 0");
  spec.n_series = 0;
  expect_rejected(&spec, "test: growth is given without series");
  spec.n_positions = 2;
  expect_rejected(&spec, "test: growth is given for 2 blocks, but the workload has 3");
}

static void kinds_of_blocks_have_names(void) {
  CU_ASSERT_STRING_EQUAL(hr_blocks_name(HR_BLOCKS_NONE), "none");
  CU_ASSERT_STRING_EQUAL(hr_blocks_name(HR_BLOCKS_DAYS), "days");
  CU_ASSERT_STRING_EQUAL(hr_blocks_name(HR_BLOCKS_WEEKS), "weeks");
  CU_ASSERT_STRING_EQUAL(hr_blocks_name(HR_N_BLOCKS), "");
}

TEST_MAIN("redraw", TEST(without_blocks_and_growth_the_trace_is_unchanged),
          TEST(an_unchanged_trace_has_the_same_digest), TEST(positions_are_filled_with_whole_blocks),
          TEST(workloads_can_be_longer_or_shorter_than_the_trace), TEST(days_keep_their_weekday_if_each_occurs_twice),
          TEST(weeks_are_not_divided), TEST(dated_traces_are_cut_at_midnight),
          TEST(weeks_begin_at_the_first_midnight_of_a_whole_day), TEST(short_traces_are_rotated),
          TEST(growth_adds_the_longest_blocks_that_occur_twice), TEST(growth_factors_by_series_and_position),
          TEST(too_few_blocks_are_rejected), TEST(lengths_and_kinds_are_checked), TEST(growth_is_checked),
          TEST(kinds_of_blocks_have_names))
