/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports slurm.conf and gres.conf. Nodes with GPUs become pools, in the order of the file, because Slurm chooses nodes
 * in this order. Parameters of the scheduler become parameters of the policy `slurm`. Everything else that would change
 * decisions is reported with its place and its effect. Source: doc/man/man5/{slurm,gres}.conf.5 of SchedMD/slurm.
 */

#include "headroom/unstable/catalog.h"
#include "scenarios/import/import.h"
#include "scenarios/import/slurm_conf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct slurm_import {
  cJSON *pools, *policy;
  struct hr_notes *notes;
  struct hr_catalog *catalog;
  char default_gres[200]; /* Gres of NodeName=DEFAULT; "": none */
  unsigned n_partitions;
};

/* Adds a note that begins with the place of a line. */
static enum hr_status note(const struct slurm_import *import, const struct hr__slurm_line *line, struct hr_error *error,
                           const char *format, ...) HR_PRINTF(4, 5);
static enum hr_status note(const struct slurm_import *import, const struct hr__slurm_line *line, struct hr_error *error,
                           const char *format, ...) {
  char text[500];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (hr_notes_add(import->notes, "%s:%u: %s", line->path, line->number, text) == HR_OK) return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

/* Parameters of slurm.conf that change decisions and are not modelled. `neutral` is the value, or the beginning of the
   value, with which they change nothing; NULL: none is. */
static const struct {
  const char *key, *neutral, *effect;
} unmodelled[] = {{"PreemptType", "preempt/none", "no job is preempted for another one"},
                  {"PriorityFlags", NULL, "priorities are those of the trace, or first come first served"},
                  {"PriorityWeightAge", "0", "the age of jobs does not change their order"},
                  {"PriorityWeightAssoc", "0", "associations do not change the order of jobs"},
                  {"PriorityWeightFairshare", "0", "fair shares do not change the order of jobs"},
                  {"PriorityWeightJobSize", "0", "the size of jobs does not change their order"},
                  {"PriorityWeightPartition", "0", "partitions do not change the order of jobs"},
                  {"PriorityWeightQOS", "0", "the QOS does not change the order of jobs"},
                  {"PriorityWeightTRES", NULL, "requested resources do not change the order of jobs"},
                  {"AccountingStorageEnforce", "0", "limits of associations and QOS are not enforced"},
                  {"TopologyPlugin", "topology/flat", "nodes are chosen without regard to switches"},
                  {"SelectTypeParameters", "CR_", "CPU and memory of nodes are not consumed"},
                  {"OverTimeLimit", "0", "jobs end as recorded in the trace"},
                  {"Licenses", NULL, "licences do not block jobs"},
                  {"JobSubmitPlugins", NULL, "jobs are not changed when they are submitted"},
                  {"SuspendProgram", NULL, "idle nodes are not switched off"},
                  {"ResumeTimeout", NULL, "nodes start without delay"}};

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
                                         "Over*",
                                         "Plugin*",
                                         "PlugStackConfig",
                                         "Power*",
                                         "Preempt*",
                                         "PrEp*",
                                         "Priority*",
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
                                         "NodeSet",
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

/* Items of SchedulerParameters that are parameters of the policy, with their bounds there. */
static const struct {
  const char *name;
  long min, max;
} scheduling[] = {{"bf_interval", 1, 10800},         {"bf_resolution", 1, 3600},
                  {"bf_window", 1, 43200},           {"bf_max_job_test", 1, 1000000},
                  {"bf_max_job_start", 0, 10000},    {"default_queue_depth", 1, 1000000},
                  {"bf_min_age_reserve", 0, 2592000}};

/* Reads one item of SchedulerParameters, such as "bf_window=1440". */
static enum hr_status read_item(struct slurm_import *import, const struct hr__slurm_line *line, char *item,
                                struct hr_error *error) {
  char *value = strchr(item, '=');
  if (value) *value++ = '\0';
  for (size_t i = 0; i < sizeof scheduling / sizeof *scheduling; i++) {
    if (strcasecmp(item, scheduling[i].name) != 0) continue;
    char *end = NULL;
    long number = value ? strtol(value, &end, 10) : 0;
    if (!value || end == value || *end || number < scheduling[i].min || number > scheduling[i].max)
      return hr_fail(error, HR_BAD_INPUT, "%s:%u: %s is '%.40s', expected a whole number from %ld to %ld", line->path,
                     line->number, item, value ? value : "", scheduling[i].min, scheduling[i].max);
    cJSON_DeleteItemFromObject(import->policy, scheduling[i].name);
    cJSON_AddNumberToObject(import->policy, scheduling[i].name, (double)number);
    return HR_OK;
  }
  static const char *const timing[] = {"bf_continue",       "sched_interval", "sched_min_interval", "batch_sched_delay",
                                       "bf_yield_interval", "bf_yield_sleep", "bf_max_time",        NULL};
  for (size_t i = 0; timing[i]; i++)
    if (strcasecmp(item, timing[i]) == 0) return HR_OK; // a simulated pass takes no time
  return note(import, line, error, "SchedulerParameters: '%.60s' is not modelled", item);
}

static enum hr_status read_items(struct slurm_import *import, const struct hr__slurm_line *line, const char *list,
                                 struct hr_error *error) {
  char copy[4000];
  if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: SchedulerParameters is too long", line->path, line->number);
  char *rest = copy;
  for (char *item; (item = strtok_r(rest, ",", &rest));) {
    enum hr_status status = read_item(import, line, item, error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status read_scheduler(struct slurm_import *import, const struct hr__slurm_line *line, const char *value,
                                     struct hr_error *error) {
  bool builtin = strcasecmp(value, "sched/builtin") == 0;
  if (!builtin && strcasecmp(value, "sched/backfill") != 0)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: SchedulerType is '%.60s', expected sched/backfill or sched/builtin",
                   line->path, line->number, value);
  cJSON_AddStringToObject(import->policy, "scheduler", builtin ? "builtin" : "backfill");
  return HR_OK;
}

/* Reads a parameter that stands alone. */
static enum hr_status read_parameter(struct slurm_import *import, const struct hr__slurm_line *line, const char *key,
                                     const char *value, struct hr_error *error) {
  if (strcasecmp(key, "SchedulerType") == 0) return read_scheduler(import, line, value, error);
  if (strcasecmp(key, "SchedulerParameters") == 0) return read_items(import, line, value, error);
  if (strcasecmp(key, "PriorityType") == 0 && strcasecmp(value, "priority/multifactor") == 0) {
    cJSON_AddStringToObject(import->policy, "priority", "trace");
    return note(import, line, error,
                "PriorityType: jobs keep the priorities that the trace has; they do not change while jobs wait");
  }
  if (strcasecmp(key, "SelectType") == 0 && strcasecmp(value, "select/cons_tres") != 0)
    return note(import, line, error, "SelectType: nodes are chosen as by select/cons_tres, not '%.40s'", value);
  for (size_t i = 0; i < sizeof unmodelled / sizeof *unmodelled; i++) {
    if (strcasecmp(key, unmodelled[i].key) != 0) continue;
    const char *neutral = unmodelled[i].neutral;
    if (neutral && strncasecmp(value, neutral, strlen(neutral)) == 0 && strcasecmp(key, "SelectTypeParameters") != 0)
      return HR_OK;
    return note(import, line, error, "%s is not modelled: %s", unmodelled[i].key, unmodelled[i].effect);
  }
  return is_irrelevant(key) ? HR_OK : note(import, line, error, "unknown parameter '%.60s' is ignored", key);
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* The GPUs of a node: reads "gpu:a100:8", "gpu:8" or a list of such items. The type may be empty. */
static bool read_gres(const char *gres, char type[60], unsigned long *gpus) {
  *gpus = 0;
  type[0] = '\0';
  for (const char *at = gres; *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncasecmp(at, "gpu", 3) != 0 || (at[3] != ':' && at[3] != ',' && at[3])) continue;
    size_t length = strcspn(at, ",(");
    const char *last = at + length;
    while (last > at && last[-1] != ':') last--;
    unsigned long count = last > at && isdigit((unsigned char)*last) ? strtoul(last, NULL, 10) : 1;
    if (last > at + 4) snprintf(type, 60, "%.*s", (int)(last - at - 5), at + 4);
    *gpus += count;
  }
  return *gpus > 0;
}

/* Returns the GPU type of the catalogue that a name in Slurm means; of a family, the member with the most memory. NULL:
   none. */
static const struct hr_gpu_type *find_gpu(const struct slurm_import *import, const char *name, bool *several) {
  const struct hr_gpu_type *found = NULL;
  *several = false;
  for (size_t i = 0; i < import->catalog->n_gpus; i++) {
    const struct hr_gpu_type *gpu = &import->catalog->gpus[i];
    if (!hr_catalog_gpu_means(import->catalog, name, gpu->name)) continue;
    *several |= found != NULL;
    if (!found || gpu->mem_gb > found->mem_gb) found = gpu;
  }
  return found;
}

static enum hr_status add_pool(struct slurm_import *import, const struct hr__slurm_line *line, const char *hosts,
                               uint64_t n_nodes, const char *type, unsigned long gpus, struct hr_error *error) {
  bool several;
  const struct hr_gpu_type *gpu = find_gpu(import, type[0] ? type : "gpu", &several);
  cJSON *pool = cJSON_CreateObject();
  cJSON_AddStringToObject(pool, "name", hosts);
  cJSON_AddStringToObject(pool, "gpu", gpu ? gpu->name : type[0] ? type : "gpu");
  cJSON_AddNumberToObject(pool, "nodes", (double)n_nodes);
  cJSON_AddNumberToObject(pool, "gpus_per_node", (double)gpus);
  cJSON_AddItemToArray(import->pools, pool);
  if (several && gpu)
    return note(import, line, error, "'%s' may be several GPU types; %s is assumed, see the pool's 'gpu'", type,
                gpu->name);
  if (!gpu && type[0])
    return note(import, line, error, "the catalogue has no GPU type '%.50s'; prices and speeds are unknown", type);
  return HR_OK;
}

static enum hr_status read_node(struct slurm_import *import, const struct hr__slurm_line *line, const char *hosts,
                                struct hr_error *error) {
  const char *gres = hr__slurm_value(line, "Gres"), *state = hr__slurm_value(line, "State");
  if (strcasecmp(hosts, "DEFAULT") == 0) {
    snprintf(import->default_gres, sizeof import->default_gres, "%s", gres ? gres : "");
    return HR_OK;
  }
  uint64_t n_nodes = hr__slurm_hosts(hosts);
  if (n_nodes == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: NodeName is '%.60s', expected a list of hosts such as n[1-8]",
                   line->path, line->number, hosts);
  if (state && (strncasecmp(state, "DOWN", 4) == 0 || strncasecmp(state, "FUTURE", 6) == 0))
    return note(import, line, error, "nodes '%.60s' are left out: State=%s", hosts, state);
  char type[60];
  unsigned long gpus;
  if (!read_gres(gres ? gres : import->default_gres, type, &gpus))
    return note(import, line, error, "nodes '%.60s' are left out: they have no GPUs", hosts);
  if (gpus > 64)
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: Gres has %lu GPUs, expected at most 64", line->path, line->number,
                   gpus);
  const char *weight = hr__slurm_value(line, "Weight");
  enum hr_status status =
      weight ? note(import, line, error, "Weight is not modelled: nodes are chosen in their order") : HR_OK;
  return status == HR_OK ? add_pool(import, line, hosts, n_nodes, type, gpus, error) : status;
}

static enum hr_status read_partition(struct slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                     struct hr_error *error) {
  static const char *const keys[] = {
      "PriorityTier",  "PriorityJobFactor", "PreemptMode", "OverSubscribe",      "MaxTime", "DefaultTime", "QOS",
      "AllowAccounts", "AllowQos",          "MaxNodes",    "TRESBillingWeights", NULL};
  if (strcasecmp(name, "DEFAULT") == 0) return HR_OK;
  if (import->n_partitions++ == 1) {
    enum hr_status status =
        note(import, line, error, "partitions are not modelled: all jobs use all nodes in one queue");
    if (status != HR_OK) return status;
  }
  for (size_t i = 0; keys[i]; i++) {
    const char *value = hr__slurm_value(line, keys[i]);
    bool neutral = !value || strcasecmp(value, "NO") == 0 || strcasecmp(value, "INFINITE") == 0 ||
                   strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "ALL") == 0 || strcmp(value, "1") == 0;
    if (neutral) continue;
    enum hr_status status = note(import, line, error, "partition '%.40s': %s is not modelled", name, keys[i]);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Files ------------------------------------------------------------------------------------------ */

/* A line of slurm.conf or gres.conf. Lines of gres.conf begin with Name, or with NodeName and Name; the numbers of GPUs
   are those of slurm.conf, which Slurm requires too. */
static enum hr_status read_line(void *self, const struct hr__slurm_line *line, struct hr_error *error) {
  struct slurm_import *import = self;
  const char *gres = hr__slurm_value(line, "Name"), *node = hr__slurm_value(line, "NodeName");
  const char *partition = hr__slurm_value(line, "PartitionName");
  if (gres && strcasecmp(gres, "gpu") == 0) return HR_OK;
  if (gres) return note(import, line, error, "GRES '%.40s' is not modelled", gres);
  if (node) return read_node(import, line, node, error);
  if (partition) return read_partition(import, line, partition, error);
  if (hr__slurm_value(line, "AutoDetect")) return HR_OK;
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < line->n_pairs && status == HR_OK; i++)
    status = read_parameter(import, line, line->pairs[i].key, line->pairs[i].value, error);
  return status;
}

enum hr_status hr__import_slurm(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                struct hr_error *error) {
  struct slurm_import import = {.notes = notes};
  enum hr_status status = hr_catalog_load(NULL, &import.catalog, error);
  if (status != HR_OK) return status;
  cJSON *cluster = cJSON_AddObjectToObject(root, "cluster");
  import.pools = cJSON_AddArrayToObject(cluster, "pools");
  import.policy = cJSON_AddObjectToObject(root, "policy");
  if (!cJSON_AddStringToObject(import.policy, "name", "slurm"))
    status = hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  for (size_t i = 0; i < n_files && status == HR_OK; i++)
    status = hr__slurm_conf_read(files[i], read_line, &import, error);
  if (status == HR_OK && cJSON_GetArraySize(import.pools) == 0)
    status = hr_fail(error, HR_BAD_INPUT,
                     "%s: no node has GPUs; expected lines such as NodeName=n[1-8] Gres=gpu:a100:8", files[0]);
  hr_catalog_destroy(import.catalog);
  return status;
}
