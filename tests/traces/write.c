/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces that are written as CSV, SWF or packed files, and read again. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "same_trace.h"
#include "samples.h"
#include "trace_files.h"

#include <string.h>

static struct hr_trace *written_and_read(const struct hr_trace *trace, const char *name,
                                         struct hr_trace_written *written) {
  char path[200];
  struct hr_error error = {0};
  snprintf(path, sizeof path, "%s", file_path(name));
  enum hr_status status = hr_trace_write(trace, path, NULL, written, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  return status == HR_OK ? trace_at(path, NULL) : NULL;
}

static uint64_t count_lost(const struct hr_trace_written *written, enum hr_loss_kind kind, const char *field) {
  for (uint32_t i = 0; i < written->n_losses; i++)
    if (written->losses[i].kind == kind && strcmp(written->losses[i].field, field) == 0)
      return written->losses[i].n_jobs;
  return 0;
}

static bool file_is(const char *name, const char *text) {
  char bytes[4000];
  FILE *file = fopen(file_path(name), "rb");
  size_t n = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
  if (file) fclose(file);
  bytes[n] = '\0';
  if (strcmp(bytes, text) == 0) return true;
  fprintf(stderr, "\n    %s is:\n%s", name, bytes);
  return false;
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void csv_and_packed_round_trips(void) {
  static const char *const names[] = {"again.csv", "again.csv.gz", "again.csv.zst", "again", "again.hrt"};
  uint32_t n_sorted = 0, n_dated = 0, n_ids = 0;
  for (uint64_t seed = 0; seed < 160; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 40, .all_fields = seed % 4 == 0});
    struct hr_trace_written written;
    struct hr_trace *again = written_and_read(trace, names[seed % 5], &written);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT(same_trace(trace, again));
    CU_ASSERT_EQUAL(written.n_losses, 0);
    CU_ASSERT_EQUAL(written.n_jobs, trace->n_jobs);
    CU_ASSERT_STRING_EQUAL(written.format, seed % 5 == 4 ? "packed" : "csv");
    n_sorted += !trace->row;
    n_dated += trace->dated;
    n_ids += trace->id_number || trace->id_text;
    hr_trace_destroy(again);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(n_sorted > 3 && n_sorted < 80 && n_dated > 40 && n_ids > 80 && n_ids < 159);
}

static void numbers_are_written_in_their_shortest_form(void) {
  static const char *const text = "job_id,submit_s,duration_s,gpus,user,limit_s,cpu,mem_gb,gpu_type,dedicated,fail_at\n"
                                  "b,7.5,90.25,8,\"a, \"\"b\"\"\",,0.5,0.0009765625,,true,\n"
                                  "a,0,3600,0,,0,1,16,A100|H100,,0.333333\n";
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("rows.csv"), NULL, NULL, NULL), HR_OK);
  CU_ASSERT(file_is("rows.csv", text));
  hr_trace_destroy(trace);
}

/* Ids of the input are written even if they equal the row numbers. */
static void ids_of_the_input_are_written(void) {
  static const char *const texts[] = {"job_id,submit_s,duration_s,gpus\n1,5,1,1\n2,0,1,1\n3,7,1,1\n",
                                      "submit_s,duration_s,gpus\n5,1,1\n0,1,1\n7,1,1\n"};
  for (size_t i = 0; i < 2; i++) {
    struct hr_trace *trace = trace_of(texts[i], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->has_ids, i == 0);
    CU_ASSERT_PTR_NULL(trace->id_number);
    struct hr_trace *again = written_and_read(trace, "told.hrt", NULL);
    CU_ASSERT(same_trace(trace, again));
    CU_ASSERT_EQUAL(hr_trace_write(again, file_path("told.csv"), NULL, NULL, NULL), HR_OK);
    CU_ASSERT(file_is("told.csv", texts[i]));
    hr_trace_destroy(again);
    hr_trace_destroy(trace);
  }
}

