/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs of jobs with topology constraints (racks, zones, nodes). The start time and the nodes of each job are
   compared with those of a naive scheduler, which examines every rack and every node at every instant. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "holds.h"
#include "queue_choice.h"

#include <string.h>

enum { JOBS = 60, POOLS = 2, MAX_NODES = 32, CASES = 600, END = 100000 };
enum mode { STRICT, SKIP, EASY, N_MODES };
enum rule { FIRST, BEST, WORST, N_RULES };
static const char *const mode_names[] = {"strict", "skip", "easy"};
static const char *const rule_names[] = {"first-fit", "best-fit", "worst-fit"};

struct place {
  uint32_t n_slices, node[MAX_NODES], gpus[MAX_NODES];
};

struct job {
  int64_t start_us, end_us, expected_us;
  bool rejected;
  struct place place;
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS], wait_us[JOBS];
  uint32_t gpus[JOBS];
  uint8_t within[JOBS], class_[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  uint32_t first[POOLS], n_nodes;
  struct job engine[JOBS], naive[JOBS];
  uint64_t n_waited, n_within, n_lapsed, n_rejected, n_backfilled;
} world;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static void draw_pools(void) {
  static char first[] = "first", second[] = "second", gpu[] = "T4";
  uint32_t n_pools = 1 + draw(4) / 3;
  world.n_nodes = 0;
  for (uint32_t i = 0; i < n_pools; i++) {
    world.pools[i] = (struct hr_pool_spec){
        .name = i ? second : first, .gpu = gpu, .nodes = 3 + draw(10), .gpus_per_node = 1 + draw(4)};
    if (draw(8)) world.pools[i].topology.nodes_per_rack = 1 + draw(4);
    if (world.pools[i].topology.nodes_per_rack && draw(4)) world.pools[i].topology.racks_per_zone = 1 + draw(3);
    world.first[i] = world.n_nodes;
    world.n_nodes += world.pools[i].nodes;
  }
  world.cluster = (struct hr_cluster_spec){.pools = world.pools, .n_pools = n_pools};
}

/* Draws random jobs. Either some jobs run beyond their limits (`overdue`), or some constraints expire. If a case had
   both, its result would depend on the times of passes that no event causes. */
static void draw_jobs(bool overdue) {
  static const uint8_t tiers[] = {HR_TIER_ANY, HR_TIER_ANY, HR_TIER_RACK, HR_TIER_RACK, HR_TIER_ZONE, HR_TIER_NODE};
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(8);
    world.work_us[i] = 1 + draw(40);
    world.limit_us[i] = world.work_us[i] * (1 + draw(3)) / (overdue && draw(8) == 0 ? 2 : 1);
    world.gpus[i] = draw(12) ? 1 + draw(draw(2) ? 6 : 14) : 0;
    world.within[i] = tiers[draw(6)];
    world.wait_us[i] = draw(3) ? (int64_t)draw(60) * draw(2) * !overdue : HR_UNKNOWN_US;
    if (world.within[i] == HR_TIER_ANY) world.wait_us[i] = HR_UNKNOWN_US;
    world.class_[i] = overdue || draw(8) ? HR_CLASS_UNKNOWN : HR_CLASS_TRAINING;
  }
  world.classes[HR_CLASS_TRAINING] = (struct hr_class_spec){.within = HR_TIER_RACK, .within_wait_us = 25};
  world.trace = (struct hr_trace){.source = "test",
                                  .n_jobs = JOBS,
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .limit_us = world.limit_us,
                                  .gpus = world.gpus,
                                  .class_ = world.class_,
                                  .within = world.within,
                                  .within_wait_us = world.wait_us};
}

/* ---- Simulated run ---------------------------------------------------------------------------------- */

static void record_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  if (event->job.id == HR_NONE) return;
  struct job *job = &world.engine[event->job.id];
  if (event->kind == HR_EVENT_REJECT) {
    job->rejected = true;
    CU_ASSERT(event->reason == HR_REASON_NO_GROUP || event->reason == HR_REASON_TOO_LARGE);
  }
  if (event->kind != HR_EVENT_START) return;
  job->start_us = event->at_us;
  job->place.n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < job->place.n_slices; i++) {
    job->place.node[i] = event->placement->slices[i].node.id;
    job->place.gpus[i] = event->placement->slices[i].gpu_milli / 1000;
  }
  world.n_backfilled += event->reason == HR_REASON_BACKFILL;
}

