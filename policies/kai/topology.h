/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_TOPOLOGY_H
#define HR_POLICIES_KAI_TOPOLOGY_H

/* Topology constraints: in which domains the pods of a pod set or of a group may be placed, and in which order. */

#include "policies/kai/session.h"

/* A domain of a topology. */
struct hr__kai_domain {
  uint32_t level;   /* 0: the root */
  uint32_t id_rank; /* position of the name among the sorted names of all domains of the topology */
  uint32_t *children, n_children;
  const uint32_t *nodes; /* [n_nodes] by id */
  uint32_t n_nodes;
  int64_t *free;  /* [n_dims] idle and releasing resources; shared GPUs count only if they are whole */
  int64_t n_fits; /* pods that fit; -1: not computed */
  double ratio;   /* of the request to what is free */
};

struct hr__kai_tree {
  struct hr__kai_domain *domains; /* the root comes first */
  uint32_t n_domains;
  uint32_t *order; /* [n_domains] scratch memory */
};

/* The node scores of the preferred levels of the job that is placed. */
struct hr__kai_topology_scores {
  double *of_sets, *of_groups; /* [n * n_nodes]; negative: the node is not in a domain */
  bool *has_sets, *has_groups; /* whether a pod set or group of the job has scores */
};

struct hr__kai_topologies {
  struct hr__kai_session *session;
  struct hr__kai_tree *trees; /* [n_topologies] */
  uint8_t *valid;             /* [n_nodes] scratch memory */
  struct hr__kai_topology_scores scores;
};

/* Builds the trees. `max_sets` and `max_groups` are the largest numbers of pod sets and groups of a job. Returns
   whether memory sufficed. */
bool hr__kai_topologies_create(struct hr__kai_topologies *topologies, struct hr__kai_session *session,
                               uint32_t max_sets, uint32_t max_groups);
/* Forgets the scores, before a job is placed. */
void hr__kai_topologies_forget(struct hr__kai_topologies *topologies, uint32_t job);

/* What is to be placed: the pods of a pod set, or of all pod sets below a group. */
struct hr__kai_subject {
  const struct hr__kai_constraint *constraint;
  uint32_t job;
  uint32_t set, group; /* one of them is HR__KAI_NONE */
  const uint32_t *pods;
  uint32_t n_pods;
};

/* The domains that are tried for the subject, given the nodes of its parent (`allowed` [n_nodes]). Puts their ids into
   `tree->order` and returns their number; 0: nothing is possible. The constraint must have a topology that exists. */
uint32_t hr__kai_domains_for(struct hr__kai_topologies *topologies, const struct hr__kai_subject *subject,
                             const uint8_t *allowed);

/* The topology score of a node for a pod of the pod set; negative: the node may not be used. */
double hr__kai_topology_score(const struct hr__kai_topologies *topologies, uint32_t set, uint32_t node);

/* The levels that are tried, from the inside to the outside: from `*from` down to `*to`. Returns NULL, or what is wrong
   as a word: "none", "required" or "preferred". */
const char *hr__kai_levels_tried(const struct hr__kai_constraint *constraint, uint32_t n_levels, int32_t *from,
                                 int32_t *to);
/* The score of the i-th of n domains, counted from 0. */
double hr__kai_score_of_domain(uint32_t i, uint32_t n);
/* Puts the domains of a level below `domain` into `found`, in the order of the tree, and returns their number. */
uint32_t hr__kai_domains_of_level(const struct hr__kai_tree *tree, uint32_t domain, uint32_t level, uint32_t *found);
/* The lowest domain that contains all allowed nodes, not below the level `lowest` (0: any). The root if there is none.
   Sets `valid[n]` for the allowed nodes of the topology. */
uint32_t hr__kai_common_domain(const struct hr__kai_topology *topology, uint32_t n_nodes, const uint8_t *allowed,
                               int32_t lowest, uint32_t *level, uint8_t *valid);

#endif
