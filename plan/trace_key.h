/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_TRACE_KEY_H
#define HR_PLAN_TRACE_KEY_H

/* Which trace a scenario reads, and how: scenarios with the same key share one. */

#include "headroom/scenario.h"

/* `file`: that is read, instead of the scenario's. The caller frees it; NULL when out of memory. */
char *hr__trace_key(const struct hr_scenario *scenario, const char *file);
enum hr_status hr__trace_read(const struct hr_scenario *scenario, const char *file, struct hr_trace **trace,
                              struct hr_error *error);

#endif
