/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several clusters in one run (headroom/unstable/clusters.h).
 *
 * Each cluster has a separate engine, with its pools, its policy and its pending events. One more engine represents the
 * whole run. It has no policy. Its only pending events are the times at which waiting jobs are routed again. It has the
 * observers, the per-job columns, which all clusters share, and a copy of the state of all pools. The copy is updated
 * at each event of a cluster. In the copy, pools and nodes have the numbers of the whole run. In counted allocation,
 * the free capacity of nodes is stored only once: the array of a cluster is a part of the array of the whole run.
 *
 * An instant has four steps:
 *   1. The clusters with events handle the events before submissions, in the order of the clusters.
 *   2. The jobs of this instant are sent to clusters, and waiting jobs are routed again if this is due.
 *   3. The services of all clusters handle their requests.
 *   4. Each cluster with events or new jobs handles its wake-ups and makes a pass.
 * The order of events in a cluster is therefore the same as in a run of this cluster alone.
 *
 * Invariant: each submitted job is in one cluster, and only this cluster writes the job's elements of the columns.
 * routing.c describes the exception for jobs with copies.
 */

#include "sim/engine/clusters.h"

#include "base/containers.h"
#include "headroom/unstable/faults.h"

#include <stdlib.h>
#include <string.h>

/* ---- The copy of the state of all pools ---- */

/* Translates a placement to the numbers of the whole run. `to` is valid until the next call. Returns false if memory is
   exhausted. */
static bool translate(struct hr__part *cluster, const struct hr_placement *from, struct hr_placement *to) {
  struct hr__clusters *all = cluster->all;
  if (!HR__ARRAY_HAS_ROOM_FOR(all->slices, from->n_slices, all->n_slices)) return false;
  for (uint32_t i = 0; i < from->n_slices; i++) {
    all->slices[i] = from->slices[i];
    all->slices[i].node.id += cluster->first_node;
  }
  *to = (struct hr_placement){{from->pool.id + cluster->first_pool}, from->n_slices, all->slices};
  return true;
}

/* Copies the free capacity of a pool. For counted allocation only. The free capacity by node needs no copy: the cluster
   and the whole run use the same array. */
static inline void copy_free(const struct hr__part *cluster, hr_pool pool) {
  struct hr_cluster *copy = &cluster->all->whole->cluster;
  struct hr__pool *in_copy = &copy->pools[pool.id + cluster->first_pool];
  const uint64_t free_milli = cluster->engine.cluster.pools[pool.id].free_milli;
  copy->free_milli += free_milli - in_copy->free_milli;
  in_copy->free_milli = free_milli;
}

/* Copies the state of a node. A node without a stored state is always up. */
static void copy_node(const struct hr__part *cluster, hr_node node) {
  const struct hr_cluster *own = &cluster->engine.cluster;
  struct hr_cluster *copy = &cluster->all->whole->cluster;
  const hr_node in_copy = {node.id + cluster->first_node};
  const enum hr_node_state state = hr_cluster_node_state(own, node);
  const bool is_changed = hr_cluster_node_state(copy, in_copy) != state;
  if (is_changed && state == HR_NODE_UP) hr__cluster_put_up(copy, in_copy);
  if (is_changed && state != HR_NODE_UP) hr__cluster_set_state(copy, in_copy, state);
  if (!own->inventory) copy_free(cluster, hr__cluster_pool_of(own, node));
}

static void copy_offer(const struct hr__part *cluster, hr_pool pool) {
  const hr_pool in_copy = {pool.id + cluster->first_pool};
  hr__cluster_set_obtainable(&cluster->all->whole->cluster, in_copy, cluster->engine.cluster.pools[pool.id].obtainable);
}

/* Allocates or releases the placement of a job in the copy. */
static inline void copy_placement(const struct hr__part *cluster, const struct hr_event *event, bool starts) {
  const struct hr_request *request = hr__cluster_request(&cluster->engine.cluster, event->job);
  if (request)
    hr__cluster_follow(&cluster->all->whole->cluster, event->placement, event->job, request, starts);
  else
    copy_free(cluster, (hr_pool){event->placement->pool.id - cluster->first_pool});
}

/* Applies the start of a job to the copy. If the router predicts waits, also stores the expected end of the job. */
static inline enum hr_status copy_start(struct hr__part *cluster, const struct hr_event *event) {
  struct hr__clusters *all = cluster->all;
  struct hr__engine *whole = all->whole;
  const hr_job job = event->job;
  copy_placement(cluster, event, true);
  if (!all->predicts) return HR_OK;
  all->expected_end_us[job.id] = event->at_us + hr__expected_us(whole->trace, job);
  const uint64_t milli = hr_cluster_asked_milli(&whole->cluster, job);
  const bool added = hr__releases_add(&cluster->releases, all->expected_end_us[job.id], milli);
  return added ? HR_OK : hr__out_of_memory(whole);
}

