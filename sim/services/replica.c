/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replicas: queues, steady sequences, and the effects of iterations. Batches are formed in engines.c.
 *
 * A sequence becomes steady when its prompt is complete (`orca-splitwise`: when it then gets memory for its output). As
 * long as only steady sequences are in the batch, none of them ends, and memory suffices, all iterations have the same
 * batch. They are simulated as one step. If memory does not suffice for a batch, the steady sequences become running
 * sequences, and the engine handles each of them separately. With `steps`, no sequence is steady.
 */

#include "sim/services/service.h"

#include "base/containers.h"

/* ---- Queues ----------------------------------------------------------------------------------------- */

/* Doubles the capacity of a ring if the ring is full. Returns false if memory is exhausted. */
static bool make_room(struct hr__sequence_queue *queue) {
  if (queue->count < queue->capacity) return true;
  const uint32_t before = queue->capacity, after = before ? 2 * before : 64;
  if (!HR__ARRAY_RESIZE(queue->ids, after)) return false;
  /* the entries at the start of the ring move behind the old end */
  for (uint32_t i = 0; i < queue->first; i++) queue->ids[before + i] = queue->ids[i];
  queue->capacity = after;
  return true;
}

bool hr__queue_push(struct hr__sequence_queue *queue, uint32_t id) {
  if (!make_room(queue)) return false;
  queue->ids[(queue->first + queue->count++) & (queue->capacity - 1)] = id;
  return true;
}

bool hr__queue_push_front(struct hr__sequence_queue *queue, uint32_t id) {
  if (!make_room(queue)) return false;
  queue->first = (queue->first - 1) & (queue->capacity - 1);
  queue->ids[queue->first] = id;
  queue->count++;
  return true;
}

bool hr__queue_insert(struct hr__sequence_queue *queue, uint32_t id) {
  if (!hr__queue_push_front(queue, id)) return false;
  const uint32_t mask = queue->capacity - 1;
  for (uint32_t i = 0; i + 1 < queue->count && hr__queue_at(queue, i + 1) < id; i++) {
    queue->ids[(queue->first + i) & mask] = queue->ids[(queue->first + i + 1) & mask];
    queue->ids[(queue->first + i + 1) & mask] = id;
  }
  return true;
}

bool hr__queue_insert_back(struct hr__sequence_queue *queue, uint32_t id) {
  if (!hr__queue_push(queue, id)) return false;
  const uint32_t mask = queue->capacity - 1;
  for (uint32_t i = queue->count - 1; i > 0 && hr__queue_at(queue, i - 1) > id; i--) {
    queue->ids[(queue->first + i) & mask] = queue->ids[(queue->first + i - 1) & mask];
    queue->ids[(queue->first + i - 1) & mask] = id;
  }
  return true;
}

