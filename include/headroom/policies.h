/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICIES_H
#define HEADROOM_POLICIES_H

/* The built-in policies, and the choice of a policy with its parameters. A policy can also be loaded from a shared
   object. */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns all built-in policies, terminated by NULL. */
HR_API const struct hr_policy_ops *const *hr_policies(void);

/* A parameter of a setting. */
struct hr_policy_value {
  const char *key, *value;
};
enum { HR_MAX_SETTING_VALUES = 7 };
/* A setting is a name for a policy with some parameters set. Users can write the name of a setting instead of the name
   of a policy. Parameters that users set override those of the setting. */
struct hr_policy_setting {
  const char *name, *policy;
  struct hr_policy_value values[HR_MAX_SETTING_VALUES + 1]; /* terminated by a NULL key */
};
/* Returns all settings, terminated by a NULL name. */
HR_API const struct hr_policy_setting *hr_policy_settings(void);
/* Finds a setting by name. Returns NULL if no setting has the name. */
HR_API const struct hr_policy_setting *hr_policy_setting_find(const char *name);

/* A policy and a value for each of its parameters. */
struct hr_policy_choice {
  const struct hr_policy_ops *ops;
  struct hr_param_value *params; /* [n_params]: one value for each entry of ops->params */
  size_t n_params;
  void *library; /* handle of the shared object that contains the policy; NULL: built in */
};

/* Initializes `choice` with the policy and the default parameters, or with the setting, that has the name `name`. A
   name with a slash is the path of a shared object that defines a policy with HR_POLICY. Returns HR_BAD_INPUT for
   unknown names and for shared objects without a usable policy. After success, call hr_policy_choice_finish. */
HR_API enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error);
/* Sets a parameter from text. Returns HR_BAD_INPUT for an unknown key or an invalid value; the error lists the valid
   ones. */
HR_API enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* Returns the value of parameter `index` as text. `buffer` has at least 32 bytes and is used for numbers; other texts
   are constants. */
HR_API const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer);
/* Whether the policy uses random numbers, so that its decisions depend on the seed. False for shared objects, for which
   this is unknown. */
HR_API bool hr_policy_choice_draws(const struct hr_policy_choice *choice);
/* Frees the parameter values and unloads the shared object. */
HR_API void hr_policy_choice_finish(struct hr_policy_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
