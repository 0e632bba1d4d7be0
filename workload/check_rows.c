/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reading left out, by reason; the order of rows; what the reader had to assume. */

#include "report/text.h"
#include "workload/checking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char duplicate_reason[] = "the job id is already used";

static void tell_skipped(struct hr__checker *checker, const struct hr_skipped_rows *rows, uint64_t all) {
  bool duplicate = strcmp(rows->reason, duplicate_reason) == 0;
  enum hr_finding_code code = rows->no_fault ? HR_FINDING_LEFT_OUT
                              : duplicate    ? HR_FINDING_DUPLICATE_IDS
                                             : HR_FINDING_BAD_ROWS;
  char count[HR__NUMBER_BYTES], of[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  hr__find(checker, code, rows->no_fault ? HR_SEVERITY_NOTE : HR_SEVERITY_ERROR,
           &(struct hr__where){.count = rows->count, .of = all, .line = rows->first_line, .job = HR_NONE},
           "%s of %s row%s (%s), %sin line %" PRIu64 ": %s", hr__count_text(rows->count, count),
           hr__count_text(all, of), hr__plural(all), hr__share_text((double)rows->count / (double)all, share),
           hr__counted(rows->count, "", "the first "), rows->first_line, rows->reason);
}

/* Submits in the file's order. */
static int64_t *in_file_order(const struct hr_trace *trace, uint32_t *job_of_row) {
  int64_t *submit_us = malloc(trace->n_jobs * sizeof *submit_us);
  for (uint32_t i = 0; submit_us && i < trace->n_jobs; i++) {
    submit_us[trace->row[i]] = trace->submit_us[i];
    job_of_row[trace->row[i]] = i;
  }
  return submit_us;
}

/* A row is out of order when the one before it was submitted later. */
static void check_order(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  if (!trace->row) return;
  uint32_t *job_of_row = malloc(checker->n * sizeof *job_of_row), count = 0, first = HR_NONE;
  int64_t *submit_us = job_of_row ? in_file_order(trace, job_of_row) : NULL;
  checker->out_of_memory |= !submit_us;
  for (uint32_t row = 1; submit_us && row < checker->n; row++)
    if (submit_us[row] < submit_us[row - 1] && count++ == 0) first = job_of_row[row];
  char text[HR__NUMBER_BYTES], share[HR__SHARE_BYTES];
  if (count)
    hr__find(checker, HR_FINDING_UNSORTED, HR_SEVERITY_NOTE,
             &(struct hr__where){.count = count, .of = checker->n, .job = first},
             "%s row%s (%s) come%s right after one that was submitted later", hr__count_text(count, text),
             hr__plural(count), hr__share_text((double)count / checker->n, share), count == 1 ? "s" : "");
  free(submit_us);
  free(job_of_row);
}

void hr__check_rows(struct hr__checker *checker) {
  const struct hr_trace *trace = checker->trace;
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++)
    tell_skipped(checker, &trace->skipped[i], trace->n_jobs + trace->n_skipped);
  check_order(checker);
  for (size_t i = 0; i < trace->notes.count; i++)
    hr__find(checker, HR_FINDING_READER, HR_SEVERITY_NOTE, &(struct hr__where){.job = HR_NONE}, "%s",
             trace->notes.text[i]);
}
