/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage, fair shares and priorities during a run, as priority/multifactor computes them.
 *
 * Once in PriorityCalcPeriod all usage decays, then the usage of running jobs since the last time is added,
 * itself decayed over its own time, and the priorities of waiting jobs are computed again. The usage of a job that ends
 * is added when it ends if limits are enforced; otherwise what it used since the last time is lost. Shares change only
 * at these times. Times are whole seconds, as in Slurm. Shares are computed only when a priority needs them.
 *
 * Source: src/plugins/priority/multifactor/priority_multifactor.c of SchedMD/slurm.
 */

#include "policies/slurm/engine.h"

enum { GPU, NODE, CPU, MEM, N_TRES };

int64_t hr__slurm_second(const struct hr__slurm_run *run, int64_t time_us) {
  int64_t clock_us = time_us + run->trace->origin_us;
  return clock_us / HR_SECOND_US - (clock_us % HR_SECOND_US < 0);
}

static const struct hr__slurm_part *part_of(const struct hr__slurm_run *run, uint32_t job) {
  return &run->parts[run->kinds[run->jobs[job].kind].partition];
}

/* ---- Resources of jobs ------------------------------------------------------------------------------ */

/* What a job requests. A job without CPUs in the trace has those that belong to its GPUs. */
void hr__slurm_requested(const struct hr__slurm_run *run, uint32_t job, double tres[N_TRES]) {
  const struct hr_trace *trace = run->trace;
  double tasks = trace->tasks ? trace->tasks[job] : 1;
  double cpus = trace->cpu_milli ? tasks * (double)trace->cpu_milli[job] / 1000 : 0;
  tres[GPU] = trace->gpus[job];
  double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
  if (gpus < tres[GPU]) tres[GPU] = 0; // shards are not GPUs
  tres[NODE] = run->kinds[run->jobs[job].kind].min_nodes;
  tres[CPU] = cpus > 0 ? cpus : gpus * run->config->cpus_per_gpu;
  tres[MEM] = trace->mem_mib ? tasks * (double)trace->mem_mib[job] / 1024 : 0;
}

/* The billing of a job: by default one per CPU. */
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

/* Adds the usage of a running job until now. */
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

/* Slurm counts the usage at the end of a job only if it enforces limits. Shares are those of the last tick until the
   next one. */
void hr__slurm_end_usage(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  if (run->jobs[job].assoc == HR_NONE || !run->config->enforce_limits) return;
  if (run->accounts.next_us != HR_NEVER_US) update_shares(run); // the usage of the last tick
  charge(run, job, now_us);
}

/* How often usage has been reset up to a time: at each midnight, or at each midnight before a Sunday. */
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
  hr__slurm_write_shares(run, now_us);
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

/* The priority of a job without weights of TRES: summed from the parts that do not change, its age and the fair share,
   in the order of hr__slurm_priority. The shares are up to date. */
static uint32_t simple_priority(const struct hr__slurm_run *run, const struct hr__slurm_weighed *job, int64_t now_s,
                                double max_age_s) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  double sum = settings->weight_age * hr__slurm_age_factor((double)(now_s - job->submit_s), max_age_s);
  sum += job->fixed_parts[0];
  sum += settings->weight_fairshare * run->accounts.shares[job->assoc_plus - 1].factor;
  for (unsigned i = 1; i < 4; i++) sum += job->fixed_parts[i];
  return hr__slurm_truncated_priority(sum);
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

/* Computes the priorities of the waiting jobs. In the order of the jobs in memory, which is much faster than in the
   order of the queue. */
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
    run->waiting_scratch = hr_arena_alloc(run->arena, run->scratch_capacity * sizeof *run->waiting_scratch);
    if (!run->waiting_scratch) return false;
  }
  compute_priorities(run, now_us);
  for (uint32_t i = 0; i < waiting->count; i++) {
    struct hr__slurm_entry *entry = hr__slurm_waiting_at(waiting, i);
    entry->key = entry->key >> 32 << 32 | run->priorities[entry->job]; // the tier stays
  }
  hr__slurm_waiting_sort(waiting, run->waiting_scratch);
  return true;
}
