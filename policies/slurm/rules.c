/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters, priority, fair share and GPUs as Slurm computes them; slurm.h names the sources. */

#include "policies/slurm/slurm.h"

#include "headroom/base.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ---- Parameters ---------------------------------------------------------------------------------------- */

#define NONE HR__SLURM_NO_BOUND

static const struct hr__slurm_parameter parameters[] = {
    {"bf_interval", "s", 30, 1, 10800, NULL, NULL},
    {"bf_resolution", "s", 60, 1, 3600, NULL, NULL},
    {"bf_window", "min", 1440, 1, 43200, NULL, NULL},
    {"bf_max_job_test", "jobs", 500, 1, 1000000, NULL, NULL},
    {"bf_max_job_start", "jobs", 0, 0, 10000, NULL, NULL},
    {"bf_max_job_user", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_assoc", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_user_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_array_resv", "jobs", 20, 0, 1000, NULL, NULL},
    {"bf_max_time", "s", NONE, 1, 3600, "bf_interval", NULL},
    {"bf_yield_interval", "us", 2000000, 1, 10000000, NULL, NULL},
    {"bf_yield_sleep", "us", 500000, 1, 10000000, NULL, NULL},
    {"bf_min_age_reserve", "s", 0, NONE, NONE, NULL, NULL},
    {"bf_min_prio_reserve", "priority", 0, NONE, NONE, NULL, NULL},
    {"bf_job_part_count_reserve", "jobs", 0, 0, 100000, NULL, NULL},
    {"bf_node_space_size", "records", NONE, 2, 2000000, "bf_max_job_test", NULL},
    {"default_queue_depth", "jobs", 100, NONE, NONE, NULL, NULL},
    {"partition_job_depth", "jobs", 0, NONE, NONE, NULL, NULL},
    {"sched_interval", "s", 60, NONE, NONE, NULL, NULL},
    {"sched_min_interval", "us", 2, NONE, NONE, NULL, NULL},
    {"sched_max_job_start", "jobs", 0, NONE, NONE, NULL, NULL},
    {"batch_sched_delay", "s", 3, NONE, NONE, NULL, NULL},
    {"build_queue_timeout", "us", 2000000, NONE, NONE, NULL, NULL},
    {"max_rpc_cnt", "requests", 0, 0, 1000, NULL, NULL},
    {"max_depend_depth", "jobs", 10, NONE, NONE, NULL, NULL},
    {"max_switch_wait", "s", 300, NONE, NONE, NULL, NULL},
    {"preempt_reorder_count", "times", 1, NONE, NONE, NULL, NULL},
    {"PriorityMaxAge", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityDecayHalfLife", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityCalcPeriod", "min", 5, NONE, NONE, NULL, NULL},
    {"PriorityWeightAge", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightAssoc", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightFairshare", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightJobSize", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightPartition", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightQOS", "weight", 0, NONE, NONE, NULL, NULL},
    {"FairShareDampeningFactor", "factor", 1, NONE, NONE, NULL, NULL},
    {"PreemptExemptTime", "s", -1, NONE, NONE, NULL, NULL},
    {"SchedulerTimeSlice", "s", 30, 5, 65533, NULL, NULL},
    {"OverTimeLimit", "min", 0, 0, 65533, NULL, NULL},
    {"KillWait", "s", 30, 0, 65533, NULL, NULL},
    {"CompleteWait", "s", 0, 0, 65533, NULL, NULL},
    {"MaxArraySize", "tasks", 1001, 0, 4000001, NULL, NULL},
    {"MaxJobCount", "jobs", 10000, NONE, NONE, NULL, NULL},
};

const struct hr__slurm_parameter *hr__slurm_parameter(const char *name) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
    if (strcasecmp(parameters[i].name, name) == 0) return &parameters[i];
  return NULL;
}

/* ---- Priority, billing and order of preemption --------------------------------------------------------- */

