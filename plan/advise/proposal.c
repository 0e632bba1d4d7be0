/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile of one run, the proposals that it suggests, and the proposals of other GPU types.
 *
 * An observer makes the profile. It sums the allocated GPU time by class and pool, and by pool. A job is added to the
 * sum of its class and pool when it ends or is interrupted. The sum of a pool is updated whenever its allocation
 * changes. All sums are integers (milli-GPU x microseconds), so the order in which values are added does not matter.
 *
 * A proposal has overrides in the notation of --set, assumptions, and runs, which are compared with the unchanged
 * scenario. Entries of pools are copied from the scenario's JSON and edited. Keys that a proposal does not change
 * therefore keep their values.
 *
 * GPU types. A run shows which GPUs are allocated, but not how hard they work. Another GPU type is tried for a pool in
 * these cases:
 * - less than half, or nearly all, of its GPUs are allocated;
 * - jobs request less than half, or nearly all, of a GPU's memory.
 *
 * A smaller type is a cheaper type with enough memory, which the provider offers or another pool of the scenario has. A
 * larger type is one of the next more expensive types. The same number of GPUs of the other type replaces those of the
 * pool. If several classes use the pool, and another type is of interest for only one of them, the new GPUs form a
 * separate pool for that class.
 */

#include "plan/advise/advise.h"

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/faults.h"
#include "plan/search/search.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const int64_t long_us = INT64_C(3600) * HR_SECOND_US;

/* ---- Profile: memory -------------------------------------------------------------------------------- */

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

void hr__run_profile_finish(struct hr__run_profile *profile) {
  for (uint32_t i = 0; profile->pools && i < profile->n_pools; i++) free(profile->pools[i].at_level);
  free(profile->uses);
  free(profile->by_tenant);
  free(profile->pools);
  free(profile->allocations);
  free(profile->failures);
  *profile = (struct hr__run_profile){0};
}

/* ---- Profile: events -------------------------------------------------------------------------------- */

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

/* Counts a job that failures of nodes have stopped. Also counts the job for each of its nodes that failed, except for
   nodes of elastic pools, which are replaced. */
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

/* ---- Profile: the run ------------------------------------------------------------------------------- */

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

/* Sets the share of time in which nodes of a pool are down, and adds its failures to its rate of interruptions. */
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

enum hr_status hr__run_profile_make(const struct hr_scenario *scenario, const struct hr_trace *trace,
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

/* ---- Proposals: names ------------------------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_advice_kind_name, enum hr_advice_kind, HR_ADVICE_TABLE)

/* ---- Proposals: overrides --------------------------------------------------------------------------- */

/* Takes ownership of the text. */
static void add_override(struct hr__proposal *proposal, char *text) {
  struct hr__texts *set = &proposal->set;
  if (text && HR__ARRAY_HAS_ROOM(set->at, set->count, set->capacity)) {
    set->at[set->count++] = text;
    return;
  }
  free(text);
  proposal->out_of_memory = true;
}

void hr__proposal_set(struct hr__proposal *proposal, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  add_override(proposal, strdup(text));
}

void hr__proposal_set_json(struct hr__proposal *proposal, const char *path, cJSON *value) {
  char *json = value ? cJSON_PrintUnformatted(value) : NULL;
  size_t size = strlen(path) + 2 + (json ? strlen(json) : 0);
  char *text = json ? malloc(size) : NULL;
  if (text) snprintf(text, size, "%s=%s", path, json);
  cJSON_free(json);
  cJSON_Delete(value);
  add_override(proposal, text);
}

void hr__proposal_assume(struct hr__proposal *proposal, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (hr_notes_add(&proposal->assumed, "%s", text) != HR_OK) proposal->out_of_memory = true;
}

/* ---- Proposals: loading ----------------------------------------------------------------------------- */

/* Whether an override changes the policy. Such a proposal is run once when it is loaded, since some policies reject
   their parameters only at the start of a run. */
static bool changes_policy(const struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++)
    if (strncmp(proposal->set.at[i], "policy.", strlen("policy.")) == 0) return true;
  return false;
}

enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  struct hr_error inner = {0};
  if (proposal->out_of_memory) return hr__advice_no_memory(error);
  enum hr_status status =
      hr__runner_add_candidate(advice->runner, (const char *const *)proposal->set.at, proposal->set.count,
                               advice->environment, &proposal->candidate, &inner);
  if (status == HR_OK && changes_policy(proposal)) status = hr__advice_run(advice, &proposal->candidate, 1, 1, &inner);
  if (status == HR_OK) return HR_OK;
  proposal->candidate = HR_NONE;
  if (status != HR_BAD_INPUT) return hr_fail(error, status, "%s", inner.text);
  status = hr_notes_add(&advice->notes, "%s: %.100s -> %.100s cannot be run: %.500s",
                        hr_advice_kind_name(proposal->kind), proposal->from, proposal->to, inner.text);
  return status == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  enum hr_status status = proposal->candidate == HR_NONE ? hr__proposal_load(advice, proposal, error) : HR_OK;
  if (status == HR_OK && (proposal->out_of_memory ||
                          !HR__ARRAY_HAS_ROOM(advice->proposals, advice->n_proposals, advice->proposal_capacity)))
    status = hr__advice_no_memory(error);
  if (status == HR_OK && proposal->candidate != HR_NONE)
    advice->proposals[advice->n_proposals++] = *proposal;
  else
    hr__proposal_finish(proposal);
  return status;
}

/* ---- Proposals: entries of pools -------------------------------------------------------------------- */

static bool is_taken(const struct hr_advice *advice, const char *name) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

