/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cases of Karpenter: costs and scores of moves, disruption budgets, and consolidation.
 *
 * A case of consolidation states only some facts about the nodes and instance types; this adapter assumes the rest. If
 * a case states only the number of its nodes, their type is the only instance type. If it lists its nodes or states
 * their cores ("node_cpu"), smaller types exist, too. Each type then has twice the size and the price of the type
 * before it. But if the member "type" is "cheapest", no smaller types exist.
 */

#include "scenarios/conform/conform.h"
#include "sim/clusters/node_autoscalers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- Costs and scores ------------------------------------------------------------------------------------ */

static void check_score(struct hr__verdict *verdict, struct hr__karpenter_score score) {
  const double tolerance = isinf(score.score) ? 0 : 0.005 * score.score; // the cases state rounded scores
  hr__check_bool(verdict, "approved", score.is_approved);
  hr__check_number(verdict, "score", score.score, tolerance);
  hr__check_number(verdict, "derived_score", score.score, tolerance);
}

static void run_score(struct hr__verdict *verdict) {
  const struct hr__karpenter_totals pool = {hr__case_real(verdict->input, "pool_cost", 0),
                                            hr__case_real(verdict->input, "pool_disruption", 0)};
  check_score(verdict, hr__karpenter_score(hr__case_real(verdict->input, "savings", 0),
                                           hr__case_real(verdict->input, "disruption", 0), pool,
                                           hr__case_real(verdict->input, "k", 2)));
}

/* Returns the disruption cost of a node with `n_pods` pods without priority and deletion cost. */
static double disruption_of(double n_pods) {
  return HR__KARPENTER_NODE_DISRUPTION + n_pods * hr__karpenter_eviction_cost(0, 0);
}

/* Returns the number of pods of a node or, in a pool, of each node. */
static double pods_of(const cJSON *object) {
  return hr__case_real(object, "pods_each", hr__case_real(object, "pods", 0));
}

static void run_totals(struct hr__verdict *verdict) {
  const cJSON *nodes = hr__case_get(verdict->input, "nodes"), *node;
  struct hr__karpenter_totals totals = {0, 0};
  if (cJSON_IsNumber(nodes)) { // equal nodes
    totals.cost = nodes->valuedouble * hr__case_real(verdict->input, "price", 0);
    totals.disruption = nodes->valuedouble * disruption_of(pods_of(verdict->input));
  } else
    cJSON_ArrayForEach(node, nodes) {
      totals.cost += hr__case_real(node, "price", 0);
      totals.disruption += disruption_of(pods_of(node));
    }
  hr__check_number(verdict, "cost", totals.cost, 1e-9);
  hr__check_number(verdict, "disruption", totals.disruption, 1e-9);
}

static bool is_balanced(const cJSON *pool) {
  return strcmp(hr__case_text(pool, "policy", "Balanced"), "Balanced") == 0;
}

/* Reads a pool of equal nodes, of which some are deleted: as many as its member "delete" states, or else `deleted`. */
static struct hr__karpenter_part read_part(const cJSON *pool, double deleted, double k) {
  const double nodes = hr__case_real(pool, "nodes", 0), price = hr__case_real(pool, "price", 0);
  const double disruption = disruption_of(pods_of(pool));
  deleted = hr__case_real(pool, "delete", deleted);
  return (struct hr__karpenter_part){
      is_balanced(pool), deleted * price, deleted * disruption, {nodes * price, nodes * disruption}, k};
}

/* Returns the score of deleting nodes of one or several pools. */
static struct hr__karpenter_score score_deletion(struct hr__verdict *verdict) {
  const cJSON *pools = hr__case_get(verdict->input, "pools"), *one = hr__case_get(verdict->input, "pool"), *pool;
  const cJSON *deleted = hr__case_get(verdict->input, "delete");
  const double k = hr__case_real(verdict->input, "k", 2);
  struct hr__karpenter_part *parts = hr__verdict_alloc(verdict, 1 + (size_t)cJSON_GetArraySize(pools), sizeof *parts);
  uint32_t n = 0;
  double savings = 0;
  if (!parts) return (struct hr__karpenter_score){0};
  if (one) parts[n++] = read_part(one, hr__case_real(verdict->input, "delete", 1), k);
  cJSON_ArrayForEach(pool, pools) {
    const cJSON *each = cJSON_IsObject(deleted)  ? hr__case_get(deleted, pool->string)
                        : cJSON_IsArray(deleted) ? cJSON_GetArrayItem(deleted, (int)n)
                                                 : deleted;
    parts[n++] = read_part(pool, cJSON_IsNumber(each) ? each->valuedouble : 1, k);
  }
  for (uint32_t i = 0; i < n; i++) savings += parts[i].cost;
  return hr__karpenter_score_move(savings, parts, n);
}

