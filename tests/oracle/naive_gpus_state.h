/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_GPUS_STATE_H
#define HR_TESTS_ORACLE_NAIVE_GPUS_STATE_H

/* The state of the naive scheduler for GPUs: nodes, GPUs and instances, and the placement of jobs on them. A state is a
   plain struct: a hypothetical state is a copy. */

#include "naive_gpus.h"

struct naive_gpu {
  long left, mem; /* free thousandths; free memory, -1: unlimited */
  int tasks;
  int layout;
  signed char taken[NAIVE_GPUS_SLICES]; /* profile of the instance of a task that begins here; -1: none */
  bool full;                            /* MIG: no instance can be added, even if slices are free */
};

struct naive_node {
  int pool;
  bool up;
  int tasks, dedicated; /* tasks on the node; those of dedicated jobs */
  long cpu, mem;        /* free; -1: unlimited */
  struct naive_gpu gpu[NAIVE_GPUS_PER_NODE];
};

struct naive_state {
  int n_nodes;
  struct naive_node node[NAIVE_GPUS_NODES];
};

struct naive_seat {
  int n_slices;
  struct naive_gpus_slice slice[NAIVE_GPUS_TASKS];
};

/* Initializes a state without jobs. All nodes are up. */
void naive_state_init(const struct naive_gpus_input *in, struct naive_state *state);
/* Sets a node to its initial state; it is up. */
void naive_node_init(const struct naive_gpus_input *in, struct naive_state *state, int node);
/* Returns the first node of a pool. */
int naive_first_node(const struct naive_gpus_input *in, int pool);

/* Finds a placement of a job in the pools of a set. `required`: the topology constraint is required, not preferred.
   Does not change the state. Returns false if the job does not fit. */
bool naive_place(const struct naive_gpus_input *in, const struct naive_state *state, int job, bool required,
                 unsigned pools, struct naive_seat *seat);
/* Returns whether the topology constraint of a job may exclude placements. */
bool naive_is_constrained(const struct naive_gpus_input *in, int job);
/* Adds a placed job to the state, or removes it. */
void naive_take(const struct naive_gpus_input *in, struct naive_state *state, int job, const struct naive_seat *seat);
void naive_give(const struct naive_gpus_input *in, struct naive_state *state, int job, const struct naive_seat *seat);

/* Returns whether the instance can be added to the set of instances that begin at `begins`. */
bool naive_mig_may_add(const struct naive_mig_type *type, const signed char *begins, int profile, int start);

/* Returns whether the node has no task. */
bool naive_is_empty(const struct naive_node *node);
/* Prints a message and aborts if `right` is false. */
void naive_require(bool right, const char *what, const char *value);

#endif
