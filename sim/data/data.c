/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that read data, as a component of the engine.
 *
 * While a job works, it has a flow (data.h). The length of the flow is the time that the work takes at the speed of the
 * job's GPUs. The demand of the flow is the rate at which the job reads from storage at this speed. The job therefore
 * works at the lower of two speeds: the speed of its GPUs, and the speed at which its data arrive. Time that passes
 * without progress is time for which its GPUs wait for data. A flow ends at the job's next checkpoint or at the job's
 * end. A flow also ends at the end of the first epoch if the job reads a different share of its data from storage
 * afterwards, because the caches then have data. If the caches of its nodes prefetch, the job first has a flow that
 * copies its data into them. Checkpoints and copies of data sets are also flows (storage.c).
 *
 * Invariant: the bytes that jobs have read are the bytes that they have read from storage plus the bytes that they have
 * read from caches. The sum is exact, because the bytes that a job has read are an integer function of its completed
 * work.
 */

#include "sim/data/data.h"
#include "sim/clusters/clusters.h"

#include <math.h>

#define HR__MAX_BYTES_S INT64_C(1000000000000000)

/* The value of a share of 1, in units of 10^-9. */
enum { SHARE_PPB = 1000000000 };

static struct hr__data_reader *reader_of(const struct hr__engine *engine, hr_job job) {
  return &engine->data->readers[job.id];
}

/* ---- What a job reads ------------------------------------------------------------------------------------- */

/* Returns the first rule that matches a job, and sets `*set` to the data set that the job reads. Returns NULL if the
   job reads nothing. */
static const struct hr_data_read *rule_of(const struct hr__engine *engine, hr_job job, uint32_t *set) {
  const struct hr_data_spec *spec = engine->data->spec;
  const struct hr_trace *trace = engine->trace;
  const uint32_t class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN;
  const uint32_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE;
  const uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  const uint32_t name = trace->data_set ? trace->data_set[job.id] : HR_NONE;
  const uint32_t named = name == HR_NONE ? HR_NONE : engine->data->set_of_name[name];
  for (uint32_t i = 0; i < spec->n_reads && job.id < engine->n_input; i++) {
    const struct hr_data_read *rule = &spec->reads[i];
    if (rule->class_ != HR_NONE && rule->class_ != class_) continue;
    if (rule->tenant && (tenant == HR_NONE || strcmp(rule->tenant, trace->tenants.text[tenant]) != 0)) continue;
    if (rule->model && (model == HR_NONE || strcmp(rule->model, trace->models.text[model]) != 0)) continue;
    if (rule->set == HR_NONE ? named == HR_NONE : named != HR_NONE && named != rule->set) continue;
    *set = rule->set == HR_NONE ? named : rule->set;
    return rule;
  }
  return NULL;
}

/* Sets how many bytes a job reads, and the work of an epoch. `epoch_bytes`: the bytes that it reads in an epoch. */
static void set_sizes(struct hr__data_reader *reader, const struct hr_data_read *rule, int64_t epoch_bytes,
                      int64_t work_us, uint32_t gpus) {
  double epochs = rule->epochs;
  if (epochs <= 0) epochs = (double)rule->gpu_bytes_s * gpus * ((double)work_us / 1e6) / (double)epoch_bytes;
  const double epoch_us = (double)work_us / epochs;
  reader->bytes = (int64_t)fmin(round(epochs * (double)epoch_bytes), 0x1p62);
  reader->epoch_us = epoch_us < (double)work_us ? (int64_t)round(epoch_us) : work_us;
  if (epoch_us > (double)work_us) reader->epoch_us = (int64_t)fmin(round(epoch_us), 0x1p60);
}

/* Returns the bytes that a job has read when it has completed `progress_us` of its work. */
static int64_t bytes_at(const struct hr__data_reader *reader, int64_t work_us, int64_t progress_us) {
  return (int64_t)((hr_amount)reader->bytes * progress_us / work_us);
}

