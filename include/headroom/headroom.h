/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_HEADROOM_H
#define HEADROOM_HEADROOM_H

/* All of Headroom's library. */

#include "headroom/advise.h"
#include "headroom/alerts.h"
#include "headroom/base.h"
#include "headroom/catalog.h"
#include "headroom/check.h"
#include "headroom/cluster.h"
#include "headroom/compare.h"
#include "headroom/costs.h"
#include "headroom/exports.h"
#include "headroom/fill.h"
#include "headroom/forecast.h"
#include "headroom/fragmentation.h"
#include "headroom/history.h"
#include "headroom/hold.h"
#include "headroom/ledger.h"
#include "headroom/market.h"
#include "headroom/mig.h"
#include "headroom/packing.h"
#include "headroom/page.h"
#include "headroom/plan.h"
#include "headroom/policies.h"
#include "headroom/policy.h"
#include "headroom/quota.h"
#include "headroom/random.h"
#include "headroom/replay.h"
#include "headroom/replications.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/stock.h"
#include "headroom/stress.h"
#include "headroom/sweep.h"
#include "headroom/topology.h"
#include "headroom/trace.h"
#include "headroom/waits.h"
#include "headroom/workload.h"

#endif
