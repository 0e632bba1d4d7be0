/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_SUMMARY_TABLE_H
#define HR_REPORT_SUMMARY_TABLE_H

/* Parts of the table of a run, for those that have no more of it. */

#include "headroom/report.h"
#include "report/console.h"

/* What was run, with the cluster's GPUs and nodes; jobs; the run as a whole (`course` may be NULL); how long jobs took;
   what it cost and what became of jobs that could be stopped, if anything; how fast it was. */
void hr__put_run_head(struct hr__console *table, const struct hr_summary *summary, const struct hr_run_label *label);
void hr__put_run_jobs(struct hr__console *table, const struct hr_summary *summary, const struct hr_run_label *label);
void hr__put_run_totals(struct hr__console *table, const struct hr_summary *summary, const struct hr_course *course);
void hr__put_run_distributions(struct hr__console *table, const struct hr_summary *summary);
void hr__put_run_costs(struct hr__console *table, const struct hr_summary *summary);
void hr__put_run_foot(struct hr__console *table, const struct hr_summary *summary, const struct hr_perf *perf);

#endif
