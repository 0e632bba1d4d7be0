/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage, fair shares and priorities, as priority/multifactor computes them: the rules, their application in a run, and
 * the tables of values.
 *
 * Once per PriorityCalcPeriod (a tick), all usage decays. Then the usage of each running job since the last tick, or
 * since its later start, is added. It decays over this time before it is added. Then the priorities of waiting jobs are
 * computed again. When a job ends, its usage since the last tick is added if limits are enforced; otherwise it is lost.
 * Shares refer to the usage at the last tick. They are computed only when they are needed. Times are whole seconds, as
 * in Slurm.
 *
 * Source: src/plugins/priority/multifactor/priority_multifactor.c of SchedMD/slurm; slurm.h names the sources of rules.
 */

#include "policies/slurm/engine.h"

#include "base/text.h"
#include "headroom/base.h"
#include "policies/slurm/slurm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Rules: priority, job size and billing ----------------------------------------------------------- */

/* A sum of parts, truncated to 1 .. 2^32 - 1. */
static uint32_t truncated_priority(double sum) {
  if (sum < 1) return 1;
  return sum >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

uint32_t hr__slurm_priority(const struct hr__slurm_priority *priority) {
  double sum = 0;
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) sum += priority->weights[f] * priority->factors[f];
  sum += priority->site;
  for (uint32_t i = 0; i < priority->n_tres; i++) sum += priority->tres_weights[i] * priority->tres_factors[i];
  sum -= (double)priority->nice;
  return truncated_priority(sum);
}

double hr__slurm_size_factor(const struct hr__slurm_size *size) {
  if (size->all_nodes <= 0 || size->all_cpus <= 0) return 0;
  if (size->is_relative_to_time) {
    double limit_min = size->limit_min > 1 ? size->limit_min : 1;
    double factor = fmax(size->nodes * size->all_cpus / size->all_nodes, size->cpus) / limit_min / size->all_cpus;
    if (size->favors_small) factor = 1 - factor;
    return fmin(1, fmax(0, factor));
  }
  double nodes = size->nodes / size->all_nodes, cpus = size->cpus / size->all_cpus;
  if (size->favors_small) {
    nodes = (size->all_nodes - size->nodes) / size->all_nodes;
    cpus = (size->all_cpus - size->cpus) / size->all_cpus;
  }
  return fmin(1, fmax(0, (nodes + cpus) / 2));
}

double hr__slurm_billing(const struct hr__slurm_tres *tres, uint32_t n_tres, enum hr__slurm_billing rule) {
  double sum = 0, highest = 0;
  for (uint32_t i = 0; i < n_tres; i++) {
    double value = tres[i].weight * tres[i].count;
    bool compares = (rule != HR__SLURM_BILL_SUM && tres[i].kind == HR__SLURM_TRES_NODE) ||
                    (rule == HR__SLURM_BILL_MAX && tres[i].kind == HR__SLURM_TRES_GRES);
    if (compares)
      highest = fmax(highest, value);
    else
      sum += value;
  }
  return highest + sum;
}

/* ---- Rules: fair share ------------------------------------------------------------------------------ */

/* An account with fairshare=parent has no shares. Its children are compared with its siblings, as if they were children
   of the nearest ancestor that has shares. Below, the `ancestor` of an association is its nearest ancestor that has
   shares. Associations with the same `ancestor` are siblings. */

double hr__slurm_usage_sum(struct hr__slurm_assoc *assocs, uint32_t n_assocs) {
  double total = 0;
  for (uint32_t i = n_assocs; i-- > 0;) { // children come after their parents
    if (assocs[i].parent == HR_NONE)
      total += assocs[i].usage;
    else
      assocs[assocs[i].parent].usage += assocs[i].usage;
  }
  return total;
}

/* Returns whether an association is compared with its siblings. This is not the case for an account with
   fairshare=parent: its children are compared instead. */
static bool is_member(const struct hr__slurm_assoc *assoc) {
  return assoc->is_user || !assoc->uses_parent;
}

