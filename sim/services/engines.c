/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of iterations, and how each engine forms batches. Steady sequences are defined in service.h. If memory
 * suffices for one more token of each steady sequence, only the other sequences are handled one by one. Otherwise, and
 * with `steps`, all sequences are handled one by one, with the same result.
 *
 * Sources: `vllm-v0`, `sarathi` and `orca` follow the schedulers of microsoft/vidur. `orca-splitwise` follows the
 * instances of Mutinifni/splitwise-sim. `vllm-v1` follows vllm-project/vllm, v1/core/sched/scheduler.py.
 *
 * Three engines do not add requests to a running batch:
 * - `static`: one iteration processes a batch of prompts, and further iterations decode until the longest sequence
 *   ends. The other sequences remain in the batch, and all results are returned at the end of the batch.
 * - `dynamic-batch`: one pass processes a batch, as in NVIDIA Triton (core/src/dynamic_batch_scheduler.cc).
 * - `single`: c servers serve requests without batches. Requests are served first come, first served, each by one
 *   server; or all n requests are served at once, each at the rate min(1, c / n) of a server (processor sharing).
 *
 * Layout of `single`: a heap has one entry for each request in service: the time of its first token or, after the first
 * token, the time of its last token. With processor sharing, an entry is not a time but an amount of service. It is the
 * amount that a request would have received by this event if it had been in service since the replica was last empty.
 */

#include "sim/services/service.h"

#include "base/containers.h"
#include "base/text.h"

#include <math.h>

/* ---- Time of iterations ----------------------------------------------------------------------------- */

/*
 * Each form of the cost is a function of the load that is at most linear in the context. So the times of iterations
 * that differ only in the context form an arithmetic series, apart from rounding. Sums are computed with whole numbers,
 * so a sum equals that of the single iterations. Long series are summed by a formula.
 *
 * Sources of the forms: the table is the performance model of Mutinifni/splitwise-sim; prefill and decode are those of
 * LLMServe/DistServe, simdistserve.
 */

/* ---- Time of iterations: forms ---------------------------------------------------------------------- */

/* Returns the value of a table for a number of tokens: linear between knots. The first and the last piece are extended
   beyond the knots. */
static double interpolated(const struct hr_service_cost *cost, double tokens, bool is_prompt) {
  const struct hr_service_knot *knots = cost->knots;
  uint32_t right = 1;
  while (right + 1 < cost->n_knots && knots[right].tokens <= tokens) right++;
  const struct hr_service_knot *a = &knots[right - 1], *b = &knots[right];
  const double at_a = is_prompt ? a->prompt_us : a->token_us, at_b = is_prompt ? b->prompt_us : b->token_us;
  return at_a + (at_b - at_a) / (b->tokens - a->tokens) * (tokens - a->tokens);
}

static double table_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  const double prompts = (double)load->prompts, decodes = (double)load->decodes;
  if (load->prompts == 0) return interpolated(cost, decodes, false);
  if (load->decodes == 0) return interpolated(cost, prompts, true);
  return cost->mixed_factor * interpolated(cost, prompts + decodes, true);
}

/* Returns the terms of a decode iteration with this number of sequences. */
static const double *decode_terms(const struct hr_service_phases *phases, uint64_t decodes) {
  return phases->large_ms && decodes >= phases->large_batch ? phases->large_ms : phases->decode_ms;
}

double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first) {
  const double decodes = (double)load->decodes, context = (double)load->context, stages = phases->stages;
  const double *p = phases->prefill_ms, *d = decode_terms(phases, load->decodes);
  const double work_ms = is_prefill ? p[0] + p[1] * (double)load->prompts + p[2] * (double)load->squares
                                    : d[0] + d[1] * (context + decodes) + d[2] * decodes;
  const double stage_ms = work_ms * (1 / stages) + (is_prefill ? phases->stage_ms * stages : 0);
  return is_first ? stage_ms + (phases->overhead_ms + phases->overhead_token_ms * context) : stage_ms;
}

