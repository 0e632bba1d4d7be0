/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes and warnings about a run, and the count of rejected jobs by reason.
 *
 * Most rejected jobs could not run even on the empty cluster. This does not depend on other jobs, so the number of
 * these jobs can also be computed without a run. The count omits jobs that were withdrawn or that are not requeued. The
 * warning about rejected jobs contains remedies.
 */

#include "report/metrics/metrics.h"

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/series.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_BYTES = 400, MAX_TYPES = 5, MEANT_BYTES = 120 };

/* Sets `error` if notes could not be made, and returns `status`. */
static enum hr_status noted(enum hr_status status, struct hr_error *error) {
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- Rejected jobs: counting ----------------------------------------------------------------------- */

static void count(struct hr_rejections *rejections, unsigned reason) {
  rejections->n_rejected++;
  if (reason < HR_MAX_REASONS) rejections->by_reason[reason]++;
}

void hr_rejections_of(const struct hr_result *result, struct hr_rejections *rejections) {
  *rejections = (struct hr_rejections){.n_jobs = result->n_submitted};
  for (uint32_t job = 0; job < result->n_jobs && result->n_rejected > 0; job++)
    if (result->state[job] == HR_JOB_REJECTED && result->reason[job] != HR_REASON_WITHDRAWN &&
        result->reason[job] != HR_REASON_REQUEUES)
      count(rejections, result->reason[job]);
}

/* The results of `has_queue`. All jobs with the same queue and tenant have the same result, so the function is called
   once for each pair of queue and tenant. */
struct known_queues {
  bool (*has_queue)(const void *self, hr_job job);
  const void *self;
  const struct hr_trace *trace;
  struct hr_arena *arena;
  struct hr__pair_map answers; /* by queue and tenant: 1 if the queue exists, otherwise 0 */
};

static bool has_known_queue(struct known_queues *known, uint32_t job, enum hr_status *status) {
  const struct hr_trace *trace = known->trace;
  const struct hr__pair names = {trace->queue ? trace->queue[job] : HR_NONE,
                                 trace->tenant ? trace->tenant[job] : HR_NONE};
  uint32_t answer = hr__pair_map_find(&known->answers, names);
  if (answer != HR_NONE) return answer;
  answer = known->has_queue(known->self, (hr_job){job});
  if (!hr__pair_map_add(&known->answers, known->arena, names, answer)) *status = HR_NO_MEMORY;
  return answer;
}

enum hr_status hr_rejections_predict(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     const uint32_t *usable_nodes, const struct hr_class_spec *classes,
                                     const struct hr_speeds *speeds, bool (*has_queue)(const void *self, hr_job job),
                                     const void *self, struct hr_rejections *rejections, struct hr_error *error) {
  struct hr_arena arena = {0};
  struct hr__speed_table table;
  struct hr_cluster state;
  struct known_queues queues = {.has_queue = has_queue, .self = self, .trace = trace, .arena = &arena};
  *rejections = (struct hr_rejections){.n_jobs = trace->n_jobs};
  enum hr_status status = hr__speeds_init(&table, &arena, speeds, cluster, trace);
  if (status == HR_OK) status = hr__cluster_init(&state, &arena, cluster, trace, classes, &table);
  for (uint32_t i = 0; usable_nodes && i < cluster->n_pools && status == HR_OK; i++)
    state.pools[i].usable_nodes = usable_nodes[i];
  for (uint32_t job = 0; job < trace->n_jobs && status == HR_OK; job++) {
    enum hr_reason reason = hr__cluster_never_fits(&state, (hr_job){job});
    if (reason == HR_REASON_NONE && has_queue && !has_known_queue(&queues, job, &status)) reason = HR_REASON_NO_QUEUE;
    if (reason != HR_REASON_NONE) count(rejections, reason);
  }
  hr__arena_finish(&arena);
  return noted(status, error);
}

bool hr_rejections_are_many(const struct hr_rejections *rejections) {
  return rejections->n_rejected * 100 > rejections->n_jobs;
}

/* ---- Rejected jobs: GPU types that no pool has ----------------------------------------------------- */

/* The result of the search for a list of GPU types that no pool has. */
enum verdict {
  NO_MATCH,     /* nothing is similar */
  IS_A_TYPE,    /* the catalogue has the type */
  IS_OF_FAMILY, /* the catalogue has the type; `family`, the type of a pool, means several types including this one */
  IS_MISSPELT,  /* `nearest` is probably meant */
  IS_NEAR,      /* `nearest` is similar, but may be another product */
};

struct unknown_types {
  const char *list;
  uint64_t n_jobs;
  enum verdict verdict;
  char nearest[MEANT_BYTES]; /* the most similar name; if the catalogue has the type, the name of the type */
  const char *family;
};

/* The names with which an unknown GPU type is compared: the types of the pools, then the names of the catalogue. */
struct vocabulary {
  const char **pools; /* types of the pools, NULL-terminated */
  char *text;         /* copy of hr_cluster_spec.gpu_vocabulary, split into NUL-terminated texts */
  const char **names; /* types of the pools and names of the catalogue, NULL-terminated */
  const char **types; /* by index in `names`: the type that the name means; NULL for the types of the pools */
  bool has_catalogue;
};

static bool is_known(const char *name, const char *const *known, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcasecmp(known[i], name) == 0) return true;
  return false;
}

/* Returns the GPU types of the pools, NULL-terminated. If `used` is set, pools without nodes are ignored. Returns NULL
   if memory is exhausted. The caller frees the list. */
