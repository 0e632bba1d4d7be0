/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_PROCESS_H
#define HR_BASE_PROCESS_H

/* Limits of a process: the files that it may read, and guards that detect plug-ins that crash or do not return. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- Confinement ----------------------------------------------------------------------------------- */

/* Confinement limits the files that a process may read as input, and whether it may load policies from shared objects.
   It also replaces names of command-line options in messages. A process that works on input of other users, such as a
   worker of `headroom serve`, confines itself once, before it starts threads. All readers of scenarios, traces, tables
   and models, and the loader of policies, call these functions. */

/* An alias: a reader that opens exactly the path `name` reads `file` instead. */
struct hr__alias {
  const char *name, *file;
  bool is_foreign; /* a user chose the file, so it must be below an allowed folder; otherwise it may be anywhere */
};

/* A phrase of the command line, such as "--trace FILE", and the text that replaces it in messages. */
struct hr__phrase {
  const char *text, *plain;
};

/* Everything is borrowed and must outlive the process. */
struct hr__confinement {
  const char *const *folders; /* [n_folders]: files below these may be read; absolute, without symbolic links */
  size_t n_folders;
  const struct hr__alias *aliases; /* [n_aliases] */
  size_t n_aliases;
  const struct hr__phrase *phrases; /* [n_phrases]: if several match, the first one is used */
  size_t n_phrases;
  bool allow_plugins;
};

/* Confines the process. If `confinement` is NULL, ends the confinement (for tests). */
void hr__confine(const struct hr__confinement *confinement);

/* Returns the path to open for an input that a user names `path`: `path` itself or the file of its alias. Returns NULL
   with errno set if the path must not or cannot be opened. errno is EACCES if the file is neither a regular file nor a
   folder, or is outside of the allowed folders after ".." and symbolic links are resolved. If a file in an allowed
   folder cannot be found, errno is the error of that search, such as ENOENT. A caller cannot learn which files exist
   outside of the allowed folders. In a process that is not confined, the function returns `path` without a check. */
const char *hr__input_path(const char *path);

/* Returns whether policies in shared objects may be loaded. */
bool hr__allows_plugins(void);

/* Returns the name of an output file for messages. In a confined process this is the path without the folder, because
   the server chose the folder. */
const char *hr__output_name(const char *path);

/* Returns the replacement of a phrase such as "--map" in messages. Returns `text` itself if the confinement does not
   replace it. */
const char *hr__phrase(const char *text);
/* Returns a copy of a message format in which the phrases of the confinement are replaced. Values, which users may have
   chosen, are not part of a format and stay unchanged. The caller frees the copy. Returns NULL if no phrase occurs, or
   if out of memory. */
char *hr__phrased(const char *format);

/* Returns whether `path` is the folder or is in it. `path` must be absolute and without symbolic links. */
bool hr__is_below(const char *path, const char *folder);

/* ---- Guards of plug-ins ---------------------------------------------------------------------------- */

/* Guards print the name of a policy or router from a shared object that crashes or does not return from a function.
   They are active only in programs that call hr_policy_guard_install. */

/* The call of a plug-in that a thread executes. */
struct hr__policy_call {
  _Atomic(const char *) policy;   /* name of the policy; NULL: the slot is free */
  _Atomic(const char *) function; /* name of the function that is running; NULL: none */
  atomic_uint count;              /* number of calls */
};

/* Registers the name of a policy from a shared object. */
void hr__policy_guard_add(const char *name);
/* Returns a record for the calls of a policy by this thread, and starts the timer of the guards unless it is running.
   Returns NULL if the policy is built-in, if guards are not installed, or if all records are in use. The thread must
   release the record. */
struct hr__policy_call *hr__policy_guard_claim(const char *name);
void hr__policy_guard_release(struct hr__policy_call *call);

static inline void hr__policy_enter(struct hr__policy_call *call, const char *function) {
  if (!call) return;
  atomic_store_explicit(&call->count, atomic_load_explicit(&call->count, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  atomic_store_explicit(&call->function, function, memory_order_release);
}

static inline void hr__policy_leave(struct hr__policy_call *call) {
  if (call) atomic_store_explicit(&call->function, NULL, memory_order_relaxed);
}

#endif
