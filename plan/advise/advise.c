/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice: finds changes of a scenario that are worth making, from a profile of one run, and writes them.
 *
 * The profile suggests which changes to try (proposal.c). Each proposal is the scenario with some overrides. It is run
 * with the same replications as the unchanged scenario. It is advised only if the paired differences of the runs show
 * that it saves money and serves jobs as well. Proposals on reliability, power, and checkpoints in fixed pools must
 * instead improve ETTR, the wait or the energy without costing more.
 *
 * The advice is written as a table, 80 columns wide, and as JSON (docs/reference/schemas/advise.schema.json). The table
 * begins with the savings, and contains the overrides as options that can be copied to a command line.
 */

#include "plan/advise/advise.h"

#include "base/text.h"
#include "headroom/unstable/compare.h"
#include "plan/runner/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GPU hours allocated to a tenant's jobs of a class in a pool. HR_N_CLASSES: all classes; HR_NONE: all pools. */
static double run_profile_tenant_hours(const struct hr__run_profile *profile, uint32_t tenant, uint32_t class_,
                                       uint32_t pool) {
  const hr__wide *allocated = &profile->by_tenant[(size_t)tenant * HR_N_CLASSES * profile->n_pools];
  hr__wide sum = 0;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    for (uint32_t k = 0; k < profile->n_pools; k++)
      if ((class_ == HR_N_CLASSES || i == class_) && (pool == HR_NONE || k == pool))
        sum += allocated[(size_t)i * profile->n_pools + k];
  return hr__run_profile_gpu_hours(sum);
}

/* ---- Metrics kept for each run --------------------------------------------------------------------- */

static void add_group(struct hr_advice *advice, enum hr__metric_scope of, const char *name) {
  static const enum hr__metric metrics[HR__A_GROUP_METRICS] = {HR__M_WAIT_P95, HR__M_COMPLETED_SHARE, HR__M_COST};
  for (size_t i = 0; i < HR__A_GROUP_METRICS; i++)
    advice->metrics[advice->n_metrics++] = (struct hr__scoped_metric){.id = metrics[i], .of = of, .name = name};
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
  for (uint32_t job = 0; trace->class_ && job < trace->n_jobs; job++) present[trace->class_[job]] = true;
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

/* If the scenario has no GPU speeds, a proposal of another GPU type must also save money at the catalogue's speeds. */
static enum hr_status evaluate_stricter(struct hr_advice *advice, struct hr__proposal *proposal,
                                        struct hr_error *error) {
  struct hr__interval usd;
  char why[200] = "", text[HR__NUMBER_BYTES];
  uint32_t count = advice->n_replications, candidate = proposal->stricter;
  enum hr_status status = hr__advice_difference(advice, candidate, HR__A_MONTHLY, count, &usd, error);
  if (status != HR_OK) return status;
  hr__usd_text((int64_t)llround(-usd.mean * 1e6), text);
  if (!(usd.high < 0)) {
    snprintf(why, sizeof why, "savings are not significant");
  } else if (hr__advice_serves(advice, candidate, count, why, sizeof why)) {
    hr__proposal_assume(proposal, "at the catalogue's speeds it saves %s a month", text);
    return proposal->out_of_memory ? hr__advice_no_memory(error) : HR_OK;
  }
  proposal->advised = false;
  snprintf(proposal->reason, sizeof proposal->reason, "at the catalogue's speeds %s", why);
  return HR_OK;
}

/* Evaluates a proposal that a metric other than the cost decides: it must become significantly better, the cost must
   not become significantly higher, and jobs must be served as well. */
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
  if (status == HR_OK)
    status = hr__run_profile_make(advice->config.scenario, advice->config.trace, &advice->profile, error);
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
  hr__run_profile_finish(&advice->profile);
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

/* Returns the name of the only tenant whose jobs used the capacity that the proposal changes. Returns NULL if several
   tenants did, or none. */
static const char *only_tenant(const struct hr_advice *advice, const struct hr__proposal *proposal) {
  const char *found = NULL;
  for (uint32_t tenant = 0; tenant < advice->profile.n_tenants; tenant++) {
    if (run_profile_tenant_hours(&advice->profile, tenant, proposal->class_, proposal->pool) == 0) continue;
    if (found) return NULL;
    found = advice->config.trace->tenants.text[tenant];
  }
  return found;
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
      .tenant = only_tenant(advice, proposal),
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

/* ---- Output ----------------------------------------------------------------------------------------- */

struct advice_page {
  struct hr__console console;
  const struct hr_advice *advice;
};

/* ---- Output: overrides ------------------------------------------------------------------------------ */

/* Length of the first piece of `text`. A line may end after a piece: JSON allows a line break after a comma, and a
   shell allows one within quotes. A piece never ends within a JSON string; *in_text stores whether the scan is within a
   JSON string. */
static size_t piece_length(const char *text, bool *in_text) {
  size_t at = 0;
  for (; text[at]; at++) {
    if (text[at] == '\\' && *in_text && text[at + 1])
      at++;
    else if (text[at] == '"')
      *in_text = !*in_text;
    else if (text[at] == ',' && !*in_text)
      return at + 1;
  }
  return at;
}

/* Prints text for use within single quotes of a shell command. Escapes single quotes in the text. */
static void put_quoted(FILE *out, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\'')
      fputs("'\\''", out);
    else
      fputc(text[i], out);
  }
}

