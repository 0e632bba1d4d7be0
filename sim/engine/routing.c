/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routing of jobs to clusters during a run. This file computes the homes of jobs, the offers of the clusters, and the
 * loads of the clusters. sim/clusters/ then chooses a cluster. The second part of the file handles jobs that may change
 * their cluster: they have copies in several clusters or are routed again.
 *
 * Whether an empty cluster could run a job, and at what price, depends on only a few properties of the job (struct
 * hr__traits). For each combination of these properties, the prices in all clusters are stored in one row. Most jobs
 * therefore need one look-up and one scan of adjacent memory. Invariant: a row is valid for the whole run. For a
 * cluster with prices that change, or if jobs require tiers, the price is computed for each job.
 */

#include "base/containers.h"
#include "base/process.h"
#include "sim/clusters/clusters.h"
#include "sim/data/data.h"
#include "sim/engine/clusters.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The price of pools without a known price. It is higher than all known prices, so the router chooses these pools
   last. */
#define UNKNOWN_PRICE (HR_NEVER_US - 1)

/* ---- Offers ----------------------------------------------------------------------------------------- */

/* Returns the lowest additional price of a GPU hour for a job in a cluster now. Owned and reserved nodes have no
   additional price, because they are paid for even if they are idle. */
static int64_t price_of(const struct hr_cluster *cluster, hr_job job, int64_t now_us) {
  const uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  int64_t lowest = HR_NEVER_US;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->spec->pools[i].market;
    if (cluster->spec->pools[i].nodes == 0 || !hr_cluster_accepts(cluster, accept_class, (hr_pool){i})) continue;
    int64_t price = hr_market_is_elastic(market->market) ? hr_market_price_at(market, now_us) : 0;
    if (price < 0) price = UNKNOWN_PRICE;
    if (price < lowest) lowest = price;
  }
  return lowest;
}

/* Returns the price of a GPU hour for a job in a cluster. Returns HR_NEVER_US if the cluster can never run the job. */
static int64_t offer_of(const struct hr__part *part, hr_job job, int64_t now_us) {
  const struct hr_cluster *pools = &part->engine.cluster;
  return hr__cluster_never_fits(pools, job) == HR_REASON_NONE ? price_of(pools, job, now_us) : HR_NEVER_US;
}

/* Returns whether the price of some pool changes during the run. */
static bool prices_change(const struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->spec->pools[i].market.n_prices) return true;
  return false;
}

static uint32_t number_of(const uint32_t *column, hr_job job) {
  return column ? column[job.id] : 0;
}

static struct hr__traits traits_of(const struct hr__clusters *all, hr_job job) {
  const struct hr_trace *trace = all->whole->trace;
  const struct hr_cluster *pools = &all->whole->cluster;
  return (struct hr__traits){
      .request = pools->requests ? pools->requests->of_job[job.id] : trace->gpus[job.id],
      .gpu_types = number_of(trace->gpu_types, job),
      .regions = number_of(trace->regions, job),
      .class_ = trace->class_ ? trace->class_[job.id] : 0,
      .gpu_mem_mib = trace->gpu_mem_mib ? trace->gpu_mem_mib[job.id] : 0,
      .mig_profile = number_of(trace->mig_profile, job),
      .flags = trace->flags ? trace->flags[job.id] : 0,
      .model = all->offers.by_model ? number_of(trace->model, job) : 0,
  };
}

static bool same_traits(const struct hr__traits *a, const struct hr__traits *b) {
  return a->request == b->request && a->gpu_types == b->gpu_types && a->regions == b->regions &&
         a->class_ == b->class_ && a->gpu_mem_mib == b->gpu_mem_mib && a->mig_profile == b->mig_profile &&
         a->flags == b->flags && a->model == b->model;
}

