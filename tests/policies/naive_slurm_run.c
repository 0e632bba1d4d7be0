/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slow model of whole runs of Slurm: time advances second by second, the queue is sorted in each pass, the usage that
 * limits restrict is counted again for each test, and the fair tree is ranked by recursion.
 */

#include "naive_slurm.h"

#include <math.h>
#include <string.h>

enum { DELAY_S = 121, UNLIMITED_S = 65535 * 60 };

/* ---- Priorities ------------------------------------------------------------------------------------- */

/* Fair shares with two levels: accounts below the root, and their users. The user that is ranked first has the highest
   rank. */
struct naive_ranking {
  struct naive_run *run;
  uint32_t n_users, n_ranked, rank;
  bool tied;
};

static double sum_below(const struct naive_run *run, uint32_t account, const double *values) {
  double sum = 0;
  for (uint32_t u = 0; u < run->n_users; u++)
    if (run->user_account[u] == account) sum += values[u];
  return sum;
}

static double level(double shares, double all_shares, double usage, double all_usage) {
  double share = all_shares > 0 ? shares / all_shares : 0, used = all_usage > 0 ? usage / all_usage : 0;
  if (shares <= 0) return 0;
  return used > 0 ? share / used : (double)INFINITY;
}

static void rank_users(struct naive_ranking *ranking, uint32_t account) {
  struct naive_run *run = ranking->run;
  bool done[NAIVE_NAMES] = {false};
  double shares = 0, usage = sum_below(run, account, run->usage), before = -1;
  for (uint32_t u = 0; u < run->n_users; u++) shares += run->user_account[u] == account ? run->user_shares[u] : 0;
  for (bool first = true;; first = false) {
    uint32_t best = HR_NONE;
    double best_level = 0;
    for (uint32_t u = 0; u < run->n_users; u++) {
      if (run->user_account[u] != account || done[u]) continue;
      double value = level(run->user_shares[u], shares, run->usage[u], usage);
      if (best == HR_NONE || value > best_level) {
        best = u;
        best_level = value;
      }
    }
    if (best == HR_NONE) return;
    bool tied = first ? ranking->tied : best_level == before;
    if (!tied) ranking->rank = ranking->n_users - ranking->n_ranked;
    ranking->n_ranked++;
    run->factor[best] = (double)ranking->rank / ranking->n_users;
    done[best] = true;
    before = best_level;
  }
}

static void rank_all(struct naive_run *run) {
  struct naive_ranking ranking = {.run = run, .n_users = run->n_users};
  bool done[NAIVE_NAMES] = {false};
  double shares = 0, total = 0, before = -1;
  for (uint32_t a = 0; a < run->n_accounts; a++) {
    shares += run->account_shares[a];
    total += sum_below(run, a, run->usage);
  }
  for (uint32_t i = 0; i < run->n_accounts; i++) {
    uint32_t best = HR_NONE;
    double best_level = 0;
    for (uint32_t a = 0; a < run->n_accounts; a++) {
      if (done[a]) continue;
      double value = level(run->account_shares[a], shares, sum_below(run, a, run->usage), total);
      if (best != HR_NONE && value <= best_level) continue;
      best = a;
      best_level = value;
    }
    ranking.tied = i > 0 && best_level == before;
    rank_users(&ranking, best);
    done[best] = true;
    before = best_level;
  }
}

static void set_priority(struct naive_run *run, struct naive_job *job, int64_t now_s) {
  if (!run->is_multifactor) return;
  uint32_t highest_qos = 0, highest_factor = 0, n_gpus = run->n_nodes * run->gpus_per_node;
  for (uint32_t q = 0; q < run->n_qos; q++)
    highest_qos = run->qos[q].priority > highest_qos ? run->qos[q].priority : highest_qos;
  for (uint32_t p = 0; p < run->n_parts; p++)
    highest_factor = run->parts[p].factor > highest_factor ? run->parts[p].factor : highest_factor;
  double age = (double)(now_s - job->eligible_s) / 604800,
         size = ((double)job->nodes / run->n_nodes + (double)job->gpus / n_gpus) / 2;
  if (age < 0) age = 0;
  double sum = run->weight_age * (age > 1 ? 1 : age);
  sum += run->weight_fairshare * run->factor[job->user];
  sum += run->weight_size * size;
  sum += run->weight_partition * (highest_factor ? (double)run->parts[job->part].factor / highest_factor : 0);
  sum += run->weight_qos * (highest_qos ? (double)run->qos[job->qos].priority / highest_qos : 0);
  job->priority = sum < 1 ? 1 : (uint32_t)sum;
}

