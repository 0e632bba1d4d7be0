/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading lines from plain, gzip and zstd files that are complete, truncated or damaged. */
#include "harness.h"

#include "trace_files.h"
#include "traces/core/reader.h"

#include <string.h>
#include <unistd.h>

#define THREE_JOBS "job_id,submit_s,duration_s,gpus\n1,0,10,1\n2,5,10,2\n3,9,10,4\n"

static void expect_three_jobs(struct hr_trace *trace) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 3);
  CU_ASSERT_EQUAL(trace->gpus[2], 4);
  hr_trace_destroy(trace);
}

static void compression_is_detected_from_the_content(void) {
  size_t length;
  void *bytes = gzip_bytes(THREE_JOBS, &length);
  expect_three_jobs(trace_at(file_write("jobs.csv", bytes, length), NULL));
  free(bytes);
  bytes = zstd_bytes(THREE_JOBS, &length);
  expect_three_jobs(trace_at(file_write("jobs.csv", bytes, length), NULL));
  free(bytes);
  expect_three_jobs(trace_at(file_write_text("jobs.csv.gz", THREE_JOBS), NULL));
}

/* Writes a file of two compressed members, each with half of the text, and `padding` zero bytes after them. Returns its
   path. */
static const char *write_halves(void *(*compress)(const char *, size_t *), size_t padding) {
  size_t first_length, second_length;
  void *first = compress("job_id,submit_s,duration_s,gpus\n1,0,10,1\n2,5,", &first_length);
  void *second = compress("10,2\n3,9,10,4\n", &second_length);
  char bytes[4096] = {0};
  memcpy(bytes, first, first_length);
  memcpy(bytes + first_length, second, second_length);
  free(first);
  free(second);
  return file_write("jobs.csv", bytes, first_length + second_length + padding);
}

static void files_of_several_compressed_members(void) {
  expect_three_jobs(trace_at(write_halves(gzip_bytes, 0), NULL));
  expect_three_jobs(trace_at(write_halves(gzip_bytes, 512), NULL));
  expect_three_jobs(trace_at(write_halves(zstd_bytes, 0), NULL));
}

static void every_truncation_is_an_error(void *(*compress)(const char *, size_t *), size_t signature,
                                         const char *message) {
  size_t length;
  void *bytes = compress(THREE_JOBS, &length);
  for (size_t kept = signature; kept < length; kept++)
    CU_ASSERT(refused_at(file_write("jobs.csv", bytes, kept), NULL, "jobs.csv: ", message));
  free(bytes);
}

static void truncated_files_are_errors(void) {
  every_truncation_is_an_error(gzip_bytes, 2, "truncated gzip");
  every_truncation_is_an_error(zstd_bytes, 4, "truncated zstd");
}

static void damaged_files_are_errors(void) {
  size_t length;
  unsigned char *bytes = gzip_bytes(THREE_JOBS, &length);
  bytes[length - 6] ^= 0xFF; /* a byte of the checksum */
  CU_ASSERT(refused_at(file_write("jobs.csv", bytes, length), NULL, "jobs.csv: ", "damaged gzip"));
  free(bytes);
  bytes = zstd_bytes(THREE_JOBS, &length);
  bytes[5] ^= 0xFF;
  memset(bytes + length / 2, 0xFF, length / 2);
  CU_ASSERT(refused_at(file_write("jobs.csv", bytes, length), NULL, "jobs.csv: ", "zstd file"));
  free(bytes);
}

static void trailing_bytes_are_an_error(void) {
  size_t length;
  unsigned char *bytes = gzip_bytes(THREE_JOBS, &length);
  bytes = realloc(bytes, length + 4);
  CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
  memcpy(bytes + length, "more", 4);
  CU_ASSERT(
      refused_at(file_write("jobs.csv", bytes, length + 4), NULL, "jobs.csv: ", "after the end of its gzip data"));
  free(bytes);
}

/* The file is much larger than the window of the reader. Lines of all lengths cross the end of the window. */
static void lines_are_complete_and_numbered(void) {
  FILE *file = fopen(file_path("lines.txt"), "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  enum { N_LINES = 3000 };
  for (int i = 0; i < N_LINES; i++) fprintf(file, "%d:%*s\n", i, i % 997, "x");
  fclose(file);
  struct hr__input *input;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr__input_open(file_path("lines.txt"), &input, &error), HR_OK);
  struct hr_text line;
  int n = 0;
  for (; hr__input_line(input, &line, &error) == HR_OK && line.at; n++) {
    char wanted[1100];
    int length = snprintf(wanted, sizeof wanted, "%d:%*s\n", n, n % 997, "x");
    CU_ASSERT_FATAL(line.length == (size_t)length && memcmp(line.at, wanted, line.length) == 0);
    CU_ASSERT_EQUAL(hr__input_line_number(input), (uint64_t)n + 1);
  }
  CU_ASSERT_EQUAL(n, N_LINES);
  hr__input_close(input);
}

static void the_maximum_line_length_is_one_mebibyte(void) {
  char *text = malloc(HR__LONGEST_LINE + 2);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  memset(text, 'x', HR__LONGEST_LINE + 2);
  text[HR__LONGEST_LINE - 1] = text[HR__LONGEST_LINE] = '\n';
  struct hr__input *input;
  struct hr_error error;
  struct hr_text line;
  CU_ASSERT_EQUAL_FATAL(hr__input_open(file_write("long.txt", text, HR__LONGEST_LINE), &input, &error), HR_OK);
  CU_ASSERT_EQUAL(hr__input_line(input, &line, &error), HR_OK);
  CU_ASSERT_EQUAL(line.length, HR__LONGEST_LINE);
  hr__input_close(input);
  text[HR__LONGEST_LINE - 1] = 'x';
  CU_ASSERT_EQUAL_FATAL(hr__input_open(file_write("long.txt", text, HR__LONGEST_LINE + 1), &input, &error), HR_OK);
  CU_ASSERT_EQUAL(hr__input_line(input, &line, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "long.txt:1: line 1 is longer than 1 MiB"));
  hr__input_close(input);
  free(text);
}

static void a_pipe_is_read_like_a_file(void) {
  int ends[2];
  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  CU_ASSERT_EQUAL(write(ends[1], THREE_JOBS, strlen(THREE_JOBS)), (ssize_t)strlen(THREE_JOBS));
  close(ends[1]);
  char path[40];
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  expect_three_jobs(trace_at(path, NULL));
  close(ends[0]);
}

TEST_MAIN("input", TEST(compression_is_detected_from_the_content), TEST(files_of_several_compressed_members),
          TEST(truncated_files_are_errors), TEST(damaged_files_are_errors), TEST(trailing_bytes_are_an_error),
          TEST(lines_are_complete_and_numbered), TEST(the_maximum_line_length_is_one_mebibyte),
          TEST(a_pipe_is_read_like_a_file))