static uint64_t hash_of(const struct hr__traits *traits) {
  const uint64_t words[] = {(uint64_t)traits->request << 32 | traits->gpu_types,
                            (uint64_t)traits->regions << 32 | traits->class_,
                            (uint64_t)traits->flags << 32 | traits->mig_profile, traits->gpu_mem_mib, traits->model};
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Sets all prices of a row to unknown, and returns the row. */
static uint32_t clear_row(const struct hr__clusters *all, uint32_t row) {
  int64_t *price = all->offers.price + (size_t)row * all->spec->count;
  for (uint32_t i = 0; i < all->spec->count; i++) price[i] = HR__OFFER_UNKNOWN;
  all->offers.same_as[row] = HR_NONE;
  return row;
}

/* Adds a row. Returns its number + 1. */
static uint32_t add_row(struct hr__clusters *all, struct hr__traits traits) {
  all->offers.traits[all->offers.n_rows] = traits;
  clear_row(all, all->offers.n_rows);
  return ++all->offers.n_rows;
}

/* Returns the row of a job's traits. Adds the row if the table does not have it. If the table is full, returns the
   temporary row HR__OFFER_ROWS. */
static uint32_t row_of(struct hr__clusters *all, hr_job job) {
  struct hr__offers *offers = &all->offers;
  const bool is_full = offers->n_rows == HR__OFFER_ROWS;
  uint32_t *slot;
  if (offers->is_plain && all->whole->trace->gpus[job.id] < HR__PLAIN_GPUS) {
    slot = &offers->plain[all->whole->trace->gpus[job.id]];
    if (!*slot && !is_full) *slot = add_row(all, traits_of(all, job));
  } else {
    const struct hr__traits traits = traits_of(all, job);
    uint64_t at = hash_of(&traits) % HR__OFFER_SLOTS;
    while (offers->slot[at] && !same_traits(&offers->traits[offers->slot[at] - 1], &traits))
      at = (at + 1) % HR__OFFER_SLOTS;
    slot = &offers->slot[at];
    if (!*slot && !is_full) *slot = add_row(all, traits);
  }
  return *slot ? *slot - 1 : clear_row(all, HR__OFFER_ROWS);
}

/* Returns the first row that has the same prices as a row of the table. */
static uint32_t first_same(const struct hr__offers *offers, uint32_t row, uint32_t count) {
  uint32_t first = 0;
  const size_t bytes = count * sizeof *offers->price;
  while (memcmp(offers->price + (size_t)first * count, offers->price + (size_t)row * count, bytes) != 0) first++;
  return first;
}

/* Returns the index of a job's tenant in tables by tenant. Jobs without a tenant have the last index. */
static uint32_t tenant_of(const struct hr__clusters *all, hr_job job) {
  const struct hr_trace *trace = all->whole->trace;
  const bool has_tenant = trace->tenant && trace->tenant[job.id] != HR_NONE;
  return has_tenant ? trace->tenant[job.id] : trace->tenants.count;
}

/* Updates the prices in the loads of all clusters, and which clusters could run the job. */
static void routing_ask(struct hr__clusters *all, hr_job job, int64_t now_us) {
  const uint8_t *serves = all->serves ? all->serves + (size_t)tenant_of(all, job) * all->spec->count : NULL;
  struct hr__offers *offers = &all->offers;
  const uint32_t row = row_of(all, job);
  int64_t *price = offers->price + (size_t)row * all->spec->count;
  bool keeps = row < HR__OFFER_ROWS;
  if (offers->asked != HR_NONE && offers->same_as[row] == offers->asked && serves == all->asked_serves) return;
  all->asked_serves = serves;
  for (uint32_t i = 0; i < all->spec->count; i++) {
    keeps = keeps && all->at[i].has_kinds;
    int64_t offer = price[i];
    if (offer == HR__OFFER_UNKNOWN) {
      offer = offer_of(&all->at[i], job, now_us);
      if (all->at[i].has_kinds) price[i] = offer;
    }
    all->loads[i].price_uusd_h = offer;
    all->loads[i].eligible = offer != HR_NEVER_US && (!serves || serves[i]);
  }
  if (keeps && offers->same_as[row] == HR_NONE) offers->same_as[row] = first_same(offers, row, all->spec->count);
  offers->asked = keeps ? offers->same_as[row] : HR_NONE;
}

/* ---- Choice ----------------------------------------------------------------------------------------- */

uint32_t hr__routing_home(const struct hr__clusters *all, hr_job job) {
  return all->home[tenant_of(all, job)];
}

/* Predicts how long a job with `milli` milli-GPUs would wait in each cluster. If the job already waits in a cluster,
   its predicted wait there is not shorter than the time that it has already waited. Some routers need only the shortest
   wait. For them, the prediction for a cluster ends as soon as its wait is longer than the shortest wait so far. */
static void predict(struct hr__clusters *all, uint64_t milli, int64_t now_us) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const bool only_shortest =
      router->kind == HR_JOB_ROUTER_SHORTEST_WAIT && !router->prefers_local_data && all->stays == HR_NONE;
  int64_t limit_us = HR_NEVER_US;
  for (uint32_t i = 0; i < all->spec->count && only_shortest; i++) {
    const struct hr__cluster_load *load = &all->loads[i];
    limit_us = (load->eligible & (load->used_milli + milli <= load->size_milli)) ? 0 : limit_us;
  }
  for (uint32_t i = 0; i < all->spec->count; i++) {
    struct hr__cluster_load *load = &all->loads[i];
    if (!load->eligible) continue;
    const struct hr__part *part = &all->at[i];
    load->wait_us = hr__predicted_wait_us(load, &part->releases, part->waiting_work, milli, now_us, limit_us);
    if (only_shortest && load->wait_us < limit_us) limit_us = load->wait_us;
    if (i == all->stays && load->wait_us < all->waited_us) load->wait_us = all->waited_us;
  }
}

/* Returns whether some pool of the cluster can read the data of a job on a path that crosses no link. Returns true if
   the job reads no data. */
static bool has_local_data(const struct hr__engine *engine, hr_job job) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->cluster.pools[i].spec->nodes > 0 && hr__data_is_local(engine, job, (hr_pool){i})) return true;
  return false;
}

