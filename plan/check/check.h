/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_CHECK_H
#define HR_PLAN_CHECK_CHECK_H

/* A check: the runs of a suite, compared with a baseline. Each run of the suite is a case. A run that only the
   baseline contains is a case too. Each structure below owns its texts unless its comment says otherwise;
   hr_check_destroy frees them. */

#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/unstable/compare.h"
#include "plan/runner/runner.h"
#include "plan/search/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Starts and decisions (check_parts.c) ----------------------------------------------------------- */

/* Compact records of a run for baselines: the start of every job, and a chain of marks, one for each block of
   scheduling decisions. Both are text. A character is one of A-Z a-z 0-9 + / and encodes six bits. */

/* ---- Starts of jobs --------------------------------------------------------------------------------- */

struct hr__job_start {
  int64_t wait_s; /* from submission to first start, rounded to seconds; HR_NEVER_US if it never started */
  bool backfilled;
};

static inline struct hr__job_start hr__job_start_of(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return (struct hr__job_start){.wait_s = HR_NEVER_US};
  int64_t wait_us = result->start_us[job] - result->trace->submit_us[job];
  return (struct hr__job_start){(wait_us + HR_SECOND_US / 2) / HR_SECOND_US, result->reason[job] == HR_REASON_BACKFILL};
}

/* Encodes the starts of the first jobs of the trace, as many as fit into 4,096 characters. The caller frees the text.
   NULL when out of memory. */
char *hr__job_starts_encode(const struct hr_result *result);
/* Decodes a text of hr__job_starts_encode that contains at most `n_jobs` jobs. Returns HR_BAD_INPUT if the text is
   damaged, and HR_NO_MEMORY when out of memory. The caller frees *starts. */
enum hr_status hr__job_starts_decode(const char *text, uint32_t n_jobs, struct hr__job_start **starts, uint32_t *count);

/* ---- Decisions -------------------------------------------------------------------------------------- */

/*
 * Decisions are grouped into blocks of equal size. The mark of a block is 12 bits of a digest of all events up to its
 * end. If two runs first differ in block k, their marks of all blocks before k are equal. From block k on the marks
 * differ, except with probability 1/4096 per block.
 */

/* The first decision of a block, and its mark. */
struct hr__decision_block {
  int64_t at_us;
  hr_job job; /* HR_NONE: the decision is about a node */
  uint16_t mark;
  uint8_t kind; /* enum hr_event_kind */
};

struct hr__decisions {
  uint64_t digest, count;
  uint64_t spacing; /* decisions per block */
  struct hr__decision_block *blocks;
  size_t n_blocks;
};

/* Sets `*observer` to an observer that records the events of a run in `decisions`. Returns false when out of memory.
   hr__decisions_finish may be called in either case. */
bool hr__decisions_init(struct hr__decisions *decisions, struct hr_observer *observer);
static inline void hr__decisions_finish(struct hr__decisions *decisions) {
  free(decisions->blocks);
  *decisions = (struct hr__decisions){0};
}

/* Returns the marks as text, two characters for each block. The caller frees the text. NULL when out of memory. */
char *hr__decisions_chain(const struct hr__decisions *decisions);

/* Compares the marks with the chain of another run with `spacing` decisions per block. If they differ, returns true
   and sets *from to the index of a decision. The first decision that differs is then one of the n decisions from *from
   on, where n is the larger block size. */
bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from);

/* The block of the decision with this index; NULL if the run has fewer decisions. */
static inline const struct hr__decision_block *hr__decisions_block(const struct hr__decisions *decisions,
                                                                   uint64_t decision) {
  size_t block = (size_t)(decision / decisions->spacing);
  return block < decisions->n_blocks ? &decisions->blocks[block] : NULL;
}

/* ---- Tolerances ------------------------------------------------------------------------------------- */

/* The tolerances that apply to a run: its own, and those of its suite. */
struct hr__allowance {
  const struct hr_tolerances *own, *common;
  bool replicated;
  bool paired;       /* the replications have the same seeds as those of the baseline */
  bool without_jobs; /* the run has services and no jobs: waits, completion times and slowdowns are those of replicas */
};

