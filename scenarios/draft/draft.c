/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drafts a scenario from a trace (headroom/unstable/scenario_files.h).
 *
 * The draft is a tree of JSON. The sections are in the order in which a person reads them. Each section begins with a
 * comment: the member "//SECTION", with facts about the trace and assumptions.
 *
 * If the options name neither owned nodes nor a provider, owned nodes are guessed from the demand: a pool for each GPU
 * type that jobs request. Jobs can request a list of types. Lists are visited in descending order of their GPU hours. A
 * list gets a pool unless an earlier pool has one of its types. The jobs of a list are then assigned to the first pool
 * that accepts them. Jobs without a type are assigned to the first pool, because every pool accepts them. A pool is
 * large enough for the demand of its jobs for 95 % of the time, and for its largest job.
 */

#include "scenarios/draft/draft.h"

#include "base/text.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Facts about the trace -------------------------------------------------------------------------- */

/*
 * Demand over time, groups of jobs, recorded waits.
 *
 * Demand is the number of GPUs that would be in use if no job waited. Each job adds its GPUs at its submit and removes
 * them at its submit plus its run time. The list of these changes, sorted by time, determines how long each level of
 * demand lasts between the first and the last submit. Percentiles over time are computed from the levels, sorted by
 * size.
 */

/* ---- Facts about the trace: demand ------------------------------------------------------------------ */

struct change {
  int64_t at_us;
  int64_t milli;
};

struct level {
  int64_t milli, us; /* demand in milli-GPUs, and its duration */
};

static int by_time(const void *left, const void *right) {
  const struct change *a = left, *b = right;
  return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

static int by_level(const void *left, const void *right) {
  const struct level *a = left, *b = right;
  return a->milli < b->milli ? -1 : a->milli > b->milli;
}

/* Returns a percentile of the levels over time, in GPUs: for at least the share `share` of the time, the level is at
   most this value. The levels are sorted by size. */
static double percentile(const struct level *levels, size_t count, int64_t all_us, double share) {
  double seen_us = 0;
  for (size_t i = 0; i < count; i++) {
    seen_us += (double)levels[i].us;
    if (seen_us >= share * (double)all_us) return (double)levels[i].milli / 1000;
  }
  return count ? (double)levels[count - 1].milli / 1000 : 0;
}

/* Computes the levels between sorted changes, until `end_us`. Returns the number of levels. */
static size_t list_levels(const struct change *changes, size_t count, int64_t end_us, struct level *levels) {
  int64_t milli = 0;
  size_t n = 0;
  for (size_t i = 0; i < count && changes[i].at_us < end_us; i++) {
    milli += changes[i].milli;
    int64_t next_us = i + 1 < count && changes[i + 1].at_us < end_us ? changes[i + 1].at_us : end_us;
    if (next_us > changes[i].at_us) levels[n++] = (struct level){milli, next_us - changes[i].at_us};
  }
  return n;
}

/* Returns the index of the list of GPU types that a job requests; the number of lists if it requests no type. */
static uint32_t list_of(const struct hr_trace *trace, uint32_t job) {
  bool is_typed = trace->gpu_types && trace->gpu_types[job] != HR_NONE;
  return is_typed ? trace->gpu_types[job] : trace->gpu_type_lists.count;
}

/* Sets the demand, the GPU hours and the largest job in `facts` to those of the jobs of one pool. These members must be
   0 before. `pool_of`: the pool of the jobs with each list of GPU types; the last entry is the pool of the jobs without
   a type. If it is NULL, the jobs of all pools are counted. Returns HR_OK or HR_NO_MEMORY. */
static enum hr_status draft_demand(const struct hr_trace *trace, const uint32_t *pool_of, uint32_t pool,
                                   struct hr__draft_facts *facts) {
  size_t count = 0, most = 2 * (size_t)trace->n_jobs;
  struct change *changes = malloc((most + 1) * sizeof *changes);
  struct level *levels = malloc((most + 1) * sizeof *levels);
  int64_t end_us = trace->submit_us[trace->n_jobs - 1];
  for (uint32_t i = 0; changes && levels && i < trace->n_jobs; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (pool_of && pool_of[list_of(trace, i)] != pool) continue;
    changes[count++] = (struct change){trace->submit_us[i], milli};
    changes[count++] = (struct change){trace->submit_us[i] + trace->work_us[i], -milli};
    facts->gpu_hours += (double)milli / 1000 * (double)trace->work_us[i] / (double)HR__HOUR_US;
    if (trace->gpus[i] > facts->largest_gpus) facts->largest_gpus = trace->gpus[i];
  }
  if (count) {
    qsort(changes, count, sizeof *changes, by_time);
    /* if all jobs are submitted at once, the window ends when the last job would end without waiting */
    if (end_us <= changes[0].at_us) end_us = changes[count - 1].at_us;
    size_t n = list_levels(changes, count, end_us, levels);
    qsort(levels, n, sizeof *levels, by_level);
    int64_t all_us = end_us - changes[0].at_us;
    for (size_t i = 0; i < n; i++)
      facts->mean_gpus += (double)levels[i].milli / 1000 * (double)levels[i].us / (double)all_us;
    facts->p95_gpus = percentile(levels, n, all_us, 0.95);
    facts->p99_gpus = percentile(levels, n, all_us, 0.99);
  }
  enum hr_status status = changes && levels ? HR_OK : HR_NO_MEMORY;
  free(changes);
  free(levels);
  return status;
}

static void find_largest(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t tasks = trace->tasks ? trace->tasks[i] : 1, gpus = trace->gpus[i];
    uint32_t of_task = tasks ? (gpus + tasks - 1) / tasks : gpus;
    if (of_task > facts->largest_node_gpus) facts->largest_node_gpus = of_task;
    if (trace->gpu_milli && trace->gpu_milli[i] < 1000) facts->n_shares++;
    if (trace->mig_profile && trace->mig_profile[i] != HR_NONE) facts->n_mig++;
  }
}

