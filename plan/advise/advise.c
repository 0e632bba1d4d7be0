/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice: finds changes of a scenario that are worth making, from a profile of one run.
 *
 * An observer makes the profile. It sums the allocated GPU time by class and pool, and by pool. A job is added to the
 * sum of its class and pool when it ends or is interrupted. The sum of a pool is updated whenever its allocation
 * changes. All sums are integers (milli-GPU x microseconds), so the order in which values are added does not matter.
 *
 * The profile suggests which changes to try. Each proposal is the scenario with some overrides. It is run with the same
 * replications as the unchanged scenario. It is advised only if the paired difference of the runs shows that it saves
 * money.
 */

#include "plan/advise/advise.h"

#include "base/text.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t long_us = INT64_C(3600) * HR_SECOND_US;

/* ---- Profile: memory ------------------------------------------------------------------------------- */

static bool allocate_levels(struct hr__run_profile *profile) {
  for (uint32_t i = 0; i < profile->n_pools; i++) {
    const struct hr_pool_spec *spec = &profile->cluster->pools[i];
    if (hr_market_is_elastic(spec->market.market)) continue;
    profile->pools[i].at_level = calloc((size_t)spec->nodes + 1, sizeof *profile->pools[i].at_level);
    if (!profile->pools[i].at_level) return false;
  }
  return true;
}

static bool allocate(struct hr__run_profile *profile) {
  size_t n_uses = (size_t)HR_N_CLASSES * profile->n_pools, n_jobs = profile->trace->n_jobs;
  profile->uses = calloc(n_uses + 1, sizeof *profile->uses);
  profile->by_tenant = calloc(n_uses * profile->n_tenants + 1, sizeof *profile->by_tenant);
  profile->pools = calloc((size_t)profile->n_pools + 1, sizeof *profile->pools);
  profile->allocations = calloc(n_jobs + 1, sizeof *profile->allocations);
  size_t n_nodes = 0;
  for (uint32_t i = 0; i < profile->n_pools; i++) n_nodes += profile->cluster->pools[i].nodes;
  profile->failures = calloc(n_nodes + 1, sizeof *profile->failures);
  if (!profile->uses || !profile->by_tenant || !profile->pools || !profile->allocations || !profile->failures)
    return false;
  for (size_t job = 0; job < n_jobs; job++)
    profile->allocations[job] = (struct hr__profile_allocation){.since_us = HR_NEVER_US, .pool = HR_NONE};
  return allocate_levels(profile);
}

static void profile_finish(struct hr__run_profile *profile) {
  for (uint32_t i = 0; profile->pools && i < profile->n_pools; i++) free(profile->pools[i].at_level);
  free(profile->uses);
  free(profile->by_tenant);
  free(profile->pools);
  free(profile->allocations);
  free(profile->failures);
  *profile = (struct hr__run_profile){0};
}

/* ---- Profile: events ------------------------------------------------------------------------------- */

static void advance_pool(struct hr__run_profile *profile, uint32_t number, int64_t now_us) {
  struct hr__pool_profile *pool = &profile->pools[number];
  const struct hr_pool_spec *spec = &profile->cluster->pools[number];
  uint64_t passed_us = (uint64_t)(now_us - pool->until_us), node_milli = (uint64_t)spec->gpus_per_node * 1000;
  uint64_t level = (pool->allocated_milli + node_milli - 1) / node_milli;
  pool->allocated_milli_us += (hr__wide)pool->allocated_milli * passed_us;
  if (pool->at_level) pool->at_level[level < spec->nodes ? level : spec->nodes] += (int64_t)passed_us;
  pool->until_us = now_us;
}

static struct hr__pool_use *use_at(struct hr__run_profile *profile, hr_job job, uint32_t pool) {
  uint32_t class_ = profile->trace->class_ ? profile->trace->class_[job.id] : HR_CLASS_UNKNOWN;
  return &profile->uses[(size_t)class_ * profile->n_pools + pool];
}

