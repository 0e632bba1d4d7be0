/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CATALOG_H
#define HEADROOM_UNSTABLE_CATALOG_H

/*
 * The catalogue: GPU types and their MIG profiles, instance types, dated prices, discounts, and models of spot
 * interruptions.
 *
 * The built-in tables are part of the library. CSV files with the same columns can add rows, or replace rows with the
 * same key. Each row has a source and a status: "quoted" (the source states the values), "derived" or "assumed" (the
 * source explains how or why), or "mixed". All strings and rows belong to the catalogue. Lookups by name ignore case.
 * If no row matches, lookups return HR_BAD_INPUT and `error` suggests the nearest names.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/market.h"
#include "headroom/mig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a number that is unknown. */
#define HR_UNKNOWN_NUMBER (-1.0)

/* A GPU type. */
struct hr_gpu_type {
  const char *name;
  double mem_gb, bandwidth_gb_s; /* bandwidth_gb_s: bandwidth of the GPU memory */
  /* throughput without sparsity; bf16_tflops is HR_UNKNOWN_NUMBER if the hardware does not support BF16 */
  double fp16_tflops, bf16_tflops, fp32_tflops;
  /* measured throughput of large matrix products, as a share of the dense BF16 throughput; HR_UNKNOWN_NUMBER:
     unknown */
  double achievable;
  double tdp_w, idle_w; /* power limit and idle power */
  double nvlink_gb_s;   /* bandwidth of NVLink, both directions together; 0: no NVLink */
  double pcie_gb_s;     /* bandwidth of PCIe in one direction */
  double mig_slices;    /* maximum number of MIG instances; 0: no MIG */
  const char *status, *source;
};

/* A name of a GPU type in Slurm, Kubernetes, a cloud or nvidia-smi. A family, such as "A100", has a row for each of its
   members. */
struct hr_gpu_name {
  const char *name;
  const char *gpu; /* a name in the table of GPU types */
  const char *status, *source;
};

/* An instance type of a provider. */
struct hr_instance_type {
  const char *provider, *name;
  const char *gpu; /* a name in the table of GPU types */
  double gpus, vcpus, mem_gib;
  double nvme_gb;      /* size of the local disks */
  double network_gbit; /* bandwidth of all network interfaces together */
  const char *status, *source;
};

/* A list price, and the date at which it was valid. */
struct hr_price {
  const char *provider, *instance;
  const char *region; /* "*": the price is the same in all regions */
  enum hr_market market;
  /* reserved capacity: "1y", "3y", "block" (a limited window) or "untold" (unknown); other markets: "" */
  const char *term;
  const char *upfront; /* reserved capacity: "none", "partial", "all", or "" if unknown */
  int64_t uusd_h;      /* price of the whole instance in micro-dollars per hour */
  /* "2026-07-20". "2026-07" or "2026" if the day is unknown; it counts as the first day of the month or year */
  const char *as_of;
  const char *status, *source;
};

/* The ratio (on-demand price in a region) / (on-demand price in the provider's base region). It is used for instances
   that have no price in the region. */
struct hr_region {
  const char *provider, *name;
  const char *base; /* the provider's base region; equal to `name` in the row of the base region itself */
  int64_t multiplier_ppm;
  const char *as_of, *status, *source;
};

/* A discount on the on-demand price. */
struct hr_discount {
  const char *provider;
  /* prefix of the name of an instance type up to a dot or hyphen ("p4d"), a GPU type, or "*" */
  const char *family;
  const char *term;    /* "1y", "3y" or "spot" */
  const char *upfront; /* "none", "partial", "all"; "": any upfront payment */
  int64_t off_ppm;     /* the discount in parts per million of the price */
  const char *as_of, *status, *source;
};

/* The parameters of spot interruptions, fitted to a record or published. */
struct hr_spot_preset {
  const char *name, *provider;
  const char *gpu, *region; /* "*": any GPU type or region */
  struct hr_spot_spec spec; /* its zone, levels and offset_us are not set, because the user sets them */
  double discount;          /* approximate discount on the on-demand price, as a share; HR_UNKNOWN_NUMBER: unknown */
  const char *status, *source;
};

/* A MIG profile of a GPU type. */
struct hr_mig_entry {
  const char *gpu; /* a name in the table of GPU types */
  struct hr_mig_profile profile;
  const char *status, *source;
};

/* The speed of jobs of a model family on `gpus` GPUs joined by a network, relative to the speed within one node. */
struct hr_network_entry {
  const char *model; /* a prefix of model names */
  enum hr_network network;
  double gpus;
  int64_t speed_ppm;
  const char *status, *source;
};