static inline void copy_stop(struct hr__part *cluster, const struct hr_event *event) {
  const struct hr__clusters *all = cluster->all;
  copy_placement(cluster, event, false);
  if (all->predicts)
    hr__releases_remove(&cluster->releases, all->expected_end_us[event->job.id],
                        hr_cluster_asked_milli(&all->whole->cluster, event->job));
}

/* Applies an event of a job to the copy, and to the sums for the router. */
static inline enum hr_status copy_job(struct hr__part *cluster, const struct hr_event *event) {
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    hr__clusters_count_waiting(cluster, event->job, true);
    return HR_OK;
  case HR_EVENT_START:
    hr__clusters_count_waiting(cluster, event->job, false);
    return copy_start(cluster, event);
  case HR_EVENT_END:
    copy_stop(cluster, event);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    copy_stop(cluster, event);
    hr__clusters_count_waiting(cluster, event->job, true);
    return HR_OK;
  case HR_EVENT_REJECT:
    hr__clusters_count_waiting(cluster, event->job, false);
    return HR_OK;
  default:
    return HR_OK;
  }
}

void hr__clusters_count(struct hr__part *part) {
  const struct hr_view *view = &part->engine.view;
  struct hr_view *whole = &part->all->whole->view;
  whole->n_waiting += view->n_waiting - part->n_waiting;
  whole->n_running += view->n_running - part->n_running;
  whole->allocated_milli += view->allocated_milli - part->allocated_milli;
  whole->total_milli += view->total_milli - part->total_milli;
  part->n_waiting = view->n_waiting;
  part->n_running = view->n_running;
  part->allocated_milli = view->allocated_milli;
  part->total_milli = view->total_milli;
  struct hr__cluster_load *load = &part->all->loads[part->index];
  load->n_waiting = view->n_waiting;
  load->used_milli = view->allocated_milli + part->waiting_milli;
}

/* Records an event of a job that may have copies. Returns true if the observers must not be notified of the event,
   because it only concerns one of several copies. */
static bool is_hidden(struct hr__part *part, const struct hr_event *event) {
  if (event->kind == HR_EVENT_SUBMIT) return part->all->is_copy;
  if (event->kind == HR_EVENT_REJECT) return hr__dispatch_rejected(part, event->job);
  if (event->kind == HR_EVENT_START) part->all->whole->moves.status = hr__dispatch_started(part, event->job);
  return false;
}

/* The observer of each cluster. Applies an event of the cluster to the whole run, and notifies the run's observers. */
static void receive(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__part *cluster = self;
  struct hr__engine *whole = cluster->all->whole;
  struct hr_event copy = *event;
  struct hr_placement placement;
  (void)view;
  if (whole->moves.status != HR_OK) return;
  if (event->placement) {
    copy.placement = &placement;
    if (!translate(cluster, event->placement, &placement)) {
      whole->moves.status = hr__out_of_memory(whole);
      return;
    }
  }
  if (event->node.id != HR_NONE) {
    copy_node(cluster, event->node);
    copy.node.id += cluster->first_node;
  }
  if (event->pool.id != HR_NONE) {
    if (cluster->engine.cluster.pools[event->pool.id].comes_and_goes) copy_offer(cluster, event->pool);
    copy.pool.id += cluster->first_pool;
  }
  if (event->job.id != HR_NONE) whole->moves.status = copy_job(cluster, &copy);
  whole->view.now_us = event->at_us;
  if (event->kind != HR_EVENT_SUBMIT) hr__clusters_count(cluster); /* a job is counted after it is submitted */
  if (cluster->all->sending && is_hidden(cluster, &copy)) return;
  hr__notify_observers(whole, &copy);
}

/* ---- Routing ---- */

