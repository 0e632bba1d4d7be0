/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Public traces. The expected numbers were counted with other tools. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define SEPTEMBER REAL_TRACES_DIR "/helios-venus/helios_venus_2vc_sept.csv"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"
#define RICC REAL_TRACES_DIR "/swf/RICC-2010-2.swf.gz"
#define AZURE REAL_TRACES_DIR "/inference-azure/AzureLLMInferenceTrace_code.csv"
#define GAVEL REAL_TRACES_DIR "/throughput-gavel/simulation_throughputs.json"
#define OPENB REAL_TRACES_DIR "/alibaba-openb2023/"

static struct hr_trace *read(const char *path, const char *format, const char *map_text) {
  struct hr_column_map map = {0};
  struct hr_error error;
  if (map_text) CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, map_text, &error), HR_OK);
  struct hr_trace *trace = trace_at(path, &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
  if (!trace) fprintf(stderr, "\n    %s\n", trace_error());
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(trace->format, format);
  CU_ASSERT_EQUAL(trace->submit_us[0], 0);
  for (uint32_t i = 1; i < trace->n_jobs; i++) CU_ASSERT_FATAL(trace->submit_us[i] >= trace->submit_us[i - 1]);
  return trace;
}

static uint64_t sum_of_gpus(const struct hr_trace *trace) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) sum += trace->gpus[i];
  return sum;
}

static void helios(void) {
  if (real_trace_missing(HELIOS)) return;
  struct hr_trace *trace = read(HELIOS, "csv", "submit=arrival_s,duration=service_sec,gpus=gpu_count");
  CU_ASSERT_EQUAL(trace->n_jobs, 125303);
  CU_ASSERT_DOUBLE_EQUAL((double)sum_of_gpus(trace) / trace->n_jobs, 6.736, 0.0005);
  CU_ASSERT_STRING_EQUAL(trace->id_text[0], "363167#0");
  CU_ASSERT_EQUAL(trace->notes.count, 0);
  hr_trace_destroy(trace);
}

static void helios_september(void) {
  if (real_trace_missing(SEPTEMBER)) return;
  struct hr_trace *trace =
      read(SEPTEMBER, "csv", "submit=submit_time(us),gpus=num_chips,limit=walltime_limit_s,status=final_status");
  CU_ASSERT_EQUAL(trace->n_jobs, 1867);
  CU_ASSERT_EQUAL(trace->users.count, 12);
  CU_ASSERT_EQUAL(trace->tenants.count, 2);
  CU_ASSERT_EQUAL(trace->origin_us, INT64_C(5835000000));
  uint32_t n[HR_N_OUTCOMES] = {0};
  for (uint32_t i = 0; i < trace->n_jobs; i++) n[trace->outcome[i]]++;
  CU_ASSERT_EQUAL(n[HR_OUTCOME_COMPLETED], 786);
  CU_ASSERT_EQUAL(n[HR_OUTCOME_FAILED], 492);
  CU_ASSERT_EQUAL(n[HR_OUTCOME_CANCELLED], 589);
  hr_trace_destroy(trace);
}

static void philly(void) {
  if (real_trace_missing(PHILLY)) return;
  struct hr_trace *trace = read(PHILLY, "philly", NULL);
  CU_ASSERT_EQUAL(trace->n_jobs, 82247);
  CU_ASSERT_EQUAL(trace->tenants.count, 15);
  CU_ASSERT(trace->dated);
  CU_ASSERT_PTR_NOT_NULL(trace->row);
  CU_ASSERT_DOUBLE_EQUAL((double)trace->submit_us[trace->n_jobs - 1] / 86400e6, 108.9, 0.05);
  hr_trace_destroy(trace);
}

static void ricc(void) {
  if (real_trace_missing(RICC)) return;
  struct hr_trace *trace = read(RICC, "swf", NULL);
  CU_ASSERT_EQUAL(trace->n_jobs, 447794);
  CU_ASSERT_EQUAL(trace->users.count, 176);
  uint32_t n_cancelled = 0, n_zero = 0;
  int64_t waits_us = 0; /* sum of all waits; the expected value was computed with awk */
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    n_cancelled += trace->outcome[i] == HR_OUTCOME_CANCELLED;
    n_zero += trace->work_us[i] == 0;
    waits_us += trace->recorded_start_us[i] - trace->submit_us[i];
  }
  CU_ASSERT_EQUAL(waits_us, INT64_C(7151502235) * HR_SECOND_US);
  CU_ASSERT_EQUAL(n_cancelled, 16245);
  CU_ASSERT_EQUAL(n_zero, 10);
  CU_ASSERT(has_note(&trace->notes, "7092 jobs ran longer than their requested times"));
  hr_trace_destroy(trace);
}

static void openb_pods(void) {
  if (real_trace_missing(OPENB "openb_pod_list_default.csv")) return;
  struct hr_trace *trace = read(OPENB "openb_pod_list_default.csv", "openb", NULL);
  CU_ASSERT_EQUAL(trace->n_jobs, 8152);
  CU_ASSERT_EQUAL(sum_of_gpus(trace), 6989 + 2 * 16 + 4 * 15 + 8 * 44);
  CU_ASSERT(has_note(&trace->notes, "897 pods were never scheduled"));
  CU_ASSERT(has_note(&trace->notes, "3078 jobs request a fraction"));
  hr_trace_destroy(trace);
  CU_ASSERT(refused_at(OPENB "openb_pod_list_multigpu20.csv", NULL, "", "cannot be replayed"));
}

static void openb_nodes(void) {
  if (real_trace_missing(OPENB "openb_node_list_all_node.csv")) return;
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_nodes_read(OPENB "openb_node_list_all_node.csv", &cluster, &notes, &error), HR_OK);
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < cluster.n_pools; i++) nodes += cluster.pools[i].nodes;
  CU_ASSERT_EQUAL(nodes, 1213);
  CU_ASSERT_EQUAL(hr_cluster_spec_gpus(&cluster), 6212);
  CU_ASSERT_EQUAL(notes.count, 1);
  hr_notes_finish(&notes);
  hr_cluster_spec_finish(&cluster);
}

/* The file has 8,819 requests with 18,059,974 context tokens and 245,896 generated tokens, counted with awk. */
static void azure_requests(void) {
  if (real_trace_missing(AZURE)) return;
  struct hr_trace *trace = read(AZURE, "azure-llm", NULL);
  CU_ASSERT_EQUAL(trace->n_jobs, 8819);
  int64_t sum_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) sum_us += trace->work_us[i];
  CU_ASSERT_EQUAL(sum_us, 18059974 * (HR_SECOND_US / 10000) + 245896 * (HR_SECOND_US / 50));
  hr_trace_destroy(trace);
}

/* The published table states a throughput of 4.795294551566172 steps per second for this job type on a K80. */
static void gavel_throughputs(void) {
  if (real_trace_missing(GAVEL)) return;
  const char *format = "gavel:throughputs=" GAVEL ",reference=k80";
  struct hr_trace *trace = trace_of("ResNet-18 (batch size 16)\tc\t--num_steps\t1\t1000\t0.0\t1\n",
                                    &(struct hr_trace_options){.format = format});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->work_us[0], 208537763);
  hr_trace_destroy(trace);
}

TEST_MAIN("real", TEST(helios), TEST(helios_september), TEST(philly), TEST(ricc), TEST(openb_pods), TEST(openb_nodes),
          TEST(azure_requests), TEST(gavel_throughputs))
