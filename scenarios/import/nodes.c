/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes pools from Kubernetes Nodes, and writes them to a scenario. Labels of NVIDIA's GPU feature discovery contain:
 * - the GPU type: nvidia.com/gpu.product
 * - the number of GPUs: nvidia.com/gpu.count
 * - time-slicing or MPS: nvidia.com/gpu.replicas and nvidia.com/gpu.sharing-strategy
 * - MIG with the strategy "single": the suffix "-MIG-PROFILE" of the product. With the strategy "mixed", the node has
 *   resources with names such as nvidia.com/mig-PROFILE instead.
 *
 * Amounts of resources are those that pods can use (status.allocatable). If a node does not state them, its capacity is
 * used (status.capacity).
 *
 * Invariant: pools are in the order of their first nodes. For topology, the nodes of each pool are sorted by the labels
 * of the levels, and groups of equal labels are counted.
 *
 * Source: docs.nvidia.com, GPU Operator: time-slicing, MPS and MIG; github.com/NVIDIA/k8s-device-plugin.
 */

#include "scenarios/import/import.h"

#include "base/containers.h"
#include "headroom/mig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODE_GPUS = 64 };

static const struct hr__field taint_fields[] = {{HR__USED("key", TEXT), .required = true},
                                                {HR__USED("value", TEXT)},
                                                {HR__USED("effect", TEXT), .required = true},
                                                HR__IGNORED("timeAdded"),
                                                HR__END};
static const struct hr__field node_spec_fields[] = {{HR__USED("taints", LIST), .fields = taint_fields},
                                                    {HR__USED("unschedulable", BOOLEAN)},
                                                    HR__IGNORED("podCIDR"),
                                                    HR__IGNORED("podCIDRs"),
                                                    HR__IGNORED("providerID"),
                                                    HR__IGNORED("configSource"),
                                                    HR__IGNORED("externalID"),
                                                    HR__END};
static const struct hr__field node_status_fields[] = {{HR__USED("allocatable", AMOUNTS), .not_negative = true},
                                                      {HR__USED("capacity", AMOUNTS), .not_negative = true},
                                                      HR__IGNORED("conditions"),
                                                      HR__IGNORED("addresses"),
                                                      HR__IGNORED("daemonEndpoints"),
                                                      HR__IGNORED("nodeInfo"),
                                                      HR__IGNORED("images"),
                                                      HR__IGNORED("phase"),
                                                      HR__IGNORED("volumesInUse"),
                                                      HR__IGNORED("volumesAttached"),
                                                      HR__IGNORED("config"),
                                                      HR__IGNORED("features"),
                                                      HR__IGNORED("runtimeHandlers"),
                                                      HR__IGNORED("declaredFeatures"),
                                                      HR__END};
static const struct hr__field node_fields[] = {{HR__USED("spec", OBJECT), .fields = node_spec_fields},
                                               {HR__USED("status", OBJECT), .fields = node_status_fields},
                                               HR__END};
const struct hr__object_kind hr__kind_node = {
    .name = "Node", .group = "", .versions = hr__version_1, .fields = node_fields};

void hr__node_interest_add(struct hr__node_interest *interest, const char *key) {
  for (uint32_t i = 0; i < interest->n_labels; i++)
    if (strcmp(interest->labels[i], key) == 0) return;
  if (interest->n_labels < HR__MAX_NODE_LABELS) interest->labels[interest->n_labels++] = key;
}

void hr__node_interest_levels(struct hr__node_interest *interest, const struct hr__yaml *levels) {
  for (const struct hr__yaml *level = levels ? levels->first : NULL; level; level = level->next) {
    const char *key = hr__yaml_text(level, "nodeLabel");
    if (strcmp(key, "kubernetes.io/hostname") != 0 && interest->n_levels < HR__MAX_NODE_LEVELS)
      interest->levels[interest->n_levels++] = key;
  }
}

/* ---- GPU types -------------------------------------------------------------------------------------- */

const struct hr__yaml *hr__gpu_label(const struct hr__yaml *labels) {
  static const char *const keys[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                     "k8s.amazonaws.com/accelerator", "amd.com/gpu.product-name", "accelerator"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const struct hr__yaml *label = hr__yaml_child(labels, keys[i]);
    if (label && label->text[0]) return label;
  }
  return NULL;
}