static const char **types_of(const struct hr_cluster_spec *cluster, bool used) {
  const char **types = calloc((size_t)cluster->n_pools + 1, sizeof *types);
  size_t n = 0;
  for (uint32_t i = 0; types && i < cluster->n_pools; i++)
    if ((cluster->pools[i].nodes || !used) && !is_known(cluster->pools[i].gpu, types, n))
      types[n++] = cluster->pools[i].gpu;
  return types;
}

/* For each list of GPU types, returns the number of jobs that request GPUs of the list. Returns NULL if memory is
   exhausted. The caller frees the array. */
static uint64_t *count_lists(const struct hr_trace *trace) {
  uint64_t *jobs = calloc((size_t)trace->gpu_type_lists.count + 1, sizeof *jobs);
  for (uint32_t job = 0; jobs && trace->gpu_types && job < trace->n_jobs; job++)
    if (trace->gpu_types[job] != HR_NONE && trace->gpus[job] > 0) jobs[trace->gpu_types[job]]++;
  return jobs;
}

static bool selects_none(const struct hr_cluster_spec *cluster, const char *list, bool used, uint8_t *set) {
  hr__gpu_names_select(cluster, list, set);
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (set[i] && (cluster->pools[i].nodes || !used)) return false;
  return true;
}

static void vocabulary_finish(struct vocabulary *words) {
  free(words->pools);
  free(words->text);
  free(words->names);
  free(words->types);
}

/* Splits words->text, which has the form "NAME=TYPE|NAME=TYPE". Stores the names and types from index `count` on. */
static void append_catalogue(struct vocabulary *words, size_t count) {
  for (char *at = words->text, *end; at && *at; at = end) {
    end = at + strcspn(at, "|");
    if (*end) *end++ = '\0';
    char *type = strchr(at, '=');
    if (!type) continue;
    *type++ = '\0';
    words->names[count] = at;
    words->types[count++] = type;
  }
}

/* Initializes a vocabulary. If `used` is set, pools without nodes are ignored. */
static enum hr_status vocabulary_init(struct vocabulary *words, const struct hr_cluster_spec *cluster, bool used) {
  const char *text = cluster->gpu_vocabulary;
  size_t count = (size_t)cluster->n_pools + 2, n_pools = 0;
  for (const char *at = text; at && *at; at++) count += *at == '|';
  *words = (struct vocabulary){.pools = types_of(cluster, used),
                               .text = text ? strdup(text) : NULL,
                               .names = calloc(count, sizeof *words->names),
                               .types = calloc(count, sizeof *words->types),
                               .has_catalogue = text != NULL};
  if (!words->pools || (text && !words->text) || !words->names || !words->types) {
    vocabulary_finish(words);
    return HR_NO_MEMORY;
  }
  for (; words->pools[n_pools]; n_pools++) words->names[n_pools] = words->pools[n_pools];
  append_catalogue(words, n_pools);
  return HR_OK;
}

/* Writes the types of the catalogue that a name may mean, such as "A100-40 or A100-80". Returns false if there are
   none. */
static bool find_meant(const struct vocabulary *words, const char *name, size_t length, char meant[MEANT_BYTES]) {
  char key[HR__GPU_KEY_BYTES], other[HR__GPU_KEY_BYTES];
  const char *last = NULL;
  size_t used = 0;
  meant[0] = '\0';
  if (!hr__gpu_name_key(name, length, key)) return false;
  for (size_t i = 0; words->names[i]; i++) {
    const char *type = words->types[i];
    if (!type || (last && strcmp(last, type) == 0)) continue;
    hr__gpu_name_key(words->names[i], strlen(words->names[i]), other);
    if (strcmp(key, other) != 0) continue;
    bool is_itself = strlen(type) == length && strncasecmp(type, name, length) == 0;
    if (is_itself) used = 0;
    if (used + 1 < MEANT_BYTES)
      used += (size_t)snprintf(meant + used, MEANT_BYTES - used, "%s%.40s", used ? " or " : "", type);
    if (is_itself) return true;
    last = type;
  }
  return used > 0;
}

/* Returns the type of a pool that means several types of the catalogue, such as "a100", if `meant` is one of them.
   Returns NULL if no pool has such a type. */
static const char *find_family(const struct vocabulary *words, const char *meant) {
  char types[MEANT_BYTES];
  for (size_t i = 0; words->pools[i]; i++)
    if (find_meant(words, words->pools[i], strlen(words->pools[i]), types) && strstr(types, " or ") &&
        strstr(types, meant))
      return words->pools[i];
  return NULL;
}

/* Searches the catalogue for the names of a list, which are separated by '|', and sets the verdict. If the catalogue
   has one of the names, the verdict is about the first such name. Otherwise it is about the first name that is similar
   to a known name. */
static void judge(const struct vocabulary *words, struct unknown_types *unknown) {
  bool same_model;
  unknown->verdict = NO_MATCH;
  for (const char *name = unknown->list;; name++) {
    size_t length = strcspn(name, "|");
    if (find_meant(words, name, length, unknown->nearest)) {
      unknown->family = find_family(words, unknown->nearest);
      unknown->verdict = unknown->family ? IS_OF_FAMILY : IS_A_TYPE;
      return;
    }
    name += length;
    if (!*name) break;
  }
  for (const char *name = unknown->list;; name++) {
    size_t length = strcspn(name, "|");
    const char *nearest = hr__gpu_name_nearest(name, length, words->names, &same_model);
    if (nearest) {
      unknown->verdict = same_model ? IS_MISSPELT : IS_NEAR;
      snprintf(unknown->nearest, MEANT_BYTES, "%.60s", nearest);
      return;
    }
    name += length;
    if (!*name) return;
  }
}

