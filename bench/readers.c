/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the CPU time of an event (the begin or end of a flow), with 10,000 readers of one storage system. Each
 * reader that ends is replaced by another one.
 *
 *     readers KINDS SHARE
 *
 * KINDS: number of different demands. SHARE: bandwidth relative to 100 MB/s for each reader, which is the mean demand
 * if KINDS is large. If SHARE is near 1, the rate of most flows alternates between their own cap and the level of the
 * storage system.
 */

#include "sim/data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_READERS = 10000, N_EVENTS = 1000000 };

static uint32_t draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525U + 1013904223U;
  return (uint32_t)(((uint64_t)*state * below) >> 32);
}

/* Begins a reader with a demand from 50 to 150 MB/s and a length from 1 to 101 s. Returns false if memory is exhausted.
 */
static bool begin(struct hr__flows *flows, uint32_t id, uint32_t kinds, uint32_t *state, int64_t now_us) {
  const uint64_t bytes_s = 50000000 + (uint64_t)draw(state, kinds) * 100000000 / (kinds > 1 ? kinds : 2);
  const hr__wide demand = (hr__wide)bytes_s * HR__RATE_UNITS;
  const int64_t length_us = (int64_t)draw(state, 100000000) + 1000000;
  return hr__flows_begin(flows, id, 0, demand, demand, length_us, 0, now_us) == HR_OK;
}

int main(int argc, char **argv) {
  static struct hr__data_flow flow[N_READERS];
  static struct hr__share_path share = {.n_resources = 1};
  static struct hr__flow_path path;
  static hr__wide capacity[1], left[1], level[1];
  if (argc != 3) {
    fprintf(stderr, "usage: readers KINDS SHARE\n");
    return 2;
  }
  const uint32_t kinds = (uint32_t)strtoul(argv[1], NULL, 10);
  uint32_t state = 1;
  capacity[0] = (hr__wide)(strtod(argv[2], NULL) * N_READERS * 100e6) * HR__RATE_UNITS;
  struct hr__flows flows = {
      .shares = {.paths = &share, .n_paths = 1, .capacity = capacity, .left = left, .level = level, .n_resources = 1},
      .paths = &path,
      .flows = flow,
      .n_flows = N_READERS};
  hr__flows_open(&flows);
  for (uint32_t i = 0; i < N_READERS; i++)
    if (!begin(&flows, i, kinds, &state, 0)) return 4;
  const clock_t from = clock();
  for (int i = 0; i < N_EVENTS / 2; i++) {
    int64_t at_us;
    const uint32_t first = hr__flows_first(&flows, &at_us);
    hr__flows_end(&flows, first, at_us);
    if (!begin(&flows, first, kinds, &state, at_us)) return 4;
  }
  const double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
  printf("%.0f ns of CPU per event, %u readers, %u kinds\n", seconds / N_EVENTS * 1e9, (unsigned)N_READERS,
         (unsigned)kinds);
  hr__flows_close(&flows);
  return 0;
}
