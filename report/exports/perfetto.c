/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a run as trace events for Perfetto, one event per line. Names and fields are those of the Trace Event Format,
 * which Perfetto imports: phase "M" is metadata, "C" a counter, "X" a slice, "i" an instant.
 *
 * A pool is shown as a process, and a node as one or more threads of the process. Viewers require that slices of one
 * thread do not overlap, so jobs that run on a node at the same time are drawn in different lanes of the node
 * (exports.h). Each lane is one track, and each track is one thread. A stay is the part of an attempt on one node: it
 * is drawn as one slice, even if several tasks run on the node. Jobs to which the policy assigned a pool but no
 * particular nodes are drawn on tracks of the pool. Thread ids must be unique, so tracks are numbered consecutively
 * across all nodes and pools; the tracks of a node are contiguous.
 */

#include "base/output_file.h"
#include "headroom/unstable/exports.h"
#include "report/exports/exports.h"
#include "report/metrics/metrics.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct perfetto_stay {
  uint32_t owner; /* index of a node, or n_nodes + index of a pool */
  uint32_t gpu_milli;
  uint32_t lane; /* lane within the owner, counted from 0 */
};

struct perfetto_tracks {
  uint32_t n_nodes, n_owners;
  uint32_t *first_track; /* [n_owners + 1]: first track of each owner */
  uint32_t *pool_of;     /* [n_owners]: pool of each owner */
  struct perfetto_stay *stays;
  uint32_t *first_stay; /* [n_attempts + 1]: first stay of each attempt */
};

enum { CLUSTER_PROCESS = 1, FIRST_POOL_PROCESS = 2 };

struct perfetto_writer {
  struct hr__out out;
  const struct hr_export *run;
  struct perfetto_tracks tracks;
  int64_t clock_us;  /* added to every time */
  uint32_t first_id; /* first thread id */
  bool any;          /* at least one event has been written */
};

static void put(struct perfetto_writer *perfetto, const char *text) {
  hr__out_text(&perfetto->out, text);
}

/* Write `before`, such as ",\"name\":", and a value. */

static void put_text(struct perfetto_writer *perfetto, const char *before, const char *text) {
  put(perfetto, before);
  hr__out_json_text(&perfetto->out, text);
}

static void put_number(struct perfetto_writer *perfetto, const char *before, int64_t number) {
  put(perfetto, before);
  hr__out_i64(&perfetto->out, number);
}

static void put_milli(struct perfetto_writer *perfetto, const char *before, uint64_t milli) {
  put(perfetto, before);
  hr__out_milli(&perfetto->out, milli);
}

static void put_millionths(struct perfetto_writer *perfetto, const char *before, int64_t millionths) {
  put(perfetto, before);
  hr__out_millionths(&perfetto->out, millionths);
}

/* ---- Stays ----------------------------------------------------------------------------------------- */

static size_t max_stays(const struct hr_attempt *attempts, size_t n_attempts) {
  size_t count = 0;
  for (size_t i = 0; i < n_attempts; i++) count += attempts[i].n_slices ? attempts[i].n_slices : 1;
  return count;
}

static uint32_t add_stays(struct perfetto_tracks *tracks, uint32_t count, const struct hr_attempt *attempt,
                          const struct hr_slice *slices) {
  if (attempt->n_slices == 0)
    tracks->stays[count++] = (struct perfetto_stay){tracks->n_nodes + attempt->pool.id, attempt->gpu_milli, 0};
  for (uint32_t i = 0; i < attempt->n_slices; i++) {
    if (i == 0 || slices[i].node.id != slices[i - 1].node.id)
      tracks->stays[count++] = (struct perfetto_stay){slices[i].node.id, 0, 0};
    tracks->stays[count - 1].gpu_milli += slices[i].gpu_milli;
  }
  return count;
}

/* ---- Lanes ----------------------------------------------------------------------------------------- */

