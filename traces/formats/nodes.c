/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads lists of nodes. Nodes with the same GPU type, GPUs, CPUs and memory form one pool. */

#include "base/containers.h"
#include "traces/csv/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nodes_node {
  struct hr_text model;
  uint64_t memory_mib;
  uint32_t cpu_milli, gpus;
};

#define NODE(member) offsetof(struct nodes_node, member)
static const struct hr__csv_column columns[] = {{"cpu_milli", NULL, HR__CPU_MILLI, true, true, NODE(cpu_milli), 0},
                                                {"memory_mib", NULL, HR__MIB, true, true, NODE(memory_mib), 0},
                                                {"gpu", NULL, HR__GPUS, true, true, NODE(gpus), 0},
                                                {"model", NULL, HR__TEXT, true, false, NODE(model), 0}};

/* The columns of `pai_machine_spec.csv` of Alibaba's cluster-trace-gpu-v2020, in the published order. The file has
   no header row. CPUs are numbers, memory is in GiB. */
static const struct hr__csv_column pai_columns[] = {{"gpu_type", NULL, HR__TEXT, true, false, NODE(model), 0},
                                                    {"cap_cpu", NULL, HR__CPUS, true, true, NODE(cpu_milli), 0},
                                                    {"cap_mem", NULL, HR__GIB, true, true, NODE(memory_mib), 0},
                                                    {"cap_gpu", NULL, HR__GPUS, true, true, NODE(gpus), 0}};
#undef NODE

/* The kinds of nodes, as pools without names, and the kind of each node. */
struct kinds {
  struct hr__reader *reader;
  struct hr_pool_spec *pool;
  uint32_t n;
  uint64_t n_without_gpu; /* number of nodes without GPUs */
  uint32_t *of_node;      /* [n_nodes] index of the kind of each node, in the order of the list */
  uint32_t n_nodes, capacity;
};

static bool same_kind(const struct hr_pool_spec *pool, const struct nodes_node *node) {
  return pool->gpus_per_node == node->gpus && pool->cpu_milli_per_node == node->cpu_milli &&
         pool->mem_mib_per_node == node->memory_mib && strlen(pool->gpu) == node->model.length &&
         memcmp(pool->gpu, node->model.at, node->model.length) == 0;
}

static enum hr_status add_kind(struct kinds *kinds, const struct nodes_node *node, uint64_t line) {
  if (kinds->n == HR_MAX_POOLS)
    return hr_fail(kinds->reader->error, HR_BAD_INPUT, "%s:%llu: more than %u kinds of nodes", kinds->reader->path,
                   (unsigned long long)line, HR_MAX_POOLS);
  char *gpu = HR__ARRAY_RESIZE(kinds->pool, kinds->n + 1) ? strndup(node->model.at, node->model.length) : NULL;
  if (!gpu) return hr__reader_no_memory(kinds->reader);
  kinds->pool[kinds->n++] = (struct hr_pool_spec){.gpu = gpu,
                                                  .nodes = 1,
                                                  .gpus_per_node = node->gpus,
                                                  .cpu_milli_per_node = node->cpu_milli,
                                                  .mem_mib_per_node = node->memory_mib};
  return HR_OK;
}

static enum hr_status add_node(struct kinds *kinds, uint32_t kind) {
  if (!HR__ARRAY_HAS_ROOM(kinds->of_node, kinds->n_nodes, kinds->capacity)) return hr__reader_no_memory(kinds->reader);
  kinds->of_node[kinds->n_nodes++] = kind;
  return HR_OK;
}

