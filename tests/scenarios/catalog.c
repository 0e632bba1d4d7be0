/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in tables of the catalogue are complete, within bounds and consistent with each other. Each row names its
   source. */

#include "harness.h"
#include "messages.h"

#include "headroom/unstable/catalog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct hr_catalog *catalog;

static void tables_are_read(void) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, &error), HR_OK);
  CU_ASSERT_TRUE(catalog->n_gpus >= 12);
  CU_ASSERT_TRUE(catalog->n_instances > 140);
  CU_ASSERT_TRUE(catalog->n_prices > 1500);
  CU_ASSERT_TRUE(catalog->n_regions >= 100);
  CU_ASSERT_TRUE(catalog->n_discounts > 30);
  CU_ASSERT_TRUE(catalog->n_spot_presets >= 15);
}

/* ---- Origins ---------------------------------------------------------------------------------------- */

/* The source of a row with the status "mixed" must explain which values are assumed, stated, derived or measured. */
static void check_origin(const char *status, const char *source) {
  CU_ASSERT_STRING_NOT_EQUAL(status, "stated");
  CU_ASSERT_TRUE(strlen(source) > 8);
  if (strcmp(status, "mixed") == 0)
    CU_ASSERT_TRUE(strstr(source, "assumed") || strstr(source, "says") || strstr(source, "derived") ||
                   strstr(source, "measured"));
}

static void rows_name_their_source(void) {
  for (size_t i = 0; i < catalog->n_gpus; i++) check_origin(catalog->gpus[i].status, catalog->gpus[i].source);
  for (size_t i = 0; i < catalog->n_instances; i++)
    check_origin(catalog->instances[i].status, catalog->instances[i].source);
  for (size_t i = 0; i < catalog->n_prices; i++) check_origin(catalog->prices[i].status, catalog->prices[i].source);
  for (size_t i = 0; i < catalog->n_regions; i++) check_origin(catalog->regions[i].status, catalog->regions[i].source);
  for (size_t i = 0; i < catalog->n_discounts; i++)
    check_origin(catalog->discounts[i].status, catalog->discounts[i].source);
  for (size_t i = 0; i < catalog->n_spot_presets; i++)
    check_origin(catalog->spot_presets[i].status, catalog->spot_presets[i].source);
  for (size_t i = 0; i < catalog->n_mig_profiles; i++)
    check_origin(catalog->mig_profiles[i].status, catalog->mig_profiles[i].source);
  for (size_t i = 0; i < catalog->n_gpu_names; i++)
    check_origin(catalog->gpu_names[i].status, catalog->gpu_names[i].source);
}

/* ---- Names of GPU types ----------------------------------------------------------------------------- */

/* Names of GPU types in Slurm, Kubernetes, clouds and nvidia-smi, and the type that they mean. The type is "" if the
   name means several types or none. */
