/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `power`, `carbon`, `energy_price` and `wue_l_per_kwh` of a pool or of the cluster: the power that nodes take, and the
 * carbon intensity, price and water of their electricity. Also the power budget of a cluster.
 *
 * Each of the four keys of a pool replaces that of the cluster. A series of values over time is read once for each
 * object that describes it. The struct hr_electricity_set owns all series and the properties of all pools; the scenario
 * owns this set.
 *
 * Series are read from CSV files. A file has a column of time stamps, and either one column of values or one column for
 * each zone. It has one row for each stamp. If it has a column with the names of zones, it has one row for each stamp
 * and zone. The formats of Electricity Maps, GAIA, Let's Wait Awhile, OpenDC and WattTime differ only in the names of
 * columns and in the form of stamps: "2022-01-01T00", "2022-01-01 00:00:00", "2022-01-01T00:00:00.000Z",
 * "2022-01-01T00:00:00+01:00".
 *
 * Invariants: accepted stamps ascend. Unless the scenario allows gaps, their step is constant, so no stamp is missing.
 * A stamp without an offset from UTC is accepted only if the file or the scenario states that it is in UTC. Local time
 * would be ambiguous, because it repeats an hour in autumn and skips one in spring.
 */

#include "scenarios/build/builder.h"

#include "base/containers.h"
#include "headroom/power.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/series.h"
#include "sim/power/power.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ---- Power ------------------------------------------------------------------------------------------ */

/*
 * The power of GPUs and hosts, power limits, sleeping nodes, and batteries. A host is a node without its GPUs. If the
 * scenario does not set the power of a GPU, it is that of its type in the catalogue. If the scenario does not set the
 * power of a host, it is a share of the maximum power of the GPUs of the node. The shares are from measurements of
 * nodes with 8 A100 (Acme, 2023; Zeus). An idle node takes 1,421 W, of which its GPUs take 480 W. The GPUs of a busy
 * node take 70 % of its power.
 */

/* Power relative to the maximum power of the GPUs: of an idle GPU without a figure in the catalogue, of an idle host,
   and of a host with busy GPUs. */
#define GPU_IDLE 0.12
#define HOST_IDLE 0.29
#define HOST_MAX 0.43

/* ---- Power: watts ----------------------------------------------------------------------------------- */

static enum hr_status check_table(struct hr__builder *builder, const cJSON *power, struct hr_power_spec *spec) {
  static const char *const replaced[] = {"gpu_idle_w", "gpu_max_w"};
  const cJSON *table = hr__get(power, "table");
  for (unsigned i = 0; i < 2; i++)
    if (hr__has(power, replaced[i]))
      return hr__build_fail_at(builder, power, replaced[i], "'%s' has no effect beside 'table'", replaced[i]);
  for (uint32_t i = 1; i < spec->n_table; i++)
    if (!(spec->table[i].utilization > spec->table[i - 1].utilization))
      return hr__build_fail(builder, cJSON_GetArrayItem(table, (int)i),
                            "utilization %.10g does not follow %.10g; the table must be sorted, ascending, without "
                            "equal values",
                            spec->table[i].utilization, spec->table[i - 1].utilization);
  spec->gpu_idle_w = spec->table[0].gpu_w;
  spec->gpu_max_w = spec->table[spec->n_table - 1].gpu_w;
  return HR_OK;
}

/* Sets the idle and the maximum power of a GPU if the scenario does not set them. */
static enum hr_status set_gpu(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                              struct hr_power_spec *spec) {
  const struct hr_gpu_type *gpu = NULL;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  if (status != HR_OK && status != HR_BAD_INPUT) return hr__build_no_memory(builder);
  double max_w = status == HR_OK && gpu->tdp_w > 0 ? gpu->tdp_w : 0, idle_w = 0;
  if (status == HR_OK && gpu->idle_w > 0) idle_w = gpu->idle_w;
  if (!(max_w > 0) && !hr__has(power, "gpu_max_w"))
    return hr__build_fail(builder, power,
                          "the catalogue has no watts of the GPU type '%.60s' of pool '%.60s'; set 'gpu_max_w'",
                          draft->pool.gpu, draft->pool.name);
  if (!hr__has(power, "gpu_max_w")) spec->gpu_max_w = max_w;
  if (!hr__has(power, "gpu_idle_w")) spec->gpu_idle_w = idle_w > 0 ? idle_w : GPU_IDLE * spec->gpu_max_w;
  return HR_OK;
}

/* Sets the power of a host, and of a node that boots, if the scenario does not set them. */
static void set_node(const cJSON *power, double gpus, struct hr_power_spec *spec) {
  if (!hr__has(power, "host_idle_w")) {
    spec->host_idle_w = HOST_IDLE * gpus * spec->gpu_max_w;
    if (hr__has(power, "host_max_w") && spec->host_idle_w > spec->host_max_w) spec->host_idle_w = spec->host_max_w;
  }
  if (!hr__has(power, "host_max_w")) spec->host_max_w = fmax(HOST_MAX * gpus * spec->gpu_max_w, spec->host_idle_w);
  if (!hr__has(power, "boot_w")) spec->boot_w = gpus * spec->gpu_idle_w + spec->host_idle_w;
}

static enum hr_status check_ranges(struct hr__builder *builder, const cJSON *power, const struct hr_power_spec *spec) {
  if (spec->gpu_idle_w > spec->gpu_max_w)
    return hr__build_fail_at(builder, power, hr__has(power, "gpu_idle_w") ? "gpu_idle_w" : "gpu_max_w",
                             "an idle GPU takes %.10g W, more than its maximum of %.10g W", spec->gpu_idle_w,
                             spec->gpu_max_w);
  if (spec->host_idle_w > spec->host_max_w)
    return hr__build_fail_at(builder, power, "host_idle_w",
                             "an idle host takes %.10g W, more than its maximum of %.10g W", spec->host_idle_w,
                             spec->host_max_w);
  return HR_OK;
}