cJSON *hr__pool_entry(const struct hr_advice *advice, uint32_t pool, const char *suffix, const char *const *unwanted) {
  cJSON *entry = cJSON_Duplicate(cJSON_GetArrayItem(advice->pools, (int)pool), true);
  char name[260];
  if (!entry) return NULL;
  for (size_t i = 0; unwanted[i]; i++) cJSON_DeleteItemFromObjectCaseSensitive(entry, unwanted[i]);
  snprintf(name, sizeof name, "%.180s%s", hr__advice_pool(advice, pool)->name, suffix);
  for (unsigned i = 2; suffix[0] && is_taken(advice, name); i++)
    snprintf(name, sizeof name, "%.180s%s-%u", hr__advice_pool(advice, pool)->name, suffix, i);
  if (!suffix[0] || hr__put_text(entry, "name", name)) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* ---- Proposals: runs -------------------------------------------------------------------------------- */

enum hr_status hr__advice_run(struct hr_advice *advice, const uint32_t *candidates, size_t count, uint32_t replications,
                              struct hr_error *error) {
  size_t n_trials = (count + 1) * replications, used = 0;
  struct hr__trial *trials = calloc(n_trials + 1, sizeof *trials);
  if (!trials) return hr__advice_no_memory(error);
  for (uint32_t r = 0; r < replications; r++) {
    trials[used++] = (struct hr__trial){advice->base, r};
    for (size_t i = 0; i < count; i++) trials[used++] = (struct hr__trial){candidates[i], r};
  }
  enum hr_status status = hr__runner_run(advice->runner, trials, n_trials, error);
  free(trials);
  return status;
}

static bool is_exact(const struct hr_advice *advice, uint32_t candidate) {
  return !hr__runner_is_random(advice->runner, advice->base) && !hr__runner_is_random(advice->runner, candidate);
}

static uint32_t count_of(const struct hr_advice *advice, uint32_t candidate, uint32_t replications) {
  return is_exact(advice, candidate) ? 1 : replications;
}

enum hr_status hr__advice_difference(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                     uint32_t replications, struct hr__interval *interval, struct hr_error *error) {
  uint32_t count = count_of(advice, candidate, replications);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  if (!values) return hr__advice_no_memory(error);
  for (uint32_t r = 0; r < count; r++)
    values[r] = hr__runner_values(advice->runner, candidate, r)[metric] -
                hr__runner_values(advice->runner, advice->base, r)[metric];
  enum hr_status status =
      hr__interval_uncorrected(values, count, HR_METRIC_MEAN, advice->config.scenario->replications.confidence,
                               is_exact(advice, candidate), interval);
  free(values);
  return status == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

/* The mean of a metric over the replications in which it is known. If the metric is a quantile: the median. */
static double centre_of(const struct hr_advice *advice, uint32_t candidate, size_t metric, uint32_t count) {
  for (uint32_t r = 0; r < count; r++) advice->scratch[r] = hr__runner_values(advice->runner, candidate, r)[metric];
  return hr__metric_centre(advice->scratch, count, hr__metric_rows[advice->metrics[metric].id].kind);
}

struct hr_advice_metric hr__advice_metric(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                          uint32_t replications) {
  uint32_t count = count_of(advice, candidate, replications);
  return (struct hr_advice_metric){centre_of(advice, advice->base, metric, count),
                                   centre_of(advice, candidate, metric, count)};
}

/* ---- Proposals: service ----------------------------------------------------------------------------- */

/* Writes a value in the unit of a goal. */
static const char *goal_value_text(const struct hr_advice *advice, size_t goal, double value, char *buffer) {
  enum hr__metric metric = advice->goals.metrics[advice->goals.goals[goal].metric].id;
  return hr__metric_text(hr__metric_rows[metric].unit, value, buffer);
}

/* The question whether a proposal serves jobs as well as the unchanged scenario. `reason` receives the answer if not.
 */
struct service {
  const struct hr_advice *advice;
  uint32_t candidate, replications;
  char *reason;
  size_t size;
};

/* Whether no goal is missed by more than in the unchanged scenario. A goal that the unchanged scenario meets must still
   be met. */
static bool keeps_goals(const struct service *service) {
  const struct hr_advice *advice = service->advice;
  char text[2][HR__METRIC_BYTES];
  for (size_t i = 0; i < advice->goals.n_goals; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    struct hr_advice_metric value = hr__advice_goal(advice, service->candidate, i, service->replications);
    double before = hr__goal_violation(goal, value.before), after = hr__goal_violation(goal, value.after);
    if (after <= before + 1e-12) continue;
    snprintf(service->reason, service->size, "it misses the goal %.150s: %s, today %s", goal->text,
             goal_value_text(advice, i, value.after, text[0]), goal_value_text(advice, i, value.before, text[1]));
    return false;
  }
  return true;
}

static struct hr_advice_metric group_metric(const struct service *service, uint32_t class_, unsigned metric) {
  return hr__advice_metric(service->advice, service->candidate,
                           hr__advice_group_metric(service->advice, class_, metric), service->replications);
}

static bool completes_group(const struct service *service, uint32_t class_) {
  struct hr_advice_metric done = group_metric(service, class_, HR__A_COMPLETED);
  if (!(done.after < done.before - 1e-9)) return true;
  snprintf(service->reason, service->size, "%.2f %% of %s complete, before %.2f %%", 100 * done.after,
           hr__advice_class_text(class_), 100 * done.before);
  return false;
}

static bool waits_of_group(const struct service *service, uint32_t class_) {
  struct hr_advice_metric wait = group_metric(service, class_, HR__A_WAIT);
  char text[2][HR__NUMBER_BYTES];
  if (wait.after <= wait.before + fmax(HR_ADVISE_WAIT_S, HR_ADVISE_WAIT_SHARE * wait.before)) return true;
  if (isnan(wait.before) || isnan(wait.after)) return true;
  snprintf(service->reason, service->size, "the p95 wait of %s grows from %s to %s", hr__advice_class_text(class_),
           hr__duration_text(wait.before, text[0]), hr__duration_text(wait.after, text[1]));
  return false;
}

/* Whether a goal bounds how many jobs complete. */
static bool goals_bound_completion(const struct hr_advice *advice) {
  static const enum hr__metric metrics[] = {HR__M_COMPLETED, HR__M_COMPLETED_SHARE, HR__M_REJECTED, HR__M_UNFINISHED};
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (hr__goals_have(&advice->goals, metrics[i])) return true;
  return false;
}

static bool serves_group(const struct service *service, uint32_t class_) {
  if (!goals_bound_completion(service->advice) && !completes_group(service, class_)) return false;
  return service->advice->goals.n_goals > 0 || waits_of_group(service, class_);
}

bool hr__advice_serves(const struct hr_advice *advice, uint32_t candidate, uint32_t replications, char *reason,
                       size_t size) {
  const struct service service = {advice, candidate, replications, reason, size};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    if (advice->class_at[i] != HR_NONE && !serves_group(&service, i)) return false;
  return serves_group(&service, HR_N_CLASSES) && keeps_goals(&service);
}

/* ---- GPU types -------------------------------------------------------------------------------------- */

enum { MAX_OPTIONS = 3 };
static const double low_share = 0.5, high_share = 0.9;

/* A GPU type that may replace the type of a pool. */
struct gpu_option {
  const char *gpu;
  uint32_t gpus_per_node;
  int64_t price_uusd_h, on_demand_uusd_h;  /* of one GPU; the on-demand price may be HR_UNKNOWN_UUSD_H */
  double mem_gb;                           /* 0: unknown */
  const struct hr_instance_type *instance; /* in the catalogue; NULL: the option is a pool of the scenario */
  uint32_t pool;
};

struct gpu_options {
  struct gpu_option at[MAX_OPTIONS];
  size_t count;
};

/* The jobs for which another GPU type is sought, and their requirements. */
struct gpu_question {
  uint32_t pool, class_; /* class_: the class of these jobs; HR_N_CLASSES: all jobs of the pool */
  bool larger;
  uint64_t need_mib; /* maximum requested memory of one GPU; 0: no job states its memory */
  bool unknown;      /* some job does not state its memory */
  uint64_t typed;    /* starts of jobs that name acceptable GPU types */
};

/* The utilization of a pool if its GPUs are paid for while idle; NaN for other pools. */
static double fixed_utilization(const struct hr_advice *advice, uint32_t pool) {
  bool elastic = hr_market_is_elastic(hr__advice_pool(advice, pool)->market.market);
  return elastic && advice->managed ? HR__UNKNOWN : hr__run_profile_utilization(&advice->profile, pool);
}

/* ---- GPU types: other types ------------------------------------------------------------------------- */

/* Inserts an option into the list, which is sorted by price, if the option qualifies. An option does not qualify if
   its GPU type is already in the list. If the list is full, the most expensive option is dropped. */
static void add_option(const struct hr_advice *advice, const struct gpu_question *question,
                       const struct gpu_option *option, struct gpu_options *found) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  bool more_expensive = option->price_uusd_h > spec->market.price_uusd_h;
  bool fits = option->mem_gb * 1024 >= (double)question->need_mib;
  if (!fits || more_expensive != question->larger || option->price_uusd_h <= 0) return;
  if (question->larger && option->mem_gb * 1024 < (double)spec->gpu_mem_mib) return;
  if (spec->gpu && strcasecmp(option->gpu, spec->gpu) == 0) return;
  for (size_t i = 0; i < found->count; i++)
    if (strcasecmp(found->at[i].gpu, option->gpu) == 0) return;
  size_t place = found->count;
  while (place > 0 && found->at[place - 1].price_uusd_h > option->price_uusd_h) place--;
  if (place == MAX_OPTIONS) return;
  if (found->count < MAX_OPTIONS) found->count++;
  for (size_t i = found->count - 1; i > place; i--) found->at[i] = found->at[i - 1];
  found->at[place] = *option;
}

/* Whether node type `a` replaces nodes of `gpus` GPUs better than `b`. The same number of GPUs is best, then any larger
   number, then any smaller one. Of several larger or several smaller numbers the nearest is best. */
static bool is_closer_match(const struct hr_instance_type *a, const struct hr_instance_type *b, double gpus) {
  bool a_same = a->gpus == gpus, b_same = b->gpus == gpus;
  if (a_same != b_same) return a_same;
  bool a_more = a->gpus > gpus, b_more = b->gpus > gpus;
  if (a_more != b_more) return a_more;
  return fabs(a->gpus - gpus) < fabs(b->gpus - gpus);
}

static enum hr_status quote(const struct hr_advice *advice, uint32_t pool, const char *instance, enum hr_market market,
                            struct hr_price_quote *quote) {
  const struct hr_pool_source *source = &advice->config.scenario->pool_sources[pool];
  const cJSON *entry = cJSON_GetArrayItem(advice->pools, (int)pool);
  struct hr_price_query query = {
      .provider = source->provider, .instance = instance, .region = source->region, .market = market};
  if (market == HR_MARKET_RESERVED) {
    query.term = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "term"));
    query.upfront = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "upfront"));
    if (!query.term) return HR_BAD_INPUT;
  }
  query.as_of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "as_of"));
  return hr_catalog_price(advice->catalog, &query, quote, NULL);
}

