/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SPEED_FIGURES_H
#define HR_SCENARIOS_SPEED_FIGURES_H

/* Figures of how fast models are on GPU types, as the scenario or a file has them. */

#include "headroom/base.h"
#include "sim/names.h"

struct hr__speed_figure {
  const char *model, *gpu; /* interned */
  uint32_t gpus;           /* of the job that was measured */
  double figure;           /* 0: does not run */
  bool is_throughput;      /* of no meaning unless there is one of the reference type too */
  size_t line, column;     /* in the file; 0: in the scenario, or a whole row of a table */
};

struct hr__speed_figures {
  struct hr__speed_figure *at;
  size_t count, capacity;
  struct hr__names texts;
  const char *path; /* of the file; NULL: none */
};

/* The largest figure that is read, and the largest speed that comes of it. */
#define HR__MOST_SPEED_FIGURE 1e9
#define HR__MOST_SPEED 4000.0

/* HR_NO_MEMORY is the only failure. */
enum hr_status hr__speed_figures_add(struct hr__speed_figures *figures, const char *model, const char *gpu,
                                     struct hr__speed_figure figure);
void hr__speed_figures_finish(struct hr__speed_figures *figures);

/* A file: a CSV table model,gpu,speed or model,gpu,throughput, or measured throughputs in Gavel's JSON where the name
   ends in ".json". Errors name line and column. */
enum hr_status hr__speed_figures_read(struct hr__speed_figures *figures, const char *path, struct hr_error *error);

#endif
