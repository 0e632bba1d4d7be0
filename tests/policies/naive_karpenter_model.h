/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_NAIVE_KARPENTER_MODEL_H
#define HR_TESTS_POLICIES_NAIVE_KARPENTER_MODEL_H

/* The state of the slow model of Karpenter, shared by the file that adds nodes and the file that removes them. */

#include "naive_karpenter.h"

#define S INT64_C(1000000)
#define NEVER INT64_MAX

enum naive_state { OFF, BOOTS, UP, CLOSES };

struct naive_node {
  enum naive_state state;
  uint32_t type, free, jobs;
  uint32_t room;      /* free GPUs after the placement of the waiting jobs */
  uint32_t waits_for; /* the node that replaces it + 1; 0: none */
  int64_t asked_us, touched_us;
  bool is_needed, is_chosen;
};

struct naive_planned {
  uint32_t used, pods;
  bool may[NAIVE_TYPES];
};

/* A command for some nodes: delete them, or replace them with a node of one of the given types. */
struct naive_command {
  enum naive_reason reason;
  uint32_t nodes[NAIVE_CLAIMS], n;
  bool acts, replaces, as_spot, sent[NAIVE_TYPES];
};

struct naive_model {
  struct naive_claims *world;
  struct naive_node nodes[NAIVE_CLAIMS]; /* sorted by type */
  uint32_t n_nodes, n_asked[NAIVE_TYPES];
  int64_t now_us, began_us[NAIVE_PODS], waits_us[NAIVE_PODS]; /* -1: the job does not run, or does not wait */
  uint32_t on[NAIVE_PODS], turn[NAIVE_PODS], n_starts;        /* turn: the number of the start */
  struct naive_command command;
  int64_t blocked_until_us[NAIVE_TYPES];
  bool batch_is_open, batch_is_over;
  int64_t batch_first_us, batch_end_us, looked_us, base_us, validate_us;
};

struct naive_plan {
  struct naive_planned nodes[NAIVE_PODS];
  uint32_t n;
  int64_t nodes_left[NAIVE_NODE_POOLS], gpus_left[NAIVE_NODE_POOLS];
};

/* ---- naive_karpenter.c ---- */

/* Removes a node; its jobs start again elsewhere. */
void naive_remove_node(struct naive_model *model, uint32_t at);
/* Returns the number of nodes of a type, including booting ones. */
uint32_t naive_size_of(const struct naive_model *model, uint32_t type);
/* Places the waiting jobs on the nodes, large jobs first. Marks the nodes that these jobs would use. `lacks`: the jobs
   that do not fit. */
void naive_find_lacking(struct naive_model *model, bool lacks[NAIVE_PODS]);
int64_t naive_price_of(const struct naive_model *model, uint32_t type);
/* Requests a node. Spot capacity is preferred unless it costs more. Returns the node; NAIVE_CLAIMS: none. */
uint32_t naive_launch(struct naive_model *model, const bool *may);
struct naive_plan naive_new_plan(const struct naive_model *model);

/* ---- naive_disruption.c ---- */

/* Searches for nodes to remove. */
void naive_pass(struct naive_model *model);
/* Executes the command of the last pass, if it is still valid. */
void naive_validate(struct naive_model *model);

#endif
