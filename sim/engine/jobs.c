/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of jobs: their placements, their events, and the stages from submission to the end.
 *
 * The file also has three components. The first has the lists of the jobs of each node. The second returns the memory
 * of finished jobs to the system in streamed runs. The third runs jobs to their end, in runs in which no job can be
 * stopped.
 */

#include "base/containers.h"
#include "headroom/unstable/faults.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/engine.h"
#include "sim/power/power.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Placements of running jobs --------------------------------------------------------------------- */

/*
 * The placements of running jobs, and the list of jobs of each node. A placement takes eight bytes per job. If a
 * placement has several slices, the slices are a block of an array that all jobs share. The size of a block is a power
 * of two. Freed blocks are reused. The jobs of a node are a linked list. These lists are short, because few jobs fit on
 * a node.
 */

/* Returns the smallest k with 2^k >= n_slices. n_slices must be > 1. */
static unsigned size_class(uint32_t n_slices) {
  return 32u - (unsigned)__builtin_clz(n_slices - 1);
}

/* Allocates a block for `n_slices` slices. Sets `*block` to the index of its first slice. */
static enum hr_status take_block(struct hr__slice_store *store, uint32_t n_slices, uint32_t *block) {
  unsigned class_ = size_class(n_slices);
  if (store->free_block[class_]) {
    *block = store->free_block[class_] - 1;
    store->free_block[class_] = store->slices[*block].node.id;
    return HR_OK;
  }
  uint64_t needed = (uint64_t)store->count + (UINT64_C(1) << class_);
  if (!HR__ARRAY_HAS_ROOM_FOR(store->slices, needed, store->capacity)) return HR_NO_MEMORY;
  *block = store->count;
  store->count = (uint32_t)needed;
  return HR_OK;
}

/* Returns the pool that is recorded for a placement. If a job needs no node, the placement has no slices, and a policy
   may place the job in any pool. If that pool has no nodes, the first pool with nodes is recorded instead. */
static hr_pool pool_of(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  return cluster->pools[placement->pool.id].spec->nodes > 0 ? placement->pool : cluster->first_pool;
}

enum hr_status hr__allocation_store(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__allocation_ref ref = {pool_of(&engine->cluster, placement).id, placement->n_slices};
  if (ref.n_slices == 1) ref.first = placement->slices[0].node.id;
  if (ref.n_slices == 1 && engine->allocation_gpus) {
    engine->allocation_gpus[job.id] = placement->slices[0].gpus;
    engine->allocation_instance[job.id] = placement->slices[0].instance;
  }
  if (ref.n_slices > 1) {
    if (take_block(&engine->store, ref.n_slices, &ref.first) != HR_OK) return HR_NO_MEMORY;
    memcpy(engine->store.slices + ref.first, placement->slices, ref.n_slices * sizeof *placement->slices);
  }
  engine->allocation[job.id] = ref;
  if (engine->gpu_milli) engine->gpu_milli[job.id] = (uint32_t)hr_placement_milli(placement, engine->trace, job);
  return HR_OK;
}

/* Returns the slice of a placement with a single slice. */
static struct hr_slice one_slice(const struct hr__engine *engine, hr_job job, hr_node node) {
  if (!engine->gpu_milli) return (struct hr_slice){node, (uint32_t)hr__job_gpu_milli(engine->trace, job), 0, {0}};
  if (!engine->allocation_gpus) return (struct hr_slice){node, engine->gpu_milli[job.id], 0, {0}};
  return (struct hr_slice){node, engine->gpu_milli[job.id], engine->allocation_gpus[job.id],
                           engine->allocation_instance[job.id]};
}

struct hr_placement hr__allocation_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one) {
  struct hr__allocation_ref ref = engine->allocation[job.id];
  if (ref.n_slices == 0) return (struct hr_placement){.pool = {ref.first}};
  const struct hr_slice *slices = one;
  if (ref.n_slices == 1)
    *one = one_slice(engine, job, (hr_node){ref.first});
  else
    slices = engine->store.slices + ref.first;
  return (struct hr_placement){hr__cluster_pool_of(&engine->cluster, slices[0].node), ref.n_slices, slices};
}

