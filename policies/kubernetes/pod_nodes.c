/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a node for a pod, by the scores of kube-scheduler, and preemption. The rules are those of kubernetes.c;
   this file makes their input from the ledger of pods: a node with its resources and their use, and the states of the
   pods on a node. Each search of nodes begins where the last one ended. If enough suitable nodes are found, the search
   stops. Source: kubernetes/kubernetes, pkg/scheduler/schedule_one.go and framework/preemption. */

#include "policies/kubernetes/kubernetes_policy.h"

#include <string.h>

enum { TIES = 1, OFFSETS = 2 }; /* streams of random numbers */
#define DEFAULT_CPU_MILLI 100
#define MIB_SHIFT 20
#define DEFAULT_MEM_MIB 200
/* Preemption collects victims on this percentage of the nodes, and at least on this number of nodes. */
enum { CANDIDATE_PERCENT = 10, MIN_CANDIDATES = 100 };
/* Bounds of the number of nodes that are scored: minFeasibleNodesToFind and minFeasibleNodesPercentageToFind. */
enum { MIN_SCORED = 100, MIN_SCORED_PERCENT = 5 };

/* ---- Input of the rules ---- */

struct node_input {
  struct hr__kube_node node;
  int64_t allocatable[HR__KUBE_N_RESOURCES], used[HR__KUBE_N_RESOURCES];
  bool ignored[HR__KUBE_N_RESOURCES]; /* not limited */
};

/* `input->node` points into `input`. */
static void read_node(const struct hr__kube_policy *kube, uint32_t at, struct node_input *input) {
  const struct hr__pod_node *node = &kube->pods.nodes[at];
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(kube->pods.cluster, (hr_pool){node->pool});
  memset(input, 0, sizeof *input);
  input->allocatable[HR__KUBE_CPU] = spec->cpu_milli_per_node;
  input->allocatable[HR__KUBE_MEMORY] = (int64_t)spec->mem_mib_per_node << MIB_SHIFT;
  input->allocatable[HR__KUBE_GPU] = (int64_t)spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
  input->ignored[HR__KUBE_CPU] = spec->cpu_milli_per_node == 0;
  input->ignored[HR__KUBE_MEMORY] = spec->mem_mib_per_node == 0;
  if (!input->ignored[HR__KUBE_CPU]) input->used[HR__KUBE_CPU] = input->allocatable[HR__KUBE_CPU] - node->cpu_milli;
  if (!input->ignored[HR__KUBE_MEMORY])
    input->used[HR__KUBE_MEMORY] = input->allocatable[HR__KUBE_MEMORY] - (node->mem_mib << MIB_SHIFT);
  input->used[HR__KUBE_GPU] = input->allocatable[HR__KUBE_GPU] - node->gpu_milli;
  input->node = (struct hr__kube_node){
      .allocatable = input->allocatable,
      .used = input->used,
      .used_scored = {input->used[HR__KUBE_CPU] + (int64_t)node->n_without_cpu * DEFAULT_CPU_MILLI,
                      input->used[HR__KUBE_MEMORY] + ((int64_t)node->n_without_mem * DEFAULT_MEM_MIB << MIB_SHIFT)},
      .allowed_pods = kube->pods.pods_per_node,
      .n_pods = (int64_t)kube->pods.pods_per_node - node->pods};
}

static struct hr__kube_request request_of(int64_t cpu_milli, int64_t mem_mib, int64_t gpu_milli, int64_t *amounts) {
  amounts[HR__KUBE_CPU] = cpu_milli;
  amounts[HR__KUBE_MEMORY] = mem_mib << MIB_SHIFT;
  amounts[HR__KUBE_STORAGE] = 0;
  amounts[HR__KUBE_GPU] = gpu_milli;
  return (struct hr__kube_request){
      amounts, {cpu_milli ? cpu_milli : DEFAULT_CPU_MILLI, (mem_mib ? mem_mib : DEFAULT_MEM_MIB) << MIB_SHIFT}};
}

