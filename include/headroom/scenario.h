/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_SCENARIO_H
#define HEADROOM_SCENARIO_H

/* A scenario: the JSON file that says what to replay, on what, and how. */

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

/* A text of a scenario that is understood later, and where it stands there, for errors: "mix.json:12:5: ". */
struct hr_placed_text {
  char *text, *place;
};

/* ---- Replications ----------------------------------------------------------------------------------- */

#define HR_MAX_REPLICATIONS 10000
#define HR_MAX_THREADS 1024

/* How often a scenario is run; all zero where it does not say. */
struct hr_replication_spec {
  uint32_t count;               /* so often; 0: not said */
  struct hr_placed_text metric; /* or until this figure ("wait_s.p95 of inference") is known so well; NULL: not said */
  double relative;              /* half the width of its interval, as a share of it */
  uint32_t least, most;         /* but at least and at most so often */
  double confidence;            /* of all intervals */
  struct hr_workload_spec workload; /* drawn again unless it is the trace as it is; no factors */
};
enum { HR_LEAST_REPLICATIONS = 10, HR_MOST_REPLICATIONS = 200 }; /* unless said, of those until a precision */

/* Nothing said: confidence 0.95, the trace as it is. */
HR_API void hr_replication_spec_init(struct hr_replication_spec *spec);
HR_API void hr_replication_spec_finish(struct hr_replication_spec *spec);

/* ---- Scenarios ---------------------------------------------------------------------------------------- */

/* Where a pool's nodes and their price come from. */
struct hr_pool_source {
  char *provider, *instance, *region, *zone; /* NULL where the scenario does not say */
  char *spot_preset;                         /* likewise */
  char *as_of;  /* of the price: a date; NULL where the scenario states the price, or what it follows from */
  char *status; /* of the price: "stated" in the scenario, or "quoted", "derived" or "assumed"; NULL: no price */
  char *source; /* what the price was read or computed from; NULL likewise */
};

struct hr_scenario {
  char *path; /* as given */
  char *name, *description;
  char *trace_file;   /* resolved against the scenario's folder; NULL: the caller must name one */
  char *trace_format; /* "auto" unless said */
  struct hr_column_map columns;
  bool lenient;
  struct hr_cluster_spec cluster;
  struct hr_pool_source *pool_sources; /* [cluster.n_pools]; NULL when the pools were read from a list of nodes */
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_cost_spec costs;
  struct hr_policy_choice policy;
  uint64_t seed;
  int64_t horizon_us; /* HR_NEVER_US: none */
  struct hr_notes notes;
  struct hr_notes files;                    /* paths of what it names: its trace, records, tables */
  struct hr_quota_spec *quotas;             /* NULL: none. Cohorts first, then tenants in the scenario's order */
  bool prices_drawn;                        /* a price of a pool is drawn: under another seed it is another */
  struct hr_speeds *speeds;                 /* NULL: every job works at speed 1 everywhere */
  struct hr_network_speeds *network_speeds; /* NULL: no link slows a job down */
  struct hr_replication_spec replications;  /* how often it is run where that is asked for */
  struct hr_alert_rules alerts;             /* when something is amiss */
  struct hr_plan_spec *plan;                /* what may be bought, and what for; NULL: it does not say */
};

/* Reads, overrides and validates a scenario. `overrides` are "path=value" texts, e.g. "policy.order=sjf" or
   "cluster.pools.0.nodes=56": the path names a key that the scenario may have, or the place behind the last entry of a
   list, where one is added; the value is JSON, or a string if it is not. Errors name file, line and column, or the
   override. */
HR_API enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                       struct hr_scenario **scenario, struct hr_error *error);
HR_API void hr_scenario_destroy(struct hr_scenario *scenario);

/* A policy as "NAME[:KEY=VALUE,...]", checked, as overrides "policy.name=NAME", "policy.KEY=VALUE". The caller frees
   the texts and the list, whatever is returned; errors say what is wrong in it, not where it stands. */
HR_API enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error);

/* Whether anything in it has a price. */
HR_API bool hr_scenario_has_prices(const struct hr_scenario *scenario);
/* Whether anything in it is drawn, so that its seed matters: reclaims, boots, prices. What a policy may draw by itself
   is not known here. */
HR_API bool hr_scenario_is_random(const struct hr_scenario *scenario);

/* What a scenario under overrides says at a path such as "cluster.pools.0", as JSON on one line, which the caller
   frees; NULL where it says nothing there. It is not validated. */
HR_API enum hr_status hr_scenario_part(const char *path, const char *const *overrides, size_t n_overrides,
                                       const char *key, char **json, struct hr_error *error);
/* The catalogue that it goes by: the built-in one, and the files that it names. */
HR_API enum hr_status hr_scenario_catalog(const char *path, const char *const *overrides, size_t n_overrides,
                                          struct hr_catalog **catalog, struct hr_error *error);

/* A scenario file that ships with Headroom. */
struct hr_scenario_entry {
  char *path, *name, *description;
};
HR_API enum hr_status hr_scenario_list(struct hr_scenario_entry **entries, size_t *count, struct hr_error *error);
HR_API void hr_scenario_list_free(struct hr_scenario_entry *entries, size_t count);

#ifdef __cplusplus
}
#endif
#endif
