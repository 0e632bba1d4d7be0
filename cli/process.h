/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PROCESS_H
#define HR_CLI_PROCESS_H

/* The program as a process: resources, signals, the terminal and its progress bar. */

#include "headroom/sim.h"
#include "headroom/unstable/ranks.h"

#include <stdio.h>

/* The number of threads to use: `asked` or, if `asked` is 0, the number of processors. */
uint32_t count_threads(uint64_t asked);
/* The number of threads of a verb whose runs are shared by the ranks of an MPI job. A job usually has one rank per
   processor, so the default is 1 if a launcher started this process. */
uint32_t count_rank_threads(uint64_t asked);
/* Joins the ranks of the MPI job in which this process is, if any, and checks that all of them have the same command.
   The caller must call hr_ranks_leave, even after an error. */
enum hr_status ranks_start(struct hr_ranks *ranks, int n_words, char *const *words, struct hr_error *error);
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
/* Names the plug-in policy that crashes, or that does not return within some seconds of CPU time: the value of the
   environment variable HEADROOM_POLICY_LIMIT_S, default 60. */
void signals_guard_policies(void);

/* A progress bar on standard error if that is a terminal; otherwise nothing is drawn. It shows the share that is done,
   the numbers of jobs or runs, and the remaining time at the mean speed so far. */

/* The unit that a bar counts. The callback counts jobs or runs. */
struct progress_unit {
  uint64_t jobs_per_run; /* if there are several runs: count runs, of this many units of the callback. 0: count jobs */
  bool grows;            /* the number of runs is not known in advance: it grows while a search requests more */
};

struct progress_bar {
  double begin_s; /* time of clock_s() at the start */
  double next_s;  /* time of clock_s() before which the bar is not updated */
  struct progress_unit unit;
  bool drawn;
};

/* Starts a bar that counts jobs, and returns the callback for the run. If `wanted` is false or standard error is not a
   terminal, nothing is drawn. */
struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted);
/* Sets what a bar counts. Must be called after its start. */
static inline void progress_bar_count(struct progress_bar *bar, uint64_t jobs_per_run, bool grows) {
  bar->unit = (struct progress_unit){jobs_per_run, grows};
}
/* Erases the bar. */
static inline void progress_bar_stop(struct progress_bar *bar) {
  if (bar->drawn) fputs("\r\033[K", stderr);
}

#endif
