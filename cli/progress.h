/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROGRESS_H
#define HR_CLI_PROGRESS_H

/* A progress bar on a terminal's standard error; nothing elsewhere. */

#include "headroom/sim.h"

struct progress_bar {
  double next_s; /* when it may be drawn again */
  bool drawn;
};

/* What the run is given; draws nothing when `wanted` is false or standard error is no terminal. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Wipes the bar off the terminal. */
void progress_bar_stop(struct progress_bar *bar);

#endif
