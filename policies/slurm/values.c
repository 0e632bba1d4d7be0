/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The values that Slurm computes, as rows of two tables: `priorities` has the columns of `sprio -l`, with a row for
 * each waiting job at each computation and for each job that is submitted or requeued; `shares` has those of `sshare -l
 * -a`, with a row for each account and user at each computation. Numbers are rounded as by these commands.
 *
 * Invariant: nothing here changes a decision. Rows are only formatted if someone receives them.
 *
 * Source: src/sprio/opts.c, src/sshare/process.c of SchedMD/slurm.
 */

#include "policies/slurm/engine.h"

#include "base/text.h"

#include <stdio.h>

enum { CELL_BYTES = 40, N_PRIORITY_CELLS = 16, N_SHARE_CELLS = 10 };

static const char *const priority_header[N_PRIORITY_CELLS] = {
    "time_s", "job_id",    "partition", "user",      "account", "priority", "site", "age",
    "assoc",  "fairshare", "jobsize",   "part_prio", "qosname", "qos",      "nice", "tres"};
static const char *const share_header[N_SHARE_CELLS] = {"time_s",     "account",  "user",      "rawshares",
                                                        "normshares", "rawusage", "normusage", "effectvusage",
                                                        "fairshare",  "levelfs"};

/* A row that is being filled. Numbers are written to its own memory. */
struct value_row {
  const char *cells[N_PRIORITY_CELLS];
  char numbers[N_PRIORITY_CELLS][CELL_BYTES];
  unsigned count;
};

static void put_text(struct value_row *row, const char *text) {
  row->cells[row->count++] = text ? text : "";
}

static void put_number(struct value_row *row, double value, int digits) {
  char *to = row->numbers[row->count];
  if (isinf(value))
    snprintf(to, CELL_BYTES, "inf");
  else
    snprintf(to, CELL_BYTES, "%.*f", digits, value);
  put_text(row, to);
}

/* A time of the run on the clock of the input, as in the other files of a run. */
static void put_time(struct value_row *row, const struct hr__slurm_run *run, int64_t at_us) {
  char *to = row->numbers[row->count];
  *hr__put_millionths(to, at_us + hr_trace_clock_us(run->trace)) = '\0';
  put_text(row, to);
}

static const char *name_of(const struct hr_names *names, const uint32_t *column, uint32_t job) {
  return column && column[job] != HR_NONE ? names->text[column[job]] : NULL;
}

void hr__slurm_write_headers(const struct hr__slurm_run *run) {
  if (!run->values || !hr__slurm_is_multifactor(run)) return;
  run->values->row(run->values->self, "priorities", priority_header, N_PRIORITY_CELLS);
  run->values->row(run->values->self, "shares", share_header, N_SHARE_CELLS);
}

void hr__slurm_write_priority(struct hr__slurm_run *run, uint32_t job, int64_t at_us) {
  if (!run->values || run->jobs[job].assoc == HR_NONE) return;
  double weights[4], factors[4], parts[HR__SLURM_N_FACTORS], tres = 0;
  char id[HR_JOB_ID_BUFFER];
  const struct hr_trace *trace = run->trace;
  const struct hr__slurm_priority priority = hr__slurm_priority_parts(run, job, at_us, weights, factors);
  const struct hr_slurm_partition *part = run->parts[run->kinds[run->jobs[job].kind].partition].config;
  uint32_t qos = run->jobs[job].qos;
  struct value_row row = {.count = 0};
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) parts[f] = priority.weights[f] * priority.factors[f];
  for (unsigned i = 0; i < 4; i++) tres += weights[i] * factors[i];
  put_time(&row, run, at_us);
  put_text(&row, hr_trace_job_id(trace, (hr_job){job}, id));
  put_text(&row, part ? part->name : NULL);
  put_text(&row, name_of(&trace->users, trace->user, job));
  put_text(&row, name_of(&trace->tenants, trace->tenant, job));
  put_number(&row, run->priorities[job], 0);
  put_number(&row, priority.site, 0);
  put_number(&row, parts[HR__SLURM_AGE], 0);
  put_number(&row, parts[HR__SLURM_ASSOC], 0);
  put_number(&row, parts[HR__SLURM_FAIR_SHARE], 0);
  put_number(&row, parts[HR__SLURM_JOB_SIZE], 0);
  put_number(&row, parts[HR__SLURM_PARTITION], 0);
  put_text(&row, qos == HR_NONE ? NULL : run->config->qos[qos].name);
  put_number(&row, parts[HR__SLURM_QOS], 0);
  put_number(&row, (double)priority.nice, 0);
  put_number(&row, tres, 0);
  run->values->row(run->values->self, "priorities", row.cells, row.count);
}

/* Lists the names of the associations that only the trace has. The account of a user is that of its jobs. */
static void put_names(struct value_row *row, const struct hr__slurm_run *run, uint32_t assoc) {
  const struct hr__slurm_accounts *accounts = &run->accounts;
  const struct hr_slurm_assoc *config = accounts->configs[assoc];
  if (config) {
    put_text(row, config->account);
    put_text(row, config->user);
    return;
  }
  uint32_t job = accounts->first_jobs[assoc];
  put_text(row, name_of(&run->trace->tenants, run->trace->tenant, job));
  put_text(row, accounts->assocs[assoc].is_user ? name_of(&run->trace->users, run->trace->user, job) : NULL);
}

void hr__slurm_write_shares(const struct hr__slurm_run *run, int64_t at_us) {
  const struct hr__slurm_accounts *accounts = &run->accounts;
  for (uint32_t a = 0; run->values && a < accounts->count; a++) {
    const struct hr__slurm_assoc *assoc = &accounts->assocs[a];
    const struct hr__slurm_share *share = &accounts->shares[a];
    struct value_row row = {.count = 0};
    put_time(&row, run, at_us);
    put_names(&row, run, a);
    if (assoc->uses_parent)
      put_text(&row, "parent");
    else
      put_number(&row, (double)assoc->shares, 0);
    put_number(&row, share->norm_shares, 6);
    put_number(&row, assoc->usage, 0);
    put_number(&row, share->norm_usage, 6);
    put_number(&row, share->effective_usage, 6);
    if (assoc->is_user)
      put_number(&row, share->factor, 6);
    else
      put_text(&row, NULL);
    put_number(&row, share->level_fs, 6);
    run->values->row(run->values->self, "shares", row.cells, row.count);
  }
}
