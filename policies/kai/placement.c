/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places the next pods of a job, within the domains of topologies.
 *
 * The pods are placed by recursion over the tree of groups and pod sets. For each group or pod set with a topology
 * constraint, the possible domains are tried one after another; an attempt is undone if a pod does not fit. A pod is
 * placed on the node with the highest score on which it fits; nodes of equal score are ordered by name. If the pod
 * requests parts of GPUs, the best shared GPUs of the node are chosen by score; whole GPUs, which become shared, are
 * candidates, too. The recursion uses the work arrays as stacks.
 *
 * Source: KAI-Scheduler, actions/common/allocate, gpu_sharing, and the plug-ins that score nodes and GPUs.
 */

#include "policies/kai/solver.h"

#include "policies/kai/session.h"

#include <math.h>

/* ---- Topologies ------------------------------------------------------------------------------------- */

/*
 * Topology constraints.
 *
 * The domains of a topology form a tree. For each pod set or group with a constraint, the lowest common domain of the
 * allowed nodes is found, and the free resources of the domains below it are summed. The children of each domain are
 * sorted so that the domain that the request would fill most comes first. Then the domains of the allowed levels in
 * which all pods seem to fit are tried, inner levels first. Domains outside the common domain count as having no free
 * resources.
 *
 * Source: KAI-Scheduler, plugins/topology.
 */

static const double missing_ratio = 1000;

/* ---- Topologies: trees ------------------------------------------------------------------------------ */

static void add_child(struct hr__kai_domain *parent, uint32_t child) {
  for (uint32_t i = 0; i < parent->n_children; i++)
    if (parent->children[i] == child) return;
  parent->children[parent->n_children++] = child;
}

/* Allocates the lists of a tree: each domain has a list of its nodes, and room for as many children as it has nodes.
   False: out of memory. */
static bool allocate_lists(struct hr__kai_session *session, struct hr__kai_tree *tree,
                           const struct hr__kai_topology *topology) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t i = 0; i < (topology->n_levels + 1) * cluster->n_nodes; i++)
    if (topology->domain_of[i] != HR__KAI_NONE) tree->domains[topology->domain_of[i]].n_nodes++;
  for (uint32_t d = 0; d < tree->n_domains; d++) {
    struct hr__kai_domain *domain = &tree->domains[d];
    domain->id_rank = topology->id_ranks[d];
    if (!HR__ARENA_ARRAY(session->arena, domain->children, domain->n_nodes) ||
        !HR__ARENA_ARRAY(session->arena, domain->nodes, domain->n_nodes) ||
        !HR__ARENA_ARRAY(session->arena, domain->free, cluster->n_dims))
      return false;
    domain->n_nodes = 0;
  }
  return true;
}

