/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Redrawn workloads, compared with a second implementation of the definitions in docs/researcher/workload.md. The
 * second implementation examines each job of the trace for each position and layer, and takes random numbers directly
 * from Philox. Traces, lengths and growths are random.
 */
#include "harness.h"

#include "base/random.h"
#include "recorded.h"

#include <math.h>

static const int64_t week_us = 7 * DAY_US;

enum { MAX_SERIES = 3, MAX_POSITIONS = 80 };

static struct recorded recorded;
static uint32_t series[MAX_RECORDED];
static double factors[MAX_SERIES * MAX_POSITIONS];

struct naive_job {
  int64_t submit_us;
  uint32_t job;
};
static struct naive_job naive[20 * MAX_RECORDED];
static uint32_t n_naive;

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

/* ---- The definitions -------------------------------------------------------------------------------- */

struct naive_grid {
  int64_t zero_us, block_us; /* block b begins at zero_us + b * block_us */
  int64_t first, last;       /* first and last whole block, both inclusive; last < first: none */
};

static struct naive_grid grid_of(int64_t block_us) {
  const struct hr_trace *trace = &recorded.trace;
  int64_t zero_us = 0, recorded_us = trace->submit_us[trace->n_jobs - 1] + 1;
  if (trace->dated) {
    int64_t midnight_us = floor_div(trace->origin_us, DAY_US) * DAY_US - trace->origin_us;
    zero_us = midnight_us >= -HOUR_US ? midnight_us : midnight_us + DAY_US;
    if (zero_us > 0) zero_us -= block_us;
  }
  struct naive_grid grid = {zero_us, block_us, 0, -1};
  while (zero_us + grid.first * block_us < -HOUR_US) grid.first++;
  grid.last = grid.first - 1;
  while (zero_us + (grid.last + 2) * block_us <= recorded_us + HOUR_US) grid.last++;
  return grid;
}

static int64_t n_whole(const struct naive_grid *grid) {
  return grid->last - grid->first + 1;
}

static void philox(uint64_t seed, enum hr__purpose purpose, uint32_t entity, uint32_t layer, uint32_t number,
                   uint32_t word[4]) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, purpose, entity, layer);
  stream.counter[0] = number;
  for (int i = 0; i < 4; i++) word[i] = hr__stream_next(&stream);
}

static double uniform(const uint32_t word[4]) {
  return ldexp((double)((uint64_t)(word[0] >> 5) << 26 | word[1] >> 6) + 0.5, -53);
}

/* Returns the block that is drawn for a position of a layer. All whole blocks are candidates, or those of the same
   weekday if blocks are days and there are at least 14. */
static int64_t naive_block(const struct naive_grid *grid, uint64_t seed, uint32_t position, uint32_t layer) {
  bool by_weekday = grid->block_us == DAY_US && n_whole(grid) >= 14;
  int64_t candidates[200] = {0};
  uint32_t n = 0, word[4];
  for (int64_t block = grid->first; block <= grid->last; block++)
    if (!by_weekday || block % 7 == position % 7) candidates[n++] = block;
  philox(seed, HR__PURPOSE_BLOCKS, position, layer, 0, word);
  return candidates[(uint64_t)word[0] * n >> 32];
}

static void naive_add(const struct hr_workload_spec *spec, uint64_t seed, int64_t length_us, int64_t submit_us,
                      uint32_t job, uint32_t position, uint32_t layer) {
  double growth = spec->growth;
  if (spec->factors && series[job] != HR_NONE) growth *= factors[series[job] * MAX_POSITIONS + position];
  uint32_t word[4];
  philox(seed, HR__PURPOSE_THINNING, job, layer, position, word);
  bool kept = growth >= layer + 1.0 || (growth > layer && uniform(word) < growth - layer);
  if (!kept || submit_us < 0 || submit_us >= length_us) return;
  uint32_t at = n_naive++;
  for (; at > 0 && naive[at - 1].submit_us > submit_us; at--) naive[at] = naive[at - 1];
  naive[at] = (struct naive_job){submit_us, job};
}

