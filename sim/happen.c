/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens is digested, and told to the folds and to the policy; what will happen goes onto the heap. */

#include "sim/digest.h"
#include "sim/engine.h"

#include <inttypes.h>

enum { PROGRESS_EVENTS = 1 << 16 };

enum hr_status hr__out_of_memory(const struct hr__engine *engine) {
  return hr_fail(engine->error, HR_NO_MEMORY, "out of memory for %" PRIu32 " jobs", engine->trace->n_jobs);
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

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

void hr__tell(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_run_config *config = engine->config;
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event->at_us);
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event_code(event->kind) << 32 | event->job.id);
  if (event->kind == HR_EVENT_START) digest_placement(engine, event->placement);
  if (event->pool.id != HR_NONE) engine->digest = hr__digest_add(engine->digest, digest_node(event));
  for (uint32_t i = 0; i < config->n_folds; i++)
    if (config->folds[i].on_event) config->folds[i].on_event(config->folds[i].self, &engine->view, event);
  if (++engine->n_events % PROGRESS_EVENTS == 0 && config->progress.report)
    config->progress.report(config->progress.self, engine->n_completed + engine->n_rejected, engine->trace->n_jobs,
                            engine->view.now_us);
}

enum hr_status hr__tell_policy(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_policy_ops *ops = &engine->ops;
  if (!ops->observe) return HR_OK;
  enum hr_status status = ops->observe(engine->policy, &engine->view, event);
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  if (status == HR_BAD_INPUT && engine->error && engine->error->status == status)
    return status; /* told by the policy */
  return status == HR_OK ? HR_OK
                         : hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed at %s of job %" PRIu32, ops->name,
                                   hr_event_name(event->kind), event->job.id);
}

enum hr_status hr__happen(struct hr__engine *engine, const struct hr_event *event) {
  hr__tell(engine, event);
  return hr__tell_policy(engine, event);
}

enum hr_status hr__schedule(struct hr__engine *engine, int64_t at_us, enum hr__pending_kind kind, uint32_t entity) {
  return hr__event_heap_push(&engine->heap, hr__pending(at_us, kind, entity)) == HR_OK ? HR_OK
                                                                                       : hr__out_of_memory(engine);
}
