/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that read data, as a component of the engine.
 *
 * While a job works, it has a flow (flows.h). The length of the flow is the time that the work takes at the speed of
 * its GPUs. The flow's demand is the rate at which the job then reads from storage. So the job works at min(GPU speed,
 * data speed), and the time that passes without progress is the time in which its GPUs wait for data. A flow ends at
 * the job's next checkpoint, at its end, or when its first epoch is over and the rest comes from caches in part.
 * Checkpoints and copies of data sets are flows, too.
 *
 * All clusters of a run share one state. The first end of all flows is a pending event of the engine to which the flow
 * belongs.
 *
 * Invariants: what jobs have read is what they have read from storage plus the hits of caches; the bytes of storage
 * systems and links are the sums over their flows. Both are exact: the bytes up to a progress p are a whole function of
 * p.
 */

#include "sim/data/data.h"
#include "sim/clusters/data_loading.h"
#include "sim/data/caches.h"
#include "sim/data/flows.h"

#include <math.h>

enum { SHARE_PPB = 1000000000 };

/* The state of a job that runs. */
struct data_reader {
  struct hr__engine *engine;
  uint32_t set; /* HR_NONE: it reads nothing */
  uint32_t path, n_nodes;
  uint32_t first_ppb, later_ppb; /* the share that is read from storage, in the first epoch at a placement and after */
  int64_t cold_until_us;         /* progress at which the first epoch there ends */
  int64_t bytes, epoch_us;       /* read in all, and the work of an epoch */
  int64_t fill_bytes;            /* to be copied into the cache before the job works */
  int64_t length_us;             /* of its flow; of a write, at the rate of a single one */
  uint64_t write_bytes;
  uint32_t carry, began_with; /* parts of a microsecond of work, in 2^-20 us: now, and when its flow began */
  /* continues: its flow ends before the job's next event; ends: that event is the end of the job */
  bool continues, ends, writes, fills;
};

/* A way of data: from a storage system, maybe over a link, to a client or to another storage system. */
struct data_path {
  uint32_t storage, link, to; /* link, to: HR_NONE: none */
};

/* A data set at a storage system. */
struct replica {
  bool is_there, is_coming;
  int64_t since_us;
};

struct hr__data {
  const struct hr_data_spec *spec;
  struct hr__engine *first; /* the engine that created the state, and owns copies */
  struct hr__flows flows;   /* by job, then by data set and storage system */
  struct data_path *paths;
  struct data_reader *readers; /* by job */
  struct replica *replicas;    /* [sets x storage] */
  uint32_t *route;             /* [sets x pools]: the path; HR_NONE: not known */
  struct hr__caches *caches;
  struct hr_data_result result;
  int64_t next_us; /* of the pending event that counts */
  uint32_t n_jobs;
  enum hr_status status; /* of a call that has no result of its own */
  hr_amount lost_bytes;  /* counted while memory is exhausted */
};

static struct data_reader *reader_of(const struct hr__engine *engine, hr_job job) {
  return &engine->data->readers[job.id];
}

static hr__wide rate_units(int64_t bytes_s) {
  return (hr__wide)(uint64_t)bytes_s * HR__RATE_UNITS;
}

/* ---- Pending events --------------------------------------------------------------------------------------- */

static struct hr__engine *owner_of(const struct hr__data *data, uint32_t flow) {
  return flow < data->n_jobs ? data->readers[flow].engine : data->first;
}

/* Schedules the first end of all flows, in the engine of this flow. */
static enum hr_status schedule_first(struct hr__engine *engine) {
  struct hr__data *data = engine->data;
  int64_t at_us;
  const uint32_t flow = hr__flows_first(&data->flows, &at_us);
  if (flow == HR_NONE) {
    data->next_us = HR_NEVER_US;
    return HR_OK;
  }
  struct hr__engine *owner = owner_of(data, flow);
  if (at_us < engine->view.now_us) at_us = engine->view.now_us;
  data->next_us = at_us;
  if (owner->whole) hr__clusters_wake_at(owner, at_us);
  return hr__schedule(owner, at_us, HR__PENDING_DATA, 0);
}

/* ---- Paths ------------------------------------------------------------------------------------------------ */

static int64_t client_limit(const struct hr__data *data, const struct data_path *path) {
  const struct hr_data_spec *spec = data->spec;
  int64_t limit = spec->storage[path->storage].client_bytes_s;
  if (path->link == HR_NONE) return limit;
  const int64_t of_link = spec->links[path->link].client_bytes_s;
  return of_link && (!limit || of_link < limit) ? of_link : limit;
}

/* Returns the lowest capacity on a path. */
static hr__wide narrowest(const struct hr__data *data, uint32_t path) {
  const struct hr__share_path *share = &data->flows.shares.paths[path];
  hr__wide least = HR__NO_LIMIT;
  for (uint32_t i = 0; i < share->n_resources; i++) {
    const hr__wide capacity = data->flows.shares.capacity[share->resources[i]];
    if (capacity < least) least = capacity;
  }
  return least;
}

