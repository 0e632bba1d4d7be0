/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "naive_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 32, NAME_LENGTH = 64 };

/* ---- Prediction ----------------------------------------------------------------------------------------- */

/* The edit distance of what is left of both, by the plain recursion with what is known kept. */
struct distances {
  const char *a, *b;
  size_t length_a, length_b;
  uint32_t known[NAME_LENGTH + 1][NAME_LENGTH + 1]; /* 1 more than the distance */
};

static uint32_t distance_from(struct distances *d, size_t i, size_t k) {
  if (i == d->length_a) return (uint32_t)(d->length_b - k);
  if (k == d->length_b) return (uint32_t)(d->length_a - i);
  if (d->known[i][k]) return d->known[i][k] - 1;
  uint32_t change = distance_from(d, i + 1, k + 1) + (d->a[i] != d->b[k]);
  uint32_t drop = distance_from(d, i + 1, k) + 1, insert = distance_from(d, i, k + 1) + 1;
  uint32_t least = change < drop ? change : drop;
  if (insert < least) least = insert;
  d->known[i][k] = least + 1;
  return least;
}

/* What two names have in common, as a part of the longer one's length. */
struct likeness {
  uint32_t common, length;
};

static struct likeness likeness(const char *a, const char *b) {
  struct distances d = {.a = a, .b = b, .length_a = strnlen(a, NAME_LENGTH), .length_b = strnlen(b, NAME_LENGTH)};
  uint32_t longer = (uint32_t)(d.length_a > d.length_b ? d.length_a : d.length_b);
  return (struct likeness){longer - distance_from(&d, 0, 0), longer};
}

static bool same_name(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether finished job i is the first of its user and name. */
static bool is_new(const struct naive_input *in, const uint32_t *finished, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (in->user[finished[k]] == in->user[finished[i]] && same_name(in->name[finished[k]], in->name[finished[i]]))
      return false;
  return true;
}

/* The user's name most like the job's, of those that were the last to be new; NULL when none is like enough. */
static const char *most_alike(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished,
                              uint32_t job) {
  const char *best = NULL;
  struct likeness most = {0, 1};
  uint32_t names = 0;
  for (uint32_t i = n_finished; i-- > 0 && names < MOST_NAMES;) {
    if (in->user[finished[i]] != in->user[job] || !is_new(in, finished, i)) continue;
    names++;
    if (!in->name[finished[i]]) continue;
    struct likeness alike = likeness(in->name[finished[i]], in->name[job]);
    if (alike.common < in->terms.similarity * alike.length - 1e-9) continue;
    if (alike.common * most.length <= most.common * alike.length) continue;
    most = alike;
    best = in->name[finished[i]];
  }
  return best;
}

enum whose { OF_NAME, OF_USER, OF_ALL };

/* The mean run time of finished jobs, -1 when there is none. */
static double mean_of(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished, uint32_t job,
                      enum whose whose, const char *name) {
  double sum = 0, weights = 0, weight = 1;
  for (uint32_t i = n_finished; i-- > 0;) {
    if (whose != OF_ALL && in->user[finished[i]] != in->user[job]) continue;
    if (whose == OF_NAME && !same_name(in->name[finished[i]], name)) continue;
    sum += weight * (double)in->work[finished[i]];
    weights += weight;
    weight *= in->terms.decay;
  }
  return weights > 0 ? sum / weights : -1;
}

static double run_time(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished, uint32_t job) {
  if (in->estimate[job] >= 0) return (double)in->estimate[job];
  const char *name = in->name[job];
  double mean = mean_of(in, finished, n_finished, job, OF_NAME, name);
  const char *alike = mean < 0 && name ? most_alike(in, finished, n_finished, job) : NULL;
  if (alike) mean = mean_of(in, finished, n_finished, job, OF_NAME, alike);
  if (mean < 0) mean = mean_of(in, finished, n_finished, job, OF_USER, NULL);
  if (mean < 0) mean = mean_of(in, finished, n_finished, job, OF_ALL, NULL);
  if (mean >= 0) return mean;
  return in->limit[job] >= 0 ? (double)in->limit[job] : 0;
}

int64_t naive_prediction(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished, uint32_t job) {
  double gpus = (double)in->gpus[job] / in->units_per_gpu;
  return llround(run_time(in, finished, n_finished, job) * gpus);
}

/* ---- Gittins -------------------------------------------------------------------------------------------- */

/* In GPUs x microseconds; the last level has no end. */
int64_t naive_begin_of_level(uint32_t level) {
  int64_t begin_s = level > 0 ? 64 : 0;
  for (uint32_t i = 1; i < level; i++) begin_s *= 4;
  return level < NAIVE_LEVELS ? begin_s * 1000000 : INT64_MAX;
}

/* P(S < end | S >= begin) / E[min(S, end) - begin | S >= begin]; the number of jobs with S >= begin cancels out. */
static double worth(int64_t begin, int64_t end, const int64_t *service_us, uint32_t n_finished) {
  double done = 0, spent_s = 0;
  for (uint32_t i = 0; i < n_finished; i++) {
    if (service_us[i] < begin) continue;
    done += service_us[i] < end;
    spent_s += (double)((service_us[i] < end ? service_us[i] : end) - begin) / 1e6;
  }
  if (done == 0) return 0;
  return done / spent_s;
}

double naive_index(uint32_t level, const int64_t *service_us, uint32_t n_finished) {
  double best = -1;
  bool any = false;
  for (uint32_t i = 0; i < n_finished; i++) any = any || service_us[i] >= naive_begin_of_level(level);
  for (uint32_t end = level + 1; end <= NAIVE_LEVELS && any; end++)
    best = fmax(best, worth(naive_begin_of_level(level), naive_begin_of_level(end), service_us, n_finished));
  return best;
}

uint32_t naive_next_indices(uint32_t n_finished) {
  return n_finished == 0 ? 8 : n_finished + n_finished / 8 + 1;
}