/* ---- Facts about the trace: groups ------------------------------------------------------------------ */

static int by_gpu_hours(const void *left, const void *right) {
  const struct hr__draft_group *a = left, *b = right;
  if (a->gpu_hours > b->gpu_hours || a->gpu_hours < b->gpu_hours) return a->gpu_hours > b->gpu_hours ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Removes groups without jobs and sorts the others. Returns their number. */
static uint32_t tidy(struct hr__draft_group *groups, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (groups[i].jobs) groups[kept++] = groups[i];
  qsort(groups, kept, sizeof *groups, by_gpu_hours);
  return kept;
}

static void add(struct hr__draft_group *group, const struct hr_trace *trace, uint32_t job) {
  group->jobs++;
  group->gpu_hours +=
      (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 * (double)trace->work_us[job] / (double)HR__HOUR_US;
}

/* Groups the jobs with GPUs by a column of names. Jobs without a name form a group with the name "". The caller frees
   `*groups`. */
static enum hr_status group_by_name(const struct hr_trace *trace, const struct hr_names *names, const uint32_t *column,
                                    struct hr__draft_group **groups, uint32_t *count) {
  uint32_t n = column ? names->count : 0;
  *groups = calloc((size_t)n + 1, sizeof **groups);
  if (!*groups) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n; i++)
    (*groups)[i] = (struct hr__draft_group){.name = names->text[i], .wait_p95_s = (double)NAN};
  (*groups)[n] = (struct hr__draft_group){.name = "", .wait_p95_s = (double)NAN};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t name = column ? column[i] : HR_NONE;
    if (trace->gpus[i]) add(&(*groups)[name == HR_NONE ? n : name], trace, i);
  }
  *count = tidy(*groups, n + 1);
  return HR_OK;
}

/* ---- Facts about the trace: recorded waits ---------------------------------------------------------- */

static int by_number(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

/* Stores the sorted recorded waits of a class of jobs in `waits`, and returns their number. `class_` -1: all jobs. */
static size_t list_waits(const struct hr_trace *trace, int class_, int64_t *waits) {
  size_t count = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    if (class_ >= 0 && trace->class_[i] != class_) continue;
    if (trace->recorded_start_us[i] >= trace->submit_us[i])
      waits[count++] = trace->recorded_start_us[i] - trace->submit_us[i];
  }
  qsort(waits, count, sizeof *waits, by_number);
  return count;
}

/* Returns the 95th percentile of sorted waits by nearest rank, in seconds; NAN if there are none. */
static double p95_s(const int64_t *waits, size_t count) {
  return count ? hr__seconds(waits[(count * 95 + 99) / 100 - 1]) : (double)NAN;
}