static struct hr__kube_request request_in(const struct hr__kube_policy *kube, uint32_t kind, uint32_t number,
                                          uint32_t pool, int64_t *amounts) {
  const struct hr__pod_shape *shape = &kube->pods.kinds[kind].shapes[pool];
  return request_of(shape->cpu_milli, shape->mem_mib, hr__pod_milli(shape, number), amounts);
}

/* ---- Scores ---- */

static uint32_t resource_of(const struct hr__kube_policy *kube, const char *name) {
  const char *gpu = kube->config->gpu_resource ? kube->config->gpu_resource : "nvidia.com/gpu";
  if (strcmp(name, "cpu") == 0) return HR__KUBE_CPU;
  if (strcmp(name, "memory") == 0) return HR__KUBE_MEMORY;
  return strcmp(name, gpu) == 0 ? HR__KUBE_GPU : HR__KUBE_STORAGE; /* no node has any storage: it never counts */
}

/* Sets the resources of a score; without a list they are CPU and memory. */
static bool set_resources(struct hr__kube_policy *kube, struct hr__kube_scoring *scoring,
                          const struct hr_kubernetes_resource *list, uint32_t n) {
  static const uint32_t native[] = {HR__KUBE_CPU, HR__KUBE_MEMORY};
  static const int64_t equal[] = {1, 1};
  scoring->resources = native;
  scoring->weights = equal;
  scoring->n_scored = 2;
  if (n == 0) return true;
  uint32_t *resources = hr_arena_alloc(kube->arena, n * sizeof *resources);
  int64_t *weights = hr_arena_alloc(kube->arena, n * sizeof *weights);
  if (!resources || !weights) return false;
  for (uint32_t i = 0; i < n; i++) {
    resources[i] = resource_of(kube, list[i].name);
    weights[i] = list[i].weight;
  }
  scoring->resources = resources;
  scoring->weights = weights;
  scoring->n_scored = n;
  return true;
}

bool hr__kube_init_scores(struct hr__kube_policy *kube) {
  static const struct hr__kube_point line[] = {{0, 0}, {100, 10}};
  const struct hr_kubernetes_config *config = kube->config;
  kube->fit.strategy = (enum hr__kube_strategy)config->scoring;
  kube->balanced.strategy = HR__KUBE_BALANCED_ALLOCATION;
  kube->fit.points = line;
  kube->fit.n_points = 2;
  struct hr__kube_point *points = hr_arena_alloc(kube->arena, (config->n_points + 1) * sizeof *points);
  if (!points) return false;
  for (uint32_t i = 0; i < config->n_points; i++)
    points[i] = (struct hr__kube_point){config->shape[i].utilization, config->shape[i].score};
  if (config->n_points) {
    kube->fit.points = points;
    kube->fit.n_points = config->n_points;
  }
  return set_resources(kube, &kube->fit, config->resources, config->n_resources) &&
         set_resources(kube, &kube->balanced, config->balanced, config->n_balanced);
}

static int64_t score_of(const struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t at) {
  struct node_input input;
  int64_t amounts[HR__KUBE_N_RESOURCES], score = 0;
  read_node(kube, at, &input);
  struct hr__kube_request request = request_in(kube, kind, number, kube->pods.nodes[at].pool, amounts);
  if (kube->config->fit_weight) score += kube->config->fit_weight * hr__kube_score(&kube->fit, &input.node, &request);
  if (kube->config->balanced_weight)
    score += kube->config->balanced_weight * hr__kube_score(&kube->balanced, &input.node, &request);
  return score;
}

/* ---- The choice of a node ---- */

/* Returns how many suitable nodes are scored. */
static uint32_t nodes_wanted(const struct hr__kube_policy *kube) {
  uint32_t n = kube->pods.n_nodes, percent = kube->config->percentage_of_nodes;
  if (n < MIN_SCORED || percent >= 100) return n;
  if (percent == 0) percent = n / 125 >= 50 - MIN_SCORED_PERCENT ? MIN_SCORED_PERCENT : 50 - n / 125;
  uint64_t wanted = (uint64_t)n * percent / 100;
  return wanted < MIN_SCORED ? MIN_SCORED : (uint32_t)wanted;
}

