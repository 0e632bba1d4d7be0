/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Kueue about topology-aware scheduling (TAS). The kinds tas.find and tas.replace place pod
 * sets in a topology; each of the other kinds tests one step. This file also reads the topologies for the cases of
 * other files.
 *
 * A case of tas.find or tas.replace has one flavor. The usage of its nodes before the placement is one of two members:
 * - "priorFlavorUsage", which includes pods of another flavor on the same nodes. It is used if flavors may overlap and
 *   the lowest level is the host name.
 * - "priorOwnUsage" in all other cases.
 */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/tas.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Converts {resource: amount} to an array with one amount per resource, and one for "pods". All amounts are 0 if
   `object` is NULL. Returns NULL if memory is exhausted. */
static int64_t *dense(struct hr__kueue_case *self, const cJSON *object) {
  uint32_t n_resources, pods = hr__tas_pods_resource(&self->world, &n_resources);
  int64_t *amounts = ALLOC(self, n_resources, int64_t);
  const cJSON *item;
  if (amounts) cJSON_ArrayForEach(item, object) {
      uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
      if (resource == HR_NONE && !strcmp(item->string, "pods")) resource = pods;
      if (resource != HR_NONE) amounts[resource] = hr__case_value_whole(item, 0);
    }
  return amounts;
}

/* Returns the texts of a JSON list; items that are not texts become "". */
static const char **read_texts(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  const char **texts = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, const char *);
  *count = 0;
  const cJSON *item;
  if (texts) cJSON_ArrayForEach(item, list) texts[(*count)++] = cJSON_IsString(item) ? item->valuestring : "";
  return texts;
}

static void subtract_pods(struct hr__kueue_case *self, struct hr__tas_nodes *nodes) {
  const cJSON *pod;
  cJSON_ArrayForEach(pod, hr__case_get(self->input, "pods")) {
    const char *node = hr__case_text(pod, "node", ""), *phase = hr__case_text(pod, "phase", "");
    if (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")) continue;
    const int64_t *requests = dense(self, hr__case_get(pod, "requests"));
    if (!requests) return;
    for (uint32_t i = 0; i < nodes->count; i++) {
      if (strcmp(nodes->items[i].name, node) != 0) continue;
      for (uint32_t r = 0; r < nodes->n_resources; r++) nodes->items[i].free[r] -= requests[r];
      nodes->items[i].free[nodes->pods]--;
    }
  }
}

/* Reads the members "nodes" and "pods". Pods that have ended or have no node use no resources. Returns false if memory
   is exhausted. */
static bool read_nodes(struct hr__kueue_case *self, struct hr__tas_nodes *nodes) {
  *nodes = (struct hr__tas_nodes){0};
  nodes->pods = hr__tas_pods_resource(&self->world, &nodes->n_resources);
  nodes->items = ALLOC(self, (size_t)hr__case_count(self->input, "nodes") + 1, struct hr__tas_node);
  if (!nodes->items) return false;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "nodes")) nodes->items[nodes->count++] = (struct hr__tas_node){
      .name = hr__case_text(item, "name", ""),
      .labels = hr__kueue_case_labels(self, hr__case_get(item, "labels")),
      .taints = hr__kueue_case_taints(self, hr__case_get(item, "taints")),
      .free = dense(self, hr__case_get(item, "allocatable")),
      .usable = hr__case_bool(item, "ready", false) && !hr__case_bool(item, "unschedulable", false)};
  if (!self->verdict->no_memory) subtract_pods(self, nodes);
  return !self->verdict->no_memory;
}

/* Returns the parts of a placement: the leaf of the tree and the number of pods for each domain of the placement. */
static struct hr__tas_part *read_parts(struct hr__kueue_case *self, const struct hr__tas_flavor *flavor,
                                       const struct hr__kueue_placement *placement) {
  struct hr__tas_part *parts = ALLOC(self, placement->n_domains, struct hr__tas_part);
  for (uint32_t i = 0; parts && i < placement->n_domains; i++)
    parts[i] = (struct hr__tas_part){hr__tas_flavor_leaf(flavor, placement, i), placement->domains[i].count};
  return parts;
}

/* ---- Single steps ----------------------------------------------------------------------------------- */

/*
 * Orders of domains, balanced placement, and operations on placements.
 *
 * Most cases state domains with their counts. These domains become a tree. As in a tree that is built from nodes, the
 * domains are numbered by level, then by the number of the parent, then by their values. A domain without a parent is
 * on the highest level, even if it has several values.
 */

/* ---- Single steps: domains -------------------------------------------------------------------------- */

/* A domain that the case states. */
struct stated_domain {
  const cJSON *domain, *state; /* objects with the names (`domain`) and the counts (`state`) */
  uint32_t parent;             /* index in step_run.entries; HR_NONE: none */
  uint32_t level, position;    /* position: in the order of the case */
  uint32_t number;             /* in the tree */
};

