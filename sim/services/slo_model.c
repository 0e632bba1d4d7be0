/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Predicts the latency of a service with c replicas, each of which gets 1/c of the requests. They share a queue, or
 * each has its own, depending on the router.
 *
 * Continuous batching: with n sequences that decode, an iteration takes t = cost(prompt tokens that arrive during t, n
 * decodes, their context), and Little's law gives the mean n = rate x outputs x t. The goals are for a share of the
 * requests, so t is computed for a quantile of n; the variance of n follows from the load and from the dispersion of
 * arrivals. The time to the first token is the sum of the rest of an iteration, the time of the prompt, the wait in an
 * M/M/c queue with the service time of a prompt, which has exponential quantiles, and the wait for a slot.
 *
 * A replica has slots: the number of sequences that `max_sequences` and its memory allow. Its capacity is slots / time
 * of a request if all slots are taken. The wait for a slot is that of a queue with the slots of its replicas as
 * servers. It is nearly zero if slots are many, and infinite if the capacity is below the rate.
 */

#include "sim/services/cost.h"
#include "sim/services/disaggregated.h"
#include "sim/services/scaling.h"

#include <math.h>

static double iteration_s(const struct hr_service_cost *cost, double prompts, double decodes, double context) {
  const struct hr__batch_load load = {.prompts = (uint64_t)llround(prompts),
                                      .decodes = (uint64_t)llround(decodes),
                                      .context = (uint64_t)llround(context)};
  return hr__cost_us(cost, &load) / (double)HR_SECOND_US;
}

/* The time of an iteration with a number of decodes, and with the prompts that arrive meanwhile; 0: they arrive faster
   than they are processed. */
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

/* The time of an iteration under a steady load: the mean; 0: no steady state with at most `slots` sequences.
   `*decodes`: the mean number of them. */
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

/* The value that a standard normal variable exceeds with the given probability, at most one half (Abramowitz and
   Stegun, 26.2.23: the error is below 0.00045). */
