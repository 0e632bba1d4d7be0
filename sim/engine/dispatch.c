/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that may change their cluster: copies of a job that wait in several clusters until one of them starts it
 * (multikueue, slurm-federation), and waiting jobs that are sent to another cluster (skypilot, reroute_s).
 *
 * A copy leaves a cluster in two steps. First the policy of the cluster is notified (HR_EVENT_WITHDRAW) and removes the
 * job from its data. In its next pass, which follows at the same instant, the policy rejects the job; the engine
 * replaces this by a move that only removes the copy from this cluster. During this pass, the job has the state of a
 * waiting job, even if it runs elsewhere. The first copy that starts becomes the job; at the same instant, and before
 * any other cluster makes a pass, the other copies are withdrawn. So a job never runs twice.
 *
 * Invariant: `copies` has the clusters with policies that know the job. All but one of them are counted in `n_extra`. A
 * job that has started stays in its cluster. Timers of jobs are in the heap of the whole run.
 *
 * Sources: kubernetes-sigs/kueue, pkg/controller/admissionchecks/multikueue; SchedMD/slurm, doc/html/federation.shtml;
 * skypilot-org/skypilot, sky/optimizer.py and the fail-over of its back end.
 */

#include "base/array.h"
#include "sim/clusters/clusters.h"
#include "sim/engine/clusters.h"

#include <stdlib.h>

static uint64_t bit_of(uint32_t cluster) {
  return UINT64_C(1) << cluster;
}

static uint32_t lowest_of(uint64_t clusters) {
  return (uint32_t)__builtin_ctzll(clusters);
}

/* ---- Copies ---- */

static enum hr_status send_copy(struct hr__part *part, hr_job job, int64_t now_us) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  const bool is_extra = sending->copies != 0;
  enum hr_status status = hr__clusters_wake(part, now_us);
  if (status != HR_OK) return status;
  sending->copies |= bit_of(part->index);
  all->n_extra += is_extra;
  all->whole->view.n_waiting -= is_extra;
  all->is_copy = is_extra || sending->is_sent;
  sending->is_sent = true;
  sending->sent_us = now_us;
  status = hr__job_submit(&part->engine, job);
  all->is_copy = false;
  hr__clusters_count(part);
  return status;
}

/* Sends copies of a job to clusters, in their order. */
static enum hr_status send_copies(struct hr__clusters *all, hr_job job, uint64_t clusters, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (; clusters && status == HR_OK; clusters &= clusters - 1)
    status = send_copy(&all->at[lowest_of(clusters)], job, now_us);
  return status;
}

/* Withdraws a copy from the policy of a cluster. */
static enum hr_status withdraw(struct hr__part *part, hr_job job, int64_t now_us) {
  struct hr__sending *sending = &part->all->sending[job.id];
  enum hr_status status = hr__clusters_wake(part, now_us);
  if (status != HR_OK || !(sending->copies & ~sending->leaving & bit_of(part->index))) return status;
  if (!HR__ARRAY_HAS_ROOM(part->going, part->n_going, part->going_capacity)) return hr__out_of_memory(part->all->whole);
  part->going[part->n_going++] = job;
  sending->leaving |= bit_of(part->index);
  part->n_events = UINT64_MAX; /* the policy of the cluster makes a pass */
  const struct hr_event event = {now_us, HR_EVENT_WITHDRAW, HR_REASON_WITHDRAWN, job, NULL, {HR_NONE}, {HR_NONE}};
  return hr__notify_policy(&part->engine, &event);
}

void hr__dispatch_disguise(struct hr__part *part) {
  struct hr__engine *whole = part->all->whole;
  for (uint32_t i = 0; i < part->n_going; i++) {
    const uint32_t job = part->going[i].id;
    part->all->sending[job].state = whole->state[job];
    part->all->sending[job].reason = whole->reason[job];
    whole->state[job] = HR_JOB_WAITING;
  }
}

/* If the policy has started the job in the pass, the job keeps its new state. */
void hr__dispatch_undisguise(struct hr__part *part) {
  struct hr__engine *whole = part->all->whole;
  for (uint32_t i = 0; i < part->n_going; i++) {
    const uint32_t job = part->going[i].id;
    if (whole->state[job] == HR_JOB_RUNNING) continue;
    whole->state[job] = part->all->sending[job].state;
    whole->reason[job] = part->all->sending[job].reason;
  }
  part->n_going = 0;
}

