/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the model of Slurm with two recorded runs of a real Slurm: 180 jobs on 8 nodes of 8 GPUs, in FIFO order with
 * backfill. The input of the model is the recorded state at the time of each recorded start: the running jobs with
 * their nodes, and the waiting jobs. At least 99 % of the jobs must start within 2 seconds of their recorded starts,
 * and at least 97 % of these jobs on the recorded nodes. The records are not part of the repository; without them the
 * test is skipped.
 */

#include "policies/slurm/slurm.h"
#include "base/containers.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS REAL_TRACES_DIR "/../slurm-run/"
enum { NODES = 8, GPUS = 8, MAX_JOBS = 200, MAX_SLOTS = 2 * MAX_JOBS + 2, COLUMNS = 20 };

/* A recorded job. Times are seconds since 1970. */
struct record {
  int64_t submit_s, start_s, end_s, limit_s;
  struct hr__slurm_shape shape;
  uint64_t nodes;
};

static struct record records[MAX_JOBS];
static uint32_t n_records;

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Reads a date such as 2026-11-23T12:34:17. All records are of one month, so the day of the month is sufficient. */
static int64_t seconds_of(const char *text) {
  static const unsigned offsets[] = {8, 11, 14, 17}, scales[] = {1, 24, 60, 60};
  int64_t seconds = 0;
  for (unsigned i = 0; i < 4; i++) seconds = seconds * scales[i] + strtol(text + offsets[i], NULL, 10);
  return seconds;
}

/* Reads a list of nodes: n3 or n[1,4-6]. */
static uint64_t nodes_of(const char *text) {
  uint64_t set = 0;
  for (const char *at = text + 1; *at;) {
    char *end;
    unsigned long first = strtoul(at, &end, 10), last = first;
    if (end == at) {
      at++;
      continue;
    }
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (unsigned long n = first; n <= last; n++) set |= UINT64_C(1) << (n - 1);
    at = end;
  }
  return set;
}

static uint32_t gpus_of(const char *tres) {
  const char *at = strstr(tres, "gres/gpu=");
  return at ? (uint32_t)strtoul(at + strlen("gres/gpu="), NULL, 10) : 0;
}

static void read_records(const char *path) {
  char line[1000], *column[COLUMNS];
  FILE *file = fopen(path, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  n_records = 0;
  for (bool header = true; fgets(line, sizeof line, file); header = false) {
    if (header) continue;
    unsigned n = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
      column[n] = at;
      at = strchr(at, '|');
      if (at) *at++ = '\0';
    }
    CU_ASSERT_FATAL(n == COLUMNS && n_records < MAX_JOBS);
    uint32_t nodes = (uint32_t)strtoul(column[15], NULL, 10), gpus = gpus_of(column[14]) / nodes;
    records[n_records++] = (struct record){.submit_s = seconds_of(column[6]),
                                           .start_s = seconds_of(column[8]),
                                           .end_s = seconds_of(column[9]),
                                           .limit_s = 60 * strtol(column[12], NULL, 10),
                                           .shape = {nodes, gpus, gpus, 0, 0},
                                           .nodes = nodes_of(column[16])};
  }
  fclose(file);
}

/* ---- The model at a recorded state ------------------------------------------------------------------ */

struct model {
  struct hr__slurm_nodes nodes;
  struct hr_arena arena;
  uint32_t gpus[NODES];
  uint32_t memory[MAX_JOBS][NODES];
  struct hr__slurm_timeline line;
  struct hr__slurm_slot slots[MAX_SLOTS];
  uint64_t slot_nodes[MAX_SLOTS], set;
  struct hr__slurm_queued queue[MAX_JOBS];
  uint32_t n_queued;
  int64_t now_us;
  uint64_t started[MAX_JOBS]; /* by job: the nodes on which the model starts it; 0: not started */
};

static void occupy(struct model *model, uint32_t job, int64_t end_us) {
  hr__slurm_nodes_add(&model->nodes, job, &records[job].shape, end_us, model->memory[job]);
}

static bool start_job(void *self, uint32_t job, const uint64_t *nodes) {
  struct model *model = self;
  uint64_t set = *nodes;
  if (!hr__slurm_select_now(&model->nodes, &records[job].shape, &set)) return false;
  model->started[job] = set;
  occupy(model, job, model->now_us + records[job].limit_s * HR_SECOND_US);
  return true;
}

static bool find_start(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct model *model = self;
  return hr__slurm_select(&model->nodes, &records[job].shape, now_us, nodes, start_us);
}

/* Returns whether a job runs in the recorded state before `job` starts: jobs that started before it and have not ended
   at `now_s`. */
static bool runs(uint32_t other, uint32_t job, int64_t now_s) {
  bool before =
      records[other].start_s < records[job].start_s || (records[other].start_s == records[job].start_s && other < job);
  return before && other != job && records[other].end_s > now_s;
}

static bool waits(uint32_t other, uint32_t job, int64_t now_s) {
  bool after =
      records[other].start_s > records[job].start_s || (records[other].start_s == records[job].start_s && other >= job);
  return after && records[other].submit_s <= now_s;
}

