/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `gang-slice` policy: gangs run in turn on the same GPUs (Ousterhout, "Scheduling techniques for concurrent
 * systems", 1982; Slurm's gang scheduling).
 *
 * In Ousterhout's matrix, a column is a GPU, and a row is a set of jobs that fit on the cluster at the same time. Each
 * job has a placement in one row, and always runs at that placement. One row at a time is the present row. Each row is
 * present for one time slice (or more, see has_worked), then the next row follows. GPUs that are idle in the present
 * row are used by jobs of the following rows if the placements of these jobs are free (alternate selection). While all
 * jobs run, time slices are not used, and the row does not change.
 */

#include "headroom/policy_kit.h"
#include "policies/kit/jobs.h"
#include "policies/kit/params.h"

/* A job in the matrix. */
struct hr__gang {
  hr_job job;
  uint32_t row;
  struct hr__gang *next, *previous; /* neighbours in the list of the row, which is in order of entry into the row */
  struct hr_need need;
  struct hr__place place; /* placement of the job in its row */
  bool runs;
  bool pinned;    /* the job runs on a node that is about to go down, so it is not moved to another row */
  bool is_chosen; /* the last choice selected the job, so its place is in use in matrix->chosen */
  /* work that the job had done when the current slice of its row began, or when the job entered the matrix */
  int64_t start_work_us;
};

struct hr__gang_row {
  struct hr__gang *first, *last;
  uint32_t count;
  bool freed;                   /* since the flag was last reset, a job has left the row or a node became usable */
  struct hr_capacity *capacity; /* what would be free if only the jobs of the row were running */
};

struct hr__matrix {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  struct hr_capacity_set *capacities;
  struct hr_capacity *chosen; /* what the chosen jobs leave free (see choose_all) */
  uint32_t n_rows;
  struct hr__gang_row *rows;
  struct hr__gang **gang_of; /* by job; NULL: the job is not in the matrix */
  struct hr__gang *unused;
  struct hr_job_tree outside; /* waiting jobs that are not in the matrix, sorted by id */
};

/* Each row has its own free capacity, computed as if only the jobs of the row were running. A node that cannot be used
   has no free GPUs in any row, and a job that leaves the node does not add free GPUs there. */

/* ---- Construction --------------------------------------------------------------------------------- */

static enum hr_status matrix_init(struct hr__matrix *matrix, const struct hr_policy_env *env, const char *rule,
                                  uint32_t n_rows, struct hr_error *error) {
  *matrix = (struct hr__matrix){.arena = env->arena, .jobs = env->jobs, .cluster = env->cluster, .n_rows = n_rows};
  const struct hr_capacity_config config = {env->arena, env->cluster, rule, env->seed};
  enum hr_status status = hr_capacity_set_create(&config, &matrix->capacities, error);
  if (status != HR_OK) return status;
  if (!HR__ARENA_ARRAY(env->arena, matrix->rows, n_rows) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, matrix->gang_of, env->jobs->n_jobs))
    return HR_NO_MEMORY;
  matrix->outside.store = hr_tree_store_create(env->arena);
  matrix->chosen = hr_capacity_create(matrix->capacities);
  if (!matrix->outside.store || !matrix->chosen) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_rows; i++) {
    matrix->rows[i].capacity = hr_capacity_create(matrix->capacities);
    if (!matrix->rows[i].capacity) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* ---- Jobs of rows --------------------------------------------------------------------------------- */

/* Appends a job to a row, and subtracts its GPUs from the capacity of the row. */
static void link_into(struct hr__matrix *matrix, struct hr__gang *gang, uint32_t number) {
  struct hr__gang_row *row = &matrix->rows[number];
  gang->row = number;
  gang->next = NULL;
  gang->previous = row->last;
  if (row->last)
    row->last->next = gang;
  else
    row->first = gang;
  row->last = gang;
  row->count++;
  hr_capacity_take(row->capacity, &gang->need, &gang->place.placement);
}

/* Removes a job from its row, and adds its GPUs to the capacity of the row. */
static void unlink_from(struct hr__matrix *matrix, struct hr__gang *gang) {
  struct hr__gang_row *row = &matrix->rows[gang->row];
  if (gang->previous)
    gang->previous->next = gang->next;
  else
    row->first = gang->next;
  if (gang->next)
    gang->next->previous = gang->previous;
  else
    row->last = gang->previous;
  row->count--;
  row->freed = true;
  hr_capacity_give(row->capacity, &gang->need, &gang->place.placement);
}

/* Returns a new element for the job. Reuses the memory of elements that were removed. NULL: out of memory. */
static struct hr__gang *new_gang(struct hr__matrix *matrix, hr_job job) {
  struct hr__gang *gang = matrix->unused;
  if (gang)
    matrix->unused = gang->next;
  else
    gang = hr_arena_alloc(matrix->arena, sizeof *gang);
  if (gang)
    *gang = (struct hr__gang){.job = job, .need = hr_need_of(matrix->cluster, matrix->jobs, job), .place = gang->place};
  return gang;
}

/* Finds a placement for the job in the row. Returns false if the row has no room, or if the GPU memory at the placement
   does not suffice for the tasks. In the second case, sets `*lacks_memory`. */
static bool find_in_row(const struct hr__matrix *matrix, const struct hr__gang_row *row, hr_job job,
                        const struct hr_need *need, struct hr_placement *placement, bool *lacks_memory) {
  if (!hr_capacity_find(row->capacity, need, placement)) return false;
  if (hr__tasks_have_memory(matrix->cluster, matrix->jobs, job, placement)) return true;
  *lacks_memory = true;
  return false;
}

/* Adds the job to the first row in which it fits. If it fits in no row, and the placement that was found in some row
   has too little GPU memory for its tasks, the job is rejected. Sets `*leaves` to whether the job was added or
   rejected, so that it no longer waits outside. */
static enum hr_status admit(struct hr__matrix *matrix, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                            bool *leaves) {
  struct hr_placement placement;
  struct hr_need need = hr_need_of(matrix->cluster, matrix->jobs, job);
  uint32_t row = 0;
  bool lacks_memory = false;
  while (row < matrix->n_rows && !find_in_row(matrix, &matrix->rows[row], job, &need, &placement, &lacks_memory)) row++;
  bool fits = row < matrix->n_rows;
  *leaves = fits || lacks_memory;
  if (!fits) return lacks_memory ? hr_moves_reject(moves, job, HR_REASON_GPU_MEMORY) : HR_OK;
  struct hr__gang *gang = new_gang(matrix, job);
  if (!gang || !hr__place_set(&gang->place, matrix->arena, &placement)) return HR_NO_MEMORY;
  gang->start_work_us = hr_view_done_us(view, job);
  link_into(matrix, gang, row);
  matrix->gang_of[job.id] = gang;
  return HR_OK;
}

/* Moves waiting jobs into the matrix, in order of their ids. Each job enters the first row in which it fits. Stops at
   the first job that fits in no row. */
static enum hr_status matrix_admit(struct hr__matrix *matrix, const struct hr_view *view, struct hr_moves *moves) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  bool leaves = true;
  while (status == HR_OK && leaves && hr_job_tree_first(&matrix->outside, &first)) {
    status = admit(matrix, view, moves, first.job, &leaves);
    if (status == HR_OK && leaves) hr_job_tree_remove(&matrix->outside, first.key, first.job);
  }
  return status;
}

