/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one place where GLPK is called. Column 1 is the level, then one column for each kind and pool where it can run.
 * Rows: for each kind its rate less the level, and its time; for each pool its GPUs. The simplex method runs with fixed
 * settings, no limit of time and no output, so the same problem has the same solution. GLPK keeps its state by thread;
 * it is set up for each problem and freed after it, unless the thread had it before. An error within GLPK jumps back
 * here.
 */

#include "policies/gavel_lp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

/* How much of the level the second step may give up, against rounding. */
#define LEVEL_SLACK 1e-9
#define SHARE_UNITS 1e9

/* A program under construction, and what it needs to be taken down after an error. */
struct program {
  const struct hr__share_problem *problem;
  double *share, *level;
  glp_prob *lp;
  int *column; /* [n_kinds][n_pools]: of a share; 0: none */
  int *row;    /* entries of a column, from 1 */
  double *value;
  jmp_buf error;
  bool solved;
};

enum { LEVEL_COLUMN = 1, MOST_ENTRIES = 3 };

static size_t place(const struct hr__share_problem *problem, uint32_t kind, uint32_t pool) {
  return (size_t)kind * problem->n_pools + pool;
}

static int rate_row(uint32_t kind) {
  return (int)kind + 1;
}

static int time_row(const struct hr__share_problem *problem, uint32_t kind) {
  return (int)(problem->n_kinds + kind) + 1;
}

static int pool_row(const struct hr__share_problem *problem, uint32_t pool) {
  return (int)(2 * problem->n_kinds + pool) + 1;
}

static double scaled_rate(const struct hr__share_problem *problem, uint32_t kind, uint32_t pool) {
  return problem->kinds[kind].scale * problem->speed[place(problem, kind, pool)];
}

static double gpus_of(const struct hr__share_problem *problem, uint32_t kind) {
  return (double)problem->kinds[kind].jobs * problem->kinds[kind].gpus;
}

static void add_rows(const struct program *program) {
  const struct hr__share_problem *problem = program->problem;
  glp_add_rows(program->lp, (int)(2 * problem->n_kinds + problem->n_pools));
  for (uint32_t kind = 0; kind < problem->n_kinds; kind++) {
    glp_set_row_bnds(program->lp, rate_row(kind), GLP_LO, 0, 0);
    glp_set_row_bnds(program->lp, time_row(problem, kind), GLP_UP, 0, 1);
  }
  for (uint32_t pool = 0; pool < problem->n_pools; pool++)
    glp_set_row_bnds(program->lp, pool_row(problem, pool), GLP_UP, 0, problem->pool_gpus[pool]);
}

static void add_level(const struct program *program) {
  const struct hr__share_problem *problem = program->problem;
  bool is_bounded = isfinite(problem->most_level);
  glp_add_cols(program->lp, 1);
  glp_set_col_bnds(program->lp, LEVEL_COLUMN, is_bounded ? GLP_DB : GLP_LO, 0, is_bounded ? problem->most_level : 0);
  glp_set_obj_coef(program->lp, LEVEL_COLUMN, 1);
  for (uint32_t kind = 0; kind < problem->n_kinds; kind++) {
    program->row[kind + 1] = rate_row(kind);
    program->value[kind + 1] = -1;
  }
  glp_set_mat_col(program->lp, LEVEL_COLUMN, (int)problem->n_kinds, program->row, program->value);
}

static void add_share(const struct program *program, uint32_t kind, uint32_t pool) {
  const struct hr__share_problem *problem = program->problem;
  int column = program->column[place(problem, kind, pool)] = glp_add_cols(program->lp, 1);
  const int row[MOST_ENTRIES + 1] = {0, rate_row(kind), time_row(problem, kind), pool_row(problem, pool)};
  const double value[MOST_ENTRIES + 1] = {0, scaled_rate(problem, kind, pool), 1, gpus_of(problem, kind)};
  glp_set_col_bnds(program->lp, column, GLP_LO, 0, 0);
  glp_set_mat_col(program->lp, column, MOST_ENTRIES, row, value);
}