/* Sends a job that is submitted to a cluster. */
static enum hr_status submit_job(struct hr__clusters *all, hr_job job, int64_t now_us) {
  struct hr__engine *whole = all->whole;
  whole->barred = (hr_job){HR_NONE};
  if (all->sending) return hr__dispatch_submit(all, job, now_us);
  const uint32_t choice = hr__routing_choose(all, job, now_us), to = choice == HR_NONE ? 0 : choice;
  if (choice == HR_NONE) whole->barred = job;
  const bool fits = all->spec->router.kind != HR_JOB_ROUTER_HOME && choice != HR_NONE && all->loads[to].eligible;
  whole->fitting = fits ? job : (hr_job){HR_NONE};
  struct hr__part *part = &all->at[to];
  all->of_job[job.id] = to;
  all->number[job.id] = hr__clusters_job_number(part);
  enum hr_status status = hr__clusters_wake(part, now_us);
  if (status == HR_OK) status = hr__job_submit(&part->engine, job);
  hr__clusters_count(part);
  return status;
}

/* ---- Replicas of services ---- */

enum hr_status hr__clusters_submit_replica(struct hr__engine *engine, hr_job job) {
  struct hr__part *part = hr__part_of(engine);
  struct hr__clusters *all = part->all;
  all->of_job[job.id] = part->index;
  all->number[job.id] = part->n_home + part->n_replicas++;
  all->whole->n_added++;
  if (all->whole->cluster.requests) hr__requests_submit(all->whole->cluster.requests, job);
  if (all->sending)
    all->sending[job.id] =
        (struct hr__sending){.copies = UINT64_C(1) << part->index, .target = HR_NONE, .is_sent = true};
  const enum hr_status status = hr__job_submit(engine, job);
  hr__clusters_count(part);
  return status;
}

enum hr_status hr__clusters_enter(struct hr__engine *whole, uint32_t cluster, int64_t now_us,
                                  struct hr__engine **engine) {
  struct hr__part *part = &whole->clusters->at[cluster];
  *engine = &part->engine;
  return hr__clusters_wake(part, now_us);
}

struct hr__engine *hr__clusters_entered(const struct hr__engine *whole, uint32_t cluster) {
  const struct hr__clusters *all = whole->clusters;
  return all->awake[cluster / 64] >> cluster % 64 & 1 ? &all->at[cluster].engine : NULL;
}

/* Sets n_home of each cluster. The numbers of its replicas begin at n_home, after the numbers of its jobs of the input.
   With the router `home`, the number of jobs of each cluster is known before the run. With other routers, n_home is the
   number of all jobs. */
static enum hr_status count_homes(struct hr__clusters *all) {
  const struct hr__engine *whole = all->whole;
  const bool goes_home = all->spec->router.kind == HR_JOB_ROUTER_HOME;
  if (!whole->config->fleet) return HR_OK;
  if (all->spec->count > HR__MAX_COPIES)
    return hr_fail(whole->error, HR_BAD_INPUT, "services can be in at most %d clusters; there are %" PRIu32,
                   HR__MAX_COPIES, all->spec->count);
  for (uint32_t i = 0; i < all->spec->count && !goes_home; i++) all->at[i].n_home = whole->n_input;
  for (uint32_t job = 0; job < whole->n_input && goes_home; job++) {
    const uint32_t home = hr__routing_home(all, (hr_job){job});
    all->at[home == HR_NONE ? 0 : home].n_home++;
  }
  return HR_OK;
}

/* ---- Times of next events ---- */

/* Sets the time of the next event of a cluster. The times are in blocks. The size of a block is about the square root
   of the number of clusters. The earliest time of each block is stored. A scan of a block reads adjacent memory. This
   is faster than a search in a tree, in which each step needs the result of the step before. */
static void set_next(struct hr__clusters *all, uint32_t index, int64_t at_us) {
  const uint32_t block = index >> all->block_bits;
  const int64_t *times = all->next_us + ((size_t)block << all->block_bits);
  const int64_t before_us = all->next_us[index];
  all->next_us[index] = at_us;
  if (before_us > all->first_us[block] && at_us >= all->first_us[block]) return;
  int64_t first_us = HR_NEVER_US;
  for (uint32_t i = 0; i < UINT32_C(1) << all->block_bits; i++) first_us = times[i] < first_us ? times[i] : first_us;
  all->first_us[block] = first_us;
}

void hr__clusters_wake_at(struct hr__engine *engine, int64_t at_us) {
  const struct hr__part *cluster = hr__part_of(engine);
  struct hr__clusters *all = cluster->all;
  if (at_us < all->next_us[cluster->index]) set_next(all, cluster->index, at_us);
}

