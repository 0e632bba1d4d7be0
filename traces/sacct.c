/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's accounting as `sacct --parsable2` prints it (sacct(1)): fields between `|`, named by a header. A row is a
 * job, a component of one (123_4, 123+1), a step of one (123.batch), which is passed over, or, under --duplicates, an
 * earlier attempt at a job that was requeued. All attempts at a job are one job, submitted with the first and run as
 * the last: what took the others from their nodes is for the replay to bring about. So jobs are kept until the file is
 * read, one to a distinct id; equal texts are kept once.
 */

#include "traces/sacct.h"

#include "sim/grow.h"

#include <stdlib.h>
#include <string.h>

/* ---- The list of jobs ------------------------------------------------------------------------------- */

static uint32_t keep(struct hr__names *names, struct hr_text text) {
  return hr__names_intern(names, text.length ? text.at : "", text.length);
}

static struct hr_text kept(const struct hr__names *names, uint32_t number) {
  return (struct hr_text){names->text[number], names->length[number]};
}

static bool is_later(const struct hr__sacct_job *job, const struct hr__sacct_job *than) {
  return job->attempt_us != than->attempt_us ? job->attempt_us > than->attempt_us : job->began_us >= than->began_us;
}

/* Of rows of one id the last attempt is kept, whatever their order in the file, with the first one's submission. */
static bool put_job(struct hr__sacct *sacct, const struct hr__sacct_job *job, struct hr_text id) {
  uint32_t number = keep(&sacct->ids, id);
  if (number == HR_NONE) return false;
  if (number < sacct->n_jobs) {
    struct hr__sacct_job *known = &sacct->jobs[number], merged = is_later(job, known) ? *job : *known;
    sacct->n_attempts++;
    merged.line = known->line;
    merged.submit_us = known->submit_us < job->submit_us ? known->submit_us : job->submit_us;
    *known = merged;
    return true;
  }
  if (sacct->n_jobs == sacct->capacity) {
    struct hr__sacct_job *grown = hr__grown(sacct->jobs, &sacct->capacity, sizeof *grown);
    if (!grown) return false;
    sacct->jobs = grown;
  }
  sacct->jobs[sacct->n_jobs++] = *job;
  return true;
}

enum hr_status hr__sacct_keep(struct hr__sacct *sacct, struct hr__sacct_job *job, const struct hr__sacct_row *row,
                              const char *types) {
  struct hr_text id = row->id.length ? row->id : row->raw_id,
                 tenant = row->account.length ? row->account : row->partition;
  job->user = keep(&sacct->texts, row->user);
  job->tenant = keep(&sacct->texts, tenant);
  job->types = keep(&sacct->texts, (struct hr_text){types, strlen(types)});
  bool fine = job->user != HR_NONE && job->tenant != HR_NONE && job->types != HR_NONE && put_job(sacct, job, id);
  return fine ? HR_OK : hr__reader_no_memory(sacct->reader);
}

/* ---- From the list to the trace --------------------------------------------------------------------- */

static enum hr_status add_job(const struct hr__sacct *sacct, uint32_t number) {
  const struct hr__sacct_job *job = &sacct->jobs[number];
  if (job->left_out) return hr__reader_leave_out(sacct->reader, job->left_out, job->line);
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = kept(&sacct->ids, number);
  record.user = kept(&sacct->texts, job->user);
  record.tenant = kept(&sacct->texts, job->tenant);
  record.gpu_types = kept(&sacct->texts, job->types);
  record.submit_us = job->submit_us;
  record.recorded_start_us = job->start_us;
  record.work_us = job->work_us;
  record.limit_us = job->limit_us;
  record.gpus = job->gpus;
  record.tasks = job->tasks;
  record.cpu_milli = job->cpu_milli;
  record.mem_mib = job->mem_mib;
  record.priority = job->priority;
  record.outcome = job->outcome;
  return hr__reader_add(sacct->reader, &record, job->line);
}

static enum hr_status add_jobs(const struct hr__sacct *sacct) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < sacct->n_jobs; i++) status = add_job(sacct, i);
  return status;
}

static enum hr_status note_all(const struct hr__sacct *sacct) {
  const struct {
    uint64_t count;
    struct hr__count_words words;
  } notes[] = {
      {sacct->n_steps,
       {"row is a step of a job, which is part of that job", "rows are steps of jobs, which are part of their jobs",
        ""}},
      {sacct->n_attempts,
       {"row is a further attempt at a job that was", "rows are further attempts at jobs that were",
        " requeued: each job is replayed once, submitted as the first and run as the last"}},
      {sacct->n_restarts,
       {"restart of a job is", "restarts of jobs are", " told by column 'Restarts'; what ran before is not replayed"}},
      {sacct->n_components,
       {"row is a component of a heterogeneous job, whose components",
        "rows are components of heterogeneous jobs, which", " started together; each is replayed for itself"}},
      {sacct->n_held,
       {"row became eligible after it was submitted", "rows became eligible after they were submitted",
        " (dependencies, holds, begin times): the submission is taken to be then"}},
      {sacct->n_partition_limits,
       {"row has its partition's limit", "rows have their partition's limit", ", which the file does not tell"}},
      {sacct->n_uneven, {"row has", "rows have", " GPUs that do not divide evenly over their nodes: each is one task"}},
      {sacct->n_mixed, {"row has", "rows have", " GPUs of several types, any of which will do in a replay"}},
      {sacct->n_per_node,
       {"row tells its", "rows tell their", " GPUs by GRES alone, which is taken as of each of their nodes"}},
      {sacct->n_early,
       {"row started before it was", "rows started before they were", " submitted: when that was is taken as unknown"}},
      {sacct->n_shares,
       {"row has", "rows have",
        " shares of GPUs (gres/shard, gres/mps), which are not read: without whole ones they "
        "have none"}},
      {sacct->n_priorities, {"row has", "rows have", " a priority above 2147483647, which is not read"}},
  };
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < sizeof notes / sizeof *notes; i++)
    status = hr__reader_note_count(sacct->reader, notes[i].count, notes[i].words);
  return status;
}

enum hr_status hr__read_sacct(struct hr__reader *reader) {
  struct hr__sacct sacct = {.reader = reader};
  enum hr_status status = hr__sacct_read_rows(&sacct);
  if (status == HR_OK) status = add_jobs(&sacct);
  if (status == HR_OK) status = note_all(&sacct);
  hr__names_finish(&sacct.ids);
  hr__names_finish(&sacct.texts);
  free(sacct.jobs);
  return status;
}
