/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMAT_PARAMS_H
#define HR_TRACES_FORMAT_PARAMS_H

/* What a file does not tell and its reader has to know, behind the format's name: `azure-llm:decode=50,prefill=10000`.
 */

#include "traces/reader.h"

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

#endif
