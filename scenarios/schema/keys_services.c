/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of `services`: inference services with their requests, replicas, autoscalers, routers and goals, and
 * the engines and costs of replicas. An engine forms batches of requests; the cost is the time of an iteration with a
 * batch. Rules that concern several keys are checked in scenarios/build/services.c, engines.c and replicas.c.
 */

#include "headroom/unstable/services.h"

#include "scenarios/schema/keys.h"

#define WORD(name, text, words) text,
#define CLASS_WORD(name, text) text,
static const char *const classes[] = {HR_JOB_CLASS_TABLE(CLASS_WORD) NULL};
#undef CLASS_WORD
static const char *const routers[] = {HR_SERVICE_ROUTER_TABLE(WORD) NULL};
static const char *const autoscalers[] = {HR_AUTOSCALER_TABLE(WORD) NULL};
static const char *const metrics[] = {HR_SCALE_METRIC_TABLE(WORD) NULL};
static const char *const arrivals[] = {HR_REQUEST_ARRIVALS_TABLE(WORD) NULL};
static const char *const engines[] = {HR_SERVICE_ENGINE_TABLE(WORD) NULL};
static const char *const token_laws[] = {HR_TOKEN_LAW_TABLE(WORD) NULL};
#undef WORD

static const char *const disciplines[] = {"fcfs", "ps", NULL};

#define MAX_REPLICAS 100000.0
#define MAX_TOKENS 1073741824.0
#define MAX_US 1e9
#define MAX_MS 1e6
#define MAX_REQUESTS 1e9
#define SERVICE struct hr_service

/* ---- Engine ----------------------------------------------------------------------------------------- */

static const struct hr__key transfer_keys[] = {
    {"setup_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("0"), AT(DOUBLE, SERVICE, phases.link.setup_ms),
     HELP("Time until the first byte is transferred.")},
    {"gb_per_s", REAL(MIN_SCALE, 1e6), .unit = "GB/s", OTHERWISE("the transfer of the bytes takes no time"),
     AT(DOUBLE, SERVICE, phases.link.gb_per_s), HELP("Bandwidth, in units of 10^9 bytes per second.")},
    {"kv_bytes_per_token", REAL(1, 1e12), OTHERWISE("required with 'gb_per_s'"),
     AT(DOUBLE, SERVICE, phases.link.kv_bytes_per_token), HELP("KV memory per token of the prompt, in bytes.")},
    END};

static const struct hr__key engine_keys[] = {
    {"name", CHOICE(engines), DEFAULT("vllm-v1"), AT(INTEGER, SERVICE, engine),
     HELP("How batches are formed. vllm-v1: prompts and decodes share a token budget. vllm-v0: prompts first, never "
          "together with decodes. sarathi: decodes, then chunks of prompts. orca: prompts and decodes together; each "
          "request reserves memory for max_batch_tokens. orca-splitwise: as orca, but a request first reserves memory "
          "for its prompt and later for its output. disaggregated: prompts and decodes run on different replicas. "
          "colocated: prompts first, otherwise decodes. static: a batch runs until its longest sequence ends. "
          "dynamic-batch: one iteration computes all tokens of a batch. single: each request is served alone.")},
    {"max_sequences", WHOLE(1, 10000000), OTHERWISE("256; disaggregated and colocated: 10000000; single: 4096"),
     AT(INTEGER, SERVICE, limits.max_sequences),
     HELP("Maximum number of sequences in a batch. disaggregated and colocated: of prompts only.")},
    {"max_batch_tokens", WHOLE(1, MAX_TOKENS), OTHERWISE("8192; disaggregated and colocated: 10000000"),
     AT(INTEGER, SERVICE, limits.max_batch_tokens),
     HELP("Maximum number of tokens of an iteration. vllm-v0 and static: each prompt counts as if it were as long as "
          "the longest one. orca: maximum of a request. disaggregated and colocated: of prompts only.")},
    {"chunk_tokens", WHOLE(1, MAX_TOKENS), DEFAULT("512"), AT(INTEGER, SERVICE, limits.chunk_tokens),
     HELP("sarathi: maximum number of tokens of an iteration, including one for each decoding sequence.")},
    {"block_tokens", WHOLE(1, 65536), DEFAULT("16"), AT(INTEGER, SERVICE, limits.block_tokens),
     HELP("Number of tokens in a block of KV memory.")},
    {"kv_blocks", WHOLE(1, MAX_TOKENS), AT(INTEGER, SERVICE, limits.kv_blocks),
     HELP("KV memory of a replica, in blocks.")},
    {"kv_tokens", REAL(1, 1e12), AT(DOUBLE, SERVICE, limits.kv_tokens),
     HELP("Instead of 'kv_blocks': KV memory of a replica, in tokens.")},
    {"watermark", SHARE, DEFAULT("0.01"), AT(DOUBLE, SERVICE, limits.watermark),
     HELP("vllm-v0 and sarathi: share of the blocks that new prompts leave free.")},
    {"prefill_replicas", WHOLE(1, 100000), DEFAULT("1"), AT(INTEGER, SERVICE, phases.prefill_replicas),
     HELP("disaggregated: number of replicas for prompts. These replicas have the lowest numbers.")},
    {"decode_replicas", WHOLE(1, 100000), DEFAULT("1"), AT(INTEGER, SERVICE, phases.decode_replicas),
     HELP("disaggregated: number of replicas that decode.")},
    {"chunked", BOOLEAN, DEFAULT("false"), AT(INTEGER, SERVICE, phases.chunked),
     HELP("disaggregated and colocated: whether prompts are split. An iteration then has parts of prompts up to "
          "'max_batch_tokens', and decodes use the remaining tokens.")},
    {"max_decode_sequences", WHOLE(1, 10000000), DEFAULT("10000000"), AT(INTEGER, SERVICE, phases.max_decode_sequences),
     HELP("disaggregated and colocated: maximum number of decodes in an iteration.")},
    {"max_decode_tokens", REAL(1, 1e12), DEFAULT("10000000"), AT(DOUBLE, SERVICE, phases.max_decode_tokens),
     HELP("colocated: no prompt starts while the total context of the waiting decodes is above decode_pressure * "
          "max_decode_tokens.")},
    {"decode_pressure", SHARE, DEFAULT("0.9"), AT(DOUBLE, SERVICE, phases.decode_pressure),
     HELP("colocated: share of 'max_decode_tokens' above which no prompt starts.")},
    {"decode_context_tokens", WHOLE(1, MAX_TOKENS), DEFAULT("50000"),
     AT(INTEGER, SERVICE, phases.decode_context_tokens),
     HELP("disaggregated and colocated: maximum total context of the decodes in an iteration, in tokens.")},
    {"transfer", OBJECT(transfer_keys), .store = HR__STORE_PART,
     HELP("disaggregated: time to move the KV memory of a request to the replica that decodes. Without this key, it "
          "takes no time, as in DistServe's simulator.")},
    {"preferred_batch_size", LIST(1, 1000, EACH(WHOLE(1, 65536), .store = HR__STORE_INTEGER, .bytes = 4)),
     AS_ARRAY(SERVICE, dynamic.preferred, dynamic.n_preferred), OTHERWISE("'max_sequences'"),
     HELP("dynamic-batch: a batch of one of these sizes starts at once.")},
    {"max_queue_delay_us", REAL(0, MAX_US), .unit = "us", DEFAULT("0"), AT(DOUBLE, SERVICE, dynamic.max_queue_delay_us),
     HELP("dynamic-batch: a batch of another size starts when its first request has waited for this time.")},
    {"servers", WHOLE(1, 65536), DEFAULT("1"), AT(INTEGER, SERVICE, single.servers),
     HELP("single: number of requests that a replica serves at full speed at the same time.")},
    {"discipline", CHOICE(disciplines), DEFAULT("fcfs"), AT(INTEGER, SERVICE, single.shares),
     HELP("single: how requests share the servers. fcfs: first come, first served. ps: up to 'max_sequences' requests "
          "share the servers equally.")},
    END};