/* Returns the share of its data that a job reads from storage, in 10^-9, if `cached` of `bytes` bytes are in caches. */
static uint32_t remote_ppb(const struct hr_data_cache *cache, int64_t cached, int64_t bytes) {
  if (cached >= bytes) return 0;
  const enum hr__cache_policy policy = cache->caching == HR_DATA_CACHE_LRU ? HR__CACHE_LRU : HR__CACHE_UNIFORM;
  return SHARE_PPB - (uint32_t)llround(hr__cache_hits(policy, (double)cached / (double)bytes, false) * SHARE_PPB);
}

/* Reserves space in the caches of a job's nodes, and sets the shares that the job reads from storage. */
static void use_caches(struct hr__engine *engine, struct hr__data_reader *reader,
                       const struct hr_placement *placement) {
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

/* Begins to copy a data set to those storage systems in its list `copies` from which the pool reads without crossing a
   link. Has no effect if the data set is not copied on demand. `pool`: the number of the pool in the whole run. */
static enum hr_status copy_on_demand(struct hr__engine *engine, uint32_t set, hr_pool pool) {
  const struct hr_data_spec *spec = engine->data->spec;
  const struct hr_data_set *data_set = &spec->sets[set];
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < data_set->n_copies && data_set->when == HR_DATA_COPY_ON_DEMAND && status == HR_OK; i++) {
    const struct hr_data_route *route = &spec->to_pool[(size_t)data_set->copies[i] * spec->n_pools + pool.id];
    if (route->exists && route->link == HR_NONE) status = hr__data_begin_copy(engine, set, data_set->copies[i]);
  }
  return status;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------- */

bool hr__data_reads(const struct hr__engine *engine, hr_job job) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  return reader->engine && reader->set != HR_NONE && reader->bytes > 0;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  struct hr__data_reader *reader = reader_of(engine, job);
  uint32_t at = HR_NONE;
  const struct hr_data_read *rule = rule_of(engine, job, &at);
  const int64_t work_us = engine->trace->work_us[job.id];
  *reader = (struct hr__data_reader){.engine = engine, .set = HR_NONE, .n_nodes = count_nodes(placement)};
  if (!rule || work_us == 0) return HR_OK;
  const struct hr_data_set *set = &engine->data->spec->sets[at];
  const int64_t epoch_bytes = rule->epoch_bytes ? rule->epoch_bytes : set->bytes;
  if (epoch_bytes == 0) return HR_OK;
  reader->set = at;
  set_sizes(reader, rule, epoch_bytes, work_us, engine->trace->gpus[job.id]);
  use_caches(engine, reader, placement);
  const bool resizes = hr__attempt(engine, job)->resizes;
  reader->cold_until_us =
      (resizes ? hr__attempt(engine, job)->progress_us : engine->kept_us[job.id]) + reader->epoch_us;
  return copy_on_demand(engine, at, (hr_pool){engine->first_pool + placement->pool.id});
}

/* Must be called when a job has read its whole data set. The data are then in the caches of its nodes. */
static void fill_caches(struct hr__engine *engine, hr_job job) {
  const struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  if (engine->data->caches && engine->data->spec->cache_of[engine->first_pool + placement.pool.id] != HR_NONE)
    hr__caches_fill(engine->data->caches, &placement, engine->first_node, reader_of(engine, job)->set);
}

static enum hr_status stop_replica(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  if (job.id >= engine->n_input) return stop_replica(engine, job, placement);
  if (!hr__data_reads(engine, job) || !engine->data->caches) return HR_OK;
  if (engine->data->spec->cache_of[engine->first_pool + placement->pool.id] == HR_NONE) return HR_OK;
  const bool has_read_all = how == HR__STOP_END && reader->cold_until_us <= engine->trace->work_us[job.id];
  if (has_read_all) hr__caches_fill(engine->data->caches, placement, engine->first_node, reader->set);
  hr__caches_leave(engine->data->caches, placement, engine->first_node, reader->set);
  return HR_OK;
}