static void build(struct program *program) {
  const struct hr__share_problem *problem = program->problem;
  program->lp = glp_create_prob();
  glp_set_obj_dir(program->lp, GLP_MAX);
  add_rows(program);
  add_level(program);
  for (uint32_t kind = 0; kind < problem->n_kinds; kind++)
    for (uint32_t pool = 0; pool < problem->n_pools; pool++) {
      bool can_run = problem->speed[place(problem, kind, pool)] > 0 && problem->pool_gpus[pool] > 0;
      program->column[place(problem, kind, pool)] = 0;
      if (can_run) add_share(program, kind, pool);
    }
}

static bool optimise(const struct program *program) {
  glp_smcp settings;
  glp_init_smcp(&settings);
  settings.msg_lev = GLP_MSG_OFF;
  settings.meth = GLP_PRIMAL; /* the origin is feasible, and so is the first step's optimum for the second */
  return glp_simplex(program->lp, &settings) == 0 && glp_get_status(program->lp) == GLP_OPT;
}

/* The level stays where it is; what else is there to be had? */
static void set_second_goal(const struct program *program) {
  const struct hr__share_problem *problem = program->problem;
  double level = glp_get_col_prim(program->lp, LEVEL_COLUMN) * (1 - LEVEL_SLACK);
  glp_set_col_bnds(program->lp, LEVEL_COLUMN, GLP_LO, level > 0 ? level : 0, 0);
  glp_set_obj_coef(program->lp, LEVEL_COLUMN, 0);
  for (uint32_t kind = 0; kind < problem->n_kinds; kind++)
    for (uint32_t pool = 0; pool < problem->n_pools; pool++) {
      int column = program->column[place(problem, kind, pool)];
      double gain = problem->price ? -gpus_of(problem, kind) * problem->price[pool]
                                   : problem->kinds[kind].jobs * scaled_rate(problem, kind, pool);
      if (column) glp_set_obj_coef(program->lp, column, gain);
    }
}

static void read_shares(const struct program *program) {
  const struct hr__share_problem *problem = program->problem;
  for (size_t i = 0; i < (size_t)problem->n_kinds * problem->n_pools; i++) {
    double share = program->column[i] ? glp_get_col_prim(program->lp, program->column[i]) : 0;
    share = floor(share * SHARE_UNITS + 0.5) / SHARE_UNITS;
    program->share[i] = share > 0 ? share < 1 ? share : 1 : 0;
  }
}

static void solve(struct program *program) {
  build(program);
  if (!optimise(program)) return;
  *program->level = glp_get_col_prim(program->lp, LEVEL_COLUMN);
  set_second_goal(program);
  if (!optimise(program)) return;
  read_shares(program);
  program->solved = true;
}

static void jump_back(void *info) {
  struct program *program = info;
  longjmp(program->error, 1);
}

/* After an error GLPK can only be shut down: all that it holds in this thread goes. */
static void solve_guarded(struct program *program) {
  bool is_own = glp_init_env() == 0;
  int terminal = glp_term_out(GLP_OFF);
  if (setjmp(program->error) != 0) {
    glp_free_env();
    return;
  }
  glp_error_hook(jump_back, program);
  solve(program);
  glp_error_hook(NULL, NULL);
  glp_delete_prob(program->lp);
  glp_term_out(terminal);
  if (is_own) glp_free_env();
}

enum hr_status hr__time_shares_solve(const struct hr__share_problem *problem, double *share, double *level) {
  struct program *program = calloc(1, sizeof *program);
  if (!program) return HR_NO_MEMORY;
  program->problem = problem;
  program->share = share;
  program->level = level;
  program->column = calloc((size_t)problem->n_kinds * problem->n_pools + 1, sizeof *program->column);
  program->row = calloc((size_t)problem->n_kinds + 1, sizeof *program->row);
  program->value = calloc((size_t)problem->n_kinds + 1, sizeof *program->value);
  if (program->column && program->row && program->value) solve_guarded(program);
  bool solved = program->solved;
  free(program->column);
  free(program->row);
  free(program->value);
  free(program);
  return solved ? HR_OK : HR_NO_MEMORY;
}
