/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of lists of Kubernetes objects: objects of the same job, run times, requests. */
#include "harness.h"

#include "expected.h"
#include "samples.h"
#include "trace_files.h"

#include <string.h>

static void all_kinds_of_objects(void) {
  static const struct expected_job jobs[] = {
      {"vision/train", 0, 1800, 3600, 8, 2, HR_OUTCOME_COMPLETED, "vision/lq", "vision", "NVIDIA-A100-SXM4-80GB",
       .limit_s = 7200, .cpu_milli = 500, .mem_mib = 16 << 10, .priority = 100},
      {"speech/pytorchjob-x", 0, 660, 1800, 3, 3, HR_OUTCOME_FAILED, "cq", "speech", .mig_profile = "1g.10gb",
       .limit_s = 3600, .mem_mib = 1000, .priority = 5},
      {"speech/notebook", 30, 31, 300, 1, 1, HR_OUTCOME_FAILED, "speech", "speech", .gpu_milli = 250,
       .priority = 1000}};
  struct hr_trace *trace = trace_of(KUBERNETES_SAMPLE, NULL);
  CU_ASSERT(jobs_are(trace, "kubernetes", jobs, 3));
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated);
  CU_ASSERT(has_note(&trace->notes, "1 object is of an unsupported kind"));
  CU_ASSERT(has_note(&trace->notes, "3 jobs were evicted or requeued"));
  CU_ASSERT(has_note(&trace->notes, "1 job ran before it was evicted"));
  CU_ASSERT(has_note(&trace->notes, "1 workload has pod sets with different requests"));
  CU_ASSERT(has_note(&trace->notes, "1 job requests nvidia.com/gpu.shared, counted as 1/4 of a GPU (assumed)"));
  CU_ASSERT_EQUAL(trace->n_skipped, 0);
  hr_trace_destroy(trace);
}

/* The order of the kinds in the list does not matter. */
static void the_order_of_objects_does_not_matter(void) {
  struct hr_trace *trace = trace_of(KUBE_LIST(KUBE_REST ",\n" KUBE_POD ",\n" KUBE_POD_OF_JOB ",\n" KUBE_WORKLOAD
                                                        ",\n" KUBE_WORKLOAD_OF_JOB ",\n" KUBE_JOB),
                                    &(struct hr_trace_options){.format = "kubernetes:replicas=2"});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 3);
  static const char *const ids[] = {"speech/pytorchjob-x", "vision/train", "speech/notebook"};
  static const uint32_t gpus[] = {3, 8, 1};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    char buffer[HR_JOB_ID_BUFFER];
    CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){i}, buffer), ids[i]);
    CU_ASSERT_EQUAL(trace->gpus[i], gpus[i]);
  }
  CU_ASSERT_EQUAL(trace->gpu_milli[2], 500);
  CU_ASSERT_EQUAL(trace->priority[1], 100);
  CU_ASSERT(!has_note(&trace->notes, "assumed"));
  hr_trace_destroy(trace);
}

#define META(name, uid, more)                                                                                          \
  "\"metadata\": {\"name\": \"" name "\", \"namespace\": \"n\", \"uid\": \"" uid                                       \
  "\", \"creationTimestamp\": \"2026-01-01T00:00:00Z\"" more "}"
#define OWNED(uid) ", \"ownerReferences\": [{\"uid\": \"" uid "\"}]"
#define RAN(type)                                                                                                      \
  "\"status\": {\"startTime\": \"2026-01-01T00:00:10Z\", \"conditions\": [{\"type\": \"" type                          \
  "\", \"status\": \"True\", \"lastTransitionTime\": \"2026-01-01T00:01:10Z\"}]}"
#define POD_SPEC(resources) "{\"containers\": [{\"resources\": " resources "}]}"
#define JOB(name, uid, more, spec, status)                                                                             \
  "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", " META(name, uid, more) ", \"spec\": {" spec "}, " status "}"
#define TEMPLATE(spec) "\"template\": {\"spec\": " spec "}"

