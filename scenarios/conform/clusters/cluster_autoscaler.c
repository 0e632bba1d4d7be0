/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cases of the cluster autoscaler of Kubernetes. Scale-up: expanders, limits, balancing, packing, whole decisions, and
 * the back-off of a node group after a failure. Scale-down: utilization, unneeded nodes, and budgets.
 */

#include "scenarios/conform/conform.h"
#include "sim/clusters/node_autoscalers.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

enum { UNLIMITED_SIZE = 1000000, MANY_PODS = 1000000 };

/* ---- Expanders -------------------------------------------------------------------------------------- */

static uint32_t all_of(uint32_t *kept, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) kept[i] = i;
  return n;
}

/* The options of an expander, which selects some of them. An option is a node group that can grow. */
struct options {
  struct hr__ca_option *at; /* [n] */
  double *scores;           /* [n] NAN: the expander computes no score */
  uint32_t *kept;           /* [n] indices of the options that the expander keeps */
  uint32_t n;
};

static bool make_options(struct hr__verdict *verdict, uint32_t n, struct options *options) {
  options->n = n;
  options->at = hr__verdict_alloc(verdict, n, sizeof *options->at);
  options->scores = hr__verdict_alloc(verdict, n, sizeof *options->scores);
  options->kept = hr__verdict_alloc(verdict, n, sizeof *options->kept);
  return options->at && options->scores && options->kept;
}

/* Returns the name of an option. An option is a text, which is its name, or an object with its name in "group". */
static const char *option_name(const cJSON *list, uint32_t at) {
  const cJSON *item = cJSON_GetArrayItem(list, (int)at);
  return cJSON_IsString(item) ? item->valuestring : hr__case_text(item, "group", "");
}

static void check_kept(struct hr__verdict *verdict, const cJSON *list, const struct options *options, uint32_t n) {
  cJSON *kept = cJSON_CreateArray();
  for (uint32_t i = 0; i < n; i++) cJSON_AddItemToArray(kept, cJSON_CreateString(option_name(list, options->kept[i])));
  hr__check_json(verdict, "kept", kept, HR__COMPARE_SETS, 0);
}

static void check_scores(struct hr__verdict *verdict, const cJSON *list, const struct options *options) {
  cJSON *scores = cJSON_CreateObject();
  bool is_any = false;
  for (uint32_t i = 0; i < options->n; i++) {
    if (isnan(options->scores[i])) continue;
    cJSON_AddNumberToObject(scores, option_name(list, i), options->scores[i]);
    is_any = true;
  }
  if (!is_any) {
    cJSON_Delete(scores);
    scores = cJSON_CreateNull();
  }
  hr__check_json(verdict, "derived_scores", scores, HR__COMPARE_EXACTLY, 1e-6);
}

static void run_least_waste(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "options"), *pod;
  struct options options;
  if (!make_options(verdict, hr__case_count(verdict->input, "options"), &options)) return;
  for (uint32_t i = 0; i < options.n; i++) {
    const cJSON *item = cJSON_GetArrayItem(list, (int)i);
    options.at[i] = (struct hr__ca_option){.nodes = hr__case_whole(item, "nodes", 0),
                                           .node = hr__read_amounts(hr__case_get(item, "node"))};
    cJSON_ArrayForEach(pod, hr__case_get(item, "pods")) {
      const struct hr__node_amounts request = hr__read_amounts(pod);
      hr__amounts_add(&options.at[i].pods, &request, 1);
    }
  }
  const uint32_t n = hr__ca_expand(HR__CA_LEAST_WASTE, options.at, NULL, options.scores, options.kept,
                                   all_of(options.kept, options.n));
  check_kept(verdict, list, &options, n);
  check_scores(verdict, list, &options);
}

/* Runs a case of an expander that compares the options by their number of nodes or by their number of pods. `name` is
   the member with these numbers. */
static void run_counted(struct hr__verdict *verdict, const char *name, enum hr__ca_expander expander) {
  struct options options;
  uint32_t at = 0;
  const cJSON *item;
  if (!make_options(verdict, hr__case_count(verdict->input, name), &options)) return;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, name)) {
    options.at[at].nodes = options.at[at].n_pods = hr__case_value_whole(item, 0);
    at++;
  }
  const uint32_t n =
      hr__ca_expand(expander, options.at, NULL, options.scores, options.kept, all_of(options.kept, options.n));
  cJSON *kept = cJSON_CreateArray();
  for (uint32_t i = 0; i < n; i++) cJSON_AddItemToArray(kept, cJSON_CreateNumber(options.kept[i]));
  hr__check_json(verdict, "kept_indices", kept, HR__COMPARE_EXACTLY, 0);
}

static void run_least_nodes(struct hr__verdict *verdict) {
  run_counted(verdict, "node_counts", HR__CA_LEAST_NODES);
}

static void run_most_pods(struct hr__verdict *verdict) {
  run_counted(verdict, "pod_counts", HR__CA_MOST_PODS);
}

/* A filter that keeps the options with names that contain `text`. */
struct substring {
  const cJSON *options;
  const char *text;
};

static uint32_t keep_substring(const void *self, uint32_t *kept, uint32_t n_kept) {
  const struct substring *filter = self;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_kept; i++)
    if (strstr(option_name(filter->options, kept[i]), filter->text)) kept[n++] = kept[i];
  return n;
}

static void run_chain(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "options"),
              *texts = hr__case_get(verdict->input, "filters_keep_substring");
  const uint32_t n_filters = hr__case_count(verdict->input, "filters_keep_substring");
  struct hr__ca_filter *filters = hr__verdict_alloc(verdict, n_filters, sizeof *filters);
  struct substring *substrings = hr__verdict_alloc(verdict, n_filters, sizeof *substrings);
  struct options options;
  if (!filters || !substrings || !make_options(verdict, hr__case_count(verdict->input, "options"), &options)) return;
  for (uint32_t i = 0; i < n_filters; i++) {
    substrings[i] = (struct substring){list, option_name(texts, i)};
    filters[i] = (struct hr__ca_filter){keep_substring, &substrings[i]};
  }
  uint32_t n = hr__ca_chain(filters, n_filters, options.kept, all_of(options.kept, options.n));
  if (n > 1) { // several options remain: the fallback selects
    const struct substring fallback = {list, hr__case_text(verdict->input, "fallback_first_with_substring", "")};
    n = keep_substring(&fallback, options.kept, n);
  }
  hr__check_text(verdict, "chosen", n ? option_name(list, options.kept[0]) : NULL);
}

