/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds of jobs, the nodes on which they may start, and the nodes of running jobs and of advance reservations; see
 * engine.h.
 *
 * A job gets nodes of one pool. If its tasks fit on nodes of the pool, a job with several tasks gets one node for each
 * task, with the same number of GPUs on each node. Any other job gets as few nodes as possible, with whole GPUs. If
 * CPUs and memory of nodes are limited, each task must fit on one node.
 *
 * Invariant: if `sets_are_old` is not set, the set of a pool or kind contains exactly its nodes that are up.
 */

#include "policies/slurm/engine.h"

#include "headroom/unstable/faults.h"

#include <string.h>

/* ---- Creation --------------------------------------------------------------------------------------- */

static uint32_t first_node(const struct hr__slurm_run *run, uint32_t pool) {
  return hr_cluster_first_node(run->cluster, (hr_pool){pool}).id;
}

static const struct hr_pool_spec *pool_spec(const struct hr__slurm_run *run, uint32_t pool) {
  return hr_cluster_pool_spec(run->cluster, (hr_pool){pool});
}

/* Sets the CPUs and the memory of empty nodes. If a pool declares no CPUs or no memory, they are unlimited. */
static bool limit_nodes(struct hr__slurm_run *run) {
  const int64_t unlimited = INT64_MAX / 4;
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(run->cluster);
  if (!hr__slurm_nodes_limit(&run->nodes, run->arena, run->trace->n_jobs)) return false;
  for (uint32_t n = 0; n < run->nodes.n_nodes; n++) {
    uint32_t cpu_milli = inventory->cpu_milli[n];
    uint64_t mem_mib = inventory->mem_mib[n];
    run->nodes.cpu_milli[n] = cpu_milli == HR_NONE ? unlimited : (int64_t)cpu_milli;
    run->nodes.mem_mib[n] = mem_mib == UINT64_MAX ? unlimited : (int64_t)mem_mib;
  }
  return true;
}

/* The fraction of a GPU, in thousandths, that a task gets in a pool. It is one slot if the GPUs of the pool are divided
   into equal slots; otherwise, it is the requested fraction. 0: a whole GPU. */
static uint32_t share_in(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  return request->gpus == 0 || milli == HR_WHOLE_GPU_MILLI ? 0 : milli;
}

/* Returns whether some job may get only a fraction of a GPU. */
static bool shares_gpus(const struct hr__slurm_run *run) {
  for (uint32_t r = 0; run->requests && r < run->requests->count; r++)
    for (uint32_t p = 0; p < run->n_pools; p++)
      if (share_in(pool_spec(run, p), &run->requests->request[r])) return true;
  return false;
}

bool hr__slurm_create_nodes(struct hr__slurm_run *run) {
  uint32_t n_nodes = 0;
  run->n_pools = hr_cluster_pools(run->cluster);
  for (uint32_t p = 0; p < run->n_pools; p++) n_nodes += pool_spec(run, p)->nodes;
  uint32_t *gpus = hr_arena_alloc(run->arena, (n_nodes + 1) * sizeof *gpus), n_words = (n_nodes + 63) / 64;
  if (!gpus) return false;
  for (uint32_t p = 0; p < run->n_pools; p++)
    for (uint32_t n = 0; n < pool_spec(run, p)->nodes; n++)
      gpus[first_node(run, p) + n] = pool_spec(run, p)->gpus_per_node;
  for (uint32_t n = 0; n < n_nodes; n++) run->n_gpus += gpus[n];
  if (!hr__slurm_nodes_create(&run->nodes, run->arena, gpus, n_nodes, run->trace->origin_us)) return false;
  size_t n = (size_t)n_words + 1;
  if (!HR__ARENA_ARRAY(run->arena, run->pool_nodes, run->n_pools * n) || !HR__ARENA_ARRAY(run->arena, run->set, n) ||
      !HR__ARENA_ARRAY(run->arena, run->best, n) || !HR__ARENA_ARRAY(run->arena, run->line.set, n) ||
      !HR__ARENA_ARRAY(run->arena, run->open_nodes, n) || !HR__ARENA_ARRAY(run->arena, run->closed_nodes, n))
    return false;
  run->requests = hr_cluster_requests(run->cluster);
  if (run->requests && !limit_nodes(run)) return false;
  if (shares_gpus(run) && !hr__slurm_nodes_share(&run->nodes, run->arena)) return false;
  run->line.n_nodes = n_nodes;
  run->line.n_words = n_words;
  run->waiting.arena = run->arena;
  run->sets_are_old = true;
  return HR__ARENA_ARRAY(run->arena, run->slices, n_nodes + 1) &&
         HR__ARENA_ARRAY(run->arena, run->spare, n_nodes + 1) &&
         HR__ARENA_ARRAY_BY_JOB(run->arena, run->priorities, run->trace->n_jobs) &&
         HR__ARENA_ARRAY_BY_JOB(run->arena, run->jobs, run->trace->n_jobs) &&
         HR__ARENA_ARRAY_BY_JOB(run->arena, run->weighed, run->trace->n_jobs);
}