/* Returns the price of a replacement. This is the spot price if the case states one and `required` is not "on-demand";
   otherwise the on-demand price. */
static double replacement_price(const cJSON *replacement, const char *required) {
  const double spot = hr__case_real(replacement, "spot", (double)NAN);
  return isnan(spot) || strcmp(required, "on-demand") == 0 ? hr__case_real(replacement, "on_demand", 0) : spot;
}

static void run_move(struct hr__verdict *verdict) {
  const cJSON *source = hr__case_get(verdict->input, "source");
  if (!source) {
    check_score(verdict, score_deletion(verdict));
    return;
  }
  const double price = hr__case_real(source, "price", 0);
  const double savings = price - replacement_price(hr__case_get(verdict->input, "replacement"),
                                                   hr__case_text(verdict->input, "pool_requires", ""));
  const struct hr__karpenter_part part = {
      is_balanced(verdict->input),
      price,
      disruption_of(pods_of(source)),
      {hr__case_real(verdict->input, "pool_cost", 0), hr__case_real(verdict->input, "pool_disruption", 0)},
      hr__case_real(verdict->input, "k", 2)};
  hr__check_number(verdict, "savings", savings, 1e-9);
  check_score(verdict, hr__karpenter_score_move(savings, &part, 1));
}

/* Returns the number of a zone: the position of the first offering in the zone. If no offering is in the zone, returns
   the number of offerings. */
static uint32_t zone_of(const cJSON *offerings, const char *zone) {
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, offerings) {
    if (strcmp(hr__case_text(item, "zone", ""), zone) == 0) return at;
    at++;
  }
  return at;
}

static bool is_spot(const cJSON *object) {
  return strcmp(hr__case_text(object, "capacity", "on-demand"), "spot") == 0;
}

static void run_node_price(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "offerings"), *item;
  struct hr__karpenter_offering *offerings =
      hr__verdict_alloc(verdict, (size_t)cJSON_GetArraySize(list), sizeof *offerings);
  uint32_t n = 0;
  if (!offerings) return;
  cJSON_ArrayForEach(item, list) offerings[n++] =
      (struct hr__karpenter_offering){hr__case_real(item, "price", 0), zone_of(list, hr__case_text(item, "zone", "")),
                                      is_spot(item), hr__case_bool(item, "available", true)};
  const char *zone = hr__case_text(verdict->input, "zone", NULL);
  hr__check_number(verdict, "price",
                   hr__karpenter_node_price(offerings, n, zone ? zone_of(list, zone) : (uint32_t)HR__KARPENTER_ANY,
                                            is_spot(verdict->input)),
                   1e-9);
}

static void run_ratio(struct hr__verdict *verdict) {
  const double disruption = disruption_of(pods_of(verdict->input));
  hr__check_number(verdict, "ratio", hr__karpenter_savings_ratio(hr__case_real(verdict->input, "price", 0), disruption),
                   1e-9);
}

static void run_order(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "candidates"), *item;
  const uint32_t n = hr__case_count(verdict->input, "candidates");
  struct hr__karpenter_node *nodes = hr__verdict_alloc(verdict, n, sizeof *nodes);
  struct hr__karpenter_world world = {
      .nodes = nodes, .n_nodes = n, .order = hr__verdict_alloc(verdict, n, sizeof *world.order)};
  if (!nodes || !world.order) return;
  cJSON *ratios = cJSON_CreateObject(), *order = cJSON_CreateArray();
  uint32_t at = 0;
  cJSON_ArrayForEach(item, list) {
    nodes[at] =
        (struct hr__karpenter_node){.price = hr__case_real(item, "price", 0),
                                    .disruption = hr__case_real(item, "disruption", disruption_of(pods_of(item))),
                                    .is_candidate = true};
    cJSON_AddNumberToObject(ratios, item->string, hr__karpenter_savings_ratio(nodes[at].price, nodes[at].disruption));
    at++;
  }
  hr__karpenter_order(&world);
  for (uint32_t i = 0; i < n; i++)
    cJSON_AddItemToArray(order, cJSON_CreateString(cJSON_GetArrayItem(list, (int)world.order[i])->string));
  hr__check_json(verdict, "order", order, HR__COMPARE_EXACTLY, 0);
  hr__check_json(verdict, "ratios", ratios, HR__COMPARE_EXACTLY, 1e-9);
}

