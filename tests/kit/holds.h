/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_HOLDS_H
#define HR_TESTS_KIT_HOLDS_H

/* Follows a run and asks why jobs wait: by groups, job by job, and whether what is said can be true. */

#include "headroom/unstable/why.h"

enum { HOLDS_FOLDS = 3 };

struct holds {
  const struct hr_trace *trace;
  struct hr_waits *grouped, *each;
  char fault[200]; /* the first thing that does not hold; empty: none */
};

bool holds_init(struct holds *holds, const struct hr_trace *trace);
void holds_finish(struct holds *holds);
/* [HOLDS_FOLDS] */
void holds_observers(struct holds *holds, struct hr_observer *observers);
/* After the run: parts sum to waits, waits equal those of the result, and groups agree with single jobs. */
void holds_check_end(struct holds *holds, const struct hr_result *result);

#endif