/* Returns the highest rate of `clients` on a path. */
static hr__wide cap_of(const struct hr__data *data, uint32_t path, uint32_t clients) {
  const int64_t limit = client_limit(data, &data->paths[path]);
  const hr__wide all = narrowest(data, path), own = rate_units(limit) * clients;
  return limit && own < all ? own : all;
}

/* Returns the number of a path; it is added if it is new. The arrays have room for all. */
static uint32_t add_path(struct hr__data *data, struct data_path path) {
  struct hr__bandwidth *shares = &data->flows.shares;
  for (uint32_t i = 0; i < shares->n_paths; i++)
    if (data->paths[i].storage == path.storage && data->paths[i].link == path.link && data->paths[i].to == path.to)
      return i;
  struct hr__share_path *share = &shares->paths[shares->n_paths];
  data->paths[shares->n_paths] = path;
  share->resources[share->n_resources++] = path.storage;
  if (path.link != HR_NONE) share->resources[share->n_resources++] = data->spec->n_storage + path.link;
  if (path.to != HR_NONE) share->resources[share->n_resources++] = path.to;
  return shares->n_paths++;
}

/* Returns whether route `a` is better than `b`: local, then cheaper, then faster. */
static bool is_better(const struct hr_data_spec *spec, const struct hr_data_route *a, const struct hr_data_route *b) {
  if (a->link == HR_NONE || b->link == HR_NONE) return b->link != HR_NONE;
  const struct hr_data_link *x = &spec->links[a->link], *y = &spec->links[b->link];
  if (x->uusd_per_gb != y->uusd_per_gb) return x->uusd_per_gb < y->uusd_per_gb;
  return x->bytes_s != y->bytes_s && y->bytes_s && (!x->bytes_s || x->bytes_s > y->bytes_s);
}

/* Chooses, for each pool, the storage system from which it reads a data set. */
static void find_routes(struct hr__data *data, uint32_t set) {
  const struct hr_data_spec *spec = data->spec;
  for (uint32_t pool = 0; pool < spec->n_pools; pool++) {
    const struct hr_data_route *best = NULL;
    uint32_t from = HR_NONE;
    for (uint32_t i = 0; i < spec->n_storage; i++) {
      const struct hr_data_route *route = &spec->to_pool[(size_t)i * spec->n_pools + pool];
      if (!data->replicas[(size_t)set * spec->n_storage + i].is_there || !route->exists) continue;
      if (best && !is_better(spec, route, best)) continue;
      best = route;
      from = i;
    }
    data->route[(size_t)set * spec->n_pools + pool] =
        best ? add_path(data, (struct data_path){from, best->link, HR_NONE}) : HR_NONE;
  }
}

/* ---- Copies of data sets ---------------------------------------------------------------------------------- */

static uint32_t copy_flow(const struct hr__data *data, uint32_t set, uint32_t to) {
  return data->n_jobs + set * data->spec->n_storage + to;
}

/* Returns the best path of a copy to a storage system; HR_NONE: none. */
static uint32_t copy_path(struct hr__data *data, uint32_t set, uint32_t to) {
  const struct hr_data_spec *spec = data->spec;
  const struct hr_data_route *best = NULL;
  uint32_t from = HR_NONE;
  for (uint32_t i = 0; i < spec->n_storage; i++) {
    const struct hr_data_route *route = &spec->to_storage[(size_t)i * spec->n_storage + to];
    if (i == to || !data->replicas[(size_t)set * spec->n_storage + i].is_there || !route->exists) continue;
    if (best && !is_better(spec, route, best)) continue;
    best = route;
    from = i;
  }
  return best ? add_path(data, (struct data_path){from, best->link, to}) : HR_NONE;
}

/* Returns the time that bytes take at a rate, rounded up. */
static int64_t time_of(uint64_t bytes, hr__wide rate) {
  return (int64_t)(((hr__wide)bytes * 1000000 * HR__RATE_UNITS + rate - 1) / rate);
}

static enum hr_status begin_copy(struct hr__engine *engine, uint32_t set, uint32_t to) {
  struct hr__data *data = engine->data;
  const struct hr_data_spec *spec = data->spec;
  struct replica *replica = &data->replicas[(size_t)set * spec->n_storage + to];
  const uint32_t path = replica->is_there || replica->is_coming ? HR_NONE : copy_path(data, set, to);
  if (path == HR_NONE) return HR_OK;
  hr__wide cap = cap_of(data, path, 1);
  const int64_t write_limit = spec->storage[to].client_bytes_s;
  if (write_limit && rate_units(write_limit) < cap) cap = rate_units(write_limit);
  const int64_t latency_us = data->paths[path].link == HR_NONE ? 0 : spec->links[data->paths[path].link].latency_us;
  replica->is_coming = true;
  if (hr__flows_begin(&data->flows, copy_flow(data, set, to), path, cap, cap,
                      latency_us + time_of((uint64_t)spec->sets[set].bytes, cap), 0, engine->view.now_us) != HR_OK)
    return hr__out_of_memory(engine);
  return schedule_first(engine);
}