static void naive_layer(const struct hr_workload_spec *spec, const struct naive_grid *grid, uint64_t seed,
                        int64_t length_us, uint32_t layer) {
  for (uint32_t position = 0; grid->zero_us + position * grid->block_us < length_us; position++) {
    bool in_order = spec->blocks == HR_BLOCKS_NONE && layer == 0;
    int64_t block = in_order ? position : naive_block(grid, seed, position, layer);
    for (uint32_t job = 0; job < recorded.trace.n_jobs; job++) {
      if (floor_div(recorded.submit_us[job] - grid->zero_us, grid->block_us) != block) continue;
      naive_add(spec, seed, length_us, recorded.submit_us[job] + (position - block) * grid->block_us, job, position,
                layer);
    }
  }
}

static void naive_rotated(const struct hr_workload_spec *spec, uint64_t seed, int64_t length_us, uint32_t layer) {
  int64_t recorded_us = recorded.submit_us[recorded.trace.n_jobs - 1] + 1;
  uint32_t word[4];
  philox(seed, HR__PURPOSE_BLOCKS, 0, layer, 0, word);
  int64_t rotation_us = layer ? (int64_t)floor(uniform(word) * (double)recorded_us) : 0;
  for (uint32_t job = 0; job < recorded.trace.n_jobs; job++) {
    int64_t submit_us = recorded.submit_us[job] + rotation_us;
    naive_add(spec, seed, length_us, submit_us < recorded_us ? submit_us : submit_us - recorded_us, job, 0, layer);
  }
}

/* Computes the expected workload in `naive`. Returns false if there are fewer than two whole blocks of the requested
   kind. */
static bool naive_redraw(const struct hr_workload_spec *spec, uint64_t seed) {
  int64_t length_us = spec->length_us ? spec->length_us : recorded.submit_us[recorded.trace.n_jobs - 1] + 1;
  struct naive_grid grid = grid_of(spec->blocks == HR_BLOCKS_DAYS ? DAY_US : week_us);
  if (spec->blocks != HR_BLOCKS_NONE && n_whole(&grid) < 2) return false;
  if (n_whole(&grid) < 2) grid = grid_of(DAY_US);
  n_naive = 0;
  for (uint32_t layer = 0; layer < 8; layer++) {
    if (n_whole(&grid) < 2)
      naive_rotated(spec, seed, length_us, layer);
    else
      naive_layer(spec, &grid, seed, length_us, layer);
  }
  return true;
}

/* ---- Random cases ----------------------------------------------------------------------------------- */

static struct hr__stream random_stream;

static uint32_t below(uint32_t bound) {
  return hr__stream_next(&random_stream) % bound;
}

/* Draws a trace of a few hours to five weeks. If the number of jobs is odd, submit times are whole hours, so many jobs
   have equal submit times and some are submitted at midnight. */
static void random_trace(void) {
  static const uint32_t max_hours[] = {5, 60, 400, 900};
  uint32_t n_jobs = 1 + below(60), hours = max_hours[below(4)];
  int64_t gap_us = (int64_t)(1 + below(hours)) * HOUR_US / n_jobs, submit_us = 0;
  recorded_begin(&recorded);
  for (uint32_t job = 0; job < n_jobs; job++) {
    recorded_add(&recorded, submit_us);
    series[job] = below(4) ? below(MAX_SERIES) : HR_NONE;
    submit_us += (int64_t)((double)gap_us * 2 * hr__stream_uniform(&random_stream));
    if (n_jobs % 2) submit_us = submit_us / HOUR_US * HOUR_US;
  }
  recorded.trace.dated = below(2);
  recorded.trace.origin_us = ((int64_t)below(200) - 100) * HOUR_US + (below(2) ? below(1000000) : 0);
}

static struct hr_workload_spec random_spec(void) {
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  spec.blocks = (enum hr_blocks)below(HR_N_BLOCKS);
  spec.growth = below(3) ? 2.5 * hr__stream_uniform(&random_stream) : 1 + below(2);
  if (below(2)) spec.length_us = 1 + (int64_t)below(spec.blocks ? 1500 : 40) * HOUR_US / 2;
  for (uint32_t i = 0; i < MAX_SERIES * MAX_POSITIONS; i++)
    factors[i] = below(3) ? 2 * hr__stream_uniform(&random_stream) : 1;
  if (below(2)) {
    spec.factors = factors;
    spec.series = series;
    spec.n_series = MAX_SERIES;
    spec.n_positions = MAX_POSITIONS;
  }
  return spec;
}