void hr__allocation_free(struct hr__engine *engine, hr_job job) {
  struct hr__allocation_ref ref = engine->allocation[job.id];
  if (ref.n_slices < 2) return;
  struct hr__slice_store *store = &engine->store;
  unsigned class_ = size_class(ref.n_slices);
  store->slices[ref.first].node.id = store->free_block[class_];
  store->free_block[class_] = ref.first + 1;
}

struct hr_placement hr_view_placement(const struct hr_view *view, hr_job job, struct hr_slice *one) {
  return hr__allocation_placement(hr__engine_of(view), job, one);
}

/* ---- Placements of running jobs: the jobs of each node ---------------------------------------------- */

/* Allocates an element for the lists of jobs. Sets `*link` to its index. */
static enum hr_status take_link(struct hr__residents *residents, uint32_t *link) {
  if (residents->unused) {
    *link = residents->unused - 1;
    residents->unused = residents->links[*link].next;
    return HR_OK;
  }
  if (!HR__ARRAY_HAS_ROOM(residents->links, residents->count, residents->capacity)) return HR_NO_MEMORY;
  *link = residents->count++;
  return HR_OK;
}

/* Adds a job to the lists of its nodes. */
static enum hr_status list_residents(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                                     int64_t run_us) {
  (void)run_us;
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t link, *first = &residents->first[placement->slices[i].node.id];
    /* the node already has another task of the job */
    if (*first && residents->links[*first - 1].job.id == job.id) continue;
    if (take_link(residents, &link) != HR_OK) return hr__out_of_memory(engine);
    residents->links[link] = (struct hr__resident){job, *first};
    *first = link + 1;
  }
  return HR_OK;
}

/* Removes a job from the lists of its nodes. */
static enum hr_status unlist_residents(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                                       enum hr__stop how) {
  struct hr__residents *residents = &engine->residents;
  (void)how;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t *at = &residents->first[placement->slices[i].node.id];
    while (*at && residents->links[*at - 1].job.id != job.id) at = &residents->links[*at - 1].next;
    if (!*at) continue; /* the job was already removed, because an earlier slice is on the same node */
    uint32_t link = *at - 1;
    *at = residents->links[link].next;
    residents->links[link].next = residents->unused;
    residents->unused = link + 1;
  }
  return HR_OK;
}

static void close_residents(struct hr__engine *engine) {
  free(engine->residents.links);
}

/* ---- Placements of running jobs: checked mode ------------------------------------------------------- */

static uint32_t count_listed(const struct hr__engine *engine, hr_node node, hr_job job) {
  uint32_t count = 0;
  HR__EACH_RESIDENT(engine, node.id, link) count += hr__resident(engine, link).id == job.id;
  return count;
}

static bool is_first_on_node(const struct hr_placement *placement, uint32_t slice) {
  for (uint32_t i = 0; i < slice; i++)
    if (placement->slices[i].node.id == placement->slices[slice].node.id) return false;
  return true;
}

/* Checks that each running job is in the list of each of its nodes once, and that the lists have no other jobs. */
static enum hr_status check_residents(const struct hr__engine *engine, const struct hr__running *running) {
  uint64_t n_expected = 0, n_listed = 0;
  for (uint32_t i = 0; i < running->count; i++) {
    struct hr_placement placement = HR__PLACEMENT_OF(engine, running->jobs[i]);
    for (uint32_t k = 0; k < placement.n_slices; k++) {
      n_expected += is_first_on_node(&placement, k);
      if (count_listed(engine, placement.slices[k].node, running->jobs[i]) != 1)
        return hr__broken(engine, "node %" PRIu32 ": the list of its jobs differs", placement.slices[k].node.id);
    }
  }
  for (uint32_t node = 0; node < engine->cluster.n_nodes; node++) HR__EACH_RESIDENT(engine, node, link) n_listed++;
  return n_listed == n_expected ? HR_OK : hr__broken(engine, "a node lists a job that does not run there");
}

const struct hr__component hr__component_residents = {.part = offsetof(struct hr__engine, residents.first),
                                                      .start = list_residents,
                                                      .stop = unlist_residents,
                                                      .close = close_residents,
                                                      .check = check_residents};

/* ---- Memory of finished jobs ------------------------------------------------------------------------ */

