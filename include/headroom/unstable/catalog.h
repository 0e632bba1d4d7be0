/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CATALOG_H
#define HEADROOM_UNSTABLE_CATALOG_H

/*
 * The catalogue: tables of GPU types, their names and MIG profiles, effects of power limits, speeds by network,
 * instance types, dated prices, regions, links between regions, discounts, and models of spot interruptions.
 * HR_CATALOG_TABLES below lists them.
 *
 * The built-in tables are part of the library. CSV files with the same columns can add rows, or replace rows with the
 * same key. Each row has a source and a status: "quoted" (the source states the values), "derived" or "assumed" (the
 * source explains how or why), or "mixed" (the source explains each value). A row of a file without a status has the
 * status "stated". All strings and rows belong to the catalogue. Lookups by name ignore case. If no row matches,
 * functions that return a status return HR_BAD_INPUT, and `error` suggests similar names.
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

/* A model of spot interruptions. Its parameters were fitted to recorded spot capacity, or were published. */
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

/* The speed of jobs on `gpus` GPUs in several nodes that are joined by `network`, relative to the speed of the same job
   within one node. */
struct hr_network_entry {
  const char *model; /* a prefix of model names; the row applies to all models with this prefix */
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

/* The measured effect of a power limit on a GPU type. time_ratio and power_ratio are the run time and the power of the
   GPU at the limit `limit_w`, divided by those at the highest limit of the type. */
struct hr_power_cap_entry {
  const char *gpu; /* a name in the table of GPU types, or the name of a type that occurs only in this table */
  double limit_w, time_ratio, power_ratio;
  const char *status, *source;
};

/* The tables of the catalogue. Each table has a built-in CSV file, a key in the object `catalog` of scenarios, and
   members of the structs below. The columns of this list: enumerator, name, struct of a row, content in words. A new
   table also needs its columns in scenarios/catalog/catalog_tables.c and its file in scenarios/CMakeLists.txt. */
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

/* Paths of CSV files that extend the built-in tables. A file has the columns of the built-in table. It is plain, or
   compressed with gzip or zstd. NULL: no file, so only the built-in table is used. */
struct hr_catalog_files {
#define HR_CATALOG_FILE(id, name, ...) const char *name;
  HR_CATALOG_TABLES(HR_CATALOG_FILE)
#undef HR_CATALOG_FILE
};

/* Loads the built-in tables and `files`, which may be NULL. The caller frees `*catalog` with hr_catalog_destroy.
   Returns HR_BAD_INPUT if a file is malformed, or if a row refers to a name that does not exist in the other tables;
   `error` then names the file and line, or the built-in table. */
HR_API enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                                      struct hr_error *error);
HR_API void hr_catalog_destroy(struct hr_catalog *catalog);

/* Returns whether `as_of` is a valid date: a day (2026-07-20), a month (2026-07) or a year (2026). */
HR_API bool hr_catalog_is_date(const char *as_of);

/* Each of these functions finds a row by name: a GPU type, an instance type or a model of spot interruptions. On HR_OK,
   the argument before `error` is set to the row. */
HR_API enum hr_status hr_catalog_gpu(const struct hr_catalog *catalog, const char *name, const struct hr_gpu_type **gpu,
                                     struct hr_error *error);
HR_API enum hr_status hr_catalog_instance(const struct hr_catalog *catalog, const char *provider, const char *instance,
                                          const struct hr_instance_type **type, struct hr_error *error);
HR_API enum hr_status hr_catalog_spot_preset(const struct hr_catalog *catalog, const char *name,
                                             const struct hr_spot_preset **preset, struct hr_error *error);

/* Returns the GPU type that a name means in Slurm, Kubernetes, a cloud or nvidia-smi, such as "NVIDIA-A100-SXM4-80GB".
   Separators and vendor do not matter. Returns NULL if the name means no type, or if it means several ("A100"). */
HR_API const struct hr_gpu_type *hr_catalog_gpu_named(const struct hr_catalog *catalog, const char *name);
/* Returns whether a name may mean the GPU type `gpu`. The name of a GPU type means only this type; case is ignored. Any
   other name means each type that has it as another name, so the name of a family ("A100") means all its members; case,
   separators and the vendor are ignored. */
HR_API bool hr_catalog_gpu_means(const struct hr_catalog *catalog, const char *name, const char *gpu);
/* Returns HR_OK if a name means one or more GPU types (hr_catalog_gpu_means). Returns HR_BAD_INPUT, with the error of
   hr_catalog_gpu, if it means no GPU type. */
HR_API enum hr_status hr_catalog_check_gpu_name(const struct hr_catalog *catalog, const char *name,
                                                struct hr_error *error);
/* Returns the names of a GPU type in the table gpu_names, separated by '|', for hr_pool_spec.gpu_names. The caller
   frees the text, which is empty if the type has no other name. Returns NULL if memory is exhausted. */
