/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice on GPU types.
 *
 * A run shows which GPUs are allocated, but not how hard they work. Another GPU type is tried for a pool in these
 * cases: less than half of its GPUs are allocated; nearly all of its GPUs are allocated; jobs request less than half of
 * a GPU's memory; jobs request nearly all of a GPU's memory. A smaller type is a cheaper type with enough memory, which
 * the provider offers or another pool of the scenario has. A larger type is one of the next more expensive types. The
 * same number of GPUs of the other type replaces those of the pool. If several classes use the pool, and another type
 * is of interest for only one of them, the new GPUs form a separate pool for that class.
 */

#include "plan/advise/advise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_OPTIONS = 3 };
static const double low_share = 0.5, high_share = 0.9;

/* A GPU type that may replace the type of a pool. */
struct gpu_option {
  const char *gpu;
  uint32_t gpus_per_node;
  int64_t price_uusd_h, on_demand_uusd_h;  /* of one GPU; the on-demand price may be HR_UNKNOWN_UUSD_H */
  double mem_gb;                           /* 0: unknown */
  const struct hr_instance_type *instance; /* in the catalogue; NULL: the option is a pool of the scenario */
  uint32_t pool;
};

struct gpu_options {
  struct gpu_option at[MAX_OPTIONS];
  size_t count;
};

/* The jobs for which another GPU type is sought, and their requirements. */
struct gpu_question {
  uint32_t pool, class_; /* class_: the class of these jobs; HR_N_CLASSES: all jobs of the pool */
  bool larger;
  uint64_t need_mib; /* maximum requested memory of one GPU; 0: no job states its memory */
  bool unknown;      /* some job does not state its memory */
  uint64_t typed;    /* starts of jobs that name acceptable GPU types */
};

/* The utilization of a pool if its GPUs are paid for while idle; NaN for other pools. */
static double fixed_utilization(const struct hr_advice *advice, uint32_t pool) {
  bool elastic = hr_market_is_elastic(hr__advice_pool(advice, pool)->market.market);
  return elastic && advice->managed ? HR__UNKNOWN : hr__run_profile_utilization(&advice->profile, pool);
}

/* ---- Other types ----------------------------------------------------------------------------------- */

/* Inserts an option into the list, which is sorted by price, if the option qualifies. An option does not qualify if
   its GPU type is already in the list. If the list is full, the most expensive option is dropped. */
static void add_option(const struct hr_advice *advice, const struct gpu_question *question,
                       const struct gpu_option *option, struct gpu_options *found) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  bool more_expensive = option->price_uusd_h > spec->market.price_uusd_h;
  bool fits = option->mem_gb * 1024 >= (double)question->need_mib;
  if (!fits || more_expensive != question->larger || option->price_uusd_h <= 0) return;
  if (question->larger && option->mem_gb * 1024 < (double)spec->gpu_mem_mib) return;
  if (spec->gpu && strcasecmp(option->gpu, spec->gpu) == 0) return;
  for (size_t i = 0; i < found->count; i++)
    if (strcasecmp(found->at[i].gpu, option->gpu) == 0) return;
  size_t place = found->count;
  while (place > 0 && found->at[place - 1].price_uusd_h > option->price_uusd_h) place--;
  if (place == MAX_OPTIONS) return;
  if (found->count < MAX_OPTIONS) found->count++;
  for (size_t i = found->count - 1; i > place; i--) found->at[i] = found->at[i - 1];
  found->at[place] = *option;
}

/* Whether node type `a` replaces nodes of `gpus` GPUs better than `b`. The same number of GPUs is best, then any larger
   number, then any smaller one. Of several larger or several smaller numbers the nearest is best. */
static bool is_closer_match(const struct hr_instance_type *a, const struct hr_instance_type *b, double gpus) {
  bool a_same = a->gpus == gpus, b_same = b->gpus == gpus;
  if (a_same != b_same) return a_same;
  bool a_more = a->gpus > gpus, b_more = b->gpus > gpus;
  if (a_more != b_more) return a_more;
  return fabs(a->gpus - gpus) < fabs(b->gpus - gpus);
}

static enum hr_status quote(const struct hr_advice *advice, uint32_t pool, const char *instance, enum hr_market market,
                            struct hr_price_quote *quote) {
  const struct hr_pool_source *source = &advice->config.scenario->pool_sources[pool];
  const cJSON *entry = cJSON_GetArrayItem(advice->pools, (int)pool);
  struct hr_price_query query = {
      .provider = source->provider, .instance = instance, .region = source->region, .market = market};
  if (market == HR_MARKET_RESERVED) {
    query.term = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "term"));
    query.upfront = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "upfront"));
    if (!query.term) return HR_BAD_INPUT;
  }
  query.as_of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "as_of"));
  return hr_catalog_price(advice->catalog, &query, quote, NULL);
}