static const struct {
  const char *name, *type;
} gpu_names[] = {{"NVIDIA-A100-SXM4-80GB", "A100-80"},
                 {"NVIDIA A100-SXM4-40GB", "A100-40"},
                 {"NVIDIA A100 80GB PCIe", "A100-80"},
                 {"nvidia_a100-sxm4-80gb", "A100-80"},
                 {"NVIDIA-A100-SXM4-80GB-SHARED", "A100-80"},
                 {"nvidia-a100-80gb", "A100-80"},
                 {"nvidia-tesla-t4", "T4"},
                 {"Tesla V100-SXM2-16GB", "V100"},
                 {"Tesla V100-SXM2-32GB", "V100-32"},
                 {"Tesla-V100-SXM2-32GB", "V100-32"},
                 {"Tesla V100-SXM3-32GB", "V100-32"},
                 {"Tesla V100-PCIE-32GB", "V100-32"},
                 {"gpu:tesla_v100-sxm2-32gb:4", "V100-32"},
                 {"V100-32GB", "V100-32"},
                 {"gpu:v100l", "V100-32"},
                 {"nvidia-tesla-v100", "V100"},
                 {"gpu:v100:8", "V100"},
                 {"Tesla V100-PCIE-16GB", "V100"},
                 {"V100-16GB", "V100"},
                 {"nvidia-tesla-p100", "P100"},
                 {"Tesla P100-SXM2-16GB", "P100"},
                 {"NVIDIA-A100-SXM4-40GB", "A100-40"},
                 {"gres/gpu:a100_80:2", "A100-80"},
                 {"NVIDIA_A100_40G", "A100-40"},
                 {"gpu:a100l", "A100-80"},
                 {"NVIDIA A10G", "A10G"},
                 {"NVIDIA-A10G-SHARED", "A10G"},
                 {"NVIDIA A30", "A30"},
                 {"NVIDIA L40S", "L40S"},
                 {"gpu:l40s:4", "L40S"},
                 {"NVIDIA-H100-80GB-HBM3", "H100"},
                 {"NVIDIA H100 PCIe", "H100"},
                 {"gpu:nvidia_h100_80gb_hbm3:8", "H100"},
                 {"NVIDIA H200", "H200"},
                 {"nvidia-b200", "B200"},
                 {"NVIDIA-B200", "B200"},
                 {"gpu:h100", "H100"},
                 {"gpu:h100:8", "H100"},
                 {"gres/gpu:h100", "H100"},
                 {"NVIDIA H100 80GB HBM3", "H100"},
                 {"nvidia-h100-mega-80gb", "H100"},
                 {"nvidia-h200-141gb", "H200"},
                 {"nvidia-l4", "L4"},
                 {"tesla_t4", "T4"},
                 {"V100M16", "V100"},
                 {"V100M32", "V100-32"},
                 {"V100-16", "V100"},
                 {"NVIDIA H100 NVL", ""},
                 {"V100S-PCIE-32GB", ""},
                 {"a100", ""},
                 {"nvidia", ""},
                 {"gpu", ""},
                 {"", ""},
                 {"RTX-4090", ""},
                 {"A100-81", ""}};

static void names_mean_types(void) {
  for (size_t i = 0; i < sizeof gpu_names / sizeof *gpu_names; i++) {
    const struct hr_gpu_type *type = hr_catalog_gpu_named(catalog, gpu_names[i].name);
    CU_ASSERT_STRING_EQUAL(type ? type->name : "", gpu_names[i].type);
  }
  char *names = hr_catalog_gpu_names(catalog, "A100-80"), *none = hr_catalog_gpu_names(catalog, "no-such-type");
  CU_ASSERT_PTR_NOT_NULL_FATAL(names);
  CU_ASSERT_PTR_NOT_NULL(strstr(names, "A100|"));
  CU_ASSERT_STRING_EQUAL(none, "");
  free(names);
  free(none);
  const struct hr_gpu_type *type;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "H100-80", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_STRING_EQUAL(error.text, "GPU type 'H100-80' is unknown; did you mean 'H100'?");
}

/* Each own name of a type refers to this type, so no other row may use the name for another type. */
static void own_names_come_first(void) {
  for (size_t i = 0; i < catalog->n_gpus; i++) {
    char name[100];
    snprintf(name, sizeof name, "gpu:%s:2", catalog->gpus[i].name);
    CU_ASSERT_PTR_EQUAL(hr_catalog_gpu_named(catalog, name), &catalog->gpus[i]);
  }
}

static void misspelt_names(void) {
  static const struct {
    const char *name, *message;
  } cases[] = {{"A10O", "; similar: A100-40, A100-80"},   {"A1OO-8O", "; did you mean 'A100-80'?"},
               {"A100-88", "; did you mean 'A100-80'?"},  {"Tesla V1O0-SXM2-32GB", "; did you mean 'V100-32'?"},
               {"H10", "; did you mean 'H100'?"},         {"H2OO", "; did you mean 'H200'?"},
               {"NVIDIA LA0S", "; did you mean 'L40S'?"}, {"GB200", "; did you mean 'B200'?"},
               {"rtx-4090", "; known: P100, "},           {"K80", "; known: P100, "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct hr_gpu_type *type;
    struct hr_error error = {0};
    CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, cases[i].name, &type, &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, cases[i].message));
  }
}

/* ---- GPU and instance types ------------------------------------------------------------------------- */

static const struct hr_gpu_type *gpu(const char *name) {
  const struct hr_gpu_type *type = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_gpu(catalog, name, &type, NULL), HR_OK);
  return type;
}

static bool is_between(double value, double low, double high) {
  return value >= low && value <= high;
}

/* Returns whether a bandwidth is that of 16 lanes of some PCIe generation. Generation 3 has 15.75 GB/s. Each later
   generation doubles this value. */
