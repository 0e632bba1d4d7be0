/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of KAI against its model: single rules.
 *
 * These cases are rows of tables in KAI's tests. Most members have the names of the fields of KAI. Amounts are in
 * thousandths of a core, in bytes and in GPUs. A missing member of a share is 0, as in Go.
 */

#include "scenarios/conform/conform.h"

#include "policies/kai/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double units[HR__KAI_RESOURCES] = {1, 1, HR__KAI_GPU_UNIT};
static const int resource_order[HR__KAI_RESOURCES] = {HR__KAI_CPU, HR__KAI_MEM, HR__KAI_GPU};
static const char *const words[HR__KAI_RESOURCES] = {"CPU", "Memory", "GPU"};
static const char *const short_words[HR__KAI_RESOURCES] = {"cpu", "mem", "gpu"};
static const char *const request_words[HR__KAI_RESOURCES] = {"cpu_milli", "mem_bytes", "gpus"};
static const int non_preemptible_priority = 100;

/* Converts an amount of a case to the unit of the model. A negative amount means unlimited. */
static int64_t to_amount(double value, int resource) {
  return value < 0 ? HR__KAI_UNLIMITED : llround(value * units[resource]);
}

static double from_amount(int64_t amount, int resource) {
  return amount == HR__KAI_UNLIMITED ? -1 : (double)amount / units[resource];
}

static struct hr__kai_amounts read_amounts(const cJSON *source, const char *const *names) {
  struct hr__kai_amounts amounts;
  for (int i = 0; i < HR__KAI_RESOURCES; i++) {
    const int r = resource_order[i];
    amounts.of[r] = to_amount(hr__case_real(source, names[r], 0), r);
  }
  return amounts;
}

static unsigned involved_in(const struct hr__kai_amounts *amounts) {
  unsigned involved = 0;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) involved |= (unsigned)(amounts->of[r] > 0) << r;
  return involved;
}

static void compare_real(struct hr__verdict *verdict, const char *place, const cJSON *expected, double actual) {
  const cJSON value = {.type = cJSON_Number, .valuedouble = actual};
  hr__verdict_compare(verdict, place, expected, &value, HR__COMPARE_EXACTLY, 1e-9);
}

/* ---- Queues ---- */

/* Reads a share. The members have the names of the fields of KAI. */
static struct hr__kai_share read_share(const cJSON *source, int resource) {
  return (struct hr__kai_share){.deserved = to_amount(hr__case_real(source, "Deserved", 0), resource),
                                .limit = to_amount(hr__case_real(source, "MaxAllowed", 0), resource),
                                .fair = to_amount(hr__case_real(source, "FairShare", 0), resource),
                                .allocated = to_amount(hr__case_real(source, "Allocated", 0), resource),
                                .allocated_non_preemptible =
                                    to_amount(hr__case_real(source, "AllocatedNotPreemptible", 0), resource),
                                .request = to_amount(hr__case_real(source, "Request", 0), resource),
                                .weight = hr__case_real(source, "OverQuotaWeight", 0)};
}

/* Reads a creation time, of which only the order matters. A number is the time. The text "now" is 0, and a text such as
   "nowMinus1" is -1. */
static int64_t read_created(const cJSON *value) {
  if (!cJSON_IsString(value)) return hr__case_value_whole(value, 0);
  const char *minus = strstr(value->valuestring, "Minus");
  return minus ? -strtoll(minus + strlen("Minus"), NULL, 10) : 0;
}

static void read_attributes(const cJSON *source, struct hr__kai_queue *queue) {
  const cJSON *shares = hr__case_get(source, "QueueResourceShare"), *quotas = hr__case_get(source, "Resources");
  queue->priority = (int32_t)hr__case_whole(source, "Priority", 0);
  queue->created = read_created(hr__case_get(source, "CreationTimestamp"));
  queue->preempt_min_runtime_us = queue->reclaim_min_runtime_us = -1;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const cJSON *quota = hr__case_get(quotas, words[r]);
    queue->share[r] = read_share(hr__case_get(shares, words[r]), r);
    if (!quota) continue;
    queue->share[r].deserved = to_amount(hr__case_real(quota, "Quota", 0), r);
    queue->share[r].limit = to_amount(hr__case_real(quota, "Limit", 0), r);
    queue->share[r].weight = hr__case_real(quota, "OverQuotaWeight", 0);
  }
}

static bool read_attribute_queues(struct hr__kai_queues *queues, const cJSON *source, struct hr__verdict *verdict) {
  if (!hr__kai_read_queues(queues, source, NULL, "ParentQueue", verdict)) return false;
  uint32_t i = 0;
  const cJSON *queue;
  cJSON_ArrayForEach(queue, source) read_attributes(queue, &queues->list[i++]);
  return true;
}

/* ---- Division ---- */