/* Returns the bytes of a link in the month of a time. If memory is exhausted, the status says so at the next event, or
   at the end. */
static hr_amount *month_of(struct hr__data *data, int64_t now_us, uint32_t link) {
  struct hr_data_result *result = &data->result;
  const uint32_t month = (uint32_t)(now_us / HR_MONTH_US), n_links = result->n_links;
  if (month >= result->n_months) {
    if (!HR__ARRAY_HAS_ROOM_FOR(result->month_bytes, (size_t)(month + 1) * n_links, result->month_capacity)) {
      data->status = HR_NO_MEMORY;
      return &data->lost_bytes;
    }
    memset(result->month_bytes + (size_t)result->n_months * n_links, 0,
           (size_t)(month + 1 - result->n_months) * n_links * sizeof *result->month_bytes);
    result->n_months = month + 1;
  }
  return &result->month_bytes[(size_t)month * n_links + link];
}

/* Adds the bytes of a flow to its storage system and link, and to where it is written. */
static void count_bytes(struct hr__data *data, uint32_t path, hr_amount bytes, int64_t now_us) {
  const struct data_path *way = &data->paths[path];
  data->result.storage[way->storage].read_bytes += bytes;
  if (way->link != HR_NONE) data->result.links[way->link].bytes += bytes;
  if (way->link != HR_NONE) *month_of(data, now_us, way->link) += bytes;
  if (way->to != HR_NONE) data->result.storage[way->to].written_bytes += bytes;
}

/* The path of an active flow. */
static uint32_t path_of_flow(const struct hr__data *data, uint32_t flow) {
  return data->flows.shares.classes[data->flows.flows[flow].class_].path;
}

/* Jobs that read a data set from farther away read it from the new place. */
static enum hr_status reroute(struct hr__engine *engine, uint32_t set) {
  struct hr__data *data = engine->data;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < data->n_jobs && status == HR_OK; i++) {
    struct data_reader *reader = &data->readers[i];
    if (!reader->engine || reader->set != set || reader->writes || !hr__flows_has(&data->flows, i)) continue;
    struct hr__engine *owner = reader->engine;
    if (owner->view.now_us < engine->view.now_us) hr__engine_enter(owner, engine->view.now_us);
    status = hr__attempt_resume(owner, (hr_job){i});
    if (owner->whole) hr__clusters_wake_at(owner, hr__engine_next_us(owner));
  }
  return status;
}

static enum hr_status finish_copy(struct hr__engine *engine, uint32_t flow) {
  struct hr__data *data = engine->data;
  const uint32_t at = flow - data->n_jobs, set = at / data->spec->n_storage;
  struct replica *replica = &data->replicas[at];
  const int64_t bytes = data->spec->sets[set].bytes;
  count_bytes(data, path_of_flow(data, flow), bytes, engine->view.now_us);
  hr__flows_end(&data->flows, flow, engine->view.now_us);
  data->result.copied_bytes += bytes;
  data->result.n_copies++;
  *replica = (struct replica){.is_there = true, .since_us = engine->view.now_us};
  find_routes(data, set);
  const enum hr_status status = reroute(engine, set);
  return status == HR_OK ? schedule_first(engine) : status;
}

/* ---- What a job reads ------------------------------------------------------------------------------------- */

static const struct hr_data_read *rule_of(const struct hr__engine *engine, hr_job job) {
  const struct hr_data_spec *spec = engine->data->spec;
  const struct hr_trace *trace = engine->trace;
  const uint32_t class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN;
  const uint32_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE;
  const uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  for (uint32_t i = 0; i < spec->n_reads && job.id < engine->n_input; i++) {
    const struct hr_data_read *rule = &spec->reads[i];
    if (rule->class_ != HR_NONE && rule->class_ != class_) continue;
    if (rule->tenant && (tenant == HR_NONE || strcmp(rule->tenant, trace->tenants.text[tenant]) != 0)) continue;
    if (rule->model && (model == HR_NONE || strcmp(rule->model, trace->models.text[model]) != 0)) continue;
    return rule;
  }
  return NULL;
}

static void set_sizes(struct data_reader *reader, const struct hr_data_read *rule, int64_t epoch_bytes, int64_t work_us,
                      uint32_t gpus) {
  double epochs = rule->epochs;
  if (epochs <= 0) epochs = (double)rule->gpu_bytes_s * gpus * ((double)work_us / 1e6) / (double)epoch_bytes;
  const double epoch_us = (double)work_us / epochs;
  reader->bytes = (int64_t)fmin(round(epochs * (double)epoch_bytes), 0x1p62);
  reader->epoch_us = epoch_us < (double)work_us ? (int64_t)round(epoch_us) : work_us;
  if (epoch_us > (double)work_us) reader->epoch_us = (int64_t)fmin(round(epoch_us), 0x1p60);
}

