/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose work it is: one job's, one user's, one tenant's. */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

static double gpu_hours_of(const struct hr_trace *trace, uint32_t job) {
  return (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 * hr__seconds(trace->work_us[job]) / 3600;
}

/* ---- One job ------------------------------------------------------------------------------------------ */

static void check_heavy(struct hr__checker *checker, double all_h) {
  enum { LEAST_JOBS = 100 };
  const struct hr_trace *trace = checker->trace;
  uint32_t heaviest = 0;
  double most_h = 0;
  for (uint32_t i = 0; i < checker->n; i++) {
    double hours = hr__is_service(trace, i) ? 0 : gpu_hours_of(trace, i);
    if (hours <= most_h) continue;
    most_h = hours;
    heaviest = i;
  }
  double share = all_h > 0 ? most_h / all_h : 0;
  if (checker->n < LEAST_JOBS || share < 0.1) return;
  char of[HR__SHARE_BYTES], gpus[HR__NUMBER_BYTES], time[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_HEAVY_JOB, share >= 0.5 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
           &(struct hr__where){.count = 1, .of = checker->n, .job = heaviest},
           "one job holds %s of all GPU hours: %s GPU%s for %s", hr__share_text(share, of),
           hr__count_text(trace->gpus[heaviest], gpus), hr__plural(trace->gpus[heaviest]),
           hr__duration_text(hr__seconds(trace->work_us[heaviest]), time));
}

/* ---- One user, one tenant ----------------------------------------------------------------------------- */

struct owners {
  enum hr_finding_code code;
  const char *word;
  const uint32_t *column;
  const struct hr_names *names;
};

struct share {
  uint32_t jobs, first;
  double gpu_hours;
};

static struct share *add_up(const struct hr__checker *checker, const struct owners *owners) {
  struct share *shares = calloc((size_t)owners->names->count + 1, sizeof *shares);
  for (uint32_t i = checker->n; shares && i-- > 0;) {
    uint32_t owner = owners->column[i];
    if (owner == HR_NONE) continue;
    shares[owner].jobs++;
    shares[owner].first = i;
    shares[owner].gpu_hours += gpu_hours_of(checker->trace, i);
  }
  return shares;
}

/* The larger of the two shares of one owner. */
static double weight_of(const struct hr__checker *checker, const struct share *share, double all_h) {
  double jobs = (double)share->jobs / checker->n, hours = all_h > 0 ? share->gpu_hours / all_h : 0;
  return jobs > hours ? jobs : hours;
}

static void check_owners(struct hr__checker *checker, const struct owners *owners, double all_h) {
  enum { LEAST_OWNERS = 3, LEAST_JOBS = 100 };
  if (!owners->column || owners->names->count < LEAST_OWNERS || checker->n < LEAST_JOBS) return;
  struct share *shares = add_up(checker, owners);
  uint32_t top = 0;
  if (!shares) {
    checker->out_of_memory = true;
    return;
  }
  for (uint32_t i = 1; i < owners->names->count; i++)
    if (weight_of(checker, &shares[i], all_h) > weight_of(checker, &shares[top], all_h)) top = i;
  double weight = weight_of(checker, &shares[top], all_h);
  char jobs[HR__SHARE_BYTES], hours[HR__SHARE_BYTES], count[HR__NUMBER_BYTES];
  if (weight >= 0.5)
    hr__find(
        checker, owners->code, weight >= 0.9 ? HR_SEVERITY_WARNING : HR_SEVERITY_NOTE,
        &(struct hr__where){
            .count = shares[top].jobs, .of = checker->n, .job = shares[top].first, .subject = owners->names->text[top]},
        "%s %.60s of %s has %s of the jobs and %s of the GPU hours", owners->word, owners->names->text[top],
        hr__count_text(owners->names->count, count), hr__share_text((double)shares[top].jobs / checker->n, jobs),
        hr__share_text(all_h > 0 ? shares[top].gpu_hours / all_h : 0, hours));
  free(shares);
}

void hr__check_shares(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  const struct owners users = {HR_FINDING_ONE_USER, "user", trace->user, &trace->users};
  const struct owners tenants = {HR_FINDING_ONE_TENANT, "tenant", trace->tenant, &trace->tenants};
  double all_h = 0;
  for (uint32_t i = 0; i < checker->n; i++) all_h += gpu_hours_of(trace, i);
  check_heavy(checker, all_h);
  check_owners(checker, &users, all_h);
  check_owners(checker, &tenants, all_h);
}
