/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a drafted scenario: owned nodes, the offers of a provider, and the pools and the plan.
 *
 * For each requested list of GPU types, the offer is the provider's instance type with the lowest price per GPU among
 * those that hold the largest task or have 8 GPUs. If the provider has no such instance type, all its instance types
 * are compared. Prices are those of the catalogue; the draft has the date of each price ('as_of'). Sizes follow from
 * the demand if no job had to wait. The plan may buy up to the demand that is exceeded for 1 % of the time, and reserve
 * up to the demand that is exceeded for 5 % of the time. Pools that today's cluster lacks have 0 nodes, so a run of the
 * draft shows today's cluster.
 */

#include "scenarios/draft/draft.h"

#include "base/text.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- MIG -------------------------------------------------------------------------------------------- */

/*
 * Without the key `mig_fallback`, jobs that request MIG instances run only in pools of partitioned GPUs, and no other
 * jobs run there. If all jobs that an owned pool can run request instances, the pool becomes such a MIG pool. If some
 * do, it is divided into two pools in proportion to the GPU time of the jobs. A pool that is too small for this is
 * shared, and `mig_fallback` is set: jobs that request instances then get shares of its GPUs. MIG pools create
 * instances on demand, so their layout need not be known.
 */

/* The jobs that a pool can run: either those that request MIG instances, or those that request whole GPUs. */
struct pool_demand {
  uint32_t n_jobs, n_gpus, n_nodes; /* number of jobs; maximum number of GPUs, and of nodes, that a job needs */
  double gpu_s;
};

/* Returns the MIG profiles of a GPU type, which may have any of its names; NULL: the type has none or is unknown. */
static const struct hr_mig_type *mig_of(const struct hr__draft *draft, const char *gpu) {
  const struct hr_gpu_type *type = hr_catalog_gpu_named(draft->catalog, gpu);
  const struct hr_mig_type *mig = NULL;
  return type && hr_catalog_mig(draft->catalog, type->name, &mig, NULL) == HR_OK ? mig : NULL;
}

/* Returns the MIG profile that a job with GPUs requests; NULL: none. */
static const char *profile_of(const struct hr_trace *trace, uint32_t job) {
  bool names_one = trace->mig_profile && trace->mig_profile[job] != HR_NONE && trace->gpus[job];
  return names_one ? trace->mig_profiles.text[trace->mig_profile[job]] : NULL;
}

/* Adds a job with `gpus` GPUs if the pool can hold it. Each of its tasks needs `of_task` GPUs on one node. */
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

/* Computes the demand of the jobs that a pool can run: `instances` of those that request MIG instances, `whole` of
   those that request whole GPUs. `accepts`: by list of GPU types, whether the pool accepts it. `served`: by MIG
   profile, whether an earlier pool has it; jobs that request such a profile are not counted. */
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

/* Sets `served` of the MIG profiles that a GPU type has. */
static void mark_served(const struct hr__draft *draft, const struct hr_mig_type *mig, bool *served) {
  const struct hr_names *names = &draft->config->trace->mig_profiles;
  for (uint32_t i = 0; i < names->count; i++) {
    uint32_t number;
    served[i] = served[i] || hr_mig_profile_parse(mig, names->text[i], &number, NULL) == HR_OK;
  }
}

/* Returns the part of `all` nodes or GPUs for the MIG pool: the share `share`, but at least `min_instances`, and at
   least `min_whole` remain. These are the needs of the largest job of each kind. Returns 0 if `all` is less than their
   sum. */
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

/* Divides a pool between the jobs that request MIG instances and the others. If there is only one node, divides its
   GPUs. If the pool cannot be divided, all jobs share its GPUs. */
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

