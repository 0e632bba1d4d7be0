/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PERFETTO_TRACKS_H
#define HR_REPORT_PERFETTO_TRACKS_H

/*
 * Where stays are drawn. A job's slices on one node are one stay there; what sits on no node is on a track of its
 * pool. Tracks are numbered through all of the run, as viewers want threads to be: those of a node one after the
 * other.
 */

#include "headroom/exports.h"

struct hr__stay {
  uint32_t owner; /* a node, or, behind the last one, a pool */
  uint32_t gpu_milli;
  uint32_t lane; /* of the owner, from 0 */
};

struct hr__tracks {
  uint32_t n_nodes, n_owners;
  uint32_t *first_track; /* [n_owners + 1]; those of an owner without any are none */
  uint32_t *pool_of;     /* [n_owners] */
  struct hr__stay *stays;
  uint32_t *first_stay; /* [attempts + 1] */
};

/* HR_NO_MEMORY on failure; to be finished whatever is returned. */
enum hr_status hr__tracks_init(struct hr__tracks *tracks, const struct hr_export *run);
void hr__tracks_finish(struct hr__tracks *tracks);

#endif