static void run_division(struct hr__verdict *verdict) {
  static const int r = HR__KAI_GPU; /* the resource with the finest unit; all resources are divided in the same way */
  struct hr__kai_queues queues;
  const cJSON *source = hr__case_get(verdict->input, "queues"), *queue;
  const char *fn = hr__case_text(verdict->input, "fn", "");
  if (!hr__kai_read_queues(&queues, source, NULL, "parent", verdict)) return;
  uint32_t *ids = hr__verdict_alloc(verdict, queues.n, sizeof *ids), i = 0;
  double *remainders = hr__verdict_alloc(verdict, queues.n, sizeof *remainders);
  if (!ids || !remainders) return;
  for (queue = source ? source->child : NULL; queue; queue = queue->next, i++) {
    ids[i] = i;
    queues.list[i].priority = (int32_t)hr__case_whole(queue, "priority", 0);
    queues.list[i].created = hr__case_whole(queue, "created", 0);
    queues.list[i].share[r] = (struct hr__kai_share){.deserved = to_amount(hr__case_real(queue, "deserved", 0), r),
                                                     .limit = to_amount(hr__case_real(queue, "limit", -1), r),
                                                     .fair = to_amount(hr__case_real(queue, "fair", 0), r),
                                                     .request = to_amount(hr__case_real(queue, "request", 0), r),
                                                     .weight = hr__case_real(queue, "weight", 0),
                                                     .usage = hr__case_real(queue, "usage", 0)};
  }
  const double k = hr__case_real(verdict->input, "k_value", 0);
  const struct hr__kai_amounts total = {
      .of = {[HR__KAI_GPU] = to_amount(hr__case_real(verdict->input, "total", 0), r)}};
  int64_t rest = 0;
  if (strcmp(fn, "fair_share_hierarchical") == 0)
    hr__kai_divide_tree(queues.list, queues.n, &total, k, ids, remainders);
  else if (strcmp(fn, "over_quota_phase_only") == 0)
    rest = hr__kai_divide_rest(queues.list, ids, queues.n, r, total.of[r], k, remainders);
  else
    rest = hr__kai_divide(queues.list, ids, queues.n, r, total.of[r], k, remainders);
  cJSON_ArrayForEach(queue, hr__case_get(verdict->expect, "fair_share")) {
    const uint32_t q = hr__case_find(queues.names, queues.n, queue->string);
    compare_real(verdict, queue->string, queue, q == HR__KAI_NONE ? -1 : from_amount(queues.list[q].share[r].fair, r));
  }
  if (hr__case_get(verdict->expect, "remaining"))
    compare_real(verdict, "remaining", hr__case_get(verdict->expect, "remaining"), (double)rest / units[r]);
}

/* ---- Reclaim ---- */

static bool read_reclaim_queues(struct hr__kai_queues *queues, const cJSON *source, struct hr__verdict *verdict) {
  if (!hr__kai_read_queues(queues, source, NULL, "parent", verdict)) return false;
  uint32_t i = 0;
  for (const cJSON *queue = source ? source->child : NULL; queue; queue = queue->next, i++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      const cJSON *share = hr__case_get(queue, short_words[r]);
      queues->list[i].share[r] = (struct hr__kai_share){
          .deserved = to_amount(hr__case_real(share, "deserved", 0), r),
          .limit = to_amount(hr__case_real(share, "limit", 0), r),
          .fair = to_amount(hr__case_real(share, "fair", 0), r),
          .allocated = to_amount(hr__case_real(share, "allocated", 0), r),
          .allocated_non_preemptible = to_amount(hr__case_real(share, "allocated_non_preemptible", 0), r)};
    }
  return true;
}

static bool is_reclaimable(const struct hr__kai_queues *queues, const struct hr__kai_reclaimer *reclaimer,
                           struct hr__verdict *verdict) {
  const cJSON *of_queue, *group;
  uint32_t n = 0;
  cJSON_ArrayForEach(of_queue, hr__case_get(verdict->input, "victims")) n += (uint32_t)cJSON_GetArraySize(of_queue);
  struct hr__kai_taken *victims = hr__verdict_alloc(verdict, n, sizeof *victims);
  struct hr__kai_remaining *remaining = hr__verdict_alloc(verdict, queues->n, sizeof *remaining);
  if (!victims || !remaining) return false;
  n = 0;
  cJSON_ArrayForEach(of_queue, hr__case_get(verdict->input, "victims")) {
    const uint32_t queue = hr__case_find(queues->names, queues->n, of_queue->string);
    cJSON_ArrayForEach(group, of_queue) {
      if (queue == HR__KAI_NONE) continue;
      victims[n] = (struct hr__kai_taken){.amounts = read_amounts(group, request_words), .queue = queue};
      victims[n].involved = involved_in(&victims[n].amounts);
      n++;
    }
  }
  const double saturation = hr__case_real(verdict->input, "saturation_multiplier", 1);
  return hr__kai_reclaimable(queues->list, queues->n, reclaimer, victims, n, saturation, remaining);
}