/*
 * Streamed runs. Per-job columns have addresses for all jobs of the trace. The jobs are divided into blocks of
 * successive jobs, and only blocks in use have physical memory. The pages of a block get memory when the first job of
 * the block is submitted. They are returned to the system when all jobs of the block are finished. A job that runs for
 * months therefore uses only the memory of its own block. Job ids are the same as in runs that are not streamed. Other
 * code of the engine and of policies therefore does not depend on streaming, and ties are broken in the same way.
 *
 * Pages of the engine's columns lose their contents when they are returned. Pages of the trace are mapped from the file
 * of the trace, so they do not lose their contents. A later access reads them from the file again.
 */

/* Some code reads the state of a job after the job has finished. The value is the last state, or 0 if the memory was
   reclaimed. Neither value may mean that the job waits or runs. */
_Static_assert(HR_JOB_FUTURE == 0, "the state of a finished job must not read as waiting or running");

/* Returns the number of jobs in a block. This is the number of bytes in a page, but at least 4096. Each column has a
   whole number of bytes per job, so a block takes a whole number of pages in each column. */
static uint32_t block_jobs(void) {
  long page_bytes = sysconf(_SC_PAGESIZE);
  return page_bytes > 4096 ? (uint32_t)page_bytes : 4096;
}

static bool list_column(struct hr__column_reclaim *reclaim, struct hr__reclaimed_column column) {
  if (!HR__ARRAY_HAS_ROOM(reclaim->columns, reclaim->n_columns, reclaim->capacity)) return false;
  reclaim->columns[reclaim->n_columns++] = column;
  return true;
}

static bool list_trace_columns(struct hr__column_reclaim *reclaim, const struct hr_trace *trace) {
  bool listed = true;
#define LIST(id, member, ...)                                                                                          \
  if (trace->member)                                                                                                   \
    listed = listed &&                                                                                                 \
             list_column(reclaim, (struct hr__reclaimed_column){.at = (char *)(uintptr_t)trace->member,                \
                                                                .width = sizeof *trace->member,                        \
                                                                .length = trace->n_jobs * sizeof *trace->member});
  HR_JOB_COLUMN_TABLE(LIST, LIST)
  LIST(ROW, row, uint32_t)
  LIST(ID, id_number, int64_t)
#undef LIST
  return listed;
}

/* When a page of a mapped file is accessed for the first time, Linux also maps pages around it if they are already in
   the page cache. By default, Linux does this in an aligned area of 64 KiB (fault_around_bytes). */
enum { FAULT_AROUND_BYTES = 1 << 16 };

/* Releases all pages of a trace column that an access to the block may have mapped. Some of these pages may belong to
   neighbouring blocks that are still in use. The next access maps such pages from the file again. The column need not
   begin at the start of a page, because the bytes before and after it belong to the same file. */
static void release_trace_block(const struct hr__column_reclaim *reclaim, const struct hr__reclaimed_column *column,
                                uint32_t block) {
  uintptr_t page = reclaim->block_jobs, first = (uintptr_t)column->at, last = first + column->length;
  uintptr_t from = first + (size_t)block * page * column->width, to = from + page * column->width;
  from -= from % FAULT_AROUND_BYTES;
  to += FAULT_AROUND_BYTES - to % FAULT_AROUND_BYTES;
  if (from < first - first % page) from = first - first % page;
  if (to > last - last % page) to = last - last % page;
  if (from < to) (void)madvise((char *)from, to - from, MADV_DONTNEED);
}

static void release_block(const struct hr__column_reclaim *reclaim, uint32_t block) {
  for (uint32_t i = 0; i < reclaim->n_columns; i++) {
    const struct hr__reclaimed_column *column = &reclaim->columns[i];
    size_t bytes = reclaim->block_jobs * column->width;
    if (!column->bytes)
      release_trace_block(reclaim, column, block);
    else
      (void)madvise(column->at + block * bytes, bytes, MADV_DONTNEED);
  }
}

/* Allocates a column. Huge pages are disabled, because with huge pages a single block could not be returned to the
   system. */
static void *column_of(void *self, uint32_t n_jobs, size_t width) {
  struct hr__column_reclaim *reclaim = self;
  size_t bytes = ((size_t)n_jobs + reclaim->block_jobs) * width;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  (void)madvise(at, bytes, MADV_NOHUGEPAGE);
  if (list_column(reclaim, (struct hr__reclaimed_column){.at = at, .width = width, .bytes = bytes})) return at;
  munmap(at, bytes);
  return NULL;
}

