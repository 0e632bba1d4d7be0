/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `rounds` policy: scheduling in rounds (Gavel; Narayanan et al., OSDI 2020). An objective determines the share of
 * its time that each job should spend in each pool (round_shares.c). At the start of each round, the policy chooses the
 * jobs that have run least compared with their shares. A job that is chosen again for the same pool keeps its placement
 * and continues. Capacity that becomes free within a round is used at once; with cost-slo, only by jobs that await
 * nodes. No job is preempted within a round. A job that runs or waits is called a member.
 *
 * Choice of jobs, with all objectives except `fair`: candidates are pairs of a job and a pool. The priority of a pair
 * is (share of the job in the pool) / (time for which the job ran in the pool since the shares were computed); if the
 * job has not run in the pool, the pair has the highest priority. Pairs are taken in order of priority, and each pair
 * that fits is chosen, unless its job has been chosen already. Of pairs with equal priority, the pair of the job with
 * more credit is first. Credit is the time for which the job should have run according to its shares, minus the time
 * for which it ran. It is not reset when shares are computed again, so jobs get their shares in the long run. After the
 * pairs, further jobs are chosen for the remaining capacity, except with cost-slo. The objective `fair` computes no
 * shares: the candidates are jobs for any pool, and the job with the least GPU time per weight is first.
 *
 * A lease is the claim of a job of the previous round to keep its placement. When its lease ends, the job is evicted:
 * it moves or stops. While jobs are chosen, two states of the free capacity are planned. In `free`, only the jobs
 * chosen so far use capacity; in `leases`, all placements with leases are in use, too. If possible, a job is placed in
 * capacity that is free in `leases`. Otherwise it is placed in capacity that is free in `free`, and the leases on this
 * capacity end. They belong to jobs with lower priority.
 */

#include "policies/rounds/rounds.h"

#include "policies/kit/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const placement_names[] = {"pool", "first-fit", "best-fit", "worst-fit", NULL};
static const char *const objective_names[] = {"fair", "max-min", "makespan", "cost-slo", NULL};
static const char *const weight_names[] = {"equal", "priority", NULL};

enum { PARAM_OBJECTIVE, PARAM_ROUND, PARAM_PLACEMENT, PARAM_WEIGHT, PARAM_SLO };

static const struct hr_param params[] = {
    HR__CHOICE(
        "objective", "max-min", objective_names, HR__BASIC,
        "how the shares of jobs are computed. fair: equal GPU time; max-min: the minimum speed-up of the jobs is "
        "maximized; makespan: the last job ends as early as possible; cost-slo: deadlines are met at minimum cost"),
    HR__REAL("round_s", "360", 1, 1e6, HR__BASIC, "length of a round"),
    HR__CHOICE("placement", "best-fit", placement_names, HR__BASIC,
               "where a job is placed in its pool. pool: only free GPUs are counted; all other rules choose nodes"),
    HR__CHOICE("weight", "equal", weight_names, HR__ADVANCED,
               "fair, max-min: weight of a job. equal: 1; priority: its priority, at least 1"),
    HR__REAL("slo", "10", 1, 1e6, HR__ADVANCED,
             "cost-slo: target completion time of jobs without a deadline, as a multiple of their estimate"),
    {0}};

