/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_FRAGMENTS_H
#define HR_REPORT_METRICS_FRAGMENTS_H

/* What is idle and of how much use, in runs that tell GPUs apart. docs/reference/metrics.md defines each count. */

#include "base/text.h"
#include "headroom/policy.h"

struct hr__fragment_counts {
  hr__wide fragment;       /* F of all nodes, in thousandths of a GPU x hr__fragments_pods */
  uint64_t stranded_milli; /* idle on nodes whose CPU or memory keeps typical tasks out */
  uint64_t largest_gang;   /* tasks of a whole GPU each that one pool has room for */
};

/* For one run, whose cluster it asks until the run ends. */
struct hr__fragments;
/* NULL when out of memory. */
struct hr__fragments *hr__fragments_create(const struct hr_cluster *cluster);
void hr__fragments_destroy(struct hr__fragments *fragments);
uint64_t hr__fragments_pods(const struct hr__fragments *fragments);
/* Remembers which nodes an event changes. */
void hr__fragments_note(struct hr__fragments *fragments, const struct hr_event *event);
/* As the cluster is now: costs what the nodes do that changed since it was last asked. */
struct hr__fragment_counts hr__fragments_count(struct hr__fragments *fragments);

#endif
