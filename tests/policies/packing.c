/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement rules compared with naive implementations on random small clusters, while tasks start and end. Typical
   pods, fragmentation and random placement are tested in cases computed by hand. */

#include "base/containers.h"
#include "harness.h"
#include "headroom/unstable/capacity.h"
#include "naive_packing.h"

#include <string.h>

/* ---- Random cases ----------------------------------------------------------------------------------- */

enum { MAX_POOLS = 4, MAX_REQUESTS = 12, STEPS = 150, CASES = 150 };

struct held {
  uint32_t request;
  int place;
  uint64_t gpus;
};

struct lab {
  struct hr_arena arena;
  struct hr_pool_spec pools[MAX_POOLS];
  uint32_t order[NAIVE_MOST_NODES];
  struct hr_cluster_spec cluster;
  uint8_t accepts[3][MAX_POOLS];
  struct hr_request requests[MAX_REQUESTS], pods[MAX_REQUESTS];
  uint64_t counts[MAX_REQUESTS];
  struct hr_typical_pods typical;
  uint32_t n_requests;
  struct naive naive;
  struct hr_gpu_inventory *inventory;
  struct held held[STEPS];
  uint32_t n_held;
  uint64_t seed, draws;
};

static uint32_t draw(struct lab *lab, uint32_t bound) {
  return hr_random_below(lab->seed, 99, lab->draws++, bound);
}

static void make_pools(struct lab *lab) {
  uint32_t n_nodes = 0;
  lab->cluster = (struct hr_cluster_spec){.pools = lab->pools, .n_pools = 1 + draw(lab, MAX_POOLS)};
  for (uint32_t i = 0; i < lab->cluster.n_pools; i++) {
    bool tells = draw(lab, 5) > 0;
    lab->pools[i] = (struct hr_pool_spec){.sharing = draw(lab, 4) ? HR_SHARING_FRACTION : HR_SHARING_WHOLE,
                                          .nodes = i ? draw(lab, 6) : 1 + draw(lab, 6),
                                          .gpus_per_node = 1 + draw(lab, NAIVE_MOST_GPUS),
                                          .cpu_milli_per_node = tells ? 1000 * (4 + draw(lab, 64)) : 0,
                                          .mem_mib_per_node = draw(lab, 5) ? 1024 * (16 + draw(lab, 200)) : 0,
                                          .gpu_mem_mib = draw(lab, 2) ? 16384 : 0};
    n_nodes += lab->pools[i].nodes;
  }
  for (uint32_t i = 0; i < n_nodes; i++) lab->order[i] = i;
  for (uint32_t i = n_nodes - 1; i > 0; i--) {
    uint32_t other = draw(lab, i + 1), place = lab->order[i];
    lab->order[i] = lab->order[other];
    lab->order[other] = place;
  }
  if (draw(lab, 2)) lab->cluster.node_order = lab->order;
  for (size_t i = 0; i < sizeof lab->accepts; i++) ((uint8_t *)lab->accepts)[i] = draw(lab, 4) > 0;
}

static struct hr_request make_request(struct lab *lab) {
  static const uint32_t shares[] = {100, 250, 460, 500, 700, 999};
  struct hr_request request = {
      .accept_class = draw(lab, 3), .tasks = 1, .cpu_milli = 500 * draw(lab, 24), .mem_mib = 512 * draw(lab, 40)};
  uint32_t kind = draw(lab, 8);
  if (kind == 0) return request;
  request.gpus = kind < 5 ? 1 : 1 + draw(lab, 4);
  request.gpu_milli = kind < 5 || draw(lab, 4) == 0 ? shares[draw(lab, 6)] : 1000;
  request.gpu_mem_mib = draw(lab, 3) ? 0 : 4096 * draw(lab, 3);
  return request;
}

