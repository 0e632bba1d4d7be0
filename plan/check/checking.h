/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_CHECK_CHECKING_H
#define HR_PLAN_CHECK_CHECKING_H

/* A check, for those parts that make it and for those that tell of it. */

#include "headroom/scenario.h"
#include "headroom/unstable/check.h"
#include "headroom/unstable/replications.h"
#include "plan/check/decisions.h"
#include "plan/check/tolerance.h"

/* A figure that is not what it was. NaN: the run has it not. */
struct hr__moved {
  char *label;
  enum hr__unit unit;
  double before, now, low, high;
  double chance; /* of so large a difference where nothing is other; NaN where replications do not tell it */
  enum hr__tolerance_verdict verdict;
};

/* The first job that began at another time than before. */
struct hr__other_start {
  bool found;
  bool same; /* not found, and the baseline has the starts of all jobs */
  hr_job id;
  char *job;    /* its id as text */
  char *tenant; /* NULL: none */
  uint32_t gpus;
  int64_t submit_s;
  int64_t before_s, now_s; /* waits; HR_NEVER_US: it never began */
  bool was_backfilled;
  enum hr_reason reason; /* of its start now */
  char *held;            /* what held it back; NULL: not known, or nothing */
};

/* The decisions one of which is the first that differs. */
struct hr__other_decisions {
  bool found;
  uint64_t first, last, count; /* from 1, of so many */
  char *begins;                /* what the first of them is; NULL: there are no longer so many */
};

/* What became of a run, as one word. */
enum hr__case_verdict { HR__CASE_SAME, HR__CASE_TOLD, HR__CASE_NEW, HR__CASE_GONE, HR__CASE_FAILED };

/* One run of the suite, or one that only the baseline has. */
struct hr__check_case {
  const struct hr_suite_run *run;       /* NULL: it is gone */
  const struct hr_baseline_run *before; /* NULL: it is new */
  char *name, *policy;                  /* policy: as the suite names it; NULL: the scenario's */
  const char **overrides;               /* of the run, then of the policy */
  size_t n_overrides;
  char **policy_overrides;
  size_t n_policy_overrides;
  struct hr_scenario *scenario;
  uint32_t trace;
  struct hr_baseline_run now;
  struct hr__moved *moved;
  size_t n_moved;
  bool wants_digest, other_digest, other_trace;
  struct hr__other_start start;
  struct hr__other_decisions decisions;
  struct hr_notes told; /* what else is not as it was: policy, seed, files */
  enum hr__case_verdict verdict;
};

struct hr__check_trace {
  char *key, *path;
  uint64_t digest;
  struct hr_trace *trace;
};

struct hr_check {
  struct hr_check_config config;
  struct hr__check_case *cases;
  size_t n_cases;
  struct hr__check_trace *traces;
  size_t n_traces;
  struct hr_notes notes; /* on the whole */
};

/* ---- Parts of a check ------------------------------------------------------------------------------- */

/* What a run of figures has, into `now`. */
enum hr_status hr__check_figures(const struct hr__one_run *run, const struct hr_trace *trace,
                                 struct hr_baseline_run *now);
enum hr_status hr__check_replicated_figures(const struct hr_replicates *replicates, const struct hr_trace *trace,
                                            struct hr_baseline_run *now);
/* What differs from `before`. `result` and `decisions`: NULL of replicated runs. */
enum hr_status hr__check_compare(const struct hr_check *check, struct hr__check_case *item,
                                 const struct hr_result *result, const struct hr__decisions *decisions);

/* ---- What is told of one ---------------------------------------------------------------------------- */

bool hr__case_failed(const struct hr__check_case *item);
size_t hr__case_worse(const struct hr__check_case *item); /* figures that fail it */
/* The file's name without its folders. */
const char *hr__base_name(const char *path);
/* Sentences on what is not a figure, in order: each to `put`. */
struct hr__sentences {
  void *self;
  void (*put)(void *self, const char *sentence);
};
void hr__case_tell(const struct hr__check_case *item, const struct hr__sentences *to);
/* What became of one, in a few words: "12 figures moved too far". */
void hr__case_summary(const struct hr__check_case *item, char *text, size_t size);
/* What became of all, in one line without its end: "2 of 12 runs fail". */
void hr__check_headline(const struct hr_check *check, char *text, size_t size);
/* "-3.2 %", "+4", "new": how a figure changed. Into `buffer`, of 32 bytes. */
const char *hr__change_text(const struct hr__moved *moved, char *buffer);
/* Both values for a person, with all their decimals where they would else look the same. Into buffers of
   HR__FIGURE_BYTES. */
void hr__moved_texts(const struct hr__moved *moved, char *before, char *now);
const char *hr__verdict_word(enum hr__tolerance_verdict verdict);

#endif