/* ---- Power: power limits ---------------------------------------------------------------------------- */

static enum hr_status check_caps(struct hr__builder *builder, const cJSON *power, const struct hr_power_spec *spec) {
  const cJSON *caps = hr__get(power, "caps");
  for (uint32_t i = 1; i < spec->n_caps; i++)
    if (!(spec->caps[i].limit_w < spec->caps[i - 1].limit_w))
      return hr__build_fail(builder, cJSON_GetArrayItem(caps, (int)i),
                            "the limit of %.10g W does not follow %.10g W; the table must be sorted, descending, "
                            "without equal values",
                            spec->caps[i].limit_w, spec->caps[i - 1].limit_w);
  for (uint32_t i = 0; i < spec->n_caps; i++) {
    const struct hr_power_cap *cap = &spec->caps[i];
    if (cap->limit_w < spec->gpu_max_w || (cap->time_ratio == 1 && cap->power_ratio == 1)) continue;
    return hr__build_fail(builder, cJSON_GetArrayItem(caps, (int)i),
                          "a limit of %.10g W does not slow a GPU that takes at most %.10g W; 'time_ratio' and "
                          "'power_ratio' of this row must be 1",
                          cap->limit_w, spec->gpu_max_w);
  }
  return HR_OK;
}

/* Refuses a power limit below the lowest limit of the table, because its effect is unknown. */
static enum hr_status check_known(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                  const struct hr_power_spec *spec) {
  const double last_w = spec->caps[spec->n_caps - 1].limit_w;
  if (spec->gpu_cap_w >= last_w || spec->gpu_cap_w >= spec->gpu_max_w) return HR_OK;
  return hr__build_fail_at(builder, power, "gpu_cap_w",
                           "the limit of %.10g W of pool '%.60s' is below the last one of its table of power limits, "
                           "%.10g W, so its effect is not known; add a row to 'caps'",
                           spec->gpu_cap_w, draft->pool.name, last_w);
}

static int by_limit(const void *left, const void *right) {
  double a = ((const struct hr_power_cap *)left)->limit_w, b = ((const struct hr_power_cap *)right)->limit_w;
  return (a < b) - (a > b);
}

/* Sets the table of power limits to the rows of the catalogue for the GPU type. There may be none. */
static enum hr_status take_caps(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                struct hr_power_spec *spec) {
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  const struct hr_catalog *catalog = builder->catalog;
  spec->caps = calloc(catalog->n_power_caps + 1, sizeof *spec->caps);
  if (!spec->caps) return hr__build_no_memory(builder);
  for (size_t i = 0; i < catalog->n_power_caps; i++) {
    const struct hr_power_cap_entry *entry = &catalog->power_caps[i];
    if (strcasecmp(entry->gpu, draft->pool.gpu) != 0) continue;
    spec->caps[spec->n_caps++] = (struct hr_power_cap){entry->limit_w, entry->time_ratio, entry->power_ratio};
  }
  qsort(spec->caps, spec->n_caps, sizeof *spec->caps, by_limit);
  return HR_OK;
}

static enum hr_status build_cap(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                struct hr_power_spec *spec) {
  enum hr_status status = check_caps(builder, power, spec);
  if (status != HR_OK || !hr__has(power, "gpu_cap_w")) return status;
  if (spec->gpu_cap_w < spec->gpu_idle_w || !(spec->gpu_cap_w > 0))
    return hr__build_fail_at(builder, power, "gpu_cap_w",
                             "the limit of %.10g W is below the power of an idle GPU of pool '%.60s', %.10g W",
                             spec->gpu_cap_w, draft->pool.name, spec->gpu_idle_w);
  if (spec->n_caps) return check_known(builder, draft, power, spec);
  if (spec->gpu_cap_w >= spec->gpu_max_w) return HR_OK;
  status = take_caps(builder, draft, spec);
  if (status != HR_OK) return status;
  if (spec->n_caps) return check_known(builder, draft, power, spec);
  return hr__build_fail_at(
      builder, power, "gpu_cap_w",
      "the effect of power limits on the GPU type '%.60s' of pool '%.60s' is not known; set 'caps'", draft->pool.gpu,
      draft->pool.name);
}

/* ---- Power: sleep ----------------------------------------------------------------------------------- */

static enum hr_status build_sleep(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                  struct hr_power_spec *spec) {
  const cJSON *sleep = hr__get(power, "sleep");
  double idle_w = draft->pool.gpus_per_node * spec->gpu_idle_w + spec->host_idle_w;
  if (!sleep || hr_market_is_elastic(draft->pool.market.market)) return HR_OK;
  if (hr_market_is_bounded(&draft->pool.market))
    return hr__build_fail_at(
        builder, power, "sleep",
        "nodes of pool '%.60s' sleep, but they are there for a limited time only ('from_s' or 'to_s'); "
        "'sleep' is for nodes that are always there",
        draft->pool.name);
  if (draft->pool.faults && draft->pool.faults->spares > 0)
    return hr__build_fail_at(builder, power, "sleep",
                             "'sleep' cannot be combined with the 'spares' of pool '%.60s', which are off anyway",
                             draft->pool.name);
  static const struct hr__idle_key idle[] = {{"boot_s", "boot", true}, {NULL, NULL, false}};
  enum hr_status status = hr__build_check_idle(builder, sleep, idle);
  if (status == HR_OK) status = hr__read_at(builder, sleep, "cluster.power.sleep", &spec->sleep);
  if (status == HR_OK) status = hr__check_duration(builder, hr__get(sleep, "boot"));
  if (status != HR_OK) return status;
  if (spec->sleep.min_awake >= draft->pool.nodes)
    status = hr__pool_note(builder, draft->pool.name,
                           "no node sleeps, as 'min_awake' keeps %" PRIu32 " awake and the pool has %" PRIu32,
                           spec->sleep.min_awake, draft->pool.nodes);
  if (status != HR_OK) return status;
  if (!hr__has(sleep, "suspend_w")) spec->sleep.suspend_w = idle_w;
  if (spec->sleep.sleep_w <= idle_w) return HR_OK;
  return hr__build_fail_at(builder, sleep, "sleep_w",
                           "a node that sleeps takes %.10g W, more than an idle node, %.10g W", spec->sleep.sleep_w,
                           idle_w);
}