static void run_reclaim(struct hr__verdict *verdict) {
  struct hr__kai_queues queues;
  const char *fn = hr__case_text(verdict->input, "fn", "");
  const cJSON *source = hr__case_get(verdict->input, "reclaimer");
  if (!read_reclaim_queues(&queues, hr__case_get(verdict->input, "queues"), verdict)) return;
  bool result;
  if (strncmp(fn, "strategy_", strlen("strategy_")) == 0) {
    const uint32_t mine = hr__case_find(queues.names, queues.n, "reclaimer");
    const uint32_t other = hr__case_find(queues.names, queues.n, "reclaimee");
    const struct hr__kai_amounts remaining =
        read_amounts(hr__case_get(verdict->input, "reclaimee_remaining"), short_words);
    const struct hr__kai_amounts request =
        read_amounts(hr__case_get(verdict->input, "reclaimer_resources"), request_words);
    if (mine == HR__KAI_NONE || other == HR__KAI_NONE) {
      verdict->malformed = "input.queues: expected 'reclaimer' and 'reclaimee'";
      return;
    }
    result = strcmp(fn, "strategy_MaintainFairShare") == 0
                 ? hr__kai_maintains_fair_share(&queues.list[other], &remaining)
                 : hr__kai_guarantees_quota(&queues.list[mine], &request, &queues.list[other], &remaining);
  } else {
    struct hr__kai_reclaimer reclaimer = {.queue =
                                              hr__case_find(queues.names, queues.n, hr__case_text(source, "queue", "")),
                                          .preemptible = hr__case_bool(source, "preemptible", false),
                                          .request = read_amounts(hr__case_get(source, "required"), request_words)};
    reclaimer.involved = involved_in(&reclaimer.request);
    if (reclaimer.queue == HR__KAI_NONE) {
      verdict->malformed = "input.reclaimer.queue: expected the name of a queue";
      return;
    }
    result = strcmp(fn, "can_reclaim") == 0 ? hr__kai_may_reclaim(queues.list, &reclaimer)
                                            : is_reclaimable(&queues, &reclaimer, verdict);
  }
  hr__compare_bool(verdict, "result", result);
}

/* ---- Shares and limits ---- */

static void run_share(struct hr__verdict *verdict) {
  struct hr__kai_queue queue = {.parent = HR__KAI_NONE};
  const cJSON *result = hr__case_get(verdict->expect, "expected"), *shares;
  shares = hr__case_get(hr__case_get(verdict->input, "queueAttributes"), "QueueResourceShare");
  if (shares) {
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      if (!hr__case_get(shares, words[r])) continue;
      const struct hr__kai_share share = read_share(hr__case_get(shares, words[r]), r);
      compare_real(verdict, "expected", result, from_amount(hr__kai_requestable(&share), r));
    }
    return;
  }
  const struct hr__kai_amounts deserved = read_amounts(hr__case_get(verdict->input, "deserved"), words),
                               fair = read_amounts(hr__case_get(verdict->input, "fairShare"), words),
                               limit = read_amounts(hr__case_get(verdict->input, "maxAllowed"), words),
                               allocated = read_amounts(hr__case_get(verdict->input, "allocated"), words),
                               total = read_amounts(hr__case_get(verdict->input, "totalCapacity"), words);
  const bool limited = hr__case_get(verdict->input, "maxAllowed") != NULL;
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    queue.share[r] = (struct hr__kai_share){
        .deserved = deserved.of[r], .fair = fair.of[r], .limit = limited ? limit.of[r] : HR__KAI_UNLIMITED};
  if (!limited) {
    compare_real(verdict, "expected", result, hr__kai_dominant_share(&queue, &allocated, &total));
    return;
  }
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    compare_real(verdict, words[r], hr__case_get(result, words[r]),
                 from_amount(hr__kai_allocatable(&queue.share[r]), r));
}

/* Returns the sum of the requests of the pods of a job. */
static struct hr__kai_amounts requests_of(const cJSON *job) {
  struct hr__kai_amounts sum = {{0}};
  const cJSON *set, *pod;
  cJSON_ArrayForEach(set, hr__case_get(job, "PodSets")) cJSON_ArrayForEach(pod, hr__case_get(set, "__pods")) {
    const struct hr__kai_amounts request = read_amounts(hr__case_get(pod, "ResReq"), request_words);
    hr__kai_add(&sum, &request);
  }
  return sum;
}

static bool is_preemptible(const cJSON *job) {
  return hr__case_text_is(job, "Preemptibility", "Preemptible");
}

/* Compares whether a job can be scheduled. If `limits` is set, the request must be within the limits of its queue. If
   `quotas` is set and the job is not preemptible, the request must be within the quotas. */
static void compare_capacity(struct hr__verdict *verdict, const struct hr__kai_amounts *request, bool limits,
                             bool quotas) {
  struct hr__kai_queues queues;
  const cJSON *job = hr__case_get(verdict->input, "job");
  if (!read_attribute_queues(&queues, hr__case_get(verdict->input, "queues"), verdict)) return;
  const uint32_t queue = hr__case_find(queues.names, queues.n, hr__case_text(job, "Queue", ""));
  bool fits = !limits || hr__kai_within_limits(queues.list, queue, request);
  if (quotas && !is_preemptible(job)) fits = fits && hr__kai_within_quotas(queues.list, queue, request);
  hr__compare_bool(verdict, "expectedResult", fits);
}

static void run_capacity(struct hr__verdict *verdict) {
  struct hr__kai_amounts request = requests_of(hr__case_get(verdict->input, "job"));
  /* In cases with a node, the memory of its GPUs is unknown, so KAI cannot count GPUs. */
  if (hr__case_get(verdict->input, "node")) request.of[HR__KAI_GPU] = 0;
  compare_capacity(verdict, &request, true, true);
}

