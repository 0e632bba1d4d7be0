/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_FAULTS_FAULTS_H
#define HR_SIM_FAULTS_FAULTS_H

/* The random times of failures and repairs, and the losses of each pool because of failures. */

#include "base/random.h"
#include "headroom/unstable/faults.h"

/* How the life of a unit begins in the stationary state. */
struct hr__fault_start {
  bool is_down;
  int64_t rest_us;                     /* until the repair is complete, or until the first failure */
  const struct hr_fault_class *class_; /* of the repair; NULL: it is not down, or the lengths of repairs are recorded */
};

/* Draws from failure `number` of a unit, counted from 1. Each failure has separate draws, so the number of draws for
   one failure does not affect the next. `process_id` is different for each process of a run; `unit` counts within the
   process. */
struct hr__fault_draws {
  uint64_t seed;
  uint32_t process_id, unit;
};
/* Returns the time on the clock until failure `number`. `factor`: how often the unit fails, relative to others. */
int64_t hr__fault_between_us(const struct hr__fault_draws *draws, const struct hr_fault_process *process, double factor,
                             uint32_t number);
/* Returns the class of failure `number`, and stores the delays until it is detected, and from then until it is
   repaired. */
const struct hr_fault_class *hr__fault_class_draw(const struct hr__fault_draws *draws,
                                                  const struct hr_fault_process *process, uint32_t number,
                                                  int64_t *detect_us, int64_t *repair_us);
/* Returns whether the unit is down at the start of the run, and the remaining time until it is repaired or fails. The
   start of the run is a random time in an endless alternation of work and repair. */
struct hr__fault_start hr__fault_start_draw(const struct hr__fault_draws *draws, const struct hr_fault_process *process,
                                            double factor);
/* Returns how often the unit fails, relative to others: bad_factor with the probability bad_share, otherwise 1. */
double hr__fault_factor(const struct hr__fault_draws *draws, const struct hr_fault_process *process);
/* Returns the mean time of a repair over all classes, in seconds. */
double hr__fault_mean_repair_s(const struct hr_fault_process *process);

#endif
