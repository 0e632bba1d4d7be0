/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What jobs of each size ask for besides GPUs, all together, as what goes with what matters; and how they end, by how
   long they run. What fewer than three jobs ask for is left out, where there is anything else. */

#include "workload/like_fit.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_JOBS_OF_ASK = 3 };

/* ---- What is asked for ------------------------------------------------------------------------------ */

/* Compared byte by byte: it has no padding. */
struct wish {
  uint64_t mem_mib;
  uint32_t band, size, gpus, tasks, gpu_milli, cpu_milli, gpu_type, class_;
};

struct tally {
  struct wish wish;
  uint64_t jobs;
};

static int by_wish(const void *a, const void *b) {
  const struct wish *first = a, *second = b;
  if (first->band != second->band) return first->band < second->band ? -1 : 1;
  if (first->size != second->size) return first->size < second->size ? -1 : 1;
  return memcmp(first, second, sizeof *first);
}

/* The most frequent first, those of a size together. */
static int by_frequency(const void *a, const void *b) {
  const struct tally *first = a, *second = b;
  if (first->wish.band != second->wish.band) return first->wish.band < second->wish.band ? -1 : 1;
  if (first->wish.size != second->wish.size) return first->wish.size < second->wish.size ? -1 : 1;
  if (first->jobs != second->jobs) return first->jobs > second->jobs ? -1 : 1;
  return first->wish.gpus != second->wish.gpus ? (first->wish.gpus < second->wish.gpus ? -1 : 1)
                                               : by_wish(&first->wish, &second->wish);
}

static struct wish wish_of(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign, uint32_t job) {
  const struct hr_trace *trace = fit->trace;
  return (struct wish){.mem_mib = trace->mem_mib ? trace->mem_mib[job] : 0,
                       .band = hr__like_fit_band(fit, campaign),
                       .size = fit->index_of_size[campaign->size],
                       .gpus = trace->gpus[job],
                       .tasks = trace->tasks ? trace->tasks[job] : 1,
                       .gpu_milli = trace->gpu_milli ? trace->gpu_milli[job] : 1000,
                       .cpu_milli = trace->cpu_milli ? trace->cpu_milli[job] : 0,
                       .gpu_type = trace->gpu_types ? trace->gpu_types[job] : HR_NONE,
                       .class_ = trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN};
}

static enum hr_status add_ask(const struct hr__like_fit *fit, const struct tally *tally) {
  struct hr_like_size *size = &fit->model->bands[tally->wish.band].sizes[tally->wish.size];
  if (!size->asks) size->asks = calloc(HR_LIKE_MOST_ASKS, sizeof *size->asks);
  if (!size->asks) return HR_NO_MEMORY;
  if (size->n_asks == HR_LIKE_MOST_ASKS || (size->n_asks && tally->jobs < LEAST_JOBS_OF_ASK)) return HR_OK;
  const struct wish *wish = &tally->wish;
  const char *type = wish->gpu_type == HR_NONE ? NULL : fit->trace->gpu_type_lists.text[wish->gpu_type];
  struct hr_like_ask *ask = &size->asks[size->n_asks++];
  *ask = (struct hr_like_ask){.share = (double)tally->jobs,
                              .gpus = wish->gpus,
                              .tasks = wish->tasks,
                              .gpu_milli = wish->gpu_milli,
                              .cpu_milli = wish->cpu_milli,
                              .mem_mib = wish->mem_mib,
                              .gpu_type = type ? strdup(type) : NULL,
                              .class_ = (uint8_t)wish->class_};
  return type && !ask->gpu_type ? HR_NO_MEMORY : HR_OK;
}

static void shares_of_one(struct hr_like_size *size) {
  double sum = 0;
  for (uint32_t i = 0; i < size->n_asks; i++) sum += size->asks[i].share;
  for (uint32_t i = 0; i < size->n_asks; i++) size->asks[i].share /= sum;
}

/* Equal wishes, which lie together, become one tally each. */
static enum hr_status tally_wishes(const struct hr__like_fit *fit, const struct wish *wishes, struct tally *tallies) {
  uint32_t n = fit->trace->n_jobs, n_tallies = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (i == 0 || memcmp(&wishes[i], &wishes[i - 1], sizeof *wishes) != 0)
      tallies[n_tallies++] = (struct tally){.wish = wishes[i]};
    tallies[n_tallies - 1].jobs++;
  }
  qsort(tallies, n_tallies, sizeof *tallies, by_frequency);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_tallies && status == HR_OK; i++) status = add_ask(fit, &tallies[i]);
  return status;
}

/* ---- What is asked for again ------------------------------------------------------------------------ */

struct repeats {
  uint32_t last, n, n_same;
};

static int by_start(const void *a, const void *b) {
  const struct hr__like_fit_campaign *first = *(const struct hr__like_fit_campaign *const *)a,
                                     *second = *(const struct hr__like_fit_campaign *const *)b;
  if (first->start_us != second->start_us) return first->start_us < second->start_us ? -1 : 1;
  return first->first < second->first ? -1 : first->first > second->first;
}