/* Sums the shares of the siblings below each ancestor in `sums` [n_assocs + 1]; the last entry is that of the root. */
static void add_sibling_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, const uint32_t *ancestors,
                               double *sums) {
  for (uint32_t i = 0; i <= n_assocs; i++) sums[i] = 0;
  for (uint32_t i = 0; i < n_assocs; i++)
    if (!assocs[i].uses_parent) sums[ancestors[i]] += (double)assocs[i].shares;
}

/* Finds, for each association, its nearest ancestor that has shares; n_assocs: the root. */
static void find_ancestors(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, uint32_t *ancestors) {
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t parent = assocs[i].parent;
    ancestors[i] = parent == HR_NONE ? n_assocs : assocs[parent].uses_parent ? ancestors[parent] : parent;
  }
}

static double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

/* ---- Rules: fair share by the classic algorithm ----------------------------------------------------- */

void hr__slurm_classic_shares(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                              double dampening, struct hr__slurm_share *shares,
                              struct hr__slurm_tree_scratch *scratch) {
  find_ancestors(assocs, n_assocs, scratch->ancestors);
  add_sibling_shares(assocs, n_assocs, scratch->ancestors, scratch->sums);
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = scratch->ancestors[i];
    bool is_top = ancestor == n_assocs;
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    double own = ratio((double)assocs[i].shares, scratch->sums[ancestor]);
    if (assocs[i].uses_parent) {
      share->norm_shares = is_top ? 1 : shares[ancestor].norm_shares;
      share->effective_usage = is_top ? share->norm_usage : shares[ancestor].effective_usage;
    } else if (is_top) {
      share->norm_shares = own;
      share->effective_usage = share->norm_usage;
    } else {
      share->norm_shares = shares[ancestor].norm_shares * own;
      share->effective_usage = share->norm_usage + (shares[ancestor].effective_usage - share->norm_usage) * own;
    }
    if (share->norm_shares > 0) share->factor = exp2(-(share->effective_usage / share->norm_shares / dampening));
  }
}

/* ---- Rules: fair share by Fair Tree ----------------------------------------------------------------- */

struct fair_tree {
  const struct hr__slurm_assoc *assocs;
  uint32_t n_assocs;
  struct hr__slurm_share *shares;
  struct hr__slurm_tree_scratch *scratch;
  uint32_t n_users;  /* of the whole tree */
  uint32_t n_ranked; /* users that have a rank */
  uint32_t rank;     /* rank of the last ranked user: n_users for the first one, then decreasing */
};

/* Returns whether the sibling `a` comes before `b`: by descending level fair share, then users before accounts, then by
   index. */
static bool comes_before(const struct fair_tree *tree, uint32_t a, uint32_t b) {
  double fs_a = tree->shares[a].level_fs, fs_b = tree->shares[b].level_fs;
  if (fs_a != fs_b) return fs_a > fs_b;
  if (tree->assocs[a].is_user != tree->assocs[b].is_user) return tree->assocs[a].is_user;
  return a < b;
}

/* Sorts siblings by merging; `spare` has room for them. */
static void sort_siblings(const struct fair_tree *tree, uint32_t *siblings, uint32_t count, uint32_t *spare) {
  if (count < 2) return;
  uint32_t half = count / 2, a = 0, b = half;
  sort_siblings(tree, siblings, half, spare);
  sort_siblings(tree, siblings + half, count - half, spare);
  for (uint32_t i = 0; i < count; i++) {
    bool takes_a = b == count || (a < half && comes_before(tree, siblings[a], siblings[b]));
    spare[i] = takes_a ? siblings[a++] : siblings[b++];
  }
  memcpy(siblings, spare, count * sizeof *siblings);
}

/* Lists the siblings below each ancestor in their order: those below `a` are members[first[a]] to members[first[a + 1]
   - 1]. `place` has the position of each association in `members`. */
