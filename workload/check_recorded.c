/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recorded starts: many at one instant, or none after a wait; against a cluster, more GPUs at work at once than it has,
 * and jobs that waited while at least half of it was idle all the time. GPUs at work change at starts and ends; the
 * most of any stretch of these is asked of a tree of maxima.
 */

#include "report/text.h"
#include "workload/checking.h"

#include <stdlib.h>

enum { LEAST_JOBS = 20, LONG_WAIT_S = 600 };

static int64_t start_of(const struct hr_trace *trace, uint32_t job) {
  return trace->recorded_start_us[job];
}

/* ---- Without a cluster -------------------------------------------------------------------------------- */

/* Starts of jobs that waited; `known`: of how many a start is told. */
static struct hr__pair *order_starts(const struct hr__checker *checker, uint32_t *known, uint32_t *count) {
  const struct hr_trace *trace = checker->trace;
  struct hr__pair *starts = malloc(((size_t)checker->n + 1) * sizeof *starts);
  *known = *count = 0;
  for (uint32_t i = 0; starts && i < checker->n; i++) {
    *known += start_of(trace, i) >= 0;
    if (start_of(trace, i) > trace->submit_us[i]) starts[(*count)++] = (struct hr__pair){start_of(trace, i), i};
  }
  if (starts && hr__pairs_sort(starts, *count)) return starts;
  free(starts);
  return NULL;
}

static void check_starts(struct hr__checker *checker) {
  uint32_t known, waited, begin;
  struct hr__pair *starts = order_starts(checker, &known, &waited);
  if (!starts) {
    checker->out_of_memory = true;
    return;
  }
  uint32_t most = waited < LEAST_JOBS ? 0 : hr__most_frequent(starts, waited, 0, &begin);
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], when[HR__NUMBER_BYTES];
  if (most >= LEAST_JOBS && most >= known / 10)
    hr__find(checker, HR_FINDING_SIMULTANEOUS_STARTS, HR_SEVERITY_WARNING,
             &(struct hr__where){.count = most, .of = known, .job = hr__first_job(starts + begin, most)},
             "%s jobs (%s) that had waited started at one instant, %s after the first submit",
             hr__count_text(most, text), hr__share_text((double)most / known, of),
             hr__duration_text(hr__seconds(starts[begin].key), when));
  if (known >= LEAST_JOBS && waited <= known / 100)
    hr__find(checker, HR_FINDING_NO_RECORDED_WAITS, HR_SEVERITY_NOTE,
             &(struct hr__where){.count = known - waited, .of = known, .job = HR_NONE},
             "%s of %s jobs with a recorded start began when they were submitted", hr__count_text(known - waited, text),
             hr__count_text(known, when));
  free(starts);
}

/* ---- GPUs at work ------------------------------------------------------------------------------------- */

struct course {
  struct hr__pair *mark; /* [n], rising; then the thousandths of GPUs at work from there on in `value` */
  uint32_t n;
  uint32_t size; /* leaves of the tree, a power of two */
  int64_t *tree; /* [2 * size], leaf i at size + i */
};

static bool make_tree(struct course *course) {
  for (course->size = 1; course->size < course->n;) course->size *= 2;
  course->tree = calloc((size_t)2 * course->size, sizeof *course->tree);
  if (!course->tree) return false;
  for (uint32_t i = 0; i < course->n; i++) course->tree[course->size + i] = course->mark[i].value;
  for (uint32_t i = course->size; --i > 0;) {
    int64_t left = course->tree[2 * (size_t)i], right = course->tree[2 * (size_t)i + 1];
    course->tree[i] = left > right ? left : right;
  }
  return true;
}