/* ---- Kinds ------------------------------------------------------------------------------------------ */

/* The number of nodes of a job and its GPUs per node, in a pool; 0 nodes: it cannot run in the pool. */
static struct hr__slurm_shape shape_of(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind,
                                       const struct hr_pool_spec *spec) {
  uint32_t gpus = kind->gpus, tasks = kind->tasks, per_node = spec->gpus_per_node;
  if (kind->request != HR_NONE) {
    const struct hr_request *request = &run->requests->request[kind->request];
    bool fits = request->gpus <= per_node && hr_request_needs_node(request);
    return (struct hr__slurm_shape){fits ? request->tasks : 0,        request->gpus,    request->gpus,
                                    hr_pool_cpu_milli(spec, request), request->mem_mib, share_in(spec, request)};
  }
  if (tasks > 1 && gpus / tasks <= per_node)
    return (struct hr__slurm_shape){.nodes = tasks, .gpus_per_node = gpus / tasks, .last_gpus = gpus / tasks};
  if (gpus <= per_node) return (struct hr__slurm_shape){.nodes = 1, .gpus_per_node = gpus, .last_gpus = gpus};
  if (per_node == 0) return (struct hr__slurm_shape){0};
  uint32_t nodes = (gpus + per_node - 1) / per_node;
  return (struct hr__slurm_shape){
      .nodes = nodes, .gpus_per_node = per_node, .last_gpus = gpus - (nodes - 1) * per_node};
}

static void set_shapes(const struct hr__slurm_run *run, struct hr__slurm_kind *kind) {
  kind->min_nodes = UINT32_MAX;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    uint32_t per_node = pool_spec(run, p)->gpus_per_node;
    if ((per_node == 0 && kind->request == HR_NONE) ||
        !hr_cluster_accepts(run->cluster, kind->accept_class, (hr_pool){p}))
      continue;
    kind->shapes[p] = shape_of(run, kind, pool_spec(run, p));
    if (kind->shapes[p].nodes && kind->shapes[p].nodes < kind->min_nodes) kind->min_nodes = kind->shapes[p].nodes;
  }
}

static uint64_t *nodes_of_pool(const struct hr__slurm_run *run, uint32_t pool) {
  return run->pool_nodes + (size_t)pool * run->nodes.n_words;
}

static void set_usable(const struct hr__slurm_run *run, const struct hr__slurm_kind *kind) {
  memset(kind->usable, 0, run->nodes.n_words * sizeof *kind->usable);
  for (uint32_t p = 0; p < run->n_pools; p++)
    for (uint32_t w = 0; kind->shapes[p].nodes && w < run->nodes.n_words; w++)
      kind->usable[w] |= nodes_of_pool(run, p)[w] & run->parts[kind->partition].nodes[w];
}

static uint32_t add_kind(struct hr__slurm_run *run, struct hr__slurm_kind kind, uint32_t hash) {
  if (!HR__ARENA_HAS_ROOM(run->arena, run->kinds, run->n_kinds, run->kind_capacity) ||
      !HR__ARENA_HAS_ROOM(run->arena, run->alive, run->n_kinds, run->alive_capacity))
    return HR_NONE;
  if (!HR__ARENA_ARRAY(run->arena, kind.shapes, run->n_pools + 1) ||
      !HR__ARENA_ARRAY(run->arena, kind.usable, run->nodes.n_words + 1) ||
      !hr__hash_add(&run->kind_numbers, run->arena, hash, run->n_kinds))
    return HR_NONE;
  set_shapes(run, &kind);
  set_usable(run, &kind);
  run->kinds[run->n_kinds] = kind;
  return run->n_kinds++;
}

