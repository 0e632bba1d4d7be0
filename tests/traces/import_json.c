/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of Philly's job log and of Batsim workloads. Errors in JSON name the file, the line, and the column or the
   path. */
#include "harness.h"

#include "expected.h"
#include "samples.h"
#include "trace_files.h"

#include <string.h>

/* ---- Philly's cluster_job_log ----------------------------------------------------------------------- */

static void philly_attempts_become_jobs(void) {
  static const struct expected_job jobs[] = {
      {"application_1", 0, 60, 60 + 3600, 4, 2, HR_OUTCOME_COMPLETED, "ee9e8c", "ce2f4c"},
      {"application_2", 1080, 1140, 600 + 1800, 1, 1, HR_OUTCOME_FAILED, "6214e9", "b", .fail_at = 0.25}};
  struct hr_trace *trace = trace_of(PHILLY_LOG_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "philly-log", jobs, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated && has_note(&trace->notes, "no time zone"));
  CU_ASSERT(has_note(&trace->notes, "2 jobs were tried more than once"));
  CU_ASSERT(has_note(&trace->notes, "2 attempts at jobs failed"));
  CU_ASSERT_EQUAL(left_out(trace, "the job has no attempt: it never ran", 13), 1);
  CU_ASSERT_EQUAL(left_out(trace, "the last attempt has no end: the job was still running", 15), 1);
  hr_trace_destroy(trace);
}

#define PHILLY_JOB(id, status, submitted, attempts)                                                                    \
  "{\"status\": \"" status "\", \"vc\": \"v\", \"jobid\": \"" id "\", \"submitted_time\": " submitted                  \
  ", \"user\": \"u\",\n\"attempts\": [" attempts "]}"
#define ATTEMPT(start, end)                                                                                            \
  "{\"start_time\": " start ", \"end_time\": " end ", \"detail\": [{\"ip\": \"m\", \"gpus\": [\"g\"]}]}"
#define D(clock) "\"2017-10-07 " clock "\""

static void philly_attempts_without_times(void) {
  static const struct expected_job jobs[] = {{"a", 0, 3600, 60, 1, 1, HR_OUTCOME_CANCELLED, "v", "u"},
                                             {"b", 7200, -1, 7200, 1, 1, HR_OUTCOME_COMPLETED, "v", "u"}};
  struct hr_trace *trace = trace_of(
      "[" PHILLY_JOB(
          "a", "Killed", D("01:00:00"),
          ATTEMPT("null", D("01:30:00")) "," ATTEMPT(
              D("02:00:00"),
              D("02:01:00"))) ",\n" PHILLY_JOB("b", "Pass", D("03:00:00"),
                                               ATTEMPT(D("02:00:00"),
                                                       D("04:00:00"))) ",\n" PHILLY_JOB("c", "Pass", D("03:00:00"),
                                                                                        ATTEMPT("\"None\"",
                                                                                                D("04:00:00"))) "]",
      NULL);
  CU_ASSERT(jobs_are(trace, "philly-log", jobs, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "1 attempt has no start or no end"));
  CU_ASSERT(has_note(&trace->notes, "1 job has an attempt that started before the submission"));
  CU_ASSERT_EQUAL(left_out(trace, "no attempt of the job has both a start and an end", 5), 1);
  hr_trace_destroy(trace);
}

/* The starts of the attempts determine which attempt is the first and which is the last. The order of the list does not
   matter. */
