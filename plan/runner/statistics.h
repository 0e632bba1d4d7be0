/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_STATISTICS_H
#define HR_PLAN_RUNNER_STATISTICS_H

#include "headroom/unstable/compare.h"

/* Figures of one policy and of the first, by replication. Not `exact`: something is random, and one replication tells
   nothing of how much. */
struct hr_estimate hr__estimate_paired(const double *first, const double *other, uint32_t count, bool exact);

/* Their mean, and half the width of its 95 % interval by Student's t; NaN of one value, which tells nothing of it. */
struct hr__mean {
  double value, margin;
};
struct hr__mean hr__mean_of(const double *values, uint32_t count);

/* How probable it is that means differ as much as these do, or more, where nothing but chance makes them: of pairs that
   have their random events in common (Student's t), and of samples that have nothing in common (Welch's). NaN where one
   of them has fewer than two values. */
double hr__chance_of_pairs(const double *first, const double *other, uint32_t count);
double hr__chance_of_samples(const double *first, uint32_t n_first, const double *other, uint32_t n_other);

/* The largest of these probabilities at which a difference is to be believed, so that of all that are believed no more
   than `false_share` are chance, on average; of n_tests, the others' were not small. -1: none is. Sorts them. */
double hr__believed_up_to(double *chances, size_t count, size_t n_tests, double false_share);

#endif
