/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology constraints.
 *
 * The domains of a topology form a tree. For each pod set or group with a constraint, the free resources of the domains
 * below the lowest common domain of the allowed nodes are summed, and the children of each domain are sorted: the
 * domain that the request fills most comes first. Then the domains of the allowed levels in which everything seems to
 * fit are tried, inner levels first. Domains outside the common domain have no free resources in this computation.
 *
 * Source: KAI-Scheduler, plugins/topology.
 */

#include "policies/kai/solver.h"

#include "policies/kai/node_usage.h"

static const double missing_ratio = 1000;

/* ---- Trees ---- */

static void *alloc(struct hr__kai_session *session, size_t n, size_t bytes) {
  void *memory = hr_arena_alloc(session->arena, (n ? n : 1) * bytes);
  if (!memory) session->no_memory = true;
  return memory;
}

static void add_child(struct hr__kai_domain *parent, uint32_t child) {
  for (uint32_t i = 0; i < parent->n_children; i++)
    if (parent->children[i] == child) return;
  parent->children[parent->n_children++] = child;
}

/* Allocates the lists of a tree: each domain lists its nodes and has room for that many children. */
static bool allocate_lists(struct hr__kai_session *session, struct hr__kai_tree *tree,
                           const struct hr__kai_topology *topology) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t i = 0; i < (topology->n_levels + 1) * cluster->n_nodes; i++)
    if (topology->domain_of[i] != HR__KAI_NONE) tree->domains[topology->domain_of[i]].n_nodes++;
  for (uint32_t d = 0; d < tree->n_domains; d++) {
    struct hr__kai_domain *domain = &tree->domains[d];
    domain->id_rank = topology->id_ranks[d];
    domain->children = alloc(session, domain->n_nodes, sizeof *domain->children);
    domain->nodes = alloc(session, domain->n_nodes, sizeof *domain->nodes);
    domain->free = alloc(session, cluster->n_dims, sizeof *domain->free);
    domain->n_nodes = 0;
  }
  return !session->no_memory;
}

static bool build_tree(struct hr__kai_session *session, struct hr__kai_tree *tree,
                       const struct hr__kai_topology *topology) {
  const uint32_t n_nodes = session->cluster->n_nodes;
  tree->n_domains = topology->n_domains;
  tree->domains = alloc(session, tree->n_domains, sizeof *tree->domains);
  tree->order = alloc(session, tree->n_domains, sizeof *tree->order);
  if (session->no_memory || !allocate_lists(session, tree, topology)) return false;
  for (uint32_t n = 0; n < n_nodes; n++)
    for (uint32_t level = 0; level <= topology->n_levels; level++) {
      const uint32_t d = topology->domain_of[level * n_nodes + n];
      if (d == HR__KAI_NONE) break;
      struct hr__kai_domain *domain = &tree->domains[d];
      domain->level = level;
      ((uint32_t *)domain->nodes)[domain->n_nodes++] = n;
      if (level > 0) add_child(&tree->domains[topology->domain_of[(level - 1) * n_nodes + n]], d);
    }
  return true;
}

bool hr__kai_topologies_create(struct hr__kai_topologies *topologies, struct hr__kai_session *session,
                               uint32_t max_sets, uint32_t max_groups) {
  const struct hr__kai_cluster *cluster = session->cluster;
  *topologies = (struct hr__kai_topologies){.session = session};
  if (cluster->n_topologies == 0) return true;
  struct hr__kai_topology_scores *scores = &topologies->scores;
  scores->of_sets = alloc(session, (size_t)max_sets * cluster->n_nodes, sizeof *scores->of_sets);
  scores->of_groups = alloc(session, (size_t)max_groups * cluster->n_nodes, sizeof *scores->of_groups);
  scores->has_sets = alloc(session, max_sets, sizeof *scores->has_sets);
  scores->has_groups = alloc(session, max_groups, sizeof *scores->has_groups);
  topologies->valid = alloc(session, cluster->n_nodes, sizeof *topologies->valid);
  topologies->trees = alloc(session, cluster->n_topologies, sizeof *topologies->trees);
  for (uint32_t t = 0; !session->no_memory && t < cluster->n_topologies; t++)
    build_tree(session, &topologies->trees[t], &cluster->topologies[t]);
  return !session->no_memory;
}

