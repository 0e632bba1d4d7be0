/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Kueue's topology-aware scheduling with a naive implementation in random small worlds: one to three levels,
 * hosts or racks as leaves, slices of one or two layers, leaders, preferences for nodes, and three feature gates. Both
 * must find the same placement, or fail with the same number of slices that fit.
 *
 * The replacement of a failed host is compared with a placement of the lost pods in another world. In that world, the
 * other pods use their hosts, and hosts outside the domain of the replacement are excluded.
 *
 * Each placement must also satisfy the request: all pods are placed, no leaf is overcommitted, slices are complete, and
 * with a required level, all pods are in one domain of this level. Without leaders and inner slices, a request must fit
 * if and only if the capacity suffices.
 */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "naive_topology.h"
#include "policies/kueue/tas.h"

#include <string.h>

enum { WORLDS = 20000, TEXTS = 16 };

static const char *const texts[TEXTS] = {"v00", "v01", "v02", "v03", "v04", "v05", "v06", "v07",
                                         "v08", "v09", "v10", "v11", "v12", "v13", "v14", "v15"};

struct topology_lab {
  struct hr__stream draws;
  struct naive_topology world;
  struct naive_pod_set request;
  struct naive_placement expected;
  struct hr_arena arena;
  struct hr__tas_tree tree;
  struct hr__tas_snapshot snapshot;
  struct hr__tas_search search;
  uint8_t excluded[NAIVE_NODES];
  int64_t affinity[NAIVE_NODES];
  int first_node[NAIVE_NODES]; /* by leaf */
  bool by_host;
  uint32_t fitting, split; /* number of worlds with a placement, and with a placement on several leaves */
};

static int draw(struct topology_lab *lab, int below) {
  return (int)(hr__stream_next(&lab->draws) % (uint32_t)below);
}

/* ---- Worlds ---- */

static void draw_nodes(struct topology_lab *lab) {
  struct naive_topology *world = &lab->world;
  *world =
      (struct naive_topology){.n_levels = draw(lab, 10) ? 2 + draw(lab, 2) : 1, .n_nodes = 1 + draw(lab, NAIVE_NODES)};
  lab->by_host = draw(lab, 4) != 0;
  world->profile_mixed = draw(lab, 2);
  world->balanced = draw(lab, 2);
  world->affinity_preferred = draw(lab, 3) == 0;
  int spread = 1 + draw(lab, 3), most = 1 + draw(lab, 12);
  for (int i = 0; i < world->n_nodes; i++) {
    struct naive_leaf_node *node = &world->nodes[i];
    for (int level = 0; level < world->n_levels; level++) node->value[level] = draw(lab, spread);
    if (lab->by_host) node->value[world->n_levels - 1] = i;
    for (int r = 0; r < NAIVE_RESOURCES; r++) node->room[r] = draw(lab, most + 1) - (draw(lab, 10) == 0);
    node->excluded = lab->by_host && draw(lab, 8) == 0;
    if (lab->by_host && !node->excluded) node->affinity = 10 * draw(lab, 3);
  }
  if (!world->affinity_preferred)
    for (int i = 0; i < world->n_nodes; i++) world->nodes[i].affinity = 0;
}

static void draw_request(struct topology_lab *lab) {
  struct naive_pod_set *request = &lab->request;
  int levels = lab->world.n_levels;
  *request = (struct naive_pod_set){.mode = (enum naive_mode)draw(lab, 3), .level = draw(lab, levels)};
  request->pod[0] = draw(lab, 3);
  request->pod[1] = draw(lab, 2);
  request->leader[0] = draw(lab, 4);
  request->leader[1] = draw(lab, 3);
  request->has_leader = draw(lab, 3) == 0;
  if (lab->world.balanced && draw(lab, 4)) request->mode = NAIVE_PREFERRED; /* otherwise it has no effect */
  request->n_slices = draw(lab, 3);
  int64_t size = 1;
  if (request->n_slices) {
    int top = request->mode == NAIVE_UNCONSTRAINED ? 0 : request->level;
    request->slice_level[0] = top + draw(lab, levels - top);
    if (request->slice_level[0] == levels - 1) request->n_slices = 1;
    if (request->n_slices == 2) {
      request->slice_level[1] = request->slice_level[0] + 1 + draw(lab, levels - 1 - request->slice_level[0]);
      request->slice_size[1] = 1 + draw(lab, 3);
      size = request->slice_size[1];
    }
    request->slice_size[0] = size *= 1 + draw(lab, 3);
    if (request->mode == NAIVE_UNCONSTRAINED && draw(lab, 2)) request->mode = NAIVE_ONLY_SLICES;
  }
  request->count = size * (1 + draw(lab, 8));
}