/* ---- Power: battery --------------------------------------------------------------------------------- */

static enum hr_status build_battery(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                    struct hr_power_spec *spec) {
  const cJSON *from = hr__get(power, "battery"), *carbon = hr__inherited(builder, draft->entry, "carbon");
  struct hr_power_battery *battery = &spec->battery;
  if (!from) return HR_OK;
  enum hr_status status = hr__read_at(builder, from, "cluster.power.battery", battery);
  if (status != HR_OK) return status;
  if (!hr__has(from, "discharge_g_per_kwh")) battery->upper_g_per_kwh = battery->lower_g_per_kwh;
  if (!hr__has(carbon, "file") && !hr__has(carbon, "g_per_kwh"))
    return hr__build_fail_at(builder, power, "battery",
                             "the battery of pool '%.60s' follows the carbon intensity, which is not known; set "
                             "'carbon' with 'file' or 'g_per_kwh'",
                             draft->pool.name);
  if (battery->upper_g_per_kwh < battery->lower_g_per_kwh)
    return hr__build_fail_at(builder, from, "discharge_g_per_kwh",
                             "the battery would serve the load from %.10g g/kWh and charge below %.10g g/kWh; "
                             "'discharge_g_per_kwh' must not be below 'threshold_g_per_kwh'",
                             battery->upper_g_per_kwh, battery->lower_g_per_kwh);
  if (battery->initial_kwh > battery->capacity_kwh)
    return hr__build_fail_at(builder, from, "initial_kwh", "%.10g kWh are more than the capacity of %.10g kWh",
                             battery->initial_kwh, battery->capacity_kwh);
  return HR_OK;
}

/* ---- Power: the pool -------------------------------------------------------------------------------- */

/* Checks that the maximum power of the pool does not exceed HR_POWER_MAX_W. */
static enum hr_status check_size(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                 const struct hr_power_spec *spec) {
  double node_w = draft->pool.gpus_per_node * spec->gpu_max_w + spec->host_max_w;
  double other_state_w = fmax(fmax(spec->boot_w, spec->down_w), spec->sleep.suspend_w);
  struct hr__watts node = hr__node_rate(spec, fmax(node_w, other_state_w));
  struct hr__watts other = hr__other_rate(spec);
  double watts = draft->pool.nodes * 1e-9 * ((double)node.it + (double)node.facility) +
                 1e-9 * ((double)other.it + (double)other.facility);
  if (watts <= HR_POWER_MAX_W) return HR_OK;
  return hr__build_fail(builder, power, "pool '%.60s' would take up to %.4g W; the maximum is %.4g W", draft->pool.name,
                        watts, HR_POWER_MAX_W);
}

static enum hr_status build(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                            struct hr_power_spec *spec) {
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "cluster.power");
  enum hr_status status = hr__read(builder, power, keys, spec);
  if (status == HR_OK) status = hr__check_choice(builder, power, keys, "power model", spec->model, true);
  if (status != HR_OK) return status;
  status = spec->model == HR_POWER_TABLE ? check_table(builder, power, spec) : set_gpu(builder, draft, power, spec);
  if (status != HR_OK) return status;
  set_node(power, draft->pool.gpus_per_node, spec);
  status = check_ranges(builder, power, spec);
  if (status == HR_OK) status = build_cap(builder, draft, power, spec);
  if (status == HR_OK) status = build_sleep(builder, draft, power, spec);
  if (status == HR_OK) status = build_battery(builder, draft, power, spec);
  if (status == HR_OK && hr__has(power, "temperature"))
    status = hr__read_at(builder, hr__get(power, "temperature"), "cluster.power.temperature", &spec->heat);
  return status == HR_OK ? check_size(builder, draft, power, spec) : status;
}

/* Adds a note with the power of GPUs and hosts if 'host_idle_w' or 'host_max_w' is missing. */
static enum hr_status note_defaults(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                    const struct hr_power_spec *spec) {
  if (hr__has(power, "host_idle_w") && hr__has(power, "host_max_w")) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "power assumed: GPUs %.4g to %.4g W, the rest of a node %.4g to %.4g W; set host_idle_w and "
                       "host_max_w",
                       spec->gpu_idle_w, spec->gpu_max_w, spec->host_idle_w, spec->host_max_w);
}

enum hr_status hr__build_power(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *power = hr__inherited(builder, draft->entry, "power");
  if (!power || draft->pool.nodes == 0) return HR_OK;
  struct hr_power_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  draft->pool.power = spec;
  enum hr_status status = build(builder, draft, power, spec);
  return status == HR_OK ? note_defaults(builder, draft, power, spec) : status;
}

/* ---- Power: the budget of the cluster --------------------------------------------------------------- */

/* Adds the power that a pool takes while all its nodes are idle to `*idle_w`. Sets `*node_w` to the additional power of
   a node with busy GPUs. If the budget can limit the power of GPUs, this is the power at the lowest limit. */
