/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a GPU-hour of nodes that one owns amortises to, over all hours, used or not:
 *
 *   (purchase / lifetime + power x PUE x price of energy + power x colocation) x (1 + staff share) / GPUs
 *
 * The purchase is written off in a straight line. Colocation is billed for the power that is provided, energy is taken
 * as if the nodes drew that much all the time: both are an upper bound for a cluster that idles.
 */

#include "scenarios/pools.h"

#include <math.h>

#define HOURS_PER_YEAR 8760.0
#define HOURS_PER_MONTH 730.0

/* What is assumed where the scenario does not say. */
#define HOST_SHARE 0.3 /* of the GPUs' power, for processors, memory, fans and network */
#define AVERAGE_PUE 1.55

static enum hr_status assume_power(struct hr__builder *builder, struct hr__draft *draft, double *power_kw) {
  const struct hr_gpu_type *gpu;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  if (status == HR_BAD_INPUT)
    return hr__build_fail(builder, false, "'power_kw_per_node' is not given, and it cannot be told: %s", inner.text);
  if (status != HR_OK) return hr__build_wrap(builder, false, status, &inner);
  *power_kw = gpu->tdp_w * draft->pool.gpus_per_node * (1 + HOST_SHARE) / 1000;
  return hr__pool_note(builder, draft,
                       "assumed to draw %.4g kW a node: %.4g W for each GPU, and %.0f %% more for the host", *power_kw,
                       gpu->tdp_w, HOST_SHARE * 100);
}

static enum hr_status power_of(struct hr__builder *builder, struct hr__draft *draft, const cJSON *owned,
                               double *power_kw) {
  *power_kw = hr__number_of(owned, "power_kw_per_node", 0);
  bool is_paid = hr__has(owned, "usd_per_kwh") || hr__has(owned, "colocation_usd_per_kw_month");
  if (hr__has(owned, "power_kw_per_node") || !is_paid) return HR_OK;
  return assume_power(builder, draft, power_kw);
}

enum hr_status hr__build_owned(struct hr__builder *builder, struct hr__draft *draft) {
  const cJSON *owned = hr__build_enter(builder, draft->entry, "owned");
  double power_kw, pue = hr__number_of(owned, "pue", AVERAGE_PUE);
  enum hr_status status = power_of(builder, draft, owned, &power_kw);
  if (status == HR_OK && hr__has(owned, "usd_per_kwh") && !hr__has(owned, "pue"))
    status = hr__pool_note(builder, draft, "assumed PUE of %.4g, about the industry's average", pue);
  if (status != HR_OK) return status;
  double usd_h =
      hr__number_of(owned, "capex_usd_per_node", 0) / (hr__number_of(owned, "lifetime_years", 1) * HOURS_PER_YEAR) +
      power_kw * pue * hr__number_of(owned, "usd_per_kwh", 0) +
      power_kw * hr__number_of(owned, "colocation_usd_per_kw_month", 0) / HOURS_PER_MONTH;
  usd_h *= 1 + hr__number_of(owned, "staff_share", 0);
  double uusd = usd_h * 1e6 / draft->pool.gpus_per_node;
  if (uusd > HR_MAX_USD_H * 1e6)
    return hr__build_fail(builder, false, "a GPU-hour would cost %.4g dollars; at most %d is allowed", uusd / 1e6,
                          HR_MAX_USD_H);
  draft->pool.market.price_uusd_h = (int64_t)llround(uusd);
  hr__build_leave(builder);
  return hr__price_source_set(builder, draft->source, "derived", NULL,
                              "purchase, power, colocation and staff as stated");
}
