/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `classes`: checkpoints, restart overhead, use of spot capacity, and topology request of the jobs of each class.
 * "default" applies to classes that are not listed and to jobs without a class. A listed class inherits nothing from
 * "default".
 */

#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>

#define WORD(name, text) text,
static const char *const tiers[] = {HR_TIER_TABLE(WORD) NULL};

/* Checks that the key `interval_s` exists if the checkpoint policy is 'interval', and that it does not exist for
   other policies. */
static enum hr_status check_checkpoint(struct hr__builder *builder, const cJSON *checkpoint,
                                       const struct hr_class_spec *spec) {
  bool has_interval = hr__has(checkpoint, "interval_s"), wants_interval = spec->checkpoint == HR_CHECKPOINT_INTERVAL;
  if (wants_interval && !has_interval)
    return hr__build_fail(builder, checkpoint,
                          "the checkpoint policy 'interval' needs 'interval_s', the work between two checkpoints");
  if (has_interval && !wants_interval)
    return hr__build_fail_at(builder, checkpoint, "interval_s",
                             "'interval_s' has no effect with the checkpoint policy '%s'; it needs 'interval'",
                             hr_checkpoint_name(spec->checkpoint));
  return HR_OK;
}

static bool every_storage_is_known(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (!cluster->pools[i].storage_mib_s) return false;
  return true;
}

static bool writes_checkpoints(enum hr_checkpoint checkpoint) {
  return checkpoint == HR_CHECKPOINT_INTERVAL || checkpoint == HR_CHECKPOINT_YOUNG_DALY ||
         checkpoint == HR_CHECKPOINT_ON_NOTICE;
}

/* Adds a note if checkpoints take no time. This assumption makes results too optimistic. */
static enum hr_status note_free_checkpoints(const struct hr__builder *builder, const char *class_,
                                            const struct hr_class_spec *spec) {
  struct hr_scenario *scenario = builder->scenario;
  bool is_timed = spec->write_us || (spec->checkpoint_mib && every_storage_is_known(&scenario->cluster));
  if (!writes_checkpoints(spec->checkpoint) || is_timed) return HR_OK;
  enum hr_status status = hr_notes_add(
      &scenario->notes,
      "classes.%s: %s, so a checkpoint takes no time (except for jobs with a size of checkpoints in the trace, in "
      "pools with storage_gb_s)",
      class_,
      spec->checkpoint_mib ? "a pool has no storage_gb_s, and there is no write_s" : "there is neither gb nor write_s");
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Reads `topology`, with keys as in Kueue (`required`, `preferred`) and Slurm (`--switches=1@wait`). With
   `required`, a job waits without limit for a place within one group of nodes (a node, a rack, ...). With
   `preferred`, a job waits for such a place until `wait_s` seconds after its submission. */
static enum hr_status build_topology(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  const cJSON *topology = hr__get(class_, "topology");
  if (!topology) return HR_OK;
  bool required = hr__has(topology, "required"), preferred = hr__has(topology, "preferred");
  if (required && preferred)
    return hr__build_fail_at(builder, topology, "preferred", "'preferred' contradicts 'required'; use one of them");
  if (hr__has(topology, "wait_s") && !preferred)
    return hr__build_fail_at(builder, topology, "wait_s", "'wait_s' has no effect without 'preferred'%s",
                             required ? ": a job never starts outside a group that is 'required'" : "");
  spec->within = (uint8_t)hr__choice_of(topology, required ? "required" : "preferred", tiers, HR_TIER_ANY);
  spec->within_wait_us = preferred ? hr__span_of(topology, "wait_s", 0) : HR_UNKNOWN_US;
  return HR_OK;
}

/* Adds a note that the key `within` has been renamed. The note begins with the place of `within` in the file. `waits`
   is true if the class also has the old key `within_wait_s`. */
static enum hr_status note_old_within(struct hr__builder *builder, const cJSON *class_, bool waits) {
  struct hr_placed_text old = {0};
  const cJSON *within = hr__get(class_, "within");
  enum hr_status status = hr__build_placed(builder, within, within->valuestring, &old);
  if (status == HR_OK && waits)
    status = hr_notes_add(&builder->scenario->notes,
                          "%skeys 'within' and 'within_wait_s' are now 'topology.preferred' and 'topology.wait_s'; the "
                          "old names still work",
                          old.place);
  else if (status == HR_OK)
    status = hr_notes_add(&builder->scenario->notes,
                          "%skey 'within' is now 'topology.required'; the old name still works", old.place);
  free(old.text);
  free(old.place);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Reads the old keys. `within` alone is the same as `required`. `within` with `within_wait_s` is the same as
   `preferred` with `wait_s`. */
static enum hr_status build_within(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  bool waits = hr__has(class_, "within_wait_s"), tier = hr__has(class_, "within");
  if (!tier && !waits) return HR_OK;
  if (hr__has(class_, "topology"))
    return hr__build_fail_at(builder, class_, tier ? "within" : "within_wait_s",
                             "'%s' and 'topology' exclude each other; use 'topology'",
                             tier ? "within" : "within_wait_s");
  if (!tier)
    return hr__build_fail_at(builder, class_, "within_wait_s", "'within_wait_s' has no effect without 'within'");
  spec->within = (uint8_t)hr__choice_of(class_, "within", tiers, HR_TIER_ANY);
  spec->within_wait_us = hr__span_of(class_, "within_wait_s", HR_UNKNOWN_US);
  return note_old_within(builder, class_, waits);
}

/* Checks the specification of a class, and sets its topology request. */
static enum hr_status build_class(struct hr__builder *builder, const cJSON *class_, struct hr_class_spec *spec) {
  const cJSON *checkpoint = hr__get(class_, "checkpoint");
  spec->within_wait_us = HR_UNKNOWN_US;
  enum hr_status status = build_topology(builder, class_, spec);
  if (status == HR_OK) status = build_within(builder, class_, spec);
  if (status == HR_OK && checkpoint) status = check_checkpoint(builder, checkpoint, spec);
  return status == HR_OK && checkpoint ? note_free_checkpoints(builder, class_->string, spec) : status;
}

enum hr_status hr__build_classes(struct hr__builder *builder) {
  const cJSON *classes = hr__get(builder->source.file.tree, "classes");
  struct hr_class_spec fallback = {0}, *specs = builder->scenario->classes;
  for (const cJSON *class_ = classes ? classes->child : NULL; class_; class_ = class_->next) {
    unsigned index = 0; /* in hr__class_keys; 0: "default" */
    while (strcmp(hr__class_keys[index], class_->string) != 0) index++;
    struct hr_class_spec *spec = index ? &specs[index] : &fallback;
    enum hr_status status = hr__read(builder, class_, hr__table_of(&hr__scenario_keys, "classes.default"), spec);
    if (status == HR_OK) status = build_class(builder, class_, spec);
    if (status != HR_OK) return status;
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (i == 0 || !hr__get(classes, hr__class_keys[i])) specs[i] = fallback;
  return HR_OK;
}