/* Finds the lists of types that no pool has. Stores the MAX_TYPES most frequent ones, most frequent first. Returns the
   number of all such lists; -1 if memory is exhausted. If `used` is set, pools without nodes are ignored. */
static int find_unknown(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                        const struct vocabulary *words, bool used, struct unknown_types *unknown) {
  uint8_t *set = malloc((size_t)cluster->n_pools + 1);
  uint64_t *jobs = count_lists(trace);
  int found = set && jobs ? 0 : -1;
  for (uint32_t list = 0; found >= 0 && list < trace->gpu_type_lists.count; list++) {
    const char *text = trace->gpu_type_lists.text[list];
    uint64_t n_jobs = jobs[list];
    if (!n_jobs || !selects_none(cluster, text, used, set)) continue;
    int at = found < MAX_TYPES ? found : MAX_TYPES;
    found++;
    while (at > 0 && unknown[at - 1].n_jobs < n_jobs) {
      if (at < MAX_TYPES) unknown[at] = unknown[at - 1];
      at--;
    }
    if (at < MAX_TYPES) unknown[at] = (struct unknown_types){.list = text, .n_jobs = n_jobs};
  }
  for (int i = 0; i < found && i < MAX_TYPES; i++) judge(words, &unknown[i]);
  free(set);
  free(jobs);
  return found;
}

static void list_types(const char *const *types, char text[NAMES_BYTES]) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; types[i] && used + 60 < NAMES_BYTES; i++)
    used += (size_t)snprintf(text + used, NAMES_BYTES - used, "%s%.40s", i ? ", " : "", types[i]);
}

/* Writes `before` and the verdict on a list of requested types. Writes an empty text if the verdict adds no
   information, for example if the list is the name of a type of the catalogue. */
static void describe(const struct vocabulary *words, const struct unknown_types *unknown, const char *before,
                     char text[NAMES_BYTES]) {
  const char *nearest = unknown->nearest, *list = unknown->list;
  text[0] = '\0';
  if (unknown->verdict == IS_A_TYPE && strcasecmp(list, nearest) != 0)
    snprintf(text, NAMES_BYTES, "%sthis is %s", before, nearest);
  else if (unknown->verdict == IS_OF_FAMILY)
    snprintf(text, NAMES_BYTES, "%sthis is %s; a pool has '%.40s', which means several types: write %s", before,
             nearest, unknown->family, nearest);
  else if (unknown->verdict == IS_MISSPELT)
    snprintf(text, NAMES_BYTES, "%sdid you mean '%s'?", before, nearest);
  else if (unknown->verdict == IS_NEAR)
    snprintf(text, NAMES_BYTES, "%s%snearest: '%s'", before,
             words->has_catalogue ? "the catalogue has no such type; " : "", nearest);
  else if (unknown->verdict == NO_MATCH && words->has_catalogue)
    snprintf(text, NAMES_BYTES, "%sthe catalogue has no '%.60s'", before, list);
}

static const char add_pool[] = "add a pool of this type, or let these jobs accept other types";

enum hr_status hr_gpu_type_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                 struct hr_notes *notes, struct hr_error *error) {
  struct unknown_types unknown[MAX_TYPES];
  struct vocabulary words;
  char have[NAMES_BYTES], known[NAMES_BYTES];
  enum hr_status status = vocabulary_init(&words, cluster, false);
  if (status != HR_OK) return hr_fail(error, status, "out of memory");
  int found = find_unknown(trace, cluster, &words, false, unknown);
  if (found < 0) status = HR_NO_MEMORY;
  if (found > 0) list_types(words.pools, have);
  for (int i = 0; i < found && i < MAX_TYPES && status == HR_OK; i++) {
    bool is_type = unknown[i].verdict == IS_A_TYPE;
    describe(&words, &unknown[i], "; ", known);
    status = hr_notes_add(notes, "warning: %" PRIu64 " job%s GPU type '%.60s', which no pool has (pools: %s)%s%s%s",
                          unknown[i].n_jobs, unknown[i].n_jobs == 1 ? " requests" : "s request", unknown[i].list, have,
                          known, is_type ? "; " : "", is_type ? add_pool : "");
  }
  if (found > MAX_TYPES && status == HR_OK)
    status = hr_notes_add(notes, "warning: no pool has %d other requested GPU types", found - MAX_TYPES);
  vocabulary_finish(&words);
  return noted(status, error);
}

/* ---- Rejected jobs: the warning -------------------------------------------------------------------- */

/* Returns what users can do about rejections for a reason. */
static const char *remedy(enum hr_reason reason) {
  switch (reason) {
  case HR_REASON_TOO_LARGE:
    return "add nodes to the pool, or remove these jobs from the trace";
  case HR_REASON_NO_GPU_TYPE:
    return "set the pool's 'gpu' to the requested type, or add the name to a 'catalog.gpu_names_file'";
  case HR_REASON_SPOT_ONLY:
    return "add a pool that is not spot, set 'spot' of the class to true, or let the policy use spot nodes ('market', "
           "'max_spot_share')";
  case HR_REASON_NO_REGION:
    return "set the pool's 'region' to a requested one";
  case HR_REASON_NO_CLASS_POOL:
    return "add the class to the pool's 'classes'";
  case HR_REASON_OVER_QUOTA:
    return "raise the tenant's quota ('quotas', or the queues in the section of a modelled scheduler); under 'kueue', "
           "every requested resource, also CPU and memory, needs a quota or is in 'excluded_resources'";
  case HR_REASON_NO_QUEUE:
    return "name the queue in the scheduler's section of the scenario, or set its default queue";
  case HR_REASON_GPU_MEMORY:
    return "add a pool of GPUs with more memory, or set 'gpu_mem_gb' of the pool";
  case HR_REASON_NODE_TOO_SMALL:
    return "compare the pool's GPUs, CPUs and memory per node with the requests of the tasks";
  case HR_REASON_MIG_PROFILE:
    return "add a pool with 'sharing' 'mig' and a layout that has the profile, or set 'cluster.mig_fallback' to true";
  case HR_REASON_ONLY_MIG:
    return "add a pool without MIG, or set 'cluster.mig_fallback' to true";
  case HR_REASON_NO_GROUP:
    return "enlarge the racks or zones of the pool's 'topology', or relax 'within'";
  default:
    return "see the policy's parameters";
  }
}