static void run_eviction(struct hr__verdict *verdict) {
  /* a deletion cost that is not a number is ignored */
  const double cost = hr__karpenter_eviction_cost(hr__case_real(verdict->input, "priority", 0),
                                                  hr__case_real(verdict->input, "deletion_cost", 0));
  hr__check_number(verdict, "cost", cost, 1e-12);
}

/* ---- Budgets --------------------------------------------------------------------------------------------- */

/* Reads a number of up to `digits` digits, and advances `*at` past it. */
static int64_t digits_at(const char **at, int digits) {
  int64_t value = 0;
  for (; digits > 0 && isdigit((unsigned char)**at); digits--, ++*at) value = 10 * value + (**at - '0');
  return value;
}

/* Returns the number of days from 1970-01-01 to a date of the proleptic Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Returns the seconds since 1970 (UTC) of an RFC 3339 text such as 2000-05-31T00:00:00+01:00. */
static int64_t seconds_of(const char *text) {
  int64_t part[6] = {1970, 1, 1, 0, 0, 0};
  for (int i = 0; i < 6; i++) {
    part[i] = digits_at(&text, i ? 2 : 4);
    if (i < 5 && *text) text++; // - - T : :
  }
  if (*text == '.') {
    text++;
    digits_at(&text, 9);
  }
  const int64_t sign = *text == '-' ? -1 : 1;
  int64_t offset_s = 0;
  if (*text == '+' || *text == '-') {
    text++;
    offset_s = 3600 * digits_at(&text, 2);
    text += *text == ':';
    offset_s += 60 * digits_at(&text, 2);
  }
  return days_to(part[0], part[1], part[2]) * 86400 + part[3] * 3600 + part[4] * 60 + part[5] - sign * offset_s;
}

/* Returns the seconds of a Go duration such as 1h30m. Fractions are not supported. */
static int64_t duration_of(const char *text) {
  int64_t sum = 0;
  while (isdigit((unsigned char)*text)) {
    const int64_t number = digits_at(&text, 9);
    sum += number * (*text == 'h' ? 3600 : *text == 'm' ? 60 : 1);
    text += *text != '\0';
  }
  return sum;
}

static uint32_t reasons_of(const cJSON *list) {
  static const char *const names[] = {"Empty", "Underutilized", "Drifted"};
  uint32_t reasons = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) for (uint32_t i = 0; i < 3;
                                      i++) if (cJSON_IsString(item) && strcmp(item->valuestring, names[i]) == 0)
      reasons |= 1U << i;
  return reasons;
}

static struct hr__karpenter_budget read_budget(const cJSON *object) {
  struct hr__karpenter_budget budget = {.nodes = hr__case_whole(object, "nodes", 0),
                                        .reasons = reasons_of(hr__case_get(object, "reasons")),
                                        .duration_s = duration_of(hr__case_text(object, "duration", ""))};
  const char *schedule = hr__case_text(object, "schedule", NULL), *nodes = hr__case_text(object, "nodes", NULL);
  budget.is_always = !schedule;
  if (nodes && !hr__karpenter_read_nodes(nodes, &budget)) budget.is_wrong = true;
  if (schedule && !hr__cron_read(schedule, &budget.schedule)) budget.is_wrong = true;
  return budget;
}

static int64_t now_of(struct hr__verdict *verdict) {
  return seconds_of(hr__case_text(verdict->input, "now", "1970-01-01T00:00:00Z"));
}

/* Converts a number of nodes; INT64_MAX (unlimited) becomes INFINITY. */
static double nodes_of(int64_t nodes) {
  return nodes == INT64_MAX ? (double)INFINITY : (double)nodes;
}

