/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes, partitions and advance reservations of Slurm.
 *
 * Nodes are read from slurm.conf (a line for a list of hosts), from `scontrol show node -o` and from `sinfo -N` (a line
 * for each node). Nodes become pools. The pools are sorted by weight, because Slurm chooses nodes with low weights
 * first; nodes with equal weights remain in the order of the files. Successive nodes with the same GPUs become one
 * pool. GPUs with shards, or with shares for MPS, become shared GPUs.
 *
 * A node may be in slurm.conf and in the output of commands; it is added once. A node must not be in two lines of
 * slurm.conf. Names of nodes are numbered. Invariant: `nodes[i]` has the pool and the index of the node with name i.
 */

#include "base/containers.h"
#include "scenarios/import/import.h"
#include "scenarios/import/slurm_import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { MAX_GPUS_PER_NODE = 64, KIND_BYTES = 160 };

/* ---- GPUs ------------------------------------------------------------------------------------------- */

/* Returns whether an item of a list of generic resources (GRES), such as "gpu:a100:8", is of a kind, such as "gpu". */
static bool is_gres(const char *item, const char *kind) {
  const size_t length = strlen(kind);
  return strncasecmp(item, kind, length) == 0 && (item[length] == '\0' || strchr(":,(", item[length]));
}

/* Returns the count of an item: 8 for "gpu:a100:8" and for "gpu:8(S:0-1)", 1 for "gpu". Unless `type` is NULL, sets
   `*type` to the text between the kind and the count, and `*type_length` to its length. */
static unsigned long count_of(const char *item, const char **type, size_t *type_length) {
  const char *end = item + strcspn(item, ",("), *last = end;
  const char *begin = item + strcspn(item, ":,(");
  while (last > begin && last[-1] != ':') last--;
  if (type) *type = begin + 1;
  if (type) *type_length = last > begin + 1 ? (size_t)(last - begin - 2) : 0;
  return last > begin && isdigit((unsigned char)*last) ? strtoul(last, NULL, 10) : 1;
}

/* Reads the GPUs of a node: "gpu:a100:8", "gpu:8(S:0-1)", or a list of such items. The list may contain the shares of
   the GPUs, such as "shard:32" or "mps:800". Returns whether the node has GPUs. */
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

/* ---- Pools ------------------------------------------------------------------------------------------ */

/* If the GPUs of new nodes have shares, adds a note on how they are modelled and how the shares of jobs are read. Fails
   if the GPUs of a node cannot have equal numbers of shares. */
static enum hr_status note_shares(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                  const struct hr__slurm_hosts *node) {
  const unsigned long of_node = node->shards ? node->shards : node->mps, of_gpu = of_node / node->gpus;
  char text[80];
  if (of_node == 0) return HR_OK;
  snprintf(text, sizeof text, "gpu:%lu,%s:%lu", node->gpus, node->shards ? "shard" : "mps", of_node);
  if (of_node % node->gpus) return hr__slurm_bad(line, "Gres", text, "the same number for each GPU of a node");
  if (node->shards && node->mps) {
    const enum hr_status status =
        hr__slurm_note(import, line, "'mps' is not modelled beside 'shard': no job waits for it");
    if (status != HR_OK) return status;
  }
  return hr__slurm_note(
      import, line,
      "each GPU has %lu shares. It is assumed that the number of its shares does not change the speed of a job. Read "
      "traces with --format sacct:%s=%lu; in CSV, 'gpu_milli' has thousandths of a GPU",
      of_gpu, node->shards ? "shards" : "mps", of_gpu);
}

static enum hr_status add_pool(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                               const struct hr__slurm_hosts *node) {
  const char *name = node->hosts, *type = node->type;
  bool several;
  const struct hr_gpu_type *gpu = hr__gpu_of_name(import->catalog, type[0] ? type : "gpu", &several);
  cJSON *pool = cJSON_CreateObject();
  cJSON_AddStringToObject(pool, "name", name);
  cJSON_AddStringToObject(pool, "gpu", gpu ? gpu->name : type[0] ? type : "gpu");
  cJSON_AddNumberToObject(pool, "nodes", 0);
  cJSON_AddNumberToObject(pool, "gpus_per_node", (double)node->gpus);
  if (node->shards + node->mps) cJSON_AddStringToObject(pool, "sharing", "fraction");
  if (!pool || !cJSON_AddItemToArray(import->pools, pool)) return hr__slurm_no_memory(line);
  const enum hr_status status = note_shares(import, line, node);
  if (status != HR_OK) return status;
  if (several && gpu)
    return hr__slurm_note(import, line, "'%s' may be several GPU types; %s is assumed, see the pool's 'gpu'", type,
                          gpu->name);
  if (!gpu && type[0])
    return hr__slurm_note(import, line, "the catalogue has no GPU type '%.50s'; prices and speeds are unknown", type);
  return HR_OK;
}

