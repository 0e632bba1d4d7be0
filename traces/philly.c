/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of Microsoft's Philly cluster in the shape in which simulators share them: unsorted, with local date-times,
   without ids; virtual clusters are tenants. `gpu_time` is duration x GPUs and is not read. */

#include "traces/csv_rows.h"
#include "traces/formats.h"

static const struct hr__csv_column columns[] = {
    {"timestamp", NULL, HR__INSTANT, true, true, offsetof(struct hr_job_record, submit_us), HR_SECOND_US},
    {"duration", NULL, HR__DURATION, true, true, offsetof(struct hr_job_record, work_us), HR_SECOND_US},
    {"num_gpus", NULL, HR__GPUS, true, true, offsetof(struct hr_job_record, gpus), 0},
    {"cluster", NULL, HR__TEXT, true, false, offsetof(struct hr_job_record, tenant), 0}};

static enum hr_status on_job(void *self, const void *row, uint64_t line) {
  return hr__reader_add(self, row, line);
}

enum hr_status hr__read_philly(struct hr__reader *reader) {
  static const char *const ignored[] = {"gpu_time", NULL};
  struct hr_job_record job, blank;
  hr_job_record_init(&blank);
  const struct hr__csv_schema schema = {.columns = columns,
                                        .n_columns = sizeof columns / sizeof *columns,
                                        .ignored = ignored,
                                        .missing_hint = "a Philly trace has them all",
                                        .row = &job,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof job,
                                        .on_row = on_job,
                                        .self = reader};
  return hr__csv_read_rows(reader, &schema);
}