static bool build_tree(struct hr__kai_session *session, struct hr__kai_tree *tree,
                       const struct hr__kai_topology *topology) {
  const uint32_t n_nodes = session->cluster->n_nodes;
  tree->n_domains = topology->n_domains;
  if (!HR__ARENA_ARRAY(session->arena, tree->domains, tree->n_domains) ||
      !HR__ARENA_ARRAY(session->arena, tree->order, tree->n_domains) || !allocate_lists(session, tree, topology))
    return false;
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

/* Builds the trees. `max_sets` and `max_groups` are the largest numbers of pod sets and groups of a job. Returns
   whether memory sufficed. */
static bool topologies_create(struct hr__kai_topologies *topologies, struct hr__kai_session *session, uint32_t max_sets,
                              uint32_t max_groups) {
  const struct hr__kai_cluster *cluster = session->cluster;
  *topologies = (struct hr__kai_topologies){.session = session};
  if (cluster->n_topologies == 0) return true;
  struct hr__kai_topology_scores *scores = &topologies->scores;
  if (!HR__ARENA_ARRAY(session->arena, scores->of_sets, (size_t)max_sets * cluster->n_nodes) ||
      !HR__ARENA_ARRAY(session->arena, scores->of_groups, (size_t)max_groups * cluster->n_nodes) ||
      !HR__ARENA_ARRAY(session->arena, scores->has_sets, max_sets) ||
      !HR__ARENA_ARRAY(session->arena, scores->has_groups, max_groups) ||
      !HR__ARENA_ARRAY(session->arena, topologies->valid, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(session->arena, topologies->trees, cluster->n_topologies))
    return false;
  for (uint32_t t = 0; t < cluster->n_topologies; t++)
    if (!build_tree(session, &topologies->trees[t], &cluster->topologies[t])) return false;
  return true;
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

/* ---- Topologies: scores ----------------------------------------------------------------------------- */

/* The pods to place: those of a pod set, or of all pod sets below a group. */
struct hr__kai_subject {
  const struct hr__kai_constraint *constraint;
  uint32_t job;
  uint32_t set, group; /* one of them is HR__KAI_NONE */
  const uint32_t *pods;
  uint32_t n_pods;
};

/* Clears the scores before a job is placed. */
static void topologies_forget(struct hr__kai_topologies *topologies, uint32_t job) {
  const struct hr__kai_job *described = &topologies->session->cluster->jobs[job];
  if (topologies->session->cluster->n_topologies == 0) return;
  for (uint32_t s = 0; s < described->n_sets; s++) topologies->scores.has_sets[s] = false;
  for (uint32_t g = 0; g < described->n_groups; g++) topologies->scores.has_groups[g] = false;
}

/* Scores the nodes below the domain by the position of their domain among the domains of the preferred level. */
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

/* The topology score of a node for a pod of the pod set; negative: the node may not be used. */
static double topology_score(const struct hr__kai_topologies *topologies, uint32_t set, uint32_t node) {
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

/* ---- Topologies: free resources --------------------------------------------------------------------- */

static void sum_free(const struct hr__kai_session *session, struct hr__kai_tree *tree, uint32_t domain) {
  struct hr__kai_domain *described = &tree->domains[domain];
  const uint32_t n_dims = session->cluster->n_dims;
  for (uint32_t i = 0; i < described->n_children; i++) {
    sum_free(session, tree, described->children[i]);
    for (uint32_t d = 0; d < n_dims; d++) described->free[d] += tree->domains[described->children[i]].free[d];
  }
  if (described->n_children > 0) return;
  for (uint32_t i = 0; i < described->n_nodes; i++)
    for (uint32_t d = 0; d < n_dims; d++) described->free[d] += hr__kai_free_on(session, described->nodes[i], d);
}

/* The largest requests of the pods that are to be placed, and the number of these pods. */
struct largest {
  int64_t cpu, mem;
  double portion;
  int64_t n_devices;
  bool instances;
  uint32_t n_pods;
};

/* Whether either all pods request GPUs, or no pod does. */
static bool are_alike(const struct hr__kai_cluster *cluster, const struct hr__kai_subject *subject) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < subject->n_pods; i++) n += cluster->pods[subject->pods[i]].gpus > 0;
  return n == 0 || n == subject->n_pods;
}

/* Finds the largest requests of the pods. Returns false if pods request different parts of a GPU. */
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
  if (largest->cpu == 0 && largest->mem == 0 && largest->n_devices == 0 && !largest->instances) return largest->n_pods;
  const int64_t request[] = {largest->cpu, largest->mem, 1};
  int64_t n = INT64_MAX;
  for (uint32_t d = 0; d < 3; d++) {
    const int64_t free = hr__kai_free_on(session, node, d);
    if (free < request[d]) return 0;
    if (request[d] > 0 && free / request[d] < n) n = free / request[d];
  }
  const int64_t mib = (int64_t)(largest->portion * (double)cluster->nodes[node].gpu_mib);
  const int64_t gpus = hr__kai_free_on(session, node, HR__KAI_DIM_GPUS) + hr__kai_count_fitting(session, mib, node);
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

/* ---- Topologies: ratios ----------------------------------------------------------------------------- */

static int64_t thousands_up(int64_t amount) {
  return amount > 0 ? (amount + 999) / 1000 : amount / 1000;
}

/* The sum of the requests: cores, bytes, pods, GPUs in millionths. CPU and MIG instances are divided by 1000 and
   rounded up, as in KAI. */
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

/* Sorts the children of all domains down to the level `lowest`, so that those that the request would fill most come
   first. */
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

/* ---- Topologies: domains ---------------------------------------------------------------------------- */

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

static bool is_below(const struct hr__kai_cluster *cluster, uint32_t group, uint32_t ancestor) {
  while (group != HR__KAI_NONE && group != ancestor) group = cluster->groups[group].parent;
  return group == ancestor;
}

/* Whether a pod belongs to a pod set or, if `set` is HR__KAI_NONE, is below a group. */
static bool belongs_to(const struct hr__kai_cluster *cluster, uint32_t pod, uint32_t set, uint32_t group) {
  const uint32_t own = cluster->pods[pod].pod_set;
  return set != HR__KAI_NONE ? own == set : is_below(cluster, cluster->sets[own].group, group);
}

/* Whether the subject has active pods in the domain; with `anywhere`, whether it has active pods at all. */
static bool has_active(const struct hr__kai_session *session, const struct hr__kai_subject *subject,
                       const struct hr__kai_topology *topology, uint32_t domain, bool anywhere) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[subject->job];
  if (subject->job == session->part_job) return false;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
    if (!hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE) || !belongs_to(cluster, p, subject->set, subject->group))
      continue;
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

/* Keeps those of the `n` domains from tree->order[first] on in which the pods seem to fit. If the subject already has
   active pods (`bound`), a domain must also be in the same domain of the required level as one of these pods. Returns
   the end of the list. */
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

/* Sums the free resources below the domain. If either all pods or no pods request GPUs, also counts the pods that fit.
   Returns false if pods request different parts of a GPU. */
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

/* Finds the domains that are tried for the subject within the nodes of its parent (`allowed` [n_nodes]). Writes their
   ids to `tree->order` and returns their number; 0: no domain is possible. The constraint must have a topology that
   exists. */
static uint32_t domains_for(struct hr__kai_topologies *topologies, const struct hr__kai_subject *subject,
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

/* ---- Placements ------------------------------------------------------------------------------------- */

static const double score_shared = 1000, score_available = 100, score_cpu_only = 10, score_placement = 9;
static const int64_t smallest_gpu_mib = 100;

/* ---- Placements: creation --------------------------------------------------------------------------- */

bool hr__kai_placer_create(struct hr__kai_placer *placer, struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  uint32_t max_pods = cluster->room_pods_of_job ? cluster->room_pods_of_job : 1, max_sets = 1, max_groups = 1;
  uint32_t max_domains = 1;
  for (uint32_t j = 0; j < cluster->n_jobs; j++) {
    if (cluster->jobs[j].n_pods > max_pods) max_pods = cluster->jobs[j].n_pods;
    if (cluster->jobs[j].n_sets > max_sets) max_sets = cluster->jobs[j].n_sets;
    if (cluster->jobs[j].n_groups > max_groups) max_groups = cluster->jobs[j].n_groups;
  }
  for (uint32_t t = 0; t < cluster->n_topologies; t++)
    if (cluster->topologies[t].n_domains > max_domains) max_domains = cluster->topologies[t].n_domains;
  const size_t depth = (size_t)max_groups + 1; /* a path of groups, and a pod set */
  struct hr_arena *arena = session->arena;
  *placer = (struct hr__kai_placer){.session = session};
  return HR__ARENA_ARRAY(arena, placer->scores, cluster->n_nodes) &&
         HR__ARENA_ARRAY(arena, placer->fitting, cluster->n_nodes) && HR__ARENA_ARRAY(arena, placer->pods, max_pods) &&
         HR__ARENA_ARRAY(arena, placer->sets, max_sets) && HR__ARENA_ARRAY(arena, placer->batch, depth * max_pods) &&
         HR__ARENA_ARRAY(arena, placer->children, (size_t)max_groups + max_sets) &&
         HR__ARENA_ARRAY(arena, placer->domains, depth * max_domains) &&
         HR__ARENA_ARRAY(arena, placer->node_sets, depth * cluster->n_nodes) &&
         topologies_create(&placer->topologies, session, max_sets, max_groups);
}

/* ---- Placements: GPUs ------------------------------------------------------------------------------- */

double hr__kai_gpu_score(int64_t used_mib, int64_t gpu_mib, bool whole, bool spread) {
  if (whole) return spread ? 1 : 0;
  if (gpu_mib < smallest_gpu_mib) return -1;
  const double used = (double)used_mib / (double)gpu_mib;
  return spread ? 1 - used : used;
}

/* The score of a shared GPU (`gpu` -1: a whole GPU) from the plug-ins of the configuration; negative: unknown. */
static double score_gpu(const struct hr__kai_session *session, uint32_t node, int64_t gpu) {
  const struct hr__kai_config *config = &session->cluster->config;
  const int64_t used = gpu < 0 ? 0 : session->shared[gpu].used, mib = session->cluster->nodes[node].gpu_mib;
  double score = 0;
  for (int spread = 0; spread < 2; spread++) {
    if (!(spread ? config->gpu_spread : config->gpu_pack)) continue;
    const double part = hr__kai_gpu_score(used, mib, gpu < 0, spread);
    if (part < 0) return -1;
    score += part;
  }
  return score;
}

/* The GPUs chosen for a pod that requests parts of GPUs. */
struct gpu_choice {
  uint32_t n;        /* number of chosen GPUs, shared (in list 0 of the pod) or whole */
  bool waits, opens; /* `waits`: for resources that are released; `opens`: a GPU without a reservation is needed */
};

/* The best GPU that is not chosen yet: the id of a shared GPU, or -1 for a whole one; -2: none. `limit` is the score of
   the last choice, `after` the id of the last shared GPU that was chosen with this score; both are updated. */
static int64_t next_gpu(const struct hr__kai_session *session, uint32_t pod, uint32_t node, int64_t n_whole,
                        double *limit, int64_t *after) {
  const int64_t mib = hr__kai_mib_on(session, pod, node);
  double best = -1;
  int64_t found = -2;
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next) {
    if (!hr__kai_fits_shared(session, mib, node, gpu)) continue;
    const double score = score_gpu(session, node, gpu);
    /* The GPU is already chosen: it has a higher score, or the same score and a position that is not later. */
    if (score > *limit || (score >= *limit && gpu <= *after)) continue;
    if (score < best || (score <= best && gpu > found) || score < 0) continue;
    best = score;
    found = gpu;
  }
  const double whole = score_gpu(session, node, -1);
  if (n_whole > 0 && whole >= 0 && whole <= *limit && whole > best) {
    best = whole;
    found = -1;
  }
  if (found != -2 && (best < *limit || found > *after)) {
    *limit = best;
    if (found >= 0) *after = found;
  }
  return found;
}

/* Chooses as many GPUs as the pod requests. If `assign`, also opens new shared GPUs and writes the choice to list 0 of
   the pod. `wait_only`: see hr__kai_place_job. */
static struct gpu_choice choose_gpus(struct hr__kai_session *session, uint32_t pod, uint32_t node, bool wait_only,
                                     bool assign) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  const int64_t mib = hr__kai_mib_on(session, pod, node);
  const size_t gpus = (size_t)node * session->cluster->n_dims + HR__KAI_DIM_GPUS;
  int64_t n_whole =
      session->idle[gpus] > 0 || session->releasing[gpus] > 0 ? session->idle[gpus] + session->releasing[gpus] : 0;
  struct gpu_choice choice = {.n = 0};
  double limit = (double)INFINITY;
  const bool fits_now = hr__kai_fits_now(session, pod, node);
  for (int64_t after = -1; choice.n < described->n_devices; choice.n++) {
    int64_t gpu = next_gpu(session, pod, node, n_whole, &limit, &after);
    if (gpu == -2) break;
    if (gpu == -1) {
      n_whole--;
      choice.waits = choice.waits || wait_only || !fits_now;
      choice.opens = true;
      if (assign) gpu = hr__kai_open_gpu(session, node, false);
    } else {
      choice.waits = choice.waits || !hr__kai_idle_on_shared(session, mib, node, gpu) || !fits_now;
      choice.opens = choice.opens || !session->shared[gpu].reserved;
    }
    if (assign && gpu >= 0) hr__kai_set(session, &hr__kai_gpus_of(session, pod, 0)[choice.n], gpu);
  }
  if (assign) hr__kai_set(session, &session->pods[pod].n_gpus, choice.n);
  return choice;
}

