/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replicas: how each engine forms batches, what an iteration costs, and what it changes.
 *
 * Sources: `vllm-v0`, `sarathi` and `orca` are the schedulers of microsoft/vidur; `orca-splitwise` is the instance of
 * Mutinifni/splitwise-sim; `vllm-v1` is vllm-project/vllm, v1/core/sched/scheduler.py.
 */

#include "sim/services/replica.h"

#include "base/array.h"

#include <math.h>

/* ---- Queues ----------------------------------------------------------------------------------------- */

/* Doubles the capacity of a full ring. */
static bool make_room(struct hr__sequence_queue *queue) {
  if (queue->count < queue->capacity) return true;
  const uint32_t before = queue->capacity, after = before ? 2 * before : 64;
  if (!HR__ARRAY_RESIZE(queue->ids, after)) return false;
  /* the part before the first entry moves behind the old end */
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

/* ---- Memory ----------------------------------------------------------------------------------------- */

static uint64_t blocks_for(const struct hr_service_limits *limits, uint64_t tokens) {
  return (tokens + limits->block_tokens - 1) / limits->block_tokens;
}

/* The memory of a replica, in its unit. */
static uint64_t capacity_of(const struct hr_service *service) {
  const struct hr_service_limits *limits = &service->limits;
  if (service->engine == HR_SERVICE_ORCA_SPLITWISE)
    return limits->kv_tokens > 0 ? (uint64_t)limits->kv_tokens : limits->kv_blocks * limits->block_tokens;
  return limits->kv_blocks ? limits->kv_blocks : (uint64_t)limits->kv_tokens / limits->block_tokens;
}

static uint64_t watermark_of(const struct hr_service *service) {
  const bool has_watermark = service->engine == HR_SERVICE_VLLM_V0 || service->engine == HR_SERVICE_SARATHI;
  return has_watermark ? (uint64_t)(service->limits.watermark * (double)capacity_of(service)) : 0;
}

static uint64_t free_of(const struct hr__replica *replica) {
  return capacity_of(replica->service) - replica->used;
}

static void take(struct hr__replica *replica, uint32_t id, uint64_t memory) {
  struct hr__sequence *sequence = &replica->sequences[id];
  if (sequence->memory == 0) replica->n_held++;
  sequence->memory += (uint32_t)memory;
  replica->used += memory;
}

static void give_back(struct hr__replica *replica, uint32_t id) {
  struct hr__sequence *sequence = &replica->sequences[id];
  if (sequence->memory) replica->n_held--;
  replica->used -= sequence->memory;
  sequence->memory = 0;
}

/* Takes the memory of a sequence, which waits again, before all others. What it has produced is computed again. */
static void restart(struct hr__replica *replica, uint32_t id) {
  struct hr__sequence *sequence = &replica->sequences[id];
  give_back(replica, id);
  replica->has_restarted = true;
  replica->recomputed_tokens += sequence->processed;
  /* Vidur also shortens a prompt that is not complete; the rest is then produced token by token */
  const bool keeps_prompt = replica->service->engine == HR_SERVICE_VLLM_V1 && !sequence->is_decoding;
  if (!keeps_prompt) sequence->prompt = sequence->processed;
  sequence->processed = 0;
  sequence->is_decoding = false;
  if (replica->restarts[id] < UINT16_MAX) replica->restarts[id]++;
  if (!hr__queue_push_front(&replica->waiting, id)) replica->no_memory = true;
}

const char *hr_service_refusal(const struct hr_service *service, uint32_t prompt_tokens, uint32_t output_tokens) {
  const struct hr_service_limits *limits = &service->limits;
  const uint64_t total = (uint64_t)prompt_tokens + output_tokens, capacity = capacity_of(service);
  switch (service->engine) {
  case HR_SERVICE_VLLM_V0:
    if (prompt_tokens > limits->max_batch_tokens) return "the prompt exceeds max_batch_tokens";
    break;
  case HR_SERVICE_ORCA:
    if (total > limits->max_batch_tokens) return "prompt and output exceed max_batch_tokens";
    return blocks_for(limits, limits->max_batch_tokens) > capacity ? "the replica has no memory for a request" : NULL;
  case HR_SERVICE_ORCA_SPLITWISE:
    return total > capacity ? "prompt and output exceed the memory" : NULL;
  default:
    break;
  }
  return blocks_for(limits, total) + watermark_of(service) > capacity ? "prompt and output exceed the memory" : NULL;
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

static void add_to_batch(struct hr__replica *replica, uint32_t id, uint32_t tokens) {
  replica->batch[replica->n_batch++] = (struct hr__batch_item){id, tokens};
}

static uint32_t rest_of_prompt(const struct hr__sequence *sequence) {
  return sequence->prompt - sequence->processed;
}

/* Keeps the order of arrival. The list is nearly sorted. */
static void sort_running(struct hr__replica *replica) {
  uint32_t *ids = replica->running;
  for (uint32_t i = 1; i < replica->n_running; i++) {
    const uint32_t id = ids[i];
    uint32_t at = i;
    for (; at > 0 && ids[at - 1] > id; at--) ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

/* Removes the first `count` running sequences. */
static void drop_running(struct hr__replica *replica, uint32_t count) {
  for (uint32_t i = count; i < replica->n_running; i++) replica->running[i - count] = replica->running[i];
  replica->n_running -= count;
}

/* Whether a sequence without memory may take the memory of its whole prompt. */
static bool prompt_fits(const struct hr__replica *replica, uint32_t id) {
  const uint64_t blocks = blocks_for(&replica->service->limits, replica->sequences[id].prompt);
  return free_of(replica) >= blocks + watermark_of(replica->service);
}

/* Decodes one token: the sequence needs a free block, which it takes only if its last block is full. If none is free,
   the last of the sequences from `next` on loses its memory. Returns false if the sequence itself does. */
static bool decode(struct hr__replica *replica, uint32_t id, uint32_t next) {
  while (free_of(replica) < 1) {
    if (next == replica->n_running) {
      restart(replica, id);
      return false;
    }
    restart(replica, replica->running[--replica->n_running]);
  }
  const struct hr__sequence *sequence = &replica->sequences[id];
  if (sequence->processed > (uint64_t)sequence->memory * replica->service->limits.block_tokens) take(replica, id, 1);
  add_to_batch(replica, id, 1);
  return true;
}

/* ---- vllm-v0 ---- */

static bool add_prompts(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  uint64_t longest = 0;
  while (replica->waiting.count) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), prompt = replica->sequences[id].prompt;
    if (prompt > longest) longest = prompt;
    /* prompts are padded to the longest; one that became too long by a restart runs alone */
    const bool is_long = (replica->n_batch + 1) * longest > limits->max_batch_tokens;
    if (!prompt_fits(replica, id) || (is_long && replica->n_batch > 0) || replica->n_held == limits->max_sequences)
      break;
    hr__queue_pop(&replica->waiting);
    take(replica, id, blocks_for(limits, prompt));
    add_to_batch(replica, id, prompt);
  }
  return replica->n_batch > 0;
}

static void form_vllm_v0(struct hr__replica *replica) {
  if (add_prompts(replica)) return;
  sort_running(replica);
  uint32_t next = 0;
  while (next < replica->n_running && replica->n_batch < replica->service->limits.max_sequences) {
    const uint32_t id = replica->running[next++];
    decode(replica, id, next);
  }
  drop_running(replica, next);
}

/* ---- sarathi ---- */

static void form_sarathi(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  uint32_t n_prefills = 0, tokens = 0, next = 0;
  /* decodes; sequences with an incomplete prompt are collected at the beginning of the list */
  while (next < replica->n_running && replica->n_batch < limits->max_sequences) {
    const uint32_t id = replica->running[next++];
    if (!replica->sequences[id].is_decoding)
      replica->running[n_prefills++] = id;
    else if (decode(replica, id, next))
      tokens++;
  }
  uint32_t n_left = 0;
  for (uint32_t i = 0; i < n_prefills; i++) {
    const uint32_t id = replica->running[i], rest = rest_of_prompt(&replica->sequences[id]);
    const uint32_t room = tokens < limits->chunk_tokens ? limits->chunk_tokens - tokens : 0;
    const uint32_t n = rest < room ? rest : room;
    if (n) add_to_batch(replica, id, n);
    if (!n) replica->running[n_left++] = id;
    tokens += n;
  }
  for (uint32_t i = next; i < replica->n_running; i++) replica->running[n_left++] = replica->running[i];
  replica->n_running = n_left;
  sort_running(replica);
  while (replica->waiting.count && replica->n_held < limits->max_sequences &&
         replica->n_batch < limits->max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), rest = rest_of_prompt(&replica->sequences[id]);
    const uint32_t room = tokens < limits->chunk_tokens ? limits->chunk_tokens - tokens : 0;
    const uint32_t n = rest < room ? rest : room;
    if (!n || !prompt_fits(replica, id)) break;
    hr__queue_pop(&replica->waiting);
    take(replica, id, blocks_for(limits, replica->sequences[id].prompt));
    add_to_batch(replica, id, n);
    tokens += n;
  }
}

/* ---- orca ---- */

static void form_orca(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint64_t reserved = blocks_for(limits, limits->max_batch_tokens);
  uint32_t next = 0;
  while (next < replica->n_running && replica->n_batch < limits->max_sequences)
    add_to_batch(replica, replica->running[next++], 1);
  drop_running(replica, next);
  while (replica->waiting.count && replica->n_batch < limits->max_sequences && free_of(replica) >= reserved) {
    const uint32_t id = hr__queue_pop(&replica->waiting);
    take(replica, id, reserved);
    add_to_batch(replica, id, replica->sequences[id].prompt);
  }
}

/* ---- orca-splitwise ---- */

/* A request is a prompt and then a token task; both are admitted in order of arrival. */
static void form_splitwise(struct hr__replica *replica) {
  for (uint32_t i = 0; i < replica->n_running; i++) add_to_batch(replica, replica->running[i], 1);
  replica->n_running = 0;
  while (replica->waiting.count && replica->n_batch < replica->service->limits.max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0);
    const struct hr__sequence *sequence = &replica->sequences[id];
    const uint64_t needed = sequence->is_decoding ? sequence->total - sequence->prompt - 1 : sequence->prompt + 1;
    if (free_of(replica) < needed) break;
    hr__queue_pop(&replica->waiting);
    take(replica, id, needed);
    add_to_batch(replica, id, sequence->is_decoding ? 1 : sequence->prompt);
  }
}

