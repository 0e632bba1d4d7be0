/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/signals.h"

#include "headroom/base.h"

#include <signal.h>

/* It is blocked while it is handled, and by then has its default effect again: it ends the program on return. */
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

void signals_tell_closed_pipes(void) {
  const struct sigaction action = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &action, NULL);
}