/* ---- Placements: predicates ------------------------------------------------------------------------- */

/* The amounts of a pod on a node that are compared with the limits of queues. As in KAI, a pod with several whole GPUs
   counts as one with a single GPU. */
static struct hr__kai_amounts checked_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  struct hr__kai_amounts amounts = described->quota;
  if (described->kind == HR__KAI_INSTANCE) return amounts;
  const int64_t gpu_mib = session->cluster->nodes[node].gpu_mib;
  int64_t mib = hr__kai_mib_on(session, pod, node);
  if (described->kind == HR__KAI_WHOLE) mib = described->gpus > 0 ? gpu_mib : 0;
  amounts.of[HR__KAI_GPU] = hr__kai_hundredths(mib, gpu_mib) * (HR__KAI_GPU_UNIT / 100);
  return amounts;
}

static bool within_capacity(const struct hr__kai_session *session, uint32_t job,
                            const struct hr__kai_amounts *request) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const uint32_t queue = cluster->jobs[job].queue;
  if (!cluster->config.proportion || queue == HR__KAI_NONE) return true;
  if (!hr__kai_within_limits(cluster->queues, queue, request)) return false;
  return cluster->jobs[job].preemptible || hr__kai_within_quotas(cluster->queues, queue, request);
}

static bool has_legacy_mig(const struct hr__kai_session *session, uint32_t node) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t p = 0; p < cluster->n_pods; p++)
    if (cluster->pods[p].legacy_mig && hr__kai_entry_on(session, p, node) >= 0) return true;
  return false;
}

