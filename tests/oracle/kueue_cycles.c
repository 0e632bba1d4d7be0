/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the scheduling cycle of Kueue with a naive implementation in random small worlds: up to five queues in trees
 * of up to four cohorts, two flavors, borrowing and lending limits, all preemption policies, fungibility, partial
 * admission, classical order and fair sharing. For each head, both must make the same decision: mode, flavor, pods,
 * targets and causes.
 *
 * Two properties must be true in any case. A cycle does not change the usage of the quotas. When its victims have
 * ended, the admitted workloads fit into the quotas: no queue uses more than its quota plus the amount that it may
 * borrow.
 */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "naive_kueue.h"
#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

#include <string.h>

enum { WORLDS = 20000 };

struct kueue_lab {
  struct hr__stream draws;
  struct naive_cluster cluster;
  struct naive_decision expected[KUEUE_QUEUES];
  struct hr_arena arena;
  struct hr__kueue_world world;
  struct hr__kueue_cycle cycle;
  uint32_t heads[KUEUE_QUEUES], n_heads;
  uint32_t admitted, preempting, skipped, partial, deferred; /* how often each of these occurred */
};

static int draw(struct kueue_lab *lab, int below) {
  return (int)(hr__stream_next(&lab->draws) % (uint32_t)below);
}

/* ---- Worlds ---- */

static void draw_quotas(struct kueue_lab *lab, int node, bool is_queue) {
  struct naive_cluster *cluster = &lab->cluster;
  for (int pair = 0; pair < KUEUE_PAIRS; pair++) {
    cluster->has[node][pair] = is_queue || draw(lab, 3) == 0;
    cluster->nominal[node][pair] = cluster->has[node][pair] ? draw(lab, 7) : 0;
    cluster->borrowing[node][pair] = cluster->has[node][pair] && !draw(lab, 4) ? draw(lab, 5) : KUEUE_NO_LIMIT;
    cluster->lending[node][pair] = cluster->has[node][pair] && !draw(lab, 4) ? draw(lab, 5) : KUEUE_NO_LIMIT;
  }
  cluster->weight[node] = draw(lab, 4) ? 1 + draw(lab, 2) : draw(lab, 3);
}

static void draw_tree(struct kueue_lab *lab) {
  struct naive_cluster *cluster = &lab->cluster;
  int n_cohorts = draw(lab, KUEUE_NODES - KUEUE_QUEUES + 1);
  cluster->n_queues = 1 + draw(lab, KUEUE_QUEUES);
  cluster->n_nodes = cluster->n_queues + n_cohorts;
  for (int node = 0; node < cluster->n_nodes; node++) {
    bool is_queue = node < cluster->n_queues;
    int first = is_queue ? cluster->n_queues : node + 1, choices = cluster->n_nodes - first;
    cluster->parent[node] = choices > 0 && draw(lab, 6) ? first + draw(lab, choices) : -1;
    draw_quotas(lab, node, is_queue);
  }
}

static void draw_rules(struct kueue_lab *lab) {
  struct naive_cluster *cluster = &lab->cluster;
  for (int i = 0; i < cluster->n_queues; i++)
    cluster->queues[i] = (struct naive_queue){.within = (enum naive_policy)draw(lab, 4),
                                              .reclaim = (enum naive_policy)draw(lab, 4),
                                              .borrow = draw(lab, 2),
                                              .threshold = draw(lab, 2) ? draw(lab, 4) : KUEUE_NO_LIMIT,
                                              .borrow_next = draw(lab, 2),
                                              .preempt_next = draw(lab, 2),
                                              .preemption_first = draw(lab, 2),
                                              .head = KUEUE_NOBODY};
  cluster->fair = draw(lab, 2);
  cluster->initial_first = !draw(lab, 4);
  cluster->second_strategy = !cluster->initial_first && draw(lab, 4);
  cluster->within_nominal = draw(lab, 2);
  cluster->non_borrowing_first = draw(lab, 2);
  cluster->recompute = draw(lab, 3) != 0;
  cluster->partial = draw(lab, 2);
  cluster->sort_by_priority = draw(lab, 4) != 0;
}