/* Compares whether a request exceeds the limit (if `limits` is set) or the quota of a single queue. Each member of the
   input has the amounts of all resources. */
static void compare_single(struct hr__verdict *verdict, bool limits) {
  struct hr__kai_queue queue = {.parent = HR__KAI_NONE};
  const struct hr__kai_amounts bound =
      read_amounts(hr__case_get(verdict->input, limits ? "maxAllowed" : "deserved"), words);
  const struct hr__kai_amounts held =
      read_amounts(hr__case_get(verdict->input, limits ? "allocated" : "allocatedNonPreemptible"), words);
  const cJSON *quota = hr__case_get(verdict->input, "requestedQuota");
  const struct hr__kai_amounts request =
      read_amounts(quota ? quota : hr__case_get(verdict->input, "requestedShare"), words);
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    queue.share[r] = (struct hr__kai_share){.deserved = bound.of[r],
                                            .limit = bound.of[r],
                                            .allocated = held.of[r],
                                            .allocated_non_preemptible = held.of[r]};
  hr__compare_bool(verdict, "expectedResult",
                   limits ? hr__kai_over_limit(&queue, &request) : hr__kai_over_quota(&queue, &request));
}

static void run_over_limit(struct hr__verdict *verdict) {
  const struct hr__kai_amounts request = read_amounts(hr__case_get(verdict->input, "requestedShare"), words);
  if (hr__case_get(verdict->input, "queues"))
    compare_capacity(verdict, &request, true, false);
  else
    compare_single(verdict, true);
}

static void run_over_quota(struct hr__verdict *verdict) {
  const struct hr__kai_amounts request = read_amounts(hr__case_get(verdict->input, "requestedShare"), words);
  if (hr__case_get(verdict->input, "queues"))
    compare_capacity(verdict, &request, false, true);
  else
    compare_single(verdict, false);
}

static void run_queue_order(struct hr__verdict *verdict) {
  struct hr__kai_queue l = {.parent = HR__KAI_NONE}, r = {.parent = HR__KAI_NONE};
  read_attributes(hr__case_get(verdict->input, "lqueue"), &l);
  read_attributes(hr__case_get(verdict->input, "rqueue"), &r);
  const struct hr__kai_side of_l = {.queue = &l, .job = requests_of(hr__case_get(verdict->input, "lJobInfo"))},
                            of_r = {.queue = &r, .job = requests_of(hr__case_get(verdict->input, "rJobInfo"))};
  const struct hr__kai_amounts total = read_amounts(hr__case_get(verdict->input, "totalResources"), words);
  hr__compare_number(verdict, "expectedResult", hr__kai_compare_queues(&of_l, &of_r, &total));
}

static void run_preemptibility(struct hr__verdict *verdict) {
  const char *given = hr__case_text(verdict->input, "preemptibility", "");
  const bool preemptible = hr__case_whole(verdict->input, "priority", 0) < non_preemptible_priority;
  hr__compare_text(verdict, "expectedResult", *given ? given : preemptible ? "Preemptible" : "NonPreemptible");
}

/* ---- Scores ---- */

static void compare_gpu_score(struct hr__verdict *verdict, bool spread) {
  const char *gpu = hr__case_text(verdict->input, "gpuIdx", "");
  const bool whole = strcmp(gpu, "WholeGpuIndicator") == 0 || strcmp(gpu, "-2") == 0;
  const double score = hr__kai_gpu_score(hr__case_whole(verdict->input, "usedMem", 0),
                                         hr__case_whole(verdict->input, "totalMem", 0), whole, spread);
  const cJSON failed = {.type = hr__case_get(verdict->expect, "expectedErr") ? cJSON_True : cJSON_False};
  hr__verdict_compare_bool(verdict, "expectedErr", &failed, score < 0);
  compare_real(verdict, "expectedScore", hr__case_get(verdict->expect, "expectedScore"), score < 0 ? 0 : score);
}

static void run_gpu_pack(struct hr__verdict *verdict) {
  compare_gpu_score(verdict, false);
}

static void run_gpu_spread(struct hr__verdict *verdict) {
  compare_gpu_score(verdict, true);
}

/* ---- Topology ---- */

/* A tree of domains from JSON. Levels are numbered in the order in which they appear. */
struct json_tree {
  struct hr__kai_tree tree;
  const cJSON **sources;
  const char **levels;
  uint32_t n_levels;
};

static uint32_t count_domains(const cJSON *source) {
  uint32_t n = 1;
  const cJSON *child;
  cJSON_ArrayForEach(child, hr__case_get(source, "Children")) n += count_domains(child);
  return n;
}

static uint32_t level_of(struct json_tree *tree, const char *label) {
  const uint32_t found = hr__case_find(tree->levels, tree->n_levels, label);
  if (found != HR__KAI_NONE) return found;
  tree->levels[tree->n_levels] = label;
  return tree->n_levels++;
}

