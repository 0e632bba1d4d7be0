/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `power` of a pool or of the cluster: the power of GPUs and nodes, and the additions to it.
 *
 * Without watts, those of the GPU type in the catalogue apply. The host of a node takes a share of the maximum power of
 * its GPUs, which was measured on nodes with 8 A100: 1,421 W idle, of which the GPUs take 480 W, and 70 % of the power
 * of a busy node in the GPUs (Acme, 2023; Zeus).
 */

#include "headroom/power.h"
#include "scenarios/build/builder.h"
#include "sim/power/power.h"

#include <math.h>
#include <stdlib.h>

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
  if (spec->n_caps || spec->gpu_cap_w >= spec->gpu_max_w) return HR_OK;
  return hr__build_fail_at(
      builder, power, "gpu_cap_w",
      "the effect of power limits on the GPU type '%.60s' of pool '%.60s' is not known; set 'caps'", draft->pool.gpu,
      draft->pool.name);
}

/* ---- The pool ------------------------------------------------------------------------------------------------- */

/* Checks that the power of the pool can be represented. */
static enum hr_status check_size(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *power,
                                 const struct hr_power_spec *spec) {
  double node_w = draft->pool.gpus_per_node * spec->gpu_max_w + spec->host_max_w;
  struct hr__watts node = hr__node_rate(spec, fmax(fmax(node_w, spec->boot_w), spec->down_w));
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
