/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares of time of jobs in pools: construction and solution of the linear programs of rounds.h.
 *
 * The programs are solved with GLPK, which is called in this file only. Column 1 is the level. It is followed by one
 * column for each kind and each pool in which the kind can run: the share. Each kind has two rows: its scaled rate
 * minus the level, and the sum of its shares. Each pool has one row: the sum of its GPUs in use. The simplex method
 * runs with fixed settings and without a time limit, so equal problems have equal solutions. GLPK has one environment
 * per thread. If the thread has no environment yet, one is created for each problem and freed afterwards. After an
 * internal error, the error hook of GLPK jumps to solve_guarded.
 */

#include "policies/rounds/rounds.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Because of rounding errors, step 2 (see rounds.h) may lower the level by this fraction. */
#define LEVEL_SLACK 1e-9
#define SHARE_UNITS 1e9

/* A linear program under construction, with all data that must be freed after an error. */
struct program {
  const struct hr__share_problem *problem;
  double *share, *level;
  glp_prob *lp;
  int *column; /* [n_kinds][n_pools]: column of the share; 0: none */
  int *row;    /* row, value: the entries of one column; the first index is 1 */
  double *value;
  jmp_buf error;
  bool solved;
};

enum { LEVEL_COLUMN = 1, MAX_ENTRIES = 3 };

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
  bool is_bounded = isfinite(problem->max_level);
  glp_add_cols(program->lp, 1);
  glp_set_col_bnds(program->lp, LEVEL_COLUMN, is_bounded ? GLP_DB : GLP_LO, 0, is_bounded ? problem->max_level : 0);
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
  const int row[MAX_ENTRIES + 1] = {0, rate_row(kind), time_row(problem, kind), pool_row(problem, pool)};
  const double value[MAX_ENTRIES + 1] = {0, scaled_rate(problem, kind, pool), 1, gpus_of(problem, kind)};
  glp_set_col_bnds(program->lp, column, GLP_LO, 0, 0);
  glp_set_mat_col(program->lp, column, MAX_ENTRIES, row, value);
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
  /* needs a feasible start: in step 1 the origin, in step 2 the optimum of step 1 */
  settings.meth = GLP_PRIMAL;
  return glp_simplex(program->lp, &settings) == 0 && glp_get_status(program->lp) == GLP_OPT;
}

/* Requires at least the optimal level of step 1, less LEVEL_SLACK, and replaces the objective by that of step 2. */
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

static void on_glpk_error(void *info) {
  struct program *program = info;
  longjmp(program->error, 1);
}

/* Solves the program. After an error, GLPK cannot be used further and is shut down, which frees all its memory in this
   thread. */
static void solve_guarded(struct program *program) {
  bool is_own = glp_init_env() == 0;
  int terminal = glp_term_out(GLP_OFF);
  if (setjmp(program->error) != 0) {
    glp_free_env();
    return;
  }
  glp_error_hook(on_glpk_error, program);
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

/* Kinds of a run: members with equal shape and equal class form a kind. A class is a range of the need of a job. With
   the objective makespan, the need is the remaining work in seconds. With cost-slo, it is the rate of work that meets
   the deadline of the job. With other objectives, it is 1. The range between two powers of 2 is divided into eight
   classes of equal width, so the number of kinds is small for any number of jobs. If there are still more than
   MANY_KINDS kinds, the range is divided into four classes, two classes or one class. */

enum { ROUNDS_BETWEEN = 10, MANY_KINDS = 200, MAX_COARSENING = 4 };

/* Dollars added to each price per GPU-hour, so that solutions use no more GPUs than needed, even if the price is 0. */
#define MIN_PRICE 1e-6
#define FULL_PPM 1e6

struct hr__round_shares {
  struct hr__member **sorted;
  struct hr__share_kind *kinds;
  double *speed, *share; /* [kinds][n_pools] */
  double *pool_gpus, *price;
  uint32_t members_capacity, n_kinds;
};

/* ---- Shapes --------------------------------------------------------------------------------------- */

/* Returns a hash of need, weight and speeds. */
static uint32_t hash_shape(const struct hr__rounds *rounds, const struct hr__round_shape *shape) {
  uint64_t digest = ((uint64_t)shape->need.accept_class << 32 | shape->need.gpus) ^ (uint64_t)shape->need.request << 8 ^
                    (uint64_t)shape->weight << 20;
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    uint64_t bits;
    memcpy(&bits, &shape->speed[i], sizeof bits);
    digest = hr__digest_add(digest, bits);
  }
  return (uint32_t)digest;
}

