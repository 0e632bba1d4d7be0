/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `rounds` policy: scheduling in rounds (Gavel; Narayanan et al., OSDI 2020). An objective determines the share of
 * its time that each job should spend in each pool (round_shares.c). At the start of each round the jobs run that are
 * furthest behind their shares (round_choice.c). A job that is chosen again for the same pool keeps its place and
 * continues. Capacity that comes free within a round is used at once; no job is preempted within a round.
 */

#include "policies/rounds/rounds.h"

static const char *const placement_names[] = {"pool", "first-fit", "best-fit", "worst-fit", NULL};
static const enum hr_placement_rule rules[] = {HR_PLACE_POOL, HR_PLACE_FIRST_FIT, HR_PLACE_BEST_FIT,
                                               HR_PLACE_WORST_FIT};
static const char *const objective_names[] = {"fair", "max-min", "makespan", "cost-slo", NULL};
static const char *const weight_names[] = {"equal", "priority", NULL};

enum { PARAM_OBJECTIVE, PARAM_ROUND, PARAM_PLACEMENT, PARAM_WEIGHT, PARAM_SLO };

static const struct hr_param params[] = {
    {.key = "objective",
     .type = HR_PARAM_CHOICE,
     .fallback = "max-min",
     .choices = objective_names,
     .help = "what is optimized: equal time; equal speed-up; makespan; deadlines at minimum cost"},
    {.key = "round_s", .type = HR_PARAM_REAL, .fallback = "360", .min = 1, .max = 1e6, .help = "length of a round"},
    {.key = "placement",
     .type = HR_PARAM_CHOICE,
     .fallback = "best-fit",
     .choices = placement_names,
     .help = "where a job is placed in its pool: pool counts GPUs only, the others choose nodes"},
    {.key = "weight",
     .type = HR_PARAM_CHOICE,
     .fallback = "equal",
     .choices = weight_names,
     .help = "fair, max-min: a job's weight is 1 (equal), or its priority if that exceeds 1 (priority)",
     .advanced = true},
    {.key = "slo",
     .type = HR_PARAM_REAL,
     .fallback = "10",
     .min = 1,
     .max = 1e6,
     .help = "cost-slo: target completion time of jobs without a deadline, as a multiple of the estimate",
     .advanced = true},
    {0}};

static enum hr_status init_capacity(struct hr__rounds *rounds, enum hr_placement_rule rule) {
  rounds->placer = hr_placer_create(rounds->arena, rounds->cluster, rule);
  if (!rounds->placer) return HR_NO_MEMORY;
  rounds->free = &rounds->capacity[0];
  rounds->leases = &rounds->capacity[1];
  enum hr_status status = hr__capacity_init(rounds->free, rounds->arena, rounds->cluster, rule);
  return status == HR_OK ? hr__capacity_init(rounds->leases, rounds->arena, rounds->cluster, rule) : status;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__rounds *rounds = hr_arena_alloc(env->arena, sizeof *rounds);
  if (!(*self = rounds)) return HR_NO_MEMORY;
  if (hr_cluster_gpu_inventory(env->cluster))
    return hr_fail(error, HR_BAD_INPUT, "policy 'rounds' does not support per-GPU allocation");
  *rounds = (struct hr__rounds){.arena = env->arena,
                                .jobs = env->jobs,
                                .cluster = env->cluster,
                                .n_pools = hr_cluster_pools(env->cluster),
                                .objective = (enum hr__objective)env->params[PARAM_OBJECTIVE].integer,
                                .round_us = (int64_t)(env->params[PARAM_ROUND].real * (double)HR_SECOND_US),
                                .slo = env->params[PARAM_SLO].real,
                                .by_priority = env->params[PARAM_WEIGHT].integer == 1};
  rounds->manages = rounds->objective == HR__COST_SLO && hr_cluster_changes(env->cluster) &&
                    rules[env->params[PARAM_PLACEMENT].integer] != HR_PLACE_POOL;
  rounds->member_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof(*rounds->member_of));
  rounds->spare_gpus = hr_arena_alloc(env->arena, rounds->n_pools * sizeof *rounds->spare_gpus);
  rounds->awaited_gpus = hr_arena_alloc(env->arena, rounds->n_pools * sizeof *rounds->awaited_gpus);
  if (!rounds->member_of || !rounds->spare_gpus || !rounds->awaited_gpus) return HR_NO_MEMORY;
  enum hr_status status = init_capacity(rounds, rules[env->params[PARAM_PLACEMENT].integer]);
  return status == HR_OK ? hr__round_shares_init(rounds) : status;
}

static uint32_t abilities(void *self) {
  const struct hr__rounds *rounds = self;
  bool is_fair = rounds->objective == HR__FAIR || rounds->objective == HR__MAX_MIN;
  return HR_POLICY_PREEMPTS | (rounds->manages ? HR_POLICY_MANAGES_CAPACITY | HR_POLICY_HOLDS_BY_JOB : 0u) |
         (is_fair ? (uint32_t)HR_POLICY_STARVES_NOBODY : 0);
}

/* ---- Members -------------------------------------------------------------------------------------- */

static struct hr__member *new_member(struct hr__rounds *rounds) {
  struct hr__member *member = hr_arena_alloc(rounds->arena, sizeof *member);
  if (member) member->allocated_us = hr_arena_alloc(rounds->arena, rounds->n_pools * sizeof *member->allocated_us);
  return member && member->allocated_us ? member : NULL;
}