double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  if (cost->n_knots) return table_us(cost, load);
  if (cost->phases.prefill_ms) return 1000 * hr__phases_ms(&cost->phases, load, load->prompts > 0, true);
  return cost->fixed_us + cost->per_prompt_token_us * (double)load->prompts +
         cost->per_sequence_us * (double)load->decodes + cost->per_context_ktoken_us * (double)load->context / 1000;
}

/* Returns the time that 1000 tokens of context add to an iteration, in microseconds. */
static double slope_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  if (cost->n_knots) return 0;
  if (!cost->phases.prefill_ms) return cost->per_context_ktoken_us;
  const double token_ms = load->prompts ? 0 : decode_terms(&cost->phases, load->decodes)[1] / cost->phases.stages;
  return 1e6 * (token_ms + cost->phases.overhead_token_ms);
}

/* ---- Time of iterations: prices --------------------------------------------------------------------- */

/* A sum of three products is exact in floating point if each product is that of a 32-bit number and a whole number up
   to this maximum. */
#define MAX_WHOLE_US 0x1p19

static bool is_whole(double us) {
  return us >= 0 && us <= MAX_WHOLE_US && us <= floor(us);
}

/* Sets `factor` and `divisor` such that a token of context takes factor / divisor units. `slope`: microseconds per 1000
   tokens. The unit is a microsecond for costs with `integer`, otherwise a tick. A slope that is not a whole number of
   units is rounded to 10^-6 units; slopes from 10^6 units on are rounded to whole units. */
static void set_slope(struct hr__pricing *pricing, double slope) {
  const double parts = slope * (pricing->cost->integer ? 1 : 65536);
  pricing->factor = slope > 0 ? (uint64_t)llround(parts) : 0;
  pricing->divisor = 1000;
  if (slope > 0 && parts < 1e6 && fabs(parts - (double)pricing->factor) > 0) {
    pricing->factor = (uint64_t)llround(parts * 1e6);
    pricing->divisor = 1000000000;
  }
}

struct hr__pricing hr__pricing_of(const struct hr_service_cost *cost) {
  struct hr__pricing pricing = {.cost = cost,
                                .is_linear = !cost->n_knots && !cost->phases.prefill_ms,
                                .unit_ticks = cost->integer ? HR__TICKS(1) : 1};
  pricing.is_whole = pricing.is_linear && is_whole(cost->fixed_us) && is_whole(cost->per_prompt_token_us) &&
                     is_whole(cost->per_sequence_us);
  if (pricing.is_whole) {
    pricing.fixed_ticks = HR__TICKS(cost->fixed_us);
    pricing.prompt_ticks = HR__TICKS(cost->per_prompt_token_us);
    pricing.sequence_ticks = HR__TICKS(cost->per_sequence_us);
  }
  if (pricing.is_linear) set_slope(&pricing, cost->per_context_ktoken_us);
  return pricing;
}

/* Returns the part of the time that does not depend on the context. Used if the terms are not whole numbers. */
static int64_t rounded_ticks(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  struct hr__batch_load without = *load;
  without.context = 0;
  const double base_us = hr__cost_us(cost, &without);
  return cost->integer ? HR__TICKS(llround(base_us)) : llround(base_us * 65536);
}

/* Divides factor * count into a quotient and a remainder. Most divisors are 1000; for this divisor, the compiler can
   use a constant. */
static inline void split(uint64_t factor, uint64_t count, uint64_t divisor, uint64_t *quotient, uint64_t *rest) {
  const hr__wide product = (hr__wide)factor * count;
  const uint64_t low = (uint64_t)product;
  if (product > UINT64_MAX) {
    *quotient = (uint64_t)(product / divisor);
    *rest = (uint64_t)(product % divisor);
    return;
  }
  *quotient = divisor == 1000 ? low / 1000 : low / divisor;
  *rest = low - *quotient * divisor;
}