static cJSON *last_pool(const struct hr__slurm_import *import, uint32_t *number) {
  int count = cJSON_GetArraySize(import->pools);
  *number = (uint32_t)(count ? count - 1 : 0);
  return count ? cJSON_GetArrayItem(import->pools, count - 1) : NULL;
}

/* The state while the hosts of a line are added to the last pool. */
struct adding {
  struct hr__slurm_import *import;
  uint32_t pool, count; /* number of the pool; number of nodes in it */
  bool is_known;        /* a host was added before */
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

/* Adds the hosts of a list to the last pool. Fails if one of them was added before. */
static enum hr_status add_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *hosts) {
  struct adding adding = {.import = import};
  cJSON *pool = last_pool(import, &adding.pool), *nodes = cJSON_GetObjectItemCaseSensitive(pool, "nodes");
  adding.count = (uint32_t)nodes->valuedouble;
  if (!hr__slurm_each_host(hosts, add_host, &adding)) return hr__slurm_no_memory(line);
  if (adding.is_known)
    return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: NodeName is '%.60s', expected nodes that are not listed before",
                   line->path, line->number, hosts);
  cJSON_SetNumberValue(nodes, adding.count);
  return HR_OK;
}

/* Writes the GPUs and shares of a node as a text. Nodes are compared by this text. */
static void describe(const struct hr__slurm_hosts *node, char text[KIND_BYTES]) {
  snprintf(text, KIND_BYTES, "%s %lu %lu %lu", node->type, node->gpus, node->shards, node->mps);
}

/* Returns whether a node has the same GPUs and shares as the nodes of `pool`, which may be NULL. */
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

/* Renames a pool to which `hosts` were added: the new name consists of its first and its last node. */
static void rename_pool(cJSON *pool, const char *hosts) {
  char first[150] = "", last[150] = "", text[310];
  cJSON *name = cJSON_GetObjectItemCaseSensitive(pool, "name");
  hr__slurm_each_host(cJSON_GetObjectItemCaseSensitive(pool, "first nodes")->valuestring, keep_first_host, first);
  hr__slurm_each_host(hosts, keep_host, last);
  snprintf(text, sizeof text, "%s..%s", first, last);
  cJSON_SetValuestring(name, text);
}

/* Adds the hosts of an entry, which have the same GPUs. They join the last pool if its nodes have the same GPUs, too,
   because a job can only use nodes of one pool. */
static enum hr_status add_alike(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                const struct hr__slurm_hosts *node) {
  uint32_t number;
  cJSON *pool = last_pool(import, &number);
  bool continues = continues_pool(pool, node);
  enum hr_status status = continues ? HR_OK : add_pool(import, line, node);
  if (status != HR_OK) return status;
  pool = last_pool(import, &number);
  if (!continues) {
    char kind[KIND_BYTES];
    describe(node, kind);
    cJSON_AddStringToObject(pool, "type of Slurm", kind);
    cJSON_AddStringToObject(pool, "first nodes", node->hosts);
  }
  status = add_hosts(import, line, node->hosts);
  if (status == HR_OK && continues) rename_pool(pool, node->hosts);
  return status;
}

/* ---- Nodes of slurm.conf ---------------------------------------------------------------------------- */

/* Returns the value of a key of the line; if the line does not have it, the value of NodeName=DEFAULT; NULL: none. */
static const char *node_value(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                              const char *key) {
  const char *value = hr__slurm_value(line, key);
  return value ? value : cJSON_GetStringValue(cJSON_GetObjectItem(import->default_node, key));
}

/* Returns the number of CPUs of a node; 0: unknown. */
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