static bool is_pcie(double gb_s) {
  for (int doublings = 0; doublings < 6; doublings++)
    if (fabs(gb_s - ldexp(15.75, doublings)) < 1) return true;
  return false;
}

/* The bounds are ratios, because absolute upper bounds would reject future GPUs. From the P100 to the B200 all ratios
   are within these bounds. A misplaced decimal point moves at least one ratio out of its bounds in most cases. */
static void gpu_types_are_plausible(void) {
  for (size_t i = 0; i < catalog->n_gpus; i++) {
    const struct hr_gpu_type *type = &catalog->gpus[i];
    for (size_t k = 0; k < i; k++) CU_ASSERT_STRING_NOT_EQUAL(type->name, catalog->gpus[k].name);
    CU_ASSERT_PTR_EQUAL(gpu(type->name), type);
    CU_ASSERT_TRUE(type->mem_gb >= 16);
    CU_ASSERT_TRUE(is_between(type->mem_gb / type->bandwidth_gb_s, 0.015, 0.1)); /* seconds to read the whole memory */
    CU_ASSERT_TRUE(is_between(type->fp16_tflops / type->bandwidth_gb_s, 0.02, 1));
    CU_ASSERT_TRUE(is_between(type->fp16_tflops / type->fp32_tflops, 1.5, 100));
    CU_ASSERT_TRUE(is_between(type->fp16_tflops / type->tdp_w, 0.05, 10));
    CU_ASSERT_TRUE(is_between(type->idle_w / type->tdp_w, 0.05, 0.2));
    CU_ASSERT_TRUE(type->tdp_w >= 50);
    CU_ASSERT_TRUE(type->fp32_tflops >= 8);
    CU_ASSERT_TRUE(type->bf16_tflops == HR_UNKNOWN_NUMBER || type->bf16_tflops == type->fp16_tflops);
    CU_ASSERT_TRUE(type->achievable == HR_UNKNOWN_NUMBER || is_between(type->achievable, 0.5, 0.9));
    CU_ASSERT_TRUE(is_pcie(type->pcie_gb_s));
    CU_ASSERT_TRUE(type->nvlink_gb_s == 0 || is_between(type->nvlink_gb_s / type->pcie_gb_s, 2, 100));
    CU_ASSERT_TRUE(type->mig_slices == 0 || is_between(type->mig_slices, 2, 8));
  }
}

