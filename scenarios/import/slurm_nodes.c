/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's nodes become pools, sorted by weight, because Slurm chooses low weights first, else in the order of the
 * file. They are read from slurm.conf (a line for a list of hosts), from `scontrol show node -o` and from `sinfo -N` (a
 * line for each node). Successive nodes that are alike become one pool. GPUs with shards, or with shares for MPS,
 * become shared GPUs. A node that was read before is not added again, so that several of these files can be given.
 * Invariant: `nodes[i]` is the place of the node with name number i.
 */

#include "base/containers.h"
#include "scenarios/import/slurm_import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_GPUS_PER_NODE = 64, KIND_BYTES = 160 };

/* ---- GPUs ------------------------------------------------------------------------------------------- */

/* Returns whether an item of a list of GRES, such as "gpu:a100:8", is of a kind. */
static bool is_gres(const char *item, const char *kind) {
  const size_t length = strlen(kind);
  return strncasecmp(item, kind, length) == 0 && (item[length] == '\0' || strchr(":,(", item[length]));
}

/* Returns the count of an item: 8 of "gpu:a100:8" and of "gpu:8(S:0-1)", 1 of "gpu". `*type`: the text between the kind
   and the count, of `*type_length` characters; may be NULL. */
static unsigned long count_of(const char *item, const char **type, size_t *type_length) {
  const char *end = item + strcspn(item, ",("), *last = end;
  const char *begin = item + strcspn(item, ":,(");
  while (last > begin && last[-1] != ':') last--;
  if (type) *type = begin + 1;
  if (type) *type_length = last > begin + 1 ? (size_t)(last - begin - 2) : 0;
  return last > begin && isdigit((unsigned char)*last) ? strtoul(last, NULL, 10) : 1;
}

/* The GPUs of a node: reads "gpu:a100:8", "gpu:8(S:0-1)" or a list of such items, with shares as "shard:32" or
   "mps:800". The type may be empty. Returns whether there are GPUs. */
static bool read_gres(const char *gres, struct hr__slurm_hosts *node) {
  for (const char *at = gres; *at; at += strcspn(at, ","), at += *at == ',') {
    const char *type;
    size_t length;
    if (is_gres(at, "shard")) node->shards += count_of(at, NULL, NULL);
    if (is_gres(at, "mps")) node->mps += count_of(at, NULL, NULL);
    if (!is_gres(at, "gpu")) continue;
    node->gpus += count_of(at, &type, &length);
    if (length) snprintf(node->type, sizeof node->type, "%.*s", (int)length, type);
  }
  return node->gpus > 0;
}

/* Returns the GPU type of the catalogue that a name in Slurm means; of a family, the member with the most memory. NULL:
   none. */
