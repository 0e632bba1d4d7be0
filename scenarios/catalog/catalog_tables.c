/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The columns of the CSV files of the catalogue, and the conversion of a row to a struct. The cells of most tables are
 * stored directly in the members of the struct. Presets and MIG profiles need more fields: their cells are stored in a
 * draft, from which `finish` computes the struct.
 */

#include "scenarios/catalog/catalog_tables.h"

#include <math.h>
#include <string.h>

#define HOURS_PER_MONTH 730.0

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define TEXT(type, column, member)                                                                                     \
  { .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member) }
#define KEY(type, column, member)                                                                                      \
  { .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member), .key = true }
#define KEY_WORD(type, column, member, known)                                                                          \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_TEXT, .offset = offsetof(struct type, member), .key = true, .optional = true,     \
    .words = (known)                                                                                                   \
  }
#define WORD(type, column, member, known)                                                                              \
  { .name = column, .cell = HR__CELL_WORD, .offset = offsetof(struct type, member), .words = (known) }
#define DATE(type, column, member, is_key)                                                                             \
  { .name = column, .cell = HR__CELL_DATE, .offset = offsetof(struct type, member), .key = is_key }
#define NUMBER(type, column, member, low, high)                                                                        \
  { .name = column, .cell = HR__CELL_NUMBER, .offset = offsetof(struct type, member), .min = low, .max = high }
#define MAYBE(type, column, member, low, high)                                                                         \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_NUMBER, .offset = offsetof(struct type, member), .optional = true, .min = low,    \
    .max = high                                                                                                        \
  }
#define MICROS(type, column, member, high)                                                                             \
  { .name = column, .cell = HR__CELL_MICROS, .offset = offsetof(struct type, member), .max = high }
#define ORIGIN(type)                                                                                                   \
  {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct type, status)}, {                              \
    .name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct type, source)                                 \
  }

/* ---- GPU and instance types ------------------------------------------------------------------------- */

static const struct hr__table_column gpus[] = {KEY(hr_gpu_type, "gpu", name),
                                               NUMBER(hr_gpu_type, "mem_gb", mem_gb, 1, 1e6),
                                               NUMBER(hr_gpu_type, "bandwidth_gb_s", bandwidth_gb_s, 1, 1e6),
                                               NUMBER(hr_gpu_type, "fp16_tflops", fp16_tflops, 0.001, 1e6),
                                               MAYBE(hr_gpu_type, "bf16_tflops", bf16_tflops, 0, 1e6),
                                               MAYBE(hr_gpu_type, "fp32_tflops", fp32_tflops, 0, 1e6),
                                               MAYBE(hr_gpu_type, "achievable", achievable, 0, 1),
                                               NUMBER(hr_gpu_type, "tdp_w", tdp_w, 1, 1e5),
                                               NUMBER(hr_gpu_type, "idle_w", idle_w, 0, 1e5),
                                               MAYBE(hr_gpu_type, "nvlink_gb_s", nvlink_gb_s, 0, 1e6),
                                               MAYBE(hr_gpu_type, "pcie_gb_s", pcie_gb_s, 0, 1e6),
                                               MAYBE(hr_gpu_type, "mig_slices", mig_slices, 0, 64),
                                               ORIGIN(hr_gpu_type)};

static const struct hr__table_column instances[] = {KEY(hr_instance_type, "provider", provider),
                                                    KEY(hr_instance_type, "instance", name),
                                                    TEXT(hr_instance_type, "gpu", gpu),
                                                    NUMBER(hr_instance_type, "gpus", gpus, 1, 1024),
                                                    MAYBE(hr_instance_type, "vcpus", vcpus, 0, 65536),
                                                    MAYBE(hr_instance_type, "mem_gib", mem_gib, 0, 1e6),
                                                    MAYBE(hr_instance_type, "nvme_gb", nvme_gb, 0, 1e7),
                                                    MAYBE(hr_instance_type, "network_gbit", network_gbit, 0, 1e6),
                                                    ORIGIN(hr_instance_type)};

static const char *finish_instance(void *row) {
  const struct hr_instance_type *type = row;
  return type->gpus == floor(type->gpus) ? NULL : "column 'gpus' is not a whole number";
}

