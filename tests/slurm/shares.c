/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes usage, fair shares and priorities at recorded times with the functions of the model, from the recorded
 * attempts and ticks. Compares them as text with the output of sshare and sprio at these times.
 */

#include "recorded.h"

#include <string.h>

static double most(double a, double b) {
  return a > b ? a : b;
}

/* Usage changes only at ticks: it decays, then the use of running attempts since the last tick is added. The use of an
   attempt after its last tick is not counted. */
static void add_tick(const struct recorded *run, uint32_t number, double usage[MAX_ASSOCS]) {
  double last_s = (double)run->ticks[number - 1], now_s = (double)run->ticks[number];
  double decay = hr__slurm_decay(run->half_life_s, now_s - last_s);
  for (uint32_t a = 0; a < run->n_assocs; a++) usage[a] *= decay;
  for (uint32_t i = 0; i < run->n_attempts; i++) {
    const struct attempt *attempt = &run->attempts[i];
    double delta_s = now_s - most((double)attempt->start_s, last_s);
    bool has_ended = attempt->end_s < run->ticks[number] ||
                     (attempt->end_s == run->ticks[number] && attempt->end_ms < run->tick_ms[number]);
    if (delta_s <= 0 || attempt->assoc == HR_NONE || has_ended) continue;
    double billing = run->bills_gpus ? attempt->gpus : attempt->shape.nodes; // one CPU per node
    usage[attempt->assoc] += delta_s * hr__slurm_decay(run->half_life_s, delta_s) * billing;
  }
}