void hr__price_set(struct hr__price *price, const struct hr__pricing *pricing, const struct hr__batch_load *load,
                   uint64_t growth) {
  struct hr__pricing present;
  if (!pricing->is_linear) {
    present = *pricing;
    set_slope(&present, slope_us(pricing->cost, load));
    pricing = &present;
  }
  price->base_ticks = pricing->is_whole && (load->prompts | load->decodes) <= UINT32_MAX
                          ? pricing->fixed_ticks + pricing->prompt_ticks * (int64_t)load->prompts +
                                pricing->sequence_ticks * (int64_t)load->decodes
                          : rounded_ticks(pricing->cost, load);
  if (price->base_ticks < 1) price->base_ticks = 1; /* time passes in every iteration */
  price->unit_ticks = pricing->unit_ticks;
  price->divisor = pricing->divisor;
  split(pricing->factor, load->context, pricing->divisor, &price->first_quotient, &price->first_rest);
  price->step_quotient = price->step_rest = 0;
  if (growth) split(pricing->factor, growth, pricing->divisor, &price->step_quotient, &price->step_rest);
}

/* ---- Time of iterations: series --------------------------------------------------------------------- */

/* Returns the sum of floor((first + i * step) / divisor) for i < count, by the Euclidean algorithm: the number of
   lattice points above the line is a sum of the same form, with `step` and `divisor` exchanged. All arguments are below
   2^32. */
static uint64_t floor_sum(uint64_t count, uint64_t divisor, uint64_t step, uint64_t first) {
  uint64_t sum = 0;
  while (count > 0) {
    sum += count * (count - 1) / 2 * (step / divisor) + count * (first / divisor);
    const uint64_t next = divisor, rest = step % divisor, most = rest * count + first % divisor;
    count = most / divisor;
    first = most % divisor;
    divisor = rest;
    step = next;
  }
  return sum;
}

/* Returns the time of the first `count` iterations. */
static int64_t time_of_first(const struct hr__price *price, uint64_t count) {
  const uint64_t units = count * price->first_quotient + count * (count - 1) / 2 * price->step_quotient +
                         floor_sum(count, price->divisor, price->step_rest, price->first_rest);
  return (int64_t)count * price->base_ticks + price->unit_ticks * (int64_t)units;
}

/* Returns a lower bound of the number of iterations that end before `until_ticks`. It is close to the exact number. */
static uint32_t surely_before(const struct hr__price *price, uint32_t most, int64_t until_ticks) {
  if (until_ticks == INT64_MAX) return most;
  const double unit = (double)price->unit_ticks, divisor = (double)price->divisor, until = (double)until_ticks;
  const double first =
      (double)price->base_ticks + unit * ((double)price->first_quotient + (double)price->first_rest / divisor);
  const double step = unit * ((double)price->step_quotient + (double)price->step_rest / divisor);
  /* first * n + step * n^2 / 2 is at least the time of n iterations */
  const double n = 2 * until / (first + sqrt(first * first + 2 * step * until)) * (1 - 1e-12) - 1;
  return n < 0 ? 0 : n < most ? (uint32_t)n : most;
}

/* From this number of iterations on, the formula is faster than a loop. */
enum { MANY = 48 };

