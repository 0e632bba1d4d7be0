/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_PAGE_H
#define HEADROOM_PAGE_H

/*
 * A run as a page to be looked at: one HTML file that needs no network, in which a template made at build time draws
 * what the run's document says. docs/reference/report-data.md has all that is in the document.
 *
 * A page that shows a run is made of what followed it: a history, and a watch beside it.
 */

#include "headroom/history.h"
#include "headroom/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps waiting and running jobs, GPUs and what spot pools offer over time, in a bounded number of buckets that lose no
 * peak. */
struct hr_page_watch;
/* NULL when out of memory. All must outlive it. `usage`, which is to be told of the run before it, knows of fragments;
   NULL: nobody does. */
HR_API struct hr_page_watch *hr_page_watch_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                  const struct hr_usage *usage);
HR_API void hr_page_watch_destroy(struct hr_page_watch *watch);
/* To be given to a run, once. */
HR_API struct hr_fold hr_page_watch_fold(struct hr_page_watch *watch);

/* The run that a page shows in depth; all borrowed, the history and the ledger closed. */
struct hr_page_run {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history;
  struct hr_page_watch *watch;
  const struct hr_ledger *ledger; /* with each job's cost; NULL: nothing has a price */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
  const struct hr_perf *perf;
};

struct hr_page {
  const char *kind;                    /* "run", "compare", "sweep", "plan" */
  const char *title;                   /* for a person */
  const char *command;                 /* what makes the page again */
  const struct hr_page_run *run;       /* NULL: none is shown */
  const char *compare, *sweep, *plan;  /* documents of other kinds, as JSON; NULL: the page is of none */
  const char *why;                     /* likewise: why the jobs of `run` waited (hr_why_json) */
  const char *workload;                /* likewise: what is in its trace (hr_trace_stats_json) */
  const char *baseline;                /* likewise: the summary of a run to set beside this one */
  const char *baseline_name;           /* what a person calls it */
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_notes *assumptions; /* NULL: none */
  const char *template_html;          /* in the place of the template that was built in; NULL: that one */
};

/* Whether a template was built in. */
HR_API bool hr_page_is_built(void);
/* Writes the page, whole or not at all; `path` "-" is standard output. HR_BAD_INPUT where there is no template, or the
   one that is given lacks the place for the document. */
HR_API enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