static bool same_shape(const struct hr__rounds *rounds, const struct hr__round_shape *a,
                       const struct hr__round_shape *b) {
  return a->need.gpus == b->need.gpus && a->need.accept_class == b->need.accept_class &&
         a->need.request == b->need.request && a->weight == b->weight &&
         memcmp(a->speed, b->speed, rounds->n_pools * sizeof *a->speed) == 0;
}

/* Returns the index of the shape that is equal to `shape`; HR_NONE if none exists. */
static uint32_t find_shape(const struct hr__rounds *rounds, uint32_t hash, const struct hr__round_shape *shape) {
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&rounds->by_shape, hash, &at); i != HR_NONE;
       i = hr__hash_next(&rounds->by_shape, &at))
    if (same_shape(rounds, &rounds->shapes[i], shape)) return i;
  return HR_NONE;
}

/* Appends a shape with a copy of its speeds. Returns its index; HR_NONE: out of memory. */
static uint32_t add_shape(struct hr__rounds *rounds, uint32_t hash, const struct hr__round_shape *shape) {
  if (!HR__ARENA_HAS_ROOM(rounds->arena, rounds->shapes, rounds->n_shapes, rounds->shapes_capacity)) return HR_NONE;
  struct hr__round_shape copy = *shape;
  if (!HR__ARENA_ARRAY(rounds->arena, copy.speed, rounds->n_pools) ||
      !hr__hash_add(&rounds->by_shape, rounds->arena, hash, rounds->n_shapes))
    return HR_NONE;
  memcpy(copy.speed, shape->speed, rounds->n_pools * sizeof *copy.speed);
  rounds->shapes[rounds->n_shapes] = copy;
  return rounds->n_shapes++;
}

enum hr_status hr__round_shares_init(struct hr__rounds *rounds) {
  struct hr__round_shares *shares = rounds->shares = hr_arena_alloc(rounds->arena, sizeof *shares);
  if (!HR__ARENA_ARRAY(rounds->arena, rounds->draft, rounds->n_pools) || !shares) return HR_NO_MEMORY;
  return HR__ARENA_ARRAY(rounds->arena, shares->pool_gpus, rounds->n_pools) &&
                 HR__ARENA_ARRAY(rounds->arena, shares->price, rounds->n_pools)
             ? HR_OK
             : HR_NO_MEMORY;
}

static uint32_t weight_of(const struct hr__rounds *rounds, hr_job job) {
  int32_t priority = rounds->by_priority && rounds->jobs->priority ? rounds->jobs->priority[job.id] : 1;
  return priority > 1 ? (uint32_t)priority : 1;
}

uint32_t hr__round_shape_of(struct hr__rounds *rounds, const struct hr_view *view, hr_job job) {
  uint64_t milli = hr_cluster_asked_milli(rounds->cluster, job);
  if (milli == 0) milli = 1;
  struct hr__round_shape shape = {.need = hr_need_of(rounds->cluster, rounds->jobs, job),
                                  .milli = milli,
                                  .gpus = (double)milli / HR_WHOLE_GPU_MILLI,
                                  .weight = weight_of(rounds, job),
                                  .speed = rounds->draft};
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(rounds->cluster, (hr_pool){i});
    bool runs =
        hr_cluster_accepts(rounds->cluster, shape.need.accept_class, (hr_pool){i}) &&
        (uint64_t)spec->nodes * spec->gpus_per_node * hr__rounds_parts(rounds, (hr_pool){i}) * HR_WHOLE_GPU_MILLI >=
            shape.milli;
    shape.speed[i] = runs ? hr_view_speed_ppm(view, job, (hr_pool){i}) / FULL_PPM : 0;
  }
  uint32_t hash = hash_shape(rounds, &shape), found = find_shape(rounds, hash, &shape);
  return found != HR_NONE ? found : add_shape(rounds, hash, &shape);
}

