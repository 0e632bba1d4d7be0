/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/perfetto_tracks.h"

#include "report/lanes.h"

#include <stdlib.h>

/* ---- Stays ------------------------------------------------------------------------------------------ */

static size_t most_stays(const struct hr_attempt *attempts, size_t n_attempts) {
  size_t count = 0;
  for (size_t i = 0; i < n_attempts; i++) count += attempts[i].n_slices ? attempts[i].n_slices : 1;
  return count;
}

static uint32_t add_stays(struct hr__tracks *tracks, uint32_t count, const struct hr_attempt *attempt,
                          const struct hr_slice *slices) {
  if (attempt->n_slices == 0)
    tracks->stays[count++] = (struct hr__stay){tracks->n_nodes + attempt->pool.id, attempt->gpu_milli, 0};
  for (uint32_t i = 0; i < attempt->n_slices; i++) {
    if (i == 0 || slices[i].node.id != slices[i - 1].node.id)
      tracks->stays[count++] = (struct hr__stay){slices[i].node.id, 0, 0};
    tracks->stays[count - 1].gpu_milli += slices[i].gpu_milli;
  }
  return count;
}

/* ---- Lanes ------------------------------------------------------------------------------------------ */

/* Also a track for each node that something happened to. */
static void number_tracks(struct hr__tracks *tracks, const struct hr__lanes *lanes, const struct hr_history *history) {
  const struct hr_node_change *changes;
  size_t n_changes = hr_history_changes(history, &changes);
  for (uint32_t i = 0; i < tracks->n_owners; i++) tracks->first_track[i + 1] = lanes[i].n;
  for (size_t i = 0; i < n_changes; i++)
    if (changes[i].node.id != HR_NONE && tracks->first_track[changes[i].node.id + 1] == 0)
      tracks->first_track[changes[i].node.id + 1] = 1;
  for (uint32_t i = 0; i < tracks->n_owners; i++) tracks->first_track[i + 1] += tracks->first_track[i];
}

static enum hr_status lay_out(struct hr__tracks *tracks, const struct hr_attempt *attempts, size_t n_attempts,
                              const struct hr_history *history) {
  struct hr__lanes *lanes = calloc((size_t)tracks->n_owners + 1, sizeof *lanes);
  enum hr_status status = lanes ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < n_attempts && status == HR_OK; i++)
    for (uint32_t k = tracks->first_stay[i]; k < tracks->first_stay[i + 1] && status == HR_OK; k++) {
      struct hr__stay *stay = &tracks->stays[k];
      stay->lane = hr__lanes_take(&lanes[stay->owner], attempts[i].begin_us, attempts[i].end_us);
      if (stay->lane == HR_NONE) status = HR_NO_MEMORY;
    }
  if (status == HR_OK) number_tracks(tracks, lanes, history);
  for (uint32_t i = 0; lanes && i < tracks->n_owners; i++) hr__lanes_finish(&lanes[i]);
  free(lanes);
  return status;
}

enum hr_status hr__tracks_init(struct hr__tracks *tracks, const struct hr_export *run) {
  const struct hr_cluster_spec *cluster = run->cluster;
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(run->history, &attempts);
  uint32_t n_nodes = 0, node = 0, count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) n_nodes += cluster->pools[i].nodes;
  *tracks = (struct hr__tracks){.n_nodes = n_nodes, .n_owners = n_nodes + cluster->n_pools};
  tracks->first_track = calloc((size_t)tracks->n_owners + 1, sizeof *tracks->first_track);
  tracks->pool_of = calloc((size_t)tracks->n_owners + 1, sizeof *tracks->pool_of);
  tracks->stays = calloc(most_stays(attempts, n_attempts) + 1, sizeof *tracks->stays);
  tracks->first_stay = calloc(n_attempts + 1, sizeof *tracks->first_stay);
  if (!tracks->first_track || !tracks->pool_of || !tracks->stays || !tracks->first_stay) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    for (uint32_t k = 0; k < cluster->pools[i].nodes; k++) tracks->pool_of[node++] = i;
    tracks->pool_of[n_nodes + i] = i;
  }
  for (size_t i = 0; i < n_attempts; i++) {
    count = add_stays(tracks, count, &attempts[i], hr_history_slices(run->history, &attempts[i]));
    tracks->first_stay[i + 1] = count;
  }
  return lay_out(tracks, attempts, n_attempts, run->history);
}

void hr__tracks_finish(struct hr__tracks *tracks) {
  free(tracks->first_track);
  free(tracks->pool_of);
  free(tracks->stays);
  free(tracks->first_stay);
  *tracks = (struct hr__tracks){0};
}