static void note_request(const struct hr_trace *trace, hr_job job, struct hr__pool_use *use) {
  uint32_t tasks = trace->tasks && trace->tasks[job.id] ? trace->tasks[job.id] : 1;
  uint32_t gpus_per_task = trace->gpus[job.id] / tasks;
  uint64_t mem_mib = trace->gpu_mem_mib ? trace->gpu_mem_mib[job.id] : 0;
  uint64_t checkpoint_mib = trace->checkpoint_mib ? trace->checkpoint_mib[job.id] : 0;
  use->starts++;
  use->long_starts += trace->work_us[job.id] > long_us;
  use->mem_unknown += mem_mib == 0;
  use->typed += trace->gpu_types && trace->gpu_types[job.id] != HR_NONE;
  use->own_checkpoints += trace->checkpoint_interval_us && trace->checkpoint_interval_us[job.id] > 0;
  use->sized_checkpoints += checkpoint_mib > 0;
  use->checkpoint_mib += checkpoint_mib;
  if (mem_mib > use->max_mem_mib) use->max_mem_mib = mem_mib;
  if (gpus_per_task > use->max_gpus_per_task) use->max_gpus_per_task = gpus_per_task;
}

/* The number of nodes of a placement. The placement of a gang has one slice per node. With per-GPU allocation it has
   one slice per task. Slices are sorted by node. */
static uint32_t node_count(const struct hr_placement *placement) {
  uint32_t nodes = 1;
  for (uint32_t i = 1; i < placement->n_slices; i++)
    nodes += placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return nodes;
}

static void note_start(struct hr__run_profile *profile, const struct hr_event *event) {
  uint32_t pool = event->placement->pool.id;
  uint64_t milli = hr_placement_milli(event->placement, profile->trace, event->job);
  struct hr__pool_use *use = use_at(profile, event->job, pool);
  note_request(profile->trace, event->job, use);
  advance_pool(profile, pool, event->at_us);
  use->milli += milli;
  if (use->milli > use->peak_milli) use->peak_milli = use->milli;
  profile->pools[pool].allocated_milli += milli;
  profile->allocations[event->job.id] =
      (struct hr__profile_allocation){event->at_us, milli, pool, node_count(event->placement)};
}

static void note_end(struct hr__run_profile *profile, hr_job job, int64_t now_us) {
  struct hr__profile_allocation *allocation = &profile->allocations[job.id];
  uint32_t tenant = profile->trace->tenant ? profile->trace->tenant[job.id] : HR_NONE;
  struct hr__pool_use *use = use_at(profile, job, allocation->pool);
  hr__wide allocated = (hr__wide)allocation->milli * (uint64_t)(now_us - allocation->since_us);
  advance_pool(profile, allocation->pool, now_us);
  use->milli -= allocation->milli;
  use->allocated_milli_us += allocated;
  use->allocated_times_nodes += allocated * allocation->nodes;
  if (profile->trace->flags && profile->trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE)
    use->uninterruptible_milli_us += allocated;
  if (tenant != HR_NONE) {
    size_t class_ = (size_t)(use - profile->uses) / profile->n_pools;
    profile->by_tenant[(tenant * (size_t)HR_N_CLASSES + class_) * profile->n_pools + allocation->pool] += allocated;
  }
  profile->pools[allocation->pool].allocated_milli -= allocation->milli;
  allocation->since_us = HR_NEVER_US;
}

static void note_rates(struct hr__run_profile *profile, const struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < profile->n_pools; i++)
    profile->pools[i].reclaims_per_h = profile->cluster->pools[i].market.market == HR_MARKET_SPOT
                                           ? hr_cluster_reclaims_per_h(cluster, (hr_pool){i})
                                           : 0;
  profile->rates_known = true;
}

/* Counts a job that failures of nodes have stopped. Nodes of elastic pools are replaced, so they are not counted. */
static void note_failure(struct hr__run_profile *profile, const struct hr_view *view, const struct hr_event *event) {
  struct hr__pool_profile *pool = &profile->pools[event->placement->pool.id];
  pool->failed_jobs++;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    hr_node node = event->placement->slices[i].node;
    if (!hr_view_node_failed(view, node)) continue;
    uint32_t count = ++profile->failures[node.id];
    if (count > pool->most_failures) pool->most_failures = count;
  }
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__run_profile *profile = self;
  if (!profile->rates_known) note_rates(profile, view->cluster);
  if (!event->placement) return;
  if (event->kind == HR_EVENT_INTERRUPT && event->reason == HR_REASON_FAILED) note_failure(profile, view, event);
  if (event->kind == HR_EVENT_START) note_start(profile, event);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT)
    note_end(profile, event->job, event->at_us);
}

/* ---- Profile: the run ------------------------------------------------------------------------------ */

