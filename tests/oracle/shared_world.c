/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random worlds for shared.c. */

#include "shared_world.h"

#include "base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t S = 1000000; /* a second */

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static int draw_int(int below) {
  return (int)draw((uint32_t)below);
}

static bool chance(uint32_t percent) {
  return draw(100) < percent;
}

/* ---- MIG types (docs/reference/sharing.md, "The rules") --------------------------------------------- */

static const struct naive_mig_profile a100_profiles[] = {{"7g.80gb", 7, 8, 80000, {0, -1}},
                                                         {"4g.40gb", 4, 4, 40000, {0, -1}},
                                                         {"3g.40gb", 3, 4, 40000, {0, 4, -1}},
                                                         {"2g.20gb", 2, 2, 20000, {0, 2, 4, -1}},
                                                         {"1g.20gb", 1, 2, 20000, {0, 2, 4, 6, -1}},
                                                         {"1g.10gb+me", 1, 1, 10000, {0, 1, 2, 3, 4, 5, 6, -1}},
                                                         {"1g.10gb", 1, 1, 10000, {0, 1, 2, 3, 4, 5, 6, -1}}};
static const struct naive_mig_type a100 = {7, 8, 7, a100_profiles};

static const struct naive_mig_profile a30_profiles[] = {{"4g.24gb", 4, 4, 24000, {0, -1}},
                                                        {"2g.12gb+me", 2, 2, 12000, {0, 2, -1}},
                                                        {"2g.12gb", 2, 2, 12000, {0, 2, -1}},
                                                        {"1g.6gb+me", 1, 1, 6000, {0, 1, 2, 3, -1}},
                                                        {"1g.6gb", 1, 1, 6000, {0, 1, 2, 3, -1}}};
static const struct naive_mig_type a30 = {4, 4, 5, a30_profiles};

/* Returns whether an instance may be added to a layout. Only used to draw layouts. */
static bool may_add(const struct naive_mig_type *type, const signed char *begins, int profile, int start) {
  int compute = type->profile[profile].compute, used = 0, mask = (1 << type->profile[profile].memory) - 1;
  bool is_start = false, media = strstr(type->profile[profile].name, "+me") != NULL;
  for (const int *at = type->profile[profile].starts; *at >= 0; at++) is_start = is_start || *at == start;
  for (int s = 0; s < NAIVE_GPUS_SLICES; s++) {
    if (begins[s] < 0) continue;
    const struct naive_mig_profile *other = &type->profile[(int)begins[s]];
    if (media && strstr(other->name, "+me")) return false;
    compute += other->compute;
    used |= ((1 << other->memory) - 1) << s;
  }
  return is_start && !(used & mask << start) && compute <= type->compute &&
         start + type->profile[profile].memory <= type->memory;
}

static void draw_layout(const struct naive_mig_type *type, signed char *begins) {
  memset(begins, -1, NAIVE_GPUS_SLICES);
  for (int tries = 0; tries < 14; tries++) {
    int profile = draw_int(type->n_profiles), start = draw_int(NAIVE_GPUS_SLICES);
    if (may_add(type, begins, profile, start)) begins[start] = (signed char)profile;
  }
}

