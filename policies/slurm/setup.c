/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters of Slurm, and the section `slurm` of a scenario: resolves partitions, QOS, and the tree of associations. A
 * job's partition is its field `queue`, its account is its tenant.
 *
 * The tree has the accounts of the section, then its users, then the accounts and users that are only in the trace. An
 * account that is only in the trace is a child of the root. Accounts and users that are only in the trace have one
 * share each. Invariant: parents come before their children.
 */

#include "policies/slurm/engine.h"

#include <string.h>
#include <strings.h>

static uint32_t hash_of(const char *text) {
  uint64_t digest = HR__DIGEST_SEED;
  for (; *text; text++) digest = hr__digest_add(digest, (unsigned char)*text);
  return hr__hash_u64(digest);
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

#define NONE HR__SLURM_NO_BOUND

static const struct hr__slurm_parameter parameters[] = {
    {"bf_interval", "s", 30, 1, 10800, NULL, NULL},
    {"bf_resolution", "s", 60, 1, 3600, NULL, NULL},
    {"bf_window", "min", 1440, 1, 43200, NULL, NULL},
    {"bf_max_job_test", "jobs", 500, 1, 1000000, NULL, NULL},
    {"bf_max_job_start", "jobs", 0, 0, 10000, NULL, NULL},
    {"bf_max_job_user", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_assoc", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_user_part", "jobs", 0, 0, NONE, NULL, "bf_max_job_test"},
    {"bf_max_job_array_resv", "jobs", 20, 0, 1000, NULL, NULL},
    {"bf_max_time", "s", NONE, 1, 3600, "bf_interval", NULL},
    {"bf_yield_interval", "us", 2000000, 1, 10000000, NULL, NULL},
    {"bf_yield_sleep", "us", 500000, 1, 10000000, NULL, NULL},
    {"bf_min_age_reserve", "s", 0, NONE, NONE, NULL, NULL},
    {"bf_min_prio_reserve", "priority", 0, NONE, NONE, NULL, NULL},
    {"bf_job_part_count_reserve", "jobs", 0, 0, 100000, NULL, NULL},
    {"bf_node_space_size", "records", NONE, 2, 2000000, "bf_max_job_test", NULL},
    {"default_queue_depth", "jobs", 100, NONE, NONE, NULL, NULL},
    {"partition_job_depth", "jobs", 0, NONE, NONE, NULL, NULL},
    {"sched_interval", "s", 60, NONE, NONE, NULL, NULL},
    {"sched_min_interval", "us", 2, NONE, NONE, NULL, NULL},
    {"sched_max_job_start", "jobs", 0, NONE, NONE, NULL, NULL},
    {"batch_sched_delay", "s", 3, NONE, NONE, NULL, NULL},
    {"build_queue_timeout", "us", 2000000, NONE, NONE, NULL, NULL},
    {"max_rpc_cnt", "requests", 0, 0, 1000, NULL, NULL},
    {"max_depend_depth", "jobs", 10, NONE, NONE, NULL, NULL},
    {"max_switch_wait", "s", 300, NONE, NONE, NULL, NULL},
    {"preempt_reorder_count", "times", 1, NONE, NONE, NULL, NULL},
    {"PriorityMaxAge", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityDecayHalfLife", "s", 604800, NONE, NONE, NULL, NULL},
    {"PriorityCalcPeriod", "min", 5, NONE, NONE, NULL, NULL},
    {"PriorityWeightAge", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightAssoc", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightFairshare", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightJobSize", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightPartition", "weight", 0, NONE, NONE, NULL, NULL},
    {"PriorityWeightQOS", "weight", 0, NONE, NONE, NULL, NULL},
    {"FairShareDampeningFactor", "factor", 1, NONE, NONE, NULL, NULL},
    {"PreemptExemptTime", "s", -1, NONE, NONE, NULL, NULL},
    {"SchedulerTimeSlice", "s", 30, 5, 65533, NULL, NULL},
    {"OverTimeLimit", "min", 0, 0, 65533, NULL, NULL},
    {"KillWait", "s", 30, 0, 65533, NULL, NULL},
    {"CompleteWait", "s", 0, 0, 65533, NULL, NULL},
    {"MaxArraySize", "tasks", 1001, 0, 4000001, NULL, NULL},
    {"MaxJobCount", "jobs", 10000, NONE, NONE, NULL, NULL},
};

const struct hr__slurm_parameter *hr__slurm_parameter(const char *name) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
    if (strcasecmp(parameters[i].name, name) == 0) return &parameters[i];
  return NULL;
}

/* ---- Partitions and QOS ----------------------------------------------------------------------------- */

static void add_range(struct hr__slurm_run *run, struct hr__slurm_part *part, uint32_t pool, uint32_t first,
                      uint32_t count) {
  first += hr_cluster_first_node(run->cluster, (hr_pool){pool}).id;
  for (uint32_t n = first; n < first + count; n++) {
    uint64_t bit = UINT64_C(1) << n % 64;
    if (part->nodes[n / 64] & bit) continue;
    part->nodes[n / 64] |= bit;
    part->n_nodes++;
    part->n_gpus += run->nodes.gpus[n];
  }
}

static bool set_nodes(struct hr__slurm_run *run, struct hr__slurm_part *part) {
  if (!HR__ARENA_ARRAY(run->arena, part->nodes, run->nodes.n_words + 1)) return false;
  if (!part->config || !part->config->n_nodes) {
    for (uint32_t p = 0; p < run->n_pools; p++)
      add_range(run, part, p, 0, hr_cluster_pool_spec(run->cluster, (hr_pool){p})->nodes);
    return true;
  }
  for (uint32_t i = 0; i < part->config->n_nodes; i++) {
    const struct hr_slurm_node_range *range = &part->config->nodes[i];
    add_range(run, part, range->pool, range->first, range->count);
  }
  return true;
}

static bool stops_over_time(const struct hr_slurm_config *config) {
  bool does = config && config->over_time_limit_us != HR_UNKNOWN_US;
  for (uint32_t p = 0; config && p < config->n_partitions; p++)
    does = does || config->partitions[p].over_time_limit_us != HR_UNKNOWN_US;
  return does;
}

static bool set_partitions(struct hr__slurm_run *run) {
  uint32_t n_configured = run->config ? run->config->n_partitions : 0;
  run->n_parts = n_configured ? n_configured : 1;
  run->default_part = n_configured ? HR_NONE : 0;
  if (!HR__ARENA_ARRAY(run->arena, run->parts, run->n_parts) ||
      !HR__ARENA_ARRAY(run->arena, run->failed_parts, run->n_parts))
    return false;
  for (uint32_t p = 0; p < run->n_parts; p++) {
    if (n_configured) run->parts[p].config = &run->config->partitions[p];
    if (n_configured && run->parts[p].config->is_default) run->default_part = p;
    if (!set_nodes(run, &run->parts[p])) return false;
    const struct hr_slurm_partition *config = run->parts[p].config;
    if (config && config->priority_job_factor > run->accounts.highest_factor)
      run->accounts.highest_factor = config->priority_job_factor;
  }
  if (n_configured == 1) run->default_part = 0;
  return true;
}

/* Finds the partition or QOS of each name of the trace; HR_NONE: it does not exist. Returns an array by name; NULL:
   memory is exhausted. */
static uint32_t *resolve(struct hr__slurm_run *run, const struct hr_names *names, bool is_qos) {
  uint32_t *numbers = hr_arena_alloc(run->arena, ((size_t)names->count + 1) * sizeof *numbers);
  struct hr__hash table = {0};
  uint32_t count = !run->config ? 0 : is_qos ? run->config->n_qos : run->config->n_partitions;
  for (uint32_t i = 0; i < count; i++)
    if (!hr__hash_add(&table, run->arena, hash_of(is_qos ? run->config->qos[i].name : run->config->partitions[i].name),
                      i))
      return NULL;
  for (uint32_t n = 0; numbers && n < names->count; n++) {
    struct hr__hash_cursor at;
    uint32_t i = hr__hash_first(&table, hash_of(names->text[n]), &at);
    for (; i != HR_NONE; i = hr__hash_next(&table, &at))
      if (strcmp(is_qos ? run->config->qos[i].name : run->config->partitions[i].name, names->text[n]) == 0) break;
    numbers[n] = i;
  }
  return numbers;
}

static bool set_qos(struct hr__slurm_run *run) {
  run->default_qos = HR_NONE;
  for (uint32_t q = 0; run->config && q < run->config->n_qos; q++) {
    const struct hr_slurm_qos *qos = &run->config->qos[q];
    if (strcmp(qos->name, "normal") == 0) run->default_qos = q;
    if (qos->priority > run->accounts.highest_qos) run->accounts.highest_qos = qos->priority;
  }
  run->qos_of_name = resolve(run, &run->trace->qos_names, true);
  run->part_of_queue = resolve(run, &run->trace->queues, false);
  return run->qos_of_name && run->part_of_queue;
}

/* ---- Associations ----------------------------------------------------------------------------------- */

/* Adds an association; HR_NONE if memory is exhausted. `config` NULL: the association is only in the trace, and
   `first_job` is its first job. `is_user`: the association is a user of an account. */
static uint32_t add_assoc(struct hr__slurm_run *run, uint32_t parent, const struct hr_slurm_assoc *config,
                          uint32_t first_job, bool is_user) {
  struct hr__slurm_accounts *accounts = &run->accounts;
  if (!HR__ARENA_HAS_ROOM(run->arena, accounts->configs, accounts->count, accounts->configs_capacity) ||
      !HR__ARENA_HAS_ROOM(run->arena, accounts->first_jobs, accounts->count, accounts->jobs_capacity) ||
      !HR__ARENA_HAS_ROOM(run->arena, accounts->assocs, accounts->count, accounts->assocs_capacity))
    return HR_NONE;
  accounts->configs[accounts->count] = config;
  accounts->first_jobs[accounts->count] = first_job;
  accounts->assocs[accounts->count] = (struct hr__slurm_assoc){.parent = parent,
                                                               .shares = config ? config->fairshare : 1,
                                                               .uses_parent = config && config->fairshare < 0,
                                                               .is_user = is_user};
  if (config && config->priority > accounts->highest_priority) accounts->highest_priority = config->priority;
  return accounts->count++;
}

/* Adds association number `entry` of the section and, before it, the accounts above it that have not been added yet.
   `added`: for each association of the section, its number in the tree, or HR_NONE. `way` is scratch. Returns false if
   memory is exhausted. */
static bool add_account(struct hr__slurm_run *run, uint32_t entry, uint32_t *added, uint32_t *way) {
  uint32_t n_way = 0;
  for (uint32_t at = entry; at != HR_NONE && added[at] == HR_NONE; at = run->config->associations[at].above)
    way[n_way++] = at;
  while (n_way-- > 0) {
    const struct hr_slurm_assoc *config = &run->config->associations[way[n_way]];
    uint32_t parent = config->above == HR_NONE ? HR_NONE : added[config->above];
    added[way[n_way]] = add_assoc(run, parent, config, HR_NONE, config->user != NULL);
    if (added[way[n_way]] == HR_NONE) return false;
  }
  return true;
}

/* Finds the number of a name of the trace; HR_NONE if no job has it. */
static uint32_t find_name(const struct hr__hash *table, const struct hr_names *names, const char *text) {
  struct hr__hash_cursor at;
  uint32_t i = hr__hash_first(table, hash_of(text), &at);
  for (; i != HR_NONE; i = hr__hash_next(table, &at))
    if (strcmp(names->text[i], text) == 0) break;
  return i;
}

static bool add_names(struct hr__slurm_run *run, struct hr__hash *table, const struct hr_names *names) {
  for (uint32_t n = 0; n < names->count; n++)
    if (!hr__hash_add(table, run->arena, hash_of(names->text[n]), n)) return false;
  return true;
}

/* Adds the associations of the section. Writes the account of each tenant to `account_of` [number of tenants + 1].
   Returns false if memory is exhausted. */
static bool add_configured(struct hr__slurm_run *run, uint32_t *account_of) {
  const struct hr_slurm_config *config = run->config;
  uint32_t n = config ? config->n_associations : 0;
  uint32_t *added = hr_arena_alloc(run->arena, (n + 1) * sizeof *added);
  uint32_t *way = hr_arena_alloc(run->arena, (n + 1) * sizeof *way);
  struct hr__hash tenants = {0}, users = {0};
  if (!added || !way || !add_names(run, &tenants, &run->trace->tenants) || !add_names(run, &users, &run->trace->users))
    return false;
  for (uint32_t i = 0; i < n; i++) added[i] = HR_NONE;
  for (unsigned only_users = 0; only_users < 2; only_users++)
    for (uint32_t i = 0; i < n; i++) {
      const struct hr_slurm_assoc *assoc = &config->associations[i];
      if ((assoc->user != NULL) != (only_users == 1)) continue;
      if (!add_account(run, i, added, way)) return false;
      uint32_t tenant = find_name(&tenants, &run->trace->tenants, assoc->account);
      uint32_t user = assoc->user ? find_name(&users, &run->trace->users, assoc->user) : HR_NONE;
      if (tenant == HR_NONE) continue;
      if (!assoc->user) account_of[tenant] = added[i];
      const struct hr__pair pair = {(uint64_t)tenant + 1, (uint64_t)user + 1};
      if (user != HR_NONE && !hr__pair_map_add(&run->accounts.users, run->arena, pair, added[i])) return false;
    }
  return true;
}

/* The tenant and the user of a job, each plus 1; 0: none. */
static struct hr__pair names_of(const struct hr__slurm_run *run, uint32_t job) {
  uint32_t tenant = run->trace->tenant ? run->trace->tenant[job] : HR_NONE;
  uint32_t user = run->trace->user ? run->trace->user[job] : HR_NONE;
  return (struct hr__pair){tenant == HR_NONE ? 0 : (uint64_t)tenant + 1, user == HR_NONE ? 0 : (uint64_t)user + 1};
}

/* Adds the accounts and users that are only in the trace. Returns false if memory is exhausted. */
static bool add_traced(struct hr__slurm_run *run, uint32_t *account_of) {
  uint32_t n_tenants = run->trace->tenants.count;
  for (uint32_t job = 0; job < run->trace->n_jobs; job++) {
    const struct hr__pair pair = names_of(run, job);
    hr_arena_passed_job(run->arena, (hr_job){job});
    if (hr__pair_map_find(&run->accounts.users, pair) != HR_NONE) continue;
    uint32_t *account = &account_of[pair.a ? pair.a - 1 : n_tenants];
    if (*account == HR_NONE) *account = add_assoc(run, HR_NONE, NULL, job, false);
    uint32_t user = *account == HR_NONE ? HR_NONE : add_assoc(run, *account, NULL, job, true);
    if (user == HR_NONE || !hr__pair_map_add(&run->accounts.users, run->arena, pair, user)) return false;
  }
  return true;
}

/* The time of the first tick (multifactor.c) after the begin of the trace. Slurm counts the periods from the start of
   slurmctld. If this start is unknown, they are counted from the begin of the trace. */
static int64_t first_tick(const struct hr__slurm_run *run) {
  const struct hr_slurm_priority_config *settings = &run->config->priority;
  if (settings->calc_start_us == HR_UNKNOWN_US) return settings->calc_period_us;
  int64_t into_us = (run->trace->origin_us - settings->calc_start_us) % settings->calc_period_us;
  return settings->calc_period_us - (into_us < 0 ? into_us + settings->calc_period_us : into_us);
}

static bool set_associations(struct hr__slurm_run *run) {
  struct hr__slurm_accounts *accounts = &run->accounts;
  uint32_t n_tenants = run->trace->tenants.count;
  uint32_t *account_of = hr_arena_alloc(run->arena, ((size_t)n_tenants + 1) * sizeof *account_of);
  if (!account_of) return false;
  for (uint32_t t = 0; t <= n_tenants; t++) account_of[t] = HR_NONE;
  if (!add_configured(run, account_of) || !add_traced(run, account_of)) return false;
  size_t n = (size_t)accounts->count + 2;
  struct hr__slurm_tree_scratch *scratch = &accounts->scratch;
  accounts->shares_are_old = true;
  accounts->next_us = first_tick(run);
  return HR__ARENA_ARRAY(run->arena, accounts->shares, n) && HR__ARENA_ARRAY(run->arena, accounts->usage, n) &&
         HR__ARENA_ARRAY(run->arena, scratch->sums, n) && HR__ARENA_ARRAY(run->arena, scratch->ancestors, n) &&
         HR__ARENA_ARRAY(run->arena, scratch->first, n) && HR__ARENA_ARRAY(run->arena, scratch->members, n) &&
         HR__ARENA_ARRAY(run->arena, scratch->place, n) && HR__ARENA_ARRAY(run->arena, scratch->order, n);
}

enum hr_status hr__slurm_set_up(struct hr__slurm_run *run, struct hr_error *error) {
  if (run->config && run->config->n_reservations > HR__SLURM_MAX_RESERVATIONS)
    return hr_fail(error, HR_BAD_INPUT, "policy 'slurm': %u advance reservations, expected at most %d",
                   run->config->n_reservations, HR__SLURM_MAX_RESERVATIONS);
  run->stops_over_time = stops_over_time(run->config);
  bool done = set_partitions(run) && set_qos(run) && (!run->config || set_associations(run)) &&
              hr__slurm_create_limits(run) && hr__slurm_create_preemption(run) && hr__slurm_create_suspension(run) &&
              hr__slurm_create_reservations(run);
  if (!hr__slurm_is_multifactor(run)) run->accounts.next_us = HR_NEVER_US;
  return done ? HR_OK : HR_NO_MEMORY;
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static bool is_listed(const struct hr_slurm_name *names, uint32_t count, const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (text && strcmp(names[i].text, text) == 0) return true;
  return false;
}

/* Returns whether a partition accepts a job of a QOS: the partition must be open, and its lists must allow the job's
   account and the QOS. */
static bool accepts(const struct hr__slurm_run *run, const struct hr_slurm_partition *part, uint32_t job,
                    uint32_t qos) {
  if (part->state == HR_SLURM_DRAIN || part->state == HR_SLURM_INACTIVE) return false;
  const struct hr__pair pair = names_of(run, job);
  const char *account = pair.a ? run->trace->tenants.text[pair.a - 1] : NULL;
  const char *name = qos == HR_NONE ? NULL : run->config->qos[qos].name;
  if (part->n_allow_accounts && !is_listed(part->allow_accounts, part->n_allow_accounts, account)) return false;
  if (part->n_allow_qos && !is_listed(part->allow_qos, part->n_allow_qos, name)) return false;
  return !is_listed(part->deny_accounts, part->n_deny_accounts, account) &&
         !is_listed(part->deny_qos, part->n_deny_qos, name);
}

/* The QOS of an association: its own default, or that of the nearest account above that has one. If no default exists,
   the QOS `normal`; HR_NONE if this QOS does not exist. */
static uint32_t qos_of_assoc(const struct hr__slurm_run *run, uint32_t assoc) {
  for (; assoc != HR_NONE; assoc = run->accounts.assocs[assoc].parent) {
    const struct hr_slurm_assoc *config = run->accounts.configs[assoc];
    if (config && config->default_qos_index != HR_NONE) return config->default_qos_index;
  }
  return run->default_qos;
}

static int64_t limit_of(const struct hr__slurm_run *run, uint32_t job, const struct hr_slurm_partition *part) {
  bool is_given = run->trace->limit_us && run->trace->limit_us[job] >= 0;
  if (!is_given && part && part->default_time_us != HR_UNKNOWN_US) return part->default_time_us;
  if (!is_given && part && part->max_time_us != HR_UNKNOWN_US) return part->max_time_us;
  return hr_trace_limit_us(run->trace, (hr_job){job});
}

bool hr__slurm_describe(struct hr__slurm_run *run, uint32_t job) {
  struct hr__slurm_job *to = &run->jobs[job];
  uint32_t queue = run->trace->queue ? run->trace->queue[job] : HR_NONE;
  uint32_t qos = run->trace->qos ? run->trace->qos[job] : HR_NONE;
  uint32_t part = queue == HR_NONE || run->n_parts == 1 ? run->default_part : run->part_of_queue[queue];
  *to = (struct hr__slurm_job){.qos = HR_NONE, .assoc = HR_NONE, .kind = HR_NONE};
  run->priorities[job] = 1;
  if (job >= run->end_waiting) run->end_waiting = job + 1;
  if (part == HR_NONE) return false;
  if (run->config) {
    to->assoc = hr__pair_map_find(&run->accounts.users, names_of(run, job));
    to->qos = qos == HR_NONE ? qos_of_assoc(run, to->assoc) : run->qos_of_name[qos];
    if (qos != HR_NONE && to->qos == HR_NONE && run->config->n_qos) return false;
    const struct hr_slurm_partition *config = run->parts[part].config;
    if (config && !accepts(run, config, job, to->qos)) return false;
  }
  to->limit_us = limit_of(run, job, run->parts[part].config);
  to->kind = hr__slurm_kind_of(run, job, part);
  hr__slurm_set_fixed_parts(run, job);
  return to->kind == HR_NONE || hr__slurm_may_submit(run, job);
}