/* Stores the nodes of a line until all files have been read. */
static enum hr_status keep_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *names,
                                 const struct hr__slurm_hosts *described) {
  char *copy = strdup(names);
  if (!copy || !HR__ARRAY_HAS_ROOM(import->lines, import->n_lines, import->lines_capacity)) {
    free(copy);
    return hr__slurm_no_memory(line);
  }
  struct hr__slurm_hosts *hosts = &import->lines[import->n_lines];
  *hosts = *described;
  hosts->hosts = copy;
  hosts->path = line->path;
  hosts->number = line->number;
  hosts->order = import->n_lines++;
  return HR_OK;
}

/* Returns whether a node in this state is not available: down, drained, failing, planned for the future, or not
   responding (an asterisk in the state). */
static bool is_away(const char *state) {
  return strncasecmp(state, "DOWN", 4) == 0 || strncasecmp(state, "FUTURE", 6) == 0 ||
         strncasecmp(state, "DRAIN", 5) == 0 || strncasecmp(state, "FAIL", 4) == 0 || strstr(state, "+DRAIN") ||
         strstr(state, "drain") || strchr(state, '*');
}

static enum hr_status bad_gpus(const struct hr__slurm_line *line, unsigned long gpus) {
  return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: Gres has %lu GPUs, expected at most %d", line->path, line->number,
                 gpus, MAX_GPUS_PER_NODE);
}

/* Reads the hosts of a line of slurm.conf. Hosts that are not available (down, drained, failing, planned) or have no
   GPUs are left out, with a note. */
static enum hr_status read_hosts(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                 const char *hosts) {
  const char *gres = node_value(import, line, "Gres"), *state = node_value(import, line, "State");
  const char *weight = node_value(import, line, "Weight");
  struct hr__slurm_hosts kept = {.weight = weight ? strtod(weight, NULL) : 1, .cpus = count_cpus(import, line)};
  if (weight && (!*weight || weight[strspn(weight, "0123456789")]))
    return hr__slurm_bad(line, "Weight", weight, "a whole number of at least 0");
  if (hr__slurm_hosts(hosts) == 0) return hr__slurm_bad(line, "NodeName", hosts, "a list of hosts such as n[1-8]");
  if (state && is_away(state))
    return hr__slurm_note(import, line, "nodes '%.60s' are left out: State=%s", hosts, state);
  if (!read_gres(gres ? gres : "", &kept))
    return hr__slurm_note(import, line, "nodes '%.60s' are left out: they have no GPUs", hosts);
  if (kept.gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, kept.gpus);
  return keep_hosts(import, line, hosts, &kept);
}

/* ---- Nodes one by one ------------------------------------------------------------------------------- */

enum hr_status hr__slurm_add_node(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                  const char *gres, const char *state) {
  const char *weight = hr__slurm_value(line, "Weight"), *cpus = hr__slurm_value(line, "CPUTot");
  struct hr__slurm_hosts kept = {
      .is_shown = true, .weight = weight ? strtod(weight, NULL) : 1, .cpus = cpus ? strtod(cpus, NULL) : 0};
  if (state) snprintf(kept.state, sizeof kept.state, "%s", state);
  (void)read_gres(gres, &kept);
  return keep_hosts(import, line, name, &kept);
}

/* Reads a line with NodeName=DEFAULT. Its values apply to the lines after it. */
static enum hr_status read_default(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  if (!import->default_node) import->default_node = cJSON_CreateObject();
  for (unsigned i = 0; i < line->n_pairs && import->default_node; i++) {
    hr__slurm_set(import->default_node, line->pairs[i].key, cJSON_CreateString(line->pairs[i].value));
  }
  return import->default_node ? HR_OK : hr__slurm_no_memory(line);
}

/* ---- Node sets -------------------------------------------------------------------------------------- */

/* Appends a part to a list with commas, and returns the list. `list` may be NULL. If memory is exhausted, frees the
   list and returns NULL. */
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

/* Appends the hosts of a line to the list of hosts of each of its features. */
static enum hr_status add_features(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   const char *hosts) {
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
    if (!done) return hr__slurm_no_memory(line);
  }
  return HR_OK;
}

