/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TABLES_POLICY_WORDS_H
#define HR_REPORT_TABLES_POLICY_WORDS_H

#include "headroom/policies.h"
#include "headroom/report.h"

/* The policy with its parameters, "queue: order sjf, ...", those aside only where they are not at their default. The
   caller frees it; NULL when out of memory. */
char *hr__policy_words(const struct hr_policy_choice *choice);

#endif