static enum hr_status find_classes(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  facts->classes = calloc(HR_N_CLASSES, sizeof *facts->classes);
  int64_t *waits = trace->recorded_start_us ? malloc(trace->n_jobs * sizeof *waits) : NULL;
  if (!facts->classes || (trace->recorded_start_us && !waits)) {
    free(waits);
    return HR_NO_MEMORY;
  }
  size_t n_waits = waits ? list_waits(trace, -1, waits) : 0;
  facts->wait_p95_s = p95_s(waits, n_waits);
  for (size_t i = 0; i < n_waits; i++) facts->wait_mean_s += hr__seconds(waits[i]) / (double)n_waits;
  for (int i = 0; i < HR_N_CLASSES; i++) {
    struct hr__draft_group *group = &facts->classes[i];
    *group = (struct hr__draft_group){.name = hr_job_class_name((enum hr_job_class)i), .wait_p95_s = (double)NAN};
    for (uint32_t job = 0; job < trace->n_jobs; job++)
      if ((trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN) == i) add(group, trace, job);
    if (waits && trace->class_ && group->jobs) group->wait_p95_s = p95_s(waits, list_waits(trace, i, waits));
  }
  free(waits);
  facts->n_classes = tidy(facts->classes, HR_N_CLASSES);
  return HR_OK;
}

/* ---- Facts about the trace: all of them ------------------------------------------------------------- */

/* Computes the facts. The names of groups belong to the trace. Returns HR_OK or HR_NO_MEMORY. The caller calls
   draft_facts_finish(), also after an error. */
static enum hr_status draft_facts_make(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  *facts = (struct hr__draft_facts){0};
  find_largest(trace, facts);
  enum hr_status status = draft_demand(trace, NULL, 0, facts);
  if (status == HR_OK) status = find_classes(trace, facts);
  if (status == HR_OK)
    status = group_by_name(trace, &trace->tenants, trace->tenant, &facts->tenants, &facts->n_tenants);
  if (status == HR_OK)
    status = group_by_name(trace, &trace->gpu_type_lists, trace->gpu_types, &facts->types, &facts->n_types);
  return status;
}

static void draft_facts_finish(struct hr__draft_facts *facts) {
  free(facts->classes);
  free(facts->tenants);
  free(facts->types);
  *facts = (struct hr__draft_facts){0};
}

/* ---- The draft -------------------------------------------------------------------------------------- */

enum { LISTED = 8 };

/* ---- JSON ------------------------------------------------------------------------------------------- */

cJSON *hr__draft_put(struct hr__draft *draft, cJSON *object, const char *name, cJSON *value) {
  bool is_added = value && cJSON_AddItemToObject(object, name, value);
  if (is_added) return value;
  cJSON_Delete(value);
  draft->no_memory = true;
  return NULL;
}

cJSON *hr__draft_append(struct hr__draft *draft, cJSON *list, cJSON *value) {
  if (value && cJSON_AddItemToArray(list, value)) return value;
  cJSON_Delete(value);
  draft->no_memory = true;
  return NULL;
}

void hr__draft_put_text(struct hr__draft *draft, cJSON *object, const char *name, const char *text) {
  char *clean = hr__utf8_copy(text);
  hr__draft_put(draft, object, name, clean ? cJSON_CreateString(clean) : NULL);
  free(clean);
}

/* ---- Comments --------------------------------------------------------------------------------------- */

void hr__say(struct hr__note *note, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int written = vsnprintf(note->text + note->used, sizeof note->text - note->used, format, args);
  va_end(args);
  if (written > 0) note->used += (size_t)written;
  if (note->used >= sizeof note->text) note->used = sizeof note->text - 1;
}

/* Writes the size of a group, such as "3 jobs, 25.0 % of the GPU hours". */
static void say_group(struct hr__note *note, const struct hr__draft *draft, const struct hr__draft_group *group) {
  double all = draft->facts.gpu_hours;
  hr__say(note, "%" PRIu32 " job%s, %.1f %% of the GPU hours", group->jobs, hr__plural(group->jobs),
          all > 0 ? group->gpu_hours / all * 100 : 0);
}

/* Writes the first groups with their sizes, and the number of further groups. `nameless`: the text for the group
   without a name. */