uint32_t hr__slurm_kind_of(struct hr__slurm_run *run, uint32_t job, uint32_t partition) {
  const struct hr__slurm_kind kind = {.gpus = run->trace->gpus[job],
                                      .tasks = run->trace->tasks ? run->trace->tasks[job] : 1,
                                      .accept_class = hr_cluster_accept_class(run->cluster, (hr_job){job}),
                                      .partition = partition,
                                      .request = run->requests ? run->requests->of_job[job] : HR_NONE,
                                      .denied = hr__slurm_denied(run, job),
                                      .first_rest = HR_NONE};
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)kind.gpus << 32 | kind.tasks);
  digest = hr__digest_add(digest, (uint64_t)kind.accept_class << 32 | kind.partition);
  digest = hr__digest_add(digest, kind.request);
  uint32_t hash = hr__hash_u64(hr__digest_add(digest, kind.denied));
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&run->kind_numbers, hash, &at); i != HR_NONE;
       i = hr__hash_next(&run->kind_numbers, &at)) {
    const struct hr__slurm_kind *other = &run->kinds[i];
    if (other->gpus == kind.gpus && other->tasks == kind.tasks && other->accept_class == kind.accept_class &&
        other->partition == kind.partition && other->denied == kind.denied && other->request == kind.request)
      return i;
  }
  return add_kind(run, kind, hash);
}

void hr__slurm_update_sets(struct hr__slurm_run *run) {
  if (!run->sets_are_old) return;
  run->sets_are_old = false;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    uint64_t *set = nodes_of_pool(run, p);
    memset(set, 0, run->nodes.n_words * sizeof *set);
    uint32_t first = first_node(run, p);
    for (uint32_t n = first; n < first + pool_spec(run, p)->nodes; n++)
      if (hr_cluster_node_state(run->cluster, (hr_node){n}) == HR_NODE_UP) set[n / 64] |= UINT64_C(1) << n % 64;
  }
  for (uint32_t k = 0; k < run->n_kinds; k++) set_usable(run, &run->kinds[k]);
}

/* ---- Where jobs fit --------------------------------------------------------------------------------- */

/* Writes the nodes of a pool that are in `from` to the scratch set. */
static void restrict_to_pool(const struct hr__slurm_run *run, uint32_t pool, const uint64_t *from) {
  const uint64_t *nodes = nodes_of_pool(run, pool);
  for (uint32_t w = 0; w < run->nodes.n_words; w++) run->set[w] = from[w] & nodes[w];
}

bool hr__slurm_find_now(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    run->found = kind->shapes[p];
    if (hr__slurm_select_now(&run->nodes, &run->found, run->set)) return true;
  }
  return false;
}

bool hr__slurm_kind_fits(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    if (hr__slurm_fits_now(&run->nodes, &kind->shapes[p], run->set)) return true;
  }
  return false;
}

bool hr__slurm_find_start(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, int64_t now_us, uint64_t *set,
                          int64_t *start_us) {
  *start_us = HR_NEVER_US;
  for (uint32_t p = 0; p<run->n_pools && * start_us> now_us; p++) {
    int64_t at_us;
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    if (!hr__slurm_select(&run->nodes, &kind->shapes[p], now_us, run->set, &at_us) || at_us >= *start_us) continue;
    *start_us = at_us;
    run->found = kind->shapes[p];
    memcpy(run->best, run->set, run->nodes.n_words * sizeof *set);
  }
  if (*start_us == HR_NEVER_US) return false;
  memcpy(set, run->best, run->nodes.n_words * sizeof *set);
  return true;
}

int64_t hr__slurm_earliest_of(struct hr__slurm_run *run, const struct hr__slurm_kind *kind, const uint64_t *set) {
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t p = 0; p < run->n_pools; p++) {
    if (!kind->shapes[p].nodes) continue;
    restrict_to_pool(run, p, set);
    int64_t at_us = hr__slurm_earliest(&run->nodes, &kind->shapes[p], run->set);
    if (at_us < earliest_us) earliest_us = at_us;
  }
  return earliest_us;
}

/* ---- Nodes of running jobs -------------------------------------------------------------------------- */

/* Returns memory for the nodes of a job that starts. Free blocks for each number of nodes are a linked list: the first
   bytes of a block are the pointer to the next block. */
static uint32_t *take_memory(struct hr__slurm_run *run, uint32_t n_nodes) {
  uint32_t *memory = run->spare[n_nodes];
  if (memory) {
    memcpy(&run->spare[n_nodes], memory, sizeof(uint32_t *)); // NOLINT(bugprone-sizeof-expression)
    return memory;
  }
  size_t bytes = hr__slurm_words(&run->nodes, n_nodes) * sizeof *memory;
  return hr_arena_alloc(run->arena, bytes < sizeof memory ? sizeof memory : bytes);
}

