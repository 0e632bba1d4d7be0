/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/sweep_deal.h"

#include "plan/pool.h"

#include <pthread.h>

struct table {
  const struct hr__deal *deal;
  pthread_mutex_t lock;
};

static enum hr_status make(void *self, size_t task, struct hr_error *error) {
  struct table *table = self;
  const struct hr__deal *deal = table->deal;
  struct hr__record record;
  enum hr_status status = hr__sweep_run(deal->sweep, deal->runs[task], &record, error);
  if (status == HR_OK) {
    pthread_mutex_lock(&table->lock);
    status = deal->keep(deal->self, &record, error);
    pthread_mutex_unlock(&table->lock);
  }
  hr__record_finish(&record);
  return status;
}

enum hr_status hr__deal_on_threads(const struct hr__deal *deal, struct hr_error *error) {
  struct table table = {.deal = deal};
  struct hr__tasks tasks = {.self = &table, .run = make, .count = deal->n_runs};
  pthread_mutex_init(&table.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, deal->n_threads, error);
  pthread_mutex_destroy(&table.lock);
  return status;
}