enum hr_status hr__slurm_read_node_set(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  const char *name = hr__slurm_value(line, "NodeSet"), *nodes = hr__slurm_value(line, "Nodes");
  const char *feature = hr__slurm_value(line, "Feature");
  if (!nodes && !feature) return hr__slurm_bad(line, "NodeSet", name, "Nodes or Feature as well");
  if (nodes && strcasecmp(nodes, "ALL") != 0 && hr__slurm_hosts(nodes) == 0)
    return hr__slurm_bad(line, "Nodes", nodes, "a list of hosts such as n[1-8]");
  if (!import->node_sets) import->node_sets = cJSON_CreateObject();
  cJSON *set = cJSON_CreateObject();
  if (nodes) cJSON_AddStringToObject(set, "nodes", nodes);
  if (feature) cJSON_AddStringToObject(set, "feature", feature);
  if (set && cJSON_AddItemToObject(import->node_sets, name, set)) return HR_OK;
  cJSON_Delete(set);
  return hr__slurm_no_memory(line);
}

/* Returns a copy of a list of hosts in which the names of node sets are replaced by their hosts. The caller must free
   it. NULL: memory is exhausted. */
static char *slurm_expand_sets(const struct hr__slurm_import *import, const char *list) {
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
    /* The name of an empty set remains in the list, like the name of a node that does not exist. */
    if (!nodes && !having) expanded = append(expanded, at, (size_t)(end - at));
    at = end;
  }
  return expanded;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

enum hr_status hr__slurm_read_node(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  const char *name = hr__slurm_value(line, "NodeName"), *gres = hr__slurm_value(line, "Gres");
  if (hr__slurm_value(line, "CPUTot"))
    return hr__slurm_add_node(import, line, name, gres ? gres : "", hr__slurm_value(line, "State"));
  if (strcasecmp(name, "DEFAULT") == 0) return read_default(import, line);
  enum hr_status status = add_features(import, line, name);
  return status == HR_OK ? read_hosts(import, line, name) : status;
}

/* ---- Adding all nodes ------------------------------------------------------------------------------- */

/* Sorts lines by source, weight and position. Lines of slurm.conf precede the output of commands, so a node that is in
   both belongs to the pool of its line in slurm.conf. */
