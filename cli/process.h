/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROCESS_H
#define HR_CLI_PROCESS_H

/* The program as a process: resources, signals, the terminal and its progress bar. */

#include "headroom/sim.h"

#include <stdio.h>

/* The number of threads to use: `asked`, or the number of processors if `asked` is 0. */
uint32_t count_threads(uint64_t asked);
/* Seconds of the monotonic clock. */
double clock_s(void);
/* Peak resident memory of the process, in MiB; 0 if unknown. */
double peak_rss_mib(void);
/* Whether to use colours on standard output: it is a terminal, or the environment says so. */
bool wants_colour(void);
/* HR_STYLE_COLOUR if colours are used, HR_STYLE_UNICODE if the locale is UTF-8. */
unsigned terminal_style(void);

/* From now on a signal that ends the program also removes unfinished output files. Ignored signals stay ignored. */
void signals_discard_unfinished(void);

/* A progress bar on a terminal's standard error; nothing elsewhere. */

struct progress_bar {
  double next_s; /* earliest time of the next update */
  bool drawn;
};

/* Starts the bar and returns the callback for the run. Draws nothing if `wanted` is false or standard error is not a
   terminal. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Erases the bar. */
static inline void progress_bar_stop(struct progress_bar *bar) {
  if (bar->drawn) fputs("\r\033[K", stderr);
}

#endif
