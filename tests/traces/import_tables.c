/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of published tables: Helios, Acme, PAI, Gaia, Let's Wait Awhile, Alibaba's spot jobs, Gavel, and the requests
   of Azure. */
#include "harness.h"

#include "expected.h"
#include "samples.h"
#include "trace_files.h"

#include <string.h>

static void helios_logs(void) {
  static const struct expected_job jobs[] = {
      {"11", 0, 30, 3600, 16, 2, HR_OUTCOME_COMPLETED, "vcA", "uann", .cpu_milli = 32000},
      {"12", 10, 10, 50, 0, 1, HR_OUTCOME_FAILED, "vcB", "ubob", .cpu_milli = 4000},
      {"13", 20, 20, 100, 3, 1, HR_OUTCOME_FAILED, "vcB", "ubob", .cpu_milli = 6000}};
  struct hr_trace *trace = trace_of(HELIOS_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "helios", jobs, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated);
  CU_ASSERT_EQUAL(left_out(trace, "the job was never started", 5), 1);
  CU_ASSERT_EQUAL(left_out(trace, "the job had not ended", 6), 1);
  CU_ASSERT(has_note(&trace->notes, "no time zone"));
  CU_ASSERT(has_note(&trace->notes, "1 job has GPUs that cannot be divided evenly"));
  hr_trace_destroy(trace);
}

#define HELIOS_ROW(state, submit, start, end, duration)                                                                \
  "1,u,v,1,1,1," state "," submit "," start "," end "," duration ",0\n"

static void bad_helios_rows(void) {
  CU_ASSERT(refused(HELIOS_HEADER HELIOS_ROW("DONE", "5", "6", "7", "1"), NULL,
                    "jobs.csv:2: column 'state': 'DONE' is not a job state", ""));
  CU_ASSERT(refused(HELIOS_HEADER HELIOS_ROW("FAILED", "5", "8", "7", "1"), NULL,
                    "jobs.csv:2: the job ends before it starts", ""));
  CU_ASSERT(refused(HELIOS_HEADER HELIOS_ROW("FAILED", "5", "4", "7", "3"), NULL,
                    "jobs.csv:2: ", "recorded start is before the submit"));
  CU_ASSERT(refused(HELIOS_HEADER HELIOS_ROW("FAILED", "None", "6", "7", "1"), NULL,
                    "jobs.csv:2: column 'submit_time': 'None' is not", "date"));
  CU_ASSERT(refused("job_id,vc,gpu_num,node_num,submit_time\n1,a,1,1,5\n", NULL, "jobs.csv:1: missing columns 'user'",
                    "Helios"));
  struct hr_trace *trace = trace_of(HELIOS_HEADER HELIOS_ROW("DONE", "5", "6", "7", "1")
                                        HELIOS_ROW("FAILED", "5", "6", "9", "1") "2,u,v,1,1,0,FAILED,5,6,9,3,0\n",
                                    &(struct hr_trace_options){.lenient = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 2);
  CU_ASSERT_EQUAL(left_out(trace, "column 'state': not a job state", 2), 1);
  CU_ASSERT(has_note(&trace->notes, "1 job has a 'duration' other than end_time - start_time"));
  hr_trace_destroy(trace);
}

static void acme_logs(void) {
  static const struct expected_job seren[] = {
      {"21", 0, 60, 3600, 16, 2, HR_OUTCOME_COMPLETED, NULL, "u1", .cpu_milli = 128000, .class_ = HR_CLASS_TRAINING},
      {"22", 30, 30, 120, 1, 1, HR_OUTCOME_FAILED, NULL, "u2", .cpu_milli = 16000, .class_ = HR_CLASS_BATCH_INFERENCE},
      {"23", 120, 120, 9, 0, 1, HR_OUTCOME_CANCELLED, NULL, "u2", .cpu_milli = 4000}};
  /* The `duration` of Kalos is 18 s and is measured from the submission. The job waited for 10 s and ran for 8 s. */
  static const struct expected_job kalos[] = {{"dlcx", 0, 10, 8, 64, 8, HR_OUTCOME_FAILED, NULL, "uf7",
                                               .cpu_milli = 120000, .mem_mib = 1024000, .class_ = HR_CLASS_FINE_TUNE}};
  struct hr_trace *trace = trace_of(SEREN_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "acme", seren, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->notes.count, 1);
  CU_ASSERT(has_note(&trace->notes, "format 'acme' has no limits and tenants; policies that use limits get"));
  hr_trace_destroy(trace);
  trace = trace_of(KALOS_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "acme", kalos, 1));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "1 job has a 'duration' other than"));
  hr_trace_destroy(trace);
}

