/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Partitions and advance reservations of Slurm, from slurm.conf and `scontrol show partition|reservation -o`. A
 * partition that is in several files has the keys of the last one. Until the end, the member `nodes` of a partition or
 * reservation is the text with the list of hosts, because the nodes may be in a later file. Source:
 * doc/man/man5/slurm.conf.5 and doc/man/man1/scontrol.1 of SchedMD/slurm.
 */

#include "scenarios/import/slurm_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- Partitions ------------------------------------------------------------------------------------- */

static const char *const states[] = {"up", "down", "drain", "inactive", NULL};
static const char *const modes[] = {"off", "requeue", "cancel", "suspend", NULL};

static const struct hr__slurm_rule rules[] = {{"Nodes", "nodes", HR__SLURM_TEXT, NULL},
                                              {"Default", "default", HR__SLURM_YES_NO, NULL},
                                              {"PriorityTier", "priority_tier", HR__SLURM_WHOLE, NULL},
                                              {"PriorityJobFactor", "priority_job_factor", HR__SLURM_WHOLE, NULL},
                                              {"MaxTime", "max_time_s", HR__SLURM_MINUTES, NULL},
                                              {"DefaultTime", "default_time_s", HR__SLURM_MINUTES, NULL},
                                              {"MinNodes", "min_nodes", HR__SLURM_WHOLE, NULL},
                                              {"MaxNodes", "max_nodes", HR__SLURM_WHOLE, NULL},
                                              {"State", "state", HR__SLURM_WORD, states},
                                              {"PreemptMode", "preempt_mode", HR__SLURM_WORD, modes},
                                              {"GraceTime", "grace_time_s", HR__SLURM_SECONDS, NULL},
                                              {"OverTimeLimit", "over_time_limit_s", HR__SLURM_OVER_TIME, NULL},
                                              {"QOS", "qos", HR__SLURM_TEXT, NULL},
                                              {"AllowAccounts", "allow_accounts", HR__SLURM_NAMES, NULL},
                                              {"DenyAccounts", "deny_accounts", HR__SLURM_NAMES, NULL},
                                              {"AllowQos", "allow_qos", HR__SLURM_NAMES, NULL},
                                              {"DenyQos", "deny_qos", HR__SLURM_NAMES, NULL},
                                              {"TRESBillingWeights", "tres_billing_weights", HR__SLURM_WEIGHTS, NULL}};

/* Keys that change decisions and are not modelled, and the value with which they change nothing; NULL: none. */
static const struct {
  const char *key, *neutral, *effect;
} unmodelled[] = {{"Alternate", NULL, "jobs do not go to another partition"},
                  {"AllocNodes", "ALL", "jobs may be submitted anywhere"},
                  {"AllowGroups", "ALL", "jobs of all groups of users are accepted"},
                  {"ExclusiveUser", "NO", "nodes are shared by users"},
                  {"ExclusiveTopo", "NO", "nodes are shared by jobs"},
                  {"LLN", "NO", "the least loaded node is not preferred"},
                  {"MaxCPUsPerNode", NULL, "jobs may use all CPUs of a node"},
                  {"MaxCPUsPerSocket", NULL, "jobs may use all CPUs of a node"},
                  {"MaxMemPerNode", NULL, "jobs may use the whole memory of a node"},
                  {"MaxMemPerCPU", NULL, "jobs may use the whole memory of a node"},
                  {"OverSubscribe", "NO", "a GPU is used by one job at a time, and nodes are shared by jobs"},
                  {"ReqResv", "NO", "jobs without a reservation are accepted"},
                  {"RootOnly", "NO", "jobs of all users are accepted"},
                  {"SelectTypeParameters", "NONE", "the nodes of all partitions are consumed in the same way"},
                  {"Topology", NULL, "nodes are chosen without regard to switches"}};

/* Keys that do not change decisions. */
static const char *const irrelevant[] = {"PartitionName",
                                         "Hidden",
                                         "DisableRootJobs",
                                         "DefMemPerNode",
                                         "DefMemPerCPU",
                                         "DefMemPerGPU",
                                         "CpuBind",
                                         "JobDefaults",
                                         "TotalCPUs",
                                         "TotalNodes",
                                         "TRES",
                                         "Priority",
                                         "Shared",
                                         "ResumeTimeout",
                                         "SuspendTime",
                                         "SuspendTimeout",
                                         "PowerDownOnIdle",
                                         "NodeSets",
                                         NULL};