static void run_budgets(struct hr__verdict *verdict) {
  const cJSON *reason, *item;
  struct hr__karpenter_budget *budgets =
      hr__verdict_alloc(verdict, hr__case_count(verdict->input, "budgets"), sizeof *budgets);
  uint32_t n = 0;
  if (!budgets) return;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "budgets")) budgets[n++] = read_budget(item);
  cJSON *allowed = cJSON_CreateObject();
  cJSON_ArrayForEach(reason, hr__expected(verdict, "allowed", NULL)) {
    uint32_t at = 0;
    cJSON *names = cJSON_CreateArray();
    cJSON_AddItemToArray(names, cJSON_CreateString(reason->string));
    for (uint32_t bits = reasons_of(names); bits > 1; bits >>= 1) at++;
    cJSON_Delete(names);
    const int64_t nodes = hr__karpenter_allowed_for(budgets, n, (enum hr__karpenter_reason)at,
                                                    hr__case_whole(verdict->input, "pool_nodes", 0), now_of(verdict));
    if (nodes == INT64_MAX)
      cJSON_AddNullToObject(allowed, reason->string);
    else
      cJSON_AddNumberToObject(allowed, reason->string, (double)nodes);
  }
  hr__check_json(verdict, "allowed", allowed, HR__COMPARE_EXACTLY, 0);
}

static void run_one_budget(struct hr__verdict *verdict) {
  const struct hr__karpenter_budget budget = read_budget(hr__case_get(verdict->input, "budget"));
  const int64_t allowed =
      hr__karpenter_allowed(&budget, hr__case_whole(verdict->input, "pool_nodes", 0), now_of(verdict));
  hr__check_number(verdict, "allowed", nodes_of(allowed), 0);
  hr__check_bool(verdict, "error", budget.is_wrong);
}

static void run_active(struct hr__verdict *verdict) {
  const struct hr__karpenter_budget budget = read_budget(verdict->input);
  if (!budget.is_wrong) hr__check_bool(verdict, "active", hr__karpenter_is_active(&budget, now_of(verdict)));
  hr__check_bool(verdict, "error", budget.is_wrong);
}

static int64_t allowed_by(const cJSON *value, int64_t nodes) {
  struct hr__karpenter_budget budget = {.is_always = true, .nodes = hr__case_value_whole(value, 0)};
  if (cJSON_IsString(value)) budget.is_wrong = !hr__karpenter_read_nodes(value->valuestring, &budget);
  return hr__karpenter_allowed(&budget, nodes, 0);
}

/* Runs a case about the rest of a budget. Members that count nodes of other owners, nodes that are not initialized, or
   nodes with a terminating instance are ignored. */
static void run_left(struct hr__verdict *verdict) {
  static const char *const leaving[] = {"being_deleted", "deleting", "marked", "not_ready", "unready"};
  int64_t n_leaving = 0;
  for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
    n_leaving += hr__case_whole(verdict->input, leaving[i], 0);
  const int64_t allowed =
      allowed_by(hr__case_get(verdict->input, "budget"), hr__case_whole(verdict->input, "pool_nodes", 0));
  hr__check_number(verdict, "left", nodes_of(hr__karpenter_left(allowed, n_leaving)), 0);
}

/* ---- Consolidation --------------------------------------------------------------------------------------- */

/* Returns whether the nodes of a pool are empty. This is the member "empty". If it is missing, the nodes are empty if
   the pool has no member with "pods" in its name. */
static bool is_empty_pool(const cJSON *pool) {
  const cJSON *member;
  bool has_pods = false;
  cJSON_ArrayForEach(member, pool) has_pods |= strstr(member->string, "pods") != NULL;
  return hr__case_bool(pool, "empty", !has_pods);
}

/* Runs a case with pools of nodes that are empty or have small pods. In each pool, as many nodes are removed as the
   budget allows. If a pool has pods, one of its nodes must remain. "allowed_each" is the number of nodes that are
   removed from the last pool. */
static void run_pools(struct hr__verdict *verdict) {
  const cJSON *pool;
  int64_t left = 0, total = 0, each = 0;
  cJSON_ArrayForEach(pool, hr__case_get(verdict->input, "pools")) {
    const int64_t nodes = hr__case_whole(pool, "nodes", 0), times = hr__case_whole(pool, "times", 1);
    const int64_t allowed = allowed_by(hr__case_get(pool, "budget"), nodes);
    const int64_t spare = is_empty_pool(pool) || nodes < 1 ? nodes : nodes - 1;
    each = allowed < spare ? allowed : spare;
    total += each * times;
    left += (nodes - each) * times;
  }
  hr__check_number(verdict, "allowed", (double)total, 0);
  hr__check_number(verdict, "allowed_each", (double)each, 0);
  hr__check_number(verdict, "nodes_left", (double)left, 0);
}

