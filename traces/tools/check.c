/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a trace for faults that affect simulations: the findings, the check, and its part about rows. Each part of the
   check examines one aspect of the trace and adds findings. At the end, the findings are sorted. A part makes one pass
   over some columns, or sorts them with a radix sort. A check therefore takes about as long as reading the trace. */

#include "traces/tools/check.h"

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/trace_tools.h"
#include "traces/core/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------------ */

/*
 * Checks of rows: skipped rows, the order of rows, duplicate rows, missing fields, and single jobs, users or tenants
 * that dominate the trace.
 *
 * Two jobs are copies if their run times, GPUs, users, tenants, models and GPU types are equal. Copies with the same
 * submit time are reported directly. Copies with different submit times may be a coincidence if times are whole
 * seconds. The number of these copies is therefore compared with the number of pairs that differ only in their run
 * times, by exactly one step, such as a second. Without real copies, both numbers are about equal. Real copies increase
 * only the first number.
 */

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

/* A field that is unknown for all or some jobs. hr_finding_meaning() describes what a simulation assumes in place of
   the field. */

struct field_fact {
  enum hr_finding_code code;
  const char *word;
  enum hr__column_id column;
};

/* Returns the number of jobs that have the field. */
static uint32_t count_known(const struct hr_trace *trace, enum hr__column_id id) {
  const struct hr__column_type *type = &hr__columns[id];
  const uint64_t unknown = type->kind == HR__INSTANT ? (uint64_t)HR_UNKNOWN_US : type->unknown;
  const void *column = hr__trace_column(trace, id);
  uint32_t known = 0;
  for (uint32_t i = 0; column && i < trace->n_jobs; i++) {
    uint64_t value = type->width == 1   ? ((const uint8_t *)column)[i]
                     : type->width == 4 ? ((const uint32_t *)column)[i]
                                        : ((const uint64_t *)column)[i];
    known += value != unknown;
  }
  return known;
}

static void report_missing(struct hr__check_state *checker, const struct field_fact *fact) {
  uint32_t missing = checker->n - count_known(checker->trace, fact->column);
  if (missing == checker->n)
    hr__check_add(checker, fact->code, HR_SEVERITY_NOTE,
                  &(struct hr__check_subject){.count = missing, .of = checker->n, .job = HR_NONE},
                  "no job has a known %s", fact->word);
  else if (missing)
    hr__check_add_jobs(checker, fact->code, HR__NEVER_WARN, missing, checker->n, HR_NONE, "", "%s no known %s",
                       hr__counted(missing, "has", "have"), fact->word);
}

static void check_missing_part(struct hr__check_state *checker) {
  static const struct field_fact facts[] = {
      {HR_FINDING_NO_USERS, "user", HR__COLUMN_USER},
      {HR_FINDING_NO_TENANTS, "tenant", HR__COLUMN_TENANT},
      {HR_FINDING_NO_CLASSES, "class", HR__COLUMN_CLASS},
      {HR_FINDING_NO_OUTCOMES, "outcome", HR__COLUMN_OUTCOME},
      {HR_FINDING_NO_LIMITS, "limit", HR__COLUMN_LIMIT},
      {HR_FINDING_NO_GPU_TYPES, "GPU type", HR__COLUMN_GPU_TYPES},
      {HR_FINDING_NO_GPU_MEMORY, "GPU memory", HR__COLUMN_GPU_MEM},
      {HR_FINDING_NO_CHECKPOINTS, "checkpoint interval", HR__COLUMN_CHECKPOINT_INTERVAL},
      {HR_FINDING_NO_RECORDED_STARTS, "start time", HR__COLUMN_RECORDED_START}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) report_missing(checker, &facts[i]);
}

/* ---- Rows: copies ---------------------------------------------------------------------------------- */

enum { MIN_JOBS = 50, MIN_DISTINCT = 50, MIN_RUN_S = 600, MAX_SAMPLE = 200000 };