/* ---- Cost ------------------------------------------------------------------------------------------- */

#define TERMS LIST(3, 3, EACH(REAL(-MAX_MS, MAX_MS), .store = HR__STORE_DOUBLE)), .unit = "ms"
static const struct hr__key distserve_keys[] = {
    {"prefill_ms", TERMS, MUST, AS_ARRAY(SERVICE, cost.phases.prefill_ms, cost.phases.n_prefill),
     HELP("Time of an iteration with prompts, as three terms a, b, c: a + b * (tokens of all prompts) + c * (sum of "
          "the squared tokens of each prompt).")},
    {"decode_ms", TERMS, MUST, AS_ARRAY(SERVICE, cost.phases.decode_ms, cost.phases.n_decode),
     HELP("Time of an iteration with decodes, as three terms a, b, c: a + b * (context + sequences) + c * sequences.")},
    {"decode_large_ms", TERMS, OTHERWISE("'decode_ms'"), AS_ARRAY(SERVICE, cost.phases.large_ms, cost.phases.n_large),
     HELP("As 'decode_ms', for batches of at least 'large_batch' sequences.")},
    {"large_batch", WHOLE(1, 1000000), DEFAULT("95"), AT(INTEGER, SERVICE, cost.phases.large_batch),
     HELP("Number of sequences from which 'decode_large_ms' applies.")},
    {"stages", WHOLE(1, 1000), DEFAULT("1"), AT(INTEGER, SERVICE, cost.phases.stages),
     HELP("Number of pipeline stages of a replica. Each stage takes an equal part of the sum of the terms.")},
    {"stage_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("1"), AT(DOUBLE, SERVICE, cost.phases.stage_ms),
     HELP("Additional time of each stage for an iteration with prompts: stage_ms * stages.")},
    {"overhead_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("2"), AT(DOUBLE, SERVICE, cost.phases.overhead_ms),
     HELP("Additional time of the first stage.")},
    {"overhead_token_ms", REAL(0, MAX_MS), .unit = "ms", DEFAULT("0.0001"),
     AT(DOUBLE, SERVICE, cost.phases.overhead_token_ms),
     HELP("Additional time of the first stage for each token of context of the sequences in the batch.")},
    END};

#define KNOT struct hr_service_knot
static const struct hr__key knot_keys[] = {
    {"tokens", REAL(0, MAX_TOKENS), MUST, AT(DOUBLE, KNOT, tokens),
     HELP("Number of prompt tokens, or of decoding sequences. Larger than that of the previous entry.")},
    {"prompt_us", REAL(0, MAX_US), .unit = "us", MUST, AT(DOUBLE, KNOT, prompt_us),
     HELP("Time of an iteration with this number of prompt tokens.")},
    {"token_us", REAL(0, MAX_US), .unit = "us", MUST, AT(DOUBLE, KNOT, token_us),
     HELP("Time of an iteration in which this number of sequences decode.")},
    END};

