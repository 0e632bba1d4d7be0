/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_POWER_H
#define HEADROOM_POWER_H

/*
 * The power of the nodes of a pool, and the energy that a run used. A node consists of its GPUs and its host, which is
 * the rest of the node. The power of a GPU in use depends on its utilization. The power of the host is divided among
 * the GPUs. Power is a whole number of nanowatts, and time is in microseconds. Energy is therefore a whole number of
 * nanowatts * microseconds (femtojoules), in 128 bits. "The facility" is cooling and other equipment of the site.
 *
 * Sources of the curves: OpenDC (atlarge-research/opendc, PowerModels); of losses: RAPS (ExaDigiT/RAPS, power chain).
 */

#include "headroom/base.h"
#include "headroom/market.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How power depends on the utilization u, which is from 0 to 1. Except with HR_POWER_TABLE, the power is
   idle + (maximum - idle) * f(u), with the function f in the comments. The columns: enumerator, name in scenarios. */
#define HR_POWER_MODEL_TABLE(X)                                                                                        \
  X(HR_POWER_LINEAR, "linear")         /* u */                                                                         \
  X(HR_POWER_SQRT, "sqrt")             /* u^(1/2) */                                                                   \
  X(HR_POWER_SQUARE, "square")         /* u^2 */                                                                       \
  X(HR_POWER_CUBIC, "cubic")           /* u^3 */                                                                       \
  X(HR_POWER_ASYMPTOTIC, "asymptotic") /* (1 + u - exp(-u / a)) / 2; at u = 1 this is less than 1 */                   \
  X(HR_POWER_TABLE, "table")           /* a table of the watts of a GPU at some utilizations, linear between them */

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

/* A stage of power conversion, such as a rectifier. Its input in watts is (output + constant_w) / efficiency. `nodes`
   nodes share the stage. */
struct hr_power_loss {
  double constant_w, efficiency;
  uint32_t nodes;
};

/* A measured effect of a power limit of a GPU: run time and power, relative to those at the highest limit. */
struct hr_power_cap {
  double limit_w, time_ratio, power_ratio; /* limits are descending */
};

/* Settings for nodes that sleep while they have no jobs. A node that wakes up draws the power of a boot. */
struct hr_power_sleep {
  int64_t idle_us;           /* how long a node is idle before it is suspended; 0: nodes do not sleep */
  int64_t suspend_us;        /* duration of the suspension, during which the node cannot be woken */
  double suspend_w, sleep_w; /* power of a node while it is being suspended, and while it sleeps */
  struct hr_duration boot;   /* time from the wake-up of a node until jobs may start on it */
  uint32_t min_awake;        /* a node is suspended only if more than this number of nodes of the pool are awake */
};

/* Parameters of the temperature of the GPUs of a node, in degrees Celsius. The temperature approaches
   ambient_c + c_per_w * (mean watts of the GPUs of the node) exponentially. */
struct hr_power_heat {
  double ambient_c;
  double c_per_w; /* 0: the temperature is unknown */
  double time_constant_s;
};

/* A battery between the grid and the site of a pool, that is, the pool with its facility. While the carbon intensity is
   below `lower_g_per_kwh`, the battery charges. While the intensity is at least `upper_g_per_kwh`, the battery serves
   the load of the site. Otherwise it does nothing. Source: SimBattery and the threshold policies of OpenDC
   (atlarge-research/opendc). */
struct hr_power_battery {
  double capacity_kwh; /* 0: the pool has no battery */
  double initial_kwh;  /* energy that is stored at the beginning of the run */
  double charge_w;     /* power that the battery takes from the grid while it charges */
  double discharge_w;  /* maximum power of the battery while it serves the load; 0: no limit */
  double efficiency;   /* stored energy / energy that is taken from the grid */
  double lower_g_per_kwh, upper_g_per_kwh;
};

/* The power of a pool. */
struct hr_power_spec {
  enum hr_power_model model;
  double gpu_idle_w, gpu_max_w; /* power of a GPU */
  /* power of the host of a node. With HR_POWER_TABLE, it is linear in the utilization; otherwise, the model of the GPUs
     applies */
  double host_idle_w, host_max_w;
  double asymptote;             /* a of HR_POWER_ASYMPTOTIC */
  double utilization;           /* utilization of the GPUs of jobs without `gpu_power_fraction`, from 0 to 1 */
  struct hr_power_point *table; /* HR_POWER_TABLE; at least two points */
  uint32_t n_table;
  double down_w, boot_w; /* power of a node that is off or in repair, and of a node that boots */
  double other_w;        /* constant power of other equipment of the pool, such as switches and pumps */
  double pue;            /* power of the site without `cooling_w` / power of nodes and other equipment; at least 1 */
  double cooling_w;      /* constant power: the part of cooling that does not depend on the load */
  struct hr_power_loss *losses; /* from the node to the grid: each stage supplies the stage before it */
  uint32_t n_losses;
  double gpu_cap_w;          /* power limit of each GPU; 0: none */
  struct hr_power_cap *caps; /* the effect of power limits on jobs */
  uint32_t n_caps;
  struct hr_power_sleep sleep;
  struct hr_power_heat heat;
  double budget_w;  /* maximum power of all pools of the cluster together, without the facility; 0: no budget */
  bool budget_caps; /* if the budget does not suffice, GPUs become slower; otherwise jobs wait */
  struct hr_power_battery battery;
};