enum hr__tolerance_verdict {
  HR__SAME,
  HR__BETTER,  /* the metric improved, and only regressions count */
  HR__ALLOWED, /* within the tolerance, or the profile and the tolerances do not concern the metric */
  HR__CHANCE,  /* not significant: explained by the variation between replications */
  HR__WORSE    /* any other change: the check fails */
};

/* Compares a metric with the baseline. If the result is HR__WORSE and both sides have replications, *p_value is the
   p-value of the difference; otherwise it is NaN. Never returns HR__CHANCE: which p-values are significant depends on
   the number of metrics, so the caller decides. */
enum hr__tolerance_verdict hr__tolerance_evaluate(const struct hr__allowance *allowance,
                                                  const struct hr_baseline_metric *before,
                                                  const struct hr_baseline_metric *now, double *p_value);
/* The profile that applies: that of the run; if it is unspecified, that of the suite; if both are unspecified, slo. */
static inline enum hr_tolerance_profile hr__tolerance_profile(const struct hr__allowance *allowance) {
  if (allowance->own->profile != HR_PROFILE_UNSPECIFIED) return allowance->own->profile;
  return allowance->common->profile != HR_PROFILE_UNSPECIFIED ? allowance->common->profile : HR_PROFILE_SLO;
}

/* Whether only regressions can fail the check, and improvements cannot. */
static inline bool hr__tolerance_only_worse(const struct hr__allowance *allowance) {
  if (allowance->own->only_worse_is_set) return allowance->own->only_worse;
  if (allowance->common->only_worse_is_set) return allowance->common->only_worse;
  return hr__tolerance_profile(allowance) == HR_PROFILE_SLO;
}

/* Whether the digests of the run and of its trace must equal those of the baseline. */
static inline bool hr__tolerance_wants_digest(const struct hr__allowance *allowance) {
  const struct hr_tolerances *own = allowance->own, *common = allowance->common;
  if (own->exact_digest || own->loose_digest) return own->exact_digest;
  if (common->exact_digest || common->loose_digest) return common->exact_digest;
  if (hr__tolerance_profile(allowance) != HR_PROFILE_EXACT) return false;
  bool tolerant = own->count || common->count || hr__tolerance_only_worse(allowance);
  return !tolerant && !allowance->replicated;
}

/* Whether the metric is a time of the replicas of a run without jobs. Its changes do not fail the check, except in the
   profile exact or if a tolerance names the metric. */
bool hr__tolerance_is_unrated(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric);
/* For a metric that only one of the two runs has: whether the check fails because of it. This is always so in the
   profile exact. In other profiles it is so if the profile or a tolerance concerns the metric, unless
   hr__tolerance_is_unrated is true. */
bool hr__tolerance_concerns(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric);

/* Whether a tolerance names the metric exactly: the metric and, if the metric has one, the class, tenant, pool or
   service. With `broadly`, a tolerance for the metric alone and "*" apply too. */
bool hr__tolerance_names(const struct hr_tolerance *tolerance, const struct hr_baseline_metric *metric, bool broadly);
/* Returns HR_BAD_INPUT with a location if a tolerance names an unknown metric. Does not check classes and tenants. */
enum hr_status hr__tolerance_check_names(const struct hr_tolerances *tolerances, struct hr_error *error);