static void pai_tasks(void) {
  static const struct expected_job jobs[] = {
      {"j1/tensorflow", 0, -1, 600, 1, 1, HR_OUTCOME_COMPLETED, .gpu_types = "MISC", .gpu_milli = 500,
       .cpu_milli = 6000, .mem_mib = 30000},
      {"j2/ps", 50, -1, 150, 0, 2, HR_OUTCOME_COMPLETED, .cpu_milli = 4000, .mem_mib = 8192},
      {"j3/worker", 60, -1, 10, 4, 2, HR_OUTCOME_COMPLETED, .gpu_types = "T4", .cpu_milli = 1000, .mem_mib = 1024},
      {"j2/worker", 100, -1, 0, 8, 4, HR_OUTCOME_FAILED, .gpu_types = "V100", .cpu_milli = 8000, .mem_mib = 16384}};
  for (int with_header = 0; with_header < 2; with_header++) {
    struct hr_trace *trace = trace_of(
        with_header
            ? "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n" PAI_SAMPLE
            : PAI_SAMPLE,
        NULL);
    CU_ASSERT(jobs_are(trace, "pai2020", jobs, 4));
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT(!trace->dated);
    CU_ASSERT_EQUAL(left_out(trace, "the task had not ended", 5 + (uint64_t)with_header), 1);
    CU_ASSERT_EQUAL(left_out(trace, "the task was never launched", 6 + (uint64_t)with_header), 1);
    CU_ASSERT(has_note(&trace->notes, "4 tasks are jobs of their own"));
    CU_ASSERT(has_note(&trace->notes, "1 task requests a fraction above one GPU"));
    hr_trace_destroy(trace);
  }
}

/* Returns "pai2020:jobs=FILE" for a file with the text `jobs`, and ",tags=FILE" if `tags` is not NULL. The result is
   valid until the next call. */
static const char *pai_format(const char *jobs, const char *tags) {
  static char format[600];
  int length = snprintf(format, sizeof format, "pai2020:jobs=%s", file_write_text("pai_jobs.csv", jobs));
  if (tags) snprintf(format + length, sizeof format - (size_t)length, ",tags=%s", file_write_text("tags.csv", tags));
  return format;
}

static void pai_submissions(void) {
  static const char jobs_header[] = "job_name,inst_id,user,status,start_time,end_time\n" PAI_JOBS;
  static const struct expected_job jobs[] = {
      {"j1/tensorflow", 0, 10, 600, 1, 1, HR_OUTCOME_COMPLETED, .user = "ann", .gpu_types = "MISC", .gpu_milli = 500,
       .cpu_milli = 6000, .mem_mib = 30000},
      {"j2/worker", 10.5, 110, 0, 8, 4, HR_OUTCOME_FAILED, .user = "bob", .gpu_types = "V100", .cpu_milli = 8000,
       .mem_mib = 16384},
      {"j2/ps", 10.5, 60, 150, 0, 2, HR_OUTCOME_COMPLETED, .user = "bob", .cpu_milli = 4000, .mem_mib = 8192},
      {"j3/worker", 70, 70, 10, 4, 2, HR_OUTCOME_COMPLETED, .gpu_types = "T4", .cpu_milli = 1000, .mem_mib = 1024}};
  for (int with_header = 0; with_header < 2; with_header++) {
    const char *format = pai_format(with_header ? jobs_header : PAI_JOBS, NULL);
    struct hr_trace *trace = trace_of(PAI_SAMPLE, &(struct hr_trace_options){.format = format});
    CU_ASSERT(jobs_are(trace, "pai2020", jobs, 4));
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT(has_note(&trace->notes, "4 tasks are jobs of their own, each submitted when its job was"));
    CU_ASSERT(has_note(&trace->notes, "1 task of a job without a submit time in pai_job_table"));
    CU_ASSERT(!has_note(&trace->notes, "users and submit times are in pai_job_table"));
    hr_trace_destroy(trace);
  }
  const char *late = pai_format("j1,i1,ann,Terminated,1001.0,1600.0\n", NULL);
  struct hr_trace *trace = trace_of(PAI_SAMPLE, &(struct hr_trace_options){.format = late});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "1 task was launched before its job was submitted"));
  hr_trace_destroy(trace);
}

/* If a job has several rows of tags, the first one is used. The GPU type of a task restricts the job only if its tags
   request a type. */
