/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_LIKE_KEYS_H
#define HR_SCENARIOS_LIKE_KEYS_H

#include "scenarios/schema/keys.h"

/* The keys of a model of a workload. */
const struct hr__key *hr__like_keys(void);

#endif
