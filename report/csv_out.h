/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_CSV_OUT_H
#define HR_REPORT_CSV_OUT_H

/* A CSV file in the making: field by field. */

#include "report/out.h"

struct hr__csv_out {
  struct hr__out out;
  bool within_row; /* a field stands before the next one */
};

/* Opens the file and writes `header` as its first row; NULL: the caller writes it. */
enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error);
/* Writes what is left; the file appears. */
enum hr_status hr__csv_commit(struct hr__csv_out *csv, struct hr_error *error);
/* Gives the file up; does nothing after a commit. */
void hr__csv_abandon(struct hr__csv_out *csv);

void hr__csv_empty(struct hr__csv_out *csv);
void hr__csv_u64(struct hr__csv_out *csv, uint64_t value);
void hr__csv_i64(struct hr__csv_out *csv, int64_t value);
/* Microseconds as seconds, millionths of any unit as that unit. */
void hr__csv_seconds(struct hr__csv_out *csv, int64_t us);
void hr__csv_millionths(struct hr__csv_out *csv, int64_t value);
/* Micro-dollars as dollars, with all six decimals. */
void hr__csv_usd(struct hr__csv_out *csv, int64_t uusd);
/* Milli-GPUs as GPUs. */
void hr__csv_milli(struct hr__csv_out *csv, uint64_t milli);
/* Quoted where a comma, a quote or a line's end asks for it (RFC 4180). NULL is empty. */
void hr__csv_text(struct hr__csv_out *csv, const char *text);
/* The field of a gang that spans nodes may be of any length: it is begun, and its parts appended without a comma. */
void hr__csv_begin_field(struct hr__csv_out *csv);
/* A short text that needs no quotes. */
void hr__csv_part(struct hr__csv_out *csv, const char *text);
void hr__csv_slice(struct hr__csv_out *csv, bool first, uint32_t node, uint32_t gpu_milli);
void hr__csv_end_row(struct hr__csv_out *csv);

#endif
