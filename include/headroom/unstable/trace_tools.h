/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_TOOLS_H
#define HEADROOM_UNSTABLE_TRACE_TOOLS_H

/*
 * Transformations of traces before they are replayed: cutting, scaling, merging, anonymising, shuffling.
 * docs/reference/traces.md defines what each transformation preserves.
 *
 * Each function creates a new trace, which borrows nothing; the caller frees it with hr_trace_destroy. On failure
 * `*made` is NULL. Jobs are sorted by submit; jobs of one instant are in the order of their source. Notes are copied.
 * If the submit of a job changes, its deadline and its recorded start move with it. Random draws depend only on the
 * seed and on the position of the job in the trace, so the same input gives the same trace on every machine. Each
 * function returns HR_BAD_INPUT if the result has no jobs.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cutting ---- */

/* A borrowed list of names. */
struct hr_name_list {
  const char *const *text;
  size_t count;
};
/* The jobs to select, by submit time, tenant, user and GPU type. A job must match all criteria. An empty list matches
   all jobs. Submit times are unchanged. */
struct hr_cut_spec {
  int64_t from_us, to_us; /* the window [from_us, to_us) in which jobs are submitted, relative to the first submit */
  struct hr_name_list tenants, users;
  /* matches jobs that accept one of these GPU types; a job that accepts any type matches, too */
  struct hr_name_list gpu_types;
  uint32_t max_jobs; /* maximum number of jobs; later jobs are left out. 0: no limit */
  /* Also select jobs that were submitted before the window and ran at its beginning, according to their recorded
     starts, which the trace must have. Such a job is submitted at the beginning of the window, with its remaining work.
     Its limit and its estimate are reduced by the time that it has run; its id is unchanged; its fail_at_ppm becomes
     unknown. */
  bool keep_running;
};
/* Sets the defaults: all jobs are selected. */
HR_API void hr_cut_spec_init(struct hr_cut_spec *spec);
/* Creates a trace of the selected jobs. */
HR_API enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec,
                                       struct hr_trace **made, struct hr_error *error);
/* Parses a time into `*us`, microseconds from the first submit of the trace. "36h", "2d", "90" (seconds) and "1d12h"
   are relative to the first submit. "2026-11-21T08:30" is a date, for traces with dates. "@1500" is seconds on the
   clock of a trace without dates. `option` is the name of the option in error messages. */
HR_API enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text,
                                          int64_t *us, struct hr_error *error);
/* Parses a duration such as "36h", "90" (seconds) or "1d12h" into `*us`. Durations are at least 0; a leading `-` is
   accepted if `may_be_negative`. `option` is the name of the option in error messages. */
HR_API enum hr_status hr_span_parse(const char *option, const char *text, bool may_be_negative, int64_t *us,
                                    struct hr_error *error);

/* ---- Scaling ---- */

/* How the load of a trace is scaled. The columns: enumerator, name as users type it. */
#define HR_SCALING_TABLE(X)                                                                                            \
  X(HR_SCALING_THIN, "thin")           /* select each job with the probability `load` */                               \
  X(HR_SCALING_DUPLICATE, "duplicate") /* repeat each job `load` times on average, at about the same time */           \
  X(HR_SCALING_COMPRESS, "compress")   /* divide the times between submits by `load` */

enum hr_scaling {
#define HR_SCALING_NAME(name, text) name,
  HR_SCALING_TABLE(HR_SCALING_NAME)
#undef HR_SCALING_NAME
      HR_N_SCALINGS
};
HR_API const char *hr_scaling_name(enum hr_scaling scaling);

#define HR_MIN_LOAD_SCALE 0.001
#define HR_MAX_LOAD_SCALE 1000.0

/* The parameters of scaling. */
struct hr_scale_spec {
  enum hr_scaling by;
  /* load relative to the trace: at most 1 for thinning, at least 1 for duplication */
  double load;
  /* a copy is submitted at most this time before or after its job; the difference is uniformly distributed. If it would
     be submitted before the first or after the last submit of the trace, its time is reflected at that submit */
  int64_t jitter_us;
  uint64_t seed;
};
/*
 * Scales the load of a trace. Thinning and duplication draw a random number for each job, so for one seed the jobs of a
 * smaller load are a subset of the jobs of a larger load. The id of a copy is the id of its job with `+1`, `+2`, ...
 * appended. If ids of the trace contain `+`, several `+` are used so that the new ids are distinct. Compression divides
 * times since the first submit by `load`, rounded to microseconds; run times are unchanged.
 */
HR_API enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                         struct hr_trace **made, struct hr_error *error);

/* ---- Merging ---- */

/* How the clocks of merged traces are aligned. HR_ALIGN_CLOCK requires that all traces have dates with time zones, or
   that all have dates without time zones, or that no trace has dates. The columns: enumerator, name as users type it.
 */
#define HR_ALIGN_TABLE(X)                                                                                              \
  X(HR_ALIGN_CLOCK, "clock") /* by their own clocks */                                                                 \
  X(HR_ALIGN_START, "start") /* all traces begin when the first trace begins */

enum hr_align {
#define HR_ALIGN_NAME(name, text) name,
  HR_ALIGN_TABLE(HR_ALIGN_NAME)
#undef HR_ALIGN_NAME
      HR_N_ALIGNS
};