static const struct hr_gpu_type *find_gpu(const struct hr__slurm_import *import, const char *name, bool *several) {
  const struct hr_gpu_type *found = NULL;
  *several = false;
  for (size_t i = 0; i < import->catalog->n_gpus; i++) {
    const struct hr_gpu_type *gpu = &import->catalog->gpus[i];
    if (!hr_catalog_gpu_means(import->catalog, name, gpu->name)) continue;
    *several |= found != NULL;
    if (!found || gpu->mem_gb > found->mem_gb) found = gpu;
  }
  return found;
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

/* Notes how the shares of the GPUs of new nodes are modelled, and how the shares of jobs are read. */
static enum hr_status note_shares(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                  const struct hr__slurm_hosts *node, struct hr_error *error) {
  const unsigned long of_node = node->shards ? node->shards : node->mps, of_gpu = of_node / node->gpus;
  char text[80];
  if (of_node == 0) return HR_OK;
  snprintf(text, sizeof text, "gpu:%lu,%s:%lu", node->gpus, node->shards ? "shard" : "mps", of_node);
  if (of_node % node->gpus) return hr__slurm_bad(line, "Gres", text, "the same number for each GPU of a node", error);
  if (node->shards && node->mps) {
    const enum hr_status status =
        hr__slurm_note(import, line, error, "'mps' is not modelled beside 'shard': no job waits for it");
    if (status != HR_OK) return status;
  }
  return hr__slurm_note(
      import, line, error,
      "each GPU has %lu shares, and jobs get the same speed with any of them. Read traces with --format "
      "sacct:%s=%lu; in CSV, 'gpu_milli' has thousandths of a GPU",
      of_gpu, node->shards ? "shards" : "mps", of_gpu);
}

static enum hr_status add_pool(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                               const struct hr__slurm_hosts *node, struct hr_error *error) {
  const char *name = node->hosts, *type = node->type;
  bool several;
  const struct hr_gpu_type *gpu = find_gpu(import, type[0] ? type : "gpu", &several);
  cJSON *pool = cJSON_CreateObject();
  cJSON_AddStringToObject(pool, "name", name);
  cJSON_AddStringToObject(pool, "gpu", gpu ? gpu->name : type[0] ? type : "gpu");
  cJSON_AddNumberToObject(pool, "nodes", 0);
  cJSON_AddNumberToObject(pool, "gpus_per_node", (double)node->gpus);
  if (node->shards + node->mps) cJSON_AddStringToObject(pool, "sharing", "fraction");
  if (!pool || !cJSON_AddItemToArray(import->pools, pool))
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  const enum hr_status status = note_shares(import, line, node, error);
  if (status != HR_OK) return status;
  if (several && gpu)
    return hr__slurm_note(import, line, error, "'%s' may be several GPU types; %s is assumed, see the pool's 'gpu'",
                          type, gpu->name);
  if (!gpu && type[0])
    return hr__slurm_note(import, line, error, "the catalogue has no GPU type '%.50s'; prices and speeds are unknown",
                          type);
  return HR_OK;
}

static cJSON *last_pool(const struct hr__slurm_import *import, uint32_t *number) {
  int count = cJSON_GetArraySize(import->pools);
  *number = (uint32_t)(count ? count - 1 : 0);
  return count ? cJSON_GetArrayItem(import->pools, count - 1) : NULL;
}

/* The state of adding the hosts of a line to the last pool. */
struct adding {
  struct hr__slurm_import *import;
  uint32_t pool, count; /* number of the pool, nodes in it */
  bool is_known;        /* a host exists already */
};

static bool add_host(void *self, const char *name, size_t length) {
  struct adding *adding = self;
  struct hr__slurm_import *import = adding->import;
  uint32_t number = hr__names_find(&import->names, name, length);
  if (number != HR_NONE) {
    adding->is_known = true;
    return true;
  }
  number = hr__names_intern(&import->names, name, length);
  if (number == HR_NONE || !HR__ARRAY_HAS_ROOM(import->nodes, number, import->capacity)) return false;
  import->nodes[number] = (struct hr__slurm_node){adding->pool, adding->count++};
  return true;
}

/* Adds the hosts of a list to the last pool. */
static enum hr_status add_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *hosts,
                                struct hr_error *error) {
  struct adding adding = {.import = import};
  cJSON *pool = last_pool(import, &adding.pool), *nodes = cJSON_GetObjectItemCaseSensitive(pool, "nodes");
  adding.count = (uint32_t)nodes->valuedouble;
  if (!hr__slurm_each_host(hosts, add_host, &adding))
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  if (adding.is_known)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: NodeName is '%.60s', expected nodes that are not listed before",
                   line->path, line->number, hosts);
  cJSON_SetNumberValue(nodes, adding.count);
  return HR_OK;
}

/* The GPUs and shares of a node, to compare nodes. */
static void describe(const struct hr__slurm_hosts *node, char text[KIND_BYTES]) {
  snprintf(text, KIND_BYTES, "%s %lu %lu %lu", node->type, node->gpus, node->shards, node->mps);
}

