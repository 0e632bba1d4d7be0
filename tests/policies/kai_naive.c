/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A naive KAI (kai_naive.h). */

#include "kai_naive.h"

#include <math.h>
#include <string.h>

static const double in_units[HR__KAI_RESOURCES] = {1, 1, 1e6};

/* ---- Sums over pods ---- */

static const struct hr__kai_pod *pod_of(const struct naive *s, int p) {
  return &s->cluster->pods[p];
}

static const struct hr__kai_job *job_of(const struct naive *s, int p) {
  return &s->cluster->jobs[s->cluster->pods[p].job];
}

static bool in(int status, int set) {
  return set >> status & 1;
}

/* Returns the number of pods of a pod set with a status in `statuses`. */
static int count(const struct naive *s, uint32_t set, int statuses) {
  int n = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    n += pod_of(s, (int)p)->pod_set == set && in(s->pods[p].status, statuses);
  return n;
}

static int count_of_job(const struct naive *s, uint32_t job, int statuses) {
  int n = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    n += pod_of(s, (int)p)->job == job && in(s->pods[p].status, statuses);
  return n;
}

/* Computes the idle amount of a resource on a node, and the amount that is being released and for which no pod waits.
 */
static void free_of(const struct naive *s, int node, uint32_t dim, int64_t *idle, int64_t *releasing) {
  *idle = s->cluster->nodes[node].allocatable[dim];
  *releasing = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++) {
    const struct naive_pod *pod = &s->pods[p];
    const int64_t amount = pod_of(s, (int)p)->request[dim];
    const bool leaves =
        pod->left[0] == node || pod->left[1] == node || (pod->status == HR__KAI_RELEASING && pod->node == node);
    if (leaves || (in(pod->status, HR__KAI_HOLDING) && pod->node == node)) *idle -= amount;
    if (leaves) *releasing += amount;
    if (pod->status == HR__KAI_PIPELINED && pod->node == node) *releasing -= amount;
  }
}

static bool is_above(const struct naive *s, uint32_t queue, uint32_t ancestor) {
  while (queue != HR__KAI_NONE && queue != ancestor) queue = s->cluster->queues[queue].parent;
  return queue == ancestor;
}

static double quota_of(const struct naive *s, int p, int r) {
  return (double)pod_of(s, p)->quota.of[r] / in_units[r];
}

/* Returns the amount that the pods of a queue use; if `fixed`, only of pods that cannot be preempted. */
static double held(const struct naive *s, uint32_t queue, int r, bool fixed) {
  double sum = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    if (in(s->pods[p].status, HR__KAI_ACTIVE) && is_above(s, job_of(s, (int)p)->queue, queue) &&
        (!fixed || !job_of(s, (int)p)->preemptible))
      sum += quota_of(s, (int)p, r);
  return sum;
}

static double requested(const struct naive *s, uint32_t queue, int r) {
  double sum = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    if (in(s->pods[p].status, HR__KAI_HOLDING | 1 << HR__KAI_PENDING) && is_above(s, job_of(s, (int)p)->queue, queue))
      sum += quota_of(s, (int)p, r);
  return sum;
}

static double bound(int64_t amount, int r) {
  return amount < 0 ? -1 : (double)amount / in_units[r];
}

static double deserved(const struct naive *s, uint32_t q, int r) {
  return bound(s->cluster->queues[q].share[r].deserved, r);
}

static double limit(const struct naive *s, uint32_t q, int r) {
  return bound(s->cluster->queues[q].share[r].limit, r);
}

/* ---- Fair shares ---- */

static double wanted(const struct naive *s, uint32_t q, int r) {
  const double request = requested(s, q, r), most = limit(s, q, r);
  return most >= 0 && most < request ? most : request;
}

static void divide(struct naive *s, uint32_t parent, int r, double total) {
  const struct hr__kai_queue *queues = s->cluster->queues;
  double left = total, remainder[NAIVE_QUEUES] = {0};
  for (uint32_t q = 0; q < s->cluster->n_queues; q++) {
    if (queues[q].parent != parent) continue;
    const double quota = deserved(s, q, r) < 0 ? total : deserved(s, q, r);
    s->fair[q][r] = fmin(quota, wanted(s, q, r));
    left -= s->fair[q][r];
  }
  for (int priority = 9; priority >= 0 && left > 0; priority--)
    for (bool again = true; again && left > 0;) {
      double weights = 0;
      const double amount = left;
      again = false;
      for (uint32_t q = 0; q < s->cluster->n_queues; q++)
        if (queues[q].parent == parent && queues[q].priority == priority && wanted(s, q, r) > s->fair[q][r])
          weights += queues[q].share[r].weight;
      if (weights == 0) break;
      for (uint32_t q = 0; q < s->cluster->n_queues && left > 0; q++) {
        const double more = wanted(s, q, r) - s->fair[q][r], weight = queues[q].share[r].weight;
        if (queues[q].parent != parent || queues[q].priority != priority || more <= 0 || weight == 0) continue;
        /* The second term of KAI depends on past usage. Without past usage it equals the first term. */
        const double part = amount * ((weight / weights + weight / weights) / 2);
        const double given = more <= part ? more : floor(part);
        remainder[q] = more <= part ? 0 : part - given > 0 ? part - given : remainder[q];
        s->fair[q][r] += given;
        left -= given;
        again = again || more < part;
      }
    }
  for (int priority = 9; priority >= 0; priority--)
    while (left > 0) {
      int best = -1;
      for (uint32_t q = 0; q < s->cluster->n_queues; q++) {
        if (queues[q].parent != parent || queues[q].priority != priority || remainder[q] <= 0) continue;
        if (best < 0 || remainder[q] > remainder[best] ||
            (remainder[q] == remainder[best] && queues[q].created < queues[best].created))
          best = (int)q;
      }
      if (best < 0) break;
      s->fair[best][r] += fmin(1, left);
      remainder[best] = 0;
      left -= fmin(1, left);
    }
  for (uint32_t q = 0; q < s->cluster->n_queues; q++)
    if (queues[q].parent == parent) divide(s, q, r, s->fair[q][r]);
}