static int compare_lines(const void *a, const void *b) {
  const struct hr__slurm_hosts *left = a, *right = b;
  if (left->is_shown != right->is_shown) return left->is_shown ? 1 : -1;
  if (left->weight != right->weight) return left->weight < right->weight ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

/* Adds a node of the output of a command if it was not added before. Nodes that are not available or have no GPUs are
   left out, with a note. */
static enum hr_status add_shown(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                const struct hr__slurm_hosts *node) {
  bool is_known = hr__names_find(&import->names, node->hosts, strlen(node->hosts)) != HR_NONE;
  if (is_away(node->state))
    return hr__slurm_note(import, line,
                          is_known ? "node '%.60s' is %.30s; it stays in its pool"
                                   : "node '%.60s' is left out: it is %.30s",
                          node->hosts, node->state);
  if (is_known) return HR_OK;
  if (!node->gpus) return hr__slurm_note(import, line, "node '%.60s' is left out: it has no GPUs", node->hosts);
  if (node->gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, node->gpus);
  return add_alike(import, line, node);
}

/* If nodes have different weights, adds a note on how the model uses weights. The note has the place of the first line
   with a different weight. */
static enum hr_status note_weights(const struct hr__slurm_import *import) {
  for (uint32_t i = 1; i < import->n_lines; i++) {
    const struct hr__slurm_hosts *hosts = &import->lines[i];
    const struct hr__slurm_line line = {.path = hosts->path, .error = import->error, .number = hosts->number};
    if (hosts->is_shown == import->lines[i - 1].is_shown && hosts->weight != import->lines[i - 1].weight)
      return hr__slurm_note(import, &line,
                            "Weight only sorts the nodes. A job gets the shortest sequence of consecutive nodes with "
                            "enough free GPUs, whatever their weights");
  }
  return HR_OK;
}

enum hr_status hr__slurm_finish_nodes(struct hr__slurm_import *import) {
  if (import->n_lines) qsort(import->lines, import->n_lines, sizeof *import->lines, compare_lines);
  enum hr_status status = note_weights(import);
  for (uint32_t i = 0; i < import->n_lines && status == HR_OK; i++) {
    const struct hr__slurm_hosts *hosts = &import->lines[i];
    const struct hr__slurm_line line = {.path = hosts->path, .error = import->error, .number = hosts->number};
    uint32_t before = import->names.count;
    status = hosts->is_shown ? add_shown(import, &line, hosts) : add_alike(import, &line, hosts);
    if (hosts->cpus <= 0) continue;
    import->cpus += hosts->cpus * (double)(import->names.count - before);
    import->gpus += (double)hosts->gpus * (double)(import->names.count - before);
  }
  return status;
}

/* ---- Ranges of nodes -------------------------------------------------------------------------------- */

/* The nodes of a list. */
struct marking {
  const struct hr__slurm_import *import;
  uint8_t *flags; /* by name number: 1 if the node is in the list */
  uint32_t count; /* number of nodes in the list */
};

static bool mark(void *self, const char *name, size_t length) {
  struct marking *marking = self;
  uint32_t number = hr__names_find(&marking->import->names, name, length);
  if (number == HR_NONE) return true; // a node without GPUs
  marking->count += !marking->flags[number];
  marking->flags[number] = 1;
  return true;
}

/* Adds the ranges of marked nodes to a list: "POOL" for all nodes of a pool, otherwise "POOL:FIRST-LAST". The nodes of
   a pool have consecutive name numbers in the order of their indices. */
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

/* Replaces the member `nodes` of an object by the ranges of pools that contain the hosts of a list. Hosts without GPUs
   are ignored. If the list contains all nodes, the object has no member `nodes`. Sets `*n_nodes` to the number of
   nodes. */
static enum hr_status slurm_add_ranges(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                       cJSON *object, const char *hosts, uint32_t *n_nodes) {
  *n_nodes = import->names.count;
  cJSON_DeleteItemFromObject(object, "nodes");
  if (strcasecmp(hosts, "ALL") == 0) return HR_OK;
  struct marking marking = {import, calloc((size_t)import->names.count + 1, 1), 0};
  if (!marking.flags) return hr__slurm_no_memory(line);
  hr__slurm_each_host(hosts, mark, &marking);
  *n_nodes = marking.count;
  if (marking.count < import->names.count) add_marked(import, cJSON_AddArrayToObject(object, "nodes"), marking.flags);
  free(marking.flags);
  return HR_OK;
}

/* ---- Partitions and reservations -------------------------------------------------------------------- */

/*
 * Partitions are read from slurm.conf and `scontrol show partition -o`, reservations from `scontrol show reservation
 * -o`. If several files have a key of a partition, the last file applies. The nodes of a partition or reservation may
 * be in a later file. Its member `nodes` is therefore the list of hosts, as a text, until all files have been read.
 *
 * Source: doc/man/man5/slurm.conf.5 and doc/man/man1/scontrol.1 of SchedMD/slurm.
 */

/* ---- Partitions and reservations: partitions -------------------------------------------------------- */

static const char *const states[] = {"up", "down", "drain", "inactive", NULL};
static const char *const modes[] = {"off", "requeue", "cancel", "suspend", NULL};

static const struct hr__slurm_rule rules[] = {{"Nodes", "nodes", HR__SLURM_TEXT, NULL},
                                              {"Default", "default", HR__SLURM_YES_NO, NULL},
                                              {"PriorityTier", "priority_tier", HR__SLURM_WHOLE, NULL},
                                              {"PriorityJobFactor", "priority_job_factor", HR__SLURM_WHOLE, NULL},
                                              {"MaxTime", "max_time_s", HR__SLURM_MINUTES, NULL},
                                              {"DefaultTime", "default_time_s", HR__SLURM_MINUTES, NULL},
                                              {"MinNodes", "min_nodes", HR__SLURM_WHOLE, NULL},
                                              {"MaxNodes", "max_nodes", HR__SLURM_WHOLE, NULL},
                                              {"State", "state", HR__SLURM_WORD, states},
                                              {"PreemptMode", "preempt_mode", HR__SLURM_WORD, modes},
                                              {"GraceTime", "grace_time_s", HR__SLURM_SECONDS, NULL},
                                              {"OverTimeLimit", "over_time_limit_s", HR__SLURM_OVER_TIME, NULL},
                                              {"QOS", "qos", HR__SLURM_TEXT, NULL},
                                              {"AllowAccounts", "allow_accounts", HR__SLURM_NAMES, NULL},
                                              {"DenyAccounts", "deny_accounts", HR__SLURM_NAMES, NULL},
                                              {"AllowQos", "allow_qos", HR__SLURM_NAMES, NULL},
                                              {"DenyQos", "deny_qos", HR__SLURM_NAMES, NULL},
                                              {"TRESBillingWeights", "tres_billing_weights", HR__SLURM_WEIGHTS, NULL}};

/* Keys that change decisions and are not modelled. A key changes nothing if it is not set, or if its value is 0 or
   `neutral` (NULL: only 0). `effect`: the effect of not modelling the key. */
static const struct {
  const char *key, *neutral, *effect;
} unmodelled[] = {{"Alternate", NULL, "jobs do not go to another partition"},
                  {"AllocNodes", "ALL", "jobs may be submitted anywhere"},
                  {"AllowGroups", "ALL", "jobs of all groups of users are accepted"},
                  {"ExclusiveUser", "NO", "nodes are shared by users"},
                  {"ExclusiveTopo", "NO", "nodes are shared by jobs"},
                  {"LLN", "NO", "the least loaded node is not preferred"},
                  {"MaxCPUsPerNode", NULL, "jobs may use all CPUs of a node"},
                  {"MaxCPUsPerSocket", NULL, "jobs may use all CPUs of a node"},
                  {"MaxMemPerNode", NULL, "jobs may use the whole memory of a node"},
                  {"MaxMemPerCPU", NULL, "jobs may use the whole memory of a node"},
                  {"OverSubscribe", "NO", "a GPU is used by one job at a time, and nodes are shared by jobs"},
                  {"ReqResv", "NO", "jobs without a reservation are accepted"},
                  {"RootOnly", "NO", "jobs of all users are accepted"},
                  {"SelectTypeParameters", "NONE", "the nodes of all partitions are consumed in the same way"},
                  {"Topology", NULL, "nodes are chosen without regard to switches"}};

/* Keys that do not change decisions. */
static const char *const irrelevant[] = {"PartitionName",
                                         "Hidden",
                                         "DisableRootJobs",
                                         "DefMemPerNode",
                                         "DefMemPerCPU",
                                         "DefMemPerGPU",
                                         "CpuBind",
                                         "JobDefaults",
                                         "TotalCPUs",
                                         "TotalNodes",
                                         "TRES",
                                         "Priority",
                                         "Shared",
                                         "ResumeTimeout",
                                         "SuspendTime",
                                         "SuspendTimeout",
                                         "PowerDownOnIdle",
                                         "NodeSets",
                                         NULL};

static enum hr_status read_key(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                               cJSON *partition, const char *key, const char *value) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcasecmp(key, rules[i].key) == 0) return hr__slurm_add(import, line, partition, &rules[i], value);
  for (size_t i = 0; i < sizeof unmodelled / sizeof *unmodelled; i++) {
    if (strcasecmp(key, unmodelled[i].key) != 0) continue;
    bool neutral = hr__slurm_is_unset(value) || strcmp(value, "0") == 0 ||
                   (unmodelled[i].neutral && strcasecmp(value, unmodelled[i].neutral) == 0);
    return neutral ? HR_OK
                   : hr__slurm_note(import, line, "partition '%.40s': %s is not modelled: %s",
                                    hr__slurm_value(line, "PartitionName"), key, unmodelled[i].effect);
  }
  if (hr__slurm_is_listed(irrelevant, key)) return HR_OK;
  return hr__slurm_note(import, line, "partition '%.40s': unknown parameter '%.60s' is ignored",
                        hr__slurm_value(line, "PartitionName"), key);
}