/* Computes `first_track`. Owners without stays have no track, except nodes with node changes: they have one track on
   which the changes are shown. */
static void number_tracks(struct perfetto_tracks *tracks, const struct hr__lanes *lanes,
                          const struct hr_history *history) {
  const struct hr_node_change *changes;
  size_t n_changes = hr_history_changes(history, &changes);
  for (uint32_t i = 0; i < tracks->n_owners; i++) tracks->first_track[i + 1] = lanes[i].n;
  for (size_t i = 0; i < n_changes; i++)
    if (changes[i].node.id != HR_NONE && tracks->first_track[changes[i].node.id + 1] == 0)
      tracks->first_track[changes[i].node.id + 1] = 1;
  for (uint32_t i = 0; i < tracks->n_owners; i++) tracks->first_track[i + 1] += tracks->first_track[i];
}

static enum hr_status assign_lanes(struct perfetto_tracks *tracks, const struct hr_attempt *attempts, size_t n_attempts,
                                   const struct hr_history *history) {
  struct hr__lanes *lanes = calloc((size_t)tracks->n_owners + 1, sizeof *lanes);
  enum hr_status status = lanes ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < n_attempts && status == HR_OK; i++)
    for (uint32_t k = tracks->first_stay[i]; k < tracks->first_stay[i + 1] && status == HR_OK; k++) {
      struct perfetto_stay *stay = &tracks->stays[k];
      stay->lane = hr__lanes_take(&lanes[stay->owner], attempts[i].begin_us, attempts[i].end_us);
      if (stay->lane == HR_NONE) status = HR_NO_MEMORY;
    }
  if (status == HR_OK) number_tracks(tracks, lanes, history);
  for (uint32_t i = 0; lanes && i < tracks->n_owners; i++) hr__lanes_finish(&lanes[i]);
  free(lanes);
  return status;
}

static enum hr_status tracks_init(struct perfetto_tracks *tracks, const struct hr_export *run) {
  const struct hr_cluster_spec *cluster = run->cluster;
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(run->history, &attempts);
  uint32_t n_nodes = 0, node = 0, count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) n_nodes += cluster->pools[i].nodes;
  *tracks = (struct perfetto_tracks){.n_nodes = n_nodes, .n_owners = n_nodes + cluster->n_pools};
  tracks->first_track = calloc((size_t)tracks->n_owners + 1, sizeof *tracks->first_track);
  tracks->pool_of = calloc((size_t)tracks->n_owners + 1, sizeof *tracks->pool_of);
  tracks->stays = calloc(max_stays(attempts, n_attempts) + 1, sizeof *tracks->stays);
  tracks->first_stay = calloc(n_attempts + 1, sizeof *tracks->first_stay);
  if (!tracks->first_track || !tracks->pool_of || !tracks->stays || !tracks->first_stay) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    for (uint32_t k = 0; k < cluster->pools[i].nodes; k++) tracks->pool_of[node++] = i;
    tracks->pool_of[n_nodes + i] = i;
  }
  for (size_t i = 0; i < n_attempts; i++) {
    count = add_stays(tracks, count, &attempts[i], hr_history_slices(run->history, &attempts[i]));
    tracks->first_stay[i + 1] = count;
  }
  return assign_lanes(tracks, attempts, n_attempts, run->history);
}

static void tracks_finish(struct perfetto_tracks *tracks) {
  free(tracks->first_track);
  free(tracks->pool_of);
  free(tracks->stays);
  free(tracks->first_stay);
  *tracks = (struct perfetto_tracks){0};
}

/* Begins an event. The caller then writes its time, its other fields and the closing brace. */
static void perfetto_begin(struct perfetto_writer *perfetto, const char *phase, uint32_t process, uint32_t thread) {
  put_text(perfetto, perfetto->any ? ",\n{\"ph\":" : "{\"ph\":", phase);
  put_number(perfetto, ",\"pid\":", process);
  put_number(perfetto, ",\"tid\":", thread);
  perfetto->any = true;
}

