/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Autoscaling of services: measures the load of a service at fixed instants, and applies the rules of its autoscaler.
 * For the autoscaler `slo`, the file also predicts the latency of a service.
 *
 * Layout: a ring of samples with sums since the start of the run, so that the mean over any window is a difference of
 * two samples. If metrics have a delay, a sample that is older by this delay is used as the newest one. Decisions are
 * made at multiples of the interval.
 */

#include "sim/services/service.h"

#include "base/containers.h"

#include <math.h>
#include <stdlib.h>

/* The load of a service, for predictions. */
struct hr__slo_demand {
  double rate;       /* requests per second */
  double prompt;     /* mean tokens of a prompt, without those in the prefix cache */
  double output;     /* mean tokens of an output */
  double output_cv;  /* coefficient of variation of the number of output tokens */
  double memory;     /* mean tokens of prompt and output that take memory */
  double dispersion; /* variance / mean of the number of arrivals in an interval; 1 for a Poisson process */
};

/* ---- Prediction of the latency ---------------------------------------------------------------------- */

/*
 * Predicts the latency of a service with c replicas, each of which gets 1/c of the requests. Depending on the router,
 * all replicas share a queue, or each replica has its own queue.
 *
 * Continuous batching: with n sequences that decode, an iteration takes t = cost(prompt tokens that arrive during t, n
 * decodes, their context). By Little's law, the mean of n is rate * outputs * t. The goals are for a share of the
 * requests, so t is computed for a quantile of n. The variance of n follows from the load and from the dispersion of
 * arrivals. The time to the first token is the sum of four times: an iteration, the time of the prompt, the wait in an
 * M/M/c queue with the service time of a prompt, and the wait for a slot.
 *
 * The slots of a replica are the sequences that it can run at once; `max_sequences` and its memory limit their number.
 * The capacity of a replica is its number of slots divided by the time of a request if all slots are in use. The wait
 * for a slot is the wait in a queue with one server for each slot of the replicas that share the queue. This wait is
 * nearly zero if the number of slots is large, and infinite if the capacity is below the rate.
 */

static double iteration_s(const struct hr_service_cost *cost, double prompts, double decodes, double context) {
  const struct hr__batch_load load = {.prompts = (uint64_t)llround(prompts),
                                      .decodes = (uint64_t)llround(decodes),
                                      .context = (uint64_t)llround(context)};
  return hr__cost_us(cost, &load) / (double)HR_SECOND_US;
}

/* Returns the time of an iteration with `decodes` decodes and with the prompts that arrive during this time; 0: prompts
   arrive faster than they are processed. */
static double time_with_s(const struct hr_service *spec, struct hr__slo_demand demand, double decodes) {
  const double context = demand.prompt + demand.output / 2;
  double t = iteration_s(&spec->cost, 0, decodes, decodes * context);
  for (int i = 0; i < 200; i++) {
    const double next = iteration_s(&spec->cost, demand.rate * t * demand.prompt, decodes, decodes * context);
    if (next <= t * (1 + 1e-9)) return next;
    t = next;
  }
  return 0;
}

/* Returns the mean time of an iteration in the steady state; 0: no steady state with at most `slots` sequences exists.
   Sets `*decodes` to the mean number of sequences that decode. */
static double steady_iteration_s(const struct hr_service *spec, struct hr__slo_demand demand, double slots,
                                 double *decodes) {
  const double context = demand.prompt + demand.output / 2;
  double t = iteration_s(&spec->cost, 0, 1, context);
  for (int i = 0; i < 200; i++) {
    *decodes = fmax(demand.rate * demand.output * t, 1);
    if (*decodes > slots) return 0;
    const double next = iteration_s(&spec->cost, demand.rate * t * demand.prompt, *decodes, *decodes * context);
    if (next <= t * (1 + 1e-9)) return next;
    t = next;
  }
  return 0;
}

/* Returns the value that a standard normal variable exceeds with the given probability, which is limited to 1e-9 .. 0.5
   (Abramowitz and Stegun, 26.2.23: the error is below 0.00045). */