static const struct hr__table_column gpu_names[] = {KEY(hr_gpu_name, "name", name), KEY(hr_gpu_name, "gpu", gpu),
                                                    ORIGIN(hr_gpu_name)};

/* ---- Prices ----------------------------------------------------------------------------------------- */

#define ENUM_TEXT(name, text) text,
static const char *const markets[] = {HR_MARKET_TABLE(ENUM_TEXT) NULL};
static const char *const price_terms[] = {"", "1y", "3y", "block", "untold", NULL};
static const char *const upfronts[] = {"", "none", "partial", "all", NULL};

static const struct hr__table_column prices[] = {KEY(hr_price, "provider", provider),
                                                 KEY(hr_price, "instance", instance),
                                                 KEY(hr_price, "region", region),
                                                 {.name = "market",
                                                  .cell = HR__CELL_WORD,
                                                  .offset = offsetof(struct hr_price, market),
                                                  .key = true,
                                                  .words = markets},
                                                 KEY_WORD(hr_price, "term", term, price_terms),
                                                 KEY_WORD(hr_price, "upfront", upfront, upfronts),
                                                 MICROS(hr_price, "usd_per_hour", uusd_h, HR_MAX_USD_H),
                                                 DATE(hr_price, "as_of", as_of, true),
                                                 ORIGIN(hr_price)};

static const char *finish_price(void *row) {
  const struct hr_price *price = row;
  bool reserved = price->market == HR_MARKET_RESERVED;
  if (!reserved && !hr_market_is_elastic(price->market)) return "column 'market': is not reserved, on-demand or spot";
  if (reserved && !price->term[0]) return "a reserved price needs a 'term': 1y, 3y, block or untold";
  if (!reserved && (price->term[0] || price->upfront[0])) return "'term' and 'upfront' belong to reserved prices";
  return NULL;
}

static const struct hr__table_column regions[] = {
    KEY(hr_region, "provider", provider),   KEY(hr_region, "region", name),
    TEXT(hr_region, "base", base),          MICROS(hr_region, "multiplier", multiplier_ppm, 1000),
    DATE(hr_region, "as_of", as_of, false), ORIGIN(hr_region)};

static const char *const discount_terms[] = {"1y", "3y", "spot", NULL};

static const struct hr__table_column discounts[] = {KEY(hr_discount, "provider", provider),
                                                    KEY(hr_discount, "family", family),
                                                    {.name = "term",
                                                     .cell = HR__CELL_TEXT,
                                                     .offset = offsetof(struct hr_discount, term),
                                                     .key = true,
                                                     .words = discount_terms},
                                                    KEY_WORD(hr_discount, "upfront", upfront, upfronts),
                                                    MICROS(hr_discount, "off", off_ppm, 1),
                                                    DATE(hr_discount, "as_of", as_of, true),
                                                    ORIGIN(hr_discount)};

/* ---- Spot presets ----------------------------------------------------------------------------------- */

/* A row of spot_presets.csv. Durations are in hours. Parameters that the model of the preset does not have are
   empty. */
struct preset_draft {
  struct hr_spot_preset preset;
  enum hr_duration_kind up, down;
  double up_a, up_b, down_a, down_b;
  double notice_s, rate_per_h, batch_mean, monthly_interruption;
};

static const char *const models[] = {HR_SPOT_MODEL_TABLE(ENUM_TEXT) NULL};
static const char *const durations[] = {[HR_DURATION_FIXED] = "",
                                        [HR_DURATION_EXPONENTIAL] = "exponential",
                                        [HR_DURATION_LOG_NORMAL] = "log-normal",
                                        [HR_DURATION_WEIBULL] = "weibull",
                                        NULL};

#define PRESET(column, member, low, high) MAYBE(preset_draft, column, member, low, high)
#define DURATION(column, member)                                                                                       \
  {                                                                                                                    \
    .name = column, .cell = HR__CELL_WORD, .offset = offsetof(struct preset_draft, member), .optional = true,          \
    .words = durations                                                                                                 \
  }