#define COST(name, member, words)                                                                                      \
  { name, REAL(0, MAX_US), .unit = "us", DEFAULT("0"), AT(DOUBLE, SERVICE, cost.member), HELP(words) }
static const struct hr__key cost_keys[] = {
    COST("fixed_us", fixed_us, "Time of an iteration without tokens."),
    COST("per_prompt_token_us", per_prompt_token_us, "Time for each token of a prompt."),
    COST("per_sequence_us", per_sequence_us, "Time for each sequence that decodes."),
    COST(
        "per_context_ktoken_us", per_context_ktoken_us,
        "Time per 1000 tokens of context, which are the tokens that the sequences of the batch have processed before."),
    {"integer", BOOLEAN, DEFAULT("false"), AT(INTEGER, SERVICE, cost.integer),
     HELP("Whether iterations take whole microseconds. The time for the context is then rounded down.")},
    {"table", LIST(2, 10000, EACH(OBJECT(knot_keys))), AS_ARRAY(SERVICE, cost.knots, cost.n_knots),
     HELP("Instead of the times above: a table of times. Between two entries, and beyond the first and the last one, "
          "the time is linear.")},
    {"mixed_factor", REAL(0, 1000), DEFAULT("1.1"), AT(DOUBLE, SERVICE, cost.mixed_factor),
     HELP("With 'table': factor for iterations with prompts and decodes. Their time is mixed_factor * 'prompt_us' at "
          "(prompt tokens + decoding sequences) tokens.")},
    {"distserve", OBJECT(distserve_keys), .store = HR__STORE_PART,
     HELP("Instead of the times above: the formula of DistServe's simulator.")},
    END};

/* ---- Replica ---------------------------------------------------------------------------------------- */

static const struct hr__key replica_keys[] = {
    {"gpus", WHOLE(1, 1024), DEFAULT("1"), AT(INTEGER, SERVICE, gpus), HELP("Number of GPUs of a replica.")},
    {"tensor_parallel", WHOLE(1, 1024), OTHERWISE("'gpus'"), AT(INTEGER, SERVICE, tensor_parallel),
     HELP("Number of GPUs among which the model is split. The default cost and KV memory depend on it.")},
    {"gpu_milli", WHOLE(1, 1000), DEFAULT("1000"), AT(INTEGER, SERVICE, gpu_milli),
     HELP("Share of each GPU, in thousandths.")},
    {"mig", NAME, AT(TEXT, SERVICE, mig_profile), HELP("MIG profile instead of a GPU, such as 1g.10gb.")},
    {"gpu_type", NAME, OTHERWISE("any"), AT(TEXT, SERVICE, gpu_types), HELP("Acceptable GPU types, separated by '|'.")},
    {"region", NAME, OTHERWISE("any"), AT(TEXT, SERVICE, regions),
     HELP("Acceptable regions of pools, separated by '|'.")},
    {"gpu_mem_gb", REAL(0, 1e6), .unit = "GiB", DEFAULT("0"), SCALED(1024, SERVICE, gpu_mem_mib),
     HELP("Requested memory of each GPU.")},
    {"cpu", REAL(0, 1e6), DEFAULT("0"), SCALED(1000, SERVICE, cpu_milli), HELP("Requested CPUs.")},
    {"mem_gb", REAL(0, 1e6), .unit = "GiB", DEFAULT("0"), SCALED(1024, SERVICE, mem_mib),
     HELP("Requested host memory.")},
    {"interruptible", BOOLEAN, DEFAULT("true"), AT(NOT, SERVICE, uninterruptible),
     HELP("Whether replicas may use spot nodes and be preempted.")},
    {"engine", OBJECT(engine_keys), MUST, .store = HR__STORE_PART, HELP("How requests are batched.")},
    {"cost", OBJECT(cost_keys), OTHERWISE("by 'model', GPU type and 'tensor_parallel'"), .store = HR__STORE_PART,
     HELP("Time of an iteration: the sum of these terms, a table, or DistServe's formula.")},
    END};

#define LAW struct hr_token_law
#define SMOOTH (1 << HR_TOKENS_FIXED | 1 << HR_TOKENS_EXPONENTIAL | 1 << HR_TOKENS_LOG_NORMAL)
static const struct hr__key token_keys[] = {
    {"distribution", CHOICE(token_laws), DEFAULT("fixed"), .selects = true, AT(INTEGER, LAW, kind),
     HELP("Distribution of the number of tokens. fixed: always 'mean', a whole number. exponential: with 'mean', "
          "rounded up. log-normal: with 'mean' and 'sigma', rounded. empirical: the number of a random row of 'trace'; "
          "if prompts and outputs have the same trace, both are from the same row.")},
    {"mean", REAL(1, MAX_TOKENS), NEEDED_WITH(SMOOTH), AT(DOUBLE, LAW, mean),
     HELP("Mean, before 'min' and 'max' are applied.")},
    {"sigma", REAL(0, 10), NEEDED_WITH(1 << HR_TOKENS_LOG_NORMAL), AT(DOUBLE, LAW, sigma),
     HELP("Standard deviation of the natural logarithm of the number.")},
    {"trace", PATH, NEEDED_WITH(1 << HR_TOKENS_EMPIRICAL), AT(FILE, LAW, trace),
     HELP("A request trace, relative to the folder of the scenario.")},
    {"min", WHOLE(1, MAX_TOKENS), DEFAULT("1"), AT(INTEGER, LAW, min),
     HELP("Minimum. Smaller numbers are replaced by it.")},
    {"max", WHOLE(1, MAX_TOKENS), OTHERWISE("no maximum"), AT(INTEGER, LAW, max),
     HELP("Maximum. Larger numbers are replaced by it.")},
    END};