static enum hr_status init_capacity(struct hr__rounds *rounds, const struct hr_policy_env *env,
                                    struct hr_error *error) {
  const struct hr_capacity_config config = {env->arena, env->cluster,
                                            placement_names[env->params[PARAM_PLACEMENT].integer], env->seed};
  enum hr_status status = hr_capacity_set_create(&config, &rounds->capacities, error);
  if (status != HR_OK) return status;
  rounds->free = hr_capacity_create(rounds->capacities);
  rounds->leases = hr_capacity_create(rounds->capacities);
  return rounds->free && rounds->leases ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct hr__rounds *rounds = hr_arena_alloc(env->arena, sizeof *rounds);
  if (!(*self = rounds)) return HR_NO_MEMORY;
  *rounds = (struct hr__rounds){.arena = env->arena,
                                .jobs = env->jobs,
                                .cluster = env->cluster,
                                .n_pools = hr_cluster_pools(env->cluster),
                                .objective = (enum hr__objective)env->params[PARAM_OBJECTIVE].integer,
                                .round_us = (int64_t)(env->params[PARAM_ROUND].real * (double)HR_SECOND_US),
                                .slo = env->params[PARAM_SLO].real,
                                .by_priority = env->params[PARAM_WEIGHT].integer == 1};
  rounds->manages = rounds->objective == HR__COST_SLO && hr_cluster_changes(env->cluster) &&
                    strcmp(placement_names[env->params[PARAM_PLACEMENT].integer], "pool") != 0;
  if (!HR__ARENA_ARRAY_BY_JOB(env->arena, rounds->member_of, env->jobs->n_jobs) ||
      !HR__ARENA_ARRAY(env->arena, rounds->spare_milli, rounds->n_pools) ||
      !HR__ARENA_ARRAY(env->arena, rounds->awaited_milli, rounds->n_pools))
    return HR_NO_MEMORY;
  enum hr_status status = init_capacity(rounds, env, error);
  return status == HR_OK ? hr__round_shares_init(rounds) : status;
}

static uint32_t abilities(void *self) {
  const struct hr__rounds *rounds = self;
  bool is_fair = rounds->objective == HR__FAIR || rounds->objective == HR__MAX_MIN;
  return HR_POLICY_PREEMPTS | (rounds->manages ? HR_POLICY_MANAGES_CAPACITY | HR_POLICY_REASONS_BY_JOB : 0u) |
         (is_fair ? (uint32_t)HR_POLICY_STARVES_NOBODY : 0);
}

/* ---- Members -------------------------------------------------------------------------------------- */

static struct hr__member *new_member(struct hr__rounds *rounds) {
  struct hr__member *member = hr_arena_alloc(rounds->arena, sizeof *member);
  if (member) member->allocated_us = hr_arena_alloc(rounds->arena, rounds->n_pools * sizeof *member->allocated_us);
  return member && member->allocated_us ? member : NULL;
}

/* Returns a member to be initialized; NULL: out of memory. Members that have left are stored after the end of the list,
   and their memory is used again. */
static struct hr__member *take_member(struct hr__rounds *rounds) {
  if (!HR__ARENA_HAS_ROOM(rounds->arena, rounds->members, rounds->n_members, rounds->members_capacity)) return NULL;
  struct hr__member **last = &rounds->members[rounds->n_members];
  if (!*last) *last = new_member(rounds);
  return *last;
}

/* Adds a submitted job to the members. */
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

/* Removes a member. */
static void leave(struct hr__rounds *rounds, struct hr__member *member) {
  uint32_t last = --rounds->n_members;
  struct hr__member *moved = rounds->members[last];
  rounds->members[member->at] = moved;
  moved->at = member->at;
  rounds->members[last] = member;
  rounds->member_of[member->job.id] = NULL;
  rounds->set_changed = true;
}

/* ---- Nodes ---------------------------------------------------------------------------------------- */

/* If `manages` is set, nodes of elastic pools are acquired and released so that idle nodes are not paid for. Shares are
   computed for all nodes that are up, booting or available. If a pair would fit only if more nodes were up, its member
   awaits these nodes, and they are acquired after all jobs have been chosen. Once per round, idle nodes that no member
   awaits are released. */

static void begin_nodes(struct hr__rounds *rounds) {
  for (uint32_t i = 0; i < rounds->n_pools && rounds->manages; i++) {
    rounds->spare_milli[i] = hr__rounds_gpus(rounds, (hr_pool){i}) * HR_WHOLE_GPU_MILLI;
    rounds->awaited_milli[i] = 0;
  }
}

/* Called after a pool was tried for a member. If the member was chosen, subtracts its GPUs from the spare GPUs of the
   pool. If it was not chosen, but the pool is elastic and has enough spare GPUs, subtracts them, too, and the member
   awaits them. */