/* ---- Needs ---------------------------------------------------------------------------------------- */

/* Returns the remaining work by the job's limit or estimate, in microseconds. An overdue job is assumed to need one
   more round. */
static double work_left_us(const struct hr__rounds *rounds, const struct hr_view *view, hr_job job) {
  int64_t left_us = hr_trace_estimate_us(rounds->jobs, job) - hr_view_done_us(view, job);
  return (double)(left_us > rounds->round_us ? left_us : rounds->round_us);
}

/* Returns the speed of the member in the fastest pool. */
static double best_speed(const struct hr__rounds *rounds, const struct hr__member *member) {
  double best = 0;
  for (uint32_t i = 0; i < rounds->n_pools; i++)
    if (hr__member_shape(rounds, member)->speed[i] > best) best = hr__member_shape(rounds, member)->speed[i];
  return best;
}

/* Returns the rate of work with which a job ends one round before its deadline; the maximum rate if it cannot meet the
   deadline. A job without a deadline gets one: its submission plus `slo` times its estimate. */
static double needed_rate(const struct hr__rounds *rounds, const struct hr_view *view,
                          const struct hr__member *member) {
  const struct hr_trace *jobs = rounds->jobs;
  int64_t stated_us = jobs->deadline_us ? jobs->deadline_us[member->job.id] : HR_UNKNOWN_US;
  double deadline_us = stated_us != HR_UNKNOWN_US ? (double)stated_us
                                                  : (double)jobs->submit_us[member->job.id] +
                                                        rounds->slo * (double)hr_trace_estimate_us(jobs, member->job);
  double left_us = deadline_us - (double)view->now_us - (double)rounds->round_us;
  double best = best_speed(rounds, member), work_us = work_left_us(rounds, view, member->job);
  return left_us * best > work_us ? work_us / left_us : best;
}

/* Returns the need of a member, by which the objective distinguishes jobs of one shape. */
static double need_of(const struct hr__rounds *rounds, const struct hr_view *view, const struct hr__member *member) {
  switch (rounds->objective) {
  case HR__MAKESPAN:
    return work_left_us(rounds, view, member->job) / (double)HR_SECOND_US;
  case HR__COST_SLO:
    return needed_rate(rounds, view, member);
  case HR__FAIR:
  case HR__MAX_MIN:
    break;
  }
  return 1;
}

/* Returns the class of a need: the index of the smallest class limit that is not less than `need`. There are eight
   class limits per power of 2. Computed without logarithms, so that the result is the same on all platforms. */
static uint32_t class_of(double need) {
  int exponent;
  double mantissa = frexp(need, &exponent); /* mantissa: 0.5 to 1 */
  uint32_t eighths = (uint32_t)ceil((mantissa - 0.5) * 16);
  return (uint32_t)(exponent + 1024) * 8 + eighths;
}

/* Returns the need that represents a class: its upper limit. */
static double need_of_class(uint32_t class_) {
  return ldexp(0.5 + class_ % 8 / 16.0, (int)(class_ / 8) - 1024);
}

/* ---- The problem ---------------------------------------------------------------------------------- */

static int by_kind(const void *a, const void *b) {
  const struct hr__member *x = *(struct hr__member *const *)a, *y = *(struct hr__member *const *)b;
  if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
  if (x->class_ != y->class_) return x->class_ < y->class_ ? -1 : 1;
  return x->job.id < y->job.id ? -1 : 1;
}