static double total_of(const struct naive *s, int r) {
  static const uint32_t dims[] = {HR__KAI_DIM_CPU, HR__KAI_DIM_MEM, HR__KAI_DIM_GPUS};
  double total = 0;
  for (uint32_t n = 0; n < s->cluster->n_nodes; n++) total += (double)s->cluster->nodes[n].allocatable[dims[r]];
  return total;
}

void naive_start(struct naive *s, const struct hr__kai_cluster *cluster, const struct hr__kai_start *start) {
  memset(s, 0, sizeof *s);
  s->cluster = cluster;
  for (uint32_t p = 0; p < cluster->n_pods; p++)
    s->pods[p] = (struct naive_pod){.status = (int)start[p].status,
                                    .node = start[p].node == HR__KAI_NONE ? -1 : (int)start[p].node,
                                    .left = {-1, -1}};
  for (int r = 0; r < HR__KAI_RESOURCES; r++) divide(s, HR__KAI_NONE, r, total_of(s, r));
}

/* ---- Comparison of amounts ---- */

static bool at_most(double a, double b) {
  return b == -1 || (a != -1 && a <= b + 1e-9);
}

static double may_hold(const struct naive *s, uint32_t q, int r) {
  if (deserved(s, q, r) == -1) return limit(s, q, r);
  const double most = fmax(deserved(s, q, r), s->fair[q][r]);
  return limit(s, q, r) == -1 ? most : fmin(most, limit(s, q, r));
}

/* ---- Next pods ---- */

/* A job for a comparison or a placement: the whole job, or only some of its pods. */
struct part {
  int job; /* -1: none */
  int n;   /* number of pods, at least 1 */
  int pods[NAIVE_PODS];
};

/* By pod: whether the search for victims has already taken it. */
typedef bool gone_pods[NAIVE_PODS];

static const gone_pods none_gone;

static int active_in(const struct naive *s, uint32_t set, const bool *gone) {
  int n = 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    n += !gone[p] && pod_of(s, (int)p)->pod_set == set && in(s->pods[p].status, HR__KAI_ACTIVE);
  return n;
}

/* Sorts the pod sets of a job: sets below their minimum are first, the others by the ratio of active pods to the
   minimum. Returns their number. */
static int sorted_sets(const struct naive *s, uint32_t job, const bool *gone, int *sets) {
  const struct hr__kai_job *j = &s->cluster->jobs[job];
  int n = 0;
  for (uint32_t i = 0; i < j->n_sets; i++) {
    const uint32_t set = j->first_set + i;
    const double a = active_in(s, set, gone), min = s->cluster->sets[set].min_available;
    int at = n++;
    for (; at > 0; at--) {
      const double b = active_in(s, (uint32_t)sets[at - 1], gone), other = s->cluster->sets[sets[at - 1]].min_available;
      bool first = set < (uint32_t)sets[at - 1];
      if ((a < min) != (b < other))
        first = a < min;
      else if (a >= min && a / min != b / other)
        first = a / min < b / other;
      if (!first) break;
      sets[at] = sets[at - 1];
    }
    sets[at] = (int)set;
  }
  return n;
}

/* Lists the pods of a pod set that can be placed, in task order. `real`: without pods that the simulation evicted.
   Returns their number. */
static int waiting(const struct naive *s, int set, bool real, int *pods) {
  int n = 0;
  for (uint32_t i = 0; i < s->cluster->sets[set].n_pods; i++) {
    const int p = (int)s->cluster->pods_of_sets[s->cluster->sets[set].first_pod + i];
    const bool again = !real && s->pods[p].status == HR__KAI_RELEASING && s->pods[p].is_virtual;
    if (s->pods[p].status == HR__KAI_PENDING || again) pods[n++] = p;
  }
  return n;
}

static int next_pods(const struct naive *s, uint32_t job, bool real, int *pods) {
  int sets[NAIVE_PODS], below = 0, served = 0, n = 0;
  const int n_sets = sorted_sets(s, job, none_gone, sets);
  for (int i = 0; i < n_sets; i++)
    below += active_in(s, (uint32_t)sets[i], none_gone) < (int)s->cluster->sets[sets[i]].min_available;
  for (int i = 0; i < n_sets && served < (below > 0 ? below : 1); i++) {
    int list[NAIVE_PODS];
    const int can = waiting(s, sets[i], real, list);
    const int lacks = (int)s->cluster->sets[sets[i]].min_available - active_in(s, (uint32_t)sets[i], none_gone);
    for (int k = 0; k < can && k < (lacks > 0 ? lacks : 1); k++) pods[n++] = list[k];
    served += can > 0;
  }
  return n;
}

static int elastic_state(const struct naive *s, uint32_t job, const bool *gone) {
  int state = 0;
  for (uint32_t i = 0; i < s->cluster->jobs[job].n_sets; i++) {
    const uint32_t set = s->cluster->jobs[job].first_set + i;
    const int n = active_in(s, set, gone), min = (int)s->cluster->sets[set].min_available;
    if (n < min) return -1;
    if (n > min) state = 1;
  }
  return state;
}