/* Members that have left are kept behind the list, to be used again. */
static struct hr__member *take_member(struct hr__rounds *rounds) {
  if (rounds->n_members == rounds->members_capacity) {
    struct hr__member **grown =
        hr_arena_grown(rounds->arena, rounds->members, &rounds->members_capacity, sizeof(*grown));
    if (!grown) return NULL;
    rounds->members = grown;
    for (uint32_t i = rounds->n_members; i < rounds->members_capacity; i++) grown[i] = NULL;
  }
  struct hr__member **last = &rounds->members[rounds->n_members];
  if (!*last) *last = new_member(rounds);
  return *last;
}

static enum hr_status join(struct hr__rounds *rounds, const struct hr_view *view, hr_job job) {
  struct hr__member *member = take_member(rounds);
  uint32_t shape = hr__round_shape_of(rounds, view, job);
  if (!member || shape == HR_NONE) return HR_NO_MEMORY;
  *member = (struct hr__member){.job = job,
                                .shape = shape,
                                .at = rounds->n_members++,
                                .kind = HR_NONE,
                                .awaits = HR_NONE,
                                .place = member->place,
                                .since_us = view->now_us,
                                .allocated_us = member->allocated_us,
                                .service_gus = rounds->base_gus};
  for (uint32_t i = 0; i < rounds->n_pools; i++) member->allocated_us[i] = 0;
  rounds->member_of[job.id] = member;
  rounds->set_changed = true;
  return HR_OK;
}

static void leave(struct hr__rounds *rounds, struct hr__member *member) {
  uint32_t last = --rounds->n_members;
  struct hr__member *moved = rounds->members[last];
  rounds->members[member->at] = moved;
  moved->at = member->at;
  rounds->members[last] = member;
  rounds->member_of[member->job.id] = NULL;
  rounds->set_changed = true;
}

static enum hr_status add_gpuless(struct hr__rounds *rounds, hr_job job) {
  if (rounds->n_gpuless == rounds->gpuless_capacity) {
    hr_job *grown = hr_arena_grown(rounds->arena, rounds->gpuless, &rounds->gpuless_capacity, sizeof *grown);
    if (!grown) return HR_NO_MEMORY;
    rounds->gpuless = grown;
  }
  rounds->gpuless[rounds->n_gpuless++] = job;
  return HR_OK;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static void stop(struct hr__rounds *rounds, struct hr__member *member, int64_t now_us) {
  hr__member_account(rounds, member, now_us);
  hr__capacity_return(rounds->free, &member->place);
  member->runs = false;
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__rounds *rounds = self;
  struct hr__member *member = event->job.id == HR_NONE ? NULL : rounds->member_of[event->job.id];
  rounds->freed = rounds->freed || (event->kind != HR_EVENT_TIMER && event->kind != HR_EVENT_SAVED);
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return rounds->jobs->gpus[event->job.id] ? join(rounds, view, event->job) : add_gpuless(rounds, event->job);
  case HR_EVENT_END:
    if (member) {
      stop(rounds, member, view->now_us);
      leave(rounds, member);
    }
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    if (member) stop(rounds, member, view->now_us);
    return HR_OK;
  case HR_EVENT_OFFER:
    rounds->set_changed = true;
    return HR_OK;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    hr__capacity_set_usable(rounds->free, event->pool, event->node, event->kind == HR_EVENT_NODE_UP);
    rounds->set_changed = true;
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- The pass ------------------------------------------------------------------------------------- */

static enum hr_status start_gpuless(struct hr__rounds *rounds, struct hr_moves *moves) {
  static const struct hr_placement nowhere = {0};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < rounds->n_gpuless && status == HR_OK; i++)
    status = hr_moves_start(moves, rounds->gpuless[i], &nowhere, HR_REASON_IN_ORDER);
  rounds->n_gpuless = 0;
  return status;
}

/* Rounds follow each other while there are jobs; the first job to arrive starts one. */
static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__rounds *rounds = self;
  enum hr_status status = start_gpuless(rounds, moves);
  if (status != HR_OK || rounds->n_members == 0) return status;
  if (view->now_us < rounds->end_us) {
    bool fills = rounds->freed && (rounds->objective != HR__COST_SLO || rounds->manages);
    rounds->freed = false;
    return fills ? hr__round_fill(rounds, view, moves) : HR_OK;
  }
  rounds->freed = false;
  rounds->end_us = view->now_us + rounds->round_us;
  status = hr_moves_wake_at(moves, rounds->end_us);
  return status == HR_OK ? hr__round_begin(rounds, view, moves) : status;
}

/* A waiting job waits for the next round, unless the GPUs or nodes for it do not exist at all. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__rounds *rounds = self;
  const struct hr__member *member = rounds->member_of[job.id];
  uint32_t accept_class = hr_cluster_accept_class(rounds->cluster, job);
  bool are_there = false;
  for (uint32_t i = 0; i < rounds->n_pools; i++)
    are_there = are_there || (hr_cluster_accepts(rounds->cluster, accept_class, (hr_pool){i}) &&
                              hr_cluster_total_milli(rounds->cluster, (hr_pool){i}) >= wait->asked_milli);
  if (member && member->awaits != HR_NONE) {
    wait->reason = HR_WAIT_REASON_BOOTING;
  } else if (are_there) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = rounds->end_us;
  } else {
    hr_view_lack(view, job, wait);
  }
}

HR_POLICY(rounds) = {
    HR_POLICY_HEAD,
    .name = "rounds",
    .summary = "rounds, with time shares by an objective that considers the speed of each job in each pool",
    .params = params,
    .create = create,
    .observe = observe,
    .decide = decide,
    .abilities = abilities,
    .explain = explain};
