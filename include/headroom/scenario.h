/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SCENARIO_H
#define HEADROOM_SCENARIO_H

/* Scenarios: JSON files that describe a trace, a cluster, a policy and what to evaluate. Loaded, validated, and then
   immutable. */

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
struct hr_plan_spec;

/* A string of a scenario that is parsed later, with its place for error messages: "mix.json:12:5: ". */
struct hr_placed_text {
  char *text, *place;
};

/* ---- Replications ---- */

#define HR_MAX_REPLICATIONS 10000
#define HR_MAX_THREADS 1024

/* How often a scenario is run; all zero if it does not say. */
struct hr_replication_spec {
  uint32_t count; /* number of replications; 0: unspecified */
  /* or until this metric ("wait_s.p95 of inference") has the given precision; NULL: unspecified */
  struct hr_placed_text metric;
  double relative;   /* required half width of its interval, relative to it */
  uint32_t min, max; /* number of replications in that case */
  double confidence; /* of all intervals */
  /* how the trace is redrawn for each replication, unless it stays as recorded; without factors */
  struct hr_workload_spec workload;
};
enum { HR_DEFAULT_MIN_REPLICATIONS = 10, HR_DEFAULT_MAX_REPLICATIONS = 200 }; /* defaults of `min` and `max` */

/* ---- Scenarios ---- */

/* Where the nodes and the price of a pool come from. */
struct hr_pool_source {
  char *provider, *instance, *region, *zone; /* NULL if unspecified */
  char *spot_preset;                         /* NULL if unspecified */
  char *as_of;  /* date of the price; NULL if the scenario states the price, or what it is derived from */
  char *status; /* of the price: "stated", "quoted", "derived" or "assumed"; NULL: no price */
  char *source; /* what the price was read or computed from; NULL: no price */
};

struct hr_scenario {
  char *path; /* as given */
  char *name, *description;
  char *trace_file;   /* resolved relative to the scenario's folder; NULL: the caller must provide one */
  char *trace_format; /* "auto" by default */
  struct hr_column_map columns;
  bool lenient;
  struct hr_cluster_spec cluster;
  struct hr_pool_source *pool_sources; /* [cluster.n_pools]; NULL if the pools were read from a node list */
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_cost_spec costs;
  struct hr_policy_choice policy;
  uint64_t seed;
  int64_t horizon_us; /* HR_NEVER_US: none */
  struct hr_notes notes;
  struct hr_notes files;                    /* paths of the files that it refers to: trace, records, tables */
  struct hr_quota_spec *quotas;             /* NULL: none. Cohorts first, then tenants in the order of the scenario */
  bool prices_drawn;                        /* a pool's price is drawn at random, so it depends on the seed */
  struct hr_speeds *speeds;                 /* NULL: every job works at speed 1 everywhere */
  struct hr_network_speeds *network_speeds; /* NULL: no link slows a job down */
  struct hr_replication_spec replications;  /* how often it is run when replications are requested */
  struct hr_alert_rules alerts;             /* thresholds */
  struct hr_plan_spec *plan;                /* what may be bought, and the goals; NULL: unspecified */
};

/* Reads a scenario, applies overrides, and validates it. `overrides` are "path=value" texts, e.g. "policy.order=sjf"
   or "cluster.pools.0.nodes=56": the path is that of a key that the scenario may have, or of the position after the
   last entry of a list, which adds one; the value is JSON, or else a string. The caller destroys `*scenario`. Errors
   name file, line and column, or the override. */
HR_API enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                       struct hr_scenario **scenario, struct hr_error *error);
/* Frees a scenario. NULL is accepted. */
HR_API void hr_scenario_destroy(struct hr_scenario *scenario);

/* Parses a policy "NAME[:KEY=VALUE,...]", checks it, and returns the overrides "policy.name=NAME" and
   "policy.KEY=VALUE". The caller frees the texts and the list in any case. Errors do not name a place. */
HR_API enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error);

/* Whether anything in the scenario has a price. */
HR_API bool hr_scenario_has_prices(const struct hr_scenario *scenario);
/* Whether anything in the scenario is random, so that its seed matters: reclaims, boot times, prices. Random
   decisions of the policy do not count (hr_policy_choice_draws). */
HR_API bool hr_scenario_is_random(const struct hr_scenario *scenario);

/* The value of a scenario, with overrides, at a path such as "cluster.pools.0", as JSON on one line, which the
   caller frees; NULL if it has none. Not validated. */
HR_API enum hr_status hr_scenario_part(const char *path, const char *const *overrides, size_t n_overrides,
                                       const char *key, char **json, struct hr_error *error);
/* The catalogue of a scenario: the built-in one and the files that it refers to. The caller destroys it. */
HR_API enum hr_status hr_scenario_catalog(const char *path, const char *const *overrides, size_t n_overrides,
                                          struct hr_catalog **catalog, struct hr_error *error);

/* A scenario file that is shipped with Headroom. */
struct hr_scenario_entry {
  char *path, *name, *description;
};

/* Lists the shipped scenarios; free the list with hr_scenario_list_free. */
HR_API enum hr_status hr_scenario_list(struct hr_scenario_entry **entries, size_t *count, struct hr_error *error);
HR_API void hr_scenario_list_free(struct hr_scenario_entry *entries, size_t count);

#ifdef __cplusplus
}
#endif
#endif
