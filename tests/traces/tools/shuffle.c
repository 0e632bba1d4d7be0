/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shuffled traces: what changes, what does not change, and that all permutations have the same probability. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "same_trace.h"
#include "trace_files.h"

#include <string.h>

static struct hr_trace *shuffled(const struct hr_trace *trace, enum hr_shuffling what, uint64_t seed) {
  struct hr_trace *made;
  CU_ASSERT_EQUAL_FATAL(hr_transform_shuffle(trace, what, seed, &made, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(made->n_jobs, trace->n_jobs);
  return made;
}

/* Returns the index of the job with this id; n_jobs: not found. */
static uint32_t find(const struct hr_trace *trace, const char *id) {
  char buffer[HR_JOB_ID_BUFFER];
  uint32_t job = 0;
  while (job < trace->n_jobs && strcmp(hr_trace_job_id(trace, (hr_job){job}, buffer), id) != 0) job++;
  return job;
}

/* Asserts that each job exists with all of its fields, and that the submit times as a whole are unchanged. Returns the
   number of jobs whose index changed. */
static uint32_t expect_moved(const struct hr_trace *trace, const struct hr_trace *made) {
  uint32_t n_moved = 0;
  CU_ASSERT_EQUAL(memcmp(trace->submit_us, made->submit_us, trace->n_jobs * sizeof *made->submit_us), 0);
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    char id[HR_JOB_ID_BUFFER];
    uint32_t at = find(made, hr_trace_job_id(trace, (hr_job){job}, id));
    CU_ASSERT_FATAL(at < made->n_jobs);
    CU_ASSERT(same_job(trace, job, made, at, made->submit_us[at] - trace->submit_us[job]));
    n_moved += at != job;
  }
  return n_moved;
}

static void shuffled_traces_have_the_same_jobs(void) {
  uint32_t n_arrivals = 0, n_rows = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 40});
    struct hr_trace *arrivals = shuffled(trace, HR_SHUFFLE_ARRIVALS, seed);
    struct hr_trace *rows = shuffled(trace, HR_SHUFFLE_ROWS, seed);
    n_arrivals += expect_moved(trace, arrivals);
    n_rows += expect_moved(trace, rows);
    for (uint32_t job = 0; job < trace->n_jobs; job++) {
      char id[HR_JOB_ID_BUFFER];
      uint32_t at = find(rows, hr_trace_job_id(trace, (hr_job){job}, id));
      CU_ASSERT_EQUAL(rows->submit_us[at], trace->submit_us[job]);
    }
    hr_trace_destroy(arrivals);
    hr_trace_destroy(rows);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(n_arrivals > 2000 && n_rows > 100 && n_rows < n_arrivals);
}

static const char *pair_of(const struct hr_trace *trace, uint32_t job, char pair[200]) {
  const char *user = trace->user && trace->user[job] != HR_NONE ? trace->users.text[trace->user[job]] : "";
  const char *tenant = trace->tenant && trace->tenant[job] != HR_NONE ? trace->tenants.text[trace->tenant[job]] : "";
  snprintf(pair, 200, "%s\x01%s", user, tenant);
  return pair;
}

static uint32_t count_pair(const struct hr_trace *trace, const char *wanted) {
  uint32_t n = 0;
  char pair[200];
  for (uint32_t job = 0; job < trace->n_jobs; job++) n += strcmp(pair_of(trace, job, pair), wanted) == 0;
  return n;
}

static void users_keep_their_number_of_jobs(void) {
  uint32_t n_other = 0;
  for (uint64_t seed = 0; seed < 100; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 30, .plain = true});
    struct hr_trace *made = shuffled(trace, HR_SHUFFLE_USERS, seed);
    for (uint32_t job = 0; job < trace->n_jobs; job++) {
      char before[200], after[200];
      pair_of(trace, job, before);
      n_other += strcmp(before, pair_of(made, job, after)) != 0;
      CU_ASSERT_EQUAL(count_pair(trace, before), count_pair(made, before));
      CU_ASSERT_EQUAL(made->submit_us[job], trace->submit_us[job]);
      CU_ASSERT_EQUAL(made->work_us[job], trace->work_us[job]);
      CU_ASSERT_EQUAL(made->gpus[job], trace->gpus[job]);
    }
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(n_other > 300);
}

/* Chi-squared test of the 24 orders of four jobs over 24,000 seeds. With 23 degrees of freedom the statistic is below
   58 with probability 99.99 %. */
static void all_orders_are_equally_likely(void) {
  enum { N_ORDERS = 24, N_SEEDS = 24000 };
  static uint32_t seen[256];
  struct hr_trace *trace = trace_of("job_id,submit_s,duration_s,gpus\n0,0,1,1\n1,0,1,1\n2,0,1,1\n3,0,1,1\n", NULL);
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    struct hr_trace *made = shuffled(trace, HR_SHUFFLE_ROWS, seed);
    unsigned order = 0;
    for (uint32_t i = 0; i < 4; i++) order = order << 2 | (unsigned)made->id_number[i];
    seen[order]++;
    hr_trace_destroy(made);
  }
  double chi = 0;
  uint32_t n_seen = 0;
  for (size_t i = 0; i < 256; i++) {
    double off = (double)seen[i] - (double)N_SEEDS / N_ORDERS;
    n_seen += seen[i] > 0;
    if (seen[i]) chi += off * off / ((double)N_SEEDS / N_ORDERS);
  }
  CU_ASSERT_EQUAL(n_seen, N_ORDERS);
  CU_ASSERT(chi < 58);
  hr_trace_destroy(trace);
}

static void the_seed_determines_the_order(void) {
  random_start(5);
  struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 300});
  struct hr_trace *a = shuffled(trace, HR_SHUFFLE_ARRIVALS, 1), *b = shuffled(trace, HR_SHUFFLE_ARRIVALS, 1),
                  *c = shuffled(trace, HR_SHUFFLE_ARRIVALS, 2);
  CU_ASSERT(same_trace(a, b));
  CU_ASSERT_NOT_EQUAL(memcmp(a->work_us, c->work_us, a->n_jobs * sizeof *a->work_us), 0);
  hr_trace_destroy(a);
  hr_trace_destroy(b);
  hr_trace_destroy(c);
  hr_trace_destroy(trace);
}

TEST_MAIN("shuffled traces", TEST(shuffled_traces_have_the_same_jobs), TEST(users_keep_their_number_of_jobs),
          TEST(all_orders_are_equally_likely), TEST(the_seed_determines_the_order))
