/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_FILL_SETUP_H
#define HR_TESTS_PLAN_FILL_SETUP_H

/* Fill experiments with one pool 'p' and a trace of requests without times. */

#include "headroom/unstable/planning.h"

struct fill_setup {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  const struct hr_packing_rule *rule;
  struct hr_fill_config config; /* two seeds, one thread, up to 1.3 times the capacity */
};

/* Makes an experiment. `rows`: one line per job with its GPUs ("2", "0.5") and, if it has several tasks, their number
   ("6,3"). `rule` NULL: all rules. */
void fill_setup_make(struct fill_setup *setup, unsigned nodes, unsigned gpus_per_node, const char *rows,
                     const char *rule);
void fill_setup_finish(struct fill_setup *setup);

#endif
