/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_BASE_H
#define HEADROOM_BASE_H

/*
 * Status codes, errors, notes, ids, units and the memory of a run.
 *
 * Ownership rules of the whole library: A `create`, `load` or `read` function returns an object. The caller frees the
 * object with the matching `destroy` function, which accepts NULL. An object in the caller's own memory has `init` and
 * `finish` functions instead. Strings and arrays that an object points to belong to that object.
 *
 * Errors: A function that returns enum hr_status returns HR_OK on success. Each of these functions may return
 * HR_NO_MEMORY; functions that read or write files may also return HR_IO_ERROR. The comment of a function describes all
 * other values that it may return. If the function has a parameter `error`, it describes a failure there; `error` may
 * be NULL.
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
   the value expected. It is defined only after a function has returned a status other than HR_OK. Names in the message
   may come from input files. Control characters are therefore escaped ("\x1B"), except line feeds. */
struct hr_error {
  enum hr_status status;
  char text[1000];
};

/* Stores `status` and the formatted message in `error`, unless `error` is NULL. Returns `status`, so that callers can
   write `return hr_fail(...)`. A message that is too long for hr_error is truncated. */
HR_API enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) HR_PRINTF(3, 4);

/* hr_status_exit_code returns the exit code that the program `headroom` has for a status. hr_status_meaning returns the
   meaning of a status as text. Both are the columns of HR_STATUS_TABLE. */
HR_API int hr_status_exit_code(enum hr_status status);
HR_API const char *hr_status_meaning(enum hr_status status);

/* Returns the version of the library, "MAJOR.MINOR.PATCH". */
HR_API const char *hr_version(void);

/* Switches off the default error handler of GSL (GNU Scientific Library), which aborts the process. A program that sets
   no GSL error handler of its own calls this function once, before all other functions of the library. */
HR_API void hr_init(void);

/* Discards all incomplete output files: none of them gets its final name afterwards. Programs call this function before
   they exit because of an error or a signal. A signal handler may call it, because it is async-signal-safe. On file
   systems without O_TMPFILE, incomplete files have temporary names; at most 64 of these are removed. */
HR_API void hr_discard_unfinished(void);

/* ---- Output files that appear together ---- */

/* From hr_outputs_hold until hr_outputs_publish or hr_outputs_discard, complete output files do not get their final
   names. This applies to the files of all threads, but not to standard output, pipes and devices. */
HR_API void hr_outputs_hold(void);
/* Gives all held files their final names, and ends the effect of hr_outputs_hold. First, every file gets a temporary
   name in its folder. Then the files are renamed one after the other, while signals are blocked. If this fails before
   the first rename, no file appears. Only some of the files appear if a later rename fails or if the machine stops
   between two renames. Held files without a final name are removed on failure. Returns HR_IO_ERROR or HR_NO_MEMORY on
   failure. */
HR_API enum hr_status hr_outputs_publish(struct hr_error *error);
/* Removes all held files, and ends the effect of hr_outputs_hold. */
HR_API void hr_outputs_discard(void);

/* Returns the path of the file that an output to `path` creates or replaces. If `path` is a symbolic link, this is the
   target of the link, which need not exist. The caller frees the returned path. Returns NULL on failure, with errno
   ELOOP (more than 40 links) or ENOMEM. */
HR_API char *hr_output_target(const char *path);
/* Returns whether two paths are equal, or refer to the same regular file after symbolic links are followed. Paths of
   files that do not exist are compared by their folders and names. Returns false if memory is exhausted. */
HR_API bool hr_output_same(const char *a, const char *b);

/* Prints the first `max` bytes of a name from the input; SIZE_MAX: the complete name. A character that is only
   partly among these bytes is printed completely. Control characters, line feeds and bytes that are not UTF-8 are
   escaped ("\x1B"), so that the name cannot change how a terminal shows other text. */
HR_API void hr_print_safe(FILE *out, const char *text, size_t max);