static void draw_jobs(struct kueue_lab *lab) {
  struct naive_cluster *cluster = &lab->cluster;
  int running = 4 + draw(lab, KUEUE_JOBS - KUEUE_QUEUES - 3);
  cluster->n_jobs = running + cluster->n_queues;
  for (int i = 0; i < cluster->n_jobs; i++) {
    struct naive_job *job = &cluster->jobs[i];
    *job = (struct naive_job){.queue = i < running ? draw(lab, cluster->n_queues) : i - running,
                              .priority = draw(lab, 4),
                              .created = draw(lab, 4),
                              .reserved = draw(lab, 4),
                              .uid = (i * 7) % 19,
                              .count = 1 + draw(lab, i < running ? 2 : 4),
                              .evicted = i < running && !draw(lab, 8)};
    job->minimum = draw(lab, 2) ? job->count : 1 + draw(lab, job->count);
    job->request[0] = 1 + draw(lab, 3);
    job->request[1] = draw(lab, 3);
    if (i >= running && draw(lab, 6)) cluster->queues[job->queue].head = i;
    int flavor = draw(lab, KUEUE_FLAVORS);
    if (i >= running || !naive_kueue_fits(cluster, i, flavor)) continue;
    job->admitted = true;
    job->flavor = flavor;
  }
}

/* ---- Headroom's world ---- */

