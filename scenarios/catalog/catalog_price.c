/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The price of an instance type in a region at a date.
 *
 * The rows of the catalogue have different dates, and some regions have no rows. Two rules fill the gaps. First, the
 * list price in the base region may have changed since the date of a row. (In June 2025 AWS reduced the prices of its
 * larger instances by a third to nearly half.) The price of the row is then multiplied by (new list price) / (old
 * list price). Second, a region without a row has the price of the base region, multiplied by the multiplier of the
 * region.
 */

#include "scenarios/catalog/catalog_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MILLION INT64_C(1000000)

/* The instance type, region and date for which a price is searched. */
struct price_search {
  const struct hr_catalog *catalog;
  const struct hr_instance_type *type;
  const char *region;
  const char *as_of; /* date of the price; NULL or "": the newest price */
};

static int64_t scale(int64_t price, int64_t numerator, int64_t denominator) {
  __extension__ typedef __int128 wide;
  return (int64_t)(((wide)price * numerator * 2 + denominator) / ((wide)denominator * 2));
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* A market, with the term and the upfront payment of a commitment. */
struct offer {
  enum hr_market market;
  const char *term, *upfront; /* upfront: NULL for any upfront payment */
};
static const struct offer on_demand = {HR_MARKET_ON_DEMAND, "", ""};

static bool fits(const struct price_search *search, const struct offer *offer, const struct hr_price *price) {
  return price->market == offer->market && strcasecmp(price->instance, search->type->name) == 0 &&
         strcasecmp(price->provider, search->type->provider) == 0 && strcmp(price->term, offer->term) == 0 &&
         (!offer->upfront || strcmp(price->upfront, offer->upfront) == 0) &&
         (hr__catalog_is_any(price->region) || strcasecmp(price->region, search->region) == 0) &&
         hr__catalog_is_valid_at(price->as_of, search->as_of);
}

/* Order of matching rows: newer rows first, then rows of the region before rows of all regions, then by ascending
   price. */
static bool precedes(const struct hr_price *a, const struct hr_price *b) {
  int newer = strcmp(a->as_of, b->as_of);
  if (newer) return newer > 0;
  bool a_own = !hr__catalog_is_any(a->region), b_own = !hr__catalog_is_any(b->region);
  return a_own != b_own ? a_own : a->uusd_h < b->uusd_h;
}

static const struct hr_price *newest(const struct price_search *search, const struct offer *offer) {
  const struct hr_price *found = NULL;
  for (size_t i = 0; i < search->catalog->n_prices; i++) {
    const struct hr_price *price = &search->catalog->prices[i];
    if (fits(search, offer, price) && (!found || precedes(price, found))) found = price;
  }
  return found;
}

static const struct hr_region *find_region(const struct price_search *search) {
  for (size_t i = 0; i < search->catalog->n_regions; i++) {
    const struct hr_region *region = &search->catalog->regions[i];
    if (strcasecmp(region->provider, search->type->provider) == 0 && strcasecmp(region->name, search->region) == 0)
      return region;
  }
  return NULL;
}

/* Returns the region to which the multipliers of regions refer; "*" if the provider has the same price in all
   regions. */
static const char *base_region(const struct hr_catalog *catalog, const char *provider) {
  for (size_t i = 0; i < catalog->n_regions; i++)
    if (strcasecmp(catalog->regions[i].provider, provider) == 0) return catalog->regions[i].base;
  return "*";
}

/* ---- Quotes ----------------------------------------------------------------------------------------- */

static void quote_row(const struct hr_price *price, struct hr_price_quote *quote) {
  quote->uusd_h = price->uusd_h;
  quote->as_of = price->as_of;
  quote->status = price->status;
  snprintf(quote->source, sizeof quote->source, "%s", price->source);
}

HR_PRINTF(4, 5)
static void quote_derived(struct hr_price_quote *quote, int64_t uusd_h, const char *as_of, const char *format, ...) {
  va_list args;
  va_start(args, format);
  quote->uusd_h = uusd_h;
  quote->as_of = as_of;
  quote->status = "derived";
  vsnprintf(quote->source, sizeof quote->source, format, args);
  va_end(args);
}

/* Quotes the price of the row `own`, multiplied by (new list price) / (old list price) of the base region. The old
   list price is that at the date of `own`; `now` is the row of the new list price. Returns false if the list price
   has not changed, or if the old one is unknown. */
static bool quote_scaled(const struct price_search *base, const struct hr_price *own, const struct hr_price *now,
                         struct hr_price_quote *quote) {
  if (strcmp(now->as_of, own->as_of) <= 0) return false;
  struct price_search before = *base;
  before.as_of = own->as_of;
  const struct hr_price *then = newest(&before, &on_demand);
  if (!then || then->uusd_h == now->uusd_h || then->uusd_h == 0) return false;
  quote_derived(quote, scale(own->uusd_h, now->uusd_h, then->uusd_h), now->as_of,
                "price of %s, scaled by the change in %s since: %s; %s", own->as_of, base->region, own->source,
                now->source);
  return true;
}

static bool quote_on_demand(const struct price_search *search, struct hr_price_quote *quote) {
  const struct hr_region *region = find_region(search);
  const struct hr_price *own = newest(search, &on_demand), *now = NULL;
  struct price_search base = *search;
  if (region && strcmp(region->base, region->name) != 0) {
    base.region = region->base;
    now = newest(&base, &on_demand);
  }
  if (own) {
    if (!now || !quote_scaled(&base, own, now, quote)) quote_row(own, quote);
    return true;
  }
  if (!now) return false;
  quote_derived(quote, scale(now->uusd_h, region->multiplier_ppm, MILLION), now->as_of, "%s's price x %.6g: %s; %s",
                region->base, (double)region->multiplier_ppm / (double)MILLION, now->source, region->source);
  return true;
}

/* Quotes the on-demand price with a discount. Returns false if the price or the discount is unknown. */
static bool quote_discounted(const struct price_search *search, const struct offer *offer,
                             struct hr_price_quote *quote) {
  const struct hr_discount_query query = {.provider = search->type->provider,
                                          .instance = search->type->name,
                                          .term = offer->market == HR_MARKET_SPOT ? "spot" : offer->term,
                                          .upfront = offer->market == HR_MARKET_SPOT ? NULL : offer->upfront,
                                          .as_of = search->as_of};
  const struct hr_discount *discount;
  struct hr_price_quote list;
  if (hr_catalog_discount(search->catalog, &query, &discount, NULL) != HR_OK) return false;
  if (!quote_on_demand(search, &list)) return false;
  quote_derived(quote, scale(list.uusd_h, MILLION - discount->off_ppm, MILLION), list.as_of,
                "on-demand less %.6g %% (%s, %s): %s; on-demand: %s", (double)discount->off_ppm / 1e4, discount->family,
                discount->status, discount->source, list.source);
  if (strcmp(discount->status, "assumed") == 0) quote->status = discount->status;
  return true;
}

/* Quotes a reserved price. Prices of commitments (1y, 3y) follow changes of the list price. Prices of capacity
   blocks, and prices with unknown terms, do not follow such changes. */
static bool quote_reserved(const struct price_search *search, const struct offer *offer, struct hr_price_quote *quote) {
  const struct hr_price *own = newest(search, offer);
  bool follows = strcmp(offer->term, "1y") == 0 || strcmp(offer->term, "3y") == 0;
  if (!own) return follows && quote_discounted(search, offer, quote);
  struct hr_price_quote now, then;
  struct price_search before = *search;
  before.as_of = own->as_of;
  bool moved = follows && quote_on_demand(search, &now) && quote_on_demand(&before, &then) &&
               strcmp(now.as_of, own->as_of) > 0 && then.uusd_h != now.uusd_h && then.uusd_h > 0;
  if (moved)
    quote_derived(quote, scale(own->uusd_h, now.uusd_h, then.uusd_h), now.as_of,
                  "price of %s, scaled by the change of on-demand since: %s; on-demand: %s", own->as_of, own->source,
                  now.source);
  else
    quote_row(own, quote);
  return true;
}

static bool quote_market(const struct price_search *search, const struct offer *offer, struct hr_price_quote *quote) {
  quote->instance = search->type;
  quote->region = search->region;
  switch (offer->market) {
  case HR_MARKET_ON_DEMAND:
    return quote_on_demand(search, quote);
  case HR_MARKET_RESERVED:
    return quote_reserved(search, offer, quote);
  default: {
    const struct hr_price *own = newest(search, offer);
    if (own) quote_row(own, quote);
    return own || quote_discounted(search, offer, quote);
  }
  }
}

/* ---- Queries ---------------------------------------------------------------------------------------- */

static enum hr_status no_price(const struct price_search *search, const struct offer *offer, const char *what,
                               struct hr_error *error) {
  const struct hr_price *first = NULL;
  struct price_search any = *search;
  any.as_of = NULL;
  for (size_t i = 0; i < search->catalog->n_prices; i++) {
    const struct hr_price *price = &search->catalog->prices[i];
    if (fits(&any, offer, price) && (!first || strcmp(price->as_of, first->as_of) < 0)) first = price;
  }
  bool everywhere = hr__catalog_is_any(search->region);
  const char *as_of = search->as_of && search->as_of[0] ? search->as_of : NULL;
  return hr_fail(error, HR_BAD_INPUT, "the catalogue has no %s price%s%.10s of %s %s%s%s%s%s%s%s%s",
                 hr_market_name(offer->market), offer->term[0] ? " for " : "", offer->term, search->type->provider,
                 what, everywhere ? "" : " in ", everywhere ? "" : search->region, as_of ? " as of " : "",
                 as_of ? as_of : "", first ? " (the first is of " : "", first ? first->as_of : "", first ? ")" : "");
}

static bool is_cheaper(const struct hr_price_quote *a, const struct hr_price_quote *b) {
  __extension__ typedef __int128 wide;
  return (wide)a->uusd_h * (int64_t)b->instance->gpus < (wide)b->uusd_h * (int64_t)a->instance->gpus;
}

static enum hr_status quote_cheapest(struct price_search *search, const struct offer *offer, const char *provider,
                                     const char *gpu, struct hr_price_quote *quote, struct hr_error *error) {
  const struct hr_gpu_type *type;
  enum hr_status status = hr_catalog_gpu(search->catalog, gpu, &type, error);
  if (status != HR_OK) return status;
  const struct hr_instance_type *last = NULL;
  bool found = false;
  for (size_t i = 0; i < search->catalog->n_instances; i++) {
    struct hr_price_quote candidate;
    search->type = &search->catalog->instances[i];
    if (strcasecmp(search->type->provider, provider) != 0 || strcmp(search->type->gpu, type->name) != 0) continue;
    last = search->type;
    if (!quote_market(search, offer, &candidate) || (found && !is_cheaper(&candidate, quote))) continue;
    *quote = candidate;
    found = true;
  }
  if (found) return HR_OK;
  if (!last) return hr_fail(error, HR_BAD_INPUT, "%s has no instance type with the GPU '%s'", provider, type->name);
  search->type = last;
  return no_price(search, offer, type->name, error);
}

enum hr_status hr_catalog_price(const struct hr_catalog *catalog, const struct hr_price_query *query,
                                struct hr_price_quote *quote, struct hr_error *error) {
  struct price_search search = {.catalog = catalog, .as_of = query->as_of};
  bool reserved = query->market == HR_MARKET_RESERVED;
  const struct offer offer = {query->market, reserved && query->term ? query->term : "",
                              reserved ? query->upfront : ""};
  bool has_price = reserved || hr_market_is_elastic(query->market);
  if (!has_price)
    return hr_fail(error, HR_BAD_INPUT, "the catalogue has prices of reserved, on-demand and spot capacity only");
  search.region = query->region ? query->region : base_region(catalog, query->provider);
  enum hr_status status = query->region ? hr_catalog_check_region(catalog, query->provider, query->region, error)
                                        : hr_catalog_check_provider(catalog, query->provider, error);
  if (status != HR_OK) return status;
  if (!query->instance) return quote_cheapest(&search, &offer, query->provider, query->gpu, quote, error);
  status = hr_catalog_instance(catalog, query->provider, query->instance, &search.type, error);
  if (status != HR_OK) return status;
  return quote_market(&search, &offer, quote) ? HR_OK : no_price(&search, &offer, search.type->name, error);
}

int64_t hr_price_quote_gpu_uusd_h(const struct hr_price_quote *quote) {
  return scale(quote->uusd_h, 1, (int64_t)quote->instance->gpus);
}