uint32_t hr__slurm_priority(const struct hr__slurm_priority *priority) {
  double sum = 0;
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) sum += priority->weights[f] * priority->factors[f];
  sum += priority->site;
  for (uint32_t i = 0; i < priority->n_tres; i++) sum += priority->tres_weights[i] * priority->tres_factors[i];
  sum -= (double)priority->nice;
  return hr__slurm_truncated_priority(sum);
}

double hr__slurm_size_factor(const struct hr__slurm_size *size) {
  if (size->all_nodes <= 0 || size->all_cpus <= 0) return 0;
  if (size->is_relative_to_time) {
    double limit_min = size->limit_min > 1 ? size->limit_min : 1;
    double factor = fmax(size->nodes * size->all_cpus / size->all_nodes, size->cpus) / limit_min / size->all_cpus;
    if (size->favors_small) factor = 1 - factor;
    return fmin(1, fmax(0, factor));
  }
  double nodes = size->nodes / size->all_nodes, cpus = size->cpus / size->all_cpus;
  if (size->favors_small) {
    nodes = (size->all_nodes - size->nodes) / size->all_nodes;
    cpus = (size->all_cpus - size->cpus) / size->all_cpus;
  }
  return fmin(1, fmax(0, (nodes + cpus) / 2));
}

double hr__slurm_billing(const struct hr__slurm_tres *tres, uint32_t n_tres, enum hr__slurm_billing rule) {
  double sum = 0, highest = 0;
  for (uint32_t i = 0; i < n_tres; i++) {
    double value = tres[i].weight * tres[i].count;
    bool compares = (rule != HR__SLURM_BILL_SUM && tres[i].kind == HR__SLURM_TRES_NODE) ||
                    (rule == HR__SLURM_BILL_MAX && tres[i].kind == HR__SLURM_TRES_GRES);
    if (compares)
      highest = fmax(highest, value);
    else
      sum += value;
  }
  return highest + sum;
}

/* ---- Fair share ---------------------------------------------------------------------------------------- */

/* The children of an association with fairshare=parent are treated as siblings of its own siblings, below the nearest
   ancestor that has shares. */

double hr__slurm_usage_sum(struct hr__slurm_assoc *assocs, uint32_t n_assocs) {
  double total = 0;
  for (uint32_t i = n_assocs; i-- > 0;) { // children come after their parents
    if (assocs[i].parent == HR_NONE)
      total += assocs[i].usage;
    else
      assocs[assocs[i].parent].usage += assocs[i].usage;
  }
  return total;
}

/* Returns whether an association takes part in the comparison with its siblings. An account with fairshare=parent does
   not; its children do instead. */
static bool is_member(const struct hr__slurm_assoc *assoc) {
  return assoc->is_user || !assoc->uses_parent;
}

/* Adds the shares of the siblings below each ancestor to `sums` [n_assocs + 1], the last entry is the root. */
static void add_sibling_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, const uint32_t *ancestors,
                               double *sums) {
  for (uint32_t i = 0; i <= n_assocs; i++) sums[i] = 0;
  for (uint32_t i = 0; i < n_assocs; i++)
    if (!assocs[i].uses_parent) sums[ancestors[i]] += (double)assocs[i].shares;
}

/* Finds the nearest ancestor with shares of each association; n_assocs: the root. */
static void find_ancestors(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, uint32_t *ancestors) {
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t parent = assocs[i].parent;
    ancestors[i] = parent == HR_NONE ? n_assocs : assocs[parent].uses_parent ? ancestors[parent] : parent;
  }
}

static double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

/* ---- The classic algorithm -------------------------------------------------------------------------- */