static void run_engine(enum mode mode, enum rule rule) {
  struct hr_policy_choice choice = queue_choice(mode_names[mode], rule_names[rule]);
  struct holds holds;
  struct hr_observer observers[1 + HOLDS_FOLDS] = {{.on_event = record_event}};
  CU_ASSERT_TRUE_FATAL(holds_init(&holds, &world.trace));
  holds_observers(&holds, observers + 1);
  struct hr_run_config config = {.trace = &world.trace,
                                 .cluster = &world.cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = world.classes,
                                 .observers = observers,
                                 .n_observers = 1 + HOLDS_FOLDS};
  struct hr_result *result;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < JOBS; i++) world.engine[i] = (struct job){.start_us = -1};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  holds_check_end(&holds, result);
  CU_ASSERT_STRING_EQUAL(holds.fault, "");
  if (holds.fault[0]) printf("  %s\n", holds.fault);
  holds_finish(&holds);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* ---- Naive scheduler: placements -------------------------------------------------------------------- */

static enum hr_tier tier_of(uint32_t job) {
  if (world.gpus[job] < 2) return HR_TIER_ANY;
  if (world.within[job] != HR_TIER_ANY) return (enum hr_tier)world.within[job];
  return world.class_[job] == HR_CLASS_TRAINING ? HR_TIER_RACK : HR_TIER_ANY;
}

static int64_t until_of(uint32_t job) {
  /* the constraint and its expiry are those of the class */
  if (world.within[job] == HR_TIER_ANY) return world.submit_us[job] + 25;
  return world.wait_us[job] == HR_UNKNOWN_US ? INT64_MAX : world.submit_us[job] + world.wait_us[job];
}

/* Returns the node that the rule selects in a range. The node must have at least `gpus` free GPUs, and must not be in
   `place` yet. -1: no such node. */
static int pick(enum rule rule, const uint32_t *left, uint32_t from, uint32_t end, uint32_t gpus,
                const struct place *place) {
  int best = -1;
  for (uint32_t node = from; node < end; node++) {
    bool has = false;
    for (uint32_t i = 0; i < place->n_slices; i++) has = has || place->node[i] == node;
    if (has || left[node] < gpus) continue;
    bool better = best < 0 || (rule == BEST && left[node] < left[best]) || (rule == WORST && left[node] > left[best]);
    if (better) best = (int)node;
  }
  return best;
}

static void add_slot(struct place *place, int node, uint32_t gpus) {
  place->node[place->n_slices] = (uint32_t)node;
  place->gpus[place->n_slices++] = gpus;
}

/* Places a gang on nodes of a range: on wholly free nodes, those with the lowest indices first, and the remainder on
   one more node. Returns whether it fits. */
static bool place_gang(enum rule rule, const uint32_t *left, uint32_t from, uint32_t end, uint32_t size, uint32_t gpus,
                       struct place *place) {
  *place = (struct place){0};
  for (uint32_t node = from; node < end && gpus >= size; node++) {
    if (left[node] != size) continue;
    add_slot(place, (int)node, size);
    gpus -= size;
  }
  if (gpus >= size) return false;
  int node = gpus ? pick(rule, left, from, end, gpus, place) : 0;
  if (gpus && node >= 0) add_slot(place, node, gpus);
  return node >= 0;
}

static bool is_single(uint32_t gpus) {
  for (uint32_t i = 0; i < world.cluster.n_pools; i++)
    if (world.pools[i].gpus_per_node >= gpus) return true;
  return false;
}

static bool place_single(enum rule rule, const uint32_t *left, uint32_t gpus, struct place *place) {
  int best = -1;
  *place = (struct place){0};
  for (uint32_t i = 0; i < world.cluster.n_pools; i++) {
    int node = pick(rule, left, world.first[i], world.first[i] + world.pools[i].nodes, gpus, place);
    if (node < 0) continue;
    bool better = best < 0 || (rule == BEST && left[node] < left[best]) || (rule == WORST && left[node] > left[best]);
    if (better) best = node;
  }
  if (best >= 0) add_slot(place, best, gpus);
  return best >= 0;
}

static bool place_anywhere(enum rule rule, const uint32_t *left, uint32_t gpus, struct place *place) {
  *place = (struct place){0};
  if (gpus == 0) return true;
  if (is_single(gpus)) return place_single(rule, left, gpus, place);
  for (uint32_t i = 0; i < world.cluster.n_pools; i++) {
    uint32_t first = world.first[i];
    if (place_gang(rule, left, first, first + world.pools[i].nodes, world.pools[i].gpus_per_node, gpus, place))
      return true;
  }
  return false;
}

