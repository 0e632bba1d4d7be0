/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the queue policy with the naive scheduler of naive_gpus.h on random worlds with shared GPUs: the start, the
 * nodes, the GPUs and the instances of every attempt, and the end of every job. Rows of the table below are pairs of a
 * rule and a kind of sharing. If a row has at least WORLDS worlds, the rule must have had an effect.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "shared_world.h"

#include <inttypes.h>
#include <string.h>

/* Whether the test fails if Headroom refuses (HR_BAD_INPUT) one of the rows from `first_new_row` on. If false, such a
   row is skipped with a message. */
static const bool refusals_fail = true;
static const char first_new_row[] = "conservative, fraction";

enum { WORLDS = 300, ATTEMPTS = 300 };

/* ---- Headroom --------------------------------------------------------------------------------------- */

struct outcome {
  int n_attempts;
  struct naive_gpus_attempt attempt[ATTEMPTS];
  int64_t end[NAIVE_GPUS_JOBS];
  enum hr_status status;
  struct hr_error error;
};

static void record_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct outcome *outcome = self;
  (void)view;
  if (event->kind == HR_EVENT_END) outcome->end[event->job.id] = event->at_us;
  if (event->kind != HR_EVENT_START || outcome->n_attempts == ATTEMPTS) return;
  struct naive_gpus_attempt *attempt = &outcome->attempt[outcome->n_attempts++];
  *attempt = (struct naive_gpus_attempt){
      .job = (int)event->job.id, .start = event->at_us, .n_slices = (int)event->placement->n_slices};
  for (int i = 0; i < attempt->n_slices && i < NAIVE_GPUS_TASKS; i++) {
    struct hr_slice slice = event->placement->slices[i];
    attempt->slice[i] = (struct naive_gpus_slice){(int)slice.node.id, slice.gpus, slice.instance.profile,
                                                  slice.instance.start, slice.instance.layout};
  }
}

