/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `power` of a pool or of the cluster: the power of GPUs and nodes, and the additions to it.
 *
 * Without watts, those of the GPU type in the catalogue apply. The host of a node takes a share of the maximum power of
 * its GPUs. The share is from measurements of nodes with 8 A100: an idle node takes 1,421 W, of which the GPUs take 480
 * W, and the GPUs of a busy node take 70 % of its power (Acme, 2023; Zeus).
 */

#include "headroom/power.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/faults.h"
#include "scenarios/build/builder.h"
#include "sim/power/power.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* Idle GPUs of unknown types, and hosts, relative to the maximum power of the GPUs. */
#define GPU_IDLE 0.12
#define HOST_IDLE 0.29
#define HOST_MAX 0.43

/* ---- Watts ------------------------------------------------------------------------------------------------ */

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

/* Sets the watts of a GPU that the scenario does not state. */
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

/* Sets the watts of the rest of the node, and of a node that boots, if the scenario does not state them. */
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

/* ---- Power limits ------------------------------------------------------------------------------------------- */

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

/* The effect of a limit below the last one of the table is not known. */
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

/* Takes the effects of power limits from the catalogue, if it knows the GPU type. */
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

/* ---- Sleep ------------------------------------------------------------------------------------------------------ */

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
  if (status == HR_OK)
    status = hr__read(builder, sleep, hr__table_of(&hr__scenario_keys, "cluster.power.sleep"), &spec->sleep);
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

/* ---- Battery ---------------------------------------------------------------------------------------------------- */

static enum hr_status build_battery(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                    struct hr_power_spec *spec) {
  const cJSON *from = hr__get(power, "battery"), *tree = builder->source.file.tree;
  struct hr_power_battery *battery = &spec->battery;
  if (!from) return HR_OK;
  enum hr_status status = hr__read(builder, from, hr__table_of(&hr__scenario_keys, "cluster.power.battery"), battery);
  if (status != HR_OK) return status;
  if (!hr__has(from, "discharge_g_per_kwh")) battery->upper_g_per_kwh = battery->lower_g_per_kwh;
  const cJSON *carbon = hr__get(draft->entry, "carbon");
  if (!carbon) carbon = hr__get(hr__get(tree, "cluster"), "carbon");
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

/* ---- The pool ------------------------------------------------------------------------------------------------- */

/* Checks that the power of the pool can be represented. */
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
    status = hr__read(builder, hr__get(power, "temperature"),
                      hr__table_of(&hr__scenario_keys, "cluster.power.temperature"), &spec->heat);
  return status == HR_OK ? check_size(builder, draft, power, spec) : status;
}

/* Notes which watts were not stated. */
static enum hr_status note_defaults(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                    const struct hr_power_spec *spec) {
  if (hr__has(power, "host_idle_w") && hr__has(power, "host_max_w")) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "power assumed: GPUs %.4g to %.4g W, the rest of a node %.4g to %.4g W; set host_idle_w and "
                       "host_max_w",
                       spec->gpu_idle_w, spec->gpu_max_w, spec->host_idle_w, spec->host_max_w);
}

enum hr_status hr__build_power(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *power = hr__get(draft->entry, "power");
  if (!power) power = hr__get(hr__get(builder->source.file.tree, "cluster"), "power");
  if (!power || draft->pool.nodes == 0) return HR_OK;
  struct hr_power_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  draft->pool.power = spec;
  enum hr_status status = build(builder, draft, power, spec);
  return status == HR_OK ? note_defaults(builder, draft, power, spec) : status;
}

/* ---- The budget of the cluster ------------------------------------------------------------------------------------
 */

/* Adds the power of the pool with idle nodes to `idle_w`, and sets `node_w`: the additional power of a node at work. */
static void add_idle(const struct hr_pool_spec *pool, double *idle_w, double *node_w) {
  double gpus = pool->gpus_per_node;
  struct hr__watts idle = hr__idle_rate(pool->power, pool->gpus_per_node), other = hr__other_rate(pool->power);
  const uint32_t level = pool->power->budget_caps ? HR__CAP_LEVELS : 0;
  struct hr__watts busy = hr__busy_rate_at(pool->power, pool->gpus_per_node, level, HR__NO_FRACTION);
  *idle_w += pool->nodes * gpus * 1e-6 * (double)idle.it + 1e-9 * (double)other.it;
  *node_w = gpus * 1e-6 * (double)(busy.it - idle.it);
}

/* Lets the power budget slow the GPUs of a pool. */
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
