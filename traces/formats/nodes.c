/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads files about the nodes of a cluster: lists of nodes, and logs of their failures.
 *
 * Nodes of a list with the same GPU type, GPUs, CPUs and memory form one pool.
 */

#include "base/containers.h"
#include "headroom/unstable/failures.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lists of nodes -------------------------------------------------------------------------------- */

struct nodes_node {
  struct hr_text model;
  uint64_t memory_mib;
  uint32_t cpu_milli, gpus;
};

#define NODE(member) offsetof(struct nodes_node, member)
static const struct hr__csv_column columns[] = {{"cpu_milli", NULL, HR__CPU_MILLI, true, true, NODE(cpu_milli), 0},
                                                {"memory_mib", NULL, HR__MIB, true, true, NODE(memory_mib), 0},
                                                {"gpu", NULL, HR__GPUS, true, true, NODE(gpus), 0},
                                                {"model", NULL, HR__TEXT, true, false, NODE(model), 0}};

/* The columns of `pai_machine_spec.csv` of Alibaba's cluster-trace-gpu-v2020, in the published order. The file has
   no header row. CPUs are numbers, memory is in GiB. */
static const struct hr__csv_column pai_columns[] = {{"gpu_type", NULL, HR__TEXT, true, false, NODE(model), 0},
                                                    {"cap_cpu", NULL, HR__CPUS, true, true, NODE(cpu_milli), 0},
                                                    {"cap_mem", NULL, HR__GIB, true, true, NODE(memory_mib), 0},
                                                    {"cap_gpu", NULL, HR__GPUS, true, true, NODE(gpus), 0}};
#undef NODE

/* The kinds of nodes, as pools without names, and the kind of each node. */
struct kinds {
  struct hr__reader *reader;
  struct hr_pool_spec *pool;
  uint32_t n;
  uint64_t n_without_gpu; /* number of nodes without GPUs */
  uint32_t *of_node;      /* [n_nodes] index of the kind of each node, in the order of the list */
  uint32_t n_nodes, capacity;
};

static bool same_kind(const struct hr_pool_spec *pool, const struct nodes_node *node) {
  return pool->gpus_per_node == node->gpus && pool->cpu_milli_per_node == node->cpu_milli &&
         pool->mem_mib_per_node == node->memory_mib && strlen(pool->gpu) == node->model.length &&
         memcmp(pool->gpu, node->model.at, node->model.length) == 0;
}

static enum hr_status add_kind(struct kinds *kinds, const struct nodes_node *node, uint64_t line) {
  if (kinds->n == HR_MAX_POOLS)
    return hr_fail(kinds->reader->error, HR_BAD_INPUT, "%s:%llu: more than %u kinds of nodes", kinds->reader->path,
                   (unsigned long long)line, HR_MAX_POOLS);
  char *gpu = HR__ARRAY_RESIZE(kinds->pool, kinds->n + 1) ? strndup(node->model.at, node->model.length) : NULL;
  if (!gpu) return hr__reader_no_memory(kinds->reader);
  kinds->pool[kinds->n++] = (struct hr_pool_spec){.gpu = gpu,
                                                  .nodes = 1,
                                                  .gpus_per_node = node->gpus,
                                                  .cpu_milli_per_node = node->cpu_milli,
                                                  .mem_mib_per_node = node->memory_mib};
  return HR_OK;
}

static enum hr_status add_node(struct kinds *kinds, uint32_t kind) {
  if (!HR__ARRAY_HAS_ROOM(kinds->of_node, kinds->n_nodes, kinds->capacity)) return hr__reader_no_memory(kinds->reader);
  kinds->of_node[kinds->n_nodes++] = kind;
  return HR_OK;
}

static enum hr_status on_node(void *self, const void *row, uint64_t line) {
  struct kinds *kinds = self;
  const struct nodes_node *node = row;
  if (!node->gpus) {
    kinds->n_without_gpu++;
    return HR_OK;
  }
  if (!node->model.length) {
    struct hr__row_fault fault = {.line = line, .fault = "a node with GPUs has no model"};
    return hr__reader_bad_row(kinds->reader, &fault);
  }
  for (uint32_t i = 0; i < kinds->n; i++) {
    if (!same_kind(&kinds->pool[i], node)) continue;
    kinds->pool[i].nodes++;
    return add_node(kinds, i);
  }
  enum hr_status status = add_kind(kinds, node, line);
  return status == HR_OK ? add_node(kinds, kinds->n - 1) : status;
}

/* ---- Lists of nodes: pools ------------------------------------------------------------------------- */