/* Implements hr_arena_passed_job: called when code that reads all jobs of the trace has read a job. Releases a block
   after its last job. */
static void passed_job(void *self, hr_job job) {
  const struct hr__column_reclaim *reclaim = self;
  if ((job.id + 1) % reclaim->block_jobs == 0) release_block(reclaim, job.id / reclaim->block_jobs);
}

/* Registers the columns of the trace. After this call, the engine's arena allocates per-job columns with column_of, so
   that their memory can be reclaimed. */
static enum hr_status open_columns(struct hr__engine *engine) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  const struct hr_trace *trace = engine->trace;
  if (!engine->config->stream) return HR_OK;
  if (!trace->mapped)
    return hr_fail(engine->error, HR_BAD_INPUT, "%s: cannot be streamed: the trace was read into memory",
                   trace->source);
  reclaim->block_jobs = block_jobs();
  reclaim->n_blocks = trace->n_jobs / reclaim->block_jobs + 1;
  reclaim->unfinished = malloc(reclaim->n_blocks * sizeof *reclaim->unfinished);
  if (!reclaim->unfinished || !list_trace_columns(reclaim, trace)) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < reclaim->n_blocks; i++) reclaim->unfinished[i] = reclaim->block_jobs;
  engine->arena.job_columns = (struct hr__arena_job_columns){column_of, passed_job, reclaim};
  return HR_OK;
}

static void reclaim_forget(struct hr__engine *engine, hr_job job) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  uint32_t block = job.id / reclaim->block_jobs;
  if (--reclaim->unfinished[block] == 0) release_block(reclaim, block);
}

uint32_t hr__column_reclaim_skip(const struct hr__column_reclaim *reclaim, uint32_t from) {
  if (!reclaim->unfinished) return from;
  uint32_t block = from / reclaim->block_jobs, n_blocks = reclaim->n_blocks;
  if (reclaim->unfinished[block]) return from;
  while (block < n_blocks && reclaim->unfinished[block] == 0) block++;
  return block * reclaim->block_jobs;
}

static void close_columns(struct hr__engine *engine) {
  struct hr__column_reclaim *reclaim = &engine->reclaim;
  for (uint32_t i = 0; i < reclaim->n_columns; i++)
    if (reclaim->columns[i].bytes) munmap(reclaim->columns[i].at, reclaim->columns[i].bytes);
  free(reclaim->columns);
  free(reclaim->unfinished);
}

const struct hr__component hr__component_column_reclaim = {.open = open_columns,
                                                           .part = offsetof(struct hr__engine, reclaim.unfinished),
                                                           .forget = reclaim_forget,
                                                           .close = close_columns};

/* ---- Events ----------------------------------------------------------------------------------------- */

/*
 * The pending events of a run, and the notification of observers and policy. When an event occurs, the event is added
 * to the digest. Then the observers are notified, and then the policy.
 *
 * Pending events are in a binary heap (base/containers.h). If `place` is not NULL, the heap records the index of each
 * job's entry, so that the entry can be removed before its time. Floyd's variant of removal is not used. In this
 * variant, the hole of the removed entry first sinks to a leaf, which halves the number of comparisons. Runs of
 * 1,000,000 jobs on 1,024 and on 100,000 GPUs were not measurably faster with this variant.
 */

/* ---- Events: heap of pending events ----------------------------------------------------------------- */

static inline bool precedes(const void *self, struct hr__pending a, struct hr__pending b) {
  (void)self;
  return hr__pending_before(a, b);
}

static inline void put(const void *self, struct hr__pending *entries, uint32_t at, struct hr__pending pending) {
  const struct hr__event_heap *heap = self;
  entries[at] = pending;
  if (heap->place && hr__pending_kind(pending) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(pending)] = at + 1;
}

HR__HEAP_PLACED(pending_heap, struct hr__pending, precedes, put)

enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending) {
  if (heap->is_taken) {
    heap->is_taken = false;
    pending_heap_sink(heap->entries, heap->count, pending, heap);
    return HR_OK;
  }
  if (!HR__ARRAY_HAS_ROOM(heap->entries, heap->count, heap->capacity)) return HR_NO_MEMORY;
  pending_heap_rise(heap->entries, heap->count++, pending, heap);
  return HR_OK;
}

static void forget_place(const struct hr__event_heap *heap, struct hr__pending removed) {
  if (heap->place && hr__pending_kind(removed) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(removed)] = 0;
}

