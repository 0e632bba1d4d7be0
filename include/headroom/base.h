/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_BASE_H
#define HEADROOM_BASE_H

/*
 * Status codes, errors, notes, ids, units and the memory of a run.
 *
 * Ownership rules of the whole library: A `create`, `load` or `read` function returns an object that the caller frees
 * with the matching `destroy` function; `destroy` accepts NULL. An object in the caller's own memory has `init` and
 * `finish` functions instead. Strings and arrays that an object points to belong to that object.
 *
 * Errors: A function that returns enum hr_status returns HR_OK on success. Each of these functions may return
 * HR_NO_MEMORY; functions that read or write files may also return HR_IO_ERROR. The comment of a function describes all
 * other values that it may return. On failure the function writes `error`, which may be NULL.
 *
 * Units: Times are int64_t microseconds since the first submit of the trace, and durations are int64_t microseconds
 * (both `_us`). Shares of GPUs are milli-GPUs (`_milli`); 1000 milli-GPUs are one GPU. Memory is in MiB (`_mib`).
 * Prices are in micro-dollars per GPU-hour (`_uusd_h`). Speeds and shares are in parts per million (`_ppm`).
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
  X(HR_INTERNAL, 4, "an invariant of the engine does not hold: a defect in Headroom")                                  \
  X(HR_STOPPED, 4, "stopped by the caller")

enum hr_status {
#define HR_STATUS_NAME(name, exit_code, meaning) name,
  HR_STATUS_TABLE(HR_STATUS_NAME)
#undef HR_STATUS_NAME
};

/* The reason of a failure, as a message for the user: the place (`jobs.csv:412: ...`), the fault, the value found and
   the value expected. A function that does not return HR_OK writes it. After HR_OK the contents are undefined. Names in
   it may come from input files, so control characters are escaped ("\x1B"), except line feeds. */
struct hr_error {
  enum hr_status status;
  char text[1000];
};

/* Writes `error`, unless it is NULL, and returns `status`, so that callers can `return hr_fail(...)`. */
HR_API enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) HR_PRINTF(3, 4);

/* hr_status_exit_code returns the exit code of the program for a status. hr_status_meaning returns the meaning of a
   status as text. */
HR_API int hr_status_exit_code(enum hr_status status);
HR_API const char *hr_status_meaning(enum hr_status status);

/* Returns the version of the library, "MAJOR.MINOR.PATCH". */
HR_API const char *hr_version(void);

/* Switches off GSL's default error handler, which aborts the process. A program that does not set up GSL itself calls
   this once, before any other function. */
HR_API void hr_init(void);

/* Removes all incomplete output files; later writes to them fail. Programs call this before they exit because of an
   error or a signal. The function is async-signal-safe, so a signal handler may call it. If more than 64 output files
   are incomplete at the same time, only 64 of them are removed. */
HR_API void hr_discard_unfinished(void);

/* ---- Output files that appear together ---- */

/* hr_outputs_hold: from now on, the complete output files of all threads get no name until hr_outputs_publish gives all
   of them their names. hr_outputs_publish first syncs and prepares all files, so that no file appears if a disk is
   full. Then it renames them one after the other, while signals are blocked. Some files can appear without the others
   only if the machine stops or a rename fails between two renames. It returns HR_IO_ERROR, HR_BAD_INPUT or HR_NO_MEMORY
   on failure. */
HR_API void hr_outputs_hold(void);
HR_API enum hr_status hr_outputs_publish(struct hr_error *error);
/* Removes the complete files that have no name yet. */
HR_API void hr_outputs_discard(void);

/* Returns the path of the file that an output to `path` creates or replaces: symbolic links at its end are followed,
   also to a file that does not exist. The caller frees it. Returns NULL with errno set on failure. */
HR_API char *hr_output_target(const char *path);
/* Returns whether two outputs write to the same file, however their paths are spelled, and even if the file does not
   exist yet. */
HR_API bool hr_output_same(const char *a, const char *b);

