/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports the configuration of Slurm: slurm.conf and gres.conf, and the output of `sacctmgr dump`, `sacctmgr -P show
 * qos`, `scontrol show node|partition|reservation -o`, `scontrol show config` and `sinfo -N`. The first line of a file
 * that is not a comment determines the kind of the file. Files may be in any order. A node or partition that is in
 * several files is one object. Nodes, partitions and reservations are read by slurm_nodes.c.
 *
 * Parameters of the scheduler become parameters of the policy `slurm`; other parameters become keys of the section
 * `slurm`. If a parameter changes decisions of Slurm and is not modelled, a note states its place and the effect.
 *
 * Source: doc/man/man5/{slurm,gres}.conf.5 and doc/man/man1 of SchedMD/slurm.
 */

#include "headroom/policies.h"
#include "headroom/policy.h"
#include "scenarios/import/import.h"
#include "scenarios/import/slurm_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Accounts --------------------------------------------------------------------------------------- */

/*
 * Accounts, users and QOS, from `sacctmgr dump CLUSTER` and `sacctmgr -P show qos`.
 *
 * A line of a dump is an object and its options: `Account - 'vision':Fairshare=50:GrpTRES=gres/gpu=64`. The line
 * `Parent
 * - 'x'` states the parent account of the objects in the lines after it. In a scenario, each user belongs to an account
 * below the root. Users of the account root of Slurm therefore belong to an account with the name "root". A dump does
 * not contain QOS; the list of QOS is a table with a header.
 *
 * Source: doc/man/man1/sacctmgr.1 of SchedMD/slurm.
 */

enum { MAX_COLUMNS = 64 };

/* The member of the scenario to which a key of Slurm is converted. `is_limit`: the member belongs to the object
   `limits` of the entry. */
struct account_rule {
  struct hr__slurm_rule rule;
  bool is_limit;
};

/* Returns the rule of a key; NULL: none. */
static const struct account_rule *find_rule(const struct account_rule *rules, size_t n_rules, const char *key) {
  for (size_t i = 0; i < n_rules; i++)
    if (strcasecmp(rules[i].rule.key, key) == 0) return &rules[i];
  return NULL;
}

static enum hr_status apply(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                            const struct account_rule *rule, const char *value) {
  if (hr__slurm_is_unset(value)) return HR_OK;
  return hr__slurm_add(import, line, rule->is_limit ? hr__slurm_object(object, "limits") : object, &rule->rule, value);
}

/* Returns the member `name` of an object, which is a text; "" if it is missing. */
static const char *text_of(const cJSON *object, const char *name) {
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(object, name);
  return text && text->valuestring ? text->valuestring : "";
}

/* ---- Accounts: the dump ----------------------------------------------------------------------------- */

