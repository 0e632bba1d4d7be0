/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_THREADS_H
#define HR_BASE_THREADS_H

#include "headroom/base.h"

/* Tasks 0 .. count-1, each run once, on some thread. */
struct hr__tasks {
  void *self;
  enum hr_status (*run)(void *self, size_t task, struct hr_error *error);
  size_t count;
};

/* Runs them on `n_threads` threads, the caller's among them. Of tasks that fail, the first by number is told, whatever
   the number of threads; later ones may not be begun. */
enum hr_status hr__pool_run(const struct hr__tasks *tasks, uint32_t n_threads, struct hr_error *error);

#endif