static uint32_t add_domain(struct json_tree *tree, const cJSON *source, struct hr__verdict *verdict) {
  const uint32_t id = tree->tree.n_domains++;
  struct hr__kai_domain *domain = &tree->tree.domains[id];
  const cJSON *children = hr__case_get(source, "Children"), *child;
  tree->sources[id] = source;
  domain->level = level_of(tree, hr__case_text(source, "Level", ""));
  domain->children = hr__verdict_alloc(verdict, (size_t)cJSON_GetArraySize(children) + 1, sizeof *domain->children);
  if (!domain->children) return id;
  cJSON_ArrayForEach(child, children) domain->children[domain->n_children++] = add_domain(tree, child, verdict);
  return id;
}

static void run_node_score(struct hr__verdict *verdict) {
  const bool scores = hr__case_get(verdict->input, "domain") != NULL;
  const cJSON *root = hr__case_get(verdict->input, scores ? "domain" : "root"), *node;
  const uint32_t max = count_domains(root);
  struct json_tree tree = {.n_levels = 0};
  tree.tree.domains = hr__verdict_alloc(verdict, max, sizeof *tree.tree.domains);
  tree.sources = hr__verdict_alloc(verdict, max, sizeof *tree.sources);
  tree.levels = hr__verdict_alloc(verdict, (size_t)max + 1, sizeof *tree.levels);
  uint32_t *found = hr__verdict_alloc(verdict, max, sizeof *found);
  if (verdict->no_memory) return;
  (void)add_domain(&tree, root, verdict);
  if (verdict->no_memory) return;
  const uint32_t level = level_of(&tree, hr__case_text(verdict->input, scores ? "preferredLevel" : "level", ""));
  const uint32_t n = hr__kai_domains_of_level(&tree.tree, 0, level, found);
  cJSON *actual = scores ? cJSON_CreateObject() : cJSON_CreateArray();
  for (uint32_t i = 0; i < n; i++) {
    const cJSON *source = tree.sources[found[i]];
    if (!scores) cJSON_AddItemToArray(actual, cJSON_CreateString(hr__case_text(source, "ID", "")));
    cJSON_ArrayForEach(node, hr__case_get(scores ? source : NULL, "Nodes"))
        cJSON_AddNumberToObject(actual, node->string, hr__kai_score_of_domain(i, n));
  }
  const cJSON *ids = hr__case_get(verdict->expect, scores ? "expectedScores" : "expectedIDs");
  if (ids || scores) hr__verdict_compare(verdict, scores ? "scores" : "ids", ids, actual, HR__COMPARE_EXACTLY, 0);
  if (hr__case_get(verdict->expect, "expectedCount")) hr__compare_number(verdict, "expectedCount", n);
  cJSON_Delete(actual);
}

/* The levels of the topology in KAI's tests of domains. The cases do not contain them. */
static const char *const test_levels[] = {"zone", "rack"};
enum { N_TEST_LEVELS = sizeof test_levels / sizeof *test_levels };

/* Returns the index in `ids` of the domain of a node, and adds the domain if it is new. The id of a domain consists of
   the labels of the node from level 0 to `level`, joined by dots. */
static uint32_t domain_of_labels(const cJSON *labels, uint32_t level, char (*ids)[200], uint32_t *n_ids) {
  char id[200] = "";
  size_t length = 0;
  for (uint32_t l = 0; l <= level; l++) {
    const int n =
        snprintf(id + length, sizeof id - length, "%s%s", l > 0 ? "." : "", hr__case_text(labels, test_levels[l], ""));
    if (n < 0 || (size_t)n >= sizeof id - length) break;
    length += (size_t)n;
  }
  for (uint32_t i = 0; i < *n_ids; i++)
    if (strcmp(ids[i], id) == 0) return i;
  memcpy(ids[*n_ids], id, sizeof id);
  return (*n_ids)++;
}

static bool has_test_labels(const cJSON *labels) {
  for (uint32_t l = 0; l < N_TEST_LEVELS; l++)
    if (!hr__case_get(labels, test_levels[l])) return false;
  return true;
}

static void run_domain(struct hr__verdict *verdict) {
  const cJSON *nodes = hr__case_get(verdict->input, "nodes"), *node;
  if (!nodes) {
    hr__compare_bool(verdict, "expected", has_test_labels(hr__case_get(verdict->input, "labels")));
    return;
  }
  const uint32_t n = (uint32_t)cJSON_GetArraySize(nodes);
  uint32_t *domain_of = hr__verdict_alloc(verdict, (size_t)(N_TEST_LEVELS + 1) * n, sizeof *domain_of), i = 0;
  char(*ids)[200] = hr__verdict_alloc(verdict, (size_t)N_TEST_LEVELS * n + 1, sizeof *ids);
  uint8_t *allowed = hr__verdict_alloc(verdict, n, 1), *valid = hr__verdict_alloc(verdict, n, 1);
  if (verdict->no_memory) return;
  struct hr__kai_topology topology = {.n_levels = N_TEST_LEVELS, .domain_of = domain_of, .n_domains = 1};
  memcpy(ids[0], "root", sizeof "root");
  cJSON_ArrayForEach(node, nodes) {
    const cJSON *labels = hr__case_get(hr__case_get(hr__case_get(node, "Node"), "ObjectMeta"), "Labels");
    for (uint32_t l = 0; l <= N_TEST_LEVELS; l++)
      domain_of[l * n + i] = !has_test_labels(labels) ? HR__KAI_NONE
                             : l == 0                 ? 0
                                                      : domain_of_labels(labels, l - 1, ids, &topology.n_domains);
    allowed[i++] = 1;
  }
  const char *preferred = hr__case_text(hr__case_get(verdict->input, "topologyConstraint"), "PreferredLevel", "");
  const uint32_t lowest = hr__case_find(test_levels, N_TEST_LEVELS, preferred);
  uint32_t level;
  const uint32_t found =
      hr__kai_common_domain(&topology, n, allowed, lowest == HR__KAI_NONE ? 0 : (int32_t)lowest + 1, &level, valid);
  hr__compare_text(verdict, "expectedID", ids[found]);
  hr__compare_text(verdict, "expectedLevel", level == 0 ? "root" : test_levels[level - 1]);
  cJSON *names = cJSON_CreateArray();
  i = 0;
  cJSON_ArrayForEach(node, nodes) if (valid[i++])
      cJSON_AddItemToArray(names, cJSON_CreateString(hr__case_text(node, "Name", "")));
  hr__compare_json(verdict, "expectedValid", names, HR__COMPARE_SETS);
}