static int64_t limit_us(const struct hr_trace *trace, uint32_t job) {
  return trace->limit_us ? trace->limit_us[job] : HR_UNKNOWN_US;
}

/* Returns true if the run time is distinctive: it is long, no limit or common bound ended the job, and the job is not a
   service. */
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
  struct hr__hash table; /* the last job of each set of jobs that are copies of each other */
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

/* Counts copies. Jobs are in order of submit time, so it suffices to compare a job with the last of its earlier copies.
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

/* Returns the share of jobs with a twin: a job that would be a copy if its run time were one step shorter. The share is
   estimated from a sample of jobs from the whole trace. */
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
  if (copies->rows)
    hr__check_add_jobs(checker, HR_FINDING_DUPLICATE_ROWS, copies->rows >= MIN ? 0.1 : HR__NEVER_WARN, copies->rows,
                       copies->of, copies->first_row, " of those of 10 min and more",
                       "%s the submit time, run time%s of another job under a different id",
                       hr__counted(copies->rows, "has", "have"), equal_fields(checker->trace));
}

static void report_jobs(struct hr__check_state *checker, const struct copies *copies, double chance) {
  double share = (double)copies->jobs / copies->of;
  char other[HR__SHARE_BYTES];
  if (copies->of - copies->jobs < MIN_DISTINCT || share < 0.1 || share < 2 * chance) return;
  hr__check_add_jobs(checker, HR_FINDING_COPIED_JOBS, HR__ALWAYS_WARN, copies->jobs, copies->of, copies->first_job,
                     " of those of 10 min and more",
                     "have the run time%s of an earlier one; about %s are expected by chance",
                     equal_fields(checker->trace), hr__check_share_text(chance, other));
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

/* ---- Rows: dominance: one job ---------------------------------------------------------------------- */

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

/* ---- Rows: dominance: one user or tenant ----------------------------------------------------------- */

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

/* Returns the owner's share of all jobs, or its share of all GPU hours if that is larger. */
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

/* ---- Rows: all parts ------------------------------------------------------------------------------- */

static void check_rows(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_rows_part, check_copies_part, check_shares_part,
                                                            check_missing_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}

/* ---- Findings: names and advice -------------------------------------------------------------------- */

/* Names and explanations of findings: what a finding means for a simulation, and what the user should do.
   Details are in docs/reference/trace-check.md. */

static const char *const severity_names[] = {
#define HR_SEVERITY_TEXT(name, text) text,
    HR_SEVERITY_TABLE(HR_SEVERITY_TEXT)
#undef HR_SEVERITY_TEXT
};

static const char *const finding_names[] = {
#define HR_FINDING_TEXT(name, text) text,
    HR_FINDING_TABLE(HR_FINDING_TEXT)
#undef HR_FINDING_TEXT
        NULL};

struct finding_words {
  const char *meaning, *advice;
};

static const struct finding_words words[HR_N_FINDINGS] = {
    [HR_FINDING_BAD_ROWS] = {"a run rejects the file, or skips these rows with --lenient: load is missing",
                             "correct these rows, or assign the columns with --map"},
    [HR_FINDING_DUPLICATE_IDS] =
        {"a run rejects the file, or keeps the first of each id with --lenient",
         "if they are attempts of one job, keep one; if files were concatenated, renumber the jobs"},
    [HR_FINDING_DUPLICATE_ROWS] = {"work is counted twice: load and waits are too high",
                                   "remove the copies, unless they are replicas that started and stopped together"},
    [HR_FINDING_NEVER_FITS] = {"they are rejected, so their load is missing from a run",
                               "check the cluster and the requests; remove the jobs if both are right"},
    [HR_FINDING_UNKNOWN_GPU_TYPE] =
        {"they are rejected, so their load is missing from a run",
         "add a pool of that GPU type to the cluster, or use the cluster's name for the type"},
    [HR_FINDING_OVERLOAD] =
        {"the queue grows as long as such jobs arrive, so waits depend on the length of the trace",
         "add GPUs of these types, thin the trace, or check whether it comes from a larger cluster"},
    [HR_FINDING_OVERLOADED_DAYS] = {"waits are dominated by the peaks, which averages over the trace hide",
                                    "compare waits by day, and do not cut the trace inside a peak"},
    [HR_FINDING_UNDERLOAD] = {"no job waits for these GPUs: the trace may be a sample of their workload",
                              "compare with the source; scale the load, or use fewer nodes"},
    [HR_FINDING_RECORDED_OVER_CAPACITY] = {"the trace was recorded on more GPUs than the scenario has",
                                           "compare the scenario's nodes with the trace's source"},
    [HR_FINDING_WAITS_WITHOUT_CAUSE] = {"recorded waits cannot be reproduced: the cluster was smaller, shared with "
                                        "other jobs, or quotas delayed the jobs",
                                        "compare the scenario's nodes and quotas with the trace's source"},
    [HR_FINDING_SIMULTANEOUS_STARTS] =
        {"the recording may have begun at that instant, or the scheduler resumed after an outage",
         "do not compare recorded waits around it with simulated ones"},
    [HR_FINDING_NO_RECORDED_WAITS] =
        {"starts seem to be copies of submit times: there are no waits to compare a run with",
         "do not calibrate against these waits"},
    [HR_FINDING_SUSPICIOUS_UNITS] = {"if a unit is wrong, so is the load, by the same factor",
                                     "set the unit with --map, as in submit=COLUMN(ms) or duration=COLUMN(h)"},
    [HR_FINDING_CLAMPED_RUN_TIMES] = {"the longest jobs were cut short: load and the tails of waits are too small",
                                      "treat the bound as a minimum for these run times, or find the full trace"},
    [HR_FINDING_CONSTANT_RUN_TIMES] =
        {"policies based on run times (sjf, backfill) cannot differ, and no GPUs are released early",
         "check whether the column is a placeholder"},
    [HR_FINDING_ROUNDED_RUN_TIMES] = {"jobs end together, and short ones are rounded to the step",
                                      "do not interpret waits that are shorter than the step"},
    [HR_FINDING_ZERO_RUN_TIMES] =
        {"they start and end at the same instant and use no GPU time, but count in medians of waits",
         "remove them, unless they failed immediately"},
    [HR_FINDING_TINY_RUN_TIMES] = {"they add almost no load, but count in medians of waits and slowdowns",
                                   "check the unit; weight waits by GPU hours"},
    [HR_FINDING_LONG_RUN_TIMES] = {"they occupy their GPUs for the whole run",
                                   "check whether their end times are placeholders"},
    [HR_FINDING_LIMITS_ARE_RUN_TIMES] =
        {"backfill and sjf use limits and thus know the future: their results are too good",
         "remove the limits, or replace them by random ones of several times the run time"},
    [HR_FINDING_BEYOND_LIMIT] = {"a run continues them until the recorded end, so backfill reservations are late",
                                 "shorten them to their limits if the cluster would stop them, or remove these limits"},
    [HR_FINDING_ONE_LIMIT] = {"it is probably a default: limits give backfill almost no information",
                              "give the policy estimates, or expect little from backfill"},
    [HR_FINDING_IMPOSSIBLE_DEADLINES] = {"they are missed under any policy",
                                         "compare missed deadlines between policies only"},
    [HR_FINDING_BURST] = {"waits depend on this burst more than on the rest",
                          "check whether times were lost there; compare with a run without it"},
    [HR_FINDING_GAP] = {"queues drain there, and the mean load of the trace is too small",
                        "check for an outage of the recording; cut the trace at the gap"},
    [HR_FINDING_CLOCK_CHANGE] = {"times after it are one hour off from those before, and waits across it are wrong",
                                 "convert dates to UTC before reading them"},
    [HR_FINDING_ROUNDED_SUBMITS] = {"jobs arrive in batches: waits behind a batch are too long",
                                    "spread the submit times randomly over the step"},
    [HR_FINDING_CUT_AT_END] = {"these jobs were still running: their run times are too short",
                               "remove them, or cut the trace well before its end"},
    [HR_FINDING_UNFINISHED_MISSING] =
        {"jobs that had not ended are missing: load decreases towards the end, most of all from long jobs",
         "cut the end of the trace by the run time of its longest jobs"},
    [HR_FINDING_COPIED_JOBS] =
        {"the trace is smaller than it seems: it has less variety than jobs, though its load is right",
         "find the original; confidence intervals from such a trace are too narrow"},
    [HR_FINDING_HEAVY_JOB] = {"load, and all metrics weighted by it, depend on this job",
                              "also run without it, and report this with each result"},
    [HR_FINDING_ONE_USER] = {"fair shares and waits by user depend on this user",
                             "also run without this user; check whether the name is a service account"},
    [HR_FINDING_ONE_TENANT] = {"quotas, fair shares and waits by tenant depend on this tenant",
                               "also run without this tenant, or group by user"},
    [HR_FINDING_FAILURES_ALIKE] = {"these failures come from a timeout or outage, not from the jobs",
                                   "do not derive failure models for other workloads from these"},
    [HR_FINDING_MOSTLY_FAILED] = {"a run replays each for its recorded time, as if its work were useful",
                                  "check whether outcomes are read correctly"},
    [HR_FINDING_CANCELLED_UNRUN] = {"they use no GPU time, but wait for GPUs in a run and count in its waits",
                                    "remove them"},
    [HR_FINDING_ODD_SIZES] = {"other GPUs of their nodes stay idle unless other jobs fit",
                              "check whether processors or whole nodes were counted as GPUs"},
    [HR_FINDING_ALL_SINGLE_GPU] = {"if shares of a GPU were rounded up, as in Alibaba's PAI, load is too high",
                                   "compare with the source; pools that share GPUs need the fractions"},
    [HR_FINDING_WITHOUT_GPUS] = {"they use no GPU: they start immediately unless they have CPU and memory requests",
                                 "remove them if only GPUs matter"},
    [HR_FINDING_LEFT_OUT] = {"they cannot be replayed, with or without --lenient", NULL},
    [HR_FINDING_UNSORTED] = {"they are sorted when the trace is read; streamed runs reject the trace", NULL},
    [HR_FINDING_SHORT_TRACE] = {"too few jobs to distinguish a policy's effect on waits from chance",
                                "use a longer trace, or several generated from a model"},
    [HR_FINDING_NO_USERS] = {"jobs without a user: fair shares by user treat them as one user", NULL},
    [HR_FINDING_NO_TENANTS] =
        {"jobs without a tenant: no quota applies and costs are not attributed; --map tenant= and "
         "--tenant-by set tenants",
         NULL},
    [HR_FINDING_NO_CLASSES] = {"jobs without a class: the scenario's defaults apply; --map class= and --class set "
                               "classes from columns such as QOS or Partition",
                               NULL},
    [HR_FINDING_NO_OUTCOMES] = {"jobs without an outcome are assumed to complete", NULL},
    [HR_FINDING_NO_LIMITS] = {"policies that use limits get the run times instead, and thus know the future", NULL},
    [HR_FINDING_NO_GPU_TYPES] =
        {"these jobs run on any GPU type, for their recorded time unless the scenario has speeds", NULL},
    [HR_FINDING_NO_GPU_MEMORY] = {"these jobs fit into the memory of any GPU", NULL},
    [HR_FINDING_NO_CHECKPOINTS] = {"checkpoints are those of the scenario's classes, if any", NULL},
    [HR_FINDING_NO_RECORDED_STARTS] = {"there are no recorded waits to compare a run with", NULL},
    [HR_FINDING_READER] = {NULL, NULL}};

const char *hr_severity_name(enum hr_severity severity) {
  return severity_names[severity];
}

const char *hr_finding_name(enum hr_finding_code code) {
  return finding_names[code];
}

const char *hr_finding_meaning(enum hr_finding_code code) {
  return words[code].meaning;
}

const char *hr_finding_advice(enum hr_finding_code code) {
  return words[code].advice;
}

/* ---- Findings: codes ------------------------------------------------------------------------------- */

static enum hr_status add_code(const char *word, bool set[HR_N_FINDINGS], struct hr_error *error) {
  for (unsigned code = 0; code < HR_N_FINDINGS; code++) {
    if (strcmp(word, finding_names[code]) != 0) continue;
    set[code] = true;
    return HR_OK;
  }
  const char *nearest = hr_nearest_word(word, finding_names);
  return hr_fail(error, HR_BAD_INPUT, "unknown kind of finding '%.60s'%s%s%s; docs/reference/trace-check.md lists them",
                 word, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

enum hr_status hr_findings_parse(const char *text, bool set[HR_N_FINDINGS], struct hr_error *error) {
  for (;;) {
    size_t length = strcspn(text, ",");
    char *word = strndup(text, length);
    enum hr_status status = word ? add_code(word, set, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
    free(word);
    if (status != HR_OK || text[length] == '\0') return status;
    text += length + 1;
  }
}

/* ---- Findings: order ------------------------------------------------------------------------------- */

/* Order of findings: by severity, highest first; then by code; then in the order in which they were added. */
static bool precedes(const struct hr_finding *a, const struct hr_finding *b) {
  return a->severity != b->severity ? a->severity > b->severity : a->code < b->code;
}

static void put_in_order(struct hr_trace_check *check) {
  for (size_t i = 1; i < check->n_findings; i++) {
    struct hr_finding finding = check->findings[i];
    size_t at = i;
    for (; at > 0 && precedes(&finding, &check->findings[at - 1]); at--) check->findings[at] = check->findings[at - 1];
    check->findings[at] = finding;
  }
}

/* ---- Check ----------------------------------------------------------------------------------------- */

enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                   struct hr_error *error) {
  const struct hr_trace *trace = config->trace;
  struct hr__check_state checker = {.trace = trace,
                                    .cluster = config->cluster,
                                    .check = calloc(1, sizeof **check),
                                    .n = trace->n_jobs,
                                    .span_us = trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]};
  static void (*const parts[])(struct hr__check_state *) = {hr__check_jobs, hr__check_arrivals, check_rows,
                                                            hr__check_cluster};
  *check = checker.check;
  if (!*check) return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  (*check)->config = *config;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker.out_of_memory; i++) parts[i](&checker);
  free(checker.work);
  put_in_order(*check);
  if (!checker.out_of_memory) return HR_OK;
  hr_trace_check_destroy(*check);
  *check = NULL;
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

void hr_trace_check_destroy(struct hr_trace_check *check) {
  if (!check) return;
  for (size_t i = 0; i < check->n_findings; i++) {
    free(check->findings[i].text);
    free(check->findings[i].subject);
  }
  for (size_t i = 0; i < check->n_loads; i++) free(check->loads[i].gpu_types);
  free(check->findings);
  free(check->loads);
  free(check);
}

size_t hr_trace_check_count(const struct hr_trace_check *check, enum hr_severity severity) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_findings; i++) count += check->findings[i].severity == severity;
  return count;
}