static const struct account_rule assoc_rules[] = {
    {{"Fairshare", "fairshare", HR__SLURM_WHOLE, NULL}, false},
    {{"Shares", "fairshare", HR__SLURM_WHOLE, NULL}, false},
    {{"Priority", "priority", HR__SLURM_WHOLE, NULL}, false},
    {{"DefaultQOS", "default_qos", HR__SLURM_TEXT, NULL}, false},
    {{"GrpTRES", "grp_tres", HR__SLURM_TRES, NULL}, true},
    {{"GrpJobs", "grp_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"GrpSubmitJobs", "grp_submit_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxJobs", "max_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxSubmitJobs", "max_submit_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxTRESPerJob", "max_tres_per_job", HR__SLURM_TRES, NULL}, true},
    {{"MaxTRES", "max_tres_per_job", HR__SLURM_TRES, NULL}, true},
    {{"MaxWallDurationPerJob", "max_wall_s", HR__SLURM_MINUTES, NULL}, true},
    {{"MaxWall", "max_wall_s", HR__SLURM_MINUTES, NULL}, true}};

static const char *const other_options[] = {"Description", "Organization", "DefaultAccount", "AdminLevel", "QOS",
                                            "Coordinator", "DefaultWCKey", "Classification", "Partition",  NULL};

/* Returns the next option of a line, and advances `*rest` past it. Options are separated by colons. A text in
   apostrophes may contain colons. Returns NULL at the end of the line. */
static char *take_option(char **rest) {
  char *text = *rest, *end = text;
  if (!*text) return NULL;
  for (bool quoted = false; *end && (quoted || *end != ':'); end++)
    if (*end == '\'') quoted = !quoted;
  *rest = *end ? end + 1 : end;
  *end = '\0';
  return text;
}

/* Returns a text without the apostrophes around it. */
static char *unquoted(char *text) {
  size_t length = strlen(text);
  if (length < 2 || *text != '\'' || text[length - 1] != '\'') return text;
  text[length - 1] = '\0';
  return text + 1;
}

static enum hr_status read_options(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   cJSON *object, char *rest) {
  enum hr_status status = HR_OK;
  for (char *option; status == HR_OK && (option = take_option(&rest));) {
    char *value = strchr(option, '=');
    if (!value) return hr__slurm_bad(line, "an option", option, "NAME=VALUE");
    *value++ = '\0';
    value = unquoted(value);
    const struct account_rule *rule = find_rule(assoc_rules, sizeof assoc_rules / sizeof *assoc_rules, option);
    if (rule && !rule->is_limit && rule->rule.notation == HR__SLURM_WHOLE && strcasecmp(value, "parent") == 0)
      cJSON_AddNumberToObject(object, rule->rule.member, -1);
    else if (rule)
      status = apply(import, line, object, rule, value);
    else if (!hr__slurm_is_listed(other_options, option) && !hr__slurm_is_unset(value))
      status = hr__slurm_note(import, line, "%.40s is not modelled: this limit is not enforced", option);
  }
  return status;
}

/* Adds the association of a user or, if `user` is NULL, of an account. Returns NULL if memory is exhausted. */
static cJSON *add_association(struct hr__slurm_import *import, const char *account, const char *user) {
  cJSON *list = hr__slurm_list(import->section, "associations"), *entry = cJSON_CreateObject();
  cJSON_AddStringToObject(entry, "account", account);
  if (user) cJSON_AddStringToObject(entry, "user", user);
  if (!user && import->parent[0] && strcasecmp(import->parent, "root") != 0)
    cJSON_AddStringToObject(entry, "parent", import->parent);
  return cJSON_AddItemToArray(list, entry) ? entry : NULL;
}

static cJSON *root_account(struct hr__slurm_import *import) {
  cJSON *entry;
  cJSON_ArrayForEach(entry, hr__slurm_list(import->section, "associations")) {
    if (strcmp(text_of(entry, "account"), "root") == 0) return entry;
  }
  return add_association(import, "root", NULL);
}

/* Reads a user of the account root. In Slurm, such a user competes with the accounts below root. If the account "root"
   of the scenario has no shares yet, it therefore gets the shares of the user. */
static enum hr_status read_root_user(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *name, char *rest) {
  cJSON *account = root_account(import), *user = add_association(import, "root", name);
  if (!account || !user) return hr__slurm_no_memory(line);
  enum hr_status status = read_options(import, line, user, rest);
  const cJSON *shares = cJSON_GetObjectItemCaseSensitive(user, "fairshare");
  if (shares && !cJSON_HasObjectItem(account, "fairshare"))
    cJSON_AddNumberToObject(account, "fairshare", shares->valuedouble);
  return status;
}

/* Reads the options of the cluster. They apply to the root, which is not an association of a scenario. The accounts
   below the root later inherit its default QOS; other options are not modelled. */
static enum hr_status read_cluster(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *rest) {
  cJSON *root = cJSON_CreateObject();
  enum hr_status status = read_options(import, line, root, rest);
  cJSON_DeleteItemFromObject(root, "fairshare");
  cJSON_Delete(import->default_qos);
  import->default_qos = cJSON_DetachItemFromObject(root, "default_qos");
  if (status == HR_OK && root->child)
    status = hr__slurm_note(import, line, "'%.40s' of the cluster is not modelled: only accounts have it",
                            root->child->string);
  cJSON_Delete(root);
  return status;
}

/* Reads a line of `sacctmgr dump`. */
static enum hr_status read_dumped(void *self, struct hr__slurm_line *line, char *text) {
  struct hr__slurm_import *import = self;
  char *rest = text, *head = take_option(&rest), *name = head ? strstr(head, " - ") : NULL;
  if (!name) return hr__slurm_bad(line, "the line", head ? head : "", "Account - 'NAME':Fairshare=1, or the like");
  *name = '\0';
  name = unquoted(name + 3);
  cJSON *entry = NULL;
  if (strcasecmp(head, "Cluster") == 0) return read_cluster(import, line, rest);
  if (strcasecmp(head, "Parent") == 0) {
    snprintf(import->parent, sizeof import->parent, "%s", name);
    return HR_OK;
  }
  if (strcasecmp(head, "Account") == 0) {
    entry = add_association(import, name, NULL);
  } else if (strcasecmp(head, "User") == 0) {
    if (strcasecmp(import->parent, "root") == 0) return read_root_user(import, line, name, rest);
    entry = add_association(import, import->parent, name);
  } else {
    return hr__slurm_bad(line, "the line", head, "Cluster, Parent, Account or User");
  }
  if (!entry) return hr__slurm_no_memory(line);
  import->lists_qos |= strncmp(rest, "QOS=", 4) == 0 || strstr(rest, ":QOS=");
  return read_options(import, line, entry, rest);
}

/* ---- Accounts: QOS ---------------------------------------------------------------------------------- */

static const char *const modes[] = {"off", "requeue", "cancel", "suspend", NULL};
static const char *const flags[] = {"DenyOnLimit",       "NoDecay",           "NoReserve",   "PartitionTimeLimit",
                                    "PartitionMaxNodes", "PartitionMinNodes", "OverPartQOS", NULL};
static const struct account_rule qos_rules[] = {
    {{"Name", "name", HR__SLURM_TEXT, NULL}, false},
    {{"Priority", "priority", HR__SLURM_WHOLE, NULL}, false},
    {{"GraceTime", "grace_time_s", HR__SLURM_SECONDS, NULL}, false},
    {{"Preempt", "preempt", HR__SLURM_NAMES, NULL}, false},
    {{"PreemptMode", "preempt_mode", HR__SLURM_WORD, modes}, false},
    {{"PreemptExemptTime", "preempt_exempt_time_s", HR__SLURM_MINUTES, NULL}, false},
    {{"UsageFactor", "usage_factor", HR__SLURM_NUMBER, NULL}, false},
    {{"Flags", "flags", HR__SLURM_NAMES, flags}, false},
    {{"GrpTRES", "grp_tres", HR__SLURM_TRES, NULL}, true},
    {{"GrpJobs", "grp_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"GrpSubmit", "grp_submit_jobs", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxTRES", "max_tres_per_job", HR__SLURM_TRES, NULL}, true},
    {{"MinTRES", "min_tres_per_job", HR__SLURM_TRES, NULL}, true},
    {{"MaxWall", "max_wall_s", HR__SLURM_MINUTES, NULL}, true},
    {{"MaxTRESPU", "max_tres_per_user", HR__SLURM_TRES, NULL}, true},
    {{"MaxJobsPU", "max_jobs_per_user", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxSubmitPU", "max_submit_jobs_per_user", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxTRESPA", "max_tres_per_account", HR__SLURM_TRES, NULL}, true},
    {{"MaxJobsPA", "max_jobs_per_account", HR__SLURM_WHOLE, NULL}, true},
    {{"MaxSubmitPA", "max_submit_jobs_per_account", HR__SLURM_WHOLE, NULL}, true}};

/* Splits a row of a table into cells, which are separated by `|`. Returns the number of cells, at most 64. */
static unsigned split_cells(char *text, char *cells[MAX_COLUMNS]) {
  unsigned count = 0;
  for (char *at = text; at && count < MAX_COLUMNS; count++) {
    cells[count] = at;
    at = strchr(at, '|');
    if (at) *at++ = '\0';
  }
  return count;
}

/* Reads a line of `sacctmgr -P show qos`. The first line is the header. Its names are stored in the section as "columns
   of QOS" until slurm_finish_accounts. */
static enum hr_status read_qos_row(void *self, struct hr__slurm_line *line, char *text) {
  struct hr__slurm_import *import = self;
  char *cells[MAX_COLUMNS] = {NULL};
  cJSON *columns = cJSON_GetObjectItemCaseSensitive(import->section, "columns of QOS");
  unsigned count = split_cells(text, cells);
  if (!cells[0]) return HR_OK;
  if (strcasecmp(cells[0], "Name") == 0) {
    cJSON_DeleteItemFromObject(import->section, "columns of QOS");
    columns = hr__slurm_list(import->section, "columns of QOS");
    for (unsigned i = 0; i < count; i++) cJSON_AddItemToArray(columns, cJSON_CreateString(cells[i]));
    return HR_OK;
  }
  cJSON *qos = cJSON_CreateObject();
  if (!cJSON_AddItemToArray(hr__slurm_list(import->section, "qos"), qos)) return hr__slurm_no_memory(line);
  enum hr_status status = HR_OK;
  const cJSON *column = columns ? columns->child : NULL;
  for (unsigned i = 0; i < count && cells[i] && column && status == HR_OK; i++, column = column->next) {
    const struct account_rule *rule = find_rule(qos_rules, sizeof qos_rules / sizeof *qos_rules, column->valuestring);
    bool is_default = rule && strcmp(rule->rule.key, "PreemptMode") == 0 && strcasecmp(cells[i], "cluster") == 0;
    if (rule && !is_default)
      status = apply(import, line, qos, rule, cells[i]);
    else if (!rule && *cells[i])
      status = hr__slurm_note(import, line, "QOS '%.40s': %.40s is not modelled: this limit is not enforced", cells[0],
                              column->valuestring);
  }
  return status;
}

/* ---- Accounts: at the end --------------------------------------------------------------------------- */

static bool has_qos(const cJSON *list, const char *name) {
  const cJSON *entry;
  cJSON_ArrayForEach(entry, list) {
    if (strcmp(text_of(entry, "name"), name) == 0) return true;
  }
  return false;
}

static enum hr_status add_missing_qos(const struct hr__slurm_import *import, const char *name) {
  cJSON *list = hr__slurm_list(import->section, "qos"), *qos;
  if (has_qos(list, name)) return HR_OK;
  cJSON_AddItemToArray(list, qos = cJSON_CreateObject());
  cJSON_AddStringToObject(qos, "name", name);
  return hr__slurm_note(import, NULL,
                        "QOS '%.60s' is named, but not defined; give the output of sacctmgr -P show qos, too", name);
}

/* For each entry of a list, adds the QOS that the member `member` of the entry names. */
static enum hr_status add_named_qos(const struct hr__slurm_import *import, const char *list, const char *member) {
  enum hr_status status = HR_OK;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, list)) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, member), *item = value ? value->child : NULL;
    if (status == HR_OK && value && cJSON_IsString(value)) status = add_missing_qos(import, value->valuestring);
    for (; item && status == HR_OK; item = item->next) status = add_missing_qos(import, item->valuestring);
  }
  return status;
}

