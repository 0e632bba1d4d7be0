/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Engines that do not add requests to a running batch: `static`, `dynamic-batch` and `single`.
 *
 * `static`: a batch of prompts, then iterations until the longest sequence ends. The other sequences keep their places,
 * and all results are returned at the end. `dynamic-batch`: one pass for a batch, as in NVIDIA Triton (core/src/
 * dynamic_batch_scheduler.cc). `single`: requests are served on their own by c servers, first come, first served; or
 * all at once, each at the rate min(1, c / n) of a server (processor sharing).
 *
 * Layout of `single`: a heap has, for each request in service, the time of its first or, after that, its last token.
 * With processor sharing, this "time" is an amount of service: the amount that a request would have received if it had
 * been in service since the replica was last empty. Invariant: the heap has one entry for each request in service.
 */

#include "sim/services/replica.h"

#include <math.h>

/* ---- static ----------------------------------------------------------------------------------------- */

void hr__form_static(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  for (uint32_t i = 0; i < replica->n_running; i++) hr__add_to_batch(replica, replica->running[i], 1);
  replica->n_running = 0;
  if (replica->n_batch) return;
  uint64_t longest = 0;
  while (replica->waiting.count && replica->n_batch < limits->max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), prompt = hr__new_tokens(replica, id);
    const uint64_t blocks = hr__blocks_for(limits, hr__sequence_of(replica, id)->total);
    if (prompt > longest) longest = prompt;
    /* prompts are padded to the longest prompt; a prompt that became too long on a lost replica runs alone */
    const bool is_long = (replica->n_batch + 1) * longest > limits->max_batch_tokens;
    if (hr__free_memory(replica) < blocks || (is_long && replica->n_batch > 0)) break;
    hr__admit(replica);
    hr__take_memory(replica, id, blocks);
    hr__add_to_batch(replica, id, prompt);
  }
}

/* Returns the number of tokens until the longest sequence of the batch ends. */
uint32_t hr__static_rest(const struct hr__replica *replica) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    const struct hr__sequence *sequence = hr__sequence_of(replica, replica->batch[i].id);
    if (sequence->total > sequence->processed && sequence->total - sequence->processed > most)
      most = sequence->total - sequence->processed;
  }
  return most;
}

void hr__end_static(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    struct hr__sequence *sequence = hr__sequence_of(replica, replica->batch[i].id);
    const bool is_first = !sequence->is_decoding;
    sequence->processed = is_first ? sequence->prompt + 1 : sequence->processed + replica->n_repeats;
    sequence->is_decoding = true;
    if (is_first) event(context, replica->batch[i].id, true, false);
  }
  const bool is_complete = hr__static_rest(replica) == 0;
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    const uint32_t id = replica->batch[i].id;
    if (!is_complete) {
      replica->running[replica->n_running++] = id;
      continue;
    }
    event(context, id, false, true);
    hr__give_back_memory(replica, id);
  }
}

/* ---- dynamic-batch ---------------------------------------------------------------------------------- */

/* The size of the next batch; 0: the replica waits for more requests, at most until `until_ticks`. */
static uint32_t dynamic_size(const struct hr__replica *replica, int64_t *until_ticks) {
  const struct hr_service_dynamic_rules *rules = &replica->service->dynamic;
  const uint32_t waiting = replica->waiting.count, most = replica->service->limits.max_sequences;
  const uint32_t pending = waiting < most ? waiting : most;
  const int64_t oldest_us = replica->arrival_us[hr__queue_at(&replica->waiting, 0)] - replica->origin_us;
  const int64_t delay_ticks = llround(rules->max_queue_delay_us * 65536);
  uint32_t best = rules->n_preferred || pending < most ? 0 : most, largest = rules->n_preferred ? 0 : most;
  for (uint32_t i = 0; i < rules->n_preferred; i++) {
    const uint32_t size = rules->preferred[i];
    if (size <= pending && size > best) best = size;
    if (size > largest) largest = size;
  }
  *until_ticks = HR__TICKS(oldest_us) + delay_ticks;
  const bool is_late = delay_ticks > 0 && replica->begin_ticks >= *until_ticks;
  if (best && !is_late) return best;
  return waiting > most || pending >= largest || is_late || delay_ticks == 0 ? pending : 0;
}