/* GPU time during which the nodes of a pool were available, in milli-GPU x microseconds. */
static hr__wide available_of(const struct hr__run_profile *profile, uint32_t number, const struct hr_result *result) {
  const struct hr_pool_spec *spec = &profile->cluster->pools[number];
  const struct hr_market_spec *market = &spec->market;
  uint64_t node_milli = (uint64_t)spec->gpus_per_node * 1000;
  if (hr_market_is_elastic(market->market)) return (hr__wide)result->pools[number].up_us * node_milli;
  int64_t from_us = market->from_us;
  int64_t to_us =
      market->market == HR_MARKET_RESERVED && market->to_us < profile->end_us ? market->to_us : profile->end_us;
  return to_us > from_us ? (hr__wide)node_milli * spec->nodes * (uint64_t)(to_us - from_us) : 0;
}

/* Adds the failures of a pool to its rate of interruptions. */
static void note_failures(struct hr__run_profile *profile, uint32_t number, const struct hr_result *result) {
  const struct hr_pool_spec *spec = &profile->cluster->pools[number];
  const struct hr_pool_accounting *accounting = &result->pools[number];
  if (!spec->faults) return;
  /* idle spares do not fail */
  double node_us = hr_market_is_elastic(spec->market.market)
                       ? (double)accounting->up_us
                       : (double)(spec->nodes - spec->faults->spares) * (double)profile->end_us;
  if (node_us <= 0) return;
  profile->pools[number].down_share = (double)accounting->down_us / node_us;
  profile->pools[number].reclaims_per_h +=
      (double)accounting->failures / ((node_us - (double)accounting->down_us) / (3600 * (double)HR_SECOND_US));
}

static void close_all(struct hr__run_profile *profile, const struct hr_result *result) {
  profile->end_us = result->end_us;
  for (uint32_t job = 0; job < profile->trace->n_jobs; job++) {
    const struct hr__profile_allocation *allocation = &profile->allocations[job];
    if (allocation->since_us != HR_NEVER_US) note_end(profile, (hr_job){job}, profile->end_us);
    if (allocation->pool != HR_NONE && result->account)
      use_at(profile, (hr_job){job}, allocation->pool)->lost_milli_us +=
          (hr__wide)hr_result_accounting(result, (hr_job){job}).milli_us.lost;
  }
  for (uint32_t i = 0; i < profile->n_pools; i++) {
    advance_pool(profile, i, profile->end_us);
    profile->pools[i].available_milli_us = available_of(profile, i, result);
    note_failures(profile, i, result);
  }
}

/* Makes the profile: runs replication 0 of the scenario with the recorded trace. The caller must call profile_finish,
 * even after an error.
 */
static enum hr_status profile_run(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                  struct hr__run_profile *profile, struct hr_error *error) {
  *profile = (struct hr__run_profile){.trace = trace,
                                      .cluster = &scenario->cluster,
                                      .n_pools = scenario->cluster.n_pools,
                                      .n_tenants = trace->tenant ? trace->tenants.count : 0};
  if (!allocate(profile)) return hr_fail(error, HR_NO_MEMORY, "out of memory for the profile of the run");
  const struct hr_observer observer = {.self = profile, .on_event = on_event};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .seed = hr_replication_seed(scenario->seed, 0),
                                 .horizon_us = scenario->horizon_us,
                                 .classes = scenario->classes,
                                 .observers = &observer,
                                 .n_observers = 1,
                                 .quotas = scenario->quotas,
                                 .systems = scenario->systems,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds,
                                 .scaling = scenario->scaling,
                                 .data = scenario->data};
  struct hr_result *result = NULL;
  enum hr_status status = hr_sim_run(&config, &result, error);
  if (status == HR_OK) close_all(profile, result);
  hr_result_destroy(result);
  return status;
}

/* ---- Metrics kept for each run --------------------------------------------------------------------- */

static void add_group(struct hr_advice *advice, enum hr__metric_scope of, const char *name) {
  static const enum hr__metric metrics[HR__A_GROUP_METRICS] = {HR__M_WAIT_P95, HR__M_COMPLETED_SHARE, HR__M_COST};
  for (size_t i = 0; i < HR__A_GROUP_METRICS; i++)
    advice->metrics[advice->n_metrics++] = (struct hr__scoped_metric){.id = metrics[i], .of = of, .name = name};
}

/* Sets present[class] for each class that a job of the trace has. */
static void find_classes(const struct hr_trace *trace, bool present[HR_N_CLASSES]) {
  for (uint32_t job = 0; trace->class_ && job < trace->n_jobs; job++) present[trace->class_[job]] = true;
}

