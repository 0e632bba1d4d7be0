/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass of the backfill scheduler; see backfill.h. The time line is a linked list, because reservations split slots.
   Invariant: slots are adjacent and in the order of time, and slot 0 begins at the time of the pass. */

#include "policies/slurm/slurm.h"

#include "headroom/base.h"

#include <string.h>

/* A pass that is running. */
struct pass {
  struct hr__slurm_timeline *line;
  const struct hr__slurm_backfill_limits *limits;
  const struct hr__slurm_selector *selector;
  int64_t now_us;
};

static uint64_t *nodes_of(const struct hr__slurm_timeline *line, uint32_t slot) {
  return line->nodes + (size_t)slot * line->n_words;
}

static uint32_t *licenses_of(const struct hr__slurm_timeline *line, uint32_t slot) {
  return line->licenses + (size_t)slot * line->n_license_kinds;
}

static uint32_t count_of(const uint64_t *set, uint32_t n_words) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < n_words; w++)
    for (uint64_t rest = set[w]; rest; rest &= rest - 1) count++;
  return count;
}

static void begin_line(struct hr__slurm_timeline *line, const uint32_t *licenses, int64_t from_us, int64_t to_us) {
  line->n_slots = 1;
  line->slots[0] = (struct hr__slurm_slot){from_us, to_us, HR_NONE};
  for (uint32_t w = 0; w < line->n_words; w++) line->nodes[w] = UINT64_MAX;
  if (line->n_nodes % 64) line->nodes[line->n_words - 1] = (UINT64_C(1) << line->n_nodes % 64) - 1;
  if (line->n_license_kinds) memcpy(line->licenses, licenses, line->n_license_kinds * sizeof *licenses);
  if (line->user_tests) memset(line->user_tests, 0, line->n_users * sizeof *line->user_tests);
  if (line->part_tests) memset(line->part_tests, 0, line->n_partitions * sizeof *line->part_tests);
  if (line->part_reserves) memset(line->part_reserves, 0, line->n_partitions * sizeof *line->part_reserves);
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

/* Splits the slot that contains a time within, so that a slot begins at this time. */
static void split_at(struct hr__slurm_timeline *line, int64_t time_us) {
  uint32_t at = 0;
  while (at != HR_NONE && line->slots[at].end_us <= time_us) at = line->slots[at].next;
  if (at == HR_NONE || line->slots[at].begin_us >= time_us || line->n_slots == line->max_slots) return;
  uint32_t new = line->n_slots++;
  line->slots[new] = (struct hr__slurm_slot){time_us, line->slots[at].end_us, line->slots[at].next};
  line->slots[at].end_us = time_us;
  line->slots[at].next = new;
  memcpy(nodes_of(line, new), nodes_of(line, at), line->n_words * sizeof(uint64_t));
  if (line->n_license_kinds)
    memcpy(licenses_of(line, new), licenses_of(line, at), line->n_license_kinds * sizeof(uint32_t));
}

/* Removes nodes and licences of a job from all slots from `from_us` to `to_us`. */
static void reserve(struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, const uint64_t *set,
                    int64_t from_us, int64_t to_us) {
  split_at(line, from_us);
  split_at(line, to_us);
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    if (line->slots[at].begin_us < from_us || line->slots[at].begin_us >= to_us) continue;
    for (uint32_t w = 0; w < line->n_words; w++) nodes_of(line, at)[w] &= ~set[w];
    if (!job->n_licenses) continue;
    uint32_t *left = &licenses_of(line, at)[job->license];
    *left = *left > job->n_licenses ? *left - job->n_licenses : 0;
  }
}

/* ---- Testing a job ---------------------------------------------------------------------------------- */

/* Reduces the scratch set to the nodes that are not reserved at any time from `from_us` to `to_us`. Returns whether the
   licences suffice. `*later_us` is the end of the first slot that ends after `from_us` and is not the last one;
   otherwise unchanged. */
static bool usable_nodes(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, int64_t from_us,
                         int64_t to_us, int64_t *later_us) {
  for (uint32_t w = 0; w < line->n_words; w++) line->set[w] = job->usable ? job->usable[w] : UINT64_MAX;
  bool licensed = true, found_later = false;
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    const struct hr__slurm_slot *slot = &line->slots[at];
    if (slot->end_us <= from_us) continue;
    if (!found_later && slot->next != HR_NONE) {
      *later_us = slot->end_us;
      found_later = true;
    }
    if (slot->begin_us >= to_us) break;
    for (uint32_t w = 0; w < line->n_words; w++) line->set[w] &= nodes_of(line, at)[w];
    if (job->n_licenses && licenses_of(line, at)[job->license] < job->n_licenses) licensed = false;
  }
  return licensed;
}