static bool is_taken(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

/* Adds a pool with a name such as "V100M32-8gpu". If the name is already used, "-2", "-3", ... is appended. */
static enum hr_status add_pool(struct hr_cluster_spec *cluster, struct hr_pool_spec *pool, struct hr_error *error) {
  size_t bytes = strlen(pool->gpu) + 40;
  char *name = malloc(bytes);
  if (!name) return hr_fail(error, HR_NO_MEMORY, "pool '%.60s': out of memory", pool->gpu);
  snprintf(name, bytes, "%s-%ugpu", pool->gpu, pool->gpus_per_node);
  for (unsigned n = 2; is_taken(cluster, name); n++)
    snprintf(name, bytes, "%s-%ugpu-%u", pool->gpu, pool->gpus_per_node, n);
  pool->name = name;
  enum hr_status status = hr_cluster_spec_add(cluster, pool, error);
  pool->name = NULL;
  free(name);
  return status;
}

/* Stores the order of the list in cluster->node_order. The numbers of nodes are in another order: pool by pool. */
static enum hr_status store_order(const struct kinds *kinds, struct hr_cluster_spec *cluster) {
  uint32_t n_before = 0, first_pool = cluster->n_pools - kinds->n;
  for (uint32_t i = 0; i < first_pool; i++) n_before += cluster->pools[i].nodes;
  bool ordered = cluster->node_order != NULL;
  uint32_t *next = malloc(kinds->n * sizeof *next);
  if (!next || !HR__ARRAY_RESIZE(cluster->node_order, (size_t)n_before + kinds->n_nodes)) {
    free(next);
    return hr__reader_no_memory(kinds->reader);
  }
  uint32_t *order = cluster->node_order;
  for (uint32_t i = 0; !ordered && i < n_before; i++) order[i] = i;
  for (uint32_t i = 0, first = n_before; i < kinds->n; first += kinds->pool[i++].nodes) next[i] = first;
  for (uint32_t i = 0; i < kinds->n_nodes; i++) order[next[kinds->of_node[i]]++] = n_before + i;
  free(next);
  return HR_OK;
}

static enum hr_status add_pools(struct kinds *kinds, struct hr_cluster_spec *cluster) {
  struct hr__reader *reader = kinds->reader;
  if (!kinds->n) return hr_fail(reader->error, HR_BAD_INPUT, "%s: no node has a GPU", reader->path);
  for (uint32_t i = 0; i < kinds->n; i++) {
    enum hr_status status = add_pool(cluster, &kinds->pool[i], reader->error);
    if (status != HR_OK) return status;
  }
  enum hr_status status = store_order(kinds, cluster);
  if (status != HR_OK) return status;
  const struct hr__count_note note = {kinds->n_without_gpu, "node without GPUs is", "nodes without GPUs are",
                                      " left out"};
  return hr__reader_note_counts(reader, &note, 1);
}

/* Returns true if the line is from a node list of PAI without a header: it has five fields, and the last field ends
   with a digit. */
static bool is_bare_pai(struct hr_text line) {
  size_t n_commas = 0;
  for (size_t i = 0; i < line.length; i++) n_commas += line.at[i] == ',';
  return n_commas == 4 && line.at[line.length - 1] >= '0' && line.at[line.length - 1] <= '9';
}

static enum hr_status read_nodes(struct kinds *kinds) {
  static const char *const ignored[] = {"sn", NULL}, *const pai_ignored[] = {"machine", NULL};
  static const char *const pai_header[] = {"machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu", NULL};
  static const struct nodes_node blank;
  struct nodes_node node;
  struct hr_text line = hr__first_line(hr__input_peek(kinds->reader->input));
  bool has_header = hr__begins_with_names(line, "machine,"), is_pai = has_header || is_bare_pai(line);
  const struct hr__csv_schema schema = {.columns = is_pai ? pai_columns : columns,
                                        .n_columns = sizeof columns / sizeof *columns,
                                        .ignored = is_pai ? pai_ignored : ignored,
                                        .header = is_pai && !has_header ? pai_header : NULL,
                                        .missing_hint = "a node list has sn,cpu_milli,memory_mib,gpu,model, or "
                                                        "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
                                        .row = &node,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof node,
                                        .on_row = on_node,
                                        .self = kinds};
  return hr__csv_read_rows(kinds->reader, &schema);
}

enum hr_status hr_nodes_read(const char *path, struct hr_cluster_spec *cluster, struct hr_notes *notes,
                             struct hr_error *error) {
  struct hr__reader reader = {.path = path, .notes = notes, .error = error};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status != HR_OK) return status;
  struct kinds kinds = {.reader = &reader};
  status = read_nodes(&kinds);
  if (status == HR_OK) status = add_pools(&kinds, cluster);
  for (uint32_t i = 0; i < kinds.n; i++) free(kinds.pool[i].gpu);
  free(kinds.pool);
  free(kinds.of_node);
  hr__input_close(reader.input);
  return status;
}

/* ---- Logs of failures ------------------------------------------------------------------------------ */

