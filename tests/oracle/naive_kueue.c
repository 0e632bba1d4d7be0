/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See naive_kueue.h. The state of a cycle consists of the workloads that still run and the amounts that are reserved
   for entries. All values of the tree of quotas are computed from it by recursion. */

#include "naive_kueue.h"

#include <math.h>
#include <string.h>

#define PAIR(flavor, resource) ((flavor)*KUEUE_RESOURCES + (resource))

struct kueue_state {
  const struct naive_cluster *cluster;
  bool runs[KUEUE_JOBS];
  long held[KUEUE_QUEUES][KUEUE_PAIRS];
};

static long larger(long a, long b) {
  return a > b ? a : b;
}

static long smaller(long a, long b) {
  return a < b ? a : b;
}

/* ---- Tree of quotas ---- */

static bool is_queue(const struct naive_cluster *cluster, int node) {
  return node < cluster->n_queues;
}

static long keeps(const struct naive_cluster *cluster, int node, int pair);

/* Returns the quota of a node, including the amounts that its children lend. */
static long quota(const struct naive_cluster *cluster, int node, int pair) {
  long sum = cluster->nominal[node][pair];
  for (int child = 0; child < cluster->n_nodes; child++)
    if (cluster->parent[child] == node) sum += quota(cluster, child, pair) - keeps(cluster, child, pair);
  return sum;
}

/* Returns the quota that a node never lends. */
static long keeps(const struct naive_cluster *cluster, int node, int pair) {
  if (cluster->lending[node][pair] == KUEUE_NO_LIMIT) return 0;
  return larger(0, quota(cluster, node, pair) - cluster->lending[node][pair]);
}

static long usage(const struct kueue_state *state, int node, int pair) {
  const struct naive_cluster *cluster = state->cluster;
  long sum = 0;
  if (is_queue(cluster, node)) {
    sum = state->held[node][pair];
    for (int i = 0; i < cluster->n_jobs; i++) {
      const struct naive_job *job = &cluster->jobs[i];
      if (state->runs[i] && job->queue == node && job->flavor == pair / KUEUE_RESOURCES)
        sum += job->count * job->request[pair % KUEUE_RESOURCES];
    }
    return sum;
  }
  for (int child = 0; child < cluster->n_nodes; child++)
    if (cluster->parent[child] == node) sum += larger(0, usage(state, child, pair) - keeps(cluster, child, pair));
  return sum;
}

static long free_local(const struct kueue_state *state, int node, int pair) {
  return larger(0, keeps(state->cluster, node, pair) - usage(state, node, pair));
}

static long room(const struct kueue_state *state, int node, int pair) {
  const struct naive_cluster *cluster = state->cluster;
  if (cluster->parent[node] < 0) return quota(cluster, node, pair) - usage(state, node, pair);
  long above = room(state, cluster->parent[node], pair);
  if (cluster->borrowing[node][pair] != KUEUE_NO_LIMIT) {
    long stored = quota(cluster, node, pair) - keeps(cluster, node, pair);
    long used = larger(0, usage(state, node, pair) - keeps(cluster, node, pair));
    above = smaller(above, stored - used + cluster->borrowing[node][pair]);
  }
  return free_local(state, node, pair) + above;
}

static long most(const struct naive_cluster *cluster, int node, int pair) {
  if (cluster->parent[node] < 0) return quota(cluster, node, pair);
  long sum = keeps(cluster, node, pair) + most(cluster, cluster->parent[node], pair);
  if (cluster->borrowing[node][pair] == KUEUE_NO_LIMIT) return sum;
  return smaller(sum, quota(cluster, node, pair) + cluster->borrowing[node][pair]);
}

static int height(const struct naive_cluster *cluster, int node) {
  int highest = 0;
  for (int child = 0; child < cluster->n_nodes; child++) {
    if (cluster->parent[child] != node) continue;
    int own = is_queue(cluster, child) ? 1 : height(cluster, child) + 1;
    highest = own > highest ? own : highest;
  }
  return highest;
}

static int top(const struct naive_cluster *cluster, int node) {
  return cluster->parent[node] < 0 ? node : top(cluster, cluster->parent[node]);
}

static bool is_below(const struct naive_cluster *cluster, int node, int ancestor) {
  for (int at = cluster->parent[node]; at >= 0; at = cluster->parent[at])
    if (at == ancestor) return true;
  return false;
}

/* Returns the borrow level of an additional amount. Sets `*part` to whether the quota of a node below the root suffices
   for the amount. */
