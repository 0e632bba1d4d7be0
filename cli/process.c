/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "cli/process.h"

#include "cli/cli.h"
#include "headroom/base.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

/* The signal is blocked in its handler and has been reset to its default action, so the program ends on return. */
static void end(int number) {
  hr_discard_unfinished();
  raise(number);
}

void signals_discard_unfinished(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};
  struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND}, old;
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
}

void signals_report_closed_pipes(void) {
  const struct sigaction action = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &action, NULL);
}

/* Seconds between two updates of the bar. */
static const double interval_s = 0.1;

static void draw(void *self, uint64_t done, uint64_t total, int64_t now_us) {
  (void)now_us;
  enum { WIDTH = 40 };
  static const char full[] = "########################################",
                    none[] = "........................................";
  struct progress_bar *bar = self;
  double at_s = clock_s();
  if (at_s < bar->next_s || total == 0) return;
  bar->next_s = at_s + interval_s;
  bar->drawn = true;
  int filled = (int)(done * WIDTH / total);
  fprintf(stderr, "\r[%.*s%.*s] %3d %%  %" PRIu64 " of %" PRIu64 " jobs", filled, full, WIDTH - filled, none,
          (int)(done * 100 / total), done, total);
  fflush(stderr);
}

struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted) {
  /* A run shorter than the first interval shows no bar. */
  *bar = (struct progress_bar){.next_s = clock_s() + interval_s};
  return (struct hr_progress){.self = bar, .report = wanted && isatty(STDERR_FILENO) ? draw : NULL};
}

void progress_bar_stop(struct progress_bar *bar) {
  if (bar->drawn) fputs("\r\033[K", stderr);
}
