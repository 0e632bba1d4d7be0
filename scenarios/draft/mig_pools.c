/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MIG in a draft: jobs that request MIG instances run in pools of partitioned GPUs, and only these jobs do. So a
 * pool of GPUs with MIG becomes a MIG pool if all its jobs request instances; else it is divided into two pools, by the
 * GPU time of the jobs. Instances are created on demand, so no layout must be known.
 */

#include "scenarios/draft/draft.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The jobs that one type of GPU can run, of one kind: those that request instances, or those that request none. */
struct pool_demand {
  uint32_t n_jobs, n_gpus, n_nodes; /* number of jobs; GPUs, and nodes of this size, that the largest job needs */
  double gpu_s;
};

/* Returns the MIG profiles of a GPU type by any of its names; NULL: it has none. */
static const struct hr_mig_type *mig_of(const struct hr__draft *draft, const char *gpu) {
  const struct hr_gpu_type *type = hr_catalog_gpu_named(draft->catalog, gpu);
  const struct hr_mig_type *mig = NULL;
  return type && hr_catalog_mig(draft->catalog, type->name, &mig, NULL) == HR_OK ? mig : NULL;
}

static const char *profile_of(const struct hr_trace *trace, uint32_t job) {
  bool names_one = trace->mig_profile && trace->mig_profile[job] != HR_NONE && trace->gpus[job];
  return names_one ? trace->mig_profiles.text[trace->mig_profile[job]] : NULL;
}

/* Adds a job that needs `gpus` GPUs, of which each task needs `of_task` on one node, if the pool can hold it. */
static void add_job(struct pool_demand *demand, const struct hr__draft_owned *own, uint32_t gpus, uint32_t of_task,
                    double gpu_s) {
  if (!of_task || of_task > own->gpus) return;
  uint32_t of_node = own->gpus / of_task * of_task, nodes = gpus / of_node + (gpus % of_node > 0);
  if (nodes > own->nodes) return;
  demand->n_jobs++;
  demand->gpu_s += gpu_s;
  if (gpus > demand->n_gpus) demand->n_gpus = gpus;
  if (nodes > demand->n_nodes) demand->n_nodes = nodes;
}

/* Computes the demand for the GPUs of a pool. `accepts`: by list of types; `served`: profiles of earlier pools. */
static void measure(const struct hr__draft *draft, const struct hr__draft_owned *own, const struct hr_mig_type *mig,
                    const bool *accepts, const bool *served, struct pool_demand *instances, struct pool_demand *whole) {
  const struct hr_trace *trace = draft->config->trace;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint32_t gpus = trace->gpus[job], tasks = trace->tasks ? trace->tasks[job] : 1, number;
    const char *name = profile_of(trace, job);
    double work_s = (double)trace->work_us[job] / 1e6;
    bool is_typed = trace->gpu_types && trace->gpu_types[job] != HR_NONE;
    if (!gpus || !tasks || (is_typed && !accepts[trace->gpu_types[job]])) continue;
    if (!name) {
      add_job(whole, own, gpus, (gpus + tasks - 1) / tasks, (double)gpus * work_s);
    } else if (!served[trace->mig_profile[job]] && hr_mig_profile_parse(mig, name, &number, NULL) == HR_OK) {
      const struct hr_mig_profile *profile = &mig->profiles[number];
      uint32_t of_gpu = profile->max_instances ? profile->max_instances : 1;
      add_job(instances, own, gpus / of_gpu + (gpus % of_gpu > 0), 1,
              (double)gpus * profile->compute_slices / mig->compute_slices * work_s);
    }
  }
}

static void mark_served(const struct hr__draft *draft, const struct hr_mig_type *mig, bool *served) {
  const struct hr_names *names = &draft->config->trace->mig_profiles;
  for (uint32_t i = 0; i < names->count; i++) {
    uint32_t number;
    served[i] = served[i] || hr_mig_profile_parse(mig, names->text[i], &number, NULL) == HR_OK;
  }
}

/* Returns the part of `all` for the MIG pool: its share of the GPU time, but both parts hold their largest job. 0: they
   cannot. */
static uint32_t divide(uint32_t all, double share, uint32_t min_instances, uint32_t min_whole) {
  if ((uint64_t)min_instances + min_whole > all) return 0;
  uint32_t part = (uint32_t)lround(share * all);
  if (part < min_instances) part = min_instances;
  return part > all - min_whole ? all - min_whole : part;
}

static void add_mig_pool(struct hr__draft *draft, struct hr__draft_owned *own, uint32_t nodes, uint32_t gpus) {
  struct hr__draft_owned *added = &draft->own[draft->n_own++];
  *added = *own;
  snprintf(added->pool, sizeof added->pool, "%.150s-mig", own->pool);
  added->is_mig = true;
  added->nodes = nodes;
  added->gpus = gpus;
}

