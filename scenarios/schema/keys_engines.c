/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of `services[].replica.engine` and `services[].replica.cost`: how the replicas of an inference service
 * form batches, and how long an iteration takes. Rules across keys are checked in scenarios/build/engines.c.
 */

#include "headroom/unstable/services.h"

#include "scenarios/schema/keys.h"

#define WORD(name, text, words) text,
static const char *const engines[] = {HR_SERVICE_ENGINE_TABLE(WORD) NULL};
#undef WORD
static const char *const disciplines[] = {"fcfs", "ps", NULL};

#define MAX_TOKENS 1073741824.0
#define MAX_US 1e9
#define MAX_MS 1e6
#define SERVICE struct hr_service

/* ---- Engine ----------------------------------------------------------------------------------------- */

static const struct hr__key transfer_keys[] = {
    {"setup_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("0"), AT(DOUBLE, SERVICE, phases.link.setup_ms),
     HELP("Time before the first byte.")},
    {"gb_per_s", REAL(MIN_SCALE, 1e6), .unit = "GB/s", OTHERWISE("the bytes take no time"),
     AT(DOUBLE, SERVICE, phases.link.gb_per_s), HELP("Bytes that move in a second, in 10^9.")},
    {"kv_bytes_per_token", REAL(1, 1e12), OTHERWISE("required with 'gb_per_s'"),
     AT(DOUBLE, SERVICE, phases.link.kv_bytes_per_token), HELP("KV memory of a token of the prompt, in bytes.")},
    END};

const struct hr__key hr__engine_keys[] = {
    {"name", CHOICE(engines), DEFAULT("vllm-v1"), AT(INTEGER, SERVICE, engine),
     HELP("How batches are formed. vllm-v1: prompts and decodes share a token budget. vllm-v0: prompts first, never "
          "with decodes. sarathi: decodes, then chunks of prompts. orca: mixed; each request reserves memory for "
          "max_batch_tokens. orca-splitwise: mixed; memory for the prompt, then for the output. disaggregated: prompts "
          "and decodes on replicas of their own. colocated: prompts first, then decodes in turn. static: a batch runs "
          "until its longest sequence ends. dynamic-batch: one pass for a batch. single: requests on their own.")},
    {"max_sequences", WHOLE(1, 10000000), OTHERWISE("256; disaggregated and colocated: 10000000; single: 4096"),
     AT(INTEGER, SERVICE, limits.max_sequences),
     HELP("Maximum number of sequences in a batch; for disaggregated and colocated of prompts.")},
    {"max_batch_tokens", WHOLE(1, MAX_TOKENS), OTHERWISE("8192; disaggregated and colocated: 10000000"),
     AT(INTEGER, SERVICE, limits.max_batch_tokens),
     HELP("Maximum number of tokens of an iteration; for vllm-v0 with padding to the longest prompt; for orca of a "
          "request; for disaggregated and colocated of prompts.")},
    {"chunk_tokens", WHOLE(1, MAX_TOKENS), DEFAULT("512"), AT(INTEGER, SERVICE, limits.chunk_tokens),
     HELP("sarathi: tokens of an iteration.")},
    {"block_tokens", WHOLE(1, 65536), DEFAULT("16"), AT(INTEGER, SERVICE, limits.block_tokens),
     HELP("Tokens of a block of KV memory.")},
    {"kv_blocks", WHOLE(1, MAX_TOKENS), AT(INTEGER, SERVICE, limits.kv_blocks),
     HELP("KV memory of a replica, in blocks.")},
    {"kv_tokens", REAL(1, 1e12), AT(DOUBLE, SERVICE, limits.kv_tokens),
     HELP("Instead of 'kv_blocks': KV memory of a replica, in tokens.")},
    {"watermark", SHARE, DEFAULT("0.01"), AT(DOUBLE, SERVICE, limits.watermark),
     HELP("vllm-v0 and sarathi: share of the blocks that new prompts leave free.")},
    {"prefill_replicas", WHOLE(1, 100000), DEFAULT("1"), AT(INTEGER, SERVICE, phases.prefill_replicas),
     HELP("disaggregated: replicas for prompts; they have the first numbers.")},
    {"decode_replicas", WHOLE(1, 100000), DEFAULT("1"), AT(INTEGER, SERVICE, phases.decode_replicas),
     HELP("disaggregated: replicas that decode.")},
    {"chunked", BOOLEAN, DEFAULT("false"), AT(INTEGER, SERVICE, phases.chunked),
     HELP("disaggregated and colocated: an iteration takes parts of prompts up to 'max_batch_tokens', and decodes in "
          "the rest.")},
    {"max_decode_sequences", WHOLE(1, 10000000), DEFAULT("10000000"), AT(INTEGER, SERVICE, phases.max_decode_sequences),
     HELP("disaggregated and colocated: maximum number of decodes in an iteration.")},
    {"max_decode_tokens", REAL(1, 1e12), DEFAULT("10000000"), AT(DOUBLE, SERVICE, phases.max_decode_tokens),
     HELP("colocated: no prompt starts while the decodes that wait have more context than 'decode_pressure' of these "
          "tokens.")},
    {"decode_pressure", SHARE, DEFAULT("0.9"), AT(DOUBLE, SERVICE, phases.decode_pressure),
     HELP("colocated: see 'max_decode_tokens'.")},
    {"decode_context_tokens", WHOLE(1, MAX_TOKENS), DEFAULT("50000"),
     AT(INTEGER, SERVICE, phases.decode_context_tokens),
     HELP("disaggregated and colocated: maximum context of all decodes in an iteration, in tokens.")},
    {"transfer", OBJECT(transfer_keys), .store = HR__STORE_PART,
     HELP("disaggregated: how the KV memory of a request moves to the replica that decodes. Without it this takes no "
          "time, as in DistServe's simulator.")},
    {"preferred_batch_size", LIST(1, 1000, EACH(WHOLE(1, 65536), .store = HR__STORE_INTEGER, .bytes = 4)),
     AS_ARRAY(SERVICE, dynamic.preferred, dynamic.n_preferred), OTHERWISE("'max_sequences'"),
     HELP("dynamic-batch: sizes with which a batch starts at once.")},
    {"max_queue_delay_us", REAL(0, MAX_US), .unit = "us", DEFAULT("0"), AT(DOUBLE, SERVICE, dynamic.max_queue_delay_us),
     HELP("dynamic-batch: a smaller batch starts when its first request has waited for this time.")},
    {"servers", WHOLE(1, 65536), DEFAULT("1"), AT(INTEGER, SERVICE, single.servers),
     HELP("single: requests that a replica serves at full speed.")},
    {"discipline", CHOICE(disciplines), DEFAULT("fcfs"), AT(INTEGER, SERVICE, single.shares),
     HELP("single: fcfs: first come, first served. ps: up to 'max_sequences' requests share the servers equally.")},
    END};

