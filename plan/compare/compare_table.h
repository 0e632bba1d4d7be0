/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_COMPARE_COMPARE_TABLE_H
#define HR_PLAN_COMPARE_COMPARE_TABLE_H

/* Figures as text for a person. Each returns `buffer`, of HR__FIGURE_BYTES. */

#include "plan/compare/compare.h"

enum { HR__FIGURE_BYTES = 64 };

/* "-" for what cannot be told. */
const char *hr__figure_text(enum hr__unit unit, double value, char *buffer);
/* With its sign; "=" for none. */
const char *hr__difference_text(enum hr__unit unit, double difference, char *buffer);
/* Half of an interval's width, behind a plus-minus sign. */
const char *hr__margin_text(enum hr__unit unit, const struct hr_estimate *estimate, char *buffer);

#endif