/* ---- Order ---- */

/* The order of jobs or of victims: a tree of heaps. */
struct tree {
  const struct naive *s;
  bool victims;
  const bool *gone;
  const struct part *part;
  int heap[NAIVE_QUEUES + 1][NAIVE_JOBS], n[NAIVE_QUEUES + 1]; /* the last heap: the top queues */
  bool built, linked[NAIVE_QUEUES], dirty[NAIVE_QUEUES];
  double popped[NAIVE_QUEUES][HR__KAI_RESOURCES];
};

static void request_of(const struct tree *t, int job, double *sum) {
  int pods[NAIVE_PODS], n = 0;
  memset(sum, 0, HR__KAI_RESOURCES * sizeof *sum);
  if (t->part && t->part->job == job) {
    n = t->part->n;
    memcpy(pods, t->part->pods, sizeof pods);
  } else {
    n = next_pods(t->s, (uint32_t)job, false, pods);
  }
  for (int i = 0; i < n; i++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) sum[r] += quota_of(t->s, pods[i], r);
}

static void size_of(const struct tree *t, int job, double *sum) {
  memset(sum, 0, HR__KAI_RESOURCES * sizeof *sum);
  for (uint32_t p = 0; p < t->s->cluster->n_pods; p++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++)
      if (pod_of(t->s, (int)p)->job == (uint32_t)job && !t->gone[p] && in(t->s->pods[p].status, HR__KAI_HOLDING))
        sum[r] += quota_of(t->s, (int)p, r);
}

static bool leaf(const struct tree *t, int q) {
  return q < NAIVE_QUEUES && t->s->cluster->queues[q].n_children == 0;
}

static bool job_first(const struct tree *t, int l, int r) {
  const struct hr__kai_job *a = &t->s->cluster->jobs[l], *b = &t->s->cluster->jobs[r];
  const int below_a = t->part && t->part->job == l ? -1 : elastic_state(t->s, (uint32_t)l, t->gone);
  const int below_b = t->part && t->part->job == r ? -1 : elastic_state(t->s, (uint32_t)r, t->gone);
  if (a->priority != b->priority) return a->priority > b->priority;
  if (below_a != below_b) return below_a < below_b;
  return a->created != b->created ? a->created < b->created : a->name_rank < b->name_rank;
}

static double dominant(const struct naive *s, uint32_t q, const double *amounts) {
  double most = 0;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    double share = may_hold(s, q, r);
    if (share == -1) share = total_of(s, r);
    most = fmax(most, share == 0 ? amounts[r] * 1000 : amounts[r] / share);
  }
  return most;
}

/* The values by which queues are compared; smaller values are first. */
struct measure {
  double values[6];
};

static struct measure measure(const struct tree *t, int q) {
  const struct naive *s = t->s;
  int at = q;
  double job[3] = {0}, victims[3] = {0}, now[3], with[3], without[3];
  while (!leaf(t, at)) at = t->heap[at][0];
  if (t->victims)
    size_of(t, t->heap[at][0], victims);
  else
    request_of(t, t->heap[at][0], job);
  bool over = true, within = true, shareless = false;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    now[r] = held(s, (uint32_t)q, r, false);
    with[r] = now[r] + job[r];
    without[r] = with[r] - victims[r] - (t->victims ? t->popped[at][r] : 0);
    over = over && s->fair[q][r] < now[r] - 1e-9;
    within = within && at_most(with[r], deserved(s, (uint32_t)q, r));
    shareless = shareless || (may_hold(s, (uint32_t)q, r) == 0 && with[r] > 0);
  }
  return (struct measure){{over, !within, -s->cluster->queues[q].priority, shareless, dominant(s, (uint32_t)q, without),
                           dominant(s, (uint32_t)q, now)}};
}

static bool queue_first(const struct tree *t, int l, int r) {
  const struct measure a = measure(t, l), b = measure(t, r);
  for (int i = 0; i < 6; i++)
    if (fabs(a.values[i] - b.values[i]) > 1e-12) return a.values[i] < b.values[i];
  bool l_less = true, r_less = true;
  for (int i = 0; i < HR__KAI_RESOURCES; i++) {
    l_less = l_less && at_most(may_hold(t->s, (uint32_t)l, i), may_hold(t->s, (uint32_t)r, i));
    r_less = r_less && at_most(may_hold(t->s, (uint32_t)r, i), may_hold(t->s, (uint32_t)l, i));
  }
  if (l_less != r_less) return l_less;
  return t->s->cluster->queues[l].created < t->s->cluster->queues[r].created;
}

static bool first(const struct tree *t, int q, int i, int j) {
  const int l = t->heap[q][i], r = t->heap[q][j];
  return (leaf(t, q) ? job_first(t, l, r) : queue_first(t, l, r)) != t->victims;
}

static void exchange(struct tree *t, int q, int i, int j) {
  const int item = t->heap[q][i];
  t->heap[q][i] = t->heap[q][j];
  t->heap[q][j] = item;
}

static void sink(struct tree *t, int q, int i, int n) {
  for (;;) {
    int child = 2 * i + 1;
    if (child >= n) return;
    if (child + 1 < n && first(t, q, child + 1, child)) child++;
    if (!first(t, q, child, i)) return;
    exchange(t, q, i, child);
    i = child;
  }
}