/* Returns whether an entry of a list has limits. */
static bool has_limits(const struct hr__slurm_import *import, const char *list) {
  const cJSON *entry;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, list)) {
    if (cJSON_HasObjectItem(entry, "limits")) return true;
  }
  return false;
}

/* Gives the default QOS of the cluster to the accounts below the root that have none. Returns false if memory is
   exhausted. */
static bool inherit_qos(const struct hr__slurm_import *import) {
  cJSON *entry;
  if (!import->default_qos) return true;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, "associations")) {
    bool is_below_root = !cJSON_HasObjectItem(entry, "user") && !cJSON_HasObjectItem(entry, "parent");
    if (!is_below_root || cJSON_HasObjectItem(entry, "default_qos")) continue;
    if (!cJSON_AddStringToObject(entry, "default_qos", import->default_qos->valuestring)) return false;
  }
  return true;
}

/* Adds the QOS that are named but not defined. If slurm.conf was read and does not enforce limits, sets
   `enforce_limits` of the scenario to false. */
static enum hr_status slurm_finish_accounts(struct hr__slurm_import *import) {
  static const char *const named[][2] = {{"partitions", "qos"},
                                         {"partitions", "allow_qos"},
                                         {"partitions", "deny_qos"},
                                         {"associations", "default_qos"},
                                         {"qos", "preempt"}};
  enum hr_status status = HR_OK;
  cJSON_DeleteItemFromObject(import->section, "columns of QOS");
  if (!inherit_qos(import)) return hr_fail(import->error, HR_NO_MEMORY, "import: out of memory");
  for (size_t i = 0; i < sizeof named / sizeof *named && status == HR_OK; i++)
    status = add_named_qos(import, named[i][0], named[i][1]);
  if (status == HR_OK && import->lists_qos && import->enforces_qos)
    status =
        hr__slurm_note(import, NULL, "the QOS that accounts and users may use are not modelled: jobs may use all QOS");
  if (status != HR_OK || !import->has_conf || import->enforces_limits) return status;
  cJSON_AddFalseToObject(import->section, "enforce_limits");
  if (!has_limits(import, "qos") && !has_limits(import, "associations")) return HR_OK;
  return hr__slurm_note(import, NULL,
                        "limits of QOS and associations have no effect, because AccountingStorageEnforce of "
                        "slurm.conf does not have 'limits'");
}

