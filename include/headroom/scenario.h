/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SCENARIO_H
#define HEADROOM_SCENARIO_H

/* Scenarios: JSON files that describe a trace, a cluster, a policy, and what to evaluate. hr_scenario_load reads and
   validates a scenario. The scenario does not change afterwards, except by hr_scenario_stress
   (headroom/unstable/experiments.h). */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/trace_files.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_catalog;
struct hr_ownership;
struct hr_plan_spec;
struct hr_tco_spec;

/* A string of a scenario that is parsed later. `place` is its position for error messages, such as "mix.json:12:5: ".
   Both strings are from malloc. */
struct hr_placed_text {
  char *text, *place;
};

/* ---- Replications ---- */

/* Limits on the number of replications and of threads. */
#define HR_MAX_REPLICATIONS 10000
#define HR_MAX_THREADS 1024

/* How many replications of a scenario are run. At most one of `count` and `metric` is specified. */
struct hr_replication_spec {
  uint32_t count; /* number of replications; 0: not specified */
  /* replications are added until this metric has a precision, such as "wait_s.p95 of inference"; its text is NULL if it
     is not specified */
  struct hr_placed_text metric;
  /* with `metric`, the precision: maximum of (half width of its confidence interval) / (value of the metric) */
  double relative;
  uint32_t min, max; /* with `metric`: minimum and maximum number of replications */
  double confidence; /* confidence level of all intervals, below 1 */
  /* how each replication draws its workload from the trace. With HR_BLOCKS_NONE and a growth of 1, all replications use
     the trace as recorded. `factors` is NULL */
  struct hr_workload_spec workload;
};
enum { HR_DEFAULT_MIN_REPLICATIONS = 10, HR_DEFAULT_MAX_REPLICATIONS = 200 }; /* defaults of `min` and `max` */

/* ---- Scenarios ---- */

/* The origin of the nodes and of the price of a pool. All strings are from malloc. */
struct hr_pool_source {
  char *provider, *instance, *region, *zone; /* NULL: not specified */
  char *spot_preset;                         /* NULL: not specified */
  /* date of the price; NULL if the price, or the figures from which it is derived, are in the scenario itself */
  char *as_of;
  char *status; /* status of the price: "stated", "quoted", "derived" or "assumed"; NULL: no price */
  char *source; /* origin of the price: a URL, a file, or this scenario; NULL: no price */
  /* months for which the capacity is paid for: the term of a reservation, or the lifetime of owned nodes; 0: unknown */
  uint32_t term_months;
  struct hr_ownership *ownership; /* cost of owned nodes (unstable); NULL: not specified */
};

/* A scenario. hr_scenario_destroy frees it. */
struct hr_scenario {
  char *path; /* path of the scenario file, as the user wrote it */
  char *name, *description;
  /* path of the trace; a relative path in the scenario was resolved from the folder of the scenario. NULL: the scenario
     has no trace */
  char *trace_file;
  char *trace_format; /* name of a format; default "auto" */
  struct hr_column_map columns;
  /* see struct hr_trace_options */
  bool lenient;
  bool drop_failed;
  struct hr_cluster_spec cluster;
  /* [cluster.n_pools]; NULL if the pools were read from a node list */
  struct hr_pool_source *pool_sources;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_cost_spec costs;
  struct hr_policy_choice policy;
  uint64_t seed;
  int64_t horizon_us; /* HR_NEVER_US: none */
  struct hr_notes notes;
  struct hr_notes files; /* paths of the files to which the scenario refers: trace, records, tables */
  /* cohorts precede tenants, which are in the order of the scenario; NULL: no quotas */
  struct hr_quota_spec *quotas;
  struct hr_electricity_set *electricity;   /* carbon and prices of electricity by pool (unstable); NULL: none */
  struct hr_services *services;             /* inference services (unstable); NULL: none */
  struct hr_systems *systems;               /* configuration of modelled schedulers (unstable); NULL: none */
  bool prices_drawn;                        /* the price of at least one pool is random and depends on the seed */
  struct hr_speeds *speeds;                 /* NULL: every job runs at speed 1 in every pool */
  struct hr_network_speeds *network_speeds; /* NULL: the network does not affect the speed of jobs */
  struct hr_scaling_table *scaling;         /* NULL: the speed of elastic jobs is proportional to their GPUs */
  struct hr_replication_spec replications;  /* used if the user requests replications */
  struct hr_alert_rules alerts;             /* thresholds of alerts */
  struct hr_plan_spec *plan;                /* capacity that may be bought, and goals; NULL: not specified */
  struct hr_tco_spec *tco;                  /* years and alternatives to compare (unstable); NULL: not specified */
  struct hr_data_spec *data;                /* data with a location (unstable); NULL: data is free, in all locations */
  struct hr_scenario_clusters *clusters;    /* several clusters (unstable); NULL: one cluster */
};

