/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine of an inference service, its memory and its cost: defaults that depend on the engine, and the rules across
 * keys.
 */

#include "headroom/unstable/services.h"

#include "scenarios/build/builder.h"
#include "sim/services/cost.h"
#include "sim/services/disaggregated.h"

#include <inttypes.h>
#include <stdio.h>

static void set_defaults(const cJSON *engine, struct hr_service *service) {
  enum { NO_LIMIT = 10000000, SHARED = 4096, SEQUENCES = 256, BATCH_TOKENS = 8192 };
  const bool phases = hr__has_phases(service);
  const uint32_t sequences = service->engine == HR_SERVICE_SINGLE ? SHARED : SEQUENCES;
  if (!hr__has(engine, "max_sequences")) service->limits.max_sequences = phases ? NO_LIMIT : sequences;
  if (!hr__has(engine, "max_batch_tokens")) service->limits.max_batch_tokens = phases ? NO_LIMIT : BATCH_TOKENS;
}

/* ---- Keys without effect ---------------------------------------------------------------------------- */

#define ENGINE(name) (1u << HR_SERVICE_##name)
#define PHASES (ENGINE(DISAGGREGATED) | ENGINE(COLOCATED))
#define WITH_BLOCKS (~(PHASES | ENGINE(DYNAMIC_BATCH) | ENGINE(SINGLE)))

/* The keys that only some engines use. */
static const struct {
  const char *name;
  unsigned engines; /* a set of bits 1 << enum hr_service_engine */
} used_by[] = {
    {"max_batch_tokens", ~(ENGINE(SARATHI) | ENGINE(ORCA_SPLITWISE) | ENGINE(DYNAMIC_BATCH) | ENGINE(SINGLE))},
    {"chunk_tokens", ENGINE(SARATHI)},
    {"block_tokens", WITH_BLOCKS},
    {"kv_blocks", WITH_BLOCKS},
    {"kv_tokens", WITH_BLOCKS},
    {"watermark", ENGINE(VLLM_V0) | ENGINE(SARATHI)},
    {"prefill_replicas", ENGINE(DISAGGREGATED)},
    {"decode_replicas", ENGINE(DISAGGREGATED)},
    {"chunked", PHASES},
    {"max_decode_sequences", PHASES},
    {"max_decode_tokens", ENGINE(COLOCATED)},
    {"decode_pressure", ENGINE(COLOCATED)},
    {"decode_context_tokens", PHASES},
    {"transfer", ENGINE(DISAGGREGATED)},
    {"preferred_batch_size", ENGINE(DYNAMIC_BATCH)},
    {"max_queue_delay_us", ENGINE(DYNAMIC_BATCH)},
    {"servers", ENGINE(SINGLE)},
    {"discipline", ENGINE(SINGLE)},
};

/* Notes the keys that the engine does not use. They are not an error, so that engines can be compared by their name. */
static enum hr_status note_unused(struct hr__builder *builder, const cJSON *engine, const struct hr_service *service) {
  char list[400] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof used_by / sizeof *used_by; i++)
    if (hr__has(engine, used_by[i].name) && !(used_by[i].engines >> service->engine & 1))
      used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", used ? ", " : "", used_by[i].name);
  if (!used) return HR_OK;
  const enum hr_status status =
      hr_notes_add(&builder->scenario->notes, "service '%.60s': without effect with the engine '%s': %s", service->name,
                   hr_service_engine_name(service->engine), list);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static enum hr_status check_memory(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *engine = hr__get(hr__get(entry, "replica"), "engine");
  enum { MOST_SEQUENCES = 65536 };
  const struct hr_service_limits *limits = &service->limits;
  if (limits->kv_blocks && limits->kv_tokens > 0)
    return hr__build_fail_at(builder, engine, "kv_tokens", "'kv_blocks' and 'kv_tokens' exclude each other; keep one");
  if (limits->watermark >= 1 && (service->engine == HR_SERVICE_VLLM_V0 || service->engine == HR_SERVICE_SARATHI))
    return hr__build_fail_at(builder, engine, "watermark",
                             "expected less than 1, as a prompt that leaves all blocks free never starts");
  if (hr__has_phases(service)) return HR_OK;
  if (limits->max_sequences > MOST_SEQUENCES)
    return hr__build_fail_at(builder, engine, "max_sequences", "expected at most %d for the engine '%s'",
                             MOST_SEQUENCES, hr_service_engine_name(service->engine));
  if (service->engine == HR_SERVICE_DYNAMIC_BATCH || service->engine == HR_SERVICE_SINGLE) return HR_OK;
  return limits->kv_blocks || limits->kv_tokens > 0 ? HR_OK : hr__default_memory(builder, entry, service);
}

/* ---- Phases ----------------------------------------------------------------------------------------- */