static void make_nodes(struct lab *lab) {
  for (uint32_t i = 0, id = 0; i < lab->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &lab->pools[i];
    for (uint32_t k = 0; k < pool->nodes; k++, id++) {
      struct naive_node *node = &lab->naive.node[lab->cluster.node_order ? lab->order[id] : id];
      *node = (struct naive_node){
          .pool = i, .id = id, .whole_only = pool->sharing == HR_SHARING_WHOLE, .n_gpus = (int)pool->gpus_per_node};
      node->cpu = node->cpu_capacity = pool->cpu_milli_per_node ? (long)pool->cpu_milli_per_node : -1;
      node->mem = node->mem_capacity = pool->mem_mib_per_node ? (long)pool->mem_mib_per_node : -1;
      for (int gpu = 0; gpu < node->n_gpus; gpu++) {
        node->left[gpu] = 1000;
        node->gpu_mem[gpu] = pool->gpu_mem_mib ? (long)pool->gpu_mem_mib : -1;
      }
      lab->naive.n_nodes++;
    }
  }
}

static void lab_make(struct lab *lab, uint64_t seed) {
  *lab = (struct lab){.seed = seed};
  make_pools(lab);
  lab->n_requests = 2 + draw(lab, MAX_REQUESTS - 1);
  for (uint32_t i = 0; i < lab->n_requests; i++) lab->requests[i] = make_request(lab);
  lab->typical = (struct hr_typical_pods){.request = lab->pods, .pods = lab->counts};
  for (uint32_t i = 0; i < lab->n_requests; i++) {
    lab->pods[i] = lab->requests[i];
    lab->counts[i] = 1 + draw(lab, 20);
    lab->typical.total += lab->counts[i];
    lab->typical.count++;
  }
  lab->naive.acceptance = (struct hr_acceptance){&lab->accepts[0][0], 3, MAX_POOLS};
  lab->naive.acceptance.n_pools = MAX_POOLS;
  lab->naive.typical = &lab->typical;
  lab->naive.seed = seed;
  make_nodes(lab);
  lab->inventory = hr_gpu_inventory_create(&lab->arena, &lab->cluster, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(lab->inventory);
}

static struct hr_packer *make_packer(struct lab *lab, const struct hr_packing_rule *rule) {
  const struct hr_packer_config config = {.rule = rule,
                                          .inventory = lab->inventory,
                                          .cluster = &lab->cluster,
                                          .acceptance = lab->naive.acceptance,
                                          .requests = lab->requests,
                                          .n_requests = lab->n_requests,
                                          .typical = &lab->typical,
                                          .seed = lab->seed};
  struct hr_packer *packer = hr_packer_create(&lab->arena, &config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(packer);
  return packer;
}

static void take(struct lab *lab, struct hr_packer *packer, struct held task) {
  struct naive_node *node = &lab->naive.node[task.place];
  const struct hr_slice slice = {.node = {node->id}, .gpus = task.gpus};
  hr_gpu_inventory_take(lab->inventory, &lab->requests[task.request], &slice);
  hr_packer_taken(packer, task.request, (hr_node){node->id});
  naive_change(node, &lab->requests[task.request], task.gpus, 1);
  lab->held[lab->n_held++] = task;
}

static void give_one(struct lab *lab, struct hr_packer *packer) {
  uint32_t which = draw(lab, lab->n_held);
  struct held task = lab->held[which];
  struct naive_node *node = &lab->naive.node[task.place];
  lab->held[which] = lab->held[--lab->n_held];
  const struct hr_slice slice = {.node = {node->id}, .gpus = task.gpus};
  hr_gpu_inventory_give(lab->inventory, &lab->requests[task.request], &slice);
  hr_packer_given(packer, task.request, (hr_node){node->id});
  naive_change(node, &lab->requests[task.request], task.gpus, -1);
}

static bool same_choice(struct lab *lab, struct hr_packer *packer, const char *rule, uint32_t request) {
  hr_node node = {HR_NONE};
  uint64_t gpus = 0, naive_gpus;
  int place = naive_find(&lab->naive, rule, &lab->requests[request], &naive_gpus);
  bool found = hr_packer_find(packer, request, &node, &gpus);
  if (strcmp(rule, "random") != 0) CU_ASSERT_EQUAL(hr_packer_find(packer, request, &node, &gpus), found);
  bool same = found == (place >= 0) && (!found || (node.id == lab->naive.node[place].id && gpus == naive_gpus));
  if (!same)
    printf("\n  %s, seed %d, find %d: node %u GPUs %llx; naive: %d GPUs %llx\n", rule, (int)lab->seed,
           (int)lab->naive.finds, node.id, (unsigned long long)gpus, place < 0 ? -1 : (int)lab->naive.node[place].id,
           (unsigned long long)naive_gpus);
  if (same && found) take(lab, packer, (struct held){request, place, gpus});
  return same;
}

/* Returns the number of tasks that were placed; -1 if a choice differs. */
static int run_case(const struct hr_packing_rule *rule, uint64_t seed) {
  struct lab lab;
  lab_make(&lab, seed);
  struct hr_packer *packer = make_packer(&lab, rule);
  uint32_t gives = draw(&lab, 60);
  int placed = 0;
  for (int step = 0; step < STEPS && placed >= 0; step++) {
    uint32_t before = lab.n_held;
    if (lab.n_held && draw(&lab, 100) < gives)
      give_one(&lab, packer);
    else if (!same_choice(&lab, packer, rule->name, draw(&lab, lab.n_requests)))
      placed = -1;
    else
      placed += lab.n_held > before;
  }
  hr__arena_finish(&lab.arena);
  return placed;
}

static void rules_equal_naive_rules(void) {
  for (const struct hr_packing_rule *const *rule = hr_packing_rules(); *rule; rule++) {
    long placed = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
      int count = run_case(*rule, seed);
      CU_ASSERT_TRUE(count >= 0);
      if (count < 0) return;
      placed += count;
    }
    CU_ASSERT_TRUE(placed > 10 * CASES);
  }
}

static void fragmentation_equals_naive_sum(void) {
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    struct lab lab;
    lab_make(&lab, seed);
    struct hr_packer *packer = make_packer(&lab, hr_packing_rule_find("worst-fit", NULL));
    struct hr_fragmentation *f =
        hr_fragmentation_create(&lab.arena, &lab.typical, &lab.naive.acceptance, lab.inventory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int step = 0; step < 60; step++) {
      (void)same_choice(&lab, packer, "worst-fit", draw(&lab, lab.n_requests));
      int place = (int)draw(&lab, (uint32_t)lab.naive.n_nodes);
      const struct naive_node *node = &lab.naive.node[place];
      CU_ASSERT_EQUAL(hr_fragmentation_of(f, (hr_node){node->id}), (uint64_t)naive_fragment(&lab.naive, node));
    }
    hr__arena_finish(&lab.arena);
  }
}

