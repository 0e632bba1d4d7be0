/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sharer's own files share. */

#include "policies/placement/gpu_allocator.h"

#include "policies/placement/gang_groups.h"
#include "policies/queue/dispatch.h"

/* A state of the cluster, and who looks for places in it. */
struct hr__yard {
  struct hr_stock *stock;
  struct hr_packer *packer;
  struct hr__groups *groups; /* NULL unless jobs are to be within some */
  struct hr_packer *bare;    /* sharer_bare.c; NULL until it is asked */
};

struct hr__sharer {
  struct hr__yard now;   /* follows what happens */
  struct hr__yard empty; /* all nodes there, and no job; NULL unless some gang may never find places */
  const struct hr_requests *requests;
  struct hr_request *asked; /* the packer's: those of the trace, and those of gangs for each pool */
  uint32_t *first_variant;  /* by request: its variant for pool 0; HR_NONE: it has one task, or none */
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance; /* of the cluster's classes, and of each pool alone */
  struct hr_slice *slices;         /* room for the largest gang */
  const struct hr_cluster *cluster;
  struct hr__sharer *bare; /* sharer_bare.c; likewise */
  bool failed;             /* out of memory while it was asked something */
};

/*
 * A gang may go to any pool that it accepts, but its tasks stay together. So its request stands in the packer once more
 * for each pool, as one that accepts that pool alone; pools are tried in the cluster's order.
 */

/* ---- Finding ---------------------------------------------------------------------------------------- */

static bool find_task(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                      struct hr_slice *slice) {
  const struct hr_request *asked = &sharer->asked[request];
  hr_node node;
  uint64_t gpus;
  if (!hr_packer_find(yard->packer, request, &node, &gpus)) return false;
  *slice = hr_stock_slice(yard->stock, asked, node, gpus);
  return true;
}

static void change_node(const struct hr__yard *yard, hr_node node) {
  if (yard->groups) hr__groups_changed(yard->groups, node);
  if (yard->bare) hr_packer_changed(yard->bare, node);
}

static void take(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                 const struct hr_slice *slice) {
  hr_stock_take(yard->stock, &sharer->asked[request], slice);
  hr_packer_taken(yard->packer, request, slice->node);
  change_node(yard, slice->node);
}

static void give(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                 const struct hr_slice *slice) {
  hr_stock_give(yard->stock, &sharer->asked[request], slice);
  hr_packer_given(yard->packer, request, slice->node);
  change_node(yard, slice->node);
}

static void undo(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                 const struct hr_slice *slice) {
  hr_stock_undo(yard->stock, &sharer->asked[request], slice);
  hr_packer_given(yard->packer, request, slice->node);
  change_node(yard, slice->node);
}

/* Each task as if those before it were there already. */
static bool find_gang(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t variant) {
  uint32_t tasks = sharer->asked[variant].tasks, placed = 0;
  while (placed < tasks && find_task(sharer, yard, variant, &sharer->slices[placed]))
    take(sharer, yard, variant, &sharer->slices[placed++]);
  for (uint32_t i = placed; i-- > 0;) undo(sharer, yard, variant, &sharer->slices[i]);
  return placed == tasks;
}

static bool find(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                 struct hr_placement *placement) {
  const struct hr_request *asked = &sharer->asked[request];
  *placement = (struct hr_placement){.slices = sharer->slices};
  if (!hr_request_needs_node(asked)) return true;
  placement->n_slices = asked->tasks;
  if (sharer->first_variant[request] == HR_NONE) {
    if (!find_task(sharer, yard, request, sharer->slices)) return false;
    placement->pool.id = yard->stock->pool[sharer->slices[0].node.id];
    return true;
  }
  for (uint32_t pool = 0; pool < sharer->n_pools; pool++) {
    uint32_t variant = sharer->first_variant[request] + pool;
    placement->pool.id = pool;
    if (sharer->asked[variant].accept_class != HR_NONE && find_gang(sharer, yard, variant)) return true;
  }
  return false;
}