/* Returns the number of the level with a label, counted from 1; 0 if `label` is empty; -1 if the topology does not have
   the level. */
static int32_t number_of_level(const cJSON *levels, const char *label) {
  const cJSON *level;
  int32_t i = 0;
  if (!*label) return 0;
  cJSON_ArrayForEach(level, levels) {
    i++;
    if (strcmp(hr__case_text(level, "NodeLabel", ""), label) == 0) return i;
  }
  return -1;
}

static void describe_level_error(char *text, size_t size, const char *what, const cJSON *constraint,
                                 const char *subgroup, const char *topology) {
  if (strcmp(what, "none") == 0) {
    (void)snprintf(text, size, "no topology constraints were found for subgroup %s, with topology name %s", subgroup,
                   topology);
    return;
  }
  const bool whole = strcmp(subgroup, "default") == 0 || !*subgroup;
  const bool required = strcmp(what, "required") == 0;
  (void)snprintf(text, size,
                 "topology constraint error: %s%s specified '%s' as the %s topology constraint level, but the topology "
                 "tree '%s' does not contain a level with this name",
                 whole ? "workload" : "sub-group ", whole ? "" : subgroup,
                 hr__case_text(constraint, required ? "RequiredLevel" : "PreferredLevel", ""), what, topology);
}

static void run_job_domains(struct hr__verdict *verdict) {
  const cJSON *subgroup = hr__case_get(hr__case_get(verdict->input, "subGroupSet"), "SubGroupInfo");
  const cJSON *source = hr__case_get(subgroup, "topologyConstraint"),
              *tree = hr__case_get(verdict->input, "topologyTree");
  const cJSON *levels = hr__case_get(hr__case_get(hr__case_get(tree, "TopologyResource"), "Spec"), "Levels");
  const struct hr__kai_constraint constraint = {
      .required = number_of_level(levels, hr__case_text(source, "RequiredLevel", "")),
      .preferred = number_of_level(levels, hr__case_text(source, "PreferredLevel", ""))};
  int32_t from = 0, to = 0;
  char text[400] = "";
  const char *what = hr__kai_levels_tried(&constraint, (uint32_t)cJSON_GetArraySize(levels), &from, &to);
  if (what)
    describe_level_error(text, sizeof text, what, source, hr__case_text(subgroup, "name", ""),
                         hr__case_text(tree, "Name", ""));
  const char *wanted = hr__case_text(verdict->expect, "expectedError", "");
  const cJSON error = {.type = cJSON_String, .valuestring = (char *)wanted};
  hr__verdict_compare_text(verdict, "expectedError", &error, text);
  if (what) return;
  cJSON *actual = cJSON_CreateArray();
  for (int32_t l = from; l >= to; l--) {
    const char *label = l == 0 ? "root" : hr__case_text(cJSON_GetArrayItem(levels, l - 1), "NodeLabel", "");
    cJSON_AddItemToArray(actual, cJSON_CreateString(label));
  }
  hr__compare_json(verdict, "expectedLevels", actual, HR__COMPARE_EXACTLY);
}

/* ---- Jobs ---- */

/* The jobs of a case, as the jobs of a session on one node without resources. */
struct table {
  struct hr__verdict *verdict;
  struct hr__kai_cluster cluster;
  struct hr__kai_pod *pods;
  struct hr__kai_pod_set *sets;
  struct hr__kai_group *groups;
  struct hr__kai_start *start;
  uint32_t *pods_of_sets;
  const char **names;
};

enum { MAX_PODS_OF_JOB = 64 };

