/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMetrics text: the writer, and the metrics of GPUs under the names of NVIDIA's DCGM (dcgmlib/dcgm_fields.h;
 * etc/default-counters.csv of dcgm-exporter).
 *
 * Each sample is the mean over the step that ends at the sample, restricted to the time in which the GPUs were up. A
 * temperature is that at the end of the step. Amounts of GPUs (weights) are in millionths of a GPU. A GPU is busy while
 * a job on it neither loads nor saves a checkpoint. An attempt loads its checkpoint at its begin. The times of saves
 * within an attempt are not recorded, so they are assumed to be spread evenly over the rest of the attempt.
 *
 * Allocations are recorded by unit. A unit is a GPU if the cluster has per-GPU allocation or series by GPU are
 * requested, otherwise a node. The units of all nodes are followed by one unit per pool, for jobs to which the policy
 * assigned a pool but no particular nodes. The units of a node and the nodes of a pool are contiguous. A hold is the
 * part of a unit that one attempt holds. If series by GPU are requested in a cluster with counted allocation, jobs are
 * assumed to use the first free GPUs of their node.
 */

#include "report/exports/exports.h"

#include "base/containers.h"
#include "headroom/power.h"
#include "headroom/unstable/exports.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writer: families ------------------------------------------------------------------------------ */

static void put_line(struct hr__metrics *metrics, const char *keyword, const char *text) {
  hr__out_text(&metrics->out, keyword);
  hr__out_text(&metrics->out, metrics->family);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, text);
  hr__out_byte(&metrics->out, '\n');
}

void hr__metrics_family(struct hr__metrics *metrics, const char *name, const char *type, const char *unit,
                        const char *help) {
  metrics->family = name;
  metrics->suffix = strcmp(type, "counter") == 0 ? "_total" : "";
  put_line(metrics, "# TYPE ", type);
  if (unit) put_line(metrics, "# UNIT ", unit);
  put_line(metrics, "# HELP ", help);
}

/* ---- Writer: labels -------------------------------------------------------------------------------- */

static void put_label_byte(struct hr__metrics *metrics, char byte) {
  if (metrics->labels_used < HR__METRICS_LABEL_BYTES) metrics->labels[metrics->labels_used++] = byte;
}

static void put_label_text(struct hr__metrics *metrics, const char *text) {
  for (; *text; text++) put_label_byte(metrics, *text);
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

/* Appends an escaped label value. Values are truncated to MAX_BYTES at a character boundary, so that the labels of a
   series fit into the buffer. */
static void put_label_value(struct hr__metrics *metrics, const char *value) {
  enum { MAX_BYTES = 400 };
  char *copy = is_ascii(value) ? NULL : hr__utf8_copy(value);
  const char *text = copy ? copy : is_ascii(value) ? value : "";
  if (text != value && !copy) metrics->out.out_of_memory = true;
  size_t length = strlen(text);
  if (length > MAX_BYTES)
    for (length = MAX_BYTES; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;) length--;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '\n') put_label_byte(metrics, '\\');
    put_label_byte(metrics, (char)(text[i] == '\n' ? 'n' : text[i]));
  }
  free(copy);
}

void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value) {
  put_label_byte(metrics, metrics->labels_used ? ',' : '{');
  put_label_text(metrics, name);
  put_label_text(metrics, "=\"");
  put_label_value(metrics, value);
  put_label_byte(metrics, '"');
}

/* ---- Writer: samples ------------------------------------------------------------------------------- */

void hr__metrics_sample(struct hr__metrics *metrics, uint32_t k, int64_t millionths) {
  hr__out_text(&metrics->out, metrics->family);
  hr__out_text(&metrics->out, metrics->suffix);
  hr__out_bytes(&metrics->out, metrics->labels, metrics->labels_used);
  hr__out_text(&metrics->out, metrics->labels_used ? "} " : " ");
  hr__out_millionths(&metrics->out, millionths);
  hr__out_byte(&metrics->out, ' ');
  hr__out_text(&metrics->out, metrics->stamps + (size_t)k * HR__NUMBER_BYTES);
  hr__out_byte(&metrics->out, '\n');
  metrics->n_written++;
}

/* ---- GPUs ------------------------------------------------------------------------------------------ */

struct gpu_hold {
  uint32_t attempt; /* index in the history */
  uint32_t milli;   /* part of the unit in milli-GPUs */
};