/* Sets the count to the maximum that fits, so that few choices of domains are possible. */
static void fill(struct topology_lab *lab) {
  int64_t size = lab->request.n_slices ? lab->request.slice_size[0] : 1, most = size;
  for (lab->request.count = size; lab->request.count <= 24 * size; lab->request.count += size) {
    naive_topology_place(&lab->world, &lab->request, &lab->expected);
    if (lab->expected.fits) most = lab->request.count;
  }
  lab->request.count = most;
}

/* ---- Headroom's world ---- */

static void build(struct topology_lab *lab) {
  const struct naive_topology *world = &lab->world;
  const char *values[NAIVE_NODES * NAIVE_LEVELS];
  for (int i = 0; i < world->n_nodes; i++)
    for (int level = 0; level < world->n_levels; level++)
      values[i * world->n_levels + level] = texts[world->nodes[i].value[level]];
  if (!hr__tas_tree_build(&lab->tree, &lab->arena, values, (uint32_t)world->n_nodes, (uint32_t)world->n_levels,
                          lab->by_host) ||
      !hr__tas_snapshot_init(&lab->snapshot, &lab->arena, &lab->tree, NAIVE_RESOURCES, NAIVE_PODS))
    abort();
  for (int i = world->n_nodes; i-- > 0;) {
    uint32_t leaf = lab->tree.node_leaf[i];
    lab->first_node[leaf] = i;
    lab->excluded[leaf] = world->nodes[i].excluded ? HR__TAS_SELECTOR : HR__TAS_ELIGIBLE;
    lab->affinity[leaf] = world->nodes[i].affinity;
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) { /* placed pods use a part of the capacity */
      int64_t used = draw(lab, 3);
      lab->snapshot.free[leaf * NAIVE_RESOURCES + r] += world->nodes[i].room[r] + used;
      lab->snapshot.usage[leaf * NAIVE_RESOURCES + r] += used;
    }
  }
}

static struct hr__tas_request translate(const struct topology_lab *lab, const struct naive_pod_set *from) {
  struct hr__tas_request request = {.pod = from->pod,
                                    .count = from->count,
                                    .required = HR_NONE,
                                    .preferred = HR_NONE,
                                    .unconstrained = from->mode == NAIVE_UNCONSTRAINED,
                                    .group = HR_NONE,
                                    .excluded = lab->excluded,
                                    .affinity = lab->affinity};
  if (from->mode == NAIVE_REQUIRED) request.required = (uint32_t)from->level;
  if (from->mode == NAIVE_PREFERRED) request.preferred = (uint32_t)from->level;
  for (int i = 0; i < from->n_slices; i++)
    request.slices[request.n_slices++] = (struct hr__tas_slice){(uint32_t)from->slice_level[i], from->slice_size[i]};
  return request;
}

/* Places the request; with a leader, as two pod sets of a group in random order. Returns the result of the workers. */
static struct hr__tas_result place(struct topology_lab *lab, struct hr__tas_result *leader) {
  struct hr__tas_request requests[2] = {translate(lab, &lab->request), translate(lab, &lab->request)};
  struct hr__tas_result results[2];
  uint32_t count = lab->request.has_leader ? 2 : 1;
  /* If both pod sets have equal size, the second one is the leader. */
  uint32_t workers = count == 2 && lab->request.count > 1 ? (uint32_t)draw(lab, 2) : 0;
  requests[1 - workers].pod = lab->request.leader;
  requests[1 - workers].count = 1;
  if (count == 2) requests[0].group = requests[1].group = 7;
  lab->search.gates = (struct hr__tas_gates){.profile_mixed = lab->world.profile_mixed,
                                             .balanced = lab->world.balanced,
                                             .affinity_preferred = lab->world.affinity_preferred};
  if (!hr__tas_place(&lab->search, &lab->snapshot, requests, count, false, NULL, results)) abort();
  *leader = results[1 - workers];
  return results[workers];
}

