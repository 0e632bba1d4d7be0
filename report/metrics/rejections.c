/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts rejected jobs by reason, and writes the warning about them. A job is rejected if it could not run even on the
 * empty cluster; whether that is so does not depend on other jobs, so the number can also be computed without a run.
 */

#include "base/array.h"
#include "headroom/policy.h"
#include "headroom/trace.h"
#include "headroom/unstable/metrics.h"
#include "sim/cluster/cluster.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_BYTES = 400, MAX_TYPES = 5 };

/* ---- Counting --------------------------------------------------------------------------------------- */

static void count(struct hr_rejections *rejections, unsigned reason) {
  rejections->n_rejected++;
  if (reason < HR_MAX_REASONS) rejections->by_reason[reason]++;
}

void hr_rejections_of(const struct hr_result *result, struct hr_rejections *rejections) {
  *rejections = (struct hr_rejections){.n_jobs = result->n_submitted};
  for (uint32_t job = 0; job < result->n_jobs && result->n_rejected > 0; job++)
    if (result->state[job] == HR_JOB_REJECTED) count(rejections, result->reason[job]);
}

enum hr_status hr_rejections_predict(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     const struct hr_class_spec *classes, const struct hr_speeds *speeds,
                                     struct hr_rejections *rejections, struct hr_error *error) {
  struct hr_arena arena = {0};
  struct hr__speed_table table;
  struct hr_cluster state;
  *rejections = (struct hr_rejections){.n_jobs = trace->n_jobs};
  enum hr_status status = hr__speeds_init(&table, &arena, speeds, cluster, trace);
  if (status == HR_OK) status = hr__cluster_init(&state, &arena, cluster, trace, classes, &table);
  for (uint32_t job = 0; job < trace->n_jobs && status == HR_OK; job++) {
    enum hr_reason reason = hr__cluster_never_fits(&state, (hr_job){job});
    if (reason != HR_REASON_NONE) count(rejections, reason);
  }
  hr__arena_finish(&arena);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

bool hr_rejections_are_many(const struct hr_rejections *rejections) {
  return rejections->n_rejected * 100 > rejections->n_jobs;
}

/* ---- GPU types that no pool has --------------------------------------------------------------------- */

/* A list of GPU types of which no pool has any type. */
struct unknown_types {
  const char *list;
  uint64_t n_jobs;
  const char *nearest; /* the most similar type of a pool; NULL: none is similar */
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

/* Whether two keys begin with the same model, such as "a100": letters, then digits. The A100 and the H100 are one
   letter apart and different products, so neither is suggested for the other. */
static bool is_same_model(const char *a, const char *b) {
  size_t letters = strspn(a, "abcdefghijklmnopqrstuvwxyz"), length = letters + strspn(a + letters, "0123456789");
  return strncmp(a, b, length) == 0 && !isdigit((unsigned char)b[length]);
}

/* Returns the nearest of `types` to the name of a type, whatever the vendor and separators are. */
static const char *nearest_to(const char *name, const char *const *types) {
  char key[HR__GPU_KEY_BYTES], other[HR__GPU_KEY_BYTES];
  const char *best = hr_nearest_word(name, types);
  size_t longest = 0;
  hr__gpu_name_key(name, strlen(name), key);
  if (best) hr__gpu_name_key(best, strlen(best), other);
  if (best && !is_same_model(key, other)) best = NULL;
  for (size_t i = 0; !best && types[i]; i++) {
    size_t length = hr__gpu_name_key(types[i], strlen(types[i]), other), same = 0;
    while (same < length && key[same] == other[same]) same++;
    if (same < 2 || same <= longest || (same < length && same < 4)) continue;
    longest = same;
    best = types[i];
  }
  return best;
}

/* Finds the lists of types that no pool has, the most frequent first, at most MAX_TYPES. Returns their number, which
   may be larger; -1 if memory is exhausted. `types` are those of the pools; `used`: of pools with nodes. */
static int find_unknown(const struct hr_trace *trace, const struct hr_cluster_spec *cluster, const char *const *types,
                        bool used, struct unknown_types *unknown) {
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
    if (at < MAX_TYPES) unknown[at] = (struct unknown_types){text, n_jobs, nearest_to(text, types)};
  }
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

enum hr_status hr_gpu_type_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                 struct hr_notes *notes, struct hr_error *error) {
  struct unknown_types unknown[MAX_TYPES];
  const char **types = types_of(cluster, false);
  int found = types ? find_unknown(trace, cluster, types, false, unknown) : -1;
  enum hr_status status = found < 0 ? HR_NO_MEMORY : HR_OK;
  char have[NAMES_BYTES];
  if (found > 0) list_types(types, have);
  for (int i = 0; i < found && i < MAX_TYPES && status == HR_OK; i++)
    status = hr_notes_add(notes, "warning: %" PRIu64 " job%s GPU type '%.60s', which no pool has (pools: %s)%s%s%s",
                          unknown[i].n_jobs, unknown[i].n_jobs == 1 ? " requests" : "s request", unknown[i].list, have,
                          unknown[i].nearest ? "; did you mean '" : "", unknown[i].nearest ? unknown[i].nearest : "",
                          unknown[i].nearest ? "'?" : "");
  if (found > MAX_TYPES && status == HR_OK)
    status = hr_notes_add(notes, "warning: %d more GPU types are of no pool", found - MAX_TYPES);
  free(types);
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
    return "add a pool that is not spot, or set 'spot' of the class to true";
  case HR_REASON_NO_REGION:
    return "set the pool's 'region' to a requested one";
  case HR_REASON_NO_CLASS_POOL:
    return "add the class to the pool's 'classes'";
  case HR_REASON_OVER_QUOTA:
    return "raise the tenant's quota ('quotas')";
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

/* Writes "; requested: a100 (120 jobs), h20 (3 jobs); pools have A100-80". */
static void warn_of_types(FILE *out, const struct hr_trace *trace, const struct hr_cluster_spec *cluster) {
  struct unknown_types unknown[MAX_TYPES];
  const char **types = types_of(cluster, true);
  int found = types ? find_unknown(trace, cluster, types, true, unknown) : 0;
  char have[NAMES_BYTES];
  for (int i = 0; i < found && i < MAX_TYPES; i++) {
    fputs(i ? ", '" : "; requested: '", out);
    hr_print_safe(out, unknown[i].list, 60);
    fprintf(out, "' (%" PRIu64 " job%s%s%s%s)", unknown[i].n_jobs, unknown[i].n_jobs == 1 ? "" : "s",
            unknown[i].nearest ? "; did you mean '" : "", unknown[i].nearest ? unknown[i].nearest : "",
            unknown[i].nearest ? "'?" : "");
  }
  if (types) list_types(types, have);
  if (found > 0) {
    fprintf(out, "%s; pools have ", found > MAX_TYPES ? ", ..." : "");
    hr_print_safe(out, have, SIZE_MAX);
  }
  free(types);
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
    if (reason == HR_REASON_NO_GPU_TYPE) warn_of_types(out, trace, cluster);
    fprintf(out, "; remedy: %s\n", remedy((enum hr_reason)reason));
  }
}
