/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy `kubernetes`: kube-scheduler with the plug-ins NodeResourcesFit, NodeResourcesBalancedAllocation and
 * DefaultPreemption, and a cluster autoscaler.
 *
 * Each task of a job is a pod. Pods are scheduled one at a time; a job runs when all its pods are bound. The engine
 * starts a job as a whole. If only some pods of a job fit, the setting `partial_jobs` decides:
 * - `hold`: these pods hold GPUs in the ledger of this policy, but not in the engine.
 * - `together`: these pods wait with the other pods of the job.
 * The eviction of a pod stops its job, and the job enters the queue again.
 *
 * Layout: the waiting jobs of one kind (policies/kit/pods.h) are in a tree, ordered by the time at which they entered
 * the queue. If a job of a kind does not fit, later jobs of its kind are not tried in the same pass, because they would
 * not fit either. They count as tried. Exception: if the job holds pods, later jobs may fit in another pool, and are
 * tried.
 *
 * Source: kubernetes/kubernetes, pkg/scheduler.
 */

#include "base/containers.h"
#include "headroom/policy_kit.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kit/pods.h"
#include "policies/kubernetes/kubernetes.h"

#include <stdio.h>
#include <string.h>

/* Resources of the model. GPUs are counted in thousandths. */
enum { HR__KUBE_GPU = HR__KUBE_N_NATIVE, HR__KUBE_N_RESOURCES };

enum { HR__KUBE_MARKS = 32, HR__KUBE_FREED = 1024 };

/* The waiting jobs of a kind. Failures of a kind are numbered from 1. Each failure counts as a try of all jobs that
   waited at that time, so the number of tries of a job is the number of failures since the job entered. `marks` stores,
   for each of the last failures, the last job that waited at the time of the failure. */
struct hr__kube_queue {
  struct hr_job_tree jobs; /* by time of entry */
  uint32_t kind;
  uint32_t listed_at;              /* index in `listed`; HR_NONE: no job waits */
  uint64_t n_failures, freed_seen; /* freed_seen: position in the log of freed nodes at the last failure */
  int64_t failed_us;
  bool never_preempts, retries; /* retries: the kind is tried again although no node was freed */
  struct hr__kube_head {
    int64_t entered_us;
    hr_job job;
  } marks[HR__KUBE_MARKS], head;
};

struct hr__kube_priority {
  int32_t priority;
  uint32_t n_pods; /* bound pods that may be evicted */
};

/* Memory of a preemption: the candidates, and the states of pods, which have the numbers of the ledger. */
struct hr__kube_trial {
  struct hr__kube_candidate *candidates;
  struct hr__kube_pod_state *states; /* by number of the pod */
  int64_t (*amounts)[HR__KUBE_N_RESOURCES];
  uint32_t *victims, *on_node;
  uint32_t n_candidates, n_victims, pods_capacity, candidates_capacity;
};

struct hr__kube_policy {
  struct hr_arena *arena;
  struct hr__pods pods;
  const struct hr_kubernetes_config *config;
  struct hr__kube_scoring fit, balanced;
  struct hr_tree_store *store;
  struct hr__kube_queue *queues; /* [pods.n_kinds] */
  uint32_t queues_capacity;
  uint32_t *listed; /* kinds with waiting jobs, in no order */
  uint32_t *heap;   /* kinds, ordered by their head */
  uint32_t n_listed, n_heap;
  uint64_t n_freed;                 /* number of nodes that were freed since the begin: the length of the log */
  uint32_t freed[HR__KUBE_FREED];   /* the last entries of the log: ids of nodes */
  uint32_t *kind_of;                /* by job */
  int64_t *entered_us, *started_us; /* by job */
  struct hr__kube_priority *priorities;
  uint32_t n_priorities, priorities_capacity;
  uint32_t next_node; /* where the next search for nodes begins */
  uint64_t seed, n_draws;
  struct hr__kube_trial trial;
  struct hr__job_list evicted; /* jobs that were evicted in the present try */
  int64_t wake_us;
  bool scales, was_blocked; /* was_blocked: preemption skipped jobs that started at this instant */
  /* The present pass. */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status;
  uint32_t scale_at; /* index in `listed`, for the autoscaler */
  struct hr_job_entry scale_entry;
};

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* The choice of a node for a pod by the scores of kube-scheduler, and preemption. kubernetes.c has the rules. This
   section computes their input from the ledger of pods: the resources of a node and their use, and the states of the
   pods on a node. Each search for nodes begins where the last one ended, and stops when enough suitable nodes are
   found. Source: kubernetes/kubernetes, pkg/scheduler/schedule_one.go and framework/preemption. */

