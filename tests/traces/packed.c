/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packed traces. Packing and reading restores the trace, equal traces have equal files, and any change of a file is
   detected. */
#include "harness.h"

#include "schema_check.h"
#include "trace_files.h"
#include "traces/core/builder.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <xxhash.h>

#define ALL_COLUMNS                                                                                                    \
  "job_id,submit_s,duration_s,gpus,user,tenant,model,class,priority,limit_s,estimate_s,deadline_s,tasks,cpu,mem_gb,"   \
  "gpu_mem_gb,gpu_milli,gpu_type,regions,mig_profile,status,fail_at,dedicated,interruptible,checkpoint_interval_s,"    \
  "checkpoint_gb,within,within_wait_s,min_gpus,max_gpus,start_s,queue,qos,gpu_power_fraction,data_set,"                \
  "colour\n"
#define ALL_ROWS                                                                                                       \
  "7,30,60.5,8,ann,vision,bert,training,-3,100,90,500,4,2.5,16,40,1000,H100|A100-80,eu|us,,failed,0.25,true,false,"    \
  "600,2,rack,60,4,16,31,batch,high,0.75,images,red\n"                                                                 \
  "9,10,5,1,bob,speech,,inference,2,,,,,,,,250,,,1g.10gb,completed,,,,,,,,,,,,,,,\n"                                   \
  "x-1,20,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"

static char packed_path[200];

static const char *packed_file(const char *name) {
  snprintf(packed_path, sizeof packed_path, "%s", file_path(name));
  return packed_path;
}

/* ---- Round trips ------------------------------------------------------------------------------------ */

static bool same_names(const struct hr_names *a, const struct hr_names *b) {
  bool same = a->count == b->count;
  for (uint32_t i = 0; same && i < a->count; i++) same = strcmp(a->text[i], b->text[i]) == 0;
  return same;
}

static bool same_bytes(const void *a, const void *b, size_t bytes) {
  return a && b ? memcmp(a, b, bytes) == 0 : a == b;
}

static void assert_same_ids(const struct hr_trace *a, const struct hr_trace *b) {
  char one[HR_JOB_ID_BUFFER], other[HR_JOB_ID_BUFFER];
  for (uint32_t job = 0; job < a->n_jobs; job++)
    CU_ASSERT_STRING_EQUAL(hr_trace_job_id(a, (hr_job){job}, one), hr_trace_job_id(b, (hr_job){job}, other));
  CU_ASSERT_EQUAL(a->id_text != NULL, b->id_text != NULL);
  CU_ASSERT_EQUAL(a->id_number != NULL, b->id_number != NULL);
}

static void assert_same_skipped(const struct hr_trace *a, const struct hr_trace *b) {
  CU_ASSERT_EQUAL(a->n_skipped, b->n_skipped);
  CU_ASSERT_EQUAL_FATAL(a->n_skipped_reasons, b->n_skipped_reasons);
  for (uint32_t i = 0; i < a->n_skipped_reasons; i++) {
    CU_ASSERT_STRING_EQUAL(a->skipped[i].reason, b->skipped[i].reason);
    CU_ASSERT_EQUAL(a->skipped[i].count, b->skipped[i].count);
    CU_ASSERT_EQUAL(a->skipped[i].first_line, b->skipped[i].first_line);
  }
}

static void assert_same(const struct hr_trace *a, const struct hr_trace *b) {
  CU_ASSERT_EQUAL_FATAL(a->n_jobs, b->n_jobs);
  CU_ASSERT_EQUAL(a->origin_us, b->origin_us);
  CU_ASSERT_EQUAL(a->dated, b->dated);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    CU_ASSERT(same_bytes(hr__trace_column(a, id), hr__trace_column(b, id), (size_t)a->n_jobs * hr__columns[id].width));
  CU_ASSERT(same_bytes(a->row, b->row, a->n_jobs * sizeof *a->row));
  assert_same_ids(a, b);
  for (enum hr__names_id id = 0; id < HR__N_NAMES; id++)
    CU_ASSERT(same_names(hr__trace_names(a, id), hr__trace_names(b, id)));
  assert_same_skipped(a, b);
  for (size_t i = 0; i < a->notes.count; i++) CU_ASSERT(has_note(&b->notes, a->notes.text[i]));
}