/* Prints at most `max` bytes of a name from the input, SIZE_MAX: all. Control characters are escaped as in errors, so
   the name cannot change how a terminal shows other text. */
HR_API void hr_print_safe(FILE *out, const char *text, size_t max);

/* Installs signal handlers. If a plug-in policy crashes, they print its name. If a plug-in does not return from a
   function within `limit_s` seconds of CPU time, they end the program with SIGXCPU. For programs, not for libraries;
   call this function once. */
HR_API void hr_policy_guard_install(unsigned limit_s);

/* A list of messages for the user, such as assumptions and unknown columns. A list with all members 0 is empty. */
struct hr_notes {
  char **text;
  size_t count, capacity;
};

/* Adds a note, unless the list already has an equal note. Control characters are escaped as in errors. Returns
 * HR_NO_MEMORY if memory is exhausted. */
HR_API enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) HR_PRINTF(2, 3);
/* Frees the notes; the list is empty afterwards. */
HR_API void hr_notes_finish(struct hr_notes *notes);

/* Returns the word of the NULL-terminated list `words` that is most similar to `word`, for "did you mean" messages.
   Returns NULL if no word is similar enough to be a misspelling. Case is ignored. */
HR_API const char *hr_nearest_word(const char *word, const char *const *words);

/* Ids are indices, each in a struct of its own type so that the compiler rejects mix-ups. A job's id is its position in
   the trace, which is sorted by (submit, order in the file). Nodes and pools are numbered from 0 in the order of the
   scenario; the ids of nodes are consecutive across all pools. */
typedef struct {
  uint32_t id;
} hr_job;
typedef struct {
  uint32_t id;
} hr_node;
typedef struct {
  uint32_t id;
} hr_pool;

/* The value of an index or id that means "none". */
#define HR_NONE UINT32_MAX
#define HR_UNKNOWN_US INT64_C(-1)     /* an unknown duration */
#define HR_UNKNOWN_UUSD_H INT64_C(-1) /* an unknown price */
#define HR_NEVER_US INT64_MAX         /* a time that never comes */
#define HR_SECOND_US INT64_C(1000000)

/* The maximum time and duration in input, about 3,170 years. The bound ensures that sums of a few times do not
   overflow. */
#define HR_MAX_INPUT_US (INT64_C(100000000000) * HR_SECOND_US)

/* ---- Random numbers ---- */

/* Returns a uniform random number in 0 .. `bound` - 1; `bound` is at least 1. The result depends only on the arguments:
   `number` is the index of the draw in the stream `stream` of the seed, and a draw does not depend on which other draws
   are made. The deviation of each probability from 1 / `bound` is less than 2^-32. Streams are independent of each
   other and of the engine's draws. */
HR_API uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound);

/* ---- Memory of a run ---- */

/* The memory of a run, which is freed when the run ends. Each function below returns NULL if memory is exhausted. */
struct hr_arena;
/* Returns `bytes` bytes of zeroed memory, aligned for any object. */
HR_API void *hr_arena_alloc(struct hr_arena *arena, size_t bytes);
/* Returns a zeroed column of n_jobs + 1 entries of `bytes` bytes each, indexed by job. In a streamed run the memory of
   finished jobs is reclaimed. The entry of a finished job then reads as zero or as its last value, and must not be
   written. */
HR_API void *hr_arena_alloc_by_job(struct hr_arena *arena, uint32_t n_jobs, size_t bytes);
/* Reports that the caller has read the jobs up to `job`. Code that reads all jobs of a trace at the start of a run
   calls this for each job, in the order of ids. In a streamed run the memory that was needed for reading is then
   reclaimed, and the entries of per-job columns up to `job` are lost. */
HR_API void hr_arena_passed_job(struct hr_arena *arena, hr_job job);
/* Returns a copy of the array `items` with twice the capacity. `items` has `*capacity` entries of `bytes` bytes each; a
   capacity of 0 grows to 64. The new capacity is stored in `*capacity`. On failure the array and `*capacity` are
   unchanged. */
HR_API void *hr_arena_grown(struct hr_arena *arena, const void *items, uint32_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
