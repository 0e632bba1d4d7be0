/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The market of a pool: the keys that each market allows, the time bounds of reservations, billing, boot time, and the
 * interruption model of spot capacity. The interruption model is a preset of the catalogue, or a model with
 * parameters. Keys of the scenario have precedence over the preset.
 *
 * The rows of the key tables state with which markets and interruption models a key is allowed. The autoscaler of a
 * cluster and its node pools (Karpenter) are also built here.
 */

#include "headroom/unstable/clusters.h"
#include "scenarios/build/builder.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
  const char *one, *other;
} exclusions[] = {{"usd_per_gpu_hour", "usd_per_node_hour"},
                  {"usd_per_gpu_hour", "discount"},
                  {"usd_per_node_hour", "discount"},
                  {"usd_per_gpu_hour", "owned"},
                  {"usd_per_node_hour", "owned"},
                  {"boot_s", "boot"},
                  {"term", "discount"}};

/* ---- Keys ------------------------------------------------------------------------------------------- */

/* Writes a list such as "reserved or spot" to `text`, and returns it. `markets`: a set of bits 1 << enum hr_market. */
static const char *list_markets(uint32_t markets, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = HR_MARKET_OWNED; i < HR_N_MARKETS && used < size; i++)
    if (markets >> i & 1)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", hr_market_name((enum hr_market)i));
  return text;
}

static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_market market) {
  char words[100];
  for (const struct hr__key *key = hr__pool_keys; key->name; key++) {
    if (!key->only_with || !hr__has(entry, key->name) || key->only_with >> market & 1) continue;
    if (market == HR_MARKET_NONE)
      return hr__build_fail_at(builder, entry, key->name, "'%s' needs the pool's 'market': %s", key->name,
                               list_markets(key->only_with, words, sizeof words));
    return hr__build_fail_at(builder, entry, key->name, "'%s' belongs to the market %s; this pool's is %s", key->name,
                             list_markets(key->only_with, words, sizeof words), hr_market_name(market));
  }
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (hr__has(entry, exclusions[i].one) && hr__has(entry, exclusions[i].other))
      return hr__build_fail_at(builder, entry, exclusions[i].other, "'%s' and '%s' exclude each other; keep one",
                               exclusions[i].one, exclusions[i].other);
  return HR_OK;
}

/* ---- Random durations ------------------------------------------------------------------------------- */

enum hr_status hr__check_duration(struct hr__builder *builder, const cJSON *object) {
  const char *names[2] = {NULL}, *word = hr__text_of(object, "distribution", "");
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "cluster.pools.boot");
  unsigned kind = 0, count = 0;
  while (object && strcmp(keys->choices[kind], word) != 0) kind++;
  for (const struct hr__key *key = keys; key->name; key++)
    if (key->only_with >> kind & 1) names[count++] = key->name;
  for (unsigned i = 0; object && i < count; i++)
    if (!hr__has(object, names[i]))
      return hr__build_fail(builder, object, "a distribution '%s' needs '%s'%s%s%s", word, names[0],
                            count > 1 ? " and '" : "", count > 1 ? names[1] : "", count > 1 ? "'" : "");
  for (const struct hr__key *key = keys; key->name; key++)
    if (key->only_with && !(key->only_with >> kind & 1) && hr__has(object, key->name))
      return hr__build_fail_at(
          builder, object, key->name, "'%s' is not a parameter of the distribution '%s'; '%s'%s%s%s expected",
          key->name, word, names[0], count > 1 ? " and '" : "", count > 1 ? names[1] : "", count > 1 ? "' are" : " is");
  return HR_OK;
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static enum hr_status check_bounds(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_market_spec *market = &draft->pool.market;
  const char *only_at_end = hr__has(draft->entry, "stop_before_s")   ? "stop_before_s"
                            : hr__has(draft->entry, "stop_notice_s") ? "stop_notice_s"
                                                                     : NULL;
  if (market->to_us == HR_NEVER_US && only_at_end)
    return hr__build_fail_at(builder, draft->entry, only_at_end, "'%s' has no effect without 'to_s'", only_at_end);
  int64_t time_us = market->to_us - market->from_us;
  if (market->to_us != HR_NEVER_US && time_us > 0 &&
      (market->stop_before_us >= time_us || market->stop_notice_us > time_us - market->stop_before_us))
    return hr__build_fail_at(builder, draft->entry, only_at_end,
                             "the nodes are closed before the reservation starts: 'stop_before_s' and 'stop_notice_s' "
                             "are %.10g s together, the reservation lasts %.10g s",
                             (double)(market->stop_before_us + market->stop_notice_us) / (double)HR_SECOND_US,
                             (double)time_us / (double)HR_SECOND_US);
  if (market->to_us > market->from_us) return HR_OK;
  return hr__build_fail_at(
      builder, draft->entry, "to_s", "the reservation ends at %.10g s, not after its start at %.10g s",
      (double)market->to_us / (double)HR_SECOND_US, (double)market->from_us / (double)HR_SECOND_US);
}