/* ---- Cases computed by hand ------------------------------------------------------------------------- */

/* Typical pods are the most frequent requests that together make up 95 % of all pods. Here these are 19 of 20 pods; the
   request of the twentieth pod is omitted. */
static void typical_pods_cover_95_per_cent(void) {
  enum { JOBS = 20 };
  uint32_t gpus[JOBS], cpu_milli[JOBS];
  uint64_t mem_mib[JOBS];
  for (uint32_t i = 0; i < JOBS; i++) {
    gpus[i] = i < 6 ? 0 : 1;
    cpu_milli[i] = i == JOBS - 1 ? 9000 : 4000;
    mem_mib[i] = i; /* has no effect on the result */
  }
  struct hr_trace trace = {.n_jobs = JOBS, .gpus = gpus, .cpu_milli = cpu_milli, .mem_mib = mem_mib};
  struct hr_arena arena = {0};
  struct hr_requests *requests = hr_requests_create(&arena, &trace, NULL, NULL, NULL);
  struct hr_typical_pods *typical = requests ? hr_typical_pods_create(&arena, requests) : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(typical);
  CU_ASSERT_EQUAL(requests->count, JOBS);
  CU_ASSERT_EQUAL(requests->of_job[7], 7);
  CU_ASSERT_EQUAL_FATAL(typical->count, 2);
  CU_ASSERT_EQUAL(typical->pods[0], 13);
  CU_ASSERT_EQUAL(typical->request[0].gpus, 1);
  CU_ASSERT_EQUAL(typical->request[0].gpu_milli, 1000);
  CU_ASSERT_EQUAL(typical->pods[1], 6);
  CU_ASSERT_EQUAL(typical->request[1].gpus, 0);
  CU_ASSERT_EQUAL(typical->total, 19);
  hr__arena_finish(&arena);
}

