/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_WORKLOAD_H
#define HEADROOM_WORKLOAD_H

/*
 * Workloads drawn from a recorded trace: other weeks that could have been, and growth. docs/workload.md defines them.
 *
 * The clock stays the trace's: time 0 is its first submit. Blocks are whole days (86,400 s) or weeks. They are cut from
 * the first submit; where the trace is `dated`, at midnights of the clock that wrote it (UTC where its dates have
 * zones), weeks from the midnight of its first whole day on. A block is whole where the trace lacks no more than an
 * hour of it: first and last submits come a little within the time that was recorded.
 *
 * The drawn workload is cut likewise into positions 0, 1, ..., each of which is filled with one whole block, drawn
 * uniformly with replacement. What of a position lies before time 0 (of a dated trace that does not begin at midnight)
 * or not before the workload's end is left out. Days keep their weekday where the trace has 14 whole ones: a position
 * takes a day whose number is its own modulo 7.
 *
 * Source: the block bootstrap (Kuensch, Ann. Stat. 17, 1989), with blocks of whole seasonal periods (Politis 2001;
 * Chan, Lahiri and Meeker, Technometrics 46, 2004); thinning (Lewis and Shedler 1979).
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BLOCKS_TABLE(X)                                                                                             \
  X(HR_BLOCKS_NONE, "none")                                                                                            \
  X(HR_BLOCKS_DAYS, "days")                                                                                            \
  X(HR_BLOCKS_WEEKS, "weeks")

/* What is drawn. HR_BLOCKS_NONE: the trace stays in its order. */
enum hr_blocks {
#define HR_BLOCKS_NAME(name, text) name,
  HR_BLOCKS_TABLE(HR_BLOCKS_NAME)
#undef HR_BLOCKS_NAME
      HR_N_BLOCKS
};
HR_API const char *hr_blocks_name(enum hr_blocks blocks);

/* The most that growth times a factor may be. */
#define HR_MAX_GROWTH 1000

struct hr_workload_spec {
  enum hr_blocks blocks;
  double growth;     /* demand for that of the trace, above 0; 1: as recorded */
  int64_t length_us; /* of the drawn workload, whose jobs come before it; 0: that of the trace, its last job included.
                        Without blocks not longer than the trace. */
  /* Growth by series and position: factors[series * n_positions + position], each at least 0, multiplied with
     `growth`. NULL: 1. Borrowed. */
  const uint32_t *series; /* [n_jobs of the trace] which series a job is of, HR_NONE: none, its factor is 1. NULL: all
                             jobs are of series 0 */
  const double *factors;
  uint32_t n_series, n_positions; /* of `factors`; there may be more positions than the workload has, not fewer */
};
/* No blocks, growth 1, the trace's length, no factors: the trace as it is. */
HR_API void hr_workload_spec_init(struct hr_workload_spec *spec);

/* How a trace and the workload drawn from it are cut. Block b, like position b, is from start_us + b * block_us to
   block_us later. */
struct hr_workload_cut {
  int64_t start_us; /* at most 0 */
  int64_t block_us;
  int64_t length_us;             /* of the workload */
  uint32_t n_positions;          /* that the workload has, the first and the last perhaps in part */
  uint32_t first_whole, n_whole; /* the trace's whole blocks */
  bool keeps_weekdays;
};
/* Without blocks the cut is what further layers of growth are drawn from (and what positions of factors are): weeks
   where the trace has two whole ones, else days, else, of n_whole 1, the trace as one block. HR_BAD_INPUT, with what
   would do, where a trace has fewer than two whole blocks of the kind wanted, or the length is out of range. */
HR_API enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_workload_cut *cut, struct hr_error *error);

/*
 * Draws a workload. A growth g of a job at a position (`growth` times its factor) is made of layers: layer 0, 1, ... is
 * there whole where g is that much and 1 more, thinned to what g is above it otherwise: each job is kept with that
 * probability by itself. Each layer draws its own blocks; without blocks layer 0 is the trace in its order, and further
 * ones of a trace that is too short for blocks are turns of it, by a drawn time modulo its length.
 *
 * Jobs keep everything but their submit, with which their deadlines move, and their ids: they are numbered from 1 in
 * order of (submit, layer, place in the trace). A block's draw depends on (seed, position, layer) alone, a job's fate
 * on (seed, job, position, layer) alone: under one seed the jobs of a smaller growth are among those of a larger one.
 *
 * `*drawn` is to be destroyed, and borrows the names of `trace` (tenants, models, source, ...), which must outlive it.
 * Notes and skipped rows are told by `trace` alone. A workload without any job is an error. NULL on failure.
 */
HR_API enum hr_status hr_trace_redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                                      struct hr_trace **drawn, struct hr_error *error);

/* Draws a workload of `count` jobs, at least 1: the first ones of a workload that is long enough, whatever the length
   of `spec`, which has blocks and no factors. A larger count begins with the same jobs. HR_BAD_INPUT also if so many
   jobs would take longer than a workload can be. */
HR_API enum hr_status hr_trace_redraw_count(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                            uint64_t seed, uint32_t count, struct hr_trace **drawn,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
