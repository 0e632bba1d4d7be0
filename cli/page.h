/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_PAGE_H
#define HR_CLI_PAGE_H

/* The page of `headroom report` and of --report: what must follow a run for it, and the writing. */

#include "cli/command.h"
#include "headroom/headroom.h"

struct page_args {
  const char *report;   /* path; NULL: no page is asked for */
  const char *baseline; /* path of a summary to compare with; NULL: none */
  struct command command;
};

/* Entry of an option table; `place`: the offset of a struct page_args. */
#define REPORT_OPTION(place)                                                                                           \
  {                                                                                                                    \
    .name = "report", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, report), .value = "FILE",    \
    .help = "write a page to be looked at in a browser: one HTML file that needs no network"                           \
  }
#define BASELINE_OPTION(place)                                                                                         \
  {                                                                                                                    \
    .name = "baseline", .kind = OPTION_TEXT, .offset = (place) + offsetof(struct page_args, baseline),                 \
    .value = "FILE", .help = "the JSON summary of another run, which the page sets beside this one"                    \
  }

/* All zero at first. */
struct page {
  const struct page_args *args;
  char *baseline;
  struct hr_history *history; /* its own; NULL where it has another's */
  const struct hr_history *told;
  struct hr_page_watch *watch;
  struct hr_waits *waits;
};

/* What a page is of, beside the run that it shows. */
struct page_subject {
  const char *kind;                   /* "run", "compare", "plan", "sweep" */
  const char *title;                  /* NULL: the scenario's name */
  const char *compare, *plan, *sweep; /* JSON; NULL: it is of none */
  const struct hr_notes *notes;       /* on those; NULL: none */
};

/* Whether a page can be written, told before a long run; reads the baseline. */
enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error);
/* Adds to a replay, whose ledger keeps each job's cost, what must follow it. `history`: one that is told of the run
   anyway; NULL: the page has its own. */
enum hr_status page_follow(struct page *page, struct hr_replay *replay, const struct hr_history *history,
                           struct hr_error *error);
/* Writes the page of a replay that was run, or, it being NULL, of the subject alone. A history that is not the page's
   own is closed. */
enum hr_status page_write(struct page *page, const struct page_subject *subject, const struct hr_replay *replay,
                          const struct hr_perf *perf, struct hr_error *error);
/* Runs what `config` says for the page alone, and writes it. */
enum hr_status page_run_and_write(struct page *page, const struct page_subject *subject,
                                  const struct hr_replay_config *config, struct hr_error *error);
void page_finish(struct page *page);

#endif
