/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from the catalogue where the scenario does not say: a pool's shape, and its price. A name that is not in
   the catalogue is told at the key that has it. */

#include "scenarios/pools.h"

#include "headroom/catalog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MILLION INT64_C(1000000)

/* ---- Shape ------------------------------------------------------------------------------------------ */

/* What the entry says, at the place of its member `name`. */
static enum hr_status wrap_at(struct hr__builder *builder, const cJSON *entry, const char *name, enum hr_status status,
                              const struct hr_error *inner) {
  if (status == HR_BAD_INPUT) return hr__build_fail_at(builder, entry, name, "%s", inner->text);
  return hr__build_wrap(builder, false, status, inner);
}

static enum hr_status find_instance(struct hr__builder *builder, const struct hr__draft *draft,
                                    const struct hr_instance_type **instance) {
  const char *provider = hr__text_of(draft->entry, "provider", NULL),
             *name = hr__text_of(draft->entry, "instance", NULL);
  struct hr_error inner;
  if (!provider)
    return hr__build_fail_at(builder, draft->entry, "instance",
                             "'instance' is a provider's name for a type of node: "
                             "the pool's 'provider' is wanted");
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_check_provider(builder->catalog, provider, &inner);
  if (status != HR_OK) return wrap_at(builder, draft->entry, "provider", status, &inner);
  status = hr_catalog_instance(builder->catalog, provider, name, instance, &inner);
  return wrap_at(builder, draft->entry, "instance", status, &inner);
}

/* What the entry says of an instance that the catalogue has must be so. */
static enum hr_status check_shape(struct hr__builder *builder, const struct hr__draft *draft,
                                  const struct hr_instance_type *instance) {
  const struct hr_pool_spec *pool = &draft->pool;
  if (pool->gpu && strcasecmp(pool->gpu, instance->gpu) != 0)
    return hr__build_fail_at(builder, draft->entry, "gpu", "a '%s' has %.10g x %s, not '%.60s'", instance->name,
                             instance->gpus, instance->gpu, pool->gpu);
  if (pool->gpus_per_node && pool->gpus_per_node != instance->gpus)
    return hr__build_fail_at(builder, draft->entry, "gpus_per_node", "a '%s' has %.10g x %s, not %u", instance->name,
                             instance->gpus, instance->gpu, (unsigned)pool->gpus_per_node);
  return HR_OK;
}