/* If the predicted wait in a cluster with the data of the job is at most local_wait_us, excludes all clusters without
   the data. */
static void prefer_local_data(struct hr__clusters *all, hr_job job) {
  const uint32_t n = all->spec->count;
  const int64_t most_us = all->spec->router.local_wait_us;
  bool any = false;
  for (uint32_t i = 0; i < n && !any; i++)
    any = all->loads[i].eligible && all->loads[i].wait_us <= most_us && has_local_data(&all->at[i].engine, job);
  for (uint32_t i = 0; i < n && any; i++)
    if (!has_local_data(&all->at[i].engine, job)) all->loads[i].eligible = false;
  if (any) all->offers.asked = HR_NONE; /* the loads differ from all rows of offers */
}

/* Returns the cluster that the rule of the router `affinity` chooses for a job. If no cluster can run the job, returns
   its home, which then rejects the job. If the rule allows only its own clusters, returns HR_NONE in this case. */
static uint32_t prefer(struct hr__clusters *all, hr_job job, const struct hr__routed_job *routed) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const struct hr_trace *trace = all->whole->trace;
  const uint32_t class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN;
  const uint32_t rule = all->rule[(size_t)tenant_of(all, job) * HR_N_CLASSES + class_];
  uint32_t home = routed->home;
  const struct hr_job_router_rule none = {.clusters = &home, .n_clusters = 1};
  const struct hr_job_router_rule *chosen = rule ? &router->rules[rule - 1] : &none;
  const uint32_t to = hr__job_router_prefer(router, chosen, all->loads, all->spec->count);
  return to == HR_NONE && !chosen->only ? home : to;
}

/* Calls the router of a shared object. If the router returns a cluster that cannot run the job or does not exist, the
   run ends with an error. */
static uint32_t ask_plugin(struct hr__clusters *all, hr_job job, const struct hr__routed_job *routed, int64_t now_us) {
  const struct hr_router_ops *ops = all->spec->router.ops;
  const uint32_t n = all->spec->count;
  const bool has_data = all->at[0].engine.data;
  const struct hr_router_job asked = {.job = job,
                                      .milli = routed->milli,
                                      .now_us = now_us,
                                      .run_us = routed->expected_us,
                                      .slack_us = routed->slack_us,
                                      .home = routed->home,
                                      .present = all->stays};
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__cluster_load *load = &all->loads[i];
    all->plugin.clusters[i] =
        (struct hr_router_cluster){.name = all->spec->at[i].name,
                                   .eligible = load->eligible,
                                   .has_data = !has_data || has_local_data(&all->at[i].engine, job),
                                   .n_waiting = load->n_waiting,
                                   .size_milli = load->size_milli,
                                   .used_milli = load->used_milli,
                                   .wait_us = load->eligible ? load->wait_us : HR_NEVER_US,
                                   .price_uusd_h = load->eligible ? load->price_uusd_h : HR_NEVER_US};
  }
  hr__policy_enter(all->plugin.call, "choose");
  const uint32_t to = ops->choose(all->plugin.self, &asked, all->plugin.clusters, n);
  hr__policy_leave(all->plugin.call);
  if (to == HR_NONE) return routed->home;
  if (to < n && all->loads[to].eligible) return to;
  const char *fault = to < n ? "could not run it" : "does not exist";
  all->plugin.failed = hr_fail(all->whole->error, HR_BAD_POLICY,
                               "router '%s' at %.6f s sent job %" PRIu32 " to cluster %" PRIu32 ", which %s", ops->name,
                               (double)now_us / HR_SECOND_US, job.id, to, fault);
  return routed->home;
}

uint32_t hr__routing_choose(struct hr__clusters *all, hr_job job, int64_t now_us) {
  const struct hr_trace *trace = all->whole->trace;
  const struct hr_clusters *spec = all->spec;
  const uint32_t home = hr__routing_home(all, job);
  if (spec->router.kind == HR_JOB_ROUTER_HOME || home == HR_NONE) return home;
  routing_ask(all, job, now_us);
  if (spec->router.kind == HR_JOB_ROUTER_LEAST_LOADED && !all->predicts) {
    const struct hr__routed_job any = {.home = home}; /* the choice depends on the loads only */
    return hr__job_router_choose(&spec->router, all->loads, spec->count, &any, &all->spilled_uusd);
  }
  const bool has_deadline = trace->deadline_us && trace->deadline_us[job.id] != HR_UNKNOWN_US;
  const struct hr__routed_job routed = {
      .milli = hr_cluster_asked_milli(&all->whole->cluster, job),
      .expected_us = hr__expected_us(trace, job),
      .slack_us = has_deadline ? trace->deadline_us[job.id] - now_us : HR_NEVER_US,
      .home = home,
  };
  if (all->predicts) predict(all, routed.milli, now_us);
  if (spec->router.prefers_local_data && all->at[0].engine.data) prefer_local_data(all, job);
  if (all->rule) return prefer(all, job, &routed);
  if (spec->router.kind == HR_JOB_ROUTER_PLUGIN) return ask_plugin(all, job, &routed, now_us);
  return hr__job_router_choose(&spec->router, all->loads, spec->count, &routed, &all->spilled_uusd);
}