struct step_run {
  struct hr__kueue_case *objects;
  struct hr__tas_tree tree;
  struct hr__tas_snapshot snapshot;
  struct hr__tas_search search;
  struct stated_domain *entries;
  uint32_t n_entries;
  struct stated_domain **by_number;
};

static uint32_t count_entries(const cJSON *list) {
  uint32_t count = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) count += 1 + count_entries(hr__case_get(item, "children")) +
                                          count_entries(hr__case_get(hr__case_get(item, "domain"), "children"));
  return count;
}

static void read_entries(struct step_run *steps, const cJSON *list, uint32_t parent) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const cJSON *domain = hr__case_get(item, "domain"), *state = hr__case_get(item, "state");
    uint32_t at = steps->n_entries++;
    steps->entries[at] = (struct stated_domain){.domain = domain ? domain : item,
                                                .state = state ? state : item,
                                                .parent = parent,
                                                .level = parent == HR_NONE ? 0 : steps->entries[parent].level + 1,
                                                .position = at};
    read_entries(steps, hr__case_get(item, "children"), at);
    if (domain) read_entries(steps, hr__case_get(domain, "children"), at);
  }
}

static const char *id_of(const struct stated_domain *entry) {
  return hr__case_text(entry->domain, "id", "");
}

/* Links domains to the parents that their members "parentID" name, and sets their levels. */
static void link_entries(struct step_run *steps) {
  for (uint32_t i = 0; i < steps->n_entries; i++) {
    const char *parent = hr__case_text(steps->entries[i].domain, "parentID", NULL);
    for (uint32_t j = 0; parent && j < steps->n_entries; j++)
      if (!strcmp(id_of(&steps->entries[j]), parent)) steps->entries[i].parent = j;
  }
  for (uint32_t i = 0; i < steps->n_entries; i++) {
    uint32_t level = 0;
    for (uint32_t at = steps->entries[i].parent; at != HR_NONE && level < HR__TAS_MAX_LEVELS;
         at = steps->entries[at].parent)
      level++;
    steps->entries[i].level = level;
  }
}

/* Compares the values of two domains, value by value. If one list of values is the beginning of the other list, the
   shorter list precedes. */
static int compare_values(const cJSON *a, const cJSON *b) {
  const cJSON *left = hr__case_get(a, "levelValues"), *right = hr__case_get(b, "levelValues");
  left = left ? left->child : NULL;
  right = right ? right->child : NULL;
  for (; left && right; left = left->next, right = right->next) {
    int order = strcmp(cJSON_IsString(left) ? left->valuestring : "", cJSON_IsString(right) ? right->valuestring : "");
    if (order) return order;
  }
  return (left != NULL) - (right != NULL);
}

static bool precedes(const struct step_run *steps, const struct stated_domain *a, const struct stated_domain *b) {
  if (a->level != b->level) return a->level < b->level;
  if (a->parent != b->parent) return steps->entries[a->parent].number < steps->entries[b->parent].number;
  int order = compare_values(a->domain, b->domain);
  return order ? order < 0 : a->position < b->position;
}

/* Numbers the entries level by level. */
static void number_entries(struct step_run *steps) {
  uint32_t numbered = 0;
  for (uint32_t level = 0; level < HR__TAS_MAX_LEVELS; level++) {
    uint32_t first = numbered;
    for (uint32_t i = 0; i < steps->n_entries; i++) {
      if (steps->entries[i].level != level) continue;
      uint32_t at = numbered++;
      for (; at > first && precedes(steps, &steps->entries[i], steps->by_number[at - 1]); at--)
        steps->by_number[at] = steps->by_number[at - 1];
      steps->by_number[at] = &steps->entries[i];
    }
    for (uint32_t i = first; i < numbered; i++) steps->by_number[i]->number = i;
    steps->tree.first[level + 1] = numbered;
    if (numbered > first) steps->tree.n_levels = level + 1;
  }
}

static void create_tree(struct step_run *steps) {
  struct hr__tas_tree *tree = &steps->tree;
  number_entries(steps);
  tree->n_domains = steps->n_entries;
  for (uint32_t i = 0; i < steps->n_entries; i++) {
    const struct stated_domain *entry = steps->by_number[i];
    uint32_t parent = entry->parent == HR_NONE ? HR_NONE : steps->entries[entry->parent].number;
    tree->domains[i] = (struct hr__tas_domain){.parent = parent, .level = entry->level, .value = id_of(entry)};
    if (parent != HR_NONE) {
      if (!tree->domains[parent].end_child) tree->domains[parent].first_child = i;
      tree->domains[parent].end_child = i + 1;
    }
    steps->search.state[i] =
        (struct hr__tas_state){.pods = hr__case_whole(entry->state, "podCount", 0),
                               .slices = hr__case_whole(entry->state, "sliceCount", 0),
                               .pods_with_leader = hr__case_whole(entry->state, "podCountWithLeader", 0),
                               .slices_with_leader = hr__case_whole(entry->state, "sliceCountWithLeader", 0),
                               .leaders = hr__case_whole(entry->state, "leaderCount", 0),
                               .affinity = hr__case_whole(entry->state, "affinityScore", 0)};
  }
}