static void dates_are_written_as_dates(void) {
  static const char *const zoned = "submit_s,duration_s,gpus\n2024-02-29T23:59:59.000001Z,1,1\n"
                                   "1969-12-31T00:00:00Z,1,1\n",
                           *const local = "submit_s,duration_s,gpus,deadline_s\n0001-01-01T00:00:00,1,1,\n"
                                          "5000-12-31T23:59:59.999999,1,1,5000-12-31T23:59:59.999999\n";
  struct hr_trace *trace = trace_of(zoned, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("dates.csv"), NULL, NULL, NULL), HR_OK);
  CU_ASSERT(file_is("dates.csv", zoned));
  hr_trace_destroy(trace);
  trace = trace_of(local, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("dates.csv"), NULL, NULL, NULL), HR_OK);
  CU_ASSERT(file_is("dates.csv", local));
  hr_trace_destroy(trace);
}

static void every_format_can_be_converted_to_csv(void) {
  static const char *const samples[] = {
#define TEXT(format, sample) sample,
      EVERY_SAMPLE(TEXT)
#undef TEXT
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    char format[400] = "auto";
    if (strcmp(samples[i], GAVEL_SAMPLE) == 0)
      snprintf(format, sizeof format, "gavel:throughputs=%s", file_write_text("speeds.json", GAVEL_THROUGHPUTS));
    struct hr_trace *trace = trace_of(samples[i], &(struct hr_trace_options){.format = format});
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    struct hr_trace *again = written_and_read(trace, "sample.csv", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT(same_trace(trace, again));
    hr_trace_destroy(again);
    hr_trace_destroy(trace);
  }
}

static void real_traces_can_be_converted_to_csv(void) {
  static const struct {
    const char *name, *map;
  } traces[] = {{"philly/philly.csv.gz", NULL},
                {"alibaba-openb2023/openb_pod_list_default.csv", NULL},
                {"helios-venus/helios_trace.csv.gz", "submit=arrival_s,duration=service_sec,gpus=gpu_count"}};
  for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
    char path[300];
    struct hr_column_map map = {0};
    snprintf(path, sizeof path, "%s/%s", REAL_TRACES_DIR, traces[i].name);
    if (real_trace_missing(path)) continue;
    if (traces[i].map) CU_ASSERT_EQUAL(hr_column_map_parse(&map, traces[i].map, NULL), HR_OK);
    struct hr_trace *trace = trace_at(path, &(struct hr_trace_options){.map = &map});
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    struct hr_trace *again = written_and_read(trace, "real.csv", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT(same_trace(trace, again));
    hr_trace_destroy(again);
    hr_trace_destroy(trace);
    hr_column_map_finish(&map);
  }
}

/* ---- SWF -------------------------------------------------------------------------------------------- */

static void swf_round_trips_of_simple_traces(void) {
  for (uint64_t seed = 0; seed < 80; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 40, .plain = true});
    struct hr_trace_written written;
    struct hr_trace *swf = written_and_read(trace, seed % 2 ? "plain.swf" : "plain.swf.gz", &written);
    CU_ASSERT_PTR_NOT_NULL_FATAL(swf);
    CU_ASSERT_EQUAL(written.n_losses, 0);
    CU_ASSERT_STRING_EQUAL(swf->format, "swf");
    struct hr_trace *csv = written_and_read(swf, "plain.csv", &written);
    CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
    trace->has_ids = true; /* each line of SWF has a job number */
    CU_ASSERT(same_trace(trace, csv));
    hr_trace_destroy(csv);
    hr_trace_destroy(swf);
    hr_trace_destroy(trace);
  }
}

