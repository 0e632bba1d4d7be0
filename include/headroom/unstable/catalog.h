/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CATALOG_H
#define HEADROOM_UNSTABLE_CATALOG_H

/*
 * What can be rented and what it costs: GPU types and how MIG splits them, instance types, prices with the day they are
 * of, discounts, and models of how spot capacity is reclaimed.
 *
 * The tables are part of the library; CSV files with the same columns add rows or replace those of the same key. Every
 * row tells its source and its kind: "quoted" from the source, "derived" or "assumed" as the source's words explain, or
 * "mixed". All texts and rows belong to the catalogue. Lookups are exact but for upper and lower case; what is not
 * there is HR_BAD_INPUT, with the names that come nearest.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/market.h"
#include "headroom/mig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A figure that a table does not tell. */
#define HR_UNKNOWN_NUMBER (-1.0)

struct hr_gpu_type {
  const char *name;
  double mem_gb, bandwidth_gb_s;
  double fp16_tflops, bf16_tflops, fp32_tflops; /* dense; bf16: HR_UNKNOWN_NUMBER where the hardware has none */
  double achievable;                            /* share of the dense BF16 figure that large matrix products reach */
  double tdp_w, idle_w;
  double nvlink_gb_s; /* both directions together; 0: none */
  double pcie_gb_s;   /* one direction */
  double mig_slices;  /* most instances that one GPU splits into; 0: none */
  const char *status, *source;
};

struct hr_instance_type {
  const char *provider, *name;
  const char *gpu; /* of the table of GPU types */
  double gpus, vcpus, mem_gib;
  double nvme_gb;      /* local disks */
  double network_gbit; /* per second; all interfaces together */
  const char *status, *source;
};

/* A list price as it was on a day. */
struct hr_price {
  const char *provider, *instance;
  const char *region; /* "*": the same in all regions */
  enum hr_market market;
  const char *term;    /* of reserved capacity: "1y", "3y", "block" (bought for a window), "untold"; "" otherwise */
  const char *upfront; /* of reserved capacity: "none", "partial", "all"; "" where it is not told */
  int64_t uusd_h;      /* micro-dollars for an hour of the whole instance */
  const char *as_of;   /* "2026-07-20"; "2026-07" or "2026" where the day is not known, taken as the first one */
  const char *status, *source;
};

/* What a region costs on demand relative to its provider's base region, for instances that have no price there. */
struct hr_region {
  const char *provider, *name;
  const char *base; /* the region that it is compared with; itself: the provider's base region */
  int64_t multiplier_ppm;
  const char *as_of, *status, *source;
};

/* What comes off the on-demand price. */
struct hr_discount {
  const char *provider;
  const char *family;  /* the beginning of an instance type's name up to a dot or hyphen ("p4d"), a GPU type, or "*" */
  const char *term;    /* "1y", "3y" or "spot" */
  const char *upfront; /* "none", "partial", "all"; "": any */
  int64_t off_ppm;
  const char *as_of, *status, *source;
};

/* How spot capacity was reclaimed somewhere, some time: the parameters that were fitted or published. */
struct hr_spot_preset {
  const char *name, *provider;
  const char *gpu, *region; /* "*": any */
  struct hr_spot_spec spec; /* zone, levels and offset are the user's to set */
  double discount;          /* off the on-demand price, about; HR_UNKNOWN_NUMBER */
  const char *status, *source;
};

/* How an instance of MIG may be cut from a GPU. */
struct hr_mig_entry {
  const char *gpu; /* of the table of GPU types */
  struct hr_mig_profile profile;
  const char *status, *source;
};

/* How fast jobs of a family of models are on GPUs that are joined by a network, against within one node. */
struct hr_network_entry {
  const char *model; /* the beginning of their names */
  enum hr_network network;
  double gpus;
  int64_t speed_ppm;
  const char *status, *source;
};

struct hr_catalog {
  const struct hr_gpu_type *gpus;
  const struct hr_instance_type *instances;
  const struct hr_price *prices;
  const struct hr_region *regions;
  const struct hr_discount *discounts;
  const struct hr_spot_preset *spot_presets;
  size_t n_gpus, n_instances, n_prices, n_regions, n_discounts, n_spot_presets;
  const struct hr_mig_entry *mig_profiles; /* the table's rows */
  const struct hr_mig_type *mig_types;     /* made of them, one for each GPU type that MIG splits */
  size_t n_mig_profiles, n_mig_types;
  const struct hr_network_entry *network_speeds;
  size_t n_network_speeds;
};

