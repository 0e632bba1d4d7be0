/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pass of the backfill scheduler; see slurm.h. The slots of the time line are an array in the order of time, so the
 * set of nodes that are free during an interval is the bitwise AND of consecutive sets. If an interval has too few
 * nodes for a job, let s be the last slot such that the interval from s to the end has too few. Every interval of the
 * same length that begins later but contains s has too few nodes, too, so the next interval that is tried begins after
 * s. Invariant: slots are adjacent, and slot 0 begins at the time of the pass.
 */

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

/* The number of bits of a word that are 1: sums of 2, 4 and 8 bits, then the sum of the bytes. */
static inline uint32_t ones_of(uint64_t word) {
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static uint32_t count_of(const uint64_t *set, uint32_t n_words) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < n_words; w++) count += ones_of(set[w]);
  return count;
}

/* A word of the set of all nodes. */
static uint64_t nodes_of_all(const struct hr__slurm_timeline *line, uint32_t word) {
  bool is_partial = line->n_nodes % 64 && word + 1 == line->n_words;
  return is_partial ? (UINT64_C(1) << line->n_nodes % 64) - 1 : UINT64_MAX;
}

static void begin_line(struct hr__slurm_timeline *line, const uint32_t *licenses, int64_t from_us, int64_t to_us) {
  line->n_slots = 1;
  line->slots[0] = (struct hr__slurm_slot){from_us, to_us};
  for (uint32_t w = 0; w < line->n_words; w++) line->nodes[w] = nodes_of_all(line, w);
  if (line->n_license_kinds) memcpy(line->licenses, licenses, line->n_license_kinds * sizeof *licenses);
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    if (line->tests[s]) memset(line->tests[s], 0, line->n_scopes[s] * sizeof *line->tests[s]);
  if (line->part_reserves)
    memset(line->part_reserves, 0, line->n_scopes[HR__SLURM_OF_PARTITION] * sizeof *line->part_reserves);
}

/* ---- Slots ------------------------------------------------------------------------------------------ */