/*
 * Reads logs of failures, which are CSV files. The columns of a file determine its format. Other columns are ignored.
 *
 * | format    | columns                                    | a row                                                  |
 * | --------- | ------------------------------------------ | ------------------------------------------------------ |
 * | events    | node, start, end (or fixed); system, nodes | a failure: dates, or seconds since any instant         |
 * | states    | node, state, start_unix, end_unix          | an interval in which a node is up or down              |
 * | quantiles | state, quantile, seconds                   | a quantile of the intervals of a state                 |
 * | intervals | failure_interval, failure_duration         | ms of operation before a failure, and ms of its repair |
 *
 * Data: an interval that a single row determines is added at once to the samples of the group of the row. Failures with
 * times are stored in `events`. After the last row, the gaps between failures are computed from `events`.
 *
 * Source of the formats: Los Alamos (LA-UR-05-7318), Failure Trace Archive, Cloud Uptime Archive.
 */

static const double hour_us = 3600e6;

enum field {
  SYSTEM,
  NODES,
  NODE,
  START,
  END,
  FIXED,
  STATE,
  START_UNIX,
  END_UNIX,
  QUANTILE,
  SECONDS,
  GAP_MS,
  DURATION_MS,
  N_FIELDS
};
static const char *const names[N_FIELDS] = {
    "system",          "nodes",      "node",     "start",    "end",     "fixed",
    "state",           "start_unix", "end_unix", "quantile", "seconds", "failure_interval",
    "failure_duration"};

struct failure_event {
  uint32_t group, node;     /* node: index of its name in the reader */
  int64_t start_us, end_us; /* end_us: HR_UNKNOWN_US if it is not stated */
};

/* An interval of a node in one state. */
struct node_state {
  uint32_t node;
  int64_t start_us, end_us;
  uint64_t line;
};

/* How the times of a log are written. */
enum time_kind { TIME_UNKNOWN, TIME_DATE, TIME_SECONDS };

struct log_reader {
  const char *path;
  struct hr__input *input;
  struct hr_failure_log *log;
  struct failure_event *events;
  struct hr__name_table nodes; /* names as "GROUP/NAME", in the order of their first rows */
  char *key;                   /* the name that was searched last */
  uint32_t n_events, events_capacity, groups_capacity, key_capacity;
  uint32_t place[N_FIELDS];    /* position in a row; HR_NONE: no such column */
  struct failure_event *turns; /* failures of a log of intervals, in the order of the rows */
  uint32_t n_turns, turns_capacity;
  int64_t clock_us;          /* end of the last failure in `turns` */
  struct node_state *states; /* intervals of a log of states */
  uint32_t n_states, states_capacity;
  enum time_kind time_kind; /* kind of the times of events */
  /* value and state of the previous row of a log of quantiles; undefined unless has_quantile is set */
  double last_quantile_h;
  bool last_up, has_quantile;
  struct hr_error *error;
};

/* ---- Logs of failures: fields ---------------------------------------------------------------------- */

static enum hr_status no_memory(const struct log_reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

static enum hr_status bad_field(const struct log_reader *reader, enum field field, const char *expected,
                                struct hr_text found) {
  char quoted[HR__QUOTE_BYTES];
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s': expected %s, found '%s'", reader->path,
                 hr__input_line_number(reader->input), names[field], expected, hr__quote(found, quoted));
}

/* Returns the field at a position without surrounding quotes; an empty text if the row is shorter. */
static struct hr_text field_at(struct hr_text line, uint32_t position) {
  struct hr_text field = hr__comma_field(line, position);
  if (!field.at) return (struct hr_text){line.at, 0};
  bool quoted = field.length >= 2 && field.at[0] == '"' && field.at[field.length - 1] == '"';
  return (struct hr_text){field.at + quoted, field.length - 2 * (size_t)quoted};
}

static struct hr_text text_of(const struct log_reader *reader, struct hr_text line, enum field field) {
  return reader->place[field] == HR_NONE ? (struct hr_text){line.at, 0} : field_at(line, reader->place[field]);
}

/* Parses a time: a date, or a number of units of `factor` microseconds. */
static enum hr_status read_time(const struct log_reader *reader, struct hr_text line, enum field field, uint64_t factor,
                                int64_t *us) {
  const struct hr__number_rule rule = {.factor = factor, .max = (uint64_t)INT64_MAX};
  struct hr_text text = text_of(reader, line, field);
  uint64_t value = 0;
  bool zoned;
  if (text.length && hr__number_parse(text, &rule, &value) == HR__NUMBER_FINE) {
    *us = (int64_t)value;
    return HR_OK;
  }
  if (factor == HR_SECOND_US && hr__date_parse(text, us, &zoned)) return HR_OK;
  return bad_field(reader, field,
                   factor == HR_SECOND_US ? "a date such as 2005-06-21T10:54, or seconds of at least 0"
                                          : "a number of at least 0",
                   text);
}