static void put_override(struct advice_page *page, const char *text) {
  FILE *out = page->console.out;
  bool plain = text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=")] == '\0';
  bool in_text = false;
  size_t column = strlen("    --set '");
  fprintf(out, "    --set %s", plain ? "" : "'");
  while (*text) {
    size_t length = piece_length(text, &in_text), width = hr__width_of(text, length);
    if (column > 11 && column + width + 1 > HR__LINE_WIDTH) {
      fputs("\n      ", out);
      column = 6;
    }
    put_quoted(out, text, length);
    column += width;
    text += length;
  }
  fputs(plain ? "\n" : "'\n", out);
}

/* ---- Output: items ---------------------------------------------------------------------------------- */

static const char *usd_text(const struct hr_replicated *usd, char *text, size_t size) {
  char number[3][HR__METRIC_BYTES];
  hr__difference_text(HR_UNIT_DOLLARS, usd->mean, number[0]);
  if (usd->mean == 0) snprintf(number[0], sizeof number[0], "$0");
  hr__difference_text(HR_UNIT_DOLLARS, usd->low, number[1]);
  hr__difference_text(HR_UNIT_DOLLARS, usd->high, number[2]);
  if (isnan(usd->low) || strcmp(number[1], number[2]) == 0)
    snprintf(text, size, "%s", number[0]);
  else
    snprintf(text, size, "%s (%s to %s)", number[0], number[1], number[2]);
  return text;
}

/* Prints the subject of an item, such as "training of retail in pool aws". */
static void put_subject(struct advice_page *page, const struct hr_advice_item *item) {
  char text[700];
  snprintf(text, sizeof text, "%s%s%.200s%s%.200s", item->class_ ? item->class_ : "all jobs",
           item->tenant ? " of " : "", item->tenant ? item->tenant : "", item->pool ? " in pool " : " in all pools",
           item->pool ? item->pool : "");
  hr__put_field(&page->console, "  for", "%s", text);
}

/* Prints the metric of each goal today and with the change. `brief`: prints nothing. */
static void put_goals(struct advice_page *page, uint32_t candidate, bool brief) {
  const struct hr_advice *advice = page->advice;
  char text[2][HR__METRIC_BYTES];
  for (size_t i = 0; i < advice->goals.n_goals && !brief; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    enum hr_unit unit = hr__metric_rows[advice->goals.metrics[goal->metric].id].unit;
    struct hr_advice_metric value = hr__advice_goal(advice, candidate, i, advice->n_replications);
    hr__put_field(&page->console, i ? "" : "  goals", "%s: %s -> %s%s", goal->text,
                  hr__metric_text(unit, value.before, text[0]), hr__metric_text(unit, value.after, text[1]),
                  hr__goal_violation(goal, value.after) > 0 ? ", missed" : "");
  }
}