/* Reads a scenario, applies overrides, and validates the result. The caller frees `*scenario` with hr_scenario_destroy.
   Returns HR_BAD_INPUT for invalid input; `error` names the file, line and column, or the override.

   `overrides` has `n_overrides` texts "path=value", such as "policy.order=sjf" or "cluster.pools.0.nodes=56". The path
   consists of keys of the scenario format and positions in lists, from 0. If the path ends with the position after the
   last entry of a list, the override adds an entry. If the type of the key is text, the value is a string and needs no
   quotation marks. For all other keys, the value is parsed as JSON; a value that is not JSON is a string. */
HR_API enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                       struct hr_scenario **scenario, struct hr_error *error);
/* Frees a scenario. NULL is accepted. */
HR_API void hr_scenario_destroy(struct hr_scenario *scenario);
/* As hr_scenario_load, but uses a catalogue that was read before. `built_in`: the catalogue without additional files,
   as hr_catalog_load returns it; NULL: the function reads it. The catalogue is not changed, so several threads can use
   it at the same time. */
HR_API enum hr_status hr_scenario_load_with(const struct hr_catalog *built_in, const char *path,
                                            const char *const *overrides, size_t n_overrides,
                                            struct hr_scenario **scenario, struct hr_error *error);

/* Parses and checks a policy "NAME[:KEY=VALUE,...]". Sets `*overrides` to `*count` texts "policy.name=NAME" and
   "policy.KEY=VALUE" for hr_scenario_load. The caller frees each text and the array with free(), even after an error.
   Returns HR_BAD_INPUT for an unknown policy, and for unknown, duplicate or invalid parameters. */
HR_API enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error);

/* Returns whether runs of the scenario have costs: a pool has a market, or `costs` has a price or a savings plan. */
HR_API bool hr_scenario_has_prices(const struct hr_scenario *scenario);
/* Returns whether results depend on the seed because some input is random: reclaims, boot times, waits for the
   provider, failures, prices, or the requests of services and their assignment to replicas. Random decisions of the
   policy are ignored; see hr_policy_choice_draws. */
HR_API bool hr_scenario_is_random(const struct hr_scenario *scenario);

/* Returns an array [n_pools of scenario->cluster]: the maximum number of nodes of each pool that jobs use at the same
   time under the policy of the pool's cluster (`usable_nodes` of struct hr_policy_ops). The caller frees the array with
   free(). Returns NULL if memory is exhausted. */
HR_API uint32_t *hr_scenario_usable_nodes(const struct hr_scenario *scenario);

/* Reads one value of a scenario, after overrides are applied. `key` is the path of the value, such as
   "cluster.pools.0". Sets `*json` to the value as JSON on one line, or to NULL if the scenario has no such value. The
   caller frees `*json` with free(). The scenario is not validated. */
HR_API enum hr_status hr_scenario_part(const char *path, const char *const *overrides, size_t n_overrides,
                                       const char *key, char **json, struct hr_error *error);
/* Reads the catalogue of a scenario: the built-in tables and the catalogue files to which the scenario refers. The
   caller frees `*catalog` with hr_catalog_destroy (headroom/unstable/catalog.h). */
HR_API enum hr_status hr_scenario_catalog(const char *path, const char *const *overrides, size_t n_overrides,
                                          struct hr_catalog **catalog, struct hr_error *error);

/* A scenario file that is part of Headroom. `name` and `description` are "" if the file has none. */
struct hr_scenario_entry {
  char *path, *name, *description;
};

/* Lists the scenarios that are part of Headroom, sorted by path, in an array of `*count` entries. The caller frees the
   array with hr_scenario_list_free. Returns HR_BAD_INPUT if their folder is not found. */
HR_API enum hr_status hr_scenario_list(struct hr_scenario_entry **entries, size_t *count, struct hr_error *error);
HR_API void hr_scenario_list_free(struct hr_scenario_entry *entries, size_t count);

#ifdef __cplusplus
}
#endif
#endif