/* ---- Functions that several parts use -------------------------------------------------------------- */

static char *format_text(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

void hr__check_add(struct hr__check_state *checker, enum hr_finding_code code, enum hr_severity severity,
                   const struct hr__check_subject *where, const char *format, ...) {
  struct hr_trace_check *check = checker->check;
  if (check->config.allowed[code]) return;
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments);
  va_end(arguments);
  char *subject = where->subject ? strdup(where->subject) : NULL;
  if (!text || (where->subject && !subject) ||
      !HR__ARRAY_HAS_ROOM(check->findings, check->n_findings, checker->findings_capacity)) {
    free(text);
    free(subject);
    checker->out_of_memory = true;
    return;
  }
  check->findings[check->n_findings++] = (struct hr_finding){.code = code,
                                                             .severity = severity,
                                                             .text = text,
                                                             .subject = subject,
                                                             .count = where->count,
                                                             .of = where->of,
                                                             .line = where->line,
                                                             .job = {where->job}};
}

void hr__check_add_jobs(struct hr__check_state *checker, enum hr_finding_code code, double warn_from, uint32_t count,
                        uint32_t of, uint32_t first, const char *of_what, const char *format, ...) {
  double share = (double)count / of;
  char number[HR__NUMBER_BYTES], percent[HR__SHARE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  char *rest = format_text(format, arguments);
  va_end(arguments);
  if (rest)
    hr__check_add(checker, code, share >= warn_from ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
                  &(struct hr__check_subject){.count = count, .of = of, .job = first}, "%s job%s (%s%s) %s",
                  hr__count_text(count, number), hr__plural(count), hr__check_share_text(share, percent), of_what,
                  rest);
  else
    checker->out_of_memory = true;
  free(rest);
}

bool hr__pairs_sort(struct hr__job_value *pairs, size_t count) {
  struct hr__keyed_row *rows = malloc((count + 1) * sizeof *rows);
  struct hr__job_value *unsorted = malloc((count + 1) * sizeof *unsorted);
  bool done = rows && unsorted;
  for (size_t i = 0; done && i < count; i++) {
    rows[i] = (struct hr__keyed_row){(uint64_t)pairs[i].key, (uint32_t)i};
    unsorted[i] = pairs[i];
  }
  done = done && hr__sort_keyed_rows(rows, count);
  for (size_t i = 0; done && i < count; i++) pairs[i] = unsorted[rows[i].row];
  free(rows);
  free(unsorted);
  return done;
}

/* ---- Properties of jobs and columns ---------------------------------------------------------------- */

const char *hr__check_share_text(double share, char *buffer) {
  double percent = 100 * share;
  if (percent > 0 && percent < 0.0001)
    snprintf(buffer, HR__SHARE_BYTES, "less than 0.0001 %%");
  else
    snprintf(buffer, HR__SHARE_BYTES, percent >= 9.95 ? "%.0f %%" : "%.2g %%", percent);
  return buffer;
}

uint32_t hr__check_most_frequent(const struct hr__job_value *values, uint32_t count, uint32_t from, uint32_t *begin) {
  uint32_t most = 0;
  *begin = from;
  while (from > 0 && values[from - 1].key == values[from].key) from--;
  for (uint32_t i = from; i < count;) {
    uint32_t end = i + 1;
    while (end < count && values[end].key == values[i].key) end++;
    if (end - i >= most) {
      most = end - i;
      *begin = i;
    }
    i = end;
  }
  return most;
}

int64_t hr__check_grain_us(const int64_t *values, uint32_t count, int64_t origin_us) {
  static const int64_t steps_us[] = {1,
                                     1000,
                                     10 * INT64_C(1000),
                                     100 * INT64_C(1000),
                                     HR_SECOND_US,
                                     10 * HR_SECOND_US,
                                     HR__MINUTE_US,
                                     5 * HR__MINUTE_US,
                                     15 * HR__MINUTE_US,
                                     HR__HOUR_US,
                                     HR__DAY_US};
  int64_t grain_us = 1;
  for (size_t step = 0; step < sizeof steps_us / sizeof *steps_us; step++) {
    uint32_t others = 0;
    for (uint32_t i = 0; i < count && others <= count / 100; i++)
      others += (values[i] + origin_us) % steps_us[step] != 0;
    /* every larger step is a multiple of this step, so it has at least as many exceptions */
    if (others > count / 100) break;
    grain_us = steps_us[step];
  }
  return grain_us;
}