/* Whether the price is for the accelerator alone, without a machine, as with Google. */
static bool is_bare_accelerator(const struct hr_instance_type *type) {
  return strncmp(type->name, "gpu-attach-", strlen("gpu-attach-")) == 0;
}

static bool quote_type(const struct hr_advice *advice, uint32_t pool, const struct hr_gpu_type *gpu,
                       struct gpu_option *option) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const char *provider = advice->config.scenario->pool_sources[pool].provider;
  const struct hr_instance_type *best = NULL;
  struct hr_price_quote of_market, on_demand;
  for (size_t i = 0; i < advice->catalog->n_instances; i++) {
    const struct hr_instance_type *type = &advice->catalog->instances[i];
    if (strcasecmp(type->provider, provider) != 0 || strcasecmp(type->gpu, gpu->name) != 0 || type->gpus < 1) continue;
    if (is_bare_accelerator(type) || (best && !is_closer_match(type, best, spec->gpus_per_node))) continue;
    if (quote(advice, pool, type->name, spec->market.market, &of_market) == HR_OK) best = type;
  }
  if (!best || quote(advice, pool, best->name, spec->market.market, &of_market) != HR_OK) return false;
  bool known = quote(advice, pool, best->name, HR_MARKET_ON_DEMAND, &on_demand) == HR_OK;
  *option = (struct gpu_option){.gpu = gpu->name,
                                .gpus_per_node = (uint32_t)best->gpus,
                                .price_uusd_h = hr_price_quote_gpu_uusd_h(&of_market),
                                .on_demand_uusd_h = known ? hr_price_quote_gpu_uusd_h(&on_demand) : HR_UNKNOWN_UUSD_H,
                                .mem_gb = gpu->mem_gb,
                                .instance = best};
  return true;
}