static void remove_at(struct hr__event_heap *heap, uint32_t at) {
  struct hr__pending last = heap->entries[--heap->count];
  forget_place(heap, heap->entries[at]);
  if (at < heap->count) pending_heap_refill(heap->entries, heap->count, at, last, heap);
}

struct hr__pending hr__event_heap_take(struct hr__event_heap *heap) {
  forget_place(heap, heap->entries[0]);
  heap->is_taken = true;
  return heap->entries[0];
}

void hr__event_heap_settle(struct hr__event_heap *heap) {
  if (!heap->is_taken) return;
  heap->is_taken = false;
  heap->count--;
  if (heap->count) pending_heap_sink(heap->entries, heap->count, heap->entries[heap->count], heap);
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending top = heap->entries[0];
  remove_at(heap, 0);
  return top;
}

void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job) {
  if (!heap->place[job]) return;
  hr__event_heap_settle(heap);
  remove_at(heap, heap->place[job] - 1);
}

/* ---- Events: notification --------------------------------------------------------------------------- */

/* Progress is reported once in this number of events. */
enum { PROGRESS_EVENTS = 1 << 16 };

static uint32_t event_code(enum hr_event_kind kind) {
  static const uint8_t codes[] = {
#define EVENT_CODE(name, text, code) code,
      HR_EVENT_TABLE(EVENT_CODE)
#undef EVENT_CODE
  };
  return codes[kind];
}

static void digest_placement(struct hr__engine *engine, const struct hr_placement *placement) {
  engine->digest = hr__digest_add(engine->digest, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint64_t slice = (uint64_t)placement->slices[i].node.id << 32 | placement->slices[i].gpu_milli;
    engine->digest = hr__digest_add(engine->digest, slice);
    if (placement->slices[i].gpus) engine->digest = hr__digest_add(engine->digest, placement->slices[i].gpus);
  }
}

void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_run_config *config = engine->config;
  const bool has_number = engine->job_number && event->job.id != HR_NONE;
  const uint32_t number = has_number ? engine->job_number[event->job.id] : event->job.id;
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event->at_us);
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event_code(event->kind) << 32 | number);
  if (event->kind == HR_EVENT_START) digest_placement(engine, event->placement);
  if (event->pool.id != HR_NONE)
    engine->digest = hr__digest_add(engine->digest, (uint64_t)event->pool.id << 32 | event->node.id);
  for (uint32_t i = 0; i < config->n_observers; i++)
    if (config->observers[i].on_event) config->observers[i].on_event(config->observers[i].self, &engine->view, event);
  if (++engine->n_events % PROGRESS_EVENTS == 0 && config->progress.report)
    config->progress.report(config->progress.self, engine->n_completed + engine->n_rejected,
                            engine->n_input + engine->n_added, engine->view.now_us);
}

enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_policy_ops *ops = &engine->ops;
  if (!ops->observe) return HR_OK;
  hr__policy_enter(engine->call, "observe");
  enum hr_status status = ops->observe(engine->policy, &engine->view, event);
  hr__policy_leave(engine->call);
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  if (status == HR_BAD_INPUT && engine->error && engine->error->status == status)
    return status; /* the policy has written the error */
  return status == HR_OK ? HR_OK
                         : hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed at %s of job %" PRIu32, ops->name,
                                   hr_event_name(event->kind), event->job.id);
}

/* ---- Events: violated invariants -------------------------------------------------------------------- */

enum hr_status hr__broken(const struct hr__engine *engine, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_fail(engine->error, HR_INTERNAL, "invariant broken at %" PRId64 " us: %s", engine->view.now_us, text);
}

/* ---- Preemptions that restarts cause ---------------------------------------------------------------- */

/*
 * This part counts the preemptions that failures cause indirectly. A job that a failure has stopped starts again, and
 * another job is preempted to make room for it (Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning
 * Research Clusters", HPCA 2025, section on second-order preemptions).
 *
 * The engine does not know why a policy preempts a job. A preemption is therefore counted if, at the same instant, a
 * job that a failure had stopped starts on one of the preempted job's nodes. Each preemption is counted only once. The
 * stop of a job at the end of the policy's notice is also a preemption in this sense.
 */

/* Marks of a job. */
enum { STOPPED_BY_FAILURE = 1, PREEMPTED = 2 };