static uint32_t nodes_of_group(const struct hr_pool_spec *pool, enum hr_tier tier) {
  uint32_t rack = pool->topology.nodes_per_rack, racks = pool->topology.racks_per_zone;
  if (tier == HR_TIER_RACK && rack) return rack;
  return rack && racks ? rack * racks : pool->nodes;
}

/* Returns the size of the largest gang that fits on the nodes. */
static uint32_t largest_gang(enum rule rule, const uint32_t *left, uint32_t from, uint32_t end, uint32_t size) {
  struct place unused;
  uint32_t gpus = (end - from) * size;
  while (gpus > 0 && !place_gang(rule, left, from, end, size, gpus, &unused)) gpus--;
  return gpus;
}

/* Places a gang in the first pool with a group in which it fits; in that pool, in the tightest such group. Returns
   whether it fits. */
static bool place_within(enum rule rule, const uint32_t *left, enum hr_tier tier, uint32_t gpus, struct place *place) {
  if (gpus == 0 || is_single(gpus)) return place_anywhere(rule, left, gpus, place);
  for (uint32_t i = 0; i < world.cluster.n_pools && tier > HR_TIER_NODE; i++) {
    const struct hr_pool_spec *pool = &world.pools[i];
    uint32_t n_nodes = nodes_of_group(pool, tier), tightest = UINT32_MAX, at = 0, last = world.first[i] + pool->nodes;
    for (uint32_t from = world.first[i]; from < last; from += n_nodes) {
      uint32_t end = from + n_nodes < last ? from + n_nodes : last;
      uint32_t room = largest_gang(rule, left, from, end, pool->gpus_per_node);
      if (room < gpus || room >= tightest) continue;
      tightest = room;
      at = from;
    }
    uint32_t end = at + n_nodes < last ? at + n_nodes : last;
    if (tightest != UINT32_MAX) return place_gang(rule, left, at, end, pool->gpus_per_node, gpus, place);
  }
  return false;
}

static bool find(enum rule rule, const uint32_t *left, uint32_t job, int64_t at_us, struct place *place) {
  enum hr_tier tier = tier_of(job);
  if (tier == HR_TIER_ANY) return place_anywhere(rule, left, world.gpus[job], place);
  if (place_within(rule, left, tier, world.gpus[job], place)) return true;
  return at_us >= until_of(job) && place_anywhere(rule, left, world.gpus[job], place);
}

/* ---- Naive scheduler: times ------------------------------------------------------------------------- */

static uint32_t left_now[MAX_NODES];

static void change_free(uint32_t *left, const struct place *place, int by) {
  for (uint32_t i = 0; i < place->n_slices; i++)
    left[place->node[i]] = (uint32_t)((int)left[place->node[i]] + by * (int)place->gpus[i]);
}

static bool runs(uint32_t job, int64_t now_us) {
  return world.naive[job].start_us >= 0 && world.naive[job].end_us > now_us;
}

static int64_t expected_us(uint32_t job, int64_t now_us) {
  int64_t end_us = world.naive[job].expected_us;
  return end_us > now_us ? end_us : now_us + 1;
}

/* Returns whether the job could start at a later time, if running jobs end as expected, except that the GPUs of `taken`
   remain in use. */
static bool could_start(enum rule rule, uint32_t job, int64_t at_us, int64_t now_us, const struct place *taken) {
  uint32_t left[MAX_NODES];
  struct place unused;
  memcpy(left, left_now, sizeof left);
  if (taken) change_free(left, taken, -1);
  for (uint32_t i = 0; i < JOBS; i++)
    if (runs(i, now_us) && expected_us(i, now_us) <= at_us) change_free(left, &world.naive[i].place, 1);
  return find(rule, left, job, at_us, &unused);
}

static int64_t reserved_us(enum rule rule, uint32_t job, int64_t now_us) {
  int64_t best = INT64_MAX, until = tier_of(job) == HR_TIER_ANY ? 0 : until_of(job);
  for (uint32_t i = 0; i < JOBS; i++)
    if (runs(i, now_us) && expected_us(i, now_us) < best &&
        could_start(rule, job, expected_us(i, now_us), now_us, NULL))
      best = expected_us(i, now_us);
  if (until > now_us && until < best && could_start(rule, job, until, now_us, NULL)) best = until;
  return best;
}

static void start(uint32_t job, int64_t now_us, const struct place *place) {
  world.naive[job] = (struct job){.start_us = now_us,
                                  .end_us = now_us + world.work_us[job],
                                  .expected_us = now_us + world.limit_us[job],
                                  .place = *place};
  change_free(left_now, place, -1);
}