static int level_of(const struct kueue_state *state, int queue, int pair, long amount, bool *part) {
  const struct naive_cluster *cluster = state->cluster;
  *part = cluster->parent[queue] >= 0;
  if (!*part || usage(state, queue, pair) + amount <= cluster->nominal[queue][pair]) return 0;
  long rest = amount - free_local(state, queue, pair);
  int node = cluster->parent[queue];
  for (;; node = cluster->parent[node]) {
    *part = cluster->parent[node] >= 0;
    if (usage(state, node, pair) + rest <= quota(cluster, node, pair)) return height(cluster, node);
    rest -= free_local(state, node, pair);
    if (!*part) return height(cluster, node);
  }
}

static bool subtree_has(const struct naive_cluster *cluster, int node, int pair) {
  bool has = cluster->has[node][pair];
  for (int child = 0; child < cluster->n_nodes; child++)
    if (cluster->parent[child] == node) has |= subtree_has(cluster, child, pair);
  return has;
}

/* ---- Shares ---- */

struct kueue_share {
  double ratio, value;
  bool borrowing;
};

static struct kueue_share share_of(const struct kueue_state *state, int node) {
  const struct naive_cluster *cluster = state->cluster;
  struct kueue_share share = {0, 0, false};
  if (cluster->parent[node] < 0) return share;
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++) {
    double borrowed = 0, lendable = 0;
    for (int flavor = 0; flavor < KUEUE_FLAVORS; flavor++) {
      int pair = PAIR(flavor, resource);
      long over = usage(state, node, pair) - quota(cluster, node, pair);
      if (subtree_has(cluster, node, pair) && over > 0) borrowed += (double)over;
      if (subtree_has(cluster, top(cluster, node), pair))
        lendable += (double)most(cluster, cluster->parent[node], pair);
    }
    share.borrowing |= borrowed > 0;
    if (borrowed > 0 && lendable > 0 && borrowed * 1000 / lendable > share.ratio)
      share.ratio = borrowed * 1000 / lendable;
  }
  share.value = share.ratio > 0 ? share.ratio / cluster->weight[node] : 0;
  if (!cluster->weight[node]) share.value = share.borrowing ? (double)INFINITY : 0;
  return share;
}

static int compare_shares(struct kueue_share a, struct kueue_share b) {
  if (isinf(a.value) && isinf(b.value)) return (a.ratio > b.ratio) - (a.ratio < b.ratio);
  return (a.value > b.value) - (a.value < b.value);
}

/* ---- Preemption ---- */

struct kueue_demand {
  int job, queue;
  long amount[KUEUE_PAIRS]; /* must fit */
  bool asked[KUEUE_PAIRS];  /* has an amount, maybe 0 */
  bool scarce[KUEUE_PAIRS]; /* needs preemption */
};

struct kueue_candidate_list {
  int n, job[KUEUE_JOBS];
  int group[KUEUE_JOBS]; /* 0: the demand fits into the quota of a node below `ancestor`; 1: it does not; 2: own
                            queue */
  int ancestor[KUEUE_JOBS];
  bool strict[KUEUE_JOBS]; /* preempted only if the preemptor does not borrow */
};

static bool allows(enum naive_policy policy, const struct naive_job *preemptor, const struct naive_job *victim) {
  if (policy == NAIVE_ANY) return true;
  if (policy == NAIVE_NEVER) return false;
  if (victim->priority < preemptor->priority) return true;
  return policy == NAIVE_LOWER_OR_NEWER && victim->priority == preemptor->priority &&
         victim->created > preemptor->created;
}

static bool within_quota(const struct kueue_state *state, const struct kueue_demand *demand, int node) {
  for (int pair = 0; pair < KUEUE_PAIRS; pair++)
    if (demand->scarce[pair] && usage(state, node, pair) > quota(state->cluster, node, pair)) return false;
  return true;
}

static bool demand_fits(const struct kueue_state *state, const struct kueue_demand *demand, bool borrow) {
  for (int pair = 0; pair < KUEUE_PAIRS; pair++) {
    if (!demand->asked[pair]) continue;
    long total = usage(state, demand->queue, pair) + demand->amount[pair];
    if (!borrow && total > state->cluster->nominal[demand->queue][pair]) return false;
    if (demand->amount[pair] > larger(0, room(state, demand->queue, pair))) return false;
  }
  return true;
}

static bool uses_scarce(const struct kueue_demand *demand, const struct naive_job *job) {
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++)
    if (demand->scarce[PAIR(job->flavor, resource)]) return true;
  return false;
}

/* Returns whether victim `a` is preempted before `b`. */
static bool taken_before(const struct naive_cluster *cluster, int a_id, int b_id, int queue) {
  const struct naive_job *a = &cluster->jobs[a_id], *b = &cluster->jobs[b_id];
  if (a->evicted != b->evicted) return a->evicted;
  if ((a->queue == queue) != (b->queue == queue)) return b->queue == queue;
  if (a->priority != b->priority) return a->priority < b->priority;
  if (a->reserved != b->reserved) return a->reserved > b->reserved;
  return a->uid < b->uid;
}