static enum hr_status begin_times(struct hr__clusters *all) {
  enum { MIN_BLOCK_BITS = 4 };
  const uint32_t n = all->spec->count;
  all->block_bits = MIN_BLOCK_BITS;
  while (n >> 2 * all->block_bits) all->block_bits++;
  all->n_blocks = (n >> all->block_bits) + 1;
  const size_t room = (size_t)all->n_blocks << all->block_bits;
  if (!HR__ARENA_ARRAY(&all->whole->arena, all->next_us, room) ||
      !HR__ARENA_ARRAY(&all->whole->arena, all->first_us, all->n_blocks) ||
      !HR__ARENA_ARRAY(&all->whole->arena, all->awake, (n + 63) / 64))
    return hr__out_of_memory(all->whole);
  for (size_t i = 0; i < room; i++) all->next_us[i] = HR_NEVER_US;
  for (uint32_t block = 0; block < all->n_blocks; block++) all->first_us[block] = HR_NEVER_US;
  return HR_OK;
}

static int64_t next_us(struct hr__clusters *all) {
  const struct hr__engine *whole = all->whole;
  int64_t at_us = whole->cursor < whole->n_input ? whole->trace->submit_us[whole->cursor] : HR_NEVER_US;
  const int64_t again_us = all->sending ? hr__dispatch_next_us(all) : HR_NEVER_US;
  if (again_us < at_us) at_us = again_us;
  for (uint32_t block = 0; block < all->n_blocks; block++)
    at_us = all->first_us[block] < at_us ? all->first_us[block] : at_us;
  return at_us;
}

/* ---- Loop ---- */

enum hr_status hr__clusters_wake(struct hr__part *part, int64_t now_us) {
  const uint32_t index = part->index;
  uint64_t *awake = &part->all->awake[index / 64];
  if (*awake >> index % 64 & 1) return HR_OK;
  *awake |= UINT64_C(1) << index % 64;
  part->n_events = part->engine.n_events;
  part->n_others = part->n_events - part->engine.n_timers;
  hr__engine_enter(&part->engine, now_us);
  return hr__engine_free_capacity(&part->engine);
}

/* Begins the instant in all clusters with events at this instant, in the order of the clusters. */
static enum hr_status wake_all(struct hr__clusters *all, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (uint32_t block = 0; block < all->n_blocks; block++) {
    if (all->first_us[block] != now_us) continue;
    const uint32_t first = block << all->block_bits, last = first + (UINT32_C(1) << all->block_bits) - 1;
    for (uint32_t i = first; i <= last && status == HR_OK; i++)
      if (all->next_us[i] == now_us) status = hr__clusters_wake(&all->at[i], now_us);
  }
  return status;
}

/* Returns whether the whole run is over: each cluster is over or stalled, and no further jobs are submitted or routed.
   Sets `*stalled` to true if a cluster is stalled. */
static bool is_over(const struct hr__clusters *all, bool *stalled) {
  bool over = all->whole->cursor == all->whole->n_input && (!all->sending || hr__dispatch_is_idle(all));
  all->whole->n_livelock = 0;
  *stalled = false;
  for (uint32_t i = 0; i < all->spec->count && over; i++) {
    const struct hr__engine *engine = &all->at[i].engine;
    const int64_t at_us = hr__engine_next_us(engine);
    const bool is_stalled = hr__engine_is_stalled(engine, at_us);
    all->whole->n_livelock += hr__engine_livelock(engine, at_us);
    over = is_stalled || hr__engine_is_over(engine, at_us);
    *stalled = *stalled || is_stalled;
  }
  return over;
}

static enum hr_status submit_jobs(struct hr__clusters *all, int64_t now_us) {
  struct hr__engine *whole = all->whole;
  enum hr_status status = HR_OK;
  while (status == HR_OK && whole->cursor < whole->n_input && whole->trace->submit_us[whole->cursor] == now_us) {
    const hr_job job = {whole->cursor++};
    status = submit_job(all, job, now_us);
  }
  return status;
}

/* Records the digest of the cluster if a run of this cluster alone would end now. There are two cases: the last job of
   the cluster has ended at this instant, or it ended earlier and only an outdated wake-up of the policy is pending. */
static void note_idle(struct hr__part *cluster) {
  const struct hr__engine *engine = &cluster->engine;
  const uint64_t n_ended = engine->n_completed + engine->n_rejected;
  const bool is_idle = n_ended + engine->n_left == engine->n_submitted;
  if (!is_idle || n_ended != cluster->n_ended) cluster->is_outdated = false;
  if (is_idle && n_ended != cluster->n_ended) cluster->idle_digest = engine->digest;
  if (is_idle && !cluster->is_outdated && !engine->is_endless && hr__engine_is_outdated(engine)) {
    cluster->is_outdated = true;
    cluster->idle_digest = engine->digest;
  }
  cluster->n_ended = n_ended;
}