struct hr__price_run hr__price_sum(const struct hr__price *price, uint32_t most, int64_t until_ticks) {
  int64_t one_ticks = hr__price_first_ticks(price), sum_ticks = 0;
  if (most == 1 || until_ticks <= one_ticks) return (struct hr__price_run){1, one_ticks, one_ticks};
  if (price->step_quotient == 0 && price->step_rest == 0) {
    const int64_t needed = until_ticks / one_ticks + (until_ticks % one_ticks > 0);
    const uint32_t count = needed < most ? (uint32_t)needed : most;
    return (struct hr__price_run){count, count * one_ticks, one_ticks};
  }
  const uint64_t divisor = price->divisor, step_rest = price->step_rest;
  const int64_t unit_ticks = price->unit_ticks, step_ticks = unit_ticks * (int64_t)price->step_quotient;
  uint64_t rest = price->first_rest;
  uint32_t n = 0;
  if (most > MANY) {
    const uint32_t skipped = surely_before(price, most - 1, until_ticks);
    const int64_t skipped_ticks = time_of_first(price, skipped);
    if (skipped > 0 && skipped_ticks < until_ticks) {
      n = skipped;
      sum_ticks = skipped_ticks;
      rest += n * step_rest;
      one_ticks += n * step_ticks + unit_ticks * (int64_t)(rest / divisor);
      rest %= divisor;
    }
  }
  int64_t last_ticks;
  do {
    last_ticks = one_ticks;
    sum_ticks += one_ticks;
    rest += step_rest;
    const bool carries = rest >= divisor;
    rest -= carries ? divisor : 0;
    one_ticks += step_ticks + (carries ? unit_ticks : 0);
  } while (++n < most && sum_ticks < until_ticks);
  return (struct hr__price_run){n, sum_ticks, last_ticks};
}

/* ---- Engines: static -------------------------------------------------------------------------------- */

static void take_memory(struct hr__replica *replica, uint32_t id, uint64_t memory) {
  struct hr__sequence *sequence = hr__sequence_of(replica, id);
  if (sequence->memory == 0) replica->n_held++;
  sequence->memory += (uint32_t)memory;
  replica->used += memory;
}

static void add_to_batch(struct hr__replica *replica, uint32_t id, uint32_t tokens) {
  replica->batch[replica->n_batch++] = (struct hr__batch_item){id, tokens};
}

/* Removes the first sequence from the queue, adds it to `admitted`, and returns its id. For engines with memory for
   sequences, tokens of its prompt that need no computation count as processed. */
static uint32_t admit(struct hr__replica *replica) {
  const uint32_t id = hr__queue_pop(&replica->waiting);
  if (replica->cached && replica->service->engine <= HR_SERVICE_STATIC) {
    struct hr__sequence *sequence = hr__sequence_of(replica, id);
    if (!sequence->is_decoding) sequence->processed = replica->cached[id];
  }
  return replica->admitted[replica->n_admitted++] = id;
}

static void form_static(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  for (uint32_t i = 0; i < replica->n_running; i++) add_to_batch(replica, replica->running[i], 1);
  replica->n_running = 0;
  if (replica->n_batch) return;
  uint64_t longest = 0;
  while (replica->waiting.count && replica->n_batch < limits->max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), prompt = hr__new_tokens(replica, id);
    const uint64_t blocks = hr__blocks_for(limits, hr__sequence_of(replica, id)->total);
    if (prompt > longest) longest = prompt;
    /* prompts are padded to the longest prompt. A prompt can be too long because it includes tokens that a killed
       replica had produced; it then runs alone */
    const bool is_long = (replica->n_batch + 1) * longest > limits->max_batch_tokens;
    if (hr__free_memory(replica) < blocks || (is_long && replica->n_batch > 0)) break;
    admit(replica);
    take_memory(replica, id, blocks);
    add_to_batch(replica, id, prompt);
  }
}

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

/* ---- Engines: dynamic-batch ------------------------------------------------------------------------- */

/* Returns the size of the next batch; 0: the replica waits for more requests, at most until `*until_ticks`. */
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

static void form_dynamic(struct hr__replica *replica) {
  int64_t until_ticks;
  if (!replica->waiting.count) return;
  const uint32_t size = dynamic_size(replica, &until_ticks);
  if (size == 0) replica->wait_ticks = until_ticks - replica->begin_ticks;
  while (replica->n_batch < size) {
    const uint32_t id = admit(replica);
    add_to_batch(replica, id, hr__new_tokens(replica, id));
  }
}

void hr__end_dynamic(struct hr__replica *replica, hr__sequence_event *event, void *context) {
  for (uint32_t i = 0; i < replica->n_batch; i++) event(context, replica->batch[i].id, true, true);
}

/* ---- Engines: single -------------------------------------------------------------------------------- */