/* ---- Checks ---- */

static bool is_same(const struct topology_lab *lab, const struct hr__tas_result *result,
                    const struct hr__tas_result *leader) {
  const struct naive_placement *expected = &lab->expected;
  if (expected->fits != (result->failure.kind == HR__TAS_FITS)) return false;
  if (!expected->fits) return expected->enough_for == result->failure.fits;
  struct naive_placement found = {.fits = true};
  for (uint32_t i = 0; i < result->count; i++)
    found.pods[lab->first_node[lab->search.parts[result->first + i].leaf]] = lab->search.parts[result->first + i].count;
  for (uint32_t i = 0; lab->request.has_leader && i < leader->count; i++)
    found.leaders[lab->first_node[lab->search.parts[leader->first + i].leaf]] =
        (int)lab->search.parts[leader->first + i].count;
  return !memcmp(found.pods, expected->pods, sizeof found.pods) &&
         !memcmp(found.leaders, expected->leaders, sizeof found.leaders);
}

/* Returns the pods of the result in a domain. */
static int64_t pods_in(const struct topology_lab *lab, const struct hr__tas_result *result, uint32_t domain) {
  int64_t pods = 0;
  for (uint32_t i = 0; i < result->count; i++) {
    const struct hr__tas_part *part = &lab->search.parts[result->first + i];
    uint32_t leaf = hr__tas_leaf_domain(&lab->tree, part->leaf);
    if (hr__tas_ancestor(&lab->tree, leaf, lab->tree.domains[domain].level) == domain) pods += part->count;
  }
  return pods;
}

static bool leaves_have_room(const struct topology_lab *lab, const struct hr__tas_result *result,
                             const struct hr__tas_result *leader) {
  const struct hr__tas_result *results[] = {result, leader};
  int64_t used[NAIVE_NODES][NAIVE_RESOURCES] = {{0}};
  for (int k = 0; k < 1 + lab->request.has_leader; k++)
    for (uint32_t i = 0; i < results[k]->count; i++) {
      const struct hr__tas_part *part = &lab->search.parts[results[k]->first + i];
      if (lab->excluded[part->leaf]) return false;
      for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
        int64_t each = (k ? lab->request.leader : lab->request.pod)[r] + (r == NAIVE_PODS);
        int64_t room = lab->snapshot.free[part->leaf * NAIVE_RESOURCES + r] -
                       lab->snapshot.usage[part->leaf * NAIVE_RESOURCES + r];
        if (each && (used[part->leaf][r] += each * part->count) > room) return false;
      }
    }
  return true;
}

/* Returns whether a placement satisfies the request. */
static bool is_valid(const struct topology_lab *lab, const struct hr__tas_result *result,
                     const struct hr__tas_result *leader) {
  const struct naive_pod_set *request = &lab->request;
  int64_t pods = 0;
  for (uint32_t root = 0; root < lab->tree.first[1]; root++) pods += pods_in(lab, result, root);
  if (pods != request->count || !leaves_have_room(lab, result, leader)) return false;
  if (request->has_leader && (leader->count != 1 || lab->search.parts[leader->first].count != 1)) return false;
  for (int i = 0; i < request->n_slices; i++)
    for (uint32_t domain = lab->tree.first[request->slice_level[i]];
         domain < lab->tree.first[request->slice_level[i] + 1]; domain++)
      if (pods_in(lab, result, domain) % request->slice_size[i]) return false;
  if (request->mode != NAIVE_REQUIRED) return true;
  for (uint32_t domain = lab->tree.first[request->level]; domain < lab->tree.first[request->level + 1]; domain++)
    if (pods_in(lab, result, domain) == request->count) return true;
  return false;
}