static void list_siblings(const struct fair_tree *tree) {
  const uint32_t n = tree->n_assocs, *ancestors = tree->scratch->ancestors;
  uint32_t *first = tree->scratch->first, *members = tree->scratch->members, *place = tree->scratch->place;
  for (uint32_t a = 0; a <= n + 1; a++) first[a] = 0;
  for (uint32_t i = 0; i < n; i++)
    if (is_member(&tree->assocs[i])) first[ancestors[i] + 1]++;
  for (uint32_t a = 0; a <= n; a++) first[a + 1] += first[a];
  // first[a + 1] is the end of the list of `a`. This loop fills the list from its end, so that first[a + 1] becomes the
  // begin of the list. The next loop copies it to first[a].
  for (uint32_t i = n; i-- > 0;)
    if (is_member(&tree->assocs[i])) members[--first[ancestors[i] + 1]] = i;
  for (uint32_t a = 0; a <= n; a++) first[a] = first[a + 1];
  first[n + 1] = 0;
  for (uint32_t i = 0; i < n; i++) first[n + 1] += is_member(&tree->assocs[i]);
  for (uint32_t a = 0; a <= n; a++) sort_siblings(tree, members + first[a], first[a + 1] - first[a], place);
  for (uint32_t k = 0; k < first[n + 1]; k++) place[members[k]] = k;
}

/* Returns the sibling below `ancestor` that follows `last`, or the first sibling if `last` is HR_NONE. Returns HR_NONE
   if no such sibling exists. */
static uint32_t next_sibling(const struct fair_tree *tree, uint32_t ancestor, uint32_t last) {
  const struct hr__slurm_tree_scratch *scratch = tree->scratch;
  uint32_t at = last == HR_NONE ? scratch->first[ancestor] : scratch->place[last] + 1;
  return at < scratch->first[ancestor + 1] ? scratch->members[at] : HR_NONE;
}

static void rank_user(struct fair_tree *tree, uint32_t user, bool tied) {
  if (!tied) tree->rank = tree->n_users - tree->n_ranked;
  tree->shares[user].factor = (double)tree->rank / tree->n_users;
  tree->scratch->order[tree->n_ranked++] = user;
}

/* Ranks all users, depth first. If an association has the same level fair share as its preceding sibling, the next user
   that is ranked gets the rank of the user that was ranked last. (According to Slurm's documentation, the children of
   tied accounts are also merged, but its code does not do this.) */
static void rank_all(struct fair_tree *tree) {
  const uint32_t root = tree->n_assocs;
  uint32_t at = next_sibling(tree, root, HR_NONE), ancestor = root;
  bool tied = false;
  while (at != HR_NONE || ancestor != root) {
    if (at == HR_NONE) { // all siblings are ranked: continue after their account
      uint32_t account = ancestor;
      ancestor = tree->scratch->ancestors[account];
      at = next_sibling(tree, ancestor, account);
      tied = at != HR_NONE && tree->shares[at].level_fs == tree->shares[account].level_fs;
      continue;
    }
    if (!tree->assocs[at].is_user) { // its first child inherits the tie
      ancestor = at;
      at = next_sibling(tree, ancestor, HR_NONE);
      continue;
    }
    rank_user(tree, at, tied);
    uint32_t next = next_sibling(tree, ancestor, at);
    tied = next != HR_NONE && tree->shares[next].level_fs == tree->shares[at].level_fs;
    at = next;
  }
}

