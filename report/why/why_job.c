/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Describes the waits and attempts of a job as sentences in time order. The segments of a wait are grouped by reason
 * and quota. During a segment, another job may be ahead in the queue. Within a group, the time is summed separately for
 * each of these other jobs.
 */
#include "report/why/why.h"

#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "headroom/unstable/faults.h"
#include "report/metrics/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Another job that was ahead of the waiting job, and the time for which it was ahead. */
struct wait_behind {
  hr_job job;
  int64_t us;
};

enum { MAX_BEHIND = 3 };

/* The segments of one wait with the same reason and quota. */
struct wait_part {
  hr_job job;
  enum hr_wait_reason_kind reason;
  uint32_t quota;
  int64_t us;
  uint64_t asked_milli, min_free_milli, max_free_milli;
  struct wait_behind behind[MAX_BEHIND]; /* longest first */
  uint32_t n_behind; /* number of jobs that were ahead, also those not in `behind`; all unknown jobs count as one */
  int64_t others_us; /* sum of the times of jobs that are not in `behind` */
  int64_t longest_us;
  char description[HR_WAIT_DESCRIPTION_BYTES]; /* of its longest segment */
};

/* Formats a time of the run on the clock of the trace, as days and a time of day. Returns `buffer`. */
static const char *time_text(const struct hr_why *why, int64_t at_us, char *buffer) {
  int64_t us = at_us + hr_trace_clock_us(why->trace), s = (llabs(us) + HR_SECOND_US / 2) / HR_SECOND_US;
  snprintf(buffer, HR__NUMBER_BYTES, "%s%" PRId64 " d %02d:%02d:%02d", us < 0 ? "-" : "", s / 86400,
           (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
  return buffer;
}

static const char *duration_text(int64_t us, char *buffer) {
  return hr__duration_text((double)us / (double)HR_SECOND_US, buffer);
}

/* ---- Reasons --------------------------------------------------------------------------------------- */

/* Writes how many GPUs were free during a wait, such as " while 31 were free", followed by the text `how`. */
static void put_free(FILE *out, const struct wait_part *part, const char *how) {
  char min_text[HR__NUMBER_BYTES], max_text[HR__NUMBER_BYTES];
  if (part->max_free_milli == 0)
    fprintf(out, " while none was free");
  else if (part->min_free_milli == part->max_free_milli)
    fprintf(out, " while %s %s free%s", hr__why_gpus(part->max_free_milli, max_text),
            part->max_free_milli <= 1000 ? "was" : "were", how);
  else
    fprintf(out, " while %s to %s were free%s", hr__why_gpus(part->min_free_milli, min_text),
            hr__why_gpus(part->max_free_milli, max_text), how);
}

static void put_capacity(FILE *out, const struct wait_part *part) {
  char asked[HR__NUMBER_BYTES];
  if (part->asked_milli == 1000)
    fprintf(out, " for a free GPU");
  else
    fprintf(out, " for %s free GPUs", hr__why_gpus(part->asked_milli, asked));
  put_free(out, part, "");
}

static void put_fragments(FILE *out, const struct hr_why *why, const struct wait_part *part) {
  char asked[HR__NUMBER_BYTES];
  uint32_t largest = 0;
  for (uint32_t i = 0; i < why->cluster->n_pools; i++)
    if (why->cluster->pools[i].gpus_per_node > largest) largest = why->cluster->pools[i].gpus_per_node;
  hr__why_gpus(part->asked_milli, asked);
  if (part->asked_milli < 1000)
    fprintf(out, " for a GPU with %s of it free", asked);
  else if (part->asked_milli > (uint64_t)largest * 1000)
    fprintf(out, " for nodes with %s free GPUs", asked);
  else
    fprintf(out, " for a node with %s free GPU%s", asked, part->asked_milli == 1000 ? "" : "s");
  put_free(out, part, " in fragments");
}

/* ---- Jobs ahead ------------------------------------------------------------------------------------ */

static void put_job(FILE *out, const struct hr_why *why, hr_job job) {
  char buffer[HR_JOB_ID_BUFFER];
  fprintf(out, "job %.60s", hr_trace_job_id(why->trace, job, buffer));
}

/* Writes the jobs ahead, such as " (job 17 for 1 h, job 18 for 20 min, 2 others for 4 min)". */
static void put_behind(FILE *out, const struct hr_why *why, const struct wait_part *part) {
  char time[HR__NUMBER_BYTES];
  uint32_t listed = part->n_behind < MAX_BEHIND ? part->n_behind : MAX_BEHIND, others = part->n_behind - listed;
  for (uint32_t i = 0; i < listed; i++) {
    fprintf(out, "%s", i ? ", " : " (");
    put_job(out, why, part->behind[i].job);
    fprintf(out, " for %s", duration_text(part->behind[i].us, time));
  }
  if (others)
    fprintf(out, ", %" PRIu32 " other%s for %s", others, hr__plural(others), duration_text(part->others_us, time));
  fputc(')', out);
}

static void put_order(FILE *out, const struct hr_why *why, const struct wait_part *part) {
  bool one = part->n_behind == 1, is_reserved = part->reason == HR_WAIT_REASON_RESERVATION;
  if (one && part->behind[0].job.id == HR_NONE) {
    fprintf(out, " %s", hr_wait_reason_words(part->reason));
    return;
  }
  fprintf(out,
          one ? (is_reserved ? " behind the reservation of " : " behind ")
              : (is_reserved ? " behind the reservations of other jobs" : " behind jobs that may not be overtaken"));
  if (!one) {
    put_behind(out, why, part);
    return;
  }
  put_job(out, why, part->behind[0].job);
  if (!is_reserved) fprintf(out, ", which may not be overtaken");
}

/* ---- Parts of a wait ------------------------------------------------------------------------------- */

void hr__why_put_quota(FILE *out, const struct hr_why *why, uint32_t quota, hr_job job) {
  uint32_t tenant = why->trace->tenant ? why->trace->tenant[job.id] : HR_NONE;
  if (quota == HR_QUOTA_ROOT)
    fprintf(out, "the quota available at the root");
  else if (why->quotas && quota < why->quotas->n_nodes)
    fprintf(out, "the quota of %s %.60s", why->quotas->nodes[quota].is_tenant ? "tenant" : "cohort",
            why->quotas->nodes[quota].name);
  else if (tenant != HR_NONE)
    fprintf(out, "the quota of tenant %.60s", why->trace->tenants.text[tenant]);
  else
    fprintf(out, "the quota of jobs without a tenant");
}

void hr__why_put_window(FILE *out, const struct hr_why *why, uint32_t index) {
  uint32_t pool = index / HR_MAINTENANCE_WINDOWS, window = index % HR_MAINTENANCE_WINDOWS;
  const struct hr_pool_spec *spec = why->cluster && pool < why->cluster->n_pools ? &why->cluster->pools[pool] : NULL;
  const char *name = spec && window < spec->n_maintenance ? spec->maintenance[window].name : NULL;
  if (name)
    fprintf(out, "%.60s of pool %.60s", name, spec->name);
  else
    fprintf(out, "number %" PRIu32 " of pool %.60s", window + 1, spec ? spec->name : "");
}

static void put_reason(FILE *out, const struct hr_why *why, const struct wait_part *part) {
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
  case HR_WAIT_REASON_MAINTENANCE:
    if (part->quota == HR_NONE) break;
    fprintf(out, " for the end of the maintenance ");
    hr__why_put_window(out, why, part->quota);
    return;
  case HR_WAIT_REASON_PREEMPTION:
    if (part->n_behind == 1 && part->behind[0].job.id == HR_NONE) break;
    fprintf(out, " for jobs for which others were preempted");
    put_behind(out, why, part);
    return;
  default:
    break;
  }
  fprintf(out, " %s", hr_wait_reason_words(part->reason));
}

static void put_part(FILE *out, const struct hr_why *why, const struct wait_part *part) {
  char time[HR__NUMBER_BYTES];
  fprintf(out, "%s", duration_text(part->us, time));
  put_reason(out, why, part);
  if (part->description[0]) fprintf(out, " (\"%s\")", part->description);
}

/* ---- Grouping of segments -------------------------------------------------------------------------- */

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
  const struct wait_part *one = a, *other = b;
  if (one->us != other->us) return one->us > other->us ? -1 : 1;
  return (one->reason > other->reason) - (one->reason < other->reason);
}