/* ---- vllm-v1 ---- */

/* Gives a sequence the memory for `tokens` more tokens; others that were admitted later lose theirs, the last first.
   Returns false if the sequence itself does. */
static bool extend(struct hr__replica *replica, uint32_t id, uint32_t next, uint32_t tokens) {
  const struct hr__sequence *sequence = &replica->sequences[id];
  const uint64_t in_memory = sequence->processed - sequence->is_decoding; /* the newest token is not in memory yet */
  const uint64_t wanted = blocks_for(&replica->service->limits, in_memory + tokens);
  const uint64_t more = wanted > sequence->memory ? wanted - sequence->memory : 0;
  while (free_of(replica) < more) {
    if (next == replica->n_running) {
      restart(replica, id);
      return false;
    }
    restart(replica, replica->running[--replica->n_running]);
  }
  take(replica, id, more);
  return true;
}

static void form_vllm_v1(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint32_t n_before = replica->waiting.count;
  uint32_t budget = limits->max_batch_tokens, next = 0;
  while (next < replica->n_running && budget > 0) {
    const uint32_t id = replica->running[next++];
    const struct hr__sequence *sequence = &replica->sequences[id];
    const uint32_t rest = sequence->is_decoding ? 1 : rest_of_prompt(sequence), n = rest < budget ? rest : budget;
    if (!extend(replica, id, next, n)) break;
    add_to_batch(replica, id, n);
    budget -= n;
  }
  drop_running(replica, next);
  if (replica->waiting.count > n_before) return; /* something lost its memory */
  while (replica->waiting.count && budget > 0 && replica->n_batch + replica->n_running < limits->max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), rest = rest_of_prompt(&replica->sequences[id]);
    const uint32_t n = rest < budget ? rest : budget;
    const uint64_t blocks = blocks_for(limits, n);
    if (free_of(replica) < blocks) break;
    hr__queue_pop(&replica->waiting);
    take(replica, id, blocks);
    add_to_batch(replica, id, n);
    budget -= n;
  }
}

