/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batteries: charged while the carbon intensity is low, and discharged into the load of the site while it is high. The
 * rules are those of OpenDC (SimBattery, SingleThresholdBatteryPolicy, DoubleThresholdBatteryPolicy).
 *
 * A battery has no effect on jobs, so it is computed when the load of its pool has changed, for the past time. This
 * time is divided at the steps of the carbon intensity, and where the battery becomes full or empty. In each
 * microsecond the battery takes or serves a whole amount of energy; in the last one before it is full or empty, this is
 * the remaining amount. So results do not depend on the times at which the battery is computed.
 *
 * Invariant, verified in checked mode: 0 <= stored <= capacity; stored = initial + charged - loss - discharged; and the
 * integral of the power from the grid is the energy of the site + charged - discharged.
 */

#include "sim/power/meter.h"

#include "headroom/unstable/series.h"

#include <math.h>

#define NW_PER_W 1e9
#define UG_PER_G 1e6
#define NW_US_PER_KWH ((hr_amount)3600000000 * 1000000000000)

/* Nanowatt hours are exact in a double up to 9,000 kWh; a larger capacity is rounded to its nearest double. */
static hr_amount energy_of(double kwh) {
  enum { PARTS = 1000000000 };
  return (hr_amount)llround(kwh * PARTS) * (NW_US_PER_KWH / PARTS);
}

void hr__battery_init(struct hr__battery *battery, const struct hr_power_battery *spec) {
  const hr_amount initial = energy_of(spec->initial_kwh);
  *battery =
      (struct hr__battery){.capacity = energy_of(spec->capacity_kwh),
                           .charge_nw = llround(spec->charge_w * NW_PER_W),
                           .store_nw = llround(spec->charge_w * spec->efficiency * NW_PER_W),
                           .discharge_nw = spec->discharge_w > 0 ? llround(spec->discharge_w * NW_PER_W) : INT64_MAX,
                           .lower_ug = llround(spec->lower_g_per_kwh * UG_PER_G),
                           .upper_ug = llround(spec->upper_g_per_kwh * UG_PER_G),
                           .sums = {.initial = initial, .stored = initial}};
}

/* What happens while the carbon intensity and the load are constant. `store_nw`, `serve_nw`: if there is room or energy
   for it. */
struct flow {
  int64_t charge_nw, store_nw, serve_nw;
};

static struct flow flow_at(const struct hr__battery *battery, int64_t ug_per_kwh, int64_t load_nw) {
  if (ug_per_kwh < battery->lower_ug) return (struct flow){battery->charge_nw, battery->store_nw, 0};
  if (ug_per_kwh < battery->upper_ug) return (struct flow){0};
  return (struct flow){.serve_nw = load_nw < battery->discharge_nw ? load_nw : battery->discharge_nw};
}

static void apply(struct hr__battery *battery, const struct hr__metered_pool *of, const struct flow *flow,
                  int64_t load_nw, int64_t to_us) {
  const struct hr__span to = hr__metered_time(of, to_us), span = hr__span_between(&battery->at, &to);
  const int64_t net_nw = flow->charge_nw - flow->serve_nw;
  struct hr_battery_energy *sums = &battery->sums;
  sums->charged += flow->charge_nw * span.us;
  sums->loss += (flow->charge_nw - flow->store_nw) * span.us;
  sums->discharged += flow->serve_nw * span.us;
  sums->stored += (flow->store_nw - flow->serve_nw) * span.us;
  sums->carbon += net_nw * span.carbon;
  sums->price += net_nw * span.price;
  battery->grid += (hr_amount)(load_nw + net_nw) * span.us;
  battery->at = to;
}

/* Returns the flow in the microsecond in which the battery becomes full or empty: the remaining energy, with its share
   of the loss. */
static struct flow last_flow(const struct hr__battery *battery, const struct flow *flow) {
  if (flow->serve_nw > 0) return (struct flow){.serve_nw = (int64_t)battery->sums.stored};
  const hr_amount room = battery->capacity - battery->sums.stored;
  const hr_amount loss = room * (flow->charge_nw - flow->store_nw) / flow->store_nw;
  return (struct flow){(int64_t)(room + loss), (int64_t)room, 0};
}

/* Computes a time in which the carbon intensity is constant. */
static void advance_step(struct hr__battery *battery, const struct hr__metered_pool *of, struct flow flow,
                         int64_t load_nw, int64_t to_us) {
  const struct flow none = {0};
  const hr_amount left = flow.serve_nw > 0 ? battery->sums.stored : battery->capacity - battery->sums.stored;
  const int64_t rate_nw = flow.serve_nw + flow.store_nw, from_us = (int64_t)battery->at.us;
  if (rate_nw > 0 && left >= (hr_amount)rate_nw) {
    const hr_amount whole_us = left / rate_nw;
    apply(battery, of, &flow, load_nw, whole_us < to_us - from_us ? from_us + (int64_t)whole_us : to_us);
  }
  if (rate_nw > 0 && left % rate_nw > 0 && battery->at.us < to_us) {
    const struct flow last = last_flow(battery, &flow);
    apply(battery, of, &last, load_nw, (int64_t)battery->at.us + 1);
  }
  if (battery->at.us < to_us) apply(battery, of, &none, load_nw, to_us);
}

void hr__battery_advance(struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw,
                         int64_t to_us) {
  while (battery->at.us < to_us) {
    const int64_t utc_us = of->carbon_begin_us + (int64_t)battery->at.us,
                  next_us = hr_series_next_us(of->carbon, utc_us);
    const int64_t until_us =
        next_us == HR_NEVER_US || next_us - of->carbon_begin_us > to_us ? to_us : next_us - of->carbon_begin_us;
    advance_step(battery, of, flow_at(battery, hr_series_at(of->carbon, utc_us), load_nw), load_nw, until_us);
  }
}

int64_t hr__battery_power(const struct hr__battery *battery, const struct hr__metered_pool *of, int64_t load_nw) {
  const int64_t utc_us = of->carbon_begin_us + (int64_t)battery->at.us;
  const struct flow flow = flow_at(battery, hr_series_at(of->carbon, utc_us), load_nw);
  if (flow.serve_nw > 0) return battery->sums.stored > 0 ? -flow.serve_nw : 0;
  return battery->sums.stored < battery->capacity ? flow.charge_nw : 0;
}

bool hr__battery_is_valid(const struct hr__battery *battery, hr_amount site) {
  const struct hr_battery_energy *sums = &battery->sums;
  return sums->stored >= 0 && sums->stored <= battery->capacity &&
         sums->stored == sums->initial + sums->charged - sums->loss - sums->discharged &&
         battery->grid == site + sums->charged - sums->discharged;
}
