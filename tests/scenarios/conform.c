/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of other schedulers pass the test vectors of these systems. The vectors are not part of the repository;
   without them, the tests that need them are skipped. Cases of Headroom's own are in this folder. Malformed cases fail
   and do not crash the program. */

#include "headroom/unstable/conform.h"
#include "harness.h"
#include "policies/kueue/cycle.h"

#include <string.h>

#define VECTORS REAL_TRACES_DIR "/../vectors/"

/* Runs vector files; all cases must pass, except `not_supported` cases. */
static void check(const char *system, const char *const *files, size_t n_files, uint64_t not_supported) {
  for (size_t i = 0; i < n_files; i++)
    if (real_trace_missing(files[i])) return;
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_conform_run(system, files, n_files, &report, &error), HR_OK);
  if (report.failed) hr_conform_print(stdout, &report);
  CU_ASSERT_EQUAL(report.failed, 0);
  CU_ASSERT_EQUAL(report.not_supported, not_supported);
  CU_ASSERT_TRUE(report.passed > 0);
  hr_conform_finish(&report);
}

static void autoscalers(void) {
  check("autoscalers", (const char *const[]){REAL_TRACES_DIR "/../serving/vectors.json"}, 1, 0);
}

static void clusters(void) {
  check("clusters", (const char *const[]){REAL_TRACES_DIR "/../clusters/vectors.json"}, 1, 0);
}

static void kai(void) {
  /* Not supported: DRA 10, affinity between pods 2. */
  check("kai", (const char *const[]){VECTORS "kai.json", VECTORS "kai_unit.json"}, 2, 12);
}

/* Runs a file of own cases, which must all pass. */
static void check_own(const char *system, const char *file, uint64_t n_cases) {
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_conform_run(system, &file, 1, &report, &error), HR_OK);
  if (report.failed) hr_conform_print(stdout, &report);
  CU_ASSERT_EQUAL(report.passed, n_cases);
  CU_ASSERT_EQUAL(report.failed + report.not_supported, 0);
  hr_conform_finish(&report);
}

/* Headroom's own cases for rules of several clusters, elastic capacity and data that no shared case covers. */
static void clusters_rules(void) {
  check_own("clusters", PROJECT_DIR "/tests/scenarios/clusters_rules.json", 325);
}

/* Headroom's own cases for rules of KAI that few or no shared cases cover. */
static void kai_rules(void) {
  check_own("kai", PROJECT_DIR "/tests/scenarios/kai_rules.json", 68);
}

static void kubernetes(void) {
  check("kubernetes", (const char *const[]){VECTORS "kube-scheduler.json"}, 1, 0);
  check_own("kubernetes", PROJECT_DIR "/tests/scenarios/kubernetes_rules.json", 3);
}

static void kueue(void) {
  /* Not supported: admission-check controllers 3, workload slices 1. */
  check("kueue", (const char *const[]){VECTORS "kueue.json"}, 1, 4);
}

static void slurm(void) {
  check("slurm", (const char *const[]){VECTORS "slurm.json"}, 1, 0);
  check_own("slurm", PROJECT_DIR "/tests/scenarios/slurm_rules.json", 76);
}

static void volcano(void) {
  /* Not supported: network topology 41 + 15, sharding 7, DRA 6, affinity between pods 4, plug-ins of the tests 3. */
  check("volcano", (const char *const[]){VECTORS "volcano.json", VECTORS "volcano_unit.json"}, 2, 76);
}

/* Headroom's own cases for topology spread constraints, gangs within a gang, and plug-ins. */
static void volcano_rules(void) {
  check_own("volcano", PROJECT_DIR "/tests/scenarios/volcano_rules.json", 39);
}

/* Headroom's own cases for rules of topology-aware scheduling that no shared case covers. */
static void kueue_topology(void) {
  check_own("kueue", PROJECT_DIR "/tests/scenarios/kueue_topology.json", 24);
}