uint32_t hr__slurm_fair_tree(const struct hr__slurm_assoc *assocs, uint32_t n_assocs, double total_usage,
                             struct hr__slurm_share *shares, struct hr__slurm_tree_scratch *scratch) {
  struct fair_tree tree = {.assocs = assocs, .n_assocs = n_assocs, .shares = shares, .scratch = scratch};
  find_ancestors(assocs, n_assocs, scratch->ancestors);
  add_sibling_shares(assocs, n_assocs, scratch->ancestors, scratch->sums);
  for (uint32_t i = 0; i < n_assocs; i++) {
    uint32_t ancestor = scratch->ancestors[i];
    struct hr__slurm_share *share = &shares[i];
    *share = (struct hr__slurm_share){.norm_usage = ratio(assocs[i].usage, total_usage)};
    share->norm_shares = ratio((double)assocs[i].shares, scratch->sums[ancestor]);
    share->effective_usage = ratio(assocs[i].usage, ancestor == n_assocs ? total_usage : assocs[ancestor].usage);
    if (assocs[i].uses_parent)
      share->level_fs = (double)INFINITY;
    else if (assocs[i].shares == 0)
      share->level_fs = 0;
    else
      share->level_fs = share->effective_usage > 0 ? share->norm_shares / share->effective_usage : (double)INFINITY;
    tree.n_users += assocs[i].is_user;
  }
  list_siblings(&tree);
  rank_all(&tree);
  return tree.n_ranked;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

/*
 * The values that Slurm computes, as rows of two tables. Numbers are rounded as by the commands of Slurm.
 * - `priorities` has the columns of `sprio -l`. It has a row for each waiting job whenever priorities are computed, and
 *   for each job that is submitted or requeued.
 * - `shares` has the columns of `sshare -l -a`. It has a row for each account and user at each tick.
 *
 * Invariant: nothing here changes a decision. Rows are formatted only if they are written.
 *
 * Source: src/sprio/opts.c, src/sshare/process.c of SchedMD/slurm.
 */

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

/* Adds a time of the run, as a time on the clock of the trace. */
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

/* Adds the account and the user of an association. If the association is only in the trace, these are the tenant and
   the user of its first job. */
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

/* Writes the rows of all associations. */
static void write_shares(const struct hr__slurm_run *run, int64_t at_us) {
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

/* ---- Jobs ------------------------------------------------------------------------------------------- */

enum { GPU, NODE, CPU, MEM, N_TRES };

int64_t hr__slurm_second(const struct hr__slurm_run *run, int64_t time_us) {
  int64_t clock_us = time_us + run->trace->origin_us;
  return clock_us / HR_SECOND_US - (clock_us % HR_SECOND_US < 0);
}

static const struct hr__slurm_part *part_of(const struct hr__slurm_run *run, uint32_t job) {
  return &run->parts[run->kinds[run->jobs[job].kind].partition];
}

/* If the trace has no CPUs for a job, the job gets `cpus_per_gpu` CPUs for each of its GPUs. */
void hr__slurm_requested(const struct hr__slurm_run *run, uint32_t job, double tres[N_TRES]) {
  const struct hr_trace *trace = run->trace;
  double tasks = trace->tasks ? trace->tasks[job] : 1;
  double cpus = trace->cpu_milli ? tasks * (double)trace->cpu_milli[job] / 1000 : 0;
  tres[GPU] = trace->gpus[job];
  double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
  if (gpus < tres[GPU]) tres[GPU] = 0; // parts of a GPU are shards in Slurm, which do not count as GPUs
  tres[NODE] = run->kinds[run->jobs[job].kind].min_nodes;
  tres[CPU] = cpus > 0 ? cpus : gpus * run->config->cpus_per_gpu;
  tres[MEM] = trace->mem_mib ? tasks * (double)trace->mem_mib[job] / 1024 : 0;
}

/* The billing of a job. If its partition has no TRESBillingWeights, this is its number of CPUs. */
static double billing_of(const struct hr__slurm_run *run, uint32_t job) {
  double tres[N_TRES];
  hr__slurm_requested(run, job, tres);
  const struct hr_slurm_partition *part = part_of(run, job)->config;
  if (!part || !part->has_billing) return tres[CPU];
  const struct hr_slurm_tres_weights *weights = &part->billing;
  const struct hr__slurm_tres items[N_TRES] = {{weights->gpu, tres[GPU], HR__SLURM_TRES_GRES},
                                               {weights->node, tres[NODE], HR__SLURM_TRES_NODE},
                                               {weights->cpu, tres[CPU], HR__SLURM_TRES_NODE},
                                               {weights->mem_gb, tres[MEM], HR__SLURM_TRES_NODE}};
  uint32_t flags = run->config->priority.flags;
  return hr__slurm_billing(items, N_TRES,
                           flags >> HR_SLURM_MAX_TRES_GRES & 1 ? HR__SLURM_BILL_MAX_GRES
                           : flags >> HR_SLURM_MAX_TRES & 1    ? HR__SLURM_BILL_MAX
                                                               : HR__SLURM_BILL_SUM);
}

/* ---- Usage ------------------------------------------------------------------------------------------ */

void hr__slurm_begin_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  struct hr__slurm_job *state = &run->jobs[job];
  if (state->assoc == HR_NONE) return;
  double factor = state->qos == HR_NONE ? 1 : run->config->qos[state->qos].usage_factor;
  state->charged_us = now_us;
  state->usage_per_s = factor * billing_of(run, job);
}

/* Adds the usage of a running job up to now. */
static void charge(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  struct hr__slurm_job *state = &run->jobs[job];
  double delta_s = (double)(hr__slurm_second(run, now_us) - hr__slurm_second(run, state->charged_us));
  double decay = hr__slurm_decay((double)run->config->priority.decay_half_life_us / (double)HR_SECOND_US, delta_s);
  run->accounts.usage[state->assoc] += delta_s * decay * state->usage_per_s;
  state->charged_us = now_us;
}

static void update_shares(struct hr__slurm_run *run) {
  struct hr__slurm_accounts *accounts = &run->accounts;
  if (!accounts->shares_are_old) return;
  accounts->shares_are_old = false;
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  for (uint32_t a = 0; a < accounts->count; a++) accounts->assocs[a].usage = accounts->usage[a];
  double total = hr__slurm_usage_sum(accounts->assocs, accounts->count);
  if (settings->flags >> HR_SLURM_NO_FAIR_TREE & 1)
    hr__slurm_classic_shares(accounts->assocs, accounts->count, total, settings->dampening, accounts->shares,
                             &accounts->scratch);
  else
    hr__slurm_fair_tree(accounts->assocs, accounts->count, total, accounts->shares, &accounts->scratch);
}

/* Slurm adds the usage at the end of a job only if it enforces limits. Until the next tick, shares must not depend on
   this usage; so they are computed before it is added. */
void hr__slurm_end_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  if (run->jobs[job].assoc == HR_NONE || !run->config->enforce_limits) return;
  if (run->accounts.next_us != HR_NEVER_US) update_shares(run);
  charge(run, job, now_us);
}