bool hr__sharer_find(struct hr__sharer *sharer, uint32_t request, struct hr_placement *placement) {
  return find(sharer, &sharer->now, request, placement);
}

bool hr__yard_find(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   struct hr_placement *placement) {
  return find(sharer, yard, request, placement);
}

void hr__yard_take(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) take(sharer, yard, request, &placement->slices[i]);
}

void hr__yard_give(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) give(sharer, yard, request, &placement->slices[i]);
}

void hr__yard_undo(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement) {
  for (uint32_t i = placement->n_slices; i-- > 0;) undo(sharer, yard, request, &placement->slices[i]);
}

void hr__yard_node_changes(const struct hr__yard *yard, const struct hr_view *view, const struct hr_event *event) {
  if (event->node.id == HR_NONE) return;
  if (event->kind == HR_EVENT_NODE_UP) hr_stock_renew(yard->stock, event->node);
  yard->stock->closed[event->node.id] = hr_cluster_node_state(view->cluster, event->node) != HR_NODE_UP;
  hr_packer_changed(yard->packer, event->node);
  change_node(yard, event->node);
}

/* ---- Within groups ---------------------------------------------------------------------------------- */

/* On parts of one node a task has the GPUs that hr_stock_pick would take of them. */
static bool find_task_in(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                         const struct hr__group_place *place, bool parted, struct hr_slice *slice) {
  const struct hr_request *asked = &sharer->asked[request];
  hr_node node = place->first;
  uint64_t gpus;
  if (!parted) {
    if (!hr_packer_find_among(yard->packer, request, place->first, place->n_nodes, &node, &gpus)) return false;
  } else {
    if (!hr_stock_fits(yard->stock, asked, node)) return false;
    gpus = hr_stock_pick_of(yard->stock, asked, node, place->gpus);
    if ((uint32_t)__builtin_popcountll(gpus) < asked->gpus) return false;
  }
  *slice = hr_stock_slice(yard->stock, asked, node, gpus);
  return true;
}

/* Each task as if those before it were there already. */
static bool find_in(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                    const struct hr__group_place *place, bool parted) {
  uint32_t tasks = sharer->asked[request].tasks, placed = 0;
  while (placed < tasks && find_task_in(sharer, yard, request, place, parted, &sharer->slices[placed]))
    take(sharer, yard, request, &sharer->slices[placed++]);
  for (uint32_t i = placed; i-- > 0;) undo(sharer, yard, request, &sharer->slices[i]);
  return placed == tasks;
}

/* Groups that have room by their number are tried, the tightest first, until the tasks find their places in one. */
static bool find_in_pool(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                         enum hr_tier tier, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(sharer->cluster, pool);
  bool parted = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) < spec->gpus_per_node;
  for (;;) {
    uint32_t group = hr__groups_tightest(yard->groups, request, tier, pool);
    if (group == HR_NONE) return false;
    struct hr__group_place place = hr__groups_place(yard->groups, tier, pool, group);
    if (find_in(sharer, yard, request, &place, parted)) return true;
    hr__groups_leave_out(yard->groups, request, tier, pool, group);
  }
}

/* Whether the tier parts the nodes of some pool that is accepted. */
static bool parts_nodes(const struct hr__sharer *sharer, const struct hr_request *asked, enum hr_tier tier) {
  for (uint32_t i = 0; i < sharer->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(sharer->cluster, (hr_pool){i});
    if (hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) == spec->gpus_per_node) continue;
    if (hr_cluster_accepts(sharer->cluster, asked->accept_class, (hr_pool){i})) return true;
  }
  return false;
}

/* A single task is on one node, and on one GPU of it in one group of everything. */
static bool is_within(const struct hr__sharer *sharer, const struct hr_request *asked, enum hr_tier tier) {
  return asked->tasks == 1 && (asked->gpus <= 1 || tier >= HR_TIER_NODE || !parts_nodes(sharer, asked, tier));
}