/* Headroom's own cases for other rules of Kueue that no shared case covers. */
static void kueue_rules(void) {
  check_own("kueue", PROJECT_DIR "/tests/scenarios/kueue_rules.json", 12);
}

/* Cases with the results of a second model, which was written in Python from the rules. The generated cases are the
   smallest of each kind, out of those in which the two models agree. They detect later changes, but do not prove that
   the models agree in general. */
static void second_model(void) {
  check_own("kai", PROJECT_DIR "/tests/scenarios/kai_model.json", 64);
  check_own("kubernetes", PROJECT_DIR "/tests/scenarios/kubernetes_model.json", 23);
  check_own("kueue", PROJECT_DIR "/tests/scenarios/kueue_model.json", 60);
  check_own("slurm", PROJECT_DIR "/tests/scenarios/slurm_model.json", 8);
  check_own("volcano", PROJECT_DIR "/tests/scenarios/volcano_model.json", 28);
}

/* The back-off after a timeout doubles with each attempt, up to its maximum. */
static void kueue_backoff(void) {
  static const struct { int64_t count, at_s; } rows[] = {{-1, 30}, {0, 30}, {1, 60}, {3, 240}, {4, 400}, {62, 400}};
  struct hr__kueue_ready_rules rules = {.timeout_us = 0,
                                        .recovery_timeout_us = HR__KUEUE_NO_TIME,
                                        .backoff_limit = -1,
                                        .backoff_base_us = 30 * HR_SECOND_US,
                                        .backoff_max_us = 400 * HR_SECOND_US};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr__kueue_life life = {.active = true,
                                  .reserved = true,
                                  .readiness = {.admitted = true},
                                  .requeue = {rows[i].count, HR__KUEUE_NO_TIME}};
    struct hr__kueue_step step = hr__kueue_life_step(&rules, &life, HR_SECOND_US);
    CU_ASSERT_EQUAL(step.end, HR__KUEUE_END_TIMEOUT);
    CU_ASSERT_EQUAL(life.requeue.at_us, (rows[i].at_s + 1) * HR_SECOND_US);
  }
}

struct taint_case {
  const char *outer, *middle; /* taints of the first and third node; of the second node */
  const char *tolerations, *binds;
};

/* Writes a case with three nodes and one pod. The outer nodes have equal taints. Volcano selects any of several equal
   nodes, so in each case only the node in the middle is correct, or none. */
static void write_taint_case(FILE *file, const struct taint_case *row) {
  static const char format[] =
      "[{'id': 'taints', 'kind': 'schedule', 'run': {'actions': ['allocate'], 'tiers': [["
      "{'name': 'predicates', 'enabled': ['predicate']}, {'name': 'nodeorder', 'enabled': ['nodeOrder']}]]},"
      "'cluster': {'nodes': [{'name': 'n1', 'allocatable': {'cpu_milli': 2000, 'pods': 9}, 'taints': [%s]},"
      "{'name': 'n2', 'allocatable': {'cpu_milli': 2000, 'pods': 9}, 'taints': [%s]},"
      "{'name': 'n3', 'allocatable': {'cpu_milli': 2000, 'pods': 9}, 'taints': [%s]}]},"
      "'queues': [{'name': 'q', 'weight': 1, 'state': 'Open'}], 'jobs': [{'name': 'a/j', 'queue': 'q',"
      "'min_available': 1, 'phase': 'Inqueue', 'tasks': [{'name': 'a/p', 'phase': 'Pending',"
      "'requests': {'cpu_milli': 1000}, 'tolerations': [%s]}]}], 'expect': {'binds': {%s}}}]";
  char text[2048];
  int length = snprintf(text, sizeof text, format, row->outer, row->middle, row->outer, row->tolerations, row->binds);
  CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof text);
  for (char *at = text; *at; at++) fputc(*at == '\'' ? '"' : *at, file);
}

