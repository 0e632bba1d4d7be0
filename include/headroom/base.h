/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_BASE_H
#define HEADROOM_BASE_H

/*
 * Status codes, errors, notes, ids, units and the memory of a run.
 *
 * Ownership, everywhere in Headroom: an object that a `create`, `load` or `read` function returns is freed by its
 * `destroy` function; `destroy` accepts NULL. An object in memory of the caller has `init` and `finish` functions.
 * Strings and arrays that are reached through an object belong to that object.
 *
 * Units: times are int64_t microseconds since the first submit of the trace (`_us`), durations microseconds; shares of
 * GPUs are milli-GPUs (`_milli`), of which 1000 are a GPU; memory is MiB (`_mib`); prices are micro-dollars per
 * GPU-hour (`_uusd_h`); speeds and shares are parts per million (`_ppm`).
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HR_API __attribute__((visibility("default")))
#define HR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HR_API
#define HR_PRINTF(text, first)
#endif

/* All statuses: code, exit code of the program, meaning. */
#define HR_STATUS_TABLE(X)                                                                                             \
  X(HR_OK, 0, "fine")                                                                                                  \
  X(HR_CHECK_FAILED, 1, "a check, goal or budget was not met")                                                         \
  X(HR_BAD_INPUT, 2, "bad input or usage")                                                                             \
  X(HR_BAD_POLICY, 3, "a policy broke its contract")                                                                   \
  X(HR_NO_MEMORY, 4, "out of memory")                                                                                  \
  X(HR_IO_ERROR, 4, "a file could not be read or written")                                                             \
  X(HR_INTERNAL, 4, "an invariant of the engine does not hold: a defect in Headroom")

enum hr_status {
#define HR_STATUS_NAME(name, exit_code, meaning) name,
  HR_STATUS_TABLE(HR_STATUS_NAME)
#undef HR_STATUS_NAME
};

/* The reason of a failure, as a message for the user: place (`jobs.csv:412: ...`), the fault, the value found,
   the value expected. Written by the function that fails; valid if a function did not return HR_OK. */
struct hr_error {
  enum hr_status status;
  char text[1000];
};

/* Writes `error`, unless it is NULL, and returns `status`, so that callers can `return hr_fail(...)`. */
HR_API enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) HR_PRINTF(3, 4);

/* The exit code of the program for a status, and the meaning of a status. Both are constant. */
HR_API int hr_status_exit_code(enum hr_status status);
HR_API const char *hr_status_meaning(enum hr_status status);

/* The version of the library, "MAJOR.MINOR.PATCH". */
HR_API const char *hr_version(void);

/* Call this once, before any other function, in a program that does not set up GSL itself: it switches off GSL's
   default error handler, which aborts the process. */
HR_API void hr_init(void);

/* Removes output files that are not complete yet; later writes to them fail. For programs that are about to exit. It
   is async-signal-safe, so a signal handler may call it. At most 64 files at a time are covered. */
HR_API void hr_discard_unfinished(void);

/* A list of messages for the user, such as assumptions and unknown columns. All zero is an empty list. */
struct hr_notes {
  char **text;
  size_t count, capacity;
};

/* Adds a note, unless an equal one is in the list. HR_NO_MEMORY. */
HR_API enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) HR_PRINTF(2, 3);
/* Frees the notes; the list is empty afterwards. */
HR_API void hr_notes_finish(struct hr_notes *notes);

/* The word of the NULL-terminated list `words` that is most similar to `word`, for "did you mean"; NULL if none is
   similar enough to be a misspelling. Case is ignored. */
HR_API const char *hr_nearest_word(const char *word, const char *const *words);

/* Ids are indices, wrapped so that the compiler rejects mix-ups. A job's id is its position in the trace sorted by
   (submit, order in the file); node ids count through all pools in the order of the scenario. */
typedef struct {
  uint32_t id;
} hr_job;
typedef struct {
  uint32_t id;
} hr_node;
typedef struct {
  uint32_t id;
} hr_pool;

#define HR_NONE UINT32_MAX
#define HR_UNKNOWN_US INT64_C(-1)     /* an unknown duration */
#define HR_UNKNOWN_UUSD_H INT64_C(-1) /* an unknown price */
#define HR_NEVER_US INT64_MAX         /* a time that never comes */
#define HR_SECOND_US INT64_C(1000000)

/* The longest time and duration in input, about 3,170 years: sums of a few of them do not overflow. */
#define HR_MAX_INPUT_US (INT64_C(100000000000) * HR_SECOND_US)

/* Random numbers for policies. They are indexed, so no draw depends on how many others were made. */

/* Draw `number` of stream `stream` under a seed, uniform in 0 .. bound - 1 (each probability is exact to 2^-32);
   `bound` is at least 1. Streams are independent of each other and of the engine's draws. */
HR_API uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound);

/* ---- Memory of a run ---- */

/* Memory that is freed when the run ends. The functions return NULL if memory is exhausted. */
struct hr_arena;
/* Returns `bytes` bytes of zeroed memory, aligned for any object. */
HR_API void *hr_arena_alloc(struct hr_arena *arena, size_t bytes);
/* Returns a zeroed column of n_jobs + 1 entries of `bytes` bytes each. In a streamed run the memory of finished jobs
   is reclaimed: their entries then read as zero or as they were, and must not be written. */
HR_API void *hr_arena_alloc_by_job(struct hr_arena *arena, uint32_t n_jobs, size_t bytes);
/* Code that reads all jobs of a trace at the start of a run calls this for each job, in the order of ids. In a
   streamed run the memory that this took is then reclaimed; the entries of per-job columns up to `job` are lost. */
HR_API void hr_arena_passed_job(struct hr_arena *arena, hr_job job);
/* Returns a copy of the array `items`, of `*capacity` items of `bytes` bytes each, with twice the capacity (64 items
   at first), which is stored in `*capacity`. If it returns NULL, array and capacity are unchanged. */
HR_API void *hr_arena_grown(struct hr_arena *arena, const void *items, uint32_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
