/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_BASE_H
#define HEADROOM_BASE_H

/*
 * Status codes, errors, notes and ids: what every other header stands on.
 *
 * Ownership, everywhere in Headroom: a `create`/`load`/`read` function hands over an object that its
 * `destroy` function frees; `destroy` takes NULL. Strings and arrays reached through an object belong
 * to that object. Time is int64_t microseconds from the trace's first submit.
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

/* One table of results: code, exit code of the program, what it means. */
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

/* What went wrong, in words for a person: place first (`jobs.csv:412: ...`), then what is wrong and what
   would be right. Written by the lowest layer that knows; valid when a function did not return HR_OK. */
struct hr_error {
  enum hr_status status;
  char text[1000];
};

/* Writes `error` (which may be NULL) and returns `status`, so that callers can `return hr_fail(...)`. */
HR_API enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) HR_PRINTF(3, 4);

/* The program's exit code for a status, and its meaning in words. */
HR_API int hr_status_exit_code(enum hr_status status);
HR_API const char *hr_status_meaning(enum hr_status status);

/* The library's version, "MAJOR.MINOR.PATCH". */
HR_API const char *hr_version(void);

/* Must be called once at start by a program that uses GSL only through Headroom: GSL's default error handler,
   which aborts the process, is switched off. */
HR_API void hr_init(void);

/* Removes the files that are being written and not whole yet: for a program that is about to end, from a handler of the
   signal if it likes (async-signal-safe). Writing them fails from then on. Of more than 64 at a time some stay. */
HR_API void hr_discard_unfinished(void);

/* A growing list of sentences that a person should read (assumptions made, columns not known). */
struct hr_notes {
  char **text;
  size_t count, capacity;
};

/* Adds a note; a note that is already there word for word is not repeated. HR_NO_MEMORY on failure. */
HR_API enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) HR_PRINTF(2, 3);
HR_API void hr_notes_finish(struct hr_notes *notes);

/* The word of `words` (NULL-terminated) nearest to `word` when it is near enough to be a slip, else NULL.
   For "did you mean". */
HR_API const char *hr_nearest_word(const char *word, const char *const *words);

/* Ids are indices, wrapped so that they cannot be mixed up. A job's id is its place in the trace sorted by
   (submit, file order); a node's counts through all pools in the scenario's order. */
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
#define HR_UNKNOWN_UUSD_H INT64_C(-1) /* an unknown price, in micro-dollars per hour */
#define HR_NEVER_US INT64_MAX         /* a time that does not come */
#define HR_SECOND_US INT64_C(1000000)

/* The longest time and duration that input may hold, about 3,170 years: sums of a few stay in range. */
#define HR_MAX_INPUT_US (INT64_C(100000000000) * HR_SECOND_US)

/* Random numbers for policies, by number: no draw depends on how many others were made. */

/* The draw of that number in a stream of a seed, uniform in 0 .. bound - 1 (each to within 2^-32); `bound` is at
   least 1. Streams have nothing in common with each other, nor with what the engine draws. */
HR_API uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound);

/* ---- Memory of a run -------------------------------------------------------------------------------- */

/* Memory that lives as long as a run. Every function returns NULL if memory is exhausted. */
struct hr_arena;
/* `bytes` of zeroed memory, aligned for any object. */
HR_API void *hr_arena_alloc(struct hr_arena *arena, size_t bytes);
/* A zeroed column of n_jobs + 1 entries of `bytes` each. In a streamed run the memory of finished jobs is reclaimed:
   their entries read as zero or as they were, and must not be written any more. */
HR_API void *hr_arena_alloc_by_job(struct hr_arena *arena, uint32_t n_jobs, size_t bytes);
/* Code that reads all jobs of a trace at the start of a run calls this for each job, in the order of ids. In a streamed
   run the memory that this took is then reclaimed, and entries of columns by job up to `job` are lost. */
HR_API void hr_arena_passed_job(struct hr_arena *arena, hr_job job);
/* A copy of the list `items` with twice the capacity (64 items at first), which is stored in `*capacity`; each item has
   `bytes` bytes. If it returns NULL, list and capacity are unchanged. */
HR_API void *hr_arena_grown(struct hr_arena *arena, const void *items, uint32_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