static void say_groups(struct hr__note *note, const struct hr__draft *draft, const struct hr__draft_group *groups,
                       uint32_t count, const char *nameless) {
  for (uint32_t i = 0; i < count && i < LISTED; i++) {
    hr__say(note, "%s%.60s (", i ? "; " : "", groups[i].name[0] ? groups[i].name : nameless);
    say_group(note, draft, &groups[i]);
    hr__say(note, ")");
  }
  if (count > LISTED) hr__say(note, "; and %u more", (unsigned)(count - LISTED));
}

/* ---- Sections --------------------------------------------------------------------------------------- */

static void put_head(struct hr__draft *draft, cJSON *scenario) {
  struct hr__note note = {0};
  hr__say(&note, "Drafted by 'headroom init'. Members whose names begin with // are comments. Every other value may be "
                 "changed: 'headroom list keys' explains all keys, 'headroom validate FILE' checks this file.");
  hr__draft_put_text(draft, scenario, "//", note.text);
  hr__draft_put_text(draft, scenario, "name", draft->config->name);
}

/* Adds the member `name` with entries of the column map. If `rules_of` is NULL, they are the columns of fields.
   Otherwise they are the patterns for the values of the field `rules_of` ("class" or "tenant"). */
static void put_columns(struct hr__draft *draft, cJSON *trace, const char *name, const char *rules_of) {
  const struct hr_column_map *map = draft->config->map;
  cJSON *columns = NULL;
  for (size_t i = 0; map && i < map->count; i++) {
    const struct hr_column_name *entry = &map->entry[i];
    struct hr__note rule = {0};
    if (rules_of ? !entry->pattern || strcmp(entry->field, rules_of) != 0 : entry->pattern != NULL) continue;
    if (!columns) columns = hr__draft_put(draft, trace, name, cJSON_CreateObject());
    if (rules_of) hr__say(&rule, "%s~%s", entry->column, entry->pattern);
    hr__draft_put_text(draft, columns, rules_of ? entry->value : entry->field, rules_of ? rule.text : entry->column);
  }
}

/* Rejects two rules for one value, which a scenario cannot have. */
static enum hr_status check_rules(const struct hr__draft *draft) {
  const struct hr_column_map *map = draft->config->map;
  for (size_t i = 0; map && i < map->count; i++)
    for (size_t k = 0; k < i && map->entry[i].pattern; k++)
      if (map->entry[k].pattern && strcmp(map->entry[i].field, map->entry[k].field) == 0 &&
          strcmp(map->entry[i].value, map->entry[k].value) == 0)
        return hr_fail(draft->error, HR_BAD_INPUT,
                       "two patterns for %s '%.60s'; a scenario has one for each: join them as 'A|B'",
                       map->entry[i].field, map->entry[i].value);
  return HR_OK;
}

static void put_trace(struct hr__draft *draft, cJSON *scenario) {
  const struct hr_draft_config *config = draft->config;
  const struct hr_trace *trace = config->trace;
  const struct hr__draft_facts *facts = &draft->facts;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES];
  struct hr__note note = {0};
  hr__say(&note, "%.20s: %s jobs, submitted over %s; %s GPU hours; the largest job requests %u GPUs.", trace->format,
          hr__count_text(trace->n_jobs, jobs),
          hr__duration_text(hr__seconds(trace->submit_us[trace->n_jobs - 1]), span),
          hr__fixed_text(facts->gpu_hours, 0, hours), facts->largest_gpus);
  if (trace->n_skipped)
    hr__say(&note, " %s rows are left out: 'headroom trace check' lists the reasons.",
            hr__count_text(trace->n_skipped, jobs));
  if (!trace->limit_us)
    hr__say(&note, " No job has a time limit, so policies that need run times know the exact ones.");
  hr__draft_put_text(draft, scenario, "//trace", note.text);
  cJSON *object = hr__draft_put(draft, scenario, "trace", cJSON_CreateObject());
  hr__draft_put_text(draft, object, "file", config->file);
  if (config->format) hr__draft_put_text(draft, object, "format", config->format);
  put_columns(draft, object, "columns", NULL);
  put_columns(draft, object, "classes", "class");
  put_columns(draft, object, "tenants", "tenant");
  if (config->lenient) hr__draft_put(draft, object, "lenient", cJSON_CreateTrue());
}