enum { TIES = 1, OFFSETS = 2 }; /* streams of random numbers */
#define DEFAULT_CPU_MILLI 100
#define MIB_SHIFT 20
#define DEFAULT_MEM_MIB 200
/* Preemption compares candidates on this percentage of all nodes, and at least on this number of nodes. It compares
   fewer if fewer nodes have victims. */
enum { CANDIDATE_PERCENT = 10, MIN_CANDIDATES = 100 };
/* Lower bounds of the number and of the percentage of nodes that are scored: minFeasibleNodesToFind and
   minFeasibleNodesPercentageToFind. */
enum { MIN_SCORED = 100, MIN_SCORED_PERCENT = 5 };

/* ---- Nodes: input of the rules ---------------------------------------------------------------------- */

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

/* ---- Nodes: scores ---------------------------------------------------------------------------------- */

static uint32_t resource_of(const struct hr__kube_policy *kube, const char *name) {
  const char *gpu = kube->config->gpu_resource ? kube->config->gpu_resource : "nvidia.com/gpu";
  if (strcmp(name, "cpu") == 0) return HR__KUBE_CPU;
  if (strcmp(name, "memory") == 0) return HR__KUBE_MEMORY;
  return strcmp(name, gpu) == 0 ? HR__KUBE_GPU : HR__KUBE_STORAGE; /* no node has storage, so it never counts */
}

/* Sets the resources of a score. Without a list, these are CPU and memory. */
static bool set_resources(struct hr__kube_policy *kube, struct hr__kube_scoring *scoring,
                          const struct hr_kubernetes_resource *list, uint32_t n) {
  static const uint32_t native[] = {HR__KUBE_CPU, HR__KUBE_MEMORY};
  uint32_t *resources, n_scored = n ? n : 2;
  int64_t *weights;
  if (!HR__ARENA_ARRAY(kube->arena, resources, n_scored) || !HR__ARENA_ARRAY(kube->arena, weights, n_scored))
    return false;
  for (uint32_t i = 0; i < n_scored; i++) {
    resources[i] = n ? resource_of(kube, list[i].name) : native[i];
    weights[i] = n ? list[i].weight : 1;
  }
  scoring->resources = resources;
  scoring->weights = weights;
  scoring->n_scored = n_scored;
  return true;
}