/* Returns the slot that contains a time; n_slots if the time is after the window, 0 if it is before. */
static uint32_t slot_at(const struct hr__slurm_timeline *line, int64_t time_us) {
  uint32_t low = 0, high = line->n_slots;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (line->slots[middle].end_us > time_us)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Returns the first slot that begins at a time or later. */
static uint32_t slot_from(const struct hr__slurm_timeline *line, int64_t time_us) {
  uint32_t at = slot_at(line, time_us);
  return at < line->n_slots && line->slots[at].begin_us < time_us ? at + 1 : at;
}

/* Splits the slot that contains the time, so that a slot begins at the time. If the maximum number of slots is reached,
   splits nothing. Returns the first slot that begins at the time or later. */
static uint32_t split_at(struct hr__slurm_timeline *line, int64_t time_us) {
  uint32_t at = slot_at(line, time_us);
  if (at == line->n_slots || line->slots[at].begin_us >= time_us) return at;
  if (line->n_slots == line->max_slots) return at + 1;
  uint32_t new = at + 1, n_moved = line->n_slots++ - at;
  memmove(&line->slots[new], &line->slots[at], n_moved * sizeof *line->slots);
  memmove(nodes_of(line, new), nodes_of(line, at), n_moved * line->n_words * sizeof(uint64_t));
  if (line->n_license_kinds)
    memmove(licenses_of(line, new), licenses_of(line, at), n_moved * line->n_license_kinds * sizeof(uint32_t));
  line->slots[at].end_us = line->slots[new].begin_us = time_us;
  return new;
}

static bool has_same(const struct hr__slurm_timeline *line, uint32_t at) {
  if (memcmp(nodes_of(line, at), nodes_of(line, at + 1), line->n_words * sizeof(uint64_t)) != 0) return false;
  size_t bytes = line->n_license_kinds * sizeof(uint32_t);
  return bytes == 0 || memcmp(licenses_of(line, at), licenses_of(line, at + 1), bytes) == 0;
}

/* Merges the first two neighbouring slots from `from` to `to` that are equal. Other equal slots are not merged, as in
   Slurm. */
static void merge_slots(struct hr__slurm_timeline *line, uint32_t from, uint32_t to) {
  while (from < to && from + 1 < line->n_slots && !has_same(line, from)) from++;
  if (from >= to || from + 1 >= line->n_slots) return;
  uint32_t n_moved = line->n_slots-- - from - 2;
  line->slots[from].end_us = line->slots[from + 1].end_us;
  memmove(&line->slots[from + 1], &line->slots[from + 2], n_moved * sizeof *line->slots);
  memmove(nodes_of(line, from + 1), nodes_of(line, from + 2), n_moved * line->n_words * sizeof(uint64_t));
  if (line->n_license_kinds)
    memmove(licenses_of(line, from + 1), licenses_of(line, from + 2),
            n_moved * line->n_license_kinds * sizeof(uint32_t));
}

/* Removes the licences of a job, and the nodes of a set (NULL: none), from all slots from `from_us` to `to_us`. */
static void reserve(struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, const uint64_t *set,
                    int64_t from_us, int64_t to_us) {
  if (!set && !job->n_licenses) return;
  uint32_t first = split_at(line, from_us), end = split_at(line, to_us);
  for (uint32_t at = first; at < end; at++) {
    for (uint32_t w = 0; set && w < line->n_words; w++) nodes_of(line, at)[w] &= ~set[w];
    if (!job->n_licenses) continue;
    uint32_t *left = &licenses_of(line, at)[job->license];
    *left = *left > job->n_licenses ? *left - job->n_licenses : 0;
  }
  merge_slots(line, first > 2 ? first - 2 : 0, end);
}

/* ---- Testing a job ---------------------------------------------------------------------------------- */

/* Slots are examined in blocks of SLOTS_OF_BLOCK. Sets of at most WORDS_OF_BLOCK words are stored before each block, to
   find the slot within the block afterwards. */
enum { SLOTS_OF_BLOCK = 8, WORDS_OF_BLOCK = 32 };

/* Reduces the scratch set to the nodes that are free in the slots from `first` to before `end`. It begins with the last
   slot, because the last slots have the most reservations. Returns the slot at which too few nodes are left; HR_NONE if
   enough are left. */
static uint32_t list_slots(const struct hr__slurm_timeline *line, uint32_t min_nodes, uint32_t first, uint32_t end) {
  uint32_t n_left = count_of(line->set, line->n_words);
  for (uint32_t at = end; at > first; at--) {
    const uint64_t *nodes = nodes_of(line, at - 1);
    for (uint32_t w = 0; w < line->n_words; w++) {
      n_left -= ones_of(line->set[w] & ~nodes[w]);
      line->set[w] &= nodes[w];
    }
    if (n_left < min_nodes) return at - 1;
  }
  return HR_NONE;
}

/* Sets the scratch set to the usable nodes that are not reserved in any slot from `first` to before `end`. Returns
   HR_NONE if these are enough nodes. Otherwise, returns the last slot such that too few nodes are left if only the
   slots from it on are considered. */
static uint32_t list_unreserved(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job,
                                uint32_t first, uint32_t end) {
  uint64_t before[WORDS_OF_BLOCK];
  for (uint32_t w = 0; w < line->n_words; w++) line->set[w] = job->usable ? job->usable[w] : nodes_of_all(line, w);
  if (line->n_words > WORDS_OF_BLOCK) return list_slots(line, job->min_nodes, first, end);
  for (uint32_t at = end, from; at > first; at = from) {
    uint32_t n_left = 0;
    from = at - first > SLOTS_OF_BLOCK ? at - SLOTS_OF_BLOCK : first;
    for (uint32_t w = 0; w < line->n_words; w++) {
      uint64_t all = before[w] = line->set[w];
      for (uint32_t slot = from; slot < at; slot++) all &= nodes_of(line, slot)[w];
      line->set[w] = all;
      n_left += ones_of(all);
    }
    if (n_left >= job->min_nodes) continue;
    memcpy(line->set, before, line->n_words * sizeof *before);
    return list_slots(line, job->min_nodes, from, at);
  }
  return HR_NONE;
}

/* Returns the last slot from `first` to before `end` in which the licences do not suffice; HR_NONE: no such slot. */
static uint32_t slot_without_licenses(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job,
                                      uint32_t first, uint32_t end) {
  for (uint32_t at = end; job->n_licenses && at > first; at--)
    if (licenses_of(line, at - 1)[job->license] < job->n_licenses) return at - 1;
  return HR_NONE;
}

void hr__slurm_unreserved(const struct hr__slurm_timeline *line, int64_t to_us, uint64_t *set) {
  for (uint32_t at = 0; at < line->n_slots && line->slots[at].begin_us <= to_us; at++)
    for (uint32_t w = 0; w < line->n_words; w++) set[w] &= nodes_of(line, at)[w];
}

/* Returns whether, from `from_us` to `to_us`, a reservation uses one of the chosen nodes, or the licences do not
   suffice. */
static bool overlaps(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, int64_t from_us,
                     int64_t to_us) {
  uint32_t end = slot_from(line, to_us);
  for (uint32_t at = slot_at(line, from_us); at < end; at++) {
    for (uint32_t w = 0; w < line->n_words; w++)
      if (line->set[w] & ~nodes_of(line, at)[w]) return true;
    if (job->n_licenses && licenses_of(line, at)[job->license] < job->n_licenses) return true;
  }
  return false;
}

/* Rounds a time down to a multiple of the resolution on the clock. */
static int64_t rounded(const struct pass *pass, int64_t time_us) {
  int64_t into_us = (time_us + pass->limits->origin_us) % pass->limits->resolution_us;
  return time_us - (into_us < 0 ? into_us + pass->limits->resolution_us : into_us);
}

/* Returns whether advance reservations exclude the job from some of the chosen nodes. If so, these nodes are removed
   from the scratch set. */
static bool is_kept(const struct pass *pass, const struct hr__slurm_queued *job, int64_t from_us, int64_t to_us) {
  struct hr__slurm_timeline *line = pass->line;
  if (!pass->selector->restrict_nodes) return false;
  uint32_t before = count_of(line->set, line->n_words);
  pass->selector->restrict_nodes(pass->selector->self, job->job, from_us, to_us, line->set);
  return count_of(line->set, line->n_words) < before;
}

/* Finds the first slot, from slot `first` on, such that the job may use a node in the next slot that it may not use in
   the found slot. Returns the end of the found slot; HR_NEVER_US: not found. */
static int64_t next_gain(const struct hr__slurm_timeline *line, const struct hr__slurm_queued *job, uint32_t first) {
  for (uint32_t at = first; at + 1 < line->n_slots; at++) {
    const uint64_t *now = nodes_of(line, at), *then = now + line->n_words;
    uint64_t gained = 0;
    for (uint32_t w = 0; w < line->n_words; w++)
      gained |= then[w] & ~now[w] & (job->usable ? job->usable[w] : UINT64_MAX);
    if (gained) return line->slots[at].end_us;
  }
  return HR_NEVER_US;
}

/* Sets the scratch set to the nodes that a job can use from `from_us` for its time limit, the end included. Returns
   whether the nodes and the licences suffice. Sets `*later_us` to the next time at which more nodes or licences may be
   usable; HR_NEVER_US: none within the window. */
static bool list_nodes(const struct pass *pass, const struct hr__slurm_queued *job, int64_t from_us,
                       int64_t *later_us) {
  struct hr__slurm_timeline *line = pass->line;
  int64_t to_us = from_us + job->limit_us, end_us = HR_NEVER_US;
  uint32_t first = slot_at(line, from_us), end = slot_from(line, to_us + 1);
  uint32_t without = slot_without_licenses(line, job, first, end);
  uint32_t blocking = without == HR_NONE ? list_unreserved(line, job, first, end) : first;
  bool usable = without == HR_NONE && blocking == HR_NONE;
  *later_us = next_gain(line, job, blocking == HR_NONE ? first : blocking); // before this time, too few nodes are left
  if (without != HR_NONE) *later_us = without + 1 < line->n_slots ? line->slots[without].end_us : HR_NEVER_US;
  if (!usable || !pass->selector->restrict_nodes) return usable;
  end_us = pass->selector->restrict_nodes(pass->selector->self, job->job, from_us, to_us, line->set);
  if (end_us < *later_us) *later_us = end_us;
  return count_of(line->set, line->n_words) >= job->min_nodes;
}

/* Returns the next time from `from_us` on at which a job must be tested. The test at a time t can be skipped if more
   nodes become usable after t but before the earliest start of the job, because the job is tested again at that later
   time. */
static int64_t next_test(const struct pass *pass, const struct hr__slurm_queued *job, int64_t from_us) {
  const struct hr__slurm_selector *selector = pass->selector;
  if (!selector->earliest || selector->restrict_nodes) return from_us;
  int64_t earliest_us = selector->earliest(selector->self, job->job, job->usable);
  for (;;) {
    int64_t later_us = next_gain(pass->line, job, slot_at(pass->line, from_us));
    if (later_us >= earliest_us) return from_us; // also if later_us is HR_NEVER_US
    from_us = later_us;
  }
}

/* Returns whether a job cannot start on the nodes of the scratch set until `later_us`, when more nodes become
   usable. */
static bool is_too_early(const struct pass *pass, const struct hr__slurm_queued *job, int64_t later_us) {
  const struct hr__slurm_selector *selector = pass->selector;
  if (later_us == HR_NEVER_US || !selector->earliest) return false;
  int64_t earliest_us = selector->earliest(selector->self, job->job, pass->line->set);
  return earliest_us > later_us && earliest_us != HR_NEVER_US;
}

/* Finds the first start of a job that no reservation prevents. The chosen nodes are in the scratch set. Returns
   HR_NEVER_US if the job cannot start within the window. */
static int64_t find_start(const struct pass *pass, const struct hr__slurm_queued *job) {
  struct hr__slurm_timeline *line = pass->line;
  uint32_t n_usable = job->usable ? count_of(job->usable, line->n_words) : line->n_nodes;
  if (n_usable < job->min_nodes) return HR_NEVER_US;
  const struct hr__slurm_selector *selector = pass->selector;
  int64_t from_us = selector->make_room ? pass->now_us : next_test(pass, job, pass->now_us);
  for (;;) {
    int64_t later_us, start_us = 0, now_us = pass->now_us;
    bool usable = list_nodes(pass, job, from_us, &later_us);
    if (usable && from_us == now_us && selector->make_room && selector->make_room(selector->self, job->job, line->set))
      return now_us;
    if (usable && from_us > now_us && is_too_early(pass, job, later_us)) {
      from_us = next_test(pass, job, later_us);
      continue;
    }
    if (usable && selector->find(selector->self, job->job, now_us, line->set, &start_us)) {
      if (start_us < from_us) start_us = from_us;
      int64_t end_us = start_us + job->limit_us;
      if (start_us == from_us) return start_us;
      if (later_us < start_us) { // other nodes may be usable earlier
        from_us = next_test(pass, job, later_us);
        continue;
      }
      if (start_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
      bool is_taken = overlaps(line, job, rounded(pass, start_us), rounded(pass, end_us));
      if (!is_taken && !is_kept(pass, job, start_us, end_us)) return start_us;
      later_us = start_us; // this start conflicts with reservations, which the selector does not know
    }
    if (later_us == HR_NEVER_US || later_us > pass->now_us + pass->limits->window_us) return HR_NEVER_US;
    from_us = later_us;
  }
}

/* The counter of the tests of a scope of a job; NULL: not counted. */
static uint32_t *counter_of(const struct pass *pass, const struct hr__slurm_queued *job, unsigned scope) {
  uint32_t *counters = pass->line->tests[scope], number = job->scopes[scope];
  return pass->limits->max_tests[scope] && counters && number != HR_NONE ? &counters[number] : NULL;
}

/* Returns whether a limit forbids the test of a job. If not, counts the test. */
static bool is_over_limit(const struct pass *pass, const struct hr__slurm_queued *job) {
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) {
    const uint32_t *counter = counter_of(pass, job, s);
    if (counter && *counter >= pass->limits->max_tests[s]) return true;
  }
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) {
    uint32_t *counter = counter_of(pass, job, s);
    if (counter) ++*counter;
  }
  return false;
}