struct gpu_units {
  uint32_t n_nodes, n_pools;
  bool by_gpu;
  uint32_t *first_node;   /* [n_pools + 1] */
  uint32_t *first_unit;   /* [n_nodes + n_pools + 1]: first unit of each node, then of each pool */
  uint32_t *first_hold;   /* [number of units + 1] */
  struct gpu_hold *holds; /* sorted by unit, then by begin */
};

/* ---- Steps ----------------------------------------------------------------------------------------- */

/* Integral of a weight over each step: weight x microseconds, exact. Intervals may be added in any order. An interval
   changes at most four values: the sums of the two steps that contain its ends, the weight at the first step that it
   covers completely, and the weight after the last such step. */
struct steps {
  int64_t step_us, end_us;
  uint32_t n;        /* number of steps; the last one may be shorter */
  hr_amount *part;   /* [n + 1]: sum over intervals that cover a part of the step; after steps_close(): the integrals */
  hr_amount *change; /* [n + 1]: change[i] is W(i) - W(i - 1), where W(i) is the sum of the weights that cover all of
                        step i */
};

/* Returns HR_NO_MEMORY if out of memory; call steps_finish() even on failure. */
static enum hr_status steps_init(struct steps *steps, int64_t step_us, int64_t end_us) {
  *steps = (struct steps){.step_us = step_us, .end_us = end_us, .n = (uint32_t)((end_us + step_us - 1) / step_us)};
  steps->part = calloc((size_t)steps->n + 1, sizeof *steps->part);
  steps->change = calloc((size_t)steps->n + 1, sizeof *steps->change);
  return steps->part && steps->change ? HR_OK : HR_NO_MEMORY;
}

static void steps_finish(struct steps *steps) {
  free(steps->part);
  free(steps->change);
}

static void steps_clear(struct steps *steps) {
  memset(steps->part, 0, ((size_t)steps->n + 1) * sizeof *steps->part);
  memset(steps->change, 0, ((size_t)steps->n + 1) * sizeof *steps->change);
}

/* Adds a weight during an interval. The part of the interval after the end of the run is ignored. */
static void steps_add(struct steps *steps, int64_t from_us, int64_t to_us, int64_t weight) {
  if (to_us > steps->end_us) to_us = steps->end_us;
  if (from_us >= to_us) return;
  int64_t first = from_us / steps->step_us, last = to_us / steps->step_us;
  if (first == last) {
    steps->part[first] += (hr_amount)weight * (to_us - from_us);
    return;
  }
  steps->part[first] += (hr_amount)weight * ((first + 1) * steps->step_us - from_us);
  steps->part[last] += (hr_amount)weight * (to_us - last * steps->step_us);
  steps->change[first + 1] += weight;
  steps->change[last] -= weight;
}

/* Completes the integrals in `part`. Call steps_clear() before adding further intervals. */
static void steps_close(struct steps *steps) {
  hr_amount weight = 0;
  for (uint32_t i = 0; i < steps->n; i++) {
    weight += steps->change[i];
    steps->part[i] += weight * steps->step_us;
  }
}

/* ---- Up times of nodes: two passes over the node changes, one to count and one to list ------------- */

struct up_time {
  int64_t from_us, to_us;
};

struct node_times {
  uint32_t *first; /* [n_nodes + 1]: index in `times` of the first interval of each node */
  struct up_time *times;
};

/* Returns whether the nodes of a pool are up at the begin of the run. Nodes of elastic pools and of reservations that
   begin later are not. */
static bool is_up_at_first(const struct hr_pool_spec *pool) {
  return !hr_market_is_elastic(pool->market.market) && pool->market.from_us <= 0;
}

static void mark_first(const struct hr_export *run, int64_t *up_since_us) {
  uint32_t node = 0;
  for (uint32_t i = 0; i < run->cluster->n_pools; i++)
    for (uint32_t k = 0; k < run->cluster->pools[i].nodes; k++)
      up_since_us[node++] = is_up_at_first(&run->cluster->pools[i]) ? 0 : HR_NEVER_US;
}

/* Ends an interval in which a node was up. If `times->times` is NULL, only counts the interval. */
static void end_time(struct node_times *times, uint32_t node, int64_t *up_since_us, int64_t at_us) {
  if (up_since_us[node] == HR_NEVER_US) return;
  uint32_t place = times->first[node + 1]++;
  if (times->times) times->times[place] = (struct up_time){up_since_us[node], at_us};
  up_since_us[node] = HR_NEVER_US;
}

