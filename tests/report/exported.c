/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a shipped scenario with all observers that the exports need. */

#include "exported.h"

#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

static void follow(struct exported *exported, struct hr_error *error) {
  const struct hr_replay_config config = {.scenario = exported->scenario,
                                          .trace = exported->trace,
                                          .seed = exported->scenario->seed,
                                          .costs_by_job = true,
                                          .alerts = true};
  exported->history = hr_history_create(exported->trace);
  exported->counts = hr_counts_create();
  CU_ASSERT_FATAL(exported->history && exported->counts);
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&exported->replay, &config, error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&exported->replay, hr_history_observer(exported->history), error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&exported->replay, hr_counts_observer(exported->counts), error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&exported->replay, error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_history_close(exported->history, exported->replay.result), HR_OK);
}

/* Each gang has one to four tasks. Several tasks of a gang may run on the same node. */
const char *exported_gangs(const char *path) {
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("job_id,submit_s,duration_s,gpus,tasks\n", file);
  for (int i = 0; i < 60; i++) fprintf(file, "%d,%d,%d,%d,%d\n", i, 40 * i, 100 + 37 * i, 2 * (1 + i % 4), 1 + i % 4);
  fclose(file);
  return path;
}

void exported_make(struct exported *exported, const char *scenario, const char *const *overrides, size_t n_overrides) {
  char path[512];
  struct hr_error error = {0};
  snprintf(path, sizeof path, PROJECT_DIR "/scenarios/%s.json", scenario);
  *exported = (struct exported){0};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(path, overrides, n_overrides, &exported->scenario, &error), HR_OK);
  const struct hr_trace_options options = {.format = exported->scenario->trace_format,
                                           .map = &exported->scenario->columns};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(exported->scenario->trace_file, &options, &exported->trace, &error), HR_OK);
  follow(exported, &error);
  exported->label = (struct hr_run_label){.scenario = exported->scenario->name,
                                          .trace = exported->trace->source,
                                          .format = exported->trace->format,
                                          .cluster = &exported->scenario->cluster,
                                          .policy = &exported->scenario->policy,
                                          .seed = exported->scenario->seed,
                                          .alerts = exported->replay.alerts};
  exported->run = (struct hr_export){.trace = exported->trace,
                                     .cluster = &exported->scenario->cluster,
                                     .result = exported->replay.result,
                                     .history = exported->history,
                                     .counts = exported->counts,
                                     .ledger = exported->replay.ledger,
                                     .label = &exported->label};
}

void exported_finish(struct exported *exported) {
  hr_replay_finish(&exported->replay);
  hr_counts_destroy(exported->counts);
  hr_history_destroy(exported->history);
  hr_trace_destroy(exported->trace);
  hr_scenario_destroy(exported->scenario);
}