static const struct hr__table_column spot_presets[] = {
    KEY(preset_draft, "name", preset.name),
    TEXT(preset_draft, "provider", preset.provider),
    TEXT(preset_draft, "gpu", preset.gpu),
    TEXT(preset_draft, "region", preset.region),
    WORD(preset_draft, "model", preset.spec.model, models),
    DURATION("up", up),
    PRESET("up_a", up_a, -100, 1e6),
    PRESET("up_b", up_b, 0, 1e6),
    DURATION("down", down),
    PRESET("down_a", down_a, -100, 1e6),
    PRESET("down_b", down_b, 0, 1e6),
    PRESET("rate_per_h", rate_per_h, 0, 1e4),
    PRESET("batch_mean", batch_mean, 1, 1e6),
    PRESET("monthly_interruption", monthly_interruption, 0, 0.999999),
    PRESET("bathtub_a", preset.spec.bathtub.a, 0, 1),
    PRESET("bathtub_tau1_h", preset.spec.bathtub.tau1_h, 0.001, 1e4),
    PRESET("bathtub_tau2_h", preset.spec.bathtub.tau2_h, 0.001, 1e4),
    PRESET("bathtub_b_h", preset.spec.bathtub.b_h, 0.001, 1e4),
    PRESET("bathtub_last_h", preset.spec.bathtub.last_h, 0.001, 1e4),
    NUMBER(preset_draft, "notice_s", notice_s, 0, 1e6),
    PRESET("discount", preset.discount, 0, 1),
    {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct preset_draft, preset.status)},
    {.name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct preset_draft, preset.source)}};

/* Converts a duration from hours to seconds. Returns false if a parameter of the distribution is missing. */
static bool make_duration(enum hr_duration_kind kind, double a, double b, struct hr_duration *duration) {
  *duration = (struct hr_duration){.kind = kind, .a = a, .b = b};
  switch (kind) {
  case HR_DURATION_LOG_NORMAL:
    duration->a = a + log(3600);
    return b >= 0;
  case HR_DURATION_EXPONENTIAL:
    duration->a = a * 3600;
    return a > 0;
  case HR_DURATION_WEIBULL:
    duration->b = b * 3600;
    return a > 0 && b > 0;
  default:
    return false;
  }
}

static const char *finish_preset(void *row) {
  struct preset_draft *draft = row;
  struct hr_spot_spec *spec = &draft->preset.spec;
  spec->notice_us = (int64_t)llround(draft->notice_s * (double)HR_SECOND_US);
  spec->batch_mean = draft->batch_mean > 0 ? draft->batch_mean : 1;
  spec->rate_per_h = draft->rate_per_h > 0 ? draft->rate_per_h : 0;
  if (spec->model != HR_SPOT_BATHTUB) spec->bathtub = (struct hr_bathtub){0};
  switch (spec->model) {
  case HR_SPOT_ON_OFF:
    if (make_duration(draft->up, draft->up_a, draft->up_b, &spec->up) &&
        make_duration(draft->down, draft->down_a, draft->down_b, &spec->down))
      return NULL;
    return "the model on-off needs 'up' and 'down', each with the parameters of its distribution in '_a' and '_b'";
  case HR_SPOT_EXPONENTIAL:
    return draft->rate_per_h >= 0 ? NULL : "the model exponential needs 'rate_per_h'";
  case HR_SPOT_ADVISOR:
    spec->rate_per_h = -log1p(-draft->monthly_interruption) / HOURS_PER_MONTH;
    return draft->monthly_interruption >= 0 ? NULL : "the model advisor needs 'monthly_interruption'";
  case HR_SPOT_BATHTUB:
    return spec->bathtub.a >= 0 && spec->bathtub.tau1_h > 0 && spec->bathtub.tau2_h > 0 && spec->bathtub.b_h > 0 &&
                   spec->bathtub.last_h > 0
               ? NULL
               : "the model bathtub needs all of 'bathtub_a' to 'bathtub_last_h'";
  case HR_SPOT_TRACE:
    return "the model trace needs a record, which a preset cannot contain";
  default:
    return NULL;
  }
}

/* ---- MIG profiles ----------------------------------------------------------------------------------- */

/* A row of mig_profiles.csv. `starts` is the list of slices at which an instance may begin, such as "0;2;4". */
struct mig_draft {
  struct hr_mig_entry entry;
  double compute_slices, memory_slices, mem_mib, sms, max_instances;
  const char *starts;
};