/* Returns whether nodes like this one continue the last pool. */
static bool continues_pool(const cJSON *pool, const struct hr__slurm_hosts *node) {
  const cJSON *known = pool ? cJSON_GetObjectItemCaseSensitive(pool, "type of Slurm") : NULL;
  char kind[KIND_BYTES];
  describe(node, kind);
  return known && strcmp(known->valuestring, kind) == 0;
}

static bool keep_host(void *self, const char *name, size_t length) {
  snprintf(self, 150, "%.*s", (int)length, name);
  return true;
}

static bool keep_first_host(void *self, const char *name, size_t length) {
  keep_host(self, name, length);
  return false;
}

/* Names a pool that got more nodes by its first and its last node. */
static void rename_pool(cJSON *pool, const char *hosts) {
  char first[150] = "", last[150] = "", text[310];
  cJSON *name = cJSON_GetObjectItemCaseSensitive(pool, "name");
  hr__slurm_each_host(cJSON_GetObjectItemCaseSensitive(pool, "first nodes")->valuestring, keep_first_host, first);
  hr__slurm_each_host(hosts, keep_host, last);
  snprintf(text, sizeof text, "%s..%s", first, last);
  cJSON_SetValuestring(name, text);
}

/* Adds nodes that are alike. They join the last pool if its nodes are like them, because jobs use nodes of one pool. */
static enum hr_status add_alike(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                const struct hr__slurm_hosts *node, struct hr_error *error) {
  uint32_t number;
  cJSON *pool = last_pool(import, &number);
  bool continues = continues_pool(pool, node);
  enum hr_status status = continues ? HR_OK : add_pool(import, line, node, error);
  if (status != HR_OK) return status;
  pool = last_pool(import, &number);
  if (!continues) {
    char kind[KIND_BYTES];
    describe(node, kind);
    cJSON_AddStringToObject(pool, "type of Slurm", kind);
    cJSON_AddStringToObject(pool, "first nodes", node->hosts);
  }
  status = add_hosts(import, line, node->hosts, error);
  if (status == HR_OK && continues) rename_pool(pool, node->hosts);
  return status;
}

/* ---- Nodes of slurm.conf ---------------------------------------------------------------------------- */

/* The value of a key, else that of NodeName=DEFAULT; NULL: none. */
static const char *node_value(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                              const char *key) {
  const char *value = hr__slurm_value(line, key);
  return value ? value : cJSON_GetStringValue(cJSON_GetObjectItem(import->default_node, key));
}

/* The CPUs of a node; 0: not known. */
static double count_cpus(const struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  static const char *const parts[] = {"Sockets", "CoresPerSocket", "ThreadsPerCore"};
  const char *cpus = hr__slurm_value(line, "CPUTot");
  if (!cpus) cpus = node_value(import, line, "CPUs");
  if (cpus) return strtod(cpus, NULL);
  double count = 1;
  for (size_t i = 0; i < 3; i++) {
    const char *part = node_value(import, line, parts[i]);
    if (part) count *= strtod(part, NULL);
  }
  return count > 1 ? count : 0;
}

/* Keeps nodes until all files are read. */
static enum hr_status keep_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *names,
                                 const struct hr__slurm_hosts *described, struct hr_error *error) {
  char *copy = strdup(names);
  if (!copy || !HR__ARRAY_HAS_ROOM(import->lines, import->n_lines, import->lines_capacity)) {
    free(copy);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  }
  struct hr__slurm_hosts *hosts = &import->lines[import->n_lines];
  *hosts = *described;
  hosts->hosts = copy;
  hosts->path = line->path;
  hosts->number = line->number;
  hosts->order = import->n_lines++;
  return HR_OK;
}

static bool is_away(const char *state) {
  return strncasecmp(state, "DOWN", 4) == 0 || strncasecmp(state, "FUTURE", 6) == 0 ||
         strncasecmp(state, "DRAIN", 5) == 0 || strncasecmp(state, "FAIL", 4) == 0 || strstr(state, "+DRAIN") ||
         strstr(state, "drain") || strchr(state, '*');
}

