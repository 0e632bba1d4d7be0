/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The segments of a wait, put together by what held the job back, and within that by who was before it. */

#include "report/why_words.h"

#include <stdlib.h>

static uint32_t quota_of(const struct hr_wait_segment *segment) {
  return segment->hold.quota;
}

static int by_cause(const void *a, const void *b) {
  const struct hr_wait_segment *one = a, *other = b;
  if (one->hold.reason != other->hold.reason) return one->hold.reason < other->hold.reason ? -1 : 1;
  if (quota_of(one) != quota_of(other)) return quota_of(one) < quota_of(other) ? -1 : 1;
  if (one->hold.behind.id != other->hold.behind.id) return one->hold.behind.id < other->hold.behind.id ? -1 : 1;
  return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

static int by_time(const void *a, const void *b) {
  const struct hr__why_part *one = a, *other = b;
  if (one->us != other->us) return one->us > other->us ? -1 : 1;
  return (one->reason > other->reason) - (one->reason < other->reason);
}

/* One more of those that it waited behind: the longest are kept, the earliest among equals. */
static void add_behind(struct hr__why_part *part, struct hr__why_behind behind) {
  uint32_t told = part->n_behind < HR__MOST_BEHIND ? part->n_behind : HR__MOST_BEHIND, at = told;
  part->n_behind++;
  for (; at > 0 && part->behind[at - 1].us < behind.us; at--) {
    if (at == HR__MOST_BEHIND)
      part->others_us += part->behind[at - 1].us;
    else
      part->behind[at] = part->behind[at - 1];
  }
  if (at == HR__MOST_BEHIND)
    part->others_us += behind.us;
  else
    part->behind[at] = behind;
}

static void add_segment(struct hr__why_part *part, const struct hr_wait_segment *segment) {
  part->us += segment->end_us - segment->begin_us;
  part->asked_milli = segment->hold.asked_milli;
  if (segment->least_free_milli < part->least_free_milli) part->least_free_milli = segment->least_free_milli;
  if (segment->most_free_milli > part->most_free_milli) part->most_free_milli = segment->most_free_milli;
}

/* Of segments in order of their causes. */
static size_t put_together(const struct hr_wait_segment *sorted, size_t n_segments, struct hr__why_part *parts) {
  size_t count = 0;
  for (size_t i = 0; i < n_segments;) {
    const struct hr_wait_segment *first = &sorted[i];
    struct hr__why_part *part = count > 0 ? &parts[count - 1] : NULL;
    struct hr__why_behind behind = {first->hold.behind, 0};
    if (!part || part->reason != first->hold.reason || part->quota != quota_of(first)) {
      part = &parts[count++];
      *part = (struct hr__why_part){
          .job = first->job, .reason = first->hold.reason, .quota = quota_of(first), .least_free_milli = UINT64_MAX};
    }
    for (; i < n_segments && sorted[i].hold.reason == part->reason && quota_of(&sorted[i]) == part->quota &&
           sorted[i].hold.behind.id == behind.job.id;
         i++) {
      behind.us += sorted[i].end_us - sorted[i].begin_us;
      add_segment(part, &sorted[i]);
    }
    add_behind(part, behind);
  }
  return count;
}

struct hr__why_part *hr__why_parts(const struct hr_why *why, const struct hr_wait *wait, size_t *count) {
  const struct hr_wait_segment *segments;
  size_t n_segments = hr_waits_segments(why->waits, wait->job, &segments), n_sorted = 0;
  struct hr_wait_segment *sorted = malloc((n_segments + 1) * sizeof *sorted);
  struct hr__why_part *parts = malloc((n_segments + 1) * sizeof *parts);
  *count = 0;
  if (!sorted || !parts) {
    free(sorted);
    free(parts);
    return NULL;
  }
  for (size_t i = 0; i < n_segments; i++) {
    bool inside = segments[i].begin_us >= wait->begin_us && segments[i].end_us <= wait->end_us;
    if (inside && segments[i].end_us > segments[i].begin_us) sorted[n_sorted++] = segments[i];
  }
  if (n_sorted > 1) qsort(sorted, n_sorted, sizeof *sorted, by_cause);
  *count = put_together(sorted, n_sorted, parts);
  if (*count > 1) qsort(parts, *count, sizeof *parts, by_time);
  free(sorted);
  return parts;
}