static void exchange(struct kueue_candidate_list *list, int i) {
  struct kueue_candidate_list old = *list;
  list->job[i] = old.job[i + 1], list->job[i + 1] = old.job[i];
  list->group[i] = old.group[i + 1], list->group[i + 1] = old.group[i];
  list->ancestor[i] = old.ancestor[i + 1], list->ancestor[i + 1] = old.ancestor[i];
  list->strict[i] = old.strict[i + 1], list->strict[i + 1] = old.strict[i];
}

static void sort_candidates(const struct naive_cluster *cluster, struct kueue_candidate_list *list, int queue) {
  for (int round = 0; round < list->n; round++) {
    for (int i = 0; i + 1 < list->n; i++) {
      bool a = cluster->jobs[list->job[i]].evicted, b = cluster->jobs[list->job[i + 1]].evicted;
      bool wrong;
      if (a != b)
        wrong = b;
      else if (list->group[i] != list->group[i + 1])
        wrong = list->group[i] > list->group[i + 1];
      else
        wrong = taken_before(cluster, list->job[i + 1], list->job[i], queue);
      if (wrong) exchange(list, i);
    }
  }
}

static void add_queue(const struct kueue_state *state, const struct kueue_demand *demand, int queue, int ancestor,
                      bool advantage, struct kueue_candidate_list *list) {
  const struct naive_cluster *cluster = state->cluster;
  const struct naive_queue *rules = &cluster->queues[demand->queue];
  const struct naive_job *preemptor = &cluster->jobs[demand->job];
  for (int i = 0; i < cluster->n_jobs; i++) {
    const struct naive_job *job = &cluster->jobs[i];
    if (!state->runs[i] || job->queue != queue || !uses_scarce(demand, job)) continue;
    if (!allows(ancestor < 0 ? rules->within : rules->reclaim, preemptor, job)) continue;
    bool high = job->priority >= preemptor->priority ||
                (rules->threshold != KUEUE_NO_LIMIT && job->priority > rules->threshold);
    list->job[list->n] = i;
    list->group[list->n] = ancestor < 0 ? 2 : advantage ? 0 : 1;
    list->ancestor[list->n] = ancestor;
    list->strict[list->n++] = ancestor >= 0 && !advantage && (!rules->borrow || high);
  }
}

/* Returns whether all nodes from a queue up to the child of `ancestor` use more than their quota. */
static bool exceeds_up_to(const struct kueue_state *state, const struct kueue_demand *demand, int queue, int ancestor) {
  for (int node = queue; node != ancestor; node = state->cluster->parent[node])
    if (within_quota(state, demand, node)) return false;
  return true;
}

static struct kueue_candidate_list classical_candidates(const struct kueue_state *state,
                                                        const struct kueue_demand *demand) {
  const struct naive_cluster *cluster = state->cluster;
  struct kueue_candidate_list list = {0};
  add_queue(state, demand, demand->queue, -1, false, &list);
  if (cluster->queues[demand->queue].reclaim == NAIVE_NEVER) return list;
  long rest[KUEUE_PAIRS];
  memcpy(rest, demand->amount, sizeof rest);
  bool advantage = false;
  int below = demand->queue;
  for (int node = demand->queue; node >= 0; below = node, node = cluster->parent[node]) {
    for (int queue = 0; node != demand->queue && queue < cluster->n_queues; queue++)
      if (is_below(cluster, queue, node) && queue != below && !is_below(cluster, queue, below) &&
          exceeds_up_to(state, demand, queue, node))
        add_queue(state, demand, queue, node, advantage, &list);
    bool fits = true;
    for (int pair = 0; pair < KUEUE_PAIRS; pair++) {
      if (!demand->asked[pair]) continue;
      fits &= usage(state, node, pair) + rest[pair] <= quota(cluster, node, pair);
      rest[pair] = larger(0, rest[pair] - free_local(state, node, pair));
    }
    advantage |= fits;
  }
  return list;
}

/* Removes victims that are not needed from the list. `borrow`: the queue may borrow. */
static void put_back(struct kueue_state *state, const struct kueue_demand *demand, bool borrow,
                     struct naive_targets *targets) {
  for (int i = targets->n - 2; i >= 0; i--) {
    if (i >= targets->n - 1) continue;
    state->runs[targets->job[i]] = true;
    if (!demand_fits(state, demand, borrow)) {
      state->runs[targets->job[i]] = false;
      continue;
    }
    targets->n--;
    targets->job[i] = targets->job[targets->n];
    targets->cause[i] = targets->cause[targets->n];
  }
}