/* Parses a time of an event. All times of a log must be dates, or all must be seconds. */
static enum hr_status read_event_time(struct log_reader *reader, struct hr_text line, enum field field, int64_t *us) {
  const struct hr_text text = text_of(reader, line, field);
  enum hr_status status = read_time(reader, line, field, HR_SECOND_US, us);
  if (status != HR_OK) return status;
  int64_t date_us;
  bool zoned;
  const enum time_kind kind = hr__date_parse(text, &date_us, &zoned) ? TIME_DATE : TIME_SECONDS;
  if (reader->time_kind == TIME_UNKNOWN) reader->time_kind = kind;
  if (reader->time_kind == kind) return HR_OK;
  return bad_field(reader, field,
                   kind == TIME_DATE ? "seconds, as in the times before" : "a date, as in the times before", text);
}

/* ---- Logs of failures: intervals from events ------------------------------------------------------- */

/* The events of a group are sorted twice: by time for the gaps of the system, and by node and time for the gaps of
   nodes. Then the intervals of each group, and of all groups together, are sorted by length. */

/* Adds an interval to a sample. Intervals of length 0 are only counted. Returns false if memory is exhausted. */
static bool sample_add(struct hr_failure_sample *sample, double hours) {
  if (!(hours > 0)) {
    sample->zeros++;
    return true;
  }
  if (!HR__ARRAY_HAS_ROOM(sample->hours, sample->count, sample->capacity)) return false;
  sample->hours[sample->count++] = hours;
  return true;
}

static int by_time(const void *a, const void *b) {
  const struct failure_event *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

static int by_node(const void *a, const void *b) {
  const struct failure_event *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->start_us != y->start_us) return x->start_us < y->start_us ? -1 : 1;
  return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x < y) - (x > y);
}

/* Returns the share of failures on the 5 % of the nodes with the most failures (at least one node); NaN without
   failures. `counts` has the number of failures of each node that failed, and is sorted in place. */
static double top_share(uint32_t *counts, uint32_t n_counts, uint32_t nodes) {
  uint32_t sum = 0, top = 0, n_top = nodes < 20 ? 1 : (nodes + 10) / 20;
  qsort(counts, n_counts, sizeof *counts, by_count);
  for (uint32_t i = 0; i < n_counts; i++) {
    sum += counts[i];
    if (i < n_top) top += counts[i];
  }
  return sum ? (double)top / sum : (double)NAN;
}

/* Adds the gaps between failures of a system. `events` contains the `n` failures of one group, sorted by time. */
static bool add_system_gaps(struct hr_failure_group *group, const struct failure_event *events, uint32_t n) {
  group->failures = n;
  group->span_days = (double)(events[n - 1].start_us - events[0].start_us) / (24 * hour_us);
  for (uint32_t i = 1; i < n; i++)
    if (!sample_add(&group->samples[HR_FAILURE_SYSTEM_GAP],
                    (double)(events[i].start_us - events[i - 1].start_us) / hour_us))
      return false;
  return true;
}

/* Adds the gaps between failures of the same node. `events` contains the failures of one group, sorted by node and
   time; failures with an unknown node are last. */
static bool add_node_gaps(struct hr_failure_group *group, const struct failure_event *events, uint32_t n) {
  uint32_t n_nodes = 0;
  uint32_t *counts = calloc((size_t)n + 1, sizeof *counts);
  bool added = counts != NULL;
  for (uint32_t i = 0; added && i < n && events[i].node != HR_NONE; i++) {
    bool same = i > 0 && events[i].node == events[i - 1].node;
    n_nodes += !same;
    counts[n_nodes - 1]++;
    group->duplicates +=
        same && events[i].start_us == events[i - 1].start_us && events[i].end_us == events[i - 1].end_us;
    if (same)
      added = sample_add(&group->samples[HR_FAILURE_NODE_GAP],
                         (double)(events[i].start_us - events[i - 1].start_us) / hour_us);
  }
  if (n_nodes > group->nodes) group->nodes = n_nodes;
  if (added && n_nodes) group->top_share = top_share(counts, n_nodes, group->nodes);
  free(counts);
  return added;
}

static bool add_gaps(struct hr_failure_log *log, struct failure_event *all, uint32_t n_all,
                     int (*order)(const void *, const void *),
                     bool (*add)(struct hr_failure_group *, const struct failure_event *, uint32_t)) {
  if (n_all) qsort(all, n_all, sizeof *all, order);
  for (uint32_t first = 0, next; first < n_all; first = next) {
    const struct failure_event *events = all + first;
    for (next = first; next < n_all && all[next].group == events->group;) next++;
    if (!add(&log->groups[events->group], events, next - first)) return false;
  }
  return true;
}