static char *file_bytes(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  char *bytes = malloc(1 << 16);
  if (!file || !bytes) abort();
  *length = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static void assert_same_file(const char *a, const char *b) {
  size_t length_a, length_b;
  char *bytes_a = file_bytes(a, &length_a), *bytes_b = file_bytes(b, &length_b);
  CU_ASSERT_EQUAL(length_a, length_b);
  CU_ASSERT(length_a == length_b && memcmp(bytes_a, bytes_b, length_a) == 0);
  free(bytes_a);
  free(bytes_b);
}

static void expect_round_trip(const char *text, const struct hr_trace_options *options) {
  struct hr_trace *trace = trace_of(text, options);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  const char *path = packed_file("jobs.hrt");
  struct hr_error error = {0};
  struct hr_packed packed;
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, path, &packed, &error), HR_OK);
  CU_ASSERT_EQUAL(packed.n_jobs, trace->n_jobs);
  struct hr_trace *restored = trace_at(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(restored);
  assert_same(trace, restored);
  CU_ASSERT(has_note(&restored->notes, "packed from jobs.csv (csv)"));
  CU_ASSERT_STRING_EQUAL(restored->source, path);
  CU_ASSERT_STRING_EQUAL(restored->format, "packed");
  char again[200];
  snprintf(again, sizeof again, "%s", file_path("again.hrt"));
  CU_ASSERT_EQUAL(hr_trace_pack(restored, again, NULL, &error), HR_OK);
  assert_same_file(path, again);
  hr_trace_destroy(trace);
  hr_trace_destroy(restored);
}

static void every_column(void) {
  struct hr_trace *trace = trace_of(ALL_COLUMNS ALL_ROWS, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++) CU_ASSERT_PTR_NOT_NULL(hr__trace_column(trace, id));
  CU_ASSERT_PTR_NOT_NULL(trace->row);
  CU_ASSERT_PTR_NOT_NULL(trace->id_text);
  hr_trace_destroy(trace);
  expect_round_trip(ALL_COLUMNS ALL_ROWS, NULL);
}

static void ids_of_all_kinds(void) {
  expect_round_trip("submit_s,duration_s,gpus\n1,2,3\n4,5,6\n", NULL);
  expect_round_trip("submit_s,duration_s,gpus\n4,2,3\n1,5,6\n", NULL);
  expect_round_trip("job_id,submit_s,duration_s,gpus\n-5,1,2,3\n7,4,5,6\n", NULL);
  expect_round_trip("job_id,submit_s,duration_s,gpus\na,1,2,3\nbb,4,5,6\n", NULL);
}

static void dates_and_skipped_rows(void) {
  expect_round_trip("submit_s,duration_s,gpus\n2026-01-02,2,3\n2026-01-01,5,6\n", NULL);
  expect_round_trip("submit_s,duration_s,gpus\n1,2,3\n1,-2,3\n1,2,x\n2,2,x\n",
                    &(struct hr_trace_options){.lenient = true});
}

static cJSON *json_at(const char *path) {
  size_t length;
  char *bytes = file_bytes(path, &length);
  cJSON *tree = cJSON_ParseWithLength(bytes, length);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(bytes);
  return tree;
}

static void json_fits_its_schema(void) {
  struct hr_trace *trace = trace_of(ALL_COLUMNS ALL_ROWS, NULL);
  struct hr_packed packed;
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, packed_file("jobs.hrt"), &packed, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_packed_write_json(&packed, packed_file("packed.json"), NULL), HR_OK);
  cJSON *tree = json_at(packed_path), *schema = json_at(PROJECT_DIR "/docs/reference/schemas/packed.schema.json");
  CU_ASSERT_TRUE(schema_fits(schema, tree, "packed"));
  CU_ASSERT_EQUAL((uint32_t)cJSON_GetArraySize(schema_get(tree, "sections")), packed.n_sections);
  cJSON_AddNumberToObject(tree, "extra", 0);
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  cJSON_Delete(schema);
  hr_trace_destroy(trace);
}

/* ---- Damage ----------------------------------------------------------------------------------------- */

/* Returns the bytes of a small packed trace in a buffer that the caller may change and must free. */
static char *small_packed(size_t *length) {
  static char path[200];
  if (path[0]) return file_bytes(path, length);
  struct hr_trace *trace = trace_of(ALL_COLUMNS ALL_ROWS, NULL);
  struct hr_error error = {0};
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  snprintf(path, sizeof path, "%s", packed_file("small.hrt"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, path, NULL, &error), HR_OK);
  hr_trace_destroy(trace);
  return file_bytes(path, length);
}