/* The bytes that a job has read at a progress. */
static int64_t bytes_at(const struct data_reader *reader, int64_t work_us, int64_t progress_us) {
  return (int64_t)((hr_amount)reader->bytes * progress_us / work_us);
}

static uint32_t remote_ppb(const struct hr_data_cache *cache, int64_t cached, int64_t bytes) {
  if (cached >= bytes) return 0;
  const enum hr__cache_policy policy = cache->caching == HR_DATA_CACHE_LRU ? HR__CACHE_LRU : HR__CACHE_UNIFORM;
  return SHARE_PPB - (uint32_t)llround(hr__cache_hits(policy, (double)cached / (double)bytes, false) * SHARE_PPB);
}

/* Takes room in the caches of the job's nodes, and sets what it reads from storage. */
static void use_caches(struct hr__engine *engine, struct data_reader *reader, const struct hr_placement *placement) {
  struct hr__data *data = engine->data;
  const uint32_t at = data->spec->cache_of[engine->first_pool + placement->pool.id];
  reader->first_ppb = reader->later_ppb = SHARE_PPB;
  reader->fill_bytes = 0;
  if (at == HR_NONE) return;
  const struct hr_data_cache *cache = &data->spec->caches[at];
  const int64_t bytes = data->spec->sets[reader->set].bytes;
  const struct hr__cached cached =
      hr__caches_take(data->caches, placement, engine->first_node, reader->set, bytes, cache->node_bytes);
  reader->first_ppb = remote_ppb(cache, cached.valid, bytes);
  reader->later_ppb = remote_ppb(cache, cached.taken, bytes);
  if (!cache->prefetch) return;
  reader->fill_bytes = cached.taken - cached.valid;
  reader->first_ppb = reader->later_ppb;
}

static uint32_t count_nodes(const struct hr_placement *placement) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    count += i == 0 || placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return count ? count : 1;
}

/* Copies the data set to the storage systems of the pool, if it is copied on demand. */
static enum hr_status copy_on_demand(struct hr__engine *engine, uint32_t set, hr_pool pool) {
  const struct hr_data_spec *spec = engine->data->spec;
  const struct hr_data_set *data_set = &spec->sets[set];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < data_set->n_copies && data_set->when == HR_DATA_COPY_ON_DEMAND && status == HR_OK; i++) {
    const struct hr_data_route *route = &spec->to_pool[(size_t)data_set->copies[i] * spec->n_pools + pool.id];
    if (route->exists && route->link == HR_NONE) status = begin_copy(engine, set, data_set->copies[i]);
  }
  return status;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------- */

bool hr__data_reads(const struct hr__engine *engine, hr_job job) {
  const struct data_reader *reader = reader_of(engine, job);
  return reader->engine && reader->set != HR_NONE && reader->bytes > 0;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  struct data_reader *reader = reader_of(engine, job);
  const struct hr_data_read *rule = rule_of(engine, job);
  const int64_t work_us = engine->trace->work_us[job.id];
  *reader = (struct data_reader){.engine = engine, .set = HR_NONE, .n_nodes = count_nodes(placement)};
  if (!rule || work_us == 0) return HR_OK;
  const struct hr_data_set *set = &engine->data->spec->sets[rule->set];
  const int64_t epoch_bytes = rule->epoch_bytes ? rule->epoch_bytes : set->bytes;
  if (epoch_bytes == 0) return HR_OK;
  reader->set = rule->set;
  set_sizes(reader, rule, epoch_bytes, work_us, engine->trace->gpus[job.id]);
  use_caches(engine, reader, placement);
  const bool resizes = hr__attempt(engine, job)->resizes;
  reader->cold_until_us =
      (resizes ? hr__attempt(engine, job)->progress_us : engine->kept_us[job.id]) + reader->epoch_us;
  return copy_on_demand(engine, rule->set, (hr_pool){engine->first_pool + placement->pool.id});
}

/* What the nodes have read in the first epoch is in their caches. */
static void fill_caches(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  const struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  if (engine->data->caches && engine->data->spec->cache_of[engine->first_pool + placement.pool.id] != HR_NONE)
    hr__caches_fill(engine->data->caches, &placement, engine->first_node, reader_of(engine, job)->set);
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  const struct data_reader *reader = reader_of(engine, job);
  if (!hr__data_reads(engine, job) || !engine->data->caches) return HR_OK;
  if (engine->data->spec->cache_of[engine->first_pool + placement->pool.id] == HR_NONE) return HR_OK;
  const bool has_read_all = how == HR__STOP_END && reader->cold_until_us <= engine->trace->work_us[job.id];
  if (has_read_all) hr__caches_fill(engine->data->caches, placement, engine->first_node, reader->set);
  hr__caches_leave(engine->data->caches, placement, engine->first_node, reader->set);
  return HR_OK;
}

