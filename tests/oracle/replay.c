/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts a workload to a trace, a cluster and a policy for Headroom, and to the input of the naive scheduler. Runs
   both and compares their starts and placements. */

#include "replay.h"
#include "headroom/trace_files.h"
#include "or_abort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_NAME(name, order, fair_share, key) {order, fair_share},
static const struct order_name { const char *order, *fair_share; } order_names[] = {NAIVE_ORDER_TABLE(ORDER_NAME)};
static const char *const backfill_names[] = {"strict", "skip", "easy", "conservative"};
static const char *const placement_names[] = {"pool", "first-fit", "best-fit", "worst-fit"};

struct replay_rules replay_rules_at(uint32_t number) {
  return (struct replay_rules){
      .placement = (enum naive_placement_rule)(number % NAIVE_PLACEMENTS),
      .backfill = (enum naive_backfill)(number / NAIVE_PLACEMENTS % NAIVE_BACKFILLS),
      .order = (enum naive_order)(number / NAIVE_PLACEMENTS / NAIVE_BACKFILLS),
  };
}

const char *replay_rules_text(struct replay_rules rules, char *buffer) {
  struct order_name name = order_names[rules.order];
  snprintf(buffer, 64, "%s%s%s, %s, %s", name.order, name.fair_share ? " " : "", name.fair_share ? name.fair_share : "",
           backfill_names[rules.backfill], placement_names[rules.placement]);
  return buffer;
}

bool replay_has_order(const char *order) {
  for (size_t i = 0; i < NAIVE_ORDERS; i++)
    if (strcmp(order_names[i].order, order) == 0) return true;
  return false;
}

bool replay_uses_history(struct replay_rules rules) {
  return rules.order >= NAIVE_FAIR_TREE;
}

void replay_outcome_finish(struct replay_outcome *outcome) {
  naive_result_finish(&outcome->result, outcome->n_jobs);
}

/* ---- Headroom ------------------------------------------------------------------------------------------- */

/* Formats the members of a set of types or regions, such as "G0|G2". */
static struct hr_text format_set(char letter, uint32_t set, char *buffer) {
  size_t length = 0;
  for (uint32_t i = 0; set >> i; i++)
    if (set >> i & 1) length += (size_t)sprintf(buffer + length, "%s%c%" PRIu32, length ? "|" : "", letter, i);
  return (struct hr_text){buffer, length};
}

struct hr_trace *replay_trace(const struct replay_case *workload) {
  struct hr_error error;
  struct hr_trace_builder *builder = hr_trace_builder_create("oracle", "memory");
  if (!builder) abort();
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    const struct replay_job *job = &workload->jobs[i];
    char types[REPLAY_TYPES * 4], regions[REPLAY_REGIONS * 4], tenant[16], user[16];
    struct hr_job_record record;
    hr_job_record_init(&record);
    record.submit_us = job->submit;
    record.work_us = job->work;
    record.gpus = record.min_gpus = record.max_gpus = workload->shares ? job->gpus > 0 : job->gpus;
    if (workload->shares && job->gpus) record.gpu_milli = job->gpus;
    record.priority = job->priority;
    record.class_ = job->class_;
    if (job->tenant)
      record.tenant = (struct hr_text){tenant, (size_t)snprintf(tenant, sizeof tenant, "T%" PRIu32, job->tenant)};
    if (job->user) record.user = (struct hr_text){user, (size_t)snprintf(user, sizeof user, "U%" PRIu32, job->user)};
    if (job->name) record.model = (struct hr_text){replay_name(job->name), strlen(replay_name(job->name))};
    if (job->deadline) record.deadline_us = job->deadline;
    if (job->limit >= 0) record.limit_us = job->limit;
    if (job->estimate >= 0) record.estimate_us = job->estimate;
    if (job->types) record.gpu_types = format_set('G', job->types, types);
    if (job->regions) record.regions = format_set('R', job->regions, regions);
    ok_or_abort(hr_trace_builder_add(builder, &record, i + 2, &error), &error);
  }
  struct hr_trace *trace = NULL;
  ok_or_abort(hr_trace_builder_finish(builder, false, false, &trace, &error), &error);
  hr_trace_builder_destroy(builder);
  return trace;
}

