/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bare_easy TRACE GPUS: simulates EASY backfilling in a hand-written loop. The cluster is a number of GPUs without
 * nodes. The run time of headroom is compared with the run time of this program. The mean wait that it prints must
 * equal that of headroom.
 *
 * The loop uses the usual simple algorithm. At each instant it sorts the running jobs by expected end to find the
 * reservation of the first waiting job. Then it scans the whole queue for jobs that can be backfilled.
 */

#include "bare_trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct running {
  int64_t end_us, expected_us;
  uint32_t gpus;
};

/* The state of the simulation. */
struct loop {
  struct bare_trace trace;
  /* free: number of free GPUs; waiting: the waiting jobs are waiting[first .. first + n_waiting) */
  uint32_t free, *waiting, first, n_waiting;
  struct running *running, *sorted; /* [n_running]; `sorted` is scratch space */
  uint32_t n_running;
  int64_t now_us;
  double wait_us; /* sum of the waits of all started jobs */
};

/* Returns zeroed memory. Exits the program if memory is exhausted. */
static void *fresh(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) exit(4);
  return memory;
}

static void start(struct loop *loop, uint32_t job) {
  const struct bare_trace *trace = &loop->trace;
  loop->free -= trace->gpus[job];
  loop->wait_us += (double)(loop->now_us - trace->submit_us[job]);
  loop->running[loop->n_running++] =
      (struct running){loop->now_us + trace->work_us[job], loop->now_us + trace->limit_us[job], trace->gpus[job]};
}

static void end_all_due(struct loop *loop) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < loop->n_running; i++) {
    if (loop->running[i].end_us > loop->now_us)
      loop->running[kept++] = loop->running[i];
    else
      loop->free += loop->running[i].gpus;
  }
  loop->n_running = kept;
}

static int by_expected_end(const void *a, const void *b) {
  const struct running *x = a, *y = b;
  return (x->expected_us > y->expected_us) - (x->expected_us < y->expected_us);
}

/* Returns the earliest time at which a job of `head_gpus` GPUs can start. Sets `*spare` to the number of GPUs that will
   still be free at that time after this job has started. */
static int64_t reservation(struct loop *loop, uint32_t head_gpus, uint32_t *spare) {
  uint32_t free = loop->free, i = 0;
  int64_t at_us = loop->now_us;
  for (uint32_t k = 0; k < loop->n_running; k++) {
    loop->sorted[k] = loop->running[k];
    if (loop->sorted[k].expected_us <= loop->now_us) loop->sorted[k].expected_us = loop->now_us + 1;
  }
  qsort(loop->sorted, loop->n_running, sizeof *loop->sorted, by_expected_end);
  while (free < head_gpus) {
    at_us = loop->sorted[i].expected_us;
    while (i < loop->n_running && loop->sorted[i].expected_us == at_us) free += loop->sorted[i++].gpus;
  }
  *spare = free - head_gpus;
  return at_us;
}

/* Makes a reservation for the first waiting job. Then starts each of the other waiting jobs that fits and does not
   delay this reservation. */
static void backfill(struct loop *loop) {
  const struct bare_trace *trace = &loop->trace;
  uint32_t *waiting = loop->waiting + loop->first, kept = 1, spare, i = 1;
  int64_t reserved_us = reservation(loop, trace->gpus[waiting[0]], &spare);
  for (; i < loop->n_waiting && loop->free > 0; i++) {
    uint32_t job = waiting[i], gpus = trace->gpus[job];
    bool in_time = loop->now_us + trace->limit_us[job] <= reserved_us;
    if (gpus <= loop->free && (in_time || gpus <= spare)) {
      if (!in_time) spare -= gpus;
      start(loop, job);
    } else {
      waiting[kept++] = job;
    }
  }
  for (; i < loop->n_waiting; i++) waiting[kept++] = waiting[i];
  loop->n_waiting = kept;
}

/* One pass: starts jobs in order until one does not fit, and then backfills. */
static void pass(struct loop *loop) {
  while (loop->n_waiting > 0 && loop->trace.gpus[loop->waiting[loop->first]] <= loop->free) {
    start(loop, loop->waiting[loop->first++]);
    loop->n_waiting--;
  }
  if (loop->n_waiting > 1 && loop->free > 0) backfill(loop);
}

static void run(struct loop *loop) {
  const struct bare_trace *trace = &loop->trace;
  uint32_t arrived = 0;
  while (arrived < trace->n || loop->n_running > 0) {
    loop->now_us = arrived < trace->n ? trace->submit_us[arrived] : INT64_MAX;
    for (uint32_t i = 0; i < loop->n_running; i++)
      if (loop->running[i].end_us < loop->now_us) loop->now_us = loop->running[i].end_us;
    end_all_due(loop);
    for (; arrived < trace->n && trace->submit_us[arrived] == loop->now_us; arrived++)
      loop->waiting[loop->first + loop->n_waiting++] = arrived;
    pass(loop);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct loop loop = {.free = bare_argument(argv[2], 1000000)};
  bare_trace_read(argv[1], &loop.trace);
  loop.waiting = fresh(loop.trace.n, sizeof *loop.waiting);
  loop.running = fresh(loop.trace.n, sizeof *loop.running);
  loop.sorted = fresh(loop.trace.n, sizeof *loop.sorted);
  run(&loop);
  printf("jobs %u mean_wait_s %.6f\n", loop.trace.n, loop.wait_us / loop.trace.n / 1e6);
  free(loop.waiting);
  free(loop.running);
  free(loop.sorted);
  bare_trace_finish(&loop.trace);
  return 0;
}