/* Whether the MIG strategy of the node supports the kind of request. */
static bool suits_mig(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  const enum hr__kai_mig mig = session->cluster->nodes[node].mig;
  if (described->legacy_mig) return false;
  if (!hr__kai_wants_gpus(described)) return true;
  if (mig == HR__KAI_MIG_NONE) return described->kind != HR__KAI_INSTANCE;
  if (described->kind == HR__KAI_INSTANCE && has_legacy_mig(session, node)) return false;
  if (mig == HR__KAI_MIG_SINGLE) return described->kind == HR__KAI_WHOLE;
  return mig != HR__KAI_MIG_MIXED || described->kind == HR__KAI_INSTANCE;
}

/* Whether the node has room for one more pod, and, if a GPU without a reservation is used, for another pod that
   reserves it. */
static bool has_room_for_pods(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const int64_t free = hr__kai_free_on(session, node, HR__KAI_DIM_PODS);
  if (!hr__kai_takes_parts(&session->cluster->pods[pod])) return free > 0;
  if (free >= 2) return true;
  const uint32_t n_devices = session->cluster->pods[pod].n_devices;
  struct gpu_choice choice = choose_gpus(session, pod, node, false, false);
  if (choice.n == n_devices && !choice.waits) return !choice.opens;
  choice = choose_gpus(session, pod, node, true, false);
  return choice.n == n_devices && !choice.opens;
}

