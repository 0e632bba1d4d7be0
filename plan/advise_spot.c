/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classes that run on demand and could stand being interrupted: they checkpoint, or nearly all of their jobs are short.
 * A spot pool of as many such nodes is put beside, for that class alone. How its nodes are taken away is copied from a
 * spot pool of the same GPUs where the scenario has one, else from the catalogue's presets, the worst of equal ones.
 */

#include "plan/advising.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The share of jobs of more than an hour that a class which begins anew may have. */
static const double few_long_ones = 0.05;
static const double usual_discount = 0.7; /* where nothing tells it */

/* What stands behind a spot pool. */
struct model {
  const struct hr_spot_preset *preset; /* NULL: that of a pool of the scenario */
  const cJSON *spot, *like;            /* what the pool says of it, and the pool's entry; NULL likewise */
  double price_share;                  /* of the on-demand price; 0: the catalogue has a price */
};

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

/* ---- Models ----------------------------------------------------------------------------------------- */

static bool find_pool(const struct hr_advice *advice, uint32_t pool, struct model *model) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  const struct hr_market_spec *self = &cluster->pools[pool].market;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *other = &cluster->pools[i];
    bool same = other->gpu && cluster->pools[pool].gpu && strcasecmp(other->gpu, cluster->pools[pool].gpu) == 0;
    if (!same || other->market.market != HR_MARKET_SPOT) continue;
    model->like = cJSON_GetArrayItem(advice->pools, (int)i);
    model->spot = cJSON_GetObjectItemCaseSensitive(model->like, "spot");
    model->price_share = self->price_uusd_h ? (double)other->market.price_uusd_h / (double)self->price_uusd_h : 0;
    return true;
  }
  return false;
}

/* How well a preset fits: its GPU type by name, then its region by name; 0: not at all. */
static int fit_of(const struct hr_spot_preset *preset, const struct hr_pool_spec *spec, const char *provider) {
  bool any_gpu = strcmp(preset->gpu, "*") == 0, any_region = strcmp(preset->region, "*") == 0;
  bool this_gpu = spec->gpu && strcasecmp(preset->gpu, spec->gpu) == 0;
  bool this_region = spec->region && strcasecmp(preset->region, spec->region) == 0;
  if (provider ? strcasecmp(preset->provider, provider) != 0 : !this_gpu) return 0;
  if (!any_gpu && !this_gpu) return 0;
  return (any_gpu ? 1 : 4) + (this_region ? 2 : any_region ? 1 : 0);
}

static bool find_preset(const struct hr_advice *advice, uint32_t pool, struct model *model) {
  const struct hr_pool_source *sources = advice->config.scenario->pool_sources;
  const char *provider = sources ? sources[pool].provider : NULL;
  int best = 0;
  for (size_t i = 0; i < advice->catalog->n_spot_presets; i++) {
    const struct hr_spot_preset *preset = &advice->catalog->spot_presets[i];
    int fit = fit_of(preset, hr__advice_pool(advice, pool), provider);
    bool worse = fit == best && fit && preset->spec.rate_per_h > model->preset->spec.rate_per_h;
    if (fit <= best && !worse) continue;
    best = fit;
    model->preset = preset;
  }
  return best > 0;
}

/* A price that is stated, or that the catalogue has no spot price beside, goes by the preset's discount. */
static void find_price(const struct hr_advice *advice, uint32_t pool, struct model *model) {
  const struct hr_pool_source *source = &advice->config.scenario->pool_sources[pool];
  struct hr_price_quote quote;
  struct hr_price_query query = {.provider = source->provider,
                                 .instance = source->instance,
                                 .gpu = hr__advice_pool(advice, pool)->gpu,
                                 .region = source->region,
                                 .market = HR_MARKET_SPOT};
  bool stated = !source->status || strcmp(source->status, "stated") == 0;
  if (!stated && source->provider && hr_catalog_price(advice->catalog, &query, &quote, NULL) == HR_OK) return;
  model->price_share = 1 - (model->preset->discount >= 0 ? model->preset->discount : usual_discount);
}

/* ---- The pool --------------------------------------------------------------------------------------- */

static cJSON *spot_object(const struct model *model) {
  if (!model->preset) return cJSON_Duplicate(model->spot, true);
  cJSON *spot = cJSON_CreateObject();
  if (spot && hr__put_text(spot, "preset", model->preset->name)) return spot;
  cJSON_Delete(spot);
  return NULL;
}

static bool fill_entry(const struct hr_advice *advice, uint32_t class_, uint32_t pool, const struct model *model,
                       cJSON *entry) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const char *zone = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model->like, "zone"));
  double on_demand_usd = (double)spec->market.price_uusd_h / 1e6;
  double price_usd = round(model->price_share * (double)spec->market.price_uusd_h) / 1e6;
  if (!hr__put_text(entry, "market", "spot")) return false;
  if (!hr__put_item(entry, "spot", spot_object(model))) return false;
  if (zone && !hr__put_text(entry, "zone", zone)) return false;
  if (model->price_share > 0 && (!hr__put_number(entry, "usd_per_gpu_hour", price_usd) ||
                                 !hr__put_number(entry, "on_demand_usd_per_gpu_hour", on_demand_usd)))
    return false;
  return class_ == HR_CLASS_UNKNOWN || hr__put_class(entry, class_);
}