/* A link between two regions of clouds, as measured between two virtual machines. */
struct hr_region_link {
  const char *from, *to; /* "PROVIDER:REGION", in some clouds with a zone */
  double gbit_s;
  double rtt_ms;     /* HR_UNKNOWN_NUMBER: unknown */
  double usd_per_gb; /* price of data that leaves `from`; HR_UNKNOWN_NUMBER: unknown */
  const char *as_of, *status, *source;
};

/* A measured effect of a power limit on a GPU type, relative to its highest limit. */
struct hr_power_cap_entry {
  const char *gpu; /* a name in the table of GPU types, or the name of a type that occurs only in this table */
  double limit_w, time_ratio, power_ratio;
  const char *status, *source;
};

/* The tables of the catalogue. A scenario, the built-in CSV files and the structs below have one of each. The columns:
   enumerator, name, struct of a row, content in words. A new table also needs its columns (catalog_tables.c) and its
   file in scenarios/CMakeLists.txt. */
#define HR_CATALOG_TABLES(X)                                                                                           \
  X(GPUS, gpus, hr_gpu_type, "GPU types")                                                                              \
  X(INSTANCES, instances, hr_instance_type, "instance types")                                                          \
  X(PRICES, prices, hr_price, "prices")                                                                                \
  X(REGIONS, regions, hr_region, "regions")                                                                            \
  X(DISCOUNTS, discounts, hr_discount, "discounts of commitments")                                                     \
  X(SPOT_PRESETS, spot_presets, hr_spot_preset, "models of spot interruptions")                                        \
  X(MIG_PROFILES, mig_profiles, hr_mig_entry, "MIG profiles")                                                          \
  X(NETWORK_SPEEDS, network_speeds, hr_network_entry, "speeds by network")                                             \
  X(GPU_NAMES, gpu_names, hr_gpu_name, "other names of GPU types")                                                     \
  X(REGION_LINKS, region_links, hr_region_link, "links between regions")                                               \
  X(POWER_CAPS, power_caps, hr_power_cap_entry, "effects of power limits")

/* The catalogue: for each table its rows, such as `gpus`, and their number, such as `n_gpus`. */
struct hr_catalog {
#define HR_CATALOG_MEMBERS(id, name, row, words)                                                                       \
  const struct row *name;                                                                                              \
  size_t n_##name;
  HR_CATALOG_TABLES(HR_CATALOG_MEMBERS)
#undef HR_CATALOG_MEMBERS
  const struct hr_mig_type *mig_types; /* one per GPU type with MIG, derived from mig_profiles */
  size_t n_mig_types;
};

/* CSV files that extend the built-in tables. They have the columns of the built-in table and are plain or compressed
   with gzip or zstd. NULL: the built-in table only. */
struct hr_catalog_files {
#define HR_CATALOG_FILE(id, name, ...) const char *name;
  HR_CATALOG_TABLES(HR_CATALOG_FILE)
#undef HR_CATALOG_FILE
};

/* Loads the built-in tables and `files`, which may be NULL. The caller frees `*catalog` with hr_catalog_destroy. On
   HR_BAD_INPUT, `error` names file, line and column. */
HR_API enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                                      struct hr_error *error);
HR_API void hr_catalog_destroy(struct hr_catalog *catalog);

/* Whether `as_of` is a valid date: a day (2026-07-20), a month (2026-07) or a year (2026). */
HR_API bool hr_catalog_is_date(const char *as_of);

/* Each of these functions finds a row by name: a GPU type, an instance type or a spot preset. On HR_OK, the last
   argument before `error` is set to the row. */
HR_API enum hr_status hr_catalog_gpu(const struct hr_catalog *catalog, const char *name, const struct hr_gpu_type **gpu,
                                     struct hr_error *error);
HR_API enum hr_status hr_catalog_instance(const struct hr_catalog *catalog, const char *provider, const char *instance,
                                          const struct hr_instance_type **type, struct hr_error *error);
HR_API enum hr_status hr_catalog_spot_preset(const struct hr_catalog *catalog, const char *name,
                                             const struct hr_spot_preset **preset, struct hr_error *error);

/* Returns the GPU type that a name means in Slurm, Kubernetes, a cloud or nvidia-smi, such as "NVIDIA-A100-SXM4-80GB".
   Separators and vendor do not matter. Returns NULL if the name means no type, or if it means several ("A100"). */
HR_API const struct hr_gpu_type *hr_catalog_gpu_named(const struct hr_catalog *catalog, const char *name);
/* Returns whether a name may mean the GPU type `gpu`: it is the type, in any case, or no type has this name and it is
   another name of the type. The name of a family ("A100") means all its members. */
