/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What held the first job back that starts later than it did: its run is made once more, and the job watched. */

#include "headroom/replay.h"
#include "headroom/waits.h"
#include "plan/checking.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>

/* "It waited 12 min for free GPUs, 3 min behind the reservations of others in the queue." NULL: it did not wait. */
static enum hr_status put_words(const struct hr_waits *waits, hr_job job, char **words) {
  const struct hr_wait *wait;
  if (hr_waits_of(waits, job, &wait) == 0 || !wait->is_first || wait->n_parts == 0) return HR_OK;
  const struct hr_wait_part *parts = hr_waits_parts(waits, wait);
  size_t size = 0;
  FILE *out = open_memstream(words, &size);
  if (!out) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    char text[HR__NUMBER_BYTES];
    fprintf(out, "%s%s %s", i ? ", " : "It waited ", hr__duration_text((double)parts[i].us / 1e6, text),
            hr_hold_words((enum hr_hold_reason)parts[i].reason));
  }
  fputc('.', out);
  return fclose(out) == 0 ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status watch(struct hr_replay *replay, struct hr_waits *waits, hr_job job, char **words,
                            struct hr_error *error) {
  enum hr_status status = hr_replay_add(replay, hr_waits_fold(waits), error);
  if (status == HR_OK) status = hr_replay_run(replay, error);
  if (status != HR_OK) return status;
  status = hr_waits_close(waits, replay->result);
  if (status == HR_OK) status = put_words(waits, job, words);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the check");
}

enum hr_status hr__check_held(const struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_trace *trace = check->traces[item->trace].trace;
  const struct hr_replay_config config = {.scenario = item->scenario, .trace = trace, .seed = item->scenario->seed};
  const struct hr_waits_config watched = {.trace = trace, .watched = &item->start.id, .n_watched = 1};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  struct hr_waits *waits = status == HR_OK ? hr_waits_create(&watched) : NULL;
  if (status == HR_OK && !waits) status = hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  if (status == HR_OK) status = watch(&replay, waits, item->start.id, &item->start.held, error);
  hr_waits_destroy(waits);
  hr_replay_finish(&replay);
  return status;
}
