/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summary table: its content, and its width, which is at most 80 columns for any input. */

#include "harness.h"
#include "output_files.h"
#include "priced.h"
#include "replayed.h"

#include <math.h>
#include <string.h>

static const struct replayed_job jobs[] = {
    {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
    {.submit_s = 5, .work_s = 90, .start_s = 10, .gpus = 4},
    {.submit_s = 7, .work_s = 1, .start_s = NEVER, .gpus = 99, .rejected = true},
};

static struct replayed run;
static struct replayed_policy policy;
static struct hr_run_label label;
static struct hr_perf perf;

static void prepare(void) {
  replayed_make(&run, jobs, 3, NEVER);
  replayed_policy_init(&policy);
  perf = (struct hr_perf){.load_s = 0.05, .sim_s = 0.25, .peak_rss_mib = 40};
  label = (struct hr_run_label){.scenario = "demo",
                                .trace = "traces/made.csv",
                                .format = "csv",
                                .cluster = &run.cluster,
                                .policy = &policy.choice,
                                .seed = 7};
}

static char *printed(const struct hr_summary *summary, bool colour) {
  FILE *out = fopen(files_path("table.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_summary_print(out, summary, &label, &perf, colour), HR_OK);
  fclose(out);
  return files_read(files_path("table.txt"));
}

static char *printed_run(bool colour) {
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  char *text = printed(summary, colour);
  hr_summary_destroy(summary);
  return text;
}

static void expect_within(const char *text, const char *part) {
  if (!strstr(text, part)) printf("\n%s\n  not there: %s\n", text, part);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

static size_t widest(const char *text) {
  size_t widest_line = 0, width = 0;
  for (; *text; text++) {
    if (*text == '\n')
      width = 0;
    else
      width += ((unsigned char)*text & 0xc0) != 0x80;
    if (widest_line < width) widest_line = width;
  }
  return widest_line;
}

static void content_of_the_table(void) {
  prepare();
  char *text = printed_run(false);
  expect_within(text, ": demo\n\n  trace      traces/made.csv (csv)\n  cluster    8 GPUs on 2 nodes: 2 x 4 A100-80\n"
                      "  policy     made: order sjf, depth -3, share 0.5, eager true\n  seed       7\n");
  expect_within(text, "\n  jobs       3 submitted, 2 completed, 1 rejected, 0 unfinished\n");
  expect_within(text, "\n  GPUs       50.0 % allocated over the submit window, 7.00 s\n"
                      "             55.0 % allocated over the makespan, 1 min 40 s\n  GPU hours  0.1\n"
                      "  queue      0.1 jobs on average, maximum 1; 1 job backfilled\n");
  expect_within(text, "\n                mean         p50         p90         p95         p99         max\n"
                      "wait          2.50 s      2.50 s      4.50 s      4.75 s      4.95 s      5.00 s\n"
                      "jct           57.5 s      57.5 s  1 min 28 s  1 min 31 s  1 min 34 s  1 min 35 s\n"
                      "slowdown        1.03        1.03        1.05        1.05        1.06        1.06\n");
  expect_within(text, "\nGPUs requested        jobs   GPU hours   share   mean wait    p95 wait  slowdown\n"
                      "2-4                      2         0.1 100.0 %      2.50 s      4.75 s      1.03\n"
                      "65-128                   1         0.0   0.0 %           -           -         -\n");
  expect_within(text, "\n  digest     0123456789abcdef\n"
                      "  speed      3 jobs in 0.25 s: 12 jobs/s; trace read in 0.05 s\n  memory     40 MiB peak\n");
  CU_ASSERT_PTR_NULL(strchr(text, '\033'));
  CU_ASSERT_PTR_NULL(strstr(text, "tenant"));
  free(text);
}

static void colour_adds_only_escapes(void) {
  prepare();
  char *plain = printed_run(false), *coloured = printed_run(true), *kept = coloured;
  CU_ASSERT_PTR_NOT_NULL(strchr(coloured, '\033'));
  for (const char *at = coloured; *at;) {
    if (*at == '\033')
      at += strcspn(at, "m") + 1;
    else
      *kept++ = *at++;
  }
  *kept = '\0';
  CU_ASSERT_STRING_EQUAL(plain, coloured);
  free(plain);
  free(coloured);
}

/* Names are as long as an input allows and contain unusual characters. */
static void lines_have_at_most_80_columns(void) {
  enum { LONG = 300 };
  char name[LONG + 1];
  memset(name, 'w', LONG);
  name[LONG] = '\0';
  const char *const tenants[] = {name,
                                 "\033[2J\nM\xc3\xbcller & S\xc3\xb6hne GmbH, Stra\xc3\x9f"
                                 "e",
                                 "\xc2\x9b"
                                 "31m"};
  static const uint32_t tenant[] = {0, 1, 2};
  struct hr_pool_spec pools[6];
  prepare();
  for (int i = 0; i < 6; i++) {
    pools[i] = run.pool[0];
    pools[i].gpu = i == 1 ? name : pools[i].gpu;
    pools[i].nodes = 1000000;
  }
  run.cluster = (struct hr_cluster_spec){pools, 6};
  run.trace.tenant = tenant;
  run.trace.tenants = (struct hr_names){3, tenants};
  label.trace = label.scenario = name;
  label.format = "philly";
  label.seed = UINT64_MAX;
  perf = (struct hr_perf){.load_s = 12345.6, .sim_s = 0.0001, .peak_rss_mib = 1e6};
  char *text = printed_run(false);
  CU_ASSERT_EQUAL(widest(text), 80);
  CU_ASSERT_PTR_NULL(strchr(text, '\033'));
  CU_ASSERT_PTR_NULL(strstr(text, "\xc2\x9b"));
  expect_within(text, " and 2 more pools\n");
  expect_within(text, "\nwwwwwwwwwwww...          1");
  expect_within(text, "\n?[2J?M\xc3\xbcller ...          1");
  free(text);
}

static struct hr_summary large_summary(void) {
  const struct hr_distribution years = {1, 4e8, 4e8, 4e8, 4e8, 4e8, 4e8}, factors = {1, 9e5, 9e5, 9e5, 9e5, 9e5, 9e5};
  return (struct hr_summary){.jobs_submitted = 10000000,
                             .jobs_completed = 10000000,
                             .jobs_rejected = 10000000,
                             .jobs_unfinished = 10000000,
                             .jobs_backfilled = 10000000,
                             .outcome_failed = 10000000,
                             .outcome_cancelled = 10000000,
                             .wait_s = years,
                             .jct_s = years,
                             .slowdown = factors,
                             .makespan_s = 4e8,
                             .submit_window_s = 4e8,
                             .utilization_submit_window = 1,
                             .utilization_makespan = 1,
                             .queue_mean = 9999999,
                             .queue_max = 10000000,
                             .gpu_hours = 123456789,
                             .gpus = 4000000,
                             .nodes = 4000000};
}

static void fragmentation_with_per_gpu_allocation(void) {
  struct hr_summary summary = {.makespan_s = 60,
                               .submit_window_s = 30,
                               .fragmentation = {.known = true,
                                                 .submit_window = 0.123,
                                                 .makespan = 0.1,
                                                 .max = 0.5,
                                                 .stranded = 0.0312,
                                                 .largest_gang_mean = 412.25,
                                                 .largest_gang_min = 3}};
  prepare();
  char *text = printed(&summary, false);
  CU_ASSERT(widest(text) <= 80);
  expect_within(text,
                "\n  fragments  12.3 % of GPUs over the submit window\n             10.0 % of GPUs over the makespan\n"
                "             maximum 50.0 %; 3.1 % stranded; largest gang 412.3 GPUs, minimum 3\n  GPU hours ");
  free(text);
  summary.submit_window_s = 0;
  text = printed(&summary, false);
  expect_within(text, "\n  fragments  10.0 % of GPUs over the makespan\n             maximum 50.0 %;");
  free(text);
  summary.fragmentation.known = false;
  text = printed(&summary, false);
  CU_ASSERT_PTR_NULL(strstr(text, "fragments"));
  free(text);
}

static void pools_with_per_gpu_allocation(void) {
  struct hr_pool_metrics pools[18] = {{.name = (char *)"small",
                                       .completed = 1200,
                                       .utilization = 0.6617,
                                       .latency_factor = {1, 1, 1, 1, 1, 1, 1},
                                       .cost_uusd = 84538136,
                                       .per_completed_job_uusd = 70448},
                                      {.name = (char *)"a name that is too long for its column",
                                       .completed = 10000000,
                                       .utilization = 1,
                                       .latency_factor = {1, 1.4716, 1, 1, 123456.7, 1, 1},
                                       .cost_uusd = INT64_C(123456789012345),
                                       .per_completed_job_uusd = 12345600000},
                                      {.name = (char *)"none",
                                       .utilization = (double)NAN,
                                       .cost_uusd = HR_UNKNOWN_UUSD,
                                       .per_completed_job_uusd = HR_UNKNOWN_UUSD}};
  for (size_t i = 3; i < 18; i++) pools[i] = pools[0];
  struct hr_summary summary = {.by_pool = pools, .n_pools = 3, .fragmentation = {.known = true}};
  prepare();
  char *text = printed(&summary, false);
  CU_ASSERT(widest(text) <= 80);
  expect_within(text, "\npool                  jobs  allocated  latency      p95         cost     per job\n"
                      "small                1,200     66.2 %     1.00     1.00       $84.54     $0.0704\n"
                      "a name that ... 10,000,000    100.0 %     1.47  123,457 $123,456,789     $12,346\n");
  expect_within(text, "\nnone                     0          -        -        -            -           -\n"
                      "latency: time with GPUs allocated / recorded run time of a job, mean and p95.\n");
  free(text);
  summary.n_pools = 18;
  text = printed(&summary, false);
  expect_within(text, "\nand 2 more\nlatency:");
  free(text);
  summary.fragmentation.known = false;
  text = printed(&summary, false);
  CU_ASSERT_PTR_NULL(strstr(text, "\npool "));
  free(text);
  summary = (struct hr_summary){.fragmentation = {.known = true}};
  text = printed(&summary, false);
  CU_ASSERT_PTR_NULL(strstr(text, "\npool "));
  free(text);
}

static void large_numbers_fit_their_columns(void) {
  enum { TENANTS = 1200 };
  static struct hr_group tenants[TENANTS];
  struct hr_skipped_rows skipped[] = {{(char *)"bad", 1000, 1}, {(char *)"worse", 234, 2}};
  struct hr_summary summary = large_summary();
  for (size_t i = 0; i < TENANTS; i++)
    tenants[i] = (struct hr_group){.name = (char *)"large",
                                   .jobs = 10000000,
                                   .gpu_hours = 123456789,
                                   .wait_s = summary.wait_s,
                                   .slowdown = summary.slowdown};
  summary.by_tenant = tenants;
  summary.n_tenants = TENANTS;
  prepare();
  label.skipped = skipped;
  label.n_skipped_reasons = 2;
  char *text = printed(&summary, false);
  CU_ASSERT_EQUAL(widest(text), 80);
  expect_within(text, "\nlarge           10,000,000 123,456,789 100.0 %     4,629 d     4,629 d   900,000\n");
  expect_within(text, "\nand 1,190 more\n");
  expect_within(text, "\n  skipped    1,234 rows of the trace\n");
  expect_within(text, "10,000,000 failed and 10,000,000 were cancelled");
  free(text);
}

static void costs_section(void) {
  struct hr_budget budget = {(char *)"b", 15000000};
  struct hr_cost_spec spec = {.operations = {.uusd_per_month = 730000000}, .budgets = &budget, .n_budgets = 1};
  struct priced *priced = priced_create();
  struct hr_summary *summary = priced_summary(priced, &spec, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  prepare();
  label.cluster = &priced->cluster;
  char *text = printed(summary, false);
  CU_ASSERT_TRUE(widest(text) <= 80);
  expect_within(text, "\n  cost       $58.00; $21,170 a month (730 h of this demand)\n"
                      "             $19.33 per completed job, $3.63 per useful GPU hour\n"
                      "  idle       $16.00, 27.6 % of the cost\n  shared     $2.00\n"
                      "  on demand  $82.00 for the same GPU hours; 29.3 % saved\n"
                      "  budgets    1 of 1 tenant months over budget\n");
  expect_within(text, "\n  goodput    66.7 % of GPU hours; lost 4.0, checkpoints 2.0, restarts 2.0\n"
                      "  spot       16.0 GPU hours, 1 reclaim (0.5000 per node hour), 1 job\n"
                      "             interrupted; 100.0 % available\n");
  expect_within(text, "\nmarket                                         cost   share\n"
                      "reserved                                     $16.00  27.6 %\n"
                      "on-demand                                    $24.00  41.4 %\n"
                      "spot                                         $16.00  27.6 %\n"
                      "(services)                                    $2.00   3.4 %\n\n"
                      "cost by tenant                                 cost   share\n"
                      "b                                            $16.00  27.6 %\n"
                      "(none)                                       $16.00  27.6 %\n"
                      "a                                             $8.00  13.8 %\n"
                      "(idle)                                       $16.00  27.6 %\n"
                      "(shared)                                      $2.00   3.4 %\n");
  free(text);
  hr_summary_destroy(summary);
  priced_destroy(priced);
}

static void out_of_memory_kills(void) {
  prepare();
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  summary->stoppable = true;
  summary->oom = (struct hr_oom_metrics){true, 1234, 1, 2.5};
  char *text = printed(summary, false);
  expect_within(text, "\n  out of mem 1,234 kills of 1 job; 2.5 GPU hours in back-off\n");
  free(text);
  summary->oom.known = false;
  text = printed(summary, false);
  CU_ASSERT_PTR_NULL(strstr(text, "out of mem"));
  free(text);
  hr_summary_destroy(summary);
}

static void empty_distributions_are_dashes(void) {
  static const struct replayed_job job = {.submit_s = 0, .work_s = 1, .start_s = NEVER, .gpus = 99, .rejected = true};
  prepare();
  replayed_make(&run, &job, 1, NEVER);
  perf = (struct hr_perf){0};
  char *text = printed_run(false);
  expect_within(text, "\nwait               -           -           -           -           -           -\n");
  CU_ASSERT_PTR_NULL(strstr(text, "allocated"));
  CU_ASSERT_PTR_NULL(strstr(text, "speed"));
  free(text);
}

static void write_error_is_returned(void) {
  prepare();
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  FILE *full = fopen("/dev/full", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(full);
  setvbuf(full, NULL, _IONBF, 0);
  CU_ASSERT_EQUAL(hr_summary_print(full, summary, &label, &perf, false), HR_IO_ERROR);
  fclose(full);
  hr_summary_destroy(summary);
}

TEST_MAIN("report: table", TEST(content_of_the_table), TEST(colour_adds_only_escapes),
          TEST(lines_have_at_most_80_columns), TEST(fragmentation_with_per_gpu_allocation),
          TEST(pools_with_per_gpu_allocation), TEST(large_numbers_fit_their_columns), TEST(costs_section),
          TEST(out_of_memory_kills), TEST(empty_distributions_are_dashes), TEST(write_error_is_returned))