/* Returns the sum of the prices of pods; NAN if a pod has no price. */
static double pods_price(const cJSON *prices, const cJSON *pods) {
  double sum = 0;
  const cJSON *pod;
  cJSON_ArrayForEach(pod, pods) sum += hr__case_real(prices, pod->valuestring ? pod->valuestring : "", (double)NAN);
  return sum;
}

static struct hr__ca_option read_priced(const cJSON *input, const cJSON *item) {
  const char *node = hr__case_text(item, "node", "");
  const bool is_gpu_node = hr__case_whole(hr__case_get(input, "node_gpus"), node, 0) > 0;
  return (struct hr__ca_option){
      .nodes = hr__case_whole(item, "nodes", 0),
      .node = {{hr__case_whole(hr__case_get(input, "node_cpu_m"), node, 0)}},
      .node_usd_h = hr__case_real(hr__case_get(input, "node_price_per_hour"), node, (double)NAN),
      .pods_usd_h = pods_price(hr__case_get(input, "pod_price_per_hour"), hr__case_get(item, "pods")),
      .has_gpus = is_gpu_node || hr__case_bool(item, "gpu", false) || hr__case_whole(item, "gpus", 0) > 0,
      .is_new_group = !hr__case_bool(item, "exists", true)};
}

static void run_price(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "options");
  const struct hr__ca_price_settings price = {
      hr__case_whole(verdict->input, "preferred_node_cpu_m", 1000),
      hr__case_real(hr__case_get(verdict->input, "pod_price_per_hour"), "stabilize", 0)};
  struct options options;
  if (!make_options(verdict, hr__case_count(verdict->input, "options"), &options)) return;
  for (uint32_t i = 0; i < options.n; i++)
    options.at[i] = read_priced(verdict->input, cJSON_GetArrayItem(list, (int)i));
  const uint32_t n =
      hr__ca_expand(HR__CA_PRICE, options.at, &price, options.scores, options.kept, all_of(options.kept, options.n));
  check_kept(verdict, list, &options, n);
  check_scores(verdict, list, &options);
}

enum { MAX_PATTERN = 400 };

/* Converts a regular expression of Go to an extended regular expression of POSIX, and sets `flags` for regcomp().
   Classes such as \\d become bracket expressions, and non-capturing groups become groups. Lazy repetitions become
   greedy repetitions, which match the same names. Returns false if the result is too long. */
static bool to_posix(const char *pattern, char posix[MAX_PATTERN], int *flags) {
  static const char *const classes[][2] = {{"\\d", "[0-9]"},
                                           {"\\D", "[^0-9]"},
                                           {"\\w", "[0-9A-Za-z_]"},
                                           {"\\W", "[^0-9A-Za-z_]"},
                                           {"\\s", "[[:space:]]"},
                                           {"\\S", "[^[:space:]]"},
                                           {"(?:", "("},
                                           {"*?", "*"},
                                           {"+?", "+"}};
  size_t n = 0;
  *flags = REG_EXTENDED | REG_NOSUB;
  if (strncmp(pattern, "(?i)", 4) == 0) {
    *flags |= REG_ICASE;
    pattern += 4;
  }
  while (*pattern) {
    const char *part = NULL;
    size_t taken = *pattern == '\\' && pattern[1] ? 2 : 1;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !part; i++)
      if (strncmp(pattern, classes[i][0], strlen(classes[i][0])) == 0) {
        part = classes[i][1];
        taken = strlen(classes[i][0]);
      }
    const size_t added = part ? strlen(part) : taken;
    if (n + added >= MAX_PATTERN) return false;
    memcpy(posix + n, part ? part : pattern, added);
    n += added;
    pattern += taken;
  }
  posix[n] = '\0';
  return true;
}

/* Returns whether a name matches one of the patterns. A pattern that is not a regular expression matches nothing. */
static bool matches_any(const cJSON *patterns, const char *name) {
  const cJSON *pattern;
  cJSON_ArrayForEach(pattern, patterns) {
    regex_t compiled;
    char posix[MAX_PATTERN];
    int flags;
    if (!cJSON_IsString(pattern) || !to_posix(pattern->valuestring, posix, &flags)) continue;
    if (regcomp(&compiled, posix, flags) != 0) continue;
    const bool matches = regexec(&compiled, name, 0, NULL, 0) == 0;
    regfree(&compiled);
    if (matches) return true;
  }
  return false;
}

static void run_priority(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "groups"), *row;
  struct options options;
  if (!make_options(verdict, hr__case_count(verdict->input, "groups"), &options)) return;
  for (uint32_t i = 0; i < options.n; i++) {
    struct hr__ca_option *option = &options.at[i];
    const cJSON *priorities = hr__case_get(verdict->input, "priorities");
    if (cJSON_IsObject(priorities)) cJSON_ArrayForEach(row, priorities) {
        const int64_t priority = strtoll(row->string, NULL, 10);
        if ((option->has_priority && option->priority >= priority) || !matches_any(row, option_name(list, i))) continue;
        option->has_priority = true;
        option->priority = priority;
      }
  }
  const uint32_t n =
      hr__ca_expand(HR__CA_PRIORITY, options.at, NULL, options.scores, options.kept, all_of(options.kept, options.n));
  check_kept(verdict, list, &options, n);
}

static void run_preferred(struct hr__verdict *verdict) {
  const int64_t nodes = hr__case_whole(verdict->input, "cluster_nodes", 0);
  hr__check_number(verdict, "preferred_cpu", (double)hr__ca_preferred_cores(nodes), 0);
}

static void run_unfitness(struct hr__verdict *verdict) {
  const int64_t preferred = hr__case_whole(verdict->input, "preferred_cpu_m", 0);
  hr__check_number(verdict, "unfitness", hr__ca_unfitness(preferred, hr__case_whole(verdict->input, "node_cpu_m", 0)),
                   1e-9);
}

/* ---- Limits and balancing --------------------------------------------------------------------------- */

static int64_t room_of(const cJSON *pair) {
  return hr__ca_room(hr__case_value_whole(cJSON_GetArrayItem(pair, 0), 0),
                     hr__case_value_whole(cJSON_GetArrayItem(pair, 1), 0));
}

