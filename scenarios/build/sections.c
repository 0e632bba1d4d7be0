/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sections `classes`, `costs` and `quotas` of a scenario. */

#include "scenarios/build/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Classes ------------------------------------------------------------------------------------------- */

/* `classes`: properties of the jobs of each class, such as checkpoints, restart overhead, use of spot capacity, and
   topology request. "default" applies to classes that are not listed and to jobs without a class. A listed class
   inherits nothing from "default". */

#define WORD(name, text) text,
static const char *const tiers[] = {HR_TIER_TABLE(WORD) NULL};

/* Checks the keys of `checkpoint`: 'interval' needs `interval_s`, other checkpoint policies must not have it. Also
   checks the keys `async` and `stall_s`. */
static enum hr_status check_checkpoint(struct hr__builder *builder, const cJSON *checkpoint,
                                       const struct hr_class_spec *spec) {
  bool has_interval = hr__has(checkpoint, "interval_s"), wants_interval = spec->checkpoint == HR_CHECKPOINT_INTERVAL;
  if (wants_interval && !has_interval)
    return hr__build_fail(builder, checkpoint,
                          "the checkpoint policy 'interval' needs 'interval_s', the work between two checkpoints");
  if (has_interval && !wants_interval)
    return hr__build_fail_at(builder, checkpoint, "interval_s",
                             "'interval_s' has no effect with the checkpoint policy '%s'; it needs 'interval'",
                             hr_checkpoint_name(spec->checkpoint));
  if (spec->async && spec->checkpoint != HR_CHECKPOINT_INTERVAL && spec->checkpoint != HR_CHECKPOINT_YOUNG_DALY)
    return hr__build_fail_at(builder, checkpoint, "async",
                             "'async' has no effect with the checkpoint policy '%s'; it needs 'interval' or "
                             "'young-daly'",
                             hr_checkpoint_name(spec->checkpoint));
  if (hr__has(checkpoint, "stall_s") && !spec->async)
    return hr__build_fail_at(builder, checkpoint, "stall_s", "'stall_s' has no effect without 'async'");
  if (spec->stall_us > 0 && spec->write_us > 0 && spec->stall_us >= spec->write_us)
    return hr__build_fail_at(builder, checkpoint, "stall_s",
                             "the stall of %.10g s must be shorter than the 'write_s' of the checkpoint, %.10g s",
                             (double)spec->stall_us / 1e6, (double)spec->write_us / 1e6);
  return HR_OK;
}

static bool every_storage_is_known(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (!cluster->pools[i].storage_mib_s) return false;
  return true;
}

static bool writes_checkpoints(enum hr_checkpoint checkpoint) {
  return checkpoint == HR_CHECKPOINT_INTERVAL || checkpoint == HR_CHECKPOINT_YOUNG_DALY ||
         checkpoint == HR_CHECKPOINT_ON_NOTICE;
}