/* ---- Parameters of slurm.conf ----------------------------------------------------------------------- */

static const char *const resets[] = {"none", "daily", "weekly", NULL};
static const char *const preempt_modes[] = {"off", "requeue", "cancel", "suspend", NULL};
static const char *const priority_flags[] = {"NO_FAIR_TREE",    "SMALL_RELATIVE_TO_TIME",
                                             "NO_NORMAL_ASSOC", "NO_NORMAL_PART",
                                             "NO_NORMAL_QOS",   "NO_NORMAL_TRES",
                                             "INCR_ONLY",       "MAX_TRES",
                                             "MAX_TRES_GRES",   NULL};

/* Parameters that become keys of the section `slurm`. `is_priority`: keys of its object `priority`. */
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

/* Parameters of slurm.conf that change decisions and are not modelled. A parameter changes nothing if its value begins
   with `neutral`; NULL: no such value. `effect`: the effect of not modelling the parameter. */
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

/* Parameters of slurm.conf that do not change decisions. A name that ends with '*' matches all names with this
   beginning. */
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

/* Returns the parameter of the policy `slurm` with a name; NULL: not found. */
static const struct hr_param *policy_param(const char *name) {
  const struct hr_policy_ops *const *policy = hr_policies();
  while (*policy && strcmp((*policy)->name, "slurm") != 0) policy++;
  for (const struct hr_param *param = *policy ? (*policy)->params : NULL; param && param->key; param++)
    if (strcasecmp(param->key, name) == 0) return param;
  return NULL;
}

static void add_youngest_first(struct hr__slurm_import *import) {
  hr__slurm_set(import->section, "preempt_youngest_first", cJSON_CreateTrue());
}