void hr__slurm_classic_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                              double dampening, struct hr__slurm_share *shares,
                              struct hr__slurm_tree_scratch *scratch) {
  find_ancestors(assocs, n_assocs, scratch->ancestors);
  add_sibling_shares(assocs, n_assocs, scratch->ancestors, scratch->sums);
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = scratch->ancestors[i];
    bool is_top = ancestor == n_assocs;
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    double own = ratio((double)assocs[i].shares, scratch->sums[ancestor]);
    if (assocs[i].uses_parent) {
      share->norm_shares = is_top ? 1 : shares[ancestor].norm_shares;
      share->effective_usage = is_top ? share->norm_usage : shares[ancestor].effective_usage;
    } else if (is_top) {
      share->norm_shares = own;
      share->effective_usage = share->norm_usage;
    } else {
      share->norm_shares = shares[ancestor].norm_shares * own;
      share->effective_usage = share->norm_usage + (shares[ancestor].effective_usage - share->norm_usage) * own;
    }
    if (share->norm_shares > 0) share->factor = exp2(-(share->effective_usage / share->norm_shares / dampening));
  }
}

/* ---- Fair Tree -------------------------------------------------------------------------------------- */

struct fair_tree {
  const struct hr__slurm_assoc *assocs;
  uint32_t n_assocs;
  struct hr__slurm_share *shares;
  struct hr__slurm_tree_scratch *scratch;
  uint32_t n_users;  /* of the whole tree */
  uint32_t n_ranked; /* users that have a rank */
  uint32_t rank;     /* of the last user: n_users for the first, then falling */
};

/* Returns whether the sibling `a` comes before `b`: by level fair share, users before accounts, then as given. */
static bool comes_before(const struct fair_tree *tree, uint32_t a, uint32_t b) {
  double fs_a = tree->shares[a].level_fs, fs_b = tree->shares[b].level_fs;
  if (fs_a != fs_b) return fs_a > fs_b;
  if (tree->assocs[a].is_user != tree->assocs[b].is_user) return tree->assocs[a].is_user;
  return a < b;
}

/* Sorts siblings by merging; `spare` has room for them. */
static void sort_siblings(const struct fair_tree *tree, uint32_t *siblings, uint32_t count, uint32_t *spare) {
  if (count < 2) return;
  uint32_t half = count / 2, a = 0, b = half;
  sort_siblings(tree, siblings, half, spare);
  sort_siblings(tree, siblings + half, count - half, spare);
  for (uint32_t i = 0; i < count; i++) {
    bool takes_a = b == count || (a < half && comes_before(tree, siblings[a], siblings[b]));
    spare[i] = takes_a ? siblings[a++] : siblings[b++];
  }
  memcpy(siblings, spare, count * sizeof *siblings);
}

/* Lists the siblings below each ancestor in their order: those below `a` are members[first[a]] to
   members[first[a + 1] - 1]. The place of each member in the list is in `place`. */
static void list_siblings(const struct fair_tree *tree) {
  const uint32_t n = tree->n_assocs, *ancestors = tree->scratch->ancestors;
  uint32_t *first = tree->scratch->first, *members = tree->scratch->members, *place = tree->scratch->place;
  for (uint32_t a = 0; a <= n + 1; a++) first[a] = 0;
  for (uint32_t i = 0; i < n; i++)
    if (is_member(&tree->assocs[i])) first[ancestors[i] + 1]++;
  for (uint32_t a = 0; a <= n; a++) first[a + 1] += first[a];
  for (uint32_t i = n; i-- > 0;) // first[a + 1] moves down to the begin of the list of `a`, so that first is shifted
    if (is_member(&tree->assocs[i])) members[--first[ancestors[i] + 1]] = i;
  for (uint32_t a = 0; a <= n; a++) first[a] = first[a + 1];
  first[n + 1] = 0;
  for (uint32_t i = 0; i < n; i++) first[n + 1] += is_member(&tree->assocs[i]);
  for (uint32_t a = 0; a <= n; a++) sort_siblings(tree, members + first[a], first[a + 1] - first[a], place);
  for (uint32_t k = 0; k < first[n + 1]; k++) place[members[k]] = k;
}

/* Returns the sibling below `ancestor` that comes next after `last` (HR_NONE: the first); HR_NONE if not found. */
static uint32_t next_sibling(const struct fair_tree *tree, uint32_t ancestor, uint32_t last) {
  const struct hr__slurm_tree_scratch *scratch = tree->scratch;
  uint32_t at = last == HR_NONE ? scratch->first[ancestor] : scratch->place[last] + 1;
  return at < scratch->first[ancestor + 1] ? scratch->members[at] : HR_NONE;
}