uint32_t hr__queue_remove(struct hr__sequence_queue *queue, uint32_t id) {
  const uint32_t mask = queue->capacity - 1;
  uint32_t at = 0;
  while (at < queue->count && hr__queue_at(queue, at) != id) at++;
  if (at == queue->count) return HR_NONE;
  /* the entries before the removed entry move by one place, because the removed entry is usually near the front */
  for (uint32_t i = at; i > 0; i--) queue->ids[(queue->first + i) & mask] = hr__queue_at(queue, i - 1);
  hr__queue_pop(queue);
  return at;
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

/* Returns whether the memory of a sequence grows with its tokens, in blocks. */
static bool grows(const struct hr_service *service) {
  return service->engine <= HR_SERVICE_SARATHI;
}

uint64_t hr__replica_capacity(const struct hr_service *service) {
  const struct hr_service_limits *limits = &service->limits;
  if (service->engine == HR_SERVICE_ORCA_SPLITWISE)
    return limits->kv_tokens > 0 ? (uint64_t)limits->kv_tokens : limits->kv_blocks * limits->block_tokens;
  return limits->kv_blocks ? limits->kv_blocks : (uint64_t)limits->kv_tokens / limits->block_tokens;
}

static uint64_t watermark_of(const struct hr_service *service) {
  const bool has_watermark = service->engine == HR_SERVICE_VLLM_V0 || service->engine == HR_SERVICE_SARATHI;
  return has_watermark ? (uint64_t)(service->limits.watermark * (double)hr__replica_capacity(service)) : 0;
}

const char *hr_service_refusal(const struct hr_service *service, uint32_t prompt_tokens, uint32_t output_tokens) {
  const struct hr_service_limits *limits = &service->limits;
  const uint64_t total = (uint64_t)prompt_tokens + output_tokens, capacity = hr__replica_capacity(service);
  switch (service->engine) {
  case HR_SERVICE_VLLM_V0:
    if (prompt_tokens > limits->max_batch_tokens) return "the prompt exceeds max_batch_tokens";
    break;
  case HR_SERVICE_ORCA:
    if (total > limits->max_batch_tokens) return "prompt and output exceed max_batch_tokens";
    return hr__blocks_for(limits, limits->max_batch_tokens) > capacity ? "the replica has no memory for a request"
                                                                       : NULL;
  case HR_SERVICE_ORCA_SPLITWISE:
    return total > capacity ? "prompt and output exceed the memory" : NULL;
  case HR_SERVICE_DISAGGREGATED:
  case HR_SERVICE_COLOCATED:
    if (!service->phases.chunked && prompt_tokens > limits->max_batch_tokens)
      return "the prompt exceeds max_batch_tokens";
    return total > service->phases.decode_context_tokens ? "prompt and output exceed decode_context_tokens" : NULL;
  case HR_SERVICE_STATIC:
    if (prompt_tokens > limits->max_batch_tokens) return "the prompt exceeds max_batch_tokens";
    break;
  case HR_SERVICE_DYNAMIC_BATCH:
  case HR_SERVICE_SINGLE:
    return NULL;
  default:
    break;
  }
  return hr__blocks_for(limits, total) + watermark_of(service) > capacity ? "prompt and output exceed the memory"
                                                                          : NULL;
}

/* ---- Steady sequences ------------------------------------------------------------------------------- */

/* The clock may overflow, so only differences are compared. */
static bool ends_earlier(const void *self, uint64_t a, uint64_t b) {
  (void)self;
  return (int64_t)(a - b) < 0;
}

HR__HEAP(ends, uint64_t, ends_earlier)

/* Returns tokens modulo the size of a block, which is usually a power of two. */
static uint32_t block_rest(const struct hr_service_limits *limits, uint32_t tokens) {
  const uint32_t n = limits->block_tokens;
  return n & (n - 1) ? tokens % n : tokens & (n - 1);
}

/* Sets the phase of the clock, and the phase of the sequences that need a new block in the next iteration. A sequence
   needs a new block if its blocks are full. Then the number of its tokens, including the newest token, is 1 modulo
   block_tokens. */
static void set_phase(struct hr__replica *replica, uint32_t phase) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint32_t n = limits->block_tokens, full = block_rest(limits, 1);
  replica->steady.phase = phase;
  replica->steady.growing = phase <= full ? full - phase : full + n - phase;
}

/* Returns the phase of a sequence that has processed `processed` tokens. */
static uint32_t phase_of(const struct hr__replica *replica, uint32_t processed) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint32_t rest = block_rest(limits, processed), phase = replica->steady.phase;
  return rest >= phase ? rest - phase : rest + limits->block_tokens - phase;
}

void hr__steady_add(struct hr__replica *replica, uint32_t id) {
  struct hr__steady *steady = &replica->steady;
  struct hr__sequence *sequence = hr__sequence_of(replica, id);
  if (replica->steps) {
    replica->running[replica->n_running++] = id;
    return;
  }
  const uint32_t end = steady->clock + (sequence->total - sequence->processed);
  ends_rise(steady->ends, steady->count++, (uint64_t)end << 32 | id, NULL);
  if (steady->phases) steady->phases[phase_of(replica, sequence->processed)]++;
  if (sequence->order > steady->last_order) steady->last_order = sequence->order;
  steady->context += sequence->processed;
  sequence->processed -= steady->clock;
}

/* Sets `processed` and `memory` of a sequence that has left the heap to their actual values. */
static void leave(struct hr__replica *replica, uint32_t id) {
  struct hr__steady *steady = &replica->steady;
  struct hr__sequence *sequence = hr__sequence_of(replica, id);
  sequence->processed += steady->clock;
  steady->context -= sequence->processed;
  if (!steady->phases) return;
  steady->phases[phase_of(replica, sequence->processed)]--;
  /* the newest token is not in memory yet */
  const uint32_t blocks = (uint32_t)hr__blocks_for(&replica->service->limits, sequence->processed - 1);
  if (blocks > sequence->memory) sequence->memory = blocks;
}