static enum hr_status on_node(void *self, const void *row, uint64_t line) {
  struct kinds *kinds = self;
  const struct nodes_node *node = row;
  if (!node->gpus) {
    kinds->n_without_gpu++;
    return HR_OK;
  }
  if (!node->model.length) {
    struct hr__row_fault fault = {.line = line, .fault = "a node with GPUs has no model"};
    return hr__reader_bad_row(kinds->reader, &fault);
  }
  for (uint32_t i = 0; i < kinds->n; i++) {
    if (!same_kind(&kinds->pool[i], node)) continue;
    kinds->pool[i].nodes++;
    return add_node(kinds, i);
  }
  enum hr_status status = add_kind(kinds, node, line);
  return status == HR_OK ? add_node(kinds, kinds->n - 1) : status;
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static bool is_taken(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

/* Adds a pool with a name such as "V100M32-8gpu". If the name is already used, "-2", "-3", ... is appended. */
static enum hr_status add_pool(struct hr_cluster_spec *cluster, struct hr_pool_spec *pool, struct hr_error *error) {
  size_t bytes = strlen(pool->gpu) + 40;
  char *name = malloc(bytes);
  if (!name) return hr_fail(error, HR_NO_MEMORY, "pool '%.60s': out of memory", pool->gpu);
  snprintf(name, bytes, "%s-%ugpu", pool->gpu, pool->gpus_per_node);
  for (unsigned n = 2; is_taken(cluster, name); n++)
    snprintf(name, bytes, "%s-%ugpu-%u", pool->gpu, pool->gpus_per_node, n);
  pool->name = name;
  enum hr_status status = hr_cluster_spec_add(cluster, pool, error);
  pool->name = NULL;
  free(name);
  return status;
}

/* Stores the order of the list in `order`, because nodes are numbered pool by pool. */
static enum hr_status store_order(const struct kinds *kinds, struct hr_cluster_spec *cluster) {
  uint32_t n_before = 0, first_pool = cluster->n_pools - kinds->n;
  for (uint32_t i = 0; i < first_pool; i++) n_before += cluster->pools[i].nodes;
  bool ordered = cluster->node_order != NULL;
  uint32_t *next = malloc(kinds->n * sizeof *next);
  if (!next || !HR__ARRAY_RESIZE(cluster->node_order, (size_t)n_before + kinds->n_nodes)) {
    free(next);
    return hr__reader_no_memory(kinds->reader);
  }
  uint32_t *order = cluster->node_order;
  for (uint32_t i = 0; !ordered && i < n_before; i++) order[i] = i;
  for (uint32_t i = 0, first = n_before; i < kinds->n; first += kinds->pool[i++].nodes) next[i] = first;
  for (uint32_t i = 0; i < kinds->n_nodes; i++) order[next[kinds->of_node[i]]++] = n_before + i;
  free(next);
  return HR_OK;
}

static enum hr_status add_pools(struct kinds *kinds, struct hr_cluster_spec *cluster) {
  struct hr__reader *reader = kinds->reader;
  if (!kinds->n) return hr_fail(reader->error, HR_BAD_INPUT, "%s: no node has a GPU", reader->path);
  for (uint32_t i = 0; i < kinds->n; i++) {
    enum hr_status status = add_pool(cluster, &kinds->pool[i], reader->error);
    if (status != HR_OK) return status;
  }
  enum hr_status status = store_order(kinds, cluster);
  if (status != HR_OK) return status;
  const struct hr__count_note note = {kinds->n_without_gpu, "node without GPUs is", "nodes without GPUs are",
                                      " left out"};
  return hr__reader_note_counts(reader, &note, 1);
}

/* Returns true if the line is from the list of PAI without a header: five fields, of which the last is a number. */
static bool is_bare_pai(struct hr_text line) {
  size_t n_commas = 0;
  for (size_t i = 0; i < line.length; i++) n_commas += line.at[i] == ',';
  return n_commas == 4 && line.at[line.length - 1] >= '0' && line.at[line.length - 1] <= '9';
}

static enum hr_status read_nodes(struct kinds *kinds) {
  static const char *const ignored[] = {"sn", NULL}, *const pai_ignored[] = {"machine", NULL};
  static const char *const pai_header[] = {"machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu", NULL};
  static const struct nodes_node blank;
  struct nodes_node node;
  struct hr_text line = hr__first_line(hr__input_peek(kinds->reader->input));
  bool has_header = hr__begins_with_names(line, "machine,"), is_pai = has_header || is_bare_pai(line);
  const struct hr__csv_schema schema = {.columns = is_pai ? pai_columns : columns,
                                        .n_columns = sizeof columns / sizeof *columns,
                                        .ignored = is_pai ? pai_ignored : ignored,
                                        .header = is_pai && !has_header ? pai_header : NULL,
                                        .missing_hint = "a node list has sn,cpu_milli,memory_mib,gpu,model, or "
                                                        "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
                                        .row = &node,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof node,
                                        .on_row = on_node,
                                        .self = kinds};
  return hr__csv_read_rows(kinds->reader, &schema);
}

enum hr_status hr_nodes_read(const char *path, struct hr_cluster_spec *cluster, struct hr_notes *notes,
                             struct hr_error *error) {
  struct hr__reader reader = {.path = path, .notes = notes, .error = error};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status != HR_OK) return status;
  struct kinds kinds = {.reader = &reader};
  status = read_nodes(&kinds);
  if (status == HR_OK) status = add_pools(&kinds, cluster);
  for (uint32_t i = 0; i < kinds.n; i++) free(kinds.pool[i].gpu);
  free(kinds.pool);
  free(kinds.of_node);
  hr__input_close(reader.input);
  return status;
}
