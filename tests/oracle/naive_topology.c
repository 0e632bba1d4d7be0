/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The naive placement by topology; see naive_topology.h. Source: kubernetes-sigs/kueue, pkg/cache/scheduler
   (tas_flavor_snapshot.go, tas_balanced_placement.go). */

#include "naive_topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 16 };

struct naive_domain {
  int level, first_node; /* first node with these values */
  struct naive_domain *child[MAX_LIST];
  int n_children;
  int rank;                                         /* in the order of values within the level */
  int64_t pods, slices, pods_beside, slices_beside; /* numbers of pods and slices that fit; `_beside`: beside a
                                                       leader */
  int leaders;
  int64_t affinity;
};

struct naive_list {
  struct naive_domain *at[4 * MAX_LIST];
  int n;
};

struct naive_task {
  const struct naive_topology *world;
  const struct naive_pod_set *request;
  struct naive_list levels[NAIVE_LEVELS];
  int64_t size;                /* of the outermost slices */
  int level, slice_level;      /* requested levels */
  int64_t inner[NAIVE_LEVELS]; /* size of inner slices, by level */
  bool least_free;
  bool may_spread; /* unconstrained */
};

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- Tree ---- */

static bool same_values(const struct naive_leaf_node *a, const struct naive_leaf_node *b, int level) {
  for (int i = 0; i <= level; i++)
    if (a->value[i] != b->value[i]) return false;
  return true;
}

static bool values_precede(const struct naive_leaf_node *a, const struct naive_leaf_node *b, int level) {
  for (int i = 0; i <= level; i++)
    if (a->value[i] != b->value[i]) return a->value[i] < b->value[i];
  return false;
}

/* Creates the domains of a level in the order of their values. */
static void create_level(struct naive_task *task, int level) {
  const struct naive_leaf_node *nodes = task->world->nodes;
  struct naive_list *list = &task->levels[level];
  for (int node = 0; node < task->world->n_nodes; node++) {
    int at = 0;
    bool known = false;
    for (int i = 0; i < list->n; i++) {
      if (same_values(&nodes[list->at[i]->first_node], &nodes[node], level)) known = true;
      if (values_precede(&nodes[list->at[i]->first_node], &nodes[node], level)) at = i + 1;
    }
    if (known) continue;
    for (int i = list->n++; i > at; i--) list->at[i] = list->at[i - 1];
    list->at[at] = calloc(1, sizeof *list->at[at]);
    if (!list->at[at]) abort();
    *list->at[at] = (struct naive_domain){.level = level, .first_node = node};
  }
  for (int i = 0; i < list->n; i++) list->at[i]->rank = i;
  for (int i = 0; level && i < list->n; i++) {
    struct naive_list *above = &task->levels[level - 1];
    for (int j = 0; j < above->n; j++) {
      if (!same_values(&nodes[above->at[j]->first_node], &nodes[list->at[i]->first_node], level - 1)) continue;
      above->at[j]->child[above->at[j]->n_children++] = list->at[i];
    }
  }
}

static void free_tree(struct naive_task *task) {
  for (int level = 0; level < task->world->n_levels; level++)
    for (int i = 0; i < task->levels[level].n; i++) free(task->levels[level].at[i]);
}

/* ---- Counts ---- */

static int64_t count_in(const int64_t *room, const int64_t *pod) {
  int64_t count = INT32_MAX;
  for (int r = 0; r < NAIVE_RESOURCES; r++) {
    int64_t each = pod[r] + (r == NAIVE_PODS);
    if (each) count = least(count, room[r] < 0 ? 0 : room[r] / each);
  }
  return count;
}

static void count_leaf(struct naive_task *task, struct naive_domain *leaf) {
  const struct naive_leaf_node *nodes = task->world->nodes;
  int64_t room[NAIVE_RESOURCES] = {0};
  if (nodes[leaf->first_node].excluded) return;
  for (int node = 0; node < task->world->n_nodes; node++)
    for (int r = 0; r < NAIVE_RESOURCES && same_values(&nodes[node], &nodes[leaf->first_node], leaf->level); r++)
      room[r] += nodes[node].room[r];
  leaf->affinity = nodes[leaf->first_node].affinity;
  leaf->pods = leaf->pods_beside = count_in(room, task->request->pod);
  if (!task->request->has_leader || !count_in(room, task->request->leader)) return;
  leaf->leaders = 1;
  for (int r = 0; r < NAIVE_RESOURCES; r++) room[r] -= task->request->leader[r] + (r == NAIVE_PODS);
  leaf->pods_beside = count_in(room, task->request->pod);
}

