/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why jobs wait although nodes may be free: limits of QOS and associations, and rules of partitions. Also writes the
 * messages for all reasons.
 *
 * If a limit is set in several places, the first of these applies: the QOS of the partition, the QOS of the job, the
 * user's association, and the accounts above it. If the QOS of the job has the flag OverPartQOS, it precedes the QOS of
 * the partition. Group limits of associations apply at the user and at each account above it. Reasons have Slurm's
 * names. Invariant: the counters agree with the jobs that run and that wait.
 *
 * Source: src/slurmctld/acct_policy.c and doc/html/resource_limits of SchedMD/slurm.
 */

#include "policies/slurm/engine.h"

#include "headroom/unstable/faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum limit_scope { GROUP, PER_USER, PER_ACCOUNT, JOB_MOST, JOB_LEAST };
enum limit_measure { GPU, NODE, CPU, MEM, JOBS, WALL };

/* A limit: where it is stored, what it counts, and Slurm's reasons; assoc NULL: only a QOS can have it. */
static const struct limit_row {
  size_t offset;
  enum limit_scope scope;
  enum limit_measure measure;
  const char *qos, *assoc;
} limits[] = {
#define AT(member) offsetof(struct hr_slurm_limits, member)
    {AT(max_wall_us), JOB_MOST, WALL, "QOSMaxWallDurationPerJobLimit", "AssocMaxWallDurationPerJobLimit"},
    {AT(grp_jobs), GROUP, JOBS, "QOSGrpJobsLimit", "AssocGrpJobsLimit"},
    {AT(max_jobs_per_account), PER_ACCOUNT, JOBS, "QOSMaxJobsPerAccountLimit", NULL},
    {AT(max_jobs_per_user), PER_USER, JOBS, "QOSMaxJobsPerUserLimit", "AssocMaxJobsLimit"},
#define TRES_LIMITS(member, scope, words, assoc_words)                                                                 \
  {AT(member.gpu), scope, GPU, "QOS" words "GRES", assoc_words "GRES"},                                                \
      {AT(member.node), scope, NODE, "QOS" words "NodeLimit", assoc_words "NodeLimit"},                                \
      {AT(member.cpu), scope, CPU, "QOS" words "CpuLimit", assoc_words "CpuLimit"}, {                                  \
    AT(member.mem_gb), scope, MEM, "QOS" words "MemLimit", assoc_words "MemLimit"                                      \
  }
    TRES_LIMITS(grp_tres, GROUP, "Grp", "AssocGrp"),
    {AT(max_tres_per_job.gpu), JOB_MOST, GPU, "QOSMaxGRESPerJob", "AssocMaxGRESPerJob"},
    {AT(max_tres_per_job.node), JOB_MOST, NODE, "QOSMaxNodePerJobLimit", "AssocMaxNodePerJobLimit"},
    {AT(max_tres_per_job.cpu), JOB_MOST, CPU, "QOSMaxCpuPerJobLimit", "AssocMaxCpuPerJobLimit"},
    {AT(max_tres_per_job.mem_gb), JOB_MOST, MEM, "QOSMaxMemoryPerJob", "AssocMaxMemPerJob"},
    {AT(max_tres_per_user.gpu), PER_USER, GPU, "QOSMaxGRESPerUser", NULL},
    {AT(max_tres_per_user.node), PER_USER, NODE, "QOSMaxNodePerUserLimit", NULL},
    {AT(max_tres_per_user.cpu), PER_USER, CPU, "QOSMaxCpuPerUserLimit", NULL},
    {AT(max_tres_per_user.mem_gb), PER_USER, MEM, "QOSMaxMemoryPerUser", NULL},
    {AT(max_tres_per_account.gpu), PER_ACCOUNT, GPU, "QOSMaxGRESPerAccount", NULL},
    {AT(max_tres_per_account.node), PER_ACCOUNT, NODE, "QOSMaxNodePerAccount", NULL},
    {AT(max_tres_per_account.cpu), PER_ACCOUNT, CPU, "QOSMaxCpuPerAccount", NULL},
    {AT(max_tres_per_account.mem_gb), PER_ACCOUNT, MEM, "QOSMaxMemoryPerAccount", NULL},
    {AT(min_tres_per_job.gpu), JOB_LEAST, GPU, "QOSMinGRES", NULL},
    {AT(min_tres_per_job.node), JOB_LEAST, NODE, "QOSMinNodeNotSatisfied", NULL},
    {AT(min_tres_per_job.cpu), JOB_LEAST, CPU, "QOSMinCpuNotSatisfied", NULL},
    {AT(min_tres_per_job.mem_gb), JOB_LEAST, MEM, "QOSMinMemory", NULL}};