/* The last preemption on a node. */
struct hr__node_victim {
  int64_t at_us; /* HR_NEVER_US: no preemption yet */
  uint32_t job;
};

enum hr_status hr__restarts_init(struct hr__engine *engine) {
  if (!(engine->abilities & HR_POLICY_PREEMPTS)) return HR_OK;
  engine->restart_marks = HR__JOB_COLUMN(engine, restart_marks);
  if (!HR__ARENA_ARRAY(&engine->arena, engine->node_victims, engine->cluster.n_nodes) || !engine->restart_marks)
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) engine->node_victims[i].at_us = HR_NEVER_US;
  return HR_OK;
}

static void restarts_job_stops(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                               enum hr_reason reason) {
  if (!engine->node_victims) return;
  if (reason == HR_REASON_FAILED) engine->restart_marks[job.id] |= STOPPED_BY_FAILURE;
  if (reason != HR_REASON_PREEMPTED) return;
  engine->restart_marks[job.id] |= PREEMPTED;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    engine->node_victims[placement->slices[i].node.id] = (struct hr__node_victim){engine->view.now_us, job.id};
}

static void restarts_job_starts(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (!engine->node_victims) return;
  bool restarts = engine->restart_marks[job.id] & STOPPED_BY_FAILURE;
  engine->restart_marks[job.id] = 0;
  for (uint32_t i = 0; restarts && i < placement->n_slices; i++) {
    const struct hr__node_victim *victim = &engine->node_victims[placement->slices[i].node.id];
    if (victim->at_us != engine->view.now_us || !(engine->restart_marks[victim->job] & PREEMPTED)) continue;
    engine->restart_marks[victim->job] &= (uint8_t)~PREEMPTED;
    engine->pool_accounting[placement->pool.id].restart_preemptions++;
  }
}

/* ---- The life of a job ------------------------------------------------------------------------------ */

/*
 * After its submission, a job waits or is rejected. When it has started, it runs. It then ends, or it is interrupted or
 * preempted and waits again. Each function below makes one of these transitions: it changes the state of the job and of
 * the cluster, calls the hooks of components, and emits the event. Starts, preemptions and rejections are moves of the
 * policy. For them, the state was already changed when the policy made the move (moves.c).
 *
 * The second part is the component for runs in which no job can be stopped or change its speed. In such runs, the only
 * pending event of a job is its end.
 */

/* The upper limit of simulated time. The limit ensures that the sum of a time and a duration from the input does not
   overflow. */
#define LAST_US (INT64_MAX / 2)

/* Must be called when a job has completed or was rejected, after its last event. */
static void forget(struct hr__engine *engine, hr_job job) {
  if (engine->config->stream && engine->account) hr__account_free(engine, job);
  if (engine->config->stream && engine->energy) hr__job_energy_free_row(engine->energy, job);
  HR__EACH_ACTIVE(engine, forget, at)(*at)->forget(engine, job);
}

static enum hr_status leave(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            enum hr__stop stop) {
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, stop, job, placement, stop);
  return status;
}

/* Returns the run time of a job at a placement if nothing disturbs the job. */
static int64_t run_time_us(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  return hr__time_for_us(engine->trace->work_us[job.id], hr__speed_at_ppm(engine, job, placement));
}

/* Initializes the columns of a job in a streamed run, or of an added job. In other cases, the columns are initialized
   at the start of the run. */
static void init_columns(struct hr__engine *engine, hr_job job) {
  engine->start_us[job.id] = HR_NEVER_US;
  hr__speeds_find_row(&engine->speeds, engine->trace, job);
  if (engine->cluster.requests) hr__requests_submit(engine->cluster.requests, job);
}

enum hr_status hr__job_submit(struct hr__engine *engine, hr_job job) {
  const struct hr_event *event = HR__JOB_EVENT(engine, HR_EVENT_SUBMIT, HR_REASON_NONE, job, NULL);
  engine->n_submitted++;
  engine->last_progress_us = engine->view.now_us;
  if (engine->config->stream || job.id >= engine->n_input) init_columns(engine, job);
  HR__EACH_ACTIVE(engine, submit, at)(*at)->submit(engine, job);
  hr__notify_observers(engine, event);
  const bool fits = engine->whole && engine->whole->fitting.id == job.id;
  enum hr_reason reason = fits ? HR_REASON_NONE : hr__cluster_never_fits(&engine->cluster, job);
  if (engine->whole && engine->whole->barred.id == job.id) reason = HR_REASON_NO_QUEUE;
  if (reason == HR_REASON_NONE) {
    engine->state[job.id] = HR_JOB_WAITING;
    engine->view.n_waiting++;
    return hr__notify_policy(engine, event);
  }
  engine->state[job.id] = HR_JOB_REJECTED;
  engine->reason[job.id] = (uint8_t)reason;
  hr__job_reject(engine, job, reason);
  return HR_OK;
}

