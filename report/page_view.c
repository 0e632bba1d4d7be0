/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page_parts.h"
#include "report/page_watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_gpu(const struct hr_pool_spec *a, const struct hr_pool_spec *b) {
  return a->gpu && b->gpu ? strcmp(a->gpu, b->gpu) == 0 : a->gpu == b->gpu;
}

static void number_pools(struct hr__page_view *view) {
  const struct hr_cluster_spec *cluster = view->run->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    view->first_node[i + 1] = view->first_node[i] + cluster->pools[i].nodes;
    uint32_t first = 0;
    while (!same_gpu(&cluster->pools[first], &cluster->pools[i])) first++;
    view->first_of_gpu[i] = first;
  }
}

enum hr_status hr__page_view_init(struct hr__page_view *view, const struct hr_page_run *run) {
  size_t n_pools = run->cluster->n_pools;
  *view = (struct hr__page_view){.run = run,
                                 .first_node = calloc(n_pools + 1, sizeof *view->first_node),
                                 .first_of_gpu = calloc(n_pools + 1, sizeof *view->first_of_gpu)};
  if (!view->first_node || !view->first_of_gpu) return HR_NO_MEMORY;
  number_pools(view);
  int64_t end_us = hr_history_end_us(run->history);
  hr__page_watch_close(run->watch, end_us);
  const struct hr__buckets *buckets = &run->watch->counts[0];
  view->grid = (struct hr__page_grid){buckets->width_us, end_us, buckets->n};
  view->n_attempts = hr_history_attempts(run->history, &view->attempts);
  view->n_changes = hr_history_changes(run->history, &view->changes);
  return HR_OK;
}

void hr__page_view_finish(struct hr__page_view *view) {
  free(view->first_node);
  free(view->first_of_gpu);
}

void hr__page_put_means(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                        const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) {
    int64_t span_us = hr__page_span_us(grid, i);
    hr__page_number(json, NULL, span_us > 0 ? (double)sums->sum[i] / ((double)span_us * unit) : (double)NAN);
  }
  hr__page_close(json, ']');
}

void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) hr__page_number(json, NULL, (double)sums->sum[i] / unit);
  hr__page_close(json, ']');
}

void hr__page_put_buckets(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < buckets->n; i++) {
    int64_t span_us = hr__buckets_span_us(buckets, i);
    hr__page_number(json, NULL, span_us > 0 ? (double)buckets->bucket[i].sum / ((double)span_us * unit) : (double)NAN);
  }
  hr__page_close(json, ']');
}

void hr__page_put_most(struct hr__page_json *json, const char *key, const struct hr__buckets *buckets, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < buckets->n; i++) hr__page_number(json, NULL, (double)buckets->bucket[i].most / unit);
  hr__page_close(json, ']');
}
