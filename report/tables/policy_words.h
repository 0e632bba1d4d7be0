/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_POLICY_WORDS_H
#define HR_REPORT_TABLES_POLICY_WORDS_H

/* The policy and its parameters as text, for tables. */

#include "headroom/policies.h"
#include "headroom/report.h"

/* Returns the policy with its parameters, such as "queue: order sjf, ..."; advanced parameters only if they differ from
   their defaults. To be freed by the caller; NULL if out of memory. */
char *hr__policy_words(const struct hr_policy_choice *choice);

#endif