static bool is_earlier(const void *self, struct hr__due a, struct hr__due b) {
  (void)self;
  return a.at < b.at || (a.at <= b.at && a.id < b.id);
}

HR__HEAP(dues, struct hr__due, is_earlier)

/* first_work returns the work of a request up to its first token, and later_work the work from there to its last token.
   Both are in ticks of one server. */
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

/* Returns the rate at which each request in service is served, relative to one server. */
static double rate(const struct hr__replica *replica) {
  const double servers = replica->service->single.servers, n = replica->n_due;
  return n <= servers ? 1 : servers / n;
}

static void form_single(struct hr__replica *replica) {
  const struct hr_service_single_rules *rules = &replica->service->single;
  const uint32_t most = rules->shares ? replica->service->limits.max_sequences : rules->servers;
  if (!replica->n_due) replica->done_ticks = 0;
  while (replica->waiting.count && replica->n_due < most) {
    const uint32_t id = admit(replica);
    const double begin = rules->shares ? replica->done_ticks : (double)replica->begin_ticks;
    const struct hr__due due = {begin + (double)first_work(replica, id), id, true};
    dues_rise(replica->due, replica->n_due++, due, NULL);
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
    struct hr__due due = replica->due[0];
    replica->n_due--;
    dues_sink(replica->due, replica->n_due, replica->due[replica->n_due], NULL);
    const int64_t later = due.is_first ? later_work(replica, hr__sequence_of(replica, due.id)) : 0;
    const bool is_first = due.is_first;
    event(context, due.id, is_first, later == 0);
    replica->iterations += is_first;
    due.is_first = false;
    due.at += (double)later;
    if (later) dues_rise(replica->due, replica->n_due++, due, NULL);
  }
}

void hr__stop_single(struct hr__replica *replica) {
  while (replica->n_due) replica->no_memory |= !hr__queue_push(&replica->waiting, replica->due[--replica->n_due].id);
}

/* ---- Engines: sequences ----------------------------------------------------------------------------- */

static uint32_t rest_of_prompt(const struct hr__sequence *sequence) {
  return sequence->prompt - sequence->processed;
}