/* The best node for a pod; HR_NONE if it fits on no node. `pool`: HR_NONE: any pool. */
static uint32_t choose_node(struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t pool) {
  uint32_t n = kube->pods.n_nodes, wanted = nodes_wanted(kube), found = 0, best = HR_NONE, n_equal = 0, i = 0;
  int64_t best_score = 0;
  for (; i < n && found < wanted; i++) {
    uint32_t at = kube->next_node + i < n ? kube->next_node + i : kube->next_node + i - n;
    if (pool != HR_NONE && kube->pods.nodes[at].pool != pool) continue;
    if (!hr__pods_fit(&kube->pods, kind, number, at)) continue;
    int64_t score = score_of(kube, kind, number, at);
    if (found++ == 0 || score > best_score) {
      best = at;
      best_score = score;
      n_equal = 1;
    } else if (score == best_score && hr_random_below(kube->seed, TIES, kube->n_draws++, ++n_equal) == 0) {
      best = at;
    }
  }
  if (n) kube->next_node = (kube->next_node + i) % n;
  return best;
}

/* ---- Preemption ---- */

bool hr__kube_count_priority(struct hr__kube_policy *kube, uint32_t kind, uint32_t n_pods, int sign) {
  int32_t priority = kube->pods.kinds[kind].priority;
  if (kube->pods.kinds[kind].is_fixed) return true;
  uint32_t at = 0;
  while (at < kube->n_priorities && kube->priorities[at].priority != priority) at++;
  if (at == kube->n_priorities) {
    if (at == kube->priorities_capacity) {
      struct hr__kube_priority *grown =
          hr_arena_grown(kube->arena, kube->priorities, &kube->priorities_capacity, sizeof *grown);
      if (!grown) return false;
      kube->priorities = grown;
    }
    kube->priorities[kube->n_priorities++] = (struct hr__kube_priority){priority, 0};
  }
  kube->priorities[at].n_pods += sign > 0 ? n_pods : (uint32_t)-n_pods;
  return true;
}

/* Whether any pod has a lower priority. */
static bool any_is_lower(const struct hr__kube_policy *kube, int32_t priority) {
  for (uint32_t i = 0; i < kube->n_priorities; i++)
    if (kube->priorities[i].n_pods && kube->priorities[i].priority < priority) return true;
  return false;
}

/* Makes room for the states of all pods, and for a candidate on each node. */
static bool make_room(struct hr__kube_policy *kube) {
  struct hr__kube_trial *trial = &kube->trial;
  uint32_t n_nodes = kube->pods.n_nodes;
  if (trial->candidates_capacity < n_nodes) {
    trial->candidates = hr_arena_alloc(kube->arena, n_nodes * sizeof *trial->candidates);
    trial->candidates_capacity = trial->candidates ? n_nodes : 0;
  }
  if (trial->pods_capacity < kube->pods.pods_capacity) {
    uint32_t n = kube->pods.pods_capacity;
    trial->states = hr_arena_alloc(kube->arena, n * sizeof *trial->states);
    trial->amounts = hr_arena_alloc(kube->arena, n * sizeof *trial->amounts);
    trial->victims = hr_arena_alloc(kube->arena, n * sizeof *trial->victims);
    trial->on_node = hr_arena_alloc(kube->arena, n * sizeof *trial->on_node);
    bool has_all = trial->states && trial->amounts && trial->victims && trial->on_node;
    trial->pods_capacity = has_all ? n : 0;
  }
  trial->n_candidates = trial->n_victims = 0;
  return trial->candidates && trial->pods_capacity;
}