/* Sums the load of the batch. Returns how often it would be formed again: while all sequences decode, none ends, and
   memory surely lasts. A request that waits was not admitted for a reason that stays: the memory only shrinks. */
static uint32_t weigh(struct hr__replica *replica) {
  struct hr__batch_load load = {0};
  uint32_t most = UINT32_MAX;
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    const struct hr__sequence *sequence = &replica->sequences[replica->batch[i].id];
    const uint32_t left = sequence->total - sequence->processed;
    load.decodes += sequence->is_decoding;
    load.prompts += sequence->is_decoding ? 0 : replica->batch[i].tokens;
    load.context += sequence->processed;
    if (left < most) most = left;
  }
  replica->load = load;
  if (replica->has_restarted || replica->n_running || load.prompts || !replica->n_batch) return 1;
  const enum hr_service_engine engine = replica->service->engine;
  if (engine == HR_SERVICE_ORCA || engine == HR_SERVICE_ORCA_SPLITWISE) return most;
  /* a sequence takes at most one more block in block_tokens iterations */
  const uint64_t spare = free_of(replica) > 0 ? free_of(replica) - 1 : 0;
  const uint64_t safe = spare / replica->n_batch * replica->service->limits.block_tokens + 1;
  return safe < most ? (uint32_t)safe : most;
}

