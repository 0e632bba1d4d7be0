/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's nodes become pools, in the order of the file, because Slurm chooses nodes in this order. They are read from
 * slurm.conf (a line for a list of hosts), from `scontrol show node -o` and from `sinfo -N` (a line for each node).
 * Successive nodes that are alike become one pool. A node that was read before is not added again, so that several of
 * these files can be given. Invariant: `nodes[i]` is the place of the node with name number i.
 */

#include "base/array.h"
#include "scenarios/import/slurm_import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_GPUS_PER_NODE = 64 };

/* ---- GPUs ------------------------------------------------------------------------------------------- */

/* The GPUs of a node: reads "gpu:a100:8", "gpu:8(S:0-1)" or a list of such items. The type may be empty. */
static bool read_gres(const char *gres, char type[60], unsigned long *gpus) {
  *gpus = 0;
  type[0] = '\0';
  for (const char *at = gres; *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncasecmp(at, "gpu", 3) != 0 || (at[3] != ':' && at[3] != ',' && at[3] != '(' && at[3])) continue;
    size_t length = strcspn(at, ",(");
    const char *last = at + length;
    while (last > at && last[-1] != ':') last--;
    unsigned long count = last > at && isdigit((unsigned char)*last) ? strtoul(last, NULL, 10) : 1;
    if (last > at + 4) snprintf(type, 60, "%.*s", (int)(last - at - 5), at + 4);
    *gpus += count;
  }
  return *gpus > 0;
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

static enum hr_status add_pool(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                               const char *name, const char *type, unsigned long gpus, struct hr_error *error) {
  bool several;
  const struct hr_gpu_type *gpu = find_gpu(import, type[0] ? type : "gpu", &several);
  cJSON *pool = cJSON_CreateObject();
  cJSON_AddStringToObject(pool, "name", name);
  cJSON_AddStringToObject(pool, "gpu", gpu ? gpu->name : type[0] ? type : "gpu");
  cJSON_AddNumberToObject(pool, "nodes", 0);
  cJSON_AddNumberToObject(pool, "gpus_per_node", (double)gpus);
  if (!pool || !cJSON_AddItemToArray(import->pools, pool))
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
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

/* Returns whether nodes of this type continue the last pool. */
static bool continues_pool(const cJSON *pool, const char *type, unsigned long gpus) {
  const cJSON *known = pool ? cJSON_GetObjectItemCaseSensitive(pool, "type of Slurm") : NULL;
  const cJSON *count = pool ? cJSON_GetObjectItemCaseSensitive(pool, "gpus_per_node") : NULL;
  return known && strcmp(known->valuestring, type) == 0 && count->valuedouble == (double)gpus;
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
static enum hr_status add_alike(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *hosts,
                                const char *type, unsigned long gpus, struct hr_error *error) {
  uint32_t number;
  cJSON *pool = last_pool(import, &number);
  bool continues = continues_pool(pool, type, gpus);
  enum hr_status status = continues ? HR_OK : add_pool(import, line, hosts, type, gpus, error);
  if (status != HR_OK) return status;
  pool = last_pool(import, &number);
  if (!continues) {
    cJSON_AddStringToObject(pool, "type of Slurm", type);
    cJSON_AddStringToObject(pool, "first nodes", hosts);
  }
  status = add_hosts(import, line, hosts, error);
  if (status == HR_OK && continues) rename_pool(pool, hosts);
  return status;
}

/* ---- Nodes of slurm.conf ---------------------------------------------------------------------------- */

static void sum_cpus(struct hr__slurm_import *import, const struct hr__slurm_line *line, uint64_t n_nodes,
                     unsigned long gpus) {
  static const char *const parts[] = {"Sockets", "CoresPerSocket", "ThreadsPerCore"};
  const char *cpus = hr__slurm_value(line, "CPUs");
  if (!cpus) cpus = hr__slurm_value(line, "CPUTot");
  double count = cpus ? strtod(cpus, NULL) : 1;
  for (size_t i = 0; i < 3 && !cpus; i++) {
    const char *part = hr__slurm_value(line, parts[i]);
    if (part) count *= strtod(part, NULL);
  }
  if (count <= 1 && !cpus) return;
  import->cpus += count * (double)n_nodes;
  import->gpus += (double)gpus * (double)n_nodes;
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
  const char *gres = hr__slurm_value(line, "Gres"), *state = hr__slurm_value(line, "State");
  const char *weight = hr__slurm_value(line, "Weight");
  uint64_t n_nodes = hr__slurm_hosts(hosts);
  char type[60];
  unsigned long gpus;
  if (n_nodes == 0) return hr__slurm_bad(line, "NodeName", hosts, "a list of hosts such as n[1-8]", error);
  if (state && is_away(state))
    return hr__slurm_note(import, line, error, "nodes '%.60s' are left out: State=%s", hosts, state);
  if (!read_gres(gres ? gres : import->default_gres, type, &gpus))
    return hr__slurm_note(import, line, error, "nodes '%.60s' are left out: they have no GPUs", hosts);
  if (gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, gpus, error);
  enum hr_status status = HR_OK;
  if (weight && strcmp(weight, "1") != 0)
    status = hr__slurm_note(import, line, error, "Weight is not modelled: nodes are chosen in their order");
  if (status == HR_OK) status = add_alike(import, line, hosts, type, gpus, error);
  sum_cpus(import, line, n_nodes, gpus);
  return status;
}

/* ---- Nodes one by one ------------------------------------------------------------------------------- */

enum hr_status hr__slurm_add_node(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                  const char *gres, const char *state, struct hr_error *error) {
  char type[60];
  unsigned long gpus;
  bool is_known = hr__names_find(&import->names, name, strlen(name)) != HR_NONE;
  if (state && is_away(state))
    return hr__slurm_note(import, line, error,
                          is_known ? "node '%.60s' is %.30s; it stays in its pool"
                                   : "node '%.60s' is left out: it is %.30s",
                          name, state);
  if (is_known) return HR_OK;
  if (!read_gres(gres, type, &gpus))
    return hr__slurm_note(import, line, error, "node '%.60s' is left out: it has no GPUs", name);
  if (gpus > MAX_GPUS_PER_NODE) return bad_gpus(line, gpus, error);
  enum hr_status status = add_alike(import, line, name, type, gpus, error);
  sum_cpus(import, line, 1, gpus);
  return status;
}

enum hr_status hr__slurm_read_node(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   struct hr_error *error) {
  const char *name = hr__slurm_value(line, "NodeName"), *gres = hr__slurm_value(line, "Gres");
  if (hr__slurm_value(line, "CPUTot"))
    return hr__slurm_add_node(import, line, name, gres ? gres : "", hr__slurm_value(line, "State"), error);
  if (strcasecmp(name, "DEFAULT") != 0) return read_hosts(import, line, name, error);
  snprintf(import->default_gres, sizeof import->default_gres, "%s", gres ? gres : "");
  return HR_OK;
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