static cJSON *spot_entry(const struct hr_advice *advice, uint32_t class_, uint32_t pool, const struct model *model) {
  static const char *const unwanted[] = {"usd_per_gpu_hour", "usd_per_node_hour", "discount", "spot", NULL};
  cJSON *entry = hr__pool_entry(advice, pool, "-spot", unwanted);
  if (entry && fill_entry(advice, class_, pool, model, entry)) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* ---- The change ------------------------------------------------------------------------------------- */

static enum hr_status assume(const struct hr_advice *advice, const struct model *model, struct hr__proposal *proposal,
                             struct hr_error *error) {
  enum hr_status status;
  if (model->preset)
    status = hr__proposal_assume(proposal, error, "nodes are taken away as the catalogue's preset %s says (%s)",
                                 model->preset->name, model->preset->status);
  else
    status =
        hr__proposal_assume(proposal, error, "as many spot nodes can be had, and are taken away, as in pool %.100s",
                            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model->like, "name")));
  if (status == HR_OK && model->price_share > 0)
    status = hr__proposal_assume(proposal, error, "a spot GPU-hour costs %.3g of one on demand%s", model->price_share,
                                 !model->preset                 ? ", as there"
                                 : model->preset->discount >= 0 ? ", as the preset has it"
                                                                : ", as nothing tells it");
  if (status == HR_OK && !advice->managed)
    status = hr__proposal_assume(proposal, error,
                                 "the policy then asks for nodes when they are wanted, on demand, too; part of the "
                                 "difference is of that");
  return status;
}

static enum hr_status propose(struct hr_advice *advice, uint32_t class_, uint32_t pool, const struct model *model,
                              struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  struct hr__proposal proposal;
  char path[60];
  hr__proposal_init(&proposal, HR_ADVICE_SPOT, class_ == HR_CLASS_UNKNOWN ? HR_N_CLASSES : class_, pool);
  snprintf(proposal.from, sizeof proposal.from, "on-demand %.60s", spec->gpu ? spec->gpu : "GPUs");
  snprintf(proposal.to, sizeof proposal.to, "up to %u spot node%s, else on-demand", (unsigned)spec->nodes,
           spec->nodes == 1 ? "" : "s");
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)advice->config.scenario->cluster.n_pools);
  enum hr_status status = hr__proposal_set_json(&proposal, path, spot_entry(advice, class_, pool, model), error);
  if (status == HR_OK) status = hr__proposal_manage(advice, &proposal, true, error);
  if (status == HR_OK) status = assume(advice, model, &proposal, error);
  if (status == HR_OK) return hr__proposal_keep(advice, &proposal, error);
  hr__proposal_finish(&proposal);
  return status;
}

/* Why a class is not tried on spot nodes; NULL: it is. */
static const char *unfit(const struct hr_advice *advice, uint32_t class_, uint32_t pool) {
  const struct hr_class_spec *spec = &advice->config.scenario->classes[class_];
  const struct hr__pool_use *use = hr__look_use(&advice->look, class_, pool);
  bool saves = spec->checkpoint != HR_CHECKPOINT_NONE || use->own_checkpoints > 0;
  if (spec->no_spot) return "the scenario keeps it off spot nodes";
  if (use->bound_milli_us == use->held_milli_us) return "its jobs may not be interrupted";
  if (!saves && (double)use->long_ones > few_long_ones * (double)use->starts)
    return "jobs of more than an hour begin anew when they are interrupted: they have no checkpoints";
  return NULL;
}

static enum hr_status advise_use(struct hr_advice *advice, uint32_t class_, uint32_t pool, struct hr_error *error) {
  struct model model = {0};
  const char *why = unfit(advice, class_, pool);
  if (!why && !advice->queue) why = "the policy keeps all nodes that come and go at all times, or knows no other way";
  if (!why && !find_pool(advice, pool, &model)) {
    if (find_preset(advice, pool, &model))
      find_price(advice, pool, &model);
    else
      why = "neither a pool nor a preset of the catalogue tells how nodes of its provider are taken away";
  }
  if (!why) return propose(advice, class_, pool, &model, error);
  return hr_notes_add(&advice->notes, "%s was not tried on spot nodes: %s", hr__class_words(class_), why) == HR_OK
             ? HR_OK
             : no_memory(error);
}

enum hr_status hr__advise_spot(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t pool = 0; pool < advice->look.n_pools; pool++) {
    if (hr__advice_pool(advice, pool)->market.market != HR_MARKET_ON_DEMAND) continue;
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES && status == HR_OK; class_++) {
      bool nameless = class_ == HR_CLASS_UNKNOWN && advice->config.trace->class_;
      if (hr__look_use(&advice->look, class_, pool)->held_milli_us == 0 || nameless) continue;
      status = advise_use(advice, class_, pool, error);
    }
  }
  return status;
}
