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

/* Jobs of one class, one tenant or one list of GPU types. */
struct hr__draft_group {
  const char *name; /* "": jobs without one */
  uint32_t jobs;
  double gpu_hours;
  double wait_p95_s; /* as recorded; NAN: unknown. Only for classes */
};

struct hr__draft_facts {
  double gpu_hours;
  /* GPUs in use over the submit window if no job had to wait: mean, and 95th and 99th percentiles over time */
  double mean_gpus, p95_gpus, p99_gpus;
  uint32_t largest_gpus;          /* GPUs of the largest job */
  uint32_t largest_node_gpus;     /* GPUs that the largest task needs on one node */
  double wait_mean_s, wait_p95_s; /* recorded waits; NAN: unknown */
  uint32_t n_shares, n_mig;       /* jobs that request shares of GPUs, and MIG instances */
  /* groups by class, and tenants and lists of GPU types by GPU hours, descending. Groups without jobs are left out */
  struct hr__draft_group *classes, *tenants, *types;
  uint32_t n_classes, n_tenants, n_types;
};

/* ---- The draft -------------------------------------------------------------------------------------- */

enum { HR__DRAFT_NODE_GPUS = 8 }; /* of a usual node */
enum { HR__DRAFT_NAME_BYTES = 200, HR__DRAFT_NOTE_BYTES = 2000, HR__DRAFT_TYPES = 8, HR__DRAFT_VARIABLES = 8 };

/* Nodes that exist. */
struct hr__draft_owned {
  char pool[HR__DRAFT_NAME_BYTES], gpu[HR__DRAFT_NAME_BYTES];
  uint32_t nodes, gpus;
  bool is_mig;    /* for the jobs that request MIG instances */
  bool is_shared; /* for all jobs: those that request instances get shares of GPUs */
};

/* A type of node that can be bought. */
struct hr__draft_offer {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* on demand, per node */
  bool only_mig;  /* only for the jobs that request MIG instances */
};

/* A pool with a size that the plan chooses. */
struct hr__draft_variable {
  char pool[HR__DRAFT_NAME_BYTES];
  uint32_t nodes, gpus;  /* at most this many nodes, of this many GPUs */
  uint32_t steps, today; /* number of steps from 0 to the maximum; nodes today */
};

struct hr__draft {
  const struct hr_draft_config *config;
  struct hr_error *error;
  struct hr__draft_facts facts;
  struct hr_catalog *catalog;
  struct hr__draft_owned *own; /* [config->n_own], or guessed pools; then the pools that are divided off for MIG */
  size_t n_own;
  char provider[HR__DRAFT_NAME_BYTES], region[HR__DRAFT_NAME_BYTES];
  struct hr__draft_offer offers[HR__DRAFT_TYPES]; /* the first one is that of the type with the most demand */
  size_t n_offers;
  struct hr__draft_variable variables[HR__DRAFT_VARIABLES]; /* of the plan */
  size_t n_variables;
  uint32_t n_mig_left; /* jobs that request MIG instances that no owned pool has */
  bool mig_fallback;   /* jobs that request MIG instances may get shares */
  bool sells_spot;
  bool no_memory;
};

/* A text that is written piece by piece, and cut if it becomes too long. */
struct hr__note {
  char text[HR__DRAFT_NOTE_BYTES];
  size_t used;
};
/* Appends a formatted text. */
void hr__say(struct hr__note *note, const char *format, ...) HR_PRINTF(2, 3);

/* Add a member to an object, or a value to a list. If memory is exhausted, they set `no_memory` and return NULL, which
   they also accept as the object or list. */
cJSON *hr__draft_put(struct hr__draft *draft, cJSON *object, const char *name, cJSON *value);
cJSON *hr__draft_append(struct hr__draft *draft, cJSON *list, cJSON *value);
void hr__draft_put_text(struct hr__draft *draft, cJSON *object, const char *name, const char *text);
static inline void hr__draft_put_number(struct hr__draft *draft, cJSON *object, const char *name, double number) {
  hr__draft_put(draft, object, name, cJSON_CreateNumber(number));
}

/* ---- Owned nodes and nodes that can be bought (offers.c) -------------------------------------------- */

/* Parse the options --own and --cloud, and find what the provider sells for the requested GPU types. */
enum hr_status hr__draft_read_own(struct hr__draft *draft);
enum hr_status hr__draft_read_cloud(struct hr__draft *draft);
enum hr_status hr__draft_find_offers(struct hr__draft *draft);
/* Names an owned pool, of `n_own` pools: "own" or "own-TYPE". */
void hr__draft_name_own(struct hr__draft *draft, size_t index, size_t n_own);
/* Returns the nodes that hold `gpus` GPUs, at least `min` nodes. */
uint32_t hr__draft_nodes_for(double gpus, double gpus_per_node, uint32_t min);

/* Whether owned nodes, or nodes that can be bought, have a GPU type of a list such as "A100-80|H100". */
bool hr__draft_own_has(const struct hr__draft *draft, const char *list);
bool hr__draft_offers_have(const struct hr__draft *draft, const char *list);
/* Whether a list of types such as "A100-80|gpu:h100" contains a type, under any of its names; an empty list contains
   all types. */
bool hr__draft_list_has(const struct hr__draft *draft, const char *list, const char *gpu);

/* Adds the pools to the cluster, and the plan. */
void hr__draft_put_pools(struct hr__draft *draft, cJSON *cluster);
void hr__draft_put_plan(struct hr__draft *draft, cJSON *scenario);

/* ---- MIG -------------------------------------------------------------------------------------------- */

/* Divides the owned pools for the jobs that request MIG instances. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__draft_put_mig(struct hr__draft *draft);
/* Returns the number of jobs that request instances that a GPU type has. */
uint32_t hr__draft_mig_jobs(const struct hr__draft *draft, const char *gpu);
/* Writes which jobs request MIG instances, and what they get. */
void hr__draft_say_mig(struct hr__note *note, const struct hr__draft *draft);

#endif
