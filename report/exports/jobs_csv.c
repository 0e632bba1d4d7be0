/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CSV files of a run: the jobs (one row per job), the timeline (one row per change of counts), and a table of values
 * that a modelled scheduler computed. The observer `hr_placements` records where jobs ran, for the file of jobs.
 *
 * Placements. Most jobs run on one node with whole GPUs. For such a job, only the index of the node is stored, unless
 * the cluster has per-GPU allocation. The slices of all other jobs are stored in one array. Memory: 12 bytes per job
 * and 24 bytes per slice.
 *
 * Jobs. The jobs of a trace in memory are sorted by submit time. Rows are written in the order of the input file, so
 * that the CSV file and the input file can be compared line by line.
 *
 * Timeline. An instant may have several passes, for example because a job with a run time of 0 ends when it starts. The
 * counts of an instant are therefore kept in `pending` and written when time advances, so every time occurs in at most
 * one row.
 */

#include "base/containers.h"
#include "base/output_file.h"
#include "headroom/power.h"
#include "headroom/report.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/series.h"
#include "report/exports/exports.h"
#include "report/metrics/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Placements ------------------------------------------------------------------------------------ */

/* Special values of `count`. NEVER_PLACED: the job never started. POOL_ONLY: the placement has a pool but no slices.
   WHOLE_ON_NODE: the placement has whole GPUs on one node. Other values, which are at most MAX_SLICES, are numbers of
   slices. */
enum { NEVER_PLACED = 0, MAX_SLICES = 1 << 30, POOL_ONLY, WHOLE_ON_NODE };

struct entry {
  uint32_t place; /* WHOLE_ON_NODE: the node; otherwise the index of the first slice */
  /* number of slices, or one of the special values above */
  uint32_t count;
  uint32_t pool;
};

struct hr_placements {
  const struct hr_trace *trace;
  struct entry *entry; /* [n_jobs] */
  struct hr_slice *slices;
  uint32_t n_slices, capacity;
  bool failed;
};

struct hr_placements *hr_placements_create(const struct hr_trace *trace) {
  struct hr_placements *placements = calloc(1, sizeof *placements);
  if (!placements) return NULL;
  placements->trace = trace;
  placements->entry = calloc((size_t)trace->n_jobs + 1, sizeof *placements->entry);
  if (placements->entry) return placements;
  free(placements);
  return NULL;
}

void hr_placements_destroy(struct hr_placements *placements) {
  if (!placements) return;
  free(placements->entry);
  free(placements->slices);
  free(placements);
}

/* Compares slices by node. Each task has its own slice, so several slices may have the same node. */
static int by_node(const void *a, const void *b) {
  uint32_t x = ((const struct hr_slice *)a)->node.id, y = ((const struct hr_slice *)b)->node.id;
  return (x > y) - (x < y);
}

static bool add_slices(struct hr_placements *placements, const struct hr_placement *placement) {
  if (placement->n_slices > MAX_SLICES) return false;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!HR__ARRAY_HAS_ROOM(placements->slices, placements->n_slices, placements->capacity)) return false;
    placements->slices[placements->n_slices++] = placement->slices[i];
  }
  return true;
}

/* Stores the slices of a placement, sorted by node. If the previous placement of the job had the same number of slices,
   it is overwritten. */
static void store_slices(struct hr_placements *placements, struct entry *entry, const struct hr_placement *placement) {
  uint32_t count = placement->n_slices;
  if (entry->count == count) {
    memcpy(placements->slices + entry->place, placement->slices, count * sizeof *placement->slices);
  } else {
    entry->place = placements->n_slices;
    if (!add_slices(placements, placement)) {
      placements->failed = true;
      return;
    }
  }
  qsort(placements->slices + entry->place, count, sizeof *placement->slices, by_node);
  *entry = (struct entry){entry->place, count, placement->pool.id};
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_placements *placements = self;
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  const struct hr_placement *placement = event->placement;
  struct entry *entry = &placements->entry[event->job.id];
  uint64_t whole_milli = (uint64_t)placements->trace->gpus[event->job.id] * 1000;
  if (placement->n_slices == 0)
    *entry = (struct entry){0, POOL_ONLY, placement->pool.id};
  else if (placement->n_slices == 1 && placement->slices[0].gpu_milli == whole_milli && !placement->slices[0].gpus)
    *entry = (struct entry){placement->slices[0].node.id, WHOLE_ON_NODE, placement->pool.id};
  else
    store_slices(placements, entry, placement);
}