uint32_t hr__kai_domains_of_level(const struct hr__kai_tree *tree, uint32_t domain, uint32_t level, uint32_t *found) {
  const struct hr__kai_domain *described = &tree->domains[domain];
  if (described->level == level) {
    found[0] = domain;
    return 1;
  }
  uint32_t n = 0;
  for (uint32_t i = 0; i < described->n_children; i++)
    n += hr__kai_domains_of_level(tree, described->children[i], level, found + n);
  return n;
}

uint32_t hr__kai_common_domain(const struct hr__kai_topology *topology, uint32_t n_nodes, const uint8_t *allowed,
                               int32_t lowest, uint32_t *level, uint8_t *valid) {
  for (uint32_t n = 0; n < n_nodes; n++)
    valid[n] = allowed[n] && topology->domain_of[topology->n_levels * n_nodes + n] != HR__KAI_NONE;
  uint32_t common = 0;
  *level = 0;
  for (uint32_t l = 1; l <= topology->n_levels; l++) {
    uint32_t domain = HR__KAI_NONE;
    for (uint32_t n = 0; n < n_nodes; n++) {
      if (!valid[n]) continue;
      const uint32_t own = topology->domain_of[l * n_nodes + n];
      if (domain != HR__KAI_NONE && own != domain) return common;
      domain = own;
    }
    if (domain == HR__KAI_NONE) return common;
    common = domain;
    *level = l;
    if (lowest == (int32_t)l) return common;
  }
  return common;
}

/* ---- Scores ---- */

/* Scores the nodes below the domain by the order of the domains of the preferred level. */
static void set_scores(struct hr__kai_topologies *topologies, const struct hr__kai_subject *subject,
                       const struct hr__kai_tree *tree, uint32_t domain) {
  const struct hr__kai_cluster *cluster = topologies->session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[subject->job];
  const bool of_set = subject->set != HR__KAI_NONE;
  const uint32_t at = of_set ? subject->set - job->first_set : subject->group - job->first_group;
  double *scores = (of_set ? topologies->scores.of_sets : topologies->scores.of_groups) + at * cluster->n_nodes;
  *(of_set ? &topologies->scores.has_sets[at] : &topologies->scores.has_groups[at]) = true;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) scores[n] = -1;
  const uint32_t n = hr__kai_domains_of_level(tree, domain, (uint32_t)subject->constraint->preferred, tree->order);
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__kai_domain *found = &tree->domains[tree->order[i]];
    for (uint32_t j = 0; j < found->n_nodes; j++) scores[found->nodes[j]] = hr__kai_score_of_domain(i, n);
  }
}

double hr__kai_topology_score(const struct hr__kai_topologies *topologies, uint32_t set, uint32_t node) {
  const struct hr__kai_cluster *cluster = topologies->session->cluster;
  if (cluster->n_topologies == 0) return 0;
  const struct hr__kai_topology_scores *scores = &topologies->scores;
  const struct hr__kai_job *job = &cluster->jobs[cluster->sets[set].job];
  const uint32_t own = set - job->first_set;
  if (scores->has_sets[own]) return scores->of_sets[own * cluster->n_nodes + node];
  for (uint32_t g = cluster->sets[set].group; g != HR__KAI_NONE; g = cluster->groups[g].parent) {
    const uint32_t at = g - job->first_group;
    if (scores->has_groups[at]) return scores->of_groups[at * cluster->n_nodes + node];
  }
  return 0;
}

/* ---- Free resources ---- */