void hr__steady_release(struct hr__replica *replica) {
  struct hr__steady *steady = &replica->steady;
  const uint32_t n_first = replica->n_first, n_last = replica->n_running - n_first, count = steady->count;
  /* the order of the other sequences does not change */
  for (uint32_t i = n_last; i > 0; i--) replica->running[n_first + count + i - 1] = replica->running[n_first + i - 1];
  steady->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t id = (uint32_t)steady->ends[i], order = hr__sequence_of(replica, id)->order;
    leave(replica, id);
    uint32_t at = n_first + i;
    for (; at > n_first && hr__sequence_of(replica, replica->running[at - 1])->order > order; at--)
      replica->running[at] = replica->running[at - 1];
    replica->running[at] = id;
  }
  replica->n_running += count;
  steady->last_order = 0;
}

/* Let g(i) be the number of blocks that the steady sequences take in the next i iterations. Returns g(count), and sets
   `*all` to g(1) + ... + g(count). */
static uint64_t growth_and_sum(const struct hr__replica *replica, uint32_t count, uint64_t *all) {
  const struct hr__steady *steady = &replica->steady;
  const uint32_t n = replica->service->limits.block_tokens, rounds = count >= n ? count / n : 0;
  const uint32_t rest = count - rounds * n, most = rounds ? n : count;
  uint64_t growth = 0, sum = 0, rest_growth = 0, rest_sum = 0;
  uint32_t at = steady->growing;
  for (uint32_t i = 1; i <= most; i++) {
    growth += steady->phases[at];
    sum += growth;
    if (i == rest) rest_growth = growth, rest_sum = sum;
    at = at ? at - 1 : n - 1;
  }
  *all = rest_sum;
  if (!rounds) return rest_growth;
  /* in each round of n iterations, each sequence takes one more block */
  const uint64_t many = rounds;
  *all += many * sum + (many * (many - 1) / 2 * n + many * rest) * steady->count;
  return many * steady->count + rest_growth;
}

/* Allocates the memory that the steady sequences took in the iterations that have ended, and updates the sum and the
   peak of used memory. The memory of the first iteration was allocated before. */
static void take_growth(struct hr__replica *replica) {
  const uint32_t n = replica->n_repeats;
  replica->used_sum += n * replica->used;
  if (n > 1 && replica->with_steady && replica->steady.phases) {
    uint64_t sum;
    const uint64_t first = hr__steady_need(replica), growth = growth_and_sum(replica, n, &sum);
    replica->used_sum += sum - n * first;
    replica->used += growth - first;
  }
  if (replica->used > replica->used_peak) replica->used_peak = replica->used;
}

/* Returns the number of iterations for which the memory suffices, at most `most`. The memory for the first iteration is
   already allocated. */
static uint32_t lasting(const struct hr__replica *replica, uint32_t most) {
  const struct hr__steady *steady = &replica->steady;
  if (!steady->phases) return most;
  const uint32_t n = replica->service->limits.block_tokens;
  const uint64_t reserve = replica->service->engine != HR_SERVICE_VLLM_V1;
  const uint64_t spare = hr__free_memory(replica) + hr__steady_need(replica) - reserve;
  if ((uint64_t)most * steady->count <= spare || (uint64_t)(most / n + 1) * steady->count <= spare) return most;
  const uint64_t rounds = spare / steady->count;
  const uint64_t safe = rounds * n;
  if (safe >= most) return most;
  uint64_t used = rounds * steady->count;
  uint32_t lasts = (uint32_t)safe, at = steady->growing;
  for (; lasts < most; lasts++) {
    used += steady->phases[at];
    if (used > spare) break;
    at = at ? at - 1 : n - 1;
  }
  return lasts;
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

/* Sets `load` to the load of the first iteration of the batch. */
static void weigh(struct hr__replica *replica) {
  struct hr__batch_load load = {0};
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    const struct hr__sequence *sequence = hr__sequence_of(replica, replica->batch[i].id);
    const uint64_t tokens = replica->batch[i].tokens;
    load.context += sequence->processed;
    load.decodes += sequence->is_decoding;
    if (sequence->is_decoding) continue;
    load.prompts += tokens;
    load.squares += tokens * tokens;
  }
  if (replica->with_steady) {
    load.decodes += replica->steady.count;
    load.context += replica->steady.context;
  }
  /* in the one pass of `dynamic-batch`, each request also counts as a sequence; with a table of knots, only as a
     sequence */
  if (replica->service->engine == HR_SERVICE_DYNAMIC_BATCH) {
    load.decodes = replica->n_batch;
    if (replica->service->cost.n_knots) load.prompts = 0;
  }
  replica->load = load;
}

