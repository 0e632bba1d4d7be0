/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_BUILDER_H
#define HR_SCENARIOS_BUILD_BUILDER_H

/*
 * Builds a scenario from a JSON tree, section by section. The tree must already match its key table. hr__read() stores
 * the values (builder.c). The function of each section checks what a key table cannot express: known names, sums, keys
 * that exclude each other. The message of an error begins with the file, line and column of the value. If a value is
 * missing, they are those of the object that should contain it.
 *
 * Ownership: everything that a section stores in the scenario is freed with the scenario, also if a later step fails.
 *
 * Errors of all functions, unless stated otherwise: HR_BAD_INPUT with the place of the value, HR_NO_MEMORY, or the
 * status of a file that could not be read.
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
  struct hr__pool_note *at; /* [count] */
  size_t count;
};

/* State of building a document: the document, and the scenario that is built from it. */
struct hr__builder {
  struct hr__source source;
  struct hr_scenario *scenario; /* NULL for suites, grids and baselines */
  struct hr_error *error;
  /* the catalogue, including the rows that files of the scenario add; NULL before hr__open_catalog() */
  const struct hr_catalog *catalog;
  struct hr_catalog *own_catalog;          /* equal to `catalog` if this builder has loaded it; otherwise NULL */
  const struct hr_catalog *shared_catalog; /* the built-in catalogue, if the caller has loaded it; otherwise NULL */
  struct hr__pool_notes *pool_notes;       /* NULL, except while pools are built */
  bool is_candidate;                       /* see hr_scenario_load_candidate */
};

/* ---- Sections, in the order in which they are built ------------------------------------------------- */

/* Each hr__build_ function without another comment builds the section of its name from the root object. The section
   may be missing if it is optional. Errors: see the beginning of this file. */
enum hr_status hr__build_cluster(struct hr__builder *builder);
/* Checks that the scenario has either `cluster` or `clusters`, and `router` only together with `clusters`. */
enum hr_status hr__check_cluster_sections(struct hr__builder *builder);
/* Builds `clusters`, `router`, and the list of the pools of all clusters. Calls hr__build_part() for each cluster. Does
   nothing if the scenario has no `clusters`. */
enum hr_status hr__build_clusters(struct hr__builder *builder);
/* Returns the index of the cluster with this name; HR_NONE: no cluster has it. */
static inline uint32_t hr__cluster_named(const struct hr_scenario_clusters *clusters, const char *name) {
  for (uint32_t i = 0; i < clusters->count; i++)
    if (strcmp(clusters->at[i].name, name) == 0) return i;
  return HR_NONE;
}
/* Builds the sections that belong to one cluster: its policy, pools, classes, speeds, quotas and systems. */
enum hr_status hr__build_part(struct hr__builder *builder);
/* Frees what hr__build_clusters() has built, including the list of the pools of all clusters. Does nothing for a
   scenario without `clusters`. */
void hr__clusters_destroy(struct hr_scenario *scenario);
enum hr_status hr__build_classes(struct hr__builder *builder);
enum hr_status hr__build_models(struct hr__builder *builder);
enum hr_status hr__build_network_speeds(struct hr__builder *builder);
enum hr_status hr__build_scaling(struct hr__builder *builder);
enum hr_status hr__build_costs(struct hr__builder *builder);
enum hr_status hr__build_quotas(struct hr__builder *builder);
enum hr_status hr__build_systems(struct hr__builder *builder); /* must be called after the policy is built */
/* Builds `data`, and finds the data sets with the weights of services. Must be called after the cluster and the
   services are built. */
enum hr_status hr__build_data(struct hr__builder *builder);
struct hr_data_spec;
/* Frees what hr__build_data() has built. NULL is accepted. */
void hr__data_destroy(struct hr_data_spec *spec);
enum hr_status hr__build_plan(struct hr__builder *builder); /* must be called after the cluster is built */
enum hr_status hr__build_tco(struct hr__builder *builder);  /* must be called after the cluster is built */

/* Checks rules of the section `kueue` that concern several keys, and completes `config`. `config` is a struct
   hr_kueue_config in which hr__read() has stored the section. */
enum hr_status hr__check_kueue(struct hr__builder *builder, const cJSON *section, void *config);
enum hr_status hr__build_services(struct hr__builder *builder); /* must be called after the cluster is built */
struct hr_service;
/* Checks the engine, the memory and the cost of a service, and sets their defaults. `entry` is the object of the
   service; hr__read() has stored its values in `service`. */