static void selected_gpu_types(void) {
  static const char *const names[] = {"A100-40", "A100-80", "H100", "L4",   "T4",   "A10G",
                                      "V100",    "P100",    "H200", "B200", "L40S", "A30"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CU_ASSERT_STRING_EQUAL(gpu(names[i])->name, names[i]);
  CU_ASSERT_EQUAL(gpu("h100")->mem_gb, 80);
  CU_ASSERT_EQUAL(gpu("H100")->fp16_tflops, 989);
  CU_ASSERT_EQUAL(gpu("H100")->achievable, 0.8);
  CU_ASSERT_EQUAL(gpu("H100")->mig_slices, 7);
  CU_ASSERT_EQUAL(gpu("T4")->nvlink_gb_s, 0);
  CU_ASSERT_EQUAL(gpu("T4")->mig_slices, 0);
  CU_ASSERT_EQUAL(gpu("T4")->bf16_tflops, HR_UNKNOWN_NUMBER);
  CU_ASSERT_EQUAL(gpu("P100")->fp16_tflops, 21.2);
}

/* Checks what tests/kit/mig_brute.c does not check: memory, multiprocessors, and consistency with the table of GPU
   types. */
static void mig_profiles_are_consistent(void) {
  for (size_t i = 0; i < catalog->n_gpus; i++) {
    const struct hr_mig_type *type;
    enum hr_status status = hr_catalog_mig(catalog, catalog->gpus[i].name, &type, NULL);
    CU_ASSERT_EQUAL(status == HR_OK, catalog->gpus[i].mig_slices > 0);
    if (status != HR_OK) continue;
    CU_ASSERT_EQUAL(type->compute_slices, catalog->gpus[i].mig_slices);
    CU_ASSERT_STRING_EQUAL(type->gpu, catalog->gpus[i].name);
    double slice_mib = catalog->gpus[i].mem_gb * 1024 / type->memory_slices;
    for (size_t p = 0; p < type->n_profiles; p++) {
      const struct hr_mig_profile *profile = &type->profiles[p];
      double nominal_mib = 1024 * strtod(profile->name + 3, NULL);
      CU_ASSERT_TRUE(profile->mem_mib > 0.94 * nominal_mib && profile->mem_mib <= nominal_mib * 1.04);
      /* Vendors state the memory of a GPU in GB (10^9 bytes, 0.931 GiB). They round the memory of a profile down to
         whole GiB. */
      CU_ASSERT_TRUE(profile->mem_mib > 0.93 * slice_mib * profile->memory_slices - 1024);
      CU_ASSERT_TRUE(profile->mem_mib <= 1.03 * slice_mib * profile->memory_slices);
      CU_ASSERT_TRUE(profile->sms >= 14 * profile->compute_slices && profile->sms <= 26 * profile->compute_slices);
    }
  }
}

static void selected_mig_profiles(void) {
  const struct hr_mig_type *type;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, "A100-80", &type, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(type->profiles[0].name, "7g.80gb");
  CU_ASSERT_EQUAL(type->profiles[0].mem_mib, 80384);
  CU_ASSERT_EQUAL(type->profiles[2].sms, 42);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(catalog, "h100", &type, NULL), HR_OK);
  CU_ASSERT_EQUAL(type->profiles[2].sms, 60);
  CU_ASSERT_EQUAL(hr_catalog_mig(catalog, "T4", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(type);
  CU_ASSERT_TRUE(message_has(error.text, "GPU type 'T4' does not support MIG; these do: "));
  for (size_t i = 0; i < catalog->n_mig_types; i++)
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, catalog->mig_types[i].gpu));
  CU_ASSERT_EQUAL(hr_catalog_mig(catalog, "A100", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "GPU type 'A100' is unknown; similar: A100-40, A100-80"));
}