/* Writes the states of the pods on a node, and their numbers to `on_node`. Returns their number. */
static uint32_t read_pods(struct hr__kube_policy *kube, uint32_t node) {
  struct hr__kube_trial *trial = &kube->trial;
  uint32_t n = 0;
  for (uint32_t at = kube->pods.nodes[node].first_pod; at != HR_NONE; at = kube->pods.pods[at].next_on_node) {
    const struct hr__pod *pod = &kube->pods.pods[at];
    const struct hr__job_kind *kind = &kube->pods.kinds[pod->kind];
    /* A job that started at this instant cannot be stopped, and some jobs must not be stopped. */
    bool is_new = kube->view->state[pod->job] == HR_JOB_RUNNING && kube->started_us[pod->job] == kube->view->now_us;
    bool is_fixed = kind->is_fixed || is_new;
    kube->was_blocked = kube->was_blocked || is_new;
    trial->states[at] = (struct hr__kube_pod_state){
        .request = request_of(pod->cpu_milli, pod->mem_mib, pod->slice.gpu_milli, trial->amounts[at]),
        .start = kube->started_us[pod->job],
        .priority = is_fixed ? INT32_MAX : kind->priority,
        .node = node};
    trial->on_node[n++] = at;
  }
  return n;
}

/* In per-GPU allocation: whether the pod fits after the jobs of the victims have left. */
static bool fits_without(struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t node,
                         const struct hr__kube_candidate *candidate) {
  if (!kube->pods.inventory) return true;
  uint32_t n = 0;
  for (uint32_t i = 0; i < candidate->n_victims; i++) {
    hr_job job = {kube->pods.pods[candidate->victims[i]].job};
    bool is_gone = false;
    for (uint32_t k = 0; k < i; k++) is_gone |= kube->pods.pods[candidate->victims[k]].job == job.id;
    if (is_gone) continue;
    hr__pods_set_aside(&kube->pods, job);
    n++;
  }
  bool fits = hr__pods_fit(&kube->pods, kind, number, node);
  for (uint32_t i = candidate->n_victims; i-- > 0;) {
    hr_job job = {kube->pods.pods[candidate->victims[i]].job};
    bool is_first = true;
    for (uint32_t k = 0; k < i; k++) is_first &= kube->pods.pods[candidate->victims[k]].job != job.id;
    if (is_first) hr__pods_put_back(&kube->pods, job);
  }
  return n > 0 && fits;
}

/* Adds the node to the candidates if evictions make room for the pod. */
static void try_node(struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t node) {
  struct hr__kube_trial *trial = &kube->trial;
  const struct hr__pod_node *state = &kube->pods.nodes[node];
  if (!state->is_usable || state->first_pod == HR_NONE || number >= kube->pods.kinds[kind].shapes[state->pool].n_pods)
    return;
  struct node_input input;
  int64_t amounts[HR__KUBE_N_RESOURCES];
  read_node(kube, node, &input);
  uint32_t n_on_node = read_pods(kube, node);
  struct hr__kube_pod_state pod = {.request = request_in(kube, kind, number, state->pool, amounts),
                                   .priority = kube->pods.kinds[kind].priority,
                                   .node = node};
  const struct hr__kube_preemption preemption = {
      .pods = trial->states, .n_resources = HR__KUBE_N_RESOURCES, .ignored = input.ignored};
  struct hr__kube_candidate *candidate = &trial->candidates[trial->n_candidates];
  *candidate = (struct hr__kube_candidate){.node = node, .victims = trial->victims + trial->n_victims};
  if (!hr__kube_find_victims(&preemption, &pod, &input.node, trial->on_node, n_on_node, candidate)) return;
  if (candidate->n_victims == 0 || !fits_without(kube, kind, number, node, candidate)) return;
  trial->n_victims += candidate->n_victims;
  trial->n_candidates++;
}

/* Sets the jobs of the victims aside. False: out of memory. */
static bool evict(struct hr__kube_policy *kube, const struct hr__kube_candidate *candidate) {
  for (uint32_t i = 0; i < candidate->n_victims; i++) {
    hr_job job = {kube->pods.pods[candidate->victims[i]].job};
    if (hr__job_list_has(&kube->evicted, job)) continue;
    if (!hr__job_list_add(&kube->evicted, kube->arena, job)) return false;
    hr__pods_set_aside(&kube->pods, job);
  }
  return true;
}

