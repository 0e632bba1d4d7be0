/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice: from a profile of one run (run_profile.c) to changes that are worth making.
 *
 * The profile suggests what to try. Each proposal is the scenario under some overrides, run over the same replications
 * as the unchanged scenario, and only the paired difference decides whether it is advised.
 */

#include "plan/advise/advise.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------------- */

const char *hr_advice_kind_name(enum hr_advice_kind kind) {
#define WORD(name, text) text,
  static const char *const names[] = {HR_ADVICE_TABLE(WORD)};
#undef WORD
  return names[kind];
}

/* The only tenant that used the pool for a class (HR_N_CLASSES: for any; HR_NONE: any pool); HR_NONE: several, or none.
 */
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

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

/* ---- Metrics kept of every run --------------------------------------------------------------------- */

static void add_group(struct hr_advice *advice, enum hr__figure_scope of, const char *name) {
  static const enum hr__measure measures[HR__A_GROUP_FIGURES] = {HR__M_WAIT_P95, HR__M_COMPLETED_SHARE, HR__M_COST};
  for (size_t i = 0; i < HR__A_GROUP_FIGURES; i++)
    advice->figures[advice->n_figures++] = (struct hr__figure){.measure = measures[i], .of = of, .name = name};
}

/* Marks the classes of the trace's jobs. */
static void find_classes(const struct hr_trace *trace, bool there[HR_N_CLASSES]) {
  for (uint32_t job = 0; trace->class_ && job < trace->n_jobs; job++) there[trace->class_[job]] = true;
}

static enum hr_status list_figures(struct hr_advice *advice, struct hr_error *error) {
  static const enum hr__measure measures[HR__A_GROUPS] = {HR__M_MONTHLY, HR__M_COST, HR__M_LOST};
  const struct hr_trace *trace = advice->config.trace;
  uint32_t n_tenants = trace->tenant ? trace->tenants.count : 0;
  bool there[HR_N_CLASSES] = {false};
  size_t max = HR__A_GROUPS + (size_t)HR__A_GROUP_FIGURES * (HR_N_CLASSES + 1 + n_tenants);
  advice->figures = calloc(max, sizeof *advice->figures);
  advice->tenant_at = calloc((size_t)n_tenants + 1, sizeof *advice->tenant_at);
  if (!advice->figures || !advice->tenant_at) return no_memory(error);
  for (size_t i = 0; i < HR__A_GROUPS; i++)
    advice->figures[advice->n_figures++] = (struct hr__figure){.measure = measures[i]};
  add_group(advice, HR__OF_ALL, NULL);
  find_classes(trace, there);
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    advice->class_at[i] = there[i] && i != HR_CLASS_UNKNOWN ? (uint32_t)advice->n_figures : HR_NONE;
    if (advice->class_at[i] != HR_NONE) add_group(advice, HR__OF_CLASS, hr_job_class_name((enum hr_job_class)i));
  }
  for (uint32_t i = 0; i < n_tenants; i++) {
    advice->tenant_at[i] = (uint32_t)advice->n_figures;
    add_group(advice, HR__OF_TENANT, trace->tenants.text[i]);
  }
  return HR_OK;
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
  return *value ? HR_OK : no_memory(error);
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
  return status == HR_OK ? HR_OK : no_memory(error);
}

static void find_policy(struct hr_advice *advice) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    if (strcmp(policy->ops->params[i].key, "market") != 0) continue;
    /* With per-GPU allocation the policy has no other market rule. */
    advice->has_market_rule = !hr_cluster_spec_by_gpu(&advice->config.scenario->cluster);
    advice->managed = strcmp(hr_policy_choice_text(policy, i, buffer), "static") != 0;
  }
}

static uint32_t count_replications(const struct hr_advise_config *config) {
  if (config->n_replications) return config->n_replications;
  if (config->scenario->replications.count) return config->scenario->replications.count;
  return HR_LEAST_REPLICATIONS;
}

static enum hr_status prepare(struct hr_advice *advice, struct hr_error *error) {
  const struct hr_advise_config *config = &advice->config;
  const struct hr_scenario *scenario = config->scenario;
  if (!hr_scenario_has_prices(scenario))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: nothing has a price, so nothing can be saved; give pools a 'market' and a price, e.g. "
                   "--set cluster.pools.0.market=on-demand --set cluster.pools.0.usd_per_gpu_hour=2.5, or an "
                   "'instance' of the catalogue ('headroom list prices')",
                   scenario->path);
  enum hr_status status = list_figures(advice, error);
  if (status == HR_OK) status = read_parts(advice, error);
  if (status != HR_OK) return status;
  find_policy(advice);
  advice->n_replications = count_replications(config);
  advice->scratch = calloc((size_t)advice->n_replications + 1, sizeof *advice->scratch);
  if (!advice->scratch) return no_memory(error);
  struct hr__runner_config runner_config = {.scenario = scenario,
                                            .overrides = config->overrides,
                                            .n_overrides = config->n_overrides,
                                            .trace = config->trace,
                                            .figures = advice->figures,
                                            .n_figures = advice->n_figures,
                                            .n_threads = config->n_threads,
                                            .progress = config->progress};
  struct hr__environment environment = {.workload = scenario->replications.workload};
  hr_stress_init(&environment.stress);
  advice->runner = hr__runner_create(&runner_config);
  if (!advice->runner) return no_memory(error);
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

static enum hr_status evaluate(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  uint32_t count = advice->n_replications;
  enum hr_status status =
      hr__advice_difference(advice, proposal->candidate, HR__A_MONTHLY, count, &proposal->monthly_usd, error);
  const struct hr__interval *usd = &proposal->monthly_usd;
  if (status != HR_OK) return status;
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

/* Among proposals that change the same thing only the one that saves most is advised. */
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

/* Advised proposals first, then by savings; unknown savings last. */
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
  if (!candidates) return no_memory(error);
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
  if (status == HR_OK)
    status = hr__run_profile_make(advice->config.scenario, advice->config.trace, &advice->profile, error);
  if (status == HR_OK) status = hr__advice_run(advice, NULL, 0, advice->n_replications, error);
  if (status == HR_OK && advice->pools) status = hr__advise_gpu_types(advice, error);
  if (status == HR_OK) status = hr__advise_capacity(advice, error);
  return status == HR_OK ? evaluate_all(advice, error) : status;
}

enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice, struct hr_error *error) {
  *advice = NULL;
  struct hr_advice *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
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
  hr__run_profile_finish(&advice->profile);
  hr__runner_destroy(advice->runner);
  hr_catalog_destroy(advice->catalog);
  cJSON_Delete(advice->pools);
  cJSON_Delete(advice->classes);
  free(advice->figures);
  free(advice->tenant_at);
  free(advice->scratch);
  hr_notes_finish(&advice->notes);
  free(advice);
}

/* ---- Results --------------------------------------------------------------------------------------- */

size_t hr_advice_count(const struct hr_advice *advice) {
  return advice->n_proposals;
}

const struct hr_notes *hr_advice_notes(const struct hr_advice *advice) {
  return &advice->notes;
}

void hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item) {
  const struct hr__proposal *proposal = &advice->proposals[place];
  const struct hr__interval *usd = &proposal->monthly_usd;
  size_t wait = hr__advice_group_figure(advice, proposal->class_, HR__A_WAIT);
  size_t completed = hr__advice_group_figure(advice, proposal->class_, HR__A_COMPLETED);
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
      .wait_p95_s = hr__advice_figure(advice, proposal->candidate, wait, advice->n_replications),
      .completed = hr__advice_figure(advice, proposal->candidate, completed, advice->n_replications)};
}