static bool is_rejected(const char *bytes, size_t length, const char *part) {
  (void)remove(file_path("bad.hrt")); /* removing it first is faster: overwriting is slow on some file systems */
  return refused_at(file_write("bad.hrt", bytes, length), NULL, "bad.hrt: ", part);
}

static void a_change_of_any_byte_is_detected(void) {
  size_t length;
  char *bytes = small_packed(&length);
  for (size_t i = 8; i < length; i++) {
    bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    if (!is_rejected(bytes, length, "pack")) fprintf(stderr, "    byte %zu of %zu\n", i, length);
    bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
  }
  CU_ASSERT(!trace_at(file_write("bad.hrt", "\x89HRX\r\n\x1A\n\0\0\0", 11), NULL)); /* another signature */
  struct hr_trace *trace = trace_at(file_write("bad.hrt", bytes, length), NULL);
  CU_ASSERT_PTR_NOT_NULL(trace); /* the unchanged file is valid, so the changed bytes caused the errors */
  hr_trace_destroy(trace);
  free(bytes);
}

static void a_change_of_the_length_is_detected(void) {
  size_t length;
  char *bytes = small_packed(&length);
  for (size_t i = 8; i < length; i++) CU_ASSERT(is_rejected(bytes, i, "bytes, found"));
  CU_ASSERT(is_rejected(bytes, length / 2, ": it was truncated; create it again with 'headroom trace pack'"));
  bytes[length] = 0;
  CU_ASSERT(is_rejected(bytes, length + 1, "bytes, found"));
  free(bytes);
}

/* ---- Malicious files with correct checksums --------------------------------------------------------- */

enum { HEADER_BYTES = 64, SECTION_BYTES = 64 };

static uint32_t count_sections(const char *bytes) {
  uint32_t count;
  memcpy(&count, bytes + 12, sizeof count);
  return count;
}

static char *section_named(char *bytes, const char *name) {
  for (uint32_t i = 0; i < count_sections(bytes); i++)
    if (strcmp(bytes + HEADER_BYTES + i * SECTION_BYTES, name) == 0) return bytes + HEADER_BYTES + i * SECTION_BYTES;
  CU_FAIL_FATAL("there is no such section");
  return NULL;
}