static void insert(struct tree *t, int q, int item) {
  int i = t->n[q]++;
  t->heap[q][i] = item;
  for (; i > 0 && first(t, q, i, (i - 1) / 2); i = (i - 1) / 2) exchange(t, q, i, (i - 1) / 2);
}

static int parent_of(const struct tree *t, int q) {
  const uint32_t parent = t->s->cluster->queues[q].parent;
  return parent == HR__KAI_NONE ? NAIVE_QUEUES : (int)parent;
}

static void add_job(struct tree *t, int job) {
  int q = (int)t->s->cluster->jobs[job].queue;
  insert(t, q, job);
  if (!t->built) return;
  for (int at = q; at < NAIVE_QUEUES && !t->linked[at]; at = parent_of(t, at)) {
    t->linked[at] = true;
    insert(t, parent_of(t, at), at);
  }
  for (; q < NAIVE_QUEUES; q = parent_of(t, q)) t->dirty[q] = true;
}

/* Inserts the queues below `q` that have jobs into their parents, from the bottom to the top. */
static void link_below(struct tree *t, int q) {
  for (int child = 0; child < (int)t->s->cluster->n_queues; child++) {
    if (parent_of(t, child) != q) continue;
    link_below(t, child);
    if (t->n[child] == 0) continue;
    t->linked[child] = true;
    insert(t, q, child);
  }
}

static void build(struct tree *t) {
  link_below(t, NAIVE_QUEUES);
  t->built = true;
}

static int take(struct tree *t, int q) {
  const int last = --t->n[q];
  exchange(t, q, 0, last);
  sink(t, q, 0, last);
  return t->heap[q][last];
}

static bool empty(const struct tree *t) {
  return t->n[NAIVE_QUEUES] == 0;
}

static int take_job(struct tree *t) {
  int q = NAIVE_QUEUES;
  while (!leaf(t, q)) {
    while (t->dirty[t->heap[q][0]]) {
      const int top = t->heap[q][0];
      sink(t, q, 0, t->n[q]);
      t->dirty[top] = false;
    }
    q = t->heap[q][0];
  }
  double size[3] = {0};
  if (t->victims) size_of(t, t->heap[q][0], size);
  const int job = take(t, q);
  for (int r = 0; t->victims && r < HR__KAI_RESOURCES; r++) t->popped[q][r] += size[r];
  for (; q < NAIVE_QUEUES && t->n[q] == 0; q = parent_of(t, q)) {
    take(t, parent_of(t, q));
    t->linked[q] = t->dirty[q] = false;
  }
  for (; q < NAIVE_QUEUES; q = parent_of(t, q)) t->dirty[q] = true;
  return job;
}

/* ---- Placement ---- */

static bool within_capacity(const struct naive *s, uint32_t job, const double *request) {
  for (uint32_t q = s->cluster->jobs[job].queue; q != HR__KAI_NONE; q = s->cluster->queues[q].parent)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      if (request[r] == 0) continue;
      if (limit(s, q, r) != -1 && held(s, q, r, false) + request[r] > limit(s, q, r) + 1e-9) return false;
      if (!s->cluster->jobs[job].preemptible && deserved(s, q, r) != -1 &&
          held(s, q, r, true) + request[r] > deserved(s, q, r) + 1e-9)
        return false;
    }
  return true;
}

static bool fits(const struct naive *s, int p, int node, bool releasing) {
  for (uint32_t d = 0; d < s->cluster->n_dims; d++) {
    int64_t idle, freed;
    free_of(s, node, d, &idle, &freed);
    if (pod_of(s, p)->request[d] > idle + (releasing ? freed : 0)) return false;
  }
  return true;
}

static double free_sum(const struct naive *s, int node, uint32_t dim) {
  int64_t idle, releasing;
  free_of(s, node, dim, &idle, &releasing);
  return (double)(idle + releasing);
}

static double score(const struct naive *s, int p, int node, const bool *allowed) {
  const bool gpus = pod_of(s, p)->gpus > 0;
  const uint32_t dim = gpus ? HR__KAI_DIM_GPUS : HR__KAI_DIM_CPU;
  double least = (double)INFINITY, most = 0, sum = fits(s, p, node, false) ? 100 : 0;
  for (uint32_t n = 0; n < s->cluster->n_nodes; n++) {
    if (!allowed[n] || s->cluster->nodes[n].allocatable[dim] == 0) continue;
    least = fmin(least, free_sum(s, (int)n, dim));
    most = fmax(most, free_sum(s, (int)n, dim));
  }
  if (!gpus && s->cluster->nodes[node].allocatable[HR__KAI_DIM_GPUS] == 0) sum += 10;
  if (s->cluster->nodes[node].allocatable[dim] == 0 || most == 0) return sum;
  return sum + (least == most ? 9 : 9 * (1 - (free_sum(s, node, dim) - least) / (most - least)));
}

static bool place_pod(struct naive *s, int p, const bool *allowed, bool wait) {
  int best = -1;
  double best_score = 0;
  double request[3] = {quota_of(s, p, 0), quota_of(s, p, 1), pod_of(s, p)->gpus > 0 ? 1 : 0};
  for (uint32_t n = 0; n < s->cluster->n_nodes; n++) {
    if (!allowed[n] || !fits(s, p, (int)n, true) || !within_capacity(s, pod_of(s, p)->job, request)) continue;
    const double value = score(s, p, (int)n, allowed);
    if (best < 0 || value > best_score) {
      best = (int)n;
      best_score = value;
    }
  }
  if (best < 0) return false;
  struct naive_pod *pod = &s->pods[p];
  if (pod->status == HR__KAI_RELEASING && (pod->node == best || pod->left[0] == best || pod->left[1] == best)) {
    /* The pod was evicted, and the best node is its own node or a node that it leaves: the eviction is undone. */
    pod->status = pod->was;
    return true;
  }
  const bool waits = wait || !fits(s, p, best, false);
  if (pod->status == HR__KAI_RELEASING) pod->left[pod->left[0] < 0 ? 0 : 1] = pod->node;
  pod->status = waits ? HR__KAI_PIPELINED : HR__KAI_ALLOCATED;
  pod->node = best;
  pod->is_virtual = true;
  return true;
}