/* ---- Tenants ---------------------------------------------------------------------------------------- */

static bool has_name(char *const *names, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* Stores which clusters serve which tenants. */
static enum hr_status find_served(struct hr__clusters *all) {
  const struct hr_names *tenants = &all->whole->trace->tenants;
  const uint32_t n = all->spec->count;
  bool any = false;
  for (uint32_t i = 0; i < n; i++) any = any || all->spec->at[i].n_only;
  if (!any) return HR_OK;
  all->serves = hr_arena_alloc(&all->whole->arena, ((size_t)tenants->count + 1) * n);
  if (!all->serves) return hr__out_of_memory(all->whole);
  for (uint32_t name = 0; name <= tenants->count; name++)
    for (uint32_t i = 0; i < n; i++) {
      const struct hr_cluster_part *part = &all->spec->at[i];
      const bool is_named = name < tenants->count && has_name(part->only, part->n_only, tenants->text[name]);
      all->serves[(size_t)name * n + i] = !part->n_only || is_named;
    }
  return HR_OK;
}

/* Finds the home of each tenant. The home is the first cluster that names the tenant in `tenants`. If no cluster names
   the tenant, the home is the first cluster that serves it. */
static void find_homes(struct hr__clusters *all) {
  const struct hr_names *tenants = &all->whole->trace->tenants;
  const uint32_t n = all->spec->count;
  for (uint32_t name = 0; name <= tenants->count; name++) {
    all->home[name] = HR_NONE;
    for (uint32_t i = n; i-- > 0;)
      if (!all->serves || all->serves[(size_t)name * n + i]) all->home[name] = i;
    for (uint32_t i = n; i-- > 0 && name < tenants->count;)
      if (has_name(all->spec->at[i].tenants, all->spec->at[i].n_tenants, tenants->text[name])) all->home[name] = i;
  }
}

/* Returns whether a rule applies to jobs of a tenant and class. `tenant`: NULL for jobs without a tenant. */
static bool applies(const struct hr_job_router_rule *rule, const char *tenant, uint32_t class_) {
  if (rule->n_tenants && (!tenant || !has_name(rule->tenants, rule->n_tenants, tenant))) return false;
  return !rule->classes || rule->classes >> class_ & 1;
}

/* Finds the first rule of `affinity` for each tenant and class. */
static enum hr_status find_rules(struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const struct hr_names *tenants = &all->whole->trace->tenants;
  if (router->kind != HR_JOB_ROUTER_AFFINITY) return HR_OK;
  if (!HR__ARENA_ARRAY(&all->whole->arena, all->rule, ((size_t)tenants->count + 1) * HR_N_CLASSES))
    return hr__out_of_memory(all->whole);
  for (uint32_t name = 0; name <= tenants->count; name++)
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++)
      for (uint32_t i = router->n_rules; i-- > 0;)
        if (applies(&router->rules[i], name < tenants->count ? tenants->text[name] : NULL, class_))
          all->rule[(size_t)name * HR_N_CLASSES + class_] = i + 1;
  return HR_OK;
}

/* ---- Start of a run --------------------------------------------------------------------------------- */

/* Returns whether jobs differ only in their number of GPUs. */
static bool is_plain(const struct hr__clusters *all) {
  const struct hr_trace *trace = all->whole->trace;
  return !trace->gpu_types && !trace->regions && !trace->class_ && !trace->gpu_mem_mib && !trace->mig_profile &&
         !trace->flags && !all->offers.by_model && !all->whole->cluster.requests;
}

/* Creates the state of the router of a shared object. */
static enum hr_status create_plugin(struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__engine *whole = all->whole;
  const uint32_t n = all->spec->count;
  if (router->kind != HR_JOB_ROUTER_PLUGIN) return HR_OK;
  const char **names = hr_arena_alloc(&whole->arena, n * sizeof *names);
  if (!HR__ARENA_ARRAY(&whole->arena, all->plugin.clusters, n) || !names) return hr__out_of_memory(whole);
  for (uint32_t i = 0; i < n; i++) names[i] = all->spec->at[i].name;
  const struct hr_router_env env = {.size = sizeof env,
                                    .arena = &whole->arena,
                                    .jobs = whole->trace,
                                    .names = names,
                                    .n_clusters = n,
                                    .params = router->params};
  all->plugin.call = hr__policy_guard_claim(router->ops->name);
  if (!router->ops->create) return HR_OK;
  hr__policy_enter(all->plugin.call, "create");
  const enum hr_status status = router->ops->create(&env, &all->plugin.self, whole->error);
  hr__policy_leave(all->plugin.call);
  all->plugin.created = status == HR_OK;
  if (status == HR_OK) return HR_OK;
  if (status == HR_NO_MEMORY) return hr__out_of_memory(whole);
  return status == HR_BAD_INPUT
             ? status
             : hr_fail(whole->error, HR_BAD_POLICY, "router '%s' failed to create its state", router->ops->name);
}

