/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advance reservations: nodes that only certain users and accounts may use during certain times. A job that must not
 * use a reservation gets none of its nodes if it could run, until its time limit, while the reservation lasts. Jobs
 * that already run continue. A trace does not say which reservation a job names, so the users and accounts of a
 * reservation may use its nodes, and others, as with the flags MAGNETIC and FLEX.
 *
 * Reservations may overlap. The users of a reservation with the flag MAINT may use its nodes whatever others say;
 * those of one with OVERLAP, unless one with MAINT excludes them. With users and accounts, a job must satisfy both
 * lists. A list of names that begin with '-' excludes these names. An account includes the accounts below it.
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

static bool has_flag(const struct hr_slurm_reservation *reservation, enum hr_slurm_reservation_flag flag) {
  return reservation->flags >> flag & 1;
}

/* ---- Access ----------------------------------------------------------------------------------------- */

static bool is_listed(const struct hr_slurm_name *names, uint32_t count, const char *text) {
  for (uint32_t i = 0; text && i < count; i++)
    if (strcmp(names[i].text + (names[i].text[0] == '-'), text) == 0) return true;
  return false;
}

/* The account above an account; NULL: the root. */
static const char *account_above(const struct hr_slurm_config *config, const char *account) {
  for (uint32_t i = 0; i < config->n_associations; i++) {
    const struct hr_slurm_assoc *assoc = &config->associations[i];
    if (!assoc->user && strcmp(assoc->account, account) == 0) return assoc->parent;
  }
  return NULL;
}

/* Whether a list permits a name. `is_in`: the name is in the list. An empty list permits all names. */
static bool permits(const struct hr_slurm_name *names, uint32_t count, bool is_in) {
  return count == 0 || is_in != (names[0].text[0] == '-');
}

static bool may_use(const struct hr_slurm_config *config, const struct hr_slurm_reservation *reservation,
                    const char *user, const char *account) {
  if (reservation->n_users + reservation->n_accounts == 0 || has_flag(reservation, HR_SLURM_TIME_FLOAT)) return false;
  bool is_in = false;
  for (; account && reservation->n_accounts && !is_in; account = account_above(config, account))
    is_in = is_listed(reservation->accounts, reservation->n_accounts, account);
  return permits(reservation->accounts, reservation->n_accounts, is_in) &&
         permits(reservation->users, reservation->n_users, is_listed(reservation->users, reservation->n_users, user));
}

uint64_t hr__slurm_denied(const struct hr__slurm_run *run, uint32_t job) {
  const struct hr_trace *trace = run->trace;
  uint32_t user = trace->user ? trace->user[job] : HR_NONE, tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  const char *user_name = user == HR_NONE ? NULL : trace->users.text[user];
  const char *account = tenant == HR_NONE ? NULL : trace->tenants.text[tenant];
  uint64_t denied = 0;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++)
    if (!may_use(run->config, &run->config->reservations[r], user_name, account)) denied |= UINT64_C(1) << r;
  return denied;
}

uint64_t hr__slurm_allowed(const struct hr__slurm_run *run, uint64_t denied) {
  uint32_t n = run->config ? run->config->n_reservations : 0;
  return ~denied & (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX);
}

/* ---- Times ------------------------------------------------------------------------------------------ */

/* Returns the begin of the first time of a reservation that ends after a time; HR_NEVER_US: not found. With TIME_FLOAT
   it begins at a fixed time after now, whenever that is. */
static int64_t next_begin(const struct hr_slurm_reservation *reservation, int64_t now_us, int64_t after_us) {
  int64_t begin_us = reservation->start_us;
  if (has_flag(reservation, HR_SLURM_TIME_FLOAT)) begin_us += now_us;
  if (begin_us + reservation->duration_us > after_us) return begin_us;
  if (!reservation->repeat_us) return HR_NEVER_US;
  int64_t passed_us = after_us - (begin_us + reservation->duration_us);
  return begin_us + (passed_us / reservation->repeat_us + 1) * reservation->repeat_us;
}

/* Removes the nodes with planned maintenance, which is a reservation with the flag MAINT that no job may use, except
   replicas of services: they have no end, so they could never start. Returns when the first one ends. */
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

/* Returns the nodes of word `w` that a job may use in spite of a reservation, because it may use another reservation of
   them during its whole time. If such a reservation begins later, but before `*gain_us`, this becomes its begin. */
static uint64_t kept_nodes(const struct hr__slurm_run *run, const struct hr_slurm_reservation *other, uint64_t allowed,
                           const int64_t times_us[2], uint32_t w, int64_t *gain_us) {
  uint64_t kept = 0;
  for (; allowed; allowed &= allowed - 1) {
    uint32_t r = (uint32_t)__builtin_ctzll(allowed);
    const struct hr_slurm_reservation *own = &run->config->reservations[r];
    bool goes_first =
        has_flag(own, HR_SLURM_MAINT) || (has_flag(own, HR_SLURM_OVERLAP) && !has_flag(other, HR_SLURM_MAINT));
    if (!goes_first) continue;
    int64_t begin_us = next_begin(own, run->view ? run->view->now_us : 0, times_us[0]);
    if (begin_us > times_us[0] && begin_us < *gain_us) *gain_us = begin_us;
    if (begin_us <= times_us[0] && begin_us + own->duration_us >= times_us[1]) kept |= nodes_of(run, r)[w];
  }
  return kept;
}

int64_t hr__slurm_remove_reserved(const struct hr__slurm_run *run, hr_job job, uint64_t denied, uint64_t allowed,
                                  int64_t from_us, int64_t to_us, uint64_t *set) {
  const bool is_replica = hr__is_replica(run->trace, job);
  int64_t end_us = is_replica ? HR_NEVER_US : remove_maintained(run, from_us, to_us, set),
          now_us = run->view ? run->view->now_us : 0;
  const int64_t times_us[2] = {from_us, to_us};
  for (; denied; denied &= denied - 1) {
    uint32_t r = (uint32_t)__builtin_ctzll(denied);
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, now_us, from_us), gain_us = HR_NEVER_US;
    uint64_t lost = 0;
    for (uint32_t w = 0; begin_us < to_us && w < run->nodes.n_words; w++) {
      uint64_t taken = set[w] & nodes_of(run, r)[w];
      if (taken && allowed) taken &= ~kept_nodes(run, reservation, allowed, times_us, w, &gain_us);
      lost |= taken;
      set[w] &= ~taken;
    }
    if (lost && begin_us + reservation->duration_us < end_us) end_us = begin_us + reservation->duration_us;
    if (lost && gain_us < end_us) end_us = gain_us;
  }
  return end_us;
}

int64_t hr__slurm_next_change(const struct hr__slurm_run *run, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t r = 0; run->config && r < run->config->n_reservations; r++) {
    const struct hr_slurm_reservation *reservation = &run->config->reservations[r];
    int64_t begin_us = next_begin(reservation, now_us, now_us);
    if (begin_us == HR_NEVER_US || has_flag(reservation, HR_SLURM_TIME_FLOAT)) continue;
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
