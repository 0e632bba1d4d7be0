/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_DRAFT_DRAFT_H
#define HR_SCENARIOS_DRAFT_DRAFT_H

/* Shared by the files that draft a scenario: facts about the trace, owned nodes, offers of a provider, and functions
   that add members to the JSON of the draft. */

#include "headroom/unstable/catalog.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/schema/keys.h"

#include <stdbool.h>

/* ---- Facts about the trace -------------------------------------------------------------------------- */

/* The jobs of one class, of one tenant, or with one list of GPU types. */
struct hr__draft_group {
  const char *name; /* "": jobs without a class, a tenant or a list of GPU types */
  uint32_t jobs;
  double gpu_hours;
  double wait_p95_s; /* 95th percentile of the recorded waits of a class; NAN: unknown, or not a class */
};

struct hr__draft_facts {
  double gpu_hours;
  /* number of GPUs that would be in use if no job waited: mean, and 95th and 99th percentiles over the time from the
     first to the last submit */
  double mean_gpus, p95_gpus, p99_gpus;
  uint32_t largest_gpus;          /* GPUs of the largest job */
  uint32_t largest_node_gpus;     /* GPUs that the largest task needs on one node */
  double wait_mean_s, wait_p95_s; /* recorded waits; unknown: wait_p95_s is NAN and wait_mean_s is 0 */
  uint32_t n_shares, n_mig;       /* number of jobs that request shares of GPUs; of jobs that request MIG instances */
  /* groups of jobs by class, by tenant, and by list of GPU types; each array is sorted by GPU hours, descending. Jobs
     without GPUs are only in `classes`. Groups without jobs are omitted. */
  struct hr__draft_group *classes, *tenants, *types;
  uint32_t n_classes, n_tenants, n_types;
};

/* ---- The draft -------------------------------------------------------------------------------------- */

enum { HR__DRAFT_NODE_GPUS = 8 }; /* GPUs of a usual node */
enum { HR__DRAFT_NAME_BYTES = 200, HR__DRAFT_NOTE_BYTES = 2000, HR__DRAFT_TYPES = 8, HR__DRAFT_VARIABLES = 8 };

/* A pool of owned nodes. */
struct hr__draft_owned {
  char pool[HR__DRAFT_NAME_BYTES], gpu[HR__DRAFT_NAME_BYTES]; /* name of the pool; GPU type */
  uint32_t nodes, gpus;                                       /* number of nodes; GPUs of a node */
  bool is_mig;                                                /* only for jobs that request MIG instances */
  bool is_shared; /* for all jobs; those that request MIG instances get shares of GPUs */
};

/* An instance type of the provider that can be bought. */
struct hr__draft_offer {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* on-demand price per node-hour */
  bool only_mig;  /* only for jobs that request MIG instances */
};

/* A pool with a size that the plan chooses. */
struct hr__draft_variable {
  char pool[HR__DRAFT_NAME_BYTES];
  uint32_t nodes, gpus;  /* maximum number of nodes; GPUs of a node */
  uint32_t steps, today; /* number of steps from 0 to the maximum; number of nodes today */
};

struct hr__draft {
  const struct hr_draft_config *config;
  struct hr_error *error;
  struct hr__draft_facts facts;
  struct hr_catalog *catalog;
  /* [n_own] the pools of --own or, without this option, guessed pools; then the pools that hr__draft_put_mig() adds */
  struct hr__draft_owned *own;
  size_t n_own;
  char provider[HR__DRAFT_NAME_BYTES], region[HR__DRAFT_NAME_BYTES]; /* of --cloud; "": not set */
  struct hr__draft_offer offers[HR__DRAFT_TYPES]; /* [n_offers] the first is for the requested types with most demand */
  size_t n_offers;
  struct hr__draft_variable variables[HR__DRAFT_VARIABLES]; /* [n_variables] of the plan */
  size_t n_variables;
  uint32_t n_mig_left; /* number of jobs that request a MIG profile that no owned pool has */
  bool mig_fallback;   /* jobs that request MIG instances may get shares of GPUs */
  bool sells_spot;     /* the provider has a spot price of the first offer */
  bool no_memory;      /* an allocation has failed, so the JSON is incomplete */
};

