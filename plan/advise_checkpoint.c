/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checkpoints that are too rare or too frequent. The best time between two, for writes of d and a mean time M between
 * losses, is by Daly (A higher order estimate of the optimum checkpoint interval for restart dumps, 2006)
 *
 *     sqrt(2 d M) (1 + sqrt(d / 2 M) / 3 + d / 18 M) - d    for d < 2 M, else M,
 *
 * whose first term is Young's (1974). What is more than half again as long, or as short, is tried with the policy that
 * takes the interval from the pool.
 */

#include "plan/advising.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double off_by = 1.5;
static const double supposed_write_s = 60;

struct spot {
  uint32_t pool; /* where most of the class's spot GPU time was; HR_NONE: it had none */
  double life_s; /* mean time between losses of its jobs */
  double write_s;
  double lost_h; /* GPU hours, in all spot pools */
};

static double hours(hr__wide milli_us) {
  return (double)milli_us / (1000.0 * 3600.0 * 1e6);
}

/* Jobs on several nodes lose any of them so much the sooner, where nodes have fates of their own. */
static double life_of(const struct hr_advice *advice, const struct hr__pool_use *use, uint32_t pool) {
  enum hr_spot_model model = hr__advice_pool(advice, pool)->market.spot.model;
  double nodes = (double)use->held_by_nodes / (double)use->held_milli_us;
  bool one_fate = model == HR_SPOT_ON_OFF || model == HR_SPOT_TRACE;
  return 3600 / advice->look.pools[pool].reclaims_per_h / (one_fate ? 1 : nodes);
}

static double write_of(const struct hr_advice *advice, const struct hr__pool_use *use, uint32_t class_, uint32_t pool) {
  const struct hr_class_spec *class_spec = &advice->config.scenario->classes[class_];
  double mib = use->sized_checkpoints ? (double)use->checkpoint_mib / (double)use->sized_checkpoints
                                      : (double)class_spec->checkpoint_mib;
  uint64_t mib_s = hr__advice_pool(advice, pool)->storage_mib_s;
  return mib > 0 && mib_s ? mib / (double)mib_s : (double)class_spec->write_us / (double)HR_SECOND_US;
}

static struct spot find_spot(const struct hr_advice *advice, uint32_t class_) {
  const struct hr__pool_use *most = NULL;
  struct spot spot = {.pool = HR_NONE};
  for (uint32_t i = 0; i < advice->look.n_pools; i++) {
    const struct hr__pool_use *use = hr__look_use(&advice->look, class_, i);
    if (!(advice->look.pools[i].reclaims_per_h > 0) || use->held_milli_us == 0) continue;
    spot.lost_h += hours(use->lost_milli_us);
    if (most && use->held_milli_us <= most->held_milli_us) continue;
    most = use;
    spot.pool = i;
    spot.life_s = life_of(advice, use, i);
    spot.write_s = write_of(advice, use, class_, i);
  }
  return spot;
}

static double daly_s(double write_s, double life_s) {
  if (write_s >= 2 * life_s) return life_s;
  double half = write_s / (2 * life_s);
  return sqrt(2 * write_s * life_s) * (1 + sqrt(half) / 3 + half / 9) - write_s;
}

/* ---- The change ------------------------------------------------------------------------------------- */

/* The class's own entry, or what holds for those without one, but for its checkpoints. */
static cJSON *class_entry(const struct hr_advice *advice, const char *name, double write_s) {
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(advice->classes, name);
  if (!own) own = cJSON_GetObjectItemCaseSensitive(advice->classes, "default");
  cJSON *entry = own ? cJSON_Duplicate(own, true) : cJSON_CreateObject();
  cJSON *checkpoint = cJSON_GetObjectItemCaseSensitive(entry, "checkpoint");
  if (entry && !checkpoint) checkpoint = cJSON_AddObjectToObject(entry, "checkpoint");
  cJSON_DeleteItemFromObjectCaseSensitive(checkpoint, "interval_s");
  if (checkpoint && hr__put_text(checkpoint, "policy", "young-daly") &&
      (write_s == 0 || hr__put_number(checkpoint, "write_s", write_s)))
    return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* `write_s`: to be supposed; 0: it is known. */
static enum hr_status propose(struct hr_advice *advice, uint32_t class_, const struct spot *spot, const char *from,
                              double write_s, struct hr_error *error) {
  const char *name = class_ == HR_CLASS_UNKNOWN ? "default" : hr_job_class_name((enum hr_job_class)class_);
  struct hr__proposal proposal;
  char path[60];
  hr__proposal_init(&proposal, HR_ADVICE_CHECKPOINT, class_ == HR_CLASS_UNKNOWN ? HR_N_CLASSES : class_, spot->pool);
  snprintf(proposal.from, sizeof proposal.from, "%s", from);
  snprintf(proposal.to, sizeof proposal.to, "young-daly: every %.0f s here",
           daly_s(write_s > 0 ? write_s : spot->write_s, spot->life_s));
  snprintf(path, sizeof path, "classes.%s", name);
  enum hr_status status = hr__proposal_set_json(&proposal, path, class_entry(advice, name, write_s), error);
  if (status == HR_OK && write_s > 0)
    status = hr__proposal_assume(&proposal, error,
                                 "a checkpoint takes %.0f s, as neither its size nor its time is told", write_s);
  if (status == HR_OK)
    status = hr__proposal_assume(&proposal, error,
                                 "jobs of the class lose their place every %.3g h on average in pool %.100s",
                                 spot->life_s / 3600, hr__advice_pool(advice, spot->pool)->name);
  if (status == HR_OK) return hr__proposal_keep(advice, &proposal, error);
  hr__proposal_finish(&proposal);
  return status;
}

static enum hr_status note(struct hr_advice *advice, struct hr_error *error, uint32_t class_, const char *text) {
  return hr_notes_add(&advice->notes, "checkpoints of %s: %s", hr__class_words(class_), text) == HR_OK
             ? HR_OK
             : hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

static enum hr_status advise_class(struct hr_advice *advice, uint32_t class_, struct hr_error *error) {
  const struct hr_class_spec *spec = &advice->config.scenario->classes[class_];
  struct spot spot = find_spot(advice, class_);
  if (spot.pool == HR_NONE) return HR_OK;
  if (hr__look_use(&advice->look, class_, spot.pool)->own_checkpoints)
    return note(advice, error, class_,
                "jobs bring intervals of their own in the trace, which go before the scenario's");
  if (spec->checkpoint == HR_CHECKPOINT_NONE) {
    if (spot.lost_h <= 0) return HR_OK;
    return propose(advice, class_, &spot, "no checkpoints", spot.write_s > 0 ? 0 : supposed_write_s, error);
  }
  if (spec->checkpoint != HR_CHECKPOINT_INTERVAL) return HR_OK;
  if (spot.write_s <= 0) return note(advice, error, class_, "they take no time, so no interval is too short");
  double interval_s = (double)spec->interval_us / (double)HR_SECOND_US, best_s = daly_s(spot.write_s, spot.life_s);
  char from[100];
  snprintf(from, sizeof from, "every %.6g s", interval_s);
  if (interval_s <= off_by * best_s && best_s <= off_by * interval_s) return HR_OK;
  return propose(advice, class_, &spot, from, 0, error);
}

enum hr_status hr__advise_checkpoints(struct hr_advice *advice, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < HR_N_CLASSES && status == HR_OK; i++) {
    /* What holds for jobs without a class holds for all classes that are not named, too. */
    if (i == HR_CLASS_UNKNOWN && advice->config.trace->class_) continue;
    status = advise_class(advice, i, error);
  }
  return status;
}
