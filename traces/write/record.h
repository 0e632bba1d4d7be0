/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITE_RECORD_H
#define HR_TRACES_WRITE_RECORD_H

/* What a record tells, field by field (traces/fields.h). */

#include "traces/csv/headroom_csv.h"

/* Whether the record tells hr__fields[field]; `blank` is a record of which nothing is known. */
bool hr__field_is_told(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field);

/* Gathers in `told` which fields any of the jobs tells; of ids, those that rows do not number or the input told. */
void hr__fields_told(const struct hr_trace *trace, bool told[HR__N_FIELDS]);

#endif