/* Places the next pods of a job, or those of the part. Places either all of these pods or none, and returns whether
   they were placed. `wait`: the pods are only pipelined. */
static bool place_job(struct naive *s, uint32_t job, const struct part *part, const bool *allowed, bool wait) {
  int pods[NAIVE_PODS], sets[NAIVE_PODS], n;
  double request[3] = {0};
  const struct naive before = *s;
  if (part && part->job == (int)job) {
    n = part->n;
    memcpy(pods, part->pods, sizeof pods);
  } else {
    n = next_pods(s, job, !wait, pods);
  }
  for (int i = 0; i < n; i++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) request[r] += quota_of(s, pods[i], r);
  if (!within_capacity(s, job, request)) return false;
  const int n_sets = sorted_sets(s, job, none_gone, sets);
  for (int k = 0; k < n_sets; k++)
    for (int i = 0; i < n; i++) {
      if ((int)pod_of(s, pods[i])->pod_set != sets[k] || place_pod(s, pods[i], allowed, wait)) continue;
      *s = before;
      return false;
    }
  return true;
}

/* ---- Actions ---- */

static bool is_ready(const struct naive *s, uint32_t job) {
  for (uint32_t i = 0; i < s->cluster->jobs[job].n_sets; i++) {
    const uint32_t set = s->cluster->jobs[job].first_set + i;
    if (count(s, set, HR__KAI_ALIVE) < (int)s->cluster->sets[set].min_available) return false;
  }
  return true;
}

static bool gang_runs(const struct naive *s, uint32_t job) {
  for (uint32_t i = 0; i < s->cluster->jobs[job].n_sets; i++) {
    const uint32_t set = s->cluster->jobs[job].first_set + i;
    if (count(s, set, HR__KAI_USED) < (int)s->cluster->sets[set].min_available) return false;
  }
  return true;
}

static void fill(struct tree *t, const struct naive *s, bool only_preemptible) {
  memset(t, 0, sizeof *t);
  t->s = s;
  t->gone = none_gone;
  for (uint32_t j = 0; j < s->cluster->n_jobs; j++)
    if (count_of_job(s, j, 1 << HR__KAI_PENDING) > 0 && is_ready(s, j) &&
        (!only_preemptible || s->cluster->jobs[j].preemptible))
      add_job(t, (int)j);
  build(t);
}

static void allocate(struct naive *s) {
  struct tree t;
  bool all[NAIVE_PODS];
  memset(all, true, sizeof all);
  fill(&t, s, false);
  while (!empty(&t)) {
    const uint32_t job = (uint32_t)take_job(&t);
    if (!place_job(s, job, NULL, all, false)) continue;
    bool waits = false;
    for (uint32_t i = 0; i < s->cluster->jobs[job].n_sets; i++) {
      const uint32_t set = s->cluster->jobs[job].first_set + i;
      waits = waits || (count(s, set, 1 << HR__KAI_PIPELINED) > 0 &&
                        count(s, set, HR__KAI_HOLDING) < (int)s->cluster->sets[set].min_available);
    }
    for (uint32_t p = 0; p < s->cluster->n_pods; p++)
      if (s->pods[p].status == HR__KAI_ALLOCATED) s->pods[p].status = waits ? HR__KAI_PIPELINED : HR__KAI_BINDING;
    if (count_of_job(s, job, 1 << HR__KAI_PENDING) > 0) add_job(&t, (int)job);
  }
}

/* A search for victims. */
struct search {
  struct naive *s;
  struct naive start; /* before the search */
  int purpose;
  struct part part;
  int groups[NAIVE_PODS][NAIVE_PODS], size[NAIVE_PODS], n_groups, n_recorded;
  bool feasible[NAIVE_PODS];
};

static bool simulate(struct search *x, const bool *evicted) {
  struct naive *s = x->s;
  struct tree t = {.s = s, .gone = none_gone, .part = &x->part};
  bool victim[NAIVE_JOBS] = {false}, placed = false;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    if (evicted[p]) victim[pod_of(s, (int)p)->job] = true;
  for (uint32_t j = 0; j < s->cluster->n_jobs; j++)
    if (count_of_job(s, j, 1 << HR__KAI_PENDING) > 0 || victim[j] || (int)j == x->part.job) add_job(&t, (int)j);
  build(&t);
  while (!empty(&t)) {
    const int job = take_job(&t);
    if (job != x->part.job && !victim[job]) continue;
    const bool has_place = place_job(s, (uint32_t)job, &x->part, x->feasible, true);
    if (job != x->part.job) continue;
    if (!has_place) return false;
    placed = true;
  }
  return placed;
}

static void path(const struct naive *s, uint32_t q, int *list, int *n) {
  *n = 0;
  for (; q != HR__KAI_NONE; q = s->cluster->queues[q].parent) {
    memmove(list + 1, list, (size_t)*n * sizeof *list);
    list[0] = (int)q;
    ++*n;
  }
}

