/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the rules of kube-scheduler (policies/kubernetes/kubernetes.h) with a naive implementation in random worlds,
   and runs of the policy with results computed by hand. */

#include "policies/kubernetes/kubernetes.h"
#include "harness.h"
#include "headroom/unstable/systems/systems.h"
#include "small_run.h"

#include <math.h>
#include <stdlib.h>

enum { WORLDS = 10000, MAX_NODES = 5, MAX_PODS = 7, RESOURCES = 4 };

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

/* ---- Random worlds ---- */

struct world_node {
  int64_t has[RESOURCES], allowed;
  uint32_t n_pods;
  struct {
    int64_t asks[RESOURCES], start;
    int32_t priority;
    bool in_budget;
  } pods[MAX_PODS];
};

static struct {
  struct world_node nodes[MAX_NODES];
  uint32_t n_nodes;
  int64_t asks[RESOURCES];
  int32_t priority;
  int64_t allowance;
} world;

static void draw_asks(int64_t *asks) {
  for (uint32_t r = 0; r < RESOURCES; r++) asks[r] = draw(4);
  asks[2] = 0;
}

static void draw_world(void) {
  world.n_nodes = 1 + draw(MAX_NODES);
  world.allowance = draw(3);
  world.priority = (int32_t)draw(4);
  draw_asks(world.asks);
  for (uint32_t i = 0; i < world.n_nodes; i++) {
    struct world_node *node = &world.nodes[i];
    node->allowed = 1 + draw(MAX_PODS + 1);
    node->n_pods = draw(MAX_PODS + 1);
    int64_t slack[RESOURCES] = {0};
    for (uint32_t k = 0; k < node->n_pods; k++) {
      draw_asks(node->pods[k].asks);
      node->pods[k].priority = (int32_t)draw(4);
      node->pods[k].start = draw(5);
      node->pods[k].in_budget = draw(2);
      for (uint32_t r = 0; r < RESOURCES; r++) slack[r] += node->pods[k].asks[r];
    }
    if (node->allowed < node->n_pods) node->allowed = node->n_pods;
    for (uint32_t r = 0; r < RESOURCES; r++) node->has[r] = slack[r] + draw(4);
  }
}

/* ---- The naive implementation ---- */

/* Returns whether the new pod fits together with the pods of `kept`. */
static bool naive_fits(const struct world_node *node, const bool *kept) {
  int64_t n = 0, sum[RESOURCES] = {0};
  for (uint32_t k = 0; k < node->n_pods; k++) {
    if (!kept[k]) continue;
    n++;
    for (uint32_t r = 0; r < RESOURCES; r++) sum[r] += node->pods[k].asks[r];
  }
  bool fits = n < node->allowed;
  for (uint32_t r = 0; r < RESOURCES; r++)
    if (world.asks[r] > 0 && sum[r] + world.asks[r] > node->has[r]) fits = false;
  return fits;
}

/* Returns the most important pod of lower priority that was not visited: the pod with the highest priority; of these,
   the pod that started first. HR_NONE: no such pod. */
static uint32_t naive_next(const struct world_node *node, const bool *visited) {
  uint32_t best = HR_NONE;
  for (uint32_t k = 0; k < node->n_pods; k++) {
    if (visited[k] || node->pods[k].priority >= world.priority) continue;
    if (best == HR_NONE || node->pods[k].priority > node->pods[best].priority ||
        (node->pods[k].priority == node->pods[best].priority && node->pods[k].start < node->pods[best].start))
      best = k;
  }
  return best;
}

/* Sets `kept` for the pods that are not evicted. Returns false if the node is not a candidate. */
static bool naive_victims(const struct world_node *node, bool *kept, uint32_t *n_violations) {
  bool visited[MAX_PODS] = {0}, violates[MAX_PODS] = {0}, any = false;
  int64_t spent = 0;
  *n_violations = 0;
  for (uint32_t k = 0; k < node->n_pods; k++) {
    kept[k] = node->pods[k].priority >= world.priority;
    any = any || !kept[k];
  }
  if (!any || !naive_fits(node, kept)) return false;
  for (uint32_t k; (k = naive_next(node, visited)) != HR_NONE;) {
    visited[k] = true;
    violates[k] = node->pods[k].in_budget && ++spent > world.allowance;
  }
  for (int first = 1; first >= 0; first--) {
    memset(visited, 0, sizeof visited);
    for (uint32_t k; (k = naive_next(node, visited)) != HR_NONE;) {
      visited[k] = true;
      if (violates[k] != (first == 1)) continue;
      kept[k] = true;
      if (naive_fits(node, kept)) continue;
      kept[k] = false;
      *n_violations += violates[k];
    }
  }
  return true;
}