/* The replicas of a disaggregated service are the replicas of its two phases. */
static enum hr_status count_replicas(const struct hr__builder *builder, const cJSON *entry,
                                     struct hr_service *service) {
  const uint32_t sum = service->phases.prefill_replicas + service->phases.decode_replicas;
  const cJSON *autoscale = hr__get(entry, "autoscale");
  if (service->engine != HR_SERVICE_DISAGGREGATED) return HR_OK;
  if (hr__has(autoscale, "replicas") && service->replicas != sum)
    return hr__build_fail_at(builder, autoscale, "replicas",
                             "expected %" PRIu32 ", the sum of 'prefill_replicas' and 'decode_replicas', or nothing",
                             sum);
  service->replicas = sum;
  return HR_OK;
}

static enum hr_status check_transfer(struct hr__builder *builder, const cJSON *engine,
                                     const struct hr_service *service) {
  const struct hr_service_link *link = &service->phases.link;
  if (link->gb_per_s > 0 && link->kv_bytes_per_token <= 0)
    return hr__build_fail(builder, hr__get(engine, "transfer"), "'gb_per_s' needs 'kv_bytes_per_token'");
  if (link->gb_per_s > 0 || link->kv_bytes_per_token <= 0 || service->engine != HR_SERVICE_DISAGGREGATED) return HR_OK;
  const enum hr_status status = hr_notes_add(
      &builder->scenario->notes,
      "service '%.60s': 'transfer.kv_bytes_per_token' has no effect without 'gb_per_s'; the bytes take no time",
      service->name);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

static enum hr_status check_preferred(const struct hr__builder *builder, const cJSON *engine,
                                      const struct hr_service *service) {
  const uint32_t *sizes = service->dynamic.preferred;
  for (uint32_t i = 0; i < service->dynamic.n_preferred; i++) {
    const cJSON *entry = cJSON_GetArrayItem(hr__get(engine, "preferred_batch_size"), (int)i);
    if (sizes[i] > service->limits.max_sequences)
      return hr__build_fail(builder, entry, "%" PRIu32 " is above 'max_sequences' (%" PRIu32 ")", sizes[i],
                            service->limits.max_sequences);
    for (uint32_t k = 0; k < i; k++)
      if (sizes[k] == sizes[i]) return hr__build_fail(builder, entry, "duplicate size %" PRIu32 "; keep one", sizes[i]);
  }
  return HR_OK;
}

/* ---- Cost ------------------------------------------------------------------------------------------- */

/* Shorter iterations take no time: their time would be rounded to 0. */
#define LEAST_US 1e-3

/* The same for the costs of a service. With 'integer', times are rounded to whole microseconds, or down with phases. */
static double least_us(const struct hr_service *service) {
  if (!service->cost.integer) return LEAST_US;
  return hr__has_phases(service) ? 1 : 0.5;
}

static double prompt_us(const struct hr_service_cost *cost, uint64_t tokens) {
  return hr__cost_us(cost, &(struct hr__batch_load){.prompts = tokens, .squares = tokens * tokens});
}

static double decode_us(const struct hr_service_cost *cost, uint64_t sequences) {
  return hr__cost_us(cost, &(struct hr__batch_load){.decodes = sequences, .context = sequences});
}

/* A table is linear between its knots, so its minimum is at a knot, at one token, or at the largest batch. Published
   tables have last pieces that decrease. */
static enum hr_status check_knots(const struct hr__builder *builder, const cJSON *cost,
                                  const struct hr_service *service) {
  const struct hr_service_cost *values = &service->cost;
  const double shortest_us = least_us(service);
  const uint32_t most[] = {service->limits.max_batch_tokens, service->limits.max_sequences};
  const cJSON *table = hr__get(cost, "table");
  for (uint32_t i = 0; i < values->n_knots; i++) {
    const struct hr_service_knot *knot = &values->knots[i];
    const cJSON *entry = cJSON_GetArrayItem(table, (int)i);
    if (i > 0 && knot->tokens <= knot[-1].tokens)
      return hr__build_fail_at(builder, entry, "tokens", "expected more than the %g tokens of the knot before",
                               knot[-1].tokens);
    if (knot->tokens >= 1 && (knot->prompt_us < shortest_us || knot->token_us < shortest_us))
      return hr__build_fail_at(builder, entry, knot->prompt_us < shortest_us ? "prompt_us" : "token_us",
                               "an iteration takes no time; expected at least %g us", shortest_us);
  }
  for (unsigned i = 0; i < 2; i++) {
    double (*const time_us)(const struct hr_service_cost *, uint64_t) = i ? decode_us : prompt_us;
    const uint32_t tokens = time_us(values, 1) < shortest_us ? 1 : most[i];
    if (time_us(values, tokens) < shortest_us)
      return hr__build_fail(builder, table,
                            "an iteration with %" PRIu32
                            " %s takes no time, as '%s' is linear beyond the %s two knots; "
                            "add a knot, or lower '%s'",
                            tokens, i ? "decoding sequences" : "tokens of prompts", i ? "token_us" : "prompt_us",
                            tokens == 1 ? "first" : "last", i ? "max_sequences" : "max_batch_tokens");
  }
  if (hr__cost_us(values, &(struct hr__batch_load){.prompts = 1, .squares = 1, .decodes = 1}) < shortest_us)
    return hr__build_fail_at(builder, cost, "mixed_factor", "an iteration with prompts and decodes takes no time");
  return HR_OK;
}

/* The terms of DistServe's form. Only the square term of a fit can be below 0. */
static enum hr_status check_phases(const struct hr__builder *builder, const cJSON *cost,
                                   const struct hr_service *service) {
  enum { LONG_PROMPT = 32768 };
  const struct hr_service_cost *values = &service->cost;
  const struct hr_service_phases *phases = &values->phases;
  const cJSON *form = hr__get(cost, "distserve");
  const struct {
    const char *name;
    const double *terms;
    int n_positive;
  } lists[] = {{"prefill_ms", phases->prefill_ms, 2},
               {"decode_ms", phases->decode_ms, 3},
               {"decode_large_ms", phases->large_ms, 3}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (int k = 0; lists[i].terms && k < lists[i].n_positive; k++)
      if (lists[i].terms[k] < 0)
        return hr__build_fail(builder, cJSON_GetArrayItem(hr__get(form, lists[i].name), k),
                              "expected at least 0, found %g", lists[i].terms[k]);
  const uint32_t most = service->limits.max_batch_tokens;
  const uint32_t prompts[] = {1, most < LONG_PROMPT ? most : LONG_PROMPT};
  for (unsigned i = 0; i < 2; i++)
    if (prompt_us(values, prompts[i]) < LEAST_US)
      return hr__build_fail_at(builder, form, "prefill_ms",
                               "an iteration with %" PRIu32 " token%s of a prompt takes no time; raise the terms",
                               prompts[i], prompts[i] == 1 ? "" : "s");
  if (decode_us(values, 1) < LEAST_US)
    return hr__build_fail_at(builder, form, "decode_ms",
                             "an iteration with a decoding sequence takes no time; raise the terms");
  if (phases->large_ms && decode_us(values, phases->large_batch) < LEAST_US)
    return hr__build_fail_at(builder, form, "decode_large_ms",
                             "an iteration with %" PRIu32 " decoding sequences takes no time; raise the terms",
                             phases->large_batch);
  return HR_OK;
}

static enum hr_status check_cost(const struct hr__builder *builder, const cJSON *replica,
                                 const struct hr_service *service) {
  static const char *const terms[] = {"fixed_us", "per_prompt_token_us", "per_sequence_us", "per_context_ktoken_us"};
  const struct hr_service_cost *values = &service->cost;
  const cJSON *cost = hr__get(replica, "cost");
  const char *form = values->n_knots ? "table" : values->phases.prefill_ms ? "distserve" : NULL;
  if (values->n_knots && values->phases.prefill_ms)
    return hr__build_fail_at(builder, cost, "distserve", "'table' and 'distserve' exclude each other; keep one");
  for (size_t i = 0; form && i < sizeof terms / sizeof *terms; i++)
    if (hr__has(cost, terms[i]))
      return hr__build_fail_at(builder, cost, terms[i], "'%s' and '%s' exclude each other; keep one", terms[i], form);
  if (form) return (values->n_knots ? check_knots : check_phases)(builder, cost, service);
  const double once_us = values->fixed_us + values->per_prompt_token_us,
               next_us = values->fixed_us + values->per_sequence_us;
  if (once_us >= least_us(service) && next_us >= least_us(service)) return HR_OK;
  return hr__build_fail_at(builder, replica, "cost",
                           "an iteration takes no time%s; set 'fixed_us', or the times per token and per sequence",
                           values->integer ? " in whole microseconds ('integer')" : "");
}

/* `tensor_parallel` decides defaults by the model only. A model cannot be on more GPUs than a replica has. */
static enum hr_status check_parallel(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *replica = hr__get(entry, "replica");
  if (!service->tensor_parallel) service->tensor_parallel = service->gpus;
  if (!hr__has(replica, "tensor_parallel")) return HR_OK;
  if (service->model && service->tensor_parallel > service->gpus) {
    const uint32_t found = service->tensor_parallel;
    service->tensor_parallel = service->gpus; /* of a candidate */
    return hr__build_unfit(builder, hr__build_fail_at(builder, replica, "tensor_parallel",
                                                      "expected at most 'gpus', which is %" PRIu32 ", found %" PRIu32,
                                                      service->gpus, found));
  }
  if (service->model) return HR_OK;
  const enum hr_status status =
      hr_notes_add(&builder->scenario->notes,
                   "service '%.60s': 'tensor_parallel' has no effect without 'model'; times and memory are those of "
                   "the replica",
                   service->name);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

enum hr_status hr__build_engine(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *replica = hr__get(entry, "replica"), *engine = hr__get(replica, "engine");
  set_defaults(engine, service);
  enum hr_status status = check_parallel(builder, entry, service);
  if (status == HR_OK) status = check_memory(builder, entry, service);
  if (status == HR_OK) status = count_replicas(builder, entry, service);
  if (status == HR_OK) status = check_transfer(builder, engine, service);
  if (status == HR_OK) status = check_preferred(builder, engine, service);
  if (status == HR_OK) status = note_unused(builder, engine, service);
  if (status != HR_OK) return status;
  status = hr__has(replica, "cost") ? check_cost(builder, replica, service) : hr__default_cost(builder, entry, service);
  return status == HR_OK ? hr__note_other_gpus(builder, service) : status;
}