/* Returns for how many successive iterations the same batch would be formed. The batch changes if it has sequences that
   are not steady, if a steady sequence ends, or if memory may not suffice. In these iterations, waiting requests are
   not admitted, because the free memory only decreases. `static`: the batch changes when its longest sequence ends. */
static uint32_t repeats(const struct hr__replica *replica) {
  const struct hr__steady *steady = &replica->steady;
  if (replica->service->engine == HR_SERVICE_STATIC && !replica->steps && !replica->load.prompts)
    return hr__static_rest(replica);
  if (!replica->with_steady || replica->n_batch || replica->n_running) return 1;
  const uint32_t most = (uint32_t)(steady->ends[0] >> 32) - steady->clock;
  return lasting(replica, most);
}

/* Forms a batch, and sets the number of iterations with this batch and their times. Returns false if no sequence can
   run. */
static bool form(struct hr__replica *replica) {
  replica->n_batch = replica->n_admitted = 0;
  replica->with_steady = replica->has_restarted = false;
  replica->wait_ticks = 0;
  hr__engine_form(replica);
  /* the only sequence has lost its memory, and can be admitted again immediately */
  if (!replica->n_batch && replica->has_restarted) hr__engine_form(replica);
  replica->is_open = replica->waiting.count == 0 && replica->service->engine != HR_SERVICE_STATIC;
  if (!replica->n_batch && !replica->with_steady) return false;
  weigh(replica);
  replica->n_repeats = repeats(replica);
  hr__price_set(&replica->price, &replica->pricing, &replica->load, replica->n_repeats > 1 ? replica->load.decodes : 0);
  return true;
}

/* Returns the part of a time that counts as busy time. While a replica waits for an event instead of running
   iterations, it serves requests with `single`, but is idle with `dynamic-batch`. */
static int64_t busy_part(const struct hr__replica *replica, int64_t ticks) {
  return replica->wait_ticks && replica->service->engine != HR_SERVICE_SINGLE ? 0 : ticks;
}

/* Returns the time of all iterations with the batch, and sets `n_repeats` and `last_ticks`. The iterations end earlier
   if a request is expected that would change the batch. */
static int64_t run_ticks(struct hr__replica *replica, int64_t now_ticks, int64_t horizon_ticks) {
  if (replica->n_repeats == 1) return replica->last_ticks = hr__price_first_ticks(&replica->price);
  /* if another request waits, a request that arrives does not end the iterations */
  const bool is_expected = replica->is_open && horizon_ticks != HR_NEVER_US;
  const struct hr__price_run run =
      hr__price_sum(&replica->price, replica->n_repeats, is_expected ? horizon_ticks - now_ticks : INT64_MAX);
  replica->n_repeats = run.count;
  replica->last_ticks = run.last_ticks;
  return run.sum_ticks;
}

/* Begins the wait for the next event of an engine without a batch. Returns the time until this event. */
static int64_t begin_to_wait(struct hr__replica *replica) {
  /* an arrival ends the wait, unless all servers are busy */
  const struct hr_service *service = replica->service;
  const bool is_full =
      service->engine == HR_SERVICE_SINGLE && !service->single.shares && replica->n_due == service->single.servers;
  replica->n_repeats = is_full ? 1 : 2;
  replica->is_open = !is_full;
  return replica->wait_ticks;
}

bool hr__replica_begin(struct hr__replica *replica, int64_t now_ticks, int64_t horizon_ticks) {
  replica->begin_ticks = now_ticks;
  replica->end_ticks = HR_NEVER_US;
  const bool has_batch = form(replica);
  if (!has_batch && !replica->wait_ticks) return false;
  const int64_t ticks = has_batch ? run_ticks(replica, now_ticks, horizon_ticks) : begin_to_wait(replica);
  replica->busy_ticks += busy_part(replica, ticks);
  replica->end_ticks = now_ticks + ticks;
  return true;
}

/* ---- Iterations ------------------------------------------------------------------------------------- */

void hr__replica_cut(struct hr__replica *replica, int64_t at_ticks, bool after) {
  const int64_t passed_ticks = at_ticks - replica->begin_ticks;
  struct hr__price_run run = {replica->n_repeats, passed_ticks, 0};
  if (!replica->wait_ticks) {
    const int64_t until_ticks = passed_ticks + after;
    /* the last iteration already runs */
    if (replica->end_ticks - replica->last_ticks < replica->begin_ticks + until_ticks) return;
    run = hr__price_sum(&replica->price, replica->n_repeats, until_ticks);
  }
  replica->n_repeats = run.count;
  replica->busy_ticks -= busy_part(replica, replica->end_ticks - replica->begin_ticks - run.sum_ticks);
  replica->end_ticks = replica->begin_ticks + run.sum_ticks;
  replica->last_ticks = run.last_ticks;
}