/* Evicts pods of lower priority for a pod. Returns the node; HR_NONE: none. */
static uint32_t preempt(struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t pool) {
  if (!any_is_lower(kube, kube->pods.kinds[kind].priority)) return HR_NONE;
  if (!make_room(kube)) {
    kube->status = HR_NO_MEMORY;
    return HR_NONE;
  }
  uint32_t n = kube->pods.n_nodes, wanted = hr__kube_candidates_wanted(n, CANDIDATE_PERCENT, MIN_CANDIDATES);
  uint32_t offset = wanted < n ? hr_random_below(kube->seed, OFFSETS, kube->n_draws++, n) : 0;
  for (uint32_t i = 0; i < n && kube->trial.n_candidates < wanted; i++) {
    uint32_t at = offset + i < n ? offset + i : offset + i - n;
    if (pool == HR_NONE || kube->pods.nodes[at].pool == pool) try_node(kube, kind, number, at);
  }
  if (kube->trial.n_candidates == 0) return HR_NONE;
  uint32_t best = hr__kube_best_candidate(kube->trial.candidates, kube->trial.n_candidates, kube->trial.states);
  if (!evict(kube, &kube->trial.candidates[best])) kube->status = HR_NO_MEMORY;
  return kube->trial.candidates[best].node;
}

/* ---- All pods of a job ---- */

uint32_t hr__kube_n_pods(const struct hr__kube_policy *kube, hr_job job) {
  uint32_t n = 0;
  for (uint32_t at = hr__pods_first(&kube->pods, job); at != HR_NONE; at = kube->pods.pods[at].next_of_job) n++;
  return n;
}

/* Removes the pods of a job that follow `last`, and puts back the jobs that were evicted after the first `n_evicted`.
 */
static void undo(struct hr__kube_policy *kube, hr_job job, uint32_t last, uint32_t n_evicted) {
  hr__pods_cut(&kube->pods, job, last, true);
  while (kube->evicted.count > n_evicted) hr__pods_put_back(&kube->pods, kube->evicted.jobs[--kube->evicted.count]);
}

/* Places the pods of a job that are not placed yet. `pool`: of all pods; HR_NONE: any, for jobs with one pod. */
static bool place_in(struct hr__kube_policy *kube, hr_job job, uint32_t kind, uint32_t pool, bool preempts) {
  uint32_t number = hr__kube_n_pods(kube, job), last = hr__pods_last(&kube->pods, job);
  for (bool is_done = false; !is_done; number++) {
    uint32_t node = choose_node(kube, kind, number, pool);
    if (node == HR_NONE && preempts) node = preempt(kube, kind, number, pool);
    if (node != HR_NONE && kube->status == HR_OK) {
      if (hr__pods_place(&kube->pods, job, kind, number, node) == HR_NONE) kube->status = HR_NO_MEMORY;
      is_done = number + 1 == kube->pods.kinds[kind].shapes[kube->pods.nodes[node].pool].n_pods;
      continue;
    }
    if (kube->config->partial == HR_KUBERNETES_TOGETHER) undo(kube, job, last, 0);
    return false;
  }
  return kube->status == HR_OK;
}

bool hr__kube_place(struct hr__kube_policy *kube, hr_job job, uint32_t kind) {
  const struct hr__job_kind *of = &kube->pods.kinds[kind];
  bool may_preempt = kube->config->preempts && !kube->queues[kind].never_preempts;
  uint32_t first = hr__pods_first(&kube->pods, job);
  kube->evicted.count = 0;
  if (first != HR_NONE)
    return place_in(kube, job, kind, kube->pods.nodes[kube->pods.pods[first].slice.node.id].pool, may_preempt);
  if (of->is_single) return place_in(kube, job, kind, HR_NONE, may_preempt);
  for (int preempts = 0; preempts <= (may_preempt ? 1 : 0) && kube->status == HR_OK; preempts++)
    for (uint32_t pool = 0; pool < kube->pods.n_pools && kube->status == HR_OK; pool++) {
      if (of->shapes[pool].n_pods == 0) continue;
      if (place_in(kube, job, kind, pool, preempts != 0)) return true;
      if (hr__pods_first(&kube->pods, job) != HR_NONE) return false; /* it holds some pods there */
    }
  return false;
}