#define FACTORS(count) LIST(count, count, EACH(REAL(0, 1e9), .store = HR__STORE_DOUBLE, .bytes = sizeof(double)))
static const struct hr__key request_keys[] = {
    {"trace", PATH, AT(FILE, SERVICE, requests),
     HELP("Requests, relative to the folder of the scenario: CSV with arrival_timestamp, prompt_size and token_size.")},
    {"arrivals", CHOICE(arrivals), DEFAULT("poisson"), AT(INTEGER, SERVICE, draw.arrivals),
     HELP("Instead of 'trace': requests are drawn at random. poisson: times between requests are exponential. gamma: "
          "they have a gamma distribution with the coefficient of variation 'cv'.")},
    {"rate_per_s", REAL(1e-9, 1e9), .unit = "requests/s", AT(DOUBLE, SERVICE, draw.rate_per_s),
     HELP("Mean rate over a week, before 'growth_per_year' is applied.")},
    {"cv", REAL(0.01, 100), DEFAULT("1"), AT(DOUBLE, SERVICE, draw.cv),
     HELP("gamma: standard deviation of the time between requests, divided by its mean, at a constant rate. 1: as "
          "poisson.")},
    {"hourly", FACTORS(24), OTHERWISE("equal"), AS_ARRAY(SERVICE, draw.hourly, draw.n_hourly),
     HELP("Rates of the hours of a day, relative to their mean. Time 0 is 0:00 on a Monday.")},
    {"weekly", FACTORS(7), OTHERWISE("equal"), AS_ARRAY(SERVICE, draw.weekly, draw.n_weekly),
     HELP("Rates of the days of a week, from Monday, relative to their mean.")},
    {"growth_per_year", REAL(0.001, 1000), DEFAULT("1"), AT(DOUBLE, SERVICE, draw.growth_per_year),
     HELP("Factor of the rate after 365 days.")},
    {"prompt_tokens", OBJECT(token_keys), AT(PART, SERVICE, draw.prompt), HELP("Tokens of a prompt.")},
    {"output_tokens", OBJECT(token_keys), AT(PART, SERVICE, draw.output), HELP("Tokens of an output.")},
    {"duration_s", SECONDS_FROM(1e-6), AS_US(SERVICE, draw.duration_us),
     HELP("Time before which requests arrive. Required unless 'count' is set.")},
    {"count", WHOLE(1, MAX_REQUESTS), AT(INTEGER, SERVICE, draw.count),
     HELP("Maximum number of requests. Required unless 'duration_s' is set.")},
    {"seed", SEED, OTHERWISE("that of the run"), AT(INTEGER, SERVICE, draw.seed),
     HELP("Seed of the requests. With a seed, all replications have the same requests.")},
    END};

#define SCALE struct hr_autoscale
#define ONE(policy) (1u << HR_AUTOSCALE_##policy)
#define SCALED_BY_LOAD                                                                                                 \
  (ONE(KNATIVE) | ONE(HPA) | ONE(KEDA) | ONE(RAY_SERVE) | ONE(NVCF) | ONE(SLO)) /* all but fixed and schedule */
static const char *const scale_units[] = {"pods", "percent", NULL};
static const char *const selects[] = {"max", "min", "disabled", NULL};

static const struct hr__key scale_policy_keys[] = {
    {"type", CHOICE(scale_units), DEFAULT("pods"), AT(INTEGER, struct hr_scale_policy, is_percent),
     HELP("Whether 'value' is a number of replicas or a percentage.")},
    {"value", WHOLE(1, 1e6), MUST, AT(INTEGER, struct hr_scale_policy, value), HELP("Maximum change in a period.")},
    {"period_s", SECONDS_FROM(1), MUST, AS_US(struct hr_scale_policy, period_us), HELP("Length of the period.")},
    END};

static const struct hr__key scale_rules_keys[] = {
    {"stabilization_s", REAL(0, 3600), .unit = "s", AS_US(struct hr_scale_rules, stabilization_us),
     OTHERWISE("0 up, 300 down"),
     HELP("Length of the window of recommendations. The most cautious one is used: for increases the lowest, for "
          "decreases the highest.")},
    {"select", CHOICE(selects), DEFAULT("max"), AT(INTEGER, struct hr_scale_rules, select),
     HELP("Which policy applies. max: the one that permits the largest change. min: the smallest change. disabled: no "
          "change in this direction.")},
    {"policies", LIST(1, 16, EACH(OBJECT(scale_policy_keys))), AS_ARRAY(struct hr_scale_rules, policies, n_policies),
     OTHERWISE("up: 100 percent or 4 pods in 15 s; down: 100 percent in 15 s"), HELP("Limits of the rate of change.")},
    END};

static const struct hr__key scale_step_keys[] = {
    {"at_s", SECONDS, MUST, AS_US(struct hr_scale_step, at_us), HELP("Time since the beginning of the period.")},
    {"replicas", WHOLE(0, MAX_REPLICAS), MUST, AT(INTEGER, struct hr_scale_step, replicas),
     HELP("Number of replicas from this time on.")},
    END};