static uint64_t word_at(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static void put_word(char *at, uint64_t word) {
  memcpy(at, &word, sizeof word);
}

static void set_checksums_right(char *bytes) {
  uint32_t count = count_sections(bytes);
  for (uint32_t i = 0; i < count; i++) {
    char *section = bytes + HEADER_BYTES + i * SECTION_BYTES;
    put_word(section + 56, XXH3_64bits(bytes + word_at(section + 40), word_at(section + 48)));
  }
  put_word(bytes + 56, 0);
  put_word(bytes + 56, XXH3_64bits(bytes, HEADER_BYTES + count * SECTION_BYTES));
}

/* Sets the value of the last of the three jobs in a section of `width` bytes per job, and corrects the checksums.
   Returns whether the file is rejected with an error that contains `part`. */
static bool value_is_rejected(const char *section, size_t width, uint64_t value, const char *part) {
  size_t length;
  char *bytes = small_packed(&length);
  char *at = section_named(bytes, section);
  memcpy(bytes + word_at(at + 40) + 2 * width, &value, width);
  set_checksums_right(bytes);
  bool is = is_rejected(bytes, length, part);
  free(bytes);
  if (!is) fprintf(stderr, "    section %s\n", section);
  return is;
}

static void bad_values(void) {
  static const struct {
    const char *section;
    size_t width;
    uint64_t value;
  } bad[] = {{"submit_us", 8, 0},
             {"submit_us", 8, UINT64_MAX},
             {"work_us", 8, UINT64_MAX},
             {"work_us", 8, (uint64_t)HR_MAX_INPUT_US + 1},
             {"gpus", 4, HR_MAX_GPUS + 1},
             {"tenant", 4, 2},
             {"user", 4, 77},
             {"model", 4, 1},
             {"gpu_types", 4, 1},
             {"regions", 4, 1},
             {"mig_profile", 4, 1},
             {"tasks", 4, 0},
             {"limit_us", 8, UINT64_MAX - 1},
             {"estimate_us", 8, UINT64_MAX - 1},
             {"deadline_us", 8, UINT64_MAX - 1},
             {"gpu_milli", 2, 0},
             {"gpu_milli", 2, 1001},
             {"class", 1, HR_N_CLASSES},
             {"outcome", 1, HR_N_OUTCOMES},
             {"flags", 1, 4},
             {"fail_at_ppm", 4, 1000001},
             {"checkpoint_interval_us", 8, UINT64_MAX - 1},
             {"max_gpus", 4, HR_NONE},
             {"within", 1, HR_TIER_POOL},
             {"within_wait_us", 8, UINT64_MAX - 1},
             {"recorded_start_us", 8, UINT64_MAX - 1},
             {"row", 4, 3},
             {"row", 4, 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char part[80];
    snprintf(part, sizeof part, "its section '%s' ", bad[i].section);
    CU_ASSERT(value_is_rejected(bad[i].section, bad[i].width, bad[i].value, part));
  }
}

static void inconsistent_values(void) {
  CU_ASSERT(value_is_rejected("tasks", 4, 3, "'gpus' is not a multiple of 'tasks'"));
  CU_ASSERT(value_is_rejected("min_gpus", 4, 9, "'min_gpus' is more than 'gpus' in some job"));
  CU_ASSERT(value_is_rejected("max_gpus", 4, 7, "'max_gpus' is less than 'gpus' in some job"));
  CU_ASSERT(value_is_rejected("deadline_us", 8, 1, "a deadline is before the submit time"));
  CU_ASSERT(value_is_rejected("recorded_start_us", 8, 1, "a recorded start is before the submit time"));
  CU_ASSERT(value_is_rejected("within", 1, 0, "'within_wait_us' is set without 'within'"));
}

/* Sets 8 bytes at `offset` of the header, or of the table entry of a section if `section` is not NULL, and corrects the
   checksum of the header. Returns whether the file is rejected with an error that contains `part`. */
static bool header_is_rejected(const char *section, size_t offset, uint64_t value, const char *part) {
  size_t length;
  char *bytes = small_packed(&length);
  char *entry = section ? section_named(bytes, section) : bytes;
  set_checksums_right(bytes); /* must precede the change: it reads the table */
  put_word(entry + offset, value);
  put_word(bytes + 56, 0);
  put_word(bytes + 56, XXH3_64bits(bytes, HEADER_BYTES + count_sections(bytes) * SECTION_BYTES));
  bool is = is_rejected(bytes, length, part);
  free(bytes);
  return is;
}

static void bad_headers(void) {
  CU_ASSERT(header_is_rejected(NULL, 24, 0, "the number of jobs is 0 or too large"));
  CU_ASSERT(header_is_rejected(NULL, 24, HR_NONE, "the number of jobs is 0 or too large"));
  CU_ASSERT(header_is_rejected(NULL, 24, 2, "does not have one entry per job"));
  CU_ASSERT(header_is_rejected(NULL, 32, INT64_MAX, "its first submit is out of range"));
  CU_ASSERT(header_is_rejected(NULL, 40, 4, "its header has unknown flags"));
  CU_ASSERT(header_is_rejected(NULL, 48, 1, "its header has unknown flags"));
  CU_ASSERT(header_is_rejected("gpus", 32, 4, "its section 'gpus' does not have one entry per job"));
  CU_ASSERT(header_is_rejected("gpus", 40, 8, "its sections are not contiguous"));
  CU_ASSERT(header_is_rejected("gpus", 48, UINT64_MAX, "its sections are not contiguous"));
  CU_ASSERT(header_is_rejected("tenants", 32, 3, "its section 'tenants' has a wrong number of texts"));
  CU_ASSERT(header_is_rejected("priority", 0, word_at("colours"), "unknown or duplicate section 'colours'"));
  CU_ASSERT(header_is_rejected("notes", 0, word_at("users\0\0"), "unknown or duplicate section"));
}

static void bad_texts(void) {
  size_t length;
  char *bytes = small_packed(&length);
  char *tenants = bytes + word_at(section_named(bytes, "tenants") + 40);
  CU_ASSERT_STRING_EQUAL(tenants, "vision");
  memcpy(tenants, "speech", 6);
  set_checksums_right(bytes);
  CU_ASSERT(is_rejected(bytes, length, "its section 'tenants' contains a text twice"));
  memcpy(tenants, "(idle)", 6);
  set_checksums_right(bytes);
  CU_ASSERT(is_rejected(bytes, length, "the tenant's name is reserved"));
  memcpy(tenants, "\0ision", 6);
  set_checksums_right(bytes);
  CU_ASSERT(is_rejected(bytes, length, "its section 'tenants' has an empty text"));
  memcpy(tenants + 7, "speechX", 7);
  memcpy(tenants, "v", 1);
  set_checksums_right(bytes);
  CU_ASSERT(is_rejected(bytes, length, "its section 'tenants' does not end with the end of a text"));
  free(bytes);
}

/* ---- Other errors ----------------------------------------------------------------------------------- */

static void newer_version(void) {
  size_t length;
  char *bytes = small_packed(&length);
  bytes[8] = 2;
  CU_ASSERT(is_rejected(bytes, length, "packed trace of version 2, but this program reads version 1"));
  free(bytes);
}

/* A format or a column map applies to text files only. Packed traces ignore both. */
static void options_for_text_files(void) {
  struct hr_column_map map = {0};
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "submit=at", &error), HR_OK);
  const struct hr_trace_options options[] = {
      {.format = "packed"}, {.format = "openb", .lenient = true}, {.format = "csv", .map = &map}};
  size_t length;
  free(small_packed(&length));
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    struct hr_trace *trace = trace_at(file_path("small.hrt"), &options[i]);
    CU_ASSERT_PTR_NOT_NULL(trace);
    hr_trace_destroy(trace);
  }
  hr_column_map_finish(&map);
  CU_ASSERT(refused("submit_s,duration_s,gpus\n1,2,3\n", &options[0],
                    "jobs.csv: ", "not a packed trace; 'headroom trace pack' creates one"));
}