enum { N_LIMITS = sizeof limits / sizeof *limits };

static int64_t value_of(const struct hr_slurm_limits *from, const struct limit_row *limit) {
  int64_t value;
  memcpy(&value, (const char *)from + limit->offset, sizeof value);
  return value;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

bool hr__slurm_create_limits(struct hr__slurm_run *run) {
  struct hr__slurm_limits *state = &run->limits_state;
  const struct hr_slurm_config *config = run->config;
  if (!config) return true;
  for (uint32_t l = 0; config->enforce_limits && l < N_LIMITS; l++) {
    bool is_used = false;
    for (uint32_t q = 0; q < config->n_qos; q++) is_used = is_used || value_of(&config->qos[q].limits, &limits[l]) >= 0;
    for (uint32_t a = 0; limits[l].assoc && a < config->n_associations; a++)
      is_used = is_used || value_of(&config->associations[a].limits, &limits[l]) >= 0;
    if (is_used) state->used |= UINT64_C(1) << l;
  }
  return HR__ARENA_ARRAY(run->arena, state->qos, config->n_qos + 1) &&
         HR__ARENA_ARRAY(run->arena, state->assocs, run->accounts.count + 1);
}

/* ---- Counters --------------------------------------------------------------------------------------- */

/* The counters of a user (`what` 0) or an account (1) in a QOS; NULL if memory is exhausted. */
static struct hr__slurm_use *use_in_qos(struct hr__slurm_run *run, uint32_t qos, uint32_t what, uint32_t name) {
  struct hr__slurm_limits *state = &run->limits_state;
  const struct hr__pair pair = {(uint64_t)qos << 1 | what, name};
  uint32_t at = hr__pair_map_intern(&state->pairs, run->arena, pair);
  if (at == HR_NONE || !HR__ARENA_HAS_ROOM(run->arena, state->uses, at, state->capacity)) return NULL;
  return &state->uses[at];
}

static uint32_t user_of(const struct hr__slurm_run *run, uint32_t job) {
  return run->trace->user ? run->trace->user[job] : HR_NONE;
}

static uint32_t account_of(const struct hr__slurm_run *run, uint32_t job) {
  return run->trace->tenant ? run->trace->tenant[job] : HR_NONE;
}

/* Writes the request of a job, rounded up to whole numbers. */
static void amounts_of(const struct hr__slurm_run *run, uint32_t job, int64_t amounts[6]) {
  double tres[4];
  hr__slurm_requested(run, job, tres);
  for (unsigned i = 0; i < 4; i++) amounts[i] = (int64_t)ceil(tres[i]);
  amounts[JOBS] = 1;
  amounts[WALL] = run->jobs[job].limit_us;
}

static void count(struct hr__slurm_use *use, const int64_t amounts[6], int64_t sign, bool runs) {
  if (!runs) {
    use->submitted += sign;
    return;
  }
  for (unsigned i = 0; i <= JOBS; i++) use->amounts[i] += sign * amounts[i];
}

/* Writes the QOS that limit the job, in the order of their precedence. Returns their number. */
static uint32_t qos_of_job(const struct hr__slurm_run *run, uint32_t job, uint32_t qos[2]) {
  const struct hr_slurm_partition *part = run->parts[run->kinds[run->jobs[job].kind].partition].config;
  uint32_t of_part = part ? part->qos_index : HR_NONE, of_job = run->jobs[job].qos, n = 0;
  bool job_first = of_job != HR_NONE && run->config->qos[of_job].flags >> HR_SLURM_OVER_PART_QOS & 1;
  if (job_first) qos[n++] = of_job;
  if (of_part != HR_NONE && (!job_first || of_part != of_job)) qos[n++] = of_part;
  if (!job_first && of_job != HR_NONE && of_job != of_part) qos[n++] = of_job;
  return n;
}

bool hr__slurm_count(struct hr__slurm_run *run, uint32_t job, int64_t sign, bool runs) {
  if (!run->config) return true;
  int64_t amounts[6];
  uint32_t qos[2], n_qos = qos_of_job(run, job, qos);
  amounts_of(run, job, amounts);
  for (uint32_t q = 0; q < n_qos; q++) {
    count(&run->limits_state.qos[qos[q]], amounts, sign, runs);
    struct hr__slurm_use *user = use_in_qos(run, qos[q], 0, user_of(run, job));
    if (user) count(user, amounts, sign, runs);
    struct hr__slurm_use *account = use_in_qos(run, qos[q], 1, account_of(run, job));
    if (account) count(account, amounts, sign, runs);
    if (!user || !account) return false;
  }
  for (uint32_t a = run->jobs[job].assoc; a != HR_NONE; a = run->accounts.assocs[a].parent)
    count(&run->limits_state.assocs[a], amounts, sign, runs);
  return true;
}

/* ---- Checks ----------------------------------------------------------------------------------------- */

/* Returns whether a job exceeds a limit. `use` NULL: nothing else runs. */
static bool exceeds(const struct limit_row *limit, int64_t value, const struct hr__slurm_use *use,
                    const int64_t amounts[6]) {
  switch (limit->scope) {
  case JOB_MOST:
    return amounts[limit->measure] > value;
  case JOB_LEAST:
    return amounts[limit->measure] < value;
  default:
    return (use ? use->amounts[limit->measure] : 0) + amounts[limit->measure] > value;
  }
}

static const struct hr__slurm_use *use_of_qos(struct hr__slurm_run *run, const struct limit_row *limit, uint32_t qos,
                                              uint32_t job) {
  if (limit->scope == PER_USER) return use_in_qos(run, qos, 0, user_of(run, job));
  if (limit->scope == PER_ACCOUNT) return use_in_qos(run, qos, 1, account_of(run, job));
  return &run->limits_state.qos[qos];
}

/* Returns whether a job exceeds a limit of its association or, for group limits, of an account above it. */
static bool exceeds_assoc(const struct hr__slurm_run *run, const struct limit_row *limit, uint32_t job,
                          const int64_t amounts[6]) {
  const uint32_t user = run->jobs[job].assoc;
  for (uint32_t a = user; a != HR_NONE; a = run->accounts.assocs[a].parent) {
    const struct hr_slurm_assoc *config = run->accounts.configs[a];
    int64_t value = config ? value_of(&config->limits, limit) : -1;
    if (value < 0) continue;
    if (exceeds(limit, value, &run->limits_state.assocs[limit->scope == GROUP ? a : user], amounts)) return true;
    if (limit->scope != GROUP) return false; // only the nearest limit applies
  }
  return false;
}

static const char *exceeded_limit(struct hr__slurm_run *run, uint32_t job) {
  int64_t amounts[6];
  uint32_t qos[2], n_qos = qos_of_job(run, job, qos);
  amounts_of(run, job, amounts);
  for (uint64_t rest = run->limits_state.used; rest; rest &= rest - 1) {
    const struct limit_row *limit = &limits[__builtin_ctzll(rest)];
    bool is_set = false;
    for (uint32_t q = 0; q < n_qos && !is_set; q++) {
      int64_t value = value_of(&run->config->qos[qos[q]].limits, limit);
      is_set = value >= 0;
      if (is_set && exceeds(limit, value, use_of_qos(run, limit, qos[q], job), amounts)) return limit->qos;
    }
    if (!is_set && limit->assoc && exceeds_assoc(run, limit, job, amounts)) return limit->assoc;
  }
  return NULL;
}

static const char *partition_rule(const struct hr__slurm_run *run, uint32_t job) {
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  const struct hr_slurm_partition *part = run->parts[kind->partition].config;
  if (!part) return NULL;
  if (part->state == HR_SLURM_DOWN) return "PartitionDown";
  if (part->state == HR_SLURM_INACTIVE) return "PartitionInactive";
  uint32_t qos = run->jobs[job].qos, flags = qos == HR_NONE ? 0 : run->config->qos[qos].flags;
  bool has_too_many = part->max_nodes >= 0 && kind->min_nodes > part->max_nodes;
  if (has_too_many && !(flags >> HR_SLURM_PARTITION_MAX_NODES & 1)) return "PartitionNodeLimit";
  if (kind->min_nodes < part->min_nodes && !(flags >> HR_SLURM_PARTITION_MIN_NODES & 1)) return "PartitionNodeLimit";
  bool is_too_long = part->max_time_us != HR_UNKNOWN_US && run->jobs[job].limit_us > part->max_time_us;
  return is_too_long && !(flags >> HR_SLURM_PARTITION_TIME_LIMIT & 1) ? "PartitionTimeLimit" : NULL;
}

const char *hr__slurm_hold(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  if (!run->config) return NULL;
  if (run->jobs[job].submit_us > now_us) return "BeginTime";
  const char *rule = partition_rule(run, job);
  return rule || !run->limits_state.used ? rule : exceeded_limit(run, job);
}

/* Returns whether the job exceeds, even without other jobs, a limit of a QOS that has the flag DenyOnLimit. Such a job
   is rejected. */
static bool is_denied(const struct hr__slurm_run *run, uint32_t job, const uint32_t *qos, uint32_t n_qos) {
  int64_t amounts[6];
  amounts_of(run, job, amounts);
  for (uint32_t q = 0; q < n_qos; q++) {
    const struct hr_slurm_qos *config = &run->config->qos[qos[q]];
    for (uint32_t l = 0; config->flags >> HR_SLURM_DENY_ON_LIMIT & 1 && l < N_LIMITS; l++) {
      int64_t value = value_of(&config->limits, &limits[l]);
      if (value >= 0 && limits[l].measure != JOBS && exceeds(&limits[l], value, NULL, amounts)) return true;
    }
  }
  return false;
}

static bool is_full(int64_t limit, const struct hr__slurm_use *use) {
  return limit >= 0 && (!use || use->submitted >= limit);
}

bool hr__slurm_may_submit(struct hr__slurm_run *run, uint32_t job) {
  if (!run->config) return true;
  uint32_t qos[2], n_qos = qos_of_job(run, job, qos);
  for (uint32_t q = 0; q < n_qos; q++) {
    const struct hr_slurm_limits *of_qos = &run->config->qos[qos[q]].limits;
    if (is_full(of_qos->grp_submit_jobs, &run->limits_state.qos[qos[q]]) ||
        is_full(of_qos->max_submit_jobs_per_user, use_in_qos(run, qos[q], 0, user_of(run, job))) ||
        is_full(of_qos->max_submit_jobs_per_account, use_in_qos(run, qos[q], 1, account_of(run, job))))
      return false;
  }
  const struct hr__slurm_use *user = &run->limits_state.assocs[run->jobs[job].assoc];
  bool found = false;
  for (uint32_t a = run->jobs[job].assoc; a != HR_NONE; a = run->accounts.assocs[a].parent) {
    const struct hr_slurm_assoc *config = run->accounts.configs[a];
    if (!config) continue;
    if (is_full(config->limits.grp_submit_jobs, &run->limits_state.assocs[a])) return false;
    if (!found && is_full(config->limits.max_submit_jobs_per_user, user)) return false;
    found = found || config->limits.max_submit_jobs_per_user >= 0;
  }
  return !is_denied(run, job, qos, n_qos);
}

/* ---- Reasons ---------------------------------------------------------------------------------------- */

/*
 * The reason why a job waits: as a reason of Headroom, and as squeue, sprio and sshare print it.
 *
 * A job is held if hr__slurm_hold returns a reason. In Slurm, the first job of a partition that is not held has the
 * reason Resources. Later jobs have the reason Priority, whether they would fit or not. Headroom distinguishes whether
 * they fit. The parts of a priority are rounded one by one, as sprio prints them. Invariant: nothing here changes a
 * decision.
 *
 * Source: src/slurmctld/{job_scheduler,node_scheduler}.c, src/common/slurm_protocol_defs.c, src/sprio, src/sshare of
 * SchedMD/slurm.
 */

/* ---- Reasons: words of Headroom --------------------------------------------------------------------- */

/* If a job exceeds a limit of a QOS or an association, the reason is quota. If a requeued job must not start yet, the
   reason is turn. For rules of partitions, Headroom has no reason. */
static void explain_hold(const struct hr__slurm_run *run, const char *hold, hr_job job, struct hr_wait_reason *wait) {
  if (strncmp(hold, "QOS", 3) == 0 || strncmp(hold, "Assoc", 5) == 0) wait->reason = HR_WAIT_REASON_QUOTA;
  if (strcmp(hold, "BeginTime") != 0) return;
  wait->reason = HR_WAIT_REASON_TURN;
  wait->until_us = run->jobs[job.id].submit_us;
}

/* If a maintenance of some node begins before `end_us`, sets the reason to the one that begins first. */
static void explain_maintenance(const struct hr__slurm_run *run, int64_t now_us, int64_t end_us,
                                struct hr_wait_reason *wait) {
  int64_t first_us = end_us;
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    for (uint32_t n = 0; spec->n_maintenance && n < spec->nodes; n++) {
      struct hr_maintenance_time next = hr_maintenance_next(spec, n, now_us);
      if (next.begin_us >= first_us) continue;
      first_us = next.begin_us;
      wait->reason = HR_WAIT_REASON_MAINTENANCE;
      wait->until_us = next.end_us;
      wait->quota = i * HR_MAINTENANCE_WINDOWS + next.window;
    }
  }
}