static const struct hr__key autoscale_keys[] = {
    {"policy", CHOICE(autoscalers), DEFAULT("fixed"), .selects = true, AT(INTEGER, SCALE, policy),
     HELP("How the number of replicas is chosen. fixed: it is 'replicas'. schedule: it is set by time in 'steps'. "
          "knative, hpa, keda, ray-serve, nvcf: as those systems do. slo: the fewest replicas that are predicted to "
          "meet the goals 'slo'.")},
    {"replicas", WHOLE(1, MAX_REPLICAS), WITH(ONE(FIXED)), DEFAULT("1"), AT(INTEGER, SCALE, max),
     HELP("Number of replicas.")},
    {"min", WHOLE(0, MAX_REPLICAS), WITH(~ONE(FIXED)), OTHERWISE("1 for hpa, otherwise 0"), AT(INTEGER, SCALE, min),
     HELP("Minimum number of replicas.")},
    {"max", WHOLE(1, MAX_REPLICAS), NEEDED_WITH(~ONE(FIXED)), AT(INTEGER, SCALE, max),
     HELP("Maximum number of replicas.")},
    {"initial", WHOLE(0, MAX_REPLICAS), WITH(SCALED_BY_LOAD), OTHERWISE("'min'"), AT(INTEGER, SCALE, initial),
     HELP("Number of replicas at the beginning of the run.")},
    {"interval_s", REAL(0.05, 86400), .unit = "s", WITH(~ONE(FIXED)),
     OTHERWISE("schedule 60, knative 2, hpa 15, keda 30, ray-serve 0.1, nvcf 30, slo 15"), AS_US(SCALE, interval_us),
     HELP("Time between decisions.")},
    {"metric_delay_s", REAL(0, 3600), .unit = "s", WITH(SCALED_BY_LOAD), DEFAULT("0"), AS_US(SCALE, metric_delay_us),
     HELP("Age of the metrics that decisions use.")},
    {"metric", CHOICE(metrics), WITH(ONE(KNATIVE) | ONE(HPA) | ONE(KEDA)), DEFAULT("concurrency"),
     AT(INTEGER, SCALE, metric), HELP("The metric to which 'target' refers.")},
    {"target", REAL(1e-6, 1e9), WITH(ONE(KNATIVE) | ONE(HPA) | ONE(KEDA) | ONE(RAY_SERVE)),
     OTHERWISE("knative 70, keda 5, ray-serve 2, hpa 80 percent or 5"), AT(DOUBLE, SCALE, target),
     HELP("Target value of the metric per replica. Utilization is in percent.")},
    {"steps", LIST(1, 10000, EACH(OBJECT(scale_step_keys))), NEEDED_WITH(ONE(SCHEDULE)),
     AS_ARRAY(SCALE, steps, n_steps), HELP("The schedule, in order of time.")},
    {"period_s", SECONDS_FROM(1), WITH(ONE(SCHEDULE)), DEFAULT("86400"), AS_US(SCALE, period_us),
     HELP("The schedule repeats after this time.")},
    {"panic_threshold", REAL(1, 1000), WITH(ONE(KNATIVE)), DEFAULT("2"), AT(DOUBLE, SCALE, panic_threshold),
     HELP("Ratio of required replicas to ready replicas at which the panic mode begins.")},
    {"panic_window_share", REAL(0.01, 1), WITH(ONE(KNATIVE)), DEFAULT("0.1"), AT(DOUBLE, SCALE, panic_window_share),
     HELP("Length of the panic window, as a share of the stable window.")},
    {"max_scale_up_rate", REAL(1.01, 1e6), WITH(ONE(KNATIVE)), DEFAULT("1000"), AT(DOUBLE, SCALE, max_scale_up_rate),
     HELP("Maximum factor by which a decision increases the number of replicas.")},
    {"max_scale_down_rate", REAL(1.01, 1e6), WITH(ONE(KNATIVE)), DEFAULT("2"), AT(DOUBLE, SCALE, max_scale_down_rate),
     HELP("Maximum factor by which a decision decreases the number of replicas.")},
    {"stable_window_s", REAL(1, 3600), .unit = "s", WITH(ONE(KNATIVE)), DEFAULT("60"), AS_US(SCALE, stable_window_us),
     HELP("Window of the average load.")},
    {"scale_down_delay_s", REAL(0, 3600), .unit = "s", WITH(ONE(KNATIVE)), DEFAULT("0"),
     AS_US(SCALE, scale_down_delay_us),
     HELP("The number of replicas is reduced only after fewer replicas have sufficed for this time.")},
    {"scale_to_zero_grace_s", REAL(0, 86400), .unit = "s", WITH(ONE(KNATIVE)), DEFAULT("30"), AS_US(SCALE, grace_us),
     HELP("Time for which the last replica remains when it is not needed any more.")},
    {"retention_s", REAL(0, 86400), .unit = "s", WITH(ONE(KNATIVE)), DEFAULT("0"), AS_US(SCALE, retention_us),
     HELP("Minimum time for which the last replica remains. If it is longer than 'scale_to_zero_grace_s', it applies "
          "instead.")},
    {"activation_scale", WHOLE(1, MAX_REPLICAS), WITH(ONE(KNATIVE)), DEFAULT("1"), AT(INTEGER, SCALE, activation_scale),
     HELP("Minimum number of replicas while the number is not 0.")},
    {"tolerance", REAL(0, 1), WITH(ONE(HPA) | ONE(KEDA)), DEFAULT("0.1"), AT(DOUBLE, SCALE, tolerance),
     HELP("Relative deviation from the target up to which the number of replicas does not change.")},
    {"up", OBJECT(scale_rules_keys), WITH(ONE(HPA) | ONE(KEDA)), AT(PART, SCALE, up),
     HELP("Rules for increases of the number of replicas.")},
    {"down", OBJECT(scale_rules_keys), WITH(ONE(HPA) | ONE(KEDA)), AT(PART, SCALE, down),
     HELP("Rules for decreases of the number of replicas.")},
    {"cooldown_s", SECONDS, WITH(ONE(KEDA)), DEFAULT("300"), AS_US(SCALE, cooldown_us),
     HELP("Time without activity after which the number is reduced to 'idle' or zero.")},
    {"idle", WHOLE(0, MAX_REPLICAS), WITH(ONE(KEDA)), OTHERWISE("off"), AT(INTEGER, SCALE, idle),
     HELP("Number of replicas while the service is inactive.")},
    {"activation_threshold", REAL(0, 1e9), WITH(ONE(KEDA)), DEFAULT("0"), AT(DOUBLE, SCALE, activation_threshold),
     HELP("The service is active while it has more than this number of incomplete requests.")},
    {"upscaling_factor", REAL(1e-3, 1000), WITH(ONE(RAY_SERVE)), DEFAULT("1"), AT(DOUBLE, SCALE, upscaling_factor),
     HELP("Factor by which a computed increase is multiplied.")},
    {"downscaling_factor", REAL(1e-3, 1000), WITH(ONE(RAY_SERVE)), DEFAULT("1"), AT(DOUBLE, SCALE, downscaling_factor),
     HELP("Factor by which a computed decrease is multiplied.")},
    {"upscale_delay_s", REAL(0, 86400), .unit = "s", WITH(ONE(RAY_SERVE)), DEFAULT("30"),
     AS_US(SCALE, upscale_delay_us), HELP("Time for which more replicas must be required before replicas are added.")},
    {"downscale_delay_s", REAL(0, 86400), .unit = "s", WITH(ONE(RAY_SERVE)), DEFAULT("600"),
     AS_US(SCALE, downscale_delay_us), HELP("Time for which fewer replicas must suffice before replicas are removed.")},
    {"downscale_to_zero_delay_s", REAL(0, 86400), .unit = "s", WITH(ONE(RAY_SERVE)), OTHERWISE("'downscale_delay_s'"),
     AS_US(SCALE, downscale_to_zero_delay_us), HELP("As 'downscale_delay_s', for the removal of the last replica.")},
    {"look_back_s", REAL(0.1, 3600), .unit = "s", WITH(ONE(RAY_SERVE)), DEFAULT("30"), AS_US(SCALE, look_back_us),
     HELP("Window of the average load.")},
    {"up_threshold", REAL(0, 100), WITH(ONE(NVCF)), DEFAULT("70"), AT(DOUBLE, SCALE, up_threshold),
     HELP("Utilization in percent above which replicas are added.")},
    {"down_threshold", REAL(0, 100), WITH(ONE(NVCF)), DEFAULT("30"), AT(DOUBLE, SCALE, down_threshold),
     HELP("Utilization in percent below which replicas are removed.")},
    {"up_factor", REAL(1, 1000), WITH(ONE(NVCF)), DEFAULT("1.2"), AT(DOUBLE, SCALE, up_factor),
     HELP("Factor by which an increase multiplies the number of replicas.")},
    {"down_factor", REAL(0, 1), WITH(ONE(NVCF)), DEFAULT("0.8"), AT(DOUBLE, SCALE, down_factor),
     HELP("Factor by which a decrease multiplies the number of replicas.")},
    {"up_window", WHOLE(1, 1000), WITH(ONE(NVCF)), DEFAULT("1"), AT(INTEGER, SCALE, up_window),
     HELP("Number of samples that are considered for an increase.")},
    {"up_required", WHOLE(1, 1000), WITH(ONE(NVCF)), DEFAULT("1"), AT(INTEGER, SCALE, up_required),
     HELP("Number of samples of 'up_window' that must be above 'up_threshold'.")},
    {"down_window", WHOLE(1, 1000), WITH(ONE(NVCF)), DEFAULT("1"), AT(INTEGER, SCALE, down_window),
     HELP("Number of samples that are considered for a decrease.")},
    {"down_required", WHOLE(1, 1000), WITH(ONE(NVCF)), DEFAULT("1"), AT(INTEGER, SCALE, down_required),
     HELP("Number of samples of 'down_window' that must be below 'down_threshold'.")},
    {"decay", REAL(0, 100), WITH(ONE(NVCF)), DEFAULT("0.5"), AT(DOUBLE, SCALE, decay),
     HELP("Decay d of the weights of samples in the mean utilization that decides about the removal of the last "
          "replica. A sample that is k samples older than the newest one has the weight exp(-d k).")},
    {"idle_to_zero_s", SECONDS, WITH(ONE(NVCF) | ONE(SLO)), OTHERWISE("nvcf 1800, slo never"),
     AS_US(SCALE, idle_to_zero_us),
     HELP("Time without requests after which the last replica is removed, if 'min' is 0.")},
    {"window_s", REAL(1, 3600), .unit = "s", WITH(ONE(SLO)), DEFAULT("60"), AS_US(SCALE, window_us),
     HELP("Window of the measured load.")},
    END};