/* Reads one item of SchedulerParameters, such as "bf_window=1440". */
static enum hr_status read_item(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item) {
  char *value = strchr(item, '='), *end = NULL;
  if (value) *value++ = '\0';
  const struct hr_param *param = policy_param(item);
  if (param && param->type == HR_PARAM_INTEGER) {
    long number = value ? strtol(value, &end, 10) : 0;
    if (!value || end == value || *end || (double)number < param->min || (double)number > param->max)
      return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: %s is '%.40s', expected a whole number from %.0f to %.0f",
                     line->path, line->number, item, value ? value : "", param->min, param->max);
    hr__slurm_set(import->policy, param->key, cJSON_CreateNumber((double)number));
    return HR_OK;
  }
  static const char *const timing[] = {"bf_continue",    "sched_min_interval", "bf_yield_interval",
                                       "bf_yield_sleep", "bf_max_time",        "max_rpc_cnt",
                                       "max_sched_time", "defer_batch",        NULL};
  if (hr__slurm_is_listed(timing, item)) return HR_OK;   // a simulated pass takes no time
  if (strcasecmp(item, "preempt_youngest_first") == 0) { // the old name of PreemptParameters=youngest_first
    add_youngest_first(import);
    return HR_OK;
  }
  const char *effect = "it has no effect";
  for (size_t i = 0; i < sizeof unmodelled_items / sizeof *unmodelled_items; i++)
    if (strcasecmp(item, unmodelled_items[i].item) == 0) effect = unmodelled_items[i].effect;
  return hr__slurm_note(import, line, "SchedulerParameters: '%.60s' is not modelled: %s", item, effect);
}

typedef enum hr_status read_word(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item);
/* Calls a function for each item of a list with commas. */
static enum hr_status for_each(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *key,
                               const char *list, read_word *read) {
  char copy[4000];
  if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
    return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: %s is too long", line->path, line->number, key);
  char *rest = copy;
  for (char *item; (item = strtok_r(rest, ",", &rest));) {
    enum hr_status status = read(import, line, item);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status read_scheduler(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *value) {
  bool builtin = strcasecmp(value, "sched/builtin") == 0;
  if (!builtin && strcasecmp(value, "sched/backfill") != 0)
    return hr__slurm_bad(line, "SchedulerType", value, "sched/backfill or sched/builtin");
  hr__slurm_set(import->policy, "scheduler", cJSON_CreateString(builtin ? "builtin" : "backfill"));
  return HR_OK;
}

static enum hr_status read_priority_type(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                         const char *value) {
  bool multifactor = strcasecmp(value, "priority/multifactor") == 0;
  if (!multifactor && strcasecmp(value, "priority/basic") != 0)
    return hr__slurm_bad(line, "PriorityType", value, "priority/basic or priority/multifactor");
  hr__slurm_set(import->policy, "priority", cJSON_CreateString(multifactor ? "multifactor" : "basic"));
  return HR_OK;
}

/* ---- Preemption ------------------------------------------------------------------------------------- */

static enum hr_status read_preempt_type(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        const char *value) {
  static const char *const types[] = {"none", "qos", "partition_prio", NULL};
  static const struct hr__slurm_rule rule = {"PreemptType", "preempt_type", HR__SLURM_WORD, types};
  const char *type = strncasecmp(value, "preempt/", 8) == 0 ? value + 8 : value;
  for (size_t i = 0; types[i]; i++)
    if (strcasecmp(type, types[i]) == 0) return hr__slurm_add(import, line, import->section, &rule, types[i]);
  return hr__slurm_bad(line, "PreemptType", value, "preempt/none, preempt/qos or preempt/partition_prio");
}

/* Returns whether a list with commas has an item. */
static bool has_item(const char *list, const char *item) {
  for (size_t length; list && *list; list += length + (list[length] == ',')) {
    length = strcspn(list, ",");
    if (length == strlen(item) && strncasecmp(list, item, length) == 0) return true;
  }
  return false;
}

static enum hr_status read_preempt_mode(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        char *item) {
  static const struct hr__slurm_rule rule = {"PreemptMode", "preempt_mode", HR__SLURM_WORD, preempt_modes};
  if (strcasecmp(item, "GANG") == 0) {
    bool suspends = has_item(hr__slurm_value(line, "PreemptMode"), "SUSPEND");
    return hr__slurm_note(import, line,
                          suspends ? "PreemptMode=SUSPEND,GANG: jobs are suspended only with 'by_gpu' in 'cluster'"
                                   : "PreemptMode=GANG is not modelled: jobs of the same tier take no turns");
  }
  return hr__slurm_add(import, line, import->section, &rule, item);
}

static enum hr_status read_preempt_item(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        char *item) {
  if (strcasecmp(item, "youngest_first") != 0)
    return hr__slurm_note(import, line, "PreemptParameters: '%.60s' is not modelled: it has no effect", item);
  add_youngest_first(import);
  return HR_OK;
}

/* ---- All parameters --------------------------------------------------------------------------------- */

/* Reads an item of AccountingStorageEnforce. Slurm enforces limits if one of the items is in `words`. */
static enum hr_status read_enforcement(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *item) {
  static const char *const words[] = {"limits", "safe", "all", NULL};
  (void)line;
  import->enforces_limits |= hr__slurm_is_listed(words, item);
  if (strcasecmp(item, "qos") == 0 || strcasecmp(item, "all") == 0) import->enforces_qos = true;
  return HR_OK;
}

static enum hr_status read_other(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *key,
                                 const char *value) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcasecmp(key, rules[i].rule.key) == 0)
      return hr__slurm_add(import, line,
                           rules[i].is_priority ? hr__slurm_object(import->section, "priority") : import->section,
                           &rules[i].rule, value);
  for (size_t i = 0; i < sizeof unmodelled / sizeof *unmodelled; i++) {
    if (strcasecmp(key, unmodelled[i].key) != 0) continue;
    const char *neutral = unmodelled[i].neutral;
    if (neutral && strncasecmp(value, neutral, strlen(neutral)) == 0) return HR_OK;
    return hr__slurm_note(import, line, "%s is not modelled: %s", unmodelled[i].key, unmodelled[i].effect);
  }
  return is_irrelevant(key) ? HR_OK : hr__slurm_note(import, line, "unknown parameter '%.60s' is ignored", key);
}