static double normal_above(double probability) {
  const double p = fmin(fmax(probability, 1e-9), 0.5), t = sqrt(-2 * log(p));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* Returns the time that only the share `missed` of iterations exceeds. If an iteration with n decodes takes a + c * n,
   then n has a negative binomial distribution with the variance mean / (1 - z), where z = rate * outputs * c is the
   load. The variance is multiplied by the dispersion of arrivals. */
static double slow_iteration_s(const struct hr_service *spec, struct hr__slo_demand demand, double mean_s,
                               double decodes, double slots, double missed) {
  enum { MOST = 1 << 24 };
  const double slope_s = time_with_s(spec, demand, decodes + 1) - time_with_s(spec, demand, decodes);
  const double z = fmin(demand.rate * demand.output * fmax(slope_s, 0), 0.999);
  const double above = normal_above(missed) * sqrt(decodes * demand.dispersion / (1 - z));
  const double most = fmin(decodes + above, fmin(slots, MOST));
  return fmax(time_with_s(spec, demand, most), mean_s);
}

/* Returns Erlang's probability that all of `c` servers are busy. `load`: mean number of busy servers, less than `c`. */
static double erlang_c(uint32_t c, double load) {
  double b = 1;
  for (uint32_t k = 1; k <= c; k++) b = load * b / (k + load * b);
  const double rho = load / c;
  return b / (1 - rho * (1 - b));
}

/* The predicted latency of a request. */
struct latency {
  double ttft_s, tpot_s;
};

static bool is_within(const struct hr_service_slo *slo, struct latency latency, double output) {
  const double e2e_s = latency.ttft_s + (output - 1) * latency.tpot_s;
  return (slo->ttft_ms <= 0 || 1000 * latency.ttft_s <= slo->ttft_ms) &&
         (slo->tpot_ms <= 0 || 1000 * latency.tpot_s <= slo->tpot_ms) &&
         (slo->e2e_ms <= 0 || 1000 * e2e_s <= slo->e2e_ms);
}

/* Returns the wait for one of `c` servers that only the share `missed` of all requests exceeds. The distribution is
   P(wait > x) = p * exp(-(c - load) * x / service_s), where p is the result of erlang_c(). */
static double wait_s(uint32_t c, double load, double service_s, double missed) {
  const double p = erlang_c(c, load);
  return p > missed && missed > 0 ? log(p / missed) * service_s / (c - load) : 0;
}

/* Returns the share of all requests that may miss the goals. */
static double missed_of(const struct hr_service *spec) {
  return 1 - (spec->slo.attainment > 0 ? spec->slo.attainment : 0.95);
}

/* Returns the mean time from one decode iteration to the next on each of `c` replicas that use the share `share` of
   their time for decodes; 0: these replicas cannot serve the load. */
static double decode_iteration_s(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c, double share) {
  const struct hr_service_phase_rules *rules = &spec->phases;
  const double context = all.prompt + all.output / 2, rate = all.rate * all.output / c / share;
  double t = iteration_s(&spec->cost, 0, 1, context);
  for (int i = 0; i < 200; i++) {
    const double decodes = fmax(rate * t, 1);
    if (decodes * (context + 1) > (double)rules->decode_context_tokens || decodes > rules->max_decode_sequences)
      return 0;
    const double next = iteration_s(&spec->cost, 0, decodes, decodes * context);
    if (next <= t * (1 + 1e-9)) return next / share;
    t = next;
  }
  return 0;
}

/* Returns whether `c` replicas of an engine with phases are predicted to meet the goals. Prompts are served one by one.
   Decodes have separate replicas or, with `colocated`, the remaining time of all replicas. */
static bool phases_meet(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c) {
  const uint32_t n_decode = hr__service_decoders(spec, c), heads = c - n_decode;
  const struct hr__batch_load prompt = {.prompts = (uint64_t)llround(all.prompt),
                                        .squares = (uint64_t)llround(all.prompt * all.prompt),
                                        .context = (uint64_t)llround(all.prompt)};
  const double prompt_s = hr__cost_us(&spec->cost, &prompt) / (double)HR_SECOND_US, load = all.rate * prompt_s;
  if (load >= heads || (spec->engine == HR_SERVICE_DISAGGREGATED && n_decode == 0)) return false;
  const double share = n_decode ? 1 : 1 - load / heads;
  const double t = decode_iteration_s(spec, all, n_decode ? n_decode : heads, share);
  const double ttft_s = prompt_s + wait_s(heads, load, prompt_s, missed_of(spec)) + (n_decode ? 0 : t);
  return t > 0 && is_within(&spec->slo, (struct latency){ttft_s, t}, all.output);
}

/* ---- Prediction of the latency: limited concurrency ------------------------------------------------- */

/* Returns the number of slots of a replica: the minimum of `max_sequences` and of the memory divided by the memory of a
   mean request. The engine `orca` reserves memory for `max_batch_tokens` for each request. With `static`, the prompts
   of a batch have at most `max_batch_tokens`. With `dynamic-batch`, only `max_sequences` counts. The result is at least
   1, because larger requests are refused. */
static double slots_of(const struct hr_service *spec, struct hr__slo_demand demand) {
  const struct hr_service_limits *limits = &spec->limits;
  const double capacity = (double)hr__replica_capacity(spec), tokens = ceil(demand.memory);
  double slots = limits->max_sequences;
  if (spec->engine == HR_SERVICE_DYNAMIC_BATCH) return slots;
  if (spec->engine == HR_SERVICE_ORCA_SPLITWISE)
    slots = fmin(slots, capacity / tokens);
  else if (spec->engine == HR_SERVICE_ORCA)
    slots = fmin(slots, capacity / (double)hr__blocks_for(limits, limits->max_batch_tokens));
  else
    slots = fmin(slots, capacity / ceil(tokens / limits->block_tokens));
  if (spec->engine == HR_SERVICE_STATIC) slots = fmin(slots, limits->max_batch_tokens / fmax(demand.prompt, 1));
  return fmax(floor(slots), 1);
}

/* Returns the probability that an arriving request finds all servers busy, divided by this probability for Poisson
   arrivals. It is below 1 if arrivals are more regular than those of a Poisson process. Source: Kraemer and
   Langenbach-Belz's approximation (1976) for one server. */
static double regular_share(struct hr__slo_demand demand, double utilization) {
  const double arrivals = demand.dispersion, services = demand.output_cv * demand.output_cv;
  if (arrivals >= 1) return 1;
  const double less = (1 - arrivals) * (1 - utilization) * (1 + arrivals + utilization * services) /
                      (1 + utilization * (services - 1) + utilization * utilization * (4 * arrivals + services));
  return fmax(1 - less, 0.01);
}

/* Returns the wait for one of `places` servers that only the share `missed` of all requests exceeds; HUGE_VAL: the
   servers do not suffice. It differs from wait_s() in three points:
   - Erlang's probability is Sakasegawa's approximation (1977), which needs no loop.
   - The wait is multiplied by Allen and Cunneen's factor for the variance of arrivals and of service times. The
     variance of service times is assumed to be that of the outputs.
   - The probability is multiplied by regular_share(), and the wait is divided by it, so that the mean wait does not
     change. */
static double place_wait_s(double places, struct hr__slo_demand demand, double service_s, double missed) {
  const double load = demand.rate * service_s;
  if (load >= places) return HUGE_VAL;
  const double share = regular_share(demand, load / places);
  const double p = pow(load / places, sqrt(2 * (places + 1)) - 1) * share;
  const double factor = (demand.dispersion + demand.output_cv * demand.output_cv) / 2 / share;
  return p > missed ? log(p / fmax(missed, 1e-9)) * service_s / (places - load) * factor : 0;
}

/* A queue: the number of replicas that it serves, and the load of these replicas. The number depends on the router:
   - Routers that ignore the load of replicas result in one queue for each replica. If requests are assigned in turn,
     the arrivals at a queue are more regular; if they are assigned at random, the dispersion of arrivals approaches 1.
   - If requests are assigned in turn and all requests take the same time, replicas also become free in turn. Their
     queues are then equivalent to one shared queue.
   - `power-of-two` is at least as good as one queue for each pair of replicas.
   - With the other routers, all replicas share one queue. */
struct queue {
  uint32_t replicas;
  struct hr__slo_demand demand;
};

static struct queue queue_of(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c) {
  uint32_t replicas = c;
  const enum hr_service_router router = spec->router;
  if (router == HR_SERVICE_ROUND_ROBIN && all.output_cv == 0) return (struct queue){c, all};
  if (router == HR_SERVICE_ROUND_ROBIN || router == HR_SERVICE_RANDOM || router == HR_SERVICE_WEIGHTED) replicas = 1;
  if (router == HR_SERVICE_POWER_OF_TWO && c > 2) replicas = 2;
  const double share = (double)replicas / c;
  all.rate *= share;
  if (router == HR_SERVICE_ROUND_ROBIN || router == HR_SERVICE_WEIGHTED)
    all.dispersion *= share;
  else
    all.dispersion = 1 + (all.dispersion - 1) * share;
  return (struct queue){replicas, all};
}

/* Returns whether `c` replicas of an engine that adds requests to a running batch are predicted to meet the goals. A
   request stays in the batch for one iteration per output token. If all slots are in use, slots / outputs requests
   begin in each iteration, so the iteration also processes their prompts. */
static bool batches_meet(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c) {
  struct hr__slo_demand each = all;
  each.rate /= c;
  const double slots = slots_of(spec, all), missed = missed_of(spec);
  double decodes;
  const double mean_s = steady_iteration_s(spec, each, slots, &decodes);
  if (mean_s <= 0) return false;
  const double t = slow_iteration_s(spec, each, mean_s, decodes, slots, missed);
  const double prompt_s = iteration_s(&spec->cost, all.prompt, 0, 0), load = all.rate * prompt_s;
  if (load >= c) return false;
  const double full_s =
      iteration_s(&spec->cost, all.prompt * slots / all.output, slots, slots * (all.prompt + all.output / 2));
  const struct queue queue = queue_of(spec, all, c);
  const double slot_s = place_wait_s(queue.replicas * slots, queue.demand, all.output * full_s, missed);
  const double turn_s = wait_s(queue.replicas, queue.demand.rate * prompt_s, prompt_s, missed);
  const double ttft_s = t + prompt_s + turn_s + slot_s;
  return is_within(&spec->slo, (struct latency){ttft_s, t}, all.output);
}

/* Returns the latency of a batch of `static` or `dynamic-batch`: the time until the first token, and the time of each
   token after the first one. */
static struct latency batch_of(const struct hr_service *spec, struct hr__slo_demand demand, double size) {
  if (spec->engine == HR_SERVICE_DYNAMIC_BATCH) {
    const double prompts = spec->cost.n_knots ? 0 : size * demand.prompt;
    return (struct latency){iteration_s(&spec->cost, prompts, size, 0), 0};
  }
  const double context = demand.prompt + demand.output / 2;
  return (struct latency){iteration_s(&spec->cost, size * demand.prompt, 0, 0),
                          iteration_s(&spec->cost, 0, size, size * context)};
}

/* Returns the mean of the largest number of output tokens in a batch of `size` requests. It is exact if all numbers are
   equal, and close to exact for exponential numbers. */
static double longest_of(struct hr__slo_demand demand, double size) {
  const double harmonic = log(size) + 0.5772 + 0.4228 / size;
  return demand.output * (1 + demand.output_cv * (harmonic - 1));
}

/* Returns the wait for the end of a running batch that only the share `missed` of requests exceeds. The wait is
   uniformly distributed if all batches take the same time. It is exponentially distributed if the times of batches vary
   as much as exponential outputs. */
static double rest_of_batch_s(struct hr__slo_demand demand, double size, double batch_s, double missed) {
  if (missed >= 1) return 0;
  const double variance = fmin(demand.output_cv * demand.output_cv, 1) / size;
  return batch_s * ((1 - variance) * (1 - missed) - variance * log(fmax(missed, 1e-9)));
}

/* Returns whether `c` replicas that run one batch after another are predicted to meet the goals. A batch has the
   requests that arrived during the previous batch. A request that finds all replicas busy waits for the end of a
   batch. */
static bool whole_batches_meet(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c) {
  const double slots = slots_of(spec, all), missed = missed_of(spec), rate = all.rate / c;
  double size = 1, batch_s = 0, alone_s = 0;
  struct latency latency = {0};
  for (int i = 0; i < 200; i++) {
    latency = batch_of(spec, all, size);
    batch_s = latency.ttft_s + (longest_of(all, size) - 1) * latency.tpot_s;
    if (i == 0) alone_s = batch_s;
    const double next = fmax(rate * batch_s, 1);
    if (next > slots) return false;
    if (next <= size * (1 + 1e-9)) break;
    size = next;
  }
  const struct queue queue = queue_of(spec, all, c);
  const struct latency full = batch_of(spec, all, slots);
  const double full_s = full.ttft_s + (longest_of(all, slots) - 1) * full.tpot_s;
  const double busy = fmin(rate * alone_s, 1);
  const double p = pow(busy, sqrt(2 * (queue.replicas + 1.0)) - 1) * regular_share(queue.demand, busy);
  const double rest_s = rest_of_batch_s(queue.demand, size, batch_s, missed / p);
  const double one_s = place_wait_s(queue.replicas, queue.demand, alone_s, missed);
  const double full_wait_s = place_wait_s(queue.replicas * slots, queue.demand, full_s, missed);
  latency.ttft_s += fmax(fmin(rest_s, one_s), full_wait_s) + spec->dynamic.max_queue_delay_us / (double)HR_SECOND_US;
  if (all.output > 1) latency.tpot_s *= fmax(longest_of(all, size) - 1, 0) / (all.output - 1);
  return is_within(&spec->slo, latency, all.output);
}

/* Returns whether `c` replicas of the engine `single` are predicted to meet the goals. Without processor sharing,
   requests wait for a server. With processor sharing, the time of a request is multiplied by 1 + wait / service time,
   with the same wait. */
static bool servers_meet(const struct hr_service *spec, struct hr__slo_demand all, uint32_t c) {
  const double missed = missed_of(spec), servers = spec->single.servers;
  struct latency latency = {iteration_s(&spec->cost, all.prompt, 0, 0),
                            iteration_s(&spec->cost, 0, 1, all.prompt + all.output / 2)};
  const double service_s = latency.ttft_s + (all.output - 1) * latency.tpot_s;
  const struct queue queue = queue_of(spec, all, c);
  const double delay_s = place_wait_s(queue.replicas * servers, queue.demand, service_s, missed);
  if (spec->single.shares) {
    const double stretch = 1 + delay_s / service_s;
    latency.ttft_s *= stretch;
    latency.tpot_s *= stretch;
  } else {
    latency.ttft_s += delay_s;
  }
  return is_within(&spec->slo, latency, all.output);
}

/* Returns whether `replicas` replicas are predicted to meet the goals. `replicas` must be at least 1. */
static bool slo_is_met(const struct hr_service *spec, struct hr__slo_demand demand, uint32_t replicas) {
  if (hr__has_phases(spec)) return phases_meet(spec, demand, replicas);
  switch (spec->engine) {
  case HR_SERVICE_STATIC:
  case HR_SERVICE_DYNAMIC_BATCH:
    return whole_batches_meet(spec, demand, replicas);
  case HR_SERVICE_SINGLE:
    return servers_meet(spec, demand, replicas);
  default:
    return batches_meet(spec, demand, replicas);
  }
}

/* ---- Scaling ---------------------------------------------------------------------------------------- */

#define SECOND_TICKS ((double)HR_SECOND_US * (double)(INT64_C(1) << HR__TICK_BITS))

static uint32_t clamp(int64_t wanted, const struct hr_autoscale *scale) {
  if (wanted < (int64_t)scale->min) return scale->min;
  return wanted > (int64_t)scale->max ? scale->max : (uint32_t)wanted;
}

/* ---- Scaling: samples ------------------------------------------------------------------------------- */

/* Returns the time that replicas have spent in iterations so far. Iterations that run count up to now. */
static double busy_s(const struct hr__service_run *run) {
  int64_t ticks = 0;
  for (uint32_t i = 0; i < run->n_replicas; i++) {
    const struct hr__replica *replica = &run->replicas[i];
    ticks += replica->busy_ticks;
    if (replica->end_ticks != HR_NEVER_US) ticks -= replica->end_ticks - run->now_ticks;
  }
  return (double)ticks / SECOND_TICKS;
}

static void take_sample(struct hr__scaler *scaler, const struct hr__service_run *run, int64_t now_us) {
  const struct hr_service_requests *requests = run->requests;
  for (; scaler->n_summed < run->next; scaler->n_summed++) {
    scaler->prompts += hr_request_new_tokens(requests, scaler->n_summed);
    const double outputs = requests->output_tokens[scaler->n_summed];
    scaler->outputs += outputs;
    scaler->output_squares += outputs * outputs;
    scaler->memory += requests->prompt_tokens[scaler->n_summed] + outputs;
  }
  const hr_amount open_ticks = (hr_amount)run->n_outstanding * (run->now_ticks - run->counted_ticks);
  scaler->samples[scaler->count++ % scaler->n_samples] =
      (struct hr__load_sample){.outstanding_s = (double)(run->outstanding_ticks + open_ticks) / SECOND_TICKS,
                               .busy_s = busy_s(run),
                               .ready_s = (double)hr__service_ready_ticks(run) / SECOND_TICKS,
                               .prompts = scaler->prompts,
                               .outputs = scaler->outputs,
                               .output_squares = scaler->output_squares,
                               .memory = scaler->memory,
                               .arrived = run->next,
                               .outstanding = run->n_outstanding,
                               .waiting = run->n_waiting,
                               .ready = hr__service_ready(run)};
  if (run->n_outstanding || run->next > scaler->n_seen) scaler->active_us = now_us;
  scaler->n_seen = run->next;
}

/* Returns the sample that is `back_us` older than the newest known sample. If the run had not begun at this time, all
   values are zero. */
static struct hr__load_sample sample_at(const struct hr__scaler *scaler, int64_t back_us) {
  const int64_t step_us = scaler->sample_us;
  const uint64_t back =
      (uint64_t)((scaler->spec->autoscale.metric_delay_us + step_us - 1) / step_us + back_us / step_us);
  if (back >= scaler->count || back >= scaler->n_samples) return (struct hr__load_sample){0};
  return scaler->samples[(scaler->count - 1 - back) % scaler->n_samples];
}

/* Returns the observed part of a window, in seconds. */
static double observed_s(const struct hr__scaler *scaler, int64_t now_us, int64_t window_us) {
  const int64_t known_us = now_us - scaler->spec->autoscale.metric_delay_us;
  return (double)hr__larger(known_us < window_us ? known_us : window_us, 1) / (double)HR_SECOND_US;
}

static double mean_concurrency(const struct hr__scaler *scaler, int64_t now_us, int64_t window_us) {
  const double sum = sample_at(scaler, 0).outstanding_s - sample_at(scaler, window_us).outstanding_s;
  return sum / observed_s(scaler, now_us, window_us);
}

static double mean_rate(const struct hr__scaler *scaler, int64_t now_us, int64_t window_us) {
  const uint64_t sum = sample_at(scaler, 0).arrived - sample_at(scaler, window_us).arrived;
  return (double)sum / observed_s(scaler, now_us, window_us);
}

/* Returns the busy time of replicas in percent of their ready time; negative: no replica was ready. The times are those
   between two successive samples, of which the later one is `back_us` older than the newest sample. Replicas that drain
   are busy without being ready, so the result is limited to 100. */
static double utilization(const struct hr__scaler *scaler, int64_t back_us) {
  const struct hr__load_sample last = sample_at(scaler, back_us),
                               before = sample_at(scaler, back_us + scaler->sample_us);
  const double ready_s = last.ready_s - before.ready_s;
  return last.ready && ready_s > 0 ? fmin(100 * (last.busy_s - before.busy_s) / ready_s, 100) : -1;
}

/* ---- Scaling: policies ------------------------------------------------------------------------------ */

static struct hr__scale_choice by_schedule(const struct hr_autoscale *scale, int64_t now_us) {
  const int64_t at_us = scale->period_us ? now_us % scale->period_us : now_us;
  /* before the first step of a period, the last step applies, also in the first period */
  uint32_t wanted =
      scale->period_us && now_us >= scale->period_us ? scale->steps[scale->n_steps - 1].replicas : scale->min;
  if (scale->period_us && scale->steps[0].at_us > 0) wanted = scale->steps[scale->n_steps - 1].replicas;
  for (uint32_t i = 0; i < scale->n_steps && scale->steps[i].at_us <= at_us; i++) wanted = scale->steps[i].replicas;
  return (struct hr__scale_choice){clamp(wanted, scale), HR_SCALE_SCHEDULED};
}

static void record_second(struct hr__scaler *scaler, int64_t now_us) {
  const struct hr__load_sample last = sample_at(scaler, 0), before = sample_at(scaler, scaler->sample_us);
  const double value = scaler->spec->autoscale.metric == HR_SCALE_RPS ? (double)(last.arrived - before.arrived)
                                                                      : last.outstanding_s - before.outstanding_s;
  hr__knative_window_add(&scaler->stable, now_us, value);
  hr__knative_window_add(&scaler->panic, now_us, value);
}

/* Makes the decision of Knative if its rules want no replica. The last replica remains during the first stable window
   after the activation. After this window, it remains until no replica has been wanted for the grace period or the
   retention period, whichever is longer. Time before the end of the window does not count. */
static struct hr__scale_choice to_zero(struct hr__scaler *scaler, int64_t now_us, uint32_t wanted) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__scale_choice stays = {wanted > 1 ? 1 : wanted, HR_SCALE_LOAD};
  if (wanted == 0 || now_us - scaler->activated_us < scale->stable_window_us) return stays;
  if (scaler->inactive_us == HR_UNKNOWN_US) scaler->inactive_us = now_us;
  const int64_t keep_us = hr__larger(scale->grace_us, scale->retention_us);
  if (now_us - scaler->inactive_us < keep_us) return stays;
  return (struct hr__scale_choice){0, HR_SCALE_IDLE};
}