static bool attempt(struct kueue_state state, const struct kueue_demand *demand,
                    const struct kueue_candidate_list *list, bool borrow, struct naive_targets *targets) {
  static const enum naive_cause causes[] = {NAIVE_RECLAIMED, NAIVE_WHILE_BORROWING, NAIVE_OWN_QUEUE};
  targets->n = 0;
  for (int i = 0; i < list->n; i++) {
    int job = list->job[i];
    if (list->ancestor[i] >= 0 && ((borrow && list->strict[i]) ||
                                   !exceeds_up_to(&state, demand, state.cluster->jobs[job].queue, list->ancestor[i])))
      continue;
    state.runs[job] = false;
    targets->job[targets->n] = job;
    targets->cause[targets->n++] = list->strict[i] ? NAIVE_RECLAIMED : causes[list->group[i]];
    if (!demand_fits(&state, demand, borrow)) continue;
    put_back(&state, demand, borrow, targets);
    return true;
  }
  targets->n = 0;
  return false;
}

static void preempt_classical(const struct kueue_state *state, const struct kueue_demand *demand,
                              struct naive_targets *targets) {
  const struct naive_cluster *cluster = state->cluster;
  struct kueue_candidate_list list = classical_candidates(state, demand);
  sort_candidates(cluster, &list, demand->queue);
  bool foreign = false, hierarchy = false, under = true;
  for (int i = 0; i < list.n; i++) {
    foreign |= list.group[i] != 2;
    hierarchy |= list.group[i] == 0;
  }
  for (int pair = 0; pair < KUEUE_PAIRS; pair++)
    if (demand->scarce[pair] && usage(state, demand->queue, pair) >= cluster->nominal[demand->queue][pair])
      under = false;
  bool forbidden = !cluster->queues[demand->queue].borrow;
  if (!foreign || (forbidden && !under)) {
    attempt(*state, demand, &list, true, targets);
  } else if (forbidden && !hierarchy) {
    if (!attempt(*state, demand, &list, false, targets)) attempt(*state, demand, &list, true, targets);
  } else if (!attempt(*state, demand, &list, true, targets)) {
    attempt(*state, demand, &list, false, targets);
  }
}

/* ---- Preemption with fair sharing ---- */

struct kueue_fair_run {
  struct kueue_state state; /* the amounts of the demand are reserved */
  const struct kueue_demand *demand;
  struct kueue_candidate_list list; /* in order; job KUEUE_NOBODY: removed from the list */
  bool closed[KUEUE_NODES];
  struct naive_targets *targets;
};

static int first_of(const struct kueue_fair_run *run, int queue) {
  for (int i = 0; i < run->list.n; i++)
    if (run->list.job[i] != KUEUE_NOBODY && run->state.cluster->jobs[run->list.job[i]].queue == queue) return i;
  return -1;
}

/* Descends from `node` to the queue with the highest share, which it returns. If it closes a node instead, returns
   -1. */
static int descend(struct kueue_fair_run *run, int node) {
  const struct naive_cluster *cluster = run->state.cluster;
  int best = -1, own = run->demand->queue;
  struct kueue_share highest = {0, 0, false};
  for (int child = 0; child < cluster->n_nodes; child++) {
    if (cluster->parent[child] != node || run->closed[child]) continue;
    struct kueue_share share = share_of(&run->state, child);
    if (is_queue(cluster, child))
      run->closed[child] = first_of(run, child) < 0 || (!share.borrowing && child != own);
    else
      run->closed[child] = !share.borrowing && !is_below(cluster, own, child);
    if (run->closed[child]) continue;
    int order = best < 0 ? 1 : compare_shares(share, highest);
    if (order == 0 && is_queue(cluster, child))
      order = is_queue(cluster, best) &&
              taken_before(cluster, run->list.job[first_of(run, child)], run->list.job[first_of(run, best)], own);
    else if (order == 0)
      order = 1;
    if (order <= 0) continue;
    best = child;
    highest = share;
  }
  if (best < 0) run->closed[node] = true;
  return best < 0 || is_queue(cluster, best) ? best : descend(run, best);
}

static int next_queue(struct kueue_fair_run *run) {
  const struct naive_cluster *cluster = run->state.cluster;
  int own = run->demand->queue, root = top(cluster, own);
  if (root == own) return run->closed[own] || first_of(run, own) < 0 ? -1 : own;
  while (!run->closed[root]) {
    int queue = descend(run, root);
    if (queue >= 0) return queue;
  }
  return -1;
}

