/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_THREADS_H
#define HR_BASE_THREADS_H

#include "headroom/base.h"

/* Tasks, numbered 0 .. count - 1. Each task runs once, on any thread. `run` runs one task. It returns HR_OK on success;
   on failure it writes `error` and returns another status. */
struct hr__tasks {
  void *self;
  enum hr_status (*run)(void *self, size_t task, struct hr_error *error);
  size_t count;
};

/* Runs all tasks on up to `n_threads` threads, including the caller's thread. If tasks fail, the function returns the
   status and error of the failed task with the lowest number, so the result does not depend on the number of threads.
   In this case some tasks with higher numbers may not have run. */
enum hr_status hr__pool_run(const struct hr__tasks *tasks, uint32_t n_threads, struct hr_error *error);

#endif