enum { MANY_TYPES = 30, MAX_TYPES = 1000, MAX_OFFERINGS = 4000, MAX_NODES = 1000, NODE_CORES = 32 };

/* The nodes, pods and instance types of a case of consolidation, while they are built. */
struct built {
  struct hr__karpenter_type *types;
  struct hr__karpenter_offering *offerings;
  struct hr__karpenter_node *nodes;
  struct hr__node_amounts *pods;
  uint32_t n_types, n_offerings, n_nodes, n_pods;
};

static void add_type(struct built *built, int64_t cpu_m) {
  if (built->n_types == MAX_TYPES) return;
  built->types[built->n_types++] = (struct hr__karpenter_type){.size = {{cpu_m}}, .first = built->n_offerings};
}

/* Adds an offering to the last type. */
static void add_offering(struct built *built, double price, uint32_t zone, bool spot) {
  if (built->n_offerings == MAX_OFFERINGS || !built->n_types) return;
  built->offerings[built->n_offerings++] = (struct hr__karpenter_offering){price, zone, spot, true};
  built->types[built->n_types - 1].n++;
}

/* Adds `n` types with one offering each. Their prices are 1, 2, ... */
static void add_priced_types(struct built *built, uint32_t n, bool spot) {
  for (uint32_t i = 0; i < n && i < MAX_TYPES; i++) {
    add_type(built, NODE_CORES * 1000);
    add_offering(built, i + 1, 0, spot);
  }
}

/* Adds a node that may be removed. It has `n_pods` pods, and each of them needs `cpu_m` thousandths of a core. */
static void add_node(struct built *built, uint32_t type, double price, bool spot, uint32_t n_pods, int64_t cpu_m) {
  if (built->n_nodes == MAX_NODES || built->n_pods + n_pods > MAX_NODES) return;
  struct hr__karpenter_node *node = &built->nodes[built->n_nodes++];
  *node = (struct hr__karpenter_node){.price = price,
                                      .type = type,
                                      .is_spot = spot,
                                      .is_candidate = true,
                                      .disruption = disruption_of(n_pods),
                                      .first = built->n_pods,
                                      .n = n_pods};
  if (type < built->n_types) node->free = built->types[type].size;
  for (uint32_t i = 0; i < n_pods; i++) {
    built->pods[built->n_pods] = (struct hr__node_amounts){{cpu_m}};
    hr__amounts_add(&node->free, &built->pods[built->n_pods++], -1);
  }
}

/* Returns the number of instance types that a case states, at most 1000; -1: none is stated. If the case states only
   the number of types that are cheaper than the node, the type of the node is added. */
static int64_t stated_types(const cJSON *input) {
  const cJSON *member;
  cJSON_ArrayForEach(member, input) {
    const char *name = member->string;
    const bool counts = strstr(name, "types") || strstr(name, "instances") || strstr(name, "cheaper");
    if (!cJSON_IsNumber(member) || !counts || strstr(name, "min_values")) continue;
    const int64_t n = hr__case_value_whole(member, 0) + (strstr(name, "cheaper") ? 1 : 0);
    return n < 0 ? 0 : n < MAX_TYPES ? n : MAX_TYPES;
  }
  return -1;
}

/* Builds spot types and one node. With a list of spot prices, each price becomes a type, and "node_type_index" is the
   type of the node. Otherwise the case states the number of types, and the rank of the node among them by price. */
static void build_spot_types(struct hr__verdict *verdict, struct built *built) {
  const cJSON *prices = hr__case_get(verdict->input, "spot_prices"), *price;
  uint32_t at = (uint32_t)hr__case_whole(verdict->input, "node_type_index", 0);
  cJSON_ArrayForEach(price, prices) {
    add_type(built, NODE_CORES * 1000);
    add_offering(built, price->valuedouble, 0, true);
  }
  if (!prices) {
    const int64_t stated = stated_types(verdict->input);
    const uint32_t n = stated < 0 ? 0 : (uint32_t)stated;
    add_priced_types(built, n, true);
    at = (uint32_t)hr__case_whole(verdict->input, "node_rank_by_price", n) - 1;
  }
  if (at < built->n_types) add_node(built, at, built->offerings[at].price, true, 1, 0);
}

/* Builds one node, and the type that can replace it. If the case does not state a replacement, builds many types
   instead; the node then has the most expensive one. */