static struct hr__scale_choice by_knative(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__knative_spec spec = {.target = scale->target,
                                        .total = scale->target,
                                        .panic_threshold = scale->panic_threshold,
                                        .max_up_rate = scale->max_scale_up_rate,
                                        .max_down_rate = scale->max_scale_down_rate,
                                        .stable_window_us = scale->stable_window_us,
                                        .down_delay_us = scale->scale_down_delay_us,
                                        .activation_scale = scale->activation_scale,
                                        .reachable = true};
  bool is_empty;
  const double stable = hr__knative_window_average(&scaler->stable, now_us, &is_empty);
  const double panic = hr__knative_window_average(&scaler->panic, now_us, &is_empty);
  const struct hr__knative_decision decision =
      hr__knative_decide(&spec, &scaler->knative, now_us, stable, panic, sample_at(scaler, 0).ready);
  if (decision.desired == 0 && scale->min == 0) return to_zero(scaler, now_us, state.wanted);
  scaler->inactive_us = HR_UNKNOWN_US;
  return (struct hr__scale_choice){clamp(decision.desired, scale),
                                   scaler->knative.panics ? HR_SCALE_PANIC : HR_SCALE_LOAD};
}

static int64_t to_milli(double value) {
  return llround(value * 1000);
}

/* Makes the decision of the horizontal pod autoscaler. Each ready replica is a pod with the mean value of the metric.
   The other replicas are unready pods without a value. */
