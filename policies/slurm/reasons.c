/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job waits: in Headroom's words, and in those of squeue, sprio and sshare.
 *
 * Slurm gives the first job of a partition that is not held the reason Resources, and those behind it Priority, whether
 * they would fit or not. Headroom distinguishes whether they fit. The parts of a priority are rounded one by one, as
 * sprio prints them. Invariant: nothing here changes a decision.
 *
 * Source: src/slurmctld/{job_scheduler,node_scheduler}.c, src/common/slurm_protocol_defs.c, src/sprio, src/sshare of
 * SchedMD/slurm.
 */

#include "headroom/unstable/faults.h"
#include "policies/slurm/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Headroom's words ------------------------------------------------------------------------------- */

/* A limit of a QOS or an association is a quota; a requeued job waits for its turn. Rules of partitions have no reason
   of Headroom. */
static void explain_hold(const struct hr__slurm_run *run, const char *hold, hr_job job, struct hr_wait_reason *wait) {
  if (strncmp(hold, "QOS", 3) == 0 || strncmp(hold, "Assoc", 5) == 0) wait->reason = HR_WAIT_REASON_QUOTA;
  if (strcmp(hold, "BeginTime") != 0) return;
  wait->reason = HR_WAIT_REASON_TURN;
  wait->until_us = run->jobs[job.id].submit_us;
}

/* Names the first maintenance that nodes reach before a time. */
static void explain_maintenance(const struct hr__slurm_run *run, int64_t now_us, int64_t end_us,
                                struct hr_wait_reason *wait) {
  int64_t first_us = end_us;
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    for (uint32_t n = 0; spec->n_maintenance && n < spec->nodes; n++) {
      struct hr_maintenance_time next = hr_maintenance_next(spec, n, now_us);
      if (next.begin_us >= first_us) continue;
      first_us = next.begin_us;
      wait->reason = HR_WAIT_REASON_MAINTENANCE;
      wait->until_us = next.end_us;
      wait->quota = i * HR_MAINTENANCE_WINDOWS + next.window;
    }
  }
}

/* A job that would fit now waits behind the first job of the queue, or for the end of an advance reservation; any other
   job waits for capacity. Slurm calls these reasons Priority, ReqNodeNotAvail and Resources. */
void hr__slurm_explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__slurm_run *run = self;
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job.id].kind];
  const char *hold = hr__slurm_hold(run, job.id, view->now_us);
  uint32_t first = run->waiting.count ? hr__slurm_waiting_at(&run->waiting, 0)->job : job.id;
  bool limited = kind->denied || run->has_maintenance;
  bool fits = !hold && (first != job.id || limited) && hr__slurm_find_now(run, kind, kind->usable);
  if (hr__slurm_is_suspended(run, job.id)) return;
  if (hold) {
    explain_hold(run, hold, job, wait);
    return;
  }
  if (fits && limited) {
    memcpy(run->open_nodes, kind->usable, run->nodes.n_words * sizeof *run->open_nodes);
    int64_t end_us = view->now_us + run->jobs[job.id].limit_us;
    int64_t until_us = hr__slurm_remove_reserved(run, job, kind->denied, hr__slurm_allowed(run, kind->denied),
                                                 view->now_us, end_us, run->open_nodes);
    if (!hr__slurm_find_now(run, kind, run->open_nodes)) {
      wait->reason = HR_WAIT_REASON_RESERVATION;
      wait->until_us = until_us;
      if (run->has_maintenance && !hr__is_replica(run->trace, job))
        explain_maintenance(run, view->now_us, end_us, wait);
      return;
    }
  }
  if (fits && first != job.id) {
    wait->reason = HR_WAIT_REASON_ORDER;
    wait->behind = (hr_job){first};
  } else {
    hr_view_lack(view, job, wait);
  }
}

/* ---- Slurm's words ---------------------------------------------------------------------------------- */

/* A text of limited size. */
struct slurm_text {
  char *at;
  size_t size, used;
};

static void put(struct slurm_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
  va_end(arguments);
  text->used += length < 0 ? 0 : (size_t)length;
  if (text->used >= text->size) text->used = text->size - 1;
}