static void run_similar_limit(struct hr__verdict *verdict) {
  int64_t room = room_of(hr__case_get(verdict->input, "current_max_and_size"));
  const cJSON *pair;
  cJSON_ArrayForEach(pair, hr__case_get(verdict->input, "similar_max_and_size")) room += room_of(pair);
  hr__check_number(verdict, "limit", (double)hr__ca_room_limit(room), 0);
}

static void run_cluster_limit(struct hr__verdict *verdict) {
  const int64_t max = hr__case_whole(verdict->input, "max_nodes", 0),
                nodes = hr__case_whole(verdict->input, "nodes", 0);
  hr__check_number(verdict, "limit", (double)hr__ca_cluster_limit(max, nodes), 0);
}

static void run_min_limit(struct hr__verdict *verdict) {
  const int64_t a = hr__case_whole(verdict->input, "a", 0), b = hr__case_whole(verdict->input, "b", 0);
  hr__check_number(verdict, "limit", (double)hr__ca_smaller_limit(a, b), 0);
}

static int by_value(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void run_balance(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "groups"), *item;
  const uint32_t n = hr__case_count(verdict->input, "groups");
  struct hr__ca_size *groups = hr__verdict_alloc(verdict, n, sizeof *groups);
  int64_t *new_sizes = hr__verdict_alloc(verdict, n, sizeof *new_sizes);
  if (!groups || !new_sizes) return;
  uint32_t at = 0, n_changed = 0;
  cJSON_ArrayForEach(item, list) groups[at++] =
      (struct hr__ca_size){hr__case_whole(item, "size", 0), hr__case_whole(item, "max", 0)};
  hr__ca_balance(groups, n, hr__case_whole(verdict->input, "add", 0));
  cJSON *sizes = cJSON_CreateObject(), *changed = cJSON_CreateArray(), *sorted = cJSON_CreateArray();
  at = 0;
  cJSON_ArrayForEach(item, list) {
    const int64_t size = groups[at++].size;
    if (size == hr__case_whole(item, "size", 0)) continue;
    cJSON_AddNumberToObject(sizes, item->string, (double)size);
    cJSON_AddItemToArray(changed, cJSON_CreateString(item->string));
    new_sizes[n_changed++] = size;
  }
  if (n_changed) qsort(new_sizes, n_changed, sizeof *new_sizes, by_value);
  for (uint32_t i = 0; i < n_changed; i++) cJSON_AddItemToArray(sorted, cJSON_CreateNumber((double)new_sizes[i]));
  hr__check_json(verdict, "new_size", sizes, HR__COMPARE_EXACTLY, 0);
  hr__check_json(verdict, "changed", changed, HR__COMPARE_SETS, 0);
  hr__check_json(verdict, "sizes_sorted", sorted, HR__COMPARE_EXACTLY, 0);
}

/* ---- Packing ---------------------------------------------------------------------------------------- */

static struct hr__ca_pods read_pods(const cJSON *item) {
  const cJSON *spread = hr__case_get(item, "spread");
  const int64_t port = hr__case_whole(item, "host_port", 0);
  return (struct hr__ca_pods){.request = hr__read_amounts(item),
                              .count = (uint32_t)hr__case_whole(item, "count", 1),
                              .host_port = port > 0 ? 1 + (uint32_t)(port % HR__CA_MAX_PORTS) : 0,
                              .spread = !spread                                            ? HR__CA_NO_SPREAD
                                        : strstr(hr__case_text(spread, "key", ""), "zone") ? HR__CA_SPREAD_ZONES
                                                                                           : HR__CA_SPREAD_HOSTS,
                              .max_skew = hr__case_whole(spread, "max_skew", 1),
                              .min_domains = hr__case_whole(spread, "min_domains", 1)};
}

static uint32_t read_pod_groups(struct hr__verdict *verdict, struct hr__ca_pods *pods) {
  uint32_t n = 0, n_pods = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "groups")) {
    const int64_t count = hr__case_whole(item, "count", 1);
    if (count < 0 || count > MANY_PODS) verdict->malformed = "\"count\" must be from 0 to 1000000";
    pods[n] = read_pods(item);
    n_pods += pods[n++].count;
  }
  return n_pods;
}

static struct hr__ca_node read_node(const cJSON *item, uint32_t zone) {
  return (struct hr__ca_node){
      .free = hr__read_amounts(item), .pods_left = hr__case_whole(item, "max_pods", MANY_PODS), .zone = zone};
}

static void run_packing(struct hr__verdict *verdict) {
  const uint32_t n_groups = hr__case_count(verdict->input, "groups"),
                 n_present = hr__case_count(verdict->input, "existing");
  struct hr__ca_pods *pods = hr__verdict_alloc(verdict, n_groups, sizeof *pods);
  if (!pods) return;
  const uint32_t n_pods = read_pod_groups(verdict, pods);
  if (verdict->malformed) return;
  /* zone 0 is the zone of the new nodes */
  const char *new_zone = hr__case_text(verdict->input, "new_zone", "");
  struct hr__ca_packing packing = {.fresh = read_node(hr__case_get(verdict->input, "node"), 0),
                                   .nodes = hr__verdict_alloc(verdict, n_present + n_pods + 1, sizeof *packing.nodes),
                                   .n_present = n_present,
                                   .max_new = hr__case_whole(verdict->input, "max_new_nodes", 0),
                                   .order = hr__verdict_alloc(verdict, n_groups, sizeof *packing.order)};
  if (!packing.nodes || !packing.order) return;
  uint32_t at = 0;
  const cJSON *item, *earlier, *list = hr__case_get(verdict->input, "existing");
  cJSON_ArrayForEach(item, list) {
    const char *name = hr__case_text(item, "zone", "");
    uint32_t zone = 1;
    for (earlier = list->child; strcmp(hr__case_text(earlier, "zone", ""), name) != 0; earlier = earlier->next) zone++;
    packing.nodes[at++] = read_node(item, strcmp(name, new_zone) == 0 ? 0 : zone % HR__CA_MAX_ZONES);
  }
  hr__ca_pack(&packing, pods, n_groups);
  hr__check_number(verdict, "nodes", packing.n_used, 0);
  hr__check_number(verdict, "pods_placed", packing.n_placed, 0);
}