HR_API char *hr_catalog_gpu_names(const struct hr_catalog *catalog, const char *gpu);
/* Returns all names of all GPU types, in the format of hr_cluster_spec.gpu_vocabulary. The caller frees the text.
   Returns NULL if memory is exhausted. */
HR_API char *hr_catalog_gpu_vocabulary(const struct hr_catalog *catalog);

/* Finds the MIG profiles of a GPU type. Returns HR_BAD_INPUT if the type has no MIG. */
HR_API enum hr_status hr_catalog_mig(const struct hr_catalog *catalog, const char *gpu, const struct hr_mig_type **type,
                                     struct hr_error *error);

/* hr_catalog_check_provider returns HR_BAD_INPUT if the catalogue has no instance type of the provider.
   hr_catalog_check_region returns HR_BAD_INPUT for the same reason, or if the catalogue has regions of the provider but
   not `region`. If the catalogue has no region of the provider, because its prices do not depend on the region, any
   region is accepted. */
HR_API enum hr_status hr_catalog_check_provider(const struct hr_catalog *catalog, const char *provider,
                                                struct hr_error *error);
HR_API enum hr_status hr_catalog_check_region(const struct hr_catalog *catalog, const char *provider,
                                              const char *region, struct hr_error *error);

/* A query for a discount. */
struct hr_discount_query {
  const char *provider, *instance;
  /* term: "1y", "3y" or "spot". upfront: "none", "partial" or "all"; NULL: any */
  const char *term, *upfront;
  /* discounts that are newer than this date are ignored; NULL or "": none is ignored */
  const char *as_of;
};
/*
 * Finds the discount for an instance. Candidates are the discounts of the provider for the term of the query, if their
 * upfront payment is equal to `upfront` of the query or is "". Among them, the discount is selected by its family:
 *   1. the longest family that is a prefix of the instance's name up to a dot, a hyphen or the end of the name;
 *   2. if no such family exists, the GPU type of the instance;
 *   3. if no candidate has this family, "*".
 * Of several candidates with the selected family, the newest is selected.
 *
 * A discount for the same term with a different upfront payment is an upper bound. It replaces the selected discount if
 * it matches the instance more specifically and is smaller. It matches more specifically if its family is earlier in
 * this list, or if both families are prefixes and its family is longer.
 *
 * Returns HR_BAD_INPUT if the provider or the instance is unknown, or if no candidate exists.
 */
HR_API enum hr_status hr_catalog_discount(const struct hr_catalog *catalog, const struct hr_discount_query *query,
                                          const struct hr_discount **discount, struct hr_error *error);

/* A price query. */
struct hr_price_query {
  const char *provider;
  /* NULL: of the provider's instances with GPUs of the type `gpu`, the instance with the lowest price per GPU */
  const char *instance;
  const char *gpu;    /* name of a GPU type; used if `instance` is NULL */
  const char *region; /* NULL: the base region of the provider */
  enum hr_market market;
  /* for reserved capacity, with the values of struct hr_price. upfront NULL: any upfront payment; of several prices
     with the newest date, the lowest is selected */
  const char *term, *upfront;
  /* prices that are newer than this date are ignored. The newest of the remaining prices is selected. NULL or "": no
     price is ignored */
  const char *as_of;
};

/* The result of a price query. Pointers belong to the catalogue or to the query. */
struct hr_price_quote {
  const struct hr_instance_type *instance;
  int64_t uusd_h; /* price of the whole instance, in micro-dollars per hour */
  const char *region;
  const char *as_of;
  /* for a price in the table: the status of its row. For a price that was derived with an assumed discount: "assumed".
     For other derived prices: "derived" */
  const char *status;
  char source[400]; /* source of the price, or how it was derived */
};

/*
 * Finds or derives the price of an instance.
 *
 * On-demand: The price of the region is used. If the price of the base region has changed since the date of this price,
 * the price is multiplied by (new price of the base region) / (old price of the base region). If the region has no
 * price, the result is the price of the base region x the multiplier of the region.
 *
 * Reserved: The price for the term is used. For the terms 1y and 3y, it is multiplied by (new on-demand price) / (old
 * on-demand price) if the on-demand price has changed since the date of the reserved price. If no price exists for 1y
 * or 3y, the result is the on-demand price less the discount (hr_catalog_discount).
 *
 * Spot: The price of the region is used, independent of its age. If the region has no price, the result is the
 * on-demand price less the discount for the term "spot".
 *
 * Prices are computed in integers and rounded half up to micro-dollars. Returns HR_BAD_INPUT if the price is unknown,
 * if a name in the query is unknown, or for other markets.
 */
HR_API enum hr_status hr_catalog_price(const struct hr_catalog *catalog, const struct hr_price_query *query,
                                       struct hr_price_quote *quote, struct hr_error *error);
/* Returns the price of a quote per GPU-hour in micro-dollars, rounded half up. */
HR_API int64_t hr_price_quote_gpu_uusd_h(const struct hr_price_quote *quote);

#ifdef __cplusplus
}
#endif
#endif
