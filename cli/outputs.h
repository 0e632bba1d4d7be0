/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OUTPUTS_H
#define HR_CLI_OUTPUTS_H

#include "headroom/base.h"

/* Whether each path (NULL: none; "-": standard output) can be written, and no two are the same: told before a long
   run, not after it. `options` are their names for the message. */
enum hr_status outputs_check(const char *const *paths, const char *const *options, size_t count,
                             struct hr_error *error);

#endif