static void pass(enum mode mode, enum rule rule, int64_t now_us) {
  uint32_t head = JOBS;
  int64_t reserved = 0;
  for (uint32_t i = 0; i < JOBS && world.submit_us[i] <= now_us; i++) {
    struct place place;
    if (world.naive[i].start_us >= 0 || world.naive[i].rejected) continue;
    bool fits = find(rule, left_now, i, now_us, &place);
    if (!fits && head == JOBS) {
      head = i;
      if (mode == STRICT) return;
      if (mode == EASY) reserved = reserved_us(rule, head, now_us);
    }
    if (!fits) continue;
    bool in_time = head == JOBS || mode == SKIP || world.limit_us[i] <= reserved - now_us;
    if (in_time || could_start(rule, head, reserved, now_us, &place)) start(i, now_us, &place);
  }
}

/* Rejects the jobs that would not fit even on an empty cluster. */
static void reject(enum rule rule) {
  for (uint32_t i = 0; i < JOBS; i++) {
    struct place unused;
    int64_t at_us = until_of(i) == INT64_MAX ? 0 : INT64_MAX - 1;
    world.naive[i] = (struct job){.start_us = -1};
    world.naive[i].rejected = !find(rule, left_now, i, at_us, &unused);
    world.n_rejected += world.naive[i].rejected;
  }
}

static void run_naive(enum mode mode, enum rule rule) {
  for (uint32_t i = 0; i < world.cluster.n_pools; i++)
    for (uint32_t k = 0; k < world.pools[i].nodes; k++) left_now[world.first[i] + k] = world.pools[i].gpus_per_node;
  reject(rule);
  for (int64_t now_us = 0; now_us < END; now_us++) {
    bool is_over = true, happens = false;
    for (uint32_t i = 0; i < JOBS; i++) {
      struct job *job = &world.naive[i];
      bool ends = job->start_us >= 0 && job->end_us == now_us;
      is_over = is_over && (job->rejected || (job->start_us >= 0 && job->end_us < now_us));
      happens = happens || ends || world.submit_us[i] == now_us || (tier_of(i) != HR_TIER_ANY && until_of(i) == now_us);
      if (ends) change_free(left_now, &job->place, 1);
    }
    if (is_over) return;
    if (happens) pass(mode, rule, now_us);
  }
  CU_FAIL("jobs are left");
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool same_job(const struct job *a, const struct job *b) {
  if (a->rejected || b->rejected) return a->rejected == b->rejected;
  if (a->start_us != b->start_us || a->place.n_slices != b->place.n_slices) return false;
  for (uint32_t i = 0; i < a->place.n_slices; i++)
    if (a->place.node[i] != b->place.node[i] || a->place.gpus[i] != b->place.gpus[i]) return false;
  return true;
}

static void placements_equal_scan_of_all_racks(void) {
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 11, HR__PURPOSE_ARRIVAL, seed, 0);
    enum mode mode = (enum mode)(seed % N_MODES);
    enum rule rule = (enum rule)(seed / N_MODES % N_RULES);
    draw_pools();
    draw_jobs(seed % 4 == 3);
    run_engine(mode, rule);
    run_naive(mode, rule);
    for (uint32_t i = 0; i < JOBS; i++) {
      bool same = same_job(&world.engine[i], &world.naive[i]), within = tier_of(i) != HR_TIER_ANY;
      if (!same)
        printf("\n  seed %u, %s, %s, job %u: at %lld on %u nodes, not at %lld on %u\n", seed, mode_names[mode],
               rule_names[rule], i, (long long)world.engine[i].start_us, world.engine[i].place.n_slices,
               (long long)world.naive[i].start_us, world.naive[i].place.n_slices);
      CU_ASSERT_FATAL(same);
      world.n_within += within && world.naive[i].place.n_slices > 1;
      world.n_waited += within && world.naive[i].start_us > world.submit_us[i];
      world.n_lapsed += within && until_of(i) > world.submit_us[i] && world.naive[i].start_us == until_of(i);
    }
  }
  CU_ASSERT(world.n_within > 2000);
  CU_ASSERT(world.n_waited > 2000);
  CU_ASSERT(world.n_lapsed > 200);
  CU_ASSERT(world.n_rejected > 200);
  CU_ASSERT(world.n_backfilled > 500);
}

TEST_MAIN("runs within groups", TEST(placements_equal_scan_of_all_racks))