static void swf_reports_lost_fields(void) {
  for (uint64_t seed = 0; seed < 80; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 60});
    struct hr_trace_written written;
    uint64_t n_left = 0, n_models = 0, n_shares = 0, n_dedicated = 0, n_starts = 0, n_users = 0, n_zero_limits = 0;
    uint64_t n_bounds = 0;
    for (uint32_t i = 0; i < trace->n_jobs; i++) {
      n_left += !trace->gpus[i];
      if (!trace->gpus[i]) continue;
      n_models += trace->model && trace->model[i] != HR_NONE;
      n_bounds += trace->min_gpus && trace->min_gpus[i] != trace->gpus[i];
      n_shares += trace->gpu_milli && trace->gpu_milli[i] != 1000;
      n_dedicated += trace->flags && trace->flags[i] & HR_JOB_DEDICATED;
      n_users += trace->user && trace->user[i] != HR_NONE;
      n_zero_limits += trace->limit_us && trace->limit_us[i] == 0;
      n_starts += trace->recorded_start_us && trace->recorded_start_us[i] != HR_UNKNOWN_US &&
                  (trace->recorded_start_us[i] + trace->origin_us) % HR_SECOND_US != 0;
    }
    struct hr_trace *swf = written_and_read(trace, "lossy.swf", &written);
    if (n_left == trace->n_jobs) {
      CU_ASSERT_PTR_NULL(swf);
    } else {
      CU_ASSERT_PTR_NOT_NULL_FATAL(swf);
      CU_ASSERT_EQUAL(swf->n_jobs, trace->n_jobs - n_left);
      CU_ASSERT_EQUAL(written.n_jobs, swf->n_jobs);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_LEFT_OUT, "gpus"), n_left);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "model"), n_models);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "min_gpus"), n_bounds);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "gpu_milli"), n_shares);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "dedicated"), n_dedicated);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "limit"), n_zero_limits);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "dates"),
                      hr_trace_has_local_dates(trace) ? trace->n_jobs : 0);
      CU_ASSERT_EQUAL(swf->dated, trace->dated && !hr_trace_has_local_dates(trace));
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_RENUMBERED, "user"), n_users);
      CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_ROUNDED, "start"), n_starts);
    }
    hr_trace_destroy(swf);
    hr_trace_destroy(trace);
  }
}

static void swf_rounds_to_whole_seconds(void) {
  struct hr_trace *trace = trace_of("job_id,submit_s,duration_s,gpus,user,tenant,limit_s,status,start_s,model\n"
                                    "x,10.5,0.49,2,ann,3,0.2,failed,12.4,m\n"
                                    "y,11.4,7.5,1,bob,4,0,completed,,\n"
                                    "z,12,1,0,cat,4,9,cancelled,,\n"
                                    "w,12,60,8,ann,,90.5,cancelled,12,\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  struct hr_trace_written written;
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("round.txt"), "swf", &written, NULL), HR_OK);
  CU_ASSERT(file_is("round.txt", "; Version: 2.2\n; MaxJobs: 3\n; MaxRecords: 3\n"
                                 "; Note: written by Headroom; processors are GPUs\n"
                                 "1 11 1 0 2 -1 -1 2 1 -1 0 1 3 -1 -1 -1 -1 -1\n"
                                 "2 11 -1 8 1 -1 -1 1 -1 -1 1 2 4 -1 -1 -1 -1 -1\n"
                                 "3 12 0 60 8 -1 -1 8 91 -1 5 1 -1 -1 -1 -1 -1 -1\n"));
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_LEFT_OUT, "gpus"), 1);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_ROUNDED, "submit"), 2);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_ROUNDED, "limit"), 2);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_RENUMBERED, "job_id"), 3);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_RENUMBERED, "user"), 3);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_RENUMBERED, "tenant"), 0);
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_trace_loss_notes(&written, &notes), HR_OK);
  CU_ASSERT(has_note(&notes, "'model' of 1 job is dropped: swf cannot store it"));
  CU_ASSERT(has_note(&notes, "'submit' of 2 jobs is rounded: swf stores whole seconds"));
  CU_ASSERT(has_note(&notes, "1 job left out: swf cannot store the value of 'gpus'"));
  hr_notes_finish(&notes);
  hr_trace_destroy(trace);
}