/* All tenants in `from` become the tenant `to`. */
struct hr_tenant_merge {
  struct hr_name_list from;
  const char *to;
};
/* The parameters of merging. */
struct hr_merge_spec {
  enum hr_align align;
  /* [n_traces]: distinct labels of the traces. Each id gets the label of its trace and `/` as prefix. NULL: no
     prefixes; in this case the ids of all traces must be distinct. */
  const char *const *labels;
  bool renames_tenants;                  /* the names of tenants and users get the prefixes, too */
  const struct hr_tenant_merge *tenants; /* [n_tenants]: tenants to merge. Their names include the prefixes */
  size_t n_tenants;
};
/* Creates a trace of the jobs of all traces. */
HR_API enum hr_status hr_transform_merge(const struct hr_trace *const *traces, size_t n_traces,
                                         const struct hr_merge_spec *spec, struct hr_trace **made,
                                         struct hr_error *error);

/* ---- Anonymising ---- */

/* Minimum, maximum and default number of hexadecimal digits of a pseudonym. */
enum { HR_MIN_PSEUDONYM_DIGITS = 4, HR_MAX_PSEUDONYM_DIGITS = 64, HR_PSEUDONYM_DIGITS = 16 };

/* The parameters of anonymising. */
struct hr_anonymise_spec {
  const void *key; /* borrowed; at least one byte */
  size_t key_bytes;
  unsigned digits;  /* number of digits of a pseudonym */
  int64_t shift_us; /* in microseconds, added to all times */
  bool undated;     /* the output has seconds since the first submit instead of dates */
  uint64_t forget;  /* set of fields that become unknown (hr_fields_parse) */
};
/* Sets the defaults: no key; times and fields are unchanged. */
HR_API void hr_anonymise_spec_init(struct hr_anonymise_spec *spec);
/*
 * Replaces ids, users, tenants and models by pseudonyms. A pseudonym is `j-`, `u-`, `t-` or `m-`, followed by the first
 * digits of HMAC-SHA-256(key, KIND || 0 || name) in hexadecimal, with KIND "job", "user", "tenant" or "model" (RFC
 * 2104, FIPS 198-1). With one key, equal names have equal pseudonyms in all traces. Returns HR_BAD_INPUT if two names
 * of one kind get the same pseudonym. All other members that affect a simulation (GPU types, regions, sizes, times) are
 * unchanged, unless `spec` changes them.
 */
HR_API enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                             struct hr_trace **made, struct hr_error *error);

/* ---- Shuffling ---- */

/* The data that are permuted. The columns: enumerator, name as users type it. */
#define HR_SHUFFLING_TABLE(X)                                                                                          \
  X(HR_SHUFFLE_ARRIVALS, "arrivals") /* permute the jobs among the submit times of the trace */                        \
  X(HR_SHUFFLE_ROWS, "rows")         /* permute the jobs that are submitted at the same instant */                     \
  X(HR_SHUFFLE_USERS, "users")       /* permute the users, with their tenants, among the jobs */

enum hr_shuffling {
#define HR_SHUFFLING_NAME(name, text) name,
  HR_SHUFFLING_TABLE(HR_SHUFFLING_NAME)
#undef HR_SHUFFLING_NAME
      HR_N_SHUFFLINGS
};

/* Applies a uniform random permutation (Fisher and Yates; Durstenfeld, CACM 7, 1964). */
HR_API enum hr_status hr_transform_shuffle(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed,
                                           struct hr_trace **made, struct hr_error *error);

/* ---- Reports ---- */

/* The size of a trace. */
struct hr_trace_size {
  uint32_t n_jobs;
  double gpu_hours; /* sum over all jobs of (GPUs or shares of GPUs) x run time */
  int64_t span_us;  /* from the first to the last submit */
};
/* Returns the size of a trace. */
HR_API struct hr_trace_size hr_trace_size_of(const struct hr_trace *trace);

/* An input file of a transformation. */
struct hr_transform_input {
  const char *path;
  struct hr_trace_size size;
};
/* A transformation that was done, for reports. Everything is borrowed. */
struct hr_transformation {
  const char *action;                      /* "convert", "cut", "scale", "merge", "anonymise", "shuffle" */
  const struct hr_transform_input *inputs; /* [n_inputs] */
  size_t n_inputs;
  struct hr_trace_size out;
  const char *path; /* path of the output */
  const struct hr_trace_written *written;
  const char *method; /* the method, such as "thin" or "arrivals"; NULL: the action has only one method */
  uint64_t seed;
  bool seeded; /* `seed` was used */
};

/* Statistics of a trace: sizes and run times of jobs, arrivals by user and by time, inequality, fitted distributions.
   docs/reference/trace-stats.md defines them. */

struct hr_trace_stats;

/* Computes the statistics. The caller frees `*stats` with hr_trace_stats_destroy. The trace must outlive the
   statistics. Several threads may compute the statistics of the same trace at the same time. The only possible error is
   HR_NO_MEMORY. */
HR_API enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                          struct hr_error *error);
HR_API void hr_trace_stats_destroy(struct hr_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