/* Adds the counts and intervals of a group to the group `all`. Returns false if memory is exhausted. */
static bool add_to_all(struct hr_failure_group *all, const struct hr_failure_group *group) {
  all->nodes += group->nodes;
  all->failures += group->failures;
  all->dropped += group->dropped;
  all->duplicates += group->duplicates;
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    const struct hr_failure_sample *from = &group->samples[kind];
    struct hr_failure_sample *to = &all->samples[kind];
    to->zeros += from->zeros;
    if (from->count == 0) continue;
    if (!HR__ARRAY_RESIZE(to->hours, (size_t)to->count + from->count)) return false;
    memcpy(to->hours + to->count, from->hours, from->count * sizeof *to->hours);
    to->count += from->count;
  }
  return true;
}

static void sort_samples(struct hr_failure_group *group) {
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    struct hr_failure_sample *sample = &group->samples[kind];
    if (sample->count) qsort(sample->hours, sample->count, sizeof *sample->hours, by_size);
  }
}

/* Sorts the events and adds the gaps between the events of each group. Then adds up the groups in log->all. Returns
   false if memory is exhausted. */
static bool groups_finish(struct hr_failure_log *log, struct failure_event *events, uint32_t n_events) {
  const bool gaps = add_gaps(log, events, n_events, by_time, add_system_gaps) &&
                    add_gaps(log, events, n_events, by_node, add_node_gaps);
  log->all = (struct hr_failure_group){.name = strdup("all"), .top_share = (double)NAN};
  bool added = log->all.name != NULL;
  for (uint32_t i = 0; i < log->n_groups && added; i++) {
    sort_samples(&log->groups[i]);
    added = add_to_all(&log->all, &log->groups[i]);
  }
  sort_samples(&log->all);
  return gaps && added;
}

/* ---- Logs of failures: groups, nodes, intervals ---------------------------------------------------- */

static enum hr_status find_group(struct log_reader *reader, struct hr_text name, uint32_t *group) {
  struct hr_failure_log *log = reader->log;
  for (uint32_t i = log->n_groups; i-- > 0;) {
    *group = i;
    if (hr__text_is(name, log->groups[i].name)) return HR_OK;
  }
  if (!HR__ARRAY_HAS_ROOM(log->groups, log->n_groups, reader->groups_capacity)) return no_memory(reader);
  char *copy = strndup(name.at, name.length);
  if (!copy) return no_memory(reader);
  log->groups[log->n_groups] = (struct hr_failure_group){.name = copy, .top_share = (double)NAN};
  *group = log->n_groups++;
  return HR_OK;
}

static enum hr_status find_node(struct log_reader *reader, uint32_t group, struct hr_text name, uint32_t *node) {
  size_t bytes = name.length + 12;
  if (!HR__ARRAY_HAS_ROOM_FOR(reader->key, bytes, reader->key_capacity)) return no_memory(reader);
  int length = snprintf(reader->key, bytes, "%" PRIu32 "/%.*s", group, (int)name.length, name.at);
  *node = hr__names_intern(&reader->nodes, reader->key, (size_t)length);
  return *node == HR_NONE ? no_memory(reader) : HR_OK;
}

/* ---- Logs of failures: rows ------------------------------------------------------------------------ */

/* Reads the number of nodes of the system from a row; 0 if the field is empty. */
static enum hr_status read_node_count(const struct log_reader *reader, struct hr_text line, uint32_t *nodes) {
  static const struct hr__number_rule rule = {.factor = 1, .max = UINT32_MAX, .whole = true};
  struct hr_text text = text_of(reader, line, NODES);
  uint64_t value = 0;
  if (text.length && hr__number_parse(text, &rule, &value) != HR__NUMBER_FINE)
    return bad_field(reader, NODES, "a whole number of at least 0", text);
  *nodes = (uint32_t)value;
  return HR_OK;
}

static enum hr_status add_repair(struct log_reader *reader, uint32_t group, int64_t us) {
  struct hr_failure_group *self = &reader->log->groups[group];
  if (us <= 0) {
    self->dropped++;
    return HR_OK;
  }
  return sample_add(&self->samples[HR_FAILURE_REPAIR], (double)us / hour_us) ? HR_OK : no_memory(reader);
}

static enum hr_status read_event(struct log_reader *reader, struct hr_text line) {
  enum field end_field = reader->place[END] != HR_NONE ? END : FIXED;
  struct failure_event event = {.node = HR_NONE, .end_us = HR_UNKNOWN_US};
  uint32_t nodes = 0;
  int64_t end_us;
  struct hr_text node = text_of(reader, line, NODE);
  enum hr_status status = find_group(reader, text_of(reader, line, SYSTEM), &event.group);
  if (status == HR_OK) status = read_event_time(reader, line, START, &event.start_us);
  if (status == HR_OK) status = read_node_count(reader, line, &nodes);
  if (status == HR_OK && node.length) status = find_node(reader, event.group, node, &event.node);
  if (status == HR_OK && text_of(reader, line, end_field).length) {
    status = read_event_time(reader, line, end_field, &end_us);
    if (status == HR_OK) status = add_repair(reader, event.group, end_us - event.start_us);
    event.end_us = end_us;
  }
  if (status != HR_OK) return status;
  if (nodes > reader->log->groups[event.group].nodes) reader->log->groups[event.group].nodes = nodes;
  if (!HR__ARRAY_HAS_ROOM(reader->events, reader->n_events, reader->events_capacity)) return no_memory(reader);
  reader->events[reader->n_events++] = event;
  return HR_OK;
}

