/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Kueue that test one step of topology-aware scheduling: orders of domains, balanced
 * placement, and operations on placements.
 *
 * Most cases state domains with their counts. They become a tree whose domains are numbered as in a real one: by level,
 * parent and values. A domain without parent is of the highest level, however many values it has.
 */

#include "policies/kueue/tas.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Domains ---- */

/* A domain of the case. */
struct stated_domain {
  const cJSON *domain, *state; /* objects with the names and the counts */
  uint32_t parent;             /* entry; HR_NONE: none */
  uint32_t level, position;    /* position: in the case */
  uint32_t number;             /* in the tree */
};

struct step_run {
  struct hr__kueue_case objects;
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

/* Resolves the member "parentID". */
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

/* Compares the values of two domains; a list that is the beginning of the other precedes it. */
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

/* Reads the member "domains". */
static bool read_domains(struct step_run *steps) {
  struct hr__kueue_case *self = &steps->objects;
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

/* The domains that are not children of others, in the order of the tree, as a list of the search. */
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

/* Compares and frees the actual value. */
static void compare(struct step_run *steps, const cJSON *expect, const char *name, cJSON *actual, unsigned flags) {
  hr__verdict_compare(steps->objects.verdict, name, hr__case_get(expect, name), actual, flags, 0);
  cJSON_Delete(actual);
}

static void is_malformed(struct step_run *steps, const char *what) {
  if (!steps->objects.verdict->no_memory) steps->objects.verdict->malformed = what;
}

/* ---- Orders ---- */

static void run_sorted(struct step_run *steps, const cJSON *expect, bool with_leader) {
  const cJSON *input = steps->objects.input;
  struct hr__tas_list *list = &steps->search.fit;
  if (hr__case_bool(input, "enableTASPreferredSchedulingAffinity", false))
    steps->search.gates.affinity_preferred = true;
  bool unconstrained = hr__case_bool(input, "unconstrained", false);
  (with_leader ? hr__tas_sort_with_leader : hr__tas_sort)(&steps->search, list->items, list->count, unconstrained);
  compare(steps, expect, "wantOrder", ids_json(steps), HR__COMPARE_EXACTLY);
}

static void sorted_domains(struct step_run *steps, const cJSON *expect) {
  if (read_domains(steps) && list_top(steps)) run_sorted(steps, expect, false);
}

static void sorted_with_leader(struct step_run *steps, const cJSON *expect) {
  if (read_domains(steps) && list_top(steps)) run_sorted(steps, expect, true);
}

/* The numbers of domains are in the order of their values: two domains become a tree. */
static void compare_domains(struct step_run *steps, const cJSON *expect) {
  struct hr__kueue_case *self = &steps->objects;
  const cJSON *pair[] = {hr__case_get(self->input, "a"), hr__case_get(self->input, "b")};
  uint32_t counts[2];
  const char **texts[2], *values[2 * HR__TAS_MAX_LEVELS];
  for (int i = 0; i < 2; i++) texts[i] = hr__kueue_case_texts(self, hr__case_get(pair[i], "levelValues"), &counts[i]);
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
  compare(steps, expect, "want", cJSON_CreateNumber((leaves[0] > leaves[1]) - (leaves[0] < leaves[1])),
          HR__COMPARE_EXACTLY);
}

/* ---- Balanced placement ---- */

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
  const cJSON *input = steps->objects.input;
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

/* Finds the threshold for domains of which those without children have counts. */
static void find_threshold(struct step_run *steps, const cJSON *expect) {
  const cJSON *params = hr__case_get(steps->objects.input, "params");
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
  compare(steps, expect, "wantThreshold", cJSON_CreateNumber((double)threshold), HR__COMPARE_EXACTLY);
  compare(steps, expect, "wantDomainsCount", cJSON_CreateNumber(threshold ? search->fit.count : 0),
          HR__COMPARE_EXACTLY);
}

/* Finds a threshold, or selects, distributes or sorts domains, depending on the members of the input. */
static void balanced(struct step_run *steps, const cJSON *expect) {
  const cJSON *input = steps->objects.input;
  struct hr__tas_search *search = &steps->search;
  if (!read_domains(steps) || !list_top(steps)) return;
  if (hr__case_get(input, "params")) {
    find_threshold(steps, expect);
  } else if (hr__case_get(input, "threshold")) {
    cJSON *json = distribute(steps, hr__case_whole(input, "threshold", 0));
    compare(steps, expect, "want", json, HR__COMPARE_EXACTLY);
  } else if (hr__case_get(input, "workerCount")) {
    if (!hr__tas_select_optimal(search, &search->fit, hr__case_whole(input, "workerCount", 0),
                                hr__case_whole(input, "leaderCount", 0), 1,
                                hr__case_bool(input, "prioritizeByEntropy", true)))
      search->fit.count = 0;
    compare(steps, expect, "want", ids_json(steps), HR__COMPARE_SETS);
  } else {
    hr__tas_sort_by_entropy(search, search->fit.items, search->fit.count);
    compare(steps, expect, "want", ids_json(steps), HR__COMPARE_EXACTLY);
  }
}

/* ---- Placements ---- */

/* Builds the tree of the domains of two placements; by host if the host is the only level. */
static bool build_tree(struct step_run *steps, const struct hr__kueue_placement *a, const struct hr__kueue_placement *b,
                       struct hr__tas_flavor *flavor) {
  struct hr__kueue_case *self = &steps->objects;
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

static void compare_placement(struct step_run *steps, const cJSON *expect, const struct hr__tas_flavor *flavor,
                              const struct hr__tas_part *parts, uint32_t count) {
  const struct hr__kueue_placement *placement =
      hr__tas_flavor_placement(flavor, steps->objects.verdict->arena, parts, count);
  if (!placement) {
    steps->objects.verdict->no_memory = true;
    return;
  }
  cJSON *json = hr__kueue_placement_json(placement);
  /* A placement without domains is also written without the list. */
  if (!count && !hr__case_get(hr__case_get(expect, "want"), "domains"))
    cJSON_DeleteItemFromObjectCaseSensitive(json, "domains");
  compare(steps, expect, "want", json, HR__COMPARE_EXACTLY);
}

static void merge(struct step_run *steps, const cJSON *expect) {
  struct hr__kueue_case *self = &steps->objects;
  const struct hr__kueue_placement *a = hr__kueue_case_placement(self, hr__case_get(self->input, "a")),
                                   *b = hr__kueue_case_placement(self, hr__case_get(self->input, "b"));
  struct hr__tas_flavor flavor;
  if (!a || !b) is_malformed(steps, "the placements \"a\" and \"b\" are missing");
  if (!a || !b || !build_tree(steps, a, b, &flavor)) return;
  const struct hr__tas_part *left = hr__kueue_case_parts(self, &flavor, a),
                            *right = hr__kueue_case_parts(self, &flavor, b);
  struct hr__tas_part *merged = ALLOC(self, (size_t)a->n_domains + b->n_domains, struct hr__tas_part);
  if (self->verdict->no_memory) return;
  compare_placement(steps, expect, &flavor, merged, hr__tas_merge(left, a->n_domains, right, b->n_domains, merged));
}

static void truncate_parts(struct step_run *steps, const cJSON *expect) {
  struct hr__kueue_case *self = &steps->objects;
  const struct hr__kueue_placement *whole = hr__kueue_case_placement(self, hr__case_get(self->input, "assignment"));
  struct hr__tas_flavor flavor;
  if (!whole) is_malformed(steps, "the placement \"assignment\" is missing");
  if (!whole || !build_tree(steps, whole, whole, &flavor)) return;
  struct hr__tas_part *parts = hr__kueue_case_parts(self, &flavor, whole);
  if (!parts) return;
  uint32_t count = hr__tas_truncate(parts, whole->n_domains, hr__case_whole(self->input, "newCount", 0));
  compare_placement(steps, expect, &flavor, parts, count);
}

/* The levels of the topology in cases that do not name them. */
static const char *const default_levels[] = {"level-1", "level-2"};

static void has_level(struct step_run *steps, const cJSON *expect) {
  struct hr__kueue_case *self = &steps->objects;
  struct hr__tas_flavor flavor = {.levels = default_levels, .n_levels = 2};
  if (hr__case_get(self->input, "levels"))
    flavor.levels = hr__kueue_case_texts(self, hr__case_get(self->input, "levels"), &flavor.n_levels);
  struct hr__kueue_topology_request wanted =
      hr__kueue_case_topology_request(self, hr__case_get(self->input, "podSetTopologyRequest"));
  if (self->verdict->no_memory || !flavor.n_levels) {
    is_malformed(steps, "\"levels\" is empty");
    return;
  }
  struct hr__tas_request request = {0};
  hr__tas_flavor_request(&flavor, &wanted, &request);
  compare(steps, expect, "want", cJSON_CreateBool(hr__tas_has_levels(&request, flavor.n_levels)), HR__COMPARE_EXACTLY);
}

/* ---- Kinds ---- */

bool hr__conform_kueue_tas_step(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  static const struct {
    const char *kind;
    void (*run)(struct step_run *steps, const cJSON *expect);
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
    if (strcmp(rows[i].kind, kind) != 0) continue;
    struct step_run steps = {0};
    if (hr__kueue_case_begin(&steps.objects, whole, verdict)) {
      steps.search.gates = hr__tas_gates_of(steps.objects.world.gates);
      rows[i].run(&steps, hr__case_get(whole, "expect"));
    }
    if (steps.search.no_memory) verdict->no_memory = true;
    hr__tas_search_finish(&steps.search);
    return true;
  }
  return false;
}