/* A job that is neither suspended nor held has one of three reasons. If it would fit now but for an advance reservation
   or a maintenance, it waits for its end. If it would fit now anyway, it waits behind the first job of the queue.
   Otherwise, it waits for capacity. Slurm calls these reasons ReqNodeNotAvail, Priority and Resources. */
void hr__slurm_explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__slurm_run *run = self;
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job.id].kind];
  const char *hold = hr__slurm_hold(run, job.id, view->now_us);
  uint32_t first = run->waiting.count ? hr__slurm_waiting_at(&run->waiting, 0)->job : job.id;
  bool limited = kind->denied || run->has_maintenance;
  bool fits = !hold && (first != job.id || limited) && hr__slurm_find_now(run, kind, kind->usable);
  if (hr__slurm_is_suspended(run, job.id)) return;
  if (hold) {
    explain_hold(run, hold, job, wait);
    return;
  }
  if (fits && limited) {
    memcpy(run->open_nodes, kind->usable, run->nodes.n_words * sizeof *run->open_nodes);
    int64_t end_us = view->now_us + run->jobs[job.id].limit_us;
    int64_t until_us = hr__slurm_remove_reserved(run, job, kind->denied, hr__slurm_allowed(run, kind->denied),
                                                 view->now_us, end_us, run->open_nodes);
    if (!hr__slurm_find_now(run, kind, run->open_nodes)) {
      wait->reason = HR_WAIT_REASON_RESERVATION;
      wait->until_us = until_us;
      if (run->has_maintenance && !hr__is_replica(run->trace, job))
        explain_maintenance(run, view->now_us, end_us, wait);
      return;
    }
  }
  if (fits && first != job.id) {
    wait->reason = HR_WAIT_REASON_ORDER;
    wait->behind = (hr_job){first};
  } else {
    hr_view_lack(view, job, wait);
  }
}