/* The columns of the trace, and the cluster. */
static struct {
  int64_t submit[NAIVE_GPUS_JOBS], work[NAIVE_GPUS_JOBS], limit[NAIVE_GPUS_JOBS], wait[NAIVE_GPUS_JOBS];
  int32_t priority[NAIVE_GPUS_JOBS];
  uint32_t gpus[NAIVE_GPUS_JOBS], tasks[NAIVE_GPUS_JOBS], cpu[NAIVE_GPUS_JOBS], tenant[NAIVE_GPUS_JOBS],
      types[NAIVE_GPUS_JOBS], profile[NAIVE_GPUS_JOBS];
  uint16_t milli[NAIVE_GPUS_JOBS];
  uint8_t flags[NAIVE_GPUS_JOBS], within[NAIVE_GPUS_JOBS];
  uint64_t mem[NAIVE_GPUS_JOBS], gpu_mem[NAIVE_GPUS_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[NAIVE_GPUS_POOLS];
  struct hr_level_step levels[NAIVE_GPUS_POOLS][NAIVE_GPUS_LEVELS];
  struct hr_quota_node quota[2 + NAIVE_GPUS_TENANTS];
} made;

static const char *const profile_names[] = {"1g.10gb", "3g.40gb", "2g.12gb", "1g.10gb+me"};
static const char *const tenant_names[] = {"t0", "t1", "t2", "t3"};
/* by set of pools */
static const char *const type_lists[] = {"none", "A", "B", "A|B", "C", "A|C", "B|C", "A|B|C"};

static void make_jobs(const struct world *world) {
  const struct naive_gpus_input *in = &world->in;
  for (int j = 0; j < in->n_jobs; j++) {
    const struct naive_gpus_job *job = &in->job[j];
    made.submit[j] = job->submit;
    made.work[j] = job->work;
    made.limit[j] = job->limit;
    made.wait[j] = job->wait < 0 ? HR_UNKNOWN_US : job->wait;
    made.priority[j] = job->priority;
    made.gpus[j] = (uint32_t)(world->counted ? job->milli / 1000 : job->tasks * job->gpus);
    made.tasks[j] = (uint32_t)job->tasks;
    made.cpu[j] = (uint32_t)job->cpu;
    made.tenant[j] = (uint32_t)job->tenant;
    made.types[j] = job->accepts & ((1U << in->n_pools) - 1);
    made.milli[j] = (uint16_t)job->milli;
    made.flags[j] =
        (uint8_t)((job->dedicated ? HR_JOB_DEDICATED : 0) | (job->not_interruptible ? HR_JOB_NOT_INTERRUPTIBLE : 0));
    made.within[j] = (uint8_t)job->tier;
    made.mem[j] = (uint64_t)job->mem;
    made.gpu_mem[j] = (uint64_t)job->gpu_mem;
    made.profile[j] = HR_NONE;
    for (uint32_t i = 0; job->profile && i < 4; i++)
      if (strcmp(job->profile, profile_names[i]) == 0) made.profile[j] = i;
  }
}

static void make_trace(const struct world *world) {
  bool per_gpu = !world->counted, any_within = false;
  make_jobs(world);
  for (int j = 0; j < world->in.n_jobs; j++) any_within = any_within || made.within[j];
  made.trace = (struct hr_trace){.source = "test",
                                 .format = "memory",
                                 .n_jobs = (uint32_t)world->in.n_jobs,
                                 .submit_us = made.submit,
                                 .work_us = made.work,
                                 .limit_us = made.limit,
                                 .gpus = made.gpus,
                                 .priority = made.priority,
                                 .tasks = per_gpu ? made.tasks : NULL,
                                 .cpu_milli = per_gpu ? made.cpu : NULL,
                                 .mem_mib = per_gpu ? made.mem : NULL,
                                 .gpu_mem_mib = per_gpu ? made.gpu_mem : NULL,
                                 .gpu_milli = per_gpu ? made.milli : NULL,
                                 .tenant = made.tenant,
                                 .gpu_types = made.types,
                                 .mig_profile = made.profile,
                                 .flags = made.flags,
                                 .within = any_within ? made.within : NULL,
                                 .within_wait_us = any_within ? made.wait : NULL,
                                 .tenants = {NAIVE_GPUS_TENANTS, tenant_names},
                                 .mig_profiles = {4, profile_names},
                                 .gpu_type_lists = {8, type_lists}};
}

static struct hr_mig_spec *make_mig(const struct naive_mig *mig) {
  static const uint8_t most_of_seven[] = {1, 1, 2, 3, 4, 1, 7}, most_of_four[] = {1, 1, 2, 1, 4};
  struct hr_mig_profile profiles[8];
  for (int i = 0; i < mig->type->n_profiles; i++) {
    const struct naive_mig_profile *from = &mig->type->profile[i];
    profiles[i] = (struct hr_mig_profile){.name = from->name,
                                          .mem_mib = (uint32_t)from->mem_mib,
                                          .compute_slices = (uint8_t)from->compute,
                                          .memory_slices = (uint8_t)from->memory,
                                          .max_instances = mig->type->compute == 7 ? most_of_seven[i] : most_of_four[i],
                                          .media = strstr(from->name, "+me") != NULL};
    for (const int *start = from->starts; *start >= 0; start++)
      profiles[i].starts = (uint8_t)(profiles[i].starts | 1 << *start);
  }
  struct hr_mig_type type;
  hr_mig_type_init(&type, "GPU", profiles, (uint32_t)mig->type->n_profiles);
  for (int i = 0; i < mig->type->n_profiles; i++) /* profiles have the same indices in both tables */
    CU_ASSERT_STRING_EQUAL_FATAL(type.profiles[i].name, mig->type->profile[i].name);
  struct hr_mig_spec *spec = hr_mig_spec_create(&type, (enum hr_mig_mode)mig->mode);
  for (int i = 0; i < mig->n_layouts; i++) {
    struct hr_mig_gpu gpu = {0};
    uint32_t number;
    for (uint32_t s = 0; s < NAIVE_GPUS_SLICES; s++)
      if (mig->layout[i][s] >= 0) CU_ASSERT_FATAL(hr_mig_create(&spec->type, &gpu, (uint32_t)mig->layout[i][s], s));
    CU_ASSERT_EQUAL_FATAL(hr_mig_spec_add(spec, "drawn", &gpu, &number), HR_OK);
    CU_ASSERT_EQUAL_FATAL(number, (uint32_t)i);
  }
  if (mig->mode == NAIVE_MIG_ON_DEMAND) return spec;
  spec->layout_of_gpu = calloc(NAIVE_GPUS_PER_NODE, 1);
  for (int g = 0; g < NAIVE_GPUS_PER_NODE; g++) spec->layout_of_gpu[g] = (uint8_t)mig->layout_of_gpu[g];
  return spec;
}

static void make_pool(const struct world *world, int p) {
  static char names[][2] = {"a", "b", "c"}, gpus[][2] = {"A", "B", "C"};
  static const enum hr_market markets[] = {HR_MARKET_NONE, HR_MARKET_ON_DEMAND, HR_MARKET_SPOT};
  const struct naive_gpus_pool *pool = &world->in.pool[p];
  struct hr_pool_spec *spec = &made.pools[p];
  for (int i = 0; i < pool->n_levels; i++)
    made.levels[p][i] = (struct hr_level_step){pool->level_at[i], (uint32_t)pool->level[i]};
  *spec = (struct hr_pool_spec){.name = names[p],
                                .gpu = gpus[p],
                                .nodes = (uint32_t)pool->nodes,
                                .gpus_per_node = (uint32_t)(pool->gpus_per_node * pool->capacity / 1000),
                                .cpu_milli_per_node = pool->cpu < 0 ? 0 : (uint32_t)pool->cpu,
                                .mem_mib_per_node = pool->mem < 0 ? 0 : (uint64_t)pool->mem,
                                .gpu_mem_mib = pool->gpu_mem < 0 ? 0 : (uint32_t)pool->gpu_mem,
                                .cpu_milli_per_gpu = (uint32_t)pool->cpu_per_gpu,
                                .sharing = pool->whole || world->counted ? HR_SHARING_WHOLE : HR_SHARING_FRACTION,
                                .replicas = (uint32_t)pool->replicas,
                                .clients = (uint32_t)pool->clients,
                                .topology = {.island_gpus = (uint32_t)pool->island_gpus,
                                             .numa_gpus = (uint32_t)pool->numa_gpus,
                                             .nodes_per_rack = (uint32_t)pool->nodes_per_rack}};
  if (world->mps[p]) spec->sharing = HR_SHARING_MPS;
  if (pool->mig) spec->sharing = HR_SHARING_MIG;
  if (pool->mig) spec->mig = make_mig(pool->mig);
  spec->market = (struct hr_market_spec){.market = markets[pool->market],
                                         .to_us = HR_NEVER_US,
                                         .price_uusd_h = pool->price * 1000000,
                                         .boot = {HR_DURATION_FIXED, (double)pool->boot / 1e6, 0}};
  if (pool->n_levels)
    spec->market.spot = (struct hr_spot_spec){.model = HR_SPOT_TRACE,
                                              .levels = made.levels[p],
                                              .n_levels = (uint32_t)pool->n_levels,
                                              .period_us = INT64_C(1000000000) * HR_SECOND_US};
}

static struct hr_quota_spec make_quotas(const struct naive_gpus_input *in) {
  static char cohorts[][3] = {"c0", "c1"}, tenants[][3] = {"t0", "t1", "t2", "t3"};
  const struct hr_quota_node none = {
      .parent = HR_NONE, .borrow_milli = HR_NO_LIMIT, .lend_milli = HR_NO_LIMIT, .max_milli = HR_NO_LIMIT, .weight = 1};
  for (int i = 0; i < 2; i++) {
    made.quota[i] = none;
    made.quota[i].name = cohorts[i];
  }
  for (int t = 0; t < NAIVE_GPUS_TENANTS; t++) {
    struct hr_quota_node *node = &made.quota[2 + t];
    *node = none;
    node->name = tenants[t];
    node->is_tenant = true;
    node->guaranteed_milli = (uint64_t)in->quota[t].guarantee;
    if (in->quota[t].maximum >= 0) node->max_milli = (uint64_t)in->quota[t].maximum;
    if (in->quota[t].cohort >= 0) node->parent = (uint32_t)in->quota[t].cohort;
  }
  struct hr_quota_spec spec = {.nodes = made.quota, .n_nodes = 2 + NAIVE_GPUS_TENANTS, .fallback = none};
  spec.fallback.is_tenant = true;
  return spec;
}

static void set(struct hr_policy_choice *choice, const char *key, const char *value) {
  struct hr_error error;
  enum hr_status status = hr_policy_choice_set(choice, key, value, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
}

static void set_seconds(struct hr_policy_choice *choice, const char *key, int64_t us) {
  char text[32];
  snprintf(text, sizeof text, "%.6f", (double)us / 1e6);
  set(choice, key, text);
}

static struct hr_policy_choice make_policy(const struct naive_gpus_rules *rules) {
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  set(&choice, "order", rules->order);
  set(&choice, "backfill", rules->backfill);
  set(&choice, "placement", rules->placement);
  set(&choice, "preemption", rules->preemption);
  set(&choice, "victims", rules->victims);
  set(&choice, "preempted", rules->keeps ? "checkpoint" : "requeue");
  set_seconds(&choice, "min_run_s", rules->min_run);
  set(&choice, "market", rules->market);
  set_seconds(&choice, "spot_wait_s", rules->spot_wait);
  set_seconds(&choice, "spot_hold_s", rules->spot_hold);
  set_seconds(&choice, "idle_release_s", rules->idle_release);
  set(&choice, "return_to_spot", rules->returns ? "true" : "false");
  return choice;
}

static void run_headroom(const struct world *world, bool check, struct outcome *outcome) {
  struct hr_class_spec classes[HR_N_CLASSES] = {0};
  for (int i = 0; i < HR_N_CLASSES; i++)
    classes[i].checkpoint = world->in.continuous ? HR_CHECKPOINT_CONTINUOUS : HR_CHECKPOINT_NONE;
  make_trace(world);
  for (int p = 0; p < world->in.n_pools; p++) make_pool(world, p);
  struct hr_cluster_spec cluster = {.pools = made.pools,
                                    .n_pools = (uint32_t)world->in.n_pools,
                                    .by_gpu = world->by_gpu,
                                    .mig_fallback = !world->in.strict};
  struct hr_quota_spec quotas = make_quotas(&world->in);
  struct hr_policy_choice choice = make_policy(&world->in.rules);
  struct hr_observer observer = {.self = outcome, .on_event = record_event};
  struct hr_run_config config = {.trace = &made.trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1,
                                 .quotas = world->in.has_quotas ? &quotas : NULL};
  struct hr_result *result = NULL;
  outcome->n_attempts = 0;
  for (int j = 0; j < NAIVE_GPUS_JOBS; j++) outcome->end[j] = -1;
  outcome->status = hr_sim_run(&config, &result, &outcome->error);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  for (int p = 0; p < world->in.n_pools; p++) hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = made.pools[p].mig});
}