static void compressed(void) {
  size_t length;
  void *gz = gzip_bytes("\x89HRT\r\n\x1A\n\x01", &length);
  CU_ASSERT(refused_at(file_write("jobs.hrt.gz", gz, length), NULL, "jobs.hrt.gz: ", "neither compressed nor"));
  free(gz);
}

static void unwritable_folder(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n1,2,3\n", NULL);
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_trace_pack(trace, "/nowhere/jobs.hrt", NULL, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nowhere/jobs.hrt: cannot be written"));
  hr_trace_destroy(trace);
}

/* Jobs that failed when the trace was recorded are skipped in text traces and in packed traces, and counted. The others
   are unchanged. */
static void failed_jobs_are_left_out(void) {
  static const char text[] = "job_id,submit_s,duration_s,gpus,status\na,1,20,3,completed\nb,2,30,1,failed\n"
                             "c,3,10,2,cancelled\nd,4,10,2,failed\ne,5,10,2,\n";
  const struct hr_trace_options drop = {.drop_failed = true}, stream = {.drop_failed = true, .streamed = true};
  const char *path = packed_file("jobs.hrt");
  struct hr_trace *all = trace_of(text, NULL), *kept = trace_of(text, &drop), *none = NULL;
  struct hr_error error = {0};
  CU_ASSERT_FATAL(all && kept && hr_trace_pack(all, path, NULL, &error) == HR_OK);
  struct hr_trace *packed = trace_at(path, &drop);
  CU_ASSERT_PTR_NOT_NULL_FATAL(packed);
  CU_ASSERT_EQUAL_FATAL(kept->n_jobs, 3);
  CU_ASSERT_EQUAL_FATAL(packed->n_jobs, 3);
  assert_same_ids(kept, packed);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    CU_ASSERT(same_bytes(hr__trace_column(kept, id), hr__trace_column(packed, id), 3 * hr__columns[id].width));
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT_NOT_EQUAL(kept->outcome[i], HR_OUTCOME_FAILED);
  CU_ASSERT_EQUAL(kept->n_skipped, 2);
  CU_ASSERT_EQUAL(packed->n_skipped, 2);
  CU_ASSERT_STRING_EQUAL(kept->skipped[0].reason, "the job had failed when the trace was recorded");
  CU_ASSERT(kept->skipped[0].no_fault && packed->skipped[0].no_fault);
  CU_ASSERT_EQUAL(hr_trace_read(path, &stream, &none, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "cannot be left out in a streamed run"));
  hr_trace_destroy(packed);
  hr_trace_destroy(kept);
  hr_trace_destroy(all);
}

TEST_MAIN("packed", TEST(every_column), TEST(failed_jobs_are_left_out), TEST(ids_of_all_kinds),
          TEST(dates_and_skipped_rows), TEST(json_fits_its_schema), TEST(a_change_of_any_byte_is_detected),
          TEST(a_change_of_the_length_is_detected), TEST(bad_values), TEST(inconsistent_values), TEST(bad_headers),
          TEST(bad_texts), TEST(newer_version), TEST(options_for_text_files), TEST(compressed), TEST(unwritable_folder))