struct hr_observer hr_placements_observer(struct hr_placements *placements) {
  return (struct hr_observer){.self = placements, .on_event = on_event};
}

/* Returns whether a placement was lost because memory ran out. */
static bool placements_failed(const struct hr_placements *placements) {
  return placements->failed;
}

/* Returns the placement of the last attempt of a job in *placement. A placement on whole GPUs of one node is stored
   without a slice; its slice is created in *one. Returns false if the job never started. */
static bool placements_get(const struct hr_placements *placements, hr_job job, struct hr_slice *one,
                           struct hr_placement *placement) {
  const struct entry *entry = &placements->entry[job.id];
  *placement = (struct hr_placement){.pool = {entry->pool}};
  if (entry->count == NEVER_PLACED) return false;
  if (entry->count == POOL_ONLY) return true;
  if (entry->count == WHOLE_ON_NODE) {
    *one = (struct hr_slice){{entry->place}, placements->trace->gpus[job.id] * 1000, 0, {0}};
    placement->n_slices = 1;
    placement->slices = one;
    return true;
  }
  placement->n_slices = entry->count;
  placement->slices = placements->slices + entry->place;
  return true;
}

/* ---- Jobs ------------------------------------------------------------------------------------------ */

#define COLUMNS                                                                                                        \
  "job_id,submit_s,start_s,end_s,wait_s,gpus,nodes,state,reason,tenant,user,class,outcome,"                            \
  "pool,placement,limit_s,duration_s"
#define COLUMNS_OF_ATTEMPTS ",attempts,lost_s,checkpoint_s,restart_s,requeue_wait_s,cost_usd"
#define COLUMNS_OF_KILLS ",oom_kills"
#define COLUMNS_OF_SLOTS ",seats"
#define COLUMNS_OF_CLUSTERS ",cluster"
#define COLUMNS_OF_ENERGY ",energy_kwh"
#define COLUMNS_OF_CARBON ",carbon_kg"
#define COLUMNS_OF_RESIZES ",resizes,gpu_s"

struct jobs_out {
  struct hr__csv_out csv;
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_placements *placements;
  const struct hr_ledger *ledger;
  int64_t clock_us; /* added to every time, so that times match those of the input */
  bool has_attempts, has_kills, has_slots, has_energy, has_carbon;
};

static void put_id(struct jobs_out *out, hr_job job) {
  const struct hr_trace *trace = out->trace;
  if (trace->id_text)
    hr__csv_text(&out->csv, trace->id_text[job.id]);
  else if (trace->id_number)
    hr__csv_i64(&out->csv, trace->id_number[job.id]);
  else
    hr__csv_u64(&out->csv, (trace->row ? trace->row[job.id] : job.id) + UINT64_C(1));
}

/* Writes an energy in kWh, a power in kW, or a mass of carbon in kg, with six decimals. */
static void put_quantity(struct hr__csv_out *csv, double value) {
  char text[HR__NUMBER_BYTES];
  hr__csv_begin_field(csv);
  snprintf(text, sizeof text, "%.6f", value);
  hr__csv_part(csv, text);
}

static void put_seconds_if(struct jobs_out *out, bool known, int64_t us) {
  if (known)
    hr__csv_seconds(&out->csv, us);
  else
    hr__csv_empty(&out->csv);
}

static void put_times(struct jobs_out *out, hr_job job) {
  int64_t submit_us = out->trace->submit_us[job.id], start_us = out->result->start_us[job.id];
  int64_t end_us = hr_result_end_us(out->result, job);
  bool started = start_us != HR_NEVER_US, ended = end_us != HR_NEVER_US;
  hr__csv_seconds(&out->csv, submit_us + out->clock_us);
  put_seconds_if(out, started, started ? start_us + out->clock_us : 0);
  put_seconds_if(out, ended, ended ? end_us + out->clock_us : 0);
  put_seconds_if(out, started, started ? start_us - submit_us : 0);
}

static void put_name(struct jobs_out *out, const uint32_t *column, const struct hr_names *names, hr_job job) {
  uint32_t name = column ? column[job.id] : HR_NONE;
  hr__csv_text(&out->csv, name == HR_NONE ? NULL : names->text[name]);
}