static bool equals_naive(const struct hr_trace *drawn) {
  bool same = drawn->n_jobs == n_naive;
  for (uint32_t i = 0; same && i < n_naive; i++)
    same = drawn->submit_us[i] == naive[i].submit_us && recorded_job(drawn, i) == naive[i].job &&
           drawn->gpus[i] == recorded.gpus[naive[i].job];
  return same;
}

static void random_workloads_match_the_definitions(void) {
  uint32_t n_drawn = 0, n_few = 0, n_long = 0, n_none = 0;
  hr__stream_init(&random_stream, 11, HR__PURPOSE_SHUFFLE, 0, 0);
  for (uint64_t seed = 0; seed < 3000; seed++) {
    random_trace();
    struct hr_workload_spec spec = random_spec();
    int64_t recorded_us = recorded.submit_us[recorded.trace.n_jobs - 1] + 1;
    bool too_long = spec.blocks == HR_BLOCKS_NONE && spec.length_us > recorded_us;
    struct hr_trace *drawn = NULL;
    enum hr_status status = hr_trace_redraw(&recorded.trace, &spec, seed << 31, &drawn, NULL);
    bool drawable = !too_long && naive_redraw(&spec, seed << 31);
    CU_ASSERT_EQUAL_FATAL(status == HR_OK, drawable && n_naive > 0);
    CU_ASSERT_FATAL(status != HR_OK || equals_naive(drawn));
    n_drawn += status == HR_OK;
    n_long += too_long;
    n_few += !drawable && !too_long;
    n_none += drawable && !n_naive;
    hr_trace_destroy(drawn);
  }
  CU_ASSERT(n_drawn > 1000 && n_few > 100 && n_long > 20 && n_none > 20);
}

/* ---- Common random numbers -------------------------------------------------------------------------- */

/* Returns whether the jobs of `fewer` are a subsequence of the jobs of `more`. */
static bool is_subsequence(const struct hr_trace *fewer, const struct hr_trace *more) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < fewer->n_jobs; i++, at++) {
    while (at < more->n_jobs && (more->submit_us[at] != fewer->submit_us[i] || more->work_us[at] != fewer->work_us[i]))
      at++;
    if (at == more->n_jobs) return false;
  }
  return true;
}

static void expect_subsets(const struct hr_workload_spec *less_spec, const struct hr_workload_spec *more_spec) {
  uint32_t n_less = 0, n_more = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct hr_trace *less = redraw(&recorded.trace, less_spec, seed), *more = redraw(&recorded.trace, more_spec, seed);
    CU_ASSERT(is_subsequence(less, more));
    n_less += less->n_jobs;
    n_more += more->n_jobs;
    hr_trace_destroy(less);
    hr_trace_destroy(more);
  }
  CU_ASSERT(n_less < n_more);
}

static void a_larger_growth_keeps_the_jobs_of_a_smaller_one(void) {
  static const double growths[][2] = {{1.1, 1.25}, {0.5, 0.8}, {0.9, 2.1}, {1, 3}};
  static const double low[] = {0.5, 1, 1.5, 1}, high[] = {0.6, 1, 1.7, 1.2};
  recorded_add_days(&recorded, 15, 20);
  for (uint32_t i = 0; i < recorded.trace.n_jobs; i++) series[i] = i % 4;
  for (int blocks = 0; blocks < HR_N_BLOCKS; blocks++) {
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
      struct hr_workload_spec less = {.blocks = (enum hr_blocks)blocks, .growth = growths[i][0]};
      struct hr_workload_spec more = {.blocks = (enum hr_blocks)blocks, .growth = growths[i][1]};
      expect_subsets(&less, &more);
    }
    struct hr_workload_spec less = {.blocks = (enum hr_blocks)blocks, .growth = 1.2, .length_us = DAY_US};
    less.series = series;
    less.n_series = 4;
    less.n_positions = 1;
    struct hr_workload_spec more = less;
    less.factors = low;
    more.factors = high;
    expect_subsets(&less, &more);
  }
}

TEST_MAIN("redraw_naive", TEST(random_workloads_match_the_definitions),
          TEST(a_larger_growth_keeps_the_jobs_of_a_smaller_one))
