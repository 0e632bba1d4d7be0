/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_EXPERIMENT_KEYS_H
#define HR_SCENARIOS_SCHEMA_EXPERIMENT_KEYS_H

#include "scenarios/schema/keys.h"

/* As many dimensions as GSL's Sobol sequence has; levels of an axis. */
enum { HR__MOST_AXES = 40, HR__MOST_LEVELS = 10000 };

/* The keys of a suite of runs, and of the baseline that they are held against. */

const struct hr__key *hr__suite_keys(void);
const struct hr__key *hr__baseline_keys(void);

#endif
