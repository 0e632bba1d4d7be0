/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_BUILDER_H
#define HR_SCENARIOS_BUILD_BUILDER_H

/*
 * Builds a scenario from a JSON tree, section by section. The tree must already match its key table. hr__read() stores
 * the values (builder.c). Each section checks what a key table cannot express: known names, sums, keys that exclude
 * each other. An error names the value, or the object that lacks a value; its line and column are found in the file.
 *
 * Ownership: everything that a section stores in the scenario is freed with the scenario, also if a later step fails.
 *
 * Errors: HR_BAD_INPUT with the place of the value, HR_NO_MEMORY, or the status of a file that could not be read.
 */

#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/scenario.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/schema/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Notes on the pools that are being built. Pools with the same note share one entry. */
struct hr__pool_notes {
  struct hr__pool_note *at;
  size_t count;
};

/* State of building a document: its source, and the object that is built. */
struct hr__builder {
  struct hr__source source;
  struct hr_scenario *scenario; /* NULL for suites, grids and baselines */
  struct hr_error *error;
  /* the catalogue, including the rows that files of the scenario add; NULL before hr__open_catalog() */
  const struct hr_catalog *catalog;
  struct hr_catalog *own_catalog;          /* the same if the builder has loaded it; else NULL */
  const struct hr_catalog *shared_catalog; /* the built-in catalogue, if the caller has loaded it; else NULL */
  struct hr__pool_notes *pool_notes;       /* NULL, except while pools are built */
  bool is_candidate;                       /* see hr_scenario_load_candidate */
};

/* ---- Sections, in the order in which they are built ------------------------------------------------- */

/* Each function builds one section from the root object. It does nothing if an optional section is missing. Errors:
   see the beginning of this file. */
enum hr_status hr__build_cluster(struct hr__builder *builder);
/* Checks which of the sections `cluster`, `clusters`, `router` and `services` exist together. */
enum hr_status hr__check_cluster_sections(struct hr__builder *builder);
/* Builds `clusters` and `router`, each cluster by hr__build_part, and the pools of the whole scenario. */
enum hr_status hr__build_clusters(struct hr__builder *builder);
/* Returns the index of the cluster with this name; HR_NONE: none. */
static inline uint32_t hr__cluster_named(const struct hr_scenario_clusters *clusters, const char *name) {
  for (uint32_t i = 0; i < clusters->count; i++)
    if (strcmp(clusters->at[i].name, name) == 0) return i;
  return HR_NONE;
}
/* Builds the sections that belong to one cluster: its policy, pools, classes, speeds, quotas and systems. */
enum hr_status hr__build_part(struct hr__builder *builder);
/* Frees what hr__build_clusters has built, with the pools of the whole scenario. */
void hr__clusters_destroy(struct hr_scenario *scenario);
enum hr_status hr__build_classes(struct hr__builder *builder);
enum hr_status hr__build_models(struct hr__builder *builder);
enum hr_status hr__build_network_speeds(struct hr__builder *builder);
enum hr_status hr__build_scaling(struct hr__builder *builder);
enum hr_status hr__build_costs(struct hr__builder *builder);
enum hr_status hr__build_quotas(struct hr__builder *builder);
enum hr_status hr__build_systems(struct hr__builder *builder); /* must be called after the policy is built */
/* Builds `data`. Must be called after the cluster is built. */
enum hr_status hr__build_data(struct hr__builder *builder);
struct hr_data_spec;
/* Frees what hr__build_data() has built. NULL is accepted. */
void hr__data_destroy(struct hr_data_spec *spec);
enum hr_status hr__build_plan(struct hr__builder *builder); /* must be called after the cluster is built */
enum hr_status hr__build_tco(struct hr__builder *builder);  /* must be called after the cluster is built */

/* Checks the section `kueue` across keys. `config` is the struct of the section, filled from its table. */
enum hr_status hr__check_kueue(struct hr__builder *builder, const cJSON *section, void *config);
enum hr_status hr__build_services(struct hr__builder *builder); /* must be called after the cluster is built */
struct hr_service;
/* Completes the engine, the memory and the cost of a service. Its values are read from `entry`. */
enum hr_status hr__build_engine(struct hr__builder *builder, const cJSON *entry, struct hr_service *service);
/* Handles an error about a service that can never run: returns `status`. For a candidate of a plan, stores the error in
   hr_services.unfit instead, and returns HR_OK. */
enum hr_status hr__build_unfit(struct hr__builder *builder, enum hr_status status);
/* Checks that some pool of the cluster of a service can hold a replica. */
enum hr_status hr__check_replica(struct hr__builder *builder, const cJSON *entry, const struct hr_service *service);
/* Returns the first pool that can hold a replica; HR_NONE: no pool can. Pools with nodes have precedence over pools
   without nodes. */