static void add_idle(const struct hr_pool_spec *pool, double *idle_w, double *node_w) {
  double gpus = pool->gpus_per_node;
  struct hr__watts idle = hr__idle_rate(pool->power, pool->gpus_per_node), other = hr__other_rate(pool->power);
  const uint32_t level = pool->power->budget_caps ? HR__CAP_LEVELS : 0;
  struct hr__watts busy = hr__busy_rate_at(pool->power, pool->gpus_per_node, level, HR__NO_FRACTION);
  *idle_w += pool->nodes * gpus * 1e-6 * (double)idle.it + 1e-9 * (double)other.it;
  *node_w = gpus * 1e-6 * (double)(busy.it - idle.it);
}

/* Sets whether the power budget limits the power of the GPUs of a pool ('cap'). If so, loads the table of power limits
   and checks it. */
static enum hr_status set_budget_mode(struct hr__builder *builder, const cJSON *cluster, struct hr_pool_spec *pool) {
  struct hr_power_spec *spec = pool->power;
  spec->budget_caps = strcmp(hr__text_of(cluster, "power_budget_mode", "wait"), "cap") == 0;
  if (!spec->budget_caps) return HR_OK;
  if (hr__get(builder->source.file.tree, "services"))
    return hr__build_fail_at(builder, cluster, "power_budget_mode",
                             "'cap' is not supported with 'services': their speed does not follow power limits");
  struct hr__pool_draft draft = {.pool = *pool};
  enum hr_status status = spec->n_caps ? HR_OK : take_caps(builder, &draft, spec);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < spec->n_caps; i++)
    if (spec->caps[i].limit_w < spec->gpu_idle_w)
      return hr__build_fail_at(builder, cluster, "power_budget_mode",
                               "the power limit of %.10g W in 'caps' of pool '%.60s' is below the power of an idle "
                               "GPU, %.10g W",
                               spec->caps[i].limit_w, pool->name, spec->gpu_idle_w);
  if (spec->n_caps) return HR_OK;
  return hr__build_fail_at(
      builder, cluster, "power_budget_mode",
      "the effect of power limits on the GPU type '%.60s' of pool '%.60s' is not known; set 'caps' "
      "of its 'power'",
      pool->gpu ? pool->gpu : "", pool->name);
}

enum hr_status hr__build_power_budget(struct hr__builder *builder, const cJSON *cluster, uint32_t first, uint32_t end) {
  double budget_w = hr__number_of(cluster, "power_budget_w", 0), idle_w = 0, least_w = (double)INFINITY;
  struct hr_pool_spec *pools = builder->scenario->cluster.pools;
  if (!hr__has(cluster, "power_budget_w") && hr__has(cluster, "power_budget_mode"))
    return hr__build_fail_at(builder, cluster, "power_budget_mode",
                             "'power_budget_mode' has no effect without 'power_budget_w'");
  if (!hr__has(cluster, "power_budget_w")) return HR_OK;
  for (uint32_t i = first; i < end; i++) {
    double node_w;
    if (pools[i].nodes == 0) continue;
    if (!pools[i].power)
      return hr__build_fail_at(builder, cluster, "power_budget_w",
                               "the power of pool '%.60s' is not known; a budget needs 'power' of all pools",
                               pools[i].name);
    if (pools[i].power->battery.capacity_kwh > 0)
      return hr__build_fail_at(builder, cluster, "power_budget_w",
                               "a budget cannot be combined with the 'battery' of pool '%.60s', because the power that "
                               "charges it is not part of the budget",
                               pools[i].name);
    if (hr_market_is_elastic(pools[i].market.market))
      return hr__build_fail_at(builder, cluster, "power_budget_w",
                               "pool '%.60s' is rented from others; a budget is for pools of one's own", pools[i].name);
    if (pools[i].power->sleep.suspend_w >
        pools[i].gpus_per_node * pools[i].power->gpu_idle_w + pools[i].power->host_idle_w)
      return hr__build_fail_at(builder, cluster, "power_budget_w",
                               "nodes of pool '%.60s' take %.10g W while they are suspended, more than idle nodes; a "
                               "budget needs a 'suspend_w' that is not higher",
                               pools[i].name, pools[i].power->sleep.suspend_w);
    enum hr_status status = set_budget_mode(builder, cluster, &pools[i]);
    if (status != HR_OK) return status;
    add_idle(&pools[i], &idle_w, &node_w);
    if (node_w < least_w) least_w = node_w;
    pools[i].power->budget_w = budget_w;
  }
  if (budget_w < idle_w)
    return hr__build_fail_at(builder, cluster, "power_budget_w",
                             "the budget of %.10g W is below the power of the idle nodes, %.10g W", budget_w, idle_w);
  if (least_w != (double)INFINITY && budget_w < idle_w + least_w)
    return hr__build_fail_at(builder, cluster, "power_budget_w",
                             "the budget of %.10g W permits no node to work: idle nodes take %.10g W, a node at work "
                             "%.10g W more",
                             budget_w, idle_w, least_w);
  return HR_OK;
}

/* ---- Series in files -------------------------------------------------------------------------------- */

/* Which values of a file are read, and how. All texts are borrowed. */
struct series_query {
  const char *zone;    /* name of the column of the zone, or value in the column of zones; NULL: the only zone */
  const char *column;  /* name of the column of values; NULL: the column of the zone, or the only column of values */
  uint64_t factor_num; /* value in millionths = number in the file * 1000000 * factor_num / factor_den */
  uint64_t factor_den;
  const char *noun; /* name of a value in messages, such as "carbon intensity" */
  bool may_be_negative;
  bool is_utc;     /* stamps without an offset are in UTC, also if the name of their column does not contain "utc" */
  bool holds_gaps; /* a missing value equals the value before it; false: a missing value is an error */
  bool repeats;    /* the series repeats after its end; false: the last value applies */
};