static enum hr_status read_up(const struct log_reader *reader, struct hr_text line, bool *up) {
  struct hr_text state = text_of(reader, line, STATE);
  *up = hr__text_is(state, "up");
  return *up || hr__text_is(state, "down") ? HR_OK : bad_field(reader, STATE, "up or down", state);
}

static enum hr_status read_state(struct log_reader *reader, struct hr_text line) {
  int64_t start_us = 0, end_us = 0;
  uint32_t group, node = 0;
  bool up;
  enum hr_status status = find_group(reader, (struct hr_text){"", 0}, &group);
  if (status == HR_OK) status = read_up(reader, line, &up);
  if (status == HR_OK) status = find_node(reader, group, text_of(reader, line, NODE), &node);
  if (status == HR_OK) status = read_time(reader, line, START_UNIX, HR_SECOND_US, &start_us);
  if (status == HR_OK) status = read_time(reader, line, END_UNIX, HR_SECOND_US, &end_us);
  if (status != HR_OK) return status;
  struct hr_failure_group *self = &reader->log->groups[group];
  if (end_us <= start_us) {
    self->dropped++;
    return HR_OK;
  }
  enum hr_failure_interval kind = up ? HR_FAILURE_UP_TIME : HR_FAILURE_REPAIR;
  if (!sample_add(&self->samples[kind], (double)(end_us - start_us) / hour_us)) return no_memory(reader);
  if (!HR__ARRAY_HAS_ROOM(reader->states, reader->n_states, reader->states_capacity)) return no_memory(reader);
  reader->states[reader->n_states++] =
      (struct node_state){node, start_us, end_us, hr__input_line_number(reader->input)};
  if (up || !HR__ARRAY_HAS_ROOM(reader->events, reader->n_events, reader->events_capacity))
    return up ? HR_OK : no_memory(reader);
  reader->events[reader->n_events++] = (struct failure_event){group, node, start_us, end_us};
  return HR_OK;
}

/* Adds one interval for each pair of consecutive quantiles: their geometric mean. */
static enum hr_status read_quantile(struct log_reader *reader, struct hr_text line) {
  int64_t us = 0, place = 0;
  uint32_t group;
  bool up;
  enum hr_status status = find_group(reader, (struct hr_text){"", 0}, &group);
  if (status == HR_OK) status = read_up(reader, line, &up);
  if (status == HR_OK) status = read_time(reader, line, QUANTILE, HR_SECOND_US, &place);
  if (status == HR_OK) status = read_time(reader, line, SECONDS, HR_SECOND_US, &us);
  if (status != HR_OK) return status;
  if (place > HR_SECOND_US) return bad_field(reader, QUANTILE, "a number from 0 to 1", text_of(reader, line, QUANTILE));
  double hours = (double)us / hour_us;
  bool first = !reader->has_quantile || up != reader->last_up;
  if (!first && hours < reader->last_quantile_h)
    return bad_field(reader, SECONDS, "at least the previous quantile", text_of(reader, line, SECONDS));
  enum hr_failure_interval kind = up ? HR_FAILURE_UP_TIME : HR_FAILURE_REPAIR;
  bool added = first || sample_add(&reader->log->groups[group].samples[kind], sqrt(hours * reader->last_quantile_h));
  reader->last_quantile_h = hours;
  reader->last_up = up;
  reader->has_quantile = true;
  return added ? HR_OK : no_memory(reader);
}

/* Returns true if a field is a number below 0. */
static bool is_negative(const struct log_reader *reader, struct hr_text line, enum field field) {
  static const struct hr__number_rule rule = {.factor = 1000, .max = (uint64_t)INT64_MAX};
  struct hr_text text = text_of(reader, line, field);
  uint64_t value;
  if (text.length < 2 || text.at[0] != '-') return false;
  return hr__number_parse((struct hr_text){text.at + 1, text.length - 1}, &rule, &value) == HR__NUMBER_FINE;
}

/* Reads a row of a log of intervals. The interval before a failure begins at the end of the previous failure, as in
   OpenDC, which replays these logs. Some logs of the archive have negative intervals; these rows are left out. */