/* Reads the member "domains", and builds the tree. Returns false if memory is exhausted. */
static bool read_domains(struct step_run *steps) {
  struct hr__kueue_case *self = steps->objects;
  const cJSON *list = hr__case_get(self->input, "domains");
  size_t count = count_entries(list) + (size_t)1;
  steps->entries = ALLOC(self, count, struct stated_domain);
  steps->by_number = ALLOC(self, count, struct stated_domain *);
  steps->tree.domains = ALLOC(self, count, struct hr__tas_domain);
  steps->search.state = calloc(count, sizeof *steps->search.state);
  if (self->verdict->no_memory || !steps->search.state) return false;
  read_entries(steps, list, HR_NONE);
  link_entries(steps);
  create_tree(steps);
  steps->search.tree = &steps->tree;
  return true;
}

/* Sets search.fit to the domains without a parent, in the order of the tree. Returns false if memory is exhausted. */
static bool list_top(struct step_run *steps) {
  struct hr__tas_list *list = &steps->search.fit;
  if (!hr__tas_list_clear(&steps->search, list, steps->tree.n_domains)) return false;
  while (list->count < steps->tree.first[1]) {
    list->items[list->count] = list->count;
    list->count++;
  }
  return true;
}

static cJSON *ids_json(const struct step_run *steps) {
  cJSON *json = cJSON_CreateArray();
  for (uint32_t i = 0; i < steps->search.fit.count; i++)
    cJSON_AddItemToArray(json, cJSON_CreateString(id_of(steps->by_number[steps->search.fit.items[i]])));
  return json;
}

static void compare(struct step_run *steps, const char *name, cJSON *actual) {
  hr__compare_json(steps->objects->verdict, name, actual, HR__COMPARE_EXACTLY);
}

static void is_malformed(struct step_run *steps, const char *what) {
  if (!steps->objects->verdict->no_memory) steps->objects->verdict->malformed = what;
}

/* ---- Single steps: orders --------------------------------------------------------------------------- */

static void run_sorted(struct step_run *steps, bool with_leader) {
  const cJSON *input = steps->objects->input;
  struct hr__tas_list *list = &steps->search.fit;
  if (hr__case_bool(input, "enableTASPreferredSchedulingAffinity", false))
    steps->search.gates.affinity_preferred = true;
  bool unconstrained = hr__case_bool(input, "unconstrained", false);
  hr__tas_sort(&steps->search, list->items, list->count, unconstrained, with_leader);
  compare(steps, "wantOrder", ids_json(steps));
}

static void sorted_domains(struct step_run *steps) {
  if (read_domains(steps) && list_top(steps)) run_sorted(steps, false);
}

static void sorted_with_leader(struct step_run *steps) {
  if (read_domains(steps) && list_top(steps)) run_sorted(steps, true);
}

/* Compares the order of two domains. The domains of a tree are numbered in the order of their values, so a tree of both
   domains is built and their numbers are compared. */
static void compare_domains(struct step_run *steps) {
  struct hr__kueue_case *self = steps->objects;
  const cJSON *pair[] = {hr__case_get(self->input, "a"), hr__case_get(self->input, "b")};
  uint32_t counts[2];
  const char **texts[2], *values[2 * HR__TAS_MAX_LEVELS];
  for (int i = 0; i < 2; i++) texts[i] = read_texts(self, hr__case_get(pair[i], "levelValues"), &counts[i]);
  uint32_t n_levels = counts[0] > counts[1] ? counts[0] : counts[1];
  if (self->verdict->no_memory || n_levels > HR__TAS_MAX_LEVELS || !n_levels) {
    is_malformed(steps, "domains with 1 to 16 \"levelValues\" are missing");
    return;
  }
  for (uint32_t i = 0; i < 2 * n_levels; i++)
    values[i] = i % n_levels < counts[i / n_levels] ? texts[i / n_levels][i % n_levels] : "";
  if (!hr__tas_tree_build(&steps->tree, self->verdict->arena, values, 2, n_levels, false)) {
    self->verdict->no_memory = true;
    return;
  }
  const uint32_t *leaves = steps->tree.node_leaf;
  compare(steps, "want", cJSON_CreateNumber((leaves[0] > leaves[1]) - (leaves[0] < leaves[1])));
}

/* ---- Single steps: balanced placement --------------------------------------------------------------- */

static cJSON *counts_json(const struct hr__tas_state *state) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "sliceCount", (double)state->slices);
  cJSON_AddNumberToObject(json, "podCount", (double)state->pods);
  cJSON_AddNumberToObject(json, "podCountWithLeader", (double)state->pods_with_leader);
  cJSON_AddNumberToObject(json, "sliceCountWithLeader", (double)state->slices_with_leader);
  cJSON_AddNumberToObject(json, "leaderCount", (double)state->leaders);
  return json;
}