static void note_nodes(struct hr__rounds *rounds, struct hr__member *member, uint32_t pool) {
  if (!rounds->manages) return;
  uint64_t milli = hr__member_shape(rounds, member)->milli;
  if (rounds->spare_milli[pool] < milli) return;
  if (!member->chosen && !hr__pool_is_elastic(rounds->cluster, (hr_pool){pool})) return;
  rounds->spare_milli[pool] -= milli;
  if (member->chosen) return;
  member->awaits = pool;
  rounds->awaited_milli[pool] += milli;
}

static uint32_t count_idle(const struct hr__rounds *rounds, hr_pool pool) {
  uint32_t first = hr_cluster_first_node(rounds->cluster, pool).id, idle = 0;
  for (uint32_t node = 0; node < hr_cluster_pool_spec(rounds->cluster, pool)->nodes; node++)
    idle += hr_capacity_is_idle(rounds->free, pool, (hr_node){first + node});
  return idle;
}

/* Releases idle nodes of the pool until `keep` of `idle` nodes remain. Nodes with higher indices are released first. */
static enum hr_status release_idle(const struct hr__rounds *rounds, struct hr_moves *moves, hr_pool pool, uint32_t idle,
                                   uint32_t keep) {
  uint32_t first = hr_cluster_first_node(rounds->cluster, pool).id;
  enum hr_status status = HR_OK;
  for (uint32_t node = hr_cluster_pool_spec(rounds->cluster, pool)->nodes;
       node-- > 0 && idle > keep && status == HR_OK;) {
    hr_node id = {first + node};
    if (!hr_capacity_is_idle(rounds->free, pool, id) || hr_cluster_node_state(rounds->cluster, id) != HR_NODE_UP)
      continue;
    hr_capacity_set_usable(rounds->free, pool, id, false, false);
    idle--;
    status = hr_moves_release(moves, id);
  }
  return status;
}

/* Acquires the nodes that members await, or releases idle nodes that no member awaits. */
static enum hr_status settle_pool(const struct hr__rounds *rounds, struct hr_moves *moves, hr_pool pool) {
  uint64_t node_gpus = hr_cluster_pool_spec(rounds->cluster, pool)->gpus_per_node * hr__rounds_parts(rounds, pool);
  uint64_t size_milli = node_gpus * HR_WHOLE_GPU_MILLI;
  uint32_t idle = count_idle(rounds, pool), offer = hr_cluster_offer(rounds->cluster, pool);
  uint64_t wanted = (rounds->awaited_milli[pool.id] + size_milli - 1) / size_milli;
  uint64_t coming = (uint64_t)idle + hr_cluster_nodes_in(rounds->cluster, pool, HR_NODE_BOOTING);
  if (wanted <= coming) return release_idle(rounds, moves, pool, idle, (uint32_t)wanted);
  uint64_t more = wanted - coming;
  return offer > 0 ? hr_moves_acquire(moves, pool, more < offer ? (uint32_t)more : offer) : HR_OK;
}

static enum hr_status settle_nodes(struct hr__rounds *rounds, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < rounds->n_pools && rounds->manages && status == HR_OK; i++)
    if (hr__pool_is_elastic(rounds->cluster, (hr_pool){i})) status = settle_pool(rounds, moves, (hr_pool){i});
  return status;
}

/* ---- Accounting ----------------------------------------------------------------------------------- */

/* Updates the credit, the allocated time and the service of a member for the time since the last call. */
static void account(const struct hr__rounds *rounds, struct hr__member *member, int64_t now_us) {
  int64_t passed_us = now_us - member->since_us;
  const struct hr__round_shape *shape = hr__member_shape(rounds, member);
  member->since_us = now_us;
  for (uint32_t i = 0; i < rounds->n_pools && rounds->objective != HR__FAIR; i++)
    member->credit_us += hr__round_share_of(rounds, member, i) * (double)passed_us;
  if (!member->runs) return;
  member->credit_us -= (double)passed_us;
  member->allocated_us[member->place.placement.pool.id] += passed_us;
  member->service_gus += (double)passed_us * shape->gpus / shape->weight;
}