static uint32_t lesser(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Frees all memory of a sequence and inserts the sequence at the front of the queue. The tokens that it has processed
   must be computed again. */
static void restart(struct hr__replica *replica, uint32_t id) {
  struct hr__sequence *sequence = hr__sequence_of(replica, id);
  hr__give_back_memory(replica, id);
  replica->has_restarted = true;
  hr__note_lost_tokens(replica, id);
  /* Vidur shortens even a prompt that is not complete; the rest of the prompt is then produced like output, token by
     token */
  const bool keeps_prompt = replica->service->engine == HR_SERVICE_VLLM_V1 && !sequence->is_decoding;
  if (!keeps_prompt) sequence->prompt = sequence->processed;
  sequence->processed = 0;
  sequence->is_decoding = false;
  if (replica->restarts[id] < UINT16_MAX) replica->restarts[id]++;
  hr__replica_note_loss(replica, id, replica->begin_ticks);
  hr__replica_count_loss(replica);
  if (!hr__queue_push_front(&replica->waiting, id)) replica->no_memory = true;
}

/* Sorts the running sequences by their order. The list is nearly sorted. */
static void sort_running(struct hr__replica *replica) {
  uint32_t *ids = replica->running;
  for (uint32_t i = 1; i < replica->n_running; i++) {
    const uint32_t id = ids[i], order = hr__sequence_of(replica, id)->order;
    uint32_t at = i;
    for (; at > 0 && hr__sequence_of(replica, ids[at - 1])->order > order; at--) ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

/* Removes the first `count` running sequences. */
static void drop_running(struct hr__replica *replica, uint32_t count) {
  for (uint32_t i = count; i < replica->n_running; i++) replica->running[i - count] = replica->running[i];
  replica->n_running -= count;
}

/* Adds the steady sequences to the batch. */
static void decode_steady(struct hr__replica *replica) {
  replica->with_steady = replica->steady.count > 0;
  replica->used += hr__steady_need(replica);
}

/* Returns whether memory for the whole prompt of a sequence may be allocated. */
static bool prompt_fits(const struct hr__replica *replica, uint32_t id) {
  const uint64_t blocks = hr__blocks_for(&replica->service->limits, hr__sequence_of(replica, id)->prompt);
  return hr__free_memory(replica) >= blocks + replica->watermark;
}

/* Adds a running sequence to the batch, to decode one token. At least one block must be free, although the sequence
   takes a block only if its last block is full. While no block is free, the last running sequence loses its memory.
   Only sequences with index `next` or higher can lose their memory. If none of them is left, the sequence itself loses
   its memory, and the function returns false. */
static bool decode(struct hr__replica *replica, uint32_t id, uint32_t next) {
  while (hr__free_memory(replica) < 1) {
    if (next == replica->n_running) {
      restart(replica, id);
      return false;
    }
    restart(replica, replica->running[--replica->n_running]);
  }
  const struct hr__sequence *sequence = hr__sequence_of(replica, id);
  if (sequence->processed > (uint64_t)sequence->memory * replica->service->limits.block_tokens)
    take_memory(replica, id, 1);
  add_to_batch(replica, id, 1);
  return true;
}

/* Returns whether memory suffices for the next token of all steady sequences, and at least one block then remains free.
   With `steps`, returns false. */
static bool decodes_fit(const struct hr__replica *replica) {
  return !replica->steps && hr__free_memory(replica) > hr__steady_need(replica);
}

/* ---- Engines: vllm-v0 ------------------------------------------------------------------------------- */

static bool add_prompts(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  uint64_t longest = 0;
  while (replica->waiting.count) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), prompt = hr__new_tokens(replica, id);
    if (prompt > longest) longest = prompt;
    /* prompts are padded to the longest prompt; a prompt that became too long by a restart runs alone */
    const bool is_long = (replica->n_batch + 1) * longest > limits->max_batch_tokens;
    if (!prompt_fits(replica, id) || (is_long && replica->n_batch > 0) || replica->n_held == limits->max_sequences)
      break;
    admit(replica);
    take_memory(replica, id, hr__blocks_for(limits, hr__sequence_of(replica, id)->prompt));
    add_to_batch(replica, id, prompt);
  }
  return replica->n_batch > 0;
}

static void form_vllm_v0(struct hr__replica *replica) {
  if (add_prompts(replica)) return;
  if (decodes_fit(replica)) {
    decode_steady(replica);
    return;
  }
  hr__steady_release(replica);
  sort_running(replica);
  uint32_t next = 0;
  while (next < replica->n_running && replica->n_batch < replica->service->limits.max_sequences) {
    const uint32_t id = replica->running[next++];
    decode(replica, id, next);
  }
  drop_running(replica, next);
}

/* ---- Engines: sarathi ------------------------------------------------------------------------------- */

/* Adds the running sequences to the batch one by one, to decode. Sequences with an incomplete prompt are skipped. */
static void decode_running(struct hr__replica *replica) {
  uint32_t n_left = 0, next = 0;
  while (next < replica->n_running && replica->n_batch < replica->service->limits.max_sequences) {
    const uint32_t id = replica->running[next++];
    if (!hr__sequence_of(replica, id)->is_decoding)
      replica->running[n_left++] = id;
    else
      decode(replica, id, next);
  }
  for (; next < replica->n_running; next++) replica->running[n_left++] = replica->running[next];
  replica->n_running = n_left;
}

/* Adds chunks of the prompts that have begun, then of waiting prompts, to a batch with `decodes` tokens of decoding
   sequences. The batch gets at most chunk_tokens tokens. */
static void add_chunks(struct hr__replica *replica, uint32_t decodes) {
  const struct hr_service_limits *limits = &replica->service->limits;
  uint32_t room = limits->chunk_tokens > decodes ? limits->chunk_tokens - decodes : 0, n_left = 0;
  for (uint32_t i = 0; i < replica->n_running; i++) {
    const uint32_t id = replica->running[i], n = lesser(rest_of_prompt(hr__sequence_of(replica, id)), room);
    if (n) add_to_batch(replica, id, n);
    if (!n) replica->running[n_left++] = id;
    room -= n;
  }
  replica->n_running = n_left;
  while (replica->waiting.count && room > 0 && replica->n_held < limits->max_sequences) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0), prompt = hr__new_tokens(replica, id);
    if (!prompt_fits(replica, id)) break;
    admit(replica);
    take_memory(replica, id, hr__blocks_for(limits, hr__sequence_of(replica, id)->prompt));
    add_to_batch(replica, id, lesser(prompt, room));
    room -= lesser(prompt, room);
  }
}