static double normal_above(double probability) {
  const double p = fmin(fmax(probability, 1e-9), 0.5), t = sqrt(-2 * log(p));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* The time of an iteration that only the share `missed` of iterations exceeds. With iterations of a + c n, the number n
   of decodes has a negative binomial distribution: its variance is mean / (1 - z), where z is the load, rate x outputs
   x c. Arrivals that are more or less bursty than those of a Poisson process scale the variance. */
static double slow_iteration_s(const struct hr_service *spec, struct hr__slo_demand demand, double mean_s,
                               double decodes, double slots, double missed) {
  enum { MOST = 1 << 24 };
  const double slope_s = time_with_s(spec, demand, decodes + 1) - time_with_s(spec, demand, decodes);
  const double z = fmin(demand.rate * demand.output * fmax(slope_s, 0), 0.999);
  const double above = normal_above(missed) * sqrt(decodes * demand.dispersion / (1 - z));
  const double most = fmin(decodes + above, fmin(slots, MOST));
  return fmax(time_with_s(spec, demand, most), mean_s);
}

/* Erlang's probability that all of `c` servers are busy, at a utilization below 1. */
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

/* The wait for one of `c` servers that only the share `missed` of all requests exceeds: P(wait > x) = p e^{-(c - load)
   x / service time}. */
static double wait_s(uint32_t c, double load, double service_s, double missed) {
  const double p = erlang_c(c, load);
  return p > missed && missed > 0 ? log(p / missed) * service_s / (c - load) : 0;
}

/* The share of all requests that may miss the goals. */
static double missed_of(const struct hr_service *spec) {
  return 1 - (spec->slo.attainment > 0 ? spec->slo.attainment : 0.95);
}

/* The time of an iteration of decodes, on each of `c` replicas that use the share `share` of their time for decodes; 0:
   they cannot serve the load. */
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

/* For engines with phases: prompts are served one by one, and decodes have separate replicas or
   (`colocated`) the rest of the time. */
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

/* ---- Limited concurrency ---------------------------------------------------------------------------- */

/* The maximum number of sequences that a replica runs at once: `max_sequences`, or the memory divided by the memory of
   a mean request. At least 1, as larger requests are refused. */
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

/* Arrivals that are more regular than those of a Poisson process find all places taken less often: Kraemer and
   Langenbach-Belz's approximation (1976) for one server, as a multiple of the probability with Poisson arrivals. */
static double regular_share(struct hr__slo_demand demand, double utilization) {
  const double arrivals = demand.dispersion, services = demand.output_cv * demand.output_cv;
  if (arrivals >= 1) return 1;
  const double less = (1 - arrivals) * (1 - utilization) * (1 + arrivals + utilization * services) /
                      (1 + utilization * (services - 1) + utilization * utilization * (4 * arrivals + services));
  return fmax(1 - less, 0.01);
}

/* The wait for one of many places that only the share `missed` of all requests exceeds, as wait_s(), with Sakasegawa's
   approximation of Erlang's probability (1977), which needs no loop, and Allen and Cunneen's factor for the variance of
   arrivals and of service times, which is that of the outputs. HUGE_VAL: the places do not suffice. */
static double place_wait_s(double places, struct hr__slo_demand demand, double service_s, double missed) {
  const double load = demand.rate * service_s;
  if (load >= places) return HUGE_VAL;
  const double share = regular_share(demand, load / places);
  const double p = pow(load / places, sqrt(2 * (places + 1)) - 1) * share;
  const double factor = (demand.dispersion + demand.output_cv * demand.output_cv) / 2 / share;
  return p > missed ? log(p / fmax(missed, 1e-9)) * service_s / (places - load) * factor : 0;
}

/* The replicas behind one queue, and its part of the requests. A router that does not regard the load of replicas gives
   each its own queue: in turn, whose arrivals are more regular, or at random, whose arrivals are thinned out. But if
   all requests take the same time, replicas become free in turn, so queues that are filled in turn are one queue. Power
   of two is between these and a shared queue: it is at least as good as a queue for each pair. */
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

/* Engines that add requests to a running batch. A request stays for one iteration for each output token. If all slots
   are taken, each iteration also has the prompts of the requests that begin, slots / outputs of them. */
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

/* A batch of `static` or `dynamic-batch`: the time until the first token, and the time of each token after it. */
static struct latency batch_of(const struct hr_service *spec, struct hr__slo_demand demand, double size) {
  if (spec->engine == HR_SERVICE_DYNAMIC_BATCH) {
    const double prompts = spec->cost.n_knots ? 0 : size * demand.prompt;
    return (struct latency){iteration_s(&spec->cost, prompts, size, 0), 0};
  }
  const double context = demand.prompt + demand.output / 2;
  return (struct latency){iteration_s(&spec->cost, size * demand.prompt, 0, 0),
                          iteration_s(&spec->cost, 0, size, size * context)};
}

/* The mean of the largest number of output tokens in a batch: exact for equal and for exponential numbers. */
static double longest_of(struct hr__slo_demand demand, double size) {
  const double harmonic = log(size) + 0.5772 + 0.4228 / size;
  return demand.output * (1 + demand.output_cv * (harmonic - 1));
}

/* How long a request waits for the end of a batch; only the share `missed` of them waits longer. The wait is uniform if
   all batches take the same time, and exponential if their times vary as much as exponential outputs. */
static double rest_of_batch_s(struct hr__slo_demand demand, double size, double batch_s, double missed) {
  if (missed >= 1) return 0;
  const double variance = fmin(demand.output_cv * demand.output_cv, 1) / size;
  return batch_s * ((1 - variance) * (1 - missed) - variance * log(fmax(missed, 1e-9)));
}

/* Engines with replicas that run one batch after another. A batch has the requests that arrived during the previous
   one; a request that finds all replicas busy waits for the end of a batch, at most its whole time. */
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

/* `single`: requests wait for one of all servers, or share those of their replica. With processor sharing, the time of
   a request grows as much as its wait would be in service times. */
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

bool hr__slo_is_met(const struct hr_service *spec, struct hr__slo_demand demand, uint32_t replicas) {
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