static void account_all(struct hr__rounds *rounds, int64_t now_us) {
  rounds->base_gus = (double)INFINITY;
  for (uint32_t i = 0; i < rounds->n_members; i++) {
    struct hr__member *member = rounds->members[i];
    account(rounds, member, now_us);
    if (member->service_gus < rounds->base_gus) rounds->base_gus = member->service_gus;
  }
}

/* ---- Order ---------------------------------------------------------------------------------------- */

static bool add_candidate(struct hr__rounds *rounds, struct hr__candidate candidate) {
  if (!HR__ARENA_HAS_ROOM(rounds->arena, rounds->candidates, rounds->n_candidates, rounds->candidates_capacity))
    return false;
  rounds->candidates[rounds->n_candidates++] = candidate;
  candidate.member->listed = true;
  return true;
}

static int by_priority(const void *a, const void *b) {
  const struct hr__candidate *x = a, *y = b;
  if (x->priority > y->priority || x->priority < y->priority) return x->priority > y->priority ? -1 : 1;
  if (x->credit_us > y->credit_us || x->credit_us < y->credit_us) return x->credit_us > y->credit_us ? -1 : 1;
  if (x->share > y->share || x->share < y->share) return x->share > y->share ? -1 : 1;
  if (x->member->job.id != y->member->job.id) return x->member->job.id < y->member->job.id ? -1 : 1;
  return (x->pool > y->pool) - (x->pool < y->pool);
}

static void sort_candidates(struct hr__rounds *rounds) {
  if (rounds->n_candidates > 1)
    qsort(rounds->candidates, rounds->n_candidates, sizeof *rounds->candidates, by_priority);
}

/* Lists all members as candidates for any pool, or only waiting members (`waiting_only`). With the objective fair, the
   candidate with the least service is first; otherwise the candidate with the largest credit is first. False: out of
   memory. */
static bool list_members(struct hr__rounds *rounds, bool waiting_only) {
  rounds->n_candidates = 0;
  for (uint32_t i = 0; i < rounds->n_members; i++) {
    struct hr__member *member = rounds->members[i];
    struct hr__candidate candidate = {.member = member, .pool = HR_NONE, .credit_us = member->credit_us};
    if (member->chosen || (waiting_only && member->runs)) continue;
    if (rounds->objective == HR__FAIR) candidate.priority = -member->service_gus;
    if (!add_candidate(rounds, candidate)) return false;
  }
  sort_candidates(rounds);
  return true;
}

/* Lists all pairs with a positive share as candidates, sorted by priority. False: out of memory. */
static bool list_pairs(struct hr__rounds *rounds) {
  rounds->n_candidates = 0;
  for (uint32_t i = 0; i < rounds->n_members; i++)
    for (uint32_t pool = 0; pool < rounds->n_pools; pool++) {
      struct hr__member *member = rounds->members[i];
      double share = hr__round_share_of(rounds, member, pool), allocated_us = (double)member->allocated_us[pool];
      if (member->chosen || !(share > 0)) continue;
      struct hr__candidate candidate = {.priority = allocated_us > 0 ? share * (double)rounds->round_us / allocated_us
                                                                     : (double)INFINITY,
                                        .credit_us = member->credit_us,
                                        .share = share,
                                        .member = member,
                                        .pool = pool};
      if (!add_candidate(rounds, candidate)) return false;
    }
  sort_candidates(rounds);
  return true;
}

/* ---- Places --------------------------------------------------------------------------------------- */

static const struct hr_need *need_of(const struct hr__rounds *rounds, const struct hr__member *member) {
  return &hr__member_shape(rounds, member)->need;
}

static void take(const struct hr__rounds *rounds, struct hr_capacity *capacity, const struct hr__member *member) {
  hr_capacity_take(capacity, need_of(rounds, member), &member->place.placement);
}

