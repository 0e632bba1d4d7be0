/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_PROCESS_H
#define HR_BASE_PROCESS_H

/* Limits of a process: the files that it may read, and guards that detect plug-ins that crash or do not return. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- Confinement ----------------------------------------------------------------------------------- */

/* Which files a process may read as input, whether it may load policies, and what its messages call the options of the
   command line. A process that works on input of other users, such as a worker of `headroom serve`, confines itself
   once, before it starts threads. All readers of scenarios, traces, tables and models, and the loader of policies, call
   these functions. */

/* A file that is read under another name: readers that ask for `name`, spelled so, get the content of `file`. */
struct hr__alias {
  const char *name, *file;
  bool is_foreign; /* a user chose the file, so it must be below the folders; otherwise any file may be read */
};

/* What a message says for a phrase of the command line, such as "--trace FILE". */
struct hr__phrase {
  const char *text, *plain;
};

/* Everything is borrowed and must outlive the process. */
struct hr__confinement {
  const char *const *folders; /* [n_folders]: files below these may be read; absolute, without symbolic links */
  size_t n_folders;
  const struct hr__alias *aliases; /* [n_aliases] */
  size_t n_aliases;
  const struct hr__phrase *phrases; /* [n_phrases]: of several that match, the first one applies */
  size_t n_phrases;
  bool allow_plugins;
};

/* Confines the process from now on. NULL: ends the confinement (for tests). */
void hr__confine(const struct hr__confinement *confinement);

/* Returns the path to open for an input that a user names `path`: `path` itself or the file of its alias. Returns NULL
   with errno EACCES if the file is outside of the folders, also through ".." or symbolic links, and with another errno
   if it cannot be found. The answer does not say which files exist outside of the folders. */
const char *hr__input_path(const char *path);

/* Whether policies in shared objects may be loaded. */
bool hr__allows_plugins(void);

/* Returns the name of an output file for messages: without the folder, which a confined process got from its server. */
const char *hr__output_name(const char *path);

/* Returns what messages call `text`, a phrase such as "--map"; `text` itself if the process has no other word. */
const char *hr__phrase(const char *text);
/* Returns a copy of the format of a message with the phrases of this process. Values, which users may have chosen, are
   not part of a format. The caller frees the copy. Returns NULL if no phrase occurs, or when out of memory. */
char *hr__phrased(const char *format);

/* Whether `path`, absolute and without symbolic links, is in the folder or is the folder. */
bool hr__is_below(const char *path, const char *folder);

/* ---- Guards of plug-ins ---------------------------------------------------------------------------- */

/* Names the policy or router of a shared object that crashes, or that does not return from a function. Active only in
   programs that call hr_policy_guard_install. */

/* What a thread does at present. */
struct hr__policy_call {
  _Atomic(const char *) policy;   /* name of the policy; NULL: the slot is free */
  _Atomic(const char *) function; /* name of the function that runs at present; NULL: none */
  atomic_uint count;              /* number of calls */
};

/* Registers the name of a policy from a shared object. */
void hr__policy_guard_add(const char *name);
/* Returns the record of this thread for the calls of a policy, and starts the clock of this process; NULL if the policy
   is built-in or if guards are not installed. The thread must release it. */
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