/* Returns the rate at which a job reads from storage at the speed of its GPUs. */
static hr__wide demand_of(const struct hr__engine *engine, hr_job job, uint32_t ppb) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  const int64_t all_us = hr__time_left_us(engine->trace->work_us[job.id], 0, hr__attempt(engine, job)->rate);
  const hr__wide bytes = (hr__wide)(uint64_t)reader->bytes * ppb / SHARE_PPB;
  const hr__wide rate = bytes * 1000000 * HR__RATE_UNITS / (uint64_t)(all_us ? all_us : 1);
  const hr__wide most = hr__rate_units(HR__MAX_BYTES_S);
  return rate < most ? rate : most;
}

static enum hr_status begin_flow(struct hr__engine *engine, hr_job job, hr__wide demand, hr__wide cap) {
  struct hr__data_reader *reader = reader_of(engine, job);
  reader->began_with = reader->fills ? 0 : reader->carry;
  if (hr__flows_begin(&engine->data->flows, job.id, reader->path, demand, cap, reader->length_us, reader->began_with,
                      engine->view.now_us) != HR_OK)
    return hr__out_of_memory(engine);
  return hr__data_schedule(engine);
}

/* Returns the share that a job reads from storage when it has completed `progress_us` of its work. */
static uint32_t ppb_at(const struct hr__data_reader *reader, int64_t progress_us) {
  return progress_us < reader->cold_until_us ? reader->first_ppb : reader->later_ppb;
}

enum hr_status hr__data_work(struct hr__engine *engine, hr_job job, int64_t until_us, enum hr__pending_kind kind) {
  struct hr__data *data = engine->data;
  struct hr__data_reader *reader = reader_of(engine, job);
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  const uint32_t pool = engine->first_pool + HR__PLACEMENT_OF(engine, job).pool.id;
  reader->path = data->route[(size_t)reader->set * data->spec->n_pools + pool];
  const hr__wide cap = hr__data_cap(data, reader->path, reader->n_nodes);
  reader->continues = true;
  reader->ends = kind == HR__PENDING_END;
  reader->fills = reader->fill_bytes > 0;
  if (reader->fills) {
    reader->length_us = hr__transfer_us((uint64_t)reader->fill_bytes, cap);
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

/* Returns which part of the length of a job's flow has passed, in 2^-20 us. */
static hr__wide passed_of(const struct hr__engine *engine, hr_job job) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  const hr__wide all = (hr__wide)(uint64_t)reader->length_us << HR__CLOCK_BITS;
  const hr__wide passed = hr__flows_passed(&engine->data->flows, job.id, engine->view.now_us) + reader->began_with;
  return passed < all ? passed : all;
}

int64_t hr__data_worked_us(const struct hr__engine *engine, hr_job job) {
  if (!hr__flows_has(&engine->data->flows, job.id)) return engine->view.now_us - hr__attempt(engine, job)->phase_us;
  if (reader_of(engine, job)->fills) return 0;
  return (int64_t)(passed_of(engine, job) >> HR__CLOCK_BITS);
}

/* Counts the bytes that a job has copied into the caches of its nodes before its work. `passed`: see passed_of. */
static void pause_fill(struct hr__engine *engine, hr_job job, hr__wide passed) {
  struct hr__data_reader *reader = reader_of(engine, job);
  const hr__wide all = (hr__wide)(uint64_t)reader->length_us << HR__CLOCK_BITS;
  const int64_t bytes = passed == all ? reader->fill_bytes
                                      : (int64_t)((hr__wide)(uint64_t)reader->fill_bytes * (passed >> HR__CLOCK_BITS) /
                                                  (uint64_t)reader->length_us);
  hr__data_count_bytes(engine->data, reader->path, bytes, engine->view.now_us);
  engine->data->result.copied_bytes += bytes;
  reader->fill_bytes -= bytes;
  if (reader->fill_bytes == 0) fill_caches(engine, job);
  reader->fills = false;
}

void hr__data_pause(struct hr__engine *engine, hr_job job, int64_t from_us, int64_t to_us) {
  struct hr__data *data = engine->data;
  struct hr__data_reader *reader = reader_of(engine, job);
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
    hr__data_count_bytes(data, reader->path, remote, engine->view.now_us);
    const bool was_cold = from_us < reader->cold_until_us && to_us >= reader->cold_until_us;
    if (was_cold && reader->first_ppb != reader->later_ppb) fill_caches(engine, job);
  }
  if (!has_flow) return;
  hr__flows_end(&data->flows, job.id, engine->view.now_us);
  const enum hr_status status = hr__data_schedule(engine);
  if (status != HR_OK) data->status = status;
}