/* Computes the counts of all domains below this one, and of itself, from those of the leaves. `rounds`: the pods of a
   domain are rounded down to whole inner slices. */
static void count_up(struct naive_task *task, struct naive_domain *domain, bool rounds) {
  if (domain->n_children) {
    int64_t lost_pods = INT64_MAX, lost_slices = INT64_MAX;
    domain->pods = domain->slices = domain->pods_beside = domain->slices_beside = domain->affinity = 0;
    domain->leaders = 0;
    for (int i = 0; i < domain->n_children; i++) {
      struct naive_domain *child = domain->child[i];
      count_up(task, child, rounds);
      int64_t unit = rounds && task->inner[child->level] ? task->inner[child->level] : 1;
      int64_t pods = child->pods / unit * unit, beside = child->pods_beside / unit * unit;
      domain->pods += pods;
      domain->slices += child->slices;
      domain->affinity += child->affinity;
      if (child->leaders > domain->leaders) domain->leaders = child->leaders;
      if (task->request->has_leader && !child->leaders) continue;
      lost_pods = least(lost_pods, pods - beside);
      lost_slices = least(lost_slices, child->slices - child->slices_beside);
    }
    if (lost_pods != INT64_MAX) domain->pods_beside = domain->pods - lost_pods;
    if (lost_pods != INT64_MAX) domain->slices_beside = domain->slices - lost_slices;
  }
  if (domain->level != task->slice_level) return;
  domain->slices = domain->pods / task->size;
  domain->slices_beside = domain->pods_beside / task->size;
}

/* ---- Orders ---- */

static bool goes_before(const struct naive_task *task, const struct naive_domain *a, const struct naive_domain *b,
                        bool beside, bool least_free) {
  int64_t left = beside ? a->slices_beside : a->slices, right = beside ? b->slices_beside : b->slices;
  if (beside && a->leaders != b->leaders) return a->leaders > b->leaders;
  if (task->world->affinity_preferred && a->affinity != b->affinity) return a->affinity > b->affinity;
  if (left != right) return least_free ? left < right : left > right;
  left = beside ? a->pods_beside : a->pods;
  right = beside ? b->pods_beside : b->pods;
  return left != right ? left < right : a->rank < b->rank;
}

static void sort(const struct naive_task *task, struct naive_list *list, int from, bool beside, bool least_free) {
  for (int i = from + 1; i < list->n; i++)
    for (int j = i; j > from && goes_before(task, list->at[j], list->at[j - 1], beside, least_free); j--) {
      struct naive_domain *moved = list->at[j];
      list->at[j] = list->at[j - 1];
      list->at[j - 1] = moved;
    }
}

/* Returns the smallest domain, from index `from` on, that has at least `needed` units. If no domain is large enough,
   returns the domain at `from`. `slices`: units are slices, otherwise pods. */
static struct naive_domain *smallest_from(const struct naive_task *task, const struct naive_list *list, int from,
                                          int64_t needed, int leaders, bool slices) {
  struct naive_domain *best = NULL;
  int64_t best_units = 0;
  for (int i = from; i < list->n; i++) {
    struct naive_domain *domain = list->at[i];
    if (task->world->affinity_preferred && domain->affinity != list->at[from]->affinity) break;
    int64_t units =
        slices ? (leaders ? domain->slices_beside : domain->slices) : (leaders ? domain->pods_beside : domain->pods);
    if (domain->leaders < leaders || units < needed || (best && units >= best_units)) continue;
    best = domain;
    best_units = units;
  }
  return best ? best : list->at[from];
}

/* Moves the domain for the leader to the front: the first domain such that the domains still have enough capacity if
   the leader is there. `slices`: capacity is counted in slices, otherwise in pods. */
static void put_leader_first(struct naive_list *list, int64_t needed, bool slices) {
  int64_t all = 0;
  for (int i = 0; i < list->n; i++) all += slices ? list->at[i]->slices : list->at[i]->pods;
  for (int i = 0; i < list->n && list->n > 1; i++) {
    struct naive_domain *domain = list->at[i];
    int64_t lost = slices ? domain->slices - domain->slices_beside : domain->pods - domain->pods_beside;
    if (!domain->leaders || all - lost < needed) continue;
    for (; i > 0; i--) list->at[i] = list->at[i - 1];
    list->at[0] = domain;
    return;
  }
}

/* ---- Distribution ---- */