static bool fits_node(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  if (!hr__kai_fits(session, pod, node, true)) return false;
  if (!session->cluster->config.predicates) return true;
  const struct hr__kai_amounts request = checked_on(session, pod, node);
  if (described->allowed_nodes && !described->allowed_nodes[node]) return false;
  return within_capacity(session, described->job, &request) && suits_mig(session, pod, node) &&
         has_room_for_pods(session, pod, node);
}

/* ---- Placements: scores of nodes -------------------------------------------------------------------- */

/* The minimum and maximum free amount of a resource over the allowed nodes that have the resource. */
struct free_range {
  uint32_t dim;
  double least, most;
};

static struct free_range range_for(const struct hr__kai_session *session, uint32_t pod, const uint8_t *allowed) {
  const struct hr__kai_cluster *cluster = session->cluster;
  struct free_range range = {hr__kai_wants_gpus(&cluster->pods[pod]) ? HR__KAI_DIM_GPUS : HR__KAI_DIM_CPU,
                             (double)INFINITY, 0};
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    if (!allowed[n] || cluster->nodes[n].allocatable[range.dim] == 0) continue;
    const double free = (double)hr__kai_free_on(session, n, range.dim);
    if (free < range.least) range.least = free;
    if (free > range.most) range.most = free;
  }
  return range;
}