static void philly_attempts_in_any_order(void) {
  static const struct expected_job jobs[] = {
      {"a", 0, 600, 3660, 2, 1, HR_OUTCOME_FAILED, "v", "u", .fail_at = 3600 / 3660.0}};
  struct hr_trace *trace = trace_of(
      "[" PHILLY_JOB("a", "Failed", D("01:00:00"),
                     ATTEMPT(D("03:00:00"), D("03:01:00")) ", {\"start_time\": " D("01:10:00") ", \"end_time\": " D(
                         "02:10:00") ", \"detail\": [{\"ip\": \"m\", \"gpus\": "
                                     "[\"g\", \"h\"]}]}") "]",
      NULL);
  CU_ASSERT(jobs_are(trace, "philly-log", jobs, 1));
  hr_trace_destroy(trace);
  trace = trace_of(
      "[" PHILLY_JOB("a", "Pass", D("01:00:00"),
                     ATTEMPT(D("03:00:00"), "null") "," ATTEMPT(
                         D("02:00:00"), D("02:10:00"))) ",\n" PHILLY_JOB("b", "Pass", D("01:00:00"),
                                                                         ATTEMPT(D("03:00:00"), D("03:01:00"))) "]",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(left_out(trace, "the last attempt has no end: the job was still running", 1), 1);
  hr_trace_destroy(trace);
}

static void bad_philly_jobs(void) {
  CU_ASSERT(refused("[" PHILLY_JOB("a", "Done", D("01:00:00"), "") "]", NULL,
                    "jobs.csv:1: [0].status: 'Done' is not one of Pass, Killed, Failed", ""));
  CU_ASSERT(refused("[\n" PHILLY_JOB("", "Pass", D("01:00:00"), "") "]", NULL, "jobs.csv:2: [0].jobid is empty", ""));
  CU_ASSERT(
      refused("[" PHILLY_JOB("a", "Pass", "null", "") "]", NULL, "jobs.csv:1: [0].submitted_time is missing", ""));
  CU_ASSERT(
      refused("[" PHILLY_JOB("a", "Pass", "7", "") "]", NULL, "jobs.csv:1: [0].submitted_time: '7' is not a text", ""));
  CU_ASSERT(refused("[" PHILLY_JOB("a", "Pass", D("25:00:00"), "") "]", NULL, "jobs.csv:1: [0].submitted_time: '2017-",
                    "ISO 8601"));
  CU_ASSERT(
      refused("[" PHILLY_JOB("a", "Pass", D("01:00:00"), "3") "]", NULL, "jobs.csv:1: [0].attempts: '3' is not", ""));
  CU_ASSERT(refused("[" PHILLY_JOB("a", "Pass", D("01:00:00"), ATTEMPT(D("02:00:00"), D("01:59:00"))) "]", NULL,
                    "jobs.csv:1: [0].attempts is a list with an attempt that ends before", ""));
  CU_ASSERT(refused("[" PHILLY_JOB("a", "Pass", D("01:00:00"), ATTEMPT(D("02:00:00"), D("03:00:00"))) ",\n" PHILLY_JOB(
                        "a", "Pass", D("01:00:00"), ATTEMPT(D("02:00:00"), D("03:00:00"))) "]",
                    NULL, "jobs.csv:3: job id 'a' is already used on line 1", ""));
  struct hr_trace *trace = trace_of("[" PHILLY_JOB("a", "Done", D("01:00:00"), "") ", 5, " PHILLY_JOB(
                                        "b", "Pass", D("01:00:00"), ATTEMPT(D("02:00:00"), D("03:00:00"))) "]",
                                    &(struct hr_trace_options){.lenient = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 1);
  CU_ASSERT_EQUAL(left_out(trace, "member 'status': not one of Pass, Killed, Failed", 1), 1);
  CU_ASSERT_EQUAL(left_out(trace, "member 'jobid': missing", 2), 1);
  hr_trace_destroy(trace);
}

/* ---- Batsim ----------------------------------------------------------------------------------------- */

static void batsim_workloads(void) {
  static const struct expected_job jobs[] = {{"w0!1", 0, -1, 20.2, 1, 1, HR_OUTCOME_COMPLETED, .limit_s = 30},
                                             {"2", 1.5, -1, 10, 4, 4, HR_OUTCOME_FAILED, .limit_s = 10},
                                             {"x", 2, -1, 10, 2, 2, HR_OUTCOME_FAILED},
                                             {"y", 3, -1, 2, 4, 4, HR_OUTCOME_COMPLETED}};
  struct hr_trace *trace = trace_of(BATSIM_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "batsim", jobs, 4));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "1 job exceeds its walltime"));
  CU_ASSERT(has_note(&trace->notes,
                     "2 jobs are parallel tasks: their run times are their operations at 1000 million a second"
                     " (assumed)"));
  hr_trace_destroy(trace);
  trace = trace_of(BATSIM_SAMPLE, &(struct hr_trace_options){.format = "batsim:mflops=100"});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->work_us[2], 100 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->work_us[0], 20200000);
  CU_ASSERT(!has_note(&trace->notes, "assumed"));
  hr_trace_destroy(trace);
}