static bool make_course(const struct hr__checker *checker, struct course *course) {
  const struct hr_trace *trace = checker->trace;
  *course = (struct course){.mark = malloc(((size_t)2 * checker->n + 1) * sizeof *course->mark)};
  if (!course->mark) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i}), start_us = start_of(trace, i);
    if (start_us < 0 || milli == 0 || trace->work_us[i] == 0) continue;
    course->mark[course->n++] = (struct hr__pair){start_us, milli};
    course->mark[course->n++] = (struct hr__pair){start_us + trace->work_us[i], -milli};
  }
  if (!hr__pairs_sort(course->mark, course->n)) return false;
  for (uint32_t i = 1; i < course->n; i++) course->mark[i].value += course->mark[i - 1].value;
  for (uint32_t i = course->n; i-- > 1;) /* of marks at one instant the last one holds */
    if (course->mark[i - 1].key == course->mark[i].key) course->mark[i - 1].value = course->mark[i].value;
  return make_tree(course);
}

/* Marks at or before a time. */
static uint32_t count_until(const struct course *course, int64_t time_us) {
  uint32_t low = 0, high = course->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (course->mark[middle].key <= time_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The most at work from one time on until just before another. */
static int64_t most_between(const struct course *course, int64_t from_us, int64_t to_us) {
  uint32_t before = count_until(course, from_us), until = count_until(course, to_us - 1);
  int64_t most = 0;
  size_t low = (size_t)course->size + (before ? before - 1 : 0), high = (size_t)course->size + until;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 && course->tree[low++] > most) most = course->tree[low - 1];
    if (high % 2 && course->tree[--high] > most) most = course->tree[high];
  }
  return most;
}

/* ---- Against the cluster ------------------------------------------------------------------------------ */

/* For more than a hundredth of the time, from the first start to the last end. */
static void check_over(struct hr__checker *checker, const struct course *course, int64_t capacity_milli) {
  int64_t over_us = 0, most = 0, all_us = course->n ? course->mark[course->n - 1].key - course->mark[0].key : 0;
  for (uint32_t i = 0; i + 1 < course->n; i++) {
    if (course->mark[i].value > most) most = course->mark[i].value;
    if (course->mark[i].value > capacity_milli) over_us += course->mark[i + 1].key - course->mark[i].key;
  }
  if (over_us <= all_us / 100) return;
  char peak[HR__NUMBER_BYTES], gpus[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(
      checker, HR_FINDING_RECORDED_OVER_CAPACITY, HR_SEVERITY_WARNING, &(struct hr__where){.job = HR_NONE},
      "as recorded, up to %s GPU%s at work at once where the cluster has %s; that is more than it has for %s of the "
      "time",
      hr__count_text((uint64_t)most / 1000, peak), hr__counted((uint64_t)most / 1000, " is", "s are"),
      hr__count_text((uint64_t)capacity_milli / 1000, gpus), hr__share_text((double)over_us / (double)all_us, of));
}

static void check_idle(struct hr__checker *checker, const struct course *course, int64_t capacity_milli) {
  enum { SHARE = 20 };
  const struct hr_trace *trace = checker->trace;
  uint32_t known = 0, count = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t start_us = start_of(trace, i), milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (start_us < 0 || milli == 0) continue;
    known++;
    if (start_us - trace->submit_us[i] < LONG_WAIT_S * HR_SECOND_US || milli > capacity_milli / 2) continue;
    if (most_between(course, trace->submit_us[i], start_us) + milli > capacity_milli / 2) continue;
    if (count++ == 0) first = i;
  }
  if (count < LEAST_JOBS || count < known / SHARE) return;
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__find(checker, HR_FINDING_WAITS_WITHOUT_CAUSE, HR_SEVERITY_WARNING,
           &(struct hr__where){.count = count, .of = known, .job = first},
           "%s jobs (%s of those with a recorded start) waited for 10 min and more while at least half of the "
           "cluster's GPUs "
           "stood idle all the time",
           hr__count_text(count, text), hr__share_text((double)count / known, of));
}

void hr__check_recorded(struct hr__checker *checker) {
  if (!checker->trace->recorded_start_us) return;
  check_starts(checker);
  if (!checker->scenario || checker->out_of_memory) return;
  struct course course;
  int64_t capacity_milli = 1000 * (int64_t)hr_cluster_spec_gpus(&checker->scenario->cluster);
  if (make_course(checker, &course)) {
    check_over(checker, &course, capacity_milli);
    check_idle(checker, &course, capacity_milli);
  } else {
    checker->out_of_memory = true;
  }
  free(course.mark);
  free(course.tree);
}