/* Ends the instant in a cluster: handles its wake-ups and makes a pass. Sets `*any` to true if an event has occurred in
   the cluster at this instant. */
static enum hr_status decide(struct hr__part *cluster, bool *any) {
  struct hr__clusters *all = cluster->all;
  const uint32_t index = cluster->index;
  if (cluster->n_going) hr__dispatch_disguise(cluster);
  const enum hr_status status = hr__engine_decide(&cluster->engine, cluster->n_events, cluster->n_others);
  if (cluster->n_going) hr__dispatch_undisguise(cluster);
  all->awake[index / 64] &= ~(UINT64_C(1) << index % 64);
  set_next(all, index, hr__engine_next_us(&cluster->engine));
  note_idle(cluster);
  *any = *any || cluster->engine.n_events != cluster->n_events;
  return status;
}

/* Handles the events of services in all clusters before any cluster makes a pass, because requests can be sent from one
   cluster to another at the same instant. A run with services has at most HR__MAX_COPIES clusters, so one word of
   `awake` contains all clusters. */
static enum hr_status serve(struct hr__clusters *all) {
  enum hr_status status = HR_OK;
  for (bool any = true; any && status == HR_OK;) {
    any = false;
    for (uint64_t left = all->awake[0]; left && status == HR_OK; left &= left - 1)
      any = hr__engine_serve(&all->at[__builtin_ctzll(left)].engine, &status) || any;
  }
  return status;
}

/* For checked mode. Checks that the copy is equal to the state of the clusters, and that each submitted job is counted
   in exactly one cluster. */
static enum hr_status check_clusters(const struct hr__engine *whole) {
  const struct hr__clusters *all = whole->clusters;
  uint64_t submitted = 0, total_milli = 0;
  for (uint32_t i = 0; i < all->spec->count; i++) {
    const struct hr__part *cluster = &all->at[i];
    const struct hr_cluster *own = &cluster->engine.cluster;
    const struct hr_view *view = &cluster->engine.view;
    submitted += cluster->engine.n_submitted - cluster->engine.n_left;
    total_milli += view->total_milli;
    if (cluster->n_waiting != view->n_waiting || cluster->n_running != view->n_running ||
        cluster->allocated_milli != view->allocated_milli || cluster->total_milli != view->total_milli)
      return hr__broken(whole, "cluster '%s': its numbers of jobs or GPUs differ from those that the run adds up",
                        all->spec->at[i].name);
    if (cluster->engine.view.n_waiting == 0 && (cluster->waiting_milli || cluster->waiting_work != 0))
      return hr__broken(whole, "cluster '%s': no job waits, but the router counts some", all->spec->at[i].name);
    if (cluster->engine.view.n_running == 0 && cluster->releases.count)
      return hr__broken(whole, "cluster '%s': no job runs, but the router expects ends", all->spec->at[i].name);
    for (uint32_t pool = 0; pool < own->n_pools; pool++)
      if (own->pools[pool].free_milli != whole->cluster.pools[cluster->first_pool + pool].free_milli)
        return hr__broken(whole, "cluster '%s': the copy of pool %" PRIu32 " differs", all->spec->at[i].name, pool);
    for (uint32_t node = 0; node < own->n_nodes; node++) {
      const hr_node in_copy = {node + cluster->first_node};
      if (own->node_free_milli[node] != whole->cluster.node_free_milli[in_copy.id] ||
          hr_cluster_node_state(own, (hr_node){node}) != hr_cluster_node_state(&whole->cluster, in_copy))
        return hr__broken(whole, "cluster '%s': the copy of node %" PRIu32 " differs", all->spec->at[i].name, node);
    }
  }
  if (total_milli != whole->view.total_milli)
    return hr__broken(whole, "the GPUs of the clusters are not those of the run");
  return submitted == whole->cursor + whole->n_added + all->n_extra
             ? HR_OK
             : hr__broken(whole, "a submitted job is in no cluster");
}

/* Handles one instant in all clusters. */
static enum hr_status step(struct hr__clusters *all, int64_t now_us) {
  const uint32_t n_words = (all->spec->count + 63) / 64;
  bool any = false;
  enum hr_status status = wake_all(all, now_us);
  if (status == HR_OK) status = submit_jobs(all, now_us);
  if (status == HR_OK && all->sending) status = hr__dispatch_timers(all, now_us);
  if (status == HR_OK) status = all->plugin.failed;
  if (status == HR_OK && all->whole->config->fleet) status = serve(all);
  for (uint32_t word = 0; word < n_words; word++) /* runs with copies or services have only one word */
    while (all->awake[word] && status == HR_OK) {
      status = decide(&all->at[64 * word + (uint32_t)__builtin_ctzll(all->awake[word])], &any);
      if (status == HR_OK && all->n_todo) status = hr__dispatch_go_on(all, now_us);
    }
  if (status == HR_OK) status = all->whole->moves.status;
  if (status != HR_OK) return status;
  const bool news = any || (all->whole->power && !hr__power_is_noted(all->whole));
  if (!news) return HR_OK;
  all->whole->view.now_us = now_us;
  if (any) all->whole->last_us = now_us;
  hr__notify_instant(all->whole);
  return any && all->whole->config->check ? check_clusters(all->whole) : HR_OK;
}

