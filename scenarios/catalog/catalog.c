/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The catalogue: loads its tables, checks references between them, finds rows by name, and computes the price of an
 * instance type in a region at a date.
 *
 * A table consists of the built-in rows and the rows of a file. A row of the file replaces the built-in row with the
 * same key. If a row refers to a row of another table by its name, this row must exist. Tables are short, so they are
 * searched linearly. Names are not case-sensitive.
 */

#include "scenarios/catalog/catalog_tables.h"

#include "sim/cluster/cluster.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Prices ----------------------------------------------------------------------------------------- */

/*
 * The rows of the catalogue have different dates, and some regions have no rows. Each provider has a base region. The
 * on-demand price of an instance type in this region is called its list price. Two rules fill the gaps:
 *   - The list price may have changed since the date of a row. (In June 2025 AWS reduced the prices of its larger
 *     instances by a third to nearly half.) The price of the row is then multiplied by (new list price) / (old list
 *     price).
 *   - A region without a row has the list price multiplied by the multiplier of the region.
 */

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

/* ---- Prices: rows ----------------------------------------------------------------------------------- */

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

/* Returns whether row `a` has precedence over row `b`. A newer row has precedence over an older row. Of two rows of the
   same date, a row for the region has precedence over a row for all regions. Otherwise, the row with the lower price
   has precedence. */
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

/* Returns the base region of a provider; "*": the table of regions has no row of the provider. Prices of such a
   provider are the same in all regions. */
static const char *base_region(const struct hr_catalog *catalog, const char *provider) {
  for (size_t i = 0; i < catalog->n_regions; i++)
    if (strcasecmp(catalog->regions[i].provider, provider) == 0) return catalog->regions[i].base;
  return "*";
}

/* ---- Prices: quotes --------------------------------------------------------------------------------- */

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

/* Quotes the price of the row `own`, multiplied by (new list price) / (old list price). `now` is the row of the new
   list price. The old list price is that at the date of `own`. Returns false if the list price has not changed since
   that date, or if the old list price is unknown. */
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

/* Quotes a reserved price. Prices of commitments (1y, 3y) are scaled by changes of the on-demand price since their
   date. Prices of capacity blocks, and prices with unknown terms, are not scaled. Returns false if the price is
   unknown. */
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

/* ---- Prices: queries -------------------------------------------------------------------------------- */

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

/* ---- The catalogue ---------------------------------------------------------------------------------- */

enum { MAX_NAMES = 8, MIN_ABBREVIATION = 3 };

/* ---- Unknown names ---------------------------------------------------------------------------------- */

static bool is_prefix(const char *word, const char *name) {
  return word[0] && strncasecmp(word, name, strlen(word)) == 0;
}

static bool is_duplicate(const char *const *known, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (strcmp(known[i], known[at]) == 0) return true;
  return false;
}

/* Writes the names that start with `word`, or all names if `word` is NULL, such as "a, b, c and 5 more". Returns the
   number of these names. */
