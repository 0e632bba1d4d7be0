/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each error of a trace reader names the file, the line or the column, what is wrong and what is expected. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>
#include <sys/stat.h>

#define HEADER "job_id,submit_s,duration_s,gpus\n"

static void missing_file(void) {
  CU_ASSERT(refused_at(file_path("none.csv"), NULL, "none.csv: cannot be read: ", "No such file"));
}

static void directory(void) {
  const char *path = file_path("folder");
  mkdir(path, 0700);
  CU_ASSERT(refused_at(path, NULL, "folder: is a directory", "not a trace file"));
}

static void empty_file(void) {
  CU_ASSERT(refused("", NULL, "jobs.csv: the file is empty", ""));
  size_t length;
  void *bytes = gzip_bytes("", &length);
  CU_ASSERT(refused_at(file_write("jobs.csv", bytes, length), NULL, "jobs.csv: the file is empty", ""));
  free(bytes);
}

static void header_only(void) {
  CU_ASSERT(refused(HEADER, NULL, "jobs.csv: the file has a header but no rows", ""));
  CU_ASSERT(refused("job_id,submit_s,duration_s,gpus", NULL, "jobs.csv: the file has a header but no rows", ""));
  CU_ASSERT(refused("# only a comment\n\n", NULL, "jobs.csv: the file has no header row", ""));
}

static void missing_column(void) {
  CU_ASSERT(refused("job_id,submit_s,duration_s,gpu\n1,2,3,4\n", NULL,
                    "jobs.csv:1: missing column 'gpus' (did you mean 'gpu'?); the file has: job_id, submit_s",
                    "--map gpus=COLUMN"));
  CU_ASSERT(refused("id,when\n1,2\n", NULL, "jobs.csv:1: missing columns 'submit_s', 'duration_s', 'gpus'",
                    "--map submit=COLUMN,duration=COLUMN,gpus=COLUMN"));
  CU_ASSERT(refused("timestamp;duration\n1;2\n", &(struct hr_trace_options){.format = "philly"},
                    "jobs.csv:1: missing columns", "separated by commas"));
}

static void repeated_column(void) {
  CU_ASSERT(refused("submit_s,gpus,duration_s,gpus\n1,2,3,4\n", NULL, "jobs.csv:1: ", "'gpus' is in the header twice"));
}

static void unknown_column(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,colour\n1,2,3,red\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "unknown column 'colour' is ignored"));
  hr_trace_destroy(trace);
}

static void negative_numbers(void) {
  CU_ASSERT(refused(HEADER "1,0,1,1\n2,0,1,-1\n", NULL,
                    "jobs.csv:3: column 'gpus': '-1' is not a whole number of at least 0", ""));
  CU_ASSERT(refused(HEADER "1,-5,1,1\n", NULL, "jobs.csv:2: column 'submit_s': '-5' is not a number of seconds", ""));
  CU_ASSERT(refused(HEADER "1,0,-0.5,1\n", NULL, "jobs.csv:2: column 'duration_s': '-0.5' is not", "at least 0"));
}

static void non_numeric_values(void) {
  CU_ASSERT(refused(HEADER "1,0,nan,1\n", NULL, "jobs.csv:2: column 'duration_s': 'nan' is not a number", ""));
  CU_ASSERT(refused(HEADER "1,inf,1,1\n", NULL, "jobs.csv:2: column 'submit_s': 'inf' is not a number", ""));
  CU_ASSERT(refused(HEADER "1,0,1,two\n", NULL, "jobs.csv:2: column 'gpus': 'two' is not a whole number", ""));
  CU_ASSERT(refused(HEADER "1,0,1,1.5\n", NULL, "jobs.csv:2: column 'gpus': '1.5' is not a whole number", ""));
  CU_ASSERT(refused(HEADER "1,0,,1\n", NULL, "jobs.csv:2: column 'duration_s' is empty", ""));
  CU_ASSERT(refused(HEADER ",0,1,1\n", NULL, "jobs.csv:2: column 'job_id' is empty", ""));
}

static void overflowing_numbers(void) {
  CU_ASSERT(refused(HEADER "1,1e300,1,1\n", NULL, "jobs.csv:2: column 'submit_s': '1e300' is more than", ""));
  CU_ASSERT(refused(HEADER "1,0,99999999999999999999,1\n", NULL, "jobs.csv:2: column 'duration_s'", "is more than"));
  CU_ASSERT(
      refused(HEADER "1,0,1,4294967296\n", NULL, "jobs.csv:2: column 'gpus': '4294967296' is more than 4000000", ""));
}