static struct hr__scale_choice by_hpa(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__load_sample sample = sample_at(scaler, 0);
  const bool is_utilization = scale->metric == HR_SCALE_UTILIZATION;
  double value = sample.outstanding;
  if (scale->metric == HR_SCALE_RPS) value = mean_rate(scaler, now_us, scaler->interval_us);
  const int64_t level = is_utilization ? to_milli(fmax(utilization(scaler, 0), 0) / 100)
                        : sample.ready ? to_milli(value / (double)sample.ready)
                                       : 0;
  for (uint32_t i = 0; i < state.present; i++)
    scaler->pods[i] = (struct hr__hpa_pod){.level = level,
                                           .request = 1000,
                                           .has_level = i < sample.ready,
                                           .has_request = true,
                                           .unready = i >= sample.ready};
  const struct hr__hpa_measured measured = {.metric = is_utilization ? HR__HPA_UTILIZATION : HR__HPA_PODS_AVERAGE,
                                            .pods = scaler->pods,
                                            .n_pods = state.present,
                                            .target = is_utilization ? llround(scale->target) : to_milli(scale->target),
                                            .tolerance = scale->tolerance};
  struct hr__hpa_proposal proposal;
  if (!hr__hpa_propose(&measured, state.wanted, &proposal)) proposal.replicas = state.wanted;
  const struct hr__hpa_limits limits = {scale->min > 1 ? scale->min : 1, scale->max};
  const int64_t wanted =
      hr__hpa_normalize(&scaler->up, &scaler->down, &scaler->history, now_us, state.wanted, proposal.replicas, limits);
  hr__hpa_changed(&scaler->up, &scaler->down, &scaler->history, now_us, state.wanted, wanted);
  return (struct hr__scale_choice){(uint32_t)wanted, HR_SCALE_LOAD};
}