static void find_in_catalog(const struct hr_advice *advice, const struct gpu_question *question,
                            struct gpu_options *found) {
  struct gpu_option option;
  for (size_t i = 0; i < advice->catalog->n_gpus; i++)
    if (quote_type(advice, question->pool, &advice->catalog->gpus[i], &option))
      add_option(advice, question, &option, found);
}

static void find_in_pools(const struct hr_advice *advice, const struct gpu_question *question,
                          struct gpu_options *found) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *other = &cluster->pools[i];
    if (!other->gpu || other->market.market != cluster->pools[question->pool].market.market) continue;
    add_option(advice, question,
               &(struct gpu_option){.gpu = other->gpu,
                                    .gpus_per_node = other->gpus_per_node,
                                    .price_uusd_h = other->market.price_uusd_h,
                                    .on_demand_uusd_h = other->market.on_demand_uusd_h,
                                    .mem_gb = (double)other->gpu_mem_mib / 1024,
                                    .pool = i},
               found);
  }
}

/* ---- GPU types: the pool ---------------------------------------------------------------------------- */

static uint32_t nodes_for(uint64_t gpus, const struct gpu_option *option) {
  return (uint32_t)((gpus + option->gpus_per_node - 1) / option->gpus_per_node);
}

/* Copies the properties of a node to `entry`. If the option is a pool of the scenario, they are from its entry,
   otherwise from the catalogue. Returns false when out of memory. */
static bool put_node(const struct hr_advice *advice, const struct gpu_option *option, cJSON *entry) {
  static const char *const keys[] = {"instance", "cpu_per_node", "mem_gb_per_node", "gpu_mem_gb", NULL};
  if (option->instance) return hr__put_text(entry, "instance", option->instance->name);
  const cJSON *other = cJSON_GetArrayItem(advice->pools, (int)option->pool);
  for (size_t i = 0; keys[i]; i++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(other, keys[i]);
    if (value && !hr__put_item(entry, keys[i], cJSON_Duplicate(value, true))) return false;
  }
  return hr__put_text(entry, "gpu", option->gpu) && hr__put_number(entry, "gpus_per_node", option->gpus_per_node);
}