static void charge(struct naive_run *run, struct naive_job *job, int64_t now_s) {
  double seconds = (double)(now_s - job->charged_s);
  run->usage[job->user] += seconds * pow(1 - 0.693 / run->half_life_s, seconds) * job->gpus;
  job->charged_s = now_s;
}

/* ---- Limits ----------------------------------------------------------------------------------------- */

static bool is_held(const struct naive_run *run, const struct naive_job *job) {
  if (job->eligible_s > run->now_s || run->parts[job->part].is_down) return true;
  if (job->limit_s > run->parts[job->part].max_time_s) return true;
  if (!run->enforces) return false;
  int64_t all_jobs = 0, all_gpus = 0, user_jobs = 0, user_gpus = 0;
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    const struct naive_job *other = &run->jobs[i];
    if (other->state != NAIVE_RUNS || other->qos != job->qos) continue;
    all_jobs++;
    all_gpus += other->gpus;
    user_jobs += other->user == job->user;
    user_gpus += other->user == job->user ? other->gpus : 0;
  }
  const struct naive_qos *qos = &run->qos[job->qos];
  return (qos->grp_jobs >= 0 && all_jobs + 1 > qos->grp_jobs) ||
         (qos->grp_gpus >= 0 && all_gpus + job->gpus > qos->grp_gpus) ||
         (qos->user_jobs >= 0 && user_jobs + 1 > qos->user_jobs) ||
         (qos->user_gpus >= 0 && user_gpus + job->gpus > qos->user_gpus);
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

static int64_t over_time_of(const struct naive_run *run, const struct naive_job *job) {
  return run->parts[job->part].over_s >= 0 ? run->parts[job->part].over_s : run->over_s;
}

/* Sets the GPUs in use and the running jobs of the slow selector to the present state. */
static void set_nodes(struct naive_run *run) {
  memset(run->used, 0, sizeof run->used);
  run->nodes.n_running = 0;
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    struct naive_job *job = &run->jobs[i];
    if (job->state != NAIVE_RUNS) continue;
    for (uint32_t k = 0; k < job->nodes; k++) run->chosen[k] = job->at[k];
    struct hr__slurm_running *running =
        naive_nodes_add(&run->nodes, i, &job->shape, (job->start_s + job->limit_s) * HR_SECOND_US, run->memory[i]);
    int64_t over_s = over_time_of(run, job);
    running->limit_us = job->limit_s * HR_SECOND_US;
    running->over_us = over_s == UNLIMITED_S ? HR_NEVER_US : (30 + (over_s < 0 ? 0 : over_s)) * HR_SECOND_US;
  }
}

static void log_event(struct naive_run *run, char kind, uint32_t job, uint64_t nodes) {
  if (run->n_events < NAIVE_EVENTS) run->events[run->n_events++] = (struct naive_event){run->now_s, kind, job, nodes};
}

static void start_on_chosen(struct naive_run *run, uint32_t index) {
  struct naive_job *job = &run->jobs[index];
  uint64_t set = 0;
  for (uint32_t k = 0; k < job->nodes; k++) {
    job->at[k] = run->chosen[k];
    set |= UINT64_C(1) << job->at[k];
  }
  job->state = NAIVE_RUNS;
  job->start_s = job->charged_s = run->now_s;
  log_event(run, 's', index, set);
  set_nodes(run);
}

