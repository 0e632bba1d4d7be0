/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of inference services, computed from the results of all requests.
 *
 * TTFT: arrival to first token. TPOT: time from the first to the last token, divided by the tokens after the first.
 * E2E: arrival to last token. A request is within the goals if it meets all that are set; requests that were not
 * completed are not. Requests that went to another service are requests of that one. The figures of all services
 * together are those of the union of their requests, with the goals of each.
 */

#include "headroom/unstable/metrics.h"

#include "report/metrics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t hour_us = 3600 * HR_SECOND_US;

/* Durations of completed requests. */
struct durations {
  int64_t *ttft_us, *tpot_us, *e2e_us; /* [count], tpot: [n_tpot] */
  size_t count, n_tpot;
  hr__wide ttft_sum, tpot_sum, e2e_sum;
};

static bool meets_goals(const struct hr_service_slo *slo, int64_t ttft_us, double tpot_us, int64_t e2e_us) {
  return (slo->ttft_ms <= 0 || (double)ttft_us <= slo->ttft_ms * 1000) &&
         (slo->tpot_ms <= 0 || tpot_us <= slo->tpot_ms * 1000) &&
         (slo->e2e_ms <= 0 || (double)e2e_us <= slo->e2e_ms * 1000);
}

static int64_t first_arrival_us(const struct hr_service_requests *requests) {
  return requests->count ? requests->arrival_us[0] : 0;
}