static void say_gpu_types(struct hr__note *note, const struct hr__draft *draft) {
  const struct hr__draft_facts *facts = &draft->facts;
  uint32_t n_missing = 0;
  if (facts->n_types == 1 && !facts->types[0].name[0]) {
    hr__say(note, " No job names a GPU type: each runs on any pool.");
    return;
  }
  hr__say(note, " GPU types that jobs request: ");
  say_groups(note, draft, facts->types, facts->n_types, "any type");
  hr__say(note, ".");
  for (uint32_t i = 0; i < facts->n_types; i++) {
    const char *list = facts->types[i].name;
    if (hr__draft_own_has(draft, list) || hr__draft_offers_have(draft, list)) continue;
    hr__say(note, "%s%.60s", n_missing++ ? ", " : " No pool has ", list);
  }
  if (n_missing) hr__say(note, ": jobs that accept nothing else are rejected.");
}

static void put_cluster(struct hr__draft *draft, cJSON *scenario) {
  const struct hr__draft_facts *facts = &draft->facts;
  struct hr__note note = {0};
  hr__say(&note,
          "GPUs in use if no job had to wait: %.0f on average; at most %.0f for 95 %% and %.0f for 99 %% of the time.",
          facts->mean_gpus, facts->p95_gpus, facts->p99_gpus);
  say_gpu_types(&note, draft);
  hr__draft_say_mig(&note, draft);
  if (facts->n_shares)
    hr__say(&note,
            " %u job%s request%s shares of GPUs: pools have \"sharing\": \"fraction\" (docs/reference/sharing.md).",
            facts->n_shares, hr__plural(facts->n_shares), hr__counted(facts->n_shares, "s", ""));
  hr__draft_put_text(draft, scenario, "//cluster", note.text);
  hr__draft_put_pools(draft, hr__draft_put(draft, scenario, "cluster", cJSON_CreateObject()));
}

/* Adds the comment on classes. If the provider sells spot nodes, also adds `classes`: interactive jobs and services do
   not use spot nodes. Besides "default", only classes that the trace has are listed. */
static void put_classes(struct hr__draft *draft, cJSON *scenario) {
  const struct hr__draft_facts *facts = &draft->facts;
  static const char *const steady[] = {"interactive", "inference"};
  bool known = facts->n_classes > 1 || facts->classes[0].name[0];
  struct hr__note note = {0};
  if (known) {
    hr__say(&note, "Classes of the jobs: ");
    say_groups(&note, draft, facts->classes, facts->n_classes, "without class");
    hr__say(&note, ".");
  } else {
    hr__say(&note, "No job has a class. Goals for interactive or training jobs need classes: patterns for a column of "
                   "the trace, such as \"trace\": {\"classes\": {\"interactive\": \"JobName~^jupyter\"}}.");
  }
  if (draft->sells_spot)
    hr__say(&note,
            " Assumed: a job that loses its spot nodes starts again from the beginning. If jobs write checkpoints, add "
            "\"checkpoint\": {\"policy\": \"interval\", \"interval_s\": 3600, \"write_s\": 60}.");
  hr__draft_put_text(draft, scenario, "//classes", note.text);
  if (!draft->sells_spot) return;
  cJSON *classes = hr__draft_put(draft, scenario, "classes", cJSON_CreateObject());
  for (size_t k = 0; k < sizeof steady / sizeof *steady; k++)
    for (uint32_t i = 0; i < facts->n_classes; i++) {
      if (strcmp(facts->classes[i].name, steady[k]) != 0) continue;
      cJSON *class_ = hr__draft_put(draft, classes, steady[k], cJSON_CreateObject());
      hr__draft_put(draft, class_, "spot", cJSON_CreateFalse());
    }
  cJSON *others = hr__draft_put(draft, classes, "default", cJSON_CreateObject());
  hr__draft_put_number(draft, others, "restart_s", 240);
}

static void put_tenants(struct hr__draft *draft, cJSON *scenario) {
  const struct hr__draft_facts *facts = &draft->facts;
  struct hr__note note = {0};
  if (facts->n_tenants == 0 || (facts->n_tenants == 1 && !facts->tenants[0].name[0])) return;
  hr__say(&note, "Tenants: ");
  say_groups(&note, draft, facts->tenants, facts->n_tenants, "without tenant");
  hr__say(&note,
          ". They have no quotas. For guaranteed GPUs: \"quotas\": {\"tenants\": [{\"tenant\": \"%.60s\", "
          "\"guaranteed_gpus\": 8}]}.",
          facts->tenants[0].name[0] ? facts->tenants[0].name : facts->tenants[1].name);
  hr__draft_put_text(draft, scenario, "//quotas", note.text);
}