/* ---- Cost ------------------------------------------------------------------------------------------- */

#define TERMS LIST(3, 3, EACH(REAL(-MAX_MS, MAX_MS), .store = HR__STORE_DOUBLE)), .unit = "ms"
static const struct hr__key distserve_keys[] = {
    {"prefill_ms", TERMS, MUST, AS_ARRAY(SERVICE, cost.phases.prefill_ms, cost.phases.n_prefill),
     HELP("Prompts: three terms: once, for each token, and for each square of the tokens of a prompt.")},
    {"decode_ms", TERMS, MUST, AS_ARRAY(SERVICE, cost.phases.decode_ms, cost.phases.n_decode),
     HELP("Decode: three terms: once, for each token of context with the new one, and for each sequence.")},
    {"decode_large_ms", TERMS, OTHERWISE("'decode_ms'"), AS_ARRAY(SERVICE, cost.phases.large_ms, cost.phases.n_large),
     HELP("The same for batches of at least 'large_batch' sequences.")},
    {"large_batch", WHOLE(1, 1000000), DEFAULT("95"), AT(INTEGER, SERVICE, cost.phases.large_batch),
     HELP("Number of sequences from which on 'decode_large_ms' holds.")},
    {"stages", WHOLE(1, 1000), DEFAULT("1"), AT(INTEGER, SERVICE, cost.phases.stages),
     HELP("Pipeline stages of a replica; each takes its share of the sum of the terms.")},
    {"stage_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("1"), AT(DOUBLE, SERVICE, cost.phases.stage_ms),
     HELP("Added to an iteration with prompts in each stage for each of the stages.")},
    {"overhead_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("2"), AT(DOUBLE, SERVICE, cost.phases.overhead_ms),
     HELP("Added in the first stage.")},
    {"overhead_token_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("0.0001"),
     AT(DOUBLE, SERVICE, cost.phases.overhead_token_ms),
     HELP("Added in the first stage for each token of context of the sequences in the batch.")},
    END};

#define KNOT struct hr_service_knot
static const struct hr__key knot_keys[] = {
    {"tokens", REAL(0, MAX_TOKENS), MUST, AT(DOUBLE, KNOT, tokens),
     HELP("Tokens of prompts, or sequences that decode; above those of the knot before.")},
    {"prompt_us", REAL(0, MAX_US), .unit = "us", MUST, AT(DOUBLE, KNOT, prompt_us),
     HELP("Time of an iteration with this number of tokens of prompts.")},
    {"token_us", REAL(0, MAX_US), .unit = "us", MUST, AT(DOUBLE, KNOT, token_us),
     HELP("Time of an iteration in which this number of sequences decode.")},
    END};

#define COST(name, member, words)                                                                                      \
  { name, REAL(0, MAX_US), .unit = "us", DEFAULT("0"), AT(DOUBLE, SERVICE, cost.member), HELP(words) }
const struct hr__key hr__service_cost_keys[] = {
    COST("fixed_us", fixed_us, "Time of an iteration without tokens."),
    COST("per_prompt_token_us", per_prompt_token_us, "Time for each token of a prompt."),
    COST("per_sequence_us", per_sequence_us, "Time for each sequence that decodes."),
    COST("per_context_ktoken_us", per_context_ktoken_us,
         "Time for 1000 tokens that the sequences of the batch have processed before."),
    {"integer", BOOLEAN, DEFAULT("false"), AT(INTEGER, SERVICE, cost.integer),
     HELP("Iterations take whole microseconds; the time for the context is rounded down.")},
    {"table", LIST(2, 10000, EACH(OBJECT(knot_keys))), AS_ARRAY(SERVICE, cost.knots, cost.n_knots),
     HELP("Instead of the times above: knots. Between two knots, and outside of them, the time is linear.")},
    {"mixed_factor", REAL(0, 1000), DEFAULT("1.1"), AT(DOUBLE, SERVICE, cost.mixed_factor),
     HELP("With 'table': the time of prompts and decodes together, as a multiple of the time of as many tokens of "
          "prompts.")},
    {"distserve", OBJECT(distserve_keys), .store = HR__STORE_PART,
     HELP("Instead of the times above: the form of DistServe, with terms for prompts and for decodes.")},
    END};