/* ---- Whole decisions -------------------------------------------------------------------------------- */

static int64_t within_sizes(int64_t size) {
  return size < 0 ? 0 : size > UNLIMITED_SIZE ? UNLIMITED_SIZE : size;
}

static struct hr__ca_group read_group(const cJSON *item) {
  const cJSON *node = hr__case_get(item, "node");
  return (struct hr__ca_group){.node = hr__read_amounts(node ? node : item),
                               .size = within_sizes(hr__case_whole(item, "size", hr__case_whole(item, "count", 1))),
                               .max = within_sizes(hr__case_whole(item, "max", UNLIMITED_SIZE)),
                               .max_pods = hr__case_whole(node, "max_pods", MANY_PODS),
                               .zero_or_max = hr__case_bool(item, "zero_or_max", false),
                               .is_fixed = !hr__case_bool(item, "autoscaled", true)};
}

static bool is_node(const cJSON *item) {
  return hr__case_get(item, "cpu_m") || hr__case_get(item, "node");
}

/* Nodes outside all groups are members of the input: a member is one node, or a list or object of nodes. Returns the
   first node in `member`; NULL: it contains no nodes. */
static const cJSON *first_outside(const cJSON *member) {
  if (strcmp(member->string, "pending") == 0 || strcmp(member->string, "groups") == 0) return NULL;
  if (cJSON_IsObject(member) && is_node(member)) return member;
  return (cJSON_IsArray(member) || cJSON_IsObject(member)) && is_node(member->child) ? member->child : NULL;
}

/* Reads the groups, and then the nodes outside all groups. These nodes become groups of fixed size. */
static bool read_groups(struct hr__verdict *verdict, struct hr__ca_scale_up *scale_up) {
  const cJSON *member, *item;
  uint32_t n = hr__case_count(verdict->input, "groups");
  cJSON_ArrayForEach(member, verdict->input) n += first_outside(member) ? 1 + (uint32_t)cJSON_GetArraySize(member) : 0;
  scale_up->groups = hr__verdict_alloc(verdict, n, sizeof *scale_up->groups);
  if (!scale_up->groups) return false;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "groups")) scale_up->groups[scale_up->n_groups++] =
      read_group(item);
  cJSON_ArrayForEach(member, verdict->input) {
    for (item = first_outside(member); item; item = item == member ? NULL : item->next) {
      struct hr__ca_group *group = &scale_up->groups[scale_up->n_groups++];
      *group = read_group(item);
      group->is_fixed = true;
    }
  }
  return true;
}

/* Sets the limit of one resource. `name` contains the resource and its unit: max_cores, quotas_mem_MiB, ... Without a
   unit, CPU is in cores and memory in bytes. A value that is not a number sets no limit. */
static void set_limit(struct hr__node_amounts *limit, const char *name, const cJSON *value) {
  const int64_t number = hr__case_value_whole(value, INT64_MAX);
  if (number == INT64_MAX) return;
  if (strstr(name, "cpu") || strstr(name, "cores"))
    limit->of[HR__CPU_M] = hr__scaled(number, strstr(name, "cpu_m") ? 1 : 1000);
  if (strstr(name, "mem"))
    limit->of[HR__MEMORY_BYTES] = hr__scaled(number, strstr(name, "MiB")   ? INT64_C(1) << 20
                                                     : strstr(name, "GiB") ? INT64_C(1) << 30
                                                                           : 1);
  if (strstr(name, "gpu")) limit->of[HR__GPUS] = number;
}

/* Reads the limits of the whole cluster (max_cores, ...) and of groups (quotas_cpu: {group: number}). Returns false if
   memory is exhausted. */
static bool read_quotas(struct hr__verdict *verdict, struct hr__ca_scale_up *scale_up) {
  const cJSON *member, *item, *groups = hr__case_get(verdict->input, "groups");
  uint32_t n = 1;
  cJSON_ArrayForEach(member, verdict->input) n += (uint32_t)cJSON_GetArraySize(member);
  struct hr__ca_quota *quotas = hr__verdict_alloc(verdict, n, sizeof *quotas);
  if (!quotas) return false;
  const struct hr__ca_quota unlimited = {HR__CA_ALL_GROUPS, {{INT64_MAX, INT64_MAX, INT64_MAX}}, NULL};
  quotas[scale_up->n_quotas++] = unlimited;
  cJSON_ArrayForEach(member, verdict->input) {
    if (strncmp(member->string, "max_", 4) == 0) set_limit(&quotas[0].limit, member->string, member);
    if (strncmp(member->string, "quota", 5) == 0 && cJSON_IsObject(member)) cJSON_ArrayForEach(item, member) {
        struct hr__ca_quota *quota = &quotas[scale_up->n_quotas++];
        *quota = unlimited;
        quota->group = hr__position_of(groups, item->string); // HR__CA_ALL_GROUPS if no group has this name
        set_limit(&quota->limit, member->string, item);
      }
  }
  scale_up->quotas = quotas;
  return true;
}

static bool read_pending(struct hr__verdict *verdict, struct hr__ca_scale_up *scale_up) {
  const uint32_t n = hr__case_count(verdict->input, "pending");
  const uint32_t n_order = n > scale_up->n_groups ? n : scale_up->n_groups;
  scale_up->pods = hr__verdict_alloc(verdict, n, sizeof *scale_up->pods);
  scale_up->states = hr__verdict_alloc(verdict, n, sizeof *scale_up->states);
  scale_up->nodes = hr__verdict_alloc(verdict, (size_t)n + 1, sizeof *scale_up->nodes);
  scale_up->order = hr__verdict_alloc(verdict, n_order, sizeof *scale_up->order);
  if (!scale_up->pods || !scale_up->states || !scale_up->nodes || !scale_up->order) return false;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "pending")) {
    scale_up->pods[scale_up->n_pods] = read_pods(item);
    scale_up->pods[scale_up->n_pods++].count = 1;
  }
  return true;
}

static void check_pods(struct hr__verdict *verdict, const struct hr__ca_scale_up *scale_up, const char *name,
                       enum hr__ca_pending state) {
  cJSON *names = cJSON_CreateArray();
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "pending")) {
    char text[30];
    snprintf(text, sizeof text, "p%u", (unsigned)at + 1);
    if (scale_up->states[at++] == state)
      cJSON_AddItemToArray(names, cJSON_CreateString(hr__case_text(item, "name", text)));
  }
  hr__check_json(verdict, name, names, HR__COMPARE_SETS, 0);
}