static bool has_goals(const struct hr_service_slo *slo) {
  return slo->ttft_ms > 0 || slo->tpot_ms > 0 || slo->e2e_ms > 0;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

static void add_completed(const struct hr_served *served, uint32_t id, struct durations *all,
                          struct hr_service_summary *summary) {
  const struct hr_service_result *result = served->result;
  const int64_t arrival_us = served->requests->arrival_us[id];
  const int64_t ttft_us = result->first_token_us[id] - arrival_us, e2e_us = result->end_us[id] - arrival_us;
  const uint32_t later = served->requests->output_tokens[id] - 1;
  const double tpot_us = later ? (double)(e2e_us - ttft_us) / later : 0;
  const bool attains = meets_goals(&served->service->slo, ttft_us, tpot_us, e2e_us);
  all->ttft_us[all->count] = ttft_us;
  all->e2e_us[all->count++] = e2e_us;
  all->ttft_sum += (uint64_t)ttft_us;
  all->e2e_sum += (uint64_t)e2e_us;
  if (later) {
    all->tpot_us[all->n_tpot++] = (e2e_us - ttft_us) / later;
    all->tpot_sum += (uint64_t)((e2e_us - ttft_us) / later);
  }
  summary->completed++;
  summary->attained += attains;
  summary->hours[arrival_us / hour_us - summary->first_hour].attained += attains;
  summary->prompt_tokens += served->requests->prompt_tokens[id];
  summary->output_tokens += served->requests->output_tokens[id];
}

/* Adds all requests of a service. Those that went to another one are counted there. Returns the end of the last one. */
static int64_t add_requests(const struct hr_served *served, struct durations *all, struct hr_service_summary *summary) {
  const struct hr_service_requests *requests = served->requests;
  int64_t end_us = first_arrival_us(requests);
  for (uint32_t id = 0; id < requests->count; id++) {
    const enum hr_request_state state = (enum hr_request_state)served->result->state[id];
    struct hr_service_hour *hour = &summary->hours[requests->arrival_us[id] / hour_us - summary->first_hour];
    summary->offered++;
    hour->offered++;
    if (state == HR_REQUEST_SPILLED) {
      summary->spilled++;
      continue;
    }
    summary->due++;
    hour->due++;
    summary->timed_out += state == HR_REQUEST_TIMED_OUT;
    summary->refused += state == HR_REQUEST_REFUSED;
    summary->unfinished += state == HR_REQUEST_UNFINISHED;
    summary->restarts += served->result->restarts[id];
    if (state != HR_REQUEST_COMPLETED) continue;
    if (served->result->end_us[id] > end_us) end_us = served->result->end_us[id];
    add_completed(served, id, all, summary);
  }
  return end_us;
}

/* ---- GPUs and money --------------------------------------------------------------------------------- */

/* Adds amounts in micro-dollars, one of which may be unknown. */
static int64_t sum_uusd(int64_t sum_uusd, double uusd) {
  return (sum_uusd == HR_UNKNOWN_UUSD ? 0 : sum_uusd) + llround(uusd);
}

/* The micro-dollars per million tokens are dollars per trillion, so the sums are exact in a double up to 2^53. */
static void add_revenue(const struct hr_served *served, struct hr_service_summary *summary) {
  const struct hr_service_price *price = &served->service->price;
  double uusd = 0;
  if (price->input_uusd <= 0 && price->output_uusd <= 0) return;
  for (uint32_t id = 0; id < served->requests->count; id++) {
    if (served->result->state[id] != HR_REQUEST_COMPLETED) continue;
    uusd += (double)served->requests->prompt_tokens[id] * (double)price->input_uusd +
            (double)served->requests->output_tokens[id] * (double)price->output_uusd;
  }
  summary->revenue_uusd = sum_uusd(summary->revenue_uusd, uusd / 1e6);
}

static double hours_of(hr_amount milli_us) {
  return (double)milli_us / 1000 / (double)HR_SECOND_US / 3600;
}

/* Adds the cost of the GPUs from the cost items of the run. */
static void add_cost(const struct hr_cost_summary *costs, uint32_t index, struct hr_service_summary *summary) {
  if (!costs) return;
  const bool is_known = index >= costs->n_services || !costs->services[index].is_partial;
  for (size_t i = 0; index < costs->n_services && i < HR_N_MARKETS; i++) {
    summary->market_uusd[i] += costs->services[index].uusd[i];
    summary->cost_uusd = sum_uusd(summary->cost_uusd, (double)costs->services[index].uusd[i]);
  }
  if (summary->cost_uusd == HR_UNKNOWN_UUSD && is_known) summary->cost_uusd = 0;
  summary->has_unpriced |= !is_known;
}

static void add_gpus(const struct hr_served *served, int64_t end_us, struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  const double gpus = (double)service->gpus * (double)service->replicas;
  const double span_s = (double)(end_us - first_arrival_us(served->requests)) / (double)HR_SECOND_US;
  const struct hr_replica_times *times = &served->result->gpu_time;
  const bool are_jobs = served->result->n_levels > 0;
  const double hours = are_jobs ? hours_of(times->held) : span_s * gpus / 3600;
  int64_t busy_us = 0;
  for (uint32_t i = 0; i < served->result->n_replicas; i++) busy_us += served->result->busy_us[i];
  if (span_s > summary->span_s) summary->span_s = span_s;
  summary->gpu_hours += hours;
  summary->starting_gpu_hours += hours_of(times->starting);
  summary->busy_gpu_hours +=
      are_jobs ? hours_of(times->busy) : (double)busy_us * (double)service->gpus / (double)HR_SECOND_US / 3600;
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

static void add_memory(const struct hr_service_result *result, struct hr_service_summary *summary) {
  if (!result->memory_capacity || !result->iterations) return;
  const double capacity = (double)result->memory_capacity, before = (double)summary->memory_iterations,
               more = (double)result->iterations;
  const double mean = (double)result->memory_sum / capacity / more, peak = (double)result->memory_peak / capacity;
  summary->memory_mean = (summary->memory_mean * before + mean * more) / (before + more);
  if (peak > summary->memory_peak) summary->memory_peak = peak;
  summary->memory_iterations += result->iterations;
}

static void add_replicas(const struct hr_service_result *result, struct hr_service_summary *summary) {
  summary->recomputed_tokens += result->recomputed_tokens;
  summary->iterations += result->iterations;
  summary->cold_starts += result->cold_starts;
  summary->interruptions += result->interruptions;
  summary->held_requests += result->met_cold_start;
  summary->n_decisions += result->n_decisions;
  add_memory(result, summary);
}

static void raise(uint32_t *to, uint32_t value) {
  if (value > *to) *to = value;
}

/* Divides the time into HR_MAX_LISTED intervals of equal length, and takes the maximum of each number in each. */
static void thin_levels(const struct hr_service_result *result, struct hr_service_summary *summary) {
  const struct hr_replica_level *all = result->levels;
  const int64_t begin_us = all[0].at_us, length_us = (summary->end_us - begin_us) / HR_MAX_LISTED + 1;
  uint32_t at = 0;
  for (uint32_t i = 0; i < HR_MAX_LISTED; i++) {
    struct hr_replica_level *level = &summary->levels[i];
    *level = all[at];
    level->at_us = begin_us + i * length_us;
    for (; at + 1 < result->n_levels && all[at + 1].at_us < level->at_us + length_us; at++) {
      raise(&level->wanted, all[at + 1].wanted);
      raise(&level->ready, all[at + 1].ready);
      raise(&level->starting, all[at + 1].starting);
    }
  }
}

/* Copies the decisions of the autoscaler and the numbers of replicas of a service, within the limit. */
static bool list_changes(const struct hr_served *served, struct hr_service_summary *summary) {
  const struct hr_service_result *result = served->result;
  const uint32_t n_listed = result->n_decisions < HR_MAX_LISTED ? result->n_decisions : HR_MAX_LISTED;
  const uint32_t n_levels = result->n_levels < HR_MAX_LISTED ? result->n_levels : HR_MAX_LISTED;
  summary->decisions = calloc((size_t)n_listed + 1, sizeof *summary->decisions);
  summary->levels = calloc((size_t)n_levels + 1, sizeof *summary->levels);
  if (!summary->decisions || !summary->levels) return false;
  summary->n_listed = n_listed;
  summary->n_levels = n_levels;
  if (n_listed) memcpy(summary->decisions, result->decisions, n_listed * sizeof *result->decisions);
  if (n_levels == 0) return true;
  summary->end_us = result->levels[result->n_levels - 1].at_us;
  if (n_levels < result->n_levels)
    thin_levels(result, summary);
  else
    memcpy(summary->levels, result->levels, n_levels * sizeof *result->levels);
  return true;
}

/* ---- Summaries -------------------------------------------------------------------------------------- */

static struct hr_distribution in_ms(struct hr_distribution seconds) {
  double *const values[] = {&seconds.mean, &seconds.p50, &seconds.p90, &seconds.p95, &seconds.p99, &seconds.max};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) *values[i] *= 1000;
  return seconds;
}

/* Allocates the hours from the first to the last arrival. */
static bool make_hours(const struct hr_served *served, uint32_t count, struct hr_service_summary *summary) {
  int64_t first = INT64_MAX, last = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr_service_requests *requests = served[i].requests;
    if (!requests->count) continue;
    const int64_t begin = requests->arrival_us[0] / hour_us, end = requests->arrival_us[requests->count - 1] / hour_us;
    if (begin < first) first = begin;
    if (end > last) last = end;
  }
  summary->first_hour = first <= last ? first : 0;
  summary->n_hours = first <= last ? (uint32_t)(last - first + 1) : 0;
  summary->hours = calloc((size_t)summary->n_hours + 1, sizeof *summary->hours);
  return summary->hours != NULL;
}