/* Lists the amounts that the queue of group `g` loses by evictions. Considers only the groups `g` and later, and in
   them only jobs of this queue. A pod counts as evicted if its status is HR__KAI_RELEASING. For each job, pods are
   counted per pod set, evicted or not. The first min_available pods of each set are its minimum. Each evicted pod after
   the minimum has an amount of its own. All evicted pods within the minimums of the job have one amount together, the
   last of the job. Returns the number of amounts. Sets `any[r]` if an evicted pod uses resource r. */
static int losses_of(const struct search *x, int g, double (*losses)[3], bool *any) {
  const struct naive *s = x->s;
  const int queue = (int)job_of(s, x->groups[g][0])->queue;
  bool seen_job[NAIVE_JOBS] = {false};
  int n = 0;
  for (int h = g; h < x->n_groups; h++) {
    const uint32_t job = pod_of(s, x->groups[h][0])->job;
    if ((int)s->cluster->jobs[job].queue != queue || seen_job[job]) continue;
    seen_job[job] = true;
    double core[3] = {0};
    int n_core = 0;
    for (uint32_t i = 0; i < s->cluster->jobs[job].n_sets; i++) {
      const uint32_t set = s->cluster->jobs[job].first_set + i;
      int seen = 0;
      for (int k = h; k < x->n_groups; k++)
        for (int m = 0; m < x->size[k]; m++) {
          const int p = x->groups[k][m];
          if (pod_of(s, p)->pod_set != set) continue;
          const bool alone = seen++ >= (int)s->cluster->sets[set].min_available;
          if (s->pods[p].status != HR__KAI_RELEASING) continue;
          for (int r = 0; r < 3; r++) {
            const double amount = quota_of(s, p, r);
            any[r] = any[r] || amount > 0;
            if (alone)
              losses[n][r] = amount;
            else
              core[r] += amount;
          }
          n += alone;
          n_core += !alone;
        }
    }
    if (n_core > 0) memcpy(losses[n++], core, sizeof core);
  }
  return n;
}

/* Returns whether the rules of reclaim allow the evictions of the search. Only pods with the status HR__KAI_RELEASING
   count, because the search has placed all other victims again. */
static bool may_take(const struct search *x) {
  const struct naive *s = x->s, *b = &x->start;
  const int mine_leaf = (int)s->cluster->jobs[x->part.job].queue;
  double request[3] = {0}, left[NAIVE_QUEUES][3];
  bool touched[NAIVE_QUEUES] = {false}, uses[NAIVE_QUEUES][3] = {{false}}, order[NAIVE_QUEUES] = {false};
  for (int i = 0; i < x->part.n; i++)
    for (int r = 0; r < 3; r++) request[r] += quota_of(s, x->part.pods[i], r);
  for (uint32_t q = 0; q < s->cluster->n_queues; q++)
    for (int r = 0; r < 3; r++) left[q][r] = held(b, q, r, false);
  /* Queue by queue, in the order in which victims were found. */
  for (int g = 0; g < x->n_groups; g++) {
    const int queue = (int)job_of(s, x->groups[g][0])->queue;
    if (order[queue]) continue;
    order[queue] = true;
    double losses[NAIVE_PODS][3];
    bool any[3] = {false};
    const int n_losses = losses_of(x, g, losses, any);
    int a[NAIVE_QUEUES], z[NAIVE_QUEUES], n_a, n_z, split = 0;
    path(s, (uint32_t)mine_leaf, a, &n_a);
    path(s, (uint32_t)queue, z, &n_z);
    while (split < n_a - 1 && split < n_z - 1 && a[split] == z[split]) split++;
    const int mine = a[split], other = z[split];
    for (int i = 0; i < n_losses; i++) {
      bool over_share = false, over_quota = false, quota_fits = true;
      for (int r = 0; r < 3; r++) {
        over_share = over_share || !at_most(left[other][r], may_hold(s, (uint32_t)other, r));
        over_quota = over_quota || !at_most(left[other][r], deserved(s, (uint32_t)other, r));
        quota_fits =
            quota_fits && at_most(held(b, (uint32_t)mine, r, false) + request[r], deserved(s, (uint32_t)mine, r));
      }
      if (!over_share && !(quota_fits && over_quota)) return false;
      for (int k = 0; k < n_z; k++)
        for (int r = 0; r < 3; r++) {
          touched[z[k]] = true;
          left[z[k]][r] -= losses[i][r];
          uses[z[k]][r] = uses[z[k]][r] || any[r];
        }
    }
  }
  for (uint32_t q = (uint32_t)mine_leaf; q != HR__KAI_NONE; q = s->cluster->queues[q].parent) {
    for (uint32_t o = 0; o < s->cluster->n_queues; o++) {
      if (!touched[o] || o == q || s->cluster->queues[o].parent != s->cluster->queues[q].parent) continue;
      for (int r = 0; r < 3; r++) {
        if (!uses[o][r] && request[r] == 0) continue;
        const double f = s->fair[q][r], g = s->fair[o][r], m = left[q][r] + request[r];
        const double mine = f == 0 ? (m > 0 ? (double)INFINITY : 0) : m / f;
        const double others = g == 0 ? (left[o][r] > 0 ? (double)INFINITY : 0) : left[o][r] / g;
        if (mine > 1 + 1e-12 && g > 0 && mine >= others) return false;
      }
    }
    for (int r = 0; r < 3; r++)
      if (!s->cluster->jobs[x->part.job].preemptible && !at_most(held(b, q, r, true) + request[r], deserved(s, q, r)))
        return false;
  }
  return true;
}