/* Processes `tokens` tokens of a sequence. If this completes its prompt, sets `*is_first`, and the sequence has its
   next token. Returns whether the sequence then has all its tokens. */
static bool advance(struct hr__sequence *sequence, uint32_t tokens, bool *is_first) {
  sequence->processed += tokens;
  *is_first = !sequence->is_decoding && sequence->processed == sequence->prompt;
  if (*is_first) {
    sequence->is_decoding = true;
    sequence->processed++;
  }
  return sequence->processed == sequence->total;
}

/* Ends iterations that decoded the steady sequences. Sequences that have all their tokens leave. */
static void end_steady(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  struct hr__steady *steady = &replica->steady;
  const uint32_t n = replica->n_repeats;
  steady->clock += n;
  set_phase(replica, block_rest(&replica->service->limits, steady->phase + n));
  steady->context += (uint64_t)n * steady->count;
  while (steady->count && (uint32_t)(steady->ends[0] >> 32) == steady->clock) {
    const uint32_t id = (uint32_t)steady->ends[0];
    steady->count--;
    ends_sink(steady->ends, steady->count, steady->ends[steady->count], NULL);
    leave(replica, id);
    event(context, id, false, true);
    hr__give_back_memory(replica, id);
  }
  if (!steady->count) steady->last_order = 0;
}

static void end_item(struct hr__replica *replica, const struct hr__batch_item *item, hr__sequence_event *event,
                     void *context) {
  struct hr__sequence *sequence = hr__sequence_of(replica, item->id);
  const enum hr_service_engine engine = replica->service->engine;
  bool is_first;
  const bool is_last = advance(sequence, item->tokens, &is_first);
  if (is_first || is_last) event(context, item->id, is_first, is_last);
  if (is_last) {
    hr__give_back_memory(replica, item->id);
    return;
  }
  if (is_first && engine == HR_SERVICE_ORCA_SPLITWISE) {
    replica->no_memory |= !hr__queue_insert(&replica->waiting, item->id);
    return;
  }
  /* with `vllm-v1`, the order of a sequence remains that of its admission */
  if (engine != HR_SERVICE_VLLM_V1) sequence->order = engine == HR_SERVICE_VLLM_V0 ? item->id : ++replica->n_orders;
  if (sequence->is_decoding)
    hr__steady_add(replica, item->id);
  else
    replica->running[replica->n_running++] = item->id;
}

/* Ends the iterations of an engine that does not add requests to a running batch. */
static void end_whole(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  if (!replica->wait_ticks) replica->iterations += replica->n_repeats;
  if (replica->service->engine == HR_SERVICE_STATIC) take_growth(replica);
  if (replica->service->engine == HR_SERVICE_STATIC)
    hr__end_static(replica, event, context);
  else if (replica->service->engine == HR_SERVICE_DYNAMIC_BATCH)
    hr__end_dynamic(replica, event, context);
  else
    hr__end_single(replica, event, context);
  replica->n_batch = 0;
}

void hr__replica_end(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  if (replica->service->engine >= HR_SERVICE_STATIC) {
    end_whole(replica, event, context);
    return;
  }
  replica->iterations += replica->n_repeats;
  take_growth(replica);
  if (replica->with_steady) end_steady(replica, event, context);
  /* running sequences that decode and were not in the batch precede the sequences of the batch */
  if (!replica->steps && replica->n_running && !replica->with_steady) {
    const uint32_t count = replica->n_running;
    replica->n_running = 0;
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t id = replica->running[i];
      if (hr__sequence_of(replica, id)->is_decoding)
        hr__steady_add(replica, id);
      else
        replica->running[replica->n_running++] = id;
    }
  }
  replica->n_first = replica->n_running;
  for (uint32_t i = 0; i < replica->n_batch; i++) end_item(replica, &replica->batch[i], event, context);
  replica->n_batch = 0;
}

/* ---- Loss of a replica ------------------------------------------------------------------------------ */

