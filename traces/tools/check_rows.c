/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of rows: skipped rows, the order of rows, duplicate rows, missing fields, and single jobs, users or tenants
 * that dominate the trace.
 *
 * Two kinds of copies are found. Two rows with different ids and otherwise equal fields are reported directly. Two
 * jobs of one user with equal run times may be a coincidence if times are whole seconds. The number of such jobs is
 * therefore compared with the number of jobs for which another job has a run time that is longer by exactly one step,
 * such as a second. Without copies, both numbers are about equal. Copies increase only the number of jobs with equal
 * run times.
 */

#include "base/containers.h"
#include "base/text.h"
#include "traces/tools/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char duplicate_reason[] = "the job id is already used";

static void report_skipped(struct hr__check_state *checker, const struct hr_skipped_rows *rows, uint64_t all) {
  bool duplicate = strcmp(rows->reason, duplicate_reason) == 0;
  enum hr_finding_code code = rows->no_fault ? HR_FINDING_LEFT_OUT
                              : duplicate    ? HR_FINDING_DUPLICATE_IDS
                                             : HR_FINDING_BAD_ROWS;
  char count[HR__NUMBER_BYTES], of[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  hr__check_add(checker, code, rows->no_fault ? HR_SEVERITY_NOTE : HR_SEVERITY_ERROR,
                &(struct hr__check_subject){.count = rows->count, .of = all, .line = rows->first_line, .job = HR_NONE},
                "%s of %s row%s (%s), %sin line %" PRIu64 ": %s", hr__count_text(rows->count, count),
                hr__count_text(all, of), hr__plural(all),
                hr__check_share_text((double)rows->count / (double)all, share),
                hr__counted(rows->count, "", "the first "), rows->first_line, rows->reason);
}

/* Returns the submit times in the order of the file; NULL if out of memory. Sets `job_of_row`. The caller frees the
   times. */
static int64_t *in_file_order(const struct hr_trace *trace, uint32_t *job_of_row) {
  int64_t *submit_us = malloc(trace->n_jobs * sizeof *submit_us);
  for (uint32_t i = 0; submit_us && i < trace->n_jobs; i++) {
    submit_us[trace->row[i]] = trace->submit_us[i];
    job_of_row[trace->row[i]] = i;
  }
  return submit_us;
}

/* Reports rows with a job that was submitted before the job of the previous row. */
static void check_order(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  if (!trace->row) return;
  uint32_t *job_of_row = malloc(checker->n * sizeof *job_of_row), count = 0, first = HR_NONE;
  int64_t *submit_us = job_of_row ? in_file_order(trace, job_of_row) : NULL;
  checker->out_of_memory |= !submit_us;
  for (uint32_t row = 1; submit_us && row < checker->n; row++)
    if (submit_us[row] < submit_us[row - 1] && count++ == 0) first = job_of_row[row];
  char text[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  if (count)
    hr__check_add(checker, HR_FINDING_UNSORTED, HR_SEVERITY_NOTE,
                  &(struct hr__check_subject){.count = count, .of = checker->n, .job = first},
                  "%s row%s (%s) come%s directly after one that was submitted later", hr__count_text(count, text),
                  hr__plural(count), hr__check_share_text((double)count / checker->n, share), count == 1 ? "s" : "");
  free(submit_us);
  free(job_of_row);
}

static void check_rows_part(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++)
    report_skipped(checker, &trace->skipped[i], trace->n_jobs + trace->n_skipped);
  check_order(checker);
  for (size_t i = 0; i < trace->notes.count; i++)
    hr__check_add(checker, HR_FINDING_READER, HR_SEVERITY_NOTE, &(struct hr__check_subject){.job = HR_NONE}, "%s",
                  trace->notes.text[i]);
}

/* A field that all or some jobs lack. hr_finding_meaning() says what a simulation assumes in place of the field. */

struct field_fact {
  enum hr_finding_code code;
  const char *word;
  uint32_t known; /* number of jobs that have the field */
};

static uint32_t count_names(const uint32_t *column, uint32_t n) {
  uint32_t known = 0;
  for (uint32_t i = 0; column && i < n; i++) known += column[i] != HR_NONE;
  return known;
}

static uint32_t count_times(const int64_t *column, uint32_t n) {
  uint32_t known = 0;
  for (uint32_t i = 0; column && i < n; i++) known += column[i] != HR_UNKNOWN_US;
  return known;
}

static uint32_t count_bytes(const uint8_t *column, uint32_t n) {
  uint32_t known = 0;
  for (uint32_t i = 0; column && i < n; i++) known += column[i] != 0;
  return known;
}

static uint32_t count_sizes(const uint64_t *column, uint32_t n) {
  uint32_t known = 0;
  for (uint32_t i = 0; column && i < n; i++) known += column[i] != 0;
  return known;
}

static void report_missing(struct hr__check_state *checker, const struct field_fact *fact) {
  uint32_t missing = checker->n - fact->known;
  char text[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  const struct hr__check_subject where = {.count = missing, .of = checker->n, .job = HR_NONE};
  if (fact->known == 0)
    hr__check_add(checker, fact->code, HR_SEVERITY_NOTE, &where, "no job has a known %s", fact->word);
  else if (missing)
    hr__check_add(checker, fact->code, HR_SEVERITY_NOTE, &where, "%s job%s (%s) %s no known %s",
                  hr__count_text(missing, text), hr__plural(missing),
                  hr__check_share_text((double)missing / checker->n, share), missing == 1 ? "has" : "have", fact->word);
}

static void check_missing_part(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  uint32_t n = checker->n;
  const struct field_fact facts[] = {
      {HR_FINDING_NO_USERS, "user", count_names(trace->user, n)},
      {HR_FINDING_NO_TENANTS, "tenant", count_names(trace->tenant, n)},
      {HR_FINDING_NO_CLASSES, "class", count_bytes(trace->class_, n)},
      {HR_FINDING_NO_OUTCOMES, "outcome", count_bytes(trace->outcome, n)},
      {HR_FINDING_NO_LIMITS, "limit", count_times(trace->limit_us, n)},
      {HR_FINDING_NO_GPU_TYPES, "GPU type", count_names(trace->gpu_types, n)},
      {HR_FINDING_NO_GPU_MEMORY, "GPU memory", count_sizes(trace->gpu_mem_mib, n)},
      {HR_FINDING_NO_CHECKPOINTS, "checkpoint interval", count_times(trace->checkpoint_interval_us, n)},
      {HR_FINDING_NO_RECORDED_STARTS, "start time", count_times(trace->recorded_start_us, n)}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) report_missing(checker, &facts[i]);
}

/* ---- Copies ------------------------------------------------------------------------------------------ */

enum { MIN_JOBS = 50, MIN_DISTINCT = 50, MIN_RUN_S = 600, MAX_SAMPLE = 200000 };

static int64_t limit_us(const struct hr_trace *trace, uint32_t job) {
  return trace->limit_us ? trace->limit_us[job] : HR_UNKNOWN_US;
}

/* Returns true if the run time is distinctive: it is long, and no limit or common bound ended the job. */
static bool is_distinctive(const struct hr__check_state *checker, uint32_t job) {
  const struct hr_trace *trace = checker->trace;
  int64_t work_us = trace->work_us[job];
  return work_us >= MIN_RUN_S * HR_SECOND_US && work_us != checker->clamp_us && work_us != limit_us(trace, job) &&
         !hr__check_is_service(trace, job);
}

/* Returns a hash of all fields that are equal in copies: run time, GPUs, user, tenant, model and GPU types.
   `work_us` is used as the run time of the job. */
static uint32_t copy_hash(const struct hr_trace *trace, uint32_t job, int64_t work_us) {
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)work_us);
  digest = hr__digest_add(digest, hr_trace_gpus_milli(trace, (hr_job){job}));
  digest = hr__digest_add(digest, trace->user ? trace->user[job] : 0);
  digest = hr__digest_add(digest, trace->tenant ? trace->tenant[job] : 0);
  digest = hr__digest_add(digest, trace->model ? trace->model[job] : 0);
  return hr__hash_u64(hr__digest_add(digest, trace->gpu_types ? trace->gpu_types[job] : 0));
}