static bool fits(struct naive_run *run, const struct naive_job *job, uint64_t set, uint64_t *chosen) {
  *chosen = set & run->parts[job->part].nodes;
  return naive_select_now(&run->nodes, &job->shape, chosen);
}

/* ---- Preemption ------------------------------------------------------------------------------------- */

struct naive_victim {
  uint32_t job, rank, key;
};

static bool may_preempt(const struct naive_run *run, const struct naive_job *job, const struct naive_job *victim) {
  if (victim->state != NAIVE_RUNS || victim->start_s >= run->now_s) return false;
  if (run->now_s - victim->start_s < run->exempt_s) return false;
  if (run->preempts_by_qos) return run->qos[job->qos].preempts >> victim->qos & 1;
  return run->parts[job->part].tier > run->parts[victim->part].tier;
}

static bool comes_before(const struct naive_run *run, const struct naive_victim *a, const struct naive_victim *b) {
  const struct naive_job *first = &run->jobs[a->job], *second = &run->jobs[b->job];
  if (run->youngest_first) return first->start_s > second->start_s;
  return a->rank != b->rank ? a->rank < b->rank : first->nodes < second->nodes;
}

/* Returns whether a job may stop `victim`, which runs on a node of the set. */
static bool is_in_the_way(const struct naive_run *run, const struct naive_job *job, uint64_t set,
                          const struct naive_job *victim) {
  bool on_set = false;
  for (uint32_t k = 0; victim->state == NAIVE_RUNS && k < victim->nodes; k++)
    on_set = on_set || (set & run->parts[job->part].nodes) >> victim->at[k] & 1;
  return on_set && may_preempt(run, job, victim);
}

static uint32_t list_victims(struct naive_run *run, const struct naive_job *job, uint64_t set,
                             struct naive_victim *list) {
  uint32_t n = 0;
  for (uint32_t index = 0; index < run->n_jobs; index++) { // equal victims in the order of submission
    const struct naive_job *victim = &run->jobs[index];
    if (!is_in_the_way(run, job, set, victim)) continue;
    struct naive_victim entry = {
        index, run->preempts_by_qos ? run->qos[victim->qos].priority : run->parts[victim->part].tier, 0};
    uint32_t at = n++;
    for (; at > 0 && comes_before(run, &entry, &list[at - 1]); at--) list[at] = list[at - 1];
    list[at] = entry;
  }
  return n;
}

/* Returns how many victims, from the first one of the list on, must be stopped so that the job fits; 0: it does not fit
   even if all are stopped. */
static uint32_t victims_needed(struct naive_run *run, const struct naive_job *job, uint64_t set,
                               const struct naive_victim *list, uint32_t n, uint64_t *chosen) {
  uint32_t used[NAIVE_NODES], needed = 0;
  memcpy(used, run->used, sizeof used);
  for (uint32_t i = 0; i < n && !needed; i++) {
    const struct naive_job *victim = &run->jobs[list[i].job];
    for (uint32_t k = 0; k < victim->nodes; k++) run->used[victim->at[k]] -= victim->shape.gpus_per_node;
    if (fits(run, job, set, chosen)) needed = i + 1;
  }
  memcpy(run->used, used, sizeof used);
  return needed;
}

static uint32_t overlap(const struct naive_job *job, uint64_t nodes) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < job->nodes; k++) count += nodes >> job->at[k] & 1;
  return count;
}