void hr__slurm_leave(struct hr__slurm_run *run, uint32_t job, int64_t now_us) {
  uint32_t n_nodes, *memory = hr__slurm_nodes_remove(&run->nodes, job, &n_nodes);
  if (!memory) return;
  hr__slurm_end_usage(run, job, now_us);
  hr__slurm_count(run, job, -1, true);                      // cannot fail: its counters exist
  memcpy(memory, &run->spare[n_nodes], sizeof(uint32_t *)); // NOLINT(bugprone-sizeof-expression)
  run->spare[n_nodes] = memory;
}

hr_pool hr__slurm_pool_of(const struct hr__slurm_run *run, uint32_t node) {
  uint32_t pool = run->n_pools - 1;
  while (pool > 0 && first_node(run, pool) > node) pool--;
  return (hr_pool){pool};
}

struct hr_slice hr__slurm_slice(const struct hr__slurm_run *run, uint32_t job, uint32_t node, uint64_t set) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(run->cluster);
  const struct hr_request *request = &run->requests->request[run->requests->of_job[job]];
  if (!run->nodes.gpu_milli) set = hr_gpu_inventory_pick(inventory, request, (hr_node){node});
  return hr_gpu_inventory_slice(inventory, request, (hr_node){node}, set);
}

bool hr__slurm_start(struct hr__slurm_run *run, uint32_t job, enum hr_reason reason) {
  const struct hr__slurm_shape shape = run->found;
  for (uint32_t i = 0; i < shape.nodes; i++) {
    uint32_t gpus = i + 1 == shape.nodes ? shape.last_gpus : shape.gpus_per_node;
    const hr_node node = {run->nodes.chosen[i]};
    run->slices[i] = (struct hr_slice){.node = node, .gpu_milli = gpus * 1000};
    if (!run->requests) continue;
    if (run->nodes.gpu_milli)
      run->nodes.chosen_gpus[i] = hr__slurm_first_gpus(&run->nodes, run->nodes.gpu_milli, &shape, node.id, gpus);
    run->slices[i] = hr__slurm_slice(run, job, node.id, run->nodes.gpu_milli ? run->nodes.chosen_gpus[i] : 0);
  }
  const struct hr_placement placement = {hr__slurm_pool_of(run, run->nodes.chosen[0]), shape.nodes, run->slices};
  uint32_t *memory = take_memory(run, shape.nodes);
  run->status = memory ? hr_moves_start(run->moves, (hr_job){job}, &placement, reason) : HR_NO_MEMORY;
  if (run->status != HR_OK) return false;
  int64_t end_us = run->view->now_us + run->jobs[job].limit_us;
  struct hr__slurm_running *running = hr__slurm_nodes_add(&run->nodes, job, &shape, end_us, memory);
  hr__slurm_set_over_time(run, running);
  run->jobs[job].start_us = run->view->now_us;
  hr__slurm_begin_usage(run, job, run->view->now_us);
  if (!hr__slurm_count(run, job, 1, true)) run->status = HR_NO_MEMORY;
  return true;
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

/*
 * Advance reservations: nodes that only certain users and accounts may use during certain times. A job that must not
 * use a reservation gets none of its nodes if the time from its start to its time limit overlaps with the reservation.
 * Jobs that already run continue. Traces do not contain the reservation that a job requested. So jobs of the users and
 * accounts of a reservation may use its nodes and also other nodes, as with the flags MAGNETIC and FLEX.
 *
 * Reservations may overlap. The users of a reservation with the flag MAINT may use its nodes even if other reservations
 * exclude them. The users of a reservation with the flag OVERLAP may use its nodes if no reservation with MAINT
 * excludes them. If a reservation lists users and accounts, a job must satisfy both lists. A list of names that begin
 * with '-' excludes these names. An account includes the accounts below it.
 *
 * Source: src/slurmctld/reservation.c, doc/html/reservations of SchedMD/slurm.
 */

static uint64_t *nodes_of(const struct hr__slurm_run *run, uint32_t reservation) {
  return run->reserved_nodes + (size_t)reservation * run->nodes.n_words;
}

static void add_nodes(uint64_t *set, uint32_t first, uint32_t count) {
  for (uint32_t n = first; n < first + count; n++) set[n / 64] |= UINT64_C(1) << n % 64;
}

bool hr__slurm_create_reservations(struct hr__slurm_run *run) {
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++)
    run->has_maintenance = run->has_maintenance || hr_cluster_pool_spec(run->cluster, (hr_pool){i})->n_maintenance > 0;
  uint32_t n = run->config ? run->config->n_reservations : 0;
  if (n == 0) return true;
  if (!HR__ARENA_ARRAY(run->arena, run->reserved_nodes, (size_t)n * run->nodes.n_words + 1)) return false;
  for (uint32_t r = 0; r < n; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    if (reservation->n_nodes == 0) add_nodes(nodes_of(run, r), 0, run->nodes.n_nodes);
    for (uint32_t i = 0; i < reservation->n_nodes; i++) {
      const struct hr_slurm_node_range *range = &reservation->nodes[i];
      uint32_t first = hr_cluster_first_node(run->cluster, (hr_pool){range->pool}).id + range->first;
      add_nodes(nodes_of(run, r), first, range->count);
    }
  }
  return true;
}