static struct hr__part *part_of(const struct hr__engine *engine) {
  return (struct hr__part *)((char *)(uintptr_t)engine - offsetof(struct hr__part, engine));
}

bool hr__dispatch_must_leave(const struct hr__engine *engine, hr_job job) {
  const struct hr__part *part = part_of(engine);
  return part->all->sending && part->all->sending[job.id].leaving & bit_of(part->index);
}

void hr__dispatch_mark(const struct hr__engine *engine, hr_job job, bool leaves) {
  const struct hr__part *part = part_of(engine);
  if (leaves)
    part->all->sending[job.id].leaving &= ~bit_of(part->index);
  else
    part->all->sending[job.id].leaving |= bit_of(part->index);
}

/* Removes a copy from the accounts of a cluster. */
static void forget_copy(struct hr__part *part, hr_job job) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  sending->copies &= ~bit_of(part->index);
  sending->leaving &= ~bit_of(part->index);
  part->engine.n_left++;
  if (!sending->copies) return;
  all->n_extra--;
  all->whole->view.n_waiting++;
}

static enum hr_status note(struct hr__clusters *all, hr_job job) {
  if (!HR__ARRAY_HAS_ROOM(all->todo, all->n_todo, all->todo_capacity)) return hr__out_of_memory(all->whole);
  all->todo[all->n_todo++] = job;
  return HR_OK;
}

enum hr_status hr__dispatch_left(struct hr__engine *engine, hr_job job) {
  struct hr__part *part = part_of(engine);
  hr__clusters_count_waiting(part, job, false);
  forget_copy(part, job);
  HR__EACH_ACTIVE(engine, leave, at)(*at)->leave(engine, job);
  hr__clusters_count(part);
  return part->all->sending[job.id].target == HR_NONE ? HR_OK : note(part->all, job);
}

enum hr_status hr__dispatch_started(struct hr__part *part, hr_job job) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  sending->leaving &= ~bit_of(part->index);
  sending->target = HR_NONE;
  all->of_job[job.id] = part->index;
  return sending->copies == bit_of(part->index) ? HR_OK : note(all, job);
}

bool hr__dispatch_rejected(struct hr__part *part, hr_job job) {
  struct hr__engine *whole = part->all->whole;
  struct hr__sending *sending = &part->all->sending[job.id];
  if (!(sending->copies & ~bit_of(part->index))) return false;
  forget_copy(part, job);
  part->engine.n_rejected--;
  whole->state[job.id] = HR_JOB_WAITING;
  whole->reason[job.id] = HR_REASON_NONE;
  part->all->of_job[job.id] = lowest_of(sending->copies);
  return true;
}

/* ---- Work that other clusters cause ---- */

static enum hr_status withdraw_all(struct hr__clusters *all, hr_job job, uint64_t clusters, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (; clusters && status == HR_OK; clusters &= clusters - 1)
    status = withdraw(&all->at[lowest_of(clusters)], job, now_us);
  return status;
}

enum hr_status hr__dispatch_go_on(struct hr__clusters *all, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < all->n_todo && status == HR_OK; i++) {
    const hr_job job = all->todo[i];
    struct hr__sending *sending = &all->sending[job.id];
    const uint32_t to = sending->target;
    if (to == HR_NONE) {
      status = withdraw_all(all, job, sending->copies & ~bit_of(all->of_job[job.id]), now_us);
      continue;
    }
    sending->target = HR_NONE;
    all->at[all->of_job[job.id]].result.n_rerouted++;
    all->of_job[job.id] = to;
    status = send_copy(&all->at[to], job, now_us);
  }
  all->n_todo = 0;
  return status;
}

/* ---- New jobs ---- */

static bool is_sibling(enum hr_job_router_kind kind) {
  return kind == HR_JOB_ROUTER_MULTIKUEUE || kind == HR_JOB_ROUTER_FEDERATION;
}

static enum hr_status set_timer(struct hr__clusters *all, hr_job job, int64_t at_us) {
  return hr__schedule(all->whole, at_us, HR__PENDING_TIMER, job.id);
}

static uint64_t eligible(const struct hr__clusters *all) {
  uint64_t found = 0;
  for (uint32_t i = 0; i < all->spec->count; i++)
    if (all->loads[i].eligible) found |= bit_of(i);
  return found;
}