/* Installs signal handlers for plug-ins, that is, policies and routers that are loaded from shared objects. If a
   plug-in crashes, the handlers print its name. If a plug-in does not return from a function within `limit_s` seconds
   of CPU time, the handlers end the program with SIGXCPU. CPU time is that of the whole process. If n plug-ins run at
   the same time, the limit for each of them is therefore n * limit_s. Only programs call this function, once; `limit_s`
   is at least 1. */
HR_API void hr_policy_guard_install(unsigned limit_s);

/* A list of messages for the user, such as assumptions and unknown columns. A list with all members 0 is empty. */
struct hr_notes {
  char **text;
  size_t count, capacity;
};

/* Adds a note, unless the list already has an equal note. Control characters and line feeds are escaped. A note of more
   than 999 bytes is truncated. */
HR_API enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) HR_PRINTF(2, 3);
/* Frees the notes; the list is empty afterwards. */
HR_API void hr_notes_finish(struct hr_notes *notes);

/* Returns the word of the NULL-terminated list `words` that is most similar to `word`, for "did you mean" messages.
   Returns NULL if no word of the list is similar enough. Case is ignored. */
HR_API const char *hr_nearest_word(const char *word, const char *const *words);

/* Ids are indices. Jobs, nodes and pools have different struct types, so that the compiler rejects an id of the wrong
   kind. A job's id is its position in the trace. The trace is sorted by submit time; jobs with equal submit times have
   the order of the file. Nodes and pools are numbered from 0 in the order of the scenario; the ids of nodes are
   consecutive across all pools. */
typedef struct {
  uint32_t id;
} hr_job;
typedef struct {
  uint32_t id;
} hr_node;
typedef struct {
  uint32_t id;
} hr_pool;

/* Special values. HR_NONE is an index or id that means "none". */
#define HR_NONE UINT32_MAX
#define HR_UNKNOWN_US INT64_C(-1)     /* an unknown time or duration */
#define HR_UNKNOWN_UUSD_H INT64_C(-1) /* an unknown price */
#define HR_NEVER_US INT64_MAX         /* a time that is never reached */
#define HR_SECOND_US INT64_C(1000000)

/* The maximum time and duration in input, about 3,170 years. The bound ensures that sums of a few times do not
   overflow. */
#define HR_MAX_INPUT_US (INT64_C(100000000000) * HR_SECOND_US)

/* ---- Random numbers ---- */

/* Returns a uniform random number in 0 .. `bound` - 1; `bound` is at least 1. `number` is the index of the draw in the
   stream `stream` of the seed. The result depends only on the arguments, not on other draws. The deviation of each
   probability from 1 / `bound` is less than 2^-32. Streams are independent of each other and of the engine's draws. */
HR_API uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound);

/* ---- Memory of a run ---- */

/* The memory of a run, which is freed when the run ends. Each function below that returns a pointer returns NULL if
   memory is exhausted. */
struct hr_arena;
/* Returns `bytes` bytes of zeroed memory, aligned for any object. */
HR_API void *hr_arena_alloc(struct hr_arena *arena, size_t bytes);
/* Returns a zeroed column of n_jobs + 1 entries of `bytes` bytes each, indexed by job. In a streamed run (`stream` of
   struct hr_run_config) the memory of finished jobs is reclaimed. The entry of a finished job then reads as zero or as
   its last value, and must not be written. */
HR_API void *hr_arena_alloc_by_job(struct hr_arena *arena, uint32_t n_jobs, size_t bytes);
/* Reports that the caller has read the jobs up to `job`. Code that reads all jobs of a trace at the start of a run
   calls this for each job, in the order of ids. In a streamed run the memory of the trace that was read is then
   reclaimed, and the entries of per-job columns up to `job` may become zero. */
HR_API void hr_arena_passed_job(struct hr_arena *arena, hr_job job);
/* Returns a copy of the array `items` with twice the capacity. `items` has `*capacity` entries of `bytes` bytes each; a
   capacity of 0 becomes 64. The new entries are zero. The new capacity is stored in `*capacity`. On failure
   `*capacity` is unchanged. The array `items` is unchanged in any case. */
HR_API void *hr_arena_grown(struct hr_arena *arena, const void *items, uint32_t *capacity, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