/* Writes "; requested: a100 (120 jobs), h20 (3 jobs); pools have A100-80", and the remedy. */
static void warn_of_types(FILE *out, const struct hr_trace *trace, const struct hr_cluster_spec *cluster) {
  struct unknown_types unknown[MAX_TYPES];
  struct vocabulary words;
  char text[NAMES_BYTES];
  bool is_any_type = false, are_all_types = true;
  if (vocabulary_init(&words, cluster, true) != HR_OK) {
    fprintf(out, "; remedy: %s\n", remedy(HR_REASON_NO_GPU_TYPE));
    return;
  }
  int found = find_unknown(trace, cluster, &words, true, unknown);
  for (int i = 0; i < found && i < MAX_TYPES; i++) {
    describe(&words, &unknown[i], "; ", text);
    fputs(i ? ", '" : "; requested: '", out);
    hr_print_safe(out, unknown[i].list, 60);
    fprintf(out, "' (%" PRIu64 " job%s", unknown[i].n_jobs, hr__plural(unknown[i].n_jobs));
    hr_print_safe(out, text, SIZE_MAX);
    fputc(')', out);
    is_any_type = is_any_type || unknown[i].verdict == IS_A_TYPE;
    are_all_types = are_all_types && unknown[i].verdict == IS_A_TYPE;
  }
  if (found > 0) {
    list_types(words.pools, text);
    fprintf(out, "%s; pools have ", found > MAX_TYPES ? ", ..." : "");
    hr_print_safe(out, text, SIZE_MAX);
  }
  vocabulary_finish(&words);
  fprintf(out, "; remedy: %s%s%s\n", is_any_type ? add_pool : "",
          is_any_type && !are_all_types ? "; for a name that the catalogue does not have: " : "",
          is_any_type && are_all_types ? "" : remedy(HR_REASON_NO_GPU_TYPE));
}

void hr_rejections_warn(FILE *out, const struct hr_rejections *rejections, const struct hr_trace *trace,
                        const struct hr_cluster_spec *cluster) {
  if (!hr_rejections_are_many(rejections)) return;
  uint64_t n = rejections->n_rejected;
  fprintf(out, "warning: %" PRIu64 " of %" PRIu64 " jobs (%.1f %%) can never run and %s rejected; %s\n", n,
          rejections->n_jobs, 100.0 * (double)n / (double)rejections->n_jobs, n == 1 ? "is" : "are",
          n < rejections->n_jobs ? "results cover only the other jobs" : "there are no results");
  for (unsigned reason = 0; reason < HR_MAX_REASONS; reason++) {
    uint64_t jobs = rejections->by_reason[reason];
    if (!jobs) continue;
    fprintf(out, "warning: %s, %" PRIu64 " job%s: %s", hr_reason_name((enum hr_reason)reason), jobs, hr__plural(jobs),
            hr_rejection_words((enum hr_reason)reason));
    if (reason == HR_REASON_NO_GPU_TYPE)
      warn_of_types(out, trace, cluster);
    else
      fprintf(out, "; remedy: %s\n", remedy((enum hr_reason)reason));
  }
}

/* ---- Notes ----------------------------------------------------------------------------------------- */

/* Notes on stalled runs, rejected jobs, budgets and quotas of tenants without jobs, models without speeds, jobs with an
   unknown network speed, and series of carbon intensities and prices. */

/* Returns the unfinished job that was started most often. */
static hr_job most_started(const struct hr_result *result) {
  uint32_t most = 0;
  hr_job found = {HR_NONE};
  for (uint32_t job = 0; job < result->n_jobs && result->account; job++) {
    if (result->state[job] != HR_JOB_RUNNING && result->state[job] != HR_JOB_WAITING) continue;
    uint32_t attempts = hr_result_accounting(result, (hr_job){job}).attempts;
    if (attempts > most) found.id = job;
    if (attempts > most) most = attempts;
  }
  return found;
}

/* Adds a warning that jobs preempted each other until the end of the run. */
static enum hr_status note_livelock(const struct hr_trace *trace, const struct hr_result *result,
                                    struct hr_notes *notes) {
  char example[2 * HR_JOB_ID_BUFFER + 64] = "", buffer[HR_JOB_ID_BUFFER];
  hr_job job = most_started(result);
  if (job.id != HR_NONE)
    snprintf(example, sizeof example, ", for example of job '%s', which was started %" PRIu32 " times",
             hr_trace_job_id(trace, job, buffer), hr_result_accounting(result, job).attempts);
  return hr_notes_add(notes,
                      "warning: at the end of the run, jobs only preempted each other%s: %" PRIu64
                      " preemptions, after which no job has ended and no work was saved%s; remedy: change the rules of "
                      "preemption (in Volcano, '\"disable\": [\"preemptable\"]' for the plug-ins drf and gang, as in "
                      "its default installation), or use checkpoints",
                      result->stalled ? ", and the run was stopped" : "", result->n_futile, example);
}