static struct hr__scale_choice by_keda(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__keda_spec spec = {
      .min = scale->min, .idle = scale->idle == HR_NONE ? -1 : (int64_t)scale->idle, .cooldown_us = scale->cooldown_us};
  const bool is_active = sample_at(scaler, 0).outstanding > scale->activation_threshold;
  const int64_t inactive_us = scaler->active_us == HR_UNKNOWN_US ? -1 : now_us - scaler->active_us;
  const int64_t wanted = hr__keda_decide(&spec, state.wanted, is_active, false, inactive_us);
  if (wanted == 0 || state.wanted == 0) {
    const enum hr_scale_reason reason = wanted == 0 ? HR_SCALE_IDLE : HR_SCALE_ACTIVATION;
    return (struct hr__scale_choice){(uint32_t)wanted, reason};
  }
  /* the number of replicas of an idle service may be below the minimum */
  if (wanted != state.wanted) return (struct hr__scale_choice){(uint32_t)wanted, HR_SCALE_LOAD};
  return by_hpa(scaler, now_us, state);
}

static struct hr__scale_choice by_ray(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__ray_spec spec = {.min = scale->min,
                                    .max = scale->max,
                                    .target = scale->target,
                                    .up_factor = scale->upscaling_factor,
                                    .down_factor = scale->downscaling_factor,
                                    .up_delay_us = scale->upscale_delay_us,
                                    .down_delay_us = scale->downscale_delay_us,
                                    .to_zero_delay_us = scale->downscale_to_zero_delay_us};
  const double requests = mean_concurrency(scaler, now_us, scale->look_back_us);
  const int64_t wanted =
      hr__ray_decide(&spec, &scaler->ray, now_us, sample_at(scaler, 0).ready, state.wanted, requests);
  return (struct hr__scale_choice){clamp(wanted, scale), wanted == 0 ? HR_SCALE_IDLE : HR_SCALE_LOAD};
}

