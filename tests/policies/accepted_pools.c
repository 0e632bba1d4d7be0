/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pools that jobs accept, by names of GPU types and by MIG profiles. */
#include "harness.h"

#include "headroom/policies.h"
#include "headroom/sim.h"
#include "sim/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static void keys(void) {
  static const struct {
    const char *name, *key;
  } cases[] = {{"A100-80", "a10080"},
               {"NVIDIA-A100-SXM4-80GB", "a100sxm480gb"},
               {"nvidia_a100 sxm4/80GB", "a100sxm480gb"},
               {"gres/gpu:nvidia:tesla_t4:2", "t4"},
               {"Tesla-T4-SHARED", "t4"},
               {"gpu", "gpu"},
               {"gpux", "gpux"},
               {"nvidia-", "nvidia"},
               {"NVIDIA", "nvidia"},
               {"shared", "shared"},
               {"-shared", "shared"},
               {":4", "4"},
               {"", ""},
               {"---", ""},
               {"0123456789012345678901234567890123456789012345678901234567890123", ""},
               {"012345678901234567890123456789012345678901234567890123456789012",
                "012345678901234567890123456789012345678901234567890123456789012"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char key[HR__GPU_KEY_BYTES];
    CU_ASSERT_EQUAL(hr__gpu_name_key(cases[i].name, strlen(cases[i].name), key), strlen(cases[i].key));
    CU_ASSERT_STRING_EQUAL(key, cases[i].key);
  }
}

static struct hr_pool_spec pool_of(char *type, char *names) {
  return (struct hr_pool_spec){.name = type, .gpu = type, .gpu_names = names, .nodes = 1, .gpus_per_node = 8};
}

/* A name selects the pools of this GPU type. If there are none, it selects the pools that list this name in
   `gpu_names`. */
static void selections(void) {
  char a40[] = "A100-40", a80[] = "A100-80", h100[] = "H100", rtx[] = "RTX-4090", v100[] = "V100", lower[] = "a100";
  char a40_names[] = "A100|A100-SXM4-40GB", a80_names[] = "A100|A100-SXM4-80GB", h100_names[] = "H100-80GB-HBM3";
  struct hr_pool_spec pools[] = {pool_of(a40, a40_names), pool_of(a80, a80_names), pool_of(h100, h100_names),
                                 pool_of(rtx, NULL), pool_of(v100, NULL)};
  struct hr_cluster_spec cluster = {.pools = pools, .n_pools = 5};
  static const struct {
    const char *list, *selected;
  } cases[] = {{"a100", "11000"},
               {"NVIDIA-A100-SXM4-80GB", "01000"},
               {"A100-80", "01000"},
               {"a100_80", "01000"},
               {"a100|h100", "11100"},
               {"NVIDIA H100 80GB HBM3|V100", "00101"},
               {"NVIDIA GeForce RTX 4090", "00010"},
               {"rtx4090", "00010"},
               {"A10", "00000"},
               {"", "00000"},
               {"|", "00000"},
               {"h100-sxm", "00000"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t set[5];
    hr__gpu_names_select(&cluster, cases[i].list, set);
    for (int pool = 0; pool < 5; pool++) CU_ASSERT_EQUAL(set[pool], cases[i].selected[pool] == '1');
  }
  pools[3].gpu = lower;
  uint8_t set[5];
  hr__gpu_names_select(&cluster, "A100", set);
  CU_ASSERT(!set[0] && !set[1] && set[3]);
}

static void nearest_names(void) {
  static const char *const known[] = {"A100-80", "RTX-4090", "H100", "A100",           "A10G",
                                      "A30",     "L4",       "L40S", "A100-SXM4-40GB", NULL};
  static const struct {
    const char *name, *nearest;
    bool same_model;
  } cases[] = {{"A10O", "A100", true},
               {"a1OO", "A100", true},
               {"A100-88", "A100-80", true},
               {"NVIDIA A100-SXM4-40G", "A100-SXM4-40GB", true},
               {"rtx4O90", "RTX-4090", true},
               {"rtx3090", "RTX-4090", false},
               {"A40", "A30", false},
               {"L40", "L40S", true},
               {"LA", NULL, true},
               {"H100-SXM9-96GB", "H100", true},
               {"B100", NULL, true},
               {"P100", NULL, true},
               {"gpu", NULL, true},
               {"", NULL, true},
               {"h1000", "H100", false},
               {"MI300X", NULL, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool same_model;
    const char *nearest = hr__gpu_name_nearest(cases[i].name, strlen(cases[i].name), known, &same_model);
    CU_ASSERT_STRING_EQUAL(nearest ? nearest : "none", cases[i].nearest ? cases[i].nearest : "none");
    if (nearest) CU_ASSERT_EQUAL(same_model, cases[i].same_model);
  }
}

/* ---- MIG instances, shares and whole GPUs ---- */

enum { JOBS = 4, WHOLE_POOL = 0, MIG_POOL = 1 };

static struct hr_mig_spec *make_mig(void) {
  struct hr_mig_profile profiles[] = {{"7g.80gb", 80000, 98, 7, 8, 1, 1, false},
                                      {"1g.10gb", 10000, 14, 1, 1, 0x7f, 7, false}};
  struct hr_mig_type type;
  hr_mig_type_init(&type, "A100-80", profiles, 2);
  struct hr_mig_spec *spec = hr_mig_spec_create(&type, HR_MIG_ON_DEMAND);
  CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
  return spec;
}

/* The results of four jobs in a pool without MIG and a pool with MIG. The jobs request the profile 1g.10gb, the unknown
   profile 9g.90gb, a share of a GPU, and a whole GPU. `pool`: HR_NONE: the job was rejected. */
struct seen {
  uint32_t pool[JOBS];
  enum hr_reason reason[JOBS];
};

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct seen *seen = self;
  (void)view;
  if (event->kind == HR_EVENT_START) seen->pool[event->job.id] = event->placement->pool.id;
  if (event->kind == HR_EVENT_REJECT) seen->reason[event->job.id] = event->reason;
}

static struct seen run(uint32_t whole_nodes, uint32_t mig_nodes, bool fallback) {
  static const int64_t submit_us[JOBS] = {0}, work_us[JOBS] = {1000000, 1000000, 1000000, 1000000};
  static const uint32_t gpus[JOBS] = {1, 1, 1, 1}, profile[JOBS] = {0, 1, HR_NONE, HR_NONE};
  static const uint16_t milli[JOBS] = {1000, 1000, 140, 1000};
  static const char *const names[] = {"1g.10gb", "9g.90gb"};
  struct hr_trace trace = {.n_jobs = JOBS,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .gpu_milli = milli,
                           .mig_profile = profile,
                           .mig_profiles = {.text = names, .count = 2}};
  char type[] = "A100-80";
  struct hr_pool_spec pools[] = {{.name = type, .gpu = type, .nodes = whole_nodes, .gpus_per_node = 8},
                                 {.name = type,
                                  .gpu = type,
                                  .nodes = mig_nodes,
                                  .gpus_per_node = 8,
                                  .sharing = HR_SHARING_MIG,
                                  .mig = make_mig()}};
  struct hr_cluster_spec cluster = {.pools = pools, .n_pools = 2, .mig_fallback = fallback};
  struct hr_policy_choice choice;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", &error), HR_OK);
  struct seen seen = {.pool = {HR_NONE, HR_NONE, HR_NONE, HR_NONE}};
  struct hr_observer observer = {.self = &seen, .on_event = on_event};
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .horizon_us = HR_NEVER_US,
                                       .check = true,
                                       .observers = &observer,
                                       .n_observers = 1};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL(hr_sim_run(&config, &result, &error), HR_OK);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = pools[1].mig});
  return seen;
}