static void stop_at(struct hr__clusters *all, int64_t end_us) {
  for (uint32_t i = 0; i < all->spec->count; i++) hr__engine_enter(&all->at[i].engine, end_us);
  all->whole->view.now_us = all->whole->last_us = end_us;
  hr__notify_instant(all->whole);
}

enum hr_status hr__clusters_loop(struct hr__engine *whole) {
  struct hr__clusters *all = whole->clusters;
  for (;;) {
    const int64_t at_us = next_us(all);
    if (at_us == HR_NEVER_US || is_over(all, &whole->stalled)) return HR_OK;
    if (at_us > whole->config->horizon_us) {
      stop_at(all, whole->config->horizon_us);
      return HR_OK;
    }
    enum hr_status status = hr__engine_poll(whole);
    if (status == HR_OK) status = step(all, at_us);
    if (status != HR_OK) return status;
  }
}

/* ---- Start and end of a run ---- */

static enum hr_status allocate(struct hr__engine *whole) {
  const struct hr_trace *trace = whole->trace;
  struct hr__clusters *all;
  if (!HR__ARENA_ARRAY(&whole->arena, all, 1)) return hr__out_of_memory(whole);
  whole->clusters = all;
  *all = (struct hr__clusters){.spec = whole->config->clusters, .whole = whole};
  const uint32_t n = all->spec->count;
  const bool made = HR__ARENA_ARRAY(&whole->arena, all->at, n) && HR__ARENA_ARRAY(&whole->arena, all->loads, n) &&
                    HR__ARENA_ARRAY(&whole->arena, all->home, trace->tenants.count + (size_t)1) &&
                    HR__ARENA_ARRAY(&whole->arena, all->flows, (size_t)n * n);
  all->number = hr_arena_alloc_by_job(&whole->arena, trace->n_jobs, sizeof *all->number);
  all->predicts = hr_job_router_predicts(&all->spec->router);
  if (all->predicts)
    all->expected_end_us = hr_arena_alloc_by_job(&whole->arena, trace->n_jobs, sizeof *all->expected_end_us);
  all->of_job = malloc(((size_t)trace->n_jobs + 1) * sizeof *all->of_job);
  if (!made || !all->number || !all->of_job || (all->predicts && !all->expected_end_us))
    return hr__out_of_memory(whole);
  _Static_assert(HR_NONE == UINT32_MAX, "memset to 0xff stores HR_NONE, the value of jobs without a cluster");
  memset(all->of_job, 0xff, (size_t)trace->n_jobs * sizeof *all->of_job);
  return begin_times(all);
}

static struct hr_run_config config_of(const struct hr__engine *whole, const struct hr_cluster_part *part,
                                      const struct hr_observer *observer) {
  const struct hr_run_config *config = whole->config;
  return (struct hr_run_config){.trace = config->trace,
                                .cluster = part->cluster,
                                .policy = part->policy ? part->policy : config->policy,
                                .params = part->policy ? part->params : config->params,
                                .seed = config->seed,
                                .horizon_us = config->horizon_us,
                                .check = config->check,
                                .classes = part->classes,
                                .observers = observer,
                                .n_observers = 1,
                                .quotas = part->quotas,
                                .systems = part->systems,
                                .speeds = part->speeds,
                                .network_speeds = part->network_speeds,
                                .scaling = part->scaling,
                                .data = config->data,
                                .fleet = config->fleet};
}