static void dates_count_from_the_first_submit_in_swf(void) {
  struct hr_trace_written written;
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n1970-01-01T00:01:00.75Z,1,1\n"
                                    "1970-01-01T00:01:10Z,1,1\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("dated.swf"), NULL, &written, NULL), HR_OK);
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "dates"), 0);
  CU_ASSERT(file_is("dated.swf", "; Version: 2.2\n; MaxJobs: 2\n; MaxRecords: 2\n; UnixStartTime: 60\n"
                                 "; TimeZoneString: UTC\n; Note: written by Headroom; processors are GPUs\n"
                                 "1 1 -1 1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
                                 "2 10 -1 1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"));
  hr_trace_destroy(trace);
  trace = trace_of("submit_s,duration_s,gpus\n1970-01-01T00:01:00,1,1\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(hr_trace_write(trace, file_path("dated.swf"), NULL, &written, NULL), HR_OK);
  CU_ASSERT(file_is("dated.swf", "; Version: 2.2\n; MaxJobs: 1\n; MaxRecords: 1\n; UnixStartTime: 60\n"
                                 "; Note: written by Headroom; processors are GPUs\n"
                                 "1 0 -1 1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"));
  CU_ASSERT_EQUAL(count_lost(&written, HR_LOSS_DROPPED, "dates"), 1);
  hr_trace_destroy(trace);
}

/* ---- Traces that cannot be written ------------------------------------------------------------------ */

static bool is_rejected(const struct hr_trace *trace, const char *name, const char *format, const char *part) {
  char path[200];
  struct hr_error error = {0};
  snprintf(path, sizeof path, "%s", file_path(name));
  enum hr_status status = hr_trace_write(trace, path, format, NULL, &error);
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  if (status == HR_BAD_INPUT && !file && strstr(error.text, part)) return true;
  fprintf(stderr, "\n    status %d, %s: %s\n", status, file ? "a file" : "no file", error.text);
  return false;
}