static void pai_tags(void) {
  static const struct expected_job jobs[] = {
      {"j1/tensorflow", 0, 10, 600, 1, 1, HR_OUTCOME_COMPLETED, .user = "ann", .gpu_milli = 500, .cpu_milli = 6000,
       .mem_mib = 30000},
      {"j2/worker", 10.5, 110, 0, 8, 4, HR_OUTCOME_FAILED, .user = "bob", .gpu_types = "V100M32", .model = "nmt",
       .cpu_milli = 8000, .mem_mib = 16384},
      {"j2/ps", 10.5, 60, 150, 0, 2, HR_OUTCOME_COMPLETED, .user = "bob", .model = "nmt", .cpu_milli = 4000,
       .mem_mib = 8192},
      {"j3/worker", 70, 70, 10, 4, 2, HR_OUTCOME_COMPLETED, .gpu_types = "T4", .cpu_milli = 1000, .mem_mib = 1024}};
  const char *format = pai_format(PAI_JOBS, PAI_TAGS);
  struct hr_trace *trace = trace_of(PAI_SAMPLE, &(struct hr_trace_options){.format = format});
  CU_ASSERT(jobs_are(trace, "pai2020", jobs, 4));
  hr_trace_destroy(trace);
}

static void bad_pai_tables(void) {
  struct hr_trace_options options = {.format = "pai2020:tags=x"};
  CU_ASSERT(refused(PAI_SAMPLE, &options, "trace format 'pai2020': 'tags' needs the job table",
                    "pai2020:jobs=FILE,tags=FILE"));
  options.format = "pai2020:job=x";
  CU_ASSERT(refused(PAI_SAMPLE, &options, "trace format 'pai2020' has no parameter 'job'", "'jobs'"));
  options.format = "pai2020:jobs=/no/such/file.csv";
  CU_ASSERT(refused(PAI_SAMPLE, &options, "/no/such/file.csv: ", ""));
  options.format = pai_format("j1,i1,ann,Terminated,990.0,1600.0\nj1,i2,bob,Failed,990.0,1600.0\n", NULL);
  CU_ASSERT(refused(PAI_SAMPLE, &options, "pai_jobs.csv:2: a duplicate of the job", ""));
  options.lenient = true;
  CU_ASSERT(refused(PAI_SAMPLE, &options, "pai_jobs.csv:2: a duplicate of the job", ""));
  options.format = pai_format(PAI_SAMPLE, NULL);
  CU_ASSERT(refused(PAI_SAMPLE, &options, "pai_jobs.csv:1: too many fields", ""));
  options.format = pai_format(PAI_JOBS, PAI_JOBS);
  CU_ASSERT(refused(PAI_SAMPLE, &options, "tags.csv:1: too many fields", ""));
}

static void bad_pai_rows(void) {
  CU_ASSERT(refused(PAI_SAMPLE "j6,w,1.0,Gone,1,2,3,4,5,T4\n", NULL,
                    "jobs.csv:7: column 'status': 'Gone' is not one of", "Terminated"));
  CU_ASSERT(
      refused(PAI_SAMPLE "j6,w,1.0,Failed,3,2,3,4,5,T4\n", NULL, "jobs.csv:7: the task ends before it starts", ""));
  CU_ASSERT(
      refused(PAI_SAMPLE "j6,w,1.5,Failed,1,2,3,4,5,T4\n", NULL, "jobs.csv:7: column 'inst_num': '1.5'", "whole"));
  CU_ASSERT(refused(PAI_SAMPLE "j6,w,1,Failed,1,2,3,4\n", NULL,
                    "jobs.csv:7: too few fields: 8 fields where a row has 10", ""));
  CU_ASSERT(
      refused(PAI_SAMPLE "j6,w,4000000,Failed,1,2,3,4,200,T4\n", NULL, "jobs.csv:7: the task requests more than", ""));
  CU_ASSERT(refused(PAI_SAMPLE "j1,tensorflow,1.0,Failed,1,2,3,4,5,T4\n", NULL,
                    "jobs.csv:7: job id 'j1/tensorflow' is already used on line 1", ""));
  CU_ASSERT(refused("4b3f,8cb3,5854,Terminated,4550879.0,4551416.0\n", NULL, "jobs.csv: looks like PAI's pai_job_table",
                    "expected pai_task_table"));
  CU_ASSERT(refused("a,b,c,d,e,Failed,1.0,2.0,m\n", NULL, "jobs.csv: looks like PAI's pai_instance_table", ""));
}