static enum hr_status read_interval(struct log_reader *reader, struct hr_text line) {
  int64_t gap_us = 0, repair_us = 0;
  uint32_t group;
  enum hr_status status = find_group(reader, (struct hr_text){"", 0}, &group);
  if (status == HR_OK && (is_negative(reader, line, GAP_MS) || is_negative(reader, line, DURATION_MS))) {
    reader->log->n_negative++;
    return HR_OK;
  }
  if (status == HR_OK) status = read_time(reader, line, GAP_MS, 1000, &gap_us);
  if (status == HR_OK) status = read_time(reader, line, DURATION_MS, 1000, &repair_us);
  if (status != HR_OK) return status;
  struct hr_failure_group *self = &reader->log->groups[group];
  if (gap_us > (INT64_MAX >> 2) - reader->clock_us || repair_us > (INT64_MAX >> 2))
    return bad_field(reader, GAP_MS, "intervals of less than 70,000 years", text_of(reader, line, GAP_MS));
  self->failures++;
  reader->clock_us += gap_us;
  if (!HR__ARRAY_HAS_ROOM(reader->turns, reader->n_turns, reader->turns_capacity)) return no_memory(reader);
  uint32_t turn = reader->n_turns++;
  reader->turns[turn] = (struct failure_event){group, turn, reader->clock_us, reader->clock_us + repair_us};
  reader->clock_us += repair_us;
  const struct {
    enum hr_failure_interval kind;
    int64_t us;
  } parts[] = {{HR_FAILURE_SYSTEM_GAP, gap_us}, {HR_FAILURE_REPAIR, repair_us}};
  for (int i = 0; i < 2; i++)
    if (!sample_add(&self->samples[parts[i].kind], (double)parts[i].us / hour_us)) return no_memory(reader);
  return HR_OK;
}

/* ---- Logs of failures: the header ------------------------------------------------------------------ */

static const struct log_format {
  const char *name;
  enum field needed[4];
  uint32_t n_needed;
  enum hr_status (*row)(struct log_reader *reader, struct hr_text line);
} formats[] = {{"states", {NODE, STATE, START_UNIX, END_UNIX}, 4, read_state},
               {"quantiles", {STATE, QUANTILE, SECONDS}, 3, read_quantile},
               {"intervals", {GAP_MS, DURATION_MS}, 2, read_interval},
               {"events", {NODE, START, FIXED}, 3, read_event},
               {"events", {NODE, START, END}, 3, read_event}};

static enum hr_status read_header(struct log_reader *reader, struct hr_text line, const struct log_format **format) {
  for (unsigned f = 0; f < N_FIELDS; f++) {
    reader->place[f] = HR_NONE;
    uint32_t commas = 0;
    for (size_t i = 0; i < line.length; i++) commas += line.at[i] == ',';
    for (uint32_t position = 0; position <= commas; position++)
      if (hr__text_is(field_at(line, position), names[f])) reader->place[f] = position;
  }
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    bool has_all = true;
    for (uint32_t k = 0; k < formats[i].n_needed; k++) has_all &= reader->place[formats[i].needed[k]] != HR_NONE;
    if (!has_all) continue;
    *format = &formats[i];
    return HR_OK;
  }
  char quoted[HR__QUOTE_BYTES];
  return hr_fail(reader->error, HR_BAD_INPUT,
                 "%s:%" PRIu64 ": no known log of failures; expected the columns node,start,end (or fixed), "
                 "node,state,start_unix,end_unix, state,quantile,seconds or failure_interval,failure_duration; found "
                 "'%s'",
                 reader->path, hr__input_line_number(reader->input), hr__quote(line, quoted));
}

/* ---- Logs of failures: after the last row ---------------------------------------------------------- */

static int by_node_and_start(const void *a, const void *b) {
  const struct node_state *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->start_us != y->start_us) return x->start_us < y->start_us ? -1 : 1;
  return (x->line > y->line) - (x->line < y->line);
}

/* Checks that the intervals of a node, up or down, do not overlap. */
static enum hr_status check_states(struct log_reader *reader) {
  struct node_state *states = reader->states;
  if (reader->n_states) qsort(states, reader->n_states, sizeof *states, by_node_and_start);
  for (uint32_t i = 1; i < reader->n_states; i++) {
    if (states[i].node != states[i - 1].node || states[i].start_us >= states[i - 1].end_us) continue;
    bool later = states[i].line > states[i - 1].line;
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": this interval of node '%.60s' overlaps the one in line %" PRIu64
                   "; a node is in one state at a time",
                   reader->path, states[later ? i : i - 1].line, strchr(reader->nodes.text[states[i].node], '/') + 1,
                   states[later ? i - 1 : i].line);
  }
  return HR_OK;
}

static enum hr_status finish_groups(struct log_reader *reader) {
  if (reader->n_events == 0 && reader->log->n_groups == 0)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: no failures", reader->path);
  const bool finished = groups_finish(reader->log, reader->events, reader->n_events);
  return finished ? HR_OK : no_memory(reader);
}

/* ---- Logs of failures: the whole log --------------------------------------------------------------- */