enum { NO_COLUMN = UINT16_MAX, MAX_COLUMNS = 1000 };

struct series_reader {
  const char *path;
  const struct series_query *query;
  struct hr_error *error;
  struct hr__input *input;
  uint32_t stamps, values, zones; /* columns; NO_COLUMN: none */
  bool header_is_utc;
  int64_t *at_us, *micros;
  uint32_t count, at_capacity, micros_capacity;
  int64_t step_us;                /* time between the first two accepted stamps; 0: fewer than two were read */
  uint64_t first_line, last_line; /* lines of the first and of the last accepted stamp */
  bool is_blank;                  /* the last row had no value */
  uint64_t blank_line;            /* if `is_blank`: line of the first row after `last_line` without a value */
};

HR_PRINTF(2, 3) static enum hr_status fail(const struct series_reader *reader, const char *format, ...) {
  char words[600];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": %s", reader->path, hr__input_line_number(reader->input),
                 words);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"';
}

/* Returns the field of a column without white space and quotes around it. The text is empty if the row has fewer
   columns. */
static struct hr_text field(struct hr_text line, uint32_t column) {
  struct hr_text text = hr__comma_field(line, column);
  if (!text.at) return (struct hr_text){"", 0};
  while (text.length && is_space(text.at[text.length - 1])) text.length--;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text;
}

static bool equals(struct hr_text text, const char *word) {
  return text.length == strlen(word) && strncasecmp(text.at, word, text.length) == 0;
}

/* Returns whether a text contains a word, ignoring case. */
static bool contains(struct hr_text text, const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; i + length <= text.length; i++)
    if (strncasecmp(text.at + i, word, length) == 0) return true;
  return false;
}

/* ---- The header ------------------------------------------------------------------------------------- */

static uint32_t n_columns(struct hr_text line) {
  uint32_t count = 1;
  for (size_t i = 0; i < line.length; i++) count += line.at[i] == ',';
  return count < MAX_COLUMNS ? count : MAX_COLUMNS;
}

static uint32_t column_named(struct hr_text line, const char *name) {
  for (uint32_t i = 0, n = n_columns(line); i < n; i++)
    if (equals(field(line, i), name)) return i;
  return NO_COLUMN;
}

static uint32_t first_of(struct hr_text line, const char *const *names) {
  for (; *names; names++) {
    uint32_t column = column_named(line, *names);
    if (column != NO_COLUMN) return column;
  }
  return NO_COLUMN;
}

/* Returns the column of stamps. The names are in the order of precedence. If no column has one of them, returns the
   first column. */
static uint32_t find_stamps(struct hr_text line) {
  static const char *const names[] = {"time_utc", "datetime (utc)", "timestamp", "point_time", "datetime", NULL};
  uint32_t column = first_of(line, names);
  return column == NO_COLUMN ? 0 : column;
}

/* Lists the columns for a message. */
static const char *list_columns(struct hr_text line, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0, n = n_columns(line); i < n && used + 1 < size; i++) {
    char quoted[HR__QUOTE_BYTES];
    int length = snprintf(text + used, size - used, "%s%.40s", i ? ", " : "", hr__quote(field(line, i), quoted));
    used += length > 0 ? (size_t)length : 0;
  }
  return text;
}

/* Sets the column of values if neither the query nor the zone names it. It is the only column besides those of stamps
   and zones. If there are several, it is the only one with the name "value" or with "carbon intensity" or "price" in
   its name. */
static enum hr_status find_only_values(struct series_reader *reader, struct hr_text line) {
  char names[300];
  uint32_t others = 0, named = 0, other = NO_COLUMN, best = NO_COLUMN;
  for (uint32_t i = 0, n = n_columns(line); i < n; i++) {
    struct hr_text name = field(line, i);
    if (i == reader->stamps || i == reader->zones) continue;
    others++;
    other = i;
    if (!contains(name, "carbon_intensity") && !contains(name, "carbon intensity") && !contains(name, "price") &&
        !equals(name, "value"))
      continue;
    named++;
    best = i;
  }
  reader->values = others == 1 ? other : best;
  if (others == 1 || named == 1) return HR_OK;
  return fail(reader, "the file has several columns of values: %s; name one with '%s'",
              list_columns(line, names, sizeof names), reader->zones == NO_COLUMN ? "zone" : "column");
}