static void gaia_jobs(void) {
  static const struct expected_job jobs[] = {{"1", 0, -1, 7200, 1, 1, .class_ = HR_CLASS_TRAINING},
                                             {"2", 65, -1, 7195, 4, 1, .class_ = HR_CLASS_BATCH_INFERENCE},
                                             {"3", 65, -1, 7200, 2, 1, .class_ = HR_CLASS_BATCH_INFERENCE}};
  struct hr_trace *trace = trace_of(GAIA_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "gaia", jobs, 3));
  hr_trace_destroy(trace);
  CU_ASSERT(refused("arrival_time,length,cpus\n0,-1,1\n", NULL, "jobs.csv:2: column 'length': '-1'", ""));
}

static void jobs_of_lets_wait_awhile(void) {
  static const struct expected_job jobs[] = {{"1", 0, -1, 190800, 1, 1, .class_ = HR_CLASS_TRAINING},
                                             {"2", 3600, -1, 14400, 1, 1, .class_ = HR_CLASS_TRAINING}};
  struct hr_trace *trace = trace_of(LWA_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "lwa", jobs, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->origin_us, 19 * 1800 * HR_SECOND_US);
  hr_trace_destroy(trace);
  CU_ASSERT(refused("start_step,length_steps\n99999999999,1\n", NULL, "jobs.csv:2: ", "1,700 years"));
}

static void spot_jobs(void) {
  static const struct expected_job jobs[] = {
      {"7", 0, -1, 5000, 1, 1, .tenant = "13", .gpu_types = "A10", .cpu_milli = 20000, .priority = 1,
       .flags = HR_JOB_NOT_INTERRUPTIBLE},
      {"8", 60, -1, 41060, 128, 16, .tenant = "57", .gpu_types = "A100-SXM4-80GB", .cpu_milli = 15000},
      {"9", 70, -1, 600, 2, 2, .tenant = "57", .gpu_types = "A10", .gpu_milli = 500, .cpu_milli = 4000}};
  struct hr_trace *trace = trace_of(SPOT_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "spot2026", jobs, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "2 jobs have several workers: gpu_request"));
  hr_trace_destroy(trace);
  CU_ASSERT(refused(SPOT_HEADER "7,13,A10,20,1,1,0,5,Best\n", NULL,
                    "jobs.csv:2: column 'job_type': 'Best' is neither HP nor Spot", ""));
  CU_ASSERT(
      refused(SPOT_HEADER "7,13,A10,20,1,0,0,5,HP\n", NULL, "jobs.csv:2: column 'worker_num': '0'", "at least 1"));
  CU_ASSERT(refused(SPOT_HEADER "7,13,A10,20,8,4000000,0,5,HP\n", NULL, "jobs.csv:2: ", "more than 4000000 GPUs"));
}

static void azure_requests(void) {
  static const struct expected_job assumed[] = {
      {"1", 0, -1, 0.5 + 0.2, 1, 1, .gpu_milli = 50, .class_ = HR_CLASS_INFERENCE},
      {"2", 1, -1, 0.0003 + 2, 1, 1, .gpu_milli = 50, .class_ = HR_CLASS_INFERENCE}};
  /* The context of job 2 takes 3 / 7 s, which is 428571.43 us. */
  static const struct expected_job stated[] = {
      {"1", 0, -1, 714.285714 + 0.1, 1, 1, .gpu_milli = 10, .class_ = HR_CLASS_INFERENCE},
      {"2", 1, -1, 0.428571 + 1, 1, 1, .gpu_milli = 10, .class_ = HR_CLASS_INFERENCE}};
  struct hr_trace *trace = trace_of(AZURE_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "azure-llm", assumed, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated);
  CU_ASSERT(has_note(&trace->notes,
                     "context / 10000 + its generated tokens / 50 seconds on 50 thousandths of a GPU (assumed)"));
  hr_trace_destroy(trace);
  trace = trace_of(AZURE_SAMPLE, &(struct hr_trace_options){.format = "azure-llm:prefill=7,decode=100,gpu_milli=10"});
  CU_ASSERT(jobs_are(trace, "azure-llm", stated, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!has_note(&trace->notes, "assumed"));
  hr_trace_destroy(trace);
  CU_ASSERT(refused("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,-1,2\n", NULL,
                    "jobs.csv:2: column 'ContextTokens': '-1'", "at least 0"));
}

static const char *gavel_format(const char *rest) {
  static char format[400];
  snprintf(format, sizeof format, "gavel:throughputs=%s%s", file_write_text("speeds.json", GAVEL_THROUGHPUTS), rest);
  return format;
}

static void gavel_jobs(void) {
  static const struct expected_job jobs[] = {
      {"1", 0, -1, 25, 1, 1, .model = "Net (batch size 16)", .class_ = HR_CLASS_TRAINING},
      {"2", 1.5, -1, 400, 2, 2, .model = "LM", .class_ = HR_CLASS_TRAINING}};
  static const struct expected_job slow[] = {
      {"1", 0, -1, 200, 1, 1, .model = "Net (batch size 16)", .class_ = HR_CLASS_TRAINING},
      {"2", 1.5, -1, 1600, 2, 2, .model = "LM", .class_ = HR_CLASS_TRAINING}};
  struct hr_trace *trace = trace_of(GAVEL_SAMPLE, &(struct hr_trace_options){.format = gavel_format("")});
  CU_ASSERT(jobs_are(trace, "gavel", jobs, 2));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "run times are steps / throughput on v100"));
  hr_trace_destroy(trace);
  trace = trace_of(GAVEL_SAMPLE, &(struct hr_trace_options){.format = gavel_format(",reference=k80")});
  CU_ASSERT(jobs_are(trace, "gavel", slow, 2));
  hr_trace_destroy(trace);
}