/* CSV files, plain, gzip or zstd, each with the columns of the built-in table; NULL: that table as it is. */
struct hr_catalog_files {
  const char *gpus, *instances, *prices, *regions, *discounts, *spot_presets, *mig_profiles, *network_speeds;
};

/* `files` may be NULL. Errors name file, line and column. */
HR_API enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                                      struct hr_error *error);
HR_API void hr_catalog_destroy(struct hr_catalog *catalog);

/* Whether `as_of` is a day, a month or a year of the calendar: 2026-07-20, 2026-07 or 2026. */
HR_API bool hr_catalog_is_date(const char *as_of);

HR_API enum hr_status hr_catalog_gpu(const struct hr_catalog *catalog, const char *name, const struct hr_gpu_type **gpu,
                                     struct hr_error *error);
HR_API enum hr_status hr_catalog_instance(const struct hr_catalog *catalog, const char *provider, const char *instance,
                                          const struct hr_instance_type **type, struct hr_error *error);
HR_API enum hr_status hr_catalog_spot_preset(const struct hr_catalog *catalog, const char *name,
                                             const struct hr_spot_preset **preset, struct hr_error *error);

/* How MIG splits a GPU type; HR_BAD_INPUT for one that it does not split. */
HR_API enum hr_status hr_catalog_mig(const struct hr_catalog *catalog, const char *gpu, const struct hr_mig_type **type,
                                     struct hr_error *error);

/* Whether there is such a provider; such a region of it. Providers that have one price everywhere have all regions. */
HR_API enum hr_status hr_catalog_check_provider(const struct hr_catalog *catalog, const char *provider,
                                                struct hr_error *error);
HR_API enum hr_status hr_catalog_check_region(const struct hr_catalog *catalog, const char *provider,
                                              const char *region, struct hr_error *error);

/* The discount whose family fits best: the longest beginning of the instance type's name, then its GPU type, then "*";
   with this upfront share, or for any. `upfront` may be NULL: any. `as_of` as in a query. */
struct hr_discount_query {
  const char *provider, *instance;
  const char *term, *upfront;
  const char *as_of;
};
HR_API enum hr_status hr_catalog_discount(const struct hr_catalog *catalog, const struct hr_discount_query *query,
                                          const struct hr_discount **discount, struct hr_error *error);

struct hr_price_query {
  const char *provider;
  const char *instance; /* NULL: the provider's instance with `gpu` that is cheapest per GPU */
  const char *gpu;
  const char *region; /* NULL: the provider's base region */
  enum hr_market market;
  const char *term, *upfront; /* of reserved capacity; an upfront of NULL: any, of the newest day the cheapest */
  const char *as_of;          /* the newest price of this date or before; NULL or "": the newest */
};

struct hr_price_quote {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* of the whole instance */
  const char *region;
  const char *as_of;
  const char *status; /* a row's own where it gave the price as it is; else "derived", or "assumed" with the discount */
  char source[400];   /* where it was read, or how it was derived */
};

/*
 * What an instance costs. Where the region's own price is newer than the base region's last change, or there is no such
 * change, it is the answer. Otherwise prices are derived, in this order:
 *   on-demand  the region's own price, moved as the base region's moved since; else the base region's x multiplier
 *   reserved   the price of that term, moved as the on-demand price moved since; else on-demand less the discount
 *   spot       the region's own, however old; else on-demand less the usual discount of spot
 * Computed in integers, rounded half up to a micro-dollar.
 */
HR_API enum hr_status hr_catalog_price(const struct hr_catalog *catalog, const struct hr_price_query *query,
                                       struct hr_price_quote *quote, struct hr_error *error);
/* A quote's price for one GPU-hour, rounded half up. */
HR_API int64_t hr_price_quote_gpu_uusd_h(const struct hr_price_quote *quote);

#ifdef __cplusplus
}
#endif
#endif