static void give(const struct hr__rounds *rounds, struct hr_capacity *capacity, const struct hr__member *member) {
  hr_capacity_give(capacity, need_of(rounds, member), &member->place.placement);
}

/* Returns whether the place of a member is free. */
static bool has_place(const struct hr__rounds *rounds, const struct hr_capacity *capacity,
                      const struct hr__member *member) {
  return hr_capacity_has(capacity, need_of(rounds, member), &member->place.placement);
}

/* Ends the lease of a member if its placement and that of the member `with` have a node in common (or, if GPUs are only
   counted, the pool). Returns true if the lease was ended and the place of `with` is now free in `leases`. */
static bool evict(struct hr__rounds *rounds, struct hr__member *member, const struct hr__member *with) {
  const struct hr_placement *place = &with->place.placement;
  bool overlaps = place->n_slices == 0 && member->place.placement.pool.id == place->pool.id;
  for (uint32_t i = 0; i < place->n_slices && !overlaps; i++)
    overlaps = hr__place_has(&member->place, place->slices[i].node);
  if (!member->runs || member->chosen || member->evicted || !overlaps) return false;
  member->evicted = true;
  give(rounds, rounds->leases, member);
  return has_place(rounds, rounds->leases, with);
}

/* Ends leases until the place of the member `with` is free in `leases`. Leases of members that are not candidates end
   first. Then leases of candidates end, beginning with the lowest priority. */
static void evict_for(struct hr__rounds *rounds, const struct hr__member *with) {
  if (has_place(rounds, rounds->leases, with)) return;
  for (uint32_t i = 0; i < rounds->n_members; i++)
    if (!rounds->members[i]->listed && evict(rounds, rounds->members[i], with)) return;
  for (uint32_t i = rounds->n_candidates; i-- > 0;)
    if (evict(rounds, rounds->candidates[i].member, with)) return;
}

/* Chooses a member at its current placement. If the lease of the member has ended, other leases on its nodes must end,
   so that its placement is free again. */
static void keep_place(struct hr__rounds *rounds, struct hr__member *member) {
  member->chosen = true;
  if (member->evicted) {
    evict_for(rounds, member);
    take(rounds, rounds->leases, member);
  }
  take(rounds, rounds->free, member);
}

/* Chooses a member at a new placement, and ends the leases on it. False: out of memory. */
static bool set_place(struct hr__rounds *rounds, struct hr__member *member, const struct hr_placement *placement) {
  if (member->runs && !member->evicted) give(rounds, rounds->leases, member);
  member->moves = member->runs;
  member->chosen = true;
  if (!hr__place_set(&member->place, rounds->arena, placement)) return false;
  evict_for(rounds, member);
  take(rounds, rounds->leases, member);
  take(rounds, rounds->free, member);
  return true;
}

/* Returns whether the member fits in the pool, and the GPU memory of its placement suffices for its tasks. If only the
   memory does not suffice, sets `lacks_memory`. */
static bool find_in(const struct hr__rounds *rounds, struct hr_capacity *capacity, struct hr__member *member,
                    uint32_t pool, struct hr_placement *placement) {
  if (!hr_capacity_find_in(capacity, (hr_pool){pool}, need_of(rounds, member), placement)) return false;
  bool has_memory = hr__tasks_have_memory(rounds->cluster, rounds->jobs, member->job, placement);
  member->lacks_memory = member->lacks_memory || !has_memory;
  return has_memory;
}

/* Tries to choose a member in a pool: at its current placement, else in capacity that is free in `leases`, else in
   capacity that is free in `free`. False: out of memory. */
static bool choose_in(struct hr__rounds *rounds, struct hr__member *member, uint32_t pool) {
  struct hr_placement placement;
  if (member->runs && member->place.placement.pool.id == pool && has_place(rounds, rounds->free, member)) {
    keep_place(rounds, member);
    return true;
  }
  if (!find_in(rounds, rounds->leases, member, pool, &placement) &&
      !find_in(rounds, rounds->free, member, pool, &placement))
    return true;
  return set_place(rounds, member, &placement);
}

