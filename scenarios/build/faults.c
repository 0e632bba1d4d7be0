/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `faults` of a pool or of the cluster: how nodes and groups of nodes fail, and how they are repaired.
 *
 * The object describes the failures of single nodes; each entry of its `groups` describes failures of whole groups of
 * nodes. Both have the same keys for rates and repairs. Each of these objects becomes a process of failures. A process
 * with the rate 0 is omitted, so that such a run equals a run without failures.
 *
 * `maintenance` of a pool or of the cluster: when nodes are out of service as planned, and what happens to their jobs.
 */

#include "headroom/unstable/faults.h"
#include "headroom/unstable/failures.h"
#include "scenarios/build/builder.h"
#include "sim/market/market.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

/* The keys that state when a process causes failures. */
static const char *const rates[] = {"per_1000_node_days", "mtbf_h", "between", "between_h", "recorded", "log", NULL};

/* Checks that at most one of the keys is present, and sets `*found` to it; NULL if none is present. */
static enum hr_status find_one(struct hr__builder *builder, const cJSON *entry, const char *const *keys,
                               const char **found) {
  *found = NULL;
  for (; *keys; keys++) {
    if (!hr__has(entry, *keys)) continue;
    if (*found)
      return hr__build_fail_at(builder, entry, *keys, "'%s' and '%s' exclude each other; keep one", *found, *keys);
    *found = *keys;
  }
  return HR_OK;
}

/* ---- Delays ------------------------------------------------------------------------------------------ */

static enum hr_status check_delays(struct hr__builder *builder, const cJSON *entry, bool needs_repair) {
  static const char *const detects[] = {"detect_s", "detect", NULL}, *const repairs[] = {"repair_s", "repair",
                                                                                         "repair_h", "recorded",
                                                                                         "log",      NULL};
  const char *found;
  enum hr_status status = find_one(builder, entry, detects, &found);
  if (status == HR_OK) status = find_one(builder, entry, repairs, &found);
  if (status == HR_OK && needs_repair && !found)
    return hr__build_fail(builder, entry,
                          "failures need a 'repair_s' or a 'repair', the time until a node is available "
                          "again");
  if (status == HR_OK) status = hr__check_duration(builder, hr__get(entry, "detect"));
  return status == HR_OK ? hr__check_duration(builder, hr__get(entry, "repair")) : status;
}

static enum hr_status check_classes(struct hr__builder *builder, const cJSON *entry, bool needs_repair) {
  const cJSON *classes = hr__get(entry, "classes");
  static const char *const delays[] = {"detect_s", "detect", "repair_s", "repair"};
  double sum = 0;
  enum hr_status status = HR_OK;
  if (!classes) return check_delays(builder, entry, needs_repair);
  for (size_t i = 0; i < sizeof delays / sizeof *delays; i++)
    if (hr__has(entry, delays[i]))
      return hr__build_fail_at(builder, entry, delays[i], "'%s' has no effect beside 'classes'; give it to each class",
                               delays[i]);
  for (const cJSON *class_ = classes->child; class_ && status == HR_OK; class_ = class_->next) {
    sum += hr__number_of(class_, "share", 0);
    status = check_delays(builder, class_, needs_repair);
  }
  if (status != HR_OK || sum > 0) return status;
  return hr__build_fail(builder, classes, "the shares of the classes add up to 0; one must be above 0");
}

/* ---- Processes --------------------------------------------------------------------------------------- */

/* Reads when the nodes or groups of a process fail. Sets `*none` to whether they never fail: the rate is 0, or `faults`
   has only `groups` or `slow`. */