static void put_item(struct advice_page *page, size_t place) {
  struct hr_advice_item item;
  struct hr__console *console = &page->console;
  char text[200], number[4][HR__METRIC_BYTES];
  if (!hr_advice_item(page->advice, place, &item)) return;
  bool is_priced = item.monthly_usd.count && !isnan(item.monthly_usd.mean);
  fprintf(console->out, "\n  %s%-17s %s%s%s\n", hr__bold(console), hr_advice_kind_name(item.kind),
          is_priced ? usd_text(&item.monthly_usd, text, sizeof text) : "cost unknown", is_priced ? " a month" : "",
          hr__plain(console));
  put_subject(page, &item);
  hr__put_field(console, "  change", "%s -> %s", item.from, item.to);
  hr__put_field(console, "  p95 wait", "%s -> %s; completed %s -> %s",
                hr__metric_text(HR_UNIT_SECONDS, item.wait_p95_s.before, number[0]),
                hr__metric_text(HR_UNIT_SECONDS, item.wait_p95_s.after, number[1]),
                hr__metric_text(HR_UNIT_SHARE, item.completed.before, number[2]),
                hr__metric_text(HR_UNIT_SHARE, item.completed.after, number[3]));
  if (item.figure) {
    enum hr_unit unit = hr__metric_rows[page->advice->metrics[page->advice->proposals[place].figure].id].unit;
    hr__put_field(console, "  decides", "%s: %s -> %s", item.figure,
                  hr__metric_text(unit, item.figure_value.before, number[0]),
                  hr__metric_text(unit, item.figure_value.after, number[1]));
  }
  put_goals(page, page->advice->proposals[place].candidate, item.reason != NULL);
  if (item.reason) {
    hr__put_field(console, "  reason", "%s", item.reason);
    return; /* details of proposals that are not advised are only in the JSON */
  }
  for (size_t i = 0; i < item.assumed->count; i++)
    hr__put_field(console, i ? "" : "  assumed", "%s", item.assumed->text[i]);
  for (size_t i = 0; i < item.n_set; i++) put_override(page, item.set[i]);
}

static void put_items(struct advice_page *page, bool advised, const char *title, const char *nothing) {
  const struct hr_advice *advice = page->advice;
  bool any = false;
  fprintf(page->console.out, "\n%s%s%s\n", hr__bold(&page->console), title, hr__plain(&page->console));
  for (size_t i = 0; i < advice->n_proposals; i++) {
    if (advice->proposals[i].advised != advised) continue;
    put_item(page, i);
    any = true;
  }
  if (!any) fprintf(page->console.out, "  %s\n", nothing);
}

/* ---- Output: the table ------------------------------------------------------------------------------ */

/* Returns the cost of the unchanged scenario as text. If nothing was paid and a pool has no price, it is unknown. */
static const char *today_text(const struct hr_advice *advice, char *text, size_t size) {
  char number[HR__METRIC_BYTES];
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  double usd = hr__advice_metric(advice, advice->base, HR__A_MONTHLY, advice->n_replications).before;
  for (uint32_t i = 0; i < cluster->n_pools && !(usd > 0); i++) {
    if (cluster->pools[i].market.market != HR_MARKET_NONE) continue;
    snprintf(text, size, "unknown cost, as pool %.100s has no price", cluster->pools[i].name);
    return text;
  }
  snprintf(text, size, "%s a month", hr__metric_text(HR_UNIT_DOLLARS, usd, number));
  return text;
}

static void put_head(struct advice_page *page) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char wait_text[HR__METRIC_BYTES], today[200], counts[HR__NUMBER_BYTES];
  hr__put_page_title(console, "advice on ", advice->config.scenario->name, HR__LINE_WIDTH - 24);
  hr__put_field(console, "trace", "%s (%s jobs)", advice->config.trace->source,
                hr__count_text(advice->config.trace->n_jobs, counts));
  size_t wait = hr__advice_group_metric(advice, HR_N_CLASSES, HR__A_WAIT);
  double wait_s = hr__advice_metric(advice, advice->base, wait, advice->n_replications).before;
  hr__put_field(console, "today", "%s, p95 wait %s", today_text(advice, today, sizeof today),
                hr__metric_text(HR_UNIT_SECONDS, wait_s, wait_text));
}