/* Copies a product name without the suffixes "-SHARED" and "-MIG-1g.10gb". Sets `profile` to the MIG profile in the
   suffix; "": none. */
static void split_product(const char *label, char product[100], char profile[40]) {
  snprintf(product, 100, "%s", label);
  profile[0] = '\0';
  char *mig = strstr(product, "-MIG-"), *shared = strstr(product, "-SHARED");
  if (shared) *shared = '\0';
  if (!mig) return;
  snprintf(profile, 40, "%s", mig + strlen("-MIG-"));
  *mig = '\0';
}

const struct hr_gpu_type *hr__gpu_of_name(const struct hr_catalog *catalog, const char *name, bool *several) {
  const struct hr_gpu_type *found = NULL;
  *several = false;
  for (size_t i = 0; i < catalog->n_gpus; i++) {
    const struct hr_gpu_type *gpu = &catalog->gpus[i];
    if (!hr_catalog_gpu_means(catalog, name, gpu->name)) continue;
    *several |= found != NULL;
    if (!found || gpu->mem_gb > found->mem_gb) found = gpu;
  }
  return found;
}

static const char mig_prefix[] = "nvidia.com/mig-";

/* ---- One node --------------------------------------------------------------------------------------- */

/* A node that belongs to a pool. */
struct node_in_pool {
  const struct hr__yaml *root;
  uint32_t pool;
  char *group; /* values of its labels for the topology levels (see group_text); NULL: no topology is read */
};

struct pools_maker {
  struct hr__node_pools *pools;
  const struct hr__objects *objects;
  const struct hr__node_interest *interest;
  uint32_t n_no_gpus, n_not_ready, n_tainted;
  const struct hr__yaml *no_gpus, *not_ready; /* the first node without GPUs; the first node that is not ready */
  const struct hr__yaml *taint, *tolerated;   /* the first taint that jobs do not tolerate; the first that they do */
};

static const struct hr__yaml *amounts_of(const struct hr__yaml *root) {
  const struct hr__yaml *amounts = hr__yaml_at(root, "status.allocatable");
  return amounts ? amounts : hr__yaml_at(root, "status.capacity");
}

/* Returns the amount of a resource of a node, in the base unit; 0: none. */
static int64_t amount_of(const struct hr__yaml *root, const char *resource) {
  int64_t value = 0;
  const struct hr__yaml *amount = hr__yaml_child(amounts_of(root), resource);
  return amount && hr__quantity(amount->text, &value) ? value : 0;
}

static int64_t cpu_milli_of(const struct hr__yaml *root) {
  int64_t milli = 0;
  const struct hr__yaml *amount = hr__yaml_child(amounts_of(root), "cpu");
  return amount && hr__quantity_milli(amount->text, &milli) ? milli : 0;
}

static const struct hr__yaml *labels_of(const struct hr__yaml *root) {
  return hr__yaml_at(root, "metadata.labels");
}

/* Returns the number in a label; 0 if the label is missing or the number is above 10,000. */
static uint32_t label_number(const struct hr__yaml *labels, const char *key) {
  const struct hr__yaml *label = hr__yaml_child(labels, key);
  unsigned long number = label ? strtoul(label->text, NULL, 10) : 0;
  return number <= 10000 ? (uint32_t)number : 0;
}

static const char *const gpu_resources[] = {"nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu", "habana.ai/gaudi",
                                            "gpu.intel.com/i915"};
enum { N_GPU_RESOURCES = sizeof gpu_resources / sizeof *gpu_resources };

static int64_t gpus_of(const struct hr__yaml *root) {
  int64_t sum = 0;
  for (size_t i = 0; i < N_GPU_RESOURCES; i++) sum += amount_of(root, gpu_resources[i]);
  return sum;
}

/* Returns the first taint of a node that the jobs of a trace do not tolerate; NULL: none. */
static const struct hr__yaml *taint_of(struct pools_maker *maker, const struct hr__yaml *root) {
  for (const struct hr__yaml *taint = hr__yaml_first(root, "spec.taints"); taint; taint = taint->next) {
    const char *key = hr__yaml_text(taint, "key");
    bool is_gpu = strncmp(key, mig_prefix, sizeof mig_prefix - 1) == 0;
    for (size_t i = 0; i < N_GPU_RESOURCES; i++) is_gpu = is_gpu || strcmp(key, gpu_resources[i]) == 0;
    if (strcmp(hr__yaml_text(taint, "effect"), "PreferNoSchedule") == 0) continue;
    if (!is_gpu) return taint;
    if (!maker->tolerated) maker->tolerated = taint;
  }
  return NULL;
}