/* Checks which limit prevented the growth of a group. The expected text must contain a word for this limit. */
static void check_refusal(struct hr__verdict *verdict, const struct hr__ca_scale_up *scale_up) {
  static const char *const words[][2] = {[HR__CA_NODE_COUNT] = {"node count", "nodes"},
                                         [HR__CA_CPU_QUOTA] = {"cores", "cpu"},
                                         [HR__CA_MEMORY_QUOTA] = {"memory", "mem"},
                                         [HR__CA_GPU_QUOTA] = {"gpus", "gpu"}};
  const char *expected = cJSON_GetStringValue(hr__expected(verdict, "why", NULL)), *actual = NULL;
  for (uint32_t i = 0; i < scale_up->n_groups; i++) {
    const enum hr__ca_refusal refusal = scale_up->groups[i].refusal;
    if (refusal < HR__CA_NODE_COUNT || refusal > HR__CA_GPU_QUOTA || scale_up->groups[i].is_fixed) continue;
    actual = words[refusal][0];
    if (expected && (strstr(expected, actual) || strstr(expected, words[refusal][1]))) actual = expected;
  }
  hr__check_text(verdict, "why", actual);
}

static void check_scale_up(struct hr__verdict *verdict, const struct hr__ca_scale_up *scale_up) {
  cJSON *options = cJSON_CreateObject(), *grow = cJSON_CreateObject();
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "groups")) {
    const struct hr__ca_group *group = &scale_up->groups[at++];
    if (group->option_nodes) cJSON_AddNumberToObject(options, item->string, (double)group->option_nodes);
    if (group->grow) cJSON_AddNumberToObject(grow, item->string, (double)group->grow);
  }
  hr__check_json(verdict, "options", options, HR__COMPARE_EXACTLY, 0);
  hr__check_json(verdict, "grow", grow, HR__COMPARE_EXACTLY, 0);
  check_pods(verdict, scale_up, "triggered", HR__CA_TRIGGERED);
  check_pods(verdict, scale_up, "no_group_fits", HR__CA_NO_GROUP_FITS);
  check_pods(verdict, scale_up, "another_group_fits", HR__CA_ANOTHER_FITS);
  check_refusal(verdict, scale_up);
}

static void run_scale_up(struct hr__verdict *verdict) {
  struct hr__ca_scale_up scale_up = {.max_nodes = hr__case_whole(verdict->input, "max_nodes", 0),
                                     .balances = hr__case_bool(verdict->input, "balance", false)};
  if (!read_groups(verdict, &scale_up) || !read_quotas(verdict, &scale_up) || !read_pending(verdict, &scale_up)) return;
  hr__ca_find_options(&scale_up);
  uint32_t chosen =
      hr__position_of(hr__case_get(verdict->input, "groups"), hr__case_text(verdict->input, "chosen", NULL));
  for (uint32_t i = 0; chosen == UINT32_MAX && i < scale_up.n_groups; i++)
    if (scale_up.groups[i].option_nodes > 0) chosen = i; /* the case states no choice: the first option */
  if (chosen != UINT32_MAX && scale_up.groups[chosen].option_nodes > 0) hr__ca_grow(&scale_up, chosen);
  check_scale_up(verdict, &scale_up);
}

/* Times are limited to the range from -LONGEST_S to LONGEST_S seconds. */
#define LONGEST_S 1e12

static int64_t us_of(double seconds) {
  return llround(fmax(-LONGEST_S, fmin(LONGEST_S, seconds)) * (double)HR_SECOND_US);
}

/* ---- Scale-down: utilization and eligibility -------------------------------------------------------- */

/* Returns whether a name contains one of `words`, a list that ends with NULL. */
static bool has_word(const char *name, const char *const *words) {
  for (; *words; words++)
    if (strstr(name, *words)) return true;
  return false;
}

/* Returns whether a pod that is being deleted is overdue. The case states it as a truth value, or states the seconds or
   minutes since the deletion began. In the cluster autoscaler, a pod has 30 s to end, and is overdue 30 s later. */
static bool is_overdue(const cJSON *pod) {
  static const char *const words[] = {"terminat", "delet", "ended", "overdue", NULL};
  const cJSON *member;
  cJSON_ArrayForEach(member, pod) {
    if (!has_word(member->string, words)) continue;
    if (!cJSON_IsNumber(member)) return cJSON_IsTrue(member);
    return fabs(member->valuedouble) * (strstr(member->string, "min") ? 60 : 1) > 60;
  }
  return false;
}

static struct hr__ca_use read_use(const cJSON *pod) {
  struct hr__ca_use use = {.containers = hr__read_amounts(pod),
                           .init = hr__read_amounts(hr__case_get(pod, "init")),
                           .is_daemon = hr__case_bool(pod, "daemonset", false),
                           .is_mirror = hr__case_bool(pod, "mirror", false),
                           .is_overdue = is_overdue(pod)};
  const struct hr__node_amounts sidecars = hr__read_amounts(hr__case_get(pod, "sidecar_init"));
  hr__amounts_add(&use.containers, &sidecars, 1);
  return use;
}

/* Reads the pools of devices, and the devices that the pods claim. */
static bool read_devices(struct hr__verdict *verdict, struct hr__ca_used_node *node) {
  const cJSON *pools = hr__case_get(hr__case_get(verdict->input, "node"), "devices"), *pool, *pod;
  const uint32_t n = (uint32_t)cJSON_GetArraySize(pools);
  struct hr__ca_devices *devices = hr__verdict_alloc(verdict, n, sizeof *devices);
  if (!devices) return false;
  node->devices = devices;
  if (!hr__case_bool(verdict->input, "devices_feature", false)) return true;
  cJSON_ArrayForEach(pool, pools) {
    struct hr__ca_devices *row = &devices[node->n_devices++];
    row->total = hr__case_value_whole(pool, 0);
    cJSON_ArrayForEach(pod, hr__case_get(verdict->input, "pods")) row->claimed +=
        hr__case_whole(hr__case_get(pod, "claims"), pool->string, 0);
  }
  return true;
}

/* Returns whether a node has GPUs: whether the name of any of its members contains "gpu". Sets `*is_ready` to whether
   the GPUs are ready; true if the case does not state it. */
