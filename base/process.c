/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of a process: the files that it may read, and guards that report a plug-in policy that crashes or does not
 * return from a function. Both belong to the process, so their data is global.
 *
 * Data of the confinement: one pointer, which a process sets at most once, before it starts threads. It is global,
 * because a function that reads files could forget to check a limit that is passed as an argument.
 *
 * Invariant: a confined process opens a path only in two cases. First, the path is the name of an alias whose file no
 * user chose. Second, the path, or the file of its alias, refers to a regular file or a folder below one of the allowed
 * folders. This is checked after ".", ".." and symbolic links are resolved. Users must not see the names of the allowed
 * folders, so messages contain paths as users wrote them.
 */

#include "base/process.h"

#include "headroom/base.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- Confinement ----------------------------------------------------------------------------------- */

static const struct hr__confinement *confined; /* NULL: the process may read all files */

void hr__confine(const struct hr__confinement *confinement) {
  confined = confinement;
}

bool hr__allows_plugins(void) {
  return !confined || confined->allow_plugins;
}

bool hr__is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  while (length > 0 && folder[length - 1] == '/') length--;
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_allowed(const char *real) {
  for (size_t i = 0; i < confined->n_folders; i++)
    if (hr__is_below(real, confined->folders[i])) return true;
  return false;
}

/* Returns whether a path refers to a regular file or a folder. Other files are not read, because reading a named pipe
   or a device could block the process forever. */