/* Preempts a victim. Returns whether the demand fits now. */
static bool take(struct kueue_fair_run *run, int job, enum naive_cause cause) {
  run->state.runs[job] = false;
  run->targets->job[run->targets->n] = job;
  run->targets->cause[run->targets->n++] = cause;
  struct kueue_state without = run->state;
  for (int pair = 0; pair < KUEUE_PAIRS; pair++) without.held[run->demand->queue][pair] -= run->demand->amount[pair];
  return demand_fits(&without, run->demand, true);
}

static int child_towards(const struct naive_cluster *cluster, int queue, int other) {
  int node = queue;
  while (!is_below(cluster, other, cluster->parent[node])) node = cluster->parent[node];
  return node;
}

static bool is_fair(const struct kueue_fair_run *run, int job, bool initial) {
  const struct naive_cluster *cluster = run->state.cluster;
  int own = run->demand->queue, queue = cluster->jobs[job].queue, side = child_towards(cluster, queue, own);
  struct kueue_share mine = share_of(&run->state, child_towards(cluster, own, queue));
  if (initial) return compare_shares(mine, share_of(&run->state, side)) < 0;
  struct kueue_state after = run->state;
  after.runs[job] = false;
  return compare_shares(mine, share_of(&after, side)) <= 0;
}

static bool first_pass(struct kueue_fair_run *run, struct kueue_candidate_list *retry, bool entitled) {
  int queue, own = run->demand->queue;
  while ((queue = next_queue(run)) >= 0) {
    for (int at; (at = first_of(run, queue)) >= 0;) {
      int job = run->list.job[at];
      bool free_choice = queue == own || entitled;
      run->list.job[at] = KUEUE_NOBODY;
      if (free_choice || is_fair(run, job, run->state.cluster->initial_first)) {
        if (take(run, job, queue == own ? NAIVE_OWN_QUEUE : entitled ? NAIVE_RECLAIMED : NAIVE_SHARED)) return true;
        break;
      }
      retry->job[retry->n++] = job;
    }
  }
  return false;
}

static bool second_pass(struct kueue_fair_run *run, const struct kueue_candidate_list *retry) {
  int queue;
  run->list = *retry;
  memset(run->closed, 0, sizeof run->closed);
  while ((queue = next_queue(run)) >= 0) {
    int job = run->list.job[first_of(run, queue)];
    if (is_fair(run, job, true) && take(run, job, NAIVE_SHARED)) return true;
    run->closed[queue] = true;
  }
  return false;
}

static void preempt_fair(const struct kueue_state *state, const struct kueue_demand *demand,
                         struct naive_targets *targets) {
  const struct naive_cluster *cluster = state->cluster;
  struct kueue_fair_run run = {.state = *state, .demand = demand, .targets = targets};
  struct kueue_candidate_list retry = {0};
  targets->n = 0;
  add_queue(state, demand, demand->queue, -1, false, &run.list);
  for (int queue = 0; queue < cluster->n_queues; queue++) {
    bool borrows = false;
    for (int pair = 0; pair < KUEUE_PAIRS; pair++)
      borrows |= demand->scarce[pair] && usage(state, queue, pair) > cluster->nominal[queue][pair];
    if (queue != demand->queue && borrows && top(cluster, queue) == top(cluster, demand->queue))
      add_queue(state, demand, queue, 0, false, &run.list);
  }
  for (int i = 0; i < run.list.n; i++) run.list.group[i] = 0;
  sort_candidates(cluster, &run.list, demand->queue);
  for (int pair = 0; pair < KUEUE_PAIRS; pair++) run.state.held[demand->queue][pair] += demand->amount[pair];
  bool entitled = cluster->within_nominal;
  for (int pair = 0; pair < KUEUE_PAIRS; pair++)
    if (demand->scarce[pair] && usage(&run.state, demand->queue, pair) > cluster->nominal[demand->queue][pair])
      entitled = false;
  bool fits = first_pass(&run, &retry, entitled) || (cluster->second_strategy && second_pass(&run, &retry));
  for (int pair = 0; pair < KUEUE_PAIRS; pair++) run.state.held[demand->queue][pair] -= demand->amount[pair];
  if (fits)
    put_back(&run.state, demand, true, targets);
  else
    targets->n = 0;
}

static void preempt(const struct kueue_state *state, const struct kueue_demand *demand, struct naive_targets *targets) {
  if (state->cluster->fair)
    preempt_fair(state, demand, targets);
  else
    preempt_classical(state, demand, targets);
}

/* ---- Flavors ---- */

enum kueue_grade { GRADE_NONE, GRADE_HOPELESS, GRADE_PREEMPT, GRADE_RECLAIM, GRADE_FIT };

struct kueue_option {
  enum kueue_grade grade;
  int level, highest; /* borrow level of the worst resource; highest borrow level of all resources */
  enum kueue_grade by_resource[KUEUE_RESOURCES];
};

