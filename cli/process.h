/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROCESS_H
#define HR_CLI_PROCESS_H

/* Signals and the progress bar. */

#include "headroom/sim.h"

/* From now on a signal that ends the program also removes unfinished output files. Ignored signals stay ignored. */
void signals_discard_unfinished(void);

/* From now on a closed pipe does not end the program: the write fails and is reported. */
void signals_report_closed_pipes(void);

/* A progress bar on a terminal's standard error; nothing elsewhere. */

struct progress_bar {
  double next_s; /* earliest time of the next update */
  bool drawn;
};

/* Starts the bar and returns the callback for the run. Draws nothing if `wanted` is false or standard error is not a
   terminal. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Erases the bar. */
void progress_bar_stop(struct progress_bar *bar);

#endif