static bool find_within(struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request, enum hr_tier tier,
                        struct hr_placement *placement) {
  const struct hr_request *asked = &sharer->asked[request];
  if (is_within(sharer, asked, tier) || !hr_request_needs_node(asked)) return find(sharer, yard, request, placement);
  if (!hr__groups_look(yard->groups, request, tier)) {
    sharer->failed = true;
    return false;
  }
  for (uint32_t pool = 0; pool < sharer->n_pools; pool++) {
    *placement = (struct hr_placement){.pool = {pool}, .n_slices = asked->tasks, .slices = sharer->slices};
    if (!hr_cluster_accepts(sharer->cluster, asked->accept_class, (hr_pool){pool})) continue;
    if (find_in_pool(sharer, yard, request, tier, (hr_pool){pool})) return true;
  }
  return false;
}

bool hr__sharer_find_within(struct hr__sharer *sharer, uint32_t request, enum hr_tier tier,
                            struct hr_placement *placement) {
  return find_within(sharer, &sharer->now, request, tier, placement);
}

bool hr__yard_find_within(struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request, enum hr_tier tier,
                          struct hr_placement *placement) {
  return find_within(sharer, yard, request, tier, placement);
}

uint64_t hr__sharer_finds(const struct hr__sharer *sharer) {
  return hr_packer_finds(sharer->now.packer);
}

void hr__sharer_rewind(struct hr__sharer *sharer, uint64_t finds) {
  hr_packer_rewind(sharer->now.packer, finds);
}

bool hr__sharer_failed(const struct hr__sharer *sharer) {
  return sharer->failed;
}

/* ---- What happens ----------------------------------------------------------------------------------- */

/* Tasks with shares of several GPUs may get in each other's way: that they fit by their number is not enough. */
static bool may_not_fit(const struct hr_request *request) {
  return request->tasks > 1 && request->gpus > 1 && request->gpu_milli < HR_WHOLE_GPU_MILLI;
}

/* What finds no place on the empty cluster never will. */
static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__sharer *sharer = queue->sharer;
  uint32_t request = sharer->requests->of_job[job.id];
  struct hr_within within = hr_cluster_within(queue->cluster, job);
  bool must = within.tier != HR_TIER_ANY && within.until_us == HR_NEVER_US;
  struct hr_placement unused;
  if (!sharer->empty.packer || !may_not_fit(&sharer->asked[request])) return HR_OK;
  if (!find(sharer, &sharer->empty, request, &unused))
    return hr__queue_give_up(queue, job, HR_REASON_TOO_LARGE) ? HR_OK : HR_NO_MEMORY;
  if (!must || find_within(sharer, &sharer->empty, request, within.tier, &unused)) return HR_OK;
  return hr__queue_give_up(queue, job, HR_REASON_NO_GROUP) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t request_of(const struct hr__queue *queue, hr_job job) {
  return queue->sharer->requests->of_job[job.id];
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)view;
  hr__yard_take(queue->sharer, &queue->sharer->now, request_of(queue, job), placement);
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  hr__yard_give(queue->sharer, &queue->sharer->now, request_of(queue, event->job), event->placement);
  return HR_OK;
}

/* Who was on a node that goes has been interrupted before. */
static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  hr__yard_node_changes(&queue->sharer->now, view, event);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops, .node_changes = node_changes};

/* ---- Making one ------------------------------------------------------------------------------------- */