static enum hr_status bad_gpus(const struct hr__slurm_line *line, unsigned long gpus, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s:%u: Gres has %lu GPUs, expected at most %d", line->path, line->number, gpus,
                 MAX_GPUS_PER_NODE);
}

/* A line of slurm.conf: all its hosts are one pool. */
static enum hr_status read_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *hosts,
                                 struct hr_error *error) {
  const char *gres = node_value(import, line, "Gres"), *state = node_value(import, line, "State");
  const char *weight = node_value(import, line, "Weight");
  struct hr__slurm_hosts kept = {.weight = weight ? strtod(weight, NULL) : 1, .cpus = count_cpus(import, line)};
  if (weight && (!*weight || weight[strspn(weight, "0123456789")]))
    return hr__slurm_bad(line, "Weight", weight, "a whole number of at least 0", error);
  if (hr__slurm_hosts(hosts) == 0)
    return hr__slurm_bad(line, "NodeName", hosts, "a list of hosts such as n[1-8]", error);
  if (state && is_away(state))
    return hr__slurm_note(import, line, error, "nodes '%.60s' are left out: State=%s", hosts, state);
  if (!read_gres(gres ? gres : "", &kept))
    return hr__slurm_note(import, line, error, "nodes '%.60s' are left out: they have no GPUs", hosts);
  if (kept.gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, kept.gpus, error);
  return keep_hosts(import, line, hosts, &kept, error);
}

/* ---- Nodes one by one ------------------------------------------------------------------------------- */

enum hr_status hr__slurm_add_node(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                  const char *gres, const char *state, struct hr_error *error) {
  const char *weight = hr__slurm_value(line, "Weight"), *cpus = hr__slurm_value(line, "CPUTot");
  struct hr__slurm_hosts kept = {
      .is_shown = true, .weight = weight ? strtod(weight, NULL) : 1, .cpus = cpus ? strtod(cpus, NULL) : 0};
  if (state) snprintf(kept.state, sizeof kept.state, "%s", state);
  (void)read_gres(gres, &kept);
  return keep_hosts(import, line, name, &kept, error);
}

/* The values of NodeName=DEFAULT are those of the lines that follow. */
static enum hr_status read_default(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   struct hr_error *error) {
  if (!import->default_node) import->default_node = cJSON_CreateObject();
  for (unsigned i = 0; i < line->n_pairs && import->default_node; i++) {
    cJSON_DeleteItemFromObject(import->default_node, line->pairs[i].key);
    cJSON_AddStringToObject(import->default_node, line->pairs[i].key, line->pairs[i].value);
  }
  return import->default_node ? HR_OK : hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
}

/* ---- Node sets -------------------------------------------------------------------------------------- */

/* Appends a part to a list with commas, which is freed if memory is exhausted. */
static char *append(char *list, const char *part, size_t length) {
  size_t used = list ? strlen(list) : 0;
  char *longer = realloc(list, used + length + 2);
  if (!longer) {
    free(list);
    return NULL;
  }
  snprintf(longer + used, length + 2, "%s%.*s", used ? "," : "", (int)length, part);
  return longer;
}

/* Appends the hosts of a line to the lists of its features. */
static enum hr_status add_features(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   const char *hosts, struct hr_error *error) {
  const char *features = node_value(import, line, "Features");
  if (!features) features = node_value(import, line, "Feature");
  if (!import->features) import->features = cJSON_CreateObject();
  for (const char *at = features; at && *at; at += strcspn(at, ","), at += *at == ',') {
    char name[100];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    cJSON *known = cJSON_GetObjectItemCaseSensitive(import->features, name);
    char *list = known ? strdup(known->valuestring) : NULL;
    list = append(list, hosts, strlen(hosts));
    cJSON_DeleteItemFromObjectCaseSensitive(import->features, name);
    bool done = list && cJSON_AddStringToObject(import->features, name, list);
    free(list);
    if (!done) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  }
  return HR_OK;
}