static enum hr_status read_key(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                               cJSON *partition, const char *key, const char *value, struct hr_error *error) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcasecmp(key, rules[i].key) == 0) return hr__slurm_add(import, line, partition, &rules[i], value, error);
  for (size_t i = 0; i < sizeof unmodelled / sizeof *unmodelled; i++) {
    if (strcasecmp(key, unmodelled[i].key) != 0) continue;
    bool neutral = hr__slurm_is_unset(value) || strcmp(value, "0") == 0 ||
                   (unmodelled[i].neutral && strcasecmp(value, unmodelled[i].neutral) == 0);
    return neutral ? HR_OK
                   : hr__slurm_note(import, line, error, "partition '%.40s': %s is not modelled: %s",
                                    hr__slurm_value(line, "PartitionName"), key, unmodelled[i].effect);
  }
  for (size_t i = 0; irrelevant[i]; i++)
    if (strcasecmp(key, irrelevant[i]) == 0) return HR_OK;
  return hr__slurm_note(import, line, error, "partition '%.40s': unknown parameter '%.60s' is ignored",
                        hr__slurm_value(line, "PartitionName"), key);
}

cJSON *hr__slurm_partition(struct hr__slurm_import *import, const char *name) {
  cJSON *list = hr__slurm_list(import->section, "partitions"), *partition = list ? list->child : NULL;
  for (; partition; partition = partition->next)
    if (strcmp(cJSON_GetObjectItemCaseSensitive(partition, "name")->valuestring, name) == 0) return partition;
  partition = import->default_partition ? cJSON_Duplicate(import->default_partition, true) : cJSON_CreateObject();
  cJSON_AddStringToObject(partition, "name", name);
  cJSON_AddItemToArray(list, partition);
  return partition;
}

enum hr_status hr__slurm_read_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        struct hr_error *error) {
  const char *name = hr__slurm_value(line, "PartitionName");
  cJSON *partition;
  if (strcasecmp(name, "DEFAULT") == 0) {
    if (!import->default_partition) import->default_partition = cJSON_CreateObject();
    partition = import->default_partition;
  } else {
    partition = hr__slurm_partition(import, name);
  }
  if (!partition) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < line->n_pairs && status == HR_OK; i++)
    status = read_key(import, line, partition, line->pairs[i].key, line->pairs[i].value, error);
  return status;
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

static const char *const flags[] = {"MAINT", "OVERLAP", "IGNORE_JOBS", "FLEX", "MAGNETIC", NULL};
static const struct hr__slurm_rule reservation_rules[] = {{"Nodes", "nodes", HR__SLURM_TEXT, NULL},
                                                          {"Users", "users", HR__SLURM_NAMES, NULL},
                                                          {"Accounts", "accounts", HR__SLURM_NAMES, NULL},
                                                          {"Duration", "duration_s", HR__SLURM_MINUTES, NULL}};

enum { DAY_S = 86400 };

/* The days on which a reservation with these flags is repeated, from Sunday on: bits. 0: on no certain days. */
static unsigned days_of(const char *list) {
  if (list && strstr(list, "WEEKDAY")) return 0x3e;
  return list && strstr(list, "WEEKEND") ? 0x41 : 0;
}

/* The day of the week of a date; 0: Sunday. The first of January 1970 was a Thursday. */
static unsigned day_of(int64_t date_s) {
  return (unsigned)((date_s / DAY_S + 4) % 7);
}

/* Adds a weekly copy of the reservation for each other day of `days`. If the reservation begins on a day that is not in
   `days`, it is not repeated. */
static bool repeat_on_days(const struct hr__slurm_import *import, cJSON *reservation, int64_t start_s, unsigned days) {
  const char *name = cJSON_GetObjectItemCaseSensitive(reservation, "name")->valuestring;
  for (unsigned later = 1; days && later < 7; later++) {
    if (!(days >> day_of(start_s + later * DAY_S) & 1)) continue;
    char other[200];
    snprintf(other, sizeof other, "%.150s, %u day%s later", name, later, later == 1 ? "" : "s");
    cJSON *copy = cJSON_Duplicate(reservation, true), *text = cJSON_CreateString(other);
    if (!copy || !text || !cJSON_AddItemToArray(hr__slurm_list(import->section, "reservations"), copy)) {
      cJSON_Delete(copy);
      cJSON_Delete(text);
      return false;
    }
    cJSON_ReplaceItemInObjectCaseSensitive(copy, "name", text);
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(copy, "start_s"), (double)(start_s + later * DAY_S));
  }
  if (days && !(days >> day_of(start_s) & 1)) cJSON_DeleteItemFromObjectCaseSensitive(reservation, "repeat_s");
  return true;
}

/* Reads the flags. A repeated reservation has one flag; Slurm moves the start of the reservation forward when it ends.
   Other flags describe how the nodes were chosen. */