static void form_sarathi(struct hr__replica *replica) {
  if (decodes_fit(replica)) {
    decode_steady(replica);
    add_chunks(replica, replica->steady.count);
    return;
  }
  hr__steady_release(replica);
  decode_running(replica);
  add_chunks(replica, replica->n_batch);
}

/* ---- Engines: orca ---------------------------------------------------------------------------------- */

/* Adds all running and steady sequences to the batch, to decode. Returns their number. */
static uint32_t decode_all(struct hr__replica *replica) {
  for (uint32_t i = 0; i < replica->n_running; i++) add_to_batch(replica, replica->running[i], 1);
  replica->n_running = 0;
  decode_steady(replica);
  return replica->steady.count + replica->n_batch;
}

static void form_orca(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint64_t reserved = hr__blocks_for(limits, limits->max_batch_tokens);
  uint32_t count = decode_all(replica);
  for (; replica->waiting.count && count < limits->max_sequences && hr__free_memory(replica) >= reserved; count++) {
    const uint32_t id = admit(replica);
    take_memory(replica, id, reserved);
    add_to_batch(replica, id, hr__new_tokens(replica, id));
  }
}

/* ---- Engines: orca-splitwise ------------------------------------------------------------------------ */

/* A request consists of two tasks, its prompt and then its output. Each task is admitted separately, in the order of
   arrival of the requests. */
static void form_splitwise(struct hr__replica *replica) {
  uint32_t count = decode_all(replica);
  for (; replica->waiting.count && count < replica->service->limits.max_sequences; count++) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0);
    const struct hr__sequence *sequence = hr__sequence_of(replica, id);
    const uint64_t needed = sequence->is_decoding ? sequence->total - sequence->prompt - 1 : sequence->prompt + 1;
    if (hr__free_memory(replica) < needed) break;
    admit(replica);
    take_memory(replica, id, needed);
    if (!sequence->is_decoding)
      add_to_batch(replica, id, hr__new_tokens(replica, id));
    else if (replica->steps)
      add_to_batch(replica, id, 1);
    else
      hr__steady_add(replica, id);
  }
  replica->with_steady = replica->steady.count > 0;
}

/* ---- Engines: vllm-v1 ------------------------------------------------------------------------------- */

/* Returns the number of further blocks that a sequence needs for `tokens` more tokens. The newest token of a decoding
   sequence is not in memory yet. */
static uint64_t more_blocks(const struct hr__replica *replica, const struct hr__sequence *sequence, uint32_t tokens) {
  const uint64_t in_memory = sequence->processed - sequence->is_decoding;
  const uint64_t wanted = hr__blocks_for(&replica->service->limits, in_memory + tokens);
  return wanted > sequence->memory ? wanted - sequence->memory : 0;
}

/* Allocates memory for `tokens` more tokens of a sequence. If memory does not suffice, running sequences with index
   `next` or higher lose their memory, the last one first. If none of them is left, the sequence itself loses its
   memory, and the function returns false. */
static bool extend(struct hr__replica *replica, uint32_t id, uint32_t next, uint32_t tokens) {
  const uint64_t more = more_blocks(replica, hr__sequence_of(replica, id), tokens);
  while (hr__free_memory(replica) < more) {
    if (next == replica->n_running) {
      restart(replica, id);
      return false;
    }
    restart(replica, replica->running[--replica->n_running]);
  }
  take_memory(replica, id, more);
  return true;
}

