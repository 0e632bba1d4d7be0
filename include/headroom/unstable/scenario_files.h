/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SCENARIO_FILES_H
#define HEADROOM_UNSTABLE_SCENARIO_FILES_H

/* Files that users write or edit: keys and drafts of scenarios, workload models, scenarios from the configuration of
   other schedulers, and scenarios with several clusters. */

#include "headroom/base.h"
#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "headroom/trace.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/trace_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Keys ---------------------------------------------------------------------------------------------- */

/* The keys of scenario files, as a list, as a JSON Schema and as a template. */

/* A key of a scenario. */
struct hr_scenario_key {
  char *path;      /* such as "cluster.pools.*.nodes"; "*" is any name, or any index of a list */
  char *type;      /* with bounds or choices: "whole number from 0 to 16000000" */
  char *only_with; /* the key may be used only with this choice, such as "market reserved or spot"; NULL: always */
  char *fallback;  /* the default value, or the effect if the key is absent, in words; NULL: no default and no effect */
  const char *unit;  /* NULL: no unit */
  const char *help;  /* sentences; the first sentence is understandable without the others */
  bool required;     /* its object must have the key */
  bool is_constant;  /* `fallback` is a value, not words */
  const char *newer; /* if the key is an old name: the present name of the key. NULL: the name is not old */
};

/* Lists the key at `path` ("" for all keys) and the keys below it, including the parameters of the built-in policies.
   An index of a list may be "*" or a number. The caller frees the list with hr_scenario_keys_free. Returns HR_BAD_INPUT
   if the key does not exist. */
HR_API enum hr_status hr_scenario_keys(const char *path, struct hr_scenario_key **keys, size_t *count,
                                       struct hr_error *error);
HR_API void hr_scenario_keys_free(struct hr_scenario_key *keys, size_t count);

/* Sets `*json` to the JSON Schema of scenarios. The caller frees it with free(). */
HR_API enum hr_status hr_scenario_schema(char **json, struct hr_error *error);

/* Sets `*json` to a small scenario that can be run. With `all`, the scenario also has a comment on every key: a member
   with a name that begins with "//". `trace`: path of the trace; NULL: hr_scenario_demo_trace, if it is found. The
   caller frees `*json` with free(). */
HR_API enum hr_status hr_scenario_template(const char *trace, bool all, char **json, struct hr_error *error);
/* Returns the absolute path of the trace of the shipped scenario 'demo', for first steps; NULL if it is not found. The
   caller frees it with free(). */
HR_API char *hr_scenario_demo_trace(void);

/* ---- Drafts -------------------------------------------------------------------------------------------- */

/* A draft is a scenario that is generated from a trace, from owned nodes and from the offers of a provider. It can be
   run without changes. */

/* The input of a draft. All strings are borrowed. */
struct hr_draft_config {
  const char *name;                /* name of the scenario */
  const struct hr_trace *trace;    /* the jobs; the whole trace must be in memory */
  const char *file;                /* path of the trace, as the scenario will state it */
  const char *format;              /* format of the trace; NULL: the scenario does not state it */
  const struct hr_column_map *map; /* columns of the trace; NULL: the scenario does not state them */
  bool lenient;                    /* the scenario states that invalid rows of the trace are skipped */
  const char *const *own;          /* [n_own]: owned nodes, as NODESxGPUSxTYPE: "8x8xA100-80" */
  size_t n_own;
  const char *cloud;        /* PROVIDER or PROVIDER:REGION from which capacity may be bought; NULL: none */
  const char *const *goals; /* [n_goals]: constraints of the plan, such as "wait_s.p95 <= 1 h"; they are not checked */
  size_t n_goals;
};

/* Drafts a scenario. It has the owned nodes, capacity that can be bought (with prices and their dates) and a plan.
   Comments (members with names that begin with "//") list facts about the trace and assumptions. If the
   configuration has neither owned nodes nor a provider, the nodes are estimated from the demand. The caller frees
   `*json` with free(). Returns HR_BAD_INPUT if `own` or `cloud` is invalid. */
HR_API enum hr_status hr_scenario_draft(const struct hr_draft_config *config, char **json, struct hr_error *error);

/* ---- Workload models ----------------------------------------------------------------------------------- */

/* Reading and writing of workload models: model files, and the models that are shipped with Headroom. */

