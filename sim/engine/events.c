/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pending events of a run, and the notification of observers and policy. When an event occurs, it is added to the
 * digest. Then the observers are notified, and last the policy.
 *
 * Pending events are in a binary heap (base/sort.h). If `place` is not NULL, the heap records the index of each job's
 * entry, so that the entry can be removed early. Floyd's variant of removal, in which the hole of the removed entry
 * first sinks to a leaf, would halve the number of comparisons. It is not used, because runs of 1,000,000 jobs on 1,024
 * and on 100,000 GPUs were not measurably faster with it.
 */

#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Heap of pending events ---- */

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
  if (!HR__ARRAY_HAS_ROOM(heap->entries, heap->count, heap->capacity)) return HR_NO_MEMORY;
  pending_heap_rise(heap->entries, heap->count++, pending, heap);
  return HR_OK;
}

static void remove_at(struct hr__event_heap *heap, uint32_t at) {
  struct hr__pending removed = heap->entries[at], last = heap->entries[--heap->count];
  if (heap->place && hr__pending_kind(removed) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(removed)] = 0;
  if (at < heap->count) pending_heap_refill(heap->entries, heap->count, at, last, heap);
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending top = heap->entries[0];
  remove_at(heap, 0);
  return top;
}

void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job) {
  if (heap->place[job]) remove_at(heap, heap->place[job] - 1);
}

/* ---- Notification ---- */

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

static uint64_t digest_node(const struct hr_event *event) {
  return (uint64_t)event->pool.id << 32 | event->node.id;
}

void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_run_config *config = engine->config;
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event->at_us);
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event_code(event->kind) << 32 | event->job.id);
  if (event->kind == HR_EVENT_START) digest_placement(engine, event->placement);
  if (event->pool.id != HR_NONE) engine->digest = hr__digest_add(engine->digest, digest_node(event));
  for (uint32_t i = 0; i < config->n_observers; i++)
    if (config->observers[i].on_event) config->observers[i].on_event(config->observers[i].self, &engine->view, event);
  if (++engine->n_events % PROGRESS_EVENTS == 0 && config->progress.report)
    config->progress.report(config->progress.self, engine->n_completed + engine->n_rejected, engine->trace->n_jobs,
                            engine->view.now_us);
}

enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_policy_ops *ops = &engine->ops;
  if (!ops->observe) return HR_OK;
  enum hr_status status = ops->observe(engine->policy, &engine->view, event);
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  if (status == HR_BAD_INPUT && engine->error && engine->error->status == status)
    return status; /* if the policy failed, it has written the error */
  return status == HR_OK ? HR_OK
                         : hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed at %s of job %" PRIu32, ops->name,
                                   hr_event_name(event->kind), event->job.id);
}

/* ---- Checked mode ---- */

enum hr_status hr__broken(const struct hr__engine *engine, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_fail(engine->error, HR_INTERNAL, "invariant broken at %" PRId64 " us: %s", engine->view.now_us, text);
}