static bool names_gpus(const cJSON *node, bool *is_ready) {
  static const char *const negations[] = {"unready", "not_ready", NULL};
  bool has_gpus = false;
  const cJSON *member;
  *is_ready = true;
  cJSON_ArrayForEach(member, node) {
    if (!strstr(member->string, "gpu")) continue;
    has_gpus = true;
    if (strstr(member->string, "ready") && cJSON_IsBool(member))
      *is_ready = has_word(member->string, negations) != cJSON_IsTrue(member);
  }
  return has_gpus;
}

static bool read_used_node(struct hr__verdict *verdict, struct hr__ca_used_node *node) {
  const cJSON *object = hr__case_get(verdict->input, "node"), *pod;
  struct hr__ca_use *pods = hr__verdict_alloc(verdict, hr__case_count(verdict->input, "pods"), sizeof *pods);
  bool is_ready;
  *node = (struct hr__ca_used_node){.allocatable = hr__read_amounts(object),
                                    .has_gpus = names_gpus(object, &is_ready),
                                    .pods = pods,
                                    .skips_daemons = hr__case_bool(verdict->input, "skip_daemonsets", false) ||
                                                     hr__case_bool(verdict->input, "ignore_daemonsets", false),
                                    .skips_mirrors = hr__case_bool(verdict->input, "skip_mirror", false)};
  if (!pods) return false;
  if (!is_ready) node->allocatable.of[HR__GPUS] = 0;
  cJSON_ArrayForEach(pod, hr__case_get(verdict->input, "pods")) pods[node->n_pods++] = read_use(pod);
  return read_devices(verdict, node);
}

static void run_utilization(struct hr__verdict *verdict) {
  static const char *const names[] = {"cpu", "mem", "gpu"};
  struct hr__ca_used_node node;
  struct hr__ca_utilization result;
  if (!read_used_node(verdict, &node)) return;
  const bool is_known = hr__ca_utilization(&node, &result);
  hr__check_bool(verdict, "error", !is_known);
  if (!is_known) {
    hr__check_text(verdict, "utilization", cJSON_IsString(hr__expected(verdict, "utilization", NULL)) ? "error" : NULL);
    return;
  }
  const cJSON *pools = hr__case_get(hr__case_get(verdict->input, "node"), "devices");
  const cJSON *pool = cJSON_GetArrayItem(pools, (int)result.pool);
  hr__check_number(verdict, "utilization", result.share, 1e-9);
  hr__check_number(verdict, "cpu", result.cpu, 1e-9);
  hr__check_number(verdict, "mem", result.memory, 1e-9);
  hr__check_text(verdict, "resource", result.by == HR__CA_BY_DEVICES && pool ? pool->string : names[result.by % 3]);
}

/* Returns a truth value of the case or, if the case does not have it, of its node. */
static bool flag_of(struct hr__verdict *verdict, const char *name, bool fallback) {
  return hr__case_bool(verdict->input, name, hr__case_bool(hr__case_get(verdict->input, "node"), name, fallback));
}

/* Reads the state of a node from an object: whether it is ready, whether it has a group, and whether unready nodes may
   be removed. The names of the members differ between cases, so they are recognized by the words that they contain. */
static void read_state(const cJSON *object, struct hr__ca_candidate *candidate) {
  static const char *const negations[] = {"unready", "not_", "no_", "disabled", "without", "outside", NULL};
  static const char *const permissions[] = {"scale_down", "enabled", "disabled", "allow", "remov", NULL};
  static const char *const groups[] = {"autoscaled", "configured", "group", NULL};
  const cJSON *member;
  cJSON_ArrayForEach(member, object) {
    const char *name = member->string;
    const bool is_flag = cJSON_IsBool(member), is_true = cJSON_IsTrue(member);
    if (strstr(name, "unready") && has_word(name, permissions)) {
      if (is_flag) candidate->keeps_unready = (strstr(name, "disabled") != NULL) == is_true;
    } else if (strstr(name, "ready")) {
      if (is_flag) candidate->is_ready = has_word(name, negations) != is_true;
    } else if (has_word(name, groups) && (is_flag || cJSON_IsNull(member))) {
      candidate->has_group = has_word(name, negations) != is_true;
    }
  }
}

static struct hr__ca_candidate read_candidate(struct hr__verdict *verdict) {
  struct hr__ca_candidate candidate = {.is_being_deleted = flag_of(verdict, "being_deleted", false),
                                       .is_disabled = flag_of(verdict, "scale_down_disabled", false) ||
                                                      flag_of(verdict, "disabled", false),
                                       .is_ready = true,
                                       .has_group = true};
  read_state(hr__case_get(verdict->input, "node"), &candidate);
  read_state(verdict->input, &candidate);
  return candidate;
}

static void check_reason(struct hr__verdict *verdict, const char *name, enum hr__ca_reason reason) {
  hr__check_bool(verdict, name, reason == HR__CA_NO_REASON);
  hr__check_text(verdict, "reason", reason == HR__CA_NO_REASON ? NULL : hr__ca_reasons[reason]);
}

static void run_eligible(struct hr__verdict *verdict) {
  struct hr__ca_used_node node;
  struct hr__ca_candidate candidate = read_candidate(verdict);
  if (!read_used_node(verdict, &node)) return;
  candidate.threshold = hr__case_real(verdict->input, "threshold", 0.5);
  check_reason(verdict, "eligible", hr__ca_eligible(&candidate, &node));
}

/* ---- Unneeded nodes --------------------------------------------------------------------------------- */

static void run_min_size(struct hr__verdict *verdict) {
  const int64_t minimum = hr__case_whole(verdict->input, "min_size", 0);
  int64_t left =
      hr__case_whole(verdict->input, "target_size", 0) - hr__case_whole(verdict->input, "deletions_under_way", 0);
  const int64_t empty = hr__ca_above_minimum(hr__case_whole(verdict->input, "empty", 0), left, minimum);
  left -= empty;
  const int64_t drained = hr__ca_above_minimum(hr__case_whole(verdict->input, "need_drain", 0), left, minimum);
  hr__check_number(verdict, "empty_removed", (double)empty, 0);
  hr__check_number(verdict, "drained", (double)drained, 0);
}

static int64_t minutes_of(struct hr__verdict *verdict, const char *name) {
  return us_of(60 * hr__case_real(verdict->input, name, 0));
}