enum hr_status hr__routing_begin(struct hr__clusters *all) {
  struct hr_arena *arena = &all->whole->arena;
  struct hr__offers *offers = &all->offers;
  const uint32_t n = all->spec->count;
  if (!HR__ARENA_ARRAY(arena, offers->traits, HR__OFFER_ROWS) ||
      !HR__ARENA_ARRAY(arena, offers->slot, HR__OFFER_SLOTS) ||
      !HR__ARENA_ARRAY(arena, offers->plain, HR__PLAIN_GPUS) ||
      !HR__ARENA_ARRAY(arena, offers->price, (HR__OFFER_ROWS + 1) * (size_t)n) ||
      !HR__ARENA_ARRAY(arena, offers->same_as, HR__OFFER_ROWS + 1))
    return hr__out_of_memory(all->whole);
  offers->asked = HR_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__engine *engine = &all->at[i].engine;
    all->at[i].has_kinds = !engine->cluster.tiers_within && !prices_change(&engine->cluster);
    offers->by_model = offers->by_model || engine->speeds.table;
    for (uint32_t pool = 0; pool < engine->cluster.n_pools; pool++)
      all->loads[i].size_milli += engine->cluster.pools[pool].size_milli;
  }
  offers->is_plain = is_plain(all);
  all->whole->barred = all->whole->fitting = (hr_job){HR_NONE};
  all->stays = HR_NONE;
  enum hr_status status = find_served(all);
  if (status == HR_OK) status = find_rules(all);
  if (status == HR_OK) find_homes(all);
  return status == HR_OK ? create_plugin(all) : status;
}

void hr__routing_end(struct hr__clusters *all) {
  const struct hr_router_ops *ops = all->spec->router.ops;
  const bool has_destroy = ops && ops->size >= offsetof(struct hr_router_ops, destroy) + sizeof ops->destroy;
  hr__policy_enter(all->plugin.call, "destroy");
  if (all->plugin.created && has_destroy && ops->destroy) ops->destroy(all->plugin.self);
  hr__policy_guard_release(all->plugin.call);
  all->plugin.call = NULL;
  all->plugin.created = false;
}

/* ---- Dispatch --------------------------------------------------------------------------------------- */

/*
 * Jobs that may change their cluster. There are two kinds. With the routers `multikueue` and `slurm-federation`, copies
 * of a job wait in several clusters until one cluster starts the job. With the router `skypilot` or the key
 * `reroute_s`, a waiting job is sent to another cluster.
 *
 * A copy leaves a cluster in two steps. First the policy of the cluster is notified (HR_EVENT_WITHDRAW) and removes the
 * job from its data. In its next pass, at the same instant, the policy rejects the job. The engine replaces this
 * rejection by a move that only removes the copy from this cluster. During this pass, the job has the state of a
 * waiting job, even if it runs in another cluster. When the first copy starts, the other copies are withdrawn at the
 * same instant, before any other cluster makes a pass. A job therefore never runs twice.
 *
 * Invariant: `copies` is the set of clusters with policies that know the job. One of these copies is not counted in
 * `n_extra`. A job that has started remains in its cluster. The times at which jobs are routed again are in the event
 * heap of the whole run.
 *
 * Sources: kubernetes-sigs/kueue, pkg/controller/admissionchecks/multikueue; SchedMD/slurm, doc/html/federation.shtml;
 * skypilot-org/skypilot, sky/optimizer.py and the fail-over of its back end.
 */

static uint64_t bit_of(uint32_t cluster) {
  return UINT64_C(1) << cluster;
}

static uint32_t lowest_of(uint64_t clusters) {
  return (uint32_t)__builtin_ctzll(clusters);
}

/* ---- Dispatch: copies ------------------------------------------------------------------------------- */

/* Submits a job to a cluster. The job may already have copies in other clusters. */
static enum hr_status send_copy(struct hr__part *part, hr_job job, int64_t now_us) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  const bool is_extra = sending->copies != 0;
  enum hr_status status = hr__clusters_wake(part, now_us);
  if (status != HR_OK) return status;
  sending->copies |= bit_of(part->index);
  all->n_extra += is_extra;
  all->whole->view.n_waiting -= is_extra;
  all->is_copy = is_extra || sending->is_sent;
  sending->is_sent = true;
  sending->sent_us = now_us;
  status = hr__job_submit(&part->engine, job);
  all->is_copy = false;
  hr__clusters_count(part);
  return status;
}

/* Sends copies of a job to clusters, in their order. */
static enum hr_status send_copies(struct hr__clusters *all, hr_job job, uint64_t clusters, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (; clusters && status == HR_OK; clusters &= clusters - 1)
    status = send_copy(&all->at[lowest_of(clusters)], job, now_us);
  return status;
}

/* Withdraws a copy of a job from a cluster: notifies the policy, which then rejects the job in its next pass. Has no
   effect if the cluster has no copy or the copy is already leaving. */