/* Returns whether a job that a failure has stopped must not run again. */
static bool gives_up(const struct hr__engine *engine, hr_job job) {
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  uint32_t attempts = engine->account ? hr__account(engine, job)->attempts : 0;
  return class_->no_requeue || (class_->max_requeues > 0 && attempts > class_->max_requeues);
}

void hr__job_reject(struct hr__engine *engine, hr_job job, enum hr_reason reason) {
  /* a job of the input that has run is withdrawn only because it must not run again (hr__job_interrupt) */
  if (reason == HR_REASON_WITHDRAWN && job.id < engine->n_input && engine->start_us[job.id] != HR_NEVER_US &&
      gives_up(engine, job))
    engine->reason[job.id] = (uint8_t)(reason = HR_REASON_REQUEUES);
  engine->n_rejected++;
  if (engine->account && engine->account[job.id]) hr__account(engine, job)->rejected_us = engine->view.now_us;
  hr__notify_observers(engine, HR__JOB_EVENT(engine, HR_EVENT_REJECT, reason, job, NULL));
  forget(engine, job);
}

enum hr_status hr__job_start(struct hr__engine *engine, const struct hr__move *move) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, move->job);
  int64_t now_us = engine->view.now_us, run_us = run_time_us(engine, move->job, &placement);
  if (now_us > LAST_US - run_us)
    return hr_fail(engine->error, HR_BAD_INPUT, "%s: simulated time exceeds 146,000 years: the run times are too long",
                   engine->trace->source);
  engine->n_backfilled += move->reason == HR_REASON_BACKFILL;
  restarts_job_starts(engine, move->job, &placement);
  hr__notify_observers(engine, HR__JOB_EVENT(engine, HR_EVENT_START, move->reason, move->job, &placement));
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, start, move->job, &placement, run_us);
  return status;
}

enum hr_status hr__job_end(struct hr__engine *engine, hr_job job) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  engine->view.allocated_milli -= gpu_milli;
  engine->view.n_running--;
  engine->state[job.id] = HR_JOB_COMPLETED;
  engine->n_completed++;
  engine->last_progress_us = engine->view.now_us;
  enum hr_status status = leave(engine, job, &placement, HR__STOP_END);
  if (status != HR_OK) return status;
  status = hr__emit(engine, HR__JOB_EVENT(engine, HR_EVENT_END, HR_REASON_NONE, job, &placement));
  hr__allocation_free(engine, job);
  forget(engine, job);
  return status;
}

enum hr_status hr__job_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason, bool keeps) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  enum hr_status status = leave(engine, job, &placement, keeps ? HR__STOP_KEEP_ALL : HR__STOP_KEEP_SAVED);
  if (status != HR_OK) return status;
  engine->view.allocated_milli -= gpu_milli;
  engine->view.n_running--;
  engine->view.n_waiting++;
  engine->state[job.id] = HR_JOB_WAITING;
  engine->pool_accounting[placement.pool.id].failed_jobs += reason == HR_REASON_FAILED;
  if (engine->outage) engine->outage->jobs_stopped += reason == HR_REASON_FAILED;
  engine->pool_accounting[placement.pool.id].maintained_jobs += reason == HR_REASON_MAINTENANCE;
  if (reason != HR_REASON_PREEMPTED) engine->pool_accounting[placement.pool.id].interruptions++;
  restarts_job_stops(engine, job, &placement, reason);
  status = hr__emit(engine, HR__JOB_EVENT(engine, HR_EVENT_INTERRUPT, reason, job, &placement));
  hr__allocation_free(engine, job);
  if (status != HR_OK || reason != HR_REASON_FAILED || !gives_up(engine, job)) return status;
  return hr__notify_policy(engine, HR__JOB_EVENT(engine, HR_EVENT_WITHDRAW, HR_REASON_NONE, job, NULL));
}

