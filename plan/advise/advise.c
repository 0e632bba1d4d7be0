/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change in the making: overrides that a person can repeat with --set, what they take for granted, and edits of the
   scenario's own entries, so that whatever else a pool says stays as it is. */

#include "plan/advise/advise.h"

#include "base/text.h"
#include "plan/search/evaluator.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr__proposal_init(struct hr__proposal *proposal, enum hr_advice_kind kind, uint32_t class_, uint32_t pool) {
  *proposal = (struct hr__proposal){.kind = kind, .class_ = class_, .pool = pool, .mix = HR_NONE, .stricter = HR_NONE};
}

void hr__proposal_finish(struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++) free(proposal->set.at[i]);
  free(proposal->set.at);
  hr_notes_finish(&proposal->assumed);
  *proposal = (struct hr__proposal){.mix = HR_NONE, .stricter = HR_NONE};
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

/* ---- Overrides -------------------------------------------------------------------------------------- */

/* Takes the text over. */
static enum hr_status add_text(struct hr__texts *texts, char *text, struct hr_error *error) {
  char **grown = text ? realloc(texts->at, (texts->count + 1) * sizeof *grown) : NULL;
  if (!grown) {
    free(text);
    return no_memory(error);
  }
  texts->at = grown;
  grown[texts->count++] = text;
  return HR_OK;
}

enum hr_status hr__proposal_set(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return add_text(&proposal->set, strdup(text), error);
}

enum hr_status hr__proposal_set_json(struct hr__proposal *proposal, const char *path, cJSON *value,
                                     struct hr_error *error) {
  char *json = value ? cJSON_PrintUnformatted(value) : NULL;
  size_t size = strlen(path) + 2 + (json ? strlen(json) : 0);
  char *text = json ? malloc(size) : NULL;
  if (text) snprintf(text, size, "%s=%s", path, json);
  cJSON_free(json);
  cJSON_Delete(value);
  return add_text(&proposal->set, text, error);
}

enum hr_status hr__proposal_assume(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_notes_add(&proposal->assumed, "%s", text) == HR_OK ? HR_OK : no_memory(error);
}

enum hr_status hr__proposal_manage(const struct hr_advice *advice, struct hr__proposal *proposal, bool spot,
                                   struct hr_error *error) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  if (!advice->queue) return HR_OK;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    const char *key = policy->ops->params[i].key, *value = hr_policy_choice_text(policy, i, buffer);
    enum hr_status status = HR_OK;
    if (strcmp(key, "placement") == 0 && strcmp(value, "pool") == 0)
      status = hr__proposal_set(proposal, error, "policy.placement=best-fit");
    else if (strcmp(key, "market") == 0 &&
             (strcmp(value, "static") == 0 || (spot && strcmp(value, "on-demand-only") == 0)))
      status = hr__proposal_set(proposal, error, "policy.market=%s", spot ? "spot-first" : "on-demand-only");
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Keeping one ------------------------------------------------------------------------------------ */

/* Whether it can be run is then known to the policy alone. */
static bool changes_policy(const struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++)
    if (strncmp(proposal->set.at[i], "policy.", strlen("policy.")) == 0) return true;
  return false;
}

enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  struct hr_error inner = {0};
  enum hr_status status = hr__runner_add_candidate(advice->lab, (const char *const *)proposal->set.at,
                                                   proposal->set.count, advice->world, &proposal->mix, &inner);
  if (status == HR_OK && changes_policy(proposal)) status = hr__advice_run(advice, &proposal->mix, 1, 1, &inner);
  if (status == HR_OK) return HR_OK;
  proposal->mix = HR_NONE;
  if (status != HR_BAD_INPUT) return hr_fail(error, status, "%s", inner.text);
  status = hr_notes_add(&advice->notes, "%s: %.100s -> %.100s cannot be run: %.500s",
                        hr_advice_kind_name(proposal->kind), proposal->from, proposal->to, inner.text);
  return status == HR_OK ? HR_OK : no_memory(error);
}

enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  enum hr_status status = proposal->mix == HR_NONE ? hr__proposal_load(advice, proposal, error) : HR_OK;
  struct hr__proposal *grown = NULL;
  if (status == HR_OK && proposal->mix != HR_NONE) {
    grown = realloc(advice->proposals, (advice->n_proposals + 1) * sizeof *grown);
    if (!grown) status = no_memory(error);
  }
  if (!grown) {
    hr__proposal_finish(proposal);
    return status;
  }
  advice->proposals = grown;
  grown[advice->n_proposals++] = *proposal;
  return HR_OK;
}