void hr__replica_form(struct hr__replica *replica, bool steps) {
  static void (*const form[HR_N_SERVICE_ENGINES])(struct hr__replica *) = {form_vllm_v1, form_vllm_v0, form_sarathi,
                                                                           form_orca, form_splitwise};
  replica->n_batch = 0;
  replica->has_restarted = false;
  form[replica->service->engine](replica);
  /* the only sequence has lost its memory, and can be admitted again at once */
  if (!replica->n_batch && replica->has_restarted) form[replica->service->engine](replica);
  replica->is_open = replica->waiting.count == 0;
  const uint32_t repeats = weigh(replica);
  replica->n_repeats = steps ? 1 : repeats;
}

/* ---- Iterations ------------------------------------------------------------------------------------- */

static int64_t cost_of(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  const double batch_us = cost->fixed_us + cost->per_prompt_token_us * (double)load->prompts +
                          cost->per_sequence_us * (double)load->decodes;
  const double context_us = cost->per_context_ktoken_us * (double)load->context / 1000;
  const int64_t ticks = cost->integer ? HR__TICKS(llround(batch_us + floor(context_us)))
                                      : llround(ldexp(batch_us + context_us, HR__TICK_BITS));
  return ticks > 0 ? ticks : 1; /* time passes in every iteration */
}

/* Sums iterations (the context grows by a token for each sequence) until there are `count` of them, or until one ends
   at `until_ticks` or later. Returns their number. */
static uint32_t sum_iterations(const struct hr__replica *replica, uint32_t count, int64_t until_ticks,
                               int64_t *sum_ticks) {
  const struct hr_service_cost *cost = &replica->service->cost;
  struct hr__batch_load load = replica->load;
  int64_t one_ticks = cost_of(cost, &load);
  uint32_t n = 0;
  if (cost->per_context_ktoken_us <= 0) {
    const int64_t needed = until_ticks / one_ticks + (until_ticks % one_ticks > 0);
    n = needed < count ? (uint32_t)needed : count;
    *sum_ticks = n * one_ticks;
    return n;
  }
  for (*sum_ticks = 0; n < count && *sum_ticks < until_ticks; n++) {
    *sum_ticks += one_ticks;
    load.context += replica->n_batch;
    one_ticks = cost_of(cost, &load);
  }
  return n;
}

int64_t hr__replica_cost(const struct hr__replica *replica, uint32_t count) {
  int64_t sum_ticks;
  sum_iterations(replica, count, HR_NEVER_US, &sum_ticks);
  return sum_ticks;
}