/* The number of resets of usage up to a time, counted from an arbitrary date. Daily resets are at midnight, weekly
   resets at the midnight at which Sunday begins. Without PriorityUsageResetPeriod, usage is never reset. */
static int64_t resets_until(const struct hr__slurm_run *run, int64_t time_us) {
  int64_t day = hr__slurm_second(run, time_us) / 86400;
  switch (run->config->priority.usage_reset) {
  case HR_SLURM_RESET_DAILY:
    return day;
  case HR_SLURM_RESET_WEEKLY:
    return (day + 4) / 7; // day 0 was a Thursday
  default:
    return 0;
  }
}

static void tick(struct hr__slurm_run *run, int64_t now_us) {
  struct hr__slurm_accounts *accounts = &run->accounts;
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  double delta_s = (double)(hr__slurm_second(run, now_us) - hr__slurm_second(run, accounts->last_us));
  double decay = hr__slurm_decay((double)settings->decay_half_life_us / (double)HR_SECOND_US, delta_s);
  int64_t resets = resets_until(run, now_us);
  if (resets != resets_until(run, accounts->last_us)) decay = 0;
  for (uint32_t a = 0; decay < 1 && a < accounts->count; a++) accounts->usage[a] *= decay;
  for (uint32_t r = 0; r < run->nodes.n_running; r++) charge(run, run->nodes.running[r].job, now_us);
  accounts->last_us = now_us;
  accounts->next_us = now_us + settings->calc_period_us;
  accounts->shares_are_old = true;
  if (!run->values) return;
  update_shares(run);
  write_shares(run, now_us);
}

bool hr__slurm_catch_up(struct hr__slurm_run *run, int64_t now_us) {
  bool had_any = run->accounts.next_us <= now_us;
  while (run->accounts.next_us <= now_us) tick(run, run->accounts.next_us);
  return had_any;
}

/* ---- Priorities ------------------------------------------------------------------------------------- */

static double size_factor(const struct hr__slurm_run *run, uint32_t job, const double tres[N_TRES]) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  const struct hr__slurm_size size = {.nodes = tres[NODE],
                                      .cpus = tres[CPU],
                                      .limit_min = (double)run->jobs[job].limit_us / (60.0 * (double)HR_SECOND_US),
                                      .all_nodes = run->nodes.n_nodes,
                                      .all_cpus = (double)run->n_gpus * run->config->cpus_per_gpu,
                                      .favors_small = settings->favor_small,
                                      .is_relative_to_time = settings->flags >> HR_SLURM_SMALL_RELATIVE_TO_TIME & 1};
  return hr__slurm_size_factor(&size);
}