cJSON *hr__slurm_partition(struct hr__slurm_import *import, const char *name) {
  cJSON *list = hr__slurm_list(import->section, "partitions"), *partition = list ? list->child : NULL;
  for (; partition; partition = partition->next)
    if (strcmp(cJSON_GetObjectItemCaseSensitive(partition, "name")->valuestring, name) == 0) return partition;
  partition = import->default_partition ? cJSON_Duplicate(import->default_partition, true) : cJSON_CreateObject();
  cJSON_AddStringToObject(partition, "name", name);
  cJSON_AddItemToArray(list, partition);
  return partition;
}

enum hr_status hr__slurm_read_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  const char *name = hr__slurm_value(line, "PartitionName");
  const bool is_default = strcasecmp(name, "DEFAULT") == 0;
  if (is_default && !import->default_partition) import->default_partition = cJSON_CreateObject();
  cJSON *partition = is_default ? import->default_partition : hr__slurm_partition(import, name);
  if (!partition) return hr__slurm_no_memory(line);
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < line->n_pairs && status == HR_OK; i++)
    status = read_key(import, line, partition, line->pairs[i].key, line->pairs[i].value);
  return status;
}

/* ---- Partitions and reservations: reservations ------------------------------------------------------ */

static const char *const flags[] = {"MAINT", "OVERLAP", "IGNORE_JOBS", "FLEX", "MAGNETIC", NULL};
static const struct hr__slurm_rule reservation_rules[] = {{"Nodes", "nodes", HR__SLURM_TEXT, NULL},
                                                          {"Users", "users", HR__SLURM_NAMES, NULL},
                                                          {"Accounts", "accounts", HR__SLURM_NAMES, NULL},
                                                          {"Duration", "duration_s", HR__SLURM_MINUTES, NULL}};

