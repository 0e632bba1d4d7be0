/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every job's fate, one row each. The trace's columns are sorted by submit; rows go out in the order in which the
 * input had them, so that the file can be set beside it.
 */

#include "report/apportion.h"
#include "report/csv_out.h"
#include "report/goodput.h"
#include "report/placements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS                                                                                                        \
  "job_id,submit_s,start_s,end_s,wait_s,gpus,nodes,state,reason,tenant,user,class,outcome,"                            \
  "pool,placement,limit_s,duration_s"
#define COLUMNS_OF_ATTEMPTS ",attempts,lost_s,checkpoint_s,restart_s,requeue_wait_s,cost_usd"
#define COLUMNS_OF_KILLS ",oom_kills"
#define COLUMNS_OF_SEATS ",seats"

struct jobs_out {
  struct hr__csv_out csv;
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_placements *placements;
  const struct hr_ledger *ledger;
  int64_t clock_us; /* what is added to a time to show it on the input's own clock */
  bool has_attempts, has_kills, has_seats;
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

static void put_placement(struct jobs_out *out, const struct hr_placement *placement) {
  hr__csv_text(&out->csv, out->cluster->pools[placement->pool.id].name);
  hr__csv_begin_field(&out->csv);
  for (uint32_t i = 0; i < placement->n_slices;) {
    uint32_t node = placement->slices[i].node.id, gpu_milli = 0;
    bool is_first = i == 0;
    for (; i < placement->n_slices && placement->slices[i].node.id == node; i++)
      gpu_milli += placement->slices[i].gpu_milli;
    hr__csv_slice(&out->csv, is_first, node, gpu_milli);
  }
}

/* What a job went through, where it may have been interrupted or has a price. The wait in the queue after its first
   start is what it neither held GPUs nor was done. */
static void put_attempts(struct jobs_out *out, hr_job job) {
  const struct hr_result *result = out->result;
  int64_t start_us = result->start_us[job.id], end_us = hr_result_end_us(result, job);
  bool started = start_us != HR_NEVER_US;
  struct hr_job_fate plain = {.attempts = started};
  const struct hr_job_fate *fate = result->fate ? &result->fate[job.id] : &plain;
  if (end_us == HR_NEVER_US) end_us = result->end_us;
  hr__csv_u64(&out->csv, fate->attempts);
  put_seconds_if(out, started, fate->lost_us);
  put_seconds_if(out, started, fate->saving_us);
  put_seconds_if(out, started, fate->restarting_us);
  put_seconds_if(out, started, result->fate && started ? end_us - start_us - fate->held_us : 0);
  if (out->ledger && started)
    hr__csv_usd(&out->csv, (int64_t)hr__divided(hr_ledger_job(out->ledger, job), HR_LEDGER_UNITS_PER_UUSD));
  else
    hr__csv_empty(&out->csv);
}

/* Of each task, "node.gpu+gpu", and of an instance of MIG ":profile@start". */
static void put_seats(struct jobs_out *out, const struct hr_placement *placement) {
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

static uint32_t count_nodes(const struct hr_placement *placement) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    count += i == 0 || placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return count;
}

static void put_row(struct jobs_out *out, hr_job job) {
  const struct hr_trace *trace = out->trace;
  struct hr_slice one;
  struct hr_placement placement = {0};
  bool placed = hr__placements_get(out->placements, job, &one, &placement);
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
  if (out->has_kills) hr__csv_u64(&out->csv, out->result->fate[job.id].oom_kills);
  if (out->has_seats) put_seats(out, &placement);
  hr__csv_end_row(&out->csv);
}

/* The job that stands at each place of the input, for a trace that had to be sorted; NULL when out of memory. */
static uint32_t *jobs_by_row(const struct hr_trace *trace) {
  uint32_t *job_at = calloc((size_t)trace->n_jobs + 1, sizeof *job_at);
  for (uint32_t i = 0; job_at && i < trace->n_jobs; i++) job_at[trace->row[i]] = i;
  return job_at;
}

enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_result *result, const struct hr_placements *placements,
                             const struct hr_ledger *ledger, struct hr_error *error) {
  uint32_t *job_at = trace->row ? jobs_by_row(trace) : NULL;
  if ((trace->row && !job_at) || hr__placements_failed(placements)) {
    free(job_at);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory for %" PRIu32 " jobs", path, trace->n_jobs);
  }
  struct jobs_out out = {.trace = trace,
                         .cluster = cluster,
                         .result = result,
                         .placements = placements,
                         .ledger = ledger,
                         .clock_us = trace->dated ? 0 : trace->origin_us,
                         .has_attempts = ledger || result->fate,
                         .has_kills = result->fate && hr__can_kill(cluster)};
  out.has_seats = result->gpu_milli != NULL;
  char header[sizeof COLUMNS COLUMNS_OF_ATTEMPTS COLUMNS_OF_KILLS COLUMNS_OF_SEATS];
  snprintf(header, sizeof header, "%s%s%s%s", COLUMNS, out.has_attempts ? COLUMNS_OF_ATTEMPTS : "",
           out.has_kills ? COLUMNS_OF_KILLS : "", out.has_seats ? COLUMNS_OF_SEATS : "");
  enum hr_status status = hr__csv_open(&out.csv, path, header, error);
  if (status == HR_OK) {
    for (uint32_t i = 0; i < trace->n_jobs; i++) put_row(&out, (hr_job){job_at ? job_at[i] : i});
    status = hr__csv_commit(&out.csv, error);
  }
  free(job_at);
  return status;
}
