/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list is the one thing of the library that belongs to the process and not to a run: a signal handler is handed
 * nothing and can reach nothing else. It is an array of pointers, each taken and given with one atomic exchange, so
 * that threads and handler need no lock; who takes a path owns it.
 */

#include "sim/unfinished.h"

#include "headroom/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 64, LINK_BYTES = 32, MOST_NAMES = 1000 };
static char *_Atomic unfinished[MOST_FILES];
static atomic_uint discards;
static atomic_bool all_named; /* as where there are no files without a name */

static uint32_t add(char *path) {
  for (uint32_t i = 0; i < MOST_FILES; i++) {
    char *none = NULL;
    if (atomic_compare_exchange_strong(&unfinished[i], &none, path)) return i + 1;
  }
  return 0;
}

int hr__unfinished_make(char *path, uint32_t *place) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); /* no file is there that is not listed */
  int descriptor = mkstemp(path), number = errno;
  *place = descriptor >= 0 ? add(path) : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = number;
  return descriptor;
}

/* ---- Files without a name ---------------------------------------------------------------------------- */

#ifdef O_TMPFILE
static int open_in_folder_of(const char *path) {
  char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) errno = ENOMEM;
  if (!folder) return -1;
  if (slash) slash[slash == folder] = '\0'; /* of "/file", "/" stays */
  int descriptor = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  free(folder);
  return descriptor;
}
#endif

/* What the descriptor is called under /proc, through which it gets its name. */
static const char *link_of(int descriptor, char buffer[LINK_BYTES]) {
  snprintf(buffer, LINK_BYTES, "/proc/self/fd/%d", descriptor);
  return buffer;
}

void hr__unfinished_name_all(bool all) {
  atomic_store(&all_named, all);
}

int hr__unfinished_make_nameless(const char *path) {
#ifdef O_TMPFILE
  char at[LINK_BYTES];
  errno = EOPNOTSUPP;
  if (atomic_load(&all_named)) return -1;
  int descriptor = open_in_folder_of(path);
  if (descriptor < 0 || access(link_of(descriptor, at), F_OK) == 0) return descriptor;
  close(descriptor);
#else
  (void)path;
#endif
  errno = EOPNOTSUPP;
  return -1;
}

bool hr__unfinished_link(int descriptor, const char *path) {
  char at[LINK_BYTES];
  return linkat(AT_FDCWD, link_of(descriptor, at), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* In the folder of `path`, and short whatever that is called. */
static bool link_beside(int descriptor, const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  int folder_bytes = slash ? (int)(slash - path) + 1 : 0;
  for (unsigned i = 0; i < MOST_NAMES; i++) {
    snprintf(name, size, "%.*s.headroom-%ld-%u", folder_bytes, path, (long)getpid(), i);
    if (hr__unfinished_link(descriptor, name)) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

char *hr__unfinished_name(int descriptor, const char *path, uint32_t *place) {
  enum { SUFFIX_BYTES = 40 };
  sigset_t all, before;
  size_t size = strlen(path) + SUFFIX_BYTES;
  char *name = malloc(size);
  *place = 0;
  if (!name) errno = ENOMEM;
  if (!name) return NULL;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  bool linked = link_beside(descriptor, path, name, size);
  int number = errno;
  if (linked) *place = add(name);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (linked) return name;
  free(name);
  errno = number;
  return NULL;
}

/* ---- Ends -------------------------------------------------------------------------------------------- */

bool hr__unfinished_remove(uint32_t place) {
  return place == 0 || atomic_exchange(&unfinished[place - 1], NULL);
}

unsigned hr__unfinished_discards(void) {
  return atomic_load(&discards);
}

void hr_discard_unfinished(void) {
  int number = errno;
  atomic_fetch_add(&discards, 1);
  for (uint32_t i = 0; i < MOST_FILES; i++) {
    const char *path = atomic_exchange(&unfinished[i], NULL);
    if (path) unlink(path);
  }
  errno = number;
}