static enum hr_status withdraw(struct hr__part *part, hr_job job, int64_t now_us) {
  struct hr__sending *sending = &part->all->sending[job.id];
  enum hr_status status = hr__clusters_wake(part, now_us);
  if (status != HR_OK || !(sending->copies & ~sending->leaving & bit_of(part->index))) return status;
  if (!HR__ARRAY_HAS_ROOM(part->going, part->n_going, part->going_capacity)) return hr__out_of_memory(part->all->whole);
  part->going[part->n_going++] = job;
  sending->leaving |= bit_of(part->index);
  part->n_events = UINT64_MAX; /* the cluster makes a pass at this instant, even without an event */
  return hr__notify_policy(&part->engine,
                           HR__JOB_EVENT(&part->engine, HR_EVENT_WITHDRAW, HR_REASON_WITHDRAWN, job, NULL));
}

void hr__dispatch_disguise(struct hr__part *part) {
  struct hr__engine *whole = part->all->whole;
  for (uint32_t i = 0; i < part->n_going; i++) {
    const uint32_t job = part->going[i].id;
    part->all->sending[job].state = whole->state[job];
    part->all->sending[job].reason = whole->reason[job];
    whole->state[job] = HR_JOB_WAITING;
  }
}

/* If the policy has started a job in the pass, the new state of the job is not changed. */
void hr__dispatch_undisguise(struct hr__part *part) {
  struct hr__engine *whole = part->all->whole;
  for (uint32_t i = 0; i < part->n_going; i++) {
    const uint32_t job = part->going[i].id;
    if (whole->state[job] == HR_JOB_RUNNING) continue;
    whole->state[job] = part->all->sending[job].state;
    whole->reason[job] = part->all->sending[job].reason;
  }
  part->n_going = 0;
}

bool hr__dispatch_must_leave(const struct hr__engine *engine, hr_job job) {
  const struct hr__part *part = hr__part_of(engine);
  return part->all->sending && part->all->sending[job.id].leaving & bit_of(part->index);
}

void hr__dispatch_mark(const struct hr__engine *engine, hr_job job, bool leaves) {
  const struct hr__part *part = hr__part_of(engine);
  if (leaves)
    part->all->sending[job.id].leaving &= ~bit_of(part->index);
  else
    part->all->sending[job.id].leaving |= bit_of(part->index);
}

/* Removes a copy of a job from the sets and counts. */
static void forget_copy(struct hr__part *part, hr_job job) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  sending->copies &= ~bit_of(part->index);
  sending->leaving &= ~bit_of(part->index);
  part->engine.n_left++;
  if (!sending->copies) return;
  all->n_extra--;
  all->whole->view.n_waiting++;
}

/* Adds a job to `todo` for hr__dispatch_go_on. */
static enum hr_status note(struct hr__clusters *all, hr_job job) {
  if (!HR__ARRAY_HAS_ROOM(all->todo, all->n_todo, all->todo_capacity)) return hr__out_of_memory(all->whole);
  all->todo[all->n_todo++] = job;
  return HR_OK;
}

enum hr_status hr__dispatch_left(struct hr__engine *engine, hr_job job) {
  struct hr__part *part = hr__part_of(engine);
  hr__clusters_count_waiting(part, job, false);
  forget_copy(part, job);
  HR__EACH_ACTIVE(engine, leave, at)(*at)->leave(engine, job);
  hr__clusters_count(part);
  return part->all->sending[job.id].target == HR_NONE ? HR_OK : note(part->all, job);
}

enum hr_status hr__dispatch_started(struct hr__part *part, hr_job job) {
  struct hr__clusters *all = part->all;
  struct hr__sending *sending = &all->sending[job.id];
  sending->leaving &= ~bit_of(part->index);
  sending->target = HR_NONE;
  all->of_job[job.id] = part->index;
  return sending->copies == bit_of(part->index) ? HR_OK : note(all, job);
}

bool hr__dispatch_rejected(struct hr__part *part, hr_job job) {
  struct hr__engine *whole = part->all->whole;
  struct hr__sending *sending = &part->all->sending[job.id];
  if (!(sending->copies & ~bit_of(part->index))) return false;
  forget_copy(part, job);
  part->engine.n_rejected--;
  whole->state[job.id] = HR_JOB_WAITING;
  whole->reason[job.id] = HR_REASON_NONE;
  part->all->of_job[job.id] = lowest_of(sending->copies);
  return true;
}

/* ---- Dispatch: work that other clusters cause ------------------------------------------------------- */

static enum hr_status withdraw_all(struct hr__clusters *all, hr_job job, uint64_t clusters, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (; clusters && status == HR_OK; clusters &= clusters - 1)
    status = withdraw(&all->at[lowest_of(clusters)], job, now_us);
  return status;
}