static const struct hr__table_column mig_profiles[] = {
    KEY(mig_draft, "gpu", entry.gpu),
    KEY(mig_draft, "profile", entry.profile.name),
    NUMBER(mig_draft, "compute_slices", compute_slices, 1, HR_MIG_SLICES),
    NUMBER(mig_draft, "memory_slices", memory_slices, 1, HR_MIG_SLICES),
    NUMBER(mig_draft, "mem_mib", mem_mib, 1, 1e8),
    NUMBER(mig_draft, "sms", sms, 1, 10000),
    TEXT(mig_draft, "starts", starts),
    NUMBER(mig_draft, "max_instances", max_instances, 1, HR_MIG_SLICES),
    {.name = "status", .cell = HR__CELL_STATUS, .offset = offsetof(struct mig_draft, entry.status)},
    {.name = "source", .cell = HR__CELL_SOURCE, .offset = offsetof(struct mig_draft, entry.source)}};

/* Returns true if the name of a profile has the form "3g.40gb" or "1g.10gb+me", with `compute_slices` before the
   "g". Sets `*media` if the name ends with "+me". */
static bool is_mig_name(const char *name, double compute_slices, bool *media) {
  size_t length = strlen(name), slices = strspn(name, "0123456789");
  if (slices != 1 || name[0] - '0' != compute_slices || strncmp(name + 1, "g.", 2) != 0) return false;
  size_t digits = strspn(name + 3, "0123456789");
  const char *tail = name + 3 + digits;
  *media = strcmp(tail, "gb+me") == 0;
  return digits > 0 && length < HR_MIG_NAME_BYTES && (*media || strcmp(tail, "gb") == 0);
}

/* Returns the mask of the slices at which an instance may start. The text consists of digits separated by
   semicolons. Returns 0 if it has another form. */
static uint8_t parse_starts(const char *text, unsigned memory_slices) {
  unsigned starts = 0;
  for (;; text += 2) {
    unsigned start = (unsigned)(text[0] - '0');
    if (start > HR_MIG_SLICES - memory_slices || starts >> start & 1) return 0;
    starts |= 1U << start;
    if (!text[1]) return (uint8_t)starts;
    if (text[1] != ';') return 0;
  }
}

static const char *finish_mig(void *row) {
  struct mig_draft *draft = row;
  struct hr_mig_profile *profile = &draft->entry.profile;
  const double counts[] = {draft->compute_slices, draft->memory_slices, draft->mem_mib, draft->sms,
                           draft->max_instances};
  for (size_t i = 0; i < LENGTH(counts); i++)
    if (counts[i] != floor(counts[i])) return "slices, mem_mib, sms and max_instances are whole numbers";
  profile->compute_slices = (uint8_t)draft->compute_slices;
  profile->memory_slices = (uint8_t)draft->memory_slices;
  profile->mem_mib = (uint32_t)draft->mem_mib;
  profile->sms = (uint16_t)draft->sms;
  profile->max_instances = (uint8_t)draft->max_instances;
  profile->starts = parse_starts(draft->starts, profile->memory_slices);
  if (!profile->starts) return "column 'starts': is not a list like 0;2;4 of memory slices at which the instance fits";
  return is_mig_name(profile->name, draft->compute_slices, &profile->media)
             ? NULL
             : "column 'profile': is not a name like 3g.40gb or 1g.10gb+me, with as many g as compute slices";
}

/* ---- Speeds by network ------------------------------------------------------------------------------ */

static const char *const networks[] = {HR_NETWORK_TABLE(ENUM_TEXT) NULL};

static const struct hr__table_column network_speeds[] = {KEY(hr_network_entry, "model", model),
                                                         {.name = "network",
                                                          .cell = HR__CELL_WORD,
                                                          .offset = offsetof(struct hr_network_entry, network),
                                                          .key = true,
                                                          .words = networks},
                                                         {.name = "gpus",
                                                          .cell = HR__CELL_NUMBER,
                                                          .offset = offsetof(struct hr_network_entry, gpus),
                                                          .key = true,
                                                          .min = 2,
                                                          .max = HR_MAX_GPUS},
                                                         MICROS(hr_network_entry, "speed", speed_ppm, 1),
                                                         ORIGIN(hr_network_entry)};