static void volcano_taints(void) {
  static const struct taint_case rows[] = {
      {"{'Key': 'k', 'Effect': 'TaintEffectPreferNoSchedule'}", "", "", "'a/p': 'n2'"},
      {"{'Key': 'k', 'Effect': 'TaintEffectNoSchedule'}", "", "", "'a/p': 'n2'"},
      {"{'Key': 'k', 'Value': 'v', 'Effect': 'NoSchedule'}", "{'Key': 'l', 'Effect': 'NoExecute'}",
       "{'Key': 'l', 'Operator': 'Exists'}", "'a/p': 'n2'"},
      {"{'Key': 'k', 'Value': 'v', 'Effect': 'NoSchedule'}", "{'Key': 'k', 'Value': 'w', 'Effect': 'NoSchedule'}",
       "{'Key': 'k', 'Operator': 'Equal', 'Value': 'w'}", "'a/p': 'n2'"},
      {"{'key': 'k', 'effect': 'NoSchedule'}", "{'key': 'l', 'effect': 'NoSchedule'}",
       "{'key': 'l', 'operator': 'Exists'}", "'a/p': 'n2'"},
      {"{'Key': 'k', 'Effect': 'NoExecute'}", "{'Key': 'k', 'Effect': 'NoSchedule'}",
       "{'Operator': 'Exists', 'Effect': 'PreferNoSchedule'}", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *const path = "volcano_taints.json";
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    write_taint_case(file, &rows[i]);
    fclose(file);
    struct hr_conform_report report;
    struct hr_error error;
    CU_ASSERT_EQUAL_FATAL(hr_conform_run("volcano", &path, 1, &report, &error), HR_OK);
    if (report.passed != 1) hr_conform_print(stdout, &report);
    CU_ASSERT_EQUAL(report.passed, 1);
    hr_conform_finish(&report);
    remove(path);
  }
}

/* Runs one case from memory, and returns its report. */
static enum hr_status run_text(const char *system, const char *text, struct hr_conform_report *report,
                               struct hr_error *error) {
  const char *const path = "conform-case.json";
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  enum hr_status status = hr_conform_run(system, &path, 1, report, error);
  remove(path);
  return status;
}

/* A case of an unknown kind fails. It does not pass, and it does not prevent the other cases from running. */
static void unknown_kind(void) {
  for (size_t i = 0; hr_conform_systems[i]; i++) {
    if (strcmp(hr_conform_systems[i], "autoscalers") == 0) continue; /* see malformed_groups */
    struct hr_conform_report report;
    struct hr_error error;
    const char *text = "[{\"id\": \"a\", \"kind\": \"x\", \"input\": {}, \"expect\": {}}]";
    CU_ASSERT_EQUAL(run_text(hr_conform_systems[i], text, &report, &error), HR_OK);
    CU_ASSERT_EQUAL(report.failed, 1);
    hr_conform_finish(&report);
  }
}

/* A case that cannot be run fails, and does not end the run. */
static void case_without_input_or_expectation(void) {
  static const char *const texts[] = {
      "[{\"id\": \"a\", \"kind\": \"cycle\", \"expect\": {}}, {\"id\": \"b\", \"kind\": \"cycle\", \"expect\": {}}]",
      "[{\"id\": \"a\", \"kind\": \"schedule\", \"cluster\": {}}]"};
  for (size_t i = 0; i < 2; i++) {
    struct hr_conform_report report;
    struct hr_error error;
    CU_ASSERT_EQUAL_FATAL(run_text(i ? "kai" : "kueue", texts[i], &report, &error), HR_OK);
    CU_ASSERT_EQUAL_FATAL(report.failed, i ? 1 : 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.cases[0].differences[0].actual, "expect"));
    hr_conform_finish(&report);
  }
}

