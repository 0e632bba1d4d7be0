/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The random times of failures and repairs. Each unit of a process has a stream of random numbers. The stream has a
 * separate part for each failure (base/random.h: lives); part 0 is for the start of the run.
 *
 * Stationary start: at a random time of an alternating renewal process, the unit is down with probability
 * MTTR / (MTTF + MTTR), and the rest of the present period has the density (1 - F(t)) / mean (sim/market/supply.c).
 */

#include "sim/faults/faults.h"

#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>

static struct hr__stream stream_at(const struct hr__fault_draws *draws, uint32_t number) {
  struct hr__stream stream;
  hr__stream_init(&stream, draws->seed, HR__PURPOSE_FAULT, draws->unit, draws->process_id);
  hr__stream_skip_to_life(&stream, number);
  return stream;
}

/* Returns the duration divided by `factor`. */
static struct hr_duration sooner(struct hr_duration duration, double factor) {
  if (factor == 1) return duration;
  if (duration.kind == HR_DURATION_LOG_NORMAL)
    duration.a -= log(factor);
  else if (duration.kind == HR_DURATION_WEIBULL)
    duration.b /= factor;
  else
    duration.a /= factor;
  return duration;
}

static int64_t draw_us(const struct hr_duration *duration, struct hr__stream *stream) {
  if (duration->kind == HR_DURATION_FIXED && duration->a <= 0) return 0;
  return hr__duration_draw(duration, stream);
}

static int64_t draw_recorded_us(const struct hr_recorded *recorded, struct hr__stream *stream) {
  uint32_t place = (uint32_t)(hr__stream_uniform(stream) * recorded->n_values);
  return (int64_t)llround(recorded->values[place].h * 3600 * (double)HR_SECOND_US);
}

/* Draws the rest of a recorded interval that is in progress at a random time; long intervals are therefore more likely.
 */
static int64_t draw_recorded_rest_us(const struct hr_recorded *recorded, struct hr__stream *stream) {
  double left_h = hr__stream_uniform(stream) * recorded->mean_s / 3600 * recorded->n_values;
  uint32_t place = 0;
  while (place + 1 < recorded->n_values && left_h >= recorded->values[place].h) left_h -= recorded->values[place++].h;
  double part = hr__stream_uniform(stream);
  return (int64_t)llround(part * recorded->values[place].h * 3600 * (double)HR_SECOND_US);
}

int64_t hr__fault_between_us(const struct hr__fault_draws *draws, const struct hr_fault_process *process, double factor,
                             uint32_t number) {
  struct hr__stream stream = stream_at(draws, number);
  struct hr_duration between = sooner(process->between, factor);
  if (process->recorded_between.n_values)
    return (int64_t)((double)draw_recorded_us(&process->recorded_between, &stream) / factor);
  return hr__duration_draw(&between, &stream);
}

static const struct hr_fault_class *class_at(const struct hr_fault_process *process, double p) {
  if (process->n_classes == 0) return &process->only;
  double sum = 0, before = 0;
  for (uint32_t i = 0; i < process->n_classes; i++) sum += process->classes[i].share;
  for (uint32_t i = 0; i + 1 < process->n_classes; i++) {
    before += process->classes[i].share;
    if (p * sum < before) return &process->classes[i];
  }
  return &process->classes[process->n_classes - 1];
}

const struct hr_fault_class *hr__fault_class_draw(const struct hr__fault_draws *draws,
                                                  const struct hr_fault_process *process, uint32_t number,
                                                  int64_t *detect_us, int64_t *repair_us) {
  /* The second half of a part; the first half is for the time until the failure. */
  struct hr__stream stream = stream_at(draws, number);
  stream.counter[0] += 1u << 7;
  const struct hr_fault_class *class_ = class_at(process, hr__stream_uniform(&stream));
  *detect_us = draw_us(&class_->detect, &stream);
  *repair_us = process->recorded_repair.n_values ? draw_recorded_us(&process->recorded_repair, &stream)
                                                 : draw_us(&class_->repair, &stream);
  return class_;
}