static void put_facts(struct jobs_out *out, hr_job job) {
  const struct hr_trace *trace = out->trace;
  hr__csv_text(&out->csv, hr_result_state_name(out->result, job));
  hr__csv_text(&out->csv, hr_reason_name((enum hr_reason)out->result->reason[job.id]));
  put_name(out, trace->tenant, &trace->tenants, job);
  put_name(out, trace->user, &trace->users, job);
  hr__csv_text(&out->csv, trace->class_ ? hr_job_class_name((enum hr_job_class)trace->class_[job.id]) : NULL);
  hr__csv_text(&out->csv, trace->outcome ? hr_outcome_name((enum hr_outcome)trace->outcome[job.id]) : NULL);
}

/* Appends "NODE:GPUS" to the current field. Writes a '|' before it unless it is the first slice of the field. */
static void put_slice(struct hr__csv_out *csv, bool first, uint32_t node, uint32_t gpu_milli) {
  char *at = hr__out_room(&csv->out, 2 * HR__NUMBER_BYTES);
  if (!first) *at++ = '|';
  at = hr__put_u64(at, node);
  *at++ = ':';
  hr__out_to(&csv->out, hr__put_thousandths(at, gpu_milli));
}

static void put_placement(struct jobs_out *out, const struct hr_placement *placement) {
  hr__csv_text(&out->csv, out->cluster->pools[placement->pool.id].name);
  hr__csv_begin_field(&out->csv);
  for (uint32_t i = 0; i < placement->n_slices;) {
    uint32_t node = placement->slices[i].node.id, gpu_milli = 0;
    bool is_first = i == 0;
    for (; i < placement->n_slices && placement->slices[i].node.id == node; i++)
      gpu_milli += placement->slices[i].gpu_milli;
    put_slice(&out->csv, is_first, node, gpu_milli);
  }
}

/* Writes the columns that exist only in runs with interruptions or prices. The requeue wait is the time from the first
   start to the end of the job or run, minus the time in which the job held GPUs. */
static void put_attempts(struct jobs_out *out, hr_job job) {
  const struct hr_result *result = out->result;
  int64_t start_us = result->start_us[job.id], end_us = hr_result_end_us(result, job);
  bool started = start_us != HR_NEVER_US;
  struct hr_job_accounting account = {.attempts = started};
  if (result->account) account = hr_result_accounting(result, job);
  const struct hr_job_accounting *accounting = &account;
  if (end_us == HR_NEVER_US) end_us = result->end_us;
  hr__csv_u64(&out->csv, accounting->attempts);
  put_seconds_if(out, started, accounting->lost_us);
  put_seconds_if(out, started, accounting->saving_us);
  put_seconds_if(out, started, accounting->restarting_us);
  put_seconds_if(out, started, result->account && started ? end_us - start_us - accounting->held_us : 0);
  if (out->ledger && started)
    hr__csv_usd(&out->csv, (int64_t)hr__divided(hr_ledger_job(out->ledger, job), HR_LEDGER_UNITS_PER_UUSD));
  else
    hr__csv_empty(&out->csv);
}

/* Writes "NODE.GPU+GPU" for each task, separated by '|'. Tasks on MIG instances are followed by ":PROFILE@START". */
static void put_slots(struct jobs_out *out, const struct hr_placement *placement) {
  const struct hr_mig_spec *mig = out->cluster->pools[placement->pool.id].mig;
  hr__csv_begin_field(&out->csv);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    char text[HR_MIG_NAME_BYTES + 40], mark = '.';
    snprintf(text, sizeof text, "%s%u", i ? "|" : "", slice.node.id);
    hr__csv_part(&out->csv, text);
    for (uint64_t rest = slice.gpus; rest; rest &= rest - 1, mark = '+') {
      snprintf(text, sizeof text, "%c%u", mark, (unsigned)__builtin_ctzll(rest));
      hr__csv_part(&out->csv, text);
    }
    if (!mig || !slice.gpus) continue;
    snprintf(text, sizeof text, ":%s@%u", mig->type.profiles[slice.instance.profile].name,
             (unsigned)slice.instance.start);
    hr__csv_part(&out->csv, text);
  }
}

/* Writes the number of resizes of a job, and its GPU time in GPU-seconds. */
static void put_resizes(struct jobs_out *out, hr_job job) {
  hr_amount held = 0;
  hr__csv_u64(&out->csv, hr_result_resizes(out->result, job, &held));
  hr__csv_seconds(&out->csv, (int64_t)((held + 500) / 1000));
}