static void draw_mig(struct naive_mig *mig, enum world_sharing sharing) {
  *mig = (struct naive_mig){.type = chance(70) ? &a100 : &a30, .mode = (enum naive_mig_mode)draw(3)};
  if (sharing == WORLD_MIG_STATIC) mig->mode = NAIVE_MIG_STATIC;
  if (sharing == WORLD_MIG_DYNAMIC) mig->mode = NAIVE_MIG_DYNAMIC;
  if (sharing == WORLD_MIG_ON_DEMAND) mig->mode = NAIVE_MIG_ON_DEMAND;
  if (mig->mode == NAIVE_MIG_ON_DEMAND) return;
  for (int tries = 0; tries < 20 && mig->n_layouts < 4; tries++) {
    bool is_new = true;
    draw_layout(mig->type, mig->layout[mig->n_layouts]);
    for (int i = 0; i < mig->n_layouts; i++)
      is_new = is_new && memcmp(mig->layout[i], mig->layout[mig->n_layouts], NAIVE_GPUS_SLICES) != 0;
    mig->n_layouts += is_new;
  }
  for (int g = 0; g < NAIVE_GPUS_PER_NODE; g++) mig->layout_of_gpu[g] = draw_int(mig->n_layouts);
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static bool is_mig(enum world_sharing sharing) {
  return (sharing >= WORLD_MIG_STATIC && sharing <= WORLD_MIG) || sharing == WORLD_MIG_ISLANDS;
}

static bool has_islands(enum world_sharing sharing) {
  return sharing == WORLD_ISLANDS || sharing == WORLD_MIG_ISLANDS;
}

static bool is_market(enum world_feature feature) {
  return feature >= WORLD_STATIC_SPOT;
}

static void draw_levels(struct naive_gpus_pool *pool) {
  int64_t at = 0;
  pool->n_levels = 2 + draw_int(5);
  for (int i = 0; i < pool->n_levels; i++) {
    pool->level_at[i] = at * S;
    pool->level[i] = i + 1 == pool->n_levels ? pool->nodes : draw_int(pool->nodes + 1);
    at += 1 + draw(30);
  }
}

/* The first pool is fixed or on-demand. The last one is spot, except for on-demand-only. */
static void draw_market(struct world *world, enum world_feature feature) {
  struct naive_gpus_input *in = &world->in;
  for (int p = 0; p < in->n_pools; p++) {
    struct naive_gpus_pool *pool = &in->pool[p];
    bool spot = feature != WORLD_ON_DEMAND_ONLY && (p + 1 == in->n_pools || (p > 0 && chance(30)));
    pool->market = spot ? NAIVE_GPUS_SPOT : NAIVE_GPUS_ON_DEMAND;
    if (in->n_pools > 2 && p == 0) pool->market = NAIVE_GPUS_FIXED;
    pool->price = spot ? 1 + draw_int(2) : 5 + draw_int(2);
    pool->boot = chance(50) ? 0 : (1 + (int64_t)draw(6)) * S;
    if (spot) draw_levels(pool);
  }
}

static void draw_pool(struct world *world, int p, enum world_sharing sharing, enum world_feature feature) {
  struct naive_gpus_pool *pool = &world->in.pool[p];
  bool limited = sharing != WORLD_COUNTED;
  *pool = (struct naive_gpus_pool){
      .nodes = 1 + draw_int(3), .gpus_per_node = 2 + draw_int(3), .capacity = 1000, .cpu = -1, .mem = -1};
  pool->gpu_mem = -1;
  if (has_islands(sharing)) pool->gpus_per_node = chance(50) ? 4 : 8;
  if (has_islands(sharing)) pool->nodes = 2 + draw_int(2);
  if (sharing == WORLD_COUNTED) {
    pool->capacity = is_market(feature) ? 1000 : 1000 * pool->gpus_per_node;
    pool->gpus_per_node = 1;
  }
  if (limited && chance(50)) pool->cpu = 16000;
  if (limited && chance(50)) pool->mem = 16000;
  if (pool->cpu > 0 && chance(30)) pool->cpu_per_gpu = 1 + draw_int(3000);
  if (is_mig(sharing)) {
    draw_mig(&world->mig[p], sharing);
    pool->mig = &world->mig[p];
    pool->cpu_per_gpu = 0;
  } else if (limited) {
    if (chance(50)) pool->gpu_mem = 16000;
    pool->whole = sharing != WORLD_MPS && chance(25);
    world->mps[p] = sharing == WORLD_MPS;
    if (world->mps[p] && chance(50)) pool->replicas = 2 + draw_int(3);
    if (world->mps[p]) pool->clients = 1 + draw_int(4);
  }
  if (!has_islands(sharing)) return;
  if (chance(75)) pool->island_gpus = 1 << draw_int(2);
  if (chance(50)) pool->numa_gpus = 4;
  if (chance(60)) pool->nodes_per_rack = 1 + draw_int(2);
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static void draw_mig_request(struct naive_gpus_job *job) {
  static const char *const names[] = {"1g.10gb", "3g.40gb", "2g.12gb", "1g.10gb+me"};
  static const int slices[] = {143, 142, 286, 429, 571};
  job->gpus = chance(3) ? 2 : 1;
  job->milli = chance(80) ? slices[draw(5)] : chance(50) ? 1000 : 50 * (1 + draw_int(19));
  job->gpu_mem = chance(30) ? draw_int(24000) : 0;
  if (job->milli < 1000 && chance(25)) job->profile = names[draw(4)];
  if (job->profile) job->gpu_mem = chance(50) ? 0 : draw_int(9000);
}

static void draw_request(struct naive_gpus_job *job, enum world_sharing sharing, int max_gpus) {
  job->tasks = chance(65) ? 1 : 1 + draw_int(has_islands(sharing) ? NAIVE_GPUS_TASKS : 3);
  job->gpus = 1 + draw_int(chance(70) && max_gpus > 1 ? 2 : max_gpus);
  job->milli = 1000;
  if (sharing == WORLD_COUNTED) {
    job->tasks = 1;
    job->milli = job->gpus * 1000;
    job->gpus = 1;
    return;
  }
  bool may_share = job->gpus == 1 || (!has_islands(sharing) && job->tasks == 1);
  if (may_share && chance(60)) job->milli = chance(70) ? 100 * (1 + draw_int(9)) : 50 * (1 + draw_int(19));
  job->gpu_mem = chance(40) ? draw_int(14000) : 0;
  if (is_mig(sharing)) draw_mig_request(job);
  job->cpu = chance(40) ? draw_int(9000) : 0;
  job->mem = chance(40) ? draw_int(9000) : 0;
  job->dedicated = chance(7);
}

static void draw_constraint(struct naive_gpus_job *job, bool timed) {
  if (chance(25)) return;
  job->tier = (enum naive_gpus_tier)(NAIVE_TIER_ISLAND + draw_int(4));
  job->wait = chance(50) ? -1 : timed ? draw_int(40) * S * draw_int(2) : 0;
}

static void draw_job(struct world *world, int j, enum world_sharing sharing, enum world_feature feature, bool timed) {
  struct naive_gpus_input *in = &world->in;
  struct naive_gpus_job *job = &in->job[j];
  int max_gpus = NAIVE_GPUS_PER_NODE;
  bool is_exact = feature >= WORLD_PREEMPT_PRIORITY || timed; /* limits are at least run times */
  for (int p = 0; p < in->n_pools; p++)
    if (in->pool[p].gpus_per_node * in->pool[p].capacity < 1000 * max_gpus)
      max_gpus = (int)(in->pool[p].gpus_per_node * in->pool[p].capacity / 1000);
  *job = (struct naive_gpus_job){.submit = j ? in->job[j - 1].submit + draw_int(6) * S : 0,
                                 .work = (1 + draw_int(40)) * S,
                                 .priority = draw_int(4),
                                 .tenant = draw_int(3),
                                 .wait = -1};
  job->limit = is_exact ? job->work + draw_int(3) * draw_int(20) * S : (1 + draw_int(70)) * S;
  draw_request(job, sharing, max_gpus);
  if (has_islands(sharing)) draw_constraint(job, timed);
  bool may_lack_gpus = sharing != WORLD_COUNTED && feature < WORLD_STATIC_SPOT;
  if (may_lack_gpus && chance(6)) {
    job->gpus = 0;
    job->milli = 1000;
    job->gpu_mem = 0;
    job->profile = NULL;
  }
  job->accepts = chance(60) ? (1U << in->n_pools) - 1 : 1 + draw((1U << in->n_pools) - 1);
  job->not_interruptible = feature >= WORLD_PREEMPT_PRIORITY && chance(15);
  for (int p = 0; p < in->n_pools; p++)
    if (job->not_interruptible && in->pool[p].market == NAIVE_GPUS_SPOT) job->accepts &= ~(1U << p);
  if (job->accepts == 0) job->accepts = 1;
}

/* Replaces what a job requests by the request of an earlier job, so that several jobs wait with equal requests. */
static void repeat_request(struct naive_gpus_input *in, int j) {
  const struct naive_gpus_job own = in->job[j];
  struct naive_gpus_job *job = &in->job[j];
  *job = in->job[draw_int(j)];
  job->submit = own.submit;
  job->work = own.work;
  job->limit = own.limit;
  job->priority = own.priority;
  job->tenant = own.tenant;
}

/* ---- Rules ------------------------------------------------------------------------------------------ */

static void draw_quotas(struct naive_gpus_input *in) {
  int gpus = 0;
  for (int p = 0; p < in->n_pools; p++)
    gpus += in->pool[p].nodes * in->pool[p].gpus_per_node * (int)(in->pool[p].capacity / 1000);
  bool cohorts = chance(50);
  in->has_quotas = true;
  for (int t = 0; t < 3; t++) {
    int guarantee = draw_int(gpus / 2 + 1);
    gpus -= guarantee;
    in->quota[t] = (struct naive_gpus_quota){.guarantee = guarantee * 1000L,
                                             .maximum = chance(25) ? (guarantee + draw_int(4)) * 1000L : -1,
                                             .cohort = cohorts ? draw_int(3) - 1 : -1};
  }
  in->quota[3] = (struct naive_gpus_quota){.maximum = -1, .cohort = -1};
}

static void draw_rules(struct naive_gpus_input *in, enum world_feature feature, bool counted) {
  static const char *const orders[] = {"priority", "smallest", "largest", "sjf", "fifo"};
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  static const char *const placements[] = {"first-fit", "best-fit", "worst-fit"};
  static const char *const victims[] = {"last", "least-lost", "youngest", "lowest-priority"};
  struct naive_gpus_rules *rules = &in->rules;
  *rules = (struct naive_gpus_rules){.order = orders[draw(feature == WORLD_PREEMPT_ORDER ? 4 : 5)],
                                     .backfill = backfills[feature <= WORLD_CONSERVATIVE ? feature
                                                           : feature == WORLD_RECLAIM    ? 1 + draw(2)
                                                                                         : draw(3)],
                                     .placement = placements[draw(3)],
                                     .preemption = "none",
                                     .victims = victims[draw(4)],
                                     .market = "static",
                                     .keeps = chance(50),
                                     .returns = chance(60),
                                     .min_run = chance(30) ? draw_int(10) * S : 0,
                                     .spot_wait = draw_int(2) * draw_int(20) * S,
                                     .spot_hold = draw_int(2) * draw_int(15) * S,
                                     .idle_release = (1 + draw_int(15)) * S};
  if (feature == WORLD_PREEMPT_PRIORITY) rules->preemption = "priority";
  if (feature == WORLD_PREEMPT_ORDER) rules->preemption = "order";
  if (feature == WORLD_RECLAIM) rules->preemption = "reclaim";
  if (feature == WORLD_RECLAIM) draw_quotas(in);
  if (feature == WORLD_ON_DEMAND_ONLY) rules->market = "on-demand-only";
  if (feature == WORLD_SPOT_FIRST) rules->market = "spot-first";
  in->continuous = is_market(feature) && chance(50);
  if (feature == WORLD_SPOT_FIRST && counted) rules->backfill = "skip";
}

void world_draw(struct world *world, enum world_sharing sharing, enum world_feature feature, uint32_t seed) {
  hr__stream_init(&draws, 23, HR__PURPOSE_ARRIVAL, seed, (uint32_t)sharing * 100 + (uint32_t)feature);
  memset(world, 0, sizeof *world);
  struct naive_gpus_input *in = &world->in;
  bool timed = has_islands(sharing) && feature <= WORLD_CONSERVATIVE && chance(50);
  world->counted = sharing == WORLD_COUNTED;
  world->by_gpu = !world->counted;
  in->n_pools = 1 + draw_int(2);
  if (is_market(feature)) in->n_pools = 2 + draw_int(2);
  for (int p = 0; p < in->n_pools; p++) draw_pool(world, p, sharing, feature);
  if (is_market(feature)) draw_market(world, feature);
  in->n_jobs = 14 + draw_int(14);
  for (int j = 0; j < in->n_jobs; j++) {
    draw_job(world, j, sharing, feature, timed);
    if (is_market(feature) && seed % 2 == 1 && j > 0 && chance(50)) repeat_request(in, j);
  }
  draw_rules(in, feature, world->counted);
}

/* ---- Printing --------------------------------------------------------------------------------------- */

static void print_layouts(const struct naive_mig *mig, int gpus) {
  static const char *const modes[] = {"static", "dynamic", "on-demand"};
  printf(" mig %s", modes[mig->mode]);
  for (int i = 0; i < mig->n_layouts; i++) {
    printf(" layout %d:", i);
    for (int s = 0; s < NAIVE_GPUS_SLICES; s++)
      if (mig->layout[i][s] >= 0) printf(" %s@%d", mig->type->profile[(int)mig->layout[i][s]].name, s);
  }
  for (int g = 0; g < gpus && mig->n_layouts; g++) printf("%s%d", g ? "," : " of GPUs: ", mig->layout_of_gpu[g]);
}

static void print_pool(const struct world *world, int p) {
  static const char *const markets[] = {"fixed", "on-demand", "spot"};
  const struct naive_gpus_pool *pool = &world->in.pool[p];
  printf(
      "pool %d: %d nodes, %d GPUs of %ld, cpu %ld, mem %ld, gpu_mem %ld, cpu_per_gpu %ld, %s, replicas %d, clients %d,"
      " island %d, numa %d, rack %d, %s price %ld boot %g s",
      p, pool->nodes, pool->gpus_per_node, pool->capacity, pool->cpu, pool->mem, pool->gpu_mem, pool->cpu_per_gpu,
      world->counted  ? "counted"
      : world->mps[p] ? "mps"
      : pool->mig     ? "mig"
      : pool->whole   ? "whole"
                      : "fraction",
      pool->replicas, pool->clients, pool->island_gpus, pool->numa_gpus, pool->nodes_per_rack, markets[pool->market],
      pool->price, (double)pool->boot / 1e6);
  for (int i = 0; i < pool->n_levels; i++) printf(" %g:%d", (double)pool->level_at[i] / 1e6, pool->level[i]);
  if (pool->mig) print_layouts(pool->mig, pool->gpus_per_node);
  printf("\n");
}

void world_print(const struct world *world) {
  static const char *const tiers[] = {"-", "island", "numa", "node", "rack"};
  const struct naive_gpus_input *in = &world->in;
  const struct naive_gpus_rules *rules = &in->rules;
  printf(
      "--policy queue:order=%s,backfill=%s,placement=%s,preemption=%s,victims=%s,preempted=%s,min_run_s=%g,market=%s,"
      "spot_wait_s=%g,spot_hold_s=%g,idle_release_s=%g,return_to_spot=%s (%s checkpoints)\n",
      rules->order, rules->backfill, rules->placement, rules->preemption, rules->victims,
      rules->keeps ? "checkpoint" : "requeue", (double)rules->min_run / 1e6, rules->market,
      (double)rules->spot_wait / 1e6, (double)rules->spot_hold / 1e6, (double)rules->idle_release / 1e6,
      rules->returns ? "true" : "false", in->continuous ? "continuous" : "no");
  for (int p = 0; p < in->n_pools; p++) print_pool(world, p);
  for (int t = 0; in->has_quotas && t < NAIVE_GPUS_TENANTS; t++)
    printf("tenant %d: guarantee %ld maximum %ld cohort %d\n", t, in->quota[t].guarantee, in->quota[t].maximum,
           in->quota[t].cohort);
  printf("job: submit work limit [s] | tasks x gpus x milli | gpu_mem cpu mem | priority tenant accepts | rest\n");
  for (int j = 0; j < in->n_jobs; j++) {
    const struct naive_gpus_job *job = &in->job[j];
    printf("%d: %g %g %g | %d x %d x %d | %ld %ld %ld | %d %d %x | %s%s%s %s %g\n", j, (double)job->submit / 1e6,
           (double)job->work / 1e6, (double)job->limit / 1e6, job->tasks, job->gpus, job->milli, job->gpu_mem, job->cpu,
           job->mem, job->priority, job->tenant, job->accepts, job->dedicated ? "dedicated " : "",
           job->not_interruptible ? "not-interruptible " : "", job->profile ? job->profile : "", tiers[job->tier],
           job->wait < 0 ? -1 : (double)job->wait / 1e6);
  }
}