/* Adds the keys that partition the GPUs of a pool. */
static void draft_put_sharing(struct hr__draft *draft, cJSON *pool) {
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

/* ---- Options ---------------------------------------------------------------------------------------- */

/* Reads a number that is followed by 'x'. Numbers above HR_MAX_GPUS become HR_MAX_GPUS + 1. Returns the text after the
   'x'; NULL if the text does not begin with such a number. */
static const char *read_count(const char *text, uint32_t *count) {
  char *end;
  if (text[0] < '1' || text[0] > '9') return NULL;
  unsigned long value = strtoul(text, &end, 10);
  *count = value <= HR_MAX_GPUS ? (uint32_t)value : HR_MAX_GPUS + 1;
  return *end == 'x' || *end == 'X' ? end + 1 : NULL;
}

/* Returns the name of a GPU type as the catalogue spells it. */
static const char *spelling(const struct hr__draft *draft, const char *gpu) {
  for (size_t i = 0; i < draft->catalog->n_gpus; i++)
    if (strcasecmp(draft->catalog->gpus[i].name, gpu) == 0) return draft->catalog->gpus[i].name;
  return gpu;
}

/* Returns whether a job of the trace requests a GPU type by exactly this name, ignoring case. */
static bool is_requested(const struct hr__draft *draft, const char *gpu) {
  const struct hr_names *lists = &draft->config->trace->gpu_type_lists;
  for (uint32_t i = 0; i < lists->count; i++)
    if (strcasecmp(lists->text[i], gpu) == 0) return true;
  return false;
}

/* Refuses a GPU type that neither the catalogue nor the trace has. `option`: the value of --own, for the message. */
static enum hr_status check_own(const struct hr__draft *draft, const char *option, const char *gpu) {
  struct hr_error inner = {0};
  enum hr_status status = hr_catalog_check_gpu_name(draft->catalog, gpu, &inner);
  if (status == HR_OK || is_requested(draft, gpu)) return HR_OK;
  return hr_fail(draft->error, status, "--own %.100s: %.400s", option, inner.text);
}

void hr__draft_name_own(struct hr__draft *draft, size_t index, size_t n_own) {
  struct hr__draft_owned *own = &draft->own[index];
  size_t same = 0;
  if (n_own < 2) {
    strcpy(own->pool, "own");
    return;
  }
  for (size_t i = 0; i < index; i++) same += strcmp(draft->own[i].gpu, own->gpu) == 0;
  int length = snprintf(own->pool, sizeof own->pool, "own-%.100s", own->gpu);
  for (char *at = own->pool; *at; at++)
    if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
  if (same) snprintf(own->pool + length, sizeof own->pool - (size_t)length, "-%zu", same + 1);
}

enum hr_status hr__draft_read_own(struct hr__draft *draft) {
  const struct hr_draft_config *config = draft->config;
  draft->own = calloc(2 * config->n_own + 2, sizeof *draft->own); /* each pool may be divided */
  if (!draft->own) return hr_fail(draft->error, HR_NO_MEMORY, "out of memory");
  uint64_t total = 0;
  for (size_t i = 0; i < config->n_own; i++) {
    struct hr__draft_owned *own = &draft->own[i];
    const char *at = read_count(config->own[i], &own->nodes);
    if (at) at = read_count(at, &own->gpus);
    if (!at || !at[0] || strlen(at) > 100 || strpbrk(at, "\t\r\n"))
      return hr_fail(draft->error, HR_BAD_INPUT,
                     "--own %.100s: expected NODESxGPUSxTYPE, such as 8x8xA100-80 for 8 nodes with 8 GPUs each",
                     config->own[i]);
    total += (uint64_t)own->nodes * own->gpus;
    if (total > HR_MAX_GPUS)
      return hr_fail(draft->error, HR_BAD_INPUT, "--own %.100s: expected at most %" PRIu32 " GPUs in all pools",
                     config->own[i], HR_MAX_GPUS);
    enum hr_status status = check_own(draft, config->own[i], at);
    if (status != HR_OK) return status;
    snprintf(own->gpu, sizeof own->gpu, "%s", spelling(draft, at));
    draft->n_own = i + 1;
    hr__draft_name_own(draft, i, config->n_own);
  }
  return HR_OK;
}

enum hr_status hr__draft_read_cloud(struct hr__draft *draft) {
  const char *cloud = draft->config->cloud;
  struct hr_error inner = {0};
  if (!cloud) return HR_OK;
  size_t length = strcspn(cloud, ":");
  snprintf(draft->provider, sizeof draft->provider, "%.*s", length < 100 ? (int)length : 100, cloud);
  if (cloud[length]) snprintf(draft->region, sizeof draft->region, "%.100s", cloud + length + 1);
  enum hr_status status = hr_catalog_check_provider(draft->catalog, draft->provider, &inner);
  if (status == HR_OK && cloud[length])
    status = hr_catalog_check_region(draft->catalog, draft->provider, draft->region, &inner);
  return status == HR_OK ? HR_OK : hr_fail(draft->error, HR_BAD_INPUT, "--cloud %.100s: %.700s", cloud, inner.text);
}

/* ---- GPU types -------------------------------------------------------------------------------------- */

bool hr__draft_list_has(const struct hr__draft *draft, const char *list, const char *gpu) {
  if (!list[0] || !gpu) return !list[0];
  const struct hr_gpu_type *named = hr_catalog_gpu_named(draft->catalog, gpu);
  if (named) gpu = named->name;
  char *type = strdup(gpu), *names = hr_catalog_gpu_names(draft->catalog, gpu);
  struct hr_pool_spec pool = {.gpu = type, .gpu_names = names};
  const struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  uint8_t is_accepted = 0;
  if (type && names) hr__gpu_names_select(&cluster, list, &is_accepted);
  free(type);
  free(names);
  return is_accepted;
}

bool hr__draft_own_has(const struct hr__draft *draft, const char *list) {
  for (size_t i = 0; i < draft->n_own; i++)
    if (hr__draft_list_has(draft, list, draft->own[i].gpu)) return true;
  return false;
}

bool hr__draft_offers_have(const struct hr__draft *draft, const char *list) {
  for (size_t i = 0; i < draft->n_offers; i++)
    if (hr__draft_list_has(draft, list, draft->offers[i].instance->gpu)) return true;
  return false;
}

/* ---- What can be bought ----------------------------------------------------------------------------- */

static bool find_price(const struct hr__draft *draft, const struct hr_instance_type *instance, enum hr_market market,
                       const char *term, struct hr_price_quote *quote) {
  const struct hr_price_query query = {.provider = draft->provider,
                                       .instance = instance->name,
                                       .region = draft->region[0] ? draft->region : NULL,
                                       .market = market,
                                       .term = term};
  return hr_catalog_price(draft->catalog, &query, quote, NULL) == HR_OK;
}

/* Returns whether `offer` is better than `other`:
   - A node that holds the largest task, or has 8 GPUs, is better than a smaller node.
   - If both or neither hold it, the lower price per GPU is better.
   - If these prices differ by at most 0.1 %, the smaller node is better. */
static bool is_better(const struct hr__draft *draft, const struct hr__draft_offer *offer,
                      const struct hr__draft_offer *other) {
  uint32_t largest =
      draft->facts.largest_node_gpus < HR__DRAFT_NODE_GPUS ? draft->facts.largest_node_gpus : HR__DRAFT_NODE_GPUS;
  bool holds = offer->instance->gpus >= largest, other_holds = other->instance->gpus >= largest;
  if (holds != other_holds) return holds;
  double price = (double)offer->uusd_h / offer->instance->gpus, than = (double)other->uusd_h / other->instance->gpus;
  if (price < than * 0.999 || price > than * 1.001) return price < than;
  return offer->instance->gpus < other->instance->gpus;
}

/* Sets `*best` to the best offer of the provider for one of the GPU types of a list. Offers for types of owned nodes
   have precedence. Returns false if the provider has no offer. */
static bool find_offer(const struct hr__draft *draft, const char *list, struct hr__draft_offer *best) {
  bool only_owned = hr__draft_own_has(draft, list);
  *best = (struct hr__draft_offer){0};
  for (int pass = only_owned ? 0 : 1; pass < 2 && !best->instance; pass++)
    for (size_t i = 0; i < draft->catalog->n_instances; i++) {
      struct hr__draft_offer offer = {.instance = &draft->catalog->instances[i]};
      struct hr_price_quote quote;
      const char *gpu = offer.instance->gpu;
      if (strcasecmp(offer.instance->provider, draft->provider) != 0 || !hr__draft_list_has(draft, list, gpu)) continue;
      if (pass == 0 && !hr__draft_own_has(draft, gpu)) continue;
      if (!find_price(draft, offer.instance, HR_MARKET_ON_DEMAND, NULL, &quote)) continue;
      offer.uusd_h = quote.uusd_h;
      if (!best->instance || is_better(draft, &offer, best)) *best = offer;
    }
  return best->instance != NULL;
}

/* Adds an offer of the GPU type with the MIG profiles that most jobs request. Does nothing if owned pools have the
   profiles that all jobs request, or if the GPU type of an offer already has a profile that jobs request. */
static void find_mig_offer(struct hr__draft *draft) {
  struct hr__draft_offer offer, best = {0};
  bool is_served = draft->n_mig_left == 0 || draft->n_offers == HR__DRAFT_TYPES;
  for (size_t i = 0; i < draft->n_offers; i++)
    is_served = is_served || hr__draft_mig_jobs(draft, draft->offers[i].instance->gpu) > 0;
  uint32_t most = 0;
  for (size_t i = 0; !is_served && i < draft->catalog->n_gpus; i++) {
    const char *gpu = draft->catalog->gpus[i].name;
    uint32_t n_jobs = hr__draft_mig_jobs(draft, gpu);
    if (n_jobs <= most || !find_offer(draft, gpu, &offer)) continue;
    most = n_jobs;
    best = offer;
  }
  if (!best.instance) return;
  best.only_mig = draft->n_offers > 0;
  draft->offers[draft->n_offers++] = best;
}

enum hr_status hr__draft_find_offers(struct hr__draft *draft) {
  static const char *const usual[] = {"A100-80", "A100-40", "H100", "L4", "T4", "V100", ""};
  struct hr__draft_offer offer;
  for (uint32_t i = 0; i < draft->facts.n_types && draft->n_offers < HR__DRAFT_TYPES; i++) {
    const char *list = draft->facts.types[i].name;
    if (list[0] && !hr__draft_offers_have(draft, list) && find_offer(draft, list, &offer))
      draft->offers[draft->n_offers++] = offer;
  }
  for (size_t i = 0; i < draft->n_own && draft->n_offers == 0; i++)
    if (find_offer(draft, draft->own[i].gpu, &offer)) draft->offers[draft->n_offers++] = offer;
  for (size_t i = 0; i < sizeof usual / sizeof *usual && draft->n_offers == 0; i++)
    if (find_offer(draft, usual[i], &offer)) draft->offers[draft->n_offers++] = offer;
  find_mig_offer(draft);
  if (draft->n_offers) return HR_OK;
  return hr_fail(draft->error, HR_BAD_INPUT, "--cloud %.100s: the catalogue has no on-demand price there",
                 draft->config->cloud);
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

static double own_gpus(const struct hr__draft *draft) {
  double gpus = 0;
  for (size_t i = 0; i < draft->n_own; i++) gpus += (double)draft->own[i].nodes * draft->own[i].gpus;
  return gpus;
}

uint32_t hr__draft_nodes_for(double gpus, double gpus_per_node, uint32_t min) {
  double nodes = ceil(gpus / gpus_per_node);
  if (nodes > HR_MAX_NODES) nodes = HR_MAX_NODES;
  return nodes > min ? (uint32_t)nodes : min;
}

/* Returns the number of nodes of the first offer that are needed in addition to the owned nodes for the demand `gpus`.
   It is at least 1. If the owned nodes have fewer GPUs than the largest job requests, it is enough for this job. */
static uint32_t nodes_to_buy(const struct hr__draft *draft, double gpus) {
  double owned = own_gpus(draft), per_node = draft->offers[0].instance->gpus;
  uint32_t least = owned >= draft->facts.largest_gpus ? 1 : hr__draft_nodes_for(draft->facts.largest_gpus, per_node, 1);
  return hr__draft_nodes_for(gpus - owned, per_node, least);
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

/* Adds the keys that let jobs share the GPUs of a pool, because the trace has jobs that request shares of GPUs. */
static void put_fractions(struct hr__draft *draft, cJSON *pool) {
  hr__draft_put_text(draft, pool, "//sharing",
                     "Jobs that request shares of GPUs share them. If your GPUs cannot be shared, remove \"sharing\": "
                     "each such job then gets whole GPUs.");
  hr__draft_put_text(draft, pool, "sharing", "fraction");
}

static void put_own(struct hr__draft *draft, cJSON *pools, const struct hr__draft_owned *own) {
  const struct hr_draft_config *config = draft->config;
  struct hr__note note = {0};
  cJSON *pool = hr__draft_append(draft, pools, cJSON_CreateObject());
  const struct hr_gpu_type *type;
  struct hr_error unknown = {0};
  if (!pool) return;
  bool is_guess = config->n_own == 0, is_counted = config->n_goals && !config->cloud;
  if (is_guess)
    hr__say(&note,
            "Guessed from the demand: enough nodes for 95 %% of the time if no job had to wait. Replace them by what "
            "you have. ");
  if (is_counted)
    hr__say(&note,
            "The price is unknown. With 1, the plan finds the smallest number of nodes that meets the goals. For real "
            "costs, replace usd_per_gpu_hour by ");
  else if (config->cloud)
    hr__say(&note,
            "The price is unknown, so costs contain only what is bought in addition; the cheapest addition is the "
            "same. For all costs, add \"market\": \"owned\" and ");
  else
    hr__say(&note, "Without a price, the run shows no costs. For costs, add \"market\": \"owned\" and ");
  hr__say(&note,
          "\"owned\": {\"capex_usd_per_node\": 200000, \"lifetime_years\": 4, \"usd_per_kwh\": 0.15}, with your own "
          "figures.");
  if (hr_catalog_gpu(draft->catalog, own->gpu, &type, &unknown) != HR_OK) hr__say(&note, " %s.", unknown.text);
  hr__draft_put_text(draft, pool, "//", note.text);
  hr__draft_put_text(draft, pool, "name", own->pool);
  hr__draft_put_text(draft, pool, "gpu", own->gpu);
  hr__draft_put_number(draft, pool, "nodes", own->nodes);
  hr__draft_put_number(draft, pool, "gpus_per_node", own->gpus);
  if (own->is_mig)
    draft_put_sharing(draft, pool);
  else if (draft->facts.n_shares)
    put_fractions(draft, pool);
  else if (own->is_shared)
    hr__draft_put_text(draft, pool, "sharing", "fraction");
  if (!is_counted) return;
  hr__draft_put_text(draft, pool, "market", "owned");
  hr__draft_put_number(draft, pool, "usd_per_gpu_hour", 1);
}

/* Returns the spot preset of the provider and the GPU type of an offer that fits its region best. `*fit` is 3 if the
   preset is for this region, 2 if it is for all regions, and 1 if it is for another region. If no preset is for the
   provider and the GPU type, returns the preset advisor-5-10, and `*fit` is 0. NULL: the catalogue lacks this preset.
 */
static const struct hr_spot_preset *find_preset(const struct hr__draft *draft, const struct hr__draft_offer *offer,
                                                int *fit) {
  const struct hr_spot_preset *best = NULL, *usual = NULL;
  *fit = 0;
  for (size_t i = 0; i < draft->catalog->n_spot_presets; i++) {
    const struct hr_spot_preset *preset = &draft->catalog->spot_presets[i];
    if (strcmp(preset->name, "advisor-5-10") == 0) usual = preset;
    if (strcasecmp(preset->provider, draft->provider) != 0 || strcasecmp(preset->gpu, offer->instance->gpu) != 0)
      continue;
    int of = strcasecmp(preset->region, draft->region) == 0 ? 3 : strcmp(preset->region, "*") == 0 ? 2 : 1;
    if (of > *fit) {
      best = preset;
      *fit = of;
    }
  }
  return best ? best : usual;
}

static void put_price_note(struct hr__draft *draft, cJSON *pool, const char *market,
                           const struct hr_price_quote *quote) {
  struct hr__note note = {0};
  hr__say(&note, "%s: %.3f $ per node-hour, %.3f $ per GPU-hour in %.60s, price of %.20s (%.20s: %.400s).", market,
          (double)quote->uusd_h / 1e6, (double)hr_price_quote_gpu_uusd_h(quote) / 1e6, quote->region, quote->as_of,
          quote->status, quote->source);
  hr__draft_put_text(draft, pool, "//price", note.text);
}

static void put_spot(struct hr__draft *draft, cJSON *pool, const struct hr__draft_offer *offer) {
  int fit;
  struct hr__note note = {0};
  const struct hr_spot_preset *preset = find_preset(draft, offer, &fit);
  cJSON *spot = hr__draft_put(draft, pool, "spot", cJSON_CreateObject());
  if (!spot || !preset) return;
  if (fit)
    hr__say(&note, "Interruptions as observed for this GPU type%s (%.20s: %.300s).",
            fit == 1 ? " in another region" : "", preset->status, preset->source);
  else
    hr__say(&note,
            "No record of interruptions is known for %s at %s. Assumed: 5 to 10 %% of the nodes are interrupted in a "
            "month, and capacity never runs out. Try others: headroom list spot-presets.",
            offer->instance->gpu, draft->provider);
  hr__draft_put_text(draft, spot, "//preset", note.text);
  hr__draft_put_text(draft, spot, "preset", preset->name);
}

/* Adds a pool of an offer if the catalogue has its price. Returns false if it has none, or if memory runs out. */
static bool put_offer(struct hr__draft *draft, cJSON *pools, const struct hr__draft_offer *offer, const char *name,
                      enum hr_market market, const char *term, uint32_t nodes, bool is_mig) {
  static const char *const titles[HR_N_MARKETS] = {
      [HR_MARKET_RESERVED] = "Reserved", [HR_MARKET_ON_DEMAND] = "On demand", [HR_MARKET_SPOT] = "Spot"};
  struct hr_price_quote quote;
  if (!find_price(draft, offer->instance, market, term, &quote)) return false;
  cJSON *pool = hr__draft_append(draft, pools, cJSON_CreateObject());
  if (!pool) return false;
  put_price_note(draft, pool, titles[market], &quote);
  hr__draft_put_text(draft, pool, "name", name);
  hr__draft_put_number(draft, pool, "nodes", nodes);
  hr__draft_put_text(draft, pool, "market", hr_market_name(market));
  hr__draft_put_text(draft, pool, "provider", draft->provider);
  hr__draft_put_text(draft, pool, "region", quote.region);
  hr__draft_put_text(draft, pool, "instance", offer->instance->name);
  hr__draft_put_text(draft, pool, "as_of", quote.as_of);
  if (term) hr__draft_put_text(draft, pool, "term", term);
  if (market != HR_MARKET_RESERVED) {
    hr__draft_put_text(draft, pool, "//boot_s", "Assumed: a node needs 4 minutes to boot.");
    hr__draft_put_number(draft, pool, "boot_s", 240);
  }
  if (market == HR_MARKET_SPOT) put_spot(draft, pool, offer);
  if (is_mig)
    draft_put_sharing(draft, pool);
  else if (draft->facts.n_shares)
    put_fractions(draft, pool);
  return true;
}

/* Adds a variable of the plan: the size of a pool, from 0 to `nodes` in `steps` steps. The maximum is rounded up to a
   multiple of a step. Returns the number of nodes of the pool today: the maximum if `all_today` is set, otherwise 0. */
static uint32_t note_variable(struct hr__draft *draft, const char *pool, uint32_t nodes, uint32_t gpus, uint32_t steps,
                              bool all_today) {
  struct hr__draft_variable *variable = &draft->variables[draft->n_variables++];
  uint32_t step = (nodes + steps - 1) / steps;
  *variable = (struct hr__draft_variable){
      .nodes = (nodes + step - 1) / step * step, .gpus = gpus, .steps = (nodes + step - 1) / step};
  snprintf(variable->pool, sizeof variable->pool, "%s", pool);
  variable->today = all_today ? variable->nodes : 0;
  return variable->today;
}

/* Adds a pool of the first offer, and the variable for its size. `gpus`: the demand for which the plan may buy nodes.
   Returns false if the catalogue has no price. */
static bool put_choice(struct hr__draft *draft, cJSON *pools, const char *name, enum hr_market market, const char *term,
                       double gpus, uint32_t steps) {
  const struct hr__draft_offer *offer = &draft->offers[0];
  bool all_today = market == HR_MARKET_ON_DEMAND && !hr__draft_own_has(draft, offer->instance->gpu);
  uint32_t today =
      note_variable(draft, name, nodes_to_buy(draft, gpus), (uint32_t)offer->instance->gpus, steps, all_today);
  if (put_offer(draft, pools, offer, name, market, term, today, false)) return true;
  draft->n_variables--;
  return false;
}

/* Adds an on-demand pool of another offer than the first. Its size is not a variable, so that the plan stays small. */
static void put_other(struct hr__draft *draft, cJSON *pools, const struct hr__draft_offer *offer) {
  char name[HR__DRAFT_NAME_BYTES];
  double demand = 0;
  for (uint32_t i = 0; i < draft->facts.n_types; i++)
    if (draft->facts.types[i].name[0] && hr__draft_list_has(draft, draft->facts.types[i].name, offer->instance->gpu))
      demand += draft->facts.types[i].gpu_hours / draft->facts.gpu_hours;
  double gpus = fmax(demand * draft->facts.p99_gpus, draft->facts.largest_gpus);
  uint32_t nodes = hr__draft_nodes_for(gpus, offer->instance->gpus, 1);
  snprintf(name, sizeof name, "on-demand-%.100s", offer->instance->gpu);
  for (char *at = name; *at; at++)
    if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
  put_offer(draft, pools, offer, name, HR_MARKET_ON_DEMAND, NULL,
            hr__draft_own_has(draft, offer->instance->gpu) ? 0 : nodes, false);
}

/* If jobs request MIG instances that no owned pool has, adds an on-demand pool of partitioned GPUs for them. */
static void put_mig_offer(struct hr__draft *draft, cJSON *pools) {
  const struct hr__draft_facts *facts = &draft->facts;
  const struct hr__draft_offer *best = NULL;
  for (size_t i = 0; i < draft->n_offers; i++) {
    const struct hr__draft_offer *offer = &draft->offers[i];
    uint32_t n_jobs = hr__draft_mig_jobs(draft, offer->instance->gpu);
    if (n_jobs && (!best || n_jobs > hr__draft_mig_jobs(draft, best->instance->gpu))) best = offer;
  }
  if (!draft->n_mig_left || !best) return;
  uint32_t nodes = hr__draft_nodes_for(fmax(facts->p99_gpus, 1), best->instance->gpus, 1);
  put_offer(draft, pools, best, "on-demand-mig", HR_MARKET_ON_DEMAND, NULL, nodes, true);
}

void hr__draft_put_pools(struct hr__draft *draft, cJSON *cluster) {
  const struct hr__draft_facts *facts = &draft->facts;
  if (draft->mig_fallback) hr__draft_put(draft, cluster, "mig_fallback", cJSON_CreateTrue());
  cJSON *pools = hr__draft_put(draft, cluster, "pools", cJSON_CreateArray());
  for (size_t i = 0; i < draft->n_own; i++) put_own(draft, pools, &draft->own[i]);
  if (draft->n_offers == 0) {
    for (size_t i = 0; i < draft->n_own && i < HR__DRAFT_VARIABLES; i++) {
      const struct hr__draft_owned *own = &draft->own[i];
      note_variable(draft, own->pool, hr__draft_nodes_for(2.0 * own->nodes * own->gpus, own->gpus, 1), own->gpus, 16,
                    false);
      draft->variables[i].today = own->nodes;
    }
    return;
  }
  put_choice(draft, pools, "3-years", HR_MARKET_RESERVED, "3y", facts->p95_gpus, 4);
  put_choice(draft, pools, "1-year", HR_MARKET_RESERVED, "1y", facts->p95_gpus, 2);
  draft->sells_spot = put_choice(draft, pools, "spot", HR_MARKET_SPOT, NULL, facts->p99_gpus, 3);
  put_choice(draft, pools, "on-demand", HR_MARKET_ON_DEMAND, NULL, facts->p99_gpus, 3);
  for (size_t i = 1; i < draft->n_offers; i++)
    if (!draft->offers[i].only_mig) put_other(draft, pools, &draft->offers[i]);
  put_mig_offer(draft, pools);
}

/* ---- The plan --------------------------------------------------------------------------------------- */

/* Writes a duration of at least `seconds` in a form that a goal accepts, in whole minutes or hours: "13 min", "3 h". */
static void goal_time(double seconds, char *text, size_t size) {
  if (seconds <= 60)
    snprintf(text, size, "1 min");
  else if (seconds <= 7200)
    snprintf(text, size, "%.0f min", ceil(seconds / 60));
  else
    snprintf(text, size, "%.0f h", ceil(seconds / 3600));
}

static void put_goal(struct hr__draft *draft, cJSON *goals, double wait_s, const char *class_) {
  char time[HR__NUMBER_BYTES], text[HR__DRAFT_NAME_BYTES];
  goal_time(wait_s, time, sizeof time);
  snprintf(text, sizeof text, "wait_s.p95%s%s <= %s", class_[0] ? " of " : "", class_, time);
  hr__draft_append(draft, goals, cJSON_CreateString(text));
}

/* Adds goals that bound the 95th percentile of waits by its recorded value: for each class and, if some jobs have no
   class, for all jobs. If the trace records no waits, the bound is one hour. */
static void put_recorded_goals(struct hr__draft *draft, cJSON *goals) {
  const struct hr__draft_facts *facts = &draft->facts;
  bool has_goal = false, lacks_class = false;
  for (uint32_t i = 0; i < facts->n_classes; i++) {
    const struct hr__draft_group *group = &facts->classes[i];
    if (isnan(group->wait_p95_s) || group->gpu_hours <= 0) continue;
    lacks_class = lacks_class || !group->name[0];
    if (!group->name[0]) continue;
    put_goal(draft, goals, group->wait_p95_s, group->name);
    has_goal = true;
  }
  if (!has_goal || lacks_class) put_goal(draft, goals, isnan(facts->wait_p95_s) ? 3600 : facts->wait_p95_s, "");
}

static void put_goals(struct hr__draft *draft, cJSON *plan) {
  const struct hr_draft_config *config = draft->config;
  const struct hr__draft_facts *facts = &draft->facts;
  char mean[HR__NUMBER_BYTES], p95[HR__NUMBER_BYTES];
  struct hr__note note = {0};
  bool bounds_completed = false;
  if (isnan(facts->wait_p95_s))
    hr__say(&note, "The trace records no starts, so the waits of today are unknown; 'headroom run' simulates them.");
  else
    hr__say(&note, "Recorded waits: %s on average, 95 %% waited at most %s.",
            hr__duration_text(facts->wait_mean_s, mean), hr__duration_text(facts->wait_p95_s, p95));
  if (config->n_goals == 0)
    hr__say(&note, " These goals %s. Tighten or relax them.",
            isnan(facts->wait_p95_s) ? "are a guess" : "keep the waits as they were recorded");
  hr__draft_put_text(draft, plan, "//constraints", note.text);
  cJSON *goals = hr__draft_put(draft, plan, "constraints", cJSON_CreateArray());
  for (size_t i = 0; i < config->n_goals; i++) {
    hr__draft_append(draft, goals, cJSON_CreateString(config->goals[i]));
    bounds_completed |= strncmp(config->goals[i], "completed", strlen("completed")) == 0;
  }
  if (config->n_goals == 0) put_recorded_goals(draft, goals);
  if (!bounds_completed) hr__draft_append(draft, goals, cJSON_CreateString("completed >= 99 %"));
}

void hr__draft_put_plan(struct hr__draft *draft, cJSON *scenario) {
  if (draft->n_offers == 0 && draft->config->n_goals == 0) return;
  hr__draft_put_text(draft, scenario, "//plan",
                     "'headroom plan FILE' chooses the numbers of GPUs of these pools: the cheapest that meet the "
                     "constraints. 'baseline' is today.");
  cJSON *plan = hr__draft_put(draft, scenario, "plan", cJSON_CreateObject());
  cJSON *variables = hr__draft_put(draft, plan, "variables", cJSON_CreateArray());
  for (size_t i = 0; i < draft->n_variables; i++) {
    const struct hr__draft_variable *from = &draft->variables[i];
    cJSON *variable = hr__draft_append(draft, variables, cJSON_CreateObject());
    hr__draft_put_text(draft, variable, "pool", from->pool);
    hr__draft_put_number(draft, variable, "from", 0);
    hr__draft_put_number(draft, variable, "to", (double)from->nodes * from->gpus);
    hr__draft_put_number(draft, variable, "step", (double)from->nodes * from->gpus / from->steps);
  }
  put_goals(draft, plan);
  cJSON *baseline = hr__draft_put(draft, plan, "baseline", cJSON_CreateObject());
  for (size_t i = 0; i < draft->n_variables; i++)
    hr__draft_put_number(draft, baseline, draft->variables[i].pool,
                         (double)draft->variables[i].today * draft->variables[i].gpus);
}