/* Adds a warning if jobs only preempted each other at the end of the run, or if the run was stopped because no job made
   progress. */
static enum hr_status note_stalled(const struct hr_trace *trace, const struct hr_result *result,
                                   struct hr_notes *notes) {
  uint64_t left = result->n_waiting + result->n_running;
  if (result->n_futile) return note_livelock(trace, result, notes);
  if (!result->stalled) return HR_OK;
  const int64_t end_s = result->end_us / HR_SECOND_US;
  const bool is_long = end_s >= 86400;
  return hr_notes_add(notes,
                      "warning: the run was stopped after %" PRId64 " %s with %" PRIu64
                      " unfinished job%s: no job ended and no work was saved for a year; set 'horizon_s' to end a run "
                      "earlier",
                      is_long ? end_s / 86400 : end_s, is_long ? "days" : "s", left, hr__plural(left));
}

/* Adds a warning if jobs that run at the end of a stalled run have run out of GPU memory. An example is a gang with all
   its tasks on one GPU: it runs out of memory at every start. */
static enum hr_status note_kills(const struct hr_result *result, struct hr_notes *notes) {
  uint64_t dead = 0;
  if (!result->stalled) return HR_OK;
  for (uint32_t job = 0; job < result->n_jobs; job++)
    dead += result->state[job] == HR_JOB_RUNNING && result->account &&
            hr_result_accounting(result, (hr_job){job}).oom_kills > 0;
  if (dead == 0) return HR_OK;
  return hr_notes_add(notes,
                      "warning: %" PRIu64
                      " job%s ran out of GPU memory until the run ended, next to other jobs or with several "
                      "tasks on one GPU; set the pool's \"memory\" to \"reserved\" to guarantee requested memory",
                      dead, hr__plural(dead));
}

/* ---- Notes: rejections ----------------------------------------------------------------------------- */

/* Reasons for rejections, in the order of the notes. */
static const enum hr_reason reasons[] = {HR_REASON_TOO_LARGE,  HR_REASON_NO_GPU_TYPE,    HR_REASON_GPU_MEMORY,
                                         HR_REASON_NO_REGION,  HR_REASON_NO_CLASS_POOL,  HR_REASON_SPOT_ONLY,
                                         HR_REASON_OVER_QUOTA, HR_REASON_NODE_TOO_SMALL, HR_REASON_MIG_PROFILE,
                                         HR_REASON_ONLY_MIG,   HR_REASON_NO_GROUP,       HR_REASON_NO_QUEUE,
                                         HR_REASON_REQUEUES,   HR_REASON_POLICY};

void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason) {
  struct hr__rejected *rejected = &rejections->of[reason];
  char buffer[HR_JOB_ID_BUFFER];
  uint32_t n_ids = rejected->count < HR__MAX_REJECTED_IDS ? (uint32_t)rejected->count : HR__MAX_REJECTED_IDS, at = 0;
  rejected->count++;
  while (at < n_ids && rejected->first[at].id < job.id) at++;
  if (at == HR__MAX_REJECTED_IDS) return;
  for (uint32_t i = n_ids < HR__MAX_REJECTED_IDS ? n_ids : n_ids - 1; i > at; i--) {
    rejected->first[i] = rejected->first[i - 1];
    memcpy(rejected->id[i], rejected->id[i - 1], HR__REJECTED_ID_BYTES);
  }
  rejected->first[at] = job;
  snprintf(rejected->id[at], HR__REJECTED_ID_BYTES, "%s", hr_trace_job_id(trace, job, buffer));
}

static enum hr_status note_rejected(const struct hr__rejected *rejected, enum hr_reason reason,
                                    struct hr_notes *notes) {
  uint64_t count = rejected->count;
  char ids[HR__MAX_REJECTED_IDS * (HR__REJECTED_ID_BYTES + 2)] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count && i < HR__MAX_REJECTED_IDS; i++)
    used += (size_t)snprintf(ids + used, sizeof ids - used, "%s%s", i ? ", " : "", rejected->id[i]);
  if (count == 0) return HR_OK;
  /* jobs that are not requeued have already run; jobs with any other reason have not */
  const char *what =
      reason == HR_REASON_REQUEUES ? "was stopped and is not requeued:" : "can never run and was rejected:";
  const char *plural =
      reason == HR_REASON_REQUEUES ? "s were stopped and are not requeued:" : "s can never run and were rejected:";
  return hr_notes_add(notes, "%" PRIu64 " job%s%s %s%s (%s: %s)", count, count == 1 ? " " : "",
                      count == 1 ? what : plural, ids, count > HR__MAX_REJECTED_IDS ? ", ..." : "",
                      hr_reason_name(reason), hr_rejection_words(reason));
}

enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons && status == HR_OK; i++)
    status = note_rejected(&rejections->of[reasons[i]], reasons[i], notes);
  return status;
}

/* Adds the notes on rejected jobs. In a streamed run, the result has no rejected jobs; hr_streamed_notes() adds their
   notes. */
static enum hr_status note_all_rejected(const struct hr_trace *trace, const struct hr_result *result,
                                        struct hr_notes *notes) {
  struct hr__rejections rejections = {0};
  for (uint32_t job = 0; job < result->n_jobs && result->n_rejected > 0; job++)
    if (result->state[job] == HR_JOB_REJECTED)
      hr__rejections_add(&rejections, trace, (hr_job){job}, (enum hr_reason)result->reason[job]);
  return hr__rejections_note(&rejections, notes);
}

