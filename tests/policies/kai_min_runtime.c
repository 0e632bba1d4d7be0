/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Minimum run times of KAI (policies/kai/session.h): which queue of a tree determines the minimum run time of a
   victim. */

#include "harness.h"
#include "policies/kai/session.h"

enum { TOP, DEPT_A, DEPT_B, A_ONE, B_ONE, A_TWO, OTHER, QUEUES };

static struct hr__kai_queue tree[QUEUES];

static void add(uint32_t queue, uint32_t parent, int64_t reclaim_us, int64_t preempt_us) {
  tree[queue].parent = parent;
  tree[queue].reclaim_min_runtime_us = reclaim_us;
  tree[queue].preempt_min_runtime_us = preempt_us;
}

static void grow(void) {
  add(TOP, HR__KAI_NONE, -1, 7);
  add(DEPT_A, TOP, 10, -1);
  add(DEPT_B, TOP, 20, 8);
  add(A_ONE, DEPT_A, 1, 3);
  add(B_ONE, DEPT_B, 2, 0);
  add(A_TWO, DEPT_A, -1, -1);
  add(OTHER, HR__KAI_NONE, -1, -1);
}

static int64_t by_ancestor(uint32_t reclaimer, uint32_t victim) {
  return hr__kai_reclaim_min_runtime(tree, reclaimer, victim, HR_KAI_RECLAIM_LCA, 99);
}

static int64_t by_victim(uint32_t victim) {
  return hr__kai_reclaim_min_runtime(tree, B_ONE, victim, HR_KAI_RECLAIM_QUEUE, 99);
}

/* Let Q be the victim's queue, or its ancestor, that is directly below the lowest common ancestor of both queues. The
   minimum run time is that of Q or, if Q has none, that of the nearest ancestor of Q that has one. If none has one, it
   is the default (99). */
static void reclaim_by_ancestor(void) {
  grow();
  CU_ASSERT_EQUAL(by_ancestor(A_ONE, B_ONE), 20);
  CU_ASSERT_EQUAL(by_ancestor(B_ONE, A_ONE), 10);
  CU_ASSERT_EQUAL(by_ancestor(A_ONE, A_TWO), 10);
  CU_ASSERT_EQUAL(by_ancestor(A_TWO, A_ONE), 1);
  CU_ASSERT_EQUAL(by_ancestor(OTHER, B_ONE), 99);
  CU_ASSERT_EQUAL(by_ancestor(A_ONE, OTHER), 99);
}

static void reclaim_by_victim(void) {
  grow();
  CU_ASSERT_EQUAL(by_victim(A_ONE), 1);
  CU_ASSERT_EQUAL(by_victim(A_TWO), 10);
  CU_ASSERT_EQUAL(by_victim(OTHER), 99);
}

static void preempt(void) {
  grow();
  CU_ASSERT_EQUAL(hr__kai_preempt_min_runtime(tree, A_ONE, 99), 3);
  CU_ASSERT_EQUAL(hr__kai_preempt_min_runtime(tree, A_TWO, 99), 7);
  CU_ASSERT_EQUAL(hr__kai_preempt_min_runtime(tree, B_ONE, 99), 0);
  CU_ASSERT_EQUAL(hr__kai_preempt_min_runtime(tree, OTHER, 99), 99);
}

TEST_MAIN("minimum run times of KAI", TEST(reclaim_by_ancestor), TEST(reclaim_by_victim), TEST(preempt))