void hr__form_dynamic(struct hr__replica *replica) {
  int64_t until_ticks;
  if (!replica->waiting.count) return;
  const uint32_t size = dynamic_size(replica, &until_ticks);
  if (size == 0) replica->wait_ticks = until_ticks - replica->begin_ticks;
  while (replica->n_batch < size) {
    const uint32_t id = hr__admit(replica);
    hr__add_to_batch(replica, id, hr__new_tokens(replica, id));
  }
}

void hr__end_dynamic(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  for (uint32_t i = 0; i < replica->n_batch; i++) event(context, replica->batch[i].id, true, true);
}

/* ---- single ----------------------------------------------------------------------------------------- */

static bool is_earlier(const struct hr__due *a, const struct hr__due *b) {
  return a->at < b->at || (a->at <= b->at && a->id < b->id);
}

static void push_due(struct hr__replica *replica, struct hr__due due) {
  uint32_t at = replica->n_due++;
  for (; at > 0 && is_earlier(&due, &replica->due[(at - 1) / 2]); at = (at - 1) / 2)
    replica->due[at] = replica->due[(at - 1) / 2];
  replica->due[at] = due;
}

static struct hr__due pop_due(struct hr__replica *replica) {
  struct hr__due *heap = replica->due;
  const struct hr__due top = heap[0], last = heap[--replica->n_due];
  uint32_t at = 0;
  for (uint32_t child = 1; child < replica->n_due; child = 2 * at + 1) {
    if (child + 1 < replica->n_due && is_earlier(&heap[child + 1], &heap[child])) child++;
    if (!is_earlier(&heap[child], &last)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return top;
}

/* The work of a request up to its first token, and from there to the last one. */
static int64_t first_work(const struct hr__replica *replica, uint32_t id) {
  const uint64_t tokens = hr__new_tokens(replica, id);
  const struct hr__batch_load load = {
      .prompts = tokens, .squares = tokens * tokens, .context = hr__cached(replica, id)};
  struct hr__price price;
  hr__price_set(&price, &replica->pricing, &load, 0);
  return hr__price_sum(&price, 1, INT64_MAX).sum_ticks;
}

static int64_t later_work(const struct hr__replica *replica, const struct hr__sequence *sequence) {
  const struct hr__batch_load load = {.decodes = 1, .context = sequence->prompt + (uint64_t)1};
  struct hr__price price;
  hr__price_set(&price, &replica->pricing, &load, 1);
  const uint32_t count = sequence->total - sequence->prompt - 1;
  return count ? hr__price_sum(&price, count, INT64_MAX).sum_ticks : 0;
}

/* The rate at which a request in service advances. */
static double rate(const struct hr__replica *replica) {
  const double servers = replica->service->single.servers, n = replica->n_due;
  return n <= servers ? 1 : servers / n;
}

void hr__form_single(struct hr__replica *replica) {
  const struct hr_service_single_rules *rules = &replica->service->single;
  const uint32_t most = rules->shares ? replica->service->limits.max_sequences : rules->servers;
  if (!replica->n_due) replica->done_ticks = 0;
  while (replica->waiting.count && replica->n_due < most) {
    const uint32_t id = hr__admit(replica);
    const double begin = rules->shares ? replica->done_ticks : (double)replica->begin_ticks;
    push_due(replica, (struct hr__due){begin + (double)first_work(replica, id), id, true});
  }
  if (!replica->n_due) return;
  const double rest = rules->shares ? (replica->due[0].at - replica->done_ticks) / rate(replica)
                                    : replica->due[0].at - (double)replica->begin_ticks;
  replica->wait_ticks = rest > 1 ? (int64_t)ceil(rest - 1e-6) : 1;
}

void hr__end_single(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  const bool shares = replica->service->single.shares;
  replica->done_ticks += (double)(replica->end_ticks - replica->begin_ticks) * rate(replica);
  const double now = shares ? replica->done_ticks : (double)replica->end_ticks;
  while (replica->n_due && replica->due[0].at <= now + 1e-3) {
    struct hr__due due = pop_due(replica);
    const int64_t later = due.is_first ? later_work(replica, hr__sequence_of(replica, due.id)) : 0;
    const bool is_first = due.is_first;
    event(context, due.id, is_first, later == 0);
    replica->iterations += is_first;
    due.is_first = false;
    due.at += (double)later;
    if (later) push_due(replica, due);
  }
}

void hr__stop_single(struct hr__replica *replica) {
  while (replica->n_due) replica->no_memory |= !hr__queue_push(&replica->waiting, replica->due[--replica->n_due].id);
}