/* Returns whether a job that is not in the matrix would fit in some row. */
static bool matrix_has_room(const struct hr__matrix *matrix, hr_job job) {
  struct hr_need need = hr_need_of(matrix->cluster, matrix->jobs, job);
  for (uint32_t row = 0; row < matrix->n_rows; row++)
    if (hr_capacity_fits(matrix->rows[row].capacity, &need)) return true;
  return false;
}

/* Moves a job to row `number` if the row has its placement free. A job that does not run may also get a new placement
   there. */
static enum hr_status unify_into(struct hr__matrix *matrix, uint32_t number, struct hr__gang *gang) {
  struct hr__gang_row *row = &matrix->rows[number];
  struct hr_placement placement;
  bool stays = hr_capacity_has(row->capacity, &gang->need, &gang->place.placement), lacks_memory;
  if (!stays && (gang->runs || !find_in_row(matrix, row, gang->job, &gang->need, &placement, &lacks_memory)))
    return HR_OK;
  unlink_from(matrix, gang);
  bool placed = stays || hr__place_set(&gang->place, matrix->arena, &placement);
  link_into(matrix, gang, number);
  return placed ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status unify_from(struct hr__matrix *matrix, uint32_t number, const struct hr__gang_row *later) {
  enum hr_status status = HR_OK;
  for (struct hr__gang *gang = later->first, *next; gang && status == HR_OK; gang = next) {
    next = gang->next;
    if (!gang->pinned) status = unify_into(matrix, number, gang);
  }
  return status;
}

/* Fills each row that lost a job or gained a usable node with jobs of rows with higher indices. A job moves if its
   placement is free in the new row. A job that does not run also moves if it fits there at another placement. Jobs of
   the present row do not move, because it is their turn. */
static enum hr_status matrix_unify(struct hr__matrix *matrix, uint32_t present) {
  enum hr_status status = HR_OK;
  for (uint32_t number = 0; number < matrix->n_rows; number++) {
    if (!matrix->rows[number].freed) continue;
    matrix->rows[number].freed = false;
    for (uint32_t later = number + 1; later < matrix->n_rows && status == HR_OK; later++)
      if (later != present) status = unify_from(matrix, number, &matrix->rows[later]);
  }
  return status;
}

/* Releases the capacity that the job uses as a chosen job. */
static void unchoose(struct hr__matrix *matrix, struct hr__gang *gang) {
  if (gang->is_chosen) hr_capacity_give(matrix->chosen, &gang->need, &gang->place.placement);
  gang->is_chosen = false;
}

/* Removes a job from the matrix. The caller adds it to `outside` if it still waits. */
static void matrix_remove(struct hr__matrix *matrix, struct hr__gang *gang) {
  unchoose(matrix, gang);
  unlink_from(matrix, gang);
  matrix->gang_of[gang->job.id] = NULL;
  gang->next = matrix->unused;
  matrix->unused = gang;
}

/* Adds a waiting job to `outside`. False: out of memory. */
static bool matrix_put_outside(struct hr__matrix *matrix, hr_job job) {
  return hr_job_tree_insert(&matrix->outside, (struct hr_job_entry){.job = job});
}

/* ---- Node changes --------------------------------------------------------------------------------- */

/* For a job that uses the node: pins the job if it runs, else removes it from the matrix. */
static enum hr_status leave_node(struct hr__matrix *matrix, struct hr__gang *gang, hr_node node) {
  if (!hr__place_has(&gang->place, node)) return HR_OK;
  gang->pinned = gang->runs;
  if (gang->pinned) return HR_OK;
  hr_job job = gang->job;
  matrix_remove(matrix, gang);
  return matrix_put_outside(matrix, job) ? HR_OK : HR_NO_MEMORY;
}

/* Handles a node that became usable or unusable. If the node became unusable, jobs that run on it are pinned, and other
   jobs with placements on it leave the matrix. */
static enum hr_status matrix_set_usable(struct hr__matrix *matrix, hr_pool pool, hr_node node, bool usable) {
  enum hr_status status = HR_OK;
  hr_capacity_set_usable(matrix->chosen, pool, node, usable, usable);
  for (uint32_t i = 0; i < matrix->n_rows; i++) {
    struct hr__gang_row *row = &matrix->rows[i];
    hr_capacity_set_usable(row->capacity, pool, node, usable, usable);
    row->freed = row->freed || usable;
    for (struct hr__gang *gang = row->first, *next; gang && !usable && status == HR_OK; gang = next) {
      next = gang->next;
      status = leave_node(matrix, gang, node);
    }
  }
  return status;
}

/* After each event, and at the end of a slice, the jobs to run are chosen again. Pinned jobs are chosen first, then
   jobs of the present row. If no slice has just ended, the running jobs of all rows are next. Jobs of the following
   rows are last. Each of these steps walks over the matrix or the present row. A pinned job is always chosen; any other
   job is chosen if its place is free in matrix->chosen. */

static const char *const placement_names[] = {"pool", "first-fit", "best-fit", "worst-fit", NULL};
enum { PARAM_SLICE, PARAM_ROWS, PARAM_PLACEMENT };

static const struct hr_param params[] = {
    HR__REAL("slice_s", "30", 5, 65533, HR__BASIC, "length of a time slice, in which one row of jobs runs"),
    HR__INTEGER("rows", "4", 1, 64, HR__BASIC,
                "maximum number of rows, which is the maximum number of jobs that take turns on a GPU; all other jobs "
                "wait, first come, first served"),
    HR__CHOICE("placement", "best-fit", placement_names, HR__BASIC,
               "where a job is placed in its row. pool: only free GPUs are counted; all other rules choose nodes"),
    {0}};

struct slicer {
  struct hr__matrix matrix;
  int64_t slice_us;
  uint32_t present;            /* index of the present row */
  int64_t slice_end_us;        /* end of the current slice */
  int64_t wake_us;             /* time of the last requested wake-up */
  uint32_t n_idle;             /* number of jobs in the matrix that do not run */
  bool changed;                /* an event that can change the choice occurred since the last choice */
  bool pins;                   /* some job may be pinned; if false, no job is pinned */
  struct hr__job_list gpuless; /* waiting jobs without GPUs */
  struct hr__job_list withdrawn;
  uint64_t chosen_milli; /* milli-GPUs of the chosen jobs */
};

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct slicer *slicer = hr_arena_alloc(env->arena, sizeof *slicer);
  if (!(*self = slicer)) return HR_NO_MEMORY;
  slicer->slice_us = (int64_t)(env->params[PARAM_SLICE].real * (double)HR_SECOND_US);
  return matrix_init(&slicer->matrix, env, placement_names[env->params[PARAM_PLACEMENT].integer],
                     (uint32_t)env->params[PARAM_ROWS].integer, error);
}