void hr__replica_cut(struct hr__replica *replica, int64_t at_ticks, bool after) {
  const int64_t until_ticks = at_ticks - replica->begin_ticks + after;
  int64_t sum_ticks;
  const uint32_t n = sum_iterations(replica, replica->n_repeats, until_ticks > 1 ? until_ticks : 1, &sum_ticks);
  replica->busy_ticks -= replica->end_ticks - replica->begin_ticks - sum_ticks;
  replica->n_repeats = n;
  replica->end_ticks = replica->begin_ticks + sum_ticks;
}

/* A prompt that is complete yields the first token at once. Returns whether the sequence has all its tokens. */
static bool advance(struct hr__sequence *sequence, uint32_t tokens, bool *is_first) {
  sequence->processed += tokens;
  *is_first = !sequence->is_decoding && sequence->processed == sequence->prompt;
  if (*is_first) {
    sequence->is_decoding = true;
    sequence->processed++;
  }
  return sequence->processed == sequence->total;
}

/* Takes the memory that a decoding sequence has used up before the last iteration. */
static void grow(struct hr__replica *replica, uint32_t id) {
  const struct hr__sequence *sequence = &replica->sequences[id];
  const uint64_t room = (uint64_t)sequence->memory * replica->service->limits.block_tokens;
  if (sequence->processed - 1 > room)
    take(replica, id, blocks_for(&replica->service->limits, sequence->processed - 1) - sequence->memory);
}

void hr__replica_end(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  const enum hr_service_engine engine = replica->service->engine;
  const uint32_t more = replica->n_repeats - 1;
  const bool grows = more && engine != HR_SERVICE_ORCA && engine != HR_SERVICE_ORCA_SPLITWISE;
  replica->iterations += replica->n_repeats;
  for (uint32_t i = 0; i < replica->n_batch; i++) {
    const uint32_t id = replica->batch[i].id;
    bool is_first;
    const bool is_last = advance(&replica->sequences[id], replica->batch[i].tokens + more, &is_first);
    if (grows) grow(replica, id);
    if (is_first || is_last) event(context, id, is_first, is_last);
    if (is_last)
      give_back(replica, id);
    else if (is_first && replica->service->engine == HR_SERVICE_ORCA_SPLITWISE)
      replica->no_memory |= !hr__queue_insert(&replica->waiting, id);
    else
      replica->running[replica->n_running++] = id;
  }
  replica->n_batch = 0;
}

/* ---- Loss of a replica ------------------------------------------------------------------------------ */

/* Ends the iterations that are complete, and gives up the present one. */
static void abandon(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context) {
  int64_t sum_ticks;
  const int64_t passed_ticks = now_ticks - replica->begin_ticks,
                length_ticks = replica->end_ticks - replica->begin_ticks;
  uint32_t n = sum_iterations(replica, replica->n_repeats, passed_ticks > 1 ? passed_ticks : 1, &sum_ticks);
  if (sum_ticks > passed_ticks) n--; /* the present iteration */
  replica->busy_ticks -= length_ticks - passed_ticks;
  replica->end_ticks = HR_NEVER_US;
  replica->n_repeats = n;
  if (n) {
    hr__replica_end(replica, event, context);
    return;
  }
  for (uint32_t i = 0; i < replica->n_batch; i++) replica->running[replica->n_running++] = replica->batch[i].id;
  replica->n_batch = 0;
}

void hr__replica_kill(struct hr__replica *replica, int64_t now_ticks, hr__sequence_event *event, void *context) {
  if (replica->end_ticks != HR_NEVER_US) abandon(replica, now_ticks, event, context);
  while (replica->n_running)
    replica->no_memory |= !hr__queue_push_front(&replica->waiting, replica->running[--replica->n_running]);
  for (uint32_t i = 0; i < replica->waiting.count; i++) {
    const uint32_t id = hr__queue_at(&replica->waiting, i);
    struct hr__sequence *sequence = &replica->sequences[id];
    const bool has_begun = sequence->memory || sequence->processed;
    if (has_begun && replica->restarts[id] < UINT16_MAX) replica->restarts[id]++;
    give_back(replica, id);
    replica->recomputed_tokens += sequence->processed;
    if (sequence->is_decoding) sequence->prompt = sequence->processed;
    sequence->processed = 0;
    sequence->is_decoding = false;
  }
}