static bool make_acceptance(struct hr__sharer *sharer, struct hr_arena *arena, const struct hr_cluster *cluster) {
  uint32_t n_classes = 0;
  for (uint32_t i = 0; i < sharer->requests->count; i++)
    if (sharer->requests->request[i].accept_class >= n_classes)
      n_classes = sharer->requests->request[i].accept_class + 1;
  uint32_t n_rows = n_classes + sharer->n_pools;
  uint8_t *row = hr_arena_alloc(arena, (size_t)n_rows * sharer->n_pools + 1);
  if (!row) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < sharer->n_pools; pool++)
      row[(size_t)class_ * sharer->n_pools + pool] = hr_cluster_accepts(cluster, class_, (hr_pool){pool});
  for (uint32_t pool = 0; pool < sharer->n_pools; pool++) row[(size_t)(n_classes + pool) * sharer->n_pools + pool] = 1;
  sharer->acceptance = (struct hr_acceptance){row, n_rows, sharer->n_pools};
  return true;
}

/* The gang's request for each pool alone; for one that it does not accept, it accepts none. */
static void add_variants(struct hr__sharer *sharer, uint32_t request) {
  struct hr_request asked = sharer->asked[request];
  const uint8_t *accepted = sharer->acceptance.row + (size_t)asked.accept_class * sharer->n_pools;
  sharer->first_variant[request] = sharer->n_asked;
  for (uint32_t pool = 0; pool < sharer->n_pools; pool++) {
    asked.accept_class = accepted[pool] ? sharer->acceptance.n_classes - sharer->n_pools + pool : HR_NONE;
    sharer->asked[sharer->n_asked++] = asked;
  }
}

static bool make_asked(struct hr__sharer *sharer, struct hr_arena *arena) {
  const struct hr_requests *requests = sharer->requests;
  uint32_t most_tasks = 1, n_gangs = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    if (requests->request[i].tasks > most_tasks) most_tasks = requests->request[i].tasks;
    n_gangs += requests->request[i].tasks > 1;
  }
  size_t n_asked = requests->count + (size_t)n_gangs * sharer->n_pools + 1;
  sharer->asked = hr_arena_alloc(arena, n_asked * sizeof *sharer->asked);
  sharer->first_variant = hr_arena_alloc(arena, n_asked * sizeof *sharer->first_variant);
  sharer->slices = hr_arena_alloc(arena, most_tasks * sizeof *sharer->slices);
  if (!sharer->asked || !sharer->first_variant || !sharer->slices) return false;
  sharer->n_asked = requests->count;
  for (uint32_t i = 0; i < requests->count; i++) sharer->asked[i] = requests->request[i];
  for (uint32_t i = 0; i < requests->count; i++) {
    sharer->first_variant[i] = HR_NONE;
    if (requests->request[i].tasks > 1) add_variants(sharer, i);
  }
  return true;
}

static bool make_yard(const struct hr__sharer *sharer, const struct hr_policy_env *env,
                      const struct hr_packing_rule *rule, struct hr__yard *yard) {
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(env->cluster);
  yard->stock = hr_stock_create(env->arena, cluster, sharer->requests);
  struct hr_packer_config config = {.rule = rule,
                                    .stock = yard->stock,
                                    .cluster = cluster,
                                    .acceptance = sharer->acceptance,
                                    .requests = sharer->asked,
                                    .n_requests = sharer->n_asked,
                                    .typical = sharer->typical,
                                    .seed = env->seed};
  yard->packer = yard->stock ? hr_packer_create(env->arena, &config) : NULL;
  if (!yard->packer || !hr_cluster_any_within(env->cluster)) return yard->packer != NULL;
  yard->groups = hr__groups_create(env->arena, cluster, yard->stock, sharer->asked, sharer->requests->count);
  return yard->groups != NULL;
}

/* As the cluster is before anything has happened. */
static bool make_present(const struct hr__sharer *sharer, const struct hr_policy_env *env,
                         const struct hr_packing_rule *rule, struct hr__yard *yard) {
  const struct hr_stock *now = hr_cluster_stock(env->cluster);
  if (!make_yard(sharer, env, rule, yard)) return false;
  for (uint32_t node = 0; node < now->n_nodes; node++) yard->stock->closed[node] = now->closed[node];
  return true;
}