struct replay_job *replay_jobs_of(const struct hr_trace *trace) {
  struct replay_job *jobs = calloc_or_abort(trace->n_jobs, sizeof *jobs);
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    jobs[i] = (struct replay_job){
        .submit = trace->submit_us[i],
        .work = trace->work_us[i],
        .limit = trace->limit_us ? trace->limit_us[i] : -1,
        .estimate = trace->estimate_us ? trace->estimate_us[i] : -1,
        .priority = trace->priority ? trace->priority[i] : 0,
        .gpus = trace->gpus[i],
        .tenant = trace->tenant && trace->tenant[i] != HR_NONE ? trace->tenant[i] + 1 : 0,
        .user = trace->user && trace->user[i] != HR_NONE ? trace->user[i] + 1 : 0,
    };
  return jobs;
}

static struct hr_cluster_spec make_cluster(const struct replay_case *workload) {
  struct hr_cluster_spec spec = {0};
  struct hr_error error;
  for (uint32_t p = 0; p < workload->n_pools; p++) {
    char name[16], gpu[16], region[16];
    snprintf(name, sizeof name, "pool%" PRIu32, p);
    snprintf(gpu, sizeof gpu, "G%" PRIu32, workload->pools[p].type);
    snprintf(region, sizeof region, "R%" PRIu32, workload->pools[p].region - 1);
    struct hr_pool_spec pool = {.name = name,
                                .gpu = gpu,
                                .region = workload->pools[p].region ? region : NULL,
                                .nodes = workload->pools[p].shape.nodes,
                                .gpus_per_node = workload->shares ? 1 : workload->pools[p].shape.gpus_per_node,
                                .sharing = workload->shares ? HR_SHARING_FRACTION : HR_SHARING_WHOLE,
                                .classes = workload->pools[p].classes};
    ok_or_abort(hr_cluster_spec_add(&spec, &pool, &error), &error);
  }
  return spec;
}

static int compare_units(const void *a, const void *b) {
  const struct naive_slot *x = a, *y = b;
  return (x->unit > y->unit) - (x->unit < y->unit);
}

/* An observer that records the placement of each job at its start. */
static void record_placement(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  struct naive_placement *placement = &((struct naive_placement *)self)[event->job.id];
  const struct hr_placement *granted = event->placement;
  uint32_t unit_milli = hr_cluster_gpu_inventory(view->cluster) ? 1 : 1000;
  bool counted = granted->n_slices == 0 && view->jobs->gpus[event->job.id] > 0;
  free(placement->slot);
  placement->count = counted ? 1 : granted->n_slices;
  placement->slot = calloc_or_abort(placement->count, sizeof *placement->slot);
  if (counted) placement->slot[0] = (struct naive_slot){granted->pool.id, view->jobs->gpus[event->job.id]};
  for (uint32_t i = 0; i < granted->n_slices; i++)
    placement->slot[i] = (struct naive_slot){granted->slices[i].node.id, granted->slices[i].gpu_milli / unit_milli};
  qsort(placement->slot, placement->count, sizeof *placement->slot, compare_units);
}

/* Quotas that give tenants weights but no limits. Tenant 0 has the jobs without a tenant. */
struct tenant_weights {
  struct hr_quota_spec spec;
  struct hr_quota_node node[REPLAY_TENANTS];
  char name[REPLAY_TENANTS][16];
};

/* Returns whether tenants have weights. In Headroom, weights need quotas. With quotas, a job that requests more GPUs
   than are free in the whole cluster waits for its quota, and does not block later jobs. The naive scheduler has no
   quotas. The two schedulers therefore agree only under backfill `skip`, under which no waiting job blocks later jobs.
 */
static bool has_tenant_weights(const struct replay_case *workload, struct replay_rules rules) {
  return replay_uses_history(rules) && rules.backfill == NAIVE_SKIP && workload->params.tenant_weight[0] > 0;
}

static void set_tenant_weights(const struct naive_params *params, struct tenant_weights *weights) {
  weights->spec = (struct hr_quota_spec){.nodes = weights->node, .n_nodes = REPLAY_TENANTS - 1};
  for (uint32_t t = 0; t < REPLAY_TENANTS; t++) {
    struct hr_quota_node *node = t ? &weights->node[t - 1] : &weights->spec.fallback;
    snprintf(weights->name[t], sizeof weights->name[t], "T%" PRIu32, t);
    *node = (struct hr_quota_node){.name = t ? weights->name[t] : NULL,
                                   .parent = HR_NONE,
                                   .is_tenant = true,
                                   .borrow_milli = HR_NO_LIMIT,
                                   .lend_milli = HR_NO_LIMIT,
                                   .max_milli = HR_NO_LIMIT,
                                   .weight = params->tenant_weight[t]};
  }
}

