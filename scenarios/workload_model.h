/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_WORKLOAD_MODEL_H
#define HR_SCENARIOS_WORKLOAD_MODEL_H

#include "scenarios/keys.h"

/* The keys of a workload model's file, ended by a NULL path. */
const struct hr__key *hr__workload_model_keys(void);

#endif