/* Returns the mean time of a repair over all classes, in seconds. */
static double mean_repair_s(const struct hr_fault_process *process) {
  double sum = 0, sum_s = 0;
  if (process->recorded_repair.n_values) return process->recorded_repair.mean_s;
  if (process->n_classes == 0) return hr__duration_mean_s(&process->only.repair);
  for (uint32_t i = 0; i < process->n_classes; i++) {
    sum += process->classes[i].share;
    sum_s += process->classes[i].share * hr__duration_mean_s(&process->classes[i].repair);
  }
  return sum > 0 ? sum_s / sum : 0;
}

/* Draws the class of a repair that is in progress at a random time, so classes with long repairs are more likely. */
static const struct hr_fault_class *class_in_repair(const struct hr_fault_process *process, double p) {
  double total_s = 0, before_s = 0;
  if (process->n_classes == 0) return &process->only;
  for (uint32_t i = 0; i < process->n_classes; i++)
    total_s += process->classes[i].share * hr__duration_mean_s(&process->classes[i].repair);
  for (uint32_t i = 0; i + 1 < process->n_classes; i++) {
    before_s += process->classes[i].share * hr__duration_mean_s(&process->classes[i].repair);
    if (p * total_s < before_s) return &process->classes[i];
  }
  return &process->classes[process->n_classes - 1];
}

struct hr__fault_start hr__fault_start_draw(const struct hr__fault_draws *draws, const struct hr_fault_process *process,
                                            double factor) {
  struct hr__stream stream = stream_at(draws, 0);
  struct hr_duration between = sooner(process->between, factor);
  double up_s = hr__duration_mean_s(&between), down_s = mean_repair_s(process);
  bool is_down = process->clock == HR_FAULT_CLOCK_UP && hr__stream_uniform(&stream) * (up_s + down_s) < down_s;
  const struct hr_recorded *recorded = is_down ? &process->recorded_repair : &process->recorded_between;
  if (recorded->n_values) {
    int64_t rest_us = draw_recorded_rest_us(recorded, &stream);
    return (struct hr__fault_start){is_down, is_down ? rest_us : (int64_t)((double)rest_us / factor), NULL};
  }
  if (!is_down) return (struct hr__fault_start){false, hr__duration_draw_rest(&between, &stream), NULL};
  const struct hr_fault_class *class_ = class_in_repair(process, hr__stream_uniform(&stream));
  return (struct hr__fault_start){true, hr__duration_draw_rest(&class_->repair, &stream), class_};
}

double hr__fault_factor(const struct hr__fault_draws *draws, const struct hr_fault_process *process) {
  if (!(process->bad_share > 0)) return 1;
  struct hr__stream stream = stream_at(draws, 0);
  stream.counter[0] += 1u << 7;
  return hr__stream_uniform(&stream) < process->bad_share ? process->bad_factor : 1;
}

static int by_node_and_time(const void *a, const void *b) {
  const struct hr_fault_replay *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
  return (x->down_us > y->down_us) - (x->down_us < y->down_us);
}

void hr_fault_replays_sort(struct hr_fault_process *process, uint32_t nodes) {
  struct hr_fault_replay *replays = process->replays;
  uint32_t n = 0;
  if (process->n_replays) qsort(replays, process->n_replays, sizeof *replays, by_node_and_time);
  for (uint32_t i = 0; i < process->n_replays && replays[i].node < nodes; i++) {
    struct hr_fault_replay *last = n ? &replays[n - 1] : NULL, next = replays[i];
    int64_t end_us = next.at_us + next.down_us;
    if (!last || last->node != next.node || next.at_us > last->at_us + last->down_us)
      replays[n++] = next;
    else if (end_us > last->at_us + last->down_us)
      last->down_us = end_us - last->at_us;
  }
  process->n_replays = n;
}

uint32_t hr_outages_count(const struct hr_pool_spec *pools, uint32_t n_pools) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n_pools; i++)
    for (uint32_t k = 0; hr_pool_fails(&pools[i]) && k < pools[i].faults->n_processes; k++)
      count += hr_fault_classes_of(&pools[i].faults->processes[k]);
  return count;
}

void hr_fault_process_finish(struct hr_fault_process *process) {
  for (uint32_t k = 0; k < process->n_classes; k++) free(process->classes[k].name);
  free(process->classes);
  free(process->recorded_between.values);
  free(process->recorded_repair.values);
  free(process->replays);
  free(process->name);
}

void hr_fault_spec_destroy(struct hr_fault_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_processes; i++) hr_fault_process_finish(&spec->processes[i]);
  free(spec->processes);
  free(spec);
}