/* Distributes units over the domains of a list in order. Returns the domains that got units. `slices`: units are
   slices, otherwise pods. */
static struct naive_list hand_out(struct naive_task *task, struct naive_list list, int64_t pods, int leaders,
                                  int64_t size, bool slices) {
  struct naive_list used = {.n = 0};
  int64_t left = slices ? pods / size : pods;
  if (leaders) put_leader_first(&list, left, slices);
  for (int i = 0; i < list.n; i++) {
    struct naive_domain *domain = list.at[i];
    bool leads = leaders > 0;
    int64_t units =
        slices ? (leads ? domain->slices_beside : domain->slices) : (leads ? domain->pods_beside : domain->pods);
    if (!task->least_free && units >= left && domain->leaders >= leaders) {
      domain = smallest_from(task, &list, i, left, leaders, slices);
      units = slices ? (leads ? domain->slices_beside : domain->slices) : (leads ? domain->pods_beside : domain->pods);
    }
    units = least(units, left);
    domain->leaders = leads && domain->leaders ? 1 : 0;
    domain->pods = slices ? units * size : units;
    if (slices) domain->slices = units;
    left -= units;
    leaders -= domain->leaders;
    used.at[used.n++] = domain;
    if (left <= 0 && leaders <= 0) return used;
  }
  return (struct naive_list){.n = 0};
}

static struct naive_list children_of(const struct naive_list *list) {
  struct naive_list children = {.n = 0};
  for (int i = 0; i < list->n; i++)
    for (int j = 0; j < list->at[i]->n_children; j++) children.at[children.n++] = list->at[i]->child[j];
  return children;
}

/* Distributes the pods of each domain over its children. */
static struct naive_list divide(struct naive_task *task, const struct naive_list *list, int level) {
  struct naive_list used = {.n = 0};
  int64_t size = level < task->slice_level ? task->size : task->inner[level + 1] ? task->inner[level + 1] : 1;
  for (int i = 0; i < list->n; i++) {
    struct naive_list one = {.at = {list->at[i]}, .n = 1}, children = children_of(&one);
    sort(task, &children, 0, false, task->least_free);
    for (int j = 0; j < children.n && size > 1; j++) {
      children.at[j]->slices = children.at[j]->pods / size;
      children.at[j]->slices_beside = children.at[j]->pods_beside / size;
    }
    struct naive_list part = hand_out(task, children, list->at[i]->pods, list->at[i]->leaders, size, size > 1);
    for (int j = 0; j < part.n; j++) used.at[used.n++] = part.at[j];
  }
  return used;
}

/* ---- Selection of domains ---- */

static bool has_all(const struct naive_task *task, const struct naive_domain *domain) {
  return domain->slices_beside >= task->request->count / task->size && domain->leaders >= task->request->has_leader;
}

static int64_t slices_below(const struct naive_task *task, const struct naive_domain *domain) {
  if (domain->level == task->slice_level) return domain->pods / task->size;
  int64_t sum = 0;
  for (int i = 0; i < domain->n_children; i++) sum += slices_below(task, domain->child[i]);
  return sum;
}

static struct naive_list fails(const struct naive_task *task, int level, int64_t enough_for,
                               struct naive_placement *result) {
  result->enough_for = enough_for;
  if (task->request->n_slices > 1) {
    const struct naive_domain *best = task->levels[level].at[0];
    for (int i = 1; i < task->levels[level].n; i++)
      if (task->levels[level].at[i]->slices > best->slices) best = task->levels[level].at[i];
    result->enough_for = slices_below(task, best);
  }
  return (struct naive_list){.n = 0};
}

static struct naive_list several(struct naive_task *task, int level, struct naive_list sorted,
                                 struct naive_placement *result) {
  struct naive_list used = {.n = 0};
  int64_t wanted = task->request->count / task->size, left = wanted;
  int leaders = task->request->has_leader, i = 0;
  if (leaders) put_leader_first(&sorted, wanted, true);
  for (; leaders && i < sorted.n && sorted.at[i]->leaders; i++) {
    struct naive_domain *domain = sorted.at[i];
    if (!task->least_free && domain->slices_beside >= left)
      domain = smallest_from(task, &sorted, i, left, leaders, true);
    used.at[used.n++] = domain;
    leaders -= domain->leaders;
    left -= domain->slices_beside;
  }
  if (leaders) return fails(task, level, 0, result);
  sort(task, &sorted, i, false, task->least_free);
  for (; left > 0 && i < sorted.n; i++) {
    struct naive_domain *domain = sorted.at[i];
    if (!task->least_free && domain->slices >= left) domain = smallest_from(task, &sorted, i, left, 0, true);
    used.at[used.n++] = domain;
    left -= domain->slices;
  }
  return left > 0 ? fails(task, level, wanted - left, result) : used;
}