uint32_t hr__service_pool(const struct hr_scenario *scenario, const struct hr_service *service);
/* Adds a note if the replicas can run on GPUs of several types. */
enum hr_status hr__note_other_gpus(struct hr__builder *builder, const struct hr_service *service);
/* Frees what hr__build_services() has built. NULL is accepted. */
void hr__services_destroy(struct hr_services *all);
/* Checks the text of a scenario as hr_scenario_load() does. `path` is for messages. */
enum hr_status hr__scenario_check(const char *path, const char *text, const char *const *overrides, size_t n_overrides,
                                  struct hr_error *error);

/* Frees what hr__build_systems() has built. NULL is accepted. */
void hr__systems_destroy(struct hr_systems *all);
/* Frees the members of `source`, not `source` itself. */
void hr__pool_source_finish(struct hr_pool_source *source);

/* Frees a list of strings and its strings. NULL is allowed. */
static inline void hr__grid_texts_free(char **texts, size_t count) {
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
}

/* ---- Errors and notes ------------------------------------------------------------------------------- */

/* Sets the error and returns HR_NO_MEMORY. */
static inline enum hr_status hr__build_no_memory(const struct hr__builder *builder) {
  return hr_fail(builder->error, HR_NO_MEMORY, "%s: out of memory", builder->source.path);
}

/* Reports an error at a value, or at its key. Returns HR_BAD_INPUT. */
enum hr_status hr__build_fail(const struct hr__builder *builder, const cJSON *value, const char *format, ...)
    HR_PRINTF(3, 4);
enum hr_status hr__build_fail_key(const struct hr__builder *builder, const cJSON *value, const char *format, ...)
    HR_PRINTF(3, 4);
/* Checks that all texts of a list are different. `list` may be NULL. Returns HR_BAD_INPUT at a repeated text. */
enum hr_status hr__build_check_distinct(const struct hr__builder *builder, const cJSON *list);
/* Reports an error at the member `name` of an object, or at the object if it does not have this member. Returns
   HR_BAD_INPUT. */
enum hr_status hr__build_fail_at(const struct hr__builder *builder, const cJSON *object, const char *name,
                                 const char *format, ...) HR_PRINTF(4, 5);
/* A key that has no effect if another key is present, or if another key is missing. */
struct hr__idle_key {
  const char *key, *other;
  bool beside;
};
/* Returns HR_BAD_INPUT if an object has such a key. The last row has no key. */
enum hr_status hr__build_check_idle(const struct hr__builder *builder, const cJSON *object,
                                    const struct hr__idle_key *rows);
/* Reports the error `inner` of a lower layer, which returned `status`. If `status` is HR_BAD_INPUT, the message
   begins with the place of the value. Returns `status`. */
enum hr_status hr__build_wrap(const struct hr__builder *builder, const cJSON *value, enum hr_status status,
                              const struct hr_error *inner);
/* Copies `text` and the place of a value ("FILE:LINE:COLUMN: "). The caller frees both members of `placed`. */
enum hr_status hr__build_placed(const struct hr__builder *builder, const cJSON *value, const char *text,
                                struct hr_placed_text *placed);

/* Adds a note on a pool. Pools with the same text share one note: "pools 'a', 'b': ...". */
enum hr_status hr__pool_note(const struct hr__builder *builder, const char *pool, const char *format, ...)
    HR_PRINTF(3, 4);
/* Appends the notes to `to`, in the order of their first pool. If `to` is NULL, the notes are dropped. Frees `notes`
   in all cases. The only error is HR_NO_MEMORY. */
enum hr_status hr__pool_notes_move(struct hr__pool_notes *notes, struct hr_notes *to);

/* ---- The tree --------------------------------------------------------------------------------------- */