static bool same_name(const uint32_t *column, uint32_t a, uint32_t b) {
  return !column || column[a] == column[b];
}

/* Returns true if job `a` is a copy of job `b`, with `work_us` used as the run time of job `b`. */
static bool is_copy(const struct hr_trace *trace, uint32_t a, uint32_t b, int64_t work_us) {
  return trace->work_us[a] == work_us &&
         hr_trace_gpus_milli(trace, (hr_job){a}) == hr_trace_gpus_milli(trace, (hr_job){b}) &&
         same_name(trace->user, a, b) && same_name(trace->tenant, a, b) && same_name(trace->model, a, b) &&
         same_name(trace->gpu_types, a, b);
}

struct copies {
  /* of: examined jobs; rows: copies with the same submit time; jobs: copies with other submit times */
  uint32_t of, rows, first_row, jobs, first_job;
  struct hr__hash table; /* of each set of jobs that are copies of each other, the last one */
};

/* Returns the last job in the table that is a copy of `job`, with `work_us` used as the run time of `job`; HR_NONE
   if none exists. */
static uint32_t find_copy(const struct copies *copies, const struct hr_trace *trace, uint32_t job, int64_t work_us,
                          struct hr__hash_cursor *at) {
  for (uint32_t i = hr__hash_first(&copies->table, copy_hash(trace, job, work_us), at); i != HR_NONE;
       i = hr__hash_next(&copies->table, at))
    if (is_copy(trace, i, job, work_us)) return i;
  return HR_NONE;
}

