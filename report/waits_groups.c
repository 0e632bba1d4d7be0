/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which jobs are held back alike: by what they ask for, and by their tenants where the policy says so; or none but
 * itself, where it says that, and where a job is watched. Groups of one job are used again when it has left.
 */

#include "report/waits_state.h"

#include "sim/digest.h"
#include "sim/grow.h"

uint32_t hr__waits_watched(const struct hr_waits *waits, hr_job job) {
  uint32_t from = 0, to = waits->n_watched;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (waits->watched[middle].id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < waits->n_watched && waits->watched[from].id == job.id ? from : HR_NONE;
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static uint32_t make_group(struct hr_waits *waits) {
  if (waits->n_groups == waits->groups_capacity) {
    struct hr__wait_group *grown = hr__grown(waits->groups, &waits->groups_capacity, sizeof *grown);
    if (!grown) return HR_NONE;
    waits->groups = grown;
  }
  waits->groups[waits->n_groups] = (struct hr__wait_group){.running = HR_NONE, .active_at = HR_NONE};
  return waits->n_groups++;
}

static uint32_t lone_group(struct hr_waits *waits, uint32_t watched) {
  uint32_t number = waits->first_free;
  if (number == HR_NONE)
    number = make_group(waits);
  else
    waits->first_free = waits->groups[number].next_free;
  if (number == HR_NONE) return HR_NONE;
  hr__wait_group_reset(&waits->groups[number]);
  waits->groups[number].watched = watched;
  waits->groups[number].is_lone = true;
  return number;
}

/* ---- By what they ask for --------------------------------------------------------------------------- */

static struct hr__wait_key key_of(const struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  uint32_t request = requests ? requests->of_job[job.id] : hr_cluster_accept_class(view->cluster, job);
  uint32_t tenant = waits->by_tenant && waits->trace->tenant ? waits->trace->tenant[job.id] : 0;
  uint32_t tier = hr_cluster_any_within(view->cluster) ? (uint32_t)hr_cluster_within(view->cluster, job).tier : 0;
  return (struct hr__wait_key){(uint64_t)waits->trace->gpus[job.id] << 32 | request, (uint64_t)tenant << 32 | tier, 0};
}

static struct hr__wait_key *slot_of(const struct hr__wait_keys *keys, const struct hr__wait_key *key) {
  uint32_t mask = keys->n_slots - 1;
  uint32_t at = (uint32_t)hr__digest_add(hr__digest_add(HR__DIGEST_SEED, key->asks), key->of) & mask;
  while (keys->slots[at].group && (keys->slots[at].asks != key->asks || keys->slots[at].of != key->of))
    at = (at + 1) & mask;
  return &keys->slots[at];
}

/* At most half full. */
static bool make_slots(struct hr__wait_keys *keys) {
  if (2 * keys->count < keys->n_slots) return true;
  struct hr__wait_keys grown = {.n_slots = keys->n_slots ? 2 * keys->n_slots : 64, .count = keys->count};
  grown.slots = calloc(grown.n_slots, sizeof *grown.slots);
  if (!grown.slots) return false;
  for (uint32_t i = 0; i < keys->n_slots; i++)
    if (keys->slots[i].group) *slot_of(&grown, &keys->slots[i]) = keys->slots[i];
  free(keys->slots);
  *keys = grown;
  return true;
}

static uint32_t shared_group(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  struct hr__wait_key key = key_of(waits, view, job);
  if (!make_slots(&waits->keys)) return HR_NONE;
  struct hr__wait_key *slot = slot_of(&waits->keys, &key);
  if (slot->group) return slot->group - 1;
  uint32_t number = make_group(waits);
  if (number == HR_NONE) return HR_NONE;
  waits->groups[number].watched = HR_NONE;
  *slot = key;
  slot->group = number + 1;
  waits->keys.count++;
  return number;
}

uint32_t hr__waits_group_for(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  uint32_t watched = hr__waits_watched(waits, job);
  return waits->each || watched != HR_NONE ? lone_group(waits, watched) : shared_group(waits, view, job);
}

void hr__waits_group_empty(struct hr_waits *waits, uint32_t number) {
  struct hr__wait_group *group = &waits->groups[number];
  uint32_t last = waits->active[--waits->n_active];
  waits->active[group->active_at] = last;
  waits->groups[last].active_at = group->active_at;
  group->active_at = HR_NONE;
  if (!group->is_lone) return;
  group->next_free = waits->first_free;
  waits->first_free = number;
}
