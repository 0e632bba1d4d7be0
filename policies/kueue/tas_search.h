/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_TAS_SEARCH_H
#define HR_POLICIES_KUEUE_TAS_SEARCH_H

/*
 * The state of a search for topology domains, shared by the modules tas_*.c. A search first counts the pods that fit
 * into each domain (tas_count.c), then selects domains at the requested level (tas_level.c or tas_balanced.c), and
 * distributes the pods downwards (tas_search.c). In the second half the counts of selected domains are what they get.
 */

#include "policies/kueue/tas.h"

/* The counts of a domain: what fits, and later what is placed. */
struct hr__tas_state {
  int64_t pods, slices;
  int64_t pods_with_leader, slices_with_leader; /* beside a leader in the domain, if it can have one */
  int64_t leaders;
  int64_t affinity; /* sum over the nodes of the domain */
};

/* What a search for one pod set, or for a leader and its workers, asks for. */
struct hr__tas_goal {
  int64_t count;      /* pods */
  int64_t slice_size; /* of the outermost slices; 1 without slices */
  int64_t leaders;    /* 0 or 1 */
  uint32_t level;     /* requested level */
  uint32_t slice_level;
  int64_t inner[HR__TAS_MAX_LEVELS]; /* sizes of inner slices by level; 0: none */
  bool required, unconstrained;
  bool layered; /* has inner slices */
};

/* A set of domains on the way to a selection (tas_balanced.c). */
struct hr__tas_selection {
  int64_t leaders, pods; /* still to be placed */
  uint32_t domain;       /* the last domain of the set */
  uint32_t before;       /* the set without it; HR_NONE: the set is empty */
};

struct hr__tas_list {
  uint32_t *items;
  uint32_t count, capacity;
};

struct hr__tas_search {
  struct hr__tas_gates gates;
  /* The present call: */
  const struct hr__tas_snapshot *snapshot;
  const struct hr__tas_tree *tree;
  struct hr__tas_goal goal;
  struct hr__tas_exclusions exclusions;
  struct hr__tas_state *state; /* by domain */
  /* Results: */
  struct hr__tas_part *parts;
  uint32_t n_parts, parts_capacity;
  /* Working memory: */
  struct hr__tas_state *saved, *best; /* by domain (tas_balanced.c) */
  uint32_t state_capacity;
  uint32_t saved_capacity, best_capacity;
  struct hr__tas_list fit, next, sorted, spare; /* of domains */
  double *entropy;
  uint32_t entropy_capacity;
  int64_t *room; /* by resource */
  uint32_t room_capacity;
  struct hr__tas_selection *selections;
  uint32_t n_selections, selections_capacity;
  struct hr__tas_list *by_size; /* selections by number of domains, in the order of (leaders, pods) */
  uint32_t by_size_capacity;
  bool no_memory;
};

/* A search with all members 0 except the gates is ready for use. */
void hr__tas_search_finish(struct hr__tas_search *search);

/* Empties a list and makes room for `capacity` items. On exhausted memory sets `no_memory` and returns false. */
bool hr__tas_list_clear(struct hr__tas_search *search, struct hr__tas_list *list, uint32_t capacity);

/* ---- Counting (tas_count.c) ---- */

/* What the pods of a search ask of a leaf. */
struct hr__tas_demand {
  const int64_t *pod, *leader; /* [resource]; leader NULL: none */
  const int64_t *assumed;      /* NULL: none */
  const uint8_t *excluded;     /* NULL: none */
  const int64_t *affinity;     /* NULL: none */
  uint32_t within;             /* domain of a replacement; HR_NONE: any */
  bool empty;                  /* ignore the usage of placed pods */
};

/* Counts what fits into each domain for the goal of the search. */
void hr__tas_fill_counts(struct hr__tas_search *search, const struct hr__tas_demand *demand);
/* Counts again what fits into the ancestors of the leaves of one domain. */
void hr__tas_sum_counts(struct hr__tas_search *search, uint32_t domain, const int64_t *inner);

/* ---- Orders (tas_order.c) ---- */

/* Whether the least free domains are used first. */
static inline bool hr__tas_least_free(const struct hr__tas_search *search, bool unconstrained) {
  return unconstrained && search->gates.profile_mixed;
}
/* Sorts domains by their counts: the largest first, or the smallest first. */
void hr__tas_sort(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, bool unconstrained);
/* Sorts domains that can have a leader first, then by their counts beside a leader. */
void hr__tas_sort_with_leader(const struct hr__tas_search *search, uint32_t *domains, uint32_t count,
                              bool unconstrained);
/* Sorts domains by leaders, slices beside a leader, and entropy of the counts of their children, largest first. */
void hr__tas_sort_by_entropy(struct hr__tas_search *search, uint32_t *domains, uint32_t count);
/* Returns the position of the smallest count of slices (or pods) that is at least `needed`, among the first domains
   that have the same affinity; 0 if there is none. With leaders, only domains that can have them count. */
uint32_t hr__tas_best_fit(const struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t needed,
                          int64_t leaders, bool slices);
/* Moves the first domain that can have the leader without loss of needed capacity to the front. */
void hr__tas_leader_first(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, int64_t pods,
                          int64_t leaders, int64_t slice_size, bool slices);

/* ---- Selection ---- */

/* Selects domains at the requested level or above it into `fit`. Sets *level (tas_level.c). */
struct hr__tas_failure hr__tas_select_level(struct hr__tas_search *search, uint32_t *level);
/* Selects domains by balanced placement into `fit`. Returns false if that is not possible; the counts are then as
   before (tas_balanced.c). */
bool hr__tas_select_balanced(struct hr__tas_search *search, uint32_t *level);

/* The steps of balanced placement. Each returns false if there is no solution. */

/* Finds the largest number of slices that each domain can get, and the domains of the parent that allows it (into
   `fit`, with counts as pruned). Returns 0 if there is none. */
int64_t hr__tas_balance_threshold(struct hr__tas_search *search);
/* Replaces the list by the smallest set of domains that can have the slices and leaders with the least excess. */
bool hr__tas_select_optimal(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices,
                            int64_t leaders, int64_t slice_size, bool by_entropy);
/* Distributes slices over an optimal set of the domains so that each gets at least `threshold`. */
bool hr__tas_distribute(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices, int64_t leaders,
                        int64_t slice_size, int64_t threshold);

#endif
