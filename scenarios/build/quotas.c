/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `quotas`: a forest of cohorts with tenants as leaves, as in Kueue and KAI.
 *
 * Cohorts may be listed in any order. In the spec, a parent precedes its children, and all cohorts precede the
 * tenants. Amounts are in milli-GPUs. Shares refer to the GPUs of all nodes of the cluster.
 */

#include "scenarios/build/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct quotas {
  struct hr__builder *builder;
  const cJSON *object;
  struct hr_quota_spec *spec;
  uint64_t total_milli; /* GPUs of all nodes of the cluster, in thousandths */
  /* The cohorts, in the order of the list. */
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

/* Reads an amount that may be a share instead of a number of GPUs. `*milli` is not changed if there is no share. */
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
  enum hr_status status = hr__read(quotas->builder, object, hr__table_of(&hr__scenario_keys, "quotas.default"), node);
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
   the member does not exist. The error for an unknown name lists similar names. */
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
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next) {
    const char *name = hr__text_of(entry, "name", "");
    for (uint32_t i = 0; i < quotas->n_cohorts; i++)
      if (strcmp(quotas->names[i], name) == 0)
        return hr__build_fail_at(quotas->builder, entry, "name", "duplicate cohort '%.60s'; keep one", name);
    quotas->names[quotas->n_cohorts++] = name;
  }
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

/* Appends a cohort to the spec if it has no parent or if its parent is already in the spec. Otherwise does nothing; a
   later pass over the list appends it. */
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

/* Reports a cycle of parents. The cohorts that are not in the spec are in a cycle or descend from one. From any of
   them, n_cohorts steps from child to parent lead to a cohort that is in the cycle. */
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
  enum hr_status status =
      hr_notes_add(&quotas->builder->scenario->notes,
                   "warning: quotas guarantee %.10g GPUs, but the cluster has %.10g; not all guarantees "
                   "can be met at once",
                   gpus(guaranteed_milli), gpus(quotas->total_milli));
  return status == HR_OK ? HR_OK : hr__build_no_memory(quotas->builder);
}

/* Checks that the guarantees in each cohort do not add up to more than the limits of the cohort allow. Adds a note if
   all guarantees together exceed the cluster. */
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