static void mig_is_not_replaced(void) {
  struct seen both = run(1, 1, false), whole = run(1, 0, false), mig = run(0, 1, false);
  CU_ASSERT_EQUAL(both.pool[0], MIG_POOL);
  CU_ASSERT(both.pool[1] == HR_NONE && both.reason[1] == HR_REASON_MIG_PROFILE);
  CU_ASSERT(both.pool[2] == WHOLE_POOL && both.pool[3] == WHOLE_POOL);
  CU_ASSERT(whole.pool[0] == HR_NONE && whole.reason[0] == HR_REASON_MIG_PROFILE);
  CU_ASSERT(whole.pool[2] == WHOLE_POOL && whole.pool[3] == WHOLE_POOL);
  CU_ASSERT_EQUAL(mig.pool[0], MIG_POOL);
  CU_ASSERT(mig.pool[2] == HR_NONE && mig.reason[2] == HR_REASON_ONLY_MIG);
  CU_ASSERT(mig.pool[3] == HR_NONE && mig.reason[3] == HR_REASON_ONLY_MIG);
}

static void fallback_allows_replacement(void) {
  struct seen whole = run(1, 0, true), mig = run(0, 1, true);
  for (int job = 0; job < JOBS; job++) CU_ASSERT_EQUAL(whole.pool[job], WHOLE_POOL);
  CU_ASSERT(mig.pool[0] == MIG_POOL && mig.pool[2] == MIG_POOL && mig.pool[3] == MIG_POOL);
  CU_ASSERT(mig.pool[1] == HR_NONE && mig.reason[1] == HR_REASON_MIG_PROFILE);
}

/* With `mig_fallback`, a whole GPU replaces an instance only if the cluster has no such instance. Job 0 runs in the
   pool with MIG, although the pool of whole GPUs is first and free. */
static void instances_are_preferred(void) {
  struct seen both = run(1, 1, true);
  CU_ASSERT_EQUAL(both.pool[0], MIG_POOL);
  CU_ASSERT_EQUAL(both.pool[1], WHOLE_POOL); /* no GPU has this profile */
  CU_ASSERT_EQUAL(both.pool[3], WHOLE_POOL);
}

TEST_MAIN("accepted_pools", TEST(keys), TEST(selections), TEST(nearest_names), TEST(mig_is_not_replaced),
          TEST(fallback_allows_replacement), TEST(instances_are_preferred))