/* Returns true if the provider bills per second. AWS and GCP do so, with a minimum of one minute. */
static bool bills_by_the_second(const char *provider) {
  return provider && (strcasecmp(provider, "aws") == 0 || strcasecmp(provider, "gcp") == 0);
}

static enum hr_status build_billing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *json = hr__get(draft->entry, "billing");
  struct hr_billing *billing = &draft->pool.market.billing;
  bool by_second = bills_by_the_second(draft->source->provider);
  if (by_second && !hr__has(json, "granularity_s")) billing->granularity_us = HR_SECOND_US;
  if (by_second && !hr__has(json, "minimum_s")) billing->minimum_us = 60 * HR_SECOND_US;
  if (billing->free_if_reclaimed_us && draft->pool.market.market != HR_MARKET_SPOT)
    return hr__build_fail_at(builder, json, "free_if_reclaimed_s",
                             "'free_if_reclaimed_s' belongs to the market spot: other nodes are not interrupted");
  return HR_OK;
}

static enum hr_status check_boot(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  if (hr__has(draft->entry, "boot_s") || hr__has(draft->entry, "boot"))
    return hr__check_duration(builder, hr__get(draft->entry, "boot"));
  return hr__pool_note(builder, draft->pool.name, "boot time assumed: none, as neither boot_s nor boot is set");
}

static enum hr_status check_queue(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const cJSON *queued = hr__get(draft->entry, "queued");
  if (hr__has(queued, "wait_s") && hr__has(queued, "wait"))
    return hr__build_fail_at(builder, queued, "wait", "'wait_s' and 'wait' exclude each other");
  return hr__check_duration(builder, hr__get(queued, "wait"));
}

/* ---- Spot interruptions ----------------------------------------------------------------------------- */

#define HOURS_PER_MONTH 730.0

/* Returns whether a provider (or region) of a preset differs from that of a pool. Returns false if the preset is for
   all providers or regions ("*"), or if the provider or region of the pool is unknown (NULL). */
static bool is_elsewhere(const char *presets, const char *pools) {
  return pools && strcmp(presets, "*") != 0 && strcasecmp(presets, pools) != 0;
}

/* Adds a note if the preset is for another GPU type, provider or region, or if its status is "assumed". */
static enum hr_status note_preset(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_preset *preset = draft->preset;
  if (strcmp(preset->gpu, "*") != 0 && strcasecmp(preset->gpu, draft->pool.gpu) != 0)
    return hr__pool_note(builder, draft->pool.name, "spot preset '%s' (%s) is for GPU type %s, used here for %s",
                         preset->name, preset->status, preset->gpu, draft->pool.gpu);
  if (is_elsewhere(preset->provider, draft->source->provider) || is_elsewhere(preset->region, draft->source->region))
    return hr__pool_note(builder, draft->pool.name, "spot preset '%s' (%s) is for %s %s, used here for another region",
                         preset->name, preset->status, preset->provider, preset->region);
  if (strcmp(preset->status, "assumed") != 0) return HR_OK;
  return hr__pool_note(builder, draft->pool.name, "spot preset '%s' is assumed: %s", preset->name, preset->source);
}