/* Counts copies. Jobs are in order of submit time, so it suffices to compare a job with the last one of its copies.
   Returns false if out of memory. */
static bool count_copies(const struct hr__check_state *checker, struct copies *copies) {
  const struct hr_trace *trace = checker->trace;
  for (uint32_t i = 0; i < checker->n; i++) {
    if (!is_distinctive(checker, i)) continue;
    struct hr__hash_cursor at;
    uint32_t last = find_copy(copies, trace, i, trace->work_us[i], &at);
    copies->of++;
    if (last == HR_NONE) {
      if (!hr__hash_add(&copies->table, NULL, copy_hash(trace, i, trace->work_us[i]), i)) return false;
      continue;
    }
    hr__hash_set(&copies->table, at, i);
    bool same_row = trace->submit_us[last] == trace->submit_us[i];
    if (same_row && copies->rows++ == 0) copies->first_row = i;
    if (!same_row && copies->jobs++ == 0) copies->first_job = i;
  }
  return true;
}

/* Returns the share of jobs with a twin: a job that differs only in its run time, which is one step
   longer. The share is estimated from a sample of jobs from the whole trace. */
static double share_by_chance(const struct hr__check_state *checker, const struct copies *copies) {
  const struct hr_trace *trace = checker->trace;
  uint32_t sampled = 0, twins = 0;
  for (uint32_t i = 0; i < checker->n; i += checker->n / MAX_SAMPLE + 1) {
    if (!is_distinctive(checker, i)) continue;
    struct hr__hash_cursor at;
    sampled++;
    twins += find_copy(copies, trace, i, trace->work_us[i] + checker->work_grain_us, &at) != HR_NONE;
  }
  return sampled ? (double)twins / sampled : 0;
}

/* Returns the names of the fields besides the run time that are equal in copies, for messages. */
static const char *equal_fields(const struct hr_trace *trace) {
  return trace->user ? ", GPUs and user" : " and GPUs";
}

static void report_rows(struct hr__check_state *checker, const struct copies *copies) {
  enum { MIN = 5 };
  double share = copies->of ? (double)copies->rows / copies->of : 0;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  if (!copies->rows) return;
  hr__check_add(
      checker, HR_FINDING_DUPLICATE_ROWS, share >= 0.1 && copies->rows >= MIN ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
      &(struct hr__check_subject){.count = copies->rows, .of = copies->of, .job = copies->first_row},
      "%s %s (%s of those of 10 min and more) %s the submit time, run time%s of another job under a different id",
      hr__count_text(copies->rows, text), hr__counted(copies->rows, "job", "jobs"), hr__check_share_text(share, of),
      hr__counted(copies->rows, "has", "have"), equal_fields(checker->trace));
}

static void report_jobs(struct hr__check_state *checker, const struct copies *copies, double chance) {
  double share = (double)copies->jobs / copies->of;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], other[HR__SHARE_BYTES];
  if (copies->of - copies->jobs < MIN_DISTINCT || share < 0.1 || share < 2 * chance) return;
  hr__check_add(
      checker, HR_FINDING_COPIED_JOBS, HR_SEVERITY_WARNING,
      &(struct hr__check_subject){.count = copies->jobs, .of = copies->of, .job = copies->first_job},
      "%s jobs (%s of those of 10 min and more) have the run time%s of an earlier one; about %s are expected by chance",
      hr__count_text(copies->jobs, text), hr__check_share_text(share, of), equal_fields(checker->trace),
      hr__check_share_text(chance, other));
}

static void check_copies_part(struct hr__check_state *checker) {
  struct copies copies = {0};
  if (checker->constant || checker->n < 2) return;
  if (count_copies(checker, &copies)) {
    report_rows(checker, &copies);
    if (copies.of >= MIN_JOBS) report_jobs(checker, &copies, share_by_chance(checker, &copies));
  } else {
    checker->out_of_memory = true;
  }
  hr__hash_finish(&copies.table);
}

/* ---- Dominance: one job ------------------------------------------------------------------------------ */