/* Returns the score LeastAllocated (`least`) or MostAllocated, of CPU and GPUs with the weights 1 and 3. */
static int64_t naive_score(const struct world_node *node, bool least) {
  int64_t sum = 0, weights = 0;
  static const uint32_t resources[] = {0, 3};
  static const int64_t weight_of[] = {1, 3};
  for (int i = 0; i < 2; i++) {
    uint32_t r = resources[i];
    int64_t used = world.asks[r] ? world.asks[r] : r == 0 ? 100 : 0, has = node->has[r];
    if (has == 0 || (r == 3 && world.asks[r] == 0)) continue;
    for (uint32_t k = 0; k < node->n_pods; k++)
      used += node->pods[k].asks[r] ? node->pods[k].asks[r] : r == 0 ? 100 : 0;
    int64_t score = least ? (used > has ? 0 : (has - used) * 100 / has) : (used > has ? 100 : used * 100 / has);
    sum += score * weight_of[i];
    weights += weight_of[i];
  }
  return weights ? sum / weights : 0;
}

static int64_t naive_balance(const struct world_node *node) {
  double shares[RESOURCES], mean = 0, squares = 0;
  int n = 0;
  for (uint32_t r = 0; r < RESOURCES; r++) {
    if (r == 2 || node->has[r] == 0 || (r == 3 && world.asks[r] == 0)) continue;
    double used = (double)world.asks[r];
    for (uint32_t k = 0; k < node->n_pods; k++) used += (double)node->pods[k].asks[r];
    shares[n++] = used > (double)node->has[r] ? 1 : used / (double)node->has[r];
  }
  if (n < 2) return 100;
  if (n == 2) return (int64_t)((1 - fabs((shares[0] - shares[1]) / 2)) * 100);
  for (int i = 0; i < n; i++) mean += shares[i];
  mean /= n;
  for (int i = 0; i < n; i++) squares += (shares[i] - mean) * (shares[i] - mean);
  return (int64_t)((1 - sqrt(squares / n)) * 100);
}

/* ---- Comparison ---- */

static int64_t used[MAX_NODES][RESOURCES];
static struct hr__kube_pod_state states[MAX_NODES * MAX_PODS];

static struct hr__kube_request request_of(int64_t *asks) {
  return (struct hr__kube_request){asks, {asks[0] ? asks[0] : 100, asks[1] ? asks[1] : INT64_C(200) << 20}};
}

static void make_nodes(struct hr__kube_node *nodes) {
  memset(used, 0, sizeof used);
  for (uint32_t i = 0; i < world.n_nodes; i++) {
    struct world_node *node = &world.nodes[i];
    nodes[i] = (struct hr__kube_node){.allocatable = node->has, .used = used[i], .allowed_pods = node->allowed};
    for (uint32_t k = 0; k < node->n_pods; k++) {
      struct hr__kube_pod_state *state = &states[i * MAX_PODS + k];
      *state = (struct hr__kube_pod_state){.request = request_of(node->pods[k].asks),
                                           .start = node->pods[k].start,
                                           .priority = node->pods[k].priority,
                                           .node = i,
                                           .budgets = node->pods[k].in_budget};
      hr__kube_node_add(&nodes[i], &state->request, RESOURCES, 1);
    }
  }
}

static void compare_scores(const struct hr__kube_node *node, const struct world_node *by_hand,
                           const struct hr__kube_request *request) {
  static const uint32_t resources[] = {0, 3}, all[] = {0, 1, 3};
  static const int64_t weights[] = {1, 3, 1};
  struct hr__kube_scoring scoring = {HR__KUBE_LEAST_ALLOCATED, resources, weights, 2, NULL, 0};
  CU_ASSERT_EQUAL(hr__kube_score(&scoring, node, request), naive_score(by_hand, true));
  scoring.strategy = HR__KUBE_MOST_ALLOCATED;
  CU_ASSERT_EQUAL(hr__kube_score(&scoring, node, request), naive_score(by_hand, false));
  scoring = (struct hr__kube_scoring){HR__KUBE_BALANCED_ALLOCATION, all, weights, 3, NULL, 0};
  CU_ASSERT_EQUAL(hr__kube_score(&scoring, node, request), naive_balance(by_hand));
}