static enum hr_status build_preset(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  const cJSON *name = hr__get(spot, "preset");
  if (!name) return HR_OK;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_spot_preset(builder->catalog, name->valuestring, &draft->preset, &inner);
  if (status != HR_OK) return hr__build_wrap(builder, name, status, &inner);
  draft->pool.market.spot = draft->preset->spec;
  draft->pool.market.spot.zone = draft->zone;
  draft->source->spot_preset = strdup(draft->preset->name);
  return draft->source->spot_preset ? note_preset(builder, draft) : hr__build_no_memory(builder);
}

static enum hr_status build_model(struct hr__builder *builder, const cJSON *spot, struct hr_spot_spec *spec) {
#define WORD(name, text) text,
  static const char *const models[] = {HR_SPOT_MODEL_TABLE(WORD) NULL};
#undef WORD
  bool has_preset = hr__has(spot, "preset");
  if (!has_preset && !hr__has(spot, "model"))
    return hr__build_fail(
        builder, spot,
        "'spot' needs a 'preset' or a 'model'; the model 'none' is for nodes that are never interrupted");
  enum hr_spot_model model = (enum hr_spot_model)hr__choice_of(spot, "model", models, spec->model);
  if (has_preset && model != spec->model)
    return hr__build_fail_at(builder, spot, "model", "the preset '%s' has the model %s, not %s",
                             hr__text_of(spot, "preset", ""), hr_spot_model_name(spec->model),
                             hr_spot_model_name(model));
  spec->model = model;
  return HR_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

/* Reads the recorded spot capacity. The maximum of the record corresponds to all nodes of the pool. */
static enum hr_status read_levels(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  const char *file = hr__text_of(spot, "file", NULL);
  if (!file) return HR_OK;
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  struct hr__spot_levels levels = {0};
  char *path = hr__resolve(builder, file);
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status =
      hr__spot_levels_read(path, draft->pool.nodes, &levels, &builder->scenario->notes, builder->error);
  free(path);
  if (status != HR_OK) return status;
  spec->levels = levels.steps;
  spec->n_levels = levels.n_steps;
  spec->period_us = levels.period_us;
  return HR_OK;
}

/* With the model HR_SPOT_ON_OFF, spot capacity alternates between available and unavailable. `up` and `down` are the
   durations of these two states. Checks that their means add up to at least a second. A simulation with shorter cycles
   would practically not end. */
static enum hr_status check_cycle(struct hr__builder *builder, const cJSON *spot, const struct hr_spot_spec *spec) {
  if (spec->model != HR_SPOT_ON_OFF) return HR_OK;
  double cycle_s = hr__duration_mean_s(&spec->up) + hr__duration_mean_s(&spec->down);
  if (!(cycle_s < 1)) return HR_OK;
  return hr__build_fail(builder, spot, "the means of 'up' and 'down' add up to %.4g s; the minimum is one second",
                        cycle_s);
}

static enum hr_status build_parameters(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  enum hr_status status = hr__check_duration(builder, hr__get(spot, "up"));
  if (status == HR_OK) status = hr__check_duration(builder, hr__get(spot, "down"));
  if (status == HR_OK) status = hr__read_at(builder, spot, "cluster.pools.spot", spec);
  if (hr__has(spot, "monthly_interruption"))
    spec->rate_per_h = -log1p(-hr__number_of(spot, "monthly_interruption", 0)) / HOURS_PER_MONTH;
  spec->batch_mean = hr__number_of(spot, "batch_mean", fmax(spec->batch_mean, 1));
  if (status == HR_OK) status = check_cycle(builder, spot, spec);
  return status == HR_OK ? read_levels(builder, spot, draft) : status;
}

/* ---- Notice ----------------------------------------------------------------------------------------- */

/* Sets the notice of a spot interruption: 120 s on AWS, 30 s on all other providers, 0 if the provider is unknown. The
   providers AWS, Google Cloud and Azure document these times. Adds a note. */
static enum hr_status assume_notice(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const char *provider = draft->source->provider;
  int64_t notice_s = !provider ? 0 : strcasecmp(provider, "aws") == 0 ? 120 : 30;
  draft->pool.market.spot.notice_us = notice_s * HR_SECOND_US;
  return hr__pool_note(builder, draft->pool.name, "interruption notice assumed: %d s%s%s", (int)notice_s,
                       provider ? ", as for " : "", provider ? provider : "");
}

static enum hr_status build_notice(struct hr__builder *builder, const cJSON *spot, struct hr__pool_draft *draft) {
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  if (spec->model == HR_SPOT_NONE) return HR_OK;
  return hr__has(spot, "notice_s") || hr__has(spot, "preset") ? HR_OK : assume_notice(builder, draft);
}

static enum hr_status check_notice(const struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_spot_spec *spec = &draft->pool.market.spot;
  double life_s = hr__spot_mean_life_s(spec), notice_s = (double)spec->notice_us / (double)HR_SECOND_US;
  if (notice_s <= life_s) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "warning: the notice, %.10g s, is longer than the mean time between interruptions, %.3g s",
                       notice_s, life_s);
}