static void follow(struct node_times *times, const struct hr_export *run, uint32_t n_nodes, int64_t *up_since_us) {
  const struct hr_node_change *changes;
  size_t count = hr_history_changes(run->history, &changes);
  mark_first(run, up_since_us);
  for (size_t i = 0; i < count; i++) {
    uint32_t node = changes[i].node.id;
    if (changes[i].kind == HR_EVENT_NODE_UP && up_since_us[node] == HR_NEVER_US) up_since_us[node] = changes[i].at_us;
    if (changes[i].kind == HR_EVENT_NODE_DOWN || changes[i].kind == HR_EVENT_RELEASE)
      end_time(times, node, up_since_us, changes[i].at_us);
  }
  for (uint32_t i = 0; i < n_nodes; i++) end_time(times, i, up_since_us, hr_history_end_us(run->history));
}

/* Before the call, first[i + 1] is the number of intervals of node i. Replaces it by the index of the first interval of
   node i, at which the second pass begins to write. Returns the total number of intervals. */
static uint32_t place_times(struct node_times *times, uint32_t n_nodes) {
  for (uint32_t i = 0; i < n_nodes; i++) times->first[i + 1] += times->first[i];
  uint32_t count = times->first[n_nodes];
  for (uint32_t i = n_nodes; i > 0; i--) times->first[i] = times->first[i - 1];
  times->first[0] = 0;
  return count;
}

/* Returns HR_NO_MEMORY if out of memory; call node_times_finish() even on failure. */
static enum hr_status node_times_init(struct node_times *times, const struct hr_export *run) {
  uint32_t n_nodes = 0;
  for (uint32_t i = 0; i < run->cluster->n_pools; i++) n_nodes += run->cluster->pools[i].nodes;
  *times = (struct node_times){.first = calloc((size_t)n_nodes + 2, sizeof *times->first)};
  int64_t *up_since_us = calloc((size_t)n_nodes + 1, sizeof *up_since_us);
  if (!times->first || !up_since_us) {
    free(up_since_us);
    return HR_NO_MEMORY;
  }
  follow(times, run, n_nodes, up_since_us);
  times->times = calloc((size_t)place_times(times, n_nodes) + 1, sizeof *times->times);
  if (times->times) follow(times, run, n_nodes, up_since_us);
  free(up_since_us);
  return times->times ? HR_OK : HR_NO_MEMORY;
}

static void node_times_finish(struct node_times *times) {
  free(times->first);
  free(times->times);
}

/* ---- List of all holds, sorted by begin ------------------------------------------------------------ */

struct listed {
  uint32_t unit;
  struct gpu_hold hold;
};

struct openmetrics_gpus_list {
  struct listed *items;
  uint32_t count, capacity;
};

static enum hr_status append(struct openmetrics_gpus_list *list, uint32_t unit, uint32_t attempt, uint32_t milli) {
  if (!HR__ARRAY_HAS_ROOM(list->items, list->count, list->capacity)) return HR_NO_MEMORY;
  list->items[list->count++] = (struct listed){unit, {attempt, milli}};
  return HR_OK;
}

/* ---- Units ----------------------------------------------------------------------------------------- */

static enum hr_status number_units(struct gpu_units *units, const struct hr_cluster_spec *cluster) {
  uint32_t n_nodes = 0, node = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) n_nodes += cluster->pools[i].nodes;
  units->n_nodes = n_nodes;
  units->n_pools = cluster->n_pools;
  units->first_node = calloc((size_t)cluster->n_pools + 1, sizeof *units->first_node);
  units->first_unit = calloc((size_t)n_nodes + cluster->n_pools + 1, sizeof *units->first_unit);
  if (!units->first_node || !units->first_unit) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    units->first_node[i + 1] = units->first_node[i] + cluster->pools[i].nodes;
    for (; node < units->first_node[i + 1]; node++)
      units->first_unit[node + 1] = units->first_unit[node] + (units->by_gpu ? cluster->pools[i].gpus_per_node : 1);
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    units->first_unit[n_nodes + i + 1] = units->first_unit[n_nodes + i] + 1;
  return HR_OK;
}

static uint32_t count_units(const struct gpu_units *units) {
  return units->first_unit[units->n_nodes + units->n_pools];
}

/* ---- Holds ----------------------------------------------------------------------------------------- */

