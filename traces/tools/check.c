/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a trace for faults that affect simulations. The check consists of parts. Each part examines one aspect of
   the trace and adds findings. At the end, the findings are sorted. A part makes one pass over some columns, or
   sorts them with a radix sort, so a check takes about as long as reading the trace. */

#include "traces/tools/check.h"

#include "base/containers.h"
#include "headroom/unstable/trace_tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables of names and explanations of findings: what a finding means for a simulation, and what the user should do.
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

/* ---- Codes ------------------------------------------------------------------------------------------ */

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

/* ---- Findings -------------------------------------------------------------------------------------- */

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

/* ---- Check ------------------------------------------------------------------------------------------- */

enum hr_status hr_trace_check_make(const struct hr_trace_check_config *config, struct hr_trace_check **check,
                                   struct hr_error *error) {
  const struct hr_trace *trace = config->trace;
  struct hr__check_state checker = {.trace = trace,
                                    .cluster = config->cluster,
                                    .check = calloc(1, sizeof **check),
                                    .n = trace->n_jobs,
                                    .span_us = trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]};
  static void (*const parts[])(struct hr__check_state *) = {hr__check_jobs, hr__check_arrivals, hr__check_rows,
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

/* ---- What parts share --------------------------------------------------------------------------------- */

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

/* ---- Properties of jobs and columns -------------------------------------------------------------------- */

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
