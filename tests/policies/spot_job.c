/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run uses the public interface of the simulator, as an embedding program would. */

#include "spot_job.h"
#include "headroom/policies.h"
#include "queue_choice.h"

#include <string.h>

struct meter {
  struct spot_bill bill;
  int64_t since_us[2], began_us[2];
};

static void count(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct meter *meter = self;
  (void)view;
  if (event->kind == HR_EVENT_ACQUIRE) meter->since_us[event->node.id] = event->at_us;
  if (event->kind == HR_EVENT_RELEASE || event->kind == HR_EVENT_NODE_DOWN)
    meter->bill.paid_us[event->node.id] += event->at_us - meter->since_us[event->node.id];
  if (event->kind == HR_EVENT_START) meter->began_us[event->placement->pool.id] = event->at_us;
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT)
    meter->bill.worked_us[event->placement->pool.id] += event->at_us - meter->began_us[event->placement->pool.id];
}

/* Writes the changes of availability. Returns their number. */
static uint32_t make_levels(const struct spot_record *record, struct hr_level_step *levels) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < record->n_steps; i++)
    if (i == 0 || record->available[i] != record->available[i - 1])
      levels[count++] = (struct hr_level_step){i * record->gap_us, record->available[i]};
  return count;
}

static void choose(const struct spot_job *job, struct hr_policy_choice *choice) {
  const double seconds = 1e-6;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(choice, "deadline", NULL), HR_OK);
  queue_set_place(choice, "rule", job->rule);
  queue_set_number(choice, "changeover_s", (double)job->changeover_us * seconds);
  queue_set_number(choice, "tick_s", (double)job->tick_us * seconds);
  if (job->hysteresis >= 0) queue_set_number(choice, "hysteresis", job->hysteresis);
  if (job->wait_below >= 0) queue_set_number(choice, "wait_below", job->wait_below);
  if (job->wait_until >= 0) queue_set_number(choice, "wait_until", job->wait_until);
}

static void make_pools(const struct spot_job *job, struct hr_level_step *levels, struct hr_pool_spec *pools) {
  static char names[2][12] = {"spot", "on-demand"}, gpu[] = "V100";
  const struct spot_record *record = job->record;
  struct hr_duration boot = {HR_DURATION_FIXED, (double)job->changeover_us * 1e-6, 0};
  for (int i = 0; i < 2; i++) {
    pools[i] = (struct hr_pool_spec){.name = names[i], .gpu = gpu, .nodes = 1, .gpus_per_node = 1};
    pools[i].market = (struct hr_market_spec){
        .market = i ? HR_MARKET_ON_DEMAND : HR_MARKET_SPOT, .price_uusd_h = job->price_uusd_h[i], .boot = boot};
  }
  pools[0].market.spot = (struct hr_spot_spec){.model = HR_SPOT_TRACE,
                                               .levels = levels,
                                               .n_levels = make_levels(record, levels),
                                               .period_us = record->n_steps * record->gap_us,
                                               .offset_us = job->start * record->gap_us};
}

struct spot_bill spot_job_run(const struct spot_job *job) {
  int64_t submit_us = 0, work_us = job->work_us, deadline_us = job->deadline_us;
  uint32_t gpus = 1;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = 1,
                           .submit_us = &submit_us,
                           .work_us = &work_us,
                           .gpus = &gpus,
                           .deadline_us = &deadline_us};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_CONTINUOUS};
  struct hr_level_step *levels = malloc(job->record->n_steps * sizeof *levels);
  CU_ASSERT_PTR_NOT_NULL_FATAL(levels);
  struct hr_pool_spec pools[2];
  make_pools(job, levels, pools);
  struct hr_policy_choice choice;
  choose(job, &choice);
  struct meter meter = {.bill.end_us = HR_NEVER_US};
  struct hr_observer observer = {&meter, count, NULL};
  struct hr_cluster_spec cluster = {pools, 2};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  if (result->n_completed == 1) meter.bill.end_us = hr_result_end_us(result, (hr_job){0});
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  free(levels);
  return meter.bill;
}

double spot_job_usd(const struct spot_job *job, const struct spot_bill *bill) {
  double usd = 0;
  for (int i = 0; i < 2; i++) usd += (double)bill->paid_us[i] / 3.6e9 * (double)job->price_uusd_h[i] * 1e-6;
  return usd;
}

bool spot_record_read(struct spot_record *record, const char *path, uint32_t n_steps) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  const char *gap = strstr(text, "\"gap_seconds\":"), *data = strstr(text, "\"data\":");
  if (!gap || !data || length == sizeof text - 1) return false;
  *record = (struct spot_record){.gap_us = strtoll(gap + strlen("\"gap_seconds\":"), NULL, 10) * HR_SECOND_US,
                                 .available = malloc(length * sizeof *record->available)};
  if (!record->available) return false;
  for (const char *at = data; *at && (n_steps == 0 || record->n_steps < n_steps); at++)
    if (*at >= '0' && *at <= '9') {
      char *end;
      record->available[record->n_steps++] = strtol(at, &end, 10) > 0;
      at = end - 1;
    }
  return record->n_steps > 0;
}