enum hr_status hr__dispatch_go_on(struct hr__clusters *all, int64_t now_us) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < all->n_todo && status == HR_OK; i++) {
    const hr_job job = all->todo[i];
    struct hr__sending *sending = &all->sending[job.id];
    const uint32_t to = sending->target;
    if (to == HR_NONE) {
      status = withdraw_all(all, job, sending->copies & ~bit_of(all->of_job[job.id]), now_us);
      continue;
    }
    sending->target = HR_NONE;
    all->at[all->of_job[job.id]].result.n_rerouted++;
    all->of_job[job.id] = to;
    status = send_copy(&all->at[to], job, now_us);
  }
  all->n_todo = 0;
  return status;
}

/* ---- Dispatch: new jobs ----------------------------------------------------------------------------- */

/* Returns whether the router sends copies of a job to several clusters. */
static bool is_sibling(enum hr_job_router_kind kind) {
  return kind == HR_JOB_ROUTER_MULTIKUEUE || kind == HR_JOB_ROUTER_FEDERATION;
}

static enum hr_status set_timer(struct hr__clusters *all, hr_job job, int64_t at_us) {
  return hr__schedule(all->whole, at_us, HR__PENDING_TIMER, job.id);
}

static uint64_t eligible(const struct hr__clusters *all) {
  uint64_t found = 0;
  for (uint32_t i = 0; i < all->spec->count; i++)
    if (all->loads[i].eligible) found |= bit_of(i);
  return found;
}

/* Returns the set of clusters that MultiKueue nominates next for a job. `*more` is set to true if another round
   follows, and to false if not. */
static uint64_t nominate(struct hr__clusters *all, hr_job job, int64_t now_us, bool *more) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__sending *sending = &all->sending[job.id];
  uint32_t preference[HR__MAX_COPIES], nominated[HR__MAX_COPIES], n = 0;
  struct hr__multikueue_offer offer = {.nominated = nominated, .round_us = now_us - router->round_us - 1};
  const struct hr__multikueue_spec spec = {
      .is_incremental = router->incremental, .step = router->step, .round_us = router->round_us};
  routing_ask(all, job, now_us);
  for (uint64_t left = eligible(all); left; left &= left - 1) preference[n++] = lowest_of(left);
  for (uint32_t i = 0; i < n; i++)
    if (sending->tried & bit_of(preference[i])) nominated[offer.n_nominated++] = preference[i];
  const uint32_t before = offer.n_nominated;
  uint64_t found = 0;
  hr__multikueue_nominate(&spec, &offer, preference, n, now_us);
  for (uint32_t i = before; i < offer.n_nominated; i++) found |= bit_of(nominated[i]);
  sending->tried |= found;
  *more = offer.n_nominated < n;
  return found;
}

/* Returns the cheapest cluster in which the job was not tried in this round. If several clusters are equally cheap,
   returns the first of them. If all clusters were tried, a new round begins. Returns HR_NONE if no cluster can run the
   job. */
static uint32_t next_location(struct hr__clusters *all, hr_job job, int64_t now_us) {
  struct hr__sending *sending = &all->sending[job.id];
  routing_ask(all, job, now_us);
  if (!(eligible(all) & ~sending->tried)) sending->tried = 0;
  uint32_t best = HR_NONE;
  for (uint64_t left = eligible(all) & ~sending->tried; left; left &= left - 1) {
    const uint32_t i = lowest_of(left);
    if (best == HR_NONE || all->loads[i].price_uusd_h < all->loads[best].price_uusd_h) best = i;
  }
  if (best != HR_NONE) sending->tried |= bit_of(best);
  return best;
}

/* Returns the set of clusters to which a new job is sent. Sets `*again_us` to the time at which the job is routed
   again; HR_NEVER_US: never. */
static uint64_t choose(struct hr__clusters *all, hr_job job, int64_t now_us, int64_t *again_us) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const bool has_gpus = all->whole->trace->gpus[job.id] > 0;
  bool more = false;
  uint64_t found = 0;
  *again_us = HR_NEVER_US;
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE && has_gpus) {
    found = nominate(all, job, now_us, &more);
    if (more) *again_us = now_us + router->round_us + 1;
  } else if (router->kind == HR_JOB_ROUTER_FEDERATION && has_gpus) {
    routing_ask(all, job, now_us);
    found = eligible(all);
  } else if (router->kind == HR_JOB_ROUTER_SKYPILOT) {
    const uint32_t first = next_location(all, job, now_us);
    found = first == HR_NONE ? 0 : bit_of(first);
    *again_us = now_us + router->timeout_us;
  } else {
    const uint32_t to = hr__routing_choose(all, job, now_us);
    found = to == HR_NONE ? 0 : bit_of(to);
    if (router->reroute_us) *again_us = now_us + router->reroute_us;
  }
  return found;
}