struct hr__yard *hr__yard_create(const struct hr__sharer *sharer, const struct hr_policy_env *env,
                                 const struct hr_packing_rule *rule) {
  struct hr__yard *yard = hr_arena_alloc(env->arena, sizeof *yard);
  return yard && make_present(sharer, env, rule, yard) ? yard : NULL;
}

static bool make_empty(struct hr__sharer *sharer, const struct hr_policy_env *env, const struct hr_packing_rule *rule) {
  for (uint32_t i = 0; i < sharer->requests->count; i++)
    if (may_not_fit(&sharer->requests->request[i])) return make_yard(sharer, env, rule, &sharer->empty);
  return true;
}

struct hr__sharer *hr__sharer_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                     const struct hr_packing_rule *rule) {
  struct hr__sharer *sharer = hr_arena_alloc(env->arena, sizeof *sharer);
  if (!sharer) return NULL;
  sharer->cluster = env->cluster;
  sharer->n_pools = hr_cluster_pools(env->cluster);
  sharer->requests = hr_cluster_requests(env->cluster);
  sharer->typical = hr_typical_pods_create(env->arena, sharer->requests);
  if (!sharer->typical || !make_acceptance(sharer, env->arena, env->cluster) || !make_asked(sharer, env->arena) ||
      !make_present(sharer, env, rule, &sharer->now) || !make_empty(sharer, env, rule))
    return NULL;
  hr__queue_listen(queue, &listener);
  return sharer;
}

/*
 * Whether it is for want of CPU or memory that a job finds no place: the same stock, looked at by a packer to which all
 * requests are for GPUs alone. It is made when it is first asked, as only explanations do.
 */

static struct hr_request *bare_requests(struct hr_arena *arena, const struct hr__sharer *sharer) {
  struct hr_request *bare = hr_arena_alloc(arena, ((size_t)sharer->n_asked + 1) * sizeof *bare);
  for (uint32_t i = 0; bare && i < sharer->n_asked; i++) {
    bare[i] = sharer->asked[i];
    bare[i].cpu_milli = 0;
    bare[i].mem_mib = 0;
  }
  return bare;
}

/* Its slices are those of the sharer: whoever finds a place is told so before the next question. */
static struct hr__sharer *make_bare(struct hr_arena *arena, struct hr__sharer *sharer) {
  struct hr__sharer *bare = hr_arena_alloc(arena, sizeof *bare);
  const struct hr_packing_rule *rule = hr_packing_rule_find("first-fit", NULL);
  if (!bare || !rule) return NULL;
  *bare = *sharer;
  bare->asked = bare_requests(arena, sharer);
  struct hr_packer_config config = {.rule = rule,
                                    .stock = sharer->now.stock,
                                    .cluster = hr_cluster_spec_of(sharer->cluster),
                                    .acceptance = sharer->acceptance,
                                    .requests = bare->asked,
                                    .n_requests = sharer->n_asked};
  struct hr_packer *packer = bare->asked ? hr_packer_create(arena, &config) : NULL;
  if (!packer) return NULL;
  bare->now = (struct hr__yard){.stock = sharer->now.stock, .packer = packer};
  sharer->now.bare = packer;
  return bare;
}

bool hr__sharer_lacks_node(struct hr__queue *queue, hr_job job) {
  struct hr__sharer *sharer = queue->sharer;
  uint32_t request = sharer->requests->of_job[job.id];
  const struct hr_request *asked = &sharer->asked[request];
  struct hr_placement unused;
  if (asked->cpu_milli == 0 && asked->mem_mib == 0) return false;
  if (!sharer->bare) sharer->bare = make_bare(queue->arena, sharer);
  if (!sharer->bare) sharer->failed = true;
  return sharer->bare && hr__yard_find(sharer->bare, &sharer->bare->now, request, &unused);
}