enum hr_status hr__build_engine(struct hr__builder *builder, const cJSON *entry, struct hr_service *service);
/* Handles the result `status` of a check whether a service can run. For a candidate of a plan, HR_BAD_INPUT is not an
   error: stores its message in hr_services.unfit, unless there is one already, and returns HR_OK. In all other cases
   returns `status`. */
enum hr_status hr__build_unfit(struct hr__builder *builder, enum hr_status status);
/* Checks that some pool of the cluster of a service can hold a replica. Adds a note if the pools hold fewer replicas
   than the service needs. See replicas.c. */
enum hr_status hr__check_replica(struct hr__builder *builder, const cJSON *entry, const struct hr_service *service);
/* Returns the first pool that could hold a replica if it had enough nodes; HR_NONE: no pool could. Pools with nodes
   have precedence over pools without nodes. */
uint32_t hr__service_pool(const struct hr_scenario *scenario, const struct hr_service *service);
/* Adds a note if the replicas can run on GPUs of several types, because their speed is then the same on all types. */
enum hr_status hr__note_other_gpus(struct hr__builder *builder, const struct hr_service *service);
/* Frees what hr__build_services() has built. NULL is accepted. */
void hr__services_destroy(struct hr_services *all);
/* Checks a scenario as hr_scenario_load() does. `text` is the content of the file. `path` is its path: it is used for
   messages, and relative paths in the scenario are relative to its folder. */
enum hr_status hr__scenario_check(const char *path, const char *text, const char *const *overrides, size_t n_overrides,
                                  struct hr_error *error);

/* Frees what hr__build_systems() has built. NULL is accepted. */
void hr__systems_destroy(struct hr_systems *all);
/* Frees the members of `source`, not `source` itself. */
void hr__pool_source_finish(struct hr_pool_source *source);

/* Frees the members of `placed`. */
static inline void hr__placed_finish(struct hr_placed_text *placed) {
  free(placed->text);
  free(placed->place);
}
/* Frees an array of `count` strings, and the strings. `texts` may be NULL if `count` is 0. */
static inline void hr__grid_texts_free(char **texts, size_t count) {
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
}

/* ---- Errors and notes ------------------------------------------------------------------------------- */

/* Reports that memory ran out. Returns HR_NO_MEMORY. */
static inline enum hr_status hr__build_no_memory(const struct hr__builder *builder) {
  return hr_fail(builder->error, HR_NO_MEMORY, "%s: out of memory", builder->source.path);
}

/* Report an error: hr__build_fail() at a value, hr__build_fail_key() at the key of this value. Both return
   HR_BAD_INPUT. */
enum hr_status hr__build_fail(const struct hr__builder *builder, const cJSON *value, const char *format, ...)
    HR_PRINTF(3, 4);
enum hr_status hr__build_fail_key(const struct hr__builder *builder, const cJSON *value, const char *format, ...)
    HR_PRINTF(3, 4);
/* Checks that all texts of a list are different. `list` may be NULL. The only error is HR_BAD_INPUT: a text is
   repeated. */
enum hr_status hr__build_check_distinct(const struct hr__builder *builder, const cJSON *list);
/* Reports an error at the member `name` of an object, or at the object if it does not have this member. Returns
   HR_BAD_INPUT. */
enum hr_status hr__build_fail_at(const struct hr__builder *builder, const cJSON *object, const char *name,
                                 const char *format, ...) HR_PRINTF(4, 5);
/* A key that has no effect if another key is present, or if another key is missing. */
struct hr__idle_key {
  const char *key, *other;
  bool beside; /* true: `key` has no effect if `other` is present; false: if `other` is missing */
};
/* Checks that an object has no key without effect. The only error is HR_BAD_INPUT at such a key. The last row has the
   key NULL. */
enum hr_status hr__build_check_idle(const struct hr__builder *builder, const cJSON *object,
                                    const struct hr__idle_key *rows);
/* Reports the error `inner` of a function that returned `status`. If `status` is HR_BAD_INPUT, the message begins with
   the place of the value. Does nothing if `status` is HR_OK. Returns `status`. */
enum hr_status hr__build_wrap(const struct hr__builder *builder, const cJSON *value, enum hr_status status,
                              const struct hr_error *inner);
/* Stores copies of `text` and of the place of a value ("FILE:LINE:COLUMN: ") in `placed`. The caller frees both members
   of `placed`, also after an error. The only error is HR_NO_MEMORY. */
enum hr_status hr__build_placed(const struct hr__builder *builder, const cJSON *value, const char *text,
                                struct hr_placed_text *placed);