/* Sets the weights and factors of PriorityWeightTRES. */
static void set_tres(const struct hr__slurm_run *run, uint32_t job, const double tres[N_TRES], double weights[N_TRES],
                     double factors[N_TRES]) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  const struct hr__slurm_part *part = part_of(run, job);
  const double totals[N_TRES] = {(double)part->n_gpus, part->n_nodes, (double)part->n_gpus * run->config->cpus_per_gpu,
                                 0};
  weights[GPU] = settings->weight_tres.gpu;
  weights[NODE] = settings->weight_tres.node;
  weights[CPU] = settings->weight_tres.cpu;
  weights[MEM] = settings->weight_tres.mem_gb;
  for (unsigned i = 0; i < N_TRES; i++)
    factors[i] = hr__slurm_relative_factor(tres[i], totals[i], settings->flags >> HR_SLURM_NO_NORMAL_TRES & 1);
}

struct hr__slurm_priority hr__slurm_priority_parts(struct hr__slurm_run *run, uint32_t job, int64_t now_us,
                                                   double tres_weights[4], double tres_factors[4]) {
  update_shares(run);
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  const struct hr__slurm_accounts *accounts = &run->accounts;
  const struct hr__slurm_job *state = &run->jobs[job];
  const struct hr_slurm_partition *part = part_of(run, job)->config;
  const struct hr_slurm_assoc *assoc = accounts->configs[state->assoc];
  double qos = state->qos == HR_NONE ? 0 : run->config->qos[state->qos].priority, tres[N_TRES];
  double wait_s = (double)(hr__slurm_second(run, now_us) - hr__slurm_second(run, state->submit_us));
  hr__slurm_requested(run, job, tres);
  set_tres(run, job, tres, tres_weights, tres_factors);
  uint32_t flags = settings->flags;
  return (struct hr__slurm_priority){
      .weights = {settings->weight_age, settings->weight_assoc, settings->weight_fairshare, settings->weight_job_size,
                  settings->weight_partition, settings->weight_qos},
      .factors = {hr__slurm_age_factor(wait_s, (double)settings->max_age_us / (double)HR_SECOND_US),
                  hr__slurm_relative_factor(assoc ? assoc->priority : 0, accounts->highest_priority,
                                            flags >> HR_SLURM_NO_NORMAL_ASSOC & 1),
                  accounts->shares[state->assoc].factor, size_factor(run, job, tres),
                  hr__slurm_relative_factor(part ? part->priority_job_factor : 1, part ? accounts->highest_factor : 1,
                                            flags >> HR_SLURM_NO_NORMAL_PART & 1),
                  hr__slurm_relative_factor(qos, accounts->highest_qos, flags >> HR_SLURM_NO_NORMAL_QOS & 1)},
      .tres_weights = tres_weights,
      .tres_factors = tres_factors,
      .n_tres = N_TRES};
}

void hr__slurm_set_fixed_parts(struct hr__slurm_run *run, uint32_t job) {
  const struct hr__slurm_job *state = &run->jobs[job];
  static const enum hr__slurm_factor fixed[] = {HR__SLURM_ASSOC, HR__SLURM_JOB_SIZE, HR__SLURM_PARTITION,
                                                HR__SLURM_QOS};
  double weights[N_TRES], factors[N_TRES];
  if (!hr__slurm_is_multifactor(run) || state->assoc == HR_NONE || state->kind == HR_NONE) return;
  const struct hr__slurm_priority parts = hr__slurm_priority_parts(run, job, state->submit_us, weights, factors);
  for (unsigned i = 0; i < 4; i++) run->weighed[job].fixed_parts[i] = parts.weights[fixed[i]] * parts.factors[fixed[i]];
}

static bool has_tres_weights(const struct hr_slurm_priority_config *settings) {
  const struct hr_slurm_tres_weights *weights = &settings->weight_tres;
  return weights->gpu > 0 || weights->node > 0 || weights->cpu > 0 || weights->mem_gb > 0;
}

/* The priority of a job if PriorityWeightTRES is not set: the sum of its constant parts, of its age and of its fair
   share, added in the order of hr__slurm_priority. The shares must be up to date. */