static void jobs_without_kueue(void) {
  static const struct expected_job jobs[] = {
      {"n/a", 0, 10, 60, 6, 3, HR_OUTCOME_FAILED, "n", "n", .cpu_milli = 2000, .mem_mib = 954},
      {"n/b", 0, 10, 60, 0, 1, HR_OUTCOME_COMPLETED, "n", "n", .cpu_milli = 250},
      {"n/c", 0, 10, 60, 1, 1, HR_OUTCOME_COMPLETED, "n", "n", "A100|H100"}};
  struct hr_trace *trace =
      trace_of(KUBE_LIST(JOB(
                   "a", "1", "",
                   "\"parallelism\": 5, \"completions\": 3, " TEMPLATE(
                       POD_SPEC("{\"requests\": {\"amd.com/gpu\": 2, \"cpu\": 2, \"memory\": \"1G\"}}")),
                   RAN("Failed")) ",\n" JOB("b", "2", "", TEMPLATE(POD_SPEC("{\"limits\": {\"cpu\": \"0.25\"}}")),
                                            RAN("Complete")) ",\n" JOB("c", "3", "",
                                                                       TEMPLATE("{\"initContainers\": [{\"resources\": "
                                                                                "{\"limits\": {\"nvidia.com/gpu\": "
                                                                                "\"1\"}}}], \"containers\": [{}], "
                                                                                "\"affinity\": {\"nodeAffinity\": "
                                                                                "{\"requiredDuringSchedulingIgnoredDuri"
                                                                                "ngExecution\": {\"nodeSelectorTerms\":"
                                                                                "[{\"matchExpressions\": [{\"key\": "
                                                                                "\"nvidia.com/gpu.product\", "
                                                                                "\"operator\": \"In\", \"values\": "
                                                                                "[\"A100\", \"H100\"]}]}]}}}}"),
                                                                       RAN("Complete"))),
               NULL);
  CU_ASSERT(jobs_are(trace, "kubernetes", jobs, 3));
  hr_trace_destroy(trace);
}

#define TERM(key, values)                                                                                              \
  "{\"matchExpressions\": [{\"key\": \"" key "\", \"operator\": \"In\", \"values\": [" values "]}]}"
#define POD_OF_TERMS(terms)                                                                                            \
  "{\"containers\": [{\"resources\": {\"limits\": {\"nvidia.com/gpu\": 1}}}], \"affinity\": {\"nodeAffinity\": "       \
  "{\"requiredDuringSchedulingIgnoredDuringExecution\": {\"nodeSelectorTerms\": [" terms "]}}}}"

/* A node must match at least one term of an affinity. Job a accepts the union of the GPU types of its two terms. Job b
   accepts any type, because its second term does not restrict the type. */
static void terms_of_an_affinity(void) {
  static const struct expected_job jobs[] = {{"n/a", 0, 10, 60, 1, 1, HR_OUTCOME_COMPLETED, "n", "n", "A100|L4|H100"},
                                             {"n/b", 0, 10, 60, 1, 1, HR_OUTCOME_COMPLETED, "n", "n"}};
  struct hr_trace *trace = trace_of(
      KUBE_LIST(JOB("a", "1", "",
                    TEMPLATE(POD_OF_TERMS(TERM("nvidia.com/gpu.product", "\"A100\", \"L4\"") ", " TERM(
                        "nvidia.com/gpu.product", "\"H100\", \"A100\""))),
                    RAN("Complete")) ",\n" JOB("b", "2", "",
                                               TEMPLATE(POD_OF_TERMS(TERM("nvidia.com/gpu.product",
                                                                          "\"A100\"") ", " TERM("zone", "\"x\""))),
                                               RAN("Complete"))),
      NULL);
  CU_ASSERT(jobs_are(trace, "kubernetes", jobs, 2));
  hr_trace_destroy(trace);
}