/* Whether the price is for the accelerator alone, without a machine, as with Google. */
static bool is_bare_accelerator(const struct hr_instance_type *type) {
  return strncmp(type->name, "gpu-attach-", strlen("gpu-attach-")) == 0;
}

static bool quote_type(const struct hr_advice *advice, uint32_t pool, const struct hr_gpu_type *gpu,
                       struct gpu_option *option) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  const char *provider = advice->config.scenario->pool_sources[pool].provider;
  const struct hr_instance_type *best = NULL;
  struct hr_price_quote of_market, on_demand;
  for (size_t i = 0; i < advice->catalog->n_instances; i++) {
    const struct hr_instance_type *type = &advice->catalog->instances[i];
    if (strcasecmp(type->provider, provider) != 0 || strcasecmp(type->gpu, gpu->name) != 0 || type->gpus < 1) continue;
    if (is_bare_accelerator(type) || (best && !is_closer_match(type, best, spec->gpus_per_node))) continue;
    if (quote(advice, pool, type->name, spec->market.market, &of_market) == HR_OK) best = type;
  }
  if (!best || quote(advice, pool, best->name, spec->market.market, &of_market) != HR_OK) return false;
  bool known = quote(advice, pool, best->name, HR_MARKET_ON_DEMAND, &on_demand) == HR_OK;
  *option = (struct gpu_option){.gpu = gpu->name,
                                .gpus_per_node = (uint32_t)best->gpus,
                                .price_uusd_h = hr_price_quote_gpu_uusd_h(&of_market),
                                .on_demand_uusd_h = known ? hr_price_quote_gpu_uusd_h(&on_demand) : HR_UNKNOWN_UUSD_H,
                                .mem_gb = gpu->mem_gb,
                                .instance = best};
  return true;
}

static void find_in_catalog(const struct hr_advice *advice, const struct gpu_question *question,
                            struct gpu_options *found) {
  struct gpu_option option;
  for (size_t i = 0; i < advice->catalog->n_gpus; i++)
    if (quote_type(advice, question->pool, &advice->catalog->gpus[i], &option))
      add_option(advice, question, &option, found);
}

static void find_in_pools(const struct hr_advice *advice, const struct gpu_question *question,
                          struct gpu_options *found) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *other = &cluster->pools[i];
    if (!other->gpu || other->market.market != cluster->pools[question->pool].market.market) continue;
    add_option(advice, question,
               &(struct gpu_option){.gpu = other->gpu,
                                    .gpus_per_node = other->gpus_per_node,
                                    .price_uusd_h = other->market.price_uusd_h,
                                    .on_demand_uusd_h = other->market.on_demand_uusd_h,
                                    .mem_gb = (double)other->gpu_mem_mib / 1024,
                                    .pool = i},
               found);
  }
}

/* ---- The pool -------------------------------------------------------------------------------------- */

static uint32_t nodes_for(uint64_t gpus, const struct gpu_option *option) {
  return (uint32_t)((gpus + option->gpus_per_node - 1) / option->gpus_per_node);
}

/* Copies the properties of a node to `entry`. If the option is a pool of the scenario, they are from its entry,
   otherwise from the catalogue. */
static bool put_node(const struct hr_advice *advice, const struct gpu_option *option, cJSON *entry) {
  static const char *const keys[] = {"instance", "cpu_per_node", "mem_gb_per_node", "gpu_mem_gb", NULL};
  if (option->instance) return hr__put_text(entry, "instance", option->instance->name);
  const cJSON *other = cJSON_GetArrayItem(advice->pools, (int)option->pool);
  for (size_t i = 0; keys[i]; i++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(other, keys[i]);
    if (value && !hr__put_item(entry, keys[i], cJSON_Duplicate(value, true))) return false;
  }
  return hr__put_text(entry, "gpu", option->gpu) && hr__put_number(entry, "gpus_per_node", option->gpus_per_node);
}

