/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* What a file does not tell and its reader has to know, behind the format's name: `azure-llm:decode=50,prefill=10000`.
 */

#include "traces/core/reader.h"

/* A parameter is a whole number from `least` to `most`, or a text where `number` is NULL. What is not told stays as it
   is. */
struct hr__format_param {
  const char *key;
  uint64_t least, most;
  uint64_t *number;
  struct hr_text *text;
};

/* Reads `reader->params`; a key that is none of the table's is an error. */
enum hr_status hr__format_params_read(const struct hr__reader *reader, const char *format,
                                      const struct hr__format_param *params, size_t n_params);

/* The readers, one file each; formats.c lists them and says which one a file is for. */

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

/* The name of the format that text beginning like this is in; "csv" when it is no other, NULL when it is JSON that no
   format is in. */
const char *hr__detect_format(struct hr_text beginning);

#endif
