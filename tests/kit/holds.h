/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_HOLDS_H
#define HR_TESTS_KIT_HOLDS_H

/* Observers that record why jobs wait, by groups and by individual jobs, and check that each reason is plausible. */

#include "headroom/unstable/exports.h"

enum { HOLDS_FOLDS = 3 };

struct holds {
  const struct hr_trace *trace;
  struct hr_waits *grouped, *each;
  char fault[200]; /* the first violation; empty if there is none */
};

bool holds_init(struct holds *holds, const struct hr_trace *trace);
void holds_finish(struct holds *holds);
/* Initializes `observers`, an array of HOLDS_FOLDS elements. */
void holds_observers(struct holds *holds, struct hr_observer *observers);
/* Call this after the run. Checks that the parts of a wait (one per reason) sum to its length, that the first wait of a
   job ends at the start in the result, and that the records by group and by job are equal. */
void holds_check_end(struct holds *holds, const struct hr_result *result);

#endif