static enum hr_status read_header(struct series_reader *reader, struct hr_text line) {
  static const char *const zone_names[] = {"zone id", "zone_id", "zone", "zone_name", "zone name", NULL};
  const struct series_query *query = reader->query;
  char names[300];
  reader->stamps = find_stamps(line);
  reader->zones = first_of(line, zone_names);
  reader->header_is_utc = contains(field(line, reader->stamps), "utc");
  if (query->column) {
    reader->values = column_named(line, query->column);
    if (reader->values != NO_COLUMN) return HR_OK;
    return fail(reader, "the file lacks a column '%.60s'; the columns are %s", query->column,
                list_columns(line, names, sizeof names));
  }
  if (query->zone && reader->zones == NO_COLUMN) {
    reader->values = column_named(line, query->zone);
    if (reader->values != NO_COLUMN) return HR_OK;
    if (n_columns(line) > 2)
      return fail(reader, "the file lacks a zone '%.60s'; the columns are %s", query->zone,
                  list_columns(line, names, sizeof names));
  }
  return find_only_values(reader, line);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* Parses a stamp as Unix time. A stamp such as "2022-01-01T00" has no minutes; they are 0. */
static enum hr_status parse_stamp(const struct series_reader *reader, struct hr_text text, int64_t *at_us) {
  char quoted[HR__QUOTE_BYTES], full[20];
  struct hr_text stamp = text;
  bool zoned, is_hour = text.length == 13 && (text.at[10] == 'T' || text.at[10] == ' ');
  if (is_hour) {
    snprintf(full, sizeof full, "%.13s:00", text.at);
    stamp = (struct hr_text){full, strlen(full)};
  }
  if (!hr__date_parse(stamp, at_us, &zoned))
    return fail(reader, "'%s' is not a stamp; expected is a date and time like 2022-01-01T00:00Z",
                hr__quote(text, quoted));
  if (zoned || reader->header_is_utc || reader->query->is_utc) return HR_OK;
  return fail(reader,
              "'%s' has no offset from UTC, so it may be local time; expected is a Z or an offset like +01:00 at its "
              "end, a column with a name like time_utc, or \"utc\": true in the scenario",
              hr__quote(text, quoted));
}

static enum hr_status parse_value(const struct series_reader *reader, struct hr_text text, int64_t *micros) {
  static const struct hr__number_rule rule = {1000000, UINT64_C(1000000000000000), false};
  const struct series_query *query = reader->query;
  bool negative = text.length && *text.at == '-';
  struct hr_text digits = {text.at + negative, text.length - negative};
  char quoted[HR__QUOTE_BYTES];
  uint64_t value;
  if (hr__number_parse(digits, &rule, &value) != HR__NUMBER_FINE)
    return fail(reader, "'%s' is not a %s", hr__quote(text, quoted), query->noun);
  if (negative && value > 0 && !query->may_be_negative)
    return fail(reader, "'%s' is negative; expected is a %s of at least 0", hr__quote(text, quoted), query->noun);
  hr_amount scaled =
      ((hr_amount)value * query->factor_num * 2 + query->factor_den) / ((hr_amount)2 * query->factor_den);
  *micros = negative ? -(int64_t)scaled : (int64_t)scaled;
  return HR_OK;
}

static enum hr_status append(struct series_reader *reader, int64_t at_us, int64_t micros) {
  uint32_t i = reader->count;
  if (!HR__ARRAY_HAS_ROOM(reader->at_us, i, reader->at_capacity) ||
      !HR__ARRAY_HAS_ROOM(reader->micros, i, reader->micros_capacity))
    return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
  reader->at_us[i] = at_us;
  reader->micros[i] = micros;
  reader->count++;
  reader->last_line = hr__input_line_number(reader->input);
  if (i == 0) reader->first_line = reader->last_line;
  return HR_OK;
}

static enum hr_status fail_gap(const struct series_reader *reader, uint64_t line, uint64_t previous, int64_t gap_us,
                               int64_t step_us) {
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s:%" PRIu64 ": a gap: the stamp is %.10g min after that of line %" PRIu64
                 "; expected are stamps every %.10g min, or \"gaps\": \"hold\" in the scenario",
                 reader->path, line, (double)gap_us / 6e7, previous, (double)step_us / 6e7);
}

/* Checks a stamp against the one before it. The first two stamps define the step of the file. If the second and the
   third stamp are closer than the first two, the error is a gap between the first two. */
static enum hr_status check_step(struct series_reader *reader, int64_t at_us) {
  if (reader->count == 0) return HR_OK;
  int64_t last_us = reader->at_us[reader->count - 1], gap_us = at_us - last_us;
  if (gap_us == 0)
    return fail(reader, "the stamp is that of line %" PRIu64 " again; expected is one value per stamp",
                reader->last_line);
  if (gap_us < 0)
    return fail(reader, "the stamp is earlier than that of line %" PRIu64 "; expected are ascending stamps",
                reader->last_line);
  if (reader->step_us == 0) reader->step_us = gap_us;
  if (gap_us == reader->step_us || reader->query->holds_gaps) return HR_OK;
  if (gap_us < reader->step_us && reader->count == 2)
    return fail_gap(reader, reader->last_line, reader->first_line, reader->step_us, gap_us);
  return fail_gap(reader, hr__input_line_number(reader->input), reader->last_line, gap_us, reader->step_us);
}

static enum hr_status read_row(struct series_reader *reader, struct hr_text line) {
  const char *zone = reader->query->zone;
  struct hr_text text = field(line, reader->values);
  int64_t at_us, micros = 0;
  if (reader->zones != NO_COLUMN && zone && !equals(field(line, reader->zones), zone)) return HR_OK;
  enum hr_status status = parse_stamp(reader, field(line, reader->stamps), &at_us);
  if (status != HR_OK) return status;
  if (!text.length) {
    if (!reader->is_blank) reader->blank_line = hr__input_line_number(reader->input);
    reader->is_blank = true;
    return HR_OK;
  }
  if (reader->is_blank && reader->count > 0 && !reader->query->holds_gaps)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": the value is missing; expected is a %s, or \"gaps\": \"hold\" in the scenario",
                   reader->path, reader->blank_line, reader->query->noun);
  status = check_step(reader, at_us);
  if (status == HR_OK) status = parse_value(reader, text, &micros);
  reader->is_blank = false;
  return status == HR_OK ? append(reader, at_us, micros) : status;
}

static bool is_comment(struct hr_text line) {
  struct hr_text text = line;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return !text.length || *text.at == '#';
}

