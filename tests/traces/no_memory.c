/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulated allocation failures. Each operation is repeated: first its first allocation fails, then its second one, and
 * so on, until the operation succeeds. Each failure must return HR_NO_MEMORY. It must not crash or leak; a leak checker
 * detects leaks.
 */
#include "harness.h"

#include "headroom/unstable/replay.h"
#include "samples.h"
#include "scarce_memory.h"
#include "trace_files.h"

#include <string.h>

/* One complete use of the library. It frees everything that it allocates. */
typedef enum hr_status operation(const char *path, struct hr_error *error);

static void expect_no_memory_at_every_allocation(operation *run, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s", file_write_text("input.csv", text));
  long n_failures = 0;
  for (;; n_failures++) {
    struct hr_error error = {0};
    memory_ends_after(n_failures, false);
    enum hr_status status = run(path, &error);
    bool reached = memory_is_ample();
    if (!reached) {
      CU_ASSERT_EQUAL(status, HR_OK);
      break;
    }
    if (status != HR_NO_MEMORY) fprintf(stderr, "\n    allocation %ld: %d %s\n", n_failures, status, error.text);
    CU_ASSERT_EQUAL(status, HR_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "out of memory"));
  }
  CU_ASSERT(n_failures > 5);
}

static enum hr_status read_trace(const char *path, const struct hr_trace_options *options, struct hr_error *error) {
  struct hr_trace *trace;
  enum hr_status status = hr_trace_read(path, options, &trace, error);
  CU_ASSERT_EQUAL(status == HR_OK, trace != NULL);
  hr_trace_destroy(trace);
  return status;
}

static enum hr_status read_auto(const char *path, struct hr_error *error) {
  return read_trace(path, NULL, error);
}

static enum hr_status read_leniently(const char *path, struct hr_error *error) {
  return read_trace(path, &(struct hr_trace_options){.lenient = true}, error);
}

static enum hr_status read_mapped(const char *path, struct hr_error *error) {
  struct hr_column_map map = {0};
  enum hr_status status = hr_column_map_parse(&map, "submit=at,duration=run,gpus=m", error);
  if (status == HR_OK) status = read_trace(path, &(struct hr_trace_options){.map = &map}, error);
  hr_column_map_finish(&map);
  return status;
}

static enum hr_status read_and_redraw(const char *path, struct hr_error *error) {
  struct hr_trace *trace, *drawn = NULL;
  enum hr_status status = hr_trace_read(path, NULL, &trace, error);
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  spec.growth = 100.5; /* a growth that makes the array of drawn jobs grow */
  if (status == HR_OK) status = hr_trace_redraw(trace, &spec, 1, &drawn, error);
  CU_ASSERT_EQUAL(status == HR_OK, drawn != NULL);
  hr_trace_destroy(drawn);
  hr_trace_destroy(trace);
  return status;
}

/* Reads a trace with the option `spooled`, packs it, and maps the packed file. */
static enum hr_status read_and_pack(const char *path, struct hr_error *error) {
  struct hr_trace *trace, *mapped = NULL;
  struct hr_trace_options options = {.lenient = true, .spooled = true};
  char packed[220];
  snprintf(packed, sizeof packed, "%s.hrt", path);
  enum hr_status status = hr_trace_read(path, &options, &trace, error);
  if (status == HR_OK) status = hr_trace_pack(trace, packed, NULL, error);
  if (status == HR_OK) status = hr_trace_read(packed, NULL, &mapped, error);
  CU_ASSERT_EQUAL(status == HR_OK, mapped != NULL);
  hr_trace_destroy(mapped);
  hr_trace_destroy(trace);
  return status;
}

static enum hr_status read_nodes(const char *path, struct hr_error *error) {
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  enum hr_status status = hr_nodes_read(path, &cluster, &notes, error);
  hr_notes_finish(&notes);
  hr_cluster_spec_finish(&cluster);
  return status;
}

static enum hr_status generate(const char *path, struct hr_error *error) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = 10;
  return hr_generate(&generator, path, error);
}

