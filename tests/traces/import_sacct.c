/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of sacct output: the order of columns, job steps, requeues, states, limits, resources. */
#include "harness.h"

#include "expected.h"
#include "samples.h"
#include "trace_files.h"
#include "traces/formats/formats.h"

#include <string.h>

static void a_listing_with_all_columns(void) {
  static const struct expected_job jobs[] = {
      {"100", 0, 300, 7200, 16, 2, HR_OUTCOME_COMPLETED, "vision", "ann", "a100", .limit_s = 86400, .cpu_milli = 32000,
       .mem_mib = 256 << 10},
      {"101_4", 1, 2, 600, 1, 1, HR_OUTCOME_CANCELLED, "speech", "bob", .cpu_milli = 8000, .mem_mib = 32 << 10},
      {"102", 3600, 3610, 1800, 0, 1, HR_OUTCOME_FAILED, "speech", "bob", .limit_s = 1800, .cpu_milli = 4000,
       .mem_mib = 4 << 10}};
  struct hr_trace *trace = trace_of(SACCT_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "sacct", jobs, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated && has_note(&trace->notes, "no time zone"));
  CU_ASSERT(has_note(&trace->notes, "1 row is a step of a job"));
  CU_ASSERT(has_note(&trace->notes, "1 row became eligible after"));
  CU_ASSERT_EQUAL(left_out(trace, "the job was ended before it was started", 6), 1);
  CU_ASSERT_EQUAL(left_out(trace, "the job had not started", 7), 1);
  CU_ASSERT_EQUAL(left_out(trace, "the job was still running", 8), 1);
  CU_ASSERT_EQUAL(trace->n_skipped, 3);
  hr_trace_destroy(trace);
}

/* A listing of `sacct --parsable`, which ends each line with a '|', with other columns in another order. */
static void columns_in_any_order(void) {
  static const struct expected_job jobs[] = {{"7", 0, 5, 10, 4, 2, HR_OUTCOME_COMPLETED, "gpu", NULL, "h100",
                                              .limit_s = 5400, .cpu_milli = 16000, .mem_mib = 8 << 10, .priority = 77}};
  struct hr_trace *trace = trace_of(
      "End|ReqGRES|Partition|State|TimelimitRaw|Start|NCPUS|Submit|JobIDRaw|ReqMem|Priority|NNodes|QOS|Restarts|\n"
      "115|gpu:h100:2|gpu|COMPLETED|90|105|32|100|7|8Gn|77|2|normal|3|\n",
      NULL);
  CU_ASSERT(jobs_are(trace, "sacct", jobs, 1));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!trace->dated);
  CU_ASSERT(has_note(&trace->notes, "1 row has its GPUs in GRES only"));
  CU_ASSERT(has_note(&trace->notes, "3 restarts of jobs"));
  CU_ASSERT_EQUAL(trace->notes.count, 2);
  hr_trace_destroy(trace);
}

#define SHORT "JobID|State|Submit|Start|End|AllocTRES\n"

/* The rows of a job can be in any order. The last attempt is the one with the latest submit time. If submit times are
   equal, it is the one with the latest start. */
static void attempts_in_any_order(void) {
  static const struct expected_job jobs[] = {{"10", 0, 700, 300, 1, 1, HR_OUTCOME_COMPLETED}};
  static const char *const rows[] = {"10|NODE_FAIL|100|110|400|gres/gpu=1\n", "10|PREEMPTED|100|400|500|gres/gpu=1\n",
                                     "10|COMPLETED|700|800|1100|gres/gpu=1\n"};
  static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char text[500];
    snprintf(text, sizeof text, SHORT "%s%s%s", rows[orders[i][0]], rows[orders[i][1]], rows[orders[i][2]]);
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT(jobs_are(trace, "sacct", jobs, 1));
    hr_trace_destroy(trace);
  }
}

