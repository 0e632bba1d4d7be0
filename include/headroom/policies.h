/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICIES_H
#define HEADROOM_POLICIES_H

/* The built-in policies. Also struct hr_policy_choice, which is a policy together with the values of its parameters. A
   policy can be built in or loaded from a shared object. */

#include "headroom/policy.h"
#include "headroom/router.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether the queue of a job exists and admits jobs; otherwise a run rejects the job (HR_REASON_NO_QUEUE).
   Always true for policies that need no queue. `systems`: the configuration of modelled schedulers; may be NULL. */
struct hr_systems;
HR_API bool hr_policy_has_queue(const struct hr_policy_ops *policy, const struct hr_systems *systems,
                                const struct hr_trace *jobs, hr_job job);
/* Returns all built-in policies, terminated by NULL. */
HR_API const struct hr_policy_ops *const *hr_policies(void);

/* A parameter that a setting sets, and its value. */
struct hr_policy_value {
  const char *key, *value;
};
enum { HR_MAX_SETTING_VALUES = 7 };
/* A setting is an alias: a name for a policy with certain parameters. Users can write the name of a setting instead of
   the name of a policy. If a user sets a parameter, too, the user's value overrides that of the setting. */
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
  /* if a parameter has been set that now belongs to another policy: the choice of the policy that is not in use (see
     hr_policy_choice_set). Otherwise NULL */
  struct hr_policy_choice *former;
};

/* Initializes `choice` by `name`, which is the name of a policy or of a setting. Parameters that a setting does not set
   have their default values. A name with a slash is the path of a shared object that defines a policy with HR_POLICY.
   Returns HR_BAD_INPUT for unknown names and for shared objects without a usable policy. After success, call
   hr_policy_choice_finish. */
HR_API enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error);
/* Returns whether the key can be set. */
HR_API bool hr_policy_choice_has(const struct hr_policy_choice *choice, const char *key);
/* Sets a parameter from text. Returns HR_BAD_INPUT for an unknown key or an invalid value; `error` lists the valid keys
   or values. The rules of the policy `deadline` were values of the parameter `market` of `queue`, and are still
   accepted as such. The choice then changes to the policy `deadline`, and back if `market` is set to another value. */
HR_API enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* Returns the value of parameter `index` as text. If the value is a number, the text is written to `buffer`, which has
   at least 32 bytes. Other texts are constants. */
HR_API const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer);
/* Whether the policy uses random numbers, so that its decisions depend on the seed. False for shared objects, for which
   this is unknown. */
HR_API bool hr_policy_choice_draws(const struct hr_policy_choice *choice);
/* How long the nodes of elastic pools (on-demand, spot) are paid for. */
enum hr_elastic_use {
  HR_ELASTIC_WHILE_USED, /* the policy requests a node when a job needs it, and releases idle nodes */
  HR_ELASTIC_ALWAYS,     /* all nodes that are available, for the whole run */
  HR_ELASTIC_UNKNOWN     /* a policy in a shared object decides this */
};
HR_API enum hr_elastic_use hr_policy_choice_elastic_use(const struct hr_policy_choice *choice);
/* Frees the parameter values and unloads the shared object. */
HR_API void hr_policy_choice_finish(struct hr_policy_choice *choice);

/* A router of a shared object, and a value for each of its parameters. */
struct hr_router_choice {
  const struct hr_router_ops *ops;
  struct hr_param_value *params; /* [n_params]: one value for each entry of ops->params */
  size_t n_params;
  void *library;
};

/* Initializes `choice` by the path of a shared object that defines a router with HR_ROUTER. The parameters have their
   default values. Returns HR_BAD_INPUT if the file has no usable router. Always call hr_router_choice_finish. */
HR_API enum hr_status hr_router_choice_init(struct hr_router_choice *choice, const char *path, struct hr_error *error);
/* Sets a parameter from text. Returns HR_BAD_INPUT for an unknown key or an invalid value. */
HR_API enum hr_status hr_router_choice_set(struct hr_router_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* Frees the parameter values and unloads the shared object. */
HR_API void hr_router_choice_finish(struct hr_router_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