/* ---- Weights of replicas ---------------------------------------------------------------------------------- */

enum hr_status hr__data_load(struct hr__engine *engine, hr_job job, struct hr__data_load load, bool *begun) {
  struct hr__data *data = engine->data;
  struct hr__data_reader *reader = reader_of(engine, job);
  const struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  const uint32_t pool = engine->first_pool + placement.pool.id, cache = data->spec->cache_of[pool];
  const int64_t bytes = data->spec->sets[load.set].bytes;
  *begun = false;
  *reader = (struct hr__data_reader){
      .engine = engine, .set = HR_NONE, .weights = load.set, .n_nodes = count_nodes(&placement), .load_bytes = bytes};
  if (load.keeps && cache != HR_NONE) {
    const int64_t node_bytes = data->spec->caches[cache].node_bytes;
    reader->has_room = true;
    reader->cached_bytes =
        hr__caches_take(data->caches, &placement, engine->first_node, load.set, bytes, node_bytes).valid;
    if (load.are_there) hr__caches_fill(data->caches, &placement, engine->first_node, load.set);
  }
  if (load.are_there) return HR_OK;
  reader->load_bytes = bytes - reader->cached_bytes;
  reader->path = data->route[(size_t)load.set * data->spec->n_pools + pool];
  *begun = reader->loads = reader->load_bytes > 0;
  if (!*begun) {
    data->result.read_bytes += bytes;
    data->result.cached_bytes += bytes;
    return HR_OK;
  }
  const enum hr_status status = copy_on_demand(engine, load.set, (hr_pool){pool});
  const hr__wide cap = hr__data_cap(data, reader->path, reader->n_nodes);
  reader->length_us = hr__transfer_us((uint64_t)reader->load_bytes, cap);
  return status == HR_OK ? begin_flow(engine, job, cap, cap) : status;
}

/* Ends the load of a replica's weights and counts the bytes. `is_complete`: the load is complete. Without
   `is_complete`, the load is cancelled. */
static enum hr_status end_load(struct hr__engine *engine, hr_job job, bool is_complete) {
  struct hr__data *data = engine->data;
  struct hr__data_reader *reader = reader_of(engine, job);
  const int64_t passed_us = (int64_t)(passed_of(engine, job) >> HR__CLOCK_BITS);
  hr_amount bytes = reader->load_bytes;
  if (!is_complete) bytes = reader->length_us ? bytes * passed_us / reader->length_us : 0;
  hr__data_count_bytes(data, reader->path, bytes, engine->view.now_us);
  data->result.read_bytes += bytes + (is_complete ? reader->cached_bytes : 0);
  data->result.cached_bytes += is_complete ? reader->cached_bytes : 0;
  reader->loads = false;
  hr__flows_end(&data->flows, job.id, engine->view.now_us);
  return hr__data_schedule(engine);
}

static enum hr_status finish_load(struct hr__engine *engine, hr_job job) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  const struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  enum hr_status status = end_load(engine, job, true);
  if (reader->has_room) hr__caches_fill(engine->data->caches, &placement, engine->first_node, reader->weights);
  HR__CALL_ACTIVE(engine, status, loaded, job);
  return status;
}

