/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list is the one thing of the library that belongs to the process and not to a run: a signal handler is handed
 * nothing and can reach nothing else. It is an array of pointers, each taken and given with one atomic exchange, so
 * that threads and handler need no lock; who takes a path owns it.
 */

#include "sim/unfinished.h"

#include "headroom/base.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_FILES = 64 };
static char *_Atomic unfinished[MOST_FILES];

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

bool hr__unfinished_remove(uint32_t place) {
  return place == 0 || atomic_exchange(&unfinished[place - 1], NULL);
}

void hr_discard_unfinished(void) {
  int number = errno;
  for (uint32_t i = 0; i < MOST_FILES; i++) {
    const char *path = atomic_exchange(&unfinished[i], NULL);
    if (path) unlink(path);
  }
  errno = number;
}
