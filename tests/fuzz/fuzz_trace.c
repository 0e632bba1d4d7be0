/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a trace and as a node list: they are read, or rejected with a reason. The format is detected from the
   content; if the first byte cannot begin a text, it selects a format for the rest, so that each reader gets foreign
   data, too, with its parameters. */

#include "headroom/trace_files.h"
#include "headroom/unstable/trace_check.h"
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An accepted trace satisfies what its header promises. */
static void require_sound(const struct hr_trace *trace) {
  if (trace->n_jobs == 0 || trace->submit_us[0] != 0) abort();
  char id[HR_JOB_ID_BUFFER];
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    if (job > 0 && trace->submit_us[job] < trace->submit_us[job - 1]) abort();
    if (trace->work_us[job] < 0 || trace->work_us[job] > HR_MAX_INPUT_US) abort();
    if (trace->gpus[job] > HR_MAX_GPUS) abort();
    if (trace->tenant && trace->tenant[job] != HR_NONE && trace->tenant[job] >= trace->tenants.count) abort();
    if (!hr_trace_job_id(trace, (hr_job){job}, id)) abort();
  }
}

/* Every trace has findings, if only on missing fields. */
static void require_findings(const struct hr_trace *trace) {
  const struct hr_trace_check_config config = {.trace = trace};
  struct hr_trace_check *check;
  struct hr_error error;
  if (hr_trace_check_make(&config, &check, &error) != HR_OK) abort();
  if (check->n_findings == 0 || !check->findings[0].text[0]) abort();
  hr_trace_check_destroy(check);
}

static void require_reason(const struct hr_error *error) {
  if (error->status == HR_OK || !error->text[0]) abort();
}

static void read_with(const char *path, const struct hr_trace_options *options) {
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  if (hr_trace_read(path, options, &trace, &error) == HR_OK) {
    require_sound(trace);
    if (options->lenient && !options->streamed) require_findings(trace);
  } else {
    require_reason(&error);
  }
  hr_trace_destroy(trace);
}

static void read_as(const char *path, const char *format, bool lenient) {
  read_with(path, &(struct hr_trace_options){.format = format, .lenient = lenient});
}

/* Columns in files, which are small here. */
static void read_streamed(const char *path) {
  (void)setenv("TMPDIR", fuzz_folder(), 1);
  read_with(path, &(struct hr_trace_options){.lenient = true, .streamed = true});
}

static void read_mapped(const char *path) {
  struct hr_column_map map = {0};
  if (hr_column_map_parse(&map, "submit=at,duration=run,gpus=n,user=who", NULL) != HR_OK) abort();
  read_with(path, &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
}

/* A Gavel trace needs a table of throughputs. */
static void read_gavel(const char *path) {
  static const char table[] = "{\"v100\": {\"('LM', 1)\": {\"null\": 0.5}, \"('LM', 2)\": {\"null\": 1e-9}}}";
  char table_path[FUZZ_PATH_BUFFER], format[FUZZ_PATH_BUFFER + 40];
  fuzz_input_write((const uint8_t *)table, sizeof table - 1, table_path);
  (void)snprintf(format, sizeof format, "gavel:throughputs=%s", table_path);
  read_as(path, format, true);
  (void)unlink(table_path);
}

static void read_nodes(const char *path) {
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  struct hr_error error = {0};
  if (hr_nodes_read(path, &cluster, &notes, &error) != HR_OK) require_reason(&error);
  hr_cluster_spec_finish(&cluster);
  hr_notes_finish(&notes);
}

/* In the order of the bytes that select them. */
static const char *const named[] = {"csv",
                                    "swf",
                                    "philly",
                                    "openb",
                                    "sacct",
                                    "kubernetes:replicas=3",
                                    "philly-log",
                                    "helios",
                                    "pai2020",
                                    "spot2026",
                                    "acme",
                                    "azure-llm:prefill=8000,decode=40,gpu_milli=100",
                                    "batsim:mflops=250"};
enum { FIRST_NAMED = 14, N_NAMED = sizeof named / sizeof *named, GAVEL = FIRST_NAMED + N_NAMED, STREAMED, MAPPED };
_Static_assert(MAPPED<31 && FIRST_NAMED> '\r', "no text, and nothing compressed, begins like that");

static int read_chosen(uint8_t choice, const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  if (choice < GAVEL) read_as(path, named[choice - FIRST_NAMED], false);
  if (choice < GAVEL) read_as(path, named[choice - FIRST_NAMED], true);
  if (choice == GAVEL) read_gavel(path);
  if (choice == STREAMED) read_streamed(path);
  if (choice == MAPPED) read_mapped(path);
  return unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  if (size && data[0] >= FIRST_NAMED && data[0] <= MAPPED) return read_chosen(data[0], data + 1, size - 1);
  fuzz_input_write(data, size, path);
  read_as(path, NULL, false);
  read_as(path, NULL, true);
  if (size && memchr(data, '\t', size)) read_gavel(path);
  read_nodes(path);
  return unlink(path);
}