/* Prepares the scores. False: out of memory. */
static bool init_scores(struct hr__kube_policy *kube) {
  static const struct hr__kube_point line[] = {{0, 0}, {100, 10}};
  const struct hr_kubernetes_config *config = kube->config;
  kube->fit.strategy = (enum hr__kube_strategy)config->scoring;
  kube->balanced.strategy = HR__KUBE_BALANCED_ALLOCATION;
  struct hr__kube_point *points;
  if (!HR__ARENA_ARRAY(kube->arena, points, config->n_points)) return false;
  for (uint32_t i = 0; i < config->n_points; i++)
    points[i] = (struct hr__kube_point){config->shape[i].utilization, config->shape[i].score};
  kube->fit.points = config->n_points ? points : line;
  kube->fit.n_points = config->n_points ? config->n_points : 2;
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

/* ---- Nodes: the choice of a node -------------------------------------------------------------------- */

/* Returns the number of suitable nodes after which the search stops. */
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

/* ---- Nodes: preemption ------------------------------------------------------------------------------ */

/* Counts the bound pods of a job (sign 1), or removes them from the counts (sign -1). False: out of memory. */
static bool count_priority(struct hr__kube_policy *kube, uint32_t kind, uint32_t n_pods, int sign) {
  int32_t priority = kube->pods.kinds[kind].priority;
  if (kube->pods.kinds[kind].is_fixed) return true;
  uint32_t at = 0;
  while (at < kube->n_priorities && kube->priorities[at].priority != priority) at++;
  if (at == kube->n_priorities) {
    if (!HR__ARENA_HAS_ROOM(kube->arena, kube->priorities, at, kube->priorities_capacity)) return false;
    kube->priorities[kube->n_priorities++] = (struct hr__kube_priority){priority, 0};
  }
  kube->priorities[at].n_pods += sign > 0 ? n_pods : (uint32_t)-n_pods;
  return true;
}

/* Whether any bound pod that may be evicted has a lower priority. */
static bool any_is_lower(const struct hr__kube_policy *kube, int32_t priority) {
  for (uint32_t i = 0; i < kube->n_priorities; i++)
    if (kube->priorities[i].n_pods && kube->priorities[i].priority < priority) return true;
  return false;
}

/* Makes room for the states of all pods, and for a candidate on each node. False: out of memory. */
static bool make_room(struct hr__kube_policy *kube) {
  struct hr__kube_trial *trial = &kube->trial;
  uint32_t n_nodes = kube->pods.n_nodes;
  if (trial->candidates_capacity < n_nodes) {
    if (!HR__ARENA_ARRAY(kube->arena, trial->candidates, n_nodes)) return false;
    trial->candidates_capacity = n_nodes;
  }
  if (trial->pods_capacity < kube->pods.pods_capacity) {
    uint32_t n = kube->pods.pods_capacity;
    if (!HR__ARENA_ARRAY(kube->arena, trial->states, n) || !HR__ARENA_ARRAY(kube->arena, trial->amounts, n) ||
        !HR__ARENA_ARRAY(kube->arena, trial->victims, n) || !HR__ARENA_ARRAY(kube->arena, trial->on_node, n))
      return false;
    trial->pods_capacity = n;
  }
  trial->n_candidates = trial->n_victims = 0;
  return true;
}

/* Writes the states of the pods on a node, and their numbers to `on_node`. Returns how many pods are on the node. */
static uint32_t read_pods(struct hr__kube_policy *kube, uint32_t node) {
  struct hr__kube_trial *trial = &kube->trial;
  uint32_t n = 0;
  for (uint32_t at = kube->pods.nodes[node].first_pod; at != HR_NONE; at = kube->pods.pods[at].next_on_node) {
    const struct hr__pod *pod = &kube->pods.pods[at];
    const struct hr__job_kind *kind = &kube->pods.kinds[pod->kind];
    /* A job that started at this instant cannot be stopped, and some jobs must not be stopped: they get the top
       priority. */
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

/* Whether the job of a victim is also that of an earlier victim. */
static bool is_repeated(const struct hr__kube_policy *kube, const struct hr__kube_candidate *candidate, uint32_t at) {
  for (uint32_t i = 0; i < at; i++)
    if (kube->pods.pods[candidate->victims[i]].job == kube->pods.pods[candidate->victims[at]].job) return true;
  return false;
}

/* In per-GPU allocation: whether the pod fits on the node after the jobs of the victims have stopped. */
static bool fits_without(struct hr__kube_policy *kube, uint32_t kind, uint32_t number, uint32_t node,
                         const struct hr__kube_candidate *candidate) {
  if (!kube->pods.inventory) return true;
  for (uint32_t i = 0; i < candidate->n_victims; i++)
    if (!is_repeated(kube, candidate, i))
      hr__pods_set_aside(&kube->pods, (hr_job){kube->pods.pods[candidate->victims[i]].job});
  bool fits = hr__pods_fit(&kube->pods, kind, number, node);
  for (uint32_t i = candidate->n_victims; i-- > 0;)
    if (!is_repeated(kube, candidate, i))
      hr__pods_put_back(&kube->pods, (hr_job){kube->pods.pods[candidate->victims[i]].job});
  return fits;
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

/* Sets the jobs of the victims aside in the ledger. False: out of memory. */
static bool evict(struct hr__kube_policy *kube, const struct hr__kube_candidate *candidate) {
  for (uint32_t i = 0; i < candidate->n_victims; i++) {
    hr_job job = {kube->pods.pods[candidate->victims[i]].job};
    if (hr__job_list_has(&kube->evicted, job)) continue;
    if (!hr__job_list_add(&kube->evicted, kube->arena, job)) return false;
    hr__pods_set_aside(&kube->pods, job);
  }
  return true;
}

/* Evicts pods of lower priority for a pod. Returns the node on which the pod then fits; HR_NONE: none. */
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

/* ---- Nodes: all pods of a job ----------------------------------------------------------------------- */

/* The number of pods of a job. */
static uint32_t count_pods(const struct hr__kube_policy *kube, hr_job job) {
  uint32_t n = 0;
  for (uint32_t at = hr__pods_first(&kube->pods, job); at != HR_NONE; at = kube->pods.pods[at].next_of_job) n++;
  return n;
}

/* Removes the pods of a job after the pod `last`, and puts all evicted jobs except the first `n_evicted` back. */
static void undo(struct hr__kube_policy *kube, hr_job job, uint32_t last, uint32_t n_evicted) {
  hr__pods_cut(&kube->pods, job, last, true);
  while (kube->evicted.count > n_evicted) hr__pods_put_back(&kube->pods, kube->evicted.jobs[--kube->evicted.count]);
}

/* Places the pods of a job that are not placed yet. `pool`: the pool of all its pods; HR_NONE: any pool, only for jobs
   with one pod. Returns whether all pods are placed. If not, the changes are undone, unless placed pods are held.
   `preempts`: pods may be evicted for this. */
static bool place_in(struct hr__kube_policy *kube, hr_job job, uint32_t kind, uint32_t pool, bool preempts) {
  uint32_t number = count_pods(kube, job), last = hr__pods_last(&kube->pods, job);
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

/* Places all pods of a job, and evicts other jobs for it if allowed. The evicted jobs are set aside and listed in
   kube->evicted. Returns whether all pods were placed. If not, the state is unchanged, except for pods that are held
   (see struct hr_kubernetes_config). */
static bool place_pods(struct hr__kube_policy *kube, hr_job job, uint32_t kind) {
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
      if (hr__pods_first(&kube->pods, job) != HR_NONE) return false; /* the job already holds some pods in this pool */
    }
  return false;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

/* The configuration of a scenario without the section `kubernetes`. */
static const struct hr_kubernetes_config defaults = {.fit_weight = 1,
                                                     .balanced_weight = 1,
                                                     .preempts = true,
                                                     .initial_backoff_us = HR_SECOND_US,
                                                     .max_backoff_us = 10 * HR_SECOND_US,
                                                     .pods_per_node = 110,
                                                     .idle_release_us = 600 * HR_SECOND_US};

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
  struct hr__kube_policy *kube = hr_arena_alloc(env->arena, sizeof *kube);
  if (!(*self = kube)) return HR_NO_MEMORY;
  kube->arena = env->arena;
  kube->config = env->systems && env->systems->kubernetes ? env->systems->kubernetes : &defaults;
  kube->seed = kube->config->seed ? kube->config->seed : env->seed;
  kube->wake_us = HR_NEVER_US;
  kube->store = hr_tree_store_create(env->arena);
  kube->kind_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->kind_of);
  kube->entered_us = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->entered_us);
  kube->started_us = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->started_us);
  if (!kube->store || !kube->kind_of || !kube->entered_us || !kube->started_us) return HR_NO_MEMORY;
  if (!hr__pods_init(&kube->pods, env, kube->config->pods_per_node, kube->config->idle_release_us)) return HR_NO_MEMORY;
  kube->scales = hr__pods_are_scaled(&kube->pods, env);
  return init_scores(kube) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t abilities(void *self) {
  const struct hr__kube_policy *kube = self;
  return HR_POLICY_PREEMPTS | HR_POLICY_REASONS_BY_JOB | (kube->scales ? (uint32_t)HR_POLICY_MANAGES_CAPACITY : 0);
}

/* ---- The scheduling queue --------------------------------------------------------------------------- */

/* Jobs are tried in the order of priority, then of the time at which they entered the queue. A job that does not fit is
   tried again after an event that frees resources, but not before its back-off is over. The back-off doubles with each
   try, up to a maximum. Source: kubernetes/kubernetes, pkg/scheduler/backend/queue. */

/* ---- The scheduling queue: entering and leaving ----------------------------------------------------- */

/* Creates the queues of all kinds up to `kind`. False: out of memory. */
static bool make_queues(struct hr__kube_policy *kube, uint32_t kind) {
  while (kind >= kube->queues_capacity) {
    uint32_t before = kube->queues_capacity;
    if (!HR__ARENA_HAS_ROOM(kube->arena, kube->queues, before, kube->queues_capacity) ||
        !HR__ARENA_RESIZE(kube->arena, kube->listed, kube->n_listed, kube->queues_capacity) ||
        !HR__ARENA_RESIZE(kube->arena, kube->heap, kube->n_heap, kube->queues_capacity))
      return false;
    for (uint32_t i = before; i < kube->queues_capacity; i++)
      kube->queues[i] = (struct hr__kube_queue){.jobs = {.store = kube->store}, .kind = i, .listed_at = HR_NONE};
  }
  return true;
}

static void set_up(const struct hr__kube_policy *kube, struct hr__kube_queue *queue) {
  int32_t priority = kube->pods.kinds[queue->kind].priority;
  for (uint32_t i = 0; i < kube->config->n_classes; i++)
    if (kube->config->classes[i].value == priority)
      queue->never_preempts = kube->config->classes[i].preemption == HR_KUBERNETES_PREEMPT_NEVER;
}

/* Whether the kind is to be tried: it has not failed yet, must be tried again, or a node was freed since its last
   failure. */
static bool is_due(const struct hr__kube_policy *kube, const struct hr__kube_queue *queue) {
  return queue->n_failures == 0 || queue->retries || queue->freed_seen < kube->n_freed;
}

/* Adds a job to the queue of its kind. False: out of memory. */
static bool enter_queue(struct hr__kube_policy *kube, hr_job job, uint32_t kind) {
  if (!make_queues(kube, kind)) return false;
  struct hr__kube_queue *queue = &kube->queues[kind];
  int64_t now_us = kube->view->now_us;
  if (!hr_job_tree_insert(&queue->jobs, (struct hr_job_entry){now_us, job, 0})) return false;
  kube->kind_of[job.id] = kind;
  kube->entered_us[job.id] = now_us;
  if (queue->listed_at == HR_NONE) {
    set_up(kube, queue);
    queue->listed_at = kube->n_listed;
    kube->listed[kube->n_listed++] = kind;
  }
  /* The job would fail like the other jobs of its kind, so it counts as tried together with them. */
  if (!is_due(kube, queue)) queue->marks[queue->n_failures % HR__KUBE_MARKS] = (struct hr__kube_head){now_us, job};
  return true;
}

static void leave_queue(struct hr__kube_policy *kube, hr_job job) {
  struct hr__kube_queue *queue = &kube->queues[kube->kind_of[job.id]];
  hr_job_tree_remove(&queue->jobs, kube->entered_us[job.id], job);
  if (queue->jobs.count) return;
  uint32_t last = kube->listed[--kube->n_listed];
  kube->listed[queue->listed_at] = last;
  kube->queues[last].listed_at = queue->listed_at;
  queue->listed_at = HR_NONE;
  queue->n_failures = 0;
}

/* Records that pods left the node, or that the node came up. */
static void note_freed(struct hr__kube_policy *kube, uint32_t node) {
  kube->freed[kube->n_freed++ % HR__KUBE_FREED] = node;
}

/* ---- The scheduling queue: back-off ----------------------------------------------------------------- */

/* The back-off after a number of tries. */
static int64_t backoff_us(const struct hr__kube_policy *kube, uint64_t n_tries) {
  int64_t us = kube->config->initial_backoff_us;
  for (uint64_t i = 1; i < n_tries && us < kube->config->max_backoff_us; i++) us *= 2;
  if (n_tries == 0) return 0;
  return us < kube->config->max_backoff_us ? us : kube->config->max_backoff_us;
}

/* The largest number of tries such that the back-off of a job of the kind with this number of tries is over now;
   UINT64_MAX: any number. */
static uint64_t tries_over(const struct hr__kube_policy *kube, const struct hr__kube_queue *queue) {
  int64_t passed_us = kube->view->now_us - queue->failed_us;
  if (passed_us >= kube->config->max_backoff_us) return UINT64_MAX;
  uint64_t n_tries = 0;
  while (n_tries + 1 < HR__KUBE_MARKS && backoff_us(kube, n_tries + 1) <= passed_us) n_tries++;
  return n_tries;
}

/* Finds the first job of the kind after the mark (NULL: of all), and stores it in `queue->head`. Returns whether such a
   job exists. */
static bool find_after(struct hr__kube_queue *queue, const struct hr__kube_head *mark) {
  struct hr_job_entry entry;
  bool found = mark ? hr_job_tree_next(&queue->jobs, mark->entered_us, mark->job, INT64_MAX, &entry)
                    : hr_job_tree_first(&queue->jobs, &entry);
  if (found) queue->head = (struct hr__kube_head){entry.key, entry.job};
  return found;
}

/* The same for the first job with a back-off that is over. */
static bool find_head(const struct hr__kube_policy *kube, struct hr__kube_queue *queue) {
  uint64_t n_tries = tries_over(kube, queue);
  bool all_are_over = queue->n_failures <= n_tries;
  return find_after(queue, all_are_over ? NULL : &queue->marks[(queue->n_failures - n_tries) % HR__KUBE_MARKS]);
}

/* The time at which the next back-off ends; HR_NEVER_US: none. */
static int64_t queue_wake_us(const struct hr__kube_policy *kube) {
  int64_t first_us = HR_NEVER_US;
  for (uint32_t i = 0; i < kube->n_listed; i++) {
    const struct hr__kube_queue *queue = &kube->queues[kube->listed[i]];
    if (!is_due(kube, queue) || queue->n_failures == 0) continue;
    uint64_t n_tries = tries_over(kube, queue);
    if (n_tries >= queue->n_failures) continue;
    int64_t at_us = queue->failed_us + backoff_us(kube, n_tries + 1);
    if (at_us > kube->view->now_us && at_us < first_us) first_us = at_us;
  }
  return first_us;
}

/* ---- The scheduling queue: the active queue --------------------------------------------------------- */

static bool precedes(const void *self, uint32_t a, uint32_t b) {
  const struct hr__kube_policy *kube = self;
  const struct hr__kube_head *one = &kube->queues[a].head, *other = &kube->queues[b].head;
  int32_t priority = kube->pods.kinds[a].priority, other_priority = kube->pods.kinds[b].priority;
  if (priority != other_priority) return priority > other_priority;
  if (one->entered_us != other->entered_us) return one->entered_us < other->entered_us;
  return one->job.id < other->job.id;
}

HR__HEAP(active, uint32_t, precedes)

/* Fills the heap with the kinds that have a job to try now. */
static void collect_kinds(struct hr__kube_policy *kube) {
  kube->n_heap = 0;
  for (uint32_t i = 0; i < kube->n_listed; i++) {
    struct hr__kube_queue *queue = &kube->queues[kube->listed[i]];
    if (is_due(kube, queue) && find_head(kube, queue)) active_rise(kube->heap, kube->n_heap++, queue->kind, kube);
  }
}

/* Takes the first kind from the heap; HR_NONE: none is left. Its job is queues[kind].head.job. */
static uint32_t next_kind(struct hr__kube_policy *kube) {
  if (kube->n_heap == 0) return HR_NONE;
  uint32_t kind = kube->heap[0];
  kube->n_heap--;
  if (kube->n_heap) active_sink(kube->heap, kube->n_heap, kube->heap[kube->n_heap], kube);
  return kind;
}

/* Puts a kind back into the heap. `after_head`: the first job of the kind did not fit and still waits, but later jobs
   may fit. Otherwise the first job has left the queue. */
static void try_again(struct hr__kube_policy *kube, uint32_t kind, bool after_head) {
  struct hr__kube_queue *queue = &kube->queues[kind];
  if (queue->jobs.count == 0) return;
  bool found = after_head ? find_after(queue, &queue->head) : find_head(kube, queue);
  if (found) active_rise(kube->heap, kube->n_heap++, kind, kube);
}

static bool see_last(void *self, struct hr_job_entry entry) {
  *(struct hr_job_entry *)self = entry;
  return false;
}

/* Records that the first job of the kind did not fit. */
static void note_failure(struct hr__kube_policy *kube, uint32_t kind) {
  struct hr__kube_queue *queue = &kube->queues[kind];
  struct hr_job_entry last = {0};
  hr_job_tree_each_back(&queue->jobs, see_last, &last);
  queue->n_failures++;
  queue->marks[queue->n_failures % HR__KUBE_MARKS] = (struct hr__kube_head){last.key, last.job};
  queue->failed_us = kube->view->now_us;
  queue->freed_seen = kube->n_freed;
  queue->retries = false;
}

/* Returns false if no node that was freed since the last failure of the kind has room for a pod of the kind. Returns
   true also if the kind has not failed yet or must be tried again, and if the nodes are not known: after too many
   events, and for kinds with pods of different sizes. */
static bool may_fit(const struct hr__kube_policy *kube, uint32_t kind) {
  const struct hr__kube_queue *queue = &kube->queues[kind];
  const struct hr__job_kind *of = &kube->pods.kinds[kind];
  uint64_t seen = queue->freed_seen;
  if (queue->n_failures == 0 || queue->retries || kube->n_freed - seen > HR__KUBE_FREED) return true;
  for (uint32_t pool = 0; pool < kube->pods.n_pools; pool++)
    if (of->shapes[pool].n_pods && of->shapes[pool].gpu_milli != of->shapes[pool].last_milli) return true;
  for (; seen < kube->n_freed; seen++)
    if (hr__pods_fit(&kube->pods, kind, 0, kube->freed[seen % HR__KUBE_FREED])) return true;
  return false;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static bool submit(struct hr__kube_policy *kube, const struct hr_view *view, hr_job job) {
  int32_t priority = view->jobs->priority ? view->jobs->priority[job.id] : 0;
  uint32_t kind = hr__pods_kind(&kube->pods, view, job, 0, priority);
  if (kind == HR_NONE) return false;
  if (kube->pods.kinds[kind].is_empty) return hr__job_list_add(&kube->pods.idle_jobs, kube->arena, job);
  if (kube->pods.kinds[kind].never_fits) return hr__job_list_add(&kube->pods.unfit, kube->arena, job);
  return enter_queue(kube, job, kind);
}

/* Removes all pods of a job from their nodes. `is_aside`: they are set aside in the ledger. */
static void unbind(struct hr__kube_policy *kube, hr_job job, bool is_aside) {
  if (hr__pods_first(&kube->pods, job) == HR_NONE) return;
  for (uint32_t at = hr__pods_first(&kube->pods, job); at != HR_NONE; at = kube->pods.pods[at].next_of_job)
    note_freed(kube, kube->pods.pods[at].slice.node.id);
  (void)count_priority(kube, kube->kind_of[job.id], count_pods(kube, job), -1);
  if (is_aside)
    hr__pods_drop(&kube->pods, job);
  else
    hr__pods_cut(&kube->pods, job, HR_NONE, false);
}

/* Called when a node leaves. Removes all held pods of each waiting job that has a held pod on this node. */
static void drop_held(struct hr__kube_policy *kube, const struct hr_view *view, uint32_t node) {
  uint32_t at = kube->pods.nodes[node].first_pod;
  while (at != HR_NONE) {
    hr_job job = {kube->pods.pods[at].job};
    if (view->state[job.id] == HR_JOB_WAITING) {
      unbind(kube, job, false);
      at = kube->pods.nodes[node].first_pod;
    } else {
      at = kube->pods.pods[at].next_on_node;
    }
  }
}

/* Handles a waiting job that was withdrawn because it is not needed any more. False: out of memory. */
static bool withdraw(struct hr__kube_policy *kube, hr_job job) {
  if (hr__pods_lists(&kube->pods, job)) return true; /* the job starts or is rejected in this pass */
  leave_queue(kube, job);
  unbind(kube, job, false);
  return hr__job_list_add(&kube->pods.withdrawn, kube->arena, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__kube_policy *kube = self;
  kube->view = view;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(kube, view, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    unbind(kube, event->job, false);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    unbind(kube, event->job, false);
    return enter_queue(kube, event->job, kube->kind_of[event->job.id]) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_WITHDRAW:
    return withdraw(kube, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
    hr__pods_node_event(&kube->pods, event);
    note_freed(kube, event->node.id);
    return HR_OK;
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    drop_held(kube, view, event->node.id);
    hr__pods_node_event(&kube->pods, event);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- One job ---------------------------------------------------------------------------------------- */

/* Stops the jobs that were evicted for a pod. They enter the queue again. A waiting job loses only its held pods, and
   stays in the queue. */
static void stop_evicted(struct hr__kube_policy *kube) {
  for (uint32_t i = 0; i < kube->evicted.count && kube->status == HR_OK; i++) {
    hr_job job = kube->evicted.jobs[i];
    bool runs = kube->view->state[job.id] == HR_JOB_RUNNING;
    unbind(kube, job, true);
    if (!runs) continue;
    kube->status = hr_moves_requeue(kube->moves, job, HR_REASON_PREEMPTED);
    if (kube->status == HR_OK && !enter_queue(kube, job, kube->kind_of[job.id])) kube->status = HR_NO_MEMORY;
  }
}

/* Starts a job after all its pods are bound. Rejects it instead if its tasks need more GPU memory than their GPUs have.
   `passed_others`: jobs before it in the order still wait. */
static void start(struct hr__kube_policy *kube, hr_job job, bool passed_others) {
  struct hr_placement placement;
  if (!hr__pods_placement(&kube->pods, job, &placement)) {
    kube->status = HR_NO_MEMORY;
    return;
  }
  leave_queue(kube, job);
  if (!hr__pods_have_memory(&kube->pods, job, &placement)) {
    unbind(kube, job, false);
    kube->status = hr_moves_reject(kube->moves, job, HR_REASON_GPU_MEMORY);
    return;
  }
  kube->started_us[job.id] = kube->view->now_us;
  kube->status = hr_moves_start(kube->moves, job, &placement, passed_others ? HR_REASON_BACKFILL : HR_REASON_IN_ORDER);
}

/* Tries the first job of a kind. Returns whether all its pods were placed, so that it left the queue. `passed_others`:
   see `start`. */
static bool try_job(struct hr__kube_policy *kube, uint32_t kind, bool passed_others) {
  hr_job job = kube->queues[kind].head.job;
  bool any_is_lower = kube->n_priorities > 1, holds = kube->config->partial == HR_KUBERNETES_HOLD, placed = false;
  uint32_t before = count_pods(kube, job);
  kube->was_blocked = false;
  kube->evicted.count = 0;
  if (any_is_lower || holds || may_fit(kube, kind)) placed = place_pods(kube, job, kind);
  if (kube->status != HR_OK) return false;
  uint32_t n_new = count_pods(kube, job) - before;
  if (n_new && !count_priority(kube, kind, n_new, 1)) kube->status = HR_NO_MEMORY;
  if (kube->evicted.count) stop_evicted(kube);
  if (placed && kube->status == HR_OK) start(kube, job, passed_others);
  return placed;
}

/* ---- A pass ----------------------------------------------------------------------------------------- */

static void run_queue(struct hr__kube_policy *kube) {
  bool passed_others = false, any_evicted = true;
  while (any_evicted && kube->status == HR_OK) {
    any_evicted = false;
    collect_kinds(kube);
    passed_others = passed_others || kube->n_heap < kube->n_listed;
    for (uint32_t kind = next_kind(kube); kind != HR_NONE; kind = next_kind(kube)) {
      bool started = try_job(kube, kind, passed_others);
      if (kube->status != HR_OK) return;
      any_evicted = any_evicted || kube->evicted.count;
      if (started) {
        try_again(kube, kind, false);
        continue;
      }
      passed_others = true;
      if (hr__pods_first(&kube->pods, kube->queues[kind].head.job) != HR_NONE && kube->queues[kind].jobs.count > 1)
        try_again(kube, kind, true); /* the others may fit in another pool */
      note_failure(kube, kind);
      kube->queues[kind].retries = kube->was_blocked;
    }
  }
}

/* Returns the next waiting job for the autoscaler, kind by kind (hr__pods_next). */
static hr_job next_waiting(void *self, bool fits, uint32_t *kind) {
  struct hr__kube_policy *kube = self;
  for (; kube->scale_at < kube->n_listed; kube->scale_at++) {
    struct hr__kube_queue *queue = &kube->queues[kube->listed[kube->scale_at]];
    bool is_first = *kind != queue->kind;
    bool found = is_first ? hr_job_tree_first(&queue->jobs, &kube->scale_entry)
                          : fits && hr_job_tree_next(&queue->jobs, kube->scale_entry.key, kube->scale_entry.job,
                                                     INT64_MAX, &kube->scale_entry);
    *kind = queue->kind;
    if (found) return kube->scale_entry.job;
  }
  return (hr_job){HR_NONE};
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__kube_policy *kube = self;
  kube->view = view;
  kube->moves = moves;
  kube->status = hr__pods_settle_lists(&kube->pods, moves);
  if (kube->n_listed && kube->status == HR_OK) run_queue(kube);
  int64_t release_us = HR_NEVER_US;
  kube->scale_at = 0;
  if (kube->scales && kube->status == HR_OK)
    kube->status = hr__pods_scale(&kube->pods, view, moves, next_waiting, kube, &release_us);
  if (kube->status != HR_OK) return kube->status;
  int64_t wake_us = queue_wake_us(kube);
  if (release_us < wake_us) wake_us = release_us;
  if (wake_us == HR_NEVER_US || (wake_us == kube->wake_us && kube->wake_us > view->now_us)) return HR_OK;
  kube->wake_us = wake_us;
  return hr_moves_wake_at(moves, wake_us);
}

/* ---- Reasons ---------------------------------------------------------------------------------------- */

/* A waiting job that would fit now waits for the end of its back-off. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__kube_policy *kube = self;
  uint32_t kind = kube->kind_of[job.id];
  kube->view = view;
  if (hr__pods_pool_that_fits(&kube->pods, job, kind) != HR_NONE) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = kube->wake_us > view->now_us ? kube->wake_us : HR_NEVER_US;
    return;
  }
  hr_view_lack(view, job, wait);
}

static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  const struct hr__kube_policy *kube = self;
  (void)view;
  struct hr__pod_lacks lacks = hr__pods_lacks(&kube->pods, kube->kind_of[job.id], count_pods(kube, job));
  int used = snprintf(text, size, "%u/%u nodes are available:", lacks.fits, lacks.n_nodes);
  if (used > 0) hr__pods_put_lacks(&kube->pods, job, &lacks, kube->config->gpu_resource, text, size, (size_t)used);
}

HR_POLICY(kubernetes) = {HR_POLICY_HEAD,
                         .name = "kubernetes",
                         .summary = "kube-scheduler: pods one at a time, by priority, with preemption and autoscaler",
                         .params = hr__pod_params,
                         .create = create,
                         .observe = observe,
                         .decide = decide,
                         .abilities = abilities,
                         .explain = explain,
                         .describe = describe};