/* Returns the clusters that MultiKueue nominates next for a job. `*more`: a further round follows. */
static uint64_t nominate(struct hr__clusters *all, hr_job job, int64_t now_us, bool *more) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__sending *sending = &all->sending[job.id];
  uint32_t preference[HR__MAX_COPIES], nominated[HR__MAX_COPIES], n = 0;
  struct hr__multikueue_offer offer = {.nominated = nominated, .round_us = now_us - router->round_us - 1};
  const struct hr__multikueue_spec spec = {
      .is_incremental = router->incremental, .step = router->step, .round_us = router->round_us};
  hr__routing_ask(all, job, now_us);
  for (uint64_t left = eligible(all); left; left &= left - 1) preference[n++] = lowest_of(left);
  for (uint32_t i = 0; i < n; i++)
    if (sending->tried & bit_of(preference[i])) nominated[offer.n_nominated++] = preference[i];
  const uint32_t before = offer.n_nominated;
  uint64_t found = 0;
  hr__multikueue_nominate(&spec, &offer, preference, n, now_us);
  for (uint32_t i = before; i < offer.n_nominated; i++) found |= bit_of(nominated[i]);
  sending->tried |= found;
  *more = offer.n_nominated < n;
  return found;
}

/* Returns the cheapest cluster in which the job was not tried in this round; among equally cheap ones, the first. If
   all were tried, a new round begins. HR_NONE: no cluster can run the job. */
static uint32_t next_location(struct hr__clusters *all, hr_job job, int64_t now_us) {
  struct hr__sending *sending = &all->sending[job.id];
  hr__routing_ask(all, job, now_us);
  if (!(eligible(all) & ~sending->tried)) sending->tried = 0;
  uint32_t best = HR_NONE;
  for (uint64_t left = eligible(all) & ~sending->tried; left; left &= left - 1) {
    const uint32_t i = lowest_of(left);
    if (best == HR_NONE || all->loads[i].price_uusd_h < all->loads[best].price_uusd_h) best = i;
  }
  if (best != HR_NONE) sending->tried |= bit_of(best);
  return best;
}

/* Returns the clusters of a job that is submitted. `*again_us`: when the choice is made again; HR_NEVER_US: never. */
static uint64_t choose(struct hr__clusters *all, hr_job job, int64_t now_us, int64_t *again_us) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const bool has_gpus = all->whole->trace->gpus[job.id] > 0;
  bool more = false;
  uint64_t found = 0;
  *again_us = HR_NEVER_US;
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE && has_gpus) {
    found = nominate(all, job, now_us, &more);
    if (more) *again_us = now_us + router->round_us + 1;
  } else if (router->kind == HR_JOB_ROUTER_FEDERATION && has_gpus) {
    hr__routing_ask(all, job, now_us);
    found = eligible(all);
  } else if (router->kind == HR_JOB_ROUTER_SKYPILOT) {
    const uint32_t first = next_location(all, job, now_us);
    found = first == HR_NONE ? 0 : bit_of(first);
    *again_us = now_us + router->timeout_us;
  } else {
    const uint32_t to = hr__routing_choose(all, job, now_us);
    found = to == HR_NONE ? 0 : bit_of(to);
    if (router->reroute_us) *again_us = now_us + router->reroute_us;
  }
  return found;
}

enum hr_status hr__dispatch_submit(struct hr__clusters *all, hr_job job, int64_t now_us) {
  int64_t again_us;
  const uint32_t home = hr__routing_home(all, job);
  uint64_t clusters = home == HR_NONE ? 0 : choose(all, job, now_us, &again_us);
  if (!clusters) { /* the job is rejected there, because its home is too small for it or may not run it */
    clusters = bit_of(home == HR_NONE ? 0 : home);
    again_us = HR_NEVER_US;
    if (home == HR_NONE || all->rule) all->whole->barred = job;
  }
  all->sending[job.id].target = HR_NONE;
  all->of_job[job.id] = home != HR_NONE && clusters >> home & 1 ? home : lowest_of(clusters);
  all->number[job.id] = hr__clusters_job_number(&all->at[all->of_job[job.id]]);
  const enum hr_status status = send_copies(all, job, clusters, now_us);
  return status == HR_OK && again_us != HR_NEVER_US ? set_timer(all, job, again_us) : status;
}