static double placement_score(const struct hr__kai_session *session, uint32_t node, const struct free_range *range) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const bool gpus = range->dim == HR__KAI_DIM_GPUS;
  const enum hr__kai_placement placement = gpus ? cluster->config.gpu_placement : cluster->config.cpu_placement;
  const double free = (double)hr__kai_free_on(session, node, range->dim);
  const int64_t has = cluster->nodes[node].allocatable[range->dim];
  if (placement == HR__KAI_SPREAD) {
    const int64_t n = gpus ? cluster->nodes[node].n_gpus : has;
    return n == 0 ? 0 : free / (double)n;
  }
  if (placement == HR__KAI_NO_PLACEMENT || has == 0 || range->most <= 0) return 0;
  if (range->least >= range->most) return score_placement;
  return score_placement * (1 - (free - range->least) / (range->most - range->least));
}

/* The score of a node; negative: the node may not be used. */
static double score_node(const struct hr__kai_placer *placer, uint32_t pod, uint32_t node,
                         const struct free_range *range) {
  const struct hr__kai_session *session = placer->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_config *config = &cluster->config;
  const struct hr__kai_pod *described = &cluster->pods[pod];
  double score = 0;
  if (config->node_availability && hr__kai_fits_now(session, pod, node)) score += score_available;
  if (config->gpu_sharing_order) {
    /* A pod with whole GPUs needs all memory of each GPU. */
    const bool whole = described->kind == HR__KAI_WHOLE && described->gpus > 0;
    const int64_t mib = whole ? cluster->nodes[node].gpu_mib : hr__kai_mib_on(session, pod, node);
    if (hr__kai_count_fitting(session, mib, node) > 0) score += score_shared;
  }
  if (config->resource_type && !hr__kai_wants_gpus(described) && cluster->nodes[node].mig == HR__KAI_MIG_NONE &&
      cluster->nodes[node].allocatable[HR__KAI_DIM_GPUS] <= 0)
    score += score_cpu_only;
  score += placement_score(session, node, range);
  if (!config->topology) return score;
  const double topology = topology_score(&placer->topologies, described->pod_set, node);
  return topology < 0 ? -1 : score + topology;
}

/* ---- Placements: pods ------------------------------------------------------------------------------- */

/* Binds or pipelines a pod on a node on which it fits. Returns false if the node has too few GPUs to share.
   `wait_only`: the pod is pipelined even if it fits now. */