/* Reads a parameter of slurm.conf. */
static enum hr_status read_parameter(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *key, const char *value) {
  if (strcasecmp(key, "SchedulerType") == 0) return read_scheduler(import, line, value);
  if (strcasecmp(key, "SchedulerParameters") == 0) return for_each(import, line, key, value, read_item);
  if (strcasecmp(key, "PriorityType") == 0) return read_priority_type(import, line, value);
  if (strcasecmp(key, "PreemptType") == 0) return read_preempt_type(import, line, value);
  if (strcasecmp(key, "PreemptMode") == 0) return for_each(import, line, key, value, read_preempt_mode);
  if (strcasecmp(key, "PreemptParameters") == 0) return for_each(import, line, key, value, read_preempt_item);
  if (strcasecmp(key, "AccountingStorageEnforce") == 0) return for_each(import, line, key, value, read_enforcement);
  if (strcasecmp(key, "SelectType") == 0 && strcasecmp(value, "select/cons_tres") != 0)
    return hr__slurm_note(import, line, "SelectType: nodes are chosen as by select/cons_tres, not '%.40s'", value);
  return read_other(import, line, key, value);
}

static enum hr_status read_parameters(struct hr__slurm_import *import, const struct hr__slurm_line *line) {
  enum hr_status status = HR_OK;
  import->has_conf = true;
  for (unsigned i = 0; i < line->n_pairs && status == HR_OK; i++)
    status = read_parameter(import, line, line->pairs[i].key, line->pairs[i].value);
  return status;
}

/* ---- slurm.conf and gres.conf ----------------------------------------------------------------------- */

/* Reads a line of slurm.conf or gres.conf. A line of gres.conf has a `Name`, and may have a `NodeName` before it. Lines
   of gres.conf about GPUs and shares of GPUs are ignored, because slurm.conf must contain these numbers, too. */
static enum hr_status read_conf_line(void *self, const struct hr__slurm_line *line) {
  struct hr__slurm_import *import = self;
  static const char *const of_gpus[] = {"gpu", "shard", "mps", NULL};
  const char *gres = hr__slurm_value(line, "Name");
  if (gres && hr__slurm_is_listed(of_gpus, gres)) return HR_OK;
  if (gres) return hr__slurm_note(import, line, "GRES '%.40s' is not modelled: no job waits for it", gres);
  if (hr__slurm_value(line, "NodeSet")) return hr__slurm_read_node_set(import, line);
  if (hr__slurm_value(line, "NodeName")) return hr__slurm_read_node(import, line);
  if (hr__slurm_value(line, "PartitionName")) return hr__slurm_read_partition(import, line);
  if (hr__slurm_value(line, "AutoDetect")) return HR_OK;
  return read_parameters(import, line);
}

/* ---- Output of commands ----------------------------------------------------------------------------- */

/* Reads a line of `scontrol show node|partition|reservation -o`. */
static enum hr_status read_shown(void *self, struct hr__slurm_line *line, char *text) {
  hr__slurm_split_words(line, text);
  if (hr__slurm_value(line, "ReservationName")) return hr__slurm_read_reservation(self, line);
  if (hr__slurm_value(line, "NodeName")) return hr__slurm_read_node(self, line);
  if (hr__slurm_value(line, "PartitionName")) return hr__slurm_read_partition(self, line);
  return HR_OK;
}

/* Reads a line of `scontrol show config`: KEY = VALUE. Only BOOT_TIME is used, because slurm.conf contains the other
   values. BOOT_TIME is the time at which slurmctld started. Slurm computes priorities for the first time one second
   later. */