/* A text to which hr__say() appends. It is cut at its maximum length. */
struct hr__note {
  char text[HR__DRAFT_NOTE_BYTES];
  size_t used;
};
/* Appends a formatted text to a note. */
void hr__say(struct hr__note *note, const char *format, ...) HR_PRINTF(2, 3);

/* hr__draft_put() adds `value` to an object, hr__draft_append() adds it to a list. Both take ownership of `value` and
   return it. If memory runs out, or if the object, list or value is NULL, they set `draft->no_memory` and return NULL.
   The result of a failed call may therefore be passed to further calls. */
cJSON *hr__draft_put(struct hr__draft *draft, cJSON *object, const char *name, cJSON *value);
cJSON *hr__draft_append(struct hr__draft *draft, cJSON *list, cJSON *value);
void hr__draft_put_text(struct hr__draft *draft, cJSON *object, const char *name, const char *text);
static inline void hr__draft_put_number(struct hr__draft *draft, cJSON *object, const char *name, double number) {
  hr__draft_put(draft, object, name, cJSON_CreateNumber(number));
}

/* ---- Owned nodes and nodes that can be bought (offers.c) -------------------------------------------- */

/* Parse the options --own and --cloud. Errors: HR_BAD_INPUT, HR_NO_MEMORY. */
enum hr_status hr__draft_read_own(struct hr__draft *draft);
enum hr_status hr__draft_read_cloud(struct hr__draft *draft);
/* Finds the offers of the provider for the requested GPU types. Returns HR_BAD_INPUT if the provider has no offer. */
enum hr_status hr__draft_find_offers(struct hr__draft *draft);
/* Sets the name of the owned pool `index` of `n_own` pools: "own" if it is the only pool, otherwise "own-TYPE". */
void hr__draft_name_own(struct hr__draft *draft, size_t index, size_t n_own);
/* Returns the number of nodes for `gpus` GPUs, limited to HR_MAX_NODES; then, if this is less than `min`, returns
   `min`. */
uint32_t hr__draft_nodes_for(double gpus, double gpus_per_node, uint32_t min);

/* Return whether an owned pool (hr__draft_own_has) or an offer (hr__draft_offers_have) has a GPU type of a list such as
   "A100-80|H100". */
bool hr__draft_own_has(const struct hr__draft *draft, const char *list);
bool hr__draft_offers_have(const struct hr__draft *draft, const char *list);
/* Returns whether a list of types such as "A100-80|gpu:h100" contains a type, by any of the names of this type. An
   empty list contains all types. Returns false if memory runs out. */
bool hr__draft_list_has(const struct hr__draft *draft, const char *list, const char *gpu);

/* Adds `pools` to the cluster, and sets the variables of the plan. */
void hr__draft_put_pools(struct hr__draft *draft, cJSON *cluster);
/* Adds `plan` to the scenario if there are offers or goals. Must be called after hr__draft_put_pools(). */
void hr__draft_put_plan(struct hr__draft *draft, cJSON *scenario);

/* ---- MIG -------------------------------------------------------------------------------------------- */

/* Provides owned pools for the jobs that request MIG instances: makes a pool a MIG pool or divides it (see offers.c).
   Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__draft_put_mig(struct hr__draft *draft);
/* Returns the number of jobs that request a MIG profile of the GPU type `gpu`. */
uint32_t hr__draft_mig_jobs(const struct hr__draft *draft, const char *gpu);
/* Appends to a note how many jobs request MIG instances, and how many of them no pool can run. Appends nothing if no
   job requests MIG instances. */
void hr__draft_say_mig(struct hr__note *note, const struct hr__draft *draft);

#endif