static void rank_user(struct fair_tree *tree, uint32_t user, bool tied) {
  if (!tied) tree->rank = tree->n_users - tree->n_ranked;
  tree->shares[user].factor = (double)tree->rank / tree->n_users;
  tree->scratch->order[tree->n_ranked++] = user;
}

/* Ranks all users, depth first: from an account to its first child, otherwise to its next sibling. If an association
   ties with the sibling before it, the next user that is ranked shares the rank of the user before. (The documentation
   also merges the children of tied accounts; the program does not.) */
static void rank_all(struct fair_tree *tree) {
  const uint32_t root = tree->n_assocs;
  uint32_t at = next_sibling(tree, root, HR_NONE), ancestor = root;
  bool tied = false;
  while (at != HR_NONE || ancestor != root) {
    if (at == HR_NONE) { // all siblings are ranked: continue after their account
      uint32_t account = ancestor;
      ancestor = tree->scratch->ancestors[account];
      at = next_sibling(tree, ancestor, account);
      tied = at != HR_NONE && tree->shares[at].level_fs == tree->shares[account].level_fs;
      continue;
    }
    if (!tree->assocs[at].is_user) { // its first child inherits the tie
      ancestor = at;
      at = next_sibling(tree, ancestor, HR_NONE);
      continue;
    }
    rank_user(tree, at, tied);
    uint32_t next = next_sibling(tree, ancestor, at);
    tied = next != HR_NONE && tree->shares[next].level_fs == tree->shares[at].level_fs;
    at = next;
  }
}

uint32_t hr__slurm_fair_tree(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                             struct hr__slurm_share *shares, struct hr__slurm_tree_scratch *scratch) {
  struct fair_tree tree = {.assocs = assocs, .n_assocs = n_assocs, .shares = shares, .scratch = scratch};
  find_ancestors(assocs, n_assocs, scratch->ancestors);
  add_sibling_shares(assocs, n_assocs, scratch->ancestors, scratch->sums);
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = scratch->ancestors[i];
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    share->norm_shares = ratio((double)assocs[i].shares, scratch->sums[ancestor]);
    share->effective_usage = ratio(assocs[i].usage, ancestor == n_assocs ? total_usage : assocs[ancestor].usage);
    if (assocs[i].uses_parent)
      share->level_fs = (double)INFINITY;
    else if (assocs[i].shares == 0)
      share->level_fs = 0;
    else
      share->level_fs = share->effective_usage > 0 ? share->norm_shares / share->effective_usage : (double)INFINITY;
    tree.n_users += assocs[i].is_user;
  }
  list_siblings(&tree);
  rank_all(&tree);
  return tree.n_ranked;
}

/* ---- GPUs and shards ----------------------------------------------------------------------------------- */

bool hr__slurm_gres_fit(const struct hr__slurm_gpu *gpus, uint32_t n_gpus, uint32_t whole, uint32_t shards,
                        bool several) {
  uint32_t n_free = 0, most = 0, most_shared = 0;
  uint64_t sum_shared = 0;
  for (uint32_t i = 0; i < n_gpus; i++) {
    uint32_t free_shards = hr__slurm_shards_free(&gpus[i]);
    if (hr__slurm_gpu_is_free(&gpus[i])) {
      n_free++;
      if (free_shards > most) most = free_shards;
    } else {
      sum_shared += free_shards;
      if (free_shards > most_shared) most_shared = free_shards;
    }
  }
  if (whole > n_free) return false;
  if (shards == 0) return true;
  // GPUs that are left after the whole ones are given: all unused GPUs of a node have the same number of shards
  uint32_t n_left = n_free - whole;
  if (several) return shards <= sum_shared + (uint64_t)n_left * most;
  return shards <= most_shared || (n_left > 0 && shards <= most);
}
