/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each format's sample is detected as that format, and rejected by the readers of other formats. */
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

static void each_sample_is_recognised(void) {
  for (size_t i = 0; i < N_SAMPLES; i++) CU_ASSERT(is_detected_as(samples[i].text, samples[i].format));
}

/* Formats with a header are detected in any case; the jobs are the same. */
static void headers_in_capitals_are_recognised(void) {
  static const char *const with_header[] = {"csv", "philly", "openb", "helios", "acme", "spot2026", "azure-llm"};
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
    size_t n = strcmp(at->name, "packed") == 0; /* not a text format; packed.c */
    for (size_t i = 0; i < N_SAMPLES; i++) n += strcmp(samples[i].format, at->name) == 0;
    if (!n) fprintf(stderr, "\n    no sample of %s\n", at->name);
    CU_ASSERT(n > 0);
  }
}

static bool is_json(const char *format) {
  return strcmp(format, "kubernetes") == 0 || strcmp(format, "philly-log") == 0 || strcmp(format, "batsim") == 0;
}

/* Reading a sample as another format is an error and returns no trace. Exceptions: Headroom's CSV has no required
   columns in common with others, and JSON of one kind may have items that others ignore. */
static void no_reader_takes_the_sample_of_another(void) {
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

/* A truncated or continued file is read or rejected; a file that begins like JSON is not detected as CSV. */
static void beginnings_are_enough(void) {
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

static void compression_does_not_hide_a_format(void) {
  for (size_t i = 0; i < N_SAMPLES; i++) {
    size_t length;
    if (strcmp(samples[i].format, "gavel") == 0) continue; /* needs a parameter */
    void *bytes = i % 2 ? gzip_bytes(samples[i].text, &length) : zstd_bytes(samples[i].text, &length);
    struct hr_trace *trace = trace_at(file_write("packed", bytes, length), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_STRING_EQUAL(trace->format, samples[i].format);
    hr_trace_destroy(trace);
    free(bytes);
  }
}

static void json_of_no_trace_is_refused(void) {
  CU_ASSERT(refused("{\"a\": 1}\n", NULL, "jobs.csv: JSON of an unknown trace format", "\"items\""));
  CU_ASSERT(refused("[1, 2]\n", NULL, "jobs.csv: JSON", "attempts"));
}

static void only_some_formats_have_parameters(void) {
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

TEST_MAIN("detect", TEST(each_sample_is_recognised), TEST(headers_in_capitals_are_recognised),
          TEST(every_format_has_a_sample), TEST(no_reader_takes_the_sample_of_another), TEST(beginnings_are_enough),
          TEST(compression_does_not_hide_a_format), TEST(json_of_no_trace_is_refused),
          TEST(only_some_formats_have_parameters))