enum hr_status hr__slurm_read_node_set(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                       struct hr_error *error) {
  const char *name = hr__slurm_value(line, "NodeSet"), *nodes = hr__slurm_value(line, "Nodes");
  const char *feature = hr__slurm_value(line, "Feature");
  if (!nodes && !feature) return hr__slurm_bad(line, "NodeSet", name, "Nodes or Feature as well", error);
  if (nodes && strcasecmp(nodes, "ALL") != 0 && hr__slurm_hosts(nodes) == 0)
    return hr__slurm_bad(line, "Nodes", nodes, "a list of hosts such as n[1-8]", error);
  if (!import->node_sets) import->node_sets = cJSON_CreateObject();
  cJSON *set = cJSON_CreateObject();
  if (nodes) cJSON_AddStringToObject(set, "nodes", nodes);
  if (feature) cJSON_AddStringToObject(set, "feature", feature);
  if (set && cJSON_AddItemToObject(import->node_sets, name, set)) return HR_OK;
  cJSON_Delete(set);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
}

char *hr__slurm_expand_sets(const struct hr__slurm_import *import, const char *list) {
  char *expanded = strdup("");
  for (const char *at = list; *at && expanded; at += *at == ',') {
    const char *end = at;
    for (bool inside = false; *end && (inside || *end != ','); end++) inside = *end == '[' || (inside && *end != ']');
    char name[100];
    snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
    const cJSON *set = cJSON_GetObjectItemCaseSensitive(import->node_sets, name);
    const char *nodes = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(set, "nodes"));
    const char *feature = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(set, "feature"));
    const char *having =
        feature ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(import->features, feature)) : NULL;
    if (nodes) expanded = append(expanded, nodes, strlen(nodes));
    if (having && expanded) expanded = append(expanded, having, strlen(having));
    /* The name of an empty set stays, as that of a node that does not exist. */
    if (!nodes && !having) expanded = append(expanded, at, (size_t)(end - at));
    at = end;
  }
  return expanded;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

enum hr_status hr__slurm_read_node(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   struct hr_error *error) {
  const char *name = hr__slurm_value(line, "NodeName"), *gres = hr__slurm_value(line, "Gres");
  if (hr__slurm_value(line, "CPUTot"))
    return hr__slurm_add_node(import, line, name, gres ? gres : "", hr__slurm_value(line, "State"), error);
  if (strcasecmp(name, "DEFAULT") == 0) return read_default(import, line, error);
  enum hr_status status = add_features(import, line, name, error);
  return status == HR_OK ? read_hosts(import, line, name, error) : status;
}

/* ---- Adding all nodes ------------------------------------------------------------------------------- */