/* Returns the rate at which a job reads from storage at the speed of its GPUs. */
static hr__wide demand_of(const struct hr__engine *engine, hr_job job, uint32_t ppb) {
  const struct data_reader *reader = reader_of(engine, job);
  const int64_t all_us = hr__time_left_us(engine->trace->work_us[job.id], 0, hr__attempt(engine, job)->rate);
  const hr__wide bytes = (hr__wide)(uint64_t)reader->bytes * ppb / SHARE_PPB;
  const hr__wide rate = bytes * 1000000 * HR__RATE_UNITS / (uint64_t)(all_us ? all_us : 1);
  const hr__wide most = rate_units(HR__MAX_BYTES_S);
  return rate < most ? rate : most;
}

static enum hr_status begin_flow(struct hr__engine *engine, hr_job job, hr__wide demand, hr__wide cap) {
  struct data_reader *reader = reader_of(engine, job);
  reader->began_with = reader->fills ? 0 : reader->carry;
  if (hr__flows_begin(&engine->data->flows, job.id, reader->path, demand, cap, reader->length_us, reader->began_with,
                      engine->view.now_us) != HR_OK)
    return hr__out_of_memory(engine);
  return schedule_first(engine);
}

/* The share that is read from storage at a progress. */
static uint32_t ppb_at(const struct data_reader *reader, int64_t progress_us) {
  return progress_us < reader->cold_until_us ? reader->first_ppb : reader->later_ppb;
}

enum hr_status hr__data_work(struct hr__engine *engine, hr_job job, int64_t until_us, enum hr__pending_kind kind) {
  struct hr__data *data = engine->data;
  struct data_reader *reader = reader_of(engine, job);
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_slice one;
  const uint32_t pool = engine->first_pool + hr__allocation_placement(engine, job, &one).pool.id;
  reader->path = data->route[(size_t)reader->set * data->spec->n_pools + pool];
  const hr__wide cap = cap_of(data, reader->path, reader->n_nodes);
  reader->continues = true;
  reader->ends = kind == HR__PENDING_END;
  reader->fills = reader->fill_bytes > 0;
  if (reader->fills) {
    reader->length_us = time_of((uint64_t)reader->fill_bytes, cap);
    return begin_flow(engine, job, cap, cap);
  }
  const bool is_cold = attempt->progress_us < reader->cold_until_us && reader->first_ppb != reader->later_ppb;
  const int64_t cold_us =
      is_cold ? hr__time_left_us(reader->cold_until_us - attempt->progress_us, attempt->part, attempt->rate)
              : HR_NEVER_US;
  reader->continues = cold_us < until_us;
  reader->length_us = reader->continues ? cold_us : until_us;
  hr__wide demand = demand_of(engine, job, ppb_at(reader, attempt->progress_us));
  if (demand == 0 && !reader->continues) {
    reader->carry = 0;
    return hr__schedule(engine, engine->view.now_us + until_us, kind, job.id);
  }
  if (demand == 0) demand = 1;
  return begin_flow(engine, job, demand, demand < cap ? demand : cap);
}

bool hr__data_flows(const struct hr__engine *engine, hr_job job) {
  return hr__flows_has(&engine->data->flows, job.id);
}

/* Returns how much of its flow a job has passed, in 2^-20 us. */
static hr__wide passed_of(const struct hr__engine *engine, hr_job job) {
  const struct data_reader *reader = reader_of(engine, job);
  const hr__wide all = (hr__wide)(uint64_t)reader->length_us << HR__CLOCK_BITS;
  const hr__wide passed = hr__flows_passed(&engine->data->flows, job.id, engine->view.now_us) + reader->began_with;
  return passed < all ? passed : all;
}

int64_t hr__data_worked_us(const struct hr__engine *engine, hr_job job) {
  if (!hr__flows_has(&engine->data->flows, job.id)) return engine->view.now_us - hr__attempt(engine, job)->phase_us;
  if (reader_of(engine, job)->fills) return 0;
  return (int64_t)(passed_of(engine, job) >> HR__CLOCK_BITS);
}

/* Counts what a job has copied into its cache before it works. */
static void pause_fill(struct hr__engine *engine, hr_job job, hr__wide passed) {
  struct data_reader *reader = reader_of(engine, job);
  const hr__wide all = (hr__wide)(uint64_t)reader->length_us << HR__CLOCK_BITS;
  const int64_t bytes = passed == all ? reader->fill_bytes
                                      : (int64_t)((hr__wide)(uint64_t)reader->fill_bytes * (passed >> HR__CLOCK_BITS) /
                                                  (uint64_t)reader->length_us);
  count_bytes(engine->data, reader->path, bytes, engine->view.now_us);
  engine->data->result.copied_bytes += bytes;
  reader->fill_bytes -= bytes;
  if (reader->fill_bytes == 0) fill_caches(engine, job);
  reader->fills = false;
}