static cJSON *typed_entry(const struct hr_advice *advice, const struct gpu_question *question,
                          const struct gpu_option *option, uint64_t gpus) {
  static const char *const unwanted[] = {"gpu",
                                         "gpus_per_node",
                                         "instance",
                                         "cpu_per_node",
                                         "cpu_per_gpu",
                                         "mem_gb_per_node",
                                         "gpu_mem_gb",
                                         "term",
                                         "usd_per_gpu_hour",
                                         "upfront",
                                         "discount",
                                         "interference",
                                         "interference_pairs",
                                         "owned",
                                         "as_of",
                                         "topology",
                                         "usd_per_node_hour",
                                         "on_demand_usd_per_gpu_hour",
                                         NULL};
  bool beside = question->class_ != HR_N_CLASSES;
  char suffix[100];
  snprintf(suffix, sizeof suffix, "-%.90s", option->gpu);
  cJSON *entry = hr__pool_entry(advice, question->pool, beside ? suffix : "", unwanted);
  bool done = entry && put_node(advice, option, entry) && hr__put_number(entry, "nodes", nodes_for(gpus, option)) &&
              hr__put_number(entry, "usd_per_gpu_hour", (double)option->price_uusd_h / 1e6);
  if (done && option->on_demand_uusd_h > 0)
    done = hr__put_number(entry, "on_demand_usd_per_gpu_hour", (double)option->on_demand_uusd_h / 1e6);
  if (done && hr__advice_pool(advice, question->pool)->market.market == HR_MARKET_OWNED)
    done = hr__put_text(entry, "market", "owned");
  if (done && beside) done = hr__put_class(entry, question->class_);
  if (done) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* A list of the other classes that may use the pool. A pool with this list no longer accepts jobs without a class. */
static cJSON *other_classes(const struct hr_advice *advice, const struct gpu_question *question) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = HR_CLASS_UNKNOWN + 1; list && i < HR_N_CLASSES; i++) {
    uint32_t allowed = hr__advice_pool(advice, question->pool)->classes;
    if (i == question->class_ || (allowed && !(allowed & 1u << i))) continue;
    cJSON *name = cJSON_CreateString(hr_job_class_name((enum hr_job_class)i));
    if (name && cJSON_AddItemToArray(list, name)) continue;
    cJSON_Delete(name);
    cJSON_Delete(list);
    return NULL;
  }
  return list;
}

/* Adds a pool for the class, and restricts the old pool to the other classes. A fixed old pool loses as many GPUs as
   the new pool has. */
static enum hr_status set_beside(const struct hr_advice *advice, const struct gpu_question *question,
                                 const struct gpu_option *option, struct hr__proposal *proposal,
                                 struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  uint64_t all = (uint64_t)spec->nodes * spec->gpus_per_node;
  uint64_t peak = (hr__run_profile_use(&advice->profile, question->class_, question->pool)->peak_milli + 999) / 1000;
  bool elastic = hr_market_is_elastic(spec->market.market);
  uint64_t moved = elastic || peak > all ? all : peak, left = (all - moved) / spec->gpus_per_node;
  char path[60];
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)advice->config.scenario->cluster.n_pools);
  enum hr_status status = hr__proposal_set_json(proposal, path, typed_entry(advice, question, option, moved), error);
  snprintf(path, sizeof path, "cluster.pools.%u.classes", (unsigned)question->pool);
  if (status == HR_OK) status = hr__proposal_set_json(proposal, path, other_classes(advice, question), error);
  if (status == HR_OK && !elastic)
    status = hr__proposal_set(proposal, error, "cluster.pools.%u.nodes=%u", (unsigned)question->pool, (unsigned)left);
  return status;
}

static enum hr_status set_in_place(const struct hr_advice *advice, const struct gpu_question *question,
                                   const struct gpu_option *option, struct hr__proposal *proposal,
                                   struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  char path[60];
  snprintf(path, sizeof path, "cluster.pools.%u", (unsigned)question->pool);
  return hr__proposal_set_json(
      proposal, path, typed_entry(advice, question, option, (uint64_t)spec->nodes * spec->gpus_per_node), error);
}

/* ---- Assumptions ----------------------------------------------------------------------------------- */

/* The speed of GPU type `gpu` relative to `old`, by the dense FP16 TFLOPS of the catalogue; NaN if unknown. */
static double speed_ratio(const struct hr_advice *advice, const char *gpu, const char *old) {
  const struct hr_gpu_type *a, *b;
  if (!old || hr_catalog_gpu(advice->catalog, gpu, &a, NULL) != HR_OK ||
      hr_catalog_gpu(advice->catalog, old, &b, NULL) != HR_OK)
    return HR__UNKNOWN;
  return a->fp16_tflops > 0 && b->fp16_tflops > 0 ? a->fp16_tflops / b->fp16_tflops : HR__UNKNOWN;
}