static const char *finish_network_speed(void *row) {
  const struct hr_network_entry *entry = row;
  if (entry->network == HR_NETWORK_NONE) return "column 'network': is empty";
  if (entry->speed_ppm == 0) return "column 'speed': is not above 0";
  return entry->gpus == floor(entry->gpus) ? NULL : "column 'gpus' is not a whole number";
}

/* ---- Links between regions -------------------------------------------------------------------------- */

static const struct hr__table_column region_links[] = {KEY(hr_region_link, "from", from),
                                                       KEY(hr_region_link, "to", to),
                                                       NUMBER(hr_region_link, "gbit_s", gbit_s, 0.001, 1e6),
                                                       MAYBE(hr_region_link, "rtt_ms", rtt_ms, 0, 1e5),
                                                       MAYBE(hr_region_link, "usd_per_gb", usd_per_gb, 0, 1000),
                                                       DATE(hr_region_link, "as_of", as_of, false),
                                                       ORIGIN(hr_region_link)};

/* ---- Power limits ------------------------------------------------------------------------------------- */

#define CAP_NUMBER(title, member, is_key, low, high)                                                                   \
  {                                                                                                                    \
    .name = title, .cell = HR__CELL_NUMBER, .offset = offsetof(struct hr_power_cap_entry, member), .key = is_key,      \
    .min = low, .max = high                                                                                            \
  }
static const struct hr__table_column power_caps[] = {
    KEY(hr_power_cap_entry, "gpu", gpu), CAP_NUMBER("limit_w", limit_w, true, 1, 1e6),
    CAP_NUMBER("time_ratio", time_ratio, false, 1, 1000), CAP_NUMBER("power_ratio", power_ratio, false, 1e-3, 1),
    ORIGIN(hr_power_cap_entry)};

/* ---- The tables ------------------------------------------------------------------------------------- */

#define FORMAT(title, set, row, draft, end)                                                                            \
  {                                                                                                                    \
    .name = title, .columns = set, .n_columns = LENGTH(set), .row_bytes = sizeof(struct row),                          \
    .draft_bytes = sizeof(struct draft), .finish = end                                                                 \
  }
const struct hr__table_format hr__catalog_formats[HR__N_CATALOG_TABLES] = {
    [HR__CATALOG_GPUS] = FORMAT("GPU types", gpus, hr_gpu_type, hr_gpu_type, NULL),
    [HR__CATALOG_INSTANCES] = FORMAT("instance types", instances, hr_instance_type, hr_instance_type, finish_instance),
    [HR__CATALOG_PRICES] = FORMAT("prices", prices, hr_price, hr_price, finish_price),
    [HR__CATALOG_REGIONS] = FORMAT("regions", regions, hr_region, hr_region, NULL),
    [HR__CATALOG_DISCOUNTS] = FORMAT("discounts", discounts, hr_discount, hr_discount, NULL),
    [HR__CATALOG_SPOT_PRESETS] = FORMAT("spot presets", spot_presets, hr_spot_preset, preset_draft, finish_preset),
    [HR__CATALOG_MIG_PROFILES] = FORMAT("MIG profiles", mig_profiles, hr_mig_entry, mig_draft, finish_mig),
    [HR__CATALOG_NETWORK_SPEEDS] =
        FORMAT("speeds by network", network_speeds, hr_network_entry, hr_network_entry, finish_network_speed),
    [HR__CATALOG_GPU_NAMES] = FORMAT("names of GPU types", gpu_names, hr_gpu_name, hr_gpu_name, NULL),
    [HR__CATALOG_REGION_LINKS] = FORMAT("links between regions", region_links, hr_region_link, hr_region_link, NULL),
    [HR__CATALOG_POWER_CAPS] = FORMAT("power limits", power_caps, hr_power_cap_entry, hr_power_cap_entry, NULL),
};
_Static_assert(LENGTH(spot_presets) <= HR__MAX_COLUMNS, "the widest table");
_Static_assert(sizeof(struct preset_draft) <= HR__MAX_DRAFT, "the longest draft");