/* Returns the member `name`; NULL if it does not exist or `object` is NULL. */
static inline const cJSON *hr__get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Returns true if the member `name` exists. `name` may be NULL. */
static inline bool hr__has(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

/* Returns the value of a member, or `fallback` if it does not exist. The key table has checked its type. */

static inline const char *hr__text_of(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuestring : fallback;
}

static inline double hr__number_of(const cJSON *object, const char *name, double fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuedouble : fallback;
}

/* Returns a member in seconds as microseconds, or `fallback` if it does not exist. */
static inline int64_t hr__span_of(const cJSON *object, const char *name, int64_t fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? (int64_t)llround(member->valuedouble * (double)HR_SECOND_US) : fallback;
}

/* Returns a number multiplied by one million: dollars become micro-dollars, and a share becomes millionths. The
   double is first converted to the shortest decimal that reads back as the same double. The product is rounded half
   up to a whole number. */
int64_t hr__micros(const cJSON *number);
static inline int64_t hr__micros_of(const cJSON *object, const char *name, int64_t fallback) {
  const cJSON *member = hr__get(object, name);
  return member ? hr__micros(member) : fallback;
}

/* Returns the index of a member in `words`, or `fallback` if the member does not exist. */
static inline size_t hr__choice_of(const cJSON *object, const char *name, const char *const *words, size_t fallback) {
  const char *word = hr__text_of(object, name, NULL);
  for (size_t i = 0; word && words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return fallback;
}

/* Returns a x b / c, rounded half up. No number may be negative, and c must be above 0. */
static inline int64_t hr__money_scale(int64_t a, int64_t b, int64_t c) {
  return (int64_t)(((hr_amount)a * b * 2 + c) / ((hr_amount)c * 2));
}

/* Returns a scalar as text. A number is formatted as the shortest decimal that reads back as the same double. The
   text is in `buffer` or belongs to the tree. */
const char *hr__scalar_text(const cJSON *value, char buffer[32]);

/* ---- Files ------------------------------------------------------------------------------------------ */

/* Returns the path of a file that is named in the source file. Relative paths are relative to the folder of the
   source file. "a/../b" is shortened to "b" unless "a" is a symbolic link. If the builder builds a scenario, the path
   is added to the list of files of this scenario. Returns NULL if out of memory. The caller frees the path. */
char *hr__resolve(const struct hr__builder *builder, const char *file);

/* Loads the catalogue, and the files that the section `catalog` of the scenario names. Does nothing if the
   catalogue is already loaded. */
enum hr_status hr__open_catalog(struct hr__builder *builder);

/* ---- The reader of values: builder.c ----------------------------------------------------------- */

/* Stores the members of `object` in the struct at `to`. `keys` is the table of the object. A key that is missing, or
   all keys if `object` is NULL, get their constant default; without a default, the struct is not changed. Texts and
   arrays are from malloc. The count of an array is stored before its entries are read, so that the caller can free the
   struct also after an error. An array of classes has an entry for each class; classes that are not listed get the
   entry of "default", if there is one. Errors: HR_NO_MEMORY. */
enum hr_status hr__read(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Does the same, but only for values that are neither objects nor lists. */
enum hr_status hr__read_values(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Frees the texts and arrays that hr__read() has stored in a struct, not the struct itself. Values by class are not
   freed. */
void hr__finish_values(const struct hr__key *keys, void *object);
/* Checks the members of an object that belong to certain choices (`only_with` of the rows). `choice` is the value of
   the choice, and `noun` its name in messages, such as "spot model". If `complete` is set, members that the choice
   needs must exist. */
enum hr_status hr__check_choice(const struct hr__builder *builder, const cJSON *object, const struct hr__key *keys,
                                const char *noun, unsigned choice, bool complete);

/* Returns the table of the object at a path, such as "replications.workload", in a document with the outermost object
   `root`. A component that is a list means the entries of the list. */
const struct hr__key *hr__table_of(const struct hr__key *root, const char *path);

/* ---- Pools --------------------------------------------------------------------------------------------- */

/* The draft of a pool and the steps of building it. */

/* A pool while it is built. */
struct hr__pool_draft {
  const cJSON *entry;                  /* entry of the pool in the scenario */
  struct hr_pool_spec pool;            /* its strings belong to the tree or to the catalogue */
  struct hr_pool_source *source;       /* entry in the scenario; data that is stored here is freed with the scenario */
  uint32_t zone;                       /* zone number of a spot pool, see hr_spot_spec */
  const struct hr_spot_preset *preset; /* row of the catalogue; NULL: no preset */
};

/* Returns the value that defines the nodes: 'pools' or 'nodes_file'. Errors that concern all pools name it. */
static inline const cJSON *hr__nodes_place(const struct hr__builder *builder) {
  const cJSON *cluster = hr__get(builder->source.file.tree, "cluster"), *pools = hr__get(cluster, "pools");
  return pools ? pools : hr__get(cluster, "nodes_file");
}

/* Sets GPU type, GPUs, CPUs and memory of a node from the row of its 'instance' in the catalogue, if the entry does
   not set them. */
enum hr_status hr__build_shape(struct hr__builder *builder, struct hr__pool_draft *draft);

/* Builds the market, the time bounds, billing, boot time and price. For spot pools, also builds the interruption
   model. */
enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Sets the price of a GPU-hour, and the on-demand price from which savings are computed. */
enum hr_status hr__build_price(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks that 'spot.price' of the entry of a pool has all parameters of its price model and no others. */
enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *entry);

/* Builds the failures of the nodes, from 'faults' of the pool or of the cluster (faults.c). The topology must be known.
 */
enum hr_status hr__build_faults(struct hr__builder *builder, struct hr__pool_draft *draft);
/* The first function builds the known properties of the electricity of pools (electricity.c); all pools must be built.
   The second one frees them; it accepts NULL. */
enum hr_status hr__build_electricity(struct hr__builder *builder);
void hr__electricity_destroy(struct hr_electricity_set *set);
/* Builds the maintenance of the nodes, from 'maintenance' of the pool or of the cluster (faults.c). */
enum hr_status hr__build_maintenance(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Builds `autoscaler` of a cluster. The pools must have been built. */
enum hr_status hr__build_autoscaler(struct hr__builder *builder, const cJSON *cluster);
/* Builds the power of the nodes, from 'power' of the pool or of the cluster (electricity.c). The GPU type must be
   known. */
enum hr_status hr__build_power(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Sets and checks the power budget of a cluster with the pools from `first` to `end` - 1. */
enum hr_status hr__build_power_budget(struct hr__builder *builder, const cJSON *cluster, uint32_t first, uint32_t end);
/* Checks the parameters of a random duration: all those of its distribution are required, and any other one is an
   error. `object` may be NULL. */
enum hr_status hr__check_duration(struct hr__builder *builder, const cJSON *object);

/* ---- Recorded spot capacity and prices (spot_records.c) ------------------------------------------------ */

/* Readers of recorded spot capacity and recorded spot prices. */

/* The number of available spot nodes over time. After `period_us` the record repeats. */
struct hr__spot_levels {
  struct hr_level_step *steps; /* steps in order of time, the first one at 0; the caller frees them */
  uint32_t n_steps;
  int64_t period_us; /* length of the record, in microseconds */
};

/*
 * Reads a record of the number of spot nodes over time. The format is detected by the content. Files that are not JSON
 * may be compressed. The formats are:
 *   - availability or preemption as recorded by SkyPilot: JSON, {"metadata": {"gap_seconds": G}, "data": [N, ...]};
 *   - fleets as recorded by Bamboo: lines `MILLISECONDS,add|remove,NODE`, without a header;
 *   - counts of nodes: lines `YYYY-MM-DD, HH:MM:SS, COUNT`.
 * Counts are scaled so that the maximum becomes `n_nodes`, rounded half up. Assumptions are added to `notes`. The
 * caller frees `levels->steps`. Errors: HR_BAD_INPUT with file and line, HR_NO_MEMORY, or the status of opening the
 * file.
 */
enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error);

/* The spot price over time. */
struct hr__spot_prices {
  struct hr_price_step *steps; /* prices per GPU-hour in order of time, the first one at 0; the caller frees them */
  uint32_t n_steps;
};

/* Selects rows of a record of prices. */
struct hr__spot_price_query {
  const char *instance; /* instance type; NULL: rows are selected by accelerator */
  /* name of the accelerator in the record, for rows with `gpus` accelerators; NULL: rows are selected by instance
     type */
  const char *accelerator;
  const char *region;       /* region; NULL: any region */
  const char *const *zones; /* [n_zones] names of zones */
  size_t n_zones;           /* number of zones; 0: all zones */
  uint32_t gpus;            /* GPUs of a node */
  int64_t from_s; /* Unix time of the start of the run; HR_UNKNOWN_US: the run starts at the first recorded price */
};

/* Reads a list of price changes, plain or compressed. The file is a CSV with the columns unix_time, instance_type,
   region, availability_zone and spot_usd_per_h. For accelerators it also has the columns accelerator and
   accelerator_count. If several zones match, the lowest of their prices applies at each time. A price applies until
   the next change. Gaps of more than 48 hours are noted. The caller frees `prices->steps`. Errors: HR_BAD_INPUT with
   file and line, HR_NO_MEMORY, or the status of opening the file. */
enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error);

/* ---- Shipped workload models ------------------------------------------------------------------------- */

/* The bytes of the shipped workload models. They are embedded in the library when it is built. */

#define HR__EMBEDDED_WORKLOAD(name)                                                                                    \
  extern const unsigned char hr__workload_##name[];                                                                    \
  extern const size_t hr__workload_##name##_size;

HR__EMBEDDED_WORKLOAD(philly)
HR__EMBEDDED_WORKLOAD(helios)
HR__EMBEDDED_WORKLOAD(pai)
HR__EMBEDDED_WORKLOAD(acme_seren)
HR__EMBEDDED_WORKLOAD(acme_kalos)

#endif