static void sum_free(const struct hr__kai_session *session, struct hr__kai_tree *tree, uint32_t domain) {
  struct hr__kai_domain *described = &tree->domains[domain];
  const uint32_t n_dims = session->cluster->n_dims;
  for (uint32_t i = 0; i < described->n_children; i++) {
    sum_free(session, tree, described->children[i]);
    for (uint32_t d = 0; d < n_dims; d++) described->free[d] += tree->domains[described->children[i]].free[d];
  }
  if (described->n_children > 0) return;
  for (uint32_t i = 0; i < described->n_nodes; i++)
    for (uint32_t d = 0; d < n_dims; d++) {
      const size_t cell = (size_t)described->nodes[i] * n_dims + d;
      described->free[d] += session->idle[cell] + session->releasing[cell];
    }
}

/* The largest request of any pod. */
struct largest {
  int64_t cpu, mem;
  double portion;
  int64_t n_devices;
  bool instances;
  uint32_t n_pods;
};

/* Whether all pods request GPUs, or none does. */
static bool are_alike(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < subject->n_pods; i++) n += cluster->pods[subject->pods[i]].gpus > 0;
  return n == 0 || n == subject->n_pods;
}

/* Returns false if pods request different parts of a GPU. */
static bool find_largest(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject,
                         struct largest *largest) {
  *largest = (struct largest){.n_pods = subject->n_pods};
  int64_t gpus = 0;
  for (uint32_t i = 0; i < subject->n_pods; i++) {
    const struct hr__kai_pod *pod = &cluster->pods[subject->pods[i]];
    if (pod->request[HR__KAI_DIM_CPU] > largest->cpu) largest->cpu = pod->request[HR__KAI_DIM_CPU];
    if (pod->request[HR__KAI_DIM_MEM] > largest->mem) largest->mem = pod->request[HR__KAI_DIM_MEM];
    largest->instances = largest->instances || pod->kind == HR__KAI_INSTANCE;
    const double portion = pod->kind == HR__KAI_WHOLE && pod->gpus > 0 ? 1 : pod->portion;
    if (largest->portion > 0 && portion > 0 && (portion < largest->portion || portion > largest->portion)) return false;
    if (pod->gpus <= gpus) continue;
    gpus = pod->gpus;
    largest->portion = portion;
    largest->n_devices = pod->kind == HR__KAI_WHOLE ? pod->request[HR__KAI_DIM_GPUS] : pod->n_devices;
  }
  return true;
}

/* How many pods with the largest request fit on a node. */
static int64_t pods_on(const struct hr__kai_session *session, const struct largest *largest, uint32_t node) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const int64_t *idle = session->idle + node * cluster->n_dims, *freed = session->releasing + node * cluster->n_dims;
  if (largest->cpu == 0 && largest->mem == 0 && largest->n_devices == 0 && !largest->instances) return largest->n_pods;
  const int64_t request[] = {largest->cpu, largest->mem, 1};
  int64_t n = INT64_MAX;
  for (uint32_t d = 0; d < 3; d++) {
    const int64_t free = idle[d] + freed[d];
    if (free < request[d]) return 0;
    if (request[d] > 0 && free / request[d] < n) n = free / request[d];
  }
  const int64_t mib = (int64_t)(largest->portion * (double)cluster->nodes[node].gpu_mib);
  const int64_t gpus = idle[HR__KAI_DIM_GPUS] + freed[HR__KAI_DIM_GPUS] + hr__kai_count_fitting(session, mib, node);
  if (gpus < 0) return 0;
  return largest->n_devices > 0 && gpus / largest->n_devices < n ? gpus / largest->n_devices : n;
}

static int64_t count_fits(const struct hr__kai_session *session, struct hr__kai_tree *tree, uint32_t domain,
                          const struct largest *largest) {
  struct hr__kai_domain *described = &tree->domains[domain];
  described->n_fits = 0;
  for (uint32_t i = 0; i < described->n_children; i++)
    described->n_fits += count_fits(session, tree, described->children[i], largest);
  if (described->n_children > 0) return described->n_fits;
  for (uint32_t i = 0; i < described->n_nodes; i++) described->n_fits += pods_on(session, largest, described->nodes[i]);
  return described->n_fits;
}

