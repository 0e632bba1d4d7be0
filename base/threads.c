/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool of threads that take tasks in ascending order. If a task fails, no further task is started. At that time all
   tasks with lower numbers have ended or are running. When all threads have ended, the failed task with the lowest
   number is therefore known. */

#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>

struct threads_pool {
  const struct hr__tasks *tasks;
  pthread_mutex_t lock;
  size_t next;
  size_t failed; /* the failed task with the lowest number; SIZE_MAX if no task has failed */
  enum hr_status status;
  struct hr_error error;
};

/* Returns the index of the next task. Returns tasks->count if no task is left, or if a task has failed. */
static size_t take(struct threads_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  size_t task = pool->failed == SIZE_MAX && pool->next < pool->tasks->count ? pool->next++ : pool->tasks->count;
  pthread_mutex_unlock(&pool->lock);
  return task;
}

static void fail(struct threads_pool *pool, size_t task, enum hr_status status, const struct hr_error *error) {
  pthread_mutex_lock(&pool->lock);
  if (task < pool->failed) {
    pool->failed = task;
    pool->status = status;
    pool->error = *error;
  }
  pthread_mutex_unlock(&pool->lock);
}

static void *work(void *self) {
  struct threads_pool *pool = self;
  for (size_t task = take(pool); task < pool->tasks->count; task = take(pool)) {
    struct hr_error error = {0};
    enum hr_status status = pool->tasks->run(pool->tasks->self, task, &error);
    if (status != HR_OK) fail(pool, task, status, &error);
  }
  return NULL;
}

enum hr_status hr__pool_run(const struct hr__tasks *tasks, uint32_t n_threads, struct hr_error *error) {
  struct threads_pool pool = {.tasks = tasks, .failed = SIZE_MAX, .status = HR_OK};
  uint32_t more = n_threads > tasks->count ? (uint32_t)tasks->count : n_threads, begun = 0;
  pthread_t *threads = calloc((size_t)more + 1, sizeof *threads);
  if (!threads) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_init(&pool.lock, NULL);
  /* If the system refuses to create more threads, the existing threads run all tasks. */
  while (begun + 1 < more && pthread_create(&threads[begun], NULL, work, &pool) == 0) begun++;
  work(&pool);
  for (uint32_t i = 0; i < begun; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&pool.lock);
  free(threads);
  return pool.status == HR_OK ? HR_OK : hr_fail(error, pool.status, "%s", pool.error.text);
}