/* The GPUs of a job are divided among its tasks, and each task is one pod. */
static void requests_are_per_task(void) {
  const uint32_t gpus[] = {8, 8, 2}, tasks[] = {4, 1, 1};
  const uint16_t gpu_milli[] = {1000, 1000, 500};
  struct hr_trace trace = {.n_jobs = 3, .gpus = gpus, .tasks = tasks, .gpu_milli = gpu_milli};
  struct hr_arena arena = {0};
  struct hr_requests *requests = hr_requests_create(&arena, &trace, NULL, NULL, NULL);
  struct hr_typical_pods *typical = requests ? hr_typical_pods_create(&arena, requests) : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(typical);
  CU_ASSERT_EQUAL_FATAL(requests->count, 3);
  CU_ASSERT_EQUAL(requests->request[0].gpus, 2);
  CU_ASSERT_EQUAL(requests->request[0].tasks, 4);
  CU_ASSERT_EQUAL(requests->request[2].gpu_milli, 500);
  CU_ASSERT_EQUAL(typical->pods[0], 4);
  CU_ASSERT_EQUAL(hr_request_kind(&requests->request[2]), HR_KIND_SHARE);
  CU_ASSERT_EQUAL(hr_request_kind(&requests->request[1]), HR_KIND_WHOLE + 7);
  hr__arena_finish(&arena);
}

/* A node with 2 GPUs and 8 CPUs. A pod uses half a GPU and 6 CPUs of it, so 1500 thousandths of a GPU and 2 CPUs are
   free. The comments state how many of the 1500 thousandths are fragments for each typical pod. */
static void fragmentation_of_one_node(void) {
  struct hr_pool_spec pool = {
      .sharing = HR_SHARING_FRACTION, .nodes = 1, .gpus_per_node = 2, .cpu_milli_per_node = 8000};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_request taken = {.gpus = 1, .gpu_milli = 500, .cpu_milli = 6000};
  /* the pod needs no GPU, so all 1500 are fragments */
  struct hr_request pods[] = {{.gpus = 0, .cpu_milli = 1000},
                              /* 500 are fragments: too small for the pod */
                              {.gpus = 1, .gpu_milli = 1000, .cpu_milli = 2000},
                              {.gpus = 1, .gpu_milli = 250, .cpu_milli = 1000}, /* no fragments */
                              /* all 1500 are fragments: not enough CPU */
                              {.gpus = 1, .gpu_milli = 250, .cpu_milli = 4000},
                              /* all 1500 are fragments: only one GPU is wholly free */
                              {.gpus = 2, .gpu_milli = 1000, .cpu_milli = 1000}};
  uint64_t counts[] = {1, 2, 3, 4, 5};
  struct hr_typical_pods typical = {.count = 5, .request = pods, .pods = counts, .total = 15};
  const uint8_t accepted = 1;
  struct hr_acceptance acceptance = {&accepted, 1, 1};
  struct hr_arena arena = {0};
  struct hr_gpu_inventory *inventory = hr_gpu_inventory_create(&arena, &cluster, NULL);
  struct hr_fragmentation *f = inventory ? hr_fragmentation_create(&arena, &typical, &acceptance, inventory) : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(f);
  uint64_t wanted = 1 * 1500 + 2 * 500 + 4 * 1500 + 5 * 1500;
  CU_ASSERT_EQUAL(hr_fragmentation_of(f, (hr_node){0}), 1 * 2000);
  CU_ASSERT_EQUAL(hr_fragmentation_after(f, &taken, (hr_node){0}, 1), wanted);
  hr_gpu_inventory_take(inventory, &taken, &(struct hr_slice){.gpus = 2});
  CU_ASSERT_EQUAL(hr_fragmentation_of(f, (hr_node){0}), wanted);
  hr__arena_finish(&arena);
}

