/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_PARCELS_H
#define HR_REPORT_METRICS_PARCELS_H

/* Results of a run as bytes, for runs that are made by another process. Each function copies its result into the
   parcel, or allocates it and copies it out of the parcel. If that fails, the result must still be freed; it may be
   NULL. */

#include "base/parcel.h"
#include "headroom/report.h"

void hr__parcel_summary(struct hr__parcel *parcel, struct hr_summary **summary); /* parcels.c */
void hr__parcel_alerts(struct hr__parcel *parcel, struct hr_alerts **alerts);    /* report/alerts; closed alerts only */

#endif