/* A note reports pods that request several kinds of GPUs, because one job cannot have them. */
static void several_kinds_of_gpus_are_noted(void) {
  static const char *const limits[] = {"\"nvidia.com/gpu\": 1, \"amd.com/gpu\": 2",
                                       "\"nvidia.com/gpu\": 1, \"nvidia.com/gpu.shared\": 1",
                                       "\"nvidia.com/gpu\": 1, \"nvidia.com/mig-1g.10gb\": 1",
                                       "\"nvidia.com/mig-1g.10gb\": 2, \"nvidia.com/mig-2g.20gb\": 1"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    char text[2000];
    snprintf(text, sizeof text, KUBE_LIST(JOB("a", "1", "", TEMPLATE(POD_SPEC("{\"limits\": {%s}}")), RAN("Complete"))),
             limits[i]);
    struct hr_trace *trace = trace_of(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT(has_note(&trace->notes, "1 job requests several kinds of GPUs in a pod"));
    hr_trace_destroy(trace);
  }
  struct hr_trace *trace = trace_of(
      KUBE_LIST(JOB("a", "1", "",
                    TEMPLATE("{\"initContainers\": [{\"resources\": {\"limits\": {\"nvidia.com/mig-1g.10gb\": 1}}}], "
                             "\"containers\": [{\"resources\": {\"limits\": {\"nvidia.com/mig-1g.10gb\": 2}}}]}"),
                    RAN("Complete"))),
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!has_note(&trace->notes, "several kinds"));
  hr_trace_destroy(trace);
}

#define WORKLOAD(name, uid, more, sets, status)                                                                        \
  "{\"apiVersion\": \"kueue.x-k8s.io/v1beta2\", \"kind\": \"Workload\", " META(                                        \
      name, uid, more) ", \"spec\": {\"podSets\": [" sets "]}, \"status\": {" status "}}"
#define CONDITION(type, status, at)                                                                                    \
  "{\"type\": \"" type "\", \"status\": \"" status "\", \"lastTransitionTime\": \"2026-01-01T00:" at "Z\"}"

/* A workload has pod sets with different requests, and its start is only known from an event. In the second list the
   workload and a job have the same owner. */
static void workloads_with_other_owners(void) {
  static const struct expected_job jobs[] = {{"n/w", 0, 60, 120, 5, 1, .tenant = "n", .user = "n", .cpu_milli = 4000}};
  struct hr_trace *trace = trace_of(
      KUBE_LIST(WORKLOAD(
          "w", "w1", OWNED("jobset"),
          "{\"name\": \"x\", \"count\": 2, " TEMPLATE(
              POD_SPEC("{\"requests\": {\"nvidia.com/gpu\": 1, "
                       "\"cpu\": 1}}")) "},"
                                        "{\"name\": \"y\", \"count\": 1, " TEMPLATE(
                                            POD_SPEC("{\"requests\": {\"nvidia.com/gpu\": 3, "
                                                     "\"cpu\": 2}}")) "}",
          "\"conditions\": [" CONDITION("QuotaReserved", "False", "03:00") "," CONDITION(
              "Finished", "True",
              "03:00") "]") ",\n"
                            "{\"apiVersion\": \"v1\", \"kind\": \"Event\", \"metadata\": {}, \"reason\": \"Admitted\", "
                            "\"involvedObject\": {\"uid\": \"w1\"}, \"lastTimestamp\": \"2026-01-01T00:01:00Z\"}"),
      NULL);
  CU_ASSERT(jobs_are(trace, "kubernetes", jobs, 1));
  hr_trace_destroy(trace);
  static const struct expected_job parts[] = {{"n/w", 0, 10, 170, 1, 1, .tenant = "n", .user = "n"}};
  trace =
      trace_of(KUBE_LIST(JOB("j", "j1", OWNED("jobset"), TEMPLATE(POD_SPEC("{}")), RAN("Complete")) ",\n" WORKLOAD(
                   "w", "w1", OWNED("jobset"),
                   "{\"name\": \"x\", \"count\": 1, " TEMPLATE(POD_SPEC("{\"requests\": {\"nvidia.com/gpu\": 1}}")) "}",
                   "\"conditions\": [" CONDITION("Finished", "True", "03:00") "]")),
               NULL);
  CU_ASSERT(jobs_are(trace, "kubernetes", parts, 1));
  hr_trace_destroy(trace);
}

static void unfinished_jobs_are_skipped(void) {
  struct hr_trace
      *trace =
          trace_of(
              KUBE_LIST(
                  JOB("a", "1", "", TEMPLATE(POD_SPEC("{}")), "\"status\": {\"startTime\": \"2026-01-01T00:00:10Z\"}") ",\n" JOB("b", "2", "", TEMPLATE(POD_SPEC("{}")), "\"status\": {\"completionTime\": \"2026-01-01T00:00:10Z\"}") ",\n" JOB(
                      "c", "3", OWNED("4"), TEMPLATE(POD_SPEC("{}")),
                      RAN("Complete")) ",\n" JOB("d", "4", OWNED("3"), TEMPLATE(POD_SPEC("{}")),
                                                 RAN("Complete")) ",\n" JOB("e", "5", "", TEMPLATE(POD_SPEC("{}")),
                                                                            RAN("Complete")) ",\n"
                                                                                             "{\"apiVersion\": \"v1\", "
                                                                                             "\"kind\": \"Pod\", " META(
                                                                                                 "e-1", "6",
                                                                                                 OWNED(
                                                                                                     "5")) ", "
                                                                                                           "\"spec\": "
                                                                                                           "{\"containe"
                                                                                                           "rs\": []}, "
                                                                                                           "\"status\":"
                                                                                                           " {"
                                                                                                           "\"phase\": "
                                                                                                           "\"Running\""
                                                                                                           "}}"),
              NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(left_out(trace, "the job had not finished", 3), 1);
  CU_ASSERT_EQUAL(left_out(trace, "the start of the job is unknown", 4), 1);
  CU_ASSERT(trace->n_jobs >= 1); /* jobs c and d own each other; the search for the owner must end */
  hr_trace_destroy(trace);
}

static bool list_rejected(const char *item, const char *start, const char *part) {
  char text[4000];
  snprintf(text, sizeof text, "{\"apiVersion\": \"v1\", \"items\": [\n%s\n], \"kind\": \"List\"}", item);
  return refused(text, NULL, start, part);
}

static void bad_objects(void) {
  CU_ASSERT(refused("{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\"}", NULL, "jobs.csv: no \"items\"", "kubectl"));
  CU_ASSERT(list_rejected("7", "jobs.csv:2: items[0].kind is missing: expected an object", ""));
  CU_ASSERT(list_rejected("{\"metadata\": {}}", "jobs.csv:2: items[0].kind is missing", ""));
  CU_ASSERT(
      list_rejected("{\"kind\": \"Job\", \"metadata\": {}}", "jobs.csv:2: items[0].metadata.name is missing", ""));
  CU_ASSERT(list_rejected("{\"kind\": \"Job\", \"metadata\": {\"name\": \"a\"}}",
                          "jobs.csv:2: items[0].metadata.creationTimestamp is missing", ""));
  CU_ASSERT(list_rejected("{\"kind\": \"Job\", \"metadata\": {\"name\": \"a\", \"creationTimestamp\": \"now\"}}",
                          "jobs.csv:2: items[0].metadata.creationTimestamp: 'now' is not", "ISO 8601"));
  CU_ASSERT(list_rejected(JOB("a", "1", "", "\"parallelism\": -1, " TEMPLATE(POD_SPEC("{}")), RAN("Complete")),
                          "jobs.csv:2: items[0].spec.parallelism: '-1' is not a whole number", ""));
  CU_ASSERT(list_rejected(
      JOB("a", "1", "", TEMPLATE(POD_SPEC("{\"limits\": {\"nvidia.com/gpu\": \"two\"}}")), RAN("Complete")),
      "jobs.csv:2: items[0].spec.template.spec is a pod with invalid or too large resource quantities", ""));
  CU_ASSERT(list_rejected(JOB("a", "1", "",
                              "\"parallelism\": 4000000, " TEMPLATE(POD_SPEC("{\"limits\": {\"nvidia.com/gpu\": 2}}")),
                              RAN("Complete")),
                          "jobs.csv:2: the job requests more than 4000000 GPUs", ""));
  CU_ASSERT(list_rejected(
      JOB("a", "1", "", TEMPLATE(POD_SPEC("{}")),
          "\"status\": {\"startTime\": \"2026-01-02T00:00:00Z\", \"completionTime\": \"2026-01-01T00:00:10Z\"}"),
      "jobs.csv:2: the job finishes before it starts", ""));
  CU_ASSERT(list_rejected("{\"kind\": \"Workload\", " META("a", "1", "") ", \"spec\": {}}",
                          "jobs.csv:2: items[0].spec.podSets is not a list of pod sets", ""));
  CU_ASSERT(list_rejected("{\"kind\": \"PriorityClass\", \"metadata\": {\"name\": \"p\"}, \"value\": 1e12}",
                          "jobs.csv:2: items[0].value: '1000000000000' is not a whole number", ""));
}

#define QUEUED(space, name, admission)                                                                                 \
  "{\"kind\": \"Workload\", \"metadata\": {\"name\": \"" name "\", \"namespace\": \"" space                            \
  "\", \"uid\": \"" space name "\", \"creationTimestamp\": \"2026-01-01T00:00:00Z\"}, \"spec\": {\"queueName\": "      \
  "\"default\", \"podSets\": [{\"count\": 1, \"template\": {\"spec\": " POD_SPEC(                                      \
      "{\"requests\": {\"nvidia.com/gpu\": 1}}") "}}]}, \"status\": {" admission                                       \
                                                 "\"conditions\": [{\"type\": \"Admitted\", \"status\": \"True\", "    \
                                                 "\"lastTransitionTime\": \"2026-01-01T00:00:10Z\"}, "                 \
                                                 "{\"type\": \"Finished\", \"status\": \"True\", "                     \
                                                 "\"lastTransitionTime\": \"2026-01-01T00:01:10Z\"}]}}"
#define ADMITTED(queue) "\"admission\": {\"clusterQueue\": \"" queue "\"}, "
#define LOCAL_QUEUE                                                                                                    \
  "{\"kind\": \"LocalQueue\", \"metadata\": {\"name\": \"default\", \"namespace\": \"b\"}, \"spec\": "                 \
  "{\"clusterQueue\": \"cq-b\"}}"

/* LocalQueues of one name in several namespaces are different tenants. The tenant is the ClusterQueue of the admission,
   of another Workload of the LocalQueue, or of the object LocalQueue. If all are unknown, it is the LocalQueue. */
static void tenants_are_cluster_queues(void) {
  static const char *const tenants[] = {"cq-a", "cq-a", "cq-b", "c/default"};
  static const char *const queues[] = {"a/default", "a/default", "b/default", "c/default"};
  struct hr_trace *trace =
      trace_of(KUBE_LIST(QUEUED("a", "1", ADMITTED("cq-a")) ",\n" QUEUED("a", "2", "") ",\n" QUEUED(
                   "b", "3", "") ",\n" QUEUED("c", "4", "") ",\n" LOCAL_QUEUE),
               NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL_FATAL(trace->n_jobs, 4);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace->queue);
  for (uint32_t i = 0; i < 4; i++) {
    CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[i]], tenants[i]);
    CU_ASSERT_STRING_EQUAL(trace->queues.text[trace->queue[i]], queues[i]);
  }
  CU_ASSERT(!has_note(&trace->notes, "unsupported kind"));
  hr_trace_destroy(trace);
}