/* Ends the iterations that are complete at `now_ticks`, and abandons the iteration that runs. */
static void abandon(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context) {
  const int64_t passed_ticks = now_ticks - replica->begin_ticks,
                length_ticks = replica->end_ticks - replica->begin_ticks;
  if (replica->wait_ticks) {
    replica->busy_ticks -= busy_part(replica, length_ticks - passed_ticks);
    replica->end_ticks = HR_NEVER_US;
    return;
  }
  struct hr__price_run run = hr__price_sum(&replica->price, replica->n_repeats, passed_ticks);
  if (run.sum_ticks > passed_ticks) run.count--; /* the iteration that runs is not complete */
  replica->busy_ticks -= length_ticks - passed_ticks;
  replica->end_ticks = HR_NEVER_US;
  replica->n_repeats = run.count;
  if (run.count) {
    hr__replica_end(replica, event, context);
    return;
  }
  if (replica->with_steady) replica->used -= hr__steady_need(replica);
  for (uint32_t i = 0; i < replica->n_batch; i++) replica->running[replica->n_running++] = replica->batch[i].id;
  replica->n_batch = 0;
}

void hr__replica_kill(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context) {
  if (replica->end_ticks != HR_NEVER_US) abandon(replica, now_ticks, event, context);
  replica->n_first = 0;
  hr__steady_release(replica);
  hr__stop_single(replica);
  while (replica->n_running)
    replica->no_memory |= !hr__queue_push_front(&replica->waiting, replica->running[--replica->n_running]);
  for (uint32_t i = 0; i < replica->waiting.count; i++) {
    const uint32_t id = hr__queue_at(&replica->waiting, i);
    struct hr__sequence *sequence = hr__sequence_of(replica, id);
    const bool has_begun = sequence->memory || sequence->processed;
    if (has_begun && replica->restarts[id] < UINT16_MAX) replica->restarts[id]++;
    if (has_begun) hr__replica_note_loss(replica, id, now_ticks);
    hr__give_back_memory(replica, id);
    hr__note_lost_tokens(replica, id);
    /* in a batch of `static`, sequences can already have all their tokens */
    if (sequence->processed >= sequence->total) sequence->processed = sequence->total - 1;
    if (sequence->is_decoding) sequence->prompt = sequence->processed;
    sequence->processed = 0;
    sequence->is_decoding = false;
  }
}

void hr__replica_count_loss(struct hr__replica *replica) {
  struct hr_service_result *result = replica->result;
  if (!result) return;
  const int64_t at_us = replica->origin_us + (replica->begin_ticks >> HR__TICK_BITS),
                minute = at_us / (60 * HR_SECOND_US);
  if (!result->n_losses || result->losses[result->n_losses - 1].minute != minute) {
    if (!HR__ARRAY_HAS_ROOM(result->losses, result->n_losses, result->losses_capacity)) {
      replica->no_memory = true;
      return;
    }
    result->losses[result->n_losses++] = (struct hr_memory_losses){.minute = minute};
  }
  result->losses[result->n_losses - 1].count++;
}

/* ---- Memory of replicas ----------------------------------------------------------------------------- */

bool hr__replica_open(struct hr__replica *replica, const struct hr_service *service,
                      const struct hr__sequences *sequences, uint16_t *restarts, bool steps) {
  const uint32_t servers = service->engine == HR_SERVICE_SINGLE ? service->single.servers : 0;
  const uint32_t room = service->limits.max_sequences > servers ? service->limits.max_sequences : servers;
  *replica = (struct hr__replica){.service = service,
                                  .sequences = sequences,
                                  .pricing = hr__pricing_of(&service->cost),
                                  .end_ticks = HR_NEVER_US,
                                  .idle_from_ticks = HR_NEVER_US,
                                  .restarts = restarts,
                                  .steps = steps,
                                  .capacity = hr__replica_capacity(service),
                                  .watermark = watermark_of(service)};
  set_phase(replica, 0);
  return HR__ARRAY_MAKE(replica->running, room) && HR__ARRAY_MAKE(replica->batch, room) &&
         HR__ARRAY_MAKE(replica->admitted, room) && HR__ARRAY_MAKE(replica->steady.ends, room) &&
         (!grows(service) || HR__ARRAY_MAKE(replica->steady.phases, service->limits.block_tokens)) &&
         (service->engine != HR_SERVICE_SINGLE || HR__ARRAY_MAKE(replica->due, room));
}

void hr__replica_close(struct hr__replica *replica) {
  free(replica->waiting.ids);
  free(replica->running);
  free(replica->batch);
  free(replica->admitted);
  free(replica->steady.ends);
  free(replica->steady.phases);
  free(replica->due);
}