/* ---- Notes: notes of a run ------------------------------------------------------------------------- */

static bool has_name(const struct hr_names *names, const char *name) {
  for (uint32_t i = 0; i < names->count; i++)
    if (strcmp(names->text[i], name) == 0) return true;
  return false;
}

/* Adds a note on a tenant of the scenario that has no jobs in the trace. The note suggests the most similar name among
   `others`. */
static enum hr_status note_tenant(const char *what, const char *name, const char *const *others,
                                  struct hr_notes *notes) {
  const char *nearest = hr_nearest_word(name, others);
  for (size_t i = 0; others[i] && !nearest; i++)
    if (strncmp(others[i], name, strlen(name)) == 0) nearest = others[i];
  return hr_notes_add(notes, "%s of tenant '%s': the trace has no job of this tenant%s%s%s", what, name,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Adds notes on the `count` tenants with a budget or quota that have no jobs in the trace. Only tenants of the trace
   without a budget or quota are suggested. */
static enum hr_status note_limited(const struct hr_trace *trace, const char *what, const char **limited, uint32_t count,
                                   struct hr_notes *notes) {
  const struct hr_names names = {.text = limited, .count = count};
  const char **others = calloc((size_t)trace->tenants.count + 1, sizeof *others);
  enum hr_status status = others ? HR_OK : HR_NO_MEMORY;
  size_t n_others = 0;
  for (uint32_t i = 0; others && i < trace->tenants.count; i++)
    if (!has_name(&names, trace->tenants.text[i])) others[n_others++] = trace->tenants.text[i];
  for (uint32_t i = 0; i < count && status == HR_OK; i++)
    if (!has_name(&trace->tenants, limited[i])) status = note_tenant(what, limited[i], others, notes);
  free(others);
  return status;
}

static enum hr_status note_tenants(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                   const struct hr_quota_spec *quotas, struct hr_notes *notes) {
  const uint32_t n_budgets = (uint32_t)costs->n_budgets, n_nodes = quotas ? quotas->n_nodes : 0;
  const char **limited = calloc((size_t)n_budgets + n_nodes + 1, sizeof *limited);
  uint32_t count = 0;
  if (!limited) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_budgets; i++) limited[i] = costs->budgets[i].tenant;
  enum hr_status status = note_limited(trace, "budget", limited, n_budgets, notes);
  for (uint32_t i = 0; i < n_nodes; i++)
    if (quotas->nodes[i].is_tenant) limited[count++] = quotas->nodes[i].name;
  if (status == HR_OK) status = note_limited(trace, "quota", limited, count, notes);
  free(limited);
  return status;
}

enum hr_status hr_tenant_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                               const struct hr_quota_spec *quotas, struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = note_tenants(trace, costs, quotas, notes);
  return noted(status, error);
}

/* Adds a note if the trace contains jobs that had failed. Called only if nodes fail in the run. The recorded jobs may
   have failed because of node failures. Such failures are then counted twice. */
static enum hr_status note_recorded_failures(const struct hr_trace *trace, uint32_t n_jobs, struct hr_notes *notes) {
  uint64_t recorded = 0;
  for (uint32_t job = 0; trace->outcome && job < n_jobs; job++) recorded += trace->outcome[job] == HR_OUTCOME_FAILED;
  if (recorded == 0) return HR_OK;
  return hr_notes_add(notes,
                      "%" PRIu64
                      " job%s had failed when the trace was recorded, and the run adds failures of nodes: failures of "
                      "nodes that were recorded count twice; to replay only the trace, set "
                      "'cluster.faults.per_1000_node_days' to 0; to omit the failed jobs, set 'trace.failed' to 'drop'",
                      recorded, hr__plural(recorded));
}

enum hr_status hr_recorded_failure_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                         struct hr_notes *notes, struct hr_error *error) {
  bool fails = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_fault_spec *faults = cluster->pools[i].faults;
    fails = fails || (faults && faults->n_processes > 0 && cluster->pools[i].nodes > 0);
  }
  enum hr_status status = fails ? note_recorded_failures(trace, trace->n_jobs, notes) : HR_OK;
  return noted(status, error);
}

enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                            const struct hr_quota_spec *quotas, const struct hr_result *result, struct hr_notes *notes,
                            struct hr_error *error) {
  enum hr_status status = note_stalled(trace, result, notes);
  if (status == HR_OK) status = note_kills(result, notes);
  if (status == HR_OK) status = note_tenants(trace, costs, quotas, notes);
  if (status == HR_OK) status = note_all_rejected(trace, result, notes);
  uint64_t injected = 0;
  for (uint32_t i = 0; i < result->n_pools; i++) injected += result->pools[i].failures;
  if (status == HR_OK && injected) status = note_recorded_failures(trace, result->n_jobs, notes);
  return noted(status, error);
}

/* ---- Notes: speeds and interference ---------------------------------------------------------------- */

static bool has_speeds(const struct hr_speeds *speeds, const char *model) {
  for (uint32_t i = 0; i < speeds->n_rows; i++)
    if (strcmp(speeds->rows[i].model, model) == 0) return true;
  return false;
}

static uint32_t count_jobs(const struct hr_trace *trace, uint32_t model) {
  uint32_t count = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) count += (trace->model ? trace->model[job] : HR_NONE) == model;
  return count;
}

/* The interference pairs of a pool contain names of models. Returns the first of these names that is the model of no
   job; NULL if none exists. */