static bool create_table(struct table *table, uint32_t n_jobs, struct hr__verdict *verdict) {
  const size_t max = (size_t)n_jobs * MAX_PODS_OF_JOB;
  static const int64_t nothing[HR__KAI_DIM_MIG];
  *table = (struct table){.verdict = verdict};
  table->cluster.jobs = hr__verdict_alloc(verdict, n_jobs, sizeof *table->cluster.jobs);
  table->names = hr__verdict_alloc(verdict, n_jobs, sizeof *table->names);
  table->pods = hr__verdict_alloc(verdict, max, sizeof *table->pods);
  table->start = hr__verdict_alloc(verdict, max, sizeof *table->start);
  table->pods_of_sets = hr__verdict_alloc(verdict, max, sizeof *table->pods_of_sets);
  table->sets = hr__verdict_alloc(verdict, n_jobs, sizeof *table->sets);
  table->groups = hr__verdict_alloc(verdict, n_jobs, sizeof *table->groups);
  struct hr__kai_node *node = hr__verdict_alloc(verdict, 1, sizeof *node);
  if (verdict->no_memory) return false;
  *node = (struct hr__kai_node){.allocatable = nothing, .gpu_mib = 100};
  table->cluster.nodes = node;
  table->cluster.n_nodes = 1;
  table->cluster.n_dims = HR__KAI_DIM_MIG;
  table->cluster.mig_slices = nothing;
  table->cluster.pods = table->pods;
  table->cluster.sets = table->sets;
  table->cluster.groups = table->groups;
  table->cluster.pods_of_sets = table->pods_of_sets;
  table->cluster.config = hr__kai_default_config();
  return true;
}

/* Adds a pod to the last job. `source` has the resources of the pod; NULL: none. Pods after the first 64 of a job are
   ignored. */
static void add_pod(struct table *table, const char *status, const cJSON *source) {
  const uint32_t j = table->cluster.n_jobs - 1, p = table->cluster.n_pods;
  struct hr__kai_job *job = &table->cluster.jobs[j];
  if (job->n_pods == MAX_PODS_OF_JOB) return;
  int64_t *request = hr__verdict_alloc(table->verdict, HR__KAI_DIM_MIG, sizeof *request);
  if (!request) return;
  struct hr__kai_pod *pod = &table->pods[p];
  pod->quota = read_amounts(source, request_words);
  pod->gpus = pod->quota.of[HR__KAI_GPU];
  pod->request = request;
  pod->job = j;
  pod->pod_set = j;
  pod->order = job->n_pods++;
  table->sets[j].n_pods = job->n_pods;
  table->pods_of_sets[p] = p;
  table->start[p] = (struct hr__kai_start){.status = hr__kai_status_named(status), .node = HR__KAI_NONE};
  if (hr__kai_is(table->start[p].status, HR__KAI_USED)) table->start[p].node = 0;
  table->cluster.n_pods++;
}

/* Adds a job with one pod set and without pods. `key` is its name if the source has none. */
static void add_job(struct table *table, const cJSON *source, const char *key) {
  const uint32_t j = table->cluster.n_jobs++;
  const cJSON *set;
  table->names[j] = hr__case_text(source, "Name", key);
  table->cluster.jobs[j] = (struct hr__kai_job){.queue = HR__KAI_NONE,
                                                .priority = (int32_t)hr__case_whole(source, "Priority", 0),
                                                .created = read_created(hr__case_get(source, "CreationTimestamp")),
                                                .name_rank = j,
                                                .first_pod = table->cluster.n_pods,
                                                .first_set = j,
                                                .n_sets = 1,
                                                .first_group = j,
                                                .n_groups = 1,
                                                .last_start_us = INT64_MIN,
                                                .stale_since_us = INT64_MIN,
                                                .preemptible = true};
  table->groups[j] = (struct hr__kai_group){.constraint = {.topology = HR__KAI_NONE}, .job = j, .parent = HR__KAI_NONE};
  table->sets[j] = (struct hr__kai_pod_set){
      .constraint = {.topology = HR__KAI_NONE}, .job = j, .group = j, .first_pod = table->cluster.n_pods};
  cJSON_ArrayForEach(set, hr__case_get(source, "PodSets")) table->sets[j].min_available +=
      (uint32_t)hr__case_whole(set, "minAvailable", 0);
  table->cluster.n_sets = table->cluster.n_groups = table->cluster.n_jobs;
}

static void run_elastic_order(struct hr__verdict *verdict) {
  static const char *const jobs[] = {"l", "r"}, *const pods[] = {"lPods", "rPods"};
  const cJSON *args = hr__case_get(verdict->input, "args"), *pod;
  struct table table;
  if (!create_table(&table, 2, verdict)) return;
  for (int side = 0; side < 2; side++) {
    add_job(&table, hr__case_get(args, jobs[side]), jobs[side]);
    cJSON_ArrayForEach(pod, hr__case_get(args, pods[side]))
        add_pod(&table, hr__case_text(pod, "Status", ""), hr__case_get(pod, "ResReq"));
  }
  const struct hr__kai_session *session = hr__kai_session_create(verdict->arena, &table.cluster, table.start);
  if (!session) {
    verdict->no_memory = true;
    return;
  }
  const int l = hr__kai_elastic_state(session, 0, NULL), r = hr__kai_elastic_state(session, 1, NULL);
  hr__compare_number(verdict, "want", (l > r) - (l < r));
}

/* Adds a job with its pods. The member "PodStatusIndex" lists the pods by status: {STATUS: {NAME: pod}}. */
static void add_indexed_job(struct table *table, const struct hr__kai_queues *queues, const cJSON *source,
                            const char *key) {
  const cJSON *status, *pod;
  add_job(table, source, key ? key : "");
  struct hr__kai_job *job = &table->cluster.jobs[table->cluster.n_jobs - 1];
  job->queue = hr__case_find(queues->names, queues->n, hr__case_text(source, "Queue", ""));
  cJSON_ArrayForEach(status, hr__case_get(source, "PodStatusIndex")) cJSON_ArrayForEach(pod, status)
      add_pod(table, status->string, hr__case_get(pod, "AcceptedResource"));
}