enum { DAY_S = 86400 };

/* Returns the days of the week on which a reservation with these flags is repeated: bit 0 is Sunday. 0: the flags name
   no days of the week. */
static unsigned days_of(const char *list) {
  if (list && strstr(list, "WEEKDAY")) return 0x3e;
  return list && strstr(list, "WEEKEND") ? 0x41 : 0;
}

/* Returns the day of the week of a date in seconds since 1970; 0: Sunday. 1970-01-01 was a Thursday. */
static unsigned day_of(int64_t date_s) {
  return (unsigned)((date_s / DAY_S + 4) % 7);
}

/* Adds a weekly copy of a reservation for each of `days` except the day on which the reservation begins. If this day is
   not in `days`, the reservation itself is not repeated. Returns false if memory is exhausted. */
static bool repeat_on_days(const struct hr__slurm_import *import, cJSON *reservation, int64_t start_s, unsigned days) {
  const char *name = cJSON_GetObjectItemCaseSensitive(reservation, "name")->valuestring;
  for (unsigned later = 1; days && later < 7; later++) {
    if (!(days >> day_of(start_s + later * DAY_S) & 1)) continue;
    char other[200];
    snprintf(other, sizeof other, "%.150s, %u day%s later", name, later, later == 1 ? "" : "s");
    cJSON *copy = cJSON_Duplicate(reservation, true), *text = cJSON_CreateString(other);
    if (!copy || !text || !cJSON_AddItemToArray(hr__slurm_list(import->section, "reservations"), copy)) {
      cJSON_Delete(copy);
      cJSON_Delete(text);
      return false;
    }
    cJSON_ReplaceItemInObjectCaseSensitive(copy, "name", text);
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(copy, "start_s"), (double)(start_s + later * DAY_S));
  }
  if (days && !(days >> day_of(start_s) & 1)) cJSON_DeleteItemFromObjectCaseSensitive(reservation, "repeat_s");
  return true;
}

/* Reads the flags of a reservation. One of the flags HOURLY, DAILY, WEEKLY, WEEKDAY and WEEKEND means that the
   reservation is repeated: Slurm moves its start forward when it ends. The flags SPEC_NODES, ALL_NODES and PART_NODES
   describe how the nodes were chosen, and are ignored. */
static enum hr_status add_flags(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                cJSON *reservation, const char *list) {
  static const struct hr__slurm_rule rule = {"Flags", "flags", HR__SLURM_NAMES, flags};
  static const struct {
    const char *flag;
    double repeat_s; /* 0: not repeated */
  } others[] = {{"HOURLY", 3600},       {"DAILY", DAY_S},  {"WEEKLY", 7 * DAY_S}, {"WEEKDAY", 7 * DAY_S},
                {"WEEKEND", 7 * DAY_S}, {"SPEC_NODES", 0}, {"ALL_NODES", 0},      {"PART_NODES", 0}};
  char kept[1000] = "";
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    size_t length = strcspn(at, ","), i = 0, n = sizeof others / sizeof *others, used = strlen(kept);
    while (i < n && (strlen(others[i].flag) != length || strncasecmp(others[i].flag, at, length) != 0)) i++;
    if (i < n && others[i].repeat_s > 0) cJSON_AddNumberToObject(reservation, "repeat_s", others[i].repeat_s);
    if (i == n) snprintf(kept + used, sizeof kept - used, "%s%.*s", used ? "," : "", (int)length, at);
  }
  return hr__slurm_add(import, line, reservation, &rule, kept);
}