static enum hr_status assume_speed(const struct hr_advice *advice, const struct gpu_question *question,
                                   const struct gpu_option *option, struct hr__proposal *proposal,
                                   struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  const struct hr_speeds *speeds = hr__runner_scenario(advice->runner, proposal->candidate)->speeds;
  double ratio = speed_ratio(advice, option->gpu, spec->gpu);
  double share = (double)option->price_uusd_h / (double)spec->market.price_uusd_h;
  char known[100] = "";
  if (speeds) return hr_speed_notes(advice->config.trace, speeds, &proposal->assumed, error);
  if (!isnan(ratio))
    snprintf(known, sizeof known, "; by the catalogue's dense FP16 TFLOPS it is %.3g times as fast", ratio);
  return hr__proposal_assume(
      proposal, error,
      "speed assumed equal, since the scenario has no 'models': it saves per GPU-hour only if %s "
      "is at least %.3g times as fast as %s%s",
      option->gpu, share, spec->gpu ? spec->gpu : "the pool's GPUs", known);
}

static enum hr_status assume(const struct hr_advice *advice, const struct gpu_question *question,
                             const struct gpu_option *option, struct hr__proposal *proposal, struct hr_error *error) {
  enum hr_status status = assume_speed(advice, question, option, proposal, error);
  if (status == HR_OK && question->typed)
    status = hr__proposal_assume(proposal, error,
                                 "%" PRIu64 " job starts in the pool name acceptable GPU types, which are respected",
                                 question->typed);
  if (status == HR_OK && question->unknown)
    status = hr__proposal_assume(proposal, error, "jobs with unknown GPU memory are assumed to fit in %.4g GB",
                                 option->mem_gb);
  if (status != HR_OK) return status;
  return hr__proposal_assume(proposal, error, "a GPU-hour of %s costs $%.6g (%s%.100s)", option->gpu,
                             (double)option->price_uusd_h / 1e6, option->instance ? "catalogue: " : "pool ",
                             option->instance ? option->instance->name : hr__advice_pool(advice, option->pool)->name);
}

/* Checks a proposal at the catalogue's GPU speeds if the scenario has no speeds. If all pools have the same GPU type,
   the proposal is also run with speeds relative to that type. Such speeds do not change the runs of the unchanged
   scenario. If pools have different types, nothing is run. An objection is then stored if the price ratio of the two
   GPU types is larger than their speed ratio, but only for pools that are paid for only while allocated. */
static enum hr_status check_speed(struct hr_advice *advice, const struct gpu_question *question,
                                  const struct gpu_option *option, struct hr__proposal *proposal,
                                  struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  const struct hr_pool_spec *spec = &cluster->pools[question->pool];
  double ratio = speed_ratio(advice, option->gpu, spec->gpu);
  bool one_type = true;
  if (advice->config.scenario->speeds || isnan(ratio)) return HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    one_type &=
        !cluster->pools[i].nodes || (cluster->pools[i].gpu && strcasecmp(cluster->pools[i].gpu, spec->gpu) == 0);
  if (!one_type) {
    double share = (double)option->price_uusd_h / (double)spec->market.price_uusd_h;
    if (share > ratio && isnan(fixed_utilization(advice, question->pool)))
      snprintf(proposal->objection, sizeof proposal->objection,
               "by the catalogue's TFLOPS it is %.3g times as fast, at %.3g of the price", ratio, share);
    return HR_OK;
  }
  struct hr__proposal with_speeds = {.set = proposal->set};
  cJSON *models = cJSON_CreateObject();
  if (!models || !hr__put_text(models, "reference", spec->gpu)) {
    cJSON_Delete(models);
    models = NULL;
  }
  enum hr_status status = hr__proposal_set_json(&with_speeds, "models", models, error);
  proposal->set = with_speeds.set;
  if (status != HR_OK) return status;
  struct hr_error inner = {0};
  status = hr__runner_add_candidate(advice->runner, (const char *const *)proposal->set.at, proposal->set.count,
                                    advice->environment, &proposal->stricter, &inner);
  free(proposal->set.at[--proposal->set.count]);
  if (status == HR_OK) return HR_OK;
  proposal->stricter = HR_NONE;
  return status == HR_BAD_INPUT ? HR_OK : hr_fail(error, status, "%s", inner.text);
}