static void build_one_node(struct hr__verdict *verdict, struct built *built) {
  const cJSON *node = hr__case_get(verdict->input, "node"), *kinds = hr__case_get(verdict->input, "replacement");
  const cJSON *pod = cJSON_GetArrayItem(hr__case_get(verdict->input, "pods"), 0), *offering;
  const uint32_t n_pods = hr__case_get(verdict->input, "pods") ? hr__case_count(verdict->input, "pods") : 1;
  const int64_t cpu_m = hr__read_amounts(pod).of[HR__CPU_M];
  if (!kinds) {
    const int64_t stated = stated_types(verdict->input);
    const uint32_t n = stated < 0 ? (uint32_t)MANY_TYPES : (uint32_t)stated;
    add_priced_types(built, n, is_spot(node));
    if (built->n_types) add_node(built, built->n_types - 1, built->n_types, is_spot(node), n_pods, cpu_m);
    return;
  }
  add_type(built, NODE_CORES * 1000);
  uint32_t zone = 0;
  cJSON_ArrayForEach(offering, hr__case_get(kinds, "on_demand"))
      add_offering(built, offering->valuedouble, zone++, false);
  cJSON_ArrayForEach(offering, hr__case_get(kinds, "spot")) add_offering(built, offering->valuedouble, zone++, true);
  add_node(built, HR__KARPENTER_ANY, hr__case_real(node, "price", 0), is_spot(node), n_pods, cpu_m);
}

/* Builds several nodes of one type. The list "pods" has the number of pods of each node; the pods are small. */
static void build_nodes(struct hr__verdict *verdict, struct built *built) {
  const cJSON *nodes = hr__case_get(verdict->input, "nodes"), *pods = hr__case_get(verdict->input, "pods");
  const bool is_listed = cJSON_IsArray(nodes),
             has_spot = hr__position_of(is_listed ? nodes : NULL, "spot") != UINT32_MAX;
  const bool is_cheapest = hr__case_text_is(verdict->input, "type", "cheapest");
  const bool has_smaller = !is_cheapest && (is_listed || hr__case_get(verdict->input, "node_cpu"));
  const int64_t cores = hr__case_whole(verdict->input, "node_cpu", NODE_CORES);
  if (cores < 1 || cores > 100000) {
    verdict->malformed = "\"node_cpu\" must be from 1 to 100000";
    return;
  }
  for (int64_t size = has_smaller ? 1 : cores; size < 2 * cores; size *= 2) {
    const int64_t cut = size < cores ? size : cores;
    add_type(built, cut * 1000);
    add_offering(built, (double)cut, 0, false);
    if (has_spot) add_offering(built, 0.3 * (double)cut, 0, true);
  }
  const int64_t n = is_listed ? cJSON_GetArraySize(nodes) : hr__case_value_whole(nodes, 0);
  for (int64_t i = 0; i < n && i < MAX_NODES; i++) {
    const char *kind = is_listed ? cJSON_GetStringValue(cJSON_GetArrayItem(nodes, (int)i)) : NULL;
    const bool spot = kind && strcmp(kind, "spot") == 0;
    const int64_t n_pods = hr__case_value_whole(cJSON_GetArrayItem(pods, (int)i), 0);
    add_node(built, built->n_types - 1, (double)cores * (spot ? 0.3 : 1), spot,
             n_pods > 0 && n_pods < MAX_NODES ? (uint32_t)n_pods : 0, 10);
  }
}

static bool make_built(struct hr__verdict *verdict, struct built *built) {
  built->types = hr__verdict_alloc(verdict, MAX_TYPES, sizeof *built->types);
  built->offerings = hr__verdict_alloc(verdict, MAX_OFFERINGS, sizeof *built->offerings);
  built->nodes = hr__verdict_alloc(verdict, MAX_NODES, sizeof *built->nodes);
  built->pods = hr__verdict_alloc(verdict, MAX_NODES, sizeof *built->pods);
  return built->types && built->offerings && built->nodes && built->pods;
}