static uint32_t count_nodes(const struct hr_placement *placement) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    count += i == 0 || placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return count;
}

static void put_cluster(struct jobs_out *out, hr_job job) {
  const uint32_t cluster = out->result->cluster_of[job.id];
  hr__csv_text(&out->csv, cluster == HR_NONE ? "" : out->result->clusters[cluster].name);
}

static void put_row(struct jobs_out *out, hr_job job) {
  const struct hr_trace *trace = out->trace;
  struct hr_slice one;
  struct hr_placement placement = {0};
  bool placed = placements_get(out->placements, job, &one, &placement);
  put_id(out, job);
  put_times(out, job);
  hr__csv_u64(&out->csv, trace->gpus[job.id]);
  if (placed)
    hr__csv_u64(&out->csv, count_nodes(&placement));
  else
    hr__csv_empty(&out->csv);
  put_facts(out, job);
  if (placed) {
    put_placement(out, &placement);
  } else {
    hr__csv_empty(&out->csv);
    hr__csv_empty(&out->csv);
  }
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  put_seconds_if(out, limit_us >= 0, limit_us);
  hr__csv_seconds(&out->csv, trace->work_us[job.id]);
  if (out->has_attempts) put_attempts(out, job);
  if (out->has_kills) hr__csv_u64(&out->csv, hr_result_accounting(out->result, (hr_job){job.id}).oom_kills);
  if (out->has_slots) put_slots(out, &placement);
  if (out->result->n_clusters) put_cluster(out, job);
  /* The energy is that of all attempts, without the energy of the facility. The carbon includes the job's share of it.
   */
  if (out->has_energy) put_quantity(&out->csv, (double)hr_result_energy(out->result, job).it / HR_KWH_UNITS);
  if (out->has_carbon)
    put_quantity(&out->csv, (double)hr_result_energy(out->result, job).carbon / HR_CARBON_UNITS_PER_KG);
  if (out->result->resized) put_resizes(out, job);
  hr__csv_end_row(&out->csv);
}

/* Returns whether the carbon intensity of at least one pool with known power is known. */
static bool knows_carbon(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (hr_pool_emits(&cluster->pools[i])) return true;
  return false;
}

/* Returns the job of each row of the input, for a trace that was not sorted by submit time. Returns NULL if out of
   memory. The caller frees the array. */
static uint32_t *jobs_by_row(const struct hr_trace *trace) {
  uint32_t *job_at = calloc((size_t)trace->n_jobs + 1, sizeof *job_at);
  for (uint32_t i = 0; job_at && i < trace->n_jobs; i++) job_at[trace->row[i]] = i;
  return job_at;
}

enum hr_status hr__jobs_open(const char *path, const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_result *result, const struct hr_placements *placements,
                             const struct hr_ledger *ledger, struct hr__csv_out *csv, struct hr_error *error) {
  uint32_t *job_at = trace->row ? jobs_by_row(trace) : NULL;
  if ((trace->row && !job_at) || placements_failed(placements)) {
    free(job_at);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory for %" PRIu32 " jobs", path, trace->n_jobs);
  }
  struct jobs_out out = {.trace = trace,
                         .cluster = cluster,
                         .result = result,
                         .placements = placements,
                         .ledger = ledger,
                         .clock_us = hr_trace_clock_us(trace),
                         .has_attempts = ledger || result->account,
                         .has_kills = result->account && hr__can_kill(cluster)};
  out.has_slots = result->gpu_milli && (!result->resized || hr_cluster_spec_by_gpu(cluster));
  out.has_energy = result->energy != NULL;
  out.has_carbon = out.has_energy && knows_carbon(cluster);
  char header[sizeof COLUMNS COLUMNS_OF_ATTEMPTS COLUMNS_OF_KILLS COLUMNS_OF_SLOTS COLUMNS_OF_CLUSTERS COLUMNS_OF_ENERGY
                  COLUMNS_OF_CARBON COLUMNS_OF_RESIZES];
  snprintf(header, sizeof header, "%s%s%s%s%s%s%s%s", COLUMNS, out.has_attempts ? COLUMNS_OF_ATTEMPTS : "",
           out.has_kills ? COLUMNS_OF_KILLS : "", out.has_slots ? COLUMNS_OF_SLOTS : "",
           result->n_clusters ? COLUMNS_OF_CLUSTERS : "", out.has_energy ? COLUMNS_OF_ENERGY : "",
           out.has_carbon ? COLUMNS_OF_CARBON : "", result->resized ? COLUMNS_OF_RESIZES : "");
  enum hr_status status = hr__csv_open(&out.csv, path, header, error);
  for (uint32_t i = 0; status == HR_OK && i < trace->n_jobs; i++) put_row(&out, (hr_job){job_at ? job_at[i] : i});
  free(job_at);
  *csv = out.csv;
  return status;
}

enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_result *result, const struct hr_placements *placements,
                             const struct hr_ledger *ledger, struct hr_error *error) {
  struct hr__csv_out csv;
  enum hr_status status = hr__jobs_open(path, trace, cluster, result, placements, ledger, &csv, error);
  return status == HR_OK ? hr__csv_commit(&csv, error) : status;
}

/* ---- Values of modelled schedulers ----------------------------------------------------------------- */

struct hr_value_file {
  struct hr__csv_out csv;
  const char *table; /* borrowed */
  bool has_header;
};

enum hr_status hr_value_file_create(const char *path, const char *table, struct hr_value_file **file,
                                    struct hr_error *error) {
  struct hr_value_file *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->table = table;
  enum hr_status status = hr__csv_open(&created->csv, path, NULL, error);
  if (status != HR_OK) {
    free(created);
    return status;
  }
  *file = created;
  return HR_OK;
}

void hr_value_file_row(struct hr_value_file *file, const char *table, const char *const *cells, uint32_t count) {
  if (!file || strcmp(file->table, table) != 0) return;
  for (uint32_t i = 0; i < count; i++) hr__csv_text(&file->csv, cells[i]);
  hr__csv_end_row(&file->csv);
  file->has_header = true;
}

enum hr_status hr_value_file_finish(struct hr_value_file *file, struct hr_error *error) {
  if (file->has_header) return hr__csv_commit(&file->csv, error);
  return hr_fail(error, HR_BAD_INPUT,
                 "--%s: the policy computes no %s; expected the policy 'slurm' with "
                 "priority=multifactor",
                 file->table, file->table);
}

void hr_value_file_destroy(struct hr_value_file *file) {
  if (!file) return;
  hr__csv_abandon(&file->csv);
  free(file);
}

/* ---- Timeline -------------------------------------------------------------------------------------- */

struct counts {
  uint64_t waiting, running, allocated_milli, total_milli;
  bool has_fragments; /* the next three members are known */
  uint64_t fragmented_milli, stranded_milli, largest_gang;
  struct hr_power_now power;
  struct hr_battery_now battery;
};

struct hr_timeline {
  struct hr__csv_out csv;
  const struct hr_usage *usage; /* may be NULL */
  int64_t clock_us, at_us;      /* clock_us: added to every written time; at_us: time of `pending` */
  struct counts written, pending;
  bool any_written, any_pending;
  struct hr_timeline_columns has;
};

static const char header[] =
    "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus,stranded_gpus,largest_gang";

#define KW_PER_NW 1e-12

#define COLUMNS_OF_POWER ",power_kw,site_kw"
#define COLUMNS_OF_EMISSION ",carbon_kg_h"
#define COLUMNS_OF_BATTERY ",grid_kw,stored_kwh"

enum hr_status hr_timeline_create_with(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                       const struct hr_timeline_columns *has, struct hr_timeline **timeline,
                                       struct hr_error *error) {
  struct hr_timeline *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->clock_us = hr_trace_clock_us(trace);
  created->usage = usage;
  created->has = *has;
  char columns[sizeof header + sizeof COLUMNS_OF_POWER + sizeof COLUMNS_OF_EMISSION + sizeof COLUMNS_OF_BATTERY];
  snprintf(columns, sizeof columns, "%s%s%s%s", header, has->power ? COLUMNS_OF_POWER : "",
           has->carbon ? COLUMNS_OF_EMISSION : "", has->battery ? COLUMNS_OF_BATTERY : "");
  enum hr_status status = hr__csv_open(&created->csv, path, columns, error);
  if (status != HR_OK) {
    free(created);
    return status;
  }
  *timeline = created;
  return HR_OK;
}

enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                  bool has_power, bool has_carbon, struct hr_timeline **timeline,
                                  struct hr_error *error) {
  const struct hr_timeline_columns columns = {.power = has_power, .carbon = has_carbon};
  return hr_timeline_create_with(path, trace, usage, &columns, timeline, error);
}

static bool same(const struct counts *a, const struct counts *b) {
  return a->waiting == b->waiting && a->running == b->running && a->allocated_milli == b->allocated_milli &&
         a->total_milli == b->total_milli && a->has_fragments == b->has_fragments &&
         a->fragmented_milli == b->fragmented_milli && a->stranded_milli == b->stranded_milli &&
         a->largest_gang == b->largest_gang && a->power.it_nw == b->power.it_nw &&
         a->power.site_nw == b->power.site_nw && a->power.carbon_mg_h == b->power.carbon_mg_h &&
         a->battery.grid_nw == b->battery.grid_nw && a->battery.stored == b->battery.stored;
}

static void put_fragments(struct hr__csv_out *csv, const struct counts *counts) {
  for (int column = 0; !counts->has_fragments && column < 3; column++) hr__csv_empty(csv);
  if (!counts->has_fragments) return;
  hr__csv_milli(csv, counts->fragmented_milli);
  hr__csv_milli(csv, counts->stranded_milli);
  hr__csv_u64(csv, counts->largest_gang);
}

static void write_pending(struct hr_timeline *timeline) {
  const struct counts *counts = &timeline->pending;
  bool news = timeline->any_pending && !(timeline->any_written && same(counts, &timeline->written));
  timeline->any_pending = false;
  if (!news) return;
  hr__csv_seconds(&timeline->csv, timeline->at_us + timeline->clock_us);
  hr__csv_u64(&timeline->csv, counts->waiting);
  hr__csv_u64(&timeline->csv, counts->running);
  hr__csv_milli(&timeline->csv, counts->allocated_milli);
  hr__csv_milli(&timeline->csv, counts->total_milli);
  put_fragments(&timeline->csv, counts);
  if (timeline->has.power) {
    put_quantity(&timeline->csv, (double)counts->power.it_nw * KW_PER_NW);
    put_quantity(&timeline->csv, (double)counts->power.site_nw * KW_PER_NW);
  }
  if (timeline->has.carbon) put_quantity(&timeline->csv, (double)counts->power.carbon_mg_h * 1e-6);
  if (timeline->has.battery) {
    put_quantity(&timeline->csv, (double)counts->battery.grid_nw * KW_PER_NW);
    put_quantity(&timeline->csv, (double)counts->battery.stored / HR_KWH_UNITS);
  }
  hr__csv_end_row(&timeline->csv);
  timeline->written = *counts;
  timeline->any_written = true;
}

static void add_fragments(struct counts *counts, const struct hr_usage *usage) {
  uint64_t pods = usage->fragment_pods;
  counts->has_fragments = true;
  counts->fragmented_milli = (uint64_t)((usage->counts.fragment + pods / 2) / pods);
  counts->stranded_milli = usage->counts.stranded_milli;
  counts->largest_gang = usage->counts.largest_gang;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_timeline *timeline = self;
  if (view->now_us != timeline->at_us) write_pending(timeline);
  timeline->at_us = view->now_us;
  timeline->pending = (struct counts){.waiting = view->n_waiting,
                                      .running = view->n_running,
                                      .allocated_milli = view->allocated_milli,
                                      .total_milli = view->total_milli};
  if (timeline->usage && timeline->usage->fragments) add_fragments(&timeline->pending, timeline->usage);
  if (timeline->has.power) hr_view_power(view, &timeline->pending.power);
  if (!timeline->has.carbon) timeline->pending.power.carbon_mg_h = 0; /* it has no column, so its changes need no row */
  if (timeline->has.battery) hr_view_battery(view, &timeline->pending.battery);
  timeline->any_pending = true;
}

struct hr_observer hr_timeline_observer(struct hr_timeline *timeline) {
  return (struct hr_observer){.self = timeline, .on_instant = on_instant};
}

enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error) {
  write_pending(timeline);
  return hr__csv_commit(&timeline->csv, error);
}

void hr_timeline_destroy(struct hr_timeline *timeline) {
  if (!timeline) return;
  hr__csv_abandon(&timeline->csv);
  free(timeline);
}