/* Appends a hold for each GPU of a slice. A slice has an equal part of each of its GPUs. */
static enum hr_status list_gpus(struct openmetrics_gpus_list *list, uint32_t first_unit, uint32_t attempt,
                                const struct hr_slice *slice) {
  uint32_t n_gpus = (uint32_t)__builtin_popcountll(slice->gpus);
  enum hr_status status = HR_OK;
  for (uint64_t rest = slice->gpus; rest && status == HR_OK; rest &= rest - 1)
    status = append(list, first_unit + (uint32_t)__builtin_ctzll(rest), attempt, slice->gpu_milli / n_gpus);
  return status;
}

/* Appends holds of the first free GPUs of a node, for counted allocation. */
static enum hr_status list_first_free(struct openmetrics_gpus_list *list, uint32_t first_unit, uint32_t attempt,
                                      uint32_t milli, const struct hr_attempt *times, struct hr__lanes *lanes) {
  for (; milli > 0; milli -= milli < 1000 ? milli : 1000) {
    uint32_t gpu = hr__lanes_take(lanes, times->begin_us, times->end_us);
    enum hr_status status =
        gpu == HR_NONE ? HR_NO_MEMORY : append(list, first_unit + gpu, attempt, milli < 1000 ? milli : 1000);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status list_attempt(const struct gpu_units *units, struct openmetrics_gpus_list *list,
                                   struct hr__lanes *lanes, const struct hr_export *run,
                                   const struct hr_attempt *attempt, uint32_t place) {
  const struct hr_slice *slices = hr_history_slices(run->history, attempt);
  enum hr_status status = HR_OK;
  if (attempt->n_slices == 0)
    return append(list, units->first_unit[units->n_nodes + attempt->pool.id], place, attempt->gpu_milli);
  for (uint32_t i = 0; i < attempt->n_slices && status == HR_OK; i++) {
    uint32_t node = slices[i].node.id, first_unit = units->first_unit[node];
    if (slices[i].gpu_milli == 0) continue;
    if (!units->by_gpu)
      status = append(list, first_unit, place, slices[i].gpu_milli);
    else if (slices[i].gpus)
      status = list_gpus(list, first_unit, place, &slices[i]);
    else
      status = list_first_free(list, first_unit, place, slices[i].gpu_milli, attempt, &lanes[node]);
  }
  return status;
}

static enum hr_status list_holds(const struct gpu_units *units, struct openmetrics_gpus_list *list,
                                 const struct hr_export *run) {
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(run->history, &attempts);
  struct hr__lanes *lanes = calloc((size_t)units->n_nodes + 1, sizeof *lanes);
  enum hr_status status = lanes ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < n_attempts && status == HR_OK; i++)
    if (attempts[i].end_us > attempts[i].begin_us)
      status = list_attempt(units, list, lanes, run, &attempts[i], (uint32_t)i);
  for (uint32_t i = 0; lanes && i < units->n_nodes; i++) hr__lanes_finish(&lanes[i]);
  free(lanes);
  return status;
}

/* Sorts the holds by unit. The counting sort is stable, so the holds of a unit remain sorted by begin. During the sort,
   first_hold[i + 1] is the write position of unit i; after it, first_hold[i + 1] is the index of the first hold of unit
   i + 1. */
static enum hr_status deal(struct gpu_units *units, const struct openmetrics_gpus_list *list) {
  uint32_t n_units = count_units(units);
  units->first_hold = calloc((size_t)n_units + 2, sizeof *units->first_hold);
  units->holds = calloc(list->count + 1, sizeof *units->holds);
  if (!units->first_hold || !units->holds) return HR_NO_MEMORY;
  for (size_t i = 0; i < list->count; i++) units->first_hold[list->items[i].unit + 2]++;
  for (uint32_t i = 1; i <= n_units; i++) units->first_hold[i + 1] += units->first_hold[i];
  for (size_t i = 0; i < list->count; i++)
    units->holds[units->first_hold[list->items[i].unit + 1]++] = list->items[i].hold;
  return HR_OK;
}

/* Returns HR_NO_MEMORY if out of memory; call gpu_units_finish() even on failure. */
static enum hr_status gpu_units_init(struct gpu_units *units, const struct hr_export *run, bool each_gpu) {
  struct openmetrics_gpus_list list = {0};
  *units = (struct gpu_units){.by_gpu = each_gpu || hr_cluster_spec_by_gpu(run->cluster)};
  enum hr_status status = number_units(units, run->cluster);
  if (status == HR_OK) status = list_holds(units, &list, run);
  if (status == HR_OK) status = deal(units, &list);
  free(list.items);
  return status;
}

static void gpu_units_finish(struct gpu_units *units) {
  free(units->first_node);
  free(units->first_unit);
  free(units->first_hold);
  free(units->holds);
  *units = (struct gpu_units){0};
}

enum { WHOLE = 1000000 };

/* The GPUs of one series: a contiguous range of units, the nodes that contain them, and for series of a pool also the
   unit of the pool (otherwise HR_NONE). */
struct openmetrics_gpus_group {
  uint32_t pool, node, gpu; /* HR_NONE if the series covers several nodes or GPUs */
  uint32_t first_unit, end_unit, pool_unit;
  uint32_t first_node, end_node;
  uint32_t gpus_per_node; /* GPUs of the series on each node */
};

struct busy_interval {
  int64_t from_us, to_us, weight;
};

struct gpus {
  struct hr__metrics *metrics;
  const struct hr_attempt *attempts;
  struct gpu_units units;
  struct node_times node_times;
  struct steps up, use;
  struct busy_interval *intervals; /* scratch space for the holds of any one unit */
};

/* ---- Sums ------------------------------------------------------------------------------------------ */

static void sum_up(struct gpus *gpus, const struct openmetrics_gpus_group *group) {
  steps_clear(&gpus->up);
  for (uint32_t node = group->first_node; node < group->end_node; node++)
    for (uint32_t i = gpus->node_times.first[node]; i < gpus->node_times.first[node + 1]; i++)
      steps_add(&gpus->up, gpus->node_times.times[i].from_us, gpus->node_times.times[i].to_us,
                (int64_t)group->gpus_per_node * WHOLE);
  steps_close(&gpus->up);
}

static void add_held(struct gpus *gpus, uint32_t unit) {
  for (uint32_t i = gpus->units.first_hold[unit]; i < gpus->units.first_hold[unit + 1]; i++) {
    const struct gpu_hold *hold = &gpus->units.holds[i];
    const struct hr_attempt *attempt = &gpus->attempts[hold->attempt];
    steps_add(&gpus->use, attempt->begin_us, attempt->end_us, (int64_t)hold->milli * 1000);
  }
}

/* Returns the interval of a hold from the time at which its attempt has loaded the checkpoint. `weight` is multiplied
   by the share of this interval in which the attempt does not save checkpoints. */
static struct busy_interval busy_part(const struct gpus *gpus, const struct gpu_hold *hold, int64_t weight) {
  const struct hr_attempt *attempt = &gpus->attempts[hold->attempt];
  int64_t work_us = attempt->kept_us + attempt->lost_us, rest_us = work_us + attempt->saving_us;
  if (rest_us > 0) weight = (int64_t)((hr_amount)weight * work_us / rest_us);
  return (struct busy_interval){attempt->begin_us + attempt->restarting_us, attempt->end_us, weight};
}

/* For each hold of a unit, adds the held part of the unit as a weight, for the time in which the job is busy. */
static void add_busy_parts(struct gpus *gpus, uint32_t unit) {
  for (uint32_t i = gpus->units.first_hold[unit]; i < gpus->units.first_hold[unit + 1]; i++) {
    const struct gpu_hold *hold = &gpus->units.holds[i];
    struct busy_interval busy_interval = busy_part(gpus, hold, (int64_t)hold->milli * 1000);
    steps_add(&gpus->use, busy_interval.from_us, busy_interval.to_us, busy_interval.weight);
  }
}

static int by_begin(const void *left, const void *right) {
  const struct busy_interval *a = left, *b = right;
  if (a->from_us != b->from_us) return a->from_us < b->from_us ? -1 : 1;
  if (a->to_us != b->to_us) return a->to_us < b->to_us ? -1 : 1;
  return (a->weight > b->weight) - (a->weight < b->weight);
}

/* Adds one whole GPU during the time in which at least one job on it is busy. While several jobs are busy, only the one
   that began first counts. */
static void add_busy_gpu(struct gpus *gpus, uint32_t unit) {
  uint32_t first = gpus->units.first_hold[unit], count = gpus->units.first_hold[unit + 1] - first;
  int64_t until_us = 0;
  for (uint32_t i = 0; i < count; i++) gpus->intervals[i] = busy_part(gpus, &gpus->units.holds[first + i], WHOLE);
  qsort(gpus->intervals, count, sizeof *gpus->intervals, by_begin);
  for (uint32_t i = 0; i < count; i++) {
    struct busy_interval *busy_interval = &gpus->intervals[i];
    if (busy_interval->from_us < until_us) busy_interval->from_us = until_us;
    steps_add(&gpus->use, busy_interval->from_us, busy_interval->to_us, busy_interval->weight);
    if (busy_interval->to_us > until_us) until_us = busy_interval->to_us;
  }
}

typedef void unit_adder(struct gpus *gpus, uint32_t unit);

/* Adds the busy time of a unit. Jobs can share a unit that is one GPU. In all other units, jobs hold whole GPUs, so
   their weights can be added. */
static void add_busy(struct gpus *gpus, uint32_t unit) {
  bool is_gpu = gpus->units.by_gpu && unit < gpus->units.first_unit[gpus->units.n_nodes];
  if (is_gpu)
    add_busy_gpu(gpus, unit);
  else
    add_busy_parts(gpus, unit);
}

static void sum_use(struct gpus *gpus, const struct openmetrics_gpus_group *group, unit_adder *add) {
  steps_clear(&gpus->use);
  for (uint32_t unit = group->first_unit; unit < group->end_unit; unit++) add(gpus, unit);
  if (group->pool_unit != HR_NONE) add(gpus, group->pool_unit);
  steps_close(&gpus->use);
}

/* ---- Series ---------------------------------------------------------------------------------------- */

static void number_label(struct hr__metrics *metrics, const char *name, const char *prefix, uint32_t number) {
  char text[80];
  snprintf(text, sizeof text, "%.40s%u", prefix, (unsigned)number);
  hr__metrics_label(metrics, name, text);
}

/* Sets the labels of dcgm-exporter, and the label "instance", which Prometheus would add when it collects the
   metrics. */
static void label(struct gpus *gpus, const struct openmetrics_gpus_group *group) {
  struct hr__metrics *metrics = gpus->metrics;
  const struct hr_pool_spec *pool = &metrics->run->cluster->pools[group->pool];
  char host[120], text[160];
  hr__metrics_no_labels(metrics);
  if (group->node == HR_NONE)
    snprintf(host, sizeof host, "%.100s", pool->name ? pool->name : "pool");
  else
    snprintf(host, sizeof host, "node-%u", (unsigned)group->node);
  if (group->gpu == HR_NONE) {
    hr__metrics_label(metrics, "gpu", "all");
    hr__metrics_label(metrics, "UUID", host);
    hr__metrics_label(metrics, "device", "all");
  } else {
    number_label(metrics, "gpu", "", group->gpu);
    snprintf(text, sizeof text, "GPU-%08x-0000-0000-0000-%012x", (unsigned)group->node, (unsigned)group->gpu);
    hr__metrics_label(metrics, "UUID", text);
    number_label(metrics, "device", "nvidia", group->gpu);
  }
  hr__metrics_label(metrics, "modelName", pool->gpu ? pool->gpu : "");
  hr__metrics_label(metrics, "Hostname", host);
  snprintf(text, sizeof text, "%.100s:9400", host);
  hr__metrics_label(metrics, "instance", text);
  hr__metrics_label(metrics, "pool", pool->name ? pool->name : "");
}

/* Writes a series in millionths. The value is `base` if no GPU is used, `whole` if all GPUs are used for the whole
   step, and linear in between. Steps in which no GPU was up have no sample. */
static void put_series(struct gpus *gpus, int64_t base, int64_t whole) {
  for (uint32_t k = 0; k < gpus->up.n; k++) {
    hr_amount up = gpus->up.part[k];
    if (up > 0) hr__metrics_sample(gpus->metrics, k + 1, base + (int64_t)((whole - base) * gpus->use.part[k] / up));
  }
}

struct openmetrics_gpus_family {
  const char *name, *unit, *help;
  unit_adder *add;
  int64_t whole; /* value at full use, in millionths; 0: it follows from the power draw */
  bool shared;   /* the metric exists only in pools with shared GPUs */
  bool heat;     /* the metric is the temperature that follows from the power draw */
};

static const struct openmetrics_gpus_family families[] = {
    {"headroom_gpu_allocated_ratio", "ratio", "Share of the GPUs allocated to jobs, used or not.", add_held, WHOLE},
    {"DCGM_FI_DEV_GPU_UTIL", NULL,
     "GPU utilization (in %): time during which a job ran and neither saved nor loaded a checkpoint.", add_busy,
     INT64_C(100) * WHOLE},
    {"DCGM_FI_PROF_SM_ACTIVE", NULL,
     "Share of the multiprocessors allocated to running jobs; only for shared GPUs, where it is known.", add_busy_parts,
     WHOLE, true},
    {"DCGM_FI_DEV_POWER_USAGE", NULL,
     "Power draw (in W) of all GPUs, interpolated between idle draw and power limit by utilization.", add_busy},
    {"DCGM_FI_DEV_GPU_TEMP", NULL, "Mean temperature of the GPUs (in C), which follows their power with a delay.",
     add_busy, 0, false, true},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* Returns whether jobs run at the same time on parts of a GPU. With time slicing a job has the whole GPU during its
   time slice, so the GPU does not count as shared. */
static bool is_shared(const struct hr_pool_spec *pool) {
  return pool->sharing != HR_SHARING_WHOLE && pool->sharing != HR_SHARING_TIME_SLICE;
}

static const struct hr_gpu_watts *watts_of(const struct hr_openmetrics_config *config, uint32_t pool) {
  const struct hr_gpu_watts *watts = config->watts ? &config->watts[pool] : NULL;
  return watts && watts->idle_w >= 0 && watts->tdp_w >= watts->idle_w ? watts : NULL;
}

/* Returns the model of temperatures of a pool; NULL: they are unknown. */
static const struct hr_power_heat *heat_of(const struct hr_export *run, uint32_t pool) {
  const struct hr_power_spec *power = run->cluster->pools[pool].power;
  return power && power->heat.c_per_w > 0 ? &power->heat : NULL;
}

static bool is_known(const struct hr_export *run, const struct hr_openmetrics_config *config,
                     const struct openmetrics_gpus_family *family, uint32_t pool) {
  if (family->shared) return is_shared(&run->cluster->pools[pool]);
  if (family->heat) return heat_of(run, pool) && watts_of(config, pool);
  return family->whole > 0 || watts_of(config, pool);
}

/* Writes the temperature at the end of each step. The power of a GPU is its mean over the step. */
static void put_temperatures(struct gpus *gpus, const struct hr_power_heat *heat, const struct hr_gpu_watts *watts) {
  double celsius = heat->ambient_c + heat->c_per_w * watts->idle_w;
  for (uint32_t k = 0; k < gpus->up.n; k++) {
    hr_amount up = gpus->up.part[k];
    double use = up > 0 ? (double)gpus->use.part[k] / (double)up : 0;
    double gpu_w = up > 0 ? watts->idle_w + use * (watts->tdp_w - watts->idle_w) : 0;
    double limit = heat->ambient_c + heat->c_per_w * gpu_w;
    int64_t end_us = (int64_t)(k + 1) * gpus->up.step_us;
    int64_t length_us = gpus->up.step_us - (end_us > gpus->up.end_us ? end_us - gpus->up.end_us : 0);
    celsius = limit + (celsius - limit) * exp(-(double)length_us / (double)HR_SECOND_US / heat->time_constant_s);
    if (up > 0) hr__metrics_sample(gpus->metrics, k + 1, llround(celsius * (double)WHOLE));
  }
}

static void put_group(struct gpus *gpus, const struct openmetrics_gpus_family *family,
                      const struct openmetrics_gpus_group *group) {
  const struct hr_gpu_watts *watts = watts_of(gpus->metrics->config, group->pool);
  int64_t base = 0, whole = family->whole;
  if (whole == 0) {
    int64_t n_gpus = (int64_t)group->gpus_per_node * (group->end_node - group->first_node);
    base = n_gpus * (int64_t)(watts->idle_w * WHOLE);
    whole = n_gpus * (int64_t)(watts->tdp_w * WHOLE);
  }
  sum_up(gpus, group);
  sum_use(gpus, group, family->add);
  label(gpus, group);
  if (family->heat) {
    put_temperatures(gpus, heat_of(gpus->metrics->run, group->pool), watts);
    return;
  }
  put_series(gpus, base, whole);
}

/* ---- Groups ---------------------------------------------------------------------------------------- */

static bool has_holds(const struct gpus *gpus, uint32_t unit) {
  return gpus->units.first_hold[unit] < gpus->units.first_hold[unit + 1];
}

static struct openmetrics_gpus_group whole_pool(const struct gpus *gpus, uint32_t pool) {
  const struct gpu_units *units = &gpus->units;
  uint32_t first_node = units->first_node[pool], end_node = units->first_node[pool + 1];
  return (struct openmetrics_gpus_group){.pool = pool,
                                         .node = HR_NONE,
                                         .gpu = HR_NONE,
                                         .first_unit = units->first_unit[first_node],
                                         .end_unit = units->first_unit[end_node],
                                         .pool_unit = units->first_unit[units->n_nodes + pool],
                                         .first_node = first_node,
                                         .end_node = end_node,
                                         .gpus_per_node = gpus->metrics->run->cluster->pools[pool].gpus_per_node};
}

static void put_node(struct gpus *gpus, const struct openmetrics_gpus_family *family,
                     const struct openmetrics_gpus_group *pool, uint32_t node) {
  struct openmetrics_gpus_group group = *pool;
  group.node = node;
  group.first_unit = gpus->units.first_unit[node];
  group.end_unit = gpus->units.first_unit[node + 1];
  group.pool_unit = HR_NONE;
  group.first_node = node;
  group.end_node = node + 1;
  if (gpus->metrics->config->place == HR_METRICS_BY_NODE) {
    put_group(gpus, family, &group);
    return;
  }
  uint32_t first_unit = group.first_unit;
  group.gpus_per_node = 1;
  for (group.gpu = 0; group.gpu < pool->gpus_per_node; group.gpu++) {
    group.first_unit = first_unit + group.gpu;
    group.end_unit = group.first_unit + 1;
    put_group(gpus, family, &group);
  }
}

/* Writes the series of a pool. If some jobs of the pool were assigned no particular nodes, series by node are unknown,
   and the series of the whole pool is written instead. */
static void put_pool(struct gpus *gpus, const struct openmetrics_gpus_family *family, uint32_t number) {
  struct openmetrics_gpus_group pool = whole_pool(gpus, number);
  if (!is_known(gpus->metrics->run, gpus->metrics->config, family, number)) return;
  if (gpus->metrics->config->place == HR_METRICS_BY_POOL || has_holds(gpus, pool.pool_unit)) {
    put_group(gpus, family, &pool);
    return;
  }
  for (uint32_t node = pool.first_node; node < pool.end_node; node++) put_node(gpus, family, &pool, node);
}

static void put_families(struct gpus *gpus) {
  const struct hr_export *run = gpus->metrics->run;
  for (size_t i = 0; i < N_FAMILIES; i++) {
    bool any = false;
    for (uint32_t pool = 0; pool < run->cluster->n_pools && !any; pool++)
      any = is_known(run, gpus->metrics->config, &families[i], pool);
    if (!any) continue;
    hr__metrics_family(gpus->metrics, families[i].name, "gauge", families[i].unit, families[i].help);
    for (uint32_t pool = 0; pool < run->cluster->n_pools; pool++) put_pool(gpus, &families[i], pool);
  }
}

uint64_t hr__metrics_gpu_series(const struct hr_export *run, const struct hr_openmetrics_config *config) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < run->cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &run->cluster->pools[i];
    uint64_t places = config->place == HR_METRICS_BY_POOL ? 1 : pool->nodes;
    if (config->place == HR_METRICS_BY_GPU) places *= pool->gpus_per_node;
    for (size_t k = 0; k < N_FAMILIES; k++) count += is_known(run, config, &families[k], i) ? places : 0;
  }
  return count;
}