/* ---- Reasons: words of Slurm ------------------------------------------------------------------------ */

/* A text of limited size. */
struct slurm_text {
  char *at;
  size_t size, used;
};

static void put(struct slurm_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
  va_end(arguments);
  text->used += length < 0 ? 0 : (size_t)length;
  if (text->used >= text->size) text->used = text->size - 1;
}

/* The flags of the reservation that prevents a job from using nodes on which it would fit; -1: none. */
static int64_t flags_of_blocker(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  const struct hr__slurm_kind *kind = &run->kinds[run->jobs[job].kind];
  if (!kind->denied || !hr__slurm_find_now(run, kind, kind->usable)) return -1;
  int64_t end_us = now_us + run->jobs[job].limit_us, flags = -1;
  memcpy(run->open_nodes, kind->usable, run->nodes.n_words * sizeof *run->open_nodes);
  for (uint64_t denied = kind->denied; denied && flags < 0; denied &= denied - 1) {
    hr__slurm_remove_reserved(run, (hr_job){job}, denied & ~(denied - 1), hr__slurm_allowed(run, kind->denied), now_us,
                              end_us, run->open_nodes);
    if (!hr__slurm_find_now(run, kind, run->open_nodes))
      flags = run->config->reservations[__builtin_ctzll(denied)].flags;
  }
  return flags;
}