static enum hr_status read_lines(struct series_reader *reader) {
  struct hr_text line;
  bool past_header = false;
  enum hr_status status;
  while ((status = hr__input_line(reader->input, &line, reader->error)) == HR_OK && line.at) {
    if (is_comment(line)) continue;
    status = past_header ? read_row(reader, line) : read_header(reader, line);
    past_header = true;
    if (status != HR_OK) return status;
  }
  if (status != HR_OK || reader->count > 1) return status;
  if (reader->zones != NO_COLUMN && reader->query->zone && reader->count == 0)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: no row has the zone '%.60s'", reader->path, reader->query->zone);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s: %s; a series has at least two stamps", reader->path,
                 reader->count ? "only one stamp has a value" : "no stamp has a value");
}

/* Reads a series, which the caller destroys. Errors: HR_BAD_INPUT with file, line and the expected value; HR_IO_ERROR;
   HR_NO_MEMORY. */
static enum hr_status series_read(const char *path, const struct series_query *query, struct hr_series **series,
                                  struct hr_error *error) {
  struct series_reader reader = {.path = path, .query = query, .error = error};
  *series = NULL;
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK) status = read_lines(&reader);
  if (status == HR_OK) {
    *series = hr_series_create(reader.at_us, reader.micros, reader.count, query->repeats);
    if (!*series) status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  }
  hr__input_close(reader.input);
  free(reader.at_us);
  free(reader.micros);
  return status;
}

/* ---- Electricity of pools --------------------------------------------------------------------------- */

/* A series and the object that describes it. */
struct described_series {
  const cJSON *from;
  struct hr_series *series;
};

struct hr_electricity_set {
  struct described_series *series;
  uint32_t n_series, series_capacity;
  struct hr_electricity *pools; /* by pool */
};

void hr__electricity_destroy(struct hr_electricity_set *set) {
  if (!set) return;
  for (uint32_t i = 0; i < set->n_series; i++) hr_series_destroy(set->series[i].series);
  free(set->series);
  free(set->pools);
  free(set);
}

/* ---- Series ----------------------------------------------------------------------------------------- */

/* The differences between series of carbon and series of prices. */
struct series_kind {
  const char *constant; /* key of a constant value */
  const char *const *units;
  struct {
    uint64_t num, den;
  } factors[3]; /* by unit */
  const char *noun;
  bool may_be_negative;
};

/* The third unit is lb/MWh; a pound is 453.59237 g. */
static const struct series_kind carbon_kind = {
    "g_per_kwh", hr__carbon_units, {{1, 1}, {1, 1}, {45359237, 100000000}}, "carbon intensity", false};
static const struct series_kind price_kind = {
    "usd_per_kwh", hr__price_units, {{1, 1}, {1, 1000}, {0, 1}}, "price of energy", true};

static enum hr_status read_series(struct hr__builder *builder, const cJSON *object, const struct series_kind *kind,
                                  struct hr_series **series) {
  size_t unit = hr__choice_of(object, "unit", kind->units, 0);
  struct series_query query = {.zone = hr__text_of(object, "zone", NULL),
                               .column = hr__text_of(object, "column", NULL),
                               .factor_num = kind->factors[unit].num,
                               .factor_den = kind->factors[unit].den,
                               .noun = kind->noun,
                               .may_be_negative = kind->may_be_negative,
                               .is_utc = cJSON_IsTrue(hr__get(object, "utc")),
                               .holds_gaps = strcmp(hr__text_of(object, "gaps", "error"), "hold") == 0,
                               .repeats = strcmp(hr__text_of(object, "after", "hold"), "repeat") == 0};
  const cJSON *file = hr__get(object, "file");
  char *path = hr__resolve(builder, file->valuestring);
  struct hr_error inner;
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = series_read(path, &query, series, &inner);
  free(path);
  if (status == HR_OK) return HR_OK;
  return status == HR_BAD_INPUT ? hr_fail(builder->error, status, "%s", inner.text)
                                : hr__build_wrap(builder, file, status, &inner);
}

/* Sets `*found` to the series that an object describes; NULL if it describes none. Reads the series unless this object
   was built before. The set owns the series. */
static enum hr_status build_series(struct hr__builder *builder, const cJSON *object, const struct series_kind *kind,
                                   const struct hr_series **found) {
  struct hr_electricity_set *set = builder->scenario->electricity;
  const cJSON *file = hr__get(object, "file"), *constant = hr__get(object, kind->constant);
  struct hr_series *series = NULL;
  *found = NULL;
  for (uint32_t i = 0; i < set->n_series; i++)
    if (set->series[i].from == object) *found = set->series[i].series;
  if (*found || (!file && !constant)) return HR_OK;
  if (file && constant)
    return hr__build_fail_at(builder, object, kind->constant, "'file' and '%s' exclude each other; keep one",
                             kind->constant);
  const struct hr__idle_key idle[] = {{"unit", kind->constant, true},
                                      {"zone", kind->constant, true},
                                      {"column", kind->constant, true},
                                      {"gaps", kind->constant, true},
                                      {"after", kind->constant, true},
                                      {"utc", kind->constant, true},
                                      {NULL, NULL, false}};
  enum hr_status idle_status = hr__build_check_idle(builder, object, idle);
  if (idle_status != HR_OK) return idle_status;
  if (!HR__ARRAY_HAS_ROOM(set->series, set->n_series, set->series_capacity)) return hr__build_no_memory(builder);
  if (file) {
    enum hr_status status = read_series(builder, object, kind, &series);
    if (status != HR_OK) return status;
  } else {
    int64_t at_us = 0, micros = hr__micros(constant);
    series = hr_series_create(&at_us, &micros, 1, false);
    if (!series) return hr__build_no_memory(builder);
  }
  set->series[set->n_series++] = (struct described_series){object, series};
  *found = series;
  return HR_OK;
}

