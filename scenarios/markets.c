/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The market that a pool's nodes come from: which keys belong to which market, and what they come to. */

#include "scenarios/pools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  OWNED = 1 << HR_MARKET_OWNED,
  RESERVED = 1 << HR_MARKET_RESERVED,
  ON_DEMAND = 1 << HR_MARKET_ON_DEMAND,
  SPOT = 1 << HR_MARKET_SPOT,
  ELASTIC = ON_DEMAND | SPOT,
  EVERY = OWNED | RESERVED | ELASTIC
};

static const struct market_key {
  const char *key;
  int markets; /* to which it belongs */
} market_keys[] = {{"usd_per_gpu_hour", EVERY},
                   {"usd_per_node_hour", EVERY},
                   {"on_demand_usd_per_gpu_hour", EVERY},
                   {"discount", RESERVED | SPOT},
                   {"term", RESERVED},
                   {"upfront", RESERVED},
                   {"from_s", RESERVED},
                   {"to_s", RESERVED},
                   {"billing", ELASTIC},
                   {"boot_s", ELASTIC},
                   {"boot", ELASTIC},
                   {"owned", OWNED},
                   {"spot", SPOT}};

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

/* "reserved or spot" */
static const char *market_words(int markets, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = HR_MARKET_OWNED; i < HR_N_MARKETS && used < size; i++)
    if (markets & 1 << i)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", hr_market_name((enum hr_market)i));
  return text;
}

static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_market market) {
  char words[100];
  for (size_t i = 0; i < sizeof market_keys / sizeof *market_keys; i++) {
    const struct market_key *key = &market_keys[i];
    if (!hr__has(entry, key->key) || key->markets & 1 << market) continue;
    if (market == HR_MARKET_NONE)
      return hr__build_fail_at(builder, entry, key->key, "'%s' needs the pool's 'market' to be said: %s", key->key,
                               market_words(key->markets, words, sizeof words));
    return hr__build_fail_at(builder, entry, key->key, "'%s' goes with the market %s; this pool's is %s", key->key,
                             market_words(key->markets, words, sizeof words), hr_market_name(market));
  }
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (hr__has(entry, exclusions[i].one) && hr__has(entry, exclusions[i].other))
      return hr__build_fail_at(builder, entry, exclusions[i].other, "'%s' and '%s' exclude each other; keep one",
                               exclusions[i].one, exclusions[i].other);
  return HR_OK;
}

/* ---- Time ------------------------------------------------------------------------------------------- */

static enum hr_status take_bounds(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  market->from_us = hr__span_of(draft->entry, "from_s", 0);
  market->to_us = hr__span_of(draft->entry, "to_s", HR_NEVER_US);
  if (market->to_us > market->from_us) return HR_OK;
  return hr__build_fail_at(
      builder, draft->entry, "to_s", "the reservation would end at %.10g s, not after its start at %.10g s",
      (double)market->to_us / (double)HR_SECOND_US, (double)market->from_us / (double)HR_SECOND_US);
}

/* Both of these clouds bill by the second, and a minute at least. */
static bool bills_by_the_second(const char *provider) {
  return provider && (strcasecmp(provider, "aws") == 0 || strcasecmp(provider, "gcp") == 0);
}

static enum hr_status take_billing(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *billing = hr__build_enter(builder, draft->entry, "billing");
  bool by_second = bills_by_the_second(draft->source->provider);
  draft->pool.market.billing = (struct hr_billing){
      .granularity_us = hr__span_of(billing, "granularity_s", by_second ? HR_SECOND_US : 0),
      .minimum_us = hr__span_of(billing, "minimum_s", by_second ? 60 * HR_SECOND_US : 0),
      .free_if_reclaimed_us = hr__span_of(billing, "free_if_reclaimed_s", 0),
  };
  if (draft->pool.market.billing.free_if_reclaimed_us && draft->pool.market.market != HR_MARKET_SPOT)
    return hr__build_fail_at(builder, billing, "free_if_reclaimed_s",
                             "'free_if_reclaimed_s' goes with the market spot: other nodes are not reclaimed");
  if (billing) hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status take_boot(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_duration *boot = &draft->pool.market.boot;
  *boot = (struct hr_duration){.kind = HR_DURATION_FIXED, .a = hr__number_of(draft->entry, "boot_s", 0)};
  if (!hr__has(draft->entry, "boot_s") && !hr__has(draft->entry, "boot"))
    return hr__pool_note(builder, draft, "assumed to boot in no time, as neither boot_s nor boot is given");
  return hr__build_duration(builder, draft->entry, "boot", boot);
}

/* ---- The market ------------------------------------------------------------------------------------- */

static enum hr_market market_of(const cJSON *entry) {
#define WORD(name, text) text,
  static const char *const markets[] = {HR_MARKET_TABLE(WORD) NULL};
#undef WORD
  return (enum hr_market)hr__choice_of(entry, "market", markets, HR_MARKET_NONE);
}

enum hr_status hr__build_market(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_market_spec *market = &draft->pool.market;
  *market = (struct hr_market_spec){.market = market_of(draft->entry),
                                    .on_demand_uusd_h = HR_UNKNOWN_US,
                                    .to_us = HR_NEVER_US,
                                    .spot.zone = draft->zone};
  enum hr_status status = check_keys(builder, draft->entry, market->market);
  if (market->market == HR_MARKET_NONE || status != HR_OK) return status;
  if (market->market == HR_MARKET_RESERVED) status = take_bounds(builder, draft);
  if (status == HR_OK && hr_market_is_elastic(market->market)) {
    status = take_billing(builder, draft);
    if (status == HR_OK) status = take_boot(builder, draft);
  }
  if (status == HR_OK && market->market == HR_MARKET_SPOT) status = hr__build_spot(builder, draft);
  return status == HR_OK ? hr__build_price(builder, draft) : status;
}