static bool has_enough_nodes(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < run->nodes.n_words; w++) count += (uint32_t)__builtin_popcountll(kind->usable[w]);
  return count >= kind->min_nodes;
}

/* Returns whether a job is the first of its partition that waits only for resources. */
static bool is_first(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  uint32_t part = run->kinds[run->jobs[job].kind].partition;
  for (uint32_t i = 0; i < run->waiting.count; i++) {
    hr__slurm_waiting_order(&run->waiting, i + 1);
    uint32_t other = hr__slurm_waiting_at(&run->waiting, i)->job;
    if (other == job) return true;
    if (run->kinds[run->jobs[other].kind].partition == part && !hr__slurm_hold(run, other, now_us)) return false;
  }
  return true;
}

/* The reason that squeue shows. */
static const char *reason_of(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  const char *hold = hr__slurm_hold(run, job, now_us);
  if (hold) return hold;
  if (!has_enough_nodes(run, &run->kinds[run->jobs[job].kind])) return "ReqNodeNotAvail, UnavailableNodes";
  int64_t flags = flags_of_blocker(run, job, now_us);
  if (flags >= 0)
    return flags >> HR_SLURM_MAINT & 1 ? "ReqNodeNotAvail, Reserved for maintenance"
                                       : "ReqNodeNotAvail, May be reserved for other job";
  return is_first(run, job, now_us) ? "Resources" : "Priority";
}

