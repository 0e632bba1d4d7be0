/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Predictions from finished jobs. Nothing is stored from one prediction to the next. Sources: QSSF of Hu et al.,
 * "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC'21; the Gittins index
 * of Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI'19.
 */

#include "naive_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_NAMES: number of a user's latest names that are compared with a new name. NAME_LENGTH: number of characters that
   are compared. */
enum { MAX_NAMES = 32, NAME_LENGTH = 64 };

/* ---- Prediction ----------------------------------------------------------------------------------------- */

/* The edit distance of two names, computed by its recursive definition. Results are stored so that none is computed
   twice. */
struct distances {
  const char *a, *b;
  size_t length_a, length_b;
  uint32_t memo[NAME_LENGTH + 1]
               /* [i][k]: edit distance of the rest of a from index i and the rest of b from index k, plus 1; 0: not
                  computed yet */
               [NAME_LENGTH + 1];
};

/* Returns the edit distance of the rest of a from index i and the rest of b from index k. */
static uint32_t distance_from(struct distances *d, size_t i, size_t k) {
  if (i == d->length_a) return (uint32_t)(d->length_b - k);
  if (k == d->length_b) return (uint32_t)(d->length_a - i);
  if (d->memo[i][k]) return d->memo[i][k] - 1;
  uint32_t replace = distance_from(d, i + 1, k + 1) + (d->a[i] != d->b[k]);
  uint32_t remove = distance_from(d, i + 1, k) + 1, insert = distance_from(d, i, k + 1) + 1;
  uint32_t min = replace < remove ? replace : remove;
  if (insert < min) min = insert;
  d->memo[i][k] = min + 1;
  return min;
}

/* The similarity of two names, as the fraction common / length. `length` is the length of the longer name; `common` is
   length - edit distance. */
struct similarity {
  uint32_t common, length;
};

static struct similarity similarity_of(const char *a, const char *b) {
  struct distances d = {.a = a, .b = b, .length_a = strnlen(a, NAME_LENGTH), .length_b = strnlen(b, NAME_LENGTH)};
  uint32_t longer = (uint32_t)(d.length_a > d.length_b ? d.length_a : d.length_b);
  return (struct similarity){longer - distance_from(&d, 0, 0), longer};
}

static bool same_name(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns whether finished job i is the first finished job with its user and its name. */
static bool is_first_of_name(const struct naive_input *in, const uint32_t *finished, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (in->user[finished[k]] == in->user[finished[i]] && same_name(in->name[finished[k]], in->name[finished[i]]))
      return false;
  return true;
}

/* Returns the user's name that is most similar to the job's name. Only the latest MAX_NAMES names of the user are
   compared; a name is as old as the end of the first job with that name. NULL: no name is similar enough. */
static const char *most_similar_name(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished,
                                     uint32_t job) {
  const char *best = NULL;
  struct similarity highest = {0, 1};
  uint32_t names = 0;
  for (uint32_t i = n_finished; i-- > 0 && names < MAX_NAMES;) {
    if (in->user[finished[i]] != in->user[job] || !is_first_of_name(in, finished, i)) continue;
    names++;
    if (!in->name[finished[i]]) continue;
    struct similarity similarity = similarity_of(in->name[finished[i]], in->name[job]);
    if (similarity.common < in->params.similarity * similarity.length - 1e-9) continue;
    if (similarity.common * highest.length <= highest.common * similarity.length) continue;
    highest = similarity;
    best = in->name[finished[i]];
  }
  return best;
}

/* Which finished jobs are considered: jobs of the user with a certain name, jobs of the user, or all jobs. */
enum scope { SAME_NAME, SAME_USER, ANY_JOB };

/* Returns the weighted mean run time of finished jobs; -1: there are none in the scope. Each job has `decay` times the
   weight of the job that finished after it. The user is that of `job`. `name` is used for SAME_NAME only. */
static double mean_run_time(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished, uint32_t job,
                            enum scope scope, const char *name) {
  double sum = 0, weights = 0, weight = 1;
  for (uint32_t i = n_finished; i-- > 0;) {
    if (scope != ANY_JOB && in->user[finished[i]] != in->user[job]) continue;
    if (scope == SAME_NAME && !same_name(in->name[finished[i]], name)) continue;
    sum += weight * (double)in->work[finished[i]];
    weights += weight;
    weight *= in->params.decay;
  }
  return weights > 0 ? sum / weights : -1;
}

/* Returns the predicted run time. It is the first of these values that exists:
   1. the estimate
   2. the mean over jobs of the same user and name
   3. the mean over the user's jobs with the most similar name
   4. the mean over the user's jobs
   5. the mean over all jobs
   6. the limit
   7. 0 */
static double predicted_run_time(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished,
                                 uint32_t job) {
  if (in->estimate[job] >= 0) return (double)in->estimate[job];
  const char *name = in->name[job];
  double mean = mean_run_time(in, finished, n_finished, job, SAME_NAME, name);
  const char *similar_name = mean < 0 && name ? most_similar_name(in, finished, n_finished, job) : NULL;
  if (similar_name) mean = mean_run_time(in, finished, n_finished, job, SAME_NAME, similar_name);
  if (mean < 0) mean = mean_run_time(in, finished, n_finished, job, SAME_USER, NULL);
  if (mean < 0) mean = mean_run_time(in, finished, n_finished, job, ANY_JOB, NULL);
  if (mean >= 0) return mean;
  return in->limit[job] >= 0 ? (double)in->limit[job] : 0;
}

int64_t naive_predicted_gpu_time(const struct naive_input *in, const uint32_t *finished, uint32_t n_finished,
                                 uint32_t job) {
  double gpus = (double)in->gpus[job] / in->units_per_gpu;
  return llround(predicted_run_time(in, finished, n_finished, job) * gpus);
}

/* ---- Gittins -------------------------------------------------------------------------------------------- */

/* Levels begin at 0, 64, 256, 1024, ... GPU-seconds. The last level has no end. */
int64_t naive_level_begin(uint32_t level) {
  int64_t begin_s = level > 0 ? 64 : 0;
  for (uint32_t i = 1; i < level; i++) begin_s *= 4;
  return level < NAIVE_LEVELS ? begin_s * 1000000 : INT64_MAX;
}

/* Returns P(S < end | S >= begin) / E[min(S, end) - begin | S >= begin] per GPU-second; S: service of a finished job,
   in GPU-microseconds. P and E are sums over the jobs with S >= begin, divided by the number of these jobs, so this
   number cancels out. */
static double index_until(int64_t begin, int64_t end, const int64_t *service_us, uint32_t n_finished) {
  double n_done = 0, service_s = 0;
  for (uint32_t i = 0; i < n_finished; i++) {
    if (service_us[i] < begin) continue;
    n_done += service_us[i] < end;
    service_s += (double)((service_us[i] < end ? service_us[i] : end) - begin) / 1e6;
  }
  if (n_done == 0) return 0;
  return n_done / service_s;
}

double naive_gittins_index(uint32_t level, const int64_t *service_us, uint32_t n_finished) {
  double best = -1;
  bool any = false;
  for (uint32_t i = 0; i < n_finished; i++) any = any || service_us[i] >= naive_level_begin(level);
  for (uint32_t end = level + 1; end <= NAIVE_LEVELS && any; end++)
    best = fmax(best, index_until(naive_level_begin(level), naive_level_begin(end), service_us, n_finished));
  return best;
}

uint32_t naive_next_update(uint32_t n_finished) {
  return n_finished == 0 ? 8 : n_finished + n_finished / 8 + 1;
}