static enum hr_status list_metrics(struct hr_advice *advice, struct hr_error *error) {
  static const enum hr__metric metrics[HR__A_GROUPS] = {HR__M_MONTHLY, HR__M_COST, HR__M_LOST, HR__M_ETTR,
                                                        HR__M_SITE_KWH};
  const struct hr_trace *trace = advice->config.trace;
  uint32_t n_tenants = trace->tenant ? trace->tenants.count : 0;
  bool present[HR_N_CLASSES] = {false};
  size_t max = HR__A_GROUPS + (size_t)HR__A_GROUP_METRICS * (HR_N_CLASSES + 1 + n_tenants) + advice->goals.n_metrics;
  advice->metrics = calloc(max, sizeof *advice->metrics);
  advice->tenant_at = calloc((size_t)n_tenants + 1, sizeof *advice->tenant_at);
  if (!advice->metrics || !advice->tenant_at) return hr__advice_no_memory(error);
  for (size_t i = 0; i < HR__A_GROUPS; i++)
    advice->metrics[advice->n_metrics++] = (struct hr__scoped_metric){.id = metrics[i]};
  add_group(advice, HR__OF_ALL, NULL);
  find_classes(trace, present);
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    advice->class_at[i] = present[i] && i != HR_CLASS_UNKNOWN ? (uint32_t)advice->n_metrics : HR_NONE;
    if (advice->class_at[i] != HR_NONE) add_group(advice, HR__OF_CLASS, hr_job_class_name((enum hr_job_class)i));
  }
  for (uint32_t i = 0; i < n_tenants; i++) {
    advice->tenant_at[i] = (uint32_t)advice->n_metrics;
    add_group(advice, HR__OF_TENANT, trace->tenants.text[i]);
  }
  advice->goals_at = advice->n_metrics;
  for (size_t i = 0; i < advice->goals.n_metrics; i++) advice->metrics[advice->n_metrics++] = advice->goals.metrics[i];
  return HR_OK;
}

/* Parses the goals of the scenario's plan, if it has one. */
static enum hr_status parse_goals(struct hr_advice *advice, struct hr_error *error) {
  const struct hr_plan_spec *plan = advice->config.scenario->plan;
  if (!plan) return HR_OK;
  return hr__goals_of_texts(plan->constraints, plan->n_constraints, advice->config.trace,
                            advice->config.scenario->services, &advice->goals, error);
}

/* ---- Preparation ----------------------------------------------------------------------------------- */

static enum hr_status parse_part(const struct hr_advise_config *config, const char *key, cJSON **value,
                                 struct hr_error *error) {
  char *json;
  enum hr_status status =
      hr_scenario_part(config->scenario->path, config->overrides, config->n_overrides, key, &json, error);
  if (status != HR_OK || !json) return status;
  *value = cJSON_Parse(json);
  cJSON_free(json);
  return *value ? HR_OK : hr__advice_no_memory(error);
}

static enum hr_status read_parts(struct hr_advice *advice, struct hr_error *error) {
  const struct hr_advise_config *config = &advice->config;
  enum hr_status status = parse_part(config, "cluster.pools", &advice->pools, error);
  if (status == HR_OK) status = parse_part(config, "classes", &advice->classes, error);
  if (status == HR_OK)
    status =
        hr_scenario_catalog(config->scenario->path, config->overrides, config->n_overrides, &advice->catalog, error);
  if (status != HR_OK || advice->pools) return status;
  status = hr_notes_add(
      &advice->notes,
      "the pools come from a list of nodes, which overrides cannot change: only checkpoints were examined");
  return status == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

static void find_policy(struct hr_advice *advice) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    if (strcmp(policy->ops->params[i].key, "market") != 0) continue;
    advice->has_market_rule = true;
    advice->managed = strcmp(hr_policy_choice_text(policy, i, buffer), "static") != 0;
  }
}

static uint32_t count_replications(const struct hr_advise_config *config) {
  if (config->n_replications) return config->n_replications;
  if (config->scenario->replications.count) return config->scenario->replications.count;
  return HR_DEFAULT_MIN_REPLICATIONS;
}

/* Whether changes can improve a figure other than the cost: nodes fail, or their power is known. */
static bool has_other_figures(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && (cluster->pools[i].faults || cluster->pools[i].power)) return true;
  return false;
}