enum hr_status hr__dispatch_submit(struct hr__clusters *all, hr_job job, int64_t now_us) {
  int64_t again_us;
  const uint32_t home = hr__routing_home(all, job);
  uint64_t clusters = home == HR_NONE ? 0 : choose(all, job, now_us, &again_us);
  if (!clusters) { /* the home rejects the job, because it is too small for the job or may not run it */
    clusters = bit_of(home == HR_NONE ? 0 : home);
    again_us = HR_NEVER_US;
    if (home == HR_NONE || all->rule) all->whole->barred = job;
  }
  all->sending[job.id].target = HR_NONE;
  all->of_job[job.id] = home != HR_NONE && clusters >> home & 1 ? home : lowest_of(clusters);
  all->number[job.id] = hr__clusters_job_number(&all->at[all->of_job[job.id]]);
  const enum hr_status status = send_copies(all, job, clusters, now_us);
  return status == HR_OK && again_us != HR_NEVER_US ? set_timer(all, job, again_us) : status;
}

/* ---- Dispatch: waiting jobs that are routed again --------------------------------------------------- */

/* Returns whether a job waits and has never started. */
static bool waits(const struct hr__engine *whole, uint32_t job) {
  return whole->state[job] == HR_JOB_WAITING && whole->start_us[job] == HR_NEVER_US;
}

/* Returns the cluster to which the router would send a waiting job now, if it did not wait in its present cluster. */
static uint32_t choose_again(struct hr__clusters *all, hr_job job, int64_t now_us) {
  struct hr__part *part = &all->at[all->of_job[job.id]];
  const int64_t spilled_uusd = all->spilled_uusd;
  hr__clusters_count_waiting(part, job, false);
  all->loads[part->index].used_milli = part->engine.view.allocated_milli + part->waiting_milli;
  all->loads[part->index].n_waiting--;
  all->stays = part->index;
  all->waited_us = now_us - all->sending[job.id].sent_us;
  const uint32_t to = hr__routing_choose(all, job, now_us);
  all->stays = HR_NONE;
  all->loads[part->index].n_waiting++;
  hr__clusters_count_waiting(part, job, true);
  all->loads[part->index].used_milli = part->engine.view.allocated_milli + part->waiting_milli;
  if (to == part->index) all->spilled_uusd = spilled_uusd;
  return to;
}

/* Routes a waiting job again: sends more copies, or withdraws the job from its cluster and sets its next cluster. */
static enum hr_status look_again(struct hr__clusters *all, hr_job job, int64_t now_us) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__sending *sending = &all->sending[job.id];
  bool more = sending->n_moves < router->max_reroutes;
  int64_t again_us = now_us + router->reroute_us;
  uint32_t to = HR_NONE;
  if (is_sibling(router->kind)) {
    const enum hr_status status = send_copies(all, job, nominate(all, job, now_us, &more), now_us);
    return status == HR_OK && more ? set_timer(all, job, now_us + router->round_us + 1) : status;
  }
  if (!more) return HR_OK;
  if (router->kind == HR_JOB_ROUTER_SKYPILOT) {
    again_us = now_us + router->timeout_us;
    to = next_location(all, job, now_us);
  } else {
    to = choose_again(all, job, now_us);
  }
  const enum hr_status status = set_timer(all, job, again_us);
  if (status != HR_OK || to == HR_NONE || to == all->of_job[job.id]) return status;
  sending->target = to;
  sending->n_moves++;
  return withdraw(&all->at[all->of_job[job.id]], job, now_us);
}

int64_t hr__dispatch_next_us(struct hr__clusters *all) {
  struct hr__engine *whole = all->whole;
  while (whole->heap.count && !waits(whole, hr__pending_entity(whole->heap.entries[0])))
    hr__event_heap_pop(&whole->heap);
  return whole->heap.count ? whole->heap.entries[0].at_us : HR_NEVER_US;
}

bool hr__dispatch_is_idle(const struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  const struct hr__event_heap *heap = &all->whole->heap;
  if (heap->count == 0) return true;
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE || router->kind == HR_JOB_ROUTER_SKYPILOT) return false;
  return heap->entries[0].at_us > all->whole->last_us + router->reroute_us;
}

enum hr_status hr__dispatch_timers(struct hr__clusters *all, int64_t now_us) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr__dispatch_next_us(all) == now_us)
    status = look_again(all, (hr_job){hr__pending_entity(hr__event_heap_pop(&all->whole->heap))}, now_us);
  return status;
}

/* ---- Dispatch: start of a run ----------------------------------------------------------------------- */

enum hr_status hr__dispatch_begin(struct hr__clusters *all) {
  const struct hr_job_router_spec *router = &all->spec->router;
  struct hr__engine *whole = all->whole;
  if (!is_sibling(router->kind) && router->kind != HR_JOB_ROUTER_SKYPILOT && !router->reroute_us) return HR_OK;
  const int most = router->kind == HR_JOB_ROUTER_MULTIKUEUE ? HR_MULTIKUEUE_CLUSTERS : HR__MAX_COPIES;
  if (all->spec->count > (uint32_t)most)
    return hr_fail(whole->error, HR_BAD_INPUT,
                   "the router '%s' with its settings can have at most %d clusters; there are %" PRIu32,
                   hr_job_router_name(router->kind), most, all->spec->count);
  all->sending = hr_arena_alloc_by_job(&whole->arena, whole->trace->n_jobs, sizeof *all->sending);
  return all->sending ? HR_OK : hr__out_of_memory(whole);
}