/* Runs the naive scheduler. Without mig_fallback, a job with a profile accepts only pools that have the profile, and
   each other job accepts only pools without MIG. Headroom derives this from the pools. */
static void run_naive(const struct naive_gpus_input *input, struct naive_gpus_result *result) {
  static struct naive_gpus_input strict;
  strict = *input;
  for (int j = 0; input->strict && j < strict.n_jobs; j++) {
    struct naive_gpus_job *job = &strict.job[j];
    for (int p = 0; job->gpus && p < strict.n_pools; p++) {
      const struct naive_mig_type *type = strict.pool[p].mig ? strict.pool[p].mig->type : NULL;
      bool has = !type && !job->profile;
      for (int i = 0; type && job->profile && i < type->n_profiles; i++)
        has = has || strcmp(type->profile[i].name, job->profile) == 0;
      if (!has) job->accepts &= ~(1U << p);
    }
  }
  naive_gpus_run(&strict, result);
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool same_slice(const struct world *world, const struct naive_gpus_slice *a, const struct naive_gpus_slice *b) {
  if (a->node != b->node) return false;
  if (world->counted) return true;
  if (a->gpus != b->gpus) return false;
  return !a->gpus || (a->profile == b->profile && a->start == b->start && a->layout == b->layout);
}

static bool same_attempt(const struct world *world, const struct naive_gpus_attempt *a,
                         const struct naive_gpus_attempt *b) {
  if (a->start != b->start || a->n_slices != b->n_slices) return false;
  for (int i = 0; i < a->n_slices; i++)
    if (!same_slice(world, &a->slice[i], &b->slice[i])) return false;
  return true;
}

/* Returns the n-th attempt of a job; NULL: the job has fewer attempts. */
static const struct naive_gpus_attempt *attempt_of(const struct naive_gpus_attempt *attempts, int count, int job,
                                                   int n) {
  for (int i = 0; i < count; i++)
    if (attempts[i].job == job && n-- == 0) return &attempts[i];
  return NULL;
}

/* Returns whether the attempts and the end of a job are equal. */
static bool same_job(const struct world *world, const struct naive_gpus_result *naive, const struct outcome *headroom,
                     int job) {
  for (int n = 0;; n++) {
    const struct naive_gpus_attempt *a = attempt_of(naive->attempt, naive->n_attempts, job, n);
    const struct naive_gpus_attempt *b = attempt_of(headroom->attempt, headroom->n_attempts, job, n);
    if (!a && !b) return naive->end[job] == headroom->end[job];
    if (!a || !b || !same_attempt(world, a, b)) return false;
  }
}

static void print_attempt(const struct naive_gpus_attempt *attempt) {
  if (!attempt) {
    printf(" none");
    return;
  }
  printf(" %.6f s", (double)attempt->start / 1e6);
  for (int i = 0; i < attempt->n_slices; i++)
    printf(" [node %d gpus %" PRIx64 " profile %d start %d layout %d]", attempt->slice[i].node, attempt->slice[i].gpus,
           attempt->slice[i].profile, attempt->slice[i].start, attempt->slice[i].layout);
}

static void print_difference(const struct world *world, const struct naive_gpus_result *naive,
                             const struct outcome *headroom) {
  int first = -1;
  int64_t first_at = INT64_MAX;
  world_print(world);
  for (int j = 0; j < world->in.n_jobs; j++) {
    bool differs = !same_job(world, naive, headroom, j), found = false;
    for (int n = 0;; n++) {
      const struct naive_gpus_attempt *a = attempt_of(naive->attempt, naive->n_attempts, j, n);
      const struct naive_gpus_attempt *b = attempt_of(headroom->attempt, headroom->n_attempts, j, n);
      if (!a && !b) break;
      printf("%s job %d naive:", differs ? "!" : " ", j);
      print_attempt(a);
      printf(" | Headroom:");
      print_attempt(b);
      printf("\n");
      if (found || (a && b && same_attempt(world, a, b))) continue;
      int64_t at = a && (!b || a->start < b->start) ? a->start : b->start;
      found = true;
      if (at < first_at) first = j;
      if (at < first_at) first_at = at;
    }
    if (differs)
      printf("! job %d ends: naive %g | Headroom %g\n", j, (double)naive->end[j] / 1e6, (double)headroom->end[j] / 1e6);
  }
  printf("first difference: job %d at %g s\n", first, (double)first_at / 1e6);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* Sums over the worlds of a row. */
struct effects {
  int waited, backfilled, reserved, preempted, interrupted, requested, moved, released, constrained, relaid;
};

struct row {
  const char *name; /* the rule, and how GPUs are allocated */
  enum world_sharing sharing;
  enum world_feature feature;
};

static void add_effects(struct effects *sum, const struct naive_gpus_input *in, const struct naive_gpus_result *naive) {
  for (int i = 0; i < naive->n_attempts; i++)
    sum->waited += naive->attempt[i].start > in->job[naive->attempt[i].job].submit;
  sum->backfilled += naive->backfilled;
  sum->reserved += naive->reserved;
  sum->preempted += naive->preempted;
  sum->interrupted += naive->interrupted;
  sum->requested += naive->requested;
  sum->moved += naive->moved;
  sum->released += naive->released;
  sum->constrained += naive->constrained;
  sum->relaid += naive->relaid;
}

static bool had_effect(const struct row *row, const struct effects *sum) {
  bool shares = true;
  if (row->sharing == WORLD_ISLANDS || row->sharing == WORLD_MIG_ISLANDS) shares = sum->constrained > WORLDS;
  if (row->sharing == WORLD_MIG_DYNAMIC || row->sharing == WORLD_MIG) shares = sum->relaid > WORLDS / 4;
  if (!shares || sum->waited < WORLDS) return false;
  switch (row->feature) {
  case WORLD_STRICT:
    return sum->backfilled == 0;
  case WORLD_SKIP:
    return sum->backfilled > WORLDS;
  case WORLD_EASY:
  case WORLD_CONSERVATIVE:
    return sum->backfilled > WORLDS && sum->reserved > WORLDS;
  case WORLD_PREEMPT_PRIORITY:
  case WORLD_PREEMPT_ORDER:
    return sum->preempted > WORLDS;
  case WORLD_RECLAIM:
    return sum->preempted > WORLDS / 2;
  case WORLD_STATIC_SPOT:
    return sum->interrupted > WORLDS / 2 && sum->requested > WORLDS;
  case WORLD_ON_DEMAND_ONLY:
    return sum->requested > WORLDS && sum->released > WORLDS;
  case WORLD_SPOT_FIRST:
    return sum->interrupted > WORLDS / 2 && sum->requested > WORLDS && sum->released > WORLDS &&
           sum->moved > WORLDS / 8;
  }
  return false;
}

static void print_effects(const struct effects *sum) {
  printf("  waits %d, backfilled %d, reserved %d, preempted %d, interrupted %d, requested %d, moved %d, released %d,"
         " constrained %d, other layouts %d\n",
         sum->waited, sum->backfilled, sum->reserved, sum->preempted, sum->interrupted, sum->requested, sum->moved,
         sum->released, sum->constrained, sum->relaid);
}

/* The last world that was compared, and both schedules. */
static struct {
  struct world world;
  struct naive_gpus_result naive;
  struct outcome headroom;
} now;

/* Runs both schedulers. Returns whether the schedules are equal. `check`: checked mode. */
static bool run_both(bool check) {
  bool same = true;
  run_headroom(&now.world, check, &now.headroom);
  if (now.headroom.status == HR_BAD_INPUT) return true;
  run_naive(&now.world.in, &now.naive);
  for (int j = 0; j < now.world.in.n_jobs; j++) same = same && same_job(&now.world, &now.naive, &now.headroom, j);
  return same && now.headroom.status == HR_OK;
}

/* Removes jobs while the schedules differ. */
static void shrink(void) {
  struct naive_gpus_input *in = &now.world.in;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int j = in->n_jobs; j-- > 1;) {
      struct naive_gpus_input before = *in;
      memmove(&in->job[j], &in->job[j + 1], (size_t)(--in->n_jobs - j) * sizeof *in->job);
      if (run_both(false))
        *in = before;
      else
        smaller = true;
    }
  }
  run_both(true);
}