/* With each additional CPU in use, one more of the pods does not fit. The node therefore has many states, and some of
   them collide in the table of known states. */
static void fragmentation_of_many_states(void) {
  enum { PODS = 9000 };
  struct hr_pool_spec pool = {
      .sharing = HR_SHARING_FRACTION, .nodes = 1, .gpus_per_node = 1, .cpu_milli_per_node = PODS};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_request pods[PODS], one = {.cpu_milli = 1};
  uint64_t counts[PODS];
  for (uint32_t i = 0; i < PODS; i++) {
    pods[i] = (struct hr_request){.gpus = 1, .gpu_milli = 1000, .cpu_milli = i + 1};
    counts[i] = 1;
  }
  struct hr_typical_pods typical = {.count = PODS, .request = pods, .pods = counts, .total = PODS};
  const uint8_t accepted = 1;
  struct hr_acceptance acceptance = {&accepted, 1, 1};
  struct hr_arena arena = {0};
  struct hr_gpu_inventory *inventory = hr_gpu_inventory_create(&arena, &cluster, NULL);
  struct hr_fragmentation *f = inventory ? hr_fragmentation_create(&arena, &typical, &acceptance, inventory) : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(f);
  for (uint32_t taken = 0; taken < PODS; taken++) {
    CU_ASSERT_EQUAL(hr_fragmentation_of(f, (hr_node){0}), taken * 1000);
    hr_gpu_inventory_take(inventory, &one, &(struct hr_slice){.gpus = 0});
  }
  hr__arena_finish(&arena);
}

static struct hr_packing_rule counted;
static uint32_t n_scores;

static int32_t count_score(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  n_scores++;
  return hr_packing_rule_find("fgd", NULL)->score(packing, request, node);
}

/* There are two pools of equal nodes. At first, one score per pool is computed. Then ten nodes of the first pool get an
   equal task, and one node of the second pool gets another task. There are then four sets of nodes in equal state, and
   one score is computed for each set. */
