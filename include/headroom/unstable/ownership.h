/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_OWNERSHIP_H
#define HEADROOM_UNSTABLE_OWNERSHIP_H

/*
 * Costs of owned nodes: purchases that are amortized, and costs of operation. The key `owned` of a pool is stored as
 * struct hr_ownership, from which the price of the pool per GPU-hour is computed. The key `tco` of a scenario is stored
 * as struct hr_tco_spec.
 *
 * All costs are per node, so the price of a GPU-hour does not depend on the number of nodes. A year has 8,760 hours,
 * and a month has 730. Amounts are doubles in dollars, because factors such as 1 / (1 + rate) have no exact decimal.
 * Operations are in a fixed order, and powers with whole exponents are repeated products (hr_compound), so that results
 * do not depend on the compiler. Reports round each amount once to micro-dollars and add whole micro-dollars.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_HOURS_PER_YEAR 8760.0
#define HR_HOURS_PER_MONTH 730.0
enum { HR_MAX_TCO_YEARS = 30, HR_MAX_TCO_OPTIONS = 16 };

/*
 * Methods of amortization, by which the cost per year of a purchase is computed. P is the price, S the residual value,
 * L the life in years and i the discount rate per year. The columns: enumerator, name in scenarios.
 *
 *   straight-line  (P - S) / L
 *   crf-annual     (P - S / (1 + i)^L) x CRF(i, L): equal payments at the end of each year
 *   pmt-monthly    12 x (P - S / (1 + i / 12)^(12 L)) x CRF(i / 12, 12 L): equal payments at the end of each month
 *
 * CRF(i, n) = i (1 + i)^n / ((1 + i)^n - 1), and 1 / n if i is 0.
 */
#define HR_AMORTIZATION_TABLE(X)                                                                                       \
  X(HR_AMORTIZATION_STRAIGHT_LINE, "straight-line")                                                                    \
  X(HR_AMORTIZATION_CRF_ANNUAL, "crf-annual")                                                                          \
  X(HR_AMORTIZATION_PMT_MONTHLY, "pmt-monthly")

enum hr_amortization {
#define HR_AMORTIZATION_NAME(name, text) name,
  HR_AMORTIZATION_TABLE(HR_AMORTIZATION_NAME)
#undef HR_AMORTIZATION_NAME
      HR_N_AMORTIZATIONS
};

/* A purchase: the nodes themselves, network, storage, spare parts or a building. */
struct hr_capital {
  char *name;
  double usd;               /* price per node */
  double life_years;        /* time over which the price is amortized */
  double residual_share;    /* value at the end of its life, as a share of the price */
  double maintenance_share; /* costs of maintenance contracts per year, as a share of the price */
  double tax_share;         /* insurance and property tax per year, as a share of the price */
  /* prices per provisioned kW of a node and per GPU. Each is 0 unless the scenario states the price in this form
     instead of per node */
  double usd_per_kw;
  double usd_per_gpu;
  double price_factor_per_year; /* price of the same purchase a year later / price now; 0: hardware_price of `tco` */
};

/* The costs of an owned pool, per node. */
struct hr_ownership {
  struct hr_capital *capital; /* [n_capital]; the first purchase is the node itself */
  uint32_t n_capital;
  enum hr_amortization amortization;
  double discount_rate;               /* cost of capital per year, for the amortization */
  double power_kw;                    /* provisioned power */
  double load, idle_load;             /* power drawn by a node in use and by an idle node, as a share of power_kw */
  double pue;                         /* energy of the site / energy of the nodes */
  double usd_per_kwh;                 /* price of energy; 0: energy is not paid separately */
  double colocation_usd_per_kw_month; /* price of provisioned power; 0: no colocation */
  double staff_usd_per_year;          /* per node */
  double staff_share;                 /* staff cost as a share of all other costs, in addition to staff_usd_per_year */
  bool is_colocated;                  /* colocation_usd_per_kw_month is above 0 */
};

/* The parts of a cost. The columns: enumerator, name in files. */
#define HR_COST_PART_TABLE(X)                                                                                          \
  X(HR_PART_CAPITAL, "capital")                                                                                        \
  X(HR_PART_ENERGY, "energy")                                                                                          \
  X(HR_PART_COLOCATION, "colocation")                                                                                  \
  X(HR_PART_STAFF, "staff")                                                                                            \
  X(HR_PART_MAINTENANCE, "maintenance")                                                                                \
  X(HR_PART_TAX, "tax")                                                                                                \
  X(HR_PART_RENT, "rent")                                                                                              \
  X(HR_PART_SERVICES, "services")

enum hr_cost_part {
#define HR_COST_PART_NAME(name, text) name,
  HR_COST_PART_TABLE(HR_COST_PART_NAME)
#undef HR_COST_PART_NAME
      HR_N_COST_PARTS
};

/* An alternative that `headroom tco` compares. */
struct hr_tco_option {
  char *name;
  char **pools; /* [n_pools]: the pools that have nodes; all other pools of the scenario have no nodes */
  uint32_t n_pools;
  double staff_usd_per_year; /* cost of staff that does not depend on the number of nodes */
  /* for reserved pools without a term: number of years for which nodes have the price of the year of the reservation */
  uint32_t contract_years;
};

/* `tco` of a scenario. */
struct hr_tco_spec {
  uint32_t years;       /* number of years that are compared */
  double growth;        /* demand of a year / demand of the year before */
  bool first_year_only; /* only the first year is simulated; the use of nodes in later years is scaled from it */
  /* value of a year / value of the year before: prices of rented nodes, purchase prices, prices of energy and
     colocation, cost of staff */
  double cloud_price, hardware_price, energy_price, wages;
  double discount_rate;          /* per year, for net present values */
  double tax_rate;               /* rate of income tax; 0: taxes are ignored */
  bool macrs;                    /* depreciation for taxes. true: MACRS of five years; false: straight-line */
  struct hr_tco_option *options; /* [n_options]; n_options 0: each pool with a market is an option */
  uint32_t n_options;
};

/* Return the names in scenarios and files. */
HR_API const char *hr_amortization_name(enum hr_amortization method);
HR_API const char *hr_cost_part_name(enum hr_cost_part part);
/* Returns (1 + rate)^periods. If `periods` is a whole number up to 10,000, the result is a repeated product. For all
   other values, the result comes from pow() of the C library. */
HR_API double hr_compound(double rate, double periods);
/* Returns whether a workload with this growth can be drawn from a trace (hr_trace_redraw): the growth is from
   HR_MIN_GROWTH to HR_MAX_GROWTH, up to rounding. */
HR_API bool hr_tco_growth_is_possible(double growth);
/* Returns CRF(rate, periods): the payment at the end of each period that repays one dollar. */
HR_API double hr_capital_recovery(double rate, double periods);
/* Returns the cost per year, in dollars, of a purchase of `usd` with the residual value `residual_usd`. `rate`:
   discount rate per year. */
HR_API double hr_amortized_usd(enum hr_amortization method, double rate, double usd, double residual_usd,
                               double life_years);
/* Returns the mean power of a node in kW, not multiplied by the PUE. `use`: share of the time in which the node is in
   use. */
HR_API double hr_node_kw(const struct hr_ownership *owned, double use);
/* Sets `usd` to the costs of a node per year, by part. `use`: share of the time in which the node is in use. */
HR_API void hr_ownership_year(const struct hr_ownership *owned, double use, double usd[HR_N_COST_PARTS]);

/* Free the specification and everything that it points to. NULL is accepted. */
HR_API void hr_ownership_destroy(struct hr_ownership *owned);
HR_API void hr_tco_spec_destroy(struct hr_tco_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
