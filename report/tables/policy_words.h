/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_POLICY_WORDS_H
#define HR_REPORT_TABLES_POLICY_WORDS_H

/* Describes a policy and its parameters as text, for tables. */

#include "headroom/policies.h"
#include "headroom/report.h"

/* Returns the policy and its parameters as text, such as "queue: order sjf, ...". Advanced parameters are included only
   if they differ from their defaults. The caller frees the text. Returns NULL if out of memory. */
char *hr__policy_words(const struct hr_policy_choice *choice);

#endif