/* Returns the pool to try after `before` (HR_NONE: the first pool); HR_NONE: no further pool. Pools in which the job is
   faster are tried first. The objective fair ignores speeds, and tries pools in the order of the scenario. */
static uint32_t next_pool(const struct hr__rounds *rounds, const struct hr__member *member, uint32_t before) {
  const double *speed = hr__member_shape(rounds, member)->speed;
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < rounds->n_pools; i++) {
    if (!(speed[i] > 0) || i == before) continue;
    if (rounds->objective == HR__FAIR) {
      if (best == HR_NONE && (before == HR_NONE || i > before)) best = i;
      continue;
    }
    bool is_after = before == HR_NONE || speed[i] < speed[before] || (!(speed[i] > speed[before]) && i > before);
    if (is_after && (best == HR_NONE || speed[i] > speed[best])) best = i;
  }
  return best;
}

/* Tries to choose a member in its current pool, then in all other pools. False: out of memory. */
static bool choose_anywhere(struct hr__rounds *rounds, struct hr__member *member) {
  bool ok = true;
  if (member->runs) ok = choose_in(rounds, member, member->place.placement.pool.id);
  for (uint32_t pool = next_pool(rounds, member, HR_NONE); ok && !member->chosen && pool != HR_NONE;
       pool = next_pool(rounds, member, pool))
    ok = choose_in(rounds, member, pool);
  return ok;
}

/* ---- A round -------------------------------------------------------------------------------------- */

/* Returns whether a running member must keep its placement. There are two cases: a node of the placement is about to go
   down, or the member has done no work since its start because of its restart overhead. */
static bool is_pinned(const struct hr__rounds *rounds, const struct hr_view *view, const struct hr__member *member) {
  if (!member->runs) return false;
  if (hr_view_done_us(view, member->job) == member->start_work_us) return true;
  for (uint32_t i = 0; i < member->place.placement.n_slices; i++)
    if (hr_cluster_node_state(rounds->cluster, member->place.slices[i].node) != HR_NODE_UP) return true;
  return false;
}

/* Resets the planned capacity, and chooses the members that must keep their placements. */
static void begin_plan(struct hr__rounds *rounds, const struct hr_view *view) {
  struct hr_capacity *before = rounds->free;
  rounds->free = rounds->leases;
  rounds->leases = before;
  hr_capacity_reset(rounds->free);
  begin_nodes(rounds);
  for (uint32_t i = 0; i < rounds->n_members; i++) {
    struct hr__member *member = rounds->members[i];
    member->chosen = member->moves = member->listed = member->passed_others = member->evicted = false;
    member->lacks_memory = false;
    member->awaits = HR_NONE;
    if (!is_pinned(rounds, view, member)) continue;
    keep_place(rounds, member);
    note_nodes(rounds, member, member->place.placement.pool.id);
  }
}

static enum hr_status start(const struct hr_view *view, struct hr_moves *moves, struct hr__member *member) {
  struct hr_placement placement = hr__place_to_start(&member->place, view->cluster);
  member->runs = true;
  member->start_work_us = hr_view_done_us(view, member->job);
  return hr_moves_start(moves, member->job, &placement,
                        member->passed_others ? HR_REASON_BACKFILL : HR_REASON_IN_ORDER);
}

/* Preempts running members that were not chosen or that move, then starts the chosen ones. */
static enum hr_status apply_choice(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < rounds->n_members && status == HR_OK; i++) {
    struct hr__member *member = rounds->members[i];
    if (!member->runs || (member->chosen && !member->moves)) continue;
    status = hr_moves_preempt(moves, member->job, HR_REASON_POLICY);
    member->runs = false;
  }
  for (uint32_t i = 0; i < rounds->n_members && status == HR_OK; i++)
    if (rounds->members[i]->chosen && !rounds->members[i]->runs) status = start(view, moves, rounds->members[i]);
  return status;
}