static bool place_on(struct hr__kai_session *session, uint32_t pod, uint32_t node, bool wait_only) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  bool waits = wait_only;
  if (hr__kai_takes_parts(described)) {
    const struct hr__kai_mark mark = hr__kai_mark(session);
    const struct gpu_choice choice = choose_gpus(session, pod, node, wait_only, true);
    if (choice.n < described->n_devices) {
      hr__kai_undo(session, mark);
      return false;
    }
    waits = waits || choice.waits;
  } else {
    waits = waits || !hr__kai_fits_now(session, pod, node);
  }
  if (waits)
    hr__kai_pipeline(session, pod, node);
  else
    hr__kai_bind(session, pod, node);
  return true;
}

/* The fitting node with the highest score; HR__KAI_NONE: none is left. */
static uint32_t best_node(const struct hr__kai_placer *placer, uint32_t n) {
  const struct hr__kai_node *nodes = placer->session->cluster->nodes;
  uint32_t best = HR__KAI_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = placer->fitting[i];
    if (placer->scores[node] < 0) continue;
    if (best == HR__KAI_NONE || placer->scores[node] > placer->scores[best] ||
        (placer->scores[node] >= placer->scores[best] && nodes[node].name_rank < nodes[best].name_rank))
      best = node;
  }
  return best;
}

static bool place_pod(struct hr__kai_placer *placer, uint32_t pod, const uint8_t *allowed, bool wait_only) {
  struct hr__kai_session *session = placer->session;
  const struct free_range range = range_for(session, pod, allowed);
  uint32_t n = 0;
  for (uint32_t node = 0; node < session->cluster->n_nodes; node++) {
    if (!allowed[node] || !fits_node(session, pod, node)) continue;
    placer->fitting[n++] = node;
    placer->scores[node] = score_node(placer, pod, node, &range);
  }
  for (uint32_t node; (node = best_node(placer, n)) != HR__KAI_NONE;) {
    if (place_on(session, pod, node, wait_only)) return true;
    placer->scores[node] = -1;
  }
  return false;
}

/* ---- Placements: groups and pod sets ---------------------------------------------------------------- */

static bool place_subject(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, const uint8_t *allowed,
                          bool wait_only);

/* Places those pods of the subject that belong to a child. If the child is a group, `set` is HR__KAI_NONE; if it is a
   pod set, `group` is HR__KAI_NONE. Returns whether they were placed. */
static bool place_child(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, uint32_t group,
                        uint32_t set, const uint8_t *allowed, bool wait_only) {
  const struct hr__kai_cluster *cluster = placer->session->cluster;
  uint32_t *pods = placer->batch + placer->n_batch;
  struct hr__kai_subject child = {.job = subject->job, .set = set, .group = group, .pods = pods};
  child.constraint = set != HR__KAI_NONE ? &cluster->sets[set].constraint : &cluster->groups[group].constraint;
  for (uint32_t i = 0; i < subject->n_pods; i++)
    if (belongs_to(cluster, subject->pods[i], set, group)) pods[child.n_pods++] = subject->pods[i];
  placer->n_batch += child.n_pods;
  const bool placed = place_subject(placer, &child, allowed, wait_only);
  placer->n_batch -= child.n_pods;
  return placed;
}

/* Places the child groups by name, then the child pod sets by their order. Returns whether all were placed. */
static bool place_children(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, const uint8_t *allowed,
                           bool wait_only) {
  const struct hr__kai_cluster *cluster = placer->session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[subject->job];
  uint32_t *children = placer->children + placer->n_children, n = 0;
  for (uint32_t g = job->first_group; g < job->first_group + job->n_groups; g++) {
    if (cluster->groups[g].parent != subject->group) continue;
    uint32_t at = n++;
    for (; at > 0 && cluster->groups[children[at - 1]].name_rank > cluster->groups[g].name_rank; at--)
      children[at] = children[at - 1];
    children[at] = g;
  }
  const uint32_t n_groups = n;
  for (uint32_t s = job->first_set; s < job->first_set + job->n_sets; s++)
    if (cluster->sets[s].group == subject->group) children[n++] = s;
  placer->n_children += n;
  bool placed = true;
  for (uint32_t i = 0; i < n && placed; i++) {
    if (i == n_groups) hr__kai_sort_sets(placer->session, children + n_groups, n - n_groups);
    placed = i < n_groups ? place_child(placer, subject, children[i], HR__KAI_NONE, allowed, wait_only)
                          : place_child(placer, subject, HR__KAI_NONE, children[i], allowed, wait_only);
  }
  placer->n_children -= n;
  return placed;
}

