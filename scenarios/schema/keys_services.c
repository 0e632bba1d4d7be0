/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key table of `services`: inference services with their requests, replicas, router and goals. Rules across keys
 * are checked in scenarios/build/services.c.
 */

#include "headroom/unstable/services.h"

#include "scenarios/schema/keys.h"

#define WORD(name, text, words) text,
static const char *const routers[] = {HR_SERVICE_ROUTER_TABLE(WORD) NULL};
static const char *const arrivals[] = {HR_REQUEST_ARRIVALS_TABLE(WORD) NULL};
static const char *const token_laws[] = {HR_TOKEN_LAW_TABLE(WORD) NULL};
#undef WORD
static const char *const autoscalers[] = {"fixed", NULL};

#define MAX_REPLICAS 100000.0
#define MAX_TOKENS 1073741824.0
#define MAX_US 1e9
#define MAX_REQUESTS 1e9
#define SERVICE struct hr_service

static const struct hr__key replica_keys[] = {
    {"gpus", WHOLE(1, 1024), DEFAULT("1"), AT(INTEGER, SERVICE, gpus), HELP("Whole GPUs of a replica.")},
    {"tensor_parallel", WHOLE(1, 1024), OTHERWISE("'gpus'"), AT(INTEGER, SERVICE, tensor_parallel),
     HELP("GPUs that share the model; decides the default cost and the KV memory.")},
    {"engine", OBJECT(hr__engine_keys), MUST, .store = HR__STORE_PART, HELP("How requests are batched.")},
    {"cost", OBJECT(hr__service_cost_keys), OTHERWISE("by 'model', GPU type and 'tensor_parallel'"),
     .store = HR__STORE_PART, HELP("Time of an iteration: the sum of these terms, a table, or the form of DistServe.")},
    END};

#define LAW struct hr_token_law
#define SMOOTH (1 << HR_TOKENS_FIXED | 1 << HR_TOKENS_EXPONENTIAL | 1 << HR_TOKENS_LOG_NORMAL)
static const struct hr__key token_keys[] = {
    {"distribution", CHOICE(token_laws), DEFAULT("fixed"), .selects = true, AT(INTEGER, LAW, kind),
     HELP(
         "fixed: always 'mean'. exponential: rounded up. log-normal: with 'sigma', rounded. empirical: a random row of "
         "'trace'; if prompts and outputs have the same trace, both are from the same row.")},
    {"mean", REAL(1, MAX_TOKENS), NEEDED_WITH(SMOOTH), AT(DOUBLE, LAW, mean), HELP("Mean, before 'min' and 'max'.")},
    {"sigma", REAL(0, 10), NEEDED_WITH(1 << HR_TOKENS_LOG_NORMAL), AT(DOUBLE, LAW, sigma),
     HELP("Standard deviation of the natural logarithm.")},
    {"trace", PATH, NEEDED_WITH(1 << HR_TOKENS_EMPIRICAL), AT(FILE, LAW, trace),
     HELP("A request trace, relative to the folder of the scenario.")},
    {"min", WHOLE(1, MAX_TOKENS), DEFAULT("1"), AT(INTEGER, LAW, min), HELP("Smaller numbers become this one.")},
    {"max", WHOLE(1, MAX_TOKENS), OTHERWISE("no maximum"), AT(INTEGER, LAW, max),
     HELP("Larger numbers become this one.")},
    END};

#define FACTORS(count) LIST(count, count, EACH(REAL(0, 1e9), .store = HR__STORE_DOUBLE, .bytes = sizeof(double)))
static const struct hr__key request_keys[] = {
    {"trace", PATH, AT(FILE, SERVICE, requests),
     HELP("Requests, relative to the folder of the scenario: CSV with arrival_timestamp, prompt_size and token_size.")},
    {"arrivals", CHOICE(arrivals), DEFAULT("poisson"), AT(INTEGER, SERVICE, draw.arrivals),
     HELP("Instead of 'trace': requests are drawn. poisson: independent arrivals. gamma: with the variation 'cv'.")},
    {"rate_per_s", REAL(1e-9, 1e9), .unit = "requests/s", AT(DOUBLE, SERVICE, draw.rate_per_s),
     HELP("Mean rate of a week at the beginning.")},
    {"cv", REAL(0.01, 100), DEFAULT("1"), AT(DOUBLE, SERVICE, draw.cv),
     HELP("gamma: standard deviation of the time between requests, divided by its mean, at a constant rate. 1: "
          "poisson.")},
    {"hourly", FACTORS(24), OTHERWISE("equal"), AS_ARRAY(SERVICE, draw.hourly, draw.n_hourly),
     HELP("Rates of the hours of a day, relative to their mean. Time 0 is midnight of a Monday.")},
    {"weekly", FACTORS(7), OTHERWISE("equal"), AS_ARRAY(SERVICE, draw.weekly, draw.n_weekly),
     HELP("Rates of the days of a week, from Monday, relative to their mean.")},
    {"growth_per_year", REAL(0.001, 1000), DEFAULT("1"), AT(DOUBLE, SERVICE, draw.growth_per_year),
     HELP("Factor of the rate after 365 days.")},
    {"prompt_tokens", OBJECT(token_keys), AT(PART, SERVICE, draw.prompt), HELP("Tokens of a prompt.")},
    {"output_tokens", OBJECT(token_keys), AT(PART, SERVICE, draw.output), HELP("Tokens of an output.")},
    {"duration_s", SECONDS_FROM(1e-6), AS_US(SERVICE, draw.duration_us), HELP("Requests arrive before this time.")},
    {"count", WHOLE(1, MAX_REQUESTS), AT(INTEGER, SERVICE, draw.count), HELP("Maximum number of requests.")},
    {"seed", SEED, OTHERWISE("that of the run"), AT(INTEGER, SERVICE, draw.seed),
     HELP("Seed of the requests. With a seed, all replications have the same requests.")},
    END};

static const struct hr__key autoscale_keys[] = {
    {"policy", CHOICE(autoscalers), DEFAULT("fixed"), HELP("How the number of replicas is chosen. fixed: 'replicas'.")},
    {"replicas", WHOLE(1, MAX_REPLICAS), DEFAULT("1"), AT(INTEGER, SERVICE, replicas), HELP("Number of replicas.")},
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
    {"model", NAME, AT(TEXT, SERVICE, model), HELP("Model, for the defaults of 'replica.cost' and of the KV memory.")},
    {"requests", OBJECT(request_keys), MUST, .store = HR__STORE_PART, HELP("The requests.")},
    {"router", CHOICE(routers), DEFAULT("round-robin"), AT(INTEGER, SERVICE, router),
     HELP("How requests are assigned to replicas.")},
    {"autoscale", OBJECT(autoscale_keys), .store = HR__STORE_PART, HELP("The number of replicas.")},
    {"replica", OBJECT(replica_keys), MUST, .store = HR__STORE_PART, HELP("A replica.")},
    {"slo", OBJECT(slo_keys), .store = HR__STORE_PART, HELP("Goals for requests.")},
    {"price", OBJECT(price_keys), .store = HR__STORE_PART,
     HELP("What customers pay for the tokens of completed requests.")},
    END};
