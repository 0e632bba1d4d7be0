/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_STEPS_H
#define HR_REPORT_STEPS_H

/* Sums of weights x microseconds in equal steps of the time of a run, exact, whatever order the stretches come in. */

#include "headroom/sim.h"

struct hr__steps {
  int64_t step_us, end_us;
  uint32_t n;        /* steps; the last one may be cut by the end */
  hr_amount *part;   /* [n + 1]: of stretches that cover a step in part */
  hr_amount *change; /* [n + 1]: of the weight of those that cover whole steps, against the step before */
};

/* HR_NO_MEMORY on failure; may be finished then, too. */
enum hr_status hr__steps_init(struct hr__steps *steps, int64_t step_us, int64_t end_us);
void hr__steps_finish(struct hr__steps *steps);
void hr__steps_clear(struct hr__steps *steps);
/* A weight from one time to another, cut to the run's. */
void hr__steps_add(struct hr__steps *steps, int64_t from_us, int64_t to_us, int64_t weight);
/* Turns `part` into the sums; nothing is added any more until it is cleared. */
void hr__steps_close(struct hr__steps *steps);

#endif