/* The flags of the reservation that keeps a job from nodes on which it would fit; -1: none does. */
static int64_t flags_of_blocker(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  if (!kind->denied || !hr__slurm_find_now(run, kind, kind->usable)) return -1;
  int64_t end_us = now_us + run->jobs[job].limit_us, flags = -1;
  memcpy(run->open_nodes, kind->usable, run->nodes.n_words * sizeof *run->open_nodes);
  for (uint64_t denied = kind->denied; denied && flags < 0; denied &= denied - 1) {
    hr__slurm_remove_reserved(run, (hr_job){job}, denied & ~(denied - 1), hr__slurm_allowed(run, kind->denied), now_us,
                              end_us, run->open_nodes);
    if (!hr__slurm_find_now(run, kind, run->open_nodes))
      flags = run->config->reservations[__builtin_ctzll(denied)].flags;
  }
  return flags;
}

static bool has_enough_nodes(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < run->nodes.n_words; w++) count += (uint32_t)__builtin_popcountll(kind->usable[w]);
  return count >= kind->min_nodes;
}

/* Returns whether a job is the first of its partition that only resources keep waiting. */
static bool is_first(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  uint32_t part = run->kinds[run->jobs[job].kind].partition;
  for (uint32_t i = 0; i < run->waiting.count; i++) {
    hr__slurm_waiting_order(&run->waiting, i + 1);
    uint32_t other = hr__slurm_waiting_at(&run->waiting, i)->job;
    if (other == job) return true;
    if (run->kinds[run->jobs[other].kind].partition == part && !hr__slurm_hold(run, other, now_us)) return false;
  }
  return true;
}

/* The reason that squeue shows. */
static const char *reason_of(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  const char *hold = hr__slurm_hold(run, job, now_us);
  if (hold) return hold;
  if (!has_enough_nodes(run, &run->kinds[run->jobs[job].kind])) return "ReqNodeNotAvail, UnavailableNodes";
  int64_t flags = flags_of_blocker(run, job, now_us);
  if (flags >= 0)
    return flags >> HR_SLURM_MAINT & 1 ? "ReqNodeNotAvail, Reserved for maintenance"
                                       : "ReqNodeNotAvail, May be reserved for other job";
  return is_first(run, job, now_us) ? "Resources" : "Priority";
}

/* The row of sprio: the priority of the last PriorityCalcPeriod and its parts. Parts with the weight 0 are left out. */
static void put_priority(struct hr__slurm_run *run, uint32_t job, struct slurm_text *text) {
  static const char *const names[HR__SLURM_N_FACTORS] = {"AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS"};
  double weights[4], factors[4], tres = 0;
  int64_t at_us = run->accounts.last_us > run->jobs[job].submit_us ? run->accounts.last_us : run->jobs[job].submit_us;
  const struct hr__slurm_priority parts = hr__slurm_priority_parts(run, job, at_us, weights, factors);
  const char *sign = "=";
  put(text, "; sprio: PRIORITY %u", (unsigned)run->priorities[job]);
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) {
    if (parts.weights[f] <= 0) continue;
    put(text, " %s %s %.0f", sign, names[f], parts.weights[f] * parts.factors[f]);
    sign = "+";
  }
  for (unsigned i = 0; i < 4; i++) tres += weights[i] * factors[i];
  if (tres > 0) put(text, " %s TRES %.0f", sign, tres);
}

/* The columns of the row of sshare that are not set in the configuration. */
static void put_share(struct hr__slurm_run *run, uint32_t job, struct slurm_text *text) {
  uint32_t assoc = run->jobs[job].assoc;
  const struct hr__slurm_share *share = &run->accounts.shares[assoc];
  put(text, "; sshare: RawUsage %.0f, EffectvUsage %.6f, FairShare %.6f", run->accounts.assocs[assoc].usage,
      share->effective_usage, share->factor);
  if (isfinite(share->level_fs) && share->level_fs > 0) put(text, ", LevelFS %.6f", share->level_fs);
}

void hr__slurm_describe_wait(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  struct hr__slurm_run *run = self;
  struct slurm_text to = {text, size, 0};
  if (hr__slurm_is_suspended(run, job.id)) {
    put(&to, "SUSPENDED");
    return;
  }
  put(&to, "%s", reason_of(run, job.id, view->now_us));
  if (!hr__slurm_is_multifactor(run) || run->jobs[job.id].assoc == HR_NONE) return;
  put_priority(run, job.id, &to);
  put_share(run, job.id, &to);
}