static bool better(struct kueue_option a, struct kueue_option b, bool preemption_first) {
  if (a.grade == GRADE_NONE) return false;
  if (b.grade == GRADE_NONE) return true;
  if ((a.grade == GRADE_HOPELESS) != (b.grade == GRADE_HOPELESS)) return b.grade == GRADE_HOPELESS;
  if (preemption_first && a.level != b.level) return a.level < b.level;
  if (a.grade != b.grade) return a.grade > b.grade;
  return a.level < b.level;
}

static struct kueue_option grade_pair(const struct kueue_state *state, int job, int pair, long amount) {
  const struct naive_cluster *cluster = state->cluster;
  int queue = cluster->jobs[job].queue;
  const struct naive_queue *rules = &cluster->queues[queue];
  struct kueue_option option = {GRADE_NONE, 0, 0, {GRADE_NONE, GRADE_NONE}};
  if (amount > most(cluster, queue, pair)) return option;
  bool part, unused;
  option.level = level_of(state, queue, pair, amount, &part);
  if (amount <= larger(0, room(state, queue, pair))) {
    option.grade = GRADE_FIT;
    return option;
  }
  if (cluster->nominal[queue][pair] < amount && !part && !rules->borrow &&
      !(cluster->fair && rules->reclaim != NAIVE_NEVER))
    return option;
  struct kueue_demand demand = {.job = job, .queue = queue};
  demand.amount[pair] = amount;
  demand.asked[pair] = demand.scarce[pair] = true;
  struct naive_targets targets = {0};
  preempt(state, &demand, &targets);
  struct kueue_state after = *state;
  bool own = false;
  for (int i = 0; i < targets.n; i++) {
    after.runs[targets.job[i]] = false;
    own |= cluster->jobs[targets.job[i]].queue == queue;
  }
  option.level = level_of(&after, queue, pair, amount, &unused);
  option.grade = !targets.n ? GRADE_HOPELESS : own ? GRADE_PREEMPT : GRADE_RECLAIM;
  return option;
}

static struct kueue_option grade_flavor(const struct kueue_state *state, int job, int flavor, int count) {
  struct kueue_option worst = {GRADE_FIT, 0, 0, {GRADE_NONE, GRADE_NONE}};
  const struct naive_cluster *cluster = state->cluster;
  bool preemption_first = cluster->queues[cluster->jobs[job].queue].preemption_first;
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++) {
    struct kueue_option one =
        grade_pair(state, job, PAIR(flavor, resource), count * cluster->jobs[job].request[resource]);
    worst.by_resource[resource] = one.grade;
    if (one.level > worst.highest) worst.highest = one.level;
    if (!better(worst, one, preemption_first)) continue;
    worst.grade = one.grade;
    worst.level = one.level;
    if (worst.grade == GRADE_NONE) break;
  }
  return worst;
}

/* Chooses a flavor for all pods, or uses the flavor `pinned` (-1: any), and finds targets. */
static void choose(const struct kueue_state *state, int job, int count, int pinned, struct naive_decision *decision) {
  const struct naive_cluster *cluster = state->cluster;
  const struct naive_queue *rules = &cluster->queues[cluster->jobs[job].queue];
  struct kueue_option best = {GRADE_NONE, 0, 0, {GRADE_NONE, GRADE_NONE}};
  *decision = (struct naive_decision){.flavor = -1, .count = count};
  for (int flavor = 0; flavor < KUEUE_FLAVORS; flavor++) {
    if (pinned >= 0 && flavor != pinned) continue;
    struct kueue_option option = grade_flavor(state, job, flavor, count);
    bool next = option.grade <= GRADE_HOPELESS || (option.grade < GRADE_FIT && rules->preempt_next) ||
                (option.level > 0 && rules->borrow_next);
    if (!next ||
        (option.grade != GRADE_NONE && (decision->flavor < 0 || better(option, best, rules->preemption_first)))) {
      best = option;
      decision->flavor = flavor;
    }
    if (!next) break;
  }
  if (best.grade == GRADE_NONE) return;
  decision->mode = best.grade == GRADE_FIT ? NAIVE_FITS : NAIVE_PREEMPTS;
  decision->level = 0;
  struct kueue_demand demand = {.job = job, .queue = cluster->jobs[job].queue};
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++) {
    int pair = PAIR(decision->flavor, resource);
    demand.amount[pair] = count * cluster->jobs[job].request[resource];
    demand.asked[pair] = true;
    demand.scarce[pair] = best.by_resource[resource] != GRADE_FIT;
  }
  decision->level = best.highest;
  if (decision->mode == NAIVE_PREEMPTS) preempt(state, &demand, &decision->targets);
}