static enum hr_status make_intervals(struct gpus *gpus) {
  uint32_t max_holds = 0, n_units = gpus->units.first_unit[gpus->units.n_nodes + gpus->units.n_pools];
  for (uint32_t i = 0; i < n_units; i++) {
    uint32_t count = gpus->units.first_hold[i + 1] - gpus->units.first_hold[i];
    if (count > max_holds) max_holds = count;
  }
  gpus->intervals = malloc(((size_t)max_holds + 1) * sizeof *gpus->intervals);
  return gpus->intervals ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__metrics_of_gpus(struct hr__metrics *metrics) {
  struct gpus gpus = {.metrics = metrics};
  hr_history_attempts(metrics->run->history, &gpus.attempts);
  enum hr_status status = gpu_units_init(&gpus.units, metrics->run, metrics->config->place == HR_METRICS_BY_GPU);
  if (status == HR_OK) status = node_times_init(&gpus.node_times, metrics->run);
  if (status == HR_OK) status = steps_init(&gpus.up, metrics->step_us, metrics->end_us);
  if (status == HR_OK) status = steps_init(&gpus.use, metrics->step_us, metrics->end_us);
  if (status == HR_OK) status = make_intervals(&gpus);
  if (status == HR_OK) put_families(&gpus);
  gpu_units_finish(&gpus.units);
  node_times_finish(&gpus.node_times);
  steps_finish(&gpus.up);
  steps_finish(&gpus.use);
  free(gpus.intervals);
  return status;
}
