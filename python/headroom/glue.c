/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns of a trace by name, from the table of job fields, and policies that decide in Python.
 *
 * Each policy in Python has its own operations (struct policy), because they contain the name that tables show. A run
 * finds its policy by the only parameter of the policy, the address of the operations. Each run has a struct hrpy_run
 * in the engine's arena. It contains the present capacity (headroom/unstable/capacity.h), so Python selects only the
 * job to start, and C selects the placement.
 *
 * Invariant: before each call of Python, the allocated part of the capacity is that of the running jobs.
 */

#include "glue.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Stopped runs ------------------------------------------------------------------------------------ */

enum { STOPPED, TAKEN, ENDED }; /* the flags of a call */

static atomic_int *flag_of(void *call, int which) {
  return &((atomic_int *)call)[which];
}

bool hrpy_is_stopped(void *call) {
  return atomic_load_explicit(flag_of(call, STOPPED), memory_order_relaxed) != 0;
}

bool hrpy_call_take(void *call) {
  return atomic_exchange(flag_of(call, TAKEN), 1) == 0;
}

void hrpy_call_end(void *call) {
  atomic_store(flag_of(call, ENDED), 1);
}

void hrpy_call_stop(void *call) {
  const struct timespec pause = {.tv_nsec = 1000000};
  atomic_store(flag_of(call, STOPPED), 1);
  if (hrpy_call_take(call)) return;
  while (atomic_load(flag_of(call, ENDED)) == 0) nanosleep(&pause, NULL);
}

/* ---- Columns of a trace ----------------------------------------------------------------------------- */

#define IS_SIGNED(type) ((type)-1 < (type)1)