/* Compares one world. Returns whether the results are equal; if not, prints the difference. Sets `*refused` to whether
   Headroom does not support the world; the naive scheduler runs it nevertheless. `strict`: without mig_fallback. */
static bool compare_world(const struct row *row, uint32_t seed, bool strict, struct effects *sum, bool *refused) {
  world_draw(&now.world, row->sharing, row->feature, seed);
  now.world.in.strict = strict;
  bool same = *refused || run_both(seed % 8 == 0);
  *refused = *refused || now.headroom.status == HR_BAD_INPUT;
  if (*refused) run_naive(&now.world.in, &now.naive);
  add_effects(sum, &now.world.in, &now.naive);
  if (same) return true;
  shrink();
  printf("\n%s, seed %u, reduced to %d jobs\n", row->name, (unsigned)seed, now.world.in.n_jobs);
  if (now.headroom.status != HR_OK) printf("%s\n", now.headroom.error.text);
  print_difference(&now.world, &now.naive, &now.headroom);
  return false;
}

/* Compares all worlds of a row. `is_new`: if `refusals_fail` is false, Headroom may refuse the row. */
static void compare_row(const struct row *row, bool is_new) {
  struct effects sum = {0};
  bool refused = false, same = true, verbose = test_argument(1, 0) > 0;
  uint32_t first = test_argument(2, 0), n_worlds = test_argument(3, WORLDS / 3);
  for (uint32_t seed = first; seed < first + n_worlds && same; seed++)
    same = compare_world(row, seed, false, &sum, &refused);
  struct effects strict_sum = {0};
  for (uint32_t seed = first; seed < first + n_worlds / 4 && same && strstr(row->name, "MIG"); seed++)
    same = compare_world(row, seed, true, &strict_sum, &refused);
  CU_ASSERT_TRUE(same);
  bool fails = refused && (refusals_fail || !is_new), effect = n_worlds < WORLDS || had_effect(row, &sum);
  CU_ASSERT_FALSE(fails);
  CU_ASSERT_TRUE(!same || effect);
  if (refused) printf("\n  %s: %s: %s\n", row->name, fails ? "refused" : "skipped", now.headroom.error.text);
  if (same && !effect) printf("\n  %s: the rule had no effect\n", row->name);
  if (!effect || verbose) print_effects(&sum);
}