void shares_at(const struct recorded *run, int64_t now_s, struct shares *shares) {
  *shares = (struct shares){0};
  for (uint32_t t = 1; t < run->n_ticks && run->ticks[t] <= now_s; t++) add_tick(run, t, shares->usage);
  for (uint32_t a = 0; a < run->n_assocs; a++) {
    shares->assocs[a] = run->assocs[a];
    shares->assocs[a].usage = shares->usage[a];
  }
  double sums[MAX_ASSOCS + 1];
  uint32_t numbers[5][MAX_ASSOCS + 2];
  struct hr__slurm_tree_scratch scratch = {sums, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
  shares->total = hr__slurm_usage_sum(shares->assocs, run->n_assocs);
  hr__slurm_fair_tree(shares->assocs, run->n_assocs, shares->total, shares->shares, &scratch);
}

/* The priority of a waiting job is computed when it becomes eligible, and again at each tick. */
uint32_t priority_at(const struct recorded *run, const struct shares *shares, const struct attempt *attempt,
                     int64_t now_s, struct priority_parts *parts) {
  int64_t computed_s = attempt->eligible_s;
  double highest = 0;
  for (uint32_t t = 0; t < run->n_ticks; t++)
    if (run->ticks[t] <= now_s && run->ticks[t] > computed_s) computed_s = run->ticks[t];
  for (uint32_t q = 0; q < run->n_qos; q++) highest = most(highest, run->qos_priority[q]);
  const struct hr__slurm_size size = {.nodes = attempt->shape.nodes,
                                      .cpus = attempt->shape.nodes,
                                      .limit_min = (double)attempt->limit_s / 60,
                                      .all_nodes = RECORDED_NODES,
                                      .all_cpus = 64 * RECORDED_NODES};
  const struct hr__slurm_priority priority = {
      .weights = {run->weight_age, 0, run->weight_fair_share, run->weight_size, 0, run->weight_qos},
      .factors = {hr__slurm_age_factor((double)(computed_s - attempt->eligible_s), run->max_age_s), 0,
                  attempt->assoc == HR_NONE ? 0 : shares->shares[attempt->assoc].factor, hr__slurm_size_factor(&size),
                  0, hr__slurm_relative_factor(run->qos_priority[attempt->qos], highest, false)}};
  *parts = (struct priority_parts){priority.weights[HR__SLURM_AGE] * priority.factors[HR__SLURM_AGE],
                                   priority.weights[HR__SLURM_FAIR_SHARE] * priority.factors[HR__SLURM_FAIR_SHARE],
                                   priority.weights[HR__SLURM_JOB_SIZE] * priority.factors[HR__SLURM_JOB_SIZE],
                                   priority.weights[HR__SLURM_QOS] * priority.factors[HR__SLURM_QOS]};
  return hr__slurm_priority(&priority);
}

/* ---- Samples ---------------------------------------------------------------------------------------- */

/* Compares a row of sshare: NormShares, RawUsage, NormUsage, EffectvUsage, FairShare (of users) and LevelFS. */
static void compare_row(const struct recorded *run, const struct shares *shares, const char *line,
                        struct agreement *agreement) {
  uint32_t number = 0;
  char row[400], own[200];
  snprintf(row, sizeof row, "%s", line + strspn(line, " "));
  for (; number < run->n_assocs; number++) {
    snprintf(own, sizeof own, "%s|%s|", run->rows[number].account, run->rows[number].user);
    if (strncmp(row, own, strlen(own)) == 0) break;
  }
  if (number == run->n_assocs) return; // the root
  const struct hr__slurm_assoc *assoc = &shares->assocs[number];
  const struct hr__slurm_share *share = &shares->shares[number];
  char factor[30] = "";
  if (assoc->is_user) snprintf(factor, sizeof factor, "%.6f", share->factor);
  int length =
      snprintf(own, sizeof own, "%s|%s|%lld|%.6f|%llu|%.6f|%.6f|%s|%.6f", run->rows[number].account,
               run->rows[number].user, (long long)assoc->shares, share->norm_shares, (unsigned long long)assoc->usage,
               share->norm_usage, share->effective_usage, factor, share->level_fs);
  bool equal = strncmp(row, own, (size_t)length) == 0;
  agreement->n_shares++;
  agreement->n_equal_shares += equal;
  if (!equal) printf("  sshare %s", row);
  if (!equal) printf("  model  %s\n", own);
}

static const struct attempt *find_waiting(const struct recorded *run, uint32_t job, int64_t now_s) {
  for (uint32_t i = 0; i < run->n_attempts; i++)
    if (run->attempts[i].job == job && run->attempts[i].start_s >= now_s && run->attempts[i].eligible_s <= now_s)
      return &run->attempts[i];
  return NULL;
}

/* Compares a row of sprio -l: job, partition, user, priority, site, age, association, fair share, size, partition, QOS.
 */
static void compare_job(const struct recorded *run, const struct shares *shares, const char *line, int64_t now_s,
                        struct agreement *agreement) {
  char row[400], own[200], *cells[16], *rest = row;
  unsigned count = 0;
  snprintf(row, sizeof row, "%.390s", line);
  for (char *cell; count < 16 && (cell = strtok_r(rest, " \n", &rest));) cells[count++] = cell;
  const struct attempt *attempt = count < 11 ? NULL : find_waiting(run, (uint32_t)strtoul(cells[0], NULL, 10), now_s);
  if (!attempt) return; // it starts, or Slurm holds it, at this moment
  struct priority_parts parts;
  uint32_t priority = priority_at(run, shares, attempt, now_s, &parts);
  char real[200];
  snprintf(own, sizeof own, "%u = %.0f + %.0f + %.0f + %.0f", (unsigned)priority, parts.age, parts.fair_share,
           parts.size, parts.qos);
  snprintf(real, sizeof real, "%s = %s + %s + %s + %s", cells[3], cells[5], cells[7], cells[8], cells[10]);
  bool equal = strcmp(own, real) == 0;
  agreement->n_priorities++;
  agreement->n_equal_priorities += equal;
  if (!equal) printf("  job %s: sprio %s, model %s\n", cells[0], real, own);
}

/* Returns whether a sample is used. It is skipped if a tick may have occurred between its commands. */
static bool is_clear(const struct recorded *run, int64_t now_s) {
  for (uint32_t t = 0; t < run->n_ticks; t++)
    if (run->ticks[t] >= now_s - 1 && run->ticks[t] <= now_s + 3) return false;
  return now_s >= run->ticks[0];
}

struct agreement compare_samples(const struct recorded *run) {
  struct agreement agreement = {0};
  static struct shares shares;
  char line[4000], path[600];
  snprintf(path, sizeof path, "%s/samples", run->folder);
  if (run->is_basic || run->n_ticks == 0) return agreement; // Slurm computes no shares
  FILE *file = fopen(path, "r");
  if (!file) return agreement;
  int64_t now_s = 0;
  for (bool clear = false; fgets(line, sizeof line, file);) {
    if (line[0] == '@') {
      now_s = strtoll(line + 1, NULL, 10);
      clear = is_clear(run, now_s);
      agreement.n_samples += clear;
      if (clear) shares_at(run, now_s, &shares);
    } else if (clear && strchr(line, '|')) {
      compare_row(run, &shares, line, &agreement);
    } else if (clear) {
      compare_job(run, &shares, line, now_s, &agreement);
    }
  }
  fclose(file);
  return agreement;
}
