/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a trace's requests stand for all of them. */

#include "headroom/fragmentation.h"
#include "headroom/policy.h"

#include <stdlib.h>

/* A request without what fragments do not look at: memory, and how many tasks a job has. */
static struct hr_request pod_of(const struct hr_request *request) {
  struct hr_request pod = *request;
  pod.tasks = 1;
  pod.dedicated = false;
  pod.gpu_mem_mib = 0;
  pod.mem_mib = 0;
  return pod;
}

struct group {
  struct hr_request pod;
  uint64_t pods;
  uint32_t number; /* of its first request */
};

#define BY(x, y, member)                                                                                               \
  if ((x)->member != (y)->member) return (x)->member < (y)->member ? -1 : 1

static int by_pod(const void *a, const void *b) {
  const struct group *x = a, *y = b;
  BY(x, y, pod.accept_class);
  BY(x, y, pod.gpus);
  BY(x, y, pod.gpu_milli);
  BY(x, y, pod.cpu_milli);
  BY(x, y, pod.mig_need);
  BY(x, y, number);
  return 0;
}

static bool are_same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->gpus == b->gpus && a->gpu_milli == b->gpu_milli &&
         a->cpu_milli == b->cpu_milli && a->mig_need == b->mig_need;
}

static int by_frequency(const void *a, const void *b) {
  const struct group *x = a, *y = b;
  BY(y, x, pods);
  BY(x, y, number);
  return 0;
}

/* One group for each pod, in no order. */
static uint32_t group_pods(const struct hr_requests *requests, struct group *groups) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    groups[i] = (struct group){pod_of(&requests->request[i]), requests->jobs[i] * requests->request[i].tasks, i};
  qsort(groups, requests->count, sizeof *groups, by_pod);
  for (uint32_t i = 0; i < requests->count; i++) {
    if (count > 0 && are_same(&groups[count - 1].pod, &groups[i].pod))
      groups[count - 1].pods += groups[i].pods;
    else
      groups[count++] = groups[i];
  }
  return count;
}

static void choose(struct hr_typical_pods *typical, const struct group *groups, uint32_t count) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < count; i++) all += groups[i].pods;
  for (uint32_t i = 0; i < count && typical->total < all - all / 20; i++) {
    typical->request[i] = groups[i].pod;
    typical->pods[i] = groups[i].pods;
    typical->total += groups[i].pods;
    typical->count++;
  }
}

struct hr_typical_pods *hr_typical_pods_create(struct hr_arena *arena, const struct hr_requests *requests) {
  struct hr_typical_pods *typical = hr_arena_alloc(arena, sizeof *typical);
  struct group *groups = hr_arena_alloc(arena, ((size_t)requests->count + 1) * sizeof *groups);
  if (!typical || !groups) return NULL;
  uint32_t count = group_pods(requests, groups);
  typical->request = hr_arena_alloc(arena, ((size_t)count + 1) * sizeof *typical->request);
  typical->pods = hr_arena_alloc(arena, ((size_t)count + 1) * sizeof *typical->pods);
  if (!typical->request || !typical->pods) return NULL;
  qsort(groups, count, sizeof *groups, by_frequency);
  choose(typical, groups, count);
  return typical;
}