/* ---- Waiting jobs that are routed again ---- */

static bool waits(const struct hr__engine *whole, uint32_t job) {
  return whole->state[job] == HR_JOB_WAITING && whole->start_us[job] == HR_NEVER_US;
}

/* Returns the cluster to which the router would send a waiting job now, if it did not wait in its present cluster. */
static uint32_t choose_again(struct hr__clusters *all, hr_job job, int64_t now_us) {
  struct hr__part *part = &all->at[all->of_job[job.id]];
  const int64_t spilled_uusd = all->spilled_uusd;
  hr__clusters_count_waiting(part, job, false);
  all->loads[part->index].used_milli = part->engine.view.allocated_milli + part->waiting_milli;
  all->loads[part->index].n_waiting--;
  all->stays = part->index;
  all->waited_us = now_us - all->sending[job.id].sent_us;
  const uint32_t to = hr__routing_choose(all, job, now_us);
  all->stays = HR_NONE;
  all->loads[part->index].n_waiting++;
  hr__clusters_count_waiting(part, job, true);
  all->loads[part->index].used_milli = part->engine.view.allocated_milli + part->waiting_milli;
  if (to == part->index) all->spilled_uusd = spilled_uusd;
  return to;
}

static enum hr_status look_again(struct hr__clusters *all, hr_job job, int64_t now_us) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__sending *sending = &all->sending[job.id];
  bool more = sending->n_moves < router->max_reroutes;
  int64_t again_us = now_us + router->reroute_us;
  uint32_t to = HR_NONE;
  if (is_sibling(router->kind)) {
    const enum hr_status status = send_copies(all, job, nominate(all, job, now_us, &more), now_us);
    return status == HR_OK && more ? set_timer(all, job, now_us + router->round_us + 1) : status;
  }
  if (!more) return HR_OK;
  if (router->kind == HR_JOB_ROUTER_SKYPILOT) {
    again_us = now_us + router->timeout_us;
    to = next_location(all, job, now_us);
  } else {
    to = choose_again(all, job, now_us);
  }
  const enum hr_status status = set_timer(all, job, again_us);
  if (status != HR_OK || to == HR_NONE || to == all->of_job[job.id]) return status;
  sending->target = to;
  sending->n_moves++;
  return withdraw(&all->at[all->of_job[job.id]], job, now_us);
}

int64_t hr__dispatch_next_us(struct hr__clusters *all) {
  struct hr__engine *whole = all->whole;
  while (whole->heap.count && !waits(whole, hr__pending_entity(whole->heap.entries[0])))
    hr__event_heap_pop(&whole->heap);
  return whole->heap.count ? whole->heap.entries[0].at_us : HR_NEVER_US;
}

bool hr__dispatch_is_idle(const struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const struct hr__event_heap *heap = &all->whole->heap;
  if (heap->count == 0) return true;
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE || router->kind == HR_JOB_ROUTER_SKYPILOT) return false;
  return heap->entries[0].at_us > all->whole->last_us + router->reroute_us;
}

enum hr_status hr__dispatch_timers(struct hr__clusters *all, int64_t now_us) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr__dispatch_next_us(all) == now_us)
    status = look_again(all, (hr_job){hr__pending_entity(hr__event_heap_pop(&all->whole->heap))}, now_us);
  return status;
}

/* ---- Begin ---- */

enum hr_status hr__dispatch_begin(struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__engine *whole = all->whole;
  if (!is_sibling(router->kind) && router->kind != HR_JOB_ROUTER_SKYPILOT && !router->reroute_us) return HR_OK;
  const int most = router->kind == HR_JOB_ROUTER_MULTIKUEUE ? HR_MULTIKUEUE_CLUSTERS : HR__MAX_COPIES;
  if (all->spec->count > (uint32_t)most)
    return hr_fail(whole->error, HR_BAD_INPUT,
                   "the router '%s' with its settings can have at most %d clusters; there are %" PRIu32,
                   hr_job_router_name(router->kind), most, all->spec->count);
  all->sending = hr_arena_alloc_by_job(&whole->arena, whole->trace->n_jobs, sizeof *all->sending);
  return all->sending ? HR_OK : hr__out_of_memory(whole);
}