enum { HR__LABEL_BYTES = 320 };
/* Writes "wait_s.p95 of class inference" to `buffer`, which has HR__LABEL_BYTES bytes, and returns the buffer. */
static inline const char *hr__baseline_label(const struct hr_baseline_metric *metric, char *buffer) {
  static const char *const kinds[HR_N_METRIC_OF] = {[HR_METRIC_OF_CLASS] = "class",
                                                    [HR_METRIC_OF_TENANT] = "tenant",
                                                    [HR_METRIC_OF_POOL] = "pool",
                                                    [HR_METRIC_OF_ONE_SERVICE] = "service"};
  if (metric->of == HR_METRIC_OF_RUN)
    snprintf(buffer, HR__LABEL_BYTES, "%.100s", metric->path);
  else
    snprintf(buffer, HR__LABEL_BYTES, "%.100s of %s %.200s", metric->path, kinds[metric->of], metric->group);
  return buffer;
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

/* A metric that differs from the baseline. If the metric is unknown in one of the two runs, its value for that run is
   NaN. */
struct hr__check_change {
  char *label;
  enum hr_unit unit;
  unsigned rank; /* changes are listed in ascending order: failures first, then by importance */
  double before, now, low, high;
  double p_value; /* of the difference; NaN without replications */
  enum hr__tolerance_verdict verdict;
};

/* Of the jobs with a start that differs from the baseline, the one with the earliest start. */
struct hr__check_start {
  bool found;
  bool same; /* no start differs, and the baseline has the starts of all jobs */
  hr_job id;
  char *job;    /* id of the job as text */
  char *tenant; /* NULL: the job has no tenant */
  uint32_t gpus;
  int64_t submit_s;
  int64_t before_s, now_s; /* waits in seconds; HR_NEVER_US if the job never started */
  bool was_backfilled;
  enum hr_reason reason; /* reason of the start in the current run */
  char *wait;            /* sentence that explains the wait; NULL if unknown or if the job did not wait */
};

/* A range of scheduling decisions that contains the first decision that differs from the baseline. */
struct hr__check_decisions {
  bool found;
  uint64_t first, last, count; /* first, last: ends of the range, counted from 1; count: all decisions of the run */
  char *begins;                /* description of decision `first`; NULL if the current run has fewer decisions */
};

/* Result of a case. HR__CASE_NEW and the following values are failures. */
enum hr__case_verdict { HR__CASE_SAME, HR__CASE_CHANGED, HR__CASE_NEW, HR__CASE_GONE, HR__CASE_FAILED };

struct hr__check_case {
  const struct hr_suite_run *run;       /* NULL: only the baseline contains the run */
  const struct hr_baseline_run *before; /* NULL: the baseline lacks the run */
  char *name, *policy;                  /* policy: as written in the suite; NULL: the policy of the scenario */
  const char **overrides;               /* overrides of the run, then those of the policy; the texts are borrowed */
  size_t n_overrides;
  char **policy_overrides;
  size_t n_policy_overrides;
  struct hr_scenario *scenario;
  uint32_t trace; /* index in hr_check.traces */
  struct hr_baseline_run now;
  struct hr__check_change *changes;
  size_t n_changes, n_worse; /* n_worse: number of changes that fail the case */
  bool wants_digest, other_digest, other_trace;
  bool has_unrated; /* times of replicas changed; in runs without jobs they do not fail the case */
  struct hr__check_start start;
  struct hr__check_decisions decisions;
  struct hr_notes causes; /* differences of inputs: trace, scenario, policy, seed, replications and other files */
  struct hr__goals goals; /* goals of the suite and of the run */
  double *goal_values;    /* [goals.n_metrics]: the metrics of the goals in this run; NULL before the run */
  size_t n_missed;        /* number of goals that the run misses */
  enum hr__case_verdict verdict;
};

static inline bool hr__check_misses(const struct hr__check_case *item, size_t goal) {
  const struct hr__goal *self = &item->goals.goals[goal];
  return item->goal_values && hr__goal_violation(self, item->goal_values[self->metric]) > 0;
}

static inline bool hr__check_case_failed(const struct hr__check_case *item) {
  return item->verdict >= HR__CASE_NEW;
}

/* ---- Check ------------------------------------------------------------------------------------------ */

/* A trace that several cases may share. */
struct hr__check_trace {
  char *key, *path; /* key: hr__input_trace_key */
  uint64_t digest;
  struct hr_trace *trace;
};

struct hr_check {
  struct hr_check_config config;
  struct hr__check_case *cases;
  size_t n_cases;
  struct hr__check_trace *traces;
  size_t n_traces;
  struct hr_notes notes;
};

/* Lists in item->causes which inputs differ from those of the baseline (check_parts.c). `version`: of the program that
   wrote the baseline. HR_NO_MEMORY is the only failure. */
enum hr_status hr__check_causes(struct hr__check_case *item, const char *version);

/* The name of a file without its folder. */
static inline const char *hr__check_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

#endif