/* The row of sprio: the priority and its parts, as of the last tick (multifactor.c) or, if it is later, of the
   submission. Parts with the weight 0 are left out. */
static void put_priority(struct hr__slurm_run *run, uint32_t job, struct slurm_text *text) {
  static const char *const names[HR__SLURM_N_FACTORS] = {"AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS"};
  double weights[4], factors[4], tres = 0;
  int64_t at_us = run->accounts.last_us > run->jobs[job].submit_us ? run->accounts.last_us : run->jobs[job].submit_us;
  const struct hr__slurm_priority parts = hr__slurm_priority_parts(run, job, at_us, weights, factors);
  const char *sign = "=";
  put(text, "; sprio: PRIORITY %u", (unsigned)run->priorities[job]);
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) {
    if (parts.weights[f] <= 0) continue;
    put(text, " %s %s %.0f", sign, names[f], parts.weights[f] * parts.factors[f]);
    sign = "+";
  }
  for (unsigned i = 0; i < 4; i++) tres += weights[i] * factors[i];
  if (tres > 0) put(text, " %s TRES %.0f", sign, tres);
}

/* The columns of the row of sshare that are not set in the configuration. */
static void put_share(struct hr__slurm_run *run, uint32_t job, struct slurm_text *text) {
  uint32_t assoc = run->jobs[job].assoc;
  const struct hr__slurm_share *share = &run->accounts.shares[assoc];
  put(text, "; sshare: RawUsage %.0f, EffectvUsage %.6f, FairShare %.6f", run->accounts.assocs[assoc].usage,
      share->effective_usage, share->factor);
  if (isfinite(share->level_fs) && share->level_fs > 0) put(text, ", LevelFS %.6f", share->level_fs);
}

void hr__slurm_describe_wait(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  struct hr__slurm_run *run = self;
  struct slurm_text to = {text, size, 0};
  if (hr__slurm_is_suspended(run, job.id)) {
    put(&to, "SUSPENDED");
    return;
  }
  put(&to, "%s", reason_of(run, job.id, view->now_us));
  if (!hr__slurm_is_multifactor(run) || run->jobs[job.id].assoc == HR_NONE) return;
  put_priority(run, job.id, &to);
  put_share(run, job.id, &to);
}