static enum hr_status begin_cluster(struct hr__clusters *all, uint32_t index, uint32_t *first_pool,
                                    uint32_t *first_node) {
  struct hr__part *cluster = &all->at[index];
  *cluster = (struct hr__part){.all = all, .index = index, .first_pool = *first_pool, .first_node = *first_node};
  cluster->observer = (struct hr_observer){.self = cluster, .on_event = receive};
  cluster->config = config_of(all->whole, &all->spec->at[index], &cluster->observer);
  cluster->engine = (struct hr__engine){.config = &cluster->config,
                                        .whole = all->whole,
                                        .trace = all->whole->trace,
                                        .error = all->whole->error,
                                        .digest = HR__DIGEST_SEED,
                                        .job_number = all->number,
                                        .number = index,
                                        .first_pool = *first_pool,
                                        .first_node = *first_node,
                                        .n_input = all->whole->n_input};
  cluster->engine.moves.engine = &cluster->engine;
  cluster->idle_digest = cluster->engine.digest;
  const enum hr_status status = hr__engine_create(&cluster->engine);
  if (status != HR_OK) return status;
  struct hr_cluster *own = &cluster->engine.cluster;
  if (!own->inventory) own->node_free_milli = all->whole->cluster.node_free_milli + *first_node;
  *first_pool += cluster->engine.cluster.n_pools;
  *first_node += cluster->engine.cluster.n_nodes;
  return HR_OK;
}

/* Clusters with per-GPU allocation and clusters with counted allocation cannot be mixed, because the copy of the state
   of all pools uses one kind of allocation. */
static enum hr_status refuse_mixed(const struct hr__clusters *all) {
  for (uint32_t i = 1; i < all->spec->count; i++)
    if (!all->at[i].engine.cluster.inventory != !all->at[0].engine.cluster.inventory)
      return hr_fail(
          all->whole->error, HR_BAD_INPUT,
          "clusters '%s' and '%s': one allocates single GPUs and the other does not; set 'by_gpu' to true in "
          "all clusters",
          all->spec->at[0].name, all->spec->at[i].name);
  return HR_OK;
}

enum hr_status hr__clusters_begin(struct hr__engine *whole) {
  uint32_t first_pool = 0, first_node = 0;
  enum hr_status status = allocate(whole);
  if (status != HR_OK) return status;
  struct hr__clusters *all = whole->clusters;
  for (uint32_t i = 0; i < all->spec->count && status == HR_OK; i++)
    status = begin_cluster(all, i, &first_pool, &first_node);
  for (uint32_t i = 0; i < all->spec->count && status == HR_OK; i++) whole->abilities |= all->at[i].engine.abilities;
  if (status == HR_OK) status = refuse_mixed(all);
  if (status == HR_OK) status = hr__routing_begin(all);
  if (status == HR_OK) status = count_homes(all);
  if (status == HR_OK) status = hr__dispatch_begin(all);
  whole->cluster.is_copy = true;
  whole->view.total_milli = 0; /* hr__clusters_count adds the total of each cluster */
  for (uint32_t i = 0; i < all->spec->count && status == HR_OK; i++) {
    struct hr__engine *engine = &all->at[i].engine;
    status = hr__engine_activate(engine);
    for (uint32_t node = 0; node < engine->cluster.n_nodes && engine->cluster.nodes; node++)
      copy_node(&all->at[i], (hr_node){node});
    for (uint32_t pool = 0; pool < engine->cluster.n_pools; pool++)
      if (engine->cluster.pools[pool].comes_and_goes) copy_offer(&all->at[i], (hr_pool){pool});
    if (status == HR_OK) hr__clusters_count(&all->at[i]);
    set_next(all, i, hr__engine_next_us(engine));
  }
  whole->view.attempt_us = whole->attempt_us ? whole->attempt_us : whole->start_us;
  whole->view.kept_us = whole->kept_us;
  whole->view.accounts = whole->accounts;
  return status;
}

/* Adds the figures of a cluster to the figures of the whole run, and sets the result of the cluster. */
static void add_figures(struct hr__engine *whole, struct hr__part *cluster) {
  const struct hr__engine *engine = &cluster->engine;
  whole->n_completed += engine->n_completed;
  whole->n_rejected += engine->n_rejected;
  whole->n_passes += engine->n_passes;
  whole->n_backfilled += engine->n_backfilled;
  memcpy(whole->pool_accounting + cluster->first_pool, engine->pool_accounting,
         engine->cluster.n_pools * sizeof *engine->pool_accounting);
  const struct hr_cluster_spec *pools = whole->config->cluster;
  const uint32_t n_outages = hr_outages_count(pools->pools + cluster->first_pool, engine->cluster.n_pools);
  if (n_outages)
    memcpy(whole->outages + hr_outages_count(pools->pools, cluster->first_pool), engine->outages,
           n_outages * sizeof *engine->outages);
  whole->peaks.budget_nw += engine->peaks.budget_nw;
  whole->peaks.bound_us += engine->peaks.bound_us;
  whole->peaks.capped_us += engine->peaks.capped_us;
  whole->peaks.budget_caps = whole->peaks.budget_caps || engine->peaks.budget_caps;
  whole->peaks.bound_job_us += engine->peaks.bound_job_us;
  cluster->result.name = cluster->all->spec->at[cluster->index].name;
  cluster->result.n_completed = engine->n_completed;
  cluster->result.n_rejected = engine->n_rejected;
  cluster->result.n_passes = engine->n_passes;
  const bool ends_early =
      (engine->is_endless || cluster->is_outdated) && cluster->n_ended + engine->n_left == engine->n_submitted;
  cluster->result.digest = ends_early ? cluster->idle_digest : engine->digest;
}

