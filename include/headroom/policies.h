/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICIES_H
#define HEADROOM_POLICIES_H

/* The built-in policies, and the choice of a policy with its parameters. A name can also be the path of a shared
   object. */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All built-in policies, terminated by NULL. */
HR_API const struct hr_policy_ops *const *hr_policies(void);

/* A setting: a name for a policy with some parameters set. Settings are accepted wherever policy names are; explicit
   parameters override theirs. */
struct hr_policy_value {
  const char *key, *value;
};
enum { HR_MAX_SETTING_VALUES = 7 };
struct hr_policy_setting {
  const char *name, *policy;
  struct hr_policy_value values[HR_MAX_SETTING_VALUES + 1]; /* terminated by a NULL key */
};
/* All settings, terminated by a NULL name. */
HR_API const struct hr_policy_setting *hr_policy_settings(void);
/* Finds a setting; NULL if none has that key. */
HR_API const struct hr_policy_setting *hr_policy_setting_find(const char *name);

/* A policy and a value for each of its parameters. */
struct hr_policy_choice {
  const struct hr_policy_ops *ops;
  struct hr_param_value *params;
  size_t n_params;
  void *library; /* handle of the shared object that contains the policy; NULL: built in */
};

/* Initializes the choice: a policy with its defaults, or a setting. A name with a slash is the path of a shared
   object (HR_POLICY). HR_BAD_INPUT for unknown names and unsuitable objects. Call hr_policy_choice_finish after
   success. */
HR_API enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error);
/* Sets a parameter from text. HR_BAD_INPUT for an unknown key or an invalid value; the error states the valid ones. */
HR_API enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* The value of parameter `index` as text. `buffer` has at least 32 bytes and is used for numbers. */
HR_API const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer);
/* Whether the policy uses random numbers, so that its decisions depend on the seed. Unknown (false) for shared
   objects. */
HR_API bool hr_policy_choice_draws(const struct hr_policy_choice *choice);
/* Frees the values and unloads the shared object. */
HR_API void hr_policy_choice_finish(struct hr_policy_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