static enum hr_status build_rate(struct hr__builder *builder, const cJSON *entry, bool is_group,
                                 struct hr_fault_process *process, bool *none) {
  const char *found;
  enum hr_status status = find_one(builder, entry, rates, &found);
  if (status == HR_OK) status = hr__check_duration(builder, hr__get(entry, "between"));
  *none = false;
  if (status != HR_OK) return status;
  if (!found) {
    *none = true;
    bool has_others = hr__has(entry, "groups") || hr__has(entry, "slow");
    if (!is_group && has_others) return HR_OK;
    return hr__build_fail(builder, entry,
                          "'per_1000_node_days', 'mtbf_h' or 'between' is missing: how often failures happen");
  }
  if (strcmp(found, "log") == 0) return HR_OK;
  double mean_s = 3600 * hr__number_of(entry, "mtbf_h", 0), per_1000_days = hr__number_of(entry, rates[0], 0);
  if (found == rates[0]) {
    *none = per_1000_days == 0;
    mean_s = *none ? 1 : 1000 * DAY_S / per_1000_days;
  }
  if (found == rates[0] || hr__has(entry, "mtbf_h"))
    process->between = (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
  if (process->recorded_between.n_values)
    process->between = (struct hr_duration){HR_DURATION_EXPONENTIAL, process->recorded_between.mean_s, 0};
  mean_s = hr__duration_mean_s(&process->between);
  if (mean_s >= 1) return HR_OK;
  return hr__build_fail_at(builder, entry, found, "the mean time between failures is %.4g s; the minimum is one second",
                           mean_s);
}

/* ---- Logs -------------------------------------------------------------------------------------------- */

/* Sets the mean of recorded intervals; 0 if there are none. */
static void set_mean(struct hr_recorded *recorded) {
  double sum_h = 0;
  for (uint32_t i = 0; i < recorded->n_values; i++) sum_h += recorded->values[i].h;
  recorded->mean_s = recorded->n_values ? sum_h / recorded->n_values * 3600 : 0;
}

/* Copies a sample. The intervals of length 0, which the sample only counts, come first. Returns false if memory runs
   out. */
static bool copy_sample(struct hr_recorded *recorded, const struct hr_failure_sample *sample) {
  recorded->values = calloc((size_t)sample->count + sample->zeros + 1, sizeof *recorded->values);
  if (!recorded->values) return false;
  recorded->n_values = sample->count + sample->zeros;
  for (uint32_t i = 0; i < sample->count; i++) recorded->values[sample->zeros + i].h = sample->hours[i];
  return true;
}

static const struct hr_failure_group *find_system(const struct hr_failure_log *log, const char *system) {
  if (!system) return &log->all;
  for (uint32_t i = 0; i < log->n_groups; i++)
    if (strcmp(log->groups[i].name, system) == 0) return &log->groups[i];
  return NULL;
}

/* Copies the times until a failure of a node and the repair times from a log. The times until a failure are those from
   a repair to the next failure. If the log has none, the times between two failures of a node are used. */
static enum hr_status take_intervals(struct hr__builder *builder, const cJSON *place, const struct hr_failure_log *log,
                                     struct hr_fault_process *process) {
  const char *system = hr__text_of(place, "system", NULL);
  const struct hr_failure_group *group = find_system(log, system);
  if (!group) return hr__build_fail_at(builder, place, "system", "the log has no system '%.60s'", system);
  const struct hr_failure_sample *up = &group->samples[HR_FAILURE_UP_TIME];
  if (up->count == 0) up = &group->samples[HR_FAILURE_NODE_GAP];
  const struct hr_failure_sample *repair = &group->samples[HR_FAILURE_REPAIR];
  if (up->count == 0 || repair->count == 0)
    return hr__build_fail_at(builder, place, "file", "the log has no %s of nodes",
                             up->count ? "repairs" : "times between failures");
  bool copied = copy_sample(&process->recorded_between, up) && copy_sample(&process->recorded_repair, repair);
  return copied ? HR_OK : hr__build_no_memory(builder);
}

/* Adds a note for each kind of rows of a log that are not replayed. */
static enum hr_status note_dropped(struct hr__builder *builder, const char *pool,
                                   const struct hr_failure_events *events) {
  const struct {
    uint32_t count;
    const char *why;
  } dropped[] = {{events->n_no_node, "have no node"},
                 {events->n_no_end, "have no end"},
                 {events->n_backwards, "end before their start"},
                 {events->n_negative, "have a negative interval"}};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped && status == HR_OK; i++)
    if (dropped[i].count)
      status = hr__pool_note(builder, pool, "rows of the log that are not replayed, as they %s: %" PRIu32,
                             dropped[i].why, dropped[i].count);
  return status;
}