static bool allowed(const struct search *x) {
  if (x->purpose == HR__KAI_PREEMPTION) return true;
  if (x->purpose == HR__KAI_RECLAIM) return may_take(x);
  for (int g = 0; g < x->n_groups; g++)
    for (int i = 0; i < x->size[g]; i++)
      if (x->s->pods[x->groups[g][i]].status == HR__KAI_RELEASING) return false;
  return true;
}

static void evict_group(struct search *x, int g, bool *evicted) {
  for (int i = 0; i < x->size[g]; i++) {
    const int p = x->groups[g][i];
    evicted[p] = true;
    x->s->pods[p].was = x->s->pods[p].status;
    x->s->pods[p].status = HR__KAI_RELEASING;
    x->s->pods[p].is_virtual = true;
  }
}

/* Searches for a placement after groups of pods are evicted. Returns whether an allowed placement was found. The state
   is then that after the placement; otherwise it is reset to the start. */
static bool try_groups(struct search *x) {
  struct naive *s = x->s;
  const int last = x->n_groups > x->n_recorded ? (int)pod_of(s, x->groups[x->n_groups - 1][0])->job : -1;
  for (uint32_t node = 0; node < s->cluster->n_nodes; node++) {
    bool evicted[NAIVE_PODS] = {false}, before[NAIVE_PODS], has_last = last < 0, on_node[NAIVE_JOBS] = {false};
    for (uint32_t p = 0; p < s->cluster->n_pods; p++)
      has_last = has_last || ((int)pod_of(s, (int)p)->job == last && s->pods[p].node == (int)node);
    if (!has_last) continue;
    memcpy(before, x->feasible, sizeof before);
    for (int g = x->n_recorded; g < x->n_groups; g++)
      for (int i = 0; i < x->size[g]; i++)
        if (s->pods[x->groups[g][i]].node == (int)node) on_node[pod_of(s, x->groups[g][i])->job] = true;
    for (int g = 0; g < x->n_groups; g++) {
      if (g >= x->n_recorded && !on_node[pod_of(s, x->groups[g][0])->job]) continue;
      if (g >= x->n_recorded || on_node[pod_of(s, x->groups[g][0])->job])
        for (int i = 0; i < x->size[g]; i++) x->feasible[s->pods[x->groups[g][i]].node] = true;
      evict_group(x, g, evicted);
    }
    const bool found = simulate(x, evicted);
    if (found && allowed(x)) return true;
    *s = x->start;
    if (found) return false;
    memcpy(x->feasible, before, sizeof before);
    if (last < 0) return false;
  }
  return false;
}

static bool candidate(const struct search *x, uint32_t j) {
  const struct hr__kai_job *job = &x->s->cluster->jobs[j], *mine = &x->s->cluster->jobs[x->part.job];
  if (!job->preemptible || (int)j == x->part.job || count_of_job(x->s, j, HR__KAI_ACTIVE) == 0) return false;
  if (x->purpose == HR__KAI_PREEMPTION) return job->queue == mine->queue && job->priority < mine->priority;
  return x->purpose == HR__KAI_CONSOLIDATION || job->queue != mine->queue;
}

/* Lists the next pods of a victim that are evicted: one pod above the minimum, or all pods. Returns their number. */
static int next_victims(const struct naive *s, uint32_t job, const bool *gone, int *pods) {
  int sets[NAIVE_PODS], n = 0;
  const int n_sets = sorted_sets(s, job, gone, sets);
  bool above = false;
  for (int i = 0; i < n_sets; i++)
    above = above || active_in(s, (uint32_t)sets[i], gone) > (int)s->cluster->sets[sets[i]].min_available;
  for (int i = n_sets - 1; i >= 0; i--) {
    const struct hr__kai_pod_set *set = &s->cluster->sets[sets[i]];
    const bool one = active_in(s, (uint32_t)sets[i], gone) > (int)set->min_available;
    int taken = 0;
    for (int k = (int)set->n_pods - 1; k >= 0 && !(one && taken > 0); k--) {
      const int p = (int)s->cluster->pods_of_sets[set->first_pod + (uint32_t)k];
      if (gone[p] || !in(s->pods[p].status, HR__KAI_ACTIVE)) continue;
      pods[n++] = p;
      taken++;
    }
    if (above) break;
  }
  return n;
}

static bool solve_part(struct search *x) {
  struct naive *s = x->s;
  bool gone[NAIVE_PODS] = {false}, recorded[NAIVE_PODS] = {false};
  struct tree t = {.s = s, .victims = true, .gone = gone};
  x->n_groups = x->n_recorded;
  for (int g = 0; g < x->n_recorded; g++)
    for (int i = 0; i < x->size[g]; i++) recorded[x->groups[g][i]] = true;
  for (uint32_t j = 0; j < s->cluster->n_jobs; j++)
    if (candidate(x, j)) add_job(&t, (int)j);
  build(&t);
  if (x->n_recorded > 0 && try_groups(x)) return true;
  while (!empty(&t)) {
    const uint32_t job = (uint32_t)take_job(&t);
    int *pods = x->groups[x->n_groups];
    const int n = next_victims(s, job, gone, pods);
    bool known = false, more = false;
    for (int i = 0; i < n; i++) known = known || recorded[pods[i]];
    for (uint32_t p = 0; p < s->cluster->n_pods; p++) {
      if (pod_of(s, (int)p)->job != job) continue;
      if (known) gone[p] = gone[p] || recorded[p];
      for (int i = 0; i < n && !known; i++) gone[p] = gone[p] || pods[i] == (int)p;
      more = more || (!gone[p] && (known || in(s->pods[p].status, HR__KAI_ACTIVE)));
    }
    if (more) add_job(&t, (int)job);
    if (known || n == 0) continue;
    x->size[x->n_groups++] = n;
    if (try_groups(x)) return true;
  }
  return false;
}