static void compare_victims(struct hr__kube_node *node, uint32_t at, const struct hr__kube_pod_state *pod) {
  const struct world_node *by_hand = &world.nodes[at];
  uint32_t on_node[MAX_PODS], victims[MAX_PODS], n_violations;
  bool kept[MAX_PODS] = {false};
  for (uint32_t k = 0; k < by_hand->n_pods; k++) on_node[k] = at * MAX_PODS + k;
  const struct hr__kube_preemption preemption = {states, RESOURCES, NULL, &world.allowance, 1};
  struct hr__kube_candidate candidate = {.node = at, .victims = victims};
  bool found = hr__kube_find_victims(&preemption, pod, node, on_node, by_hand->n_pods, &candidate);
  bool expected = naive_victims(by_hand, kept, &n_violations);
  CU_ASSERT_EQUAL(found, expected);
  if (!found || !expected) return;
  uint32_t n_victims = 0;
  for (uint32_t k = 0; k < by_hand->n_pods; k++) n_victims += !kept[k];
  CU_ASSERT_EQUAL(candidate.n_victims, n_victims);
  CU_ASSERT_EQUAL(candidate.n_violations, n_violations);
  for (uint32_t i = 0; i < candidate.n_victims; i++) CU_ASSERT_FALSE(kept[victims[i] - at * MAX_PODS]);
}

static void rules_agree_with_the_naive_ones(void) {
  struct hr__kube_node nodes[MAX_NODES];
  for (uint32_t i = 0; i < WORLDS; i++) {
    draw_world();
    make_nodes(nodes);
    struct hr__kube_pod_state pod = {.request = request_of(world.asks), .priority = world.priority};
    for (uint32_t k = 0; k < world.n_nodes; k++) {
      bool all[MAX_PODS] = {true, true, true, true, true, true, true};
      CU_ASSERT_EQUAL(hr__kube_fit(&nodes[k], &pod.request, RESOURCES, NULL, NULL) == 0,
                      naive_fits(&world.nodes[k], all));
      compare_scores(&nodes[k], &world.nodes[k], &pod.request);
      compare_victims(&nodes[k], k, &pod);
    }
  }
}

/* ---- Runs ---- */

/* Two nodes of 8 GPUs. A pod of high priority evicts the pod that started last; the victim runs again afterwards. */
static void a_pod_evicts_the_youngest_of_the_lowest_priority(void) {
  const struct small_run run = {.n_jobs = 3,
                                .submit_s = {0, 10, 20},
                                .work_s = {100, 100, 50},
                                .gpus = {8, 8, 8},
                                .priority = {1, 1, 2},
                                .n_pools = 1,
                                .nodes = {2},
                                .gpus_per_node = {8},
                                .policy = "kubernetes"};
  struct hr_result *result = small_run(run);
  CU_ASSERT_EQUAL(result->start_us[2], 20 * HR_SECOND_US);
  CU_ASSERT(ended(result, 2, 70, 1));
  CU_ASSERT(ended(result, 0, 100, 1));
  CU_ASSERT(ended(result, 1, 170, 2)); /* runs from its start again, at 70 s */
  hr_result_destroy(result);
}

/* A pod could not be scheduled at 1 s, nor at 2 s. From 2 s on, its back-off lasts 2 s. So it starts at 4 s, although
   enough GPUs are free from 3 s on. */
static void a_pod_waits_for_its_back_off(void) {
  const struct small_run run = {.n_jobs = 4,
                                .submit_s = {0, 0, 0, 1},
                                .work_s = {2, 3, 100, 10},
                                .gpus = {1, 1, 6, 2},
                                .n_pools = 1,
                                .nodes = {1},
                                .gpus_per_node = {8},
                                .policy = "kubernetes"};
  struct hr_result *result = small_run(run);
  CU_ASSERT_EQUAL(result->start_us[3], 4 * HR_SECOND_US);
  hr_result_destroy(result);
}

/* Job 1 needs both nodes and waits until job 0 ends. Job 2 starts before it on the second node. */
static void a_job_starts_when_all_its_pods_fit(void) {
  const struct small_run run = {.n_jobs = 3,
                                .submit_s = {0, 1, 2},
                                .work_s = {10, 50, 5},
                                .gpus = {8, 16, 8},
                                .n_pools = 1,
                                .nodes = {2},
                                .gpus_per_node = {8},
                                .policy = "kubernetes"};
  struct hr_result *result = small_run(run);
  CU_ASSERT_EQUAL(result->start_us[2], 2 * HR_SECOND_US); /* it does not wait behind the job of two nodes */
  CU_ASSERT_EQUAL(result->start_us[1], 10 * HR_SECOND_US);
  hr_result_destroy(result);
}

TEST_MAIN("kube-scheduler", TEST(rules_agree_with_the_naive_ones),
          TEST(a_pod_evicts_the_youngest_of_the_lowest_priority), TEST(a_pod_waits_for_its_back_off),
          TEST(a_job_starts_when_all_its_pods_fit))
