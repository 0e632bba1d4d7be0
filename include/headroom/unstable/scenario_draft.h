/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SCENARIO_DRAFT_H
#define HEADROOM_UNSTABLE_SCENARIO_DRAFT_H

/* Drafts a scenario from a trace, from what is owned and from what a provider sells. The draft can be run at once. */

#include "headroom/trace.h"
#include "headroom/trace_files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to draft. All strings are borrowed. */
struct hr_draft_config {
  const char *name;                /* of the scenario */
  const struct hr_trace *trace;    /* the jobs; the whole trace must be in memory */
  const char *file;                /* path of the trace as the scenario names it */
  const char *format;              /* NULL: recognised by content */
  const struct hr_column_map *map; /* NULL: none */
  bool lenient;
  const char *const *own; /* [n_own]: nodes that exist, as NODESxGPUSxTYPE: "8x8xA100-80" */
  size_t n_own;
  const char *cloud;        /* PROVIDER or PROVIDER:REGION, whose capacity may be bought; NULL: none */
  const char *const *goals; /* [n_goals]: constraints of the plan, such as "wait_s.p95 <= 1 h"; they are not checked */
  size_t n_goals;
};

/* Drafts a scenario: owned nodes, capacity that can be bought with prices and their dates, a plan. Comments (members
   whose names begin with "//") say what was found in the trace, and what is assumed. Without owned nodes and without a
   provider, the nodes are guessed from the demand. The caller frees `*json` with free(). HR_BAD_INPUT: `error` names
   the option (own or cloud) that is wrong. */
HR_API enum hr_status hr_scenario_draft(const struct hr_draft_config *config, char **json, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
