/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POWER_H
#define HEADROOM_POWER_H

/*
 * The power of a pool, and what a run used. The power of a GPU in use depends on its utilization; the rest of a node is
 * its host. The power of the host is divided among the GPUs. Power is a whole number of nanowatts, time is in
 * microseconds, so energy is a whole number of nanowatts x microseconds (femtojoules), in 128 bits.
 *
 * Sources of the curves: OpenDC (atlarge-research/opendc, PowerModels); of losses: RAPS (ExaDigiT/RAPS, power chain).
 */

#include "headroom/base.h"
#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How power depends on the utilization u. The columns: enumerator, name in scenarios. */
#define HR_POWER_MODEL_TABLE(X)                                                                                        \
  X(HR_POWER_LINEAR, "linear")         /* idle + (maximum - idle) u */                                                 \
  X(HR_POWER_SQRT, "sqrt")             /* u^(1/2) instead of u */                                                      \
  X(HR_POWER_SQUARE, "square")         /* u^2 */                                                                       \
  X(HR_POWER_CUBIC, "cubic")           /* u^3 */                                                                       \
  X(HR_POWER_ASYMPTOTIC, "asymptotic") /* (1 + u - exp(-u / a)) / 2; at u = 1 this is less than 1 */                   \
  X(HR_POWER_TABLE, "table")           /* watts of a GPU at given utilizations, linear between them */

enum hr_power_model {
#define HR_POWER_MODEL_NAME(name, text) name,
  HR_POWER_MODEL_TABLE(HR_POWER_MODEL_NAME)
#undef HR_POWER_MODEL_NAME
      HR_N_POWER_MODELS
};

/* A point of a table: the power of a GPU at a utilization. */
struct hr_power_point {
  double utilization; /* ascending */
  double gpu_w;
};

/* A stage of conversion: its input is (output + constant_w) / efficiency. `nodes` nodes share it. */
struct hr_power_loss {
  double constant_w, efficiency;
  uint32_t nodes;
};

/* A measured effect of a power limit of a GPU, relative to the highest limit. */
struct hr_power_cap {
  double limit_w, time_ratio, power_ratio; /* limits are descending */
};

/* Settings for nodes that sleep while they have no jobs. A node that wakes up draws the power of a boot. */
struct hr_power_sleep {
  int64_t idle_us;           /* how long a node is idle before it is suspended; 0: nodes do not sleep */
  int64_t suspend_us;        /* duration of the suspension, during which the node cannot be woken */
  double suspend_w, sleep_w; /* power of a node while it is being suspended, and while it sleeps */
  struct hr_duration boot;   /* from the request for a node until jobs may start on it */
  uint32_t min_awake;        /* a node is suspended only if more than this number of nodes are awake */
};

/* The temperature of the GPUs of a node approaches ambient_c + c_per_w x (mean watts of its GPUs) exponentially. */
struct hr_power_heat {
  double ambient_c;
  double c_per_w; /* 0: the temperature is unknown */
  double time_constant_s;
};

/* A battery between the grid and the site of a pool. While the carbon intensity is below `lower_g_per_kwh`, it charges;
   while the intensity is at least `upper_g_per_kwh`, it serves the load of the site. After SimBattery and the threshold
   policies of OpenDC (atlarge-research/opendc). */
struct hr_power_battery {
  double capacity_kwh; /* 0: there is no battery */
  double initial_kwh;  /* stored at the beginning of the run */
  double charge_w;     /* taken from the grid while it charges */
  double discharge_w;  /* maximum; 0: the whole load of the site */
  double efficiency;   /* stored energy / energy that is taken from the grid */
  double lower_g_per_kwh, upper_g_per_kwh;
};

/* The power of a pool. */
struct hr_power_spec {
  enum hr_power_model model;
  double gpu_idle_w, gpu_max_w; /* of each GPU */
  /* of the rest of a node. With HR_POWER_TABLE, it is linear in the utilization; otherwise, it has the curve of the
     GPUs */
  double host_idle_w, host_max_w;
  double asymptote;             /* a of HR_POWER_ASYMPTOTIC */
  double utilization;           /* of GPUs in use by jobs without `gpu_power_fraction` */
  struct hr_power_point *table; /* HR_POWER_TABLE; at least two points */
  uint32_t n_table;
  double down_w, boot_w; /* of a node that is off or in repair, and of a node that boots */
  double other_w;        /* constant: switches, pumps */
  double pue;            /* power of the site / power of nodes and `other_w`, without `cooling_w`; at least 1 */
  double cooling_w;      /* constant: the part of cooling that does not depend on the load */
  struct hr_power_loss *losses;
  uint32_t n_losses;
  double gpu_cap_w;          /* power limit of each GPU; 0: none */
  struct hr_power_cap *caps; /* the effect of limits on jobs */
  uint32_t n_caps;
  struct hr_power_sleep sleep;
  struct hr_power_heat heat;
  double budget_w;  /* of all pools of the cluster that have this budget, together and without the facility; 0: none */
  bool budget_caps; /* if the budget does not suffice, GPUs become slower; otherwise jobs wait */
  struct hr_power_battery battery;
};