static void put_foot(struct advice_page *page, const struct hr_perf *perf) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char text[2][HR__NUMBER_BYTES];
  fputc('\n', console->out);
  hr__put_field(console, "method",
                "each change is run alone, over at most %s replication%s, on the same random events as the "
                "unchanged scenario; savings do not add up. Confidence of intervals: %.4g %%.",
                hr__count_text(advice->n_replications, text[0]), advice->n_replications == 1 ? "" : "s",
                100 * advice->config.scenario->replications.confidence);
  if (advice->goals.n_goals)
    hr__put_field(console, "advised",
                  "savings are significant, and no goal of the scenario's plan is missed, or missed by more than "
                  "today.");
  else
    hr__put_field(
        console, "advised",
        "savings are significant, each class completes as large a share of its jobs, and no p95 "
        "wait grows by more than %d %% or %d s, whichever is larger. If longer waits are acceptable, add a 'plan' "
        "with goals to the scenario.",
        (int)(100 * HR_ADVISE_WAIT_SHARE), HR_ADVISE_WAIT_S);
  if (perf) hr__put_speed(console, hr__runner_runs(advice->runner), advice->config.n_threads, perf->sim_s, 0);
}

enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf, bool colour) {
  struct advice_page page = {.console = {.out = out, .colour = colour}, .advice = advice};
  put_head(&page);
  put_items(&page, true, "Advised", "Nothing found that saves anything and serves as well.");
  if (advice->n_proposals) put_items(&page, false, "Examined, not advised", "Nothing.");
  put_foot(&page, perf);
  return hr__console_status(&page.console);
}

/* ---- Output: JSON ----------------------------------------------------------------------------------- */

static void put_before_after(struct hr__json *json, cJSON *object, struct hr_advice_metric value) {
  hr__json_finite(json, object, "before", value.before);
  hr__json_finite(json, object, "after", value.after);
}

static void put_pair(struct hr__json *json, cJSON *object, const struct hr_advice *advice, uint32_t candidate,
                     size_t metric) {
  cJSON *inner = hr__json_object(json, object, hr__metric_rows[advice->metrics[metric].id].path);
  put_before_after(json, inner, hr__advice_metric(advice, candidate, metric, advice->n_replications));
}

static void put_group(struct hr__json *json, cJSON *object, const struct hr_advice *advice, uint32_t candidate,
                      size_t first) {
  for (size_t i = 0; i < HR__A_GROUP_METRICS; i++) put_pair(json, object, advice, candidate, first + i);
}

/* Writes the tenants that use the capacity that would change, with the metrics of all jobs of each tenant. */
static void put_tenants(struct hr__json *json, cJSON *object, const struct hr_advice *advice,
                        const struct hr__proposal *proposal) {
  cJSON *list = hr__json_array(json, object, "tenants");
  for (uint32_t i = 0; i < advice->profile.n_tenants; i++) {
    double gpu_hours = run_profile_tenant_hours(&advice->profile, i, proposal->class_, proposal->pool);
    if (gpu_hours <= 0) continue;
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "tenant", advice->config.trace->tenants.text[i]);
    hr__json_number(json, inner, "gpu_hours", gpu_hours);
    put_group(json, inner, advice, proposal->candidate, advice->tenant_at[i]);
  }
}

static void json_put_goals(struct hr__json *json, cJSON *object, const struct hr_advice *advice, uint32_t candidate) {
  cJSON *list = hr__json_array(json, object, "goals");
  for (size_t i = 0; i < advice->goals.n_goals; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    struct hr_advice_metric value = hr__advice_goal(advice, candidate, i, advice->n_replications);
    cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, inner, "goal", goal->text);
    put_before_after(json, inner, value);
    hr__json_bool(json, inner, "met", hr__goal_violation(goal, value.after) == 0);
  }
}