static enum hr_status propose(struct hr_advice *advice, const struct gpu_question *question,
                              const struct gpu_option *option, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, question->pool);
  struct hr__proposal proposal;
  hr__proposal_init(&proposal, HR_ADVICE_GPU_TYPE, question->class_, question->pool);
  snprintf(proposal.from, sizeof proposal.from, "%.90s", spec->gpu ? spec->gpu : "untyped GPUs");
  snprintf(proposal.to, sizeof proposal.to, "%.90s%s%.90s", option->gpu, option->instance ? " on " : "",
           option->instance ? option->instance->name : "");
  enum hr_status status = question->class_ == HR_N_CLASSES ? set_in_place(advice, question, option, &proposal, error)
                                                           : set_beside(advice, question, option, &proposal, error);
  if (status == HR_OK) status = hr__proposal_load(advice, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE) status = assume(advice, question, option, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE)
    status = check_speed(advice, question, option, &proposal, error);
  if (status == HR_OK && proposal.candidate != HR_NONE) return hr__proposal_keep(advice, &proposal, error);
  hr__proposal_finish(&proposal);
  return status;
}

static enum hr_status propose_all(struct hr_advice *advice, const struct gpu_question *question,
                                  struct hr_error *error) {
  const struct hr_pool_source *sources = advice->config.scenario->pool_sources;
  struct gpu_options found = {.count = 0};
  enum hr_status status = HR_OK;
  find_in_pools(advice, question, &found);
  if (sources && sources[question->pool].provider &&
      hr__advice_pool(advice, question->pool)->market.market != HR_MARKET_OWNED)
    find_in_catalog(advice, question, &found);
  /* If all speeds are equal, a more expensive type can save money only through its memory, so one option suffices. */
  if (question->larger && !advice->config.scenario->speeds && found.count > 1) found.count = 1;
  for (size_t i = 0; i < found.count && status == HR_OK; i++) status = propose(advice, question, &found.at[i], error);
  return status;
}

/* ---- Pools and classes to examine ------------------------------------------------------------------ */

/* Compares requested memory with the memory of a GPU. Returns a value below 0 if a smaller type suffices, and a value
   above 0 if a larger type may be needed. */
static int memory_fit(const struct hr_pool_spec *spec, const struct hr__pool_use *use) {
  if (!spec->gpu_mem_mib || !use->max_mem_mib) return 0;
  double share = (double)use->max_mem_mib / spec->gpu_mem_mib;
  return share < low_share && !use->mem_unknown ? -1 : share > high_share ? 1 : 0;
}

static void add_needs(const struct hr_advice *advice, struct gpu_question *question) {
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    const struct hr__pool_use *use = hr__run_profile_use(&advice->profile, i, question->pool);
    if ((question->class_ != HR_N_CLASSES && question->class_ != i) || use->starts == 0) continue;
    if (use->max_mem_mib > question->need_mib) question->need_mib = use->max_mem_mib;
    question->unknown |= use->mem_unknown > 0;
    question->typed += use->typed;
  }
}

static uint32_t count_classes(const struct hr__run_profile *profile, uint32_t pool) {
  uint32_t count = 0;
  for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++)
    count += hr__run_profile_use(profile, class_, pool)->starts > 0;
  return count;
}

static enum hr_status advise_pool(struct hr_advice *advice, uint32_t pool, struct hr_error *error) {
  const struct hr_pool_spec *spec = hr__advice_pool(advice, pool);
  uint32_t users = count_classes(&advice->profile, pool), small = 0, large = 0;
  double allocated = fixed_utilization(advice, pool);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    int fit = memory_fit(spec, hr__run_profile_use(&advice->profile, i, pool));
    small += fit < 0;
    large += fit > 0;
  }
  struct gpu_question whole = {
      .pool = pool, .class_ = HR_N_CLASSES, .larger = allocated > high_share || large == users};
  add_needs(advice, &whole);
  if (allocated < low_share || allocated > high_share || small == users || large == users)
    return propose_all(advice, &whole, error);
  bool nameless = hr__run_profile_use(&advice->profile, HR_CLASS_UNKNOWN, pool)->starts > 0;
  for (uint32_t i = HR_CLASS_UNKNOWN + 1; i < HR_N_CLASSES && !nameless && status == HR_OK; i++) {
    int fit = memory_fit(spec, hr__run_profile_use(&advice->profile, i, pool));
    struct gpu_question one = {.pool = pool, .class_ = i, .larger = fit > 0};
    add_needs(advice, &one);
    if (fit) status = propose_all(advice, &one, error);
  }
  return status;
}

enum hr_status hr__advise_gpu_types(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < advice->profile.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = hr__advice_pool(advice, i);
    bool priced = spec->market.price_uusd_h > 0 && spec->market.market != HR_MARKET_SPOT;
    if (priced && spec->nodes && spec->sharing != HR_SHARING_MIG && count_classes(&advice->profile, i))
      status = advise_pool(advice, i, error);
  }
  return status;
}
