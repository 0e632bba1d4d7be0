/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_LOADER_H
#define HR_POLICIES_LOADER_H

#include "headroom/policy.h"

/* Whether a policy's name is a file's: it has a slash. */
bool hr__policy_is_path(const char *name);
/* HR_BAD_INPUT with the words for what it lacks. */
enum hr_status hr__policy_check(const struct hr_policy_ops *ops, struct hr_error *error);
/* Loads a shared object; its policy lives until it is unloaded. */
enum hr_status hr__policy_load(const char *path, void **library, const struct hr_policy_ops **ops,
                               struct hr_error *error);
void hr__policy_unload(void *library);

#endif