static enum hr_status build_spot(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *spot = hr__get(draft->entry, "spot");
  if (!spot)
    return hr__build_fail(builder, draft->entry,
                          "a spot pool needs 'spot' with a 'preset' or a 'model' of interruptions");
  struct hr_spot_spec *spec = &draft->pool.market.spot;
  enum hr_status status = build_preset(builder, spot, draft);
  if (status == HR_OK) status = build_model(builder, spot, spec);
  if (status == HR_OK)
    status = hr__check_choice(builder, spot, hr__table_of(&hr__scenario_keys, "cluster.pools.spot"), "spot model",
                              spec->model, !hr__has(spot, "preset"));
  if (status == HR_OK) status = build_parameters(builder, spot, draft);
  if (status == HR_OK) status = build_notice(builder, spot, draft);
  if (status == HR_OK) status = check_notice(builder, draft);
  if (status == HR_OK) status = hr__check_spot_price(builder, draft->entry);
  return status;
}

/* ---- The market ------------------------------------------------------------------------------------- */

enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  market->spot.zone = draft->zone;
  enum hr_status status = check_keys(builder, draft->entry, market->market);
  if (market->market == HR_MARKET_NONE || status != HR_OK) return status;
  if (market->market == HR_MARKET_RESERVED) status = check_bounds(builder, draft);
  if (status == HR_OK && hr_market_is_elastic(market->market)) {
    status = build_billing(builder, draft);
    if (status == HR_OK) status = check_boot(builder, draft);
    if (status == HR_OK) status = check_queue(builder, draft);
  }
  if (status == HR_OK && market->market == HR_MARKET_SPOT) status = build_spot(builder, draft);
  return status == HR_OK ? hr__build_price(builder, draft) : status;
}

/* ---- The autoscaler of the cluster ------------------------------------------------------------------ */

static enum hr_status check_pool_bounds(struct hr__builder *builder, const cJSON *cluster) {
  const struct hr_cluster_spec *spec = &builder->scenario->cluster;
  const cJSON *entry = hr__first(cluster, "pools");
  bool any = false;
  for (uint32_t i = 0; i < spec->n_pools && entry; i++, entry = entry->next) {
    any = any || hr_market_is_elastic(spec->pools[i].market.market);
    if (!hr__has(entry, "autoscale")) continue;
    if (!hr__has(cluster, "autoscaler"))
      return hr__build_fail_at(builder, entry, "autoscale",
                               "pool '%.60s' has bounds for an autoscaler, but the cluster has no 'autoscaler'",
                               spec->pools[i].name);
    if (spec->pools[i].min_nodes > spec->pools[i].nodes)
      return hr__build_fail_at(builder, hr__get(entry, "autoscale"), "min_nodes",
                               "the minimum of pool '%.60s' is %u nodes; it has at most %u ('nodes')",
                               spec->pools[i].name, spec->pools[i].min_nodes, spec->pools[i].nodes);
  }
  if (any || !hr__has(cluster, "autoscaler")) return HR_OK;
  return hr__build_fail_at(builder, cluster, "autoscaler",
                           "no pool has the market on-demand or spot, so an autoscaler has no nodes to request");
}