static void perfetto_time(struct perfetto_writer *perfetto, int64_t at_us) {
  put_number(perfetto, ",\"ts\":", at_us + perfetto->clock_us);
}

static uint32_t perfetto_pool_process(uint32_t pool) {
  return FIRST_POOL_PROCESS + pool;
}

/* Returns the thread id of a lane of an owner. */
static uint32_t perfetto_thread(const struct perfetto_writer *perfetto, uint32_t owner, uint32_t lane) {
  return perfetto->first_id + perfetto->tracks.first_track[owner] + lane;
}

/* Writes a metadata event with the name of a process or thread; `what` is "process_name" or "thread_name". */
static void perfetto_name(struct perfetto_writer *perfetto, const char *what, uint32_t process, uint32_t thread,
                          const char *name) {
  perfetto_begin(perfetto, "M", process, thread);
  put_text(perfetto, ",\"name\":", what);
  put_text(perfetto, ",\"args\":{\"name\":", name);
  put(perfetto, "}}");
}

static void put_alert(struct perfetto_writer *perfetto, const struct hr_alert *alert, uint32_t thread) {
  char name[200], *words = hr__alert_words(alert);
  if (!words) perfetto->out.out_of_memory = true;
  snprintf(name, sizeof name, "%s: %.100s", hr_alert_name(alert->rule), alert->where);
  perfetto_begin(perfetto, "X", CLUSTER_PROCESS, thread);
  perfetto_time(perfetto, alert->begin_us);
  put_number(perfetto, ",\"dur\":", alert->end_us - alert->begin_us);
  put_text(perfetto, ",\"cat\":\"alert\",\"name\":", name);
  put_text(perfetto, ",\"args\":{\"text\":", words ? words : "");
  put(perfetto, "}}");
  free(words);
}

static int by_begin(const void *left, const void *right) {
  const struct hr_alert *a = *(const struct hr_alert *const *)left, *b = *(const struct hr_alert *const *)right;
  if (a->begin_us != b->begin_us) return a->begin_us < b->begin_us ? -1 : 1;
  return (a > b) - (a < b); /* alerts with equal begins remain in the order of the list */
}

/* Writes alerts as slices of the process "cluster". Overlapping alerts are drawn in different lanes; the thread ids of
   these lanes follow those of the nodes and pools. */
static void perfetto_alerts(struct perfetto_writer *perfetto) {
  const struct hr_alert *list = NULL;
  const struct hr_alerts *alerts = perfetto->run->label->alerts;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  uint32_t first_thread = perfetto_thread(perfetto, perfetto->tracks.n_owners, 0);
  struct hr__lanes lanes = {0};
  const struct hr_alert **sorted = calloc(count + 1, sizeof *sorted);
  for (size_t i = 0; sorted && i < count; i++) sorted[i] = &list[i];
  if (sorted) qsort(sorted, count, sizeof *sorted, by_begin);
  perfetto->out.out_of_memory |= !sorted;
  for (size_t i = 0; sorted && i < count; i++) {
    uint32_t lane = hr__lanes_take(&lanes, sorted[i]->begin_us, sorted[i]->end_us);
    perfetto->out.out_of_memory |= lane == HR_NONE;
    put_alert(perfetto, sorted[i], first_thread + lane);
  }
  for (uint32_t i = 0; i < lanes.n; i++) {
    char name[60] = "alerts";
    if (i) snprintf(name, sizeof name, "alerts \xc2\xb7%" PRIu32, i + 1);
    perfetto_name(perfetto, "thread_name", CLUSTER_PROCESS, first_thread + i, name);
  }
  hr__lanes_finish(&lanes);
  free(sorted);
}

/* ---- Names ----------------------------------------------------------------------------------------- */