static bool is_file_or_folder(const char *real) {
  struct stat info;
  return stat(real, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

/* Returns whether an error may report that `path`, which cannot be resolved, does not exist. This is allowed if the
   folder of the path is allowed and the path is not a symbolic link. A symbolic link could refer to a file outside of
   the allowed folders. */
static bool may_tell_missing(const char *path) {
  struct stat info;
  if (lstat(path, &info) == 0) return false;
  char *folder = strdup(path);
  if (!folder) return false;
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  char *real = realpath(slash ? folder : ".", NULL);
  bool may = real && is_allowed(real);
  free(real);
  free(folder);
  return may;
}

const char *hr__input_path(const char *path) {
  if (!confined) return path;
  for (size_t i = 0; i < confined->n_aliases; i++)
    if (strcmp(confined->aliases[i].name, path) == 0) {
      path = confined->aliases[i].file;
      if (!confined->aliases[i].is_foreign) return path;
      break;
    }
  char *real = realpath(path, NULL);
  if (!real) {
    int number = errno;
    errno = may_tell_missing(path) ? number : EACCES;
    return NULL;
  }
  bool allowed = is_allowed(real) && is_file_or_folder(real);
  free(real);
  if (allowed) return path;
  errno = EACCES;
  return NULL;
}

/* ---- Confinement: messages ------------------------------------------------------------------------- */

const char *hr__output_name(const char *path) {
  const char *slash = confined ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

const char *hr__phrase(const char *text) {
  for (size_t i = 0; confined && i < confined->n_phrases; i++)
    if (strcmp(confined->phrases[i].text, text) == 0) return confined->phrases[i].plain;
  return text;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '-';
}

/* Returns the phrase that begins at `at` in a format; NULL: none. A phrase consists of whole words:
   "--settings" does not contain the phrase "--set". */
static const struct hr__phrase *phrase_at(const char *format, const char *at) {
  for (size_t i = 0; i < confined->n_phrases; i++) {
    const struct hr__phrase *phrase = &confined->phrases[i];
    size_t length = strlen(phrase->text);
    if (strncmp(at, phrase->text, length) != 0) continue;
    bool begins = at == format || !is_word(at[0]) || !is_word(at[-1]);
    if (begins && (!is_word(at[length - 1]) || !is_word(at[length]))) return phrase;
  }
  return NULL;
}

char *hr__phrased(const char *format) {
  size_t bytes = 1, n_found = 0;
  if (!confined || !confined->n_phrases) return NULL;
  for (const char *at = format; *at;) {
    const struct hr__phrase *phrase = phrase_at(format, at);
    bytes += phrase ? strlen(phrase->plain) : 1;
    n_found += phrase != NULL;
    at += phrase ? strlen(phrase->text) : 1;
  }
  char *copy = n_found ? malloc(bytes) : NULL, *to = copy;
  for (const char *at = format; copy && *at;) {
    const struct hr__phrase *phrase = phrase_at(format, at);
    if (phrase)
      to = stpcpy(to, phrase->plain);
    else
      *to++ = *at;
    at += phrase ? strlen(phrase->text) : 1;
  }
  if (copy) *to = '\0';
  return copy;
}

/* ---- Guards of plug-ins ---------------------------------------------------------------------------- */

/*
 * Each run of a plug-in has a slot of a fixed table. The name of the called function is stored in the slot before each
 * call and removed after it. The handler of fatal signals and the handler of clock ticks read the table. A tick is a
 * signal that the process receives after each second of its CPU time. All running calls share this CPU time. A call is
 * therefore too long if it lasts for at least limit x (number of running calls) ticks. Signal handlers have no other
 * way to find the calls, so the table is global, like the lists of output_file.c.
 */

enum { SLOTS = 256, PLUG_INS = 64, STACK_BYTES = 65536 };

static struct hr__policy_call calls[SLOTS];
static struct {
  unsigned count, ticks;
} seen[SLOTS]; /* data of the tick handler: number of the call at the last tick, and ticks since this call began */
static _Atomic(const char *) plug_ins[PLUG_INS];
static atomic_uint n_plug_ins;
static unsigned limit_s; /* 0: guards are not installed */

void hr__policy_guard_add(const char *name) {
  unsigned at = atomic_fetch_add(&n_plug_ins, 1);
  atomic_store(&plug_ins[at % PLUG_INS], name);
}

static bool is_plug_in(const char *name) {
  for (unsigned i = 0; i < PLUG_INS; i++)
    if (atomic_load(&plug_ins[i]) == name) return true;
  return false;
}

struct hr__policy_call *hr__policy_guard_claim(const char *name) {
  const struct itimerval second = {{1, 0}, {1, 0}};
  struct itimerval now;
  if (!limit_s || !name || !is_plug_in(name)) return NULL;
  if (getitimer(ITIMER_PROF, &now) == 0 && !now.it_interval.tv_sec) setitimer(ITIMER_PROF, &second, NULL);
  for (unsigned i = 0; i < SLOTS; i++) {
    const char *none = NULL;
    if (atomic_compare_exchange_strong(&calls[i].policy, &none, name)) return &calls[i];
  }
  return NULL;
}

void hr__policy_guard_release(struct hr__policy_call *call) {
  if (!call) return;
  hr__policy_leave(call);
  atomic_store(&call->policy, NULL);
}

/* ---- Guards of plug-ins: signal handlers ----------------------------------------------------------- */

static void put(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void put_call(const struct hr__policy_call *call, const char *before, const char *after) {
  put("headroom: plug-in '");
  put(atomic_load(&call->policy));
  put(before);
  put(atomic_load(&call->function));
  put(after);
}

/* Handles a fatal signal. The system has already restored the default action of the signal, so raising the signal again
   ends the program. If several threads run plug-ins, all of these plug-ins are named. */
static void on_crash(int number) {
  for (unsigned i = 0; i < SLOTS; i++)
    if (atomic_load(&calls[i].policy) && atomic_load(&calls[i].function))
      put_call(&calls[i], "' crashed in its function '", "'\n");
  raise(number);
}

static void on_tick(int number) {
  unsigned n_active = 0;
  (void)number;
  for (unsigned i = 0; i < SLOTS; i++) n_active += atomic_load(&calls[i].function) != NULL;
  for (unsigned i = 0; i < SLOTS; i++) {
    unsigned count = atomic_load(&calls[i].count);
    bool is_same = atomic_load(&calls[i].function) && seen[i].count == count;
    seen[i].ticks = is_same ? seen[i].ticks + 1 : 0;
    seen[i].count = count;
    if (!is_same || seen[i].ticks / n_active < limit_s) continue;
    put_call(&calls[i], "' does not return from its function '",
             "': the limit of CPU time is exceeded (HEADROOM_POLICY_LIMIT_S)\n");
    raise(SIGXCPU);
    return;
  }
}

void hr_policy_guard_install(unsigned seconds) {
  static const int fatal[] = {SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGABRT};
  static char stack[STACK_BYTES];
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction crash = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)}, old;
  const struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  limit_s = seconds;
  sigaltstack(&other, NULL); /* for a stack overflow of the main thread */
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
    if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(fatal[i], &crash, NULL);
  sigaction(SIGPROF, &tick, NULL);
}