/* ---- Ratios ---- */

static int64_t thousands_up(int64_t amount) {
  return amount > 0 ? (amount + 999) / 1000 : amount / 1000;
}

/* The sum of the requests, in the units of the ratios: cores, bytes, pods, GPUs in millionths, MIG instances. */
static int64_t request_in(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject, uint32_t dim) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < subject->n_pods; i++) {
    const struct hr__kai_pod *pod = &cluster->pods[subject->pods[i]];
    sum += dim == HR__KAI_DIM_GPUS ? pod->gpus : pod->request[dim];
  }
  return dim == HR__KAI_DIM_CPU || dim >= HR__KAI_DIM_MIG ? thousands_up(sum) : sum;
}

/* The largest ratio of a requested resource to the free amount in the domain. */
static double ratio_of(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject,
                       const struct hr__kai_domain *domain) {
  double largest = 0;
  for (uint32_t d = 0; d < cluster->n_dims; d++) {
    const int64_t request = request_in(cluster, subject, d);
    if (d == HR__KAI_DIM_PODS || request == 0) continue;
    double ratio;
    if (d == HR__KAI_DIM_GPUS) {
      ratio = (double)request / HR__KAI_GPU_UNIT / (double)domain->free[d];
    } else {
      const int64_t free = d == HR__KAI_DIM_MEM ? domain->free[d] : thousands_up(domain->free[d]);
      ratio = free == 0 ? missing_ratio : (double)request / (double)free;
    }
    if (ratio > largest) largest = ratio;
  }
  return largest;
}

/* Sorts the children of the domains down to a level: those that the request fills most come first. */
static void sort_tree(const struct hr__kai_cluster *cluster, struct hr__kai_tree *tree, uint32_t domain,
                      const struct hr__kai_subject *subject, int32_t lowest) {
  struct hr__kai_domain *described = &tree->domains[domain];
  for (uint32_t i = 0; i < described->n_children; i++) {
    struct hr__kai_domain *child = &tree->domains[described->children[i]];
    child->ratio = ratio_of(cluster, subject, child);
    const uint32_t id = described->children[i];
    uint32_t at = i;
    for (; at > 0; at--) {
      const struct hr__kai_domain *other = &tree->domains[described->children[at - 1]];
      if (other->ratio > child->ratio || (other->ratio == child->ratio && other->id_rank < child->id_rank)) break;
      described->children[at] = described->children[at - 1];
    }
    described->children[at] = id;
  }
  if ((int32_t)described->level == lowest) return;
  for (uint32_t i = 0; i < described->n_children; i++)
    sort_tree(cluster, tree, described->children[i], subject, lowest);
}

/* ---- Domains ---- */

const char *hr__kai_levels_tried(const struct hr__kai_constraint *constraint, uint32_t n_levels, int32_t *from,
                                 int32_t *to) {
  const int32_t required = constraint->required, preferred = constraint->preferred, n = (int32_t)n_levels;
  if (required == 0 && preferred == 0) return "none";
  if (required < 0 || required > n) return "required";
  if (preferred < 0 || preferred > n || (preferred > 0 && preferred < required)) return "preferred";
  *from = preferred > required ? preferred : required;
  *to = required;
  return NULL;
}

/* Whether pods of the subject that have a place are in the domain; with `anywhere`, whether there are such pods. */
static bool has_active(const struct hr__kai_session *session, const struct hr__kai_subject *subject,
                       const struct hr__kai_topology *topology, uint32_t domain, bool anywhere) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[subject->job];
  if (subject->job == session->part_job) return false;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
    if (!hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE)) continue;
    uint32_t group = cluster->sets[cluster->pods[p].pod_set].group;
    while (subject->set == HR__KAI_NONE && group != subject->group && group != HR__KAI_NONE)
      group = cluster->groups[group].parent;
    if (subject->set == HR__KAI_NONE ? group != subject->group : cluster->pods[p].pod_set != subject->set) continue;
    if (anywhere) return true;
    const size_t required = (size_t)subject->constraint->required * cluster->n_nodes;
    if (session->pods[p].node >= 0 && topology->domain_of[required + (size_t)session->pods[p].node] == domain)
      return true;
  }
  return false;
}