/* Malformed cases that could crash the reader, or make it run for minutes. */
static void malformed_cases(void) {
  struct hr_conform_report report;
  struct hr_error error;
  const char *merge = "[{\"id\": \"a\", \"kind\": \"tas.mergeTopologyAssignments\", \"expect\": {}, \"input\": {"
                      "\"a\": {\"levels\": [\"x\"], \"domains\": [{\"count\": 1}]}, \"b\": {\"levels\": [\"x\"]}}}]";
  CU_ASSERT_EQUAL(run_text("kueue", merge, &report, &error), HR_OK);
  CU_ASSERT_EQUAL(report.failed, 1);
  hr_conform_finish(&report);
  const char *fit = "[{\"id\": \"a\", \"kind\": \"fit\", \"expect\": {\"insufficient\": []},"
                    " \"input\": {\"allocatable\": [null], \"pod\": {\"containers\": [[1]]}}}]";
  CU_ASSERT_EQUAL(run_text("kubernetes", fit, &report, &error), HR_OK);
  hr_conform_finish(&report);
  const char *gpus = "[{\"id\": \"a\", \"kind\": \"gres.count\", \"expect\": {\"perGpu\": [1]},"
                     " \"input\": {\"gpus\": -1, \"sharedCount\": 1}}]";
  CU_ASSERT_EQUAL(run_text("slurm", gpus, &report, &error), HR_OK);
  CU_ASSERT_EQUAL(report.failed, 1);
  hr_conform_finish(&report);
}

/* Runs one case that must fail with the given words. */
static void check_malformed(const char *system, const char *kind, const char *rest, const char *words) {
  struct hr_conform_report report;
  struct hr_error error;
  char text[1200];
  int length = snprintf(text, sizeof text, "[{'id': 'a', 'kind': '%s', 'expect': {'result': true}, %s}]", kind, rest);
  CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof text);
  for (char *at = text; *at; at++)
    if (*at == '\'') *at = '"';
  CU_ASSERT_EQUAL_FATAL(run_text(system, text, &report, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(report.failed, 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(report.cases[0].differences[0].actual, words));
  hr_conform_finish(&report);
}

/* Numbers that overflow, queues that are their own ancestors, and names that are not unique. */
static void malformed_worlds(void) {
  static const char job[] = "'queues': [{'name': 'q', 'deserved': {'gpu': 1}}], 'jobs': [{'name': 'j', 'queue': 'q',"
                            "'tasks': [{'name': 'j-0', 'gpus': 1}]}]";
  char rest[600];
  check_malformed("kai", "schedule", "'cluster': {'nodes': [{'name': 'n', 'gpus': 1e300}]}", "out of range");
  check_malformed("kai", "schedule", "'cluster': {}, 'jobs': [{'name': 'j', 'created_min': -9e18}]", "out of range");
  check_malformed("kai", "schedule", "'cluster': {'nodes': [{'name': 'n'}, {'name': 'n'}]}", "same name");
  check_malformed("kai", "schedule", "'cluster': {}, 'queues': [{'name': 'a', 'parent': 'a'}]", "its own ancestor");
  check_malformed("kai", "reclaim-rule", "'input': {'queues': {'a': {'parent': 'b'}, 'b': {'parent': 'a'}}}",
                  "its own ancestor");
  check_malformed("kai", "schedule",
                  "'cluster': {}, 'jobs': [{'name': 'j', 'tasks': [{'name': 'p', 'gpu_fraction_devices': -1}]}]",
                  "0 to 1024");
  snprintf(rest, sizeof rest, "'cluster': {}, 'run': {'mode': 'rounds', 'rounds_after_match': 9999999}, %s", job);
  check_malformed("kai", "schedule", rest, "rounds");
  check_malformed("volcano", "schedule", "'cluster': {'nodes': [{'allocatable': {'cpu_milli': 1e18}}]}",
                  "out of range");
  check_malformed("kubernetes", "fit", "'input': {'allocatable': {'cpu': -9e18}}", "out of range");
  check_malformed("slurm", "backfill", "'input': {'jobs': [{'limitMinutes': 1e18}]}", "out of range");
  check_malformed("kueue", "tas.find",
                  "'input': {'levels': ['h'], 'nodes': [{'name': 'a', 'labels': {'h': 'a'}, 'allocatable': {'pods': 1},"
                  "'ready': true}], 'podSets': [{'name': 'main', 'count': 1, 'topologyRequest': {'required': 'h'}}],"
                  "'workload': {'unhealthyNodes': ['a'], 'admission': {'podSets': [{'name': 'main',"
                  "'topologyAssignment': {'levels': [], 'domains': []}}]}}}",
                  "expected a placement with levels");
}

/* Values of unexpected types: the cases have a result, and all memory is freed (which sanitizers check). */
static void other_types(void) {
  static const char *const cases[][2] = {
      {"kueue", "[{\"id\": \"a\", \"kind\": \"eviction.reconcile\", \"input\": {\"workload\": {\"name\": \"w\","
                "\"admissionChecks\": [{\"name\": \"c\", \"state\": \"Retry\"}, null, 1]}}, \"expect\": "
                "{\"wantWorkload\": {}}}]"},
      {"kueue", "[{\"id\": \"a\", \"kind\": \"queue.requeueCohort\", \"input\": {\"cohorts\": [], \"workloads\": [],"
                "\"cqNames\": [1]}, \"expect\": {\"wantInadmissible\": {\"q\": [\"a\"]}}}]"},
      {"clusters",
       "[{\"id\": \"a\", \"kind\": \"ca-unneeded\", \"input\": {\"since_min\": 1e300, \"unneeded_min\": -10},"
       "\"expect\": {\"removable\": false}}]"}};
  struct hr_conform_report report;
  struct hr_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CU_ASSERT_EQUAL(run_text(cases[i][0], cases[i][1], &report, &error), HR_OK);
    CU_ASSERT_EQUAL(report.passed + report.failed + report.not_supported, 1);
    hr_conform_finish(&report);
  }
}