static void summarize(const struct hr_served *served, uint32_t count, const struct hr_cost_summary *costs,
                      struct durations *all, struct hr_service_summary *summary) {
  for (uint32_t i = 0; i < count; i++) {
    summary->has_goals = summary->has_goals || has_goals(&served[i].service->slo);
    summary->overflowed += served[i].result->overflowed;
    add_gpus(&served[i], add_requests(&served[i], all, summary), summary);
    add_replicas(served[i].result, summary);
    add_cost(costs, served[i].index, summary);
    add_revenue(&served[i], summary);
  }
  if (summary->has_unpriced) summary->cost_uusd = HR_UNKNOWN_UUSD;
  if (count == 1) summary->required = served->service->slo.attainment;
  /* a request that was spilled is also one of its target */
  if (count > 1) summary->offered = summary->due;
  for (uint32_t i = 0; count > 1 && i < summary->n_hours; i++) summary->hours[i].offered = summary->hours[i].due;
  summary->ttft_ms = in_ms(hr__distribution_of_us(all->ttft_us, all->count, all->ttft_sum));
  summary->tpot_ms = in_ms(hr__distribution_of_us(all->tpot_us, all->n_tpot, all->tpot_sum));
  summary->e2e_ms = in_ms(hr__distribution_of_us(all->e2e_us, all->count, all->e2e_sum));
  const double gpu_s = summary->gpu_hours * 3600;
  summary->goodput_per_gpu = gpu_s > 0 ? (double)summary->attained / gpu_s : 0;
}