enum hr_status hr__job_notice(struct hr__engine *engine, hr_job job, struct hr__job_notice notice) {
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, notice, job, notice);
  return status;
}

/* Completes the preemption of a job. The policy may already have started the job again in the same pass. The placement
   before the move is therefore restored during the call. */
enum hr_status hr__job_preempt(struct hr__engine *engine, const struct hr__move *move) {
  struct hr__allocation now = hr__allocation_get(engine, move->job);
  int64_t attempt_us = engine->attempt_us[move->job.id];
  hr__allocation_set(engine, move->job, move->allocation);
  engine->attempt_us[move->job.id] = move->attempt_us;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, move->job);
  enum hr_status status = leave(engine, move->job, &placement, move->keeps ? HR__STOP_KEEP_ALL : HR__STOP_KEEP_SAVED);
  restarts_job_stops(engine, move->job, &placement, move->reason);
  if (engine->kept_us[move->job.id] > move->kept_us) engine->last_progress_us = engine->view.now_us;
  if (engine->futile_since_us != engine->last_progress_us) engine->n_futile = 0;
  engine->futile_since_us = engine->last_progress_us;
  engine->n_futile++;
  hr__notify_observers(engine, HR__JOB_EVENT(engine, HR_EVENT_PREEMPT, move->reason, move->job, &placement));
  hr__allocation_free(engine, move->job);
  hr__allocation_set(engine, move->job, now);
  engine->attempt_us[move->job.id] = attempt_us;
  return status;
}

/* ---- Component: jobs that run to their end ---------------------------------------------------------- */

static bool is_needed(const struct hr__engine *engine) {
  return !engine->attempt_slot;
}

/* Allocates the times of completion. They are not needed if they follow from the start and the work of each job. */
static enum hr_status begin(struct hr__engine *engine) {
  if (!hr__speeds_vary(&engine->speeds) && !engine->network.table && !engine->whole) return HR_OK;
  const bool is_first = !engine->whole || !engine->whole->ended_us;
  uint32_t n_jobs = engine->config->stream || !is_first ? 0 : engine->trace->n_jobs;
  engine->ended_us = HR__RESULT_COLUMN(engine, ended_us);
  if (!engine->ended_us) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs; i++) engine->ended_us[i] = HR_NEVER_US;
  return HR_OK;
}

static void submit(struct hr__engine *engine, hr_job job) {
  if (engine->ended_us) engine->ended_us[job.id] = HR_NEVER_US;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)placement;
  if (engine->whole && engine->whole->attempt_us) engine->whole->attempt_us[job.id] = engine->view.now_us;
  return hr__schedule(engine, engine->view.now_us + run_us, HR__PENDING_END, job.id);
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  (void)placement, (void)how; /* the job has completed */
  if (engine->ended_us) engine->ended_us[job.id] = engine->view.now_us;
  return HR_OK;
}

/* Checks that the end of each running job is pending at the time at which its work completes. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  for (uint32_t i = 0; i < engine->heap.count; i++) {
    struct hr__pending pending = engine->heap.entries[i];
    hr_job job = {hr__pending_entity(pending)};
    if (hr__pending_kind(pending) != HR__PENDING_END) continue;
    struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
    if (engine->trace->gpus[job.id] > 0 && hr__speed_at_ppm(engine, job, &placement) == 0)
      return hr__broken(engine, "job %" PRIu32 " runs in a pool where its speed is 0", job.id);
    if (engine->start_us[job.id] + run_time_us(engine, job, &placement) != pending.at_us)
      return hr__broken(engine, "job %" PRIu32 " does not end when its work completes", job.id);
  }
  const bool every_job = running->every_job && !engine->whole; /* the columns have the jobs of all clusters */
  for (uint32_t i = 0; every_job && i < engine->trace->n_jobs; i++)
    if ((engine->state[i] == HR_JOB_RUNNING || engine->state[i] == HR_JOB_COMPLETED) !=
        (engine->start_us[i] != HR_NEVER_US))
      return hr__broken(engine, "job %" PRIu32 ": state and start differ", i);
  return HR_OK;
}

const struct hr__component hr__component_run_to_end = {
    .is_needed = is_needed, .begin = begin, .submit = submit, .start = start, .stop = stop, .check = check};
