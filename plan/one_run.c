/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/one_run.h"

#include "headroom/replay.h"

/* What is kept moves out of the replay; the rest goes with it. */
static void take(struct hr_replay *replay, struct hr__one_run *run) {
  *run = (struct hr__one_run){.summary = replay->summary,
                              .notes = replay->notes,
                              .alerts = replay->alerts,
                              .preemptions = replay->preemptions,
                              .restarts = replay->restarts,
                              .seconds = replay->seconds};
  replay->summary = NULL;
  replay->alerts = NULL;
  replay->notes = (struct hr_notes){0};
}

enum hr_status hr__one_run_make(const struct hr__one_run_config *config, struct hr__one_run *run,
                                struct hr_error *error) {
  const struct hr_replay_config replay_config = {.scenario = config->scenario,
                                                 .trace = config->trace,
                                                 .policy = config->policy,
                                                 .seed = config->seed,
                                                 .alerts = config->alerts,
                                                 .progress = config->progress};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &replay_config, error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  take(&replay, run);
  hr_replay_finish(&replay);
  return status;
}

void hr__one_run_finish(struct hr__one_run *run) {
  hr_summary_destroy(run->summary);
  hr_alerts_destroy(run->alerts);
  hr_notes_finish(&run->notes);
  *run = (struct hr__one_run){0};
}