static bool is_usable(const struct naive_decision *decision) {
  return decision->mode == NAIVE_FITS || (decision->mode == NAIVE_PREEMPTS && decision->targets.n);
}

static void assign(const struct kueue_state *state, int id, int pinned, struct naive_decision *decision) {
  const struct naive_job *job = &state->cluster->jobs[id];
  choose(state, id, job->count, pinned, decision);
  if (is_usable(decision) || !state->cluster->partial) return;
  int low = 0, steps = job->count - job->minimum, high = steps + 1;
  while (low < high) { /* as in Kueue: the result of a binary search among the smaller counts */
    struct naive_decision trial;
    int middle = (low + high) / 2;
    bool good = false;
    if (middle <= steps && steps > 0) {
      choose(state, id, job->count - middle, pinned, &trial);
      good = is_usable(&trial);
    }
    if (good)
      high = middle;
    else
      low = middle + 1;
  }
  if (steps > 0 && low <= steps) choose(state, id, job->count - low, pinned, decision);
}

/* ---- Order of entries ---- */

static bool comes_first(const struct naive_cluster *cluster, const struct naive_decision *decisions, int a, int b) {
  const struct naive_job *left = &cluster->jobs[cluster->queues[a].head],
                         *right = &cluster->jobs[cluster->queues[b].head];
  if (decisions[a].level != decisions[b].level) return decisions[a].level < decisions[b].level;
  if (cluster->sort_by_priority && left->priority != right->priority) return left->priority > right->priority;
  return left->created < right->created;
}

static void hold(struct kueue_state *state, int queue, const struct naive_decision *decision) {
  const struct naive_job *job = &state->cluster->jobs[state->cluster->queues[queue].head];
  for (int resource = 0; decision->flavor >= 0 && resource < KUEUE_RESOURCES; resource++)
    state->held[queue][PAIR(decision->flavor, resource)] += decision->count * job->request[resource];
}

static bool borrows_requested(const struct kueue_state *state, int node, const struct naive_decision *decision,
                              const struct naive_job *job) {
  for (int resource = 0; decision->flavor >= 0 && resource < KUEUE_RESOURCES; resource++) {
    int pair = PAIR(decision->flavor, resource);
    if (state->cluster->parent[node] >= 0 && decision->count * job->request[resource] > 0 &&
        usage(state, node, pair) > quota(state->cluster, node, pair))
      return true;
  }
  return false;
}

/* Returns the queue whose head is first below a node; -1: no queue remains. */
static int winner(const struct kueue_state *state, const struct naive_decision *decisions, const bool *done, int node) {
  const struct naive_cluster *cluster = state->cluster;
  if (is_queue(cluster, node)) return done[node] || cluster->queues[node].head == KUEUE_NOBODY ? -1 : node;
  int best = -1;
  struct kueue_share best_share = {0, 0, false};
  bool best_borrows = false;
  for (int i = 0; i < cluster->n_nodes; i++) {
    int child = (i + cluster->n_queues) % cluster->n_nodes; /* cohorts first */
    int queue = cluster->parent[child] == node ? winner(state, decisions, done, child) : -1;
    if (queue < 0) continue;
    const struct naive_job *job = &cluster->jobs[cluster->queues[queue].head];
    struct kueue_state with = *state;
    hold(&with, queue, &decisions[queue]);
    struct kueue_share share = share_of(&with, child);
    bool borrows = borrows_requested(&with, child, &decisions[queue], job), wins = best < 0;
    if (best >= 0) {
      const struct naive_job *other = &cluster->jobs[cluster->queues[best].head];
      int order = compare_shares(share, best_share);
      if (cluster->non_borrowing_first && borrows != best_borrows)
        wins = best_borrows;
      else if (order)
        wins = order < 0;
      else if (cluster->sort_by_priority && job->priority != other->priority)
        wins = job->priority > other->priority;
      else
        wins = job->created < other->created;
    }
    if (!wins) continue;
    best = queue;
    best_share = share;
    best_borrows = borrows;
  }
  return best;
}

static int next_entry(const struct kueue_state *state, const struct naive_decision *decisions, const bool *done) {
  const struct naive_cluster *cluster = state->cluster;
  int best = -1;
  for (int queue = 0; queue < cluster->n_queues; queue++) {
    if (done[queue] || cluster->queues[queue].head == KUEUE_NOBODY) continue;
    if (cluster->fair) return winner(state, decisions, done, top(cluster, queue));
    if (best < 0 || comes_first(cluster, decisions, queue, best)) best = queue;
  }
  return best;
}

/* ---- Cycle ---- */