/* Returns whether a reservation uses one of the chosen nodes, or the licences do not suffice, from `from_us` to
   `to_us`. */
static bool overlaps(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, int64_t from_us,
                     int64_t to_us) {
  for (uint32_t at = 0; at != HR_NONE; at = line->slots[at].next) {
    const struct hr__slurm_slot *slot = &line->slots[at];
    if (slot->end_us <= from_us || slot->begin_us >= to_us) continue;
    for (uint32_t w = 0; w < line->n_words; w++)
      if (line->set[w] & ~nodes_of(line, at)[w]) return true;
    if (job->n_licenses && licenses_of(line, at)[job->license] < job->n_licenses) return true;
  }
  return false;
}

/* Finds the first start of a job that no reservation prevents. The chosen nodes are in the scratch set. Returns
   HR_NEVER_US if not found within the window. */
static int64_t find_start(const struct pass *pass, const struct hr__slurm_queued *job) {
  struct hr__slurm_timeline *line = pass->line;
  int64_t from_us = pass->now_us;
  for (;;) {
    int64_t later_us = HR_NEVER_US, start_us = 0;
    bool licensed = usable_nodes(line, job, from_us, from_us + job->limit_us, &later_us);
    bool found = licensed && count_of(line->set, line->n_words) >= job->min_nodes &&
                 pass->selector->find(pass->selector->self, job->job, pass->now_us, line->set, &start_us);
    if (found) {
      if (start_us < from_us) start_us = from_us;
      if (start_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
      if (start_us == from_us || !overlaps(line, job, start_us, start_us + job->limit_us)) return start_us;
      later_us = start_us; // the reservations that the selector does not know are in the way
    }
    if (later_us == HR_NEVER_US || later_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
    from_us = later_us;
  }
}

/* Counts a test of a job, and returns whether a limit forbids it. */
static bool is_over_limit(const struct pass *pass, const struct hr__slurm_queued *job) {
  const struct hr__slurm_timeline *line = pass->line;
  const struct hr__slurm_backfill_limits *limits = pass->limits;
  if (limits->max_job_user && line->user_tests && line->user_tests[job->user]++ >= limits->max_job_user) return true;
  return limits->max_job_part && line->part_tests && line->part_tests[job->partition]++ >= limits->max_job_part;
}

/* Returns whether a job that cannot start now gets a reservation, and counts it. */
static bool gets_reservation(const struct pass *pass, const struct hr__slurm_queued *job) {
  const struct hr__slurm_backfill_limits *limits = pass->limits;
  if (pass->now_us - job->submit_us < limits->min_age_reserve_us) return false;
  if (job->priority < limits->min_prio_reserve) return false;
  if (!limits->job_part_count_reserve || !pass->line->part_reserves) return true;
  return pass->line->part_reserves[job->partition]++ < limits->job_part_count_reserve;
}

/* Tests one job: starts it, or reserves nodes for it. Returns whether it was started. */
static bool test_job(const struct pass *pass, const struct hr__slurm_queued *job, struct hr__slurm_planned *planned) {
  int64_t start_us = find_start(pass, job), resolution_us = pass->limits->resolution_us;
  planned->start_us = start_us;
  if (start_us == HR_NEVER_US) return false;
  bool is_now = start_us <= pass->now_us;
  if (is_now && !pass->selector->start(pass->selector->self, job->job, pass->line->set)) {
    planned->start_us = HR_NEVER_US;
    return false;
  }
  if (!is_now && !gets_reservation(pass, job)) return false;
  int64_t end_us = start_us + job->limit_us;
  if (!is_now) { // reservations begin and end at multiples of the resolution
    start_us = pass->now_us + (start_us - pass->now_us) / resolution_us * resolution_us;
    end_us = pass->now_us + (end_us - pass->now_us) / resolution_us * resolution_us;
  }
  reserve(pass->line, job, pass->line->set, start_us, end_us);
  return is_now;
}

uint32_t hr__slurm_backfill(struct hr__slurm_timeline *line, const struct hr__slurm_backfill_limits *limits,
                            const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                            const struct hr__slurm_selector *selector, int64_t now_us,
                            struct hr__slurm_planned *planned) {
  const struct pass pass = {line, limits, selector, now_us};
  begin_line(line, licenses, now_us, now_us + limits->window_us);
  uint32_t n_tested = 0, n_started = 0;
  for (uint32_t i = 0; i < n_queued; i++) {
    planned[i] = (struct hr__slurm_planned){HR_NEVER_US, false};
    if (n_tested == limits->max_job_test || (limits->max_job_start && n_started == limits->max_job_start)) continue;
    if (is_over_limit(&pass, &queue[i])) continue;
    n_tested++;
    planned[i].was_tested = true;
    n_started += test_job(&pass, &queue[i], &planned[i]);
  }
  return n_started;
}