static cJSON *distribute(struct step_run *steps, int64_t threshold) {
  const cJSON *input = steps->objects->input;
  struct hr__tas_search *search = &steps->search;
  if (!hr__tas_distribute(search, &search->fit, hr__case_whole(input, "sliceCount", 0),
                          hr__case_whole(input, "leaderCount", 0), hr__case_whole(input, "sliceSize", 1), threshold))
    return cJSON_CreateNull();
  cJSON *json = cJSON_CreateObject();
  for (uint32_t i = 0; i < search->fit.count; i++) {
    uint32_t domain = search->fit.items[i];
    cJSON_AddItemToObject(json, id_of(steps->by_number[domain]), counts_json(&search->state[domain]));
  }
  return json;
}

/* Finds the threshold of a balanced placement. In these cases, only domains without children have counts. */
static void find_threshold(struct step_run *steps) {
  const cJSON *params = hr__case_get(steps->objects->input, "params");
  struct hr__tas_search *search = &steps->search;
  search->goal = (struct hr__tas_goal){.count = hr__case_whole(params, "count", 0),
                                       .slice_size = hr__case_whole(params, "sliceSize", 1),
                                       .leaders = hr__case_whole(params, "leaderCount", 0),
                                       .level = (uint32_t)hr__case_whole(params, "requestedLevelIdx", 0),
                                       .slice_level = (uint32_t)hr__case_whole(params, "sliceLevelIdx", 0)};
  if (search->goal.level >= steps->tree.n_levels || search->goal.slice_size <= 0) {
    is_malformed(steps, "\"params\" with a level of the domains and a slice size is missing");
    return;
  }
  int64_t threshold = hr__tas_balance_threshold(search);
  compare(steps, "wantThreshold", cJSON_CreateNumber((double)threshold));
  compare(steps, "wantDomainsCount", cJSON_CreateNumber(threshold ? search->fit.count : 0));
}

/* Finds a threshold, or selects, distributes or sorts domains, depending on the members of the input. */
static void balanced(struct step_run *steps) {
  const cJSON *input = steps->objects->input;
  struct hr__tas_search *search = &steps->search;
  if (!read_domains(steps) || !list_top(steps)) return;
  if (hr__case_get(input, "params")) {
    find_threshold(steps);
  } else if (hr__case_get(input, "threshold")) {
    cJSON *json = distribute(steps, hr__case_whole(input, "threshold", 0));
    compare(steps, "want", json);
  } else if (hr__case_get(input, "workerCount")) {
    if (!hr__tas_select_optimal(search, &search->fit, hr__case_whole(input, "workerCount", 0),
                                hr__case_whole(input, "leaderCount", 0), 1,
                                hr__case_bool(input, "prioritizeByEntropy", true)))
      search->fit.count = 0;
    hr__compare_json(steps->objects->verdict, "want", ids_json(steps), HR__COMPARE_SETS);
  } else {
    hr__tas_sort_by_entropy(search, search->fit.items, search->fit.count);
    compare(steps, "want", ids_json(steps));
  }
}

/* ---- Single steps: placements ----------------------------------------------------------------------- */

/* Builds a tree of the domains of two placements. Both must have the same number of levels, from 1 to 16; otherwise the
   case is malformed. Returns false if the case is malformed or memory is exhausted. */
static bool build_tree(struct step_run *steps, const struct hr__kueue_placement *a, const struct hr__kueue_placement *b,
                       struct hr__tas_flavor *flavor) {
  struct hr__kueue_case *self = steps->objects;
  const struct hr__kueue_placement *placements[] = {a, b};
  uint32_t n_levels = a->n_levels, n_nodes = 0;
  const char **values = ALLOC(self, (size_t)(a->n_domains + b->n_domains) * n_levels, const char *);
  if (!values || !n_levels || b->n_levels != n_levels || n_levels > HR__TAS_MAX_LEVELS) {
    is_malformed(steps, "placements with the same 1 to 16 levels are missing");
    return false;
  }
  for (int i = 0; i < 2; i++)
    for (uint32_t domain = 0; domain < placements[i]->n_domains; domain++)
      memcpy(values + (size_t)n_nodes++ * n_levels, placements[i]->domains[domain].values, n_levels * sizeof *values);
  *flavor = (struct hr__tas_flavor){.levels = a->levels, .n_levels = n_levels};
  if (hr__tas_tree_build(&flavor->tree, self->verdict->arena, values, n_nodes, n_levels, false)) return true;
  self->verdict->no_memory = true;
  return false;
}