static enum hr_status prepare(struct hr_advice *advice, struct hr_error *error) {
  const struct hr_advise_config *config = &advice->config;
  const struct hr_scenario *scenario = config->scenario;
  if (!hr_scenario_has_prices(scenario) && !has_other_figures(&scenario->cluster))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: nothing has a price, so nothing can be saved; give pools a 'market' and a price, e.g. "
                   "--set cluster.pools.0.market=on-demand --set cluster.pools.0.usd_per_gpu_hour=2.5, or an "
                   "'instance' of the catalogue ('headroom list prices')",
                   scenario->path);
  enum hr_status status = parse_goals(advice, error);
  if (status == HR_OK) status = list_metrics(advice, error);
  if (status == HR_OK) status = read_parts(advice, error);
  if (status != HR_OK) return status;
  find_policy(advice);
  advice->n_replications = count_replications(config);
  advice->scratch = calloc((size_t)advice->n_replications + 1, sizeof *advice->scratch);
  if (!advice->scratch) return hr__advice_no_memory(error);
  struct hr__runner_config runner_config = {.scenario = scenario,
                                            .overrides = config->overrides,
                                            .n_overrides = config->n_overrides,
                                            .trace = config->trace,
                                            .metrics = advice->metrics,
                                            .n_metrics = advice->n_metrics,
                                            .n_threads = config->n_threads,
                                            .progress = config->progress};
  struct hr__environment environment = {.workload = scenario->replications.workload};
  hr_stress_init(&environment.stress);
  advice->runner = hr__runner_create(&runner_config);
  if (!advice->runner) return hr__advice_no_memory(error);
  status = hr__runner_add_environment(advice->runner, &environment, &advice->environment, error);
  return status == HR_OK ? hr__runner_add_candidate(advice->runner, NULL, 0, advice->environment, &advice->base, error)
                         : status;
}

/* ---- Evaluation ------------------------------------------------------------------------------------ */

/* If the scenario has no GPU speeds, a proposal must also save money at the catalogue's speeds. */
static enum hr_status evaluate_stricter(struct hr_advice *advice, struct hr__proposal *proposal,
                                        struct hr_error *error) {
  struct hr__interval usd;
  char why[200] = "", text[HR__NUMBER_BYTES];
  uint32_t count = advice->n_replications, candidate = proposal->stricter;
  enum hr_status status = hr__advice_difference(advice, candidate, HR__A_MONTHLY, count, &usd, error);
  if (status != HR_OK) return status;
  hr__usd_text((int64_t)llround(-usd.mean * 1e6), text);
  if (!(usd.high < 0))
    snprintf(why, sizeof why, "savings are not significant");
  else if (hr__advice_serves(advice, candidate, count, why, sizeof why))
    return hr__proposal_assume(proposal, error, "at the catalogue's speeds it saves %s a month", text);
  proposal->advised = false;
  snprintf(proposal->reason, sizeof proposal->reason, "at the catalogue's speeds %s", why);
  return HR_OK;
}

/* Evaluates a proposal that a metric other than the cost decides: it must become significantly better, and the cost
   must not become significantly higher. */
static enum hr_status evaluate_figure(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  uint32_t count = advice->n_replications;
  const struct hr__interval *change = &proposal->change;
  enum hr_status status =
      hr__advice_difference(advice, proposal->candidate, proposal->figure, count, &proposal->change, error);
  if (status != HR_OK) return status;
  const struct hr_metric *row = &hr__metric_rows[advice->metrics[proposal->figure].id];
  double sign = proposal->figure == HR__A_ETTR ? -1 : 1; /* the other metrics are better if they are lower */
  double worst = sign < 0 ? -change->low : change->high;
  if (change->count == 0 || isnan(change->mean))
    snprintf(proposal->reason, sizeof proposal->reason, "%s is unknown", row->path);
  else if (sign * change->mean >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "%s does not become better", row->path);
  else if (isnan(worst))
    snprintf(proposal->reason, sizeof proposal->reason, "one replication cannot show whether %s becomes better",
             row->path);
  else if (worst >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "the change of %s is not significant (the interval includes 0)",
             row->path);
  else if (proposal->monthly_usd.count && proposal->monthly_usd.low > 0)
    snprintf(proposal->reason, sizeof proposal->reason, "it costs more");
  else
    proposal->advised =
        hr__advice_serves(advice, proposal->candidate, count, proposal->reason, sizeof proposal->reason);
  return HR_OK;
}