static bool search_victims(struct naive *s, uint32_t job, int purpose) {
  struct search x = {.s = s, .start = *s, .purpose = purpose};
  int pods[NAIVE_PODS];
  const int n = next_pods(s, job, false, pods), used = count_of_job(s, job, HR__KAI_USED);
  bool all_gpus = true, base[NAIVE_PODS] = {false}, solved = n > 0;
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    if (pod_of(s, (int)p)->job == job) all_gpus = all_gpus && pod_of(s, (int)p)->gpus > 0;
  for (uint32_t node = 0; node < s->cluster->n_nodes; node++) {
    int64_t idle, releasing;
    free_of(s, (int)node, HR__KAI_DIM_GPUS, &idle, &releasing);
    base[node] = !all_gpus || idle > 0 || releasing > 0;
  }
  memcpy(x.feasible, base, sizeof base);
  x.part.job = (int)job;
  for (int k = 1; k <= n && solved; k++) {
    x.part.n = k;
    memcpy(x.part.pods, pods, sizeof pods);
    solved = solve_part(&x);
    if (!solved || k == n) break;
    /* Keep the groups with a pod that the solution evicts or moves. */
    memcpy(x.feasible, base, sizeof base);
    int kept = 0;
    for (int g = 0; g < x.n_groups; g++) {
      bool lost = false;
      for (int i = 0; i < x.size[g]; i++) {
        const int p = x.groups[g][i];
        if (s->pods[p].status == HR__KAI_RELEASING || s->pods[p].status == HR__KAI_PIPELINED) {
          if (x.start.pods[p].status == s->pods[p].status && x.start.pods[p].node == s->pods[p].node) continue;
          lost = true;
          x.feasible[x.start.pods[p].node] = true;
        }
      }
      if (!lost) continue;
      memcpy(x.groups[kept], x.groups[g], sizeof x.groups[g]);
      x.size[kept++] = x.size[g];
    }
    x.n_recorded = kept;
    *s = x.start;
  }
  solved = solved && gang_runs(s, job) && count_of_job(s, job, HR__KAI_USED) > used;
  if (!solved) {
    *s = x.start;
    return false;
  }
  for (uint32_t p = 0; p < s->cluster->n_pods; p++)
    if (s->pods[p].status == HR__KAI_RELEASING) s->pods[p].is_virtual = false;
  return true;
}

static void take_victims(struct naive *s, int purpose) {
  struct tree t;
  fill(&t, s, purpose == HR__KAI_CONSOLIDATION);
  while (!empty(&t)) {
    const uint32_t job = (uint32_t)take_job(&t);
    int pods[NAIVE_PODS];
    const int n = next_pods(s, job, false, pods);
    double request[3] = {0}, free_gpus = 0;
    for (int i = 0; i < n; i++)
      for (int r = 0; r < 3; r++) request[r] += quota_of(s, pods[i], r);
    for (uint32_t node = 0; node < s->cluster->n_nodes; node++) free_gpus += free_sum(s, (int)node, HR__KAI_DIM_GPUS);
    const uint32_t leaf_queue = s->cluster->jobs[job].queue;
    const bool fixed = !s->cluster->jobs[job].preemptible;
    bool may = purpose != HR__KAI_CONSOLIDATION || free_gpus >= request[HR__KAI_GPU];
    for (int r = 0; r < 3 && purpose == HR__KAI_RECLAIM; r++) {
      may = may && at_most(held(s, leaf_queue, r, false) + request[r], s->fair[leaf_queue][r]);
      may = may && (!fixed || at_most(held(s, leaf_queue, r, true) + request[r], deserved(s, leaf_queue, r)));
    }
    for (uint32_t q = leaf_queue; purpose == HR__KAI_PREEMPTION && fixed && q != HR__KAI_NONE;
         q = s->cluster->queues[q].parent)
      for (int r = 0; r < 3; r++)
        may = may && (request[r] == 0 || at_most(held(s, q, r, true) + request[r], deserved(s, q, r)));
    if (may) search_victims(s, job, purpose);
  }
}

void naive_run(struct naive *s, enum hr__kai_action action) {
  if (action == HR__KAI_ALLOCATE) allocate(s);
  if (action == HR__KAI_CONSOLIDATE) take_victims(s, HR__KAI_CONSOLIDATION);
  if (action == HR__KAI_RECLAIM_ACTION) take_victims(s, HR__KAI_RECLAIM);
  if (action == HR__KAI_PREEMPT) take_victims(s, HR__KAI_PREEMPTION);
  if (action != HR__KAI_EVICT_STALE) return;
  for (uint32_t j = 0; j < s->cluster->n_jobs; j++) {
    if (count_of_job(s, j, HR__KAI_USED) == 0 || gang_runs(s, j)) continue;
    for (uint32_t p = 0; p < s->cluster->n_pods; p++)
      if (pod_of(s, (int)p)->job == j && in(s->pods[p].status, HR__KAI_ACTIVE)) s->pods[p].status = HR__KAI_RELEASING;
  }
}
