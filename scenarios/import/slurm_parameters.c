/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters of slurm.conf that are independent. Those of the scheduler become parameters of the policy `slurm`, others
 * keys of the section `slurm`. Parameters that would change decisions and are not modelled are reported with their
 * place and effect. Source: doc/man/man5/slurm.conf.5 of SchedMD/slurm.
 */

#include "headroom/policies.h"
#include "headroom/policy.h"
#include "scenarios/import/slurm_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Parameters of slurm.conf ----------------------------------------------------------------------- */

static const char *const resets[] = {"none", "daily", "weekly", NULL};
static const char *const preempt_modes[] = {"off", "requeue", "cancel", "suspend", NULL};
static const char *const priority_flags[] = {"NO_FAIR_TREE",    "SMALL_RELATIVE_TO_TIME",
                                             "NO_NORMAL_ASSOC", "NO_NORMAL_PART",
                                             "NO_NORMAL_QOS",   "NO_NORMAL_TRES",
                                             "INCR_ONLY",       "MAX_TRES",
                                             "MAX_TRES_GRES",   NULL};

/* Parameters that are keys of the section, or of its object `priority`. */
static const struct {
  struct hr__slurm_rule rule;
  bool is_priority;
} rules[] = {{{"PriorityWeightAge", "weight_age", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightAssoc", "weight_assoc", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightFairshare", "weight_fairshare", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightJobSize", "weight_job_size", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightPartition", "weight_partition", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightQOS", "weight_qos", HR__SLURM_WHOLE, NULL}, true},
             {{"PriorityWeightTRES", "weight_tres", HR__SLURM_SHARES, NULL}, true},
             {{"PriorityMaxAge", "max_age_s", HR__SLURM_MINUTES, NULL}, true},
             {{"PriorityCalcPeriod", "calc_period_s", HR__SLURM_MINUTES, NULL}, true},
             {{"PriorityDecayHalfLife", "decay_half_life_s", HR__SLURM_MINUTES, NULL}, true},
             {{"PriorityUsageResetPeriod", "usage_reset", HR__SLURM_WORD, resets}, true},
             {{"PriorityFavorSmall", "favor_small", HR__SLURM_YES_NO, NULL}, true},
             {{"PriorityFlags", "flags", HR__SLURM_NAMES, priority_flags}, true},
             {{"FairShareDampeningFactor", "fairshare_dampening", HR__SLURM_NUMBER, NULL}, true},
             {{"PreemptExemptTime", "preempt_exempt_time_s", HR__SLURM_MINUTES, NULL}, false},
             {{"OverTimeLimit", "over_time_limit_s", HR__SLURM_OVER_TIME, NULL}, false}};

/* Parameters of slurm.conf that change decisions and are not modelled. `neutral` is the beginning of the values with
   which they change nothing; NULL: none is. */
static const struct {
  const char *key, *neutral, *effect;
} unmodelled[] = {
    {"TopologyPlugin", "topology/flat", "nodes are chosen without regard to switches"},
    {"SelectTypeParameters", NULL, "CPUs and memory of nodes are consumed only with 'by_gpu' in 'cluster'"},
    {"Licenses", NULL, "licences do not block jobs"},
    {"JobSubmitPlugins", NULL, "jobs are not changed when they are submitted"},
    {"PrioritySiteFactorPlugin", NULL, "the site factor of jobs is 0"},
    {"SuspendProgram", NULL, "idle nodes are not switched off"},
    {"ResumeTimeout", NULL, "nodes start without delay"},
    {"JobRequeue", "1", "preempted jobs are requeued and not cancelled"},
    {"CompleteWait", "0", "nodes are free as soon as a job ends"},
    {"DownNodes", NULL, "these nodes are up"}};

/* Items of SchedulerParameters that change decisions and are not modelled. */
static const struct {
  const char *item, *effect;
} unmodelled_items[] = {
    {"assoc_limit_stop", "a job that waits for a limit of its association does not stop the jobs after it"},
    {"bf_busy_nodes", "backfilled jobs do not prefer nodes in use"},
    {"bf_licenses", "licences do not block jobs"},
    {"bf_running_job_reserve", "running jobs that end early change no plan"},
    {"defer", "the end of a job starts the main scheduler at once"},
    {"pack_serial_at_end", "jobs of one CPU get the first nodes, too"},
    {"preempt_reorder_count", "the order of preempted jobs is not changed to preempt fewer"},
    {"preempt_strict_order", "jobs that need not be preempted are spared"},
    {"reduce_completing_frag", "nodes are free as soon as a job ends"}};

/* Parameters of slurm.conf that do not change decisions. A name that ends with '*' stands for all that begin so. */
static const char *const irrelevant[] = {"Accounting*",
                                         "AcctGather*",
                                         "Auth*",
                                         "BatchStartTimeout",
                                         "BurstBuffer*",
                                         "Cluster*",
                                         "Cli*",
                                         "Communication*",
                                         "ControlMachine",
                                         "ControlAddr",
                                         "Core*",
                                         "Cred*",
                                         "CryptoType",
                                         "DbdHost",
                                         "DebugFlags",
                                         "DefMem*",
                                         "DefCpuPerGPU",
                                         "Dependency*",
                                         "Disable*",
                                         "EioTimeout",
                                         "EnforcePartLimits",
                                         "Epilog*",
                                         "ExtSensors*",
                                         "Fair*",
                                         "Federation*",
                                         "First*",
                                         "GetEnvTimeout",
                                         "GresTypes",
                                         "Group*",
                                         "GpuFreqDef",
                                         "Hash*",
                                         "Health*",
                                         "InactiveLimit",
                                         "Interactive*",
                                         "Job*",
                                         "KeepAlive*",
                                         "Kill*",
                                         "Launch*",
                                         "Log*",
                                         "Mail*",
                                         "Max*",
                                         "Mcs*",
                                         "Message*",
                                         "Metrics*",
                                         "MinJobAge",
                                         "Mpi*",
                                         "Node*",
                                         "Open*",
                                         "Plugin*",
                                         "PlugStackConfig",
                                         "Power*",
                                         "PrEp*",
                                         "Private*",
                                         "Proctrack*",
                                         "Prolog*",
                                         "Propagate*",
                                         "Reboot*",
                                         "Reconfig*",
                                         "Requeue*",
                                         "Resv*",
                                         "Resume*",
                                         "ReturnToService",
                                         "RoutePlugin",
                                         "SchedulerTimeSlice",
                                         "Scron*",
                                         "SelectType",
                                         "Slurm*",
                                         "Srun*",
                                         "State*",
                                         "Suspend*",
                                         "Switch*",
                                         "Task*",
                                         "Tcp*",
                                         "Tmp*",
                                         "TLS*",
                                         "TopologyParam",
                                         "Track*",
                                         "Tree*",
                                         "Unkillable*",
                                         "UsePAM",
                                         "VSizeFactor",
                                         "Wait*",
                                         "X11*",
                                         "DownNodes",
                                         "FrontendName",
                                         "CompleteWait",
                                         "CheckpointType",
                                         "BackupController",
                                         "BackupAddr",
                                         "SallocDefaultCommand",
                                         "FastSchedule",
                                         NULL};

static bool is_irrelevant(const char *key) {
  for (size_t i = 0; irrelevant[i]; i++) {
    size_t length = strlen(irrelevant[i]);
    if (irrelevant[i][length - 1] == '*' ? strncasecmp(key, irrelevant[i], length - 1) == 0
                                         : strcasecmp(key, irrelevant[i]) == 0)
      return true;
  }
  return false;
}

/* ---- Parameters of the policy ----------------------------------------------------------------------- */

/* Returns the parameter of the policy `slurm`; NULL: no such name. */
static const struct hr_param *policy_param(const char *name) {
  const struct hr_policy_ops *const *policy = hr_policies();
  while (*policy && strcmp((*policy)->name, "slurm") != 0) policy++;
  for (const struct hr_param *param = *policy ? (*policy)->params : NULL; param && param->key; param++)
    if (strcasecmp(param->key, name) == 0) return param;
  return NULL;
}

static void add_youngest_first(struct hr__slurm_import *import) {
  cJSON_DeleteItemFromObject(import->section, "preempt_youngest_first");
  cJSON_AddTrueToObject(import->section, "preempt_youngest_first");
}

/* Reads one item of SchedulerParameters, such as "bf_window=1440". */
static enum hr_status read_item(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item,
                                struct hr_error *error) {
  char *value = strchr(item, '='), *end = NULL;
  if (value) *value++ = '\0';
  const struct hr_param *param = policy_param(item);
  if (param && param->type == HR_PARAM_INTEGER) {
    long number = value ? strtol(value, &end, 10) : 0;
    if (!value || end == value || *end || (double)number < param->min || (double)number > param->max)
      return hr_fail(error, HR_BAD_INPUT, "%s:%u: %s is '%.40s', expected a whole number from %.0f to %.0f", line->path,
                     line->number, item, value ? value : "", param->min, param->max);
    cJSON_DeleteItemFromObject(import->policy, param->key);
    cJSON_AddNumberToObject(import->policy, param->key, (double)number);
    return HR_OK;
  }
  static const char *const timing[] = {"bf_continue",    "sched_min_interval", "bf_yield_interval",
                                       "bf_yield_sleep", "bf_max_time",        "max_rpc_cnt",
                                       "max_sched_time", "defer_batch",        NULL};
  for (size_t i = 0; timing[i]; i++)
    if (strcasecmp(item, timing[i]) == 0) return HR_OK;  // a simulated pass takes no time
  if (strcasecmp(item, "preempt_youngest_first") == 0) { // the old name of PreemptParameters=youngest_first
    add_youngest_first(import);
    return HR_OK;
  }
  const char *effect = "it has no effect";
  for (size_t i = 0; i < sizeof unmodelled_items / sizeof *unmodelled_items; i++)
    if (strcasecmp(item, unmodelled_items[i].item) == 0) effect = unmodelled_items[i].effect;
  return hr__slurm_note(import, line, error, "SchedulerParameters: '%.60s' is not modelled: %s", item, effect);
}

/* Calls a function for each item of a list with commas. */
typedef enum hr_status read_word(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item,
                                 struct hr_error *error);
static enum hr_status for_each(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *key,
                               const char *list, read_word *read, struct hr_error *error) {
  char copy[4000];
  if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: %s is too long", line->path, line->number, key);
  char *rest = copy;
  for (char *item; (item = strtok_r(rest, ",", &rest));) {
    enum hr_status status = read(import, line, item, error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status read_scheduler(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *value, struct hr_error *error) {
  bool builtin = strcasecmp(value, "sched/builtin") == 0;
  if (!builtin && strcasecmp(value, "sched/backfill") != 0)
    return hr__slurm_bad(line, "SchedulerType", value, "sched/backfill or sched/builtin", error);
  cJSON_DeleteItemFromObject(import->policy, "scheduler");
  cJSON_AddStringToObject(import->policy, "scheduler", builtin ? "builtin" : "backfill");
  return HR_OK;
}

static enum hr_status read_priority_type(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                         const char *value, struct hr_error *error) {
  bool multifactor = strcasecmp(value, "priority/multifactor") == 0;
  if (!multifactor && strcasecmp(value, "priority/basic") != 0)
    return hr__slurm_bad(line, "PriorityType", value, "priority/basic or priority/multifactor", error);
  cJSON_DeleteItemFromObject(import->policy, "priority");
  cJSON_AddStringToObject(import->policy, "priority", multifactor ? "multifactor" : "basic");
  return HR_OK;
}

/* ---- Preemption ------------------------------------------------------------------------------------- */

static enum hr_status read_preempt_type(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        const char *value, struct hr_error *error) {
  static const char *const types[] = {"none", "qos", "partition_prio", NULL};
  static const struct hr__slurm_rule rule = {"PreemptType", "preempt_type", HR__SLURM_WORD, types};
  const char *type = strncasecmp(value, "preempt/", 8) == 0 ? value + 8 : value;
  for (size_t i = 0; types[i]; i++)
    if (strcasecmp(type, types[i]) == 0) return hr__slurm_add(import, line, import->section, &rule, types[i], error);
  return hr__slurm_bad(line, "PreemptType", value, "preempt/none, preempt/qos or preempt/partition_prio", error);
}

/* Returns whether a list with commas has an item. */
static bool has_item(const char *list, const char *item) {
  for (size_t length; list && *list; list += length + (list[length] == ',')) {
    length = strcspn(list, ",");
    if (length == strlen(item) && strncasecmp(list, item, length) == 0) return true;
  }
  return false;
}

static enum hr_status read_preempt_mode(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item,
                                        struct hr_error *error) {
  static const struct hr__slurm_rule rule = {"PreemptMode", "preempt_mode", HR__SLURM_WORD, preempt_modes};
  if (strcasecmp(item, "GANG") == 0) {
    bool suspends = has_item(hr__slurm_value(line, "PreemptMode"), "SUSPEND");
    return hr__slurm_note(import, line, error,
                          suspends ? "PreemptMode=SUSPEND,GANG: jobs are suspended only with 'by_gpu' in 'cluster'"
                                   : "PreemptMode=GANG is not modelled: jobs of the same tier take no turns");
  }
  return hr__slurm_add(import, line, import->section, &rule, item, error);
}

static enum hr_status read_preempt_item(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item,
                                        struct hr_error *error) {
  if (strcasecmp(item, "youngest_first") != 0)
    return hr__slurm_note(import, line, error, "PreemptParameters: '%.60s' is not modelled: it has no effect", item);
  add_youngest_first(import);
  return HR_OK;
}

/* ---- All parameters --------------------------------------------------------------------------------- */

/* Limits are enforced if one of these words is given. */
static enum hr_status read_enforcement(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item,
                                       struct hr_error *error) {
  static const char *const words[] = {"limits", "safe", "all", NULL};
  (void)line;
  (void)error;
  for (size_t i = 0; words[i]; i++)
    if (strcasecmp(item, words[i]) == 0) import->enforces_limits = true;
  if (strcasecmp(item, "qos") == 0 || strcasecmp(item, "all") == 0) import->enforces_qos = true;
  return HR_OK;
}

static enum hr_status read_other(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *key,
                                 const char *value, struct hr_error *error) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcasecmp(key, rules[i].rule.key) == 0)
      return hr__slurm_add(import, line,
                           rules[i].is_priority ? hr__slurm_object(import->section, "priority") : import->section,
                           &rules[i].rule, value, error);
  for (size_t i = 0; i < sizeof unmodelled / sizeof *unmodelled; i++) {
    if (strcasecmp(key, unmodelled[i].key) != 0) continue;
    const char *neutral = unmodelled[i].neutral;
    if (neutral && strncasecmp(value, neutral, strlen(neutral)) == 0) return HR_OK;
    return hr__slurm_note(import, line, error, "%s is not modelled: %s", unmodelled[i].key, unmodelled[i].effect);
  }
  return is_irrelevant(key) ? HR_OK : hr__slurm_note(import, line, error, "unknown parameter '%.60s' is ignored", key);
}

/* Reads a parameter that is independent. */
static enum hr_status read_parameter(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *key, const char *value, struct hr_error *error) {
  if (strcasecmp(key, "SchedulerType") == 0) return read_scheduler(import, line, value, error);
  if (strcasecmp(key, "SchedulerParameters") == 0) return for_each(import, line, key, value, read_item, error);
  if (strcasecmp(key, "PriorityType") == 0) return read_priority_type(import, line, value, error);
  if (strcasecmp(key, "PreemptType") == 0) return read_preempt_type(import, line, value, error);
  if (strcasecmp(key, "PreemptMode") == 0) return for_each(import, line, key, value, read_preempt_mode, error);
  if (strcasecmp(key, "PreemptParameters") == 0) return for_each(import, line, key, value, read_preempt_item, error);
  if (strcasecmp(key, "AccountingStorageEnforce") == 0)
    return for_each(import, line, key, value, read_enforcement, error);
  if (strcasecmp(key, "SelectType") == 0 && strcasecmp(value, "select/cons_tres") != 0)
    return hr__slurm_note(import, line, error, "SelectType: nodes are chosen as by select/cons_tres, not '%.40s'",
                          value);
  return read_other(import, line, key, value, error);
}

enum hr_status hr__slurm_read_parameters(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                         struct hr_error *error) {
  enum hr_status status = HR_OK;
  import->has_conf = true;
  for (unsigned i = 0; i < line->n_pairs && status == HR_OK; i++)
    status = read_parameter(import, line, line->pairs[i].key, line->pairs[i].value, error);
  return status;
}