/* Counts the jobs of each cluster by their home cluster. Replicas of services are always counted in their cluster. */
static void count_flows(struct hr__clusters *all) {
  const struct hr__engine *whole = all->whole;
  const uint32_t n = all->spec->count;
  for (uint32_t i = 0; i < whole->n_added; i++) all->at[all->of_job[whole->n_input + i]].result.n_submitted++;
  for (uint32_t job = 0; job < whole->cursor; job++) {
    const uint32_t home = hr__routing_home(all, (hr_job){job}), to = all->of_job[job];
    if (home == HR_NONE)
      all->at[to].result.n_submitted++;
    else
      all->flows[(size_t)to * n + home]++;
  }
  for (uint32_t to = 0; to < n; to++)
    for (uint32_t home = 0; home < n; home++) {
      const uint64_t jobs = all->flows[(size_t)to * n + home];
      all->at[to].result.n_submitted += jobs;
      if (home == to) continue;
      all->at[to].result.n_spilled_in += jobs;
      all->at[home].result.n_spilled_out += jobs;
    }
}

void hr__clusters_settle(struct hr__engine *whole) {
  struct hr__clusters *all = whole->clusters;
  whole->n_submitted = whole->cursor + whole->n_added; /* a job that waits in several clusters counts once */
  count_flows(all);
  for (uint32_t i = 0; i < all->spec->count; i++) {
    all->at[i].engine.last_us = whole->last_us;
    hr__engine_settle(&all->at[i].engine);
    add_figures(whole, &all->at[i]);
  }
  if (whole->power) hr__power_peaks(whole);
}

int64_t hr__clusters_carbon_mg_h(const struct hr__engine *whole) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < whole->clusters->spec->count; i++)
    sum += hr__power_carbon_mg_h(&whole->clusters->at[i].engine);
  return sum;
}

bool hr__clusters_batteries(const struct hr__engine *whole, struct hr_battery_now *now) {
  bool any = false;
  for (uint32_t i = 0; i < whole->clusters->spec->count; i++) {
    const struct hr__engine *engine = &whole->clusters->at[i].engine;
    if (engine->power && hr__power_batteries(engine, now)) any = true;
  }
  return any;
}

/* Transfers two things to the result: the column with the cluster of each job, and the figures of each cluster. */
enum hr_status hr__clusters_result(struct hr__engine *whole, struct hr_result *result) {
  struct hr__clusters *all = whole->clusters;
  const uint32_t n = all->spec->count;
  if (!HR__ARRAY_MAKE(result->clusters, n)) return hr__out_of_memory(whole);
  result->n_clusters = n;
  for (uint32_t i = 0; i < n; i++) {
    result->clusters[i] = all->at[i].result;
    result->clusters[i].n_from = calloc(n, sizeof *result->clusters[i].n_from);
    if (!result->clusters[i].n_from) return hr__out_of_memory(whole);
    memcpy(result->clusters[i].n_from, all->flows + (size_t)i * n, n * sizeof *all->flows);
  }
  result->cluster_of = all->of_job;
  all->of_job = NULL;
  return HR_OK;
}

void hr__clusters_finish(struct hr__engine *whole) {
  struct hr__clusters *all = whole->clusters;
  if (!all) return;
  for (uint32_t i = 0; all->at && i < all->spec->count; i++)
    if (all->at[i].all) {
      free(all->at[i].releases.at);
      free(all->at[i].going);
      hr__engine_finish(&all->at[i].engine);
    }
  hr__routing_end(all);
  free(all->slices);
  free(all->of_job);
  free(all->todo);
}

/* Returns the view of the cluster of a job; NULL before the job is submitted. */
const struct hr_view *hr__clusters_view(const struct hr__engine *whole, hr_job job) {
  const uint32_t at = whole->clusters->of_job[job.id];
  return at == HR_NONE ? NULL : &whole->clusters->at[at].engine.view;
}