static const struct row rows[] = {
    {"strict, fraction", WORLD_FRACTION, WORLD_STRICT},
    {"skip, fraction", WORLD_FRACTION, WORLD_SKIP},
    {"easy, fraction", WORLD_FRACTION, WORLD_EASY},
    {"strict, mps", WORLD_MPS, WORLD_STRICT},
    {"skip, mps", WORLD_MPS, WORLD_SKIP},
    {"easy, mps", WORLD_MPS, WORLD_EASY},
    {"strict, MIG static", WORLD_MIG_STATIC, WORLD_STRICT},
    {"skip, MIG static", WORLD_MIG_STATIC, WORLD_SKIP},
    {"easy, MIG static", WORLD_MIG_STATIC, WORLD_EASY},
    {"strict, MIG dynamic", WORLD_MIG_DYNAMIC, WORLD_STRICT},
    {"skip, MIG dynamic", WORLD_MIG_DYNAMIC, WORLD_SKIP},
    {"easy, MIG dynamic", WORLD_MIG_DYNAMIC, WORLD_EASY},
    {"strict, MIG on-demand", WORLD_MIG_ON_DEMAND, WORLD_STRICT},
    {"skip, MIG on-demand", WORLD_MIG_ON_DEMAND, WORLD_SKIP},
    {"easy, MIG on-demand", WORLD_MIG_ON_DEMAND, WORLD_EASY},
    {"strict, islands", WORLD_ISLANDS, WORLD_STRICT},
    {"skip, islands", WORLD_ISLANDS, WORLD_SKIP},
    {"easy, islands", WORLD_ISLANDS, WORLD_EASY},
    {"static spot, fraction", WORLD_FRACTION, WORLD_STATIC_SPOT},
    {"static spot, MIG", WORLD_MIG, WORLD_STATIC_SPOT},
    {"static spot, islands", WORLD_ISLANDS, WORLD_STATIC_SPOT},
    {"conservative, counted", WORLD_COUNTED, WORLD_CONSERVATIVE},
    {"preemption by priority, counted", WORLD_COUNTED, WORLD_PREEMPT_PRIORITY},
    {"preemption by order, counted", WORLD_COUNTED, WORLD_PREEMPT_ORDER},
    {"reclaim, counted", WORLD_COUNTED, WORLD_RECLAIM},
    {"static spot, counted", WORLD_COUNTED, WORLD_STATIC_SPOT},
    {"on-demand-only, counted", WORLD_COUNTED, WORLD_ON_DEMAND_ONLY},
    {"spot-first, counted", WORLD_COUNTED, WORLD_SPOT_FIRST},
    {"conservative, fraction", WORLD_FRACTION, WORLD_CONSERVATIVE},
    {"conservative, MIG", WORLD_MIG, WORLD_CONSERVATIVE},
    {"conservative, islands", WORLD_ISLANDS, WORLD_CONSERVATIVE},
    {"preemption by priority, fraction", WORLD_FRACTION, WORLD_PREEMPT_PRIORITY},
    {"preemption by priority, MIG", WORLD_MIG, WORLD_PREEMPT_PRIORITY},
    {"preemption by priority, islands", WORLD_ISLANDS, WORLD_PREEMPT_PRIORITY},
    {"preemption by order, fraction", WORLD_FRACTION, WORLD_PREEMPT_ORDER},
    {"preemption by order, MIG", WORLD_MIG, WORLD_PREEMPT_ORDER},
    {"preemption by order, islands", WORLD_ISLANDS, WORLD_PREEMPT_ORDER},
    {"reclaim, fraction", WORLD_FRACTION, WORLD_RECLAIM},
    {"reclaim, MIG", WORLD_MIG, WORLD_RECLAIM},
    {"reclaim, islands", WORLD_ISLANDS, WORLD_RECLAIM},
    {"on-demand-only, fraction", WORLD_FRACTION, WORLD_ON_DEMAND_ONLY},
    {"on-demand-only, MIG", WORLD_MIG, WORLD_ON_DEMAND_ONLY},
    {"on-demand-only, islands", WORLD_ISLANDS, WORLD_ON_DEMAND_ONLY},
    {"spot-first, fraction", WORLD_FRACTION, WORLD_SPOT_FIRST},
    {"spot-first, MIG", WORLD_MIG, WORLD_SPOT_FIRST},
    {"spot-first, islands", WORLD_ISLANDS, WORLD_SPOT_FIRST},
    {"easy, MIG islands", WORLD_MIG_ISLANDS, WORLD_EASY},
    {"conservative, MIG islands", WORLD_MIG_ISLANDS, WORLD_CONSERVATIVE},
};

/* Arguments of the test: the number of a row, or 0 for all rows; the first seed; the number of worlds. */
static void schedules_are_equal(void) {
  uint32_t n_rows = sizeof rows / sizeof *rows, only = test_argument(1, 0);
  bool is_new = false;
  for (uint32_t i = 0; i < n_rows; i++) {
    is_new = is_new || strcmp(rows[i].name, first_new_row) == 0;
    if (only == 0 || only == i + 1 || only > n_rows) compare_row(&rows[i], is_new);
  }
  CU_ASSERT_TRUE(is_new);
}

TEST_MAIN("shared GPUs, by a naive scheduler", TEST(schedules_are_equal))
