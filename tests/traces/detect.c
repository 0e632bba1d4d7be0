/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The format of each sample is detected, and the readers of all other formats reject the sample. */
#include "harness.h"

#include "expected.h"
#include "samples.h"
#include "trace_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *format, *text;
} samples[] = {
#define SAMPLE(format, text) {format, text},
    EVERY_SAMPLE(SAMPLE)
#undef SAMPLE
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static void the_format_of_each_sample_is_detected(void) {
  for (size_t i = 0; i < N_SAMPLES; i++) CU_ASSERT(is_detected_as(samples[i].text, samples[i].format));
}

/* Formats that have a header row are also detected if the header is in capitals. The number of jobs is unchanged. */
static void headers_in_capitals_are_detected(void) {
  static const char *const with_header[] = {"csv",      "philly",    "openb", "helios", "acme",
                                            "spot2026", "azure-llm", "gaia",  "lwa"};
  for (size_t i = 0; i < N_SAMPLES; i++)
    for (size_t k = 0; k < sizeof with_header / sizeof *with_header; k++) {
      if (strcmp(samples[i].format, with_header[k]) != 0) continue;
      char *text = strdup(samples[i].text);
      for (char *at = text; *at && *at != '\n'; at++) *at = (char)toupper((unsigned char)*at);
      CU_ASSERT(is_detected_as(text, samples[i].format));
      struct hr_trace *plain = trace_of(samples[i].text, NULL), *capitals = trace_of(text, NULL);
      CU_ASSERT_PTR_NOT_NULL(capitals);
      if (plain && capitals) CU_ASSERT_EQUAL(capitals->n_jobs, plain->n_jobs);
      hr_trace_destroy(capitals);
      hr_trace_destroy(plain);
      free(text);
    }
}

static void every_format_has_a_sample(void) {
  for (const struct hr_trace_format *at = hr_trace_formats() + 1; at->name; at++) {
    size_t n = strcmp(at->name, "packed") == 0; /* the packed format is binary; packed.c tests it */
    for (size_t i = 0; i < N_SAMPLES; i++) n += strcmp(samples[i].format, at->name) == 0;
    if (!n) fprintf(stderr, "\n    no sample of %s\n", at->name);
    CU_ASSERT(n > 0);
  }
}

static bool is_json(const char *format) {
  return strcmp(format, "kubernetes") == 0 || strcmp(format, "philly-log") == 0 || strcmp(format, "batsim") == 0;
}

/* Reads each sample as each other format. This must be an error, and no trace may be returned. */
static void readers_reject_samples_of_other_formats(void) {
  for (size_t i = 0; i < N_SAMPLES; i++)
    for (const struct hr_trace_format *at = hr_trace_formats() + 1; at->name; at++) {
      if (strcmp(samples[i].format, at->name) == 0) continue;
      struct hr_trace *trace = trace_of(samples[i].text, &(struct hr_trace_options){.format = at->name});
      if (trace) fprintf(stderr, "\n    a sample of %s was read as %s\n", samples[i].format, at->name);
      CU_ASSERT_PTR_NULL(trace);
      CU_ASSERT_EQUAL(trace_status(), HR_BAD_INPUT);
      hr_trace_destroy(trace);
    }
}

/* A truncated JSON sample is detected as a JSON format or rejected as JSON of an unknown format. Truncated samples of
   other formats are never rejected as JSON. */
static void truncated_samples_are_detected_or_rejected(void) {
  for (size_t i = 0; i < N_SAMPLES; i++)
    for (size_t length = 0; length < strlen(samples[i].text); length += length < 400 ? 1 : 37) {
      char *text = strndup(samples[i].text, length);
      bool unknown = is_unknown_json(text);
      if (unknown) CU_ASSERT(is_json(samples[i].format));
      if (is_json(samples[i].format) && length && !unknown)
        CU_ASSERT(is_detected_as(text, samples[i].format) || is_detected_as(text, "kubernetes") ||
                  is_detected_as(text, "philly-log") || is_detected_as(text, "batsim"));
      free(text);
    }
}

static void formats_of_compressed_files_are_detected(void) {
  for (size_t i = 0; i < N_SAMPLES; i++) {
    size_t length;
    if (strcmp(samples[i].format, "gavel") == 0) continue; /* the format 'gavel' needs a parameter */
    void *bytes = i % 2 ? gzip_bytes(samples[i].text, &length) : zstd_bytes(samples[i].text, &length);
    struct hr_trace *trace = trace_at(file_write("packed", bytes, length), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_STRING_EQUAL(trace->format, samples[i].format);
    hr_trace_destroy(trace);
    free(bytes);
  }
}

static void other_json_is_rejected(void) {
  CU_ASSERT(refused("{\"a\": 1}\n", NULL, "jobs.csv: JSON of an unknown trace format", "\"items\""));
  CU_ASSERT(refused("[1, 2]\n", NULL, "jobs.csv: JSON", "attempts"));
}

static void parameters_of_formats(void) {
  CU_ASSERT(refused(SWF_SAMPLE, &(struct hr_trace_options){.format = "swf:a=1"}, "trace format 'swf' has no parameters",
                    "a=1"));
  CU_ASSERT(refused(SWF_SAMPLE, &(struct hr_trace_options){.format = "packed:a=1"},
                    "trace format 'packed' has no parameters", "a=1"));
  CU_ASSERT(refused(AZURE_SAMPLE, &(struct hr_trace_options){.format = "azure-llm:decod=1"},
                    "trace format 'azure-llm' has no parameter 'decod'", "did you mean 'decode'?"));
  CU_ASSERT(refused(AZURE_SAMPLE, &(struct hr_trace_options){.format = "azure-llm:decode=0"},
                    "trace format 'azure-llm': 'decode' is '0', not a whole number from 1", ""));
  CU_ASSERT(refused(AZURE_SAMPLE, &(struct hr_trace_options){.format = "azure-llm:decode=1,decode=2"},
                    "trace format 'azure-llm': 'decode' is set twice", ""));
  CU_ASSERT(refused(GAVEL_SAMPLE, &(struct hr_trace_options){.format = "gavel:throughputs="},
                    "trace format 'gavel': 'throughputs' is empty", ""));
  CU_ASSERT_PTR_NULL(hr_trace_format_find("azure"));
  CU_ASSERT_STRING_EQUAL(hr_trace_format_find("azure-llm:decode=1")->name, "azure-llm");
}

TEST_MAIN("detect", TEST(the_format_of_each_sample_is_detected), TEST(headers_in_capitals_are_detected),
          TEST(every_format_has_a_sample), TEST(readers_reject_samples_of_other_formats),
          TEST(truncated_samples_are_detected_or_rejected), TEST(formats_of_compressed_files_are_detected),
          TEST(other_json_is_rejected), TEST(parameters_of_formats))