static bool has_flag(const struct hr_slurm_reservation *reservation, enum hr_slurm_reservation_flag flag) {
  return reservation->flags >> flag & 1;
}

/* ---- Reservations: access --------------------------------------------------------------------------- */

static bool is_listed(const struct hr_slurm_name *names, uint32_t count, const char *text) {
  for (uint32_t i = 0; text && i < count; i++)
    if (strcmp(names[i].text + (names[i].text[0] == '-'), text) == 0) return true;
  return false;
}

/* The account above an account; NULL: the root. */
static const char *account_above(const struct hr_slurm_config *config, const char *account) {
  for (uint32_t i = 0; i < config->n_associations; i++) {
    const struct hr_slurm_assoc *assoc = &config->associations[i];
    if (!assoc->user && strcmp(assoc->account, account) == 0) return assoc->parent;
  }
  return NULL;
}

/* Whether a list permits a name. `is_in`: whether the name is in the list. An empty list permits all names. */
static bool permits(const struct hr_slurm_name *names, uint32_t count, bool is_in) {
  return count == 0 || is_in != (names[0].text[0] == '-');
}

static bool may_use(const struct hr_slurm_config *config, const struct hr_slurm_reservation *reservation,
                    const char *user, const char *account) {
  if (reservation->n_users + reservation->n_accounts == 0 || has_flag(reservation, HR_SLURM_TIME_FLOAT)) return false;
  bool is_in = false;
  for (; account && reservation->n_accounts && !is_in; account = account_above(config, account))
    is_in = is_listed(reservation->accounts, reservation->n_accounts, account);
  return permits(reservation->accounts, reservation->n_accounts, is_in) &&
         permits(reservation->users, reservation->n_users, is_listed(reservation->users, reservation->n_users, user));
}

uint64_t hr__slurm_denied(const struct hr__slurm_run *run, uint32_t job) {
  const struct hr_trace *trace = run->trace;
  uint32_t user = trace->user ? trace->user[job] : HR_NONE, tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  const char *user_name = user == HR_NONE ? NULL : trace->users.text[user];
  const char *account = tenant == HR_NONE ? NULL : trace->tenants.text[tenant];
  uint64_t denied = 0;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++)
    if (!may_use(run->config, &run->config->reservations[r], user_name, account)) denied |= UINT64_C(1) << r;
  return denied;
}

uint64_t hr__slurm_allowed(const struct hr__slurm_run *run, uint64_t denied) {
  uint32_t n = run->config ? run->config->n_reservations : 0;
  return ~denied & (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX);
}

/* ---- Reservations: times ---------------------------------------------------------------------------- */

/* Returns the begin of the first period of a reservation that ends after `after_us`; HR_NEVER_US: not found. With
   TIME_FLOAT, a reservation always begins a fixed time after now. */
static int64_t next_begin(const struct hr_slurm_reservation *reservation, int64_t now_us, int64_t after_us) {
  int64_t begin_us = reservation->start_us;
  if (has_flag(reservation, HR_SLURM_TIME_FLOAT)) begin_us += now_us;
  if (begin_us + reservation->duration_us > after_us) return begin_us;
  if (!reservation->repeat_us) return HR_NEVER_US;
  int64_t passed_us = after_us - (begin_us + reservation->duration_us);
  return begin_us + (passed_us / reservation->repeat_us + 1) * reservation->repeat_us;
}

