/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_HEADROOM_H
#define HEADROOM_HEADROOM_H

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/ledger.h"
#include "headroom/market.h"
#include "headroom/mig.h"
#include "headroom/placement.h"
#include "headroom/policy.h"
#include "headroom/quota.h"
#include "headroom/random.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/topology.h"
#include "headroom/trace.h"
#include "headroom/unstable/advise.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/check.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/fill.h"
#include "headroom/unstable/forecast.h"
#include "headroom/unstable/like.h"
#include "headroom/unstable/plan.h"
#include "headroom/unstable/policies.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/replications.h"
#include "headroom/unstable/streamed.h"
#include "headroom/unstable/stress.h"
#include "headroom/unstable/sweep.h"
#include "headroom/unstable/trace_check.h"
#include "headroom/unstable/trace_tools.h"
#include "headroom/unstable/why.h"
#include "headroom/wait_reason.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All of Headroom's library. */

#ifdef __cplusplus
}
#endif
#endif