/* Selects domains at a level or above it. Returns an empty list if the request does not fit. */
static struct naive_list select_at(struct naive_task *task, int *level, struct naive_placement *result) {
  struct naive_list sorted = task->levels[*level], one = {.n = 1};
  int64_t wanted = task->request->count / task->size;
  sort(task, &sorted, 0, true, task->least_free);
  for (int i = 0; i < sorted.n; i++) { /* the first (best fit: the smallest) with enough capacity */
    bool only_first = !task->least_free && !(task->world->affinity_preferred && task->request->mode == NAIVE_REQUIRED);
    if (i && only_first) break;
    if (!has_all(task, sorted.at[i])) continue;
    one.at[0] =
        task->least_free ? sorted.at[i] : smallest_from(task, &sorted, i, wanted, task->request->has_leader, true);
    return one;
  }
  if (task->request->mode == NAIVE_REQUIRED) return fails(task, *level, sorted.at[0]->slices, result);
  if (*level && !task->may_spread) {
    --*level;
    return select_at(task, level, result);
  }
  return several(task, *level, sorted, result);
}

/* ---- Balanced placement ---- */

/* Returns the number of domains that a greedy selection needs; 0: all domains are not enough. Sets `*last` and
   `*last_leader` to the last selected domains without and with a leader; NULL: none. */
static int greedy(struct naive_task *task, struct naive_list list, int64_t slices, int leaders,
                  struct naive_domain **last, struct naive_domain **last_leader) {
  int i = 0;
  *last = *last_leader = NULL;
  sort(task, &list, 0, leaders > 0, false);
  for (; leaders && i < list.n && list.at[i]->leaders; i++) {
    *last_leader = list.at[i];
    slices -= list.at[i]->slices_beside;
    leaders--;
  }
  if (leaders) return 0;
  sort(task, &list, i, false, false);
  for (; slices > 0 && i < list.n && list.at[i]->slices > 0; i++) {
    *last = list.at[i];
    slices -= list.at[i]->slices;
  }
  return slices > 0 ? 0 : i;
}

/* One choice of domains. The steps are compared from the last one to the first one. */
struct naive_choice {
  int n;
  int at[MAX_LIST];           /* positions in the list, ascending */
  int64_t pods[MAX_LIST + 1]; /* still to be placed before each step, and at the end */
  int leaders[MAX_LIST + 1];
};

/* Returns whether a is found before b. Both have the same number of pods left at the end. */
static bool found_before(const struct naive_choice *a, const struct naive_choice *b) {
  for (int i = a->n - 1; i >= 0; i--) {
    if (a->at[i] != b->at[i]) return a->at[i] < b->at[i];
    if (a->leaders[i] != b->leaders[i]) return a->leaders[i] < b->leaders[i];
    if (a->pods[i] != b->pods[i]) return a->pods[i] < b->pods[i];
  }
  return false;
}

/* Tries all sets of `n` domains, with and without a leader in each. */
static void try_all(const struct naive_list *list, int from, struct naive_choice *now, int n,
                    struct naive_choice *best) {
  int64_t left = now->pods[now->n];
  int leaders = now->leaders[now->n];
  if (now->n == n) {
    if (leaders || left > 0) return;
    if (!best->n || left > best->pods[n] || (left == best->pods[n] && found_before(now, best))) *best = *now;
    return;
  }
  if (leaders <= 0 && left <= 0) return;
  for (int i = from; i < list->n; i++)
    for (int leads = 0; leads < 2; leads++) {
      if (leads ? leaders <= 0 || !list->at[i]->leaders : list->at[i]->slices <= 0) continue;
      now->at[now->n] = i;
      now->pods[now->n + 1] = left - (leads ? list->at[i]->pods_beside : list->at[i]->pods);
      now->leaders[now->n + 1] = leaders - leads;
      now->n++;
      try_all(list, i + 1, now, n, best);
      now->n--;
    }
}

static double entropy(const struct naive_domain *domain) {
  double total = 0, sum = 0;
  for (int i = 0; i < domain->n_children; i++) total += (double)domain->child[i]->pods;
  for (int i = 0; i < domain->n_children; i++) {
    double share = total > 0 ? (double)domain->child[i]->pods / total : 0;
    if (share > 0) sum -= share * log2(share);
  }
  return sum;
}