#define STAGE(name, member, words)                                                                                     \
  { name, REAL(0, 86400), .unit = "s", DEFAULT("0"), AS_US(SERVICE, cold_start.member), HELP(words) }
static const struct hr__key cold_start_keys[] = {
    STAGE("node_s", node_us, "Preparation of a node for its first replica of the service."),
    STAGE("image_s", image_us, "Pull of the image."),
    STAGE("container_s", container_us, "Start of the container."),
    STAGE("weights_s", weights_us, "Load of the weights onto the node."),
    {"weights", NAME, AT(TEXT, SERVICE, cold_start.weights),
     HELP("Instead of 'weights_s': name of the data set in 'data.sets' that contains the weights. A load takes as long "
          "as its transfer, which shares bandwidth with other transfers. Weights remain on a node only in a cache "
          "('data.caches').")},
    STAGE("engine_s", engine_us, "Initialization of the engine. After it, the replica is ready for requests."),
    {"cache", BOOLEAN, DEFAULT("true"), AT(INTEGER, SERVICE, cold_start.caches),
     HELP("Whether the stages of node, image and weights are omitted on a node on which they were completed before. A "
          "node that goes down loses their results.")},
    END};

#define ROUTER(router) (1u << HR_SERVICE_##router)
static const char *const when_full[] = {"refuse", "spill", NULL};