/* Takes all jobs from the job order, and compares their names with `expected`, a list of names or of jobs. */
static void compare_order(struct table *table, const cJSON *options, const cJSON *expected) {
  struct hr__verdict *verdict = table->verdict;
  struct hr__kai_session *session = hr__kai_session_create(verdict->arena, &table->cluster, table->start);
  struct hr__kai_cycle *cycle = session ? hr__kai_cycle_create(session) : NULL;
  uint8_t *taken = hr__verdict_alloc(verdict, table->cluster.n_pods, 1);
  cJSON *names = cJSON_CreateArray(), *actual = cJSON_CreateArray();
  const cJSON *item;
  if (!cycle || !taken) {
    verdict->no_memory = true;
  } else {
    hr__kai_order_clear(&cycle->order, hr__case_bool(options, "VictimQueue", false), taken);
    for (uint32_t j = 0; j < table->cluster.n_jobs; j++) {
      if (hr__case_bool(options, "FilterNonPending", false) && session->jobs[j].n_pending == 0) continue;
      hr__kai_order_push(&cycle->order, j);
    }
    hr__kai_order_build(&cycle->order);
    while (!hr__kai_order_is_empty(&cycle->order))
      cJSON_AddItemToArray(actual, cJSON_CreateString(table->names[hr__kai_order_pop(&cycle->order)]));
    cJSON_ArrayForEach(item, expected) cJSON_AddItemToArray(
        names, cJSON_CreateString(cJSON_IsString(item) ? item->valuestring : hr__case_text(item, "Name", "")));
    hr__verdict_compare(verdict, "order", names, actual, HR__COMPARE_EXACTLY, 0);
  }
  cJSON_Delete(names);
  cJSON_Delete(actual);
}

/* Returns the first of the members `names` that the object has; NULL: none. */
static const cJSON *any_of(const cJSON *object, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (hr__case_get(object, names[i])) return hr__case_get(object, names[i]);
  return NULL;
}

static void run_job_order(struct hr__verdict *verdict) {
  static const char *const of_queues[] = {"queues", "Queues"}, *const of_jobs[] = {"jobs", "InsertedJob", "initJobs"};
  static const char *const of_results[] = {"expectedJobOrder", "expectedJobNames", "expectedJobsList"};
  const cJSON *fields = hr__case_get(verdict->input, "fields"), *job;
  if (!fields) fields = verdict->input;
  const cJSON *jobs = any_of(fields, of_jobs, 3), *pushed = hr__case_get(verdict->input, "pushJobs");
  const cJSON *added = hr__case_get(hr__case_get(verdict->input, "args"), "job"),
              *queue_source = any_of(fields, of_queues, 2);
  const cJSON *results = hr__case_get(verdict->expect, "expected"), *queue;
  struct hr__kai_queues queues;
  struct table table;
  if (!results) results = verdict->expect;
  if (!read_attribute_queues(&queues, queue_source, verdict)) return;
  const uint32_t n = (uint32_t)(cJSON_GetArraySize(jobs) + cJSON_GetArraySize(pushed)) + 1;
  if (!create_table(&table, n, verdict)) return;
  table.cluster.queues = queues.list;
  table.cluster.n_queues = queues.n;
  /* Queues without quotas are ordered by age and name only. */
  table.cluster.config.proportion = false;
  cJSON_ArrayForEach(queue, queue_source) if (hr__case_get(queue, "Resources")) table.cluster.config.proportion = true;
  cJSON_ArrayForEach(job, jobs) add_indexed_job(&table, &queues, job, job->string);
  cJSON_ArrayForEach(job, pushed) add_indexed_job(&table, &queues, job, NULL);
  if (added) add_indexed_job(&table, &queues, added, NULL);
  if (!verdict->no_memory) compare_order(&table, hr__case_get(fields, "options"), any_of(results, of_results, 3));
}

/* ---- Kinds ---- */

void hr__conform_kai(struct hr__verdict *verdict) {
  static const struct hr__case_kind kinds[] = {{"schedule", hr__kai_run_schedule},
                                               {"fair-share-division", run_division},
                                               {"reclaim-rule", run_reclaim},
                                               {"queue-share", run_share},
                                               {"capacity-policy", run_capacity},
                                               {"over-limit", run_over_limit},
                                               {"non-preemptible-over-quota", run_over_quota},
                                               {"queue-order", run_queue_order},
                                               {"preemptibility", run_preemptibility},
                                               {"gpu-pack-score", run_gpu_pack},
                                               {"gpu-spread-score", run_gpu_spread},
                                               {"topology-node-score", run_node_score},
                                               {"topology-domain", run_domain},
                                               {"topology-job-domains", run_job_domains},
                                               {"elastic-job-order", run_elastic_order},
                                               {"job-order", run_job_order},
                                               {NULL, NULL}};
  if (!hr__run_kind(verdict, kinds)) hr__verdict_unknown_kind(verdict);
}