static enum hr_status take_failures(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *place,
                                    const char *path, struct hr_fault_process *process) {
  struct hr_failure_events events = {0};
  struct hr_error inner = {0};
  enum hr_status status = hr_failure_events_read(path, hr__text_of(place, "system", NULL), &events, &inner);
  if (status != HR_OK) return hr__build_wrap(builder, hr__get(place, "file"), status, &inner);
  process->replays = calloc((size_t)events.count + 1, sizeof *process->replays);
  const uint32_t nodes = draft->pool.nodes;
  for (uint32_t i = 0; process->replays && i < events.count; i++) {
    const struct hr_failure_event *event = &events.events[i];
    process->replays[i] = (struct hr_fault_replay){events.in_turn && nodes ? event->node % nodes : event->node,
                                                   event->start_us - events.first_us, event->down_us};
  }
  process->n_replays = process->replays ? events.count : 0;
  uint32_t n_nodes = events.in_turn ? nodes : events.n_nodes;
  status = process->replays ? note_dropped(builder, draft->pool.name, &events) : hr__build_no_memory(builder);
  hr_failure_events_finish(&events);
  if (status != HR_OK) return status;
  process->clock = HR_FAULT_CLOCK_WALL;
  process->between = (struct hr_duration){HR_DURATION_EXPONENTIAL, 1e9, 0};
  hr_fault_replays_sort(process, nodes);
  if (n_nodes <= nodes) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "the log has failures of %" PRIu32 " nodes; those of the first %" PRIu32 " are replayed",
                       n_nodes, nodes);
}

/* Reads the failures of `log`, or the intervals of `recorded`, if the process has one of these keys. */
static enum hr_status build_recorded(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                     const cJSON *entry, struct hr_fault_process *process) {
  const cJSON *log_place = hr__get(entry, "log"), *place = log_place ? log_place : hr__get(entry, "recorded");
  enum hr_status status = HR_OK;
  if (place && (hr__has(entry, "crew") || hr__has(entry, "bad_nodes") || hr__has(entry, "classes")) && log_place)
    return hr__build_fail(builder, place, "'log' replays failures; 'crew', 'bad_nodes' and 'classes' do not apply");
  if (place) {
    struct hr_failure_log log;
    struct hr_error inner = {0};
    char *path = hr__resolve(builder, hr__text_of(place, "file", ""));
    if (!path) return hr__build_no_memory(builder);
    if (log_place) {
      status = take_failures(builder, draft, place, path, process);
    } else {
      status = hr_failure_log_read(path, &log, &inner);
      if (status != HR_OK) status = hr__build_wrap(builder, hr__get(place, "file"), status, &inner);
      if (status == HR_OK) status = take_intervals(builder, place, &log, process);
      hr_failure_log_finish(&log);
    }
    free(path);
  }
  set_mean(&process->recorded_between);
  set_mean(&process->recorded_repair);
  return status;
}

/* Reads which group of nodes fails as a whole: a group of a tier, or a number of nodes or racks. */
static enum hr_status build_unit(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                                 struct hr_fault_process *process) {
  static const char *const units[] = {"tier", "nodes", "racks", NULL};
  const struct hr_topology *topology = &draft->pool.topology;
  const char *found;
  enum hr_status status = find_one(builder, entry, units, &found);
  if (status != HR_OK) return status;
  if (!found) return hr__build_fail(builder, entry, "'tier', 'nodes' or 'racks' is missing: what fails as one");
  const bool is_rack = found == units[2];
  if (found != units[0]) process->unit = HR_TIER_POOL;
  if (is_rack) {
    const double nodes = hr__number_of(entry, "racks", 0) * topology->nodes_per_rack;
    process->group_nodes = nodes < HR_MAX_NODES ? (uint32_t)nodes : HR_MAX_NODES;
  }
  if (is_rack ? topology->nodes_per_rack > 0 : hr_topology_has(topology, process->unit)) return HR_OK;
  return hr__build_fail_at(builder, entry, found, "the topology of pool '%.60s' has no tier '%s'", draft->pool.name,
                           hr_tier_name(is_rack ? HR_TIER_RACK : process->unit));
}

static enum hr_status build_process(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                                    bool is_group, struct hr_fault_process *process, bool *none) {
  const bool is_elastic = hr_market_is_elastic(draft->pool.market.market);
  process->bad_factor = 1;
  enum hr_status status = hr__read_at(builder, entry, is_group ? "cluster.faults.groups" : "cluster.faults", process);
  if (status == HR_OK) status = build_recorded(builder, draft, entry, process);
  if (status == HR_OK) status = build_rate(builder, entry, is_group, process, none);
  if (status == HR_OK) status = check_classes(builder, entry, !is_elastic && !*none);
  if (status != HR_OK || !is_group) return status;
  if (is_elastic)
    return hr__build_fail(builder, entry,
                          "groups of nodes that fail together need a pool whose nodes are not replaced; the "
                          "market %s of pool '%.60s' replaces failed nodes",
                          hr_market_name(draft->pool.market.market), draft->pool.name);
  return build_unit(builder, draft, entry, process);
}

/* ---- The pool ---------------------------------------------------------------------------------------- */