static enum hr_status add_flags(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                cJSON *reservation, const char *list, struct hr_error *error) {
  static const struct hr__slurm_rule rule = {"Flags", "flags", HR__SLURM_NAMES, flags};
  static const struct {
    const char *flag;
    double repeat_s; /* 0: not repeated */
  } others[] = {{"HOURLY", 3600},       {"DAILY", DAY_S},  {"WEEKLY", 7 * DAY_S}, {"WEEKDAY", 7 * DAY_S},
                {"WEEKEND", 7 * DAY_S}, {"SPEC_NODES", 0}, {"ALL_NODES", 0},      {"PART_NODES", 0}};
  char kept[1000] = "";
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    size_t length = strcspn(at, ","), i = 0, n = sizeof others / sizeof *others, used = strlen(kept);
    while (i < n && (strlen(others[i].flag) != length || strncasecmp(others[i].flag, at, length) != 0)) i++;
    if (i < n && others[i].repeat_s > 0) cJSON_AddNumberToObject(reservation, "repeat_s", others[i].repeat_s);
    if (i == n) snprintf(kept + used, sizeof kept - used, "%s%.*s", used ? "," : "", (int)length, at);
  }
  return hr__slurm_add(import, line, reservation, &rule, kept, error);
}

enum hr_status hr__slurm_read_reservation(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                          struct hr_error *error) {
  const char *start = hr__slurm_value(line, "StartTime"), *list = hr__slurm_value(line, "Flags");
  int64_t start_s = start ? hr__slurm_date(start) : INT64_MIN;
  if (start_s == INT64_MIN)
    return hr__slurm_bad(line, "StartTime", start ? start : "", "a date such as 2026-03-01T08:00:00", error);
  const char *duration = hr__slurm_value(line, "Duration");
  if (!duration || hr__slurm_seconds(duration, 60) <= 0)
    return hr__slurm_bad(line, "Duration", duration ? duration : "", "a time such as 12:00:00 or 1-12:00:00", error);
  cJSON *reservation = cJSON_CreateObject();
  cJSON_AddStringToObject(reservation, "name", hr__slurm_value(line, "ReservationName"));
  cJSON_AddNumberToObject(reservation, "start_s", (double)start_s);
  if (!reservation || !cJSON_AddItemToArray(hr__slurm_list(import->section, "reservations"), reservation))
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  if (start_s < import->first_start_s) import->first_start_s = start_s;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof reservation_rules / sizeof *reservation_rules && status == HR_OK; i++) {
    const char *value = hr__slurm_value(line, reservation_rules[i].key);
    if (value) status = hr__slurm_add(import, line, reservation, &reservation_rules[i], value, error);
  }
  if (status == HR_OK && list) status = add_flags(import, line, reservation, list, error);
  if (status == HR_OK && !repeat_on_days(import, reservation, start_s, days_of(list)))
    status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  return status;
}

/* ---- At the end ------------------------------------------------------------------------------------- */

/* Replaces the lists of hosts by ranges of pools. Partitions and reservations without GPUs are left out. */
static enum hr_status finish_list(struct hr__slurm_import *import, const char *list_name, struct hr_error *error) {
  const struct hr__slurm_line line = {.path = list_name};
  cJSON *list = cJSON_GetObjectItemCaseSensitive(import->section, list_name), *next;
  for (cJSON *entry = list ? list->child : NULL; entry; entry = next) {
    next = entry->next;
    cJSON *nodes = cJSON_GetObjectItemCaseSensitive(entry, "nodes");
    if (!nodes) continue;
    char *hosts = hr__slurm_expand_sets(import, nodes->valuestring);
    if (!hosts) return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
    enum hr_status status = HR_OK;
    if (strcasecmp(hosts, "ALL") != 0 && hr__slurm_hosts(hosts) == 0)
      status = hr_fail(error, HR_BAD_INPUT, "%s: Nodes is '%.60s', expected a list of hosts such as n[1-8]", list_name,
                       hosts);
    uint32_t n_nodes = 0;
    if (status == HR_OK) status = hr__slurm_add_ranges(import, &line, entry, hosts, &n_nodes, error);
    free(hosts);
    if (status == HR_OK && n_nodes == 0) {
      if (hr_notes_add(import->notes, "%s: '%.60s' is left out: it has no nodes with GPUs", list_name,
                       cJSON_GetObjectItemCaseSensitive(entry, "name")->valuestring) != HR_OK)
        return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
      cJSON_Delete(cJSON_DetachItemViaPointer(list, entry));
    }
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Starts of reservations are dates; in a scenario they are seconds since the trace begins. */
static enum hr_status shift_reservations(const struct hr__slurm_import *import, struct hr_error *error) {
  if (import->first_start_s == INT64_MAX) return HR_OK;
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(import->section, "reservations"), *entry;
  cJSON_ArrayForEach(entry, list) {
    cJSON *start = cJSON_GetObjectItemCaseSensitive(entry, "start_s");
    if (start) cJSON_SetNumberValue(start, start->valuedouble - (double)import->first_start_s);
  }
  if (hr_notes_add(import->notes,
                   "reservations: 'start_s' counts from the start of the first one; add the time from the "
                   "begin of the trace to it") == HR_OK)
    return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
}

enum hr_status hr__slurm_finish_partitions(struct hr__slurm_import *import, struct hr_error *error) {
  enum hr_status status = finish_list(import, "partitions", error);
  if (status == HR_OK) status = finish_list(import, "reservations", error);
  return status == HR_OK ? shift_reservations(import, error) : status;
}