static cJSON *typed_entry(const struct hr_advice *advice, const struct gpu_question *question,
                          const struct gpu_option *option, uint64_t gpus) {
  static const char *const unwanted[] = {"gpu",
                                         "gpus_per_node",
                                         "instance",
                                         "cpu_per_node",
                                         "cpu_per_gpu",
                                         "mem_gb_per_node",
                                         "gpu_mem_gb",
                                         "term",
                                         "usd_per_gpu_hour",
                                         "upfront",
                                         "discount",
                                         "interference",
                                         "interference_pairs",
                                         "owned",
                                         "as_of",
                                         "topology",
                                         "usd_per_node_hour",
                                         "on_demand_usd_per_gpu_hour",
                                         NULL};
  bool beside = question->class_ != HR_N_CLASSES;
  char suffix[100];
  snprintf(suffix, sizeof suffix, "-%.90s", option->gpu);
  cJSON *entry = hr__pool_entry(advice, question->pool, beside ? suffix : "", unwanted);
  bool done = entry && put_node(advice, option, entry) && hr__put_number(entry, "nodes", nodes_for(gpus, option)) &&
              hr__put_number(entry, "usd_per_gpu_hour", (double)option->price_uusd_h / 1e6);
  if (done && option->on_demand_uusd_h > 0)
    done = hr__put_number(entry, "on_demand_usd_per_gpu_hour", (double)option->on_demand_uusd_h / 1e6);
  if (done && hr__advice_pool(advice, question->pool)->market.market == HR_MARKET_OWNED)
    done = hr__put_text(entry, "market", "owned");
  if (done && beside) done = hr__put_class(entry, question->class_);
  if (done) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* A list of the other classes that may use the pool. A pool with this list no longer accepts jobs without a class.
   NULL: out of memory. */
static cJSON *other_classes(const struct hr_advice *advice, const struct gpu_question *question) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = HR_CLASS_UNKNOWN + 1; list && i < HR_N_CLASSES; i++) {
    uint32_t allowed = hr__advice_pool(advice, question->pool)->classes;
    if (i == question->class_ || (allowed && !(allowed & 1u << i))) continue;
    cJSON *name = cJSON_CreateString(hr_job_class_name((enum hr_job_class)i));
    if (name && cJSON_AddItemToArray(list, name)) continue;
    cJSON_Delete(name);
    cJSON_Delete(list);
    return NULL;
  }
  return list;
}

/* Adds a pool for the class, and restricts the old pool to the other classes. A fixed old pool loses as many GPUs as
   the new pool has. */
static void set_beside(const struct hr_advice *advice, const struct gpu_question *question,
                       const struct gpu_option *option, struct hr__proposal *proposal) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  uint64_t all = (uint64_t)spec->nodes * spec->gpus_per_node;
  uint64_t peak = (hr__run_profile_use(&advice->profile, question->class_, question->pool)->peak_milli + 999) / 1000;
  bool elastic = hr_market_is_elastic(spec->market.market);
  uint64_t moved = elastic || peak > all ? all : peak, left = (all - moved) / spec->gpus_per_node;
  char path[60];
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)advice->config.scenario->cluster.n_pools);
  hr__proposal_set_json(proposal, path, typed_entry(advice, question, option, moved));
  snprintf(path, sizeof path, "cluster.pools.%u.classes", (unsigned)question->pool);
  hr__proposal_set_json(proposal, path, other_classes(advice, question));
  if (!elastic) hr__proposal_set(proposal, "cluster.pools.%u.nodes=%u", (unsigned)question->pool, (unsigned)left);
}

static void set_in_place(const struct hr_advice *advice, const struct gpu_question *question,
                         const struct gpu_option *option, struct hr__proposal *proposal) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  char path[60];
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)question->pool);
  uint64_t gpus = (uint64_t)spec->nodes * spec->gpus_per_node;
  hr__proposal_set_json(proposal, path, typed_entry(advice, question, option, gpus));
}

/* ---- GPU types: assumptions ------------------------------------------------------------------------- */

/* The speed of GPU type `gpu` relative to `old`, by the dense FP16 TFLOPS of the catalogue; NaN if unknown. */
static double speed_ratio(const struct hr_advice *advice, const char *gpu, const char *old) {
  const struct hr_gpu_type *a, *b;
  if (!old || hr_catalog_gpu(advice->catalog, gpu, &a, NULL) != HR_OK ||
      hr_catalog_gpu(advice->catalog, old, &b, NULL) != HR_OK)
    return HR__UNKNOWN;
  return a->fp16_tflops > 0 && b->fp16_tflops > 0 ? a->fp16_tflops / b->fp16_tflops : HR__UNKNOWN;
}