/* Refuses queued provisioning ('queued' of a pool) unless the cluster has the autoscaler 'cluster-autoscaler'. `spec`:
   the autoscaler; NULL: the cluster has none. */
static enum hr_status check_queued(struct hr__builder *builder, const cJSON *cluster,
                                   const struct hr_autoscaler_spec *spec) {
  const cJSON *entry = NULL;
  if (spec && spec->kind == HR_NODE_AUTOSCALER_CLUSTER) return HR_OK;
  cJSON_ArrayForEach(entry, hr__get(cluster, "pools")) {
    if (hr__has(entry, "queued"))
      return hr__build_fail_at(
          builder, entry, "queued",
          "queued provisioning needs the cluster's 'autoscaler' with the name 'cluster-autoscaler'; "
          "%s",
          spec ? "this one is karpenter" : "the cluster has none");
  }
  return HR_OK;
}

/* ---- Node pools of Karpenter ---- */

/* Returns the index of the elastic pool with a name; HR_NONE: no elastic pool has it. */
static uint32_t elastic_pool(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (hr_market_is_elastic(cluster->pools[i].market.market) && strcmp(cluster->pools[i].name, name) == 0) return i;
  return HR_NONE;
}

static enum hr_status bind_node_pool(struct hr__builder *builder, const cJSON *json, struct hr_autoscaler_spec *spec,
                                     uint32_t number) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  struct hr_node_pool *self = &spec->node_pools[number];
  const cJSON *entry = hr__first(json, "pools");
  if (!entry && spec->n_node_pools > 1)
    return hr__build_fail(builder, json, "with several node pools, each one needs 'pools'");
  for (uint32_t i = 0; i < cluster->n_pools && !entry; i++)
    self->of_pool[i] = hr_market_is_elastic(cluster->pools[i].market.market);
  for (uint32_t k = 0; k < self->n_pools && entry; k++, entry = entry->next) {
    const uint32_t at = elastic_pool(cluster, self->pools[k].name);
    if (at == HR_NONE)
      return hr__build_fail(builder, entry, "no pool with the market on-demand or spot has the name '%.60s'",
                            self->pools[k].name);
    for (uint32_t i = 0; i <= number; i++)
      if (spec->node_pools[i].of_pool[at])
        return hr__build_fail(builder, entry, "pool '%.60s' is in a node pool already", self->pools[k].name);
    self->of_pool[at] = true;
  }
  return HR_OK;
}

/* Sets the limits that a node pool lacks to the maximum. Without `budgets`, sets the budget of 10 % of the nodes.
   Otherwise checks the budgets. */