static void put_rank(struct perfetto_writer *perfetto, const char *what, uint32_t process, uint32_t thread,
                     uint32_t rank) {
  perfetto_begin(perfetto, "M", process, thread);
  put_text(perfetto, ",\"name\":", what);
  put_number(perfetto, ",\"args\":{\"sort_index\":", rank);
  put(perfetto, "}}");
}

static void put_processes(struct perfetto_writer *perfetto) {
  const struct hr_cluster_spec *cluster = perfetto->run->cluster;
  perfetto_name(perfetto, "process_name", CLUSTER_PROCESS, CLUSTER_PROCESS, "cluster");
  put_rank(perfetto, "process_sort_index", CLUSTER_PROCESS, CLUSTER_PROCESS, 0);
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    char name[200];
    snprintf(name, sizeof name, "%.100s (%" PRIu32 " x %" PRIu32 " %.50s)", pool->name ? pool->name : "pool",
             pool->nodes, pool->gpus_per_node, pool->gpu ? pool->gpu : "GPUs");
    perfetto_name(perfetto, "process_name", perfetto_pool_process(i), perfetto_pool_process(i), name);
    put_rank(perfetto, "process_sort_index", perfetto_pool_process(i), perfetto_pool_process(i), i + 1);
  }
}

static void put_threads(struct perfetto_writer *perfetto) {
  const struct perfetto_tracks *tracks = &perfetto->tracks;
  for (uint32_t owner = 0; owner < tracks->n_owners; owner++)
    for (uint32_t track = tracks->first_track[owner]; track < tracks->first_track[owner + 1]; track++) {
      uint32_t process = perfetto_pool_process(tracks->pool_of[owner]), lane = track - tracks->first_track[owner];
      char name[60];
      int used = owner < tracks->n_nodes ? snprintf(name, sizeof name, "node %" PRIu32, owner)
                                         : snprintf(name, sizeof name, "on any node");
      if (lane) snprintf(name + used, sizeof name - (size_t)used, " \xc2\xb7%" PRIu32, lane + 1);
      perfetto_name(perfetto, "thread_name", process, perfetto->first_id + track, name);
      put_rank(perfetto, "thread_sort_index", process, perfetto->first_id + track, track);
    }
}

/* ---- Counters -------------------------------------------------------------------------------------- */

/* Writes one counter event with two values. Viewers show each value as a separate counter, such as "jobs waiting". */
static void put_counters_at(struct perfetto_writer *perfetto, const char *name, const char *first, uint64_t first_milli,
                            const char *second, uint64_t second_milli, int64_t at_us) {
  perfetto_begin(perfetto, "C", CLUSTER_PROCESS, CLUSTER_PROCESS);
  perfetto_time(perfetto, at_us);
  put_text(perfetto, ",\"name\":", name);
  put_text(perfetto, ",\"args\":{", first);
  put_milli(perfetto, ":", first_milli);
  put_text(perfetto, ",", second);
  put_milli(perfetto, ":", second_milli);
  put(perfetto, "}}");
}

static void put_counters(struct perfetto_writer *perfetto) {
  const struct hr_count_change *changes, *before = NULL;
  size_t count = hr_counts_changes(perfetto->run->counts, &changes);
  for (const struct hr_count_change *now = changes; now < changes + count; before = now++) {
    if (!before || now->waiting != before->waiting || now->running != before->running)
      put_counters_at(perfetto, "jobs", "waiting", (uint64_t)now->waiting * 1000, "running",
                      (uint64_t)now->running * 1000, now->at_us);
    if (!before || now->allocated_milli != before->allocated_milli || now->total_milli != before->total_milli)
      put_counters_at(perfetto, "GPUs", "allocated", now->allocated_milli, "total", now->total_milli, now->at_us);
  }
}

/* ---- Slices ---------------------------------------------------------------------------------------- */

static const char *name_of(const uint32_t *column, const struct hr_names *names, hr_job job) {
  return column && column[job.id] != HR_NONE ? names->text[column[job.id]] : NULL;
}

