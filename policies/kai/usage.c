/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records what queues hold over time, and computes their past usage.
 *
 * An amount is constant between two events, so a history is a list of pieces with the integral up to each of them.
 * The integral over a window is the difference of the integrals at its ends, where the earlier one has decayed. Pieces
 * before the window are dropped. Invariant: the last piece of a history has the amount up to `recorded_us`.
 *
 * KAI asks Prometheus for sums of samples, one a minute; integrals are the limit of these sums for short intervals.
 *
 * Source: KAI-Scheduler, cache/usagedb.
 */

#include "policies/kai/world.h"

#include <math.h>
#include <string.h>

static const double ln2 = 0.69314718055994530942;

/* ---- Histories ----------------------------------------------------------------------------------------- */

/* The part of an amount that is left after some time. */
static double kept_after(const struct hr_kai_usage *rules, int64_t time_us) {
  return rules->half_life_us > 0 ? exp2(-(double)time_us / (double)rules->half_life_us) : 1;
}

/* The integral up to a time in the piece. */
static double integral_at(const struct hr_kai_usage *rules, const struct hr__kai_piece *piece, int64_t at_us) {
  const int64_t time_us = at_us - piece->from_us;
  if (rules->half_life_us == 0) return piece->integral + piece->amount * (double)time_us;
  const double kept = kept_after(rules, time_us);
  return piece->integral * kept + piece->amount * ((double)rules->half_life_us / ln2) * (1 - kept);
}

/* Makes room for one more piece. False: out of memory. */
static bool make_room(struct hr_arena *arena, struct hr__kai_history *history) {
  struct hr__kai_piece *old = history->pieces;
  const uint32_t n = history->end - history->first;
  if (old && history->end < history->capacity) return true;
  if (old && 2 * n <= history->capacity) {
    memmove(old, old + history->first, n * sizeof *old);
  } else {
    const uint32_t capacity = 2 * n + 8;
    history->pieces = hr_arena_alloc(arena, capacity * sizeof *history->pieces);
    if (!history->pieces) return false;
    if (old) memcpy(history->pieces, old + history->first, n * sizeof *old);
    history->capacity = capacity;
  }
  history->first = 0;
  history->end = n;
  return true;
}

/* Records an amount from a time on. False: out of memory. */
static bool record(struct hr__kai_past *past, struct hr__kai_history *history, double amount, int64_t from_us) {
  struct hr__kai_piece *last = history->end > history->first ? &history->pieces[history->end - 1] : NULL;
  if (last ? last->amount == amount : amount == 0) return true;
  const double integral = last ? integral_at(&past->rules, last, from_us) : 0;
  if (last && last->from_us == from_us) {
    last->amount = amount;
    return true;
  }
  if (!make_room(past->world->arena, history)) return false;
  history->pieces[history->end++] = (struct hr__kai_piece){from_us, integral, amount};
  return true;
}

/* The integral over a window. Later windows start no earlier. */
static double integral_over(const struct hr_kai_usage *rules, struct hr__kai_history *history, int64_t from_us,
                            int64_t to_us) {
  if (history->end == history->first) return 0;
  while (history->first + 1 < history->end && history->pieces[history->first + 1].from_us <= from_us) history->first++;
  const struct hr__kai_piece *first = &history->pieces[history->first], *last = &history->pieces[history->end - 1];
  if (last->amount == 0 && last->from_us <= from_us) return 0;
  const double all = integral_at(rules, last, to_us);
  if (first->from_us >= from_us) return all - first->integral * kept_after(rules, to_us - first->from_us);
  return all - integral_at(rules, first, from_us) * kept_after(rules, to_us - from_us);
}

/* ---- Usage --------------------------------------------------------------------------------------------- */

/* Records the amounts that are held since the last time. */
static bool record_all(struct hr__kai_past *past) {
  const struct hr__kai_cluster *cluster = &past->world->cluster;
  bool done = true;
  for (int r = 0; r < HR__KAI_RESOURCES && done; r++)
    done = record(past, &past->capacity[r], (double)past->world->session->total.of[r], past->recorded_us);
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES && done; r++)
      done = record(past, &past->queues[q * HR__KAI_RESOURCES + (uint32_t)r],
                    (double)cluster->queues[q].share[r].allocated, past->recorded_us);
  return done;
}

/* The start of the window that ends at a time. */
static int64_t window_start(const struct hr_kai_usage *rules, int64_t at_us) {
  if (rules->window == HR_KAI_TUMBLING) return at_us / rules->window_us * rules->window_us;
  return at_us > rules->window_us ? at_us - rules->window_us : 0;
}

/* Reads the usage at a time since which nothing has changed. */
static void fetch(struct hr__kai_past *past, int64_t at_us) {
  const int64_t from_us = window_start(&past->rules, at_us);
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    const double total = integral_over(&past->rules, &past->capacity[r], from_us, at_us);
    for (uint32_t q = 0; q < past->world->cluster.n_queues; q++) {
      struct hr__kai_share *share = &past->world->queues[q].share[r];
      const double held =
          integral_over(&past->rules, &past->queues[q * HR__KAI_RESOURCES + (uint32_t)r], from_us, at_us);
      const double usage = total > 0 && held > 0 ? held / total : 0;
      past->changed = past->changed || usage != share->usage;
      share->usage = usage;
    }
  }
  past->fetched_us = at_us;
}

bool hr__kai_past_create(struct hr__kai_past *past, struct hr__kai_world *world, const struct hr_kai_usage *rules) {
  *past = (struct hr__kai_past){.world = world, .rules = *rules};
  past->queues = hr__kai_alloc(world, (size_t)world->cluster.n_queues * HR__KAI_RESOURCES, sizeof *past->queues);
  return past->queues != NULL;
}

bool hr__kai_past_advance(struct hr__kai_past *past, int64_t now_us) {
  if (now_us == past->recorded_us) return true;
  if (!record_all(past)) return false;
  const int64_t due_us = now_us / past->rules.fetch_interval_us * past->rules.fetch_interval_us;
  if (due_us > past->fetched_us) fetch(past, due_us);
  past->recorded_us = now_us;
  return true;
}