void hr__data_pause(struct hr__engine *engine, hr_job job, int64_t from_us, int64_t to_us) {
  struct hr__data *data = engine->data;
  struct data_reader *reader = reader_of(engine, job);
  const int64_t work_us = engine->trace->work_us[job.id];
  const bool has_flow = hr__flows_has(&data->flows, job.id);
  const hr__wide passed = has_flow ? passed_of(engine, job) : 0;
  reader->carry = (uint32_t)passed & ((1U << HR__CLOCK_BITS) - 1);
  if (reader->fills) {
    reader->carry = 0;
    pause_fill(engine, job, passed);
  } else {
    const uint32_t ppb = ppb_at(reader, from_us);
    const int64_t before = bytes_at(reader, work_us, from_us), after = bytes_at(reader, work_us, to_us);
    const hr_amount remote = (hr_amount)after * ppb / SHARE_PPB - (hr_amount)before * ppb / SHARE_PPB;
    data->result.read_bytes += after - before;
    data->result.cached_bytes += after - before - remote;
    count_bytes(data, reader->path, remote, engine->view.now_us);
    const bool was_cold = from_us < reader->cold_until_us && to_us >= reader->cold_until_us;
    if (was_cold && reader->first_ppb != reader->later_ppb) fill_caches(engine, job);
  }
  if (!has_flow) return;
  hr__flows_end(&data->flows, job.id, engine->view.now_us);
  const enum hr_status status = schedule_first(engine);
  if (status != HR_OK) data->status = status;
}

/* ---- Checkpoints ------------------------------------------------------------------------------------------ */

uint32_t hr__data_storage_of(const struct hr__engine *engine, hr_pool pool) {
  const struct hr_data_spec *spec = engine->data->spec;
  for (uint32_t i = 0; i < spec->n_storage; i++) {
    const struct hr_data_route *route = &spec->to_pool[(size_t)i * spec->n_pools + engine->first_pool + pool.id];
    if (spec->storage[i].checkpoints && route->exists && route->link == HR_NONE) return i;
  }
  return HR_NONE;
}

static uint32_t write_path(const struct hr__engine *engine, hr_pool pool) {
  return add_path(engine->data, (struct data_path){hr__data_storage_of(engine, pool), HR_NONE, HR_NONE});
}

enum hr_status hr__data_write(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib) {
  struct data_reader *reader = reader_of(engine, job);
  reader->path = write_path(engine, pool);
  const hr__wide cap = cap_of(engine->data, reader->path, reader->n_nodes);
  reader->writes = true;
  reader->carry = 0;
  reader->write_bytes = mib << 20;
  reader->length_us = time_of(reader->write_bytes, cap);
  return begin_flow(engine, job, cap, cap);
}

static enum hr_status end_write(struct hr__engine *engine, hr_job job, hr_amount bytes) {
  struct hr__data *data = engine->data;
  struct data_reader *reader = reader_of(engine, job);
  data->result.storage[data->paths[reader->path].storage].written_bytes += bytes;
  data->result.saved_bytes += bytes;
  reader->writes = false;
  hr__flows_end(&data->flows, job.id, engine->view.now_us);
  return schedule_first(engine);
}

enum hr_status hr__data_cancel_write(struct hr__engine *engine, hr_job job) {
  const struct data_reader *reader = reader_of(engine, job);
  if (!reader->writes) return HR_OK;
  const hr__wide passed_us = passed_of(engine, job) >> HR__CLOCK_BITS;
  return end_write(
      engine, job,
      reader->length_us ? (hr_amount)((hr__wide)reader->write_bytes * passed_us / (uint64_t)reader->length_us) : 0);
}