static void run_unneeded(struct hr__verdict *verdict) {
  const int64_t size = hr__case_whole(verdict->input, "size", 1);
  const int64_t cluster_nodes = hr__case_whole(verdict->input, "cluster_nodes", size);
  struct hr__ca_candidate candidate = read_candidate(verdict);
  /* the current time is 0 */
  candidate.since_us = -minutes_of(verdict, "since_min");
  candidate.unneeded_us = minutes_of(verdict, "unneeded_min");
  candidate.unready_us = minutes_of(verdict, "unready_min");
  candidate.group_size = size - hr__case_whole(verdict->input, "deletions_under_way", 0);
  candidate.group_min = hr__case_whole(verdict->input, "min", 0);
  candidate.cluster_left = (struct hr__node_amounts){{INT64_MAX, INT64_MAX, INT64_MAX}};
  candidate.cluster_nodes_left = cluster_nodes - hr__case_whole(verdict->input, "cluster_min_nodes", 0);
  const struct hr__node_amounts node = hr__read_amounts(hr__case_get(verdict->input, "node"));
  check_reason(verdict, "removable", hr__ca_removable(&candidate, &node, 0));
}

static const char *loop_name(char text[30], uint32_t loop) {
  snprintf(text, 30, "at_t%u", (unsigned)loop);
  return text;
}

/* Runs a case about the time since which nodes are unneeded. The lists at_t0, at_t1, ... contain the unneeded nodes in
   each loop of the autoscaler. */
static void run_unneeded_since(struct hr__verdict *verdict) {
  const cJSON *list, *name;
  uint32_t n_nodes = 0, n_loops = 0;
  char text[30];
  cJSON_ArrayForEach(list, verdict->input) n_nodes += (uint32_t)cJSON_GetArraySize(list);
  const char **names = hr__verdict_alloc(verdict, n_nodes, sizeof *names);
  int64_t *since = hr__verdict_alloc(verdict, n_nodes, sizeof *since);
  bool *is_unneeded = hr__verdict_alloc(verdict, n_nodes, sizeof *is_unneeded);
  if (!names || !since || !is_unneeded) return;
  n_nodes = 0;
  cJSON_ArrayForEach(list, verdict->input) cJSON_ArrayForEach(name, list) {
    uint32_t at = 0;
    while (at < n_nodes && strcmp(names[at], cJSON_IsString(name) ? name->valuestring : "") != 0) at++;
    if (at < n_nodes || !cJSON_IsString(name)) continue;
    names[n_nodes] = name->valuestring;
    since[n_nodes++] = -1;
  }
  for (; (list = hr__case_get(verdict->input, loop_name(text, n_loops))); n_loops++) {
    for (uint32_t i = 0; i < n_nodes; i++) is_unneeded[i] = hr__position_of(list, names[i]) != UINT32_MAX;
    hr__ca_note_unneeded(since, is_unneeded, n_nodes, n_loops);
  }
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < n_nodes; i++) {
    snprintf(text, sizeof text, "t%d", (int)since[i]);
    if (since[i] >= 0) cJSON_AddStringToObject(result, names[i], text);
  }
  hr__check_json(verdict, "since", result, HR__COMPARE_EXACTLY, 0);
}

/* ---- Back-off --------------------------------------------------------------------------------------- */

enum { MAX_GROUPS = 32 };

struct groups {
  struct hr__ca_backoff_spec spec;
  const char *names[MAX_GROUPS];
  struct hr__ca_backoff at[MAX_GROUPS];
  uint32_t n;
};

static struct hr__ca_backoff *backoff_of(struct groups *groups, const char *name) {
  uint32_t at = 0;
  while (at < groups->n && strcmp(groups->names[at], name) != 0) at++;
  if (at == MAX_GROUPS) return NULL;
  if (at == groups->n) groups->names[groups->n++] = name;
  return &groups->at[at];
}

/* A step of a case, which is a list: the action, the group, the time in seconds, and the expected answer. */
struct step {
  const char *what, *group; /* what: "fail", "ask" or "remove" */
  double at_s;
  bool has_answer, answer;
};

/* Reads a step. The items are distinguished by their types. If `names_action` is set, the first text is the action and
   the second the group; otherwise the action is "fail". */

static struct step read_step(const cJSON *list, bool names_action) {
  struct step step = {.what = "fail", .group = ""};
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (cJSON_IsString(item) && names_action && item == list->child)
      step.what = item->valuestring;
    else if (cJSON_IsString(item))
      step.group = item->valuestring;
    if (cJSON_IsNumber(item)) step.at_s = item->valuedouble;
    if (cJSON_IsBool(item)) step.has_answer = true;
    if (cJSON_IsTrue(item)) step.answer = true;
  }
  return step;
}

/* Performs a step. Returns false if the answer differs from the expected one, or if there are more than 32 groups. */
static bool do_step(struct groups *groups, const struct step *step) {
  struct hr__ca_backoff *backoff = backoff_of(groups, step->group);
  if (!backoff) return false;
  if (strcmp(step->what, "fail") == 0) {
    hr__ca_fail(&groups->spec, backoff, us_of(step->at_s));
    return true;
  }
  if (strcmp(step->what, "ask") == 0)
    return !step->has_answer || hr__ca_is_backed_off(backoff, us_of(step->at_s)) == step->answer;
  *backoff = (struct hr__ca_backoff){0}; // remove
  return true;
}

static void check_entries(struct hr__verdict *verdict, struct groups *groups) {
  cJSON *left = cJSON_CreateArray();
  const cJSON *at;
  cJSON_ArrayForEach(at, hr__case_get(verdict->input, "clean_at")) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < groups->n; i++) {
      hr__ca_forget(&groups->spec, &groups->at[i], us_of(at->valuedouble));
      n += groups->at[i].has_failed;
    }
    cJSON_AddItemToArray(left, cJSON_CreateNumber(n));
  }
  hr__check_json(verdict, "entries_left", left, HR__COMPARE_EXACTLY, 0);
}

