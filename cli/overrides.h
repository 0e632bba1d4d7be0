/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OVERRIDES_H
#define HR_CLI_OVERRIDES_H

/* What options change in a scenario: texts "path=value", as if the user had written --set. */

#include "cli/options.h"
#include "headroom/scenario.h"

struct overrides {
  struct words words;
  char **owned; /* texts made here */
  size_t n_owned;
};

/* "PATH=VALUE" of the two; both are copied. */
enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error);
/* A policy as --policy takes it, NAME[:KEY=VALUE,...], checked; errors name `option`. */
enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error);
void overrides_finish(struct overrides *overrides);

#endif