static size_t list_names(const char *word, const char *const *known, char *text, size_t size) {
  size_t count = 0, used = 0;
  text[0] = '\0';
  for (size_t i = 0; known[i]; i++) {
    if ((word && !is_prefix(word, known[i])) || is_duplicate(known, i)) continue;
    if (count++ < MAX_NAMES && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%.60s", count > 1 ? ", " : "", known[i]);
  }
  if (count > MAX_NAMES && used < size) snprintf(text + used, size - used, " and %zu more", count - MAX_NAMES);
  return count;
}

/* Returns the longest name that is a prefix of the word; NULL if none exists. */
static const char *longest_prefix(const char *word, const char *const *known) {
  const char *longest = NULL;
  for (; *known; known++)
    if (is_prefix(*known, word) && (!longest || strlen(*known) > strlen(longest))) longest = *known;
  return longest;
}

/* Returns the name that a misspelt word probably means; NULL: no name is similar. If the word consists of a name, a
   separator and more characters, this name has precedence over a similar name with another beginning. For example,
   "H100-80" means H100, although "A100-80" differs in only one letter. */
static const char *nearest_name(const char *word, const char *const *known) {
  const char *prefix = longest_prefix(word, known), *nearest = hr_nearest_word(word, known);
  if (!prefix || !nearest) return prefix ? prefix : nearest;
  size_t length = strlen(prefix);
  bool differs = !isalnum((unsigned char)word[length]) && strncasecmp(nearest, prefix, length) != 0;
  return differs ? prefix : nearest;
}

/* Returns true if an unknown word may be a misspelt or abbreviated name. */
static bool is_near(const char *word, const char *const *known) {
  char names[1];
  if (strlen(word) < MIN_ABBREVIATION) return false;
  return list_names(word, known, names, sizeof names) > 0 || nearest_name(word, known);
}

enum hr_status hr__catalog_unknown(struct hr_error *error, const char *what, const char *word,
                                   const char *const *known) {
  char names[MAX_NAMES * 62 + 40];
  size_t near = list_names(word, known, names, sizeof names);
  const char *nearest = nearest_name(word, known);
  if (near == 1 || (!near && nearest))
    return hr_fail(error, HR_BAD_INPUT, "%s '%.60s' is unknown; did you mean '%s'?", what, word,
                   near ? names : nearest);
  if (!near && list_names(NULL, known, names, sizeof names) == 0) snprintf(names, sizeof names, "none");
  return hr_fail(error, HR_BAD_INPUT, "%s '%.60s' is unknown; %s: %s", what, word, near ? "similar" : "known", names);
}

/* Reports an unknown name among `known`, and frees `known`. If `known` is NULL, reports that memory ran out. */
static enum hr_status fail_among(struct hr_error *error, const char *what, const char *word, const char **known) {
  enum hr_status status =
      known ? hr__catalog_unknown(error, what, word, known) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(known);
  return status;
}

/* ---- GPU and instance types, presets ---------------------------------------------------------------- */

static const struct hr_gpu_type *find_gpu(const struct hr_catalog *catalog, const char *name) {
  for (size_t i = 0; i < catalog->n_gpus; i++)
    if (strcasecmp(catalog->gpus[i].name, name) == 0) return &catalog->gpus[i];
  return NULL;
}

/* Returns the names of all GPU types, NULL-terminated; NULL if out of memory. The caller frees the list. */
static const char **gpu_names(const struct hr_catalog *catalog) {
  const char **names = calloc(catalog->n_gpus + 1, sizeof *names);
  for (size_t i = 0; names && i < catalog->n_gpus; i++) names[i] = catalog->gpus[i].name;
  return names;
}

/* Sets `*nearest` to the GPU type, or to the other name of a GPU type, that is most similar to an unknown name; NULL:
   none is similar. The only error is HR_NO_MEMORY. */
static enum hr_status nearest_gpu(const struct hr_catalog *catalog, const char *name, const char **nearest) {
  const char **known = calloc(catalog->n_gpus + catalog->n_gpu_names + 1, sizeof *known);
  bool same_model;
  if (!known) return HR_NO_MEMORY;
  for (size_t i = 0; i < catalog->n_gpus; i++) known[i] = catalog->gpus[i].name;
  for (size_t i = 0; i < catalog->n_gpu_names; i++) known[catalog->n_gpus + i] = catalog->gpu_names[i].name;
  *nearest = hr__gpu_name_nearest(name, strlen(name), known, &same_model);
  free(known);
  return HR_OK;
}

/* Reports an unknown GPU type and suggests the type with the name `similar`. If `similar` is the name of a family,
   suggests the types with names that begin with it. */
static enum hr_status fail_near(const struct hr_catalog *catalog, const char *name, const char *similar,
                                struct hr_error *error) {
  const struct hr_gpu_type *type = hr_catalog_gpu_named(catalog, similar);
  char names[MAX_NAMES * 62 + 40];
  if (type) return hr_fail(error, HR_BAD_INPUT, "GPU type '%.60s' is unknown; did you mean '%s'?", name, type->name);
  const char **known = gpu_names(catalog);
  if (!known) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  size_t count = list_names(similar, known, names, sizeof names);
  free(known);
  return hr_fail(error, HR_BAD_INPUT, "GPU type '%.60s' is unknown; similar: %s", name, count ? names : similar);
}

enum hr_status hr_catalog_gpu(const struct hr_catalog *catalog, const char *name, const struct hr_gpu_type **gpu,
                              struct hr_error *error) {
  const char *nearest = NULL;
  *gpu = find_gpu(catalog, name);
  if (*gpu) return HR_OK;
  if (hr_catalog_gpu_named(catalog, name)) return fail_near(catalog, name, name, error);
  const char **known = gpu_names(catalog);
  char names[1];
  if (!known || list_names(name, known, names, sizeof names) > 0) return fail_among(error, "GPU type", name, known);
  free(known);
  if (nearest_gpu(catalog, name, &nearest) != HR_OK) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return nearest ? fail_near(catalog, name, nearest, error) : fail_among(error, "GPU type", name, gpu_names(catalog));
}

/* Returns the GPU type with this key of its name in the catalogue (see hr__gpu_name_key()); NULL: no type has the key.
   For example, the key of "gpu:v100" is that of V100. */
static const struct hr_gpu_type *find_key(const struct hr_catalog *catalog, const char *key) {
  char other[HR__GPU_KEY_BYTES];
  for (size_t i = 0; i < catalog->n_gpus; i++)
    if (hr__gpu_name_key(catalog->gpus[i].name, strlen(catalog->gpus[i].name), other) && strcmp(other, key) == 0)
      return &catalog->gpus[i];
  return NULL;
}

const struct hr_gpu_type *hr_catalog_gpu_named(const struct hr_catalog *catalog, const char *name) {
  const struct hr_gpu_type *found = find_gpu(catalog, name);
  char key[HR__GPU_KEY_BYTES], other[HR__GPU_KEY_BYTES];
  if (found || !hr__gpu_name_key(name, strlen(name), key)) return found;
  found = find_key(catalog, key);
  if (found) return found;
  for (size_t i = 0; i < catalog->n_gpu_names; i++) {
    const struct hr_gpu_name *row = &catalog->gpu_names[i];
    hr__gpu_name_key(row->name, strlen(row->name), other);
    if (strcmp(other, key) != 0) continue;
    if (found && strcasecmp(found->name, row->gpu) != 0) return NULL;
    found = find_gpu(catalog, row->gpu);
  }
  return found;
}

bool hr_catalog_gpu_means(const struct hr_catalog *catalog, const char *name, const char *gpu) {
  char key[HR__GPU_KEY_BYTES], other[HR__GPU_KEY_BYTES];
  if (find_gpu(catalog, name) || !hr__gpu_name_key(name, strlen(name), key)) return strcasecmp(name, gpu) == 0;
  for (size_t i = 0; i < catalog->n_gpu_names; i++) {
    const struct hr_gpu_name *row = &catalog->gpu_names[i];
    hr__gpu_name_key(row->name, strlen(row->name), other);
    if (strcmp(other, key) == 0 && strcasecmp(row->gpu, gpu) == 0) return true;
  }
  return false;
}

enum hr_status hr_catalog_check_gpu_name(const struct hr_catalog *catalog, const char *name, struct hr_error *error) {
  const struct hr_gpu_type *type;
  for (size_t i = 0; i < catalog->n_gpus; i++)
    if (hr_catalog_gpu_means(catalog, name, catalog->gpus[i].name)) return HR_OK;
  return hr_catalog_gpu(catalog, name, &type, error);
}

char *hr_catalog_gpu_names(const struct hr_catalog *catalog, const char *gpu) {
  size_t bytes = 1, used = 0;
  for (size_t i = 0; i < catalog->n_gpu_names; i++)
    if (strcasecmp(catalog->gpu_names[i].gpu, gpu) == 0) bytes += strlen(catalog->gpu_names[i].name) + 1;
  char *names = calloc(1, bytes);
  for (size_t i = 0; names && i < catalog->n_gpu_names; i++)
    if (strcasecmp(catalog->gpu_names[i].gpu, gpu) == 0)
      used += (size_t)snprintf(names + used, bytes - used, "%s%s", used ? "|" : "", catalog->gpu_names[i].name);
  return names;
}

char *hr_catalog_gpu_vocabulary(const struct hr_catalog *catalog) {
  size_t bytes = 1, used = 0;
  for (size_t i = 0; i < catalog->n_gpus; i++) bytes += 2 * strlen(catalog->gpus[i].name) + 2;
  for (size_t i = 0; i < catalog->n_gpu_names; i++)
    bytes += strlen(catalog->gpu_names[i].name) + strlen(catalog->gpu_names[i].gpu) + 2;
  char *text = calloc(1, bytes);
  for (size_t i = 0; text && i < catalog->n_gpus; i++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", used ? "|" : "", catalog->gpus[i].name,
                             catalog->gpus[i].name);
  for (size_t i = 0; text && i < catalog->n_gpu_names; i++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", used ? "|" : "", catalog->gpu_names[i].name,
                             catalog->gpu_names[i].gpu);
  return text;
}

/* Writes the GPU types that a name can mean, such as "A100-40 or A100-80" for A100. Returns their number. */
static size_t list_meant(const struct hr_catalog *catalog, const char *name, char *text, size_t size) {
  size_t count = 0, used = 0;
  for (size_t i = 0; i < catalog->n_gpus; i++)
    if (hr_catalog_gpu_means(catalog, name, catalog->gpus[i].name) && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%.60s", count++ ? " or " : "", catalog->gpus[i].name);
  return count;
}

enum hr_status hr__catalog_check_spelling_gpu(const struct hr_catalog *catalog, const char *name,
                                              struct hr_error *error) {
  const struct hr_gpu_type *type;
  const char *nearest = NULL;
  char meant[MAX_NAMES * 62 + 40];
  if (find_gpu(catalog, name)) return HR_OK;
  if (list_meant(catalog, name, meant, sizeof meant) > 1)
    return hr_fail(error, HR_BAD_INPUT, "GPU type '%.60s' is a family; write %s", name, meant);
  const char **known = gpu_names(catalog);
  char names[1];
  bool is_abbreviated = known && strlen(name) >= MIN_ABBREVIATION && list_names(name, known, names, sizeof names) > 0;
  free(known);
  if (!known || nearest_gpu(catalog, name, &nearest) != HR_OK) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return is_abbreviated || nearest ? hr_catalog_gpu(catalog, name, &type, error) : HR_OK;
}

enum hr_status hr_catalog_mig(const struct hr_catalog *catalog, const char *gpu, const struct hr_mig_type **type,
                              struct hr_error *error) {
  const struct hr_gpu_type *known;
  *type = NULL;
  enum hr_status status = hr_catalog_gpu(catalog, gpu, &known, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < catalog->n_mig_types && !*type; i++)
    if (strcasecmp(catalog->mig_types[i].gpu, known->name) == 0) *type = &catalog->mig_types[i];
  if (*type) return HR_OK;
  char names[200] = "";
  for (size_t i = 0, used = 0; i < catalog->n_mig_types && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i ? ", " : "", catalog->mig_types[i].gpu);
  return hr_fail(error, HR_BAD_INPUT, "GPU type '%.60s' does not support MIG; these do: %s", known->name, names);
}

enum hr_status hr_catalog_spot_preset(const struct hr_catalog *catalog, const char *name,
                                      const struct hr_spot_preset **preset, struct hr_error *error) {
  for (size_t i = 0; i < catalog->n_spot_presets; i++)
    if (strcasecmp(catalog->spot_presets[i].name, name) == 0) {
      *preset = &catalog->spot_presets[i];
      return HR_OK;
    }
  const char **known = calloc(catalog->n_spot_presets + 1, sizeof *known);
  for (size_t i = 0; known && i < catalog->n_spot_presets; i++) known[i] = catalog->spot_presets[i].name;
  return fail_among(error, "spot preset", name, known);
}

enum hr_status hr_catalog_check_provider(const struct hr_catalog *catalog, const char *provider,
                                         struct hr_error *error) {
  for (size_t i = 0; i < catalog->n_instances; i++)
    if (strcasecmp(catalog->instances[i].provider, provider) == 0) return HR_OK;
  const char **known = calloc(catalog->n_instances + 1, sizeof *known);
  for (size_t i = 0; known && i < catalog->n_instances; i++) known[i] = catalog->instances[i].provider;
  return fail_among(error, "provider", provider, known);
}

static const struct hr_instance_type *find_instance(const struct hr_catalog *catalog, const char *provider,
                                                    const char *name) {
  for (size_t i = 0; i < catalog->n_instances; i++) {
    const struct hr_instance_type *type = &catalog->instances[i];
    if (strcasecmp(type->name, name) == 0 && strcasecmp(type->provider, provider) == 0) return type;
  }
  return NULL;
}

enum hr_status hr_catalog_instance(const struct hr_catalog *catalog, const char *provider, const char *instance,
                                   const struct hr_instance_type **type, struct hr_error *error) {
  *type = find_instance(catalog, provider, instance);
  if (*type) return HR_OK;
  enum hr_status status = hr_catalog_check_provider(catalog, provider, error);
  if (status != HR_OK) return status;
  const char **known = calloc(catalog->n_instances + 1, sizeof *known);
  size_t count = 0;
  for (size_t i = 0; known && i < catalog->n_instances; i++)
    if (strcasecmp(catalog->instances[i].provider, provider) == 0) known[count++] = catalog->instances[i].name;
  char what[100];
  snprintf(what, sizeof what, "instance type of %.60s", provider);
  return fail_among(error, what, instance, known);
}

/* ---- Regions ---------------------------------------------------------------------------------------- */

/* Returns the names of all regions that the tables of regions and prices have for a provider. The list is
   NULL-terminated. Returns NULL if out of memory. The caller frees the list. */
static const char **region_names(const struct hr_catalog *catalog, const char *provider) {
  const char **known = calloc(catalog->n_regions + catalog->n_prices + 1, sizeof *known);
  size_t count = 0;
  for (size_t i = 0; known && i < catalog->n_regions; i++)
    if (strcasecmp(catalog->regions[i].provider, provider) == 0) known[count++] = catalog->regions[i].name;
  for (size_t i = 0; known && i < catalog->n_prices; i++) {
    const struct hr_price *price = &catalog->prices[i];
    bool adds = strcasecmp(price->provider, provider) == 0 && !hr__catalog_is_any(price->region);
    if (adds && (!count || known[count - 1] != price->region)) known[count++] = price->region;
  }
  return known;
}

static bool is_among(const char *word, const char *const *known) {
  for (; *known; known++)
    if (strcasecmp(*known, word) == 0) return true;
  return false;
}

enum hr_status hr_catalog_check_region(const struct hr_catalog *catalog, const char *provider, const char *region,
                                       struct hr_error *error) {
  enum hr_status status = hr_catalog_check_provider(catalog, provider, error);
  if (status != HR_OK) return status;
  const char **known = region_names(catalog, provider);
  char what[100];
  snprintf(what, sizeof what, "region of %.60s", provider);
  if (!known || (known[0] && !is_among(region, known))) return fail_among(error, what, region, known);
  free(known);
  return HR_OK;
}

enum hr_status hr__catalog_check_spelling_region(const struct hr_catalog *catalog, const char *provider,
                                                 const char *region, struct hr_error *error) {
  const char **known = region_names(catalog, provider);
  char what[100];
  snprintf(what, sizeof what, "region of %.60s", provider);
  if (!known || (!is_among(region, known) && is_near(region, known))) return fail_among(error, what, region, known);
  free(known);
  return HR_OK;
}

/* ---- Discounts -------------------------------------------------------------------------------------- */

/* Returns how specifically the family of a discount matches an instance type:
   - 0: the family does not match;
   - 1: the family is "*";
   - 2: the family is the GPU type of the instance type;
   - 2 + length of the family: the family is the name of the instance type, or its beginning up to a '.' or '-'. */
static size_t fit_of(const struct hr_discount *discount, const struct hr_instance_type *type) {
  size_t length = strlen(discount->family);
  bool begins = strncasecmp(discount->family, type->name, length) == 0;
  if (begins && (type->name[length] == '\0' || strchr(".-", type->name[length]))) return 2 + length;
  if (strcasecmp(discount->family, type->gpu) == 0) return 2;
  return strcmp(discount->family, "*") == 0;
}

/* Checks that the family of a discount matches at least one instance type of its provider (see fit_of()). */
static enum hr_status check_family(const struct hr_catalog *catalog, const struct hr_discount *discount,
                                   struct hr_error *error) {
  for (size_t i = 0; i < catalog->n_instances; i++) {
    const struct hr_instance_type *type = &catalog->instances[i];
    if (strcasecmp(type->provider, discount->provider) == 0 && fit_of(discount, type)) return HR_OK;
  }
  return hr_fail(error, HR_BAD_INPUT,
                 "family '%.60s' of %.60s: no instance type has this prefix or GPU type; '*' is all instance types",
                 discount->family, discount->provider);
}

/* Returns the discount that matches the instance type most specifically; of equally specific discounts, the newest
   one. Returns NULL if none matches. If `upfront` is NULL, any upfront payment matches. Sets `*best_fit` to the result
   of fit_of() for this discount; 0 if none matches. */
static const struct hr_discount *best_discount(const struct hr_catalog *catalog, const struct hr_instance_type *type,
                                               const struct hr_discount_query *query, const char *upfront,
                                               size_t *best_fit) {
  const struct hr_discount *best = NULL;
  *best_fit = 0;
  for (size_t i = 0; i < catalog->n_discounts; i++) {
    const struct hr_discount *at = &catalog->discounts[i];
    bool upfront_fits = !upfront || !at->upfront[0] || strcmp(at->upfront, upfront) == 0;
    if (strcasecmp(at->provider, type->provider) != 0 || strcmp(at->term, query->term) != 0 || !upfront_fits) continue;
    size_t fit = hr__catalog_is_valid_at(at->as_of, query->as_of) ? fit_of(at, type) : 0;
    bool newer = best && fit == *best_fit && strcmp(at->as_of, best->as_of) > 0;
    if (fit <= *best_fit && !newer) continue;
    *best_fit = fit;
    best = at;
  }
  return best;
}

/* Two rows may match: row A for the requested upfront payment, and row B, which matches more specifically but is for
   another upfront payment. If B has the smaller discount, B is used, because the discount of A is then assumed to be
   too large for this instance type. */
enum hr_status hr_catalog_discount(const struct hr_catalog *catalog, const struct hr_discount_query *query,
                                   const struct hr_discount **discount, struct hr_error *error) {
  const struct hr_instance_type *type;
  enum hr_status status = hr_catalog_instance(catalog, query->provider, query->instance, &type, error);
  if (status != HR_OK) return status;
  size_t fit, other_fit;
  *discount = best_discount(catalog, type, query, query->upfront, &fit);
  const struct hr_discount *other = best_discount(catalog, type, query, NULL, &other_fit);
  if (*discount && other_fit > fit && other->off_ppm < (*discount)->off_ppm) *discount = other;
  if (*discount) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "the catalogue has no discount of %s for '%s'%s%.20s%s%s", type->provider,
                 query->term, query->upfront ? ", paid upfront: " : "", query->upfront ? query->upfront : "",
                 query->as_of && query->as_of[0] ? " as of " : "", query->as_of ? query->as_of : "");
}

/* ---- Loading ---------------------------------------------------------------------------------------- */

struct catalog {
  /* first member, because hr_catalog_destroy() casts a pointer to it to a pointer to the whole struct */
  struct hr_catalog shown;
  struct hr__name_table texts;
  struct hr__table table[HR__N_CATALOG_TABLES];
  struct hr_mig_type *mig_types;
  struct hr_mig_profile *mig_profiles; /* profiles of all GPU types; those of one type are contiguous */
};

/* Returns the built-in rows as CSV. Their path in messages is "catalog/NAME.csv". */
static struct hr__table_text built_in_rows(enum hr__catalog_table table) {
#define EMBEDDED(id, name, ...) {"catalog/" #name ".csv", (const char *)hr__catalog_##name, hr__catalog_##name##_size},
  const struct hr__table_text texts[HR__N_CATALOG_TABLES] = {HR_CATALOG_TABLES(EMBEDDED)};
#undef EMBEDDED
  return texts[table];
}

static enum hr_status read_table(struct catalog *catalog, enum hr__catalog_table table, const char *path,
                                 struct hr_error *error) {
  const struct hr__table_text built_in = built_in_rows(table);
  catalog->table[table].format = &hr__catalog_formats[table];
  enum hr_status status = hr__table_add(&catalog->table[table], &built_in, &catalog->texts, error);
  if (status != HR_OK || !path) return status;
  return hr__table_add_file(&catalog->table[table], path, &catalog->texts, error);
}

/* ---- References between tables ---------------------------------------------------------------------- */

/* Writes the place of a row for messages. A built-in row can be invalid, too, if a row of a file has replaced a row to
   which it refers. */
static const char *place_of(const struct hr__table *table, size_t row, const char *path, char *text, size_t size) {
  if (path && table->line[row])
    snprintf(text, size, "%s:%u", path, (unsigned)table->line[row]);
  else
    snprintf(text, size, "the built-in table of %s", table->format->name);
  return text;
}

/* A function that checks that the names to which a row refers exist in other tables. */
typedef enum hr_status check_row(const struct hr_catalog *shown, size_t row, struct hr_error *error);

static enum hr_status check_instance(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_gpu_type *gpu;
  return hr_catalog_gpu(shown, shown->instances[row].gpu, &gpu, error);
}

/* Checks that the instance type of a price exists. If the row before has the same instance type, it has already been
   checked. */
static enum hr_status check_price(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_price *price = &shown->prices[row];
  const struct hr_instance_type *type;
  if (row > 0 && price[-1].instance == price->instance && price[-1].provider == price->provider) return HR_OK;
  return hr_catalog_instance(shown, price->provider, price->instance, &type, error);
}

static enum hr_status check_discount(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_discount *discount = &shown->discounts[row];
  enum hr_status status = hr_catalog_check_provider(shown, discount->provider, error);
  return status == HR_OK ? check_family(shown, discount, error) : status;
}

static enum hr_status check_preset(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_spot_preset *preset = &shown->spot_presets[row];
  const struct hr_gpu_type *gpu;
  enum hr_status status = HR_OK;
  if (!hr__catalog_is_any(preset->provider)) status = hr_catalog_check_provider(shown, preset->provider, error);
  return status == HR_OK && !hr__catalog_is_any(preset->gpu) ? hr_catalog_gpu(shown, preset->gpu, &gpu, error) : status;
}

static enum hr_status check_gpu_name(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_gpu_type *gpu;
  return hr_catalog_gpu(shown, shown->gpu_names[row].gpu, &gpu, error);
}

static enum hr_status check_mig(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_mig_entry *entry = &shown->mig_profiles[row];
  const struct hr_gpu_type *gpu;
  enum hr_status status = hr_catalog_gpu(shown, entry->gpu, &gpu, error);
  size_t before = 0;
  for (size_t i = 0; i < row; i++) before += strcasecmp(shown->mig_profiles[i].gpu, entry->gpu) == 0;
  if (status != HR_OK || before < HR_MIG_PROFILES) return status;
  return hr_fail(error, HR_BAD_INPUT, "a GPU type has at most %d MIG profiles", HR_MIG_PROFILES);
}

static enum hr_status check_rows(const struct catalog *catalog, enum hr__catalog_table table, check_row *check,
                                 const char *path, struct hr_error *error) {
  struct hr_error inner;
  char place[300];
  for (size_t i = 0; i < catalog->table[table].count; i++) {
    enum hr_status status = check(&catalog->shown, i, &inner);
    if (status != HR_OK)
      return hr_fail(error, status, "%s: %.600s", place_of(&catalog->table[table], i, path, place, sizeof place),
                     inner.text);
  }
  return HR_OK;
}

/* ---- MIG types -------------------------------------------------------------------------------------- */

static bool is_known_gpu(const struct hr_catalog *shown, size_t row) {
  for (size_t i = 0; i < row; i++)
    if (strcasecmp(shown->mig_profiles[i].gpu, shown->mig_profiles[row].gpu) == 0) return true;
  return false;
}

/* Makes the MIG type of each GPU type: the list of its profiles. The rows of a GPU type need not be adjacent in the
   table. */
static enum hr_status make_mig_types(struct catalog *catalog, struct hr_error *error) {
  struct hr_catalog *shown = &catalog->shown;
  size_t n_rows = shown->n_mig_profiles;
  catalog->mig_types = calloc(n_rows + 1, sizeof *catalog->mig_types);
  catalog->mig_profiles = calloc(n_rows + 1, sizeof *catalog->mig_profiles);
  if (!catalog->mig_types || !catalog->mig_profiles) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  struct hr_mig_profile *next = catalog->mig_profiles;
  for (size_t i = 0; i < n_rows; i++) {
    const struct hr_mig_entry *first = &shown->mig_profiles[i];
    struct hr_mig_profile *own = next;
    if (is_known_gpu(shown, i)) continue;
    for (size_t k = i; k < n_rows; k++)
      if (strcasecmp(shown->mig_profiles[k].gpu, first->gpu) == 0) *next++ = shown->mig_profiles[k].profile;
    hr_mig_type_init(&catalog->mig_types[shown->n_mig_types++], first->gpu, own, (uint32_t)(next - own));
  }
  shown->mig_types = catalog->mig_types;
  return HR_OK;
}

/* ---- The catalogue ---------------------------------------------------------------------------------- */

static void show(struct catalog *catalog) {
  const struct hr__table *table = catalog->table;
#define SHOWN(id, name, ...) .name = table[HR__CATALOG_##id].rows, .n_##name = table[HR__CATALOG_##id].count,
  catalog->shown = (struct hr_catalog){HR_CATALOG_TABLES(SHOWN)};
#undef SHOWN
}

enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                               struct hr_error *error) {
  static const struct hr_catalog_files none;
  if (!files) files = &none;
#define PATH(id, name, ...) files->name,
  const char *const paths[HR__N_CATALOG_TABLES] = {HR_CATALOG_TABLES(PATH)};
#undef PATH
  *catalog = NULL;
  struct catalog *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES && status == HR_OK; i++)
    status = read_table(loaded, (enum hr__catalog_table)i, paths[i], error);
  show(loaded);
  static check_row *const checks[HR__N_CATALOG_TABLES] = {
      [HR__CATALOG_INSTANCES] = check_instance, [HR__CATALOG_PRICES] = check_price,
      [HR__CATALOG_DISCOUNTS] = check_discount, [HR__CATALOG_SPOT_PRESETS] = check_preset,
      [HR__CATALOG_MIG_PROFILES] = check_mig,   [HR__CATALOG_GPU_NAMES] = check_gpu_name};
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES && status == HR_OK; i++)
    if (checks[i]) status = check_rows(loaded, (enum hr__catalog_table)i, checks[i], paths[i], error);
  if (status == HR_OK) status = make_mig_types(loaded, error);
  if (status == HR_OK)
    *catalog = &loaded->shown;
  else
    hr_catalog_destroy(&loaded->shown);
  return status;
}

void hr_catalog_destroy(struct hr_catalog *shown) {
  if (!shown) return;
  struct catalog *catalog = (struct catalog *)shown;
  for (size_t i = 0; i < HR__N_CATALOG_TABLES; i++) hr__table_finish(&catalog->table[i]);
  hr__names_finish(&catalog->texts);
  free(catalog->mig_types);
  free(catalog->mig_profiles);
  free(catalog);
}
