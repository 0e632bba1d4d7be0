/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a packed trace. It must be mapped or rejected with a message. An input is tried
   unchanged if it begins with the signature of packed traces. Nearly all inputs have wrong checksums, so each input is
   also tried with the signature and correct checksums written into it. */

#include "headroom/trace_files.h"
#include "input.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEADER_BYTES = 64, SECTION_BYTES = 64, MAX_SECTIONS = 48 };

static void require(bool condition) {
  if (!condition) abort();
}

static void require_names(const uint32_t *column, uint32_t n_jobs, const struct hr_names *names) {
  for (uint32_t job = 0; column && job < n_jobs; job++) require(column[job] == HR_NONE || column[job] < names->count);
  for (uint32_t i = 0; i < names->count; i++) require(names->text[i][0] != '\0');
}

static void require_sound(const struct hr_trace *trace) {
  char id[HR_JOB_ID_BUFFER];
  require(trace->n_jobs > 0);
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    require(trace->submit_us[job] >= (job ? trace->submit_us[job - 1] : 0));
    require(trace->submit_us[job] <= 2 * HR_MAX_INPUT_US);
    require(trace->work_us[job] >= 0 && trace->work_us[job] <= HR_MAX_INPUT_US);
    require(trace->gpus[job] <= HR_MAX_GPUS);
    require(!trace->tasks || (trace->tasks[job] && trace->gpus[job] % trace->tasks[job] == 0));
    require(!trace->gpu_milli || (trace->gpu_milli[job] >= 1 && trace->gpu_milli[job] <= 1000));
    require(!trace->class_ || trace->class_[job] < HR_N_CLASSES);
    require(!trace->row || trace->row[job] < trace->n_jobs);
    require(hr_trace_job_id(trace, (hr_job){job}, id) != NULL);
  }
  require_names(trace->tenant, trace->n_jobs, &trace->tenants);
  require_names(trace->user, trace->n_jobs, &trace->users);
  require_names(trace->model, trace->n_jobs, &trace->models);
  require_names(trace->gpu_types, trace->n_jobs, &trace->gpu_type_lists);
  require_names(trace->regions, trace->n_jobs, &trace->region_lists);
  require_names(trace->mig_profile, trace->n_jobs, &trace->mig_profiles);
}

static void read_packed(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  fuzz_input_write(data, size, path);
  if (hr_trace_read(path, NULL, &trace, &error) == HR_OK)
    require_sound(trace);
  else
    require(error.status != HR_OK && error.text[0]);
  hr_trace_destroy(trace);
  unlink(path);
}

static void put_word(uint8_t *at, uint64_t word) {
  memcpy(at, &word, sizeof word);
}

static void set_checksums_right(uint8_t *data, size_t size) {
  uint32_t n_sections;
  memcpy(&n_sections, data + 12, sizeof n_sections);
  size_t head_bytes = HEADER_BYTES + (size_t)n_sections * SECTION_BYTES;
  if (n_sections > MAX_SECTIONS || head_bytes > size) return;
  for (uint32_t i = 0; i < n_sections; i++) {
    uint8_t *section = data + HEADER_BYTES + (size_t)i * SECTION_BYTES;
    uint64_t offset, bytes;
    memcpy(&offset, section + 40, sizeof offset);
    memcpy(&bytes, section + 48, sizeof bytes);
    if (offset <= size && bytes <= size - offset) put_word(section + 56, XXH3_64bits(data + offset, bytes));
  }
  put_word(data + 16, size);
  put_word(data + 56, 0);
  put_word(data + 56, XXH3_64bits(data, head_bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char magic[] = "\x89HRT\r\n\x1A\n";
  if (size >= sizeof magic - 1 && memcmp(data, magic, sizeof magic - 1) == 0)
    read_packed(data, size); /* without the signature it would be read as text */
  if (size < HEADER_BYTES) return 0;
  uint8_t *copy = malloc(size);
  require(copy != NULL);
  memcpy(copy, data, size);
  memcpy(copy, "\x89HRT\r\n\x1A\n\x01\0\0\0", 12);
  set_checksums_right(copy, size);
  read_packed(copy, size);
  free(copy);
  return 0;
}