static struct hr_trace *trace_from(int64_t submit_us, bool dated, const char *id, size_t id_length) {
  struct hr_trace_builder *builder = hr_trace_builder_create("memory", "memory");
  struct hr_job_record job;
  struct hr_trace *trace = NULL;
  hr_job_record_init(&job);
  job.submit_us = submit_us;
  job.gpus = 1;
  job.id = (struct hr_text){id, id_length};
  CU_ASSERT_EQUAL(hr_trace_builder_add(builder, &job, 1, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_trace_builder_finish(builder, dated, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static void values_that_cannot_be_written_are_rejected(void) {
  enum { LONG = (1 << 20) + 1 };
  static char long_id[LONG];
  memset(long_id, 'x', sizeof long_id);
  struct hr_trace *early = trace_from(-1, false, "j7", 2), *ancient = trace_from(-HR_MAX_INPUT_US, true, "j7", 2),
                  *wide = trace_from(0, false, long_id, sizeof long_id);
  CU_ASSERT(is_rejected(early, "no.csv", NULL, "job j7: cannot write its 'submit' as CSV: it is before 0 s"));
  CU_ASSERT(is_rejected(early, "no.swf", NULL, "job j7: cannot write its 'submit' as SWF: it is before 0 s"));
  CU_ASSERT(is_rejected(ancient, "ancient.csv", NULL, "the year is not from 1 to 9999"));
  CU_ASSERT(is_rejected(wide, "no.csv.gz", NULL, "its row would be longer than 1 MiB"));
  struct hr_trace *far = trace_of("submit_s,duration_s,gpus\n0048-01-01T00:00Z,1,1\n4048-01-01T00:00Z,1,1\n", NULL);
  CU_ASSERT(is_rejected(far, "far.swf", NULL, "it is more than 100000000000 s after the first one"));
  hr_trace_destroy(far);
  CU_ASSERT(is_rejected(early, "no.cvs", "cvs", "'cvs'; did you mean 'csv'?; formats: csv swf packed"));
  hr_trace_destroy(early);
  hr_trace_destroy(ancient);
  hr_trace_destroy(wide);
}

static void the_suffix_determines_the_format(void) {
  static const struct {
    const char *path, *format;
  } cases[] = {{"a.csv", "csv"},    {"a.swf", "swf"},  {"x.swf.zst", "swf"}, {"a.swf.csv", "csv"}, {".swf", "csv"},
               {"-", "csv"},        {"a.gz", "csv"},   {"swf", "csv"},       {"a.SWF", "swf"},     {"a.Csv.GZ", "csv"},
               {"a.HRT", "packed"}, {"b.xz/a", "csv"}, {"/dev/full", "csv"}, {"a.swf.ZST", "swf"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CU_ASSERT_STRING_EQUAL(hr_trace_writer_find(NULL, cases[i].path, NULL)->name, cases[i].format);
  CU_ASSERT_STRING_EQUAL(hr_trace_writer_find("swf", "a.csv", NULL)->name, "swf");
  CU_ASSERT_PTR_NULL(hr_trace_writer_find("philly", "a.csv", NULL));
  CU_ASSERT_STRING_EQUAL(hr_trace_writer_find(NULL, "a.hrt", NULL)->name, "packed");
  struct hr_error error = {0};
  CU_ASSERT_PTR_NULL(hr_trace_writer_find(NULL, "a.hrt.gz", &error));
  CU_ASSERT_PTR_NOT_NULL(
      strstr(error.text, "a.hrt.gz: format 'packed' cannot be compressed; remove '.gz' from the name"));
}

/* The suffix of a file name must belong to the format that is written. */
static void other_suffixes_are_rejected(void) {
  static const char *const names[] = {"a.csv.xz", "a.xlsx",  "a.parquet",   "a.json", "a.hrt.bak",
                                      "a.CSV.XZ", "a.csv.2", "a.swf.gz.gz", "a.gzip", "d/a.tsv"};
  struct hr_error error = {0};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CU_ASSERT_PTR_NULL(hr_trace_writer_find(NULL, names[i], &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, names[i]));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "suffixes: .csv .swf .hrt, .gz or .zst after .csv and .swf"));
  }
  CU_ASSERT_STRING_EQUAL(hr_trace_writer_find("csv", "a.txt", NULL)->name, "csv");
  CU_ASSERT_PTR_NULL(hr_trace_writer_find("csv", "a.csv.xz", &error));
  CU_ASSERT_STRING_EQUAL(error.text, "a.csv.xz: unsupported compression '.xz'; use '.gz' or '.zst'");
  CU_ASSERT_PTR_NULL(hr_trace_writer_find("SWF", "a", &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'swf'?"));
}

/* Case is ignored in the suffix, which determines the format and the compression. */
static void suffixes_can_be_in_upper_case(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n0,1,1\n", NULL);
  struct hr_trace_written written;
  CU_ASSERT_EQUAL_FATAL(hr_trace_write(trace, file_path("upper.CSV.GZ"), NULL, &written, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(written.format, "csv");
  FILE *file = fopen(file_path("upper.CSV.GZ"), "rb");
  CU_ASSERT_EQUAL(fgetc(file), 0x1f);
  CU_ASSERT_EQUAL(fgetc(file), 0x8b);
  fclose(file);
  hr_trace_destroy(trace);
}

TEST_MAIN("writing traces", TEST(csv_and_packed_round_trips), TEST(numbers_are_written_in_their_shortest_form),
          TEST(ids_of_the_input_are_written), TEST(dates_are_written_as_dates),
          TEST(every_format_can_be_converted_to_csv), TEST(real_traces_can_be_converted_to_csv),
          TEST(swf_round_trips_of_simple_traces), TEST(swf_reports_lost_fields), TEST(swf_rounds_to_whole_seconds),
          TEST(dates_count_from_the_first_submit_in_swf), TEST(values_that_cannot_be_written_are_rejected),
          TEST(the_suffix_determines_the_format), TEST(other_suffixes_are_rejected),
          TEST(suffixes_can_be_in_upper_case))