static uint32_t abilities(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS | HR_POLICY_STARVES_NOBODY | HR_POLICY_REASONS_BY_JOB;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static bool wait_outside(struct slicer *slicer, hr_job job) {
  struct hr_need need = hr_need_of(slicer->matrix.cluster, slicer->matrix.jobs, job);
  if (hr_need_is_empty(slicer->matrix.cluster, &need))
    return hr__job_list_add(&slicer->gpuless, slicer->matrix.arena, job);
  return matrix_put_outside(&slicer->matrix, job);
}

static void leave(struct slicer *slicer, hr_job job) {
  struct hr__gang *gang = slicer->matrix.gang_of[job.id];
  if (gang) matrix_remove(&slicer->matrix, gang);
}

/* Handles the withdrawal of a waiting job, which is not needed any more. False: out of memory. */
static bool withdraw(struct slicer *slicer, hr_job job) {
  struct hr__gang *gang = slicer->matrix.gang_of[job.id];
  if (!gang && !hr_job_tree_remove(&slicer->matrix.outside, 0, job)) return true; /* it needs no GPUs, and starts now */
  leave(slicer, job);
  return hr__job_list_add(&slicer->withdrawn, slicer->matrix.arena, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct slicer *slicer = self;
  (void)view;
  slicer->changed = slicer->changed || event->kind != HR_EVENT_TIMER;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return wait_outside(slicer, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    leave(slicer, event->job);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    leave(slicer, event->job);
    return wait_outside(slicer, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_WITHDRAW:
    return withdraw(slicer, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
    return matrix_set_usable(&slicer->matrix, event->pool, event->node, true);
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    slicer->pins = true;
    return matrix_set_usable(&slicer->matrix, event->pool, event->node, false);
  default:
    return HR_OK;
  }
}

/* ---- Turns ---------------------------------------------------------------------------------------- */

/* Returns whether each running job of the present row has made progress in the slice. If not, the row is present for
   another slice, so that a job with a restart overhead longer than a slice can work. */
static bool has_worked(const struct slicer *slicer, const struct hr_view *view) {
  for (const struct hr__gang *gang = slicer->matrix.rows[slicer->present].first; gang; gang = gang->next)
    if (gang->runs && hr_view_done_us(view, gang->job) == gang->start_work_us) return false;
  return true;
}

static void begin_slice(struct slicer *slicer, const struct hr_view *view) {
  slicer->slice_end_us = view->now_us + slicer->slice_us;
  for (struct hr__gang *gang = slicer->matrix.rows[slicer->present].first; gang; gang = gang->next)
    gang->start_work_us = hr_view_done_us(view, gang->job);
}

/* Makes the next row that is not empty the present row. */
static void next_row(struct slicer *slicer) {
  for (uint32_t i = 0; i < slicer->matrix.n_rows; i++) {
    slicer->present = (slicer->present + 1) % slicer->matrix.n_rows;
    if (slicer->matrix.rows[slicer->present].count > 0) return;
  }
}

/* Ends the slice if it is over or its row is empty. Returns whether a new slice began. */
static bool turn(struct slicer *slicer, const struct hr_view *view) {
  bool is_empty = slicer->matrix.rows[slicer->present].count == 0;
  bool is_over = slicer->n_idle > 0 && view->now_us >= slicer->slice_end_us;
  if (!is_empty && !is_over) return false;
  if (is_empty || has_worked(slicer, view)) next_row(slicer);
  begin_slice(slicer, view);
  return true;
}

/* ---- Choice --------------------------------------------------------------------------------------- */

static void choose(struct slicer *slicer, struct hr__gang *gang) {
  gang->is_chosen = true;
  slicer->chosen_milli += hr_cluster_asked_milli(slicer->matrix.cluster, gang->job);
  hr_capacity_take(slicer->matrix.chosen, &gang->need, &gang->place.placement);
}

/* Which jobs of a row may be chosen. */
enum gang_slice_kind { PINNED, RUNNING, ANY };

static void choose_from(struct slicer *slicer, const struct hr__gang_row *row, enum gang_slice_kind kind) {
  for (struct hr__gang *gang = row->first; gang; gang = gang->next) {
    if (gang->is_chosen || (kind == PINNED && !gang->pinned) || (kind == RUNNING && !gang->runs)) continue;
    if (kind == PINNED || hr_capacity_has(slicer->matrix.chosen, &gang->need, &gang->place.placement))
      choose(slicer, gang);
  }
}

/* Chooses jobs of all rows, starting with the present row. Stops when all GPUs are chosen, but always chooses all
   pinned jobs. In per-GPU allocation it does not stop, because jobs without GPUs have places, too. */
static void choose_in_turn(struct slicer *slicer, const struct hr_view *view, enum gang_slice_kind kind) {
  const struct hr__matrix *matrix = &slicer->matrix;
  for (uint32_t i = 0; i < matrix->n_rows; i++) {
    bool all_chosen = slicer->chosen_milli >= view->total_milli && !hr_cluster_requests(matrix->cluster);
    if (all_chosen && kind != PINNED) return;
    choose_from(slicer, &matrix->rows[(slicer->present + i) % matrix->n_rows], kind);
  }
}

static void choose_all(struct slicer *slicer, const struct hr_view *view, bool is_turn) {
  for (uint32_t i = 0; i < slicer->matrix.n_rows; i++)
    for (struct hr__gang *gang = slicer->matrix.rows[i].first; gang; gang = gang->next) unchoose(&slicer->matrix, gang);
  slicer->chosen_milli = 0;
  if (slicer->pins) choose_in_turn(slicer, view, PINNED);
  choose_from(slicer, &slicer->matrix.rows[slicer->present], ANY);
  if (!is_turn) choose_in_turn(slicer, view, RUNNING);
  choose_in_turn(slicer, view, ANY);
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Preempts running jobs that were not chosen. */
static enum hr_status stop_others(struct slicer *slicer, struct hr_moves *moves) {
  for (uint32_t i = 0; i < slicer->matrix.n_rows; i++)
    for (struct hr__gang *gang = slicer->matrix.rows[i].first; gang; gang = gang->next) {
      if (!gang->runs || gang->is_chosen) continue;
      enum hr_status status = hr_moves_preempt(moves, gang->job, HR_REASON_POLICY);
      if (status != HR_OK) return status;
      gang->runs = false;
    }
  return HR_OK;
}

static enum hr_status start_chosen(struct slicer *slicer, struct hr_moves *moves) {
  slicer->n_idle = 0;
  for (uint32_t i = 0; i < slicer->matrix.n_rows; i++)
    for (struct hr__gang *gang = slicer->matrix.rows[i].first; gang; gang = gang->next) {
      slicer->n_idle += !gang->is_chosen;
      if (gang->runs || !gang->is_chosen) continue;
      struct hr_placement placement = hr__place_to_start(&gang->place, slicer->matrix.cluster);
      enum hr_reason reason = i == slicer->present ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL;
      enum hr_status status = hr_moves_start(moves, gang->job, &placement, reason);
      if (status != HR_OK) return status;
      gang->runs = true;
    }
  return HR_OK;
}

/* Requests a wake-up for the end of the slice, if some job does not run. If all jobs ran before this pass (`all_ran`),
   there was no slice, so a new slice begins now. */
static enum hr_status wake_at_end(struct slicer *slicer, const struct hr_view *view, struct hr_moves *moves,
                                  bool all_ran) {
  if (slicer->n_idle == 0) return HR_OK;
  if (all_ran || slicer->slice_end_us <= view->now_us) begin_slice(slicer, view);
  if (slicer->wake_us == slicer->slice_end_us) return HR_OK;
  slicer->wake_us = slicer->slice_end_us;
  return hr_moves_wake_at(moves, slicer->wake_us);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct slicer *slicer = self;
  bool all_ran = slicer->n_idle == 0, is_turn = turn(slicer, view);
  enum hr_status status = hr__job_list_reject(&slicer->withdrawn, moves, HR_REASON_WITHDRAWN);
  if (status == HR_OK) status = hr__job_list_start(&slicer->gpuless, moves);
  if (status == HR_OK && slicer->changed) status = matrix_unify(&slicer->matrix, slicer->present);
  if (status == HR_OK && slicer->changed) status = matrix_admit(&slicer->matrix, view, moves);
  /* checked again, because the matrix may have been empty before jobs were admitted */
  is_turn = turn(slicer, view) || is_turn;
  if (status != HR_OK || (!is_turn && !slicer->changed)) return status;
  slicer->changed = false;
  choose_all(slicer, view, is_turn);
  status = stop_others(slicer, moves);
  if (status == HR_OK) status = start_chosen(slicer, moves);
  return status == HR_OK ? wake_at_end(slicer, view, moves, all_ran) : status;
}

/* A job in the matrix waits for the turn of its row. A job outside the matrix that would fit in a row waits for the
   first job outside, which must enter before it. Any other job waits for capacity. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct slicer *slicer = self;
  struct hr_job_entry first;
  if (slicer->matrix.gang_of[job.id]) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = slicer->slice_end_us;
  } else if (matrix_has_room(&slicer->matrix, job) && hr_job_tree_first(&slicer->matrix.outside, &first) &&
             first.job.id != job.id) {
    wait->reason = HR_WAIT_REASON_ORDER;
    wait->behind = first.job;
  } else {
    hr_view_lack(view, job, wait);
  }
}

HR_POLICY(gang_slice) = {
    HR_POLICY_HEAD,
    .name = "gang-slice",
    .summary = "gang scheduling: rows of jobs that fit together run in turn, each for a time slice",
    .params = params,
    .create = create,
    .observe = observe,
    .decide = decide,
    .abilities = abilities,
    .explain = explain};
