/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of findings, and what each means for a simulation and lets do: docs/reference/trace-check.md says more. */

#include "headroom/trace_check.h"

#include <stdlib.h>
#include <string.h>

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

struct words {
  const char *meaning, *advice;
};

static const struct words words[HR_N_FINDINGS] = {
    [HR_FINDING_BAD_ROWS] = {"a run refuses the file, or leaves these rows out with --lenient: load is missing",
                             "mend these rows, or say with --map which column is which"},
    [HR_FINDING_DUPLICATE_IDS] = {"a run refuses the file, or keeps the first of each with --lenient",
                                  "if they are attempts of one job, keep one; if files were joined, number them anew"},
    [HR_FINDING_DUPLICATE_ROWS] = {"work is counted twice: load and waits are too high",
                                   "drop one of each, unless they are replicas that began and were stopped together"},
    [HR_FINDING_NEVER_FITS] = {"they are rejected: a run goes on without their load",
                               "look whether the cluster or the requests are wrong; drop the jobs if neither is"},
    [HR_FINDING_UNKNOWN_GPU_TYPE] = {"they are rejected: a run goes on without their load",
                                     "give the cluster a pool of that type, or name the type as the cluster does"},
    [HR_FINDING_OVERLOAD] = {"the queue grows for as long as such jobs come, and waits tell how long the trace is",
                             "add GPUs of these types, thin the trace, or look whether it is of a larger cluster"},
    [HR_FINDING_OVERLOADED_DAYS] = {"waits are those of the peaks: averages over the trace hide them",
                                    "look at waits by day, and do not cut the trace inside a peak"},
    [HR_FINDING_UNDERLOAD] = {"nobody waits for these GPUs: the trace may be a sample of what they did",
                              "compare with the source; scale the load, or take fewer nodes"},
    [HR_FINDING_RECORDED_OVER_CAPACITY] = {"the trace was recorded on more GPUs than the scenario has",
                                           "compare the scenario's nodes with the trace's source"},
    [HR_FINDING_WAITS_WITHOUT_CAUSE] =
        {"recorded waits cannot be reproduced: the cluster was smaller, used by others, or "
         "quotas held jobs back",
         "compare the scenario's nodes and quotas with the trace's source"},
    [HR_FINDING_SIMULTANEOUS_STARTS] =
        {"the recording may begin, or the scheduler go on after an outage, at that instant",
         "do not compare recorded waits around it with simulated ones"},
    [HR_FINDING_NO_RECORDED_WAITS] = {"starts seem to be copies of submits: there is no wait to compare a run with",
                                      "do not calibrate against these waits"},
    [HR_FINDING_SUSPICIOUS_UNITS] = {"if a unit is wrong, load is wrong by its factor",
                                     "tell the unit with --map, as in submit=COLUMN(ms) or duration=COLUMN(h)"},
    [HR_FINDING_CLAMPED_RUN_TIMES] =
        {"the longest jobs are shorter than they were: load and tails of waits are too small",
         "take the bound as a lower limit of these run times, or find the full trace"},
    [HR_FINDING_CONSTANT_RUN_TIMES] =
        {"rules that go by run times (sjf, backfill) cannot differ, and nothing drains early",
         "look whether the column is a placeholder"},
    [HR_FINDING_ROUNDED_RUN_TIMES] = {"jobs end together, and short ones are as long as the step",
                                      "do not read anything into waits that are shorter than the step"},
    [HR_FINDING_ZERO_RUN_TIMES] =
        {"they start and end at one instant, and take no GPU time, but count in medians of waits",
         "drop them, unless they failed at once"},
    [HR_FINDING_TINY_RUN_TIMES] = {"they are as good as no load, but count in medians of waits and slowdowns",
                                   "look whether the unit is right; judge waits by GPU hours"},
    [HR_FINDING_LONG_RUN_TIMES] = {"they hold their GPUs for the whole run",
                                   "look whether their ends are placeholders"},
    [HR_FINDING_LIMITS_ARE_RUN_TIMES] =
        {"backfill and sjf go by limits and know the future: they look better than they are",
         "drop the limits, or draw them anew, several times the run time"},
    [HR_FINDING_BEYOND_LIMIT] = {"a run goes on to the recorded end: what backfill promised to others is late",
                                 "cut them at their limits if the cluster would, or drop these limits"},
    [HR_FINDING_ONE_LIMIT] = {"it is likely to be a default: backfill by limits learns next to nothing",
                              "give a policy estimates to go by, or expect little of backfill"},
    [HR_FINDING_IMPOSSIBLE_DEADLINES] = {"they are missed under any policy",
                                         "compare missed deadlines between policies, not with none"},
    [HR_FINDING_BURST] = {"waits are those of this burst more than of the rest",
                          "look whether times were lost there; run without it to see what it does"},
    [HR_FINDING_GAP] = {"queues drain there, and the trace's mean load is too small",
                        "look for an outage of the recording; cut the trace at the gap"},
    [HR_FINDING_CLOCK_CHANGE] = {"times after it are an hour off against those before, and waits across it are wrong",
                                 "convert dates to UTC before they are read"},
    [HR_FINDING_ROUNDED_SUBMITS] = {"jobs come in batches: waits behind the batch are too long",
                                    "spread submits over the step, at random"},
    [HR_FINDING_CUT_AT_END] = {"these jobs were still running: their run times are too short",
                               "drop them, or cut the trace well before its end"},
    [HR_FINDING_UNFINISHED_MISSING] =
        {"jobs that had not ended are not in the trace: load falls towards its end, of long "
         "jobs most",
         "cut the trace before its end, by the length of its longest jobs"},
    [HR_FINDING_COPIED_JOBS] = {"the trace is smaller than it looks: its variety, not its load, is overstated",
                                "find the original; intervals from such a trace are too narrow"},
    [HR_FINDING_HEAVY_JOB] = {"load, and all that is weighted by it, hangs on this job",
                              "run without it as well, and say so with each result"},
    [HR_FINDING_ONE_USER] = {"fair shares and waits by user are those of this one",
                             "run without this user as well; look whether the name is a service account"},
    [HR_FINDING_ONE_TENANT] = {"quotas, fair shares and waits by tenant are those of this one",
                               "run without this tenant as well, or go by users"},
    [HR_FINDING_FAILURES_ALIKE] = {"a timeout or an outage failed them: it is no property of the jobs",
                                   "do not draw failures of other workloads from these"},
    [HR_FINDING_MOSTLY_FAILED] = {"a run replays each for its recorded time, as if it had been worth it",
                                  "look whether outcomes are read right"},
    [HR_FINDING_CANCELLED_UNRUN] = {"they take no GPU time, yet wait for GPUs in a run, and count in its waits",
                                    "drop them"},
    [HR_FINDING_ODD_SIZES] = {"GPUs of a node stay idle beside them unless others fit",
                              "look whether processors or whole nodes were counted as GPUs"},
    [HR_FINDING_ALL_SINGLE_GPU] = {"if shares of a GPU were rounded up, as in Alibaba's PAI, load is too high",
                                   "compare with the source; a pool that shares its GPUs needs the shares"},
    [HR_FINDING_WITHOUT_GPUS] = {"they take no GPU: they start at once unless CPU and memory are told",
                                 "drop them where only GPUs are of interest"},
    [HR_FINDING_LEFT_OUT] = {"there is nothing to replay of them, with or without --lenient", NULL},
    [HR_FINDING_UNSORTED] = {"they are sorted when the trace is read; a run that streams it refuses it", NULL},
    [HR_FINDING_SHORT_TRACE] = {"too little to tell a policy's waits from chance",
                                "take a longer one, or many drawn from a model"},
    [HR_FINDING_NO_USERS] = {"these jobs have no user: fair shares by user see one", NULL},
    [HR_FINDING_NO_TENANTS] = {"these jobs are nobody's: no quota and no share of costs is theirs", NULL},
    [HR_FINDING_NO_CLASSES] = {"these jobs are of no class: the scenario's defaults hold for them", NULL},
    [HR_FINDING_NO_OUTCOMES] = {"these jobs are taken to complete", NULL},
    [HR_FINDING_NO_LIMITS] = {"policies that go by limits are given run times, and know the future", NULL},
    [HR_FINDING_NO_GPU_TYPES] = {"these jobs run on any type, in their recorded time unless the scenario has speeds",
                                 NULL},
    [HR_FINDING_NO_GPU_MEMORY] = {"these jobs fit the memory of any GPU", NULL},
    [HR_FINDING_NO_CHECKPOINTS] = {"checkpoints are as the scenario's classes have them, if they do", NULL},
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
  return hr_fail(error, HR_BAD_INPUT, "'%.60s' is no kind of finding%s%s%s; docs/reference/trace-check.md lists them",
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