static enum hr_status evaluate(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  uint32_t count = advice->n_replications;
  enum hr_status status =
      hr__advice_difference(advice, proposal->candidate, HR__A_MONTHLY, count, &proposal->monthly_usd, error);
  const struct hr__interval *usd = &proposal->monthly_usd;
  if (status != HR_OK) return status;
  if (proposal->figure != HR__A_MONTHLY) return evaluate_figure(advice, proposal, error);
  if (usd->count == 0)
    snprintf(proposal->reason, sizeof proposal->reason, "the monthly cost is unknown");
  else if (usd->mean >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "it saves nothing");
  else if (isnan(usd->high))
    snprintf(proposal->reason, sizeof proposal->reason,
             "one replication cannot show whether the savings are significant");
  else if (usd->high >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "savings are not significant (the interval includes 0)");
  else
    proposal->advised =
        hr__advice_serves(advice, proposal->candidate, count, proposal->reason, sizeof proposal->reason);
  if (proposal->advised && proposal->objection[0]) {
    proposal->advised = false;
    memcpy(proposal->reason, proposal->objection, sizeof proposal->objection);
  }
  return proposal->advised && proposal->stricter != HR_NONE ? evaluate_stricter(advice, proposal, error) : HR_OK;
}

static bool are_rivals(const struct hr__proposal *a, const struct hr__proposal *b) {
  return a->kind == b->kind && a->pool == b->pool && a->class_ == b->class_;
}

/* Several advised proposals may change the same thing. Only the one that saves most remains advised. */
static void keep_best_rival(struct hr_advice *advice) {
  for (size_t i = 0; i < advice->n_proposals; i++) {
    struct hr__proposal *weaker = &advice->proposals[i];
    const struct hr__proposal *best = weaker;
    for (size_t k = 0; k < advice->n_proposals; k++) {
      const struct hr__proposal *other = &advice->proposals[k];
      if (other->advised && are_rivals(weaker, other) && other->monthly_usd.mean < best->monthly_usd.mean) best = other;
    }
    if (!weaker->advised || best == weaker) continue;
    snprintf(weaker->reason, sizeof weaker->reason, "%.200s saves more", best->to);
  }
  for (size_t i = 0; i < advice->n_proposals; i++)
    if (advice->proposals[i].reason[0]) advice->proposals[i].advised = false;
}