static void *alloc(struct kueue_lab *lab, size_t count, size_t bytes) {
  void *memory = hr_arena_alloc(&lab->arena, (count + 1) * bytes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
  return memory;
}

#define ALLOC(lab, count, type) ((type *)alloc((lab), (size_t)(count), sizeof(type)))

static int64_t limit(long value) {
  return value == KUEUE_NO_LIMIT ? HR__KUEUE_UNLIMITED : value;
}

static void build_tree(struct kueue_lab *lab) {
  const struct naive_cluster *cluster = &lab->cluster;
  struct hr__kueue_tree *tree = &lab->world.tree;
  int cells = cluster->n_nodes * KUEUE_PAIRS, nodes = cluster->n_nodes + 1;
  *tree = (struct hr__kueue_tree){.n_queues = (uint32_t)cluster->n_queues,
                                  .n_nodes = (uint32_t)cluster->n_nodes,
                                  .n_pairs = KUEUE_PAIRS,
                                  .parent = ALLOC(lab, nodes, uint32_t),
                                  .child_start = ALLOC(lab, nodes, uint32_t),
                                  .children = ALLOC(lab, nodes, uint32_t),
                                  .height = ALLOC(lab, nodes, uint32_t),
                                  .weight = ALLOC(lab, nodes, double),
                                  .has_quota = ALLOC(lab, cells, bool),
                                  .nominal = ALLOC(lab, cells, int64_t),
                                  .borrowing = ALLOC(lab, cells, int64_t),
                                  .lending = ALLOC(lab, cells, int64_t),
                                  .subtree = ALLOC(lab, cells, int64_t),
                                  .usage = ALLOC(lab, cells, int64_t)};
  for (int node = 0; node < cluster->n_nodes; node++) {
    tree->parent[node] = cluster->parent[node] < 0 ? HR_NONE : (uint32_t)cluster->parent[node];
    tree->weight[node] = cluster->weight[node];
    for (int pair = 0; pair < KUEUE_PAIRS; pair++) {
      int at = node * KUEUE_PAIRS + pair;
      tree->has_quota[at] = cluster->has[node][pair];
      tree->nominal[at] = cluster->nominal[node][pair];
      tree->borrowing[at] = limit(cluster->borrowing[node][pair]);
      tree->lending[at] = limit(cluster->lending[node][pair]);
    }
  }
  hr__kueue_tree_prepare(tree);
}

static enum hr__kueue_policy policy_of(enum naive_policy policy) {
  static const enum hr__kueue_policy policies[] = {HR__KUEUE_POLICY_NEVER, HR__KUEUE_POLICY_LOWER,
                                                   HR__KUEUE_POLICY_LOWER_OR_NEWER, HR__KUEUE_POLICY_ANY};
  return policies[policy];
}

static void build_queues(struct kueue_lab *lab) {
  static const uint32_t ids[] = {0, 1};
  static const struct hr__kueue_group group = {
      .flavors = ids, .resources = ids, .n_flavors = KUEUE_FLAVORS, .n_resources = KUEUE_RESOURCES};
  const struct naive_cluster *cluster = &lab->cluster;
  lab->world.queues = ALLOC(lab, cluster->n_queues, struct hr__kueue_queue);
  for (int i = 0; i < cluster->n_queues; i++) {
    const struct naive_queue *queue = &cluster->queues[i];
    lab->world.queues[i] =
        (struct hr__kueue_queue){.groups = &group,
                                 .n_groups = 1,
                                 .preemption = {policy_of(queue->within), policy_of(queue->reclaim), queue->borrow,
                                                queue->threshold != KUEUE_NO_LIMIT, queue->threshold},
                                 .fungibility = {queue->borrow_next, queue->preempt_next, queue->preemption_first},
                                 .first_admitted = HR_NONE,
                                 .least_preferred = HR_NONE};
  }
  lab->world.flavors = ALLOC(lab, KUEUE_FLAVORS, struct hr__kueue_flavor);
  for (int i = 0; i < KUEUE_FLAVORS; i++) lab->world.flavors[i].exists = true;
}

static void build_job(struct kueue_lab *lab, int id) {
  const struct naive_job *job = &lab->cluster.jobs[id];
  struct hr__kueue_pod_set *pod_set = ALLOC(lab, 1, struct hr__kueue_pod_set);
  struct hr__kueue_amount *requests = ALLOC(lab, KUEUE_RESOURCES, struct hr__kueue_amount);
  struct hr__kueue_assigned *assigned = ALLOC(lab, KUEUE_RESOURCES, struct hr__kueue_assigned);
  for (uint32_t i = 0; i < KUEUE_RESOURCES; i++) {
    requests[i] = (struct hr__kueue_amount){i, job->request[i]};
    assigned[i] = (struct hr__kueue_assigned){i, (uint32_t)job->flavor, job->count * job->request[i]};
  }
  *pod_set = (struct hr__kueue_pod_set){.count = job->count,
                                        .min_count = job->minimum,
                                        .requests = {requests, KUEUE_RESOURCES},
                                        .group = HR_NONE,
                                        .admitted_count = job->count,
                                        .assigned = assigned,
                                        .n_assigned = job->admitted ? KUEUE_RESOURCES : 0};
  struct hr__kueue_workload *workload = &lab->world.workloads[id];
  *workload = (struct hr__kueue_workload){.queue = (uint32_t)job->queue,
                                          .local_queue = HR_NONE,
                                          .variant_of = HR_NONE,
                                          .priority = job->priority,
                                          .created_us = job->created,
                                          .queue_us = job->created,
                                          .reserved_us = job->reserved,
                                          .uid_rank = (uint32_t)job->uid,
                                          .reserved = job->admitted,
                                          .evicted = job->evicted,
                                          .pod_sets = pod_set,
                                          .n_pod_sets = 1,
                                          .usage = ALLOC(lab, KUEUE_PAIRS, struct hr__kueue_usage)};
  if (!job->admitted) return;
  hr__kueue_workload_sum_usage(&lab->world, workload);
  hr__kueue_list(&lab->world, (uint32_t)id);
}

static void set_gate(struct kueue_lab *lab, const char *name, bool on) {
  CU_ASSERT_TRUE(hr__kueue_gates_set(&lab->world.gates, name, on));
}

static void build(struct kueue_lab *lab) {
  const struct naive_cluster *cluster = &lab->cluster;
  lab->world = (struct hr__kueue_world){.gates = hr__kueue_gates_of_version(HR__KUEUE_NEWEST_VERSION),
                                        .fair_sharing = cluster->fair,
                                        .n_strategies = cluster->second_strategy ? 2 : 1,
                                        .n_resources = KUEUE_RESOURCES,
                                        .n_flavors = KUEUE_FLAVORS,
                                        .n_pairs = KUEUE_PAIRS,
                                        .pods = HR_NONE,
                                        .n_workloads = (uint32_t)cluster->n_jobs,
                                        .max_pod_sets = 1};
  lab->world.strategies[0] = cluster->initial_first ? HR__KUEUE_INITIAL_SHARE : HR__KUEUE_FINAL_SHARE;
  lab->world.strategies[1] = HR__KUEUE_INITIAL_SHARE;
  set_gate(lab, "FairSharingPreemptWithinNominal", cluster->within_nominal);
  set_gate(lab, "FairSharingPrioritizeNonBorrowing", cluster->non_borrowing_first);
  set_gate(lab, "RecomputeAssignmentUponPreemptionTargetsOverlap", cluster->recompute);
  set_gate(lab, "PartialAdmission", cluster->partial);
  set_gate(lab, "PrioritySortingWithinCohort", cluster->sort_by_priority);
  build_tree(lab);
  build_queues(lab);
  lab->world.workloads = ALLOC(lab, cluster->n_jobs, struct hr__kueue_workload);
  for (int i = 0; i < cluster->n_jobs; i++) build_job(lab, i);
  lab->n_heads = 0;
  for (int i = 0; i < cluster->n_queues; i++)
    if (cluster->queues[i].head != KUEUE_NOBODY) lab->heads[lab->n_heads++] = (uint32_t)cluster->queues[i].head;
}

/* ---- Comparison ---- */

static bool has_target(const struct naive_targets *targets, uint32_t job, int cause) {
  for (int i = 0; i < targets->n; i++)
    if (targets->job[i] == (int)job && (int)targets->cause[i] == cause) return true;
  return false;
}

static bool is_same(struct kueue_lab *lab, const struct hr__kueue_entry *entry, const struct naive_decision *expected) {
  const struct hr__kueue_assignment *assignment = &entry->assignment;
  if ((int)assignment->mode != (int)expected->mode) return false;
  if (assignment->mode == HR__KUEUE_NO_FIT) return true;
  const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[0];
  for (uint32_t i = 0; i < row->n_choices; i++)
    if ((int)row->choices[i].flavor != expected->flavor) return false;
  if (row->count != expected->count || assignment->borrowing != expected->level) return false;
  if ((entry->status == HR__KUEUE_ADMITTED) != (expected->verdict == NAIVE_ADMITTED)) return false;
  if ((entry->status == HR__KUEUE_SKIPPED) != (expected->verdict == NAIVE_SKIPPED)) return false;
  if (entry->preempts != expected->preempts || (int)entry->n_targets != expected->targets.n) return false;
  for (uint32_t i = 0; i < entry->n_targets; i++) {
    const struct hr__kueue_target *target = &lab->cycle.targets[entry->first_target + i];
    if (!has_target(&expected->targets, target->workload, (int)target->cause)) return false;
  }
  return true;
}

static uint64_t fingerprint(const struct hr__kueue_world *world) {
  uint64_t hash = 1469598103934665603U;
  for (uint32_t i = 0; i < world->tree.n_nodes * world->n_pairs; i++)
    hash = (hash ^ (uint64_t)world->tree.usage[i]) * 1099511628211U;
  for (uint32_t i = 0; i < world->n_workloads; i++) hash = (hash ^ world->workloads[i].listed) * 1099511628211U;
  return hash;
}

/* Applies the decisions. Returns whether the usage is then within the quotas. */
static bool stays_sound(struct kueue_lab *lab) {
  for (uint32_t i = 0; i < lab->cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &lab->cycle.entries[i];
    for (uint32_t k = 0; entry->preempts && k < entry->n_targets; k++)
      lab->cluster.jobs[lab->cycle.targets[entry->first_target + k].workload].admitted = false;
    if (entry->status != HR__KUEUE_ADMITTED) continue;
    struct naive_job *job = &lab->cluster.jobs[entry->workload];
    job->admitted = true;
    job->flavor = (int)entry->assignment.pod_sets[0].choices[0].flavor;
    job->count = (int)entry->assignment.pod_sets[0].count;
  }
  return naive_kueue_is_sound(&lab->cluster);
}

static void count(struct kueue_lab *lab) {
  for (uint32_t i = 0; i < lab->cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &lab->cycle.entries[i];
    lab->admitted += entry->status == HR__KUEUE_ADMITTED;
    lab->preempting += entry->preempts;
    lab->skipped += entry->status == HR__KUEUE_SKIPPED;
    lab->deferred += entry->assignment.mode == HR__KUEUE_DEFERRED_FIT;
    lab->partial += entry->assignment.mode != HR__KUEUE_NO_FIT &&
                    entry->assignment.pod_sets[0].count < lab->cluster.jobs[entry->workload].count;
  }
}

static void print_difference(const struct kueue_lab *lab, int number, uint32_t at) {
  const struct hr__kueue_entry *entry = &lab->cycle.entries[at];
  const struct naive_decision *expected = &lab->expected[lab->cluster.jobs[entry->workload].queue];
  printf(
      "world %d, fair %d, head %u of queue %d: mode %d, expected %d; status %d, expected %d; targets %u, expected %d; "
      "level %d, expected %d; flavor expected %d; count expected %d\n",
      number, lab->cluster.fair, entry->workload, lab->cluster.jobs[entry->workload].queue, (int)entry->assignment.mode,
      (int)expected->mode, (int)entry->status, (int)expected->verdict, entry->n_targets, expected->targets.n,
      entry->assignment.borrowing, expected->level, expected->flavor, expected->count);
}

/* Runs one world. Returns whether everything agrees. */
static bool run_world(struct kueue_lab *lab, int number) {
  hr__stream_init(&lab->draws, 2, HR__PURPOSE_SAMPLE, (uint32_t)number, 0);
  lab->cluster = (struct naive_cluster){0};
  draw_tree(lab);
  draw_rules(lab);
  draw_jobs(lab);
  build(lab);
  memset(lab->expected, 0, sizeof lab->expected);
  naive_kueue_cycle(&lab->cluster, lab->expected);
  CU_ASSERT_TRUE_FATAL(hr__kueue_cycle_begin(&lab->cycle, &lab->arena, &lab->world, KUEUE_QUEUES));
  uint64_t before = fingerprint(&lab->world);
  bool ok = hr__kueue_cycle_run(&lab->cycle, lab->heads, lab->n_heads) && before == fingerprint(&lab->world);
  if (!ok) printf("world %d: the quotas have changed\n", number);
  for (uint32_t i = 0; i < lab->cycle.n_entries && ok; i++) {
    const struct hr__kueue_entry *entry = &lab->cycle.entries[i];
    ok = is_same(lab, entry, &lab->expected[lab->cluster.jobs[entry->workload].queue]);
    if (!ok) print_difference(lab, number, i);
  }
  count(lab);
  bool sound = stays_sound(lab);
  if (!sound) printf("world %d: more is admitted than the quotas allow\n", number);
  hr__arena_finish(&lab->arena);
  return ok && sound;
}

static void agrees(void) {
  static struct kueue_lab lab;
  int wrong = 0;
  for (int i = 0; i < WORLDS && wrong < 5; i++) wrong += !run_world(&lab, i);
  CU_ASSERT_EQUAL(wrong, 0);
  /* Checks that the worlds are not trivial. */
  CU_ASSERT(lab.admitted > WORLDS / 4 && lab.preempting > WORLDS / 20);
  CU_ASSERT(lab.skipped > WORLDS / 100 && lab.partial > WORLDS / 50 && lab.deferred > WORLDS / 2000);
}

TEST_MAIN("Kueue's scheduling cycle", TEST(agrees))
