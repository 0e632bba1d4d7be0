/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a trace. An accepted trace is written as CSV, read and written again, and both texts
   must be equal. It is also written as SWF, scaled, cut, shuffled, merged with itself and anonymised. These operations
   must succeed or fail with a message. */

#include "headroom/trace_files.h"
#include "headroom/unstable/trace_tools.h"
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require_reason(const struct hr_error *error) {
  if (error->status == HR_OK || !error->text[0]) abort();
}

/* Creates an empty file and sets `path` to its path. The caller unlinks it. */
static void new_file(char path[FUZZ_PATH_BUFFER]) {
  fuzz_input_write((const uint8_t *)"", 0, path);
}

static char *text_of(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) abort();
  long length = ftell(file);
  char *text = malloc((size_t)length + 1);
  if (!text) abort();
  rewind(file);
  *size = fread(text, 1, (size_t)length, file);
  (void)fclose(file);
  return text;
}

/* Returns the trace as CSV text, which the caller frees; NULL if it cannot be written as CSV. */
static char *csv_of(const struct hr_trace *trace, const char *path, size_t *size) {
  struct hr_error error = {0};
  if (hr_trace_write(trace, path, "csv", NULL, &error) == HR_OK) return text_of(path, size);
  require_reason(&error);
  return NULL;
}

static void require_same_text(const struct hr_trace *trace, const char *path) {
  size_t size, size_again;
  char *text = csv_of(trace, path, &size);
  struct hr_trace *again;
  struct hr_error error = {0};
  if (!text) return;
  if (hr_trace_read(path, NULL, &again, &error) != HR_OK) abort();
  if (again->n_jobs != trace->n_jobs || again->origin_us != trace->origin_us || again->dated != trace->dated) abort();
  char *text_again = csv_of(again, path, &size_again);
  if (!text_again || size != size_again || memcmp(text, text_again, size) != 0) abort();
  hr_trace_destroy(again);
  free(text_again);
  free(text);
}

static void write_swf(const struct hr_trace *trace, const char *path) {
  struct hr_error error = {0};
  struct hr_trace *swf;
  struct hr_trace_written written;
  if (hr_trace_write(trace, path, "swf", &written, &error) != HR_OK) {
    require_reason(&error);
    return;
  }
  const struct hr_trace_options options = {.format = "swf"};
  if (hr_trace_read(path, &options, &swf, &error) != HR_OK) abort();
  if (swf->n_jobs != written.n_jobs) abort();
  hr_trace_destroy(swf);
}

static void require_valid_result(enum hr_status status, struct hr_trace *made, const struct hr_error *error) {
  if ((status == HR_OK) != (made != NULL)) abort();
  if (status != HR_OK) require_reason(error);
  if (made && (made->row || made->submit_us[0] != 0)) abort();
  hr_trace_destroy(made);
}

static void transform(const struct hr_trace *trace, uint64_t seed) {
  struct hr_trace *made;
  enum hr_status status;
  struct hr_error error = {0};
  const struct hr_scale_spec scale = {.by = (enum hr_scaling)(seed % HR_N_SCALINGS),
                                      .load = seed & 8               ? 1
                                              : seed % HR_N_SCALINGS ? 2.5
                                                                     : 0.5,
                                      .jitter_us = (int64_t)(seed << 20),
                                      .seed = seed};
  status = hr_transform_scale(trace, &scale, &made, &error);
  require_valid_result(status, made, &error);
  struct hr_cut_spec cut;
  hr_cut_spec_init(&cut);
  cut.from_us = (int64_t)(seed * HR_SECOND_US);
  cut.keep_running = seed & 1;
  status = hr_transform_cut(trace, &cut, &made, &error);
  require_valid_result(status, made, &error);
  const enum hr_shuffling what = (enum hr_shuffling)(seed % HR_N_SHUFFLINGS);
  status = hr_transform_shuffle(trace, what, seed, &made, &error);
  require_valid_result(status, made, &error);
  static const char *const labels[] = {"a", "b"};
  const struct hr_trace *const both[] = {trace, trace};
  const struct hr_merge_spec merge = {
      .align = (enum hr_align)(seed % HR_N_ALIGNS), .labels = seed & 4 ? NULL : labels, .renames_tenants = seed & 2};
  status = hr_transform_merge(both, 2, &merge, &made, &error);
  require_valid_result(status, made, &error);
  struct hr_anonymise_spec names;
  hr_anonymise_spec_init(&names);
  names.key = "key";
  names.key_bytes = 3;
  names.undated = seed & 1;
  names.forget = seed * UINT64_C(0x9E3779B97F4A7C10) & ~UINT64_C(0xE); /* mandatory fields cannot be removed */
  status = hr_transform_anonymise(trace, &names, &made, &error);
  require_valid_result(status, made, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER], out_path[FUZZ_PATH_BUFFER];
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  const struct hr_trace_options options = {.lenient = true};
  uint64_t seed = size ? data[size - 1] : 0;
  fuzz_input_write(data, size, path);
  new_file(out_path);
  if (hr_trace_read(path, &options, &trace, &error) == HR_OK) {
    require_same_text(trace, out_path);
    write_swf(trace, out_path);
    transform(trace, seed);
  } else {
    require_reason(&error);
  }
  hr_trace_destroy(trace);
  (void)unlink(out_path);
  return unlink(path);
}