static struct hr_policy_choice make_policy(const struct replay_case *workload, struct replay_rules rules) {
  struct hr_policy_choice choice;
  struct hr_error error;
  ok_or_abort(hr_policy_choice_init(&choice, "queue", &error), &error);
  ok_or_abort(hr_policy_choice_set(&choice, "order", order_names[rules.order].order, &error), &error);
  ok_or_abort(hr_policy_choice_set(&choice, "backfill", backfill_names[rules.backfill], &error), &error);
  ok_or_abort(hr_policy_choice_set(&choice, "placement", placement_names[rules.placement], &error), &error);
  if (rules.order == NAIVE_GITTINS) ok_or_abort(hr_policy_choice_set(&choice, "preemption", "none", &error), &error);
  if (replay_uses_history(rules)) replay_set_params(&choice, &workload->params, order_names[rules.order].fair_share);
  return choice;
}

struct replay_outcome replay_headroom(const struct hr_trace *trace, const struct replay_case *workload,
                                      struct replay_rules rules, bool check) {
  struct replay_outcome outcome = {.n_jobs = trace->n_jobs};
  outcome.result.start = calloc_or_abort(trace->n_jobs, sizeof *outcome.result.start);
  outcome.result.placement = calloc_or_abort(trace->n_jobs, sizeof *outcome.result.placement);
  struct hr_cluster_spec cluster = make_cluster(workload);
  struct hr_policy_choice policy = make_policy(workload, rules);
  struct hr_observer observer = {.self = outcome.result.placement, .on_event = record_placement};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &cluster,
                                 .policy = policy.ops,
                                 .params = policy.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct tenant_weights weights;
  set_tenant_weights(&workload->params, &weights);
  if (has_tenant_weights(workload, rules)) config.quotas = &weights.spec;
  struct hr_result *result = NULL;
  outcome.failed = hr_sim_run(&config, &result, &outcome.error) != HR_OK;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    bool ran = !outcome.failed && result->start_us[i] != HR_NEVER_US;
    outcome.result.start[i] = ran ? result->start_us[i] : -1;
  }
  if (!outcome.failed) outcome.digest = result->digest;
  hr_result_destroy(result);
  hr_policy_choice_finish(&policy);
  hr_cluster_spec_finish(&cluster);
  return outcome;
}

/* ---- The naive scheduler -------------------------------------------------------------------------------- */

static uint32_t accepted_pools(const struct replay_case *workload, const struct replay_job *job) {
  uint32_t accepted = 0;
  for (uint32_t p = 0; p < workload->n_pools; p++) {
    const struct replay_pool *pool = &workload->pools[p];
    bool type_matches = !job->types || job->types >> pool->type & 1;
    bool region_matches = !job->regions || (pool->region && job->regions >> (pool->region - 1) & 1);
    bool class_matches = !pool->classes || pool->classes >> job->class_ & 1;
    if (type_matches && region_matches && class_matches) accepted |= 1u << p;
  }
  return accepted;
}

/* The arrays of struct naive_input, one element per job. */
struct columns {
  int64_t *submit, *work, *limit, *estimate, *deadline;
  int32_t *priority;
  uint32_t *gpus, *accepts, *tenant, *user;
  const char **name;
};

static struct columns make_columns(const struct replay_case *workload) {
  uint32_t n = workload->n_jobs;
  struct columns c = {
      .submit = calloc_or_abort(n, sizeof *c.submit),
      .work = calloc_or_abort(n, sizeof *c.work),
      .limit = calloc_or_abort(n, sizeof *c.limit),
      .estimate = calloc_or_abort(n, sizeof *c.estimate),
      .deadline = calloc_or_abort(n, sizeof *c.deadline),
      .priority = calloc_or_abort(n, sizeof *c.priority),
      .gpus = calloc_or_abort(n, sizeof *c.gpus),
      .accepts = calloc_or_abort(n, sizeof *c.accepts),
      .tenant = calloc_or_abort(n, sizeof *c.tenant),
      .user = calloc_or_abort(n, sizeof *c.user),
      .name = calloc_or_abort(n, sizeof *c.name),
  };
  for (uint32_t i = 0; i < n; i++) {
    const struct replay_job *job = &workload->jobs[i];
    c.submit[i] = job->submit - workload->jobs[0].submit;
    c.work[i] = job->work;
    c.limit[i] = job->limit;
    c.estimate[i] = job->estimate;
    c.priority[i] = job->priority;
    c.gpus[i] = job->gpus;
    c.deadline[i] = job->deadline ? job->deadline - workload->jobs[0].submit : -1;
    c.tenant[i] = job->tenant;
    c.user[i] = job->user;
    c.name[i] = replay_name(job->name);
    c.accepts[i] = accepted_pools(workload, job);
  }
  return c;
}