static bool entropy_precedes(const struct naive_domain *a, const struct naive_domain *b) {
  if (a->leaders != b->leaders) return a->leaders > b->leaders;
  if (a->slices_beside != b->slices_beside) return a->slices_beside > b->slices_beside;
  if (entropy(a) != entropy(b)) return entropy(a) > entropy(b);
  return a->rank < b->rank;
}

/* Replaces the list by its best subset. Returns false if no subset suffices. `by_entropy`: domains are considered in
   the order of their entropy, otherwise by rank. */
static bool best_subset(struct naive_task *task, struct naive_list *list, bool by_entropy) {
  struct naive_domain *last, *last_leader;
  int64_t slices = task->request->count / task->size;
  int n = greedy(task, *list, slices, task->request->has_leader, &last, &last_leader);
  if (!n) return false;
  for (int i = 1; i < list->n; i++)
    for (int j = i; j > 0; j--) {
      struct naive_domain *a = list->at[j - 1], *b = list->at[j];
      if (by_entropy ? !entropy_precedes(b, a) : a->rank < b->rank) break;
      list->at[j - 1] = b;
      list->at[j] = a;
    }
  struct naive_choice now = {.pods = {slices * task->size}, .leaders = {task->request->has_leader}}, best = {.n = 0};
  try_all(list, 0, &now, n, &best);
  struct naive_list all = *list;
  list->n = best.n;
  for (int i = 0; i < best.n; i++) list->at[i] = all.at[best.at[i]];
  return best.n > 0;
}

static void empty(struct naive_domain *domain) {
  domain->pods = domain->slices = domain->pods_beside = domain->slices_beside = 0;
  domain->leaders = 0;
  for (int i = 0; i < domain->n_children; i++) empty(domain->child[i]);
}

static void forbid_leader(struct naive_domain *domain) {
  domain->pods_beside = domain->slices_beside = 0;
  domain->leaders = 0;
  for (int i = 0; i < domain->n_children; i++) forbid_leader(domain->child[i]);
}

static void prune_one(struct naive_task *task, struct naive_domain *domain, int64_t threshold) {
  if (domain->slices < threshold)
    empty(domain);
  else if (task->request->has_leader && domain->leaders && domain->slices_beside < threshold)
    forbid_leader(domain);
}

/* Computes all counts again and prunes the domains of a list. Returns the number of domains that are needed; 0: too few
   remain. */
static int prune(struct naive_task *task, const struct naive_list *list, int64_t threshold);

static void count_all(struct naive_task *task) {
  int last = task->world->n_levels - 1;
  for (int level = 0; level <= last; level++)
    for (int i = 0; i < task->levels[level].n; i++) empty(task->levels[level].at[i]);
  for (int i = 0; i < task->levels[last].n; i++) count_leaf(task, task->levels[last].at[i]);
  for (int i = 0; i < task->levels[0].n; i++) count_up(task, task->levels[0].at[i], true);
}

static int prune(struct naive_task *task, const struct naive_list *list, int64_t threshold) {
  struct naive_domain *last, *last_leader;
  count_all(task);
  for (int i = 0; i < list->n; i++)
    for (int j = 0; j < list->at[i]->n_children; j++) prune_one(task, list->at[i]->child[j], threshold);
  for (int i = 0; i < list->n; i++) {
    count_up(task, list->at[i], false);
    prune_one(task, list->at[i], threshold);
  }
  return greedy(task, *list, task->request->count / task->size, task->request->has_leader, &last, &last_leader);
}

/* Returns the threshold of the domains of one parent after pruning; 0: not possible, or not better than `best`. */
static int64_t threshold_of(struct naive_task *task, const struct naive_list *list, int64_t best, int *needed) {
  struct naive_domain *last, *last_leader;
  int64_t slices = task->request->count / task->size;
  count_all(task);
  struct naive_list lower = task->level < task->slice_level ? children_of(list) : *list;
  int n = greedy(task, lower, slices, task->request->has_leader, &last, &last_leader);
  if (!n) return 0;
  int64_t threshold = slices / n;
  if (last_leader) threshold = least(threshold, last_leader->slices_beside);
  if (last) threshold = least(threshold, last->slices);
  int64_t lower_threshold = task->request->has_leader && last ? least(threshold, last->slices_beside) : threshold;
  if (threshold < best || threshold <= 0) return 0;
  *needed = prune(task, list, threshold);
  if (*needed) return threshold;
  if (lower_threshold >= threshold || lower_threshold <= 0 || lower_threshold < best) return 0;
  *needed = prune(task, list, lower_threshold);
  return *needed ? lower_threshold : 0;
}