/* Adds the steady sequences to the batch. If one other sequence is running, and was admitted after the steady ones,
   adds a part of its incomplete prompt, too. If the token budget or the memory does not suffice, or if further
   sequences are running, adds nothing and returns false. Then each sequence must be handled separately. */
static bool run_steady(struct hr__replica *replica, uint32_t *budget) {
  const struct hr__steady *steady = &replica->steady;
  const uint64_t free = hr__free_memory(replica), growth = hr__steady_need(replica);
  if (replica->steps || replica->n_running > 1 || steady->count > *budget || growth > free) return false;
  if (replica->n_running) {
    const uint32_t id = replica->running[0], room = *budget - steady->count;
    const struct hr__sequence *sequence = hr__sequence_of(replica, id);
    const uint32_t n = lesser(rest_of_prompt(sequence), room);
    const uint64_t more = more_blocks(replica, sequence, n);
    if (!n || sequence->order < steady->last_order || growth + more > free) return false;
    take_memory(replica, id, more);
    add_to_batch(replica, id, n);
    replica->n_running = 0;
    *budget -= n;
  }
  *budget -= steady->count;
  decode_steady(replica);
  return true;
}

/* Adds all sequences with memory to the batch, in the order of their admission, until the token budget is used up or a
   sequence loses its own memory. */
static void run_each(struct hr__replica *replica, uint32_t *budget) {
  uint32_t next = 0;
  hr__steady_release(replica);
  sort_running(replica);
  while (next<replica->n_running && * budget> 0) {
    const uint32_t id = replica->running[next++];
    const struct hr__sequence *sequence = hr__sequence_of(replica, id);
    const uint32_t n = lesser(sequence->is_decoding ? 1 : rest_of_prompt(sequence), *budget);
    if (!extend(replica, id, next, n)) break;
    add_to_batch(replica, id, n);
    *budget -= n;
  }
  drop_running(replica, next);
}

static void form_vllm_v1(struct hr__replica *replica) {
  const struct hr_service_limits *limits = &replica->service->limits;
  const uint32_t n_before = replica->waiting.count;
  uint32_t budget = limits->max_batch_tokens;
  if (!run_steady(replica, &budget)) run_each(replica, &budget);
  if (replica->waiting.count > n_before) return; /* a sequence lost its memory */
  uint32_t count = replica->n_batch + replica->n_running + (replica->with_steady ? replica->steady.count : 0);
  for (; replica->waiting.count && budget > 0 && count < limits->max_sequences; count++) {
    const uint32_t id = hr__queue_at(&replica->waiting, 0);
    struct hr__sequence *sequence = hr__sequence_of(replica, id);
    const uint32_t n = lesser(hr__new_tokens(replica, id), budget);
    const uint64_t blocks = hr__blocks_for(limits, (uint64_t)hr__cached(replica, id) + n);
    if (hr__free_memory(replica) < blocks) break;
    admit(replica);
    sequence->order = ++replica->n_orders;
    take_memory(replica, id, blocks);
    add_to_batch(replica, id, n);
    budget -= n;
  }
}

void hr__engine_form(struct hr__replica *replica) {
  static void (*const form[HR_N_SERVICE_ENGINES])(struct hr__replica *) = {
      [HR_SERVICE_VLLM_V1] = form_vllm_v1,          [HR_SERVICE_VLLM_V0] = form_vllm_v0,
      [HR_SERVICE_SARATHI] = form_sarathi,          [HR_SERVICE_ORCA] = form_orca,
      [HR_SERVICE_ORCA_SPLITWISE] = form_splitwise, [HR_SERVICE_STATIC] = form_static,
      [HR_SERVICE_DYNAMIC_BATCH] = form_dynamic,    [HR_SERVICE_SINGLE] = form_single};
  form[replica->service->engine](replica);
}