/* Returns whether the node is schedulable and ready. A node without the condition Ready is ready. */
static bool is_ready(const struct hr__yaml *root) {
  const struct hr__yaml *conditions = hr__yaml_at(root, "status.conditions");
  if (hr__is_true(hr__yaml_at(root, "spec.unschedulable"))) return false;
  if (!conditions || conditions->kind != HR__YAML_LIST) return true;
  for (const struct hr__yaml *entry = conditions->first; entry; entry = entry->next) {
    const char *type = hr__yaml_text(entry, "type"), *status = hr__yaml_text(entry, "status");
    if (type && status && strcmp(type, "Ready") == 0) return strcmp(status, "True") == 0;
  }
  return true;
}

/* ---- MIG -------------------------------------------------------------------------------------------- */

/* The MIG instances of a node. */
struct node_instances {
  uint32_t counts[40]; /* by profile */
  bool any;
};

static enum hr_status count_instances(const struct pools_maker *maker, const struct hr__object *node,
                                      const struct hr_mig_type *type, struct node_instances *instances) {
  const struct hr__yaml *amounts = amounts_of(node->root);
  for (const struct hr__yaml *entry = amounts ? amounts->first : NULL; entry; entry = entry->next) {
    int64_t count = 0;
    uint32_t profile;
    struct hr_error inner = {0};
    if (strncmp(entry->key, mig_prefix, sizeof mig_prefix - 1) != 0) continue;
    if (!hr__quantity(entry->text, &count) || count == 0) continue;
    if (hr_mig_profile_parse(type, entry->key, &profile, &inner) != HR_OK || count > 1000)
      return hr__object_fail(maker->objects, node, entry, "%s: %s", entry->key,
                             count > 1000 ? "more than 1,000 instances" : inner.text);
    instances->counts[profile] = (uint32_t)count;
    instances->any = true;
  }
  return HR_OK;
}

/* Distributes the instances of a node over its GPUs, in the order of the profiles of the type. If the number of
   instances of each profile is a multiple of the number of GPUs, all GPUs get the same instances. Otherwise each
   instance is created on the first GPU with room. `n_gpus`: 0 if it is unknown. Returns the number of GPUs; 0: there is
   no room. */
static uint32_t lay_out(const struct hr_mig_type *type, struct node_instances instances, uint32_t n_gpus,
                        struct hr_mig_gpu *gpus) {
  uint32_t used = 0, share = n_gpus ? n_gpus : 1;
  for (uint32_t p = 0; p < type->n_profiles; p++)
    if (instances.counts[p] % share) share = 1;
  uint32_t limit = n_gpus ? n_gpus : MAX_NODE_GPUS;
  for (uint32_t p = 0; p < type->n_profiles; p++)
    for (uint32_t i = 0; i < instances.counts[p]; i++) {
      uint32_t g = share > 1 ? i % share : 0;
      while (g < limit && hr_mig_room(type, &gpus[g], p) == 0) g++;
      if (g == limit || !hr_mig_create(type, &gpus[g], p, hr_mig_best_start(type, &gpus[g], p, HR_MIG_ALL))) return 0;
      if (g + 1 > used) used = g + 1;
    }
  return n_gpus ? n_gpus : used;
}

/* Writes the instances of a GPU as a layout, such as "3g.40gb,2x1g.10gb". Returns the length of the text. */
static size_t put_layout(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size) {
  size_t used = 0;
  for (uint32_t p = 0; p < type->n_profiles; p++) {
    uint32_t count = 0;
    for (uint32_t start = 0; start < HR_MIG_SLICES; start++) count += hr_mig_profile_at(gpu, start) == p;
    if (count && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%.0" PRIu32 "%s%s", used ? "," : "", count == 1 ? 0 : count,
                               count == 1 ? "" : "x", type->profiles[p].name);
  }
  if (!used) used = (size_t)snprintf(text, size, "all-enabled");
  return used;
}

/* Reads the MIG instances of a node, and sets the number of GPUs and the layouts of the pool. `profile`: the profile of
   all instances, with the strategy "single"; "": the strategy "mixed", or no MIG. */
