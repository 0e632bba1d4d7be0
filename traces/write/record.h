/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITE_RECORD_H
#define HR_TRACES_WRITE_RECORD_H

#include "traces/csv/headroom_csv.h"

/* Whether hr__fields[field] of the record is known; `blank` has all fields unknown. */
bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field);

/* Sets known[i] if field i of any job is known. Ids are known unless they are generated row numbers. */
void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]);

#endif