/* ---- Entries of pools ------------------------------------------------------------------------------- */

static bool is_taken(const struct hr_advice *advice, const char *name) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

bool hr__put_item(cJSON *entry, const char *key, cJSON *value) {
  cJSON_DeleteItemFromObjectCaseSensitive(entry, key);
  if (value && cJSON_AddItemToObject(entry, key, value)) return true;
  cJSON_Delete(value);
  return false;
}

bool hr__put_number(cJSON *entry, const char *key, double number) {
  return hr__put_item(entry, key, cJSON_CreateNumber(number));
}

bool hr__put_text(cJSON *entry, const char *key, const char *text) {
  return hr__put_item(entry, key, cJSON_CreateString(text));
}

bool hr__put_class(cJSON *entry, uint32_t class_) {
  cJSON *list = cJSON_CreateArray(), *name = cJSON_CreateString(hr_job_class_name((enum hr_job_class)class_));
  if (list && name && cJSON_AddItemToArray(list, name)) return hr__put_item(entry, "classes", list);
  cJSON_Delete(list);
  cJSON_Delete(name);
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

/* ---- Words ------------------------------------------------------------------------------------------ */

const char *hr_advice_kind_name(enum hr_advice_kind kind) {
#define WORD(name, text) text,
  static const char *const names[] = {HR_ADVICE_TABLE(WORD)};
#undef WORD
  return names[kind];
}

const char *hr__class_words(uint32_t class_) {
  if (class_ == HR_N_CLASSES) return "all jobs";
  return class_ == HR_CLASS_UNKNOWN ? "jobs without a class" : hr_job_class_name((enum hr_job_class)class_);
}

static const char *hr__proposal_tenant(const struct hr_advice *advice, const struct hr__proposal *proposal) {
  uint32_t tenant = hr__run_profile_tenant(&advice->look, proposal->class_, proposal->pool);
  return tenant == HR_NONE ? NULL : advice->config.trace->tenants.text[tenant];
}

/*
 * Advice, from a look at one run to what is worth doing. The look says what to try; each try is the scenario under some
 * overrides, run over the same replications as the scenario itself, and only the paired difference decides.
 */

static enum hr_status advise_no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

/* ---- What is kept of every run ---------------------------------------------------------------------- */

static void add_group(struct hr_advice *advice, enum hr__figure_scope of, const char *name) {
  static const enum hr__measure measures[HR__A_GROUP_FIGURES] = {HR__M_WAIT_P95, HR__M_COMPLETED_SHARE, HR__M_COST};
  for (size_t i = 0; i < HR__A_GROUP_FIGURES; i++)
    advice->figures[advice->n_figures++] = (struct hr__figure){.measure = measures[i], .of = of, .name = name};
}

/* Classes that a job of the trace has. */
static void find_classes(const struct hr_trace *trace, bool there[HR_N_CLASSES]) {
  for (uint32_t job = 0; trace->class_ && job < trace->n_jobs; job++) there[trace->class_[job]] = true;
}

static enum hr_status list_figures(struct hr_advice *advice, struct hr_error *error) {
  static const enum hr__measure measures[HR__A_GROUPS] = {HR__M_MONTHLY, HR__M_COST, HR__M_LOST};
  const struct hr_trace *trace = advice->config.trace;
  uint32_t n_tenants = trace->tenant ? trace->tenants.count : 0;
  bool there[HR_N_CLASSES] = {false};
  size_t most = HR__A_GROUPS + (size_t)HR__A_GROUP_FIGURES * (HR_N_CLASSES + 1 + n_tenants);
  advice->figures = calloc(most, sizeof *advice->figures);
  advice->tenant_at = calloc((size_t)n_tenants + 1, sizeof *advice->tenant_at);
  if (!advice->figures || !advice->tenant_at) return advise_no_memory(error);
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

size_t hr__group_figure(const struct hr_advice *advice, uint32_t class_, unsigned figure) {
  bool known = class_ < HR_N_CLASSES && advice->class_at[class_] != HR_NONE;
  return (known ? advice->class_at[class_] : HR__A_GROUPS) + figure;
}

/* ---- What is asked ---------------------------------------------------------------------------------- */

static enum hr_status parse_part(const struct hr_advise_config *config, const char *key, cJSON **value,
                                 struct hr_error *error) {
  char *json;
  enum hr_status status =
      hr_scenario_part(config->scenario->path, config->overrides, config->n_overrides, key, &json, error);
  if (status != HR_OK || !json) return status;
  *value = cJSON_Parse(json);
  cJSON_free(json);
  return *value ? HR_OK : advise_no_memory(error);
}

static enum hr_status read_parts(struct hr_advice *advice, struct hr_error *error) {
  const struct hr_advise_config *config = &advice->config;
  enum hr_status status = parse_part(config, "cluster.pools", &advice->pools, error);
  if (status == HR_OK) status = parse_part(config, "classes", &advice->classes, error);
  if (status == HR_OK)
    status =
        hr_scenario_catalog(config->scenario->path, config->overrides, config->n_overrides, &advice->catalog, error);
  if (status != HR_OK || advice->pools) return status;
  status = hr_notes_add(&advice->notes, "the pools come from a list of nodes, which overrides do not change: only "
                                        "checkpoints were looked at");
  return status == HR_OK ? HR_OK : advise_no_memory(error);
}

static void find_policy(struct hr_advice *advice) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    if (strcmp(policy->ops->params[i].key, "market") != 0) continue;
    /* Where GPUs are told apart it knows no other market rule. */
    advice->queue = !hr_cluster_spec_by_gpu(&advice->config.scenario->cluster);
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
  if (!advice->scratch) return advise_no_memory(error);
  struct hr__runner_config lab = {.scenario = scenario,
                                  .overrides = config->overrides,
                                  .n_overrides = config->n_overrides,
                                  .trace = config->trace,
                                  .figures = advice->figures,
                                  .n_figures = advice->n_figures,
                                  .n_threads = config->n_threads,
                                  .progress = config->progress};
  struct hr__environment world = {.workload = scenario->replications.workload};
  hr_stress_init(&world.stress);
  advice->lab = hr__runner_create(&lab);
  if (!advice->lab) return advise_no_memory(error);
  status = hr__runner_add_environment(advice->lab, &world, &advice->world, error);
  return status == HR_OK ? hr__runner_add_candidate(advice->lab, NULL, 0, advice->world, &advice->base, error) : status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

enum hr_status hr__advice_run(struct hr_advice *advice, const uint32_t *mixes, size_t count, uint32_t replications,
                              struct hr_error *error) {
  size_t n_trials = (count + 1) * replications, used = 0;
  struct hr__trial *trials = calloc(n_trials + 1, sizeof *trials);
  if (!trials) return advise_no_memory(error);
  for (uint32_t r = 0; r < replications; r++) {
    trials[used++] = (struct hr__trial){advice->base, r};
    for (size_t i = 0; i < count; i++) trials[used++] = (struct hr__trial){mixes[i], r};
  }
  enum hr_status status = hr__runner_run(advice->lab, trials, n_trials, error);
  free(trials);
  return status;
}

static bool is_exact(const struct hr_advice *advice, uint32_t mix) {
  return !hr__runner_is_random(advice->lab, advice->base) && !hr__runner_is_random(advice->lab, mix);
}

static uint32_t count_of(const struct hr_advice *advice, uint32_t mix, uint32_t replications) {
  return is_exact(advice, mix) ? 1 : replications;
}

enum hr_status hr__advice_difference(const struct hr_advice *advice, uint32_t mix, size_t figure, uint32_t replications,
                                     struct hr__interval *interval, struct hr_error *error) {
  uint32_t count = count_of(advice, mix, replications);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  if (!values) return advise_no_memory(error);
  for (uint32_t r = 0; r < count; r++)
    values[r] =
        hr__runner_values(advice->lab, mix, r)[figure] - hr__runner_values(advice->lab, advice->base, r)[figure];
  enum hr_status status = hr__interval_of(values, count, HR__MEAN, advice->config.scenario->replications.confidence,
                                          is_exact(advice, mix), interval);
  free(values);
  return status == HR_OK ? HR_OK : advise_no_memory(error);
}

/* The mean of the values that are known, or of a quantile the median. */
static double centre_of(const struct hr_advice *advice, uint32_t mix, size_t figure, uint32_t count) {
  for (uint32_t r = 0; r < count; r++) advice->scratch[r] = hr__runner_values(advice->lab, mix, r)[figure];
  return hr__centre_of(advice->scratch, count, hr__measure_infos[advice->figures[figure].measure].kind);
}

struct hr_advice_figure hr__advice_figure(const struct hr_advice *advice, uint32_t mix, size_t figure,
                                          uint32_t replications) {
  uint32_t count = count_of(advice, mix, replications);
  return (struct hr_advice_figure){centre_of(advice, advice->base, figure, count),
                                   centre_of(advice, mix, figure, count)};
}

/* ---- Judgement -------------------------------------------------------------------------------------- */

static bool serves_group(const struct hr_advice *advice, uint32_t mix, uint32_t class_, uint32_t replications,
                         char *reason, size_t size) {
  struct hr_advice_figure done =
      hr__advice_figure(advice, mix, hr__group_figure(advice, class_, HR__A_COMPLETED), replications);
  struct hr_advice_figure wait =
      hr__advice_figure(advice, mix, hr__group_figure(advice, class_, HR__A_WAIT), replications);
  char text[2][HR__NUMBER_BYTES];
  if (done.after < done.before - 1e-9) {
    snprintf(reason, size, "%.2f %% of %s complete, before %.2f %%", 100 * done.after, hr__class_words(class_),
             100 * done.before);
    return false;
  }
  if (wait.after <= wait.before + fmax(HR_ADVISE_WAIT_S, HR_ADVISE_WAIT_SHARE * wait.before)) return true;
  if (isnan(wait.before) || isnan(wait.after)) return true;
  snprintf(reason, size, "the p95 wait of %s grows from %s to %s", hr__class_words(class_),
           hr__duration_text(wait.before, text[0]), hr__duration_text(wait.after, text[1]));
  return false;
}

bool hr__advice_serves(const struct hr_advice *advice, uint32_t mix, uint32_t replications, char *reason, size_t size) {
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    if (advice->class_at[i] != HR_NONE && !serves_group(advice, mix, i, replications, reason, size)) return false;
  return serves_group(advice, mix, HR_N_CLASSES, replications, reason, size);
}

/* What is advised must save something at the catalogue's speeds, too, where it takes all types to be as fast. */
static enum hr_status judge_stricter(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  struct hr__interval usd;
  char why[200] = "", text[HR__NUMBER_BYTES];
  uint32_t count = advice->n_replications, mix = proposal->stricter;
  enum hr_status status = hr__advice_difference(advice, mix, HR__A_MONTHLY, count, &usd, error);
  if (status != HR_OK) return status;
  hr__usd_text((int64_t)llround(-usd.mean * 1e6), text);
  if (!(usd.high < 0))
    snprintf(why, sizeof why, "it saves nothing for sure");
  else if (hr__advice_serves(advice, mix, count, why, sizeof why))
    return hr__proposal_assume(proposal, error, "at the catalogue's speeds it saves %s a month", text);
  proposal->advised = false;
  snprintf(proposal->reason, sizeof proposal->reason, "at the catalogue's speeds %s", why);
  return HR_OK;
}

static enum hr_status judge(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  uint32_t count = advice->n_replications;
  enum hr_status status =
      hr__advice_difference(advice, proposal->mix, HR__A_MONTHLY, count, &proposal->monthly_usd, error);
  const struct hr__interval *usd = &proposal->monthly_usd;
  if (status != HR_OK) return status;
  if (usd->count == 0)
    snprintf(proposal->reason, sizeof proposal->reason, "what a month costs cannot be told");
  else if (usd->mean >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "it saves nothing");
  else if (isnan(usd->high))
    snprintf(proposal->reason, sizeof proposal->reason, "one replication does not tell whether it saves anything");
  else if (usd->high >= 0)
    snprintf(proposal->reason, sizeof proposal->reason, "that it saves anything is not sure: the interval has 0 in it");
  else
    proposal->advised = hr__advice_serves(advice, proposal->mix, count, proposal->reason, sizeof proposal->reason);
  if (proposal->advised && proposal->objection[0]) {
    proposal->advised = false;
    memcpy(proposal->reason, proposal->objection, sizeof proposal->objection);
  }
  return proposal->advised && proposal->stricter != HR_NONE ? judge_stricter(advice, proposal, error) : HR_OK;
}

static bool are_rivals(const struct hr__proposal *a, const struct hr__proposal *b) {
  return a->kind == b->kind && a->pool == b->pool && a->class_ == b->class_;
}

/* Of several ways to change one thing the one that saves most is advised. */
static void drop_rivals(struct hr_advice *advice) {
  for (size_t i = 0; i < advice->n_proposals; i++) {
    struct hr__proposal *loser = &advice->proposals[i];
    const struct hr__proposal *best = loser;
    for (size_t k = 0; k < advice->n_proposals; k++) {
      const struct hr__proposal *other = &advice->proposals[k];
      if (other->advised && are_rivals(loser, other) && other->monthly_usd.mean < best->monthly_usd.mean) best = other;
    }
    if (!loser->advised || best == loser) continue;
    snprintf(loser->reason, sizeof loser->reason, "%.200s saves more", best->to);
  }
  for (size_t i = 0; i < advice->n_proposals; i++)
    if (advice->proposals[i].reason[0]) advice->proposals[i].advised = false;
}

/* What is advised goes first, then the most dollars; what cannot be told last. */
static int compare(const void *a, const void *b) {
  const struct hr__proposal *x = a, *y = b;
  double usd_x = x->monthly_usd.mean, usd_y = y->monthly_usd.mean;
  if (x->advised != y->advised) return x->advised ? -1 : 1;
  if (isnan(usd_x) != isnan(usd_y)) return isnan(usd_x) ? 1 : -1;
  if (usd_x < usd_y || usd_x > usd_y) return usd_x < usd_y ? -1 : 1;
  return x->mix < y->mix ? -1 : x->mix > y->mix;
}

static enum hr_status judge_all(struct hr_advice *advice, struct hr_error *error) {
  uint32_t *mixes = calloc(2 * advice->n_proposals + 1, sizeof *mixes);
  size_t count = 0;
  if (!mixes) return advise_no_memory(error);
  for (size_t i = 0; i < advice->n_proposals; i++) {
    mixes[count++] = advice->proposals[i].mix;
    if (advice->proposals[i].stricter != HR_NONE) mixes[count++] = advice->proposals[i].stricter;
  }
  enum hr_status status = hr__advice_run(advice, mixes, count, advice->n_replications, error);
  free(mixes);
  for (size_t i = 0; i < advice->n_proposals && status == HR_OK; i++)
    status = judge(advice, &advice->proposals[i], error);
  if (status != HR_OK) return status;
  drop_rivals(advice);
  if (advice->n_proposals) qsort(advice->proposals, advice->n_proposals, sizeof *advice->proposals, compare);
  return HR_OK;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status advise(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = prepare(advice, error);
  if (status == HR_OK)
    status = hr__run_profile_make(advice->config.scenario, advice->config.trace, &advice->look, error);
  if (status == HR_OK) status = hr__advice_run(advice, NULL, 0, advice->n_replications, error);
  if (status == HR_OK && advice->pools) status = hr__advise_gpu_types(advice, error);
  if (status == HR_OK && advice->pools) status = hr__advise_idle(advice, error);
  if (status == HR_OK && advice->pools) status = hr__advise_spot(advice, error);
  if (status == HR_OK) status = hr__advise_checkpoints(advice, error);
  return status == HR_OK ? judge_all(advice, error) : status;
}

enum hr_status hr_advise(const struct hr_advise_config *config, struct hr_advice **advice, struct hr_error *error) {
  *advice = NULL;
  struct hr_advice *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return advise_no_memory(error);
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
  hr__run_profile_finish(&advice->look);
  hr__runner_destroy(advice->lab);
  hr_catalog_destroy(advice->catalog);
  cJSON_Delete(advice->pools);
  cJSON_Delete(advice->classes);
  free(advice->figures);
  free(advice->tenant_at);
  free(advice->scratch);
  hr_notes_finish(&advice->notes);
  free(advice);
}

/* ---- The answer ------------------------------------------------------------------------------------- */

size_t hr_advice_count(const struct hr_advice *advice) {
  return advice->n_proposals;
}

const struct hr_notes *hr_advice_notes(const struct hr_advice *advice) {
  return &advice->notes;
}

void hr_advice_item(const struct hr_advice *advice, size_t place, struct hr_advice_item *item) {
  const struct hr__proposal *proposal = &advice->proposals[place];
  const struct hr__interval *usd = &proposal->monthly_usd;
  size_t wait = hr__group_figure(advice, proposal->class_, HR__A_WAIT);
  size_t completed = hr__group_figure(advice, proposal->class_, HR__A_COMPLETED);
  bool of_class = proposal->class_ < HR_N_CLASSES && proposal->class_ != HR_CLASS_UNKNOWN;
  *item = (struct hr_advice_item){
      .kind = proposal->kind,
      .advised = proposal->advised,
      .tenant = hr__proposal_tenant(advice, proposal),
      .class_ = of_class ? hr_job_class_name((enum hr_job_class)proposal->class_) : NULL,
      .pool = proposal->pool == HR_NONE ? NULL : hr__advice_pool(advice, proposal->pool)->name,
      .from = proposal->from,
      .to = proposal->to,
      .reason = proposal->advised ? NULL : proposal->reason,
      .set = (const char *const *)proposal->set.at,
      .n_set = proposal->set.count,
      .assumed = &proposal->assumed,
      .monthly_usd = {usd->count, usd->mean, usd->median, usd->sd, usd->low, usd->high, usd->of_median},
      .wait_p95_s = hr__advice_figure(advice, proposal->mix, wait, advice->n_replications),
      .completed = hr__advice_figure(advice, proposal->mix, completed, advice->n_replications)};
}
