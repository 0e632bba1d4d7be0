/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICIES_H
#define HEADROOM_POLICIES_H

/* The policies that Headroom knows, and how a person's text becomes their parameters. */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All built-in policies, ended by NULL. */
HR_API const struct hr_policy_ops *const *hr_policies(void);
/* By name; NULL with `error` naming the nearest one. */
HR_API const struct hr_policy_ops *hr_policy_find(const char *name, struct hr_error *error);

/* A name for a policy with some of its parameters set. It stands wherever a policy's name may; parameters that are
   given beside it go before its own. */
struct hr_policy_value {
  const char *key, *value;
};
enum { HR_MOST_SETTING_VALUES = 7 };
struct hr_policy_setting {
  const char *name, *policy;
  struct hr_policy_value values[HR_MOST_SETTING_VALUES + 1]; /* ended by a NULL key */
};
/* All of them, ended by a NULL name. */
HR_API const struct hr_policy_setting *hr_policy_settings(void);
/* By name; NULL: there is none. */
HR_API const struct hr_policy_setting *hr_policy_setting_find(const char *name);

/* A policy and a value for each of its parameters. */
struct hr_policy_choice {
  const struct hr_policy_ops *ops;
  struct hr_param_value *params;
  size_t n_params;
  void *library; /* that the policy is from; NULL: it is built in */
};

/* The policy with its defaults; a setting's with those and its own values. A name with a slash is the path of a shared
 * object that has one (HR_POLICY). */
HR_API enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error);
/* Sets one parameter from text; an unknown key or a bad value is an error that says what would be right. */
HR_API enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* The value as text, for printing; `buffer` of at least 32 bytes is used for numbers. */
HR_API const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer);
/* Whether it draws: what a built-in policy does then depends on the seed, even where nothing else is random. Of a
   shared object it is not known. */
HR_API bool hr_policy_choice_draws(const struct hr_policy_choice *choice);
HR_API void hr_policy_choice_finish(struct hr_policy_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