/* Called when the job of a replica leaves its nodes. Incomplete weights do not remain in the caches. */
static enum hr_status stop_replica(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__data_reader *reader = reader_of(engine, job);
  const enum hr_status status = reader->loads ? end_load(engine, job, false) : HR_OK;
  if (reader->has_room) hr__caches_leave(engine->data->caches, placement, engine->first_node, reader->weights);
  reader->has_room = false;
  return status;
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

/* Returns the path of checkpoints of jobs in a pool. */
static uint32_t write_path(const struct hr__engine *engine, hr_pool pool) {
  return hr__data_add_path(engine->data, (struct hr__data_path){hr__data_storage_of(engine, pool), HR_NONE, HR_NONE});
}

enum hr_status hr__data_write(struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib) {
  struct hr__data_reader *reader = reader_of(engine, job);
  reader->path = write_path(engine, pool);
  const hr__wide cap = hr__data_cap(engine->data, reader->path, reader->n_nodes);
  reader->writes = true;
  reader->carry = 0;
  reader->write_bytes = mib << 20;
  reader->length_us = hr__transfer_us(reader->write_bytes, cap);
  return begin_flow(engine, job, cap, cap);
}

/* Ends a write of a checkpoint and counts the bytes. */
static enum hr_status end_write(struct hr__engine *engine, hr_job job, hr_amount bytes) {
  struct hr__data *data = engine->data;
  struct hr__data_reader *reader = reader_of(engine, job);
  data->result.storage[data->paths[reader->path].storage].written_bytes += bytes;
  data->result.saved_bytes += bytes;
  reader->writes = false;
  hr__flows_end(&data->flows, job.id, engine->view.now_us);
  return hr__data_schedule(engine);
}

enum hr_status hr__data_cancel_write(struct hr__engine *engine, hr_job job) {
  const struct hr__data_reader *reader = reader_of(engine, job);
  if (!reader->writes) return HR_OK;
  const hr__wide passed_us = passed_of(engine, job) >> HR__CLOCK_BITS;
  return end_write(
      engine, job,
      reader->length_us ? (hr_amount)((hr__wide)reader->write_bytes * passed_us / (uint64_t)reader->length_us) : 0);
}

int64_t hr__data_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool, uint64_t mib, bool is_alone) {
  const struct hr__data *data = engine->data;
  const uint32_t path = write_path(engine, pool);
  hr__wide rate = hr__data_cap(data, path, reader_of(engine, job)->n_nodes);
  const hr__wide share = hr__data_narrowest(data, path) / (data->flows.n_active + 1U);
  if (!is_alone && share < rate) rate = share;
  return hr__transfer_us(mib << 20, rate ? rate : 1);
}

/* ---- Nodes that go down ----------------------------------------------------------------------------------- */

/* When a node of an elastic pool comes up again, the provider has replaced the machine. Its cache is empty. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  if (engine->data->caches && hr_market_is_elastic(engine->cluster.pools[pool.id].spec->market.market))
    hr__caches_clear(engine->data->caches, node, engine->first_node);
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

/* Handles the end of a job's flow. */
static enum hr_status end_job_flow(struct hr__engine *engine, hr_job job) {
  struct hr__data_reader *reader = reader_of(engine, job);
  const struct hr__component *attempts = engine->handler[HR__PENDING_PHASE];
  if (reader->writes) {
    const enum hr_status status = end_write(engine, job, (hr_amount)reader->write_bytes);
    return status == HR_OK ? attempts->advance(engine, hr__pending(engine->view.now_us, HR__PENDING_PHASE, job.id))
                           : status;
  }
  if (reader->loads) return finish_load(engine, job);
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
  if ((flow < data->n_jobs ? data->readers[flow].engine : data->first) != engine)
    return HR_OK; /* the flow belongs to another engine, which has an entry for it */
  return flow < data->n_jobs ? end_job_flow(engine, (hr_job){flow}) : hr__data_finish_copy(engine, flow);
}

/* ---- Start and end of a run ------------------------------------------------------------------------------- */

static bool is_needed(const struct hr__engine *engine) {
  return engine->config->data != NULL;
}

static enum hr_status begin(struct hr__engine *engine) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  if (engine->config->stream)
    return hr_fail(engine->error, HR_BAD_INPUT, "'data' cannot be combined with a streamed run");
  if (owner->data && owner->data->first != engine) {
    engine->data = owner->data;
    return HR_OK;
  }
  const enum hr_status status = hr__data_open(engine, owner);
  return status == HR_OK ? hr__data_begin_copies(engine) : status;
}