/* Rejects waiting members that were not placed and for which a placement was found on which the GPU memory does not
   suffice. There they would be killed at every attempt. */
static enum hr_status reject_unfit(struct hr__rounds *rounds, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = rounds->n_members; i-- > 0 && status == HR_OK;) {
    struct hr__member *member = rounds->members[i];
    if (!member->lacks_memory || member->runs || member->chosen) continue;
    status = hr_moves_reject(moves, member->job, HR_REASON_GPU_MEMORY);
    leave(rounds, member);
  }
  return status;
}

static bool choose_pairs(struct hr__rounds *rounds) {
  bool ok = list_pairs(rounds);
  for (uint32_t i = 0; i < rounds->n_candidates && ok; i++) {
    const struct hr__candidate *candidate = &rounds->candidates[i];
    if (candidate->member->chosen || candidate->member->awaits != HR_NONE) continue;
    ok = choose_in(rounds, candidate->member, candidate->pool);
    note_nodes(rounds, candidate->member, candidate->pool);
  }
  return ok;
}

/* Chooses further members to use the remaining capacity. Not used with the objective cost-slo. False: out of memory. */
static bool choose_rest(struct hr__rounds *rounds) {
  bool ok = list_members(rounds, false), passed_over = false;
  for (uint32_t i = 0; i < rounds->n_candidates && ok; i++) {
    struct hr__member *member = rounds->candidates[i].member;
    member->passed_others = passed_over;
    ok = choose_anywhere(rounds, member);
    passed_over = passed_over || !member->chosen;
  }
  return ok;
}

/* Begins a round: computes shares, chooses jobs, and preempts and starts them. */
static enum hr_status begin_round(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves) {
  account_all(rounds, view->now_us);
  enum hr_status status = hr__round_shares_update(rounds, view);
  if (status != HR_OK) return status;
  begin_plan(rounds, view);
  bool ok = rounds->objective == HR__FAIR || choose_pairs(rounds);
  if (ok && rounds->objective != HR__COST_SLO) ok = choose_rest(rounds);
  status = ok ? reject_unfit(rounds, moves) : HR_NO_MEMORY;
  if (status == HR_OK) status = apply_choice(rounds, view, moves);
  return status == HR_OK ? settle_nodes(rounds, moves) : status;
}

/* ---- Within a round ------------------------------------------------------------------------------- */

/* Returns whether jobs might fit. In per-GPU allocation the result is always true, because jobs without GPUs need
   nodes, too. */
static bool any_is_free(const struct hr__rounds *rounds) {
  bool by_gpu = hr_cluster_requests(rounds->cluster) != NULL, any = by_gpu;
  for (uint32_t i = 0; i < rounds->n_pools && !any; i++) any = hr_capacity_free_milli(rounds->free, (hr_pool){i}) > 0;
  return any;
}

/* Starts a waiting member if it fits in free capacity. With cost-slo, only the pool that the member awaits is tried. */
static enum hr_status start_if_free(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves,
                                    struct hr__member *member) {
  struct hr_placement placement;
  bool awaits = rounds->objective == HR__COST_SLO;
  uint32_t pool = awaits ? member->awaits : next_pool(rounds, member, HR_NONE);
  while (pool != HR_NONE && !find_in(rounds, rounds->free, member, pool, &placement))
    pool = awaits ? HR_NONE : next_pool(rounds, member, pool);
  if (pool == HR_NONE) return HR_OK;
  member->awaits = HR_NONE;
  if (!hr__place_set(&member->place, rounds->arena, &placement)) return HR_NO_MEMORY;
  account(rounds, member, view->now_us);
  take(rounds, rounds->free, member);
  return start(view, moves, member);
}