static void json_put_item(struct hr__json *json, cJSON *list, const struct hr_advice *advice, size_t place) {
  const struct hr__proposal *proposal = &advice->proposals[place];
  struct hr_advice_item item;
  hr_advice_item(advice, place, &item);
  cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
  hr__json_text(json, inner, "kind", hr_advice_kind_name(item.kind));
  hr__json_text(json, inner, "tenant", item.tenant);
  hr__json_text(json, inner, "class", item.class_);
  hr__json_text(json, inner, "pool", item.pool);
  char change[sizeof proposal->from + sizeof proposal->to + 4];
  snprintf(change, sizeof change, "%s -> %s", item.from, item.to);
  hr__json_text(json, inner, "change", change);
  cJSON *set = hr__json_array(json, inner, "set");
  for (size_t i = 0; i < item.n_set; i++) hr__json_append(json, set, cJSON_CreateString(item.set[i]));
  cJSON *usd = hr__json_object(json, inner, "monthly_usd");
  hr__json_finite(json, usd, "mean", item.monthly_usd.mean);
  hr__json_finite(json, usd, "low", item.monthly_usd.low);
  hr__json_finite(json, usd, "high", item.monthly_usd.high);
  cJSON *metrics = hr__json_object(json, inner, "metrics");
  put_group(json, metrics, advice, proposal->candidate, hr__advice_group_metric(advice, proposal->class_, 0));
  put_pair(json, metrics, advice, proposal->candidate, HR__A_LOST);
  if (item.figure) {
    cJSON *figure = hr__json_object(json, inner, "figure");
    hr__json_text(json, figure, "metric", item.figure);
    put_before_after(json, figure, item.figure_value);
    hr__json_finite(json, figure, "change", item.figure_change.mean);
    hr__json_finite(json, figure, "low", item.figure_change.low);
    hr__json_finite(json, figure, "high", item.figure_change.high);
  }
  json_put_goals(json, inner, advice, proposal->candidate);
  put_tenants(json, inner, advice, proposal);
  hr__json_notes(json, hr__json_array(json, inner, "assumed"), item.assumed);
  if (item.reason) hr__json_text(json, inner, "reason", item.reason);
}

static void json_put_items(struct hr__json *json, cJSON *root, const char *key, const struct hr_advice *advice,
                           bool advised) {
  cJSON *list = hr__json_array(json, root, key);
  for (size_t i = 0; i < advice->n_proposals; i++)
    if (advice->proposals[i].advised == advised) json_put_item(json, list, advice, i);
}

static void put_base(struct hr__json *json, cJSON *root, const struct hr_advice *advice) {
  cJSON *base = hr__json_object(json, root, "base");
  for (size_t i = 0; i < HR__A_GROUPS + HR__A_GROUP_METRICS; i++) {
    const struct hr_metric *info = &hr__metric_rows[advice->metrics[i].id];
    if (i == HR__A_GROUPS + HR__A_GROUP_COST || i == HR__A_ETTR || i == HR__A_ENERGY) continue;
    hr__json_finite(json, base, info->path, hr__advice_metric(advice, advice->base, i, advice->n_replications).before);
  }
}

static void put_uses(struct hr__json *json, cJSON *root, const struct hr_advice *advice) {
  cJSON *list = hr__json_array(json, root, "uses");
  for (uint32_t pool = 0; pool < advice->profile.n_pools; pool++) {
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++) {
      double gpu_hours =
          hr__run_profile_gpu_hours(hr__run_profile_use(&advice->profile, class_, pool)->allocated_milli_us);
      if (gpu_hours <= 0) continue;
      cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
      hr__json_text(json, inner, "pool", hr__advice_pool(advice, pool)->name);
      hr__json_text(json, inner, "class", class_ ? hr_job_class_name((enum hr_job_class)class_) : NULL);
      hr__json_number(json, inner, "gpu_hours", gpu_hours);
      hr__json_number(json, inner, "pool_utilization", hr__run_profile_utilization(&advice->profile, pool));
    }
  }
}

static void json_put_head(struct hr__json *json, cJSON *root, const struct hr_advice *advice) {
  const struct hr_advise_config *config = &advice->config;
  hr__json_head(json, root, config->scenario->name, config->trace->source, config->trace->format);
  hr__json_seed(json, root, "seed", config->scenario->seed);
  hr__json_number(json, root, "confidence", config->scenario->replications.confidence);
  hr__json_count(json, root, "replications", advice->n_replications);
}

enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                    struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  json_put_head(&json, root, advice);
  put_base(&json, root, advice);
  put_uses(&json, root, advice);
  json_put_items(&json, root, "advice", advice, true);
  json_put_items(&json, root, "rejected", advice, false);
  hr__json_count(&json, root, "runs", hr__runner_runs(advice->runner));
  hr__json_all_notes(&json, root, advice->config.scenario, advice->config.trace, &advice->notes);
  hr__json_runs_perf(&json, root, perf, advice->config.n_threads);
  return hr__json_write(&json, root, path, error);
}
