/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "headroom/why.h"

const char *hr_rejection_words(enum hr_reason reason) {
  if (reason == HR_REASON_TOO_LARGE) return "more GPUs asked for than any pool they accept has";
  if (reason == HR_REASON_NO_GPU_TYPE) return "no pool has a GPU type they accept";
  if (reason == HR_REASON_GPU_MEMORY) return "the GPUs that they accept, or their parts, have too little memory";
  if (reason == HR_REASON_NO_REGION) return "no pool with such GPUs is in a region they accept";
  if (reason == HR_REASON_NO_CLASS_POOL) return "the pools that would do are for jobs of other classes";
  if (reason == HR_REASON_NODE_TOO_SMALL) return "a task asks for more than any node they accept has";
  if (reason == HR_REASON_MIG_PROFILE) return "no GPU they accept is split into instances that will do";
  if (reason == HR_REASON_NO_GROUP) return "no group of the tier they must be within is so large";
  if (reason == HR_REASON_OVER_QUOTA) return "more GPUs asked for than their tenant may ever use";
  if (reason == HR_REASON_SPOT_ONLY) return "only spot capacity would do, and they may not go there";
  if (reason == HR_REASON_KILLED) return "stopped for good for another job";
  return "refused by the policy";
}
