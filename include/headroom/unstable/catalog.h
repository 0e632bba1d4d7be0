/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CATALOG_H
#define HEADROOM_UNSTABLE_CATALOG_H

/*
 * The catalogue: GPU types and their MIG profiles, instance types, dated prices, discounts, and models of spot
 * interruptions.
 *
 * The tables are part of the library; CSV files with the same columns add rows or replace rows with the same key. Every
 * row has its source and its status: "quoted" from the source, "derived" or "assumed" as the source says, or "mixed".
 * Strings and rows belong to the catalogue. Lookups are exact except for case; without a match they return
 * HR_BAD_INPUT with the nearest names.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/market.h"
#include "headroom/mig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An unknown number in a table. */
#define HR_UNKNOWN_NUMBER (-1.0)

struct hr_gpu_type {
  const char *name;
  double mem_gb, bandwidth_gb_s;
  double fp16_tflops, bf16_tflops, fp32_tflops; /* dense; bf16: HR_UNKNOWN_NUMBER if the hardware does not support it */
  /* share of the dense BF16 throughput that large matrix products reach */
  double achievable;
  double tdp_w, idle_w;
  double nvlink_gb_s; /* both directions together; 0: none */
  double pcie_gb_s;   /* one direction */
  double mig_slices;  /* maximum MIG instances; 0: none */
  const char *status, *source;
};

struct hr_instance_type {
  const char *provider, *name;
  const char *gpu; /* name in the table of GPU types */
  double gpus, vcpus, mem_gib;
  double nvme_gb;      /* local disks */
  double network_gbit; /* Gbit/s, all interfaces together */
  const char *status, *source;
};

/* A list price at a date. */
struct hr_price {
  const char *provider, *instance;
  const char *region; /* "*": the same in all regions */
  enum hr_market market;
  const char *term;    /* of reserved capacity: "1y", "3y", "block" (for a window), "untold" (unknown); else "" */
  const char *upfront; /* of reserved capacity: "none", "partial", "all"; "" if unknown */
  int64_t uusd_h;      /* micro-dollars per hour for the whole instance */
  const char *as_of;   /* "2026-07-20"; "2026-07" or "2026" if the day is unknown, taken as the first one */
  const char *status, *source;
};

/* The ratio of on-demand prices in a region to those in the provider's base region, for instances without a price in
   the region. */
struct hr_region {
  const char *provider, *name;
  const char *base; /* the region of comparison; the provider's base region has itself */
  int64_t multiplier_ppm;
  const char *as_of, *status, *source;
};

/* A discount on the on-demand price. */
struct hr_discount {
  const char *provider;
  const char *family;  /* prefix of an instance type's name up to a dot or hyphen ("p4d"), a GPU type, or "*" */
  const char *term;    /* "1y", "3y" or "spot" */
  const char *upfront; /* "none", "partial", "all"; "": any */
  int64_t off_ppm;
  const char *as_of, *status, *source;
};

/* Parameters of spot interruptions, fitted to a record or published. */
struct hr_spot_preset {
  const char *name, *provider;
  const char *gpu, *region; /* "*": any */
  struct hr_spot_spec spec; /* zone, levels and offset are set by the user */
  double discount;          /* approximate discount on the on-demand price; HR_UNKNOWN_NUMBER */
  const char *status, *source;
};

/* A MIG profile of a GPU type. */
struct hr_mig_entry {
  const char *gpu; /* name in the table of GPU types */
  struct hr_mig_profile profile;
  const char *status, *source;
};

/* The speed of jobs of a model family on GPUs joined by a network, relative to one node. */
struct hr_network_entry {
  const char *model; /* prefix of the models' names */
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
  const struct hr_mig_entry *mig_profiles; /* rows of the table */
  const struct hr_mig_type *mig_types;     /* derived from them, one per GPU type with MIG */
  size_t n_mig_profiles, n_mig_types;
  const struct hr_network_entry *network_speeds;
  size_t n_network_speeds;
};

/* CSV files, plain or compressed with gzip or zstd, each with the columns of the built-in table; NULL: the built-in
   table only. */
struct hr_catalog_files {
  const char *gpus, *instances, *prices, *regions, *discounts, *spot_presets, *mig_profiles, *network_speeds;
};

/* Loads the built-in tables and `files` (may be NULL). The caller destroys `*catalog`. Errors name file, line and
   column. */
HR_API enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                                      struct hr_error *error);
HR_API void hr_catalog_destroy(struct hr_catalog *catalog);

/* Whether `as_of` is a valid day, month or year: 2026-07-20, 2026-07 or 2026. */
HR_API bool hr_catalog_is_date(const char *as_of);

HR_API enum hr_status hr_catalog_gpu(const struct hr_catalog *catalog, const char *name, const struct hr_gpu_type **gpu,
                                     struct hr_error *error);
HR_API enum hr_status hr_catalog_instance(const struct hr_catalog *catalog, const char *provider, const char *instance,
                                          const struct hr_instance_type **type, struct hr_error *error);
HR_API enum hr_status hr_catalog_spot_preset(const struct hr_catalog *catalog, const char *name,
                                             const struct hr_spot_preset **preset, struct hr_error *error);

/* The MIG profiles of a GPU type; HR_BAD_INPUT if it has none. */
HR_API enum hr_status hr_catalog_mig(const struct hr_catalog *catalog, const char *gpu, const struct hr_mig_type **type,
                                     struct hr_error *error);

/* Whether the provider, or its region, exists. Providers with one price everywhere have all regions. */
HR_API enum hr_status hr_catalog_check_provider(const struct hr_catalog *catalog, const char *provider,
                                                struct hr_error *error);
HR_API enum hr_status hr_catalog_check_region(const struct hr_catalog *catalog, const char *provider,
                                              const char *region, struct hr_error *error);

/* The discount with the best matching family: the longest prefix of the instance type's name, then its GPU type,
   then "*"; with this upfront share, or for any. `upfront` may be NULL: any. `as_of` as in a price query. */
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
  const char *term, *upfront; /* of reserved capacity; upfront NULL: any, the cheapest at the latest date */
  const char *as_of;          /* the latest price up to this date; NULL or "": the latest */
};

struct hr_price_quote {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* for the whole instance */
  const char *region;
  const char *as_of;
  const char *status; /* the row's own if it is the price; else "derived", or "assumed" with a discount */
  char source[400];   /* where it was read, or how it was derived */
};

/*
 * The price of an instance. The region's own price is used if it is newer than the last change of the base region's
 * price, or if that price has not changed. Otherwise prices are derived, in this order:
 *   on-demand  the region's own price, adjusted by the change of the base region's since; else the base region's x
 *     multiplier
 *   reserved   the price of that term, adjusted by the change of the on-demand price since; else on-demand less the
 *     discount
 *   spot       the region's own, however old; else on-demand less the usual spot discount
 * Computed in integers, rounded half up to micro-dollars.
 */
HR_API enum hr_status hr_catalog_price(const struct hr_catalog *catalog, const struct hr_price_query *query,
                                       struct hr_price_quote *quote, struct hr_error *error);
/* The price of a quote per GPU-hour, rounded half up. */
HR_API int64_t hr_price_quote_gpu_uusd_h(const struct hr_price_quote *quote);

#ifdef __cplusplus
}
#endif
#endif