/* Adds the process of failures that `entry` describes to the specification, unless it has no failures. */
static enum hr_status add(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                          bool is_group) {
  struct hr_fault_spec *spec = draft->pool.faults;
  struct hr_fault_process *process = &spec->processes[spec->n_processes++];
  bool none = false;
  process->unit = HR_TIER_NODE;
  enum hr_status status = build_process(builder, draft, entry, is_group, process, &none);
  if (status != HR_OK || !none) return status;
  hr_fault_process_finish(process);
  *process = (struct hr_fault_process){0};
  spec->n_processes--;
  return HR_OK;
}

/* Adds a note if the pool has spares although its nodes never fail. Without failures, spares are used only during
   maintenance. */
static enum hr_status note_spares(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_fault_spec *spec = draft->pool.faults;
  if (spec->spares == 0 || spec->spares >= draft->pool.nodes || spec->n_processes) return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "no node fails, but %" PRIu32 " of the %" PRIu32 " nodes are spares, which run no jobs; without "
                       "'spares' they would",
                       spec->spares, draft->pool.nodes);
}

static enum hr_status note_defaults(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                    const cJSON *faults) {
  if (draft->pool.faults->n_processes == 0 || hr__has(faults, "log") || hr__has(faults, "classes") ||
      hr__has(faults, "detect") || hr__has(faults, "detect_s") || hr__has(faults, "groups"))
    return HR_OK;
  return hr__pool_note(builder, draft->pool.name,
                       "failures are detected at once, as neither detect_s nor detect is "
                       "set");
}

/* Reads the spares and the slow nodes of a pool. */
static enum hr_status build_extras(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                   const cJSON *faults) {
  struct hr_fault_spec *spec = draft->pool.faults;
  const cJSON *slow = hr__get(faults, "slow"), *spares = hr__get(faults, "spares");
  bool is_elastic = hr_market_is_elastic(draft->pool.market.market);
  static const struct hr__idle_key idle[] = {
      {"activation_s", "spares", false}, {"clock", "log", true},    {"start", "log", true},
      {"detect", "log", true},           {"detect_s", "log", true}, {NULL, NULL, false}};
  enum hr_status status = hr__build_check_idle(builder, faults, idle);
  if (status != HR_OK) return status;
  spec->activation_us = hr__span_of(faults, "activation_s", 0);
  spec->spares = is_elastic ? 0 : (uint32_t)hr__number_of(faults, "spares", 0);
  if (spec->spares > 0 && spec->spares >= draft->pool.nodes && draft->pool.nodes > 0)
    return hr__build_fail(builder, spares, "all %" PRIu32 " nodes of pool '%.60s' would be spares", draft->pool.nodes,
                          draft->pool.name);
  if (!slow) return HR_OK;
  status = hr__read_at(builder, slow, "cluster.faults.slow", &spec->slow);
  spec->slow.between = (struct hr_duration){HR_DURATION_EXPONENTIAL, 3600 * hr__number_of(slow, "between_h", 0), 0};
  spec->slow.length = (struct hr_duration){HR_DURATION_EXPONENTIAL, hr__number_of(slow, "length_s", 0), 0};
  return status;
}

enum hr_status hr__build_faults(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *faults = hr__inherited(builder, draft->entry, "faults"), *groups = hr__get(faults, "groups");
  if (!faults) return HR_OK;
  struct hr_fault_spec *spec = calloc(1, sizeof *spec);
  size_t count = 1 + (size_t)(groups ? cJSON_GetArraySize(groups) : 0);
  if (spec) spec->processes = calloc(count, sizeof *spec->processes);
  if (!spec || !spec->processes) {
    free(spec);
    return hr__build_no_memory(builder);
  }
  draft->pool.faults = spec;
  spec->crew = (uint32_t)hr__number_of(faults, "crew", 0);
  enum hr_status status = build_extras(builder, draft, faults);
  if (status != HR_OK) return status;
  if (spec->crew && hr_market_is_elastic(draft->pool.market.market) && hr__has(draft->entry, "faults"))
    return hr__build_fail_at(builder, faults, "crew", "nodes of the market %s are not repaired but replaced",
                             hr_market_name(draft->pool.market.market));
  status = add(builder, draft, faults, false);
  for (const cJSON *group = groups ? groups->child : NULL; group && status == HR_OK; group = group->next)
    status = add(builder, draft, group, true);
  if (status == HR_OK) status = note_spares(builder, draft);
  return status == HR_OK ? note_defaults(builder, draft, faults) : status;
}

/* ---- Maintenance ------------------------------------------------------------------------------------- */

