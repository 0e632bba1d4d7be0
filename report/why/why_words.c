/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "report/why/why_words.h"

#include <inttypes.h>
#include <stdlib.h>

const char *hr__why_time(int64_t at_us, char *buffer) {
  int64_t s = (at_us + HR_SECOND_US / 2) / HR_SECOND_US;
  snprintf(buffer, HR__NUMBER_BYTES, "%" PRId64 " d %02d:%02d:%02d", s / 86400, (int)(s / 3600 % 24),
           (int)(s / 60 % 60), (int)(s % 60));
  return buffer;
}

const char *hr__why_duration(int64_t us, char *buffer) {
  return hr__duration_text((double)us / (double)HR_SECOND_US, buffer);
}

const char *hr__why_gpus(uint64_t milli, char *buffer) {
  *hr__put_thousandths(buffer, (int64_t)milli) = '\0';
  return buffer;
}

/* ---- Room ------------------------------------------------------------------------------------------- */

/* "while 31 were free", `how` behind it. */
static void put_free(FILE *out, const struct hr__why_part *part, const char *how) {
  char least[HR__NUMBER_BYTES], most[HR__NUMBER_BYTES];
  if (part->max_free_milli == 0)
    fprintf(out, " while none was free");
  else if (part->min_free_milli == part->max_free_milli)
    fprintf(out, " while %s %s free%s", hr__why_gpus(part->max_free_milli, most),
            part->max_free_milli <= 1000 ? "was" : "were", how);
  else
    fprintf(out, " while %s to %s were free%s", hr__why_gpus(part->min_free_milli, least),
            hr__why_gpus(part->max_free_milli, most), how);
}

static void put_capacity(FILE *out, const struct hr__why_part *part) {
  char asked[HR__NUMBER_BYTES];
  if (part->asked_milli == 1000)
    fprintf(out, " for a free GPU");
  else
    fprintf(out, " for %s free GPUs", hr__why_gpus(part->asked_milli, asked));
  put_free(out, part, "");
}

static void put_fragments(FILE *out, const struct hr_why *why, const struct hr__why_part *part) {
  char asked[HR__NUMBER_BYTES];
  uint32_t largest = 0;
  for (uint32_t i = 0; i < why->cluster->n_pools; i++)
    if (why->cluster->pools[i].gpus_per_node > largest) largest = why->cluster->pools[i].gpus_per_node;
  hr__why_gpus(part->asked_milli, asked);
  if (part->asked_milli < 1000)
    fprintf(out, " for a GPU with %s of it free", asked);
  else if (part->asked_milli > (uint64_t)largest * 1000)
    fprintf(out, " for nodes for its %s GPUs", asked);
  else
    fprintf(out, " for a node with %s free GPU%s", asked, part->asked_milli == 1000 ? "" : "s");
  put_free(out, part, " in fragments");
}

/* ---- Who was before it ------------------------------------------------------------------------------ */

static void put_job(FILE *out, const struct hr_why *why, hr_job job) {
  char buffer[HR_JOB_ID_BUFFER];
  fprintf(out, "job %.60s", hr_trace_job_id(why->trace, job, buffer));
}

/* " (1 h of it job 17, 20 min job 18, 4 min 2 others)" */
static void put_behind(FILE *out, const struct hr_why *why, const struct hr__why_part *part) {
  char time[HR__NUMBER_BYTES];
  uint32_t told = part->n_behind < HR__MOST_BEHIND ? part->n_behind : HR__MOST_BEHIND, others = part->n_behind - told;
  for (uint32_t i = 0; i < told; i++) {
    fprintf(out, "%s", i ? ", " : " (");
    put_job(out, why, part->behind[i].job);
    fprintf(out, " for %s", hr__why_duration(part->behind[i].us, time));
  }
  if (others)
    fprintf(out, ", %" PRIu32 " other%s for %s", others, others == 1 ? "" : "s",
            hr__why_duration(part->others_us, time));
  fputc(')', out);
}

static void put_order(FILE *out, const struct hr_why *why, const struct hr__why_part *part) {
  bool one = part->n_behind == 1, is_reserved = part->reason == HR_WAIT_REASON_RESERVATION;
  if (one && part->behind[0].job.id == HR_NONE) {
    fprintf(out, " %s", hr_wait_reason_words(part->reason));
    return;
  }
  fprintf(out, one ? (is_reserved ? " behind the reservation of " : " behind ")
                   : (is_reserved ? " behind the reservations of other jobs" : " behind jobs that nobody may pass"));
  if (!one) {
    put_behind(out, why, part);
    return;
  }
  put_job(out, why, part->behind[0].job);
  if (!is_reserved) fprintf(out, ", which nobody may pass");
}

/* ---- The whole -------------------------------------------------------------------------------------- */

void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job) {
  uint32_t tenant = why->trace->tenant ? why->trace->tenant[job.id] : HR_NONE;
  if (quota == HR_QUOTA_ROOT)
    fprintf(out, "what quotas leave to it");
  else if (why->quotas && quota < why->quotas->n_nodes)
    fprintf(out, "the quota of %s %.60s", why->quotas->nodes[quota].is_tenant ? "tenant" : "cohort",
            why->quotas->nodes[quota].name);
  else if (tenant != HR_NONE)
    fprintf(out, "the quota of tenant %.60s", why->trace->tenants.text[tenant]);
  else
    fprintf(out, "the quota of jobs without a tenant");
}

void hr__why_put_part(FILE *out, const struct hr_why *why, const struct hr__why_part *part) {
  char time[HR__NUMBER_BYTES];
  fprintf(out, "%s", hr__why_duration(part->us, time));
  switch (part->reason) {
  case HR_WAIT_REASON_CAPACITY:
    put_capacity(out, part);
    return;
  case HR_WAIT_REASON_FRAGMENTS:
    put_fragments(out, why, part);
    return;
  case HR_WAIT_REASON_ORDER:
  case HR_WAIT_REASON_RESERVATION:
    put_order(out, why, part);
    return;
  case HR_WAIT_REASON_QUOTA:
    fprintf(out, " over ");
    hr__why_put_quota(out, why, part->quota, part->job);
    return;
  case HR_WAIT_REASON_PREEMPTION:
    if (part->n_behind == 1 && part->behind[0].job.id == HR_NONE) break;
    fprintf(out, " for the start of jobs that others were told to leave for");
    put_behind(out, why, part);
    return;
  default:
    break;
  }
  fprintf(out, " %s", hr_wait_reason_words(part->reason));
}

/* The segments of a wait, put together by what held the job back, and within that by who was before it. */

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
  if (segment->min_free_milli < part->min_free_milli) part->min_free_milli = segment->min_free_milli;
  if (segment->max_free_milli > part->max_free_milli) part->max_free_milli = segment->max_free_milli;
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
          .job = first->job, .reason = first->hold.reason, .quota = quota_of(first), .min_free_milli = UINT64_MAX};
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
