/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_TRACE_TOOLS_H
#define HEADROOM_UNSTABLE_TRACE_TOOLS_H

/*
 * What can be made of a trace before it is replayed: a window of it, more or fewer of its jobs, several traces as one,
 * names that nobody knows, arrivals in another order. docs/reference/traces.md says of each what stays as it was and
 * what does not.
 *
 * Each function makes a trace of its own, to be destroyed, which borrows nothing; on failure `*made` is NULL. Its jobs
 * stand in order of submission, jobs of one instant in the order of the traces that they come from. Notes are those of
 * the traces. A trace without any job is an error (HR_BAD_INPUT). Where a job is submitted at another time than before,
 * its deadline and its recorded start move along. Draws depend on the seed and the job's place in the trace alone: the
 * same input gives the same trace on any machine.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A window --------------------------------------------------------------------------------------- */

/* Jobs that are submitted in [from_us, to_us), counted from the first submit, and are what the lists ask for; times
   stay as they are. Lists are borrowed; one that is empty asks for nothing. */
struct hr_name_list {
  const char *const *text;
  size_t count;
};
struct hr_cut_spec {
  int64_t from_us, to_us;
  struct hr_name_list tenants, users;
  struct hr_name_list gpu_types; /* of which a job takes one; jobs that take any are among them */
  uint32_t max_jobs;             /* the first of them; 0: all */
  /* Jobs submitted before the window that were running at its begin, where the trace was recorded, too: they are
     submitted, and started, at the begin, with the work that was left; limit and estimate are less by what had run,
     ids stay, where they failed (fail_at) becomes unknown. Wants recorded starts. */
  bool keep_running;
};
/* All jobs. */
HR_API void hr_cut_spec_init(struct hr_cut_spec *spec);
HR_API enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec,
                                       struct hr_trace **made, struct hr_error *error);
/* A time as a person writes it, to microseconds from the trace's first submit: "36h", "2d", "90" (seconds) and "1d12h"
   count from the first submit; "2026-11-21T08:30" is a date of a trace that has dates, on its clock; "@1500" are
   seconds on the clock of one that has none. `option` names it in errors. */
HR_API enum hr_status hr_trace_time_parse(const struct hr_trace *trace, const char *option, const char *text,
                                          int64_t *us, struct hr_error *error);
/* A length of time as above, 0 or more; `-` before it is taken where `may_be_negative`. */
HR_API enum hr_status hr_span_parse(const char *option, const char *text, bool may_be_negative, int64_t *us,
                                    struct hr_error *error);

/* ---- Load ------------------------------------------------------------------------------------------- */

#define HR_SCALING_TABLE(X)                                                                                            \
  X(HR_SCALING_THIN, "thin")           /* each job stays with probability `load` */                                    \
  X(HR_SCALING_DUPLICATE, "duplicate") /* each job comes `load` times, copies at about its time */                     \
  X(HR_SCALING_COMPRESS, "compress")   /* submits come `load` times as fast */

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
  double load; /* for that of the trace: at most 1 to thin, at least 1 to duplicate */
  int64_t
      jitter_us; /* of copies: uniform within so much either way, turned back at the trace's first and last submit */
  uint64_t seed;
};
/*
 * Thinning and duplication draw job by job: under one seed the jobs of a smaller load are among those of a larger one.
 * A copy's id is its job's with `+1`, `+2`, ... behind it (with more `+` where ids have some already). Compression
 * divides the times from the first submit, rounded to the microsecond; what jobs do when they run stays as it is.
 */
HR_API enum hr_status hr_transform_scale(const struct hr_trace *trace, const struct hr_scale_spec *spec,
                                         struct hr_trace **made, struct hr_error *error);

/* ---- Several as one --------------------------------------------------------------------------------- */

#define HR_ALIGN_TABLE(X)                                                                                              \
  X(HR_ALIGN_CLOCK,                                                                                                    \
    "clock") /* by their own clocks, which are then all dates with a zone, all dates without, or none */               \
  X(HR_ALIGN_START, "start") /* all begin where the first one does */

enum hr_align {
#define HR_ALIGN_NAME(name, text) name,
  HR_ALIGN_TABLE(HR_ALIGN_NAME)
#undef HR_ALIGN_NAME
      HR_N_ALIGNS
};
HR_API const char *hr_align_name(enum hr_align align);

