/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program as a process: signals, numbers of threads, MPI ranks, clock, memory, colours, progress bar. */

#include "cli/cli.h"

#include "headroom/report.h"
#include "headroom/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- Signals ---------------------------------------------------------------------------------------- */

/* Handles a signal that ends the program. The signal is blocked in the handler and already has its default action
   again, so raise() ends the program when the handler returns. */
static void end(int number) {
  hr_discard_unfinished();
  raise(number);
}

void signals_discard_unfinished(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU};
  struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND}, old;
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
  /* a write beyond the limit of the file size then fails with EFBIG, which is reported as any other failed write */
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  sigaction(SIGXFSZ, &ignored, NULL);
}

void signals_guard_policies(void) {
  enum { DEFAULT_S = 60 };
  const char *text = getenv("HEADROOM_POLICY_LIMIT_S");
  long limit_s = text ? strtol(text, NULL, 10) : DEFAULT_S;
  hr_policy_guard_install(limit_s < 1 || limit_s > 1000000 ? DEFAULT_S : (unsigned)limit_s);
}

/* ---- Machine and terminal --------------------------------------------------------------------------- */

uint32_t count_threads(uint64_t asked) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (asked) return (uint32_t)asked;
  return processors < 1 ? 1 : processors > HR_MAX_THREADS ? HR_MAX_THREADS : (uint32_t)processors;
}

uint32_t count_rank_threads(uint64_t asked) {
  return asked == 0 && hr_ranks_launched() ? 1 : count_threads(asked);
}

/* Returns a digest of the words of a command after the first (FNV-1a). */
static uint64_t digest_of_words(int n_words, char *const *words) {
  uint64_t digest = UINT64_C(14695981039346656037);
  for (int i = 1; i < n_words; i++)
    for (const char *at = words[i];; at++) {
      digest = (digest ^ (unsigned char)*at) * UINT64_C(1099511628211);
      if (!*at) break;
    }
  return digest;
}

enum hr_status ranks_start(struct hr_ranks *ranks, int n_words, char *const *words, struct hr_error *error) {
  return hr_ranks_join(ranks, digest_of_words(n_words, words), error);
}

double clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double peak_rss_mib(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : 0;
}

/* Returns the value of an environment variable; "" if it is not set. */
static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static bool is_dumb_terminal(void) {
  return strcmp(environment("TERM"), "dumb") == 0;
}

/* NO_COLOR disables colours (https://no-color.org), and CLICOLOR_FORCE enables them (https://bixense.com/clicolors). */
bool wants_colour(void) {
  const char *force = environment("CLICOLOR_FORCE");
  if (environment("NO_COLOR")[0]) return false;
  if (force[0] && strcmp(force, "0") != 0) return true;
  return isatty(STDOUT_FILENO) && environment("TERM")[0] && !is_dumb_terminal();
}

/* Returns true if the locale is UTF-8. The first of LC_ALL, LC_CTYPE and LANG that is set determines the locale (POSIX,
   "Environment Variables"). */
static bool has_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *locale = environment(names[i]), *encoding = strchr(locale, '.');
    if (!locale[0]) continue;
    return encoding && (strncasecmp(encoding, ".UTF-8", 6) == 0 || strncasecmp(encoding, ".UTF8", 5) == 0);
  }
  return false;
}

unsigned terminal_style(void) {
  return (wants_colour() ? HR_STYLE_COLOUR : 0U) | (has_utf8() && !is_dumb_terminal() ? HR_STYLE_UNICODE : 0U);
}

/* ---- Progress bar ----------------------------------------------------------------------------------- */

/* interval_s: minimum time between two updates of the bar. settled_s: the remaining time is shown after this time. */
static const double interval_s = 0.1, settled_s = 1;

/* Writes the remaining time, such as ", 2 min 5 s left"; nothing in the first second, or if nothing is done yet. If
   `total` grows, this is a lower bound: ", at least 2 min 5 s". */
static void write_remaining(FILE *out, double elapsed_s, uint64_t done, uint64_t total, bool grows) {
  if (elapsed_s < settled_s || done == 0) return;
  double left_s = ceil(elapsed_s * (double)(total - done) / (double)done);
  uint64_t left = left_s < 1e9 ? (uint64_t)left_s : UINT64_C(1000000000);
  fputs(grows ? ", at least " : ", ", out);
  if (left >= 3600)
    fprintf(out, "%" PRIu64 " h %" PRIu64 " min", left / 3600, left / 60 % 60);
  else if (left >= 60)
    fprintf(out, "%" PRIu64 " min %" PRIu64 " s", left / 60, left % 60);
  else
    fprintf(out, "%" PRIu64 " s", left);
  if (!grows) fputs(" left", out);
}

/* Writes "12 of 40 runs, 1 min 20 s left". If the number of runs grows: "12 runs, 28 requested, at least ...". */
static void write_counts(FILE *out, const struct progress_bar *bar, double elapsed_s, uint64_t done, uint64_t total) {
  uint64_t jobs = bar->unit.jobs_per_run;
  uint64_t runs = jobs ? (total + jobs - 1) / jobs : 0;
  if (runs > 1 && bar->unit.grows)
    fprintf(out, "%" PRIu64 " runs, %" PRIu64 " requested", done / jobs, runs - done / jobs);
  else if (runs > 1)
    fprintf(out, "%" PRIu64 " of %" PRIu64 " runs", done / jobs, runs);
  else
    fprintf(out, "%" PRIu64 " of %" PRIu64 " jobs", done, total);
  write_remaining(out, elapsed_s, done, total, runs > 1 && bar->unit.grows);
}

static void draw(void *self, uint64_t done, uint64_t total, int64_t now_us) {
  (void)now_us;
  enum { WIDTH = 24 };
  static const char full[] = "########################", none[] = "........................";
  struct progress_bar *bar = self;
  double at_s = clock_s();
  if (at_s < bar->next_s || total == 0 || done > total) return;
  bar->next_s = at_s + interval_s;
  bar->drawn = true;
  int filled = (int)(done * WIDTH / total);
  fprintf(stderr, "\r[%.*s%.*s] %3d %%  ", filled, full, WIDTH - filled, none, (int)(done * 100 / total));
  write_counts(stderr, bar, at_s - bar->begin_s, done, total);
  fputs("\033[K", stderr);
  fflush(stderr);
}

struct hr_progress progress_bar_start(struct progress_bar *bar, bool wanted) {
  /* The first update is after one interval, so a shorter run shows no bar. */
  double begin_s = clock_s();
  *bar = (struct progress_bar){.begin_s = begin_s, .next_s = begin_s + interval_s};
  return (struct hr_progress){.self = bar, .report = wanted && isatty(STDERR_FILENO) ? draw : NULL};
}