static void compare_placement(struct step_run *steps, const struct hr__tas_flavor *flavor,
                              const struct hr__tas_part *parts, uint32_t count) {
  const struct hr__kueue_placement *placement =
      hr__tas_flavor_placement(flavor, steps->objects->verdict->arena, parts, count);
  if (!placement) {
    steps->objects->verdict->no_memory = true;
    return;
  }
  cJSON *json = hr__kueue_placement_json(placement);
  /* The case may omit the list of domains if it is empty. */
  if (!count && !hr__case_get(hr__case_get(steps->objects->expect, "want"), "domains"))
    cJSON_DeleteItemFromObjectCaseSensitive(json, "domains");
  compare(steps, "want", json);
}

static void merge(struct step_run *steps) {
  struct hr__kueue_case *self = steps->objects;
  const struct hr__kueue_placement *a = hr__kueue_case_placement(self, hr__case_get(self->input, "a")),
                                   *b = hr__kueue_case_placement(self, hr__case_get(self->input, "b"));
  struct hr__tas_flavor flavor;
  if (!a || !b) is_malformed(steps, "the placements \"a\" and \"b\" are missing");
  if (!a || !b || !build_tree(steps, a, b, &flavor)) return;
  const struct hr__tas_part *left = read_parts(self, &flavor, a), *right = read_parts(self, &flavor, b);
  struct hr__tas_part *merged = ALLOC(self, (size_t)a->n_domains + b->n_domains, struct hr__tas_part);
  if (self->verdict->no_memory) return;
  compare_placement(steps, &flavor, merged, hr__tas_merge(left, a->n_domains, right, b->n_domains, merged));
}

static void truncate_parts(struct step_run *steps) {
  struct hr__kueue_case *self = steps->objects;
  const struct hr__kueue_placement *whole = hr__kueue_case_placement(self, hr__case_get(self->input, "assignment"));
  struct hr__tas_flavor flavor;
  if (!whole) is_malformed(steps, "the placement \"assignment\" is missing");
  if (!whole || !build_tree(steps, whole, whole, &flavor)) return;
  struct hr__tas_part *parts = read_parts(self, &flavor, whole);
  if (!parts) return;
  uint32_t count = hr__tas_truncate(parts, whole->n_domains, hr__case_whole(self->input, "newCount", 0));
  compare_placement(steps, &flavor, parts, count);
}

/* The levels of the topology in cases that do not state them. */
static const char *const default_levels[] = {"level-1", "level-2"};

static void has_level(struct step_run *steps) {
  struct hr__kueue_case *self = steps->objects;
  struct hr__tas_flavor flavor = {.levels = default_levels, .n_levels = 2};
  if (hr__case_get(self->input, "levels"))
    flavor.levels = read_texts(self, hr__case_get(self->input, "levels"), &flavor.n_levels);
  struct hr__kueue_topology_request wanted =
      hr__kueue_case_topology_request(self, hr__case_get(self->input, "podSetTopologyRequest"));
  if (self->verdict->no_memory || !flavor.n_levels) {
    is_malformed(steps, "\"levels\" is empty");
    return;
  }
  struct hr__tas_request request = {0};
  hr__tas_flavor_request(&flavor, &wanted, &request);
  compare(steps, "want", cJSON_CreateBool(hr__tas_has_levels(&request, flavor.n_levels)));
}

/* ---- Single steps: kinds ---------------------------------------------------------------------------- */

/* Runs a case of a kind that tests one step. */
static void case_step(struct hr__kueue_case *self) {
  static const struct {
    const char *kind;
    void (*run)(struct step_run *steps);
  } rows[] = {
      {"tas.sortedDomains", sorted_domains},
      {"tas.sortedDomainsWithLeader", sorted_with_leader},
      {"tas.compareDomainLevelValues", compare_domains},
      {"tas.balanced", balanced},
      {"tas.mergeTopologyAssignments", merge},
      {"tas.truncateAssignment", truncate_parts},
      {"tas.hasLevel", has_level},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].kind, self->verdict->kind) != 0) continue;
    struct step_run steps = {.objects = self, .search.gates = hr__tas_gates_of(self->world.gates)};
    rows[i].run(&steps);
    if (steps.search.no_memory) self->verdict->no_memory = true;
    hr__tas_search_finish(&steps.search);
  }
}

/* ---- The flavor of a case --------------------------------------------------------------------------- */

struct run {
  struct hr__kueue_case *objects;
  struct hr__tas_nodes nodes;
  struct hr__tas_flavor flavor;
  struct hr__tas_search search;
  int64_t *assumed;
};

static void add_usage(struct run *run, const cJSON *list) {
  const struct hr__tas_snapshot *snapshot = &run->flavor.snapshot;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    uint32_t n_values;
    const char **values = read_texts(run->objects, hr__case_get(item, "values"), &n_values);
    const int64_t *pod = dense(run->objects, hr__case_get(item, "singlePodRequests"));
    if (!values || !pod) return;
    uint32_t leaf = hr__tas_leaf_find(&run->flavor.tree, values, n_values);
    if (leaf != HR_NONE)
      hr__tas_add_pods(snapshot, snapshot->usage + (size_t)leaf * snapshot->n_resources, pod,
                       hr__case_whole(item, "count", 0));
  }
}

