/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* Readers of trace formats, what they share, and the detection of formats. formats.c lists the readers; each is a
   file of its own. */

#include "traces/core/reader.h"

/* Parameter of a format, given after its name as in `azure-llm:decode=50,prefill=10000`: a whole number from `min` to
   `max`, or a text if `number` is NULL. Values that are not given are not changed. */
struct hr__format_param {
  const char *key;
  uint64_t min, max;
  uint64_t *number;
  struct hr_text *text;
};

/* Parses `reader->params`; an unknown key is an error. */
enum hr_status hr__format_params_read(const struct hr__reader *reader, const char *format,
                                      const struct hr__format_param *params, size_t n_params);

/* Readers of formats. Each reads all rows from `reader->input` into `reader->builder`. */

enum hr_status hr__read_csv(struct hr__reader *reader);
enum hr_status hr__read_swf(struct hr__reader *reader);
enum hr_status hr__read_philly(struct hr__reader *reader);
enum hr_status hr__read_openb(struct hr__reader *reader);
enum hr_status hr__read_sacct(struct hr__reader *reader);
enum hr_status hr__read_kubernetes(struct hr__reader *reader);
enum hr_status hr__read_philly_log(struct hr__reader *reader);
enum hr_status hr__read_helios(struct hr__reader *reader);
enum hr_status hr__read_pai2020(struct hr__reader *reader);
enum hr_status hr__read_spot2026(struct hr__reader *reader);
enum hr_status hr__read_acme(struct hr__reader *reader);
enum hr_status hr__read_gavel(struct hr__reader *reader);
enum hr_status hr__read_azure_llm(struct hr__reader *reader);
enum hr_status hr__read_batsim(struct hr__reader *reader);

/* Name of the format of a file with this beginning; "csv" if no other format matches, NULL for JSON of an unknown
   format. */
const char *hr__detect_format(struct hr_text beginning);

#endif