/* Any member can determine class and tenant, also a member of another object of the job, such as a Pod. */
static void members_and_patterns(void) {
  struct hr_column_map map = {0};
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "tenant=metadata.labels.a.b/team", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_column_map_add_rule(&map, "class", "interactive=metadata.name~^nb", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_column_map_add_rule(&map, "class", "training=kind~Job", NULL), HR_OK);
  struct hr_trace *trace = trace_of(
      KUBE_LIST(
          JOB("nb", "u1", ", \"labels\": {\"a.b/team\": \"red\"}", TEMPLATE(POD_SPEC("{}")), RAN("Complete")) ",\n" JOB(
              "train", "u2", "", TEMPLATE(POD_SPEC("{}")),
              RAN("Complete")) ",\n{\"kind\": \"Pod\", \"metadata\": {\"name\": "
                               "\"p\", \"namespace\": \"n\", \"uid\": \"u3\", \"creationTimestamp\": "
                               "\"2026-01-01T00:00:00Z\", \"labels\": "
                               "{\"a.b/team\": \"blue\"}" OWNED("u2") "}, \"spec\": " POD_SPEC(
                                   "{}") ", \"status\": {}}"),
      &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL_FATAL(trace->n_jobs, 2);
  CU_ASSERT(trace->class_[0] == HR_CLASS_INTERACTIVE && trace->class_[1] == HR_CLASS_TRAINING);
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[0]], "red");
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[1]], "blue");
  hr_trace_destroy(trace);
}

TEST_MAIN("import_kubernetes", TEST(all_kinds_of_objects), TEST(tenants_are_cluster_queues), TEST(members_and_patterns),
          TEST(the_order_of_objects_does_not_matter), TEST(jobs_without_kueue), TEST(terms_of_an_affinity),
          TEST(several_kinds_of_gpus_are_noted), TEST(workloads_with_other_owners), TEST(unfinished_jobs_are_skipped),
          TEST(bad_objects))