/* Limits: the power of a pool in nanowatts fits in 63 bits, with its facility. */
#define HR_POWER_MAX_W 1e9
enum { HR_POWER_MAX_POINTS = 100, HR_POWER_MAX_LOSSES = 8 };

/* Energy, in nanowatts x microseconds. */
struct hr_energy {
  hr_amount it;       /* at the input of the conversion: nodes, losses and other equipment */
  hr_amount loss;     /* the part of `it` that the conversion loses */
  hr_amount facility; /* cooling and other facilities, in addition to `it` */
  /* of `it` and `facility`: carbon, in nanowatts x milligrams per kWh x microseconds, and its price, in nanowatts x
     micro-dollars per kWh x microseconds (headroom/unstable/series.h); 0 if unknown */
  hr_amount carbon, price;
  hr_amount embodied; /* carbon of the production of the hardware, in attograms; 0 if unknown */
};

/* What energy is used for. The sum over all uses is the total energy of the pool. */
#define HR_ENERGY_USE_TABLE(X)                                                                                         \
  X(HR_ENERGY_JOBS, "jobs")                                                                                            \
  X(HR_ENERGY_IDLE, "idle")       /* free GPUs of nodes that are on, and their share of the hosts */                   \
  X(HR_ENERGY_BOOT, "transition") /* nodes that boot, or go to sleep */                                                \
  X(HR_ENERGY_DOWN, "down")       /* nodes that are off, asleep or in repair */                                        \
  X(HR_ENERGY_OTHER, "other")     /* other equipment, and the constant part of cooling */

enum hr_energy_use {
#define HR_ENERGY_USE_NAME(name, text) name,
  HR_ENERGY_USE_TABLE(HR_ENERGY_USE_NAME)
#undef HR_ENERGY_USE_NAME
      HR_N_ENERGY_USES
};

/* The energy of a battery, in the units of struct hr_energy. The energy from the grid is that of the site, plus
   `charged`, minus `discharged`. Stored energy is initial + charged - loss - discharged. */
struct hr_battery_energy {
  hr_amount charged, discharged;
  hr_amount loss; /* the part of `charged` that was not stored */
  hr_amount initial, stored;
  /* of the energy from the grid, minus that of the energy of the site; negative: the battery saves */
  hr_amount carbon, price;
};

/* The energy of a pool. */
struct hr_pool_energy {
  struct hr_energy use[HR_N_ENERGY_USES];
  struct hr_energy meter; /* the integral of the power of the pool; equal to the sum of `use` */
  int64_t peak_nw;        /* maximum of the power without the facility */
  struct hr_battery_energy battery;
};

/* The maximum power of a run: of all pools together, without and with the facility; and the effect of its budget. */
struct hr_power_peaks {
  int64_t it_nw, site_nw;
  /* the power budget, 0: none; the time in which it closed nodes while jobs waited; this time x number of waiting jobs
   */
  int64_t budget_nw;
  hr_amount bound_us, bound_job_us;
  bool budget_caps;    /* GPUs become slower when the budget binds */
  hr_amount capped_us; /* time in which they were slower */
};

/* Units of energy in a kilowatt hour. */
#define HR_KWH_UNITS 3.6e21
/* Attograms in a kilogram, and the units of `carbon` in a kilogram. */
#define HR_ATTOGRAMS_PER_KG 1e21
#define HR_CARBON_UNITS_PER_KG (HR_KWH_UNITS * 1e6)

/* Returns the watts of a GPU in use by a job that states no power of its own, with the power limit of the pool. */
HR_API double hr_power_gpu_watts(const struct hr_power_spec *spec);
/* Frees the power of a pool. NULL is accepted. */
HR_API void hr_power_spec_destroy(struct hr_power_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