uint32_t hrpy_columns(const struct hr_trace *trace, struct hrpy_column columns[HRPY_MAX_COLUMNS]) {
  uint32_t n = 0;
#define VALUE(id, member, type, ...)                                                                                   \
  if (trace->member)                                                                                                   \
    columns[n++] = (struct hrpy_column){                                                                               \
        .name = #member, .at = trace->member, .width = sizeof(type), .is_signed = IS_SIGNED(type)};
#define NAME(id, member, kind, key, column, section, set_id, set, ...)                                                 \
  if (trace->member)                                                                                                   \
    columns[n++] =                                                                                                     \
        (struct hrpy_column){.name = #member, .at = trace->member, .width = sizeof(uint32_t), .names = &trace->set};
  HR_JOB_COLUMN_TABLE(VALUE, NAME)
#undef VALUE
#undef NAME
  return n;
}

/* ---- Jobs of a new trace ---------------------------------------------------------------------------- */

uint32_t hrpy_fields(struct hrpy_field fields[HRPY_MAX_COLUMNS]) {
#define ID(key, column, ...) {column, "id", "TEXT", 0},
#define VALUE(id, member, type, record_type, kind, key, column, ...) {column, #member, #kind, 0},
#define NAME(id, member, kind, key, column, ...) {column, #member, #kind, 0},
#define FLAG(kind, key, column, bit, ...) {column, "flags", #kind, bit},
  static const struct hrpy_field all[] = {HR_JOB_CSV_TABLE(ID, VALUE, NAME, FLAG)};
#undef ID
#undef VALUE
#undef NAME
#undef FLAG
  memcpy(fields, all, sizeof all);
  return sizeof all / sizeof *all;
}

bool hrpy_set_number(struct hr_job_record *record, const char *name, int64_t value) {
#define VALUE(id, member, type, record_type, ...)                                                                      \
  if (strcmp(name, #member) == 0) {                                                                                    \
    record->member = (record_type)value;                                                                               \
    return (int64_t)record->member == value;                                                                           \
  }
  HR_JOB_COLUMN_TABLE(VALUE, HR_NO_FIELD)
#undef VALUE
  return false;
}

bool hrpy_set_text(struct hr_job_record *record, const char *name, const char *text) {
  const struct hr_text value = {text, strlen(text)};
  if (strcmp(name, "id") == 0) {
    record->id = value;
    return true;
  }
#define NAME(id, member, ...)                                                                                          \
  if (strcmp(name, #member) == 0) {                                                                                    \
    record->member = value;                                                                                            \
    return true;                                                                                                       \
  }
  HR_JOB_COLUMN_TABLE(HR_NO_FIELD, NAME)
#undef NAME
  return false;
}

/* ---- Policies --------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 64, PLACEMENT_BYTES = 24 };

struct policy {
  struct hr_policy_ops ops; /* first: a pointer to it is a pointer to the policy */
  struct hr_param params[2];
  char name[NAME_BYTES], address[24], placement[PLACEMENT_BYTES];
  int64_t number;
  uint32_t abilities;
};

struct hrpy_run {
  struct hr_policy_env env;
  struct hr_capacity_set *set;
  struct hr_capacity *capacity;
  const struct policy *policy;
  int64_t id; /* identifies the run in Python; 0: Python has not created the run */
};

static const struct policy *policy_of(const struct hr_policy_env *env) {
  return (const struct policy *)(intptr_t)env->params[0].integer;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hrpy_run *run = hr_arena_alloc(env->arena, sizeof *run);
  if (!run) return HR_NO_MEMORY;
  run->env = *env;
  run->policy = policy_of(env);
  run->id = 0;
  const struct hr_capacity_config config = {
      .arena = env->arena, .cluster = env->cluster, .rule = run->policy->placement, .seed = env->seed};
  enum hr_status status = hr_capacity_set_create(&config, &run->set, error);
  if (status != HR_OK) return status;
  run->capacity = hr_capacity_present(run->set);
  *self = run;
  status = (enum hr_status)hrpy_python_create(run->policy->number, run, &run->id);
  if (status == HR_OK && run->id) return HR_OK;
  return hr_fail(error, HR_BAD_POLICY, "policy '%s': Python could not create it", run->policy->name);
}

static void destroy(void *self) {
  const struct hrpy_run *run = self;
  hrpy_python_destroy(run->id);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hrpy_run *run = self;
  switch (event->kind) {
  case HR_EVENT_END:
  case HR_EVENT_INTERRUPT: {
    const struct hr_need need = hr_need_of(run->env.cluster, run->env.jobs, event->job);
    hr_capacity_give(run->capacity, &need, event->placement);
    break;
  }
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    hr_capacity_set_usable(run->capacity, event->pool, event->node, event->kind == HR_EVENT_NODE_UP,
                           event->kind == HR_EVENT_NODE_UP);
    break;
  default:
    break;
  }
  return (enum hr_status)hrpy_python_observe(run->id, view, event);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  const struct hrpy_run *run = self;
  enum hr_status status = (enum hr_status)hrpy_python_decide(run->id, view, moves);
  return hr_capacity_set_failed(run->set) ? HR_NO_MEMORY : status;
}

static uint32_t abilities(void *self) {
  const struct hrpy_run *run = self;
  return run->policy->abilities;
}

const struct hr_policy_ops *hrpy_policy_create(const char *name, int64_t number, uint32_t flags,
                                               const char *placement) {
  struct policy *policy = calloc(1, sizeof *policy);
  if (!policy) return NULL;
  snprintf(policy->name, sizeof policy->name, "%s", name);
  snprintf(policy->placement, sizeof policy->placement, "%s", placement);
  snprintf(policy->address, sizeof policy->address, "%lld", (long long)(intptr_t)policy);
  policy->number = number;
  policy->abilities = flags;
  policy->params[0] = (struct hr_param){.key = "address",
                                        .type = HR_PARAM_INTEGER,
                                        .fallback = policy->address,
                                        .max = 9e18,
                                        .help = "where Python finds the policy",
                                        .advanced = true};
  policy->ops = (struct hr_policy_ops){HR_POLICY_HEAD,           .name = policy->name, .summary = "a policy in Python",
                                       .params = policy->params, .create = create,     .destroy = destroy,
                                       .observe = observe,       .decide = decide,     .abilities = abilities};
  return &policy->ops;
}

void hrpy_policy_destroy(const struct hr_policy_ops *ops) {
  free((void *)(uintptr_t)ops);
}

/* ---- Moves ------------------------------------------------------------------------------------------ */

const struct hr_policy_env *hrpy_run_env(const struct hrpy_run *run) {
  return &run->env;
}

enum hr_status hrpy_start(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                          int reason, bool *found) {
  const hr_job one = {job};
  const struct hr_need need = hr_need_of(view->cluster, view->jobs, one);
  struct hr_placement placement = {0};
  *found = hr_need_is_empty(view->cluster, &need) || hr_capacity_find(run->capacity, &need, &placement);
  if (!*found) return HR_OK;
  enum hr_status status = hr_moves_start(moves, one, &placement, (enum hr_reason)reason);
  if (status == HR_OK && !hr_need_is_empty(view->cluster, &need)) hr_capacity_take(run->capacity, &need, &placement);
  return status;
}

enum hr_status hrpy_stop(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                         bool keeps) {
  const hr_job one = {job};
  const struct hr_need need = hr_need_of(view->cluster, view->jobs, one);
  struct hr_slice slice;
  if (view->state[job] == HR_JOB_RUNNING) {
    const struct hr_placement placement = hr_view_placement(view, one, &slice);
    hr_capacity_give(run->capacity, &need, &placement);
  }
  return keeps ? hr_moves_preempt(moves, one, HR_REASON_PREEMPTED) : hr_moves_requeue(moves, one, HR_REASON_PREEMPTED);
}

enum hr_status hrpy_reject(struct hr_moves *moves, uint32_t job, int reason) {
  return hr_moves_reject(moves, (hr_job){job}, (enum hr_reason)reason);
}