int64_t hr__data_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib, bool is_alone) {
  const struct hr__data *data = engine->data;
  const uint32_t path = write_path(engine, pool);
  hr__wide rate = cap_of(data, path, reader_of(engine, job)->n_nodes);
  const hr__wide share = narrowest(data, path) / (data->flows.n_active + 1U);
  if (!is_alone && share < rate) rate = share;
  return time_of(mib << 20, rate ? rate : 1);
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

static enum hr_status end_job_flow(struct hr__engine *engine, hr_job job) {
  struct data_reader *reader = reader_of(engine, job);
  const struct hr__component *attempts = engine->handler[HR__PENDING_PHASE];
  if (reader->writes) {
    const enum hr_status status = end_write(engine, job, (hr_amount)reader->write_bytes);
    return status == HR_OK ? attempts->advance(engine, hr__pending(engine->view.now_us, HR__PENDING_PHASE, job.id))
                           : status;
  }
  if (reader->continues) return hr__attempt_resume(engine, job);
  if (reader->ends) return hr__job_end(engine, job);
  return attempts->advance(engine, hr__pending(engine->view.now_us, HR__PENDING_PHASE, job.id));
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  struct hr__data *data = engine->data;
  int64_t at_us;
  if (data->status != HR_OK) return hr__out_of_memory(engine);
  if (pending.at_us != data->next_us) return HR_OK; /* outdated */
  const uint32_t flow = hr__flows_first(&data->flows, &at_us);
  if (flow == HR_NONE || at_us > engine->view.now_us) return HR_OK;
  if (owner_of(data, flow) != engine) return HR_OK; /* it has an entry of its own */
  return flow < data->n_jobs ? end_job_flow(engine, (hr_job){flow}) : finish_copy(engine, flow);
}

/* ---- Begin and end ---------------------------------------------------------------------------------------- */

static bool is_needed(const struct hr__engine *engine) {
  return engine->config->data != NULL;
}

static bool allocate(struct hr__engine *owner, struct hr__data *data) {
  const struct hr_data_spec *spec = data->spec;
  struct hr__flows *flows = &data->flows;
  struct hr__bandwidth *shares = &flows->shares;
  const size_t n_replicas = (size_t)spec->n_sets * spec->n_storage;
  /* paths: a storage system with any link or none, to clients or to another storage system */
  const size_t n_paths = (size_t)spec->n_storage * (spec->n_links + 1) * (spec->n_storage + 1);
  flows->n_flows = data->n_jobs + (uint32_t)n_replicas;
  shares->n_resources = spec->n_storage + spec->n_links;
#define TAKE(member, count)                                                                                            \
  (((member) = hr_arena_alloc(&owner->arena, ((count) + (size_t)1) * sizeof *(member))) != NULL)
  return TAKE(flows->flows, flows->n_flows) && TAKE(flows->paths, n_paths) && TAKE(shares->paths, n_paths) &&
         TAKE(data->paths, n_paths) && TAKE(shares->capacity, shares->n_resources) &&
         TAKE(shares->left, shares->n_resources) && TAKE(shares->level, shares->n_resources) &&
         TAKE(data->readers, data->n_jobs) && TAKE(data->replicas, n_replicas) &&
         TAKE(data->route, (size_t)spec->n_sets * spec->n_pools);
#undef TAKE
}

static bool allocate_result(struct hr__data *data) {
  struct hr_data_result *result = &data->result;
  result->n_storage = data->spec->n_storage;
  result->n_links = data->spec->n_links;
  result->spec = data->spec;
  result->replicas = calloc((size_t)data->spec->n_sets * data->spec->n_storage + 1, sizeof *result->replicas);
  result->storage = calloc((size_t)result->n_storage + 1, sizeof *result->storage);
  result->links = calloc((size_t)result->n_links + 1, sizeof *result->links);
  return result->storage && result->links && result->replicas;
}

static void set_capacities(struct hr__data *data) {
  const struct hr_data_spec *spec = data->spec;
  hr__wide *capacity = data->flows.shares.capacity;
  for (uint32_t i = 0; i < spec->n_storage; i++) capacity[i] = rate_units(spec->storage[i].bytes_s);
  for (uint32_t i = 0; i < spec->n_links; i++)
    capacity[spec->n_storage + i] = spec->links[i].bytes_s ? rate_units(spec->links[i].bytes_s) : HR__NO_LIMIT;
}

static bool has_caches(const struct hr_data_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (spec->cache_of[i] != HR_NONE) return true;
  return false;
}

static enum hr_status create(struct hr__engine *engine, struct hr__engine *owner) {
  struct hr__data *data = hr_arena_alloc(&owner->arena, sizeof *data);
  if (!data) return hr__out_of_memory(engine);
  *data = (struct hr__data){
      .spec = engine->config->data, .first = engine, .n_jobs = engine->trace->n_jobs, .next_us = HR_NEVER_US};
  owner->data = engine->data = data;
  if (!allocate(owner, data) || !allocate_result(data)) return hr__out_of_memory(engine);
  if (has_caches(data->spec)) {
    data->caches = hr__caches_create(&owner->arena, owner->cluster.n_nodes, data->spec->n_sets);
    if (!data->caches) return hr__out_of_memory(engine);
  }
  set_capacities(data);
  for (uint32_t i = 0; i < data->spec->n_sets; i++) {
    const struct hr_data_set *set = &data->spec->sets[i];
    for (uint32_t k = 0; k < set->n_storage; k++)
      data->replicas[(size_t)i * data->spec->n_storage + set->storage[k]].is_there = true;
    find_routes(data, i);
  }
  hr__flows_open(&data->flows);
  return HR_OK;
}

static enum hr_status begin_copies(struct hr__engine *engine) {
  const struct hr_data_spec *spec = engine->data->spec;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < spec->n_sets; i++)
    for (uint32_t k = 0; k < spec->sets[i].n_copies && status == HR_OK; k++)
      if (spec->sets[i].when == HR_DATA_COPY_START) status = begin_copy(engine, i, spec->sets[i].copies[k]);
  return status;
}

static enum hr_status begin(struct hr__engine *engine) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  if (engine->config->stream)
    return hr_fail(engine->error, HR_BAD_INPUT, "'data' cannot be combined with a streamed run");
  if (owner->data && owner->data->first != engine) {
    engine->data = owner->data;
    return HR_OK;
  }
  const enum hr_status status = create(engine, owner);
  return status == HR_OK ? begin_copies(engine) : status;
}