static void put_text_argument(struct perfetto_writer *perfetto, const char *key, const char *text) {
  if (text && text[0]) put_text(perfetto, key, text);
}

static void put_seconds_argument(struct perfetto_writer *perfetto, const char *key, int64_t us) {
  if (us) put_millionths(perfetto, key, us);
}

static const char *end_words(const struct hr_attempt *attempt) {
  static const char *const words[] = {"still running", "completed", "interrupted", "preempted"};
  return words[attempt->end];
}

/* Writes the arguments that all stays of an attempt have in common. */
static void put_attempt_arguments(struct perfetto_writer *perfetto, const struct hr_attempt *attempts,
                                  const struct hr_attempt *attempt) {
  const struct hr_trace *trace = perfetto->run->trace;
  hr_job job = attempt->job;
  put_text_argument(perfetto, ",\"tenant\":", name_of(trace->tenant, &trace->tenants, job));
  put_text_argument(perfetto, ",\"user\":", name_of(trace->user, &trace->users, job));
  put_text_argument(perfetto,
                    ",\"class\":", trace->class_ ? hr_job_class_name((enum hr_job_class)trace->class_[job.id]) : NULL);
  put_milli(perfetto, ",\"job_gpus\":", attempt->gpu_milli);
  put_number(perfetto, ",\"attempt\":", attempt->number + UINT32_C(1));
  put_millionths(perfetto, ",\"wait_s\":", hr__attempt_wait_us(perfetto->run, attempts, attempt));
  put_text_argument(perfetto, ",\"started\":", hr_reason_name((enum hr_reason)attempt->start_reason));
  put_text_argument(perfetto, ",\"ended\":", end_words(attempt));
  put_text_argument(perfetto, ",\"reason\":", hr_reason_name((enum hr_reason)attempt->end_reason));
  put_seconds_argument(perfetto, ",\"lost_s\":", attempt->lost_us);
  put_seconds_argument(perfetto, ",\"saving_s\":", attempt->saving_us);
  put_seconds_argument(perfetto, ",\"restarting_s\":", attempt->restarting_us);
  if (!perfetto->run->ledger) return;
  hr_amount cost = hr__divided(hr_ledger_job(perfetto->run->ledger, job), HR_LEDGER_UNITS_PER_UUSD);
  put_millionths(perfetto, ",\"job_cost_usd\":", (int64_t)cost);
}

static void put_slice(struct perfetto_writer *perfetto, const struct hr_attempt *attempts,
                      const struct hr_attempt *attempt, const struct perfetto_stay *stay) {
  char buffer[HR_JOB_ID_BUFFER];
  perfetto_begin(perfetto, "X", perfetto_pool_process(attempt->pool.id),
                 perfetto_thread(perfetto, stay->owner, stay->lane));
  perfetto_time(perfetto, attempt->begin_us);
  put_number(perfetto, ",\"dur\":", attempt->end_us - attempt->begin_us);
  put(perfetto, attempt->lost_us ? ",\"cat\":\"job,lost\",\"cname\":\"terrible\"" : ",\"cat\":\"job\"");
  put_text(perfetto, ",\"name\":", hr_trace_job_id(perfetto->run->trace, attempt->job, buffer));
  put_milli(perfetto, ",\"args\":{\"gpus\":", stay->gpu_milli);
  put_attempt_arguments(perfetto, attempts, attempt);
  put(perfetto, "}}");
}

static void put_slices(struct perfetto_writer *perfetto) {
  const struct perfetto_tracks *tracks = &perfetto->tracks;
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(perfetto->run->history, &attempts);
  for (size_t i = 0; i < n_attempts; i++)
    for (uint32_t k = tracks->first_stay[i]; k < tracks->first_stay[i + 1]; k++)
      put_slice(perfetto, attempts, &attempts[i], &tracks->stays[k]);
}

/* ---- Instants -------------------------------------------------------------------------------------- */