static bool begin(struct run *run, struct hr__kueue_case *self) {
  struct hr__verdict *verdict = self->verdict;
  *run = (struct run){.objects = self};
  if (!read_nodes(self, &run->nodes)) return false;
  const cJSON *names = hr__case_get(self->input, "levels");
  uint32_t n_levels;
  if (!names) names = hr__case_get(self->input, "defaultLevels");
  const char **levels = read_texts(self, names, &n_levels);
  if (!n_levels || n_levels > HR__TAS_MAX_LEVELS) {
    verdict->malformed = "the member \"levels\" with 1 to 16 levels is missing";
    return false;
  }
  const struct hr__kueue_flavor flavor = {.labels =
                                              hr__kueue_case_labels(self, hr__case_get(self->input, "nodeLabels"))};
  if (!levels || !hr__tas_flavor_build(&run->flavor, verdict->arena, &run->nodes, levels, n_levels, &flavor, 0)) {
    verdict->no_memory = true;
    return false;
  }
  bool overlaps = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_OVERLAPPING_FLAVORS);
  bool shared = overlaps && run->flavor.tree.by_host;
  add_usage(run, hr__case_get(self->input, shared ? "priorFlavorUsage" : "priorOwnUsage"));
  run->search.gates = hr__tas_gates_of(self->world.gates);
  run->assumed = ALLOC(self, (size_t)run->flavor.tree.n_leaves * run->nodes.n_resources, int64_t);
  return !verdict->no_memory;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Returns the number of the group of a pod set: the position of the first pod set in this group; HR_NONE: no group. */
static uint32_t group_of(const cJSON *list, const cJSON *pod_set) {
  const char *name = hr__case_text(pod_set, "podSetGroupName", NULL);
  uint32_t at = 0;
  const cJSON *item;
  if (name) cJSON_ArrayForEach(item, list) {
      if (!strcmp(hr__case_text(item, "podSetGroupName", ""), name)) return at;
      at++;
    }
  return HR_NONE;
}

static void read_previous(struct run *run, const cJSON *json, struct hr__tas_request *request) {
  const struct hr__kueue_placement *previous = hr__kueue_case_placement(run->objects, json);
  if (!previous) return;
  request->previous = read_parts(run->objects, &run->flavor, previous);
  request->n_previous = previous->n_domains;
  request->has_previous = true;
}

/* Reads a pod set. `list` has all pod sets of the workload; it may be NULL. Returns false if memory is exhausted. */
static bool read_request(struct run *run, const cJSON *list, const cJSON *json, struct hr__tas_request *request) {
  struct hr__kueue_case *self = run->objects;
  const cJSON *topology = hr__case_get(json, "topologyRequest");
  uint32_t n_leaves = run->flavor.tree.n_leaves;
  uint8_t *excluded = ALLOC(self, n_leaves, uint8_t);
  int64_t *affinity = ALLOC(self, n_leaves, int64_t);
  if (!excluded || !affinity) return false;
  *request = (struct hr__tas_request){.pod = dense(self, hr__case_get(json, "requests")),
                                      .count = hr__case_whole(json, "count", 0),
                                      .implied = !topology,
                                      .group = group_of(list, json),
                                      .excluded = excluded,
                                      .affinity = affinity};
  struct hr__kueue_topology_request wanted = hr__kueue_case_topology_request(self, topology);
  hr__tas_flavor_request(&run->flavor, &wanted, request);
  struct hr__kueue_selector selector = hr__kueue_case_selector(self, json);
  hr__tas_flavor_match(&run->flavor, &selector, excluded, affinity);
  read_previous(run, hr__case_get(json, "previousAssignment"), request);
  return !self->verdict->no_memory;
}

/* ---- Results ---------------------------------------------------------------------------------------- */

static const char *class_of(enum hr__tas_failure_kind kind) {
  static const char *const names[] = {
      [HR__TAS_FITS] = "",
      [HR__TAS_INSUFFICIENT] = "insufficient",
      [HR__TAS_NO_DOMAINS] = "noDomainsAtLevel",
      [HR__TAS_NO_LEVEL] = "levelMissing",
      [HR__TAS_LEVEL_UNKNOWN] = "levelUnknown",
      [HR__TAS_SLICE_SIZE] = "sliceSizeMissing",
      [HR__TAS_SLICE_LEVEL] = "sliceLevelUnknown",
      [HR__TAS_SLICE_ABOVE] = "sliceTopologyAboveRequired",
      [HR__TAS_INNER_SLICE_LEVEL] = "additionalSliceLevelUnknown",
      [HR__TAS_INNER_SLICE_ABOVE] = "additionalSliceTopologyNotBelow",
      [HR__TAS_INNER_SLICE_SIZE] = "additionalSliceSizeNotDivisor",
      [HR__TAS_STALE] = "staleAssignment",
      [HR__TAS_NO_REPLACEMENT] = "noReplacement",
  };
  return names[kind];
}