static void assume_speed(const struct hr_advice *advice, const struct gpu_question *question,
                         const struct gpu_option *option, struct hr__proposal *proposal) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  double ratio = speed_ratio(advice, option->gpu, spec->gpu);
  double share = (double)option->price_uusd_h / (double)spec->market.price_uusd_h;
  char known[100] = "";
  if (!isnan(ratio))
    snprintf(known, sizeof known, "; by the catalogue's dense FP16 TFLOPS it is %.3g times as fast", ratio);
  hr__proposal_assume(proposal,
                      "speed assumed equal, since the scenario has no 'models': it saves per GPU-hour only if %s "
                      "is at least %.3g times as fast as %s%s",
                      option->gpu, share, spec->gpu ? spec->gpu : "the pool's GPUs", known);
}

static enum hr_status assume(const struct hr_advice *advice, const struct gpu_question *question,
                             const struct gpu_option *option, struct hr__proposal *proposal, struct hr_error *error) {
  const struct hr_speeds *speeds = hr__runner_scenario(advice->runner, proposal->candidate)->speeds;
  enum hr_status status = speeds ? hr_speed_notes(advice->config.trace, speeds, &proposal->assumed, error) : HR_OK;
  if (!speeds) assume_speed(advice, question, option, proposal);
  if (question->typed)
    hr__proposal_assume(proposal, "%" PRIu64 " job starts in the pool name acceptable GPU types, which are respected",
                        question->typed);
  if (question->unknown)
    hr__proposal_assume(proposal, "jobs with unknown GPU memory are assumed to fit in %.4g GB", option->mem_gb);
  hr__proposal_assume(proposal, "a GPU-hour of %s costs $%.6g (%s%.100s)", option->gpu,
                      (double)option->price_uusd_h / 1e6, option->instance ? "catalogue: " : "pool ",
                      option->instance ? option->instance->name : hr__advice_pool(advice, option->pool)->name);
  return status;
}

/* Checks a proposal at the catalogue's GPU speeds if the scenario has no speeds. If all pools have the same GPU type,
   the proposal is also run with speeds relative to that type. Such speeds do not change the runs of the unchanged
   scenario. If pools have different types, nothing is run. In this case, an objection is stored if the price ratio
   of the two GPU types is larger than their speed ratio. This is done only for pools that are paid for only while
   allocated. */
static enum hr_status check_speed(struct hr_advice *advice, const struct gpu_question *question,
                                  const struct gpu_option *option, struct hr__proposal *proposal,
                                  struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  const struct hr_pool_spec *spec = &cluster->pools[question->pool];
  double ratio = speed_ratio(advice, option->gpu, spec->gpu);
  bool one_type = true;
  if (advice->config.scenario->speeds || isnan(ratio)) return HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    one_type &=
        !cluster->pools[i].nodes || (cluster->pools[i].gpu && strcasecmp(cluster->pools[i].gpu, spec->gpu) == 0);
  if (!one_type) {
    double share = (double)option->price_uusd_h / (double)spec->market.price_uusd_h;
    if (share > ratio && isnan(fixed_utilization(advice, question->pool)))
      snprintf(proposal->objection, sizeof proposal->objection,
               "by the catalogue's TFLOPS it is %.3g times as fast, at %.3g of the price", ratio, share);
    return HR_OK;
  }
  cJSON *models = cJSON_CreateObject();
  if (!models || !hr__put_text(models, "reference", spec->gpu)) {
    cJSON_Delete(models);
    models = NULL;
  }
  hr__proposal_set_json(proposal, "models", models);
  if (proposal->out_of_memory) return hr__advice_no_memory(error);
  struct hr_error inner = {0};
  enum hr_status status =
      hr__runner_add_candidate(advice->runner, (const char *const *)proposal->set.at, proposal->set.count,
                               advice->environment, &proposal->stricter, &inner);
  free(proposal->set.at[--proposal->set.count]);
  if (status == HR_OK) return HR_OK;
  proposal->stricter = HR_NONE;
  return status == HR_BAD_INPUT ? HR_OK : hr_fail(error, status, "%s", inner.text);
}