/* Writes an instant event with scope "t" (thread) or "p" (process). */
static void put_instant(struct perfetto_writer *perfetto, const char *scope, uint32_t process, uint32_t thread,
                        int64_t at_us, const char *name) {
  perfetto_begin(perfetto, "i", process, thread);
  perfetto_time(perfetto, at_us);
  put_text(perfetto, ",\"s\":", scope);
  put_text(perfetto, ",\"name\":", name);
  put(perfetto, "}");
}

static void put_node_changes(struct perfetto_writer *perfetto) {
  const struct hr_node_change *changes;
  size_t count = hr_history_changes(perfetto->run->history, &changes);
  for (size_t i = 0; i < count; i++) {
    const struct hr_node_change *change = &changes[i];
    const char *what = hr_event_name((enum hr_event_kind)change->kind);
    const char *why = hr_reason_name((enum hr_reason)change->reason);
    char name[100];
    snprintf(name, sizeof name, "%s%s%s", what, why[0] ? ": " : "", why);
    if (change->node.id != HR_NONE) {
      uint32_t thread = perfetto_thread(perfetto, change->node.id, 0);
      put_instant(perfetto, "t", perfetto_pool_process(change->pool.id), thread, change->at_us, name);
    } else {
      uint32_t process = perfetto_pool_process(change->pool.id);
      snprintf(name, sizeof name, "%s: %" PRIu32 " nodes", what, change->offer);
      put_instant(perfetto, "p", process, process, change->at_us, name);
    }
  }
}

static void put_rejections(struct perfetto_writer *perfetto) {
  const struct hr_rejection *rejections;
  size_t count = hr_counts_rejections(perfetto->run->counts, &rejections);
  for (size_t i = 0; i < count; i++) {
    char name[200], buffer[HR_JOB_ID_BUFFER];
    snprintf(name, sizeof name, "rejected: %.100s (%s)",
             hr_trace_job_id(perfetto->run->trace, rejections[i].job, buffer),
             hr_reason_name((enum hr_reason)rejections[i].reason));
    put_instant(perfetto, "p", CLUSTER_PROCESS, CLUSTER_PROCESS, rejections[i].at_us, name);
  }
}

/* ---- File ------------------------------------------------------------------------------------------ */

static void put_head(struct perfetto_writer *perfetto) {
  const char *scenario = perfetto->run->label->scenario;
  char digest[HR__NUMBER_BYTES];
  snprintf(digest, sizeof digest, "%016" PRIx64, perfetto->run->result->digest);
  put_text(perfetto, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"headroom\":", hr_version());
  put_text(perfetto, ",\"scenario\":", scenario ? scenario : "");
  put_text(perfetto, ",\"digest\":", digest);
  put(perfetto, "},\"traceEvents\":[\n");
}

enum hr_status hr_perfetto_write(const char *path, const struct hr_export *run, struct hr_error *error) {
  struct perfetto_writer perfetto = {
      .run = run, .clock_us = hr_trace_clock_us(run->trace), .first_id = FIRST_POOL_PROCESS + run->cluster->n_pools};
  enum hr_status status = hr_counts_complete(run->counts) ? tracks_init(&perfetto.tracks, run) : HR_NO_MEMORY;
  if (status != HR_OK) hr_fail(error, status, "%s: out of memory", path);
  if (status == HR_OK) status = hr__out_open(&perfetto.out, path, error);
  if (status == HR_OK) {
    put_head(&perfetto);
    put_processes(&perfetto);
    put_threads(&perfetto);
    put_counters(&perfetto);
    put_slices(&perfetto);
    put_node_changes(&perfetto);
    put_rejections(&perfetto);
    perfetto_alerts(&perfetto);
    put(&perfetto, "\n]}\n");
    status = hr__out_commit(&perfetto.out, error);
  }
  tracks_finish(&perfetto.tracks);
  return status;
}
