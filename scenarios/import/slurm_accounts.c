/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts, users and QOS of Slurm, from `sacctmgr dump CLUSTER` and `sacctmgr -P show qos`.
 *
 * A line of a dump is an object and its options: `Account - 'vision':Fairshare=50:GrpTRES=gres/gpu=64`. `Parent - 'x'`
 * is the account of the lines that follow. Users of the account root get an account of that name, because users of a
 * scenario belong to an account below the root. A dump has no QOS; the list of QOS is a table with a header. Source:
 * doc/man/man1/sacctmgr.1 of SchedMD/slurm.
 */

#include "scenarios/import/slurm_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 64 };

/* The member of the scenario to which a key is converted: a member of the object, or of its limits. */
struct account_rule {
  struct hr__slurm_rule rule;
  bool is_limit;
};

/* Finds the rule of a key; NULL: none. */
static const struct account_rule *find_rule(const struct account_rule *rules, size_t n_rules, const char *key) {
  for (size_t i = 0; i < n_rules; i++)
    if (strcasecmp(rules[i].rule.key, key) == 0) return &rules[i];
  return NULL;
}

static enum hr_status apply(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                            const struct account_rule *rule, const char *value, struct hr_error *error) {
  if (hr__slurm_is_unset(value)) return HR_OK;
  return hr__slurm_add(import, line, rule->is_limit ? hr__slurm_object(object, "limits") : object, &rule->rule, value,
                       error);
}

static bool is_listed(const char *const *list, const char *key) {
  while (*list && strcasecmp(*list, key) != 0) list++;
  return *list != NULL;
}

/* Returns a text of an object; "" if it has none. */
static const char *text_of(const cJSON *object, const char *name) {
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(object, name);
  return text && text->valuestring ? text->valuestring : "";
}

/* ---- The dump --------------------------------------------------------------------------------------- */

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

/* Takes the next option off the text; texts in apostrophes may have colons. Returns NULL at the end. */
static char *take_option(char **rest) {
  char *text = *rest, *end = text;
  if (!*text) return NULL;
  for (bool quoted = false; *end && (quoted || *end != ':'); end++)
    if (*end == '\'') quoted = !quoted;
  *rest = *end ? end + 1 : end;
  *end = '\0';
  return text;
}

/* Removes apostrophes around a text. */
static char *unquoted(char *text) {
  size_t length = strlen(text);
  if (length < 2 || *text != '\'' || text[length - 1] != '\'') return text;
  text[length - 1] = '\0';
  return text + 1;
}

static enum hr_status read_options(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   cJSON *object, char *rest, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (char *option; status == HR_OK && (option = take_option(&rest));) {
    char *value = strchr(option, '=');
    if (!value) return hr__slurm_bad(line, "an option", option, "NAME=VALUE", error);
    *value++ = '\0';
    value = unquoted(value);
    const struct account_rule *rule = find_rule(assoc_rules, sizeof assoc_rules / sizeof *assoc_rules, option);
    if (rule && !rule->is_limit && rule->rule.notation == HR__SLURM_WHOLE && strcasecmp(value, "parent") == 0)
      cJSON_AddNumberToObject(object, rule->rule.member, -1);
    else if (rule)
      status = apply(import, line, object, rule, value, error);
    else if (!is_listed(other_options, option) && !hr__slurm_is_unset(value))
      status = hr__slurm_note(import, line, error, "%.40s is not modelled: this limit is not enforced", option);
  }
  return status;
}

/* Adds an association. `user` NULL: an account. */
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

/* A user of the account root competes with the accounts below it, so that account gets the shares of the user. */
static enum hr_status read_root_user(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                     const char *name, char *rest, struct hr_error *error) {
  cJSON *account = root_account(import), *user = add_association(import, "root", name);
  if (!account || !user) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  enum hr_status status = read_options(import, line, user, rest, error);
  const cJSON *shares = cJSON_GetObjectItemCaseSensitive(user, "fairshare");
  if (shares && !cJSON_HasObjectItem(account, "fairshare"))
    cJSON_AddNumberToObject(account, "fairshare", shares->valuedouble);
  return status;
}

/* The options of the cluster are those of the root, which is not an association of a scenario. Its default QOS is kept
   for the accounts below it. */
static enum hr_status read_cluster(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *rest,
                                   struct hr_error *error) {
  cJSON *root = cJSON_CreateObject();
  enum hr_status status = read_options(import, line, root, rest, error);
  cJSON_DeleteItemFromObject(root, "fairshare");
  cJSON_Delete(import->default_qos);
  import->default_qos = cJSON_DetachItemFromObject(root, "default_qos");
  if (status == HR_OK && root->child)
    status = hr__slurm_note(import, line, error, "'%.40s' of the cluster is not modelled: only accounts have it",
                            root->child->string);
  cJSON_Delete(root);
  return status;
}