static uint32_t simple_priority(const struct hr__slurm_run *run, const struct hr__slurm_weighed *job, int64_t now_s,
                                double max_age_s) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  double sum = settings->weight_age * hr__slurm_age_factor((double)(now_s - job->submit_s), max_age_s);
  sum += job->fixed_parts[0];
  sum += settings->weight_fairshare * run->accounts.shares[job->assoc_plus - 1].factor;
  for (unsigned i = 1; i < 4; i++) sum += job->fixed_parts[i];
  return truncated_priority(sum);
}

static uint32_t priority_now(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  double weights[N_TRES], factors[N_TRES];
  if (has_tres_weights(settings)) {
    const struct hr__slurm_priority parts = hr__slurm_priority_parts(run, job, now_us, weights, factors);
    return hr__slurm_priority(&parts);
  }
  update_shares(run);
  return simple_priority(run, &run->weighed[job], hr__slurm_second(run, now_us),
                         (double)settings->max_age_us / (double)HR_SECOND_US);
}

void hr__slurm_note_submission(struct hr__slurm_run *run, uint32_t job) {
  run->weighed[job].submit_s = hr__slurm_second(run, run->jobs[job].submit_us);
  run->weighed[job].assoc_plus = run->jobs[job].assoc + 1;
}

uint64_t hr__slurm_key(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  uint32_t *priority = &run->priorities[job];
  const struct hr_slurm_partition *part = part_of(run, job)->config;
  int64_t type = run->params[HR__SLURM_PRIORITY_TYPE].integer;
  if (type == HR__SLURM_TRACE && run->trace->priority)
    *priority = (uint32_t)run->trace->priority[job] ^ UINT32_C(0x80000000);
  if (hr__slurm_is_multifactor(run)) {
    uint32_t now = priority_now(run, job, now_us);
    bool only_grows = run->config->priority.flags >> HR_SLURM_INCR_ONLY & 1;
    if (!only_grows || now > *priority) *priority = now;
  }
  return (uint64_t)(part ? part->priority_tier : 0) << 32 | *priority;
}

/* Computes the priorities of the waiting jobs. It reads the jobs in the order of their ids, which is their order in
   memory. This is much faster than the order of the queue. */
static void compute_priorities(struct hr__slurm_run *run, int64_t now_us) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  const uint8_t *states = run->view->state;
  bool is_simple = hr__slurm_is_multifactor(run) && !has_tres_weights(settings) && !run->values &&
                   !(settings->flags >> HR_SLURM_INCR_ONLY & 1);
  int64_t now_s = hr__slurm_second(run, now_us);
  double max_age_s = (double)settings->max_age_us / (double)HR_SECOND_US;
  if (is_simple) update_shares(run);
  while (run->first_waiting < run->end_waiting && states[run->first_waiting] != HR_JOB_WAITING) run->first_waiting++;
  for (uint32_t job = run->first_waiting; job < run->end_waiting; job++) {
    if (states[job] != HR_JOB_WAITING || !run->weighed[job].assoc_plus || hr__slurm_is_suspended(run, job)) continue;
    if (is_simple) {
      run->priorities[job] = simple_priority(run, &run->weighed[job], now_s, max_age_s);
      continue;
    }
    hr__slurm_key(run, job, now_us);
    hr__slurm_write_priority(run, job, now_us);
  }
}

bool hr__slurm_update_priorities(struct hr__slurm_run *run, int64_t now_us) {
  struct hr__slurm_waiting *waiting = &run->waiting;
  if (waiting->may_preempt && run->scratch_capacity < waiting->count) {
    run->scratch_capacity = waiting->capacity;
    if (!HR__ARENA_ARRAY(run->arena, run->waiting_scratch, run->scratch_capacity)) return false;
  }
  compute_priorities(run, now_us);
  for (uint32_t i = 0; i < waiting->count; i++) {
    struct hr__slurm_entry *entry = hr__slurm_waiting_at(waiting, i);
    entry->key = entry->key >> 32 << 32 | run->priorities[entry->job]; // the tier stays
  }
  hr__slurm_waiting_sort(waiting, run->waiting_scratch);
  return true;
}
