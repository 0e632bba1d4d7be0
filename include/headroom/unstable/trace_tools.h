/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_TOOLS_H
#define HEADROOM_UNSTABLE_TRACE_TOOLS_H

/*
 * Transformations of traces before they are replayed: cutting, scaling, merging, anonymising, shuffling.
 * docs/reference/traces.md says what each of them preserves.
 *
 * Each function makes a new trace, which the caller destroys and which borrows nothing; on failure `*made` is NULL.
 * Jobs are sorted by submit, jobs of one instant in the order of their source. Notes are copied. A result without jobs
 * is HR_BAD_INPUT. If the submit of a job changes, its deadline and recorded start move with it. Draws depend on the
 * seed and on the job's position in the trace only: the same input gives the same trace on any machine.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cutting ---- */

/* Selects jobs that are submitted in [from_us, to_us), relative to the first submit, and match the lists. Times are
   unchanged. Lists are borrowed; an empty list matches everything. */
struct hr_name_list {
  const char *const *text;
  size_t count;
};
struct hr_cut_spec {
  int64_t from_us, to_us;
  struct hr_name_list tenants, users;
  struct hr_name_list gpu_types; /* acceptable types of the job; jobs that accept any type match */
  uint32_t max_jobs;             /* the first ones only; 0: all */
  /* Also include jobs that were submitted before the window and were running at its beginning, according to the
     recorded starts: they are submitted at the beginning with their remaining work. Limit and estimate are reduced
     by the time already run, ids are unchanged, fail_at becomes unknown. Requires recorded starts. */
  bool keep_running;
};
/* Defaults: all jobs. */
HR_API void hr_cut_spec_init(struct hr_cut_spec *spec);
HR_API enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec,
                                       struct hr_trace **made, struct hr_error *error);
/* Parses a time, to microseconds from the trace's first submit: "36h", "2d", "90" (seconds) and "1d12h" are relative
   to the first submit; "2026-11-21T08:30" is a date, for traces with dates; "@1500" is seconds on the clock of a
   trace without dates. `option` is named in errors. */
HR_API enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text,
                                          int64_t *us, struct hr_error *error);
/* Parses a duration as above, at least 0; with a leading `-` if `may_be_negative`. */
HR_API enum hr_status hr_span_parse(const char *option, const char *text, bool may_be_negative, int64_t *us,
                                    struct hr_error *error);

/* ---- Scaling ---- */

#define HR_SCALING_TABLE(X)                                                                                            \
  X(HR_SCALING_THIN, "thin")           /* keep each job with probability `load` */                                     \
  X(HR_SCALING_DUPLICATE, "duplicate") /* repeat each job `load` times, copies at about the same time */               \
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

struct hr_scale_spec {
  enum hr_scaling by;
  double load;       /* relative to the trace: at most 1 to thin, at least 1 to duplicate */
  int64_t jitter_us; /* of copies: uniform within this distance, reflected at the first and last submit */
  uint64_t seed;
};
/*
 * Thinning and duplication draw for each job: under one seed, the jobs of a smaller load are a subset of those of a
 * larger one. The id of a copy is its job's with `+1`, `+2`, ... appended (more `+` if ids contain some). Compression
 * divides times since the first submit, rounded to microseconds; run times are unchanged.
 */
HR_API enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                         struct hr_trace **made, struct hr_error *error);

/* ---- Merging ---- */

#define HR_ALIGN_TABLE(X)                                                                                              \
  X(HR_ALIGN_CLOCK, "clock") /* by their own clocks, which must be all dates with zones, all dates without, or none */ \
  X(HR_ALIGN_START, "start") /* all begin where the first one does */

enum hr_align {
#define HR_ALIGN_NAME(name, text) name,
  HR_ALIGN_TABLE(HR_ALIGN_NAME)
#undef HR_ALIGN_NAME
      HR_N_ALIGNS
};

/* Tenants that are merged into one. */
struct hr_tenant_merge {
  struct hr_name_list from;
  const char *to;
};
struct hr_merge_spec {
  enum hr_align align;
  /* [n_traces]: prefixes of ids, and of tenants and users if `tells_tenants`, with a `/` between; distinct. NULL: no
     prefixes; the ids of all traces must be distinct. */
  const char *const *labels;
  bool tells_tenants;
  const struct hr_tenant_merge *tenants; /* by their names with prefixes */
  size_t n_tenants;
};
HR_API enum hr_status hr_transform_merge(const struct hr_trace *const *traces, size_t n_traces,
                                         const struct hr_merge_spec *spec, struct hr_trace **made,
                                         struct hr_error *error);

/* ---- Anonymising ---- */

enum { HR_MIN_PSEUDONYM_DIGITS = 4, HR_MAX_PSEUDONYM_DIGITS = 64, HR_PSEUDONYM_DIGITS = 16 };

struct hr_anonymise_spec {
  const void *key; /* borrowed; at least one byte */
  size_t key_bytes;
  unsigned digits;  /* of a pseudonym */
  int64_t shift_us; /* added to all times */
  bool undated;     /* times become seconds since the first submit */
  uint64_t forget;  /* fields that become unknown (hr_fields_parse) */
};
/* Defaults: no key, nothing changed. */
HR_API void hr_anonymise_spec_init(struct hr_anonymise_spec *spec);
/*
 * Ids, users, tenants and models become pseudonyms: `j-`, `u-`, `t-` or `m-` and the first digits of HMAC-SHA-256(key,
 * KIND || 0 || name) in hexadecimal, with KIND "job", "user", "tenant" or "model" (RFC 2104, FIPS 198-1). Equal names
 * have equal pseudonyms under one key, in every trace. A collision of two names of a kind is an error. What a
 * simulation depends on (GPU types, regions, sizes, times) is unchanged.
 */
HR_API enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                             struct hr_trace **made, struct hr_error *error);

/* ---- Shuffling ---- */

#define HR_SHUFFLING_TABLE(X)                                                                                          \
  X(HR_SHUFFLE_ARRIVALS, "arrivals") /* permute jobs among the trace's submit times */                                 \
  X(HR_SHUFFLE_ROWS, "rows")         /* permute jobs that are submitted at one instant */                              \
  X(HR_SHUFFLE_USERS, "users")       /* permute users, with their tenants, among jobs */

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

struct hr_trace_size {
  uint32_t n_jobs;
  double gpu_hours; /* GPUs, or shares of them, x run time */
  int64_t span_us;  /* from the first to the last submit */
};
HR_API struct hr_trace_size hr_trace_size_of(const struct hr_trace *trace);

struct hr_transform_input {
  const char *path;
  struct hr_trace_size size;
};
/* The transformation and its figures; borrowed. */
struct hr_transformation {
  const char *action; /* "convert", "cut", "scale", "merge", "anonymise", "shuffle" */
  const struct hr_transform_input *inputs;
  size_t n_inputs;
  struct hr_trace_size out;
  const char *path; /* of the output */
  const struct hr_trace_written *written;
  const char *method; /* "thin", "arrivals", ...; NULL: there is only one */
  uint64_t seed;
  bool seeded;
};

/* Statistics of a trace: sizes and run times of jobs, arrivals by user and time, inequality, fitted distributions.
   docs/reference/trace-stats.md defines them. */

struct hr_trace_stats;

/* Computes the statistics. The trace must outlive them. Threads may do this for one trace concurrently. Fails with
   HR_NO_MEMORY only. */
HR_API enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                          struct hr_error *error);
HR_API void hr_trace_stats_destroy(struct hr_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
