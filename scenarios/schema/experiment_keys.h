/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_EXPERIMENT_KEYS_H
#define HR_SCENARIOS_SCHEMA_EXPERIMENT_KEYS_H

#include "scenarios/schema/keys.h"

/* The keys of a suite of runs, and of the baseline that they are held against. */

const struct hr__key *hr__suite_keys(void);
const struct hr__key *hr__baseline_keys(void);

#endif