static void equivalent_nodes_share_a_score(void) {
  struct hr_pool_spec pools[2] = {{.sharing = HR_SHARING_FRACTION, .nodes = 500, .gpus_per_node = 4},
                                  {.sharing = HR_SHARING_FRACTION, .nodes = 700, .gpus_per_node = 8}};
  struct hr_cluster_spec cluster = {.pools = pools, .n_pools = 2};
  struct hr_request requests[3];
  for (uint32_t i = 0; i < 3; i++) requests[i] = (struct hr_request){.tasks = 1, .gpus = 1, .gpu_milli = 300 + i};
  uint64_t counts[] = {1, 1, 1};
  struct hr_typical_pods typical = {.count = 3, .request = requests, .pods = counts, .total = 3};
  const uint8_t accepted[] = {1, 1};
  struct hr_arena arena = {0};
  counted = *hr_packing_rule_find("fgd", NULL);
  counted.score = count_score;
  const struct hr_packer_config config = {.rule = &counted,
                                          .inventory = hr_gpu_inventory_create(&arena, &cluster, NULL),
                                          .cluster = &cluster,
                                          .acceptance = {accepted, 1, 2},
                                          .requests = requests,
                                          .n_requests = 3,
                                          .typical = &typical};
  struct hr_packer *packer = hr_packer_create(&arena, &config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(packer);
  hr_node node;
  uint64_t gpus;
  n_scores = 0;
  CU_ASSERT_TRUE(hr_packer_find(packer, 0, &node, &gpus));
  CU_ASSERT_EQUAL(n_scores, 2);
  for (uint32_t i = 0; i < 10; i++) { /* ten equivalent nodes, and one that differs */
    hr_gpu_inventory_take((struct hr_gpu_inventory *)(uintptr_t)config.inventory, &requests[0],
                          &(struct hr_slice){{100 + i}, 0, 1, {0}});
    hr_packer_taken(packer, 0, (hr_node){100 + i});
  }
  hr_gpu_inventory_take((struct hr_gpu_inventory *)(uintptr_t)config.inventory, &requests[1],
                        &(struct hr_slice){{600}, 0, 1, {0}});
  hr_packer_taken(packer, 1, (hr_node){600});
  n_scores = 0;
  CU_ASSERT_TRUE(hr_packer_find(packer, 2, &node, &gpus));
  CU_ASSERT_EQUAL(n_scores, 4);
  hr__arena_finish(&arena);
}

static void random_rule_reaches_every_node_and_gpu(void) {
  enum { NODES = 5, GPUS = 4, DRAWS = 20000 };
  struct hr_pool_spec pool = {.sharing = HR_SHARING_FRACTION, .nodes = NODES, .gpus_per_node = GPUS};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_request share = {.gpus = 1, .gpu_milli = 500};
  const uint8_t accepted = 1;
  struct hr_arena arena = {0};
  const struct hr_packer_config config = {.rule = hr_packing_rule_find("random", NULL),
                                          .inventory = hr_gpu_inventory_create(&arena, &cluster, NULL),
                                          .cluster = &cluster,
                                          .acceptance = {&accepted, 1, 1},
                                          .requests = &share,
                                          .n_requests = 1,
                                          .seed = 7};
  struct hr_packer *packer = hr_packer_create(&arena, &config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(packer);
  int seen[NODES][GPUS] = {{0}};
  for (int i = 0; i < DRAWS; i++) {
    hr_node node;
    uint64_t gpus;
    CU_ASSERT_TRUE_FATAL(hr_packer_find(packer, 0, &node, &gpus));
    seen[node.id][__builtin_ctzll(gpus)]++;
  }
  /* With 19 degrees of freedom, chi-square exceeds 43.8 with a probability of 0.001. */
  double expected = (double)DRAWS / (NODES * GPUS), chi = 0;
  for (int node = 0; node < NODES; node++)
    for (int gpu = 0; gpu < GPUS; gpu++) chi += (seen[node][gpu] - expected) * (seen[node][gpu] - expected) / expected;
  CU_ASSERT_TRUE(chi < 43.8);
  hr__arena_finish(&arena);
}

static void rules_are_found_by_name(void) {
  struct hr_error error = {0};
  CU_ASSERT_PTR_NULL(hr_packing_rule_find("best-fitt", &error));
  CU_ASSERT_STRING_EQUAL(error.text, "unknown placement rule 'best-fitt'; did you mean 'best-fit'?");
  for (const struct hr_packing_rule *const *rule = hr_packing_rules(); *rule; rule++)
    CU_ASSERT_PTR_EQUAL(hr_packing_rule_find((*rule)->name, &error), *rule);
}

TEST_MAIN("policies_packing", TEST(rules_equal_naive_rules), TEST(fragmentation_equals_naive_sum),
          TEST(typical_pods_cover_95_per_cent), TEST(requests_are_per_task), TEST(fragmentation_of_one_node),
          TEST(fragmentation_of_many_states), TEST(equivalent_nodes_share_a_score),
          TEST(random_rule_reaches_every_node_and_gpu), TEST(rules_are_found_by_name))