/* Sets `*start_us` to the Unix time in `start`; HR_NEVER_US if the key is missing. */
static enum hr_status read_start(struct hr__builder *builder, const cJSON *object, int64_t *start_us) {
  const char *text = hr__text_of(object, "start", NULL);
  bool zoned;
  *start_us = HR_NEVER_US;
  if (!text) return HR_OK;
  if (hr__date_parse((struct hr_text){text, strlen(text)}, start_us, &zoned) && zoned) return HR_OK;
  return hr__build_fail_at(builder, object, "start",
                           "'%.60s' is not an instant in UTC; expected is a date with an offset, like "
                           "2022-10-19T16:00Z",
                           text);
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static enum hr_status build_carbon(struct hr__builder *builder, const cJSON *entry, struct hr_electricity *built) {
  const cJSON *carbon = hr__inherited(builder, entry, "carbon");
  if (!carbon) return HR_OK;
  enum hr_status status = hr__read(builder, carbon, hr__carbon_keys, built);
  if (status == HR_OK) status = build_series(builder, carbon, &carbon_kind, &built->carbon);
  if (status == HR_OK) status = read_start(builder, carbon, &built->carbon_start_us);
  if (status != HR_OK || built->carbon || built->embodied_ug > 0) return status;
  return hr__build_fail(builder, carbon, "'carbon' has no carbon intensity; set 'file' or 'g_per_kwh'");
}

static enum hr_status build_price(struct hr__builder *builder, const cJSON *entry, struct hr_electricity *built) {
  const cJSON *price = hr__inherited(builder, entry, "energy_price");
  if (!price) return HR_OK;
  enum hr_status status = build_series(builder, price, &price_kind, &built->price);
  if (status == HR_OK) status = read_start(builder, price, &built->price_start_us);
  if (status != HR_OK || built->price) return status;
  return hr__build_fail(builder, price, "'energy_price' has no price; set 'file' or 'usd_per_kwh'");
}

static enum hr_status build_pool(struct hr__builder *builder, const cJSON *entry, struct hr_pool_spec *pool,
                                 struct hr_electricity *built) {
  const cJSON *water = hr__inherited(builder, entry, "wue_l_per_kwh");
  *built = (struct hr_electricity){.carbon_start_us = HR_NEVER_US, .price_start_us = HR_NEVER_US};
  enum hr_status status = build_carbon(builder, entry, built);
  if (status == HR_OK) status = build_price(builder, entry, built);
  if (water) built->water_ul_kwh = hr__micros(water);
  if (built->carbon || built->price || built->water_ul_kwh || built->embodied_ug) pool->electricity = built;
  return status;
}

/* Checks that all pools have the same carbon signal, because average and marginal intensities must not be added or
   compared. */
static enum hr_status check_signals(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_pool_spec *first = NULL;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->electricity || !pool->electricity->carbon) continue;
    if (!first) first = pool;
    if (first->electricity->signal == pool->electricity->signal) continue;
    return hr__build_fail(builder, hr__nodes_place(builder),
                          "pool '%.60s' has the carbon signal %s and pool '%.60s' %s; they cannot be compared, so all "
                          "pools must have the same",
                          first->name, hr_carbon_signal_name(first->electricity->signal), pool->name,
                          hr_carbon_signal_name(pool->electricity->signal));
  }
  return HR_OK;
}

/* Adds a note if the power of a pool is unknown, although the carbon intensity, the price or the water of its
   electricity is known. Carbon, cost and water are then not computed. */
static enum hr_status note_without_power(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_pool_spec *first = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->electricity || pool->power || pool->nodes == 0) continue;
    if (!pool->electricity->carbon && !pool->electricity->price && !pool->electricity->water_ul_kwh) continue;
    if (count++ == 0) first = pool;
  }
  if (!first) return HR_OK;
  return hr__build_note(builder,
                        "pool '%.60s'%s: carbon, cost and water of electricity are not computed without 'power'",
                        first->name, count > 1 ? " and others" : "");
}

/* Refuses a policy that delays jobs until electricity has less carbon if no pool has a carbon intensity. */
static enum hr_status check_policy(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *policy = hr__get(builder->source.file.tree, "policy");
  const char *rule = hr__text_of(policy, "carbon", "no-wait");
  bool any = strcmp(rule, "no-wait") == 0 || strcmp(rule, "all-wait") == 0 || cluster->n_pools == 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any = any || (cluster->pools[i].electricity && cluster->pools[i].electricity->carbon);
  if (any) return HR_OK;
  return hr__build_fail_at(builder, policy, "carbon",
                           "with 'carbon' %.40s, jobs wait for electricity with less carbon, but no pool has a carbon "
                           "intensity; set 'cluster.carbon'",
                           rule);
}

enum hr_status hr__build_electricity(struct hr__builder *builder) {
  static const char *const keys[] = {"carbon", "energy_price", "wue_l_per_kwh"};
  struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const cJSON *root = hr__get(builder->source.file.tree, "cluster"), *entry = hr__first(root, "pools");
  bool any = false;
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    any = any || hr__has(root, keys[k]);
    for (const cJSON *each = entry; each && !any; each = each->next) any = hr__has(each, keys[k]);
  }
  if (!any || cluster->n_pools == 0) return check_policy(builder);
  struct hr_electricity_set *set = calloc(1, sizeof *set);
  if (!set) return hr__build_no_memory(builder);
  builder->scenario->electricity = set;
  set->pools = calloc(cluster->n_pools, sizeof *set->pools);
  if (!set->pools) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    status = build_pool(builder, entry, &cluster->pools[i], &set->pools[i]);
    if (entry) entry = entry->next;
  }
  if (status == HR_OK) status = check_signals(builder);
  if (status == HR_OK) status = note_without_power(builder);
  return status == HR_OK ? check_policy(builder) : status;
}