static enum hr_status complete_node_pool(struct hr__builder *builder, const cJSON *json, struct hr_node_pool *self) {
  const cJSON *limits = hr__get(json, "limits"), *entry = hr__get(json, "budgets");
  if (!hr__has(limits, "nodes")) self->max_nodes = UINT32_MAX;
  if (!hr__has(limits, "gpus")) self->max_gpus = UINT32_MAX;
  if (!hr__has(limits, "cpus")) self->max_cpu_milli = INT64_MAX;
  if (!hr__has(limits, "mem_gb")) self->max_mem_mib = INT64_MAX;
  self->of_pool = calloc(builder->scenario->cluster.n_pools, sizeof *self->of_pool);
  if (!self->of_pool) return hr__build_no_memory(builder);
  if (!entry) {
    free(self->budgets);
    self->budgets = calloc(1, sizeof *self->budgets);
    if (!self->budgets) return hr__build_no_memory(builder);
    self->n_budgets = 1;
    self->budgets[0].percent = 10;
    return HR_OK;
  }
  entry = entry->child;
  for (uint32_t k = 0; k < self->n_budgets; k++, entry = entry->next) {
    if (hr__has(entry, "nodes") == hr__has(entry, "percent"))
      return hr__build_fail(builder, entry, "a budget has either 'nodes' or 'percent'");
    if (!hr__has(entry, "percent")) self->budgets[k].percent = UINT32_MAX;
    if (hr__has(entry, "schedule") != hr__has(entry, "duration_s"))
      return hr__build_fail(builder, entry, "'schedule' and 'duration_s' need each other");
    if (self->budgets[k].schedule && !hr_disruption_schedule_is_valid(self->budgets[k].schedule))
      return hr__build_fail_at(builder, entry, "schedule",
                               "'%.60s' is not a schedule; minute, hour, day, month and weekday are expected, as in "
                               "\"0 9 * * mon-fri\"",
                               self->budgets[k].schedule);
  }
  return HR_OK;
}

/* Checks each pool. An elastic pool must be in a node pool, and a fixed boot time must not exceed 'max_provision_s'.
   'autoscale' must not set a minimum of nodes or a priority, because Karpenter does not use them. */
static enum hr_status check_managed(struct hr__builder *builder, const cJSON *cluster,
                                    const struct hr_autoscaler_spec *spec) {
  const struct hr_cluster_spec *pools = &builder->scenario->cluster;
  const cJSON *entry = hr__get(cluster, "pools")->child;
  for (uint32_t i = 0; i < pools->n_pools; i++, entry = entry->next) {
    const cJSON *bounds = hr__get(entry, "autoscale");
    bool any = !hr_market_is_elastic(pools->pools[i].market.market);
    for (uint32_t k = 0; k < spec->n_node_pools; k++) any = any || spec->node_pools[k].of_pool[i];
    if (!any)
      return hr__build_fail_at(builder, hr__get(cluster, "autoscaler"), "node_pools",
                               "pool '%.60s' is elastic, but in no node pool", pools->pools[i].name);
    const struct hr_duration *boot = &pools->pools[i].market.boot;
    if (boot->kind == HR_DURATION_FIXED && boot->a * (double)HR_SECOND_US > (double)spec->provision_us)
      return hr__build_fail_at(builder, entry, hr__has(entry, "boot") ? "boot" : "boot_s",
                               "a node of pool '%.60s' boots in %.10g s, but it is given up after %.10g s "
                               "('max_provision_s')",
                               pools->pools[i].name, boot->a, (double)spec->provision_us / (double)HR_SECOND_US);
    for (int k = 0; k < 2; k++) {
      static const char *const words[] = {"min_nodes", "priority"};
      if (hr__number_of(bounds, words[k], 0) > 0)
        return hr__build_fail_at(builder, bounds, words[k], "'%s' has no effect with the autoscaler karpenter",
                                 words[k]);
    }
  }
  return HR_OK;
}

static enum hr_status build_node_pools(struct hr__builder *builder, const cJSON *cluster,
                                       struct hr_autoscaler_spec *spec) {
  const cJSON *json = hr__get(hr__get(cluster, "autoscaler"), "node_pools");
  enum hr_status status = HR_OK;
  if (!json) {
    spec->node_pools = calloc(1, sizeof *spec->node_pools);
    if (!spec->node_pools) return hr__build_no_memory(builder);
    spec->n_node_pools = 1;
    status = hr__read(builder, NULL, hr__node_pool_keys, spec->node_pools);
  }
  json = json ? json->child : NULL;
  const cJSON *entry = json;
  for (uint32_t i = 0; i < spec->n_node_pools && status == HR_OK; i++, entry = entry ? entry->next : NULL)
    status = complete_node_pool(builder, entry, &spec->node_pools[i]);
  for (uint32_t i = 0; i < spec->n_node_pools && status == HR_OK; i++, json = json ? json->next : NULL)
    status = bind_node_pool(builder, json, spec, i);
  return status == HR_OK ? check_managed(builder, cluster, spec) : status;
}