static void check_command(struct hr__verdict *verdict, const struct built *built,
                          const struct hr__karpenter_world *world, struct hr__karpenter_command command) {
  static const char *const names[] = {"none", "delete", "replace"};
  hr__check_text(verdict, "action", names[command.action]);
  hr__check_number(verdict, "types_sent", command.n_sent, 0);
  cJSON *sent = cJSON_CreateArray(), *deleted = cJSON_CreateArray();
  bool has_own = false;
  for (uint32_t i = 0; i < command.n_sent; i++) {
    cJSON_AddItemToArray(sent, cJSON_CreateNumber(world->sent[i]));
    for (uint32_t k = 0; k < command.n_nodes; k++)
      has_own |= world->sent[i] == built->nodes[world->order[command.first + k]].type;
  }
  for (uint32_t i = 0; i < command.n_nodes; i++)
    cJSON_AddItemToArray(deleted, cJSON_CreateNumber(world->order[command.first + i]));
  hr__check_json(verdict, "indices_sent", sent, HR__COMPARE_SETS, 0);
  if (cJSON_IsNumber(hr__expected(verdict, "deleted", NULL))) { // their number
    cJSON_Delete(deleted);
    deleted = cJSON_CreateNumber(command.n_nodes);
  }
  hr__check_json(verdict, "deleted", deleted, HR__COMPARE_SETS, 0);
  const double left = built->n_nodes - command.n_nodes + (command.action == HR__KARPENTER_REPLACE ? 1 : 0);
  hr__check_number(verdict, "nodes_after", left, 0);
  hr__check_number(verdict, "nodes_left", left, 0);
  hr__check_text(verdict, "replacement_excludes", has_own ? NULL : "own type");
}

/* If the case has a budget, keeps only as many candidates for removal as it allows: the best ones. */
static void keep_within_budget(struct hr__verdict *verdict, struct built *built,
                               const struct hr__karpenter_world *world) {
  const cJSON *budget = hr__case_get(verdict->input, "budget");
  if (!budget) return;
  const int64_t allowed = allowed_by(budget, built->n_nodes);
  const uint32_t n_candidates = hr__karpenter_order(world);
  for (uint32_t i = 0; i < n_candidates; i++) built->nodes[world->order[i]].is_candidate = i < allowed;
}

static void run_consolidate(struct hr__verdict *verdict) {
  struct built built = {0};
  if (hr__case_get(verdict->input, "pools")) {
    run_pools(verdict);
    return;
  }
  if (!make_built(verdict, &built)) return;
  if (hr__case_get(verdict->input, "node"))
    build_one_node(verdict, &built);
  else if (hr__case_get(verdict->input, "nodes"))
    build_nodes(verdict, &built);
  else
    build_spot_types(verdict, &built);
  const char *required = hr__case_text(verdict->input, "pool_requires", "");
  const struct hr__karpenter_world world = {.types = built.types,
                                            .offerings = built.offerings,
                                            .nodes = built.nodes,
                                            .pods = built.pods,
                                            .n_types = built.n_types,
                                            .n_nodes = built.n_nodes,
                                            .allows_spot = strcmp(required, "on-demand") != 0,
                                            .allows_on_demand = strcmp(required, "spot") != 0,
                                            .zone = HR__KARPENTER_ANY,
                                            .spot_to_spot = hr__case_bool(verdict->input, "spot_to_spot", false),
                                            .min_types =
                                                (uint32_t)hr__case_whole(verdict->input, "min_values_types", 0),
                                            .free = hr__verdict_alloc(verdict, built.n_nodes, sizeof *world.free),
                                            .leaves = hr__verdict_alloc(verdict, built.n_nodes, sizeof *world.leaves),
                                            .order = hr__verdict_alloc(verdict, built.n_nodes, sizeof *world.order),
                                            .sent = hr__verdict_alloc(verdict, built.n_types, sizeof *world.sent)};
  if (!world.free || !world.leaves || !world.order || !world.sent || verdict->malformed) return;
  keep_within_budget(verdict, &built, &world);
  check_command(verdict, &built, &world, hr__karpenter_consolidate(&world));
}

const struct hr__case_kind hr__karpenter_kinds[] = {{"karpenter-balanced-score", run_score},
                                                    {"karpenter-pool-totals", run_totals},
                                                    {"karpenter-balanced-move", run_move},
                                                    {"karpenter-node-price", run_node_price},
                                                    {"karpenter-savings-ratio", run_ratio},
                                                    {"karpenter-candidate-order", run_order},
                                                    {"karpenter-eviction-cost", run_eviction},
                                                    {"karpenter-budget", run_budgets},
                                                    {"karpenter-budget-one", run_one_budget},
                                                    {"karpenter-budget-active", run_active},
                                                    {"karpenter-budget-left", run_left},
                                                    {"karpenter-consolidate", run_consolidate},
                                                    {NULL, NULL}};