HR_API bool hr_catalog_gpu_means(const struct hr_catalog *catalog, const char *name, const char *gpu);
/* Returns HR_BAD_INPUT, with the error of hr_catalog_gpu, if a name means no GPU type. */
HR_API enum hr_status hr_catalog_check_gpu_name(const struct hr_catalog *catalog, const char *name,
                                                struct hr_error *error);
/* Returns all other names of a GPU type, separated by '|', for hr_pool_spec.gpu_names. The caller frees the text. If
   the type has no other name, the text is empty. Returns NULL if memory is exhausted. */
HR_API char *hr_catalog_gpu_names(const struct hr_catalog *catalog, const char *gpu);
/* Returns all names of all GPU types, for hr_cluster_spec.gpu_vocabulary. The caller frees the text. Returns NULL if
   memory is exhausted. */
HR_API char *hr_catalog_gpu_vocabulary(const struct hr_catalog *catalog);

/* Finds the MIG profiles of a GPU type. Returns HR_BAD_INPUT if the type has no MIG. */
HR_API enum hr_status hr_catalog_mig(const struct hr_catalog *catalog, const char *gpu, const struct hr_mig_type **type,
                                     struct hr_error *error);

/* hr_catalog_check_provider returns HR_BAD_INPUT if the provider does not exist. hr_catalog_check_region also returns
   HR_BAD_INPUT if the provider does not have the region. If the prices of a provider do not depend on the region, the
   provider has all regions. */
HR_API enum hr_status hr_catalog_check_provider(const struct hr_catalog *catalog, const char *provider,
                                                struct hr_error *error);
HR_API enum hr_status hr_catalog_check_region(const struct hr_catalog *catalog, const char *provider,
                                              const char *region, struct hr_error *error);

/* Finds the discount for an instance. Candidates are the discounts for the term of the query with an upfront payment
   equal to that of the query or to "". The selected discount is the one with the longest family that is a prefix of the
   instance's name. If no such discount exists, it is the discount with the GPU type of the instance as its family; if
   none exists, the discount with the family "*". Of several such discounts, the newest is selected. A discount with a
   different upfront payment is an upper bound: it replaces the selected discount if its family matches better and if it
   is smaller. Returns HR_BAD_INPUT if no discount applies. */
struct hr_discount_query {
  const char *provider, *instance;
  const char *term, *upfront; /* upfront NULL: any */
  /* select the newest discount that is not newer than this date; NULL or "": the newest of all */
  const char *as_of;
};
HR_API enum hr_status hr_catalog_discount(const struct hr_catalog *catalog, const struct hr_discount_query *query,
                                          const struct hr_discount **discount, struct hr_error *error);

/* A price query. */
struct hr_price_query {
  const char *provider;
  /* NULL: among the provider's instances with GPUs of the type `gpu`, the one that is cheapest per GPU */
  const char *instance;
  const char *gpu;    /* name of a GPU type; used if `instance` is NULL */
  const char *region; /* NULL: the base region of the provider */
  enum hr_market market;
  /* for reserved capacity. upfront NULL: any upfront payment; of the newest prices, the cheapest is selected */
  const char *term, *upfront;
  const char *as_of; /* select the newest price that is not newer than this date; NULL or "": the newest of all */
};

/* The result of a price query. Pointers belong to the catalogue or to the query. */
struct hr_price_quote {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* price of the whole instance, in micro-dollars per hour */
  const char *region;
  const char *as_of;
  /* if the price is in the table, the status of its row; if it was derived with an assumed discount, "assumed";
     otherwise "derived" */
  const char *status;
  char source[400]; /* source of the price, or how it was derived */
};

/*
 * Finds or derives the price of an instance. The row of the table is used if it is up to date. Otherwise the price is
 * derived:
 *   on-demand  The price of the region. If the price of the base region has changed since then, the price of the region
 * is scaled by that change. If the region has no price: the price of the base region x the multiplier of the region.
 *   reserved   The price of the term. For terms 1y and 3y, it is scaled by the change of the on-demand price since.
 *              If the terms 1y and 3y have no price: the on-demand price less the discount.
 *   spot       The price of the region, independent of its age. If the region has no price: the on-demand price less
 *              the usual spot discount.
 *
 * Prices are computed in integers and rounded half up to micro-dollars. Returns HR_BAD_INPUT if the price is unknown.
 */
HR_API enum hr_status hr_catalog_price(const struct hr_catalog *catalog, const struct hr_price_query *query,
                                       struct hr_price_quote *quote, struct hr_error *error);
/* Returns the price of a quote per GPU-hour in micro-dollars, rounded half up. */
HR_API int64_t hr_price_quote_gpu_uusd_h(const struct hr_price_quote *quote);

#ifdef __cplusplus
}
#endif
#endif