/* Returns the number of slices that fit into a domain, for requests without leader and inner slices. */
static int64_t slices_in(const struct topology_lab *lab, uint32_t number) {
  const struct hr__tas_domain *domain = &lab->tree.domains[number];
  const struct naive_pod_set *request = &lab->request;
  uint32_t slice_level = request->n_slices ? (uint32_t)request->slice_level[0] : lab->tree.n_levels - 1;
  int64_t pods = 0, slices = 0;
  for (uint32_t child = domain->first_child; child < domain->end_child; child++) slices += slices_in(lab, child);
  if (domain->level < slice_level) return slices;
  for (uint32_t leaf = 0; leaf < lab->tree.n_leaves; leaf++) {
    if (lab->excluded[leaf]) continue;
    if (hr__tas_ancestor(&lab->tree, hr__tas_leaf_domain(&lab->tree, leaf), domain->level) != number) continue;
    int64_t count = INT32_MAX;
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
      int64_t each = request->pod[r] + (r == NAIVE_PODS),
              room = lab->snapshot.free[leaf * NAIVE_RESOURCES + r] - lab->snapshot.usage[leaf * NAIVE_RESOURCES + r];
      if (each && room / each < count) count = room < 0 ? 0 : room / each;
    }
    pods += count;
  }
  return pods / (request->n_slices ? request->slice_size[0] : 1);
}

/* Returns whether there is enough capacity for the request. */
static bool has_room(const struct topology_lab *lab) {
  const struct naive_pod_set *request = &lab->request;
  uint32_t level = request->mode == NAIVE_REQUIRED ? (uint32_t)request->level : 0;
  int64_t wanted = request->count / (request->n_slices ? request->slice_size[0] : 1), sum = 0, most = 0;
  for (uint32_t domain = lab->tree.first[level]; domain < lab->tree.first[level + 1]; domain++) {
    int64_t slices = slices_in(lab, domain);
    sum += slices;
    if (slices > most) most = slices;
  }
  return (request->mode == NAIVE_REQUIRED ? most : sum) >= wanted;
}

static void print_world(const struct topology_lab *lab, int number) {
  const struct naive_pod_set *request = &lab->request;
  printf("world %d: levels %d, by host %d, mixed %d, balanced %d, affinity %d\n", number, lab->world.n_levels,
         lab->by_host, lab->world.profile_mixed, lab->world.balanced, lab->world.affinity_preferred);
  for (int i = 0; i < lab->world.n_nodes; i++) {
    const struct naive_leaf_node *node = &lab->world.nodes[i];
    printf("  node %d: values %d %d %d, room %d %d %d, excluded %d, affinity %d -> %d pods, %d leaders\n", i,
           node->value[0], node->value[1], node->value[2], (int)node->room[0], (int)node->room[1], (int)node->room[2],
           node->excluded, (int)node->affinity, (int)lab->expected.pods[i], lab->expected.leaders[i]);
  }
  printf("  request: mode %d, level %d, count %d, pod %d %d, leader %d: %d %d", (int)request->mode, request->level,
         (int)request->count, (int)request->pod[0], (int)request->pod[1], request->has_leader, (int)request->leader[0],
         (int)request->leader[1]);
  for (int i = 0; i < request->n_slices; i++)
    printf(", slices of %d at level %d", (int)request->slice_size[i], request->slice_level[i]);
  printf("; expected: fits %d, enough for %d\n", lab->expected.fits, (int)lab->expected.enough_for);
}

static void print_result(const struct topology_lab *lab, const struct hr__tas_result *result) {
  printf("  found: failure %d, fits %d\n", (int)result->failure.kind, (int)result->failure.fits);
  for (uint32_t i = 0; i < result->count; i++)
    printf("    node %d: %d\n", lab->first_node[lab->search.parts[result->first + i].leaf],
           (int)lab->search.parts[result->first + i].count);
}

/* Returns whether the placement can be invalid: Kueue's balanced placement does not count inner slices, and can then
   place too few pods. */
static bool can_be_invalid(const struct topology_lab *lab) {
  return lab->world.balanced && lab->request.mode == NAIVE_PREFERRED && lab->request.n_slices == 2;
}