static void ignored_data_is_noted(void) {
  struct hr_trace *trace = trace_of(SHORT "1|COMPLETED|100|110|400|cpu=4,gres/shard=2\n"
                                          "2|COMPLETED|100|110|400|gres/mps=50,gres/gpu=1\n"
                                          "3|COMPLETED|100|90|400|gres/gpu:a100=1\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "2 rows have shares of GPUs"));
  CU_ASSERT(has_note(&trace->notes, "1 row started before it was submitted"));
  hr_trace_destroy(trace);
  trace = trace_of("jobid|STATE|submit|START|end|AllocTres\n1|COMPLETED|100|110|400|gres/gpu=1\n", NULL);
  CU_ASSERT_PTR_NOT_NULL(trace);
  hr_trace_destroy(trace);
}

static void attempts_are_merged_into_one_job(void) {
  static const struct expected_job jobs[] = {{"9", 0, 500, 60, 2, 1, HR_OUTCOME_COMPLETED, .gpu_types = "a100|a40"},
                                             {"10+0", 20, 20, 5, 1, 1, HR_OUTCOME_UNKNOWN},
                                             {"10+1", 20, 20, 5, 0, 1, HR_OUTCOME_FAILED, .cpu_milli = 1000}};
  struct hr_trace *trace = trace_of(SHORT "9|NODE_FAIL|100|110|400|gres/gpu:a100=1,gres/gpu:a40=1\n"
                                          "10+0|PREEMPTED|120|120|125|gres/gpu=1\n"
                                          "9|REQUEUED|401|402|500|gres/gpu:a100=1,gres/gpu:a40=1\n"
                                          "10+1|OUT_OF_MEMORY|120|120|125|cpu=1\n"
                                          "9|COMPLETED|501|600|660|gres/gpu:a100=1,gres/gpu:a40=1\n",
                                    NULL);
  CU_ASSERT(jobs_are(trace, "sacct", jobs, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "2 rows are further attempts at jobs that were requeued"));
  CU_ASSERT(has_note(&trace->notes, "2 rows are components of heterogeneous jobs"));
  CU_ASSERT(has_note(&trace->notes, "3 rows have GPUs of several types"));
  hr_trace_destroy(trace);
}

static void bad_rows(void) {
  CU_ASSERT(refused(SHORT "1|DONE|1|2|3|gres/gpu=1\n", NULL,
                    "jobs.csv:2: column 'State': 'DONE' is not a Slurm job state", ""));
  CU_ASSERT(refused(SHORT "1|FAILED|Unknown|2|3|gres/gpu=1\n", NULL, "jobs.csv:2: column 'Submit' is unknown", ""));
  CU_ASSERT(refused(SHORT "1|FAILED|1|5|3|gres/gpu=1\n", NULL, "jobs.csv:2: the job ends before it starts", ""));
  CU_ASSERT(
      refused(SHORT "1|FAILED|1|2|3|gres/gpu=x\n", NULL, "jobs.csv:2: column 'AllocTRES': 'gres/gpu=x' is not", ""));
  CU_ASSERT(refused(SHORT "1|FAILED|1|2|3|cpu=two\n", NULL, "jobs.csv:2: column 'AllocTRES'", "cpu=4"));
  CU_ASSERT(refused(SHORT "1|FAILED|1|2|3|mem=lots\n", NULL, "jobs.csv:2: column 'AllocTRES'", "mem=64G"));
  CU_ASSERT(refused(SHORT "1|FAILED|1|2|3|gres/gpu=4000001\n", NULL, "jobs.csv:2: ", "gres/gpu=4000001"));
  CU_ASSERT(refused(SHORT "1|FAILED|1|2|3\n", NULL, "jobs.csv:2: too few fields", "5 fields where the header has 6"));
  CU_ASSERT(refused(SHORT "1|FAILED|soon|2|3|cpu=1\n", NULL, "jobs.csv:2: column 'Submit': 'soon'", "ISO 8601"));
  CU_ASSERT(refused("JobID|State|Submit|Start|End|AllocTRES|Timelimit\n1|FAILED|1|2|3|cpu=1|long\n", NULL,
                    "jobs.csv:2: column 'Timelimit': 'long' is not a duration", ""));
  CU_ASSERT(refused("JobID|State|Submit|Start|End|AllocTRES|ReqMem\n1|FAILED|1|2|3|cpu=1|4X\n", NULL,
                    "jobs.csv:2: column 'ReqMem': '4X' is not an amount of memory", ""));
  CU_ASSERT(refused("JobID|State|Submit|Start|End\n1|FAILED|1|2|3\n", NULL, "jobs.csv:1: missing column 'AllocTRES'",
                    "sacct"));
  CU_ASSERT(refused("JobID|Start|End|AllocTRES\n1|1|2|\n", NULL, "jobs.csv:1: missing columns 'State', 'Submit'",
                    "--format"));
}

static void bad_rows_are_counted(void) {
  struct hr_trace *trace = trace_of(SHORT "1|DONE|1|2|3|gres/gpu=1\n2|FAILED|1|2|3|gres/gpu=1\n3|DONE|1|2|3|\n",
                                    &(struct hr_trace_options){.lenient = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 1);
  CU_ASSERT_EQUAL(left_out(trace, "column 'State': not a Slurm job state", 2), 2);
  hr_trace_destroy(trace);
}

static struct hr_text text_of(const char *text) {
  return (struct hr_text){text, strlen(text)};
}

static void resources(void) {
  static const struct {
    const char *text;
    uint64_t gpus, cpu_milli, mem_mib;
    const char *types;
  } cases[] = {{"cpu=32,mem=256000M,billing=32,gres/gpu=4,gres/gpu:a100=4,node=1", 4, 32000, 256000, "a100"},
               {"gres/gpu:a100=4,gres/gpu=4", 4, 0, 0, "a100"},
               {"gres/gpu:a100=1,gres/gpu:a40=2", 3, 0, 0, "a100|a40"},
               {"gres/gpu:a100_1g.5gb=2", 2, 0, 0, "a100"},
               {"gres/gpu=1,gres/gpu:1g.10gb=1", 1, 0, 0, ""},
               {"gpu:2", 2, 0, 0, ""},
               {"gpu", 1, 0, 0, ""},
               {"gres:gpu:v100:8", 8, 0, 0, "v100"},
               {"gpu:a100:2(IDX:0-1)", 2, 0, 0, "a100"},
               {"gpu:tesla", 1, 0, 0, "tesla"},
               {"gres/gpumem=40G,gres/shard=2,license/x=1", 0, 0, 0, ""},
               {"cpu=1.5,mem=1T", 0, 1500, 1 << 20, ""},
               {"", 0, 0, 0, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[500];
    snprintf(text, sizeof text, SHORT "1|COMPLETED|100|110|400|%s\n", cases[i].text);
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->gpus[0], cases[i].gpus);
    CU_ASSERT_EQUAL(trace->cpu_milli ? trace->cpu_milli[0] : 0, cases[i].cpu_milli);
    CU_ASSERT_EQUAL(trace->mem_mib ? trace->mem_mib[0] : 0, cases[i].mem_mib);
    bool typed = trace->gpu_types && trace->gpu_types[0] != HR_NONE;
    CU_ASSERT_STRING_EQUAL(typed ? trace->gpu_type_lists.text[trace->gpu_types[0]] : "", cases[i].types);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(refused(SHORT "1|COMPLETED|100|110|400|gres/gpu=1.5\n", NULL,
                    "jobs.csv:2: column 'AllocTRES': 'gres/gpu=1.5' is not", ""));
  char many[1100] = SHORT "1|COMPLETED|100|110|400|";
  for (int i = 0; i < 20; i++) sprintf(many + strlen(many), "gres/gpu:a-long-name-of-a-gpu-%d=1,", i);
  strcat(many, "\n");
  CU_ASSERT(refused(many, NULL, "jobs.csv:2: column 'AllocTRES'", "too many types of GPUs"));
}

/* A GPU type that names a MIG profile is the profile of the job. Each instance is a task. */
static void mig_profiles(void) {
  static const struct {
    const char *text, *profile;
    uint32_t tasks;
  } cases[] = {{"gres/gpu:1g.10gb=1", "1g.10gb", 1},
               {"gres/gpu=3,gres/gpu:nvidia_a100_3g.20gb=3", "3g.20gb", 3},
               {"gres/gpu:a100-1g.10gb+me=2", "1g.10gb+me", 2},
               {"gres/gpu:1g.10gbx=2", NULL, 1},
               {"gres/gpu:a1.1g=2", NULL, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[500];
    snprintf(text, sizeof text, SHORT "1|COMPLETED|100|110|400|cpu=12,mem=24G,%s\n", cases[i].text);
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    bool has = trace->mig_profile && trace->mig_profile[0] != HR_NONE;
    CU_ASSERT_STRING_EQUAL(has ? trace->mig_profiles.text[trace->mig_profile[0]] : "",
                           cases[i].profile ? cases[i].profile : "");
    CU_ASSERT_EQUAL(trace->tasks ? trace->tasks[0] : 1, cases[i].tasks);
    CU_ASSERT_EQUAL(trace->cpu_milli[0], 12000 / cases[i].tasks);
    CU_ASSERT_EQUAL(trace->mem_mib[0], (24 << 10) / cases[i].tasks);
    CU_ASSERT_EQUAL(has_note(&trace->notes, "1 job has a MIG profile as GPU type"), has);
    hr_trace_destroy(trace);
  }
}

#define WITH_PRIORITY "JobID|State|Submit|Start|End|AllocTRES|Priority\n"

/* Slurm's priorities are 32-bit unsigned numbers. Those of priority/basic begin at 4294901760 and decrease. */
static void priorities(void) {
  struct hr_trace *trace = trace_of(WITH_PRIORITY "1|FAILED|1|2|3|gres/gpu=1|4294901760\n"
                                                  "2|FAILED|1|2|3|gres/gpu=1|4294901759\n"
                                                  "3|FAILED|1|2|3|gres/gpu=1|4294967295\n"
                                                  "4|FAILED|1|2|3|gres/gpu=1|0\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  static const int64_t expected[] = {4294901760, 4294901759, 4294967295, 0};
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(trace->priority[i] - (int64_t)INT32_MAX, expected[i] - UINT32_MAX);
  CU_ASSERT(has_note(&trace->notes, "the highest priority is 4294967295: all priorities are reduced by 2147483648"));
  hr_trace_destroy(trace);
  trace = trace_of(WITH_PRIORITY "1|FAILED|1|2|3|gres/gpu=1|2147483647\n2|FAILED|1|2|3|gres/gpu=1|7\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->priority[0] == INT32_MAX && trace->priority[1] == 7);
  CU_ASSERT(!has_note(&trace->notes, "priorit"));
  hr_trace_destroy(trace);
  trace = trace_of(WITH_PRIORITY "1|FAILED|1|2|3|gres/gpu=1|4294967296\n2|FAILED|1|2|3|gres/gpu=1|7\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->priority[0] == 0 && trace->priority[1] == 7);
  CU_ASSERT(has_note(&trace->notes, "1 row has a priority above 4294967295, which is ignored"));
  hr_trace_destroy(trace);
}

#define NAMED "JobID|JobName|Account|Partition|QOS|State|Submit|Start|End|AllocTRES\n"
#define NAMED_ROW(id, name, partition, qos) id "|" name "|acc|" partition "|" qos "|COMPLETED|100|110|400|gres/gpu=1\n"

static struct hr_trace *mapped(const char *text, const char *map, const char *rule, const char *other_rule) {
  struct hr_column_map columns = {0};
  struct hr_error error = {0};
  if (map) CU_ASSERT_EQUAL(hr_column_map_parse(&columns, map, &error), HR_OK);
  if (rule) CU_ASSERT_EQUAL(hr_column_map_add_rule(&columns, "class", rule, &error), HR_OK);
  if (other_rule) CU_ASSERT_EQUAL(hr_column_map_add_rule(&columns, "tenant", other_rule, &error), HR_OK);
  struct hr_trace *trace = trace_of(text, &(struct hr_trace_options){.map = &columns});
  hr_column_map_finish(&columns);
  return trace;
}

static const char *tenant_of(const struct hr_trace *trace, uint32_t job) {
  return trace->tenant[job] == HR_NONE ? "" : trace->tenants.text[trace->tenant[job]];
}

static void queue_and_qos(void) {
  struct hr_trace *trace = trace_of(NAMED NAMED_ROW("1", "a", "gpu", "high") NAMED_ROW("2", "b", "gpu", "")
                                        NAMED_ROW("3", "c", "cpu", "low") NAMED_ROW("3", "c", "gpu", "low"),
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  static const char *const qos[] = {"high", NULL, "low"};
  for (uint32_t i = 0; i < 3; i++) {
    CU_ASSERT_STRING_EQUAL(trace->queues.text[trace->queue[i]], "gpu"); // of the last attempt
    CU_ASSERT((trace->qos[i] == HR_NONE) == !qos[i]);
    if (qos[i]) CU_ASSERT_STRING_EQUAL(trace->qos_names.text[trace->qos[i]], qos[i]);
  }
  hr_trace_destroy(trace);
  trace = trace_of(SHORT "1|COMPLETED|100|110|400|gres/gpu=1\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!trace->queue || trace->queue[0] == HR_NONE);
  CU_ASSERT(!trace->qos || trace->qos[0] == HR_NONE);
  hr_trace_destroy(trace);
}

/* Any column or pattern can determine class and tenant, also if a job has several attempts. */
static void columns_and_patterns(void) {
  static const char text[] = NAMED NAMED_ROW("1", "jupyter-7", "gpu", "high")
      NAMED_ROW("2", "train", "interactive", "low") NAMED_ROW("3", "vscode", "gpu", "low")
          NAMED_ROW("3", "vscode", "gpu", "low") NAMED_ROW("4", "x-jupyter", "gpu", "");
  struct hr_trace *trace = mapped(text, "class=Partition,queue=QOS", "interactive=JobName~^(jupyter|vscode)", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 4);
  static const uint8_t classes[] = {HR_CLASS_INTERACTIVE, HR_CLASS_INTERACTIVE, HR_CLASS_INTERACTIVE, HR_CLASS_UNKNOWN};
  static const char *const tenants[] = {"high", "low", "low", "acc"};
  for (uint32_t i = 0; i < 4; i++) {
    CU_ASSERT_EQUAL(trace->class_[i], classes[i]);
    CU_ASSERT_STRING_EQUAL(tenant_of(trace, i), tenants[i]);
  }
  CU_ASSERT(has_note(&trace->notes, "1 job has a 'Partition' that is not a class and gets no class from it: 'gpu'"));
  hr_trace_destroy(trace);
  trace = mapped(text, NULL, "training=JOBNAME~train|nothing", "tools=JobName~jupyter");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->class_[1] == HR_CLASS_TRAINING && trace->class_[0] == HR_CLASS_UNKNOWN);
  CU_ASSERT_STRING_EQUAL(tenant_of(trace, 0), "tools");
  CU_ASSERT_STRING_EQUAL(tenant_of(trace, 3), "tools");
  CU_ASSERT_STRING_EQUAL(tenant_of(trace, 1), "acc");
  CU_ASSERT(!has_note(&trace->notes, "no job matches"));
  hr_trace_destroy(trace);
  trace = mapped(text, NULL, "training=JobName~^nothing$", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "class 'training=JobName~^nothing$': no job matches"));
  hr_trace_destroy(trace);
}

/* A map may name columns for the tenant and the queue, in any order. If it names no tenant, its queue becomes the
   tenant. */
static void tenant_and_queue(void) {
  static const char text[] =
      NAMED NAMED_ROW("1", "a", "gpu", "high") NAMED_ROW("2", "b", "cpu", "low") NAMED_ROW("2", "b", "cpu", "low");
  static const struct {
    const char *map, *tenants[2], *queues[2];
  } cases[] = {{"tenant=Account,queue=QOS", {"acc", "acc"}, {"high", "low"}},
               {"queue=QOS,tenant=JobName", {"a", "b"}, {"high", "low"}},
               {"queue=QOS", {"high", "low"}, {"gpu", "cpu"}},
               {"tenant=QOS", {"high", "low"}, {"gpu", "cpu"}}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct hr_trace *trace = mapped(text, cases[k].map, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    for (uint32_t i = 0; i < 2; i++) {
      CU_ASSERT_STRING_EQUAL(tenant_of(trace, i), cases[k].tenants[i]);
      CU_ASSERT_STRING_EQUAL(trace->queues.text[trace->queue[i]], cases[k].queues[i]);
    }
    hr_trace_destroy(trace);
  }
  struct hr_trace *trace =
      mapped("submit_s,duration_s,gpus,account,part\n0,10,1,acc,gpu\n", "queue=part,tenant=account", NULL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(tenant_of(trace, 0), "acc");
  CU_ASSERT_STRING_EQUAL(trace->queues.text[trace->queue[0]], "gpu");
  hr_trace_destroy(trace);
  /* A second map adds to the first one, or replaces its columns. */
  struct hr_column_map map = {0}, copy = {0};
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "queue=A", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_column_map_add_entry(&copy, &map.entry[0], NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_column_map_parse(&copy, "queue=B", NULL), HR_OK);
  CU_ASSERT_EQUAL(copy.count, 1);
  CU_ASSERT_STRING_EQUAL(copy.entry[0].field, "tenant");
  CU_ASSERT_STRING_EQUAL(copy.entry[0].column, "B");
  CU_ASSERT_EQUAL(hr_column_map_parse(&copy, "tenant=C", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(copy.count, 2);
  CU_ASSERT_STRING_EQUAL(copy.entry[0].field, "queue");
  CU_ASSERT_STRING_EQUAL(copy.entry[1].field, "tenant");
  hr_column_map_finish(&map);
  hr_column_map_finish(&copy);
}

static bool rule_fails(const char *field, const char *rule, const char *words) {
  struct hr_column_map map = {0};
  struct hr_error error = {0};
  bool fails = hr_column_map_add_rule(&map, field, rule, &error) == HR_BAD_INPUT && strstr(error.text, words);
  if (!fails) printf("\n  %s: %s\n", rule, error.text);
  hr_column_map_finish(&map);
  return fails;
}

static void bad_maps(void) {
  CU_ASSERT(rule_fails("class", "interactive", "VALUE=COLUMN~PATTERN"));
  CU_ASSERT(rule_fails("class", "interactive=JobName", "VALUE=COLUMN~PATTERN"));
  CU_ASSERT(rule_fails("class", "=JobName~x", "the value is missing"));
  CU_ASSERT(rule_fails("class", "interactive=~x", "the column is missing"));
  CU_ASSERT(rule_fails("class", "interactive=JobName~", "the pattern is missing"));
  CU_ASSERT(rule_fails("class", "interactive=JobName~^(a", "not a regular expression"));
  CU_ASSERT(rule_fails("class", "gpu=JobName~x", "'gpu' is not one of training"));
  CU_ASSERT(rule_fails("gpus", "4=JobName~x", "cannot have patterns"));
  struct hr_column_map map = {0};
  struct hr_error error = {0};
  static const char *const twice[] = {"queue=Account,queue=QOS", "tenant=Account,tenant=QOS",
                                      "queue=Account,tenant=User,queue=QOS", "tenant=Account,queue=User,tenant=QOS"};
  for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
    CU_ASSERT_EQUAL(hr_column_map_parse(&map, twice[i], &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "is set twice: to 'Account' and to 'QOS'"));
    hr_column_map_finish(&map);
  }
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "class=Partitoin", &error), HR_OK);
  struct hr_trace_options options = {.map = &map};
  CU_ASSERT(refused(NAMED NAMED_ROW("1", "a", "b", "c"), &options, "jobs.csv:1: missing column 'Partitoin'",
                    "did you mean 'Partition'"));
  hr_column_map_finish(&map);
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "gpus=NNodes", &error), HR_OK);
  options.format = "sacct";
  CU_ASSERT(refused(NAMED NAMED_ROW("1", "a", "b", "c"), &options,
                    "jobs.csv: 'gpus' cannot be mapped in format 'sacct'",
                    "--map accepts class, tenant, queue, user and model"));
  options.format = NULL; /* detected */
  CU_ASSERT(refused(NAMED NAMED_ROW("1", "a", "b", "c"), &options,
                    "jobs.csv: 'gpus' cannot be mapped in format 'sacct'",
                    "--map accepts class, tenant, queue, user and model"));
  hr_column_map_finish(&map);
}

static void limits(void) {
  static const struct {
    const char *text;
    int64_t s; /* seconds; -1: the limit is rejected */
  } cases[] = {{"1-12:00:00", 129600},
               {"12:00:00", 43200},
               {"30:00", 1800},
               {"2-0", 172800},
               {"2-06:30", 196200},
               {"00:00:01", 1},
               {"30", -1},
               {"1:2:3:4", -1},
               {"a:b", -1},
               {"-1:00:00", -1},
               {"1-", -1},
               {"1:-2:3", -1},
               {"99999999-0", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[500];
    snprintf(text, sizeof text, "JobID|State|Submit|Start|End|AllocTRES|Timelimit\n1|FAILED|1|2|3|gres/gpu=1|%s\n",
             cases[i].text);
    if (cases[i].s < 0) {
      CU_ASSERT(refused(text, NULL, "jobs.csv:2: column 'Timelimit': '", "is not a duration"));
      continue;
    }
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->limit_us[0], cases[i].s * HR_SECOND_US);
    hr_trace_destroy(trace);
  }
}

/* The job has 2 nodes, 2 GPUs and 8 CPUs. It becomes two tasks, and each task has half of the memory. */
static void memory(void) {
  static const struct {
    const char *text;
    int64_t mib; /* memory of one task; -1: the amount is rejected */
  } cases[] = {{"64G", 32768}, {"4Gn", 4096}, {"1.5Gc", 6144}, {"512", 256},
               {"2048K", 1},   {"", 0},       {"G", -1},       {"4Q", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[500];
    snprintf(text, sizeof text,
             "JobID|State|Submit|Start|End|NNodes|NCPUS|AllocTRES|ReqMem\n1|FAILED|1|2|3|2|8|gres/gpu=2|%s\n",
             cases[i].text);
    if (cases[i].mib < 0) {
      CU_ASSERT(refused(text, NULL, "jobs.csv:2: column 'ReqMem': '", "is not an amount of memory"));
      continue;
    }
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->tasks[0], 2);
    CU_ASSERT_EQUAL(trace->mem_mib ? (int64_t)trace->mem_mib[0] : 0, cases[i].mib);
    hr_trace_destroy(trace);
  }
}

static void states(void) {
  struct hr__slurm_state state;
  CU_ASSERT(hr__job_state_parse(text_of("CANCELLED by 1000"), &state));
  CU_ASSERT_EQUAL(state.outcome, HR_OUTCOME_CANCELLED);
  CU_ASSERT(hr__job_state_parse(text_of("CANCELLED+"), &state));
  CU_ASSERT(hr__job_state_parse(text_of("NODE_FAIL"), &state));
  CU_ASSERT_EQUAL(state.outcome, HR_OUTCOME_FAILED);
  CU_ASSERT(hr__job_state_parse(text_of("RUNNING"), &state));
  CU_ASSERT_EQUAL(state.stage, HR__STAGE_RUNNING);
  CU_ASSERT(!hr__job_state_parse(text_of("completed"), &state));
  CU_ASSERT(!hr__job_state_parse(text_of(""), &state));
}

TEST_MAIN("import_sacct", TEST(a_listing_with_all_columns), TEST(columns_in_any_order),
          TEST(attempts_are_merged_into_one_job), TEST(attempts_in_any_order), TEST(ignored_data_is_noted),
          TEST(bad_rows), TEST(bad_rows_are_counted), TEST(resources), TEST(mig_profiles), TEST(priorities),
          TEST(queue_and_qos), TEST(columns_and_patterns), TEST(tenant_and_queue), TEST(bad_maps), TEST(limits),
          TEST(memory), TEST(states))