/* Divides a pool for the jobs that request instances and the jobs that do not. */
static void divide_pool(struct hr__draft *draft, size_t index, const struct pool_demand *instances,
                        const struct pool_demand *whole) {
  struct hr__draft_owned *own = &draft->own[index];
  double all_s = instances->gpu_s + whole->gpu_s, share = all_s > 0 ? instances->gpu_s / all_s : 0;
  bool is_guess = draft->config->n_own == 0;
  if (is_guess && own->nodes < instances->n_nodes + whole->n_nodes) own->nodes = instances->n_nodes + whole->n_nodes;
  uint32_t nodes = divide(own->nodes, share, instances->n_nodes, whole->n_nodes);
  uint32_t gpus = own->nodes == 1 ? divide(own->gpus, share, instances->n_gpus, whole->n_gpus) : 0;
  if (nodes) {
    own->nodes -= nodes;
    add_mig_pool(draft, own, nodes, own->gpus);
  } else if (gpus) {
    own->gpus -= gpus;
    add_mig_pool(draft, own, 1, gpus);
  } else {
    own->is_shared = true;
    draft->mig_fallback = true;
  }
}

enum hr_status hr__draft_put_mig(struct hr__draft *draft) {
  const struct hr_trace *trace = draft->config->trace;
  bool *accepts = calloc((size_t)trace->gpu_type_lists.count + 1, sizeof *accepts);
  bool *served = calloc((size_t)trace->mig_profiles.count + 1, sizeof *served);
  size_t n_own = draft->n_own;
  for (size_t i = 0; accepts && served && draft->facts.n_mig && i < n_own; i++) {
    struct pool_demand instances = {0}, whole = {0};
    const struct hr_mig_type *mig = mig_of(draft, draft->own[i].gpu);
    if (!mig) continue;
    for (uint32_t list = 0; list < trace->gpu_type_lists.count; list++)
      accepts[list] = hr__draft_list_has(draft, trace->gpu_type_lists.text[list], draft->own[i].gpu);
    measure(draft, &draft->own[i], mig, accepts, served, &instances, &whole);
    if (!instances.n_jobs) continue;
    if (whole.n_jobs)
      divide_pool(draft, i, &instances, &whole);
    else
      draft->own[i].is_mig = true;
    mark_served(draft, mig, served);
  }
  for (uint32_t job = 0; served && job < trace->n_jobs; job++)
    if (profile_of(trace, job) && !served[trace->mig_profile[job]]) draft->n_mig_left++;
  enum hr_status status = accepts && served ? HR_OK : hr_fail(draft->error, HR_NO_MEMORY, "out of memory");
  free(accepts);
  free(served);
  return status;
}

uint32_t hr__draft_mig_jobs(const struct hr__draft *draft, const char *gpu) {
  const struct hr_trace *trace = draft->config->trace;
  const struct hr_mig_type *mig = mig_of(draft, gpu);
  uint32_t n_jobs = 0, number;
  for (uint32_t job = 0; mig && job < trace->n_jobs; job++) {
    const char *profile = profile_of(trace, job);
    n_jobs += profile && hr_mig_profile_parse(mig, profile, &number, NULL) == HR_OK;
  }
  return n_jobs;
}

void hr__draft_put_sharing(struct hr__draft *draft, cJSON *pool) {
  hr__draft_put_text(draft, pool, "//sharing",
                     "For the jobs that request MIG instances, and only for these. Instances are created on demand. "
                     "If your GPUs have fixed layouts: \"mig\": {\"layout\": \"all-1g.10gb\"} with your layout.");
  hr__draft_put_text(draft, pool, "sharing", "mig");
  hr__draft_put_text(draft, hr__draft_put(draft, pool, "mig", cJSON_CreateObject()), "mode", "on-demand");
}

void hr__draft_say_mig(struct hr__note *note, const struct hr__draft *draft) {
  uint32_t all = draft->facts.n_mig, left = draft->n_mig_left;
  for (size_t i = 0; i < draft->n_offers; i++)
    if (hr__draft_mig_jobs(draft, draft->offers[i].instance->gpu) >= left) left = 0;
  if (!all) return;
  hr__say(note, " %" PRIu32 " job%s request%s MIG instances", all, all == 1 ? "" : "s", all == 1 ? "s" : "");
  if (left)
    hr__say(note,
            "; no pool here has those of %" PRIu32 ": they are rejected. Give a pool of GPUs with MIG \"sharing\": "
            "\"mig\" (docs/reference/sharing.md), or set \"mig_fallback\": true beside \"pools\" for whole GPUs "
            "instead",
            left);
  if (draft->mig_fallback)
    hr__say(note, "; the nodes cannot be divided for them and for the jobs on whole GPUs, so they get shares of GPUs "
                  "of the same size (\"mig_fallback\")");
  hr__say(note, ".");
}
