/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_GANG_MATRIX_H
#define HR_POLICIES_GANG_MATRIX_H

/*
 * Ousterhout's matrix (Scheduling techniques for concurrent systems, 1982): a column is a GPU, a row is a set of jobs
 * that fit on the cluster together. Each job has its place in one row, and runs there whenever it runs.
 */

#include "policies/place.h"

/* A job in the matrix. */
struct hr__gang {
  hr_job job;
  uint32_t row;
  struct hr__gang *next, *previous; /* in its row, by when it came */
  struct hr__place place;           /* where it runs */
  bool runs;
  bool pinned;      /* runs on a node that is to go: it is left alone */
  uint64_t chosen;  /* the last arrangement that it was part of */
  int64_t begun_us; /* work done when the present slice of its row began, or when it came */
};

struct hr__gang_row {
  struct hr__gang *first, *last;
  uint32_t count;
  bool freed;                   /* something left it since this was last set to false */
  struct hr__capacity capacity; /* what no job of the row has */
};

struct hr__matrix {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  uint32_t n_rows;
  struct hr__gang_row *rows;
  struct hr__gang **gang_of; /* by job; NULL: not in the matrix */
  struct hr__gang *unused;
  struct hr_job_tree outside; /* who is not in the matrix, by job */
};

enum hr_status hr__matrix_init(struct hr__matrix *matrix, const struct hr_policy_env *env, enum hr_placement_rule rule,
                               uint32_t n_rows);
/* Puts jobs from outside into the first row where they fit, in order, until one fits in none. */
enum hr_status hr__matrix_admit(struct hr__matrix *matrix, const struct hr_view *view);
/* Whether a job from outside would fit in some row. */
bool hr__matrix_has_room(const struct hr__matrix *matrix, hr_job job);
/* Into each row where something became free, jobs of later rows but for those of the present one, whose turn it is:
   jobs that have their place free there, and those that do not run and fit elsewhere. */
enum hr_status hr__matrix_unify(struct hr__matrix *matrix, uint32_t present);
/* A job leaves the matrix; it may be put outside then. */
void hr__matrix_remove(struct hr__matrix *matrix, struct hr__gang *gang);
bool hr__matrix_put_outside(struct hr__matrix *matrix, hr_job job);
/* A node can be used from now on, or no more: who runs there is pinned, who does not goes outside. */
enum hr_status hr__matrix_set_usable(struct hr__matrix *matrix, hr_pool pool, hr_node node, bool usable);

#endif