/* Sets `max_unavailable` from a number of nodes or a share of the nodes, rounded up; HR_NONE: the key is missing. */
static enum hr_status build_budget(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                                   struct hr_maintenance *window) {
  const cJSON *value = hr__get(entry, "max_unavailable");
  char buffer[32], *end;
  window->max_unavailable = HR_NONE;
  if (!value) return HR_OK;
  const char *text = hr__scalar_text(value, buffer);
  double number = strtod(text, &end);
  bool is_share = strcmp(end, "%") == 0, is_whole = *end == '\0' && number == floor(number);
  if (end == text || !(number >= 0) || (is_share ? number > 100 : !is_whole || number > HR_MAX_NODES))
    return hr__build_fail(builder, value,
                          "'max_unavailable' is '%.60s'; a whole number of nodes or a share such as 25%% is expected",
                          text);
  double nodes = is_share ? ceil(number * draft->pool.nodes / 100 - 1e-9) : number;
  window->max_unavailable = (uint32_t)nodes;
  if (window->group_nodes <= window->max_unavailable) return HR_OK;
  return hr__build_fail(builder, value,
                        "groups of %" PRIu32 " nodes never keep the limit of %" PRIu32 " nodes; use a smaller "
                        "'nodes_per_group'",
                        window->group_nodes, window->max_unavailable);
}

static enum hr_status build_window(struct hr__builder *builder, const struct hr__pool_draft *draft, const cJSON *entry,
                                   struct hr_maintenance *window) {
  static const char *const repeats[] = {"every_days", "every_weeks", NULL};
  const char *found;
  enum hr_status status = find_one(builder, entry, repeats, &found);
  if (status == HR_OK) status = hr__read_at(builder, entry, "cluster.maintenance", window);
  if (status != HR_OK) return status;
  double days = hr__number_of(entry, "every_days", 7 * hr__number_of(entry, "every_weeks", 0));
  window->repeat_us = (int64_t)llround(days * DAY_S * (double)HR_SECOND_US);
  if (!hr__has(entry, "nodes_per_group") || window->group_nodes > draft->pool.nodes)
    window->group_nodes = draft->pool.nodes;
  if (window->group_nodes == 0) window->group_nodes = 1;
  return build_budget(builder, draft, entry, window);
}

static const char *name_of(const struct hr_maintenance *window, uint32_t number, char text[32]) {
  snprintf(text, 32, "number %" PRIu32, number + 1);
  return window->name ? window->name : text;
}

static enum hr_status check_overlap(struct hr__builder *builder, const struct hr__pool_draft *draft,
                                    const cJSON *list) {
  uint32_t other, first = hr_maintenance_overlap(&draft->pool, &other);
  char text[32], other_text[32];
  if (first == HR_NONE) return HR_OK;
  const struct hr_maintenance *windows = draft->pool.maintenance;
  const cJSON *entry = cJSON_GetArrayItem(list, (int)first);
  if (first == other)
    return hr__build_fail(
        builder, entry, "maintenance overlaps its own repetition in pool '%.60s': it takes %.6g days, with lead time",
        draft->pool.name,
        (double)hr_maintenance_span_us(&windows[first], draft->pool.nodes) / (double)HR_SECOND_US / DAY_S);
  return hr__build_fail(builder, entry, "maintenance '%.60s' overlaps '%.60s' in pool '%.60s', with their lead times",
                        name_of(&windows[first], first, text), name_of(&windows[other], other, other_text),
                        draft->pool.name);
}

enum hr_status hr__build_maintenance(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *own = hr__get(draft->entry, "maintenance"), *list = hr__inherited(builder, draft->entry, "maintenance");
  if (!list || !list->child) return HR_OK;
  bool is_elastic = hr_market_is_elastic(draft->pool.market.market);
  if (is_elastic && own)
    return hr__build_fail_key(builder, own, "nodes of the market %s have no maintenance: the provider replaces them",
                              hr_market_name(draft->pool.market.market));
  if (is_elastic) return HR_OK;
  uint32_t count = (uint32_t)cJSON_GetArraySize(list), i = 0;
  draft->pool.maintenance = calloc(count, sizeof *draft->pool.maintenance);
  if (!draft->pool.maintenance) return hr__build_no_memory(builder);
  draft->pool.n_maintenance = count;
  enum hr_status status = HR_OK;
  for (const cJSON *entry = list->child; entry && status == HR_OK; entry = entry->next)
    status = build_window(builder, draft, entry, &draft->pool.maintenance[i++]);
  return status == HR_OK ? check_overlap(builder, draft, list) : status;
}