/* Computes the figures of `count` services together. */
static bool make_summary(const struct hr_served *served, uint32_t count, const struct hr_cost_summary *costs,
                         struct hr_service_summary *summary) {
  size_t room = 1;
  for (uint32_t i = 0; i < count; i++) room += served[i].requests->count;
  struct durations all = {.ttft_us = calloc(room, sizeof *all.ttft_us),
                          .tpot_us = calloc(room, sizeof *all.tpot_us),
                          .e2e_us = calloc(room, sizeof *all.e2e_us)};
  *summary =
      (struct hr_service_summary){.is_present = true, .cost_uusd = HR_UNKNOWN_UUSD, .revenue_uusd = HR_UNKNOWN_UUSD};
  const bool has_memory = all.ttft_us && all.tpot_us && all.e2e_us && make_hours(served, count, summary);
  if (has_memory) summarize(served, count, costs, &all, summary);
  free(all.ttft_us);
  free(all.tpot_us);
  free(all.e2e_us);
  return has_memory;
}

enum hr_status hr_summary_add_services(struct hr_summary *summary, const struct hr_served *served, uint32_t count,
                                       struct hr_error *error) {
  if (!count) return HR_OK;
  summary->services = calloc(count, sizeof *summary->services);
  summary->all_services = calloc(1, sizeof *summary->all_services);
  summary->n_services = summary->services ? count : 0;
  bool has_memory = summary->services && summary->all_services;
  for (uint32_t i = 0; i < count && has_memory; i++) {
    has_memory = make_summary(&served[i], 1, summary->costs, &summary->services[i]) &&
                 list_changes(&served[i], &summary->services[i]);
    summary->services[i].name = has_memory ? strdup(served[i].service->name) : NULL;
    has_memory = summary->services[i].name != NULL;
  }
  if (has_memory) has_memory = make_summary(served, count, summary->costs, summary->all_services);
  return has_memory ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the figures of the services");
}

/* ---- Goals that cannot be met ----------------------------------------------------------------------- */

/* Lower bound of the TTFT of a prompt that is alone on a replica, in microseconds: its iterations. */
static double least_ttft_us(const struct hr_service *service, uint32_t prompt) {
  const struct hr_service_cost *cost = &service->cost;
  uint32_t budget = prompt;
  if (service->engine == HR_SERVICE_VLLM_V1) budget = service->limits.max_batch_tokens;
  if (service->engine == HR_SERVICE_SARATHI) budget = service->limits.chunk_tokens;
  return ceil((double)prompt / budget) * cost->fixed_us + prompt * cost->per_prompt_token_us;
}

/* The same for the TPOT. Whole microseconds may be rounded down. */
static double least_tpot_us(const struct hr_service *service, uint32_t prompt) {
  const struct hr_service_cost *cost = &service->cost;
  return cost->fixed_us + cost->per_sequence_us + prompt * cost->per_context_ktoken_us / 1000 - 1;
}

/* Returns the number of requests that would meet the goals if each were alone on a replica, at most. */
static uint32_t count_attainable(const struct hr_service *service, const struct hr_service_requests *requests) {
  const struct hr_service_slo *slo = &service->slo;
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const uint32_t later = requests->output_tokens[i] - 1;
    const double ttft_us = least_ttft_us(service, hr_request_new_tokens(requests, i));
    const double tpot_us = later ? least_tpot_us(service, requests->prompt_tokens[i]) : 0;
    count += (slo->ttft_ms <= 0 || ttft_us <= 1000 * slo->ttft_ms) &&
             (slo->tpot_ms <= 0 || tpot_us <= 1000 * slo->tpot_ms) &&
             (slo->e2e_ms <= 0 || ttft_us + later * tpot_us <= 1000 * slo->e2e_ms);
  }
  return count;
}

enum hr_status hr_service_goal_notes(const struct hr_service *service, const struct hr_service_requests *requests,
                                     struct hr_notes *notes) {
  const bool is_linear = service->engine <= HR_SERVICE_ORCA_SPLITWISE && !service->cost.n_knots;
  if (!is_linear || !has_goals(&service->slo) || !requests->count) return HR_OK;
  const double share = (double)count_attainable(service, requests) / requests->count;
  if (share > 0 && share >= service->slo.attainment) return HR_OK;
  return hr_notes_add(
      notes,
      "warning: service '%.60s': no number of replicas meets its goals. Alone on a replica, at most "
      "%.2f %% of the requests would: a token takes at least fixed_us + per_sequence_us = %.6g ms, and a "
      "prompt of n tokens fixed_us for each iteration + n x per_prompt_token_us",
      service->name, 100 * share, (service->cost.fixed_us + service->cost.per_sequence_us) / 1000);
}