static void binary_file(void) {
  static const char elf[] = "\x7F"
                            "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0";
  CU_ASSERT(refused_at(file_write("jobs.csv", elf, sizeof elf), NULL, "jobs.csv:1: not a text file", "NUL byte"));
  static const char late[] = HEADER "1,0,1,1\n2,0,\0,1\n";
  CU_ASSERT(refused_at(file_write("jobs.csv", late, sizeof late - 1), NULL, "jobs.csv:3: not a text file", "NUL"));
}

static void unsupported_file_types(void) {
  CU_ASSERT(refused("PK\x03\x04...", NULL, "jobs.csv: this is a zip archive or a spreadsheet", "unpack"));
  CU_ASSERT(refused("\xFD"
                    "7zXZ...",
                    NULL, "jobs.csv: this is compressed with xz", "gzip or zstd"));
  CU_ASSERT(refused("\xFF\xFEj", NULL, "jobs.csv: this is UTF-16 text", "UTF-8"));
}

/* A compressed file with one line of 200 MB. The reader must reject it after the first MiB. */
static void overlong_line(void) {
  enum { CHUNK = 1 << 20, N_CHUNKS = 200 };
  char *chunk = malloc(CHUNK + 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(chunk);
  memset(chunk, '7', CHUNK);
  chunk[CHUNK] = '\0';
  size_t length;
  void *member = gzip_bytes(chunk, &length);
  FILE *file = fopen(file_path("jobs.csv"), "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  size_t header_length;
  void *header = gzip_bytes(HEADER "1,0,1,", &header_length);
  fwrite(header, 1, header_length, file);
  for (int i = 0; i < N_CHUNKS; i++) fwrite(member, 1, length, file);
  fclose(file);
  CU_ASSERT(refused_at(file_path("jobs.csv"), NULL, "jobs.csv:2: line 2 is longer than 1 MiB", ""));
  free(header);
  free(member);
  free(chunk);
}

static void unclosed_quote(void) {
  CU_ASSERT(refused("submit_s,duration_s,user,gpus\n1,2,\"ann,3\n4,5,bob,6\n", NULL, "jobs.csv:2: ", "never closed"));
  CU_ASSERT(refused("submit_s,duration_s,gpus,user\n0,1,1,\"ann\n5,1,1,bob\n6,1,1,x\n", NULL,
                    "jobs.csv:2: ", "never closed"));
  CU_ASSERT(refused("submit_s,duration_s,gpus,user\n0,1,1,x\n5,1,1,\"a\"b\n6,1,1,x\n", NULL,
                    "jobs.csv:3: ", "unexpected quote (\") inside a field"));
  FILE *file = fopen(file_path("jobs.csv"), "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("submit_s,duration_s,user,gpus\n1,2,\"ann,3\n", file);
  for (int i = 0; i < 200000; i++) fputs("4,5,bob,6\n", file);
  fclose(file);
  CU_ASSERT(
      refused_at(file_path("jobs.csv"), NULL, "jobs.csv:2: the row that begins here is longer than 1 MiB", "quote"));
}

static void duplicate_ids(void) {
  CU_ASSERT(refused(HEADER "1,0,1,1\n2,0,1,1\n\n1,0,1,1\n", NULL, "jobs.csv:5: job id '1' is already used on line 2",
                    "distinct"));
}

static void cut_off_last_line(void) {
  CU_ASSERT(
      refused(HEADER "1,0,1,1\n2,0", NULL, "jobs.csv:3: the last line is cut off", "2 fields where the header has 4"));
}

static void wrong_number_of_fields(void) {
  CU_ASSERT(refused(HEADER "1,0,1\n2,0,1,1\n", NULL, "jobs.csv:2: too few fields", "3 fields where the header has 4"));
  CU_ASSERT(refused(HEADER "1,0,1,1,1\n", NULL, "jobs.csv:2: too many fields", "5 fields where the header has 4"));
}

static void too_many_columns(void) {
  char text[3 * 5000 + 8] = "x";
  for (int i = 0; i < 5000; i++) strcpy(text + 1 + 3 * i, i % 2 ? ",a " : ", b");
  memset(text, ',', 5000);
  strcpy(text + 5000, "\n");
  CU_ASSERT(refused(text, NULL, "jobs.csv:1: the header has more than 4096 columns", ""));
}

TEST_MAIN("bad_input", TEST(missing_file), TEST(directory), TEST(empty_file), TEST(header_only), TEST(missing_column),
          TEST(repeated_column), TEST(unknown_column), TEST(negative_numbers), TEST(non_numeric_values),
          TEST(overflowing_numbers), TEST(binary_file), TEST(unsupported_file_types), TEST(overlong_line),
          TEST(unclosed_quote), TEST(duplicate_ids), TEST(cut_off_last_line), TEST(wrong_number_of_fields),
          TEST(too_many_columns))