/* Returns the names of the shipped models, terminated by NULL. */
HR_API const char *const *hr_workload_model_names(void);
/* hr_workload_model_shipped reads a shipped model by its name; hr_workload_model_load reads a model file
   (docs/reference/schemas/like.schema.json). The caller frees `*model` with hr_workload_model_destroy. On failure
   `*model` is NULL. Returns HR_BAD_INPUT for an invalid model; `error` names file, line and column. */
HR_API enum hr_status hr_workload_model_shipped(const char *name, struct hr_workload_model **model,
                                                struct hr_error *error);
HR_API enum hr_status hr_workload_model_load(const char *path, struct hr_workload_model **model,
                                             struct hr_error *error);
/* Returns whether a file is a workload model: a JSON object that has the key "headroom_workload". Returns false for
   pipes and other files that cannot be read twice. */
HR_API bool hr_workload_model_is_file(const char *path);
/* Writes a model to a file. hr_workload_model_load reads an equal model from this file. `path` "-" is standard
   output. */
HR_API enum hr_status hr_workload_model_write(const struct hr_workload_model *model, const char *path,
                                              struct hr_error *error);

/* ---- Scenarios from the configuration of other schedulers ---- */

/* The systems with a configuration that can be imported, terminated by NULL. */
HR_API extern const char *const hr_import_systems[];

/* Writes a scenario with the cluster and the policy of a configuration to the file `output` ("-": standard output).
   Adds a note to `notes` for each setting that is not modelled, with its place and its effect; the caller frees the
   notes with hr_notes_finish. Returns HR_BAD_INPUT if the system is unknown, or if the configuration is not valid;
   `error` then names file and line. */
HR_API enum hr_status hr_import(const char *system, const char *const *files, size_t n_files, const char *output,
                                struct hr_notes *notes, struct hr_error *error);

/* ---- Several clusters ------------------------------------------------------------------------------- */

/* The clusters of a scenario (its sections `clusters` and `router`), and tests whether replicas of services fit into
   the pools. */

/* A cluster of a scenario. */
struct hr_scenario_cluster {
  char *name;
  char **tenants; /* [n_tenants]: tenants that have this cluster as their home */
  uint32_t n_tenants;
  char **only; /* [n_only]: the cluster serves only these tenants; n_only 0: all tenants */
  uint32_t n_only;
  bool own_policy;              /* the cluster has its own policy; false: it has the policy of the scenario */
  struct hr_scenario *scenario; /* pools, policy, quotas, classes and speeds of the cluster */
};

/* The clusters of a scenario. hr_scenario.cluster has the pools of all of them, named "CLUSTER/POOL". */
struct hr_scenario_clusters {
  struct hr_scenario_cluster *at; /* [count] */
  uint32_t count;
  struct hr_job_router_spec router;
  struct hr_router_choice router_plugin; /* for a router in a shared object: the data that `router` borrows */
  struct hr_cluster_part *parts;         /* [count]: the clusters in the form of hr_clusters.at; borrows from `at` */
};

/* Writes the path of a pool in the scenario file, such as "cluster.pools.0" or "clusters.1.pools.0", and returns
   `text`. `pool`: its index in scenario->cluster. */
enum { HR_POOL_PATH_BYTES = 60 };
HR_API const char *hr_scenario_pool_path(const struct hr_scenario *scenario, uint32_t pool,
                                         char text[HR_POOL_PATH_BYTES]);
/* Must be called after a change of the pools in scenario->cluster. Copies the changed values to the pools of the
   clusters. Has no effect if the scenario has a single cluster. */
HR_API void hr_scenario_clusters_update(struct hr_scenario *scenario);

/* Sets `*fit` to true if all replicas of all services (with an autoscaler, the maximum) fit into the pools at once and
   keep their GPUs during the whole run. For this, nothing may change or limit the capacity, such as quotas, failures,
   maintenance or a horizon. The only error is HR_NO_MEMORY. hr_service_run has the same results as a run in which
   replicas are jobs if three conditions are true: `*fit` is true, the numbers of replicas are fixed, and no requests
   spill over. */
struct hr_service;
HR_API enum hr_status hr_replicas_fit(const struct hr_scenario *scenario, bool *fit, struct hr_error *error);
/* Sets `*reason` to the reason why a replica of a service does not fit into any pool with nodes; HR_REASON_NONE: it
   fits into a pool, or the service has no replicas. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_replica_refusal(const struct hr_scenario *scenario, const struct hr_service *service,
                                         enum hr_reason *reason, struct hr_error *error);

#ifdef __cplusplus
}
#endif

#endif