static bool place_on_nodes(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, const uint8_t *allowed,
                           bool wait_only) {
  if (subject->set == HR__KAI_NONE) return place_children(placer, subject, allowed, wait_only);
  for (uint32_t i = 0; i < subject->n_pods; i++)
    if (!place_pod(placer, subject->pods[i], allowed, wait_only)) return false;
  return true;
}

/* Tries to place the subject on a set of nodes. Returns whether it was placed; if not, all changes are undone. */
static bool try_on_nodes(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, const uint8_t *allowed,
                         bool wait_only) {
  const struct hr__kai_mark mark = hr__kai_mark(placer->session);
  if (place_on_nodes(placer, subject, allowed, wait_only)) return true;
  hr__kai_undo(placer->session, mark);
  return false;
}

/* Places the subject in one of the domains that its constraint allows. Returns whether it was placed. */
static bool place_subject(struct hr__kai_placer *placer, const struct hr__kai_subject *subject, const uint8_t *allowed,
                          bool wait_only) {
  const struct hr__kai_cluster *cluster = placer->session->cluster;
  const uint32_t topology = subject->constraint->topology;
  if (topology == HR__KAI_NONE || !cluster->config.topology) return try_on_nodes(placer, subject, allowed, wait_only);
  if (topology >= cluster->n_topologies) return false;
  if (subject->n_pods == 0) return try_on_nodes(placer, subject, allowed, wait_only);

  const struct hr__kai_tree *tree = &placer->topologies.trees[topology];
  uint32_t *domains = placer->domains + placer->n_domains;
  uint8_t *nodes = placer->node_sets + placer->n_node_sets;
  const uint32_t n = domains_for(&placer->topologies, subject, allowed);
  for (uint32_t i = 0; i < n; i++) domains[i] = tree->order[i];
  placer->n_domains += n;
  placer->n_node_sets += cluster->n_nodes;
  bool placed = false;
  for (uint32_t i = 0; i < n && !placed; i++) {
    const struct hr__kai_domain *domain = &tree->domains[domains[i]];
    for (uint32_t node = 0; node < cluster->n_nodes; node++) nodes[node] = 0;
    for (uint32_t j = 0; j < domain->n_nodes; j++) nodes[domain->nodes[j]] = allowed[domain->nodes[j]];
    placed = try_on_nodes(placer, subject, nodes, wait_only);
  }
  placer->n_domains -= n;
  placer->n_node_sets -= cluster->n_nodes;
  return placed;
}

bool hr__kai_place_job(struct hr__kai_placer *placer, uint32_t job, const uint8_t *allowed, bool wait_only) {
  struct hr__kai_session *session = placer->session;
  topologies_forget(&placer->topologies, job);
  const uint32_t n = hr__kai_next_pods(session, job, !wait_only, placer->pods, placer->sets);
  struct hr__kai_amounts request = {{0}};
  for (uint32_t i = 0; i < n; i++) hr__kai_add(&request, &session->cluster->pods[placer->pods[i]].quota);
  if (!within_capacity(session, job, &request)) return false;
  const uint32_t root = session->cluster->jobs[job].first_group;
  const struct hr__kai_subject subject = {.constraint = &session->cluster->groups[root].constraint,
                                          .job = job,
                                          .set = HR__KAI_NONE,
                                          .group = root,
                                          .pods = placer->pods,
                                          .n_pods = n};
  return place_subject(placer, &subject, allowed, wait_only);
}