/* Runs one world. Returns whether everything agrees. */
static bool run_world(struct topology_lab *lab, int number) {
  struct hr__tas_result leader = {0};
  hr__stream_init(&lab->draws, 1, HR__PURPOSE_SAMPLE, (uint32_t)number, 0);
  draw_nodes(lab);
  draw_request(lab);
  if (draw(lab, 4) == 0) fill(lab);
  build(lab);
  naive_topology_place(&lab->world, &lab->request, &lab->expected);
  struct hr__tas_result result = place(lab, &leader);
  bool fits = result.failure.kind == HR__TAS_FITS;
  bool is_simple = !lab->request.has_leader && lab->request.n_slices < 2;
  bool ok = is_same(lab, &result, &leader) && (!fits || can_be_invalid(lab) || is_valid(lab, &result, &leader)) &&
            (!is_simple || fits == has_room(lab));
  lab->fitting += fits;
  lab->split += fits && result.count > 1;
  if (!ok) {
    print_world(lab, number);
    print_result(lab, &result);
  }
  hr__arena_finish(&lab->arena);
  return ok;
}

static void agrees(void) {
  static struct topology_lab lab;
  int wrong = 0;
  for (int i = 0; i < WORLDS && wrong < 3; i++) wrong += !run_world(&lab, i);
  CU_ASSERT_EQUAL(wrong, 0);
  /* Checks that not all worlds are full and not all are trivial. */
  CU_ASSERT(lab.fitting > WORLDS / 4 && lab.fitting < WORLDS - WORLDS / 10);
  CU_ASSERT(lab.split > WORLDS / 20);
  hr__tas_search_finish(&lab.search);
}

/* ---- Replacement ---- */

/* Adds pods to the usage of a leaf, in Headroom's world and in the naive world. */
static void use_leaf(struct topology_lab *lab, uint32_t leaf, int64_t count) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
    int64_t amount = count * (lab->request.pod[r] + (r == NAIVE_PODS));
    lab->snapshot.usage[leaf * NAIVE_RESOURCES + r] += amount;
    lab->world.nodes[lab->first_node[leaf]].room[r] -= amount;
  }
}

static bool same_domain(const struct topology_lab *lab, uint32_t a, uint32_t b, int level) {
  const int *left = lab->world.nodes[lab->first_node[a]].value, *right = lab->world.nodes[lab->first_node[b]].value;
  for (int i = 0; i <= level; i++)
    if (left[i] != right[i]) return false;
  return true;
}

/* The level and a leaf of the domain in which lost pods are replaced. Level -1: anywhere. */
struct replacement_domain {
  int level;
  uint32_t leaf;
};

/* Finds the first domain in which the kept and the lost pods are whole slices. */
static struct replacement_domain incomplete_domain(const struct topology_lab *lab, const struct hr__tas_part *kept,
                                                   uint32_t count, int64_t lost, int layer) {
  struct replacement_domain found = {-1, HR_NONE};
  for (uint32_t i = 0; i < count; i++) {
    int64_t pods = lost;
    for (uint32_t j = 0; j < count; j++)
      if (same_domain(lab, kept[i].leaf, kept[j].leaf, lab->request.slice_level[layer])) pods += kept[j].count;
    if (pods % lab->request.slice_size[layer] == 0 && kept[i].leaf < found.leaf)
      found = (struct replacement_domain){lab->request.slice_level[layer], kept[i].leaf};
  }
  return found;
}

static struct replacement_domain domain_of_replacement(const struct topology_lab *lab, const struct hr__tas_part *kept,
                                                       uint32_t count, int64_t lost) {
  const struct naive_pod_set *request = &lab->request;
  if (!count) return (struct replacement_domain){-1, HR_NONE};
  if (request->n_slices && lost % request->slice_size[0])
    return incomplete_domain(lab, kept, count, lost, request->n_slices == 2 && lost % request->slice_size[1] ? 1 : 0);
  if (request->mode == NAIVE_REQUIRED) return (struct replacement_domain){request->level, kept[0].leaf};
  return (struct replacement_domain){-1, HR_NONE};
}