static void close(struct hr__engine *engine) {
  struct hr__data *data = engine->data;
  if (data && data->first == engine) hr__data_close(data);
}

enum hr_status hr__data_result(struct hr__engine *engine, struct hr_data_result **result) {
  struct hr__data *data = engine->data;
  *result = NULL;
  if (!data) return HR_OK;
  hr__data_settle(data, engine->last_us);
  if (data->status != HR_OK) return hr__out_of_memory(engine);
  *result = malloc(sizeof **result);
  if (!*result) return hr__out_of_memory(engine);
  **result = data->result;
  data->result = (struct hr_data_result){0};
  return HR_OK;
}

bool hr__data_is_active(const struct hr__engine *engine) {
  return engine->data->flows.n_active > 0;
}

/* ---- Near data -------------------------------------------------------------------------------------------- */

/* Returns whether the pool reads the data set on a path that crosses no link. */
static bool reads_without_link(const struct hr__engine *engine, uint32_t set, hr_pool pool) {
  const struct hr__data *data = engine->data;
  const uint32_t path = data->route[(size_t)set * data->spec->n_pools + engine->first_pool + pool.id];
  return path != HR_NONE && data->paths[path].link == HR_NONE;
}

bool hr__data_is_local(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  uint32_t set = HR_NONE;
  return !rule_of(engine, job, &set) || reads_without_link(engine, set, pool);
}

uint32_t hr_view_data_set(const struct hr_view *view, hr_job job) {
  const struct hr__engine *engine = hr__engine_of(view);
  uint32_t set = HR_NONE;
  return engine->data && rule_of(engine, job, &set) ? set : HR_NONE;
}

bool hr_view_has_data(const struct hr_view *view, uint32_t set, uint32_t gpus, hr_pool pool, hr_node node) {
  const struct hr__engine *engine = hr__engine_of(view);
  const struct hr_data_spec *spec = engine->data->spec;
  const uint32_t at = spec->cache_of[engine->first_pool + pool.id];
  if (at == HR_NONE) return reads_without_link(engine, set, pool);
  const uint32_t per_node = engine->cluster.pools[pool.id].spec->gpus_per_node;
  const int64_t n_nodes = gpus > per_node ? (gpus + per_node - 1) / per_node : 1, bytes = spec->sets[set].bytes;
  const int64_t part = (bytes + n_nodes - 1) / n_nodes, room = spec->caches[at].node_bytes;
  const int64_t kept = hr__caches_valid(engine->data->caches, node, engine->first_node, set);
  return kept >= (part < room ? part : room);
}

uint64_t hr_view_data_changes(const struct hr_view *view) {
  const struct hr__data *data = hr__engine_of(view)->data;
  return data ? data->n_changes + (data->caches ? hr__caches_changes(data->caches) : 0) : 0;
}

/* ---- Checked mode ----------------------------------------------------------------------------------------- */

uint32_t hr__data_next_flow(const struct hr__engine *engine, uint32_t from) {
  const struct hr__data *data = engine->data;
  for (uint32_t job = from; data && job < engine->n_input; job++) /* jobs of replicas have their own pending event */
    if (data->readers[job].engine == engine && hr__flows_has(&data->flows, job) && !engine->heap.place[job]) return job;
  return HR_NONE;
}

/* Checks that for each storage system and link, the sum of the rates of all flows is at most the capacity. */
static enum hr_status check_rates(const struct hr__engine *engine) {
  const struct hr__data *data = engine->data;
  const struct hr__bandwidth *shares = &data->flows.shares;
  for (uint32_t r = 0; r < shares->n_resources; r++) {
    hr__wide used = 0;
    for (uint32_t flow = 0; flow < data->flows.n_flows; flow++) {
      if (!hr__flows_has(&data->flows, flow)) continue;
      const struct hr__share_path *path = &shares->paths[hr__data_path_of_flow(data, flow)];
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
                                                 .node_down = node_down,
                                                 .kinds = 1u << HR__PENDING_DATA,
                                                 .advance = advance,
                                                 .close = close,
                                                 .check = check};