static void put_policy(struct hr__draft *draft, cJSON *scenario) {
  hr__draft_put_text(
      draft, scenario, "//policy",
      "First come, first served with EASY backfill, as usual with Slurm. To try others: headroom compare "
      "FILE --policies fifo,sjf,conservative.");
  cJSON *policy = hr__draft_put(draft, scenario, "policy", cJSON_CreateObject());
  hr__draft_put_text(draft, policy, "name", "queue");
  hr__draft_put_text(draft, policy, "order", "fifo");
  hr__draft_put_text(draft, policy, "backfill", "easy");
  hr__draft_put_text(draft, policy, "placement", "best-fit");
  if (draft->n_offers) hr__draft_put_text(draft, policy, "market", draft->sells_spot ? "spot-first" : "on-demand-only");
}

/* ---- Guessed pools ---------------------------------------------------------------------------------- */

enum { MAX_POOLS = 16, MAX_TYPE_BYTES = 100 };

/* Returns the GPU type of the pool for a list of types. The first of these rules that yields a type applies:
   1. the type of the list with the MIG profiles that most jobs request. If several types have the same number of jobs:
      A100-80 if it is one of them, otherwise the first of them in the catalogue;
   2. of the types of the list, the last one in the catalogue;
   3. the list itself; if it is empty, A100-80. */
static const char *guess_type(const struct hr__draft *draft, const char *list) {
  const char *best = NULL;
  uint32_t most = 0;
  for (size_t i = 0; draft->facts.n_mig && i < draft->catalog->n_gpus; i++) {
    const char *gpu = draft->catalog->gpus[i].name;
    uint32_t n_jobs = hr__draft_list_has(draft, list, gpu) ? hr__draft_mig_jobs(draft, gpu) : 0;
    if (n_jobs > most || (n_jobs == most && n_jobs && strcmp(gpu, "A100-80") == 0)) best = gpu;
    if (n_jobs > most) most = n_jobs;
  }
  if (best) return best;
  for (size_t i = draft->catalog->n_gpus; list[0] && i-- > 0;)
    if (hr__draft_list_has(draft, list, draft->catalog->gpus[i].name)) return draft->catalog->gpus[i].name;
  return list[0] ? list : "A100-80";
}

static void add_pool(struct hr__draft *draft, const char *list) {
  struct hr__draft_owned *own = &draft->own[draft->n_own++];
  const char *gpu = guess_type(draft, list);
  size_t length = strcspn(gpu, "|");
  *own = (struct hr__draft_owned){.gpus = HR__DRAFT_NODE_GPUS};
  snprintf(own->gpu, sizeof own->gpu, "%.*s", (int)(length < MAX_TYPE_BYTES ? length : MAX_TYPE_BYTES), gpu);
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

/* Sets `pool_of[i]` to the first pool that accepts the list of types i; HR_NONE: no pool does. The last entry is for
   jobs without a type: the first pool. The only error is HR_NO_MEMORY. */
static enum hr_status assign(const struct hr__draft *draft, uint32_t *pool_of) {
  const struct hr_names *lists = &draft->config->trace->gpu_type_lists;
  struct hr_pool_spec pools[MAX_POOLS] = {0};
  const struct hr_cluster_spec cluster = {.pools = pools, .n_pools = (uint32_t)draft->n_own};
  uint8_t accepts[MAX_POOLS];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster.n_pools; i++) {
    pools[i] = (struct hr_pool_spec){.gpu = draft->own[i].gpu,
                                     .gpu_names = hr_catalog_gpu_names(draft->catalog, draft->own[i].gpu)};
    if (!pools[i].gpu_names) status = HR_NO_MEMORY;
  }
  for (uint32_t list = 0; list < lists->count && status == HR_OK; list++) {
    hr__gpu_names_select(&cluster, lists->text[list], accepts);
    pool_of[list] = HR_NONE;
    for (uint32_t i = cluster.n_pools; i-- > 0;)
      if (accepts[i]) pool_of[list] = i;
  }
  pool_of[lists->count] = 0;
  for (uint32_t i = 0; i < cluster.n_pools; i++) free(pools[i].gpu_names);
  return status;
}