/* Sets the pools to which each quota applies, and for each pool the probability that the provider has no capacity. */
static enum hr_status bind_pools(struct hr__builder *builder, const cJSON *cluster, struct hr_autoscaler_spec *spec) {
  const struct hr_cluster_spec *pools = &builder->scenario->cluster;
  const cJSON *entry = hr__get(cluster, "pools")->child, *json = hr__get(hr__get(cluster, "autoscaler"), "quotas");
  spec->failure_share = calloc(pools->n_pools, sizeof *spec->failure_share);
  if (!spec->failure_share) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < pools->n_pools; i++, entry = entry->next)
    spec->failure_share[i] = hr__number_of(hr__get(entry, "autoscale"), "no_capacity", 0);
  json = json ? json->child : NULL;
  for (uint32_t k = 0; json && k < spec->n_quotas; k++, json = json->next) {
    struct hr_scaling_quota *quota = &spec->quotas[k];
    bool any = false;
    quota->of_pool = calloc(pools->n_pools, sizeof *quota->of_pool);
    if (!quota->of_pool) return hr__build_no_memory(builder);
    for (uint32_t i = 0; i < pools->n_pools; i++) {
      const struct hr_pool_spec *pool = &pools->pools[i];
      quota->of_pool[i] = hr_market_is_elastic(pool->market.market) && pool->gpus_per_node > 0 &&
                          (!quota->gpu || strcasecmp(quota->gpu, pool->gpu) == 0) &&
                          (!quota->region || (pool->region && strcasecmp(quota->region, pool->region) == 0));
      any = any || quota->of_pool[i];
    }
    if (!any)
      return hr__build_fail(builder, json, "the quota applies to no elastic pool: none has this GPU type and region");
  }
  return HR_OK;
}

/* Refuses parameters with which the policy would request nodes, because the autoscaler requests them. */
static enum hr_status check_policy(struct hr__builder *builder) {
  static const char *const words[][2] = {{"market", "static"}, {"elastic_nodes", "static"}};
  const cJSON *policy = hr__get(builder->source.file.tree, "policy");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (hr__has(policy, words[i][0]) && strcmp(hr__text_of(policy, words[i][0], ""), words[i][1]) != 0)
      return hr__build_fail_at(builder, policy, words[i][0],
                               "'%s' lets the policy request nodes, as does 'autoscaler' of the cluster; keep one of "
                               "them",
                               words[i][0]);
  return HR_OK;
}

enum hr_status hr__build_autoscaler(struct hr__builder *builder, const cJSON *cluster) {
  const cJSON *json = hr__get(cluster, "autoscaler");
  enum hr_status status = check_pool_bounds(builder, cluster);
  if (status == HR_OK && !json) status = check_queued(builder, cluster, NULL);
  if (status != HR_OK || !json) return status;
  struct hr_autoscaler_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  builder->scenario->cluster.autoscaler = spec;
  status = check_policy(builder);
  if (status == HR_OK) status = hr__read(builder, json, hr__autoscaler_keys, spec);
  if (status == HR_OK)
    status = hr__check_choice(builder, json, hr__autoscaler_keys, "autoscaler", (unsigned)spec->kind, true);
  if (status == HR_OK) status = check_queued(builder, cluster, spec);
  if (status == HR_OK) status = bind_pools(builder, cluster, spec);
  if (status == HR_OK && spec->kind == HR_NODE_AUTOSCALER_KARPENTER) status = build_node_pools(builder, cluster, spec);
  if (status != HR_OK || spec->max_backoff_us >= spec->backoff_us) return status;
  return hr__build_fail_at(builder, json, hr__has(json, "backoff_max_s") ? "backoff_max_s" : "backoff_s",
                           "the maximum back-off, %.10g s, is shorter than the first one, %.10g s",
                           (double)spec->max_backoff_us / (double)HR_SECOND_US,
                           (double)spec->backoff_us / (double)HR_SECOND_US);
}