/* Returns whether a job that cannot start now gets a reservation. Counts the reservations of each partition if they are
   limited. */
static bool gets_reservation(const struct pass *pass, const struct hr__slurm_queued *job) {
  const struct hr__slurm_backfill_limits *limits = pass->limits;
  if (pass->now_us - job->submit_us < limits->min_age_reserve_us) return false;
  if (job->no_reserve || job->priority < limits->min_prio_reserve) return false;
  if (!limits->job_part_count_reserve || !pass->line->part_reserves) return true;
  return pass->line->part_reserves[job->scopes[HR__SLURM_OF_PARTITION]]++ < limits->job_part_count_reserve;
}

/* Tests one job: starts it, or reserves nodes for it. Returns whether it was started. For a started job, no nodes are
   reserved, only licences: the selector now treats it as a running job, and other jobs may share its nodes. A job that
   only waits for jobs with an eviction notice gets a reservation that begins now. */
static bool test_job(const struct pass *pass, const struct hr__slurm_queued *job, struct hr__slurm_planned *planned) {
  int64_t start_us = find_start(pass, job);
  planned->start_us = start_us;
  if (start_us == HR_NEVER_US) return false;
  bool is_now = start_us <= pass->now_us && pass->selector->start(pass->selector->self, job->job, pass->line->set);
  if (!is_now && !gets_reservation(pass, job)) return false;
  int64_t end_us = start_us + job->limit_us;
  if (!is_now) { // reservations begin and end at multiples of the resolution
    start_us = rounded(pass, start_us) > pass->now_us ? rounded(pass, start_us) : pass->now_us;
    end_us = rounded(pass, end_us);
    if (end_us < start_us + pass->limits->resolution_us) end_us = start_us + pass->limits->resolution_us;
  }
  reserve(pass->line, job, is_now ? NULL : pass->line->set, start_us, end_us);
  return is_now;
}

uint32_t hr__slurm_backfill(struct hr__slurm_timeline *line, const struct hr__slurm_backfill_limits *limits,
                            const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                            const struct hr__slurm_selector *selector, int64_t now_us,
                            struct hr__slurm_planned *planned) {
  const struct pass pass = {line, limits, selector, now_us};
  begin_line(line, licenses, now_us, now_us + limits->window_us);
  uint32_t n_tested = 0, n_started = 0;
  for (uint32_t i = 0; i < n_queued; i++) planned[i] = (struct hr__slurm_planned){HR_NEVER_US, false};
  for (uint32_t i = 0; i < n_queued; i++) {
    if (selector->any_may_start && !selector->any_may_start(selector->self, i)) break;
    if (n_tested == limits->max_job_test || (limits->max_job_start && n_started == limits->max_job_start)) break;
    if (selector->may_be_tested && !selector->may_be_tested(selector->self, queue[i].job)) continue;
    if (is_over_limit(&pass, &queue[i])) continue;
    n_tested++;
    planned[i].was_tested = true;
    n_started += test_job(&pass, &queue[i], &planned[i]);
  }
  return n_started;
}