/* Adds a job ahead. `behind` contains the MAX_BEHIND jobs with the longest times; ties are broken by the order of the
   calls. */
static void add_behind(struct wait_part *part, struct wait_behind behind) {
  uint32_t listed = part->n_behind < MAX_BEHIND ? part->n_behind : MAX_BEHIND, at = listed;
  part->n_behind++;
  for (; at > 0 && part->behind[at - 1].us < behind.us; at--) {
    if (at == MAX_BEHIND)
      part->others_us += part->behind[at - 1].us;
    else
      part->behind[at] = part->behind[at - 1];
  }
  if (at == MAX_BEHIND)
    part->others_us += behind.us;
  else
    part->behind[at] = behind;
}

static void add_segment(struct wait_part *part, const struct hr_wait_segment *segment) {
  int64_t us = segment->end_us - segment->begin_us;
  part->us += us;
  if (us > part->longest_us) {
    part->longest_us = us;
    memcpy(part->description, segment->description, sizeof part->description);
  }
  part->asked_milli = segment->hold.asked_milli;
  if (segment->min_free_milli < part->min_free_milli) part->min_free_milli = segment->min_free_milli;
  if (segment->max_free_milli > part->max_free_milli) part->max_free_milli = segment->max_free_milli;
}

/* Groups segments, which must be sorted by by_cause(), into `parts`. Returns the number of parts. */
static size_t put_together(const struct hr_wait_segment *sorted, size_t n_segments, struct wait_part *parts) {
  size_t count = 0;
  for (size_t i = 0; i < n_segments;) {
    const struct hr_wait_segment *first = &sorted[i];
    struct wait_part *part = count > 0 ? &parts[count - 1] : NULL;
    struct wait_behind behind = {first->hold.behind, 0};
    if (!part || part->reason != first->hold.reason || part->quota != quota_of(first)) {
      part = &parts[count++];
      *part = (struct wait_part){
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

static struct wait_part *make_parts(const struct hr_why *why, const struct hr_wait *wait, size_t *count) {
  const struct hr_wait_segment *segments;
  size_t n_segments = hr_waits_segments(why->waits, wait->job, &segments), n_sorted = 0;
  struct hr_wait_segment *sorted = malloc((n_segments + 1) * sizeof *sorted);
  struct wait_part *parts = malloc((n_segments + 1) * sizeof *parts);
  *count = 0;
  if (!sorted || !parts) {
    free(sorted);
    free(parts);
    return NULL;
  }
  for (size_t i = 0; i < n_segments; i++) {
    bool inside = segments[i].begin_us >= wait->begin_us && segments[i].end_us <= wait->end_us;
    if (inside && segments[i].end_us > segments[i].begin_us) sorted[n_sorted++] = segments[i];
    if (inside && wait->begin_us == wait->end_us) sorted[0] = segments[i], n_sorted = 1; /* the last one remains */
  }
  if (n_sorted > 1) qsort(sorted, n_sorted, sizeof *sorted, by_cause);
  *count = put_together(sorted, n_sorted, parts);
  if (*count > 1) qsort(parts, *count, sizeof *parts, by_time);
  free(sorted);
  return parts;
}

/* ---- Request --------------------------------------------------------------------------------------- */

/* Returns whether the job is a replica of a service. Replicas follow the jobs of the input; the user of a replica is
   its service. */
static bool is_replica(const struct hr_trace *trace, hr_job job) {
  return job.id >= trace->n_jobs - trace->n_added;
}

static void put_owner(FILE *out, const struct hr_trace *trace, hr_job job) {
  uint32_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE, user = trace->user ? trace->user[job.id] : HR_NONE;
  const char *kind = is_replica(trace, job) ? "service" : "user";
  if (user != HR_NONE) fprintf(out, " by %s %.60s", kind, trace->users.text[user]);
  if (tenant != HR_NONE) fprintf(out, "%s tenant %.60s", user != HR_NONE ? " of" : " by", trace->tenants.text[tenant]);
}

static void put_request(FILE *out, const struct hr_why *why, hr_job job) {
  const struct hr_trace *trace = why->trace;
  char gpus[HR__NUMBER_BYTES], time[HR__NUMBER_BYTES];
  uint64_t milli = hr__why_request_milli(why, job);
  fprintf(out, ". It requests %s GPU%s", hr__why_gpus(milli, gpus), milli == 1000 ? "" : "s");
  if (trace->tasks && trace->tasks[job.id] > 1) fprintf(out, " in %" PRIu32 " tasks", trace->tasks[job.id]);
  if (trace->class_ && trace->class_[job.id] != HR_CLASS_UNKNOWN)
    fprintf(out, ", class %s", hr_job_class_name((enum hr_job_class)trace->class_[job.id]));
  if (trace->priority) fprintf(out, ", priority %" PRId32, trace->priority[job.id]);
  int64_t limit_us = hr_trace_limit_us(trace, job);
  if (limit_us != trace->work_us[job.id]) fprintf(out, ", limit %s", duration_text(limit_us, time));
  if (is_replica(trace, job))
    fprintf(out, "; it is a replica");
  else
    fprintf(out, "; its run time is %s", duration_text(trace->work_us[job.id], time));
}

static void put_submitted(struct hr__console *console, const struct hr_why *why, hr_job job) {
  struct hr__sentence sentence;
  char time[HR__NUMBER_BYTES];
  if (!hr__sentence_begin(console, &sentence)) return;
  fprintf(sentence.out, "at %s", time_text(why, why->trace->submit_us[job.id], time));
  put_owner(sentence.out, why->trace, job);
  put_request(sentence.out, why, job);
  fputc('.', sentence.out);
  hr__sentence_end(console, &sentence, "submitted");
}

/* ---- Waits ----------------------------------------------------------------------------------------- */

static void put_parts(FILE *out, const struct hr_why *why, const struct wait_part *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fprintf(out, "%s", i + 1 < count ? "; " : count > 2 ? "; and " : ", and ");
    put_part(out, why, &parts[i]);
  }
}

static void put_wait(struct hr__console *console, const struct hr_why *why, const struct hr_wait *wait) {
  struct hr__sentence sentence;
  size_t count;
  char time[HR__NUMBER_BYTES];
  struct wait_part *parts = make_parts(why, wait, &count);
  if (!parts || !hr__sentence_begin(console, &sentence)) {
    free(parts);
    console->out_of_memory = true;
    return;
  }
  if (count != 1) fprintf(sentence.out, "%s, of which ", duration_text(wait->end_us - wait->begin_us, time));
  put_parts(sentence.out, why, parts, count);
  if (wait->is_open) fprintf(sentence.out, "; still waiting when the run ended");
  fputc('.', sentence.out);
  hr__sentence_end(console, &sentence, wait->is_first ? "waited" : "requeued");
  free(parts);
}

/* ---- Attempts -------------------------------------------------------------------------------------- */

/* Writes the nodes of an attempt, such as "on node 3 of pool a". If `is_target` is true, the nodes are the target of a
   migration, and "to" is written instead of "on". */
static void put_nodes(FILE *out, const struct hr_why *why, const struct hr_attempt *attempt, bool is_target) {
  enum { MAX_NODES = 4 };
  const struct hr_slice *slices = hr_history_slices(why->history, attempt);
  const char *pool = why->cluster->pools[attempt->pool.id].name;
  uint32_t n_nodes = 0, listed = HR_NONE;
  for (uint32_t i = 0; i < attempt->n_slices; i++) n_nodes += i == 0 || slices[i].node.id != slices[i - 1].node.id;
  if (n_nodes > 0 || is_target) fputs(is_target ? "to" : "on", out);
  if (n_nodes > MAX_NODES) fprintf(out, " %" PRIu32 " nodes", n_nodes);
  for (uint32_t i = 0; i < attempt->n_slices && n_nodes <= MAX_NODES; i++) {
    if (slices[i].node.id == listed) continue;
    fprintf(out, "%s%" PRIu32, i ? ", " : n_nodes == 1 ? " node " : " nodes ", slices[i].node.id);
    listed = slices[i].node.id;
  }
  fprintf(out, "%s pool %.60s", n_nodes ? " of" : is_target ? "" : "in", pool ? pool : "0");
}

static void put_start(struct hr__console *console, const struct hr_why *why, const struct hr_attempt *attempt) {
  struct hr__sentence sentence;
  char time[HR__NUMBER_BYTES];
  if (!hr__sentence_begin(console, &sentence)) return;
  fprintf(sentence.out, "at %s ", time_text(why, attempt->begin_us, time));
  put_nodes(sentence.out, why, attempt, false);
  fprintf(sentence.out, "%s.",
          attempt->start_reason == HR_REASON_BACKFILL ? ", ahead of its order by backfill" : ", in order");
  hr__sentence_end(console, &sentence, attempt->number ? "restarted" : "started");
}

/* Returns why an attempt ended, as text. `held_us`: how long the job was held because of carbon after the attempt. */
static const char *end_words(const struct hr_attempt *attempt, int64_t held_us) {
  switch (attempt->end_reason) {
  case HR_REASON_RECLAIMED:
    return "its node was reclaimed by the market";
  case HR_REASON_FAILED:
    return "its node failed";
  case HR_REASON_SAVED:
    return "it vacated a node that was about to be reclaimed";
  case HR_REASON_RESERVATION_END:
    return "the reservation of its node ended";
  case HR_REASON_PREEMPTED:
    return "preempted for another job";
  case HR_REASON_KILLED:
    return "killed for another job";
  case HR_REASON_POLICY:
    return held_us > 0 ? "suspended by the policy to wait for electricity with less carbon"
                       : "suspended by the policy for the turn of other jobs";
  default:
    return attempt->end == HR_ATTEMPT_PREEMPTED ? "preempted by the policy" : "it lost its node";
  }
}

/* Returns whether `next` is the continuation of `attempt` after a migration. In policies that suspend jobs regularly
   (`gang-slice`, `rounds`), no restart counts as a migration. */
static bool is_migrated(const struct hr_why *why, const struct hr_attempt *attempt, const struct hr_attempt *next) {
  const char *policy = why->policy->ops->name;
  if (!next || attempt->end != HR_ATTEMPT_PREEMPTED || attempt->end_reason != HR_REASON_POLICY) return false;
  return next->begin_us == attempt->end_us && strcmp(policy, "gang-slice") != 0 && strcmp(policy, "rounds") != 0;
}

static void put_move(FILE *out, const struct hr_why *why, const struct hr_attempt *attempt,
                     const struct hr_attempt *next) {
  const struct hr_market_spec *from = &why->cluster->pools[attempt->pool.id].market,
                              *to = &why->cluster->pools[next->pool.id].market;
  fprintf(out, ": migrated by the policy ");
  put_nodes(out, why, next, true);
  if (from->market == HR_MARKET_ON_DEMAND && to->market == HR_MARKET_SPOT &&
      hr_market_price_at(to, next->begin_us) < hr_market_price_at(from, next->begin_us))
    fprintf(out, ", to cheaper spot nodes");
}

/* Writes the time of an attempt that was not useful work. */
static void put_overheads(FILE *out, const struct hr_attempt *attempt) {
  char time[HR__NUMBER_BYTES];
  if (attempt->lost_us > 0) fprintf(out, "; %s of work was lost", duration_text(attempt->lost_us, time));
  if (attempt->saving_us > 0) fprintf(out, "; %s spent saving checkpoints", duration_text(attempt->saving_us, time));
  if (attempt->restarting_us > 0) fprintf(out, "; %s spent restarting", duration_text(attempt->restarting_us, time));
  if (attempt->data_us > 0) fprintf(out, "; %s spent waiting for data", duration_text(attempt->data_us, time));
}

static bool is_resized(const struct hr_attempt *attempt, const struct hr_attempt *next) {
  return next && attempt->end_reason == HR_REASON_RESIZED && next->begin_us == attempt->end_us;
}

static void put_resize(FILE *out, const struct hr_why *why, const struct hr_attempt *attempt,
                       const struct hr_attempt *next) {
  char from[HR__NUMBER_BYTES], to[HR__NUMBER_BYTES];
  fprintf(out, ": from %s to %s GPUs ", hr__why_gpus(attempt->gpu_milli, from), hr__why_gpus(next->gpu_milli, to));
  put_nodes(out, why, next, false);
}

/* Returns how long a job was held because of carbon after an attempt. `wait`: its next wait; NULL: none. */
static int64_t held_for_carbon_us(const struct hr_why *why, const struct hr_attempt *attempt,
                                  const struct hr_wait *wait) {
  if (!wait || wait->begin_us != attempt->end_us) return 0;
  const struct hr_wait_part *parts = hr_waits_parts(why->waits, wait);
  for (uint32_t i = 0; i < wait->n_parts; i++)
    if (parts[i].reason == HR_WAIT_REASON_CARBON) return parts[i].us;
  return 0;
}

/* Prints the end of an attempt. `next` is the next attempt if the job was migrated or resized; otherwise NULL. `wait`
   is the next wait of the job; NULL: none. */
static void put_end(struct hr__console *console, const struct hr_why *why, const struct hr_attempt *attempt,
                    const struct hr_attempt *next, const struct hr_wait *wait) {
  struct hr__sentence sentence;
  char at[HR__NUMBER_BYTES], time[HR__NUMBER_BYTES];
  bool is_done = attempt->end == HR_ATTEMPT_COMPLETED, runs = attempt->end == HR_ATTEMPT_RUNNING;
  if (!hr__sentence_begin(console, &sentence)) return;
  fprintf(sentence.out, "at %s, after %s", time_text(why, attempt->end_us, at),
          duration_text(attempt->end_us - attempt->begin_us, time));
  if (runs) fprintf(sentence.out, ": still running when the run ended");
  if (is_resized(attempt, next))
    put_resize(sentence.out, why, attempt, next);
  else if (next)
    put_move(sentence.out, why, attempt, next);
  else if (!runs && !is_done)
    fprintf(sentence.out, ": %s", end_words(attempt, held_for_carbon_us(why, attempt, wait)));
  put_overheads(sentence.out, attempt);
  if (is_done)
    fprintf(sentence.out, "; %s after its submission",
            duration_text(attempt->end_us - why->trace->submit_us[attempt->job.id], time));
  fputc('.', sentence.out);
  hr__sentence_end(console, &sentence,
                   is_done                     ? "completed"
                   : runs                      ? "unfinished"
                   : is_resized(attempt, next) ? "resized"
                   : next                      ? "moved"
                                               : "stopped");
}

/* Returns the indices of the attempts of a job in time order. The caller frees the list. Returns NULL if out of
   memory. */
static uint32_t *list_attempts(const struct hr_why *why, hr_job job, const struct hr_attempt *attempts,
                               uint32_t *count) {
  uint32_t last = hr_history_last(why->history, job);
  *count = last == HR_NONE ? 0 : attempts[last].number + 1;
  uint32_t *list = malloc(((size_t)*count + 1) * sizeof *list);
  for (uint32_t i = *count; list && i-- > 0; last = attempts[last].previous) list[i] = last;
  return list;
}

/* ---- All sentences --------------------------------------------------------------------------------- */

static void put_outcome(struct hr__console *console, const struct hr_why *why, hr_job job) {
  char time[HR__NUMBER_BYTES];
  const struct hr_result *result = why->result;
  enum hr_reason reason = (enum hr_reason)result->reason[job.id];
  if (result->state[job.id] == HR_JOB_REJECTED)
    hr__put_field(console, "rejected", "%s (%s).", hr_reason_name(reason), hr_rejection_words(reason));
  if (result->state[job.id] == HR_JOB_FUTURE)
    hr__put_field(console, "unsubmitted", "the run ended at %s, before its submission.",
                  time_text(why, result->end_us, time));
  if (!why->ledger || result->start_us[job.id] == HR_NEVER_US) return;
  int64_t uusd = (int64_t)hr__divided(hr_ledger_job(why->ledger, job), HR_LEDGER_UNITS_PER_UUSD);
  hr__put_field(console, "cost", "%s", hr__usd_text(uusd, time));
}

static void put_life(struct hr__console *console, const struct hr_why *why, hr_job job, const uint32_t *list,
                     uint32_t n_attempts) {
  const struct hr_wait *waits;
  const struct hr_attempt *attempts;
  size_t n_waits = hr_waits_of(why->waits, job, &waits), wait = 0;
  bool goes_on = false;
  hr_history_attempts(why->history, &attempts);
  for (uint32_t i = 0; i < n_attempts; i++) {
    const struct hr_attempt *attempt = &attempts[list[i]], *next = i + 1 < n_attempts ? &attempts[list[i + 1]] : NULL;
    while (wait < n_waits && waits[wait].begin_us < attempt->begin_us) put_wait(console, why, &waits[wait++]);
    if (!goes_on) put_start(console, why, attempt);
    goes_on = is_migrated(why, attempt, next) || is_resized(attempt, next);
    put_end(console, why, attempt, goes_on ? next : NULL, wait < n_waits ? &waits[wait] : NULL);
  }
  while (wait < n_waits) put_wait(console, why, &waits[wait++]);
}

void hr__why_print_job(struct hr__console *console, const struct hr_why *why, hr_job job) {
  const struct hr_attempt *attempts;
  char id[HR_JOB_ID_BUFFER];
  uint32_t count;
  hr_history_attempts(why->history, &attempts);
  uint32_t *list = list_attempts(why, job, attempts, &count);
  char *name = hr__fitted(console, hr_trace_job_id(why->trace, job, id), HR__LINE_WIDTH - 5, false);
  if (list && name) {
    fprintf(console->out, "%sJob %s%s\n\n", hr__bold(console), name, hr__plain(console));
    if (why->result->state[job.id] != HR_JOB_FUTURE) put_submitted(console, why, job);
    put_life(console, why, job, list, count);
    put_outcome(console, why, job);
    fprintf(console->out, "\n%sTimes are days, hours, minutes and seconds %s.%s\n", hr__dim(console),
            hr_trace_clock_us(why->trace) ? "on the clock of the trace" : "since the first submission",
            hr__plain(console));
  }
  console->out_of_memory |= !list;
  free(list);
  free(name);
}