static const struct hr__key weight_keys[] = {
    {"pool", NAME, AT(TEXT, struct hr_router_weight, pool), HELP("Name of a pool.")},
    {"gpu_type", NAME, AT(TEXT, struct hr_router_weight, gpu_type), HELP("Instead of 'pool': GPU type of pools.")},
    {"weight", REAL(0, 1e6), MUST, AT(DOUBLE, struct hr_router_weight, weight),
     HELP("Weight of each replica there. 0: requests only if no other replica is ready.")},
    END};

#define PLACE struct hr_service_place
static const struct hr__key place_keys[] = {
    {"name", NAME, MUST, AT(TEXT, PLACE, name), HELP("Name of a cluster.")},
    {"share", REAL(0, 1e6), OTHERWISE("1 for the first cluster, 0 for the others"), AT(DOUBLE, PLACE, share),
     HELP("Share of the drawn requests that arrive in this cluster, relative to the other clusters. All requests of a "
          "trace arrive in the first cluster.")},
    {"utc_offset_h", WHOLE(-12, 14), .unit = "h", DEFAULT("0"), AT(INTEGER, PLACE, offset_h),
     HELP("Local time of this cluster minus the time of the run. 'hourly' and 'weekly' are in local time.")},
    {"spill_to", NAME, OTHERWISE("the next cluster of the list; after the last one, the first one"),
     AT(TEXT, PLACE, spill_to), HELP("With 'router.spill.to' \"clusters\": the cluster to which requests go.")},
    {"replicas", WHOLE(0, MAX_REPLICAS), OTHERWISE("that of 'autoscale'"), AT(INTEGER, PLACE, max),
     HELP("Number of replicas in this cluster, with the autoscaler fixed.")},
    {"min", WHOLE(0, MAX_REPLICAS), OTHERWISE("that of 'autoscale'"), AT(INTEGER, PLACE, min),
     HELP("Minimum number of replicas in this cluster, with autoscalers other than fixed.")},
    {"max", WHOLE(1, MAX_REPLICAS), OTHERWISE("that of 'autoscale'"), AT(INTEGER, PLACE, max),
     HELP("Maximum number of replicas in this cluster, with autoscalers other than fixed.")},
    END};

static const struct hr__key spill_keys[] = {
    {"to", NAME, MUST, AT(TEXT, SERVICE, routing.spill.to),
     HELP("Where requests are sent: the name of another service; \"clusters\" for the same service in another cluster; "
          "or the name of a pool or a market (owned, reserved, on-demand, spot). Replicas of this service in such a "
          "pool or market get only these requests.")},
    {"predicted_wait_s", REAL(0, 86400), .unit = "s",
     OTHERWISE("no bound; requests go there only if the queue is full"),
     AS_US(SERVICE, routing.spill.predicted_wait_us),
     HELP("A request goes there if its predicted wait is longer than this.")},
    END};

static const struct hr__key router_keys[] = {
    {"name", CHOICE(routers), DEFAULT("round-robin"), .selects = true, AT(INTEGER, SERVICE, router),
     HELP("Which replica gets a request. round-robin: the next one in turn. random: a random one. least-outstanding: "
          "the one with the fewest incomplete requests. least-waiting: the one with the fewest requests that have not "
          "begun. token-jsq: the one with the fewest tokens of waiting prompts plus decoding sequences. power-of-two: "
          "of two random ones, the one with fewer incomplete requests. first-available: the first one with room. "
          "weighted: in turn, in proportion to the weights.")},
    {"order", LIST(1, MAX_MEMBERS, EACH(NAME, .store = HR__STORE_TEXT, .bytes = sizeof(char *))),
     WITH(ROUTER(FIRST_AVAILABLE)), OTHERWISE("by number"), AS_ARRAY(SERVICE, routing.order, routing.n_order),
     HELP("Pools or GPU types, in the order in which their replicas get requests.")},
    {"room", WHOLE(1, 1e6), WITH(ROUTER(FIRST_AVAILABLE)), OTHERWISE("'max_sequences'; single, fcfs: 'servers'"),
     AT(INTEGER, SERVICE, routing.room), HELP("Number of incomplete requests at which a replica has no more room.")},
    {"weights", LIST(1, MAX_MEMBERS, EACH(OBJECT(weight_keys))), NEEDED_WITH(ROUTER(WEIGHTED)),
     AS_ARRAY(SERVICE, routing.weights, routing.n_weights),
     HELP("Weights by pool or GPU type. Replicas in other pools have the weight 0.")},
    {"spill", OBJECT(spill_keys), .store = HR__STORE_PART,
     HELP("Where requests are sent if they would wait too long.")},
    END};