/* Lines of slurm.conf come first, because a node that commands show as well belongs to the pool of its line. */
static int compare_lines(const void *a, const void *b) {
  const struct hr__slurm_hosts *left = a, *right = b;
  if (left->is_shown != right->is_shown) return left->is_shown ? 1 : -1;
  if (left->weight != right->weight) return left->weight < right->weight ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

/* Adds a node that a command shows, unless it is known. */
static enum hr_status add_shown(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                const struct hr__slurm_hosts *node, struct hr_error *error) {
  bool is_known = hr__names_find(&import->names, node->hosts, strlen(node->hosts)) != HR_NONE;
  if (is_away(node->state))
    return hr__slurm_note(import, line, error,
                          is_known ? "node '%.60s' is %.30s; it stays in its pool"
                                   : "node '%.60s' is left out: it is %.30s",
                          node->hosts, node->state);
  if (is_known) return HR_OK;
  if (!node->gpus) return hr__slurm_note(import, line, error, "node '%.60s' is left out: it has no GPUs", node->hosts);
  if (node->gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, node->gpus, error);
  return add_alike(import, line, node, error);
}

/* If nodes have different weights, notes what is not modelled, and the first line with another weight. */
static enum hr_status note_weights(const struct hr__slurm_import *import, struct hr_error *error) {
  for (uint32_t i = 1; i < import->n_lines; i++) {
    const struct hr__slurm_hosts *hosts = &import->lines[i];
    const struct hr__slurm_line line = {.path = hosts->path, .number = hosts->number};
    if (hosts->is_shown == import->lines[i - 1].is_shown && hosts->weight != import->lines[i - 1].weight)
      return hr__slurm_note(import, &line, error,
                            "Weight only sorts the nodes: the smallest sufficient run of free nodes is taken, "
                            "whatever its weight");
  }
  return HR_OK;
}

enum hr_status hr__slurm_finish_nodes(struct hr__slurm_import *import, struct hr_error *error) {
  if (import->n_lines) qsort(import->lines, import->n_lines, sizeof *import->lines, compare_lines);
  enum hr_status status = note_weights(import, error);
  for (uint32_t i = 0; i < import->n_lines && status == HR_OK; i++) {
    const struct hr__slurm_hosts *hosts = &import->lines[i];
    const struct hr__slurm_line line = {.path = hosts->path, .number = hosts->number};
    uint32_t before = import->names.count;
    status = hosts->is_shown ? add_shown(import, &line, hosts, error) : add_alike(import, &line, hosts, error);
    if (hosts->cpus <= 0) continue;
    import->cpus += hosts->cpus * (double)(import->names.count - before);
    import->gpus += (double)hosts->gpus * (double)(import->names.count - before);
  }
  return status;
}

/* ---- Ranges of nodes -------------------------------------------------------------------------------- */

/* The nodes that a list names: `flags` has one byte for each node. */
struct marking {
  const struct hr__slurm_import *import;
  uint8_t *flags;
  uint32_t count;
};

static bool mark(void *self, const char *name, size_t length) {
  struct marking *marking = self;
  uint32_t number = hr__names_find(&marking->import->names, name, length);
  if (number == HR_NONE) return true; // a node without GPUs
  marking->count += !marking->flags[number];
  marking->flags[number] = 1;
  return true;
}

/* Nodes of a pool have successive numbers in the order of their index. Adds the ranges of marked nodes. */
static void add_marked(const struct hr__slurm_import *import, cJSON *ranges, const uint8_t *flags) {
  for (uint32_t first = 0, end; first < import->names.count; first = end) {
    uint32_t pool = import->nodes[first].pool;
    end = first + 1;
    if (!flags[first]) continue;
    while (end < import->names.count && flags[end] && import->nodes[end].pool == pool) end++;
    const cJSON *entry = cJSON_GetArrayItem(import->pools, (int)pool);
    const char *name = cJSON_GetObjectItemCaseSensitive(entry, "name")->valuestring;
    char text[400];
    if (end - first == (uint32_t)cJSON_GetObjectItemCaseSensitive(entry, "nodes")->valuedouble)
      snprintf(text, sizeof text, "%s", name);
    else
      snprintf(text, sizeof text, "%.350s:%u-%u", name, (unsigned)import->nodes[first].index,
               (unsigned)import->nodes[end - 1].index);
    cJSON_AddItemToArray(ranges, cJSON_CreateString(text));
  }
}

enum hr_status hr__slurm_add_ranges(struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                                    const char *hosts, uint32_t *n_nodes, struct hr_error *error) {
  *n_nodes = import->names.count;
  cJSON_DeleteItemFromObject(object, "nodes");
  if (strcasecmp(hosts, "ALL") == 0) return HR_OK;
  struct marking marking = {import, calloc((size_t)import->names.count + 1, 1), 0};
  if (!marking.flags) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  hr__slurm_each_host(hosts, mark, &marking);
  *n_nodes = marking.count;
  if (marking.count < import->names.count) add_marked(import, cJSON_AddArrayToObject(object, "nodes"), marking.flags);
  free(marking.flags);
  return HR_OK;
}