static void instance_types_are_complete(void) {
  for (size_t i = 0; i < catalog->n_instances; i++) {
    const struct hr_instance_type *type = &catalog->instances[i], *found = NULL;
    CU_ASSERT_EQUAL(hr_catalog_instance(catalog, type->provider, type->name, &found, NULL), HR_OK);
    CU_ASSERT_PTR_EQUAL(found, type);
    CU_ASSERT_TRUE(type->gpus >= 1 && type->gpus == floor(type->gpus));
    CU_ASSERT_TRUE(type->vcpus == HR_UNKNOWN_NUMBER || type->vcpus >= type->gpus);
    CU_ASSERT_STRING_EQUAL(gpu(type->gpu)->name, type->gpu);
  }
  const struct hr_instance_type *p5 = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_instance(catalog, "aws", "p5.48xlarge", &p5, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(p5->gpu, "H100");
  CU_ASSERT_EQUAL(p5->gpus, 8);
  CU_ASSERT_EQUAL(p5->vcpus, 192);
  CU_ASSERT_EQUAL(p5->mem_gib, 2048);
  CU_ASSERT_EQUAL(p5->nvme_gb, 30400);
  CU_ASSERT_EQUAL(p5->network_gbit, 3200);
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

/* Plausibility bounds that detect misplaced decimal points. All rental prices are within these bounds. */
static void prices_are_in_range(void) {
  for (size_t i = 0; i < catalog->n_prices; i++) {
    const struct hr_price *price = &catalog->prices[i];
    const struct hr_instance_type *type = NULL;
    CU_ASSERT_EQUAL_FATAL(hr_catalog_instance(catalog, price->provider, price->instance, &type, NULL), HR_OK);
    double gpu_h = (double)price->uusd_h / 1e6 / type->gpus;
    CU_ASSERT_TRUE(gpu_h > 0.02 && gpu_h < fmax(20, gpu(type->gpu)->fp16_tflops / 50));
    CU_ASSERT_TRUE(strcmp(price->as_of, "2024") >= 0 && strcmp(price->as_of, "2100") < 0);
    if (strcmp(price->region, "*") != 0)
      CU_ASSERT_EQUAL(hr_catalog_check_region(catalog, price->provider, price->region, NULL), HR_OK);
  }
}

/* No spot price is above the on-demand price of the same instance type, region and date. */
static void spot_prices_are_not_above_on_demand(void) {
  for (size_t i = 0; i < catalog->n_prices; i++)
    for (size_t k = 0; k < catalog->n_prices; k++) {
      const struct hr_price *spot = &catalog->prices[i], *list = &catalog->prices[k];
      if (spot->market != HR_MARKET_SPOT || list->market != HR_MARKET_ON_DEMAND) continue;
      if (spot->instance != list->instance || spot->region != list->region || spot->as_of != list->as_of) continue;
      CU_ASSERT_TRUE(spot->uusd_h <= list->uusd_h);
    }
}

static void regions_have_a_base(void) {
  for (size_t i = 0; i < catalog->n_regions; i++) {
    const struct hr_region *region = &catalog->regions[i];
    CU_ASSERT_EQUAL(hr_catalog_check_region(catalog, region->provider, region->base, NULL), HR_OK);
    CU_ASSERT_TRUE(region->multiplier_ppm >= 900000 && region->multiplier_ppm <= 2500000);
    if (region->name == region->base) CU_ASSERT_EQUAL(region->multiplier_ppm, 1000000);
  }
}

/* ---- Discounts -------------------------------------------------------------------------------------- */

static void check_discount(const struct hr_discount_query *query, int64_t off_ppm, const char *family) {
  const struct hr_discount *discount = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_discount(catalog, query, &discount, NULL), HR_OK);
  CU_ASSERT_EQUAL(discount->off_ppm, off_ppm);
  CU_ASSERT_STRING_EQUAL(discount->family, family);
}

static void the_most_specific_discount_is_used(void) {
  check_discount(&(struct hr_discount_query){"aws", "p4d.24xlarge", "1y", "all", NULL}, 425400, "p4d");
  check_discount(&(struct hr_discount_query){"aws", "p3.2xlarge", "1y", "all", NULL}, 363000, "p3");
  check_discount(&(struct hr_discount_query){"aws", "p3.2xlarge", "1y", "none", NULL}, 363000, "p3");
  check_discount(&(struct hr_discount_query){"aws", "p3dn.24xlarge", "spot", NULL, ""}, 720000, "p3dn");
  check_discount(&(struct hr_discount_query){"aws", "p5.48xlarge", "spot", NULL, "2025"}, 700000, "p5");
  check_discount(&(struct hr_discount_query){"aws", "p5.48xlarge", "spot", NULL, "2025-05"}, 580000, "p5");
  check_discount(&(struct hr_discount_query){"gcp", "a2-ultragpu-8g", "3y", NULL, NULL}, 650000, "a2");
  check_discount(&(struct hr_discount_query){"gcp", "a2-ultragpu-8g", "spot", NULL, NULL}, 480000, "a2-ultragpu");
  check_discount(&(struct hr_discount_query){"gcp", "gpu-attach-t4-x1", "spot", NULL, NULL}, 660000, "T4");

  const struct hr_discount *discount = NULL;
  struct hr_error error = {0};
  const struct hr_discount_query none = {"lambda", "gpu_8x_v100", "3y", "all", NULL};
  CU_ASSERT_EQUAL(hr_catalog_discount(catalog, &none, &discount, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "no discount of lambda for '3y', paid upfront: all is in the catalogue"));
}

/* ---- Spot presets ----------------------------------------------------------------------------------- */

static const struct hr_spot_spec *preset(const char *name) {
  const struct hr_spot_preset *found = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_spot_preset(catalog, name, &found, NULL), HR_OK);
  return &found->spec;
}

static bool is_near(double a, double b) {
  return fabs(a - b) <= 1e-12 * fabs(b);
}

static void presets_are_converted_to_models(void) {
  const struct hr_spot_spec *east = preset("aws-v100-us-east-1"), *fleet = preset("gcp-v100");
  CU_ASSERT_EQUAL(east->model, HR_SPOT_ON_OFF);
  CU_ASSERT_EQUAL(east->up.kind, HR_DURATION_LOG_NORMAL);
  CU_ASSERT_TRUE(is_near(exp(east->up.a), 3600 * exp(-0.309)));
  CU_ASSERT_EQUAL(east->up.b, 1.225);
  CU_ASSERT_TRUE(is_near(exp(east->down.a), 3600 * exp(-0.179)));
  CU_ASSERT_EQUAL(east->notice_us, 120 * HR_SECOND_US);
  CU_ASSERT_EQUAL(fleet->model, HR_SPOT_EXPONENTIAL);
  CU_ASSERT_EQUAL(fleet->rate_per_h, 0.281);
  CU_ASSERT_EQUAL(fleet->batch_mean, 9.42);
  CU_ASSERT_EQUAL(fleet->notice_us, 30 * HR_SECOND_US);
  CU_ASSERT_EQUAL(preset("gcp-preemptible")->bathtub.last_h, 24);
  CU_ASSERT_EQUAL(preset("gcp-v100")->bathtub.last_h, 0);
}