/* Versions of Gavel's simulator have the scale factor and the arrival time in different columns. */
static void gavel_versions(void) {
  static const struct expected_job jobs[] = {{"1", 0, -1, 400, 2, 2, .model = "LM", .class_ = HR_CLASS_TRAINING}};
  static const char *const lines[] = {"LM\tc\t--steps\t4000\t7\t2\n", "LM\tc\t--steps\t1\t4000\t7\t2\n",
                                      "LM\tc\t--steps\t1\t4000\t2\t1\t-1.000000\t7\n",
                                      "LM\tc \"q\t/dir\t--steps\t1\t4000\t2\t1\t-1.000000\t7\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    struct hr_trace *trace = trace_of(lines[i], &(struct hr_trace_options){.format = gavel_format("")});
    CU_ASSERT(jobs_are(trace, "gavel", jobs, 1));
    CU_ASSERT(trace && trace->origin_us == 7 * HR_SECOND_US);
    hr_trace_destroy(trace);
  }
}

static bool gavel_rejected(const char *text, const char *rest, const char *start, const char *part) {
  char format[400];
  snprintf(format, sizeof format, "%s", gavel_format(rest));
  return refused(text, &(struct hr_trace_options){.format = format}, start, part);
}

static void bad_gavel_files(void) {
  CU_ASSERT(refused(GAVEL_SAMPLE, NULL, "jobs.csv: Gavel traces have steps, not run times", "gavel:throughputs=FILE"));
  CU_ASSERT(gavel_rejected(GAVEL_SAMPLE, ",reference=v10", "speeds.json: no throughputs for GPU type 'v10'",
                           "did you mean 'v100'?"));
  CU_ASSERT(gavel_rejected(GAVEL_SAMPLE GAVEL_LINE("LM", "10", "5", "1"), "",
                           "jobs.csv:3: column 'job_type': 'LM' is not in the table of throughputs", ""));
  CU_ASSERT(gavel_rejected("LM\tc\td\t1\n", "", "jobs.csv:1: found 4 fields separated by tabs", "6, 7, 9 or 10"));
  CU_ASSERT(gavel_rejected(GAVEL_SAMPLE "LM\t1\t2\n", "", "jobs.csv:3: too few fields", "3 fields where a row has 7"));
  CU_ASSERT(
      gavel_rejected(GAVEL_SAMPLE GAVEL_LINE("LM", "-4", "5", "2"), "", "jobs.csv:3: column 'total_steps': '-4'", ""));
  CU_ASSERT(
      gavel_rejected(GAVEL_LINE("LM", "1125899906842624", "5", "2"), "", "jobs.csv:1: the job would run for more", ""));
}

TEST_MAIN("import_tables", TEST(helios_logs), TEST(bad_helios_rows), TEST(acme_logs), TEST(pai_tasks),
          TEST(pai_submissions), TEST(pai_tags), TEST(bad_pai_rows), TEST(bad_pai_tables), TEST(spot_jobs),
          TEST(gaia_jobs), TEST(jobs_of_lets_wait_awhile), TEST(azure_requests), TEST(gavel_jobs), TEST(gavel_versions),
          TEST(bad_gavel_files))
