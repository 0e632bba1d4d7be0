/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROCESS_H
#define HR_CLI_PROCESS_H

#include "headroom/sim.h"

/* From now on a signal that ends the program takes the files with it that are not whole yet; it ends the program all
   the same, and one that is ignored stays ignored. */
void signals_discard_unfinished(void);

/* From now on a closed pipe does not end the program: who writes to it is told, and says so. */
void signals_tell_closed_pipes(void);

/* A progress bar on a terminal's standard error; nothing elsewhere. */

struct progress_bar {
  double next_s; /* when it may be drawn again */
  bool drawn;
};

/* What the run is given; draws nothing when `wanted` is false or standard error is no terminal. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Wipes the bar off the terminal. */
void progress_bar_stop(struct progress_bar *bar);

#endif