/* Groups of cases: a case that cannot be run fails, and an unknown group fails. */
static void malformed_groups(void) {
  static const char *const bad[] = {
      "[]",
      "{\"knative_kpa\": {\"tests\": [{\"name\": \"no steps\"}]}}",
      "{\"keda\": {\"tests\": [{\"min\": 1}]}}",
      "{\"knative_kpa\": {\"tests\": [{\"spec\": {\"target\": 0}, \"steps\": [{\"now_s\": 0}]}]}}",
      "{\"nvcf\": {\"tests\": [{\"function\": \"guess\", \"want\": 1}]}}",
      "{\"knative_window_average\": {\"generated\": [{\"steps\": [{\"now_s\": -5, \"record\": 1}]}]}}",
      "{\"ray_serve\": {\"generated\": [{\"steps\": [{\"now_s\": 1e18, \"want\": 0}]}]}}",
      "{\"hpa_replicas\": {\"tests\": [{\"kind\": \"object-value\", \"current\": -1, \"want\": 1}]}}"};
  struct hr_conform_report report;
  struct hr_error error;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CU_ASSERT_EQUAL(run_text("autoscalers", bad[i], &report, &error), i ? HR_OK : HR_BAD_INPUT);
    CU_ASSERT_EQUAL(report.failed, i ? 1 : 0);
    hr_conform_finish(&report);
  }
  CU_ASSERT_EQUAL(run_text("autoscalers", "{\"borg\": {\"tests\": [{\"want\": 1}]}}", &report, &error), HR_OK);
  CU_ASSERT_EQUAL(report.failed, 1);
  hr_conform_finish(&report);
}

static void unknown_system(void) {
  struct hr_conform_report report;
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_conform_run("nomad", NULL, 0, &report, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "nomad"));
  hr_conform_finish(&report);
}

TEST_MAIN("test vectors of other schedulers", TEST(autoscalers), TEST(clusters), TEST(clusters_rules), TEST(kai),
          TEST(kai_rules), TEST(kubernetes), TEST(kueue), TEST(kueue_topology), TEST(kueue_rules), TEST(kueue_backoff),
          TEST(slurm), TEST(volcano), TEST(volcano_rules), TEST(volcano_taints), TEST(second_model), TEST(unknown_kind),
          TEST(case_without_input_or_expectation), TEST(malformed_cases), TEST(malformed_worlds), TEST(other_types),
          TEST(malformed_groups), TEST(unknown_system))