static struct hr__scale_choice by_nvcf(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__nvcf_spec spec = {.up_threshold = (float)scale->up_threshold,
                                     .down_threshold = (float)scale->down_threshold,
                                     .up_factor = (float)scale->up_factor,
                                     .down_factor = (float)scale->down_factor,
                                     .up = {scale->up_window, scale->up_required},
                                     .down = {scale->down_window, scale->down_required},
                                     .decay = (float)scale->decay};
  uint32_t n = 0;
  /* samples of the last ten minutes, the oldest first; samples without a ready replica are omitted */
  const uint32_t most = (uint32_t)(600 * HR_SECOND_US / scaler->sample_us);
  for (uint32_t back = most; back-- > 0;) {
    const double percent = utilization(scaler, back * scaler->sample_us);
    if (percent >= 0) scaler->percent[n++] = percent;
  }
  const bool is_recent = scaler->active_us != HR_UNKNOWN_US && now_us - scaler->active_us < scale->idle_to_zero_us;
  int64_t wanted = state.wanted;
  const bool decides =
      hr__nvcf_decide(&spec, scaler->percent, n, sample_at(scaler, 0).ready, state.wanted, is_recent, &wanted);
  const enum hr_scale_reason reason = wanted == 0         ? HR_SCALE_IDLE
                                      : state.wanted == 0 ? HR_SCALE_ACTIVATION
                                                          : HR_SCALE_LOAD;
  return (struct hr__scale_choice){decides ? clamp(wanted, scale) : state.wanted, reason};
}

/* ---- Scaling: the autoscaler `slo` ------------------------------------------------------------------ */

/* Returns the dispersion of arrivals, at least that of a Poisson process (1). It is computed from the differences
   between successive numbers of arrivals, so that slow changes of the rate do not count. */
static double dispersion(const struct hr__scaler *scaler) {
  const int64_t step_us = scaler->sample_us;
  const uint64_t delay = (uint64_t)((scaler->spec->autoscale.metric_delay_us + step_us - 1) / step_us) + 1;
  const uint64_t most = scaler->count < scaler->n_samples ? scaler->count : scaler->n_samples;
  double squares = 0, sum = 0, before = 0;
  uint32_t n = 0;
  for (uint64_t back = 0; back + delay < most; back++) {
    const struct hr__load_sample last = sample_at(scaler, (int64_t)back * step_us);
    const double more = (double)(last.arrived - sample_at(scaler, (int64_t)(back + 1) * step_us).arrived);
    if (n++ > 0) squares += (more - before) * (more - before) / 2;
    sum += more;
    before = more;
  }
  return n > 2 && sum > 0 ? fmax(squares / (n - 1) / (sum / n), 1) : 1;
}

/* Returns the rate at which waiting requests must be served in addition to arriving requests. If more requests wait
   than arrive within the goal for the first token (or the end-to-end goal), the last of them misses this goal. The
   excess should be served within the interval between decisions or within the goal, whichever is longer. Without such a
   goal, the window of the autoscaler is used instead. */
static double backlog_rate(const struct hr__scaler *scaler, double rate, uint32_t waiting) {
  const struct hr_service_slo *slo = &scaler->spec->slo;
  const double goal_s = (slo->ttft_ms > 0 ? slo->ttft_ms : slo->e2e_ms) / 1000;
  const double allowed_s = goal_s > 0 ? goal_s : (double)scaler->spec->autoscale.window_us / (double)HR_SECOND_US;
  const double interval_s = (double)scaler->interval_us / (double)HR_SECOND_US;
  return fmax(waiting - rate * allowed_s, 0) / fmax(allowed_s, interval_s);
}

/* Returns the smallest number of replicas that is predicted to meet the goals; the maximum if no number does. If no
   request arrived in the window, returns the minimum, but at least 1 if requests are outstanding or the service has
   replicas. */