static void columns_finish(struct columns *c) {
  void *owned[] = {c->submit, c->work,    c->limit,  c->estimate, c->deadline, c->priority,
                   c->gpus,   c->accepts, c->tenant, c->user,     c->name};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

struct replay_outcome replay_naive(const struct replay_case *workload, struct replay_rules rules) {
  struct columns c = make_columns(workload);
  struct naive_input input = {
      .n_jobs = workload->n_jobs,
      .submit = c.submit,
      .work = c.work,
      .limit = c.limit,
      .estimate = c.estimate,
      .priority = c.priority,
      .gpus = c.gpus,
      .units_per_gpu = workload->shares ? 1000 : 1,
      .accepts = c.accepts,
      .deadline = c.deadline,
      .tenant = c.tenant,
      .user = c.user,
      .name = c.name,
      .params = workload->params,
      .n_pools = workload->n_pools,
      .order = rules.order,
      .backfill = rules.backfill,
      .placement = rules.placement,
  };
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS && !has_tenant_weights(workload, rules); t++)
    input.params.tenant_weight[t] = 1;
  for (uint32_t p = 0; p < workload->n_pools; p++) {
    input.pools[p] = workload->pools[p].shape;
    input.gpu_type[p] = workload->pools[p].type;
  }
  struct replay_outcome outcome = {.n_jobs = workload->n_jobs, .result = naive_run(&input)};
  for (uint32_t i = 0; i < outcome.n_jobs; i++) {
    struct naive_placement *placement = &outcome.result.placement[i];
    if (placement->count) qsort(placement->slot, placement->count, sizeof *placement->slot, compare_units);
  }
  columns_finish(&c);
  return outcome;
}

/* ---- Comparison ----------------------------------------------------------------------------------------- */

static bool same_placement(const struct naive_placement *a, const struct naive_placement *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->slot[i].unit != b->slot[i].unit || a->slot[i].gpus != b->slot[i].gpus) return false;
  return true;
}

uint32_t replay_first_difference(const struct replay_outcome *a, const struct replay_outcome *b) {
  for (uint32_t i = 0; i < a->n_jobs; i++) {
    if (a->failed || b->failed || a->result.start[i] != b->result.start[i]) return i;
    if (a->result.start[i] >= 0 && !same_placement(&a->result.placement[i], &b->result.placement[i])) return i;
  }
  return HR_NONE;
}

static void print_outcome(const struct replay_outcome *outcome, uint32_t job) {
  if (outcome->result.start[job] < 0) {
    printf(" never");
    return;
  }
  printf(" %" PRId64 " on", outcome->result.start[job]);
  const struct naive_placement *placement = &outcome->result.placement[job];
  for (uint32_t i = 0; i < placement->count; i++)
    printf(" %" PRIu32 ":%" PRIu32, placement->slot[i].unit, placement->slot[i].gpus);
}

void replay_print(const struct replay_case *workload, struct replay_rules rules, const struct replay_outcome *naive,
                  const struct replay_outcome *headroom) {
  char text[64];
  printf("\n%s\n", replay_rules_text(rules, text));
  for (uint32_t p = 0; p < workload->n_pools; p++)
    printf("pool %" PRIu32 ": %" PRIu32 " nodes x %" PRIu32 " GPUs of type G%" PRIu32 " in region %" PRIu32
           " - 1, classes %" PRIx32 "\n",
           p, workload->pools[p].shape.nodes, workload->pools[p].shape.gpus_per_node, workload->pools[p].type,
           workload->pools[p].region, workload->pools[p].classes);
  if (replay_uses_history(rules)) replay_print_params(&workload->params);
  if (headroom->failed) printf("Headroom failed: %s\n", headroom->error.text);
  printf("job: submit work limit estimate priority gpus types regions class tenant deadline user name | naive start, "
         "units | "
         "Headroom\n");
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    const struct replay_job *j = &workload->jobs[i];
    printf("%" PRIu32 ": %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId32 " %" PRIu32 " %" PRIx32 " %" PRIx32
           " %u %" PRIu32 " %" PRId64 " %" PRIu32 " %" PRIu32 " |",
           i, j->submit - workload->jobs[0].submit, j->work, j->limit, j->estimate, j->priority, j->gpus, j->types,
           j->regions, (unsigned)j->class_, j->tenant, j->deadline ? j->deadline - workload->jobs[0].submit : -1,
           j->user, j->name);
    print_outcome(naive, i);
    printf(" |");
    print_outcome(headroom, i);
    printf("\n");
  }
}