/* Changes the naive world and request to those of the replacement. */
static void narrow(struct topology_lab *lab, struct replacement_domain domain, int64_t lost) {
  struct naive_pod_set *request = &lab->request;
  for (uint32_t leaf = 0; domain.level >= 0 && leaf < lab->tree.n_leaves; leaf++)
    if (!same_domain(lab, leaf, domain.leaf, domain.level)) lab->world.nodes[lab->first_node[leaf]].excluded = true;
  if (request->n_slices && domain.level >= 0 && lost % request->slice_size[0]) {
    int kept = -1; /* the innermost layer whose size divides the lost pods */
    for (int i = 0; i < request->n_slices; i++)
      if (lost % request->slice_size[i] == 0) kept = i;
    request->n_slices = kept >= 0;
    request->slice_level[0] = request->slice_level[kept < 0 ? 0 : kept];
    request->slice_size[0] = request->slice_size[kept < 0 ? 0 : kept];
  }
  request->count = lost;
}

/* Returns whether the request has a level. A request that has only slices has no level if no slices remain; Kueue then
   does not replace the node. */
static bool names_level(const struct topology_lab *lab) {
  return lab->request.mode != NAIVE_ONLY_SLICES || lab->request.n_slices;
}

/* Replaces one of the placed parts. Returns whether both agree. */
static bool replace_part(struct topology_lab *lab, const struct hr__tas_part *parts, uint32_t count, uint32_t failed) {
  struct hr__tas_request request = translate(lab, &lab->request);
  struct hr__tas_part kept[NAIVE_NODES];
  struct hr__tas_result result;
  uint32_t n_kept = 0;
  int64_t lost = parts[failed].count, expected[NAIVE_NODES] = {0}, found[NAIVE_NODES] = {0};
  for (uint32_t i = 0; i < count; i++) {
    use_leaf(lab, parts[i].leaf, parts[i].count);
    if (i != failed) kept[n_kept++] = parts[i];
  }
  lab->world.nodes[lab->first_node[parts[failed].leaf]].excluded = true;
  lab->excluded[parts[failed].leaf] = HR__TAS_TAINT;
  if (!hr__tas_replace(&lab->search, &lab->snapshot, &request, parts, count, failed, NULL, &result)) abort();
  narrow(lab, domain_of_replacement(lab, kept, n_kept, lost), lost);
  naive_topology_place(&lab->world, &lab->request, &lab->expected);
  int64_t placed = 0;
  for (int i = 0; i < NAIVE_NODES; i++) placed += lab->expected.pods[i];
  if (!names_level(lab) || !lab->expected.fits || !placed) return result.failure.kind != HR__TAS_FITS;
  for (uint32_t i = 0; i < n_kept; i++) expected[kept[i].leaf] += kept[i].count;
  for (uint32_t leaf = 0; leaf < lab->tree.n_leaves; leaf++)
    expected[leaf] += lab->expected.pods[lab->first_node[leaf]];
  for (uint32_t i = 0; result.failure.kind == HR__TAS_FITS && i < result.count; i++)
    found[lab->search.parts[result.first + i].leaf] += lab->search.parts[result.first + i].count;
  return !memcmp(expected, found, sizeof found);
}

/* Places the pods of one world and replaces a random part. Returns whether a replacement was compared. */
static bool replace_in_world(struct topology_lab *lab, int number, int *wrong) {
  struct hr__tas_part parts[NAIVE_NODES];
  struct hr__tas_result leader = {0};
  hr__stream_init(&lab->draws, 2, HR__PURPOSE_SAMPLE, (uint32_t)number, 0);
  do draw_nodes(lab);
  while (!lab->by_host);
  draw_request(lab);
  lab->request.has_leader = false;
  build(lab);
  struct hr__tas_result result = place(lab, &leader);
  bool compared = result.failure.kind == HR__TAS_FITS && result.count > 0;
  if (compared) {
    memcpy(parts, lab->search.parts + result.first, result.count * sizeof *parts);
    if (!replace_part(lab, parts, result.count, (uint32_t)draw(lab, (int)result.count))) {
      print_world(lab, number);
      ++*wrong;
    }
  }
  hr__arena_finish(&lab->arena);
  return compared;
}

static void replaces(void) {
  static struct topology_lab lab;
  int wrong = 0, compared = 0;
  for (int i = 0; i < WORLDS && wrong < 3; i++) compared += replace_in_world(&lab, i, &wrong);
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT(compared > WORLDS / 4);
  hr__tas_search_finish(&lab.search);
}

TEST_MAIN("Kueue's topology-aware scheduling", TEST(agrees), TEST(replaces))