static void count_repeats(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *const *by_time,
                          struct repeats repeats[HR_LIKE_MOST_SIZES]) {
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    struct repeats *to = &repeats[by_time[i]->size];
    uint32_t gpus = fit->trace->gpus[fit->order[by_time[i]->first]];
    if (to->n++ > 0) to->n_same += gpus == to->last;
    to->last = gpus;
  }
}

/* That two campaigns have the same number of GPUs. */
static double chance_of_repeat(const struct hr_like_size *size) {
  double chance = 0;
  for (uint32_t i = 0; i < size->n_asks; i++)
    for (uint32_t k = 0; k < size->n_asks; k++)
      chance += size->asks[i].gpus == size->asks[k].gpus ? size->asks[i].share * size->asks[k].share : 0;
  return chance;
}

/* The probability that, with what comes by chance, gives as many repetitions of the number of GPUs as there are. */
static enum hr_status fit_repeats(const struct hr__like_fit *fit) {
  struct repeats repeats[HR_LIKE_MOST_SIZES] = {{0}};
  const struct hr__like_fit_campaign **by_time = calloc((size_t)fit->n_campaigns + 1, sizeof *by_time);
  if (!by_time) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) by_time[i] = &fit->campaigns[i];
  qsort(by_time, fit->n_campaigns, sizeof *by_time, by_start);
  count_repeats(fit, by_time, repeats);
  for (uint32_t i = 0; i < HR_LIKE_MOST_SIZES; i++) {
    if (repeats[i].n < 50) continue;
    struct hr_like_size *size = &fit->model->bands[fit->band_of_size[i]].sizes[fit->index_of_size[i]];
    double chance = chance_of_repeat(size), same = (double)repeats[i].n_same / (repeats[i].n - 1);
    if (chance < 0.99 && same > chance) size->repeats = (same - chance) / (1 - chance);
  }
  free(by_time);
  return HR_OK;
}

/* ---- How jobs end ----------------------------------------------------------------------------------- */

uint32_t hr__like_stratum(double score) {
  double p = gsl_cdf_ugaussian_P(score);
  uint32_t stratum = 0;
  while (stratum + 1 < HR_LIKE_STRATA && p > hr_like_stratum_ends[stratum]) stratum++;
  return stratum;
}

static void count_outcome(struct hr_like_outcomes *outcomes, uint8_t outcome) {
  outcomes->completed += outcome == HR_OUTCOME_COMPLETED;
  outcomes->failed += outcome == HR_OUTCOME_FAILED;
  outcomes->cancelled += outcome == HR_OUTCOME_CANCELLED;
}

static void fit_outcomes(const struct hr__like_fit *fit) {
  uint64_t jobs[HR_LIKE_MOST_SIZES][HR_LIKE_STRATA] = {{0}};
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    for (uint32_t k = campaign->first; k < campaign->first + campaign->n_jobs; k++) {
      uint32_t stratum = hr__like_stratum(fit->score[k]);
      count_outcome(&hr__like_fit_size(fit, campaign)->outcomes[stratum], fit->trace->outcome[fit->order[k]]);
      jobs[campaign->size][stratum]++;
    }
  }
  for (uint32_t size = 0; size < HR_LIKE_MOST_SIZES; size++) {
    for (uint32_t k = 0; k < HR_LIKE_STRATA; k++) {
      if (jobs[size][k] == 0) continue;
      struct hr_like_band *band = &fit->model->bands[fit->band_of_size[size]];
      struct hr_like_outcomes *outcomes = &band->sizes[fit->index_of_size[size]].outcomes[k];
      outcomes->completed /= (double)jobs[size][k];
      outcomes->failed /= (double)jobs[size][k];
      outcomes->cancelled /= (double)jobs[size][k];
    }
  }
}

enum hr_status hr__like_fit_asks(struct hr__like_fit *fit) {
  uint32_t n = fit->trace->n_jobs;
  struct wish *wishes = malloc(n * sizeof *wishes);
  struct tally *tallies = malloc(n * sizeof *tallies);
  enum hr_status status = wishes && tallies ? HR_OK : HR_NO_MEMORY;
  for (uint32_t i = 0; i < fit->n_campaigns && status == HR_OK; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    for (uint32_t k = campaign->first; k < campaign->first + campaign->n_jobs; k++)
      wishes[k] = wish_of(fit, campaign, fit->order[k]);
  }
  if (status == HR_OK) {
    qsort(wishes, n, sizeof *wishes, by_wish);
    status = tally_wishes(fit, wishes, tallies);
  }
  free(wishes);
  free(tallies);
  for (uint32_t i = 0; i < fit->model->n_bands && status == HR_OK; i++)
    for (uint32_t k = 0; k < fit->model->bands[i].n_sizes; k++) shares_of_one(&fit->model->bands[i].sizes[k]);
  if (status == HR_OK && fit->trace->outcome) fit_outcomes(fit);
  return status == HR_OK ? fit_repeats(fit) : status;
}
