/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fair share as Slurm computes it; see fair_share.h. An association with fairshare=parent passes its children on: they
   are siblings of its own siblings, below the nearest ancestor that has shares. */

#include "policies/slurm/fair_share.h"

#include "headroom/base.h"

#include <math.h>
#include <string.h>

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

/* The nearest ancestor with shares of its own; HR_NONE: the root. */
static uint32_t ancestor_of(const struct hr__slurm_assoc *assocs, uint32_t at) {
  uint32_t parent = assocs[at].parent;
  while (parent != HR_NONE && assocs[parent].uses_parent) parent = assocs[parent].parent;
  return parent;
}

/* Returns whether an association takes part in the comparison with its siblings. An account with fairshare=parent does
   not; its children do instead. */
static bool is_member(const struct hr__slurm_assoc *assoc) {
  return assoc->is_user || !assoc->uses_parent;
}

/* The sum of the shares of the siblings below an ancestor. */
static double sibling_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, uint32_t ancestor) {
  double sum = 0;
  for (uint32_t i = ancestor == HR_NONE ? 0 : ancestor + 1; i < n_assocs; i++)
    if (!assocs[i].uses_parent && ancestor_of(assocs, i) == ancestor) sum += (double)assocs[i].shares;
  return sum;
}

static double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

/* ---- The classic algorithm -------------------------------------------------------------------------- */

void hr__slurm_classic_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                              double dampening, struct hr__slurm_share *shares) {
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = ancestor_of(assocs, i);
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    double own = ratio((double)assocs[i].shares, sibling_shares(assocs, n_assocs, ancestor));
    if (assocs[i].uses_parent) {
      share->norm_shares = ancestor == HR_NONE ? 1 : shares[ancestor].norm_shares;
      share->effective_usage = ancestor == HR_NONE ? share->norm_usage : shares[ancestor].effective_usage;
    } else if (ancestor == HR_NONE) {
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
  uint32_t *order;
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

/* Returns the sibling below `ancestor` that comes next after `last` (HR_NONE: the first); HR_NONE if there is none. */
static uint32_t next_sibling(const struct fair_tree *tree, uint32_t ancestor, uint32_t last) {
  uint32_t next = HR_NONE;
  for (uint32_t i = ancestor == HR_NONE ? 0 : ancestor + 1; i < tree->n_assocs; i++) {
    if (!is_member(&tree->assocs[i]) || ancestor_of(tree->assocs, i) != ancestor) continue;
    if (last != HR_NONE && !comes_before(tree, last, i)) continue;
    if (next == HR_NONE || comes_before(tree, i, next)) next = i;
  }
  return next;
}

static void rank_user(struct fair_tree *tree, uint32_t user, bool tied) {
  if (!tied) tree->rank = tree->n_users - tree->n_ranked;
  tree->shares[user].factor = (double)tree->rank / tree->n_users;
  tree->order[tree->n_ranked++] = user;
}

/* Ranks all users, depth first: from an account to its first child, otherwise to its next sibling. If an association
   ties with the sibling before it, the next user that is ranked shares the rank of the user before. (The documentation
   also merges the children of tied accounts; the program does not.) */
static void rank_all(struct fair_tree *tree) {
  uint32_t at = next_sibling(tree, HR_NONE, HR_NONE), ancestor = HR_NONE;
  bool tied = false;
  while (at != HR_NONE || ancestor != HR_NONE) {
    if (at == HR_NONE) { // all siblings are ranked: go on after their account
      uint32_t account = ancestor;
      ancestor = ancestor_of(tree->assocs, account);
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
                             struct hr__slurm_share *shares, uint32_t *order) {
  struct fair_tree tree = {.assocs = assocs, .n_assocs = n_assocs, .shares = shares, .order = order};
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = ancestor_of(assocs, i);
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    share->norm_shares = ratio((double)assocs[i].shares, sibling_shares(assocs, n_assocs, ancestor));
    share->effective_usage = ratio(assocs[i].usage, ancestor == HR_NONE ? total_usage : assocs[ancestor].usage);
    if (assocs[i].uses_parent)
      share->level_fs = INFINITY;
    else if (assocs[i].shares == 0)
      share->level_fs = 0;
    else
      share->level_fs = share->effective_usage > 0 ? share->norm_shares / share->effective_usage : (double)INFINITY;
    tree.n_users += assocs[i].is_user;
  }
  rank_all(&tree);
  return tree.n_ranked;
}

double hr__slurm_decay(double half_life_s, double elapsed_s) {
  return half_life_s > 0 ? pow(1 - 0.693 / half_life_s, elapsed_s) : 1;
}
