/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_UNKNOWN_H
#define HR_SCENARIOS_CATALOG_UNKNOWN_H

/* What is said of a name that is not there. */

#include "headroom/base.h"

/* Fails with "WHAT 'word' is unknown" and the names that come nearest, or the first of those there are. `known` may
   hold a name more than once. */
enum hr_status hr__catalog_unknown(struct hr_error *error, const char *what, const char *word,
                                   const char *const *known);

#endif