static bool preempt(struct naive_run *run, uint32_t index, uint64_t set) {
  struct naive_victim list[NAIVE_JOBS] = {{0}};
  const struct naive_job *job = &run->jobs[index];
  uint64_t chosen = 0;
  uint32_t n = run->preempts ? list_victims(run, job, set, list) : 0;
  uint32_t needed = victims_needed(run, job, set, list, n, &chosen);
  for (uint32_t pass = 1; needed && n > pass && pass <= 2; pass++) {
    for (uint32_t i = 0; i < n; i++) {
      list[i].key = i + 1 == needed ? 1000 : i < needed ? overlap(&run->jobs[list[i].job], chosen) : 0;
    }
    for (uint32_t i = 1; i < n; i++)
      for (uint32_t k = i; k > 0 && list[k - 1].key < list[k].key; k--) {
        const struct naive_victim swap = list[k];
        list[k] = list[k - 1];
        list[k - 1] = swap;
      }
    needed = victims_needed(run, job, set, list, n, &chosen);
  }
  if (!needed) return false;
  for (uint32_t i = 0; i < needed; i++) {
    struct naive_job *victim = &run->jobs[list[i].job];
    if (!overlap(victim, chosen)) continue;
    if (run->enforces) charge(run, victim, run->now_s);
    victim->state = run->cancels ? NAIVE_GONE : NAIVE_REQUEUED;
    victim->queued_s = run->now_s;
    victim->eligible_s = run->now_s + DELAY_S;
    log_event(run, 'p', list[i].job, 0);
  }
  set_nodes(run);
  return fits(run, job, set, &chosen);
}

/* ---- Passes ----------------------------------------------------------------------------------------- */

/* Returns whether job `a` precedes job `b`. A job precedes jobs that its QOS may preempt. Otherwise, jobs are ordered
   by tier, priority, time of the last submission, and id. */
static bool goes_first(const struct naive_run *run, const struct naive_job *a, const struct naive_job *b) {
  bool by_qos = run->preempts && run->preempts_by_qos;
  if (by_qos && run->qos[a->qos].preempts >> b->qos & 1) return true;
  if (by_qos && run->qos[b->qos].preempts >> a->qos & 1) return false;
  uint32_t tier = run->parts[a->part].tier, other = run->parts[b->part].tier;
  if (tier != other) return tier > other;
  if (a->priority != b->priority) return a->priority > b->priority;
  return a->queued_s != b->queued_s ? a->queued_s < b->queued_s : a < b;
}

static uint32_t sort_queue(struct naive_run *run, uint32_t *queue) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    const struct naive_job *job = &run->jobs[i];
    if (job->state != NAIVE_WAITS) continue;
    uint32_t at = n++;
    for (; at > 0; at--) {
      if (!goes_first(run, job, &run->jobs[queue[at - 1]])) break;
      queue[at] = queue[at - 1];
    }
    queue[at] = i;
  }
  return n;
}

/* Returns whether the main scheduler examines all jobs in this second. */
static bool is_full(const struct naive_run *run) {
  if (run->sched_interval_s < 0) return false;
  return run->sched_interval_s == 0 || (run->now_s - run->calc_start_s) % run->sched_interval_s == 0;
}

static void run_main(struct naive_run *run) {
  uint32_t queue[NAIVE_JOBS], n = sort_queue(run, queue);
  if (run->sched_interval_s < 0) return;
  if (!is_full(run) && n > run->depth + 1) n = run->depth + 1;
  uint64_t open = UINT64_MAX, failed = 0, chosen;
  for (uint32_t i = 0; i < n; i++) {
    const struct naive_job *job = &run->jobs[queue[i]];
    if (failed >> job->part & 1 || is_held(run, job)) continue;
    if (fits(run, job, open, &chosen) || preempt(run, queue[i], open)) {
      start_on_chosen(run, queue[i]);
      continue;
    }
    if (run->now_s - job->eligible_s < run->min_age_s || job->priority < run->min_prio) continue;
    failed |= UINT64_C(1) << job->part;
    open &= ~run->parts[job->part].nodes;
  }
}

/* Finds the expected start of a job as if all jobs that it may stop had ended. Returns false if it can never start. */
static bool find_without_victims(struct naive_run *run, const struct naive_job *job, int64_t now_us, uint64_t *set,
                                 int64_t *start_us) {
  bool gone[NAIVE_JOBS] = {false};
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    gone[i] = run->preempts && is_in_the_way(run, job, *set, &run->jobs[i]);
  }
  for (uint32_t i = 0; i < run->n_jobs; i++)
    if (gone[i]) run->jobs[i].state = NAIVE_GONE;
  set_nodes(run);
  bool found = naive_select(&run->nodes, &job->shape, now_us, set, start_us);
  for (uint32_t i = 0; i < run->n_jobs; i++)
    if (gone[i]) run->jobs[i].state = NAIVE_RUNS;
  set_nodes(run);
  return found;
}

