/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_FAIR_SHARE_H
#define HR_POLICIES_SLURM_FAIR_SHARE_H

/*
 * Slurm's fair share: a tree of associations (accounts and their users) with shares and decayed usage, from which each
 * user gets a factor between 0 and 1. There are two algorithms, Fair Tree (the default) and the classic one.
 *
 * Source: src/plugins/priority/multifactor/{fair_tree,priority_multifactor}.c, doc/html/{fair_tree,classic_fair_share}
 * of SchedMD/slurm.
 */

#include <stdbool.h>
#include <stdint.h>

/* An association. Accounts have children; users do not. */
struct hr__slurm_assoc {
  uint32_t parent; /* index of the parent account, which is less than the own index; HR_NONE: child of the root */
  int64_t shares;
  bool uses_parent; /* fairshare=parent: the association has no shares of its own */
  bool is_user;
  double usage; /* decayed usage: given for users; for accounts the sum over their users is added */
};

/* What is computed for an association. Members that an algorithm does not use are 0. */
struct hr__slurm_share {
  double norm_shares;     /* classic: share of the whole cluster. Fair Tree: share among the siblings */
  double norm_usage;      /* share of all usage */
  double effective_usage; /* classic: usage that siblings are charged for. Fair Tree: share of the parent's usage */
  double level_fs;        /* Fair Tree: norm_shares / effective_usage, may be INFINITY */
  double factor;          /* the fair-share factor of a user */
};

/* Adds the usage of each association to its ancestors, and returns the sum over all users. Call it once; the usage of
   accounts is 0 before. */
double hr__slurm_usage_sum(struct hr__slurm_assoc *assocs, uint32_t n_assocs);

/* The classic algorithm. `assocs` have summed usage. */
void hr__slurm_classic_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                              double dampening, struct hr__slurm_share *shares);

/* Fair Tree. `order` is scratch memory with room for n_assocs entries; afterwards its first entries are the users, from
   the highest factor to the lowest. Returns the number of users. */
uint32_t hr__slurm_fair_tree(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                             struct hr__slurm_share *shares, uint32_t *order);

/* The factor by which usage decays within a time. Slurm approximates the half life: 0.693 instead of ln 2, to first
   order per second. `half_life_s` 0: no decay. */
double hr__slurm_decay(double half_life_s, double elapsed_s);

#endif