static void run_backoff(struct hr__verdict *verdict) {
  struct groups groups = {.spec = {us_of(hr__case_real(verdict->input, "initial_s", 300)),
                                   us_of(hr__case_real(verdict->input, "max_s", 1800)),
                                   us_of(hr__case_real(verdict->input, "reset_s", 10800))}};
  bool follows = true;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "fail")) {
    const struct step step = read_step(item, false);
    do_step(&groups, &step);
  }
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "sequence")) {
    const struct step step = read_step(item, true);
    follows = do_step(&groups, &step) && follows;
  }
  hr__check_bool(verdict, "follows", follows);
  check_entries(verdict, &groups);
}

/* ---- Budgets ---------------------------------------------------------------------------------------- */

struct budget_groups {
  const char **names;
  struct hr__ca_deletion *at;
  uint32_t n;
};

static uint32_t budget_group(struct budget_groups *groups, const char *name) {
  uint32_t at = 0;
  while (at < groups->n && strcmp(groups->names[at], name) != 0) at++;
  if (at < groups->n) return at;
  groups->names[groups->n] = name;
  groups->at[groups->n++] =
      (struct hr__ca_deletion){.is_atomic = strncmp(name, "atomic-", 7) == 0,
                               .target = strncmp(name, "atomic-", 7) == 0 ? strtoll(name + 7, NULL, 10) : 0};
  return at;
}

/* Reads a list of ranges of nodes, and adds their sizes to their groups. `is_empty`: the nodes are empty; `is_drain`:
   the nodes must be drained. If `is_empty` or `is_drain` is set, lists each group once in `order`, and returns the
   number of these groups; otherwise returns 0. */
static uint32_t read_ranges(struct budget_groups *groups, const cJSON *list, bool is_empty, bool is_drain,
                            uint32_t *order) {
  uint32_t n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const uint32_t at = budget_group(groups, hr__case_text(item, "group", ""));
    const int64_t nodes = hr__case_whole(item, "to", 0) - hr__case_whole(item, "from", 0);
    groups->at[at].registered += nodes;
    if (is_empty) groups->at[at].empty += nodes;
    if (is_drain) groups->at[at].drain += nodes;
    uint32_t seen = 0;
    while (seen < n && order[seen] != at) seen++;
    if (seen == n && (is_empty || is_drain)) order[n++] = at;
  }
  return n;
}

/* Compares the ranges of the nodes that are removed. */
static void check_ranges(struct hr__verdict *verdict, struct budget_groups *groups, const char *name, bool is_empty) {
  cJSON *result = cJSON_CreateArray();
  for (int atomic = 1; atomic >= 0; atomic--) {
    const cJSON *item;
    cJSON_ArrayForEach(item, hr__case_get(verdict->input, name)) {
      struct hr__ca_deletion *group = &groups->at[budget_group(groups, hr__case_text(item, "group", ""))];
      int64_t *taken = is_empty ? &group->take_empty : &group->take_drain;
      const int64_t from = hr__case_whole(item, "from", 0), nodes = hr__case_whole(item, "to", 0) - from;
      const int64_t part = *taken < nodes ? *taken : nodes;
      if (group->is_atomic != (atomic == 1) || part <= 0) continue;
      cJSON *range = cJSON_CreateObject();
      cJSON_AddStringToObject(range, "group", hr__case_text(item, "group", ""));
      cJSON_AddNumberToObject(range, "from", (double)from);
      cJSON_AddNumberToObject(range, "to", (double)(from + part));
      cJSON_AddItemToArray(result, range);
      *taken -= part;
    }
  }
  hr__check_json(verdict, name, result, HR__COMPARE_SETS, 0);
}

static void run_budget(struct hr__verdict *verdict) {
  const cJSON *empty = hr__case_get(verdict->input, "empty"), *drain = hr__case_get(verdict->input, "drain");
  const cJSON *others = hr__case_get(verdict->input, "other_nodes");
  const uint32_t n = (uint32_t)(cJSON_GetArraySize(empty) + cJSON_GetArraySize(drain) + cJSON_GetArraySize(others));
  struct budget_groups groups = {hr__verdict_alloc(verdict, n, sizeof *groups.names),
                                 hr__verdict_alloc(verdict, n, sizeof *groups.at), 0};
  uint32_t *orders = hr__verdict_alloc(verdict, (size_t)2 * n, sizeof *orders);
  if (!groups.names || !groups.at || !orders) return;
  const int64_t empty_now = hr__case_whole(verdict->input, "empty_under_way", 0);
  const int64_t drain_now = hr__case_whole(verdict->input, "drain_under_way", 0);
  struct hr__ca_deletions deletions = {.groups = groups.at, .empty = orders, .drain = orders + n};
  deletions.n_empty = read_ranges(&groups, empty, true, false, orders);
  deletions.n_drain = read_ranges(&groups, drain, false, true, orders + n);
  read_ranges(&groups, others, false, false, NULL);
  hr__ca_take(&deletions,
              (struct hr__ca_budget){hr__case_whole(verdict->input, "max_parallel", 10) - empty_now - drain_now,
                                     hr__case_whole(verdict->input, "max_drain_parallel", 1) - drain_now});
  check_ranges(verdict, &groups, "empty", true);
  check_ranges(verdict, &groups, "drain", false);
}

/* ---- Kinds ------------------------------------------------------------------------------------------ */

const struct hr__case_kind hr__cluster_autoscaler_kinds[] = {{"ca-expander-least-waste", run_least_waste},
                                                             {"ca-expander-least-nodes", run_least_nodes},
                                                             {"ca-expander-most-pods", run_most_pods},
                                                             {"ca-expander-chain", run_chain},
                                                             {"ca-expander-price", run_price},
                                                             {"ca-expander-priority", run_priority},
                                                             {"ca-preferred-node", run_preferred},
                                                             {"ca-node-unfitness", run_unfitness},
                                                             {"ca-similar-groups-limit", run_similar_limit},
                                                             {"ca-cluster-limit", run_cluster_limit},
                                                             {"ca-min-limit", run_min_limit},
                                                             {"ca-balance", run_balance},
                                                             {"ca-binpacking", run_packing},
                                                             {"ca-scale-up", run_scale_up},
                                                             {"ca-utilization", run_utilization},
                                                             {"ca-scale-down-eligible", run_eligible},
                                                             {"ca-min-size", run_min_size},
                                                             {"ca-unneeded", run_unneeded},
                                                             {"ca-unneeded-since", run_unneeded_since},
                                                             {"ca-backoff", run_backoff},
                                                             {"ca-scale-down-budget", run_budget},
                                                             {NULL, NULL}};