static const char *unknown_model(const struct hr_trace *trace, const struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < pool->n_pairs; i++) {
    if (!has_name(&trace->models, pool->pairs[i].model)) return pool->pairs[i].model;
    if (!has_name(&trace->models, pool->pairs[i].with)) return pool->pairs[i].with;
  }
  return NULL;
}

enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const char *unknown = unknown_model(trace, &cluster->pools[i]);
    if (unknown)
      status = hr_notes_add(notes, "pool '%.60s': interference_pairs has model '%.60s', but no job has this model",
                            cluster->pools[i].name, unknown);
  }
  return noted(status, error);
}

enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds, struct hr_notes *notes,
                              struct hr_error *error) {
  enum { MAX_NAMES = 5 };
  char names[MAX_NAMES * 64] = "";
  size_t used = 0;
  uint32_t n_models = 0, n_jobs = 0, n_without = speeds ? count_jobs(trace, HR_NONE) : 0;
  for (uint32_t i = 0; speeds && i < trace->models.count; i++) {
    if (has_speeds(speeds, trace->models.text[i])) continue;
    if (n_models++ < MAX_NAMES)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "", trace->models.text[i]);
    n_jobs += count_jobs(trace, i);
  }
  enum hr_status status = HR_OK;
  if (n_models)
    status = hr_notes_add(notes, "models: %" PRIu32 " job%s the default speed, since their models have no speeds: %s%s",
                          n_jobs, n_jobs == 1 ? " uses" : "s use", names, n_models > MAX_NAMES ? ", ..." : "");
  if (status == HR_OK && n_without)
    status = hr_notes_add(notes, "models: %" PRIu32 " job%s the default speed, since they have no model", n_without,
                          n_without == 1 ? " uses" : "s use");
  return noted(status, error);
}

/* ---- Notes: network speeds ------------------------------------------------------------------------- */

/* The GPU time of jobs on several nodes, and the part of it with unknown speed. */

struct hr_links {
  const struct hr_trace *trace;
  const struct hr_network_speeds *speeds;
  uint8_t *known;    /* [n_models + 1][HR_N_NETWORKS]: 0: not looked up, 1: unknown speed, 2: known speed */
  bool *is_missing;  /* [n_models + 1]: a job had an unknown speed; last entry: jobs without a model */
  hr_amount time_us; /* GPU time of jobs that communicate over a network: milli-GPUs x microseconds */
  /* part of `time_us` for which the network speed is unknown */
  hr_amount missing_us;
};

struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds) {
  size_t n_models = (size_t)trace->models.count + 1;
  struct hr_links *links = calloc(1, sizeof *links);
  if (!links) return NULL;
  links->trace = trace;
  links->speeds = speeds;
  links->known = calloc(n_models * HR_N_NETWORKS, sizeof *links->known);
  links->is_missing = calloc(n_models, sizeof *links->is_missing);
  if (links->known && links->is_missing) return links;
  hr_links_destroy(links);
  return NULL;
}

void hr_links_destroy(struct hr_links *links) {
  if (!links) return;
  free(links->known);
  free(links->is_missing);
  free(links);
}

static uint32_t model_of(const struct hr_trace *trace, hr_job job) {
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  return model == HR_NONE ? trace->models.count : model;
}

static bool has_speed(struct hr_links *links, uint32_t model, enum hr_network network) {
  uint8_t *known = &links->known[(size_t)model * HR_N_NETWORKS + network];
  const char *name = model < links->trace->models.count ? links->trace->models.text[model] : NULL;
  if (*known == 0) *known = hr_network_span_of(links->speeds, name, network).count ? 2 : 1;
  return *known == 2;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_links *links = self;
  if (!hr__releases(event->kind) || !event->placement || links->trace->gpus[event->job.id] < 2) return;
  enum hr_network network = hr_cluster_links(view->cluster, event->placement);
  if (network == HR_NETWORK_NONE) return;
  uint32_t model = model_of(links->trace, event->job);
  hr_amount time_us = (hr_amount)hr_placement_milli(event->placement, links->trace, event->job) *
                      (event->at_us - view->attempt_us[event->job.id]);
  links->time_us += time_us;
  if (has_speed(links, model, network)) return;
  links->missing_us += time_us;
  links->is_missing[model] = true;
}

struct hr_observer hr_links_observer(struct hr_links *links) {
  return (struct hr_observer){.self = links, .on_event = on_event};
}

enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error) {
  enum { LINKS_MAX_NAMES = 5 };
  char names[LINKS_MAX_NAMES * 64 + 32] = "";
  size_t used = 0;
  uint32_t n_models = 0, n_named = links->trace->models.count;
  if (links->missing_us == 0) return HR_OK;
  for (uint32_t i = 0; i < n_named; i++)
    if (links->is_missing[i] && n_models++ < LINKS_MAX_NAMES)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                               links->trace->models.text[i]);
  if (links->is_missing[n_named])
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", "jobs without a model");
  uint32_t tenths = (uint32_t)((links->missing_us * 1000 + links->time_us / 2) / links->time_us);
  enum hr_status status = hr_notes_add(notes,
                                       "network_speeds: %" PRIu32 ".%" PRIu32
                                       " %% of the GPU time of jobs that span a network has no speed "
                                       "and is assumed as fast as within a node: %s%s",
                                       tenths / 10, tenths % 10, names, n_models > LINKS_MAX_NAMES ? ", ..." : "");
  return noted(status, error);
}

/* ---- Notes: series of carbon intensities and prices ------------------------------------------------ */

/* Notes on runs that are not completely within a series, and on series that begin at different times. */

enum { DATE_BYTES = 64 };