static cJSON *reason_json(const struct hr__tas_failure *failure) {
  if (failure->kind == HR__TAS_FITS) return cJSON_CreateNull();
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "class", class_of(failure->kind));
  if (failure->kind != HR__TAS_INSUFFICIENT) return json;
  cJSON_AddNumberToObject(json, "fitOnly", (double)failure->fits);
  cJSON_AddNumberToObject(json, "of", (double)failure->of);
  cJSON_AddStringToObject(json, "unit", failure->slices ? "slice" : "pod");
  return json;
}

static cJSON *assignment_json(struct run *run, const struct hr__tas_result *result) {
  if (result->failure.kind != HR__TAS_FITS || !result->placed) return cJSON_CreateNull();
  const struct hr__kueue_placement *placement = hr__tas_flavor_placement(
      &run->flavor, run->objects->verdict->arena, run->search.parts + result->first, result->count);
  if (placement) return hr__kueue_placement_json(placement);
  run->objects->verdict->no_memory = true;
  return cJSON_CreateNull();
}

static cJSON *pod_set_json(struct run *run, const char *name, const struct hr__tas_result *result) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "name", name);
  cJSON_AddItemToObject(json, "assignment", assignment_json(run, result));
  cJSON_AddBoolToObject(json, "fits", result->failure.kind == HR__TAS_FITS);
  cJSON_AddItemToObject(json, "reason", reason_json(&result->failure));
  return json;
}

/* ---- tas.find --------------------------------------------------------------------------------------- */

static cJSON *find_all(struct run *run) {
  struct hr__kueue_case *self = run->objects;
  const cJSON *list = hr__case_get(self->input, "podSets"), *item;
  uint32_t count = hr__case_count(self->input, "podSets"), n_requests = 0, i = 0;
  struct hr__tas_request *requests = ALLOC(self, count, struct hr__tas_request);
  struct hr__tas_result *results = ALLOC(self, count, struct hr__tas_result);
  cJSON *json = cJSON_CreateArray();
  if (!requests || !results) return json;
  cJSON_ArrayForEach(item, list) if (!read_request(run, list, item, &requests[n_requests++])) return json;
  if (!hr__tas_place(&run->search, &run->flavor.snapshot, requests, count, false, run->assumed, results))
    self->verdict->no_memory = true;
  else
    cJSON_ArrayForEach(item, list)
        cJSON_AddItemToArray(json, pod_set_json(run, hr__case_text(item, "name", ""), &results[i++]));
  return json;
}

/* Returns the index of the domain of a node in a placement: the last domain with this host name; HR_NONE: not found. */
static uint32_t part_of_node(const struct hr__kueue_placement *placement, const char *node) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < placement->n_domains; i++)
    if (!strcmp(placement->domains[i].values[placement->n_levels - 1], node)) found = i;
  return found;
}

/* Replaces a node in the placement of a pod set. Returns false if the case is malformed or memory is exhausted. */
static bool replace(struct run *run, const struct hr__tas_request *request, const cJSON *existing, const char *node,
                    struct hr__tas_result *result) {
  const struct hr__kueue_placement *placement = hr__kueue_case_placement(run->objects, existing);
  if (!cJSON_IsObject(existing) || (placement && !placement->n_levels))
    run->objects->verdict->malformed = "expected a placement with levels";
  if (!placement || !placement->n_levels) return false;
  const struct hr__tas_part *parts = read_parts(run->objects, &run->flavor, placement);
  return parts && hr__tas_replace(&run->search, &run->flavor.snapshot, request, parts, placement->n_domains,
                                  part_of_node(placement, node), run->assumed, result);
}

/* Replaces the first unhealthy node of a workload in its pod sets, until one of them does not fit. A workload that is a
   single Pod keeps its placement if the feature gate for this is on. */
static cJSON *replace_all(struct run *run, const cJSON *workload, const char *node) {
  struct hr__kueue_case *self = run->objects;
  bool keeps =
      hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_TOPOLOGY_KEEP_POD_OWNED) && hr__kueue_case_is_one_pod(workload);
  const cJSON *list = hr__case_get(self->input, "podSets"), *item, *admitted;
  cJSON *json = cJSON_CreateArray();
  cJSON_ArrayForEach(item, list) {
    const char *name = hr__case_text(item, "name", "");
    const cJSON *existing = NULL;
    cJSON_ArrayForEach(admitted, hr__case_get(hr__case_get(workload, "admission"),
                                              "podSets")) if (!strcmp(hr__case_text(admitted, "name", ""), name))
        existing = hr__case_get(admitted, "topologyAssignment");
    if (!existing) continue;
    struct hr__tas_request request;
    struct hr__tas_result result = {0};
    if (!read_request(run, list, item, &request)) return json;
    if (!keeps && !replace(run, &request, existing, node, &result)) {
      self->verdict->no_memory = true;
      return json;
    }
    cJSON *row = pod_set_json(run, name, &result);
    if (keeps) cJSON_ReplaceItemInObjectCaseSensitive(row, "assignment", cJSON_Duplicate(existing, true));
    cJSON_AddItemToArray(json, row);
    if (result.failure.kind != HR__TAS_FITS) return json;
  }
  return json;
}

