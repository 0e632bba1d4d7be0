/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom validate`: reads all that a run would read and says what was understood. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/validate_pool.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct validate_args {
  struct input_args input;
};

static const struct option options[] = {INPUT_OPTIONS(validate_args), {0}};

static const char details[] = "The trace is read and checked too if the scenario or --trace names one.\n\n"
                              "Example:\n"
                              "  headroom validate scenarios/demo.json --set policy.order=sjf\n";

static double seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

static void write_duration(FILE *out, const char *name, const struct hr_duration *duration) {
  switch (duration->kind) {
  case HR_DURATION_FIXED:
    fprintf(out, ", %s %.10g s", name, duration->a);
    return;
  case HR_DURATION_EXPONENTIAL:
    fprintf(out, ", %s exponential with mean %.10g s", name, duration->a);
    return;
  case HR_DURATION_LOG_NORMAL:
    fprintf(out, ", %s log-normal (mu %.10g, sigma %.10g)", name, duration->a, duration->b);
    return;
  case HR_DURATION_WEIBULL:
    fprintf(out, ", %s Weibull (shape %.10g, scale %.10g s)", name, duration->a, duration->b);
    return;
  }
}

struct reclaims {
  const struct hr_spot_spec *spot;
  const char *preset;
};

static void write_reclaims(FILE *out, const void *what) {
  const struct reclaims *reclaims = what;
  const struct hr_spot_spec *spot = reclaims->spot;
  const char *preset = reclaims->preset;
  fprintf(out, "reclaimed: %s", hr_spot_model_name(spot->model));
  if (preset) fprintf(out, " (%s)", preset);
  if (spot->model == HR_SPOT_TRACE)
    fprintf(out, ", a record of %.4g h, again and again", seconds(spot->period_us) / 3600);
  if (spot->model == HR_SPOT_ON_OFF) {
    write_duration(out, "up", &spot->up);
    write_duration(out, "down", &spot->down);
  }
  if (spot->model == HR_SPOT_EXPONENTIAL || spot->model == HR_SPOT_ADVISOR) {
    fprintf(out, ", %.4g per node and hour", spot->rate_per_h);
    if (spot->batch_mean > 1) fprintf(out, ", %.4g at a time", spot->batch_mean);
  }
  if (spot->model == HR_SPOT_BATHTUB) fprintf(out, ", at the latest after %.10g h", spot->bathtub.last_h);
  if (spot->model != HR_SPOT_NONE) fprintf(out, ", notice %.10g s", seconds(spot->notice_us));
}

static void print_place(const struct hr_pool_source *source) {
  const char *const parts[] = {source->provider, source->instance, source->region, source->zone};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i]) printf(" %s", parts[i]);
}

static void print_billing(const struct hr_billing *billing) {
  if (billing->granularity_us)
    printf("            billed by %.10g s", seconds(billing->granularity_us));
  else
    printf("            billed exactly");
  if (billing->minimum_us) printf(", for %.10g s at least", seconds(billing->minimum_us));
  if (billing->free_if_reclaimed_us)
    printf(", free if reclaimed within %.10g s", seconds(billing->free_if_reclaimed_us));
}

static void print_price_curve(const struct hr_market_spec *market) {
  int64_t lowest = market->price_uusd_h, highest = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++) {
    if (market->prices[i].uusd_h < lowest) lowest = market->prices[i].uusd_h;
    if (market->prices[i].uusd_h > highest) highest = market->prices[i].uusd_h;
  }
  printf("            the price changes %" PRIu32 " times, from %.15g to %.15g $, for the last time at %.10g s\n",
         market->n_prices - 1, (double)lowest / 1e6, (double)highest / 1e6,
         seconds(market->prices[market->n_prices - 1].at_us));
}

/* Market, place, price and where that comes from. */
static void print_market(const struct hr_market_spec *market, const struct hr_pool_source *source) {
  char origin[800];
  printf("            %s", hr_market_name(market->market));
  print_place(source);
  printf(", %.15g $ per GPU-hour\n              ", (double)market->price_uusd_h / 1e6);
  snprintf(origin, sizeof origin, "%s%s%s: %s", source->status, source->as_of ? ", as of " : "",
           source->as_of ? source->as_of : "", source->source);
  print_wrapped(stdout, origin, 14, 14);
  if (market->on_demand_uusd_h != HR_UNKNOWN_US && market->on_demand_uusd_h != market->price_uusd_h)
    printf("            on demand %.15g $ per GPU-hour\n", (double)market->on_demand_uusd_h / 1e6);
  if (market->n_prices > 1) print_price_curve(market);
  if (market->from_us > 0 || market->to_us != HR_NEVER_US) {
    printf("            from %.10g s", seconds(market->from_us));
    if (market->to_us != HR_NEVER_US) printf(" to %.10g s", seconds(market->to_us));
    putchar('\n');
  }
  if (hr_market_is_elastic(market->market)) {
    print_billing(&market->billing);
    write_duration(stdout, "boots in", &market->boot);
    putchar('\n');
  }
  if (market->market == HR_MARKET_SPOT) {
    const struct reclaims reclaims = {&market->spot, source->spot_preset};
    printf("%12s", "");
    print_wrapped_from(stdout, write_reclaims, &reclaims, 12, 14);
  }
}

static void print_cluster(const struct hr_scenario *scenario) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  uint64_t nodes = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) nodes += cluster->pools[i].nodes;
  printf("cluster   %" PRIu64 " GPUs on %" PRIu64 " nodes in %" PRIu32 " pool%s\n", hr_cluster_spec_gpus(cluster),
         nodes, cluster->n_pools, cluster->n_pools == 1 ? "" : "s");
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    print_pool(pool);
    if (pool->market.market != HR_MARKET_NONE) print_market(&pool->market, &scenario->pool_sources[i]);
  }
}

/* How near together jobs of a class are to be, as long as they say nothing of it. */
static void print_nearness(const struct hr_class_spec *classes) {
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    if (classes[i].within == HR_TIER_ANY) continue;
    printf("class     %s: within one %s", i ? hr_job_class_name((enum hr_job_class)i) : "default",
           hr_tier_name((enum hr_tier)classes[i].within));
    if (classes[i].within_wait_us != HR_UNKNOWN_US)
      printf(", for %.10g s after its submission", seconds(classes[i].within_wait_us));
    putchar('\n');
  }
}

static void print_limit(const char *name, uint64_t milli) {
  if (milli != HR_NO_LIMIT) printf(", %s %.10g", name, (double)milli / 1000);
}

static void print_quota(const struct hr_quota_spec *quotas, const struct hr_quota_node *node) {
  const char *cohort = node->parent == HR_NONE ? NULL : quotas->nodes[node->parent].name;
  printf("          %s%s%s", node->name ? (node->is_tenant ? "tenant " : "cohort ") : "all other tenants",
         node->name ? node->name : "", cohort ? " in " : "");
  printf("%s: %.10g GPUs guaranteed", cohort ? cohort : "", (double)node->guaranteed_milli / 1000);
  print_limit("borrows", node->borrow_milli);
  print_limit("lends", node->lend_milli);
  print_limit("at most", node->max_milli);
  if (node->weight != 1) printf(", weight %.10g", node->weight);
  putchar('\n');
}

static void print_quotas(const struct hr_quota_spec *quotas) {
  uint32_t n_tenants = 0;
  for (uint32_t i = 0; i < quotas->n_nodes; i++) n_tenants += quotas->nodes[i].is_tenant;
  uint32_t n_cohorts = quotas->n_nodes - n_tenants;
  printf("quotas    %" PRIu32 " cohort%s, %" PRIu32 " tenant%s\n", n_cohorts, n_cohorts == 1 ? "" : "s", n_tenants,
         n_tenants == 1 ? "" : "s");
  for (uint32_t i = 0; i < quotas->n_nodes; i++) print_quota(quotas, &quotas->nodes[i]);
  print_quota(quotas, &quotas->fallback);
}

/* How fast jobs are by default, by pool; how many models have figures of their own. */
static void write_speeds(FILE *out, const void *what) {
  const struct hr_scenario *scenario = what;
  const struct hr_speeds *speeds = scenario->speeds;
  uint32_t n_models = 0;
  for (uint32_t i = 0; i < speeds->n_rows; i++)
    n_models += i == 0 || strcmp(speeds->rows[i - 1].model, speeds->rows[i].model) != 0;
  fprintf(out, "of %" PRIu32 " model%s, relative to %s; of others", n_models, n_models == 1 ? "" : "s",
          speeds->reference);
  for (uint32_t i = 0; i < speeds->n_pools; i++)
    fprintf(out, "%s %s %.6g", i ? "," : "", scenario->cluster.pools[i].name,
            speeds->ppm[(size_t)speeds->n_rows * speeds->n_pools + i] / 1e6);
}

static void print_speeds(const struct hr_scenario *scenario) {
  if (!scenario->speeds) return;
  printf("speeds    ");
  print_wrapped_from(stdout, write_speeds, scenario, 10, 10);
}

static void write_policy(FILE *out, const void *what) {
  const struct hr_policy_choice *policy = what;
  const char *separator = ":";
  fprintf(out, "%s", policy->ops->name);
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    const struct hr_param *param = &policy->ops->params[i];
    const char *value = hr_policy_choice_text(policy, i, buffer);
    if (param->aside && strcmp(value, param->fallback) == 0) continue;
    fprintf(out, "%s %s=%s", separator, param->key, value);
    separator = ",";
  }
}

static void print_scenario(const struct hr_scenario *scenario) {
  printf("scenario  %s (%s)\n", scenario->name, scenario->path);
  if (scenario->description[0]) {
    printf("          ");
    print_wrapped(stdout, scenario->description, 10, 10);
  }
  print_cluster(scenario);
  print_nearness(scenario->classes);
  if (scenario->quotas) print_quotas(scenario->quotas);
  print_speeds(scenario);
  printf("policy    ");
  print_wrapped_from(stdout, write_policy, &scenario->policy, 10, 10);
  printf("seed      %" PRIu64 "\n", scenario->seed);
  if (scenario->horizon_us != HR_NEVER_US)
    printf("horizon   %.10g s\n", (double)scenario->horizon_us / (double)HR_SECOND_US);
}

/* A span of time in the largest unit that it fills. */
static void write_span(FILE *out, int64_t span_us) {
  static const struct {
    double seconds;
    const char *name;
  } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}};
  double span_s = (double)span_us / (double)HR_SECOND_US;
  size_t i = 0;
  while (units[i].seconds > 1 && span_s < 2 * units[i].seconds) i++;
  fprintf(out, "%.3g %s", span_s / units[i].seconds, units[i].name);
}

static void write_trace(FILE *out, const void *what) {
  const struct hr_trace *trace = what;
  uint32_t largest = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    if (trace->gpus[i] > largest) largest = trace->gpus[i];
  fprintf(out, "%s (%s): %" PRIu32 " job%s submitted over ", trace->source, trace->format, trace->n_jobs,
          trace->n_jobs == 1 ? "" : "s");
  write_span(out, trace->submit_us[trace->n_jobs - 1]);
  fprintf(out, "; the largest asks for %" PRIu32 " GPU%s", largest, largest == 1 ? "" : "s");
}

/* A trace that the scenario names may live elsewhere; one that the user names must be there. */
static bool trace_is_elsewhere(const struct input *input, const struct input_args *args) {
  return !args->trace && access(input->trace_path, F_OK) != 0;
}

static enum hr_status validate(struct input *input, const char *path, const struct input_args *args,
                               struct hr_error *error) {
  enum hr_status status = input_open(input, path, args, error);
  if (status != HR_OK) return status;
  bool elsewhere = input->trace_path && trace_is_elsewhere(input, args);
  if (input->trace_path && !elsewhere) status = input_read_trace(input, args, error);
  if (status != HR_OK) return status;
  print_scenario(input->scenario);
  printf("trace     ");
  if (input->trace)
    print_wrapped_from(stdout, write_trace, input->trace, 10, 10);
  else if (elsewhere)
    printf("%s is not there; a run needs it\n", input->trace_path);
  else
    printf("to be named with --trace\n");
  input_print_notes(stderr, input);
  return HR_OK;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const struct validate_args *validate_args = args;
  struct input input = {0};
  enum hr_status status = validate(&input, operands->at[0], &validate_args->input, error);
  input_finish(&input);
  return status;
}

const struct verb verb_validate = {.name = "validate",
                                   .operands = "SCENARIO",
                                   .least_operands = 1,
                                   .most_operands = 1,
                                   .summary = "check a scenario and its trace, and say what was understood",
                                   .details = details,
                                   .options = options,
                                   .args_bytes = sizeof(struct validate_args),
                                   .run = run_verb};