enum hr_status hr__slurm_read_dump(struct hr__slurm_import *import, struct hr__slurm_line *line, char *text,
                                   struct hr_error *error) {
  char *rest = text, *head = take_option(&rest), *name = head ? strstr(head, " - ") : NULL;
  if (!name)
    return hr__slurm_bad(line, "the line", head ? head : "", "Account - 'NAME':Fairshare=1, or the like", error);
  *name = '\0';
  name = unquoted(name + 3);
  cJSON *entry = NULL;
  if (strcasecmp(head, "Cluster") == 0) return read_cluster(import, line, rest, error);
  if (strcasecmp(head, "Parent") == 0) {
    snprintf(import->parent, sizeof import->parent, "%s", name);
    return HR_OK;
  }
  if (strcasecmp(head, "Account") == 0) {
    entry = add_association(import, name, NULL);
  } else if (strcasecmp(head, "User") == 0) {
    if (strcasecmp(import->parent, "root") == 0) return read_root_user(import, line, name, rest, error);
    entry = add_association(import, import->parent, name);
  } else {
    return hr__slurm_bad(line, "the line", head, "Cluster, Parent, Account or User", error);
  }
  if (!entry) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  import->lists_qos |= strncmp(rest, "QOS=", 4) == 0 || strstr(rest, ":QOS=");
  return read_options(import, line, entry, rest, error);
}

/* ---- QOS -------------------------------------------------------------------------------------------- */

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

/* Splits a row of the table; `|` separates its cells. Returns how many there are. */
static unsigned split_cells(char *text, char *cells[MAX_COLUMNS]) {
  unsigned count = 0;
  for (char *at = text; at && count < MAX_COLUMNS; count++) {
    cells[count] = at;
    at = strchr(at, '|');
    if (at) *at++ = '\0';
  }
  return count;
}

/* The first line is the header; its names stay in the line as keys. */
enum hr_status hr__slurm_read_qos(struct hr__slurm_import *import, struct hr__slurm_line *line, char *text,
                                  struct hr_error *error) {
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
  if (!cJSON_AddItemToArray(hr__slurm_list(import->section, "qos"), qos))
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  enum hr_status status = HR_OK;
  const cJSON *column = columns ? columns->child : NULL;
  for (unsigned i = 0; i < count && cells[i] && column && status == HR_OK; i++, column = column->next) {
    const struct account_rule *rule = find_rule(qos_rules, sizeof qos_rules / sizeof *qos_rules, column->valuestring);
    bool is_default = rule && strcmp(rule->rule.key, "PreemptMode") == 0 && strcasecmp(cells[i], "cluster") == 0;
    if (rule && !is_default)
      status = apply(import, line, qos, rule, cells[i], error);
    else if (!rule && *cells[i])
      status = hr__slurm_note(import, line, error, "QOS '%.40s': %.40s is not modelled: this limit is not enforced",
                              cells[0], column->valuestring);
  }
  return status;
}

/* ---- At the end ------------------------------------------------------------------------------------- */

static bool has_qos(const cJSON *list, const char *name) {
  const cJSON *entry;
  cJSON_ArrayForEach(entry, list) {
    if (strcmp(text_of(entry, "name"), name) == 0) return true;
  }
  return false;
}

static enum hr_status add_missing_qos(const struct hr__slurm_import *import, const char *name, struct hr_error *error) {
  cJSON *list = hr__slurm_list(import->section, "qos"), *qos;
  if (has_qos(list, name)) return HR_OK;
  cJSON_AddItemToArray(list, qos = cJSON_CreateObject());
  cJSON_AddStringToObject(qos, "name", name);
  if (hr_notes_add(import->notes, "QOS '%.60s' is named, but not defined; give the output of sacctmgr -P show qos, too",
                   name) == HR_OK)
    return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
}

/* Adds the QOS that a member of the entries of a list names. */
static enum hr_status add_named_qos(const struct hr__slurm_import *import, const char *list, const char *member,
                                    struct hr_error *error) {
  enum hr_status status = HR_OK;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, list)) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, member), *item = value ? value->child : NULL;
    if (status == HR_OK && value && cJSON_IsString(value)) status = add_missing_qos(import, value->valuestring, error);
    for (; item && status == HR_OK; item = item->next) status = add_missing_qos(import, item->valuestring, error);
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

/* Accounts below the root inherit the default QOS of the cluster. */
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

enum hr_status hr__slurm_finish_accounts(struct hr__slurm_import *import, struct hr_error *error) {
  static const char *const named[][2] = {{"partitions", "qos"},
                                         {"partitions", "allow_qos"},
                                         {"partitions", "deny_qos"},
                                         {"associations", "default_qos"},
                                         {"qos", "preempt"}};
  enum hr_status status = HR_OK;
  cJSON_DeleteItemFromObject(import->section, "columns of QOS");
  if (!inherit_qos(import)) return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  for (size_t i = 0; i < sizeof named / sizeof *named && status == HR_OK; i++)
    status = add_named_qos(import, named[i][0], named[i][1], error);
  if (status == HR_OK && import->lists_qos && import->enforces_qos &&
      hr_notes_add(import->notes, "the QOS that accounts and users may use are not modelled: jobs may use all QOS") !=
          HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  if (status != HR_OK || !import->has_conf || import->enforces_limits) return status;
  cJSON_AddFalseToObject(import->section, "enforce_limits");
  if (!has_limits(import, "qos") && !has_limits(import, "associations")) return HR_OK;
  if (hr_notes_add(import->notes, "limits of QOS and associations have no effect, because AccountingStorageEnforce of "
                                  "slurm.conf does not have 'limits'") == HR_OK)
    return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
}