static enum hr_status read_rows(struct log_reader *reader) {
  const struct log_format *format = NULL;
  for (;;) {
    struct hr_text line;
    enum hr_status status = hr__input_line(reader->input, &line, reader->error);
    if (status != HR_OK || !line.at) return status;
    line = hr__without_end(line);
    if (line.length == 0 || line.at[0] == '#') continue;
    status = format ? format->row(reader, line) : read_header(reader, line, &format);
    if (status != HR_OK) return status;
    reader->log->format = format->name;
  }
}

/* Reads all rows, and checks that the states of nodes do not overlap. */
static enum hr_status read_log(struct log_reader *reader) {
  enum hr_status status = hr__input_open(reader->path, &reader->input, reader->error);
  if (status == HR_OK) status = read_rows(reader);
  return status == HR_OK ? check_states(reader) : status;
}

static void reader_finish(struct log_reader *reader) {
  hr__input_close(reader->input);
  hr__names_finish(&reader->nodes);
  free(reader->key);
  free(reader->events);
  free(reader->turns);
  free(reader->states);
}

enum hr_status hr_failure_log_read(const char *path, struct hr_failure_log *log, struct hr_error *error) {
  struct log_reader reader = {.path = path, .log = log, .error = error};
  *log = (struct hr_failure_log){0};
  enum hr_status status = read_log(&reader);
  if (status == HR_OK) status = finish_groups(&reader);
  reader_finish(&reader);
  if (status != HR_OK) hr_failure_log_finish(log);
  return status;
}

static void group_finish(struct hr_failure_group *group) {
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) free(group->samples[kind].hours);
  free(group->name);
}

void hr_failure_log_finish(struct hr_failure_log *log) {
  for (uint32_t i = 0; i < log->n_groups; i++) group_finish(&log->groups[i]);
  group_finish(&log->all);
  free(log->groups);
  *log = (struct hr_failure_log){0};
}

/* ---- Logs of failures: events for a replay --------------------------------------------------------- */

/* Copies the failures of a system, or of all systems if `group` is HR_NONE. Failures without a node or an end, and
   those that end before they start, are only counted. Nodes are numbered in the order of their rows. */
static enum hr_status copy_events(struct log_reader *reader, uint32_t group, struct hr_failure_events *to) {
  const struct failure_event *from = reader->n_events ? reader->events : reader->turns;
  uint32_t n = reader->n_events ? reader->n_events : reader->n_turns, n_names = reader->nodes.count + reader->n_turns;
  uint32_t *numbers = calloc((size_t)n_names + 1, sizeof *numbers); /* number + 1 */
  to->events = calloc((size_t)n + 1, sizeof *to->events);
  bool made = numbers && to->events;
  to->first_us = INT64_MAX;
  to->in_turn = reader->n_events == 0 && reader->n_turns > 0;
  to->n_negative = reader->log->n_negative;
  for (uint32_t i = 0; made && i < n; i++) {
    if (group != HR_NONE && from[i].group != group) continue;
    if (from[i].node == HR_NONE) {
      to->n_no_node++;
      continue;
    }
    if (from[i].end_us == HR_UNKNOWN_US) {
      to->n_no_end++;
      continue;
    }
    if (from[i].end_us < from[i].start_us) {
      to->n_backwards++;
      continue;
    }
    if (!numbers[from[i].node]) numbers[from[i].node] = ++to->n_nodes;
    to->events[to->count++] =
        (struct hr_failure_event){numbers[from[i].node] - 1, from[i].start_us, from[i].end_us - from[i].start_us};
    if (from[i].start_us < to->first_us) to->first_us = from[i].start_us;
  }
  free(numbers);
  if (to->in_turn) to->first_us = 0; /* the first interval begins with the log */
  return made ? HR_OK : no_memory(reader);
}

enum hr_status hr_failure_events_read(const char *path, const char *system, struct hr_failure_events *events,
                                      struct hr_error *error) {
  struct hr_failure_log log = {0};
  struct log_reader reader = {.path = path, .log = &log, .error = error};
  uint32_t group = HR_NONE;
  *events = (struct hr_failure_events){0};
  enum hr_status status = read_log(&reader);
  for (uint32_t i = 0; system && i < log.n_groups; i++)
    if (strcmp(log.groups[i].name, system) == 0) group = i;
  if (status == HR_OK && system && group == HR_NONE)
    status = hr_fail(error, HR_BAD_INPUT, "%s: no system '%.60s'", path, system);
  if (status == HR_OK) status = copy_events(&reader, group, events);
  if (status == HR_OK && events->count == 0)
    status = hr_fail(error, HR_BAD_INPUT,
                     "%s: no failures with a node and an end; a log of quantiles cannot be replayed", path);
  reader_finish(&reader);
  hr_failure_log_finish(&log);
  if (status != HR_OK) hr_failure_events_finish(events);
  return status;
}

void hr_failure_events_finish(struct hr_failure_events *events) {
  free(events->events);
  *events = (struct hr_failure_events){0};
}