static enum hr_status read_shown_config(void *self, struct hr__slurm_line *line, char *text) {
  struct hr__slurm_import *import = self;
  if (strncmp(text, "BOOT_TIME", 9) != 0) return HR_OK;
  char *value = text + 9 + strspn(text + 9, " =");
  value[strcspn(value, " \r")] = '\0';
  int64_t start_s = hr__slurm_date(value);
  if (start_s < 0) return hr__slurm_bad(line, "BOOT_TIME", value, "a date such as 2026-03-01T08:00:00");
  cJSON *priority = hr__slurm_object(import->section, "priority");
  cJSON_DeleteItemFromObject(priority, "calc_start_s");
  if (cJSON_AddNumberToObject(priority, "calc_start_s", (double)(start_s + 1))) return HR_OK;
  return hr__slurm_no_memory(line);
}

/* ---- sinfo ------------------------------------------------------------------------------------------ */

/* The columns of `sinfo -N` that are read. */
enum { NODE, PARTITION, STATE, GRES, N_COLUMNS };

struct sinfo {
  struct hr__slurm_import *import;
  int columns[N_COLUMNS]; /* their numbers; -1: not in the table */
  bool has_header;
};

static enum hr_status read_header(struct sinfo *sinfo, const struct hr__slurm_line *line, char *text) {
  static const char *const names[] = {"NODELIST", "PARTITION", "STATE", "GRES"};
  int number = 0;
  char *rest = text;
  for (int c = 0; c < N_COLUMNS; c++) sinfo->columns[c] = -1;
  for (char *name; (name = strtok_r(rest, " \t|", &rest)); number++)
    for (int c = 0; c < N_COLUMNS; c++)
      if (strcmp(name, names[c]) == 0 || (c == NODE && strcmp(name, "HOSTNAMES") == 0)) sinfo->columns[c] = number;
  sinfo->has_header = true;
  if (sinfo->columns[NODE] >= 0 && sinfo->columns[GRES] >= 0) return HR_OK;
  return hr_fail(
      line->error, HR_BAD_INPUT,
      "%s:%u: the table has no column NODELIST or GRES; expected the output of sinfo -N -o '%%N %%P %%T %%G'",
      line->path, line->number);
}

/* Appends a node to the list of nodes of a partition. If another file states the list, it is complete, and the node is
   not appended. In the output of sinfo, the name of the default partition ends with an asterisk. */
static enum hr_status add_to_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *name,
                                       const char *node) {
  size_t length = strlen(name);
  bool is_default = length > 0 && name[length - 1] == '*';
  if (is_default) name[length - 1] = '\0';
  cJSON *partition = hr__slurm_partition(import, name), *nodes = cJSON_GetObjectItemCaseSensitive(partition, "nodes");
  if (nodes && !cJSON_HasObjectItem(partition, "from sinfo")) return HR_OK; // the list of another file is complete
  if (is_default && !cJSON_HasObjectItem(partition, "default")) cJSON_AddTrueToObject(partition, "default");
  if (!nodes) cJSON_AddTrueToObject(partition, "from sinfo");
  size_t bytes = (nodes ? strlen(nodes->valuestring) : 0) + strlen(node) + 2;
  char *list = malloc(bytes);
  if (!partition || !list) {
    free(list);
    return hr__slurm_no_memory(line);
  }
  snprintf(list, bytes, "%s%s%s", nodes ? nodes->valuestring : "", nodes ? "," : "", node);
  hr__slurm_set(partition, "nodes", cJSON_CreateString(list));
  free(list);
  return HR_OK;
}

static enum hr_status read_sinfo(void *self, struct hr__slurm_line *line, char *text) {
  struct sinfo *sinfo = self;
  char *cells[N_COLUMNS] = {NULL}, *rest = text;
  int number = 0;
  if (!sinfo->has_header) return read_header(sinfo, line, text);
  for (char *cell; (cell = strtok_r(rest, " \t|", &rest)); number++)
    for (int c = 0; c < N_COLUMNS; c++)
      if (sinfo->columns[c] == number) cells[c] = cell;
  if (!cells[NODE] || !cells[GRES])
    return hr_fail(line->error, HR_BAD_INPUT, "%s:%u: the row has %d columns, expected those of the header", line->path,
                   line->number, number);
  enum hr_status status = hr__slurm_add_node(sinfo->import, line, cells[NODE], cells[GRES], cells[STATE]);
  if (status != HR_OK || !cells[PARTITION]) return status;
  return add_to_partition(sinfo->import, line, cells[PARTITION], cells[NODE]);
}

/* ---- Kinds of files --------------------------------------------------------------------------------- */

enum kind { CONF, SHOWN, SHOWN_CONFIG, DUMP, QOS_TABLE, SINFO, SACCT };

