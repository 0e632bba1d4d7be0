/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_OWNERSHIP_H
#define HEADROOM_UNSTABLE_OWNERSHIP_H

/*
 * What owned nodes cost: purchases that are amortized, and costs of operation. `owned` of a pool is stored as struct
 * hr_ownership; its price per GPU-hour follows from it. `tco` of a scenario is stored as struct hr_tco_spec.
 *
 * All figures are of one node, so the price of a GPU-hour does not depend on the number of nodes. A year has 8,760
 * hours, and a month has 730. Amounts are doubles in dollars: factors such as 1 / (1 + rate) have no exact decimal.
 * Operations are in a fixed order and powers are repeated products, so all compilers compute the same bits. Reports
 * round each amount once to micro-dollars and add whole micro-dollars.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_HOURS_PER_YEAR 8760.0
#define HR_HOURS_PER_MONTH 730.0
enum { HR_MAX_TCO_YEARS = 30, HR_MAX_TCO_OPTIONS = 16 };

/*
 * How a purchase becomes a cost per year. P is the price, S the residual value, L the life in years and i the discount
 * rate. The columns: enumerator, name in scenarios.
 *
 *   straight-line  (P - S) / L
 *   crf-annual     (P - S / (1 + i)^L) x CRF(i, L): equal payments at the end of each year
 *   pmt-monthly    as crf-annual, with i / 12 and 12 L, x 12: equal payments at the end of each month
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

/* A purchase: the nodes themselves, network, storage, spare parts, a building. */
struct hr_capital {
  char *name;
  double usd; /* price per node */
  double life_years;
  double residual_share;        /* of the price, at the end of its life */
  double maintenance_share;     /* of the price, per year: contracts with vendors */
  double tax_share;             /* of the price, per year: insurance and property tax */
  double usd_per_kw;            /* how the scenario states `usd`: per provisioned kW of a node */
  double usd_per_gpu;           /* or per GPU; 0: not stated */
  double price_factor_per_year; /* price of a later purchase; 0: that of `tco` */
};

/* The costs of an owned pool, per node. */
struct hr_ownership {
  struct hr_capital *capital; /* [n_capital]; the first one are the nodes */
  uint32_t n_capital;
  enum hr_amortization amortization;
  double discount_rate;               /* per year, of the amortization */
  double power_kw;                    /* provisioned */
  double load, idle_load;             /* power drawn by a node in use and by an idle node, as a share of power_kw */
  double pue;                         /* energy of the site / energy of the nodes */
  double usd_per_kwh;                 /* price of energy; 0: not paid separately */
  double colocation_usd_per_kw_month; /* price of provisioned power; 0: no colocation */
  double staff_usd_per_year;          /* per node */
  double staff_share;                 /* added to all other costs */
  bool is_colocated;
};

/* The parts of a cost. */
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
  char **pools; /* [n_pools] the pools that have nodes; all other pools of the scenario have none */
  uint32_t n_pools;
  double staff_usd_per_year; /* the part that does not depend on the number of nodes */
  uint32_t contract_years;   /* of reserved pools without a known term */
};

/* `tco` of a scenario. Factors are values of a year, relative to the year before. */
struct hr_tco_spec {
  uint32_t years;
  double growth;        /* of the demand */
  bool first_year_only; /* later years are not simulated: their figures are those of the first year, scaled */
  double cloud_price, hardware_price, energy_price, wages;
  double discount_rate;          /* per year, of net present values */
  double tax_rate;               /* of income; 0: taxes are ignored */
  bool macrs;                    /* depreciation for taxes: MACRS of five years, instead of straight-line */
  struct hr_tco_option *options; /* [n_options]; none: each pool with a market is an option */
  uint32_t n_options;
};

/* Returns the names in scenarios and files. */
HR_API const char *hr_amortization_name(enum hr_amortization method);
HR_API const char *hr_cost_part_name(enum hr_cost_part part);
/* Returns (1 + rate)^periods. Powers of whole numbers are products; others use the C library. */
HR_API double hr_compound(double rate, double periods);
/* Returns whether a trace can be resampled with this growth: from HR_MIN_GROWTH to HR_MAX_GROWTH, up to rounding. */
HR_API bool hr_tco_growth_is_possible(double growth);
/* Returns CRF(rate, periods), the payment per dollar at the end of each period. */
HR_API double hr_capital_recovery(double rate, double periods);
/* Returns what a purchase of `usd` costs in each year of its life. */
HR_API double hr_amortized_usd(enum hr_amortization method, double rate, double usd, double residual_usd,
                               double life_years);
/* Returns the power that a node draws, in kW without the PUE, if it is in use for the share `use` of the time. */
HR_API double hr_node_kw(const struct hr_ownership *owned, double use);
/* Sets what a node costs in a year, by part, if it is in use for the share `use` of the time. */
HR_API void hr_ownership_year(const struct hr_ownership *owned, double use, double usd[HR_N_COST_PARTS]);

/* Frees what hr_scenario_load has built. NULL is accepted. */
HR_API void hr_ownership_destroy(struct hr_ownership *owned);
HR_API void hr_tco_spec_destroy(struct hr_tco_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