/* A series of a pool. */
struct series_use {
  const struct hr_series *series;
  const char *pool, *key; /* the name of the pool, and the key in the scenario */
  const char *what;
  int64_t start_us;
};

/* Returns whether the pool has a series of prices (`price` is true) or of carbon intensities (`price` is false), and
   stores it in `*use`. A value that never changes is not a series. */
static bool find_use(const struct hr_pool_spec *pool, bool price, struct series_use *use) {
  const struct hr_electricity *known = pool->nodes > 0 ? pool->electricity : NULL;
  if (!known) return false;
  *use = (struct series_use){.series = price ? known->price : known->carbon,
                             .pool = pool->name ? pool->name : "",
                             .key = price ? "energy_price" : "carbon",
                             .what = price ? "energy price" : "carbon intensity",
                             .start_us = price ? known->price_start_us : known->carbon_start_us};
  return use->series && hr_series_end_us(use->series) != HR_NEVER_US;
}

/* Returns whether an earlier pool has the same series. The note on the series was then added for that pool. `price`:
   the series is one of prices, otherwise of carbon. */
static bool is_repeated(const struct hr_cluster_spec *cluster, uint32_t pool, bool price,
                        const struct series_use *use) {
  struct series_use other;
  for (uint32_t i = 0; i < pool; i++)
    if (find_use(&cluster->pools[i], price, &other) && other.series == use->series && other.start_us == use->start_us)
      return true;
  return false;
}

/* Writes a time in UTC, rounded down to a second. The date is computed from the number of days since 0000-03-01. If
   years begin in March, a leap day is the last day of its year (Hinnant, "chrono-compatible low-level date
   algorithms"). */
static const char *date_text(int64_t at_us, char text[DATE_BYTES]) {
  const int64_t day_us = INT64_C(86400) * HR_SECOND_US, days = at_us / day_us - (at_us % day_us < 0);
  const int64_t second = (at_us - days * day_us) / HR_SECOND_US, from_march = days + 719468;
  const int64_t era = (from_march >= 0 ? from_march : from_march - 146096) / 146097, day = from_march - era * 146097;
  const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  const int64_t of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  snprintf(text, DATE_BYTES, "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64 "Z",
           year + era * 400 + (month >= 10), month < 10 ? month + 3 : month - 9, of_year - (153 * month + 2) / 5 + 1,
           second / 3600, second / 60 % 60, second % 60);
  return text;
}

static int64_t overlap_us(int64_t from_us, int64_t to_us, int64_t begin_us, int64_t end_us) {
  if (from_us < begin_us) from_us = begin_us;
  if (to_us > end_us) to_us = end_us;
  return to_us > from_us ? to_us - from_us : 0;
}

/* Adds a note if the run begins before the series, or ends after it. */
static enum hr_status note_outside(const struct hr_trace *trace, const struct series_use *use, int64_t run_us,
                                   struct hr_notes *notes) {
  char from[DATE_BYTES], to[DATE_BYTES], first[DATE_BYTES], last[DATE_BYTES];
  const int64_t begin_us = hr_series_begin_us(use->series, use->start_us, trace), end_us = begin_us + run_us;
  const int64_t first_us = hr_series_first_us(use->series), last_us = hr_series_end_us(use->series);
  const bool repeats = hr_series_repeats(use->series);
  const int64_t known_us = overlap_us(begin_us, end_us, first_us, repeats ? HR_NEVER_US : last_us);
  if (known_us >= run_us) return HR_OK;
  return hr_notes_add(
      notes,
      "%.3g %% of the run is outside the series of the %s of pool '%.60s': the run is from %s to %s, the "
      "series from %s to %s; %s applies there; set '%s.start'%s",
      100 * (double)(run_us - known_us) / (double)run_us, use->what, use->pool, date_text(begin_us, from),
      date_text(end_us, to), date_text(first_us, first), date_text(last_us, last),
      begin_us >= first_us           ? "its last value"
      : repeats || end_us <= last_us ? "its first value"
                                     : "its first or last value",
      use->key, repeats ? "" : ", or 'after' to 'repeat'");
}

/* Adds a note if two series, whose first stamps are both taken as time zero, begin at different times. */
static enum hr_status note_start(const struct series_use *use, const struct series_use *first, struct hr_notes *notes) {
  char text[DATE_BYTES], other[DATE_BYTES];
  return hr_notes_add(
      notes,
      "time zero of the trace is %s in the series of the %s of pool '%.60s', but %s in that of the %s of "
      "pool '%.60s', because it is the first stamp of each; set 'start' to use both at the same time",
      date_text(hr_series_first_us(first->series), text), first->what, first->pool,
      date_text(hr_series_first_us(use->series), other), use->what, use->pool);
}

enum hr_status hr_series_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                               const struct hr_result *result, struct hr_notes *notes, struct hr_error *error) {
  enum hr_status status = HR_OK;
  struct series_use first = {0}, use;
  for (uint32_t i = 0; i < 2 * cluster->n_pools && status == HR_OK; i++) {
    const uint32_t pool = i / 2;
    const bool price = i % 2;
    if (!find_use(&cluster->pools[pool], price, &use) || is_repeated(cluster, pool, price, &use)) continue;
    if (result->end_us > 0) status = note_outside(trace, &use, result->end_us, notes);
    if (trace->dated || use.start_us != HR_NEVER_US) continue;
    if (first.series && hr_series_first_us(first.series) != hr_series_first_us(use.series) && status == HR_OK)
      status = note_start(&use, &first, notes);
    if (!first.series) first = use;
  }
  return noted(status, error);
}
