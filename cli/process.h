/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROCESS_H
#define HR_CLI_PROCESS_H

/* The program as a process: resources, signals, the terminal and its progress bar. */

#include "headroom/sim.h"

#include <stdio.h>

/* The number of threads to use: `asked` or, if `asked` is 0, the number of processors. */
uint32_t count_threads(uint64_t asked);
/* The time of the monotonic clock, in seconds. */
double clock_s(void);
/* Peak resident memory of the process, in MiB; 0 if unknown. */
double peak_rss_mib(void);
/* Whether to use colours on standard output. Environment variables decide. If none is set, colours are used if standard
   output is a terminal. */
bool wants_colour(void);
/* HR_STYLE_COLOUR if colours are used, combined with HR_STYLE_UNICODE if the locale is UTF-8. */
unsigned terminal_style(void);

/* After this call, a signal that ends the program also removes unfinished output files. Ignored signals remain ignored.
 */
void signals_discard_unfinished(void);

/* A progress bar on standard error if that is a terminal; otherwise nothing is drawn. */

struct progress_bar {
  double next_s; /* time of clock_s() before which the bar is not updated */
  bool drawn;
};

/* Starts the bar and returns the callback for the run. If `wanted` is false or standard error is not a terminal,
   nothing is drawn. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Erases the bar. */
static inline void progress_bar_stop(struct progress_bar *bar) {
  if (bar->drawn) fputs("\r\033[K", stderr);
}

#endif