/* Removes the nodes with planned maintenance between `from_us` and `to_us` from a set. Maintenance is treated as a
   reservation with the flag MAINT that no job may use. The caller exempts replicas of services, because they have no
   end and could never start. Returns the earliest end of a maintenance that removed a node; HR_NEVER_US: no node was
   removed. */
static int64_t remove_maintained(const struct hr__slurm_run *run, int64_t from_us, int64_t to_us, uint64_t *set) {
  int64_t end_us = HR_NEVER_US;
  if (!run->has_maintenance) return end_us;
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    uint32_t first = hr_cluster_first_node(run->cluster, (hr_pool){i}).id;
    for (uint32_t n = first; spec->n_maintenance && n < first + spec->nodes; n++) {
      if (!(set[n / 64] >> n % 64 & 1)) continue;
      struct hr_maintenance_time next = hr_maintenance_next(spec, n - first, from_us);
      if (next.begin_us >= to_us) continue;
      set[n / 64] &= ~(UINT64_C(1) << n % 64);
      if (next.end_us < end_us) end_us = next.end_us;
    }
  }
  return end_us;
}

/* Returns the nodes of word `w` that a job may use in spite of the reservation `other`. `allowed`: bit set of the
   reservations that the job may use. The job may use a node if an allowed reservation that takes precedence over
   `other` includes the node during the whole time from times_us[0] to times_us[1]. If such a reservation begins after
   times_us[0], but before `*gain_us`, sets `*gain_us` to its begin. */
static uint64_t kept_nodes(const struct hr__slurm_run *run, const struct hr_slurm_reservation *other, uint64_t allowed,
                           const int64_t times_us[2], uint32_t w, int64_t *gain_us) {
  uint64_t kept = 0;
  for (; allowed; allowed &= allowed - 1) {
    uint32_t r = (uint32_t)__builtin_ctzll(allowed);
    const struct hr_slurm_reservation *own = &run->config->reservations[r];
    bool goes_first =
        has_flag(own, HR_SLURM_MAINT) || (has_flag(own, HR_SLURM_OVERLAP) && !has_flag(other, HR_SLURM_MAINT));
    if (!goes_first) continue;
    int64_t begin_us = next_begin(own, run->view ? run->view->now_us : 0, times_us[0]);
    if (begin_us > times_us[0] && begin_us < *gain_us) *gain_us = begin_us;
    if (begin_us <= times_us[0] && begin_us + own->duration_us >= times_us[1]) kept |= nodes_of(run, r)[w];
  }
  return kept;
}

int64_t hr__slurm_remove_reserved(const struct hr__slurm_run *run, hr_job job, uint64_t denied, uint64_t allowed,
                                  int64_t from_us, int64_t to_us, uint64_t *set) {
  const bool is_replica = hr__is_replica(run->trace, job);
  int64_t end_us = is_replica ? HR_NEVER_US : remove_maintained(run, from_us, to_us, set),
          now_us = run->view ? run->view->now_us : 0;
  const int64_t times_us[2] = {from_us, to_us};
  for (; denied; denied &= denied - 1) {
    uint32_t r = (uint32_t)__builtin_ctzll(denied);
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, now_us, from_us), gain_us = HR_NEVER_US;
    uint64_t lost = 0;
    for (uint32_t w = 0; begin_us < to_us && w < run->nodes.n_words; w++) {
      uint64_t taken = set[w] & nodes_of(run, r)[w];
      if (taken && allowed) taken &= ~kept_nodes(run, reservation, allowed, times_us, w, &gain_us);
      lost |= taken;
      set[w] &= ~taken;
    }
    if (lost && begin_us + reservation->duration_us < end_us) end_us = begin_us + reservation->duration_us;
    if (lost && gain_us < end_us) end_us = gain_us;
  }
  return end_us;
}

int64_t hr__slurm_next_change(const struct hr__slurm_run *run, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, now_us, now_us);
    if (begin_us == HR_NEVER_US || has_flag(reservation, HR_SLURM_TIME_FLOAT)) continue;
    int64_t change_us = begin_us > now_us ? begin_us : begin_us + reservation->duration_us;
    if (change_us < next_us) next_us = change_us;
  }
  for (uint32_t i = 0; run->has_maintenance && i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    for (uint32_t n = 0; spec->n_maintenance && n < spec->nodes; n++) {
      int64_t end_us = hr_maintenance_next(spec, n, now_us).end_us;
      if (end_us < next_us) next_us = end_us;
    }
  }
  return next_us;
}