/* Adds a note to the scenario. The only error is HR_NO_MEMORY. */
enum hr_status hr__build_note(const struct hr__builder *builder, const char *format, ...) HR_PRINTF(2, 3);
/* Adds a note on a pool to `builder->pool_notes`, which must not be NULL. Pools with the same text share one note:
   "pools 'a', 'b': ...". The only error is HR_NO_MEMORY. */
enum hr_status hr__pool_note(const struct hr__builder *builder, const char *pool, const char *format, ...)
    HR_PRINTF(3, 4);
/* Appends the notes to `to`, in the order of their first pool. If `to` is NULL, the notes are dropped. Frees the
   entries of `notes` in all cases. The only error is HR_NO_MEMORY. */
enum hr_status hr__pool_notes_move(struct hr__pool_notes *notes, struct hr_notes *to);

/* ---- The tree --------------------------------------------------------------------------------------- */

/* Returns the member `name`; NULL if it does not exist or `object` is NULL. */
static inline const cJSON *hr__get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Returns true if the member `name` exists. Returns false if `object` or `name` is NULL. */
static inline bool hr__has(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

/* Returns the first entry of the list or object `name`; NULL if there is none. */
static inline const cJSON *hr__first(const cJSON *object, const char *name) {
  const cJSON *member = hr__get(object, name);
  return member ? member->child : NULL;
}

/* The next functions return the value of the member `name`, or `fallback` if it does not exist. The key table must have
   checked the type of the value. A text belongs to the tree. */

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
   double is first converted to the shortest decimal that reads back as the same double. The product is rounded to the
   nearest whole number, halves away from 0. */
int64_t hr__micros(const cJSON *number);
static inline int64_t hr__micros_of(const cJSON *object, const char *name, int64_t fallback) {
  const cJSON *member = hr__get(object, name);
  return member ? hr__micros(member) : fallback;
}

/* Returns the index of the text of a member in `words`, which NULL ends. Returns `fallback` if the member does not
   exist or its text is not in `words`. */
static inline size_t hr__choice_of(const cJSON *object, const char *name, const char *const *words, size_t fallback) {
  const char *word = hr__text_of(object, name, NULL);
  for (size_t i = 0; word && words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return fallback;
}

/* Returns a * b / c, rounded half up. No number may be negative, and c must be above 0. */
static inline int64_t hr__money_scale(int64_t a, int64_t b, int64_t c) {
  return (int64_t)(((hr_amount)a * b * 2 + c) / ((hr_amount)c * 2));
}

/* Returns the first entry of a list that has the same text as an entry before it; NULL if all texts differ. The text is
   that of the member `name`, or the entry itself if `name` is NULL. `list` may be NULL. */
const cJSON *hr__repeated(const cJSON *list, const char *name);

/* Returns a scalar as text. A number is formatted as the shortest decimal that reads back as the same double. The
   text is in `buffer` or belongs to the tree. */
const char *hr__scalar_text(const cJSON *value, char buffer[32]);

/* ---- Files ------------------------------------------------------------------------------------------ */

/* Returns the path of a file that is named in the source file. Relative paths are relative to the folder of the
   source file. A "../" at the start of `file` removes the last component of this folder. This is done only if the
   component is an existing folder and neither a symbolic link nor "..". If the builder builds a scenario, the path is
   added to the list of files of this scenario. Returns NULL if out of memory. The caller frees the path. */
char *hr__resolve(const struct hr__builder *builder, const char *file);

/* Returns the name of a file without folder and suffix: "demo" for "scenarios/demo.json"; NULL: out of memory. The
   caller frees it. */
char *hr__stem(const char *path);

/* Sets `builder->catalog` if it is NULL. If there is a shared catalogue and the scenario has no section `catalog`, uses
   the shared catalogue. Otherwise loads the built-in catalogue and the files that this section names. */
enum hr_status hr__open_catalog(struct hr__builder *builder);

/* ---- The reader of values: builder.c ----------------------------------------------------------- */

/* Stores the members of `object` in the struct at `to`. `keys` is the table of the object.
   - A key that is missing gets its constant default. If it has no such default, its member of the struct is not
     changed. If `object` is NULL, all keys are missing.
   - Texts and arrays are allocated with malloc, except HR__STORE_BORROWED. The caller frees them, also after an error;
     the count of an array includes the entry at which an error occurred.
   - HR__STORE_BY_CLASS has an entry for each class of jobs. Classes that are not listed get the values of "default", if
     it is listed.
   The only error is HR_NO_MEMORY. */
enum hr_status hr__read(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Does the same as hr__read() with the table at `path` in the keys of a scenario; see hr__table_of(). */
enum hr_status hr__read_at(struct hr__builder *builder, const cJSON *object, const char *path, void *to);
/* Stores the members of `object` as hr__read() does, except those with the type object or list. */
enum hr_status hr__read_values(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Frees the texts and arrays that hr__read() has stored in a struct, not the struct itself. HR__STORE_PLACED and
   HR__STORE_BY_CLASS are not freed. */
void hr__finish_values(const struct hr__key *keys, void *object);
/* Checks the members of an object that are allowed only with certain values of a choice (`only_with` of their rows).
   The choice is the row of `keys` with `selects`. `choice` is its value, and `noun` its name in messages, such as "spot
   model". If `complete` is set, members that this value needs must exist. The only error is HR_BAD_INPUT. */
enum hr_status hr__check_choice(const struct hr__builder *builder, const cJSON *object, const struct hr__key *keys,
                                const char *noun, unsigned choice, bool complete);

/* Returns the table of the object at a path, such as "replications.workload", in a document with the outermost object
   `root`. The path must exist. If a component names a list, the next component names a key of its entries. */
const struct hr__key *hr__table_of(const struct hr__key *root, const char *path);

/* ---- Pools --------------------------------------------------------------------------------------------- */

/* A pool while it is built. */
struct hr__pool_draft {
  const cJSON *entry;                  /* object of the pool in the file */
  struct hr_pool_spec pool;            /* its strings belong to the tree or to the catalogue */
  struct hr_pool_source *source;       /* entry of hr_scenario.pool_sources; freed with the scenario */
  uint32_t zone;                       /* zone number of a spot pool, see hr_spot_spec */
  const struct hr_spot_preset *preset; /* row of the catalogue; NULL: no preset */
};

/* Returns the value of `cluster` that defines the nodes: 'pools' or 'nodes_file'. It is the place of errors that
   concern all pools. */
static inline const cJSON *hr__nodes_place(const struct hr__builder *builder) {
  const cJSON *cluster = hr__get(builder->source.file.tree, "cluster"), *pools = hr__get(cluster, "pools");
  return pools ? pools : hr__get(cluster, "nodes_file");
}

/* Returns the index of the pool whose name is the first `length` bytes of `name`; HR_NONE: no pool has it. */
uint32_t hr__pool_named(const struct hr_cluster_spec *cluster, const char *name, size_t length);

/* Sets `*nearest` to the name of a pool that is most similar to `word`; NULL: none is similar. Returns false if memory
   runs out. */
bool hr__nearest_pool(const struct hr_cluster_spec *cluster, const char *word, const char **nearest);

/* Returns the value of a key of the pool with the object `entry`. If the pool lacks the key, returns the value of the
   cluster; NULL if it lacks the key, too. */
static inline const cJSON *hr__inherited(const struct hr__builder *builder, const cJSON *entry, const char *name) {
  const cJSON *own = hr__get(entry, name);
  return own ? own : hr__get(hr__get(builder->source.file.tree, "cluster"), name);
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

/* Builds the failures of the nodes, from 'faults' of the pool or of the cluster (faults.c). Must be called after the
   topology of the pool is built. */
enum hr_status hr__build_faults(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Builds the carbon intensity, price and water of the electricity of pools (electricity.c). Must be called after all
   pools are built. */
enum hr_status hr__build_electricity(struct hr__builder *builder);
/* Frees what hr__build_electricity() has built. NULL is accepted. */
void hr__electricity_destroy(struct hr_electricity_set *set);
/* Builds the maintenance of the nodes, from 'maintenance' of the pool or of the cluster (faults.c). */
enum hr_status hr__build_maintenance(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Builds `autoscaler` of the cluster with the object `cluster`. Must be called after its pools are built. */
enum hr_status hr__build_autoscaler(struct hr__builder *builder, const cJSON *cluster);
/* Builds the power of the nodes, from 'power' of the pool or of the cluster (electricity.c). Must be called after the
   market and the failures of the pool are built. */
enum hr_status hr__build_power(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks the power budget of a cluster and stores it in the pools from `first` to `end` - 1. */
enum hr_status hr__build_power_budget(struct hr__builder *builder, const cJSON *cluster, uint32_t first, uint32_t end);
/* Checks the parameters of a random duration. All parameters of its distribution are required; all others are errors.
   If `object` is NULL, there is nothing to check. */
enum hr_status hr__check_duration(struct hr__builder *builder, const cJSON *object);

/* ---- Recorded spot capacity and prices (spot_records.c) ------------------------------------------------ */

/* The number of available spot nodes over time. After `period_us`, the record repeats. */
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