/* Names of profile types from newer versions of Batsim, and profiles that precede the jobs. */
static void batsim_versions(void) {
  static const struct expected_job jobs[] = {{"a", 0, -1, 1, 1, 1, HR_OUTCOME_COMPLETED},
                                             {"b", 1, -1, 0.5, 2, 2, HR_OUTCOME_COMPLETED}};
  struct hr_trace *trace = trace_of(
      "{\"profiles\": {\"d\": {\"type\": \"DelayProfile\", \"delay\": 1},"
      "\"p\": {\"type\": \"ParallelTaskHomogeneousProfile\", \"cpu\": 1e9,"
      "\"generation_strategy\": \"DefinedAmountsSpreadUniformly\"}},"
      "\"jobs\": [{\"id\": \"a\", \"subtime\": 5, \"res\": 1, \"profile\": \"d\", \"extra_data\": {\"a\": []}},"
      "{\"id\": \"b\", \"subtime\": 6, \"res\": 2, \"profile\": \"p\"}], \"nb_res\": 2}",
      NULL);
  CU_ASSERT(jobs_are(trace, "batsim", jobs, 2));
  hr_trace_destroy(trace);
}

/* Names of profile types until Batsim 1.4. */
static void batsim_old_names(void) {
  static const struct expected_job jobs[] = {{"1", 0, -1, 2, 4, 4, HR_OUTCOME_COMPLETED},
                                             {"2", 1, -1, 0.5, 4, 4, HR_OUTCOME_COMPLETED}};
  struct hr_trace *trace = trace_of("{\"jobs\": [{\"id\": 1, \"subtime\": 5, \"res\": 4, \"profile\": \"a\"},"
                                    "{\"id\": 2, \"subtime\": 6, \"res\": 4, \"profile\": \"b\"}], \"profiles\": "
                                    "{\"a\": {\"type\": \"msg_par_hg\", \"cpu\": 2e9, \"com\": 0},"
                                    "\"b\": {\"type\": \"msg_par_hg_tot\", \"cpu\": 2e9, \"com\": 0}}, \"nb_res\": 4}",
                                    NULL);
  CU_ASSERT(jobs_are(trace, "batsim", jobs, 2));
  hr_trace_destroy(trace);
}

#define BATSIM(job, profile) "{\"jobs\": [" job "],\n\"profiles\": {" profile "}}"
#define BATSIM_JOB "{\"id\": 1, \"subtime\": 0, \"res\": 1, \"profile\": \"p\"}"

static void bad_batsim_workloads(void) {
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"q\": {\"type\": \"delay\", \"delay\": 1}"), NULL,
                    "jobs.csv:1: jobs[0].profile: 'p' is not one of the file's profiles", ""));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"composed\", \"seq\": []}"), NULL,
                    "jobs.csv:1: jobs[0].profile: 'composed' is an unsupported type of profile", "delay"));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"delay\"}"), NULL,
                    "jobs.csv:2: profiles[\"p\"].delay is missing", ""));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"delay\", \"delay\": -1}"), NULL,
                    "jobs.csv:2: profiles[\"p\"].delay: '-1' is not a number of seconds", ""));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"delay\", \"delay\": 1}, \"p\": {}"), NULL,
                    "jobs.csv:2: profiles[\"p\"].type is a duplicate profile", ""));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"parallel_homogeneous\", \"cpu\": \"x\"}"), NULL,
                    "jobs.csv:2: profiles[\"p\"].cpu: 'x' is not", ""));
  CU_ASSERT(refused(BATSIM(BATSIM_JOB, "\"p\": {\"type\": \"parallel_homogeneous\", \"cpu\": 1e300}"), NULL,
                    "jobs.csv:1: jobs[0].profile: 'p' is a profile of more than", ""));
  CU_ASSERT(refused(BATSIM("{\"id\": 1, \"subtime\": 0, \"res\": 0, \"profile\": \"p\"}", ""), NULL,
                    "jobs.csv:1: jobs[0].res is missing or 0", ""));
  CU_ASSERT(refused(BATSIM("{\"id\": 1, \"res\": 1, \"profile\": \"p\"}", ""), NULL,
                    "jobs.csv:1: jobs[0].subtime is missing", ""));
  CU_ASSERT(refused(BATSIM("{\"id\": 1.5, \"subtime\": 0, \"res\": 1, \"profile\": \"p\"}", ""), NULL,
                    "jobs.csv:1: jobs[0].id: '1.5' is not a whole number", ""));
  CU_ASSERT(refused(BATSIM("7", ""), NULL, "jobs.csv:1: jobs[0].id is missing: the job is not an object", ""));
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

#define AS_BATSIM (&(struct hr_trace_options){.format = "batsim"})

