/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom validate`: reads all input of a run, and prints how it was interpreted, 80 columns wide. */

#include "cli/cli.h"
#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/scenario_files.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- Pools: nodes ----------------------------------------------------------------------------------- */

static void write_classes(FILE *out, uint32_t classes) {
  const char *before = ", only for ";
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    if (!(classes >> i & 1)) continue;
    fprintf(out, "%s%s", before, hr_job_class_name((enum hr_job_class)i));
    before = ", ";
  }
}

static void write_nodes(FILE *out, const void *what) {
  const struct hr_pool_spec *pool = what;
  fprintf(out, "%s: %" PRIu32 " node%s x %" PRIu32 " %s", pool->name, pool->nodes, pool->nodes == 1 ? "" : "s",
          pool->gpus_per_node, pool->gpu);
  if (pool->gpu_mem_mib) fprintf(out, " of %.10g GB", pool->gpu_mem_mib / 1024.0);
  if (pool->cpu_milli_per_node) fprintf(out, ", %.10g CPUs", pool->cpu_milli_per_node / 1000.0);
  if (pool->mem_mib_per_node) fprintf(out, ", %.10g GB", (double)pool->mem_mib_per_node / 1024);
  if (pool->cpu_milli_per_node || pool->mem_mib_per_node) fprintf(out, " a node");
  if (pool->sharing != HR_SHARING_WHOLE) fprintf(out, ", shared: %s", hr_sharing_name(pool->sharing));
  if (pool->replicas) fprintf(out, " in %" PRIu32, pool->replicas);
  if (pool->clients) fprintf(out, ", at most %" PRIu32 " on a GPU", pool->clients);
  if (pool->memory == HR_GPU_MEMORY_FIRST_COME) fprintf(out, ", memory: %s", hr_gpu_memory_name(pool->memory));
  write_classes(out, pool->classes);
}

/* ---- Pools: topology -------------------------------------------------------------------------------- */

static void write_size(FILE *out, const char *name, uint32_t size, const char *of) {
  if (size) fprintf(out, " %s of %" PRIu32 " %s;", name, size, of);
}

static bool has_topology(const struct hr_topology *topology) {
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++) {
    bool parts = tier != HR_TIER_NODE && tier != HR_TIER_POOL && hr_topology_has(topology, tier);
    if (parts || topology->network[tier] != HR_NETWORK_NONE) return true;
  }
  return false;
}

/* Writes the topology of a pool: the size of each tier, and the networks that connect the tiers. */
static void write_topology(FILE *out, const void *what) {
  const struct hr_topology *topology = what;
  fprintf(out, "topology:");
  write_size(out, "islands", topology->island_gpus, "GPUs");
  write_size(out, "NUMA domains", topology->numa_gpus, "GPUs");
  write_size(out, "racks", topology->nodes_per_rack, "nodes");
  write_size(out, "zones", topology->racks_per_zone, "racks");
  const char *between = " networks:";
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++) {
    if (topology->network[tier] == HR_NETWORK_NONE) continue;
    fprintf(out, "%s %s %s", between, hr_tier_name(tier), hr_network_name((enum hr_network)topology->network[tier]));
    between = ",";
  }
}

/* ---- Pools: shared GPUs ----------------------------------------------------------------------------- */

/* Writes the relative speeds of jobs that share a GPU. */
static void write_interference(FILE *out, const void *what) {
  const struct hr_pool_spec *pool = what;
  for (uint32_t i = 0; i < pool->n_interference; i++)
    fprintf(out, "%s up to %.10g of a GPU in use: speed %.10g",
            i ? ";" : "interference:", pool->interference[i].up_to_milli / 1000.0,
            pool->interference[i].speed_ppm / 1e6);
  for (uint32_t i = 0; i < pool->n_pairs; i++)
    fprintf(out, "%s %s with %s: speed %.10g", i || pool->n_interference ? ";" : "interference:", pool->pairs[i].model,
            pool->pairs[i].with, pool->pairs[i].speed_ppm / 1e6);
}

struct layout {
  const struct hr_mig_spec *mig;
  uint32_t number, gpus_per_node;
};

/* Writes the name of a MIG layout, its instances, and the GPUs of a node that have it initially. */
static void write_layout(FILE *out, const void *what) {
  const struct layout *layout = what;
  const struct hr_mig_layout *of = &layout->mig->layouts[layout->number];
  char text[HR_MIG_TEXT_BYTES];
  hr_mig_text(&layout->mig->type, &of->gpu, text, sizeof text);
  fprintf(out, "%s: %s", of->name, text[0] ? text : "no instance");
  for (uint32_t gpu = 0, count = 0; gpu < layout->gpus_per_node; gpu++)
    if (layout->mig->layout_of_gpu[gpu] == layout->number) fprintf(out, "%s%" PRIu32, count++ ? ", " : "; GPU ", gpu);
}

static void print_mig(const struct hr_mig_spec *mig, uint32_t gpus_per_node) {
  printf("            MIG: %s", hr_mig_mode_name(mig->mode));
  if (mig->lead_us) printf(", %.10g s to create an instance", (double)mig->lead_us / (double)HR_SECOND_US);
  putchar('\n');
  for (uint32_t i = 0; i < mig->n_layouts; i++) {
    const struct layout layout = {mig, i, gpus_per_node};
    printf("%14s", "");
    print_wrapped_from(stdout, write_layout, &layout, 14, 16);
  }
}

static void print_line(text_writer *write, const void *what) {
  printf("%12s", "");
  print_wrapped_from(stdout, write, what, 12, 14);
}

/* Prints a pool without its market. */
static void print_pool(const struct hr_pool_spec *pool) {
  printf("%10s", "");
  print_wrapped_from(stdout, write_nodes, pool, 10, 12);
  if (has_topology(&pool->topology)) print_line(write_topology, &pool->topology);
  if (pool->n_interference || pool->n_pairs) print_line(write_interference, pool);
  if (pool->mig) print_mig(pool->mig, pool->gpus_per_node);
}

/* ---- Markets ---------------------------------------------------------------------------------------- */

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

struct interruptions {
  const struct hr_spot_spec *spot;
  const char *preset;
};

static void write_interruptions(FILE *out, const void *what) {
  const struct interruptions *interruptions = what;
  const struct hr_spot_spec *spot = interruptions->spot;
  const char *preset = interruptions->preset;
  fprintf(out, "interruptions: %s", hr_spot_model_name(spot->model));
  if (preset) fprintf(out, " (%s)", preset);
  if (spot->model == HR_SPOT_TRACE) fprintf(out, ", a record of %.4g h, repeated", seconds(spot->period_us) / 3600);
  if (spot->model == HR_SPOT_ON_OFF) {
    write_duration(out, "up", &spot->up);
    write_duration(out, "down", &spot->down);
  }
  if (spot->model == HR_SPOT_EXPONENTIAL || spot->model == HR_SPOT_ADVISOR) {
    fprintf(out, ", %.4g per node and hour", spot->rate_per_h);
    if (spot->batch_mean > 1) fprintf(out, ", %.4g nodes at a time", spot->batch_mean);
  }
  if (spot->model == HR_SPOT_BATHTUB) fprintf(out, ", after at most %.10g h", spot->bathtub.last_h);
  if (spot->model != HR_SPOT_NONE) fprintf(out, ", notice %.10g s", seconds(spot->notice_us));
}

static void print_location(const struct hr_pool_source *source) {
  const char *const parts[] = {source->provider, source->instance, source->region, source->zone};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i]) printf(" %s", parts[i]);
}

static void print_billing(const struct hr_billing *billing) {
  if (billing->granularity_us)
    printf("            billed by %.10g s", seconds(billing->granularity_us));
  else
    printf("            billed exactly");
  if (billing->minimum_us) printf(", minimum %.10g s", seconds(billing->minimum_us));
  if (billing->free_if_reclaimed_us)
    printf(", free if interrupted within %.10g s", seconds(billing->free_if_reclaimed_us));
}

static void print_price_curve(const struct hr_market_spec *market) {
  int64_t lowest = market->price_uusd_h, highest = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++) {
    if (market->prices[i].uusd_h < lowest) lowest = market->prices[i].uusd_h;
    if (market->prices[i].uusd_h > highest) highest = market->prices[i].uusd_h;
  }
  printf("            the price changes %" PRIu32 " times, between %.15g and %.15g $, the last time at %.10g s\n",
         market->n_prices - 1, (double)lowest / 1e6, (double)highest / 1e6,
         seconds(market->prices[market->n_prices - 1].at_us));
}

/* Prints market, location, price, and the source of the price. */
static void print_market(const struct hr_market_spec *market, const struct hr_pool_source *source) {
  char origin[800];
  printf("            %s", hr_market_name(market->market));
  print_location(source);
  printf(", %.15g $ per GPU-hour\n              ", (double)market->price_uusd_h / 1e6);
  snprintf(origin, sizeof origin, "%s%s%s: %s", source->status, source->as_of ? ", as of " : "",
           source->as_of ? source->as_of : "", source->source);
  print_wrapped(stdout, origin, 14, 14);
  if (market->on_demand_uusd_h != HR_UNKNOWN_UUSD_H && market->on_demand_uusd_h != market->price_uusd_h)
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
    const struct interruptions interruptions = {&market->spot, source->spot_preset};
    printf("%12s", "");
    print_wrapped_from(stdout, write_interruptions, &interruptions, 12, 14);
  }
}

/* ---- The scenario ----------------------------------------------------------------------------------- */

static void print_cluster(const struct hr_scenario *scenario) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  uint64_t nodes = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) nodes += cluster->pools[i].nodes;
  uint64_t gpus = hr_cluster_spec_gpus(cluster);
  printf("cluster   %" PRIu64 " GPU%s on %" PRIu64 " node%s in %" PRIu32 " pool%s\n", gpus, gpus == 1 ? "" : "s", nodes,
         nodes == 1 ? "" : "s", cluster->n_pools, cluster->n_pools == 1 ? "" : "s");
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    print_pool(pool);
    if (pool->market.market != HR_MARKET_NONE) print_market(&pool->market, &scenario->pool_sources[i]);
  }
}

/* Prints the default locality of each class. It applies to jobs that request no locality. */
static void print_locality(const struct hr_class_spec *classes) {
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
  printf("          %s", node->name ? (node->is_tenant ? "tenant " : "cohort ") : "all other tenants");
  if (node->name) hr_print_safe(stdout, node->name, SIZE_MAX);
  if (cohort) printf(" in ");
  if (cohort) hr_print_safe(stdout, cohort, SIZE_MAX);
  printf(": %.10g GPUs guaranteed", (double)node->guaranteed_milli / 1000);
  print_limit("borrows", node->borrow_milli);
  print_limit("lends", node->lend_milli);
  print_limit("maximum", node->max_milli);
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

/* Writes the number of models that have their own speeds, and the speeds of all other models by pool. */
static void write_speeds(FILE *out, const void *what) {
  const struct hr_scenario *scenario = what;
  const struct hr_speeds *speeds = scenario->speeds;
  uint32_t n_models = 0;
  for (uint32_t i = 0; i < speeds->n_rows; i++)
    n_models += i == 0 || strcmp(speeds->rows[i - 1].model, speeds->rows[i].model) != 0;
  fprintf(out, "%" PRIu32 " model%s, relative to %s; other models:", n_models, n_models == 1 ? "" : "s",
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
    if (param->advanced && strcmp(value, param->fallback) == 0) continue;
    fprintf(out, "%s %s=%s", separator, param->key, value);
    separator = ",";
  }
}

/* The policies of several clusters, and how jobs reach them. */
static void print_clusters(const struct hr_scenario_clusters *clusters) {
  for (uint32_t i = 0; i < clusters->count; i++) {
    printf("cluster   ");
    hr_print_safe(stdout, clusters->at[i].name, SIZE_MAX);
    printf(": ");
    print_wrapped_from(stdout, write_policy, &clusters->at[i].scenario->policy, 10, 10);
  }
  const struct hr_router_ops *plugin = clusters->router.ops;
  printf("router    %s%s%s\n", hr_job_router_name(clusters->router.kind), plugin ? " " : "",
         plugin ? plugin->name : "");
}

static void print_scenario(const struct hr_scenario *scenario) {
  printf("scenario  ");
  hr_print_safe(stdout, scenario->name, SIZE_MAX);
  printf(" (");
  hr_print_safe(stdout, scenario->path, SIZE_MAX);
  printf(")\n");
  if (scenario->description[0]) {
    printf("          ");
    print_wrapped(stdout, scenario->description, 10, 10);
  }
  print_cluster(scenario);
  print_locality(scenario->classes);
  if (scenario->quotas) print_quotas(scenario->quotas);
  print_speeds(scenario);
  if (scenario->clusters) {
    print_clusters(scenario->clusters);
  } else {
    printf("policy    ");
    print_wrapped_from(stdout, write_policy, &scenario->policy, 10, 10);
  }
  printf("seed      %" PRIu64 "\n", scenario->seed);
  if (scenario->horizon_us != HR_NEVER_US)
    printf("horizon   %.10g s\n", (double)scenario->horizon_us / (double)HR_SECOND_US);
}

/* ---- The trace -------------------------------------------------------------------------------------- */

/* Writes a duration in the largest unit in which it is at least 2, or in seconds if it is shorter than 2 seconds. */
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
  fprintf(out, "; the largest requests %" PRIu32 " GPU%s", largest, largest == 1 ? "" : "s");
}

/* ---- The verb --------------------------------------------------------------------------------------- */

struct validate_args {
  struct input_args input;
};

static const struct option options[] = {INPUT_OPTIONS(validate_args), {0}};

static const char details[] = "The trace is also read and checked if the scenario or --trace names one.\n"
                              "Exit code: 0 the input is valid, 1 a run would reject all jobs, 2 bad input or\n"
                              "usage, 4 system failure.\n\n"
                              "Example:\n"
                              "  headroom validate scenarios/demo.json --set policy.order=sjf\n";

/* Returns true if the scenario names the trace and the file does not exist; this is not an error. Returns false if
   --trace names the trace, so that reading it reports a missing file. */
static bool trace_is_missing(const struct input *input, const struct input_args *args) {
  return !args->trace && access(input->trace_path, F_OK) != 0;
}

static enum hr_status check_run_of(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                   struct hr_error *error) {
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = scenario->seed};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  if (status == HR_OK) status = hr_replay_check(&replay, error);
  hr_replay_finish(&replay);
  return status;
}

/* Checks what a run checks before its first event, with the same errors. If there is no trace, checks a run without
   jobs. */
static enum hr_status check_run(const struct input *input, struct hr_error *error) {
  struct hr_trace *no_jobs;
  if (input->trace) return check_run_of(input->scenario, input->trace, error);
  enum hr_status status = hr_trace_empty(input->scenario->path, &no_jobs, error);
  if (status != HR_OK) return status;
  status = check_run_of(input->scenario, no_jobs, error);
  hr_trace_destroy(no_jobs);
  return status;
}

/* Adds a note for each reason for which jobs can never run. Adds nothing if there are many of these jobs, because they
   are reported as a warning. */
static enum hr_status note_rejected(const struct hr_rejections *rejections, struct hr_notes *notes,
                                    struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < HR_MAX_REASONS && status == HR_OK && !hr_rejections_are_many(rejections); i++) {
    enum hr_reason reason = (enum hr_reason)i;
    uint64_t count = rejections->by_reason[i];
    if (count)
      status = hr_notes_add(notes, "%" PRIu64 " job%s can never run and will be rejected (%s: %s)", count,
                            count == 1 ? "" : "s", hr_reason_name(reason), hr_rejection_words(reason));
  }
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* Prints the notes and warnings of a run that are known before it. Returns HR_CHECK_FAILED, like a run, if all jobs
   would be rejected. */
static enum hr_status print_run_notes(const struct input *input, struct hr_error *error) {
  const struct hr_scenario *scenario = input->scenario;
  struct hr_rejections rejections;
  struct hr_notes notes = {0};
  enum hr_status status = input_predict_rejected(input, scenario, &rejections, error);
  if (status == HR_OK) status = hr_tenant_notes(input->trace, &scenario->costs, scenario->quotas, &notes, error);
  if (status == HR_OK) status = hr_recorded_failure_notes(input->trace, &scenario->cluster, &notes, error);
  if (status == HR_OK) status = note_rejected(&rejections, &notes, error);
  if (status == HR_OK) status = hr_replay_input_notes(scenario, &scenario->policy, input->trace, &notes, error);
  if (status == HR_OK) status = hr_plan_size_note(scenario, &notes, error);
  if (status == HR_OK) input_warn_rejected(input, &scenario->cluster, &rejections);
  if (status == HR_OK) input_print_notes(stderr, input);
  if (status == HR_OK) notes_print(stderr, &notes);
  hr_notes_finish(&notes);
  return status == HR_OK ? input_require_accepted(input, &rejections, error) : status;
}

static void print_missing(const char *path) {
  hr_print_safe(stdout, path, SIZE_MAX);
  printf(" not found; a run needs it\n");
}

static enum hr_status validate(struct input *input, const char *path, const struct input_args *args,
                               struct hr_error *error) {
  enum hr_status status = input_open(input, path, args, error);
  if (status != HR_OK) return status;
  bool missing = input->trace_path && trace_is_missing(input, args);
  const bool only_services = has_services(input->scenario) && !input->trace_path;
  if ((input->trace_path && !missing) || only_services) status = input_read_trace(input, args, error);
  if (status == HR_OK) status = check_run(input, error);
  if (status == HR_OK)
    status =
        hr_plan_check(input->scenario, input->overrides.words.at, input->overrides.words.count, input->trace, error);
  if (status != HR_OK) return status;
  print_scenario(input->scenario);
  if (has_services(input->scenario)) status = validate_services(input->scenario, error);
  if (status == HR_OK && only_services) status = print_run_notes(input, error);
  if (status != HR_OK || only_services) return status;
  printf("trace     ");
  if (input->trace)
    print_wrapped_from(stdout, write_trace, input->trace, 10, 10);
  else if (missing)
    print_missing(input->trace_path);
  else
    printf("none; set one with --trace\n");
  if (input->trace)
    status = print_run_notes(input, error);
  else
    input_print_notes(stderr, input);
  struct input_args next = *args;
  if (!input->trace_path) next.trace = "FILE";
  if (status == HR_OK) next_step_print(stdout, &(struct next_step){.verb = "validate", .path = path, .input = &next});
  return status;
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
                                   .summary = "check a scenario and its trace, and print how they were interpreted",
                                   .details = details,
                                   .options = options,
                                   .args_bytes = sizeof(struct validate_args),
                                   .run = run_verb};
