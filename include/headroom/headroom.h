/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_HEADROOM_H
#define HEADROOM_HEADROOM_H

/* Includes all stable public headers of the library. */

#include "headroom/base.h"
#include "headroom/cluster.h"
#include "headroom/gpu_inventory.h"
#include "headroom/market.h"
#include "headroom/mig.h"
#include "headroom/policies.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/trace.h"
#include "headroom/trace_files.h"

#endif