static double gpu_hours_of(const struct hr_trace *trace, uint32_t job) {
  return (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 * hr__seconds(trace->work_us[job]) / 3600;
}

static void check_heavy(struct hr__check_state *checker, double all_h) {
  enum { SHARES_MIN_JOBS = 100 };
  const struct hr_trace *trace = checker->trace;
  uint32_t heaviest = 0;
  double max_h = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    double hours = hr__check_is_service(trace, i) ? 0 : gpu_hours_of(trace, i);
    if (hours <= max_h) continue;
    max_h = hours;
    heaviest = i;
  }
  double share = all_h > 0 ? max_h / all_h : 0;
  if (checker->n < SHARES_MIN_JOBS || share < 0.1) return;
  char of[HR__SHARE_BYTES], gpus[HR__NUMBER_BYTES], time[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_HEAVY_JOB, share >= 0.5 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.count = 1, .of = checker->n, .job = heaviest},
                "one job uses %s of all GPU hours: %s GPU%s for %s", hr__check_share_text(share, of),
                hr__count_text(trace->gpus[heaviest], gpus), hr__plural(trace->gpus[heaviest]),
                hr__duration_text(hr__seconds(trace->work_us[heaviest]), time));
}

/* ---- Dominance: one user or tenant ------------------------------------------------------------------- */

/* Users or tenants: the column with the owner of each job, and their names. */
struct owners {
  enum hr_finding_code code;
  const char *word;
  const uint32_t *column;
  const struct hr_names *names;
};

struct share {
  uint32_t jobs, first;
  double gpu_hours;
};

static struct share *add_up(const struct hr__check_state *checker, const struct owners *owners) {
  struct share *shares = calloc((size_t)owners->names->count + 1, sizeof *shares);
  for (uint32_t i = checker->n; shares && i-- > 0;) {
    uint32_t owner = owners->column[i];
    if (owner == HR_NONE) continue;
    shares[owner].jobs++;
    shares[owner].first = i;
    shares[owner].gpu_hours += gpu_hours_of(checker->trace, i);
  }
  return shares;
}

/* Returns the share of the owner in jobs or in GPU hours, whichever is larger. */
static double weight_of(const struct hr__check_state *checker, const struct share *share, double all_h) {
  double jobs = (double)share->jobs / checker->n, hours = all_h > 0 ? share->gpu_hours / all_h : 0;
  return jobs > hours ? jobs : hours;
}

static void check_owners(struct hr__check_state *checker, const struct owners *owners, double all_h) {
  enum { MIN_OWNERS = 3, SHARES_MIN_JOBS = 100 };
  if (!owners->column || owners->names->count < MIN_OWNERS || checker->n < SHARES_MIN_JOBS) return;
  struct share *shares = add_up(checker, owners);
  uint32_t top = 0;
  if (!shares) {
    checker->out_of_memory = true;
    return;
  }
  for (uint32_t i = 1; i < owners->names->count; i++)
    if (weight_of(checker, &shares[i], all_h) > weight_of(checker, &shares[top], all_h)) top = i;
  double weight = weight_of(checker, &shares[top], all_h);
  char jobs[HR__SHARE_BYTES], hours[HR__SHARE_BYTES], count[HR__NUMBER_BYTES];
  if (weight >= 0.5)
    hr__check_add(
        checker, owners->code, weight >= 0.9 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
        &(struct hr__check_subject){
            .count = shares[top].jobs, .of = checker->n, .job = shares[top].first, .subject = owners->names->text[top]},
        "%s %.60s of %s has %s of the jobs and %s of the GPU hours", owners->word, owners->names->text[top],
        hr__count_text(owners->names->count, count), hr__check_share_text((double)shares[top].jobs / checker->n, jobs),
        hr__check_share_text(all_h > 0 ? shares[top].gpu_hours / all_h : 0, hours));
  free(shares);
}

static void check_shares_part(struct hr__check_state *checker) {
  const struct hr_trace *trace = checker->trace;
  const struct owners users = {HR_FINDING_ONE_USER, "user", trace->user, &trace->users};
  const struct owners tenants = {HR_FINDING_ONE_TENANT, "tenant", trace->tenant, &trace->tenants};
  double all_h = 0;
  for (uint32_t i = 0; i < checker->n; i++) all_h += gpu_hours_of(trace, i);
  check_heavy(checker, all_h);
  check_owners(checker, &users, all_h);
  check_owners(checker, &tenants, all_h);
}

/* ---- All parts ---------------------------------------------------------------------------------------- */

void hr__check_rows(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_rows_part, check_copies_part, check_shares_part,
                                                            check_missing_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}