static enum hr_status propose(struct hr_advice *advice, const struct gpu_question *question,
                              const struct gpu_option *option, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  struct hr__proposal proposal;
  hr__proposal_init(&proposal, HR_ADVICE_GPU_TYPE, question->class_, question->pool);
  snprintf(proposal.from, sizeof proposal.from, "%.90s", spec->gpu ? spec->gpu : "untyped GPUs");
  snprintf(proposal.to, sizeof proposal.to, "%.90s%s%.90s", option->gpu, option->instance ? " on " : "",
           option->instance ? option->instance->name : "");
  if (question->class_ == HR_N_CLASSES)
    set_in_place(advice, question, option, &proposal);
  else
    set_beside(advice, question, option, &proposal);
  enum hr_status status = hr__proposal_load(advice, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE) status = assume(advice, question, option, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE)
    status = check_speed(advice, question, option, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE) return hr__proposal_keep(advice, &proposal, error);
  hr__proposal_finish(&proposal);
  return status;
}

static enum hr_status propose_all(struct hr_advice *advice, const struct gpu_question *question,
                                  struct hr_error *error) {
  const struct hr_pool_source *sources = advice->config.scenario->pool_sources;
  struct gpu_options found = {.count = 0};
  enum hr_status status = HR_OK;
  find_in_pools(advice, question, &found);
  if (sources && sources[question->pool].provider &&
      hr__advice_pool(advice, question->pool)->market.market != HR_MARKET_OWNED)
    find_in_catalog(advice, question, &found);
  /* If all speeds are equal, a more expensive type can save money only through its memory, so one option suffices. */
  if (question->larger && !advice->config.scenario->speeds && found.count > 1) found.count = 1;
  for (size_t i = 0; i < found.count && status == HR_OK; i++) status = propose(advice, question, &found.at[i], error);
  return status;
}

/* ---- GPU types: pools and classes to examine -------------------------------------------------------- */

/* Compares requested memory with the memory of a GPU. Returns a value below 0 if a smaller type suffices, and a value
   above 0 if a larger type may be needed. */
static int memory_fit(const struct hr_pool_spec *spec, const struct hr__pool_use *use) {
  if (!spec->gpu_mem_mib || !use->max_mem_mib) return 0;
  double share = (double)use->max_mem_mib / spec->gpu_mem_mib;
  return share < low_share && !use->mem_unknown ? -1 : share > high_share ? 1 : 0;
}

static void add_needs(const struct hr_advice *advice, struct gpu_question *question) {
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    const struct hr__pool_use *use = hr__run_profile_use(&advice->profile, i, question->pool);
    if ((question->class_ != HR_N_CLASSES && question->class_ != i) || use->starts == 0) continue;
    if (use->max_mem_mib > question->need_mib) question->need_mib = use->max_mem_mib;
    question->unknown |= use->mem_unknown > 0;
    question->typed += use->typed;
  }
}

static uint32_t count_classes(const struct hr__run_profile *profile, uint32_t pool) {
  uint32_t count = 0;
  for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++)
    count += hr__run_profile_use(profile, class_, pool)->starts > 0;
  return count;
}

static enum hr_status advise_pool(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  uint32_t users = count_classes(&advice->profile, pool), small = 0, large = 0;
  double allocated = fixed_utilization(advice, pool);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    int fit = memory_fit(spec, hr__run_profile_use(&advice->profile, i, pool));
    small += fit < 0;
    large += fit > 0;
  }
  struct gpu_question whole = {
      .pool = pool, .class_ = HR_N_CLASSES, .larger = allocated > high_share || large == users};
  add_needs(advice, &whole);
  if (allocated < low_share || allocated > high_share || small == users || large == users)
    return propose_all(advice, &whole, error);
  bool nameless = hr__run_profile_use(&advice->profile, HR_CLASS_UNKNOWN, pool)->starts > 0;
  for (uint32_t i = HR_CLASS_UNKNOWN + 1; i < HR_N_CLASSES && !nameless && status == HR_OK; i++) {
    int fit = memory_fit(spec, hr__run_profile_use(&advice->profile, i, pool));
    struct gpu_question one = {.pool = pool, .class_ = i, .larger = fit > 0};
    add_needs(advice, &one);
    if (fit) status = propose_all(advice, &one, error);
  }
  return status;
}

enum hr_status hr__advise_gpu_types(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < advice->profile.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = hr__advice_pool(advice, i);
    bool priced = spec->market.price_uusd_h > 0 && spec->market.market != HR_MARKET_SPOT;
    if (priced && spec->nodes && spec->sharing != HR_SHARING_MIG && count_classes(&advice->profile, i))
      status = advise_pool(advice, i, error);
  }
  return status;
}
