/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advance reservations: nodes that only certain users and accounts may use during certain times. A job that must not
 * use a reservation gets none of its nodes if the two would overlap in time; the time limit counts. Jobs that run
 * already keep running. A trace does not say which reservation a job names, so the users and accounts of a reservation
 * may use its nodes, and others, as with the flags MAGNETIC and FLEX.
 *
 * Source: src/slurmctld/reservation.c, doc/html/reservations of SchedMD/slurm.
 */

#include "headroom/unstable/faults.h"
#include "policies/slurm/engine.h"

#include <string.h>

static uint64_t *nodes_of(const struct hr__slurm_run *run, uint32_t reservation) {
  return run->reserved_nodes + (size_t)reservation * run->nodes.n_words;
}

static void add_nodes(uint64_t *set, uint32_t first, uint32_t count) {
  for (uint32_t n = first; n < first + count; n++) set[n / 64] |= UINT64_C(1) << n % 64;
}

bool hr__slurm_create_reservations(struct hr__slurm_run *run) {
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++)
    run->has_maintenance = run->has_maintenance || hr_cluster_pool_spec(run->cluster, (hr_pool){i})->n_maintenance > 0;
  uint32_t n = run->config ? run->config->n_reservations : 0;
  if (n == 0) return true;
  run->reserved_nodes = hr_arena_alloc(run->arena, ((size_t)n * run->nodes.n_words + 1) * sizeof *run->reserved_nodes);
  if (!run->reserved_nodes) return false;
  for (uint32_t r = 0; r < n; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    if (reservation->n_nodes == 0) add_nodes(nodes_of(run, r), 0, run->nodes.n_nodes);
    for (uint32_t i = 0; i < reservation->n_nodes; i++) {
      const struct hr_slurm_node_range *range = &reservation->nodes[i];
      uint32_t first = hr_cluster_first_node(run->cluster, (hr_pool){range->pool}).id + range->first;
      add_nodes(nodes_of(run, r), first, range->count);
    }
  }
  return true;
}

static bool is_listed(const struct hr_slurm_name *names, uint32_t count, const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (text && strcmp(names[i].text, text) == 0) return true;
  return false;
}

uint64_t hr__slurm_denied(const struct hr__slurm_run *run, uint32_t job) {
  const struct hr_trace *trace = run->trace;
  uint32_t user = trace->user ? trace->user[job] : HR_NONE, tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  uint64_t denied = 0;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    bool may_use =
        is_listed(reservation->users, reservation->n_users, user == HR_NONE ? NULL : trace->users.text[user]) ||
        is_listed(reservation->accounts, reservation->n_accounts,
                  tenant == HR_NONE ? NULL : trace->tenants.text[tenant]);
    if (!may_use) denied |= UINT64_C(1) << r;
  }
  return denied;
}

/* Returns the begin of the first time of a reservation that ends after a time; HR_NEVER_US: not found. */
static int64_t next_begin(const struct hr_slurm_reservation *reservation, int64_t after_us) {
  int64_t begin_us = reservation->start_us;
  if (begin_us + reservation->duration_us > after_us) return begin_us;
  if (!reservation->repeat_us) return HR_NEVER_US;
  int64_t passed_us = after_us - (begin_us + reservation->duration_us);
  return begin_us + (passed_us / reservation->repeat_us + 1) * reservation->repeat_us;
}

/* Removes the nodes with planned maintenance, which is a reservation with the flag MAINT that no job may use. Returns
   when the first one ends. */
static int64_t remove_maintained(const struct hr__slurm_run *run, int64_t from_us, int64_t to_us, uint64_t *set) {
  int64_t end_us = HR_NEVER_US;
  if (!run->has_maintenance) return end_us;
  for (uint32_t i = 0; i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    uint32_t first = hr_cluster_first_node(run->cluster, (hr_pool){i}).id;
    for (uint32_t n = first; spec->n_maintenance && n < first + spec->nodes; n++) {
      if (!(set[n / 64] >> n % 64 & 1)) continue;
      struct hr_maintenance_time next = hr_maintenance_next(spec, n - first, from_us);
      if (next.begin_us >= to_us) continue;
      set[n / 64] &= ~(UINT64_C(1) << n % 64);
      if (next.end_us < end_us) end_us = next.end_us;
    }
  }
  return end_us;
}

int64_t hr__slurm_remove_reserved(const struct hr__slurm_run *run, uint64_t denied, int64_t from_us, int64_t to_us,
                                  uint64_t *set) {
  int64_t end_us = remove_maintained(run, from_us, to_us, set);
  for (; denied; denied &= denied - 1) {
    uint32_t r = (uint32_t)__builtin_ctzll(denied);
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, from_us);
    uint64_t lost = 0;
    for (uint32_t w = 0; begin_us < to_us && w < run->nodes.n_words; w++) {
      lost |= set[w] & nodes_of(run, r)[w];
      set[w] &= ~nodes_of(run, r)[w];
    }
    if (lost && begin_us + reservation->duration_us < end_us) end_us = begin_us + reservation->duration_us;
  }
  return end_us;
}

int64_t hr__slurm_next_change(const struct hr__slurm_run *run, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, now_us);
    if (begin_us == HR_NEVER_US) continue;
    int64_t change_us = begin_us > now_us ? begin_us : begin_us + reservation->duration_us;
    if (change_us < next_us) next_us = change_us;
  }
  for (uint32_t i = 0; run->has_maintenance && i < hr_cluster_pools(run->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(run->cluster, (hr_pool){i});
    for (uint32_t n = 0; spec->n_maintenance && n < spec->nodes; n++) {
      int64_t end_us = hr_maintenance_next(spec, n, now_us).end_us;
      if (end_us < next_us) next_us = end_us;
    }
  }
  return next_us;
}