static bool find(void *self, uint32_t index, int64_t now_us, uint64_t *set, int64_t *start_us) {
  struct naive_run *run = self;
  const struct naive_job *job = &run->jobs[index];
  uint64_t all = *set, chosen;
  if (is_held(run, job)) return false;
  if (naive_select(&run->nodes, &job->shape, now_us, set, start_us) && *start_us <= now_us) return true;
  *set = all;
  if (run->line.from_us != now_us || !preempt(run, index, all))
    return find_without_victims(run, job, now_us, set, start_us);
  if (!fits(run, job, all, &chosen)) return false;
  *set = chosen;
  *start_us = now_us;
  return true;
}

static bool may_be_tested(void *self, uint32_t index) {
  const struct naive_run *run = self;
  return !is_held(run, &run->jobs[index]);
}

static bool start(void *self, uint32_t index, const uint64_t *nodes) {
  struct naive_run *run = self;
  uint64_t chosen;
  if (!fits(run, &run->jobs[index], *nodes, &chosen)) return false;
  start_on_chosen(run, index);
  return true;
}

static void run_backfill(struct naive_run *run) {
  uint32_t order[NAIVE_JOBS], n = sort_queue(run, order);
  struct hr__slurm_queued queue[NAIVE_JOBS];
  struct hr__slurm_planned planned[NAIVE_JOBS];
  for (uint32_t i = 0; i < n; i++) {
    const struct naive_job *job = &run->jobs[order[i]];
    queue[i] =
        (struct hr__slurm_queued){.job = order[i],
                                  .priority = job->priority,
                                  .limit_us = (run->qos[job->qos].no_reserve ? 60 : job->limit_s) * HR_SECOND_US,
                                  .submit_us = job->eligible_s * HR_SECOND_US,
                                  .no_reserve = run->qos[job->qos].no_reserve,
                                  .min_nodes = job->nodes,
                                  .usable = &run->parts[job->part].nodes,
                                  .scopes = {job->user, job->part, job->user * NAIVE_NAMES + job->part, job->user}};
  }
  const struct hr__slurm_backfill_limits limits = {
      .min_age_reserve_us = run->min_age_s * HR_SECOND_US,
      .resolution_us = 60 * HR_SECOND_US,
      .window_us = INT64_C(86400) * HR_SECOND_US,
      .max_job_test = run->max_job_test,
      .min_prio_reserve = run->min_prio,
      .job_part_count_reserve = run->part_reserves,
      .max_tests = {run->max_tests[0], run->max_tests[1], run->max_tests[2], run->max_tests[3]}};
  const struct hr__slurm_selector selector = {
      .find = find, .start = start, .may_be_tested = may_be_tested, .self = run};
  run->line = (struct naive_timeline){.slots = run->slots,
                                      .nodes = run->slot_nodes,
                                      .set = &run->slot_set,
                                      .max_slots = 2 * NAIVE_JOBS + 2,
                                      .n_nodes = run->n_nodes,
                                      .n_words = 1};
  run->is_stale =
      naive_backfill(&run->line, &limits, queue, n, NULL, &selector, run->now_s * HR_SECOND_US, planned) > 0;
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static void stop_over_time(struct naive_run *run) {
  for (uint32_t r = 0; r < run->nodes.n_running;) {
    uint32_t index = run->nodes.running[r++].job;
    struct naive_job *job = &run->jobs[index];
    int64_t over_s = over_time_of(run, job);
    if (over_s < 0 || over_s == UNLIMITED_S || job->start_s + job->limit_s + over_s + 60 > run->now_s) continue;
    if (run->enforces) charge(run, job, run->now_s);
    job->state = NAIVE_GONE;
    log_event(run, 'p', index, 0);
    run->has_changed = run->is_stale = true;
    set_nodes(run);
    r = 0;
  }
}

static void handle_events(struct naive_run *run) {
  if (run->is_multifactor && run->now_s > 0 && (run->now_s - run->calc_start_s) % run->period_s == 0) {
    double decay = pow(1 - 0.693 / run->half_life_s, (double)(run->now_s - run->tick_s));
    for (uint32_t u = 0; u < run->n_users; u++) run->usage[u] *= decay;
    for (uint32_t r = 0; r < run->nodes.n_running; r++) charge(run, &run->jobs[run->nodes.running[r].job], run->now_s);
    rank_all(run);
    run->tick_s = run->now_s;
    run->is_old = true;
  }
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    struct naive_job *job = &run->jobs[i];
    if (job->state != NAIVE_RUNS || job->start_s + job->work_s != run->now_s) continue;
    if (run->enforces) charge(run, job, run->now_s);
    job->state = NAIVE_GONE;
    run->has_changed = run->is_stale = true;
  }
  set_nodes(run);
  stop_over_time(run);
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    struct naive_job *job = &run->jobs[i];
    if (job->state == NAIVE_FUTURE && job->submit_s == run->now_s) {
      job->state = NAIVE_WAITS;
      job->queued_s = job->eligible_s = run->now_s;
      job->priority = 1;
      set_priority(run, job, run->now_s);
      run->is_queued = run->is_stale = true;
    } else if (job->state == NAIVE_WAITS && job->eligible_s == run->now_s) {
      run->has_changed = run->is_stale = true; // it was requeued
    }
  }
}