/* Numeric ids that become texts in the last row, unsorted rows, an unknown column, names of all kinds. */
#define CSV                                                                                                            \
  "job_id,submit_s,duration_s,gpus,user,tenant,gpu_type,priority,limit_s,colour\n"                                     \
  "1,9,1,1,ann,a,H100,,,\n2,3,1,1,bob,b,T4,1,,\nx,4,1,1,ann,c,T4|H100,,7,\n"

static void csv(void) {
  expect_no_memory_at_every_allocation(read_auto, CSV);
}

static void redrawn_csv(void) {
  expect_no_memory_at_every_allocation(read_and_redraw, CSV);
}

static void packed_csv(void) {
  expect_no_memory_at_every_allocation(read_and_pack, CSV "1,4,1,1,ann,c,,,,\ny,-4,1,1,,,,,,\n");
}

static void lenient_csv(void) {
  expect_no_memory_at_every_allocation(read_leniently, CSV "1,4,1,1,ann,c,,,,\ny,-4,1,1,,,,,,\nz,4,1,1\n");
}

static void mapped_csv(void) {
  expect_no_memory_at_every_allocation(read_mapped, "at,run,m\n1,2,3\n4,5,6\n");
}

static void swf(void) {
  expect_no_memory_at_every_allocation(read_auto, ";\n1 0 0 9 1 -1 -1 1 5 -1 1 1 1 1 1 1 1 1\n");
}

static void philly(void) {
  expect_no_memory_at_every_allocation(
      read_auto, "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"
                 "2017-10-09 06:01:55,66.0,1,66.0,a\n");
}

static void openb(void) {
  expect_no_memory_at_every_allocation(
      read_auto, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
                 "deletion_time,scheduled_time\np0,1,2,1,460,T4|P100,LS,Running,10,100,\n");
}

static void imported_tables(void) {
  expect_no_memory_at_every_allocation(read_auto, SACCT_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, HELIOS_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, KALOS_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, PAI_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, SPOT_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, AZURE_SAMPLE);
}

static void imported_json(void) {
  expect_no_memory_at_every_allocation(read_auto, KUBERNETES_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, PHILLY_LOG_SAMPLE);
  expect_no_memory_at_every_allocation(read_auto, BATSIM_SAMPLE);
}

static enum hr_status read_gavel(const char *path, struct hr_error *error) {
  char format[300];
  snprintf(format, sizeof format, "gavel:throughputs=%s", file_write_text("speeds.json", GAVEL_THROUGHPUTS));
  return read_trace(path, &(struct hr_trace_options){.format = format}, error);
}

static void gavel(void) {
  expect_no_memory_at_every_allocation(read_gavel, GAVEL_SAMPLE);
}

static enum hr_status read_pai(const char *path, struct hr_error *error) {
  char jobs[300], format[700];
  snprintf(jobs, sizeof jobs, "%s", file_write_text("pai_jobs.csv", PAI_JOBS));
  snprintf(format, sizeof format, "pai2020:jobs=%s,tags=%s", jobs, file_write_text("tags.csv", PAI_TAGS));
  return read_trace(path, &(struct hr_trace_options){.format = format}, error);
}

static void pai_tables(void) {
  expect_no_memory_at_every_allocation(read_pai, PAI_SAMPLE);
}

static void nodes(void) {
  expect_no_memory_at_every_allocation(read_nodes,
                                       "sn,cpu_milli,memory_mib,gpu,model\nn0,1,2,0,\nn1,1,2,3,T4\nn2,2,2,3,T4\n");
}

static void expect_generator_reports_no_memory(const char *name) {
  struct hr_error error = {0};
  for (long n = 0;; n++) {
    memory_ends_after(n, false);
    enum hr_status status = generate(file_path(name), &error);
    bool reached = memory_is_ample();
    CU_ASSERT_EQUAL(status, reached ? HR_NO_MEMORY : HR_OK);
    if (!reached) break;
  }
}

static void generator(void) {
  expect_generator_reports_no_memory("generated.csv");
  expect_generator_reports_no_memory("generated.hrt");
}

TEST_MAIN("no_memory", TEST(csv), TEST(redrawn_csv), TEST(packed_csv), TEST(lenient_csv), TEST(mapped_csv), TEST(swf),
          TEST(philly), TEST(openb), TEST(imported_tables), TEST(imported_json), TEST(gavel), TEST(pai_tables),
          TEST(nodes), TEST(generator))