static enum hr_status read_mig(const struct pools_maker *maker, const struct hr__object *node, const char *profile,
                               struct hr__node_pool *pool) {
  const struct hr_mig_type *type;
  struct node_instances instances = {.any = false};
  struct hr_mig_gpu gpus[MAX_NODE_GPUS] = {{.occupied = 0}};
  struct hr_error inner = {0};
  if (hr_catalog_mig(maker->pools->catalog, pool->gpu, &type, &inner) != HR_OK)
    return profile[0] ? hr__object_fail(maker->objects, node, node->root, "%s", inner.text) : HR_OK;
  enum hr_status status = count_instances(maker, node, type, &instances);
  uint32_t n_gpus = label_number(labels_of(node->root), "nvidia.com/gpu.count");
  if (status == HR_OK && profile[0]) {
    uint32_t own;
    if (hr_mig_profile_parse(type, profile, &own, &inner) != HR_OK)
      return hr__object_fail(maker->objects, node, hr__gpu_label(labels_of(node->root)), "%s", inner.text);
    instances.counts[own] += pool->n_gpus;
    instances.any = true;
    n_gpus = 0; /* the label counts instances */
  }
  if (status != HR_OK || !instances.any) return status;
  if (n_gpus > MAX_NODE_GPUS) n_gpus = MAX_NODE_GPUS;
  pool->n_gpus = lay_out(type, instances, n_gpus, gpus);
  if (!pool->n_gpus)
    return hr__object_fail(maker->objects, node, node->root,
                           "the MIG instances do not fit on %" PRIu32 " GPUs of type %s",
                           n_gpus ? n_gpus : MAX_NODE_GPUS, pool->gpu);
  size_t used = 0;
  for (uint32_t g = 0; g < pool->n_gpus && used < sizeof pool->layouts; g++) {
    if (g) used += (size_t)snprintf(pool->layouts + used, sizeof pool->layouts - used, ";");
    if (used < sizeof pool->layouts)
      used += put_layout(type, &gpus[g], pool->layouts + used, sizeof pool->layouts - used);
  }
  return HR_OK;
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static bool same_label(const struct hr__yaml *a, const struct hr__yaml *b, const char *key) {
  const struct hr__yaml *x = hr__yaml_child(labels_of(a), key), *y = hr__yaml_child(labels_of(b), key);
  return x && y ? strcmp(x->text, y->text) == 0 : x == y;
}

static bool is_near(int64_t a, int64_t b) {
  int64_t difference = a > b ? a - b : b - a;
  return difference <= (a > b ? a : b) / 100;
}

static bool same_pool(const struct pools_maker *maker, const struct hr__node_pool *a, const struct hr__node_pool *b) {
  if (strcmp(a->gpu, b->gpu) != 0 || a->n_gpus != b->n_gpus || a->cpu_milli != b->cpu_milli ||
      !is_near(a->mem_mib, b->mem_mib) || a->replicas != b->replicas || a->mps != b->mps ||
      strcmp(a->layouts, b->layouts) != 0)
    return false;
  for (uint32_t i = 0; i < maker->interest->n_labels; i++)
    if (!same_label(a->first, b->first, maker->interest->labels[i])) return false;
  return true;
}

static bool is_name_used(const struct hr__node_pools *pools, const char *name) {
  for (uint32_t i = 0; i < pools->count; i++)
    if (strcmp(pools->list[i].name, name) == 0) return true;
  return false;
}

/* Names a pool: `base` in lower case and, if another pool has this name, a number. */
static void name_pool(const struct hr__node_pools *pools, struct hr__node_pool *pool, const char *base) {
  char name[80];
  snprintf(name, sizeof name, "%s", base);
  for (char *at = name; *at; at++)
    if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
  snprintf(pool->name, sizeof pool->name, "%s", name);
  for (unsigned number = 2; is_name_used(pools, pool->name); number++)
    snprintf(pool->name, sizeof pool->name, "%s-%u", name, number);
}

static struct hr__node_pool *add_pool(struct hr__node_pools *pools, const struct hr__node_pool *pool) {
  if (!HR__ARRAY_HAS_ROOM(pools->list, pools->count, pools->capacity)) return NULL;
  pools->list[pools->count] = *pool;
  return &pools->list[pools->count++];
}

/* Sets the GPU type of a pool from the labels of a node, and `profile` to the MIG profile in the label; "": none. Adds
   a note if the type is unknown or ambiguous. */
static enum hr_status read_type(const struct pools_maker *maker, const struct hr__object *node,
                                struct hr__node_pool *pool, char profile[40]) {
  const struct hr__yaml *label = hr__gpu_label(labels_of(node->root));
  bool several = false;
  char product[100];
  profile[0] = '\0';
  pool->gpu = "gpu";
  if (!label) {
    return hr__objects_note(maker->objects, "nodes without a label such as nvidia.com/gpu.product have an unknown GPU "
                                            "type, 'gpu'; set the pool's 'gpu' for prices and speeds");
  }
  split_product(label->text, product, profile);
  const struct hr_gpu_type *gpu = hr__gpu_of_name(maker->pools->catalog, product, &several);
  pool->gpu = gpu ? gpu->name : label->text;
  enum hr_status status = HR_OK;
  if (several && gpu)
    status = hr__objects_note(maker->objects, "'%.80s' may be several GPU types; %s is assumed, see the pool's 'gpu'",
                              product, gpu->name);
  else if (!gpu)
    status = hr__objects_note(maker->objects, "the catalogue has no GPU type '%.80s'; prices and speeds are unknown",
                              product);
  return status;
}

/* Reads whether the GPUs of a node are shared by time-slicing or MPS. Such a node advertises each replica of a GPU as a
   GPU, so the number of GPUs is divided by the number of replicas. */
static void read_replicas(const struct hr__yaml *labels, struct hr__node_pool *pool) {
  uint32_t replicas = label_number(labels, "nvidia.com/gpu.replicas");
  const struct hr__yaml *strategy = hr__yaml_child(labels, "nvidia.com/gpu.sharing-strategy");
  if (replicas < 2 || pool->n_gpus < replicas || pool->n_gpus % replicas) return;
  pool->replicas = replicas;
  pool->n_gpus /= replicas;
  pool->mps = strategy && strcmp(strategy->text, "mps") == 0;
}

static enum hr_status add_node(struct pools_maker *maker, const struct hr__object *node) {
  struct hr__node_pools *pools = maker->pools;
  struct hr__node_pool pool = {.first = node->root, .n_nodes = 1};
  char profile[40];
  int64_t gpus = gpus_of(node->root);
  if (gpus > 4096)
    return hr__object_fail(maker->objects, node, node->root, "%" PRId64 " GPUs, expected at most 4096", gpus);
  pool.n_gpus = (uint32_t)gpus;
  pool.cpu_milli = cpu_milli_of(node->root);
  pool.mem_mib = amount_of(node->root, "memory") >> 20;
  enum hr_status status = read_type(maker, node, &pool, profile);
  read_replicas(labels_of(node->root), &pool);
  if (status == HR_OK) status = read_mig(maker, node, profile, &pool);
  if (status != HR_OK) return status;
  if (pool.n_gpus == 0) {
    if (!maker->n_no_gpus++) maker->no_gpus = node->root;
    return HR_OK;
  }
  uint32_t i = 0;
  while (i < pools->count && !same_pool(maker, &pools->list[i], &pool)) i++;
  if (i == pools->count) {
    name_pool(pools, &pool, pool.gpu);
    if (!add_pool(pools, &pool)) return hr__objects_no_memory(maker->objects);
  } else {
    pools->list[i].n_nodes++;
    if (pool.mem_mib < pools->list[i].mem_mib) pools->list[i].mem_mib = pool.mem_mib;
  }
  if (!HR__ARRAY_HAS_ROOM(pools->nodes, pools->n_nodes, pools->node_capacity))
    return hr__objects_no_memory(maker->objects);
  pools->nodes[pools->n_nodes++] = (struct node_in_pool){.root = node->root, .pool = i};
  return HR_OK;
}

/* ---- Topology --------------------------------------------------------------------------------------- */

enum { LEVEL_END = 0x1f }; /* the character after the value of each level in the text of a group */

/* Returns the text of the group of a node: the values of its labels for all levels, widest level first. The caller must
   free it. NULL: memory is exhausted. */
static char *group_text(const struct hr__node_interest *interest, const struct hr__yaml *root) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (uint32_t i = 0; i < interest->n_levels; i++) {
    const struct hr__yaml *label = hr__yaml_child(labels_of(root), interest->levels[i]);
    fprintf(out, "%s%c", label ? label->text : "", LEVEL_END);
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static int by_group(const void *a, const void *b) {
  const struct node_in_pool *x = a, *y = b;
  if (x->pool != y->pool) return x->pool < y->pool ? -1 : 1;
  return strcmp(x->group, y->group);
}

/* Returns the number of bytes of the text of a group without its narrowest level. */
static size_t bytes_of_wider(const char *group) {
  size_t bytes = strlen(group);
  if (bytes) bytes--;
  while (bytes > 0 && group[bytes - 1] != LEVEL_END) bytes--;
  return bytes;
}

static bool same_wider(const struct node_in_pool *a, const struct node_in_pool *b) {
  size_t bytes = bytes_of_wider(a->group);
  return a->pool == b->pool && bytes == bytes_of_wider(b->group) && memcmp(a->group, b->group, bytes) == 0;
}

/* The smallest and the largest size of the groups of a level. */
struct group_sizes {
  uint32_t min, max;
};

static void add_size(struct group_sizes *sizes, uint32_t size) {
  if (!sizes->max || size < sizes->min) sizes->min = size;
  if (size > sizes->max) sizes->max = size;
}

static enum hr_status note_sizes(const struct pools_maker *maker, const struct hr__node_pool *pool, const char *level,
                                 struct group_sizes sizes) {
  if (sizes.min == sizes.max) return HR_OK;
  return hr__objects_note(maker->objects,
                          "pool '%s': the groups of '%.100s' have %" PRIu32 " to %" PRIu32
                          " members; all are modelled with %" PRIu32 ", except the last one",
                          pool->name, level, sizes.min, sizes.max, sizes.max);
}

/* Sets the sizes of racks and zones of one pool. Its nodes begin at index `first` of the sorted nodes. Racks are the
   groups of the narrowest level, zones the groups of the next level. Sets `*end` to the index after these nodes. */
static enum hr_status read_groups(const struct pools_maker *maker, uint32_t first, uint32_t *end) {
  const struct hr__node_pools *pools = maker->pools;
  const struct hr__node_interest *interest = maker->interest;
  const struct node_in_pool *nodes = pools->nodes;
  struct hr__node_pool *pool = &pools->list[nodes[first].pool];
  struct group_sizes racks = {0, 0}, zones = {0, 0};
  uint32_t size = 1, n_racks = 1, i = first + 1;
  for (; i < pools->n_nodes && nodes[i].pool == nodes[first].pool; i++) {
    if (strcmp(nodes[i].group, nodes[i - 1].group) == 0) {
      size++;
      continue;
    }
    add_size(&racks, size);
    size = 1;
    if (same_wider(&nodes[i], &nodes[i - 1])) {
      n_racks++;
    } else {
      add_size(&zones, n_racks);
      n_racks = 1;
    }
  }
  add_size(&racks, size);
  add_size(&zones, n_racks);
  *end = i;
  pool->nodes_per_rack = racks.max;
  if (interest->n_levels > 1) pool->racks_per_zone = zones.max;
  enum hr_status status = note_sizes(maker, pool, interest->levels[interest->n_levels - 1], racks);
  if (status != HR_OK || interest->n_levels < 2) return status;
  return note_sizes(maker, pool, interest->levels[interest->n_levels - 2], zones);
}

/* Sorts the nodes by pool and group, and sets the sizes of racks and zones of each pool. */
static enum hr_status read_topology(const struct pools_maker *maker) {
  struct hr__node_pools *pools = maker->pools;
  if (maker->interest->n_levels == 0 || pools->n_nodes == 0) return HR_OK;
  for (uint32_t i = 0; i < pools->n_nodes; i++) {
    pools->nodes[i].group = group_text(maker->interest, pools->nodes[i].root);
    if (!pools->nodes[i].group) return hr__objects_no_memory(maker->objects);
  }
  qsort(pools->nodes, pools->n_nodes, sizeof *pools->nodes, by_group);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < pools->n_nodes && status == HR_OK;) status = read_groups(maker, i, &i);
  return status;
}

/* ---- All pools -------------------------------------------------------------------------------------- */

static enum hr_status note_taints(const struct pools_maker *maker) {
  const struct hr__yaml *taint = maker->taint, *tolerated = maker->tolerated;
  enum hr_status status = HR_OK;
  if (taint) {
    const char *value = hr__yaml_text(taint, "value");
    status = hr__objects_note(
        maker->objects,
        "warning: %.200s:%" PRIu32 ": %" PRIu32 " node%s left out because of taints such as "
        "%.80s%s%.60s:%.40s: jobs of a trace have no tolerations; without the taint in the file, all "
        "jobs may use the nodes",
        taint->path, taint->line, maker->n_tainted, maker->n_tainted == 1 ? " is" : "s are",
        hr__yaml_text(taint, "key"), value && value[0] ? "=" : "", value ? value : "", hr__yaml_text(taint, "effect"));
  }
  if (status == HR_OK && tolerated)
    status = hr__objects_note(maker->objects,
                              "%.200s:%" PRIu32 ": jobs with GPUs are assumed to tolerate the taint %.80s, as with the "
                              "admission plug-in ExtendedResourceToleration",
                              tolerated->path, tolerated->line, hr__yaml_text(tolerated, "key"));
  return status;
}

static enum hr_status note_left_out(const struct pools_maker *maker) {
  enum hr_status status = HR_OK;
  if (maker->n_no_gpus)
    status = hr__objects_note(maker->objects,
                              "%.200s:%" PRIu32 ": %" PRIu32
                              " node%s without GPUs %s left out: jobs without GPUs fit anywhere",
                              maker->no_gpus->path, maker->no_gpus->line, maker->n_no_gpus,
                              maker->n_no_gpus == 1 ? "" : "s", maker->n_no_gpus == 1 ? "is" : "are");
  if (status == HR_OK && maker->n_not_ready)
    status = hr__objects_note(
        maker->objects, "%.200s:%" PRIu32 ": %" PRIu32 " node%s left out: not ready, or not schedulable",
        maker->not_ready->path, maker->not_ready->line, maker->n_not_ready, maker->n_not_ready == 1 ? " is" : "s are");
  return status == HR_OK ? note_taints(maker) : status;
}

static enum hr_status open_catalog(struct hr__node_pools *pools, struct hr_error *error) {
  return pools->catalog ? HR_OK : hr_catalog_load(NULL, &pools->catalog, error);
}

enum hr_status hr__node_pools_make(struct hr__node_pools *pools, const struct hr__objects *objects,
                                   const struct hr__node_interest *interest) {
  struct pools_maker maker = {.pools = pools, .objects = objects, .interest = interest};
  enum hr_status status = open_catalog(pools, objects->error);
  const struct hr__object *node = NULL, *first = NULL;
  while (status == HR_OK && (node = hr__objects_next(objects, &hr__kind_node, node))) {
    if (!first) first = node;
    const struct hr__yaml *taint = interest->respects_taints ? taint_of(&maker, node->root) : NULL;
    if (!is_ready(node->root)) {
      if (!maker.n_not_ready++) maker.not_ready = node->root;
    } else if (taint) {
      if (!maker.n_tainted++) maker.taint = taint;
    } else {
      status = add_node(&maker, node);
    }
  }
  if (status == HR_OK) status = read_topology(&maker);
  if (status == HR_OK) status = note_left_out(&maker);
  if (status == HR_OK && first && pools->count == 0)
    return hr__object_fail(objects, first, first->root,
                           "no ready node has GPUs; expected status.allocatable with "
                           "nvidia.com/gpu or nvidia.com/mig-PROFILE");
  return status;
}

enum hr_status hr__node_pools_assume(struct hr__node_pools *pools, const struct hr__objects *objects, const char *name,
                                     const char *gpu, int64_t gpus) {
  enum { USUAL_GPUS = 8 };
  bool several;
  char product[100], profile[40];
  enum hr_status status = open_catalog(pools, objects->error);
  if (status != HR_OK) return status;
  split_product(gpu, product, profile);
  const struct hr_gpu_type *type = hr__gpu_of_name(pools->catalog, product, &several);
  struct hr__node_pool pool = {.gpu = type ? type->name : gpu, .n_gpus = USUAL_GPUS};
  while (pool.n_gpus > 1 && gpus % pool.n_gpus) pool.n_gpus /= 2;
  pool.n_nodes = (uint32_t)(gpus / pool.n_gpus < 1000000 ? gpus / pool.n_gpus : 1000000);
  name_pool(pools, &pool, name);
  return add_pool(pools, &pool) ? HR_OK : hr__objects_no_memory(objects);
}

bool hr__node_pool_has_labels(const struct hr__node_pool *pool, const struct hr__yaml *labels) {
  if (!labels || labels->count == 0) return true;
  if (!pool->first) return false;
  const struct hr__yaml *own = labels_of(pool->first);
  for (const struct hr__yaml *label = labels->first; label; label = label->next) {
    const struct hr__yaml *value = hr__yaml_child(own, label->key);
    if (!value || strcmp(value->text, label->text) != 0) return false;
  }
  return true;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

/* Writes the MIG layouts of a pool: one layout if all GPUs have the same, otherwise a list by GPU. */
static void write_layouts(struct hr__import *import, const struct hr__node_pool *pool, cJSON *object) {
  char layouts[sizeof pool->layouts], *rest = NULL;
  cJSON *mig = hr__put_object(import, object, "mig"), *list = hr__put_list(import, mig, "layout_of_gpus");
  bool equal = true;
  snprintf(layouts, sizeof layouts, "%s", pool->layouts);
  const char *first = strtok_r(layouts, ";", &rest);
  for (const char *layout = first; layout; layout = strtok_r(NULL, ";", &rest)) {
    equal = equal && strcmp(layout, first) == 0;
    hr__put_text(import, list, NULL, layout);
  }
  if (!equal) return;
  cJSON_DeleteItemFromObjectCaseSensitive(mig, "layout_of_gpus");
  hr__put_text(import, mig, "layout", first);
}

static void write_pool(struct hr__import *import, const struct hr__node_pool *pool, cJSON *list) {
  cJSON *object = hr__put_named(import, list, pool->name);
  hr__put_text(import, object, "gpu", pool->gpu);
  hr__put_number(import, object, "nodes", pool->n_nodes);
  hr__put_number(import, object, "gpus_per_node", pool->n_gpus);
  if (pool->cpu_milli) hr__put_number(import, object, "cpu_per_node", (double)pool->cpu_milli / 1000);
  if (pool->mem_mib) hr__put_number(import, object, "mem_gb_per_node", (double)pool->mem_mib / 1024);
  if (pool->layouts[0]) {
    hr__put_text(import, object, "sharing", "mig");
    write_layouts(import, pool, object);
  } else if (pool->replicas) {
    hr__put_text(import, object, "sharing", pool->mps ? "mps" : "time-slice");
    hr__put_number(import, object, "replicas", pool->replicas);
  }
  if (!pool->nodes_per_rack) return;
  cJSON *topology = hr__put_object(import, object, "topology");
  hr__put_number(import, topology, "nodes_per_rack", pool->nodes_per_rack);
  if (pool->racks_per_zone) hr__put_number(import, topology, "racks_per_zone", pool->racks_per_zone);
}

void hr__node_pools_finish(struct hr__node_pools *pools) {
  hr_catalog_destroy(pools->catalog);
  free(pools->list);
  for (uint32_t i = 0; i < pools->n_nodes; i++) free(pools->nodes[i].group);
  free(pools->nodes);
  *pools = (struct hr__node_pools){0};
}

enum hr_status hr__import_write(struct hr__import *import, cJSON *root, const char *system, cJSON *section,
                                enum hr_status status) {
  const struct hr__node_pools *pools = &import->pools;
  cJSON *list = status == HR_OK ? hr__put_list(import, hr__put_object(import, root, "cluster"), "pools") : NULL;
  for (uint32_t i = 0; i < pools->count && status == HR_OK; i++) write_pool(import, &pools->list[i], list);
  hr__put_text(import, hr__put_object(import, root, "policy"), "name", system);
  hr__put(import, root, system, section);
  if (status != HR_OK) return status;
  return import->failed ? hr__objects_no_memory(&import->objects) : HR_OK;
}

enum hr_status hr__import_manifests(const struct hr__manifests *manifests, const char *const *files, size_t n_files,
                                    cJSON *root, struct hr_notes *notes, struct hr_error *error) {
  struct hr__import import = {.objects = {.kinds = manifests->kinds,
                                          .n_kinds = manifests->n_kinds,
                                          .nodes = &hr__kind_node,
                                          .bare = manifests->bare,
                                          .notes = notes,
                                          .error = error},
                              .file = files[0]};
  enum hr_status status = hr__objects_read(&import.objects, files, n_files);
  if (status == HR_OK && manifests->config_keys)
    status = hr__objects_read_maps(&import.objects, manifests->config_keys);
  if (status == HR_OK) status = manifests->write(&import, root);
  hr__node_pools_finish(&import.pools);
  hr__objects_finish(&import.objects);
  return status;
}