static bool seems_to_fit(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject,
                         const struct hr__kai_domain *domain) {
  if (domain->n_fits >= 0) return domain->n_fits >= subject->n_pods;
  return ratio_of(cluster, subject, domain) <= 1;
}

/* Keeps those of the domains in `tree->order` that seem to fit and, if pods of the subject already have a place, are in
   the same domain of the required level. */
static uint32_t filter(const struct hr__kai_session *session, const struct hr__kai_subject *subject,
                       const struct hr__kai_tree *tree, const struct hr__kai_topology *topology, uint32_t first,
                       uint32_t n, bool bound) {
  const struct hr__kai_cluster *cluster = session->cluster;
  uint32_t kept = first;
  for (uint32_t i = first; i < first + n; i++) {
    const struct hr__kai_domain *domain = &tree->domains[tree->order[i]];
    if (!seems_to_fit(cluster, subject, domain)) continue;
    if (bound && domain->n_nodes > 0) {
      const size_t required = (size_t)subject->constraint->required * cluster->n_nodes;
      if (!has_active(session, subject, topology, topology->domain_of[required + domain->nodes[0]], false)) continue;
    }
    tree->order[kept++] = tree->order[i];
  }
  return kept;
}

/* Sums the free resources below the domain, and counts the pods that fit if all pods are equal. Returns false if the
   pods cannot be compared. */
static bool measure(const struct hr__kai_session *session, const struct hr__kai_subject *subject,
                    struct hr__kai_tree *tree, uint32_t domain) {
  for (uint32_t d = 0; d < tree->n_domains; d++) {
    tree->domains[d].n_fits = -1;
    for (uint32_t i = 0; i < session->cluster->n_dims; i++) tree->domains[d].free[i] = 0;
  }
  sum_free(session, tree, domain);
  if (!are_alike(session->cluster, subject)) return true;
  struct largest largest;
  if (!find_largest(session->cluster, subject, &largest)) return false;
  count_fits(session, tree, domain, &largest);
  return true;
}

uint32_t hr__kai_domains_for(struct hr__kai_topologies *topologies, const struct hr__kai_subject *subject,
                             const uint8_t *allowed) {
  const struct hr__kai_session *session = topologies->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_constraint *constraint = subject->constraint;
  const struct hr__kai_topology *topology = &cluster->topologies[constraint->topology];
  struct hr__kai_tree *tree = &topologies->trees[constraint->topology];
  int32_t from, to;
  uint32_t level;
  const uint32_t domain =
      hr__kai_common_domain(topology, cluster->n_nodes, allowed, constraint->preferred, &level, topologies->valid);
  if (!measure(session, subject, tree, domain) || !seems_to_fit(cluster, subject, &tree->domains[domain])) return 0;
  const int32_t lowest = constraint->preferred != 0 ? constraint->preferred : constraint->required;
  if (lowest != 0) sort_tree(cluster, tree, domain, subject, lowest);
  if (constraint->preferred > 0) set_scores(topologies, subject, tree, domain);
  if (hr__kai_levels_tried(constraint, topology->n_levels, &from, &to)) return 0;

  const bool bound = constraint->required > 0 && has_active(session, subject, topology, 0, true);
  uint32_t n = 0;
  for (int32_t l = from; l >= to; l--) {
    const uint32_t found = hr__kai_domains_of_level(tree, 0, (uint32_t)l, tree->order + n);
    n = filter(session, subject, tree, topology, n, found, bound);
  }
  return n;
}