/* Starts waiting jobs on free capacity within a round. */
static enum hr_status fill_round(struct hr__rounds *rounds, const struct hr_view *view, struct hr_moves *moves) {
  if (!any_is_free(rounds)) return HR_OK;
  for (uint32_t i = 0; i < rounds->n_members; i++)
    rounds->members[i]->chosen = rounds->members[i]->lacks_memory = false;
  if (!list_members(rounds, true)) return HR_NO_MEMORY;
  enum hr_status status = HR_OK;
  bool passed_over = false;
  for (uint32_t i = 0; i < rounds->n_candidates && status == HR_OK && any_is_free(rounds); i++) {
    struct hr__member *member = rounds->candidates[i].member;
    member->passed_others = passed_over;
    status = start_if_free(rounds, view, moves, member);
    passed_over = passed_over || !member->runs;
  }
  return status == HR_OK ? reject_unfit(rounds, moves) : status;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static void stop(struct hr__rounds *rounds, struct hr__member *member, int64_t now_us) {
  account(rounds, member, now_us);
  give(rounds, rounds->free, member);
  member->runs = false;
}

static bool needs_node(const struct hr__rounds *rounds, hr_job job) {
  struct hr_need need = hr_need_of(rounds->cluster, rounds->jobs, job);
  return !hr_need_is_empty(rounds->cluster, &need);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__rounds *rounds = self;
  struct hr__member *member = event->job.id == HR_NONE ? NULL : rounds->member_of[event->job.id];
  rounds->freed = rounds->freed || (event->kind != HR_EVENT_TIMER && event->kind != HR_EVENT_SAVED);
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    if (needs_node(rounds, event->job)) return join(rounds, view, event->job);
    return hr__job_list_add(&rounds->gpuless, rounds->arena, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    if (member) {
      stop(rounds, member, view->now_us);
      leave(rounds, member);
    }
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    if (member) stop(rounds, member, view->now_us);
    return HR_OK;
  case HR_EVENT_WITHDRAW:
    if (!member) return HR_OK; /* it needs no node, and starts now */
    leave(rounds, member);
    return hr__job_list_add(&rounds->withdrawn, rounds->arena, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_OFFER:
    rounds->set_changed = true;
    return HR_OK;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    hr_capacity_set_usable(rounds->free, event->pool, event->node, event->kind == HR_EVENT_NODE_UP,
                           event->kind == HR_EVENT_NODE_UP);
    rounds->set_changed = true;
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Within a round, starts waiting jobs on free capacity. After the end of a round, begins the next one as soon as there
   are members. */
static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__rounds *rounds = self;
  enum hr_status status = hr__job_list_reject(&rounds->withdrawn, moves, HR_REASON_WITHDRAWN);
  if (status == HR_OK) status = hr__job_list_start(&rounds->gpuless, moves);
  if (status != HR_OK || rounds->n_members == 0) return status;
  if (view->now_us < rounds->end_us) {
    bool fills = rounds->freed && (rounds->objective != HR__COST_SLO || rounds->manages);
    rounds->freed = false;
    return fills ? fill_round(rounds, view, moves) : HR_OK;
  }
  rounds->freed = false;
  rounds->end_us = view->now_us + rounds->round_us;
  status = hr_moves_wake_at(moves, rounds->end_us);
  return status == HR_OK ? begin_round(rounds, view, moves) : status;
}

/* A waiting job waits for the next round, for nodes that boot, or for GPUs that the cluster does not have now. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__rounds *rounds = self;
  const struct hr__member *member = rounds->member_of[job.id];
  uint32_t accept_class = hr_cluster_accept_class(rounds->cluster, job);
  bool gpus_exist = false;
  for (uint32_t i = 0; i < rounds->n_pools; i++)
    gpus_exist =
        gpus_exist || (hr_cluster_accepts(rounds->cluster, accept_class, (hr_pool){i}) &&
                       hr_cluster_total_milli(rounds->cluster, (hr_pool){i}) * hr__rounds_parts(rounds, (hr_pool){i}) >=
                           wait->asked_milli);
  if (member && member->awaits != HR_NONE) {
    wait->reason = HR_WAIT_REASON_BOOTING;
  } else if (gpus_exist) {
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
