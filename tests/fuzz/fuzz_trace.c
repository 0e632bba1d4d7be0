/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a trace and as a list of nodes. They must be read or rejected with a message. The
   format of the trace is detected from the content. If the first byte is from FIRST_SELECTABLE to MAPPED, which cannot
   begin a text, it selects how the remaining bytes are read: in a given format, streamed or mapped. So each reader,
   with its parameters, is also tested with data of other formats. */

#include "headroom/trace_files.h"
#include "headroom/unstable/trace_tools.h"
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An accepted trace must satisfy the invariants of struct hr_trace. */
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

/* There are findings for each trace, at least for its missing fields. */
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

/* Columns are stored in files of a temporary folder; they are small here. */
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

/* The format 'gavel' needs a table of throughputs. */
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

/* in the order of the first bytes that select them */
static const char *const selectable[] = {"csv",
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
enum {
  FIRST_SELECTABLE = 14,
  N_SELECTABLE = sizeof selectable / sizeof *selectable,
  GAVEL = FIRST_SELECTABLE + N_SELECTABLE,
  STREAMED,
  MAPPED
};
_Static_assert(MAPPED<31 && FIRST_SELECTABLE> '\r', "no text, and nothing compressed, begins like that");

static int read_selected(uint8_t selected, const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  if (selected < GAVEL) read_as(path, selectable[selected - FIRST_SELECTABLE], false);
  if (selected < GAVEL) read_as(path, selectable[selected - FIRST_SELECTABLE], true);
  if (selected == GAVEL) read_gavel(path);
  if (selected == STREAMED) read_streamed(path);
  if (selected == MAPPED) read_mapped(path);
  return unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  if (size && data[0] >= FIRST_SELECTABLE && data[0] <= MAPPED) return read_selected(data[0], data + 1, size - 1);
  fuzz_input_write(data, size, path);
  read_as(path, NULL, false);
  read_as(path, NULL, true);
  if (size && memchr(data, '\t', size)) read_gavel(path);
  read_nodes(path);
  return unlink(path);
}