static uint32_t count_kinds(const struct hr__rounds *rounds) {
  struct hr__member *const *sorted = rounds->shares->sorted;
  uint32_t count = 0;
  for (uint32_t i = 0; i < rounds->n_members; i++)
    count += i == 0 || sorted[i]->shape != sorted[i - 1]->shape || sorted[i]->class_ != sorted[i - 1]->class_;
  return count;
}

/* Sorts members into kinds. If there are more than MANY_KINDS kinds, merges neighbouring classes in pairs, at most
   three times; the upper class of a pair represents both. */
static void sort_into_kinds(struct hr__rounds *rounds) {
  struct hr__round_shares *shares = rounds->shares;
  for (uint32_t width = 1; width <= 1u << (MAX_COARSENING - 1); width *= 2) {
    for (uint32_t i = 0; i < rounds->n_members; i++) shares->sorted[i]->class_ |= width - 1;
    qsort(shares->sorted, rounds->n_members, sizeof(*shares->sorted), by_kind);
    if (count_kinds(rounds) <= MANY_KINDS) return;
  }
}

static enum hr_status make_room(struct hr__rounds *rounds) {
  struct hr__round_shares *shares = rounds->shares;
  if (rounds->n_members <= shares->members_capacity) return HR_OK;
  size_t members_capacity = 64, cells;
  while (members_capacity < rounds->n_members) members_capacity *= 2;
  cells = members_capacity * rounds->n_pools;
  if (!HR__ARENA_ARRAY(rounds->arena, shares->sorted, members_capacity) ||
      !HR__ARENA_ARRAY(rounds->arena, shares->kinds, members_capacity) ||
      !HR__ARENA_ARRAY(rounds->arena, shares->speed, cells) || !HR__ARENA_ARRAY(rounds->arena, shares->share, cells))
    return HR_NO_MEMORY;
  shares->members_capacity = (uint32_t)members_capacity;
  return HR_OK;
}

/* Returns the price in dollars per hour of a GPU that a job requests. If the policy manages nodes, the price of a pool
   that is not elastic is 0, because its nodes are paid for in any case. */
static double price_of(const struct hr__rounds *rounds, const struct hr_view *view, hr_pool pool) {
  if (rounds->manages && !hr__pool_is_elastic(rounds->cluster, pool)) return 0;
  double gpu_usd_h = (double)hr_cluster_price_uusd_h(rounds->cluster, pool, view->now_us) / 1e6;
  return gpu_usd_h / (double)hr__rounds_parts(rounds, pool);
}

/* Reads the current capacity and prices of all pools. */
static void read_pools(const struct hr__rounds *rounds, const struct hr_view *view) {
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    hr_pool pool = {i};
    rounds->shares->pool_gpus[i] = (double)hr__rounds_gpus(rounds, pool);
    rounds->shares->price[i] = price_of(rounds, view, pool) + MIN_PRICE;
  }
}

/* Returns the average speed of a job over the GPUs of all pools. This would be its speed if its time were divided among
   the pools in proportion to their GPUs. */
static double average_speed(const struct hr__rounds *rounds, const double *speed) {
  double sum = 0, gpus = 0;
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    sum += speed[i] * rounds->shares->pool_gpus[i];
    gpus += rounds->shares->pool_gpus[i];
  }
  return sum / gpus;
}

/* Computes the speeds of a shape in all pools. Returns whether it can run in some pool now. */
static bool set_speeds(const struct hr__rounds *rounds, const struct hr__round_shape *shape, double *speed) {
  bool any = false;
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    speed[i] = rounds->shares->pool_gpus[i] >= shape->gpus ? shape->speed[i] : 0;
    any = any || speed[i] > 0;
  }
  return any;
}

static double scale_of(const struct hr__rounds *rounds, const struct hr__member *member, const double *speed) {
  const struct hr__round_shape *shape = hr__member_shape(rounds, member);
  if (rounds->objective == HR__MAX_MIN) return shape->gpus / (shape->weight * average_speed(rounds, speed));
  return 1 / need_of_class(member->class_);
}