static void set_state(struct model *model, uint32_t job, int64_t now_s) {
  hr__arena_finish(&model->arena);
  *model = (struct model){.now_us = now_s * HR_SECOND_US};
  for (uint32_t n = 0; n < NODES; n++) model->gpus[n] = GPUS;
  CU_ASSERT_FATAL(hr__slurm_nodes_create(&model->nodes, &model->arena, model->gpus, NODES, 0));
  model->line = (struct hr__slurm_timeline){.slots = model->slots,
                                            .nodes = model->slot_nodes,
                                            .set = &model->set,
                                            .max_slots = MAX_SLOTS,
                                            .n_nodes = NODES,
                                            .n_words = 1};
  for (uint32_t i = 0; i < n_records; i++) {
    if (runs(i, job, now_s)) {
      uint32_t count = 0;
      for (uint32_t n = 0; n < NODES; n++)
        if (records[i].nodes >> n & 1) model->nodes.chosen[count++] = n;
      int64_t end_s = records[i].start_s + records[i].limit_s;
      occupy(model, i, (end_s > now_s ? end_s : now_s + 1) * HR_SECOND_US);
    } else if (waits(i, job, now_s)) {
      model->queue[model->n_queued++] = (struct hr__slurm_queued){
          .job = i, .limit_us = records[i].limit_s * HR_SECOND_US, .min_nodes = records[i].shape.nodes};
    }
  }
}

/* Runs the main scheduler and a backfill pass. */
static void run_model(struct model *model) {
  uint32_t first = 0;
  for (uint64_t all; all = UINT64_C(255), first < model->n_queued; first++)
    if (!start_job(model, model->queue[first].job, &all)) break;
  static struct hr__slurm_planned planned[MAX_JOBS];
  const struct hr__slurm_backfill_limits limits = {
      .resolution_us = HR_SECOND_US, .window_us = 86400 * HR_SECOND_US, .max_job_test = 1000};
  const struct hr__slurm_selector selector = {find_start, start_job, model};
  hr__slurm_backfill(&model->line, &limits, model->queue + first, model->n_queued - first, NULL, &selector,
                     model->now_us, planned);
}

/* Returns the nodes on which the model starts a job within 2 seconds of its recorded start; 0: it does not. */
static uint64_t start_of(uint32_t job) {
  static struct model model;
  static const int offsets[] = {0, 1, 2, -1, -2};
  for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
    int64_t now_s = records[job].start_s + offsets[i];
    if (now_s < records[job].submit_s) continue;
    set_state(&model, job, now_s);
    run_model(&model);
    if (model.started[job]) break;
  }
  uint64_t nodes = model.started[job];
  hr__arena_finish(&model.arena);
  model = (struct model){0};
  return nodes;
}

static void check_record(const char *path) {
  if (real_trace_missing(path)) return;
  read_records(path);
  uint32_t n_started = 0, n_same_nodes = 0;
  for (uint32_t i = 0; i < n_records; i++) {
    uint64_t nodes = start_of(i);
    n_started += nodes != 0;
    n_same_nodes += nodes == records[i].nodes;
  }
  printf("%s: %u of %u starts within 2 s, %u of them on the same nodes\n", path, n_started, n_records, n_same_nodes);
  CU_ASSERT(n_records == 180);
  CU_ASSERT(n_started * 100 >= n_records * 99);
  CU_ASSERT(n_same_nodes * 100 >= n_started * 97);
}

static void decisions_of_the_first_run(void) {
  check_record(RECORDS "fifo.sacct");
}

static void decisions_of_the_repeated_run(void) {
  check_record(RECORDS "fifo-repeat.sacct");
}

/* ---- Cases computed by hand ------------------------------------------------------------------------- */

/* The smallest run of consecutive nodes that is large enough is chosen. */
static void smallest_sufficient_run(void) {
  static struct model model;
  n_records = 0;
  set_state(&model, 0, 0);
  static const uint32_t used[NODES] = {0, 0, 0, 8, 0, 0, 8, 4};
  for (uint32_t n = 0; n < NODES; n++) {
    model.nodes.chosen[0] = n;
    if (used[n])
      hr__slurm_nodes_add(&model.nodes, n, &(struct hr__slurm_shape){1, used[n], used[n], 0, 0, 0}, 0, model.memory[n]);
  }
  uint64_t set = 255;
  CU_ASSERT(hr__slurm_select_now(&model.nodes, &(struct hr__slurm_shape){2, 8, 8, 0, 0, 0}, &set));
  CU_ASSERT_EQUAL(set, 0x30); // nodes 4 and 5
  set = 255;
  CU_ASSERT(hr__slurm_select_now(&model.nodes, &(struct hr__slurm_shape){1, 4, 4, 0, 0, 0}, &set));
  CU_ASSERT_EQUAL(set, 0x80); // node 7
  set = 255;
  CU_ASSERT(hr__slurm_select_now(&model.nodes, &(struct hr__slurm_shape){4, 8, 8, 0, 0, 0}, &set));
  CU_ASSERT_EQUAL(set, 0x17); // the larger run first, then node 4
  set = 255;
  CU_ASSERT_FALSE(hr__slurm_select_now(&model.nodes, &(struct hr__slurm_shape){6, 8, 8, 0, 0, 0}, &set));
  CU_ASSERT_EQUAL(set, 255);
  hr__arena_finish(&model.arena);
}

TEST_MAIN("the model of Slurm", TEST(decisions_of_the_first_run), TEST(decisions_of_the_repeated_run),
          TEST(smallest_sufficient_run))