/* Assigns the threshold to each domain of the best subset, and the rest to the domains in order. Returns false if this
   is not possible. */
static bool balance(struct naive_task *task, struct naive_list *list, int64_t threshold) {
  if (!best_subset(task, list, false)) return false;
  int64_t rest = task->request->count / task->size - list->n * threshold;
  int leaders = task->request->has_leader;
  if (rest < 0) return false;
  sort(task, list, 0, true, false);
  for (int i = 0; i < list->n; i++) {
    struct naive_domain *domain = list->at[i];
    int64_t more = leaders ? least(rest, domain->slices_beside - threshold)
                   : rest  ? least(rest, domain->slices - threshold)
                           : 0;
    domain->leaders = leaders;
    leaders = 0;
    rest -= more;
    domain->slices = domain->slices_beside = threshold + more;
    domain->pods = domain->slices * task->size;
    domain->pods_beside = domain->pods - domain->leaders;
  }
  return rest <= 0 && !leaders;
}

/* Returns an empty list if balanced placement is not possible. */
static struct naive_list select_balanced(struct naive_task *task, int *level) {
  int64_t best = 0;
  int best_needed = 0, parents = task->level ? task->levels[task->level - 1].n : 1;
  struct naive_list best_list = {.n = 0}, none = {.n = 0};
  for (int i = 0; i < parents; i++) {
    struct naive_list list = task->levels[0], one = {.n = 1};
    int needed = 0;
    if (task->level) {
      one.at[0] = task->levels[task->level - 1].at[i];
      list = children_of(&one);
    }
    int64_t threshold = threshold_of(task, &list, best, &needed);
    if (threshold <= best && !(threshold == best && threshold && needed < best_needed)) continue;
    best = threshold;
    best_needed = needed;
    best_list = list;
  }
  if (!best) return none;
  prune(task, &best_list, best);
  *level = task->level;
  if (task->level < task->slice_level) {
    if (!best_subset(task, &best_list, true)) return none;
    best_list = children_of(&best_list);
    ++*level;
  }
  return balance(task, &best_list, best) ? best_list : none;
}

/* ---- Placement ---- */

static void prepare(struct naive_task *task) {
  const struct naive_pod_set *request = task->request;
  bool only_slices = request->mode == NAIVE_ONLY_SLICES;
  int lowest = task->world->n_levels - 1;
  task->size = request->n_slices ? request->slice_size[0] : 1;
  task->slice_level = request->n_slices ? request->slice_level[0] : lowest;
  task->level = only_slices ? 0 : request->mode == NAIVE_UNCONSTRAINED ? lowest : request->level;
  if (request->mode == NAIVE_UNCONSTRAINED && request->n_slices) task->level = 0;
  task->may_spread = request->mode == NAIVE_UNCONSTRAINED || only_slices;
  task->least_free = task->may_spread && task->world->profile_mixed;
  if (request->n_slices > 1)
    for (int level = task->slice_level + 1; level <= request->slice_level[1]; level++)
      task->inner[level] = request->slice_size[1];
  for (int level = 0; level <= lowest; level++) create_level(task, level);
}

void naive_topology_place(const struct naive_topology *world, const struct naive_pod_set *request,
                          struct naive_placement *result) {
  struct naive_task task = {.world = world, .request = request};
  struct naive_list list = {.n = 0};
  int level = 0;
  *result = (struct naive_placement){.fits = false};
  prepare(&task);
  if (world->balanced && request->mode == NAIVE_PREFERRED) list = select_balanced(&task, &level);
  bool is_balanced = list.n > 0;
  if (!is_balanced) {
    count_all(&task);
    level = task.level;
    list = select_at(&task, &level, result);
  }
  if (list.n) {
    result->fits = true;
    list = hand_out(&task, list, request->count, request->has_leader, task.size, true);
    for (; !is_balanced && level < task.slice_level; level++) {
      list = children_of(&list);
      sort(&task, &list, 0, false, task.least_free);
      list = hand_out(&task, list, request->count, request->has_leader, task.size, true);
    }
    for (; level < world->n_levels - 1; level++) list = divide(&task, &list, level);
    for (int i = 0; i < list.n; i++) {
      result->pods[list.at[i]->first_node] = list.at[i]->pods;
      result->leaders[list.at[i]->first_node] = list.at[i]->leaders;
    }
  }
  free_tree(&task);
}
