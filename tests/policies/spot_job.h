/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_SPOT_JOB_H
#define HR_TESTS_POLICIES_SPOT_JOB_H

/* One job with a deadline under the policy `deadline`. The cluster has one spot node with recorded availability, and
   one on-demand node. The job keeps all its work when it is interrupted. */

#include "harness.h"
#include "headroom/sim.h"

enum spot_rule { SPOT_GREEDY, SPOT_UNIFORM, SPOT_OMNISCIENT };

struct spot_record {
  int64_t gap_us;
  uint32_t n_steps;
  bool *available; /* [n_steps]; the record is repeated */
};

struct spot_job {
  const struct spot_record *record;
  uint32_t start; /* the run begins at this step of the record */
  enum spot_rule rule;
  int64_t work_us, deadline_us, changeover_us, tick_us;
  int64_t price_uusd_h[2]; /* spot, on-demand */
  /* negative: the policy's default */
  double hysteresis, wait_below, wait_until;
};

/* The result of a run. Index 0 is the spot node, 1 the on-demand node. */
struct spot_bill {
  int64_t paid_us[2];   /* time for which the node was paid */
  int64_t worked_us[2]; /* time for which the job worked on the node */
  int64_t end_us;       /* HR_NEVER_US: the job did not complete */
};

/* Runs the job in checked mode. A failure is a failure of the test. */
struct spot_bill spot_job_run(const struct spot_job *job);

/* Returns the cost in dollars. */
double spot_job_usd(const struct spot_job *job, const struct spot_bill *bill);

/* Reads the first `n_steps` steps (0: all steps) of a record of skypilot-org/spot-traces. Returns false if the file
   cannot be read. The caller frees record->available. */
bool spot_record_read(struct spot_record *record, const char *path, uint32_t n_steps);

#endif