static struct hr__scale_choice predicted(const struct hr__scaler *scaler, int64_t now_us,
                                         struct hr__scale_state state) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const struct hr__load_sample last = sample_at(scaler, 0), before = sample_at(scaler, scale->window_us);
  const uint64_t arrived = last.arrived - before.arrived;
  if (!arrived) {
    const uint32_t least = clamp(last.outstanding ? 1 : 0, scale);
    /* the number becomes zero only after the idle time, which replica_jobs.c checks */
    return (struct hr__scale_choice){least ? least : state.wanted ? 1 : 0, HR_SCALE_LOAD};
  }
  /* if the rate of the newest interval is higher, this rate is used */
  const double rate = fmax(mean_rate(scaler, now_us, scale->window_us), mean_rate(scaler, now_us, scaler->interval_us));
  const double n = (double)arrived, output = (last.outputs - before.outputs) / n;
  const double variance = (last.output_squares - before.output_squares) / n - output * output;
  const struct hr__slo_demand demand = {.rate = rate + backlog_rate(scaler, rate, last.waiting),
                                        .prompt = (last.prompts - before.prompts) / n,
                                        .output = output,
                                        .output_cv = output > 0 ? sqrt(fmax(variance, 0)) / output : 0,
                                        .memory = (last.memory - before.memory) / n,
                                        .dispersion = dispersion(scaler)};
  const uint32_t least = scale->min > 1 ? scale->min : 1;
  for (uint32_t c = least; c <= scale->max; c++)
    if (slo_is_met(scaler->spec, demand, c)) return (struct hr__scale_choice){c, HR_SCALE_GOALS};
  return (struct hr__scale_choice){scale->max, HR_SCALE_UNREACHABLE};
}

/* Makes the decision of the autoscaler `slo`. A replica that is removed too early can be replaced only after a cold
   start. So the number decreases only if fewer replicas have sufficed for the time of a cold start, and only to the
   maximum number that was needed in this time. */
static struct hr__scale_choice by_slo(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  const struct hr_cold_start *cold = &scaler->spec->cold_start;
  const int64_t cold_us = cold->node_us + cold->image_us + cold->container_us + cold->weights_us + cold->engine_us;
  struct hr__scale_choice choice = predicted(scaler, now_us, state);
  if (choice.wanted >= state.wanted) {
    scaler->fewer_us = HR_UNKNOWN_US;
    return choice;
  }
  if (scaler->fewer_us == HR_UNKNOWN_US) scaler->fewer_us = now_us, scaler->fewer_most = 0;
  if (choice.wanted > scaler->fewer_most) scaler->fewer_most = choice.wanted;
  if (now_us - scaler->fewer_us < cold_us) return (struct hr__scale_choice){state.wanted, choice.reason};
  choice.wanted = scaler->fewer_most;
  scaler->fewer_us = HR_UNKNOWN_US;
  return choice;
}

/* ---- Scaling: decisions ----------------------------------------------------------------------------- */

bool hr__scaler_is_active(const struct hr__scaler *scaler) {
  return scaler->spec->autoscale.policy != HR_AUTOSCALE_FIXED;
}

int64_t hr__scaler_patience_us(const struct hr__scaler *scaler) {
  static const double day_us = 86400 * (double)HR_SECOND_US;
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  double sum_us = day_us + (double)scale->metric_delay_us + (double)scale->stable_window_us +
                  (double)scale->up.stabilization_us + (double)scale->upscale_delay_us + (double)scale->look_back_us +
                  (double)scale->window_us + (double)scaler->interval_us * (2.0 + scale->up_window);
  const int64_t down_us[] = {
      scale->down.stabilization_us, scale->downscale_delay_us, scale->downscale_to_zero_delay_us,
      scale->scale_down_delay_us,   scale->cooldown_us,        scale->grace_us,
      scale->retention_us,          scale->idle_to_zero_us,    scaler->interval_us * scale->down_window};
  for (size_t i = 0; i < sizeof down_us / sizeof *down_us; i++)
    if (down_us[i] > 0 && down_us[i] < HR_NEVER_US) sum_us += (double)down_us[i];
  for (uint32_t i = 0; i < scale->up.n_policies; i++) sum_us += (double)scale->up.policies[i].period_us;
  for (uint32_t i = 0; i < scale->down.n_policies; i++) sum_us += (double)scale->down.policies[i].period_us;
  if (scale->n_steps > 0)
    sum_us += (double)(scale->period_us ? scale->period_us : scale->steps[scale->n_steps - 1].at_us);
  return sum_us < (double)HR_NEVER_US / 4 ? (int64_t)sum_us : HR_NEVER_US / 4;
}

uint32_t hr__scaler_initial(const struct hr__scaler *scaler) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  if (scale->policy == HR_AUTOSCALE_SCHEDULE) return by_schedule(scale, 0).wanted;
  return scale->initial == HR_NONE ? scale->min : scale->initial;
}

static struct hr__scale_choice decide(struct hr__scaler *scaler, int64_t now_us, struct hr__scale_state state) {
  switch (scaler->spec->autoscale.policy) {
  case HR_AUTOSCALE_SCHEDULE:
    return by_schedule(&scaler->spec->autoscale, now_us);
  case HR_AUTOSCALE_KNATIVE:
    return by_knative(scaler, now_us, state);
  case HR_AUTOSCALE_HPA:
    return by_hpa(scaler, now_us, state);
  case HR_AUTOSCALE_KEDA:
    return by_keda(scaler, now_us, state);
  case HR_AUTOSCALE_RAY_SERVE:
    return by_ray(scaler, now_us, state);
  case HR_AUTOSCALE_NVCF:
    return by_nvcf(scaler, now_us, state);
  case HR_AUTOSCALE_SLO:
    return by_slo(scaler, now_us, state);
  case HR_AUTOSCALE_FIXED:
  case HR_N_AUTOSCALERS:
    break;
  }
  return (struct hr__scale_choice){state.wanted, HR_SCALE_INITIAL};
}