static void decide(struct naive_run *run) {
  uint32_t queue[NAIVE_JOBS];
  for (uint32_t i = 0; i < run->n_jobs; i++) { // from now on, the job may be preempted
    const struct naive_job *job = &run->jobs[i];
    bool ends =
        run->preempts && run->exempt_s && job->state == NAIVE_RUNS && job->start_s + run->exempt_s == run->now_s;
    if (ends && sort_queue(run, queue)) run->has_changed = run->is_stale = true;
  }
  if (run->is_old && sort_queue(run, queue)) {
    for (uint32_t i = 0; i < run->n_jobs; i++)
      if (run->jobs[i].state == NAIVE_WAITS) set_priority(run, &run->jobs[i], run->tick_s);
    run->has_changed = run->is_stale = true;
  }
  run->is_old = false;
  bool is_looped = is_full(run) || (run->is_queued && run->now_s - run->looped_s >= run->batch_delay_s);
  if (is_looped) {
    run->looped_s = run->now_s;
    run->is_queued = false;
  }
  if (run->has_changed || is_looped) run_main(run);
  run->has_changed = false;
  if (run->now_s >= run->rested_s && run->is_stale) {
    run->is_stale = false;
    if (sort_queue(run, queue)) run_backfill(run);
    run->rested_s = run->now_s + run->interval_s;
  }
  for (uint32_t i = 0; i < run->n_jobs; i++) {
    if (run->jobs[i].state != NAIVE_REQUEUED) continue;
    run->jobs[i].state = NAIVE_WAITS;
    set_priority(run, &run->jobs[i], run->jobs[i].eligible_s);
  }
}

void naive_slurm_run(struct naive_run *run, int64_t until_s) {
  run->nodes = (struct naive_nodes){.n_nodes = run->n_nodes,
                                    .n_words = 1,
                                    .gpus = run->gpus,
                                    .used = run->used,
                                    .future = run->future,
                                    .chosen = run->chosen,
                                    .running = run->running};
  rank_all(run);
  while (run->sched_interval_s >= 0 && !is_full(run)) run->now_s--; // when the background loop last ran before time 0
  run->looped_s = run->now_s;
  for (run->now_s = 0; run->now_s <= until_s; run->now_s++) {
    handle_events(run);
    decide(run);
  }
}