/* Sorts advised proposals before others, then by savings. Proposals with unknown savings are last. */
static int compare(const void *a, const void *b) {
  const struct hr__proposal *x = a, *y = b;
  double usd_x = x->monthly_usd.mean, usd_y = y->monthly_usd.mean;
  if (x->advised != y->advised) return x->advised ? -1 : 1;
  if (isnan(usd_x) != isnan(usd_y)) return isnan(usd_x) ? 1 : -1;
  if (usd_x < usd_y || usd_x > usd_y) return usd_x < usd_y ? -1 : 1;
  return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static enum hr_status evaluate_all(struct hr_advice *advice, struct hr_error *error) {
  uint32_t *candidates = calloc(2 * advice->n_proposals + 1, sizeof *candidates);
  size_t count = 0;
  if (!candidates) return hr__advice_no_memory(error);
  for (size_t i = 0; i < advice->n_proposals; i++) {
    candidates[count++] = advice->proposals[i].candidate;
    if (advice->proposals[i].stricter != HR_NONE) candidates[count++] = advice->proposals[i].stricter;
  }
  enum hr_status status = hr__advice_run(advice, candidates, count, advice->n_replications, error);
  free(candidates);
  for (size_t i = 0; i < advice->n_proposals && status == HR_OK; i++)
    status = evaluate(advice, &advice->proposals[i], error);
  if (status != HR_OK) return status;
  keep_best_rival(advice);
  if (advice->n_proposals) qsort(advice->proposals, advice->n_proposals, sizeof *advice->proposals, compare);
  return HR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------------- */

static enum hr_status advise(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = prepare(advice, error);
  if (status == HR_OK) status = profile_run(advice->config.scenario, advice->config.trace, &advice->profile, error);
  if (status == HR_OK) status = hr__advice_run(advice, NULL, 0, advice->n_replications, error);
  if (status == HR_OK && advice->pools) status = hr__advise_gpu_types(advice, error);
  if (status == HR_OK) status = hr__advise_capacity(advice, error);
  if (status == HR_OK && advice->pools) status = hr__advise_reliability(advice, error);
  return status == HR_OK ? evaluate_all(advice, error) : status;
}

enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice, struct hr_error *error) {
  *advice = NULL;
  if (config->scenario->clusters)
    return hr_fail(
        error, HR_BAD_INPUT,
        "%s: advise changes the pools of one cluster, but the scenario has several; use plan, with the pools or "
        "the router as variables",
        config->scenario->path);
  struct hr_advice *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr__advice_no_memory(error);
  fresh->config = *config;
  enum hr_status status = advise(fresh, error);
  if (status == HR_OK)
    *advice = fresh;
  else
    hr_advice_destroy(fresh);
  return status;
}

void hr_advice_destroy(struct hr_advice *advice) {
  if (!advice) return;
  for (size_t i = 0; i < advice->n_proposals; i++) hr__proposal_finish(&advice->proposals[i]);
  free(advice->proposals);
  profile_finish(&advice->profile);
  hr__runner_destroy(advice->runner);
  hr_catalog_destroy(advice->catalog);
  cJSON_Delete(advice->pools);
  cJSON_Delete(advice->classes);
  hr__goals_finish(&advice->goals);
  free(advice->metrics);
  free(advice->tenant_at);
  free(advice->scratch);
  hr_notes_finish(&advice->notes);
  free(advice);
}

/* ---- Results --------------------------------------------------------------------------------------- */

const struct hr_notes *hr_advice_notes(const struct hr_advice *advice) {
  return &advice->notes;
}

/* Returns the only tenant with jobs of the class that used the pool. Returns HR_NONE if several tenants did, or none.
   If `class_` is HR_N_CLASSES, jobs of all classes count. If `pool` is HR_NONE, all pools count. */
static uint32_t only_tenant(const struct hr__run_profile *profile, uint32_t class_, uint32_t pool) {
  uint32_t found = HR_NONE;
  for (uint32_t tenant = 0; tenant < profile->n_tenants; tenant++) {
    if (hr__run_profile_tenant_hours(profile, tenant, class_, pool) == 0) continue;
    if (found != HR_NONE) return HR_NONE;
    found = tenant;
  }
  return found;
}

static const char *tenant_of(const struct hr_advice *advice, const struct hr__proposal *proposal) {
  uint32_t tenant = only_tenant(&advice->profile, proposal->class_, proposal->pool);
  return tenant == HR_NONE ? NULL : advice->config.trace->tenants.text[tenant];
}

bool hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item) {
  if (place >= advice->n_proposals) return false;
  const struct hr__proposal *proposal = &advice->proposals[place];
  const struct hr__interval *usd = &proposal->monthly_usd;
  size_t wait = hr__advice_group_metric(advice, proposal->class_, HR__A_WAIT);
  size_t completed = hr__advice_group_metric(advice, proposal->class_, HR__A_COMPLETED);
  bool of_class = proposal->class_ < HR_N_CLASSES && proposal->class_ != HR_CLASS_UNKNOWN;
  *item = (struct hr_advice_item){
      .kind = proposal->kind,
      .advised = proposal->advised,
      .tenant = tenant_of(advice, proposal),
      .class_ = of_class ? hr_job_class_name((enum hr_job_class)proposal->class_) : NULL,
      .pool = proposal->pool == HR_NONE ? NULL : hr__advice_pool(advice, proposal->pool)->name,
      .from = proposal->from,
      .to = proposal->to,
      .reason = proposal->advised ? NULL : proposal->reason,
      .set = (const char *const *)proposal->set.at,
      .n_set = proposal->set.count,
      .assumed = &proposal->assumed,
      .monthly_usd = {usd->count, usd->mean, usd->median, usd->sd, usd->low, usd->high, usd->of_median},
      .wait_p95_s = hr__advice_metric(advice, proposal->candidate, wait, advice->n_replications),
      .completed = hr__advice_metric(advice, proposal->candidate, completed, advice->n_replications)};
  if (proposal->figure == HR__A_MONTHLY) return true;
  const struct hr__interval *change = &proposal->change;
  item->figure = hr__metric_rows[advice->metrics[proposal->figure].id].path;
  item->figure_value = hr__advice_metric(advice, proposal->candidate, proposal->figure, advice->n_replications);
  item->figure_change = (struct hr_replicated){change->count, change->mean, change->median,   change->sd,
                                               change->low,   change->high, change->of_median};
  return true;
}