static void run_find(struct run *run) {
  const cJSON *workload = hr__case_get(run->objects->input, "workload");
  const cJSON *node = cJSON_GetArrayItem(hr__case_get(workload, "unhealthyNodes"), 0);
  bool is_replaced = cJSON_IsString(node) && hr__case_get(workload, "admission");
  cJSON *rows = is_replaced ? replace_all(run, workload, node->valuestring) : find_all(run);
  if (!run->objects->verdict->malformed)
    hr__verdict_compare(run->objects->verdict, "podSets", hr__case_get(run->objects->expect, "podSets"), rows,
                        HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(rows);
}

/* ---- tas.replace ------------------------------------------------------------------------------------ */

/* The CPU request of each pod in cases that do not state requests: one core. */
enum { POD_MILLICORES = 1000 };

static void run_replace(struct run *run) {
  struct hr__kueue_case *self = run->objects;
  const cJSON *input = self->input;
  struct hr__tas_request request;
  struct hr__tas_result result;
  if (!read_request(run, NULL, input, &request)) return;
  uint32_t cpu = hr__kueue_name_find(&self->resources, "cpu");
  int64_t *pod = dense(self, hr__case_get(input, "requests"));
  if (!pod) return;
  if (!hr__case_get(input, "requests") && cpu != HR_NONE) pod[cpu] = POD_MILLICORES;
  request.pod = pod;
  if (!replace(run, &request, hr__case_get(input, "existingTA"), hr__case_text(input, "unhealthyNode", ""), &result)) {
    self->verdict->no_memory = true;
    return;
  }
  hr__compare_json(self->verdict, "wantAssignment", assignment_json(run, &result), HR__COMPARE_EXACTLY);
  hr__compare_json(self->verdict, "wantReason", reason_json(&result.failure), HR__COMPARE_EXACTLY);
}

static void case_place(struct hr__kueue_case *self) {
  struct run run;
  if (begin(&run, self)) (strcmp(self->verdict->kind, "tas.find") == 0 ? run_find : run_replace)(&run);
  hr__tas_search_finish(&run.search);
}

const struct hr__kueue_case_kind hr__kueue_tas_kinds[] = {{"tas.find", case_place, NULL},
                                                          {"tas.replace", case_place, NULL},
                                                          {"tas.sortedDomains", case_step, NULL},
                                                          {"tas.sortedDomainsWithLeader", case_step, NULL},
                                                          {"tas.compareDomainLevelValues", case_step, NULL},
                                                          {"tas.balanced", case_step, NULL},
                                                          {"tas.mergeTopologyAssignments", case_step, NULL},
                                                          {"tas.truncateAssignment", case_step, NULL},
                                                          {"tas.hasLevel", case_step, NULL},
                                                          {NULL, NULL, NULL}};

/* ---- Topologies of a world -------------------------------------------------------------------------- */

static void release_topologies(void *data) {
  hr__tas_world_finish(data);
}

/* Returns the levels of a topology; NULL if the case does not have the topology. If it has more than 16 levels, the
   count is 0. */
static const char *const *levels_of(struct hr__kueue_case *self, const char *topology, uint32_t *count) {
  const cJSON *item;
  *count = 0;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "topologies")) {
    if (strcmp(hr__case_text(item, "name", ""), topology) != 0) continue;
    const char **levels = read_texts(self, hr__case_get(item, "levels"), count);
    if (*count > HR__TAS_MAX_LEVELS) *count = 0;
    return levels;
  }
  return NULL;
}

bool hr__kueue_case_topology(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  struct hr__tas_nodes *nodes = ALLOC(self, 1, struct hr__tas_nodes);
  const char *const **levels = ALLOC(self, world->n_flavors, const char *const *);
  uint32_t *n_levels = ALLOC(self, world->n_flavors, uint32_t), used = 0;
  if (!nodes || !levels || !n_levels) return false;
  for (uint32_t i = 0; i < world->n_flavors; i++) {
    if (!world->flavors[i].topology) continue;
    levels[i] = levels_of(self, world->flavors[i].topology, &n_levels[i]);
    used++;
  }
  if (!used) return true;
  if (!read_nodes(self, nodes)) return false;
  struct hr__tas_world *topologies = hr__tas_world_create(self->verdict->arena, world, nodes, levels, n_levels);
  self->verdict->released = topologies;
  self->verdict->release = release_topologies;
  if (!topologies) self->verdict->no_memory = true;
  return topologies != NULL;
}