enum hr_status hr__list_shape(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *entry = draft->entry;
  struct hr_pool_spec *pool = &draft->pool;
  const struct hr_instance_type *instance = NULL;
  if (!hr__has(entry, "instance")) return HR_OK;
  if (pool->gpu && pool->gpus_per_node) { /* a type that is not in the catalogue may have a price of its own */
    struct hr_error unknown;
    enum hr_status opened = hr__open_catalog(builder);
    if (opened != HR_OK || !hr__has(entry, "provider")) return opened;
    opened = hr_catalog_instance(builder->catalog, hr__text_of(entry, "provider", ""),
                                 hr__text_of(entry, "instance", ""), &instance, &unknown);
    return opened == HR_OK ? check_shape(builder, draft, instance) : HR_OK;
  }
  enum hr_status status = find_instance(builder, draft, &instance);
  if (!instance) return status;
  status = check_shape(builder, draft, instance);
  if (status != HR_OK) return status;
  if (!pool->gpus_per_node && (instance->gpus < 1 || instance->gpus != floor(instance->gpus)))
    return hr__build_fail_at(builder, entry, "instance", "'%s' has %.10g GPUs; whole GPUs are wanted", instance->name,
                             instance->gpus);
  if (!pool->gpu) pool->gpu = (char *)instance->gpu; /* copied when the pool is added, never written to */
  if (!pool->gpus_per_node) pool->gpus_per_node = (uint32_t)instance->gpus;
  if (!hr__has(entry, "cpu_per_node") && instance->vcpus > 0)
    pool->cpu_milli_per_node = (uint32_t)llround(instance->vcpus * 1000);
  if (!hr__has(entry, "mem_gb_per_node") && instance->mem_gib > 0)
    pool->mem_mib_per_node = (uint64_t)llround(instance->mem_gib * 1024);
  return HR_OK;
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

static enum hr_status ask(const struct hr__builder *builder, const struct hr__draft *draft, enum hr_market market,
                          struct hr_price_quote *quote, struct hr_error *error) {
  const cJSON *entry = draft->entry;
  bool is_reserved = market == HR_MARKET_RESERVED;
  const struct hr_price_query query = {.provider = hr__text_of(entry, "provider", NULL),
                                       .instance = hr__text_of(entry, "instance", NULL),
                                       .gpu = draft->pool.gpu,
                                       .region = hr__text_of(entry, "region", NULL),
                                       .market = market,
                                       .term = is_reserved ? hr__text_of(entry, "term", NULL) : NULL,
                                       .upfront = is_reserved ? hr__text_of(entry, "upfront", NULL) : NULL,
                                       .as_of = hr__text_of(entry, "as_of", NULL)};
  return hr_catalog_price(builder->catalog, &query, quote, error);
}

/* The names that a price depends on, each told at its own place. */
static enum hr_status check_names(struct hr__builder *builder, const struct hr__draft *draft) {
  const cJSON *entry = draft->entry;
  const char *provider = hr__text_of(entry, "provider", ""), *region = hr__text_of(entry, "region", NULL);
  const struct hr_instance_type *instance = NULL;
  const struct hr_gpu_type *gpu;
  struct hr_error inner;
  enum hr_status status = hr_catalog_check_provider(builder->catalog, provider, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "provider", status, &inner);
  if (region) status = hr_catalog_check_region(builder->catalog, provider, region, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "region", status, &inner);
  if (hr__has(entry, "instance")) return find_instance(builder, draft, &instance);
  status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  return wrap_at(builder, entry, "gpu", status, &inner);
}

/* A price that no row of the catalogue has as it is rests on assumptions, which a person should see. */
static enum hr_status take_quote(struct hr__builder *builder, struct hr__draft *draft,
                                 const struct hr_price_quote *quote) {
  char offer[200], origin[700];
  bool is_everywhere = strcmp(quote->region, "*") == 0;
  snprintf(offer, sizeof offer, "%.80s%s%.80s", quote->instance->name, is_everywhere ? "" : " in ",
           is_everywhere ? "" : quote->region);
  snprintf(origin, sizeof origin, "%s: %s", offer, quote->source);
  draft->pool.market.price_uusd_h = hr_price_quote_gpu_uusd_h(quote);
  enum hr_status status = hr__price_source_set(builder, draft->source, quote->status, quote->as_of, origin);
  if (status == HR_OK && (!hr__has(draft->entry, "instance") || (!is_everywhere && !hr__has(draft->entry, "region"))))
    status = hr__pool_note(builder, draft, "assumed to be priced as %s", offer);
  if (status != HR_OK || strcmp(quote->status, "quoted") == 0) return status;
  return hr__pool_note(builder, draft, "its price is %s: %s", quote->status, quote->source);
}

enum hr_status hr__list_price(struct hr__builder *builder, struct hr__draft *draft, enum hr_market market) {
  struct hr_price_quote quote;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status == HR_OK) status = check_names(builder, draft);
  if (status != HR_OK) return status;
  status = ask(builder, draft, market, &quote, &inner);
  return status == HR_OK ? take_quote(builder, draft, &quote) : hr__build_wrap(builder, false, status, &inner);
}

enum hr_status hr__list_on_demand(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_price_quote quote;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = ask(builder, draft, HR_MARKET_ON_DEMAND, &quote, &inner);
  if (status == HR_BAD_INPUT)
    return hr__pool_note(builder, draft, "its on-demand price is not known, so no savings are counted: %s", inner.text);
  if (status != HR_OK) return hr__build_wrap(builder, false, status, &inner);
  draft->pool.market.on_demand_uusd_h = hr_price_quote_gpu_uusd_h(&quote);
  return HR_OK;
}

/* ---- Discounts -------------------------------------------------------------------------------------- */

/* Off the on-demand price that the scenario states. */
enum hr_status hr__list_discount(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *entry = draft->entry;
  const struct hr_instance_type *instance = NULL;
  const struct hr_discount *discount;
  struct hr_error inner;
  if (!hr__has(entry, "instance"))
    return hr__build_fail_at(builder, entry, "term",
                             "'term' takes its discount from the catalogue: 'provider' and 'instance' are wanted");
  enum hr_status status = find_instance(builder, draft, &instance);
  if (!instance) return status;
  const struct hr_discount_query query = {.provider = instance->provider,
                                          .instance = instance->name,
                                          .term = hr__text_of(entry, "term", ""),
                                          .upfront = hr__text_of(entry, "upfront", NULL),
                                          .as_of = hr__text_of(entry, "as_of", NULL)};
  status = hr_catalog_discount(builder->catalog, &query, &discount, &inner);
  if (status != HR_OK) return wrap_at(builder, entry, "term", status, &inner);
  struct hr_market_spec *market = &draft->pool.market;
  market->price_uusd_h = hr__money_scale(market->on_demand_uusd_h, MILLION - discount->off_ppm, MILLION);
  return hr__price_source_set(builder, draft->source, discount->status, discount->as_of, discount->source);
}