static const struct hr__key queue_keys[] = {
    {"limit", WHOLE(1, 1e9), OTHERWISE("no limit"), AT(INTEGER, SERVICE, queue.limit),
     HELP("Maximum number of requests that wait.")},
    {"timeout_s", SECONDS_FROM(1e-6), OTHERWISE("never"), AS_US(SERVICE, queue.timeout_us),
     HELP("Maximum wait for the first iteration. A request that waits longer leaves and is counted as timed out.")},
    {"when_full", CHOICE(when_full), DEFAULT("refuse"), AT(INTEGER, SERVICE, queue.when_full),
     HELP("What happens to a request beyond 'limit'. spill: it goes to the service 'router.spill.to'.")},
    END};

#define GOAL(name, member, words)                                                                                      \
  { name, REAL(1e-3, MAX_US), .unit = "ms", AT(DOUBLE, SERVICE, slo.member), HELP(words) }
static const struct hr__key slo_keys[] = {
    GOAL("ttft_ms", ttft_ms, "Maximum time from arrival to the first token."),
    GOAL("tpot_ms", tpot_ms, "Maximum time per output token after the first one, averaged over the request."),
    GOAL("e2e_ms", e2e_ms, "Maximum time from arrival to the last token."),
    {"attainment", SHARE, AT(DOUBLE, SERVICE, slo.attainment),
     HELP("Share of all requests that must meet the other goals.")},
    END};

#define PRICE(name, member, words)                                                                                     \
  { name, USD, DEFAULT("0"), AS_UUSD(SERVICE, price.member), HELP(words) }
static const struct hr__key price_keys[] = {PRICE("input", input_uusd, "Dollars per million prompt tokens."),
                                            PRICE("output", output_uusd, "Dollars per million output tokens."), END};

const struct hr__key hr__service_keys[] = {
    {"name", NAME, MUST, AT(TEXT, SERVICE, name), HELP("Name, different from those of other services.")},
    {"clusters", LIST(1, 64, EACH(OBJECT(place_keys))), OTHERWISE("the home of 'tenant'"),
     AS_ARRAY(SERVICE, places, n_places),
     HELP("If the scenario has 'clusters': the clusters with replicas of the service. If there are several, each has "
          "its own replicas and autoscaler, and results name them CLUSTER/SERVICE.")},
    {"model", NAME, AT(TEXT, SERVICE, model), HELP("Model, for the defaults of 'replica.cost' and of the KV memory.")},
    {"requests", OBJECT(request_keys), MUST, .store = HR__STORE_PART, HELP("The requests.")},
    {"prefix_hit", REAL(0, 1), .unit = "share", DEFAULT("0"), AS_PPM(SERVICE, prefix_hit_ppm),
     HELP("Share of the tokens of a prompt that are in a prefix cache and need no computation. The number of these "
          "tokens is rounded down, and at least one token is computed. Cached tokens also use KV memory.")},
    {"router", OBJECT(router_keys), OR_WORDS(routers), .store = HR__STORE_PART,
     HELP("How requests are assigned to replicas: a name, or an object with 'name'.")},
    {"queue", OBJECT(queue_keys), .store = HR__STORE_PART,
     HELP("Requests before their first iteration, at the router and at replicas.")},
    {"tenant", NAME, AT(TEXT, SERVICE, tenant), HELP("Tenant that pays for the replicas.")},
    {"class", CHOICE_AFTER_FIRST(classes), DEFAULT("inference"), AT(INTEGER, SERVICE, class_),
     HELP("Class of the jobs of the replicas.")},
    {"priority", WHOLE(-2147483648.0, 2147483647.0), DEFAULT("0"), AT(INTEGER, SERVICE, priority),
     HELP("Priority of the jobs of the replicas.")},
    {"autoscale", OBJECT(autoscale_keys), AT(PART, SERVICE, autoscale),
     HELP("How the number of replicas is determined.")},
    {"cold_start", OBJECT(cold_start_keys), .store = HR__STORE_PART,
     HELP("Time from the start of the job of a replica until it is ready: the sum of these stages.")},
    {"drain_s", SECONDS, OTHERWISE("no limit"), AS_US(SERVICE, drain_us),
     HELP("A replica that is being removed completes its requests for at most this time. Requests that are not "
          "complete then start again on other replicas.")},
    {"replica", OBJECT(replica_keys), MUST, .store = HR__STORE_PART,
     HELP("Resources, engine and cost of each replica.")},
    {"slo", OBJECT(slo_keys), .store = HR__STORE_PART, HELP("Goals for requests.")},
    {"price", OBJECT(price_keys), .store = HR__STORE_PART,
     HELP("What customers pay for the tokens of completed requests.")},
    END};