/* Limits of the input. They ensure that the power of a pool with its facility, in nanowatts, fits in 63 bits. */
#define HR_POWER_MAX_W 1e9
enum { HR_POWER_MAX_POINTS = 100, HR_POWER_MAX_LOSSES = 8 };

/* Energy, in nanowatts * microseconds, and its carbon and price. */
struct hr_energy {
  hr_amount it;       /* energy of nodes, conversion losses and other equipment; not of the facility */
  hr_amount loss;     /* the part of `it` that the conversion loses */
  hr_amount facility; /* energy of the facility, in addition to `it` */
  /* carbon of `it` and `facility`, in nanowatts * (milligrams per kWh) * microseconds; 0: unknown
     price of `it` and `facility`, in nanowatts * (micro-dollars per kWh) * microseconds; 0: unknown */
  hr_amount carbon, price;
  hr_amount embodied; /* carbon of the production of the hardware, in attograms; 0: unknown */
};

/* The uses of energy. The sum over all uses is the total energy of the pool. The columns: enumerator, name in files. */
#define HR_ENERGY_USE_TABLE(X)                                                                                         \
  X(HR_ENERGY_JOBS, "jobs")                                                                                            \
  X(HR_ENERGY_IDLE, "idle")       /* free GPUs of nodes that are on, and their share of the hosts */                   \
  X(HR_ENERGY_BOOT, "transition") /* nodes that boot or are being suspended */                                         \
  X(HR_ENERGY_DOWN, "down")       /* nodes that are off, asleep or in repair */                                        \
  X(HR_ENERGY_OTHER, "other")     /* other equipment (`other_w`), and the constant part of cooling */

enum hr_energy_use {
#define HR_ENERGY_USE_NAME(name, text) name,
  HR_ENERGY_USE_TABLE(HR_ENERGY_USE_NAME)
#undef HR_ENERGY_USE_NAME
      HR_N_ENERGY_USES
};

/* The energy of a battery, in the units of struct hr_energy. The energy that the site takes from the grid is
   (energy of the site) + charged - discharged. The stored energy is initial + charged - loss - discharged. */
struct hr_battery_energy {
  hr_amount charged, discharged;
  hr_amount loss;            /* the part of `charged` that was not stored */
  hr_amount initial, stored; /* stored energy at the begin and at the end of the run */
  /* the change of carbon and price by the battery: those of the energy from the grid minus those of the energy of the
     site; negative: the battery saves */
  hr_amount carbon, price;
};

/* The energy of a pool. */
struct hr_pool_energy {
  struct hr_energy use[HR_N_ENERGY_USES];
  struct hr_energy meter; /* the integral of the power of the pool; equal to the sum of `use` */
  int64_t peak_nw;        /* maximum power without the facility, in nanowatts */
  struct hr_battery_energy battery;
};

/* The maximum power of a run, and the effect of its power budget. */
struct hr_power_peaks {
  int64_t it_nw, site_nw; /* maximum power of all pools together, without and with the facility */
  int64_t budget_nw;      /* the power budget; 0: none */
  /* time in which the budget kept nodes closed while jobs waited; and the integral of the number of waiting jobs over
     this time */
  hr_amount bound_us, bound_job_us;
  bool budget_caps;    /* GPUs become slower if the budget does not suffice */
  hr_amount capped_us; /* time in which GPUs were slower because of the budget */
};

/* Nanowatts * microseconds in a kilowatt hour. */
#define HR_KWH_UNITS 3.6e21
/* Attograms in a kilogram, and units of `carbon` of struct hr_energy in a kilogram. */
#define HR_ATTOGRAMS_PER_KG 1e21
#define HR_CARBON_UNITS_PER_KG (HR_KWH_UNITS * 1e6)

/* Returns the watts of a GPU in use by a job without `gpu_power_fraction`, with the power limit of the pool. */
HR_API double hr_power_gpu_watts(const struct hr_power_spec *spec);
/* Frees the power of a pool. NULL is accepted. */
HR_API void hr_power_spec_destroy(struct hr_power_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
