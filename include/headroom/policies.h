/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POLICIES_H
#define HEADROOM_POLICIES_H

/* The built-in policies, and policies and routers from shared objects, with the values of their parameters. */

#include "headroom/policy.h"
#include "headroom/router.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether the queue of a job exists and admits jobs. If not, a run rejects the job (HR_REASON_NO_QUEUE). Always
   true for policies that need no queue. `systems`: the configuration of modelled schedulers; may be NULL. */
struct hr_systems;
HR_API bool hr_policy_has_queue(const struct hr_policy_ops *policy, const struct hr_systems *systems,
                                const struct hr_trace *jobs, hr_job job);
/* Returns all built-in policies, terminated by NULL. */
HR_API const struct hr_policy_ops *const *hr_policies(void);

/* A parameter and its value as text. */
struct hr_policy_value {
  const char *key, *value;
};
enum { HR_MAX_SETTING_VALUES = 7 };
/* A setting is an alias: a name for a policy with certain values of parameters. Users can write the name of a setting
   instead of the name of a policy. A value that a user sets overrides that of the setting. */
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
  /* internal, for hr_policy_choice_set: the choice of the policy `queue` while `deadline` is in use, or of `deadline`
     while `queue` is in use. NULL until a parameter is set that changes between these policies */
  struct hr_policy_choice *former;
};

/* Initializes `choice` by `name`, which is the name of a policy or of a setting. Parameters that a setting does not set
   have their default values. A name with a slash is the path of a shared object that defines a policy with HR_POLICY.
   Returns HR_BAD_INPUT for unknown names and for shared objects without a usable policy. Call hr_policy_choice_finish
   afterwards, even on failure. */
HR_API enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error);
/* Returns whether hr_policy_choice_set accepts the key. */
HR_API bool hr_policy_choice_has(const struct hr_policy_choice *choice, const char *key);
/* Sets a parameter from text. Returns HR_BAD_INPUT for an unknown key or an invalid value; `error` lists the valid keys
   or values.

   In former versions, the rules of the policy `deadline` were values of the parameter `market` of `queue`. They are
   still accepted: if `market` of `queue` is set to such a rule, the choice changes to the policy `deadline`. If
   `market` is then set to another value, the choice changes back to `queue`. */
HR_API enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* Returns the value of the parameter with the index `index` as text. If the value is a number, the text is written to
   `buffer`, which has at least 32 bytes. Other texts are constants. */
HR_API const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer);
/* Returns whether the policy uses random numbers: its decisions then depend on the seed. Always false for shared
   objects, for which this is unknown. */
HR_API bool hr_policy_choice_draws(const struct hr_policy_choice *choice);
/* How long the nodes of elastic pools (on-demand, spot) are paid for. */
enum hr_elastic_use {
  HR_ELASTIC_WHILE_USED, /* the policy requests a node when a job needs it, and releases idle nodes */
  HR_ELASTIC_ALWAYS,     /* all available nodes are paid for during the whole run */
  HR_ELASTIC_UNKNOWN     /* a policy in a shared object decides this */
};
/* Returns how long the policy pays for the nodes of elastic pools, if the cluster has no autoscaler. */
HR_API enum hr_elastic_use hr_policy_choice_elastic_use(const struct hr_policy_choice *choice);
/* Frees the parameter values and unloads the shared object. */
HR_API void hr_policy_choice_finish(struct hr_policy_choice *choice);

/* A router of a shared object, and a value for each of its parameters. */
struct hr_router_choice {
  const struct hr_router_ops *ops;
  struct hr_param_value *params; /* [n_params]: one value for each entry of ops->params */
  size_t n_params;
  void *library; /* handle of the shared object */
};

/* Initializes `choice` by the path of a shared object that defines a router with HR_ROUTER. The parameters have their
   default values. Returns HR_BAD_INPUT if the file has no usable router. Call hr_router_choice_finish afterwards, even
   on failure. */
HR_API enum hr_status hr_router_choice_init(struct hr_router_choice *choice, const char *path, struct hr_error *error);
/* Sets a parameter from text. Returns HR_BAD_INPUT for an unknown key or an invalid value; `error` lists the valid keys
   or values. */
HR_API enum hr_status hr_router_choice_set(struct hr_router_choice *choice, const char *key, const char *text,
                                           struct hr_error *error);
/* Frees the parameter values and unloads the shared object. */
HR_API void hr_router_choice_finish(struct hr_router_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
