/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SLURM_RECORDED_H
#define HR_TESTS_SLURM_RECORDED_H

/*
 * A recorded run of a real Slurm on eight nodes of eight GPUs, as live.sh writes it, and the model of Slurm at the
 * recorded times. A run is a folder:
 *
 *   run.sacct.all  all attempts of all jobs (sacct -D)
 *   slurm.conf     weights of priorities and the billing
 *   qos.txt        priorities of QOS
 *   ticks, times   times at which Slurm computed priorities, and at which jobs started and ended, from its log
 *   samples        the output of sshare and sprio at several times; each begins with a line "@ TIME"
 */

#include "harness.h"
#include "policies/slurm/slurm.h"

enum {
  RECORDED_NODES = 8,
  RECORDED_GPUS = 8,
  MAX_ATTEMPTS = 2000,
  MAX_TICKS = 500,
  MAX_ASSOCS = 40,
  MAX_QOS = 10,
  MAX_WORD = 32
};

/* An attempt of a job. Times are seconds since 1970 in the time zone of the records. */
struct attempt {
  uint32_t job, assoc, qos; /* id; index of the user in the tree; index of the QOS */
  char user[MAX_WORD], account[MAX_WORD];
  int64_t submit_s, eligible_s, start_s, end_s, limit_s; /* submit_s: time of the submission or of the requeue */
  int start_ms, end_ms;                                  /* milliseconds after start_s and end_s */
  struct hr__slurm_shape shape;
  uint32_t gpus;
  uint64_t nodes;
  bool is_preempted;
};

/* A user or an account, in the order of sshare. */
struct share_row {
  char account[MAX_WORD], user[MAX_WORD];
};

struct recorded {
  char folder[500];
  struct attempt attempts[MAX_ATTEMPTS];
  uint32_t n_attempts;
  int64_t ticks[MAX_TICKS];
  int tick_ms[MAX_TICKS];
  uint32_t n_ticks;
  struct share_row rows[MAX_ASSOCS];
  struct hr__slurm_assoc assocs[MAX_ASSOCS];
  uint32_t n_assocs;
  char qos[MAX_QOS][MAX_WORD];
  double qos_priority[MAX_QOS];
  bool may_preempt[MAX_QOS][MAX_QOS]; /* [QOS of the preempting job][QOS of the preempted job] */
  uint32_t n_qos;
  double weight_age, weight_fair_share, weight_size, weight_qos, max_age_s, half_life_s;
  bool is_basic, bills_gpus;
};

/* Reads a run. If a file is missing, prints a message and returns false. */
bool recorded_read(struct recorded *run, const char *folder);

/* ---- Shares and priorities (shares.c) ---- */

/* The shares as of the last tick at or before a time. */
struct shares {
  double usage[MAX_ASSOCS]; /* of users, decayed */
  struct hr__slurm_assoc assocs[MAX_ASSOCS];
  struct hr__slurm_share shares[MAX_ASSOCS];
  double total;
};
void shares_at(const struct recorded *run, int64_t now_s, struct shares *shares);

/* The priority of a waiting attempt at a time, given the shares of that time, and its parts as sprio prints them. */
struct priority_parts {
  double age, fair_share, size, qos;
};
uint32_t priority_at(const struct recorded *run, const struct shares *shares, const struct attempt *attempt,
                     int64_t now_s, struct priority_parts *parts);

/* The number of values of sshare and sprio that were compared, and the number that are equal in all printed digits. */
struct agreement {
  uint32_t n_samples, n_shares, n_equal_shares, n_priorities, n_equal_priorities;
};
struct agreement compare_samples(const struct recorded *run);

/* ---- Decisions (decisions.c) ---- */

/* The number of recorded starts, of those that the model reproduces from the recorded state, and of those on the same
   nodes. */
struct decisions {
  uint32_t n_starts, n_started, n_same_nodes; /* n_started: within 2 seconds */
  uint32_t n_preempting;                      /* starts that needed preemption; they are not counted in n_starts */
};
struct decisions compare_decisions(const struct recorded *run);

#endif