static bool fits_without(const struct kueue_state *state, const bool *victims, int queue,
                         const struct naive_decision *decision) {
  struct kueue_state after = *state;
  struct kueue_demand demand = {.queue = queue};
  const struct naive_job *job = &state->cluster->jobs[state->cluster->queues[queue].head];
  for (int i = 0; i < KUEUE_JOBS; i++) after.runs[i] &= !victims[i];
  for (int i = 0; i < decision->targets.n; i++) after.runs[decision->targets.job[i]] = false;
  for (int resource = 0; decision->flavor >= 0 && resource < KUEUE_RESOURCES; resource++) {
    int pair = PAIR(decision->flavor, resource);
    demand.amount[pair] = decision->count * job->request[resource];
    demand.asked[pair] = true;
  }
  return demand_fits(&after, &demand, true);
}

static bool overlaps(const bool *victims, const struct naive_decision *decision) {
  for (int i = 0; i < decision->targets.n; i++)
    if (victims[decision->targets.job[i]]) return true;
  return false;
}

static void reserve(struct kueue_state *state, int queue, const struct naive_decision *decision) {
  const struct naive_cluster *cluster = state->cluster;
  const struct naive_job *job = &cluster->jobs[cluster->queues[queue].head];
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++) {
    int pair = PAIR(decision->flavor, resource);
    long amount = decision->count * job->request[resource], limit = cluster->borrowing[queue][pair];
    long left = cluster->nominal[queue][pair] - usage(state, queue, pair);
    if (decision->level > 0)
      amount = limit == KUEUE_NO_LIMIT ? amount : smaller(amount, left + limit);
    else
      amount = larger(0, smaller(amount, left));
    state->held[queue][pair] += amount;
  }
}

static void decide(struct kueue_state *state, bool *victims, int queue, struct naive_decision *decision) {
  const struct naive_cluster *cluster = state->cluster;
  if (overlaps(victims, decision) && cluster->recompute) {
    struct kueue_state without = *state;
    for (int i = 0; i < KUEUE_JOBS; i++) without.runs[i] &= !victims[i];
    assign(&without, cluster->queues[queue].head, decision->flavor, decision);
    if (decision->mode == NAIVE_FITS) decision->mode = NAIVE_DEFERRED;
  }
  if (decision->mode == NAIVE_NO_FIT) return;
  if (decision->mode == NAIVE_PREEMPTS && !decision->targets.n) {
    if (cluster->queues[queue].reclaim != NAIVE_ANY) reserve(state, queue, decision);
    return;
  }
  if (overlaps(victims, decision) || !fits_without(state, victims, queue, decision)) {
    decision->verdict = NAIVE_SKIPPED;
    return;
  }
  for (int i = 0; i < decision->targets.n; i++) victims[decision->targets.job[i]] = true;
  hold(state, queue, decision);
  decision->preempts = decision->mode == NAIVE_PREEMPTS;
  if (decision->mode == NAIVE_FITS) decision->verdict = NAIVE_ADMITTED;
}

void naive_kueue_cycle(const struct naive_cluster *cluster, struct naive_decision *decisions) {
  struct kueue_state state = {.cluster = cluster};
  bool done[KUEUE_QUEUES] = {false}, victims[KUEUE_JOBS] = {false};
  for (int i = 0; i < cluster->n_jobs; i++) state.runs[i] = cluster->jobs[i].admitted;
  for (int queue = 0; queue < cluster->n_queues; queue++)
    if (cluster->queues[queue].head != KUEUE_NOBODY) assign(&state, cluster->queues[queue].head, -1, &decisions[queue]);
  for (int queue; (queue = next_entry(&state, decisions, done)) >= 0;) {
    done[queue] = true;
    decide(&state, victims, queue, &decisions[queue]);
  }
}

bool naive_kueue_fits(const struct naive_cluster *cluster, int job, int flavor) {
  struct kueue_state state = {.cluster = cluster};
  for (int i = 0; i < cluster->n_jobs; i++) state.runs[i] = cluster->jobs[i].admitted;
  for (int resource = 0; resource < KUEUE_RESOURCES; resource++)
    if (cluster->jobs[job].count * cluster->jobs[job].request[resource] >
        room(&state, cluster->jobs[job].queue, PAIR(flavor, resource)))
      return false;
  return true;
}

bool naive_kueue_is_sound(const struct naive_cluster *cluster) {
  struct kueue_state state = {.cluster = cluster};
  for (int i = 0; i < cluster->n_jobs; i++) state.runs[i] = cluster->jobs[i].admitted;
  for (int node = 0; node < cluster->n_nodes; node++)
    for (int pair = 0; pair < KUEUE_PAIRS; pair++)
      if (room(&state, node, pair) < 0) return false;
  return true;
}