static enum hr_status find_kind(void *self, struct hr__slurm_line *line, char *text) {
  int *kind = self;
  (void)line;
  if (*kind >= 0) return HR_OK;
  bool is_shown = strncmp(text, "ReservationName=", 16) == 0 ||
                  (strncmp(text, "NodeName=", 9) == 0 && strstr(text, " CPUTot=")) ||
                  (strncmp(text, "PartitionName=", 14) == 0 && strstr(text, " TotalNodes="));
  *kind = is_shown                                                                  ? SHOWN
          : strncmp(text, "Configuration data as of", 24) == 0                      ? SHOWN_CONFIG
          : strncmp(text, "Cluster - ", 10) == 0                                    ? DUMP
          : strncmp(text, "Name|", 5) == 0                                          ? QOS_TABLE
          : strncmp(text, "JobID", 5) == 0                                          ? SACCT
          : strncmp(text, "NODELIST", 8) == 0 || strncmp(text, "HOSTNAMES", 9) == 0 ? SINFO
                                                                                    : CONF;
  return HR_OK;
}

static enum hr_status read_file(struct hr__slurm_import *import, const char *path) {
  struct sinfo sinfo = {.import = import};
  int kind = -1;
  enum hr_status status = hr__slurm_text_read(path, find_kind, &kind, import->error);
  if (status != HR_OK) return status;
  switch (kind) {
  case SHOWN:
    return hr__slurm_text_read(path, read_shown, import, import->error);
  case SHOWN_CONFIG:
    return hr__slurm_text_read(path, read_shown_config, import, import->error);
  case DUMP:
    return hr__slurm_text_read(path, read_dumped, import, import->error);
  case QOS_TABLE:
    return hr__slurm_text_read(path, read_qos_row, import, import->error);
  case SINFO:
    return hr__slurm_text_read(path, read_sinfo, &sinfo, import->error);
  case SACCT:
    return hr_fail(import->error, HR_BAD_INPUT,
                   "%s:1: the file is output of sacct, which is a trace; give it to 'headroom run "
                   "--trace'",
                   path);
  default:
    return hr__slurm_conf_read(path, read_conf_line, import, import->error);
  }
}

/* ---- The scenario ----------------------------------------------------------------------------------- */

/* Removes the keys that only this import uses. If the number of CPUs per GPU is known, adds it to the section. Removes
   the section `slurm` if it is empty. */
static void tidy(struct hr__slurm_import *import, cJSON *root) {
  cJSON *entry;
  cJSON_ArrayForEach(entry, import->pools) {
    cJSON_DeleteItemFromObject(entry, "type of Slurm");
    cJSON_DeleteItemFromObject(entry, "first nodes");
  }
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, "partitions")) {
    cJSON_DeleteItemFromObject(entry, "from sinfo");
  }
  if (import->gpus > 0 && import->cpus > 0)
    cJSON_AddNumberToObject(import->section, "cpus_per_gpu", import->cpus / import->gpus);
  if (!import->section->child) cJSON_DeleteItemFromObject(root, "slurm");
}

static enum hr_status finish(struct hr__slurm_import *import, const char *path, cJSON *root) {
  enum hr_status status = hr__slurm_finish_nodes(import);
  if (status != HR_OK) return status;
  if (cJSON_GetArraySize(import->pools) == 0)
    return hr_fail(import->error, HR_BAD_INPUT,
                   "%s: no node has GPUs; expected lines such as NodeName=n[1-8] Gres=gpu:a100:8", path);
  status = hr__slurm_finish_partitions(import);
  if (status == HR_OK) status = slurm_finish_accounts(import);
  tidy(import, root);
  return status;
}

enum hr_status hr__import_slurm(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                struct hr_error *error) {
  struct hr__slurm_import import = {.notes = notes, .error = error, .first_start_s = INT64_MAX};
  enum hr_status status = hr_catalog_load(NULL, &import.catalog, error);
  if (status != HR_OK) return status;
  cJSON *cluster = cJSON_AddObjectToObject(root, "cluster");
  import.pools = cJSON_AddArrayToObject(cluster, "pools");
  import.policy = cJSON_AddObjectToObject(root, "policy");
  import.section = cJSON_AddObjectToObject(root, "slurm");
  if (!cJSON_AddStringToObject(import.policy, "name", "slurm") || !import.section)
    status = hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  for (size_t i = 0; i < n_files && status == HR_OK; i++) status = read_file(&import, files[i]);
  if (status == HR_OK) status = finish(&import, files[0], root);
  cJSON_Delete(import.default_partition);
  cJSON_Delete(import.default_qos);
  cJSON_Delete(import.default_node);
  cJSON_Delete(import.node_sets);
  cJSON_Delete(import.features);
  for (uint32_t i = 0; i < import.n_lines; i++) free(import.lines[i].hosts);
  free(import.lines);
  hr__names_finish(&import.names);
  free(import.nodes);
  hr_catalog_destroy(import.catalog);
  return status;
}