/* Returns the maximum number of nodes that a job of a pool needs. A task runs on one node if it fits on one. */
static uint32_t nodes_of_largest(const struct hr_trace *trace, const uint32_t *pool_of, uint32_t pool) {
  uint32_t most = 1;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    bool is_typed = trace->gpu_types && trace->gpu_types[job] != HR_NONE;
    uint32_t gpus = trace->gpus[job], tasks = trace->tasks ? trace->tasks[job] : 1, of_node = HR__DRAFT_NODE_GPUS;
    if (!gpus || !tasks || pool_of[is_typed ? trace->gpu_types[job] : trace->gpu_type_lists.count] != pool) continue;
    uint32_t of_task = (gpus + tasks - 1) / tasks;
    if (of_task <= of_node) of_node = of_node / of_task * of_task;
    uint32_t nodes = hr__draft_nodes_for(gpus, of_node, 1);
    if (nodes > most) most = nodes;
  }
  return most;
}

static enum hr_status guess_own(struct hr__draft *draft) {
  const struct hr_trace *trace = draft->config->trace;
  const struct hr__draft_facts *facts = &draft->facts;
  struct hr__draft_owned *own = calloc((size_t)2 * MAX_POOLS + 2, sizeof *own); /* each pool may be divided */
  uint32_t *pool_of = malloc(((size_t)trace->gpu_type_lists.count + 1) * sizeof *pool_of);
  enum hr_status status = own && pool_of ? HR_OK : HR_NO_MEMORY;
  if (own) {
    free(draft->own);
    draft->own = own;
  }
  for (uint32_t i = 0; i < facts->n_types && draft->n_own < MAX_POOLS && status == HR_OK; i++)
    if (facts->types[i].name[0] && !hr__draft_own_has(draft, facts->types[i].name))
      add_pool(draft, facts->types[i].name);
  if (draft->n_own == 0 && status == HR_OK) add_pool(draft, "");
  if (status == HR_OK) status = assign(draft, pool_of);
  for (uint32_t i = 0; i < draft->n_own && status == HR_OK; i++) {
    struct hr__draft_facts of_pool = {0};
    status = draft_demand(trace, draft->n_own > 1 ? pool_of : NULL, i, &of_pool);
    draft->own[i].nodes =
        hr__draft_nodes_for(of_pool.p95_gpus, HR__DRAFT_NODE_GPUS, nodes_of_largest(trace, pool_of, i));
    hr__draft_name_own(draft, i, draft->n_own);
  }
  free(pool_of);
  return status == HR_OK ? HR_OK : hr_fail(draft->error, status, "out of memory");
}

/* ---- The draft -------------------------------------------------------------------------------------- */

static enum hr_status prepare(struct hr__draft *draft) {
  enum hr_status status = hr_catalog_load(NULL, &draft->catalog, draft->error);
  if (status == HR_OK) status = check_rules(draft);
  if (status == HR_OK) status = hr__draft_read_own(draft);
  if (status == HR_OK) status = hr__draft_read_cloud(draft);
  if (status == HR_OK && draft_facts_make(draft->config->trace, &draft->facts) != HR_OK)
    status = hr_fail(draft->error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK && !draft->config->cloud && draft->n_own == 0) status = guess_own(draft);
  if (status == HR_OK) status = hr__draft_put_mig(draft);
  if (status == HR_OK && draft->config->cloud) status = hr__draft_find_offers(draft);
  return status;
}

static char *write_json(struct hr__draft *draft) {
  cJSON *scenario = cJSON_CreateObject();
  put_head(draft, scenario);
  put_trace(draft, scenario);
  put_cluster(draft, scenario);
  put_classes(draft, scenario);
  put_tenants(draft, scenario);
  put_policy(draft, scenario);
  hr__draft_put_plan(draft, scenario);
  hr__draft_put_number(draft, scenario, "seed", 1);
  char *text = draft->no_memory ? NULL : hr__json_pretty(scenario);
  cJSON_Delete(scenario);
  return text;
}

enum hr_status hr_scenario_draft(const struct hr_draft_config *config, char **json, struct hr_error *error) {
  struct hr__draft draft = {.config = config, .error = error};
  *json = NULL;
  enum hr_status status = prepare(&draft);
  if (status == HR_OK) *json = write_json(&draft);
  if (status == HR_OK && !*json) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  draft_facts_finish(&draft.facts);
  hr_catalog_destroy(draft.catalog);
  free(draft.own);
  return status;
}