bool hr__scaler_tick(struct hr__scaler *scaler, const struct hr__service_run *run, int64_t now_us,
                     struct hr__scale_state state, struct hr__scale_choice *choice) {
  take_sample(scaler, run, now_us);
  if (scaler->stable.seconds) record_second(scaler, now_us);
  if (now_us % scaler->interval_us != 0) return false;
  *choice = decide(scaler, now_us, state);
  if (state.wanted == 0 && choice->wanted > 0) {
    choice->reason = HR_SCALE_ACTIVATION;
    scaler->activated_us = now_us;
  }
  return true;
}

bool hr__scaler_activates_at_once(const struct hr__scaler *scaler) {
  const enum hr_autoscaler policy = scaler->spec->autoscale.policy;
  return policy == HR_AUTOSCALE_KNATIVE || policy == HR_AUTOSCALE_SLO;
}

struct hr__scale_choice hr__scaler_activate(struct hr__scaler *scaler, int64_t now_us) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  scaler->activated_us = now_us;
  scaler->inactive_us = HR_UNKNOWN_US;
  return (struct hr__scale_choice){clamp(scale->activation_scale > 1 ? scale->activation_scale : 1, scale),
                                   HR_SCALE_ACTIVATION};
}

/* ---- Scaling: memory -------------------------------------------------------------------------------- */

static int64_t default_interval_us(enum hr_autoscaler policy) {
  static const int64_t seconds_tenths[HR_N_AUTOSCALERS] = {
      [HR_AUTOSCALE_SCHEDULE] = 600, [HR_AUTOSCALE_KNATIVE] = 20, [HR_AUTOSCALE_HPA] = 150, [HR_AUTOSCALE_KEDA] = 300,
      [HR_AUTOSCALE_RAY_SERVE] = 1,  [HR_AUTOSCALE_NVCF] = 300,   [HR_AUTOSCALE_SLO] = 150, [HR_AUTOSCALE_FIXED] = 10};
  return seconds_tenths[policy] * HR_SECOND_US / 10;
}

static void copy_rules(struct hr__hpa_rules *to, const struct hr_scale_rules *from) {
  *to = (struct hr__hpa_rules){.select = (enum hr__hpa_select)from->select, .stabilization_us = from->stabilization_us};
  for (uint32_t i = 0; i < from->n_policies && i < HR__HPA_MAX_POLICIES; i++)
    to->policies[to->n_policies++] =
        (struct hr__hpa_policy){from->policies[i].is_percent, from->policies[i].value, from->policies[i].period_us};
}

static int64_t longest_us(const struct hr__hpa_rules *rules) {
  int64_t longest = rules->stabilization_us;
  for (uint32_t i = 0; i < rules->n_policies; i++) longest = hr__larger(longest, rules->policies[i].period_us);
  return longest;
}

static bool open_hpa(struct hr__scaler *scaler, uint32_t n_places) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  copy_rules(&scaler->up, &scale->up);
  copy_rules(&scaler->down, &scale->down);
  const int64_t most_us = hr__larger(longest_us(&scaler->up), longest_us(&scaler->down));
  const size_t room = (size_t)(most_us / scaler->interval_us) + 4;
  return HR__ARRAY_MAKE(scaler->history.up, room) && HR__ARRAY_MAKE(scaler->history.down, room) &&
         HR__ARRAY_MAKE(scaler->history.recommendations, room) && HR__ARRAY_MAKE(scaler->pods, n_places);
}

static bool open_window(struct hr__knative_window *window, int64_t window_us) {
  window->seconds = hr__larger((window_us + HR_SECOND_US - 1) / HR_SECOND_US, 1);
  window->first_s = window->last_s = -1;
  return HR__ARRAY_MAKE(window->bucket, window->seconds);
}

static bool open_knative(struct hr__scaler *scaler) {
  const struct hr_autoscale *scale = &scaler->spec->autoscale;
  const uint32_t initial = hr__scaler_initial(scaler);
  /* with more than one replica at the start, Knative begins in panic mode */
  if (initial > 1) scaler->knative = (struct hr__knative){.panics = true, .max_panic = initial};
  return open_window(&scaler->stable, scale->stable_window_us) &&
         open_window(&scaler->panic, llround((double)scale->stable_window_us * scale->panic_window_share)) &&
         (scale->scale_down_delay_us <= 0 || HR__ARRAY_MAKE(scaler->knative.delayed, HR__KNATIVE_MAX_DELAY_TICKS));
}

bool hr__scaler_open(struct hr__scaler *scaler, const struct hr_service *spec, uint32_t n_places) {
  const struct hr_autoscale *scale = &spec->autoscale;
  *scaler = (struct hr__scaler){
      .spec = spec, .active_us = HR_UNKNOWN_US, .inactive_us = HR_UNKNOWN_US, .fewer_us = HR_UNKNOWN_US};
  scaler->interval_us = scale->interval_us ? scale->interval_us : default_interval_us(scale->policy);
  scaler->sample_us = scale->policy == HR_AUTOSCALE_KNATIVE ? HR_SECOND_US : scaler->interval_us;
  const int64_t windows_us = hr__larger(hr__larger(scale->look_back_us, scale->window_us), 600 * HR_SECOND_US);
  scaler->n_samples = (uint32_t)((windows_us + scale->metric_delay_us) / scaler->sample_us) + 4;
  if (!HR__ARRAY_MAKE(scaler->samples, scaler->n_samples) || !HR__ARRAY_MAKE(scaler->percent, scaler->n_samples))
    return false;
  if (scale->policy == HR_AUTOSCALE_KNATIVE) return open_knative(scaler);
  return (scale->policy != HR_AUTOSCALE_HPA && scale->policy != HR_AUTOSCALE_KEDA) || open_hpa(scaler, n_places);
}

void hr__scaler_close(struct hr__scaler *scaler) {
  free(scaler->samples);
  free(scaler->percent);
  free(scaler->knative.delayed);
  free(scaler->stable.bucket);
  free(scaler->panic.bucket);
  free(scaler->history.up);
  free(scaler->history.down);
  free(scaler->history.recommendations);
  free(scaler->pods);
  *scaler = (struct hr__scaler){0};
}