static void syntax_errors_have_a_position(void) {
  CU_ASSERT(refused("{\"jobs\": [\n  {\"id\": 1,}\n]}", AS_BATSIM, "jobs.csv:2:12: ", "trailing comma before '}'"));
  CU_ASSERT(refused("{\"jobs\": [\n  {\"id\": 01}]}", AS_BATSIM, "jobs.csv:2:10: ", "redundant 0"));
  CU_ASSERT(refused("{\"jobs\": [\n  {\"id\": 1, \"id\": 2}]}", AS_BATSIM, "jobs.csv:2:13: ", "duplicate key 'id'"));
  CU_ASSERT(refused("{\"jobs\": [], \"jobs\": []}", AS_BATSIM, "jobs.csv:1:22: ", "duplicate member"));
  CU_ASSERT(refused("{\"nb_res\": 1", AS_BATSIM, "jobs.csv:1:13: expected ',' or '}'", ""));
  CU_ASSERT(refused("{\"jobs\": [{\"id\": \"a", AS_BATSIM, "jobs.csv:1:18: this string has no closing", ""));
  CU_ASSERT(refused("{\"jobs\" [1]}", AS_BATSIM, "jobs.csv:1:9: expected ':' after the key", ""));
  CU_ASSERT(refused("{\"jobs\": [1],}", AS_BATSIM, "jobs.csv:1:", ""));
  CU_ASSERT(refused("{\"jobs\": []} x", AS_BATSIM, "jobs.csv:1:14: unexpected text after", ""));
  CU_ASSERT(refused("\"jobs\"", AS_BATSIM, "jobs.csv:1:1: expected a list [...] or an object {...}", ""));
  CU_ASSERT(refused("{\"jobs\": [{\"id\": \"\xff\"}]}", AS_BATSIM, "jobs.csv:1:19: byte 0xff is not valid UTF-8", ""));
  CU_ASSERT(refused("{\"a\": tru, \"jobs\": []}", AS_BATSIM, "jobs.csv:1:7: ", "not a JSON value"));
  CU_ASSERT(refused("{\"jobs\": [], \"profiles\": {}}", AS_BATSIM, "jobs.csv: contains no jobs", ""));
}

static void the_nesting_depth_is_limited(void) {
  char text[2000] = "{\"jobs\": [";
  for (int i = 0; i < 100; i++) strcat(text, "[");
  CU_ASSERT(refused(text, AS_BATSIM, "jobs.csv:1:", "nested more than 64 levels deep"));
  for (int i = 0; i < 100; i++) strcat(text, "]");
  CU_ASSERT(refused(text, AS_BATSIM, "jobs.csv:1:", "nested more than 64 levels deep"));
}

/* The reader parses one item at a time in a sliding window. The file has one line or many lines. */
static void files_larger_than_the_window(void) {
  enum { N = 40000, ROOM = 100 };
  for (int lines = 0; lines < 2; lines++) {
    char *text = malloc((size_t)N * ROOM), *at = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    at += sprintf(at, "{\"profiles\": {\"p\": {\"type\": \"delay\", \"delay\": 2}}, \"jobs\": [");
    for (int i = 0; i < N; i++)
      at += sprintf(at, "%s{\"id\": %d, \"subtime\": %d, \"res\": 1, \"profile\": \"p\"}%s", i ? "," : "", i + 1, i,
                    lines ? "\n" : "");
    sprintf(at, "]}");
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->n_jobs, N);
    CU_ASSERT_EQUAL(trace->submit_us[N - 1], (N - 1) * HR_SECOND_US);
    hr_trace_destroy(trace);
    strcpy(strstr(text, "\"id\": 30001"), "\"id\" ");
    CU_ASSERT(refused(text, NULL, lines ? "jobs.csv:30001:" : "jobs.csv:1:", "expected ':'"));
    free(text);
  }
}

static void the_size_of_an_item_is_limited(void) {
  size_t length = (size_t)17 << 20;
  char *text = malloc(length + 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  memset(text, ' ', length);
  text[length] = '\0';
  memcpy(text, "{\"subtime\": [", 13);
  CU_ASSERT(refused(text, NULL, "jobs.csv:1:13: the value that begins here is larger than 16 MiB", ""));
  free(text);
}

TEST_MAIN("import_json", TEST(philly_attempts_become_jobs), TEST(philly_attempts_without_times),
          TEST(philly_attempts_in_any_order), TEST(bad_philly_jobs), TEST(batsim_workloads), TEST(batsim_versions),
          TEST(batsim_old_names), TEST(bad_batsim_workloads), TEST(syntax_errors_have_a_position),
          TEST(the_nesting_depth_is_limited), TEST(files_larger_than_the_window), TEST(the_size_of_an_item_is_limited))