/* Adds a note if a checkpoint takes no time, because results are then too optimistic. */
static enum hr_status note_free_checkpoints(const struct hr__builder *builder, const char *class_,
                                            const struct hr_class_spec *spec) {
  struct hr_scenario *scenario = builder->scenario;
  bool is_timed = spec->write_us || (spec->checkpoint_mib && every_storage_is_known(&scenario->cluster));
  if (!writes_checkpoints(spec->checkpoint) || is_timed) return HR_OK;
  enum hr_status status = hr_notes_add(
      &scenario->notes,
      "classes.%s: %s, so a checkpoint takes no time (except for jobs with a size of checkpoints in the trace, in "
      "pools with storage_gb_s)",
      class_,
      spec->checkpoint_mib ? "a pool has no storage_gb_s, and there is no write_s" : "there is neither gb nor write_s");
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Reads `topology`, with keys as in Kueue (`required`, `preferred`) and Slurm (`--switches=1@wait`). With
   `required`, a job waits without limit for a place within one group of nodes (a node, a rack, ...). With
   `preferred`, a job waits for such a place until `wait_s` seconds after its submission. */
static enum hr_status build_topology(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  const cJSON *topology = hr__get(class_, "topology");
  if (!topology) return HR_OK;
  bool required = hr__has(topology, "required"), preferred = hr__has(topology, "preferred");
  if (required && preferred)
    return hr__build_fail_at(builder, topology, "preferred", "'preferred' contradicts 'required'; use one of them");
  if (hr__has(topology, "wait_s") && !preferred)
    return hr__build_fail_at(builder, topology, "wait_s", "'wait_s' has no effect without 'preferred'%s",
                             required ? ": a job never starts outside a group that is 'required'" : "");
  spec->within = (uint8_t)hr__choice_of(topology, required ? "required" : "preferred", tiers, HR_TIER_ANY);
  spec->within_wait_us = preferred ? hr__span_of(topology, "wait_s", 0) : HR_UNKNOWN_US;
  return HR_OK;
}

/* Adds a note that the key `within` has been renamed. The note begins with the place of `within` in the file. `waits`
   is true if the class also has the old key `within_wait_s`. */
static enum hr_status note_old_within(struct hr__builder *builder, const cJSON *class_, bool waits) {
  struct hr_error place;
  hr__source_fail(&builder->source, hr__get(class_, "within"), false, &place, "%s", "");
  if (waits)
    return hr__build_note(builder,
                          "%skeys 'within' and 'within_wait_s' are now 'topology.preferred' and 'topology.wait_s'; the "
                          "old names still work",
                          place.text);
  return hr__build_note(builder, "%skey 'within' is now 'topology.required'; the old name still works", place.text);
}

/* Reads the old keys `within` and `within_wait_s`. `within` alone means `topology.required`. With `within_wait_s`, it
   means `topology.preferred`, and `within_wait_s` means `topology.wait_s`. */
static enum hr_status build_within(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  bool waits = hr__has(class_, "within_wait_s"), tier = hr__has(class_, "within");
  if (!tier && !waits) return HR_OK;
  if (hr__has(class_, "topology"))
    return hr__build_fail_at(builder, class_, tier ? "within" : "within_wait_s",
                             "'%s' and 'topology' exclude each other; use 'topology'",
                             tier ? "within" : "within_wait_s");
  if (!tier)
    return hr__build_fail_at(builder, class_, "within_wait_s", "'within_wait_s' has no effect without 'within'");
  spec->within = (uint8_t)hr__choice_of(class_, "within", tiers, HR_TIER_ANY);
  spec->within_wait_us = hr__span_of(class_, "within_wait_s", HR_UNKNOWN_US);
  return note_old_within(builder, class_, waits);
}

/* Checks the specification of a class, and sets its topology request. */
static enum hr_status build_class(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  const cJSON *checkpoint = hr__get(class_, "checkpoint");
  spec->within_wait_us = HR_UNKNOWN_US;
  enum hr_status status = build_topology(builder, class_, spec);
  if (status == HR_OK) status = build_within(builder, class_, spec);
  if (status == HR_OK && checkpoint) status = check_checkpoint(builder, checkpoint, spec);
  if (status == HR_OK && spec->no_requeue && hr__has(class_, "max_requeues"))
    return hr__build_fail_at(builder, class_, "max_requeues", "'max_requeues' has no effect if 'requeue' is false");
  return status == HR_OK && checkpoint ? note_free_checkpoints(builder, class_->string, spec) : status;
}

enum hr_status hr__build_classes(struct hr__builder *builder) {
  const cJSON *classes = hr__get(builder->source.file.tree, "classes");
  struct hr_class_spec fallback = {0}, *specs = builder->scenario->classes;
  for (const cJSON *class_ = classes ? classes->child : NULL; class_; class_ = class_->next) {
    unsigned index = 0; /* in hr__class_keys; 0: "default" */
    while (strcmp(hr__class_keys[index], class_->string) != 0) index++;
    struct hr_class_spec *spec = index ? &specs[index] : &fallback;
    enum hr_status status = hr__read_at(builder, class_, "classes.default", spec);
    if (status == HR_OK) status = build_class(builder, class_, spec);
    if (status != HR_OK) return status;
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (i == 0 || !hr__get(classes, hr__class_keys[i])) specs[i] = fallback;
  return HR_OK;
}

/* ---- Costs --------------------------------------------------------------------------------------------- */

/*
 * `costs`: storage, egress, operations, downtime, budgets and savings plans.
 *
 * hr__read() stores all values. Only names are checked here: those of tenants, pools and GPU types.
 */

static enum hr_status check_budgets(struct hr__builder *builder, const cJSON *list) {
  const cJSON *entry = hr__repeated(list, "tenant");
  if (!entry) return HR_OK;
  return hr__build_fail_at(builder, entry, "tenant", "duplicate budget for '%.60s'; keep one",
                           hr__text_of(entry, "tenant", ""));
}

/* ---- Savings plans ---------------------------------------------------------------------------------- */

/* A function that returns the text by which a savings plan selects pools. There are two such functions: one returns
   the name of a pool, the other returns its GPU type. */
typedef const char *pool_text(const struct hr_pool_spec *pool);

static const char *name_of(const struct hr_pool_spec *pool) {
  return pool->name;
}

static const char *gpu_of(const struct hr_pool_spec *pool) {
  return pool->gpu;
}

/* Checks that the text in `value` is the name (or GPU type, see `text_of`) of an on-demand pool. Savings plans apply to
   on-demand capacity only. */
static enum hr_status check_covered(const struct hr__builder *builder, const cJSON *value, pool_text *text_of) {
  const char *name = value->valuestring;
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const char **known = calloc((size_t)cluster->n_pools + 1, sizeof *known);
  if (!known) return hr__build_no_memory(builder);
  size_t count = 0;
  bool found = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (cluster->pools[i].market.market != HR_MARKET_ON_DEMAND) continue;
    known[count++] = text_of(&cluster->pools[i]);
    found = found || strcasecmp(known[count - 1], name) == 0;
  }
  const char *nearest = hr_nearest_word(name, known);
  enum hr_status status = HR_OK;
  if (!found)
    status = hr__build_fail(builder, value, "no on-demand pool has the %s '%.60s'%s%s%s",
                            text_of == name_of ? "name" : "GPU type", name, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status check_plans(struct hr__builder *builder, const cJSON *list) {
  for (const cJSON *plan = list ? list->child : NULL; plan; plan = plan->next) {
    const cJSON *name;
    enum hr_status status = HR_OK;
    cJSON_ArrayForEach(name, hr__get(plan, "pools")) if (status == HR_OK) status =
        check_covered(builder, name, name_of);
    cJSON_ArrayForEach(name, hr__get(plan, "gpus")) if (status == HR_OK) status = check_covered(builder, name, gpu_of);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

enum hr_status hr__build_costs(struct hr__builder *builder) {
  const cJSON *costs = hr__get(builder->source.file.tree, "costs");
  struct hr_cost_spec *spec = &builder->scenario->costs;
  enum hr_status status = hr__read_at(builder, costs, "costs", spec);
  if (status == HR_OK) status = check_budgets(builder, hr__get(costs, "budgets"));
  return status == HR_OK ? check_plans(builder, hr__get(costs, "savings_plans")) : status;
}

/* ---- Quotas -------------------------------------------------------------------------------------------- */

/*
 * `quotas`: a forest of cohorts with tenants as leaves, as in Kueue and KAI.
 *
 * Cohorts may be listed in any order. In struct hr_quota_spec, a parent precedes its children, and all cohorts precede
 * the tenants. Amounts are in milli-GPUs. A share is a part of the GPUs of all nodes of the cluster.
 */

struct quotas {
  struct hr__builder *builder;
  const cJSON *object;
  struct hr_quota_spec *spec;
  uint64_t total_milli; /* GPUs of all nodes of the cluster, in milli-GPUs */
  /* the arrays are in the order of the cohorts in the file */
  uint32_t n_cohorts;
  const char **names; /* names, NULL-terminated */
  uint32_t *parents;  /* index of the parent of each cohort in the list; HR_NONE: no parent */
  uint32_t *places;   /* index of each cohort in the spec; HR_NONE: not in the spec yet */
};

static double gpus(uint64_t milli) {
  return (double)milli / 1000;
}

static const cJSON *list_of(const struct quotas *quotas, const char *name) {
  return hr__get(quotas->object, name);
}

/* ---- A quota ---------------------------------------------------------------------------------------- */

/* If the object has `share_key`, sets `*milli` to this share of all GPUs. Otherwise does not change `*milli`, which is
   the value of `gpus_key`. An object with both keys is an error. */
static enum hr_status read_share(const struct quotas *quotas, const cJSON *object, const char *gpus_key,
                                 const char *share_key, uint64_t *milli) {
  if (hr__has(object, gpus_key) && hr__has(object, share_key))
    return hr__build_fail_at(quotas->builder, object, share_key, "'%s' and '%s' exclude each other; keep one", gpus_key,
                             share_key);
  if (hr__has(object, share_key))
    *milli = (uint64_t)llround(hr__number_of(object, share_key, 0) * (double)quotas->total_milli);
  return HR_OK;
}

static const char *present(const cJSON *object, const char *one, const char *other) {
  return hr__has(object, one) ? one : other;
}

static enum hr_status check_guarantee(const struct quotas *quotas, const cJSON *object,
                                      const struct hr_quota_node *node) {
  if (node->guaranteed_milli <= node->max_milli) return HR_OK;
  return hr__build_fail_at(quotas->builder, object, present(object, "guaranteed_gpus", "guaranteed_share"),
                           "the guarantee, %.10g GPUs, is larger than the maximum, %.10g", gpus(node->guaranteed_milli),
                           gpus(node->max_milli));
}

static enum hr_status check_lending(const struct quotas *quotas, const cJSON *object, uint64_t guaranteed_milli) {
  uint64_t lend_milli = (uint64_t)llround(hr__number_of(object, "lend_gpus", 0) * 1000);
  if (lend_milli <= guaranteed_milli) return HR_OK;
  return hr__build_fail_at(quotas->builder, object, "lend_gpus",
                           "%.10g GPUs may be lent, but only %.10g are guaranteed", gpus(lend_milli),
                           gpus(guaranteed_milli));
}

static enum hr_status read_node(const struct quotas *quotas, const cJSON *object, struct hr_quota_node *node) {
  *node = (struct hr_quota_node){
      .parent = HR_NONE, .borrow_milli = HR_NO_LIMIT, .lend_milli = HR_NO_LIMIT, .max_milli = HR_NO_LIMIT};
  enum hr_status status = hr__read_at(quotas->builder, object, "quotas.default", node);
  if (status == HR_OK)
    status = read_share(quotas, object, "guaranteed_gpus", "guaranteed_share", &node->guaranteed_milli);
  if (status == HR_OK) status = read_share(quotas, object, "max_gpus", "max_share", &node->max_milli);
  return status == HR_OK ? check_guarantee(quotas, object, node) : status;
}

/* Appends a node to the spec. */
static enum hr_status add_node(const struct quotas *quotas, struct hr_quota_node node, const char *name) {
  node.name = strdup(name);
  if (!node.name) return hr__build_no_memory(quotas->builder);
  quotas->spec->nodes[quotas->spec->n_nodes++] = node;
  return HR_OK;
}

/* ---- Cohorts ---------------------------------------------------------------------------------------- */

/* The member `key` of `object` is the name of a cohort. Sets `*found` to the index of this cohort, or to HR_NONE if
   the member does not exist. The error for an unknown name suggests the most similar name, if a similar name exists. */
static enum hr_status find_cohort(const struct quotas *quotas, const cJSON *object, const char *key, uint32_t *found) {
  const char *name = hr__text_of(object, key, NULL);
  *found = HR_NONE;
  if (!name) return HR_OK;
  for (uint32_t i = 0; i < quotas->n_cohorts; i++)
    if (strcmp(quotas->names[i], name) == 0) *found = i;
  if (*found != HR_NONE) return HR_OK;
  const char *nearest = hr_nearest_word(name, quotas->names);
  return hr__build_fail_at(quotas->builder, object, key, "unknown cohort '%.60s'%s%.60s%s", name,
                           nearest ? "; did you mean '" : "; 'quotas.cohorts' lists them", nearest ? nearest : "",
                           nearest ? "'?" : "");
}

static enum hr_status read_cohort_names(struct quotas *quotas, const cJSON *list) {
  const cJSON *entry = hr__repeated(list, "name");
  if (entry)
    return hr__build_fail_at(quotas->builder, entry, "name", "duplicate cohort '%.60s'; keep one",
                             hr__text_of(entry, "name", ""));
  cJSON_ArrayForEach(entry, list) quotas->names[quotas->n_cohorts++] = hr__text_of(entry, "name", "");
  return HR_OK;
}

static enum hr_status read_parents(struct quotas *quotas, const cJSON *list) {
  uint32_t index = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next, index++) {
    enum hr_status status = find_cohort(quotas, entry, "parent", &quotas->parents[index]);
    if (status != HR_OK) return status;
    quotas->places[index] = HR_NONE;
  }
  return HR_OK;
}

/* Appends a cohort to the spec unless it is already there. If its parent is not in the spec yet, does nothing: a later
   pass over the list appends the cohort. */
static enum hr_status place_cohort(struct quotas *quotas, const cJSON *entry, uint32_t index) {
  uint32_t parent = quotas->parents[index];
  if (quotas->places[index] != HR_NONE || (parent != HR_NONE && quotas->places[parent] == HR_NONE)) return HR_OK;
  struct hr_quota_node node;
  enum hr_status status = read_node(quotas, entry, &node);
  if (status != HR_OK) return status;
  node.parent = parent == HR_NONE ? HR_NONE : quotas->places[parent];
  quotas->places[index] = quotas->spec->n_nodes;
  return add_node(quotas, node, quotas->names[index]);
}

/* Reports a cycle of parents. Each cohort that is not in the spec is in a cycle, or one of its ancestors is. From such
   a cohort, n_cohorts steps from child to parent end at a cohort in the cycle. */
static enum hr_status fail_at_cycle(const struct quotas *quotas, const cJSON *list) {
  uint32_t index = 0;
  while (quotas->places[index] != HR_NONE) index++;
  for (uint32_t i = 0; i < quotas->n_cohorts; i++) index = quotas->parents[index];
  const cJSON *entry = cJSON_GetArrayItem(list, (int)index);
  return hr__build_fail_at(quotas->builder, entry, "parent",
                           "cohort '%.60s' is its own ancestor; use a parent that is not below it",
                           quotas->names[index]);
}

static enum hr_status build_cohorts(struct quotas *quotas) {
  const cJSON *list = hr__get(quotas->object, "cohorts");
  enum hr_status status = read_cohort_names(quotas, list);
  if (status == HR_OK) status = read_parents(quotas, list);
  for (uint32_t before = HR_NONE; status == HR_OK && before != quotas->spec->n_nodes;) {
    before = quotas->spec->n_nodes;
    uint32_t index = 0;
    for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next)
      status = place_cohort(quotas, entry, index++);
  }
  if (status == HR_OK && quotas->spec->n_nodes < quotas->n_cohorts) status = fail_at_cycle(quotas, list);
  return status;
}

/* ---- Tenants ---------------------------------------------------------------------------------------- */

static enum hr_status read_tenant(const struct quotas *quotas, const cJSON *entry, struct hr_quota_node *node) {
  uint32_t cohort;
  enum hr_status status = read_node(quotas, entry, node);
  if (status == HR_OK) status = check_lending(quotas, entry, node->guaranteed_milli);
  if (status == HR_OK) status = find_cohort(quotas, entry, "cohort", &cohort);
  if (status != HR_OK) return status;
  node->is_tenant = true;
  node->parent = cohort == HR_NONE ? HR_NONE : quotas->places[cohort];
  return HR_OK;
}

static enum hr_status add_tenant(const struct quotas *quotas, const cJSON *entry) {
  const char *name = hr__text_of(entry, "tenant", "");
  struct hr_quota_node node;
  for (uint32_t i = quotas->n_cohorts; i < quotas->spec->n_nodes; i++)
    if (strcmp(quotas->spec->nodes[i].name, name) == 0)
      return hr__build_fail_at(quotas->builder, entry, "tenant", "duplicate quota for '%.60s'; keep one", name);
  enum hr_status status = read_tenant(quotas, entry, &node);
  return status == HR_OK ? add_node(quotas, node, name) : status;
}

static enum hr_status build_tenants(const struct quotas *quotas) {
  const cJSON *entry;
  enum hr_status status = HR_OK;
  cJSON_ArrayForEach(entry, list_of(quotas, "tenants")) if (status == HR_OK) status = add_tenant(quotas, entry);
  return status;
}

static enum hr_status build_default(const struct quotas *quotas) {
  return read_tenant(quotas, hr__get(quotas->object, "default"), &quotas->spec->fallback);
}

/* ---- Sums ------------------------------------------------------------------------------------------- */

static enum hr_status check_cohort(const struct quotas *quotas, uint32_t index, uint64_t guaranteed_milli) {
  const cJSON *entry = cJSON_GetArrayItem(list_of(quotas, "cohorts"), (int)index);
  const struct hr_quota_node *node = &quotas->spec->nodes[quotas->places[index]];
  if (guaranteed_milli > node->max_milli)
    return hr__build_fail_at(quotas->builder, entry, present(entry, "max_gpus", "max_share"),
                             "the guarantees in cohort '%.60s' add up to %.10g GPUs, more than its maximum, %.10g",
                             node->name, gpus(guaranteed_milli), gpus(node->max_milli));
  enum hr_status status = check_lending(quotas, entry, guaranteed_milli);
  if (status != HR_OK) return status;
  return HR_OK;
}

static enum hr_status note_sum(const struct quotas *quotas, uint64_t guaranteed_milli) {
  if (guaranteed_milli <= quotas->total_milli) return HR_OK;
  return hr__build_note(quotas->builder,
                        "warning: quotas guarantee %.10g GPUs, but the cluster has %.10g; not all guarantees "
                        "can be met at once",
                        gpus(guaranteed_milli), gpus(quotas->total_milli));
}

/* Checks each cohort: the sum of the guarantees in it must not exceed its maximum, and must not be below the GPUs that
   it may lend. Adds a note if all guarantees together exceed the GPUs of the cluster. */
static enum hr_status check_sums(const struct quotas *quotas) {
  const struct hr_quota_spec *spec = quotas->spec;
  uint64_t *sums = calloc((size_t)spec->n_nodes + 1, sizeof *sums), all = 0;
  if (!sums) return hr__build_no_memory(quotas->builder);
  for (uint32_t i = spec->n_nodes; i-- > 0;) {
    sums[i] += spec->nodes[i].guaranteed_milli;
    if (spec->nodes[i].parent != HR_NONE) sums[spec->nodes[i].parent] += sums[i];
    all += spec->nodes[i].guaranteed_milli;
  }
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < quotas->n_cohorts && status == HR_OK; i++)
    status = check_cohort(quotas, i, sums[quotas->places[i]]);
  free(sums);
  return status == HR_OK ? note_sum(quotas, all) : status;
}

/* ---- The section ------------------------------------------------------------------------------------ */

static bool make_room(struct quotas *quotas, size_t n_cohorts, size_t n_tenants) {
  quotas->spec = calloc(1, sizeof *quotas->spec);
  quotas->builder->scenario->quotas = quotas->spec;
  if (!quotas->spec) return false;
  quotas->spec->nodes = calloc(n_cohorts + n_tenants + 1, sizeof *quotas->spec->nodes);
  quotas->names = calloc(n_cohorts + 1, sizeof *quotas->names);
  quotas->parents = calloc(n_cohorts + 1, sizeof *quotas->parents);
  quotas->places = calloc(n_cohorts + 1, sizeof *quotas->places);
  return quotas->spec->nodes && quotas->names && quotas->parents && quotas->places;
}

static enum hr_status build_all(struct quotas *quotas) {
  enum hr_status status = build_cohorts(quotas);
  if (status == HR_OK) status = build_tenants(quotas);
  if (status == HR_OK) status = build_default(quotas);
  return status == HR_OK ? check_sums(quotas) : status;
}

enum hr_status hr__build_quotas(struct hr__builder *builder) {
  const cJSON *object = hr__get(builder->source.file.tree, "quotas");
  if (!object) return HR_OK;
  struct quotas quotas = {
      .builder = builder, .object = object, .total_milli = hr_cluster_spec_gpus(&builder->scenario->cluster) * 1000};
  size_t n_cohorts = (size_t)cJSON_GetArraySize(list_of(&quotas, "cohorts"));
  size_t n_tenants = (size_t)cJSON_GetArraySize(list_of(&quotas, "tenants"));
  bool has_room = make_room(&quotas, n_cohorts, n_tenants);
  enum hr_status status = has_room ? build_all(&quotas) : hr__build_no_memory(builder);
  free(quotas.names);
  free(quotas.parents);
  free(quotas.places);
  return status;
}