/* Tenants that become one. */
struct hr_tenant_merge {
  struct hr_name_list from;
  const char *to;
};
struct hr_merge_spec {
  enum hr_align align;
  /* [n_traces] set before ids, and before tenants and users if `tells_tenants`, with a `/` between; no two may be the
     same. NULL: nothing is, ids of all traces are distinct as they are. */
  const char *const *labels;
  bool tells_tenants;
  const struct hr_tenant_merge *tenants; /* by their names after that */
  size_t n_tenants;
};
HR_API enum hr_status hr_transform_merge(const struct hr_trace *const *traces, size_t n_traces,
                                         const struct hr_merge_spec *spec, struct hr_trace **made,
                                         struct hr_error *error);

/* ---- Names that nobody knows ------------------------------------------------------------------------ */

enum { HR_LEAST_PSEUDONYM_DIGITS = 4, HR_MOST_PSEUDONYM_DIGITS = 64, HR_PSEUDONYM_DIGITS = 16 };

struct hr_anonymise_spec {
  const void *key; /* borrowed; at least one byte */
  size_t key_bytes;
  unsigned digits;  /* of a pseudonym */
  int64_t shift_us; /* all times are so much later */
  bool undated;     /* times are seconds from the first submit, whatever they were */
  uint64_t forget;  /* fields that become unknown (hr_fields_parse) */
};
/* No key yet; all else as it is. */
HR_API void hr_anonymise_spec_init(struct hr_anonymise_spec *spec);
/*
 * Ids, users, tenants and models become pseudonyms: `j-`, `u-`, `t-` or `m-` and the first digits of
 * HMAC-SHA-256(key, KIND || 0 || name) in hexadecimal, KIND being "job", "user", "tenant" or "model" (RFC 2104, FIPS
 * 198-1). The same name is the same pseudonym under the same key, in every trace. Two names of a kind with one
 * pseudonym are an error. What a simulation goes by (GPU types, regions, sizes, times) stays.
 */
HR_API enum hr_status hr_transform_anonymise(const struct hr_trace *trace, const struct hr_anonymise_spec *spec,
                                             struct hr_trace **made, struct hr_error *error);

/* ---- Another order ---------------------------------------------------------------------------------- */

#define HR_SHUFFLING_TABLE(X)                                                                                          \
  X(HR_SHUFFLE_ARRIVALS, "arrivals") /* which job comes at which of the trace's submits */                             \
  X(HR_SHUFFLE_ROWS, "rows")         /* the order of jobs that are submitted at one instant */                         \
  X(HR_SHUFFLE_USERS, "users")       /* who, user and tenant together, submits which job */

enum hr_shuffling {
#define HR_SHUFFLING_NAME(name, text) name,
  HR_SHUFFLING_TABLE(HR_SHUFFLING_NAME)
#undef HR_SHUFFLING_NAME
      HR_N_SHUFFLINGS
};
HR_API const char *hr_shuffling_name(enum hr_shuffling what);

/* A permutation drawn uniformly (Fisher and Yates; Durstenfeld, CACM 7, 1964). */
HR_API enum hr_status hr_transform_shuffle(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed,
                                           struct hr_trace **made, struct hr_error *error);

/* ---- What was done ---------------------------------------------------------------------------------- */

struct hr_trace_size {
  uint32_t n_jobs;
  double gpu_hours; /* GPUs, or shares of them, times run time */
  int64_t span_us;  /* from the first submit to the last */
};
HR_API struct hr_trace_size hr_trace_size_of(const struct hr_trace *trace);

struct hr_transform_input {
  const char *path;
  struct hr_trace_size size;
};
/* All of it is borrowed. */
struct hr_transformation {
  const char *action; /* "convert", "cut", "scale", "merge", "anonymise", "shuffle" */
  const struct hr_transform_input *inputs;
  size_t n_inputs;
  struct hr_trace_size out;
  const char *path; /* of what was written */
  const struct hr_trace_written *written;
  const char *method; /* "thin", "arrivals", ...; NULL: there is but one */
  uint64_t seed;
  bool seeded;
};

/* What is in a trace, in numbers: how large and how long jobs are, by whom and when they are submitted, how unevenly,
   and which distributions fit. docs/reference/trace-stats.md says how each is computed. */

struct hr_trace_stats;

/* The trace must outlive them. Any number of threads may make some of one trace. HR_NO_MEMORY is the only failure. */
HR_API enum hr_status hr_trace_stats_make(const struct hr_trace *trace, struct hr_trace_stats **stats,
                                          struct hr_error *error);
HR_API void hr_trace_stats_destroy(struct hr_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