static void close(struct hr__engine *engine) {
  struct hr__data *data = engine->data;
  if (!data || data->first != engine) return;
  hr__flows_close(&data->flows);
  free(data->result.storage);
  free(data->result.links);
  free(data->result.replicas);
  free(data->result.month_bytes);
  data->result = (struct hr_data_result){0};
}

/* Counts what copies that are not complete have transferred. */
static void count_partial_copies(struct hr__data *data, int64_t end_us) {
  for (uint32_t flow = data->n_jobs; flow < data->flows.n_flows; flow++) {
    if (!hr__flows_has(&data->flows, flow)) continue;
    const uint32_t path = path_of_flow(data, flow), set = (flow - data->n_jobs) / data->spec->n_storage;
    const hr__wide passed = hr__flows_passed(&data->flows, flow, end_us);
    const struct hr__data_flow *self = &data->flows.flows[flow];
    const hr__wide all = self->node.key - self->begin;
    const hr_amount bytes = (hr_amount)((hr__wide)(uint64_t)data->spec->sets[set].bytes * (passed >> HR__CLOCK_BITS) /
                                        ((all >> HR__CLOCK_BITS) ? all >> HR__CLOCK_BITS : 1));
    count_bytes(data, path, bytes, end_us);
    data->result.copied_bytes += bytes;
  }
}

static void count_stored(struct hr__data *data, int64_t end_us) {
  for (uint32_t i = 0; i < data->spec->n_sets; i++)
    for (uint32_t k = 0; k < data->spec->n_storage; k++) {
      const struct replica *replica = &data->replicas[(size_t)i * data->spec->n_storage + k];
      if (!replica->is_there) continue;
      data->result.replicas[data->result.n_replicas++] = (struct hr_data_replica){i, k, replica->since_us};
      data->result.storage[k].stored_byte_us += (hr_amount)data->spec->sets[i].bytes * (end_us - replica->since_us);
    }
}

enum hr_status hr__data_result(struct hr__engine *engine, struct hr_data_result **result) {
  struct hr__data *data = engine->data;
  *result = NULL;
  if (!data) return HR_OK;
  count_partial_copies(data, engine->last_us);
  if (data->status != HR_OK) return hr__out_of_memory(engine);
  *result = malloc(sizeof **result);
  if (!*result) return hr__out_of_memory(engine);
  count_stored(data, engine->last_us);
  **result = data->result;
  data->result = (struct hr_data_result){0};
  return HR_OK;
}

bool hr__data_is_active(const struct hr__engine *engine) {
  return engine->data->flows.n_active > 0;
}

bool hr__data_is_local(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr__data *data = engine->data;
  const struct hr_data_read *rule = rule_of(engine, job);
  if (!rule) return true;
  const uint32_t path = data->route[(size_t)rule->set * data->spec->n_pools + engine->first_pool + pool.id];
  return path != HR_NONE && data->paths[path].link == HR_NONE;
}

/* ---- Checked mode ----------------------------------------------------------------------------------------- */

uint32_t hr__data_next_flow(const struct hr__engine *engine, uint32_t from) {
  const struct hr__data *data = engine->data;
  for (uint32_t job = from; data && job < data->n_jobs; job++)
    if (data->readers[job].engine == engine && hr__flows_has(&data->flows, job) && !engine->heap.place[job]) return job;
  return HR_NONE;
}

/* Checks that no storage system or link has more than its capacity, and that each flow has its cap or crosses a full
   one. */
static enum hr_status check_rates(const struct hr__engine *engine) {
  const struct hr__data *data = engine->data;
  const struct hr__bandwidth *shares = &data->flows.shares;
  for (uint32_t r = 0; r < shares->n_resources; r++) {
    hr__wide used = 0;
    for (uint32_t flow = 0; flow < data->flows.n_flows; flow++) {
      if (!hr__flows_has(&data->flows, flow)) continue;
      const struct hr__share_path *path = &shares->paths[path_of_flow(data, flow)];
      for (uint32_t i = 0; i < path->n_resources; i++)
        if (path->resources[i] == r) used += hr__flows_rate(&data->flows, flow);
    }
    if (used > shares->capacity[r]) return hr__broken(engine, "a storage system or link transfers more than it can");
  }
  return HR_OK;
}

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr_data_result *result = &engine->data->result;
  hr_amount from_storage = 0;
  for (uint32_t i = 0; i < result->n_storage; i++) from_storage += result->storage[i].read_bytes;
  if (from_storage != result->read_bytes - result->cached_bytes + result->copied_bytes)
    return hr__broken(engine, "the bytes that storage systems have sent differ from the bytes received");
  return running->every_job ? check_rates(engine) : HR_OK;
}

const struct hr__component hr__component_data = {.disturbs_jobs = true,
                                                 .is_needed = is_needed,
                                                 .begin = begin,
                                                 .start = start,
                                                 .stop = stop,
                                                 .kinds = 1u << HR__PENDING_DATA,
                                                 .advance = advance,
                                                 .close = close,
                                                 .check = check};
