/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_INTERVAL_JSON_H
#define HR_PLAN_INTERVAL_JSON_H

#include "plan/intervals.h"
#include "report/json_tree.h"

/* mean, low, high, median, sd, interval. */
void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval);

#endif
