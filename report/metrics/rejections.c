/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts rejected jobs by reason, and writes the warning about them, with remedies. A job is rejected if it could not
 * run even on the empty cluster; whether that is so does not depend on other jobs, so the number can also be computed
 * without a run.
 */

#include "report/metrics/summary.h"

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/metrics.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_BYTES = 400, MAX_TYPES = 5, MEANT_BYTES = 120 };

/* ---- Counting --------------------------------------------------------------------------------------- */

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

/* The answers of `has_queue`: jobs of one queue and tenant have the same. */
struct known_queues {
  bool (*has_queue)(const void *self, hr_job job);
  const void *self;
  const struct hr_trace *trace;
  struct hr_arena *arena;
  struct hr__pair_map answers; /* by queue and tenant: 1 or 0 */
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
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

bool hr_rejections_are_many(const struct hr_rejections *rejections) {
  return rejections->n_rejected * 100 > rejections->n_jobs;
}

/* ---- GPU types that no pool has --------------------------------------------------------------------- */

/* What is known about a list of GPU types that no pool has. */
enum verdict {
  NO_MATCH,     /* nothing is similar */
  IS_A_TYPE,    /* the catalogue has the type */
  IS_OF_FAMILY, /* the catalogue has the type, and the type of a pool, `family`, is a family of types with this one */
  IS_MISSPELT,  /* `nearest` is probably meant */
  IS_NEAR,      /* `nearest` is similar, but may be another product */
};

struct unknown_types {
  const char *list;
  uint64_t n_jobs;
  enum verdict verdict;
  char nearest[MEANT_BYTES]; /* the most similar name; if the catalogue has the type: its name */
  const char *family;
};

/* The names of GPU types that may be meant: those of the pools, then those of the catalogue. */
struct vocabulary {
  const char **pools; /* types of the pools, NULL-terminated */
  char *text;         /* of hr_cluster_spec.gpu_vocabulary, split */
  const char **names; /* types of the pools and names of the catalogue, NULL-terminated */
  const char **types; /* of each name of the catalogue, its type; NULL for the types of the pools */
  bool has_catalogue;
};

static bool is_known(const char *name, const char *const *known, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcasecmp(known[i], name) == 0) return true;
  return false;
}

/* Returns the GPU types of the pools, with `used` of those with nodes, NULL-terminated; NULL if memory is exhausted.
 * The caller frees the list. */
static const char **types_of(const struct hr_cluster_spec *cluster, bool used) {
  const char **types = calloc((size_t)cluster->n_pools + 1, sizeof *types);
  size_t n = 0;
  for (uint32_t i = 0; types && i < cluster->n_pools; i++)
    if ((cluster->pools[i].nodes || !used) && !is_known(cluster->pools[i].gpu, types, n))
      types[n++] = cluster->pools[i].gpu;
  return types;
}

/* Returns the number of jobs with GPUs of each list of types; NULL if memory is exhausted. The caller frees it. */
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

/* Splits "NAME=TYPE|NAME=TYPE" and appends the names and types. */
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

/* `used`: of the pools, only those with nodes. */
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

/* Writes the types of the catalogue that a name means: "A100-40 or A100-80". Returns whether it means any. */
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

/* Returns the type of a pool that means several types, such as "a100", and among them `meant`; NULL: none. */
static const char *find_family(const struct vocabulary *words, const char *meant) {
  char types[MEANT_BYTES];
  for (size_t i = 0; words->pools[i]; i++)
    if (find_meant(words, words->pools[i], strlen(words->pools[i]), types) && strstr(types, " or ") &&
        strstr(types, meant))
      return words->pools[i];
  return NULL;
}

/* Judges a list of names, separated by '|': it is known if one of its names is, else it is the first similar name. */
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

/* Finds the lists of types that no pool has, the most frequent first, at most MAX_TYPES. Returns their number, which
   may be larger; -1 if memory is exhausted. `used`: of the pools, only those with nodes count. */
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

/* Writes what is known about a list of requested types, after `before`; nothing if it is the name of a known type. */
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
    status = hr_notes_add(notes, "warning: %d more GPU types are of no pool", found - MAX_TYPES);
  vocabulary_finish(&words);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- The warning ------------------------------------------------------------------------------------ */

/* What users can do about a reason. */
static const char *remedy(enum hr_reason reason) {
  switch (reason) {
  case HR_REASON_TOO_LARGE:
    return "give the pool more nodes, or leave these jobs out of the trace";
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
           "every "
           "requested resource, also CPU and memory, needs a quota or is in 'excluded_resources'";
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
    fprintf(out, "' (%" PRIu64 " job%s", unknown[i].n_jobs, unknown[i].n_jobs == 1 ? "" : "s");
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
          n < rejections->n_jobs ? "results are about the other jobs only" : "there are no results");
  for (unsigned reason = 0; reason < HR_MAX_REASONS; reason++) {
    uint64_t jobs = rejections->by_reason[reason];
    if (!jobs) continue;
    fprintf(out, "warning: %s, %" PRIu64 " job%s: %s", hr_reason_name((enum hr_reason)reason), jobs,
            jobs == 1 ? "" : "s", hr_rejection_words((enum hr_reason)reason));
    if (reason == HR_REASON_NO_GPU_TYPE)
      warn_of_types(out, trace, cluster);
    else
      fprintf(out, "; remedy: %s\n", remedy((enum hr_reason)reason));
  }
}