enum hr_status hr__slurm_read_reservation(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  const char *start = hr__slurm_value(line, "StartTime"), *list = hr__slurm_value(line, "Flags");
  int64_t start_s = start ? hr__slurm_date(start) : INT64_MIN;
  if (start_s == INT64_MIN)
    return hr__slurm_bad(line, "StartTime", start ? start : "", "a date such as 2026-03-01T08:00:00");
  const char *duration = hr__slurm_value(line, "Duration");
  if (!duration || hr__slurm_seconds(duration, 60) <= 0)
    return hr__slurm_bad(line, "Duration", duration ? duration : "", "a time such as 12:00:00 or 1-12:00:00");
  cJSON *reservation = cJSON_CreateObject();
  cJSON_AddStringToObject(reservation, "name", hr__slurm_value(line, "ReservationName"));
  cJSON_AddNumberToObject(reservation, "start_s", (double)start_s);
  if (!reservation || !cJSON_AddItemToArray(hr__slurm_list(import->section, "reservations"), reservation))
    return hr__slurm_no_memory(line);
  if (start_s < import->first_start_s) import->first_start_s = start_s;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof reservation_rules / sizeof *reservation_rules && status == HR_OK; i++) {
    const char *value = hr__slurm_value(line, reservation_rules[i].key);
    if (value) status = hr__slurm_add(import, line, reservation, &reservation_rules[i], value);
  }
  if (status == HR_OK && list) status = add_flags(import, line, reservation, list);
  if (status == HR_OK && !repeat_on_days(import, reservation, start_s, days_of(list)))
    status = hr__slurm_no_memory(line);
  return status;
}

/* ---- Partitions and reservations: at the end -------------------------------------------------------- */

/* For each entry of the list of partitions or reservations, replaces the list of hosts by ranges of pools. Entries
   without GPUs are removed, with a note. */
static enum hr_status finish_list(struct hr__slurm_import *import, const char *list_name) {
  const struct hr__slurm_line line = {.path = list_name, .error = import->error};
  cJSON *list = cJSON_GetObjectItemCaseSensitive(import->section, list_name), *next;
  for (cJSON *entry = list ? list->child : NULL; entry; entry = next) {
    next = entry->next;
    cJSON *nodes = cJSON_GetObjectItemCaseSensitive(entry, "nodes");
    if (!nodes) continue;
    char *hosts = slurm_expand_sets(import, nodes->valuestring);
    if (!hosts) return hr_fail(import->error, HR_NO_MEMORY, "import: out of memory");
    enum hr_status status = HR_OK;
    if (strcasecmp(hosts, "ALL") != 0 && hr__slurm_hosts(hosts) == 0)
      status = hr_fail(import->error, HR_BAD_INPUT, "%s: Nodes is '%.60s', expected a list of hosts such as n[1-8]",
                       list_name, hosts);
    uint32_t n_nodes = 0;
    if (status == HR_OK) status = slurm_add_ranges(import, &line, entry, hosts, &n_nodes);
    free(hosts);
    if (status == HR_OK && n_nodes == 0) {
      status = hr__slurm_note(import, NULL, "%s: '%.60s' is left out: it has no nodes with GPUs", list_name,
                              cJSON_GetObjectItemCaseSensitive(entry, "name")->valuestring);
      cJSON_Delete(cJSON_DetachItemViaPointer(list, entry));
    }
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Makes the starts of all reservations relative to the earliest of them. In a scenario, starts are in seconds since the
   start of the trace. The import does not know that start, so a note asks the user to add the difference. */
static enum hr_status shift_reservations(const struct hr__slurm_import *import) {
  if (import->first_start_s == INT64_MAX) return HR_OK;
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(import->section, "reservations"), *entry;
  cJSON_ArrayForEach(entry, list) {
    cJSON *start = cJSON_GetObjectItemCaseSensitive(entry, "start_s");
    if (start) cJSON_SetNumberValue(start, start->valuedouble - (double)import->first_start_s);
  }
  return hr__slurm_note(import, NULL,
                        "reservations: 'start_s' counts from the start of the first reservation, but must count from "
                        "the start of the trace: to each 'start_s', add the seconds between these two times");
}

enum hr_status hr__slurm_finish_partitions(struct hr__slurm_import *import) {
  enum hr_status status = finish_list(import, "partitions");
  if (status == HR_OK) status = finish_list(import, "reservations");
  return status == HR_OK ? shift_reservations(import) : status;
}