/* With the rate of an advisor band, the share of nodes that are interrupted in a month of 730 h is the middle of the
   band, or 25 % for the band above 20 %. Each of these rates is less than a thousandth of the measured rate of the
   preset aws-p3. */
static void advisor_bands(void) {
  static const struct {
    const char *name;
    double share;
  } bands[] = {{"advisor-under-5", 0.025},
               {"advisor-5-10", 0.075},
               {"advisor-10-15", 0.125},
               {"advisor-15-20", 0.175},
               {"advisor-over-20", 0.25}};
  for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
    const struct hr_spot_spec *spec = preset(bands[i].name);
    CU_ASSERT_EQUAL(spec->model, HR_SPOT_ADVISOR);
    CU_ASSERT_TRUE(is_near(1 - exp(-730 * spec->rate_per_h), bands[i].share));
    CU_ASSERT_TRUE(spec->rate_per_h * 1000 < preset("aws-p3")->rate_per_h);
  }
}

/* ---- Unknown names ---------------------------------------------------------------------------------- */

static void errors_suggest_similar_names(void) {
  const struct hr_gpu_type *type;
  const struct hr_instance_type *instance;
  const struct hr_spot_preset *found;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "A100", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "GPU type 'A100' is unknown; similar: A100-40, A100-80"));
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "H20O", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "GPU type 'H20O' is unknown; did you mean 'H200'?"));
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "A100-80-SXM", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "GPU type 'A100-80-SXM' is unknown; did you mean 'A100-80'?"));
  /* By letters alone, the most similar name is A100-80. */
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "H100-80", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "GPU type 'H100-80' is unknown; did you mean 'H100'?"));
  CU_ASSERT_EQUAL(hr_catalog_gpu(catalog, "NONE-SUCH", &type, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_has(error.text, "GPU type 'NONE-SUCH' is unknown; known: P100, V100, "));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, " more"));
  CU_ASSERT_EQUAL(hr_catalog_instance(catalog, "aws", "p4", &instance, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(
      message_matches(error.text, "instance type of aws 'p4' is unknown; similar: p4d.24xlarge, p4de.24xlarge"));
  CU_ASSERT_EQUAL(hr_catalog_instance(catalog, "asw", "p4", &instance, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "provider 'asw' is unknown; did you mean 'aws'?"));
  CU_ASSERT_EQUAL(hr_catalog_spot_preset(catalog, "aws-v10", &found, &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(strstr(error.text, "similar: aws-v100, aws-v100-us-east-1") != NULL);
  CU_ASSERT_EQUAL(hr_catalog_check_region(catalog, "gcp", "us-centrall", &error), HR_BAD_INPUT);
  CU_ASSERT_TRUE(message_matches(error.text, "region of gcp 'us-centrall' is unknown; did you mean 'us-central1'?"));
  CU_ASSERT_EQUAL(hr_catalog_check_region(catalog, "runpod", "anywhere", &error), HR_OK);
  hr_catalog_destroy(catalog);
  hr_catalog_destroy(NULL);
}

TEST_MAIN("scenarios_catalog", TEST(tables_are_read), TEST(rows_name_their_source), TEST(gpu_types_are_plausible),
          TEST(names_mean_types), TEST(own_names_come_first), TEST(misspelt_names), TEST(selected_gpu_types),
          TEST(mig_profiles_are_consistent), TEST(selected_mig_profiles), TEST(instance_types_are_complete),
          TEST(prices_are_in_range), TEST(spot_prices_are_not_above_on_demand), TEST(regions_have_a_base),
          TEST(the_most_specific_discount_is_used), TEST(presets_are_converted_to_models), TEST(advisor_bands),
          TEST(errors_suggest_similar_names))