/* Adds the kind of sorted[first]. Returns the index of the first member of the next kind. */
static uint32_t add_kind(const struct hr__rounds *rounds, uint32_t first) {
  struct hr__round_shares *shares = rounds->shares;
  struct hr__member **sorted = shares->sorted;
  const struct hr__round_shape *shape = hr__member_shape(rounds, sorted[first]);
  double *speed = shares->speed + (size_t)shares->n_kinds * rounds->n_pools;
  bool can_run = set_speeds(rounds, shape, speed);
  uint32_t next = first;
  for (; next < rounds->n_members && sorted[next]->shape == sorted[first]->shape &&
         sorted[next]->class_ == sorted[first]->class_;
       next++)
    sorted[next]->kind = can_run ? shares->n_kinds : HR_NONE;
  if (can_run)
    shares->kinds[shares->n_kinds++] =
        (struct hr__share_kind){next - first, shape->gpus, scale_of(rounds, sorted[first], speed)};
  return next;
}

/* Divides all scales by their minimum, so that values are large compared with the tolerances of the solver. */
static void normalise(const struct hr__round_shares *shares) {
  double min_scale = (double)INFINITY;
  for (uint32_t i = 0; i < shares->n_kinds; i++)
    if (shares->kinds[i].scale < min_scale) min_scale = shares->kinds[i].scale;
  for (uint32_t i = 0; i < shares->n_kinds; i++) shares->kinds[i].scale /= min_scale;
}

static enum hr_status shares_solve(struct hr__rounds *rounds) {
  struct hr__round_shares *shares = rounds->shares;
  bool by_cost = rounds->objective == HR__COST_SLO;
  if (shares->n_kinds == 0) return HR_OK;
  if (rounds->objective == HR__MAKESPAN) normalise(shares);
  const struct hr__share_problem problem = {.n_kinds = shares->n_kinds,
                                            .n_pools = rounds->n_pools,
                                            .kinds = shares->kinds,
                                            .speed = shares->speed,
                                            .pool_gpus = shares->pool_gpus,
                                            .max_level = by_cost ? 1 : (double)INFINITY,
                                            .price = by_cost ? shares->price : NULL};
  double level;
  return hr__time_shares_solve(&problem, shares->share, &level);
}

/* Returns whether the last solution can be used. Needs change while jobs run. For objectives that use needs, shares are
   therefore computed again after some rounds, even if no job arrived or ended. */
static bool is_current(const struct hr__rounds *rounds) {
  bool by_need = rounds->objective == HR__MAKESPAN || rounds->objective == HR__COST_SLO;
  return !rounds->set_changed && !(by_need && rounds->n_solved_ago >= ROUNDS_BETWEEN);
}

enum hr_status hr__round_shares_update(struct hr__rounds *rounds, const struct hr_view *view) {
  struct hr__round_shares *shares = rounds->shares;
  rounds->n_solved_ago++;
  if (rounds->objective == HR__FAIR || is_current(rounds)) return HR_OK;
  if (make_room(rounds) != HR_OK) return HR_NO_MEMORY;
  read_pools(rounds, view);
  for (uint32_t i = 0; i < rounds->n_members; i++) {
    struct hr__member *member = shares->sorted[i] = rounds->members[i];
    member->class_ = class_of(need_of(rounds, view, member));
    for (uint32_t pool = 0; pool < rounds->n_pools; pool++) member->allocated_us[pool] = 0;
  }
  sort_into_kinds(rounds);
  shares->n_kinds = 0;
  for (uint32_t i = 0; i < rounds->n_members;) i = add_kind(rounds, i);
  rounds->set_changed = false;
  rounds->n_solved_ago = 0;
  return shares_solve(rounds);
}

double hr__round_share_of(const struct hr__rounds *rounds, const struct hr__member *member, uint32_t pool) {
  if (member->kind == HR_NONE) return 0;
  return rounds->shares->share[(size_t)member->kind * rounds->n_pools + pool];
}
